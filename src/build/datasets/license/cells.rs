//! Reads a row's cells: dates, money, classes.

use std::rc::Rc;

use polars::prelude::*;

use super::settings::{DateFormat, Settings};
use crate::datasets::placeholders::{Holds, is_placeholder};
use crate::normalise::{Day, pointers, unscaled, without_time};
use pubdata_core::error::Result;
use pubdata_core::provenance::POINTERS;

/// Columns that are checked for placeholders, with the kind of value in each column. In a row with
/// several licenses, column names end in a number. Parts of persons' names are not checked, because
/// Na and Same are last names.
const PLACEHOLDERS: &[(&str, Holds)] = &[
    ("number", Holds::Number),
    ("holder_name", Holds::Name),
    ("full_name", Holds::Name),
    ("organization_name", Holds::Name),
    ("principal", Holds::Name),
    ("bond_surety", Holds::Name),
    ("insurance_insurer", Holds::Name),
    ("workers_comp_insurer", Holds::Name),
    ("business_name", Holds::TradeName),
    ("dba", Holds::TradeName),
    ("city", Holds::Place),
    ("address_state", Holds::Place),
    ("city_state_zip", Holds::Place),
    ("county", Holds::Place),
];

/// Text columns of a decoded source, by pubdata name.
pub(super) struct Cells<'f> {
    columns: PlHashMap<&'f str, Texts<'f>>,
    /// Columns named `name_n`, first by number and then by the name without it.
    repeated: PlHashMap<u32, PlHashMap<&'f str, Texts<'f>>>,
    /// Names of the columns that contain placeholders, each with its number if the column is
    /// repeated.
    with_placeholders: Vec<(&'f str, Option<u32>)>,
    settings: &'f Settings,
    pointers: Vec<Vec<u64>>,
}

impl<'f> Cells<'f> {
    pub(super) fn new(frame: &'f DataFrame, settings: &'f Settings) -> Result<Self> {
        let texts = || {
            frame
                .columns()
                .iter()
                .filter_map(|column| Some((column.name().as_str(), column.str().ok()?)))
        };
        let mut columns: PlHashMap<&str, Texts<'_>> = PlHashMap::new();
        let mut repeated: PlHashMap<u32, PlHashMap<&str, Texts<'_>>> = PlHashMap::new();
        let mut with_placeholders = Vec::new();
        for (name, column) in texts() {
            let own = Texts::new(name, column, &settings.withheld);
            with_placeholders.extend(own.placeholders.is_some().then_some((name, None)));
            columns.insert(name, own);
            // Numbers have no leading zero or sign, so `name_01` is not a repetition.
            if let Some((name, number)) = name
                .rsplit_once('_')
                .filter(|(_, number)| !number.starts_with(['0', '+']))
                && let Ok(number) = number.parse()
            {
                let own = Texts::new(name, column, &settings.withheld);
                with_placeholders
                    .extend(own.placeholders.is_some().then_some((name, Some(number))));
                repeated.entry(number).or_default().insert(name, own);
            }
        }
        let pointers = pointers(frame, POINTERS)?
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        Ok(Self {
            columns,
            repeated,
            with_placeholders,
            settings,
            pointers,
        })
    }

    pub(super) fn height(&self) -> usize {
        self.pointers.len()
    }

    /// Returns one row. With `repeat` n, columns `name_n` take precedence over `name`.
    pub(super) fn row(&self, row: usize, repeat: Option<u32>) -> Row<'_> {
        Row {
            cells: self,
            row,
            repeat,
            repeated: repeat.and_then(|repeat| self.repeated.get(&repeat)),
        }
    }
}

/// A column's texts.
#[derive(Clone)]
struct Texts<'f> {
    texts: &'f StringChunked,
    /// Mask of the cells with placeholders, or `None` if the column has no such cell.
    placeholders: Option<Rc<BooleanChunked>>,
}

