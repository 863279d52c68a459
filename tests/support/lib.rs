//! Shared test support: fixtures as an editable mirror, temporary homes, runs of the program, an
//! in-process publisher, and an object server.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::new_without_default,
    reason = "a test may panic, prints the reason for a skip, and creates places by name"
)]

pub mod desk;
pub mod objects;
pub mod peers;
pub mod publisher;
pub mod terminal;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pubdata_build::decode::{member_name, member_names};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::Digest;
use pubdata_core::pipeline::{Declaration, Declarations, Source, expand};
use pubdata_fetch::{Clock, FetchProgress, FetchSettings, ProxySettings, mirror_path};
use pubdata_run::{
    self as run, Observer, Plan, RunReport, RunSettings, SharedObserver, TaskReport,
};
use pubdata_store::{self as store, Home, Record, Releases};
use serde_json::Value;
use tempfile::TempDir;

use publisher::archive;

/// Hashes everything that a release of the fixtures depends on: code, declarations, fixtures, and
/// today's date, which is that of files without a date. A change to the API or the command line
/// alone does not change the hash.
fn state_of_the_fixtures() -> String {
    let code = ["core", "store", "fetch", "build", "run"].map(|member| project("src").join(member));
    let declared = ["pipelines", "schemas"].map(project);
    let files = code
        .into_iter()
        .chain(declared)
        .chain(case_sources("basic"))
        .flat_map(|folder| files_below(&folder));
    let mut text = Timestamp::now().strftime("%Y-%m-%d").to_string();
    for file in files {
        text.push_str(&format!(
            "{} {}\n",
            file.display(),
            Digest::sha256(&std::fs::read(&file).unwrap())
        ));
    }
    Digest::sha256(text.as_bytes()).to_string()[..16].to_owned()
}

/// The test binaries, each a folder of `tests/`.
pub const BINARIES: [&str; 4] = ["api", "build", "nightly", "project"];

/// Cargo's output folder, which holds `deps/` with the running test: `target/debug`.
fn target_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().to_owned()
}

/// Path of the program, which Cargo builds before it runs a test binary of the package.
pub fn program() -> PathBuf {
    let program = target_folder().join(format!("pubdata{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{}: the program is not built",
        program.display()
    );
    program
}

/// Path of a folder in this project.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join(path)
}

/// The `source` folders of every fixture case with a name, sorted.
pub fn case_sources(case: &str) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for family in folders(&project("fixtures")) {
        sources.extend(
            folders(&family)
                .into_iter()
                .map(|pipeline| pipeline.join(case).join("source"))
                .filter(|source| source.is_dir()),
        );
    }
    sources
}

/// Folders in a folder, sorted.
pub fn folders(parent: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(parent)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// All files below a folder, sorted.
pub fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

pub fn copy_folder(from: &Path, to: &Path) {
    for file in files_below(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, &target).unwrap();
    }
}

/// A mirror of the basic fixtures and an empty home, in a separate temporary folder.
pub struct Place {
    folder: TempDir,
}

