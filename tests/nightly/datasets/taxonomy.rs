//! Compares each element, label and total of the publishers' own taxonomy files with the output of
//! another XML parser.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::ExitCode;
use serde_json::{Map, Value};

use pubdata_testing::publisher::archive;
use pubdata_testing::{files_below, project, rows_below, run_here, settings, shared_data};

type Rows = BTreeMap<String, Map<String, Value>>;

/// Folder or file of the publisher, the URL of its archive, taxonomy and version, and the parts
/// that are absent.
const VERSIONS: &[(&str, &str, &str, &str, &[&str])] = &[
    (
        "us-gaap-2011-01-31",
        "xbrl.fasb.org/us-gaap/2011/us-gaap-2011-01-31.zip",
        "us-gaap",
        "2011-01-31",
        &["labels", "documentation", "calculation"],
    ),
    (
        "us-gaap-2016-01-31",
        "xbrl.fasb.org/us-gaap/2016/us-gaap-2016-01-31.zip",
        "us-gaap",
        "2016-01-31",
        &["schema", "labels", "documentation"],
    ),
    (
        "us-gaap-cal-2025-all.xsd",
        "xbrl.fasb.org/us-gaap/2025/us-gaap-2025.zip",
        "us-gaap",
        "2025",
        &["schema", "labels", "documentation"],
    ),
    (
        "srt-2024",
        "xbrl.fasb.org/srt/2024/srt-2024.zip",
        "srt",
        "2024",
        &["calculation"],
    ),
    (
        "dei-2014-01-31",
        "xbrl.sec.gov/dei/2014/dei-2014-01-31.zip",
        "dei",
        "2014-01-31",
        &["calculation"],
    ),
];

