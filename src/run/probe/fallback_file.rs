//! Finds the file in the home that a run would use because the publisher's file is unavailable, or
//! older than an imported file.

use super::ProbeContext;
use super::address::Address;
use super::examine::examine_own;
use super::examined::Examined;
use super::report::Verdict;
use crate::fetching::manual_import::imported;
use pubdata_core::error::Result;
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_fetch::recorded_url;

/// A file in the home that a run would use instead of the publisher's file.
pub(super) struct FallbackFile {
    pub(super) snapshot: Snapshot,
    /// True if the file stays in use because no newer file is available. False if an operator
    /// imported the file.
    pub(super) is_earlier: bool,
}

/// Finds the file in the home that a run would use. Puts the file's first records on the mirror of
/// samples in place of the publisher's records.
pub(super) async fn load(
    context: &ProbeContext<'_>,
    address: &Address<'_>,
    examined: Examined,
) -> Result<(Examined, Option<FallbackFile>)> {
    let Some(fallback_file) = find(context, address, &examined)? else {
        return Ok((examined, None));
    };
    let path = context
        .given
        .home
        .as_ref()
        .zip(context.snapshots.as_ref())
        .map(|(_, snapshots)| snapshots.path(&fallback_file.snapshot));
    let Some(path) = path else {
        return Ok((examined, None));
    };
    let mut examined = examine_own(context, address, &path, examined).await?;
    let by = if fallback_file.snapshot.obtained == Obtained::Manual {
        "imported manually"
    } else {
        "of an earlier run"
    };
    examined.in_use = Some(format!(
        "in use: the file {by} ({})",
        fallback_file.snapshot.source_date
    ));
    Ok((examined, Some(fallback_file)))
}

fn find(
    context: &ProbeContext<'_>,
    address: &Address<'_>,
    examined: &Examined,
) -> Result<Option<FallbackFile>> {
    let Some(snapshots) = &context.snapshots else {
        return Ok(None);
    };
    let (source, request) = (address.source, &address.request);
    let known = || {
        Ok::<_, pubdata_core::error::Error>(
            snapshots
                .known(&request.source_id, &recorded_url(&request.url)?)
                .filter(|known| known.keys == request.keys),
        )
    };
    if source.by_hand && !context.fetcher.has_mirror() {
        return Ok(known()?.map(|snapshot| FallbackFile {
            snapshot,
            is_earlier: false,
        }));
    }
    // If the publisher also has a file, the newer of the two is used.
    let is_newer = |imported: &Snapshot| {
        examined
            .dated
            .as_ref()
            .is_none_or(|dated| *dated < imported.source_date)
    };
    if let Some(snapshot) = imported(snapshots, request)?.filter(is_newer) {
        return Ok(Some(FallbackFile {
            snapshot,
            is_earlier: false,
        }));
    }
    let is_failed = matches!(
        examined.verdict(),
        Verdict::Refused | Verdict::Moved | Verdict::Unreachable
    ) || examined.is_refused_file;
    let is_absent = matches!(examined.verdict(), Verdict::Absent | Verdict::NotRequested);
    let stays = if source.required {
        source.partial && (is_failed || is_absent)
    } else {
        is_failed
    };
    // Pages that were fetched in different runs do not fit together.
    if !stays || source.pages.is_some() {
        return Ok(None);
    }
    Ok(known()?.map(|snapshot| FallbackFile {
        snapshot,
        is_earlier: true,
    }))
}
