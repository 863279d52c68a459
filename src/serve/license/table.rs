//! Indexes licenses in memory for searches. All values that an answer shows are read from the
//! parts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::days;
use crate::index::file::{Column, Index, Small, stored};
use crate::index::hash_index::{HashIndex, HashIndexBuilder};
use crate::license::datasets::Action;
use crate::license::datasets::License;
use crate::release::dictionary::DictionaryColumn;
use crate::release::dictionary_codes::DictionaryCodes;
use crate::release::freshness::source_date;
use crate::release::key_columns::{Days, NO_DAY, indexed, key_columns, known_day, read_parts};
use crate::release::part_reader::PartReader;
use crate::release::quarantined;
use crate::release::rows::{ChildParts, Dataset, Numbered};
use crate::release::table::{Table, TextLists, Texts};
use crate::search::names::Name;
use crate::search::query::person_words;
use crate::search::rank::precedence;
use crate::search::row_hit::NameKind;
use crate::search::row_names::{RowNames, RowNamesBuilder};
use pubdata_core::canonical::license_number;
use pubdata_core::canonical::name::comparable;
use pubdata_core::canonical::name::{Forms, SearchedName, searched};
use pubdata_core::error::Result;
use pubdata_store::{Manifest, Part};

key_columns! {
    /// Columns from which the index is built.
    struct Keys {
        license_id: Texts,
        source_id: Texts,
        number: Texts,
        number_normalized: Texts,
        profession: Texts,
        evidence: Texts,
        holder_name: Texts,
        holder_name_normalized: Texts,
        holder_type: Texts,
        holder_first: Texts,
        holder_middle: Texts,
        holder_last: Texts,
        holder_suffix: Texts,
        business_name: Texts,
        dba: Texts,
        principals: TextLists,
        status: Texts,
        issue_date: Days,
        effective_date: Days,
        expiration_date: Days,
        last_renewed_date: Days,
        city: Texts,
        zip: Texts,
    }
}

/// Evidence of a license that only its holder states.
pub const SELF_REPORTED: &str = "self_reported";

/// Summary of one list of licenses.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LicenseList {
    /// Source of the list.
    pub source_id: String,
    pub professions: BTreeSet<String>,
    pub licenses: u64,
    /// True if holders state the licenses, not a board.
    pub is_self_reported: bool,
    /// Number of quarantined records of the list.
    pub quarantined: u64,
    /// Days since 1970-01-01 of the last issue or renewal; later days than the list's date are
    /// ignored.
    pub newest: Option<i32>,
    /// First issue date; for a license without an issue date, its effective date counts.
    pub oldest: Option<i32>,
    pub has_issue_dates: bool,
    /// Interval in days at which the publisher renews the list.
    pub cadence_days: i64,
}

/// Licenses of a release.
#[derive(Debug)]
pub struct Licenses {
    pub rows: Numbered<License>,
    pub actions: ChildParts<Action>,
    pub index: Index<LicenseIndex>,
    /// Lists by state and short name.
    pub lists: BTreeMap<(String, String), LicenseList>,
    /// Upper-case ids of quarantined licenses, for records that have an id.
    quarantined: Vec<String>,
}

/// Search index of licenses.
#[derive(Debug, Default)]
pub struct LicenseIndex {
    pub names: RowNames,
    by_id: HashIndex,
    /// Rows by state and number, both normalised and as written.
    by_number: HashIndex,
    pub professions: DictionaryColumn,
    pub statuses: DictionaryColumn,
    pub holder_types: DictionaryColumn,
    /// Rank by active status as of the list's date, and by the day of the last renewal or first
    /// issue.
    pub precedence: Column<u32>,
    pub cities: DictionaryCodes,
    pub zips: DictionaryCodes,
    /// Lists by state and short name, without the facts from the manifest.
    lists: Small<Vec<((String, String), LicenseList)>>,
}

