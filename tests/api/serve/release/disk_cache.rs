//! Tests the disk cache for the parts of a bucket.

use std::process::{Child, Stdio};

use crate::serve::stream::program::free_address;
use crate::serve::stream::replicas::{ask, until};
use pubdata_testing::objects::ObjectServer;
use pubdata_testing::{Place, answer, files_below};

const STORE: &str = "s3://bucket/night";

/// All parts of a release are present before it is served. The next server on the same disk fetches
/// nothing again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_a_bucket_are_fetched_once() {
    let objects = ObjectServer::start(&[]).await;
    let environment = objects.environment();
    let test = move || {
        let place = Place::new();
        let command = |arguments: &[&str]| {
            let mut command = place.command(arguments);
            command
                .args(["--store", STORE])
                .envs(environment.iter().cloned());
            command
        };
        let mirror = place.mirror().display().to_string();
        answer(&mut command(&[
            "run",
            "zip",
            "census.gazetteer",
            "--mirror",
            &mirror,
        ]))
        .expect(0);
        let made = answer(&mut command(&[
            "keys", "create", "--name", "test", "--scopes", "general", "--json",
        ]))
        .expect(0)
        .json();
        let key = made["key"].as_str().unwrap().to_owned();
        let parts = objects
            .keys()
            .iter()
            .filter(|key| key.contains("/releases/") && key.ends_with(".parquet"))
            .count();
        objects.read();
        for fetched in [parts, 0] {
            let address = free_address();
            let mut serve = command(&["serve", "--bind", &address.to_string()]);
            let mut server: Child = serve
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            until("it is ready", || {
                ask(address, "/readyz", &key).is_some_and(|(status, _)| status == 200)
            });
            assert_eq!(files_below(&place.home().join("state/parts")).len(), parts);
            assert_eq!(ask(address, "/v1/zip/90210", &key).unwrap().0, 200);
            server.kill().unwrap();
            server.wait().unwrap();
            assert_eq!(
                objects
                    .read()
                    .iter()
                    .filter(|key| key.ends_with(".parquet"))
                    .count(),
                fetched
            );
        }
    };
    tokio::task::spawn_blocking(test).await.unwrap();
}
