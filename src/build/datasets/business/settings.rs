//! What differs between the registries of the states: the settings of their declarations, checked
//! as they are read.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use crate::datasets::Fault;
use crate::datasets::settings;
use pubdata_core::pipeline::Declaration;

/// Stands for the registry's number in a template.
pub(super) const NUMBER: &str = "{entity_number}";

/// What one registry's file means: everything that differs between states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Postal code of the registry's state.
    pub state: String,
    /// Name of the feed in the rows.
    pub source_id: String,
    /// Sources of entities: an entity is what the last file with its number says.
    pub entities: Vec<String>,
    /// URL variable that is the day of a file, `YYYYMMDD`. Of files of one day, that of the source
    /// that is named last counts.
    pub day_variable: Option<String>,
    /// Source of officers that names their entity by `link_number`.
    pub officers: Option<String>,
    /// Whether an entity has a row for each of its parties.
    #[serde(default)]
    pub is_row_per_party: bool,
    /// Forms of a date, such as `MMDDYYYY`; a time behind it is cut.
    pub date_formats: Vec<String>,
    /// What stands for no date. The first characters are enough.
    #[serde(default)]
    pub placeholder_dates: Vec<String>,
    /// The status of all entities, where the registry lists those of one status only.
    pub implied_status: Option<String>,
    #[serde(default)]
    pub statuses: Table<String>,
    #[serde(default)]
    pub entity_types: Table<EntityType>,
    /// What the mailing address is for.
    pub mailing_role: Option<String>,
    /// What a party's role says, where it is no officer: `principal`, `mailing` or `agent`; `none`
    /// for one that is not published.
    #[serde(default)]
    pub party_roles: Table<String>,
    /// `person` or `organization`.
    #[serde(default)]
    pub party_types: Table<String>,
    /// Type of officers whose row does not say it.
    pub officer_type: Option<String>,
    #[serde(default)]
    pub titles: Table<String>,
    /// Codes that a title may be put together from, the highest first.
    #[serde(default)]
    pub title_codes: Vec<String>,
    /// Title of officers that a column of its own lists.
    pub officer_title: Option<String>,
    /// Whether all officers are listed, by what the registry's flag says, and by default.
    #[serde(default)]
    pub officers_complete: Table<bool>,
    pub is_officers_complete: Option<bool>,
    /// Page where the registry shows an entity, with [`NUMBER`] in it.
    pub registry_url: Option<String>,
    /// Whether dead entities have their status written behind their name.
    #[serde(default)]
    pub is_status_in_name: bool,
    /// Scheme of the registry's second number.
    pub other_number_scheme: Option<String>,
    /// What the second number begins with where it is no tax identification number. All others stay
    /// unpublished.
    #[serde(default)]
    pub public_number_prefixes: Vec<String>,
}

/// Legal form behind a registry's own type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityType {
    pub value: String,
    /// Null where the type does not say it.
    pub is_foreign: Option<bool>,
}

/// A publisher's words and what they mean; letter case and blanks around do not count.
#[derive(Deserialize)]
#[serde(from = "BTreeMap<String, T>")]
pub(super) struct Table<T>(HashMap<String, T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> From<BTreeMap<String, T>> for Table<T> {
    fn from(entries: BTreeMap<String, T>) -> Self {
        Self(
            entries
                .into_iter()
                .map(|(text, value)| (text.to_uppercase(), value))
                .collect(),
        )
    }
}

impl<T> Table<T> {
    /// The meaning of a text.
    pub fn get(&self, text: &str) -> Option<&T> {
        match self.0.get(text) {
            None if text.bytes().any(|byte| !byte.is_ascii_uppercase()) => {
                self.0.get(&text.trim().to_uppercase())
            }
            found => found,
        }
    }
}

impl Settings {
    /// Reads and checks a declaration's settings.
    ///
    /// # Errors
    /// The setting that is wrong.
    pub fn read(declaration: &Declaration) -> Result<Self, Fault> {
        let settings: Self = settings(declaration)?;
        let fault = |key: &str, message: &str| Err(Fault::of_settings(key, message));
        if settings.implied_status.is_some() != settings.statuses.0.is_empty() {
            return fault("statuses", "give either `implied_status` or `statuses`");
        }
        if settings
            .title_codes
            .iter()
            .any(|code| settings.titles.get(code).is_none())
        {
            return fault(
                "title_codes",
                "every one of `title_codes` stands in `titles` too",
            );
        }
        if settings.other_number_scheme.is_some() && settings.public_number_prefixes.is_empty() {
            return fault(
                "other_number_scheme",
                "`public_number_prefixes` says which of the second numbers may be published",
            );
        }
        if settings
            .registry_url
            .as_ref()
            .is_some_and(|url| !url.starts_with("http") || !url.contains(NUMBER))
        {
            return fault("registry_url", "is an address with `{entity_number}` in it");
        }
        let entities = settings.entities.iter().map(|id| ("entities", id));
        let mut sources = entities.chain(settings.officers.iter().map(|id| ("officers", id)));
        match sources.find(|(_, id)| {
            !declaration
                .sources
                .iter()
                .any(|source| source.source_id == **id)
        }) {
            Some((key, id)) => fault(key, &format!("`{id}` is not among its sources")),
            None => Ok(settings),
        }
    }
}
