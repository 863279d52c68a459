use pubdata_core::ids::Digest;
use pubdata_fetch::{FetchSettings, Outcome, Request};

use super::desk::{Desk, files_below};
use pubdata_testing::publisher::Reply;

const SECRET: &str = "s3cr3t/key";
const SENT: &str = "s3cr3t%2Fkey";

async fn desk() -> (Desk, Request) {
    let mut desk = Desk::new().await;
    desk.settings.secret = |name| (name == "TEST_KEY").then(|| SECRET.to_owned());
    let mut request = Request {
        is_json: true,
        ..desk.request("/data?get=NAME&key=")
    };
    request.url.push_str("{env:TEST_KEY}&for=county:*");
    (desk, request)
}

/// Checks that no file of the home contains the secret in any form.
fn check_nothing_kept(desk: &Desk) {
    for path in files_below(&desk.folder.path().join("home")) {
        let text = format!(
            "{}\n{}",
            path.display(),
            String::from_utf8_lossy(&std::fs::read(&path).unwrap())
        );
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

#[tokio::test]
async fn secret_is_sent_and_written_nowhere() {
    let (mut desk, request) = desk().await;
    desk.settings.tries = 1;
    let sent = format!("/data?get=NAME&key={SENT}&for=county:*");
    let file = Reply::file("[[\"NAME\"]]").etag("\"v1\"");
    desk.publisher
        .route(&sent, vec![file.clone().cut_after(4), file]);
    let error = desk.fail(&request).await;
    assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
    assert_eq!(desk.partials(), [("part".to_owned(), 4)]);
    check_nothing_kept(&desk);
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(
        (snapshot.url.clone(), snapshot.sha256),
        (
            desk.publisher.url("/data?get=NAME&for=county:*"),
            Digest::sha256(b"[[\"NAME\"]]")
        )
    );
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    assert_eq!(desk.publisher.requests(&sent).len(), 3);
    check_nothing_kept(&desk);
}

#[tokio::test]
async fn url_without_its_secret_is_not_requested() {
    let (mut desk, request) = desk().await;
    desk.settings.secret = |_| None;
    assert_eq!(
        desk.fetch(&request).await,
        Outcome::NotConfigured {
            variable: "TEST_KEY".to_owned()
        }
    );
    assert_eq!(
        (
            desk.publisher.all_requests(),
            desk.stored(),
            desk.partials()
        ),
        (vec![], vec![], vec![])
    );
}

#[tokio::test]
async fn server_that_repeats_the_secret_does_not_get_it_shown() {
    let (desk, request) = desk().await;
    let sent = format!("/data?get=NAME&key={SENT}&for=county:*");
    let location = format!("https://elsewhere.example/data?key={SENT}&plain={SECRET}");
    desk.publisher.route(
        &sent,
        vec![Reply::status(302).header("Location", &location)],
    );
    let error = desk.fail(&request).await;
    assert_eq!(
        desk.text(&error),
        "source `test.table`: PUBLISHER/data?get=NAME&for=county:*: the server answered 302 Found and points to \
         `https://elsewhere.example/data?key={env:TEST_KEY}&plain={env:TEST_KEY}`, which is in another domain"
    );
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let error = desk
        .fail(&desk.request_url(&format!("http://{gone}/data?key={{env:TEST_KEY}}")))
        .await;
    assert!(
        error.to_string().contains("no answer") && !format!("{error:?}").contains("s3cr3t"),
        "{error}"
    );
    check_nothing_kept(&desk);
}

#[tokio::test]
async fn mirror_needs_no_secret() {
    let (mut desk, request) = desk().await;
    desk.settings.secret = |_| None;
    let mirror = desk.new_folder("mirror");
    let host = desk
        .publisher
        .base_url()
        .trim_start_matches("http://")
        .to_owned();
    std::fs::create_dir_all(mirror.join(&host)).unwrap();
    std::fs::write(
        mirror.join(&host).join("data@get=NAME&for=county:*"),
        "[[\"NAME\"]]",
    )
    .unwrap();
    desk.settings.mirrors = vec![mirror.display().to_string()];
    assert_eq!(
        desk.fetch_new(&request).await.url,
        desk.publisher.url("/data?get=NAME&for=county:*")
    );
    assert_eq!(desk.publisher.all_requests(), []);
}

#[test]
fn secrets_come_from_the_environment_unless_they_are_empty() {
    let secret = FetchSettings::default().secret;
    assert_eq!(secret("PATH"), std::env::var("PATH").ok());
    assert_eq!(secret("PUBDATA_TEST_NO_SUCH_VARIABLE"), None);
}
