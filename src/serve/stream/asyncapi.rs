//! The AsyncAPI 3.0 document of the socket: its messages, what answers what, and how connections end. Numbers are those that the stream itself
//! goes by.

use serde_json::{Value, json};

use super::filter::MAX_VALUES;
use super::frames::MAX_ID;
use super::item::DATA_BYTES;
use super::session::{BAD_MESSAGE, FORBIDDEN, MESSAGE_BYTES, RECONNECT_SECONDS, RESTART, SLOW_CONSUMER, TOO_MANY, UNAUTHORIZED};
use super::subscriptions::MAX_SUBSCRIPTIONS;
use crate::http::openapi;
use crate::settings::Limits;
use pubdata_core::contract::Contracts;

const MESSAGES: &str = include_str!("messages.json");

/// Messages by type, each with its schema and what it says.
const OF_CLIENT: [(&str, &str, &str); 4] = [
    ("auth", "Auth", "The key, of clients that cannot set headers"),
    ("subscribe", "Subscribe", "Asks for filings"),
    ("unsubscribe", "Unsubscribe", "Ends a subscription"),
    ("ping", "Ping", "Asks for a sign of life"),
];
const OF_SERVER: [(&str, &str, &str); 10] = [
    ("welcome", "Welcome", "The key is accepted"),
    ("subscribed", "Subscribed", "Answers `subscribe`"),
    ("unsubscribed", "Unsubscribed", "Answers `unsubscribe`"),
    ("pong", "Pong", "Answers `ping`"),
    ("filing", "Filing", "A filing that was not known yet"),
    ("update", "Update", "More about a filing"),
    ("heartbeat", "Heartbeat", "Nothing else to say"),
    ("gap", "Gap", "What was asked for is no longer there"),
    ("reconnect", "Reconnect", "The server restarts"),
    ("error", "Error", "What was wrong with a message, or why the connection ends"),
];
const ANSWERS: [&str; 5] = ["subscribed", "unsubscribed", "pong", "gap", "error"];
const EVENTS: [&str; 7] = ["welcome", "filing", "update", "heartbeat", "gap", "reconnect", "error"];

/// Makes the document of a server that can be asked at an address.
pub fn document(contracts: &Contracts, limits: &Limits, own_url: &str) -> Value {
    let mut schemas = openapi::schemas_of(serde_json::from_str(MESSAGES).expect("the messages file is JSON"), contracts);
    for filter in schemas["Filters"]["properties"].as_object_mut().into_iter().flat_map(|filters| filters.values_mut()) {
        filter["maxItems"] = json!(MAX_VALUES);
    }
    schemas["Subscribe"]["properties"]["id"]["maxLength"] = json!(MAX_ID);
    schemas["Gap"]["description"] = json!(format!(
        "Events that are not sent: they are no longer kept, or one event (`from_seq` is `to_seq`) has more than {} KiB. `/v1/filings/search` has them.",
        DATA_BYTES >> 10
    ));
    openapi::names::give(&mut schemas, Vec::new());
    let all = || OF_CLIENT.iter().chain(&OF_SERVER);
    let messages: Value = all().map(|(name, schema, title)| (*name, json!({"name": name, "title": title, "payload": reference("schemas", schema)}))).collect();
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
            "messages": all().map(|(name, ..)| (*name, reference("messages", name))).collect::<Value>(),
            "bindings": {"ws": {"method": "GET", "bindingVersion": "0.1.0"}}
        }},
        "operations": {
            "ask": {
                "action": "receive", "channel": {"$ref": "#/channels/stream"}, "summary": "What a client says",
                "messages": of_channel(&OF_CLIENT.map(|(name, ..)| name)),
                "reply": {"channel": {"$ref": "#/channels/stream"}, "messages": of_channel(&ANSWERS)}
            },
            "follow": {
                "action": "send", "channel": {"$ref": "#/channels/stream"}, "summary": "What the server says by itself",
                "messages": of_channel(&EVENTS)
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
         The key comes with the upgrade (`Authorization: Bearer KEY` or `X-API-Key`), or, from browsers, in the first message, within {} seconds; it \
         needs the scope `stream`. What fails before the upgrade is answered as a problem, as on `/v1`.\n\n\
         A socket has at most {MAX_SUBSCRIPTIONS} subscriptions, each with at most {MAX_VALUES} values in its filters; a message of a client has at \
         most {} KiB. Save the `seq` of the last message that you have processed and reconnect with `since_seq`: on one subscription nothing is missing \
         between replay and new events, and nothing comes twice. After `reconnect` come again at a random moment within {RECONNECT_SECONDS} seconds. \
         Fields may be added.",
        limits.stream_auth_time.as_secs(),
        MESSAGE_BYTES >> 10
    )
}

fn close_codes(limits: &Limits) -> Value {
    let slow = format!(
        "you read too slowly: more than {} events waited and became no fewer in {} s, nothing of what was sent was read, or pings were not answered for {} s",
        limits.stream_queue,
        limits.stream_grace.as_secs(),
        limits.stream_silence.as_secs()
    );
    json!([
        {"code": BAD_MESSAGE, "meaning": "the message is not a JSON object, is binary or is too long"},
        {"code": UNAUTHORIZED, "meaning": "no key came in time, or it is invalid, expired or revoked"},
        {"code": FORBIDDEN, "meaning": "the key lacks the scope `stream`"},
        {"code": SLOW_CONSUMER, "meaning": slow},
        {"code": TOO_MANY, "meaning": "more sockets or messages than the plan allows"},
        {"code": RESTART, "meaning": "the server restarts"}
    ])
}

fn of_channel(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({"$ref": format!("#/channels/stream/messages/{name}")})).collect()
}

fn reference(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}
