//! Puts permits in order by day and writes their summary. Values too high for any building are counted, and left out of the total.

use std::collections::BTreeMap;

use crate::http::meta::Meta;
use crate::json::{Json, Trim};
use crate::permit::table::{DATES, NO_VALUE, Permits};
use crate::release::key_columns::NO_DAY;

/// Cents above which a stated value is taken for a slip: no building costs so much.
const IMPLAUSIBLE: i64 = 1_000_000_000 * 100;

/// Day of a permit: when it was issued, else applied for, completed, or last changed.
pub fn day_of(permits: &Permits, row: u32) -> i32 {
    (0..DATES.len()).map(|date| permits.dates[date][row as usize]).find(|day| *day != NO_DAY).unwrap_or(NO_DAY)
}

/// Puts permits in order, the newest first; those without a day last.
pub fn newest_first(permits: &Permits, rows: &mut [u32]) {
    rows.sort_by_key(|row| (std::cmp::Reverse(day_of(permits, *row)), *row));
}

/// Writes the member `permit_summary`, and says in `meta` what was left out of it.
pub fn write(json: &mut Json, meta: &mut Meta, permits: &Permits, rows: &[u32]) {
    let days = || rows.iter().map(|row| day_of(permits, *row)).filter(|day| *day != NO_DAY);
    let values = || rows.iter().map(|row| permits.values[*row as usize]).filter(|value| *value != NO_VALUE);
    let plausible: Vec<i64> = values().filter(|value| *value <= IMPLAUSIBLE).collect();
    let implausible = values().count() - plausible.len();
    let total: i128 = plausible.iter().map(|value| i128::from(*value)).sum();
    json.key("permit_summary").object(|json| {
        json.key("count").count(rows.len() as u64);
        json.key("first_date").optional_day(days().min());
        json.key("last_date").optional_day(days().max());
        json.key("total_job_value");
        match i64::try_from(total) {
            Ok(total) if !plausible.is_empty() => json.decimal(total, 2, Trim::Zeros),
            _ => json.null(),
        }
        json.key("valued_count").count(plausible.len() as u64);
        json.key("implausible_values").count(implausible as u64);
        json.key("by_type").value(&counted(rows, |row| permits.types.at(row as usize)));
        json.key("by_status").value(&counted(rows, |row| permits.statuses.at(row as usize)));
        json.key("by_jurisdiction").array(|json| {
            for (id, count) in counted(rows, |row| permits.jurisdiction(row)) {
                json.object(|json| {
                    json.key("id").text(id);
                    json.key("count").count(count);
                });
            }
        });
    });
    if implausible > 0 {
        meta.notice("VALUE_IMPLAUSIBLE", format!("{implausible} permits state a value above a thousand million dollars; total_job_value leaves them out."));
    }
}

fn counted<'a>(rows: &[u32], word: impl Fn(u32) -> &'a str) -> BTreeMap<&'a str, u64> {
    let mut counts = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(word(*row)).or_default() += 1);
    counts
}
