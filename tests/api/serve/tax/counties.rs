//! Tests states whose local taxes are those of counties: Florida in 2026 (form DR-15DSS), Virginia
//! (Tax Bulletin 22-7), New York (Publication 718).

use serde_json::{Value, json};

use super::rows::{counties, rule, taxability};
use super::{outcome, rate};
use crate::serve::home::{Draft, Table};
use crate::serve::zip_code::{zip, zip_county};
use crate::serve::{World, notices};
use pubdata_store::PartReport;

/// ZIP codes with the counties that their areas touch.
const ZIPS: [(&str, &str, &str, &[&str]); 19] = [
    ("10002", "New York", "NY", &["36061"]),
    ("10601", "White Plains", "NY", &["36119"]),
    ("11717", "Brentwood", "NY", &["36103"]),
    ("12866", "Saratoga Springs", "NY", &["36091"]),
    ("14604", "Rochester", "NY", &["36055"]),
    ("15222", "Pittsburgh", "PA", &["42003"]),
    ("17101", "Harrisburg", "PA", &["42043"]),
    ("23015", "Beaverdam", "VA", &["51085", "51109"]),
    ("23185", "Williamsburg", "VA", &["51095", "51199", "51830"]),
    ("23220", "Richmond", "VA", &["51760"]),
    ("24011", "Roanoke", "VA", &["51770"]),
    ("24541", "Danville", "VA", &["51143", "51590"]),
    ("32801", "Orlando", "FL", &["12095"]),
    ("33401", "West Palm Beach", "FL", &["12099"]),
    ("33598", "Wimauma", "FL", &["12057", "12081"]),
    ("33601", "Tampa", "FL", &["12057", "12097"]),
    ("33602", "Tampa", "FL", &["12057"]),
    ("34102", "Naples", "FL", &["12021"]),
    ("96813", "Honolulu", "HI", &["15003"]),
];

async fn world() -> World {
    world_with(true).await
}

/// A release without boundaries, as after a failed build of them.
async fn world_without_boundaries() -> World {
    world_with(false).await
}

async fn world_with(has_boundaries: bool) -> World {
    let table = |dataset_id, folders, rows| Table {
        dataset_id,
        vintage_year: None,
        bucket: None,
        folders,
        rows,
        report: PartReport::default(),
    };
    let zips = ZIPS.iter().map(|(code, city, state, counties)| {
        zip(&format!(
            "{code}|{city}|{state}|{}|0|0|standard|{code}|same_code",
            counties[0]
        ))
    });
    let touched = ZIPS.iter().flat_map(|(code, _, _, counties)| {
        counties
            .iter()
            .map(move |county| zip_county(code, county, "", 0.5))
    });
    let states = [
        ("FL", "Florida", "0.06", "12"),
        ("HI", "Hawaii", "0.04", "15"),
        ("NY", "New York", "0.04", "36"),
        ("PA", "Pennsylvania", "0.06", "42"),
        ("VA", "Virginia", "0.043", "51"),
    ];
    let mut tables = vec![
        table("zip.zip", &[], zips.collect()),
        table("zip.county", &[], touched.collect()),
        table(
            "tax.state",
            &[],
            states
                .map(|(state, name, rate, _)| rule(state, name, "full", "counties", Some(rate)))
                .to_vec(),
        ),
        table("tax.taxability", &[], taxability()),
    ];
    for (state, _, _, fips) in states {
        let folders: &'static [(&'static str, &'static str)] =
            Box::leak(Box::new([("state", state), ("bucket", "0")]));
        let (rates, places) = counties(state, fips);
        tables.push(table("tax.rate", &folders[..1], rates));
        tables.extend(has_boundaries.then(|| table("tax.boundary", folders, places)));
    }
    let world = World::empty(|_| {}).await;
    world
        .publish(&Draft {
            tables,
            is_sample: false,
            published_at: "2026-01-10T01:00:00Z",
            due: None,
        })
        .await;
    world.service.refresh().await.unwrap();
    world
}

