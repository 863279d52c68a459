//! Puts an unknown value into every coded column of every file: the data is published all the same,
//! and the text is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use pubdata_core::pipeline::{Declaration, Format, Source, normalized_name};
use serde_json::Value;

use pubdata_testing::{Place, edit_sources};

/// Tables of the declarations that map a publisher's words, and the prefixes of the columns with
/// such words.
const CODED: &[(&str, &[&str])] = &[
    ("statuses", &["status"]),
    ("entity_types", &["entity_type"]),
    ("status", &["status", "secondary_status"]),
    ("holder_kind", &["holder_kind"]),
    ("workers_comp", &["workers_comp"]),
    ("type", &["type"]),
    ("work_class", &["work_class"]),
    ("property_class", &["property_class"]),
    ("school_type", &["school_type"]),
    ("level", &["level"]),
    ("charter", &["charter"]),
    ("virtual_status", &["virtual_status"]),
    ("zip_type", &["zip_type"]),
];

/// Columns whose unknown words have a meaning: the declared default of the list's professions, or
/// the value of the next column.
const PROFESSIONS_WITH_A_DEFAULT: &[(&str, &str)] = &[
    ("license.nppes", "healthcare_provider_taxonomy_code_1"),
    ("license.nppes", "healthcare_provider_taxonomy_code_15"),
    ("license.nppes", "healthcare_provider_taxonomy_code_2"),
    ("license.nppes", "healthcare_provider_taxonomy_code_3"),
    ("license.or_ccb", "endorsement_text"),
    ("license.tx_tdlr", "license_type"),
    ("license.va_dpor", "license_specialty"),
    ("license.va_dpor_2701", "license_specialty"),
    ("license.va_dpor_b", "license_specialty"),
    ("license.va_dpor_c", "license_specialty"),
    ("license.va_dpor_tradesmen", "license_specialty"),
];

/// Returns the publisher's normalised names of a source's coded columns. Columns that decide
/// whether a record is published are left out: a separate test checks that they block.
fn coded_columns(declaration: &Declaration, source: &Source) -> BTreeSet<String> {
    let listed = |setting: &str| {
        declaration
            .settings
            .get(setting)
            .and_then(|names| names.as_array())
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str())
    };
    let tables = CODED.iter().filter(|(table, _)| {
        declaration.settings.contains_key(*table)
            && !listed("decides").any(|decides| decides == *table)
    });
    let names: BTreeSet<&str> = tables
        .flat_map(|(_, names)| *names)
        .copied()
        .chain(listed("profession_from"))
        .collect();
    let is_coded = |column: &str| {
        names.iter().any(|name| {
            *name == column
                || column
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('_') && rest[1..].parse::<u8>().is_ok())
        })
    };
    let theirs = |is_selected: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        source
            .columns
            .iter()
            .filter(|(column, _)| is_selected(column))
            .flat_map(|(_, theirs)| theirs)
            .map(|name| normalized_name(name))
            .collect()
    };
    // A column that identifies a record is not only a code.
    &theirs(&is_coded)
        - &theirs(&|column| {
            listed("id_from")
                .chain(listed("number_from"))
                .any(|of_id| of_id == column)
        })
}

/// Columns by their sources.
type Columns<'c> = BTreeSet<(&'c str, &'c str)>;

/// Builds a word for the column with at most 15 characters, as many as the narrowest coded column
/// has.
fn unheard_of(column: &str) -> String {
    format!(
        "Unheard {:05}",
        column
            .bytes()
            .fold(7_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 99_991)
    )
}

