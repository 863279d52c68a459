use std::time::{Duration, Instant};

use serde_json::json;

use super::protocol::sockets;
use super::{APPLE, Room, filing};

/// A filing whose message is as long as they come, so that what the system buffers is soon full.
fn long(number: u32) -> pubdata_store::NewEvent {
    let mut event = filing(number, "8-K", APPLE);
    event.filing.entities[0].name = Some("N".repeat(20_000));
    event
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_does_not_read_is_cut_off_and_the_others_notice_nothing() {
    let mut room = Room::with(|settings| {
        settings.limits.stream_queue = 200;
        settings.limits.stream_grace = Duration::from_millis(100);
    })
    .await;
    let mut slow = room.connect().await;
    slow.subscribe("s", json!({})).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let mut client = room.connect().await;
        client.subscribe("s", json!({})).await;
        others.push(client);
    }
    let mut number = 0;
    while sockets(&room).await == 4 {
        assert!(number < 20_000, "the slow one is never cut off");
        room.say(
            (number..number + 50)
                .map(|number| long(number + 1))
                .collect(),
        )
        .await;
        number += 50;
        for client in &mut others {
            for expected in number - 49..=number {
                assert_eq!(client.next().await["seq"], expected);
            }
        }
    }
    assert!(number > 200, "{number}: so many may wait");
    // What had left the server before is still there to be read; then comes the reason, or the end
    // of the connection.
    let (messages, code) = slow.until_closed().await;
    assert!(messages.len() < number as usize);
    assert!(matches!(code, Some(4408) | None), "{code:?}");
    room.say(vec![filing(number + 1, "8-K", APPLE)]).await;
    for client in &mut others {
        assert_eq!(client.next().await["seq"], number + 1);
    }
}

/// A long replay is no queue: it waits in the log until the client has read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_asks_for_a_long_past_may_take_its_time() {
    let mut room = Room::with(|settings| {
        settings.limits.stream_queue = 50;
        settings.limits.stream_grace = Duration::from_millis(20);
    })
    .await;
    room.say((1..=2_000).map(long).collect()).await;
    let mut client = room.connect().await;
    client.subscribe("s", json!({"since_seq": 0})).await;
    for _ in 0..10 {
        room.world.service.follow_log().await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for expected in 1..=2_000 {
        assert_eq!(client.next().await["seq"], expected);
    }
}

/// Catching up may take longer than the grace, as long as it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_catches_up_slowly_is_cut_off_when_it_stops() {
    let mut room = Room::with(|settings| {
        settings.limits.stream_queue = 50;
        settings.limits.stream_grace = Duration::from_secs(3);
    })
    .await;
    let mut client = room.connect().await;
    client.subscribe("s", json!({})).await;
    // 68 MB, of which the system's buffers hold a few. It is read in more than five seconds.
    room.say((1..=3_400).map(long).collect()).await;
    for expected in 1..=2_600 {
        let mut message = client.next_as_sent().await;
        if message["type"] == "subscribed" {
            message = client.next_as_sent().await;
        }
        assert_eq!(message["seq"], expected);
        if expected % 25 == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if expected == 1_300 {
            // Asking for the past again is not falling behind.
            client.send(&json!({"type": "subscribe", "id": "again", "since_seq": 0, "filters": {"ciks": ["0000000001"]}})).await;
        }
    }
    let stopped = Instant::now();
    while sockets(&room).await == 1 {
        // Sooner than one who reads nothing at all for as long as a write may take.
        assert!(
            stopped.elapsed() < Duration::from_secs(15),
            "it is never cut off"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The index of a day brings thousands of filings at once: who reads them is not slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_is_no_reason_to_cut_anyone_off() {
    let mut room = Room::new().await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = room.connect().await;
        client.subscribe("s", json!({})).await;
        clients.push(client);
    }
    room.say(
        (1..=5_000)
            .map(|number| filing(number, "8-K", APPLE))
            .collect(),
    )
    .await;
    // All at once: who waits for the others to have read does not read.
    let read = clients.iter_mut().map(|client| async move {
        for expected in 1..=5_000 {
            assert_eq!(client.next_as_sent().await["seq"], expected);
        }
    });
    futures_util::future::join_all(read).await;
}
