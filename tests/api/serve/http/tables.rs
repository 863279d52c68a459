//! Tests answers as tables: their content, whole lists, and endless lists.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::answers::{OF_AREAS, OF_RECORDS, OF_REGISTRANTS, OF_TAXES};
use crate::coverage::{endpoints, meant};
use crate::serve::bulk::OF_BULK;
use crate::serve::geo::draft;
use crate::serve::schema::document;
use crate::serve::{Answer, World, all, bulk, records, sec, with, zip_code};

const SCHOOLS: &str = "/v1/geo-demographics/locations/90210/schools";

/// Header and rows of a table; all rows have the same length.
fn read_table(answer: &Answer) -> (Vec<String>, Vec<Vec<String>>) {
    assert_eq!(
        (answer.status.as_u16(), answer.header("content-type")),
        (200, "text/csv; charset=utf-8; header=present"),
        "{}",
        String::from_utf8_lossy(&answer.bytes)
    );
    let mut reader = csv::Reader::from_reader(answer.bytes.as_slice());
    let header = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    (
        header,
        reader
            .records()
            .map(|record| record.unwrap().iter().map(str::to_owned).collect())
            .collect(),
    )
}

fn column(table: &(Vec<String>, Vec<Vec<String>>), name: &str) -> Vec<String> {
    let place = table
        .0
        .iter()
        .position(|column| column == name)
        .unwrap_or_else(|| panic!("{name} is not a column of {:?}", table.0));
    table.1.iter().map(|row| row[place].clone()).collect()
}

/// A world with many schools at one location.
async fn with_schools(
    count: usize,
    change: impl FnOnce(&mut pubdata_serve::ServeSettings),
) -> World {
    let world = World::empty(change).await;
    let mut draft = draft(19_652.0);
    let schools = draft
        .tables
        .iter_mut()
        .find(|table| table.dataset_id == "geo.school")
        .unwrap();
    let one = schools
        .rows
        .iter()
        .find(|row| row["ncessch"] == "060000000000")
        .unwrap()
        .clone();
    let school = |number: usize| {
        let id = format!("0600{number:08}");
        with(
            one.clone(),
            &json!({"record_id": format!("geo.school:{id}"), "ncessch": id, "leaid": &id[..7]}),
        )
    };
    schools.rows = (0..count).map(school).collect();
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    world
}

#[tokio::test]
async fn every_list_is_available_as_a_table_with_its_schema_columns() {
    let worlds = [
        World::new().await,
        records::world().await,
        zip_code::world().await,
        sec::world().await,
        bulk::world().await.0,
    ];
    let (document, mut tables) = (document(&worlds[0].contracts), 0);
    for (world, paths) in worlds.iter().zip([
        &OF_AREAS[..],
        &OF_RECORDS,
        &OF_TAXES,
        &OF_REGISTRANTS,
        &OF_BULK,
    ]) {
        let endpoints = endpoints(document);
        for path in paths {
            let found = meant(&endpoints, path.split('?').next().unwrap())
                .into_iter()
                .find(|endpoint| endpoint.method == "GET")
                .unwrap();
            let operation = document.pointer(&found.pointer()).unwrap();
            let has_format = operation["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .any(|parameter| parameter["name"] == "format");
            assert_eq!(
                operation["responses"]["200"]["content"]["text/csv"].is_object(),
                has_format,
                "{path}"
            );
            let joint = if path.contains('?') { '&' } else { '?' };
            let answer = world.get(&format!("{path}{joint}format=csv")).await;
            if !has_format {
                assert_eq!(
                    answer.problem(),
                    (400, "unknown_parameter".to_owned()),
                    "{path}"
                );
                continue;
            }
            let (header, rows) = read_table(&answer);
            let mut names = header.clone();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), header.len(), "{path}: {header:?}");
            let plain = world.ok(path).await;
            let list = &plain["data"];
            if let (Some(list), true) = (
                list.as_array(),
                plain["meta"]["page"]["next_cursor"].is_null(),
            ) {
                assert_eq!(rows.len(), list.len(), "{path}");
            }
            tables += 1;
        }
    }
    assert!(tables > 30, "{tables}");
}

