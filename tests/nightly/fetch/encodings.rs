use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use pubdata_core::ids::Digest;
use pubdata_fetch::Request;

use super::desk::{Desk, table};
use pubdata_testing::publisher::Reply;

const DATE: &str = "Thu, 07 Dec 2023 05:00:00 GMT";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    brotli::BrotliCompress(
        &mut &*bytes,
        &mut packed,
        &brotli::enc::BrotliEncoderParams::default(),
    )
    .unwrap();
    packed
}

fn packed(encoding: &str, bytes: Vec<u8>) -> Reply {
    Reply::body(200, bytes).header("Content-Encoding", encoding)
}

#[tokio::test]
async fn compressed_response_is_decompressed() {
    let bytes = table(5000);
    let two_members = [gzip(&bytes[..40_000]), gzip(&bytes[40_000..])].concat();
    for (encoding, body) in [
        ("gzip", gzip(&bytes)),
        ("x-gzip", two_members),
        ("deflate", zlib(&bytes)),
        ("deflate", deflate(&bytes)),
        ("br", brotli(&bytes)),
        ("identity", bytes.clone()),
    ] {
        for reply in [
            packed(encoding, body.clone()),
            packed(encoding, body.clone()).chunked(),
            packed(encoding, body.clone()).without_length(),
        ] {
            let desk = Desk::new().await;
            desk.publisher.route("/table.dat", vec![reply]);
            let snapshot = desk.fetch_new(&desk.request("/table.dat")).await;
            assert_eq!(
                (snapshot.sha256, snapshot.size_bytes),
                (Digest::sha256(&bytes), bytes.len() as u64),
                "{encoding}"
            );
            assert_eq!(
                desk.publisher.all_requests()[0].header("accept-encoding"),
                "identity"
            );
        }
    }
}

#[tokio::test]
async fn broken_compressed_transfer_restarts_from_the_beginning() {
    let bytes = table(5000);
    let whole = gzip(&bytes);
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    let cut = whole[..whole.len() - 4].to_vec();
    for (case, broken) in [
        (
            "a broken connection",
            packed("gzip", whole.clone()).cut_after(whole.len() / 2),
        ),
        (
            "a broken connection of chunks",
            packed("gzip", whole.clone())
                .chunked()
                .cut_after(whole.len() / 2),
        ),
        ("damaged bytes", packed("gzip", damaged)),
        ("no end", packed("gzip", cut)),
        (
            "no end of br",
            packed("br", brotli(&bytes)[..1000].to_vec()),
        ),
        (
            "no end of deflate",
            packed("deflate", zlib(&bytes)[..1000].to_vec()),
        ),
        (
            "no end of raw deflate",
            packed("deflate", deflate(&bytes)[..1000].to_vec()),
        ),
        (
            "no checksum of deflate",
            packed("deflate", zlib(&bytes)[..zlib(&bytes).len() - 2].to_vec()),
        ),
    ] {
        let desk = Desk::new().await;
        desk.publisher.route(
            "/table.dat",
            vec![
                broken.etag("\"v1\""),
                packed("gzip", whole.clone()).etag("\"v1\""),
            ],
        );
        assert_eq!(
            desk.fetch_new(&desk.request("/table.dat")).await.sha256,
            Digest::sha256(&bytes),
            "{case}"
        );
        let received = desk.publisher.all_requests();
        assert_eq!(
            (received.len(), received[1].header("range")),
            (2, ""),
            "{case}"
        );
    }
}

#[tokio::test]
async fn decompressed_size_above_the_ceiling_is_refused() {
    let desk = Desk::new().await;
    let request = Request {
        max_bytes: 100_000,
        ..desk.request("/table.dat")
    };
    let large = vec![b'A'; 30_000_000];
    for bad in [
        packed("gzip", gzip(&large)),
        packed("deflate", zlib(&large)),
        packed("br", brotli(&large)),
    ] {
        desk.publisher
            .route("/table.dat", vec![Reply::file(table(50)), bad]);
        desk.fetch(&request).await;
        let before = desk.publisher.all_requests().len();
        let error = desk.fail(&request).await;
        assert!(
            error.to_string().contains("the file is too large: ")
                && error
                    .to_string()
                    .ends_with("above the 100000 declared as `max_bytes`"),
            "{error}"
        );
        assert_eq!(
            (desk.stored_bytes(), desk.partials()),
            (vec![table(50)], vec![])
        );
        assert_eq!(
            desk.publisher.all_requests().len(),
            before + 1,
            "the file is not requested again"
        );
    }
}

#[tokio::test]
async fn compressed_rest_of_a_file_is_not_appended_to_its_beginning() {
    let bytes = table(5000);
    let desk = Desk::new().await;
    let range = format!("bytes 40000-{}/{}", bytes.len() - 1, bytes.len());
    let rest = Reply::body(206, gzip(&bytes[40_000..]))
        .header("Content-Range", &range)
        .header("Content-Encoding", "gzip");
    let file = Reply::file(bytes.clone()).etag("\"v1\"");
    desk.publisher.route(
        "/table.dat",
        vec![file.clone().cut_after(40_000), rest, file],
    );
    assert_eq!(
        desk.fetch_new(&desk.request("/table.dat")).await.sha256,
        Digest::sha256(&bytes)
    );
    assert_eq!(desk.publisher.all_requests()[2].header("range"), "");
}

#[tokio::test]
async fn chunked_body_is_complete_and_resumes_without_a_length() {
    let desk = Desk::new().await;
    let file = Reply::file(table(5000)).last_modified(DATE).chunked();
    desk.publisher
        .route("/table.dat", vec![file.clone().cut_after(40_000), file]);
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(
        (snapshot.sha256, snapshot.source_date.as_str()),
        (Digest::sha256(&table(5000)), "2023-12-07")
    );
    let second = &desk.publisher.all_requests()[1];
    assert_eq!(
        (second.header("range"), second.header("if-range")),
        ("bytes=40000-", DATE)
    );
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    assert_eq!(
        desk.publisher.all_requests()[2].header("if-modified-since"),
        DATE
    );
}

#[tokio::test]
async fn weak_etag_is_a_condition_but_proves_no_bytes() {
    let desk = Desk::new().await;
    let file = Reply::file(table(5000)).etag("W/\"v1\"").chunked();
    desk.publisher
        .route("/table.dat", vec![file.clone().cut_after(40_000), file]);
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    let received = desk.publisher.all_requests();
    let headers: Vec<_> = received
        .iter()
        .map(|received| {
            (
                received.header("range"),
                received.header("if-range"),
                received.header("if-none-match"),
            )
        })
        .collect();
    assert_eq!(headers, [("", "", ""), ("", "", ""), ("", "", "W/\"v1\"")]);
}
