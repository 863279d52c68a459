//! Builds permits for answers. Expiry is determined as of the list's date, not the current day.

use schemars::JsonSchema;
use serde::Serialize;

use crate::days;
use crate::http::endpoint::Call;
use crate::permit::datasets::{self, PermitContractor, PermitFields, PermitNotes};
use crate::permit::links::Party;
use crate::release::freshness::source_date;
use crate::release::provenance::Provenance;
use crate::release::rows::Record;

#[derive(Serialize, JsonSchema)]
pub struct Permit<'a> {
    #[serde(flatten)]
    fields: PermitFields<'a>,
    /// Parties of the permit. The name of an owner or applicant who is a person is null.
    contractors: Vec<PermitContractor<'a>>,
    #[serde(flatten)]
    notes: PermitNotes<'a>,
    /// Provenance of the permit's record in `permit.permit`.
    provenance: Provenance<'a>,
}

impl<'a> Permit<'a> {
    pub fn new(
        call: &'a Call<'_>,
        permit: &'a Record<'_, datasets::Permit>,
        parties: &'a [Party<'_>],
    ) -> Self {
        let PermitOfContractor {
            fields,
            notes,
            provenance,
        } = PermitOfContractor::new(call, permit);
        Self {
            fields,
            contractors: parties.iter().map(Party::shown).collect(),
            notes,
            provenance,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct PermitOfContractor<'a> {
    #[serde(flatten)]
    fields: PermitFields<'a>,
    #[serde(flatten)]
    notes: PermitNotes<'a>,
    /// Provenance of the permit's record in `permit.permit`.
    provenance: Provenance<'a>,
}

impl<'a> PermitOfContractor<'a> {
    pub fn new(call: &'a Call<'_>, permit: &'a Record<'_, datasets::Permit>) -> Self {
        let mut fields = PermitFields::from_record(permit);
        fields.is_expired = is_expired(call, permit);
        fields.address.geocode_source = fields.address.lat.map(|_| "source");
        Self {
            fields,
            notes: PermitNotes::from_record(permit),
            provenance: permit.origin(&call.release.manifest),
        }
    }
}

/// Returns whether the expiration date had passed when the list was published; some lists still
/// call such permits issued.
fn is_expired(call: &Call<'_>, permit: &Record<'_, datasets::Permit>) -> Option<bool> {
    let as_of = days::since_epoch(source_date(&call.release.manifest, permit.part())?);
    permit.day("expires_date").map(|expires| expires < as_of)
}
