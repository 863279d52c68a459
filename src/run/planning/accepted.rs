//! Checks the acceptances of `pubdata accept` before they are written, and provides the acceptances
//! in force to runs and fetches.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::selection::check_selectors;
use pubdata_build::validate::{DRIFT, FLOOR, MEANING, QUARANTINED, SHRINK, WARNED};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Declaration, Declarations, LayoutEvidence, Source, is_fingerprint};
use pubdata_store::{
    self as store, ACCEPTANCE_FORMAT_VERSION, Acceptance, Accepted, Home, LedgerEntry, LedgerTask,
    Snapshots, accepted,
};

/// Rules about totals that an operator may override.
const RULES: [&str; 6] = [SHRINK, FLOOR, QUARANTINED, WARNED, DRIFT, MEANING];

/// An acceptance as specified on the command line.
pub struct Word<'a> {
    /// `ID`, `ID:RULE` or `ID:host_key=SHA256:…`.
    pub what: &'a str,
    /// The last day on which the acceptance is in force.
    pub until: Option<Date>,
    pub by: &'a str,
    /// True if the rule blocked the last run of the task. This flag is needed because blocking
    /// issues have their own names.
    pub is_known_rule: bool,
    pub is_withdrawn: bool,
}

/// Creates an acceptance without writing anything.
///
/// # Errors
/// Returns `Config` if no source, pipeline or dataset has that id, or if the source, pipeline or
/// dataset has nothing of that kind to accept.
pub fn acceptance(
    declarations: &Declarations,
    word: &Word<'_>,
    now: Timestamp,
) -> Result<Acceptance> {
    let (id, what) = word.what.split_once(':').unwrap_or((word.what, "layout"));
    let source = declarations.source(id);
    let pipeline = source
        .map(|(owner, _)| owner)
        .or_else(|| declarations.pipelines.get(id))
        .or_else(|| pipeline_of_task(declarations, id, now));
    let is_dataset = declarations.contracts.contains_key(id);
    if pipeline.is_none() && !is_dataset {
        return Err(
            Error::config(format!("`{id}` is no task, pipeline, source or dataset"))
                .hint("`pubdata status` names the tasks that need attention"),
        );
    }
    let what = match what.split_once('=').unwrap_or((what, "")) {
        ("layout", "") => layout(id, pipeline)?,
        ("host_key", fingerprint) => host_key(
            id,
            source.map(|(_, source)| source),
            fingerprint,
            word.is_withdrawn,
        )?,
        (rule, "") if RULES.contains(&rule) || word.is_known_rule => Accepted::Rule {
            rule: rule.to_owned(),
        },
        _ => {
            return Err(Error::config(format!("`{}`: there is nothing of that kind to accept", word.what)).hint(format!(
                "PIPELINE of a documented layout, TASK:RULE with one of the rules {}, or with a finding that blocked its last run, or SOURCE:host_key=SHA256:…",
                RULES.join(", ")
            )));
        }
    };
    let today = now.to_zoned(TimeZone::UTC).date();
    let until = word.until;
    if let Some(past) = until.filter(|until| *until < today) {
        return Err(Error::config(format!(
            "--until {past} is in the past: nothing would be accepted"
        )));
    }
    Ok(Acceptance {
        format_version: ACCEPTANCE_FORMAT_VERSION,
        id: id.to_owned(),
        what,
        by: word.by.to_owned(),
        at: now.to_string(),
        until: until
            .filter(|_| !word.is_withdrawn)
            .map(|until| until.to_string()),
        is_withdrawn: word.is_withdrawn,
    })
}

/// Returns the task from the newest run that tried it, if that run was blocked by the rule named in
/// `TASK:RULE`. `runs` are sorted newest first.
pub fn blocked_by<'r>(what: &str, runs: &'r [LedgerEntry]) -> Option<&'r LedgerTask> {
    let (task_id, _) = what.split_once(':')?;
    let last = runs.iter().find_map(|run| run.tasks.get(task_id))?;
    let names_it = |step: &String| step.split(['`', ' ']).any(|word| word == what);
    Some(last)
        .filter(|last| last.outcome == "blocked" && last.next_step.as_ref().is_some_and(names_it))
}

