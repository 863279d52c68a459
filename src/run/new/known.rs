//! Collects the mappings in other publishers' lists of the same kind, both from column names to our
//! columns and from terms to our terms. The more lists agree, the more reliable a guess is.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use pubdata_core::pipeline::Declaration;

/// Columns that contain parts of a street line.
pub(super) const PIECES: &[&str] = &[
    "house_number",
    "predir",
    "street_name",
    "street_suffix",
    "postdir",
];

/// The tables of the settings in which terms are looked up. Their names are also names of our
/// columns.
pub(super) const TABLES: &[&str] = &["type", "status", "work_class", "property_class"];

/// The mappings of all lists of a kind.
#[derive(Debug, Default)]
pub(super) struct Known {
    columns: BTreeMap<String, Uses>,
    /// Lists by our term, for each table and publisher's term in lower case.
    words: BTreeMap<(&'static str, String), BTreeMap<String, BTreeSet<String>>>,
}

/// Uses of a column name in other lists.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The lists that use the column name, by our column.
    by_column: BTreeMap<String, BTreeSet<String>>,
    /// All lists that have a column with this name.
    lists: BTreeSet<String>,
}

impl Uses {
    /// Returns our columns to which a name was mapped, each with its lists, the most frequent
    /// first.
    pub(super) fn ranked(&self) -> Vec<(&str, &BTreeSet<String>)> {
        let mut ranked: Vec<_> = self
            .by_column
            .iter()
            .map(|(ours, lists)| (ours.as_str(), lists))
            .collect();
        ranked.sort_by_key(|(_, lists)| std::cmp::Reverse(lists.len()));
        ranked
    }

    pub(super) fn lists(&self) -> usize {
        self.lists.len()
    }
}

impl Known {
    /// Collects the mappings from a builder's declarations.
    pub(super) fn from_declarations<'d>(
        declarations: impl Iterator<Item = &'d Declaration>,
        builder: &str,
    ) -> Self {
        let mut known = Self::default();
        for declaration in
            declarations.filter(|declaration| declaration.builder.as_deref() == Some(builder))
        {
            known.learn(declaration);
        }
        known
    }

    fn learn(&mut self, declaration: &Declaration) {
        let list = &declaration.pipeline_id;
        for source in &declaration.sources {
            for (ours, names) in &source.columns {
                let role = role(declaration, ours);
                for name in names {
                    let uses = self.columns.entry(names::key(name)).or_default();
                    uses.lists.insert(list.clone());
                    if let Some(role) = &role {
                        uses.by_column
                            .entry(role.clone())
                            .or_default()
                            .insert(list.clone());
                    }
                }
            }
            for name in source
                .ignore
                .iter()
                .filter(|name| !name.contains(['#', '{']))
            {
                self.columns
                    .entry(names::key(name))
                    .or_default()
                    .lists
                    .insert(list.clone());
            }
        }
        for table in TABLES {
            let words = declaration
                .settings
                .get(*table)
                .and_then(toml::Value::as_table)
                .into_iter()
                .flatten();
            for (word, ours) in words.filter_map(|(word, ours)| Some((word, ours.as_str()?))) {
                self.words
                    .entry((table, compared(word)))
                    .or_default()
                    .entry(ours.to_owned())
                    .or_default()
                    .insert(list.clone());
            }
        }
    }

    /// Returns the uses of a column name in other lists.
    pub(super) fn uses(&self, published: &str) -> Option<&Uses> {
        self.columns.get(&names::key(published))
    }

    /// Returns our term for a publisher's term if all lists that contain it agree. Also returns the
    /// number of these lists, and one of them.
    pub(super) fn word(&self, table: &'static str, word: &str) -> Option<(&str, usize, &str)> {
        let ours = self.words.get(&(table, compared(word)))?;
        let mut all = ours.iter();
        let (value, lists) = all.next()?;
        let one = lists.first()?;
        all.next()
            .is_none()
            .then_some((value.as_str(), lists.len(), one.as_str()))
    }

    /// Describes the mappings of a publisher's term if lists disagree, for example `active (3
    /// lists), in_review (permit.x)`.
    pub(super) fn disagreement(&self, table: &'static str, word: &str) -> Option<String> {
        let ours = self
            .words
            .get(&(table, compared(word)))
            .filter(|ours| ours.len() > 1)?;
        let texts = ours.iter().map(|(value, lists)| {
            format!(
                "{} in {}",
                if value.is_empty() { "null" } else { value },
                lists_of(lists)
            )
        });
        Some(texts.collect::<Vec<_>>().join(", "))
    }
}

