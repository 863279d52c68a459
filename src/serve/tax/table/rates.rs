//! Indexes the tax rates of one state's jurisdictions. Finds the rows that are valid on a day by
//! class and code, and the codes of a city by name.

use std::collections::HashMap;

use arrow::array::{Array, Date32Array, Decimal128Array};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::KeyColumn;
use crate::release::part_provenance::PartProvenance;
use crate::release::table::{Table, Texts};
use pubdata_core::canonical::address::city_key;
use pubdata_core::error::{Error, Result};
use pubdata_store::Part;

/// Class of a jurisdiction.
// Rates and boundaries are joined by class and code, because publishers use several type codes for
// districts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "JurisdictionType")]
pub enum Class {
    State,
    County,
    City,
    Special,
    // All local taxes of a state together, if they are not published individually.
    Local,
}

impl Class {
    /// Classes of published jurisdictions.
    pub const ALL: [Self; 4] = [Self::State, Self::County, Self::City, Self::Special];

    /// Returns the name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::County => "county",
            Self::City => "city",
            Self::Special => "special",
            Self::Local => "local",
        }
    }
}

/// Rates of a state's jurisdictions.
#[derive(Debug)]
pub struct Rates {
    pub state_fips: DictionaryColumn,
    classes: DictionaryColumn,
    pub types_raw: DictionaryColumn,
    pub codes: Texts,
    pub names: Texts,
    begins: Date32Array,
    ends: Date32Array,
    general: [Millionths; 2],
    food_drug: [Millionths; 2],
    pub provenance: PartProvenance,
    by_code: HashMap<(Class, String), Vec<u32>>,
    /// Cities by normalised name.
    by_city: HashMap<String, Vec<u32>>,
}

/// Columns for the two cases: sales from within the state, and sales from another state.
const GENERAL: [&str; 2] = ["general_intrastate", "general_interstate"];
const FOOD_DRUG: [&str; 2] = ["food_drug_intrastate", "food_drug_interstate"];

impl Rates {
    /// Reads a part of `tax.rate`.
    pub fn read(part: &Part, bytes: Bytes) -> Result<Self> {
        let columns = [
            "state_fips",
            "type",
            "type_raw",
            "code",
            "name",
            "begin_date",
            "end_date",
        ];
        let table = Table::read(
            bytes.clone(),
            &[&columns[..], &GENERAL, &FOOD_DRUG, &PartProvenance::COLUMNS].concat(),
            &part.path,
        )?;
        let both = |[intrastate, interstate]: [&str; 2]| {
            Ok::<_, Error>([
                Millionths::open(&table, intrastate)?,
                Millionths::open(&table, interstate)?,
            ])
        };
        let mut rates = Self {
            state_fips: table.words("state_fips")?,
            classes: table.words("type")?,
            types_raw: table.words("type_raw")?,
            codes: table.texts("code")?,
            names: table.texts("name")?,
            begins: table.dates("begin_date")?,
            ends: table.dates("end_date")?,
            general: both(GENERAL)?,
            food_drug: both(FOOD_DRUG)?,
            provenance: PartProvenance::read("tax.rate", part, bytes, &table)?,
            by_code: HashMap::new(),
            by_city: HashMap::new(),
        };
        for row in 0..table.rows() {
            let class = rates.class(row);
            rates
                .by_code
                .entry((class, rates.codes.at(row).to_owned()))
                .or_default()
                .push(row as u32);
            if let Some(name) = rates.names.get(row).filter(|_| class == Class::City) {
                rates
                    .by_city
                    .entry(city_of(name))
                    .or_default()
                    .push(row as u32);
            }
        }
        Ok(rates)
    }

    /// Returns the first day of every row, in days since 1970-01-01, or `None` if the rows begin on
    /// several days.
    pub fn common_begin(&self) -> Option<i32> {
        let mut days = self.begins.iter().flatten();
        let first = days.next()?;
        days.all(|day| day == first).then_some(first)
    }

