//! Decides from the ledgers of two or more runs which messages are sent.

use std::collections::BTreeMap;

use pubdata_store::monitor::{EventKind, History, Message};
use pubdata_store::{LEDGER_FORMAT_VERSION, LedgerEntry, LedgerTask};

fn task(outcome: &str) -> LedgerTask {
    LedgerTask {
        outcome: outcome.to_owned(),
        reason: (outcome == "blocked").then(|| "the column `A` is gone".to_owned()),
        rows: 0,
        quarantined_rows: 0,
        findings: Vec::new(),
        next_step: (outcome == "blocked").then(|| "look at the file".to_owned()),
        late_since: None,
        is_above_warning_level: false,
        is_optional: false,
        input_hash: None,
        duration_ms: 0,
    }
}

fn run(number: usize, exit_code: u8, tasks: &[(&str, LedgerTask)]) -> LedgerEntry {
    let at = format!("2026-11-{:02}T09:00:00Z", number + 1);
    LedgerEntry {
        format_version: LEDGER_FORMAT_VERSION,
        run_id: format!("run-{number}"),
        started_at: at.clone(),
        ended_at: at,
        exit_code,
        channel: "nightly".to_owned(),
        release_id: None,
        outcome: if exit_code >= 40 {
            "failed"
        } else {
            "published"
        }
        .to_owned(),
        error: (exit_code >= 40).then(|| "the disk is full".to_owned()),
        note: None,
        accepted: Vec::new(),
        import: None,
        fetched_bytes: None,
        disk: None,
        tasks: tasks
            .iter()
            .map(|(task_id, task)| ((*task_id).to_owned(), task.clone()))
            .collect(),
    }
}

const NOTHING: [(EventKind, Option<String>); 0] = [];

/// Messages that the last of several runs causes: event and task.
fn reported(runs: &[LedgerEntry]) -> Vec<(EventKind, Option<String>)> {
    let events = Message::for_last_run(runs)
        .map(|message| message.events)
        .unwrap_or_default();
    events
        .into_iter()
        .map(|event| (event.event, event.task_id))
        .collect()
}

fn of(event: EventKind, task_id: &str) -> (EventKind, Option<String>) {
    (event, Some(task_id.to_owned()))
}

#[test]
fn problem_is_reported_at_its_start_and_end_only() {
    let nights = [
        task("built"),
        task("blocked"),
        task("blocked"),
        task("missing"),
        task("fresh"),
        task("fresh"),
    ];
    let runs: Vec<LedgerEntry> = nights
        .iter()
        .enumerate()
        .map(|(number, night)| run(number, 0, &[("permit.sf", night.clone())]))
        .collect();
    let reported: Vec<_> = (1..=runs.len())
        .map(|count| reported(&runs[..count]))
        .collect();
    let (blocked, missing, recovered) = (
        of(EventKind::Blocked, "permit.sf"),
        of(EventKind::Missing, "permit.sf"),
        of(EventKind::Recovered, "permit.sf"),
    );
    assert_eq!(
        reported,
        [
            vec![],
            vec![blocked],
            vec![],
            vec![missing],
            vec![recovered],
            vec![]
        ]
    );
    let message = Message::for_last_run(&runs[..2]).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&message.to_json()).unwrap();
    let expected = serde_json::json!({
        "format": "pubdata.message",
        "version": 1,
        "text": "pubdata nightly: blocked permit.sf (the column `A` is gone)",
        "channel": "nightly",
        "run_id": "run-1",
        "ended_at": "2026-11-02T09:00:00Z",
        "exit_code": 0,
        "outcome": "published",
        "release_id": null,
        "events": [{ "event": "blocked", "task_id": "permit.sf", "reason": "the column `A` is gone", "next_step": "look at the file", "late_since": null }],
    });
    assert_eq!(json, expected);
}

