use std::time::Duration;

use jiff::Timestamp;
use pubdata_store::{Keys, Scope};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::super::World;
use super::protocol::sockets;
use super::{APPLE, Client, Room, filing};

type Tcp = tokio::net::TcpStream;

async fn without_key(room: &Room) -> Client<Tcp> {
    room.connect_with(&[]).await.unwrap()
}

#[tokio::test]
async fn key_in_the_upgrade_request_is_checked_first() {
    let room = Room::new().await;
    let other = room.world.create_key(&[Scope::Sec], "unlimited").key;
    for (headers, status, code) in [
        (
            vec![("x-api-key", "pd_no_such_key")],
            401,
            "invalid_api_key",
        ),
        (
            vec![("authorization", "Basic YTpi")],
            401,
            "invalid_api_key",
        ),
        (
            vec![("x-api-key", other.as_str())],
            403,
            "insufficient_permission",
        ),
        (
            vec![
                ("x-api-key", other.as_str()),
                ("authorization", "Bearer pd_other"),
            ],
            400,
            "invalid_parameter",
        ),
    ] {
        let (found, problem) = room.connect_with(&headers).await.err().unwrap();
        assert_eq!(
            (found, problem["code"].as_str().unwrap()),
            (status, code),
            "{headers:?}: {problem}"
        );
        assert_eq!(problem["instance"], "/v1/stream");
    }
    assert_eq!(
        room.world.get("/v1/stream").await.problem(),
        (400, "invalid_parameter".to_owned()),
        "no handshake"
    );
    assert_eq!(
        room.world.post("/v1/stream", &json!({})).await.problem(),
        (405, "method_not_allowed".to_owned())
    );
    assert_eq!(
        room.world.get("/v1/stream?key=pd_x").await.problem(),
        (400, "unknown_parameter".to_owned()),
        "no key in the URL"
    );
    assert_eq!(sockets(&room).await, 0);
}

#[tokio::test]
async fn stream_needs_an_event_log() {
    let world = World::new().await;
    let request = axum::http::Request::get("/v1/stream")
        .header("x-api-key", &world.key)
        .header("connection", "upgrade")
        .header("upgrade", "websocket");
    let request = request
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let answer = world
        .send(request.body(axum::body::Body::empty()).unwrap())
        .await;
    // A request in process has no connection to upgrade; the order of the checks decides which
    // problem is returned.
    assert!(matches!(answer.problem(), (400 | 404, _)));
}

#[tokio::test]
async fn browsers_send_the_key_in_the_first_message() {
    let mut room = Room::new().await;
    let mut client = without_key(&room).await;
    client
        .send(&json!({"type": "auth", "token": room.world.key}))
        .await;
    assert_eq!(client.next().await["type"], "welcome");
    client.subscribe("s", json!({})).await;
    room.say(vec![filing(1, "8-K", APPLE)]).await;
    assert_eq!(client.next().await["seq"], 1);
    client
        .send(&json!({"type": "auth", "token": room.world.key}))
        .await;
    assert_eq!(
        client.next().await["fatal"],
        false,
        "one auth message is enough"
    );

    let other = room.world.create_key(&[Scope::Sec], "unlimited").key;
    for (message, code, close) in [
        (
            json!({"type": "auth", "token": "pd_no_such_key"}),
            "invalid_api_key",
            4401,
        ),
        (
            json!({"type": "auth", "token": other}),
            "insufficient_permission",
            4403,
        ),
        (
            json!({"type": "subscribe", "id": "s"}),
            "missing_api_key",
            4401,
        ),
    ] {
        let mut client = without_key(&room).await;
        client.send(&message).await;
        assert_eq!(
            client.refusal().await,
            (code.to_owned(), Some(close)),
            "{message}"
        );
    }
    let mut mistyped = without_key(&room).await;
    mistyped
        .send(&json!({"type": "aut", "token": room.world.key}))
        .await;
    let error = mistyped.next().await;
    assert_eq!(
        (&error["detail"], &error["fatal"]),
        (
            &json!("there is no message type `aut`; did you mean `auth`?"),
            &json!(false)
        )
    );
    mistyped
        .send(&json!({"type": "auth", "token": room.world.key}))
        .await;
    assert_eq!(mistyped.next().await["type"], "welcome");
}

#[tokio::test]
async fn silent_client_is_disconnected() {
    let room =
        Room::with(|settings| settings.limits.stream_auth_time = Duration::from_millis(80)).await;
    let mut client = without_key(&room).await;
    assert_eq!(
        client.refusal().await,
        ("missing_api_key".to_owned(), Some(4401))
    );
}

