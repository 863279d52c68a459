//! The invariants of `docs/ARCHITECTURE.md`, read from `use` lines, paths, literals and `Cargo.toml`: a rule that is only prose is broken within a month.

mod circles;
mod source_text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pubdata::declared::DeclarationFiles;
use pubdata::pipeline::{Declarations, Format};
use source_text::SourceText;

/// Folders of `src/`, low to high, each with the folders it may import. `main` is the program, `lib` the list of modules.
const LAYERS: &[(&str, &str)] = &[
    ("ids", ""),
    ("error", ""),
    ("canonical", "error ids"),
    ("provenance", "error ids"),
    ("issue", "ids provenance"),
    ("declared", "error ids"),
    ("contract", "declared error ids issue provenance"),
    ("pipeline", "contract declared error ids"),
    ("store", "contract declared error ids issue pipeline provenance"),
    ("fetch", "error ids issue pipeline provenance store"),
    ("decode", "error ids issue pipeline provenance"),
    ("normalise", "canonical contract error ids issue pipeline provenance"),
    ("datasets", "canonical contract decode error ids issue normalise pipeline provenance"),
    ("validate", "contract decode error ids issue normalise pipeline provenance store"),
    ("publish", "contract error ids issue normalise pipeline provenance store"),
    ("receipts", "contract error ids provenance store"),
    ("witness", "error fetch ids pipeline provenance receipts store"),
    ("run", "contract datasets declared decode error fetch ids issue normalise pipeline provenance publish store validate"),
    ("follow", "datasets error fetch ids issue normalise pipeline provenance store"),
    ("lineage", "contract datasets error fetch ids pipeline provenance run store"),
    ("monitor", "error ids store"),
    ("serve", "canonical contract error ids monitor provenance receipts store"),
    (
        "cli",
        "contract datasets declared decode error fetch follow ids issue lineage monitor normalise pipeline provenance publish receipts run serve store validate witness",
    ),
    ("main", ""),
    ("lib", ""),
];

/// Rooms of `src/serve/`, low to high, each with those that it may import: what all requests share, then places, then families, then what
/// names families. `mod` is the list of modules.
const SERVE_LAYERS: &[(&str, &str)] = &[
    ("contact", ""),
    ("days", ""),
    ("json", ""),
    ("tracer", ""),
    ("settings", "tracer"),
    ("index", ""),
    ("search", "index json"),
    ("release", "index json"),
    ("http", "days json release settings"),
    ("place", "index json release"),
    ("geo", "http index json place release"),
    ("sec", "days http index json release search"),
    ("business", "http index json release search"),
    ("license", "days http index json place release search"),
    ("permit", "days http index json license place release search"),
    ("tax", "days http json place release"),
    ("zip_code", "geo http json place release tax"),
    ("stream", "http json release sec settings"),
    ("admin", "http json release"),
    ("described", "http json release"),
    ("bulk", "contact described http json release"),
    ("coverage", "described geo http json license permit place release sec tax"),
    ("provenance", "http json release tracer"),
    ("receipts", "http json release"),
    ("snapshot", "http json release settings tracer"),
    ("finder", "business geo http json license permit place release search sec"),
    ("routes", "admin bulk business coverage finder geo http license permit place provenance receipts release sec settings snapshot stream tax zip_code"),
    ("pages", "http release settings"),
    ("server", "http pages release routes settings stream"),
    ("router", "http pages receipts routes server stream"),
    ("run", "contact http router server settings stream"),
    ("mod", "*"),
];

const ANYWHERE: &str = "*";

