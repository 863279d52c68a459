//! Builds the rows of `business.officer` from columns in the entity's row or from separate rows.
//! Merges identical entries for an officer.

use std::collections::HashSet;

use polars::prelude::*;

use super::names::{ORGANIZATION, PartyColumns, has_designator};
use super::rows::Rows;
use super::settings::Settings;
use super::texts::{Texts, constant, state, strings, zip};
use super::{ENTITY, OFFICER, ids};
use crate::datasets::Context;
use crate::datasets::context::finding;
use crate::datasets::placeholders::{self, Holds, PLACEHOLDER};
use crate::datasets::vocabulary::{UNKNOWN, unknown_value};
use crate::normalise::{list_column, pointer_column, pointers};
use pubdata_core::contract::Words;
use pubdata_core::error::Result;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::POINTERS;

/// Officers, with the issues found in them.
pub(super) struct Officers {
    pub frame: DataFrame,
    pub issues: Vec<Issue>,
}

/// Builds the officer table. `ids` contains the entity ids by row of [`Rows::entities`]. Omits
/// officers of quarantined entities.
pub(super) fn table(
    context: &Context<'_>,
    settings: &Settings,
    rows: &Rows,
    ids: &[Option<String>],
) -> Result<Officers> {
    let bucket = context.bucket();
    let mut list = List {
        settings,
        words: context.words(OFFICER, "title"),
        entries: Vec::new(),
        issues: Vec::new(),
    };
    if rows.parties_of.is_empty() {
        list.add_blocks(&rows.entities, ids);
    } else {
        list.add_rows(rows, ids)?;
    }
    let List {
        entries, issues, ..
    } = list;
    let height = entries.len();
    let of_entities = pointers(&rows.entities, POINTERS)?;
    let numbers: Vec<Vec<u64>> = entries
        .iter()
        .map(|entry| entry.pointers(of_entities[entry.entity].as_deref().unwrap_or_default()))
        .collect();
    let id = |entry: &Entry<'_>| ids[entry.entity].as_deref().unwrap_or_default();
    let columns = vec![
        strings(
            "record_id",
            entries
                .iter()
                .map(|entry| Some(record_id(id(entry), entry.seq))),
        ),
        constant("state", &settings.state, height),
        constant("bucket", bucket, height),
        strings("entity_id", entries.iter().map(|entry| Some(id(entry)))),
        Column::new(
            "seq".into(),
            entries.iter().map(|entry| entry.seq).collect::<Vec<i32>>(),
        ),
        strings(
            "name",
            entries.iter().map(|entry| Some(&*entry.officer.name)),
        ),
        strings("type", entries.iter().map(|entry| entry.officer.kind)),
        strings(
            "title",
            entries.iter().map(|entry| Some(entry.officer.title)),
        ),
        strings(
            "title_raw",
            entries.iter().map(|entry| entry.officer.title_raw),
        ),
        strings(
            "line1",
            entries.iter().map(|entry| entry.officer.line1.as_deref()),
        ),
        strings("city", entries.iter().map(|entry| entry.officer.city)),
        strings(
            "officer_state",
            entries.iter().map(|entry| entry.officer.state.map(state)),
        ),
        strings(
            "zip",
            entries
                .iter()
                .map(|entry| entry.officer.zip.map(|text| zip(text).0)),
        ),
        list_column(
            "unknown_values",
            entries.iter().map(|entry| {
                entry
                    .officer
                    .unknown_title()
                    .map(|title| unknown_value("title", title))
            }),
        ),
        pointer_column(numbers.iter().map(Vec::as_slice)),
    ];
    Ok(Officers {
        frame: DataFrame::new(height, columns)?,
        issues,
    })
}

fn record_id(entity_id: &str, seq: i32) -> String {
    format!("{OFFICER}:{entity_id}:{seq}")
}

/// An officer as listed. Identical entries for the same entity count once.
#[derive(PartialEq, Eq, Hash, Clone)]
struct Officer<'f> {
    name: String,
    kind: Option<&'static str>,
    title: &'f str,
    title_raw: Option<&'f str>,
    /// True if the title is in neither the registry's own table nor the shared vocabulary.
    is_title_unmapped: bool,
    line1: Option<String>,
    city: Option<&'f str>,
    state: Option<&'f str>,
    zip: Option<&'f str>,
}

