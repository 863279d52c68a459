//! Indexes businesses in memory for searches. All values that an answer shows are read from the
//! parts.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::business::datasets::Entity;
use crate::business::datasets::Officer;
use crate::days;
use crate::http::endpoint::Call;
use crate::http::problem::{Problem, Result as ApiResult};
use crate::index::file::{Column, Index, Small, stored};
use crate::index::hash_index::{HashIndex, HashIndexBuilder};
use crate::release::dictionary::DictionaryColumn;
use crate::release::dictionary_codes::DictionaryCodes;
use crate::release::freshness::source_date;
use crate::release::key_columns::{Days, indexed, key_columns, known_day, read_parts};
use crate::release::part_cache::CachedPart;
use crate::release::part_reader::PartReader;
use crate::release::rows::{ChildParts, Dataset, Numbered, Record};
use crate::release::table::{Table, TextLists, Texts};
use crate::search::names::Name;
use crate::search::rank::precedence;
use crate::search::row_hit::NameKind;
use crate::search::row_names::{RowNames, RowNamesBuilder, SharedBuilder, SharedNames};
use pubdata_core::canonical::license_number;
use pubdata_core::canonical::name::comparable;
use pubdata_core::canonical::name::{Forms, SearchedName, searched};
use pubdata_core::error::Result;

key_columns! {
    /// Columns from which the index is built.
    struct Keys {
        entity_id: Texts,
        source_id: Texts,
        entity_number: Texts,
        name: Texts,
        name_normalized: Texts,
        former_names: TextLists,
        assumed_names: TextLists,
        jurisdiction_of_formation: Texts,
        entity_type: Texts,
        status: Texts,
        formation_date: Days,
        principal_city: Texts,
        principal_zip: Texts,
        mailing_city: Texts,
        mailing_zip: Texts,
        agent_name: Texts,
    }
}

/// Summary of one registry.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Registry {
    /// Source of the registry.
    pub source_id: String,
    pub entities: u64,
    pub types: BTreeSet<String>,
    /// First and last formation date, as days since 1970-01-01. The last date is never after the
    /// registry's date.
    pub oldest: Option<i32>,
    pub newest: Option<i32>,
}

/// Businesses of a release.
#[derive(Debug)]
pub struct Businesses {
    pub rows: Numbered<Entity>,
    pub officers: ChildParts<Officer>,
    pub index: Index<BusinessIndex>,
}

/// Search index of businesses.
#[derive(Debug, Default)]
pub struct BusinessIndex {
    pub names: RowNames,
    pub agents: SharedNames,
    by_id: HashIndex,
    by_number: HashIndex,
    pub types: DictionaryColumn,
    pub statuses: DictionaryColumn,
    /// Rank by active status and formation date.
    pub precedence: Column<u32>,
    pub jurisdictions: DictionaryCodes,
    pub cities: DictionaryCodes,
    pub zips: DictionaryCodes,
    /// Registries by state.
    pub registries: Small<Vec<(String, Registry)>>,
}

stored!(BusinessIndex {
    names,
    agents,
    by_id,
    by_number,
    types,
    statuses,
    precedence,
    jurisdictions,
    cities,
    zips,
    registries
});

/// An index under construction.
#[derive(Default)]
struct Builder {
    names: RowNamesBuilder,
    agents: SharedBuilder,
    by_id: HashIndexBuilder,
    by_number: HashIndexBuilder,
    registries: BTreeMap<String, Registry>,
    /// Columns of the index that are appended directly.
    index: BusinessIndex,
}

impl Builder {
    /// Adds the rows of a registry. `as_of` is the registry's date.
    fn add(&mut self, state: &str, as_of: Option<i32>, first: u32, table: &Table) -> Result<()> {
        let keys = Keys::open(table)?;
        let registry = self.registries.entry(state.to_owned()).or_default();
        for index in 0..table.rows() {
            let row = first + index as u32;
            let SearchedName { core, form } =
                searched(keys.name_normalized.at(index), Forms::OfStates);
            self.names.push(
                Name::Organization {
                    core: &core,
                    form: &form,
                },
                keys.name.at(index),
            )?;
            keys.former_names
                .at(index)
                .for_each(|name| self.names.add(row, NameKind::Former, name));
            keys.assumed_names
                .at(index)
                .for_each(|name| self.names.add(row, NameKind::Assumed, name));
            if let Some(agent) = keys.agent_name.get(index) {
                self.agents.add(agent, row)?;
            }
            self.by_id
                .add(&[&keys.entity_id.at(index).to_ascii_uppercase()], row);
            self.by_number.add(
                &[state, &comparable_number(keys.entity_number.at(index))],
                row,
            );
            let (kind, status) = (keys.entity_type.get(index), keys.status.get(index));
            if let Some(kind) = kind.filter(|kind| !registry.types.contains(*kind)) {
                registry.types.insert(kind.to_owned());
            }
            if registry.source_id.is_empty() {
                keys.source_id.at(index).clone_into(&mut registry.source_id);
            }
            registry.entities += 1;
            let day = known_day(keys.formation_date.at(index));
            registry.oldest = [registry.oldest, day].into_iter().flatten().min();
            registry.newest = registry
                .newest
                .max(day.filter(|day| as_of.is_none_or(|as_of| *day <= as_of)));
            self.index.types.push(kind)?;
            self.index.statuses.push(status)?;
            self.index
                .precedence
                .push(precedence(status.is_some_and(is_active), day));
            self.index
                .jurisdictions
                .push(keys.jurisdiction_of_formation.get(index), comparable)?;
            self.index.cities.push(
                keys.principal_city
                    .get(index)
                    .or_else(|| keys.mailing_city.get(index)),
                comparable,
            )?;
            self.index.zips.push(
                keys.principal_zip
                    .get(index)
                    .or_else(|| keys.mailing_zip.get(index)),
                str::to_owned,
            )?;
        }
        Ok(())
    }
}

