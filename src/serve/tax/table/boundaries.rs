//! Indexes the boundary records of one state, which state the jurisdictions that tax sales at a
//! place. Records are found by ZIP code, ZIP+4 code, address, city or county. The index contains
//! records for every day; the caller selects the records that are valid on the requested day.

use std::collections::HashMap;

use arrow::array::BooleanArray;
use bytes::Bytes;

use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::{Days, key_columns, known_day};
use crate::release::provenance::{Provenance, ProvenanceWriter};
use crate::release::row_sources::RowSources;
use crate::release::table::{Table, TextLists, Texts};
use crate::tax::table::addresses::{Addresses, Parity, Record, Unit};
use crate::tax::table::ids::Ids;
use crate::tax::table::interval_index::{IntervalIndex, Span};
use crate::tax::table::rates::Class;
use pubdata_core::canonical::address::{Address, city_key};
use pubdata_core::error::{Error, Result};
use pubdata_store::{Manifest, Part};

key_columns! {
    struct Columns {
        record_id: Texts,
        record_type: Texts,
        begin_date: Days,
        end_date: Days,
        zip_low: Texts,
        zip_high: Texts,
        plus4_low: Texts,
        plus4_high: Texts,
        number_low: Texts,
        number_high: Texts,
        parity: Texts,
        predirectional: Texts,
        street: Texts,
        street_suffix: Texts,
        postdirectional: Texts,
        secondary_kind: Texts,
        secondary_low: Texts,
        secondary_high: Texts,
        secondary_parity: Texts,
        city: Texts,
        county_fips: Texts,
        has_state_tax: BooleanArray,
        county_code: Texts,
        place_code: Texts,
        special_codes: TextLists,
        validation_status: Texts,
    }
}

/// Type code of the state's own tax. A district with this code would be counted twice.
const STATE_TYPE: &str = "45";

/// A set of jurisdictions that tax sales at a place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Jurisdictions {
    pub has_state_tax: bool,
    pub county: Option<String>,
    pub place: Option<String>,
    /// Type and code of every other jurisdiction.
    pub special: Vec<(String, String)>,
}

impl Jurisdictions {
    /// A set with only the state.
    pub const fn state_only() -> Self {
        Self {
            has_state_tax: true,
            county: None,
            place: None,
            special: Vec::new(),
        }
    }

    /// Returns the class and code of each jurisdiction except the state.
    pub fn local(&self) -> impl Iterator<Item = (Class, &str)> {
        let own = self
            .county
            .iter()
            .map(|code| (Class::County, code.as_str()))
            .chain(self.place.iter().map(|code| (Class::City, code.as_str())));
        own.chain(
            self.special
                .iter()
                .map(|(type_raw, code)| (class_of_type(type_raw), code.as_str())),
        )
    }
}

fn class_of_type(type_raw: &str) -> Class {
    match type_raw {
        "00" => Class::County,
        "01" => Class::City,
        _ => Class::Special,
    }
}

/// The boundary records of a state, in sorted arrays by kind.
#[derive(Debug)]
pub struct Boundaries {
    sections: Vec<Section>,
    ids: Ids,
    statuses: DictionaryColumn,
    rows: Vec<Row>,
    sets: Vec<Jurisdictions>,
    zip5: IntervalIndex,
    /// ZIP+4 codes as nine-digit numbers.
    zip9: IntervalIndex,
    addresses: Addresses,
    /// Named places by normalised city name, each with its county if the county is known.
    places: Places,
    /// Areas outside named places, by FIPS code of the county.
    counties: HashMap<Box<str>, Vec<u32>>,
}

/// Rows of named places by name, each with its county if the county is known.
type Places = HashMap<String, Vec<(u32, Option<Box<str>>)>>;

/// Rows of one part, up to the first row of the next section.
#[derive(Debug)]
struct Section {
    first: usize,
    part: Part,
    row_sources: RowSources,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    begin: i32,
    end: i32,
    set: u32,
}

/// Value for a record without a last day.
const OPEN: i32 = i32::MAX;

/// Builds [`Boundaries`] from the parts of a state.
#[derive(Default)]
pub struct Builder {
    sections: Vec<Section>,
    ids: Ids,
    rows: Vec<Row>,
    sets: Sets,
    zip5: Vec<Span>,
    zip9: Vec<Span>,
    addresses: Addresses,
    places: Places,
    counties: HashMap<Box<str>, Vec<u32>>,
    statuses: DictionaryColumn,
}

impl Boundaries {
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns records whose range of ZIP codes contains the code.
    pub fn of_zip5(&self, zip: u32) -> impl Iterator<Item = u32> {
        self.zip5.meeting(zip, zip).map(|span| span.row)
    }

    /// Returns records whose range of ZIP+4 codes contains the code, with the width of the range.
    pub fn of_zip9(&self, zip9: u32) -> impl Iterator<Item = (u32, u32)> {
        self.zip9
            .meeting(zip9, zip9)
            .map(|span| (span.row, span.high - span.low))
    }

