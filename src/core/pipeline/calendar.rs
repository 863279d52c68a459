//! Computes from the declared calendar when a publisher's editions are expected and when they are
//! late. An edition is what a publisher issues for one period: a year's survey, a quarter's index,
//! a day's file. This module does not read the clock; the caller passes the time.

use jiff::civil::{Date, Time, date};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Unit};

use super::holidays::is_business_day;
use super::{Cadence, Calendar, Declaration, Every, LabelRange, Source, Variable};
use crate::error::{Error, Result};

/// Number of months before the school year starts on 1 July.
const MONTHS_BEFORE_SCHOOL: i32 = 6;

/// Grace period for publishers that declare only a daily cadence, so that weekends and holidays do
/// not count as failures.
const DAYS_OF_GRACE: i32 = 7;

/// Length of a publishing period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Day,
    BusinessDay,
    Week,
    Month,
    Quarter,
    Year,
    SchoolYear,
}

impl Step {
    /// Returns the first day of the period that includes a day. A day that is not a business day
    /// belongs to the preceding business day.
    fn first_day(self, day: Date) -> Date {
        match self {
            Self::Day => day,
            Self::BusinessDay => {
                let mut day = day;
                while !is_business_day(day) {
                    day = day.saturating_sub(1.day());
                }
                day
            }
            Self::Week => {
                day.saturating_sub(i32::from(day.weekday().to_monday_zero_offset()).days())
            }
            Self::Month => day.first_of_month(),
            Self::Quarter => date(day.year(), (day.month() - 1) / 3 * 3 + 1, 1),
            Self::Year => day.first_of_year(),
            Self::SchoolYear => day
                .saturating_sub(MONTHS_BEFORE_SCHOOL.months())
                .first_of_year()
                .saturating_add(MONTHS_BEFORE_SCHOOL.months()),
        }
    }

    /// Returns the first day of the period that follows the one starting on `first_day`.
    pub(super) fn after(self, first_day: Date) -> Date {
        match self {
            Self::Day => first_day.saturating_add(1.day()),
            Self::BusinessDay => {
                let mut day = first_day.saturating_add(1.day());
                while !is_business_day(day) {
                    day = day.saturating_add(1.day());
                }
                day
            }
            Self::Week => first_day.saturating_add(1.week()),
            Self::Month => first_day.saturating_add(1.month()),
            Self::Quarter => first_day.saturating_add(3.months()),
            Self::Year | Self::SchoolYear => first_day.saturating_add(1.year()),
        }
    }

    fn before(self, first_day: Date) -> Date {
        self.first_day(first_day.saturating_sub(1.day()))
    }

    /// Returns whether a period begins on the day.
    pub(super) fn begins_on(self, day: Date) -> bool {
        self.first_day(day) == day
    }
}

/// A parsed calendar. Periods are identified by their first day.
#[derive(Debug, Clone)]
pub struct Schedule {
    pub(super) step: Step,
    after: Span,
    at: Time,
    zone: TimeZone,
    grace: Option<Span>,
}

impl Schedule {
    /// Parses a declared calendar. Returns `None` if the publisher will issue no further editions.
    ///
    /// # Errors
    /// `Config`, naming the key and the error.
    pub fn from_calendar(calendar: &Calendar) -> Result<Option<Self>> {
        let (at, zone) = calendar
            .at
            .as_deref()
            .map_or(Ok((Time::midnight(), TimeZone::UTC)), time_and_zone)?;
        let after = calendar
            .after
            .as_deref()
            .map_or(Ok(Span::new()), |text| span("after", text))?;
        let grace = calendar
            .grace
            .as_deref()
            .map(|text| span("grace", text))
            .transpose()?;
        let step = match calendar.every {
            Every::Never => return Ok(None),
            Every::Day => Step::Day,
            Every::BusinessDay => Step::BusinessDay,
            Every::Week => Step::Week,
            Every::Month => Step::Month,
            Every::Quarter => Step::Quarter,
            Every::Year => Step::Year,
        };
        Ok(Some(Self {
            step,
            after,
            at,
            zone,
            grace,
        }))
    }

