//! Checks messages against the AsyncAPI document of the stream, including every message that the
//! tests of this folder receive.

use std::sync::OnceLock;
use std::time::Duration;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::asyncapi_document;
use pubdata_store::{EventKind, NewEvent};
use serde_json::{Value, json};

use super::{APPLE, Room, filing};
use crate::serve::{Survey, World};

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        asyncapi_document(
            &Declarations::load(DeclarationFiles::built_in())
                .unwrap()
                .contracts,
            None,
        )
    })
}

/// Pointer to the schema of a message.
fn schema(message: &Value) -> String {
    let kind = message["type"].as_str().unwrap();
    let payload = &document()["components"]["messages"][kind]["payload"]["$ref"];
    payload
        .as_str()
        .unwrap_or_else(|| panic!("the document has no `{kind}`"))
        .trim_start_matches('#')
        .to_owned()
}

/// Returns the message if it matches the document.
#[track_caller]
pub fn held(message: Value) -> Value {
    let mut survey = Survey::with_roots(document(), Vec::new());
    survey.value(&schema(&message), &message, "message");
    assert!(
        survey.breaches.is_empty(),
        "the document differs: {:#?}",
        survey.breaches
    );
    message
}

#[tokio::test]
async fn document_describes_only_members_that_occur() {
    let mut room =
        Room::with(|settings| settings.limits.stream_heartbeat = Duration::from_millis(300)).await;
    room.world.set_clock("2026-01-10T00:00:00Z");
    room.say(vec![filing(1, "8-K", APPLE)]).await;
    room.world.set_clock("2026-01-14T12:00:00Z");
    let update = NewEvent {
        event: EventKind::Update,
        ..filing(2, "8-K", APPLE)
    };
    room.say(vec![filing(2, "8-K", APPLE), update]).await;
    let mut client = room
        .connect_with(&[("x-api-key", &room.world.key)])
        .await
        .unwrap();
    for said in [
        json!({"type": "subscribe", "id": "s", "since_seq": 0, "filters": {"tickers": ["NOSUCH", "AAPL"], "forms": ["8-K"], "ciks": [320_193, APPLE]}}),
        json!({"type": "ping", "t": [1]}),
        json!({"type": "unsubscribe", "id": "s"}),
        json!({"type": "unsubscribe", "id": "s"}),
    ] {
        client.send(&held(said)).await;
    }
    let kinds = [
        "welcome",
        "subscribed",
        "gap",
        "filing",
        "update",
        "pong",
        "unsubscribed",
        "error",
        "heartbeat",
    ];
    let roots: Vec<String> = document()["components"]["messages"]
        .as_object()
        .unwrap()
        .keys()
        .map(|kind| schema(&json!({"type": kind})))
        .collect();
    let mut survey = Survey::with_roots(document(), roots);
    let mut missing: Vec<&str> = kinds.to_vec();
    while !missing.is_empty() {
        let message = client.next().await;
        missing.retain(|kind| message["type"] != *kind);
        survey.value(&schema(&message), &message, "message");
    }
    assert_eq!(survey.breaches, Vec::<String>::new());
    // The tests in `program` cover the message of a stopping server; the other kinds are sent by
    // clients.
    assert_eq!(
        survey.unwritten(),
        [
            "Auth",
            "Filters",
            "Ping",
            "Reconnect",
            "Subscribe",
            "Unsubscribe"
        ]
    );
    assert_eq!(survey.unrequired(), Vec::<String>::new());
}

#[tokio::test]
async fn every_message_is_in_the_channel_and_every_reference_exists() {
    let world = World::new().await;
    let served = world.ok("/v1/asyncapi.json").await;
    assert_eq!(
        (
            &served["asyncapi"],
            &served["channels"]["stream"]["address"]
        ),
        (&json!("3.0.0"), &json!("/v1/stream"))
    );
    assert_eq!(served["servers"]["this"]["protocol"], "ws");
    let text = served.to_string();
    let references: Vec<&str> = text
        .split("\"$ref\":\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(references.len() > 40);
    for reference in references {
        assert!(served.pointer(reference).is_some(), "{reference}");
    }
    let said = served["operations"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|operation| operation["messages"].as_array().unwrap());
    let answered = served["operations"]["ask"]["reply"]["messages"]
        .as_array()
        .unwrap();
    let used: Vec<&str> = said
        .chain(answered)
        .map(|message| {
            message["$ref"]
                .as_str()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
        })
        .collect();
    for name in served["components"]["messages"].as_object().unwrap().keys() {
        assert!(used.contains(&name.as_str()), "no operation has `{name}`");
    }
    let codes: Vec<&Value> = served["x-closeCodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|code| &code["code"])
        .collect();
    assert_eq!(codes, [4400, 4401, 4403, 4408, 4429, 1012]);
    for said in [
        "10 subscriptions",
        "500 values",
        "64 KiB",
        "within 5 seconds",
    ] {
        assert!(
            served["info"]["description"]
                .as_str()
                .unwrap()
                .contains(said),
            "{said}"
        );
    }
}
