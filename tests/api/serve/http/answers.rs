//! Compares answers with the OpenAPI document in both directions. Every answer that any test of
//! these modules receives is also checked against the document.

use std::sync::Arc;

use pubdata_store::{Scope, append_ledger};
use serde_json::{Value, json};

use crate::receipts::SealedPlace;
use crate::serve::schema::{Survey, document};
use crate::serve::served::Served;
use crate::serve::{Fixed, World, admin, bulk, invitations, records, sec, zip_code};
use pubdata_testing::{files_below, project};

pub const OF_AREAS: [&str; 27] = [
    "/v1/search?q=90210",
    "/v1/provenance/geo.school:060000000000?include=bytes,replay",
    "/v1/geo-demographics/locations/90210",
    "/v1/geo-demographics/locations/96799",
    "/v1/geo-demographics/locations/00663",
    "/v1/geo-demographics/locations/10001",
    "/v1/geo-demographics/locations/90210/demographics?history=true",
    "/v1/geo-demographics/locations/90210/schools?limit=5",
    "/v1/geo-demographics/counties/06037",
    "/v1/geo-demographics/counties/06037/locations",
    "/v1/geo-demographics/counties/06037/locations?metric=population,median_age,households,median_household_income,median_home_value,median_gross_rent,owner_occupied_share,renter_occupied_share,high_school_attainment,bachelors_attainment,poverty_rate,unemployment_rate",
    "/v1/geo-demographics/counties/09110/locations",
    "/v1/geo-demographics/counties/06037/locations?metric=population&include=provenance",
    "/v1/geo-demographics/states/CA/counties?include=provenance",
    "/v1/geo-demographics/metrics/poverty_rate?include=provenance",
    "/v1/geo-demographics/states/CA/counties",
    "/v1/geo-demographics/states/ct/counties?metric=population",
    "/v1/geo-demographics/metrics/poverty_rate",
    "/v1/geo-demographics/metrics/median_household_income?geography_type=county&state=CA",
    "/v1/geo-demographics/coverage",
    "/v1/coverage",
    "/v1/provenance/geo.school:060000000000",
    "/v1/me",
    "/v1/plans",
    "/v1/admin/keys",
    "/v1/admin/usage",
    "/v1/admin/status",
];

pub const OF_RECORDS: [&str; 25] = [
    "/v1/license/verify?number=7100&state=CT",
    "/v1/business/search?name=acme",
    "/v1/business/search?name=rose%20society",
    "/v1/business/NY-123?include=raw",
    "/v1/business/FL-A03",
    "/v1/business/FL-A05",
    "/v1/license/verify?number=1094&state=TX&name=smith",
    "/v1/license/verify?number=nothing&state=TX",
    "/v1/license/verify?number=SERVPG*892PL&state=WA",
    "/v1/license/verify?number=2000&state=TX",
    "/v1/license/verify?number=CCR**R*931JF&state=WA",
    "/v1/license/search?name=smith",
    "/v1/license/search?name=service%20plus",
    "/v1/license/search?name=c%20c%20%26%20r",
    "/v1/permits/search?jurisdiction=us-tx-austin",
    "/v1/permits/search?jurisdiction=us-il-chicago&q=pool",
    "/v1/contractors/TX-tdlr-ba-2000",
    "/v1/contractors/TX-tdlr-el-1094",
    "/v1/contractors/TX-tdlr-el-3001",
    "/v1/contractors/WA-lni-SERVPG*892PL",
    "/v1/properties/us-il-chicago:100-n-elm-st-chicago",
    "/v1/properties?address=618%20W%20Elmira%20St%2078701",
    "/v1/coverage",
    "/v1/provenance/permit.contact:us-tx-austin:2024-001%20BP:1",
    "/v1/provenance/business.entity:FL-A05",
];

