use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_core::pipeline::AppToken;
use pubdata_fetch::Request;

use super::desk::{Desk, files_below, table};
use pubdata_testing::publisher::Reply;

const DATA: &str = "data.example.org";
const FILES: &str = "files.example.org";
const STORE: &str = "bucket.store.example.com";
const OTHER: &str = "elsewhere.example.net";

async fn desk() -> Desk {
    Desk::with_tls(&[DATA, FILES, STORE, OTHER]).await
}

/// Builds a request for a file of `data.example.org` whose source names the object store.
fn request(desk: &Desk) -> Request {
    Request {
        redirects: vec!["*.store.example.com".to_owned()],
        ..desk.request_url(&format!("https://{DATA}/table.dat"))
    }
}

fn to(location: &str) -> Reply {
    Reply::page(302).header("Location", location)
}

/// Checks that a redirect is refused with this text and that its target is not requested.
async fn check_refused(location: &str, expected: &str) {
    let desk = desk().await;
    desk.publisher.route("/table.dat", vec![to(location)]);
    let error = desk.fail(&request(&desk)).await;
    assert_eq!(
        error.to_string(),
        format!(
            "source `test.table`: https://{DATA}/table.dat: the server answered 302 Found and points to `{location}`, {expected}"
        )
    );
    assert!(error.hint_text().is_some() && error.kind() == ErrorKind::Fetch);
    assert_eq!(desk.requested(), [format!("{DATA}/table.dat")]);
    assert_eq!((desk.stored(), desk.partials()), (vec![], vec![]));
}

#[tokio::test]
async fn redirects_stay_in_the_publishers_domain_or_its_named_hosts() {
    for status in [301, 302, 303, 307, 308] {
        let desk = desk().await;
        desk.publisher.route(
            "/table.dat",
            vec![Reply::page(status).header("Location", "/new/table.dat?session=1")],
        );
        desk.publisher.route(
            "/new/table.dat?session=1",
            vec![to(&format!("//{FILES}/deep/table.dat"))],
        );
        desk.publisher.route(
            "/deep/table.dat",
            vec![to(&format!(
                "https://{STORE}/table.dat.bin?X-Amz-Signature=0123"
            ))],
        );
        desk.publisher.route(
            "/table.dat.bin?X-Amz-Signature=0123",
            vec![Reply::file(table(50)).etag("\"v1\"")],
        );
        let snapshot = desk.fetch_new(&request(&desk)).await;
        assert_eq!(
            (snapshot.sha256, snapshot.url.as_str()),
            (
                Digest::sha256(&table(50)),
                "https://data.example.org/table.dat"
            )
        );
        let through = [
            "https://data.example.org/new/table.dat",
            "https://files.example.org/deep/table.dat",
            "https://bucket.store.example.com/table.dat.bin",
        ];
        assert_eq!(snapshot.redirected_through, through);
        assert!(
            desk.publisher
                .all_requests()
                .iter()
                .all(|received| received.method == "GET")
        );
        for path in files_below(&desk.folder.path().join("home")) {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(
                !text.contains("Signature") && !text.contains("session"),
                "{}",
                path.display()
            );
        }
    }
}

/// Signed addresses change each time: the first address is requested, and the conditions go to the
/// server that gave them.
#[tokio::test]
async fn unchanged_file_behind_a_redirect_is_not_sent_again() {
    let desk = desk().await;
    let (first, second) = (
        format!("https://{STORE}/t?sign=1"),
        format!("https://{STORE}/t?sign=2"),
    );
    desk.publisher
        .route("/table.dat", vec![to(&first).etag("\"page\""), to(&second)]);
    for target in ["/t?sign=1", "/t?sign=2"] {
        desk.publisher
            .route(target, vec![Reply::file(table(50)).etag("\"v1\"")]);
    }
    let snapshot = desk.fetch_new(&request(&desk)).await;
    assert_eq!(desk.fetch_unchanged(&request(&desk)).await, snapshot);
    let received = desk.publisher.all_requests();
    let conditions: Vec<_> = received
        .iter()
        .map(|received| (received.target.as_str(), received.header("if-none-match")))
        .collect();
    assert_eq!(
        conditions,
        [
            ("/table.dat", ""),
            ("/t?sign=1", ""),
            ("/table.dat", ""),
            ("/t?sign=2", "\"v1\"")
        ]
    );

    // The file is now at its named address: headers of the object store do not apply there.
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50)).etag("\"v1\"")]);
    assert_eq!(
        desk.fetch_unchanged(&request(&desk))
            .await
            .redirected_through,
        Vec::<String>::new()
    );
    assert_eq!(desk.publisher.all_requests()[4].header("if-none-match"), "");
}

