use std::time::{Duration, Instant};

use pubdata_store::{EventKind, NewEvent, StreamEntity, StreamFiling};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::{APPLE, NVIDIA, Room, filing};

fn seqs(messages: &[Value]) -> Vec<u64> {
    messages
        .iter()
        .map(|message| message["seq"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn filing_is_sent_with_details_from_the_release() {
    let mut room = Room::new().await;
    let mut client = room
        .connect_with(&[("authorization", &format!("Bearer {}", room.world.key))])
        .await
        .unwrap();
    let welcome = client.next().await;
    assert_eq!(
        (
            &welcome["type"],
            &welcome["seq"],
            &welcome["oldest_seq"],
            &welcome["heartbeat_seconds"]
        ),
        (&json!("welcome"), &json!(0), &json!(1), &json!(15))
    );
    assert!(!welcome["connection_id"].as_str().unwrap().is_empty());
    assert_eq!(
        client.subscribe("s1", json!({})).await,
        json!({"type": "subscribed", "id": "s1", "from_seq": 1, "notices": []})
    );
    let entity = |cik: &str, role: &str| StreamEntity {
        cik: cik.to_owned(),
        name: Some("As The Feed Says".to_owned()),
        role: Some(role.to_owned()),
        sic: None,
    };
    let event = filing(1, "8-K/A", APPLE);
    let filing = StreamFiling {
        entities: vec![
            entity("0009999998", "reporting"),
            StreamEntity {
                name: None,
                ..entity(APPLE, "issuer")
            },
        ],
        items: vec!["2.02".to_owned()],
        accepted_at: Some("2026-01-15T11:59:00Z".to_owned()),
        primary_document: Some("a8k.htm".to_owned()),
        ..event.filing
    };
    room.say(vec![NewEvent { filing, ..event }]).await;
    let sent = client.next().await;
    assert_eq!(
        (
            &sent["type"],
            &sent["seq"],
            &sent["subscription_ids"],
            &sent["replay"]
        ),
        (&json!("filing"), &json!(1), &json!(["s1"]), &json!(false))
    );
    let data = &sent["data"];
    assert_eq!(data["accession_number"], "0009999999-26-000001");
    assert_eq!(
        (
            &data["form"],
            &data["form_description"],
            &data["is_amendment"]
        ),
        (&json!("8-K/A"), &json!("Current report"), &json!(true))
    );
    assert_eq!(
        (&data["first_seen_at"], &data["accepted_at"]),
        (
            &json!("2026-01-15T12:00:00Z"),
            &json!("2026-01-15T11:59:00Z")
        )
    );
    let expected = json!([
        {"cik": "0009999998", "name": "As The Feed Says", "role": "reporting", "ticker": null, "sic": null, "state": null},
        {"cik": APPLE, "name": "Apple Inc.", "role": "issuer", "ticker": "AAPL", "sic": "3571", "state": "CA"},
    ]);
    assert_eq!(data["entities"], expected);
    assert_eq!(
        (&data["primary_cik"], &data["items"]),
        (&json!(APPLE), &json!(["2.02"]))
    );
    let index = "https://www.sec.gov/Archives/edgar/data/320193/000999999926000001/0009999999-26-000001-index.htm";
    assert_eq!(data["index_url"], index);
    assert!(
        data["primary_document_url"]
            .as_str()
            .unwrap()
            .ends_with("/a8k.htm"),
        "{data}"
    );
    assert_eq!(
        (
            &data["size_bytes"],
            &data["period_of_report"],
            &data["has_xbrl"]
        ),
        (&Value::Null, &Value::Null, &Value::Null),
        "the release does not know it yet"
    );
    assert_eq!(
        data["provenance"]["record_id"],
        "stream.filing:0009999999-26-000001"
    );
    // The same members as in the search, so that one decoder reads both.
    let found = room.world.ok("/v1/filings/search?cik=320193&limit=1").await;
    for name in found["data"][0].as_object().unwrap().keys() {
        assert!(data.as_object().unwrap().contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn each_filter_passes_only_matching_filings() {
    let mut room = Room::new().await;
    let with = |number: u32, form: &str, cik: &str, role: &str, items: &[&str]| {
        let mut event = filing(number, form, cik);
        event.filing.entities[0].role = Some(role.to_owned());
        event.filing.items = items.iter().map(|item| (*item).to_owned()).collect();
        event
    };
    let events = || {
        vec![
            with(1, "8-K", APPLE, "filer", &["2.02", "9.01"]),
            with(2, "8-K", NVIDIA, "filer", &["5.02"]),
            with(3, "10-K", APPLE, "filer", &[]),
            with(4, "10-K/A", NVIDIA, "filer", &[]),
            with(5, "4", APPLE, "issuer", &[]),
            with(6, "SC 13D", "0000055785", "filed_by", &[]),
        ]
    };
    room.say(events()).await;
    let cases = [
        (json!({}), vec![1, 2, 3, 4, 5, 6]),
        (json!({"forms": []}), vec![1, 2, 3, 4, 5, 6]),
        (json!({"forms": ["8-k"]}), vec![1, 2]),
        (json!({"forms": ["10-K"]}), vec![3]),
        (json!({"forms": ["10-K/A", "sc 13d"]}), vec![4, 6]),
        (json!({"ciks": ["320193"]}), vec![1, 3, 5]),
        (json!({"ciks": [1_045_810, "0000055785"]}), vec![2, 4, 6]),
        (json!({"tickers": ["aapl"]}), vec![1, 3, 5]),
        (json!({"tickers": ["KMB.A", "NVDA"]}), vec![2, 4, 6]),
        (json!({"items": ["9.01"]}), vec![1]),
        (json!({"entity_roles": ["Filed by", "issuer"]}), vec![5, 6]),
        (
            json!({"forms": ["8-K", "10-K"], "tickers": ["AAPL"], "entity_roles": ["filer"]}),
            vec![1, 3],
        ),
        (json!({"forms": ["8-K"], "ciks": ["55785"]}), vec![]),
    ];
    for (filters, expected) in cases {
        let mut client = room.connect().await;
        client
            .subscribe("s", json!({"filters": filters, "since_seq": 0}))
            .await;
        client.send(&json!({"type": "ping", "t": 7})).await;
        let mut found = Vec::new();
        loop {
            let message = client.next().await;
            if message["type"] == "pong" {
                break;
            }
            assert_eq!(message["replay"], true);
            found.push(message);
        }
        // Pending messages are sent before the next client message is read.
        assert_eq!(seqs(&found), expected, "{filters}");
    }
    let mut client = room.connect().await;
    let answer = client
        .subscribe("s", json!({"filters": {"tickers": ["NOSUCH", "AAPL"]}}))
        .await;
    assert_eq!(answer["notices"][0]["code"], "TICKER_UNKNOWN");
    assert!(
        answer["notices"][0]["message"]
            .as_str()
            .unwrap()
            .contains("NOSUCH"),
        "{answer}"
    );
}

#[tokio::test]
async fn one_message_serves_all_matching_subscriptions() {
    let mut room = Room::new().await;
    let mut client = room.connect().await;
    client.subscribe("all", json!({})).await;
    client
        .subscribe("apple", json!({"filters": {"tickers": ["AAPL"]}}))
        .await;
    client
        .subscribe("ten", json!({"filters": {"forms": ["10-K"]}}))
        .await;
    room.say(vec![
        filing(1, "8-K", APPLE),
        filing(2, "10-K", APPLE),
        filing(3, "10-K", NVIDIA),
    ])
    .await;
    for expected in [
        json!(["all", "apple"]),
        json!(["all", "apple", "ten"]),
        json!(["all", "ten"]),
    ] {
        assert_eq!(client.next().await["subscription_ids"], expected);
    }
    client
        .send(&json!({"type": "unsubscribe", "id": "all"}))
        .await;
    assert_eq!(
        client.next().await,
        json!({"type": "unsubscribed", "id": "all"})
    );
    room.say(vec![filing(4, "8-K", NVIDIA), filing(5, "10-K", NVIDIA)])
        .await;
    assert_eq!(seqs(&[client.next().await]), [5]);
    let mut update = filing(5, "10-K", NVIDIA);
    update.event = EventKind::Update;
    room.say(vec![update]).await;
    let sent = client.next().await;
    assert_eq!(
        (
            &sent["type"],
            &sent["seq"],
            &sent["data"]["accession_number"]
        ),
        (&json!("update"), &json!(6), &json!("0009999999-26-000005"))
    );
}

#[tokio::test]
async fn invalid_subscriptions_are_refused_and_the_connection_stays() {
    let room = Room::new().await;
    let mut client = room.connect().await;
    let many: Vec<String> = (1..=501).map(|number| number.to_string()).collect();
    for (more, word) in [
        (json!({"filters": {"forms": ["8-K; DROP"]}}), "`forms`"),
        (json!({"filters": {"ciks": ["x"]}}), "`ciks`"),
        (json!({"filters": {"ciks": [0]}}), "`ciks`"),
        (json!({"filters": {"tickers": [""]}}), "`tickers`"),
        (json!({"filters": {"items": ["two"]}}), "`items`"),
        (
            json!({"filters": {"forms": ["8-K", "10k/A"]}}),
            "there is no form type `10K/A`; did you mean `10-K/A`?",
        ),
        (json!({"filters": {"ciks": many}}), "at most 500"),
        (json!({"since_seq": 5}), "ends with 0"),
        (json!({"since": "yesterday"}), "`since`"),
        (
            json!({"since": "2026-01-15T00:00:00Z", "since_seq": 0}),
            "not both",
        ),
    ] {
        let answer = client.subscribe("s", more.clone()).await;
        assert_eq!(
            (&answer["type"], &answer["code"], &answer["fatal"]),
            (&json!("error"), &json!("invalid_parameter"), &json!(false)),
            "{more}: {answer}"
        );
        assert!(
            answer["detail"].as_str().unwrap().contains(word),
            "{more}: {answer}"
        );
        assert_eq!(
            answer["id"], "s",
            "{more}: an error names the subscription of the message"
        );
    }
    for (message, code, title, detail) in [
        (
            json!({"type": "subscrbe", "id": "s"}),
            "invalid_parameter",
            "Invalid parameter",
            "there is no message type `subscrbe`; did you mean `subscribe`?",
        ),
        (
            json!({"type": 3, "id": "s"}),
            "invalid_parameter",
            "Invalid parameter",
            "`type` is not a string",
        ),
        (
            json!({"id": "s"}),
            "missing_parameter",
            "Missing parameter",
            "the message needs a `type`: auth, subscribe, unsubscribe, ping",
        ),
    ] {
        client.send(&message).await;
        let errors = json!([{"field": "type", "code": code, "message": detail}]);
        let expected = json!({
            "type": "error", "title": title, "detail": detail, "code": code, "request_id": client.connection_id, "errors": errors, "fatal": false, "id": "s"
        });
        assert_eq!(
            client.next().await,
            expected,
            "a mistyped message does not end the connection"
        );
    }
    for (message, code, field, detail) in [
        (
            json!({"type": "subscribe"}),
            "missing_parameter",
            "id",
            "the message needs `id`: a string",
        ),
        (
            json!({"type": "unsubscribe"}),
            "missing_parameter",
            "id",
            "the message needs `id`: a string",
        ),
        (
            json!({"type": "auth"}),
            "missing_parameter",
            "token",
            "the message needs `token`: a string",
        ),
        (
            json!({"type": "subscribe", "id": 1}),
            "invalid_parameter",
            "id",
            "`id` must be a string",
        ),
        (
            json!({"type": "subscribe", "id": "s", "since_seq": -1}),
            "invalid_parameter",
            "since_seq",
            "`since_seq` must be a whole number from 0",
        ),
        (
            json!({"type": "subscribe", "id": "s", "filter": {}}),
            "unknown_parameter",
            "filter",
            "there is no member `filter` here; did you mean `filters`?",
        ),
        (
            json!({"type": "subscribe", "id": "s", "filters": []}),
            "invalid_parameter",
            "filters",
            "`filters` must be an object",
        ),
        (
            json!({"type": "subscribe", "id": "s", "filters": {"form": ["8-K"]}}),
            "unknown_parameter",
            "filters.form",
            "there is no member `filters.form` here; did you mean `forms`?",
        ),
        (
            json!({"type": "subscribe", "id": "s", "filters": {"forms": "8-K"}}),
            "invalid_parameter",
            "filters.forms",
            "`filters.forms` must be an array of strings",
        ),
        (
            json!({"type": "subscribe", "id": "s", "filters": {"ciks": [true]}}),
            "invalid_parameter",
            "filters.ciks",
            "`filters.ciks` must be an array of CIKs",
        ),
    ] {
        client.send(&message).await;
        let answer = client.next().await;
        assert_eq!(
            answer["errors"],
            json!([{"field": field, "code": code, "message": detail}]),
            "{message}: {answer}"
        );
        assert_eq!(
            (&answer["code"], &answer["detail"]),
            (&json!(code), &json!(detail)),
            "{message}"
        );
    }
    let answer = client.subscribe("s", json!({"since": "yesterday"})).await;
    assert_eq!(
        (&answer["errors"][0]["field"], &answer["errors"][0]["code"]),
        (&json!("since"), &json!("invalid_parameter"))
    );
    for number in 0..10 {
        assert_eq!(
            client.subscribe(&format!("s{number}"), json!({})).await["type"],
            "subscribed"
        );
    }
    assert!(
        client.subscribe("s10", json!({})).await["detail"]
            .as_str()
            .unwrap()
            .contains("at most 10")
    );
    assert!(
        client.subscribe("s3", json!({})).await["detail"]
            .as_str()
            .unwrap()
            .contains("unsubscribe it first")
    );
    client
        .send(&json!({"type": "unsubscribe", "id": "other"}))
        .await;
    assert_eq!(client.next().await["fatal"], false);
    client.send(&json!({"type": "ping", "t": {"a": [1]}})).await;
    assert_eq!(
        client.next().await,
        json!({"type": "pong", "t": {"a": [1]}})
    );
}

#[tokio::test]
async fn invalid_message_ends_the_connection() {
    let room = Room::new().await;
    for message in [
        Message::text("not JSON"),
        Message::text("[]"),
        Message::binary(br#"{"type": "ping"}"#.to_vec()),
        Message::text(format!(
            "{{\"type\": \"ping\", \"t\": \"{}\"}}",
            "a".repeat(70_000)
        )),
    ] {
        let mut client = room.connect().await;
        let shown = message.to_string().chars().take(40).collect::<String>();
        client.send_message(message).await;
        assert_eq!(client.refusal().await.1, Some(4400), "{shown}");
    }
}

#[tokio::test]
async fn client_close_is_answered() {
    let room = Room::new().await;
    for frame in [
        None,
        Some(CloseFrame {
            code: CloseCode::Normal,
            reason: "done".into(),
        }),
    ] {
        let mut client = room.connect().await;
        let code = frame.as_ref().map(|frame| u16::from(frame.code));
        client.send_message(Message::Close(frame)).await;
        let (_, answered) = client.until_closed().await;
        assert_eq!(answered, code);
        assert!(
            client.is_over().await,
            "the close handshake completes before the connection ends"
        );
    }
}

#[tokio::test]
async fn heartbeats_are_sent_during_silence() {
    let mut room =
        Room::with(|settings| settings.limits.stream_heartbeat = Duration::from_millis(60)).await;
    room.say(vec![filing(1, "8-K", APPLE)]).await;
    let mut client = room.connect().await;
    for _ in 0..3 {
        assert_eq!(
            client.next().await,
            json!({"type": "heartbeat", "seq": 1, "ts": "2026-01-15T12:00:00Z"})
        );
    }
}

#[tokio::test]
async fn unresponsive_client_is_disconnected() {
    let room = Room::with(|settings| {
        settings.limits.stream_heartbeat = Duration::from_millis(200);
        settings.limits.stream_silence = Duration::from_secs(1);
    })
    .await;
    // A client that reads answers pings automatically, and stays.
    let mut client = room.connect().await;
    let reading = tokio::spawn(async move {
        loop {
            client.next().await;
        }
    });
    let silent = room.connect().await;
    let began = Instant::now();
    assert_eq!(sockets(&room).await, 2);
    while sockets(&room).await == 2 {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "the silent client is never disconnected"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        (sockets(&room).await, reading.is_finished()),
        (1, false),
        "the reading client was connected for longer, and stays"
    );
    drop(silent);
}

/// Open sockets according to the server's metrics.
pub async fn sockets(room: &Room) -> u64 {
    let metrics = room.world.get("/metrics").await;
    let text = String::from_utf8(metrics.bytes).unwrap();
    text.lines()
        .find_map(|line| line.strip_prefix("pubdata_stream_sockets "))
        .unwrap()
        .parse()
        .unwrap()
}
