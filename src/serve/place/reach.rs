//! How many people lists reach: the areas that declarations name, counted by the Bureau's population estimates.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::Json;
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

    /// Writes how many people live in some areas, each counted once, and how many of the areas the estimates lack.
    pub fn write(&self, json: &mut Json, areas: &BTreeSet<&str>) {
        let is_inside = |code: &str| code != "us" && (areas.contains("us") || (code.len() > 2 && areas.contains(&code[..2])));
        let counted: Vec<&str> = areas.iter().copied().filter(|code| !is_inside(code)).collect();
        let of_area = |code: &str| if code == "us" { self.country() } else { self.people(code) };
        let known: Vec<i64> = counted.iter().filter_map(|code| of_area(code)).collect();
        let people: Option<i64> = (!known.is_empty()).then(|| known.iter().sum());
        let share = people.zip(self.country()).map(|(people, all)| (people as f64 / all as f64 * SHARE_STEPS).round() / SHARE_STEPS);
        json.object(|json| {
            json.key("areas").array(|json| {
                for code in &counted {
                    json.object(|json| {
                        json.key("geoid").text(code);
                        json.key("name").optional_text(self.areas.get(*code).map(|(name, _)| name.as_str()));
                        json.key("population").optional_integer(of_area(code));
                    });
                }
            });
            json.key("population").optional_integer(people);
            json.key("population_share").value(&share);
            json.key("population_year").value(&people.and(self.year));
            json.key("areas_without_estimate").count((counted.len() - known.len()) as u64);
        });
    }
}

/// Whom the lists of a dataset reach.
pub struct Reaches<'a> {
    pub release: &'a Release,
    pub dataset: &'a DatasetEntry,
}

impl Reaches<'_> {
    /// Writes whom the records of a partition reach, which is given by columns and their values.
    pub fn write(&self, json: &mut Json, partition: &[(&str, &str)]) {
        let is_of = |part: &&Part| partition.iter().all(|(column, value)| part.partition.get(*column).is_some_and(|known| known == value));
        let tasks = self.dataset.parts.iter().filter(is_of).filter_map(|part| self.release.manifest.tasks.get(&part.task_id));
        Population::of(self.release).write(json, &areas(tasks));
    }
}

/// The areas whose records some builds hold.
pub fn areas<'a>(tasks: impl IntoIterator<Item = &'a TaskEntry>) -> BTreeSet<&'a str> {
    tasks.into_iter().flat_map(|task| &task.covers).map(String::as_str).collect()
}