    /// Returns the calendar of a publisher for which only the cadence is known.
    pub fn from_cadence(cadence: Cadence) -> Self {
        let (step, grace) = match cadence {
            Cadence::Daily => (Step::Day, Some(DAYS_OF_GRACE.days())),
            Cadence::Weekly => (Step::Week, None),
            Cadence::Monthly => (Step::Month, None),
            Cadence::Quarterly => (Step::Quarter, None),
            Cadence::Yearly => (Step::Year, None),
        };
        Self {
            step,
            after: Span::new(),
            at: Time::midnight(),
            zone: TimeZone::UTC,
            grace,
        }
    }

    /// Returns the same calendar for labels with different periods, such as school years.
    pub(super) fn with_step(self, step: Step) -> Self {
        Self { step, ..self }
    }

    /// Returns when the edition of a period is expected.
    pub fn expected(&self, first_day: Date) -> Timestamp {
        self.instant(first_day.saturating_add(self.after))
    }

    /// Returns when the edition of a period is late: after the grace period, or by default when the
    /// next edition is expected.
    fn overdue(&self, first_day: Date) -> Timestamp {
        match self.grace {
            Some(grace) => self.instant(first_day.saturating_add(self.after).saturating_add(grace)),
            None => self.expected(self.step.after(first_day)),
        }
    }

    /// Returns the first UTC day on which the edition of a period is late.
    pub fn late_from(&self, first_day: Date) -> Date {
        let overdue = self.overdue(first_day).to_zoned(TimeZone::UTC);
        let day = overdue.date();
        if overdue.time() == Time::midnight() {
            day
        } else {
            day.saturating_add(1.day())
        }
    }

    /// Returns the first day on which the edition of the next period is late.
    pub fn next_late_from(&self, first_day: Date) -> Date {
        self.late_from(self.step.after(first_day))
    }

    /// Returns the first day of the newest period whose edition is expected by now.
    pub fn newest(&self, now: Timestamp) -> Date {
        let today = now.to_zoned(self.zone.clone()).date();
        let mut first_day = self.step.first_day(today.saturating_sub(self.after));
        while self.expected(first_day) > now {
            first_day = self.step.before(first_day);
        }
        while self.expected(self.step.after(first_day)) <= now {
            first_day = self.step.after(first_day);
        }
        first_day
    }

    /// Returns the first day of the newest period whose edition could be a file dated
    /// `source_date`.
    pub fn period_of_file(&self, source_date: Date) -> Date {
        let end = source_date
            .saturating_add(1.day())
            .at(0, 0, 0, 0)
            .to_zoned(TimeZone::UTC);
        self.newest(end.map_or(Timestamp::MAX, |end| {
            end.timestamp()
                .saturating_sub(1.second())
                .unwrap_or(Timestamp::MAX)
        }))
    }

    fn instant(&self, day: Date) -> Timestamp {
        day.to_datetime(self.at)
            .to_zoned(self.zone.clone())
            .map_or(Timestamp::MAX, |zoned| zoned.timestamp())
    }
}

/// Parses `15 days`, `1 week`, `23 months`, `2 years`.
fn span(key: &str, text: &str) -> Result<Span> {
    let wrong = || {
        Error::config(format!(
            "`{key}`: `{text}` is not a time such as `15 days`, `2 weeks`, `23 months` or `1 year`"
        ))
    };
    let (count, unit) = text.split_once(' ').ok_or_else(wrong)?;
    let count: u16 = count.parse().map_err(|_| wrong())?;
    let unit = match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "year" => Unit::Year,
        _ => return Err(wrong()),
    };
    let count = i32::from(count);
    Ok(match unit {
        Unit::Week => count.weeks(),
        Unit::Month => count.months(),
        Unit::Year => count.min(9_000).years(),
        _ => count.days(),
    })
}