#[tokio::test]
async fn table_without_a_limit_has_all_pages() {
    let world = with_schools(2_350, |_| {}).await;
    let table = read_table(&world.get(&format!("{SCHOOLS}?format=csv")).await);
    let expected: Vec<String> = (0..2_350)
        .map(|number| format!("0600{number:08}"))
        .collect();
    assert_eq!(column(&table, "school_id"), expected);
    let first = world.ok(&format!("{SCHOOLS}?limit=1")).await["data"]["schools"][0].clone();
    let cell = |name: &str| column(&table, name)[0].clone();
    assert_eq!(
        cell("district.name"),
        first["district"]["name"].as_str().unwrap()
    );
    assert_eq!(cell("grades.offered"), "KG;01;02");
    assert_eq!(cell("address.street"), "1 \"A\" Street");
    assert_eq!(cell("is_charter"), "false");
    assert_eq!(cell("virtual_status"), "not_virtual");
    assert_eq!(
        (cell("status_updated"), first["status_updated"].is_null()),
        (String::new(), true)
    );
    assert_eq!(
        (cell("lon"), cell("distance_mi")),
        ("-118.414712".to_owned(), first["distance_mi"].to_string()),
        "a negative number is a number"
    );
    assert_eq!(cell("provenance.record_id"), "geo.school:060000000000");
    let none = read_table(
        &world
            .get(&format!("{SCHOOLS}?format=csv&level=secondary"))
            .await,
    );
    assert_eq!(
        (none.0, none.1.len()),
        (table.0, 0),
        "the columns do not depend on the rows"
    );
    let cursor = world.ok(SCHOOLS).await["meta"]["page"]["next_cursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let from_the_middle = world
        .get(&format!("{SCHOOLS}?format=csv&cursor={cursor}"))
        .await;
    assert_eq!(
        (
            from_the_middle.problem().0,
            &from_the_middle.json()["errors"][0]["field"]
        ),
        (400, &json!("cursor"))
    );
}

#[tokio::test]
async fn table_with_a_limit_is_one_page_and_names_the_next() {
    let world = World::new().await;
    let (mut path, mut ids) = (
        format!("{SCHOOLS}?limit=13&format=csv&radius_mi=1.5"),
        Vec::new(),
    );
    for _ in 0..5 {
        let answer = world.get(&path).await;
        ids.push(column(&read_table(&answer), "school_id"));
        let Some(next) = answer
            .header("link")
            .strip_prefix('<')
            .and_then(|link| link.strip_suffix(">; rel=\"next\""))
        else {
            break;
        };
        path = next.to_owned();
    }
    let expected = world
        .ok(&format!("{SCHOOLS}?limit=100&radius_mi=1.5"))
        .await;
    assert_eq!(ids.concat(), all(&expected["data"]["schools"], "school_id"));
    assert_eq!(
        ids.iter().map(Vec::len).collect::<Vec<_>>(),
        [
            13,
            13,
            expected["data"]["schools"].as_array().unwrap().len() - 26
        ]
    );
    // A JSON page continues where a table page ended, and vice versa.
    let cursor =
        world.ok(&format!("{SCHOOLS}?limit=13&radius_mi=1.5")).await["meta"]["page"]["next_cursor"]
            .as_str()
            .unwrap()
            .to_owned();
    let second = world
        .get(&format!(
            "{SCHOOLS}?limit=13&radius_mi=1.5&format=csv&cursor={cursor}"
        ))
        .await;
    assert_eq!(column(&read_table(&second), "school_id"), ids[1]);
}

#[tokio::test]
async fn table_is_requested_by_parameter_or_header_with_one_tag() {
    let world = World::new().await;
    let requested = world.get(&format!("{SCHOOLS}?format=csv")).await;
    let accepted = world
        .get_with(SCHOOLS, &[("accept", "text/csv, application/json;q=0.5")])
        .await;
    let plain = world.get(SCHOOLS).await;
    assert_eq!(
        (&requested.bytes, requested.header("etag")),
        (&accepted.bytes, accepted.header("etag"))
    );
    assert_ne!(plain.header("etag"), requested.header("etag"));
    for answer in [&requested, &accepted, &plain] {
        assert!(
            answer
                .header("vary")
                .split(", ")
                .any(|name| name == "Accept"),
            "{}",
            answer.header("vary")
        );
        assert_eq!(answer.header("cache-control"), "private, max-age=300");
    }
    let unchanged = world
        .get_with(
            &format!("{SCHOOLS}?format=csv"),
            &[("if-none-match", requested.header("etag"))],
        )
        .await;
    assert_eq!((unchanged.status.as_u16(), unchanged.bytes.len()), (304, 0));
    let json = world
        .get_with(&format!("{SCHOOLS}?format=json"), &[("accept", "text/csv")])
        .await;
    assert_eq!(
        (json.header("content-type"), json.header("etag")),
        ("application/json", plain.header("etag")),
        "the address is more specific"
    );
    for accept in [
        "*/*",
        "text/html, */*;q=0.8",
        "application/json, text/csv",
        "text/csv;q=0, */*",
    ] {
        assert_eq!(
            world
                .get_with(SCHOOLS, &[("accept", accept)])
                .await
                .header("content-type"),
            "application/json",
            "{accept}"
        );
    }
    for accept in ["text/html", "text/csv;q=0"] {
        assert_eq!(
            world
                .get_with(SCHOOLS, &[("accept", accept)])
                .await
                .problem(),
            (400, "invalid_parameter".to_owned()),
            "{accept}"
        );
    }
    let profile = world
        .get_with(
            "/v1/geo-demographics/locations/90210",
            &[("accept", "text/csv")],
        )
        .await;
    assert_eq!(
        profile.problem(),
        (400, "invalid_parameter".to_owned()),
        "a profile is not a list"
    );
    let wrong = world.get(&format!("{SCHOOLS}?format=xml")).await;
    assert_eq!(
        (wrong.problem().0, &wrong.json()["errors"][0]["field"]),
        (400, &json!("format"))
    );
    let missing = world
        .get("/v1/geo-demographics/locations/00000/schools?format=csv")
        .await;
    assert_eq!(
        missing.problem(),
        (404, "not_found".to_owned()),
        "a problem is never a table"
    );
}

#[tokio::test]
async fn figures_of_a_company_are_rows_with_their_series() {
    let world = sec::world().await;
    let path = "/v1/sec/companies/320193/financials?metric=revenue,total_assets";
    let table = read_table(&world.get(&format!("{path}&format=csv")).await);
    assert_eq!(
        column(&table, "metric"),
        ["revenue", "revenue", "total_assets"]
    );
    assert_eq!(
        column(&table, "values.value"),
        ["383285000000", "391035000000", ""]
    );
    let reason = world.ok(path).await["data"]["series"][1]["null_reason"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        column(&table, "null_reason"),
        ["", "", &reason],
        "a metric without values gives the reason"
    );
}

/// Outcome of a request whose body may break off: status, and true if the body was complete.
async fn outcome(world: &World, path: &str) -> (u16, bool) {
    let request = Request::get(path)
        .header("x-api-key", &world.key)
        .body(Body::empty())
        .unwrap();
    let response = world.router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    (
        status,
        axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .is_ok(),
    )
}

#[tokio::test]
async fn table_that_exceeds_the_limit_does_not_look_complete() {
    let world = with_schools(2_350, |settings| settings.limits.max_list_rows = 2_349).await;
    let (status, is_whole) = outcome(&world, &format!("{SCHOOLS}?format=csv")).await;
    assert!(status == 500 || !is_whole, "{status}");
    let world = with_schools(2_350, |settings| settings.limits.max_list_rows = 2_350).await;
    assert_eq!(
        outcome(&world, &format!("{SCHOOLS}?format=csv")).await,
        (200, true)
    );
}

#[tokio::test]
async fn endless_search_is_not_available_as_a_table() {
    let world = World::empty(|_| {}).await;
    let mut draft = sec::draft();
    let orchards = (1..=1_050).map(|number| {
        sec::registrant(
            &format!("{:07}194", 9_000_000 + number),
            json!({"name": format!("ORCHARD {number} INC")}),
        )
    });
    draft.tables.push(crate::serve::home::Table {
        dataset_id: "sec.registrant",
        vintage_year: None,
        bucket: Some("194"),
        folders: &[],
        rows: orchards.collect::<Vec<Value>>(),
        report: pubdata_store::PartReport::default(),
    });
    sec::publish(&world, draft).await;
    let path = "/v1/sec/companies/search?name=orchard";
    let refused = world.get(&format!("{path}&format=csv")).await;
    assert_eq!(
        (refused.problem(), &refused.json()["errors"][0]["field"]),
        ((400, "invalid_parameter".to_owned()), &json!("format"))
    );
    let page = read_table(&world.get(&format!("{path}&format=csv&limit=100")).await);
    assert_eq!(page.1.len(), 100);
}

#[tokio::test]
async fn parallel_whole_lists_of_one_client_are_limited() {
    let world = with_schools(150, |_| {}).await;
    let path = format!("{SCHOOLS}?format=csv");
    let mut open = Vec::new();
    for _ in 0..4 {
        let request = Request::get(&path)
            .header("x-api-key", &world.key)
            .body(Body::empty())
            .unwrap();
        open.push(world.router.clone().oneshot(request).await.unwrap());
    }
    assert_eq!(
        world.get(&path).await.problem(),
        (429, "rate_limited".to_owned())
    );
    assert_eq!(
        read_table(&world.get(&format!("{path}&limit=100")).await)
            .1
            .len(),
        100,
        "a page is not a whole list"
    );
    drop(open);
    assert_eq!(read_table(&world.get(&path).await).1.len(), 150);
}
