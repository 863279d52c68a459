//! Days as tables keep them: numbers of days since 1970-01-01.

use jiff::civil::Date;

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// The number of a date.
pub fn since_epoch(date: Date) -> i32 {
    date.since(EPOCH).map_or(0, |span| span.get_days())
}

/// The date of a number; the nearest that there is, beyond the calendar's ends.
pub fn date(days: i32) -> Date {
    EPOCH.saturating_add(jiff::Span::new().days(days))
}