stored!(LicenseIndex {
    names,
    by_id,
    by_number,
    professions,
    statuses,
    holder_types,
    precedence,
    cities,
    zips,
    lists
});

/// An index under construction.
#[derive(Default)]
struct Builder {
    names: RowNamesBuilder,
    by_id: HashIndexBuilder,
    by_number: HashIndexBuilder,
    lists: BTreeMap<(String, String), LicenseList>,
    /// Columns of the index that are appended directly.
    index: LicenseIndex,
}

/// Date of a list, and its cadence.
#[derive(Debug, Clone, Copy)]
struct ListDay {
    /// Days since 1970-01-01; `None` if no file of the list has a date.
    day: Option<i32>,
    /// True for a daily list, which does not show an expired license as active; another list may be
    /// out of date.
    is_daily: bool,
}

impl ListDay {
    fn new(manifest: &Manifest, part: &Part) -> Self {
        let is_daily = manifest
            .tasks
            .get(&part.task_id)
            .is_some_and(|task| task.cadence_days <= 1);
        Self {
            day: source_date(manifest, part).map(days::since_epoch),
            is_daily,
        }
    }

    /// Returns the status of a license as stated, or derived from its expiration date if the list
    /// states none.
    fn effective_status(self, stated: Option<&str>, expires: i32) -> &str {
        let is_past = self
            .day
            .filter(|_| expires != NO_DAY)
            .map(|day| expires < day);
        match (stated, is_past) {
            (None, None) => "unknown",
            (None, Some(false)) => "active",
            (None, Some(true)) => "expired",
            (Some("active"), Some(true)) if self.is_daily => "expired",
            (Some(stated), _) => stated,
        }
    }
}

impl Builder {
    fn add(
        &mut self,
        (state, source): &(String, String),
        list_day: ListDay,
        first: u32,
        table: &Table,
    ) -> Result<()> {
        let keys = Keys::open(table)?;
        let list = self
            .lists
            .entry((state.clone(), source.clone()))
            .or_default();
        for index in 0..table.rows() {
            let row = first + index as u32;
            let parts = [
                &keys.holder_first,
                &keys.holder_middle,
                &keys.holder_last,
                &keys.holder_suffix,
            ]
            .map(|column| column.get(index));
            let holder = keys.holder_name.at(index);
            let is_own_name =
                keys.holder_type.get(index) == Some("person") && is_person_name(holder, parts);
            if is_own_name {
                let [first, middle, last, suffix] = parts;
                let given = [first, middle, suffix]
                    .into_iter()
                    .flatten()
                    .flat_map(person_words);
                let (last, given) = (
                    person_words(last.unwrap_or_default()).join(" "),
                    given.collect::<Vec<_>>().join(" "),
                );
                self.names.push(
                    Name::Person {
                        last: &last,
                        given: &given,
                    },
                    holder,
                )?;
            } else {
                let SearchedName { core, form } =
                    searched(keys.holder_name_normalized.at(index), Forms::OfStates);
                self.names.push(
                    Name::Organization {
                        core: &core,
                        form: &form,
                    },
                    holder,
                )?;
            }
            for name in [&keys.business_name, &keys.dba]
                .into_iter()
                .filter_map(|column| column.get(index))
                .filter(|name| *name != holder)
            {
                self.names.add(row, NameKind::Assumed, name);
            }
            if let Some(person) = person_name(parts).filter(|_| !is_own_name) {
                self.names.add(row, NameKind::Principal, &person);
            }
            keys.principals
                .at(index)
                .for_each(|name| self.names.add(row, NameKind::Principal, name));
            self.by_id
                .add(&[&keys.license_id.at(index).to_ascii_uppercase()], row);
            self.by_number
                .add(&[state, keys.number_normalized.at(index)], row);
            let shown = license_number::display(keys.number.at(index));
            if shown != keys.number_normalized.at(index) {
                self.by_number.add(&[state, &shown], row);
            }
            if !list.professions.contains(keys.profession.at(index)) {
                list.professions
                    .insert(keys.profession.at(index).to_owned());
            }
            if list.source_id.is_empty() {
                keys.source_id.at(index).clone_into(&mut list.source_id);
                list.is_self_reported = keys.evidence.get(index) == Some(SELF_REPORTED);
            }
            list.licenses += 1;
            self.index.professions.push(keys.profession.get(index))?;
            let status =
                list_day.effective_status(keys.status.get(index), keys.expiration_date.at(index));
            self.index.statuses.push(Some(status))?;
            self.index.holder_types.push(keys.holder_type.get(index))?;
            let newest = [
                &keys.last_renewed_date,
                &keys.effective_date,
                &keys.issue_date,
            ]
            .map(|column| column.at(index));
            self.index.precedence.push(precedence(
                status == "active",
                newest.into_iter().max().and_then(known_day),
            ));
            let known = newest
                .into_iter()
                .filter(|day| *day != NO_DAY && list_day.day.is_none_or(|as_of| *day <= as_of));
            list.newest = list.newest.max(known.max());
            let began = known_day(keys.issue_date.at(index));
            list.has_issue_dates |= began.is_some();
            list.oldest = [
                list.oldest,
                began.or(known_day(keys.effective_date.at(index))),
            ]
            .into_iter()
            .flatten()
            .min();
            self.index.cities.push(keys.city.get(index), comparable)?;
            self.index.zips.push(keys.zip.get(index), str::to_owned)?;
        }
        Ok(())
    }
}

