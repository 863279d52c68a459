//! How many people lists reach: the areas that declarations name, counted by the Bureau's
//! population estimates.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::release::freshness::{Freshness, freshness_of_task};
use crate::release::loaded::Release;
use crate::release::part_reader::PartReader;
use crate::release::table::Table;
use pubdata_core::error::Result;
use pubdata_store::{DatasetEntry, Part, TaskEntry};

const POPULATION: &str = "geo.population";

/// The states and the District of Columbia, whose sum is the country's.
const STATES: usize = 51;

/// Decimals of a share: ten thousandths. That of the whole country is written `1.0`, so that shares
/// are no `Float`.
const SHARE_STEPS: f64 = 10_000.0;

/// The areas whose records these are, and how many people live there by the Bureau's population
/// estimates, each counted once. Of `tax.state`, the states whose `coverage` is `full` and whose
/// rates are found by boundaries or counties, or are one for the state: not by names of places
/// alone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reach<'a> {
    /// Areas that the dataset reaches, ordered by code.
    areas: Vec<ReachArea<'a>>,
    /// People of the areas that have an estimate; null where none has.
    population: Option<i64>,
    /// Part of the people of the states and the District of Columbia, as a fraction from 0 to 1;
    /// null without a population.
    population_share: Option<f64>,
    /// The estimates are of 1 July of this year; null without a population.
    population_year: Option<i32>,
    /// How many of the areas are not counted, because the estimates lack them.
    areas_without_estimate: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReachArea<'a> {
    /// FIPS code of a state, county or place; a county's and `99990` for what of it is in no place;
    /// `us`.
    geoid: &'a str,
    /// Name of the area; null if the population estimates lack it.
    name: Option<&'a str>,
    /// People who live in the area; null if the population estimates lack it.
    population: Option<i64>,
}

/// What a list of a dataset holds and lacks, and whom it reaches.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetCoverageList")]
pub struct CoveredList<'a> {
    /// Jurisdiction of permits; state and source of licenses; state of a registry or of sales tax.
    pub list: Cow<'a, str>,
    /// Name of the jurisdiction for permits, source id for licenses and businesses, name of the
    /// state for sales tax.
    pub name: &'a str,
    /// Two-letter postal code of the list's state.
    pub state: &'a str,
    /// Number of permits, licenses, businesses or tax rates in the list.
    pub records: u64,
    /// First day of issue; of permits without one, of the first kind of date that the list has, of
    /// licenses without one, the first day from which one holds; of businesses, of formation.
    pub first_date: Option<crate::answer::Date>,
    /// Last such day, or of a license's renewal, that is not after the list's own date.
    pub last_date: Option<crate::answer::Date>,
    /// Types of its permits or businesses, or professions of its licenses; how rates of a state are
    /// found, and what of them is known.
    pub kinds: Vec<&'a str>,
    /// What the list does not have, in words.
    pub gaps: Vec<Cow<'a, str>>,
    /// How old the list is; `stale` at least, when its last record is older than three of its
    /// cadences (and than 30 days for permits, 180 for licenses and businesses), whatever its
    /// calendar says. Null for states of sales tax.
    pub freshness: Option<Freshness>,
    /// Areas and people that the list reaches.
    pub reach: Reach<'a>,
}

/// Whom lists reach by what is known of their layout.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DatasetCoverageReachByLayout")]
pub struct ReachByLayout {
    /// Builds whose layout was seen in records of the publisher.
    seen: ReachOfLists,
    /// Builds whose layout is known from documentation only.
    documented: ReachOfLists,
}

/// How many builds were made, and whom they reach.
#[derive(Debug, Serialize, JsonSchema)]
struct ReachOfLists {
    /// Number of builds that are counted.
    lists: usize,
    /// People in their areas, each area counted once, as far as the estimates have them; null where
    /// they have none.
    population: Option<i64>,
    /// Part of the country's people, as a fraction from 0 to 1; null without a population.
    population_share: Option<f64>,
}

/// People by FIPS code.
#[derive(Debug, Default)]
pub struct Population {
    areas: BTreeMap<String, (String, i64)>,
    year: Option<i32>,
}

impl Population {
    /// Reads the estimates of a release; empty when it has none.
    ///
    /// # Errors
    /// `Store`, when the part is missing, damaged, or not as its contract says.
    pub async fn load(reader: PartReader<'_>) -> Result<Self> {
        let mut population = Self::default();
        for part in reader.parts_of(POPULATION) {
            let table = Table::read(
                reader.bytes(part).await?,
                &["geoid", "name", "estimate_year", "population"],
                &part.path,
            )?;
            let (geoids, names, years, people) = (
                table.texts("geoid")?,
                table.texts("name")?,
                table.int32s("estimate_year")?,
                table.int64s("population")?,
            );
            for row in 0..table.rows() {
                population.areas.insert(
                    geoids.at(row).to_owned(),
                    (names.at(row).to_owned(), people.value(row)),
                );
                population.year = Some(years.value(row));
            }
        }
        Ok(population)
    }

    /// That of a release, which is always there.
    pub fn of(release: &Release) -> &Self {
        release
            .table()
            .expect("every release is loaded with the tables of all families")
    }

    fn people(&self, code: &str) -> Option<i64> {
        self.areas.get(code).map(|(_, people)| *people)
    }

