use serde_json::{Value, json};

use super::world;
use crate::serve::notices;

#[tokio::test]
async fn sale_is_taxed_to_the_cent() {
    let world = world().await;
    let calculate = async |body: Value| world.post("/v1/tax/calculate", &body).await;
    let to = json!({"zip": "55401"});
    let answer = calculate(json!({
        "to": to, "date": "2019-01-01", "shipping": 4.99,
        "line_items": [
            {"id": "a", "quantity": 3, "unit_price": 9.99, "discount": 1.5},
            {"id": "b", "unit_price": -5},
            {"id": "c", "unit_price": 20, "category": "exempt"},
            {"id": "d", "unit_price": 7, "taxable": false},
        ],
    }))
    .await
    .json();
    let data = &answer["data"];
    // 28.47, -5.00 and 4.99 at 8.025 percent: 2.28, -0.40 and 0.40.
    assert_eq!(
        (
            &data["taxable_amount"],
            &data["tax_amount"],
            &data["order_total"],
            &data["rate"]
        ),
        (&json!(28.46), &json!(2.28), &json!(57.74), &json!(0.08025))
    );
    let taxes: Vec<&Value> = data["line_items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["tax_amount"])
        .collect();
    assert_eq!(
        taxes,
        [&json!(2.28), &json!(-0.4), &json!(0.0), &json!(0.0)]
    );
    assert_eq!(
        (
            &data["shipping"]["tax_amount"],
            &data["shipping"]["taxable_basis"]
        ),
        (&json!(0.4), &json!("state"))
    );
    let cents = |value: &Value| (value.as_f64().unwrap() * 100.0).round() as i64;
    let parts = |breakdown: &Value| {
        breakdown
            .as_array()
            .unwrap()
            .iter()
            .map(|part| cents(&part["tax_amount"]))
            .sum::<i64>()
    };
    assert_eq!(parts(&data["breakdown"]), 228);
    data["line_items"]
        .as_array()
        .unwrap()
        .iter()
        .for_each(|line| assert_eq!(parts(&line["breakdown"]), cents(&line["tax_amount"])));
    assert_eq!(
        notices(&answer),
        [
            "HOLIDAYS_NOT_MODELLED",
            "NOT_TAX_ADVICE",
            "DELIVERY_NOT_DIVIDED"
        ]
    );

    let including = calculate(
        json!({"to": to, "date": "2019-01-01", "amount": 108.03, "prices_include_tax": true}),
    )
    .await
    .json();
    assert_eq!(
        (
            &including["data"]["taxable_amount"],
            &including["data"]["tax_amount"],
            &including["data"]["order_total"]
        ),
        (&json!(100.0), &json!(8.03), &json!(108.03))
    );
    let exempt = calculate(json!({"to": to, "date": "2019-01-01", "amount": 100, "shipping": 5, "exemption": "resale"})).await.json();
    assert_eq!(
        (
            &exempt["data"]["tax_amount"],
            &exempt["data"]["order_total"],
            &exempt["data"]["rate"]
        ),
        (&json!(0.0), &json!(105.0), &Value::Null)
    );
    assert!(notices(&exempt).contains(&"EXEMPTION_NOT_VERIFIED"));
    // Nevada does not tax delivery charges; a caller may override that.
    let nevada = calculate(json!({"to": {"zip": "89101"}, "amount": 100, "shipping": 10}))
        .await
        .json();
    assert_eq!(
        (
            &nevada["data"]["tax_amount"],
            &nevada["data"]["shipping"]["taxable"]
        ),
        (&json!(8.38), &json!(false))
    );
    let taxed = calculate(
        json!({"to": {"zip": "89101"}, "amount": 100, "shipping": 10, "shipping_taxable": true}),
    )
    .await
    .json();
    assert_eq!(
        (
            &taxed["data"]["tax_amount"],
            &taxed["data"]["shipping"]["taxable_basis"]
        ),
        (&json!(9.22), &json!("request"))
    );
    // Minnesota taxes the delivery of taxable goods: not for food alone, but completely for food
    // together with other goods.
    let delivered = async |lines: Value| {
        calculate(json!({"to": to, "date": "2019-01-01", "shipping": 10, "line_items": lines}))
            .await
            .json()
    };
    let food_alone = delivered(json!([{"unit_price": 50, "category": "food_drug"}])).await;
    assert_eq!(
        (
            &food_alone["data"]["tax_amount"],
            &food_alone["data"]["shipping"]["taxable"]
        ),
        (&json!(0.0), &json!(false))
    );
    assert!(!notices(&food_alone).contains(&"DELIVERY_NOT_DIVIDED"));
    let mixed =
        delivered(json!([{"unit_price": 50, "category": "food_drug"}, {"unit_price": 100}])).await;
    assert_eq!(
        (
            &mixed["data"]["tax_amount"],
            &mixed["data"]["shipping"]["tax_amount"]
        ),
        (&json!(8.83), &json!(0.8))
    );
    assert!(notices(&mixed).contains(&"DELIVERY_NOT_DIVIDED"));
    // Food has a lower state rate and the full county rate, on one invoice with general goods.
    let food = calculate(json!({"to": {"street": "340 Northwind Dr", "zip": "37072"}, "from": {"state": "TN"}, "date": "2024-02-01", "rounding": "invoice",
        "line_items": [{"unit_price": 10, "category": "food_drug"}, {"unit_price": 10}]}))
    .await
    .json();
    assert_eq!(
        (&food["data"]["tax_amount"], &food["data"]["rate"]),
        (&json!(1.55), &json!(0.0775))
    );
    assert_eq!(food["data"]["breakdown"].as_array().unwrap().len(), 4);
    assert!(
        notices(&food).contains(&"FOOD_DRUG_DIFFER")
            && notices(&food).contains(&"CAPS_NOT_MODELLED")
    );
    assert_eq!(
        calculate(json!({"to": {"zip": "70112"}, "amount": 1}))
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned())
    );
}

