//! The charts of pages: estimates with their margins, periods that overlap, figures of a company with what was first reported, counts over releases,
//! places around a point, and the states.

use std::collections::BTreeSet;

use super::svg::Svg;
use super::words::{amount, rough};

/// That of a card, so that texts keep their size.
const WIDTH: f64 = 340.0;

/// An estimate with its 90 % margin.
#[derive(Debug, Clone)]
pub struct Estimate {
    pub label: String,
    pub value: f64,
    pub moe: Option<f64>,
    /// The page of its record.
    pub page: Option<String>,
}

/// An estimate that describes some years as a whole.
#[derive(Debug, Clone)]
pub struct PeriodEstimate {
    pub first_year: i32,
    pub last_year: i32,
    pub estimate: Estimate,
}

/// A figure of a fiscal period.
#[derive(Debug, Clone)]
pub struct Figure {
    /// When the period ends, in months: what is missing leaves a gap, and periods with one label stand beside each other.
    pub month: i64,
    /// The period's label.
    pub label: String,
    pub value: f64,
    /// What was reported first, where the figure was changed since.
    pub first_reported: Option<f64>,
    pub page: Option<String>,
}

/// A place on a small map.
#[derive(Debug, Clone)]
pub struct Place {
    pub lat: f64,
    pub lon: f64,
    pub label: String,
    pub page: Option<String>,
}