/// Every dependency of `Cargo.toml` and the folders that may name it. `error` turns foreign errors into ours.
const CRATES: &[(&str, &str)] = &[
    ("anstream", "cli"),
    ("anstyle", "cli"),
    ("arc-swap", "serve"),
    ("arrow", "contract error publish receipts serve store"),
    ("axum", "serve"),
    ("aws-lc-rs", "receipts"),
    ("base64", "receipts serve store"),
    ("blake3", "ids"),
    ("brotli", "serve"),
    ("brotli-decompressor", "fetch"),
    ("bytes", ANYWHERE),
    ("clap", "cli"),
    ("clap_complete", "cli"),
    ("clap_mangen", "cli"),
    ("crc32fast", "decode store"),
    ("csv", "decode"),
    ("flate2", "decode fetch serve"),
    ("futures-util", ANYWHERE),
    ("getrandom", ANYWHERE),
    ("hyper", "serve"),
    ("hyper-util", "serve"),
    ("indicatif", "cli"),
    ("jiff", "cli fetch follow lineage monitor normalise pipeline publish run serve store validate witness"),
    ("itoa", "datasets receipts serve"),
    ("libc", "receipts"),
    ("libdeflater", "decode"),
    ("matchit", "serve"),
    ("memchr", ANYWHERE),
    ("memmap2", "store"),
    ("minijinja", "serve"),
    ("object_store", "error store"),
    ("parquet", "contract error publish receipts serve store"),
    ("percent-encoding", "fetch serve"),
    ("polars", "cli datasets decode error normalise provenance publish run validate"),
    ("prometheus-client", "monitor serve"),
    ("psl", "fetch"),
    ("pulldown-cmark", "serve"),
    ("quick-xml", "decode"),
    ("rayon", ANYWHERE),
    ("redis", "serve"),
    ("regex", "pipeline serve"),
    ("reqwest", "fetch"),
    ("rlimit", "serve"),
    ("russh", "fetch"),
    ("russh-sftp", "fetch"),
    ("rust-embed", "declared serve"),
    ("rustix", "store"),
    ("rustls", "fetch serve"),
    ("serde", ANYWHERE),
    ("serde_json", ANYWHERE),
    ("serde_path_to_error", "datasets"),
    ("sha2", "ids"),
    ("strsim", "pipeline serve"),
    ("subtle", "serve"),
    ("thiserror", ANYWHERE),
    ("tikv-jemallocator", "main"),
    ("tokio", ANYWHERE),
    ("tokio-rustls", "serve"),
    ("toml", ANYWHERE),
    ("toml_edit", "run"),
    ("tower", "serve"),
    ("tower-http", "serve"),
    ("tracing", ANYWHERE),
    ("tracing-subscriber", "cli main"),
    ("twox-hash", "store"),
    ("unicode-normalization", "canonical"),
    ("uuid", "publish"),
    ("zip", "decode"),
    ("zstd", "publish"),
];

/// Folders whose result depends on their arguments only: no clock, no environment, no network, and no disk except the file that `decode` is given.
const PURE: &[&str] = &["ids", "canonical", "contract", "decode", "normalise", "datasets", "validate"];

/// Folders and files of a home; only `store` may spell them.
const HOME_NAMES: &[&str] = &["snapshots", "releases", "channels", "staging", "state", "ledger.jsonl", "accepted.jsonl", "keys.json", "manifest.json"];

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn lists(list: &str, name: &str) -> bool {
    list == ANYWHERE || list.split(' ').any(|listed| listed == name)
}

