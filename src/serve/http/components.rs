//! Builds the schemas in the OpenAPI document from the types of answers and requests. `$field`
//! refers to a contract column; it may also name a field that is not a column.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// Path to the schemas in the document.
const PATH: &str = "/components/schemas";

/// Schema of an endpoint's `data`, or of the request body that it accepts.
#[derive(Clone, Copy)]
pub struct Data(fn(&mut SchemaGenerator) -> Schema);

impl Data {
    /// Returns the schema of a type, under the type's name.
    pub const fn for_type<T: JsonSchema>() -> Self {
        Self(SchemaGenerator::subschema_for::<T>)
    }
}

/// Schemas by name.
pub struct Components(pub Map<String, Value>);

impl Components {
    /// Builds the schemas of answers and of all types that the answers refer to. Also returns the
    /// name of each answer's schema.
    pub fn from_data<'a>(data: impl IntoIterator<Item = &'a Data>) -> (Self, Vec<String>) {
        Self::with(SchemaSettings::draft2020_12().for_serialize(), data)
    }

    /// Builds the schemas of request bodies, in which nullable fields may be absent.
    pub fn of_requests<'a>(bodies: impl IntoIterator<Item = &'a Data>) -> (Self, Vec<String>) {
        Self::with(SchemaSettings::draft2020_12().for_deserialize(), bodies)
    }

    fn with<'a>(
        mut settings: SchemaSettings,
        data: impl IntoIterator<Item = &'a Data>,
    ) -> (Self, Vec<String>) {
        settings.definitions_path = PATH.into();
        let mut generator = settings.into_generator();
        let references = data.into_iter().map(|Data(schema)| schema(&mut generator));
        let names = references.map(|reference| {
            reference.as_value()["$ref"]
                .as_str()
                .and_then(|path| path.rsplit('/').next())
                .unwrap_or_default()
                .to_owned()
        });
        let names = names.collect();
        let mut schemas = Map::new();
        for (name, schema) in generator.take_definitions(true) {
            let mut schema = Schema::try_from(schema).expect("a definition is a schema");
            RecursiveTransform(plain).transform(&mut schema);
            schemas.insert(name, schema.to_value());
        }
        (Self(schemas), names)
    }

    /// Returns the schema with a name, or null if the name is unknown.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }
}

/// Forbids additional properties in objects, and removes Rust's number formats and the line breaks
/// from comments.
fn plain(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    let format = schema
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if format.starts_with("uint") {
        schema.remove("minimum");
    }
    if matches!(format.as_str(), "double" | "float")
        || format.trim_start_matches('u').starts_with("int")
    {
        schema.remove("format");
    }
}
