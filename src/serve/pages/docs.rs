//! Renders the API documentation from the OpenAPI document and the guides. Each endpoint has a page
//! with its parameters, a real answer, code, and a form to try it.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use minijinja::Value;
use serde_json::{Value as Json, json};

use super::templates::context;
use super::visit::Visit;
use super::{Made, Page};
use crate::http::problem::{CODES, Code, Problem, Result};

pub const PAGES: &[Page] = &[
    Page {
        path: "/docs",
        make: |visit| index(visit).boxed(),
    },
    Page {
        path: "/docs/problems",
        make: |visit| problems(visit).boxed(),
    },
    Page {
        path: "/docs/guides/{guide}",
        make: |visit| guide(visit).boxed(),
    },
    Page {
        path: "/docs/{operation}",
        make: |visit| operation(visit).boxed(),
    },
];

/// Maximum length of an example that a page shows completely.
const MAX_EXAMPLE: usize = 12_000;

#[derive(rust_embed::RustEmbed)]
#[folder = "../../docs/guides"]
#[allow_missing = true]
struct Guides;

/// An operation of the OpenAPI document.
#[derive(Clone, Copy)]
struct Operation<'d> {
    method: &'d str,
    path: &'d str,
    of: &'d Json,
}

impl Operation<'_> {
    fn id(&self) -> &str {
        self.of["operationId"].as_str().unwrap_or_default()
    }

    fn tag(&self) -> &str {
        self.of["tags"][0].as_str().unwrap_or("API")
    }

    fn shown(&self) -> Value {
        context! { id => self.id(), method => self.method.to_uppercase(), path => self.path, summary => self.of["summary"], description => self.of["description"] }
    }
}

fn operations(document: &Json) -> impl Iterator<Item = Operation<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        methods
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(method, of)| Operation { method, path, of })
    })
}

/// Returns the guides by name, each with its title.
fn guides() -> Vec<(String, String)> {
    let mut guides: Vec<(String, String)> = Guides::iter()
        .filter_map(|file| {
            let name = file.strip_suffix(".md")?.to_owned();
            let text = Guides::get(&file)?;
            let title = std::str::from_utf8(&text.data)
                .ok()?
                .lines()
                .find_map(|line| line.strip_prefix("# "))?
                .to_owned();
            Some((name, title))
        })
        .collect();
    // The introduction comes first.
    guides.sort_by_key(|(name, _)| (name != "start", name.clone()));
    guides
}

/// Returns the tags in the document's order, each with its operations that contain `needle`.
fn contents(visit: &Visit<'_>, needle: &str) -> Vec<Value> {
    let document = &**visit.pages.openapi;
    // The WebSocket is not an operation of the document; it is listed under the search for filings.
    let tag = operations(document)
        .find(|operation| operation.id() == "searchFilings")
        .map(|operation| operation.of["tags"][0].clone());
    let stream = json!({"operationId": "guides/streams", "tags": [tag], "summary": "New filings over a WebSocket"});
    let stream = Operation {
        method: "ws",
        path: "/v1/stream",
        of: &stream,
    };
    let text_of = |operation: Operation<'_>| {
        let text = format!(
            "{}\n{}\n{}",
            operation.path,
            operation.of,
            members(document, &operation)
        );
        (operation.id().to_owned(), text.to_lowercase())
    };
    let searched = || {
        visit
            .pages
            .searched
            .get_or_init(|| operations(document).chain([stream]).map(text_of).collect())
    };
    let is_selected = |operation: &Operation<'_>| {
        needle.is_empty()
            || searched()
                .get(operation.id())
                .is_some_and(|text| text.contains(needle))
    };
    let mut by_tag: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for operation in operations(document).chain([stream]).filter(is_selected) {
        by_tag
            .entry(operation.tag().to_owned())
            .or_default()
            .push(operation.shown());
    }
    let order: Vec<&str> = document["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tag| tag["name"].as_str())
        .collect();
    let mut tags: Vec<(String, Vec<Value>)> = by_tag.into_iter().collect();
    tags.sort_by_key(|(tag, _)| {
        order
            .iter()
            .position(|known| known == tag)
            .unwrap_or(order.len())
    });
    let about = |tag: &str| {
        document["tags"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|known| known["name"] == tag)
            .map(|known| known["description"].clone())
    };
    tags.into_iter()
        .map(|(tag, operations)| context! { about => about(&tag), tag, operations })
        .collect()
}

