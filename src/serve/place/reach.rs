//! How many people lists reach: the areas that declarations name, counted by the Bureau's population estimates.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use crate::json::Json;
use crate::release::freshness::{Freshness, freshness_of_task};
use crate::release::loaded::Release;
use crate::release::part_reader::PartReader;
use crate::release::table::Table;
use pubdata_core::error::Result;
use pubdata_store::{DatasetEntry, Part, TaskEntry};

const POPULATION: &str = "geo.population";

/// The states and the District of Columbia, whose sum is the country's.
const STATES: usize = 51;

/// Decimals of a share: ten thousandths.
const SHARE_STEPS: f64 = 10_000.0;

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
            let table = Table::read(reader.bytes(part).await?, &["geoid", "name", "estimate_year", "population"], &part.path)?;
            let (geoids, names, years, people) = (table.texts("geoid")?, table.texts("name")?, table.int32s("estimate_year")?, table.int64s("population")?);
            for row in 0..table.rows() {
                population.areas.insert(geoids.at(row).to_owned(), (names.at(row).to_owned(), people.value(row)));
                population.year = Some(years.value(row));
            }
        }
        Ok(population)
    }

    /// That of a release, which is always there.
    pub fn of(release: &Release) -> &Self {
        release.table().expect("every release is loaded with the tables of all families")
    }

    fn people(&self, code: &str) -> Option<i64> {
        self.areas.get(code).map(|(_, people)| *people)
    }

    /// People of the country; none where a state is missing.
    fn country(&self) -> Option<i64> {
        let states: Vec<i64> = self.areas.iter().filter(|(code, _)| code.len() == 2).map(|(_, (_, people))| *people).collect();
        (states.len() == STATES).then(|| states.iter().sum())
    }

    /// The areas that are in no other of them, and their people, as far as the estimates have them.
    fn counted<'a>(&self, areas: &BTreeSet<&'a str>) -> Vec<(&'a str, Option<i64>)> {
        let is_inside = |code: &str| code != "us" && (areas.contains("us") || (code.len() > 2 && areas.contains(&code[..2])));
        let of_area = |code: &str| if code == "us" { self.country() } else { self.people(code) };
        areas.iter().copied().filter(|code| !is_inside(code)).map(|code| (code, of_area(code))).collect()
    }

    /// Writes how many people live in areas, and which share of the country's that is.
    fn write_people(&self, json: &mut Json, counted: &[(&str, Option<i64>)]) -> Option<i64> {
        let known: Vec<i64> = counted.iter().filter_map(|(_, people)| *people).collect();
        let people: Option<i64> = (!known.is_empty()).then(|| known.iter().sum());
        let share = people.zip(self.country()).map(|(people, all)| (people as f64 / all as f64 * SHARE_STEPS).round() / SHARE_STEPS);
        json.key("population").optional_integer(people);
        json.key("population_share").value(&share);
        people
    }

    /// Writes how many people live in some areas, each counted once, and how many of the areas the estimates lack.
    pub fn write(&self, json: &mut Json, areas: &BTreeSet<&str>) {
        let counted = self.counted(areas);
        json.object(|json| {
            json.key("areas").array(|json| {
                for (code, people) in &counted {
                    json.object(|json| {
                        json.key("geoid").text(code);
                        json.key("name").optional_text(self.areas.get(*code).map(|(name, _)| name.as_str()));
                        json.key("population").optional_integer(*people);
                    });
                }
            });
            let people = self.write_people(json, &counted);
            json.key("population_year").value(&people.and(self.year));
            json.key("areas_without_estimate").count(counted.iter().filter(|(_, people)| people.is_none()).count() as u64);
        });
    }

    /// Writes how many builds were made from layouts that somebody has seen in the publisher's records, and how many from documentation alone, each with the
    /// people whom they reach. Builds of earlier versions, which do not say, were made from files.
    pub fn write_by_layout(&self, json: &mut Json, tasks: &[&TaskEntry]) {
        json.object(|json| {
            for (name, are_documented) in [("seen", false), ("documented", true)] {
                let is_of_it = |task: &&TaskEntry| task.is_of_documented_layout() == are_documented;
                let of_it: Vec<&TaskEntry> = tasks.iter().copied().filter(is_of_it).collect();
                json.key(name).object(|json| {
                    json.key("lists").count(of_it.len() as u64);
                    self.write_people(json, &self.counted(&areas(of_it.iter().copied())));
                });
            }
        });
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
        let is_of = |part: &&Part| partition.iter().all(|(column, value)| part.partition.get(*column).is_some_and(|known| known == value));
        let parts: Vec<&'a Part> = self.dataset.parts.iter().filter(is_of).collect();
        let (release, tasks): (&'a Release, BTreeSet<&'a str>) = (self.release, parts.into_iter().map(|part| part.task_id.as_str()).collect());
        tasks.into_iter().filter_map(move |task_id| Some((task_id, release.manifest.tasks.get(task_id)?)))
    }

    /// How old a list is: the oldest of its builds; stale at least, where its last record is of a day three cadences ago, and longer ago than such a
    /// list may have no new one.
    pub fn freshness(&self, partition: &[(&str, &str)], last_day: Option<Date>, quiet_days: i64) -> Freshness {
        let of_build = |(task_id, task): (&str, &TaskEntry)| {
            let by_file = freshness_of_task(&self.release.manifest, task_id, self.today);
            let age = last_day.and_then(|day| self.today.since(day).ok()).map_or(0, |span| i64::from(span.get_days()));
            if age > (CADENCES * task.cadence_days).max(quiet_days) { by_file.max(Freshness::Stale) } else { by_file }
        };
        self.tasks(partition).map(of_build).max().unwrap_or(Freshness::Expired)
    }

    /// Writes whom the records of a partition reach, which is given by columns and their values.
    pub fn write(&self, json: &mut Json, partition: &[(&str, &str)]) {
        Population::of(self.release).write(json, &areas(self.tasks(partition).map(|(_, task)| task)));
    }
}

/// The areas whose records some builds hold.
pub fn areas<'a>(tasks: impl IntoIterator<Item = &'a TaskEntry>) -> BTreeSet<&'a str> {
    tasks.into_iter().flat_map(|task| &task.covers).map(String::as_str).collect()
}
