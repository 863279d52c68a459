//! Draws the charts of pages: estimates with margins, overlapping periods, a company's figures,
//! counts over releases, places around a point, and the states.

use std::collections::BTreeSet;

use super::svg::Svg;
use super::words::{amount, amount_of, margin, rough};

/// Width of a card, so that texts keep their size.
const WIDTH: f64 = 340.0;

/// Known value of an estimate.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    Value(f64),
    /// A median in the open-ended highest interval.
    AtLeast(f64),
    /// A median in the open-ended lowest interval.
    AtMost(f64),
    /// The value is missing, for the given reason.
    Missing(String),
}

impl Mark {
    fn written(&self, unit: &str) -> String {
        match self {
            Self::Value(value) => amount(*value, unit),
            Self::AtLeast(bound) => format!("{} or more", amount(*bound, unit)),
            Self::AtMost(bound) => format!("{} or less", amount(*bound, unit)),
            Self::Missing(reason) => reason.clone(),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Value(value) | Self::AtLeast(value) | Self::AtMost(value) => Some(*value),
            Self::Missing(_) => None,
        }
    }
}

/// An estimate with its 90 % margin.
#[derive(Debug, Clone)]
pub struct Estimate {
    pub label: String,
    pub mark: Mark,
    pub moe: Option<f64>,
    /// Page of the estimate's record.
    pub page: Option<String>,
    /// True if the estimate is for the area that the chart is about.
    pub is_own: bool,
}

impl Estimate {
    fn written(&self, unit: &str) -> String {
        let margin = self
            .moe
            .map(|moe| format!(" ± {}", margin(&plain(moe), unit)))
            .unwrap_or_default();
        format!("{}{margin}", self.mark.written(unit))
    }

    /// Returns the lowest and highest number that a chart shows. Percentages stay between 0 and
    /// 100.
    fn range(&self, unit: &str) -> Option<(f64, f64)> {
        let (number, moe) = (self.mark.number()?, self.moe.unwrap_or_default());
        let range = (number - moe, number + moe);
        Some(if unit == "percent" {
            (range.0.max(0.0), range.1.min(100.0))
        } else {
            range
        })
    }
}

/// An estimate for a period of several years.
#[derive(Debug, Clone)]
pub struct PeriodEstimate {
    pub first_year: i32,
    pub last_year: i32,
    pub estimate: Estimate,
}

/// A figure for a fiscal period.
#[derive(Debug, Clone)]
pub struct Figure {
    /// End of the period in months. Missing periods leave a gap, and periods with the same label
    /// stay next to each other.
    pub month: i64,
    /// Label of the period.
    pub label: String,
    pub value: f64,
    /// First reported value, if the figure changed later.
    pub first_reported: Option<f64>,
    /// Number of stock splits before the report that states the figure, for figures that count
    /// shares.
    pub splits: usize,
    pub page: Option<String>,
}

/// A place on a small map.
#[derive(Debug, Clone)]
pub struct Place {
    pub lat: f64,
    pub lon: f64,
    pub label: String,
    /// Number of the place in the list next to the map.
    pub number: usize,
    pub page: Option<String>,
}

