//! Checks drift: files whose cells are possible one by one and wrong together, and ordinary
//! editions.

use serde_json::json;

use pubdata_testing::Place;

const ESTIMATES: &str = "sub-est2024.csv";
const TASK: &str = "census.population";
const HEADER: &str = "SUMLEV,STATE,COUNTY,PLACE,COUSUB,CONCIT,PRIMGEO_FLAG,FUNCSTAT,NAME,STNAME,ESTIMATESBASE2020,POPESTIMATE2020,POPESTIMATE2021,POPESTIMATE2022,POPESTIMATE2023,POPESTIMATE2024";

/// Builds a list of numbered towns. The largest has three million people, and half have fewer than
/// a few thousand.
fn towns(numbers: std::ops::Range<u64>, people: impl Fn(u64) -> String) -> String {
    let town = |number: u64| {
        format!(
            "162,01,000,{number:05},00000,00000,0,A,Town {number},Alabama,,,,,,{}\n",
            people(number)
        )
    };
    std::iter::once(format!("{HEADER}\n"))
        .chain(numbers.map(town))
        .collect()
}

fn size_of(number: u64) -> u64 {
    3_000_000 / (1 + number % 997)
}

struct Towns(Place);

impl Towns {
    /// Creates a place that has published 600 towns.
    fn published() -> Self {
        let towns_of_then = Self(Place::new());
        towns_of_then.edition(&towns(0..600, |number| size_of(number).to_string()));
        towns_of_then.0.run(&[TASK]).expect(0);
        towns_of_then
    }

    fn edition(&self, text: &str) {
        self.0.edit(ESTIMATES, |_| text.to_owned());
    }

    /// Returns the reason that blocks a run of an edition.
    #[track_caller]
    fn refusal(&self, text: &str) -> String {
        let before = self.0.current();
        self.edition(text);
        let reasons = self.0.run(&[TASK]).expect(20).reasons(TASK);
        assert_eq!(
            self.0.stale_tasks().into_keys().collect::<Vec<_>>(),
            [TASK],
            "{reasons}"
        );
        assert_eq!(self.0.current(), before, "no release is published");
        reasons
    }
}

#[test]
fn ordinary_edition_is_published() {
    let towns_of_then = Towns::published();
    // One percent more people, three new towns, two gone, and one that annexed its county.
    towns_of_then.edition(&towns(2..603, |number| {
        (size_of(number) * 101 / 100 + if number == 7 { 900_000 } else { 0 }).to_string()
    }));
    towns_of_then.0.run(&[TASK]).expect(0);
    assert_eq!(towns_of_then.0.rows("geo.population").len(), 601);
}

#[test]
fn larger_figures_are_reported_and_published_after_acceptance() {
    let towns_of_then = Towns::published();
    let refusal = towns_of_then.refusal(&towns(0..600, |number| (size_of(number) * 4).to_string()));
    for part in [
        "geo.population: far from the last release",
        "`population`",
        "against",
        "pubdata accept census.population:drift",
        "[expect.\"geo.population\".drift]",
    ] {
        assert!(refusal.contains(part), "no `{part}`: {refusal}");
    }
    // A quarter of the 600 towns is larger than number 150, which has three million divided by 151.
    assert!(
        refusal.contains("upper quartile 79,468 against 19,867"),
        "{refusal}"
    );
    assert_eq!(
        towns_of_then.0.rows("geo.population")["geo.population:0100007"].0["population"],
        json!(375_000),
        "the last good figures stay"
    );
    towns_of_then
        .0
        .run(&[TASK, "--accept", "census.population:drift"])
        .expect(0);
    assert_eq!(
        towns_of_then.0.rows("geo.population")["geo.population:0100007"].0["population"],
        json!(1_500_000)
    );
}

#[test]
fn records_of_another_list_are_reported() {
    let towns_of_then = Towns::published();
    let refusal = towns_of_then.refusal(&towns(10_000..10_600, |number| {
        size_of(number - 10_000).to_string()
    }));
    assert!(
        refusal.contains("100 % of the earlier records are gone"),
        "{refusal}"
    );
}

#[test]
fn column_with_one_value_in_all_records_is_reported() {
    let towns_of_then = Towns::published();
    let refusal = towns_of_then.refusal(&one_name(&towns(0..600, |number| {
        size_of(number).to_string()
    })));
    assert!(
        refusal.contains("`name` has 1 distinct values against 600"),
        "{refusal}"
    );
}

/// Returns the same list, in which all towns have one name.
fn one_name(text: &str) -> String {
    let line = |line: &str| {
        let cells: Vec<&str> = line
            .split(',')
            .map(|cell| {
                if cell.starts_with("Town ") {
                    "Town"
                } else {
                    cell
                }
            })
            .collect();
        format!("{}\n", cells.join(","))
    };
    text.lines().map(line).collect()
}

#[test]
fn declaration_may_allow_more_drift() {
    let towns_of_then = Towns::published();
    let declarations = towns_of_then.0.root().join("declarations");
    for folder in ["pipelines", "schemas"] {
        pubdata_testing::copy_folder(
            &pubdata_testing::project(folder),
            &declarations.join(folder),
        );
    }
    let declaration = declarations.join("pipelines/census/population.toml");
    let text = std::fs::read_to_string(&declaration).unwrap();
    let drift = "[expect.\"geo.population\".drift.columns.population]\nmax_quartile_points = 100.0\nmax_sum_percent = 1000.0\n";
    std::fs::write(&declaration, format!("{text}\n{drift}")).unwrap();
    towns_of_then.edition(&towns(0..600, |number| (size_of(number) * 4).to_string()));
    towns_of_then
        .0
        .run(&[TASK, "--declarations", declarations.to_str().unwrap()])
        .expect(0);
}
