use serde_json::{Value, json};

use super::{outcome, rate, world};
use crate::serve::served::Served;
use crate::serve::{World, notices};

#[tokio::test]
async fn minnesota_zip_codes_match_the_states_file() {
    let world = world().await;
    let answer = rate(&world, "zip=55103&date=2019-03-31").await;
    let data = &answer["data"];
    assert_eq!(
        outcome(data),
        (
            "0.07875".to_owned(),
            "zip5",
            vec![
                "state 27 0.06875".to_owned(),
                "county 123 0.005".to_owned(),
                "city 58000 0.005".to_owned()
            ]
        )
    );
    assert_eq!(data["components"][2]["name"], "St. Paul city");
    assert_eq!(
        (
            &data["location"]["county_fips"],
            &data["location"]["place_fips"]
        ),
        (&json!("27123"), &json!("2758000"))
    );
    assert_eq!(
        (
            &data["effective_date"],
            &data["sourcing"],
            &data["coverage"]["level"]
        ),
        (&json!("2017-10-01"), &json!("destination"), &json!("full"))
    );
    // Records of the state, the boundary and each of the three rates.
    let records: Vec<&str> = data["provenance"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stamp| stamp["record_id"].as_str().unwrap())
        .collect();
    assert_eq!(
        records,
        [
            "tax.state:MN",
            "tax.boundary:MN:2",
            "tax.rate:MN:45:27:20090701",
            "tax.rate:MN:00:123:20171001",
            "tax.rate:MN:01:58000:20051001"
        ]
    );
    for record in records {
        let chain = world.ok(&format!("/v1/provenance/{record}")).await;
        assert_eq!(chain["data"]["record"]["record_id"], record);
        assert_eq!(chain["data"]["sources"].as_array().unwrap().len(), 2);
    }
    for zip in 55_401..=55_405 {
        let answer = rate(&world, &format!("zip={zip}&state=MN&date=2019-01-01")).await;
        let data = &answer["data"];
        assert_eq!(outcome(data).0, "0.08025");
        assert_eq!(
            outcome(data).2,
            [
                "state 27 0.06875",
                "county 053 0.0015",
                "city 43000 0.005",
                "special 80004 0.005"
            ]
        );
        assert_eq!(
            (&data["special_rate"], &data["components"][3]["name"]),
            (&json!(0.005), &json!("Special district 80004"))
        );
    }
    // A wide range of ZIP codes with state tax only.
    assert_eq!(
        outcome(&rate(&world, "zip=55102&state=MN&date=2019-01-01").await["data"]).2,
        ["state 27 0.06875"]
    );
}

#[tokio::test]
async fn day_that_no_record_covers_is_reported() {
    let world = world().await;
    for query in [
        "zip=55103",
        "zip=55103&date=2019-04-01",
        "zip=55103&date=2017-09-30",
        "zip=55049-1100",
        "city=Saint%20Paul&state=MN",
    ] {
        let answer = world.get(&format!("/v1/tax/rate?{query}")).await;
        assert_eq!(
            answer.problem(),
            (404, "coverage_unavailable".to_owned()),
            "{query}"
        );
        let body = answer.json();
        assert_eq!(body["errors"][0]["field"], "date");
        assert!(
            body["detail"].as_str().unwrap().contains("to 2019-03-31"),
            "{body}"
        );
    }
    let problem = async |query: &'static str| world_problem(&world, query).await;
    assert_eq!(
        problem("zip=06101&date=2019-12-31").await,
        (404, "coverage_unavailable".to_owned()),
        "a day before the state's first known rule"
    );
    assert_eq!(
        problem("zip=97201&date=2019-12-31").await,
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        problem("zip=55999&state=MN&date=2019-01-01").await,
        (404, "not_found".to_owned()),
        "no record has the ZIP code"
    );
}

