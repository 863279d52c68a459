use serde_json::{Value, json};

use super::streamlined::{boundaries, place, rates, rule, texas_rate};
use super::zips::{MADE_UP, zip, zip_county};
use crate::serve::home::{Draft, Table};
use crate::serve::openapi::check;
use crate::serve::{World, notices};
use pubdata::store::{PartReport, Scope};

pub async fn world() -> World {
    let world = World::empty(|_| {}).await;
    world.publish(&draft()).await;
    world.service.refresh().await.unwrap();
    world
}

pub fn draft() -> Draft {
    let table = |dataset_id, folders, rows| Table { dataset_id, vintage_year: None, bucket: None, folders, rows, report: PartReport::default() };
    let mut zips: Vec<Value> = MADE_UP.iter().map(|line| zip(line)).collect();
    zips.sort_by_key(|row| row["zip"].as_str().unwrap().to_owned());
    let rules = vec![
        rule("CO", "Colorado", "state_only", "not_covered", Some("0.029"), None),
        rule("CT", "Connecticut", "full", "statewide", Some("0.0635"), Some(true)),
        rule("LA", "Louisiana", "none", "not_covered", None, None),
        rule("MN", "Minnesota", "full", "boundaries", None, Some(true)),
        rule("NJ", "New Jersey", "full", "boundaries", Some("0.06625"), Some(true)),
        rule("NV", "Nevada", "full", "boundaries", Some("0.0685"), Some(false)),
        rule("OR", "Oregon", "full", "no_tax", None, None),
        rule("TN", "Tennessee", "full", "boundaries", None, Some(true)),
        rule("TX", "Texas", "full", "places", Some("0.0625"), Some(true)),
        rule("VT", "Vermont", "full", "boundaries", None, Some(true)),
        rule("WA", "Washington", "full", "boundaries", None, Some(true)),
        rule("WI", "Wisconsin", "full", "boundaries", None, Some(true)),
    ];
    let texas = vec![
        place("TX", 0, Some("Abilene"), None, Some("2221012"), &[]),
        place("TX", 1, Some("Addison"), None, Some("2057217"), &["spd=3057994"]),
        place("TX", 2, Some("Dallas"), None, Some("2057207"), &["spd=3057994"]),
        place("TX", 3, Some("Salado"), None, None, &["spd=5014604"]),
        place("TX", 4, Some("Salado"), Some("48491"), None, &[]),
        place("TX", 5, None, Some("48113"), None, &[]),
    ];
    let texas_rates = vec![
        texas_rate("city", "2057207", "Dallas", "0.01"),
        texas_rate("city", "2057217", "Addison", "0.01"),
        texas_rate("city", "2221012", "Abilene", "0.02"),
        texas_rate("county", "113", "Dallas County", "0.005"),
        texas_rate("special", "3057994", "Dallas MTA", "0.01"),
    ];
    let state = |state: &'static str| -> &'static [(&'static str, &'static str)] { Box::leak(Box::new([("state", state), ("bucket", "0")])) };
    let mut tables = vec![
        table("zip.zip", &[], zips),
        table(
            "zip.county",
            &[],
            vec![
                zip_county("53202", "55079", "Milwaukee County", 1.0),
                zip_county("53224", "55079", "Milwaukee County", 0.9),
                zip_county("53224", "55089", "Ozaukee County", 0.05),
                zip_county("53224", "55133", "Waukesha County", 0.05),
            ],
        ),
        table("tax.state", &[], rules),
        table("tax.boundary", state("TX"), texas),
        table("tax.rate", &state("TX")[..1], texas_rates),
    ];
    for (code, fips) in [("MN", "27"), ("WI", "55"), ("WA", "53"), ("TN", "47"), ("VT", "50"), ("NV", "32")] {
        tables.push(table("tax.rate", &state(code)[..1], rates(code, fips)));
        let rows = boundaries(code, fips);
        if !rows.is_empty() {
            tables.push(table("tax.boundary", state(code), rows));
        }
    }
    Draft { tables, is_sample: false, published_at: "2026-01-10T01:00:00Z", is_stale: false, due: None }
}

