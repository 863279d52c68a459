//! Reads a row's cells in the formats that cities use: dates, money, coordinates.

use std::collections::HashMap;

use polars::prelude::*;

use super::settings::{DateFormat, Lookup, Settings};
use crate::datasets::vocabulary::{DECLARED, SHARED_VOCABULARY, unknown_value};
use crate::normalise::{
    Day, day_from_epoch, day_from_pattern, degrees, pointers, text, unscaled, us_date,
};
use pubdata_core::contract::Words;
use pubdata_core::error::Result;
use pubdata_core::provenance::POINTERS;

/// Dates that forms and databases write in place of a missing date.
const PLACEHOLDERS: &[&str] = &[
    "1900-01-01",
    "1899-12-30",
    "1899-12-31",
    "2999-12-31",
    "9999-12-31",
];

/// Earliest plausible date. No city has older permits, so an earlier year is a typing error.
const EARLIEST: &str = "1850-01-01";

const LATEST: &str = "2100-01-01";

/// Larger values are kept and flagged.
const IMPLAUSIBLE_CENTS: i64 = 100_000_000_000;

/// Upper bound for cents and hundredths that the contract can represent.
const MAX_CENTS: i64 = 10_i64.pow(16);
const MAX_HUNDREDTHS: i64 = 10_i64.pow(14);

/// Rows from all of a source's files.
pub(super) struct Rows<'f> {
    columns: HashMap<&'f str, &'f StringChunked>,
    pointers: Vec<Vec<u64>>,
}

impl<'f> Rows<'f> {
    pub(super) fn new(frame: &'f DataFrame) -> Result<Self> {
        let names = frame
            .get_column_names()
            .into_iter()
            .filter(|name| **name != POINTERS);
        let columns = names
            .map(|name| Ok((name.as_str(), text(frame, name)?)))
            .collect::<Result<_>>()?;
        Ok(Self {
            columns,
            pointers: pointers(frame, POINTERS)?
                .into_iter()
                .map(Option::unwrap_or_default)
                .collect(),
        })
    }

    pub(super) fn height(&self) -> usize {
        self.pointers.len()
    }

    pub(super) fn pointers(&self, row: usize) -> &[u64] {
        &self.pointers[row]
    }

    /// Returns a cell, or `None` if it is empty or the column is missing from the source.
    pub(super) fn cell(&self, row: usize, column: &str) -> Option<&'f str> {
        unlisted(self.columns.get(column)?.get(row)?)
    }
}

/// Extracts a link or telephone number from a Socrata portal's list, where it is the first entry:
/// `[5125550100, null]`.
fn unlisted(cell: &str) -> Option<&str> {
    let text = match cell
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(", null]"))
    {
        Some("null") => "",
        Some(first) => first.trim(),
        None => cell,
    };
    (!text.is_empty()).then_some(text)
}

/// An issue about a cell: the code and the original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Warning {
    pub(super) code: &'static str,
    pub(super) detail: String,
}

