use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_fetch::Request;

use super::desk::{Desk, table};
use pubdata_testing::publisher::{Reply, archive, bomb, corrupt_archive};

const NOT_THE_FILE: &str = "open the URL in a browser: the publisher may have moved the file or be down; the last good snapshot stays in use";

fn json() -> &'static [u8] {
    br#"[["NAME","S1701_C03_001E","county"],["Los Angeles County","13.6","037"]]"#
}

fn as_archive(request: Request) -> Request {
    Request {
        is_archive: true,
        ..request
    }
}

fn as_json(request: Request) -> Request {
    Request {
        is_json: true,
        ..request
    }
}

#[tokio::test]
async fn web_page_with_status_200_is_never_a_snapshot() {
    let page = "<!DOCTYPE html>\n<html><body>We will be back.</body></html>";
    let by_type = "the server sent a web page (content type text/html) in place of the file";
    let by_bytes = "the file is a web page (it begins as HTML)";
    for (bad, expected) in [
        (Reply::page(200), by_type),
        (Reply::body(200, page).content_type("TEXT/HTML"), by_type),
        (Reply::body(200, page).content_type("text/plain"), by_bytes),
        (
            Reply::body(200, page)
                .content_type("application/octet-stream")
                .etag("\"new\""),
            by_bytes,
        ),
        (Reply::body(200, page), by_bytes),
        (
            Reply::body(200, format!("\u{feff}\r\n  {}", page.to_lowercase())),
            by_bytes,
        ),
        (Reply::body(200, page).without_length(), by_bytes),
        (Reply::page(200).cut_after(20), by_type),
    ] {
        let desk = Desk::new().await;
        let error = desk
            .check_refused(
                &desk.request("/table.dat"),
                &table(50),
                bad.clone(),
                expected,
            )
            .await;
        assert_eq!(error.hint_text(), Some(NOT_THE_FILE));
        assert_eq!(
            desk.publisher.all_requests().len(),
            2,
            "a page is not requested again"
        );
        let whole_archive = archive(&[("table.csv", &table(50))]);
        desk.check_refused(
            &as_archive(desk.request("/table.zip")),
            &whole_archive,
            bad.clone(),
            expected,
        )
        .await;
        desk.check_refused(&as_json(desk.request("/table")), json(), bad, expected)
            .await;
    }
}

#[tokio::test]
async fn response_that_cannot_be_the_file_is_refused_by_its_headers() {
    let desk = Desk::new().await;
    let request = desk.request("/table.dat");
    let picture = Reply::body(200, table(9)).content_type("image/png");
    desk.check_refused(
        &request,
        &table(50),
        picture,
        "the server sent content type image/png in place of the file",
    )
    .await;
    let packed = Reply::body(200, table(9)).header("Content-Encoding", "zstd");
    desk.check_refused(
        &request,
        &table(50),
        packed,
        "the server sent the file with content encoding zstd, which was not requested",
    )
    .await;
    let unasked = Reply::body(206, table(9)).header("Content-Range", "bytes 0-9/10");
    desk.check_refused(
        &request,
        &table(50),
        unasked,
        "the server answered 206 Partial Content",
    )
    .await;
}

#[tokio::test]
async fn careless_content_types_are_accepted() {
    let desk = Desk::new().await;
    for (target, content_type) in [
        ("/a.dat", "application/octet-stream"),
        ("/b.dat", "text/plain; charset=utf-8"),
        ("/c.dat", "application/zip"),
        ("/d.dat", ""),
    ] {
        desk.publisher.route(
            target,
            vec![Reply::file(table(50)).content_type(content_type)],
        );
        assert_eq!(
            desk.fetch_new(&desk.request(target)).await.sha256,
            Digest::sha256(&table(50)),
            "{content_type}"
        );
    }
}

#[tokio::test]
async fn refused_census_key_is_named_and_its_page_not_followed() {
    for page in ["missing_key.html", "invalid_key.html"] {
        let mut desk = Desk::new().await;
        desk.settings.secret = |_| Some("key-0123".to_owned());
        let target = "/data/2023/acs/acs5/subject?get=NAME&key=key-0123";
        desk.publisher.route(target, vec![Reply::key_error(page)]);
        let mut request = as_json(desk.request("/data/2023/acs/acs5/subject?get=NAME"));
        request.url.push_str("&key={env:CENSUS_API_KEY}");
        let error = desk.fail(&request).await;
        assert_eq!(
            desk.text(&error),
            "source `test.table`: PUBLISHER/data/2023/acs/acs5/subject?get=NAME: the API key in CENSUS_API_KEY was refused"
        );
        assert!(
            error
                .hint_text()
                .unwrap()
                .contains("unset CENSUS_API_KEY to go without these files")
        );
        assert_eq!(
            (
                desk.publisher.all_requests().len(),
                desk.stored(),
                desk.partials()
            ),
            (1, vec![], vec![])
        );
    }
    let desk = Desk::new().await;
    desk.publisher.route(
        "/data",
        vec![Reply::body(200, json()).header("X-DataWebAPI-KeyError", "1")],
    );
    let error = desk.fail(&desk.request("/data")).await;
    assert_eq!(
        desk.text(&error),
        "source `test.table`: PUBLISHER/data: the server asks for an API key, and the declared URL has none"
    );
    assert_eq!(desk.stored(), []);
}

