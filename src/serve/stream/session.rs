//! Runs one socket: authentication, subscriptions and messages.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::SinkExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::http::auth::Client;
use crate::http::problem::{Code, Problem};
use crate::stream::Stream;
use crate::stream::frames;
use crate::stream::frames::{Auth, ClientFrame, Ping, RejectedMessage, ServerFrame};
use crate::stream::sockets::Slot;
use crate::stream::subscriptions::Subscriptions;
use pubdata_store::Scope;

pub const BAD_MESSAGE: u16 = 4400;
pub const UNAUTHORIZED: u16 = 4401;
pub const FORBIDDEN: u16 = 4403;
pub const SLOW_CONSUMER: u16 = 4408;
pub const TOO_MANY: u16 = 4429;
pub const RESTART: u16 = 1012;

/// Time limit for an event to arrive here after another server of the same store has sent it.
const REPLICATION_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a message, in bytes. A message with the maximum number of filter values is far
/// smaller.
pub const MESSAGE_BYTES: usize = 64 << 10;
/// How long a client may take to answer a close frame.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// Interval within which clients reconnect after a restart, each at a random moment.
pub const RECONNECT_SECONDS: u64 = 30;

/// Client that opens a socket.
pub struct AdmittedSocket {
    /// The client, which has no scopes if no key was sent yet.
    pub client: Arc<Client>,
    pub slot: Slot,
    pub connection_id: String,
}

/// Reason why a socket ends.
#[derive(Debug)]
enum SessionEnd {
    /// The client closed the connection.
    Gone,
    /// The server closes the connection after a last message.
    Close { code: u16, last: Last },
}

/// Last message before the server closes a socket.
#[derive(Debug)]
enum Last {
    Error(Problem),
    SlowConsumer(String),
    Reconnect,
}

impl Last {
    fn frame(&self, connection_id: &str) -> String {
        match self {
            Self::Error(problem) => frames::fatal_error(problem, connection_id),
            Self::SlowConsumer(message) => frames::slow_consumer(message, connection_id),
            Self::Reconnect => ServerFrame::Reconnect {
                within_seconds: RECONNECT_SECONDS,
            }
            .text(),
        }
    }

    /// Returns the reason in the close frame.
    fn reason(&self) -> &str {
        match self {
            Self::Error(problem) => &problem.detail,
            Self::SlowConsumer(message) => message,
            Self::Reconnect => "the server restarts",
        }
    }
}

impl SessionEnd {
    fn error(close_code: u16, code: Code, message: impl Into<String>) -> Self {
        Self::Close {
            code: close_code,
            last: Last::Error(Problem::new(code, message)),
        }
    }

    fn slow(message: &str) -> Self {
        Self::Close {
            code: SLOW_CONSUMER,
            last: Last::SlowConsumer(message.to_owned()),
        }
    }

    fn restart() -> Self {
        Self::Close {
            code: RESTART,
            last: Last::Reconnect,
        }
    }

    fn from_problem(problem: Problem) -> Self {
        let code = match problem.code {
            Code::MissingApiKey | Code::InvalidApiKey => UNAUTHORIZED,
            Code::InsufficientPermission => FORBIDDEN,
            Code::RateLimited => TOO_MANY,
            _ => BAD_MESSAGE,
        };
        Self::Close {
            code,
            last: Last::Error(problem),
        }
    }
}

/// Serves a socket until it ends.
pub async fn run(stream: Arc<Stream>, mut socket: WebSocket, entrance: AdmittedSocket) {
    let connection_id = entrance.connection_id.clone();
    let mut session = Session {
        head: stream.head.subscribe(),
        stop: stream.stop.subscribe(),
        client: entrance.client,
        slot: entrance.slot,
        connection_id: entrance.connection_id,
        subscriptions: Subscriptions::default(),
        last_sent: Instant::now(),
        last_heard: Instant::now(),
        pending_pongs: 0,
        behind: None,
        stream,
    };
    let Err(end) = session.serve(&mut socket).await;
    tracing::debug!(
        connection = connection_id,
        client = session.client.id,
        "socket ends: {end:?}"
    );
    // The answer to a client's close frame is sent with the next flush.
    if matches!(end, SessionEnd::Gone) {
        let _ = timeout(CLOSE_TIME, socket.flush()).await;
    }
    if let SessionEnd::Close { code, last } = end {
        let (last, mut reason) = (last.frame(&connection_id), last.reason().to_owned());
        // A close frame has room for 123 bytes.
        while reason.len() > 120 {
            reason.pop();
        }
        let farewell = async {
            socket.send(Message::Text(last.into())).await?;
            socket
                .send(Message::Close(Some(CloseFrame {
                    code,
                    reason: reason.into(),
                })))
                .await?;
            // Waits for the client's close frame. Closing with unread input would make the system
            // discard data that the client has not read yet.
            while let Some(Ok(_)) = socket.recv().await {}
            Ok::<(), axum::Error>(())
        };
        let _ = timeout(CLOSE_TIME, farewell).await;
    }
}

