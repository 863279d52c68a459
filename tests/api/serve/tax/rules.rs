//! Tests what states tax, by class of goods: figures from the statutes that the rules cite.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::rows::taxability;
use super::{rate, world};
use crate::serve::{World, notices};
use pubdata_testing::project;

/// Combined rate, known rate, and the statute that exempts by the first component.
async fn of(world: &World, query: &str) -> (Value, Value, Value) {
    let data = &rate(world, query).await["data"];
    (
        data["combined_rate"].clone(),
        data["known_rate"].clone(),
        data["components"][0]["exempt_by"].clone(),
    )
}

#[tokio::test]
async fn groceries_and_medicine_are_taxed_as_the_statute_says() {
    let world = world().await;
    for (query, combined, known, statute) in [
        // Texas Tax Code 151.314 and, for local taxes, 321.208.
        (
            "city=Dallas&state=TX&date=2026-01-15&category=grocery",
            json!(0),
            json!(0),
            "151.314",
        ),
        (
            "city=Dallas&state=TX&date=2026-01-15&category=prescription_drug",
            json!(0),
            json!(0),
            "151.313",
        ),
        (
            "zip=10001&category=grocery",
            json!(0),
            json!(0),
            "1115(a)(1)",
        ),
        (
            "city=Tampa&state=FL&category=grocery",
            json!(0),
            json!(0),
            "212.08(1)",
        ),
        (
            "city=Richmond&state=VA&category=prescription_drug",
            json!(0),
            json!(0),
            "58.1-609.10",
        ),
        // Virginia has 1 percent of local tax on food everywhere, and no state tax since 2023.
        (
            "city=Richmond&state=VA&category=grocery",
            json!(0.01),
            json!(0.01),
            "58.1-611.1",
        ),
        (
            "zip=55103&date=2019-01-01&category=grocery",
            json!(0),
            json!(0),
            "297A.67",
        ),
        ("zip=06101&category=grocery", json!(0), json!(0), "12-412"),
    ] {
        let (is_combined, is_known, exempt_by) = of(&world, query).await;
        assert_eq!((is_combined, is_known), (combined, known), "{query}");
        assert!(
            exempt_by
                .as_str()
                .is_some_and(|text| text.contains(statute)),
            "{query}: {exempt_by}"
        );
    }
    // Tennessee: 4 percent of the state, and the county's full 2.25.
    let tennessee = of(
        &world,
        "street=340%20Northwind%20Dr&zip=37072&date=2024-02-01&category=grocery",
    )
    .await;
    assert_eq!((tennessee.0, tennessee.1), (json!(0.0625), json!(0.0625)));
    // Illinois: 1 percent of the state to the end of 2025, none since; the rates adopted by
    // municipalities are unknown here.
    for (date, known) in [("2025-12-31", json!(0.01)), ("2026-01-01", json!(0))] {
        let illinois = of(
            &world,
            &format!("city=Chicago&state=IL&date={date}&category=grocery"),
        )
        .await;
        assert_eq!((illinois.0, illinois.1), (Value::Null, known), "{date}");
    }
    let drug = of(&world, "city=Chicago&state=IL&category=prescription_drug").await;
    assert_eq!((drug.0, drug.1), (Value::Null, json!(0.01)));
}

