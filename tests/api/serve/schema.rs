//! Compares answers with the OpenAPI document: members of an answer that its schema lacks, and
//! members of a schema that no answer has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use pubdata_core::contract::Contracts;
use pubdata_serve::openapi_document;
use regex::Regex;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Answer;
use crate::coverage::{Endpoint, endpoints, meant};

const SCHEMAS: &str = "/components/schemas/";
const ANSWER: &str = "/responses/200/content/application~1json/schema";
const REQUEST: &str = "/requestBody/content/application~1json/schema";

/// Keywords of JSON Schema that are checked here, and those that do not constrain a value.
const WORDS: [&str; 15] = [
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "format",
    "items",
    "maximum",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "uniqueItems",
];

/// Keywords that only requests may use: the server enforces them.
const WORDS_OF_REQUESTS: [&str; 5] = ["default", "maxItems", "maxLength", "minItems", "title"];

/// The document that every server of the tests serves.
pub fn document(contracts: &Contracts) -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| openapi_document(contracts, None))
}

/// Fails if an answer differs from the document. The document itself and paths outside `/v1` are
/// not described.
#[track_caller]
pub fn hold(contracts: &Contracts, method: &str, path: &str, answer: &Answer) {
    let media = answer.header("content-type");
    let is_readable = answer.header("content-encoding").is_empty() && !answer.bytes.is_empty();
    if !is_readable
        || !path.starts_with("/v1/")
        || ["/v1/openapi.json", "/v1/asyncapi.json"]
            .iter()
            .any(|document| path.starts_with(document))
    {
        return;
    }
    let mut survey = Survey::new(document(contracts));
    match (answer.status.as_u16(), media) {
        (200, "application/json") => {
            survey.answer(method, path, &answer.json());
            survey.order(
                method,
                path,
                &serde_json::from_slice(&answer.bytes).unwrap(),
            );
        }
        (_, "application/problem+json") => survey.problem(&answer.json(), path),
        _ => {}
    }
    assert!(
        survey.breaches.is_empty(),
        "the document differs: {:#?}",
        survey.breaches
    );
}

/// Number of times an object occurred, and its members.
#[derive(Default)]
struct Seen {
    objects: usize,
    members: BTreeMap<String, usize>,
}

/// Facts about a document collected from some answers. Schemas are identified by JSON pointer.
pub struct Survey<'a> {
    document: &'a Value,
    endpoints: Vec<Endpoint>,
    /// Schemas to check values against, for a document without endpoints.
    roots: Vec<String>,
    pub breaches: Vec<String>,
    seen: BTreeMap<String, Seen>,
}

impl<'a> Survey<'a> {
    pub fn new(document: &'a Value) -> Self {
        Self {
            endpoints: endpoints(document),
            ..Self::with_roots(document, Vec::new())
        }
    }