/// Bars from zero, one below the other, with whiskers as long as the margins.
pub fn bars(title: &str, unit: &str, rows: &[Estimate]) -> String {
    const ROW: f64 = 26.0;
    const LABEL: f64 = 112.0;
    const VALUE: f64 = 78.0;
    let most = rows.iter().map(|row| row.value + row.moe.unwrap_or_default()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut svg = Svg::new("bars", WIDTH, ROW * rows.len() as f64 + 4.0, title);
    for (number, row) in rows.iter().enumerate() {
        let top = ROW * number as f64 + 4.0;
        let middle = top + ROW / 2.0 - 2.0;
        let x = |value: f64| LABEL + (value.max(0.0) / most) * (WIDTH - LABEL - VALUE);
        let said = format!("{}: {}{}", row.label, amount(row.value, unit), row.moe.map(|moe| format!(" ± {}", amount(moe, unit))).unwrap_or_default());
        svg.text("label", "end", (LABEL - 8.0, middle + 4.0), &row.label);
        svg.linked(row.page.as_deref(), &said, |svg| {
            svg.rectangle(if number == 0 { "bar own" } else { "bar" }, (LABEL, top + 3.0), (x(row.value) - LABEL, ROW - 10.0));
            if let Some(moe) = row.moe {
                svg.line("whisker", (x(row.value - moe), middle), (x(row.value + moe), middle));
                svg.line("whisker", (x(row.value - moe), middle - 4.0), (x(row.value - moe), middle + 4.0));
                svg.line("whisker", (x(row.value + moe), middle - 4.0), (x(row.value + moe), middle + 4.0));
            }
            svg.text("value", "start", (x(row.value + row.moe.unwrap_or_default()) + 6.0, middle + 4.0), &amount(row.value, unit));
        });
    }
    svg.finish()
}

/// A stroke for each period, as long as its years, with the margin as a band around it: periods that share years lie above each other.
pub fn periods(title: &str, unit: &str, points: &[PeriodEstimate]) -> String {
    const HEIGHT: f64 = 150.0;
    const LEFT: f64 = 50.0;
    const BOTTOM: f64 = 24.0;
    let (Some(first), Some(last)) = (points.iter().map(|point| point.first_year).min(), points.iter().map(|point| point.last_year).max()) else {
        return String::new();
    };
    let values = points.iter().flat_map(|point| {
        let moe = point.estimate.moe.unwrap_or_default();
        [point.estimate.value - moe, point.estimate.value + moe]
    });
    let scale = Scale::of(values, HEIGHT - BOTTOM, 10.0);
    let x = |year: f64| LEFT + (year - f64::from(first)) / f64::from(last + 1 - first) * (WIDTH - LEFT - 10.0);
    let mut svg = Svg::new("periods", WIDTH, HEIGHT, title);
    scale.draw(&mut svg, unit, LEFT);
    for year in first..=last {
        svg.text("tick", "middle", (x(f64::from(year) + 0.5), HEIGHT - 8.0), &year.to_string());
    }
    for PeriodEstimate { first_year, last_year, estimate } in points {
        let (from, to) = (x(f64::from(*first_year)) + 2.0, x(f64::from(*last_year + 1)) - 2.0);
        let margin = estimate.moe.map(|moe| format!(" ± {}", amount(moe, unit))).unwrap_or_default();
        let said = format!("{first_year} to {last_year}: {}{margin}", amount(estimate.value, unit));
        svg.linked(estimate.page.as_deref(), &said, |svg| {
            if let Some(moe) = estimate.moe {
                let (high, low) = (scale.y(estimate.value + moe), scale.y(estimate.value - moe));
                svg.rectangle("band", (from, high), (to - from, low - high));
            }
            svg.line("period", (from, scale.y(estimate.value)), (to, scale.y(estimate.value)));
        });
    }
    svg.finish()
}

/// Columns of fiscal periods of so many months, each where it ends; where a figure was restated, a mark shows what was reported first.
pub fn columns(title: &str, unit: &str, months: i64, figures: &[Figure]) -> String {
    const HEIGHT: f64 = 170.0;
    const LEFT: f64 = 50.0;
    const BOTTOM: f64 = 24.0;
    /// What a letter of a label takes, and the room between two labels.
    const LETTER: f64 = 6.2;
    const ROOM: f64 = 10.0;
    let (Some(first), Some(last)) = (figures.iter().map(|figure| figure.month).min(), figures.iter().map(|figure| figure.month).max()) else {
        return String::new();
    };
    let values = figures.iter().flat_map(|figure| [Some(figure.value), figure.first_reported, Some(0.0)]).flatten();
    let scale = Scale::of(values, HEIGHT - BOTTOM, 10.0);
    let step = (WIDTH - LEFT - 10.0) / ((last - first) as f64 / months as f64 + 1.0);
    let width = (step * 0.64).min(46.0);
    let mut svg = Svg::new("columns", WIDTH, HEIGHT, title);
    scale.draw(&mut svg, unit, LEFT);
    // Labels that would touch each other are left out, the newest never.
    let mut free_until = f64::INFINITY;
    for figure in figures.iter().rev() {
        let middle = LEFT + step * ((figure.month - first) as f64 / months as f64 + 0.5);
        let (top, foot) = (scale.y(figure.value.max(0.0)), scale.y(figure.value.min(0.0)));
        let before = figure.first_reported.map(|first| format!(" (first reported: {})", amount(first, unit))).unwrap_or_default();
        svg.linked(figure.page.as_deref(), &format!("{}: {}{before}", figure.label, amount(figure.value, unit)), |svg| {
            svg.rectangle(if figure.first_reported.is_some() { "bar restated" } else { "bar" }, (middle - width / 2.0, top), (width, (foot - top).max(1.0)));
            if let Some(first) = figure.first_reported {
                let y = scale.y(first);
                svg.line("first", (middle - width / 2.0 - 4.0, y), (middle + width / 2.0 + 4.0, y));
            }
        });
        let half = figure.label.len() as f64 * LETTER / 2.0;
        if middle + half <= free_until {
            svg.text("tick", "middle", (middle, HEIGHT - 8.0), &figure.label);
            free_until = middle - half - ROOM;
        }
    }
    svg.line("zero", (LEFT, scale.y(0.0)), (WIDTH - 10.0, scale.y(0.0)));
    svg.finish()
}

/// Counts in the order of releases, oldest first, as one small stroke.
pub fn sparkline(title: &str, counts: &[u64]) -> String {
    const SPARK_WIDTH: f64 = 120.0;
    const HEIGHT: f64 = 24.0;
    let mut svg = Svg::new("spark", SPARK_WIDTH, HEIGHT, title);
    let values: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    let scale = Scale::of(values.iter().copied(), HEIGHT - 3.0, 3.0);
    let step = (SPARK_WIDTH - 8.0) / (values.len().max(2) - 1) as f64;
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(number, value)| (4.0 + step * number as f64, scale.y(*value))).collect();
    if points.len() > 1 {
        svg.path("stroke", &points);
    }
    if let Some(last) = points.last() {
        svg.circle("last", *last, 2.5);
    }
    svg.finish()
}

/// Places around a point, with a circle at the distance that was searched.
pub fn map(title: &str, (lat, lon): (f64, f64), radius_mi: f64, places: &[Place]) -> String {
    const SIZE: f64 = 320.0;
    /// A degree of latitude, in miles.
    const MILES: f64 = 69.05;
    let scale = (SIZE / 2.0 - 14.0) / radius_mi.max(0.1);
    let at = |to_lat: f64, to_lon: f64| {
        let (east, north) = ((to_lon - lon) * MILES * lat.to_radians().cos(), (to_lat - lat) * MILES);
        (SIZE / 2.0 + east * scale, SIZE / 2.0 - north * scale)
    };
    let mut svg = Svg::new("map", SIZE, SIZE, title);
    for part in [0.5, 1.0] {
        svg.circle("ring", (SIZE / 2.0, SIZE / 2.0), radius_mi * part * scale);
        svg.text("tick", "middle", (SIZE / 2.0, SIZE / 2.0 - radius_mi * part * scale + 12.0), &format!("{} mi", rough(radius_mi * part)));
    }
    svg.line("origin", (SIZE / 2.0 - 6.0, SIZE / 2.0), (SIZE / 2.0 + 6.0, SIZE / 2.0));
    svg.line("origin", (SIZE / 2.0, SIZE / 2.0 - 6.0), (SIZE / 2.0, SIZE / 2.0 + 6.0));
    for place in places {
        svg.linked(place.page.as_deref(), &place.label, |svg| svg.circle("place", at(place.lat, place.lon), 5.0));
    }
    svg.finish()
}

