use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::serve::records::world;
use crate::serve::{World, all, notices};

/// Ids, kinds of match and scores.
async fn found(world: &World, query: &str) -> Vec<(String, String, f64)> {
    let answer = world.ok(&format!("/v1/business/search?{query}")).await;
    let item = |item: &Value| {
        let matched = &item["match"];
        (
            item["entity_id"].as_str().unwrap().to_owned(),
            matched["type"].as_str().unwrap().to_owned(),
            matched["score"].as_f64().unwrap(),
        )
    };
    answer["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(item)
        .collect()
}

async fn first(world: &World, query: &str) -> (String, String, f64) {
    found(world, query)
        .await
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("{query} finds nothing"))
}

fn hit(id: &str, matched: &str, score: f64) -> (String, String, f64) {
    (id.to_owned(), matched.to_owned(), score)
}

#[tokio::test]
async fn names_are_ranked_by_match_quality() {
    let world = world().await;
    let found = found(&world, "name=Acme%20Widgets,%20LLC").await;
    let expected = [
        hit("FL-A01", "exact", 1.0),
        hit("NY-123", "normalized", 0.99),
        // Only the name matches; the legal form differs.
        hit("FL-A02", "normalized", 0.93),
        hit("FL-A03", "prefix", 0.87),
    ];
    assert_eq!(found[..4], expected);
    assert_eq!(
        (found.len(), found[4].0.as_str(), found[4].1.as_str()),
        (5, "FL-A04", "token")
    );
    assert!(found[4].2 < 0.82 && found[4].2 > 0.4, "{found:?}");
}

#[tokio::test]
async fn spelling_variants_of_names_are_found() {
    let world = world().await;
    let cases = [
        ("acme widgets incorporated", "FL-A02", "normalized"),
        ("THE ACME WIDGETS, INC", "FL-A02", "normalized"),
        ("Garden Club", "FL-A05", "normalized"),
        ("The Garden Club, Inc.", "FL-A05", "exact"),
        ("OMalley and Sons LLC", "FL-A06", "normalized"),
        ("O%E2%80%99Malley %26 Sons", "FL-A06", "normalized"),
        ("JV Holdings", "FL-A07", "normalized"),
        ("j.v. holdings corporation", "FL-A07", "normalized"),
        ("rose society", "FL-A05", "former_name"),
        ("Green Thumbs", "FL-A05", "dba"),
        ("asociacion cultural", "FL-A09", "normalized"),
        ("Asociaci%C3%B3n Cultural, Inc.", "FL-A09", "exact"),
        ("microwve repairs", "FL-A08", "misspelled"),
        ("mircowave repairs llc", "FL-A08", "misspelled"),
        ("widgets acme southern", "FL-A04", "token"),
    ];
    for (name, id, matched) in cases {
        let (found, kind, _) = first(&world, &format!("name={}", name.replace(' ', "%20"))).await;
        assert_eq!((found.as_str(), kind.as_str()), (id, matched), "{name}");
    }
    for name in ["micrwve%20repairs", "zzzzz", "wave%20repairs%20of%20ohio"] {
        assert_eq!(found(&world, &format!("name={name}")).await, [], "{name}");
    }
}

#[tokio::test]
async fn misspelled_names_rank_after_all_others() {
    let world = world().await;
    let found = found(&world, "name=acme%20widgetz").await;
    assert!(
        found
            .iter()
            .all(|(_, matched, score)| matched == "misspelled" && *score <= 0.12),
        "{found:?}"
    );
    assert_eq!(found.len(), 5);
    let best = first(&world, "name=acme%20widgets").await;
    assert_eq!(best.1, "normalized");
}