/// Combined rate as text, match level, and codes of the components with their rates.
pub fn outcome(data: &Value) -> (String, &str, Vec<String>) {
    let component = |component: &Value| format!("{} {} {}", component["type"].as_str().unwrap(), component["code"].as_str().unwrap(), component["rate"]);
    (data["combined_rate"].to_string(), data["match"]["level"].as_str().unwrap(), data["components"].as_array().unwrap().iter().map(component).collect())
}

pub async fn rate(world: &World, query: &str) -> Value {
    world.ok(&format!("/v1/tax/rate?{query}")).await
}

#[tokio::test]
async fn zip_codes_of_minnesota_are_answered_as_their_file_says() {
    let world = world().await;
    let answer = rate(&world, "zip=55103&date=2019-03-31").await;
    let data = &answer["data"];
    assert_eq!(
        outcome(data),
        ("0.07875".to_owned(), "zip5", vec!["state 27 0.06875".to_owned(), "county 123 0.005".to_owned(), "city 58000 0.005".to_owned()])
    );
    assert_eq!(data["components"][2]["name"], "St. Paul city");
    assert_eq!((&data["location"]["county_fips"], &data["location"]["place_fips"]), (&json!("27123"), &json!("2758000")));
    assert_eq!((&data["effective_date"], &data["sourcing"], &data["coverage"]["level"]), (&json!("2017-10-01"), &json!("destination"), &json!("full")));
    // The state, the boundary and each of the three rates.
    let records: Vec<&str> = data["provenance"].as_array().unwrap().iter().map(|stamp| stamp["record_id"].as_str().unwrap()).collect();
    assert_eq!(records, ["tax.state:MN", "tax.boundary:MN:2", "tax.rate:MN:45:27:20090701", "tax.rate:MN:00:123:20171001", "tax.rate:MN:01:58000:20051001"]);
    for record in records {
        let chain = world.ok(&format!("/v1/provenance/{record}")).await;
        assert_eq!(chain["data"]["record"]["record_id"], record);
        assert_eq!(chain["data"]["sources"].as_array().unwrap().len(), 2);
    }
    for zip in 55_401..=55_405 {
        let answer = rate(&world, &format!("zip={zip}&state=MN&date=2019-01-01")).await;
        let data = &answer["data"];
        assert_eq!(outcome(data).0, "0.08025");
        assert_eq!(outcome(data).2, ["state 27 0.06875", "county 053 0.0015", "city 43000 0.005", "special 80004 0.005"]);
        assert_eq!((&data["special_rate"], &data["components"][3]["name"]), (&json!(0.005), &json!("Special district 80004")));
    }
    // A wide range of ZIP codes where only the state taxes.
    assert_eq!(outcome(&rate(&world, "zip=55102&state=MN&date=2019-01-01").await["data"]).2, ["state 27 0.06875"]);
}

#[tokio::test]
async fn a_day_that_no_record_covers_is_said_so() {
    let world = world().await;
    for query in ["zip=55103", "zip=55103&date=2019-04-01", "zip=55103&date=2017-09-30", "zip=55049-1100", "city=Saint%20Paul&state=MN"] {
        let answer = world.get(&format!("/v1/tax/rate?{query}")).await;
        assert_eq!(answer.problem(), (400, "invalid_parameter".to_owned()), "{query}");
        let body = answer.json();
        assert_eq!(body["errors"][0]["field"], "date");
        assert!(body["detail"].as_str().unwrap().contains("to 2019-03-31"), "{body}");
    }
    let problem = async |query: &'static str| world_problem(&world, query).await;
    assert_eq!(problem("zip=06101&date=2019-12-31").await, (400, "invalid_parameter".to_owned()), "before the state's rule is known");
    assert_eq!(problem("zip=97201&date=2019-12-31").await, (400, "invalid_parameter".to_owned()));
    assert_eq!(problem("zip=55999&state=MN&date=2019-01-01").await, (404, "not_found".to_owned()), "no record has the ZIP code");
}

async fn world_problem(world: &World, query: &str) -> (u16, String) {
    world.get(&format!("/v1/tax/rate?{query}")).await.problem()
}

