//! The schemas of the OpenAPI document: those derived from the types of answers, and those written in the components file. `$column` refers to a column of a
//! contract; `$field`, which derived schemas have, may also name a member that is no column.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::problem::ProblemDetails;
use crate::release::freshness::Freshness;
use crate::release::provenance::Provenance;
use crate::search::rank::MatchOfName;

/// Where the document has its schemas.
const PATH: &str = "/components/schemas";

/// The schema of an endpoint's `data`.
#[derive(Clone, Copy)]
pub enum Data {
    /// By its name in the components file.
    Written(&'static str),
    /// Of a type.
    Of(fn(&mut SchemaGenerator) -> Schema),
}

impl Data {
    /// The schema of a type, which has its name.
    pub const fn of<T: JsonSchema>() -> Self {
        Self::Of(SchemaGenerator::subschema_for::<T>)
    }
}

/// Schemas by name.
pub struct Components(Map<String, Value>);

impl Components {
    /// The schemas of endpoints' `data` and all that those refer to. With it, the name of each.
    pub fn of<'a>(data: impl IntoIterator<Item = &'a Data>) -> (Self, Vec<String>) {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = PATH.into();
        let mut generator = settings.into_generator();
        let name = |data: &Data| match data {
            Data::Written(name) => (*name).to_owned(),
            Data::Of(schema) => schema(&mut generator).as_value()["$ref"].as_str().and_then(|place| place.rsplit('/').next()).unwrap_or_default().to_owned(),
        };
        let names = data.into_iter().map(name).collect();
        // What written schemas refer to.
        generator.subschema_for::<Freshness>();
        generator.subschema_for::<MatchOfName>();
        generator.subschema_for::<ProblemDetails<'_>>();
        generator.subschema_for::<Provenance<'_>>();
        let mut schemas = Map::new();
        for (name, schema) in generator.take_definitions(true) {
            let mut schema = Schema::try_from(schema).expect("a definition is a schema");
            RecursiveTransform(plain).transform(&mut schema);
            schemas.insert(name, schema.to_value());
        }
        (Self(schemas), names)
    }

    /// The schema of a name; null of one that is not known.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| &written()[name])
    }

    /// All of them: a type's comes before a written one of its name.
    pub fn into_all(self) -> Value {
        let mut all = written().clone();
        if let Value::Object(all) = &mut all {
            all.extend(self.0);
        }
        all
    }
}

fn written() -> &'static Value {
    static SCHEMAS: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(include_str!("components.json")).expect("the components file is JSON"));
    &SCHEMAS
}

/// Says that an object has no other members, and leaves out what Rust's number types say of numbers, and the line breaks of comments.
fn plain(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default().to_owned();
    if format.starts_with("uint") {
        schema.remove("minimum");
    }
    if matches!(format.as_str(), "double" | "float") || format.trim_start_matches('u').starts_with("int") {
        schema.remove("format");
    }
}
