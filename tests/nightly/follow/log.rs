use jiff::{SignedDuration, Timestamp};
use pubdata_store::{EventKind, EventLog, EventTail, Feed, Home, NewEvent, StreamFiling};

fn new(number: u32) -> NewEvent {
    NewEvent {
        event: EventKind::Filing,
        accession_number: super::desk::accession(number).parse().unwrap(),
        source: Feed::Getcurrent,
        source_url: "https://publisher.example/".to_owned(),
        filing: StreamFiling {
            forms: vec!["8-K".to_owned()],
            ..StreamFiling::default()
        },
    }
}

fn hours(hours: i64) -> Timestamp {
    "2026-01-15T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_hours(hours)
}

fn files(home: &Home) -> usize {
    std::fs::read_dir(home.stream_dir().join("log"))
        .unwrap()
        .count()
}

#[test]
fn old_events_are_removed_and_their_numbers_never_reused() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let mut log = EventLog::open(&home, |_| ()).unwrap();
    let mut tail = EventTail::new(&home);
    let mut read = Vec::new();
    for hour in 0..400_i64 {
        let number = u32::try_from(hour).unwrap() + 1;
        log.append(vec![new(number)], hours(hour)).unwrap();
        log.prune(hours(hour)).unwrap();
        read.extend(tail.read().unwrap().into_iter().map(|event| event.seq));
    }
    assert_eq!(
        read,
        (1..=400).collect::<Vec<u64>>(),
        "a reader that keeps up reads each event once, over all segments"
    );
    assert!(files(&home) < 180, "a week of hours: {}", files(&home));
    let kept = EventTail::new(&home).read().unwrap();
    assert!(
        kept.len() < 180 && kept.len() > 72 && kept.last().unwrap().seq == 400,
        "{} events",
        kept.len()
    );
    // Years without a filing: only the count and the numbers stay.
    log.prune(hours(100_000)).unwrap();
    log.prune(hours(100_001)).unwrap();
    drop(log);
    assert_eq!(
        (files(&home), EventTail::new(&home).read().unwrap().len()),
        (1, 0)
    );
    let mut log = EventLog::open(&home, |_| panic!("no event is kept")).unwrap();
    assert_eq!((log.last_seq(), log.forgotten().len()), (400, 400));
    assert!(
        log.forgotten()
            .contains(&super::desk::accession(1).parse().unwrap())
    );
    assert_eq!(
        log.append(vec![new(500)], hours(100_002)).unwrap()[0].seq,
        401
    );
    assert_eq!(
        tail.read()
            .unwrap()
            .into_iter()
            .map(|event| event.seq)
            .collect::<Vec<_>>(),
        [401],
        "the reader continues at its position"
    );
}

/// Replaces text in the first segment of a log.
fn change(home: &Home, from: &str, to: &str) {
    let path = home.stream_dir().join("log/00000000000000000001.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn segment_that_lost_its_last_commit_in_a_power_cut_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let mut log = EventLog::open(&home, |_| ()).unwrap();
    log.append(vec![new(1)], hours(0)).unwrap();
    log.append(vec![new(2)], hours(2)).unwrap();
    drop(log);
    assert_eq!(
        files(&home),
        2,
        "an hour later the log has a second segment"
    );
    change(&home, "{\"committed\":1}\n", "");
    let mut kept = Vec::new();
    drop(EventLog::open(&home, |event| kept.push(event.seq)).unwrap());
    let read: Vec<u64> = EventTail::new(&home)
        .read()
        .unwrap()
        .into_iter()
        .map(|event| event.seq)
        .collect();
    assert_eq!(
        (kept, read),
        (vec![1, 2], vec![1, 2]),
        "readers get what the writer knows"
    );
}

#[test]
fn reader_names_the_line_out_of_sequence_and_reads_no_event_twice() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    EventLog::open(&home, |_| ())
        .unwrap()
        .append(vec![new(1), new(2)], hours(0))
        .unwrap();
    for (from, to) in [
        ("\"seq\":2", "\"seq\":3"),
        ("\"committed\":2", "\"committed\":18446744073709551615"),
        ("{\"seq\":2", "{\"sec\":2"),
    ] {
        let mut tail = EventTail::new(&home);
        change(&home, from, to);
        for _ in 0..3 {
            tail.read().unwrap_err();
            assert_eq!(tail.last_seq(), None, "{to}");
        }
        change(&home, to, from);
        let read: Vec<u64> = tail
            .read()
            .unwrap()
            .into_iter()
            .map(|event| event.seq)
            .collect();
        assert_eq!(read, [1, 2], "after `{to}` was repaired");
    }
}

