//! Checks that the server accepts exactly the parameters that the document describes. A text that
//! breaks the schema is refused; a valid one is refused only if the parameter's description allows
//! it.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use regex::Regex;
use serde_json::{Value, json};

use super::answers::{OF_AREAS, OF_RECORDS, OF_REGISTRANTS, OF_TAXES};
use crate::coverage::{endpoints, meant};
use crate::serve::bulk::OF_BULK;
use crate::serve::schema::document;
use crate::serve::{Served, World, bulk, notices, records, sec, zip_code};

/// Texts that are valid for some parameters and unusual for all others.
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

/// Returns true if a schema accepts a query text; supports the keywords that parameter schemas use.
fn takes(schema: &Value, text: &str) -> bool {
    let length = text.chars().count() as u64;
    let fits = |word: &str| {
        schema["enum"]
            .as_array()
            .is_none_or(|allowed| allowed.iter().any(|allowed| allowed == word))
    };
    let is_within = |number: f64| {
        schema["minimum"]
            .as_f64()
            .is_none_or(|least| least <= number)
            && schema["maximum"].as_f64().is_none_or(|most| number <= most)
    };
    match schema["type"].as_str().unwrap() {
        "boolean" => matches!(text, "true" | "false"),
        "integer" => text
            .parse::<i64>()
            .is_ok_and(|number| is_within(number as f64)),
        "number" => text
            .parse::<f64>()
            .is_ok_and(|number| number.is_finite() && is_within(number)),
        "array" => {
            let words: Vec<&str> = text.split(',').collect();
            let (least, most) = (
                schema["minItems"].as_u64().unwrap_or(0),
                schema["maxItems"].as_u64().unwrap_or(u64::MAX),
            );
            let form = schema["items"]["pattern"]
                .as_str()
                .map(|pattern| Regex::new(pattern).unwrap());
            let is_item = |word: &str| match schema["items"]["enum"].as_array() {
                Some(allowed) => allowed.iter().any(|allowed| allowed == word),
                None => form.as_ref().unwrap().is_match(word),
            };
            (least..=most).contains(&(words.len() as u64)) && words.iter().all(|word| is_item(word))
        }
        "string" => {
            let is_long_enough = schema["minLength"]
                .as_u64()
                .is_none_or(|least| least <= length)
                && schema["maxLength"]
                    .as_u64()
                    .is_none_or(|most| length <= most);
            let is_date = schema["format"] != "date" || text.parse::<jiff::civil::Date>().is_ok();
            fits(text)
                && is_long_enough
                && is_date
                && schema["pattern"]
                    .as_str()
                    .is_none_or(|pattern| Regex::new(pattern).unwrap().is_match(text))
        }
        other => panic!("no rule for {other}"),
    }
}

/// Replaces the references of a schema, and of a list's items, by their targets.
fn resolved(document: &Value, schema: &Value) -> Value {
    let named = |schema: &Value| {
        schema["$ref"]
            .as_str()
            .map(|name| document.pointer(&name[1..]).unwrap().clone())
    };
    let mut schema = named(schema).unwrap_or_else(|| schema.clone());
    if let Some(items) = named(&schema["items"]) {
        schema["items"] = items;
    }
    schema
}

