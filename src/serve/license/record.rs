//! A license as answers show it, with the board's actions on it. Its status may be derived from the expiration date, as of the list's date,
//! which a notice says.

use crate::days;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::problem::Result;
use crate::http::problem::not_published;
use crate::json::Json;
use crate::license::datasets::Action;
use crate::license::datasets::LICENSES;
use crate::license::datasets::License;
use crate::license::table::Licenses;
use crate::release::freshness::source_date;
use crate::release::rows::Record;

const DERIVED: &str = "derived_from_expiration";

/// A license with the board's actions on it.
pub struct WithActions<'a> {
    pub license: Record<'a, License>,
    /// As stated, or by the expiration date as of the list's date.
    pub status: &'a str,
    /// Date of the list that it is from, as of which its status is known.
    pub as_of: Option<jiff::civil::Date>,
    actions: Vec<Record<'a, Action>>,
}

/// Reads licenses and their actions.
///
/// # Errors
/// `internal_error`, when a part cannot be read.
pub async fn licenses_of<'a>(call: &Call<'_>, licenses: &'a Licenses, rows: &[u32]) -> Result<Vec<WithActions<'a>>> {
    let mut found = Vec::with_capacity(rows.len());
    for (license, row) in licenses.rows.fetch(call.reader(), rows).await?.into_iter().zip(rows) {
        let actions = licenses.actions.about(call.reader(), &license).await?;
        let as_of = source_date(&call.release.manifest, license.part());
        found.push(WithActions { license, status: licenses.status(*row), as_of, actions });
    }
    Ok(found)
}

/// First, middle and last name and suffix of a license's holder.
pub fn person_of<'a>(license: &'a Record<'_, License>) -> [Option<&'a str>; 4] {
    ["holder_first", "holder_middle", "holder_last", "holder_suffix"].map(|column| license.text(column))
}

impl WithActions<'_> {
    /// Whether the expiration date had passed on the day of the list.
    pub fn is_past(&self) -> bool {
        let as_of = self.as_of.map(days::since_epoch);
        self.license.day("expiration_date").zip(as_of).is_some_and(|(expires, as_of)| expires < as_of)
    }

    /// Writes the members of a license but its provenance.
    pub fn write(&self, json: &mut Json) {
        let license = &self.license;
        license.members(json, &["license_id", "number", "number_raw", "state", "board", "profession", "profession_raw", "profession_basis", "license_class"]);
        json.key("classifications").array(|json| {
            for text in license.texts("classifications") {
                let (code, description) = text.split_once('=').map_or((text, None), |(code, description)| (code, Some(description)));
                json.object(|json| {
                    json.key("code").text(code);
                    json.key("description").optional_text(description);
                });
            }
        });
        json.key("holder").object(|json| {
            for (key, name) in [
                ("name", "holder_name"),
                ("type", "holder_type"),
                ("first", "holder_first"),
                ("middle", "holder_middle"),
                ("last", "holder_last"),
                ("suffix", "holder_suffix"),
                ("business_name", "business_name"),
                ("dba", "dba"),
                ("principals", "principals"),
            ] {
                license.member_as(json, key, name);
            }
        });
        let is_stated = license.text("status") == Some(self.status);
        json.key("status").text(self.status);
        license.member(json, "status_raw");
        json.key("status_basis").text(if is_stated { license.at("status_basis") } else { DERIVED });
        #[rustfmt::skip]
        license.members(json, &[
            "secondary_status_raw", "evidence", "issue_date", "effective_date", "expiration_date", "last_renewed_date", "suspended_date",
        ]);
        license.object_or_null(json, "address", &[("city", "city"), ("state", "address_state"), ("zip", "zip"), ("county", "county")]);
        license.member(json, "phone");
        json.key("disciplinary_actions").array(|json| {
            for action in &self.actions {
                json.object(|json| action.members(json, &["case_number", "action", "effective_date", "end_date", "record_id"]));
            }
        });
        self.write_security(json);
        license.members(json, &["verify_url", "warnings"]);
    }

    fn write_security(&self, json: &mut Json) {
        let dates = |kind: &str| ["effective_date", "expiration_date", "cancelled_date"].map(|date| (date, format!("{kind}_{date}")));
        for (kind, first) in [("bond", "surety"), ("insurance", "insurer")] {
            let names = [(first, format!("{kind}_{first}")), ("amount", format!("{kind}_amount"))].into_iter().chain(dates(kind));
            let names: Vec<(&str, String)> = names.collect();
            let members: Vec<(&str, &str)> = names.iter().map(|(key, name)| (*key, name.as_str())).collect();
            self.license.object_or_null(json, kind, &members);
        }
        let members = [("coverage", "workers_comp_coverage"), ("insurer", "workers_comp_insurer"), ("expiration_date", "workers_comp_expiration_date")];
        self.license.object_or_null(json, "workers_comp", &members);
    }
}

/// Says how statuses are to be read, where that matters for the licenses of an answer.
pub fn add_statuses_notice(meta: &mut Meta, licenses: &[&WithActions<'_>]) {
    if licenses.iter().any(|found| found.status == "active" && found.is_past()) {
        meta.notice(
            "STATUS_DATE_CONFLICT",
            "The board lists a license as active whose expiration date had passed on the day of the list: both are shown as published, and the license is not taken as verified.",
        );
    }
    let has_basis = |basis: &str| licenses.iter().any(|found| found.license.text("status_basis") == Some(basis));
    if has_basis(DERIVED) || licenses.iter().any(|found| found.license.text("status") != Some(found.status)) {
        meta.notice(
            "STATUS_DERIVED",
            "Where status_basis is derived_from_expiration, the board publishes no status, or one that its daily list has not caught up with: it is `active` to the expiration date and `expired` after it, as of the list's date.",
        );
    }
    if has_basis("implied_by_dataset") {
        meta.notice("STATUS_IMPLIED", "Where status_basis is implied_by_dataset, the board lists such licenses only.");
    }
    if licenses.iter().any(|found| found.license.text("evidence") == Some("self_reported")) {
        meta.notice("SELF_REPORTED", "Where evidence is self_reported, the holder gave the number to a directory; no board has confirmed it there.");
    }
}

/// The licenses of the release.
///
/// # Errors
/// `coverage_unavailable`, when it has none.
pub fn published<'a>(call: &'a Call<'_>) -> Result<&'a Licenses> {
    call.release.table::<Licenses>().ok_or_else(|| not_published(LICENSES))
}
