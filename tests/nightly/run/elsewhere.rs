//! Rebuilds releases and records on a machine whose home has no snapshots, from those in the store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{RunSettings, public_replay};
use pubdata_store::evidence::Replay;
use pubdata_store::{FoundRecord, Releases};
use serde_json::{Value, json};

use super::placed::{Machines, many_registrants};
use pubdata_testing::objects::ObjectServer;
use pubdata_testing::{Place, files_below, folders, rows_below, settings};

const FACTS: &str = "companyfacts.zip";

/// Publishes a release of tasks that are built whole, in buckets and shard by shard. One machine
/// planned it and another built it; the third has an empty home.
fn release<'a>(place: &'a Place, machines: &Machines<'a>) -> PathBuf {
    let plan = machines.plan();
    machines.work("executor", &plan);
    let release_id = machines.commit("driver", &plan).expect(0).release_id();
    std::fs::create_dir_all(machines.home("reader")).unwrap();
    place.root().join("store/releases").join(release_id)
}

/// Returns one record of each dataset of a release.
fn records(release: &Path) -> BTreeMap<String, String> {
    let dataset = |folder: PathBuf| {
        Some((
            folder.file_name()?.to_str()?.to_owned(),
            rows_below(&folder).into_keys().next()?,
        ))
    };
    folders(release)
        .into_iter()
        .filter(|folder| !folder.ends_with("declarations"))
        .filter_map(dataset)
        .collect()
}

fn in_store(place: &Place, source_id: &str) -> Vec<PathBuf> {
    files_below(&place.root().join("store/snapshots").join(source_id))
}