#[tokio::test]
async fn texts_are_refused_exactly_where_the_document_says() {
    let worlds = [
        World::new().await,
        records::world().await,
        zip_code::world().await,
        sec::world().await,
    ];
    let document = document(&worlds[0].contracts);
    let mut requested = 0;
    let mut wrong = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        // Endpoints with POST only have no query.
        let Some(parameters) = methods["get"]["parameters"].as_array().cloned() else {
            continue;
        };
        let example = |name: &str| {
            parameters
                .iter()
                .find(|parameter| parameter["name"] == name && parameter["in"] == "path")
                .unwrap()["example"]
                .clone()
        };
        let filled: Vec<String> = path
            .split('/')
            .map(|part| {
                match part
                    .strip_prefix('{')
                    .and_then(|part| part.strip_suffix('}'))
                {
                    Some(name) => {
                        utf8_percent_encode(example(name).as_str().unwrap(), NON_ALPHANUMERIC)
                            .to_string()
                    }
                    None => part.to_owned(),
                }
            })
            .collect();
        let filled = filled.join("/");
        for parameter in parameters
            .iter()
            .filter(|parameter| parameter["in"] == "query")
        {
            let name = parameter["name"].as_str().unwrap();
            let schema = resolved(document, &parameter["schema"]);
            for text in TEXTS {
                let is_taken = takes(&schema, text);
                // A text that the document refuses is refused before any release is read.
                for world in &worlds[..if is_taken { 4 } else { 1 }] {
                    let uri = format!(
                        "{filled}?{name}={}",
                        utf8_percent_encode(text, NON_ALPHANUMERIC)
                    );
                    let answer = world
                        .send(
                            Request::get(&uri)
                                .header("x-api-key", &world.key)
                                .body(Body::empty())
                                .unwrap(),
                        )
                        .await;
                    requested += 1;
                    let is_refused = answer.status == 400
                        && answer.json()["errors"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .any(|error| {
                                error["field"] == name && error["code"] != "missing_parameter"
                            });
                    let description = parameter["description"].as_str().unwrap().to_lowercase();
                    let is_stated = ["refused", "rejected"]
                        .iter()
                        .any(|verb| description.contains(verb));
                    if is_refused == is_taken && !(is_refused && is_stated) {
                        wrong.push(format!(
                            "{uri} is {}: {}",
                            answer.status,
                            String::from_utf8_lossy(&answer.bytes)
                                .chars()
                                .take(200)
                                .collect::<String>()
                        ));
                    }
                }
            }
        }
    }
    assert!(requested > 3_000, "{requested}");
    assert!(
        wrong.is_empty(),
        "{} of {requested}: {wrong:#?}",
        wrong.len()
    );
}

/// Parameters of the endpoint that a path belongs to.
fn parameters_of<'a>(document: &'a Value, path: &str) -> Vec<&'a Value> {
    let endpoints = endpoints(document);
    let found = meant(&endpoints, path.split('?').next().unwrap())
        .into_iter()
        .find(|endpoint| endpoint.method == "GET")
        .unwrap();
    document
        .pointer(&format!("{}/parameters", found.pointer()))
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .collect()
}

#[tokio::test]
async fn every_declared_default_can_be_sent_and_changes_nothing() {
    let worlds = [
        World::new().await,
        records::world().await,
        zip_code::world().await,
        sec::world().await,
        bulk::world().await.0,
    ];
    let document = document(&worlds[0].contracts);
    let mut sent = BTreeSet::new();
    for (world, paths) in worlds.iter().zip([
        &OF_AREAS[..],
        &OF_RECORDS,
        &OF_TAXES,
        &OF_REGISTRANTS,
        &OF_BULK,
    ]) {
        // Every answer counts in the usage of the key.
        for path in paths
            .iter()
            .filter(|path| !path.contains("/admin/") && **path != "/v1/me")
        {
            let plain = world.ok(path).await;
            let mut all = String::new();
            for parameter in parameters_of(document, path) {
                let name = parameter["name"].as_str().unwrap();
                let default = &parameter["schema"]["default"];
                if default.is_null() || path.contains(&format!("{name}=")) {
                    continue;
                }
                let text = default
                    .as_str()
                    .map_or_else(|| default.to_string(), str::to_owned);
                let joint = if path.contains('?') || !all.is_empty() {
                    '&'
                } else {
                    '?'
                };
                all.push_str(&format!("{joint}{name}={text}"));
                sent.insert(name.to_owned());
            }
            let full = world.ok(&format!("{path}{all}")).await;
            assert_eq!(full["data"], plain["data"], "{path}{all}");
        }
    }
    assert_eq!(
        sent.iter().map(String::as_str).collect::<Vec<_>>(),
        ["format", "geography_type", "limit", "radius_mi", "sort"]
    );
    // A radius without its point means nothing, so no default is declared.
    let answer = worlds[1]
        .get("/v1/permits/search?jurisdiction=us-tx-austin&radius_mi=1")
        .await;
    assert_eq!(answer.problem(), (400, "missing_parameter".to_owned()));
}

