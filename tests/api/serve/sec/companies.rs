use serde_json::{Value, json};

use super::world;
use crate::serve::{World, notices};

async fn found(world: &World, query: &str) -> Vec<(String, String)> {
    let answer = world.ok(&format!("/v1/sec/companies/search?{query}")).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (text(&item["cik"]), text(&item["match"]["type"])))
        .collect()
}

#[tokio::test]
async fn companies_are_found_by_name_ticker_and_cik() {
    let world = world().await;
    let one = |cik: &str, matched: &str| vec![(cik.to_owned(), matched.to_owned())];
    let apple = "0000320193";
    assert_eq!(
        found(&world, "name=apple").await,
        [
            one(apple, "name_without_suffix"),
            one("0009900193", "name_prefix")
        ]
        .concat()
    );
    assert_eq!(
        found(&world, "q=Apple%20Inc").await,
        [one(apple, "name"), one("0009900193", "name_prefix")].concat()
    );
    assert_eq!(
        found(&world, "q=apple+computer").await,
        one(apple, "former_name")
    );
    assert_eq!(found(&world, "q=nvda").await, one("0001045810", "ticker"));
    assert_eq!(
        found(&world, "q=clark").await,
        one("0000055785", "word_prefix")
    );
    assert_eq!(
        found(&world, "ticker=kmb.a,AAPL,KMB").await,
        [one("0000055785", "ticker"), one(apple, "ticker")].concat()
    );
    assert_eq!(found(&world, "cik=320193").await, one(apple, "cik"));
    assert_eq!(found(&world, "cik=0000320193").await, one(apple, "cik"));
    let answer = world
        .ok("/v1/sec/companies/search?q=apple%20computer")
        .await;
    let item = &answer["data"][0];
    assert_eq!(
        (&item["former_name_matched"], &item["match"]["score"]),
        (&json!("APPLE COMPUTER INC"), &json!(0.88))
    );
    assert_eq!(
        (&item["tickers"], &item["exchanges"], &item["sic"]),
        (&json!(["AAPL"]), &json!(["Nasdaq"]), &json!("3571"))
    );
    assert_eq!(item["provenance"]["record_id"], "sec.registrant:0000320193");
    assert_eq!(
        item["provenance"]["source_url"],
        "https://publisher.example/places.txt"
    );
}

#[tokio::test]
async fn unknown_company_is_an_explained_empty_answer() {
    let world = world().await;
    let answer = world.ok("/v1/sec/companies/search?ticker=ZZZZ").await;
    assert_eq!(
        (&answer["data"], notices(&answer)),
        (&json!([]), vec!["TICKER_IS_CURRENT", "TICKER_UNKNOWN"])
    );
    assert_eq!(
        notices(&world.ok("/v1/sec/companies/search?cik=1").await),
        ["CIK_UNKNOWN"]
    );
    assert_eq!(
        world.ok("/v1/sec/companies/search?name=zzzz").await["data"],
        json!([])
    );
    let wrong = async |query: &str| {
        world
            .get(&format!("/v1/sec/companies/search{query}"))
            .await
            .problem()
    };
    assert_eq!(wrong("").await, (400, "missing_parameter".to_owned()));
    for query in [
        "?name=a&ticker=b",
        "?name=a&q=b",
        "?cik=x",
        "?ticker=a,,b",
        "?name=%20",
    ] {
        assert_eq!(
            wrong(query).await,
            (400, "invalid_parameter".to_owned()),
            "{query}"
        );
    }
}

#[tokio::test]
async fn pages_of_a_company_search_have_no_gap_or_repetition() {
    let world = world().await;
    let first = world
        .ok("/v1/sec/companies/search?name=apple&limit=1")
        .await;
    assert_eq!(
        (&first["data"][0]["cik"], &first["meta"]["page"]["total"]),
        (&json!("0000320193"), &json!(2))
    );
    let cursor = first["meta"]["page"]["next_cursor"].as_str().unwrap();
    let second = world
        .ok(&format!(
            "/v1/sec/companies/search?name=apple&limit=1&cursor={cursor}"
        ))
        .await;
    assert_eq!(
        (
            &second["data"][0]["cik"],
            &second["meta"]["page"]["next_cursor"]
        ),
        (&json!("0009900193"), &Value::Null)
    );
    let other = world
        .get(&format!(
            "/v1/sec/companies/search?name=nvidia&cursor={cursor}"
        ))
        .await;
    assert_eq!(other.problem(), (400, "invalid_cursor".to_owned()));
}