/// Lists the files of one version. All calculations of 2025 are in one schema with a separate name.
fn members(path: &Path) -> Vec<(String, PathBuf)> {
    if path.is_file() {
        return vec![(
            "us-gaap-2025/stm/us-gaap-stm-all-cal-2025.xml".to_owned(),
            path.to_owned(),
        )];
    }
    let name = |file: &Path| {
        file.strip_prefix(path.parent().unwrap())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    files_below(path)
        .into_iter()
        .map(|file| (name(&file), file))
        .collect()
}

fn said_by_another_parser(taxonomy: &str, members: &[(String, PathBuf)]) -> Option<Value> {
    let selected = |name: &str| {
        ![
            "-pre-",
            "-def-",
            "-ref-",
            "-roles-",
            "-types-",
            "-ent-",
            "-std-",
            "-all-2014",
        ]
        .iter()
        .any(|part| name.contains(part))
    };
    let files = members
        .iter()
        .filter(|(name, _)| selected(name))
        .map(|(_, file)| file);
    let output = Command::new("python3")
        .arg(project("tests/nightly/datasets/read_taxonomy.py"))
        .arg(taxonomy)
        .args(files)
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn real_taxonomies_are_published_element_by_element() {
    let Some(data) = shared_data("sec/taxonomy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mirror = folder.path().join("mirror");
    std::fs::create_dir_all(&mirror).unwrap();
    std::fs::write(mirror.join(".pubdata-mirror"), "sample = true\n").unwrap();
    let mut expected = Vec::new();
    for (name, url, taxonomy, version, absent) in VERSIONS {
        let members = members(&data.join(name));
        let Some(said) = said_by_another_parser(taxonomy, &members) else {
            eprintln!("skipped: no python3");
            return;
        };
        expected.push((*taxonomy, *version, *absent, said));
        let contents: Vec<(String, Vec<u8>)> = members
            .into_iter()
            .map(|(name, file)| (name, std::fs::read(file).unwrap()))
            .collect();
        let contents: Vec<(&str, &[u8])> = contents
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect();
        std::fs::create_dir_all(mirror.join(url).parent().unwrap()).unwrap();
        std::fs::write(mirror.join(url), archive(&contents)).unwrap();
    }
    let home = folder.path().join("home");
    let mut settings = settings(
        &home,
        vec![mirror.display().to_string()],
        DeclarationFiles::built_in(),
    );
    settings.selectors = vec!["sec.taxonomy".to_owned()];
    let report = run_here(&settings).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    let rows: Rows = rows_below(
        &home
            .join("releases")
            .join(report.release_id.unwrap().as_str())
            .join("sec.concept"),
    )
    .into_iter()
    .map(|(id, (record, pointers))| {
        assert!(!pointers.is_empty(), "{id}");
        (id, record)
    })
    .collect();
    let mut seen = 0;
    for (taxonomy, version, absent, said) in expected {
        seen += compare(&rows, taxonomy, version, absent, &said);
    }
    assert_eq!(
        seen,
        rows.len(),
        "every record belongs to one of the versions"
    );
    assert_eq!(
        rows.values()
            .filter(|row| row["version"] == "2011-01-31")
            .count(),
        15_725
    );
    assert_eq!(
        rows.values()
            .filter(|row| row["deprecated_date"] == "2009-01-31")
            .count(),
        357
    );
    assert_eq!(
        rows["sec.concept:us-gaap:2011-01-31:Assets"]["balance"],
        "debit"
    );
}

/// Compares all records of one version and returns their number.
fn compare(rows: &Rows, taxonomy: &str, version: &str, absent: &[&str], said: &Value) -> usize {
    let start = format!("sec.concept:{taxonomy}:{version}:");
    let rows: BTreeMap<String, &Map<String, Value>> = rows
        .iter()
        .filter_map(|(id, row)| Some((format!("{taxonomy}_{}", id.strip_prefix(&start)?), row)))
        .collect();
    let (elements, labels) = (
        said["elements"].as_object().unwrap(),
        said["labels"].as_object().unwrap(),
    );
    let mut arcs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for arc in said["arcs"].as_array().unwrap() {
        let part = |place: usize| arc[place].as_str().unwrap();
        arcs.entry(part(0)).or_default().insert(format!(
            "{}|{}|{}",
            part(1).replacen('_', ":", 1),
            part(2),
            part(3)
        ));
    }
    let declared: BTreeSet<&str> = if elements.is_empty() {
        arcs.keys().copied().collect()
    } else {
        elements.keys().map(String::as_str).collect()
    };
    assert_eq!(
        rows.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        declared,
        "{start}"
    );
    for (id, row) in &rows {
        assert_eq!(row["absent_parts"], Value::from(absent), "{id}");
        let attribute = |name: &str| {
            elements
                .get(id)
                .map_or(Value::Null, |element| element[name].clone())
        };
        for (column, name) in [
            ("concept", "name"),
            ("data_type", "type"),
            ("period_type", "periodType"),
            ("balance", "balance"),
            ("substitution_group", "substitutionGroup"),
            ("deprecated_date", "deprecatedDate"),
        ] {
            // Without a schema, only the name is known.
            let expected = if column == "concept" && elements.is_empty() {
                row[column].clone()
            } else {
                attribute(name)
            };
            assert_eq!(row[column], expected, "{start} {id} {column}");
        }
        let is_true = |name: &str| {
            if elements.is_empty() {
                Value::Null
            } else {
                Value::from(attribute(name) == "true")
            }
        };
        assert_eq!(
            (&row["is_abstract"], &row["is_nillable"]),
            (&is_true("abstract"), &is_true("nillable")),
            "{id}"
        );
        let label = |role: &str| {
            labels
                .get(id)
                .map_or(Value::Null, |by_role| by_role[role].clone())
        };
        assert_eq!(
            (&row["label"], &row["documentation"]),
            (&label("label"), &label("documentation")),
            "{id}"
        );
        let others = labels
            .get(id)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(role, _)| !["label", "documentation"].contains(&role.as_str()));
        let others: Vec<String> = others
            .map(|(role, text)| format!("{role}: {}", text.as_str().unwrap()))
            .collect();
        assert_eq!(row["other_labels"], Value::from(others), "{id}");
        let parents: BTreeSet<String> = row["calculation_parents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|parent| parent.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            &parents,
            arcs.get(id.as_str()).unwrap_or(&BTreeSet::new()),
            "{id}"
        );
    }
    rows.len()
}