#[tokio::test]
async fn zip_code_in_one_county_has_state_and_county_tax() {
    let world = world().await;
    // Orlando: 6 and 0.5 percent. All of its ZIP code 32801 lies in Orange County.
    let orlando = rate(&world, "zip=32801&date=2026-03-02").await;
    let expected = ["state 12 0.06", "county 095 0.005"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(
        outcome(&orlando["data"]),
        ("0.065".to_owned(), "county", expected)
    );
    assert_eq!(
        (
            &orlando["data"]["coverage"]["level"],
            &orlando["data"]["match"]["is_ambiguous"]
        ),
        (&json!("full"), &json!(false))
    );
    assert_eq!(
        (
            &orlando["data"]["county_rate"],
            &orlando["data"]["components"][1]["effective_to"]
        ),
        (&json!(0.005), &json!("2026-12-31"))
    );
    assert!(
        !notices(&orlando).contains(&"RATE_PARTLY_UNKNOWN")
            && !notices(&orlando).contains(&"BOUNDARIES_NOT_PUBLISHED"),
        "{orlando}"
    );
    // Naples is in Collier County, which levies no tax.
    let naples = rate(&world, "zip=34102&date=2026-03-02").await;
    assert_eq!(
        (
            &naples["data"]["combined_rate"],
            &naples["data"]["coverage"]["level"]
        ),
        (&json!(0.06), &json!("full"))
    );
}

#[tokio::test]
async fn zip_code_in_counties_with_different_rates_has_no_single_rate() {
    let world = world().await;
    // 33598 lies in Hillsborough (1.5 percent) and Manatee (1 percent).
    let answer = rate(&world, "zip=33598&date=2026-03-02").await;
    let data = &answer["data"];
    assert_eq!(
        (
            &data["combined_rate"],
            &data["known_rate"],
            &data["coverage"]["level"]
        ),
        (&Value::Null, &json!(0.06), &json!("partial"))
    );
    assert_eq!(
        (
            &data["components"][1]["null_reason"],
            &data["match"]["is_ambiguous"]
        ),
        (&json!("depends_on_county"), &json!(true))
    );
    let alternatives: Vec<&Value> = data["match"]["alternatives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| &set["combined_rate"])
        .collect();
    assert_eq!(alternatives, [&json!(0.07), &json!(0.075)]);
    assert!(notices(&answer).contains(&"SEVERAL_RATES"));
    let sale = json!({"to": {"zip": "33598"}, "date": "2026-03-02", "amount": 100});
    let sale = world.post("/v1/tax/calculate", &sale).await.json()["data"].take();
    assert_eq!(
        (
            &sale["tax_amount"],
            &sale["known_tax_amount"],
            &sale["unknown"][0]["reason"]
        ),
        (&Value::Null, &json!(6.0), &json!("depends_on_county"))
    );
    // A caller who knows the county can name it.
    let manatee = rate(&world, "zip=33598&county_fips=12081&date=2026-03-02").await["data"].take();
    assert_eq!(
        (&manatee["combined_rate"], &manatee["coverage"]["level"]),
        (&json!(0.07), &json!("full"))
    );
    let sold = json!({"to": {"zip": "33598", "county_fips": "12057"}, "date": "2026-03-02", "amount": 100});
    assert_eq!(
        world.post("/v1/tax/calculate", &sold).await.json()["data"]["tax_amount"],
        json!(7.5)
    );
    for (county, status) in [("12095", 404), ("48113", 404), ("1209", 400)] {
        assert_eq!(
            world
                .get(&format!("/v1/tax/rate?zip=33598&county_fips={county}"))
                .await
                .status,
            status,
            "{county}"
        );
    }
    // Food is exempt in both.
    assert_eq!(
        rate(&world, "zip=33598&date=2026-03-02&category=grocery").await["data"]["combined_rate"],
        json!(0)
    );
    // 33601 is invented here to touch Hillsborough and Polk's neighbour Osceola, which have the
    // same 1.5 percent: the rate is certain.
    let same = rate(&world, "zip=33601&date=2026-03-02").await;
    assert_eq!(
        (
            &same["data"]["combined_rate"],
            &same["data"]["coverage"]["level"]
        ),
        (&json!(0.075), &json!("full"))
    );
}

#[tokio::test]
async fn day_without_a_published_rate_has_none() {
    let world = world().await;
    // Palm Beach: a surtax of 1 percent ended with 2025, one of half a percent began on 1 January
    // 2026; the table here is for 2026.
    assert_eq!(
        rate(&world, "zip=33401&date=2026-01-01").await["data"]["combined_rate"],
        json!(0.065)
    );
    for date in ["2025-12-31", "2027-01-01"] {
        let answer = rate(&world, &format!("zip=33401&date={date}")).await;
        assert_eq!(
            (
                &answer["data"]["combined_rate"],
                &answer["data"]["known_rate"]
            ),
            (&Value::Null, &json!(0.06)),
            "{date}"
        );
        assert!(
            notices(&answer).contains(&"JURISDICTION_WITHOUT_RATE"),
            "{date}"
        );
    }
}

#[tokio::test]
async fn county_without_a_row_is_unknown_if_boundaries_are_missing() {
    let world = world_without_boundaries().await;
    let within = rate(&world, "zip=33401&date=2026-01-01").await;
    assert_eq!(within["data"]["combined_rate"], json!(0.065), "{within}");
    // Naples is in Collier County, which has a row and levies no tax.
    assert_eq!(
        rate(&world, "zip=34102&date=2026-03-02").await["data"]["combined_rate"],
        json!(0.06)
    );
    // Dauphin County of Pennsylvania has no row for any day: it levies no tax.
    assert_eq!(
        rate(&world, "zip=17101&date=2026-03-02").await["data"]["combined_rate"],
        json!(0.06)
    );
    for date in ["2025-12-31", "2027-01-01"] {
        let answer = rate(&world, &format!("zip=33401&date={date}")).await;
        let data = &answer["data"];
        assert_eq!(
            (
                &data["combined_rate"],
                &data["county_rate"],
                &data["known_rate"]
            ),
            (&Value::Null, &Value::Null, &json!(0.06)),
            "{date}: {answer}"
        );
        assert_eq!(
            data["components"][1]["null_reason"], "no_rate_published",
            "{answer}"
        );
        let sold = json!({"to": {"zip": "33401"}, "date": date, "amount": 1000});
        let sold = world.post("/v1/tax/calculate", &sold).await.json()["data"].take();
        assert_eq!(
            (&sold["tax_amount"], &sold["known_tax_amount"]),
            (&Value::Null, &json!(60.0)),
            "{sold}"
        );
    }
}

async fn sale(world: &World, lines: Value) -> Value {
    let sale = json!({"to": {"zip": "32801"}, "date": "2026-03-02", "line_items": lines});
    world.post("/v1/tax/calculate", &sale).await.json()
}

#[tokio::test]
async fn florida_surtax_stops_at_five_thousand_dollars_per_item() {
    let world = world().await;
    // Fla. Stat. 212.054(2)(b)1: 6 percent of 6,000 and 0.5 percent of 5,000.
    let answer = sale(&world, json!([{"unit_price": 6000}])).await;
    let data = &answer["data"];
    assert_eq!(
        (&data["tax_amount"], &data["taxable_amount"], &data["rate"]),
        (&json!(385.0), &json!(6000.0), &json!(0.064167))
    );
    let parts: Vec<(&Value, &Value)> = data["breakdown"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (&part["taxable_amount"], &part["tax_amount"]))
        .collect();
    assert_eq!(
        parts,
        [
            (&json!(6000.0), &json!(360.0)),
            (&json!(5000.0), &json!(25.0))
        ]
    );
    assert_eq!(data["line_items"][0]["rate"], json!(0.064167));
    assert!(
        notices(&answer).contains(&"CAP_APPLIED")
            && !notices(&answer).contains(&"CAPS_NOT_MODELLED")
    );
    let rule = data["rules"]
        .as_array()
        .unwrap()
        .iter()
        .find(|rule| rule["level"] == "local")
        .unwrap();
    assert_eq!(
        (&rule["threshold"], &rule["threshold_kind"]),
        (&json!(5000.0), &json!("taxed_to_per_item"))
    );
    // The sum of cheaper items is not one item; a more expensive item has its own limit; a refund
    // reverses its sale.
    assert_eq!(
        sale(&world, json!([{"unit_price": 3000, "quantity": 2}])).await["data"]["tax_amount"],
        json!(390.0)
    );
    assert_eq!(
        sale(
            &world,
            json!([{"unit_price": 6000, "quantity": 2}, {"unit_price": 5000}])
        )
        .await["data"]["tax_amount"],
        json!(1095.0)
    );
    assert_eq!(
        sale(&world, json!([{"unit_price": -6000}])).await["data"]["tax_amount"],
        json!(-385.0)
    );
    let exact = sale(&world, json!([{"unit_price": 5000}])).await;
    assert_eq!(exact["data"]["tax_amount"], json!(325.0));
    assert!(!notices(&exact).contains(&"CAP_APPLIED"));
}

#[tokio::test]
async fn amount_of_unknown_item_count_is_refused_above_the_limit() {
    let world = world().await;
    let amount = async |amount: u32, shipping: u32| {
        let sale = json!({"to": {"zip": "32801"}, "date": "2026-03-02", "amount": amount, "shipping": shipping, "shipping_taxable": true});
        world.post("/v1/tax/calculate", &sale).await.json()["data"].take()
    };
    assert_eq!(amount(5000, 0).await["tax_amount"], json!(325.0));
    let above = amount(5001, 0).await;
    assert_eq!(
        (&above["tax_amount"], &above["known_tax_amount"]),
        (&Value::Null, &json!(300.06))
    );
    assert_eq!(
        (&above["unknown"][0]["type"], &above["unknown"][0]["reason"]),
        (&json!("county"), &json!("depends_on_price"))
    );
    // The delivery charge is part of the item's price.
    let with_delivery = amount(4990, 20).await;
    assert_eq!(
        (
            &with_delivery["tax_amount"],
            &with_delivery["unknown"][0]["part"]
        ),
        (&Value::Null, &json!("shipping"))
    );
    let dear = json!({"to": {"zip": "32801"}, "date": "2026-03-02", "line_items": [{"unit_price": 6000}], "shipping": 100, "shipping_taxable": true});
    let dear = world.post("/v1/tax/calculate", &dear).await.json()["data"].take();
    assert_eq!(
        (&dear["tax_amount"], &dear["shipping"]["tax_amount"]),
        (&json!(391.0), &json!(6.0))
    );
}

#[tokio::test]
async fn virginia_adds_regional_taxes_and_food_has_one_percent() {
    let world = world().await;
    for (query, combined) in [
        ("zip=24011&date=2026-03-02", 0.053),
        ("zip=23220&date=2026-03-02", 0.06),
        // Williamsburg: 4.3, 1, 0.7 of Hampton Roads and 1 of the Historic Triangle.
        ("zip=23185&date=2026-03-02", 0.07),
        ("zip=24541&date=2026-03-02", 0.063),
        // Richmond's region began on 1 October 2020.
        ("zip=23220&date=2020-09-30", 0.053),
        ("zip=23185&date=2026-03-02&category=grocery", 0.01),
        ("zip=24541&date=2026-03-02&category=grocery", 0.01),
        ("zip=24541&date=2026-03-02&category=prescription_drug", 0.0),
    ] {
        let data = rate(&world, query).await["data"].take();
        let is_known = (
            data["combined_rate"].as_f64().unwrap(),
            data["coverage"]["level"].as_str().unwrap(),
        );
        assert_eq!(is_known, (combined, "full"), "{query}: {data}");
    }
    // Beaverdam lies in Hanover (6 percent) and Louisa (5.3), which tax food equally.
    let general = rate(&world, "zip=23015&date=2026-03-02").await["data"].take();
    assert_eq!(
        (
            &general["combined_rate"],
            &general["components"][1]["null_reason"]
        ),
        (&Value::Null, &json!("depends_on_county"))
    );
    let food = rate(&world, "zip=23015&date=2026-03-02&category=grocery").await["data"].take();
    assert_eq!(
        (&food["combined_rate"], &food["match"]["is_ambiguous"]),
        (&json!(0.01), &json!(true))
    );
    let sale = json!({"to": {"zip": "23015"}, "date": "2026-03-02", "line_items": [{"unit_price": 100, "category": "grocery"}]});
    let sold = world.post("/v1/tax/calculate", &sale).await.json()["data"].take();
    assert_eq!(
        (&sold["tax_amount"], &sold["unknown"]),
        (&json!(1.0), &json!([]))
    );
    let triangle = rate(&world, "zip=23185&date=2026-03-02").await["data"].take();
    assert_eq!(
        (&triangle["county_rate"], &triangle["special_rate"]),
        (&json!(0.01), &json!(0.017))
    );
}

#[tokio::test]
async fn county_tax_on_groceries_is_none_in_pennsylvania_full_in_hawaii() {
    let world = world().await;
    for (zip, category, combined) in [
        ("15222", "general", 0.07),
        ("15222", "grocery", 0.0),
        ("15222", "clothing", 0.0),
        ("15222", "otc_drug", 0.0),
        ("15222", "prepared_food", 0.07),
        ("96813", "grocery", 0.045),
        ("96813", "prescription_drug", 0.0),
    ] {
        let data = rate(
            &world,
            &format!("zip={zip}&date=2026-03-02&category={category}"),
        )
        .await["data"]
            .take();
        assert_eq!(
            (data["combined_rate"].as_f64(), &data["coverage"]["level"]),
            (Some(combined), &json!("full")),
            "{zip} {category}: {data}"
        );
    }
}

#[tokio::test]
async fn new_york_counties_are_answered_except_westchester() {
    let world = world().await;
    for (zip, combined) in [
        ("10002", json!(0.08875)),
        ("11717", json!(0.0875)),
        ("14604", json!(0.08)),
        ("12866", json!(0.07)),
    ] {
        let data = rate(&world, &format!("zip={zip}&date=2026-03-02")).await["data"].take();
        assert_eq!(
            (&data["combined_rate"], &data["coverage"]["level"]),
            (&combined, &json!("full")),
            "{zip}"
        );
    }
    // Yonkers has another rate than the rest of the county.
    let westchester = rate(&world, "zip=10601&date=2026-03-02").await["data"].take();
    assert_eq!(
        (&westchester["combined_rate"], &westchester["known_rate"]),
        (&Value::Null, &json!(0.04375))
    );
    assert_eq!(westchester["coverage"]["level"], "partial");
    assert_eq!(
        westchester["components"][1]["null_reason"],
        "not_established"
    );
    // The day before the publication's.
    assert_eq!(
        rate(&world, "zip=11717&date=2025-02-28").await["data"]["combined_rate"],
        Value::Null
    );
}

#[tokio::test]
async fn rule_with_unread_text_is_reported_if_the_tax_depends_on_it() {
    let world = world().await;
    let said = async |query: &str| {
        let answer = rate(&world, query).await;
        let notices = answer["meta"]["notices"].as_array().unwrap();
        notices
            .iter()
            .find(|notice| notice["code"] == "RULE_NOT_READ")
            .map(|notice| notice["message"].as_str().unwrap().to_owned())
    };
    assert_eq!(
        said("zip=32801&date=2026-03-02").await,
        None,
        "general goods depend on the cap of the surtax, whose text was read"
    );
    assert_eq!(
        said("zip=32801&date=2026-03-02&category=grocery").await,
        None
    );
    let clothing = said("zip=32801&date=2026-03-02&category=clothing")
        .await
        .unwrap();
    assert!(
        clothing.contains("Fla. Stat. § 212.05 (tax.taxability:FL:clothing:state:undated)")
            && !clothing.contains("FL:clothing:local"),
        "{clothing}"
    );
    let sold = sale(&world, json!([{"unit_price": 10, "category": "clothing"}])).await;
    assert!(notices(&sold).contains(&"RULE_NOT_READ"));
    let read = sale(
        &world,
        json!([{"unit_price": 10, "category": "grocery"}, {"unit_price": 10}]),
    )
    .await;
    assert!(!notices(&read).contains(&"RULE_NOT_READ"), "{read}");
    let batch = json!({"addresses": [{"zip": "32801"}], "date": "2026-03-02"});
    assert_eq!(
        world.post("/v1/tax/batch", &batch).await.json()["data"][0]["result"]["combined_rate"],
        json!(0.065)
    );
}
