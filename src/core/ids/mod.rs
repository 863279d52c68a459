//! Parses identifier text into types that can hold only valid identifiers. Each identifier has a
//! newtype and is parsed at the edge. Leading zeros are part of a code and are kept. This module
//! does not know what an identifier refers to.

mod accession_number;
mod bucket;
mod cik;
mod county_fips;
mod digest;
mod licence;
mod record_id;
mod release_id;
mod two_digests;
mod zcta;

pub use accession_number::AccessionNumber;
pub use bucket::{bucket_name, cik_bucket, hash_bucket};
pub use cik::Cik;
pub use county_fips::CountyFips;
pub use digest::{Digest, Hasher};
pub use licence::licence_address;
pub use record_id::RecordId;
pub use release_id::ReleaseId;
pub use zcta::Zcta;

/// Error for text that is not a valid identifier. The message describes the expected format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct ParseIdError {
    /// The given text, truncated to 64 characters.
    pub text: String,
    /// The expected format, as a phrase: "a ZCTA code: exactly five digits".
    pub expected: &'static str,
}

impl ParseIdError {
    fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.chars().take(64).collect(),
            expected,
        }
    }
}

fn is_digits(text: &str, width: usize) -> bool {
    text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit())
}