/// Output of the program.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self:#?}"))
    }

    /// Asserts the exit code, and shows the complete output if it differs. A run that published
    /// everything also counts as 0 if some words of the fixtures are unknown: most lists contain
    /// one on purpose. No other issue may need an operator then.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        let is_as_asked = self.code == Some(code)
            || (code == 0 && self.code == Some(10) && self.needs_words_alone());
        assert!(is_as_asked, "expected exit code {code}: {self:#?}");
        self
    }

    /// Returns true if unknown words are the only issues of a run that need an operator.
    fn needs_words_alone(&self) -> bool {
        let Ok(report) = serde_json::from_str::<Value>(&self.stdout) else {
            return false;
        };
        // An empty column does not change the exit code either.
        let is_of_words = |finding: &Value| {
            ["unknown_words", "meaning_lost", "empty_column"]
                .contains(&finding["code"].as_str().unwrap_or_default())
        };
        let needs_nobody_else = |task: &Value| {
            let is_published =
                !["blocked", "missing"].contains(&task["outcome"].as_str().unwrap_or_default());
            let is_quiet = task["is_above_warning_level"] == false && task["late_since"].is_null();
            is_published
                && is_quiet
                && task["findings"]
                    .as_array()
                    .is_some_and(|findings| findings.iter().all(is_of_words))
        };
        report["tasks"]
            .as_array()
            .is_some_and(|tasks| tasks.iter().all(needs_nobody_else))
    }

    /// Outcome of a task, from a run's JSON.
    #[track_caller]
    pub fn task(&self, task_id: &str) -> Value {
        let report = self.json();
        let tasks = report["tasks"].as_array().unwrap();
        tasks
            .iter()
            .find(|task| task["task_id"] == task_id)
            .cloned()
            .unwrap_or_else(|| panic!("no task {task_id}: {report:#}"))
    }

    /// Reasons of a task in one text, with the operator's hints.
    #[track_caller]
    pub fn reasons(&self, task_id: &str) -> String {
        let task = self.task(task_id);
        let reasons = task["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|reason| reason.as_str().unwrap());
        reasons
            .chain(task["next_step"].as_str())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[track_caller]
    pub fn release_id(&self) -> String {
        self.json()["release_id"].as_str().unwrap().to_owned()
    }
}

impl Place {
    /// A place with all fixtures.
    pub fn new() -> Self {
        Self::holding(&[])
    }

    /// A place with the fixtures of some families or pipelines alone, and an operator's selection
    /// of just these.
    pub fn with(selected: &[&str]) -> Self {
        let place = Self::holding(selected);
        std::fs::create_dir_all(place.home()).unwrap();
        std::fs::write(
            place.home().join("pubdata.toml"),
            format!("pipelines = {selected:?}\n"),
        )
        .unwrap();
        place
    }

    fn holding(selected: &[&str]) -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let fixtures = project("fixtures");
        for source in case_sources("basic") {
            let pipeline = source
                .strip_prefix(&fixtures)
                .unwrap()
                .iter()
                .take(2)
                .map(|name| name.to_str().unwrap())
                .collect::<Vec<_>>();
            if selected.is_empty()
                || selected.contains(&pipeline[0])
                || selected.contains(&pipeline.join(".").as_str())
            {
                copy_folder(&source, &place.mirror());
            }
        }
        place
    }

    /// A place with all fixtures that has published once.
    pub fn published() -> Self {
        Self::new().kept("all", |place| drop(place.run(&[]).expect(0)))
    }

    /// A place with some fixtures that has published once.
    pub fn published_with(selected: &[&str]) -> Self {
        Self::with(selected).kept(&selected.join("+"), |place| drop(place.run(&[]).expect(0)))
    }

    /// A place that the first test of a day fills and stores; later tests copy it. The content may
    /// depend only on the code, the declarations and the fixtures.
    pub fn kept(self, name: &str, fill: impl FnOnce(&Self)) -> Self {
        let kept = target_folder()
            .join("tmp")
            .join(format!("kept-{}", state_of_the_fixtures()));
        std::fs::create_dir_all(&kept).unwrap();
        let lock = std::fs::File::create(kept.join(format!("{name}.lock"))).unwrap();
        lock.lock().unwrap();
        let filled = kept.join(name);
        if filled.exists() {
            copy_folder(&filled, self.root());
            return self;
        }
        let of_before = folders(kept.parent().unwrap())
            .into_iter()
            .filter(|folder| *folder != kept);
        of_before
            .filter(|folder| {
                folder
                    .file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("kept-")
            })
            .for_each(|folder| drop(std::fs::remove_dir_all(folder)));
        fill(&self);
        // The copy is complete or absent: a test may be killed here.
        let copying = kept.join(format!("{name}.copying"));
        drop(std::fs::remove_dir_all(&copying));
        let mirror = self.mirror();
        for file in files_below(self.root())
            .into_iter()
            .filter(|file| !file.starts_with(&mirror))
        {
            let target = copying.join(file.strip_prefix(self.root()).unwrap());
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::copy(&file, &target).unwrap();
        }
        std::fs::rename(copying, filled).unwrap();
        self
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn mirror(&self) -> PathBuf {
        self.root().join("mirror")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The only file of the mirror whose path ends so.
    #[track_caller]
    pub fn file(&self, ending: &str) -> PathBuf {
        only(files_below(&self.mirror()), ending)
    }

    /// The only snapshot whose path ends so.
    #[track_caller]
    pub fn snapshot(&self, ending: &str) -> PathBuf {
        only(files_below(&self.home().join("snapshots")), ending)
    }

    #[track_caller]
    pub fn read(&self, ending: &str) -> String {
        std::fs::read_to_string(self.file(ending)).unwrap()
    }

    /// Changes a text file of the mirror; fails if the text stays the same.
    #[track_caller]
    pub fn edit(&self, ending: &str, change: impl FnOnce(String) -> String) {
        let before = self.read(ending);
        let after = change(before.clone());
        assert_ne!(before, after, "{ending} was not changed");
        std::fs::write(self.file(ending), after).unwrap();
    }

    /// Changes the text of the only member of an archive of the mirror.
    #[track_caller]
    pub fn edit_member(&self, ending: &str, change: impl FnOnce(String) -> String) {
        let path = self.file(ending);
        let (name, before) = only_member(&path);
        let after = change(before.clone());
        assert_ne!(before, after, "{ending} was not changed");
        std::fs::write(path, archive(&[(&name, after.as_bytes())])).unwrap();
    }

    /// Changes the members of an archive of the mirror; fails if they stay the same.
    #[track_caller]
    pub fn edit_archive(&self, ending: &str, change: impl FnOnce(&mut BTreeMap<String, String>)) {
        let path = self.file(ending);
        let before = members(&path);
        let mut after = before.clone();
        change(&mut after);
        assert_ne!(before, after, "{ending} was not changed");
        std::fs::write(path, packed(&after)).unwrap();
    }

    /// The program with this home, without settings from the tests' environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        for name in [
            "PUBDATA_HOME",
            "PUBDATA_STORE",
            "PUBDATA_DECLARATIONS",
            "PUBDATA_CONTACT",
            "PUBDATA_CA",
            "PUBDATA_LOG",
            "PUBDATA_KEY",
            "PUBDATA_HOOK",
            "PUBDATA_WEBHOOK",
            "PUBDATA_HEARTBEAT",
            "PUBDATA_METRICS_FILE",
            "PUBDATA_OPENLINEAGE_URL",
            "PUBDATA_OPENLINEAGE_NAMESPACE",
            "PUBDATA_LOG_FORMAT",
            "CENSUS_API_KEY",
            "NO_COLOR",
        ] {
            command.env_remove(name);
        }
        command.args(arguments).arg("--home").arg(self.home());
        command
    }

    pub fn pubdata(&self, arguments: &[&str]) -> Answer {
        answer(&mut self.command(arguments))
    }

    /// `pubdata run --json` on the mirror.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        answer(&mut self.run_command(arguments))
    }

    pub fn run_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["run", "--json"]);
        command.args(arguments).arg("--mirror").arg(self.mirror());
        command
    }

    /// `pubdata plan --json` on the mirror.
    pub fn plan(&self, arguments: &[&str]) -> Answer {
        let mut command = self.command(&["plan", "--json"]);
        command.args(arguments).arg("--mirror").arg(self.mirror());
        answer(&mut command)
    }

    pub fn trace(&self, record_id: &str) -> Answer {
        self.pubdata(&["trace", record_id, "--json"])
    }

    /// The release that the channel points at, from the newest generation's file.
    #[track_caller]
    pub fn current(&self) -> String {
        let generation = files_below(&self.home().join("channels/nightly"))
            .pop()
            .expect("the channel has a release");
        let entry: Value = serde_json::from_slice(&std::fs::read(generation).unwrap()).unwrap();
        entry["release_id"].as_str().unwrap().to_owned()
    }

    pub fn manifest(&self) -> Value {
        let path = self
            .home()
            .join("releases")
            .join(self.current())
            .join("manifest.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// Reasons from the stale marks of the channel `nightly`, by task.
    pub fn stale_tasks(&self) -> BTreeMap<String, String> {
        let value: Value = serde_json::from_slice(
            &std::fs::read(self.home().join("unrenewed/nightly.json")).unwrap(),
        )
        .unwrap();
        let tasks = value["tasks"].as_object().unwrap().iter();
        tasks
            .map(|(task_id, mark)| (task_id.clone(), mark["reason"].as_str().unwrap().to_owned()))
            .collect()
    }

    /// File of a part in the current release.
    pub fn part(&self, path: &str) -> PathBuf {
        self.home().join("releases").join(self.current()).join(path)
    }

    /// Rows of a dataset in the current release by `record_id`, read from its Parquet files.
    pub fn rows(&self, dataset_id: &str) -> BTreeMap<String, Record> {
        rows_below(&self.part(dataset_id))
    }
}

/// Rows of a Parquet file, or of every Parquet file below a folder, by `record_id`; empty if the
/// folder does not exist.
pub fn rows_below(folder: &Path) -> BTreeMap<String, Record> {
    let files = if folder.is_dir() {
        files_below(folder)
    } else {
        folder
            .is_file()
            .then(|| folder.to_owned())
            .into_iter()
            .collect()
    };
    let mut rows = BTreeMap::new();
    for file in files.iter().filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "parquet")
    }) {
        for batch in
            ParquetRecordBatchReaderBuilder::try_new(Bytes::from(std::fs::read(file).unwrap()))
                .unwrap()
                .build()
                .unwrap()
        {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let record = store::record_at(&batch, row).unwrap();
                let record_id = record.0["record_id"].as_str().unwrap().to_owned();
                assert!(
                    rows.insert(record_id.clone(), record).is_none(),
                    "{record_id} occurs twice"
                );
            }
        }
    }
    rows
}