/// Parses `03:00 America/New_York`.
fn time_and_zone(text: &str) -> Result<(Time, TimeZone)> {
    let wrong = |what: &str| {
        Error::config(format!(
            "`at`: `{text}` {what}; write it as `03:00 America/New_York`"
        ))
    };
    let (clock, zone) = text
        .split_once(' ')
        .ok_or_else(|| wrong("is not a time of the day with its zone"))?;
    let numbers = clock
        .split_once(':')
        .filter(|(hour, minute)| hour.len() == 2 && minute.len() == 2);
    let time = numbers
        .and_then(|(hour, minute)| Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok());
    let time = time.ok_or_else(|| wrong("has no time of the day"))?;
    let zone =
        TimeZone::get(zone).map_err(|_| wrong(&format!("names an unknown zone, `{zone}`")))?;
    Ok((time, zone))
}

impl Declaration {
    /// Returns the calendar of a source, or of the pipeline's partitions. Returns `None` if the
    /// publisher will issue no further editions.
    ///
    /// # Errors
    /// `Config`, naming the key and the error.
    pub fn schedule(&self, source: Option<&Source>) -> Result<Option<Schedule>> {
        match source
            .and_then(|source| source.calendar.as_ref())
            .or(self.calendar.as_ref())
        {
            Some(calendar) => Schedule::from_calendar(calendar),
            None => Ok(Some(Schedule::from_cadence(self.cadence))),
        }
    }

    /// Returns the newest partition whose edition is expected by now, but no later than the last
    /// partition of the range. Returns `None` for an open range without a yearly calendar.
    ///
    /// # Errors
    /// `Config`, when the calendar is invalid.
    pub fn newest_partition(&self, now: Timestamp) -> Result<Option<i32>> {
        let Some(range) = &self.partition else {
            return Ok(None);
        };
        let schedule = self
            .schedule(None)?
            .filter(|schedule| schedule.step == Step::Year);
        let newest = schedule.map(|schedule| i32::from(schedule.newest(now).year()));
        Ok(match (range.to, newest) {
            (Some(to), Some(newest)) if self.calendar.is_some() => Some(to.min(newest)),
            (Some(to), _) => Some(to),
            (None, newest) => newest,
        })
    }
}