/// Formats the names of lists, for example `permit.boise` or `4 lists such as permit.boise`.
pub(super) fn lists_of(lists: &BTreeSet<String>) -> String {
    match (lists.len(), lists.first()) {
        (1, Some(one)) => one.clone(),
        (count, Some(one)) => format!("{count} lists such as {one}"),
        (_, None) => "no list".to_owned(),
    }
}

/// Normalises a term just as the builder does, to lower case with single blanks.
pub(super) fn compared(word: &str) -> String {
    word.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Returns the common meaning of a list's own column name, such as a part of the street line, the
/// value of the work, or a contractor's name. Returns `None` if the name has meaning only in that
/// list.
pub(super) fn role(declaration: &Declaration, ours: &str) -> Option<String> {
    let settings = &declaration.settings;
    let list = |key: &str| {
        settings
            .get(key)
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
    };
    let pieces: Vec<&str> = list("line1").flat_map(|piece| piece.split('+')).collect();
    if pieces.len() > 1
        && let Some(place) = pieces.iter().position(|piece| *piece == ours)
    {
        return Some(piece(&pieces, place).to_owned());
    }
    if pieces == [ours] {
        return Some("line1".to_owned());
    }
    if list("job_value").any(|column| column == ours) {
        return Some("job_value".to_owned());
    }
    let parcel = settings
        .get("parcel")
        .and_then(|parcel| parcel.get("columns"))
        .and_then(toml::Value::as_array);
    if let Some(columns) = parcel
        && columns.iter().any(|column| column.as_str() == Some(ours))
    {
        return (columns.len() == 1).then(|| "parcel".to_owned());
    }
    for group in settings
        .get("contact")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |key: &str| {
            group
                .get(key)
                .and_then(toml::Value::as_str)
                .unwrap_or_default()
        };
        if let Some(part) = ours
            .strip_prefix(text("prefix"))
            .and_then(|rest| rest.strip_prefix('_'))
        {
            return (text("role") == "contractor").then(|| format!("contractor_{part}"));
        }
    }
    (!PIECES.contains(&ours)).then(|| ours.to_owned())
}

/// Returns the part of the street line that a column contains, based on its name and position.
fn piece(pieces: &[&str], place: usize) -> &'static str {
    let is_name = |piece: &&str| {
        piece.starts_with("street")
            && !["suffix", "type", "dir", "number"]
                .iter()
                .any(|word| piece.contains(word))
    };
    let name = pieces.iter().position(is_name).unwrap_or(pieces.len());
    let piece = pieces[place];
    match piece {
        _ if piece.contains("dir") => {
            if place < name {
                "predir"
            } else {
                "postdir"
            }
        }
        _ if piece.contains("number_suffix") => "house_number_suffix",
        _ if piece.contains("suffix") || piece.contains("type") => "street_suffix",
        _ if place < name => "house_number",
        _ => "street_name",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubdata_core::declared::DeclarationFiles;
    use pubdata_core::pipeline::Declarations;

    fn known() -> Known {
        Known::from_declarations(
            Declarations::load(DeclarationFiles::built_in())
                .unwrap()
                .pipelines
                .values(),
            "permit",
        )
    }

    #[test]
    fn names_are_known_from_the_lists_that_have_them() {
        let known = known();
        for (name, ours) in [
            ("PermitNum", "permit_number"),
            ("IssuedDate", "issued_date"),
            ("EstProjectCost", "job_value"),
            ("STREET_NUMBER", "house_number"),
            ("Street Name", "street_name"),
            ("pre_direction", "predir"),
            ("Parcel_Number", "parcel"),
            ("ContractorCompanyName", "contractor_name"),
        ] {
            let uses = known.uses(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(uses.ranked()[0].0, ours, "{name}: {uses:?}");
        }
        assert!(known.uses("Favourite Colour").is_none());
    }

    #[test]
    fn word_is_known_only_if_all_lists_agree() {
        let known = known();
        assert_eq!(
            known.word("status", " ISSUED").map(|(ours, ..)| ours),
            Some("active")
        );
        assert_eq!(
            known.word("type", "Electrical").map(|(ours, ..)| ours),
            Some("electrical")
        );
        assert_eq!(known.word("status", "Teleported"), None);
        assert!(
            known.disagreement("status", "Approved").is_some()
                || known.word("status", "Approved").is_some()
        );
    }
}
