//! Provides the businesses of a release, and the notice about implied statuses.

use super::datasets::{ENTITIES, Entity};
use super::table::Businesses;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::problem::{Result, not_published};
use crate::release::rows::Record;

/// Returns the businesses of the release.
///
/// # Errors
/// `coverage_unavailable` if the release contains no businesses.
pub fn businesses_of<'a>(call: &'a Call<'_>) -> Result<&'a Businesses> {
    call.release
        .table::<Businesses>()
        .ok_or_else(|| not_published(ENTITIES))
}

/// Adds a notice if the registry lists only active entities. Being listed does not mean that an
/// entity is in good standing.
pub fn add_implied_notice(meta: &mut Meta, records: &[Record<'_, Entity>]) {
    if records
        .iter()
        .any(|record| record.text("status_basis") == Some("implied_by_dataset"))
    {
        meta.notice(
            "STATUS_IMPLIED",
            "If status_basis is implied_by_dataset, the registry publishes active entities only: `active` means that the entity is on its list, not that it is in good standing.",
        );
    }
}
