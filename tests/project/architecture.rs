//! Checks the invariants of `docs/ARCHITECTURE.md` in `use` lines, paths, literals and
//! `Cargo.toml`: a rule that is only prose is broken within a month.

mod circles;
mod source_text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::{Declarations, Format};
use source_text::SourceText;

/// Layers within each member of the workspace, low to high, each with the layers of the same member
/// that it may import. The compiler enforces the layers between members: a member names those below
/// it in its `Cargo.toml`.
const LAYERS: &[(&str, &str)] = &[
    ("ids", ""),
    ("error", ""),
    ("printable", ""),
    ("canonical", "error ids"),
    ("provenance", "error ids"),
    ("issue", "ids provenance"),
    ("declared", "error ids"),
    ("contract", "declared error ids issue provenance"),
    ("pipeline", "contract declared error ids"),
    ("store", ""),
    ("receipts", "store"),
    ("monitor", "store"),
    ("fetch", ""),
    ("log_auditor", "fetch"),
    ("decode", ""),
    ("normalise", ""),
    ("validate", "decode normalise"),
    ("datasets", "decode normalise validate"),
    ("publish", "normalise"),
    ("run", ""),
    ("follow", ""),
    ("lineage", "run"),
    ("serve", ""),
    ("cli", ""),
    ("main", ""),
    ("lib", ""),
];

/// Members that each member may import, as in its `Cargo.toml`.
const MEMBERS_BELOW: &[(&str, &str)] = &[
    ("core", ""),
    ("store", "core"),
    ("fetch", "core store"),
    ("build", "core store"),
    ("run", "core store fetch build"),
    ("serve", "core store"),
];

/// Layers of lower members that a layer must not import, though the member may.
const NOT_FOR: &[(&str, &str)] = &[
    ("store", "canonical"),
    ("receipts", "canonical declared issue pipeline"),
    (
        "monitor",
        "canonical contract declared issue pipeline provenance",
    ),
    ("fetch", "canonical contract declared monitor receipts"),
    ("log_auditor", "canonical contract declared issue monitor"),
    (
        "decode",
        "canonical contract declared monitor receipts store",
    ),
    ("normalise", "declared monitor receipts store"),
    ("datasets", "declared monitor receipts store"),
    ("validate", "canonical declared monitor receipts"),
    ("publish", "canonical declared monitor receipts"),
    ("run", "monitor receipts log_auditor"),
    (
        "follow",
        "canonical contract declared decode monitor publish receipts validate log_auditor",
    ),
    (
        "lineage",
        "canonical declared decode issue monitor normalise publish receipts validate log_auditor",
    ),
    ("serve", "declared issue pipeline"),
];

/// Folders of `src/serve/`, low to high, each with those that it may import: first the code that
/// all requests share, then places, then families, then the code that names families. `mod` is the
/// list of modules.
const SERVE_LAYERS: &[(&str, &str)] = &[
    ("contact", ""),
    ("days", ""),
    ("json", ""),
    ("answer", "json"),
    ("tracer", ""),
    ("settings", "tracer"),
    ("index", ""),
    ("search", "answer index json"),
    ("release", "answer index json"),
    ("meaning", "answer"),
    ("http", "answer days json meaning release search settings"),
    ("place", "answer index json release"),
    ("geo", "answer http index json place release"),
    ("sec", "answer days http index json release search"),
    (
        "business",
        "answer days http index json place release search",
    ),
    (
        "license",
        "answer days http index json place release search",
    ),
    (
        "permit",
        "answer days http index json license place release search",
    ),
    ("tax", "answer days http json place release"),
    ("zip_code", "answer geo http json place release tax"),
    ("stream", "answer http json release sec settings"),
    ("admin", "answer http json release"),
    ("dataset_summary", "answer http release"),
    (
        "bulk",
        "answer contact dataset_summary http json meaning release",
    ),
    (
        "coverage",
        "answer business dataset_summary geo http json license meaning permit place release sec tax",
    ),
    ("provenance", "answer http json release tracer"),
    ("receipts", "http json release"),
    ("snapshot", "answer http json release settings tracer"),
    (
        "global_search",
        "answer business geo http json license permit place release search sec",
    ),
    (
        "routes",
        "admin bulk business coverage geo global_search http license permit place provenance receipts release sec settings snapshot stream tax zip_code",
    ),
    ("pages", "http release settings"),
    ("server", "http pages release routes settings stream"),
    ("router", "http pages receipts routes server stream"),
    ("run", "contact http router server settings stream"),
    ("mod", "*"),
];

