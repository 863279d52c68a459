//! Creates places with their own declarations, for the tests of several commands.

use std::path::PathBuf;

use pubdata_core::declared::DeclarationFiles;
use serde_json::Value;

use crate::{Answer, Place, answer, copy_folder, project};

pub const SOURCE: &str = "license.fl_dbpr";
pub const FILE: &str = "CONSTRUCTIONLICENSE_1.csv";
pub const URL: &str =
    "https://www2.myfloridalicense.com/sto/file_download/extracts/CONSTRUCTIONLICENSE_1.csv";

/// A place with a changed declaration of Florida's licenses, whose minimum sizes fit a fixture.
pub struct Desk {
    pub place: Place,
    pub declarations: String,
}

impl Desk {
    pub fn new(change: impl Fn(String) -> String) -> Self {
        let place = Place::new();
        let folder = place.root().join("declarations");
        copy_folder(&project("pipelines"), &folder.join("pipelines"));
        copy_folder(&project("schemas"), &folder.join("schemas"));
        let path = folder.join("pipelines/license/fl_dbpr.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let lenient = text
            .replace("min_bytes = 10_000_000", "min_bytes = 1")
            .replace("min_rows = 50_000", "min_rows = 1");
        // The tests use fixed dates: only the test about lateness may find a file late.
        let patient = lenient.replace("grace = \"10 days\"", "grace = \"100 years\"");
        assert_ne!(patient, lenient);
        // Among a few rows, one more with an unknown word is a large share.
        let growth = "[expect.\"license.license\"]\nwords = { status = { max_growth_points = 100.0 }, profession = { max_growth_points = 100.0 } }";
        let patient = patient.replace("[expect.\"license.license\"]", growth);
        // An operator confirms a layout known from documentation only.
        let patient = patient.replace("kind = \"excerpt\"", "kind = \"documented\"");
        let changed = change(patient.clone());
        assert_ne!(patient, changed);
        std::fs::write(path, changed).unwrap();
        Self {
            declarations: folder.display().to_string(),
            place,
        }
    }

    pub fn by_hand() -> Self {
        Self::new(|text| text.replace("source_version = ", "by_hand = true\nsource_version = "))
    }

    pub fn pubdata(&self, arguments: &[&str]) -> Answer {
        let mut command = self
            .place
            .command(&[arguments, &["--declarations", &self.declarations]].concat());
        answer(command.env_remove("SUDO_USER").env("USER", "ada"))
    }

    /// A run that contacts the publishers.
    pub fn run(&self) -> Answer {
        self.pubdata(&["run", SOURCE, "--json"])
    }

    pub fn downloaded(&self) -> PathBuf {
        self.place.file(FILE)
    }

    pub fn import(&self, arguments: &[&str]) -> Answer {
        let file = self.downloaded().display().to_string();
        self.pubdata(&[&["import", SOURCE, &file, "--json"], arguments].concat())
    }

    /// The only input file of the newest release.
    pub fn input(&self) -> Value {
        self.place.manifest()["tasks"][SOURCE]["inputs"][0].clone()
    }
}

/// The gazetteer's declarations without minimum sizes, which samples do not reach, and with this
/// test's calendar.
pub fn gazetteer() -> DeclarationFiles {
    let files = DeclarationFiles::built_in();
    let text = |path: &str| String::from_utf8(files.read(path).unwrap().to_vec()).unwrap();
    let without_floors = |text: String| {
        let is_kept = |line: &&str| {
            !["min_bytes", "calendar", "redirects"]
                .iter()
                .any(|key| line.starts_with(key))
        };
        let lines = text.lines().filter(is_kept).map(|line| {
            if line.starts_with("min_rows") {
                "min_rows = 0"
            } else {
                line
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let variables = |line: &str| line.starts_with("variables = { year");
    let text_of = |text: String| {
        let lines = text.lines().map(|line| {
            if variables(line) {
                "variables = { year = { from = \"2025\", to = \"now\", last = 1 } }"
            } else {
                line
            }
        });
        lines.collect::<Vec<_>>().join("\n").replacen(
            "cadence = \"yearly\"",
            "cadence = \"yearly\"\ncalendar = { every = \"year\", after = \"8 months\", grace = \"2 months\" }",
            1,
        )
    };
    let path = "pipelines/census/gazetteer.toml";
    let changed = text_of(without_floors(text(path)));
    let county = "pipelines/census/zcta_county.toml";
    files.with(&[(path, &changed), (county, &without_floors(text(county)))])
}