/// What is wrong in one file, as `src/path:line: rule`.
fn breaches(source: &SourceText, words: &Words) -> Vec<String> {
    let mut found = Vec::new();
    let layer = source.layer();
    let mut report = |line: usize, rule: String| found.push(format!("src/{}:{line}: {rule}", source.path));
    let Some((_, imports)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
        report(1, format!("`{layer}` is in no layer: give it a line in LAYERS and in docs/ARCHITECTURE.md"));
        return found;
    };
    for reference in source.references() {
        let segments: Vec<&str> = reference.segments.iter().map(String::as_str).collect();
        let line = reference.line;
        let path = segments.join("::");
        if let ["crate", target, rest @ ..] = segments.as_slice()
            && LAYERS.iter().any(|(name, _)| name == target)
        {
            if *target != layer && layer != "lib" && !lists(imports, target) {
                report(line, format!("`{layer}` must not import `{target}` (layers)"));
            }
            if let (Some(own), Some(other)) = (dataset_of(&source.module()), dataset_of(&segments[1..].iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()))
                && own != other
                && is_dataset(&other)
            {
                report(line, format!("dataset `{own}` must not import dataset `{other}` (invariant 3)"));
            }
            if let ("serve", "serve", [room, ..]) = (layer, *target, rest) {
                let module = source.module();
                let own = module.get(1).map_or("mod", String::as_str);
                match SERVE_LAYERS.iter().find(|(name, _)| *name == own) {
                    None => report(line, format!("`serve/{own}` is in no layer: give it a line in SERVE_LAYERS and in docs/ARCHITECTURE.md")),
                    Some((_, rooms)) if own != *room && SERVE_LAYERS.iter().any(|(name, _)| name == room) && !lists(rooms, room) => {
                        report(line, format!("`serve/{own}` must not import `serve/{room}` (layers)"));
                    }
                    Some(_) => {}
                }
            }
            if *target == "store" && rest.contains(&"advance_channel") && layer != "publish" {
                report(line, "only `publish` moves a channel (invariant 5)".to_owned());
            }
        }
        if let Some((name, folders)) = CRATES.iter().find(|(name, _)| name.replace('-', "_") == segments[0])
            && !lists(folders, layer)
        {
            report(line, format!("`{name}` only in {} (invariants 1 and 2)", folders.replace(' ', ", ")));
        }
        if matches!(segments[0], "println" | "print" | "eprintln" | "eprint") && !matches!(layer, "cli" | "main") {
            report(line, format!("`{}!`: only `cli` prints (invariant 1)", segments[0]));
        }
        let is_impure = matches!(segments.as_slice(), ["std", "env" | "net" | "process", ..] | ["env", "var" | "vars" | "var_os", ..])
            || (layer != "decode" && segments.starts_with(&["std", "fs"]))
            || path.ends_with("SystemTime::now")
            || path.ends_with("Instant::now")
            || path.ends_with("Timestamp::now")
            || path.ends_with("Zoned::now");
        if PURE.contains(&layer) && is_impure {
            report(line, format!("`{path}`: `{layer}` reads no clock, environment or disk (invariant 3)"));
        }
        if layer == "decode" && segments.iter().any(|segment| matches!(*segment, "CsvReadOptions" | "CsvReader" | "JsonReader" | "infer_schema")) {
            report(line, format!("`{path}`: decoders never infer types (invariant 6)"));
        }
    }
    for (index, line) in source.code.lines().enumerate() {
        if line.contains(".advance_channel(") && !matches!(layer, "publish" | "store") {
            report(index + 1, "only `publish` moves a channel (invariant 5)".to_owned());
        }
        if layer == "decode" && ["DataType::Int", "DataType::Float", "DataType::Date"].iter().any(|word| line.contains(word)) {
            report(index + 1, "a decoder returns text columns; the contract casts (invariant 6)".to_owned());
        }
        if ["fs::rename", "fs::hard_link"].iter().any(|word| line.contains(word)) && layer != "store" {
            report(index + 1, "only `store` names and moves files of a home (invariant 5)".to_owned());
        }
    }
    for literal in &source.strings {
        let text = literal.text.as_str();
        let code_line = source.code.lines().nth(literal.line - 1).unwrap_or_default();
        if layer != "store" && code_line.contains(".join(\"") && HOME_NAMES.contains(&text.split('/').next().unwrap_or_default()) {
            report(literal.line, format!("`{text}`: only `store` builds paths (invariant 5)"));
        }
        if layer == "datasets" {
            continue;
        }
        let after_scheme = text.split_once("https://").or_else(|| text.split_once("http://")).map(|(_, after)| after);
        if after_scheme.is_some_and(names_a_foreign_host) {
            report(literal.line, format!("`{text}`: URLs belong in pipelines/ (invariant 7)"));
        }
        if layer == "serve" && !source.path.ends_with("tests.rs") && (words.facts.contains(text) || words.states.contains(text)) {
            report(literal.line, format!("`{text}` is a fact about what a publisher has: it belongs in schemas/ (invariant 7)"));
        }
        if words.publishers.contains(text) {
            report(literal.line, format!("`{text}` is a publisher's word: it belongs in pipelines/ (invariant 7)"));
        }
    }
    found
}

