use std::collections::BTreeMap;
use std::io::Write;

use pubdata_store::{
    DiskUse, LEDGER_FORMAT_VERSION, LedgerEntry, LedgerTask, append_ledger, read_ledger,
};

use super::{NOW, Place};

fn entry(run_id: &str) -> LedgerEntry {
    let task = LedgerTask {
        outcome: "built".to_owned(),
        reason: Some("source changed".to_owned()),
        rows: 3,
        quarantined_rows: 2,
        findings: Vec::new(),
        next_step: Some("look".to_owned()),
        late_since: Some("2026-11-20".parse().unwrap()),
        is_above_warning_level: true,
        is_optional: false,
        input_hash: None,
        duration_ms: 15,
    };
    LedgerEntry {
        format_version: LEDGER_FORMAT_VERSION,
        run_id: run_id.to_owned(),
        started_at: NOW.to_owned(),
        ended_at: NOW.to_owned(),
        exit_code: 30,
        channel: "nightly".to_owned(),
        release_id: None,
        outcome: "failed".to_owned(),
        error: Some("two\nlines".to_owned()),
        note: Some("three".to_owned()),
        accepted: vec!["test.places:shrink".to_owned()],
        import: None,
        fetched_bytes: Some(7),
        disk: Some(DiskUse {
            rooms: BTreeMap::from([("releases".to_owned(), 5)]),
            free_bytes: 3,
            is_partial: false,
        }),
        tasks: BTreeMap::from([("test.places".to_owned(), task)]),
    }
}

#[test]
fn runs_are_read_in_the_order_they_were_appended() {
    let place = Place::new();
    assert_eq!(read_ledger(&place.home).unwrap(), []);
    append_ledger(&place.home, &entry("one")).unwrap();
    append_ledger(&place.home, &entry("two")).unwrap();
    assert_eq!(
        read_ledger(&place.home).unwrap(),
        [entry("one"), entry("two")]
    );
}

#[test]
fn partial_last_line_is_skipped_and_then_repaired() {
    for torn in ["{", "{\"format_version\": 1, \"run_id\": \"th", "\u{e9}"] {
        let place = Place::new();
        append_ledger(&place.home, &entry("one")).unwrap();
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(place.home.ledger_file())
            .unwrap();
        file.write_all(torn.as_bytes()).unwrap();
        assert_eq!(read_ledger(&place.home).unwrap(), [entry("one")]);
        append_ledger(&place.home, &entry("two")).unwrap();
        assert_eq!(
            read_ledger(&place.home).unwrap(),
            [entry("one"), entry("two")]
        );
    }
}

#[test]
fn damaged_line_and_newer_format_are_named() {
    let place = Place::new();
    append_ledger(&place.home, &entry("one")).unwrap();
    let good = std::fs::read_to_string(place.home.ledger_file()).unwrap();
    for (text, words) in [
        (format!("{good}nonsense\n"), "line 2"),
        (
            good.replace("\"format_version\":1", "\"format_version\":2"),
            "format 2 is not one",
        ),
    ] {
        std::fs::write(place.home.ledger_file(), text).unwrap();
        let error = read_ledger(&place.home).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}
