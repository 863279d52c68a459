//! The OpenAPI 3.1 document: paths from the route table, schemas from the components file whose words come from the contracts.

use serde_json::{Map, Value, json};

use crate::contract::{Contracts, Physical};
use crate::serve::http::components::components;
use crate::serve::http::endpoint::{Access, Endpoint, Family, Handler, Placeholder};
use crate::serve::http::parameters::allowed;
use crate::serve::http::problem::CODES;
use crate::serve::http::response::{CSV, PARQUET};


#[derive(rust_embed::RustEmbed)]
#[folder = "docs/examples"]
#[allow_missing = true]
struct Examples;

/// Makes the document.
pub fn document(families: &[&Family], contracts: &Contracts, public_url: Option<&str>) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for family in families {
        for endpoint in family.endpoints {
            let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
            path[endpoint.method.to_ascii_lowercase()] = operation(endpoint, family, families, contracts);
        }
    }
    let mut schemas = components().clone();
    resolve(&mut schemas, contracts);
    schemas["Problem"]["properties"]["code"] = json!({"type": "string", "enum": CODES.iter().map(|code| code.name).collect::<Vec<_>>()});
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Public Data Lookup Service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Public data with a source for every figure, down to the publisher's bytes: survey estimates with vintage and published 90 % margin of error, which describe a whole five-year period; and what companies reported to the SEC, as filed, with the filing's accession number."
        },
        "servers": [{"url": public_url.unwrap_or("/")}],
        "security": [{"bearer": []}, {"apiKey": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}
            },
            "schemas": schemas
        },
        "x-problems": CODES.iter().map(|code| json!({"code": code.name, "status": code.status, "title": code.title, "advice": code.advice})).collect::<Vec<_>>()
    })
}

fn operation(endpoint: &Endpoint, family: &Family, families: &[&Family], contracts: &Contracts) -> Value {
    let mut operation = json!({
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "parameters": parameters(endpoint, family, families, contracts),
        "responses": responses(endpoint),
    });
    let scope = match endpoint.access {
        Access::Everyone => "Needs no key.".to_owned(),
        Access::Key => "Needs a key; it sees what its scopes allow.".to_owned(),
        Access::Scope(scope) => format!("Needs a key with the scope `{scope}`."),
    };
    operation["description"] = json!(scope);
    if endpoint.access == Access::Everyone {
        operation["security"] = json!([]);
    }
    if let Some(body) = endpoint.body {
        operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": reference(body)}}});
        if let Some(example) = example(&format!("{}.request", endpoint.operation_id)) {
            operation["requestBody"]["content"]["application/json"]["example"] = example;
        }
    }
    operation
}

fn parameters(endpoint: &Endpoint, family: &Family, families: &[&Family], contracts: &Contracts) -> Vec<Value> {
    // What a family means by a name comes before what others mean by it.
    let known = |name: &str| {
        let placeholders = family.placeholders.iter().chain(families.iter().flat_map(|family| family.placeholders));
        placeholders.into_iter().find(|placeholder| placeholder.name == name)
    };
    let names = endpoint.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let of_path = names.filter_map(known).map(|placeholder| {
        json!({
            "name": placeholder.name, "in": "path", "required": true, "description": placeholder.description,
            "example": example_of(placeholder, contracts),
            "schema": {"type": "string", "pattern": placeholder.pattern}
        })
    });
    let of_query = endpoint.parameters.iter().map(|parameter| {
        let mut value = json!({"name": parameter.name, "in": "query", "description": parameter.description, "schema": parameter.kind.schema(contracts)});
        if value["schema"]["type"] == "array" {
            value["style"] = json!("form");
            // What clients send of themselves; one comma list is taken as well.
            value["explode"] = json!(true);
        }
        value
    });
    of_path.chain(of_query).collect()
}

fn example_of<'a>(placeholder: &'a Placeholder, contracts: &'a Contracts) -> &'a str {
    let of_column = placeholder.example.split_once('/').and_then(|(dataset, column)| allowed(contracts, dataset, column).first().copied());
    of_column.unwrap_or(placeholder.example)
}