#[tokio::test]
async fn rate_with_an_unknown_part_is_null_beside_the_known_part() {
    let world = world().await;
    let answer = rate(&world, "zip=10001").await;
    let data = &answer["data"];
    assert_eq!(
        (
            &data["combined_rate"],
            &data["known_rate"],
            &data["state_rate"]
        ),
        (&Value::Null, &json!(0.04), &json!(0.04))
    );
    assert_eq!(
        (
            &data["components"][1]["type"],
            &data["components"][1]["null_reason"]
        ),
        (&json!("local"), &json!("local_rates_not_covered"))
    );
    assert!(notices(&answer).contains(&"RATE_PARTLY_UNKNOWN"));
    let rules = data["rules"].as_array().unwrap();
    let of_class = |class: &str, level: &str| {
        rules
            .iter()
            .find(|rule| rule["class"] == class && rule["level"] == level)
            .unwrap()
    };
    let clothing = of_class("clothing", "state");
    assert_eq!(
        (&clothing["threshold"], &clothing["threshold_kind"]),
        (&json!(110.0), &json!("exempt_below_per_item"))
    );
    assert_eq!(
        (
            &clothing["taxable"],
            &clothing["rate"],
            &clothing["null_reason"]
        ),
        (&json!("partly"), &Value::Null, &json!("depends_on_price"))
    );
    assert_eq!(
        (
            &of_class("clothing", "local")["taxable"],
            &of_class("clothing", "local")["null_reason"]
        ),
        (&Value::Null, &json!("depends_on_county"))
    );
    assert_eq!(
        of_class("clothing", "state")["record_id"],
        "tax.taxability:NY:clothing:state:2012-04-01"
    );
    let record = world
        .ok("/v1/provenance/tax.taxability:NY:clothing:state:2012-04-01")
        .await;
    assert_eq!(
        record["data"]["record"]["columns"]["citation"],
        "N.Y. Tax Law § 1115(a)(30)"
    );
    let early = of(
        &world,
        "city=New%20York&state=NY&date=2020-02-01&category=clothing",
    )
    .await;
    assert_eq!(early.0, Value::Null, "the price of an item is irrelevant");
    // A class without a rule on the day never gets the general rate.
    let illinois = rate(
        &world,
        "city=Chicago&state=IL&date=2023-06-30&category=grocery",
    )
    .await;
    assert_eq!(
        illinois["data"]["components"][0]["null_reason"], "no_rule_published",
        "{illinois}"
    );
}

#[tokio::test]
async fn category_of_food_and_medicine_reports_where_they_differ() {
    let world = world().await;
    let differ = async |query: &'static str| {
        let answer = rate(&world, query).await;
        notices(&answer).contains(&"FOOD_DRUG_DIFFER")
    };
    assert!(
        differ("city=Chicago&state=IL&category=food_drug").await,
        "groceries 0, medicine 1 percent"
    );
    assert!(
        differ("street=340%20Northwind%20Dr&zip=37072&date=2024-02-01&category=food_drug").await,
        "groceries 4 percent, medicine 0"
    );
    assert!(
        !differ("zip=10001&category=food_drug").await,
        "neither is taxed"
    );
}

#[tokio::test]
async fn clothing_is_taxed_by_the_price_of_an_item() {
    let world = world().await;
    let boston = async |line: Value| {
        let answer = world
            .post(
                "/v1/tax/calculate",
                &json!({"to": {"city": "Boston", "state": "MA"}, "line_items": [line]}),
            )
            .await
            .json();
        (
            answer["data"]["line_items"][0]["taxable_amount"].clone(),
            answer["data"]["tax_amount"].clone(),
        )
    };
    // Massachusetts taxes the price of an item above 175 dollars, at 6.25 percent.
    assert_eq!(
        boston(json!({"unit_price": 175, "category": "clothing"})).await,
        (json!(0.0), json!(0.0))
    );
    assert_eq!(
        boston(json!({"unit_price": 200, "quantity": 2, "category": "clothing"})).await,
        (json!(50.0), json!(3.13))
    );
    assert_eq!(
        boston(json!({"unit_price": -200, "quantity": 2, "category": "clothing"})).await,
        (json!(-50.0), json!(-3.13))
    );
    assert_eq!(
        boston(json!({"unit_price": 200, "category": "general"})).await,
        (json!(200.0), json!(12.5))
    );
    // Connecticut taxes an article of more than 1,000 dollars at 7.75 percent, others at 6.35.
    let hartford = async |price: f64, quantity: u8| {
        let line = json!({"unit_price": price, "quantity": quantity, "category": "clothing"});
        world
            .post(
                "/v1/tax/calculate",
                &json!({"to": {"zip": "06101"}, "line_items": [line]}),
            )
            .await
            .json()["data"]["tax_amount"]
            .take()
    };
    assert_eq!(
        (hartford(1000.0, 2).await, hartford(1200.0, 1).await),
        (json!(127.0), json!(93.0))
    );
    // New York: no state tax below 110 dollars an item, and full tax from there on; counties decide
    // for themselves.
    let york = async |price: f64, quantity: u8| {
        let line = json!({"id": "coat", "unit_price": price, "quantity": quantity, "category": "clothing"});
        world
            .post(
                "/v1/tax/calculate",
                &json!({"to": {"zip": "10001"}, "line_items": [line]}),
            )
            .await
            .json()["data"]
            .take()
    };
    let cheap = york(109.99, 3).await;
    assert_eq!(
        (&cheap["tax_amount"], &cheap["known_tax_amount"]),
        (&Value::Null, &json!(0.0))
    );
    assert_eq!(cheap["unknown"][0]["reason"], "depends_on_county");
    assert_eq!(
        (&cheap["unknown"][0]["id"], &cheap["unknown"][0]["amount"]),
        (&json!("coat"), &json!(329.97))
    );
    let dear = york(110.0, 1).await;
    assert_eq!(
        (&dear["tax_amount"], &dear["known_tax_amount"]),
        (&Value::Null, &json!(4.4))
    );
    assert_eq!(dear["unknown"][0]["reason"], "local_rates_not_covered");
}

