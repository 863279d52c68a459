//! Runs every command with `--json`, with success and with errors, and collects what it prints.

use std::path::Path;

use jiff::Timestamp;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::Digest;
use pubdata_store::{Home, Keys, Manifest, Plans};
use serde_json::Value;

use super::COMMANDS;
use pubdata_testing::desk::{Desk, SOURCE};
use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{Place, answer, case_sources, copy_folder, files_below, project};

const PERMITS: &str = "permit.nola";
const PERMITS_FILE: &str = "72f9-bi28/rows.csv@accessType=DOWNLOAD";
const RECORD: &str = "permit.permit:us-la-new_orleans:15-14478-EVAC";
const SEATTLE: &str = "76t5-zqzr/rows.csv@accessType=DOWNLOAD";
const AREAS: &str = "2025_Gaz_zcta_national.zip";

/// A home from before releases carried their declarations, and its release.
const EARLIER_HOME: &str = "tests/formats/home-of-2026-11-22";
const EARLIER_RELEASE: &str = "rb36900cabaaee90b7132";

/// A document, the command that printed it, and the arguments.
pub struct Example {
    pub command: String,
    pub requested: String,
    pub document: Value,
}

#[derive(Default)]
struct Transcript(Vec<Example>);

impl Transcript {
    /// Runs a command with `--json` and keeps its document or its error.
    #[track_caller]
    fn ask(&mut self, place: &Place, code: i32, arguments: &[&str]) -> Value {
        let answer = answer(
            place
                .command(&[arguments, &["--json"]].concat())
                .env_remove("SUDO_USER")
                .env("USER", "ada"),
        )
        .expect(code);
        let text = if answer.stdout.is_empty() {
            answer.stderr.lines().last().unwrap_or_default()
        } else {
            &answer.stdout
        };
        let document: Value = serde_json::from_str(text).unwrap_or_else(|error| {
            panic!("{arguments:?}: not one document ({error}): {answer:#?}")
        });
        let is_command = |(command, _): &&(&str, &[&str])| {
            command
                .split(' ')
                .eq(arguments.iter().copied().take(command.split(' ').count()))
        };
        let command = COMMANDS
            .iter()
            .find(is_command)
            .map_or("", |(command, _)| command);
        self.0.push(Example {
            command: command.to_owned(),
            requested: arguments.join(" "),
            document: document.clone(),
        });
        document
    }

    fn take(&mut self, command: &str, path: &Path) {
        let document = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        self.0.push(Example {
            command: command.to_owned(),
            requested: command.to_owned(),
            document,
        });
    }
}

/// Scenes run in parallel, each in its own home.
const SCENES: [fn(&mut Transcript); 8] = [
    nights,
    placed_work,
    manual_imports,
    home_of_before,
    declarations,
    new_list,
    keys_and_settings,
    mistakes,
];

pub async fn all() -> Vec<Example> {
    let of = |scene: fn(&mut Transcript)| {
        move || {
            let mut transcript = Transcript::default();
            scene(&mut transcript);
            transcript.0
        }
    };
    let scenes = SCENES.map(|scene| tokio::task::spawn_blocking(of(scene)));
    let mut examples = of_a_server().await.0;
    for scene in scenes {
        examples.extend(scene.await.unwrap());
    }
    examples
}