/// Returns `LAST, FIRST MIDDLE SUFFIX` from published parts, or `None` without a last name.
pub fn person_name([first, middle, last, suffix]: [Option<&str>; 4]) -> Option<String> {
    let given: Vec<&str> = [first, middle, suffix].into_iter().flatten().collect();
    last.map(|last| format!("{last}, {}", given.join(" ")))
}

/// Reports whether a published name is the name of the person with these parts, and not the name of
/// the person's business.
pub fn is_person_name(name: &str, parts: [Option<&str>; 4]) -> bool {
    let sorted = |text: &str| {
        let mut words = person_words(text);
        words.sort_unstable();
        words
    };
    person_name(parts).is_some_and(|person| sorted(&person) == sorted(name))
}

impl Licenses {
    /// Reads the key columns of every part, or returns `None` if the release lacks the dataset.
    pub async fn load(reader: PartReader<'_>) -> Result<Option<Self>> {
        let manifest = reader.manifest();
        let Some(rows) = Numbered::<License>::from_manifest(manifest)? else {
            return Ok(None);
        };
        let days: Vec<ListDay> = rows
            .parts()
            .iter()
            .map(|part| ListDay::new(manifest, part))
            .collect();
        let index = reader
            .index(
                License::ID,
                &format!("{days:?}"),
                LicenseIndex::make(reader, &rows, &days),
            )
            .await?;
        let mut lists: BTreeMap<(String, String), LicenseList> =
            index.lists.iter().cloned().collect();
        for (number, part) in rows.parts().iter().enumerate() {
            let list = lists.entry(list_of(&rows, number)).or_default();
            list.quarantined += part.report.quarantined.values().sum::<u64>();
            list.cadence_days = manifest
                .tasks
                .get(&part.task_id)
                .map_or(0, |task| task.cadence_days);
        }
        let quarantined = quarantined::ids::<License>(reader).await?;
        Ok(Some(Self {
            rows,
            actions: ChildParts::from_manifest(manifest),
            index,
            lists,
            quarantined,
        }))
    }

    /// Returns the row with an id, ignoring case.
    pub fn find(&self, license_id: &str) -> Option<u32> {
        self.index
            .by_id
            .find(&[&license_id.to_ascii_uppercase()])
            .first()
            .copied()
    }