#[test]
fn log_that_begins_with_an_impossible_number_is_damaged() {
    for first in [
        "00000000000000000000",
        "09007199254740993000",
        "18446744073709551615",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let path = home.stream_dir().join(format!("log/{first}.jsonl"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let first_seq: u64 = first.parse().unwrap();
        std::fs::write(
            &path,
            format!("{{\"format_version\":1,\"first_seq\":{first_seq}}}\n"),
        )
        .unwrap();
        let error = EventLog::open(&home, |_| ()).err().unwrap().to_string();
        assert!(error.contains("a number that no log has"), "{error}");
        assert!(EventTail::new(&home).read().unwrap().is_empty());
    }
}

#[test]
fn lines_behind_a_tear_in_a_batch_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let mut log = EventLog::open(&home, |_| ()).unwrap();
    log.append(vec![new(1)], hours(0)).unwrap();
    log.append(vec![new(2), new(3), new(4)], hours(0)).unwrap();
    drop(log);
    // Power was lost while the second batch was written: a part of it is zeros, and the rest looks
    // like the line that follows.
    change(&home, "{\"committed\":4}\n", "");
    change(&home, "{\"seq\":3,", "\0\0\0\0\0\0\0\0\0");
    change(&home, "{\"seq\":4,", "{\"seq\":3,");
    for _ in 0..2 {
        let mut kept = Vec::new();
        drop(
            EventLog::open(&home, |event| {
                kept.push((event.seq, event.accession_number));
            })
            .unwrap(),
        );
        let read: Vec<_> = EventTail::new(&home)
            .read()
            .unwrap()
            .into_iter()
            .map(|event| (event.seq, event.accession_number))
            .collect();
        assert_eq!(
            kept,
            [
                (1, super::desk::accession(1)),
                (2, super::desk::accession(2))
            ]
        );
        assert_eq!(read, kept, "readers get what the writer knows");
    }
    assert_eq!(
        EventLog::open(&home, |_| ())
            .unwrap()
            .append(vec![new(4)], hours(1))
            .unwrap()[0]
            .seq,
        3
    );
}

#[test]
fn empty_segment_is_damaged_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    drop(EventLog::open(&home, |_| ()).unwrap());
    let path = home.stream_dir().join("log/00000000000000000001.jsonl");
    std::fs::write(&path, "").unwrap();
    for _ in 0..2 {
        let error = EventLog::open(&home, |_| ()).err().unwrap().to_string();
        assert!(
            error.ends_with("line 1: is missing: the file is empty"),
            "{error}"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[test]
fn time_in_the_log_never_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let mut log = EventLog::open(&home, |_| ()).unwrap();
    log.append(vec![new(1)], hours(10)).unwrap();
    log.append(vec![new(2)], hours(2)).unwrap();
    drop(log);
    EventLog::open(&home, |_| ())
        .unwrap()
        .append(vec![new(3)], hours(3))
        .unwrap();
    let times: Vec<String> = EventTail::new(&home)
        .read()
        .unwrap()
        .into_iter()
        .map(|event| event.seen_at)
        .collect();
    assert_eq!(times, ["2026-01-15T10:00:00Z"; 3]);
}

#[test]
fn reader_of_a_restarted_log_reads_it_from_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let mut tail = EventTail::new(&home);
    assert!(
        tail.read().unwrap().is_empty() && tail.last_seq().is_none(),
        "there is no log yet"
    );
    let mut log = EventLog::open(&home, |_| ()).unwrap();
    assert!(tail.read().unwrap().is_empty());
    assert_eq!(tail.last_seq(), Some(0));
    log.append(vec![new(1), new(2)], hours(0)).unwrap();
    assert_eq!(tail.read().unwrap().len(), 2);
    drop(log);
    std::fs::remove_dir_all(home.stream_dir()).unwrap();
    EventLog::open(&home, |_| ())
        .unwrap()
        .append(vec![new(3)], hours(1))
        .unwrap();
    let mut again = tail.read().unwrap();
    again.extend(tail.read().unwrap());
    assert_eq!(again.iter().map(|event| event.seq).collect::<Vec<_>>(), [1]);
    assert_eq!(again[0].accession_number, super::desk::accession(3));
}
