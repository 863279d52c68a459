//! `pubdata accept`: records what an operator has reviewed and accepted, withdraws acceptances, or
//! lists them. If an acceptance is refused, nothing changes.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Global, output, user};
use pubdata_core::error::{Error, Result};
use pubdata_run::{self as run, Word};
use pubdata_store::{self as store, Acceptance, Accepted, Home};

const AFTER_HELP: &str = "\
What can be accepted:
  pubdata accept business.fl_cordata:host_key=SHA256:…
      the fingerprint belongs to the source's SFTP server; it applies to all sources there
  pubdata accept license.tx_tdlr
      the files of this source have the layout that the documentation describes
  pubdata accept permit.nashville:shrink
      the data that this rule blocked are correct: for this rule only, for one run or --until a day.
      Rules are shrink (rows or bytes lost), floor (fewer rows than declared), quarantined and warned
      (a larger share than declared), drift (figures jumped), and the names of findings that block;
      `pubdata status` shows the command to type

Approvals are written to HOME/accepted.jsonl with your name and the time, apply from the next run on, and \
are shown by --list. If the same thing was accepted twice, the newer entry applies. \
`pubdata run --accept TASK:RULE` accepts for that run only.

Exit codes:
  0   recorded, withdrawn or listed
  40  no such task, pipeline, source or dataset; nothing of that kind to accept for it; a layout of which
      no file was ever read; nothing to withdraw
  60  own files cannot be read or written";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct AcceptArgs {
    /// Rule or layout to approve: TASK:RULE, PIPELINE of a documented layout, or SOURCE:host_key=SHA256:….
    #[arg(value_name = "WHAT")]
    what: Vec<String>,
    /// Last day on which the approval applies. By default, approval of a rule applies to one run,
    /// and any other approval applies until it is withdrawn.
    #[arg(long, value_name = "YYYY-MM-DD", conflicts_with = "withdraw")]
    until: Option<String>,
    /// Withdraws an earlier approval.
    #[arg(long)]
    withdraw: bool,
    /// Shows what would be accepted and the effect, without writing anything.
    #[arg(long)]
    dry_run: bool,
    /// Lists the approvals that apply today.
    #[arg(long, conflicts_with_all = ["until", "withdraw"])]
    list: bool,
}

pub(super) fn accept(global: &Global, arguments: &AcceptArgs) -> Result<ExitCode> {
    let now = Timestamp::now();
    if arguments.what.is_empty() && !arguments.list {
        return Err(Error::config("nothing was named to be accepted").hint(
            "`pubdata accept --help` shows what can be accepted, `--list` what was accepted",
        ));
    }
    if arguments.list {
        // Acceptances are kept in the home, even if the releases are elsewhere.
        if !Home::is_home(&global.home) {
            return Err(global.no_home());
        }
        let home = global.home()?;
        let runs = store::read_ledger(&home)
            .inspect_err(|error| {
                tracing::warn!("cannot determine which acceptances are used up: {error}");
            })
            .unwrap_or_default();
        show(
            global,
            arguments,
            &run::counting(&home, &runs, now)?,
            &BTreeMap::new(),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let until = arguments
        .until
        .as_deref()
        .map(|text| super::day("--until", text))
        .transpose()?;
    let by = user::name();
    let declarations = global.declarations()?;
    // Checks the acceptances before the home is created, so that a refused acceptance leaves
    // nothing behind.
    let known = if global.home.is_dir() {
        Some(global.home()?)
    } else {
        None
    };
    let mut runs = known
        .as_ref()
        .map(store::read_ledger)
        .transpose()?
        .unwrap_or_default();
    runs.reverse();
    let word = |what: &String| {
        let is_known_rule = run::blocked_by(what, &runs).is_some();
        run::acceptance(
            &declarations,
            &Word {
                what,
                until,
                by: &by,
                is_known_rule,
                is_withdrawn: arguments.withdraw,
            },
            now,
        )
    };
    let said = arguments
        .what
        .iter()
        .map(word)
        .collect::<Result<Vec<_>>>()?;
    said.iter().try_for_each(|acceptance| {
        run::check_acceptance(known.as_ref(), &declarations, acceptance)
    })?;
    if !arguments.dry_run {
        let home = global.home()?;
        said.iter()
            .try_for_each(|acceptance| store::append_acceptance(&home, acceptance))?;
    }
    let words = arguments.what.iter().filter(|_| !arguments.withdraw);
    let lets_through: BTreeMap<&String, &str> = words
        .filter_map(|what| Some((what, run::blocked_by(what, &runs)?.reason.as_deref()?)))
        .collect();
    show(global, arguments, &said, &lets_through);
    Ok(ExitCode::SUCCESS)
}

/// The operator's acceptances: `pubdata accept`, also with `--dry-run` and `--list`.
#[derive(Serialize, JsonSchema)]
pub(super) struct AcceptReport<'a> {
    /// True with `--dry-run`: nothing was recorded.
    is_dry_run: bool,
    /// Acceptances that were made or withdrawn. With `--list`, all acceptances that are in force
    /// today.
    acceptances: &'a [Acceptance],
    /// Effect of each acceptance, by the given `TASK:RULE`: the reasons for blocking in the last
    /// run that the acceptance overrides. Empty if that run blocked nothing of this kind.
    lets_through: &'a BTreeMap<&'a String, &'a str>,
}

/// Prints acceptances. `lets_through` contains the reasons for blocking in the last run, by the
/// acceptance that overrides them.
fn show(
    global: &Global,
    arguments: &AcceptArgs,
    acceptances: &[Acceptance],
    lets_through: &BTreeMap<&String, &str>,
) {
    if global.json {
        output::sorted_document(&AcceptReport {
            is_dry_run: arguments.dry_run,
            acceptances,
            lets_through,
        });
        return;
    }
    let mut rows = vec![
        ["ID", "ACCEPTED", "BY", "AT", "UNTIL"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for acceptance in acceptances {
        let what = match &acceptance.what {
            Accepted::HostKey { fingerprint } if !fingerprint.is_empty() => {
                format!("host_key {fingerprint}")
            }
            what => what.name().to_owned(),
        };
        let until = match &acceptance.until {
            _ if acceptance.is_withdrawn => "withdrawn".to_owned(),
            Some(until) => until.clone(),
            None if matches!(acceptance.what, Accepted::Rule { .. }) => {
                "the end of the next run".to_owned()
            }
            None => "it is withdrawn".to_owned(),
        };
        rows.push(vec![
            acceptance.id.clone(),
            what,
            acceptance.by.clone(),
            output::to_seconds(&acceptance.at),
            until,
        ]);
    }
    output::table(&rows);
    for (what, reason) in lets_through {
        output::print_paragraph!("{what} overrides what blocked the last run:");
        output::print_line!("  {reason}");
    }
    if arguments.dry_run && !arguments.list {
        output::print_paragraph!("nothing was written: --dry-run");
    }
}
