use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::Request;
use pubdata_core::contract::Physical;
use pubdata_core::ids::Digest;
use serde_json::{Value, json};

use super::world;
use crate::serve::World;
use crate::serve::home::publish_changed;

const METRICS: &str = "/v1/datasets/geo.zcta_metric/croissant.json";
const OWN: &str = "http://127.0.0.1:8080";

/// Entries by `@id` and kind.
fn by_id<'a>(items: &'a Value, kind: &str) -> BTreeMap<&'a str, &'a Value> {
    let of_kind = items
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["@type"] == kind);
    of_kind
        .map(|item| (item["@id"].as_str().unwrap(), item))
        .collect()
}

#[tokio::test]
async fn downloaded_parts_match_their_croissant_description() {
    let world = World::new().await;
    let answer = world
        .send(Request::get(METRICS).body(Body::empty()).unwrap())
        .await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("content-type")),
        (200, "application/json"),
        "without a key"
    );
    let document = answer.json();
    assert_eq!(
        (document.get("data"), document.get("meta")),
        (None, None),
        "the document stands alone"
    );
    assert_eq!(
        (&document["@type"], &document["conformsTo"]),
        (
            &json!("sc:Dataset"),
            &json!("http://mlcommons.org/croissant/1.1")
        )
    );
    let (contract, manifest) = (
        &world.contracts["geo.zcta_metric"],
        world.releases().manifest(&world.release_id).await.unwrap(),
    );
    assert_eq!(
        (&document["name"], &document["identifier"]),
        (&json!(contract.title), &json!("geo.zcta_metric"))
    );
    assert_eq!(
        document["version"],
        format!(
            "{}+{}",
            manifest.datasets["geo.zcta_metric"].schema_version, world.release_id
        )
    );
    assert_eq!(
        document["creator"],
        json!([{"@type": "sc:Organization", "name": "U.S. Census Bureau"}])
    );
    assert_eq!(
        document["license"],
        json!([{"@type": "sc:CreativeWork", "name": "Public domain"}])
    );
    assert_eq!(
        (&document["keywords"], &document["dateModified"]),
        (
            &json!(["geo"]),
            &world.ok("/v1/datasets/geo.zcta_metric").await["data"]["source_date"]
        )
    );
    assert!(
        document["description"]
            .as_str()
            .unwrap()
            .contains(&contract.not_covered[0]),
        "{}",
        document["description"]
    );
    // The survey of 2022 began in 2018: a survey covers five years.
    assert_eq!(document["temporalCoverage"], "2018-01-01/2023-12-31");
    let files = by_id(&document["distribution"], "cr:FileObject");
    let parts = &manifest.datasets["geo.zcta_metric"].parts;
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        parts.iter().map(|part| &part.path).collect::<Vec<_>>()
    );
    for part in parts {
        let file = files[part.path.as_str()];
        let url = file["contentUrl"].as_str().unwrap();
        let downloaded = world.get(url.strip_prefix(OWN).unwrap()).await;
        assert_eq!(
            (downloaded.status.as_u16(), &file["sha256"]),
            (200, &json!(Digest::sha256(&downloaded.bytes).to_string()))
        );
        assert_eq!(file["contentSize"], format!("{} B", downloaded.bytes.len()));
    }
    let set = by_id(&document["distribution"], "cr:FileSet")["parts"];
    assert_eq!(
        (&set["includes"], set.get("containedIn")),
        (&json!("geo.zcta_metric/*.parquet"), None)
    );
    assert!(parts.iter().all(|part| {
        part.path
            .strip_prefix("geo.zcta_metric/")
            .is_some_and(|name| name.ends_with(".parquet"))
    }));
}

#[tokio::test]
async fn fields_are_the_columns_of_the_contract_without_pointers() {
    let world = World::new().await;
    let document = world.ok(METRICS).await;
    let contract = &world.contracts["geo.zcta_metric"];
    let records = &document["recordSet"][0];
    let fields = by_id(&records["field"], "cr:Field");
    let columns = contract
        .columns
        .iter()
        .filter(|column| column.column_type.physical != Physical::Pointers);
    assert_eq!(fields.len(), columns.clone().count());
    for column in columns {
        let field = fields[format!("records/{}", column.name).as_str()];
        assert_eq!(
            (&field["description"], &field["source"]["extract"]["column"]),
            (&json!(column.description), &json!(column.name))
        );
        assert_eq!(field["source"]["fileSet"]["@id"], "parts");
    }
    assert_eq!(
        records["key"],
        json!([{"@id": "records/vintage_year"}, {"@id": "records/zcta"}, {"@id": "records/metric"}])
    );
    let kind = |name: &str| (&fields[name]["dataType"], &fields[name]["isArray"]);
    assert_eq!(
        kind("records/zcta"),
        (&json!("sc:Text"), &Value::Null),
        "a code is not a number"
    );
    assert_eq!(kind("records/value"), (&json!("sc:Float"), &Value::Null));
    assert_eq!(
        kind("records/vintage_year"),
        (&json!("cr:Int32"), &Value::Null)
    );
    assert_eq!(
        kind("records/is_derived"),
        (&json!("sc:Boolean"), &Value::Null)
    );
    assert_eq!(kind("records/warnings"), (&json!("sc:Text"), &json!(true)));
    // A single part needs no file set.
    let county = world.ok("/v1/datasets/geo.county/croissant.json").await;
    assert_eq!(by_id(&county["distribution"], "cr:FileSet").len(), 0);
    let part = county["distribution"][0]["@id"].clone();
    assert_eq!(
        county["recordSet"][0]["field"][0]["source"]["fileObject"]["@id"],
        part
    );
    assert_eq!(county.get("temporalCoverage"), None);
}