    /// Returns records whose range of ZIP+4 codes overlaps a ZIP code.
    pub fn of_any_zip9(&self, zip: u32) -> impl Iterator<Item = u32> {
        self.zip9
            .meeting(zip * 10_000, zip * 10_000 + 9_999)
            .map(|span| span.row)
    }

    /// Returns the address ranges that contain an address.
    pub fn of_address(
        &self,
        zip: u32,
        address: &Address,
    ) -> Vec<crate::tax::table::addresses::Fit> {
        self.addresses.holding(zip, address)
    }

    /// Returns the address ranges in a ZIP code.
    pub fn of_any_address(&self, zip: u32) -> impl Iterator<Item = u32> {
        self.addresses.of_zip(zip)
    }

    /// Returns the records of a named place. If several places have the name, records in one of the
    /// given counties are preferred.
    pub fn of_place(&self, name: &str, counties: &[String]) -> Vec<u32> {
        let places = self
            .places
            .get(&city_key(name))
            .map_or(&[][..], Vec::as_slice);
        let is_within = |county: &Option<Box<str>>| {
            county
                .as_ref()
                .is_some_and(|county| counties.iter().any(|known| **known == **county))
        };
        let has_one = places.iter().any(|(_, county)| is_within(county));
        places
            .iter()
            .filter(|(_, county)| !has_one || is_within(county))
            .map(|(row, _)| *row)
            .collect()
    }

    /// Returns the records of named places in some counties, each with its normalised name.
    pub fn places_of(&self, counties: &[String]) -> Vec<(u32, &str)> {
        let is_within = |county: &Option<Box<str>>| {
            county
                .as_ref()
                .is_some_and(|county| counties.iter().any(|known| **known == **county))
        };
        let rows = self.places.iter().flat_map(|(name, rows)| {
            rows.iter()
                .filter(|(_, county)| is_within(county))
                .map(|(row, _)| (*row, name.as_str()))
        });
        let mut rows: Vec<(u32, &str)> = rows.collect();
        rows.sort_unstable();
        rows
    }

    /// Returns records of the areas of a county outside named places.
    pub fn of_county(&self, fips: &str) -> &[u32] {
        self.counties.get(fips).map_or(&[], Vec::as_slice)
    }

    /// Returns the first and last day of a record, in days since 1970-01-01.
    pub fn days(&self, row: u32) -> (i32, Option<i32>) {
        let row = self.rows[row as usize];
        (row.begin, (row.end != OPEN).then_some(row.end))
    }

    pub fn jurisdictions(&self, row: u32) -> &Jurisdictions {
        &self.sets[self.set(row)]
    }

    /// Returns the number of a record's set of jurisdictions. Equal numbers mean equal sets.
    pub fn set(&self, row: u32) -> usize {
        self.rows[row as usize].set as usize
    }

    pub fn provenance<'r>(&'r self, manifest: &'r Manifest, row: u32) -> Provenance<'r> {
        let row = row as usize;
        let section = &self.sections[self
            .sections
            .partition_point(|section| section.first <= row)
            - 1];
        let writer = ProvenanceWriter::new(manifest, "tax.boundary", &section.part);
        writer.for_row(
            &section.row_sources,
            row - section.first,
            self.statuses.at(row),
            self.ids.get(row),
        )
    }

    /// Returns the approximate memory use of the records.
    pub fn size_bytes(&self) -> usize {
        let rows = (size_of::<Row>() + 2) * self.rows.capacity();
        let places: usize = self
            .places
            .iter()
            .map(|(name, rows)| name.len() + 64 + 32 * rows.capacity())
            .sum();
        rows + 160 * self.sets.capacity()
            + self
                .sections
                .iter()
                .map(|section| section.row_sources.size_bytes())
                .sum::<usize>()
            + self.ids.size_bytes()
            + self.zip5.size_bytes()
            + self.zip9.size_bytes()
            + self.addresses.size_bytes()
            + places
    }
}

impl Builder {
    /// Adds the records of a part of `tax.boundary`.
    pub fn add_part(&mut self, part: Part, bytes: Bytes) -> Result<()> {
        let row_sources = RowSources::read(bytes.clone(), &part.path)?;
        self.rows.reserve(part.rows as usize);
        let first = self.rows.len();
        Table::each(bytes, Columns::COLUMNS, &part.path, |table| {
            self.add(table, &part.path)
        })?;
        self.sections.push(Section {
            first,
            part,
            row_sources,
        });
        Ok(())
    }

    /// Sorts the records for lookup.
    pub fn finish(mut self) -> Boundaries {
        self.addresses.finish();
        self.rows.shrink_to_fit();
        Boundaries {
            sections: self.sections,
            ids: self.ids,
            statuses: self.statuses,
            rows: self.rows,
            sets: self.sets.sets,
            zip5: IntervalIndex::new(self.zip5),
            zip9: IntervalIndex::new(self.zip9),
            addresses: self.addresses,
            places: self.places,
            counties: self.counties,
        }
    }