#[tokio::test]
async fn nine_digits_find_the_narrowest_range_and_five_the_lowest_rate() {
    let world = world().await;
    let of = async |query: &'static str| rate(&world, &format!("{query}&state=MN&date=2019-02-01")).await["data"].take();
    assert_eq!(
        outcome(&of("zip=55049-2302").await),
        ("0.07875".to_owned(), "zip9", ["state 27 0.06875", "county 147 0.005", "city 41426 0.005"].map(str::to_owned).into())
    );
    assert_eq!(outcome(&of("zip=550490480").await).0, "0.07375");
    // A range may run over ZIP codes.
    assert_eq!(outcome(&of("zip=55076-0001").await).1, "zip9");
    // 55101 as a whole is where only the state taxes, but parts of it are in cities.
    assert_eq!(outcome(&of("zip=55101-1610").await).2, ["state 27 0.06875", "county 037 0.0025"]);
    assert_eq!(outcome(&of("zip=55101-9000").await).1, "zip5");
    let consensus = of("zip=55079").await;
    assert_eq!((outcome(&consensus).1, &consensus["match"]["is_ambiguous"]), ("zip5_consensus", &json!(false)));
    let answer = rate(&world, "zip=55049&date=2019-02-01").await;
    let data = &answer["data"];
    assert_eq!((outcome(data).0.as_str(), outcome(data).1), ("0.07375", "zip5_lowest"));
    assert_eq!(data["match"]["is_ambiguous"], true);
    assert_eq!(data["match"]["alternatives"].as_array().unwrap().len(), 1);
    assert_eq!(data["match"]["alternatives"][0]["combined_rate"], 0.07875);
    assert_eq!(data["location"]["county_fips"], Value::Null, "what is not certain is not said");
    assert!(notices(&answer).contains(&"SEVERAL_RATES"));
}

#[tokio::test]
async fn addresses_come_before_zip_codes_and_never_speak_for_one() {
    let world = world().await;
    let of = async |query: &'static str| rate(&world, query).await["data"].take();
    let exact = of("street=340%20Northwind%20Drive&city=Goodlettsville&state=TN&zip=37072&date=2024-02-01").await;
    assert_eq!(outcome(&exact), ("0.0925".to_owned(), "address", vec!["state 47 0.07".to_owned(), "county 037 0.0225".to_owned()]));
    let line = of("address=340%20Northwind%20Dr%2C%20Goodlettsville%2C%20TN%2037072-2937&date=2024-02-01").await;
    assert_eq!(outcome(&line), outcome(&exact));
    assert_eq!(line["location"]["normalized"], "340 NORTHWIND DR, GOODLETTSVILLE, TN 37072-2937");
    let odd = of("street=341%20Northwind%20Drive&state=TN&zip=37072&date=2024-02-01").await;
    assert_eq!(outcome(&odd).1, "zip5_lowest", "the odd side is not in the range");
    // From another state, and food with a rate of its own and one without.
    assert_eq!(of("street=340%20Northwind%20Dr&zip=37072&date=2024-02-01&origin_state=KY").await["combined_rate"], 0.09);
    let food = rate(&world, "street=340%20Northwind%20Dr&zip=37072&date=2024-02-01&category=food_drug").await;
    assert_eq!(outcome(&food["data"]).2, ["state 47 0.04", "county 037 0.0225"]);
    assert!(notices(&food).contains(&"FOOD_DRUG_RATE_UNKNOWN"));
    // Minnesota's file repeats the general rates, but food is exempt by statute, which the answer names; Washington's rates on food are in its file.
    let exempt = rate(&world, "zip=55401&date=2019-01-01&category=food_drug").await;
    assert_eq!((&exempt["data"]["combined_rate"], exempt["data"]["components"].as_array().unwrap().len()), (&json!(0), 4));
    assert_eq!(notices(&exempt), ["FOOD_DRUG_EXEMPT"]);
    let statute = "statutes of MN: https://publisher.example/food";
    for component in exempt["data"]["components"].as_array().unwrap() {
        assert_eq!((&component["rate"], &component["exempt_by"]), (&json!(0), &json!(statute)), "{component}");
    }
    assert!(exempt["meta"]["notices"][0]["message"].as_str().unwrap().contains(statute), "{exempt}");
    assert_eq!(exempt["data"]["provenance"][0]["record_id"], "tax.state:MN");
    let general = rate(&world, "zip=55401&date=2019-01-01").await;
    assert!(general["data"]["components"].as_array().unwrap().iter().all(|component| component["exempt_by"].is_null()));
    assert!(food["data"]["components"].as_array().unwrap().iter().all(|component| component["exempt_by"].is_null()));
    assert!(notices(&rate(&world, "zip=98001&category=food_drug").await).contains(&"FOOD_DRUG_AS_GENERAL"));
    // Vermont publishes only addresses: the local tax of one street does not spread over the ZIP code.
    assert_eq!(outcome(&of("street=12%20Church%20St&zip=05401").await).0, "0.07");
    let zip = of("zip=05401").await;
    assert_eq!((outcome(&zip).0.as_str(), outcome(&zip).1, &zip["match"]["alternatives"][0]["combined_rate"]), ("0.06", "zip5_lowest", &json!(0.07)));
}

