//! Has `mlcroissant` read every dataset description of the fixtures' release from the server, as
//! programs for machine learning do.

use std::process::Command;

use pubdata_store::Releases;
use serde_json::{Value, json};

use super::api::Server;
use crate::serve::Served;
use pubdata_testing::peers::{python, script};
use pubdata_testing::project;

#[tokio::test(flavor = "multi_thread")]
async fn mlcroissant_validates_every_document_and_reads_the_parts() {
    let Some(python) = python(&["mlcroissant", "pyarrow", "rdflib"]) else {
        return;
    };
    let served = Served::new().await;
    let folder = tempfile::tempdir().unwrap();
    let manifest = Releases::open(&served.home, None)
        .unwrap()
        .present("nightly")
        .await
        .unwrap()
        .unwrap();
    let release = served
        .home
        .root()
        .join("releases")
        .join(manifest.release_id.as_str());
    let mut cases: Vec<Value> = Vec::new();
    for (dataset_id, dataset) in &manifest.datasets {
        let document = folder.path().join(format!("{dataset_id}.json"));
        std::fs::write(
            &document,
            served
                .get(&format!("/v1/datasets/{dataset_id}/croissant.json"))
                .await
                .bytes,
        )
        .unwrap();
        // The layout that a user has after downloading the parts.
        std::fs::create_dir_all(folder.path().join(dataset_id)).unwrap();
        for part in &dataset.parts {
            std::fs::copy(release.join(&part.path), folder.path().join(&part.path)).unwrap();
        }
        let files: serde_json::Map<String, Value> = dataset
            .parts
            .iter()
            .map(|part| (part.path.clone(), json!(folder.path().join(&part.path))))
            .collect();
        let parts: Vec<Value> = dataset
            .parts
            .iter()
            .map(|part| json!({"path": part.path, "sha256": part.sha256.to_string()}))
            .collect();
        cases.push(json!({"document": document, "files": files, "parts": parts}));
    }
    let rows: u64 = manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
        .map(|part| part.rows)
        .sum();
    assert!(
        rows > 100
            && manifest
                .datasets
                .values()
                .any(|dataset| dataset.parts.len() > 100),
        "{rows}"
    );
    let server = Server::start(served.home.root(), &project(""));
    let list = folder.path().join("cases.json");
    std::fs::write(&list, json!(cases).to_string()).unwrap();
    let output = tokio::task::block_in_place(|| {
        Command::new(&python)
            .arg(script("read_croissant.py"))
            .arg(&list)
            .arg(format!("http://{}", server.address))
            .output()
            .unwrap()
    });
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let counted: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        counted,
        json!({"documents": cases.len(), "rows": rows, "linked": manifest.datasets["geo.zcta_metric"].parts.len()})
    );
}
