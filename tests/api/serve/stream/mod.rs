//! Tests `WS /v1/stream` with a WebSocket client over a real connection, on a log that the tests
//! write.

mod access;
mod asyncapi;
mod limits;
pub mod program;
mod protocol;
pub mod replicas;
mod resume;
mod slow;

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use pubdata_serve::ServeSettings;
use pubdata_store::{EventKind, EventLog, Feed, NewEvent, StreamEntity, StreamFiling};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::{World, sec};

/// Longer than any operation takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a socket, with its event log open for writing.
pub struct Room {
    pub world: World,
    pub address: SocketAddr,
    log: EventLog,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Room {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut ServeSettings)) -> Self {
        let world = World::empty(change).await;
        sec::publish(&world, sec::draft()).await;
        let log = EventLog::open(&world.home, |_| ()).unwrap();
        world.service.follow_log().await.unwrap();
        Self::over(world, log).await
    }

    async fn over(world: World, log: EventLog) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router =
            axum::ServiceExt::<axum::extract::Request>::into_make_service_with_connect_info::<
                SocketAddr,
            >(world.router.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            world,
            address,
            log,
            server,
        }
    }

    /// Logs filings and lets the server read them.
    pub async fn say(&mut self, events: Vec<NewEvent>) {
        self.log.append(events, self.world.now()).unwrap();
        self.world.service.follow_log().await.unwrap();
    }

    /// A socket with the world's key.
    pub async fn connect(&self) -> Client<TcpStream> {
        let mut client = self
            .connect_with(&[("x-api-key", &self.world.key)])
            .await
            .unwrap();
        let welcome = client.next().await;
        assert_eq!(welcome["type"], "welcome");
        client.connection_id = welcome["connection_id"].as_str().unwrap().to_owned();
        client
    }

    /// Opens a socket; returns status and problem if it is refused.
    pub async fn connect_with(
        &self,
        headers: &[(&str, &str)],
    ) -> Result<Client<TcpStream>, (u16, Value)> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        Client::open(stream, &format!("ws://{}/v1/stream", self.address), headers).await
    }
}

/// A filing with a form and one party.
pub fn filing(number: u32, form: &str, cik: &str) -> NewEvent {
    let entity = StreamEntity {
        cik: cik.to_owned(),
        name: None,
        role: Some("filer".to_owned()),
        sic: None,
    };
    let filing = StreamFiling {
        forms: vec![form.to_owned()],
        filed_date: Some("2026-01-15".to_owned()),
        first_seen_at: "2026-01-15T12:00:00Z".to_owned(),
        entities: vec![entity],
        ..StreamFiling::default()
    };
    NewEvent {
        event: EventKind::Filing,
        accession_number: format!("0009999999-26-{number:06}").parse().unwrap(),
        source: Feed::Getcurrent,
        source_url: "https://publisher.example/".to_owned(),
        filing,
    }
}

pub const APPLE: &str = "0000320193";
pub const NVIDIA: &str = "0001045810";

pub struct Client<S> {
    socket: WebSocketStream<S>,
    /// From the welcome message; empty before it.
    pub connection_id: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub async fn open(
        stream: S,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self, (u16, Value)> {
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(
                axum::http::HeaderName::try_from(*name).unwrap(),
                value.parse().unwrap(),
            );
        }
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self {
                socket,
                connection_id: String::new(),
            }),
            Err(Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                Err((
                    response.status().as_u16(),
                    serde_json::from_slice(body).unwrap_or_default(),
                ))
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn send(&mut self, value: &Value) {
        self.send_message(Message::text(value.to_string())).await;
    }

    pub async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    /// Next message of the protocol, checked against the document of the stream.
    pub async fn next(&mut self) -> Value {
        asyncapi::held(self.next_as_sent().await)
    }

    /// Next message without the check, for tests with little time.
    pub async fn next_as_sent(&mut self) -> Value {
        loop {
            match tokio::time::timeout(PATIENCE, self.socket.next())
                .await
                .expect("a message arrives")
            {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Subscribes and returns the answer.
    pub async fn subscribe(&mut self, id: &str, more: Value) -> Value {
        let mut message = json!({"type": "subscribe", "id": id});
        message
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.send(&message).await;
        self.next().await
    }

    /// Messages up to the close, and its code.
    pub async fn until_closed(&mut self) -> (Vec<Value>, Option<u16>) {
        let mut messages = Vec::new();
        loop {
            match tokio::time::timeout(PATIENCE, self.socket.next())
                .await
                .expect("the socket is closed")
            {
                Some(Ok(Message::Text(text))) => {
                    messages.push(asyncapi::held(serde_json::from_str(&text).unwrap()));
                }
                Some(Ok(Message::Close(frame))) => {
                    return (messages, frame.map(|frame| frame.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return (messages, None),
            }
        }
    }

    /// Returns true if nothing follows, as after a close handshake.
    pub async fn is_over(&mut self) -> bool {
        matches!(
            tokio::time::timeout(PATIENCE, self.socket.next()).await,
            Ok(None | Some(Err(Error::ConnectionClosed)))
        )
    }

    /// Error code and close code of a refusal.
    pub async fn refusal(&mut self) -> (String, Option<u16>) {
        let (messages, code) = self.until_closed().await;
        let error = messages.last().unwrap();
        assert_eq!(
            (&error["type"], &error["fatal"]),
            (&json!("error"), &json!(true)),
            "{messages:?}"
        );
        (error["code"].as_str().unwrap().to_owned(), code)
    }
}
