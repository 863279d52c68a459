//! Groups the builders for EDGAR, which read the SEC's bulk archives.

mod company_facts;
mod fact;
pub(super) mod feeds;
mod filing;
pub(super) mod financials;
mod json;
mod shards;
pub(super) mod submissions;
pub(super) mod taxonomy;

/// Entry points for `fuzz/`, which are not part of the library.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use super::company_facts::{self, ConceptFilter};
    use super::fact::CompanyFacts;
    pub use super::feeds::readable_entries;
    pub use super::submissions::filings_of_member;
    use pubdata_core::error::Result;

    /// Decodes a member with both the fast and the strict decoder.
    ///
    /// # Errors
    /// `Config` if a wanted concept is invalid.
    pub fn company_facts(
        member: &[u8],
        concepts: &[&str],
    ) -> Result<(Option<CompanyFacts>, Result<CompanyFacts>)> {
        Ok(company_facts::by_both(
            member,
            &ConceptFilter::new(concepts.iter().copied())?,
        ))
    }
}