/// Draws bars from zero, each bar below its label. Whiskers show the margins, and an arrow marks an
/// open interval.
pub fn bars(title: &str, unit: &str, rows: &[Estimate]) -> String {
    const ROW: f64 = 38.0;
    /// Width of one letter in a value or label.
    const LETTER: f64 = 7.0;
    const MAX_LETTERS: usize = 50;
    if rows.iter().all(|row| row.mark.number().is_none()) {
        return String::new();
    }
    let texts: Vec<String> = rows.iter().map(|row| row.mark.written(unit)).collect();
    let longest = rows
        .iter()
        .zip(&texts)
        .filter(|(row, _)| row.mark.number().is_some())
        .map(|(_, text)| text.chars().count())
        .max()
        .unwrap_or_default();
    let room = LETTER.mul_add(longest as f64, 16.0);
    let most = rows
        .iter()
        .filter_map(|row| row.range(unit))
        .map(|(_, high)| high)
        .fold(0.0, f64::max)
        .max(f64::MIN_POSITIVE);
    let x = |value: f64| (value.max(0.0) / most) * (WIDTH - room);
    let mut svg = Svg::new("bars", WIDTH, ROW * rows.len() as f64 + 2.0, title);
    for (number, (row, text)) in rows.iter().zip(&texts).enumerate() {
        let top = ROW * number as f64;
        let middle = top + 26.0;
        let is_long = row.label.chars().count() > MAX_LETTERS;
        let label = if is_long {
            format!(
                "{}…",
                row.label.chars().take(MAX_LETTERS).collect::<String>()
            )
        } else {
            row.label.clone()
        };
        svg.text("tick", "start", (0.0, top + 14.0), &label);
        svg.linked(
            row.page.as_deref(),
            &format!("{}: {}", row.label, row.written(unit)),
            |svg| {
                let Some((low, high)) = row.range(unit) else {
                    svg.text("tick", "start", (0.0, middle + 4.0), text);
                    return;
                };
                let end = x(row.mark.number().unwrap_or_default());
                svg.rectangle(
                    if row.is_own { "bar own" } else { "bar" },
                    (0.0, top + 19.0),
                    (end, 14.0),
                );
                match row.mark {
                    Mark::AtLeast(_) => svg.path(
                        "open",
                        &[
                            (end + 1.0, middle - 6.0),
                            (end + 8.0, middle),
                            (end + 1.0, middle + 6.0),
                        ],
                    ),
                    Mark::AtMost(_) => svg.path(
                        "open",
                        &[
                            (end + 8.0, middle - 6.0),
                            (end + 1.0, middle),
                            (end + 8.0, middle + 6.0),
                        ],
                    ),
                    _ if row.moe.is_some() => {
                        let end = |at: f64| ((at, middle - 4.0), (at, middle + 4.0));
                        svg.lines(
                            "whisker",
                            &[
                                ((x(low), middle), (x(high), middle)),
                                end(x(low)),
                                end(x(high)),
                            ],
                        );
                    }
                    _ => {}
                }
                let is_open = !matches!(row.mark, Mark::Value(_));
                svg.text(
                    "value",
                    "start",
                    (x(high) + if is_open { 12.0 } else { 6.0 }, middle + 4.0),
                    text,
                );
            },
        );
    }
    svg.finish()
}

/// Draws each period as a stroke that spans its years, with a band for the margin. Periods that
/// share years overlap. An arrow marks a period with only a bound. A cross at the bottom marks a
/// period without an estimate.
pub fn periods(title: &str, unit: &str, points: &[PeriodEstimate]) -> String {
    const HEIGHT: f64 = 150.0;
    const LEFT: f64 = 50.0;
    const BOTTOM: f64 = 24.0;
    let (Some(first), Some(last)) = (
        points.iter().map(|point| point.first_year).min(),
        points.iter().map(|point| point.last_year).max(),
    ) else {
        return String::new();
    };
    if points
        .iter()
        .all(|point| point.estimate.mark.number().is_none())
    {
        return String::new();
    }
    let values = points
        .iter()
        .filter_map(|point| point.estimate.range(unit))
        .flat_map(|(low, high)| [low, high]);
    let scale = Scale::from_values(values, HEIGHT - BOTTOM, 10.0);
    let x = |year: f64| {
        LEFT + (year - f64::from(first)) / f64::from(last + 1 - first) * (WIDTH - LEFT - 10.0)
    };
    let mut svg = Svg::new("periods", WIDTH, HEIGHT, title);
    scale.draw(&mut svg, unit, LEFT);
    let years: Vec<(f64, String)> = (first..=last)
        .map(|year| (x(f64::from(year) + 0.5), year.to_string()))
        .collect();
    svg.row_of_labels("tick", HEIGHT - 8.0, &years);
    for PeriodEstimate {
        first_year,
        last_year,
        estimate,
    } in points
    {
        let (from, to) = (
            x(f64::from(*first_year)) + 2.0,
            x(f64::from(*last_year + 1)) - 2.0,
        );
        let middle = f64::midpoint(from, to);
        svg.linked(
            estimate.page.as_deref(),
            &format!("{first_year} to {last_year}: {}", estimate.written(unit)),
            |svg| {
                let Some((low, high)) = estimate.range(unit) else {
                    svg.text("tick", "middle", (middle, HEIGHT - BOTTOM - 4.0), "×");
                    return;
                };
                if estimate.moe.is_some() {
                    svg.rectangle(
                        "band",
                        (from, scale.y(high)),
                        (to - from, scale.y(low) - scale.y(high)),
                    );
                }
                let y = scale.y(estimate.mark.number().unwrap_or_default());
                svg.lines("period", &[((from, y), (to, y))]);
                match estimate.mark {
                    Mark::AtLeast(_) => svg.path(
                        "open",
                        &[
                            (middle - 6.0, y - 2.0),
                            (middle, y - 9.0),
                            (middle + 6.0, y - 2.0),
                        ],
                    ),
                    Mark::AtMost(_) => svg.path(
                        "open",
                        &[
                            (middle - 6.0, y + 2.0),
                            (middle, y + 9.0),
                            (middle + 6.0, y + 2.0),
                        ],
                    ),
                    _ => {}
                }
            },
        );
    }
    svg.finish()
}