/// Checks what is accepted for a single run: that the ids exist, and that each rule is known or
/// blocked the last run. `runs` are sorted newest first.
///
/// # Errors
/// Returns `Config`, naming the unknown id or rule.
pub fn check_accepted(
    declarations: &Declarations,
    ids: &[String],
    runs: &[LedgerEntry],
    now: Timestamp,
) -> Result<()> {
    let is_rule = |accepted: &String| {
        accepted
            .split_once(':')
            .is_none_or(|(_, rule)| RULES.contains(&rule))
            || blocked_by(accepted, runs).is_some()
    };
    if let Some(unknown) = ids.iter().find(|accepted| !is_rule(accepted)) {
        let rules = RULES.join(", ");
        return Err(Error::config(format!("--accept {unknown}: there is no such rule"))
            .hint(format!("give TASK:RULE with one of {rules}, or with a finding that blocked the last run: `pubdata status` names it")));
    }
    let is_known = |accepted: &&String| {
        let id = accepted.split(':').next().unwrap_or_default();
        let is_declared = declarations.source(id).is_some()
            || declarations.pipelines.contains_key(id)
            || declarations.contracts.contains_key(id);
        is_declared || pipeline_of_task(declarations, id, now).is_some()
    };
    match ids.iter().find(|id| !is_known(id)) {
        None => Ok(()),
        Some(id) => Err(Error::config(format!(
            "--accept {id}: there is no such task, pipeline, source or dataset"
        ))
        .hint("`pubdata status` names the tasks that need attention")),
    }
}

/// Returns the declaration for the task of a partition, such as `census.acs5/vintage=2023`.
fn pipeline_of_task<'d>(
    declarations: &'d Declarations,
    task_id: &str,
    now: Timestamp,
) -> Option<&'d Declaration> {
    let declaration = declarations.pipelines.get(task_id.split_once('/')?.0)?;
    check_selectors(declarations, &[task_id.to_owned()], now)
        .is_ok()
        .then_some(declaration)
}

fn layout(id: &str, pipeline: Option<&Declaration>) -> Result<Accepted> {
    if pipeline.is_some_and(|pipeline| pipeline.layout_evidence() == LayoutEvidence::Documented) {
        return Ok(Accepted::Layout);
    }
    Err(Error::config(format!(
        "`{id}`: its layout is already known from files and needs no confirmation"
    ))
    .hint(format!(
        "losses against the last release are accepted with `{id}:shrink`"
    )))
}

fn host_key(
    id: &str,
    source: Option<&Source>,
    fingerprint: &str,
    is_withdrawn: bool,
) -> Result<Accepted> {
    if source.is_none_or(|source| source.sftp.is_none()) {
        return Err(Error::config(format!(
            "`{id}` is not fetched over SFTP: it has no host key"
        )));
    }
    let is_withdrawal = is_withdrawn && fingerprint.is_empty();
    if !is_withdrawal && !is_fingerprint(fingerprint) {
        return Err(
            Error::config(format!("`{fingerprint}` is not the fingerprint of a key"))
                .hint("give it as the refusal shows it: SHA256: and 43 characters"),
        );
    }
    Ok(Accepted::HostKey {
        fingerprint: fingerprint.to_owned(),
    })
}