#[test]
fn runs_of_other_tasks_and_imports_keep_a_task_status() {
    let blocked = run(0, 20, &[("permit.sf", task("blocked"))]);
    let other = run(1, 0, &[("sec.financials", task("built"))]);
    let import = LedgerEntry {
        outcome: "imported".to_owned(),
        ..run(2, 0, &[])
    };
    let again = run(3, 20, &[("permit.sf", task("blocked"))]);
    assert_eq!(reported(&[blocked.clone(), other.clone()]), NOTHING);
    // An import is not a run: the last run decides the messages.
    assert_eq!(
        reported(&[blocked.clone(), import.clone()]),
        [of(EventKind::Blocked, "permit.sf")]
    );
    assert_eq!(
        reported(&[
            blocked.clone(),
            other.clone(),
            import.clone(),
            again.clone()
        ]),
        NOTHING
    );
    let standing = &History::from_entries(&[blocked, other, import, again]).channels["nightly"]
        .tasks["permit.sf"];
    assert_eq!((standing.failed_runs, standing.confirmed_at), (2, None));
}

#[test]
fn optional_pipeline_may_be_missing_or_late_but_not_blocked() {
    let late = Some("2026-11-20".parse().unwrap());
    let optional = |outcome: &str| LedgerTask {
        is_optional: true,
        late_since: late,
        ..task(outcome)
    };
    assert_eq!(
        reported(&[run(0, 0, &[("permit.sf", optional("missing"))])]),
        NOTHING
    );
    assert_eq!(
        reported(&[run(0, 0, &[("permit.sf", optional("blocked"))])]),
        [of(EventKind::Blocked, "permit.sf")]
    );
    let needed = LedgerTask {
        is_optional: false,
        ..optional("missing")
    };
    assert_eq!(
        reported(&[run(0, 0, &[("permit.sf", needed)])]),
        [
            of(EventKind::Missing, "permit.sf"),
            of(EventKind::Late, "permit.sf")
        ]
    );
}

/// A run that builds nothing counts nothing: earlier quarantined records stay quarantined.
#[test]
fn quarantine_above_the_limit_is_reported_once_until_it_falls() {
    let above = LedgerTask {
        is_above_warning_level: true,
        ..task("built")
    };
    let nights = [above, task("fresh"), task("built")];
    let runs: Vec<LedgerEntry> = nights
        .into_iter()
        .enumerate()
        .map(|(number, night)| run(number, 0, &[("license.co", night)]))
        .collect();
    assert_eq!(
        reported(&runs[..1]),
        [of(EventKind::Quarantined, "license.co")]
    );
    assert_eq!(reported(&runs[..2]), NOTHING);
    assert_eq!(reported(&runs), [of(EventKind::Recovered, "license.co")]);
}

#[test]
fn failing_run_is_reported_once_and_so_is_its_recovery() {
    let runs = [
        run(0, 0, &[("a.b", task("built"))]),
        run(1, 60, &[]),
        run(2, 60, &[]),
        run(3, 0, &[("a.b", task("fresh"))]),
    ];
    assert_eq!(reported(&runs[..2]), [(EventKind::Failed, None)]);
    assert_eq!(reported(&runs[..3]), NOTHING);
    let other = LedgerEntry {
        error: Some("another fault".to_owned()),
        ..run(2, 60, &[])
    };
    assert_eq!(
        reported(&[runs[0].clone(), runs[1].clone(), other]),
        [(EventKind::Failed, None)]
    );
    assert_eq!(reported(&runs), [(EventKind::Recovered, None)]);
    assert_eq!(
        Message::for_last_run(&runs[..2]).unwrap().text,
        "pubdata nightly: failed run (the disk is full)"
    );
    assert_eq!(Message::for_last_run(&[]), None);
    let history = History::from_entries(&runs);
    assert_eq!(
        history.channels["nightly"].last.tasks,
        BTreeMap::from([("fresh".to_owned(), 1)])
    );
}

#[test]
fn task_absent_from_runs_for_a_month_is_forgotten() {
    let old = LedgerEntry {
        ended_at: "2026-09-01T00:00:00Z".to_owned(),
        ..run(
            0,
            20,
            &[("gone.city", task("blocked")), ("a.b", task("built"))],
        )
    };
    let tasks = |runs: &[LedgerEntry]| {
        History::from_entries(runs).channels["nightly"]
            .tasks
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(tasks(std::slice::from_ref(&old)), ["a.b", "gone.city"]);
    assert_eq!(tasks(&[old, run(1, 0, &[("a.b", task("fresh"))])]), ["a.b"]);
}