/// Draws columns of fiscal periods of `months` months, each at the period's end. A mark shows the
/// first reported value of a restated figure. A dot marks a missing period between two other
/// periods. A line separates figures that count shares before and after a split.
pub fn columns(title: &str, unit: &str, months: i64, figures: &[Figure]) -> String {
    const HEIGHT: f64 = 170.0;
    const LEFT: f64 = 50.0;
    const BOTTOM: f64 = 24.0;
    /// Width of one letter in a label, and space between two labels.
    const LETTER: f64 = 6.2;
    const ROOM: f64 = 10.0;
    let (Some(first), Some(last)) = (
        figures.iter().map(|figure| figure.month).min(),
        figures.iter().map(|figure| figure.month).max(),
    ) else {
        return String::new();
    };
    let values = figures
        .iter()
        .flat_map(|figure| [Some(figure.value), figure.first_reported, Some(0.0)])
        .flatten();
    let scale = Scale::from_values(values, HEIGHT - BOTTOM, 10.0);
    let step = (WIDTH - LEFT - 10.0) / ((last - first) as f64 / months as f64 + 1.0);
    let width = (step * 0.64).min(46.0);
    let middle_of = |month: i64| LEFT + step * ((month - first) as f64 / months as f64 + 0.5);
    let mut svg = Svg::new("columns", WIDTH, HEIGHT, title);
    scale.draw(&mut svg, unit, LEFT);
    // Omits labels that would touch each other, but never the newest.
    let (mut labels, mut free_until) = (Vec::new(), f64::INFINITY);
    for figure in figures.iter().rev() {
        let middle = middle_of(figure.month);
        let (top, foot) = (
            scale.y(figure.value.max(0.0)),
            scale.y(figure.value.min(0.0)),
        );
        let before = figure
            .first_reported
            .map(|first| format!(" (first reported: {})", amount(first, unit)))
            .unwrap_or_default();
        svg.linked(
            figure.page.as_deref(),
            &format!("{}: {}{before}", figure.label, amount(figure.value, unit)),
            |svg| {
                svg.rectangle(
                    if figure.first_reported.is_some() {
                        "bar restated"
                    } else {
                        ""
                    },
                    (middle - width / 2.0, top),
                    (width, (foot - top).max(1.0)),
                );
                if let Some(first) = figure.first_reported {
                    let y = scale.y(first);
                    svg.lines(
                        "first",
                        &[(
                            (middle - width / 2.0 - 4.0, y),
                            (middle + width / 2.0 + 4.0, y),
                        )],
                    );
                }
            },
        );
        let half = figure.label.len() as f64 * LETTER / 2.0;
        if middle + half <= free_until {
            labels.push((middle, figure.label.clone()));
            free_until = middle - half - ROOM;
        }
    }
    svg.row_of_labels("tick", HEIGHT - 8.0, &labels);
    svg.lines(
        "zero",
        &[((LEFT, scale.y(0.0)), (WIDTH - 10.0, scale.y(0.0)))],
    );
    let beside = figures
        .iter()
        .zip(figures.iter().skip(1))
        .filter(|(one, next)| one.splits != next.splits);
    let (lines, labels): (Vec<_>, Vec<String>) = beside
        .map(|(one, next)| {
            let x = f64::midpoint(middle_of(one.month), middle_of(next.month));
            (
                ((x, 4.0), (x, HEIGHT - BOTTOM)),
                format!("between {} and {}", one.label, next.label),
            )
        })
        .unzip();
    if !lines.is_empty() {
        svg.linked(
            None,
            &format!("Share basis changes {}", labels.join(", ")),
            |svg| svg.lines("split", &lines),
        );
    }
    let is_missing = |month: &i64| {
        figures
            .iter()
            .all(|figure| (figure.month - month).abs() * 2 > months)
    };
    let missing: Vec<i64> = (first..last)
        .step_by(usize::try_from(months).unwrap_or(1).max(1))
        .filter(is_missing)
        .collect();
    for run in missing.chunk_by(|one, next| next - one == months) {
        let day = |month: i64| format!("{}-{:02}", (month - 1) / 12, (month - 1) % 12 + 1);
        let title = match run {
            [month] => format!("No figure about {}", day(*month)),
            _ => format!(
                "No figures from {} to {}",
                day(run[0]),
                day(run[run.len() - 1])
            ),
        };
        let points: Vec<(f64, f64)> = run
            .iter()
            .map(|month| (middle_of(*month), scale.y(0.0) - 5.0))
            .collect();
        svg.linked(None, &title, |svg| svg.dots("gap", &points));
    }
    svg.finish()
}

