//! A log that is the one that was seen, and logs that are not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use pubdata::witness::{KeyFrom, Outcome};

use super::{Auditor, Liar, copy_of, fine, night, served, wrong};
use crate::receipts::SealedPlace;
use crate::support::Place;

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_grew_continues_what_was_seen_and_every_other_one_is_told_with_both_checkpoints() {
    let first = SealedPlace::new();
    let key = first.key.clone();
    let (grown, forked, of_other_key) = (copy_of(&first), copy_of(&first), Place::new());
    crate::support::copy_folder(&first.place.home(), &of_other_key.home());
    std::fs::remove_dir_all(of_other_key.home().join("log")).unwrap();
    let of_other_key = SealedPlace::of(of_other_key);
    std::thread::scope(|scope| {
        scope.spawn(|| night(&grown, "19653"));
        scope.spawn(|| night(&forked, "19654"));
    });
    let before = copy_of(&first);

    let liar = Liar::new(served(first).await).await;
    let auditor = Auditor { records: 1, ..Auditor::of(&liar) };
    let report = auditor.look().await.unwrap();
    fine(&report);
    let log = report.log.unwrap();
    assert_eq!((log.size, log.key_from, log.seen_size, log.key.as_str()), (1, KeyFrom::FirstUse, None, key.as_str()));
    assert_eq!(log.name, "data.example.org/2026/nightly");
    let seen_first = auditor.seen();

    liar.becomes(served(grown).await);
    let report = auditor.look().await.unwrap();
    fine(&report);
    let log = report.log.unwrap();
    assert_eq!((log.size, log.key_from, log.seen_size), (2, KeyFrom::Seen, Some(1)));
    let seen = auditor.seen();
    assert_eq!(seen["first_seen_at"], seen_first["first_seen_at"]);
    assert_ne!(seen["note"], seen_first["note"]);

    let note_of = |evidence: &serde_json::Value| (evidence["seen"]["note"].clone(), evidence["note"].as_str().unwrap_or_default().to_owned());
    liar.becomes(served(forked).await);
    let report = auditor.look().await.unwrap();
    wrong(&report, "the log is another one: its first 2 releases have the root");
    assert!(report.notes.iter().any(|note| note.starts_with("seen on ")) && report.notes.iter().any(|note| note.starts_with("shown now: ")), "{report:#?}");
    assert_eq!(auditor.seen(), seen, "what was seen stays");
    let evidence = auditor.evidence();
    assert_eq!((evidence.len(), report.evidence.len()), (1, 1));
    let (of_before, shown) = note_of(&evidence[0]);
    assert_eq!(of_before, seen["note"]);
    assert!(shown.starts_with("data.example.org/2026/nightly\n2\n") && of_before != shown.as_str());
    // The same again is no other evidence.
    wrong(&auditor.look().await.unwrap(), "the log is another one");
    assert_eq!(auditor.evidence(), evidence);

    liar.becomes(served(before).await);
    let report = auditor.look().await.unwrap();
    wrong(&report, "the log is shorter: 1 releases, and on ");
    assert_eq!(auditor.evidence().len(), 2);

    let other = of_other_key.key.clone();
    assert_ne!(other, key);
    liar.becomes(served(of_other_key).await);
    let report = auditor.look().await.unwrap();
    wrong(&report, "the checkpoint is not signed by data.example.org/2026/nightly+");
    assert!(report.problems[0].contains(&key) && report.problems[0].contains(&other), "{report:#?}");
    assert_eq!((report.log, report.records.len()), (None, 0), "nothing is held against a log that nobody signed");
    assert_eq!((auditor.evidence().len(), auditor.seen()), (3, seen.clone()));
    // Who names that key says that it is another publisher's log: its roots are still not those that were seen.
    let named = Auditor { key: Some(other), ..auditor };
    wrong(&named.look().await.unwrap(), "the log is shorter: 1 releases");

    liar.lies(|path, status, bytes| if path.starts_with("/v1/log/") { (404, Vec::new()) } else { (status, bytes) });
    let report = named.look().await.unwrap();
    wrong(&report, "the server has no log any more; on ");
    assert!(report.problems[0].contains("it had one of 2 releases"), "{report:#?}");
    let error = Auditor::of(&liar).look().await.unwrap_err();
    assert!(error.to_string().contains("has no log: its publisher does not sign"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_that_show_different_logs_under_one_key_are_found_out() {
    let first = SealedPlace::new();
    let (one, other) = (copy_of(&first), copy_of(&first));
    night(&one, "19653");
    night(&other, "19654");
    let (first, one, other) = (Liar::new(served(first).await).await, Liar::new(served(one).await).await, Liar::new(served(other).await).await);
    let auditor = Auditor { records: 0, ..Auditor::of(&one) };
    fine(&auditor.look().await.unwrap());
    // A server that is behind shows the same log.
    let at = |liar: &Liar, auditor: Auditor| Auditor { url: liar.url().to_owned(), ..auditor };
    let auditor = at(&first, auditor);
    fine(&auditor.look().await.unwrap());
    let auditor = at(&other, auditor);
    let report = auditor.look().await.unwrap();
    wrong(&report, &format!(" at {} they had ", one.url()));
    assert_eq!(auditor.evidence().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_tiles_or_key_are_not_its_own_is_told() {
    let sealed = SealedPlace::new();
    let key = sealed.key.clone();
    let liar = Liar::new(served(sealed).await).await;
    let auditor = Auditor { records: 0, key: Some(key), ..Auditor::of(&liar) };
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert_eq!((report.log.unwrap().key_from, report.release_id), (KeyFrom::Given, None));

    let of_tiles = |path: &str| path.starts_with("/v1/log/tile/");
    liar.lies(move |path, status, bytes| (status, if of_tiles(path) { bytes.iter().map(|byte| byte ^ 1).collect() } else { bytes }));
    wrong(&auditor.look().await.unwrap(), "the tiles of the log are not those of its checkpoint");
    liar.lies(move |path, status, bytes| (status, if of_tiles(path) { bytes[1..].to_vec() } else { bytes }));
    wrong(&auditor.look().await.unwrap(), "the tiles of the log are not those of its checkpoint");
    liar.lies(move |path, status, bytes| if of_tiles(path) { (404, Vec::new()) } else { (status, bytes) });
    wrong(&auditor.look().await.unwrap(), "the log lacks tile/0/000.p/1");
    liar.lies(|path, status, bytes| (status, if path == "/v1/log/key" { b"data.example.org/2026/nightly+00000000+AAAA".to_vec() } else { bytes }));
    wrong(&auditor.look().await.unwrap(), "the server shows another key than data.example.org/2026/nightly+");
    liar.lies(|path, status, bytes| {
        (status, if path == "/v1/log/checkpoint" { String::from_utf8(bytes).unwrap().replacen("\n1\n", "\n2\n", 1).into() } else { bytes })
    });
    wrong(&auditor.look().await.unwrap(), "the checkpoint is not signed by ");
    assert_eq!(auditor.look().await.unwrap().outcome, Outcome::Mismatch);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_seen_is_never_taken_for_nothing_when_it_is_damaged_or_newer() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    let auditor = Auditor { records: 0, ..Auditor::of(&liar) };
    fine(&auditor.look().await.unwrap());
    let file = crate::support::files_below(&auditor.home.path().join("seen-logs")).remove(0);
    let text = super::text_of(&file);
    for (text, told) in
        [("{".to_owned(), "is damaged"), (text.replacen("\"format_version\": 1", "\"format_version\": 2", 1), "has format 2; this program reads 1")]
    {
        std::fs::write(&file, text).unwrap();
        let error = auditor.look().await.unwrap_err();
        assert!(error.to_string().contains(told) && error.to_string().contains("seen-logs"), "{error}");
        assert!(error.way_out().unwrap().contains("put it back from a backup"));
    }
}

/// The files of a log, by their paths.
fn files_of(sealed: &SealedPlace) -> BTreeMap<String, Vec<u8>> {
    let folder = sealed.place.home().join("log/nightly");
    let files = crate::support::files_below(&folder).into_iter().map(|file| {
        let name = file.strip_prefix(&folder).unwrap().to_str().unwrap();
        let name = if name.starts_with("checkpoint/") { "checkpoint" } else { name };
        (format!("/v1/log/{name}"), std::fs::read(&file).unwrap())
    });
    // The newest checkpoint is the last by its name.
    files.collect()
}

/// A night may end while the server is looked at; or the server may answer one reader from two logs.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_grows_while_it_is_looked_at_is_followed_if_it_is_the_same() {
    let sealed = SealedPlace::new();
    let of_before = files_of(&sealed);
    night(&sealed, "19653");
    let (forked, of_now) = (copy_of(&sealed), files_of(&sealed));
    std::fs::remove_dir_all(forked.place.home().join("log")).unwrap();
    forked.place.pubdata(&["seal", "--signing-key", forked.secret().to_str().unwrap()]).expect(0);
    let of_other = files_of(&forked);
    assert_ne!(of_before["/v1/log/checkpoint"], of_now["/v1/log/checkpoint"]);

    let liar = Liar::new(served(sealed).await).await;
    let first = |note: &[u8], files: BTreeMap<String, Vec<u8>>| {
        let (note, is_asked) = (note.to_vec(), AtomicBool::new(false));
        liar.lies(move |path, status, bytes| match files.get(path) {
            _ if path == "/v1/log/checkpoint" => (200, if is_asked.swap(true, Ordering::Relaxed) { bytes } else { note.clone() }),
            Some(file) => (200, file.clone()),
            None => (status, bytes),
        });
    };
    first(&of_before["/v1/log/checkpoint"], BTreeMap::new());
    let auditor = Auditor { records: 2, ..Auditor::of(&liar) };
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert_eq!((report.log.unwrap().size, report.records.len()), (1, 2), "as it was when it was looked at first");
    assert!(auditor.seen()["note"].as_str().unwrap().contains("\n2\n"), "what was seen is the newest");

    // The other log has one release, the second of this one: what it grows to does not begin with it.
    first(&of_other["/v1/log/checkpoint"], of_other.clone());
    let auditor = Auditor { records: 2, ..Auditor::of(&liar) };
    let report = auditor.look().await.unwrap();
    assert_eq!(report.outcome, Outcome::Mismatch, "{report:#?}");
    assert_eq!(report.problems[0], "the log became another one while it was looked at");
    assert!(report.problems[1..].iter().all(|problem| problem.contains("its checkpoint is of 2 releases, and the log has 1")), "{report:#?}");
    assert!(!auditor.evidence().is_empty());
}