/// Three nightly runs, the last with one file missing and one truncated; then every command that
/// inspects their releases.
fn nights(transcript: &mut Transcript) {
    let place = Place::new();
    let mirror = place.mirror().display().to_string();
    // One in three statuses of Cleveland has no known meaning.
    let selected = [
        PERMITS,
        "permit.cleveland",
        "census.gazetteer",
        "sec",
        "zip",
        "license.tx_tdlr",
        "--mirror",
        &mirror,
    ];
    let with = |command: &'static str| [&[command], &selected[..]].concat();
    transcript.ask(&place, 0, &with("plan"));
    transcript.ask(&place, 0, &with("fetch"));
    transcript.ask(&place, 0, &with("run"));
    let first = place.current();
    place.edit(PERMITS_FILE, |text| {
        text.replace("15-14477-EVAC,VACANCY", "15-14478-EVAC,VACANCY")
    });
    transcript.ask(&place, 0, &with("run"));
    transcript.ask(&place, 0, &["releases", "diff", &first]);
    transcript.ask(
        &place,
        0,
        &[
            "releases",
            "diff",
            &first,
            "--why",
            "--dataset",
            "permit.permit",
        ],
    );
    let secret = place.root().join("signing.key").display().to_string();
    let key = transcript.ask(
        &place,
        0,
        &[
            "keys",
            "signing",
            "--name",
            "data.example.org/2026",
            "--output",
            &secret,
        ],
    )["key"]
        .take();
    transcript.ask(&place, 0, &["seal", "--signing-key", &secret]);
    let receipt = place.root().join("receipt.json");
    let issued = place.pubdata(&["receipt", RECORD]).expect(0).stdout;
    for (code, text) in [
        (0, issued.clone()),
        (1, issued.replace("VACANCY", "vacancy")),
    ] {
        std::fs::write(&receipt, text).unwrap();
        transcript.ask(
            &place,
            code,
            &[
                "verify-receipt",
                receipt.to_str().unwrap(),
                "--key",
                key.as_str().unwrap(),
            ],
        );
    }

    std::fs::remove_file(place.file(AREAS)).unwrap();
    place.edit(PERMITS_FILE, |text| {
        text.lines()
            .take(2)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    let (script, message) = (
        place.root().join("hook.sh"),
        place.root().join("message.json"),
    );
    std::fs::write(&script, "cat > \"$1\"\n").unwrap();
    let hook = format!("sh {} {}", script.display(), message.display());
    transcript.ask(
        &place,
        20,
        &[
            &with("run")[..],
            &["--hook", &hook, "--accept", "permit.nola:floor"],
        ]
        .concat(),
    );
    transcript.take("hook", &message);
    let unheard = place.root().join("no/such/hook");
    transcript.ask(
        &place,
        40,
        &["run", "--test-message", "--hook", unheard.to_str().unwrap()],
    );
    transcript.ask(
        &place,
        0,
        &[
            "run",
            "--test-message",
            "--hook",
            &hook,
            "--metrics-file",
            place.root().join("pubdata.prom").to_str().unwrap(),
        ],
    );
    transcript.take("hook", &message);
    transcript.ask(&place, 20, &with("plan"));
    transcript.ask(&place, 0, &["status"]);

    transcript.ask(
        &place,
        0,
        &[
            "accept",
            "permit.nola:shrink",
            "--until",
            "2099-12-31",
            "--dry-run",
        ],
    );
    transcript.ask(&place, 0, &["accept", "permit.nola:drift"]);
    transcript.ask(
        &place,
        0,
        &[
            "accept",
            "business.fl_cordata:host_key=SHA256:AAAAC3NzaC1lZDI1NTE5AAAAIBbW7jPU1v5yYkVoXz0",
        ],
    );
    transcript.ask(&place, 0, &["accept", "--list"]);
    transcript.ask(&place, 0, &["accept", "permit.nola:drift", "--withdraw"]);

    transcript.ask(&place, 0, &["releases", "show"]);
    transcript.ask(&place, 0, &["releases", "show", &first]);
    for arguments in [
        &["promote", "--dry-run"][..],
        &["promote"],
        &["promote"],
        &["rollback", "--dry-run"],
        &["rollback"],
        &["rollback", "--to", &place.current()],
    ] {
        transcript.ask(&place, 0, &[&["releases"], arguments].concat());
    }
    transcript.ask(&place, 0, &["trace", RECORD]);
    transcript.ask(&place, 0, &["trace", "0009900001-25-000009"]);
    transcript.ask(&place, 0, &["verify", "--rebuild"]);
    transcript.ask(
        &place,
        0,
        &[
            "releases",
            "prune",
            "--keep",
            "1",
            "--snapshots",
            "--dry-run",
        ],
    );
    transcript.ask(&place, 0, &["releases", "list"]);
    transcript.ask(
        &place,
        0,
        &[
            "follow",
            "--once",
            "--day",
            "2026-11-20",
            "--mirror",
            &mirror,
        ],
    );
    transcript.ask(&place, 0, &["upgrade"]);

    let snapshot = place.snapshot(AREAS);
    let mut bytes = std::fs::read(&snapshot).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::remove_file(&snapshot).unwrap();
    std::fs::write(&snapshot, bytes).unwrap();
    transcript.ask(&place, 1, &["verify"]);
    transcript.ask(&place, 0, &["releases", "prune", "--keep", "1"]);
    let manifest = place.part("manifest.json");
    std::fs::remove_file(&manifest).unwrap();
    std::fs::write(&manifest, "{}").unwrap();
    transcript.ask(&place, 0, &["releases", "list"]);
    transcript.ask(&place, 60, &["releases", "show"]);
}

/// A distributed run: planned, built task by task, and committed; one file is damaged.
fn placed_work(transcript: &mut Transcript) {
    let place = Place::new();
    place.edit(PERMITS_FILE, |text| {
        text.lines()
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    let mirror = place.mirror().display().to_string();
    let plan = transcript.ask(
        &place,
        0,
        &[
            "plan",
            "--write",
            PERMITS,
            "license.tx_tdlr",
            "--mirror",
            &mirror,
        ],
    )["plan"]
        .as_str()
        .unwrap()
        .to_owned();
    let of = |what: &'static str, task: &'static str, which: &'static str| {
        ["task", what, "--plan", &plan, "--task", task, which, "0"].map(str::to_owned)
    };
    for (code, arguments) in [
        (20, of("build", PERMITS, "--unit")),
        (30, of("build", "license.tx_tdlr", "--unit")),
        (0, of("split", "license.tx_tdlr", "--input")),
    ] {
        transcript.ask(
            &place,
            code,
            &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
    transcript.ask(&place, 30, &["commit", "--plan", &plan]);
    transcript.ask(
        &place,
        0,
        &[
            "task",
            "split",
            "--plan",
            &plan,
            "--task",
            "license.tx_tdlr",
            "--input",
            "0,1",
        ],
    );
    transcript.ask(
        &place,
        0,
        &[
            "task",
            "build",
            "--plan",
            &plan,
            "--task",
            "license.tx_tdlr",
            "--unit",
            "0,1,2,3,4,5,6,7",
        ],
    );
    transcript.ask(&place, 20, &["commit", "--plan", &plan]);
}

/// A manually downloaded file: with another date, refused, published, and withdrawn.
fn manual_imports(transcript: &mut Transcript) {
    let desk = Desk::by_hand();
    let (file, page) = (
        desk.downloaded().display().to_string(),
        desk.place.root().join("page.csv"),
    );
    std::fs::write(
        &page,
        "<!DOCTYPE html><html><body>Access denied</body></html>",
    )
    .unwrap();
    for (code, arguments) in [
        (0, &["import", SOURCE, &file, "--date", "2026-11-19"][..]),
        (0, &["import", SOURCE, &file, "--date", "2026-11-20"]),
        (30, &["import", SOURCE, page.to_str().unwrap()]),
        (10, &["run", SOURCE]),
        (0, &["accept", SOURCE]),
        (0, &["releases", "show"]),
        (0, &["import", SOURCE, "--withdraw"]),
        (0, &["status"]),
    ] {
        transcript.ask(
            &desk.place,
            code,
            &[arguments, &["--declarations", &desk.declarations]].concat(),
        );
    }
}

/// A home of an earlier version, and what a later version did to it.
fn home_of_before(transcript: &mut Transcript) {
    let place = Place::new();
    copy_folder(&project(EARLIER_HOME), &place.home());
    transcript.ask(&place, 0, &["releases", "show", EARLIER_RELEASE]);
    transcript.ask(&place, 0, &["upgrade"]);
    transcript.ask(&place, 0, &["accept", "--list"]);
    transcript.ask(&place, 2, &["verify", "--rebuild"]);
    transcript.ask(&place, 0, &["status"]);
    let marked = marked(&place);
    transcript.ask(&place, 0, &["releases", "diff", EARLIER_RELEASE, &marked]);
    transcript.ask(&place, 0, &["releases", "show", &marked]);
    let ledger = place.home().join("ledger.jsonl");
    let text = std::fs::read_to_string(&ledger).unwrap();
    std::fs::write(
        &ledger,
        text.replacen("\"format_version\":1", "\"format_version\":9", 1),
    )
    .unwrap();
    transcript.ask(&place, 60, &["upgrade"]);
}

/// Marks the release as earlier programs did when they published it again because a source was
/// missing.
fn marked(place: &Place) -> String {
    let folder = place.home().join("releases").join(EARLIER_RELEASE);
    let mut manifest =
        Manifest::from_json(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let task = manifest.tasks.get_mut(PERMITS).unwrap();
    (task.is_stale, task.stale_reason) = (true, Some("the server answered 503".to_owned()));
    // Still earlier versions did not record the evidence for a layout.
    task.layout_evidence = None;
    manifest.release_id = manifest.derive_release_id();
    let marked = folder.with_file_name(manifest.release_id.as_str());
    copy_folder(&folder, &marked);
    std::fs::write(marked.join("manifest.json"), manifest.to_json()).unwrap();
    manifest.release_id.to_string()
}

/// Contracts, and declarations with an error.
fn declarations(transcript: &mut Transcript) {
    let place = Place::new();
    transcript.ask(&place, 0, &["check"]);
    transcript.ask(
        &place,
        0,
        &[
            "check",
            "--store",
            &format!("file://{}", place.root().join("store").display()),
        ],
    );
    transcript.ask(&place, 0, &["schema", "dictionary"]);
    transcript.ask(&place, 0, &["schema", "show", "geo.school"]);
    let folder = place.root().join("declarations");
    copy_folder(&project("schemas"), &folder.join("schemas"));
    copy_folder(&project("pipelines"), &folder.join("pipelines"));
    let path = folder.join("pipelines/census/acs5.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("cadence = \"yearly\"", "cadence = \"sometimes\"", 1),
    )
    .unwrap();
    transcript.ask(
        &place,
        40,
        &["check", "--declarations", folder.to_str().unwrap()],
    );

    let mirror = place.mirror().display().to_string();
    place.edit(SEATTLE, |text| {
        text.replacen(",PermitNum,", ",Permit Number,", 1)
    });
    transcript.ask(
        &place,
        20,
        &[
            "probe",
            "permit.seattle",
            "license.fl_dbpr",
            "--mirror",
            &mirror,
        ],
    );
}

fn new_list(transcript: &mut Transcript) {
    let place = Place::new();
    let (file, folder) = (place.root().join("permits.csv"), place.root().join("lists"));
    let mut text = "Record Number,Permit Type,Current Status,Issue Date,Project Value,Site Address,Site City,Site Zip,Inspector\n".to_owned();
    for number in 1..=20 {
        let status = if number == 5 { "Teleported" } else { "Issued" };
        text.push_str(&format!("SPR-2025-{number:05},Electrical,{status},02/{number:02}/2025,\"$1,{number:03}.50\",{number} Oak St,Springfield,62701,Pat\n"));
    }
    std::fs::write(&file, text).unwrap();
    let url = "https://data.springfield.example.org/permits.csv";
    transcript.ask(
        &place,
        0,
        &[
            "new",
            "permit",
            "us-il-springfield",
            "--url",
            url,
            "--file",
            file.to_str().unwrap(),
            "--declarations",
            folder.to_str().unwrap(),
        ],
    );
}

fn keys_and_settings(transcript: &mut Transcript) {
    let place = Place::new();
    let key = transcript.ask(
        &place,
        0,
        &[
            "keys",
            "create",
            "--name",
            "ann",
            "--scopes",
            "geo,sec",
            "--expires-in-days",
            "30",
        ],
    );
    let keys = Keys::open(&Home::open(&place.home()).unwrap());
    keys.rotate(
        key["id"].as_str().unwrap(),
        &Digest::sha256(key["key"].as_str().unwrap().as_bytes()),
        60,
        Timestamp::now(),
    )
    .unwrap();
    let invitation = transcript.ask(
        &place,
        0,
        &[
            "keys",
            "invite",
            "--name",
            "bob",
            "--scopes",
            "geo",
            "--expires",
            "12h",
            "--key-expires-in-days",
            "90",
        ],
    );
    keys.redeem(
        &Digest::sha256(token_of(&invitation).as_bytes()),
        &Plans::load(&DeclarationFiles::built_in()).unwrap(),
        Timestamp::now(),
    )
    .unwrap();
    let taken_back = transcript.ask(
        &place,
        0,
        &["keys", "invite", "--name", "eve", "--scopes", "geo"],
    );
    transcript.ask(
        &place,
        0,
        &["keys", "revoke", taken_back["id"].as_str().unwrap()],
    );
    transcript.ask(&place, 0, &["keys", "list"]);
    transcript.ask(&place, 0, &["keys", "revoke", key["id"].as_str().unwrap()]);
    std::fs::write(
        place.home().join("pubdata.toml"),
        "pipelines = [\"census\"]\n[serve]\nbind = \"127.0.0.1:9000\"\n",
    )
    .unwrap();
    transcript.ask(&place, 0, &["settings"]);
    transcript.ask(&place, 0, &["settings", "--all"]);
}

/// Token of an invitation's link.
fn token_of(invitation: &Value) -> &str {
    invitation["link"]
        .as_str()
        .unwrap()
        .split_once("?invite=")
        .unwrap()
        .1
}

fn mistakes(transcript: &mut Transcript) {
    let place = Place::new();
    transcript.ask(&place, 40, &["run", "--no-such-flag"]);
    transcript.ask(&place, 40, &["status"]);
    transcript.ask(&place, 40, &["trace", "nothing"]);
    transcript.ask(&place, 40, &["schema", "json", "pubdata.task"]);
}

/// A server that redirects to another address.
async fn of_a_server() -> Transcript {
    let publisher = Publisher::start().await;
    for folder in case_sources("basic") {
        publisher.serve_folder(&folder);
    }
    let place = Place::new();
    let path = place.file(PERMITS_FILE);
    let target = format!("/{}", path.strip_prefix(place.mirror()).unwrap().display());
    publisher.route(
        "/data.nola.gov/elsewhere",
        vec![Reply::file(std::fs::read(&path).unwrap())],
    );
    publisher.route(
        &target,
        vec![Reply::status(302).header("location", &publisher.url("/data.nola.gov/elsewhere"))],
    );
    let url = publisher.base_url();
    let listening = crate::serve::Listening::new().await;
    let (server, key, files) = (
        listening.url.clone(),
        listening.served.key.clone(),
        listening.served.place.mirror().display().to_string(),
    );
    tokio::task::spawn_blocking(move || {
        let mut transcript = Transcript::default();
        transcript.ask(
            &place,
            0,
            &[
                "verify",
                "--url",
                &server,
                "--api-key",
                &key,
                "--records",
                "4",
                "--mirror",
                &files,
            ],
        );
        transcript.ask(&place, 0, &["verify", "--url", &server, "--records", "0"]);
        transcript.ask(&place, 40, &["verify", "--url", &server]);
        transcript.ask(&place, 0, &["run", PERMITS, "--mirror", &url]);
        transcript.ask(&place, 0, &["releases", "show"]);
        transcript.ask(&place, 0, &["probe", PERMITS, "--mirror", &url]);
        assert!(!files_below(&place.home()).is_empty());
        transcript
    })
    .await
    .unwrap()
}