pub const OF_TAXES: [&str; 10] = [
    "/v1/tax/rate?zip=53202",
    "/v1/tax/rate?zip=55049&date=2019-02-01",
    "/v1/tax/rate?zip=97201",
    "/v1/tax/rate?zip=70112",
    "/v1/tax/rate?address=340%20Northwind%20Dr%2C%20TN%2037072&date=2024-02-01&category=food_drug",
    "/v1/zip/53202",
    "/v1/zip/90210",
    "/v1/zip/09007?fields=city",
    "/v1/zip/09007?fields=county",
    "/v1/zip/10001/nearby",
];

/// At least one request for every endpoint about registrants.
pub const OF_REGISTRANTS: [&str; 16] = [
    "/v1/sec/companies/search?q=apple",
    "/v1/sec/companies/320193",
    "/v1/sec/companies/9900193",
    "/v1/sec/companies/320193/filings",
    "/v1/sec/companies/55785/financials?include=history",
    "/v1/sec/companies/320193/financials?period=quarterly",
    "/v1/sec/financials/compare?metric=revenue&ciks=320193,1045810",
    "/v1/sec/financials/frames/revenue?fiscal_year=2023",
    "/v1/sec/companies/320193/financials?metric=operating_cash_flow&period=quarterly&span=quarter",
    "/v1/sec/financials/compare?metric=operating_cash_flow&period=quarterly&span=quarter&ciks=320193,1045810",
    "/v1/sec/financials/frames/operating_cash_flow?fiscal_year=2024&period=quarterly&span=ytd",
    "/v1/filings/search?filed_from=2024-01-01",
    "/v1/financials/320193?limit=40",
    "/v1/coverage",
    "/v1/provenance/sec.filing:0000320193:0000320193-24-000123",
    "/v1/provenance/sec.financial_value:0000320193:revenue:2023-10-01..2024-09-28:0000320193-24-000001",
];

fn posts() -> Vec<(&'static str, Value)> {
    vec![
        (
            "/v1/tax/calculate",
            json!({"to": {"zip": "53202"}, "amount": 10}),
        ),
        (
            "/v1/tax/calculate",
            json!({"to": {"zip": "37072"}, "line_items": [{"unit_price": 10, "category": "food_drug"}], "shipping": 1}),
        ),
        (
            "/v1/tax/calculate",
            json!({"to": {"city": "Tampa", "state": "FL"}, "amount": 100, "shipping": 10}),
        ),
        (
            "/v1/tax/batch",
            json!({"addresses": [{"zip": "53202", "id": "a"}, {"zip": "0"}]}),
        ),
        ("/v1/zip/batch", json!({"zips": ["53202", "0"]})),
    ]
}

async fn ask(survey: &mut Survey<'_>, world: &World, paths: &[&str]) {
    for path in paths {
        survey.answer("GET", path, &world.ok(path).await);
    }
}