#[tokio::test]
async fn broken_transfer_behind_a_redirect_continues_there() {
    let desk = desk().await;
    let file = Reply::file(table(5000)).etag("\"v1\"");
    desk.publisher.route(
        "/table.dat",
        vec![
            to(&format!("https://{STORE}/t?sign=1")),
            to(&format!("https://{STORE}/t?sign=2")),
        ],
    );
    desk.publisher
        .route("/t?sign=1", vec![file.clone().cut_after(40_000)]);
    desk.publisher.route("/t?sign=2", vec![file]);
    assert_eq!(
        desk.fetch_new(&request(&desk)).await.sha256,
        Digest::sha256(&table(5000))
    );
    let received = desk.publisher.all_requests();
    let ranges: Vec<_> = received
        .iter()
        .map(|received| {
            (
                received.target.as_str(),
                received.header("range"),
                received.header("if-range"),
            )
        })
        .collect();
    assert_eq!(
        ranges,
        [
            ("/table.dat", "", ""),
            ("/t?sign=1", "", ""),
            ("/table.dat", "", ""),
            ("/t?sign=2", "bytes=40000-", "\"v1\"")
        ]
    );
}

#[tokio::test]
async fn partial_file_of_one_server_is_not_completed_from_another() {
    let desk = desk().await;
    desk.publisher.route(
        "/table.dat",
        vec![
            to(&format!("https://{STORE}/one")),
            to(&format!("https://{STORE}/two")),
        ],
    );
    desk.publisher.route(
        "/one",
        vec![Reply::file(table(5000)).etag("\"v1\"").cut_after(40_000)],
    );
    desk.publisher
        .route("/two", vec![Reply::file(table(4000)).etag("\"v1\"")]);
    assert_eq!(
        desk.fetch_new(&request(&desk)).await.sha256,
        Digest::sha256(&table(4000))
    );
    assert_eq!(desk.publisher.requests("/two")[0].header("range"), "");
}

#[tokio::test]
async fn redirect_to_another_domain_is_refused() {
    let reason = "which is in another domain";
    check_refused(&format!("https://{OTHER}/table.dat"), reason).await;
    check_refused("https://store.example.com/table.dat", reason).await;
}

#[tokio::test]
async fn redirect_to_this_machine_or_a_private_network_is_refused() {
    let reason = "which is this machine or in a private network";
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.1.1",
        "[fd00::1]",
        "[::ffff:192.168.0.1]",
    ] {
        check_refused(&format!("https://{host}/table.dat"), reason).await;
    }
}

#[tokio::test]
async fn redirect_from_https_to_http_is_refused() {
    check_refused(
        &format!("http://{DATA}/table.dat"),
        "which is not encrypted",
    )
    .await;
    check_refused("ftp://data.example.org/table.dat", "which is not https://").await;
}

#[tokio::test]
async fn redirect_loop_is_reported() {
    check_refused(
        "/table.dat",
        "which was requested already: the redirects form a loop",
    )
    .await;
    let desk = desk().await;
    desk.publisher.route("/table.dat", vec![to("/a")]);
    desk.publisher.route("/a", vec![to("/table.dat")]);
    let error = desk.fail(&request(&desk)).await;
    let expected = "source `test.table`: https://data.example.org/table.dat: redirected to https://data.example.org/a: the server answered 302 Found and points to \
                    `/table.dat`, which was requested already: the redirects form a loop";
    assert_eq!(error.to_string(), expected);
    assert_eq!(
        desk.publisher.all_requests().len(),
        2,
        "a redirect loop is not retried"
    );
}

#[tokio::test]
async fn five_redirects_are_followed_and_a_sixth_is_refused() {
    let desk = desk().await;
    desk.publisher.route("/table.dat", vec![to("/1")]);
    for step in 1..5 {
        desk.publisher
            .route(&format!("/{step}"), vec![to(&format!("/{}", step + 1))]);
    }
    desk.publisher
        .route("/5", vec![Reply::file(table(50)), to("/6")]);
    assert_eq!(
        desk.fetch_new(&request(&desk))
            .await
            .redirected_through
            .len(),
        5
    );
    let error = desk.fail(&request(&desk)).await;
    assert!(
        error
            .to_string()
            .ends_with("points to `/6`, the 6th redirect; no more than 5 are followed"),
        "{error}"
    );
    assert_eq!(desk.publisher.requests("/6"), []);
}

