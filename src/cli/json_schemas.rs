//! The JSON Schemas of what commands print for machines, built into the program: the files of `docs/json`.

use serde_json::{Map, Value};

macro_rules! files {
    ($($name:literal)+) => {
        [$(($name, include_str!(concat!("../../docs/json/", $name, ".schema.json")))),+]
    };
}

/// Every file by its name; shapes that several documents have are in files without `pubdata.`.
const FILES: [(&str, &str); 39] = files![
    "common"
    "contract"
    "manifest"
    "pubdata.accepted"
    "pubdata.channel_move"
    "pubdata.check"
    "pubdata.contract"
    "pubdata.contracts"
    "pubdata.error"
    "pubdata.fetch"
    "pubdata.follow"
    "pubdata.import"
    "pubdata.invitation"
    "pubdata.key"
    "pubdata.keys"
    "pubdata.message"
    "pubdata.new"
    "pubdata.plan"
    "pubdata.probe"
    "pubdata.prune"
    "pubdata.release"
    "pubdata.release_diff"
    "pubdata.releases"
    "pubdata.run"
    "pubdata.seal"
    "pubdata.settings"
    "pubdata.signing_key"
    "pubdata.status"
    "pubdata.test_message"
    "pubdata.trace"
    "pubdata.trace_filing"
    "pubdata.units"
    "pubdata.upgrade"
    "pubdata.verify"
    "pubdata.verify_receipt"
    "pubdata.verify_url"
    "pubdata.withdrawal"
    "snapshot"
    "task"
];

const DOCUMENT: &str = "pubdata.";

/// The formats that have a schema.
pub(super) fn formats() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name).filter(|name| name.starts_with(DOCUMENT))
}

/// The schema of a format, with the files it names under `$defs`, where its references find them by their `$id`; none where there is no such
/// format.
pub(super) fn schema(format: &str) -> Option<Value> {
    let format = format.strip_prefix(DOCUMENT).unwrap_or(format);
    let (_, text) = FILES.iter().find(|(name, _)| name.strip_prefix(DOCUMENT) == Some(format))?;
    let mut named: Map<String, Value> = Map::new();
    let mut open = vec![*text];
    while let Some(text) = open.pop() {
        for (name, of_others) in FILES.iter().filter(|(name, _)| text.contains(&format!("\"$ref\": \"{name}.schema.json"))) {
            if named.insert(format!("{name}.schema.json"), parsed(of_others)).is_none() {
                open.push(of_others);
            }
        }
    }
    let mut schema = parsed(text);
    for (name, of_others) in named {
        schema["$defs"][name] = of_others;
    }
    Some(schema)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("checked by a test")
}
