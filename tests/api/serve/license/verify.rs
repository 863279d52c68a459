use pubdata_store::PartReport;
use serde_json::{Value, json};

use super::TDLR;
use crate::serve::home::Table;
use crate::serve::records::{draft, world};
use crate::serve::{World, all, notices};

async fn verified(world: &World, query: &str) -> Value {
    world.ok(&format!("/v1/license/verify?{query}")).await
}

#[tokio::test]
async fn number_is_verified_once_or_reported_as_ambiguous() {
    let world = world().await;
    let answer = verified(&world, "number=3001&state=TX").await;
    let data = &answer["data"];
    assert_eq!(
        (&data["result"], &data["verified"], &data["name_match"]),
        (&json!("match"), &json!(true), &Value::Null)
    );
    assert_eq!(
        data["query"],
        json!({"number_normalized": "3001", "state": "TX", "profession": null})
    );
    assert_eq!(data["verified_as_of"], "2025-09-01");
    assert_eq!(
        data["checked_sources"],
        json!([{"source_id": "tdlr", "source_date": "2025-09-01", "newest_license_date": null, "records_set_aside": 0, "scope": "8 licenses: barber, electrician"}])
    );
    // The same number in two trades means two licenses.
    let answer = verified(&world, "number=1094&state=TX").await;
    assert_eq!(
        (&answer["data"]["result"], &answer["data"]["verified"]),
        (&json!("multiple_matches"), &json!(false))
    );
    assert_eq!(
        all(&answer["data"]["licenses"], "license_id"),
        ["TX-tdlr-ba-1094", "TX-tdlr-el-1094"]
    );
    let barber = verified(&world, "license_number=1094&state=tx&profession=barber").await;
    assert_eq!(
        (&barber["data"]["result"], &barber["data"]["verified"]),
        (&json!("match"), &json!(true))
    );
    assert_eq!(notices(&barber), ["STATUS_DERIVED"]);
    let expired = verified(&world, "number=3000&state=TX").await;
    assert_eq!(
        (&expired["data"]["result"], &expired["data"]["verified"]),
        (&json!("match"), &json!(false))
    );
    // The board says active, but the date has passed: the answer shows both and vouches for
    // neither.
    let conflict = verified(&world, "number=1094&state=TX&profession=electrician").await;
    assert_eq!(
        (&conflict["data"]["verified"], notices(&conflict)),
        (&json!(false), vec!["STATUS_DATE_CONFLICT"])
    );
    assert_eq!(conflict["data"]["licenses"][0]["status"], "active");
}

#[tokio::test]
async fn number_is_found_in_every_notation() {
    let world = world().await;
    for number in [
        "3001",
        "03001",
        "TDLR%203001",
        "Lic.%20%23%203001",
        "LICENSE%203001",
        "tdlr-3001",
        "30 01",
    ] {
        let answer = verified(
            &world,
            &format!("number={}&state=TX", number.replace(' ', "%20")),
        )
        .await;
        assert_eq!(
            all(&answer["data"]["licenses"], "license_id"),
            ["TX-tdlr-el-3001"],
            "{number}"
        );
    }
    let star = verified(&world, "number=servpg*892pl&state=WA").await;
    assert_eq!(star["data"]["result"], "match");
    // As on the license, with the board's letters in front.
    for number in ["MA.0004000", "ma0004000", "4000"] {
        assert_eq!(
            all(
                &verified(&world, &format!("number={number}&state=WA")).await["data"]["licenses"],
                "license_id"
            ),
            ["WA-lni-ma-4000"],
            "{number}"
        );
    }
    // Letters that are no board's prefix belong to the number.
    assert_eq!(
        verified(&world, "number=AB3001&state=TX").await["data"]["result"],
        "no_match"
    );
}

#[tokio::test]
async fn board_record_of_a_number_precedes_a_holders_statement() {
    let world = world().await;
    // As people write it: without the letters, which is how a provider wrote another number.
    for number in ["2249", "0002249", "LIS.0002249"] {
        let answer = verified(&world, &format!("number={number}&state=CT")).await;
        let data = &answer["data"];
        assert_eq!(
            (&data["result"], &data["verified"]),
            (&json!("match"), &json!(true)),
            "{number}"
        );
        assert_eq!(
            all(&data["licenses"], "license_id"),
            ["CT-elicense-lis-2249"],
            "{number}"
        );
    }
    let both = verified(&world, "number=2249&state=CT").await;
    assert_eq!(
        all(&both["data"]["self_reported"], "license_id"),
        ["CT-nppes-1000000004-207q00000x-2249"]
    );
    assert_eq!(notices(&both), ["SELF_REPORTED"]);
    assert_eq!(
        world.ok("/v1/contractors/2249?state=CT").await["data"]["license_id"],
        "CT-elicense-lis-2249"
    );
}

