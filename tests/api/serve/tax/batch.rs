use pubdata_store::Scope;
use serde_json::{Value, json};

use super::{rate, world};

#[tokio::test]
async fn batch_equals_its_single_calls_and_costs_as_many_tokens() {
    let world = world().await;
    let addresses = json!([
        {"id": "a", "zip": "55103"}, {"id": "b", "zip": "53202"}, {"id": "c", "zip": "99999"}, {"id": "d", "city": "Dallas", "state": "TX"},
        {"zip": "5"}, 7, {"id": "e", "zip": "55049", "date": "x"}, {"id": "a", "zip": "55103"}, "53202", "1 Elm St, Dallas, TX", [1],
    ]);
    let answer = world
        .post(
            "/v1/tax/batch",
            &json!({"date": "2026-01-15", "addresses": addresses}),
        )
        .await
        .json();
    let items = answer["data"].as_array().unwrap();
    let summary: Vec<(bool, Option<&str>)> = items
        .iter()
        .map(|item| {
            (
                item["found"].as_bool().unwrap(),
                item["error"]["code"].as_str(),
            )
        })
        .collect();
    let inputs: Vec<&Value> = items.iter().map(|item| &item["input"]).collect();
    assert_eq!(
        inputs[..10],
        addresses
            .as_array()
            .unwrap()
            .iter()
            .take(10)
            .collect::<Vec<_>>()
    );
    assert_eq!(items[10]["input"], "[1]", "a list is not an address");
    assert_eq!(
        items
            .iter()
            .map(|item| item["index"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        (0..11).collect::<Vec<_>>()
    );
    let (invalid, unknown, uncovered) = (
        Some("invalid_parameter"),
        Some("unknown_parameter"),
        Some("coverage_unavailable"),
    );
    assert_eq!(
        summary,
        [
            (false, uncovered),
            (true, None),
            (false, Some("not_found")),
            (true, None),
            (false, invalid),
            (false, invalid),
            (false, unknown),
            (false, uncovered),
            (true, None),
            (true, None),
            (false, invalid),
        ]
    );
    for (item, query) in [
        (1, "zip=53202"),
        (3, "city=Dallas&state=TX"),
        (8, "zip=53202"),
        (9, "address=1+Elm+St,+Dallas,+TX"),
    ] {
        let single = rate(&world, &format!("{query}&date=2026-01-15")).await;
        assert_eq!(
            (&items[item]["result"], &items[item]["notices"]),
            (&single["data"], &single["meta"]["notices"])
        );
    }
    let single = world
        .get("/v1/tax/rate?zip=55103&date=2026-01-15")
        .await
        .json();
    assert_eq!(items[0]["error"]["detail"], single["detail"]);
    assert_eq!(
        (
            &items[0]["error"]["instance"],
            &items[0]["error"]["request_id"]
        ),
        (&json!("/v1/tax/batch"), &answer["meta"]["request_id"])
    );
    assert_eq!(
        items[5]["error"]["detail"],
        "`addresses[5]` must be an object such as {\"zip\": \"55401\"}, or an address on one line"
    );
    let many = vec![json!({"zip": "53202"}); 101];
    assert_eq!(
        world
            .post("/v1/tax/batch", &json!({"addresses": many}))
            .await
            .problem(),
        (400, "batch_too_large".to_owned())
    );
    assert_eq!(
        world
            .post("/v1/tax/batch", &json!({"addresses": []}))
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        world
            .post("/v1/tax/batch", &json!({"date": "2026-01-15"}))
            .await
            .problem(),
        (400, "missing_parameter".to_owned())
    );

    // A plan of 20 requests at once: a batch of 12 leaves 8, another batch is refused, and the
    // answer gives the time to retry.
    let key = world.create_key(&[Scope::General], "free").key;
    let batch = json!({"addresses": vec![json!({"zip": "53202"}); 12]});
    let first = world.post_as(&key, "/v1/tax/batch", &batch).await;
    assert_eq!(
        (first.status.as_u16(), first.header("x-ratelimit-remaining")),
        (200, "8")
    );
    let second = world.post_as(&key, "/v1/tax/batch", &batch).await;
    assert_eq!(
        (
            second.status.as_u16(),
            second.header("retry-after"),
            second.header("x-ratelimit-remaining")
        ),
        (429, "4", "7")
    );
}
