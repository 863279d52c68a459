//! Tests `/v1/search`: any text typed into one box is found, and every result can be requested.

use axum::body::Body;
use axum::http::Request;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pubdata_store::Scope;
use serde_json::{Value, json};

use super::served::Served;
use super::{World, geo, notices};

fn question(text: &str) -> String {
    format!(
        "/v1/search?q={}",
        utf8_percent_encode(text, NON_ALPHANUMERIC)
    )
}

/// Kind, id and match of the results.
fn reported(answer: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer["data"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| {
            (
                text(&hit["kind"]),
                text(&hit["id"]),
                text(&hit["match"]["type"]),
            )
        })
        .collect()
}

/// Paths that this server answers; pages for some ids belong to other test modules.
fn is_here(path: &str) -> bool {
    ![
        "/v1/datasets/",
        "/v1/releases/",
        "/v1/geo-demographics/states/",
    ]
    .iter()
    .any(|prefix| path.starts_with(prefix))
}

#[tokio::test(flavor = "multi_thread")]
async fn anything_typed_is_found_and_every_result_can_be_requested() {
    let served = Served::new().await;
    let release = served.place.current();
    let cases = [
        ("90210", ("zip", "90210", "zip")),
        (" 90210-1234 ", ("zip", "90210", "zip")),
        ("Boston", ("zip", "02127", "city")),
        ("adjuntas, Puerto Rico", ("zip", "00601", "city")),
        ("ERROL NH", ("zip", "03579", "city")),
        ("90210", ("zcta", "90210", "zcta")),
        (
            "median income 90210",
            ("metric", "90210:median_household_income", "metric"),
        ),
        (
            "rent 95120",
            ("metric", "95120:median_gross_rent", "metric"),
        ),
        ("06037", ("county", "06037", "fips")),
        ("Los Angeles County", ("county", "06037", "name")),
        (
            "los angeles county, california",
            ("county", "06037", "name"),
        ),
        (
            "Los Angeles, CA",
            ("county", "06037", "name_without_suffix"),
        ),
        ("dona ana NM", ("county", "35013", "name_without_suffix")),
        ("California", ("state", "CA", "state")),
        ("ca", ("state", "CA", "state")),
        ("320193", ("company", "0000320193", "cik")),
        ("CIK 0000320193", ("company", "0000320193", "cik")),
        ("nvda", ("company", "0001045810", "ticker")),
        (
            "home depot",
            ("company", "0000354950", "name_without_suffix"),
        ),
        (
            "0000055785-16-000194",
            ("filing", "0000055785-16-000194", "accession_number"),
        ),
        ("radar associates", ("business", "NY-55570", "normalized")),
        (
            "FL-A23000000520",
            ("business", "FL-A23000000520", "entity_id"),
        ),
        (
            "A23000000520",
            ("business", "FL-A23000000520", "entity_number"),
        ),
        (
            "A23000000520 Florida",
            ("business", "FL-A23000000520", "entity_number"),
        ),
        (
            "TX-tdlr-ba-21907",
            ("license", "TX-tdlr-ba-21907", "license_id"),
        ),
        ("21907", ("license", "TX-tdlr-ba-21907", "number")),
        ("TX 21907", ("license", "TX-tdlr-ba-21907", "number")),
        ("servpg*892pl", ("license", "WA-lni-SERVPG*892PL", "number")),
        ("Colan Placi", ("license", "TX-tdlr-ba-21907", "prefix")),
        (
            "11436 Flushwing Dr, Austin, TX 78754",
            (
                "property",
                "us-tx-austin:11436-flushwing-dr-78754",
                "address",
            ),
        ),
        (
            "11436 flushwing dr",
            (
                "property",
                "us-tx-austin:11436-flushwing-dr-78754",
                "address",
            ),
        ),
        (
            "us-tx-austin:11436-flushwing-dr-78754",
            (
                "property",
                "us-tx-austin:11436-flushwing-dr-78754",
                "property_id",
            ),
        ),
        ("Austin", ("jurisdiction", "us-tx-austin", "name")),
        ("austin, Texas", ("jurisdiction", "us-tx-austin", "name")),
        ("austin permits", ("jurisdiction", "us-tx-austin", "name")),
        (
            "2007-115393 BP",
            ("permit", "us-tx-austin:2007-115393-BP", "permit_number"),
        ),
        (
            "geo.zcta_metric:2023:90210:population",
            ("record", "geo.zcta_metric:2023:90210:population", "exact"),
        ),
        (
            "license.license:TX-tdlr-ba-21907",
            ("record", "license.license:TX-tdlr-ba-21907", "exact"),
        ),
        ("permit.permit", ("dataset", "permit.permit", "exact")),
        (
            "neighbourhood metrics county",
            ("dataset", "geo.county_metric", "title"),
        ),
        (release.as_str(), ("release", release.as_str(), "exact")),
    ];
    for (text, (kind, id, label)) in cases {
        let answer = served.ok(&question(text)).await;
        let found = reported(&answer);
        assert!(
            found.contains(&(kind.to_owned(), id.to_owned(), label.to_owned())),
            "{text}: {found:#?}"
        );
        assert!(
            notices(&answer) == ["SAMPLE_RELEASE"],
            "{text}: {}",
            answer["meta"]["notices"]
        );
        for hit in answer["data"]["results"].as_array().unwrap() {
            let path = hit["path"].as_str().unwrap();
            if is_here(path) {
                assert_eq!(served.get(path).await.status, 200, "{text}: {path}");
            }
            if let Some(record_id) = hit["record_id"].as_str() {
                let path = format!(
                    "/v1/provenance/{}",
                    utf8_percent_encode(record_id, NON_ALPHANUMERIC)
                );
                assert_eq!(served.get(&path).await.status, 200, "{text}: {path}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_share_one_form_and_state_their_kind() {
    let served = Served::new().await;
    let answer = served.ok("/v1/search?q=median%20income%2090210").await;
    // The Bureau's figure in the fixture's file: 126696 ± 10491.
    assert_eq!(
        answer["data"]["results"][0],
        json!({
            "kind": "metric", "title": "median household income of ZCTA 90210", "subtitle": "126696 ± 10491 usd · 2023", "id": "90210:median_household_income",
            "path": "/v1/geo-demographics/locations/90210/demographics?metric=median_household_income", "page": "/zip/90210",
            "match": {"score": 1, "type": "metric"}, "record_id": "geo.zcta_metric:2023:90210:median_household_income",
        })
    );
    let answer = served.ok("/v1/search?q=90210").await;
    let kinds: Vec<&str> = answer["data"]["interpretations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|read| read["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["zcta", "cik", "zip"]);
    let scores: Vec<f64> = answer["data"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["match"]["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(
        reported(&served.ok("/v1/search?q=county&limit=1").await).len(),
        1
    );
    let agent = served.ok("/v1/search?q=0001193125-25-000001").await;
    assert_eq!(
        (reported(&agent).len(), notices(&agent)),
        (0, vec!["FILING_NOT_FOUND", "SAMPLE_RELEASE"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn results_outside_the_scope_of_a_key_are_hidden_and_reported() {
    let world = World::empty(|_| {}).await;
    world.publish(&geo::draft(19_652.0)).await;
    world.service.refresh().await.unwrap();
    for (scopes, kinds, expected) in [
        (
            vec![Scope::Geo],
            vec!["zcta"],
            vec!["NOT_SEARCHED", "NOT_SEARCHED"],
        ),
        (
            vec![Scope::Stream],
            Vec::new(),
            vec!["NOT_SEARCHED", "NOT_SEARCHED", "NOT_SEARCHED"],
        ),
        (
            vec![Scope::Geo, Scope::Sec, Scope::General],
            vec!["zcta"],
            vec!["NOT_PUBLISHED"],
        ),
    ] {
        let key = world.create_key(&scopes, "unlimited").key;
        let request = Request::get("/v1/search?q=90210")
            .header("x-api-key", &key)
            .body(Body::empty())
            .unwrap();
        let answer = world.send(request).await.json();
        let found: Vec<String> = reported(&answer)
            .into_iter()
            .map(|(kind, ..)| kind)
            .collect();
        assert_eq!(
            (found.iter().map(String::as_str).collect(), notices(&answer)),
            (kinds, expected),
            "{scopes:?}"
        );
    }
    let key = world.create_key(&[Scope::General], "unlimited").key;
    let request = Request::get("/v1/search?q=geo.zcta_metric:2023:90210:population")
        .header("x-api-key", &key)
        .body(Body::empty())
        .unwrap();
    assert!(reported(&world.send(request).await.json()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_texts_are_searched_or_refused_without_failure() {
    let served = Served::new().await;
    let long = "é".repeat(120);
    for text in [
        "'",
        "%",
        "a",
        ",",
        ", CA",
        "TX",
        "CIK",
        "cik ",
        ":",
        "::",
        "a:b",
        "\u{0}",
        "🦀",
        "-",
        "90210 90210",
        "1 1",
        "0",
        "00000000000",
        &long,
        "r00000000000000000000",
    ] {
        let answer = served.get(&question(text)).await;
        assert_eq!(
            answer.status,
            200,
            "{text}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
    }
    for wrong in [
        "",
        "?q=",
        "?q=%20",
        "?q=a%0Ab",
        &format!("?q={}", "a".repeat(121)),
        "?q=a&limit=0",
        "?q=a&limit=51",
        "?q=a&kind=zip",
    ] {
        let answer = served.get(&format!("/v1/search{wrong}")).await;
        assert_eq!(answer.problem().0, 400, "{wrong}");
    }
    assert_eq!(
        served.get("/v1/search").await.problem(),
        (400, "missing_parameter".to_owned())
    );
}