impl<'f> Texts<'f> {
    fn new(name: &str, texts: &'f StringChunked, withheld: &[String]) -> Self {
        let holds = PLACEHOLDERS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, holds)| *holds);
        let is_found = |text: &str, holds| {
            !text.is_empty()
                && !withheld.iter().any(|withheld| withheld == text)
                && is_placeholder(holds, text)
        };
        let found = |holds| {
            texts
                .iter()
                .map(|cell| cell.is_some_and(|text| is_found(text.trim(), holds)))
                .collect::<BooleanChunked>()
        };
        Self {
            texts,
            placeholders: holds.map(found).filter(BooleanChunked::any).map(Rc::new),
        }
    }

    fn is_placeholder(&self, row: usize) -> bool {
        self.placeholders
            .as_ref()
            .is_some_and(|placeholders| placeholders.get(row) == Some(true))
    }
}

/// A row in [`Cells`].
#[derive(Clone, Copy)]
pub(super) struct Row<'c> {
    cells: &'c Cells<'c>,
    row: usize,
    repeat: Option<u32>,
    repeated: Option<&'c PlHashMap<&'c str, Texts<'c>>>,
}

impl<'c> Row<'c> {
    /// Returns a cell's text. Returns `None` if the cell is empty, withheld, a placeholder or in a
    /// column that is missing from the source.
    pub(super) fn text(&self, name: &str) -> Option<&'c str> {
        let own = self.repeated.and_then(|repeated| repeated.get(name));
        let column = own
            .or_else(|| self.cells.columns.get(name))
            .filter(|column| !column.is_placeholder(self.row))?;
        let text = column.texts.get(self.row)?.trim();
        (!text.is_empty()
            && !self
                .cells
                .settings
                .withheld
                .iter()
                .any(|withheld| withheld == text))
        .then_some(text)
    }

    /// Returns the columns in which the row has a placeholder, with the original text.
    pub(super) fn placeholders(&self) -> impl Iterator<Item = (&'c str, &'c str)> {
        let cells = self.cells;
        let columns = cells
            .with_placeholders
            .iter()
            .filter_map(move |(name, number)| {
                Some((
                    *name,
                    if number.is_none() {
                        cells.columns.get(name)?
                    } else {
                        self.repeated
                            .filter(|_| *number == self.repeat)?
                            .get(name)?
                    },
                ))
            });
        let own = columns.filter(|(_, column)| column.is_placeholder(self.row));
        own.map(|(name, column)| (name, column.texts.get(self.row).unwrap_or_default().trim()))
    }

    /// Returns the license's number among several licenses in the row.
    pub(super) fn repeat(&self) -> Option<u32> {
        self.repeat
    }

    pub(super) fn date_formats(&self) -> &'c [DateFormat] {
        &self.cells.settings.date_formats
    }

    pub(super) fn pointers(&self) -> &'c [u64] {
        &self.cells.pointers[self.row]
    }
}

/// Result of reading a cell: a value, no value, or unreadable text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read<T> {
    Value(T),
    Nothing,
    Bad,
}

/// Parses a date as `YYYY-MM-DD`. Placeholders for "unknown" and "open" yield no value.
pub(super) fn date(text: &str, formats: &[DateFormat]) -> Read<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !digits.is_empty() && digits.bytes().all(|byte| byte == b'0') {
        return Read::Nothing;
    }
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parse = |format: &DateFormat| {
        let day = without_time(text);
        let iso = match format {
            DateFormat::Iso => day.get(..10)?.to_owned(),
            DateFormat::UsSlashes => {
                let mut parts = day.split('/');
                let (month, of_month, year) = (parts.next()?, parts.next()?, parts.next()?);
                if parts.next().is_some()
                    || month.len() > 2
                    || of_month.len() > 2
                    || year.len() != 4
                {
                    return None;
                }
                format!("{year}-{month:0>2}-{of_month:0>2}")
            }
            DateFormat::UsDigits if day.len() == 8 && is_digits(day) => {
                format!("{}-{}-{}", &day[4..], &day[..2], &day[2..4])
            }
            DateFormat::Digits if day.len() == 8 && is_digits(day) => {
                format!("{}-{}-{}", &day[..4], &day[4..6], &day[6..])
            }
            DateFormat::UsDigits | DateFormat::Digits => return None,
        };
        Day::from_iso(iso.as_bytes()).map(|day| (day, iso))
    };
    match formats.iter().find_map(parse) {
        Some((_, iso)) if matches!(iso.as_str(), "1900-01-01" | "2999-12-31" | "9999-12-31") => {
            Read::Nothing
        }
        Some((day, iso)) if (1850..2200).contains(&day.civil().0) => Read::Value(iso),
        _ => Read::Bad,
    }
}

