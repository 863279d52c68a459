//! Tests the same log as seen before, and other logs. The test builds them according to the
//! standard and serves them as files.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use pubdata_core::ids::Digest;
use pubdata_fetch::log_auditor::{KeyFrom, Outcome};
use pubdata_store::receipts::{Checkpoint, SigningKey, leaf_hash, root};

use super::{Auditor, Liar, fine, night, served, wrong};
use crate::receipts::SealedPlace;
use pubdata_testing::files_below;
use pubdata_testing::publisher::{Publisher, Reply};

const CHECKPOINT: &str = "/v1/log/checkpoint";
const TILE: &str = "/v1/log/tile/0/000.p/1";

/// Files of a log by path.
type Files = BTreeMap<String, Vec<u8>>;

/// Log key of a channel.
fn key() -> SigningKey {
    SigningKey::generate("data.example.org/2026")
        .unwrap()
        .of_log("nightly")
        .unwrap()
}

/// A log of some number of releases; entries from `other` on differ from those of other logs.
fn log_of(key: &SigningKey, releases: usize, other: usize) -> Files {
    let leaf = |release: usize| {
        leaf_hash(format!("{}{release}", if release < other { "" } else { "other" }).as_bytes())
    };
    signed(key, &(0..releases).map(leaf).collect::<Vec<_>>())
}

fn signed(key: &SigningKey, leaves: &[Digest]) -> Files {
    let note = key.sign(
        &Checkpoint {
            origin: key.name().to_owned(),
            size: leaves.len() as u64,
            root: root(leaves),
        }
        .to_text(),
    );
    let mut files = Files::from([
        (CHECKPOINT.to_owned(), note.into_bytes()),
        (
            "/v1/log/key".to_owned(),
            format!("{}\n", key.verifier()).into_bytes(),
        ),
    ]);
    for (number, tile) in leaves.chunks(256).enumerate() {
        let partial = if tile.len() < 256 {
            format!(".p/{}", tile.len())
        } else {
            String::new()
        };
        files.insert(
            format!("/v1/log/tile/0/{number:03}{partial}"),
            tile.iter().flat_map(|hash| *hash.as_bytes()).collect(),
        );
    }
    files
}

/// Makes a server serve a log.
fn show(server: &Publisher, files: &Files) {
    files
        .iter()
        .for_each(|(path, bytes)| server.route(path, vec![Reply::body(200, bytes.clone())]));
}