    /// People of the country; none where a state is missing.
    fn country(&self) -> Option<i64> {
        let states: Vec<i64> = self
            .areas
            .iter()
            .filter(|(code, _)| code.len() == 2)
            .map(|(_, (_, people))| *people)
            .collect();
        (states.len() == STATES).then(|| states.iter().sum())
    }

    /// The areas that are in no other of them, and their people, as far as the estimates have them.
    fn counted<'a>(&self, areas: &BTreeSet<&'a str>) -> Vec<(&'a str, Option<i64>)> {
        let is_inside = |code: &str| {
            code != "us" && (areas.contains("us") || (code.len() > 2 && areas.contains(&code[..2])))
        };
        let of_area = |code: &str| {
            if code == "us" {
                self.country()
            } else {
                self.people(code)
            }
        };
        areas
            .iter()
            .copied()
            .filter(|code| !is_inside(code))
            .map(|code| (code, of_area(code)))
            .collect()
    }

    /// How many people live in areas, and which share of the country's that is.
    fn people_of(&self, counted: &[(&str, Option<i64>)]) -> (Option<i64>, Option<f64>) {
        let known: Vec<i64> = counted.iter().filter_map(|(_, people)| *people).collect();
        let people: Option<i64> = (!known.is_empty()).then(|| known.iter().sum());
        let share = people
            .zip(self.country())
            .map(|(people, all)| (people as f64 / all as f64 * SHARE_STEPS).round() / SHARE_STEPS);
        (people, share)
    }

    /// How many people live in some areas, each counted once, and how many of the areas the
    /// estimates lack.
    pub fn reach<'a>(&'a self, areas: &BTreeSet<&'a str>) -> Reach<'a> {
        let counted = self.counted(areas);
        let (population, population_share) = self.people_of(&counted);
        let area = |(geoid, population): &(&'a str, Option<i64>)| {
            let name = self.areas.get(*geoid).map(|(name, _)| name.as_str());
            ReachArea {
                geoid,
                name,
                population: *population,
            }
        };
        Reach {
            areas: counted.iter().map(area).collect(),
            population,
            population_share,
            population_year: population.and(self.year),
            areas_without_estimate: counted
                .iter()
                .filter(|(_, people)| people.is_none())
                .count(),
        }
    }

    /// How many builds were made from layouts that somebody has seen in the publisher's records,
    /// and how many from documentation alone, each with the people whom they reach. Builds of
    /// earlier versions, which do not say, were made from files.
    pub fn reach_by_layout(&self, tasks: &[&TaskEntry]) -> ReachByLayout {
        let of = |are_documented: bool| {
            let of_it: Vec<&TaskEntry> = tasks
                .iter()
                .copied()
                .filter(|task| task.is_of_documented_layout() == are_documented)
                .collect();
            let (population, population_share) =
                self.people_of(&self.counted(&areas(of_it.iter().copied())));
            ReachOfLists {
                lists: of_it.len(),
                population,
                population_share,
            }
        };
        let [seen, documented] = [false, true].map(of);
        ReachByLayout { seen, documented }
    }
}

/// Whom the lists of a dataset reach, and whether they still move.
pub struct Reaches<'a> {
    pub release: &'a Release,
    pub dataset: &'a DatasetEntry,
    pub today: Date,
}

/// Cadences after which a list that has not moved is stale, whatever its declaration says of it.
const CADENCES: i64 = 3;

impl<'a> Reaches<'a> {
    fn tasks(&self, partition: &[(&str, &str)]) -> impl Iterator<Item = (&'a str, &'a TaskEntry)> {
        let is_of = |part: &&Part| {
            partition.iter().all(|(column, value)| {
                part.partition
                    .get(*column)
                    .is_some_and(|known| known == value)
            })
        };
        let parts: Vec<&'a Part> = self.dataset.parts.iter().filter(is_of).collect();
        let (release, tasks): (&'a Release, BTreeSet<&'a str>) = (
            self.release,
            parts
                .into_iter()
                .map(|part| part.task_id.as_str())
                .collect(),
        );
        tasks
            .into_iter()
            .filter_map(move |task_id| Some((task_id, release.manifest.tasks.get(task_id)?)))
    }

    /// How old a list is: the oldest of its builds; stale at least, where its last record is of a
    /// day three cadences ago, and longer ago than such a list may have no new one.
    pub fn freshness(
        &self,
        partition: &[(&str, &str)],
        last_day: Option<Date>,
        quiet_days: i64,
    ) -> Freshness {
        let of_build = |(task_id, task): (&str, &TaskEntry)| {
            let by_file = freshness_of_task(&self.release.manifest, task_id, self.today);
            let age = last_day
                .and_then(|day| self.today.since(day).ok())
                .map_or(0, |span| i64::from(span.get_days()));
            if age > (CADENCES * task.cadence_days).max(quiet_days) {
                by_file.max(Freshness::Stale)
            } else {
                by_file
            }
        };
        self.tasks(partition)
            .map(of_build)
            .max()
            .unwrap_or(Freshness::Expired)
    }

    /// Whom the records of a partition reach, which is given by columns and their values.
    pub fn reach(&self, partition: &[(&str, &str)]) -> Reach<'a> {
        Population::of(self.release).reach(&areas(self.tasks(partition).map(|(_, task)| task)))
    }
}

/// The areas whose records some builds hold.
pub fn areas<'a>(tasks: impl IntoIterator<Item = &'a TaskEntry>) -> BTreeSet<&'a str> {
    tasks
        .into_iter()
        .flat_map(|task| &task.covers)
        .map(String::as_str)
        .collect()
}
