use axum::body::Body;
use axum::http::{Method, Request};
use futures_util::StreamExt;
use pubdata_store::{Part, PartReport, Scope};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::serve::World;
use crate::serve::geo::draft;
use crate::serve::home::{Draft, Table};

const METRICS: &str = "/v1/releases/current/datasets/geo.zcta_metric";

async fn part_of(world: &World, dataset_id: &str, index: usize) -> Part {
    world
        .releases()
        .present("nightly")
        .await
        .unwrap()
        .unwrap()
        .datasets[dataset_id]
        .parts[index]
        .clone()
}

/// Cells of a table of text without line breaks in its cells.
fn cells(text: &str) -> Vec<Vec<String>> {
    let line = |line: &str| {
        let (mut cells, mut is_quoted) = (vec![String::new()], false);
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if is_quoted && characters.peek() == Some(&'"') => {
                    cells.last_mut().unwrap().push(characters.next().unwrap());
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => cells.push(String::new()),
                other => cells.last_mut().unwrap().push(other),
            }
        }
        cells
    };
    assert!(text.ends_with("\r\n"));
    text.trim_end_matches("\r\n")
        .split("\r\n")
        .map(line)
        .collect()
}

#[tokio::test]
async fn parts_are_listed_with_publisher_and_download_path() {
    let world = World::new().await;
    let data = world.ok(METRICS).await["data"].clone();
    let (part, id) = (
        part_of(&world, "geo.zcta_metric", 1).await,
        &world.release_id,
    );
    let path = format!("/v1/releases/{id}/datasets/geo.zcta_metric");
    let expected = json!({
        "path": "geo.zcta_metric/2023.parquet", "partition": {"vintage_year": "2023"}, "rows": 59, "size_bytes": part.size_bytes, "sha256": part.sha256.to_string(),
        "parquet": format!("{path}?format=parquet&part={}", part.sha256)
    });
    assert_eq!(
        (&data["parts"][1], &data["csv"], &data["rows"]),
        (&expected, &json!(format!("{path}?format=csv")), &json!(118))
    );
    assert_eq!(
        data["credit"],
        "Source: U.S. Census Bureau (https://publisher.example/). Licence: Public domain."
    );
    let citation = format!(
        "U.S. Census Bureau: Neighbourhood metrics by ZCTA, files to 2024-12-12 (https://publisher.example/), as table geo.zcta_metric of release {id}."
    );
    assert_eq!(
        (&data["citation"], &data["caveats"]),
        (
            &json!(citation),
            &json!(world.contracts["geo.zcta_metric"].not_covered)
        )
    );
    let bytes = world
        .get(data["parts"][1]["parquet"].as_str().unwrap())
        .await
        .bytes;
    assert_eq!(
        pubdata_core::ids::Digest::sha256(&bytes),
        part.sha256,
        "and the path leads to it"
    );
}

#[tokio::test]
async fn part_is_sent_as_published_whole_or_in_ranges() {
    let world = World::new().await;
    let part = part_of(&world, "geo.zcta_metric", 1).await;
    let bytes = world
        .releases()
        .part(&world.release_id, &part)
        .await
        .unwrap();
    let (path, tag) = (
        format!("{METRICS}?format=parquet&part={}", part.sha256),
        format!("\"{}\"", part.sha256),
    );
    let whole = world
        .get_with(&path, &[("accept-encoding", "gzip, br, zstd")])
        .await;
    assert!(whole.status == 200 && whole.bytes == bytes);
    let (length, license) = (
        bytes.len().to_string(),
        "</v1/datasets/geo.zcta_metric>; rel=\"license\"",
    );
    for (name, value) in [
        ("content-type", "application/vnd.apache.parquet"),
        ("content-length", &length),
        ("content-encoding", ""),
        ("etag", &tag),
        ("accept-ranges", "bytes"),
        (
            "content-disposition",
            "attachment; filename=\"geo.zcta_metric-2023.parquet\"",
        ),
        ("link", license),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(whole.header(name), value, "{name}");
    }
    let range = |first: usize, last: usize| format!("bytes {first}-{last}/{length}");
    let end = bytes.len();
    for (requested, first, last) in [
        ("bytes=0-3", 0, 3),
        ("bytes=4-", 4, end - 1),
        ("bytes=-8", end - 8, end - 1),
        ("bytes=0-999999999", 0, end - 1),
    ] {
        let answer = world
            .get_with(&path, &[("range", requested), ("if-range", &tag)])
            .await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-range")),
            (206, range(first, last).as_str()),
            "{requested}"
        );
        assert!(
            answer.bytes == bytes[first..=last]
                && answer.header("content-length") == answer.bytes.len().to_string(),
            "{requested}"
        );
    }
    for headers in [
        [("range", "bytes=0-3,5-6"), ("if-range", tag.as_str())],
        [("range", "bytes=0-3"), ("if-range", "\"another\"")],
    ] {
        assert_eq!(
            world.get_with(&path, &headers).await.bytes.len(),
            end,
            "{headers:?}"
        );
    }
    let refused = world
        .get_with(&path, &[("range", "bytes=999999999-")])
        .await;
    assert_eq!(
        (refused.problem(), &refused.json()["errors"][0]["field"]),
        ((400, "invalid_parameter".to_owned()), &json!("Range"))
    );
    assert!(refused.json()["detail"].as_str().unwrap().contains(&length));
    let known = world.get_with(&path, &[("if-none-match", &tag)]).await;
    assert_eq!(
        (
            known.status.as_u16(),
            known.bytes.len(),
            known.header("etag")
        ),
        (304, 0, tag.as_str())
    );
    let head = Request::builder()
        .method(Method::HEAD)
        .uri(&path)
        .header("x-api-key", &world.key)
        .header("range", "bytes=0-9");
    let head = world.send(head.body(Body::empty()).unwrap()).await;
    assert_eq!(
        (
            head.status.as_u16(),
            head.header("content-length"),
            head.bytes.len()
        ),
        (206, "10", 0)
    );
}