#[tokio::test]
async fn each_way_of_taxing_has_its_answer() {
    let world = world().await;
    let of = async |query: &'static str| rate(&world, query).await;
    // Counties and cities by name, where there are rates and no boundaries: Milwaukee's is the state's published 7.9 percent.
    let milwaukee = of("zip=53202").await;
    assert_eq!(outcome(&milwaukee["data"]), ("0.079".to_owned(), "place", ["state 55 0.05", "county 079 0.009", "city 53000 0.02"].map(str::to_owned).into()));
    assert!(notices(&milwaukee).contains(&"BOUNDARIES_NOT_PUBLISHED"));
    assert_eq!(of("city=Milwaukee&state=wi&date=2023-12-01").await["data"]["combined_rate"], 0.055);
    let oregon = of("zip=97201").await;
    assert_eq!(
        (&oregon["data"]["combined_rate"], &oregon["data"]["components"], &oregon["data"]["coverage"]["level"]),
        (&json!(0), &json!([]), &json!("full"))
    );
    let connecticut = of("zip=06101").await;
    assert_eq!(outcome(&connecticut["data"]).1, "state");
    assert_eq!(connecticut["data"]["combined_rate"], 0.0635);
    let colorado = of("zip=80201").await;
    assert_eq!((&colorado["data"]["combined_rate"], &colorado["data"]["coverage"]["level"]), (&json!(0.029), &json!("state_only")));
    assert!(notices(&colorado).contains(&"LOCAL_RATES_NOT_COVERED"));
    let unknown = ["county_rate", "city_rate", "special_rate"].map(|class| &colorado["data"][class]);
    assert_eq!((unknown, &colorado["data"]["state_rate"]), ([&json!(null); 3], &json!(0.029)));
    // Declared to be covered, but this release has no file of it.
    assert_eq!(of("zip=07001").await["data"]["coverage"]["level"], "state_only");
    for query in ["zip=70112", "city=Anchorage&state=AK"] {
        let unknown = of(query).await;
        assert_eq!((&unknown["data"]["combined_rate"], &unknown["data"]["coverage"]["level"]), (&Value::Null, &json!("none")));
        assert!(notices(&unknown).contains(&"STATE_NOT_COVERED"));
    }
    let nevada = of("zip=89101").await;
    assert_eq!(outcome(&nevada["data"]).2, ["state 32 0.0685", "county 003 0.01525"], "the state's published minimum is the state's");
    assert_eq!(nevada["data"]["combined_rate"], 0.08375);
    let dallas = of("city=Dallas&state=TX&date=2026-01-15").await;
    assert_eq!(
        outcome(&dallas["data"]),
        ("0.0825".to_owned(), "place", ["state 48 0.0625", "city 2057207 0.01", "special 3057994 0.01"].map(str::to_owned).into())
    );
    assert!(notices(&dallas).contains(&"ORIGIN_SOURCED_STATE"));
    assert_eq!(outcome(&of("zip=75001").await["data"]).2, ["state 48 0.0625", "city 2057217 0.01", "special 3057994 0.01"], "the city of the ZIP code");
    let rest = of("zip=75099").await;
    assert_eq!(
        outcome(&rest["data"]),
        ("0.0675".to_owned(), "county", ["state 48 0.0625", "county 113 0.005"].map(str::to_owned).into()),
        "no place of the city's name"
    );
    // Two records of a ZIP code that do not agree; the district typed as the state's own is not added.
    let auburn = of("zip=98002").await;
    assert_eq!((outcome(&auburn["data"]).0.as_str(), outcome(&auburn["data"]).1), ("0.077", "zip5_lowest"));
    assert_eq!(auburn["data"]["match"]["alternatives"][0]["combined_rate"], 0.086);
    assert_eq!(outcome(&of("zip=98001").await["data"]).2, ["state 53 0.065"]);
}

