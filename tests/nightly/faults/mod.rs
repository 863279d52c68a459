//! Checks how faults of the machine, of files and of other processes affect each command: tests the
//! promises of `docs/FAULTS.md`.
//!
//! The ground is a home so small that a command on it takes a few hundredths of a second: one
//! pipeline, two releases, and data for a third run.

mod at_once;
mod clock;
mod damaged;
mod disk_full;
mod kinds;
mod limits;
mod page;
mod pipes;
mod rights;
mod running;
mod signals;
mod slow;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use pubdata_testing::{Answer, answer, copy_folder, files_below, project};

/// File that each run on the ground fetches.
const LIST: &str =
    "www2.census.gov/programs-surveys/popest/datasets/2020-2024/cities/totals/sub-est2024.csv";

const SOURCE: &str = "census.population_estimate";

/// Record of every release of the ground.
const RECORD: &str = "geo.population:5604399990";

/// Environment variables of the tests that no command may see.
const SETTINGS: [&str; 9] = [
    "PUBDATA_STORE",
    "PUBDATA_CONTACT",
    "PUBDATA_CA",
    "PUBDATA_HOOK",
    "PUBDATA_WEBHOOK",
    "PUBDATA_HEARTBEAT",
    "PUBDATA_METRICS_FILE",
    "PUBDATA_LOG_FORMAT",
    "NO_COLOR",
];

/// Home with two releases, a key, an acceptance and an event log, the mirror for the next run, and
/// the declarations of both.
struct Ground {
    folder: TempDir,
    /// Secret of the key.
    key: String,
}

