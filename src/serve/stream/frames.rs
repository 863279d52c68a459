//! The messages of the stream's protocol: how those of a client are read, and how each one to a client is written.

use serde_json::Value;

use crate::http::nearest;
use crate::http::problem::{Code, Problem};
use crate::json::Json;
use crate::stream::filter::SentFilters;
use crate::stream::item::Item;
use crate::stream::members::{Members, TEXT};
use pubdata_store::EventKind;

/// Types of the messages of a client.
const CLIENT_TYPES: [&str; 4] = ["auth", "subscribe", "unsubscribe", "ping"];
/// Bytes of a subscription's name.
pub const MAX_ID: usize = 64;

/// What a client sends.
#[derive(Debug)]
pub enum ClientFrame {
    Auth(Auth),
    Subscribe(Box<Subscribe>),
    Unsubscribe(Unsubscribe),
    /// With the value to send back.
    Ping(Value),
}

#[derive(Debug)]
pub struct Auth {
    pub token: String,
}

#[derive(Debug)]
pub struct Subscribe {
    pub id: String,
    pub filters: SentFilters,
    pub since_seq: Option<u64>,
    pub since: Option<String>,
}

#[derive(Debug)]
pub struct Unsubscribe {
    pub id: String,
}

/// Why a message is not understood.
#[derive(Debug, PartialEq, Eq)]
pub enum Misread {
    /// It is no message of the protocol: the connection ends.
    NoMessage(String),
    /// Its type or a member is missing, wrong or unknown: the message is refused.
    WrongMember {
        problem: Box<Problem>,
        /// The subscription that it names.
        id: Option<String>,
    },
}

impl ClientFrame {
    /// Reads a text frame.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, Misread> {
        let value: Value = serde_json::from_str(text).map_err(|error| Misread::NoMessage(format!("the message is not JSON: {error}")))?;
        let Value::Object(mut members) = value else { return Err(Misread::NoMessage("the message is not a JSON object".to_owned())) };
        let kind = members.remove("type");
        let id = members.get("id").and_then(Value::as_str).map(str::to_owned);
        let members = Members::of_message(members);
        let frame = match kind.as_ref().map(Value::as_str) {
            Some(Some("auth")) => read_auth(members).map(Self::Auth),
            Some(Some("subscribe")) => read_subscribe(members).map(|asked| Self::Subscribe(asked.into())),
            Some(Some("unsubscribe")) => read_unsubscribe(members).map(Self::Unsubscribe),
            Some(Some("ping")) => read_ping(members).map(Self::Ping),
            Some(Some(kind)) => {
                let kind: String = kind.chars().take(40).collect();
                let message = format!("there is no message type `{kind}`; {}", nearest::hint(&kind, &CLIENT_TYPES));
                Err(Problem::of_field(Code::InvalidParameter, "type", message))
            }
            Some(None) => Err(Problem::of_field(Code::InvalidParameter, "type", "`type` is not a text")),
            None => Err(Problem::of_field(Code::MissingParameter, "type", format!("the message needs a `type`: {}", CLIENT_TYPES.join(", ")))),
        };
        frame.map_err(|problem| Misread::WrongMember { problem: problem.into(), id })
    }
}

fn read_auth(mut members: Members) -> Result<Auth, Problem> {
    members.has_only(&["token"])?;
    Ok(Auth { token: members.required("token", TEXT)? })
}

fn read_subscribe(mut members: Members) -> Result<Subscribe, Problem> {
    members.has_only(&["id", "filters", "since_seq", "since"])?;
    Ok(Subscribe {
        id: members.required("id", TEXT)?,
        filters: members.filters()?.map(SentFilters::read).transpose()?.unwrap_or_default(),
        since_seq: members.optional("since_seq", "a whole number from 0")?,
        since: members.optional("since", TEXT)?,
    })
}

fn read_unsubscribe(mut members: Members) -> Result<Unsubscribe, Problem> {
    members.has_only(&["id"])?;
    Ok(Unsubscribe { id: members.required("id", TEXT)? })
}

fn read_ping(mut members: Members) -> Result<Value, Problem> {
    members.has_only(&["t"])?;
    members.optional("t", "JSON")
}

