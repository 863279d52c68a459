//! Describes the lists that were searched for a license number, and their gaps.

use schemars::JsonSchema;
use serde::Serialize;

use super::number::{PREFIXES, lists_of};
use super::record::LicenseWithActions;
use super::table::{LicenseList, Licenses};
use crate::answer::Date;
use crate::days;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::place::reach::{CoveredList, Reaches};
use crate::release::freshness::source_date;
use pubdata_core::canonical::license_number::{display, normalized};

/// Adds notices about gaps of the searched lists: quarantined records, and events after the newest
/// license.
pub fn add_lists_notice(
    meta: &mut Meta,
    licenses: &Licenses,
    checked: &[Checked<'_>],
    (state, number): (&str, &str),
    found: &[&LicenseWithActions<'_>],
) {
    let forms = |source: &str| {
        let prefixes: Vec<String> = std::iter::once(source)
            .chain(PREFIXES)
            .map(str::to_owned)
            .collect();
        [
            display(number),
            normalized(number, &[]),
            normalized(number, &prefixes),
        ]
    };
    if let Some(list) = checked
        .iter()
        .find(|list| licenses.is_quarantined((state, list.source), &forms(list.source)))
    {
        let message = format!(
            "{} has a record of this number that contradicts itself or another record. The record is quarantined and not among these licenses: ask the board.",
            list.list.source_id
        );
        meta.notice("RECORD_SET_ASIDE", message);
    } else if found.is_empty()
        && let lacking = checked
            .iter()
            .filter(|list| list.list.quarantined > 0)
            .map(|list| format!("{} of {}", list.list.quarantined, list.list.source_id))
            .collect::<Vec<_>>()
        && !lacking.is_empty()
    {
        meta.notice(
            "RECORDS_SET_ASIDE",
            format!("Some records could not be read or contradict one another. They are quarantined and may have this number: {}.", lacking.join(", ")),
        );
    }
    let counts = |list: &&Checked<'_>| {
        found.is_empty()
            || found
                .iter()
                .any(|found| found.license.text("source") == Some(list.source))
    };
    for list in checked.iter().filter(counts) {
        if let (Some(newest), Some(as_of)) = (list.newest(), list.source_date)
            && as_of.since(newest).is_ok_and(|span| {
                i64::from(span.get_days()) > (3 * list.list.cadence_days).max(QUIET_DAYS)
            })
        {
            let message = format!(
                "The newest license of {} was issued or renewed on {newest}, although the list is dated {as_of}. The list seems to be older than its date and to lack later changes.",
                list.list.source_id
            );
            meta.notice("LIST_SEEMS_OLD", message);
        }
    }
}

impl Licenses {
    /// Returns the lists by state and source.
    pub fn covered_lists<'a>(&'a self, reaches: &Reaches<'a>) -> Vec<CoveredList<'a>> {
        let covered = |((state, source), list): (&'a (String, String), &'a LicenseList)| {
            let gaps = [
                (list.is_self_reported, "self-reported by holders only"),
                (!list.has_issue_dates, "no dates of issue"),
            ];
            let partition = [("state", state.as_str()), ("source", source.as_str())];
            CoveredList {
                list: format!("{state}-{source}").into(),
                name: &list.source_id,
                state,
                records: list.licenses,
                first_date: list.oldest.map(Date),
                last_date: list.newest.map(Date),
                kinds: list.professions.iter().map(String::as_str).collect(),
                gaps: gaps
                    .into_iter()
                    .filter(|(is_so, _)| *is_so)
                    .map(|(_, gap)| gap.into())
                    .collect(),
                freshness: Some(reaches.freshness(
                    &partition,
                    list.newest.map(days::date),
                    QUIET_DAYS,
                )),
                reach: reaches.reach(&partition),
            }
        };
        self.lists.iter().map(covered).collect()
    }
}

/// Days without a new license after which a list counts as stale.
const QUIET_DAYS: i64 = 180;

/// A list that was searched.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VerificationCheckedSource")]
pub struct Checked<'a> {
    #[serde(skip)]
    source: &'a str,
    #[serde(skip)]
    list: &'a LicenseList,
    /// Identifier of the list's source.
    source_id: &'a str,
    /// Date of the list, YYYY-MM-DD; null if it has none.
    #[schemars(with = "Option<&str>")]
    pub source_date: Option<jiff::civil::Date>,
    /// Date of the last issue or renewal on or before the date of the list. A much earlier day
    /// shows that the list is older than its date.
    newest_license_date: Option<Date>,
    /// Number of quarantined records, which could not be read or contradict other records.
    records_set_aside: u64,
    /// Number of licenses in the list, and their professions.
    scope: String,
}

impl Checked<'_> {
    /// Returns the day of the list's newest license.
    fn newest(&self) -> Option<jiff::civil::Date> {
        self.list.newest.map(days::date)
    }
}

pub fn checked<'a>(
    call: &Call<'_>,
    licenses: &'a Licenses,
    state: &'a str,
    profession: Option<&str>,
) -> Vec<Checked<'a>> {
    let date = |source: &str| {
        let is_of = |part: &&pubdata_store::Part| {
            part.partition
                .get("state")
                .is_some_and(|known| known == state)
                && part
                    .partition
                    .get("source")
                    .is_some_and(|known| known == source)
        };
        licenses
            .rows
            .parts()
            .iter()
            .filter(is_of)
            .filter_map(|part| source_date(&call.release.manifest, part))
            .max()
    };
    let lists = lists_of(licenses, state).filter(|(_, list)| {
        profession.is_none_or(|profession| list.professions.contains(profession))
    });
    let scope = |list: &LicenseList| {
        format!(
            "{} licenses: {}",
            list.licenses,
            list.professions
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    let checked = |(source, list): (&'a str, &'a LicenseList)| Checked {
        source,
        list,
        source_id: &list.source_id,
        source_date: date(source),
        newest_license_date: list.newest.map(Date),
        records_set_aside: list.quarantined,
        scope: scope(list),
    };
    lists.map(checked).collect()
}
