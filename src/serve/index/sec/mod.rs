//! The securities family: registrants and their names in memory, the large datasets by the bucket that a registrant is in.

mod buckets;
mod filing_dates;
mod filings;
mod fold;
mod heads;
mod lines;
mod members;
mod names;
mod owners;
mod profiles;
mod registrants;
mod values;

pub use buckets::{BUCKET, Bucket, Buckets};
pub use filing_dates::{FilingDates, FilingFilter};
pub use filings::FilingTable;
pub use heads::{Heads, Stamps};
pub use lines::LineTable;
pub use members::Members;
pub use names::{Found, Match};
pub use profiles::{ProfileTable, ReportColumns};
pub use registrants::{Registrants, UNKNOWN};
pub use values::ValueTable;

use crate::error::Result;
use crate::serve::parts::Parts;
use crate::store::Manifest;

/// The securities family's tables. A dataset that the release lacks is none or empty.
#[derive(Debug, Default)]
pub struct SecIndex {
    pub registrants: Option<Registrants>,
    pub members: Members,
    pub profiles: Buckets<ProfileTable>,
    pub values: Buckets<ValueTable>,
    pub lines: Buckets<LineTable>,
    pub filings: Buckets<FilingTable>,
    pub filing_dates: filing_dates::LazyDates,
}

impl SecIndex {
    /// Reads what is kept in memory, and takes note of the parts that are read when they are asked for.
    ///
    /// # Errors
    /// `Store`, when a part is missing, damaged, or not as its contract says.
    pub async fn load(parts: &Parts, manifest: &Manifest) -> Result<Self> {
        Ok(Self {
            registrants: Registrants::load(parts, manifest).await?,
            members: Members::load(parts, manifest).await?,
            profiles: Buckets::of(manifest)?,
            values: Buckets::of(manifest)?,
            lines: Buckets::of(manifest)?,
            filings: Buckets::of(manifest)?,
            filing_dates: filing_dates::LazyDates::default(),
        })
    }
}
