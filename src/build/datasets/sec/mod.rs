//! EDGAR: what the SEC's bulk archives mean.

mod company_facts;
mod fact;
pub(super) mod feeds;
mod filing;
pub(super) mod financials;
mod json;
mod shards;
pub(super) mod submissions;
pub(super) mod taxonomy;

/// What `fuzz/` reaches that is no part of the library.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use super::company_facts::{self, WantedConcepts};
    use super::fact::CompanyFacts;
    pub use super::feeds::readable_entries;
    pub use super::submissions::filings_of_member;
    use pubdata_core::error::Result;

    /// What the fast and the strict decoder make of a member.
    ///
    /// # Errors
    /// `Config`, when a wanted concept is none.
    pub fn company_facts(
        member: &[u8],
        wanted: &[&str],
    ) -> Result<(Option<CompanyFacts>, Result<CompanyFacts>)> {
        Ok(company_facts::by_both(
            member,
            &WantedConcepts::new(wanted.iter().copied())?,
        ))
    }
}
