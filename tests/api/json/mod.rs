//! Checks what commands print with `--json` against `docs/json`: every command has a schema, every
//! schema a command, and the output matches its schema.

mod examples;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::serve::Survey;
use pubdata_testing::peers;
use pubdata_testing::{answer, project};

/// Every command with the formats it prints with `--json`. A command without formats prints no
/// document.
const COMMANDS: &[(&str, &[&str])] = &[
    ("accept", &["accepted"]),
    ("check", &["check"]),
    ("commit", &["run"]),
    // Prints a script for a shell.
    ("completions", &[]),
    ("fetch", &["fetch"]),
    ("follow", &["follow"]),
    ("import", &["import", "withdrawal"]),
    ("keys create", &["key"]),
    ("keys invite", &["invitation"]),
    ("keys list", &["keys"]),
    ("keys revoke", &["key", "invitation"]),
    ("keys signing", &["signing_key"]),
    // Prints text for `man`.
    ("man", &[]),
    // Prints the Prometheus text format.
    ("metrics", &[]),
    ("new", &["new"]),
    ("plan", &["plan"]),
    ("probe", &["probe"]),
    // Prints a receipt, which is an answer of the API.
    ("receipt", &[]),
    ("releases diff", &["release_diff"]),
    // Prints SQL for DuckDB.
    ("releases duckdb", &[]),
    ("releases list", &["releases"]),
    ("releases promote", &["channel_move"]),
    ("releases prune", &["prune"]),
    ("releases rollback", &["channel_move"]),
    ("releases show", &["release"]),
    ("run", &["run", "test_message"]),
    ("schema dictionary", &["contracts"]),
    // Prints a schema, not a document.
    ("schema json", &[]),
    ("schema show", &["contract"]),
    ("seal", &["seal"]),
    // Answers requests and writes logs.
    ("serve", &[]),
    ("settings", &["settings"]),
    ("status", &["status"]),
    ("task build", &["units"]),
    ("task split", &["units"]),
    ("trace", &["trace", "trace_filing"]),
    ("upgrade", &["upgrade"]),
    ("verify", &["verify", "verify_url"]),
    ("verify-receipt", &["verify_receipt"]),
];

/// Documents that belong to no command: the error document of every command, and the message sent
/// to hook and webhook.
const OTHERS: [&str; 2] = ["error", "message"];

fn pubdata(arguments: &[&str]) -> pubdata_testing::Answer {
    answer(
        Command::new(env!("CARGO_BIN_EXE_pubdata"))
            .args(arguments)
            .env_remove("PUBDATA_DECLARATIONS"),
    )
}

/// Subcommands of a command, from its help; commands that only group others are left out.
fn commands(above: &[&str]) -> Vec<String> {
    let help = pubdata(&[above, &["--help"]].concat()).expect(0).stdout;
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return vec![above.join(" ")];
    };
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let names = lines
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    names
        .flat_map(|name| commands(&[above, &[name]].concat()))
        .collect()
}

/// Formats of all documents.
fn formats() -> BTreeSet<String> {
    COMMANDS
        .iter()
        .flat_map(|(_, formats)| *formats)
        .chain(&OTHERS)
        .map(|format| format!("pubdata.{format}"))
        .collect()
}

#[test]
fn every_command_has_a_schema_and_every_schema_a_command() {
    let known: BTreeSet<String> = COMMANDS
        .iter()
        .map(|(command, _)| (*command).to_owned())
        .collect();
    assert_eq!(
        commands(&[]).into_iter().collect::<BTreeSet<_>>(),
        known,
        "give the command its formats in COMMANDS"
    );
    assert_eq!(
        formats(),
        schemas::files().into_keys().collect(),
        "docs/json has other schemas"
    );
}

#[test]
fn formats_page_has_a_row_for_every_schema() {
    let page = std::fs::read_to_string(project("docs/json/README.md")).unwrap();
    let row = |name: &str| format!("| [`{name}`]({name}.schema.json) |");
    let missing: Vec<String> = formats()
        .into_iter()
        .filter(|name| !page.contains(&row(name)))
        .collect();
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "docs/json/README.md lacks their rows"
    );
    for (command, _) in COMMANDS.iter().filter(|(_, formats)| !formats.is_empty()) {
        assert!(
            page.contains(&format!("`{command}")),
            "docs/json/README.md does not name `{command}`"
        );
    }
}