struct Session {
    stream: Arc<Stream>,
    head: watch::Receiver<(u64, u64)>,
    stop: watch::Receiver<bool>,
    client: Arc<Client>,
    slot: Slot,
    connection_id: String,
    subscriptions: Subscriptions,
    last_sent: Instant,
    last_heard: Instant,
    /// Number of unanswered pings.
    pending_pongs: u32,
    /// Time of the last pace check and the lag at that time, while too many events wait.
    behind: Option<(Instant, u64)>,
}

type Outcome<T> = Result<T, SessionEnd>;

impl Session {
    async fn serve(&mut self, socket: &mut WebSocket) -> Outcome<std::convert::Infallible> {
        if self.client.scopes.is_empty() {
            self.authenticate(socket).await?;
        }
        let limits = self.stream.service.settings.limits;
        let welcome = {
            let ring = self.stream.ring();
            let (connection_id, heartbeat_seconds) =
                (&*self.connection_id, limits.stream_heartbeat.as_secs());
            ServerFrame::Welcome {
                connection_id,
                seq: ring.head(),
                oldest_seq: ring.oldest(),
                heartbeat_seconds,
            }
            .text()
        };
        self.send(socket, vec![welcome]).await?;
        let mut look = tokio::time::interval(limits.stream_heartbeat);
        loop {
            if *self.stop.borrow() {
                return Err(SessionEnd::restart());
            }
            self.head.borrow_and_update();
            let (messages, has_more) = self.subscriptions.next_messages(&self.stream);
            self.check_pace()?;
            if !messages.is_empty() {
                self.send(socket, messages).await?;
            }
            tokio::select! {
                biased;
                _ = self.stop.changed() => {}
                message = socket.recv() => self.handle_message(socket, message).await?,
                () = std::future::ready(()), if has_more => {}
                _ = self.head.changed() => {}
                _ = look.tick() => self.check_liveness(socket).await?,
                () = sleep_until(self.last_sent + limits.stream_heartbeat) => {
                    let seq = self.subscriptions.served_through().unwrap_or_else(|| self.stream.ring().head());
                    self.send(socket, vec![ServerFrame::Heartbeat { seq, ts: self.stream.service.now() }.text()]).await?;
                }
            }
        }
    }

    /// Waits for the frame with the key, from clients that cannot set headers.
    async fn authenticate(&mut self, socket: &mut WebSocket) -> Outcome<()> {
        let time = self.stream.service.settings.limits.stream_auth_time;
        let late = || {
            SessionEnd::error(
                UNAUTHORIZED,
                Code::MissingApiKey,
                format!(
                    "no key arrived within {} s: send {{\"type\":\"auth\",\"token\":…}} first",
                    time.as_secs()
                ),
            )
        };
        let deadline = Instant::now() + time;
        loop {
            let message = tokio::time::timeout_at(deadline, socket.recv())
                .await
                .map_err(|_| late())?;
            // A message with a key is charged to the key's holder. The address has paid for the
            // upgrade, which allows one attempt.
            let has_key = matches!(&message, Some(Ok(Message::Text(text))) if matches!(ClientFrame::read(text), Ok(ClientFrame::Auth(_))));
            if !has_key {
                self.meter(message.as_ref()).await?;
            }
            let Some(text) = text_of(message)? else {
                continue;
            };
            let token = match ClientFrame::read(&text) {
                Ok(ClientFrame::Auth(Auth { token })) => token,
                Ok(_) => {
                    return Err(SessionEnd::error(
                        UNAUTHORIZED,
                        Code::MissingApiKey,
                        "the first message must be `auth`, unless the key is sent with the upgrade",
                    ));
                }
                Err(RejectedMessage::InvalidMember { problem, id }) => {
                    self.send(
                        socket,
                        vec![frames::error(&problem, &self.connection_id, id.as_deref())],
                    )
                    .await?;
                    continue;
                }
                Err(RejectedMessage::MalformedMessage(message)) => {
                    return Err(SessionEnd::error(BAD_MESSAGE, Code::InvalidJson, message));
                }
            };
            let client = self
                .stream
                .service
                .keys
                .holder(&token, self.stream.service.now())
                .map_err(SessionEnd::from_problem)?;
            if !client.scopes.contains(&Scope::Stream) {
                return Err(SessionEnd::error(
                    FORBIDDEN,
                    Code::InsufficientPermission,
                    "the stream needs a key with the scope `stream`",
                ));
            }
            self.slot = self
                .stream
                .sockets
                .admit(&client)
                .map_err(SessionEnd::from_problem)?;
            self.client = client;
            return self.take_token().await;
        }
    }