impl<'f> Officer<'f> {
    /// Returns the published title if its meaning is unknown.
    fn unknown_title(&self) -> Option<&'f str> {
        self.title_raw.filter(|_| self.is_title_unmapped)
    }
}

struct Entry<'f> {
    entity: usize,
    seq: i32,
    officer: Officer<'f>,
    /// Pointers to the row that names the officer, if it is not the entity's row.
    own: Vec<u64>,
}

impl Entry<'_> {
    /// Returns pointers to the officer's own row first, followed by the entity's other rows, which
    /// determine the officer's position.
    fn pointers(&self, entity: &[u64]) -> Vec<u64> {
        let others = entity
            .chunks_exact(4)
            .filter(|pointer| *pointer != self.own.as_slice())
            .flatten();
        self.own.iter().chain(others).copied().collect()
    }
}

/// Columns that describe an officer, resolved once.
struct Columns<'f> {
    party: PartyColumns<'f>,
    title: Option<&'f StringChunked>,
    lines: [Option<&'f StringChunked>; 2],
    city: Option<&'f StringChunked>,
    state: Option<&'f StringChunked>,
    zip: Option<&'f StringChunked>,
}

impl<'f> Columns<'f> {
    fn new(texts: &Texts<'f>, prefix: &str) -> Self {
        let column = |part: &str| texts.column(&format!("{prefix}_{part}"));
        Self {
            party: PartyColumns::new(texts, prefix),
            title: column("title"),
            lines: ["line1", "line2"].map(column),
            city: column("city"),
            state: column("state"),
            zip: column("zip"),
        }
    }
}

struct List<'f> {
    settings: &'f Settings,
    words: &'f Words,
    entries: Vec<Entry<'f>>,
    issues: Vec<Issue>,
}

impl<'f> List<'f> {
    /// Adds officers from numbered columns in the entity's row.
    fn add_blocks(&mut self, entities: &'f DataFrame, ids: &[Option<String>]) {
        let texts = Texts(entities);
        let blocks: Vec<Columns<'f>> = (1..)
            .map(|place| format!("officer_{place}"))
            .take_while(|prefix| {
                ["name", "last"]
                    .iter()
                    .any(|part| texts.column(&format!("{prefix}_{part}")).is_some())
            })
            .map(|prefix| Columns::new(&texts, &prefix))
            .collect();
        for (entity, id) in ids.iter().enumerate() {
            let officers = blocks
                .iter()
                .filter_map(|columns| {
                    self.officer(columns, entity)
                        .map(|officer| (officer, Vec::new()))
                })
                .collect();
            self.add(entity, id.as_deref(), officers);
        }
    }

    /// Adds officers from separate rows.
    fn add_rows(&mut self, rows: &'f Rows, ids: &[Option<String>]) -> Result<()> {
        let columns = Columns::new(&Texts(&rows.parties), "party");
        let own = pointers(&rows.parties, POINTERS)?;
        for (entity, parties) in rows.parties_of.iter().enumerate() {
            let has_other_role = |row: usize| {
                columns
                    .title
                    .and_then(|titles| titles.get(row))
                    .is_some_and(|title| self.settings.party_roles.get(title).is_some())
            };
            let rows = parties.iter().filter(|row| !has_other_role(**row));
            let officers = rows
                .filter_map(|row| {
                    Some((
                        self.officer(&columns, *row)?,
                        own[*row].clone().unwrap_or_default(),
                    ))
                })
                .collect();
            self.add(entity, ids[entity].as_deref(), officers);
        }
        Ok(())
    }

