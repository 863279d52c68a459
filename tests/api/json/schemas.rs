//! Reads the files of `docs/json`, one by one and merged into one document.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use pubdata_testing::{files_below, project};

const ENDING: &str = ".schema.json";

/// Schemas by name.
pub fn files() -> BTreeMap<String, Value> {
    let files = files_below(&project("docs/json")).into_iter();
    let named = files.filter_map(|path| {
        Some((
            path.file_name()?.to_str()?.strip_suffix(ENDING)?.to_owned(),
            path,
        ))
    });
    named
        .map(|(name, path)| {
            (
                name,
                serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(),
            )
        })
        .collect()
}

/// Merges all schemas into one document with internal references; a type must have the same schema
/// in all files.
pub fn together() -> Value {
    let (mut document, mut types) = (Map::new(), Map::new());
    for (format, mut schema) in files() {
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{format}"
        );
        assert_eq!(schema["$id"], format!("{format}{ENDING}"));
        for (name, of_type) in schema["$defs"].take().as_object().into_iter().flatten() {
            assert_eq!(
                types.entry(name).or_insert_with(|| of_type.clone()),
                of_type,
                "{format}: there is another type of this name"
            );
        }
        schema
            .as_object_mut()
            .unwrap()
            .retain(|word, _| !["$schema", "$id", "$defs"].contains(&word.as_str()));
        document.insert(format, schema);
    }
    document.insert("$defs".to_owned(), types.into());
    Value::Object(document)
}

/// Gaps in a schema that a reader would notice: no meaning of a key, no rule for null or absent, or
/// no list of keys.
pub fn faults(at: &str, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if schema["type"] == "object" && schema["additionalProperties"].is_null() {
        found.push(format!("{at}: may have any key"));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}/properties/{name}");
        let text = property["description"].as_str().unwrap_or_default();
        if text.is_empty() {
            found.push(format!("{place}: has no description"));
        }
        let is_nullable = property["type"]
            .as_array()
            .is_some_and(|types| types.contains(&Value::from("null")))
            || property["anyOf"].is_array();
        if is_nullable && !text.to_lowercase().contains("null") {
            found.push(format!("{place}: does not say when it is null"));
        }
        let is_required = schema["required"]
            .as_array()
            .is_some_and(|required| required.contains(&Value::from(name.as_str())));
        if !is_required && !text.to_lowercase().contains("absent") {
            found.push(format!("{place}: does not say when it is absent"));
        }
        found.extend(faults(&place, property));
    }
    let parts = schema
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(word, _)| ["items", "additionalProperties"].contains(&word.as_str()));
    parts.for_each(|(word, part)| found.extend(faults(&format!("{at}/{word}"), part)));
    let others = schema["anyOf"].as_array().into_iter().flatten().chain(
        schema["$defs"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, other)| other),
    );
    others.for_each(|other| found.extend(faults(&format!("{at}/…"), other)));
    found
}
