//! Parses and generates the period labels in publishers' file names, in a fixed list of formats:
//!
//! `2009` (year, 1900 to 2099), `2425` (school year from July, the second two digits one more than
//! the first), `2009/QTR2`, `2026-09`, `September_2026`, `20230929`, `2023-09-29`.

use jiff::Timestamp;
use jiff::civil::{Date, date};

use super::calendar::{Schedule, Step};
use super::{Cadence, LabelRange};
use crate::error::{Error, Result};

/// Value of `to` that means the newest expected edition.
const NOW: &str = "now";

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Maximum number of labels in a range.
const MAX_LABELS: usize = 20_000;

/// Format of a period label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Year,
    SchoolYear,
    Quarter,
    Month,
    NamedMonth,
    Day,
    HyphenatedDay,
}

impl Form {
    /// Returns the format of a label. Four digits are a year if they are in the valid range of
    /// years.
    pub fn from_label(label: &str) -> Option<Self> {
        let forms = [
            Self::Year,
            Self::SchoolYear,
            Self::Quarter,
            Self::Month,
            Self::NamedMonth,
            Self::Day,
            Self::HyphenatedDay,
        ];
        forms
            .into_iter()
            .find(|form| form.first_day(label).is_some())
    }

    /// Returns the first day of the period that a label in this format names.
    pub fn first_day(self, label: &str) -> Option<Date> {
        match self {
            Self::Year => Date::new(
                digits(label, 4).filter(|year| (1900..2100).contains(year))?,
                1,
                1,
            )
            .ok(),
            Self::SchoolYear => {
                let (first, second) = (digits(label.get(..2)?, 2)?, digits(label.get(2..)?, 2)?);
                ((first + 1) % 100 == second).then(|| date(2000 + first, 7, 1))
            }
            Self::Quarter => {
                let (year, quarter) = label.split_once("/QTR")?;
                let quarter = digits(quarter, 1).filter(|quarter| (1..=4).contains(quarter))?;
                Date::new(digits(year, 4)?, i8::try_from(quarter).ok()? * 3 - 2, 1).ok()
            }
            Self::Month => {
                let (year, month) = label.split_once('-')?;
                Date::new(digits(year, 4)?, i8::try_from(digits(month, 2)?).ok()?, 1).ok()
            }
            Self::NamedMonth => {
                let (month, year) = label.split_once('_')?;
                let month = MONTHS.iter().position(|name| *name == month)?;
                Date::new(digits(year, 4)?, i8::try_from(month).ok()? + 1, 1).ok()
            }
            Self::Day => day([label.get(..4)?, label.get(4..6)?, label.get(6..)?]),
            Self::HyphenatedDay => day(label.splitn(3, '-').collect::<Vec<_>>().try_into().ok()?),
        }
    }

    /// Returns the label of the period that begins on a day.
    fn label(self, first_day: Date) -> String {
        let (year, month) = (first_day.year(), first_day.month());
        match self {
            Self::Year => format!("{year:04}"),
            Self::SchoolYear => format!("{:02}{:02}", year % 100, (year + 1) % 100),
            Self::Quarter => format!("{year:04}/QTR{}", (month + 2) / 3),
            Self::Month => format!("{year:04}-{month:02}"),
            Self::NamedMonth => format!(
                "{}_{year:04}",
                MONTHS[usize::from(month.unsigned_abs()) - 1]
            ),
            Self::Day => format!("{year:04}{month:02}{:02}", first_day.day()),
            Self::HyphenatedDay => first_day.to_string(),
        }
    }

    /// Returns the period length of labels in this format. Returns `None` if the calendar has
    /// different periods.
    fn step(self, schedule: &Schedule) -> Option<Step> {
        match (self, schedule.step) {
            (Self::Year, Step::Year)
            | (Self::Quarter, Step::Quarter)
            | (Self::Month | Self::NamedMonth, Step::Month)
            | (Self::Day | Self::HyphenatedDay, Step::Day | Step::BusinessDay) => {
                Some(schedule.step)
            }
            (Self::SchoolYear, Step::Year) => Some(Step::SchoolYear),
            _ => None,
        }
    }

    fn cadence(self) -> Cadence {
        match self {
            Self::Year | Self::SchoolYear => Cadence::Yearly,
            Self::Quarter => Cadence::Quarterly,
            Self::Month | Self::NamedMonth => Cadence::Monthly,
            Self::Day | Self::HyphenatedDay => Cadence::Daily,
        }
    }

    /// Returns the values of the calendar key `every` that suit this format.
    fn every(self) -> &'static str {
        match self {
            Self::Year | Self::SchoolYear => "`every = \"year\"`",
            Self::Quarter => "`every = \"quarter\"`",
            Self::Month | Self::NamedMonth => "`every = \"month\"`",
            Self::Day | Self::HyphenatedDay => "`every = \"day\"` or `\"business_day\"`",
        }
    }
}