#[tokio::test]
async fn sockets_are_counted_for_each_key_and_in_total() {
    let room = Room::with(|settings| settings.limits.stream_sockets = 4).await;
    let free = room.world.create_key(&[Scope::Stream], "free").key;
    let with_free = [("x-api-key", free.as_str())];
    let (mut first, second) = (
        room.connect_with(&with_free).await.unwrap(),
        room.connect_with(&with_free).await.unwrap(),
    );
    let (status, problem) = room.connect_with(&with_free).await.err().unwrap();
    assert_eq!((status, &problem["code"]), (429, &json!("rate_limited")));
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("2 open sockets"),
        "{problem}"
    );
    let mut late = without_key(&room).await;
    late.send(&json!({"type": "auth", "token": free})).await;
    assert_eq!(
        late.refusal().await,
        ("rate_limited".to_owned(), Some(4429))
    );
    drop(late);
    let (_third, _fourth) = (room.connect().await, room.connect().await);
    assert_eq!(
        room.connect_with(&[("x-api-key", &room.world.key)])
            .await
            .err()
            .unwrap()
            .0,
        429,
        "the server is full"
    );
    drop(second);
    // The slot is free again once the server has noticed.
    first.next().await;
    while sockets(&room).await > 3 {
        first.send(&json!({"type": "ping"})).await;
        first.next().await;
    }
    room.connect_with(&with_free).await.unwrap();
}

#[tokio::test]
async fn flood_of_messages_ends_the_connection() {
    let room = Room::new().await;
    let free = room.world.create_key(&[Scope::Stream], "free").key;
    let mut client = room.connect_with(&[("x-api-key", &free)]).await.unwrap();
    client.next().await;
    for _ in 0..25 {
        client.send(&json!({"type": "ping"})).await;
    }
    let (messages, code) = client.until_closed().await;
    assert_eq!(
        (
            messages
                .iter()
                .filter(|message| message["type"] == "pong")
                .count(),
            code
        ),
        (19, Some(4429)),
        "the handshake counts too"
    );
}

/// Each ping costs the server an answer, at any protocol level.
#[tokio::test]
async fn flood_of_websocket_pings_ends_the_connection() {
    let room = Room::new().await;
    for flood in [Message::Ping("a".into()), Message::Pong("a".into())] {
        let free = room.world.create_key(&[Scope::Stream], "free").key;
        let mut client = room.connect_with(&[("x-api-key", &free)]).await.unwrap();
        client.next().await;
        for _ in 0..40 {
            client.send_message(flood.clone()).await;
        }
        assert_eq!(
            client.refusal().await,
            ("rate_limited".to_owned(), Some(4429)),
            "{flood:?}"
        );
    }
    let mut unknown = without_key(&room).await;
    for _ in 0..70 {
        unknown.send_message(Message::Ping("a".into())).await;
    }
    assert_eq!(
        unknown.refusal().await,
        ("rate_limited".to_owned(), Some(4429)),
        "nor without a key"
    );
}

#[tokio::test]
async fn replaced_secret_closes_its_sockets_and_the_new_one_opens_others() {
    let room =
        Room::with(|settings| settings.limits.stream_heartbeat = Duration::from_millis(50)).await;
    let created = room.world.create_key(&[Scope::Stream], "standard");
    let mut client = room
        .connect_with(&[("x-api-key", &created.key)])
        .await
        .unwrap();
    client.next().await;
    let rotated = Keys::open(&room.world.home)
        .rotate(
            &created.entry.id,
            &created.entry.sha256,
            0,
            Timestamp::now(),
        )
        .unwrap();
    assert_eq!(
        client.refusal().await,
        ("invalid_api_key".to_owned(), Some(4401))
    );
    let mut stays = room
        .connect_with(&[("x-api-key", &rotated.key)])
        .await
        .unwrap();
    assert_eq!(stays.next().await["type"], "welcome");
    assert_eq!(stays.next().await["type"], "heartbeat");
}

#[tokio::test]
async fn revoked_key_closes_its_sockets() {
    let room =
        Room::with(|settings| settings.limits.stream_heartbeat = Duration::from_millis(50)).await;
    let created = room.world.create_key(&[Scope::Stream], "standard");
    let mut client = room
        .connect_with(&[("x-api-key", &created.key)])
        .await
        .unwrap();
    let mut stays = room.connect().await;
    client.next().await;
    Keys::open(&room.world.home)
        .revoke(&created.entry.id, Timestamp::now())
        .unwrap();
    assert_eq!(
        client.refusal().await,
        ("invalid_api_key".to_owned(), Some(4401))
    );
    assert_eq!(stays.next().await["type"], "heartbeat");
}

/// Many clients, each with its own key, can share one address.
#[tokio::test]
async fn key_in_the_first_message_works_at_an_exhausted_address() {
    let room = Room::new().await;
    let mut client = without_key(&room).await;
    let mut other = without_key(&room).await;
    for _ in 0..70 {
        other.send_message(Message::Ping("a".into())).await;
    }
    assert_eq!(other.refusal().await.1, Some(4429));
    client
        .send(&json!({"type": "auth", "token": room.world.key}))
        .await;
    assert_eq!(client.next().await["type"], "welcome");
}
