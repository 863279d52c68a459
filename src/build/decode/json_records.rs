//! Decodes a JSON array of objects. Records omit attributes without a value, so the header is the
//! union of the attributes of all records.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Read;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::header::{ColumnPlan, Resolved};
use super::records::{Records, Sink};
use super::{Malformed, Task, open, unreadable};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Encoding, normalized_name};

/// Maximum nesting depth of objects. Publishers' records have at most three levels.
const MAX_DEPTH: usize = 16;

/// Maximum number of attribute names in one file. A larger number means that values are used as
/// names.
const MAX_ATTRIBUTES: usize = 2_000;

/// Layout of a JSON file of records.
pub(super) struct Layout<'a> {
    /// Names on the path from the document to its array of records, joined by `.`; none if the
    /// document is the array.
    pub(super) records: Option<&'a str>,
    /// True if attribute names are compared in normalised form.
    pub(super) is_name_normalized: bool,
}

/// Decodes an array of objects. A nested attribute is named by its path, joined by `.`. An object
/// or array whose path is mapped or ignored becomes one cell with its JSON text.
pub(super) fn decode(
    task: &Task<'_>,
    layout: &Layout<'_>,
    sink: &mut Sink<'_>,
) -> Result<Vec<Malformed>> {
    let text = read_text(task)?;
    let text = text.as_str();
    let objects = records(text, layout)?;
    let names = names(&objects, task, layout)?;
    let resolved = task.plan.resolve_attributes(&names)?;
    let indices: HashMap<&str, usize> = names
        .iter()
        .enumerate()
        .map(|(index, name)| (name.as_str(), index))
        .collect();
    let mut records = Records::new(&resolved, Encoding::Utf8, sink)?;
    let mut push = |record: &str, offset: usize| match Cells::split(record, task.plan, layout) {
        Ok(cells) => push_cells(
            &mut records,
            &resolved,
            &indices,
            &cells,
            record,
            offset as u64,
        ),
        Err(problem) => records.malformed(problem, record.as_bytes(), offset as u64),
    };
    match task.only {
        Some(ranges) => {
            for (offset, length) in ranges {
                let start = usize::try_from(*offset).ok();
                let end = offset
                    .checked_add(*length)
                    .and_then(|end| usize::try_from(end).ok());
                let range = start
                    .zip(end)
                    .and_then(|(start, end)| Some((start, text.get(start..end)?)));
                let (start, record) =
                    range.ok_or_else(|| Error::format("ends before the record does"))?;
                push(record, start)?;
            }
        }
        None => {
            for object in objects {
                push(
                    object.get(),
                    object.get().as_ptr() as usize - text.as_ptr() as usize,
                )?;
            }
        }
    }
    records.finish()
}

/// Returns one record's values by the names used for mapping, or none if the text is not a record.
pub(super) fn spans<'r>(
    record: &'r str,
    plan: &ColumnPlan,
    layout: &Layout<'_>,
) -> Option<Vec<(String, &'r RawValue)>> {
    Cells::split(record, plan, layout).ok().map(|cells| {
        cells
            .0
            .into_iter()
            .map(|cell| (cell.name, cell.value))
            .collect()
    })
}

/// Counts the records in a file without checking their content.
pub(super) fn count(task: &Task<'_>, layout: &Layout<'_>) -> Result<u64> {
    Ok(records(&read_text(task)?, layout)?.len() as u64)
}

/// Returns the names of the attributes found in the records.
pub(super) fn attributes(task: &Task<'_>, layout: &Layout<'_>) -> Result<Vec<String>> {
    names(&records(&read_text(task)?, layout)?, task, layout)
}

fn read_text(task: &Task<'_>) -> Result<String> {
    let mut bytes = Vec::new();
    open(task.path, task.member, task.max_bytes)?
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| Error::format("is not UTF-8"))
}

/// Returns a document's records as slices of the text.
fn records<'t>(text: &'t str, layout: &Layout<'_>) -> Result<Vec<&'t RawValue>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let not_json = |error: serde_json::Error| Error::format(format!("is not JSON: {error}"));
    let mut value: &RawValue = serde_json::from_str(text).map_err(not_json)?;
    for name in layout.records.into_iter().flat_map(|path| path.split('.')) {
        let object: Object<'_> = serde_json::from_str(value.get())
            .map_err(|_| Error::format(format!("has no object that holds `{name}`")))?;
        let found = object.0.into_iter().find(|(known, _)| known == name);
        value = found.ok_or_else(|| Error::format(format!("has no `{name}`: it may be a service's error message instead of the declared records")))?.1;
    }
    serde_json::from_str(value.get()).map_err(|_| Error::format("is not an array of records"))
}