/// Folders of `src/run/`, low to high: first the tools and reports of a run, then its steps, then
/// the code that starts, repeats or simulates runs.
const RUN_LAYERS: &[(&str, &str)] = &[
    ("toml_text", ""),
    ("settings", ""),
    ("reporting", ""),
    ("observer", "reporting"),
    ("fetching", "observer reporting settings"),
    ("planning", "fetching observer reporting settings"),
    ("building", "fetching observer reporting settings toml_text"),
    ("task_status", "fetching planning reporting settings"),
    (
        "execute",
        "building fetching observer planning reporting settings task_status",
    ),
    (
        "distributed",
        "building execute fetching observer reporting settings",
    ),
    ("evidence", "building fetching planning settings"),
    (
        "probe",
        "building execute fetching observer planning reporting settings",
    ),
    ("new", "building observer probe settings toml_text"),
    ("mod", "*"),
];

/// Folders or files from low to high, each with those that it may import.
type Layers = &'static [(&'static str, &'static str)];

/// Layers with subfolders, each with the name of its table. Within one, names are imported from
/// their folders: the re-exports of `lib.rs` are for other members.
const ROOMS: &[(&str, &str, Layers)] = &[
    ("serve", "SERVE_LAYERS", SERVE_LAYERS),
    ("run", "RUN_LAYERS", RUN_LAYERS),
];

const ANYWHERE: &str = "*";

/// Dependencies that only some layers of their member may name. The members' `Cargo.toml` files
/// show that no other member names them.
const CRATES: &[(&str, &str)] = &[
    ("arrow", "contract error publish receipts serve store"),
    ("arrow-schema", "contract error"),
    ("aws-lc-rs", "receipts serve"),
    ("blake3", "ids"),
    ("clap", "cli"),
    ("crc32fast", "decode store"),
    ("csv", "decode"),
    ("flate2", "decode fetch serve"),
    (
        "jiff",
        "cli contract fetch follow lineage monitor normalise pipeline provenance publish run serve store validate log_auditor",
    ),
    ("libc", "receipts"),
    ("libdeflater", "decode"),
    ("memmap2", "store"),
    ("object_store", "store"),
    ("parquet", "publish receipts serve store"),
    ("polars-error", "error"),
    ("prometheus-client", "monitor serve"),
    ("psl", "fetch"),
    ("quick-xml", "decode"),
    ("regex", "pipeline serve"),
    ("reqwest", "fetch"),
    ("russh", "fetch"),
    ("russh-sftp", "fetch"),
    ("rust-embed", "declared serve"),
    (
        "schemars",
        "cli contract declared error follow ids issue monitor pipeline provenance publish receipts log_auditor run serve store",
    ),
    ("serde_path_to_error", "datasets"),
    ("sha2", "ids"),
    ("strsim", "pipeline serve"),
    ("tikv-jemallocator", "main"),
    ("toml_edit", "run"),
    ("twox-hash", "store"),
    ("unicode-normalization", "canonical"),
    ("uuid", "publish"),
    ("zip", "decode"),
    ("zstd", "publish"),
];

/// The file that writes to standard output and standard error.
const TERMINAL: &str = "cli/terminal.rs";

/// Folders whose result depends only on their arguments: no clock, no environment, no network, and
/// no disk except the file that `decode` gets.
const PURE: &[&str] = &[
    "ids",
    "canonical",
    "contract",
    "decode",
    "normalise",
    "datasets",
    "validate",
];

/// Folders and files of a home; only `store` may spell them.
const HOME_NAMES: &[&str] = &[
    "snapshots",
    "releases",
    "channels",
    "staging",
    "state",
    "ledger.jsonl",
    "accepted.jsonl",
    "keys.json",
    "manifest.json",
];

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the member of a layer.
fn member_of(layer: &str) -> Option<&'static str> {
    let found = source_text::MEMBERS
        .iter()
        .find(|(member, is_layer, folders)| {
            (*is_layer && *member == layer) || lists(folders, layer)
        });
    found.map(|(member, _, _)| *member)
}

