//! Writes the records of an answer as CSV rows (RFC 4180). The columns follow from the schema of
//! the endpoint's `data`, so they do not depend on the rows. The cells contain the same text as the
//! JSON answer, digit by digit.

use serde_json::Value;
use serde_json::value::RawValue;

use super::components::{Components, Data};
use super::delimited::write_line;
use super::object;
use super::problem::{Problem, Result};

/// Separator between the list items in one cell.
const CELL_LIST_SEPARATOR: &str = ";";

/// First characters that would make a spreadsheet run a text cell as a formula. Such a cell gets
/// `MARK` as a prefix. Text that begins with the mark also gets the prefix, so a reader that strips
/// one mark always restores the original text.
const FORMULA_STARTS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];
const MARK: char = '\'';

/// Columns of an endpoint's records.
#[derive(Debug)]
pub struct Columns {
    /// Field names on the path from `data` to the records.
    rows: Vec<&'static str>,
    record: Node,
}

/// How a value maps to columns.
#[derive(Debug)]
enum Node {
    /// The value becomes one cell.
    Cell,
    /// The object contributes the columns of each of its fields.
    Object(Vec<(String, Node)>),
    /// The list is within the record, and each list item becomes a row.
    Items(Box<Node>),
}

impl Columns {
    /// Derives the columns from the schema of `data`. `rows` is the path of the records, as the
    /// `format` parameter declares it. Some objects contain only the fields that the request names,
    /// such as the figures for chosen metrics; `is_named` selects those fields.
    pub fn from_schema(data: &Data, rows: &'static str, is_named: &dyn Fn(&str) -> bool) -> Self {
        let (components, names) = Components::from_data([data]);
        let node = |schema: &Value, inner: Option<&str>| node(&components, schema, inner, is_named);
        let rows: Vec<&str> = rows
            .split('/')
            .filter(|member| !member.is_empty())
            .collect();
        let data = resolved(&components, components.get(&names[0]));
        let (list, inner) = match rows.as_slice() {
            [] => (data, None),
            [member] => (&data["properties"][member], None),
            [member, inner, ..] => (&data["properties"][member], Some(*inner)),
        };
        let record = node(&resolved(&components, list)["items"], inner);
        Self { rows, record }
    }

    /// Returns the header row.
    pub fn header(&self) -> Vec<u8> {
        let (mut names, mut text) = (Vec::new(), Vec::new());
        name(&self.record, "", &mut names);
        write_line(&mut text, names.iter().map(|name| Some(name.as_str())));
        text
    }

    /// Appends the records in serialised `data` and returns the number of rows.
    ///
    /// # Errors
    /// `internal_error` if `data` does not match its schema.
    pub fn write(&self, data: &[u8], text: &mut Vec<u8>) -> Result<usize> {
        let wrong = |error: serde_json::Error| {
            Problem::internal(&format!("cannot write an answer as a table: {error}"))
        };
        let mut list: &RawValue = serde_json::from_slice(data).map_err(wrong)?;
        if let Some(member) = self.rows.first() {
            let absent = || {
                Problem::internal(&format!(
                    "cannot write an answer as a table: it has no `{member}`"
                ))
            };
            list = object::read(list.get().as_bytes())
                .map_err(wrong)?
                .and_then(|fields| fields.get(*member).copied())
                .ok_or_else(absent)?;
        }
        let mut count = 0;
        for record in serde_json::from_str::<Vec<&RawValue>>(list.get()).map_err(wrong)? {
            count += self.write_record(record, text).map_err(wrong)?;
        }
        Ok(count)
    }

    fn write_record(&self, record: &RawValue, text: &mut Vec<u8>) -> serde_json::Result<usize> {
        let Some(member) = self.rows.get(1) else {
            return write_row(&self.record, record, None, text).map(|()| 1);
        };
        let fields = object::read(record.get().as_bytes())?.unwrap_or_default();
        let items: Vec<&RawValue> = fields
            .get(*member)
            .map(|list| serde_json::from_str(list.get()))
            .transpose()?
            .unwrap_or_default();
        for item in &items {
            write_row(&self.record, record, Some(item), text)?;
        }
        if items.is_empty() {
            // A record without items still contains facts, such as the reason why it has no items.
            // It is written as one row.
            write_row(&self.record, record, None, text)?;
        }
        Ok(items.len().max(1))
    }
}