async fn world_problem(world: &World, query: &str) -> (u16, String) {
    world.get(&format!("/v1/tax/rate?{query}")).await.problem()
}

#[tokio::test]
async fn nine_digits_find_the_narrowest_range_and_five_the_lowest_rate() {
    let world = world().await;
    let of = async |query: &'static str| {
        rate(&world, &format!("{query}&state=MN&date=2019-02-01")).await["data"].take()
    };
    assert_eq!(
        outcome(&of("zip=55049-2302").await),
        (
            "0.07875".to_owned(),
            "zip9",
            ["state 27 0.06875", "county 147 0.005", "city 41426 0.005"]
                .map(str::to_owned)
                .into()
        )
    );
    assert_eq!(outcome(&of("zip=550490480").await).0, "0.07375");
    // A range may span several ZIP codes.
    assert_eq!(outcome(&of("zip=55076-0001").await).1, "zip9");
    // 55101 as a whole has state tax only, but parts of it are in cities.
    assert_eq!(
        outcome(&of("zip=55101-1610").await).2,
        ["state 27 0.06875", "county 037 0.0025"]
    );
    assert_eq!(outcome(&of("zip=55101-9000").await).1, "zip5");
    let consensus = of("zip=55079").await;
    assert_eq!(
        (outcome(&consensus).1, &consensus["match"]["is_ambiguous"]),
        ("zip5_consensus", &json!(false))
    );
    let answer = rate(&world, "zip=55049&date=2019-02-01").await;
    let data = &answer["data"];
    assert_eq!(
        (outcome(data).0.as_str(), outcome(data).1),
        ("0.07375", "zip5_lowest")
    );
    assert_eq!(data["match"]["is_ambiguous"], true);
    assert_eq!(data["match"]["alternatives"].as_array().unwrap().len(), 1);
    assert_eq!(data["match"]["alternatives"][0]["combined_rate"], 0.07875);
    assert_eq!(
        data["location"]["county_fips"],
        Value::Null,
        "an uncertain part is not stated"
    );
    assert!(notices(&answer).contains(&"SEVERAL_RATES"));
}

