//! What one list of licenses declares of itself in `pipelines/license/*.toml`, and how its tables
//! are looked up: the longest entry that fits counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;

use pubdata_core::canonical::name::Order;

/// Columns that are read wherever they are mapped; in a row of several licenses also with a number
/// behind them.
const COLUMNS: &[&str] = &[
    "action",
    "action_effective_date",
    "action_end_date",
    "address_state",
    "board",
    "bond_amount",
    "bond_cancelled_date",
    "bond_effective_date",
    "bond_expiration_date",
    "bond_surety",
    "business_name",
    "case_number",
    "city",
    "city_state_zip",
    "class_code",
    "class_code_2",
    "class_text",
    "class_text_2",
    "classes",
    "county",
    "dba",
    "effective_date",
    "end_date",
    "expiration_date",
    "first_name",
    "full_name",
    "holder_kind",
    "holder_name",
    "inactivated_date",
    "insurance_amount",
    "insurance_cancelled_date",
    "insurance_effective_date",
    "insurance_expiration_date",
    "insurance_insurer",
    "issue_date",
    "last_name",
    "last_renewed_date",
    "license_class",
    "license_state",
    "middle_name",
    "number",
    "organization_name",
    "phone",
    "principal",
    "profession",
    "reactivated_date",
    "secondary_status",
    "status",
    "suffix",
    "suspended_date",
    "type_code",
    "verify_url",
    "workers_comp",
    "workers_comp_expiration_date",
    "workers_comp_insurer",
    "zip",
];

/// What one list of licenses says of itself: `[settings]` of `pipelines/license/*.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Short name of the list, such as `tdlr`.
    pub(super) source: String,
    /// The state whose boards issue the licenses; none where each row names its own.
    pub(super) state: Option<String>,
    /// Who issues them; a row's own board comes first.
    pub(super) board: String,
    /// The source with one row per license.
    pub(super) licenses: String,
    /// Sources of further licenses in the same words. One that an earlier source has too is left
    /// out.
    #[serde(default)]
    pub(super) more_licenses: Vec<String>,
    /// Sources with further rows about a license, found by its number.
    #[serde(default)]
    pub(super) joined: Joined,
    /// Whose numbers they are: issuer and kind, such as `us-ca/cslb`. Permits state them under the
    /// same name. None where each board has its own.
    pub(super) number_scheme: Option<String>,
    /// Columns whose texts stand before the number in `license_id`, where numbers repeat between
    /// types or holders.
    #[serde(default)]
    pub(super) id_from: Vec<String>,
    /// What the board writes before and behind its numbers.
    #[serde(default)]
    pub(super) number_prefixes: Vec<String>,
    #[serde(default)]
    pub(super) number_suffixes: Vec<String>,
    /// A column whose text also stands before the number.
    pub(super) number_prefix_column: Option<String>,
    /// Columns whose texts, one behind the other, are the number of a row that has none.
    #[serde(default)]
    pub(super) number_from: Vec<String>,
    pub(super) date_formats: Vec<DateFormat>,
    /// Columns that never say a day: in a row in which one does, cells are out of place, and it is
    /// set aside.
    #[serde(default)]
    pub(super) never_days: Vec<String>,
    /// Cells that say nothing, such as `-`.
    #[serde(default)]
    pub(super) withheld: Vec<String>,
    /// Which part of a person's name comes first where no comma says so.
    pub(super) name_order: NameOrder,
    /// Whether every name with a comma is a person's, unless it ends in a designator; else only one
    /// that reads like one.
    #[serde(default)]
    pub(super) comma_is_person: bool,
    /// Text of the holder's kind → what it is; `*` in front, at the end or at both stands for any
    /// text.
    #[serde(default)]
    pub(super) holder_kind: Lookup<HolderKind>,
    /// What a holder without a last name is, in lists that say the last name of every person.
    pub(super) without_last_name: Option<HolderKind>,
    pub(super) evidence: String,
    pub(super) status_basis: StatusBasis,
    /// Text of the status, or `status/secondary status`, → ours.
    #[serde(default)]
    pub(super) status: Lookup<String>,
    /// Statuses of rows that are no licenses; written as in the tables.
    #[serde(default)]
    pub(super) not_licenses: Vec<String>,
    /// Types of rows without a number that are no licenses.
    #[serde(default)]
    pub(super) not_license_types: Vec<String>,
    /// Columns whose texts are looked up for the profession, in this order, and what they mean.
    pub(super) profession_from: Vec<String>,
    #[serde(default)]
    pub(super) profession: Lookup<String>,
    /// The publisher's own table of what its codes stand for, whose texts are looked up for the
    /// profession too.
    pub(super) codes: Option<Codes>,
    /// Profession of all types that are not in the table; without it they are `unknown`, with a
    /// warning.
    pub(super) profession_default: Option<String>,
    /// Between the codes of a cell with several classes.
    pub(super) class_separator: Option<char>,
    /// Whether `C-7` and `C10` are `C-07` and `C-10`.
    #[serde(default)]
    pub(super) class_is_padded: bool,
    #[serde(default)]
    pub(super) class_description: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) workers_comp: Lookup<String>,
    /// Page where the board shows a license: `{column}` is a cell of its row.
    pub(super) verify_url: Option<String>,
    /// Columns `number_1`, `number_2`, … instead of `number`: so many licenses in a row.
    #[serde(default)]
    pub(super) repeats: u32,
    /// Whether rows of one license differ in the disciplinary case alone.
    #[serde(default)]
    pub(super) row_per_case: bool,
}