/// Draws counts in release order, oldest first, as one small stroke.
pub fn sparkline(title: &str, counts: &[u64]) -> String {
    const SPARK_WIDTH: f64 = 120.0;
    const HEIGHT: f64 = 24.0;
    let mut svg = Svg::new("spark", SPARK_WIDTH, HEIGHT, title);
    let values: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    let scale = Scale::from_values(values.iter().copied(), HEIGHT - 3.0, 3.0);
    let step = (SPARK_WIDTH - 8.0) / (values.len().max(2) - 1) as f64;
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .map(|(number, value)| (4.0 + step * number as f64, scale.y(*value)))
        .collect();
    if points.len() > 1 {
        svg.path("stroke", &points);
    }
    if let Some(last) = points.last() {
        svg.circle("last", *last, 2.5);
    }
    svg.finish()
}

/// Draws places around a point, with a circle at the search radius. A number that would cover
/// another number is moved away from its place, with a line back to it.
pub fn map(title: &str, (lat, lon): (f64, f64), radius_mi: f64, places: &[Place]) -> String {
    const SIZE: f64 = 320.0;
    /// Miles per degree of latitude.
    const MILES: f64 = 69.05;
    let scale = (SIZE / 2.0 - 14.0) / radius_mi.max(0.1);
    let at = |to_lat: f64, to_lon: f64| {
        let (east, north) = (
            (to_lon - lon) * MILES * lat.to_radians().cos(),
            (to_lat - lat) * MILES,
        );
        (SIZE / 2.0 + east * scale, SIZE / 2.0 - north * scale)
    };
    let mut svg = Svg::new("map", SIZE, SIZE, title);
    for part in [0.5, 1.0] {
        svg.circle("ring", (SIZE / 2.0, SIZE / 2.0), radius_mi * part * scale);
        svg.text(
            "tick",
            "middle",
            (SIZE / 2.0, SIZE / 2.0 - radius_mi * part * scale + 12.0),
            &format!("{} mi", rough(radius_mi * part)),
        );
    }
    let middle = SIZE / 2.0;
    svg.lines(
        "origin",
        &[
            ((middle - 6.0, middle), (middle + 6.0, middle)),
            ((middle, middle - 6.0), (middle, middle + 6.0)),
        ],
    );
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for place in places {
        let (true_x, true_y) = at(place.lat, place.lon);
        // The nearest point on a spiral at which the number covers no other number.
        let on_spiral = |step: u32| {
            let (distance, angle) = (4.0 * f64::from(step).sqrt(), 2.4 * f64::from(step));
            (
                true_x + distance * angle.cos(),
                true_y + distance * angle.sin(),
            )
        };
        let is_free = |(x, y): &(f64, f64)| {
            taken
                .iter()
                .all(|(other_x, other_y)| (x - other_x).hypot(y - other_y) >= 15.0)
        };
        let (x, y) = (0..200)
            .map(on_spiral)
            .find(is_free)
            .unwrap_or((true_x, true_y));
        if !is_free(&(true_x, true_y)) {
            svg.path("ring", &[(true_x, true_y), (x, y)]);
        }
        taken.push((x, y));
        svg.linked(place.page.as_deref(), &place.label, |svg| {
            svg.circle("place", (x, y), 7.5);
            svg.text("pin", "middle", (x, y + 3.0), &place.number.to_string());
        });
    }
    svg.finish()
}