/// A profile of a standard is named by a URL, and is nobody's data.
fn names_a_foreign_host(after_scheme: &str) -> bool {
    let is_host = after_scheme.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_host && !["127.0.0.1", "localhost", "example.", "datapackage.org/profiles/"].iter().any(|host| after_scheme.starts_with(host))
}

/// `["datasets", "census", "acs5", …]` → `census::acs5`.
fn dataset_of(module: &[String]) -> Option<String> {
    match module {
        [folder, family, name, ..] if folder == "datasets" => Some(format!("{family}::{name}")),
        _ => None,
    }
}

/// A dataset's file is named after its declaration; other files of the folder are parts of one.
fn is_dataset(name: &str) -> bool {
    repository().join("pipelines").join(name.replace("::", "/")).with_extension("toml").is_file()
}

/// What no literal outside of datasets may be.
struct Words {
    /// Column names and special numbers of the publishers, as far as no English word could be meant.
    publishers: BTreeSet<String>,
    /// Values of which contracts say something, and what they say.
    facts: BTreeSet<String>,
    /// Postal codes of states.
    states: BTreeSet<String>,
}

impl Words {
    fn read() -> Self {
        let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
        let mut facts = BTreeSet::new();
        for (path, text) in DeclarationFiles::built_in().toml_below("schemas") {
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
            for known in table.get("value").and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_table) {
                facts.extend(known.iter().filter(|(key, _)| *key != "column").filter_map(|(_, text)| text.as_str()).map(str::to_owned));
            }
        }
        facts.retain(|word: &String| word.contains(|c: char| !c.is_ascii_digit()));
        // Words of the API itself, which a publisher's value happens to be, too.
        for word in ["income", "balance", "cash_flow", "USD", "shares", "cash", "only_taxed", "true"] {
            facts.remove(word);
        }
        let letters = || (b'A'..=b'Z').map(char::from);
        let codes = letters().flat_map(|first| letters().map(move |second| format!("{first}{second}")));
        let states = codes.filter(|code| pubdata::canonical::state::name(code).is_some()).collect();
        Self { publishers: publisher_words(&declarations), facts, states }
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
        if let Some(sentinels) = declaration.settings.get("jam_values").and_then(toml::Value::as_table) {
            words.extend(sentinels.values().filter_map(toml::Value::as_str).map(str::to_owned));
        }
    }
    words.retain(|word| word.len() >= 6 && !word.contains('#') && (word.starts_with('-') || word.chars().any(|c| c.is_ascii_uppercase())));
    words
}

#[test]
fn source_keeps_the_invariants() {
    let words = Words::read();
    let found: Vec<String> = source_text::read_all(&repository().join("src")).iter().flat_map(|source| breaches(source, &words)).collect();
    assert!(found.is_empty(), "{} breach(es) of docs/ARCHITECTURE.md:\n{}", found.len(), found.join("\n"));
}