impl Settings {
    /// The columns that are read: those of every list, and those that are named here.
    pub(super) fn columns(&self) -> BTreeSet<String> {
        let of_url = self.verify_url.iter().flat_map(|url| {
            url.split('{')
                .skip(1)
                .filter_map(|rest| rest.split('}').next())
        });
        let named = self
            .id_from
            .iter()
            .chain(&self.number_from)
            .chain(&self.profession_from)
            .chain(&self.number_prefix_column)
            .map(String::as_str);
        let of_codes = self.codes.iter().flat_map(Codes::columns);
        let plain: BTreeSet<&str> = COLUMNS
            .iter()
            .copied()
            .chain(named)
            .chain(of_url)
            .chain(of_codes)
            .collect();
        let numbered = |name: &&str| {
            (1..=self.repeats)
                .map(|number| format!("{name}_{number}"))
                .collect::<Vec<_>>()
        };
        plain
            .iter()
            .flat_map(numbered)
            .chain(plain.iter().copied().map(str::to_owned))
            .collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Joined {
    pub(super) bonds: Option<String>,
    pub(super) insurance: Option<String>,
    pub(super) principals: Option<String>,
}

/// A publisher's own table of its codes: a source, and which of its columns says what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Codes {
    pub(super) source: String,
    /// The list's own column of codes.
    pub(super) of: String,
    /// The table's columns of codes, of what they stand for, and of whose they are: a person's or
    /// an organisation's, as `holder_kind` says.
    pub(super) code: String,
    pub(super) text: String,
    pub(super) kind: Option<String>,
}

impl Codes {
    fn columns(&self) -> impl Iterator<Item = &str> {
        [&self.of, &self.code, &self.text]
            .into_iter()
            .chain(&self.kind)
            .map(String::as_str)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum DateFormat {
    #[serde(rename = "MM/DD/YYYY")]
    UsSlashes,
    #[serde(rename = "MMDDYYYY")]
    UsDigits,
    #[serde(rename = "YYYYMMDD")]
    Digits,
    /// With or without a time, which is cut off.
    #[serde(rename = "YYYY-MM-DD")]
    Iso,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NameOrder {
    LastFirst,
    FirstLast,
}

impl From<NameOrder> for Order {
    fn from(order: NameOrder) -> Self {
        match order {
            NameOrder::LastFirst => Self::LastFirst,
            NameOrder::FirstLast => Self::FirstLast,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HolderKind {
    Person,
    Organization,
    /// A person who trades under a name, which may be the person's own.
    SoleOwner,
    /// A business of any form, a sole owner's among them.
    Business,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusBasis {
    /// The list states it. Where the shared vocabulary alone knows the word, the record says so.
    Source,
    DerivedFromExpiration,
    ImpliedByDataset,
}

impl StatusBasis {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::DerivedFromExpiration => "derived_from_expiration",
            Self::ImpliedByDataset => "implied_by_dataset",
        }
    }
}

/// Whether a list has an entry for a text, as [`look_up`] finds one.
pub(super) fn is_listed(list: &[String], text: &str) -> bool {
    list.iter()
        .any(|entry| fits(&entry.to_lowercase(), &text.trim().to_lowercase()))
}

/// A list's own table of words.
#[derive(Debug, Deserialize)]
#[serde(from = "BTreeMap<String, T>")]
pub(super) struct Lookup<T> {
    whole: HashMap<String, T>,
    /// Entries with a `*`, the longest first.
    patterns: Vec<(String, T)>,
}

impl<T> Default for Lookup<T> {
    fn default() -> Self {
        Self {
            whole: HashMap::new(),
            patterns: Vec::new(),
        }
    }
}

impl<T> From<BTreeMap<String, T>> for Lookup<T> {
    fn from(entries: BTreeMap<String, T>) -> Self {
        let mut table = Self::default();
        for (entry, value) in entries {
            let lower = entry.to_lowercase();
            if lower.contains('*') {
                table.patterns.push((lower, value));
            } else {
                table.whole.entry(lower).or_insert(value);
            }
        }
        table
            .patterns
            .sort_by_key(|(entry, _)| Reverse(entry.len()));
        table
    }
}

impl<T> Lookup<T> {
    /// What the table says of a text, in any case: the entry itself, else the longest entry with a
    /// `*` in front, at its end or at both that fits.
    pub(super) fn get(&self, text: &str) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let text = text.trim().to_lowercase();
        self.whole.get(&text).or_else(|| {
            self.patterns
                .iter()
                .find(|(entry, _)| fits(entry, &text))
                .map(|(_, value)| value)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.patterns.is_empty()
    }
}

/// Whether a text in lower case is what an entry in lower case says.
fn fits(entry: &str, lower: &str) -> bool {
    match (entry.strip_prefix('*'), entry.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(end), Some(_)) => lower.contains(end.trim_end_matches('*')),
        (Some(end), None) => lower.ends_with(end),
        (None, Some(begin)) => lower.starts_with(begin),
        (None, None) => entry == lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_entry_of_a_table_decides() {
        let entries = [
            ("Barber*", 1),
            ("* susp", 2),
            ("barber shop", 3),
            ("*plumbing*", 4),
        ];
        let table = Lookup::from(BTreeMap::from(
            entries.map(|(text, value)| (text.to_owned(), value)),
        ));
        assert_eq!(table.get("BARBER, CLASS A"), Some(&1));
        assert_eq!(table.get(" Barber Shop "), Some(&3));
        assert_eq!(table.get("Work Comp Susp"), Some(&2));
        assert_eq!(table.get("CR-37 Plumbing and Gas"), Some(&4));
        assert_eq!(table.get("Clear"), None);
    }
}