    fn add(&mut self, table: &Table, place: &str) -> Result<()> {
        let columns = Columns::open(table)?;
        for index in 0..table.rows() {
            let row = u32::try_from(self.rows.len()).map_err(|_| {
                Error::store(format!("{place}: more records than an index can number"))
            })?;
            let wrong = || {
                Error::store(format!(
                    "{place}: boundary `{}` has a code that is not a number",
                    columns.record_id.at(index)
                ))
            };
            self.ids.push(columns.record_id.at(index))?;
            self.statuses.push(columns.validation_status.get(index))?;
            let end = known_day(columns.end_date.at(index)).unwrap_or(OPEN);
            self.rows.push(Row {
                begin: columns.begin_date.at(index),
                end,
                set: self.sets.number(&columns, index)?,
            });
            match columns.record_type.at(index) {
                "zip5" => self.zip5.push(columns.zip5(index, row).ok_or_else(wrong)?),
                "zip9" => self.zip9.push(columns.zip9(index, row).ok_or_else(wrong)?),
                "place" => self.add_place(&columns, index, row),
                _ => self.add_address(&columns, index, row).ok_or_else(wrong)??,
            }
        }
        Ok(())
    }

    fn add_place(&mut self, columns: &Columns, index: usize, row: u32) {
        match (columns.city.get(index), columns.county_fips.get(index)) {
            (Some(name), county) => self
                .places
                .entry(city_key(name))
                .or_default()
                .push((row, county.map(Box::from))),
            (None, Some(county)) => self.counties.entry(county.into()).or_default().push(row),
            (None, None) => {}
        }
    }

    /// Adds an address range. Returns `None` if its ZIP code is not a number. A range without a ZIP
    /// code matches nothing.
    fn add_address(&mut self, columns: &Columns, index: usize, row: u32) -> Option<Result<()>> {
        let Some(zip) = columns.zip_low.get(index) else {
            return Some(Ok(()));
        };
        let text = |texts: &Texts| texts.get(index).unwrap_or_default().to_owned();
        let unit = columns.secondary_kind.get(index).map(|kind| Unit {
            kind: kind.to_owned(),
            low: text(&columns.secondary_low),
            high: text(&columns.secondary_high),
            parity: Parity::parse(columns.secondary_parity.get(index)),
        });
        let record = Record {
            zip: zip.parse().ok()?,
            street: [
                &columns.predirectional,
                &columns.street,
                &columns.street_suffix,
                &columns.postdirectional,
            ]
            .map(|texts| texts.get(index).unwrap_or_default()),
            low: columns.number_low.get(index).unwrap_or_default(),
            high: columns
                .number_high
                .get(index)
                .or(columns.number_low.get(index))
                .unwrap_or_default(),
            parity: Parity::parse(columns.parity.get(index)),
            unit,
            row,
        };
        Some(self.addresses.push(record))
    }
}

/// Distinct sets of jurisdictions, each stored once.
#[derive(Default)]
struct Sets {
    sets: Vec<Jurisdictions>,
    numbers: HashMap<String, u32>,
    key: String,
}

impl Sets {
    fn number(&mut self, columns: &Columns, index: usize) -> Result<u32> {
        let (county, place) = (
            columns.county_code.get(index),
            columns.place_code.get(index),
        );
        let has_state_tax = columns.has_state_tax.value(index);
        self.key.clear();
        self.key.push(if has_state_tax { '1' } else { '0' });
        let own = [county.unwrap_or_default(), place.unwrap_or_default()];
        own.into_iter()
            .chain(columns.special_codes.at(index))
            .for_each(|code| {
                self.key.push('|');
                self.key.push_str(code);
            });
        if let Some(number) = self.numbers.get(&self.key) {
            return Ok(*number);
        }
        let number = u32::try_from(self.sets.len())
            .map_err(|_| Error::store("more sets of jurisdictions than an index can number"))?;
        let mut special: Vec<(String, String)> = columns
            .special_codes
            .at(index)
            .filter_map(|text| text.split_once('='))
            .filter(|(type_raw, _)| *type_raw != STATE_TYPE)
            .map(|(type_raw, code)| (type_raw.to_owned(), code.to_owned()))
            .collect();
        special.sort();
        special.dedup();
        self.sets.push(Jurisdictions {
            has_state_tax,
            county: county.map(str::to_owned),
            place: place.map(str::to_owned),
            special,
        });
        self.numbers.insert(self.key.clone(), number);
        Ok(number)
    }
}

impl Columns {
    fn zip5(&self, index: usize, row: u32) -> Option<Span> {
        let low = self.zip_low.get(index)?.parse().ok()?;
        let high = self
            .zip_high
            .get(index)
            .map_or(Some(low), |high| high.parse().ok())?;
        Some(Span { low, high, row })
    }

    /// Reads a range of ZIP+4 codes, which may span several ZIP codes.
    fn zip9(&self, index: usize, row: u32) -> Option<Span> {
        let zips = self.zip5(index, row)?;
        let plus4 = |texts: &Texts, missing: u32| {
            texts
                .get(index)
                .map_or(Some(missing), |text| text.parse().ok())
        };
        Some(Span {
            low: zips.low * 10_000 + plus4(&self.plus4_low, 0)?,
            high: zips.high * 10_000 + plus4(&self.plus4_high, 9_999)?,
            row,
        })
    }
}

#[cfg(test)]
mod tests;
