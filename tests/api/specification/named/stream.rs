//! Tests the stream with a WebSocket client over a real connection.

use futures_util::{SinkExt, StreamExt};
use pubdata_store::{EventKind, EventLog, Feed, NewEvent, Scope, StreamEntity, StreamFiling};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::same;
use crate::serve::at_an_address;
use crate::specification::Desk;

/// Message of the server; `null` if the socket is closed.
async fn message<S: StreamExt<Item = Result<Message, E>> + Unpin, E>(socket: &mut S) -> Value {
    loop {
        match tokio::time::timeout(std::time::Duration::from_secs(20), socket.next())
            .await
            .expect("a message in time")
        {
            Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            _ => return Value::Null,
        }
    }
}

/// Opens sockets with Bearer tokens, as the general reference says, and logs a filing of the SEC's
/// current feed.
pub async fn stream_sends_filings(desk: &Desk) -> Result<(), String> {
    let mut log = EventLog::open(&desk.served.home, |_| ()).unwrap();
    desk.served.service.follow_log().await.unwrap();
    let address = at_an_address(&desk.served).await.replace("http://", "");
    let open = async |key: &str| {
        let mut request = format!("ws://{address}/v1/stream")
            .into_client_request()
            .unwrap();
        request
            .headers_mut()
            .insert("authorization", format!("Bearer {key}").parse().unwrap());
        tokio_tungstenite::client_async(request, TcpStream::connect(&address).await.unwrap())
            .await
            .map(|(socket, _)| socket)
    };
    for (key, status) in [
        ("pd_wrong".to_owned(), 401),
        (desk.key(&[Scope::General], "unlimited"), 403),
    ] {
        match open(&key).await {
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                same("refused upgrade", response.status().as_u16(), status)?;
            }
            other => {
                return Err(format!(
                    "expected: {status}\n    came:     {:?}",
                    other.map(drop)
                ));
            }
        }
    }
    let mut socket = open(&desk.served.key)
        .await
        .map_err(|error| error.to_string())?;
    same(
        "first message",
        message(&mut socket).await["type"].clone(),
        json!("welcome"),
    )?;
    let subscribe = json!({"type": "subscribe", "id": "s", "filters": {"forms": ["8-K"]}});
    socket
        .send(Message::text(subscribe.to_string()))
        .await
        .unwrap();
    same(
        "answer to subscribe",
        message(&mut socket).await["type"].clone(),
        json!("subscribed"),
    )?;
    let event = |number: u32, form: &str| NewEvent {
        event: EventKind::Filing,
        accession_number: format!("0000320193-26-{number:06}").parse().unwrap(),
        source: Feed::Getcurrent,
        source_url: "https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent".to_owned(),
        filing: StreamFiling {
            forms: vec![form.to_owned()],
            filed_date: Some("2026-11-02".to_owned()),
            first_seen_at: "2026-11-02T12:00:00Z".to_owned(),
            entities: vec![StreamEntity {
                cik: "0000320193".to_owned(),
                name: Some("Apple Inc.".to_owned()),
                role: Some("filer".to_owned()),
                sic: None,
            }],
            ..StreamFiling::default()
        },
    };
    log.append(vec![event(1, "4"), event(2, "8-K")], jiff::Timestamp::now())
        .unwrap();
    desk.served.service.follow_log().await.unwrap();
    let filing = message(&mut socket).await;
    same(
        "filing",
        (&filing["type"], &filing["data"]["accession_number"]),
        (&json!("filing"), &json!("0000320193-26-000002")),
    )?;
    same(
        "its form and company",
        (
            &filing["data"]["forms"],
            &filing["data"]["entities"][0]["cik"],
        ),
        (&json!(["8-K"]), &json!("0000320193")),
    )?;
    socket
        .send(Message::text(
            json!({"type": "subscribe", "id": "again", "filters": {"forms": 8}}).to_string(),
        ))
        .await
        .unwrap();
    let error = message(&mut socket).await;
    same(
        "error of a subscription",
        (&error["type"], &error["id"]),
        (&json!("error"), &json!("again")),
    )?;
    let missing: Vec<&str> = ["title", "detail", "code", "request_id", "errors"]
        .into_iter()
        .filter(|name| error.get(name).is_none())
        .collect();
    same("members that the error lacks", missing, Vec::new())
}