fn is_not_for(layer: &str, target: &str) -> bool {
    NOT_FOR
        .iter()
        .any(|(of, targets)| *of == layer && lists(targets, target))
}

fn lists(list: &str, name: &str) -> bool {
    list == ANYWHERE || list.split(' ').any(|listed| listed == name)
}

/// Returns the breaches in one file, as `src/path:line: rule`.
fn breaches(source: &SourceText, words: &Words) -> Vec<String> {
    let mut found = Vec::new();
    let (layer, member) = (source.layer(), source.member());
    let layer = layer.as_str();
    let mut report =
        |line: usize, rule: String| found.push(format!("src/{}:{line}: {rule}", source.path));
    let Some((_, imports)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
        report(
            1,
            format!(
                "`{layer}` is in no layer: give it a line in LAYERS and in docs/ARCHITECTURE.md"
            ),
        );
        return found;
    };
    for reference in source.references() {
        let segments: Vec<&str> = reference.segments.iter().map(String::as_str).collect();
        let line = reference.line;
        let path = segments.join("::");
        if let ["crate", target, rest @ ..] = segments.as_slice()
            && LAYERS.iter().any(|(name, _)| name == target)
        {
            let is_forbidden = if member_of(target) == member {
                *target != layer && !lists(imports, target)
            } else {
                is_not_for(layer, target)
            };
            if is_forbidden && !source.path.ends_with("lib.rs") {
                report(
                    line,
                    format!("`{layer}` must not import `{target}` (layers)"),
                );
            }
            if let (Some(own), Some(other)) = (
                dataset_of(&source.module()),
                dataset_of(
                    &segments[1..]
                        .iter()
                        .map(|s| (*s).to_owned())
                        .collect::<Vec<_>>(),
                ),
            ) && own != other
                && is_dataset(&other)
            {
                report(
                    line,
                    format!("dataset `{own}` must not import dataset `{other}` (invariant 3)"),
                );
            }
            if let (Some((_, table, rooms)), [room, ..]) = (
                ROOMS.iter().find(|(of, _, _)| layer == *of && target == of),
                rest,
            ) {
                let module = source.module();
                let own = module.get(1).map_or("mod", String::as_str);
                let is_room = rooms.iter().any(|(name, _)| name == room);
                match rooms.iter().find(|(name, _)| *name == own) {
                    None => report(
                        line,
                        format!(
                            "`{layer}/{own}` is in no layer: give it a line in {table} and in docs/ARCHITECTURE.md"
                        ),
                    ),
                    Some((_, imports)) if own != *room && is_room && !lists(imports, room) => {
                        report(
                            line,
                            format!("`{layer}/{own}` must not import `{layer}/{room}` (layers)"),
                        );
                    }
                    Some((_, imports)) if !is_room && *imports != ANYWHERE => {
                        report(
                            line,
                            format!(
                                "`{layer}/{own}` imports `{room}` by way of lib.rs: import it from its folder (layers)"
                            ),
                        );
                    }
                    Some(_) => {}
                }
            }
            if *target == "store" && rest.contains(&"advance_channel") && layer != "publish" {
                report(
                    line,
                    "only `publish` moves a channel (invariant 5)".to_owned(),
                );
            }
        }
        if let Some((name, folders)) = CRATES
            .iter()
            .find(|(name, _)| name.replace('-', "_") == segments[0])
            && !lists(folders, layer)
        {
            report(
                line,
                format!(
                    "`{name}` only in {} (invariants 1 and 2)",
                    folders.replace(' ', ", ")
                ),
            );
        }
        let is_macro = matches!(segments[0], "println" | "print" | "eprintln" | "eprint");
        let is_stream = segments[0] == "anstream"
            || ["io::stdout", "io::stderr"]
                .iter()
                .any(|stream| path.ends_with(stream));
        if (is_macro || is_stream) && source.path != TERMINAL {
            report(
                line,
                format!(
                    "`{path}`: only `{TERMINAL}` prints, with what others wrote escaped (invariant 1)"
                ),
            );
        }
        let is_impure = matches!(
            segments.as_slice(),
            ["std", "env" | "net" | "process", ..] | ["env", "var" | "vars" | "var_os", ..]
        ) || (layer != "decode" && segments.starts_with(&["std", "fs"]))
            || path.ends_with("SystemTime::now")
            || path.ends_with("Instant::now")
            || path.ends_with("Timestamp::now")
            || path.ends_with("Zoned::now");
        if PURE.contains(&layer) && is_impure {
            report(
                line,
                format!("`{path}`: `{layer}` reads no clock, environment or disk (invariant 3)"),
            );
        }
        if layer == "decode"
            && segments.iter().any(|segment| {
                matches!(
                    *segment,
                    "CsvReadOptions" | "CsvReader" | "JsonReader" | "infer_schema"
                )
            })
        {
            report(
                line,
                format!("`{path}`: decoders never infer types (invariant 6)"),
            );
        }
    }
    for (index, line) in source.code.lines().enumerate() {
        if line.contains(".advance_channel(") && !matches!(layer, "publish" | "store") {
            report(
                index + 1,
                "only `publish` moves a channel (invariant 5)".to_owned(),
            );
        }
        if layer == "decode"
            && ["DataType::Int", "DataType::Float", "DataType::Date"]
                .iter()
                .any(|word| line.contains(word))
        {
            report(
                index + 1,
                "a decoder returns text columns; the contract casts (invariant 6)".to_owned(),
            );
        }
        if ["fs::rename", "fs::hard_link"]
            .iter()
            .any(|word| line.contains(word))
            && layer != "store"
        {
            report(
                index + 1,
                "only `store` names and moves files of a home (invariant 5)".to_owned(),
            );
        }
    }
    for literal in &source.strings {
        let text = literal.text.as_str();
        let code_line = source
            .code
            .lines()
            .nth(literal.line - 1)
            .unwrap_or_default();
        if layer != "store"
            && code_line.contains(".join(\"")
            && HOME_NAMES.contains(&text.split('/').next().unwrap_or_default())
        {
            report(
                literal.line,
                format!("`{text}`: only `store` builds paths (invariant 5)"),
            );
        }
        if layer == "datasets" {
            continue;
        }
        let after_scheme = text
            .split_once("https://")
            .or_else(|| text.split_once("http://"))
            .map(|(_, after)| after);
        if after_scheme.is_some_and(names_a_foreign_host) {
            report(
                literal.line,
                format!("`{text}`: URLs belong in pipelines/ (invariant 7)"),
            );
        }
        if layer == "serve"
            && !source.path.ends_with("tests.rs")
            && (words.facts.contains(text) || words.states.contains(text))
        {
            report(
                literal.line,
                format!(
                    "`{text}` is a fact about what a publisher has: it belongs in schemas/ (invariant 7)"
                ),
            );
        }
        if words.publishers.contains(text) {
            report(
                literal.line,
                format!("`{text}` is a publisher's word: it belongs in pipelines/ (invariant 7)"),
            );
        }
    }
    found
}