pub fn answer(command: &mut Command) -> Answer {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Answer {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

#[track_caller]
fn only(files: Vec<PathBuf>, ending: &str) -> PathBuf {
    let matches: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    assert_eq!(matches.len(), 1, "{ending}: {matches:?}");
    matches.into_iter().next().unwrap()
}

/// Name and text of the only member of an archive.
pub fn only_member(path: &Path) -> (String, String) {
    let mut archive = zip::ZipArchive::new(Cursor::new(std::fs::read(path).unwrap())).unwrap();
    assert_eq!(archive.len(), 1, "{}", path.display());
    let mut member = archive.by_index(0).unwrap();
    let mut text = String::new();
    member.read_to_string(&mut text).unwrap();
    let name = member.name().unwrap().into_owned();
    (name, text)
}

/// Members of an archive by name.
pub fn members(path: &Path) -> BTreeMap<String, String> {
    member_bytes(path)
        .into_iter()
        .map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap()))
        .collect()
}

/// Members of an archive by name, as bytes in any encoding.
pub fn member_bytes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(std::fs::read(path).unwrap())).unwrap();
    let count = archive.len();
    let read = |number| {
        let mut member = archive.by_index(number).unwrap();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        (member.name().unwrap().into_owned(), bytes)
    };
    (0..count).map(read).collect()
}