#[tokio::test]
async fn delivery_with_an_unknown_rule_has_both_sums() {
    let world = world().await;
    let sale = json!({"to": {"city": "Tampa", "state": "FL"}, "amount": 100, "shipping": 10});
    let data = world.post("/v1/tax/calculate", &sale).await.json()["data"].take();
    // Florida: the rule depends on the buyer's option to avoid the charge (12A-1.045).
    assert_eq!(
        (
            &data["shipping"]["taxable"],
            &data["shipping"]["taxable_basis"]
        ),
        (&Value::Null, &json!("unknown"))
    );
    assert_eq!(
        (
            &data["tax_amount"],
            &data["taxable_amount"],
            &data["known_tax_amount"]
        ),
        (&Value::Null, &Value::Null, &json!(6.0))
    );
    let sums: Vec<(&Value, &Value)> = data["sums"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sum| (&sum["shipping_taxable"], &sum["known_tax_amount"]))
        .collect();
    assert_eq!(
        sums,
        [(&json!(false), &json!(6.0)), (&json!(true), &json!(6.6))]
    );
    // A caller can state it.
    let reported = json!({"to": {"city": "Tampa", "state": "FL"}, "amount": 100, "shipping": 10, "shipping_taxable": true});
    let reported = world.post("/v1/tax/calculate", &reported).await.json()["data"].take();
    assert_eq!(
        (&reported["known_tax_amount"], &reported["sums"]),
        (&json!(6.6), &json!([]))
    );
    // Connecticut taxes it, Massachusetts does not.
    for (to, tax, is_taxable) in [
        (json!({"zip": "06101"}), 6.99, true),
        (json!({"city": "Boston", "state": "MA"}), 6.25, false),
    ] {
        let data = world
            .post(
                "/v1/tax/calculate",
                &json!({"to": to, "amount": 100, "shipping": 10}),
            )
            .await
            .json()["data"]
            .take();
        assert_eq!(
            (
                &data["tax_amount"],
                &data["shipping"]["taxable"],
                &data["sums"]
            ),
            (&json!(tax), &json!(is_taxable), &json!([]))
        );
    }
}