#[tokio::test]
async fn numbers_of_a_sale_are_read_to_the_digit() {
    let world = world().await;
    let post = async |text: String| world.post_text("/v1/tax/calculate", text).await;
    let line = |line: &str| format!(r#"{{"to": {{"zip": "97201"}}, "line_items": [{line}]}}"#);
    // As a binary fraction, 1.005 is slightly less.
    for (item, total) in [
        (r#"{"unit_price": 1.005}"#, "1.01"),
        (r#"{"unit_price": -1.005}"#, "-1.01"),
        (r#"{"unit_price": 0.0333, "quantity": 300}"#, "9.99"),
        (
            r#"{"unit_price": 1e2, "quantity": 1.5, "discount": 0.01}"#,
            "149.99",
        ),
        (
            r#"{"unit_price": 10000000.01, "quantity": 1000}"#,
            "10000000010.00",
        ),
    ] {
        let answer = post(line(item)).await;
        assert_eq!(
            answer.status,
            200,
            "{item}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
        assert!(
            String::from_utf8_lossy(&answer.bytes).contains(&format!("\"order_total\":{total},")),
            "{item}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
    }
    for (body, field, code) in [
        (
            line(r#"{"unit_price": 1.0000001}"#),
            "line_items[0].unit_price",
            "invalid_parameter",
        ),
        (
            line(r#"{"unit_price": "1"}"#),
            "line_items[0].unit_price",
            "invalid_parameter",
        ),
        (
            line(r#"{"quantity": 2}"#),
            "line_items[0].unit_price",
            "missing_parameter",
        ),
        (
            line(r#"{"unit_price": 1, "quantity": -1}"#),
            "line_items[0].quantity",
            "invalid_parameter",
        ),
        (
            line(r#"{"unit_price": 1, "discount": 2}"#),
            "line_items[0].discount",
            "invalid_parameter",
        ),
        (
            line(r#"{"unit_price": 1, "discount": -1}"#),
            "line_items[0].discount",
            "invalid_parameter",
        ),
        (
            line(r#"{"unit_price": 1000000000, "quantity": 1000000}"#),
            "line_items[0].unit_price",
            "invalid_parameter",
        ),
        (
            line(r#"{"unit_price": 1, "categry": "general"}"#),
            "line_items[0].categry",
            "unknown_parameter",
        ),
        (
            line(r#"{"unit_price": 1, "category": "cloth"}"#),
            "line_items[0].category",
            "invalid_parameter",
        ),
        (line("7"), "line_items[0]", "invalid_parameter"),
        (line(""), "line_items", "invalid_parameter"),
        (
            line(&[r#"{"unit_price": 1}"#; 501].join(",")),
            "line_items",
            "invalid_parameter",
        ),
        (
            r#"{"to": {"zip": "97201"}}"#.to_owned(),
            "line_items",
            "missing_parameter",
        ),
        (
            r#"{"to": {"zip": "97201"}, "amount": 1, "line_items": [{"unit_price": 1}]}"#
                .to_owned(),
            "amount",
            "invalid_parameter",
        ),
        (r#"{"amount": 1}"#.to_owned(), "to", "missing_parameter"),
        (
            r#"{"to": {"zip": 97201}, "amount": 1}"#.to_owned(),
            "to.zip",
            "invalid_parameter",
        ),
        (
            r#"{"to": {"state": "OR"}, "amount": 1}"#.to_owned(),
            "to.zip",
            "missing_parameter",
        ),
        (
            r#"{"to": {"zip": "97201"}, "amount": 1, "date": "tomorrow"}"#.to_owned(),
            "date",
            "invalid_parameter",
        ),
        (
            r#"{"to": {"zip": "97201"}, "amount": 1, "rounding": "up"}"#.to_owned(),
            "rounding",
            "invalid_parameter",
        ),
        (
            r#"{"to": {"zip": "97201"}, "amount": 1, "amount": 2}"#.to_owned(),
            "body",
            "invalid_json",
        ),
        (
            r#"{"to": {"zip": "97201", "zip": "10001"}, "amount": 1}"#.to_owned(),
            "to",
            "invalid_json",
        ),
        (
            line(r#"{"unit_price": 1, "unit_price": 2}"#),
            "line_items[0]",
            "invalid_json",
        ),
        ("[1]".to_owned(), "body", "invalid_json"),
        ("{".to_owned(), "body", "invalid_json"),
    ] {
        let answer = post(body.clone()).await;
        assert_eq!(answer.problem(), (400, code.to_owned()), "{body:.200}");
        assert_eq!(answer.json()["errors"][0]["field"], field, "{body:.200}");
    }
    for (body, detail) in [
        (
            r#"{"to": {"zip": "97201"}}"#,
            "the body needs `amount` or `line_items`",
        ),
        (
            r#"{"to": 55401, "amount": 1}"#,
            r#"`to` must be an object such as {"zip": "55401"}, or an address on one line"#,
        ),
        (
            r#"{"to": {"zip": "97201"}, "from": ["55401"], "amount": 1}"#,
            r#"`from` must be an object such as {"zip": "55401"}, or an address on one line"#,
        ),
        (
            r#"{"to": "1 Main St", "amount": 1}"#,
            "an address needs `to.zip`, or city and state",
        ),
        (
            r#"{"to": {"city": "Dallas"}, "amount": 1}"#,
            "`to.city` needs `to.state`, or a ZIP code instead",
        ),
        (
            r#"{"to": {"zip": "97201"}, "line_items": [7]}"#,
            "`line_items[0]` must be an object",
        ),
    ] {
        assert_eq!(
            post(body.to_owned()).await.json()["detail"],
            detail,
            "{body}"
        );
    }
}
