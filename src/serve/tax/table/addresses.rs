//! Finds the address ranges in a state that contain a house number, and a unit if the range names
//! units. Ranges are indexed by ZIP code and street. All parts of a street must be equal; nothing
//! is guessed.

use std::collections::HashMap;

use pubdata_core::canonical::address::{Address, AddressKind};
use pubdata_core::error::{Error, Result};

/// Address ranges, sorted by ZIP code and street, 28 bytes each.
#[derive(Debug, Default)]
pub struct Addresses {
    ranges: Vec<Range>,
    /// Maps a street's directionals, name and suffix to the street's number.
    streets: HashMap<Box<str>, u32>,
    others: Vec<Other>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    zip: u32,
    street: u32,
    low: u32,
    high: u32,
    row: u32,
    /// Position in `others`, counted from 1; 0 means no entry.
    other: u32,
    parity: Parity,
}

/// House numbers in a range to which the range applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parity {
    Both,
    Odd,
    Even,
}

impl Parity {
    /// Parses the contract's value.
    pub fn parse(word: Option<&str>) -> Self {
        match word {
            Some("odd") => Self::Odd,
            Some("even") => Self::Even,
            _ => Self::Both,
        }
    }

    fn holds(self, number: u32) -> bool {
        match self {
            Self::Both => true,
            Self::Odd => number % 2 == 1,
            Self::Even => number.is_multiple_of(2),
        }
    }
}

/// Rarely used parts of a range: house numbers that are not plain, and units.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Other {
    /// First and last house number as strings, if one of them is not plain.
    numbers: Option<(String, String)>,
    unit: Option<Unit>,
}

/// A range of units in a building.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unit {
    pub kind: String,
    pub low: String,
    pub high: String,
    pub parity: Parity,
}

/// Address range as published.
#[derive(Debug)]
pub struct Record<'a> {
    pub zip: u32,
    pub street: [&'a str; 4],
    pub low: &'a str,
    pub high: &'a str,
    pub parity: Parity,
    pub unit: Option<Unit>,
    pub row: u32,
}

/// Range that contains an address. The least value is the most specific range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fit {
    pub is_whole_building: bool,
    pub width: u32,
    pub row: u32,
}

impl Addresses {
    /// Adds a record. The street consists of the same parts as in [`street_key`].
    pub fn push(&mut self, record: Record<'_>) -> Result<()> {
        let too_many = |_| Error::store("more streets than an index can number");
        let key = record.street.join("|");
        let street = match self.streets.get(key.as_str()) {
            Some(street) => *street,
            None => {
                let next = u32::try_from(self.streets.len()).map_err(too_many)?;
                self.streets.insert(key.into_boxed_str(), next);
                next
            }
        };
        let plain = plain(record.low).zip(plain(record.high));
        let (low, high) = plain.unwrap_or((0, u32::MAX));
        let numbers = plain
            .is_none()
            .then(|| (record.low.to_owned(), record.high.to_owned()));
        let mut other = 0;
        if numbers.is_some() || record.unit.is_some() {
            self.others.push(Other {
                numbers,
                unit: record.unit,
            });
            other = u32::try_from(self.others.len()).map_err(too_many)?;
        }
        self.ranges.push(Range {
            zip: record.zip,
            street,
            low,
            high,
            row: record.row,
            other,
            parity: record.parity,
        });
        Ok(())
    }

    /// Sorts the ranges for lookup.
    pub fn finish(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.shrink_to_fit();
    }

    /// Returns the ranges for any day that contain an address, in storage order.
    pub fn holding(&self, zip: u32, address: &Address) -> Vec<Fit> {
        let Some(&street) = self
            .streets
            .get(street_key(address).as_str())
            .filter(|_| address.kind == AddressKind::Street)
        else {
            return Vec::new();
        };
        let first = self
            .ranges
            .partition_point(|range| (range.zip, range.street) < (zip, street));
        let on_street = self.ranges[first..]
            .iter()
            .take_while(|range| (range.zip, range.street) == (zip, street));
        on_street
            .filter_map(|range| self.fit(range, address))
            .collect()
    }

    fn fit(&self, range: &Range, address: &Address) -> Option<Fit> {
        let other = range
            .other
            .checked_sub(1)
            .map(|index| &self.others[index as usize]);
        let number = plain(&address.number);
        let holds = match (number, other.and_then(|other| other.numbers.as_ref())) {
            (Some(number), None) => {
                (range.low..=range.high).contains(&number) && range.parity.holds(number)
            }
            // A number with letters or a fraction is compared as a string, and only with a range of
            // such numbers.
            (None, Some((low, high))) => {
                low.as_str() <= address.number.as_str() && address.number.as_str() <= high.as_str()
            }
            _ => false,
        };
        let unit = other.and_then(|other| other.unit.as_ref());
        let has_unit = unit.is_none_or(|unit| unit.holds(address));
        (holds && has_unit).then(|| Fit {
            is_whole_building: unit.is_none(),
            width: range.high - range.low,
            row: range.row,
        })
    }