/// Reads the cells in one row and records the cells that cannot be read.
pub(super) struct Reader<'a> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) row: usize,
    pub(super) settings: &'a Settings,
    pub(super) warnings: Vec<Warning>,
    /// Words that are missing from the declaration's tables, with their columns: `type=Sheds`.
    pub(super) unknown_values: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(rows: &'a Rows<'a>, row: usize, settings: &'a Settings) -> Self {
        Self {
            rows,
            row,
            settings,
            warnings: Vec::new(),
            unknown_values: Vec::new(),
        }
    }

    pub(super) fn text(&self, column: &str) -> Option<&'a str> {
        self.rows.cell(self.row, column)
    }

    pub(super) fn owned(&self, column: &str) -> Option<String> {
        self.text(column).map(str::to_owned)
    }

    pub(super) fn warn(&mut self, code: &'static str, detail: String) {
        self.warnings.push(Warning { code, detail });
    }

    pub(super) fn date(&mut self, column: &str) -> Option<String> {
        let cell = self.text(column)?;
        date(cell, &self.settings.dates).unwrap_or_else(|| {
            self.warn("bad_date", format!("{column} is `{cell}`"));
            None
        })
    }

    /// Returns an amount in cents, which may be zero but not negative.
    pub(super) fn money(&mut self, column: &str) -> Option<i64> {
        let cell = self.text(column)?;
        let cents = amount(cell.trim_start_matches('$')).filter(|cents| *cents < MAX_CENTS);
        match cents {
            None => self.warn("bad_money", format!("{column} is `{cell}`")),
            Some(cents) if cents > IMPLAUSIBLE_CENTS => {
                self.warn("implausible_money", format!("{column} is `{cell}`"));
            }
            Some(_) => {}
        }
        cents
    }

    /// Returns a quantity in hundredths.
    pub(super) fn measure(&mut self, column: &str) -> Option<i64> {
        let cell = self.text(column)?;
        let hundredths = amount(cell).filter(|units| *units < MAX_HUNDREDTHS);
        if hundredths.is_none() {
            self.warn("bad_number", format!("{column} is `{cell}`"));
        }
        hundredths
    }

    /// Looks up a word in the source's table, then in the shared vocabulary. An unknown word
    /// becomes null.
    pub(super) fn category(
        &mut self,
        table: &Lookup,
        trade: &Words,
        column: &str,
        code: &'static str,
    ) -> Coded {
        let Some(word) = self.text(column) else {
            return Coded::default();
        };
        self.known(
            by_table(table, word).or_else(|| by_trade(trade, word)),
            word,
            column,
            code,
        )
    }

    /// Looks up the permit's type, which may depend on the subtype: `EW/MH` is tried before `EW`. A
    /// source whose permits all have one type has no such column. If the type is only `building`
    /// and the subtype names a trade, the trade becomes the type. If the type is `other`, the
    /// subtype does not decide anything, and the pair must be declared. Warns about a missing pair
    /// if the source's table contains other pairs with the type.
    pub(super) fn kind(&mut self) -> Coded {
        let Settings {
            only_type,
            types,
            trade,
            ..
        } = self.settings;
        if let Some(kind) = only_type {
            return Coded {
                value: Some(kind.clone()),
                basis: Some(DECLARED),
            };
        }
        let Some(word) = self.text("type") else {
            return Coded::default();
        };
        let alone = by_table(types, word).or_else(|| by_trade(&trade.types, word));
        let Some(below) = self.text("sub_type") else {
            return self.known(alone, word, "type", "unmapped_type");
        };
        let pair = format!("{word}/{below}");
        if let together @ Some(_) = by_table(types, &pair).or_else(|| by_trade(&trade.types, &pair))
        {
            return self.known(together, word, "type", "unmapped_type");
        }
        // Most types are specific enough on their own.
        let Some((general @ ("building" | "other"), _)) = alone else {
            return self.known(alone, word, "type", "unmapped_type");
        };
        let of_below = by_trade(&trade.types, below)
            .filter(|(value, _)| !matches!(*value, "building" | "other" | ""));
        match of_below {
            Some(_) if general == "building" => {
                self.known(of_below, below, "type", "unmapped_type")
            }
            Some(_) => self.known(None, &pair, "type", "unmapped_type"),
            None => {
                if types.has_pairs_of(word) {
                    self.warn(
                        "unmapped_pair",
                        format!("type is `{pair}`, of which only `{word}` is known"),
                    );
                }
                self.known(alone, word, "type", "unmapped_type")
            }
        }
    }

    fn known(
        &mut self,
        found: Option<(&str, &'static str)>,
        word: &str,
        column: &str,
        code: &'static str,
    ) -> Coded {
        if found.is_none() {
            self.warn(code, format!("{column} is `{word}`"));
            self.unknown_values.push(unknown_value(column, word));
        }
        match found.filter(|(value, _)| !value.is_empty()) {
            Some((value, basis)) => Coded {
                value: Some(value.to_owned()),
                basis: Some(basis),
            },
            None => Coded::default(),
        }
    }

    /// Returns latitude and longitude from two columns or from a single column. Returns `None` for
    /// 0, 0.
    pub(super) fn coordinates(&mut self) -> Option<(f64, f64)> {
        let Some((lat, lon)) = self
            .text("lat")
            .zip(self.text("lon"))
            .or_else(|| self.text("location").and_then(point))
        else {
            if let Some(cell) = self.text("location").filter(|cell| cell.contains('(')) {
                self.warn("bad_coordinates", format!("location is `{cell}`"));
            }
            return None;
        };
        match degrees(lat.trim(), 90.0).zip(degrees(lon.trim(), 180.0)) {
            None if self.settings.has_projected_coordinates
                && is_projected(lat)
                && is_projected(lon) =>
            {
                None
            }
            Some((lat, lon)) => {
                (lat.abs() > f64::EPSILON || lon.abs() > f64::EPSILON).then_some((lat, lon))
            }
            None => {
                self.warn(
                    "bad_coordinates",
                    format!("latitude and longitude are `{lat}` and `{lon}`"),
                );
                None
            }
        }
    }
}

/// A coded column's value, and the basis for it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Coded {
    pub(super) value: Option<String>,
    pub(super) basis: Option<&'static str>,
}

