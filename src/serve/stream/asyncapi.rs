//! Builds the AsyncAPI 3.0 document for the socket, with its messages, replies and close codes.
//! Messages come from the protocol's types. The numbers are the limits and codes that the stream
//! uses.

use serde_json::{Map, Value, json};

use super::filter::MAX_VALUES;
use super::frames::{ClientFrame, ServerFrame};
use super::session::{
    BAD_MESSAGE, FORBIDDEN, MESSAGE_BYTES, RECONNECT_SECONDS, RESTART, SLOW_CONSUMER, TOO_MANY,
    UNAUTHORIZED,
};
use super::subscriptions::MAX_SUBSCRIPTIONS;
use crate::http::components::{Components, Data};
use crate::http::openapi::{columns, names};
use crate::settings::Limits;
use pubdata_core::contract::Contracts;

const ANSWERS: [&str; 5] = ["subscribed", "unsubscribed", "pong", "gap", "error"];
const EVENTS: [&str; 7] = [
    "welcome",
    "filing",
    "update",
    "heartbeat",
    "gap",
    "reconnect",
    "error",
];

/// Builds the document for a server. `own_url` is the server's URL.
pub fn document(contracts: &Contracts, limits: &Limits, own_url: &str) -> Value {
    let (of_client, mut schemas) =
        messages_of(Components::of_requests([&Data::for_type::<ClientFrame>()]));
    let (of_server, others) = messages_of(Components::from_data([&Data::for_type::<
        ServerFrame<'static>,
    >()]));
    schemas.extend(others);
    columns::resolve(&mut schemas, contracts);
    names::give(&mut schemas, Vec::new());
    let all = || of_client.iter().chain(&of_server);
    let message = |(name, title): &(String, Value)| {
        let payload = reference("schemas", &names::in_capitals(name));
        (
            name.clone(),
            json!({"name": name, "title": title, "payload": payload}),
        )
    };
    let messages: Map<String, Value> = all().map(message).collect();
    let (scheme, host) = own_url.split_once("://").unwrap_or(("http", own_url));
    json!({
        "asyncapi": "3.0.0",
        "info": {"title": "Stream of filings", "version": env!("CARGO_PKG_VERSION"), "description": about(limits)},
        "defaultContentType": "application/json",
        "servers": {"this": {
            "host": host.trim_end_matches('/'),
            "protocol": if scheme == "https" { "wss" } else { "ws" },
            "security": [reference("securitySchemes", "bearer"), reference("securitySchemes", "apiKey")]
        }},
        "channels": {"stream": {
            "address": "/v1/stream",
            "description": "One socket. Each message is one JSON text with a `type`.",
            "messages": all().map(|(name, _)| (name.clone(), reference("messages", name))).collect::<Map<_, _>>(),
            "bindings": {"ws": {"method": "GET", "bindingVersion": "0.1.0"}}
        }},
        "operations": {
            "ask": {
                "action": "receive", "channel": {"$ref": "#/channels/stream"}, "summary": "Messages from the client",
                "messages": of_channel(of_client.iter().map(|(name, _)| name.as_str())),
                "reply": {"channel": {"$ref": "#/channels/stream"}, "messages": of_channel(ANSWERS)}
            },
            "follow": {
                "action": "send", "channel": {"$ref": "#/channels/stream"}, "summary": "Messages that the server sends on its own",
                "messages": of_channel(EVENTS)
            }
        },
        "components": {
            "messages": messages,
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "httpApiKey", "in": "header", "name": "X-API-Key"}
            }
        },
        "x-closeCodes": close_codes(limits)
    })
}

fn about(limits: &Limits) -> String {
    format!(
        "Filings within seconds of their appearance in EDGAR's feeds, and a replay of the last 72 hours for clients that were away.\n\n\
         The key is sent with the upgrade (`Authorization: Bearer KEY` or `X-API-Key`), or, from browsers, in the first message, within {} seconds; it \
         needs the scope `stream`. A failure before the upgrade is answered with a problem document, as on `/v1`.\n\n\
         A socket has at most {MAX_SUBSCRIPTIONS} subscriptions, each with at most {MAX_VALUES} values in its filters; a client's message has at \
         most {} KiB. Save the `seq` of the last message that you have processed and reconnect with `since_seq`: on one subscription nothing is missing \
         between replay and new events, and nothing comes twice. After `reconnect`, connect again at a random moment within {RECONNECT_SECONDS} seconds. \
         Fields may be added.",
        limits.stream_auth_time.as_secs(),
        MESSAGE_BYTES >> 10
    )
}

fn close_codes(limits: &Limits) -> Value {
    let slow = format!(
        "the client reads too slowly: more than {} events waited and their number did not decrease in {} s, it read nothing that was sent, or it did not answer pings for {} s",
        limits.stream_queue,
        limits.stream_grace.as_secs(),
        limits.stream_silence.as_secs()
    );
    json!([
        {"code": BAD_MESSAGE, "meaning": "the message is not a JSON object, is binary or is too long"},
        {"code": UNAUTHORIZED, "meaning": "no key arrived in time, or it is invalid, expired or revoked"},
        {"code": FORBIDDEN, "meaning": "the key lacks the scope `stream`"},
        {"code": SLOW_CONSUMER, "meaning": slow},
        {"code": TOO_MANY, "meaning": "more sockets or messages than the plan allows"},
        {"code": RESTART, "meaning": "the server restarts"}
    ])
}

/// Splits the schema of an enum into messages with their titles. Also returns the schemas that the
/// messages refer to.
fn messages_of(
    (Components(mut schemas), names): (Components, Vec<String>),
) -> (Vec<(String, Value)>, Map<String, Value>) {
    let mut messages = Vec::new();
    let frames = schemas.remove(&names[0]).unwrap_or_default();
    for mut frame in frames["oneOf"].as_array().cloned().unwrap_or_default() {
        let name = frame["properties"]["type"]["const"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let title = frame
            .as_object_mut()
            .and_then(|frame| frame.remove("title"))
            .unwrap_or_default();
        schemas.insert(names::in_capitals(&name), frame);
        messages.push((name, title));
    }
    (messages, schemas)
}

fn of_channel<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<Value> {
    names
        .into_iter()
        .map(|name| json!({"$ref": format!("#/channels/stream/messages/{name}")}))
        .collect()
}

fn reference(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}