/// Position of each state in a grid of tiles: `code,column,row`.
const TILES: &str = include_str!("assets/state-tiles.csv");

/// Draws the states as tiles of equal size; the covered ones are filled.
pub fn states(title: &str, covered: &BTreeSet<String>) -> String {
    const TILE: f64 = 30.0;
    let mut svg = Svg::new("states", TILE * 11.0, TILE * 8.0, title);
    for line in TILES.lines() {
        let mut cells = line.split(',');
        let (Some(code), Some(column), Some(row)) = (cells.next(), cells.next(), cells.next())
        else {
            continue;
        };
        let (column, row) = (
            column.parse::<f64>().unwrap_or_default(),
            row.parse::<f64>().unwrap_or_default(),
        );
        let is_covered = covered.contains(code);
        let page = format!("/state/{code}");
        svg.linked(
            Some(&page),
            &format!(
                "{code}: {}",
                if is_covered { "covered" } else { "not covered" }
            ),
            |svg| {
                svg.rectangle(
                    if is_covered { "tile covered" } else { "tile" },
                    (column * TILE + 1.0, row * TILE + 1.0),
                    (TILE - 2.0, TILE - 2.0),
                );
                svg.text(
                    "",
                    "start",
                    (column * TILE + TILE / 2.0, row * TILE + TILE / 2.0 + 4.0),
                    code,
                );
            },
        );
    }
    svg.finish()
}

/// Formats a number with the shortest digits that identify it.
fn plain(value: f64) -> String {
    format!("{value}")
}

/// Maps values to vertical positions, which grow downwards.
struct Scale {
    low: f64,
    high: f64,
    /// Distance between two grid lines.
    step: f64,
    top: f64,
    bottom: f64,
}

