//! Builds the schemas for contract columns. Values, bounds and descriptions come from the contract,
//! unless a reference to a column has its own description.

use serde_json::{Map, Value, json};

use super::names;
use pubdata_core::contract::{Column, Contracts, Physical};

/// Replaces each schema that has `"$field": "dataset/column"` with the schema of that contract
/// column, if the column exists.
pub fn resolve(schemas: &mut Map<String, Value>, contracts: &Contracts) {
    schemas
        .values_mut()
        .for_each(|schema| resolve_value(schema, contracts));
}

fn resolve_value(value: &mut Value, contracts: &Contracts) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(place)) = object.remove("$field")
                && let Some(column) = column(&place, contracts)
                && !is_of_struct(object)
            {
                let is_nullable = object.get("nullable").and_then(Value::as_bool);
                let mut resolved = column_schema(&place, column, is_nullable, object.get("also"));
                for word in ["title", "description"] {
                    if let Some(own) = object.get(word) {
                        resolved[word] = own.clone();
                    }
                }
                *value = resolved;
                return;
            }
            resolve(object, contracts);
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|value| resolve_value(value, contracts)),
        _ => {}
    }
}

/// Reports whether a field is a struct or a list of structs.
fn is_of_struct(schema: &Map<String, Value>) -> bool {
    schema.contains_key("$ref")
        || schema.contains_key("anyOf")
        || schema
            .get("items")
            .is_some_and(|items| items.get("$ref").is_some())
}

fn column<'a>(place: &str, contracts: &'a Contracts) -> Option<&'a Column> {
    let (dataset, column) = place.split_once('/')?;
    contracts.get(dataset)?.column(column)
}

/// Returns the JSON schema for a contract column. `also` adds values that occur only in answers.
fn column_schema(
    place: &str,
    column: &Column,
    is_nullable: Option<bool>,
    also: Option<&Value>,
) -> Value {
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
    let mut values: Vec<Value> = column_type
        .values
        .iter()
        .map(|value| json!(value))
        .collect();
    if !values.is_empty() {
        if column_type.physical == Physical::StringList {
            schema["items"] = words_of(place, &values);
            return schema;
        }
        if also.is_none() {
            schema[names::OF_COLUMN] = json!(names::of_column(place));
        }
        values.extend(
            also.and_then(Value::as_array)
                .into_iter()
                .flatten()
                .cloned(),
        );
        if is_nullable {
            values.push(Value::Null);
        }
        schema["enum"] = json!(values);
    }
    schema
}

/// Returns the schema for one value of a contract column. The schema has the column's name wherever
/// it occurs.
pub fn words_of<T: serde::Serialize>(place: &str, words: &[T]) -> Value {
    json!({"type": "string", "enum": words, (names::OF_COLUMN): names::of_column(place)})
}