/// Each rule, broken once: a rule that finds nothing anywhere proves nothing.
#[test]
fn every_rule_finds_its_breach() {
    let words = Words::read();
    let cases = [
        ("serve/api.rs", "use crate::{\n    error::Result,\n    fetch::Fetcher,\n};", "src/serve/api.rs:1: `serve` must not import `fetch` (layers)"),
        ("ids/zcta.rs", "fn f() { crate::store::open() }", "src/ids/zcta.rs:1: `ids` must not import `store` (layers)"),
        ("store/home.rs", "use super::super::run::Plan;", "src/store/home.rs:1: `store` must not import `run` (layers)"),
        ("helpers/mod.rs", "", "src/helpers/mod.rs:1: `helpers` is in no layer: give it a line in LAYERS and in docs/ARCHITECTURE.md"),
        ("run/mod.rs", "\nuse reqwest::Client;", "src/run/mod.rs:2: `reqwest` only in fetch (invariants 1 and 2)"),
        (
            "serve/load.rs",
            "let frame = polars::prelude::DataFrame::empty();",
            "src/serve/load.rs:1: `polars` only in cli, datasets, decode, error, normalise, provenance, publish, run, validate (invariants 1 and 2)",
        ),
        ("run/mod.rs", "use russh::client;", "src/run/mod.rs:1: `russh` only in fetch (invariants 1 and 2)"),
        ("run/mod.rs", "println!(\"done\");", "src/run/mod.rs:1: `println!`: only `cli` prints (invariant 1)"),
        (
            "datasets/census/acs5.rs",
            "let year = std::env::var(\"YEAR\");",
            "src/datasets/census/acs5.rs:1: `std::env::var`: `datasets` reads no clock, environment or disk (invariant 3)",
        ),
        (
            "validate/mod.rs",
            "let now = Timestamp::now();",
            "src/validate/mod.rs:1: `Timestamp::now`: `validate` reads no clock, environment or disk (invariant 3)",
        ),
        ("run/mod.rs", "releases.advance_channel(name)", "src/run/mod.rs:1: only `publish` moves a channel (invariant 5)"),
        ("publish/mod.rs", "std::fs::rename(a, b)", "src/publish/mod.rs:1: only `store` names and moves files of a home (invariant 5)"),
        ("serve/mod.rs", "root.join(\"releases/x\")", "src/serve/mod.rs:1: `releases/x`: only `store` builds paths (invariant 5)"),
        ("decode/csv.rs", "let column = DataType::Int64;", "src/decode/csv.rs:1: a decoder returns text columns; the contract casts (invariant 6)"),
        (
            "decode/csv.rs",
            "let options = polars::io::CsvReadOptions::default();",
            "src/decode/csv.rs:1: `polars::io::CsvReadOptions::default`: decoders never infer types (invariant 6)",
        ),
        ("fetch/mod.rs", "let url = \"https://www.census.gov/\";", "src/fetch/mod.rs:1: `https://www.census.gov/`: URLs belong in pipelines/ (invariant 7)"),
        ("serve/http/etag.rs", "use crate::serve::tax::rate;", "src/serve/http/etag.rs:1: `serve/http` must not import `serve/tax` (layers)"),
        ("serve/geo/area.rs", "use super::super::sec::links;", "src/serve/geo/area.rs:1: `serve/geo` must not import `serve/sec` (layers)"),
        (
            "serve/general/area.rs",
            "use crate::serve::http;",
            "src/serve/general/area.rs:1: `serve/general` is in no layer: give it a line in SERVE_LAYERS and in docs/ARCHITECTURE.md",
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
        ("normalise/mod.rs", "column == \"GEO_ID\"", "src/normalise/mod.rs:1: `GEO_ID` is a publisher's word: it belongs in pipelines/ (invariant 7)"),
        ("normalise/mod.rs", "value == r\"-666666666\"", "src/normalise/mod.rs:1: `-666666666` is a publisher's word: it belongs in pipelines/ (invariant 7)"),
    ];
    for (path, code, expected) in cases {
        assert_eq!(breaches(&SourceText::new(path, code), &words), [expected], "in {path}: {code}");
    }
    let allowed = [
        ("cli/run.rs", "use clap::Parser; use crate::run::Plan; println!(\"https://example.org\");"),
        ("fetch/mod.rs", "// https://www.census.gov/ GEO_ID\nif url.starts_with(\"https://\") { let c = '\"'; }"),
        ("decode/csv.rs", "use super::Frame; use crate::provenance::Inputs; fn f<'a>(x: &'a str) -> &'a str { x }"),
        ("ids/zcta.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use crate::run::Plan; }"),
    ];
    for (path, code) in allowed {
        assert_eq!(breaches(&SourceText::new(path, code), &words), Vec::<String>::new(), "in {path}: {code}");
    }
}

#[test]
fn layers_have_no_cycle_and_a_fixed_order() {
    for layers in [LAYERS, SERVE_LAYERS] {
        let position = |name: &str| layers.iter().position(|(layer, _)| *layer == name);
        for (layer, imports) in layers.iter().filter(|(_, imports)| *imports != ANYWHERE) {
            for import in imports.split_whitespace() {
                assert!(position(import).unwrap() < position(layer).unwrap(), "`{layer}` stands below `{import}`, which it imports");
            }
        }
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    assert_eq!(circles::circles(&source_text::read_all(&repository().join("src"))), Vec::<String>::new());
    let planted = [
        SourceText::new("geo/area.rs", "use super::metric::Metric;"),
        SourceText::new("geo/metric.rs", "use crate::geo::Shown;"),
        SourceText::new("geo/shown.rs", "use super::area::Area;"),
        SourceText::new("geo/mod.rs", "mod area;\npub use shown::Shown;\npub use crate::geo::shown::Shown;"),
        SourceText::new("geo/table.rs", "use super::area::Area;"),
    ];
    assert_eq!(circles::circles(&planted), ["geo/area.rs, geo/metric.rs, geo/shown.rs"]);
}

#[test]
fn every_dependency_has_a_place() {
    let manifest: toml::Table = std::fs::read_to_string(repository().join("Cargo.toml")).unwrap().parse().unwrap();
    let dependencies: BTreeSet<&str> = manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
    let placed: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    assert_eq!(dependencies, placed, "Cargo.toml (left) and the table CRATES (right) differ");
    let features = manifest["dependencies"]["polars"]["features"].as_array().unwrap();
    for heavy in ["csv", "json", "parquet", "ipc", "streaming", "fmt"] {
        assert!(
            !features.iter().any(|feature| feature.as_str() == Some(heavy)),
            "polars feature `{heavy}` draws in its streaming engine and a second HTTP client"
        );
    }
    assert!(!repository().join("build.rs").exists(), "declarations are read, not compiled: no build script");
}

/// TOML holds facts: what needs a condition is Rust in the dataset's file (invariant 8).
#[test]
fn declarations_hold_no_conditions() {
    fn visit(value: &toml::Value, path: &str, found: &mut Vec<String>) {
        let children: Vec<(String, &toml::Value)> = match value {
            toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), value)).collect(),
            toml::Value::Array(array) => array.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        for (key, child) in children {
            let words: Vec<&str> = key.split('_').collect();
            if words.iter().any(|word| matches!(*word, "if" | "when" | "unless" | "else" | "then" | "where" | "condition" | "expression")) {
                found.push(format!("{path}.{key}"));
            }
            visit(child, &format!("{path}.{key}"), found);
        }
    }
    let mut found = Vec::new();
    for (path, text) in DeclarationFiles::built_in().toml_below("pipelines") {
        visit(&toml::Value::Table(text.parse().unwrap()), path, &mut found);
    }
    assert_eq!(found, Vec::<String>::new(), "facts only: move the condition into src/datasets/");
}

