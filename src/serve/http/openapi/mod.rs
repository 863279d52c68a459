//! Builds the OpenAPI 3.1 document. Paths come from the route table, schemas from the types of
//! answers and bodies, values from the contracts, and code samples from the stored example
//! requests.

pub mod columns;
pub mod names;

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::code_samples::{self, CodeSample};
use super::components::{Components, Data};
use super::endpoint::{Access, Endpoint, Family, Handler, Placeholder, Tag};
use super::envelope::AnswerMeta;
use super::examples::{self, ExampleRequest};
use super::parameters::allowed;
use super::problem::{CODES, Code, ProblemDetails};
use super::query;
use super::response::{CSV, JSON_LD, PARQUET};
use pubdata_core::contract::Contracts;

/// Operations that need at least one of several query parameters.
const ONE_OF: [(&str, &[&str]); 7] = [
    ("compareCompanies", &["ciks", "tickers"]),
    ("getTaxRate", &["address", "zip", "city"]),
    ("searchBusinesses", &["name", "entity_number", "agent"]),
    ("searchCompanies", &["name", "q", "ticker", "cik"]),
    (
        "searchFilings",
        &[
            "ticker",
            "cik",
            "company",
            "form",
            "form_type",
            "filed_from",
            "filed_to",
        ],
    ),
    (
        "searchPermits",
        &[
            "address",
            "zip",
            "city",
            "jurisdiction",
            "lat",
            "parcel",
            "permit_number",
        ],
    ),
    ("verifyLicense", &["number", "license_number"]),
];

/// Builds the document. `own_url` is the server URL in code samples; `public_url` is the URL under
/// `servers`.
pub fn document(
    families: &[&Family],
    contracts: &Contracts,
    public_url: Option<&str>,
    own_url: &str,
) -> Value {
    let endpoints = || families.iter().flat_map(|family| family.endpoints);
    let shared = [
        Data::for_type::<AnswerMeta<'static>>(),
        Data::for_type::<ProblemDetails<'static>>(),
    ];
    let (components, names_of_data) =
        Components::from_data(endpoints().map(|endpoint| &endpoint.data).chain(&shared));
    let names_of_data: BTreeMap<&str, String> = endpoints()
        .map(|endpoint| endpoint.operation_id)
        .zip(names_of_data)
        .collect();
    let bodies = || {
        endpoints().filter_map(|endpoint| Some((endpoint.operation_id, endpoint.body.as_ref()?)))
    };
    let (requests, names_of_bodies) = Components::of_requests(bodies().map(|(_, body)| body));
    let names_of_bodies: BTreeMap<&str, String> = bodies()
        .map(|(operation_id, _)| operation_id)
        .zip(names_of_bodies)
        .collect();
    let mut schemas = components.0.into_iter().chain(requests.0).collect();
    columns::resolve(&mut schemas, contracts);
    let mut paths: Map<String, Value> = Map::new();
    for family in families {
        for endpoint in family.endpoints {
            if !endpoint.is_document() {
                let data = &names_of_data[endpoint.operation_id];
                schemas
                    .entry(answer_name(data))
                    .or_insert_with(|| answer(data));
            }
            let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
            let names = (
                &*names_of_data[endpoint.operation_id],
                names_of_bodies
                    .get(endpoint.operation_id)
                    .map(String::as_str),
            );
            path[endpoint.method.to_ascii_lowercase()] =
                operation((endpoint, names), family, families, contracts, own_url);
        }
    }
    names::give(&mut schemas, parameters_of(&mut paths));
    let tags: Vec<&Tag> = families
        .iter()
        .filter(|family| !family.endpoints.is_empty())
        .map(|family| &family.tag)
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Public Data Lookup Service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Public data with a source for every figure, down to the publisher's bytes: survey estimates with vintage and published 90 % margin of error, which describe a whole five-year period; and what companies reported to the SEC, as filed, with the filing's accession number. Filings as they appear are pushed over a WebSocket, which `/v1/asyncapi.json` describes."
        },
        "servers": [{"url": public_url.unwrap_or("/")}],
        "security": [{"bearer": []}, {"apiKey": []}],
        "tags": tags.iter().map(|tag| json!({"name": tag.name, "description": tag.description})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}
            },
            "schemas": schemas,
            "responses": shared_responses()
        },
        "x-problems": CODES.iter().map(|code| json!({"code": code.name, "status": code.status, "title": code.title, "advice": code.advice})).collect::<Vec<_>>()
    })
}

