use pubdata_store::PartReport;
use serde_json::{Value, json};

use super::ids;
use crate::serve::home::Table;
use crate::serve::records::{draft, world};
use crate::serve::{World, all, notices};

#[tokio::test]
async fn permits_are_found_by_place() {
    let world = world().await;
    let cases = [
        ("jurisdiction=us-il-chicago", vec!["2", "1", "3", "4"]),
        (
            "zip=78701",
            vec!["2024-002 EP", "2024-003 PP", "2024-001 BP"],
        ),
        ("city=Chicago&state=IL", vec!["2", "1", "3", "4"]),
        (
            "address=100%20North%20Elm%20Street,%20Chicago%20IL",
            vec!["2", "1"],
        ),
        (
            "address=618%20W%20Elmira%20St,%2078701",
            vec!["2024-002 EP", "2024-003 PP", "2024-001 BP"],
        ),
        ("address=7%20Oak,%20Chicago,%20IL", vec!["4"]),
        ("address=100%20Elm%20St,%20Chicago,%20IL", vec![]),
        ("lat=41.88&lon=-87.63", vec!["1"]),
        ("lat=41.89&lon=-87.63&radius_mi=0.5", vec![]),
        ("parcel=17091", vec!["1"]),
        ("permit_number=2024-001%20bp", vec!["2024-001 BP"]),
        ("permit_number=1&jurisdiction=us-tx-austin", vec![]),
    ];
    for (query, expected) in cases {
        assert_eq!(ids(&world, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn permit_filters_and_orders_apply() {
    let world = world().await;
    let cases = [
        ("type=electrical,plumbing", vec!["1"]),
        ("status=in_review", vec!["4"]),
        ("tags=pool", vec!["4"]),
        ("tags=solar,-pool", vec!["1"]),
        ("tags=-pool", vec!["2", "1", "3"]),
        ("tags=hvac", vec![]),
        ("tags=-hvac,solar", vec!["1"]),
        ("date_from=2020-01-01&date_to=2020-12-31", vec!["1"]),
        ("date_field=applied&date_from=2022-01-01", vec!["4"]),
        ("min_value=1000&max_value=1000.5", vec!["1"]),
        ("sort=value_desc", vec!["2", "1", "3", "4"]),
        ("contractor=bright%20sparks", vec!["1"]),
        ("q=deck%20POOL", vec!["4"]),
        ("q=dec", vec![]),
        ("q=panels&tags=solar", vec!["1"]),
    ];
    for (query, expected) in cases {
        assert_eq!(
            ids(&world, &format!("jurisdiction=us-il-chicago&{query}")).await,
            expected,
            "{query}"
        );
    }
    let austin = async |query: &str| ids(&world, &format!("zip=78701&{query}")).await;
    assert_eq!(
        austin("work_class=new&property_class=residential").await,
        ["2024-001 BP"]
    );
    assert_eq!(austin("contractor_license=3000").await, ["2024-002 EP"]);
    assert_eq!(
        austin("date_field=completed&date_from=2024-01-01").await,
        ["2024-002 EP"]
    );
}

#[tokio::test]
async fn pages_of_permits_have_no_gap_or_repetition() {
    let world = world().await;
    for query in [
        "jurisdiction=us-il-chicago",
        "jurisdiction=us-il-chicago&sort=value_desc",
        "zip=78701",
        "jurisdiction=us-il-chicago&q=pool",
    ] {
        let whole = ids(&world, query).await;
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = world
                .ok(&format!("/v1/permits/search?{query}&limit=1{cursor}"))
                .await;
            paged.extend(
                all(&page["data"], "permit_number")
                    .into_iter()
                    .map(str::to_owned),
            );
            match page["meta"]["page"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(paged, whole, "{query}");
    }
}

/// The count covers all permits with the words, even with small pages.
#[tokio::test]
async fn permits_with_words_are_counted_over_all_pages() {
    let world = world().await;
    let of = async |rest: &str| {
        world
            .ok(&format!(
                "/v1/permits/search?jurisdiction=us-il-chicago&q=pool{rest}"
            ))
            .await["meta"]["page"]
            .clone()
    };
    let whole = of("").await;
    assert!(whole["total"].as_u64().unwrap() > 1, "{whole}");
    let first = of("&limit=1").await;
    let second = of(&format!(
        "&limit=1&cursor={}",
        first["next_cursor"].as_str().unwrap()
    ))
    .await;
    for page in [&first, &second] {
        assert_eq!(
            (&page["total"], &page["total_relation"], &page["count"]),
            (&whole["total"], &json!("eq"), &json!(1))
        );
    }
}

#[tokio::test]
async fn quarantined_permit_is_reported() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    let record = "pubdata.quarantine:permit.permit:bucket=0/jurisdiction=us-il-chicago:permit.permit:us-il-chicago:T2022-77-NB:duplicate_key";
    let row = json!({"record_id": record, "dataset_id": "permit.permit", "partition": "bucket=0/jurisdiction=us-il-chicago", "rule": "duplicate_key", "reason": "made up", "validation_status": "failed"});
    let folders = &[("dataset_id", "permit.permit")];
    draft.tables.push(Table {
        dataset_id: "pubdata.quarantine",
        vintage_year: None,
        bucket: None,
        folders,
        rows: vec![row],
        report: PartReport::default(),
    });
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    let notices = async |number: &str| {
        let answer = world
            .ok(&format!("/v1/permits/search?permit_number={number}"))
            .await;
        answer["meta"]["notices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|notice| notice["code"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(notices("t2022-77-nb").await, ["RECORD_SET_ASIDE"]);
    assert_eq!(
        notices("T2022").await,
        ["RECORD_SET_ASIDE"],
        "the first part is the number; the other parts make it unique"
    );
    assert_eq!(notices("T2022-7").await, Vec::<String>::new());
}

#[tokio::test]
async fn uncovered_permits_are_not_an_empty_answer() {
    let world = world().await;
    let problem = async |query: &str| {
        world
            .get(&format!("/v1/permits/search?{query}"))
            .await
            .problem()
    };
    for query in [
        "jurisdiction=us-ny-nyc",
        "zip=10001",
        "city=Boston&state=MA",
        "city=Boston&state=IL",
        "city=Austin&state=IL",
        "address=1%20Main%20St,%20Boston,%20MA",
        "lat=0&lon=0",
    ] {
        assert_eq!(
            problem(query).await,
            (404, "coverage_unavailable".to_owned()),
            "{query}"
        );
    }
    for query in [
        "",
        "type=building",
        "city=Chicago",
        "lat=1",
        "lon=1",
        "radius_mi=1",
        "state=IL",
    ] {
        assert_eq!(
            problem(query).await,
            (400, "missing_parameter".to_owned()),
            "{query}"
        );
    }
    let unknown = world
        .get("/v1/permits/search?zip=78701&tags=solar,foo")
        .await;
    assert_eq!(unknown.problem(), (400, "invalid_parameter".to_owned()));
    let known = "known: solar, ev_charger, adu, hvac, roofing, battery, pool, generator, kitchen, bathroom, deck, garage";
    assert_eq!(
        unknown.json()["detail"],
        format!("`tags`: `foo` is not valid; {known}")
    );
    for query in [
        "zip=78701&tags=Solar!",
        "zip=78701&min_value=2&max_value=1",
        "address=nowhere",
        "address=1%20Main%20St",
        "zip=78701&date_field=never",
    ] {
        assert_eq!(
            problem(query).await,
            (400, "invalid_parameter".to_owned()),
            "{query}"
        );
    }
    let answer = world.ok("/v1/permits/search?zip=78701").await;
    assert_eq!(
        answer["meta"]["coverage"]["jurisdictions_searched"],
        json!(["us-il-chicago", "us-tx-austin"])
    );
    assert_eq!(
        notices(
            &world
                .ok("/v1/permits/search?jurisdiction=us-il-chicago&tags=pool")
                .await
        ),
        ["TAGS_ARE_DERIVED"]
    );
}

#[tokio::test]
async fn parties_are_linked_to_licenses_by_number_or_unique_name() {
    let world = world().await;
    let parties = async |query: &str| {
        world.ok(&format!("/v1/permits/search?{query}")).await["data"][0]["contractors"].clone()
    };
    let link = |party: &Value| {
        let sure = match party["link_method"].as_str() {
            Some("exact_number") => json!("stated"),
            Some(_) => json!("likely"),
            None => Value::Null,
        };
        assert_eq!(party["link_confidence"], sure, "{party}");
        (party["license_id"].clone(), party["link_method"].clone())
    };
    let links = |parties: &Value| {
        parties
            .as_array()
            .unwrap()
            .iter()
            .map(link)
            .collect::<Vec<_>>()
    };
    // One contractor's license in Texas has the name; two licenses have the other name.
    let named = parties("permit_number=2024-001%20BP").await;
    assert_eq!(
        links(&named),
        [
            (json!("TX-tdlr-el-1094"), json!("name_and_state")),
            (Value::Null, Value::Null)
        ]
    );
    assert_eq!(named[0]["phone"], "5125550199");
    assert_eq!(
        links(&parties("permit_number=2024-002%20EP").await),
        [(json!("TX-tdlr-el-3000"), json!("exact_number"))]
    );
    // Two licenses have this number; one of them is a contractor's.
    assert_eq!(
        links(&parties("permit_number=2024-003%20PP").await),
        [(json!("TX-tdlr-el-1094"), json!("exact_number"))]
    );
    // Illinois has no covered list.
    assert_eq!(
        links(&parties("permit_number=1").await),
        [(Value::Null, Value::Null)]
    );
    let owner = parties("permit_number=2").await;
    assert_eq!(
        (&owner[0]["role"], &owner[0]["name"]),
        (&json!("owner"), &Value::Null)
    );
}

#[tokio::test]
async fn permit_states_what_is_published_of_it() {
    let world = world().await;
    let answer = world.ok("/v1/permits/search?permit_number=1").await;
    let data = &answer["data"][0];
    assert_eq!(
        data["jurisdiction"],
        json!({"id": "us-il-chicago", "name": "Chicago", "state": "IL"})
    );
    assert_eq!(
        (&data["job_value"], &data["parcel"], &data["is_expired"]),
        (
            &json!(1000.5),
            &json!({"scheme": "pin", "value": "17-09-1"}),
            &Value::Null
        )
    );
    assert_eq!(
        (
            &data["address"]["lat"],
            &data["address"]["geocode_source"],
            &data["address"]["zip"]
        ),
        (&json!(41.88), &json!("source"), &Value::Null)
    );
    assert_eq!(
        data["provenance"]["record_id"],
        "permit.permit:us-il-chicago:1"
    );
    assert_eq!(
        world.ok("/v1/permits/search?permit_number=2").await["data"][0]["is_expired"],
        true
    );
}
