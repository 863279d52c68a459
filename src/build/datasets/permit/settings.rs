//! Reads the settings in a city's declaration, which cover everything in which cities differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{CONTACT, PERMIT};
use crate::datasets::{Context, Fault};
use pubdata_core::contract::Words;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Declaration, Source};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    pub(super) jurisdiction: Jurisdiction,
    /// Lists of key columns. The first list whose columns all have a value identifies the permit. A
    /// column written as `column?` may be empty.
    #[serde(default = "by_permit_number")]
    pub(super) keys: Vec<Vec<String>>,
    /// Date formats, in the order in which they are tried.
    pub(super) dates: Vec<DateFormat>,
    /// Columns that make up the street address, joined by blanks. Columns written as `a+b` are
    /// joined without a blank.
    #[serde(default = "one_column")]
    pub(super) line1: Vec<String>,
    /// Columns that make up the unit.
    #[serde(default)]
    pub(super) line2: Vec<String>,
    /// True if `line1` also contains the city, state and ZIP Code.
    #[serde(default)]
    pub(super) has_whole_addresses: bool,
    /// First issue date to leave out, because another source for the city contains the later
    /// permits.
    pub(super) issued_before: Option<String>,
    /// True if some rows have projected coordinates instead of degrees. These rows are published
    /// without coordinates, and without a warning.
    #[serde(default)]
    pub(super) has_projected_coordinates: bool,
    /// Columns with the value of the work. The first column that has a value is used.
    #[serde(default = "stated_value")]
    pub(super) job_value: Vec<String>,
    pub(super) parcel: Option<Parcel>,
    /// URL template for a permit's page, filled with column values: `https://…?id={permit_number}`.
    /// A column `link` takes precedence.
    pub(super) url: Option<String>,
    pub(super) merge: Option<Merge>,
    #[serde(default, rename = "contact")]
    pub(super) contacts: Vec<ContactGroup>,
    /// Type of every permit, for a source without a type column.
    pub(super) only_type: Option<String>,
    #[serde(default, rename = "type")]
    pub(super) types: Lookup,
    #[serde(default)]
    pub(super) status: Lookup,
    #[serde(default)]
    pub(super) work_class: Lookup,
    #[serde(default)]
    pub(super) property_class: Lookup,
    /// Roles of parties by the text in a `type` column.
    #[serde(default)]
    pub(super) role: Lookup,
    /// Words in descriptions that precede a person's name.
    #[serde(default)]
    pub(super) name_marks: Vec<String>,
    /// Street suffixes with city-specific abbreviations.
    #[serde(default)]
    pub(super) suffix: Lookup,
    /// Cities by the source's name for them, for sources that name boroughs or use a longer form.
    #[serde(default)]
    pub(super) city: Lookup,
    #[serde(skip)]
    pub(super) trade: TradeWords,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jurisdiction {
    /// Id of the jurisdiction, such as `us-il-chicago`.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: String,
    /// City of addresses that do not name a city.
    pub(super) city: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum DateFormat {
    /// `MM/DD/YYYY`, with or without a time.
    MonthDayYear,
    /// `YYYY-MM-DD`, with or without a time. The time is local and is never shifted.
    Iso,
    /// `YYYY/MM/DD`.
    YearMonthDay,
    /// `YYYYMMDD`.
    EightDigits,
    EpochSeconds,
    EpochMilliseconds,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parcel {
    /// Scheme of the number: `pin`, `bbl`, …
    pub(super) scheme: String,
    /// Columns that contain the number's parts. No part may be missing or zero.
    pub(super) columns: Vec<String>,
    /// Number of digits in each part, padded with zeros.
    #[serde(default)]
    pub(super) digits: Vec<usize>,
    /// Text between the parts.
    #[serde(default)]
    pub(super) joint: String,
    /// Codes for parts that are published as words.
    #[serde(default)]
    pub(super) codes: Lookup,
    /// Characters that separate several parcels in a cell. Only the first parcel is used.
    #[serde(default)]
    pub(super) separators: String,
}

/// Rules for merging several rows for the same permit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Merge {
    /// Columns that show which row is the latest, most important first. An empty cell sorts before
    /// all values.
    pub(super) order: Vec<String>,
    /// Columns whose earliest date is published.
    pub(super) earliest: Vec<String>,
    /// Column that marks a row as a renewal if it contains one of the texts in the next field.
    pub(super) renewal_column: String,
    pub(super) renewals: BTreeSet<String>,
    /// Columns that distinguish renewals. Rows with equal values in these columns count once.
    pub(super) renewal_keys: Vec<String>,
}

/// Columns for one party, as far as they are mapped: `{prefix}_name`, `{prefix}_first_name`,
/// `_middle_name`, `_last_name`, `_business_name`, `_type` (the party's role), `_party` (whether it
/// is a person or an organisation), `_phone`, `_license_number`, `_license_type`, `_license_state`
/// and `_other_license_number`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContactGroup {
    /// Prefix of the column names, with `#` in place of the block number.
    pub(super) prefix: String,
    /// Number of blocks, if the prefix contains `#`.
    #[serde(default)]
    pub(super) blocks: usize,
    /// Role of every party in the group. Without this setting, the `type` column and the role table
    /// decide.
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) names: Names,
    /// Role of a party whose name is withheld because it may be a personal name.
    pub(super) person_role: Option<String>,
    /// Texts in the `party` column that indicate a person.
    #[serde(default)]
    pub(super) persons: BTreeSet<String>,
    /// Texts stating that the owner does the work, used in place of a contractor's name.
    #[serde(default)]
    pub(super) owner_names: BTreeSet<String>,
    /// State of the board that issued the license number, if no column contains the state.
    pub(super) license_state: Option<String>,
    /// Issuer and kind of the license numbers, as in a license source's `number_scheme`. A number
    /// without a scheme is not linked to a license.
    pub(super) license_scheme: Option<String>,
    /// Scheme of the other license number.
    pub(super) other_license_scheme: Option<String>,
    /// Values of the license type column that do not denote a license.
    #[serde(default)]
    pub(super) no_license_types: BTreeSet<String>,
}

