//! Tests what answers about sales tax report as unknown.

use serde_json::{Value, json};

use super::{outcome, rate, world};
use crate::serve::notices;
use crate::serve::served::Served;

#[tokio::test]
async fn rates_of_a_file_past_its_quarter_are_marked() {
    let world = world().await;
    // The file of this release is of 1 September 2025: it covers the quarter to 30 September.
    let of = async |date: &str| rate(&world, &format!("zip=89101&date={date}")).await;
    let within = of("2025-09-30").await;
    assert_eq!(
        within["data"]["coverage"],
        json!({"level": "full", "rates_as_of": "2025-09-30"})
    );
    assert!(!notices(&within).contains(&"RATES_OUT_OF_DATE"));
    for (date, level, says) in [
        ("2025-10-01", "full", false),
        ("2026-07-03", "full", false),
        ("2026-07-04", "partial", true),
    ] {
        let answer = of(date).await;
        assert_eq!(
            answer["data"]["coverage"],
            json!({"level": level, "rates_as_of": "2025-09-30"}),
            "{date}"
        );
        let notice = answer["meta"]["notices"]
            .as_array()
            .unwrap()
            .iter()
            .find(|notice| notice["code"] == "RATES_OUT_OF_DATE")
            .unwrap();
        let message = notice["message"].as_str().unwrap();
        assert!(
            message.contains("Nevada")
                && message.contains("to 2025-09-30")
                && message.contains(date),
            "{message}"
        );
        assert_eq!(message.contains("has expired"), says, "{message}");
        assert_eq!(answer["data"]["combined_rate"], 0.08375);
    }
    // A rule that is in no rate file has no last day.
    let rule = rate(&world, "zip=06101&date=2030-01-01").await;
    assert_eq!(
        (&rule["data"]["coverage"], notices(&rule)),
        (&json!({"level": "full", "rates_as_of": null}), vec![])
    );
    assert_eq!(
        world.ok("/v1/zip/53202?fields=sales_tax").await["data"]["sales_tax"]["min_rate"],
        0.079
    );
    world.set_clock("2026-07-04T12:00:00Z");
    assert_eq!(
        world.ok("/v1/zip/53202?fields=sales_tax").await["data"]["sales_tax"],
        Value::Null,
        "an expired rate is not in today's range"
    );
}

#[tokio::test]
async fn districts_with_unknown_area_are_not_counted_as_zero() {
    let world = world().await;
    // Wisconsin's file has a district of 0.1 percent to 31 March 2020; this release has no
    // boundaries to locate it.
    let answer = rate(&world, "zip=53202&date=2020-03-31").await;
    let data = &answer["data"];
    assert_eq!(
        (
            &data["combined_rate"],
            &data["known_rate"],
            &data["special_rate"]
        ),
        (&Value::Null, &json!(0.055), &Value::Null)
    );
    assert!(
        answer["meta"]["notices"][0]["message"]
            .as_str()
            .unwrap()
            .contains("taxes of districts are not included"),
        "{answer}"
    );
    let after = rate(&world, "zip=53202&date=2020-04-01").await;
    assert_eq!(
        (
            &after["data"]["special_rate"],
            &after["data"]["combined_rate"]
        ),
        (&json!(0), &json!(0.055))
    );
}

