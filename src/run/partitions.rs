//! What is to be expected of a partition before its files are looked at: by the publisher's calendar, and by what is there of the others.

use jiff::civil::Date;

use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;

/// First and last partition of which any file is there.
pub(super) type PublishedRange = (i32, i32);

#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// Whether its files should be there: it was built before, or lies between others that are there, or has no number.
    pub(super) is_expected: bool,
    /// Whether some of its files may still be to come: it is the newest that is there, was never built, and is not late.
    pub(super) may_be_incomplete: bool,
    /// Since when it is late by the calendar, where nothing newer is there.
    pub(super) late_since: Option<Date>,
}

impl Expected {
    /// # Errors
    /// `Config`, when the calendar cannot be read.
    pub(super) fn of(declaration: &Declaration, partition: Option<&str>, published: Option<PublishedRange>, was_built: bool, today: Date) -> Result<Self> {
        let Some(value) = partition.and_then(|value| value.parse::<i32>().ok()) else {
            return Ok(Self { is_expected: true, may_be_incomplete: false, late_since: None });
        };
        let is_inside = published.is_some_and(|(first, last)| (first..=last).contains(&value));
        let has_newer = published.is_some_and(|(_, last)| value < last);
        let first_day = i16::try_from(value).ok().and_then(|year| Date::new(year, 1, 1).ok()).filter(|_| !has_newer);
        let late_from = declaration.schedule(None)?.zip(first_day).map(|(schedule, first_day)| schedule.late_from(first_day));
        let late_since = late_from.filter(|day| *day <= today);
        let is_newest = published.is_some_and(|(_, last)| value == last);
        Ok(Self { is_expected: was_built || is_inside, may_be_incomplete: is_newest && !was_built && late_since.is_none(), late_since })
    }
}