/// Returns the schemas of all query parameters, each with its suggested component name.
fn parameters_of(paths: &mut Map<String, Value>) -> Vec<(String, &mut Value)> {
    let operations = paths
        .values_mut()
        .filter_map(Value::as_object_mut)
        .flat_map(|methods| methods.values_mut());
    let mut found = Vec::new();
    for operation in operations {
        let operation_id = operation["operationId"].as_str().unwrap_or_default();
        let owner = format!(
            "{}{}",
            operation_id[..1].to_ascii_uppercase(),
            &operation_id[1..]
        );
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            let name = format!(
                "{owner}{}",
                names::in_capitals(parameter["name"].as_str().unwrap_or_default())
            );
            found.push((name, &mut parameter["schema"]));
        }
    }
    found
}

/// Builds an operation. `data` and `body` are the names of the operation's schemas.
fn operation(
    (endpoint, (data, body)): (&Endpoint, (&str, Option<&str>)),
    family: &Family,
    families: &[&Family],
    contracts: &Contracts,
    own_url: &str,
) -> Value {
    let request = ExampleRequest::for_endpoint(endpoint);
    let samples = code_samples::for_request(&request, own_url);
    let mut operation = json!({
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "tags": [family.tag.name],
        "parameters": parameters(endpoint, family, families, contracts),
        "responses": responses(endpoint, data),
        "x-codeSamples": samples.iter().map(|CodeSample { lang, label, source }| json!({"lang": lang, "label": label, "source": source})).collect::<Vec<_>>(),
    });
    let scope = match endpoint.access {
        Access::Everyone => "Needs no key.".to_owned(),
        Access::Optional => "A key is optional.".to_owned(),
        Access::Key => "Needs a key. The answer has what the key's scopes allow.".to_owned(),
        Access::Scope(scope) => format!("Needs a key with the scope `{scope}`."),
    };
    let paragraphs = examples::description(endpoint.operation_id)
        .into_iter()
        .chain([scope])
        .collect::<Vec<_>>();
    operation["description"] = json!(paragraphs.join("\n\n"));
    match endpoint.access {
        Access::Everyone => operation["security"] = json!([]),
        Access::Optional => operation["security"] = json!([{}, {"bearer": []}, {"apiKey": []}]),
        Access::Key | Access::Scope(_) => {}
    }
    if let Some(body) = body {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": reference(body)}}});
        if let Some(example) = request.body {
            operation["requestBody"]["content"]["application/json"]["example"] = example;
        }
    }
    operation
}

fn parameters(
    endpoint: &Endpoint,
    family: &Family,
    families: &[&Family],
    contracts: &Contracts,
) -> Vec<Value> {
    // The family's own placeholders take precedence over placeholders of other families.
    let known = |name: &str| {
        let placeholders = family
            .placeholders
            .iter()
            .chain(families.iter().flat_map(|family| family.placeholders));
        placeholders
            .into_iter()
            .find(|placeholder| placeholder.name == name)
    };
    let names = endpoint
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let of_path = names.filter_map(known).map(|placeholder| {
        json!({
            "name": placeholder.name, "in": "path", "required": true, "description": placeholder.description,
            "example": example_of(placeholder, contracts),
            "schema": {"type": "string", "pattern": placeholder.pattern}
        })
    });
    let of_query = endpoint.parameters.iter().map(|parameter| {
        let is_declared = |name: &&str| endpoint.parameters.iter().any(|known| known.name == *name);
        let other = query::other_name(parameter.name)
            .filter(|other| !is_declared(other))
            .map(|other| format!(" `{other}` is accepted too; give one of them."))
            .unwrap_or_default();
        let one_of = ONE_OF.iter().find(|(operation_id, names)| *operation_id == endpoint.operation_id && names.contains(&parameter.name));
        let one_of = one_of.map(|(_, names)| format!(" One of `{}` is required.", names.join("`, `"))).unwrap_or_default();
        let description = format!("{}{one_of}{other}", parameter.description);
        let mut value = json!({"name": parameter.name, "in": "query", "description": description, "schema": parameter.schema(contracts)});
        if parameter.required.is_some() {
            value["required"] = json!(true);
        }
        if value["schema"]["type"] == "array" {
            value["style"] = json!("form");
            // Most clients send repeated parameters by default. A comma-separated list is accepted
            // too.
            value["explode"] = json!(true);
        }
        value
    });
    of_path.chain(of_query).collect()
}

