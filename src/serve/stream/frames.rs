//! Defines the messages of the stream's protocol in both directions. The AsyncAPI document is
//! derived from these types.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::answer::Text;
use crate::http::body::request;
use crate::http::meta::Notice;
use crate::http::nearest;
use crate::http::problem::{Code, FieldErrorDetails, Problem};
use crate::json::Json;
use crate::stream::filter::SentFilters;
use crate::stream::item::{DATA_BYTES, FilingData, Item};
use crate::stream::members::{Members, TEXT};
use pubdata_store::EventKind;

/// Message types of a client.
const CLIENT_TYPES: [&str; 4] = ["auth", "subscribe", "unsubscribe", "ping"];
/// Maximum length of a subscription's name, in bytes.
pub const MAX_ID: usize = 64;

/// Message from a client.
#[derive(Debug, JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case")]
pub enum ClientFrame {
    /// The key, from clients that cannot set headers. It is the first message if the upgrade
    /// request had no key.
    #[schemars(title = "The key, from clients that cannot set headers")]
    Auth(Auth),
    /// Subscribes to filings from now on, or from an event number or a time. Number and time cannot
    /// be combined.
    #[schemars(title = "Subscribes to filings")]
    Subscribe(Box<Subscribe>),
    #[schemars(title = "Ends a subscription")]
    Unsubscribe(Unsubscribe),
    /// Checks that the connection is alive.
    #[schemars(title = "Checks that the connection is alive")]
    Ping(Ping),
}

request! {
    #[schemars(inline)]
    pub struct Auth {
        /// The API key.
        token: String,
    }
}

request! {
    #[schemars(inline)]
    pub struct Subscribe {
        /// Name chosen by the client; answers and events contain it.
        #[schemars(length(min = 1, max = MAX_ID))]
        id: String,
        #[schemars(default)]
        filters: SentFilters,
        /// Sends events after this number, which is the `seq` of the last message that you have
        /// processed.
        #[schemars(with = "Option<i64>", range(min = 0))]
        since_seq: Option<u64>,
        /// Sends events that were first seen at this time or later.
        #[schemars(extend("format" = "date-time"))]
        since: Option<String>,
    }
}

request! {
    #[schemars(inline)]
    pub struct Unsubscribe {
        id: String,
    }
}

request! {
    #[schemars(inline)]
    pub struct Ping {
        /// Any value; the answer returns it unchanged.
        t: Option<Value>,
    }
}

/// Reason why a message is rejected.
#[derive(Debug, PartialEq, Eq)]
pub enum RejectedMessage {
    /// The message does not follow the protocol, and the connection is closed.
    MalformedMessage(String),
    /// The type or a field is missing, wrong or unknown, and the message is rejected.
    InvalidMember {
        problem: Box<Problem>,
        /// Subscription that the message names.
        id: Option<String>,
    },
}

impl ClientFrame {
    /// Parses the text of a message.
    pub fn read(text: &str) -> Result<Self, RejectedMessage> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            RejectedMessage::MalformedMessage(format!("the message is not JSON: {error}"))
        })?;
        let Value::Object(mut members) = value else {
            return Err(RejectedMessage::MalformedMessage(
                "the message is not a JSON object".to_owned(),
            ));
        };
        let kind = members.remove("type");
        let id = members.get("id").and_then(Value::as_str).map(str::to_owned);
        let members = Members::of_message(members);
        let frame = match kind.as_ref().map(Value::as_str) {
            Some(Some("auth")) => read_auth(members).map(Self::Auth),
            Some(Some("subscribe")) => {
                read_subscribe(members).map(|request| Self::Subscribe(request.into()))
            }
            Some(Some("unsubscribe")) => read_unsubscribe(members).map(Self::Unsubscribe),
            Some(Some("ping")) => read_ping(members).map(Self::Ping),
            Some(Some(kind)) => {
                let kind: String = kind.chars().take(40).collect();
                let message = format!(
                    "there is no message type `{kind}`; {}",
                    nearest::hint(&kind, &CLIENT_TYPES)
                );
                Err(Problem::of_field(Code::InvalidParameter, "type", message))
            }
            Some(None) => Err(Problem::of_field(
                Code::InvalidParameter,
                "type",
                "`type` is not a string",
            )),
            None => Err(Problem::of_field(
                Code::MissingParameter,
                "type",
                format!("the message needs a `type`: {}", CLIENT_TYPES.join(", ")),
            )),
        };
        frame.map_err(|problem| RejectedMessage::InvalidMember {
            problem: problem.into(),
            id,
        })
    }
}