#[tokio::test]
async fn answers_and_the_document_agree_in_both_directions() {
    let areas = World::with(|settings| settings.tracer = Some(Arc::new(Fixed))).await;
    let (records, taxes, registrants) = (
        records::world().await,
        zip_code::world().await,
        sec::world().await,
    );
    let mut survey = Survey::new(document(&areas.contracts));
    for path in files_below(&project("docs/examples")) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // The requests of each operation.
        if name == "requests" {
            continue;
        }
        survey.example(
            &name,
            &serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap(),
        );
    }
    append_ledger(&areas.home, &admin::run(&areas, "run-2")).unwrap();
    ask(&mut survey, &areas, &OF_AREAS).await;
    ask(&mut survey, &records, &OF_RECORDS).await;
    ask(&mut survey, &taxes, &OF_TAXES).await;
    ask(&mut survey, &registrants, &OF_REGISTRANTS).await;
    ask(
        &mut survey,
        &sec::world_of_a_successor().await,
        &["/v1/sec/companies/1045810"],
    )
    .await;
    ask(&mut survey, &bulk::world().await.0, &bulk::OF_BULK).await;
    // Receipts of parts by subject, and of an absent record.
    let receipt = "/v1/receipts/sec.filing:9999999999:none";
    // Releases with standard licenses.
    let (served, licensed) = (
        Served::start(SealedPlace::new().place).await,
        "/v1/datasets/business.entity/croissant.json",
    );
    for path in [receipt, licensed] {
        survey.answer("GET", path, &served.ok(path).await);
    }
    let compare = "/v1/geo-demographics/locations/compare";
    survey.answer(
        "POST",
        compare,
        &areas
            .post(compare, &json!({"locations": ["90210", "10001"]}))
            .await
            .json(),
    );
    for (path, body) in posts() {
        survey.answer("POST", path, &taxes.post(path, &body).await.json());
    }
    let invited = invitations::invite(&areas).token;
    for path in ["/v1/invitations/show", "/v1/invitations/redeem"] {
        survey.answer(
            "POST",
            path,
            &invitations::post(&areas, path, &invited).await.json(),
        );
    }
    let key = areas.create_key(&[Scope::Geo], "free").key;
    let rotated = areas
        .post_as(&key, "/v1/me/rotate", &json!({}))
        .await
        .json();
    survey.answer("POST", "/v1/me/rotate", &rotated);
    survey.answer(
        "POST",
        "/v1/me/revoke",
        &areas
            .post_as(
                rotated["data"]["key"].as_str().unwrap(),
                "/v1/me/revoke",
                &json!({}),
            )
            .await
            .json(),
    );
    for (world, path) in [
        (&areas, "/v1/geo-demographics/locations/1"),
        (&records, "/v1/contractors/1094?state=TX"),
    ] {
        survey.problem(&world.get(path).await.json(), path);
    }
    assert!(
        survey.breaches.is_empty(),
        "answers that the document does not describe: {:#?}",
        survey.breaches
    );
    let mut disagreements = survey.loose();
    disagreements.extend(
        survey
            .unwritten()
            .iter()
            .map(|at| format!("{at}: in no answer")),
    );
    disagreements.extend(
        survey
            .unrequired()
            .iter()
            .map(|at| format!("{at}: in every answer but not required")),
    );
    assert!(
        disagreements.is_empty(),
        "the document describes more than the answers contain: {disagreements:#?}"
    );
}