/// Where each state lies in a grid of tiles: `code,column,row`.
const TILES: &str = include_str!("assets/state-tiles.csv");

/// The states as tiles of one size, those of a set filled.
pub fn states(title: &str, covered: &BTreeSet<String>) -> String {
    const TILE: f64 = 30.0;
    let mut svg = Svg::new("states", TILE * 11.0, TILE * 8.0, title);
    for line in TILES.lines() {
        let mut cells = line.split(',');
        let (Some(code), Some(column), Some(row)) = (cells.next(), cells.next(), cells.next()) else { continue };
        let (column, row) = (column.parse::<f64>().unwrap_or_default(), row.parse::<f64>().unwrap_or_default());
        let is_covered = covered.contains(code);
        let page = format!("/state/{code}");
        svg.linked(Some(&page), &format!("{code}: {}", if is_covered { "covered" } else { "not covered" }), |svg| {
            svg.rectangle(if is_covered { "tile covered" } else { "tile" }, (column * TILE + 1.0, row * TILE + 1.0), (TILE - 2.0, TILE - 2.0));
            svg.text("label", "middle", (column * TILE + TILE / 2.0, row * TILE + TILE / 2.0 + 4.0), code);
        });
    }
    svg.finish()
}

/// From values to heights, which grow downwards.
struct Scale {
    low: f64,
    high: f64,
    top: f64,
    bottom: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, bottom: f64, top: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low.is_finite() { (low, high) } else { (0.0, 1.0) };
        // Of values that are all the same, the stroke lies in the middle.
        let room = if high > low { 0.0 } else { high.abs().max(1.0) * 0.5 };
        Self { low: low - room, high: high + room, top, bottom }
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)
    }

    fn draw(&self, svg: &mut Svg, unit: &str, left: f64) {
        for value in [self.low, f64::midpoint(self.low, self.high), self.high] {
            svg.line("grid", (left, self.y(value)), (WIDTH - 10.0, self.y(value)));
            let label = if unit == "usd" || unit.starts_with("USD") { format!("${}", rough(value)) } else { rough(value) };
            svg.text("tick", "end", (left - 6.0, self.y(value) + 4.0), &label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_without_margin_have_no_whiskers() {
        let row = |moe| Estimate { label: "90210".to_owned(), value: 19_652.0, moe, page: Some("/records/x".to_owned()) };
        assert_eq!(bars("Population", "persons", &[row(None)]).matches("whisker").count(), 0);
        let drawn = bars("Population", "persons", &[row(Some(1_335.0))]);
        assert_eq!(drawn.matches("whisker").count(), 3);
        assert!(drawn.contains("90210: 19,652 ± 1,335") && drawn.contains("href=\"/records/x\""), "{drawn}");
    }

    #[test]
    fn a_series_of_equal_or_no_values_is_drawn() {
        for counts in [&[][..], &[5], &[5, 5, 5], &[0, 0]] {
            assert!(!sparkline("rows", counts).contains("NaN"), "{counts:?}");
        }
        let figure = |value: f64| Figure { month: 24_300, label: "2024".to_owned(), value, first_reported: None, page: None };
        for figures in [vec![figure(0.0)], vec![figure(-5.0), figure(-5.0)], vec![figure(1e12), figure(-3e11)]] {
            assert!(!columns("Net income", "USD", 12, &figures).contains("NaN"), "{figures:?}");
        }
        assert_eq!(periods("Population", "persons", &[]), "");
    }

    #[test]
    fn missing_periods_leave_a_gap_and_no_figure_hides_another() {
        let figure = |month, value| Figure { month, label: "FY".to_owned(), value, first_reported: None, page: None };
        // Two years with one label, half a year apart, and a third after a gap of two.
        let drawn = columns("Revenue", "USD", 12, &[figure(0, 1.0), figure(6, 2.0), figure(36, 3.0)]);
        let places: Vec<f64> = drawn.split("<rect class=\"bar\" x=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
        let [newest, second, first] = places[..] else { panic!("{drawn}") };
        assert!((second - first - 35.0).abs() < 0.2 && (newest - first - 210.0).abs() < 0.2, "{places:?}");
    }

    #[test]
    fn every_state_has_a_tile_of_its_own() {
        let places: BTreeSet<(&str, &str)> = TILES.lines().filter_map(|line| line.split_once(',')).map(|(_, place)| place.split_once(',').unwrap()).collect();
        assert_eq!((TILES.lines().count(), places.len()), (51, 51));
    }
}
