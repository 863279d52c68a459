//! Applies the filters of a permit search row by row, except places and words: types, tags, dates,
//! values and contractors.

use std::collections::{BTreeSet, HashSet};

use crate::days;
use crate::http::filter::DayRange;
use crate::http::meta::Notice;
use crate::http::problem::{Code, Problem, Result};
use crate::permit::query::Parameters;
use crate::permit::table::{DATES, NO_VALUE, Permits};
use crate::release::key_columns::NO_DAY;
use crate::release::key_columns::known_day;
use crate::search::query::{MatchMode, Query as NameQuery};
use pubdata_core::canonical::license_number::normalized;
use pubdata_core::canonical::name::Forms;

/// Filters of a search, except places and words.
pub struct Filter<'a> {
    permits: &'a Permits,
    types: &'a [&'a str],
    statuses: &'a [&'a str],
    work_class: Option<&'a str>,
    property_class: Option<&'a str>,
    with_tags: u32,
    without_tags: u32,
    /// True if a required tag does not occur in the release.
    has_absent_tag: bool,
    /// Index of the date kind in [`DATES`].
    date: usize,
    days: DayRange,
    values: (Option<i64>, Option<i64>),
    /// Rows that match the contractor's name.
    of_contractor: Option<HashSet<u32>>,
    of_license: Option<HashSet<u32>>,
    is_cut: bool,
}

