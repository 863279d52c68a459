//! Moves every inline object and enum in the document into a named component, so that generated
//! clients have names for them. Equal schemas share one component. The name is the schema's
//! `title`, the contract's column, or the path to the first occurrence.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Key that records a schema's contract column. It is removed once the names are assigned.
pub const OF_COLUMN: &str = "$of_column";

const COMPONENTS: &str = "#/components/schemas/";

/// Schema that was found at one or more places. References to the schema are numbers until all
/// places are known.
struct Found {
    schema: Value,
    title: Option<String>,
    /// Candidate names, best first.
    suggestions: Vec<String>,
    /// Description, kept only while it is the same at every place.
    description: Option<Value>,
}

/// Collection of the schemas without names.
#[derive(Default)]
struct Collection {
    found: Vec<Found>,
    by_content: BTreeMap<String, usize>,
}

/// Assigns names to all schemas in the components and in the parameters. Each parameter has a
/// suggested name.
pub fn give(components: &mut Map<String, Value>, mut parameters: Vec<(String, &mut Value)>) {
    let mut collection = Collection::default();
    for (name, schema) in components.iter_mut() {
        // An enum that is already a component keeps its name wherever it occurs.
        if schema.get("enum").is_some() {
            collection
                .by_content
                .insert(content(schema), collection.found.len());
            collection.found.push(Found {
                schema: Value::Null,
                title: Some(name.clone()),
                suggestions: Vec::new(),
                description: None,
            });
        }
    }
    for (name, schema) in components.iter_mut() {
        collection.name_inside(schema, name);
    }
    for (name, schema) in &mut parameters {
        collection.name(schema, std::slice::from_ref(name));
    }
    let names = collection.names(components);
    for schema in components
        .values_mut()
        .chain(collection.found.iter_mut().map(|found| &mut found.schema))
    {
        point(schema, &names);
    }
    for (_, schema) in parameters {
        point(schema, &names);
    }
    for (found, name) in collection
        .found
        .into_iter()
        .zip(names)
        .filter(|(found, _)| !found.schema.is_null())
    {
        let mut schema = found.schema;
        if let Some(description) = found.description {
            schema["description"] = description;
        }
        components.insert(name, schema);
    }
}

impl Collection {
    /// Names the nested schemas, but not the schema itself.
    fn name_inside(&mut self, schema: &mut Value, owner: &str) {
        if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for (name, member) in members {
                self.name(member, &[format!("{owner}{}", in_capitals(name))]);
            }
        }
        if let Some(items) = schema.get_mut("items") {
            self.name(items, &[singular(owner), format!("{owner}Item")]);
        }
        if let Some(values) = schema
            .get_mut("additionalProperties")
            .filter(|values| values.is_object())
        {
            self.name(values, &[singular(owner), format!("{owner}Value")]);
        }
        for variant in schema
            .get_mut("anyOf")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            self.name(variant, &[owner.to_owned()]);
        }
    }

    /// Replaces a schema that needs a name with a reference, and names the nested schemas.
    fn name(&mut self, schema: &mut Value, suggestions: &[String]) {
        let types: Vec<&str> = schema["type"].as_array().map_or_else(
            || schema["type"].as_str().into_iter().collect(),
            |all| all.iter().filter_map(Value::as_str).collect(),
        );
        let is_nullable = types.contains(&"null");
        let is_words = schema.get("enum").is_some() && types.contains(&"string");
        let is_object = schema.get("properties").is_some();
        let title = schema["title"].as_str().map(str::to_owned);
        let owner = title.as_ref().unwrap_or(&suggestions[0]).clone();
        self.name_inside(schema, &owner);
        if !is_words && !is_object {
            return;
        }
        let mut bare = schema.take();
        let members = bare.as_object_mut().expect("a schema is an object");
        let description = members.remove("description");
        let default = members.remove("default");
        members.remove("title");
        let of_column = members
            .remove(OF_COLUMN)
            .and_then(|column| column.as_str().map(str::to_owned));
        bare["type"] = json!(if is_object { "object" } else { "string" });
        if let Some(words) = bare.get_mut("enum").and_then(Value::as_array_mut) {
            words.retain(|word| !word.is_null());
        }
        let suggestions = of_column
            .into_iter()
            .chain(suggestions.iter().cloned())
            .collect();
        let number = self.add(Found {
            schema: bare,
            title,
            suggestions,
            description: description.clone(),
        });
        let reference = json!({"$ref": number});
        *schema = if is_nullable {
            json!({"anyOf": [reference, {"type": "null"}]})
        } else {
            reference
        };
        for (word, said) in [("description", description), ("default", default)] {
            if let Some(said) = said {
                schema[word] = said;
            }
        }
    }

    fn add(&mut self, found: Found) -> usize {
        let number = *self
            .by_content
            .entry(content(&found.schema))
            .or_insert(self.found.len());
        match self.found.get_mut(number) {
            Some(known) => {
                known.title = known.title.take().or(found.title);
                known.suggestions.extend(found.suggestions);
                known.description = known
                    .description
                    .take()
                    .filter(|said| Some(said) == found.description.as_ref());
            }
            None => self.found.push(found),
        }
        number
    }

    /// Returns a unique name for each schema.
    fn names(&self, components: &Map<String, Value>) -> Vec<String> {
        let mut taken: BTreeSet<String> = components.keys().cloned().collect();
        let own = |found: &Found| {
            found
                .title
                .clone()
                .filter(|title| taken.insert(title.clone()) || found.schema.is_null())
        };
        let mut names: Vec<Option<String>> = self.found.iter().map(own).collect();
        for (name, found) in names
            .iter_mut()
            .zip(&self.found)
            .filter(|(name, _)| name.is_none())
        {
            let last = found.suggestions.last().cloned().unwrap_or_default();
            let numbered = (2..).map(|number| format!("{last}{number}"));
            let free = found
                .suggestions
                .iter()
                .cloned()
                .chain(numbered)
                .find(|name| !taken.contains(name));
            taken.extend(free.clone());
            *name = free;
        }
        names.into_iter().flatten().collect()
    }
}