    pub fn class(&self, row: usize) -> Class {
        Class::ALL
            .into_iter()
            .find(|class| class.name() == self.classes.at(row))
            .unwrap_or(Class::Special)
    }

    /// Returns true if a jurisdiction has rows for any day.
    pub fn has(&self, class: Class, code: &str) -> bool {
        self.by_code.contains_key(&(class, code.to_owned()))
    }

    /// Returns the rows of a jurisdiction that are valid on a day.
    pub fn on<'a>(
        &'a self,
        class: Class,
        code: &str,
        day: i32,
    ) -> impl Iterator<Item = usize> + 'a {
        let rows = self
            .by_code
            .get(&(class, code.to_owned()))
            .map_or(&[][..], Vec::as_slice);
        rows.iter()
            .map(|row| *row as usize)
            .filter(move |row| self.is_on(*row, day))
    }

    /// Returns the codes of the cities with this name.
    pub fn cities(&self, name: &str) -> impl Iterator<Item = &str> {
        self.by_city
            .get(&city_key(name))
            .into_iter()
            .flatten()
            .map(|row| self.codes.at(*row as usize))
    }

    /// Returns the rows of a class.
    pub fn of_class(&self, class: Class) -> impl Iterator<Item = usize> {
        (0..self.codes.len()).filter(move |row| self.class(*row) == class)
    }

    pub fn is_on(&self, row: usize, day: i32) -> bool {
        self.begins.value(row) <= day && self.end(row).is_none_or(|end| day <= end)
    }

    /// Returns the first day of a row, in days since 1970-01-01.
    pub fn begin(&self, row: usize) -> i32 {
        self.begins.value(row)
    }

    /// Returns the last day of a row, or `None` if it has no end.
    pub fn end(&self, row: usize) -> Option<i32> {
        (!self.ends.is_null(row)).then(|| self.ends.value(row))
    }

    /// Returns the rate on general goods in millionths. If only sales from within the state have a
    /// rate, that rate applies to all sales.
    pub fn general(&self, row: usize, is_interstate: bool) -> Option<i64> {
        of_side(&self.general, row, is_interstate)
    }

    /// Returns the rate on food and drugs in millionths, or `None` if the publisher states no such
    /// rate.
    pub fn food_drug(&self, row: usize, is_interstate: bool) -> Option<i64> {
        of_side(&self.food_drug, row, is_interstate)
    }
}

fn of_side(
    [intrastate, interstate]: &[Millionths; 2],
    row: usize,
    is_interstate: bool,
) -> Option<i64> {
    let within = intrastate.get(row);
    if is_interstate {
        interstate.get(row).or(within)
    } else {
        within
    }
}

/// Returns a city's name without the Census Bureau's lower-case suffix, as in `Milwaukee city` and
/// `Nashville-Davidson metropolitan government (balance)`.
fn city_of(name: &str) -> String {
    let mut words: Vec<&str> = name.split_whitespace().collect();
    while words.len() > 1
        && words
            .last()
            .is_some_and(|word| word.starts_with(|c: char| c.is_lowercase() || c == '('))
    {
        words.pop();
    }
    city_key(&words.join(" "))
}

/// Column of numbers with `SCALE` decimal places, in units of the last decimal place.
#[derive(Debug)]
pub struct Units<const SCALE: i8>(Decimal128Array);

impl<const SCALE: i8> Units<SCALE> {
    pub fn get(&self, row: usize) -> Option<i64> {
        (!self.0.is_null(row)).then(|| self.0.value(row) as i64)
    }
}

impl<const SCALE: i8> KeyColumn for Units<SCALE> {
    fn open(table: &Table, name: &str) -> Result<Self> {
        let numbers = table.decimals(name)?;
        if numbers.scale() == SCALE {
            Ok(Self(numbers))
        } else {
            Err(Error::store(format!(
                "column `{name}`: expected numbers with {SCALE} decimals"
            )))
        }
    }
}

/// A column of rates.
pub type Millionths = Units<6>;