#[tokio::test]
async fn profile_has_a_companys_identity_and_datasets() {
    let world = world().await;
    let answer = world.ok("/v1/sec/companies/320193").await;
    let data = &answer["data"];
    assert_eq!(
        (&data["cik"], &data["name"], &data["fiscal_year_end"]),
        (&json!("0000320193"), &json!("Apple Inc."), &json!("09-26"))
    );
    assert_eq!(
        data["former_names"],
        json!([{"name": "APPLE COMPUTER INC", "from": null, "to": "2007-01-04"}])
    );
    assert_eq!(
        data["tickers"],
        json!([{"ticker": "AAPL", "exchange": "Nasdaq"}])
    );
    assert_eq!(data["business_address"]["city"], "CUPERTINO");
    assert_eq!(
        data["filings"]["annual"],
        json!({"count": 2, "first_filed": "2023-11-03", "last_filed": "2024-11-01"})
    );
    assert_eq!(
        data["filings"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["annual", "quarterly"]
    );
    let missing = answer["meta"]["notices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|notice| notice["code"] == "OLDER_FILINGS_MISSING")
        .unwrap();
    assert!(
        missing["message"]
            .as_str()
            .unwrap()
            .contains("3 older filings of any form"),
        "{missing}"
    );
    let metric = |metric: &str, period: &str| {
        let all = data["metrics_available"].as_array().unwrap();
        all.iter()
            .find(|entry| entry["metric"] == metric && entry["period"] == period)
            .unwrap()
            .clone()
    };
    let revenue = json!({"metric": "revenue", "period": "annual", "first_fiscal_year": 2023, "last_fiscal_year": 2024, "values": 2, "reason_if_none": null});
    assert_eq!(metric("revenue", "annual"), revenue);
    assert_eq!(
        metric("revenue", "quarterly")["reason_if_none"],
        "not_tagged"
    );
    let kimberly = world.ok("/v1/sec/companies/55785").await;
    assert_eq!(
        kimberly["data"]["tickers"],
        json!([{"ticker": "KMB", "exchange": null}, {"ticker": "KMB-A", "exchange": "NYSE"}])
    );
    assert_eq!(kimberly["data"]["business_address"], Value::Null);
    assert_eq!(
        world.get("/v1/sec/companies/1").await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        world.get("/v1/sec/companies/apple").await.problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn successor_names_the_filings_that_state_it() {
    let world = super::world_of_a_successor().await;
    let profile = world.ok("/v1/sec/companies/1045810").await;
    let url = "https://www.sec.gov/Archives/edgar/data/1045810/000104581023000007/report.htm";
    let succession = json!({"form": "8-K12B", "accession_number": "0001045810-23-000007", "filed_date": "2023-06-01", "primary_document_url": url});
    assert_eq!(profile["data"]["successions"], json!([succession]));
    assert!(
        notices(&profile).contains(&"SUCCESSOR_ISSUER"),
        "{profile:#}"
    );
    let empty = world
        .ok("/v1/sec/companies/1045810/financials?metric=net_income")
        .await;
    assert!(notices(&empty).contains(&"SUCCESSOR_ISSUER"), "{empty:#}");
    let filled = world
        .ok("/v1/sec/companies/1045810/financials?metric=revenue")
        .await;
    assert!(
        !notices(&filled).contains(&"SUCCESSOR_ISSUER"),
        "{filled:#}"
    );
    assert_eq!(
        world.ok("/v1/sec/companies/320193").await["data"]["successions"],
        json!([])
    );
}