#[tokio::test]
async fn addresses_precede_zip_codes_and_never_replace_one() {
    let world = world().await;
    let of = async |query: &'static str| rate(&world, query).await["data"].take();
    let exact =
        of("street=340%20Northwind%20Drive&city=Goodlettsville&state=TN&zip=37072&date=2024-02-01")
            .await;
    assert_eq!(
        outcome(&exact),
        (
            "0.0925".to_owned(),
            "address",
            vec!["state 47 0.07".to_owned(), "county 037 0.0225".to_owned()]
        )
    );
    let line =
        of("address=340%20Northwind%20Dr%2C%20Goodlettsville%2C%20TN%2037072-2937&date=2024-02-01")
            .await;
    assert_eq!(outcome(&line), outcome(&exact));
    assert_eq!(
        line["location"]["normalized"],
        "340 NORTHWIND DR, GOODLETTSVILLE, TN 37072-2937"
    );
    let odd = of("street=341%20Northwind%20Drive&state=TN&zip=37072&date=2024-02-01").await;
    assert_eq!(
        outcome(&odd).1,
        "zip5_lowest",
        "the odd side is not in the range"
    );
    // From another state, and food with its own rate and without one.
    assert_eq!(
        of("street=340%20Northwind%20Dr&zip=37072&date=2024-02-01&origin_state=KY").await["combined_rate"],
        0.09
    );
    let food = rate(
        &world,
        "street=340%20Northwind%20Dr&zip=37072&date=2024-02-01&category=food_drug",
    )
    .await;
    assert_eq!(
        outcome(&food["data"]).2,
        ["state 47 0.04", "county 037 0.0225"]
    );
    assert!(notices(&food).contains(&"FOOD_DRUG_DIFFER"));
    // Minnesota's file repeats the general rates, but food is exempt by statute, and the answer
    // names it.
    let exempt = rate(&world, "zip=55401&date=2019-01-01&category=food_drug").await;
    assert_eq!(
        (
            &exempt["data"]["combined_rate"],
            exempt["data"]["components"].as_array().unwrap().len()
        ),
        (&json!(0), 4)
    );
    assert_eq!(notices(&exempt), Vec::<&str>::new());
    for component in exempt["data"]["components"].as_array().unwrap() {
        assert_eq!(component["rate"], json!(0), "{component}");
        assert!(
            component["exempt_by"]
                .as_str()
                .unwrap()
                .starts_with("Minn. Stat. § 297A."),
            "{component}"
        );
    }
    assert_eq!(exempt["data"]["provenance"][0]["record_id"], "tax.state:MN");
    let general = rate(&world, "zip=55401&date=2019-01-01").await;
    assert!(
        general["data"]["components"]
            .as_array()
            .unwrap()
            .iter()
            .all(|component| component["exempt_by"].is_null())
    );
    assert!(
        food["data"]["components"]
            .as_array()
            .unwrap()
            .iter()
            .all(|component| component["exempt_by"].is_null())
    );
    // The same holds in Washington (82.08.0293), where over-the-counter medicine is taxed.
    let washington = rate(&world, "zip=98001&category=food_drug").await;
    assert_eq!(
        (
            &washington["data"]["combined_rate"],
            notices(&washington).contains(&"FOOD_DRUG_DIFFER")
        ),
        (&json!(0), true)
    );
    // Vermont publishes only addresses: the local tax of one street does not apply to the whole ZIP
    // code.
    assert_eq!(
        outcome(&of("street=12%20Church%20St&zip=05401").await).0,
        "0.07"
    );
    let zip = of("zip=05401").await;
    assert_eq!(
        (
            outcome(&zip).0.as_str(),
            outcome(&zip).1,
            &zip["match"]["alternatives"][0]["combined_rate"]
        ),
        ("0.06", "zip5_lowest", &json!(0.07))
    );
}

