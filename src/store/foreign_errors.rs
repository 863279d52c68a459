//! Turns errors of the crates for Parquet files and object stores into the program's own, with a
//! hint where one is known.

use parquet::errors::ParquetError;
use pubdata_core::error::{Error, io_hint};

/// Returns an error of kind `Store` for a Parquet file that cannot be read or written.
pub fn parquet_error(error: ParquetError) -> Error {
    Error::store(error.to_string())
        .hint("`pubdata verify` lists what is damaged, `pubdata run --force` builds it again")
}

const NO_CREDENTIALS: &str = "no credentials were found, and this is no machine of that cloud: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AZURE_STORAGE_ACCOUNT_KEY or GOOGLE_APPLICATION_CREDENTIALS";

const NAME_OF_OTHERS: &str = "something there has a name that no file of pubdata has, such as one with a line break: move it away";

/// Returns an error of kind `Store` for a store that fails or refuses.
pub(super) fn object_store_error(error: object_store::Error) -> Error {
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
        error.source()
    });
    let message = error.to_string();
    // Without credentials the client asks the metadata service of a cloud's virtual machine, which
    // other machines do not have.
    let without_credentials = message
        .contains("169.254.169.254")
        .then_some(NO_CREDENTIALS);
    let has_a_name_of_others =
        matches!(error, object_store::Error::InvalidPath { .. }).then_some(NAME_OF_OTHERS);
    let hint = causes
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .find_map(io_hint);
    let found = Error::store(message);
    match without_credentials.or(has_a_name_of_others).or(hint) {
        Some(hint) => found.hint(hint),
        None => found,
    }
}