#[tokio::test]
async fn part_that_differs_from_the_manifest_is_not_sent() {
    let world = World::new().await;
    let part = part_of(&world, "geo.zcta_metric", 1).await;
    std::fs::write(
        world
            .home
            .root()
            .join("releases")
            .join(world.release_id.as_str())
            .join(&part.path),
        vec![0; part.size_bytes as usize],
    )
    .unwrap();
    let path = format!("{METRICS}?format=parquet&part={}", part.sha256);
    assert_eq!(
        world.get(&path).await.problem(),
        (500, "internal_error".to_owned())
    );
    assert_eq!(
        world
            .get_with(&path, &[("range", "bytes=0-3")])
            .await
            .problem(),
        (500, "internal_error".to_owned())
    );
    let request = Request::get(format!("{METRICS}?format=csv"))
        .header("x-api-key", &world.key)
        .body(Body::empty())
        .unwrap();
    let response = world.router.clone().oneshot(request).await.unwrap();
    let pieces: Vec<_> = response.into_body().into_data_stream().collect().await;
    assert!(
        pieces.last().unwrap().is_err(),
        "a truncated table does not look complete"
    );
}

#[tokio::test]
async fn all_parts_form_one_table_with_the_columns_of_the_contract() {
    let world = World::new().await;
    let answer = world.get(&format!("{METRICS}?format=csv")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("content-type")),
        (200, "text/csv; charset=utf-8; header=present")
    );
    assert_eq!(
        answer.header("content-disposition"),
        format!(
            "attachment; filename=\"geo.zcta_metric-{}.csv\"",
            world.release_id
        )
    );
    assert_eq!(
        answer.header("link"),
        "</v1/datasets/geo.zcta_metric>; rel=\"license\""
    );
    let table = cells(std::str::from_utf8(&answer.bytes).unwrap());
    let columns = world.contracts["geo.zcta_metric"]
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| *name != "source_pointers");
    assert_eq!(table[0], columns.collect::<Vec<_>>());
    assert_eq!(table.len(), 1 + 118);
    let rows: Vec<Value> = draft(19_652.0).tables[..2]
        .iter()
        .flat_map(|table| table.rows.clone())
        .collect();
    let column = |name: &str| table[0].iter().position(|known| known == name).unwrap();
    for (line, row) in table[1..].iter().zip(&rows) {
        assert_eq!(
            line[column("record_id")],
            row["record_id"].as_str().unwrap()
        );
        let value = row["value"]
            .as_f64()
            .map(|value| format!("{value:.1}"))
            .unwrap_or_default();
        assert_eq!(line[column("value")], value, "{}", row["record_id"]);
        assert_eq!(line[column("variables")], row["variables"].to_string());
        assert_eq!(line[column("is_derived")], row["is_derived"].to_string());
    }
    let one = part_of(&world, "geo.zcta_metric", 1).await;
    let part = world
        .get(&format!("{METRICS}?format=csv&part={}", one.sha256))
        .await;
    assert_eq!(
        cells(std::str::from_utf8(&part.bytes).unwrap())[1..],
        table[60..]
    );
    let again = world
        .get_with(
            &format!("{METRICS}?format=csv"),
            &[
                ("if-none-match", answer.header("etag")),
                ("accept", "text/csv"),
            ],
        )
        .await;
    assert_eq!(again.status, 304);
    assert_ne!(part.header("etag"), answer.header("etag"));
    // The header requests the same; a browser, and a program that accepts any type, get the list of
    // parts.
    let accepted =
        async |accept: &'static str| world.get_with(METRICS, &[("accept", accept)]).await;
    let table = accepted("text/csv").await;
    assert_eq!(
        (
            &table.bytes,
            table.header("etag"),
            table.header("content-type")
        ),
        (
            &answer.bytes,
            answer.header("etag"),
            answer.header("content-type")
        )
    );
    for accept in ["*/*", "application/json, text/csv", "text/html,*/*;q=0.8"] {
        assert_eq!(
            accepted(accept).await.header("content-type"),
            "application/json",
            "{accept}"
        );
    }
    assert_eq!(
        accepted("application/vnd.apache.parquet").await.problem(),
        (400, "missing_parameter".to_owned())
    );
    assert_eq!(
        accepted("text/html").await.problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn invalid_download_request_is_refused_with_a_hint() {
    let world = World::new().await;
    let (part, zeros) = (
        part_of(&world, "geo.school", 0).await.sha256,
        "0".repeat(64),
    );
    for (query, status, code, field) in [
        ("?format=parquet", 400, "missing_parameter", "part"),
        (&format!("?part={part}"), 400, "missing_parameter", "format"),
        (
            &format!("?format=parquet&part={zeros}"),
            404,
            "not_found",
            "part",
        ),
        (
            &format!("?format=parquet&part={part}"),
            404,
            "not_found",
            "part",
        ),
        ("?format=xlsx", 400, "invalid_parameter", "format"),
        ("?format=csv&part=1", 400, "invalid_parameter", "part"),
        ("?limit=1", 400, "unknown_parameter", "limit"),
    ] {
        let problem = world.get(&format!("{METRICS}{query}")).await;
        assert_eq!(
            (problem.problem(), &problem.json()["errors"][0]["field"]),
            ((status, code.to_owned()), &json!(field)),
            "{query}"
        );
    }
    let problem = world
        .get("/v1/releases/current/datasets/geo.nothing?format=csv")
        .await;
    assert_eq!(
        (problem.problem(), &problem.json()["errors"][0]["field"]),
        ((404, "not_found".to_owned()), &json!("dataset_id"))
    );
}

#[tokio::test]
async fn key_downloads_only_datasets_and_quarantine_of_its_families() {
    let world = World::empty(|_| {}).await;
    let quarantined = |dataset_id: &'static str, folders| Table {
        dataset_id: "pubdata.quarantine",
        vintage_year: None,
        bucket: None,
        folders,
        rows: vec![json!({
            "record_id": format!("pubdata.quarantine:{dataset_id}::made-up"), "dataset_id": dataset_id, "partition": "", "rule": "made_up", "reason": "made up", "validation_status": "failed"
        })],
        report: PartReport::default(),
    };
    let mut draft = draft(1.0);
    draft
        .tables
        .push(quarantined("geo.school", &[("dataset_id", "geo.school")]));
    draft.tables.push(quarantined(
        "permit.permit",
        &[("dataset_id", "permit.permit")],
    ));
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    let quarantine = "/v1/releases/current/datasets/pubdata.quarantine";
    let mut tags: Vec<String> = Vec::new();
    for (scope, of_metrics, of_quarantine) in [
        (Scope::Geo, 200, Some("geo.school")),
        (Scope::General, 403, Some("permit.permit")),
        (Scope::Sec, 403, None),
    ] {
        let key = world.create_key(&[scope], "unlimited").key;
        let ask = async |path: String, known: &str| {
            world
                .send(
                    Request::get(path)
                        .header("x-api-key", &key)
                        .header("if-none-match", known)
                        .body(Body::empty())
                        .unwrap(),
                )
                .await
        };
        for query in ["", "?format=csv"] {
            // Tags of the answers to other keys.
            let known = tags.join(", ");
            assert_eq!(
                ask(format!("{METRICS}{query}"), &known).await.status,
                of_metrics,
                "{scope}"
            );
            let answer = ask(format!("{quarantine}{query}"), &known).await;
            tags.extend(Some(answer.header("etag").to_owned()).filter(|tag| !tag.is_empty()));
            match of_quarantine {
                None => assert_eq!(
                    answer.problem(),
                    (403, "insufficient_permission".to_owned())
                ),
                Some(own) => {
                    let (text, other) = (
                        String::from_utf8(answer.bytes).unwrap(),
                        if own == "geo.school" {
                            "permit.permit"
                        } else {
                            "geo.school"
                        },
                    );
                    assert!(
                        text.contains(own) && !text.contains(other),
                        "{scope}: {text}"
                    );
                }
            }
        }
    }
    assert_eq!(tags.len(), 4, "each answer has its own tag");
    let anonymous = world
        .send(
            Request::get(format!("{METRICS}?format=csv"))
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(anonymous.problem(), (401, "missing_api_key".to_owned()));
}

#[tokio::test]
async fn one_client_downloads_few_tables_in_parallel() {
    let world = World::new().await;
    let open = async |key: &str| {
        let request = Request::get(format!("{METRICS}?format=csv"))
            .header("x-api-key", key)
            .body(Body::empty())
            .unwrap();
        world.router.clone().oneshot(request).await.unwrap()
    };
    let mut kept = Vec::new();
    for _ in 0..4 {
        kept.push(open(&world.key).await);
    }
    assert!(kept.iter().all(|response| response.status() == 200));
    let refused = open(&world.key).await;
    assert_eq!(
        (
            refused.status().as_u16(),
            refused.headers()["retry-after"].to_str().unwrap()
        ),
        (429, "1")
    );
    assert_eq!(
        open(&world.create_key(&Scope::ALL, "unlimited").key)
            .await
            .status(),
        200,
        "another client has its own slots"
    );
    kept.pop();
    assert_eq!(open(&world.key).await.status(), 200);
}

/// A hundred thousand invented businesses.
pub fn many() -> Draft {
    let business = |number: usize| {
        json!({
            "record_id": format!("business.entity:FL-{number:06}"), "state": "FL", "bucket": "0", "entity_id": format!("FL-{number:06}"), "entity_number": format!("{number:06}"),
            "source_id": "test.places_file", "name": format!("ACME \"{number}\", INC"), "name_normalized": format!("ACME {number} INC"), "entity_type": "llc",
            "status": "active", "status_basis": "source", "source_fields": "{}",
        })
    };
    let table = Table {
        dataset_id: "business.entity",
        vintage_year: None,
        bucket: None,
        folders: &[("state", "FL"), ("bucket", "0")],
        rows: (0..100_000).map(business).collect(),
        report: PartReport::default(),
    };
    Draft {
        tables: vec![table],
        ..draft(1.0)
    }
}

/// Bytes in flight, from the server's metrics.
async fn in_flight(world: &World) -> u64 {
    let text = String::from_utf8(world.get("/metrics").await.bytes).unwrap();
    text.lines()
        .find_map(|line| line.strip_prefix("pubdata_http_bytes_in_flight "))
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn large_table_is_sent_with_little_memory() {
    let world = World::empty(|_| {}).await;
    world.publish(&many()).await;
    world.service.refresh().await.unwrap();
    let part = part_of(&world, "business.entity", 0).await;
    let request = Request::get("/v1/releases/current/datasets/business.entity?format=csv")
        .header("x-api-key", &world.key)
        .body(Body::empty())
        .unwrap();
    let mut body = world
        .router
        .clone()
        .oneshot(request)
        .await
        .unwrap()
        .into_body()
        .into_data_stream();
    let (mut text, mut most, mut pieces) = (Vec::new(), 0, 0);
    while let Some(piece) = body.next().await {
        let piece = piece.unwrap();
        // The part itself, and the piece that is produced and not yet read.
        most = most.max(in_flight(&world).await - part.size_bytes);
        text.extend_from_slice(&piece);
        pieces += 1;
    }
    drop(body);
    assert!(
        text.len() > 10_000_000 && pieces > 100,
        "{} bytes in {pieces} pieces",
        text.len()
    );
    assert!(
        most > 0 && most < 70_000,
        "{most} bytes are waiting, a piece of 64 KiB"
    );
    assert_eq!(in_flight(&world).await, 0);
    let table = cells(std::str::from_utf8(&text).unwrap());
    let column = |name: &str| table[0].iter().position(|known| known == name).unwrap();
    let (id, name) = (column("record_id"), column("name"));
    assert_eq!(table.len(), 100_001);
    for (number, line) in table[1..].iter().enumerate() {
        assert_eq!(
            (line[id].as_str(), line[name].as_str()),
            (
                format!("business.entity:FL-{number:06}").as_str(),
                format!("ACME \"{number}\", INC").as_str()
            )
        );
    }
}