    /// Handles a message from the client.
    async fn handle_message(
        &mut self,
        socket: &mut WebSocket,
        message: Option<Result<Message, axum::Error>>,
    ) -> Outcome<()> {
        self.last_heard = Instant::now();
        self.meter(message.as_ref()).await?;
        let Some(text) = text_of(message)? else {
            return Ok(());
        };
        let lag_before = self.subscriptions.lag(&self.stream);
        let answer = match ClientFrame::read(&text) {
            Ok(ClientFrame::Subscribe(request)) => {
                self.await_replication(request.since_seq).await;
                let id = request.id.clone();
                self.subscriptions
                    .add(*request, &self.stream)
                    .map_err(|problem| (problem, Some(id)))
            }
            Ok(ClientFrame::Unsubscribe(request)) => self
                .subscriptions
                .remove(&request.id)
                .map_err(|problem| (problem, Some(request.id))),
            Ok(ClientFrame::Ping(Ping { t })) => Ok(vec![frames::pong(&t.unwrap_or_default())]),
            Ok(ClientFrame::Auth(_)) => Err((
                Problem::new(Code::InvalidParameter, "the connection already has a key"),
                None,
            )),
            Err(RejectedMessage::InvalidMember { problem, id }) => Err((*problem, id)),
            Err(RejectedMessage::MalformedMessage(message)) => {
                return Err(SessionEnd::error(BAD_MESSAGE, Code::InvalidJson, message));
            }
        };
        let answer = answer.unwrap_or_else(|(problem, id)| {
            vec![frames::error(&problem, &self.connection_id, id.as_deref())]
        });
        // A change to the subscriptions changes the lag even if the client reads nothing, so the
        // reference value moves with the lag.
        if let Some((_, lag)) = &mut self.behind {
            *lag = (*lag + self.subscriptions.lag(&self.stream)).saturating_sub(lag_before);
        }
        self.send(socket, answer).await
    }

    /// Waits for events that the client may already have from another server of the same store.
    async fn await_replication(&self, since_seq: Option<u64>) {
        if let Some(seq) = since_seq.filter(|_| self.stream.service.is_replica()) {
            let mut head = self.stream.head.subscribe();
            let _ = timeout(REPLICATION_TIMEOUT, head.wait_for(|(head, _)| *head >= seq)).await;
        }
    }