fn digits(text: &str, count: usize) -> Option<i16> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

fn day([year, month, day]: [&str; 3]) -> Option<Date> {
    Date::new(
        digits(year, 4)?,
        i8::try_from(digits(month, 2)?).ok()?,
        i8::try_from(digits(day, 2)?).ok()?,
    )
    .ok()
}

/// A range of labels with the source's calendar.
#[derive(Debug, Clone)]
pub struct Editions {
    form: Form,
    schedule: Schedule,
    from: Date,
    /// Last period; `None` for `now`.
    to: Option<Date>,
    last: Option<usize>,
}

impl Editions {
    /// Parses a range. `schedule` is `None` if the publisher will issue no further editions.
    ///
    /// # Errors
    /// `Config`, naming the key and the error.
    pub fn from_range(range: &LabelRange, schedule: Option<Schedule>) -> Result<Self> {
        let form = Form::from_label(&range.from).ok_or_else(|| {
            Error::config(format!(
                "`from`: `{}` is not a label of a known form: 2009, 2425, 2009/QTR2, 2026-09, September_2026, 20230929 or 2023-09-29",
                range.from
            ))
        })?;
        // A range with a fixed end needs no calendar.
        let natural = || Some(Schedule::from_cadence(form.cadence())).filter(|_| range.to != NOW);
        let fitting = schedule
            .filter(|schedule| form.step(schedule).is_some())
            .or_else(natural);
        let schedule = fitting.ok_or_else(|| {
            Error::config(format!("labels such as `{}` need a calendar with the same step: give the source a `calendar` with {}", range.from, form.every()))
        })?;
        let step = form.step(&schedule).unwrap_or(schedule.step);
        let first_day = |key: &str, label: &str| {
            let day = form.first_day(label).ok_or_else(|| {
                Error::config(format!(
                    "`{key}`: `{label}` does not have the form of `from`, `{}`",
                    range.from
                ))
            })?;
            if step.begins_on(day) {
                Ok(day)
            } else {
                Err(Error::config(format!(
                    "`{key}`: `{label}` is not a business day"
                )))
            }
        };
        let from = first_day("from", &range.from)?;
        let to = if range.to == NOW {
            None
        } else {
            Some(first_day("to", &range.to)?)
        };
        if to.is_some_and(|to| to < from) {
            return Err(Error::config(format!(
                "`from`: `{}` is after `to`, `{}`",
                range.from, range.to
            )));
        }
        if range.last == Some(0) {
            return Err(Error::config(
                "`last`: 0 selects no labels; leave it out for all",
            ));
        }
        Ok(Self {
            form,
            schedule: schedule.with_step(step),
            from,
            to,
            last: range.last.map(|last| last as usize),
        })
    }

    /// Returns the labels whose editions are expected by now, oldest first.
    pub fn labels(&self, now: Timestamp) -> Vec<String> {
        let newest = self.schedule.newest(now);
        let end = self.to.map_or(newest, |to| to.min(newest));
        let days =
            std::iter::successors(Some(self.from), |day| Some(self.schedule.step.after(*day)))
                .take_while(|day| *day <= end);
        days.take(MAX_LABELS)
            .map(|day| self.form.label(day))
            .collect()
    }

    /// Returns how many of the newest labels are selected; `None` if all labels are selected.
    pub fn last(&self) -> Option<usize> {
        self.last
    }

    /// Returns when the first edition is expected.
    pub fn first_expected(&self) -> Timestamp {
        self.schedule.expected(self.from)
    }

    /// Returns the first day of a label's period.
    pub fn first_day(&self, label: &str) -> Option<Date> {
        self.form.first_day(label)
    }

    /// Returns the first day on which the edition of the next label is late. Returns `None` after
    /// the end of the range.
    pub fn next_late_from(&self, label: &str) -> Option<Date> {
        let day = self.form.first_day(label)?;
        let next = self.schedule.step.after(day);
        self.to
            .is_none_or(|to| next <= to)
            .then(|| self.schedule.late_from(next))
    }
}