#[test]
fn release_and_records_are_rebuilt_from_the_store() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let release = release(&place, &machines);
    let verified = machines
        .ask(
            "reader",
            &["verify", "--rebuild", "--store", &machines.store],
        )
        .expect(0)
        .json();
    assert_eq!(
        (
            &verified["verified"]["missing"],
            &verified["rebuilt"]["replay"]
        ),
        (&json!([]), &json!("match")),
        "{verified:#}"
    );
    let records = records(&release);
    for dataset_id in [
        "permit.permit",
        "license.license",
        "sec.financial_value",
        "pubdata.quarantine",
    ] {
        assert!(records.contains_key(dataset_id), "{records:?}");
    }
    for (dataset_id, record_id) in &records {
        let traced = machines
            .ask("reader", &["trace", record_id, "--store", &machines.store])
            .expect(0)
            .json();
        assert_eq!(
            (
                &traced["replay"],
                &traced["is_match"],
                &traced["differences"]
            ),
            (&json!("match"), &json!(true), &json!([])),
            "{traced:#}"
        );
        for source in traced["sources"].as_array().unwrap() {
            let is_bundled = source["url"].as_str().unwrap().starts_with("bundled:");
            assert!(source["text"].is_string(), "{dataset_id}: {source:#}");
            assert!(
                is_bundled
                    || source["path"]
                        .as_str()
                        .unwrap()
                        .starts_with(&format!("{}/snapshots/", machines.store)),
                "{dataset_id}: {source:#}"
            );
        }
    }
    // The reading home keeps no files of the rebuild.
    for folder in ["snapshots", "scratch"] {
        let left = files_below_or_none(&machines.home("reader").join(folder));
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

fn files_below_or_none(folder: &Path) -> Vec<PathBuf> {
    if folder.is_dir() {
        files_below(folder)
    } else {
        Vec::new()
    }
}

#[test]
fn absent_snapshots_are_no_mismatch_and_damaged_ones_are() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let records = records(&release(&place, &machines));
    let ask = |arguments: &[&str]| {
        machines.ask(
            "reader",
            &[arguments, &["--store", &machines.store]].concat(),
        )
    };
    let permits = in_store(&place, "permit.nola");
    assert_eq!(permits.len(), 1);
    let kept = std::fs::read(&permits[0]).unwrap();
    std::fs::remove_file(&permits[0]).unwrap();
    let name = permits[0].file_name().unwrap().to_str().unwrap();
    let says_where = |text: &str| {
        let home = machines
            .home("reader")
            .join("snapshots/permit.nola")
            .join(name);
        assert!(
            text.contains(&format!("snapshot {} is gone", home.display()))
                && text.contains(&format!("the store {} does not have it", machines.store)),
            "{text}"
        );
    };
    let traced = ask(&["trace", &records["permit.permit"]]).expect(2).json();
    assert_eq!(
        (&traced["replay"], &traced["differences"]),
        (&json!("not_possible"), &json!([])),
        "{traced:#}"
    );
    says_where(traced["not_possible"].as_str().unwrap());
    let verified = ask(&["verify", "--rebuild"]).expect(2).json();
    assert_eq!(
        (
            &verified["verified"]["problems"],
            &verified["rebuilt"]["replay"]
        ),
        (&json!([]), &json!("not_possible")),
        "{verified:#}"
    );
    assert_eq!(
        (
            &verified["rebuilt"]["differences"],
            verified["verified"]["missing"].as_array().unwrap().len()
        ),
        (&json!([]), 1),
        "{verified:#}"
    );
    says_where(verified["verified"]["missing"][0].as_str().unwrap());
    says_where(
        verified["rebuilt"]["not_possible"]["permit.nola"]
            .as_str()
            .unwrap(),
    );
    // The other snapshots are unchanged.
    ask(&["trace", &records["license.license"]]).expect(0);

    std::fs::write(&permits[0], [&kept[..], b"\n"].concat()).unwrap();
    let traced = ask(&["trace", &records["permit.permit"]]).expect(1).json();
    assert_eq!(traced["replay"], json!("mismatch"), "{traced:#}");
    assert!(
        traced["differences"][0]
            .as_str()
            .unwrap()
            .contains("is not what was fetched"),
        "{traced:#}"
    );
    let verified = ask(&["verify", "--rebuild"]).expect(1).json();
    assert!(
        verified["verified"]["problems"][0]
            .as_str()
            .unwrap()
            .contains("is not what was fetched"),
        "{verified:#}"
    );
    std::fs::write(&permits[0], &kept).unwrap();
    ask(&["verify", "--rebuild"]).expect(0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_members_of_a_record_are_read_from_an_archive_in_the_store() {
    let server = ObjectServer::start(&[]).await;
    tokio::task::spawn_blocking(move || {
        let place = Place::new();
        let size = many_registrants(&place);
        let machines = Machines::on(&place, &server);
        let plan = machines.plan();
        machines.work("executor", &plan);
        machines.commit("driver", &plan).expect(0);
        std::fs::create_dir_all(machines.home("reader")).unwrap();
        let key = server
            .keys()
            .into_iter()
            .find(|key| key.contains("sec.financial_value/") && key.ends_with(".parquet"))
            .unwrap();
        let file = place.root().join("part.parquet");
        std::fs::write(&file, server.object(&key)).unwrap();
        let record_id = rows_below(&file).into_keys().next().unwrap();
        server.given("");
        let traced = machines
            .ask("reader", &["trace", &record_id, "--store", &machines.store])
            .expect(0)
            .json();
        assert_eq!(traced["replay"], json!("match"), "{traced:#}");
        let given = server.given(FACTS);
        assert!(given > 0 && given < size / 2, "{given} of {size} bytes");
        machines
            .ask(
                "reader",
                &["verify", "--rebuild", "--store", &machines.store],
            )
            .expect(0);
    })
    .await
    .unwrap();
}

/// Requests that a server gets from untrusted clients.
#[tokio::test(flavor = "multi_thread")]
async fn server_replays_from_the_store_and_reports_a_missing_copy() {
    let place = Place::new();
    let (records, store) = tokio::task::block_in_place(|| {
        let machines = Machines::new(&place);
        (records(&release(&place, &machines)), machines.store)
    });
    let mut settings = settings(
        &place.root().join("reader"),
        Vec::new(),
        DeclarationFiles::built_in(),
    );
    settings.releases = Releases::open(&settings.home, Some(&store)).unwrap();
    for dataset_id in ["permit.permit", "license.license", "sec.financial_value"] {
        assert_eq!(
            replayed(&settings, &records[dataset_id]).await["verdict"],
            json!(Replay::Match),
            "{dataset_id}"
        );
    }
    in_store(&place, "permit.nola")
        .iter()
        .for_each(|file| std::fs::remove_file(file).unwrap());
    let reported = replayed(&settings, &records["permit.permit"]).await;
    assert_eq!(
        (&reported["verdict"], &reported["reason"]),
        (
            &Value::Null,
            &json!("this server has no copy of the publisher's file")
        ),
        "{reported:#}"
    );
}

async fn replayed(settings: &RunSettings, record_id: &str) -> Value {
    let record_id = record_id.parse().unwrap();
    let manifest = pubdata_run::current_manifest(settings).await.unwrap();
    for part in manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
        .filter(|part| part.may_hold(&record_id))
    {
        if let Ok(Some((columns, pointers))) = settings
            .releases
            .find_record(&manifest.release_id, part, &record_id)
            .await
        {
            let found = FoundRecord {
                manifest: &manifest,
                part,
                record_id: &record_id,
                columns: &columns,
                pointers: &pointers,
            };
            return serde_json::to_value(public_replay(settings, &found).await.unwrap()).unwrap();
        }
    }
    panic!("no record {record_id}");
}