/// Returns the attributes found in all records, in order of first appearance.
fn names(records: &[&RawValue], task: &Task<'_>, layout: &Layout<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut written: HashMap<String, String> = HashMap::new();
    for record in records {
        for Cell { name, path, .. } in Cells::split(record.get(), task.plan, layout)
            .unwrap_or_default()
            .0
        {
            match written.get(&name) {
                Some(known) if *known == path => {}
                Some(known) => {
                    return Err(Error::format(format!(
                        "the attributes `{known}` and `{path}` both map to `{name}`"
                    )));
                }
                None => {
                    if names.len() == MAX_ATTRIBUTES {
                        return Err(Error::format(format!(
                            "its records have more than {MAX_ATTRIBUTES} different attributes"
                        )));
                    }
                    names.push(name.clone());
                    written.insert(name, path);
                }
            }
        }
    }
    Ok(names)
}

fn push_cells(
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    indices: &HashMap<&str, usize>,
    cells: &Cells<'_>,
    record: &str,
    offset: u64,
) -> Result<()> {
    let mut texts: Vec<Option<String>> = vec![None; indices.len()];
    for cell in &cells.0 {
        match text_of(cell.value) {
            Ok(text) => texts[indices[cell.name.as_str()]] = text,
            Err(problem) => {
                return records.malformed(
                    format!("the attribute `{}` {problem}", cell.path),
                    record.as_bytes(),
                    offset,
                );
            }
        }
    }
    let cell = |index: usize| texts[index].as_deref().map(str::as_bytes);
    if resolved.is_kept(|index| cell(index).unwrap_or_default()) {
        return records.push(resolved, offset, record.len() as u64, cell);
    }
    Ok(())
}

/// Converts a value to text. Returns a string's content, none for null, and the source text of any
/// other value.
fn text_of(value: &RawValue) -> std::result::Result<Option<String>, &'static str> {
    match value.get() {
        "null" => Ok(None),
        text if text.starts_with('"') => serde_json::from_str(text)
            .map(Some)
            .map_err(|_| "is no text"),
        text => Ok(Some(text.to_owned())),
    }
}

/// The attributes of one record.
#[derive(Default)]
struct Cells<'r>(Vec<Cell<'r>>);

struct Cell<'r> {
    /// Name used for mapping, normalised if the declaration requires it.
    name: String,
    /// Name as the publisher writes it.
    path: String,
    value: &'r RawValue,
}

impl<'r> Cells<'r> {
    /// Splits a record into attributes. An error describes the problem with the record.
    fn split(
        record: &'r str,
        plan: &ColumnPlan,
        layout: &Layout<'_>,
    ) -> std::result::Result<Self, String> {
        let mut cells = Self::default();
        cells.add(record, "", MAX_DEPTH, plan, layout)?;
        let mut met = HashSet::new();
        match cells.0.iter().find(|cell| !met.insert(&cell.name)) {
            Some(cell) => Err(format!(
                "the record has the attribute `{}` twice",
                cell.path
            )),
            None => Ok(cells),
        }
    }

    fn add(
        &mut self,
        object: &'r str,
        above: &str,
        depth: usize,
        plan: &ColumnPlan,
        layout: &Layout<'_>,
    ) -> std::result::Result<(), String> {
        let depth = depth.checked_sub(1).ok_or_else(|| {
            format!("the record has more than {MAX_DEPTH} objects inside each other")
        })?;
        let Object(attributes) =
            serde_json::from_str(object).map_err(|_| "the record is not an object".to_owned())?;
        for (key, value) in attributes {
            let path = if above.is_empty() {
                key
            } else {
                format!("{above}.{key}")
            };
            let name = if layout.is_name_normalized {
                normalized_name(&path)
            } else {
                path.clone()
            };
            let is_known = plan.knows(&name);
            if !is_known && value.get().starts_with('{') {
                self.add(value.get(), &path, depth, plan, layout)?;
            } else if is_known || value.get() != "null" || !plan.knows_nested(&name) {
                self.0.push(Cell { name, path, value });
            }
        }
        Ok(())
    }
}

/// An object's attributes in order. A name may occur twice.
struct Object<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Object<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Attributes;
        impl<'t> Visitor<'t> for Attributes {
            type Value = Object<'t>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut attributes = Vec::new();
                while let Some(attribute) = map.next_entry()? {
                    attributes.push(attribute);
                }
                Ok(Object(attributes))
            }
        }
        deserializer.deserialize_map(Attributes)
    }
}
