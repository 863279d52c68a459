//! Runs of a list in buckets of which single files were added, removed or replaced: only the changed
//! subjects are built, and the release equals that of a build from nothing.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use pubdata_build::publish::fault::{FAULT_POINTS, VARIABLE};
use pubdata_testing::{Answer, Place, answer, copy_folder, packed};
use serde_json::{Value, json};

use super::buckets::write_declarations;

const PIPELINE: &str = "business.fl_sunbiz";
const MEMBER: &str = "cordata0.txt";
/// Synthetic entities of the quarterly archive.
const ENTITIES: usize = 200;

/// Florida's registry with synthetic entities.
struct Registry {
    place: Place,
    /// A record of the fixture, of which all others are copies.
    template: Vec<u8>,
    declarations: String,
}

impl Registry {
    /// The registry on its first day: one entity of the archive is inactive, one is new.
    fn new() -> Self {
        let place = Place::new();
        let template = std::fs::read(place.file("20261002c.txt")).unwrap();
        let folder = place.root().join("declarations");
        write_declarations(&folder, true);
        let registry = Self {
            place,
            template,
            declarations: folder.display().to_string(),
        };
        for day in ["20230929", "20261001", "20261002"] {
            std::fs::remove_file(registry.place.file(&format!("{day}c.txt"))).unwrap();
        }
        registry.write_archive(b'A');
        registry.write_day("20261001", &[(1, b'I'), (ENTITIES + 1, b'A')], "");
        registry
    }

    fn record(&self, number: usize, status: u8) -> Vec<u8> {
        let mut record = self.template.clone();
        record[..12].copy_from_slice(format!("L99{number:09}").as_bytes());
        record[12..204]
            .copy_from_slice(format!("{:<192}", format!("SYNTHETIC {number} LLC")).as_bytes());
        record[204] = status;
        record
    }

    fn records(&self, of: impl IntoIterator<Item = (usize, u8)>) -> String {
        let records = of
            .into_iter()
            .flat_map(|(number, status)| self.record(number, status));
        String::from_utf8(records.collect()).unwrap()
    }

    /// Writes the archive, whose last entity has a status.
    fn write_archive(&self, last: u8) {
        let status = |number: usize| if number == ENTITIES { last } else { b'A' };
        let records = self.records((1..=ENTITIES).map(|number| (number, status(number))));
        let members = BTreeMap::from([(MEMBER.to_owned(), records)]);
        std::fs::write(self.place.file("cordata.zip"), packed(&members)).unwrap();
    }

    fn write_day(&self, day: &str, records: &[(usize, u8)], rest: &str) {
        let folder = self.place.file("cordata.zip");
        let folder = folder.ancestors().nth(3).unwrap().join("cor");
        std::fs::create_dir_all(&folder).unwrap();
        let text = self.records(records.iter().copied()) + rest;
        std::fs::write(folder.join(format!("{day}c.txt")), text).unwrap();
    }

    fn remove_day(&self, day: &str) {
        std::fs::remove_file(self.place.file(&format!("{day}c.txt"))).unwrap();
    }

    fn command(&self) -> Command {
        self.place
            .run_command(&[PIPELINE, "--declarations", &self.declarations])
    }

    fn publish(&self) -> Answer {
        answer(&mut self.command())
    }

    /// Runs in the registry's home with an exit code, compares the release with one that is built from nothing, and
    /// returns how many subjects were built; none if all rows were.
    #[track_caller]
    fn run(&self, exit_code: i32) -> Option<u64> {
        let answer = self.publish().expect(exit_code);
        eprintln!("{}", answer.stderr);
        let aside = self.place.root().join("aside");
        std::fs::rename(self.place.home(), &aside).unwrap();
        let from_nothing = self.publish();
        std::fs::remove_dir_all(self.place.home()).unwrap();
        std::fs::rename(&aside, self.place.home()).unwrap();
        assert_eq!(answer.release_id(), from_nothing.release_id());
        let (task, expected) = (answer.task(PIPELINE), from_nothing.task(PIPELINE));
        for field in ["rows", "source_rows", "quarantined", "warnings", "notes"] {
            assert_eq!(task[field], expected[field], "{field}");
        }
        task["subjects"]["built"].as_u64()
    }
}

