//! Tests the fixtures' release: finds real rows of every list as a caller would.

use serde_json::json;

use super::served::Served;
use super::{all, collect_record_ids};

#[tokio::test(flavor = "multi_thread")]
async fn real_rows_are_found_and_every_record_leads_to_its_bytes() {
    let served = Served::new().await;
    // Published rows, by their numbers in the agencies' files.
    let lists = [
        (
            "/v1/business/search",
            "name=Ferdinans%20L13%20Legacy",
            "entity_number",
            vec!["A23000000520"],
        ),
        (
            "/v1/business/search",
            "name=Radar%20Associates%20Incorporated",
            "entity_number",
            vec!["55570"],
        ),
        (
            "/v1/business/search",
            "name=Linden%20Investments%20LC&state=IA",
            "entity_number",
            vec!["160645"],
        ),
        (
            "/v1/business/search",
            "agent=Ferdinan%20Fablo",
            "entity_number",
            vec!["A23000000520"],
        ),
        (
            "/v1/license/search",
            "name=Colan%20Placi",
            "number",
            vec!["21907"],
        ),
        (
            "/v1/license/search",
            "name=T%20Tesa%20Construction%20Company%20Inc",
            "number",
            vec!["TWOODCC011LD"],
        ),
        (
            "/v1/license/search",
            "name=Dicks%20Artesian%20Well&state=CT",
            "number",
            vec!["WWC0000089-W1"],
        ),
        (
            "/v1/permits/search",
            "address=1211%20South%20Prairie%20Avenue,%20Chicago,%20IL",
            "permit_number",
            vec!["100227054", "100122641"],
        ),
        (
            "/v1/permits/search",
            "zip=78739&type=building",
            "permit_number",
            vec!["2007-115393 BP"],
        ),
        (
            "/v1/permits/search",
            "lat=41.866336879&lon=-87.62&radius_mi=0.2",
            "permit_number",
            vec!["100227054", "100122641"],
        ),
    ];
    let mut record_ids = Vec::new();
    for (pattern, query, member, expected) in lists {
        let path = format!("{pattern}?{query}");
        let answer = served.ok(&path).await;
        assert_eq!(all(&answer["data"], member), expected, "{path}");
        collect_record_ids(&answer, &mut record_ids);
    }
    for path in [
        "/v1/license/verify?number=LIS.0002249&state=CT",
        "/v1/license/verify?number=2249&state=CT&name=Jonas%20Fictford",
        "/v1/license/verify?number=servpg*892pl&state=WA",
    ] {
        let answer = served.ok(path).await;
        assert_eq!(
            (&answer["data"]["result"], &answer["data"]["verified"]),
            (&json!("match"), &json!(false)),
            "{path}"
        );
        collect_record_ids(&answer, &mut record_ids);
    }
    // The barber and the barber school share one number: FABLON, FALAN is in the file twice.
    let two = served.ok("/v1/license/verify?number=29995&state=TX").await;
    assert_eq!(
        (
            &two["data"]["result"],
            all(&two["data"]["licenses"], "license_id")
        ),
        (
            &json!("multiple_matches"),
            vec!["TX-tdlr-ba-29995", "TX-tdlr-te-29995"]
        )
    );
    let property = served
        .ok("/v1/properties/11436%20Flushwing%20Dr,%20Austin,%20TX%2078754")
        .await;
    assert_eq!(
        property["data"]["permit_summary"]["by_type"],
        json!({"building": 1, "electrical": 1, "mechanical": 1, "other": 1, "plumbing": 1})
    );
    collect_record_ids(&property, &mut record_ids);
    record_ids.sort();
    record_ids.dedup();
    assert!(record_ids.len() > 20, "{record_ids:?}");
    for record_id in record_ids {
        let chain = served
            .ok(&format!("/v1/provenance/{}", record_id.replace(' ', "%20")))
            .await;
        assert_eq!(chain["data"]["record"]["record_id"], record_id.as_str());
        assert!(
            !chain["data"]["sources"].as_array().unwrap().is_empty(),
            "{record_id}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn coverage_names_states_lists_and_jurisdictions() {
    let served = Served::new().await;
    let answer = served.ok("/v1/coverage").await;
    let datasets = answer["data"]["datasets"].as_array().unwrap();
    let values = |dataset_id: &str, column: &str| -> Vec<String> {
        let dataset = datasets
            .iter()
            .find(|dataset| dataset["dataset_id"] == dataset_id)
            .unwrap();
        assert!(!dataset["not_covered"].as_array().unwrap().is_empty());
        let mut values: Vec<String> = dataset["partitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["partition"][column].as_str().unwrap().to_owned())
            .collect();
        values.sort();
        values.dedup();
        values
    };
    let entities = datasets
        .iter()
        .find(|dataset| dataset["dataset_id"] == "business.entity")
        .unwrap();
    let evidence = |state: &str| {
        let partitions = entities["partitions"].as_array().unwrap();
        partitions
            .iter()
            .find(|part| part["partition"]["state"] == state)
            .unwrap()["layout_evidence"]
            .clone()
    };
    assert_eq!(
        (evidence("FL"), evidence("AK")),
        (json!("file"), json!("documented"))
    );
    assert_eq!(
        values("business.entity", "state"),
        ["AK", "CO", "CT", "FL", "IA", "NY", "OR", "PA", "TX"]
    );
    assert_eq!(
        values("license.license", "state"),
        [
            "AK", "AL", "AZ", "CA", "CO", "CT", "DE", "FL", "IL", "LA", "MN", "NY", "OH", "OR",
            "TX", "VA", "VT", "WA"
        ]
    );
    assert!(values("permit.permit", "jurisdiction").contains(&"us-il-chicago".to_owned()));
    let problem = served.get("/v1/business/search?name=acme&state=DE").await;
    assert_eq!(problem.problem(), (404, "coverage_unavailable".to_owned()));
    assert!(
        problem.json()["detail"]
            .as_str()
            .unwrap()
            .contains("AK, CO, CT, FL, IA, NY, OR, PA, TX")
    );
}