#[tokio::test(flavor = "multi_thread")]
async fn grown_log_is_accepted_and_any_other_reported_with_checkpoints() {
    let (key, other) = (key(), key());
    let (known, shown) = (key.verifier().to_string(), other.verifier().to_string());
    let server = Publisher::start().await;
    show(&server, &log_of(&key, 1, 9));
    let auditor = Auditor {
        records: 0,
        ..Auditor::at(&server.base_url())
    };
    let report = auditor.look().await.unwrap();
    fine(&report);
    let log = report.log.unwrap();
    assert_eq!(
        (log.size, log.key_from, log.seen_size, log.key.as_str()),
        (1, KeyFrom::FirstUse, None, known.as_str())
    );
    assert_eq!(log.name, "data.example.org/2026/nightly");
    let seen_first = auditor.seen();

    // Beyond one tile, and unchanged.
    for (size, seen_size) in [(3, 1), (300, 3), (300, 300)] {
        show(&server, &log_of(&key, size, 999));
        let report = auditor.look().await.unwrap();
        fine(&report);
        let log = report.log.unwrap();
        assert_eq!(
            (log.size, log.key_from, log.seen_size),
            (size as u64, KeyFrom::Seen, Some(seen_size))
        );
    }
    let seen = auditor.seen();
    assert_eq!(seen["first_seen_at"], seen_first["first_seen_at"]);
    assert_ne!(seen["note"], seen_first["note"]);

    // Other entries at the end, in the middle, and from the start on of a longer log.
    for (number, (size, other_from)) in [(300, 299), (300, 260), (512, 0)].into_iter().enumerate() {
        let forked = log_of(&key, size, other_from);
        show(&server, &forked);
        let report = auditor.look().await.unwrap();
        wrong(
            &report,
            "the log was replaced: its first 300 releases have the root",
        );
        assert!(
            report.notes.iter().any(|note| note.starts_with("seen on "))
                && report
                    .notes
                    .iter()
                    .any(|note| note.starts_with("shown now: ")),
            "{report:#?}"
        );
        assert_eq!(auditor.seen(), seen, "the remembered checkpoint stays");
        assert_eq!(
            (auditor.evidence().len(), report.evidence.len()),
            (number + 1, 1)
        );
        let evidence: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&report.evidence[0]).unwrap()).unwrap();
        assert_eq!(
            (
                &evidence["seen"]["note"],
                evidence["note"].as_str().unwrap().as_bytes()
            ),
            (&seen["note"], &forked[CHECKPOINT][..])
        );
        // The same log again adds no evidence.
        wrong(&auditor.look().await.unwrap(), "the log was replaced");
        assert_eq!(auditor.evidence().len(), number + 1);
    }

    show(&server, &log_of(&key, 299, 999));
    wrong(
        &auditor.look().await.unwrap(),
        "the log is shorter: 299 releases, and on ",
    );
    assert_eq!(auditor.evidence().len(), 4);

    show(&server, &log_of(&other, 299, 999));
    let report = auditor.look().await.unwrap();
    wrong(
        &report,
        "the checkpoint is not signed by data.example.org/2026/nightly+",
    );
    assert!(
        report.problems[0].contains(&known) && report.problems[0].contains(&shown),
        "{report:#?}"
    );
    assert_eq!(
        (report.log, auditor.evidence().len(), auditor.seen()),
        (None, 5, seen)
    );
    // A named key counts as the publisher's; even so, its log must contain the remembered entries.
    let named = Auditor {
        key: Some(shown.clone()),
        ..auditor
    };
    wrong(
        &named.look().await.unwrap(),
        "the log is shorter: 299 releases",
    );
    show(&server, &log_of(&other, 301, 999));
    fine(&named.look().await.unwrap());
    assert_eq!(named.seen()["key"], shown.as_str());

    server.route(CHECKPOINT, vec![Reply::status(404)]);
    let report = named.look().await.unwrap();
    wrong(&report, "the server has no log any more; on ");
    assert!(
        report.problems[0].contains("it had one of 301 releases"),
        "{report:#?}"
    );
    let error = Auditor::at(&server.base_url()).look().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("has no log: its publisher does not sign"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_with_different_logs_under_one_key_are_detected() {
    let key = key();
    let servers = [
        Publisher::start().await,
        Publisher::start().await,
        Publisher::start().await,
        Publisher::start().await,
    ];
    for (server, files) in servers.iter().zip([
        log_of(&key, 5, 9),
        log_of(&key, 3, 9),
        log_of(&key, 7, 9),
        log_of(&key, 7, 4),
    ]) {
        show(server, &files);
    }
    let [one, behind, ahead, other] = servers.each_ref().map(Publisher::base_url);
    let mut auditor = Auditor {
        records: 0,
        ..Auditor::at(&one)
    };
    for url in [one.clone(), behind, ahead] {
        auditor.url = url;
        fine(&auditor.look().await.unwrap());
    }
    auditor.url = other;
    let report = auditor.look().await.unwrap();
    wrong(&report, "the log was replaced: its first ");
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.contains("first 5 releases")
                && problem.contains(&format!(" at {one} they had "))),
        "{report:#?}"
    );
    assert_eq!(
        (report.problems.len(), auditor.evidence().len()),
        (2, 2),
        "the shorter log proves nothing against it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn log_with_foreign_tiles_or_keys_is_reported() {
    let key = key();
    let files = log_of(&key, 1, 9);
    let server = Publisher::start().await;
    show(&server, &files);
    let auditor = Auditor {
        records: 0,
        key: Some(key.verifier().to_string()),
        ..Auditor::at(&server.base_url())
    };
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert_eq!(
        (report.log.unwrap().key_from, report.release_id),
        (KeyFrom::Given, None)
    );
    let note = String::from_utf8(files[CHECKPOINT].clone()).unwrap();
    let of_another_log = SigningKey::parse(&key.to_private_text()).unwrap().sign(
        &note
            .replacen("nightly", "stable", 1)
            .split_inclusive('\n')
            .take(3)
            .collect::<String>(),
    );
    for (path, shown, reported) in [
        (
            TILE,
            files[TILE].iter().map(|byte| byte ^ 1).collect(),
            "the tiles of the log are not those of its checkpoint",
        ),
        (
            TILE,
            files[TILE][1..].to_vec(),
            "the tiles of the log are not those of its checkpoint",
        ),
        (
            "/v1/log/key",
            b"data.example.org/2026/nightly+00000000+AAAA".to_vec(),
            "the server presents another key than data.example.org/2026/nightly+",
        ),
        (
            CHECKPOINT,
            note.replacen("\n1\n", "\n2\n", 1).into_bytes(),
            "the checkpoint is not signed by ",
        ),
        (
            CHECKPOINT,
            of_another_log.into_bytes(),
            "the checkpoint belongs to the log data.example.org/2026/stable, and the key to data.example.org/2026/nightly",
        ),
        (
            CHECKPOINT,
            key.sign("no checkpoint\n").into_bytes(),
            "the signed text is not a checkpoint",
        ),
        (
            CHECKPOINT,
            b"nonsense".to_vec(),
            "the checkpoint is not signed by ",
        ),
    ] {
        show(&server, &files);
        server.route(path, vec![Reply::body(200, shown)]);
        wrong(&auditor.look().await.unwrap(), reported);
    }
    show(&server, &files);
    server.route(TILE, vec![Reply::status(404)]);
    wrong(
        &auditor.look().await.unwrap(),
        "the log lacks tile/0/000.p/1",
    );
    show(&server, &files);
    fine(&auditor.look().await.unwrap());
    // A signed size beyond any plausible number of runs is not requested tile by tile.
    let huge = Checkpoint {
        origin: key.name().to_owned(),
        size: u64::MAX,
        root: Digest::sha256(b""),
    };
    server.route(
        CHECKPOINT,
        vec![Reply::body(200, key.sign(&huge.to_text()))],
    );
    let error = auditor.look().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the log has 18446744073709551615 releases; no more than 131072 are read"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_or_newer_memory_is_never_treated_as_empty() {
    let server = Publisher::start().await;
    show(&server, &log_of(&key(), 2, 9));
    let auditor = Auditor {
        records: 0,
        ..Auditor::at(&server.base_url())
    };
    fine(&auditor.look().await.unwrap());
    let file = files_below(&auditor.home.path().join("seen-logs")).remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    for (text, reported) in [
        ("{".to_owned(), "is damaged"),
        (
            text.replacen("\"format_version\": 1", "\"format_version\": 2", 1),
            "has format 2; this program reads 1",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = auditor.look().await.unwrap_err();
        assert!(
            error.to_string().contains(reported) && error.to_string().contains("seen-logs"),
            "{error}"
        );
        assert!(
            error
                .hint_text()
                .unwrap()
                .contains("restore it from a backup")
        );
    }
}

/// A nightly run may end during an audit; or the server may answer one reader from two logs.
#[tokio::test(flavor = "multi_thread")]
async fn log_that_grows_during_an_audit_is_followed_if_consistent() {
    let sealed = SealedPlace::new();
    let of_before = std::fs::read(
        sealed
            .place
            .home()
            .join("log/nightly/checkpoint/0000000001"),
    )
    .unwrap();
    night(&sealed, "19653");
    let key = SigningKey::parse(&std::fs::read_to_string(sealed.secret()).unwrap())
        .unwrap()
        .of_log("nightly")
        .unwrap();
    let of_other = log_of(&key, 1, 0);

    let liar = Liar::new(served(sealed).await).await;
    let first = |note: &[u8], files: Files| {
        let (note, is_asked) = (note.to_vec(), AtomicBool::new(false));
        liar.lies(move |path, status, bytes| match files.get(path) {
            _ if path == CHECKPOINT => (
                200,
                if is_asked.swap(true, Ordering::Relaxed) {
                    bytes
                } else {
                    note.clone()
                },
            ),
            Some(file) => (200, file.clone()),
            None => (status, bytes),
        });
    };
    first(&of_before, Files::new());
    let auditor = Auditor {
        records: 2,
        ..Auditor::new(&liar)
    };
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert_eq!(
        (report.log.unwrap().size, report.records.len()),
        (1, 2),
        "as at the first request"
    );
    assert!(
        auditor.seen()["note"].as_str().unwrap().contains("\n2\n"),
        "the newest checkpoint is remembered"
    );

    // The other log does not begin with this one.
    first(&of_other[CHECKPOINT], of_other.clone());
    let auditor = Auditor {
        records: 2,
        ..Auditor::new(&liar)
    };
    let report = auditor.look().await.unwrap();
    assert_eq!(report.outcome, Outcome::Mismatch, "{report:#?}");
    assert_eq!(report.problems[0], "the log changed during the check");
    assert!(
        report.problems[1..]
            .iter()
            .all(|problem| problem.contains("its checkpoint is of 2 releases, and the log has 1")),
        "{report:#?}"
    );
    assert_eq!(auditor.evidence().len(), 1);
}