/// Returns the parts of a schema that decide whether two schemas are equal.
fn content(schema: &Value) -> String {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.remove("description");
    }
    schema.to_string()
}

/// Replaces the numbers in references with names.
fn point(value: &mut Value, names: &[String]) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_u64().filter(|_| name == "$ref") {
                    Some(number) => {
                        *member = json!(format!("{COMPONENTS}{}", names[number as usize]));
                    }
                    None => point(member, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point(item, names)),
        _ => {}
    }
}

/// Converts `business_address` and `businessAddress` to `BusinessAddress`.
pub fn in_capitals(name: &str) -> String {
    let words = name
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(|word| format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]))
        .collect()
}

/// Returns the name for a contract column's values. It consists of the family, table and column,
/// without immediate repetitions of a word.
pub fn of_column(place: &str) -> String {
    let mut words: Vec<&str> = place.split(['.', '/', '_']).collect();
    words.dedup();
    in_capitals(&words.join("_"))
}

/// Returns the singular of a name.
fn singular(name: &str) -> String {
    match name {
        _ if name.ends_with("ies") => format!("{}y", &name[..name.len() - 3]),
        _ if name.ends_with("sses") => name[..name.len() - 2].to_owned(),
        _ if name.ends_with('s') && !["ss", "us", "is"].iter().any(|end| name.ends_with(end)) => {
            name[..name.len() - 1].to_owned()
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{OF_COLUMN, give, of_column, singular};

    #[test]
    fn equal_schemas_share_one_component_name() {
        let words = json!({"type": "string", "enum": ["a", "b"], (OF_COLUMN): "FamilyTableWord", "description": "First."});
        let mut components = json!({
            "Thing": {"type": "object", "properties": {
                "word": words, "part": {"type": ["object", "null"], "properties": {"x": {"type": "integer"}}}, "name": {"type": "string"}
            }},
            "Things": {"type": "array", "items": {"type": "object", "properties": {
                "word": {"type": ["string", "null"], "enum": ["a", "b", null], "description": "Second."}, "level": {"$ref": "#/components/schemas/Level"},
                "also": {"type": "string", "enum": ["low", "high"]}, "sizes": {"type": "array", "items": {"title": "Size", "type": "string", "enum": ["s", "l"]}}
            }}},
            "Level": {"type": "string", "enum": ["low", "high"], "description": "How high."}
        });
        let mut parameter =
            json!({"type": "array", "items": {"type": "string", "enum": ["s", "l"]}});
        give(
            components.as_object_mut().unwrap(),
            vec![("askSize".to_owned(), &mut parameter)],
        );
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let names: Vec<&String> = components.as_object().unwrap().keys().collect();
        assert_eq!(
            names,
            [
                "FamilyTableWord",
                "Level",
                "Size",
                "Thing",
                "ThingPart",
                "Things",
                "ThingsItem"
            ]
        );
        assert_eq!(
            components["FamilyTableWord"],
            json!({"type": "string", "enum": ["a", "b"]}),
            "two places say two things of it"
        );
        assert_eq!(
            components["Thing"]["properties"]["part"],
            json!({"anyOf": [reference("ThingPart"), {"type": "null"}]})
        );
        assert_eq!(components["ThingPart"]["type"], "object");
        assert_eq!(
            components["Things"]["items"],
            reference("ThingsItem"),
            "`Thing` is another"
        );
        let members = &components["ThingsItem"]["properties"];
        assert_eq!(
            members["word"],
            json!({"anyOf": [reference("FamilyTableWord"), {"type": "null"}], "description": "Second."})
        );
        assert_eq!(
            (&members["also"], &members["level"]),
            (&reference("Level"), &reference("Level"))
        );
        assert_eq!(
            (&members["sizes"]["items"], &parameter["items"]),
            (&reference("Size"), &reference("Size"))
        );
        assert!(!Value::to_string(&components).contains(OF_COLUMN));
    }

    #[test]
    fn names_are_words_of_the_contract_or_of_one_of_many() {
        assert_eq!(
            of_column("business.entity/entity_type"),
            "BusinessEntityType"
        );
        assert_eq!(of_column("permit.permit/status"), "PermitStatus");
        assert_eq!(
            ["Companies", "Addresses", "Status", "Sums", "ZipBatch"].map(singular),
            ["Company", "Address", "Status", "Sum", "ZipBatch"]
        );
    }
}