fn by_table<'t>(table: &'t Lookup, word: &str) -> Option<(&'t str, &'static str)> {
    Some((table.get(word)?, DECLARED))
}

fn by_trade<'t>(words: &'t Words, word: &str) -> Option<(&'t str, &'static str)> {
    Some((words.get(word)?, SHARED_VOCABULARY))
}

/// Parses latitude and longitude from `(37.7857, -122.4085)`, or in reverse order from `POINT
/// (-122.4085 37.7857)`. Address lines may precede the coordinates.
fn point(cell: &str) -> Option<(&str, &str)> {
    let cell = cell.trim().lines().next_back()?.trim();
    let (is_well_known_text, rest) = match cell.split_at_checked(5) {
        Some((word, rest)) if word.eq_ignore_ascii_case("point") => (true, rest.trim()),
        _ => (false, cell),
    };
    let pair = rest.strip_prefix('(')?.strip_suffix(')')?;
    match is_well_known_text {
        true => pair.trim().split_once(' ').map(|(lon, lat)| (lat, lon)),
        false => pair.split_once(','),
    }
}

/// Returns true for a distance on a projected plane, which is too large to be an angle.
fn is_projected(cell: &str) -> bool {
    cell.trim()
        .parse::<f64>()
        .is_ok_and(|value| value.is_finite() && value.abs() > 360.0)
}

/// Parses a date. Returns `None` for unreadable text, and `Some(None)` for a placeholder.
#[expect(
    clippy::option_option,
    reason = "the outer says whether the text can be read, the inner whether it is a date"
)]
pub(super) fn date(text: &str, formats: &[DateFormat]) -> Option<Option<String>> {
    if text.bytes().all(|byte| matches!(byte, b'0' | b'-' | b'/')) {
        return Some(None);
    }
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let read = |format: &DateFormat| match format {
        DateFormat::MonthDayYear => us_date(day),
        DateFormat::Iso => Day::from_iso(day.as_bytes()).map(|day| day.to_string()),
        DateFormat::YearMonthDay => day_from_pattern(day, "YYYY/MM/DD").map(|day| day.to_string()),
        DateFormat::EightDigits => day_from_pattern(day, "YYYYMMDD").map(|day| day.to_string()),
        DateFormat::EpochSeconds => day_from_epoch(text, 86_400).map(|day| day.to_string()),
        DateFormat::EpochMilliseconds => {
            day_from_epoch(text, 86_400_000).map(|day| day.to_string())
        }
    };
    let date = formats.iter().find_map(read)?;
    if PLACEHOLDERS.contains(&date.as_str()) {
        return Some(None);
    }
    (date.as_str() > EARLIEST && date.as_str() < LATEST).then_some(Some(date))
}

fn amount(text: &str) -> Option<i64> {
    let plain: String = text.chars().filter(|c| *c != ',' && *c != ' ').collect();
    unscaled(&plain, 2).filter(|units| *units >= 0)
}

