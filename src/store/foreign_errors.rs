//! Converts errors from the Parquet and object store crates into the program's own errors, with a
//! hint if one is known.

use parquet::errors::ParquetError;
use pubdata_core::error::{Error, io_hint};

/// Converts the error for a Parquet file that cannot be read or written.
pub fn parquet_error(error: ParquetError) -> Error {
    Error::store(error.to_string())
        .hint("`pubdata verify` lists what is damaged, `pubdata run --force` builds it again")
}

const NO_CREDENTIALS: &str = "no credentials were found, and this machine is not in that cloud: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AZURE_STORAGE_ACCOUNT_KEY or GOOGLE_APPLICATION_CREDENTIALS";

const INVALID_NAME_HINT: &str =
    "the store has a file with an invalid name, for example with a line break: move it away";

/// Converts the error for a failed or refused object store request.
pub(super) fn object_store_error(error: object_store::Error) -> Error {
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
        error.source()
    });
    let message = error.to_string();
    // Without credentials, the client queries the metadata service, which exists only on cloud VMs.
    let without_credentials = message
        .contains("169.254.169.254")
        .then_some(NO_CREDENTIALS);
    let has_a_name_of_others =
        matches!(error, object_store::Error::InvalidPath { .. }).then_some(INVALID_NAME_HINT);
    let hint = causes
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .find_map(io_hint);
    let found = Error::store(message);
    match without_credentials.or(has_a_name_of_others).or(hint) {
        Some(hint) => found.hint(hint),
        None => found,
    }
}