impl Source {
    /// Returns the source's variable whose values are period labels, with the label range.
    pub fn range(&self) -> Option<(&str, &LabelRange)> {
        self.variables.iter().find_map(|(name, values)| {
            if let Variable::Range(range) = values {
                Some((name.as_str(), range))
            } else {
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(text: &str) -> Schedule {
        Schedule::from_calendar(&toml::from_str(text).unwrap())
            .unwrap()
            .unwrap()
    }

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    /// Returns the first day of the newest period at the given time.
    fn newest(schedule: &Schedule, now: &str) -> String {
        schedule.newest(now.parse().unwrap()).to_string()
    }

    #[test]
    fn edition_is_expected_at_a_set_time_after_its_period_begins() {
        let quarters = schedule("every = \"quarter\"\nafter = \"15 days\"");
        assert_eq!(newest(&quarters, "2027-01-15T23:59:59Z"), "2026-10-01");
        assert_eq!(newest(&quarters, "2027-01-16T00:00:00Z"), "2027-01-01");
        let survey = schedule("every = \"year\"\nafter = \"23 months\"");
        assert_eq!(newest(&survey, "2026-11-30T23:59:59Z"), "2024-01-01");
        assert_eq!(newest(&survey, "2026-12-01T00:00:00Z"), "2025-01-01");
        let weeks = schedule("every = \"week\"");
        assert_eq!(
            newest(&weeks, "2026-11-22T12:00:00Z"),
            "2026-11-16",
            "a week begins on Monday"
        );
        let months = schedule("every = \"month\"\nafter = \"2 weeks\"");
        assert_eq!(newest(&months, "2028-03-14T00:00:00Z"), "2028-02-01");
        assert_eq!(newest(&months, "2028-03-15T00:00:00Z"), "2028-03-01");
    }

    #[test]
    fn time_of_day_is_in_the_time_zone_of_the_publisher() {
        let days = schedule("every = \"business_day\"\nat = \"03:00 America/New_York\"");
        // Eastern Standard Time is UTC−5, Daylight Time UTC−4.
        assert_eq!(
            newest(&days, "2026-11-23T07:59:59Z"),
            "2026-11-20",
            "Monday's file is not there; the weekend has none"
        );
        assert_eq!(newest(&days, "2026-11-23T08:00:00Z"), "2026-11-23");
        assert_eq!(newest(&days, "2026-07-06T07:00:00Z"), "2026-07-06");
        assert_eq!(
            newest(&days, "2026-07-05T12:00:00Z"),
            "2026-07-02",
            "the Fourth of July is observed on Friday, 3 July 2026"
        );
        assert_eq!(
            newest(&days, "2026-11-26T20:00:00Z"),
            "2026-11-25",
            "Thanksgiving"
        );
    }

    #[test]
    fn edition_is_late_when_its_grace_period_ends() {
        let quarters = schedule("every = \"quarter\"\nafter = \"15 days\"\ngrace = \"15 days\"");
        assert_eq!(quarters.late_from(day("2027-01-01")), day("2027-01-31"));
        assert_eq!(
            quarters.next_late_from(day("2026-10-01")),
            day("2027-01-31")
        );
        let without = schedule("every = \"quarter\"\nafter = \"15 days\"");
        assert_eq!(
            without.late_from(day("2027-01-01")),
            day("2027-04-16"),
            "by default, when the next can be there"
        );
        // Friday's file is late when Monday's file is expected, at 08:00 UTC. It is never reported
        // as late before that.
        let days = schedule("every = \"business_day\"\nat = \"03:00 America/New_York\"");
        assert_eq!(days.late_from(day("2026-11-20")), day("2026-11-24"));
        let survey = schedule("every = \"year\"\nafter = \"23 months\"\ngrace = \"2 months\"");
        assert_eq!(survey.late_from(day("2025-01-01")), day("2027-02-01"));
    }

    #[test]
    fn file_belongs_to_the_newest_period_whose_edition_it_can_be() {
        let quarters = schedule("every = \"quarter\"\nafter = \"15 days\"\ngrace = \"15 days\"");
        assert_eq!(
            quarters.period_of_file(day("2027-01-15")),
            day("2026-10-01")
        );
        assert_eq!(
            quarters.period_of_file(day("2027-01-16")),
            day("2027-01-01")
        );
        let daily = Schedule::from_cadence(Cadence::Daily);
        assert_eq!(
            daily.next_late_from(daily.period_of_file(day("2026-11-25"))),
            day("2026-12-03"),
            "a long weekend is not late"
        );
    }

    #[test]
    fn what_is_no_calendar_is_named() {
        for (text, expected) in [
            (
                "every = \"day\"\nafter = \"15\"",
                "`after`: `15` is not a time such as `15 days`, `2 weeks`, `23 months` or `1 year`",
            ),
            (
                "every = \"day\"\nafter = \"-1 days\"",
                "`after`: `-1 days` is not a time such as",
            ),
            (
                "every = \"day\"\ngrace = \"2 hours\"",
                "`grace`: `2 hours` is not a time such as",
            ),
            (
                "every = \"day\"\nat = \"03:00\"",
                "`at`: `03:00` is not a time of the day with its zone; write it as `03:00 America/New_York`",
            ),
            (
                "every = \"day\"\nat = \"24:00 UTC\"",
                "`at`: `24:00 UTC` has no time of the day",
            ),
            (
                "every = \"day\"\nat = \"03:00 America/Newyork\"",
                "`at`: `03:00 America/Newyork` names an unknown zone, `America/Newyork`",
            ),
        ] {
            let error = Schedule::from_calendar(&toml::from_str(text).unwrap())
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert!(
            Schedule::from_calendar(&toml::from_str("every = \"never\"").unwrap())
                .unwrap()
                .is_none()
        );
    }
}