#[tokio::test]
async fn archive_must_begin_and_end_as_one() {
    let desk = Desk::new().await;
    let request = as_archive(desk.request("/table.zip"));
    let whole = archive(&[("table.csv", &table(500))]);
    let text = Reply::body(200, "GEO_ID|E001\n").content_type("application/zip");
    desk.check_refused(
        &request,
        &whole,
        text,
        "the file is not a ZIP archive: it begins with `GEO_ID|E001\\n`",
    )
    .await;
    let no_end = "the ZIP archive has no end record: it is cut short or damaged";
    desk.check_refused(
        &request,
        &whole,
        Reply::body(200, whole[..whole.len() - 1].to_vec()),
        no_end,
    )
    .await;
    // The server declares no length, so only the bytes reveal it.
    desk.check_refused(
        &request,
        &whole,
        Reply::body(200, whole.clone())
            .cut_after(whole.len() / 2)
            .without_length(),
        no_end,
    )
    .await;
    // A truncated archive that contains a whole one without compression.
    let inner = archive(&[("inner.csv", b"a")]);
    let mut nested = whole[..200].to_vec();
    nested.extend(&inner[..inner.len() - 6]);
    nested.extend([0xFF, 0xFF, 0, 0, 0, 0]);
    desk.check_refused(&request, &whole, Reply::body(200, nested), no_end)
        .await;
}

/// The decoder checks checksums and inflation: it reads every member and stops at the first fault.
#[tokio::test]
async fn content_of_an_archive_is_not_inspected() {
    let desk = Desk::new().await;
    for (target, bytes) in [
        ("/corrupt.zip", corrupt_archive("table.csv", &table(500))),
        ("/bomb.zip", bomb("table.csv", 5_000_000)),
    ] {
        desk.publisher
            .route(target, vec![Reply::file(bytes.clone())]);
        assert_eq!(
            desk.fetch_new(&as_archive(desk.request(target)))
                .await
                .sha256,
            Digest::sha256(&bytes)
        );
    }
}

#[tokio::test]
async fn json_must_begin_and_end_as_such() {
    let desk = Desk::new().await;
    let request = as_json(desk.request("/table"));
    let text = Reply::body(200, "error: unknown/unsupported geography heirarchy");
    desk.check_refused(
        &request,
        json(),
        text,
        "the file is not JSON: it begins with `error: unknown/unsupport`",
    )
    .await;
    let cut = Reply::body(200, json()[..40].to_vec());
    desk.check_refused(
        &request,
        json(),
        cut,
        "the JSON text is cut short: its last bracket is missing",
    )
    .await;
    let wrong_bracket = Reply::body(200, "[[1}");
    desk.check_refused(
        &request,
        json(),
        wrong_bracket,
        "the JSON text is cut short: its last bracket is missing",
    )
    .await;
    desk.publisher
        .route("/spaced", vec![Reply::file("\u{feff} \n{\"a\": 1}\r\n")]);
    desk.fetch_new(&as_json(desk.request("/spaced"))).await;
}

#[tokio::test]
async fn service_error_with_status_200_is_refused() {
    let desk = Desk::new().await;
    let request = as_json(desk.request("/query"));
    let arcgis = r#"{"error":{"code":400,"message":"Cannot perform query. Invalid query parameters.","details":["'outFields' is invalid"]}}"#;
    let ckan =
        r#"{"help":"","success":false,"error":{"__type":"Not Found Error","message":"Not found"}}"#;
    for (body, expected) in [
        (
            arcgis,
            "the server answered 200 OK and reports an error: 400 Cannot perform query. Invalid query parameters. 'outFields' is invalid",
        ),
        (
            ckan,
            "the server answered 200 OK and reports an error: Not Found Error Not found",
        ),
    ] {
        desk.check_refused(
            &request,
            json(),
            Reply::body(200, body)
                .content_type("application/json")
                .etag("\"error\""),
            expected,
        )
        .await;
    }
    let busy = Reply::body(
        200,
        r#"{"error":{"code":504,"message":"Your request has timed out.","details":[]}}"#,
    );
    desk.publisher
        .route("/busy", vec![busy.clone(), busy, Reply::file(json())]);
    assert_eq!(
        desk.fetch_new(&as_json(desk.request("/busy"))).await.sha256,
        Digest::sha256(json()),
        "a busy service is asked again"
    );
    // A file that is not JSON is not inspected.
    desk.publisher
        .route("/table.dat", vec![Reply::file(arcgis)]);
    desk.fetch_new(&desk.request("/table.dat")).await;
}