/// A document with one endpoint, for each kind of disagreement.
fn small() -> Value {
    json!({
        "paths": {"/v1/thing/{id}": {"get": {"operationId": "getThing", "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}}},
        "components": {"schemas": {
            "Thing": {
                "type": "object", "required": ["name", "size"], "additionalProperties": false,
                "properties": {
                    "name": {"type": "string", "enum": ["a", "b"]}, "size": {"type": ["number", "null"], "minimum": 0}, "day": {"type": "string", "format": "date"},
                    "part": {"anyOf": [{"$ref": "#/components/schemas/Part"}, {"type": "null"}]}, "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}}
                }
            },
            "Part": {"type": "object", "additionalProperties": false, "properties": {"id": {"type": "string", "pattern": "^[0-9]{5}$"}, "note": {"type": "string"}}},
            "Problem": {"type": "object", "additionalProperties": {"type": "string"}}
        }}
    })
}

fn breaches(value: &Value) -> Vec<String> {
    let document = small();
    let mut survey = Survey::new(&document);
    survey.answer("GET", "/v1/thing/1?a=b", value);
    survey.breaches
}

#[test]
fn every_undescribed_answer_is_reported() {
    assert_eq!(
        breaches(
            &json!({"name": "a", "size": 1, "part": {"id": "01234"}, "parts": [], "day": "2026-01-15"})
        ),
        Vec::<String>::new()
    );
    assert_eq!(
        breaches(&json!({"name": "b", "size": null, "part": null})),
        Vec::<String>::new()
    );
    let cases = [
        (
            json!({"name": "a", "size": 1, "other": 1}),
            "/v1/thing/1?a=b/other: not declared",
        ),
        (json!({"name": "a"}), "/v1/thing/1?a=b: `size` is missing"),
        (
            json!({"name": "c", "size": 1}),
            "/v1/thing/1?a=b/name: \"c\" is not one of [String(\"a\"), String(\"b\")]",
        ),
        (
            json!({"name": null, "size": 1}),
            "/v1/thing/1?a=b/name: null is not [\"string\"]",
        ),
        (
            json!({"name": "a", "size": -1}),
            "/v1/thing/1?a=b/size: -1 is not from 0 to null",
        ),
        (
            json!({"name": "a", "size": 1, "day": "2026-02-30"}),
            "/v1/thing/1?a=b/day: \"2026-02-30\" is not a date",
        ),
        (
            json!({"name": "a", "size": 1, "part": {"id": "1"}}),
            "/v1/thing/1?a=b/part/id: \"1\" does not match ^[0-9]{5}$",
        ),
        (
            json!({"name": "a", "size": 1, "parts": [{}, {"ids": ""}]}),
            "/v1/thing/1?a=b/parts/1/ids: not declared",
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(breaches(&value), [expected]);
    }
    let document = small();
    let mut survey = Survey::new(&document);
    survey.answer("POST", "/v1/thing/1", &json!({}));
    survey.example("getThings", &json!({}));
    assert_eq!(
        survey.breaches,
        [
            "POST /v1/thing/1 is not in the document",
            "getThings is an example without an operation"
        ]
    );
}

#[test]
fn every_description_beyond_the_answers_is_reported() {
    let mut document = small();
    let mut survey = Survey::new(&document);
    survey.answer(
        "GET",
        "/v1/thing/1",
        &json!({"name": "a", "size": 1, "parts": [{"id": "01234"}]}),
    );
    survey.answer(
        "GET",
        "/v1/thing/2",
        &json!({"name": "a", "size": 1, "parts": [], "part": null}),
    );
    assert_eq!(survey.breaches, Vec::<String>::new());
    assert_eq!(survey.unwritten(), ["Part/note", "Thing/day"]);
    assert_eq!(survey.unrequired(), ["Part/id", "Thing/parts"]);
    assert_eq!(survey.loose(), Vec::<String>::new());
    let mut without = Survey::new(&document);
    without.answer("GET", "/v1/thing/1", &json!({"name": "a", "size": 1}));
    assert_eq!(
        without.unwritten(),
        ["Part", "Thing/day", "Thing/part", "Thing/parts"]
    );

    let schemas = &mut document["components"]["schemas"];
    schemas["Thing"]["required"] = json!(["name", "size", "weight"]);
    schemas["Thing"]["properties"]["name"]["maxLength"] = json!(3);
    schemas["Thing"]["properties"]["parts"]["items"] = Value::Null;
    schemas["Part"]
        .as_object_mut()
        .unwrap()
        .remove("additionalProperties");
    schemas["Part"]["properties"]["note"] = json!({});
    schemas["Old"] = json!({"type": "string"});
    let expected = [
        "Part: may have any member",
        "Part/note: has no type",
        "Thing: `weight` is required and not declared",
        "Thing/name: `maxLength` is not checked",
        "Thing/parts: may have any items",
        "Old: no endpoint uses it",
    ];
    assert_eq!(Survey::new(&document).loose(), expected);
}

#[tokio::test]
async fn release_without_these_families_names_what_is_missing() {
    let world = World::new().await;
    for path in [
        "business/search?name=acme",
        "business/FL-1",
        "license/verify?number=1&state=TX",
        "license/search?name=smith",
        "permits/search?zip=78701",
        "contractors/TX-1",
        "properties/1%20Main%20St%2078701",
    ] {
        assert_eq!(
            world.get(&format!("/v1/{path}")).await.problem(),
            (404, "coverage_unavailable".to_owned()),
            "{path}"
        );
    }
}
