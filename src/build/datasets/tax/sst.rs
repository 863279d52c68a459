//! Contains shared code for the rate and boundary files of members of the Streamlined Sales Tax
//! Agreement. Layouts: Streamlined Sales Tax Governing Board, "Rate and Boundary File Layouts". A
//! record whose state differs from its file's state is quarantined.

use super::{Refusal, required};
use crate::datasets::SourceFrame;
use pubdata_core::canonical::state;
use pubdata_core::error::{Error, Result};

/// Returns the state that a file covers, according to its name.
pub(super) fn state_of(file: &SourceFrame) -> Result<String> {
    let usps = file
        .keys
        .get("state")
        .map(String::as_str)
        .unwrap_or_default();
    state::usps(usps).map(str::to_owned).ok_or_else(|| {
        Error::config(format!(
            "a file name begins with `{usps}`, which is not a state"
        ))
    })
}

/// Returns the FIPS code of a record's state, which must equal its file's state.
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

/// Restores leading zeros that spreadsheets remove from numeric codes. Leaves other codes
/// unchanged.
pub(super) fn padded(code: &str, width: usize) -> String {
    if code.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("{code:0>width$}")
    } else {
        code.to_owned()
    }
}
