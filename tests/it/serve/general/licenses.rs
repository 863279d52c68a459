use pubdata::store::PartReport;
use serde_json::{Value, json};

use super::{LNI, TDLR, all, license, world};
use crate::serve::home::Table;
use crate::serve::{World, notices};

fn person(last: &str, first: &str, middle: Option<&str>) -> Value {
    json!({"holder_type": "person", "holder_last": last, "holder_first": first, "holder_middle": middle})
}

fn numbered(number: &str, mut cells: Value) -> Value {
    cells["number"] = json!(number);
    cells["number_raw"] = json!(number);
    cells["number_normalized"] = json!(number.trim_start_matches('0'));
    cells
}

pub fn texas() -> Vec<Value> {
    let derived = |mut cells: Value| {
        cells["status_basis"] = json!("derived_from_expiration");
        cells["status_raw"] = Value::Null;
        cells
    };
    vec![
        license(TDLR, "ba-1094", "SMITH, JOHN A", &numbered("1094", derived(with_profession("barber", person("SMITH", "JOHN", Some("A")))))),
        license(TDLR, "ba-2000", "SMITH, MARY", &numbered("2000", derived(with_profession("barber", person("SMITH", "MARY", None))))),
        license(TDLR, "ba-2001", "JOHN, SMITH", &numbered("2001", derived(with_profession("barber", person("JOHN", "SMITH", None))))),
        license(TDLR, "ba-2002", "O'BRIEN-LOPEZ, ANA", &numbered("2002", with_profession("barber", person("O'BRIEN-LOPEZ", "ANA", None)))),
        license(TDLR, "el-1094", "BRIGHT SPARKS ELECTRIC LLC", &numbered("1094", json!({"city": "AUSTIN", "zip": "78701", "expiration_date": "2020-01-01"}))),
        license(TDLR, "el-3000", "LONE STAR WIRING INC", &numbered("3000", json!({"status": "expired", "dba": "SPARKY'S", "phone": "5125550100"}))),
        license(TDLR, "el-3001", "TWICE LICENSED LLC", &numbered("3001", json!({}))),
        license(TDLR, "el-3002", "TWICE LICENSED LLC", &numbered("3002", json!({}))),
    ]
}

fn with_profession(profession: &str, mut cells: Value) -> Value {
    cells["profession"] = json!(profession);
    cells
}

pub fn washington() -> Vec<Value> {
    let cells = json!({
        "number": "SERVPG*892PL", "number_raw": "SERVPG*892PL", "number_normalized": "SERVPG*892PL", "profession": "general_contractor", "classifications": ["01=General", "X"],
        "bond_surety": "A SURETY CO", "bond_amount": "12000", "workers_comp_coverage": "policy", "principals": ["DOE, JANE"],
    });
    let other = json!({"number": "CCR**R*931JF", "number_raw": "CCR**R*931JF", "number_normalized": "CCR**R*931JF", "profession": "general_contractor", "status": "suspended"});
    let lettered = json!({"number": "MA0004000", "number_raw": "MA.0004000", "number_normalized": "4000", "profession": "massage_therapist", "holder_type": "person", "holder_last": "ROE", "holder_first": "RICHARD"});
    let shop = json!({
        "number": "ROEPL*1", "number_raw": "ROEPL*1", "number_normalized": "ROEPL*1", "profession": "plumber", "holder_type": "person", "holder_last": "ROE", "holder_first": "RICHARD",
    });
    vec![
        license(LNI, "CCR**R*931JF", "C C & R", &other),
        license(LNI, "ROEPL*1", "TIGHT PIPES PLUMBING", &shop),
        license(LNI, "SERVPG*892PL", "SERVICE PLUS LLC", &cells),
        license(LNI, "ma-4000", "ROE, RICHARD", &lettered),
    ]
}

pub fn actions() -> Vec<Value> {
    vec![json!({
        "record_id": "license.action:TX-tdlr-ba-2000:1", "state": "TX", "source": "tdlr", "bucket": "0", "license_id": "TX-tdlr-ba-2000", "seq": 1, "case_number": "C-1",
        "action": "Fine", "effective_date": "2020-02-03",
    })]
}