impl Ground {
    /// Creates a home after two runs; the data for the third run has another figure.
    fn new() -> Self {
        let mut ground = Self {
            folder: tempfile::tempdir().unwrap(),
            key: String::new(),
        };
        copy_folder(&project("schemas"), &ground.path("declarations/schemas"));
        let declaration =
            std::fs::read_to_string(project("pipelines/census/population.toml")).unwrap();
        let floor = declaration
            .lines()
            .find(|line| line.starts_with("min_bytes"))
            .unwrap();
        ground.put(
            "declarations/pipelines/census/population.toml",
            declaration.replace(floor, "min_bytes = 1"),
        );
        ground.put(
            "declarations/pipelines/sec/current_filings.toml",
            std::fs::read(project("pipelines/sec/current_filings.toml")).unwrap(),
        );
        ground.put("mirror/.pubdata-mirror", "sample = true\n");
        for figure in ["5157699", "5157700"] {
            ground.night(figure);
            ground.run().expect(0);
        }
        let made = ground
            .pubdata(&[
                "keys",
                "create",
                "--name",
                "reader",
                "--scopes",
                "geo,general,admin",
                "--json",
            ])
            .expect(0)
            .json();
        made["key"].as_str().unwrap().clone_into(&mut ground.key);
        ground
            .pubdata(&["accept", "census.population:shrink"])
            .expect(0);
        ground
            .pubdata(&[
                "follow",
                "--once",
                "--mirror",
                ground.mirror().to_str().unwrap(),
            ])
            .expect(0);
        ground.night("5157701");
        ground
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    fn mirror(&self) -> PathBuf {
        self.path("mirror")
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes the source file for the next run, with the given figure for Alabama.
    fn night(&self, figure: &str) {
        let text = std::fs::read_to_string(project(&format!(
            "fixtures/census/population/basic/source/{LIST}"
        )))
        .unwrap();
        assert_eq!(
            text.matches(",5157699\n").count(),
            1,
            "the figure of Alabama"
        );
        self.put(
            &format!("mirror/{LIST}"),
            text.replace(",5157699\n", &format!(",{figure}\n")),
        );
    }

    /// Returns the age of the source file.
    fn age_of_the_list(&self) -> Duration {
        self.mirror()
            .join(LIST)
            .metadata()
            .unwrap()
            .modified()
            .unwrap()
            .elapsed()
            .unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
        self.dress(&mut command);
        command.args(arguments);
        command
    }

    /// Starts the program below a shell that sets a limit first: `ulimit -n 20`.
    fn limited(&self, limit: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        self.dress(&mut command);
        command
            .args([
                "-c",
                &format!("{limit}; exec \"$0\" \"$@\""),
                env!("CARGO_BIN_EXE_pubdata"),
            ])
            .args(arguments);
        command
    }

    fn dress(&self, command: &mut Command) {
        for name in SETTINGS {
            command.env_remove(name);
        }
        command
            .env("PUBDATA_HOME", self.home())
            .env("PUBDATA_DECLARATIONS", self.path("declarations"));
        command
            .env("PUBDATA_LOG", "warn")
            .env("RUST_BACKTRACE", "0");
    }

    fn pubdata(&self, arguments: &[&str]) -> Answer {
        answer(&mut self.command(arguments))
    }

    /// Returns the arguments of the next run.
    fn tonight(&self) -> Vec<String> {
        ["run", "--json", "--mirror", self.mirror().to_str().unwrap()]
            .map(str::to_owned)
            .to_vec()
    }

    fn run(&self) -> Answer {
        answer(self.command(&[]).args(self.tonight()))
    }

    /// Returns every command that reads or writes a home, with its name in the page.
    fn commands(&self) -> Vec<(&'static str, Vec<String>)> {
        let (mirror, list) = (
            self.mirror().display().to_string(),
            self.mirror().join(LIST).display().to_string(),
        );
        let first = self.first_release();
        [
            ("plan", vec!["plan", "--mirror", &mirror]),
            ("fetch", vec!["fetch", "--mirror", &mirror]),
            ("run", vec!["run", "--mirror", &mirror]),
            ("import", vec!["import", SOURCE, &list]),
            ("accept", vec!["accept", "census.population:shrink"]),
            (
                "keys create",
                vec!["keys", "create", "--name", "another", "--scopes", "geo"],
            ),
            ("releases promote", vec!["releases", "promote"]),
            ("releases rollback", vec!["releases", "rollback"]),
            (
                "releases prune",
                vec!["releases", "prune", "--keep", "1", "--snapshots"],
            ),
            ("follow", vec!["follow", "--once", "--mirror", &mirror]),
            ("status", vec!["status"]),
            ("metrics", vec!["metrics"]),
            ("releases list", vec!["releases", "list"]),
            ("releases show", vec!["releases", "show"]),
            ("releases diff", vec!["releases", "diff", &first]),
            ("trace", vec!["trace", RECORD]),
            ("verify", vec!["verify", "--rebuild"]),
            ("upgrade", vec!["upgrade"]),
            ("probe", vec!["probe", "--mirror", &mirror]),
            ("keys list", vec!["keys", "list"]),
            ("accept --list", vec!["accept", "--list"]),
            ("settings", vec!["settings"]),
            ("check", vec!["check"]),
            ("schema", vec!["schema", "dictionary"]),
        ]
        .map(|(name, arguments)| (name, arguments.into_iter().map(str::to_owned).collect()))
        .into()
    }

    /// Returns the files of the nightly channel, oldest first.
    fn moves(&self) -> Vec<PathBuf> {
        files_below(&self.home().join("channels/nightly"))
            .into_iter()
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect()
    }

    fn first_release(&self) -> String {
        release_of(&self.moves()[0])
    }

    fn current(&self) -> String {
        release_of(self.moves().last().unwrap())
    }

    /// Saves the home as it is now, to restore it later.
    fn keep(&self) {
        copy_folder(&self.home(), &self.path("kept"));
    }

    fn back(&self) {
        std::fs::remove_dir_all(self.home()).unwrap();
        copy_folder(&self.path("kept"), &self.home());
    }

    /// Returns the release that an undisturbed next run builds, and restores the home.
    fn expected(&self) -> String {
        self.keep();
        let expected = self.run().expect(0).release_id();
        self.back();
        assert_ne!(expected, self.current(), "the next run changes the release");
        expected
    }

    /// Checks recovery after any fault: readers see the old or the new release, whole, and the next
    /// run builds exactly the new one.
    #[track_caller]
    fn heals(&self, expected: &str, what: &str) {
        let current = self.current();
        let before = ["0000000001", "0000000002"]
            .map(|number| release_of(&self.path(&format!("kept/channels/nightly/{number}.json"))));
        assert!(
            current == expected || before.contains(&current),
            "{what}: {current}"
        );
        let whole = self.pubdata(&["verify"]);
        assert_eq!(whole.code, Some(0), "{what}: {whole:#?}");
        let next = self.run();
        assert_eq!(next.code, Some(0), "{what}: the next run: {next:#?}");
        assert_eq!(
            (next.release_id().as_str(), self.current().as_str()),
            (expected, expected),
            "{what}: the next run"
        );
        self.pubdata(&["verify"]).expect(0);
        self.pubdata(&["status"]).expect(0);
    }
}

fn release_of(file: &Path) -> String {
    let entry: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    entry["release_id"].as_str().unwrap().to_owned()
}

/// Checks that an operator can act on the message: it names the subject, gives a hint, and reports
/// no defect of the program.
#[track_caller]
fn assert_helpful(answer: &Answer, names: &str, what: &str) {
    assert!(
        answer.stderr.contains(names),
        "{what}: it names {names}: {answer:#?}"
    );
    assert!(
        answer.stderr.contains("hint: "),
        "{what}: it gives a hint: {answer:#?}"
    );
    assert!(!answer.stderr.contains("panicked"), "{what}: {answer:#?}");
}