fn responses(endpoint: &Endpoint) -> Value {
    let mut answer = json!({
        "type": "object",
        "required": ["data", "meta"],
        "properties": {"data": reference(endpoint.data), "meta": reference("Meta")},
        "additionalProperties": false
    });
    answer["title"] = json!(format!("{}Answer", endpoint.data));
    let mut content = json!({"schema": answer});
    if let Some(example) = example(endpoint.operation_id) {
        content["example"] = example;
    }
    let mut responses = json!({"200": {"description": endpoint.summary, "content": {"application/json": content}}});
    if matches!(endpoint.handler, Handler::Download { .. }) {
        let file = json!({"schema": {"type": "string", "format": "binary"}});
        responses["206"] = json!({"description": "The range of a part that `Range` names.", "content": {PARQUET: file.clone()}});
        responses["200"]["content"][PARQUET] = file.clone();
        responses["200"]["content"][CSV] = file;
    }
    if endpoint.rows().is_some() {
        let table = json!({"type": "string", "description": "A table of the records: RFC 4180, UTF-8, with a header row."});
        responses["200"]["content"][CSV] = json!({"schema": table});
    }
    if endpoint.method == "GET" {
        responses["304"] = json!({"description": "The answer that `If-None-Match` names is still right."});
    }
    let statuses: std::collections::BTreeSet<u16> = CODES.iter().map(|code| code.status).collect();
    for status in statuses {
        let codes: Vec<String> = CODES.iter().filter(|code| code.status == status).map(|code| format!("`{}`", code.name)).collect();
        responses[status.to_string()] = json!({
            "description": codes.join(", "),
            "content": {"application/problem+json": {"schema": reference("Problem")}}
        });
    }
    responses
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// A real answer kept beside the documents, when there is one.
fn example(name: &str) -> Option<Value> {
    let file = Examples::get(&format!("{name}.json"))?;
    serde_json::from_slice(&file.data).ok()
}

/// Replaces each `{"$column": "dataset/column"}` by what the contract says of the column.
fn resolve(value: &mut Value, contracts: &Contracts) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(place)) = object.get("$column") {
                let is_nullable = object.get("nullable").and_then(Value::as_bool);
                let resolved = column_schema(place, is_nullable, object.get("also"), contracts);
                *value = resolved;
                return;
            }
            object.values_mut().for_each(|value| resolve(value, contracts));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| resolve(value, contracts)),
        _ => {}
    }
}

/// The JSON schema of a contract's column. `also` adds values that only answers have.
fn column_schema(place: &str, is_nullable: Option<bool>, also: Option<&Value>, contracts: &Contracts) -> Value {
    let column = place.split_once('/').and_then(|(dataset, column)| contracts.get(dataset)?.column(column));
    let Some(column) = column else { return json!({"description": format!("`{place}` is not in the contracts")}) };
    let column_type = &column.column_type;
    let base = match column_type.physical {
        Physical::String => "string",
        Physical::Date => "string",
        Physical::Int32 | Physical::Int64 => "integer",
        Physical::Float64 | Physical::Decimal => "number",
        Physical::Boolean => "boolean",
        Physical::StringList | Physical::Pointers => "array",
    };
    let is_nullable = is_nullable.unwrap_or(column.nullable);
    let mut schema = json!({"type": base, "description": column.description});
    if is_nullable {
        schema["type"] = json!([base, "null"]);
    }
    if column_type.physical == Physical::StringList {
        schema["items"] = json!({"type": "string"});
    }
    if let Some(digits) = column_type.digits {
        schema["pattern"] = json!(format!("^[0-9]{{{digits}}}$"));
    }
    for (key, bound) in [("minimum", column_type.min), ("maximum", column_type.max)] {
        if let Some(bound) = bound {
            schema[key] = json!(bound);
        }
    }
    let mut values: Vec<Value> = column_type.values.iter().map(|value| json!(value)).collect();
    if !values.is_empty() {
        if column_type.physical == Physical::StringList {
            schema["items"]["enum"] = json!(values);
            return schema;
        }
        values.extend(also.and_then(Value::as_array).into_iter().flatten().cloned());
        if is_nullable {
            values.push(Value::Null);
        }
        schema["enum"] = json!(values);
    }
    schema
}
