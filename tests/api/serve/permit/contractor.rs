use serde_json::{Value, json};

use crate::serve::records::world;
use crate::serve::{all, notices};

#[tokio::test]
async fn contractor_has_the_permits_that_name_the_license() {
    let world = world().await;
    let answer = world.ok("/v1/contractors/tx-tdlr-EL-1094").await;
    let data = &answer["data"];
    assert_eq!(data["license_id"], "TX-tdlr-el-1094");
    // Matches by number first, newest first; the permit of Chicago is in another state.
    assert_eq!(
        all(&data["permits"], "permit_number"),
        ["2024-003 PP", "2024-001 BP"]
    );
    assert_eq!(
        data["linking"]["methods"],
        json!({"exact_number": 1, "name_and_state": 1})
    );
    assert_eq!(
        data["linking"]["jurisdictions_with_license_numbers"],
        json!(["us-tx-austin"])
    );
    let summary = json!({
        "count": 2, "first_date": "2024-02-01", "last_date": "2024-03-01", "total_job_value": 100, "valued_count": 1, "implausible_values": 0,
        "by_type": {"building": 1, "plumbing": 1}, "by_status": {"active": 2}, "by_jurisdiction": [{"id": "us-tx-austin", "count": 2}],
    });
    assert_eq!(data["permit_summary"], summary);
    assert_eq!(data["permits"][0].get("contractors"), None);
    assert_eq!(notices(&answer), ["LINKED_BY_NAME", "STATUS_DATE_CONFLICT"]);
    let later = world
        .ok("/v1/contractors/TX-tdlr-el-1094?permits_from=2024-02-15")
        .await;
    assert_eq!(
        (
            &later["data"]["permit_summary"]["count"],
            &later["meta"]["page"]["total"]
        ),
        (&json!(1), &json!(1))
    );
}

#[tokio::test]
async fn bare_number_needs_a_state_and_may_be_ambiguous() {
    let world = world().await;
    assert_eq!(
        world.ok("/v1/contractors/3000?state=TX").await["data"]["license_id"],
        "TX-tdlr-el-3000"
    );
    let answer = world.get("/v1/contractors/1094?state=TX").await;
    assert_eq!(answer.problem(), (400, "ambiguous_identifier".to_owned()));
    assert_eq!(
        answer.json()["candidates"],
        json!(["TX-tdlr-ba-1094", "TX-tdlr-el-1094"])
    );
    assert_eq!(
        world
            .ok("/v1/contractors/1094?state=TX&profession=electrician")
            .await["data"]["license_id"],
        "TX-tdlr-el-1094"
    );
    assert_eq!(
        world.ok("/v1/contractors/WA-lni-SERVPG*892PL").await["data"]["license_id"],
        "WA-lni-SERVPG*892PL"
    );
    assert_eq!(
        world.get("/v1/contractors/3000").await.problem(),
        (400, "missing_parameter".to_owned())
    );
    assert_eq!(
        world
            .get("/v1/contractors/TX-tdlr-el-3000?state=null")
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        world.get("/v1/contractors/TX-tdlr-el-9").await.problem(),
        (404, "not_found".to_owned())
    );
    // A number with hyphens is not an id.
    for number in ["12-34567", "C-10", "TX-99"] {
        assert_eq!(
            world
                .get(&format!("/v1/contractors/{number}"))
                .await
                .problem(),
            (400, "missing_parameter".to_owned()),
            "{number}"
        );
    }
    assert_eq!(
        world.get("/v1/contractors/99?state=TX").await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        world.get("/v1/contractors/99?state=CA").await.problem(),
        (404, "coverage_unavailable".to_owned())
    );
}

#[tokio::test]
async fn license_without_permits_is_shown_with_a_reason() {
    let world = world().await;
    let answer = world.ok("/v1/contractors/TX-tdlr-el-3001").await;
    assert_eq!(
        (
            &answer["data"]["permits"],
            &answer["data"]["permit_summary"]["total_job_value"]
        ),
        (&json!([]), &Value::Null)
    );
    assert_eq!(notices(&answer), ["PERMIT_LINK_LIMITED"]);
}
