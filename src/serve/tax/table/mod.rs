//! Holds sales tax data in memory by state: how and what the state taxes, the rates of its
//! jurisdictions, and where each rate applies. Place lookups use sorted arrays.

pub mod addresses;
pub mod boundaries;
pub mod ids;
pub mod interval_index;
pub mod rates;
pub mod rules;
pub mod taxability;

use crate::release::loaded::Release;
use std::collections::BTreeMap;

use crate::tax::table::boundaries::Builder;
use boundaries::Boundaries;
use rates::Rates;
pub use rules::Rules;
use taxability::Taxability;

use crate::release::part_reader::PartReader;
use pubdata_core::error::{Error, Result};
use pubdata_store::Part;

pub const STATES: &str = "tax.state";
pub const RATES: &str = "tax.rate";
pub const TAXABILITY: &str = "tax.taxability";
pub const BOUNDARIES: &str = "tax.boundary";

/// Sales tax data of all states.
#[derive(Debug, Default)]
pub struct TaxTables {
    pub rules: Option<Rules>,
    pub taxability: Option<Taxability>,
    states: BTreeMap<String, StateTax>,
}

/// Rates of a state, with one table for each part, and the state's boundaries.
#[derive(Debug, Default)]
pub struct StateTax {
    pub rates: Vec<Rates>,
    pub boundaries: Option<Boundaries>,
}

static NONE: StateTax = StateTax {
    rates: Vec::new(),
    boundaries: None,
};

impl TaxTables {
    /// Returns the tables of a release.
    pub fn from_release(release: &Release) -> &Self {
        release
            .table()
            .expect("every release is loaded with the tables of all families")
    }

    /// Reads the tax datasets of a release. The result is empty if the release has no such
    /// datasets.
    pub async fn load(reader: PartReader<'_>) -> Result<Self> {
        let mut index = Self::default();
        for part in with_rows(reader, STATES) {
            index.rules = Some(Rules::read(part, reader.bytes(part).await?)?);
        }
        for part in with_rows(reader, TAXABILITY) {
            index.taxability = Some(Taxability::read(part, reader.bytes(part).await?)?);
        }
        for part in with_rows(reader, RATES) {
            let bytes = reader.bytes(part).await?;
            index
                .states
                .entry(state_of(part)?.to_owned())
                .or_default()
                .rates
                .push(Rates::read(part, bytes)?);
        }
        let mut builders: BTreeMap<&str, Builder> = BTreeMap::new();
        for part in with_rows(reader, BOUNDARIES) {
            let bytes = reader.bytes(part).await?;
            let mut builder = builders.remove(state_of(part)?).unwrap_or_default();
            let owned = part.clone();
            let reading = tokio::task::spawn_blocking(move || {
                builder.add_part(owned, bytes).map(|()| builder)
            });
            let builder = reading
                .await
                .map_err(|error| Error::store(format!("reading a part failed: {error}")))??;
            builders.insert(state_of(part)?, builder);
        }
        for (state, builder) in builders {
            index.states.entry(state.to_owned()).or_default().boundaries = Some(builder.finish());
        }
        Ok(index)
    }

    /// Returns the rates and boundaries of a state, which are empty if the state has no data.
    pub fn state(&self, state: &str) -> &StateTax {
        self.states.get(state).unwrap_or(&NONE)
    }

    /// Returns the number of boundary records and their memory use.
    pub fn boundary_size(&self) -> (usize, usize) {
        let tables = || self.states.values().flat_map(|state| &state.boundaries);
        (
            tables().map(Boundaries::rows).sum(),
            tables().map(Boundaries::size_bytes).sum(),
        )
    }
}

fn state_of(part: &Part) -> Result<&str> {
    part.partition
        .get("state")
        .map(String::as_str)
        .ok_or_else(|| Error::store(format!("{}: the part has no state", part.path)))
}

fn with_rows<'a>(
    reader: PartReader<'a>,
    dataset_id: &str,
) -> impl Iterator<Item = &'a Part> + use<'a> {
    reader.parts_of(dataset_id).filter(|part| part.rows > 0)
}