async fn verified(world: &World, query: &str) -> Value {
    world.ok(&format!("/v1/license/verify?{query}")).await
}

#[tokio::test]
async fn a_number_is_verified_once_or_said_to_be_several() {
    let world = world().await;
    let answer = verified(&world, "number=3001&state=TX").await;
    let data = &answer["data"];
    assert_eq!((&data["result"], &data["verified"], &data["name_match"]), (&json!("match"), &json!(true), &Value::Null));
    assert_eq!(data["query"], json!({"number_normalized": "3001", "state": "TX", "profession": null}));
    assert_eq!(data["verified_as_of"], "2025-09-01");
    assert_eq!(
        data["checked_sources"],
        json!([{"source_id": "tdlr", "source_date": "2025-09-01", "newest_license_date": null, "records_set_aside": 0, "scope": "8 licenses: barber, electrician"}])
    );
    // The same number in two trades is two licenses.
    let answer = verified(&world, "number=1094&state=TX").await;
    assert_eq!((&answer["data"]["result"], &answer["data"]["verified"]), (&json!("multiple_matches"), &json!(false)));
    assert_eq!(all(&answer["data"]["licenses"], "license_id"), ["TX-tdlr-ba-1094", "TX-tdlr-el-1094"]);
    let barber = verified(&world, "license_number=1094&state=tx&profession=barber").await;
    assert_eq!((&barber["data"]["result"], &barber["data"]["verified"]), (&json!("match"), &json!(true)));
    assert_eq!(notices(&barber), ["STATUS_DERIVED"]);
    let expired = verified(&world, "number=3000&state=TX").await;
    assert_eq!((&expired["data"]["result"], &expired["data"]["verified"]), (&json!("match"), &json!(false)));
    // The board says active, the date has passed: it is shown so, and nothing is vouched for.
    let conflict = verified(&world, "number=1094&state=TX&profession=electrician").await;
    assert_eq!((&conflict["data"]["verified"], notices(&conflict)), (&json!(false), vec!["STATUS_DATE_CONFLICT"]));
    assert_eq!(conflict["data"]["licenses"][0]["status"], "active");
}

#[tokio::test]
async fn a_number_is_found_however_it_is_written() {
    let world = world().await;
    for number in ["3001", "03001", "TDLR%203001", "Lic.%20%23%203001", "LICENSE%203001", "tdlr-3001", "30 01"] {
        let answer = verified(&world, &format!("number={}&state=TX", number.replace(' ', "%20"))).await;
        assert_eq!(all(&answer["data"]["licenses"], "license_id"), ["TX-tdlr-el-3001"], "{number}");
    }
    let star = verified(&world, "number=servpg*892pl&state=WA").await;
    assert_eq!(star["data"]["result"], "match");
    // As it is written on the license, with the board's letters before it.
    for number in ["MA.0004000", "ma0004000", "4000"] {
        assert_eq!(all(&verified(&world, &format!("number={number}&state=WA")).await["data"]["licenses"], "license_id"), ["WA-lni-ma-4000"], "{number}");
    }
    // Letters that are no board's prefix belong to the number.
    assert_eq!(verified(&world, "number=AB3001&state=TX").await["data"]["result"], "no_match");
}

#[tokio::test]
async fn an_unknown_number_is_an_answer_and_an_uncovered_board_is_none() {
    let world = world().await;
    let answer = verified(&world, "number=99999&state=TX&name=John%20Smith").await;
    let data = &answer["data"];
    assert_eq!((&data["result"], &data["verified"], &data["licenses"], &data["name_match"]), (&json!("no_match"), &json!(false), &json!([]), &Value::Null));
    assert_eq!((notices(&answer), &data["verified_as_of"]), (vec!["NO_MATCH_IS_NOT_PROOF"], &json!("2025-09-01")));
    let problem = async |query: &str| world.get(&format!("/v1/license/verify?{query}")).await.problem();
    assert_eq!(problem("number=1&state=CA").await, (404, "coverage_unavailable".to_owned()));
    assert_eq!(problem("number=1&state=TX&profession=plumber").await, (404, "coverage_unavailable".to_owned()));
    assert_eq!(problem("number=1").await, (400, "missing_parameter".to_owned()));
    assert_eq!(problem("state=TX").await, (400, "missing_parameter".to_owned()));
    assert_eq!(problem("number=1&license_number=1&state=TX").await, (400, "invalid_parameter".to_owned()));
    assert_eq!(problem("number=1&state=Texas").await, (400, "invalid_parameter".to_owned()));
}