#[tokio::test]
async fn number_stated_for_several_taxonomies_is_one_match() {
    let world = world().await;
    let answer = verified(&world, "number=7100&state=CT").await;
    let data = &answer["data"];
    assert_eq!(
        (&data["result"], &data["verified"]),
        (&json!("match"), &json!(false))
    );
    assert_eq!(
        all(&data["licenses"], "license_id"),
        ["CT-nppes-1000000012-207q00000x-7100"]
    );
    let again = json!([{
        "license_id": "CT-nppes-1000000012-208d00000x-7100", "same_as": "CT-nppes-1000000012-207q00000x-7100", "profession": "physician", "profession_raw": "208D00000X",
    }]);
    assert_eq!(
        (&data["also_stated"], &data["self_reported"]),
        (&again, &json!([]))
    );
    assert_eq!(notices(&answer), ["SELF_REPORTED"]);
}

#[tokio::test]
async fn unknown_number_is_an_answer_but_an_uncovered_board_is_not() {
    let world = world().await;
    let answer = verified(&world, "number=99999&state=TX&name=John%20Smith").await;
    let data = &answer["data"];
    assert_eq!(
        (
            &data["result"],
            &data["verified"],
            &data["licenses"],
            &data["name_match"]
        ),
        (&json!("no_match"), &json!(false), &json!([]), &Value::Null)
    );
    assert_eq!(
        (notices(&answer), &data["verified_as_of"]),
        (vec!["NO_MATCH_IS_NOT_PROOF"], &json!("2025-09-01"))
    );
    let problem = async |query: &str| {
        world
            .get(&format!("/v1/license/verify?{query}"))
            .await
            .problem()
    };
    assert_eq!(
        problem("number=1&state=CA").await,
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        problem("number=1&state=TX&profession=plumber").await,
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        problem("number=1").await,
        (400, "missing_parameter".to_owned())
    );
    assert_eq!(
        problem("state=TX").await,
        (400, "missing_parameter".to_owned())
    );
    assert_eq!(
        problem("number=1&license_number=1&state=TX").await,
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        problem("number=1&state=Atlantis").await,
        (400, "invalid_parameter".to_owned())
    );
    for state in ["Texas", "tx", "T.X."] {
        let named = verified(
            &world,
            &format!("number=99999&state={state}&name=John%20Smith"),
        )
        .await;
        assert_eq!(named["data"], *data, "{state}");
    }
}

/// The release with two quarantined records of Texas, and one of Washington without an id.
async fn world_with_quarantine() -> World {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    for table in draft
        .tables
        .iter_mut()
        .filter(|table| table.dataset_id == "license.license")
    {
        let rule = if table.folders == TDLR {
            ("duplicate_key", 2)
        } else {
            ("malformed_record", 1)
        };
        table.report.quarantined.insert(rule.0.to_owned(), rule.1);
        for row in &mut table.rows {
            row["issue_date"] = if table.folders == TDLR {
                json!("2019-10-30")
            } else {
                json!("2025-01-01")
            };
        }
    }
    let quarantined = |partition: &str, record: &str, rule: &str| {
        json!({
            "record_id": format!("pubdata.quarantine:license.license:{partition}:{record}:{rule}"), "dataset_id": "license.license", "partition": partition,
            "rule": rule.split('#').next().unwrap(), "reason": "made up", "validation_status": "failed",
        })
    };
    let texas = "bucket=0/source=tdlr/state=TX";
    let rows = vec![
        quarantined(texas, "license.license:TX-tdlr-el-4000", "duplicate_key"),
        quarantined(texas, "license.license:TX-tdlr-el-4000", "duplicate_key#2"),
        quarantined(
            "bucket=0/source=lni/state=WA",
            "lni@1234",
            "malformed_record",
        ),
    ];
    let folders = &[("dataset_id", "license.license")];
    draft.tables.push(Table {
        dataset_id: "pubdata.quarantine",
        vintage_year: None,
        bucket: None,
        folders,
        rows,
        report: PartReport::default(),
    });
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    world
}