fn read_auth(mut members: Members) -> Result<Auth, Problem> {
    members.has_only(Auth::FIELDS)?;
    Ok(Auth {
        token: members.required(Auth::token, TEXT)?,
    })
}

fn read_subscribe(mut members: Members) -> Result<Subscribe, Problem> {
    members.has_only(Subscribe::FIELDS)?;
    Ok(Subscribe {
        id: members.required(Subscribe::id, TEXT)?,
        filters: members
            .filters()?
            .map(SentFilters::read)
            .transpose()?
            .unwrap_or_default(),
        since_seq: members.optional(Subscribe::since_seq, "a whole number from 0")?,
        since: members.optional(Subscribe::since, TEXT)?,
    })
}

fn read_unsubscribe(mut members: Members) -> Result<Unsubscribe, Problem> {
    members.has_only(Unsubscribe::FIELDS)?;
    Ok(Unsubscribe {
        id: members.required(Unsubscribe::id, TEXT)?,
    })
}

fn read_ping(mut members: Members) -> Result<Ping, Problem> {
    members.has_only(Ping::FIELDS)?;
    Ok(Ping {
        t: members.optional(Ping::t, "JSON")?,
    })
}

/// Message from the server.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerFrame<'a> {
    /// The first message, which reports that the socket is open and the key is accepted.
    #[schemars(title = "The key is accepted")]
    Welcome {
        /// Identifier of the connection; include it when you report a problem.
        connection_id: &'a str,
        /// Number of the newest event.
        seq: u64,
        /// Number of the oldest event that can be sent again.
        oldest_seq: u64,
        /// Seconds without a message after which the server sends a heartbeat.
        heartbeat_seconds: u64,
    },
    #[schemars(title = "Answers `subscribe`")]
    Subscribed {
        id: &'a str,
        /// Number of the first event that is considered.
        from_seq: u64,
        notices: Vec<Notice>,
    },
    #[schemars(title = "Answers `unsubscribe`")]
    Unsubscribed { id: &'a str },
    #[schemars(title = "Answers `ping`")]
    Pong {
        /// The value from the ping.
        t: Text<'a, Value>,
    },
    /// A filing that was not known before. Each accession number is sent only once as a new filing.
    #[schemars(title = "A new filing")]
    Filing(Filing<'a>),
    /// More data about a filing. `data` is complete and replaces what was sent before.
    #[schemars(title = "More about a filing")]
    Update(Filing<'a>),
    #[schemars(title = "No new events")]
    Heartbeat {
        /// All events up to this number have been considered for your subscriptions.
        seq: u64,
        ts: Timestamp,
    },
    #[schemars(title = "Events that are no longer available", description = of_gap())]
    Gap {
        id: &'a str,
        /// Null if the subscription started at a time.
        // In that case, the numbers of the missing events are unknown.
        from_seq: Option<u64>,
        to_seq: u64,
    },
    /// The server restarts. Reconnect at a random moment within that time.
    #[schemars(title = "The server restarts")]
    Reconnect { within_seconds: u64 },
    /// An error in a message, or the reason why the server closes the connection. `title`,
    /// `detail`, `code`, `request_id` and `errors` have the same meaning as in `/v1` problems.
    #[schemars(title = "An error in a message, or the reason why the connection ends")]
    Error {
        /// Title of the code.
        title: &'a str,
        /// Description of the error, and what to do.
        detail: &'a str,
        /// A code from the `/v1` problems, or `slow_consumer`.
        code: &'a str,
        /// Id of the upgrade request, equal to the `connection_id` of `welcome`; include it when
        /// you report a problem.
        request_id: &'a str,
        /// Invalid fields of the message.
        errors: Vec<MemberError<'a>>,
        /// True if the server closes the connection.
        fatal: bool,
        /// The `id` of the message in question; null if the message had no `id`.
        id: Option<&'a str>,
    },
}

/// Invalid field of a message, and the reason.
#[derive(Serialize, JsonSchema)]
#[schemars(inline, description = "")]
pub struct MemberError<'a> {
    field: Cow<'a, str>,
    code: &'static str,
    message: Cow<'a, str>,
}

fn of_gap() -> String {
    format!(
        "Events that are not sent: they are no longer kept, or one event (`from_seq` is `to_seq`) is larger than {} KiB. `/v1/filings/search` returns them.",
        DATA_BYTES >> 10
    )
}

/// An event of the log.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Filing<'a> {
    /// Number of the event; save it and reconnect with `since_seq`.
    seq: u64,
    /// Your subscriptions that match the event.
    subscription_ids: &'a [&'a str],
    /// True if the event was logged before the subscription was made.
    replay: bool,
    data: Text<'a, FilingData<'a>>,
}