/// The five moves of `docs/ADDING-A-DATASET.md`, as far as files show them.
#[test]
fn every_dataset_is_complete() {
    let (declarations, findings) = Declarations::check(DeclarationFiles::built_in());
    assert_eq!(findings, Vec::new());
    let mut missing = Vec::new();
    for (pipeline_id, declaration) in &declarations.pipelines {
        let folder = Path::new("fixtures").join(pipeline_id.replace('.', "/")).join("basic");
        let mut wanted = vec![folder.join("CASE.md"), folder.join("source/.pubdata-mirror")];
        wanted.extend(declaration.produces.iter().map(|id| folder.join("expected").join(format!("{id}.jsonl"))));
        missing.extend(wanted.iter().filter(|path| !repository().join(path).is_file()).map(|path| format!("{pipeline_id}: no {}", path.display())));
        if declaration.licence.trim().is_empty() || declaration.publisher.trim().is_empty() {
            missing.push(format!("{pipeline_id}: no licence or publisher"));
        }
        missing.extend(
            declaration.produces.iter().filter(|id| !declarations.contracts.contains_key(*id)).map(|id| format!("{pipeline_id}: `{id}` has no contract")),
        );
        missing
            .extend(declaration.produces.iter().filter(|id| !declaration.expect.contains_key(*id)).map(|id| format!("{pipeline_id}: `{id}` expects nothing")));
    }
    assert_eq!(missing, Vec::<String>::new());
}