#[tokio::test]
async fn what_contradicts_itself_is_noticed_and_what_is_missing_refused() {
    let world = world().await;
    let mismatch = rate(&world, "zip=83856&state=WA").await;
    assert_eq!(mismatch["data"]["combined_rate"], 0.077);
    assert!(notices(&mismatch).contains(&"ZIP_STATE_MISMATCH"));
    let city = rate(&world, "zip=53202&city=Madison&state=WI").await;
    assert!(notices(&city).contains(&"CITY_ZIP_MISMATCH"));
    for (query, expected) in [
        ("state=MN", (400, "missing_parameter")),
        ("city=Saint%20Paul", (400, "missing_parameter")),
        ("zip=5510", (400, "invalid_parameter")),
        ("zip=55103-12", (400, "invalid_parameter")),
        ("zip=99999", (404, "not_found")),
        ("zip=55103&state=ZZ", (400, "invalid_parameter")),
        ("zip=55103&origin_state=ZZ", (400, "invalid_parameter")),
        ("zip=55103&date=2019-02-30", (400, "invalid_parameter")),
        ("zip=55103&category=food", (400, "invalid_parameter")),
        ("address=1%20Main%20St%2C%2055103&zip=55103", (400, "invalid_parameter")),
        ("zip=55103&stat=MN", (400, "unknown_parameter")),
    ] {
        let (status, code) = world_problem(&world, query).await;
        assert_eq!((status, code.as_str()), expected, "{query}");
    }
    let nothing = World::new().await;
    assert_eq!(world_problem(&nothing, "city=Milwaukee&state=WI").await, (404, "coverage_unavailable".to_owned()));
}

#[tokio::test]
async fn every_combined_rate_is_the_sum_of_its_components() {
    let world = world().await;
    for query in ["zip=55103&date=2019-01-01", "zip=55401&date=2019-01-01", "zip=53202", "zip=05401", "zip=98002", "zip=89101", "zip=75001", "zip=97201"] {
        let data = &rate(&world, query).await["data"];
        let sum = |components: &Value| -> i64 { components.as_array().unwrap().iter().map(|component| millionths(&component["rate"])).sum() };
        assert_eq!(millionths(&data["combined_rate"]), sum(&data["components"]), "{query}");
        let classes = ["state_rate", "county_rate", "city_rate", "special_rate"].map(|class| millionths(&data[class]));
        assert_eq!(millionths(&data["combined_rate"]), classes.iter().sum::<i64>(), "{query}");
        for other in data["match"]["alternatives"].as_array().unwrap() {
            assert_eq!(millionths(&other["combined_rate"]), sum(&other["components"]), "{query}");
        }
    }
}

fn millionths(rate: &Value) -> i64 {
    (rate.as_f64().unwrap() * 1e6).round() as i64
}

