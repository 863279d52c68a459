use serde_json::{Value, json};

use super::world;
use crate::serve::notices;

fn numbers(answer: &Value) -> Vec<&str> {
    let filings = answer["data"]
        .as_array()
        .or_else(|| answer["data"]["filings"].as_array());
    filings
        .unwrap()
        .iter()
        .map(|filing| filing["accession_number"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn company_reports_are_listed_newest_first() {
    let world = world().await;
    let path = "/v1/sec/companies/0000320193/filings";
    let all = world.ok(path).await;
    let expected = [
        "0000320193-24-000124",
        "0000320193-24-000123",
        "0000055785-24-000018",
        "0000320193-24-000006",
        "0000320193-23-000106",
    ];
    assert_eq!(numbers(&all), expected);
    let first = json!({
        "accession_number": "0000320193-24-000124", "form": "10-K/A", "is_amendment": true, "filed_date": "2024-11-01", "accepted_at": null, "period_of_report": "2024-09-28",
        "file_number": null, "film_number": null, "primary_document_url": "https://www.sec.gov/Archives/edgar/data/320193/000032019324000124/report.htm",
        "evidence_url": "https://www.sec.gov/Archives/edgar/data/320193/000032019324000124/0000320193-24-000124-index.htm", "size_bytes": 1_000, "has_xbrl": true,
        "has_inline_xbrl": true
    });
    assert_eq!(
        (&all["data"]["cik"], &all["data"]["name"]),
        (&json!("0000320193"), &json!("Apple Inc."))
    );
    let mut found = all["data"]["filings"][0].clone();
    found.as_object_mut().unwrap().remove("provenance");
    assert_eq!(found, first);
    for (query, range) in [
        ("form=10-K", 1..2),
        ("form=10-K/A", 0..1),
        ("filed_from=2024-11-01", 0..2),
        ("period_to=2023-09-30", 4..5),
        ("filed_to=2023-11-03", 4..5),
    ] {
        let found = world.ok(&format!("{path}?{query}")).await;
        let expected: Vec<&str> = if query == "form=10-K" {
            vec![expected[1], expected[2], expected[4]]
        } else {
            expected[range].to_vec()
        };
        assert_eq!(numbers(&found), expected, "{query}");
    }
    let wrong = world.get(&format!("{path}?form=10K")).await;
    assert_eq!(wrong.problem(), (400, "invalid_parameter".to_owned()));
    assert!(
        wrong.json()["detail"]
            .as_str()
            .unwrap()
            .contains("did you mean `10-K`?")
    );
    assert_eq!(
        world
            .get(&format!("{path}?filed_from=2024-01-02&filed_to=2024-01-01"))
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );

    let mut seen = Vec::new();
    let mut next = format!("{path}?limit=2");
    loop {
        let page = world.ok(&next).await;
        seen.extend(numbers(&page).into_iter().map(str::to_owned));
        match page["meta"]["page"]["next_cursor"].as_str() {
            Some(cursor) => next = format!("{path}?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn filings_of_all_registrants_are_searched_by_date_and_form() {
    let world = world().await;
    let search = async |query: &str| world.ok(&format!("/v1/filings/search?{query}")).await;
    let of_february = search("filed_from=2024-02-01&filed_to=2024-02-29").await;
    assert_eq!(
        numbers(&of_february),
        ["0000055785-24-000018", "0000320193-24-000006"]
    );
    let joint = &of_february["data"][0];
    let ciks: Vec<&str> = joint["entities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entity| entity["cik"].as_str().unwrap())
        .collect();
    assert_eq!(
        ciks,
        ["0000320193", "0000055785"],
        "a filing of two registrants is one item"
    );
    assert_eq!(
        numbers(&search("form=10-K&limit=1").await),
        ["0000320193-24-000123"]
    );
    assert_eq!(
        numbers(&search("form=10-k&include_amendments=true&limit=1").await),
        ["0000320193-24-000124"]
    );
    let misspelled = world.get("/v1/filings/search?form=10k").await;
    assert_eq!(misspelled.problem(), (400, "invalid_parameter".to_owned()));
    assert_eq!(
        misspelled.json()["detail"],
        "`form`: there is no form type `10K`; did you mean `10-K`?"
    );
    let near = search("form=10-KK").await;
    assert_eq!(notices(&near), ["FORM_UNKNOWN"]);
    assert!(
        near["meta"]["notices"][0]["message"]
            .as_str()
            .unwrap()
            .contains("did you mean `10-K`?")
    );
    let absent = search("form=10-QT").await;
    assert!(
        absent["meta"]["notices"][0]["message"]
            .as_str()
            .unwrap()
            .starts_with("this release has no filing of form `10-QT`; form types")
    );

    let mut seen = Vec::new();
    let mut query = "filed_from=2000-01-01&limit=3".to_owned();
    loop {
        let page = search(&query).await;
        assert_eq!(
            (
                &page["meta"]["page"]["total"],
                &page["meta"]["page"]["total_relation"]
            ),
            (&json!(7), &json!("eq"))
        );
        seen.extend(numbers(&page).into_iter().map(str::to_owned));
        match page["meta"]["page"]["next_cursor"].as_str() {
            Some(cursor) => query = format!("filed_from=2000-01-01&limit=3&cursor={cursor}"),
            None => break,
        }
    }
    let expected = [
        "0000320193-24-000124",
        "0000320193-24-000123",
        "0009900193-24-000001",
        "0000320193-24-000067",
        "0000055785-24-000018",
        "0000320193-24-000006",
        "0000320193-23-000106",
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn filings_are_searched_by_registrant() {
    let world = world().await;
    let search = async |query: &str| world.ok(&format!("/v1/filings/search?{query}")).await;
    let items = search("ticker=aapl&items=2.02").await;
    assert_eq!(
        (numbers(&items), notices(&items)),
        (vec!["0000320193-24-000067"], vec!["TICKER_IS_CURRENT"])
    );
    assert_eq!(items["data"][0]["form_description"], "Current report");
    assert_eq!(
        (
            &items["data"][0]["primary_document_url"],
            &items["data"][0]["items"]
        ),
        (&Value::Null, &json!(["2.02", "9.01"]))
    );
    for (form, meant) in [("10k", "10-K"), ("8K/A", "8-K/A"), ("DEF14A", "DEF 14A")] {
        let misspelled = world
            .get(&format!("/v1/filings/search?cik=320193&form={form}"))
            .await;
        assert_eq!(
            misspelled.problem(),
            (400, "invalid_parameter".to_owned()),
            "{form}"
        );
        assert!(
            misspelled.json()["detail"]
                .as_str()
                .unwrap()
                .ends_with(&format!("did you mean `{meant}`?")),
            "{form}"
        );
    }
    let near = search("cik=320193&form=10-KK").await;
    assert_eq!(
        (numbers(&near).len(), notices(&near)),
        (0, vec!["FORM_UNKNOWN"])
    );
    let message = near["meta"]["notices"][0]["message"].as_str().unwrap();
    assert!(
        message
            .starts_with("these registrants have no filing of form `10-KK`; did you mean `10-K`?"),
        "{message}"
    );
    let absent = search("cik=55785&form=10-Q").await;
    assert_eq!(
        (numbers(&absent).len(), notices(&absent)),
        (0, vec![]),
        "a form that companies file is valid"
    );
    assert_eq!(
        numbers(&search("cik=55785").await),
        ["0000055785-24-000018"]
    );
    assert_eq!(
        numbers(&search("ticker=AAPL,KMB&form=10-K&filed_to=2024-02-29").await),
        ["0000055785-24-000018", "0000320193-23-000106"]
    );
    for unknown in [
        "company=zzzz",
        "company=kimberly%20clark%20zz",
        "company=kimberley%20clark",
    ] {
        assert_eq!(
            notices(&search(unknown).await),
            ["COMPANY_UNKNOWN"],
            "{unknown}"
        );
    }
    assert_eq!(
        numbers(&search("company=apple%20orchard").await),
        ["0009900193-24-000001"]
    );
    assert_eq!(
        numbers(&search("cik=320193&accession_number=0000320193-24-000123").await),
        ["0000320193-24-000123"]
    );
    assert_eq!(
        notices(&search("ticker=ZZZZ").await),
        ["TICKER_IS_CURRENT", "TICKER_UNKNOWN"]
    );
    let shown = world
        .get("/v1/filings/search?cik=320193&accession_number=1")
        .await
        .json();
    assert_eq!(
        shown["detail"],
        "`accession_number`: `1` is not an accession number such as `0000320193-24-000123`"
    );
    let wrong = async |query: &str| {
        world
            .get(&format!("/v1/filings/search?{query}"))
            .await
            .problem()
    };
    for query in [
        "",
        "items=2.02",
        "form=10-K&period_from=2024-01-01",
        "accession_number=0000320193-24-000123",
    ] {
        assert_eq!(
            wrong(query).await,
            (400, "missing_parameter".to_owned()),
            "{query}"
        );
    }
    for query in ["ticker=AAPL&cik=320193", "form=10-K&form_type=10-Q"] {
        assert_eq!(
            wrong(query).await,
            (400, "invalid_parameter".to_owned()),
            "{query}"
        );
    }
    let other = world.get("/v1/filings/search?date_from=2024-01-01").await;
    assert_eq!(other.problem(), (400, "unknown_parameter".to_owned()));
    assert_eq!(
        other.json()["detail"],
        "there is no parameter `date_from` here; did you mean `filed_from` or `period_from`?"
    );
}