fn example_of<'a>(placeholder: &'a Placeholder, contracts: &'a Contracts) -> &'a str {
    let of_column = placeholder
        .example
        .split_once('/')
        .and_then(|(dataset, column)| allowed(contracts, dataset, column).first().copied());
    of_column.unwrap_or(placeholder.example)
}

fn answer_name(data: &str) -> String {
    format!("{data}Answer")
}

fn answer(data: &str) -> Value {
    json!({
        "type": "object",
        "required": ["data", "meta"],
        "properties": {
            "data": described(reference(data), "Data of the answer."),
            "meta": described(reference("Meta"), "Release, datasets, notices and page of the answer.")
        },
        "additionalProperties": false
    })
}

fn responses(endpoint: &Endpoint, data: &str) -> Value {
    let name = if endpoint.is_document() {
        data.to_owned()
    } else {
        answer_name(data)
    };
    let mut content = json!({"schema": reference(&name)});
    if let Some(example) = examples::answer(endpoint.operation_id) {
        content["example"] = example;
    }
    let mut responses =
        json!({"200": {"description": endpoint.summary, "content": {"application/json": content}}});
    if matches!(endpoint.handler, Handler::Download { .. }) {
        let file = json!({"schema": {"type": "string", "format": "binary"}});
        responses["206"] =
            json!({"description": "The byte range of a part that `Range` requests."});
        responses["200"]["content"][PARQUET] = file.clone();
        responses["200"]["content"][CSV] = file;
    }
    if endpoint.is_linked_data() {
        responses["200"]["content"][JSON_LD] = json!({"schema": reference(&name)});
    }
    if endpoint.rows().is_some() {
        let table = json!({"type": "string", "description": "A table of the records: RFC 4180, UTF-8, with a header row."});
        responses["200"]["content"][CSV] = json!({"schema": table});
    }
    let not_modified = (endpoint.method == "GET").then_some(StatusCode::NOT_MODIFIED);
    for status in not_modified.into_iter().chain(by_status().into_keys()) {
        responses[status.as_str()] =
            json!({"$ref": format!("#/components/responses/{}", response_name(status))});
    }
    responses
}

/// Groups the problem codes by status.
fn by_status() -> BTreeMap<StatusCode, Vec<&'static str>> {
    let mut codes: BTreeMap<StatusCode, Vec<&'static str>> = BTreeMap::new();
    for entry in &CODES {
        codes
            .entry(entry.code.status())
            .or_default()
            .push(entry.name);
    }
    codes
}

/// Returns the responses that all operations share.
fn shared_responses() -> Value {
    let mut responses = json!({(response_name(StatusCode::NOT_MODIFIED)): {"description": "The answer that `If-None-Match` names is still current."}});
    for (status, codes) in by_status() {
        let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        let mut response = json!({
            "description": codes.join(", "),
            "content": {"application/problem+json": {"schema": reference("Problem")}}
        });
        if [Code::RateLimited, Code::Busy]
            .iter()
            .any(|code| code.status() == status)
        {
            let seconds = json!({"type": "integer", "minimum": 0});
            response["headers"] = json!({"Retry-After": {"description": "Seconds to wait before the next attempt.", "schema": seconds}});
        }
        responses[response_name(status)] = response;
    }
    responses
}

/// Returns the component name of a response, such as `TooManyRequests` for 429.
fn response_name(status: StatusCode) -> String {
    status
        .canonical_reason()
        .unwrap_or_default()
        .replace(' ', "")
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}
