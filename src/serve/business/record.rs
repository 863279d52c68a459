//! The businesses of a release, and what is to know of their statuses.

use super::datasets::{ENTITIES, Entity};
use super::table::Businesses;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::problem::{Result, not_published};
use crate::release::rows::Record;

/// The businesses of the release.
///
/// # Errors
/// `coverage_unavailable`, when it has none.
pub fn businesses_of<'a>(call: &'a Call<'_>) -> Result<&'a Businesses> {
    call.release
        .table::<Businesses>()
        .ok_or_else(|| not_published(ENTITIES))
}

/// Says that some registries list active entities only, which is no verdict on their standing.
pub fn add_implied_notice(meta: &mut Meta, records: &[Record<'_, Entity>]) {
    if records
        .iter()
        .any(|record| record.text("status_basis") == Some("implied_by_dataset"))
    {
        meta.notice(
            "STATUS_IMPLIED",
            "Where status_basis is implied_by_dataset, the registry publishes active entities only: `active` says that the entity is on its list, not that it is in good standing.",
        );
    }
}