#[tokio::test]
async fn each_kind_of_tax_has_its_answer() {
    let world = world().await;
    let of = async |query: &'static str| rate(&world, query).await;
    // States with rates and without boundaries match counties and cities by name: Milwaukee's is
    // the state's published 7.9 percent.
    let milwaukee = of("zip=53202").await;
    assert_eq!(
        outcome(&milwaukee["data"]),
        (
            "0.079".to_owned(),
            "place",
            ["state 55 0.05", "county 079 0.009", "city 53000 0.02"]
                .map(str::to_owned)
                .into()
        )
    );
    assert!(notices(&milwaukee).contains(&"BOUNDARIES_NOT_PUBLISHED"));
    assert_eq!(
        of("city=Milwaukee&state=wi&date=2023-12-01").await["data"]["combined_rate"],
        0.055
    );
    let oregon = of("zip=97201").await;
    assert_eq!(
        (
            &oregon["data"]["combined_rate"],
            &oregon["data"]["components"],
            &oregon["data"]["coverage"]["level"]
        ),
        (&json!(0), &json!([]), &json!("full"))
    );
    let connecticut = of("zip=06101").await;
    assert_eq!(outcome(&connecticut["data"]).1, "state");
    assert_eq!(connecticut["data"]["combined_rate"], 0.0635);
    let colorado = of("zip=80201").await;
    assert_eq!(
        (
            &colorado["data"]["combined_rate"],
            &colorado["data"]["known_rate"],
            &colorado["data"]["coverage"]["level"]
        ),
        (&Value::Null, &json!(0.029), &json!("state_only"))
    );
    assert!(notices(&colorado).contains(&"LOCAL_RATES_NOT_COVERED"));
    let unknown =
        ["county_rate", "city_rate", "special_rate"].map(|class| &colorado["data"][class]);
    assert_eq!(
        (unknown, &colorado["data"]["state_rate"]),
        ([&json!(null); 3], &json!(0.029))
    );
    // Declared as covered, but this release has no file of it.
    assert_eq!(
        of("zip=07001").await["data"]["coverage"]["level"],
        "state_only"
    );
    for query in ["zip=70112", "city=Anchorage&state=AK"] {
        let unknown = of(query).await;
        assert_eq!(
            (
                &unknown["data"]["combined_rate"],
                &unknown["data"]["coverage"]["level"]
            ),
            (&Value::Null, &json!("none"))
        );
        assert!(notices(&unknown).contains(&"STATE_NOT_COVERED"));
    }
    let louisiana = of("zip=70112").await;
    let notice = louisiana["meta"]["notices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|notice| notice["code"] == "STATE_NOT_COVERED")
        .unwrap();
    let said = "This release has no sales tax rate for Louisiana. A missing rate is not a rate of zero. 4.45 percent until 2024; the rate of today is not confirmed.";
    assert_eq!(notice["message"], said);
    let nevada = of("zip=89101").await;
    assert_eq!(
        outcome(&nevada["data"]).2,
        ["state 32 0.0685", "county 003 0.01525"],
        "the published minimum is that of the state"
    );
    assert_eq!(nevada["data"]["combined_rate"], 0.08375);
    assert_eq!(
        of("address=53202").await["data"]["components"],
        milwaukee["data"]["components"]
    );
    let dallas = of("city=Dallas&state=TX&date=2026-01-15").await;
    for line in [
        "address=Dallas,+TX&date=2026-01-15",
        "address=dallas+tx&date=2026-01-15",
        "address=City+of+Dallas,+Texas&date=2026-01-15",
    ] {
        assert_eq!(
            of(line).await["data"]["components"],
            dallas["data"]["components"],
            "{line}"
        );
    }
    assert_eq!(
        outcome(&dallas["data"]),
        (
            "0.0825".to_owned(),
            "place",
            [
                "state 48 0.0625",
                "city 2057207 0.01",
                "special 3057994 0.01"
            ]
            .map(str::to_owned)
            .into()
        )
    );
    assert!(notices(&dallas).contains(&"ORIGIN_SOURCED_STATE"));
    assert_eq!(
        outcome(&of("zip=75001").await["data"]).2,
        [
            "state 48 0.0625",
            "city 2057217 0.01",
            "special 3057994 0.01"
        ],
        "the city of the ZIP code"
    );
    // Two records of a ZIP code disagree; the district with the state's own type is not added.
    let auburn = of("zip=98002").await;
    assert_eq!(
        (
            outcome(&auburn["data"]).0.as_str(),
            outcome(&auburn["data"]).1
        ),
        ("0.077", "zip5_lowest")
    );
    assert_eq!(
        auburn["data"]["match"]["alternatives"][0]["combined_rate"],
        0.086
    );
    assert_eq!(
        outcome(&of("zip=98001").await["data"]).2,
        ["state 53 0.065"]
    );
}

#[tokio::test]
async fn contradictory_input_is_reported_and_missing_input_refused() {
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
        (
            "address=1%20Main%20St%2C%2055103&zip=55103",
            (400, "invalid_parameter"),
        ),
        ("zip=55103&stat=MN", (400, "unknown_parameter")),
    ] {
        let (status, code) = world_problem(&world, query).await;
        assert_eq!((status, code.as_str()), expected, "{query}");
    }
    let nothing = World::new().await;
    assert_eq!(
        world_problem(&nothing, "city=Milwaukee&state=WI").await,
        (404, "coverage_unavailable".to_owned())
    );
}