#[tokio::test]
async fn addresses_use_the_configured_url_and_pin_the_release() {
    let (world, [first, ..]) = world().await;
    let document = world.ok(&format!("{METRICS}?release={first}")).await;
    let url = document["distribution"][0]["contentUrl"].as_str().unwrap();
    assert!(
        url.starts_with(&format!(
            "{OWN}/v1/releases/{first}/datasets/geo.zcta_metric?format=parquet&part="
        )),
        "{url}"
    );
    assert_eq!(
        document["includedInDataCatalog"]["url"],
        format!("{OWN}/v1/catalog.json?release={first}")
    );
    let request = Request::get(METRICS)
        .header("host", "evil.example")
        .header("x-forwarded-host", "evil.example");
    let answer = world.send(request.body(Body::empty()).unwrap()).await;
    assert!(!String::from_utf8_lossy(&answer.bytes).contains("evil.example"));
    let public =
        World::with(|settings| settings.public_url = Some("https://data.example.org/".to_owned()))
            .await;
    let document = public.ok(METRICS).await;
    assert_eq!(
        document["url"],
        "https://data.example.org/datasets/geo.zcta_metric"
    );
    assert!(
        document["distribution"][0]["contentUrl"]
            .as_str()
            .unwrap()
            .starts_with("https://data.example.org/v1/releases/r")
    );
    let without_pages = World::with(|settings| settings.pages = pubdata_serve::Pages::Off).await;
    assert_eq!(
        without_pages.ok(METRICS).await["url"],
        format!("{OWN}/v1/datasets/geo.zcta_metric")
    );
}

#[tokio::test]
async fn linked_data_request_gets_the_document_type_with_its_own_tag() {
    let world = World::new().await;
    let requested = async |path: &str, accept: &str| {
        world
            .send(
                Request::get(path)
                    .header("accept", accept)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await
    };
    let plain = requested(METRICS, "*/*").await;
    // The last header is the one that rdflib sends.
    let rdflib = "text/turtle, application/rdf+xml, application/ld+json;q=0.9, */*;q=0.1";
    for accept in [
        "application/ld+json",
        "application/ld+json;profile=\"x\", application/json;q=0.5",
        rdflib,
    ] {
        let linked = requested(METRICS, accept).await;
        assert_eq!(
            (linked.status.as_u16(), linked.header("content-type")),
            (200, "application/ld+json"),
            "{accept}"
        );
        assert!(
            linked.bytes == plain.bytes && linked.header("etag") != plain.header("etag"),
            "{accept}"
        );
    }
    for accept in [
        "*/*",
        "application/*",
        "application/json",
        "application/json, application/ld+json;q=0.5",
    ] {
        assert_eq!(
            requested(METRICS, accept).await.header("content-type"),
            "application/json",
            "{accept}"
        );
    }
    let refused = requested(METRICS, "text/turtle").await;
    assert_eq!(refused.problem(), (400, "invalid_parameter".to_owned()));
    assert!(
        refused.json()["detail"]
            .as_str()
            .unwrap()
            .contains("`application/json` or `application/ld+json`"),
        "{}",
        refused.json()
    );
    // A document that is not linked data does not get that type.
    assert_eq!(
        requested("/v1/catalog.json", "application/ld+json")
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn standard_license_has_its_address() {
    let world = World::new().await;
    let licence = "Creative Commons Attribution 4.0";
    publish_changed(&world.home, &world.release_id, |manifest| {
        manifest
            .tasks
            .values_mut()
            .for_each(|task| task.licence = licence.to_owned());
    })
    .await;
    world.service.refresh().await.unwrap();
    let expected = json!([{"@type": "sc:CreativeWork", "name": licence, "url": "https://creativecommons.org/licenses/by/4.0/"}]);
    assert_eq!(world.ok(METRICS).await["license"], expected);
}

#[tokio::test]
async fn unchanged_document_is_304_and_unknown_dataset_a_problem() {
    let world = World::new().await;
    let tag = world.get(METRICS).await.header("etag").to_owned();
    let request = Request::get(METRICS).header("if-none-match", tag);
    assert_eq!(
        world
            .send(request.body(Body::empty()).unwrap())
            .await
            .status,
        304
    );
    let problem = world.get("/v1/datasets/geo.nothing/croissant.json").await;
    assert_eq!(problem.problem(), (404, "not_found".to_owned()));
    assert!(
        problem.json()["detail"]
            .as_str()
            .unwrap()
            .contains("/v1/datasets")
    );
    assert_eq!(
        world.get(&format!("{METRICS}?format=csv")).await.problem(),
        (400, "unknown_parameter".to_owned())
    );
}
