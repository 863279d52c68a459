//! Builds licenses for answers, with the board's actions. A status may be derived from the
//! expiration date as of the list's date; a notice states this.

use schemars::JsonSchema;
use serde::Serialize;

use crate::days;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::problem::Result;
use crate::http::problem::not_published;
use crate::license::datasets::{
    self, DisciplinaryAction, LICENSES, LicenseClassification, LicenseFields,
};
use crate::license::table::Licenses;
use crate::release::freshness::source_date;
use crate::release::provenance::Provenance;
use crate::release::rows::Record;
use crate::search::rank::MatchOfName;

const DERIVED: &str = "derived_from_expiration";

/// A license with its provenance.
#[derive(Debug, Serialize, JsonSchema)]
pub struct License<'a> {
    #[serde(flatten)]
    license: LicenseFields<'a>,
    /// Provenance of the license's record in `license.license`.
    provenance: Provenance<'a>,
}

/// A license with its search match.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LicenseMatch<'a> {
    #[serde(flatten)]
    pub license: LicenseFields<'a>,
    /// How the record matches the search.
    #[serde(rename = "match")]
    pub name_match: MatchOfName,
    /// Provenance of the license's record in `license.license`.
    pub provenance: Provenance<'a>,
}

/// A license with the board's actions on it.
pub struct LicenseWithActions<'a> {
    pub license: Record<'a, datasets::License>,
    /// Status as stated, or derived from the expiration date as of the list's date.
    pub status: &'a str,
    /// Date of the license's list; the status is known as of this date.
    pub as_of: Option<jiff::civil::Date>,
    actions: Vec<Record<'a, datasets::Action>>,
}

/// Reads licenses and their actions.
pub async fn licenses_of<'a>(
    call: &Call<'_>,
    licenses: &'a Licenses,
    rows: &[u32],
) -> Result<Vec<LicenseWithActions<'a>>> {
    let mut found = Vec::with_capacity(rows.len());
    for (license, row) in licenses
        .rows
        .fetch(call.reader(), rows)
        .await?
        .into_iter()
        .zip(rows)
    {
        let actions = licenses.actions.about(call.reader(), &license).await?;
        let as_of = source_date(&call.release.manifest, license.part());
        found.push(LicenseWithActions {
            license,
            status: licenses.status(*row),
            as_of,
            actions,
        });
    }
    Ok(found)
}

/// Returns the first, middle and last name and the suffix of a license's holder.
pub fn person_of<'a>(license: &'a Record<'_, datasets::License>) -> [Option<&'a str>; 4] {
    [
        "holder_first",
        "holder_middle",
        "holder_last",
        "holder_suffix",
    ]
    .map(|column| license.text(column))
}

impl LicenseWithActions<'_> {
    /// Reports whether the expiration date had passed on the date of the list.
    pub fn is_past(&self) -> bool {
        let as_of = self.as_of.map(days::since_epoch);
        self.license
            .day("expiration_date")
            .zip(as_of)
            .is_some_and(|(expires, as_of)| expires < as_of)
    }

    /// Returns the license as answers show it, without its provenance.
    pub fn shown(&self) -> LicenseFields<'_> {
        let mut shown = LicenseFields::from_record(&self.license);
        if shown.status != Some(self.status) {
            (shown.status, shown.status_basis) = (Some(self.status), DERIVED);
        }
        let classes = self.license.texts("classifications").into_iter();
        shown.classifications = classes.map(LicenseClassification::parse).collect();
        shown.disciplinary_actions = self
            .actions
            .iter()
            .map(DisciplinaryAction::from_record)
            .collect();
        shown
    }

    /// Returns the license as answers show it.
    pub fn with_provenance<'r>(&'r self, call: &'r Call<'_>) -> License<'r> {
        License {
            license: self.shown(),
            provenance: self.license.origin(&call.release.manifest),
        }
    }
}

/// Adds notices about statuses, if the licenses of an answer need them.
pub fn add_statuses_notice(meta: &mut Meta, licenses: &[&LicenseWithActions<'_>]) {
    if licenses
        .iter()
        .any(|found| found.status == "active" && found.is_past())
    {
        meta.notice(
            "STATUS_DATE_CONFLICT",
            "The board lists a license as active although its expiration date had passed on the date of the list. Both are shown as published, and the license does not count as verified.",
        );
    }
    let has_basis = |basis: &str| {
        licenses
            .iter()
            .any(|found| found.license.text("status_basis") == Some(basis))
    };
    if has_basis(DERIVED)
        || licenses
            .iter()
            .any(|found| found.license.text("status") != Some(found.status))
    {
        meta.notice(
            "STATUS_DERIVED",
            "If status_basis is derived_from_expiration, the board publishes no status, or its daily list is behind. The status is `active` until the expiration date and `expired` after it, as of the list's date.",
        );
    }
    if has_basis("implied_by_dataset") {
        meta.notice(
            "STATUS_IMPLIED",
            "If status_basis is implied_by_dataset, the board lists only licenses with this status.",
        );
    }
    if licenses
        .iter()
        .any(|found| found.license.text("evidence") == Some("self_reported"))
    {
        meta.notice("SELF_REPORTED", "If evidence is self_reported, the holder gave the number to a directory, and no board has confirmed it there.");
    }
}

/// Returns the licenses of the release.
///
/// # Errors
/// `coverage_unavailable` if the release contains no licenses.
pub fn published<'a>(call: &'a Call<'_>) -> Result<&'a Licenses> {
    call.release
        .table::<Licenses>()
        .ok_or_else(|| not_published(LICENSES))
}