/// Checks an acceptance against the home, if the home exists.
///
/// # Errors
/// Returns `Config` if the acceptance confirms a layout for which no file was ever seen, or
/// withdraws an acceptance that is not in force. Returns `Store` if the home cannot be read.
pub fn check_acceptance(
    home: Option<&Home>,
    declarations: &Declarations,
    acceptance: &Acceptance,
) -> Result<()> {
    let Acceptance {
        id,
        what,
        is_withdrawn,
        ..
    } = acceptance;
    if *is_withdrawn {
        let words = home
            .map(store::acceptances)
            .transpose()?
            .unwrap_or_default();
        let last = words
            .iter()
            .rfind(|known| known.id == *id && known.what.name() == what.name());
        return match last {
            Some(last) if !last.is_withdrawn => Ok(()),
            _ => Err(Error::config(format!(
                "no {} of `{id}` is accepted: there is nothing to withdraw",
                what.name()
            ))
            .hint("`pubdata accept --list` shows the acceptances in force")),
        };
    }
    if *what != Accepted::Layout {
        return Ok(());
    }
    let owner = declarations
        .source(id)
        .map(|(owner, _)| owner)
        .or_else(|| declarations.pipelines.get(id));
    for source in owner.into_iter().flat_map(|owner| &owner.sources) {
        let known = home
            .map(|home| Snapshots::look(home).known_of_source(&source.source_id))
            .transpose()?
            .unwrap_or_default();
        if known
            .iter()
            .any(|snapshot| source.listing.is_none() || snapshot.url != source.url)
        {
            return Ok(());
        }
    }
    Err(Error::config(format!(
        "no file of `{id}` was ever seen here: there is no layout to confirm"
    ))
    .hint(format!(
        "`pubdata run {id}` fetches it first; then look at what was published and quarantined"
    )))
}

/// Ids for which an operator has accepted something, by kind of acceptance.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AcceptedIds {
    /// `TASK:RULE`. The id of a source or dataset without a rule covers every loss.
    pub losses: Vec<String>,
    /// Ids of sources and pipelines.
    pub layouts: Vec<String>,
}

/// Returns the acceptances in force. An acceptance stays in force until its last day, or until a
/// run has used it.
///
/// # Errors
/// Returns `Store` if the home's acceptance file cannot be read.
pub fn counting(home: &Home, runs: &[LedgerEntry], now: Timestamp) -> Result<Vec<Acceptance>> {
    let is_for_one_run = |acceptance: &Acceptance| {
        acceptance.until.is_none() && matches!(acceptance.what, Accepted::Rule { .. })
    };
    let mut counting = accepted(home, now.to_zoned(TimeZone::UTC).date())?;
    counting
        .retain(|acceptance| !(is_for_one_run(acceptance) && is_used_up(runs, acceptance, now)));
    Ok(counting)
}

/// Returns the ids of the acceptances that are in force for all runs.
///
/// # Errors
/// Returns `Store` if the home's acceptance file cannot be read.
pub fn accepted_ids(home: &Home, now: Timestamp) -> Result<AcceptedIds> {
    let mut ids = AcceptedIds::default();
    for acceptance in counting(home, &store::read_ledger(home)?, now)? {
        match &acceptance.what {
            Accepted::Rule { rule } => ids.losses.push(format!("{}:{rule}", acceptance.id)),
            Accepted::Shrink => ids.losses.push(acceptance.id),
            Accepted::Layout => ids.layouts.push(acceptance.id),
            Accepted::HostKey { .. } => {}
        }
    }
    Ok(ids)
}

/// Returns true if a run has tried the accepted task since the acceptance. A run whose files were
/// missing does not count.
fn is_used_up(runs: &[LedgerEntry], acceptance: &Acceptance, now: Timestamp) -> bool {
    let is_about = |task_id: &String| {
        *task_id == acceptance.id || task_id.split('/').next() == Some(&acceptance.id)
    };
    let is_of_a_task = runs.iter().any(|run| run.tasks.keys().any(is_about));
    let is_tried = |run: &LedgerEntry| {
        run.tasks.iter().any(|(task_id, task)| {
            (!is_of_a_task || is_about(task_id)) && task.outcome != "missing"
        })
    };
    let said_at = acceptance.at.parse::<Timestamp>().ok();
    let word = format!("{}:{}", acceptance.id, acceptance.what.name());
    // A start time in the future comes from a wrong clock. Such a run counts as later only if it
    // lists the acceptance.
    let is_later = |run: &&LedgerEntry| {
        let started_at = run.started_at.parse::<Timestamp>().ok();
        started_at > said_at && (started_at <= Some(now) || run.accepted.contains(&word))
    };
    runs.iter().filter(is_later).any(is_tried)
}