/// Returns whether explicitly listed values are period labels. Such a list does not grow
/// automatically.
pub fn are_labels(values: &[String]) -> bool {
    values.iter().any(|value| Form::from_label(value).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editions(from: &str, to: &str, calendar: &str) -> Result<Editions> {
        let range = LabelRange {
            from: from.to_owned(),
            to: to.to_owned(),
            last: None,
        };
        Editions::from_range(
            &range,
            Schedule::from_calendar(&toml::from_str(calendar).unwrap()).unwrap(),
        )
    }

    #[test]
    fn labels_follow_each_other_in_the_form_of_the_first() {
        for (from, calendar, now, expected) in [
            (
                "2024",
                "every = \"year\"\nafter = \"8 months\"",
                "2026-09-01T00:00:00Z",
                &["2024", "2025", "2026"][..],
            ),
            (
                "2024",
                "every = \"year\"\nafter = \"8 months\"",
                "2026-08-31T23:59:59Z",
                &["2024", "2025"],
            ),
            (
                "2425",
                "every = \"year\"\nafter = \"10 months\"",
                "2027-05-01T00:00:00Z",
                &["2425", "2526", "2627"],
            ),
            (
                "2425",
                "every = \"year\"\nafter = \"10 months\"",
                "2027-04-30T23:59:59Z",
                &["2425", "2526"],
            ),
            (
                "2025/QTR3",
                "every = \"quarter\"",
                "2026-04-01T00:00:00Z",
                &["2025/QTR3", "2025/QTR4", "2026/QTR1", "2026/QTR2"],
            ),
            (
                "2026-11",
                "every = \"month\"",
                "2027-01-31T00:00:00Z",
                &["2026-11", "2026-12", "2027-01"],
            ),
            (
                "November_2026",
                "every = \"month\"",
                "2027-01-31T00:00:00Z",
                &["November_2026", "December_2026", "January_2027"],
            ),
            (
                "20261124",
                "every = \"business_day\"",
                "2026-11-30T00:00:00Z",
                &["20261124", "20261125", "20261127", "20261130"],
            ),
            (
                "2026-11-27",
                "every = \"day\"",
                "2026-11-29T00:00:00Z",
                &["2026-11-27", "2026-11-28", "2026-11-29"],
            ),
            ("2027", "every = \"year\"", "2026-11-22T00:00:00Z", &[]),
        ] {
            let labels = editions(from, NOW, calendar)
                .unwrap()
                .labels(now.parse().unwrap());
            assert_eq!(labels, expected, "{from} at {now}");
        }
    }

    #[test]
    fn range_with_an_end_stops_there_and_is_never_late_afterwards() {
        let years = editions("2019", "2021", "every = \"never\"").unwrap();
        assert_eq!(
            years.labels("2026-01-01T00:00:00Z".parse().unwrap()),
            ["2019", "2020", "2021"]
        );
        assert_eq!(
            (
                years.next_late_from("2020").is_some(),
                years.next_late_from("2021")
            ),
            (true, None)
        );
    }

    #[test]
    fn every_label_is_read_in_one_form() {
        for (label, form, first_day) in [
            ("2009", Form::Year, "2009-01-01"),
            ("2021", Form::Year, "2021-01-01"),
            ("2425", Form::SchoolYear, "2024-07-01"),
            ("9900", Form::SchoolYear, "2099-07-01"),
            ("2009/QTR2", Form::Quarter, "2009-04-01"),
            ("2026-09", Form::Month, "2026-09-01"),
            ("September_2026", Form::NamedMonth, "2026-09-01"),
            ("20230929", Form::Day, "2023-09-29"),
            ("2023-09-29", Form::HyphenatedDay, "2023-09-29"),
        ] {
            assert_eq!(Form::from_label(label), Some(form), "{label}");
            let day = form.first_day(label).unwrap();
            assert_eq!(
                (day.to_string(), form.label(day)),
                (first_day.to_owned(), label.to_owned())
            );
        }
        for label in [
            "",
            "209",
            "2427",
            "2009/QTR5",
            "2009/Q2",
            "2026-13",
            "september_2026",
            "20230931",
            "2023-9-29",
            "2526_w_0a",
            "2021q4",
            "b01003",
            "US",
        ] {
            assert_eq!(Form::from_label(label), None, "{label}");
        }
        // The first label of a range is parsed as a year, but after an earlier school year it is
        // parsed as a school year.
        assert_eq!(Form::SchoolYear.first_day("2021"), Some(date(2020, 7, 1)));
    }

    #[test]
    fn what_is_no_range_is_named() {
        let year = "every = \"year\"";
        for (from, to, calendar, expected) in [
            (
                "fall",
                NOW,
                year,
                "`from`: `fall` is not a label of a known form",
            ),
            (
                "2009/QTR2",
                NOW,
                year,
                "labels such as `2009/QTR2` need a calendar with the same step: give the source a `calendar` with `every = \"quarter\"`",
            ),
            (
                "2009",
                NOW,
                "every = \"never\"",
                "labels such as `2009` need a calendar with the same step",
            ),
            ("2009", "2008", year, "`from`: `2009` is after `to`, `2008`"),
            (
                "2009",
                "2010/QTR1",
                year,
                "`to`: `2010/QTR1` does not have the form of `from`, `2009`",
            ),
            (
                "20261126",
                NOW,
                "every = \"business_day\"",
                "`from`: `20261126` is not a business day",
            ),
        ] {
            let error = editions(from, to, calendar).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{from}: {error}");
        }
    }
}
