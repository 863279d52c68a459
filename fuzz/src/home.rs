//! Checks files of a home that may be damaged: the event log, manifests, channels and others.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::date;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::ReleaseId;
use pubdata_core::printable::printable;
use pubdata_run::fuzzing::receipt_again;
use pubdata_store::{
    ChannelEntry, Event, EventKind, EventLog, EventTail, Feed, Findings, FollowState, Home, Keys, Manifest, NewEvent, NewKey, Partial, Plans, Releases, Scope,
    Snapshots, StreamFiling, acceptances, accepted, append_acceptance, append_ledger, read_ledger,
};

use tokio::runtime::{Builder, Runtime};

use crate::place;

fn home(name: &str) -> Home {
    Home::open(&place::empty(name)).expect("a home can be made")
}

/// Reads segments of the log, separated by zero bytes. Readers must get the same events as the
/// writer when it opens the log.
pub fn event_log(data: &[u8]) {
    let home = home("log");
    let folder = home.stream_dir().join("log");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for (number, segment) in data.split(|byte| *byte == 0).take(3).filter(|segment| !segment.is_empty()).enumerate() {
        let first = first_seq(segment).unwrap_or(1 + number as u64);
        std::fs::write(folder.join(format!("{first:020}.jsonl")), segment).expect("a segment can be written");
    }
    let mut early = EventTail::new(&home);
    let _ = early.read();
    let mut opened: Vec<Event> = Vec::new();
    let Ok(mut log) = EventLog::open(&home, |event| opened.push(event)) else { return };
    assert!(opened.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq), "numbers have no gaps");
    assert!(opened.last().is_none_or(|last| last.seq == log.last_seq()));
    assert_eq!(everything(&home), opened, "readers get what the writer knows");
    let new = NewEvent {
        event: EventKind::Filing,
        accession_number: "0000320193-20-000096".parse().expect("this is one"),
        source: Feed::Rss,
        source_url: "https://example.org".to_owned(),
        filing: StreamFiling::default(),
    };
    opened.extend(log.append(vec![new], "2026-11-02T00:00:00Z".parse().expect("this is a time")).expect("an event is added"));
    assert_eq!(everything(&home), opened, "readers get what is added");
    let _ = log.prune(Timestamp::UNIX_EPOCH).expect("nothing is old");
    drop(log);
    let mut again = Vec::new();
    drop(EventLog::open(&home, |event| again.push(event)).expect("the log is opened again"));
    assert_eq!(again, opened);
}

fn everything(home: &Home) -> Vec<Event> {
    EventTail::new(home).read().expect("the log can be read")
}

/// Returns the number in a segment's first line, so that the file name matches it.
fn first_seq(segment: &[u8]) -> Option<u64> {
    let line = segment.split(|byte| *byte == b'\n').next()?;
    serde_json::from_slice::<serde_json::Value>(line).ok()?["first_seq"].as_u64()
}

/// Reads a manifest, gives it the right id, and checks that it survives a write and a read.
pub fn manifest(bytes: &[u8]) {
    let _ = Manifest::from_json(bytes);
    let Ok(mut manifest) = serde_json::from_slice::<Manifest>(bytes) else { return };
    manifest.release_id = manifest.derive_release_id();
    manifest.format_version = 1;
    manifest.release_id = manifest.derive_release_id();
    let written = manifest.to_json();
    let read = match Manifest::from_json(&written) {
        Ok(read) => read,
        Err(error) => return assert!(error.to_string().contains("larger than any release has"), "what we write we read: {error}"),
    };
    assert_eq!(read, manifest);
    assert_eq!(read.to_json(), written);
    let today = date(2026, 11, 22);
    for (task_id, task) in &manifest.tasks {
        let _ = (manifest.late_since(task_id, today), manifest.is_sample_build(task));
    }
    for (dataset_id, dataset) in &manifest.datasets {
        let _ = (manifest.rows(dataset_id), manifest.quarantined(dataset_id));
        if let Ok(record_id) = format!("{dataset_id}:2023:90210").parse() {
            let _ = dataset.parts.iter().filter(|part| part.may_hold(&record_id)).count();
        }
    }
}