/// Replaces the cells of some columns in all records, and returns the columns that exist.
fn with_unheard_of(
    text: &str,
    format: &Format,
    columns: &BTreeSet<String>,
    found: &mut BTreeSet<String>,
) -> String {
    match format {
        Format::Delimited { .. } => delimited(text, format, columns, found),
        Format::FixedWidth { fields, .. } => {
            let mut lines: Vec<String> = Vec::new();
            for line in text.split_inclusive('\n') {
                let mut line: Vec<char> = line.chars().collect();
                for (name, [first, length]) in fields
                    .iter()
                    .filter(|(name, _)| columns.contains(&normalized_name(name)))
                {
                    // A code of one letter cannot name its column.
                    if *length > 10 && line.len() >= (*first + *length) as usize {
                        let cell = format!(
                            "{:<width$}",
                            unheard_of(&normalized_name(name)),
                            width = *length as usize
                        );
                        let place = *first as usize - 1;
                        line.splice(
                            place..place + *length as usize,
                            cell.chars().take(*length as usize),
                        );
                        found.insert(normalized_name(name));
                    }
                }
                lines.push(line.into_iter().collect());
            }
            lines.concat()
        }
        Format::JsonRecords { .. } => {
            let mut document: Value = serde_json::from_str(text).unwrap();
            replace_attributes(&mut document, columns, found);
            document.to_string()
        }
        // The cells of a workbook are not text.
        _ => text.to_owned(),
    }
}

fn replace_attributes(value: &mut Value, columns: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| replace_attributes(value, columns, found)),
        Value::Object(attributes) => {
            for (name, value) in attributes {
                if columns.contains(&normalized_name(name)) && value.is_string() {
                    *value = Value::String(unheard_of(&normalized_name(name)));
                    found.insert(normalized_name(name));
                } else {
                    replace_attributes(value, columns, found);
                }
            }
        }
        _ => {}
    }
}

fn delimited(
    text: &str,
    format: &Format,
    columns: &BTreeSet<String>,
    found: &mut BTreeSet<String>,
) -> String {
    let Format::Delimited {
        delimiters,
        quoting,
        escape,
        header,
        header_start,
        label_lines,
        ruler,
        ..
    } = format
    else {
        panic!("delimited text only")
    };
    let delimiter = *delimiters
        .iter()
        .max_by_key(|delimiter| text.matches(**delimiter).count())
        .unwrap();
    let mut changed = String::new();
    let mut names: Option<Vec<String>> =
        (!header.is_empty()).then(|| header.iter().map(|name| normalized_name(name)).collect());
    let mut to_skip = label_lines + u32::from(ruler.is_some());
    for record in records(text, *quoting, *escape) {
        let content = record.trim_end_matches(['\n', '\r']);
        let cells = cells(content, delimiter, *quoting, *escape);
        let Some(names) = &names else {
            if header_start.as_ref().is_none_or(|start| {
                content
                    .trim_start_matches(['\u{feff}', 'ï', '»', '¿'])
                    .starts_with(start.as_str())
            }) {
                names = Some(
                    cells
                        .iter()
                        .map(|cell| {
                            normalized_name(
                                cell.trim_start_matches(['\u{feff}', 'ï', '»', '¿'])
                                    .trim_matches('"'),
                            )
                        })
                        .collect(),
                );
            }
            changed.push_str(record);
            continue;
        };
        if to_skip > 0 || content.is_empty() {
            to_skip = to_skip.saturating_sub(1);
            changed.push_str(record);
            continue;
        }
        let replaced: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(place, cell)| {
                match names.get(place).filter(|name| {
                    columns.contains(*name) && !cell.trim_matches('"').trim().is_empty()
                }) {
                    Some(name) => {
                        found.insert(name.clone());
                        unheard_of(name)
                    }
                    None => (*cell).to_owned(),
                }
            })
            .collect();
        changed.push_str(&replaced.join(&delimiter.to_string()));
        changed.push_str(&record[content.len()..]);
    }
    changed
}

/// Splits a text at a character outside of quotation marks.
fn cut(text: &str, at: char, quoting: bool, escape: Option<char>) -> Vec<usize> {
    let (mut places, mut is_open, mut is_escaped) = (Vec::new(), false, false);
    for (place, character) in text.char_indices() {
        if character == '"' && quoting && !is_escaped {
            is_open = !is_open;
        } else if character == at && !is_open {
            places.push(place);
        }
        is_escaped = Some(character) == escape;
    }
    places
}