    /// Reports whether a list has a quarantined record whose id ends with the number in one of
    /// these spellings.
    pub fn is_quarantined(&self, (state, source): (&str, &str), forms: &[String]) -> bool {
        let prefix = format!("{state}-{source}-").to_ascii_uppercase();
        let numbers = self
            .quarantined
            .iter()
            .filter_map(|id| id.strip_prefix(&prefix));
        // Some ids contain the kind of license before the number.
        let mut endings = numbers.flat_map(|number| {
            std::iter::once(number)
                .chain(number.match_indices('-').map(|(at, _)| &number[at + 1..]))
        });
        endings.any(|ending| {
            forms.iter().any(|form| {
                *form == license_number::display(ending)
                    || *form == license_number::normalized(ending, &[])
            })
        })
    }

    /// Returns the licenses of a state with a number, given normalised or as written.
    pub fn with_number(&self, state: &str, number: &str) -> &[u32] {
        self.index.by_number.find(&[state, number])
    }

    /// Reports whether a board states the license, and not only its holder.
    pub fn is_board_license(&self, row: u32) -> bool {
        let list = (
            self.rows.partition(row, "state").to_owned(),
            self.rows.partition(row, "source").to_owned(),
        );
        self.lists
            .get(&list)
            .is_none_or(|list| !list.is_self_reported)
    }

    /// Returns the status of a license as of its list's date.
    pub fn status(&self, row: u32) -> &str {
        self.index.statuses.at(row as usize)
    }
}

/// Returns the state and the short name of the list that a part belongs to.
fn list_of(rows: &Numbered<License>, part: usize) -> (String, String) {
    (
        rows.partition_of(part, "state").to_owned(),
        rows.partition_of(part, "source").to_owned(),
    )
}

impl LicenseIndex {
    async fn make(
        reader: PartReader<'_>,
        rows: &Numbered<License>,
        days: &[ListDay],
    ) -> Result<Self> {
        let place_of = |(number, day): (usize, &ListDay)| {
            (list_of(rows, number), *day, rows.rows_of_part(number).start)
        };
        let places: Vec<((String, String), ListDay, u32)> =
            days.iter().enumerate().map(place_of).collect();
        let add = move |made: &mut Builder, part: usize, first: u32, table: &Table| {
            let (list, day, start) = &places[part];
            made.add(list, *day, start + first, table)
        };
        let made = read_parts(reader, rows.parts(), Keys::COLUMNS, Builder::default(), add).await?;
        indexed(move || {
            Ok(Self {
                names: made.names.finish_by(&made.index.precedence)?,
                by_id: made.by_id.finish(),
                by_number: made.by_number.finish(),
                lists: Small(made.lists.into_iter().collect()),
                ..made.index
            })
        })
        .await
    }

    /// Returns the size of the index's owned memory in bytes.
    pub fn size_bytes(&self) -> usize {
        let columns =
            self.precedence.size_bytes() + self.cities.size_bytes() + self.zips.size_bytes();
        self.names.size_bytes() + self.by_id.size_bytes() + self.by_number.size_bytes() + columns
    }
}

#[cfg(test)]
mod tests {
    use crate::license::table::ListDay;
    use crate::release::key_columns::NO_DAY;

    #[test]
    fn license_without_status_is_active_unless_expired_on_the_list_day() {
        let list = |is_daily: bool| ListDay {
            day: Some(100),
            is_daily,
        };
        assert_eq!(
            [99, 100, 101, NO_DAY].map(|expires| list(true).effective_status(None, expires)),
            ["expired", "active", "active", "unknown"]
        );
        assert_eq!(
            [99, 100].map(|expires| list(true).effective_status(Some("active"), expires)),
            ["expired", "active"]
        );
        assert_eq!(
            list(false).effective_status(Some("active"), 99),
            "active",
            "the list may be behind"
        );
        assert_eq!(
            list(true).effective_status(Some("suspended"), 99),
            "suspended"
        );
        assert_eq!(
            ListDay {
                day: None,
                is_daily: true
            }
            .effective_status(None, 99),
            "unknown"
        );
    }
}