/// Returns the names, descriptions and values of an operation's input and output as one string.
fn members(document: &Json, operation: &Operation<'_>) -> String {
    let parts = [
        "/responses/200/content/application~1json/schema",
        "/requestBody/content/application~1json/schema",
    ];
    let listed = parts
        .iter()
        .filter_map(|part| operation.of.pointer(part))
        .flat_map(|schema| fields(document, schema));
    let parameters = operation.of["parameters"].as_array().into_iter().flatten();
    let choices = parameters
        .flat_map(|parameter| choices(document, resolved(document, &parameter["schema"])));
    listed
        .map(|field| field.to_string())
        .chain(choices)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the guides that contain `needle`.
fn guides_with(needle: &str) -> Vec<Value> {
    let has = |name: &str| {
        Guides::get(&format!("{name}.md")).is_some_and(|text| {
            String::from_utf8_lossy(&text.data)
                .to_lowercase()
                .contains(needle)
        })
    };
    guides()
        .into_iter()
        .filter(|(name, _)| has(name))
        .map(|(name, title)| context! { name, title })
        .collect()
}

fn listed_guides() -> Vec<Value> {
    guides()
        .into_iter()
        .map(|(name, title)| context! { name, title })
        .collect()
}

async fn index(visit: &Visit<'_>) -> Result<Made> {
    let needle = visit.parameter("find").unwrap_or_default().to_lowercase();
    let description = visit.pages.openapi["info"]["description"].clone();
    let found_guides = if needle.is_empty() {
        Vec::new()
    } else {
        guides_with(&needle)
    };
    Ok(Made::Page(
        "docs.html",
        context! { tags => contents(visit, &needle), guides => listed_guides(), found_guides, wanted => needle, description },
    ))
}

async fn problems(visit: &Visit<'_>) -> Result<Made> {
    let codes: Vec<Value> =
        CODES.iter().map(|code| context! { name => code.name, status => code.status, title => code.title, advice => code.advice }).collect();
    Ok(Made::Page(
        "docs_problems.html",
        context! { codes, tags => contents(visit, ""), guides => listed_guides() },
    ))
}

async fn guide(visit: &Visit<'_>) -> Result<Made> {
    let name = visit.value("guide");
    let known = guides().into_iter().find(|(known, _)| known == name);
    let text = known
        .as_ref()
        .and_then(|(name, _)| Guides::get(&format!("{name}.md")));
    let (Some((_, title)), Some(text)) = (known, text) else {
        return Err(Problem::of_field(
            Code::NotFound,
            "guide",
            format!("there is no guide `{name}`; /docs lists them"),
        ));
    };
    // Guides link to each other by file name; pages have no extension.
    let body = String::from_utf8_lossy(&text.data).replace(".md)", ")");
    Ok(Made::Page(
        "docs_guide.html",
        context! { title, body, tags => contents(visit, ""), guides => listed_guides() },
    ))
}

async fn operation(visit: &Visit<'_>) -> Result<Made> {
    let (document, id) = (&**visit.pages.openapi, visit.value("operation"));
    let Some(operation) = operations(document).find(|operation| operation.id() == id) else {
        return Err(Problem::of_field(
            Code::NotFound,
            "operation",
            format!("the API has no operation `{id}`; /docs lists them"),
        ));
    };
    let parameters = operation.of["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|parameter| resolved(document, parameter));
    let parameters: Vec<Value> = parameters
        .map(|parameter| {
            let schema = resolved(document, &parameter["schema"]);
            let kind = kind(document, schema);
            context! { name => parameter["name"], place => parameter["in"], is_required => parameter["required"] == true, description => parameter["description"], example => parameter["example"], kind, default => schema["default"], choices => choices(document, schema) }
        })
        .collect();
    let answer = &operation.of["responses"]["200"]["content"]["application/json"];
    let (example, is_cut) = cut(document, &answer["schema"], &answer["example"]);
    let body = &operation.of["requestBody"]["content"]["application/json"];
    let request = &body["example"];
    let data = &resolved(document, &answer["schema"])["properties"]["data"];
    let context = context! {
        operation => operation.shown(), parameters, example, is_cut,
        body => fields(document, &body["schema"]), body_description => resolved(document, &body["schema"])["description"],
        request => if request.is_null() { None } else { Some(in_order(document, &body["schema"], request)) },
        samples => operation.of["x-codeSamples"], fields => fields(document, data), needs_key => operation.of["security"].as_array().is_none_or(|security| !security.is_empty()),
        tags => contents(visit, ""), guides => listed_guides(),
    };
    Ok(Made::Page("docs_operation.html", context))
}

/// Returns a part of the document, after following its reference.
fn resolved<'d>(document: &'d Json, part: &'d Json) -> &'d Json {
    part["$ref"]
        .as_str()
        .and_then(|reference| document.pointer(reference.strip_prefix('#')?))
        .unwrap_or(part)
}

/// Returns the variant of a schema that has fields, or else the first variant. Returns the schema
/// itself if it has no variants.
fn main_variant<'d>(document: &'d Json, schema: &'d Json) -> &'d Json {
    let variants: Vec<&Json> = schema["anyOf"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|variant| resolved(document, variant))
        .collect();
    variants
        .iter()
        .find(|variant| variant["properties"].is_object())
        .or(variants.first())
        .copied()
        .unwrap_or(schema)
}

/// Describes the type of a schema in words.
fn kind(document: &Json, schema: &Json) -> String {
    let schema = resolved(document, schema);
    if let Some(variants) = schema["anyOf"].as_array() {
        return variants
            .iter()
            .map(|variant| kind(document, variant))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    let names = match &schema["type"] {
        Json::String(name) => vec![name.as_str()],
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let mut text = names.join(" or ");
    if names.first() == Some(&"array") {
        let items = kind(document, &schema["items"]);
        let items = if items.contains(" or ") {
            format!("({items})")
        } else {
            items
        };
        text = text.replacen("array", &format!("list of {items}"), 1);
    }
    if let (Some(low), Some(high)) = (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        text.push_str(&format!(", {low} to {high}"));
    }
    if let Some(format) = schema["format"].as_str() {
        text.push_str(&format!(", {format}"));
    }
    text
}

fn choices(document: &Json, schema: &Json) -> Vec<String> {
    let items = resolved(document, &schema["items"]);
    let values = schema["enum"]
        .as_array()
        .or_else(|| items["enum"].as_array());
    values
        .into_iter()
        .flatten()
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect()
}

/// Maximum depth of listed fields.
const MAX_DEPTH: usize = 6;

/// Returns the fields of an answer's data or a request's body, each followed by its nested fields.
/// For a list, returns the fields of its records.
fn fields(document: &Json, schema: &Json) -> Vec<Value> {
    let mut found = Vec::new();
    add_fields(document, schema, ("", 0), &mut found);
    found
}

fn add_fields(
    document: &Json,
    schema: &Json,
    (above, depth): (&str, usize),
    found: &mut Vec<Value>,
) {
    let schema = main_variant(document, resolved(document, schema));
    let within = |end: &str| {
        if above.is_empty() {
            String::new()
        } else {
            format!("{above}{end}")
        }
    };
    if schema["items"].is_object() {
        add_fields(document, &schema["items"], (&within("[]"), depth), found);
    }
    if schema["additionalProperties"].is_object() {
        add_fields(
            document,
            &schema["additionalProperties"],
            (&within(".*"), depth),
            found,
        );
    }
    let required = required(schema);
    let mut members: Vec<(&String, &Json)> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|_| depth < MAX_DEPTH)
        .collect();
    members.sort_by_key(|(name, _)| position(&required, name));
    for (own, member) in members {
        let name = within(".") + own;
        let of_member = resolved(document, member);
        // The description of a field takes precedence over the description of its type.
        let description = if member["description"].is_string() {
            &member["description"]
        } else {
            &main_variant(document, of_member)["description"]
        };
        let (kind, choices) = (
            kind(document, of_member),
            choices(document, main_variant(document, of_member)),
        );
        found.push(context! { name, kind, description, is_required => required.contains(&own.as_str()), default => member["default"], choices });
        add_fields(document, member, (&name, depth + 1), found);
    }
}

/// Returns the required fields in the order of answers.
fn required(schema: &Json) -> Vec<&str> {
    schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect()
}

/// Returns the position of a field among the required fields; other fields come after them.
fn position(required: &[&str], name: &str) -> usize {
    required
        .iter()
        .position(|known| *known == name)
        .unwrap_or(required.len())
}

/// Formats a value as JSON on several lines, with fields in the schema's order of required fields.
/// The document itself sorts fields by name.
fn in_order(document: &Json, schema: &Json, value: &Json) -> String {
    let mut text = String::new();
    write_in_order(document, schema, value, 0, &mut text);
    text
}

fn write_in_order(document: &Json, schema: &Json, value: &Json, depth: usize, text: &mut String) {
    let schema = main_variant(document, resolved(document, schema));
    let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
    match value {
        Json::Object(members) if !members.is_empty() => {
            let required = required(schema);
            let mut members: Vec<(&String, &Json)> = members.iter().collect();
            members.sort_by_key(|(name, _)| position(&required, name));
            for (number, (name, member)) in members.into_iter().enumerate() {
                text.push_str(if number == 0 { "{" } else { "," });
                text.push_str(&format!("{}{}: ", line(depth + 1), json!(name)));
                let of_member = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                write_in_order(document, of_member, member, depth + 1, text);
            }
            text.push_str(&format!("{}}}", line(depth)));
        }
        Json::Array(items) if !items.is_empty() => {
            for (number, item) in items.iter().enumerate() {
                text.push_str(if number == 0 { "[" } else { "," });
                text.push_str(&line(depth + 1));
                write_in_order(document, &schema["items"], item, depth + 1, text);
            }
            text.push_str(&format!("{}]", line(depth)));
        }
        other => text.push_str(&other.to_string()),
    }
}

/// Returns an example as text, and whether the text was shortened.
fn cut(document: &Json, schema: &Json, example: &Json) -> (Option<String>, bool) {
    if example.is_null() {
        return (None, false);
    }
    let text = in_order(document, schema, example);
    match text.char_indices().nth(MAX_EXAMPLE) {
        Some((end, _)) => (
            Some(text[..text[..end].rfind('\n').unwrap_or(end)].to_owned()),
            true,
        ),
        None => (Some(text), false),
    }
}
