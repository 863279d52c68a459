//! Records of an answer as rows of a table (RFC 4180). Which columns there are follows from the
//! schema of the endpoint's `data`, so that they are the same whatever the rows hold; what is in
//! them is the text of the JSON answer, digit by digit.

use serde_json::Value;
use serde_json::value::RawValue;

use super::components::{Components, Data};
use super::delimited::write_line;
use super::object;
use super::problem::{Problem, Result};

/// Between the texts of a list in one cell.
const JOINT: &str = ";";

/// What a cell of text must not begin with, because spreadsheets would run it as a formula, and the
/// mark that is put before it; texts that begin with the mark have one more, so that who takes the
/// first one off has every text as it was.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];
const MARK: char = '\'';

/// The columns of an endpoint's records.
#[derive(Debug)]
pub struct Columns {
    /// Members that lead from `data` to the records.
    rows: Vec<&'static str>,
    record: Node,
}

/// What becomes of a value.
#[derive(Debug)]
enum Node {
    /// One cell.
    Cell,
    /// The columns of each member.
    Object(Vec<(String, Node)>),
    /// A list within the record, each item of which is a row of its own.
    Items(Box<Node>),
}

impl Columns {
    /// Reads them off the schema of `data`; `rows` says where the records are, as a parameter
    /// declares it. Of an object that has only what a request names, such as figures of chosen
    /// metrics, `is_named` says what that is.
    pub fn of(data: &Data, rows: &'static str, is_named: &dyn Fn(&str) -> bool) -> Self {
        let (components, names) = Components::of([data]);
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

    /// The header row.
    pub fn header(&self) -> Vec<u8> {
        let (mut names, mut text) = (Vec::new(), Vec::new());
        name(&self.record, "", &mut names);
        write_line(&mut text, names.iter().map(|name| Some(name.as_str())));
        text
    }

    /// Adds the records of a text of `data`, and returns how many rows they are.
    ///
    /// # Errors
    /// `internal_error`, when the text is not what its schema says.
    pub fn write(&self, data: &[u8], text: &mut Vec<u8>) -> Result<usize> {
        let wrong = |error: serde_json::Error| {
            Problem::internal(&format!("an answer is no table: {error}"))
        };
        let mut list: &RawValue = serde_json::from_slice(data).map_err(wrong)?;
        if let Some(member) = self.rows.first() {
            let absent =
                || Problem::internal(&format!("an answer is no table: it has no `{member}`"));
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
            // What a record without items says, such as why it has none, is a row too.
            write_row(&self.record, record, None, text)?;
        }
        Ok(items.len().max(1))
    }
}

/// The schema behind references, and behind the choice between it and null.
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

/// What becomes of a value of a schema; `inner` is a member of it whose items are rows.
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
    // Members are required in the order in which answers have them.
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

/// The text of a value: null and an empty list have none, a list of texts and numbers is joined,
/// what is nested deeper stays JSON.
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
            // Joined, they could not be told apart again.
            let is_unclear =
                texts.iter().any(|text| text.contains(JOINT)) || texts[0].starts_with('[');
            Ok(Some(if is_unclear {
                text.to_owned()
            } else {
                guarded(texts.join(JOINT))
            }))
        }
        Some(b'{') => Ok(Some(text.to_owned())),
        _ => scalar(value),
    }
}

/// The text of a value without members; null has none.
fn scalar(value: &RawValue) -> serde_json::Result<Option<String>> {
    match value.get() {
        "null" => Ok(None),
        text if text.starts_with('"') => serde_json::from_str(text).map(Some),
        text => Ok(Some(text.to_owned())),
    }
}

/// A text that no spreadsheet takes for a formula.
fn guarded(text: String) -> String {
    if text.starts_with(FORMULAS) || text.starts_with(MARK) {
        format!("{MARK}{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
