use std::time::{Duration, Instant};

use serde_json::json;

use super::protocol::sockets;
use super::{APPLE, Room, filing};

/// A filing with the longest possible message, so that system buffers fill up soon.
fn long(number: u32) -> pubdata_store::NewEvent {
    let mut event = filing(number, "8-K", APPLE);
    event.filing.entities[0].name = Some("N".repeat(20_000));
    event
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_stops_reading_is_cut_off_without_harm_to_others() {
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
        assert!(number < 20_000, "the slow client is never disconnected");
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
    assert!(number > 200, "{number}: this many messages may wait");
    // The client can still read what the server had sent before; then comes the reason, or the end
    // of the connection.
    let (messages, code) = slow.until_closed().await;
    assert!(messages.len() < number as usize);
    assert!(matches!(code, Some(4408) | None), "{code:?}");
    room.say(vec![filing(number + 1, "8-K", APPLE)]).await;
    for client in &mut others {
        assert_eq!(client.next().await["seq"], number + 1);
    }
}

/// A long replay is not a queue: it waits in the log until the client has read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_with_a_long_replay_may_read_slowly() {
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

/// Catching up may take longer than the grace period, as long as it makes progress.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_stops_catching_up_is_disconnected() {
    let mut room = Room::with(|settings| {
        settings.limits.stream_queue = 50;
        settings.limits.stream_grace = Duration::from_secs(3);
    })
    .await;
    let mut client = room.connect().await;
    client.subscribe("s", json!({})).await;
    // 68 MB, of which the system's buffers hold a few. Reading takes more than five seconds.
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
            // A second replay does not count as falling behind.
            client.send(&json!({"type": "subscribe", "id": "again", "since_seq": 0, "filters": {"ciks": ["0000000001"]}})).await;
        }
    }
    let stopped = Instant::now();
    while sockets(&room).await == 1 {
        // Sooner than a client that reads nothing for the duration of a write timeout.
        assert!(
            stopped.elapsed() < Duration::from_secs(15),
            "the client is never disconnected"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A daily index brings thousands of filings at once: a client that reads them is not slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn burst_of_filings_disconnects_no_client() {
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
    // All in parallel: a client that waits for the others to finish does not read.
    let read = clients.iter_mut().map(|client| async move {
        for expected in 1..=5_000 {
            assert_eq!(client.next_as_sent().await["seq"], expected);
        }
    });
    futures_util::future::join_all(read).await;
}