/// Builds a frame with one row, for tests.
#[cfg(test)]
pub(super) fn one_row(cells: &[(&str, &str)]) -> DataFrame {
    let text = |(name, cell): &(&str, &str)| {
        StringChunked::from_iter_options((*name).into(), std::iter::once(Some(*cell))).into_column()
    };
    let mut columns: Vec<Column> = cells.iter().map(text).collect();
    columns.push(crate::normalise::pointer_column(
        [[0_u64].as_slice()].into_iter(),
    ));
    DataFrame::new(1, columns).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats that occur in cities' files.
    #[test]
    fn dates_in_every_form() {
        let all = [
            DateFormat::MonthDayYear,
            DateFormat::Iso,
            DateFormat::YearMonthDay,
            DateFormat::EpochSeconds,
        ];
        let cases = [
            ("03/22/2016", "2016-03-22"),
            ("01/04/2024 00:00:00", "2024-01-04"),
            ("2016-03-29T12:00:00", "2016-03-29"),
            ("2013-01-02", "2013-01-02"),
            ("2024/03/09", "2024-03-09"),
            ("1255910400", "2009-10-19"),
            ("122601600", "1973-11-20"),
        ];
        for (text, expected) in cases {
            assert_eq!(date(text, &all), Some(Some(expected.to_owned())), "{text}");
        }
        assert_eq!(
            date("20260813", &[DateFormat::EightDigits]),
            Some(Some("2026-08-13".to_owned()))
        );
        // Midnight in Nashville, in summer and in winter.
        for (text, expected) in [
            ("1681189200000", "2023-04-11"),
            ("1704866400000", "2024-01-10"),
        ] {
            assert_eq!(
                date(text, &[DateFormat::EpochMilliseconds]),
                Some(Some(expected.to_owned()))
            );
        }
        for placeholder in [
            "00000000",
            "00/00/0000",
            "0000-00-00",
            "01/01/1900",
            "12/31/9999",
        ] {
            assert_eq!(date(placeholder, &all), Some(None), "{placeholder}");
        }
        for wrong in [
            "0020-01-01T00:00:00",
            "13/45/2016",
            "31-JAN-00",
            "2016-02-30",
            "soon",
            "99999999999999",
        ] {
            assert_eq!(date(wrong, &all), None, "{wrong}");
        }
    }

    #[test]
    fn points_are_read_in_either_order() {
        for cell in [
            "(37.78, -122.40)",
            "POINT (-122.40 37.78)",
            "point(-122.40 37.78)",
        ] {
            let (lat, lon) = point(cell).unwrap();
            assert_eq!((lat.trim(), lon.trim()), ("37.78", "-122.40"), "{cell}");
        }
        // A `location` cell from Montgomery County, Maryland.
        let (lat, lon) =
            point("5107 DALECARLIA DR\nBETHESDA, MD 20816\n(38.94928, -77.102596)").unwrap();
        assert_eq!((lat.trim(), lon.trim()), ("38.94928", "-77.102596"));
        for cell in [
            "140 Ellis St",
            "5107 DALECARLIA DR\nBETHESDA, MD 20816",
            "POINT EMPTY",
            "(37.78)",
            "POINT (-122.40)",
            "",
            "é",
        ] {
            assert_eq!(point(cell), None, "{cell}");
        }
        assert!(is_projected("2130000.1") && !is_projected("-98.49") && !is_projected("none"));
    }

    #[test]
    fn amounts_keep_every_cent() {
        let cases = [
            ("1,385,598.08", Some(138_559_808)),
            ("52.5", Some(5_250)),
            ("0.0", Some(0)),
            ("1", Some(100)),
            ("-1", None),
            ("n/a", None),
        ];
        for (text, expected) in cases {
            assert_eq!(amount(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_of_a_portal_are_their_first_item() {
        assert_eq!(unlisted("[5125550100, null]"), Some("5125550100"));
        assert_eq!(unlisted("[null, null]"), None);
        assert_eq!(unlisted("[sic] as written"), Some("[sic] as written"));
    }

    /// Types from Tacoma, Chicago and San Antonio, and one that occurs in no source.
    #[test]
    fn type_and_subtype_together_determine_the_permit_type() {
        let settings = r#"
jurisdiction = { id = "us-xx-list", name = "List", state = "XX" }
dates = []
type = { Building = "building", "Building/Annex" = "other", "Right-of-Way" = "other", Sewer = "plumbing" }
"#;
        let words = r#"{"mechanical": "mechanical", "roof": "roof", "addition": "building", "electrical": "electrical", "express permit": "building"}"#;
        let mut settings: Settings = toml::from_str(settings).unwrap();
        settings.trade.types = serde_json::from_str(words).unwrap();
        let cases = [
            (
                "Building",
                "Mechanical",
                Some("mechanical"),
                Some(SHARED_VOCABULARY),
                vec![],
            ),
            ("Building", "Annex", Some("other"), Some(DECLARED), vec![]),
            (
                "Building",
                "Commercial",
                Some("building"),
                Some(DECLARED),
                vec!["unmapped_pair"],
            ),
            (
                "Express Permit",
                "Roof",
                Some("roof"),
                Some(SHARED_VOCABULARY),
                vec![],
            ),
            (
                "Right-of-Way",
                "Electrical",
                None,
                None,
                vec!["unmapped_type"],
            ),
            (
                "Right-of-Way",
                "Lane",
                Some("other"),
                Some(DECLARED),
                vec![],
            ),
            (
                "Sewer",
                "Mechanical",
                Some("plumbing"),
                Some(DECLARED),
                vec![],
            ),
            ("Synthetic", "Roof", None, None, vec!["unmapped_type"]),
        ];
        for (kind, below, value, basis, warnings) in cases {
            let frame = one_row(&[("type", kind), ("sub_type", below)]);
            let rows = Rows::new(&frame).unwrap();
            let mut reader = Reader::new(&rows, 0, &settings);
            let coded = reader.kind();
            assert_eq!(
                (coded.value.as_deref(), coded.basis),
                (value, basis),
                "{kind}/{below}"
            );
            assert_eq!(
                reader
                    .warnings
                    .iter()
                    .map(|warning| warning.code)
                    .collect::<Vec<_>>(),
                warnings,
                "{kind}/{below}"
            );
        }
    }
}