#[tokio::test]
async fn sale_within_an_origin_state_uses_the_sellers_location() {
    let world = world().await;
    let tax = async |from: Value| {
        let sale = json!({"to": {"city": "Abilene", "state": "TX"}, "from": from, "date": "2026-01-15", "amount": 100});
        world.post("/v1/tax/calculate", &sale).await.json()
    };
    // Abilene has 2 percent and no transit; the county alone 0.5.
    let buyer = tax(json!({"state": "TX"})).await;
    assert_eq!(
        (&buyer["data"]["tax_amount"], &buyer["data"]["sourcing"]),
        (&json!(8.25), &json!("destination"))
    );
    assert!(notices(&buyer).contains(&"ORIGIN_SOURCED_STATE"));
    let seller = tax(json!({"zip": "75099", "unincorporated": true})).await;
    assert_eq!(
        (&seller["data"]["tax_amount"], &seller["data"]["sourcing"]),
        (&json!(6.75), &json!("origin"))
    );
    assert_eq!(seller["data"]["sourcing_basis"]["state_rule"], "origin");
    assert!(!notices(&seller).contains(&"ORIGIN_SOURCED_STATE"));
    // For a sale from another state, the buyer's location counts.
    let other = tax(json!({"zip": "53202"})).await;
    assert_eq!(
        (&other["data"]["tax_amount"], &other["data"]["sourcing"]),
        (&json!(8.25), &json!("destination"))
    );
}

#[tokio::test]
async fn place_outside_every_city_has_no_city_tax() {
    let world = world().await;
    let addison = rate(&world, "zip=75001").await;
    let data = &addison["data"];
    assert_eq!(
        (&data["combined_rate"], &data["coverage"]["level"]),
        (&json!(0.0825), &json!("partial"))
    );
    assert_eq!(
        (
            &data["match"]["is_ambiguous"],
            &data["match"]["alternatives"][0]["combined_rate"]
        ),
        (&json!(true), &json!(0.0675)),
        "its post office also delivers outside the city"
    );
    let outside = rate(&world, "zip=75001&unincorporated=true").await;
    let data = &outside["data"];
    assert_eq!(
        (
            &data["combined_rate"],
            &data["match"]["level"],
            &data["city_rate"]
        ),
        (&json!(0.0675), &json!("county"), &json!(0))
    );
    // Harris County levies no tax and has no row; no list of names gives the districts of an
    // address.
    let houston = rate(&world, "zip=77044&unincorporated=true").await;
    let data = &houston["data"];
    assert_eq!(
        (
            &data["combined_rate"],
            &data["known_rate"],
            &data["city_rate"],
            &data["special_rate"]
        ),
        (&Value::Null, &json!(0.0625), &json!(0), &Value::Null)
    );
    let sale =
        json!({"to": {"city": "Milwaukee", "state": "WI", "unincorporated": true}, "amount": 100});
    assert_eq!(
        world.post("/v1/tax/calculate", &sale).await.json()["data"]["tax_amount"],
        json!(5.9)
    );
    assert_eq!(
        world
            .get("/v1/tax/rate?zip=55401&date=2019-01-01&unincorporated=true")
            .await
            .problem(),
        (404, "not_found".to_owned())
    );
}

/// Official hosts of a state or county whose names do not end in `.gov`, and the board of the
/// states.
const OFFICIAL: [&str; 9] = [
    "app.lla.state.la.us",
    "floridarevenue.com",
    "www.flrules.org",
    "www.ksrevisor.org",
    "www.leg.state.fl.us",
    "www.leg.state.nv.us",
    "www.pcs.k12.va.us",
    "www.revenue.state.mn.us",
    "www.streamlinedsalestax.org",
];

