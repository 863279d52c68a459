//! Checks where a body ends, and what proves it complete if no length was announced.

use super::desk::{Desk, table};
use pubdata_testing::publisher::Reply;

/// Returns true if the state of the URL records that its completeness is unproven.
fn is_doubted(desk: &Desk, url: &str) -> bool {
    desk.snapshots()
        .known_url("test.table", url)
        .unwrap()
        .is_length_unknown
}

#[tokio::test]
async fn chunked_body_without_its_last_chunk_is_refused() {
    let mut desk = Desk::new().await;
    desk.settings.tries = 1;
    desk.publisher.route(
        "/table.dat",
        vec![Reply::body(200, table(500)).chunked().cut_after(1_000)],
    );
    let error = desk.fail(&desk.request("/table.dat")).await;
    assert!(
        desk.text(&error).contains("the transfer broke after"),
        "{}",
        desk.text(&error)
    );
    assert_eq!(desk.stored(), []);
}

#[tokio::test]
async fn body_that_ends_with_the_connection_is_doubted_unless_its_line_ends() {
    let whole = table(500);
    assert!(whole.ends_with(b"\n"));
    for (kept, expected) in [
        (whole.len(), false),
        (whole.len() - 5, true),
        (whole.len() / 2 + 3, true),
    ] {
        let desk = Desk::new().await;
        desk.publisher.route(
            "/table.dat",
            vec![
                Reply::body(200, whole.clone())
                    .without_length()
                    .cut_after(kept),
            ],
        );
        let snapshot = desk.fetch_new(&desk.request("/table.dat")).await;
        assert_eq!(
            (snapshot.size_bytes, is_doubted(&desk, &snapshot.url)),
            (kept as u64, expected),
            "{kept}"
        );
    }
}

#[tokio::test]
async fn body_with_a_length_or_chunks_is_complete_whatever_its_last_line() {
    let without_end = table(500)[..1_005].to_vec();
    for reply in [
        Reply::body(200, without_end.clone()),
        Reply::body(200, without_end.clone()).chunked(),
    ] {
        let desk = Desk::new().await;
        desk.publisher.route("/table.dat", vec![reply]);
        let snapshot = desk.fetch_new(&desk.request("/table.dat")).await;
        assert!(!is_doubted(&desk, &snapshot.url));
    }
}
