//! Sorts permits by day and totals them. Values too high for any building are counted, but excluded
//! from the total.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal};
use crate::http::meta::Meta;
use crate::permit::table::{DATES, NO_VALUE, Permits};
use crate::release::key_columns::NO_DAY;

/// Values above this number of cents are mistakes, because no building costs as much.
const IMPLAUSIBLE_VALUE_CENTS: i64 = 1_000_000_000 * 100;

/// Returns the day of a permit: the issue date, or else the date of application, completion or last
/// change.
pub fn day_of(permits: &Permits, row: u32) -> i32 {
    (0..DATES.len())
        .map(|date| permits.dates[date][row as usize])
        .find(|day| *day != NO_DAY)
        .unwrap_or(NO_DAY)
}

/// Sorts permits, newest first; permits without a day come last.
pub fn newest_first(permits: &Permits, rows: &mut [u32]) {
    rows.sort_by_key(|row| (std::cmp::Reverse(day_of(permits, *row)), *row));
}

#[derive(Serialize, JsonSchema)]
pub struct PermitSummary<'a> {
    /// Number of permits counted.
    count: usize,
    /// Date of the first permit, YYYY-MM-DD: its issue date, or else the date of application,
    /// completion or last change. Null if no permit has a date.
    first_date: Option<Date>,
    /// Date of the last permit, YYYY-MM-DD: its issue date, or else the date of application,
    /// completion or last change. Null if no permit has a date.
    last_date: Option<Date>,
    /// Total value in US dollars, without implausible values. Null if no permit states a value.
    total_job_value: Option<Decimal>,
    /// Number of values in the total.
    valued_count: usize,
    /// Number of permits that state a value of more than a billion dollars.
    implausible_values: usize,
    /// Number of permits by type.
    by_type: BTreeMap<&'a str, u64>,
    /// Number of permits by status.
    by_status: BTreeMap<&'a str, u64>,
    /// Number of permits by jurisdiction.
    by_jurisdiction: Vec<PermitsOfJurisdiction<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PermitSummaryByJurisdiction")]
struct PermitsOfJurisdiction<'a> {
    /// Identifier of the jurisdiction, such as `us-il-chicago`.
    id: &'a str,
    /// Number of permits that the jurisdiction issued.
    count: u64,
}

impl<'a> PermitSummary<'a> {
    /// Totals permits, and adds a notice about excluded values.
    pub fn new(meta: &mut Meta, permits: &'a Permits, rows: &[u32]) -> Self {
        let days = || {
            rows.iter()
                .map(|row| day_of(permits, *row))
                .filter(|day| *day != NO_DAY)
        };
        let values = || {
            rows.iter()
                .map(|row| permits.values[*row as usize])
                .filter(|value| *value != NO_VALUE)
        };
        let plausible: Vec<i64> = values()
            .filter(|value| *value <= IMPLAUSIBLE_VALUE_CENTS)
            .collect();
        let implausible = values().count() - plausible.len();
        if implausible > 0 {
            meta.notice("VALUE_IMPLAUSIBLE", format!("{implausible} permits state a value above a billion dollars; total_job_value excludes them."));
        }
        let cents = plausible.iter().map(|value| i128::from(*value)).sum();
        let by_jurisdiction = counted(rows, |row| permits.jurisdiction(row));
        Self {
            count: rows.len(),
            first_date: days().min().map(Date),
            last_date: days().max().map(Date),
            total_job_value: (!plausible.is_empty()).then_some(Decimal {
                units: cents,
                scale: 2,
            }),
            valued_count: plausible.len(),
            implausible_values: implausible,
            by_type: counted(rows, |row| permits.types.at(row as usize)),
            by_status: counted(rows, |row| permits.statuses.at(row as usize)),
            by_jurisdiction: by_jurisdiction
                .into_iter()
                .map(|(id, count)| PermitsOfJurisdiction { id, count })
                .collect(),
        }
    }
}

fn counted<'a>(rows: &[u32], word: impl Fn(u32) -> &'a str) -> BTreeMap<&'a str, u64> {
    let mut counts = BTreeMap::new();
    rows.iter()
        .for_each(|row| *counts.entry(word(*row)).or_default() += 1);
    counts
}