/// Parses an amount in US dollars and returns cents.
pub(super) fn money(text: &str) -> Read<i64> {
    let plain: String = text
        .chars()
        .filter(|c| !matches!(c, '$' | ',' | ' '))
        .collect();
    unscaled(&plain, 2)
        .filter(|cents| *cents >= 0)
        .map_or(Read::Bad, Read::Value)
}

/// Normalises a classification code to upper case. With padding, `C-7` and `C10` become `C-07` and
/// `C-10`.
pub(super) fn class_code(text: &str, is_padded: bool) -> String {
    let code = text.trim().to_uppercase();
    let letters = code.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &code[letters.len()..];
    let letter = letters.trim_end_matches('-');
    if is_padded && letter.len() == 1 && !digits.is_empty() {
        format!("{letter}-{digits:0>2}")
    } else {
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_forms_and_their_placeholders() {
        let all = [
            DateFormat::UsSlashes,
            DateFormat::UsDigits,
            DateFormat::Digits,
            DateFormat::Iso,
        ];
        let read = |text: &str, format: DateFormat| date(text, &[format]);
        assert_eq!(
            read("04/27/2021", DateFormat::UsSlashes),
            Read::Value("2021-04-27".to_owned())
        );
        assert_eq!(
            read("04272021", DateFormat::UsDigits),
            Read::Value("2021-04-27".to_owned())
        );
        assert_eq!(
            read("20210427", DateFormat::Digits),
            Read::Value("2021-04-27".to_owned())
        );
        assert_eq!(
            read("2021-04-27T00:00:00", DateFormat::Iso),
            Read::Value("2021-04-27".to_owned())
        );
        assert_eq!(
            read("04/27/2021 12:00:00 AM", DateFormat::UsSlashes),
            Read::Value("2021-04-27".to_owned())
        );
        for nothing in [
            "00000000",
            "00/00/0000",
            "01/01/1900",
            "19000101",
            "12319999",
            "29991231",
            "9999-12-31",
        ] {
            assert_eq!(date(nothing, &all), Read::Nothing, "{nothing}");
        }
        for bad in [
            "02/30/2021",
            "2021",
            "N/A",
            "13/01/2021",
            "04/27/21",
            "0021-04-27",
            "04/27/2021/1",
        ] {
            assert_eq!(date(bad, &all), Read::Bad, "{bad}");
        }
    }

    #[test]
    fn money_to_the_cent() {
        assert_eq!(money("12000.0000"), Read::Value(1_200_000));
        assert_eq!(money("$1,000,000"), Read::Value(100_000_000));
        assert_eq!(money("0"), Read::Value(0));
        assert_eq!(money("-5"), Read::Bad);
        assert_eq!(money("12.345"), Read::Bad);
        assert_eq!(money("none"), Read::Bad);
    }

    #[test]
    fn classes_of_both_spellings_are_one() {
        for (text, code) in [
            ("C-7", "C-07"),
            ("C10", "C-10"),
            (" c51", "C-51"),
            ("B", "B"),
            ("HAZ", "HAZ"),
            ("D49", "D-49"),
        ] {
            assert_eq!(class_code(text, true), code);
        }
        assert_eq!(class_code("C-7", false), "C-7");
    }
}
