//! Reads and checks the settings in which state registries differ.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use crate::datasets::Fault;
use crate::datasets::settings;
use pubdata_core::pipeline::Declaration;

/// Placeholder for the registry's entity number in a URL template.
pub(super) const NUMBER: &str = "{entity_number}";

/// Settings for one registry, which cover everything that differs between states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Postal code of the registry's state.
    pub state: String,
    /// Name of the feed in the rows.
    pub source_id: String,
    /// Entity sources. The last file that contains an entity's number decides.
    pub entities: Vec<String>,
    /// URL variable with a file's date, `YYYYMMDD`. Among files with the same date, the source
    /// declared last counts.
    pub day_variable: Option<String>,
    /// Source of officers that reference their entity by `link_number`.
    pub officers: Option<String>,
    /// True if the registry has a separate row for each of an entity's parties.
    #[serde(default)]
    pub is_row_per_party: bool,
    /// Date formats, such as `MMDDYYYY`. A time after the date is ignored.
    pub date_formats: Vec<String>,
    /// Prefixes of texts that do not represent a date.
    #[serde(default)]
    pub placeholder_dates: Vec<String>,
    /// Status of all entities, if the registry lists only entities with one status.
    pub implied_status: Option<String>,
    #[serde(default)]
    pub statuses: Table<String>,
    #[serde(default)]
    pub entity_types: Table<EntityType>,
    /// Purpose of the mailing address.
    pub mailing_role: Option<String>,
    /// Meaning of a party's role if the party is not an officer. The value is `principal`,
    /// `mailing` or `agent`, or `none` for a party that is not published.
    #[serde(default)]
    pub party_roles: Table<String>,
    /// `person` or `organization`.
    #[serde(default)]
    pub party_types: Table<String>,
    /// Default officer type, for rows that do not state one.
    pub officer_type: Option<String>,
    #[serde(default)]
    pub titles: Table<String>,
    /// Codes that a title can be composed of, starting with the highest rank.
    #[serde(default)]
    pub title_codes: Vec<String>,
    /// Title of officers listed in a separate column.
    pub officer_title: Option<String>,
    /// Values of the registry's flag that show whether all officers are listed. The field below is
    /// the default.
    #[serde(default)]
    pub officers_complete: Table<bool>,
    pub is_officers_complete: Option<bool>,
    /// URL template for the registry's page about an entity, with [`NUMBER`].
    pub registry_url: Option<String>,
    /// True if the registry appends the status to the names of dead entities.
    #[serde(default)]
    pub is_status_in_name: bool,
    /// Scheme of the registry's second number.
    pub other_number_scheme: Option<String>,
    /// Prefixes of second numbers that are not tax identification numbers. All other second numbers
    /// stay unpublished.
    #[serde(default)]
    pub public_number_prefixes: Vec<String>,
}

/// Legal form that corresponds to a registry's own type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityType {
    pub value: String,
    /// Null if the type does not show this.
    pub is_foreign: Option<bool>,
}

/// A publisher's terms and their meanings. Lookups ignore case and surrounding blanks.
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
    /// Returns a text's meaning.
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
    /// Returns a fault that names the invalid setting.
    pub fn read(declaration: &Declaration) -> Result<Self, Fault> {
        let settings: Self = settings(declaration)?;
        let fault = |key: &str, message: &str| Err(Fault::in_settings(key, message));
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
                "every entry of `title_codes` must be in `titles` too",
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
            return fault("registry_url", "must be a URL with `{entity_number}`");
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