    /// Takes a token for a message, except for the answer to a ping and for a close frame.
    async fn meter(&mut self, message: Option<&Result<Message, axum::Error>>) -> Outcome<()> {
        match message {
            None | Some(Err(_) | Ok(Message::Close(_))) => return Ok(()),
            Some(Ok(Message::Pong(_))) if self.pending_pongs > 0 => {
                self.pending_pongs -= 1;
                return Ok(());
            }
            Some(Ok(
                Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_),
            )) => {}
        }
        self.take_token().await
    }

    async fn take_token(&self) -> Outcome<()> {
        if self
            .stream
            .service
            .limiter
            .take(&self.client, self.stream.service.now())
            .await
            .is_allowed
        {
            return Ok(());
        }
        Err(SessionEnd::error(
            TOO_MANY,
            Code::RateLimited,
            "more messages than the plan allows",
        ))
    }

    /// Checks that the key is still valid and that the client is still connected.
    async fn check_liveness(&mut self, socket: &mut WebSocket) -> Outcome<()> {
        if !self
            .stream
            .service
            .keys
            .is_valid(&self.client, self.stream.service.now())
        {
            return Err(SessionEnd::error(
                UNAUTHORIZED,
                Code::InvalidApiKey,
                "the API key is no longer valid",
            ));
        }
        if self.last_heard.elapsed() > self.stream.service.settings.limits.stream_silence {
            return Err(SessionEnd::slow("the client does not answer pings"));
        }
        self.pending_pongs += 1;
        let sent = timeout(
            self.send_time(),
            socket.send(Message::Ping(bytes::Bytes::new())),
        )
        .await;
        sent.map_err(|_| SessionEnd::slow("the client does not read"))?
            .map_err(|_| SessionEnd::Gone)
    }

    /// Checks that the client reads fast enough. A client is too slow if too many events wait and
    /// their number has not decreased for too long. A client that catches up with a burst is not
    /// slow.
    fn check_pace(&mut self) -> Outcome<()> {
        let limits = self.stream.service.settings.limits;
        if !self
            .subscriptions
            .is_behind(&self.stream, limits.stream_queue)
        {
            self.behind = None;
            return Ok(());
        }
        let lag = self.subscriptions.lag(&self.stream);
        let (since, lag_then) = *self.behind.get_or_insert_with(|| (Instant::now(), lag));
        if since.elapsed() < limits.stream_grace {
            return Ok(());
        }
        if lag >= lag_then {
            return Err(SessionEnd::slow(&format!(
                "more than {} events wait to be read",
                limits.stream_queue
            )));
        }
        self.behind = Some((Instant::now(), lag));
        Ok(())
    }

    /// Returns how long a client may take to read a message before it is disconnected. This is less
    /// than the connection's limit, so that the reason can still be sent.
    fn send_time(&self) -> Duration {
        self.stream.service.settings.limits.write_time.mul_f32(0.8)
    }

    /// Sends messages. The pace check continues while the client does not read.
    async fn send(&mut self, socket: &mut WebSocket, messages: Vec<String>) -> Outcome<()> {
        let sending = async {
            for message in messages {
                socket.feed(Message::Text(message.into())).await?;
            }
            socket.flush().await
        };
        let mut sending = pin!(sending);
        let mut stop = self.stop.clone();
        let mut look = tokio::time::interval(self.stream.service.settings.limits.stream_grace / 4);
        let mut too_long = pin!(tokio::time::sleep(self.send_time()));
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => {
                    self.last_sent = Instant::now();
                    return sent.map_err(|_| SessionEnd::Gone);
                }
                _ = look.tick() => self.check_pace()?,
                () = stopping(&mut stop) => return Err(SessionEnd::restart()),
                () = &mut too_long => return Err(SessionEnd::slow("the client does not read")),
            }
        }
    }
}

/// Completes when the server is about to stop.
async fn stopping(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|is_stopping| *is_stopping).await;
}

/// Returns the text of a message, or `None` for messages that the WebSocket protocol handles
/// itself.
fn text_of(message: Option<Result<Message, axum::Error>>) -> Outcome<Option<String>> {
    match message {
        None | Some(Ok(Message::Close(_))) => Err(SessionEnd::Gone),
        Some(Ok(Message::Text(text))) if text.len() > MESSAGE_BYTES => Err(SessionEnd::error(
            BAD_MESSAGE,
            Code::InvalidParameter,
            format!("a message may have at most {MESSAGE_BYTES} bytes"),
        )),
        Some(Ok(Message::Text(text))) => Ok(Some(text.as_str().to_owned())),
        Some(Ok(Message::Binary(_))) => Err(SessionEnd::error(
            BAD_MESSAGE,
            Code::InvalidJson,
            "messages are JSON text, not binary",
        )),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        // The message is too large, or it is not a WebSocket frame. In the second case, the error
        // does not reach the client.
        Some(Err(error)) => Err(SessionEnd::error(
            BAD_MESSAGE,
            Code::InvalidParameter,
            format!("the message cannot be read: {error}"),
        )),
    }
}