/// Entities by number with their status.
fn statuses(place: &Place) -> BTreeMap<String, Value> {
    place
        .rows("business.entity")
        .into_values()
        .map(|(columns, _)| {
            let number = columns["entity_number"].as_str().unwrap().to_owned();
            (number, columns["status"].clone())
        })
        .collect()
}

#[test]
fn changed_subjects_alone_are_built() {
    let registry = Registry::new();
    assert_eq!(registry.run(0), None);
    let number = |number: usize| format!("L99{number:09}");
    assert_eq!(statuses(&registry.place)[&number(1)], json!("inactive"));

    // The first day leaves the window: an entity is active again, another is gone.
    registry.remove_day("20261001");
    registry.write_day(
        "20261002",
        &[(2, b'I'), (ENTITIES + 2, b'A')],
        "too short\n",
    );
    assert_eq!(registry.run(10), Some(4));
    let known = statuses(&registry.place);
    assert_eq!(known.len(), ENTITIES + 1);
    assert_eq!(known[&number(1)], json!("active"));
    assert_eq!(known[&number(2)], json!("inactive"));
    assert!(!known.contains_key(&number(ENTITIES + 1)));
    assert_eq!(registry.place.rows("pubdata.quarantine").len(), 1);

    // The publisher repairs the day's file.
    registry.write_day("20261002", &[(2, b'I'), (3, b'I')], "");
    assert_eq!(registry.run(0), Some(3));
    assert_eq!(statuses(&registry.place)[&number(3)], json!("inactive"));
    assert_eq!(registry.place.rows("pubdata.quarantine").len(), 0);

    let verified = registry
        .place
        .pubdata(&["verify", "--rebuild", "--json"])
        .expect(0);
    assert_eq!(
        verified.json()["rebuilt"]["replay"],
        json!("match"),
        "{verified:#?}"
    );
}

#[test]
fn changed_archive_of_equal_size_causes_a_full_build() {
    let registry = Registry::new();
    registry.run(0);
    let path = registry.place.file("cordata.zip");
    let before = std::fs::metadata(&path).unwrap();
    registry.write_archive(b'I');
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(registry.run(0), None);
    let last = format!("L99{ENTITIES:09}");
    assert_eq!(statuses(&registry.place)[&last], json!("inactive"));
}

#[test]
fn damaged_file_of_the_last_build_causes_a_full_build() {
    let registry = Registry::new();
    registry.run(0);
    registry.remove_day("20261001");
    registry.write_day("20261002", &[(2, b'I')], "");
    let stored = pubdata_testing::files_below(&registry.place.home().join("snapshots"))
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with("20261001c.txt"))
        .unwrap();
    std::fs::write(stored, "damaged").unwrap();
    assert_eq!(registry.run(10), None);
}

#[test]
fn too_many_changed_subjects_lead_to_a_build_of_all_rows() {
    let registry = Registry::new();
    registry.run(0);
    let changed: Vec<(usize, u8)> = (1..=ENTITIES / 4).map(|number| (number, b'I')).collect();
    registry.write_day("20261002", &changed, "");
    assert_eq!(registry.run(0), None);
}

#[test]
fn killed_run_continues_to_the_same_release() {
    let registry = Registry::new();
    registry.run(0);
    let first = registry.place.root().join("first");
    copy_folder(&registry.place.home(), &first);
    registry.write_day("20261002", &[(2, b'I'), (ENTITIES + 2, b'A')], "");
    assert_eq!(registry.run(0), Some(2));
    let expected = registry.publish().expect(0).release_id();
    for point in FAULT_POINTS {
        std::fs::remove_dir_all(registry.place.home()).unwrap();
        copy_folder(&first, &registry.place.home());
        let mut command = registry.command();
        let killed = command.env(VARIABLE, point).output().unwrap();
        assert_eq!(killed.status.signal(), Some(6), "{point}: {killed:?}");
        registry.place.pubdata(&["verify"]).expect(0);
        let answer = registry.publish().expect(0);
        assert_eq!(answer.release_id(), expected, "{point}");
    }
}