#[tokio::test]
async fn lists_are_accepted_in_one_parameter_or_in_several() {
    let (areas, registrants) = (World::new().await, sec::world().await);
    let demographics = "/v1/geo-demographics/locations/90210/demographics";
    let compare = "/v1/sec/financials/compare?metric=revenue";
    for (world, one, several) in [
        (
            &areas,
            format!("{demographics}?metrics=population,median_age"),
            format!("{demographics}?metrics=population&metrics=median_age"),
        ),
        (
            &areas,
            format!("{demographics}?metrics=population,median_age,households"),
            format!(
                "{demographics}?metrics=population%2Cmedian_age&history=false&metrics=households"
            ),
        ),
        (
            &registrants,
            format!("{compare}&ciks=320193,1045810"),
            format!("{compare}&ciks=320193&ciks=1045810"),
        ),
        (
            &registrants,
            "/v1/sec/companies/search?ticker=AAPL,NVDA".to_owned(),
            "/v1/sec/companies/search?ticker=AAPL&ticker=NVDA".to_owned(),
        ),
        (
            &registrants,
            "/v1/filings/search?form=10-K,10-Q".to_owned(),
            "/v1/filings/search?form=10-K&form=10-Q".to_owned(),
        ),
    ] {
        let (one, several) = (world.get(&one).await, world.get(&several).await);
        assert_eq!(
            (one.status.as_u16(), &one.json()["data"]),
            (200, &several.json()["data"])
        );
        // The answer for one of three parameters still depends on another parameter.
        let is_same = !one.json()["data"]["demographics"]["households"].is_object();
        assert_eq!(one.header("etag") == several.header("etag"), is_same);
    }
    for (path, detail) in [
        (
            format!("{demographics}?metrics=population&metrics=population"),
            "`metrics`: `population` is listed twice",
        ),
        (
            format!("{demographics}?metrics=&metrics=population"),
            "`metrics`: `` is not valid; ",
        ),
        (
            format!("{demographics}?history=true&history=true"),
            "`history` is given twice",
        ),
    ] {
        let answer = areas.get(&path).await;
        assert_eq!(
            answer.problem(),
            (400, "invalid_parameter".to_owned()),
            "{path}"
        );
        assert!(
            answer.json()["detail"]
                .as_str()
                .unwrap()
                .starts_with(detail),
            "{}",
            answer.json()
        );
    }
    let too_many: Vec<String> = (1..=21).map(|number| format!("ciks={number}")).collect();
    let answer = registrants
        .get(&format!("{compare}&{}", too_many.join("&")))
        .await;
    assert_eq!(
        answer.json()["detail"],
        "`ciks`: expected a list of at most 20, got 21"
    );
    for path in document(&areas.contracts)["paths"]
        .as_object()
        .unwrap()
        .values()
    {
        for parameter in path["get"]["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["schema"]["type"] == "array")
        {
            assert_eq!(
                (&parameter["style"], &parameter["explode"]),
                (&json!("form"), &json!(true)),
                "{parameter}"
            );
        }
    }
}

#[tokio::test]
async fn release_and_day_together_are_refused_as_documented() {
    let world = World::new().await;
    let answer = world
        .get(&format!(
            "/v1/coverage?release={}&as_of=2026-01-12",
            world.release_id
        ))
        .await;
    assert_eq!(answer.problem(), (400, "invalid_parameter".to_owned()));
    for path in document(&world.contracts)["paths"]
        .as_object()
        .unwrap()
        .values()
    {
        for parameter in path["get"]["parameters"].as_array().into_iter().flatten() {
            let other = match parameter["name"].as_str().unwrap() {
                "release" => "as_of",
                "as_of" => "release",
                _ => continue,
            };
            assert!(
                parameter["description"]
                    .as_str()
                    .unwrap()
                    .contains(&format!("annot be combined with `{other}`")),
                "{parameter}"
            );
        }
    }
}

#[tokio::test]
async fn guessed_names_and_values_are_answered_with_the_right_ones() {
    let served = Served::new().await;
    for (path, status, hint) in [
        (
            "/v1/zip/55401/nearby?radius=5",
            400,
            "did you mean `radius_mi`?",
        ),
        (
            "/v1/permits/search?radius=5",
            400,
            "did you mean `radius_mi`?",
        ),
        (
            "/v1/geo-demographics/locations/35950/schools?radius=5",
            400,
            "did you mean `radius_mi`?",
        ),
        (
            "/v1/permits/search?zip_codes=60601",
            400,
            "did you mean `zip`?",
        ),
        ("/v1/tax/rate?zipcode=55401", 400, "did you mean `zip`?"),
        (
            "/v1/business/search?name=radar&type=llc",
            400,
            "did you mean `entity_type`?",
        ),
        (
            "/v1/business/search?name=radar&entity_type=LLC",
            400,
            "did you mean `llc`?",
        ),
        (
            "/v1/license/search?name=colan&type=plumber",
            400,
            "did you mean `profession` or `holder_type`?",
        ),
        (
            "/v1/license/search?name=colan&holder_type=llc",
            400,
            "did you mean `organization`?",
        ),
        (
            "/v1/permits/search?permit_type=solar",
            400,
            "did you mean `type`?",
        ),
        (
            "/v1/tax/rate?zip=55401&category=food",
            400,
            "did you mean `food_drug` or `grocery` or `prepared_food`?",
        ),
        (
            "/v1/zip/90210?fields=population",
            400,
            "did you mean `demographics`?",
        ),
        (
            "/v1/business/A23000000520",
            404,
            "such as FL-L23000448570; /v1/business/search finds a number alone by `entity_number`",
        ),
        (
            "/v1/business/Florida-A23000000520",
            404,
            "did you mean `FL-A23000000520`?",
        ),
        (
            "/v1/contractors/21907",
            400,
            "is not a license ID such as WA-lni-SERVPG*892PL; to look up a license number, add `state`",
        ),
        (
            "/v1/sec/companies/AAPL",
            400,
            "/v1/sec/companies/search finds it by `ticker` or `name`",
        ),
        (
            "/v1/zip/00000",
            404,
            "; this release is built from samples, and one built from the publishers' files may have it",
        ),
        (
            "/v1/permits/search?jurisdiction=us-il-chicagoo",
            404,
            "did you mean `us-il-chicago`? 67 jurisdictions are covered: /v1/coverage lists them",
        ),
        (
            "/v1/tax/rate?city=Miami&state=Floridia",
            400,
            "give its postal code or name, such as CA or California",
        ),
    ] {
        let answer = served.get(path).await;
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            answer.status == status && detail.ends_with(hint),
            "{path}: {} {detail}",
            answer.status
        );
    }
    let answer = served
        .ask("/v1/zip/batch", Some(&json!({"zip_codes": ["55401"]})))
        .await;
    assert_eq!(
        answer.json()["detail"],
        "there is no field `zip_codes` here; did you mean `zips`?"
    );
    for path in [
        "/v1/business/search?name=the",
        "/v1/business/search?name=inc.",
        "/v1/license/search?name=llc",
    ] {
        let answer = served.ok(path).await;
        assert!(
            answer["data"] == json!([]) && notices(&answer).contains(&"NAME_WITHOUT_WORDS"),
            "{path}: {answer}"
        );
    }
    // A state's name works like its code.
    for path in [
        "/v1/business/search?entity_number=A23000000520&state=Florida",
        "/v1/license/verify?number=21907&state=Texas",
        "/v1/tax/rate?zip=55401&state=Minnesota&date=2019-01-01",
    ] {
        assert_eq!(served.get(path).await.status, 200, "{path}");
    }
}
