use std::time::Duration;

use pubdata_core::ids::Digest;

use super::desk::{Desk, table};
use pubdata_testing::publisher::Reply;

fn seconds(waits: &[Duration]) -> Vec<u64> {
    waits.iter().map(Duration::as_secs).collect()
}

#[tokio::test]
async fn file_in_preparation_is_awaited_as_the_server_asks_or_with_backoff() {
    let mut desk = Desk::new().await;
    desk.settings.tries = 1;
    let pending = Reply::body(202, "{\"status\":\"Pending\"}").content_type("application/json");
    let replies = vec![
        Reply::status(202),
        pending.clone(),
        pending.header("Retry-After", "7"),
        Reply::page(202).header("Retry-After", "0"),
        Reply::status(202),
        Reply::file(table(50)),
    ];
    desk.publisher.route("/table.dat", replies);
    assert_eq!(
        desk.fetch_new(&desk.request("/table.dat")).await.sha256,
        Digest::sha256(&table(50))
    );
    assert_eq!(seconds(&desk.clock.waits()), [10, 20, 7, 1, 60]);
    assert_eq!(desk.partials(), []);
}

#[tokio::test]
async fn failure_while_a_file_is_prepared_counts_as_one_try() {
    let desk = Desk::new().await;
    let mut replies = Vec::new();
    for _ in 0..2 {
        replies.extend([Reply::status(202), Reply::page(503)]);
    }
    replies.push(Reply::file(table(50)));
    desk.publisher.route("/table.dat", replies);
    desk.fetch_new(&desk.request("/table.dat")).await;
    assert_eq!(desk.publisher.all_requests().len(), 5);
}

#[tokio::test]
async fn waiting_for_a_file_in_preparation_ends() {
    let mut desk = Desk::new().await;
    desk.settings.patience.requests = 4;
    let expected = "the publisher is still making the file after 4 requests in 70 s (202 Accepted)";
    let error = desk
        .check_refused(
            &desk.request("/table.dat"),
            &table(50),
            Reply::status(202),
            expected,
        )
        .await;
    assert_eq!(
        error.hint_text(),
        Some("run again later; the last good snapshot stays in use")
    );
    assert_eq!(desk.publisher.all_requests().len(), 1 + 4);

    let mut desk = Desk::new().await;
    desk.settings.patience.total = Duration::from_secs(100);
    let bad = Reply::status(202).header("Retry-After", "45");
    desk.check_refused(
        &desk.request("/table.dat"),
        &table(50),
        bad,
        "the publisher is still making the file after 3 requests in 90 s (202 Accepted)",
    )
    .await;
    assert_eq!(seconds(&desk.clock.waits()), [45, 45]);
}

#[tokio::test]
async fn server_that_says_never_is_not_awaited() {
    let desk = Desk::new().await;
    for never in [
        u64::MAX.to_string(),
        "Fri, 01 Jan 9999 00:00:00 GMT".to_owned(),
    ] {
        let replies = vec![
            Reply::status(202),
            Reply::status(202).header("Retry-After", &never),
        ];
        desk.publisher.route("/table.dat", replies);
        let error = desk.fail(&desk.request("/table.dat")).await.to_string();
        assert!(
            error.contains("the publisher is still making the file after 2 requests in 10 s"),
            "{error}"
        );
    }
}