/// Resolves references, and picks the schema from a choice between a schema and null.
fn resolved<'a>(components: &'a Components, mut schema: &'a Value) -> &'a Value {
    loop {
        let reference = schema["$ref"]
            .as_str()
            .and_then(|reference| reference.rsplit('/').next());
        schema = match (reference, schema["anyOf"].as_array()) {
            (Some(name), _) => components.get(name),
            (None, Some(choices)) => choices
                .iter()
                .find(|choice| choice["type"] != "null")
                .unwrap_or(&Value::Null),
            (None, None) => return schema,
        };
    }
}

/// Builds the columns for a schema. The items in the field `inner` become rows.
fn node(
    components: &Components,
    schema: &Value,
    inner: Option<&str>,
    is_named: &dyn Fn(&str) -> bool,
) -> Node {
    let schema = resolved(components, schema);
    let Some(properties) = schema["properties"].as_object() else {
        return Node::Cell;
    };
    // `required` lists the fields in the order in which answers write them.
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_there =
        |name: &&str| !required.contains(name) && (!required.is_empty() || is_named(name));
    let others = properties.keys().map(String::as_str).filter(is_there);
    let member = |name: &str| match inner {
        Some(inner) if inner == name => Node::Items(Box::new(node(
            components,
            &resolved(components, &properties[name])["items"],
            None,
            is_named,
        ))),
        _ => node(components, &properties[name], None, is_named),
    };
    Node::Object(
        required
            .iter()
            .copied()
            .chain(others)
            .map(|name| (name.to_owned(), member(name)))
            .collect(),
    )
}

fn name(node: &Node, prefix: &str, names: &mut Vec<String>) {
    match node {
        Node::Cell => names.push(prefix.to_owned()),
        Node::Items(item) => name(item, prefix, names),
        Node::Object(members) => {
            for (member, node) in members {
                name(
                    node,
                    &if prefix.is_empty() {
                        member.clone()
                    } else {
                        format!("{prefix}.{member}")
                    },
                    names,
                );
            }
        }
    }
}

fn write_row(
    node: &Node,
    record: &RawValue,
    item: Option<&RawValue>,
    text: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let mut cells = Vec::new();
    add_cells(node, Some(record), item, &mut cells)?;
    write_line(text, cells.iter().map(Option::as_deref));
    Ok(())
}

fn add_cells(
    node: &Node,
    value: Option<&RawValue>,
    item: Option<&RawValue>,
    cells: &mut Vec<Option<String>>,
) -> serde_json::Result<()> {
    match node {
        Node::Cell => cells.push(value.map(cell).transpose()?.flatten()),
        Node::Items(node) => add_cells(node, item, None, cells)?,
        Node::Object(members) => {
            let fields = value
                .map(|value| object::read(value.get().as_bytes()))
                .transpose()?
                .flatten()
                .unwrap_or_default();
            for (member, node) in members {
                add_cells(node, fields.get(member.as_str()).copied(), item, cells)?;
            }
        }
    }
    Ok(())
}

/// Returns the cell text for a value, or `None` for null and an empty list. Lists of strings and
/// numbers are joined into one string; deeper nesting stays JSON.
fn cell(value: &RawValue) -> serde_json::Result<Option<String>> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'"') => Ok(scalar(value)?.map(guarded)),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            if items.is_empty() {
                return Ok(None);
            }
            if items.iter().any(|item| item.get().starts_with(['[', '{'])) {
                return Ok(Some(text.to_owned()));
            }
            let texts = items
                .into_iter()
                .map(|item| Ok(scalar(item)?.unwrap_or_default()))
                .collect::<serde_json::Result<Vec<String>>>()?;
            // If such items were joined, a reader could not separate them again.
            let is_unclear = texts.iter().any(|text| text.contains(CELL_LIST_SEPARATOR))
                || texts[0].starts_with('[');
            Ok(Some(if is_unclear {
                text.to_owned()
            } else {
                guarded(texts.join(CELL_LIST_SEPARATOR))
            }))
        }
        Some(b'{') => Ok(Some(text.to_owned())),
        _ => scalar(value),
    }
}

/// Returns the text of a scalar value, or `None` for null.
fn scalar(value: &RawValue) -> serde_json::Result<Option<String>> {
    match value.get() {
        "null" => Ok(None),
        text if text.starts_with('"') => serde_json::from_str(text).map(Some),
        text => Ok(Some(text.to_owned())),
    }
}

/// Escapes text that a spreadsheet would run as a formula.
fn guarded(text: String) -> String {
    if text.starts_with(FORMULA_STARTS) || text.starts_with(MARK) {
        format!("{MARK}{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