#[tokio::test]
async fn error_behind_redirects_names_the_last_server() {
    let desk = desk().await;
    desk.publisher.route(
        "/table.dat",
        vec![to(&format!("https://{FILES}/missing_key.html"))],
    );
    desk.publisher.route(
        "/missing_key.html",
        vec![Reply::page(200), Reply::page(403), Reply::page(404)],
    );
    let begin = "source `test.table`: https://data.example.org/table.dat: redirected to https://files.example.org/missing_key.html: ";
    for expected in [
        "the server sent a web page (content type text/html) in place of the file",
        "the server answered 403 Forbidden",
    ] {
        assert_eq!(
            desk.fail(&request(&desk)).await.to_string(),
            format!("{begin}{expected}")
        );
        assert_eq!(
            (desk.stored(), desk.partials()),
            (vec![], vec![]),
            "a page that asks for a key is not a file"
        );
    }
    assert_eq!(
        desk.fetch(&request(&desk)).await,
        pubdata_fetch::Outcome::Absent
    );
}

const SECRET: &str = "s3cr3t key";

fn with_secrets(desk: &mut Desk) -> Request {
    desk.settings.secret = |_| Some(SECRET.to_owned());
    let app_token = AppToken {
        header: "X-App-Token".to_owned(),
        variable: "TEST_TOKEN".to_owned(),
    };
    Request {
        url: format!("https://{DATA}/table.dat?key={{env:TEST_KEY}}"),
        app_token: Some(app_token),
        ..request(desk)
    }
}

#[tokio::test]
async fn secrets_go_only_to_the_publishers_server() {
    let mut desk = desk().await;
    let request = with_secrets(&mut desk);
    let sent = "/table.dat?key=s3cr3t%20key";
    desk.publisher
        .route(sent, vec![to("/own?key=s3cr3t%20key")]);
    desk.publisher.route(
        "/own?key=s3cr3t%20key",
        vec![to(&format!("https://{STORE}/t"))],
    );
    desk.publisher.route("/t", vec![Reply::file(table(50))]);
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(
        snapshot.redirected_through,
        [
            "https://data.example.org/own",
            "https://bucket.store.example.com/t"
        ]
    );
    let tokens: Vec<_> = desk
        .publisher
        .all_requests()
        .iter()
        .map(|received| received.header("x-app-token").to_owned())
        .collect();
    assert_eq!(tokens, [SECRET, SECRET, ""]);

    // A server puts the secret into the address of another host.
    for location in ["t?key=s3cr3t%20key", "t?s3cr3t%20key", "s3cr3t%20key/t"] {
        desk.publisher
            .route(sent, vec![to(&format!("https://{STORE}/{location}"))]);
        let error = desk.fail(&request).await;
        assert!(
            error
                .to_string()
                .ends_with("another host, with the secret in it")
                && !format!("{error:?}").contains("s3cr3t"),
            "{error:?}"
        );
    }
    for path in files_below(&desk.folder.path().join("home")) {
        assert!(
            !String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("s3cr3t"),
            "{}",
            path.display()
        );
    }
    assert_eq!(
        desk.publisher
            .all_requests()
            .iter()
            .filter(|received| received.header("host") == STORE)
            .count(),
        1
    );
}

#[tokio::test]
async fn unset_token_is_not_sent_and_an_invalid_one_is_named() {
    let mut desk = desk().await;
    let app_token = AppToken {
        header: "X-App-Token".to_owned(),
        variable: "TEST_TOKEN".to_owned(),
    };
    let request = Request {
        app_token: Some(app_token),
        ..request(&desk)
    };
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50))]);
    desk.settings.secret = |_| None;
    desk.fetch_new(&request).await;
    assert!(
        !desk.publisher.all_requests()[0]
            .headers
            .contains_key("x-app-token")
    );
    desk.settings.secret = |_| Some("two\nlines".to_owned());
    let error = desk.fail(&request).await;
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ErrorKind::Config,
            "source `test.table`: the value of TEST_TOKEN cannot be sent in a header"
        )
    );
}

#[tokio::test]
async fn mirror_redirects_within_itself() {
    let mut desk = Desk::new().await;
    desk.settings.mirrors = vec![desk.publisher.base_url()];
    desk.publisher
        .route("/.pubdata-mirror", vec![to("/of/mirror")]);
    desk.publisher
        .route("/of/mirror", vec![Reply::file("sample = true")]);
    desk.publisher.route(
        "/data.example.org/table.dat",
        vec![
            to("/moved/table.dat"),
            to("https://data.example.org/table.dat"),
        ],
    );
    desk.publisher
        .route("/moved/table.dat", vec![Reply::file(table(50))]);
    let snapshot = desk.fetch_new(&request(&desk)).await;
    assert_eq!(
        snapshot.redirected_through,
        [desk.publisher.url("/moved/table.dat")]
    );
    let error = desk.fail(&request(&desk)).await;
    assert!(
        error.to_string().ends_with(
            "points to `https://data.example.org/table.dat`, which is not on the mirror"
        ),
        "{error}"
    );
}