#[tokio::test]
async fn city_that_no_list_has_gets_no_rate_of_another_area() {
    let world = world().await;
    // Coppell is not among the three areas of Dallas County.
    for query in [
        "zip=75099",
        "zip=75099-1234",
        "zip=75099&city=Coppell&state=TX",
        "zip=75099&city=Nowhereville",
        "city=Coppell&state=TX",
        "address=1%20Main%20St%2C%20Coppell%2C%20TX%2075099",
    ] {
        let answer = rate(&world, query).await;
        let data = &answer["data"];
        let expected = (
            "null".to_owned(),
            "county",
            vec!["state 48 0.0625".to_owned(), "local local null".to_owned()],
        );
        assert_eq!(outcome(data), expected, "{query}");
        assert_eq!(
            (&data["known_rate"], &data["components"][1]["null_reason"]),
            (&json!(0.0625), &json!("city_not_listed"))
        );
        let others: Vec<&Value> = data["match"]["alternatives"]
            .as_array()
            .unwrap()
            .iter()
            .map(|other| &other["combined_rate"])
            .collect();
        assert_eq!(
            (&data["match"]["is_ambiguous"], others),
            (
                &json!(true),
                vec![&json!(0.0675), &json!(0.0825), &json!(0.0825)]
            ),
            "{query}"
        );
        let notice = answer["meta"]["notices"]
            .as_array()
            .unwrap()
            .iter()
            .find(|notice| notice["code"] == "CITY_NOT_LISTED")
            .unwrap();
        assert!(
            notice["message"]
                .as_str()
                .unwrap()
                .to_lowercase()
                .contains("named coppell"),
            "{notice}"
        );
        assert_eq!(
            notices(&answer).contains(&"CITY_ZIP_MISMATCH"),
            query.contains("Nowhereville"),
            "{query}"
        );
    }
    let outside = rate(&world, "zip=75099&unincorporated=true").await;
    assert_eq!(
        outcome(&outside["data"]),
        (
            "0.0675".to_owned(),
            "county",
            ["state 48 0.0625", "county 113 0.005"]
                .map(str::to_owned)
                .into()
        )
    );
    // A listed city next to another city's ZIP code is offered as an alternative.
    let other = rate(&world, "zip=75001&city=Dallas").await;
    let names = |other: &Value| other["components"][1]["name"].as_str().unwrap().to_owned();
    assert_eq!(
        other["data"]["match"]["alternatives"]
            .as_array()
            .unwrap()
            .iter()
            .map(names)
            .collect::<Vec<_>>(),
        ["Dallas County", "Dallas"]
    );
    assert_eq!(
        rate(&world, "zip=53202&city=Nowhereville").await["data"]["combined_rate"],
        0.079,
        "the ZIP code's city counts"
    );
    let sale = json!({"to": {"zip": "75099"}, "amount": 100});
    let sale = world.post("/v1/tax/calculate", &sale).await.json()["data"].take();
    assert_eq!(
        (
            &sale["tax_amount"],
            &sale["known_tax_amount"],
            &sale["match"]["is_ambiguous"]
        ),
        (&json!(null), &json!(6.25), &json!(true))
    );
    assert_eq!(sale["unknown"][0]["reason"], "city_not_listed");
    assert_eq!(
        world.ok("/v1/zip/75099?fields=sales_tax").await["data"]["sales_tax"],
        Value::Null
    );
}