/// The release with two records of Texas set aside, and one of Washington that no id tells.
async fn world_with_quarantine() -> World {
    let world = World::empty(|_| {}).await;
    let mut draft = super::draft();
    for table in draft.tables.iter_mut().filter(|table| table.dataset_id == "license.license") {
        let rule = if table.folders == TDLR { ("duplicate_key", 2) } else { ("malformed_record", 1) };
        table.report.quarantined.insert(rule.0.to_owned(), rule.1);
        for row in &mut table.rows {
            row["issue_date"] = if table.folders == TDLR { json!("2019-10-30") } else { json!("2025-01-01") };
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
        quarantined("bucket=0/source=lni/state=WA", "lni@1234", "malformed_record"),
    ];
    let folders = &[("dataset_id", "license.license")];
    draft.tables.push(Table { dataset_id: "pubdata.quarantine", vintage_year: None, bucket: None, folders, rows, report: PartReport::default() });
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    world
}

#[tokio::test]
async fn records_that_were_set_aside_are_told_of() {
    let world = world_with_quarantine().await;
    for number in ["4000", "04000", "TDLR%204000"] {
        let answer = verified(&world, &format!("number={number}&state=TX")).await;
        assert_eq!((&answer["data"]["result"], &notices(&answer)[..2]), (&json!("no_match"), &["NO_MATCH_IS_NOT_PROOF", "RECORD_SET_ASIDE"][..]), "{number}");
        assert_eq!(answer["data"]["checked_sources"][0]["records_set_aside"], 2);
    }
    // Of another number it is not known.
    for number in ["400", "el", "9999"] {
        assert_eq!(notices(&verified(&world, &format!("number={number}&state=TX")).await)[1], "RECORDS_SET_ASIDE", "{number}");
    }
    let washington = verified(&world, "number=1234&state=WA").await;
    assert_eq!(notices(&washington), ["NO_MATCH_IS_NOT_PROOF", "RECORDS_SET_ASIDE"]);
    assert!(washington["meta"]["notices"][1]["message"].as_str().unwrap().contains("1 of lni"), "{washington}");
    assert_eq!(notices(&verified(&world, "number=SERVPG*892PL&state=WA").await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_list_that_is_older_than_its_date_is_told_of() {
    let world = world_with_quarantine().await;
    let old = verified(&world, "number=3001&state=TX").await;
    assert_eq!((&old["data"]["checked_sources"][0]["newest_license_date"], notices(&old)), (&json!("2019-10-30"), vec!["LIST_SEEMS_OLD"]));
    let message = old["meta"]["notices"][0]["message"].as_str().unwrap();
    assert!(message.contains("2019-10-30") && message.contains("2025-09-01"), "{message}");
    let fresh = verified(&world, "number=SERVPG*892PL&state=WA").await;
    assert_eq!((&fresh["data"]["checked_sources"][0]["newest_license_date"], notices(&fresh)), (&json!("2025-01-01"), vec![]));
}

#[tokio::test]
async fn a_given_name_is_compared_with_the_holders() {
    let world = world().await;
    let compared = async |query: &str| verified(&world, query).await["data"]["name_match"].clone();
    assert_eq!(compared("number=2000&state=TX&name=Mary%20Smith").await, "exact");
    assert_eq!(compared("number=2000&state=TX&name=Smith").await, "partial");
    assert_eq!(compared("number=2000&state=TX&name=Jane%20Doe").await, "none");
    assert_eq!(compared("number=3000&state=TX&name=Sparkys").await, "exact");
    assert_eq!(compared("number=SERVPG*892PL&state=WA&name=Jane%20Doe").await, "exact");
}

async fn found(world: &World, query: &str) -> Vec<(String, String)> {
    let answer = world.ok(&format!("/v1/license/search?{query}")).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer["data"].as_array().unwrap().iter().map(|item| (text(&item["license_id"]), text(&item["match"]["type"]))).collect()
}

#[tokio::test]
async fn persons_are_found_in_either_order_and_only_with_their_last_name() {
    let world = world().await;
    let hit = |id: &str, matched: &str| (format!("TX-tdlr-{id}"), matched.to_owned());
    // First and last names are swapped between two persons: both fit, the one written so comes first.
    assert_eq!(found(&world, "name=John%20Smith").await, [hit("ba-2001", "normalized"), hit("ba-1094", "prefix")]);
    assert_eq!(found(&world, "name=Smith,%20John%20A").await[0], hit("ba-1094", "exact"));
    assert_eq!(found(&world, "name=John%20A%20Smith").await[0], hit("ba-1094", "normalized"));
    assert_eq!(found(&world, "name=J.A.%20Smith").await[0], hit("ba-1094", "prefix"));
    assert_eq!(found(&world, "name=Mary%20Smith").await, [hit("ba-2000", "normalized")]);
    assert_eq!(found(&world, "name=Ana%20OBrien%20Lopez").await, [hit("ba-2002", "normalized")]);
    assert_eq!(found(&world, "name=Mary").await, []);
    assert_eq!(found(&world, "name=Mary%20Jones").await, []);
}

#[tokio::test]
async fn businesses_are_found_by_all_their_names_and_filters() {
    let world = world().await;
    let hit = |id: &str, matched: &str| (id.to_owned(), matched.to_owned());
    assert_eq!(found(&world, "name=sparkys").await, [hit("TX-tdlr-el-3000", "dba"), hit("TX-tdlr-el-1094", "misspelled")]);
    assert_eq!(found(&world, "name=jane%20doe").await, [hit("WA-lni-SERVPG*892PL", "principal")]);
    assert_eq!(found(&world, "name=CC%20and%20R").await, [hit("WA-lni-CCR**R*931JF", "normalized")]);
    // A person's license under the name of the business is found by both.
    assert_eq!(found(&world, "name=tight%20pipes%20plumbing").await, [hit("WA-lni-ROEPL*1", "exact")]);
    assert_eq!(found(&world, "name=richard%20roe").await, [hit("WA-lni-ma-4000", "normalized"), hit("WA-lni-ROEPL*1", "principal")]);
    assert_eq!(found(&world, "name=brigth%20sparks").await, [hit("TX-tdlr-el-1094", "misspelled")]);
    assert_eq!(
        found(&world, "name=bright%20sparks&city=Austin&zip=78701&status=active&profession=electrician&holder_type=organization&state=TX").await.len(),
        1
    );
    for none in ["city=Dallas", "zip=78702", "status=expired", "profession=barber", "holder_type=person", "state=WA"] {
        assert_eq!(found(&world, &format!("name=bright%20sparks&{none}")).await, [], "{none}");
    }
    let problem = async |query: &str| world.get(&format!("/v1/license/search?{query}")).await.problem();
    assert_eq!(problem("").await, (400, "missing_parameter".to_owned()));
    assert_eq!(problem("name=smith&state=CA").await, (404, "coverage_unavailable".to_owned()));
}

#[tokio::test]
async fn a_license_shows_actions_bonds_and_classes() {
    let world = world().await;
    let data = &verified(&world, "number=SERVPG*892PL&state=WA").await["data"]["licenses"][0];
    assert_eq!(data["classifications"], json!([{"code": "01", "description": "General"}, {"code": "X", "description": null}]));
    assert_eq!(data["bond"], json!({"surety": "A SURETY CO", "amount": 12000, "effective_date": null, "expiration_date": null, "cancelled_date": null}));
    assert_eq!((&data["insurance"], &data["workers_comp"]["coverage"]), (&Value::Null, &json!("policy")));
    let data = &verified(&world, "number=2000&state=TX").await["data"]["licenses"][0];
    let action =
        json!({"case_number": "C-1", "action": "Fine", "effective_date": "2020-02-03", "end_date": null, "record_id": "license.action:TX-tdlr-ba-2000:1"});
    assert_eq!(data["disciplinary_actions"], json!([action]));
    assert_eq!(data["provenance"]["record_id"], "license.license:TX-tdlr-ba-2000");
}
