//! The schemas of the documents, which are derived from the types of answers and of requests.
//! `$field` refers to a column of a contract; it may also name a member that is no column.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// Where the document has its schemas.
const PATH: &str = "/components/schemas";

/// The schema of an endpoint's `data`, or of the body that it takes.
#[derive(Clone, Copy)]
pub struct Data(fn(&mut SchemaGenerator) -> Schema);

impl Data {
    /// The schema of a type, which has its name.
    pub const fn of<T: JsonSchema>() -> Self {
        Self(SchemaGenerator::subschema_for::<T>)
    }
}

/// Schemas by name.
pub struct Components(pub Map<String, Value>);

impl Components {
    /// The schemas of what is answered and all that those refer to. With it, the name of each.
    pub fn of<'a>(data: impl IntoIterator<Item = &'a Data>) -> (Self, Vec<String>) {
        Self::with(SchemaSettings::draft2020_12().for_serialize(), data)
    }

    /// The same of what is asked, where what may be null may be absent.
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

    /// The schema of a name; null of one that is not known.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }
}

/// Says that an object has no other members, and leaves out what Rust's number types say of
/// numbers, and the line breaks of comments.
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
