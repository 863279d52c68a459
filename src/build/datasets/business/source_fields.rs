//! Keeps an entity's cells as the registry publishes them, under the registry's own column names,
//! so that readers can check our values. Excludes cells about parties, whose streets may be home
//! addresses, and numbers that may be tax identification numbers.

use polars::prelude::*;

use super::settings::Settings;
use super::texts::Texts;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declaration;

/// Prefixes of pubdata names for withheld columns.
const WITHHELD: &[&str] = &[
    "agent_",
    "officer_",
    "party_",
    "mailing_name",
    "link_number",
    "other_number",
];

/// Builds the column `source_fields`, a JSON object with each row's non-empty cells.
pub(super) fn column(
    declaration: &Declaration,
    settings: &Settings,
    texts: &Texts<'_>,
) -> Result<Column> {
    let source_id = &settings.entities[0];
    let source = declaration
        .sources
        .iter()
        .find(|source| source.source_id == *source_id);
    let source =
        source.ok_or_else(|| Error::config(format!("`{source_id}` is not among its sources")))?;
    let is_public = |name: &str| !WITHHELD.iter().any(|start| name.starts_with(start));
    let published = source.columns.iter().filter(|(name, _)| is_public(name));
    // A column may have had several names over the years. The first name is the current one.
    let columns: Vec<(&str, &StringChunked)> = published
        .filter_map(|(name, theirs)| Some((theirs.first()?.as_str(), texts.column(name)?)))
        .collect();
    let mut fields = StringChunkedBuilder::new("source_fields".into(), texts.0.height());
    let mut json = Vec::new();
    for row in 0..texts.0.height() {
        json.clear();
        for (name, cells) in &columns {
            if let Some(cell) = cells.get(row) {
                json.push(if json.is_empty() { b'{' } else { b',' });
                write(&mut json, name);
                json.push(b':');
                write(&mut json, cell);
            }
        }
        if json.is_empty() {
            json.push(b'{');
        }
        json.push(b'}');
        fields.append_value(std::str::from_utf8(&json).expect("JSON of texts is text"));
    }
    Ok(fields.finish().into_column())
}

fn write(json: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(json, text).expect("a text has a JSON form");
}
