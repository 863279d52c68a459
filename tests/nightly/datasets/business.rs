//! Checks business registries over the fixtures: no withheld value is published, and declared
//! tables hold only values that the contracts allow.

use std::collections::BTreeMap;
use std::io::Read;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use serde_json::Value;

use super::cases::{Published, case, cases, publish};
use pubdata_testing::{Place, files_below, project};

fn entity<'p>(published: &'p Published, id: &str) -> &'p serde_json::Map<String, Value> {
    &published.datasets["business.entity"][&format!("business.entity:{id}")].0
}

#[tokio::test(flavor = "multi_thread")]
async fn tax_numbers_emails_and_streets_of_persons_stay_unpublished() {
    // Numbers in the fixtures that act as federal tax and social security numbers, with and without
    // the separators that Texas adds.
    let secrets = [
        "591234567",
        "59-1234567",
        "597654321",
        "59-7654321",
        "59-1111111",
        "17599000002",
        "17599000004",
        "24559900005",
        "759900000",
        "455990000",
    ];
    let mut rows = 0;
    for case in cases()
        .into_iter()
        .filter(|case| case.pipeline_id.starts_with("business."))
    {
        let published = publish(&case).await;
        for (record_id, (record, _)) in published.datasets.values().flatten() {
            let text = Value::Object(record.clone()).to_string();
            for secret in secrets {
                assert!(!text.contains(secret), "{record_id} holds {secret}: {text}");
            }
            assert!(
                !text.contains('@') || record_id.starts_with("pubdata.quarantine:"),
                "{record_id} holds an e-mail address: {text}"
            );
            // In the fixtures, every street of a person or possible person contains these words.
            assert!(
                !text.to_uppercase().contains("HOME ST"),
                "{record_id} holds the street of a person: {text}"
            );
            assert_eq!(
                record.get("source_text").unwrap_or(&Value::Null),
                &Value::Null,
                "{record_id}: the text of a record contains every value"
            );
            for (kind, street) in [
                ("agent_type", "agent_line1"),
                ("agent_type", "agent_line2"),
                ("type", "line1"),
            ] {
                let is_street = record.get(street).is_some_and(|street| !street.is_null());
                assert!(
                    !is_street || record[kind] == "organization",
                    "{record_id}: {street}"
                );
            }
            rows += 1;
        }
    }
    assert!(rows > 60, "the cases publish rows: {rows}");
    // Proves that the fixtures contain the values searched for above.
    let mut sources = String::new();
    for path in files_below(&project("fixtures/business"))
        .into_iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "source"))
    {
        let mut bytes = std::fs::read(&path).unwrap();
        if path.extension().is_some_and(|ending| ending == "zip") {
            let mut archive =
                zip::ZipArchive::new(std::io::Cursor::new(std::mem::take(&mut bytes))).unwrap();
            for number in 0..archive.len() {
                archive
                    .by_index(number)
                    .unwrap()
                    .read_to_end(&mut bytes)
                    .unwrap();
            }
        }
        sources.push_str(&String::from_utf8_lossy(&bytes).to_uppercase());
    }
    for secret in [
        "59-1234567",
        "59-7654321",
        "59-1111111",
        "17599000002",
        "17599000004",
        "24559900005",
        "SYNTHETIC@EXAMPLE.COM",
        "HOME ST",
    ] {
        assert!(sources.contains(secret), "no fixture holds {secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_sunbiz_file_decides_the_record() {
    let published = publish(&case("business.fl_sunbiz", "basic")).await;
    assert_eq!(
        entity(&published, "FL-L99000000020")["name"],
        "SYNTHETIC LAST NAME LLC"
    );
    let officers = &published.datasets["business.officer"];
    assert_eq!(
        officers["business.officer:FL-L99000000020:1"].0["name"], "IDA LAST",
        "officers come from the same record"
    );
    assert!(!officers.contains_key("business.officer:FL-L99000000020:2"));
    let (_, pointers) = &published.datasets["business.entity"]["business.entity:FL-L99000000020"];
    assert_eq!(
        pointers
            .iter()
            .map(|pointer| pointer.source_id.as_str())
            .collect::<Vec<_>>(),
        ["business.fl_daily"]
    );
}

#[test]
fn declared_tables_hold_only_values_of_the_contracts() {
    let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
    let allowed = |dataset: &str, column: &str| {
        declarations.contracts[dataset]
            .column(column)
            .unwrap()
            .column_type
            .values
            .clone()
    };
    let types: BTreeMap<&str, Vec<String>> = [
        ("statuses", allowed("business.entity", "status")),
        ("implied_status", allowed("business.entity", "status")),
        ("entity_types", allowed("business.entity", "entity_type")),
        ("mailing_role", allowed("business.entity", "mailing_role")),
        ("party_types", allowed("business.officer", "type")),
        ("officer_type", allowed("business.officer", "type")),
        ("titles", allowed("business.officer", "title")),
        ("officer_title", allowed("business.officer", "title")),
        (
            "party_roles",
            ["principal", "mailing", "agent", "none"]
                .map(str::to_owned)
                .to_vec(),
        ),
    ]
    .into();
    let mut checked = 0;
    for declaration in declarations
        .pipelines
        .values()
        .filter(|declaration| declaration.pipeline_id.starts_with("business."))
    {
        for (setting, values) in types
            .iter()
            .filter_map(|(setting, values)| Some((declaration.settings.get(*setting)?, values)))
        {
            let given: Vec<&toml::Value> = setting
                .as_table()
                .map_or_else(|| vec![setting], |table| table.values().collect());
            for value in given {
                let value = value.get("value").unwrap_or(value).as_str().unwrap();
                assert!(
                    values.iter().any(|known| known == value),
                    "{}: `{value}` is not one of {values:?}",
                    declaration.pipeline_id
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 150, "{checked}");
}

#[test]
fn traced_record_is_rebuilt_from_its_own_rows() {
    let place = Place::new();
    place.run(&["business"]).expect(0);
    for record in [
        "business.entity:FL-L99000000020",
        "business.officer:FL-P99000000011:4",
        "business.entity:NY-55570",
        "business.officer:CT-9900001:2",
        "business.entity:CT-9900001",
        "business.officer:PA-0099000001:2",
        "business.entity:OR-990000191",
        "business.officer:OR-990000191:2",
    ] {
        let answer = place.trace(record).expect(0);
        assert_eq!(
            answer.json()["is_match"],
            true,
            "{record}: {}",
            answer.stdout
        );
    }
}
