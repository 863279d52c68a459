//! Checks that foreign text reaches an operator's terminal as text: it cannot set the title, clear
//! the screen or reverse the direction of characters.

use std::path::Path;

use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::terminal::{Screen, on_terminal};
use pubdata_testing::{Place, copy_folder, project};
use serde_json::{Value, json};

use super::own_declarations::change;

/// Sets the title, clears the screen in two ways, and reverses the direction of characters.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}\u{2066}\u{200f}";
/// The same in a header, which cannot contain an escape.
const HOSTILE_HEADER: &str = "\u{9b}2J\u{202e}\u{2066}\u{200f}";
const RECORD: &str = "permit.permit:us-la-new_orleans:15-14477-EVAC";
const ROWS: &str = "72f9-bi28/rows.csv@accessType=DOWNLOAD";
const SCHOOLS: &str = "ccd_sch_029_2526_w_0a_050626.zip";

/// Runs a command on a terminal with an environment, and checks that no foreign text controls the
/// terminal.
#[track_caller]
fn shown_with(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Screen {
    let mut command = place.command(arguments);
    command
        .env_remove("SUDO_USER")
        .envs(environment.iter().copied());
    let screen = on_terminal(command);
    assert_eq!(
        screen.obeyed(),
        Vec::<char>::new(),
        "{arguments:?}: {screen:#?}"
    );
    screen
}

#[track_caller]
fn shown(place: &Place, arguments: &[&str]) -> Screen {
    shown_with(place, arguments, &[("USER", "ada")])
}

/// Runs a command that prints a hostile text, and checks that it appears as text.
#[track_caller]
fn reported(place: &Place, arguments: &[&str]) -> String {
    let screen = shown(place, arguments);
    assert!(
        screen.text.contains("\\u{202e}") || screen.text.contains("\\u202e"),
        "{arguments:?} does not show it: {screen:#?}"
    );
    screen.text
}

/// Creates a published list and archive of schools, then puts hostile texts into cells and member
/// names.
fn attacked() -> Place {
    let place = Place::with(&["permit.nola", "nces"]);
    place.run(&[]).expect(0);
    place.edit(ROWS, |text| {
        text.replace("EVAC,VACANCY", &format!("EVAC,VACANCY {HOSTILE}"))
            .replace(",HDLC,HDLC COA,", &format!(",HDLC,{HOSTILE},"))
    });
    place.edit_archive(SCHOOLS, |members| {
        drop(members.insert(format!("{HOSTILE}.csv"), String::new()));
    });
    place
}

#[test]
fn cells_and_member_names_of_publishers_are_shown_as_text() {
    let place = attacked();
    let mirror = place.mirror();
    let mirror = ["--mirror", mirror.to_str().unwrap()];
    let before = place.current();
    shown(&place, &[&["probe"][..], &mirror].concat());
    let run = reported(&place, &[&["run"][..], &mirror].concat());
    assert!(run.contains("members match `*.csv`"), "{run}");
    assert!(
        run.contains("\u{1b}[32mpublished\u{1b}[0m"),
        "our own styles are kept: {run}"
    );
    reported(
        &place,
        &[&["run", "--force", "--verbose"][..], &mirror].concat(),
    );
    for command in [&["plan"][..], &["fetch"]] {
        shown(&place, &[command, &mirror].concat());
    }
    for command in [
        &["trace", RECORD][..],
        &["trace", RECORD, "--json"],
        &["status"],
        &["status", "--verbose"],
        &["status", "--json"],
        &["releases", "show"],
        &["releases", "show", "--json"],
        &["releases", "diff", &before],
        &["releases", "diff", &before, "--json"],
    ] {
        reported(&place, command);
    }
    for command in [
        &["releases", "list"][..],
        &["releases", "duckdb"],
        &["releases", "prune", "--keep", "1", "--dry-run"],
        &["verify"],
        &["verify", "--rebuild"],
        &["metrics"],
        &["upgrade"],
        &["settings"],
        &["receipt", RECORD],
    ] {
        shown(&place, command);
    }
    let trace = shown(&place, &["trace", RECORD, "--json"]);
    let json: Value = serde_json::from_str(&trace.text).unwrap();
    assert!(
        json["sources"][0]["text"]
            .as_str()
            .unwrap()
            .contains(HOSTILE),
        "JSON contains what the publisher wrote: {json:#}"
    );
}

#[test]
fn names_of_keys_and_of_users_are_shown_as_text() {
    let place = Place::with(&["permit.nola"]);
    let key = json!({
        "id": "k000000000000", "name": HOSTILE, "sha256": "0".repeat(64), "scopes": ["geo"], "plan": "standard", "created_at": "2026-11-20T00:00:00Z",
        "expires_at": null, "revoked_at": null,
    });
    std::fs::write(
        place.home().join("keys.json"),
        json!({ "format_version": 1, "keys": [key] }).to_string(),
    )
    .unwrap();
    reported(&place, &["keys", "list"]);
    reported(&place, &["keys", "list", "--json"]);
    reported(&place, &["keys", "revoke", "k000000000000"]);
    // A key with a hostile name is not created.
    for name in [HOSTILE, "a\nb", "\u{202e}ada", "\u{9b}2J"] {
        let refused = place
            .pubdata(&["keys", "create", "--name", name, "--scopes", "geo"])
            .expect(40);
        assert!(
            refused
                .stderr
                .contains("the name of a key must not have control characters"),
            "{refused:#?}"
        );
    }

    place.run(&[]).expect(0);
    let file = place.file(ROWS);
    let other = [("USER", HOSTILE)];
    shown_with(
        &place,
        &["import", "permit.nola", file.to_str().unwrap()],
        &other,
    );
    reported(&place, &["status"]);
    reported(&place, &["status", "--json"]);
    place.pubdata(&["accept", "permit.nola:shrink"]).expect(0);
    shown_with(&place, &["accept", "permit.nola:drift"], &other);
    reported(&place, &["accept", "--list"]);
    reported(&place, &["trace", HOSTILE]);
    reported(&place, &["status", HOSTILE]);
    reported(
        &place,
        &["import", "permit.nola", &format!("/nowhere/{HOSTILE}")],
    );
}

/// Creates a folder of declarations with foreign text.
fn declared(place: &Place) -> String {
    let folder = place.root().join("declarations");
    copy_folder(&project("pipelines"), &folder.join("pipelines"));
    copy_folder(&project("schemas"), &folder.join("schemas"));
    change(
        &folder,
        "schemas/geo/school.toml",
        "title = \"Public schools\"",
        "title = \"Public schools \\u001b]0;owned\\u0007\\u009b2J\\u202e\"",
    );
    folder.to_str().unwrap().to_owned()
}

#[test]
fn texts_of_foreign_declarations_are_shown_as_text() {
    let place = Place::with(&["permit.nola"]);
    let folder = declared(&place);
    for command in [
        &["schema", "dictionary"][..],
        &["schema", "dictionary", "--json"],
        &["schema", "show", "geo.school"],
    ] {
        reported(&place, &[command, &["--declarations", &folder]].concat());
    }
    change(
        Path::new(&folder),
        "schemas/geo/school.toml",
        "grain = ",
        "\"\\u001b]0;owned\\u0007\\u009b2J\\u202e\" = 1\ngrain = ",
    );
    reported(&place, &["check", "--declarations", &folder]);
    let run = shown(&place, &["run", "--declarations", &folder]);
    assert_eq!(run.code, Some(40), "{run:#?}");

    let list = place.root().join("permits.csv");
    let head = format!("Permit Number,Issue Date,Address,Permit Type,Status,Notes {HOSTILE}");
    let rows = format!(
        "{head}\nA-1,2026-01-02,12 Elm St,Roof {HOSTILE},Issued,a\nA-2,2026-01-03,14 Elm St,Roof,Issued,b\n"
    );
    std::fs::write(&list, rows).unwrap();
    let lists = place.root().join("lists");
    let url = "https://example.org/permits.csv";
    let new = [
        "new",
        "permit",
        "us-oh-springfield",
        "--url",
        url,
        "--file",
        list.to_str().unwrap(),
        "--declarations",
        lists.to_str().unwrap(),
    ];
    reported(&place, &new);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_servers_are_shown_as_text() {
    let (place, publisher) = (
        Place::with(&["permit.anaheim", "permit.nola"]),
        Publisher::start().await,
    );
    let base = publisher.base_url();
    publisher.serve_folder(&place.mirror());
    place.edit("outFields=*&orderByFields=OBJECTID&returnGeometry=true&outSR=4326&f=json&resultOffset=0&resultRecordCount=1000", |_| {
        json!({ "error": { "code": 400, "message": HOSTILE } }).to_string()
    });
    for command in [
        &["run", "--verbose", "--mirror", &base][..],
        &["status", "--verbose"],
        &["fetch", "--mirror", &base],
    ] {
        reported(&place, command);
    }
    // Log lines too, with the progress display below them.
    for form in ["text", "json"] {
        let screen = shown_with(
            &place,
            &["run", "--force", "--mirror", &base],
            &[("PUBDATA_LOG", "debug"), ("PUBDATA_LOG_FORMAT", form)],
        );
        assert!(
            screen
                .text
                .lines()
                .any(|line| line.contains("task not rebuilt") && line.contains("202e")),
            "{form}: {screen:#?}"
        );
    }
    let list = "/data.nola.gov/api/views/72f9-bi28/rows.csv@accessType=DOWNLOAD";
    for reply in [
        Reply::body(403, HOSTILE).header("Content-Type", &format!("text/{HOSTILE_HEADER}")),
        Reply::status(302).header(
            "Location",
            &format!("https://elsewhere.example.org/{HOSTILE_HEADER}"),
        ),
        Reply::body(200, format!("{HOSTILE},b\n1,2\n"))
            .header("ETag", &format!("\"{HOSTILE_HEADER}\"")),
    ] {
        publisher.route(list, vec![reply.clone()]);
        publisher.route("/v1/log/checkpoint", vec![reply]);
        for command in [
            &["probe", "permit.nola", "--mirror", &base][..],
            &["run", "permit.nola", "--mirror", &base],
            &["verify", "--url", &base],
        ] {
            shown(&place, command);
        }
    }
    assert!(
        !publisher.requests(list).is_empty()
            && !publisher.requests("/v1/log/checkpoint").is_empty()
    );
}