/// The four rows of the Department's list: Los Angeles and the land outside it at 9.5 percent, San
/// Francisco, and Alpine County.
#[tokio::test(flavor = "multi_thread")]
async fn beverly_hills_gets_no_rate_of_land_outside_cities() {
    let served = Served::new().await;
    for query in [
        "zip=90210",
        "zip=90210-1234",
        "zip=90210&city=Beverly+Hills&state=CA",
        "zip=90210&city=Nowhereville",
        "city=Beverly+Hills&state=CA",
    ] {
        let answer = served
            .ok(&format!("/v1/tax/rate?{query}&date=2026-08-01"))
            .await;
        let data = &answer["data"];
        assert_eq!(
            (
                &data["combined_rate"],
                &data["known_rate"],
                &data["match"]["is_ambiguous"]
            ),
            (&Value::Null, &json!(0.0725), &json!(true)),
            "{query}"
        );
        let district = |other: &Value| {
            format!(
                "{} {}",
                other["components"][2]["name"].as_str().unwrap(),
                other["combined_rate"]
            )
        };
        let others: Vec<String> = data["match"]["alternatives"]
            .as_array()
            .unwrap()
            .iter()
            .map(district)
            .collect();
        assert_eq!(
            others,
            [
                "Districts of UNINCORPORATED AREA-LOS ANGELES 0.095",
                "Districts of LOS ANGELES 0.095"
            ],
            "{query}"
        );
        assert!(notices(&answer).contains(&"CITY_NOT_LISTED"), "{query}");
    }
    let batch = json!({"date": "2026-08-01", "addresses": [{"zip": "90210"}]});
    let item = served.ask("/v1/tax/batch", Some(&batch)).await.json()["data"][0].take();
    assert_eq!(
        (
            &item["result"]["combined_rate"],
            &item["result"]["known_rate"]
        ),
        (&Value::Null, &json!(0.0725))
    );
    assert_eq!(item["notices"][1]["code"], "CITY_NOT_LISTED");
    assert_eq!(
        served.ok("/v1/zip/90210?fields=sales_tax").await["data"]["sales_tax"],
        Value::Null
    );
}

#[tokio::test]
async fn every_combined_rate_is_the_sum_of_its_components() {
    let world = world().await;
    for query in [
        "zip=55103&date=2019-01-01",
        "zip=55401&date=2019-01-01",
        "zip=53202",
        "zip=05401",
        "zip=98002",
        "zip=89101",
        "zip=75001",
        "zip=97201",
    ] {
        let data = &rate(&world, query).await["data"];
        let sum = |components: &Value| -> i64 {
            components
                .as_array()
                .unwrap()
                .iter()
                .map(|component| millionths(&component["rate"]))
                .sum()
        };
        assert_eq!(
            millionths(&data["combined_rate"]),
            sum(&data["components"]),
            "{query}"
        );
        let classes = ["state_rate", "county_rate", "city_rate", "special_rate"]
            .map(|class| millionths(&data[class]));
        assert_eq!(
            millionths(&data["combined_rate"]),
            classes.iter().sum::<i64>(),
            "{query}"
        );
        for other in data["match"]["alternatives"].as_array().unwrap() {
            assert_eq!(
                millionths(&other["combined_rate"]),
                sum(&other["components"]),
                "{query}"
            );
        }
    }
}

fn millionths(rate: &Value) -> i64 {
    (rate.as_f64().unwrap() * 1e6).round() as i64
}

#[tokio::test]
async fn all_rates_share_one_cache_period_and_change_with_the_day() {
    let world = world().await;
    let past = world.get("/v1/tax/rate?zip=53202&date=2025-01-01").await;
    let (today, given) = (
        world.get("/v1/tax/rate?zip=53202").await,
        world.get("/v1/tax/rate?zip=53202&date=2026-01-15").await,
    );
    for answer in [&past, &today, &given] {
        assert_eq!(
            answer.header("cache-control"),
            "private, max-age=300",
            "a rollback may correct any of them"
        );
    }
    let tag = today.header("etag").to_owned();
    assert_eq!(
        world
            .get_with("/v1/tax/rate?zip=53202", &[("if-none-match", &tag)])
            .await
            .status,
        304
    );
    world.set_clock("2026-01-16T12:00:00Z");
    assert_eq!(
        world
            .get_with("/v1/tax/rate?zip=53202", &[("if-none-match", &tag)])
            .await
            .status,
        200
    );
    assert_eq!(
        world
            .post(
                "/v1/tax/calculate",
                &json!({"to": {"zip": "53202"}, "amount": 1})
            )
            .await
            .header("cache-control"),
        "no-store"
    );
}
