//! Reads a license source's settings from `pipelines/license/*.toml`, and looks up words in its
//! tables. The longest matching entry is used.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;

use pubdata_core::canonical::name::Order;

/// Columns that are read whenever they are mapped. In a row with several licenses, their names may
/// end in a number.
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

/// Settings for one license source: `[settings]` in `pipelines/license/*.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Short name of the source, such as `tdlr`.
    pub(super) source: String,
    /// State whose boards issue the licenses; `None` if each row names a state.
    pub(super) state: Option<String>,
    /// Issuing board. A board named in the row takes precedence.
    pub(super) board: String,
    /// Source with one row per license.
    pub(super) licenses: String,
    /// Sources of further licenses with the same vocabulary. A license is omitted if an earlier
    /// source contains it.
    #[serde(default)]
    pub(super) more_licenses: Vec<String>,
    /// Sources with additional rows about a license, found by its number.
    #[serde(default)]
    pub(super) joined: Joined,
    /// Issuer and kind of the license numbers, such as `us-ca/cslb`. Permits use the same name.
    /// `None` if each board has a separate scheme.
    pub(super) number_scheme: Option<String>,
    /// Columns whose text precedes the number in `license_id`, if the same number occurs for
    /// several types or holders.
    #[serde(default)]
    pub(super) id_from: Vec<String>,
    /// Affixes that the board adds before and after its numbers.
    #[serde(default)]
    pub(super) number_prefixes: Vec<String>,
    #[serde(default)]
    pub(super) number_suffixes: Vec<String>,
    /// Column whose text also precedes the number.
    pub(super) number_prefix_column: Option<String>,
    /// Columns whose joined text replaces a missing number.
    #[serde(default)]
    pub(super) number_from: Vec<String>,
    pub(super) date_formats: Vec<DateFormat>,
    /// Columns that never contain a date. A row with a date in one of them has misplaced cells and
    /// is quarantined.
    #[serde(default)]
    pub(super) never_days: Vec<String>,
    /// Cells without information, such as `-`.
    #[serde(default)]
    pub(super) withheld: Vec<String>,
    /// Order of the parts in a person's name that has no comma.
    pub(super) name_order: NameOrder,
    /// True if every name with a comma belongs to a person, unless it ends in a designator.
    /// Otherwise, the name must also look like a person's name.
    #[serde(default)]
    pub(super) comma_is_person: bool,
    /// Kind of holder by the source's text. A `*` at the start, at the end or at both matches any
    /// text.
    #[serde(default)]
    pub(super) holder_kind: Lookup<HolderKind>,
    /// Kind of holder if the last name is missing, in sources that state the last name of every
    /// person.
    pub(super) without_last_name: Option<HolderKind>,
    pub(super) evidence: String,
    pub(super) status_basis: StatusBasis,
    /// Status in our vocabulary by the source's status, or by `status/secondary status`.
    #[serde(default)]
    pub(super) status: Lookup<String>,
    /// Statuses that mark rows as not being licenses, in the same notation.
    #[serde(default)]
    pub(super) not_licenses: Vec<String>,
    /// Types that mark rows without a number as not being licenses.
    #[serde(default)]
    pub(super) not_license_types: Vec<String>,
    /// Columns whose text is looked up to find the profession, in this order. The next field
    /// contains the meanings.
    pub(super) profession_from: Vec<String>,
    #[serde(default)]
    pub(super) profession: Lookup<String>,
    /// Publisher's table of code meanings. Its texts are also looked up to find the profession.
    pub(super) codes: Option<Codes>,
    /// Profession for all types that are missing from the table. Without this setting, such types
    /// become `unknown`, with a warning.
    pub(super) profession_default: Option<String>,
    /// Separator between the codes in a cell with several classes.
    pub(super) class_separator: Option<char>,
    /// True if `C-7` and `C10` mean `C-07` and `C-10`.
    #[serde(default)]
    pub(super) class_is_padded: bool,
    #[serde(default)]
    pub(super) class_description: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) workers_comp: Lookup<String>,
    /// URL template for the board's page about a license. `{column}` stands for a cell in the row.
    pub(super) verify_url: Option<String>,
    /// Number of licenses in a row, with columns `number_1`, `number_2`, … instead of `number`.
    #[serde(default)]
    pub(super) repeats: u32,
    /// True if a license's rows differ only in the disciplinary case.
    #[serde(default)]
    pub(super) row_per_case: bool,
}

impl Settings {
    /// Returns the columns to read: those common to all sources, and those named in the settings.
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

/// Publisher's table of its codes: a source, and the meanings of the source's columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Codes {
    pub(super) source: String,
    /// Column in the license source that contains the codes.
    pub(super) of: String,
    /// The table's columns: the codes, their meanings, and the kind of holder (person or
    /// organisation), as in `holder_kind`.
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
    /// With or without a time; a time is ignored.
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
    /// A business of any form, including a sole owner's.
    Business,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusBasis {
    /// The source states it. If only the shared vocabulary contains the word, the record shows
    /// this.
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

/// Returns true if any entry in a list matches a text, with the wildcards described at
/// [`Lookup::get`].
pub(super) fn is_listed(list: &[String], text: &str) -> bool {
    list.iter()
        .any(|entry| fits(&entry.to_lowercase(), &text.trim().to_lowercase()))
}

/// A source's own table of words.
#[derive(Debug, Deserialize)]
#[serde(from = "BTreeMap<String, T>")]
pub(super) struct Lookup<T> {
    whole: HashMap<String, T>,
    /// Entries with a `*`, longest first.
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
    /// Returns the entry for a text, ignoring case. The result is either the exact entry, or the
    /// longest matching entry with a `*` at the start, at the end or at both.
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

/// Returns true if lowercase text matches a lowercase entry.
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
    fn most_specific_table_entry_wins() {
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
