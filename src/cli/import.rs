//! `pubdata import`: imports a manually downloaded file, or withdraws an imported file, and
//! describes the effect on the next run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Global, output, user};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::ReleaseId;
use pubdata_core::provenance::Snapshot;
use pubdata_run::{self as run, Import, RunSettings, Withdrawal};
use pubdata_store::Manifest;

const AFTER_HELP: &str = "\
Examples:
  pubdata import license.fl_dbpr ~/Downloads/CONSTRUCTIONLICENSE_1.csv
  pubdata import license.az_roc ~/Downloads/roc.csv --url ADDRESS_OF_THE_LINK --date 2026-11-20
  pubdata import census.acs5_table b01003.dat --key vintage=2023 --key table=b01003
  pubdata import license.fl_dbpr --withdraw         after importing the wrong file

The file must pass the checks of a download and becomes the snapshot of its URL. The next run reads it, \
and provenance reports it as obtained by hand. A run never asks the publisher for a source that is \
declared `by_hand`; for any other source the file is used until the publisher offers one that is not \
older. Import the same file with another --date to correct the date.

From the next run on, a withdrawn file is not used, and the file before it is used again. Its bytes \
are retained for releases that were built from them. The ledger records who did what, and when.

Exit codes:
  0   imported or withdrawn
  30  the file does not match its declaration: a web page, truncated, below `min_bytes`
  40  no such source, or ambiguous which of its files; the file cannot be read; nothing to withdraw
  50  a run is under way
  60  own files cannot be read or written";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ImportArgs {
    /// Source of the file: the declaration's `source_id`.
    source_id: String,
    /// The downloaded file, unchanged.
    #[arg(required_unless_present = "withdraw", conflicts_with = "withdraw")]
    file: Option<PathBuf>,
    /// URL from which the file was downloaded, if the source has several.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The publisher's date of the file; default: today.
    #[arg(long, value_name = "YYYY-MM-DD", conflicts_with = "withdraw")]
    date: Option<String>,
    /// Value of a variable in the source's URL that selects the file; can be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    key: Vec<String>,
    /// Withdraws the file that was imported for the source.
    #[arg(long)]
    withdraw: bool,
    /// Channel named in the ledger's entry.
    #[arg(long, default_value = "nightly")]
    channel: String,
}

/// A manually imported file: `pubdata import SOURCE_ID FILE`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ImportReport<'a> {
    /// Outcome of the import. `redated`: the same bytes were known under another date; `unchanged`:
    /// they were known under this date.
    #[schemars(extend("enum" = ["new", "redated", "unchanged"]))]
    outcome: &'static str,
    /// The file, as the next run will read it.
    snapshot: &'a Snapshot,
}

/// An imported file that was withdrawn: `pubdata import SOURCE_ID --withdraw`.
#[derive(Serialize, JsonSchema)]
pub(super) struct WithdrawalReport<'a> {
    /// The file that is no longer used.
    snapshot: &'a Snapshot,
    /// The file that is used instead; null if the source has no other file.
    instead: Option<&'a Snapshot>,
    /// True if the channel's release was built from the withdrawn file.
    is_published: bool,
}

pub(super) async fn import(global: &Global, arguments: &ImportArgs) -> Result<ExitCode> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Error::config(format!("--key {text}: write NAME=VALUE")))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    let keys = arguments
        .key
        .iter()
        .map(pair)
        .collect::<Result<BTreeMap<_, _>>>()?;
    let date = arguments
        .date
        .as_deref()
        .map(|text| super::day("--date", text))
        .transpose()?;
    let declarations = global.declarations()?;
    // Checks the name before the home is created, so that a mistyped name leaves nothing behind.
    declarations
        .source(&arguments.source_id)
        .ok_or_else(|| run::unknown_source(&declarations, &arguments.source_id))?;
    let Some(file) = &arguments.file else {
        return withdraw(global, arguments, keys).await;
    };
    let settings = global.settings(declarations, &arguments.channel)?;
    let import = Import {
        source_id: arguments.source_id.clone(),
        file: file.clone(),
        url: arguments.url.clone(),
        date,
        keys,
        by: user::name(),
    };
    let imported = run::import(&settings, &import).await?;
    if global.json {
        output::sorted_document(&ImportReport {
            outcome: imported.outcome,
            snapshot: &imported.snapshot,
        });
        return Ok(ExitCode::SUCCESS);
    }
    let snapshot = &imported.snapshot;
    output::print_line!(
        "{} {} of {}, {}",
        output::coloured(imported.outcome),
        snapshot.url,
        snapshot.source_date,
        output::size(snapshot.size_bytes)
    );
    match imported.outcome {
        "unchanged" => output::print_line!("these bytes were there already under this date"),
        _ => output::print_line!("the next run reads it: `pubdata run`"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn withdraw(
    global: &Global,
    arguments: &ImportArgs,
    keys: BTreeMap<String, String>,
) -> Result<ExitCode> {
    let settings = global.reading(&arguments.channel)?;
    let withdrawal = Withdrawal {
        source_id: arguments.source_id.clone(),
        url: arguments.url.clone(),
        keys,
        by: user::name(),
    };
    let withdrawn = run::withdraw(&settings, &withdrawal)?;
    let is_input = |known: &Snapshot| {
        known.source_id == withdrawn.snapshot.source_id && known.sha256 == withdrawn.snapshot.sha256
    };
    let release = run::current_manifest(&settings).await.ok();
    let is_published = release.is_some_and(|release| {
        release
            .tasks
            .values()
            .flat_map(|task| &task.inputs)
            .any(is_input)
    });
    if global.json {
        output::sorted_document(&WithdrawalReport {
            snapshot: &withdrawn.snapshot,
            instead: withdrawn.instead.as_ref(),
            is_published,
        });
        return Ok(ExitCode::SUCCESS);
    }
    let snapshot = &withdrawn.snapshot;
    output::print_line!(
        "withdrawn {} of {}, {}",
        snapshot.url,
        snapshot.source_date,
        output::size(snapshot.size_bytes)
    );
    match withdrawn.instead {
        Some(instead) => output::print_line!(
            "the file of {}, {}, is used instead",
            instead.source_date,
            output::size(instead.size_bytes)
        ),
        None => output::print_line!(
            "no file is used instead until the publisher provides one or you import another"
        ),
    }
    if is_published {
        let hint = match newest_without(&settings, &withdrawn.snapshot).await? {
            Some(release_id) => format!(
                "`pubdata releases rollback --to {release_id}` goes back to the newest without it"
            ),
            None => "every release that is still here was".to_owned(),
        };
        output::print_line!(
            "the release on channel {} was made from it: {hint}",
            arguments.channel
        );
    }
    output::print_line!("the next run does not use it: `pubdata run`");
    Ok(ExitCode::SUCCESS)
}

/// Returns the most recently published release that was not built from a file.
async fn newest_without(settings: &RunSettings, file: &Snapshot) -> Result<Option<ReleaseId>> {
    let mut newest: Option<Manifest> = None;
    for release_id in settings.releases.list().await? {
        let Ok(manifest) = settings.releases.manifest(&release_id).await else {
            continue;
        };
        let has_file = manifest
            .tasks
            .values()
            .flat_map(|task| &task.inputs)
            .any(|known| known.source_id == file.source_id && known.sha256 == file.sha256);
        if !has_file
            && newest
                .as_ref()
                .is_none_or(|newest| newest.published_at < manifest.published_at)
        {
            newest = Some(manifest);
        }
    }
    Ok(newest.map(|manifest| manifest.release_id))
}
