//! Detects the date formats of a file's columns. Ambiguous formats are not guessed: `03/04/2025`
//! may be 3 April or 4 March.

use super::sample::Column;
use pubdata_build::normalise::{Day, day_from_epoch, day_from_pattern, us_date, without_time};

/// Minimum percentage of a column's cells that must be dates of the same format.
const MOST: usize = 95;

/// Larger numbers are milliseconds rather than seconds, because no permit has a date this many
/// seconds after 1970.
const MAX_SECONDS: i64 = 100_000_000_000;

/// Content of a column's cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// Dates in the format with this name.
    Days(&'static str),
    /// Dates with slashes that do not reveal whether the month or the day comes first, with an
    /// example.
    Ambiguous(String),
    /// Dates in which the day comes first, with a cell that proves this order.
    DayFirst(String),
    /// No dates, or an unsupported format.
    Other,
    Empty,
}

/// Returns true for placeholders that contain no date, in any format.
fn is_none(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0' | b'-' | b'/'))
}

/// Detects the date format of a column from its own cells.
pub(super) fn form_of(column: &Column) -> Form {
    let texts: Vec<&str> = column.texts().filter(|text| !is_none(text)).collect();
    let Some(first) = texts.first() else {
        return Form::Empty;
    };
    let are = |is_such: &dyn Fn(&str) -> bool| {
        texts.iter().filter(|text| is_such(text)).count() * 100 >= texts.len() * MOST
    };
    // Range of plausible dates for a permit. Other numbers rarely all fall into this range.
    let is_likely = |day: Day| ("1950-01-01".."2060-01-01").contains(&day.to_string().as_str());
    // The magnitude distinguishes seconds from milliseconds. Smaller numbers are seconds, so
    // milliseconds are recognised only for dates from 1973 on.
    let is_below = |text: &str| {
        text.parse::<i64>()
            .is_ok_and(|units| units.abs() < MAX_SECONDS)
    };
    let seconds = |text: &str| {
        is_below(text) && text.len() >= 9 && day_from_epoch(text, 86_400).is_some_and(is_likely)
    };
    let milliseconds =
        |text: &str| !is_below(text) && day_from_epoch(text, 86_400_000).is_some_and(is_likely);
    if are(&|text| Day::from_iso(without_time(text).as_bytes()).is_some()) {
        return Form::Days("iso");
    }
    if are(&|text| day_from_pattern(without_time(text), "YYYY/MM/DD").is_some()) {
        return Form::Days("year_month_day");
    }
    if are(&|text| day_from_pattern(without_time(text), "YYYYMMDD").is_some_and(is_likely)) {
        return Form::Days("eight_digits");
    }
    if are(&milliseconds) {
        return Form::Days("epoch_milliseconds");
    }
    if are(&seconds) {
        return Form::Days("epoch_seconds");
    }
    let pairs: Vec<(u32, u32, &str)> = texts.iter().filter_map(|text| slashes(text)).collect();
    if pairs.len() * 100 < texts.len() * MOST {
        return Form::Other;
    }
    let day_first = pairs
        .iter()
        .filter(|(one, ..)| *one > 12)
        .collect::<Vec<_>>();
    let month_first = pairs.iter().filter(|(_, two, _)| *two > 12).count();
    match (month_first, day_first.first()) {
        (_, Some((.., text))) if day_first.len() * 100 > pairs.len() * (100 - MOST) => {
            Form::DayFirst((*text).to_owned())
        }
        (0, _) => Form::Ambiguous(without_time(first).to_owned()),
        (_, _) if are(&|text| us_date(without_time(text)).is_some()) => {
            Form::Days("month_day_year")
        }
        (_, _) => Form::Other,
    }
}

/// Returns the first two numbers of `3/4/2025`.
fn slashes(text: &str) -> Option<(u32, u32, &str)> {
    let day = without_time(text);
    let mut parts = day.split('/');
    let (one, two, year) = (
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
        parts.next()?,
    );
    (parts.next().is_none()
        && year.len() == 4
        && (1..=31).contains(&one)
        && (1..=31).contains(&two))
    .then_some((one, two, day))
}

/// Detects the format of each column. If another column proves the format, also returns that
/// column. A publisher writes all its dates in the same way, so one column with slashes may prove
/// the format of the others.
pub(super) fn forms(columns: &[Column]) -> Vec<(Form, Option<String>)> {
    let alone: Vec<Form> = columns.iter().map(form_of).collect();
    let proven = alone
        .iter()
        .position(|form| *form == Form::Days("month_day_year"));
    let is_day_first = alone.iter().any(|form| matches!(form, Form::DayFirst(_)));
    let together = |form: Form| match (&form, proven) {
        (Form::Ambiguous(_), Some(number)) if !is_day_first => (
            Form::Days("month_day_year"),
            Some(columns[number].name.clone()),
        ),
        _ => (form, None),
    };
    alone.into_iter().map(together).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str]) -> Column {
        Column {
            name: "day".to_owned(),
            published: "Day".to_owned(),
            cells: cells.iter().map(|cell| Some((*cell).to_owned())).collect(),
        }
    }

    #[test]
    fn forms_are_known_by_their_cells() {
        for (cells, expected) in [
            (
                &["2025-03-04T00:00:00.000", "2025-03-05", "0000-00-00"][..],
                Form::Days("iso"),
            ),
            (&["2025/03/04", "2025/03/05"], Form::Days("year_month_day")),
            (&["20250304", "20250314"], Form::Days("eight_digits")),
            (
                &["1741046400000", "662688000000"],
                Form::Days("epoch_milliseconds"),
            ),
            (&["1741046400", "1741132800"], Form::Days("epoch_seconds")),
            (
                &["03/04/2025", "3/14/2025 12:00:00 AM"],
                Form::Days("month_day_year"),
            ),
            (
                &["03/04/2025", "05/06/2025"],
                Form::Ambiguous("03/04/2025".to_owned()),
            ),
            (
                &["03/04/2025", "14/03/2025"],
                Form::DayFirst("14/03/2025".to_owned()),
            ),
            (&["04-MAR-25"], Form::Other),
            (&["1", "2", "3"], Form::Other),
            (&["3/4/25"], Form::Other),
            (&["00/00/0000", ""], Form::Empty),
        ] {
            assert_eq!(form_of(&column(cells)), expected, "{cells:?}");
        }
    }

    #[test]
    fn column_with_a_day_above_twelve_proves_the_format_of_the_others() {
        let columns = [column(&["03/04/2025"]), column(&["3/14/2025"])];
        assert_eq!(
            forms(&columns)[0],
            (Form::Days("month_day_year"), Some("day".to_owned()))
        );
        let contradicted = [
            column(&["03/04/2025"]),
            column(&["3/14/2025"]),
            column(&["14/3/2025"]),
        ];
        assert_eq!(
            forms(&contradicted)[0].0,
            Form::Ambiguous("03/04/2025".to_owned())
        );
    }
}
