//! Holds the family's tables for a release: all registrants in memory, and the large datasets read
//! by registrant bucket.

use super::filing_dates::LazyFilingDates;
use super::filing_table::FilingTable;
use super::frame_index::Frames;
use super::line_table::LineTable;
use super::links::Links;
use super::members::Members;
use super::owners::Owned;
use super::profile_table::Registrant;
use super::registrants::Registrants;
use super::value_table::ValueTable;
use crate::index::file::Index;
use crate::release::bucketed::Buckets;
use crate::release::loaded::Release;
use crate::release::part_reader::PartReader;
use crate::release::rows::Rows;
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;

pub const VALUES: &str = "sec.financial_value";
pub const LINES: &str = "sec.statement_line";
pub const FILINGS: &str = "sec.filing";
pub const REGISTRANTS: &str = "sec.registrant";

/// The securities family's tables. A dataset that the release lacks is `None` or empty.
#[derive(Debug, Default)]
pub struct SecTables {
    pub registrants: Option<Index<Registrants>>,
    pub members: Members,
    pub profiles: Buckets<Rows<Registrant>>,
    pub values: Buckets<Owned<ValueTable>>,
    pub lines: Buckets<Owned<LineTable>>,
    pub filings: Buckets<Owned<FilingTable>>,
    pub filing_dates: LazyFilingDates,
    pub frames: Frames,
    pub links: Links,
}

impl SecTables {
    /// Returns the tables of a release.
    pub fn from_release(release: &Release) -> &Self {
        release
            .table()
            .expect("every release is loaded with the tables of all families")
    }

    /// Returns the registrants of a release; `None` if a mapped file has changed on disk.
    pub fn registrants_of(release: &Release) -> Option<&Registrants> {
        Self::from_release(release)
            .registrants
            .as_deref()
            .filter(|_| release.is_intact())
    }

    /// Loads the tables that stay in memory, and records the parts that are read on request.
    pub async fn load(reader: PartReader<'_>, contracts: &Contracts) -> Result<Self> {
        let manifest = reader.manifest();
        Ok(Self {
            registrants: Registrants::load(reader, contracts).await?,
            members: Members::load(reader).await?,
            profiles: Buckets::from_manifest(manifest)?,
            values: Buckets::from_manifest(manifest)?,
            lines: Buckets::from_manifest(manifest)?,
            filings: Buckets::from_manifest(manifest)?,
            filing_dates: LazyFilingDates::default(),
            frames: Frames::default(),
            links: Links::from_contracts(contracts),
        })
    }
}