/// Packs members into an archive.
pub fn packed(members: &BTreeMap<String, String>) -> Vec<u8> {
    let members: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    archive(&members)
}

/// Settings of a run in this process: the program's declarations, a home, mirrors, and negligible
/// waits.
pub fn settings(home: &Path, mirrors: Vec<String>, files: DeclarationFiles) -> RunSettings {
    let home = Home::open(home).unwrap();
    let fetch = FetchSettings {
        mirrors,
        ..instant_waits()
    };
    RunSettings {
        releases: Releases::open(&home, None).unwrap(),
        declarations: Declarations::load(files).unwrap(),
        fetch,
        channel: "nightly".to_owned(),
        selectors: Vec::new(),
        chosen: run::Chosen::default(),
        is_forced: false,
        is_offline: false,
        accepted: Vec::new(),
        confirmed: Vec::new(),
        part_observer: None,
        home,
    }
}

/// A few attempts with negligible waits.
pub fn instant_waits() -> FetchSettings {
    let wait = Duration::from_millis(1);
    let proxy = ProxySettings::default();
    FetchSettings {
        secret: |_| None,
        tries: 3,
        first_wait: wait,
        longest_wait: wait,
        proxy,
        ..FetchSettings::default()
    }
}

/// Changes the text of the mirror's published files one after the other, and returns the sources by
/// the changed URLs. A file stays as it is if `change` returns none. In a file that is not UTF-8,
/// each byte is a character.
pub fn edit_sources(
    place: &Place,
    change: impl Fn(&str, &Declaration, &Source) -> Option<String>,
) -> BTreeMap<String, String> {
    let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
    let manifest = place.manifest();
    let (mut seen, mut changed) = (BTreeSet::new(), BTreeMap::new());
    for input in manifest["tasks"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|task| task["inputs"].as_array().unwrap())
    {
        let (source_id, url) = (
            input["source_id"].as_str().unwrap(),
            input["url"].as_str().unwrap(),
        );
        if url.starts_with("bundled:") || !seen.insert(url) {
            continue;
        }
        let (declaration, source) = declarations.source(source_id).unwrap();
        let path = place.mirror().join(mirror_path(url).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let after = if bytes.starts_with(b"PK\x03\x04")
            && (source.member.is_some() || source.members.is_some())
        {
            let keys = input["keys"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect();
            let one = source
                .member
                .as_ref()
                .map(|member| vec![member_name(&path, &expand(member, &keys).unwrap()).unwrap()]);
            let names = one.unwrap_or_else(|| {
                member_names(&path, source.members.as_deref().unwrap()).unwrap()
            });
            let mut archive_of = zip::ZipArchive::new(Cursor::new(&bytes)).unwrap();
            let mut is_edited = false;
            let mut all: Vec<(String, Vec<u8>)> = Vec::new();
            for number in 0..archive_of.len() {
                let mut member = archive_of.by_index(number).unwrap();
                let mut content = Vec::new();
                member.read_to_end(&mut content).unwrap();
                let name = member.name().unwrap().into_owned();
                let edited = Some(&name)
                    .filter(|name| names.contains(*name))
                    .and_then(|_| change(&one_by_one(&content), declaration, source));
                is_edited |= edited.is_some();
                all.push((name, edited.map_or(content, |text| as_bytes(&text))));
            }
            let all: Vec<(&str, &[u8])> = all
                .iter()
                .map(|(name, content)| (name.as_str(), content.as_slice()))
                .collect();
            is_edited.then(|| archive(&all))
        } else {
            change(&one_by_one(&bytes), declaration, source).map(|text| as_bytes(&text))
        };
        if let Some(after) = after {
            assert_ne!(bytes, after, "{url} was not changed");
            std::fs::write(&path, after).unwrap();
            changed.insert(url.to_owned(), source_id.to_owned());
        }
    }
    changed
}

fn one_by_one(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn as_bytes(text: &str) -> Vec<u8> {
    text.chars()
        .map(|character| u8::try_from(u32::from(character)).unwrap())
        .collect()
}

/// Runs in this process.
pub async fn run_here(settings: &RunSettings) -> RunReport {
    run::run(settings, &(Arc::new(NoopObserver) as SharedObserver))
        .await
        .unwrap()
}

/// Plans in this process.
pub async fn plan_here(settings: &RunSettings) -> Plan {
    run::plan(settings, &(Arc::new(NoopObserver) as SharedObserver))
        .await
        .unwrap()
}

/// A fixed clock.
pub struct ClockAt(pub Timestamp);

impl Clock for ClockAt {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Ignores all progress.
pub struct NoopObserver;

impl FetchProgress for NoopObserver {
    fn started(&self, _: &str, _: Option<u64>) {}
    fn advanced(&self, _: u64) {}
    fn finished(&self) {}
}

impl Observer for NoopObserver {
    fn on_fetch_started(&self, _: usize) {}
    fn on_fetched(&self, _: &str, _: &str) {}
    fn on_task_started(&self, _: &str) {}
    fn on_task_built(&self, _: &TaskReport) {}
}

/// File or folder of real agency data below `PUBDATA_SHARED_DATA` (`../shared/data` by default).
/// Returns none and prints the reason if it does not exist.
pub fn shared_data(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PUBDATA_SHARED_DATA")
        .map_or_else(|| project("../shared/data"), PathBuf::from);
    let found = root.join(path);
    if !found.exists() {
        eprintln!(
            "skipped: no {}; PUBDATA_SHARED_DATA names a folder of real agency files",
            found.display()
        );
        return None;
    }
    Some(found)
}