/// The profile of a standard has a URL, which is not a publisher's host.
fn names_a_foreign_host(after_scheme: &str) -> bool {
    let is_host = after_scheme.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_host
        && ![
            "127.0.0.1",
            "localhost",
            "example.",
            "datapackage.org/profiles/",
        ]
        .iter()
        .any(|host| after_scheme.starts_with(host))
}

/// Maps `["datasets", "census", "acs5", …]` to `census::acs5`.
fn dataset_of(module: &[String]) -> Option<String> {
    match module {
        [folder, family, name, ..] if folder == "datasets" => Some(format!("{family}::{name}")),
        _ => None,
    }
}

/// A dataset's file is named after its declaration; other files of the folder are parts of one.
fn is_dataset(name: &str) -> bool {
    repository()
        .join("pipelines")
        .join(name.replace("::", "/"))
        .with_extension("toml")
        .is_file()
}

/// Words that no literal outside of datasets may be.
struct Words {
    /// Column names and special numbers of the publishers, except those that are English words.
    publishers: BTreeSet<String>,
    /// Values that contracts describe, and the texts that describe them.
    facts: BTreeSet<String>,
    /// Postal codes of states.
    states: BTreeSet<String>,
}

impl Words {
    fn read() -> Self {
        let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
        let mut facts = BTreeSet::new();
        for (path, text) in DeclarationFiles::built_in().toml_below("schemas") {
            let table: toml::Table = text
                .parse()
                .unwrap_or_else(|error| panic!("{path}: {error}"));
            for known in table
                .get("value")
                .and_then(toml::Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(toml::Value::as_table)
            {
                facts.extend(
                    known
                        .iter()
                        .filter(|(key, _)| *key != "column")
                        .filter_map(|(_, text)| text.as_str())
                        .map(str::to_owned),
                );
            }
        }
        facts.retain(|word: &String| word.contains(|c: char| !c.is_ascii_digit()));
        // Words of the API itself that are also a publisher's value.
        for word in [
            "income",
            "balance",
            "cash_flow",
            "USD",
            "shares",
            "cash",
            "only_taxed",
            "true",
        ] {
            facts.remove(word);
        }
        let letters = || (b'A'..=b'Z').map(char::from);
        let codes =
            letters().flat_map(|first| letters().map(move |second| format!("{first}{second}")));
        let states = codes
            .filter(|code| pubdata_core::canonical::state::name(code).is_some())
            .collect();
        Self {
            publishers: publisher_words(&declarations),
            facts,
            states,
        }
    }
}

fn publisher_words(declarations: &Declarations) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for declaration in declarations.pipelines.values() {
        for source in &declaration.sources {
            words.extend(source.columns.values().flatten().cloned());
            words.extend(source.ignore.iter().cloned());
            if let Format::Delimited { header, .. } = &source.format {
                words.extend(header.iter().cloned());
            }
        }
        if let Some(sentinels) = declaration
            .settings
            .get("jam_values")
            .and_then(toml::Value::as_table)
        {
            words.extend(
                sentinels
                    .values()
                    .filter_map(toml::Value::as_str)
                    .map(str::to_owned),
            );
        }
    }
    words.retain(|word| {
        word.len() >= 6
            && !word.contains('#')
            && (word.starts_with('-') || word.chars().any(|c| c.is_ascii_uppercase()))
    });
    words
}

