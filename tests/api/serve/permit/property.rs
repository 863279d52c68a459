use serde_json::{Value, json};

use crate::serve::records::world;
use crate::serve::{all, notices};

#[tokio::test]
async fn property_has_all_its_permits() {
    let world = world().await;
    let answer = world
        .ok("/v1/properties/100%20N.%20Elm%20Street,%20Chicago,%20IL")
        .await;
    let data = &answer["data"];
    assert_eq!(
        (&data["property_id"], &data["match"]),
        (
            &json!("us-il-chicago:100-n-elm-st-chicago"),
            &json!({"quality": "exact", "candidates": []})
        )
    );
    assert_eq!(all(&data["permits"], "permit_number"), ["2", "1"]);
    let address = json!({
        "line1": "100 N ELM ST", "number": "100", "predirectional": "N", "street": "ELM", "suffix": "ST", "postdirectional": null, "city": "CHICAGO", "state": "IL", "zip": null,
        "normalized": "100 N ELM ST, CHICAGO, IL",
    });
    assert_eq!(
        (&data["address"], &data["parcels"], &data["lat"]),
        (
            &address,
            &json!([{"scheme": "pin", "value": "17-09-1"}]),
            &json!(41.88)
        )
    );
    // Five billion dollars is a typing error.
    let summary = &data["permit_summary"];
    assert_eq!(
        (
            &summary["count"],
            &summary["total_job_value"],
            &summary["implausible_values"]
        ),
        (&json!(2), &json!(1000.5), &json!(1))
    );
    assert_eq!(notices(&answer), ["VALUE_IMPLAUSIBLE"]);
    let by_id = world
        .ok("/v1/properties/us-il-chicago:100-n-elm-st-chicago")
        .await;
    assert_eq!(by_id["data"], *data);
    let by_query = world
        .ok("/v1/properties?address=100%20N%20Elm%20St,%20Chicago%20IL")
        .await;
    assert_eq!(by_query["data"], *data);
}

#[tokio::test]
async fn address_of_several_properties_is_ambiguous() {
    let world = world().await;
    let answer = world
        .get("/v1/properties/100%20Elm%20St,%20Chicago,%20IL")
        .await;
    assert_eq!(answer.problem(), (400, "ambiguous_identifier".to_owned()));
    assert_eq!(
        answer.json()["candidates"],
        json!([
            "us-il-chicago:100-n-elm-st-chicago",
            "us-il-chicago:100-s-elm-st-chicago"
        ])
    );
    let one = world
        .ok("/v1/properties/7%20Oak%20St,%20Chicago,%20IL")
        .await;
    assert_eq!(
        (&one["data"]["match"]["quality"], notices(&one)),
        (&json!("street_and_zip"), vec!["ADDRESS_COMPLETED"])
    );
}

#[tokio::test]
async fn unit_selects_its_own_permits_or_is_ignored_with_a_notice() {
    let world = world().await;
    let unit = world
        .ok("/v1/properties?address=100%20N%20Elm%20St%20Apt%203,%20Chicago,%20IL")
        .await;
    assert_eq!(
        (
            &unit["data"]["match"]["quality"],
            all(&unit["data"]["permits"], "permit_number")
        ),
        (&json!("exact"), vec!["2"])
    );
    let other = world
        .ok("/v1/properties?address=100%20N%20Elm%20St%20%239,%20Chicago,%20IL")
        .await;
    assert_eq!(
        (
            &other["data"]["match"]["quality"],
            all(&other["data"]["permits"], "permit_number")
        ),
        (&json!("unit_ignored"), vec!["2", "1"])
    );
    assert_eq!(notices(&other), ["VALUE_IMPLAUSIBLE", "UNIT_IGNORED"]);
}

#[tokio::test]
async fn unknown_property_and_uncovered_place_differ() {
    let world = world().await;
    let problem = async |address: &str| {
        world
            .get(&format!("/v1/properties/{address}"))
            .await
            .problem()
    };
    assert_eq!(
        problem("9%20W%20Oak%20Ave,%20Chicago,%20IL").await,
        (404, "not_found".to_owned())
    );
    assert_eq!(
        problem("us-il-chicago:nothing").await,
        (404, "not_found".to_owned())
    );
    assert_eq!(
        problem("9%20W%20Oak%20Ave,%20Boston,%20MA%2002101").await,
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        problem("Oak%20Ave").await,
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        problem("9%20W%20Oak%20Ave").await,
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        world.get("/v1/properties").await.problem(),
        (400, "missing_parameter".to_owned())
    );
    let wrong_city = world
        .get("/v1/properties/618%20W%20Elmira%20St,%20Dallas,%20TX%2078701")
        .await;
    assert_eq!(wrong_city.status, 200, "the ZIP code determines the place");
    assert_eq!(
        wrong_city.json()["data"]["address"]["city"],
        Value::from("AUSTIN")
    );
}