    /// Returns the rows of all ranges in a ZIP code.
    pub fn of_zip(&self, zip: u32) -> impl Iterator<Item = u32> {
        let first = self.ranges.partition_point(|range| range.zip < zip);
        self.ranges[first..]
            .iter()
            .take_while(move |range| range.zip == zip)
            .map(|range| range.row)
    }

    pub fn size_bytes(&self) -> usize {
        let streets: usize = self.streets.keys().map(|key| key.len() + 32).sum();
        size_of::<Range>() * self.ranges.capacity() + streets + 160 * self.others.capacity()
    }
}

impl Unit {
    fn holds(&self, address: &Address) -> bool {
        if self.kind != address.unit_kind {
            return false;
        }
        match (plain(&self.low), plain(&self.high), plain(&address.unit)) {
            (Some(low), Some(high), Some(unit)) => {
                (low..=high).contains(&unit) && self.parity.holds(unit)
            }
            (None, None, None) => self.low <= address.unit && address.unit <= self.high,
            _ => false,
        }
    }
}

/// Builds the comparison key for a street. A part that is blank in one street must be blank in the
/// other.
fn street_key(address: &Address) -> String {
    [
        &*address.predirectional,
        &address.street,
        &address.suffix,
        &address.postdirectional,
    ]
    .join("|")
}

/// Parses a number that consists only of digits.
fn plain(text: &str) -> Option<u32> {
    let is_plain =
        !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use crate::tax::table::addresses::{Addresses, Parity, Record, Unit};
    use pubdata_core::canonical::street::parse_street;

    fn found(addresses: &Addresses, line: &str) -> Vec<u32> {
        let mut fits = addresses.holding(37_072, &parse_street(line));
        fits.sort_unstable();
        fits.into_iter().map(|fit| fit.row).collect()
    }

    #[test]
    fn ranges_hold_numbers_of_their_parity_and_the_most_specific_comes_first() {
        let mut addresses = Addresses::default();
        let street = ["", "NORTHWIND", "DR", ""];
        let unit = |low: &str, high: &str| {
            Some(Unit {
                kind: "APT".to_owned(),
                low: low.to_owned(),
                high: high.to_owned(),
                parity: Parity::Both,
            })
        };
        for (row, low, high, parity, unit) in [
            (0, "332", "398", Parity::Even, None),
            (1, "300", "500", Parity::Both, None),
            (2, "340", "340", Parity::Even, unit("1", "20")),
            (3, "N6W100", "N6W300", Parity::Both, None),
            (4, "340", "340", Parity::Even, unit("A", "F")),
        ] {
            addresses
                .push(Record {
                    zip: 37_072,
                    street,
                    low,
                    high,
                    parity,
                    unit,
                    row,
                })
                .unwrap();
        }
        addresses
            .push(Record {
                zip: 37_072,
                street: ["N", "NORTHWIND", "DR", ""],
                low: "1",
                high: "999",
                parity: Parity::Both,
                unit: None,
                row: 9,
            })
            .unwrap();
        addresses.finish();
        assert_eq!(found(&addresses, "332 Northwind Drive"), [0, 1]);
        assert_eq!(found(&addresses, "333 Northwind Dr"), [1]);
        assert_eq!(found(&addresses, "340 Northwind Dr Apt 7"), [2, 0, 1]);
        assert_eq!(found(&addresses, "340 Northwind Dr Apt C"), [4, 0, 1]);
        assert_eq!(found(&addresses, "340 Northwind Dr Apt 21"), [0, 1]);
        assert_eq!(found(&addresses, "N6W200 Northwind Dr"), [3]);
        assert_eq!(
            found(&addresses, "340 N Northwind Dr"),
            [9],
            "a directional that the file lacks makes it another street"
        );
        assert_eq!(found(&addresses, "340 1/2 Northwind Dr"), [0; 0]);
        assert_eq!(found(&addresses, "340 Northwind Ln"), [0; 0]);
        assert_eq!(found(&addresses, "PO Box 340"), [0; 0]);
        assert_eq!(addresses.of_zip(37_072).count(), 6);
        assert_eq!(addresses.of_zip(37_071).count(), 0);
    }
}
