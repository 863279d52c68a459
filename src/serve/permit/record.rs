//! Writes a permit as answers show it. Whether it is expired is told as of the list's date, not of today.

use crate::days;
use crate::http::endpoint::Call;
use crate::json::Json;
use crate::permit::datasets::Permit;
use crate::release::freshness::source_date;
use crate::release::rows::Record;

use crate::permit::links::Party;

/// Writes a permit; without its parties where they are what was asked for.
pub fn write(json: &mut Json, call: &Call<'_>, permit: &Record<'_, Permit>, parties: Option<&[Party<'_>]>) {
    json.object(|json| {
        permit.members(json, &["permit_id", "permit_number"]);
        json.key("jurisdiction").object(|json| {
            permit.member_as(json, "id", "jurisdiction");
            permit.member_as(json, "name", "jurisdiction_name");
            permit.member(json, "state");
        });
        #[rustfmt::skip]
        permit.members(json, &[
            "type", "type_raw", "sub_type_raw", "type_basis", "work_class", "work_class_raw", "property_class", "property_class_raw", "description", "status", "status_detail", "status_raw", "status_basis", "status_date",
            "applied_date", "issued_date", "completed_date", "expires_date",
        ]);
        json.key("is_expired").optional_flag(is_expired(call, permit));
        permit.members(json, &["job_value", "fees", "square_feet", "housing_units", "renewals"]);
        json.key("address").object(|json| {
            permit.members(json, &["line1", "line2", "city"]);
            permit.member_as(json, "state", "address_state");
            permit.member(json, "zip");
            permit.member_as(json, "normalized", "address_normalized");
            permit.members(json, &["lat", "lon"]);
            json.key("geocode_source").optional_text(permit.float("lat").map(|_| "source"));
        });
        permit.object_or_null(json, "parcel", &[("scheme", "parcel_scheme"), ("value", "parcel")]);
        permit.member(json, "property_id");
        if let Some(parties) = parties {
            json.key("contractors").array(|json| parties.iter().for_each(|party| party.write(json)));
        }
        permit.member(json, "tags");
        json.key("tags_basis").text("derived");
        permit.members(json, &["source_url", "warnings"]);
        permit.provenance(json, &call.release.manifest);
    });
}

/// Whether the expiration date had passed when the list was published; some lists go on calling such permits issued.
fn is_expired(call: &Call<'_>, permit: &Record<'_, Permit>) -> Option<bool> {
    let as_of = days::since_epoch(source_date(&call.release.manifest, permit.part())?);
    permit.day("expires_date").map(|expires| expires < as_of)
}
