//! Checks which records a key may see. A key may see the records of the families whose scope it
//! has.

use super::endpoint::Call;
use super::problem::{Code, Problem, Result};
use crate::release::quarantined::QUARANTINE;
use pubdata_core::ids::RecordId;
use pubdata_store::{Part, Scope};

/// Returns the scope that a dataset's records need.
pub fn scope_of(dataset_id: &str) -> Scope {
    match dataset_id.split('.').next() {
        Some("geo") => Scope::Geo,
        Some("sec") => Scope::Sec,
        _ => Scope::General,
    }
}

/// Rejects a key that may not see a record. For a quarantined record, the scope of the intended
/// dataset decides.
///
/// # Errors
/// `insufficient_permission`.
pub fn check_record(call: &Call<'_>, id: &RecordId) -> Result<()> {
    check(
        call,
        if id.dataset_id() == QUARANTINE {
            id.subject()
        } else {
            id.dataset_id()
        },
    )
}

/// Returns the parts of a dataset that a key may see. For the quarantine, these are the parts of
/// the key's families; for any other dataset, all parts.
///
/// # Errors
/// `insufficient_permission` if the key may see no part.
pub fn visible_parts<'a>(
    call: &Call<'_>,
    dataset_id: &str,
    parts: &'a [Part],
) -> Result<Vec<&'a Part>> {
    if dataset_id != QUARANTINE {
        check(call, dataset_id)?;
        return Ok(parts.iter().collect());
    }
    let is_visible = |part: &&Part| {
        part.quarantined_from()
            .is_some_and(|from| call.scopes().contains(&scope_of(from)))
    };
    let visible: Vec<&Part> = parts.iter().filter(is_visible).collect();
    if visible.is_empty() {
        return Err(Problem::new(
            Code::InsufficientPermission,
            "a quarantined record needs a key with the scope of its family",
        ));
    }
    Ok(visible)
}

fn check(call: &Call<'_>, dataset_id: &str) -> Result<()> {
    let scope = scope_of(dataset_id);
    if call.scopes().contains(&scope) {
        return Ok(());
    }
    Err(Problem::new(
        Code::InsufficientPermission,
        format!("records of `{dataset_id}` need a key with the scope `{scope}`"),
    ))
}
