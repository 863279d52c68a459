use serde_json::{Value, json};

use super::world;
use crate::serve::notices;

fn numbers(answer: &Value) -> Vec<&str> {
    answer["data"].as_array().unwrap().iter().map(|filing| filing["accession_number"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_companys_reports_are_listed_newest_first() {
    let world = world().await;
    let path = "/v1/sec/companies/0000320193/filings";
    let all = world.ok(path).await;
    let expected = ["0000320193-24-000124", "0000320193-24-000123", "0000055785-24-000018", "0000320193-24-000006", "0000320193-23-000106"];
    assert_eq!(numbers(&all), expected);
    let first = json!({
        "accession_number": "0000320193-24-000124", "form": "10-K/A", "is_amendment": true, "filed_date": "2024-11-01", "accepted_at": null, "period_of_report": "2024-09-28",
        "file_number": null, "film_number": null, "primary_document_url": "https://www.sec.gov/Archives/edgar/data/320193/000032019324000124/report.htm",
        "evidence_url": "https://www.sec.gov/Archives/edgar/data/320193/000032019324000124/0000320193-24-000124-index.htm", "size_bytes": 1_000, "has_xbrl": true,
        "has_inline_xbrl": true
    });
    let mut found = all["data"][0].clone();
    found.as_object_mut().unwrap().remove("provenance");
    assert_eq!(found, first);
    for (query, range) in
        [("form=10-K", 1..2), ("form=10-K/A", 0..1), ("filed_from=2024-11-01", 0..2), ("period_to=2023-09-30", 4..5), ("filed_to=2023-11-03", 4..5)]
    {
        let found = world.ok(&format!("{path}?{query}")).await;
        let expected: Vec<&str> = if query == "form=10-K" { vec![expected[1], expected[2], expected[4]] } else { expected[range].to_vec() };
        assert_eq!(numbers(&found), expected, "{query}");
    }
    let wrong = world.get(&format!("{path}?form=10K")).await;
    assert_eq!(wrong.problem(), (400, "invalid_parameter".to_owned()));
    assert!(wrong.json()["detail"].as_str().unwrap().contains("did you mean `10-K`?"));
    assert_eq!(world.get(&format!("{path}?filed_from=2024-01-02&filed_to=2024-01-01")).await.problem(), (400, "invalid_parameter".to_owned()));

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
    assert_eq!(numbers(&of_february), ["0000055785-24-000018", "0000320193-24-000006"]);
    let joint = &of_february["data"][0];
    let ciks: Vec<&str> = joint["entities"].as_array().unwrap().iter().map(|entity| entity["cik"].as_str().unwrap()).collect();
    assert_eq!(ciks, ["0000320193", "0000055785"], "one filing of two registrants is one item");
    assert_eq!(numbers(&search("form=10-K&limit=1").await), ["0000320193-24-000123"]);
    assert_eq!(numbers(&search("form=10-k&include_amendments=true&limit=1").await), ["0000320193-24-000124"]);
    let misspelled = search("form=10K").await;
    assert_eq!(notices(&misspelled), ["FORM_UNKNOWN"]);
    assert!(misspelled["meta"]["notices"][0]["message"].as_str().unwrap().contains("did you mean `10-K`?"));

    let mut seen = Vec::new();
    let mut query = "filed_from=2000-01-01&limit=3".to_owned();
    loop {
        let page = search(&query).await;
        assert_eq!((&page["meta"]["page"]["total"], &page["meta"]["page"]["total_relation"]), (&json!(7), &json!("eq")));
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
    assert_eq!((numbers(&items), notices(&items)), (vec!["0000320193-24-000067"], vec!["TICKER_IS_CURRENT"]));
    assert_eq!(items["data"][0]["form_description"], "Current report");
    assert_eq!((&items["data"][0]["primary_document_url"], &items["data"][0]["items"]), (&Value::Null, &json!(["2.02", "9.01"])));
    let misspelled = search("cik=320193&form=10k").await;
    assert_eq!((numbers(&misspelled).len(), notices(&misspelled)), (0, vec!["FORM_UNKNOWN"]));
    let message = misspelled["meta"]["notices"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("these registrants have no filing of form `10K`; did you mean `10-K`?"), "{message}");
    let absent = search("cik=55785&form=10-Q").await;
    assert_eq!((numbers(&absent).len(), notices(&absent)), (0, vec![]), "a form that companies file is no mistake");
    assert_eq!(numbers(&search("cik=55785").await), ["0000055785-24-000018"]);
    assert_eq!(numbers(&search("ticker=AAPL,KMB&form=10-K&filed_to=2024-02-29").await), ["0000055785-24-000018", "0000320193-23-000106"]);
    for unknown in ["company=zzzz", "company=kimberly%20clark%20zz", "company=kimberley%20clark"] {
        assert_eq!(notices(&search(unknown).await), ["COMPANY_UNKNOWN"], "{unknown}");
    }
    assert_eq!(numbers(&search("company=apple%20orchard").await), ["0009900193-24-000001"]);
    assert_eq!(numbers(&search("cik=320193&accession_number=0000320193-24-000123").await), ["0000320193-24-000123"]);
    assert_eq!(notices(&search("ticker=ZZZZ").await), ["TICKER_IS_CURRENT", "TICKER_UNKNOWN"]);
    let shown = world.get("/v1/filings/search?cik=320193&accession_number=1").await.json();
    assert_eq!(shown["detail"], "`accession_number`: `1` is not an accession number such as `0000320193-24-000123`");
    let wrong = async |query: &str| world.get(&format!("/v1/filings/search?{query}")).await.problem();
    for query in ["", "items=2.02", "form=10-K&period_from=2024-01-01", "accession_number=0000320193-24-000123"] {
        assert_eq!(wrong(query).await, (400, "missing_parameter".to_owned()), "{query}");
    }
    for query in ["ticker=AAPL&cik=320193", "form=10-K&form_type=10-Q", "filed_from=2024-01-01&date_from=2024-01-01"] {
        assert_eq!(wrong(query).await, (400, "invalid_parameter".to_owned()), "{query}");
    }
}