#[tokio::test]
async fn a_sale_is_taxed_to_the_cent() {
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
        (&data["taxable_amount"], &data["tax_amount"], &data["order_total"], &data["rate"]),
        (&json!(28.46), &json!(2.28), &json!(57.74), &json!(0.08025))
    );
    let taxes: Vec<&Value> = data["line_items"].as_array().unwrap().iter().map(|line| &line["tax_amount"]).collect();
    assert_eq!(taxes, [&json!(2.28), &json!(-0.4), &json!(0.0), &json!(0.0)]);
    assert_eq!((&data["shipping"]["tax_amount"], &data["shipping"]["taxable_basis"]), (&json!(0.4), &json!("state")));
    let cents = |value: &Value| (value.as_f64().unwrap() * 100.0).round() as i64;
    let parts = |breakdown: &Value| breakdown.as_array().unwrap().iter().map(|part| cents(&part["tax_amount"])).sum::<i64>();
    assert_eq!(parts(&data["breakdown"]), 228);
    data["line_items"].as_array().unwrap().iter().for_each(|line| assert_eq!(parts(&line["breakdown"]), cents(&line["tax_amount"])));
    assert_eq!(notices(&answer), ["HOLIDAYS_NOT_MODELLED", "NOT_TAX_ADVICE", "DELIVERY_NOT_DIVIDED"]);

    let including = calculate(json!({"to": to, "date": "2019-01-01", "amount": 108.03, "prices_include_tax": true})).await.json();
    assert_eq!(
        (&including["data"]["taxable_amount"], &including["data"]["tax_amount"], &including["data"]["order_total"]),
        (&json!(100.0), &json!(8.03), &json!(108.03))
    );
    let exempt = calculate(json!({"to": to, "date": "2019-01-01", "amount": 100, "shipping": 5, "exemption": "resale"})).await.json();
    assert_eq!((&exempt["data"]["tax_amount"], &exempt["data"]["order_total"], &exempt["data"]["rate"]), (&json!(0.0), &json!(105.0), &Value::Null));
    assert!(notices(&exempt).contains(&"EXEMPTION_NOT_VERIFIED"));
    // Nevada does not tax delivery charges; a caller may know better.
    let nevada = calculate(json!({"to": {"zip": "89101"}, "amount": 100, "shipping": 10})).await.json();
    assert_eq!((&nevada["data"]["tax_amount"], &nevada["data"]["shipping"]["taxable"]), (&json!(8.38), &json!(false)));
    let taxed = calculate(json!({"to": {"zip": "89101"}, "amount": 100, "shipping": 10, "shipping_taxable": true})).await.json();
    assert_eq!((&taxed["data"]["tax_amount"], &taxed["data"]["shipping"]["taxable_basis"]), (&json!(9.22), &json!("request")));
    // Minnesota taxes the delivery of what is taxed: not that of food alone, and that of food with other goods whole.
    let delivered = async |lines: Value| calculate(json!({"to": to, "date": "2019-01-01", "shipping": 10, "line_items": lines})).await.json();
    let food_alone = delivered(json!([{"unit_price": 50, "category": "food_drug"}])).await;
    assert_eq!((&food_alone["data"]["tax_amount"], &food_alone["data"]["shipping"]["taxable"]), (&json!(0.0), &json!(false)));
    assert!(notices(&food_alone).contains(&"FOOD_DRUG_EXEMPT") && !notices(&food_alone).contains(&"DELIVERY_NOT_DIVIDED"));
    let mixed = delivered(json!([{"unit_price": 50, "category": "food_drug"}, {"unit_price": 100}])).await;
    assert_eq!((&mixed["data"]["tax_amount"], &mixed["data"]["shipping"]["tax_amount"]), (&json!(8.83), &json!(0.8)));
    assert!(notices(&mixed).contains(&"DELIVERY_NOT_DIVIDED"));
    // Food where the state's rate is lower and the county's is not known, on one invoice with general goods.
    let food = calculate(json!({"to": {"street": "340 Northwind Dr", "zip": "37072"}, "from": {"state": "TN"}, "date": "2024-02-01", "rounding": "invoice",
        "line_items": [{"unit_price": 10, "category": "food_drug"}, {"unit_price": 10}]}))
    .await
    .json();
    assert_eq!((&food["data"]["tax_amount"], &food["data"]["rate"]), (&json!(1.55), &json!(0.0775)));
    assert_eq!(food["data"]["breakdown"].as_array().unwrap().len(), 4);
    assert!(notices(&food).contains(&"FOOD_DRUG_RATE_UNKNOWN") && notices(&food).contains(&"CAPS_NOT_MODELLED"));
    assert_eq!(calculate(json!({"to": {"zip": "70112"}, "amount": 1})).await.problem(), (404, "coverage_unavailable".to_owned()));
}