/// Names in a group that may be published.
#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Names {
    /// Names of parties who practise a trade, but not of owners, applicants or others.
    #[default]
    Trade,
    /// Names that are certainly not a person's, for any party.
    Organizations,
}

/// Shared vocabulary for the coded columns of permits, for words that are missing from a source's
/// own tables.
#[derive(Default)]
pub(super) struct TradeWords {
    pub(super) types: Words,
    pub(super) status: Words,
    pub(super) work_class: Words,
    pub(super) property_class: Words,
    pub(super) role: Words,
}

impl TradeWords {
    pub(super) fn load(context: &Context<'_>) -> Self {
        let of_permit = |column: &str| context.words(PERMIT, column).clone();
        Self {
            types: of_permit("type"),
            status: of_permit("status"),
            work_class: of_permit("work_class"),
            property_class: of_permit("property_class"),
            role: context.words(CONTACT, "role").clone(),
        }
    }
}

/// Table from the publisher's words to pubdata values, ignoring case. An empty value means null.
#[derive(Deserialize, Default)]
#[serde(from = "BTreeMap<String, String>")]
pub(super) struct Lookup(BTreeMap<String, String>);

impl From<BTreeMap<String, String>> for Lookup {
    fn from(table: BTreeMap<String, String>) -> Self {
        table.into_iter().collect()
    }
}

impl FromIterator<(String, String)> for Lookup {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(table: I) -> Self {
        Self(
            table
                .into_iter()
                .map(|(word, value)| (lower_case(&word), value))
                .collect(),
        )
    }
}

impl Lookup {
    pub(super) fn get(&self, word: &str) -> Option<&str> {
        self.0.get(&lower_case(word)).map(String::as_str)
    }

    /// Returns true if the table contains entries for a word with a subtype: `Building/Plumbing`.
    pub(super) fn has_pairs_of(&self, word: &str) -> bool {
        let begin = format!("{}/", lower_case(word));
        self.0
            .range(begin.clone()..)
            .next()
            .is_some_and(|(entry, _)| entry.starts_with(&begin))
    }
}

/// Converts text to lowercase with single blanks.
pub(super) fn lower_case(word: &str) -> String {
    word.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

fn by_permit_number() -> Vec<Vec<String>> {
    vec![vec!["permit_number".to_owned()]]
}

fn one_column() -> Vec<String> {
    vec!["line1".to_owned()]
}

fn stated_value() -> Vec<String> {
    vec!["job_value".to_owned()]
}

/// Returns a city's only source.
///
/// # Errors
/// `Config` if the declaration has no source or more than one.
pub(super) fn source(declaration: &Declaration) -> Result<&Source> {
    match declaration.sources.as_slice() {
        [source] => Ok(source),
        sources => Err(Error::config(format!(
            "{}: {} sources where one is read",
            declaration.pipeline_id,
            sources.len()
        ))),
    }
}

impl Settings {
    /// Checks that each named column is mapped.
    ///
    /// # Errors
    /// Returns a fault that names the unmapped columns.
    pub(super) fn check(&self, declaration: &Declaration) -> std::result::Result<(), Fault> {
        let mapped = &source(declaration)
            .map_err(|error| Fault::in_settings("", error.to_string()))?
            .columns;
        let mut named = self.named();
        named.insert("permit_number");
        if self.job_value == stated_value() {
            named.remove("job_value");
        }
        let missing: Vec<&str> = named
            .into_iter()
            .filter(|name| !mapped.contains_key(*name))
            .collect();
        let without_columns = self
            .contacts
            .iter()
            .filter(|group| !mapped.keys().any(|name| name.starts_with(&group.block(1))));
        let missing: Vec<&str> = missing
            .into_iter()
            .chain(without_columns.map(|group| group.prefix.as_str()))
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Fault::in_settings(
                "",
                format!(
                    "they name columns that are not mapped: {}",
                    missing.join(", ")
                ),
            )),
        }
    }

    /// Returns the columns named in the settings.
    pub(super) fn named(&self) -> BTreeSet<&str> {
        let mut named = BTreeSet::new();
        named.extend(
            self.keys
                .iter()
                .flatten()
                .map(|column| column.trim_end_matches('?')),
        );
        named.extend(
            self.line1
                .iter()
                .chain(&self.line2)
                .flat_map(|piece| piece.split('+')),
        );
        named.extend(
            self.parcel
                .iter()
                .flat_map(|parcel| &parcel.columns)
                .map(String::as_str),
        );
        if let Some(merge) = &self.merge {
            named.extend(
                merge
                    .order
                    .iter()
                    .chain(&merge.earliest)
                    .chain(&merge.renewal_keys)
                    .chain([&merge.renewal_column])
                    .map(String::as_str),
            );
        }
        named.extend(self.url.iter().flat_map(|url| {
            url.split('{')
                .skip(1)
                .filter_map(|rest| rest.split('}').next())
        }));
        named.extend(self.job_value.iter().map(String::as_str));
        named
    }
}

impl ContactGroup {
    /// Returns the column prefix of a block, counted from 1.
    pub(super) fn block(&self, number: usize) -> String {
        format!("{}_", self.prefix.replace('#', &number.to_string()))
    }
}
