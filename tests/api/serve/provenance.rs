//! Tests `/v1/provenance`: the parts that are read for a record, the records that a key may see,
//! and the refusal of data altered on disk.

use axum::body::Body;
use axum::http::Request;
use pubdata_core::ids::RecordId;
use pubdata_store::{Manifest, PartReport, Scope};
use serde_json::{Value, json};

use super::home::{Draft, Table};
use super::{World, geo};
use pubdata_testing::{Place, rows_below};

const POPULATION: &str = "/v1/provenance/geo.zcta_metric:2023:90210:population";

#[tokio::test]
async fn part_that_differs_from_the_manifest_is_not_shown() {
    for was_asked_before in [false, true] {
        let world = World::new().await;
        let other = world.publish(&geo::draft(20_000.0)).await;
        if was_asked_before {
            assert_eq!(
                world.ok(POPULATION).await["data"]["record"]["columns"]["value"],
                json!(19_652)
            );
        }
        let path = "geo.zcta_metric/2023.parquet";
        let folder = world.home.root().join("releases");
        std::fs::copy(
            folder.join(other.as_str()).join(path),
            folder.join(world.release_id.as_str()).join(path),
        )
        .unwrap();
        let answer = world.get(POPULATION).await;
        match was_asked_before {
            // Data that was read and verified stays in memory.
            true => assert_eq!(
                answer.json()["data"]["record"]["columns"]["value"],
                json!(19_652)
            ),
            false => assert_eq!(answer.problem(), (500, "internal_error".to_owned())),
        }
    }
}

/// Registries with sixty parts of ten businesses each, ordered by number.
fn sixty_parts() -> Draft {
    let business = |bucket: usize, number: usize| {
        let entity_number = format!("{bucket:02}{number:02}");
        json!({
            "record_id": format!("business.entity:FL-{entity_number}"), "state": "FL", "bucket": format!("{bucket:02}"), "entity_id": format!("FL-{entity_number}"),
            "entity_number": entity_number, "source_id": "test.places_file", "name": "ACME", "name_normalized": "ACME", "entity_type": "llc", "status": "active",
            "status_basis": "source", "source_fields": "{}",
        })
    };
    let part = |bucket: usize| Table {
        dataset_id: "business.entity",
        vintage_year: None,
        bucket: None,
        folders: vec![
            ("state", "FL"),
            ("bucket", format!("{bucket:02}").leak() as &str),
        ]
        .leak(),
        rows: (0..10).map(|number| business(bucket, 2 * number)).collect(),
        report: PartReport::default(),
    };
    Draft {
        tables: (10..70).map(part).collect(),
        ..geo::draft(1.0)
    }
}

#[tokio::test]
async fn absent_record_reads_only_the_parts_that_could_hold_it() {
    let world = World::empty(|_| {}).await;
    let release_id = world.publish(&sixty_parts()).await;
    world.service.refresh().await.unwrap();
    let folder = world
        .home
        .root()
        .join("releases")
        .join(release_id.as_str())
        .join("business.entity");
    // A part that is read from now on is refused.
    let spoil = |is_spoilt: &dyn Fn(&str) -> bool| {
        for file in std::fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap().path())
        {
            if is_spoilt(file.file_stem().unwrap().to_str().unwrap()) {
                std::fs::write(file, "spoilt").unwrap();
            }
        }
    };
    spoil(&|name| name != "23~FL");
    let ask = async |number: &str| {
        world
            .get(&format!("/v1/provenance/business.entity:{number}"))
            .await
    };
    for unknown in ["FL-0000", "FL-9999", "FL-2199x", "FL-2301", "TX-2302"] {
        assert_eq!(
            ask(unknown).await.problem(),
            (404, "not_found".to_owned()),
            "{unknown}"
        );
    }
    assert_eq!(ask("FL-2302").await.status, 200);
    assert_eq!(
        ask("FL-2402").await.problem(),
        (500, "internal_error".to_owned()),
        "only parts that may hold the record are read and verified"
    );
    spoil(&|_| true);
    assert_eq!(
        ask("FL-2303").await.problem(),
        (404, "not_found".to_owned()),
        "the contents of a part are known after the first read"
    );
    assert_eq!(
        ask("FL-2302").await.status,
        200,
        "verified data stays in memory"
    );
}

/// The part that holds a record is never skipped, in any dataset.
#[tokio::test(flavor = "multi_thread")]
async fn every_record_lies_in_the_range_of_its_part() {
    let place = Place::published();
    let manifest = Manifest::from_json(place.manifest().to_string().as_bytes()).unwrap();
    let contracts = pubdata_core::pipeline::Declarations::load(
        pubdata_core::declared::DeclarationFiles::built_in(),
    )
    .unwrap()
    .contracts;
    let (mut records, mut passed_over) = (0, 0);
    for (dataset_id, dataset) in &manifest.datasets {
        let is_sorted = contracts[dataset_id].is_sorted_by_subject();
        for part in &dataset.parts {
            for record_id in rows_below(&place.part(&part.path)).into_keys() {
                let id: RecordId = record_id.parse().unwrap();
                assert!(
                    part.may_hold(&id) && (!is_sorted || part.spans(&id)),
                    "{record_id} is in {}",
                    part.path
                );
                passed_over += dataset
                    .parts
                    .iter()
                    .filter(|part| !part.may_hold(&id) || is_sorted && !part.spans(&id))
                    .count();
                records += 1;
            }
        }
    }
    assert!(
        records > 1_000 && passed_over > records / 10,
        "{records} records, {passed_over} parts skipped"
    );
}

#[tokio::test]
async fn quarantined_records_are_shown_to_keys_of_their_family_only() {
    let world = World::empty(|_| {}).await;
    let mut draft = geo::draft(1.0);
    let quarantined = |dataset_id: &'static str, record: &str| -> (String, Value) {
        let id = format!("pubdata.quarantine:{dataset_id}::{record}:made_up");
        (
            id.clone(),
            json!({"record_id": id, "dataset_id": dataset_id, "partition": "", "rule": "made_up", "reason": "made up", "validation_status": "failed"}),
        )
    };
    let (school, permit) = (
        quarantined("geo.school", "geo.school:1"),
        quarantined("permit.permit", "permit.permit:us-il-chicago:1"),
    );
    for (folders, row) in [
        (&[("dataset_id", "geo.school")], &school.1),
        (&[("dataset_id", "permit.permit")], &permit.1),
    ] {
        draft.tables.push(Table {
            dataset_id: "pubdata.quarantine",
            vintage_year: None,
            bucket: None,
            folders,
            rows: vec![row.clone()],
            report: PartReport::default(),
        });
    }
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    for (scope, expected) in [
        (Scope::Stream, [403, 403]),
        (Scope::Geo, [200, 403]),
        (Scope::General, [403, 200]),
        (Scope::Sec, [403, 403]),
        (Scope::Admin, [403, 403]),
    ] {
        let key = world.create_key(&[scope], "unlimited").key;
        for (id, status) in [&school.0, &permit.0].into_iter().zip(expected) {
            let request = Request::get(format!("/v1/provenance/{id}"))
                .header("x-api-key", &key)
                .body(Body::empty())
                .unwrap();
            assert_eq!(world.send(request).await.status, status, "{scope}: {id}");
        }
    }
}