#[tokio::test]
async fn numbers_of_a_sale_are_read_to_the_digit() {
    let world = world().await;
    let post = async |text: String| world.post_text("/v1/tax/calculate", text).await;
    let line = |line: &str| format!(r#"{{"to": {{"zip": "97201"}}, "line_items": [{line}]}}"#);
    // As a binary fraction 1.005 is a little less.
    for (item, total) in [
        (r#"{"unit_price": 1.005}"#, "1.01"),
        (r#"{"unit_price": -1.005}"#, "-1.01"),
        (r#"{"unit_price": 0.0333, "quantity": 300}"#, "9.99"),
        (r#"{"unit_price": 1e2, "quantity": 1.5, "discount": 0.01}"#, "149.99"),
        (r#"{"unit_price": 10000000.01, "quantity": 1000}"#, "10000000010.00"),
    ] {
        let answer = post(line(item)).await;
        assert_eq!(answer.status, 200, "{item}: {}", String::from_utf8_lossy(&answer.bytes));
        assert!(String::from_utf8_lossy(&answer.bytes).contains(&format!("\"order_total\":{total},")), "{item}: {}", String::from_utf8_lossy(&answer.bytes));
    }
    for (body, field, code) in [
        (line(r#"{"unit_price": 1.0000001}"#), "line_items[0].unit_price", "invalid_parameter"),
        (line(r#"{"unit_price": "1"}"#), "line_items[0].unit_price", "invalid_parameter"),
        (line(r#"{"quantity": 2}"#), "line_items[0].unit_price", "missing_parameter"),
        (line(r#"{"unit_price": 1, "quantity": -1}"#), "line_items[0].quantity", "invalid_parameter"),
        (line(r#"{"unit_price": 1, "discount": 2}"#), "line_items[0].discount", "invalid_parameter"),
        (line(r#"{"unit_price": 1, "discount": -1}"#), "line_items[0].discount", "invalid_parameter"),
        (line(r#"{"unit_price": 1000000000, "quantity": 1000000}"#), "line_items[0].unit_price", "invalid_parameter"),
        (line(r#"{"unit_price": 1, "categry": "general"}"#), "line_items[0].categry", "unknown_parameter"),
        (line(r#"{"unit_price": 1, "category": "clothing"}"#), "line_items[0].category", "invalid_parameter"),
        (line("7"), "line_items[0]", "invalid_parameter"),
        (line(""), "line_items", "invalid_parameter"),
        (line(&[r#"{"unit_price": 1}"#; 501].join(",")), "line_items", "invalid_parameter"),
        (r#"{"to": {"zip": "97201"}}"#.to_owned(), "line_items", "missing_parameter"),
        (r#"{"to": {"zip": "97201"}, "amount": 1, "line_items": [{"unit_price": 1}]}"#.to_owned(), "amount", "invalid_parameter"),
        (r#"{"amount": 1}"#.to_owned(), "to", "missing_parameter"),
        (r#"{"to": {"zip": 97201}, "amount": 1}"#.to_owned(), "to.zip", "invalid_parameter"),
        (r#"{"to": {"state": "OR"}, "amount": 1}"#.to_owned(), "to.zip", "missing_parameter"),
        (r#"{"to": {"zip": "97201"}, "amount": 1, "date": "tomorrow"}"#.to_owned(), "date", "invalid_parameter"),
        (r#"{"to": {"zip": "97201"}, "amount": 1, "rounding": "up"}"#.to_owned(), "rounding", "invalid_parameter"),
        ("[1]".to_owned(), "body", "invalid_json"),
        ("{".to_owned(), "body", "invalid_json"),
    ] {
        let answer = post(body.clone()).await;
        assert_eq!(answer.problem(), (400, code.to_owned()), "{body:.200}");
        assert_eq!(answer.json()["errors"][0]["field"], field, "{body:.200}");
    }
}

#[tokio::test]
async fn a_batch_equals_its_single_calls_and_costs_as_many() {
    let world = world().await;
    let addresses = json!([
        {"id": "a", "zip": "55103"}, {"id": "b", "zip": "53202"}, {"id": "c", "zip": "99999"}, {"id": "d", "city": "Dallas", "state": "TX"},
        {"zip": "5"}, 7, {"id": "e", "zip": "55049", "date": "x"}, {"id": "a", "zip": "55103"},
    ]);
    let answer = world.post("/v1/tax/batch", &json!({"date": "2026-01-15", "addresses": addresses})).await.json();
    let items = answer["data"].as_array().unwrap();
    let summary: Vec<(Option<&str>, bool, Option<&str>)> =
        items.iter().map(|item| (item["id"].as_str(), item["found"].as_bool().unwrap(), item["error"]["code"].as_str())).collect();
    let (invalid, unknown) = (Some("invalid_parameter"), Some("unknown_parameter"));
    assert_eq!(
        summary,
        [
            (Some("a"), false, invalid),
            (Some("b"), true, None),
            (Some("c"), false, Some("not_found")),
            (Some("d"), true, None),
            (None, false, invalid),
            (None, false, invalid),
            (None, false, unknown),
            (Some("a"), false, invalid),
        ]
    );
    for (item, query) in [(1, "zip=53202"), (3, "city=Dallas&state=TX")] {
        let single = rate(&world, &format!("{query}&date=2026-01-15")).await;
        assert_eq!((&items[item]["result"], &items[item]["notices"]), (&single["data"], &single["meta"]["notices"]));
    }
    let single = world.get("/v1/tax/rate?zip=55103&date=2026-01-15").await.json();
    assert_eq!(items[0]["error"]["detail"], single["detail"]);
    let many = vec![json!({"zip": "53202"}); 101];
    assert_eq!(world.post("/v1/tax/batch", &json!({"addresses": many})).await.problem(), (400, "batch_too_large".to_owned()));
    assert_eq!(world.post("/v1/tax/batch", &json!({"addresses": []})).await.problem(), (400, "invalid_parameter".to_owned()));
    assert_eq!(world.post("/v1/tax/batch", &json!({"date": "2026-01-15"})).await.problem(), (400, "missing_parameter".to_owned()));

    // A plan of 20 requests at once: a batch of 12 leaves 8, another is refused, and the answer says when it may come.
    let key = world.create_key(&[Scope::General], "free").key;
    let batch = json!({"addresses": vec![json!({"zip": "53202"}); 12]});
    let first = world.post_as(&key, "/v1/tax/batch", &batch).await;
    assert_eq!((first.status.as_u16(), first.header("x-ratelimit-remaining")), (200, "8"));
    let second = world.post_as(&key, "/v1/tax/batch", &batch).await;
    assert_eq!((second.status.as_u16(), second.header("retry-after"), second.header("x-ratelimit-remaining")), (429, "4", "7"));
}

#[tokio::test]
async fn answers_are_what_the_document_says() {
    let world = world().await;
    let api = world.ok("/v1/openapi.json").await;
    let schema = |method: &str, path: &str| api["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"].clone();
    for query in
        ["zip=53202", "zip=55049&date=2019-02-01", "zip=97201", "zip=70112", "address=340%20Northwind%20Dr%2C%20TN%2037072&date=2024-02-01&category=food_drug"]
    {
        check(&api, &schema("get", "/v1/tax/rate"), &rate(&world, query).await, query);
    }
    for (path, body) in [
        ("/v1/tax/calculate", json!({"to": {"zip": "53202"}, "amount": 10})),
        ("/v1/tax/calculate", json!({"to": {"zip": "37072"}, "line_items": [{"unit_price": 10, "category": "food_drug"}], "shipping": 1})),
        ("/v1/tax/batch", json!({"addresses": [{"zip": "53202", "id": "a"}, {"zip": "0"}]})),
        ("/v1/zip/batch", json!({"zips": ["53202", "0"]})),
    ] {
        check(&api, &schema("post", path), &world.post(path, &body).await.json(), path);
    }
    for (pattern, path) in
        [("/v1/zip/{zip}", "/v1/zip/53202"), ("/v1/zip/{zip}", "/v1/zip/09007?fields=county"), ("/v1/zip/{zip}/nearby", "/v1/zip/10001/nearby")]
    {
        check(&api, &schema("get", pattern), &world.ok(path).await, path);
    }
}

#[tokio::test]
async fn rates_of_the_past_may_be_kept_for_a_day_and_those_of_today_change_with_it() {
    let world = world().await;
    let past = world.get("/v1/tax/rate?zip=53202&date=2025-01-01").await;
    let (today, given) = (world.get("/v1/tax/rate?zip=53202").await, world.get("/v1/tax/rate?zip=53202&date=2026-01-15").await);
    assert_eq!(
        [&past, &today, &given].map(|answer| answer.header("cache-control").to_owned()),
        ["private, max-age=86400", "private, max-age=300", "private, max-age=300"]
    );
    let tag = today.header("etag").to_owned();
    assert_eq!(world.get_with("/v1/tax/rate?zip=53202", &[("if-none-match", &tag)]).await.status, 304);
    world.set_clock("2026-01-16T12:00:00Z");
    assert_eq!(world.get_with("/v1/tax/rate?zip=53202", &[("if-none-match", &tag)]).await.status, 200);
    assert_eq!(world.post("/v1/tax/calculate", &json!({"to": {"zip": "53202"}, "amount": 1})).await.header("cache-control"), "no-store");
}
