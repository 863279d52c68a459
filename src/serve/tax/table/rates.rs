//! The tax rates of one state's jurisdictions: which of them hold on a day, by class and code, and
//! which code a city's name has.

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
// It is what rates and boundaries are joined by beside the code: publishers have several type codes
// for districts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "JurisdictionType")]
pub enum Class {
    State,
    County,
    City,
    Special,
    // Local taxes of a state together, where they are not published one by one.
    Local,
}

impl Class {
    /// Those of published jurisdictions.
    pub const ALL: [Self; 4] = [Self::State, Self::County, Self::City, Self::Special];

    /// The word in answers.
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
    /// Cities by name as cities are compared.
    by_city: HashMap<String, Vec<u32>>,
}

/// Columns of the two sides: sales from within the state, and from another.
const GENERAL: [&str; 2] = ["general_intrastate", "general_interstate"];
const FOOD_DRUG: [&str; 2] = ["food_drug_intrastate", "food_drug_interstate"];

impl Rates {
    /// Reads a part of `tax.rate`.
    ///
    /// # Errors
    /// `Store`, when the part lacks a column.
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

    /// The day on which every row begins that begins on one, in days since 1970-01-01; none where
    /// they begin on several.
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

    /// Whether a jurisdiction has rows, of whatever days.
    pub fn has(&self, class: Class, code: &str) -> bool {
        self.by_code.contains_key(&(class, code.to_owned()))
    }

    /// The rows of a jurisdiction that hold on a day.
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

    /// Codes of the cities of a name.
    pub fn cities(&self, name: &str) -> impl Iterator<Item = &str> {
        self.by_city
            .get(&city_key(name))
            .into_iter()
            .flatten()
            .map(|row| self.codes.at(*row as usize))
    }

    /// The rows of a class.
    pub fn of_class(&self, class: Class) -> impl Iterator<Item = usize> {
        (0..self.codes.len()).filter(move |row| self.class(*row) == class)
    }

    pub fn is_on(&self, row: usize, day: i32) -> bool {
        self.begins.value(row) <= day && self.end(row).is_none_or(|end| day <= end)
    }

    /// First day of a row, in days since 1970-01-01.
    pub fn begin(&self, row: usize) -> i32 {
        self.begins.value(row)
    }

    /// Last day of a row; none while it is open.
    pub fn end(&self, row: usize) -> Option<i32> {
        (!self.ends.is_null(row)).then(|| self.ends.value(row))
    }

    /// The rate on general goods in millionths. Where only sales from within the state have one, it
    /// is that of all sales.
    pub fn general(&self, row: usize, is_interstate: bool) -> Option<i64> {
        of_side(&self.general, row, is_interstate)
    }

    /// The rate on food and drugs in millionths; none where the publisher states none.
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

/// A city's name without what the Census Bureau adds in lower case: `Milwaukee city`,
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

/// A column of numbers with so many decimals, in units of the last.
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
                "column `{name}`: numbers of {SCALE} decimals are expected"
            )))
        }
    }
}

/// A column of rates.
pub type Millionths = Units<6>;