    /// Surveys schemas outside the API, by their JSON pointers.
    pub fn with_roots(document: &'a Value, roots: Vec<String>) -> Self {
        Self {
            document,
            endpoints: Vec::new(),
            roots,
            breaches: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    /// Checks an answer against the schema of the endpoint for the path.
    pub fn answer(&mut self, method: &str, path: &str, answer: &Value) {
        let bare = path.split('?').next().unwrap_or_default();
        let found = meant(&self.endpoints, bare)
            .into_iter()
            .find(|endpoint| endpoint.method == method)
            .map(Endpoint::pointer);
        match found {
            Some(pointer) => self.value(&format!("{pointer}{ANSWER}"), answer, path),
            None => self
                .breaches
                .push(format!("{method} {path} is not in the document")),
        }
    }

    /// Checks the order of members in an answer's objects against `required` in their schemas,
    /// which is the order in `/docs`.
    fn order(&mut self, method: &str, path: &str, answer: &Ordered) {
        let found = meant(&self.endpoints, path)
            .into_iter()
            .find(|endpoint| endpoint.method == method)
            .map(Endpoint::pointer);
        if let Some(pointer) = found {
            self.order_of(&format!("{pointer}{ANSWER}"), answer, path);
        }
    }

    fn order_of(&mut self, at: &str, value: &Ordered, place: &str) {
        let (at, schema) = self.resolved(at);
        if let Some(variants) = schema["anyOf"].as_array() {
            let object = (0..variants.len()).find(|index| {
                !["null", "string"]
                    .iter()
                    .any(|other| variants[*index]["type"] == *other)
            });
            return object
                .into_iter()
                .for_each(|index| self.order_of(&format!("{at}/anyOf/{index}"), value, place));
        }
        match value {
            Ordered::Object(members) => {
                let written: Vec<&str> = members
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .filter(|name| required(schema).any(|known| known == *name))
                    .collect();
                let declared: Vec<&str> = required(schema)
                    .filter(|name| members.iter().any(|(known, _)| known == name))
                    .collect();
                if written != declared {
                    self.breaches.push(format!("{place}: {} are written in the order {written:?} and required in the order {declared:?}", short(&at)));
                }
                for (name, member) in members {
                    let own = format!("{at}/properties/{}", escaped(name));
                    let at = if self.document.pointer(&own).is_some() {
                        own
                    } else {
                        format!("{at}/additionalProperties")
                    };
                    self.order_of(&at, member, place);
                }
            }
            Ordered::Array(items) => items
                .iter()
                .for_each(|item| self.order_of(&format!("{at}/items"), item, place)),
            Ordered::Other => {}
        }
    }

    pub fn problem(&mut self, problem: &Value, place: &str) {
        self.value(&format!("{SCHEMAS}Problem"), problem, place);
    }

    /// Checks an example of the documents, named after its operation: `getZip` is an answer,
    /// `getZips.request` a request.
    pub fn example(&mut self, name: &str, example: &Value) {
        let (operation, part) = name
            .strip_suffix(".request")
            .map_or((name, ANSWER), |operation| (operation, REQUEST));
        let is_named = |pointer: &String| {
            self.document
                .pointer(pointer)
                .is_some_and(|found| found["operationId"] == operation)
        };
        match self.endpoints.iter().map(Endpoint::pointer).find(is_named) {
            Some(pointer) => self.value(&format!("{pointer}{part}"), example, name),
            None => self
                .breaches
                .push(format!("{name} is an example without an operation")),
        }
    }

    /// Checks a value against a schema of the document.
    pub fn value(&mut self, at: &str, value: &Value, place: &str) {
        let (at, schema) = self.resolved(at);
        if let Some(variants) = schema["anyOf"].as_array() {
            let others: Vec<usize> = (0..variants.len())
                .filter(|index| variants[*index]["type"] != "null")
                .collect();
            match (others.as_slice(), value) {
                ([_], Value::Null) if variants.len() == 2 => {}
                ([other], _) if variants.len() == 2 => {
                    self.value(&format!("{at}/anyOf/{other}"), value, place);
                }
                // An object, or a text instead.
                ([object, text], _) if variants[*text]["type"] == "string" => {
                    let variant = if value.is_string() { text } else { object };
                    self.value(&format!("{at}/anyOf/{variant}"), value, place);
                }
                _ => self.breaches.push(format!(
                    "{}: only a schema with null or a text is supported",
                    short(&at)
                )),
            }
            return;
        }
        let breach = contradiction(schema, value).map(|said| format!("{place}: {value} {said}"));
        self.breaches.extend(breach);
        match value {
            // Any value is allowed here.
            _ if types(schema).is_empty() => {}
            Value::Object(_) => self.object(&at, schema, value, place),
            Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
                self.value(&format!("{at}/items"), item, &format!("{place}/{index}"));
            }),
            _ => {}
        }
    }

    fn object(&mut self, at: &str, schema: &Value, value: &Value, place: &str) {
        let members = value.as_object().unwrap();
        let seen = self.seen.entry(at.to_owned()).or_default();
        seen.objects += 1;
        for name in members.keys() {
            *seen.members.entry(name.clone()).or_default() += 1;
        }
        for name in required(schema).filter(|name| !members.contains_key(*name)) {
            self.breaches.push(format!("{place}: `{name}` is missing"));
        }
        for (name, member) in members {
            let place = format!("{place}/{name}");
            if schema["properties"].get(name).is_some() {
                self.value(
                    &format!("{at}/properties/{}", escaped(name)),
                    member,
                    &place,
                );
            } else if schema["additionalProperties"].is_object() {
                self.value(&format!("{at}/additionalProperties"), member, &place);
            } else {
                self.breaches.push(format!("{place}: not declared"));
            }
        }
    }

