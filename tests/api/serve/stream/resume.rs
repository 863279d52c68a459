use pubdata_store::EventLog;
use serde_json::{Value, json};

use super::{APPLE, NVIDIA, Room, filing};

fn seq(message: &Value) -> u64 {
    message["seq"].as_u64().unwrap()
}

#[tokio::test]
async fn returning_client_gets_missed_filings_and_then_new_ones() {
    let mut room = Room::new().await;
    let mut client = room.connect().await;
    client.subscribe("s", json!({})).await;
    room.say(vec![filing(1, "8-K", APPLE), filing(2, "8-K", APPLE)])
        .await;
    let last = [client.next().await, client.next().await]
        .iter()
        .map(seq)
        .max()
        .unwrap();
    drop(client);
    room.say(vec![filing(3, "8-K", APPLE), filing(4, "8-K", NVIDIA)])
        .await;
    let mut client = room.connect().await;
    assert_eq!(
        client.subscribe("s", json!({"since_seq": last})).await["from_seq"],
        3
    );
    room.say(vec![filing(5, "8-K", APPLE)]).await;
    let mut messages = Vec::new();
    for _ in 0..3 {
        messages.push(client.next().await);
    }
    assert_eq!(
        messages
            .iter()
            .map(|message| (seq(message), message["replay"].as_bool().unwrap()))
            .collect::<Vec<_>>(),
        [(3, true), (4, true), (5, false)]
    );
}

/// Sockets connect, request a replay and disconnect during a flood of filings. Every subscription
/// receives every later number once and in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_and_new_filings_meet_without_gap_or_repeat() {
    const LAST: u64 = 3_000;
    let mut room = Room::new().await;
    room.say(
        (1..=500)
            .map(|number| filing(number, "8-K", APPLE))
            .collect(),
    )
    .await;
    let mut watchers = Vec::new();
    for start in [0_u64, 1, 63, 64, 65, 499, 500] {
        let mut client = room.connect().await;
        watchers.push(tokio::spawn(async move {
            client.subscribe("first", json!({"since_seq": start})).await;
            let mut of_first = Vec::new();
            let mut of_second = Vec::new();
            let mut second_from = None;
            while of_first.last() != Some(&LAST) || of_second.last() != Some(&LAST) {
                if second_from.is_none() && of_first.len() > 400 {
                    client
                        .send(&json!({"type": "subscribe", "id": "second", "since_seq": start / 2}))
                        .await;
                    second_from = Some(start / 2);
                }
                let message = client.next().await;
                for id in message["subscription_ids"].as_array().into_iter().flatten() {
                    if id == "first" {
                        of_first.push(seq(&message));
                    } else {
                        of_second.push(seq(&message));
                    }
                }
            }
            assert_eq!(of_first, (start + 1..=LAST).collect::<Vec<_>>());
            assert_eq!(of_second, (start / 2 + 1..=LAST).collect::<Vec<_>>());
        }));
    }
    let mut number = 501;
    while u64::from(number) <= LAST {
        let next = (number + 97).min(u32::try_from(LAST).unwrap() + 1);
        room.say(
            (number..next)
                .map(|number| filing(number, "8-K", APPLE))
                .collect(),
        )
        .await;
        number = next;
    }
    for watcher in watchers {
        watcher.await.unwrap();
    }
}

/// Numbers of a restarted log are small: its events are not those that existed at the time of the
/// subscription.
#[tokio::test]
async fn events_of_a_restarted_log_are_not_a_replay() {
    let mut room = Room::new().await;
    room.say((1..=3).map(|number| filing(number, "8-K", APPLE)).collect())
        .await;
    let mut client = room.connect().await;
    client.subscribe("s", json!({"since_seq": 0})).await;
    for number in 1..=3 {
        let message = client.next().await;
        assert_eq!((seq(&message), &message["replay"]), (number, &json!(true)));
    }
    std::fs::remove_dir_all(room.world.home.stream_dir()).unwrap();
    room.log = EventLog::open(&room.world.home, |_| ()).unwrap();
    for number in [4, 5] {
        room.say(vec![filing(number, "8-K", APPLE)]).await;
    }
    // Two answers: between them, the socket has noticed that the log is another one.
    for id in ["b", "c"] {
        client
            .subscribe(id, json!({"filters": {"ciks": [NVIDIA]}}))
            .await;
    }
    room.say(vec![filing(6, "8-K", APPLE)]).await;
    let message = client.next().await;
    assert_eq!(
        (
            seq(&message),
            &message["data"]["accession_number"],
            &message["replay"]
        ),
        (3, &json!("0009999999-26-000006"), &json!(false))
    );
}

