//! What the rate and boundary files of the members of the Streamlined Sales Tax Agreement have in
//! common. Layouts: Streamlined Sales Tax Governing Board, "Rate and Boundary File Layouts". A
//! record of another state than its file's is set aside.

use super::{Refusal, required};
use crate::datasets::SourceFrame;
use pubdata_core::canonical::state;
use pubdata_core::error::{Error, Result};

/// The state whose file it is, by the file's name.
pub(super) fn state_of(file: &SourceFrame) -> Result<String> {
    let usps = file
        .keys
        .get("state")
        .map(String::as_str)
        .unwrap_or_default();
    state::usps(usps).map(str::to_owned).ok_or_else(|| {
        Error::config(format!(
            "`{usps}`, which a file's name begins with, is no state"
        ))
    })
}

/// The FIPS code of a record's state, which must be its file's.
pub(super) fn own_state<'c>(
    cell: Option<&'c str>,
    usps: &str,
) -> std::result::Result<&'c str, Refusal> {
    let fips = required(cell, "state")?;
    match state::fips(usps) == Some(fips) {
        true => Ok(fips),
        false => Err((
            "foreign_state",
            format!("the state is `{fips}` in a file of {usps}"),
        )),
    }
}

/// Digits with the zeros that spreadsheets take away; other codes as they are.
pub(super) fn padded(code: &str, width: usize) -> String {
    if code.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("{code:0>width$}")
    } else {
        code.to_owned()
    }
}