#[tokio::test]
async fn quarantined_records_are_reported() {
    let world = world_with_quarantine().await;
    for number in ["4000", "04000", "TDLR%204000"] {
        let answer = verified(&world, &format!("number={number}&state=TX")).await;
        assert_eq!(
            (&answer["data"]["result"], &notices(&answer)[..2]),
            (
                &json!("no_match"),
                &["NO_MATCH_IS_NOT_PROOF", "RECORD_SET_ASIDE"][..]
            ),
            "{number}"
        );
        assert_eq!(answer["data"]["checked_sources"][0]["records_set_aside"], 2);
    }
    // For other numbers, the answer reports only that the list has quarantined records.
    for number in ["400", "el", "9999"] {
        assert_eq!(
            notices(&verified(&world, &format!("number={number}&state=TX")).await)[1],
            "RECORDS_SET_ASIDE",
            "{number}"
        );
    }
    let washington = verified(&world, "number=1234&state=WA").await;
    assert_eq!(
        notices(&washington),
        ["NO_MATCH_IS_NOT_PROOF", "RECORDS_SET_ASIDE"]
    );
    assert!(
        washington["meta"]["notices"][1]["message"]
            .as_str()
            .unwrap()
            .contains("1 of lni"),
        "{washington}"
    );
    assert_eq!(
        notices(&verified(&world, "number=SERVPG*892PL&state=WA").await),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn list_with_records_much_older_than_its_date_is_reported() {
    let world = world_with_quarantine().await;
    let old = verified(&world, "number=3001&state=TX").await;
    assert_eq!(
        (
            &old["data"]["checked_sources"][0]["newest_license_date"],
            notices(&old)
        ),
        (&json!("2019-10-30"), vec!["LIST_SEEMS_OLD"])
    );
    let message = old["meta"]["notices"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("2019-10-30") && message.contains("2025-09-01"),
        "{message}"
    );
    let fresh = verified(&world, "number=SERVPG*892PL&state=WA").await;
    assert_eq!(
        (
            &fresh["data"]["checked_sources"][0]["newest_license_date"],
            notices(&fresh)
        ),
        (&json!("2025-01-01"), vec![])
    );
}

#[tokio::test]
async fn given_name_is_compared_with_the_holders() {
    let world = world().await;
    let compared = async |query: &str| verified(&world, query).await["data"]["name_match"].clone();
    assert_eq!(
        compared("number=2000&state=TX&name=Mary%20Smith").await,
        "exact"
    );
    assert_eq!(compared("number=2000&state=TX&name=Smith").await, "partial");
    assert_eq!(
        compared("number=2000&state=TX&name=Jane%20Doe").await,
        "none"
    );
    assert_eq!(compared("number=3000&state=TX&name=Sparkys").await, "exact");
    assert_eq!(
        compared("number=SERVPG*892PL&state=WA&name=Jane%20Doe").await,
        "exact"
    );
}

#[tokio::test]
async fn license_shows_actions_bonds_and_classes() {
    let world = world().await;
    let data = &verified(&world, "number=SERVPG*892PL&state=WA").await["data"]["licenses"][0];
    assert_eq!(
        data["classifications"],
        json!([{"code": "01", "description": "General"}, {"code": "X", "description": null}])
    );
    assert_eq!(
        data["bond"],
        json!({"surety": "A SURETY CO", "amount": 12000, "effective_date": null, "expiration_date": null, "cancelled_date": null})
    );
    assert_eq!(
        (&data["insurance"], &data["workers_comp"]["coverage"]),
        (&Value::Null, &json!("policy"))
    );
    let data = &verified(&world, "number=2000&state=TX").await["data"]["licenses"][0];
    let action = json!({"case_number": "C-1", "action": "Fine", "effective_date": "2020-02-03", "end_date": null, "record_id": "license.action:TX-tdlr-ba-2000:1"});
    assert_eq!(data["disciplinary_actions"], json!([action]));
    assert_eq!(
        data["provenance"]["record_id"],
        "license.license:TX-tdlr-ba-2000"
    );
}
