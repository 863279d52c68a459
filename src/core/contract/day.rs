//! Parses and formats the values of date columns, which are stored as day numbers and written
//! `YYYY-MM-DD`. Rejects dates that do not exist instead of rounding them.

use std::fmt;

/// A calendar date, stored as days since 1970-01-01 for fast arithmetic on many dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i32);

impl Day {
    /// Creates a day from the number of days since 1970-01-01.
    pub const fn from_number(days: i32) -> Self {
        Self(days)
    }

    /// Returns the number of days since 1970-01-01.
    pub fn number(self) -> i32 {
        self.0
    }

    /// Parses `YYYY-MM-DD`. Returns `None` for any other format or for a date that does not exist.
    ///
    /// Source of the formula: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
    /// `days_from_civil`.
    pub fn from_iso(text: &[u8]) -> Option<Self> {
        let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else {
            return None;
        };
        let digits = [y1, y2, y3, y4, m1, m2, d1, d2];
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let [y1, y2, y3, y4, m1, m2, d1, d2] = digits.map(|digit| u32::from(digit & 0x0F));
        let (year, month, day) = (
            y1 * 1000 + y2 * 100 + y3 * 10 + y4,
            m1 * 10 + m2,
            d1 * 10 + d2,
        );
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return None;
        }
        // Years begin in March, so that the leap day is the last day of the year. Adding 400 years
        // keeps all years non-negative.
        let (years, months) = if month <= 2 {
            (year + 399, month + 9)
        } else {
            (year + 400, month - 3)
        };
        let days =
            years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1;
        Some(Self(i32::try_from(days).ok()? - 146_097 - 719_468))
    }

    /// Returns the year, month and day.
    ///
    /// Source of the formula: the same document as for [`Day::from_iso`], `civil_from_days`.
    pub fn civil(self) -> (i32, u8, u8) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + i32::from(month <= 2);
        (
            year,
            u8::try_from(month).unwrap_or(0),
            u8::try_from(day).unwrap_or(0),
        )
    }

    /// Formats the day as `YYYY-MM-DD` in ASCII; `None` outside the years 0 to 9999.
    pub fn iso(self) -> Option<[u8; 10]> {
        // The range covers 0000-01-01 to 9999-12-31.
        if !(-719_528..=2_932_896).contains(&self.0) {
            return None;
        }
        let (year, month, day) = self.civil();
        let digit = |number: u32| b'0' + u8::try_from(number % 10).unwrap_or(0);
        let (year, month, day) = (year.unsigned_abs(), u32::from(month), u32::from(day));
        let [y, m, d] = [
            [year / 1_000, year / 100, year / 10, year].map(digit),
            [0, 0, month / 10, month].map(digit),
            [0, 0, day / 10, day].map(digit),
        ];
        Some([y[0], y[1], y[2], y[3], b'-', m[2], m[3], b'-', d[2], d[3]])
    }

    /// Returns the day that is `days` later, or earlier if `days` is negative.
    #[must_use]
    pub fn plus(self, days: i32) -> Self {
        Self(self.0 + days)
    }

    /// Returns the number of days from an earlier day to this one.
    pub fn since(self, earlier: Self) -> i32 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(formatter, "{year:04}-{month:02}-{day:02}")
    }
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::Day;

    #[test]
    fn every_day_of_four_centuries_reads_back_and_agrees_with_a_calendar() {
        let mut date = jiff::civil::date(1800, 1, 1);
        let first = Day::from_iso(b"1800-01-01").unwrap().number();
        for number in first..first + 146_097 {
            let day = Day::from_number(number);
            assert_eq!(day.to_string(), date.to_string());
            assert_eq!(day.iso().unwrap(), date.to_string().as_bytes());
            assert_eq!(Day::from_iso(date.to_string().as_bytes()), Some(day));
            date = date.tomorrow().unwrap();
        }
        assert_eq!(Day::from_iso(b"1970-01-01"), Some(Day::from_number(0)));
        let (first, last) = (
            Day::from_iso(b"0000-01-01").unwrap(),
            Day::from_iso(b"9999-12-31").unwrap(),
        );
        assert_eq!(
            (first.iso(), last.iso()),
            (Some(*b"0000-01-01"), Some(*b"9999-12-31"))
        );
        assert_eq!((first.plus(-1).iso(), last.plus(1).iso()), (None, None));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for wrong in [
            "2023-02-29",
            "2023-13-01",
            "2023-00-10",
            "2023-01-00",
            "2023-1-01",
            "20230101",
            "2023-01-01T",
            "2023-0a-01",
            "",
        ] {
            assert_eq!(Day::from_iso(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(
            Day::from_iso(b"2024-02-29").is_some()
                && Day::from_iso(b"2000-02-29").is_some()
                && Day::from_iso(b"1900-02-29").is_none()
        );
    }
}