impl Scale {
    /// Starts and ends at round numbers around the values, with three to five of them in total.
    fn from_values(values: impl Iterator<Item = f64>, bottom: f64, top: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if low.is_finite() {
            (low, high)
        } else {
            (0.0, 1.0)
        };
        // If all values are equal, the stroke is in the middle.
        let room = if high > low {
            0.0
        } else {
            high.abs().max(1.0) * 0.5
        };
        let (low, high) = (low - room, high + room);
        let least = (high - low) / 3.0;
        let magnitude = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0]
            .into_iter()
            .map(|digit| digit * magnitude)
            .find(|step| *step >= least)
            .unwrap_or(10.0 * magnitude);
        Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
            top,
            bottom,
        }
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)
    }

    fn draw(&self, svg: &mut Svg, unit: &str, left: f64) {
        let lines = ((self.high - self.low) / self.step).round() as u32;
        // Rounding removes the error of multiples of a fraction, and adding zero removes the sign
        // of a zero.
        let values: Vec<f64> = (0..=lines)
            .map(|line| ((self.low / self.step).round() + f64::from(line)) * self.step + 0.0)
            .collect();
        let grid: Vec<_> = values
            .iter()
            .map(|value| ((left, self.y(*value)), (WIDTH - 10.0, self.y(*value))))
            .collect();
        svg.lines("grid", &grid);
        // Lines less than a hundredth apart need more than two decimal places.
        let decimals = (-self.step.log10() - 1e-9).ceil().max(0.0) as usize;
        let digits = |value: f64| {
            if decimals > 2 && value != 0.0 {
                format!("{value:.decimals$}")
            } else {
                rough(value)
            }
        };
        let written = |value: f64| {
            if unit == "usd" || unit.starts_with("USD") {
                amount_of(&digits(value), "usd")
            } else {
                digits(value)
            }
        };
        let labels: Vec<(f64, String)> = values
            .into_iter()
            .map(|value| (self.y(value) + 4.0, written(value)))
            .collect();
        svg.column_of_labels("tick", left - 6.0, &labels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_without_margin_have_no_whiskers() {
        let row = |moe| Estimate {
            label: "90210".to_owned(),
            mark: Mark::Value(19_652.0),
            moe,
            page: Some("/records/x".to_owned()),
            is_own: true,
        };
        assert_eq!(
            bars("Population", "persons", &[row(None)])
                .matches("whisker")
                .count(),
            0
        );
        let drawn = bars("Population", "persons", &[row(Some(1_335.0))]);
        assert!(
            drawn.contains("class=\"whisker\"") && drawn.matches(['H', 'V']).count() == 3,
            "{drawn}"
        );
        assert!(
            drawn.contains("90210: 19,652 ± 1,335") && drawn.contains("href=\"/records/x\""),
            "{drawn}"
        );
    }

    #[test]
    fn open_ended_medians_end_in_an_arrow_and_missing_estimates_are_said() {
        let row = |label: &str, mark, is_own| Estimate {
            label: label.to_owned(),
            mark,
            moe: None,
            page: None,
            is_own,
        };
        let drawn = bars(
            "Income",
            "usd",
            &[
                row("95120", Mark::AtLeast(250_000.0), true),
                row("Santa Clara County", Mark::Value(159_674.0), false),
            ],
        );
        assert_eq!(
            (
                drawn.matches("class=\"open\"").count(),
                drawn.matches("$250,000 or more</text>").count()
            ),
            (1, 1),
            "{drawn}"
        );
        // The county's bar does not replace the area's bar.
        let drawn = bars(
            "Income",
            "usd",
            &[
                row("03579", Mark::Missing("not published".to_owned()), true),
                row("Coos County", Mark::Value(55_247.0), false),
            ],
        );
        assert!(
            drawn.contains("not published</text>") && !drawn.contains("bar own"),
            "{drawn}"
        );
        assert_eq!(
            bars(
                "Income",
                "usd",
                &[row(
                    "03579",
                    Mark::Missing("not published".to_owned()),
                    true
                )]
            ),
            ""
        );
        let period = |first_year, mark| PeriodEstimate {
            first_year,
            last_year: first_year + 4,
            estimate: row("", mark, true),
        };
        let marks = [
            Mark::Value(200_000.0),
            Mark::Missing("suppressed".to_owned()),
            Mark::AtLeast(250_000.0),
        ];
        let points: Vec<PeriodEstimate> = marks
            .into_iter()
            .zip([2017, 2018, 2019])
            .map(|(mark, year)| period(year, mark))
            .collect();
        let drawn = periods("Income", "usd", &points);
        assert!(
            drawn.contains("2018 to 2022: suppressed") && drawn.contains(">×</text>"),
            "{drawn}"
        );
        assert_eq!(
            (
                drawn.matches("class=\"period\"").count(),
                drawn.matches("class=\"open\"").count()
            ),
            (2, 1),
            "{drawn}"
        );
    }

    #[test]
    fn margins_of_percentages_end_at_0_and_100() {
        let row = Estimate {
            label: "03579".to_owned(),
            mark: Mark::Value(93.6),
            moe: Some(14.1),
            page: None,
            is_own: true,
        };
        assert_eq!(row.range("percent"), Some((79.5, 100.0)));
        assert!(
            bars("Attainment", "percent", &[row])
                .contains("03579: 93.6 % ± 14.1 percentage points")
        );
    }

    #[test]
    fn axes_have_round_numbers() {
        let ticks = |values: &[f64], unit: &str| {
            let mut svg = Svg::new("columns", 10.0, 10.0, "");
            Scale::from_values(values.iter().copied(), 100.0, 0.0).draw(&mut svg, unit, 50.0);
            svg.finish()
                .split("</text>")
                .filter_map(|part| Some(part.rsplit_once('>')?.1.to_owned()))
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ticks(&[0.0, 394_328_000_000.0], "USD"),
            ["$0", "$200 B", "$400 B"]
        );
        assert_eq!(ticks(&[0.0, 15.15], "USD/shares"), ["$0", "$10", "$20"]);
        assert_eq!(
            ticks(&[-0.01, 0.002], "USD/shares"),
            ["-$0.010", "-$0.005", "$0", "$0.005"]
        );
        assert_eq!(
            ticks(&[-2_722_000_000.0, 9_000_000_000.0], "USD"),
            ["-$5 B", "$0", "$5 B", "$10 B"]
        );
        assert_eq!(
            ticks(&[19_652.0, 21_500.0], "persons"),
            ["19 k", "20 k", "21 k", "22 k"]
        );
    }

    #[test]
    fn equal_or_missing_values_are_drawn_without_nan() {
        for counts in [&[][..], &[5], &[5, 5, 5], &[0, 0]] {
            assert!(!sparkline("rows", counts).contains("NaN"), "{counts:?}");
        }
        let figure = |value: f64| Figure {
            month: 24_300,
            label: "2024".to_owned(),
            value,
            first_reported: None,
            splits: 0,
            page: None,
        };
        for figures in [
            vec![figure(0.0)],
            vec![figure(-5.0), figure(-5.0)],
            vec![figure(1e12), figure(-3e11)],
        ] {
            assert!(
                !columns("Net income", "USD", 12, &figures).contains("NaN"),
                "{figures:?}"
            );
        }
        assert_eq!(periods("Population", "persons", &[]), "");
    }

    #[test]
    fn missing_periods_leave_a_gap_and_no_figure_hides_another() {
        let figure = |month, value| Figure {
            month,
            label: "FY".to_owned(),
            value,
            first_reported: None,
            splits: 0,
            page: None,
        };
        // Two years with the same label, half a year apart, and a third after a gap of two.
        let drawn = columns(
            "Revenue",
            "USD",
            12,
            &[figure(0, 1.0), figure(6, 2.0), figure(36, 3.0)],
        );
        let places: Vec<f64> = drawn
            .split("<rect x=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        let [newest, second, first] = places[..] else {
            panic!("{drawn}")
        };
        assert!(
            (second - first - 35.0).abs() < 0.2 && (newest - first - 210.0).abs() < 0.2,
            "{places:?}"
        );
        assert!(
            drawn.matches("class=\"gap\"").count() == 1 && drawn.contains("about 1-12"),
            "{drawn}"
        );
    }

    #[test]
    fn split_line_is_drawn_between_figures_before_and_after_a_split() {
        let figure = |month, splits| Figure {
            month,
            label: month.to_string(),
            value: 1.0,
            first_reported: None,
            splits,
            page: None,
        };
        let drawn = columns(
            "EPS",
            "USD/shares",
            12,
            &[figure(12, 0), figure(24, 1), figure(36, 1), figure(60, 2)],
        );
        assert!(
            drawn.contains("<title>Share basis changes between 12 and 24, between 36 and 60</title><path class=\"split\" d=\"M106 4V146M246 4V146\"/>"),
            "{drawn}"
        );
        assert!(
            !columns("EPS", "USD/shares", 12, &[figure(12, 1), figure(24, 1)]).contains("split")
        );
    }

    #[test]
    fn numbers_of_neighbouring_places_do_not_cover_each_other() {
        let place = |number: usize| Place {
            lat: 34.0,
            lon: -118.0,
            label: number.to_string(),
            number,
            page: None,
        };
        let drawn = map(
            "Schools",
            (34.0, -118.0),
            5.0,
            &[place(1), place(2), place(3)],
        );
        let at = |attribute: &str| {
            let values = drawn.split("class=\"place\"").skip(1).map(|rest| {
                rest.split(attribute)
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
                    .parse::<f64>()
                    .unwrap()
            });
            values.collect::<Vec<f64>>()
        };
        let (x, y) = (at("cx=\""), at("cy=\""));
        assert_eq!((x[0], y[0]), (160.0, 160.0));
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            assert!(
                (x[one] - x[other]).hypot(y[one] - y[other]) > 14.8,
                "{drawn}"
            );
        }
    }

    #[test]
    fn every_state_has_its_own_tile() {
        let places: BTreeSet<(&str, &str)> = TILES
            .lines()
            .filter_map(|line| line.split_once(','))
            .map(|(_, place)| place.split_once(',').unwrap())
            .collect();
        assert_eq!((TILES.lines().count(), places.len()), (51, 51));
    }
}
