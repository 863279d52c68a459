//! The files of `docs/json`: each for itself, and all as one document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use pubdata_testing::{files_below, project};

const ENDING: &str = ".schema.json";

/// The schemas by name.
pub fn files() -> BTreeMap<String, Value> {
    let files = files_below(&project("docs/json")).into_iter();
    let named = files.filter_map(|path| Some((path.file_name()?.to_str()?.strip_suffix(ENDING)?.to_owned(), path)));
    named.map(|(name, path)| (name, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())).collect()
}

/// All schemas in one document, with references that stay in it: `/task`, and `/task.defs/…` for what stands under `$defs`.
pub fn together() -> Value {
    let mut document = Map::new();
    for (name, mut schema) in files() {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert_eq!(schema["$id"], format!("{name}{ENDING}"));
        refer_within(&name, &mut schema);
        let defs = schema["$defs"].take();
        schema.as_object_mut().unwrap().retain(|word, _| !["$schema", "$id", "$defs"].contains(&word.as_str()));
        document.insert(name.clone(), schema);
        document.insert(format!("{name}.defs"), defs);
    }
    Value::Object(document)
}

fn refer_within(name: &str, value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                let (file, within) = reference.split_once('#').unwrap_or((reference, ""));
                let file = file.strip_suffix(ENDING).unwrap_or(name);
                *reference = format!("#/{file}{}", within.replace("/$defs/", ".defs/"));
            }
            members.values_mut().for_each(|member| refer_within(name, member));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| refer_within(name, value)),
        _ => {}
    }
}

/// The names of the files that a schema refers to, and those to which these do.
pub fn named(schema: &Value, files: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let text = schema.to_string();
        let references = text.split("\"$ref\":\"").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
        for name in references.filter(|name| !name.is_empty()) {
            if found.insert(name.to_owned()) {
                open.push(&files[name.strip_suffix(ENDING).unwrap()]);
            }
        }
    }
    found
}

/// What a reader misses in a schema: what a key is, when it is null, when it is absent, and which keys there are.
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
        let is_nullable = property["type"].as_array().is_some_and(|types| types.contains(&Value::from("null"))) || property["anyOf"].is_array();
        if is_nullable && !text.to_lowercase().contains("null") {
            found.push(format!("{place}: is not told when it is null"));
        }
        let is_required = schema["required"].as_array().is_some_and(|required| required.contains(&Value::from(name.as_str())));
        if !is_required && !text.to_lowercase().contains("absent") {
            found.push(format!("{place}: is not told when it is absent"));
        }
        found.extend(faults(&place, property));
    }
    let parts = schema.as_object().into_iter().flatten().filter(|(word, _)| ["items", "additionalProperties"].contains(&word.as_str()));
    parts.for_each(|(word, part)| found.extend(faults(&format!("{at}/{word}"), part)));
    let others = schema["anyOf"].as_array().into_iter().flatten().chain(schema["$defs"].as_object().into_iter().flatten().map(|(_, other)| other));
    others.for_each(|other| found.extend(faults(&format!("{at}/…"), other)));
    found
}
