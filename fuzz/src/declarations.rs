//! Checks declarations, contracts and related files: for any content, findings must name an
//! existing file and line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::{Declarations, Schedule, canonical_json, expand};
use pubdata_store::Plans;

use crate::place;

const PIPELINE: &str = "pipelines/fuzzed/list.toml";
const CONTRACT: &str = "schemas/geo/zcta_metric.toml";
const TYPES: &str = "schemas/_types.toml";
const PLANS: &str = "schemas/_plans.toml";

/// Returns the types and one contract of the built-in declarations.
fn base() -> &'static DeclarationFiles {
    static BASE: OnceLock<DeclarationFiles> = OnceLock::new();
    BASE.get_or_init(|| {
        let all = DeclarationFiles::built_in();
        let root = place::empty("declarations");
        for path in [CONTRACT, TYPES, PLANS] {
            let target = root.join(path);
            std::fs::create_dir_all(target.parent().unwrap_or(Path::new("."))).expect("a folder can be made");
            std::fs::write(target, all.read(path).expect("the program has it")).expect("a file can be written");
        }
        std::fs::create_dir_all(root.join("pipelines")).expect("a folder can be made");
        DeclarationFiles::from_dir(&root).expect("it has both folders")
    })
}

/// Checks one file: one byte chooses the file, then its text follows.
pub fn declarations(data: &[u8]) {
    let (which, bytes) = place::choice(data);
    let text = String::from_utf8_lossy(bytes);
    let text = text.as_ref();
    let path = [PIPELINE, CONTRACT, TYPES, PLANS][usize::from(which & 3)];
    if path == PLANS {
        let _ = Plans::parse(text);
        return;
    }
    let (read, findings) = Declarations::check(base().with(&[(path, text)]));
    for finding in &findings {
        let all = base().with(&[(path, text)]);
        let lines = all.read(&finding.file).map(|bytes| String::from_utf8_lossy(bytes).lines().count()).expect("a finding names a file that is there");
        assert!((1..=lines.max(1)).contains(&finding.line), "{finding} names one of {lines} lines");
        assert!(!finding.message.is_empty());
    }
    let again = Declarations::check(base().with(&[(path, text)])).1;
    assert_eq!(findings, again, "the same findings each time");
    for declaration in read.pipelines.values() {
        let _ = canonical_json(declaration);
        let _ = declaration.calendar.as_ref().map(|calendar| Schedule::from_calendar(calendar).is_ok());
        for source in &declaration.sources {
            let keys: BTreeMap<String, String> = [("vintage", "2023"), ("offset", "0")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let _ = (expand(&source.url, &keys), expand(&source.source_version, &keys));
            if let Some(listing) = &source.listing {
                let _ = (listing.sample(), listing.newest(&["https://example.org/MNR2026Q1.zip".to_owned()]));
            }
        }
    }
    if findings.is_empty() {
        Declarations::load(base().with(&[(path, text)])).expect("without findings there is no error");
    }
}
