//! What the document says of parameters is what the server takes: a text that breaks it is refused, and one that does not is refused only where
//! the parameter's description says so.

use axum::body::Body;
use axum::http::Request;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use regex::Regex;
use serde_json::Value;

use crate::serve::schema::document;
use crate::serve::{World, records, sec, zip_code};

/// Texts that are right for some parameters and odd for all others.
const TEXTS: [&str; 32] = [
    "",
    " ",
    "a",
    "ab",
    "AAPL",
    "aapl,BRK.B",
    "AAPL,",
    "AA$",
    "ZZ",
    "ny",
    "NY,FL",
    "12345",
    "12345-6789",
    "123456789",
    "0",
    "1",
    "-1",
    "1.5",
    "1e1",
    "true",
    "2024-02-29",
    "2023-02-29",
    "2024-1-1",
    "solar",
    "-solar",
    "x,,y",
    "320193",
    "00000000000000320193",
    "10-K",
    "2.02",
    "line\nbreak",
    "ü\u{2028}",
];

/// Whether a schema takes a text of a query; as far as the words go that parameters' schemas have.
fn takes(schema: &Value, text: &str) -> bool {
    let length = text.chars().count() as u64;
    let fits = |word: &str| schema["enum"].as_array().is_none_or(|allowed| allowed.iter().any(|allowed| allowed == word));
    let is_within =
        |number: f64| schema["minimum"].as_f64().is_none_or(|least| least <= number) && schema["maximum"].as_f64().is_none_or(|most| number <= most);
    match schema["type"].as_str().unwrap() {
        "boolean" => matches!(text, "true" | "false"),
        "integer" => text.parse::<i64>().is_ok_and(|number| is_within(number as f64)),
        "number" => text.parse::<f64>().is_ok_and(|number| number.is_finite() && is_within(number)),
        "array" => text.split(',').all(|word| schema["items"]["enum"].as_array().unwrap().iter().any(|allowed| allowed == word)),
        "string" => {
            let is_long_enough =
                schema["minLength"].as_u64().is_none_or(|least| least <= length) && schema["maxLength"].as_u64().is_none_or(|most| length <= most);
            let is_date = schema["format"] != "date" || text.parse::<jiff::civil::Date>().is_ok();
            fits(text) && is_long_enough && is_date && schema["pattern"].as_str().is_none_or(|pattern| Regex::new(pattern).unwrap().is_match(text))
        }
        other => panic!("no rule for {other}"),
    }
}

#[tokio::test]
async fn texts_are_refused_exactly_where_the_document_says_so() {
    let worlds = [World::new().await, records::world().await, zip_code::world().await, sec::world().await];
    let document = document(&worlds[0].contracts);
    let mut asked = 0;
    let mut wrong = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let parameters = methods["get"]["parameters"].as_array().cloned().unwrap_or_default();
        let example = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name && parameter["in"] == "path").unwrap()["example"].clone();
        let filled: Vec<String> = path
            .split('/')
            .map(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => utf8_percent_encode(example(name).as_str().unwrap(), NON_ALPHANUMERIC).to_string(),
                None => part.to_owned(),
            })
            .collect();
        let filled = filled.join("/");
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            for text in TEXTS {
                let is_taken = takes(&parameter["schema"], text);
                // What the document refuses is refused before there is a release to look into.
                for world in &worlds[..if is_taken { 4 } else { 1 }] {
                    let uri = format!("{filled}?{name}={}", utf8_percent_encode(text, NON_ALPHANUMERIC));
                    let answer = world.send(Request::get(&uri).header("x-api-key", &world.key).body(Body::empty()).unwrap()).await;
                    asked += 1;
                    let is_refused = answer.status == 400
                        && answer.json()["errors"].as_array().unwrap().iter().any(|error| error["field"] == name && error["code"] != "missing_parameter");
                    let is_told = parameter["description"].as_str().unwrap().to_lowercase().contains("refused");
                    if is_refused == is_taken && !(is_refused && is_told) {
                        wrong.push(format!("{uri} is {}: {}", answer.status, String::from_utf8_lossy(&answer.bytes).chars().take(200).collect::<String>()));
                    }
                }
            }
        }
    }
    assert!(asked > 3_000, "{asked}");
    assert!(wrong.is_empty(), "{} of {asked}: {wrong:#?}", wrong.len());
}

#[tokio::test]
async fn a_release_and_a_day_are_refused_together_as_the_document_says() {
    let world = World::new().await;
    let answer = world.get(&format!("/v1/coverage?release={}&as_of=2026-01-12", world.release_id)).await;
    assert_eq!(answer.problem(), (400, "invalid_parameter".to_owned()));
    for path in document(&world.contracts)["paths"].as_object().unwrap().values() {
        for parameter in path["get"]["parameters"].as_array().into_iter().flatten() {
            let other = match parameter["name"].as_str().unwrap() {
                "release" => "as_of",
                "as_of" => "release",
                _ => continue,
            };
            assert!(parameter["description"].as_str().unwrap().contains(&format!("efused beside `{other}`")), "{parameter}");
        }
    }
}
