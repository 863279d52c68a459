//! Turns one member of companyfacts.zip into the facts of the wanted concepts, with the place of each in the member.
//!
//! Two decoders read the same format. The strict one takes any JSON layout. The fast one takes only the SEC's own compact layout, checks every
//! byte that it passes, and gives up on any surprise: what it accepts, the strict one reads to the same facts.

mod scan;
mod strict;
mod wanted;

pub use wanted::WantedConcepts;

use super::fact::CompanyFacts;
use crate::error::{Error, Result};

/// Which decoder read a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoder {
    Fast,
    Strict,
}

impl Decoder {
    /// As published.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Strict => "strict",
        }
    }
}

/// Reads one member: `{cik, entityName, facts: {taxonomy: {concept: {label, description, units: {unit: [fact]}}}}}`.
///
/// A wanted fact that is not as the format says is listed as malformed; facts of other concepts are counted, and only checked to be JSON.
///
/// # Errors
/// When the member is not JSON, has another structure, says something twice, or is larger than 4 GiB.
///
/// # Source
/// SEC, "EDGAR Application Programming Interfaces", data.sec.gov/api/xbrl/companyfacts, and what its files hold (2024-11 to 2026-07).
pub fn parse(member: &[u8], wanted: &WantedConcepts) -> Result<(CompanyFacts, Decoder)> {
    if u32::try_from(member.len()).is_err() {
        return Err(Error::format(format!("{} bytes are too many for one member", member.len())));
    }
    match scan::read(member, wanted) {
        Some(facts) => Ok((facts, Decoder::Fast)),
        None => Ok((strict::read(member, wanted)?, Decoder::Strict)),
    }
}
