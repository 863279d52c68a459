//! Checks the sidecar files of a release for other engines: their contents, that they are the same
//! everywhere, and how later publishes treat them.

use std::collections::BTreeMap;

use pubdata_build::publish::{Committed, Contribution, Outcome, commit, prune, stage};
use pubdata_core::contract::{Contracts, Physical};
use pubdata_core::ids::ReleaseId;
use serde_json::{Value, json};

use super::{NOW, Place, build, column, contracts, frame, reused};

const LATER: &str = "2026-02-03T04:05:06Z";
const LOG: &str = "test.place/_delta_log/00000000000000000000.json";
const PACKAGE: &str = "datapackage.json";

fn log(place: &Place, id: &ReleaseId) -> Vec<Value> {
    let text = String::from_utf8(place.files(id)[LOG].clone()).unwrap();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the fields of the log's schema, by name.
fn fields(log: &[Value]) -> BTreeMap<String, Value> {
    let schema: Value =
        serde_json::from_str(log[1]["metaData"]["schemaString"].as_str().unwrap()).unwrap();
    let fields = schema["fields"].as_array().unwrap().iter();
    fields
        .map(|field| (field["name"].as_str().unwrap().to_owned(), field.clone()))
        .collect()
}

fn package(place: &Place, id: &ReleaseId) -> Value {
    serde_json::from_slice(&place.files(id)[PACKAGE]).unwrap()
}

async fn publish_with(
    place: &Place,
    contracts: &Contracts,
    contributions: Vec<Contribution>,
) -> Committed {
    commit(
        &place.home,
        &place.releases,
        contracts,
        "nightly",
        contributions,
        false,
        "run",
        NOW,
    )
    .await
    .unwrap()
}

/// Returns the contract of a later minor version.
fn later(change: impl FnOnce(&mut pubdata_core::contract::Contract)) -> Contracts {
    let mut contracts = contracts();
    let contract = contracts.get_mut("test.place").unwrap();
    contract.version = "1.1.0".to_owned();
    change(contract);
    contracts
}

#[tokio::test]
async fn delta_log_matches_the_contract_and_the_parts() {
    let place = Place::new();
    let mut contracts = contracts();
    let contract = contracts.get_mut("test.place").unwrap();
    contract.columns[3].description = "Residents.".to_owned();
    contract.columns[3].column_type.unit = Some("persons".to_owned());
    let built = [2023, 2024].map(|year| {
        Contribution::Built(
            stage(&place.home, &contracts, build(year, "one", frame(year, 1))).unwrap(),
        )
    });
    let id = publish_with(&place, &contracts, built.into())
        .await
        .release_id;
    let log = log(&place, &id);
    assert_eq!(
        log[0],
        json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
    );
    let table = &log[1]["metaData"];
    let of_version_5 = table["id"].as_str().unwrap();
    assert_eq!(
        (of_version_5.len(), of_version_5.as_bytes()[14]),
        (36, b'5'),
        "{of_version_5}"
    );
    assert_eq!(
        (&table["name"], &table["description"]),
        (
            &json!("test.place"),
            &json!("Places. One row per year and place.")
        )
    );
    assert_eq!(
        (&table["partitionColumns"], &table["createdTime"]),
        (&json!([]), &json!(0))
    );
    assert_eq!(
        table["configuration"]["delta.dataSkippingStatsColumns"],
        "record_id,year,code"
    );
    let types: BTreeMap<String, Value> = fields(&log)
        .into_iter()
        .map(|(name, field)| (name, field["type"].clone()))
        .collect();
    let plain = |name: &str, nullable: bool, kind: &str| json!({"name": name, "type": kind, "nullable": nullable, "metadata": {}});
    let pointer = [
        ("source_id", false, "string"),
        ("snapshot", false, "string"),
        ("member", true, "string"),
        ("offset", false, "long"),
        ("length", false, "long"),
    ];
    let pointer: Vec<Value> = pointer
        .iter()
        .map(|(name, nullable, kind)| plain(name, *nullable, kind))
        .collect();
    let expected = json!({
        "record_id": "string", "year": "integer", "code": "string", "persons": "long", "lat": "double", "is_open": "boolean", "opened": "date",
        "share": "decimal(6,1)", "grades": {"type": "array", "elementType": "string", "containsNull": false}, "validation_status": "string",
        "source_pointers": {"type": "array", "elementType": {"type": "struct", "fields": pointer}, "containsNull": false},
    });
    assert_eq!(json!(types), expected);
    assert_eq!(
        fields(&log)["persons"]["metadata"],
        json!({"comment": "Residents.", "unit": "persons"})
    );
    let is_nullable: Vec<String> = fields(&log)
        .into_iter()
        .filter(|(_, field)| field["nullable"] == true)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        is_nullable,
        ["grades", "is_open", "lat", "opened", "persons", "share"]
    );
    let files = place.files(&id);
    for (add, year) in log[2..].iter().zip([2023, 2024]) {
        let add = &add["add"];
        assert_eq!(
            (&add["path"], &add["size"]),
            (
                &json!(format!("{year}.parquet")),
                &json!(files[&format!("test.place/{year}.parquet")].len())
            )
        );
        assert_eq!(
            (
                &add["partitionValues"],
                &add["modificationTime"],
                &add["dataChange"]
            ),
            (&json!({}), &json!(0), &json!(true))
        );
        let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        let expected = json!({
            "numRecords": 3,
            "minValues": {"record_id": format!("test.place:{year}:00501"), "year": year, "code": "00501"},
            "maxValues": {"record_id": format!("test.place:{year}:99999"), "year": year, "code": "99999"},
            "nullCount": {"record_id": 0, "year": 0, "code": 0},
        });
        assert_eq!(stats, expected);
    }
    assert_eq!(log.len(), 4);
}

