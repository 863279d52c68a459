//! Converts between dates and the day numbers that tables store: days since 1970-01-01.

use jiff::civil::Date;

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Returns the day number of a date.
pub fn since_epoch(date: Date) -> i32 {
    date.since(EPOCH).map_or(0, |span| span.get_days())
}

/// Returns the date for a day number, clamped to the calendar's range.
pub fn date(days: i32) -> Date {
    EPOCH.saturating_add(jiff::Span::new().days(days))
}
