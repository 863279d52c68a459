//! Summarises each permit source: its dates, types and gaps.

use std::borrow::Cow;

use crate::answer::Date;
use crate::days;
use crate::permit::table::{DATES, PermitList, Permits};
use crate::place::reach::{CoveredList, Reaches};

/// Types that a reader expects in any city.
const TRADES: [&str; 4] = ["building", "electrical", "mechanical", "plumbing"];

/// Number of days without a new permit that is not suspicious: small cities have none for weeks.
const QUIET_DAYS: i64 = 30;

impl Permits {
    /// Returns the sources by jurisdiction.
    pub fn covered_lists<'a>(&'a self, reaches: &Reaches<'a>) -> Vec<CoveredList<'a>> {
        let covered = |(id, list): (&'a String, &'a PermitList)| {
            // First kind of date that the source has; few sources lack the issue date.
            let days = list.days.iter().find_map(|days| *days);
            let (first, last) = days.unzip();
            let partition = [("jurisdiction", id.as_str())];
            CoveredList {
                list: id.into(),
                name: &list.name,
                state: &list.state,
                records: list.permits,
                first_date: first.map(Date),
                last_date: last.map(Date),
                kinds: list.types.iter().map(String::as_str).collect(),
                gaps: gaps(list, self.with_license_numbers.contains(id))
                    .into_iter()
                    .map(Cow::Owned)
                    .collect(),
                freshness: Some(reaches.freshness(&partition, last.map(days::date), QUIET_DAYS)),
                reach: reaches.reach(&partition),
            }
        };
        self.lists.iter().map(covered).collect()
    }
}

fn gaps(list: &PermitList, has_numbers: bool) -> Vec<String> {
    let types = TRADES
        .iter()
        .filter(|kind| !list.types.contains(**kind))
        .map(|kind| format!("no permits of the type {kind}"));
    let dates = DATES
        .iter()
        .zip(list.with_date)
        .filter(|(_, count)| *count == 0)
        .map(|(name, _)| format!("no {name}"));
    let share = |lacking: u64, what: &str| {
        (lacking > 0).then(|| {
            if lacking == list.permits {
                format!("no {what}")
            } else {
                format!("no {what} for {lacking} of {} permits", list.permits)
            }
        })
    };
    let shares = [
        share(list.without_zip, "ZIP codes"),
        share(list.permits - list.with_point, "coordinates"),
    ];
    let numbers = (!has_numbers).then(|| "no license numbers of contractors".to_owned());
    types
        .chain(dates)
        .chain(shares.into_iter().flatten())
        .chain(numbers)
        .collect()
}