    /// Pointers of a schema and of all schemas it refers to.
    fn resolved(&self, at: &str) -> (String, &'a Value) {
        let mut at = at.to_owned();
        loop {
            let schema = self.document.pointer(&at).unwrap_or(&Value::Null);
            match schema["$ref"].as_str() {
                Some(reference) => at = reference.trim_start_matches('#').to_owned(),
                None => return (at, schema),
            }
        }
    }

    fn reachable(&self, roots: impl Iterator<Item = String>) -> BTreeSet<String> {
        let mut open: Vec<String> = roots
            .filter(|root| self.document.pointer(root).is_some())
            .collect();
        let mut found = BTreeSet::new();
        while let Some(at) = open.pop() {
            let (at, schema) = self.resolved(&at);
            if !found.insert(at.clone()) {
                continue;
            }
            open.extend(
                names(&schema["properties"])
                    .map(|name| format!("{at}/properties/{}", escaped(name))),
            );
            open.extend(
                ["items", "additionalProperties"]
                    .iter()
                    .filter(|word| schema[**word].is_object())
                    .map(|word| format!("{at}/{word}")),
            );
            open.extend(
                (0..schema["anyOf"].as_array().map_or(0, Vec::len))
                    .map(|index| format!("{at}/anyOf/{index}")),
            );
        }
        found
    }

    /// Schemas of answers and of problems.
    fn answered(&self) -> BTreeSet<String> {
        self.reachable(
            self.endpoints
                .iter()
                .map(|endpoint| endpoint.pointer() + ANSWER)
                .chain([format!("{SCHEMAS}Problem")])
                .chain(self.roots.iter().cloned()),
        )
    }

    fn requested(&self) -> BTreeSet<String> {
        self.reachable(
            self.endpoints
                .iter()
                .map(|endpoint| endpoint.pointer() + REQUEST),
        )
    }

    /// Schemas of parameters, which the server enforces.
    fn parameters(&self) -> BTreeSet<String> {
        let of_endpoint = |endpoint: &Endpoint| {
            let at = endpoint.pointer() + "/parameters";
            let count = self.schema(&at).as_array().map_or(0, Vec::len);
            (0..count)
                .map(move |index| format!("{at}/{index}/schema"))
                .collect::<Vec<_>>()
        };
        self.reachable(self.endpoints.iter().flat_map(of_endpoint))
    }

