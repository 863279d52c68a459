use std::sync::Arc;
use std::time::Duration;

use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_fetch::{Fetcher, NoProgress, Outcome};

use super::desk::{Desk, table};
use pubdata_testing::publisher::Reply;

#[tokio::test]
async fn busy_server_is_retried_after_growing_waits() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![Reply::page(503), Reply::status(500), Reply::file(table(50))],
    );
    assert_eq!(
        desk.fetch_new(&desk.request("/table.dat")).await.sha256,
        Digest::sha256(&table(50))
    );
    let waits = desk.clock.waits();
    assert_eq!(waits.len(), 2);
    for (wait, whole) in waits
        .iter()
        .zip([Duration::from_secs(1), Duration::from_secs(2)])
    {
        assert!(
            *wait >= whole / 2 && *wait <= whole,
            "{wait:?} of {whole:?}"
        );
    }
}

#[tokio::test]
async fn retry_after_is_honoured_in_seconds_and_as_a_date() {
    let desk = Desk::new().await;
    let replies = vec![
        Reply::status(429).header("Retry-After", "7"),
        Reply::status(503).header("Retry-After", "Fri, 01 Jan 2100 00:00:40 GMT"),
        Reply::file(table(50)),
    ];
    desk.publisher.route("/table.dat", replies);
    desk.fetch_new(&desk.request("/table.dat")).await;
    assert_eq!(
        desk.clock.waits(),
        [Duration::from_secs(7), Duration::from_secs(40)]
    );
}

#[tokio::test]
async fn server_that_asks_for_a_long_wait_is_left_until_the_next_run() {
    let desk = Desk::new().await;
    let expected = "the server answered 429 Too Many Requests, and asks to wait 3600 s, longer than the maximum of 300 s";
    let error = desk
        .check_refused(
            &desk.request("/table.dat"),
            &table(50),
            Reply::status(429).header("Retry-After", "3600"),
            expected,
        )
        .await;
    assert_eq!(
        error.hint_text(),
        Some("run again later; the last good snapshot stays in use")
    );
    assert_eq!(
        (desk.publisher.all_requests().len(), desk.clock.waits()),
        (2, vec![])
    );
}

#[tokio::test]
async fn server_that_stays_down_is_given_up_after_the_last_try() {
    let desk = Desk::new().await;
    let expected = "the server answered 503 Service Unavailable (gave up after 3 tries)";
    let error = desk
        .check_refused(
            &desk.request("/table.dat"),
            &table(50),
            Reply::page(503),
            expected,
        )
        .await;
    assert_eq!(
        error.hint_text(),
        Some("run again later; the last good snapshot stays in use")
    );
    assert_eq!(desk.publisher.all_requests().len(), 1 + 3);
}

#[tokio::test]
async fn unreachable_server_is_named() {
    let desk = Desk::new().await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let error = desk
        .fail(&desk.request_url(&format!("http://{gone}/table.dat")))
        .await;
    let text = error.to_string();
    assert!(
        text.starts_with(&format!(
            "source `test.table`: http://{gone}/table.dat: no answer: "
        )),
        "{text}"
    );
    assert!(
        text.to_lowercase().contains("connection refused")
            && text.ends_with("(gave up after 3 tries)"),
        "{text}"
    );
    assert_eq!(
        (error.kind(), desk.stored(), desk.partials()),
        (ErrorKind::Fetch, vec![], vec![])
    );
}

#[tokio::test]
async fn server_that_falls_silent_is_dropped_and_the_rest_requested() {
    let mut desk = Desk::new().await;
    desk.settings.read_timeout = Duration::from_millis(200);
    let file = Reply::file(table(5000)).etag("\"v1\"");
    desk.publisher
        .route("/table.dat", vec![file.clone().stall_after(40_000), file]);
    assert_eq!(
        desk.fetch_new(&desk.request("/table.dat")).await.sha256,
        Digest::sha256(&table(5000))
    );
    assert_eq!(
        desk.publisher.all_requests()[1].header("range"),
        "bytes=40000-"
    );
}

#[tokio::test]
async fn refusal_is_not_retried() {
    let mut desk = Desk::new().await;
    let error = desk
        .check_refused(
            &desk.request("/table.dat"),
            &table(50),
            Reply::page(403),
            "the server answered 403 Forbidden",
        )
        .await;
    assert_eq!(
        error.hint_text(),
        Some("publishers refuse anonymous clients: set PUBDATA_CONTACT to an e-mail address")
    );
    assert_eq!(desk.publisher.all_requests().len(), 2);
    desk.settings.contact = Some("data@example.org".to_owned());
    let error = desk.fail(&desk.request("/table.dat")).await;
    assert_eq!(
        error.hint_text(),
        Some(
            "the publisher refuses this client or network, perhaps for a while; run again later, or fetch through --mirror"
        )
    );
}

#[tokio::test]
async fn client_identifies_itself() {
    let mut desk = Desk::new().await;
    desk.settings.contact = Some("Example Agency data@example.org".to_owned());
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50))]);
    desk.fetch_new(&desk.request("/table.dat")).await;
    let expected = format!(
        "pubdata/{} Example Agency data@example.org",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(
        desk.publisher.all_requests()[0].header("user-agent"),
        expected
    );
    let not_sendable = "the contact must be plain ASCII text on one line";
    let refused = "the contact has parentheses or is the address of a web page; publishers refuse programs that send one";
    for (contact, expected) in [
        ("two\nlines", not_sendable),
        ("Example (data@example.org)", refused),
        ("https://example.org/contact", refused),
        ("Example www.example.org", refused),
    ] {
        desk.settings.contact = Some(contact.to_owned());
        let error = Fetcher::new(desk.settings.clone(), desk.snapshots())
            .map(|_| ())
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str(), error.hint_text()),
            (
                ErrorKind::Config,
                expected,
                Some("set it to an e-mail address")
            )
        );
    }
}

#[tokio::test]
async fn requests_to_one_host_keep_their_interval() {
    for (rate, interval) in [
        (2.0, Duration::from_millis(500)),
        (500.0, Duration::from_millis(100)),
    ] {
        let mut desk = Desk::new().await;
        desk.settings
            .host_requests_per_second
            .insert("127.0.0.1".to_owned(), rate);
        let fetcher = desk.fetcher();
        for target in ["/a.dat", "/b.dat", "/c.dat"] {
            desk.publisher.route(target, vec![Reply::file(table(50))]);
            fetcher
                .fetch(&desk.request(target), &NoProgress)
                .await
                .unwrap();
        }
        assert_eq!(
            desk.clock.waits(),
            [interval, interval],
            "at {rate} requests per second"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_files_are_fetched_concurrently() {
    let desk = Desk::new().await;
    let fetcher = Arc::new(desk.fetcher());
    let fetches: Vec<_> = (1..=20)
        .map(|number| {
            let (target, fetcher) = (format!("/{number}.dat"), Arc::clone(&fetcher));
            desk.publisher
                .route(&target, vec![Reply::page(503), Reply::file(table(number))]);
            let request = desk.request(&target);
            tokio::spawn(async move { fetcher.fetch(&request, &NoProgress).await })
        })
        .collect();
    for (fetch, number) in fetches.into_iter().zip(1..) {
        let Outcome::New(snapshot) = fetch.await.unwrap().unwrap() else {
            panic!("file {number} is new")
        };
        assert_eq!(snapshot.sha256, Digest::sha256(&table(number)));
    }
    assert_eq!((desk.stored().len(), desk.partials()), (20, vec![]));
}