fn records(text: &str, quoting: bool, escape: Option<char>) -> Vec<&str> {
    let mut start = 0;
    let mut records = Vec::new();
    for end in cut(text, '\n', quoting, escape) {
        records.push(&text[start..=end]);
        start = end + 1;
    }
    records.extend(Some(&text[start..]).filter(|rest| !rest.is_empty()));
    records
}

fn cells(record: &str, delimiter: char, quoting: bool, escape: Option<char>) -> Vec<&str> {
    let mut start = 0;
    let mut cells = Vec::new();
    for end in cut(record, delimiter, quoting, escape) {
        cells.push(&record[start..end]);
        start = end + delimiter.len_utf8();
    }
    cells.push(&record[start..]);
    cells
}

#[test]
fn unknown_value_is_published_with_its_text_and_blocks_nothing() {
    let place = Place::published();
    let columns_by_source: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::default();
    let changed = edit_sources(&place, |text, declaration, source| {
        let columns = coded_columns(declaration, source);
        if columns.is_empty() {
            return None;
        }
        let mut found = BTreeSet::new();
        let after = with_unheard_of(text, &source.format, &columns, &mut found);
        let is_changed = !found.is_empty();
        columns_by_source
            .lock()
            .unwrap()
            .entry(source.source_id.clone())
            .or_default()
            .extend(found);
        is_changed.then_some(after)
    });
    assert!(changed.len() > 25, "{changed:#?}");
    // Iowa's archive is stored there and compressed here: a file of half the size needs an
    // acceptance. A license of an unknown profession has no links.
    let mut accepted = vec![
        "--accept",
        "business.ia_sos",
        "--accept",
        "permit.license_link",
    ];
    // This many unknown words are published only after an acceptance.
    for table in [
        "permit.permit:meaning",
        "permit.contact:meaning",
        "license.license:meaning",
        "business.entity:meaning",
        "business.officer:meaning",
    ] {
        accepted.extend(["--accept", table]);
    }
    let answer = place.run(&accepted);
    let report = answer.json();
    for task in report["tasks"].as_array().unwrap() {
        assert!(
            ["built", "fresh", "not_published"].contains(&task["outcome"].as_str().unwrap()),
            "{task:#}"
        );
    }
    // Every text appears in a row, whatever its fate. It is reported if no other value has the same
    // meaning.
    let columns_by_source = columns_by_source.into_inner().unwrap();
    let (mut kept, mut warned) = (Columns::new(), Columns::new());
    let manifest = place.manifest();
    for dataset_id in manifest["datasets"].as_object().unwrap().keys() {
        let rows = place.rows(dataset_id);
        for (record, pointers) in rows.values() {
            let text = Value::Object(record.clone()).to_string().to_lowercase();
            let is_warned = record
                .get("warnings")
                .and_then(Value::as_array)
                .is_some_and(|warnings| !warnings.is_empty());
            for (source_id, columns) in pointers
                .iter()
                .filter_map(|pointer| columns_by_source.get_key_value(&pointer.source_id))
            {
                let there: Vec<(&str, &str)> = columns
                    .iter()
                    .filter(|column| text.contains(&unheard_of(column).to_lowercase()))
                    .map(|column| (source_id.as_str(), column.as_str()))
                    .collect();
                warned.extend(there.iter().filter(|_| is_warned).copied());
                kept.extend(there);
            }
        }
    }
    let all: Columns<'_> = columns_by_source
        .iter()
        .flat_map(|(source_id, columns)| {
            columns
                .iter()
                .map(move |column| (source_id.as_str(), column.as_str()))
        })
        .collect();
    assert!(all.len() > 50, "{all:#?}");
    // The providers of the fixture state no license for their third taxonomy.
    assert_eq!(
        all.difference(&kept).collect::<Vec<_>>(),
        [&("license.nppes", "healthcare_provider_taxonomy_code_3")],
        "the text is not kept"
    );
    let silent: Vec<(&str, &str)> = all.difference(&warned).copied().collect();
    assert_eq!(silent, PROFESSIONS_WITH_A_DEFAULT, "no finding reports it");
}