    fn schema(&self, at: &str) -> &'a Value {
        self.document.pointer(at).unwrap_or(&Value::Null)
    }

    /// Members or whole objects that the document describes and no answer has.
    pub fn unwritten(&self) -> Vec<String> {
        let mut found = Vec::new();
        for at in self
            .answered()
            .iter()
            .filter(|at| self.schema(at)["properties"].is_object())
        {
            match self.seen.get(at) {
                None => found.push(short(at)),
                Some(seen) => {
                    let never = names(&self.schema(at)["properties"])
                        .filter(|name| !seen.members.contains_key(*name));
                    found.extend(never.map(|name| format!("{}/{name}", short(at))));
                }
            }
        }
        found
    }

    /// Members that every answer has and the document does not require.
    pub fn unrequired(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (at, seen) in self
            .seen
            .iter()
            .filter(|(at, _)| self.answered().contains(*at))
        {
            let schema = self.schema(at);
            let always = names(&schema["properties"])
                .filter(|name| seen.members.get(*name) == Some(&seen.objects));
            found.extend(
                always
                    .filter(|name| !required(schema).any(|other| other == *name))
                    .map(|name| format!("{}/{name}", short(at))),
            );
        }
        found
    }

    /// Schemas that leave a value open, use unchecked keywords, require undeclared members, or are
    /// used by no endpoint.
    pub fn loose(&self) -> Vec<String> {
        let (answered, requested) = (self.answered(), self.requested());
        let mut found = Vec::new();
        for at in answered.union(&requested) {
            let schema = self.schema(at);
            let mut say = |what: String| found.push(format!("{}: {what}", short(at)));
            let is_known = |word: &str| {
                WORDS.contains(&word)
                    || WORDS_OF_REQUESTS.contains(&word)
                        && (requested.contains(at) || word == "title")
            };
            names(schema)
                .filter(|word| !is_known(word))
                .for_each(|word| say(format!("`{word}` is not checked")));
            if schema["anyOf"].is_null() && types(schema).is_empty() {
                say("has no type".to_owned());
            }
            if types(schema).contains(&"object")
                && schema["additionalProperties"] != false
                && !schema["additionalProperties"].is_object()
            {
                say("may have any member".to_owned());
            }
            if types(schema).contains(&"array") && !schema["items"].is_object() {
                say("may have any items".to_owned());
            }
            required(schema)
                .filter(|name| schema["properties"][*name].is_null())
                .for_each(|name| say(format!("`{name}` is required and not declared")));
        }
        let schemas = names(self.schema(SCHEMAS.trim_end_matches('/')))
            .map(|name| format!("{SCHEMAS}{name}"));
        let known: BTreeSet<String> = answered
            .union(&requested)
            .cloned()
            .chain(self.parameters())
            .collect();
        found.extend(
            schemas
                .filter(|at| !known.contains(&self.resolved(at).0) || !known.contains(at))
                .map(|at| format!("{}: no endpoint uses it", short(&at))),
        );
        found
    }
}

/// Contradiction between a schema and a value, without its members and items.
fn contradiction(schema: &Value, value: &Value) -> Option<String> {
    let types = types(schema);
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !(types.is_empty()
        || types.contains(&found)
        || found == "integer" && types.contains(&"number"))
    {
        return Some(format!("is not {types:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Some(format!("is not {}", schema["const"]));
    }
    if let Some(allowed) = schema["enum"]
        .as_array()
        .filter(|allowed| !allowed.contains(value))
    {
        return Some(format!("is not one of {allowed:?}"));
    }
    if let Some(items) = value.as_array().filter(|_| schema["uniqueItems"] == true)
        && (1..items.len()).any(|index| items[..index].contains(&items[index]))
    {
        return Some("has a duplicate item".to_owned());
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        return (!Regex::new(pattern).unwrap().is_match(text))
            .then(|| format!("does not match {pattern}"));
    }
    if let (Some(format), Some(text)) = (schema["format"].as_str(), value.as_str()) {
        let is_right = match format {
            "date" => text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
            "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
            _ => false,
        };
        return (!is_right).then(|| format!("is not a {format}"));
    }
    let is_beyond = |number: f64| {
        schema["minimum"]
            .as_f64()
            .is_some_and(|least| number < least)
            || schema["maximum"].as_f64().is_some_and(|most| number > most)
    };
    value
        .as_f64()
        .filter(|number| is_beyond(*number))
        .map(|_| format!("is not from {} to {}", schema["minimum"], schema["maximum"]))
}

fn types(schema: &Value) -> Vec<&str> {
    schema["type"].as_array().map_or_else(
        || schema["type"].as_str().into_iter().collect(),
        |types| types.iter().filter_map(Value::as_str).collect(),
    )
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn names(object: &Value) -> impl Iterator<Item = &str> {
    object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// `Zip/county` for `/components/schemas/Zip/properties/county`.
fn short(at: &str) -> String {
    at.trim_start_matches(SCHEMAS).replace("/properties/", "/")
}

/// JSON whose objects keep the order of their members.
enum Ordered {
    Object(Vec<(String, Ordered)>),
    Array(Vec<Ordered>),
    Other,
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Ordered;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("JSON")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Ordered::Object(members))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Ordered, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Ordered::Array(items))
            }

            fn visit_unit<E>(self) -> Result<Ordered, E> {
                Ok(Ordered::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Ordered, E> {
                Ok(Ordered::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Ordered, E> {
                Ok(Ordered::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Ordered, E> {
                Ok(Ordered::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Ordered, E> {
                Ok(Ordered::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<Ordered, E> {
                Ok(Ordered::Other)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
