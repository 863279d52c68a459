//! The same operations on an S3-compatible store: configuration only. An in-process server speaks as much of the protocol as they use.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use pubdata::error::ErrorKind;
use pubdata::publish::{Outcome, prepare, promote, prune, rollback};
use pubdata::store::Releases;

use super::{NOW, Place, carried, contracts};

const STORE: &str = "PUBDATA_TEST_STORE";

/// Also the program that the test below starts in a process of its own, with the environment of an S3 store.
#[tokio::test]
async fn a_store_serves_publish_race_rollback_promote_and_prune() {
    let place = Place::new();
    let url = std::env::var(STORE).ok();
    let place = Place { releases: Releases::open(&place.home, url.as_deref()).unwrap(), ..place };
    let releases = &place.releases;
    assert_eq!(place.current().await, None);
    let first = place.publish(vec![place.built(2023, "one", 1), place.built(2024, "one", 1)]).await;
    let elsewhere = Place::beside(&place);
    let slow = prepare(releases, &contracts(), "nightly", vec![elsewhere.built(2024, "lost", 3)], false, "slow", NOW).await.unwrap();
    let second = place.publish(vec![carried(2023), place.built(2024, "two", 2)]).await;
    assert_eq!((second.outcome, second.parts_linked, second.parts_written), (Outcome::Published, 1, 1));
    let lost = slow.manifest().release_id.clone();
    assert_eq!(slow.publish(&elsewhere.home, releases).await.unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(place.current().await.as_ref(), Some(&second.release_id));
    assert_eq!(rollback(releases, "nightly", None, NOW).await.unwrap().unwrap().release_id, first.release_id);
    assert_eq!(promote(releases, "nightly", "stable", NOW).await.unwrap().unwrap().generation, 1);
    assert_eq!(releases.channels().await.unwrap(), ["nightly", "stable"]);
    let all: BTreeSet<_> = [first.release_id.clone(), second.release_id.clone(), lost.clone()].into_iter().collect();
    assert_eq!(releases.list().await.unwrap().into_iter().collect::<BTreeSet<_>>(), all);
    let pruned = prune(releases, 1, "2026-03-01T00:00:00Z".parse().unwrap()).await.unwrap();
    assert_eq!(pruned.releases.into_iter().collect::<BTreeSet<_>>(), [second.release_id, lost].into_iter().collect());
    let manifest = releases.manifest(&first.release_id).await.unwrap();
    for part in &manifest.datasets["test.place"].parts {
        pubdata::publish::verify_part(part, &releases.part(&first.release_id, part).await.unwrap()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_s3_store_needs_configuration_only() {
    let objects = Objects::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(axum::serve(listener, Router::new().fallback(answer).with_state(objects.clone())).into_future());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "publish::s3::a_store_serves_publish_race_rollback_promote_and_prune"])
        .env(STORE, "s3://bucket/some/prefix")
        .envs([("AWS_ENDPOINT", endpoint.as_str()), ("AWS_ALLOW_HTTP", "true"), ("AWS_REGION", "us-east-1")])
        .envs([("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("NO_PROXY", "127.0.0.1")]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    server.abort();
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let objects = objects.0.lock().unwrap();
    assert!(objects.keys().all(|key| key.starts_with("some/prefix/")), "{objects:?}");
    let channels: Vec<&String> = objects.keys().filter(|key| key.contains("channels")).collect();
    let expected = ["nightly/0000000001", "nightly/0000000002", "nightly/0000000003", "stable/0000000001"];
    assert_eq!(channels, expected.map(|name| format!("some/prefix/channels/{name}.json")).iter().collect::<Vec<_>>());
}

/// Objects of the one bucket, by key.
#[derive(Clone, Default)]
struct Objects(Arc<Mutex<BTreeMap<String, Bytes>>>);

const DATE: &str = "2026-01-01T00:00:00Z";

async fn answer(State(objects): State<Objects>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let mut objects = objects.0.lock().unwrap();
    let key = uri.path().trim_start_matches("/bucket").trim_start_matches('/').replace("%3D", "=");
    let query = uri.query().unwrap_or_default();
    if query.starts_with("delete") {
        let text = String::from_utf8(body.to_vec()).unwrap();
        let keys: Vec<&str> = text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()).collect();
        objects.retain(|key, _| !keys.contains(&key.as_str()));
        let deleted: String = keys.iter().map(|key| format!("<Deleted><Key>{key}</Key></Deleted>")).collect();
        return xml(&format!("<DeleteResult>{deleted}</DeleteResult>"));
    }
    if query.contains("list-type=2") {
        return list(&objects, query);
    }
    if method == Method::PUT {
        if headers.contains_key("if-none-match") && objects.contains_key(&key) {
            return status(StatusCode::PRECONDITION_FAILED);
        }
        let source = headers.get("x-amz-copy-source").map(|source| source.to_str().unwrap().trim_start_matches("bucket/").replace("%3D", "="));
        let content = match source.map(|source| objects.get(&source).cloned()) {
            Some(None) => return status(StatusCode::NOT_FOUND),
            Some(Some(content)) => content,
            None => body,
        };
        objects.insert(key, content);
        return Response::builder().header("etag", "\"1\"").body(Body::from("<CopyObjectResult><ETag>1</ETag></CopyObjectResult>")).unwrap();
    }
    match objects.get(&key) {
        Some(content) => {
            let response = Response::builder().header("etag", "\"1\"").header("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT");
            response.header("content-length", content.len()).body(if method == Method::HEAD { Body::empty() } else { content.clone().into() }).unwrap()
        }
        None => status(StatusCode::NOT_FOUND),
    }
}

fn list(objects: &BTreeMap<String, Bytes>, query: &str) -> Response<Body> {
    let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(|value| value.replace("%2F", "/"));
    let (prefix, delimiter) = (parameter("prefix").unwrap_or_default(), parameter("delimiter"));
    let (mut contents, mut folders) = (String::new(), BTreeSet::new());
    for (key, content) in objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
        match key[prefix.len()..].split_once('/') {
            Some((folder, _)) if delimiter.is_some() => {
                folders.insert(format!("<CommonPrefixes><Prefix>{prefix}{folder}/</Prefix></CommonPrefixes>"));
            }
            _ => contents += &format!("<Contents><Key>{key}</Key><LastModified>{DATE}</LastModified><ETag>1</ETag><Size>{}</Size></Contents>", content.len()),
        }
    }
    xml(&format!("<ListBucketResult>{contents}{}</ListBucketResult>", folders.into_iter().collect::<String>()))
}

fn xml(text: &str) -> Response<Body> {
    Response::builder().header("content-type", "application/xml").body(Body::from(text.to_owned())).unwrap()
}

fn status(code: StatusCode) -> Response<Body> {
    Response::builder().status(code).body(Body::empty()).unwrap()
}