/// A nullable date key, sorted by another column.
#[tokio::test]
async fn key_bounds_come_from_all_values_not_the_first_and_last_row() {
    let place = Place::new();
    let mut contracts = contracts();
    contracts.get_mut("test.place").unwrap().sort_by = ["year", "code", "opened", "persons"]
        .map(str::to_owned)
        .into();
    let mut rows = frame(2024, 7);
    let column = |name: &str, values: &[Option<&str>]| {
        <polars::prelude::Series as polars::prelude::NamedFrom<_, _>>::new(name.into(), values)
    };
    rows.with_column(column("opened", &[Some("2024-02-29"), None, Some("1969-12-31")]).into())
        .unwrap();
    let built =
        Contribution::Built(stage(&place.home, &contracts, build(2024, "one", rows)).unwrap());
    let id = publish_with(&place, &contracts, vec![built])
        .await
        .release_id;
    let stats: Value =
        serde_json::from_str(log(&place, &id)[2]["add"]["stats"].as_str().unwrap()).unwrap();
    assert_eq!(
        (
            &stats["minValues"]["opened"],
            &stats["maxValues"]["opened"],
            &stats["nullCount"]["opened"]
        ),
        (&json!("1969-12-31"), &json!("2024-02-29"), &json!(1))
    );
    assert_eq!(
        (
            &stats["minValues"]["persons"],
            &stats["maxValues"]["persons"]
        ),
        (&json!(7), &json!(i64::MAX))
    );
    // A footer truncates a long text: a truncated text is not a bound.
    let mut rows = frame(2025, 7);
    let long = "ü".repeat(200);
    rows.with_column(column("code", &[Some("00501"), Some("10001"), Some(&long)]).into())
        .unwrap();
    let built =
        Contribution::Built(stage(&place.home, &contracts, build(2025, "one", rows)).unwrap());
    let id = publish_with(&place, &contracts, vec![built])
        .await
        .release_id;
    let stats: Value =
        serde_json::from_str(log(&place, &id)[2]["add"]["stats"].as_str().unwrap()).unwrap();
    let names = |what: &str| {
        stats[what]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    // `opened` and `persons` contain a null; `lat` is not a key and has no bounds.
    assert_eq!(
        [names("minValues"), names("maxValues"), names("nullCount")],
        [(); 3].map(|()| ["opened", "persons", "record_id", "year"]
            .map(str::to_owned)
            .to_vec())
    );
}

/// Some readers take a missing bound in one part for null, and find no rows there.
#[tokio::test]
async fn column_has_bounds_in_all_parts_or_in_none() {
    let place = Place::new();
    let mut contracts = contracts();
    contracts.get_mut("test.place").unwrap().sort_by =
        ["year", "code", "opened"].map(str::to_owned).into();
    let mut without = frame(2023, 1);
    without
        .with_column(
            <polars::prelude::Series as polars::prelude::NamedFrom<_, _>>::new(
                "opened".into(),
                [None::<&str>; 3],
            )
            .into(),
        )
        .unwrap();
    let built = [
        (2023, without),
        (2024, frame(2024, 1)),
        (2025, frame(2025, 1).clear()),
    ];
    let built = built.map(|(year, frame)| {
        Contribution::Built(stage(&place.home, &contracts, build(year, "one", frame)).unwrap())
    });
    let id = publish_with(&place, &contracts, built.into())
        .await
        .release_id;
    let log = log(&place, &id);
    assert_eq!(
        log[1]["metaData"]["configuration"]["delta.dataSkippingStatsColumns"],
        "record_id,year,code"
    );
    for add in &log[2..] {
        let stats: Value = serde_json::from_str(add["add"]["stats"].as_str().unwrap()).unwrap();
        let names = stats["nullCount"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>();
        assert_eq!(names, ["code", "record_id", "year"]);
    }
}

#[tokio::test]
async fn dataset_without_rows_has_a_log_with_its_schema() {
    let place = Place::new();
    let built = Contribution::Built(
        stage(
            &place.home,
            &contracts(),
            build(2024, "one", frame(2024, 1).clear()),
        )
        .unwrap(),
    );
    let id = place.publish(vec![built]).await.release_id;
    let log = log(&place, &id);
    assert_eq!((log.len(), fields(&log).len()), (3, 11));
    let stats: Value = serde_json::from_str(log[2]["add"]["stats"].as_str().unwrap()).unwrap();
    let nulls = json!({"record_id": 0, "year": 0, "code": 0});
    assert_eq!(
        stats,
        json!({"numRecords": 0, "minValues": {}, "maxValues": {}, "nullCount": nulls})
    );
    assert_eq!(package(&place, &id)["resources"][0]["rows"], 0);
}

#[tokio::test]
async fn sidecars_are_equal_anywhere_and_kept_by_a_repeated_publish() {
    let (here, there) = (Place::new(), Place::new());
    let first = here
        .publish(vec![here.built(2023, "one", 1), here.built(2024, "one", 1)])
        .await;
    let second = there
        .try_publish(
            vec![there.built(2024, "one", 1), there.built(2023, "one", 1)],
            LATER,
        )
        .await
        .unwrap();
    assert_eq!(first.release_id, second.release_id);
    for path in [LOG, PACKAGE] {
        assert_eq!(
            here.files(&first.release_id)[path],
            there.files(&first.release_id)[path],
            "{path}"
        );
    }
    let manifest = here.releases.manifest(&first.release_id).await.unwrap();
    assert_eq!(manifest.sidecars.keys().collect::<Vec<_>>(), [PACKAGE, LOG]);
    // The id equals that of a release without sidecars, as earlier versions wrote it.
    let without = pubdata_store::Manifest {
        sidecars: BTreeMap::new(),
        ..manifest.clone()
    };
    assert_eq!(without.derive_release_id(), first.release_id);
}

#[tokio::test]
async fn missing_changed_and_added_sidecars_are_reported() {
    let place = Place::new();
    let id = place
        .publish(vec![place.built(2024, "one", 1)])
        .await
        .release_id;
    let manifest = place.releases.manifest(&id).await.unwrap();
    let folder = place.root().join("releases").join(id.as_str());
    let problems = async || place.releases.sidecar_problems(&manifest).await.unwrap();
    assert_eq!(problems().await, Vec::<String>::new());
    std::fs::remove_file(folder.join(PACKAGE)).unwrap();
    std::fs::write(folder.join(LOG), "{}").unwrap();
    // The file that `DELETE FROM` of an engine would leave.
    std::fs::write(
        folder.join("test.place/_delta_log/00000000000000000001.json"),
        "{}",
    )
    .unwrap();
    let reported = problems().await;
    assert_eq!(reported.len(), 3, "{reported:?}");
    for (problem, (path, word)) in reported.iter().zip([
        (PACKAGE, "is missing or was changed"),
        (LOG, "is missing or was changed"),
        (
            "00000000000000000001.json",
            "does not belong to the release",
        ),
    ]) {
        assert!(
            problem.contains(path) && problem.contains(word) && problem.contains(id.as_str()),
            "{problem}"
        );
    }
    // A release of an earlier version has no sidecars, and none is missed.
    let earlier = pubdata_store::Manifest {
        sidecars: BTreeMap::new(),
        ..manifest.clone()
    };
    assert_eq!(
        place.releases.sidecar_problems(&earlier).await.unwrap(),
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn build_adds_sidecars_to_an_old_release_and_prune_removes_them() {
    let place = Place::new();
    let first = place.publish(vec![place.built(2024, "one", 1)]).await;
    let (files, folder) = (
        place.files(&first.release_id),
        place
            .root()
            .join("releases")
            .join(first.release_id.as_str()),
    );
    let manifest = place.releases.manifest(&first.release_id).await.unwrap();
    std::fs::remove_dir_all(folder.join("test.place/_delta_log")).unwrap();
    std::fs::remove_file(folder.join(PACKAGE)).unwrap();
    place
        .releases
        .put_manifest(&pubdata_store::Manifest {
            sidecars: BTreeMap::new(),
            ..manifest.clone()
        })
        .await
        .unwrap();
    let carried_on = place.try_publish(vec![reused(2024)], LATER).await.unwrap();
    assert_eq!(
        (
            carried_on.outcome,
            place.files(&first.release_id).contains_key(LOG)
        ),
        (Outcome::Unchanged, false)
    );
    place
        .try_publish(vec![place.built(2024, "one", 1)], LATER)
        .await
        .unwrap();
    assert_eq!(
        place.files(&first.release_id),
        files,
        "the times of the first publish stay"
    );
    place.publish(vec![place.built(2024, "two", 2)]).await;
    let now = LATER.parse().unwrap();
    assert_eq!(
        prune(&place.releases, 1, now).await.unwrap().releases,
        [first.release_id]
    );
    assert!(!folder.exists());
}

#[tokio::test]
async fn column_missing_from_reused_parts_is_nullable() {
    let place = Place::new();
    place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await;
    let with_name = later(|contract| {
        contract
            .columns
            .insert(3, column("name", Physical::String, false));
    });
    let mut rows = frame(2024, 1);
    rows.with_column(
        <polars::prelude::Series as polars::prelude::NamedFrom<_, _>>::new(
            "name".into(),
            ["A", "B", "C"],
        )
        .into(),
    )
    .unwrap();
    let built =
        Contribution::Built(stage(&place.home, &with_name, build(2024, "two", rows)).unwrap());
    let id = publish_with(&place, &with_name, vec![reused(2023), built])
        .await
        .release_id;
    let log = log(&place, &id);
    assert_eq!(
        (
            &fields(&log)["name"]["nullable"],
            &fields(&log)["code"]["nullable"],
            log.len()
        ),
        (&json!(true), &json!(false), 4)
    );
    let schema = &package(&place, &id)["resources"][0]["schema"];
    assert_eq!(schema["fieldsMatch"], json!(["superset"]));
    let constraints = |name: &str| {
        schema["fields"]
            .as_array()
            .unwrap()
            .iter()
            .find(|field| field["name"] == name)
            .unwrap()["constraints"]
            .clone()
    };
    assert_eq!(
        (constraints("name"), &constraints("code")["required"]),
        (Value::Null, &json!(true))
    );
}

#[tokio::test]
async fn parts_with_different_schemas_have_no_log_and_the_package_says_why() {
    let place = Place::new();
    place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await;
    let smaller = later(|contract| {
        contract
            .columns
            .iter_mut()
            .find(|column| column.name == "persons")
            .unwrap()
            .column_type
            .physical = Physical::Int32;
    });
    let id = publish_with(&place, &smaller, vec![reused(2023), reused(2024)])
        .await
        .release_id;
    let manifest = place.releases.manifest(&id).await.unwrap();
    assert_eq!(manifest.sidecars.keys().collect::<Vec<_>>(), [PACKAGE]);
    assert!(!place.files(&id).contains_key(LOG));
    let package = package(&place, &id);
    assert_eq!(
        package["resources"][0]["mixedSchemas"],
        "test.place/2023.parquet has `persons` as Int64, and the contract 1.1.0 as Int32"
    );
    assert_eq!(package["resources"][0].get("schema"), None);
    let without = later(|contract| contract.columns.retain(|column| column.name != "lat"));
    let id = publish_with(&place, &without, vec![reused(2023)])
        .await
        .release_id;
    assert!(!place.files(&id).contains_key(LOG));
}

#[tokio::test]
async fn package_describes_columns_and_their_sources() {
    let place = Place::new();
    let mut contracts = contracts();
    let columns = &mut contracts.get_mut("test.place").unwrap().columns;
    columns[2].column_type.digits = Some(5);
    columns[3].column_type.min = Some(0.0);
    columns[3].column_type.unit = Some("persons".to_owned());
    columns[4].column_type.max = Some(90.5);
    columns[9].column_type.values = vec!["passed".to_owned(), "passed_with_warnings".to_owned()];
    let mut of_local = build(2023, "one", frame(2023, 1));
    (of_local.entry.licence, of_local.entry.homepage) = ("Own terms".to_owned(), String::new());
    let built = [of_local, build(2024, "one", frame(2024, 1))]
        .map(|build| Contribution::Built(stage(&place.home, &contracts, build).unwrap()));
    let id = publish_with(&place, &contracts, built.into())
        .await
        .release_id;
    let package = package(&place, &id);
    assert_eq!(
        (&package["name"], &package["version"]),
        (&json!(format!("pubdata-{id}")), &json!(id))
    );
    let resource = &package["resources"][0];
    assert_eq!(
        (&resource["name"], &resource["rows"]),
        (&json!("test.place"), &json!(6))
    );
    assert_eq!(
        resource["path"],
        json!(["test.place/2023.parquet", "test.place/2024.parquet"])
    );
    let (home, zero) = (
        "https://example.org/",
        "https://creativecommons.org/publicdomain/zero/1.0/",
    );
    assert_eq!(
        resource["licenses"],
        json!([{"title": "CC0-1.0", "path": zero}, {"title": "Own terms", "name": "notspecified"}])
    );
    assert_eq!(
        resource["sources"],
        json!([{"title": "Example"}, {"title": "Example", "path": home}])
    );
    assert_eq!(resource["schema"]["primaryKey"], json!(["year", "code"]));
    let fields = &resource["schema"]["fields"];
    assert_eq!(
        fields[2],
        json!({"name": "code", "type": "string", "description": "", "constraints": {"required": true, "pattern": "^[0-9]{5}$"}})
    );
    assert_eq!(
        fields[3],
        json!({"name": "persons", "type": "integer", "description": "", "unit": "persons", "constraints": {"minimum": 0}})
    );
    assert_eq!(
        fields[4],
        json!({"name": "lat", "type": "number", "description": "", "constraints": {"maximum": 90.5}})
    );
    assert_eq!(
        fields[9]["constraints"],
        json!({"required": true, "enum": ["passed", "passed_with_warnings"]})
    );
    let types: Vec<&str> = fields
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "string", "integer", "string", "integer", "number", "boolean", "date", "number",
            "array", "string", "array"
        ]
    );
}