#[tokio::test]
async fn filters_narrow_a_search() {
    let world = world().await;
    let ids = async |query: &str| {
        found(&world, &format!("name=acme%20widgets&{query}"))
            .await
            .into_iter()
            .map(|found| found.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("state=NY").await, ["NY-123"]);
    assert_eq!(
        ids("state=fl,NY&match=exact").await,
        ["NY-123", "FL-A01", "FL-A02"]
    );
    assert_eq!(
        ids("match=prefix").await,
        ["NY-123", "FL-A01", "FL-A02", "FL-A03"]
    );
    assert_eq!(ids("status=inactive,dissolved").await, ["FL-A02"]);
    assert_eq!(ids("entity_type=corporation").await, ["FL-A02"]);
    assert_eq!(ids("jurisdiction=Delaware").await, ["FL-A02"]);
    assert_eq!(ids("city=st%20petersburg").await, ["FL-A03"]);
    assert_eq!(ids("zip=33101").await, ["FL-A01"]);
    assert_eq!(
        ids("formed_from=2011-01-01&formed_to=2012-01-01").await,
        ["FL-A03", "FL-A04"]
    );
    assert_eq!(
        found(&world, "name=green%20thumbs&include_dba=false").await,
        []
    );
    assert_eq!(
        found(&world, "name=acme%20widg&match=prefix").await.len(),
        4
    );
    assert_eq!(
        found(&world, "agent=ct%20corporation%20system").await,
        [hit("FL-A01", "normalized", 0.99)]
    );
    assert_eq!(
        found(&world, "agent=patrick%20omalley").await[0].0,
        "FL-A06"
    );
    assert_eq!(
        found(&world, "entity_number=00123").await,
        [hit("NY-123", "exact", 1.0)]
    );
    assert_eq!(
        found(&world, "entity_number=a01&name=acme").await[0].0,
        "FL-A01"
    );
    assert_eq!(found(&world, "entity_number=a01&state=NY").await, []);
}

#[tokio::test]
async fn pages_have_no_gap_and_no_repetition() {
    let world = world().await;
    let whole = world
        .ok("/v1/business/search?name=sunshine%20services&limit=100")
        .await;
    let expected: Vec<String> = all(&whole["data"], "entity_id")
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        (expected.len(), &whole["meta"]["page"]["total"]),
        (30, &json!(30))
    );
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world
            .ok(&format!(
                "/v1/business/search?name=sunshine%20services&limit=7{cursor}"
            ))
            .await;
        paged.extend(
            all(&page["data"], "entity_id")
                .into_iter()
                .map(str::to_owned),
        );
        match page["meta"]["page"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(paged, expected);
    // All match equally well and are active: newest first, then by number.
    assert_eq!(expected[..3], ["FL-S27", "FL-S26", "FL-S25"]);
}

#[tokio::test]
async fn forged_cursor_leads_only_past_the_end_of_the_list() {
    let world = world().await;
    let path = "/v1/business/search?name=sunshine%20services&limit=7";
    let first = world.ok(path).await;
    let cursor = first["meta"]["page"]["next_cursor"].as_str().unwrap();
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).unwrap()).unwrap();
    let (before, place) = text.rsplit_once('|').unwrap();
    assert_eq!(place, "7");
    for place in ["30", "31", "18446744073709551608", "18446744073709551615"] {
        let page = world
            .ok(&format!(
                "{path}&cursor={}",
                URL_SAFE_NO_PAD.encode(format!("{before}|{place}"))
            ))
            .await;
        assert_eq!(
            (&page["data"], &page["meta"]["page"]["next_cursor"]),
            (&json!([]), &Value::Null),
            "{place}"
        );
    }
    for place in ["18446744073709551616", "-1", "", "7 ", "x"] {
        let answer = world
            .get(&format!(
                "{path}&cursor={}",
                URL_SAFE_NO_PAD.encode(format!("{before}|{place}"))
            ))
            .await;
        assert_eq!(
            answer.problem(),
            (400, "invalid_cursor".to_owned()),
            "{place}"
        );
    }
}

#[tokio::test]
async fn uncovered_state_is_not_an_empty_answer() {
    let world = world().await;
    let answer = world.get("/v1/business/search?name=acme&state=DE").await;
    assert_eq!(answer.problem(), (404, "coverage_unavailable".to_owned()));
    assert!(
        answer.json()["detail"].as_str().unwrap().contains("FL, NY"),
        "{}",
        answer.json()
    );
    assert_eq!(
        world.get("/v1/business/DE-123").await.problem(),
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        world.get("/v1/business/FL-ZZZ").await.problem(),
        (404, "not_found".to_owned())
    );
    let answer = world.ok("/v1/business/search?name=acme").await;
    assert_eq!(
        answer["meta"]["coverage"]["states_searched"],
        json!(["FL", "NY"])
    );
    assert_eq!(notices(&answer), ["STATUS_IMPLIED"]);
}

#[tokio::test]
async fn invalid_searches_name_the_error() {
    let world = world().await;
    let wrong = async |query: &str| {
        world
            .get(&format!("/v1/business/search{query}"))
            .await
            .problem()
    };
    assert_eq!(wrong("").await, (400, "missing_parameter".to_owned()));
    assert_eq!(
        wrong("?nmae=acme").await,
        (400, "unknown_parameter".to_owned())
    );
    for query in [
        "?name=a",
        "?name=%20%20",
        "?name=acme&state=ZZ",
        "?name=acme&state=Florida,Atlantis",
        "?name=acme&status=alive",
        "?name=acme&zip=123",
        "?name=acme&formed_from=2020-01-02&formed_to=2020-01-01",
    ] {
        assert_eq!(
            wrong(query).await,
            (400, "invalid_parameter".to_owned()),
            "{query}"
        );
    }
}
