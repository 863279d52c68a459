//! Computes the federal government's business days: Monday to Friday, except the public holidays of
//! 5 U.S.C. 6103 on the days when they are observed. Inauguration Day is not included because it is
//! a holiday only in and around Washington.

use jiff::civil::{Date, Weekday, date};

/// Holidays on the same date every year: month, day, first year.
const FIXED: [(i8, i8, i16); 5] = [
    (1, 1, 1870),
    (6, 19, 2021),
    (7, 4, 1870),
    (11, 11, 1978),
    (12, 25, 1870),
];

/// Holidays on a given weekday of a month: month, ordinal of the weekday (-1 means the last),
/// weekday, first year.
const FLOATING: [(i8, i8, Weekday, i16); 6] = [
    (1, 3, Weekday::Monday, 1986),
    (2, 3, Weekday::Monday, 1971),
    (5, -1, Weekday::Monday, 1971),
    (9, 1, Weekday::Monday, 1894),
    (10, 2, Weekday::Monday, 1971),
    (11, 4, Weekday::Thursday, 1942),
];

/// Returns whether federal offices are open.
pub(super) fn is_business_day(day: Date) -> bool {
    !is_weekend(day) && !is_holiday(day)
}

fn is_weekend(day: Date) -> bool {
    matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// Returns whether a holiday is observed on the day. A Saturday holiday is observed on the
/// preceding Friday, and a Sunday holiday on the following Monday.
fn is_holiday(day: Date) -> bool {
    // New Year's Day may be observed on the last day of the preceding year.
    let years = [day.year(), day.year().saturating_add(1)];
    let fixed = years.into_iter().flat_map(|year| {
        FIXED
            .iter()
            .filter(move |(.., since)| year >= *since)
            .map(move |(month, of, _)| date(year, *month, *of))
    });
    let is_observed = |holiday: Date| match holiday.weekday() {
        Weekday::Saturday => holiday.yesterday(),
        Weekday::Sunday => holiday.tomorrow(),
        _ => Ok(holiday),
    };
    let is_floating = |(month, nth, weekday, since): &(i8, i8, Weekday, i16)| {
        day.year() >= *since
            && day.month() == *month
            && date(day.year(), *month, 1)
                .nth_weekday_of_month(*nth, *weekday)
                .is_ok_and(|holiday| holiday == day)
    };
    fixed
        .into_iter()
        .any(|holiday| is_observed(holiday).is_ok_and(|observed| observed == day))
        || FLOATING.iter().any(is_floating)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observed holidays as published by the Office of Personnel Management for most employees
    /// (opm.gov, "Federal Holidays").
    const PUBLISHED: [&str; 45] = [
        "2026-01-01",
        "2026-01-19",
        "2026-02-16",
        "2026-05-25",
        "2026-06-19",
        "2026-07-03",
        "2026-09-07",
        "2026-10-12",
        "2026-11-11",
        "2026-11-26",
        "2026-12-25",
        "2027-01-01",
        "2027-01-18",
        "2027-02-15",
        "2027-05-31",
        "2027-06-18",
        "2027-07-05",
        "2027-09-06",
        "2027-10-11",
        "2027-11-11",
        "2027-11-25",
        "2027-12-24",
        "2027-12-31",
        "2028-01-17",
        "2028-02-21",
        "2028-05-29",
        "2028-06-19",
        "2028-07-04",
        "2028-09-04",
        "2028-10-09",
        "2028-11-10",
        "2028-11-23",
        "2028-12-25",
        "2029-01-01",
        "2029-01-15",
        "2029-02-19",
        "2029-05-28",
        "2029-06-19",
        "2029-07-04",
        "2029-09-03",
        "2029-10-08",
        "2029-11-12",
        "2029-11-22",
        "2029-12-25",
        "2030-01-01",
    ];

    #[test]
    fn holidays_are_those_that_the_government_publishes() {
        let days = date(2026, 1, 1)
            .series(jiff::Span::new().days(1))
            .take_while(|day| *day <= date(2030, 1, 1));
        let holidays: Vec<String> = days
            .filter(|day| !is_weekend(*day) && is_holiday(*day))
            .map(|day| day.to_string())
            .collect();
        assert_eq!(holidays, PUBLISHED);
    }

    #[test]
    fn saturdays_and_sundays_are_no_business_days() {
        assert!(is_business_day(date(2026, 11, 20)) && is_business_day(date(2026, 11, 23)));
        assert!(!is_business_day(date(2026, 11, 21)) && !is_business_day(date(2026, 11, 22)));
        assert!(
            !is_business_day(date(2026, 11, 26)) && is_business_day(date(2026, 11, 27)),
            "Thanksgiving"
        );
    }
}