impl ServerFrame<'_> {
    /// Returns the message as a JSON string.
    pub fn text(&self) -> String {
        let mut json = Json::new();
        json.value(self);
        String::from_utf8(json.into_bytes()).unwrap_or_default()
    }
}

pub fn subscribed(id: &str, from_seq: u64, unknown_tickers: &[String]) -> String {
    let message = || {
        format!(
            "no company has these tickers today: {}",
            unknown_tickers.join(", ")
        )
    };
    let notices = if unknown_tickers.is_empty() {
        Vec::new()
    } else {
        vec![Notice {
            code: "TICKER_UNKNOWN",
            message: message().into(),
        }]
    };
    ServerFrame::Subscribed {
        id,
        from_seq,
        notices,
    }
    .text()
}

/// Writes a `filing` or `update` message.
pub fn event(item: &Item, data: &str, subscription_ids: &[&str], is_replay: bool) -> String {
    let filing = Filing {
        seq: item.seq,
        subscription_ids,
        replay: is_replay,
        data: Text::made(data),
    };
    let frame = match item.event {
        EventKind::Filing => ServerFrame::Filing(filing),
        EventKind::Update => ServerFrame::Update(filing),
    };
    frame.text()
}

pub fn pong(t: &Value) -> String {
    ServerFrame::Pong {
        t: Text::made(&t.to_string()),
    }
    .text()
}

/// Writes a non-fatal error about a message, with the subscription that it names.
pub fn error(problem: &Problem, connection_id: &str, id: Option<&str>) -> String {
    let is_fatal = false;
    let id = id.filter(|id| (1..=MAX_ID).contains(&id.len()));
    error_frame(
        (problem.code.name(), problem.code.title()),
        problem,
        is_fatal,
        connection_id,
        id,
    )
}

/// Writes the error after which the server closes the connection.
pub fn fatal_error(problem: &Problem, connection_id: &str) -> String {
    let is_fatal = true;
    error_frame(
        (problem.code.name(), problem.code.title()),
        problem,
        is_fatal,
        connection_id,
        None,
    )
}

/// Writes the error for a client that reads too slowly, for which HTTP has no status.
pub fn slow_consumer(message: &str, connection_id: &str) -> String {
    let is_fatal = true;
    error_frame(
        ("slow_consumer", "Slow consumer"),
        &Problem::new(Code::RateLimited, message),
        is_fatal,
        connection_id,
        None,
    )
}

fn error_frame(
    (code, title): (&str, &str),
    problem: &Problem,
    fatal: bool,
    request_id: &str,
    id: Option<&str>,
) -> String {
    let shown = problem.shown_errors().into_iter();
    let errors = shown
        .map(
            |FieldErrorDetails {
                 field,
                 code,
                 message,
             }| MemberError {
                field,
                code: code.name(),
                message,
            },
        )
        .collect();
    ServerFrame::Error {
        title,
        detail: &problem.detail,
        code,
        request_id,
        errors,
        fatal,
        id,
    }
    .text()
}