#[test]
fn every_state_has_each_class_and_its_rules_are_contiguous() {
    let rows = taxability();
    let cell = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let states: BTreeSet<String> = rows.iter().map(|row| cell(row, "state")).collect();
    assert_eq!(states.len(), 51);
    let mut periods: BTreeMap<(String, String, String), Vec<(String, String)>> = BTreeMap::new();
    for row in &rows {
        let last = Some(cell(row, "valid_to"))
            .filter(|day| !day.is_empty())
            .unwrap_or("9999".to_owned());
        periods
            .entry((cell(row, "state"), cell(row, "class"), cell(row, "level")))
            .or_default()
            .push((cell(row, "valid_from"), last));
        assert!(!cell(row, "citation").is_empty(), "{row}");
    }
    for state in &states {
        for class in [
            "general",
            "grocery",
            "prepared_food",
            "prescription_drug",
            "otc_drug",
            "clothing",
            "shipping",
        ] {
            assert!(
                periods.contains_key(&(state.clone(), class.to_owned(), "state".to_owned())),
                "{state} {class}"
            );
        }
    }
    for (key, periods) in &mut periods {
        periods.sort();
        assert!(
            periods.windows(2).all(|pair| pair[0].1 < pair[1].0),
            "{key:?}: {periods:?}"
        );
    }
    let is_settled = |row: &&Value| {
        row["class"] == "shipping"
            && row["level"] == "state"
            && row["valid_to"].is_null()
            && ["yes", "no"].contains(&cell(row, "taxable").as_str())
    };
    assert!(
        rows.iter().filter(is_settled).count() >= 40,
        "delivery is decided in most states"
    );
}

#[test]
fn eleven_states_tax_at_the_sellers_location_by_a_cited_law() {
    let text = std::fs::read(project("pipelines/tax/states.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_slice());
    let names = reader.headers().unwrap().clone();
    let column = |name: &str| names.iter().position(|column| column == name).unwrap();
    let (state, sourcing, cited) = (
        column("state"),
        column("sourcing"),
        column("sourcing_citation"),
    );
    let rows: Vec<csv::StringRecord> = reader
        .records()
        .map(Result::unwrap)
        .filter(|row| !row[sourcing].is_empty())
        .collect();
    let sourced: Vec<(&str, &str)> = rows
        .iter()
        .filter(|row| &row[sourcing] != "destination")
        .map(|row| (&row[state], &row[sourcing]))
        .collect();
    let states = [
        "AZ", "CA", "IL", "MO", "MS", "OH", "PA", "TN", "TX", "UT", "VA",
    ];
    assert_eq!(
        sourced,
        states.map(|state| (state, if state == "CA" { "mixed" } else { "origin" }))
    );
    assert!(
        rows.iter()
            .all(|row| row[cited].contains(|letter: char| letter.is_ascii_digit())),
        "{rows:?}"
    );
}

/// Rules of a state's law for the classes of most sales, read in the law itself or its regulation.
#[test]
fn food_and_medicine_rules_of_the_largest_states_were_read() {
    let rows = taxability();
    let not_read: Vec<String> = rows
        .iter()
        .filter(|row| {
            row["level"] == "state"
                && ["grocery", "prescription_drug"].contains(&row["class"].as_str().unwrap())
        })
        .filter(|row| row["evidence"] == "unread_statute" && row["valid_to"].is_null())
        .map(|row| {
            format!(
                "{}:{}",
                row["state"].as_str().unwrap(),
                row["class"].as_str().unwrap()
            )
        })
        .filter(|rule| {
            [
                "CA", "TX", "FL", "NY", "NJ", "WA", "MI", "IN", "MD", "MN", "WI",
            ]
            .contains(&&rule[..2])
        })
        .collect();
    assert_eq!(not_read, Vec::<String>::new());
}

#[test]
fn no_state_rule_cites_a_vendor() {
    for (path, columns) in [
        ("pipelines/tax/taxability.csv", &["url"][..]),
        (
            "pipelines/tax/states.csv",
            &["source_page", "sourcing_page"],
        ),
        ("pipelines/tax/local_rates.csv", &["source_page"]),
    ] {
        let text = std::fs::read(project(path)).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let names = reader.headers().unwrap().clone();
        let columns: Vec<usize> = columns
            .iter()
            .map(|column| names.iter().position(|name| name == *column).unwrap())
            .collect();
        for record in reader.records() {
            let record = record.unwrap();
            for url in columns
                .iter()
                .map(|column| &record[*column])
                .filter(|url| !url.is_empty())
            {
                let host = url.split('/').nth(2).unwrap();
                assert!(
                    host.ends_with(".gov") || OFFICIAL.contains(&host),
                    "{path}: {url}"
                );
            }
        }
    }
}