/// A part's column of published cells. Few answers show these cells, so the column is read on
/// demand and not cached.
struct SourceFields(Texts);

impl CachedPart for SourceFields {
    const DATASET_ID: &'static str = Entity::ID;

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        Table::read(bytes, &["source_fields"], path)?
            .texts("source_fields")
            .map(Self)
    }

    fn size_bytes(&self) -> usize {
        0
    }
}

/// Reports whether an entity is active or in good standing.
fn is_active(status: &str) -> bool {
    matches!(status, "active" | "good_standing")
}

/// Normalises a registry's number for comparison, ignoring blanks, case and leading zeros.
fn comparable_number(number: &str) -> String {
    license_number::normalized(number, &[])
}

impl Businesses {
    /// Reads the key columns of every part, or returns `None` if the release lacks the dataset.
    pub async fn load(reader: PartReader<'_>) -> Result<Option<Self>> {
        let manifest = reader.manifest();
        let Some(rows) = Numbered::<Entity>::from_manifest(manifest)? else {
            return Ok(None);
        };
        let dates: Vec<Option<i32>> = rows
            .parts()
            .iter()
            .map(|part| source_date(manifest, part).map(days::since_epoch))
            .collect();
        let index = reader
            .index(
                Entity::ID,
                &format!("{dates:?}"),
                BusinessIndex::make(reader, &rows, &dates),
            )
            .await?;
        Ok(Some(Self {
            rows,
            officers: ChildParts::from_manifest(manifest),
            index,
        }))
    }

    /// Returns the row with an id, ignoring case.
    pub fn find(&self, entity_id: &str) -> Option<u32> {
        self.index
            .by_id
            .find(&[&entity_id.to_ascii_uppercase()])
            .first()
            .copied()
    }

    /// Returns the rows with a registry's number.
    pub fn with_number(&self, state: &str, number: &str) -> &[u32] {
        self.index
            .by_number
            .find(&[state, &comparable_number(number)])
    }

    /// Returns the published cells of a business as a JSON object.
    pub async fn source_fields(
        call: &Call<'_>,
        business: &Record<'_, Entity>,
    ) -> ApiResult<Box<RawValue>> {
        let fields = call
            .service
            .parts
            .read::<SourceFields>(&call.release.manifest.release_id, business.part())
            .await;
        let fields = fields.map_err(|error| Problem::internal(&error))?;
        RawValue::from_string(fields.0.at(business.place()).to_owned())
            .map_err(|error| Problem::internal(&error))
    }
}

impl BusinessIndex {
    async fn make(
        reader: PartReader<'_>,
        rows: &Numbered<Entity>,
        dates: &[Option<i32>],
    ) -> Result<Self> {
        let place_of = |(number, as_of): (usize, &Option<i32>)| {
            (
                rows.partition_of(number, "state").to_owned(),
                *as_of,
                rows.rows_of_part(number).start,
            )
        };
        let places: Vec<(String, Option<i32>, u32)> =
            dates.iter().enumerate().map(place_of).collect();
        let add = move |made: &mut Builder, part: usize, first: u32, table: &Table| {
            let (state, as_of, start) = &places[part];
            made.add(state, *as_of, start + first, table)
        };
        let made = read_parts(reader, rows.parts(), Keys::COLUMNS, Builder::default(), add).await?;
        indexed(move || {
            Ok(Self {
                names: made.names.finish_by(&made.index.precedence)?,
                agents: made.agents.finish()?,
                by_id: made.by_id.finish(),
                by_number: made.by_number.finish(),
                registries: Small(made.registries.into_iter().collect()),
                ..made.index
            })
        })
        .await
    }

    /// Returns the size of the index's owned memory in bytes.
    pub fn size_bytes(&self) -> usize {
        let columns = self.precedence.size_bytes()
            + self.jurisdictions.size_bytes()
            + self.cities.size_bytes()
            + self.zips.size_bytes();
        self.names.size_bytes()
            + self.agents.size_bytes()
            + self.by_id.size_bytes()
            + self.by_number.size_bytes()
            + columns
    }
}