#[tokio::test]
async fn replay_starts_at_a_time_or_at_a_number() {
    let mut room = Room::new().await;
    for (hour, number) in [(1, 1), (2, 2), (2, 3), (5, 4)] {
        room.world.set_clock(&format!("2026-01-15T0{hour}:00:00Z"));
        room.say(vec![filing(number, "8-K", APPLE)]).await;
    }
    for (since, expected) in [
        ("2026-01-14T00:00:00Z", 1),
        ("2026-01-15T02:00:00Z", 2),
        ("2026-01-15T01:00:00-01:30", 4),
        ("2026-01-15T05:00:00.000000001Z", 5),
    ] {
        let mut client = room.connect().await;
        let answer = client.subscribe("s", json!({"since": since})).await;
        assert_eq!(
            (&answer["type"], &answer["from_seq"]),
            (&json!("subscribed"), &json!(expected)),
            "{since}: {answer}"
        );
        if expected < 5 {
            assert_eq!(
                seq(&client.next().await),
                expected,
                "no gap is reported: no event is missing"
            );
        }
    }
}

#[tokio::test]
async fn expired_events_are_reported_as_a_gap() {
    let mut room = Room::new().await;
    room.world.set_clock("2026-01-10T00:00:00Z");
    room.say(vec![filing(1, "8-K", APPLE), filing(2, "8-K", APPLE)])
        .await;
    room.world.set_clock("2026-01-14T12:00:00Z");
    room.say(vec![filing(3, "8-K", APPLE)]).await;
    let mut client = room
        .connect_with(&[("x-api-key", &room.world.key)])
        .await
        .unwrap();
    let welcome = client.next().await;
    assert_eq!(
        (&welcome["seq"], &welcome["oldest_seq"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(
        client.subscribe("a", json!({"since_seq": 0})).await["from_seq"],
        3
    );
    assert_eq!(
        client.next().await,
        json!({"type": "gap", "id": "a", "from_seq": 1, "to_seq": 2})
    );
    assert_eq!(seq(&client.next().await), 3);
    client
        .subscribe("b", json!({"since": "2026-01-09T00:00:00Z"}))
        .await;
    assert_eq!(
        client.next().await,
        json!({"type": "gap", "id": "b", "from_seq": null, "to_seq": 2}),
        "a time has no known number"
    );
    assert_eq!(seq(&client.next().await), 3);
    client.subscribe("c", json!({"since_seq": 2})).await;
    assert_eq!(client.next().await["type"], "filing", "no event is missing");
}

/// A name of several megabytes used to break the socket of every client that resumed over it.
#[tokio::test]
async fn oversized_event_is_a_gap_and_the_next_one_arrives() {
    let mut room = Room::new().await;
    let mut long = filing(1, "8-K", APPLE);
    long.filing.entities[0].name = Some("N".repeat(4_800_000));
    room.say(vec![long, filing(2, "8-K", APPLE)]).await;
    let mut client = room.connect().await;
    client.subscribe("a", json!({"since_seq": 0})).await;
    assert_eq!(
        client.next().await,
        json!({"type": "gap", "id": "a", "from_seq": 1, "to_seq": 1})
    );
    assert_eq!(seq(&client.next().await), 2);
    client
        .subscribe("b", json!({"since_seq": 0, "filters": {"ciks": [NVIDIA]}}))
        .await;
    room.say(vec![filing(3, "8-K", NVIDIA)]).await;
    assert_eq!(
        seq(&client.next().await),
        3,
        "a subscription that does not match it gets no gap"
    );
}

#[tokio::test]
async fn replayed_filing_has_details_of_the_new_release() {
    let mut room = Room::new().await;
    room.say(vec![filing(1, "8-K", "0009900777")]).await;
    let mut client = room.connect().await;
    let answer = client
        .subscribe(
            "early",
            json!({"filters": {"tickers": ["NEWCO"]}, "since_seq": 0}),
        )
        .await;
    assert_eq!(answer["notices"][0]["code"], "TICKER_UNKNOWN");
    let mut draft = super::sec::draft();
    let newcomer = super::sec::registrant(
        "0009900777",
        json!({"name": "New Company Inc.", "tickers": ["NEWCO"], "exchanges": ["NYSE"]}),
    );
    draft.tables.push(crate::serve::home::Table {
        dataset_id: "sec.registrant",
        vintage_year: None,
        bucket: Some("777"),
        folders: &[],
        rows: vec![newcomer],
        report: pubdata_store::PartReport::default(),
    });
    super::sec::publish(&room.world, draft).await;
    room.say(vec![filing(2, "8-K", "0009900777")]).await;
    let sent = client.next().await;
    assert_eq!(
        (seq(&sent), &sent["data"]["entities"][0]["ticker"]),
        (2, &json!("NEWCO")),
        "the ticker is looked up again"
    );
    client.subscribe("late", json!({"since_seq": 0})).await;
    assert_eq!(
        client.next().await["data"]["entities"][0]["name"],
        "New Company Inc."
    );
}
