//! Computes the population that lists cover. Adds up the Census Bureau's population estimates for
//! the areas that declarations name.

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

/// Number of states including the District of Columbia; together they form the country.
const STATES: usize = 51;

/// Shares have four decimal places. The share of the entire country is written `1.0`, so shares are
/// not of type `Float`.
const SHARE_STEPS: f64 = 10_000.0;

/// Areas covered by the records, with their population by the Census Bureau's estimates, each
/// person counted once. For `tax.state`, covers the states whose `coverage` is `full` and whose
/// rates are found by boundaries or counties, or are the same in the entire state. States whose
/// rates are found only by place names do not count.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reach<'a> {
    /// Areas covered by the dataset or list, ordered by code.
    areas: Vec<ReachArea<'a>>,
    /// People in the areas with an estimate; null if no area has an estimate.
    population: Option<i64>,
    /// Share of the population of the states and the District of Columbia, as a fraction from 0 to
    /// 1; null without a population.
    population_share: Option<f64>,
    /// Year of the estimates, which are as of 1 July; null without a population.
    population_year: Option<i32>,
    /// Number of areas that are not counted, because they have no estimate.
    areas_without_estimate: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReachArea<'a> {
    /// FIPS code of a state, county or place; a county's code and `99990` for the part of the
    /// county outside all places; `us` for the country.
    geoid: &'a str,
    /// Name of the area; null if the population estimates lack the area.
    name: Option<&'a str>,
    /// Number of people who live in the area; null if the population estimates lack the area.
    population: Option<i64>,
}

/// Contents, gaps and reach of one list in a dataset.
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
    /// First issue date. If the list has no issue dates: for permits, the first date of another
    /// kind that the list has; for licenses, the first effective date. For businesses, the first
    /// formation date.
    pub first_date: Option<crate::answer::Date>,
    /// Last date of the same kind, or last renewal of a license, that is not after the list's own
    /// date.
    pub last_date: Option<crate::answer::Date>,
    /// Types of permits or businesses, or professions of licenses; for a state's tax rates, how the
    /// rates are found and which rates are known.
    pub kinds: Vec<&'a str>,
    /// Gaps of the list, as text.
    pub gaps: Vec<Cow<'a, str>>,
    /// Age of the list by its publisher's cadence and calendar. At least `stale` if its last record
    /// is older than three cadences (and than 30 days for permits, or 180 days for licenses and
    /// businesses). Null for sales tax states.
    pub freshness: Option<Freshness>,
    /// Areas and people covered by the list.
    pub reach: Reach<'a>,
}

/// Population covered by lists, grouped by the evidence for their layout.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DatasetCoverageReachByLayout")]
pub struct ReachByLayout {
    /// Builds whose layout was seen in the publisher's records.
    seen: ReachOfLists,
    /// Builds whose layout is known only from documentation.
    documented: ReachOfLists,
}

/// Number of builds, and the population of their areas.
#[derive(Debug, Serialize, JsonSchema)]
struct ReachOfLists {
    /// Number of builds of lists.
    lists: usize,
    /// Population of the areas of the builds that have an estimate, each area counted once; null if
    /// no area has an estimate.
    population: Option<i64>,
    /// Share of the country's population, as a fraction from 0 to 1; null without a population.
    population_share: Option<f64>,
}

/// Population estimates by FIPS code.
#[derive(Debug, Default)]
pub struct Population {
    areas: BTreeMap<String, (String, i64)>,
    year: Option<i32>,
}

impl Population {
    /// Reads the estimates of a release; empty if the release has none.
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

    /// Returns the population estimates of a release; every loaded release has them.
    pub fn from_release(release: &Release) -> &Self {
        release
            .table()
            .expect("every release is loaded with the tables of all families")
    }

    fn people(&self, code: &str) -> Option<i64> {
        self.areas.get(code).map(|(_, people)| *people)
    }

    /// Returns the population of the country, or `None` if a state is missing.
    fn country(&self) -> Option<i64> {
        let states: Vec<i64> = self
            .areas
            .iter()
            .filter(|(code, _)| code.len() == 2)
            .map(|(_, (_, people))| *people)
            .collect();
        (states.len() == STATES).then(|| states.iter().sum())
    }

    /// Returns the areas that are not contained in another area of the set, with their estimates.
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

    /// Returns the population of the areas, and its share of the country's population.
    fn people_of(&self, counted: &[(&str, Option<i64>)]) -> (Option<i64>, Option<f64>) {
        let known: Vec<i64> = counted.iter().filter_map(|(_, people)| *people).collect();
        let people: Option<i64> = (!known.is_empty()).then(|| known.iter().sum());
        let share = people
            .zip(self.country())
            .map(|(people, all)| (people as f64 / all as f64 * SHARE_STEPS).round() / SHARE_STEPS);
        (people, share)
    }

    /// Returns the population of the areas, each area counted once, and the number of areas without
    /// an estimate.
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

    /// Counts the builds whose layout was seen in the publisher's records, and the builds whose
    /// layout is known only from documentation, with the population of their areas. Builds of
    /// earlier versions do not state the evidence; they were built from files.
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

/// Computes the reach and freshness of a dataset's lists.
pub struct Reaches<'a> {
    pub release: &'a Release,
    pub dataset: &'a DatasetEntry,
    pub today: Date,
}

/// Number of cadences after which an unchanged list is stale, independent of its declaration.
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

    /// Returns the freshness of a list's oldest build. The result is at least stale if the list's
    /// last record is older than three cadences and than `quiet_days`.
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

    /// Returns the reach of the partition with the given column values.
    pub fn reach(&self, partition: &[(&str, &str)]) -> Reach<'a> {
        Population::from_release(self.release)
            .reach(&areas(self.tasks(partition).map(|(_, task)| task)))
    }
}

/// Returns the areas covered by the builds.
pub fn areas<'a>(tasks: impl IntoIterator<Item = &'a TaskEntry>) -> BTreeSet<&'a str> {
    tasks
        .into_iter()
        .flat_map(|task| &task.covers)
        .map(String::as_str)
        .collect()
}
