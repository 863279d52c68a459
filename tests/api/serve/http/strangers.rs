//! Tests answers without a key: none reveals where the server keeps its files.

use axum::body::Body;
use axum::http::Request;
use pubdata_core::issue::SourceFinding;
use pubdata_serve::openapi_document;

use crate::serve::World;
use crate::serve::home::publish_changed;

/// Words in the names of folders that could leak into these answers; the home's own folder has the
/// first two.
const FOLDERS: [&str; 6] = [
    "ünd",
    "(old) home",
    "sëcret",
    "földer of",
    "ëlsewhere",
    "/srv",
];

async fn ask(world: &World, method: &str, path: &str) -> String {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    let answer = world.send(request.body(Body::from("{}")).unwrap()).await;
    let headers: Vec<&str> = answer
        .headers
        .values()
        .filter_map(|value| value.to_str().ok())
        .collect();
    format!(
        "{} {}\n{}",
        answer.status,
        headers.join("\n"),
        String::from_utf8_lossy(&answer.bytes)
    )
}

#[tokio::test]
async fn no_answer_without_a_key_names_a_server_folder() {
    let world = World::new().await;
    let home = world.home.root().display().to_string();
    assert!(
        FOLDERS[..2].iter().all(|word| home.contains(word)),
        "{home}"
    );
    publish_changed(&world.home, &world.release_id, |manifest| {
        let reason =
            format!("every finding is in {home}/sëcret/issues.jsonl; cannot read /srv/földer of files/a.csv: gone; file:///srv/ëlsewhere/b.csv is empty");
        for task in manifest.tasks.values_mut() {
            task.is_stale = true;
            task.stale_reason = Some(reason.clone());
            task.findings = vec![SourceFinding::new("test.places_file", "refused", format!("cannot open {home}/sëcret/c.csv: no room"))];
        }
        for part in manifest.datasets.values_mut().flat_map(|dataset| &mut dataset.parts) {
            part.report.notes = vec![format!("see ({home}/sëcret/d.csv)")];
        }
    })
    .await;
    world.service.refresh().await.unwrap();
    let coverage = ask(&world, "GET", "/v1/coverage").await;
    for reported in [
        "every finding is in issues.jsonl; cannot read a.csv: gone; b.csv is empty",
        "cannot open c.csv: no room",
        "see (d.csv)",
    ] {
        assert!(coverage.contains(reported), "`{reported}` appears");
    }
    let api = openapi_document(&world.contracts, None);
    let mut requested: Vec<(String, String)> = [
        "/v1/openapi.json",
        "/docs",
        "/",
        "/healthz",
        "/readyz",
        "/metrics",
        "/v1/stream",
        "/nothing",
        "/problems/x",
    ]
    .map(|path| ("GET".to_owned(), path.to_owned()))
    .into();
    requested.extend(
        [
            "/v1/datasets/geo.county",
            "/v1/releases/current",
            "/v1/releases/current/changes",
        ]
        .map(|path| ("GET".to_owned(), path.to_owned())),
    );
    for (path, methods) in api["paths"].as_object().unwrap() {
        requested.extend(
            methods
                .as_object()
                .unwrap()
                .keys()
                .map(|method| (method.to_uppercase(), path.replace(['{', '}'], ""))),
        );
    }
    for (method, path) in requested {
        let answer = ask(&world, &method, &path).await;
        let reported: Vec<&&str> = FOLDERS
            .iter()
            .filter(|word| answer.contains(**word))
            .collect();
        assert!(
            reported.is_empty() && !answer.contains(&home),
            "{method} {path} reveals {reported:?}: {answer:.2000}"
        );
    }
}

#[tokio::test]
async fn server_failures_are_reported_without_folder_names() {
    let world = World::new().await;
    std::fs::write(world.home.keys_file(), "not a keys file").unwrap();
    std::fs::remove_dir_all(world.home.root().join("releases")).unwrap();
    for path in [
        "/v1/coverage",
        "/v1/coverage?release=r00000000000000000000",
        "/v1/geo-demographics/locations/90210",
        "/v1/admin/keys",
        "/readyz",
    ] {
        let answer = ask(&world, "GET", path).await;
        assert!(
            !answer.contains("ünd") && !answer.contains("keys.json"),
            "{path}: {answer}"
        );
        let known = world.get(path).await;
        assert!(
            !String::from_utf8_lossy(&known.bytes).contains("keys.json"),
            "{path} with a key"
        );
    }
}