impl<'a> Filter<'a> {
    /// Reads the filters from the query.
    ///
    /// # Errors
    /// `invalid_parameter` if a range is reversed.
    pub fn from_query(query: &'a Parameters<'a>, permits: &'a Permits) -> Result<Self> {
        let date_field = query.date_field.unwrap_or("issued");
        let cents = |dollars: f64| (dollars * 100.0).round() as i64;
        let values = (query.min_value.map(cents), query.max_value.map(cents));
        if let (Some(least), Some(most)) = values
            && least > most
        {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "min_value",
                "`min_value` is greater than `max_value`",
            ));
        }
        let mut filter = Self {
            permits,
            types: &query.r#type,
            statuses: &query.status,
            work_class: query.work_class,
            property_class: query.property_class,
            with_tags: 0,
            without_tags: 0,
            has_absent_tag: false,
            date: DATES
                .iter()
                .position(|name| name.strip_suffix("_date") == Some(date_field))
                .unwrap_or(0),
            days: DayRange::from_bounds(
                ("date_from", query.date_from),
                ("date_to", query.date_to),
            )?,
            values,
            of_contractor: None,
            of_license: None,
            is_cut: false,
        };
        filter.read_tags(&query.tags);
        if let Some(name) = query.contractor {
            let (hits, is_cut) =
                NameQuery::new(name, Forms::OfStates).map_or_else(Default::default, |query| {
                    permits
                        .contractors
                        .search(&query, MatchMode::Best, &|_| true)
                });
            filter.of_contractor = Some(hits.into_iter().map(|hit| hit.row).collect());
            filter.is_cut = is_cut;
        }
        if let Some(number) = query.contractor_license {
            let number = normalized(number, &[]);
            let states: HashSet<&String> = permits.lists.values().map(|list| &list.state).collect();
            filter.of_license = Some(
                states
                    .into_iter()
                    .flat_map(|state| permits.with_license(state, &number))
                    .copied()
                    .collect(),
            );
        }
        Ok(filter)
    }

    fn read_tags(&mut self, tags: &[&str]) {
        for text in tags {
            let tag = text.strip_prefix('-').unwrap_or(text);
            let bit = self
                .permits
                .tag_words
                .iter()
                .position(|known| known == tag)
                .map(|bit| 1 << bit);
            match (bit, text.starts_with('-')) {
                (Some(bit), true) => self.without_tags |= bit,
                (Some(bit), false) => self.with_tags |= bit,
                (None, is_without) => self.has_absent_tag |= !is_without,
            }
        }
    }

    /// Builds the notice about the rows' sources that publish no date of the requested kind.
    pub fn add_dates_notice(&self, rows: &[u32]) -> Option<Notice> {
        if self.days.is_open() {
            return None;
        }
        let lists: BTreeSet<&str> = rows
            .iter()
            .map(|row| self.permits.jurisdiction(*row))
            .collect();
        let lacking: Vec<&str> = lists
            .into_iter()
            .filter(|id| {
                self.permits
                    .lists
                    .get(*id)
                    .is_some_and(|list| list.with_date[self.date] == 0)
            })
            .collect();
        let field = DATES[self.date].trim_end_matches("_date");
        let message = || {
            format!(
                "No permit of {} has a date of the kind `{field}`, so a search by it finds none. Set `date_field` to another kind: issued, applied, completed, status.",
                lacking.join(", ")
            )
        };
        (!lacking.is_empty()).then(|| Notice {
            code: "DATE_NOT_PUBLISHED",
            message: message().into(),
        })
    }

    /// Adds notices about the rows' sources that have no permits of a requested type, or no permits
    /// within the requested days.
    pub fn add_gaps_notices(&self, rows: &[u32], notices: &mut Vec<Notice>) {
        let ids: BTreeSet<&str> = rows
            .iter()
            .map(|row| self.permits.jurisdiction(*row))
            .collect();
        let lists = || {
            ids.iter()
                .filter_map(|id| Some((*id, self.permits.lists.get(*id)?)))
        };
        for kind in self.types {
            let lacking: Vec<&str> = lists()
                .filter(|(_, list)| !list.types.contains(*kind))
                .map(|(id, _)| id)
                .collect();
            if !lacking.is_empty() {
                let message = format!(
                    "No published permit of {} is of the type `{kind}`. Such permits may exist.",
                    lacking.join(", ")
                );
                notices.push(Notice {
                    code: "TYPE_NOT_PUBLISHED",
                    message: message.into(),
                });
            }
        }
        let outside = lists().filter_map(|(id, list)| {
            Some((
                id,
                list.days[self.date].filter(|(first, last)| !self.days.overlaps(*first, *last))?,
            ))
        });
        let outside: Vec<String> = outside
            .map(|(id, (first, last))| {
                format!(
                    "{id} has permits from {} to {}",
                    days::date(first),
                    days::date(last)
                )
            })
            .collect();
        if !outside.is_empty() {
            let message = format!(
                "The requested days are outside the published range: {}.",
                outside.join("; ")
            );
            notices.push(Notice {
                code: "DATES_NOT_PUBLISHED",
                message: message.into(),
            });
        }
    }

    /// Returns true if the filter may have dropped matching rows.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub fn matches(&self, row: u32) -> bool {
        let (permits, index) = (self.permits, row as usize);
        let is_listed = |list: &[&str], value: &str| list.is_empty() || list.contains(&value);
        let is_one = |required: Option<&str>, value: Option<&str>| {
            required.is_none_or(|required| value == Some(required))
        };
        let value = permits.values[index];
        let has_rows =
            |rows: &Option<HashSet<u32>>| rows.as_ref().is_none_or(|rows| rows.contains(&row));
        !self.has_absent_tag
            && is_listed(self.types, permits.types.at(index))
            && is_listed(self.statuses, permits.statuses.at(index))
            && is_one(self.work_class, permits.work_classes.get(index))
            && is_one(self.property_class, permits.property_classes.get(index))
            && permits.tags[index] & self.with_tags == self.with_tags
            && permits.tags[index] & self.without_tags == 0
            && self.days.has(known_day(permits.dates[self.date][index]))
            && self
                .values
                .0
                .is_none_or(|least| value != NO_VALUE && least <= value)
            && self
                .values
                .1
                .is_none_or(|most| value != NO_VALUE && value <= most)
            && has_rows(&self.of_contractor)
            && has_rows(&self.of_license)
    }

    /// Sorts rows in descending order by the date kind of the search, or by value. Rows without a
    /// date or value come last, sorted by row number.
    pub fn sort(&self, rows: &mut [u32], by_value: bool) {
        let permits = self.permits;
        match by_value {
            true => {
                rows.sort_by_key(|row| (std::cmp::Reverse(permits.values[*row as usize]), *row));
            }
            false => rows.sort_by_key(|row| {
                (
                    std::cmp::Reverse(permits.dates[self.date][*row as usize]),
                    *row,
                )
            }),
        }
    }
}

/// Rows without a day or value sort last.
const _: () = assert!(NO_DAY == i32::MIN && NO_VALUE == i64::MIN);