/// Reads any bytes as a generation of a channel.
pub fn channel(bytes: &[u8]) {
    let home = home("channel");
    let folder = home.root().join("channels/nightly");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    std::fs::write(folder.join("0000000001.json"), bytes).expect("a file can be written");
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Builder::new_current_thread().build().expect("a runtime can be made"));
    let releases = Releases::open(&home, None).expect("a store can be opened");
    if let Ok(Some(entry)) = runtime.block_on(releases.channel("nightly")) {
        let written = serde_json::to_vec(&entry).expect("an entry is plain data");
        assert_eq!(serde_json::from_slice::<ChannelEntry>(&written).expect("what we write we read"), entry);
        assert_eq!(runtime.block_on(releases.channel_history("nightly")).expect("it was read before"), [entry]);
    }
    let name = String::from_utf8_lossy(bytes);
    let _ = runtime.block_on(releases.channel(&name));
    if let Ok(release) = name.parse::<ReleaseId>() {
        let _ = runtime.block_on(releases.manifest(&release));
    }
}

/// Reads any bytes as each of the other files of a home. Everything read must survive a write and a
/// read.
pub fn files(data: &[u8]) {
    let (which, bytes) = place::choice(data);
    let home = home("files");
    let put = |path: std::path::PathBuf| {
        std::fs::create_dir_all(path.parent().expect("it is in the home")).expect("a folder can be made");
        std::fs::write(path, bytes).expect("a file can be written");
    };
    match which % 9 {
        0 => {
            put(home.ledger_file());
            let Ok(entries) = read_ledger(&home) else { return };
            let other = self::home("files-again");
            entries.iter().for_each(|entry| append_ledger(&other, entry).expect("a line can be added"));
            assert_eq!(read_ledger(&other).expect("what we write we read"), entries);
        }
        1 => {
            put(home.accepted_file());
            let Ok(all) = acceptances(&home) else { return };
            let _ = accepted(&home, date(2026, 11, 22)).expect("it was read before");
            let other = self::home("files-again");
            all.iter().for_each(|acceptance| append_acceptance(&other, acceptance).expect("a line can be added"));
            assert_eq!(acceptances(&other).expect("what we write we read"), all);
        }
        2 => {
            put(home.keys_file());
            let Ok(keys) = Keys::open(&home).list() else { return };
            let _ = keys.iter().filter(|key| key.is_valid_at(Timestamp::UNIX_EPOCH)).count();
        }
        3 => {
            put(home.stream_dir().join("state.json"));
            let Ok(mut state) = FollowState::read(&home) else { return };
            state.write(&home).expect("the state can be written");
            assert_eq!(FollowState::read(&home).expect("what we write we read"), state);
        }
        4 => {
            put(home.stream_dir().join("findings.jsonl"));
            let mut findings = Findings::open(&home).expect("invalid lines are skipped");
            assert_eq!(findings.add(Vec::new()).expect("nothing is written"), 0);
        }
        5 => known_urls(&home, &put),
        6 => {
            // A unit result.
            let Some(written) = receipt_again(bytes) else { return };
            assert_eq!(receipt_again(&written).as_ref(), Some(&written), "what we write we read");
        }
        7 => {
            let plans = Plans::load(&DeclarationFiles::built_in()).expect("the program has plans");
            let name = String::from_utf8_lossy(bytes).into_owned();
            let new = NewKey { name: name.clone(), scopes: vec![Scope::Geo], plan: "free".to_owned(), expires_at: None };
            let Ok(created) = Keys::open(&home).create(new, &plans, Timestamp::UNIX_EPOCH) else { return };
            assert_eq!(printable(&name), name, "a name is shown as it is");
            assert_eq!(Keys::open(&home).list().expect("what we write we read"), [created.entry]);
        }
        _ => {
            put(home.stream_dir().join("accessions.txt"));
            if let Ok(log) = EventLog::open(&home, drop) {
                let _ = log.forgotten().len();
            }
        }
    }
}

/// Reads what is known about a URL, and a partial download of it.
fn known_urls(home: &Home, put: &dyn Fn(std::path::PathBuf)) {
    let snapshots = Snapshots::open(home).expect("snapshots can be opened");
    let (source_id, url) = ("a.list", "https://example.org/list");
    let partial = |snapshots: &Snapshots| -> Option<Partial> { snapshots.partial(source_id, url).ok() };
    // The program chooses the names of the files, so it creates them first.
    let Some(first) = partial(&snapshots) else { return };
    let sidecar = first.path().with_extension("json");
    drop(first);
    put(sidecar);
    if let Some(mut partial) = partial(&snapshots) {
        let _ = partial.origin();
        partial.restart().expect("it restarts");
    }
    let _ = snapshots.known(source_id, url);
    let _ = snapshots.known_of_source(source_id);
}