#[test]
fn source_keeps_the_invariants() {
    let words = Words::read();
    let found: Vec<String> = source_text::read_all(&repository().join("src"))
        .iter()
        .flat_map(|source| breaches(source, &words))
        .collect();
    assert!(
        found.is_empty(),
        "{} breach(es) of docs/ARCHITECTURE.md:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Breaks each rule once: a rule that never finds a breach proves nothing.
#[test]
fn every_rule_finds_its_breach() {
    let words = Words::read();
    let cases = [
        (
            "serve/api.rs",
            "use pubdata_core::{\n    error::Result,\n    pipeline::Source,\n};",
            "src/serve/api.rs:1: `serve` must not import `pipeline` (layers)",
        ),
        (
            "core/ids/zcta.rs",
            "fn f() { crate::contract::load() }",
            "src/core/ids/zcta.rs:1: `ids` must not import `contract` (layers)",
        ),
        (
            "store/home.rs",
            "use super::receipts::Seal;",
            "src/store/home.rs:1: `store` must not import `receipts` (layers)",
        ),
        (
            "store/receipts/log.rs",
            "use super::super::monitor::Event;",
            "src/store/receipts/log.rs:1: `receipts` must not import `monitor` (layers)",
        ),
        (
            "build/decode/csv.rs",
            "use pubdata_store::Home;",
            "src/build/decode/csv.rs:1: `decode` must not import `store` (layers)",
        ),
        (
            "helpers/mod.rs",
            "",
            "src/helpers/mod.rs:1: `helpers` is in no layer: give it a line in LAYERS and in docs/ARCHITECTURE.md",
        ),
        (
            "fetch/log_auditor/server.rs",
            "\nuse reqwest::Client;",
            "src/fetch/log_auditor/server.rs:2: `reqwest` only in fetch (invariants 1 and 2)",
        ),
        (
            "fetch/log_auditor/mod.rs",
            "use russh::client;",
            "src/fetch/log_auditor/mod.rs:1: `russh` only in fetch (invariants 1 and 2)",
        ),
        (
            "build/publish/part.rs",
            "use csv::Reader;",
            "src/build/publish/part.rs:1: `csv` only in decode (invariants 1 and 2)",
        ),
        (
            "run/mod.rs",
            "println!(\"done\");",
            "src/run/mod.rs:1: `println`: only `cli/terminal.rs` prints, with what others wrote escaped (invariant 1)",
        ),
        (
            "cli/status.rs",
            "anstream::println!(\"{url}\");",
            "src/cli/status.rs:1: `anstream::println`: only `cli/terminal.rs` prints, with what others wrote escaped (invariant 1)",
        ),
        (
            "cli/status.rs",
            "use std::io::{Read, stdout};",
            "src/cli/status.rs:1: `std::io::stdout`: only `cli/terminal.rs` prints, with what others wrote escaped (invariant 1)",
        ),
        (
            "build/datasets/census/acs5.rs",
            "let year = std::env::var(\"YEAR\");",
            "src/build/datasets/census/acs5.rs:1: `std::env::var`: `datasets` reads no clock, environment or disk (invariant 3)",
        ),
        (
            "build/validate/mod.rs",
            "let now = Timestamp::now();",
            "src/build/validate/mod.rs:1: `Timestamp::now`: `validate` reads no clock, environment or disk (invariant 3)",
        ),
        (
            "run/mod.rs",
            "releases.advance_channel(name)",
            "src/run/mod.rs:1: only `publish` moves a channel (invariant 5)",
        ),
        (
            "build/publish/mod.rs",
            "std::fs::rename(a, b)",
            "src/build/publish/mod.rs:1: only `store` names and moves files of a home (invariant 5)",
        ),
        (
            "serve/mod.rs",
            "root.join(\"releases/x\")",
            "src/serve/mod.rs:1: `releases/x`: only `store` builds paths (invariant 5)",
        ),
        (
            "build/decode/csv.rs",
            "let column = DataType::Int64;",
            "src/build/decode/csv.rs:1: a decoder returns text columns; the contract casts (invariant 6)",
        ),
        (
            "build/decode/csv.rs",
            "let options = polars::io::CsvReadOptions::default();",
            "src/build/decode/csv.rs:1: `polars::io::CsvReadOptions::default`: decoders never infer types (invariant 6)",
        ),
        (
            "fetch/mod.rs",
            "let url = \"https://www.census.gov/\";",
            "src/fetch/mod.rs:1: `https://www.census.gov/`: URLs belong in pipelines/ (invariant 7)",
        ),
        (
            "serve/http/etag.rs",
            "use crate::tax::rate;",
            "src/serve/http/etag.rs:1: `serve/http` must not import `serve/tax` (layers)",
        ),
        (
            "serve/geo/area.rs",
            "use super::super::sec::links;",
            "src/serve/geo/area.rs:1: `serve/geo` must not import `serve/sec` (layers)",
        ),
        (
            "serve/general/area.rs",
            "use crate::http;",
            "src/serve/general/area.rs:1: `serve/general` is in no layer: give it a line in SERVE_LAYERS and in docs/ARCHITECTURE.md",
        ),
        (
            "run/planning/plan.rs",
            "use crate::execute::run;",
            "src/run/planning/plan.rs:1: `run/planning` must not import `run/execute` (layers)",
        ),
        (
            "run/settings.rs",
            "use super::observer::Observer;",
            "src/run/settings.rs:1: `run/settings` must not import `run/observer` (layers)",
        ),
        (
            "run/fetching/fetch.rs",
            "use super::super::RunReport;",
            "src/run/fetching/fetch.rs:1: `run/fetching` imports `RunReport` by way of lib.rs: import it from its folder (layers)",
        ),
        (
            "run/helpers/plan.rs",
            "use crate::settings::RunSettings;",
            "src/run/helpers/plan.rs:1: `run/helpers` is in no layer: give it a line in RUN_LAYERS and in docs/ARCHITECTURE.md",
        ),
        (
            "serve/tax/search.rs",
            "const ONLY: [&str; 1] = [\"VT\"];",
            "src/serve/tax/search.rs:1: `VT` is a fact about what a publisher has: it belongs in schemas/ (invariant 7)",
        ),
        (
            "serve/sec/statements.rs",
            "(\"income\", \"gross_profit\")",
            "src/serve/sec/statements.rs:1: `gross_profit` is a fact about what a publisher has: it belongs in schemas/ (invariant 7)",
        ),
        (
            "build/normalise/mod.rs",
            "column == \"GEO_ID\"",
            "src/build/normalise/mod.rs:1: `GEO_ID` is a publisher's word: it belongs in pipelines/ (invariant 7)",
        ),
        (
            "build/normalise/mod.rs",
            "value == r\"-666666666\"",
            "src/build/normalise/mod.rs:1: `-666666666` is a publisher's word: it belongs in pipelines/ (invariant 7)",
        ),
    ];
    for (path, code, expected) in cases {
        assert_eq!(
            breaches(&SourceText::new(path, code), &words),
            [expected],
            "in {path}: {code}"
        );
    }
    let allowed = [
        (
            "cli/run.rs",
            "use clap::Parser; use pubdata_run::Plan; output::print_line!(\"https://example.org\");",
        ),
        (
            "cli/terminal.rs",
            "use std::io; anstream::stdout().write_all(text); io::stderr()",
        ),
        (
            "fetch/mod.rs",
            "// https://www.census.gov/ GEO_ID\nif url.starts_with(\"https://\") { let c = '\"'; }",
        ),
        (
            "build/decode/csv.rs",
            "use super::Frame; use pubdata_core::provenance::Inputs; fn f<'a>(x: &'a str) -> &'a str { x }",
        ),
        (
            "core/ids/zcta.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests { use crate::contract::Contract; }",
        ),
    ];
    for (path, code) in allowed {
        assert_eq!(
            breaches(&SourceText::new(path, code), &words),
            Vec::<String>::new(),
            "in {path}: {code}"
        );
    }
}

#[test]
fn layers_have_no_cycle_and_a_fixed_order() {
    for layers in [LAYERS, SERVE_LAYERS, RUN_LAYERS] {
        let position = |name: &str| layers.iter().position(|(layer, _)| *layer == name);
        for (layer, imports) in layers.iter().filter(|(_, imports)| *imports != ANYWHERE) {
            for import in imports.split_whitespace() {
                assert!(
                    position(import).unwrap() < position(layer).unwrap(),
                    "`{layer}` is below `{import}`, which it imports"
                );
            }
        }
    }
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    assert_eq!(
        circles::circles(&source_text::read_all(&repository().join("src"))),
        Vec::<String>::new()
    );
    let planted = [
        SourceText::new("geo/area.rs", "use super::metric::Metric;"),
        SourceText::new("geo/metric.rs", "use crate::geo::Shown;"),
        SourceText::new("geo/shown.rs", "use super::area::Area;"),
        SourceText::new(
            "geo/mod.rs",
            "mod area;\npub use shown::Shown;\npub use crate::geo::shown::Shown;",
        ),
        SourceText::new("geo/table.rs", "use super::area::Area;"),
    ];
    assert_eq!(
        circles::circles(&planted),
        ["geo/area.rs, geo/metric.rs, geo/shown.rs"]
    );
}

fn manifest_of(member: &str) -> toml::Table {
    std::fs::read_to_string(repository().join("src").join(member).join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap()
}

fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    manifest["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

/// Members depend on those of the table and on no others: the compiler then enforces the layers.
#[test]
fn members_depend_only_on_those_below_them() {
    for (member, below) in MEMBERS_BELOW {
        let ours = dependencies(&manifest_of(member))
            .into_iter()
            .filter_map(|name| name.strip_prefix("pubdata-").map(str::to_owned))
            .collect::<BTreeSet<_>>();
        assert_eq!(
            ours,
            below.split_whitespace().map(str::to_owned).collect(),
            "src/{member}/Cargo.toml (left) and the table MEMBERS_BELOW (right) differ"
        );
    }
    assert_eq!(
        MEMBERS_BELOW
            .iter()
            .map(|(member, _)| *member)
            .collect::<Vec<_>>(),
        source_text::MEMBERS
            .iter()
            .map(|(member, _, _)| *member)
            .collect::<Vec<_>>()
    );
}

/// An unused dependency costs time in each build.
#[test]
fn every_dependency_is_named() {
    let sources = source_text::read_all(&repository().join("src"));
    let root: toml::Table = std::fs::read_to_string(repository().join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let manifests = MEMBERS_BELOW
        .iter()
        .map(|(member, _)| (Some(*member), manifest_of(member)))
        .chain([(None, root.clone())]);
    let (mut unnamed, mut all) = (Vec::new(), BTreeSet::new());
    for (member, manifest) in manifests {
        for dependency in dependencies(&manifest) {
            let word = dependency.replace('-', "_");
            let names = |source: &SourceText| {
                source.code.match_indices(&word).any(|(at, _)| {
                    !source.code[at + word.len()..]
                        .starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            };
            if !sources
                .iter()
                .filter(|source| source.member() == member)
                .any(names)
                && !FEATURES_ONLY.contains(&dependency.as_str())
            {
                unnamed.push(format!("{}: {dependency}", member.unwrap_or("pubdata")));
            }
            all.insert(dependency);
        }
    }
    assert_eq!(unnamed, Vec::<String>::new());
    let unknown: Vec<&str> = CRATES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !all.contains(*name))
        .collect();
    assert_eq!(
        unknown,
        Vec::<&str>::new(),
        "the table CRATES names a crate that no member depends on"
    );
    for name in ["polars", "polars-core", "polars-ops"] {
        let features = root["workspace"]["dependencies"][name]
            .get("features")
            .and_then(toml::Value::as_array);
        for heavy in ["csv", "json", "parquet", "ipc", "streaming", "fmt"] {
            let is_on = features
                .into_iter()
                .flatten()
                .any(|feature| feature.as_str() == Some(heavy));
            assert!(
                !is_on,
                "polars feature `{heavy}` pulls in its streaming engine and a second HTTP client"
            );
        }
    }
    assert!(
        !repository().join("build.rs").exists(),
        "declarations are read, not compiled: no build script"
    );
}

/// Dependencies that exist only to turn on features of transitive dependencies.
const FEATURES_ONLY: &[&str] = &["fastrand", "polars-core", "polars-ops"];

/// TOML holds facts: a condition belongs in Rust, in the dataset's file (invariant 8).
#[test]
fn declarations_hold_no_conditions() {
    fn visit(value: &toml::Value, path: &str, found: &mut Vec<String>) {
        let children: Vec<(String, &toml::Value)> = match value {
            toml::Value::Table(table) => table
                .iter()
                .map(|(key, value)| (key.clone(), value))
                .collect(),
            toml::Value::Array(array) => array
                .iter()
                .enumerate()
                .map(|(index, value)| (index.to_string(), value))
                .collect(),
            _ => Vec::new(),
        };
        for (key, child) in children {
            let words: Vec<&str> = key.split('_').collect();
            if words.iter().any(|word| {
                matches!(
                    *word,
                    "if" | "when"
                        | "unless"
                        | "else"
                        | "then"
                        | "where"
                        | "condition"
                        | "expression"
                )
            }) {
                found.push(format!("{path}.{key}"));
            }
            visit(child, &format!("{path}.{key}"), found);
        }
    }
    let mut found = Vec::new();
    for (path, text) in DeclarationFiles::built_in().toml_below("pipelines") {
        visit(&toml::Value::Table(text.parse().unwrap()), path, &mut found);
    }
    assert_eq!(
        found,
        Vec::<String>::new(),
        "facts only: move the condition into src/build/datasets/"
    );
}

/// Checks the five steps of `docs/ADDING-A-DATASET.md`, as far as files show them.
#[test]
fn every_dataset_is_complete() {
    let (declarations, findings) = Declarations::check(DeclarationFiles::built_in());
    assert_eq!(findings, Vec::new());
    let mut missing = Vec::new();
    for (pipeline_id, declaration) in &declarations.pipelines {
        let folder = Path::new("fixtures")
            .join(pipeline_id.replace('.', "/"))
            .join("basic");
        let mut selected = vec![
            folder.join("CASE.md"),
            folder.join("source/.pubdata-mirror"),
        ];
        selected.extend(
            declaration
                .produces
                .iter()
                .map(|id| folder.join("expected").join(format!("{id}.jsonl"))),
        );
        missing.extend(
            selected
                .iter()
                .filter(|path| !repository().join(path).is_file())
                .map(|path| format!("{pipeline_id}: no {}", path.display())),
        );
        if declaration.licence.trim().is_empty() || declaration.publisher.trim().is_empty() {
            missing.push(format!("{pipeline_id}: no licence or publisher"));
        }
        missing.extend(
            declaration
                .produces
                .iter()
                .filter(|id| !declarations.contracts.contains_key(*id))
                .map(|id| format!("{pipeline_id}: `{id}` has no contract")),
        );
        missing.extend(
            declaration
                .produces
                .iter()
                .filter(|id| !declaration.expect.contains_key(*id))
                .map(|id| format!("{pipeline_id}: `{id}` expects nothing")),
        );
    }
    assert_eq!(missing, Vec::<String>::new());
}