#[tokio::test]
async fn empty_file_is_refused() {
    let desk = Desk::new().await;
    desk.check_refused(
        &desk.request("/table.dat"),
        &table(50),
        Reply::status(200),
        "the file is empty",
    )
    .await;
    desk.check_refused(
        &desk.request("/table.dat"),
        &table(50),
        Reply::status(200).without_length(),
        "the file is empty",
    )
    .await;
}

#[tokio::test]
async fn file_below_its_floor_is_refused() {
    let desk = Desk::new().await;
    let request = Request {
        min_bytes: 1000,
        ..desk.request("/table.dat")
    };
    let short = table(9);
    let expected = format!(
        "the file has {} bytes, fewer than the 1000 declared as `min_bytes`",
        short.len()
    );
    desk.check_refused(&request, &table(500), Reply::body(200, short), &expected)
        .await;
}

#[tokio::test]
async fn file_above_its_ceiling_is_refused_before_it_is_read() {
    let desk = Desk::new().await;
    let request = Request {
        max_bytes: 2000,
        ..desk.request("/table.dat")
    };
    // The body stalls: reading it would end in a timeout, with another message.
    let large = Reply::body(200, table(500)).stall_after(10);
    let expected = format!(
        "the file is too large: {} bytes or more, above the 2000 declared as `max_bytes`",
        table(500).len()
    );
    let error = desk
        .check_refused(&request, &table(50), large, &expected)
        .await;
    assert_eq!(
        error.hint_text(),
        Some("if the publisher's file has grown, raise `max_bytes` in the declaration")
    );
}

#[tokio::test]
async fn endless_body_is_dropped_at_the_ceiling() {
    let desk = Desk::new().await;
    let request = Request {
        max_bytes: 300_000,
        ..desk.request("/table.dat")
    };
    desk.publisher.route(
        "/table.dat",
        vec![
            Reply::file(table(50)),
            Reply::body(200, table(500)).endless(),
        ],
    );
    desk.fetch_new(&request).await;
    let error = desk.fail(&request).await;
    let text = desk.text(&error);
    let size: u64 = text
        .strip_prefix("source `test.table`: PUBLISHER/table.dat: the file is too large: ")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(size > 300_000 && size < 3_000_000, "{text}");
    assert_eq!(
        (desk.stored_bytes(), desk.partials()),
        (vec![table(50)], vec![])
    );
    assert_eq!(desk.publisher.all_requests().len(), 2);
}

#[tokio::test]
async fn other_statuses_are_errors_that_name_the_status() {
    let desk = Desk::new().await;
    for (status, expected) in [
        (204, "204 No Content"),
        (400, "400 Bad Request"),
        (401, "401 Unauthorized"),
        (418, "418 I'm a teapot"),
        (501, "501 Not Implemented"),
    ] {
        desk.check_refused(
            &desk.request("/table.dat"),
            &table(50),
            Reply::status(status),
            &format!("the server answered {expected}"),
        )
        .await;
    }
}

#[tokio::test]
async fn only_declared_kinds_of_urls_are_requested() {
    let desk = Desk::new().await;
    for (url, expected) in [
        (
            "http://data.example/table.dat",
            "URL http://data.example/table.dat: `http` is not supported",
        ),
        (
            "ftp://data.example/table.dat",
            "URL ftp://data.example/table.dat: `ftp` is not supported",
        ),
        ("table.dat", "URL table.dat: relative URL without a base"),
        (
            "file://elsewhere/table.dat",
            "URL file://elsewhere/table.dat: not the URL of a file on this machine",
        ),
        (
            "https://data.example/{env:KEY}/t",
            "URL https://data.example/{env:KEY}/t: a secret can only be the whole value of a query parameter",
        ),
        (
            "bundled:census/gone.csv",
            "bundled:census/gone.csv: the bundled file was not found",
        ),
    ] {
        let error = desk.fail(&desk.request_url(url)).await;
        assert_eq!(
            (error.to_string(), error.kind()),
            (
                format!("source `test.table`: {expected}"),
                ErrorKind::Config
            )
        );
        assert_eq!((desk.stored(), desk.partials()), (vec![], vec![]));
    }
}
