//! The businesses of a release, and what is written of each.

use super::datasets::{ENTITIES, Entity};
use super::table::Businesses;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::problem::{Result, not_published};
use crate::json::Json;
use crate::release::rows::Record;

/// The businesses of the release.
///
/// # Errors
/// `coverage_unavailable`, when it has none.
pub fn businesses_of<'a>(call: &'a Call<'_>) -> Result<&'a Businesses> {
    call.release.table::<Businesses>().ok_or_else(|| not_published(ENTITIES))
}

/// Says that some registries list active entities only, which is no verdict on their standing.
pub fn add_implied_notice(meta: &mut Meta, records: &[Record<'_, Entity>]) {
    if records.iter().any(|record| record.text("status_basis") == Some("implied_by_dataset")) {
        meta.notice(
            "STATUS_IMPLIED",
            "Where status_basis is implied_by_dataset, the registry publishes active entities only: `active` says that the entity is on its list, not that it is in good standing.",
        );
    }
}

/// Writes the members that items of a search and a business have in common.
pub fn write_item(json: &mut Json, record: &Record<'_, Entity>) {
    #[rustfmt::skip]
    record.members(json, &[
        "entity_id", "name", "name_normalized", "entity_number", "state", "jurisdiction_of_formation", "is_foreign", "entity_type", "entity_type_raw", "entity_type_basis", "status", "status_raw",
        "status_basis", "formation_date", "principal_city", "principal_state", "principal_zip",
    ]);
    record.member_as(json, "registered_agent_name", "agent_name");
}