#[test]
fn every_schema_key_says_when_it_is_null_or_absent() {
    let found: Vec<String> = schemas::files()
        .iter()
        .flat_map(|(name, schema)| schemas::faults(name, schema))
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn schema_without_words_for_null_or_absent_is_reported() {
    let schema = serde_json::json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": ["string", "null"], "description": "A text."},
        "b": {"type": "string", "description": "A text."},
        "c": {"type": "object"},
    }});
    let faults = schemas::faults("x", &schema);
    let expected = [
        "x: may have any key",
        "x/properties/a: does not say when it is null",
        "x/properties/b: does not say when it is absent",
        "x/properties/c: has no description",
        "x/properties/c: does not say when it is absent",
        "x/properties/c: may have any key",
    ];
    assert_eq!(faults, expected);
}

/// `make bless` writes the files.
#[test]
fn schema_files_are_what_the_program_prints() {
    for format in formats() {
        let printed = pubdata(&["schema", "json", &format]).expect(0).stdout;
        let path = project("docs/json").join(format!("{format}.schema.json"));
        if std::env::var_os("PUBDATA_BLESS").is_some() {
            std::fs::write(&path, &printed).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            written,
            printed,
            "{}: `make bless` rewrites it when the change is meant",
            path.display()
        );
    }
    let run = pubdata(&["schema", "json", "run"]).expect(0).stdout;
    assert_eq!(
        run,
        pubdata(&["schema", "json", "pubdata.run"]).expect(0).stdout
    );
    let unknown = pubdata(&["schema", "json", "pubdata.task"])
        .expect(40)
        .stderr;
    assert!(
        unknown.contains(
            "there is no format `pubdata.task`; there are pubdata.accepted, pubdata.channel_move, "
        ),
        "{unknown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_commands_print_is_what_their_schemas_say() {
    let examples = examples::all().await;
    let document = schemas::together();
    let mut survey = Survey::with_roots(
        &document,
        formats()
            .iter()
            .map(|format| format!("/{format}"))
            .collect(),
    );
    let mut shown: BTreeSet<(&str, String)> = BTreeSet::new();
    for example in &examples {
        let format = example.document["format"]
            .as_str()
            .unwrap_or_else(|| panic!("{}: no format: {:#}", example.requested, example.document));
        survey.value(&format!("/{format}"), &example.document, &example.requested);
        shown.insert((
            &example.command,
            format.trim_start_matches("pubdata.").to_owned(),
        ));
    }
    assert_eq!(survey.breaches, Vec::<String>::new());
    assert_eq!(survey.loose(), Vec::<String>::new());
    let expected = COMMANDS.iter().flat_map(|(command, formats)| {
        formats
            .iter()
            .map(|format| (*command, (*format).to_owned()))
    });
    let missing: Vec<_> = expected
        .chain([("hook", "message".to_owned())])
        .filter(|pair| !shown.contains(pair))
        .collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
    assert_eq!(
        survey.unwritten(),
        Vec::<String>::new(),
        "keys that are in the schemas and in no example"
    );
    assert_eq!(
        survey.unrequired(),
        Vec::<String>::new(),
        "keys that are in every example and not required by the schema"
    );
    held_by_others(&examples);
}

/// Has an independent validator check the examples against the schemas that `pubdata schema json`
/// prints.
fn held_by_others(examples: &[examples::Example]) {
    let Some(python) = peers::python(&["jsonschema_rs"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut by_format: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for example in examples {
        by_format
            .entry(example.document["format"].as_str().unwrap())
            .or_default()
            .push(&example.document);
    }
    for (format, documents) in by_format {
        let schema = pubdata(&["schema", "json", format]).expect(0).json();
        std::fs::write(
            folder.path().join(format!("{format}.json")),
            serde_json::json!({"schema": schema, "documents": documents}).to_string(),
        )
        .unwrap();
    }
    let held = Command::new(python)
        .arg(peers::script("hold_documents.py"))
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&held.stdout);
    assert!(
        held.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&held.stderr)
    );
    assert_eq!(
        said.lines().last(),
        Some(
            format!(
                "{} documents held, {} changed ones refused",
                examples.len(),
                examples.len()
            )
            .as_str()
        ),
        "{said}"
    );
}