#[tokio::test]
async fn city_without_a_zip_code_has_its_own_answer() {
    let world = world().await;
    // One of Milwaukee's ZIP codes touches two other counties; all are listed in Milwaukee County.
    let answer = rate(&world, "city=Milwaukee&state=WI").await;
    let data = &answer["data"];
    assert_eq!(
        outcome(data),
        (
            "0.079".to_owned(),
            "place",
            vec![
                "state 55 0.05".to_owned(),
                "county 079 0.009".to_owned(),
                "city 53000 0.02".to_owned()
            ]
        )
    );
    let others: Vec<&Value> = data["match"]["alternatives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|other| &other["combined_rate"])
        .collect();
    assert_eq!(
        (&data["match"]["is_ambiguous"], others),
        (&json!(true), vec![&json!(0.07), &json!(0.075)])
    );
    let message = |answer: &Value| {
        let notice = answer["meta"]["notices"]
            .as_array()
            .unwrap()
            .iter()
            .find(|notice| notice["code"] == "SEVERAL_RATES")
            .unwrap();
        notice["message"].as_str().unwrap().to_owned()
    };
    assert!(message(&answer).contains("that of the city itself"));
    // The ZIP code alone gets the lowest rate.
    let zip = rate(&world, "zip=53224").await;
    assert_eq!(zip["data"]["combined_rate"], 0.07);
    assert!(message(&zip).contains("the rate is the lowest"));
    // Parts of Saint Paul's ZIP codes are outside the city.
    for name in ["Saint%20Paul", "St.%20Paul", "st%20paul"] {
        let minnesota = rate(&world, &format!("city={name}&state=MN&date=2019-01-01")).await;
        assert_eq!(
            outcome(&minnesota["data"]).2,
            ["state 27 0.06875", "county 123 0.005", "city 58000 0.005"],
            "{name}"
        );
        assert_eq!(minnesota["data"]["match"]["is_ambiguous"], true);
    }
    assert_eq!(
        notices(&rate(&world, "zip=55103&city=St.%20Paul&date=2019-01-01").await),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn matches_by_name_alone_are_marked() {
    let world = world().await;
    for query in [
        "city=Dallas&state=TX&date=2026-01-15",
        "zip=75001",
        "zip=75099",
        "zip=53202",
    ] {
        assert!(
            notices(&rate(&world, query).await).contains(&"BOUNDARIES_NOT_PUBLISHED"),
            "{query}"
        );
    }
    for query in [
        "zip=55103&date=2019-01-01",
        "city=Saint%20Paul&state=MN&date=2019-01-01",
        "zip=06101",
    ] {
        assert!(
            !notices(&rate(&world, query).await).contains(&"BOUNDARIES_NOT_PUBLISHED"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn zip_code_of_another_state_is_reported() {
    let world = world().await;
    // The number of Hennepin County in Minnesota is that of Jackson County in Wisconsin.
    for (query, state) in [
        ("zip=53202&state=MN&date=2019-01-01", "WI"),
        ("zip=55401&state=WI", "MN"),
    ] {
        let answer = world.get(&format!("/v1/tax/rate?{query}")).await;
        assert_eq!(answer.problem(), (404, "not_found".to_owned()), "{query}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.contains(&format!("which is in {state}: leave out the state")),
            "{detail}"
        );
    }
    assert_eq!(
        notices(&rate(&world, "zip=53202&state=CT").await),
        ["ZIP_STATE_MISMATCH"]
    );
}

/// Washington's release has files of two quarters, the newer one for the fourth of 2026; the first
/// line of Texas's file names the third.
#[tokio::test(flavor = "multi_thread")]
async fn rates_are_of_the_newest_quarter_named_in_the_files() {
    let served = Served::new().await;
    let (ritzville, dallas) = (
        "street=15+E+Main+Ave&state=WA&zip=99169",
        "city=Dallas&state=TX",
    );
    for (query, date, until, is_past) in [
        (ritzville, "2026-10-01", "2026-12-31", false),
        (ritzville, "2026-12-31", "2026-12-31", false),
        (dallas, "2026-09-30", "2026-09-30", false),
        (dallas, "2026-10-01", "2026-09-30", true),
        (dallas, "2026-12-31", "2026-09-30", true),
    ] {
        let answer = served
            .ok(&format!("/v1/tax/rate?{query}&date={date}"))
            .await;
        assert_eq!(
            answer["data"]["coverage"]["rates_as_of"], until,
            "{query} {date}"
        );
        assert_eq!(
            notices(&answer).contains(&"RATES_OUT_OF_DATE"),
            is_past,
            "{query} {date}: {answer}"
        );
    }
}
