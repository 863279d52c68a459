//! Tests `If-None-Match`: whether a client already has an answer depends on the scopes of its key.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use pubdata_store::{Plans, Scope};
use serde_json::Value;
use tower::ServiceExt;

use crate::serve::examples::two_releases;
use crate::serve::{Answer, Served, World, read};
use pubdata_testing::project;

/// Keys by their scopes; an empty list is a request without a key.
const KEYS: [&[Scope]; 7] = [
    &[],
    &[Scope::General],
    &[Scope::Geo],
    &[Scope::Sec],
    &[Scope::Stream, Scope::Admin],
    &[Scope::Geo, Scope::Sec],
    &Scope::ALL,
];

/// Requests whose answers depend on scopes, in addition to the examples of all operations.
const OF_SCOPES: [&str; 12] = [
    "/v1/search?q=apple",
    "/v1/search?q=radar%20associates",
    "/v1/search?q=sec.filing",
    "/v1/releases/current/datasets/sec.filing",
    "/v1/releases/current/datasets/business.entity",
    "/v1/releases/current/datasets/geo.school?format=csv",
    "/v1/releases/current/datasets/pubdata.quarantine",
    "/v1/releases/current/datasets/pubdata.quarantine?format=csv",
    "/v1/provenance/sec.filing:0000320193:none",
    "/v1/datasets?format=csv",
    "/v1/geo-demographics/metrics/median_household_income?format=csv&limit=3",
    "/v1/geo-demographics/locations/00000",
];

async fn ask(served: &Served, path: &str, key: &str, if_none_match: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in [
        ("x-api-key", Some(key).filter(|key| !key.is_empty())),
        ("if-none-match", if_none_match),
    ] {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    read(
        served
            .router
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap(),
    )
    .await
}

/// Content of an answer without the parts that identify the request.
fn said(answer: &Answer) -> Vec<u8> {
    match serde_json::from_slice::<Value>(&answer.bytes) {
        Ok(mut value) => {
            if let Some(request_id) = value.pointer_mut("/meta/request_id") {
                *request_id = Value::Null;
            }
            value.to_string().into_bytes()
        }
        Err(_) => answer.bytes.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tag_from_another_key_matches_only_an_identical_answer() {
    let plan =
        |name: &str| format!("[{name}]\nrequests_per_minute = 1_000_000\nburst = 1_000_000\n");
    let plans = Plans::parse(&["anonymous", "unlimited"].map(plan).concat()).unwrap();
    let served = Served::with(two_releases().await, |settings| settings.plans = plans).await;
    let requests: Value = serde_json::from_str(
        &std::fs::read_to_string(project("docs/examples/requests.json")).unwrap(),
    )
    .unwrap();
    let bodies = [
        "compareLocations",
        "getZips",
        "calculateTax",
        "createKey",
        "revokeKey",
        "getTaxRates",
    ];
    let examples = requests
        .as_object()
        .unwrap()
        .iter()
        .filter(|(operation, _)| !bodies.contains(&operation.as_str()));
    // A replay gives the same answer each time, and takes long.
    let examples =
        examples.map(|(_, path)| path.as_str().unwrap().replace("?include=bytes,replay", ""));
    let keys: Vec<String> = KEYS
        .iter()
        .map(|scopes| {
            if scopes.is_empty() {
                String::new()
            } else {
                served.key_of(scopes)
            }
        })
        .collect();
    let mut differing = BTreeSet::new();
    for path in examples.chain(OF_SCOPES.map(str::to_owned)) {
        let mut answers = Vec::new();
        for key in &keys {
            answers.push(ask(&served, &path, key, None).await);
        }
        let tags: BTreeSet<&str> = answers
            .iter()
            .map(|answer| answer.header("etag"))
            .filter(|tag| !tag.is_empty())
            .collect();
        let of = |tag: &str| {
            answers
                .iter()
                .find(|answer| answer.header("etag") == tag)
                .unwrap()
        };
        for (number, (key, plain)) in keys.iter().zip(&answers).enumerate() {
            let scopes = KEYS[number];
            for tag in &tags {
                let answer = ask(&served, &path, key, Some(tag)).await;
                assert_eq!(
                    answer.status == 304,
                    plain.header("etag") == *tag,
                    "{path} {scopes:?} {tag}: {}",
                    answer.status
                );
                if answer.status == 304 {
                    assert!(
                        said(plain) == said(of(tag)),
                        "{path}: two answers have the tag {tag}"
                    );
                } else {
                    assert_eq!(answer.status, plain.status, "{path} {scopes:?}");
                }
            }
            let any = ask(&served, &path, key, Some("*")).await;
            let expected = if plain.header("etag").is_empty() {
                plain.status.as_u16()
            } else {
                304
            };
            assert_eq!(
                (any.status.as_u16(), any.header("etag")),
                (expected, plain.header("etag")),
                "{path} {scopes:?}: any existing answer"
            );
        }
        let said: BTreeSet<Vec<u8>> = answers
            .iter()
            .filter(|answer| answer.status == 200)
            .map(said)
            .collect();
        if said.len() > 1 {
            differing.insert(path);
        }
    }
    assert!(differing.contains("/v1/search?q=apple"), "{differing:?}");
}

/// A key without access to an answer is refused, whatever tag it sends.
#[tokio::test]
async fn scopes_are_checked_before_any_tag() {
    let world = World::new().await;
    let (geo, sec) = (
        world.create_key(&[Scope::Geo], "unlimited").key,
        world.create_key(&[Scope::Sec], "unlimited").key,
    );
    let ask = async |path: &str, key: &str, tag: &str| {
        world
            .send(
                Request::get(path)
                    .header("x-api-key", key)
                    .header("if-none-match", tag)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await
    };
    for path in [
        "/v1/geo-demographics/locations/90210",
        "/v1/provenance/geo.geography:90210",
        "/v1/records/geo.county:06037/history",
        "/v1/releases/current/datasets/geo.zcta_metric",
        "/v1/releases/current/datasets/geo.zcta_metric?format=csv",
    ] {
        let known = ask(path, &geo, "\"other\"").await;
        let tag = known.header("etag").to_owned();
        assert_eq!(
            (
                known.status.as_u16(),
                ask(path, &geo, &tag).await.status.as_u16()
            ),
            (200, 304),
            "{path}"
        );
        for sent in [tag.as_str(), "*", "\"other\", *"] {
            assert_eq!(
                ask(path, &sec, sent).await.problem(),
                (403, "insufficient_permission".to_owned()),
                "{path} {sent}"
            );
        }
    }
}