    fn add(&mut self, entity: usize, id: Option<&str>, officers: Vec<(Officer<'f>, Vec<u64>)>) {
        let Some(id) = id else { return };
        let mut seen = HashSet::new();
        let mut seq = 0;
        for (officer, own) in officers {
            if !seen.insert(officer.clone()) {
                continue;
            }
            if placeholders::is_placeholder(Holds::Name, &officer.name) {
                let detail = format!(
                    "an officer's name is `{}`, which is a placeholder",
                    officer.name
                );
                self.issues.push(finding(
                    PLACEHOLDER,
                    Severity::Warning,
                    ENTITY,
                    &ids::record_id(Some(id)),
                    detail,
                ));
                continue;
            }
            seq += 1;
            if let Some(raw) = officer.unknown_title() {
                self.issues.push(finding(
                    "unmapped_title",
                    Severity::Warning,
                    OFFICER,
                    &record_id(id, seq),
                    format!("title `{raw}` is not in the table"),
                ));
            }
            self.entries.push(Entry {
                entity,
                seq,
                officer,
                own,
            });
        }
    }

    fn officer(&self, columns: &Columns<'f>, row: usize) -> Option<Officer<'f>> {
        let cell = |column: Option<&'f StringChunked>| column.and_then(|column| column.get(row));
        let party =
            columns
                .party
                .party(self.settings, row, self.settings.officer_type.as_deref())?;
        let title_raw = cell(columns.title);
        let title = title_raw.map_or(self.settings.officer_title.as_deref(), |raw| {
            self.title(raw).or_else(|| self.words.get(raw))
        });
        let lines: Vec<&str> = columns
            .lines
            .iter()
            .filter_map(|line| cell(*line))
            .collect();
        let is_named_so = party.kind == Some(ORGANIZATION) && has_designator(&party.name);
        Some(Officer {
            name: party.name.into_owned(),
            kind: party.kind,
            title: title.filter(|title| !title.is_empty()).unwrap_or(UNKNOWN),
            title_raw,
            is_title_unmapped: title_raw.is_some() && title.is_none(),
            line1: (is_named_so && !lines.is_empty()).then(|| lines.join(", ")),
            city: cell(columns.city),
            state: cell(columns.state),
            zip: cell(columns.zip),
        })
    }

    /// Looks up a title as written, then without punctuation, and then split into codes (`VPD`,
    /// `P/D`). If it is split, the highest-ranking code counts.
    fn title(&self, raw: &str) -> Option<&'f str> {
        let titles = &self.settings.titles;
        let letters: String = raw
            .chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_uppercase)
            .collect();
        if let Some(title) = titles.get(raw).or_else(|| titles.get(&letters)) {
            return Some(title);
        }
        let codes = &self.settings.title_codes;
        let mut rest = letters.as_str();
        let mut highest = usize::MAX;
        while !rest.is_empty() {
            let (rank, code) = codes
                .iter()
                .enumerate()
                .filter(|(_, code)| rest.starts_with(code.as_str()))
                .max_by_key(|(_, code)| code.len())?;
            highest = highest.min(rank);
            rest = &rest[code.len()..];
        }
        titles.get(codes.get(highest)?).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use pubdata_core::contract::normalized_word;

    use super::*;

    #[test]
    fn titles_are_known_by_table_or_vocabulary_and_nobody_is_no_officer() {
        let settings: Settings = toml::from_str(
            "state = \"CO\"\nsource_id = \"s\"\nentities = []\ndate_formats = []\ntitle_codes = [\"P\"]\ntitles = { P = \"president\", Agent = \"manager\" }",
        )
        .unwrap();
        let words = [("Agent", "other"), ("Organizers", "other")]
            .map(|(word, value)| (normalized_word(word), value));
        let words: Words = serde_json::from_value(words.into_iter().collect()).unwrap();
        let titles = ["P", "AGENT", "organizer", "Zzz"];
        let mut columns: Vec<Column> = Vec::new();
        for (place, title) in (1..).zip(titles) {
            columns.push(Column::new(
                format!("officer_{place}_name").into(),
                [format!("OFFICER {place}")],
            ));
            columns.push(Column::new(
                format!("officer_{place}_title").into(),
                [title],
            ));
        }
        columns.push(Column::new("officer_5_name".into(), ["VACANT"]));
        let frame = DataFrame::new(1, columns).unwrap();
        let mut list = List {
            settings: &settings,
            words: &words,
            entries: Vec::new(),
            issues: Vec::new(),
        };
        list.add_blocks(&frame, &[Some("CO-1".to_owned())]);
        let found: Vec<_> = list
            .entries
            .iter()
            .map(|entry| {
                (
                    entry.officer.title,
                    entry
                        .officer
                        .unknown_title()
                        .map(|title| unknown_value("title", title)),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("president", None),
                ("manager", None),
                ("other", None),
                ("unknown", Some("title=Zzz".to_owned()))
            ]
        );
        let issues: Vec<_> = list
            .issues
            .iter()
            .map(|issue| {
                (
                    issue.code.as_str(),
                    issue.record.as_deref().unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(
            issues,
            [
                ("unmapped_title", "business.officer:CO-1:4"),
                (PLACEHOLDER, "business.entity:CO-1")
            ]
        );
    }
}
