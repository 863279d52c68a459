//! The general reference families. Of businesses, licenses and permits names, numbers, keys and coordinates are in memory, in sorted arrays that lead to
//! rows; the rows are read from their parts when an answer shows them. ZIP codes and sales tax are in memory whole.

mod business;
mod codes;
mod datasets;
mod keys;
mod license;
mod load;
mod names;
mod owned;
mod permit;
mod rows;
mod search;
mod set_aside;
mod spelling;
mod stamped;
mod tax;
mod zips;

pub use business::Businesses;
pub use datasets::{Action, Contact, Entity, License, Officer, Permit};
pub use license::{LicenseList, Licenses, is_persons_name, persons_name};
pub use load::NO_DAY;
pub use owned::{Kind as NameKind, RowHit};
pub use permit::{DATES, NO_VALUE, PermitList, Permits};
pub use rows::Record;
pub use search::{Mode, Query as NameQuery, folded, person_words};
pub use tax::{AddressFit, Boundaries, Class as TaxClass, Jurisdictions, Rates, Rules, StateTax, TaxIndex};
pub use zips::Zips;

use crate::canonical::name::words;
use crate::error::{Error, Result};
use crate::ids::ReleaseId;
use crate::serve::parts::Parts;
use crate::store::Manifest;

/// The general families' tables; none for a dataset that the release lacks.
#[derive(Debug, Default)]
pub struct GeneralIndex {
    pub businesses: Option<Businesses>,
    pub licenses: Option<Licenses>,
    pub permits: Option<Permits>,
    pub zips: Option<Zips>,
    pub tax: TaxIndex,
}

impl GeneralIndex {
    /// Reads what is kept in memory.
    ///
    /// # Errors
    /// `Store`, when a part is missing, damaged, or not as its contract says.
    pub async fn load(parts: &Parts, manifest: &Manifest) -> Result<Self> {
        let loaded = Self {
            businesses: Box::pin(Businesses::load(parts, manifest)).await?,
            licenses: Box::pin(Licenses::load(parts, manifest)).await?,
            permits: Box::pin(Permits::load(parts, manifest)).await?,
            zips: Box::pin(Zips::load(parts, manifest)).await?,
            tax: Box::pin(TaxIndex::load(parts, manifest)).await?,
        };
        loaded.prepare(parts, &manifest.release_id).await?;
        let sizes = (
            loaded.businesses.as_ref().map_or(0, Businesses::size_bytes),
            loaded.licenses.as_ref().map_or(0, Licenses::size_bytes),
            loaded.permits.as_ref().map_or(0, Permits::size_bytes),
        );
        let (boundaries, boundary_bytes) = loaded.tax.boundary_size();
        tracing::debug!(boundaries, boundary_bytes, "indexed sales tax");
        tracing::debug!(business_bytes = sizes.0, license_bytes = sizes.1, permit_bytes = sizes.2, "indexed businesses, licenses and permits");
        Ok(loaded)
    }

    /// Opens large parts before anyone asks.
    async fn prepare(&self, parts: &Parts, release_id: &ReleaseId) -> Result<()> {
        if let Some(businesses) = &self.businesses {
            businesses.rows.prepare(parts, release_id).await?;
            businesses.officers.prepare(parts, release_id).await?;
        }
        if let Some(licenses) = &self.licenses {
            licenses.rows.prepare(parts, release_id).await?;
            licenses.actions.prepare(parts, release_id).await?;
        }
        if let Some(permits) = &self.permits {
            permits.rows.prepare(parts, release_id).await?;
            permits.contacts.prepare(parts, release_id).await?;
        }
        Ok(())
    }
}

/// Does what takes the processor for long without stopping those who are answered.
async fn sorted<T: Send + 'static>(make: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(make).await.map_err(|error| Error::store(format!("indexing failed: {error}")))?
}

/// A city or other place as it is compared.
pub fn spaced(text: &str) -> String {
    words(text).join(" ")
}