/// A message to the client.
fn frame(kind: &str, write: impl FnOnce(&mut Json)) -> String {
    let mut json = Json::new();
    json.object(|json| {
        json.key("type").text(kind);
        write(json);
    });
    String::from_utf8(json.into_bytes()).unwrap_or_default()
}

pub fn welcome(connection_id: &str, seq: u64, oldest_seq: u64, heartbeat_seconds: u64) -> String {
    frame("welcome", |json| {
        json.key("connection_id").text(connection_id);
        json.key("seq").count(seq);
        json.key("oldest_seq").count(oldest_seq);
        json.key("heartbeat_seconds").count(heartbeat_seconds);
    })
}

pub fn subscribed(id: &str, from_seq: u64, unknown_tickers: &[String]) -> String {
    frame("subscribed", |json| {
        json.key("id").text(id);
        json.key("from_seq").count(from_seq);
        json.key("notices").array(|json| {
            if !unknown_tickers.is_empty() {
                json.object(|json| {
                    json.key("code").text("TICKER_UNKNOWN");
                    json.key("message").text(&format!("no company has these tickers today: {}", unknown_tickers.join(", ")));
                });
            }
        });
    })
}

pub fn unsubscribed(id: &str) -> String {
    frame("unsubscribed", |json| json.key("id").text(id))
}

/// `filing` or `update`.
pub fn event(item: &Item, data: &str, subscription_ids: &[&str], is_replay: bool) -> String {
    let kind = match item.event {
        EventKind::Filing => "filing",
        EventKind::Update => "update",
    };
    frame(kind, |json| {
        json.key("seq").count(item.seq);
        json.key("subscription_ids").texts(subscription_ids.iter().copied());
        json.key("replay").flag(is_replay);
        json.key("data").raw(data);
    })
}

pub fn heartbeat(seq: u64, now: jiff::Timestamp) -> String {
    frame("heartbeat", |json| {
        json.key("seq").count(seq);
        json.key("ts").text(&now.to_string());
    })
}

pub fn pong(t: &Value) -> String {
    frame("pong", |json| json.key("t").raw(&t.to_string()))
}

/// `from_seq` is none when the question was for a time whose numbers are not known any more.
pub fn gap(id: &str, from_seq: Option<u64>, to_seq: u64) -> String {
    frame("gap", |json| {
        json.key("id").text(id);
        match from_seq {
            Some(from_seq) => json.key("from_seq").count(from_seq),
            None => json.key("from_seq").null(),
        }
        json.key("to_seq").count(to_seq);
    })
}

pub fn reconnect(within_seconds: u64) -> String {
    frame("reconnect", |json| json.key("within_seconds").count(within_seconds))
}

/// What was wrong with a message, with the subscription that it was about; the connection goes on.
pub fn error(problem: &Problem, connection_id: &str, id: Option<&str>) -> String {
    let is_fatal = false;
    let id = id.filter(|id| (1..=MAX_ID).contains(&id.len()));
    error_frame((problem.code.name(), problem.code.title()), problem, is_fatal, connection_id, id)
}

/// Why the server ends the connection.
pub fn fatal_error(problem: &Problem, connection_id: &str) -> String {
    let is_fatal = true;
    error_frame((problem.code.name(), problem.code.title()), problem, is_fatal, connection_id, None)
}

/// The server ends the connection because the client reads too slowly, which no response of HTTP says.
pub fn slow_consumer(message: &str, connection_id: &str) -> String {
    let is_fatal = true;
    error_frame(("slow_consumer", "Slow consumer"), &Problem::new(Code::RateLimited, message), is_fatal, connection_id, None)
}

fn error_frame((code, title): (&str, &str), problem: &Problem, is_fatal: bool, connection_id: &str, id: Option<&str>) -> String {
    frame("error", |json| {
        json.key("title").text(title);
        json.key("detail").text(&problem.detail);
        json.key("code").text(code);
        json.key("request_id").text(connection_id);
        json.key("errors").value(&problem.shown_errors());
        json.key("fatal").flag(is_fatal);
        json.key("id").optional_text(id);
    })
}
