//! Sales tax in memory, by state: how the state taxes, the rates of its jurisdictions, and where each applies. A place is looked up in sorted arrays.

mod addresses;
mod boundaries;
mod ids;
mod rates;
mod rules;
mod spans;

use std::collections::BTreeMap;

pub use addresses::Fit as AddressFit;
use boundaries::Builder;
pub use boundaries::{Boundaries, Jurisdictions};
pub use rates::{Class, Rates};
pub use rules::Rules;

use crate::error::{Error, Result};
use crate::serve::parts::Parts;
use crate::store::{Manifest, Part};

/// What is known of each state.
#[derive(Debug, Default)]
pub struct TaxIndex {
    pub rules: Option<Rules>,
    states: BTreeMap<String, StateTax>,
}

/// Rates of a state, as many parts as its files make, and its boundaries.
#[derive(Debug, Default)]
pub struct StateTax {
    pub rates: Vec<Rates>,
    pub boundaries: Option<Boundaries>,
}

static NONE: StateTax = StateTax { rates: Vec::new(), boundaries: None };

impl TaxIndex {
    /// Reads the tax datasets of a release; empty when it has none.
    ///
    /// # Errors
    /// `Store`, when a part is missing, damaged, or not as its contract says.
    pub async fn load(parts: &Parts, manifest: &Manifest) -> Result<Self> {
        let mut index = Self::default();
        for part in of_dataset(manifest, "tax.state") {
            index.rules = Some(Rules::read(part, parts.bytes(&manifest.release_id, part).await?)?);
        }
        for part in of_dataset(manifest, "tax.rate") {
            let bytes = parts.bytes(&manifest.release_id, part).await?;
            index.states.entry(state_of(part)?.to_owned()).or_default().rates.push(Rates::read(part, bytes)?);
        }
        let mut builders: BTreeMap<&str, Builder> = BTreeMap::new();
        for part in of_dataset(manifest, "tax.boundary") {
            let bytes = parts.bytes(&manifest.release_id, part).await?;
            let mut builder = builders.remove(state_of(part)?).unwrap_or_default();
            let owned = part.clone();
            let reading = tokio::task::spawn_blocking(move || builder.add_part(owned, bytes).map(|()| builder));
            let builder = reading.await.map_err(|error| Error::store(format!("reading a part failed: {error}")))??;
            builders.insert(state_of(part)?, builder);
        }
        for (state, builder) in builders {
            index.states.entry(state.to_owned()).or_default().boundaries = Some(builder.finish());
        }
        Ok(index)
    }

    /// The rates and boundaries of a state; empty when there are none.
    pub fn state(&self, state: &str) -> &StateTax {
        self.states.get(state).unwrap_or(&NONE)
    }

    /// Number of boundary records, and how much memory they take.
    pub fn boundary_size(&self) -> (usize, usize) {
        let tables = || self.states.values().flat_map(|state| &state.boundaries);
        (tables().map(Boundaries::rows).sum(), tables().map(Boundaries::size_bytes).sum())
    }
}

fn state_of(part: &Part) -> Result<&str> {
    part.partition.get("state").map(String::as_str).ok_or_else(|| Error::store(format!("{}: the part names no state", part.path)))
}

fn of_dataset<'a>(manifest: &'a Manifest, dataset_id: &str) -> impl Iterator<Item = &'a Part> {
    manifest.datasets.get(dataset_id).into_iter().flat_map(|dataset| &dataset.parts).filter(|part| part.rows > 0)
}
