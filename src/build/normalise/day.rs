//! Parses dates in the formats that publishers use.

use pubdata_core::contract::Day;

/// Parses a date with a pattern such as `MM/DD/YYYY`. `Y`, `M` and `D` match one digit of the year,
/// month or day. Any other character matches itself.
pub fn day_from_pattern(text: &str, pattern: &str) -> Option<Day> {
    if text.len() != pattern.len() {
        return None;
    }
    let mut iso = *b"0000-00-00";
    let (mut year, mut month, mut day) = (0..4, 5..7, 8..10);
    for (byte, place) in text.bytes().zip(pattern.bytes()) {
        match place {
            b'Y' => iso[year.next()?] = byte,
            b'M' => iso[month.next()?] = byte,
            b'D' => iso[day.next()?] = byte,
            literal if literal == byte => {}
            _ => return None,
        }
    }
    Day::from_iso(&iso)
}

/// Converts a number of units since 1970-01-01 UTC to a day. `units_per_day` is the number of units
/// in a day. Returns none for years outside the range that publishers can mean. Publishers write
/// midnight either in UTC or in local time. In America, both fall on the same day.
pub fn day_from_epoch(text: &str, units_per_day: i64) -> Option<Day> {
    let units: i64 = text.parse().ok()?;
    i32::try_from(units.div_euclid(units_per_day))
        .ok()
        .filter(|day| (-80_000..80_000).contains(day))
        .map(Day::from_number)
}
/// Removes the time from a date. Portals write `2025-01-21T00:00:00.000` or `01/21/2025 12:00:00
/// AM`.
pub fn without_time(text: &str) -> &str {
    text.trim().split(['T', ' ']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Day, day_from_pattern, without_time};

    #[test]
    fn dates_are_read_in_the_form_their_publisher_writes() {
        let day = Day::from_iso(b"2023-09-27");
        for (text, pattern) in [
            ("09272023", "MMDDYYYY"),
            ("09/27/2023", "MM/DD/YYYY"),
            ("20230927", "YYYYMMDD"),
            ("2023-09-27", "YYYY-MM-DD"),
        ] {
            assert_eq!(day_from_pattern(text, pattern), day, "{text}");
        }
        for (text, pattern) in [
            ("9272023", "MMDDYYYY"),
            ("02302023", "MMDDYYYY"),
            ("09-27-2023", "MM/DD/YYYY"),
            ("0927202é", "MMDDYYYY"),
            ("", "MMDDYYYY"),
        ] {
            assert_eq!(day_from_pattern(text, pattern), None, "{text}");
        }
    }

    #[test]
    fn time_after_a_date_is_removed() {
        for (text, day) in [
            ("2025-01-21T00:00:00.000", "2025-01-21"),
            ("01/21/2025 12:00:00 AM", "01/21/2025"),
            (" 01/21/2025", "01/21/2025"),
            ("20250121", "20250121"),
            ("T", ""),
            ("", ""),
        ] {
            assert_eq!(without_time(text), day, "{text}");
        }
    }
}
