//! Checks the answers about ZIP codes and sales tax on the complete real files: every ZIP code, and
//! every jurisdiction of the rate files.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::server::Server;
use pubdata_testing::publisher::archive;
use pubdata_testing::{Place, shared_data};

/// A server on the real files; none if the files are absent.
async fn start() -> Option<(Server, String)> {
    let (zips, tax) = (shared_data("general/zip")?, shared_data("general/tax")?);
    let place = Place::new();
    let lines = std::fs::read_to_string(zips.join("US.txt")).unwrap();
    std::fs::write(
        place.file("export/zip/US.zip"),
        archive(&[("US.txt", lines.as_bytes())]),
    )
    .unwrap();
    std::fs::copy(
        zips.join("ZIPCodetoZCTACrosswalk2022UDS.xlsx"),
        place.file("ZIP%20Code%20to%20ZCTA%20Crosswalk.xlsx"),
    )
    .unwrap();
    for (file, name) in [
        ("WIR2026Q2FEB18.csv", "Rates/WIR2026Q2FEB18.csv"),
        ("NER2013Q2FEB25.txt", "Rates/NER2013Q2FEB25.txt"),
    ] {
        std::fs::copy(tax.join(file), place.file(name)).unwrap();
    }
    // Wisconsin's boundaries are invented in the fixtures. Without them, its real rates let the
    // server find its counties and cities by name.
    std::fs::remove_file(place.file("Boundary/WIB2026Q2FEB18.csv")).unwrap();
    place.edit("Boundary/index.html", |page| {
        page.replace("WIB2026Q2FEB18.csv", "readme.txt")
    });
    Some((Server::start(place, &["zip", "tax"]).await, lines))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_real_zip_code_and_its_neighbours_are_answered() {
    let Some((server, lines)) = start().await else {
        return;
    };
    let mut places: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let mut with_state = BTreeSet::new();
    for line in lines.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        // If a code has two rows, the one with a state is the place.
        if !cells[4].is_empty() || !places.contains_key(cells[1]) {
            places.insert(
                cells[1].to_owned(),
                (cells[9].parse().unwrap(), cells[10].parse().unwrap()),
            );
        }
        if !cells[4].is_empty() {
            with_state.insert(cells[1]);
        }
    }
    let soldiers: BTreeSet<&str> = places
        .keys()
        .map(String::as_str)
        .filter(|code| !with_state.contains(code))
        .collect();
    assert_eq!(
        (lines.lines().count(), places.len(), soldiers.len()),
        (41_483, 41_481, 509)
    );
    let codes: Vec<&String> = places.keys().collect();
    for some in codes.chunks(100) {
        let items = server.post("/v1/zip/batch", json!({"zips": some, "fields": ["type", "county", "lat", "lon", "military_region"]})).await;
        for (code, item) in some.iter().zip(items.as_array().unwrap()) {
            assert_eq!(
                (&item["found"], &item["result"]["zip"]),
                (&json!(true), &json!(code))
            );
            let (lat, lon) = places[*code];
            assert_eq!(
                (
                    item["result"]["lat"].as_f64(),
                    item["result"]["lon"].as_f64()
                ),
                (Some(lat), Some(lon)),
                "{code}"
            );
            if soldiers.contains(code.as_str()) {
                // 340 Americas, 090 to 098 Europe, 962 to 966 Pacific; the source names the
                // Americas for most of the Pacific.
                let region = match code[..3].parse::<u32>().unwrap() {
                    340 => "AA",
                    90..=98 => "AE",
                    _ => "AP",
                };
                assert_eq!(item["result"]["military_region"], region, "{code}");
                assert_eq!(
                    (&item["result"]["type"], &item["result"]["county"]),
                    (&json!("military"), &Value::Null),
                    "{code}"
                );
            }
        }
    }
    let mut random = 20_261_121_u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for _ in 0..1_000 {
        let (code, radius) = (codes[next(codes.len())], 0.5 + next(250) as f64 / 10.0);
        let apart = |other: &str| miles(places[code], places[other]);
        let expected: BTreeSet<&str> = codes
            .iter()
            .map(|other| other.as_str())
            .filter(|other| other != code && apart(other) <= radius)
            .collect();
        let mut found: Vec<(f64, String)> = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = server
                .ask(
                    &format!("/v1/zip/{code}/nearby?radius_mi={radius}&limit=100{cursor}"),
                    None,
                )
                .await;
            found.extend(page["data"].as_array().unwrap().iter().map(|item| {
                (
                    item["distance_mi"].as_f64().unwrap(),
                    item["zip"].as_str().unwrap().to_owned(),
                )
            }));
            match page["meta"]["page"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert!(
            found.is_sorted_by(|a, b| (a.0, &a.1) < (b.0, &b.1)),
            "{code} {radius}"
        );
        // Codes outside the file, known only from the crosswalk, have no coordinates and are never
        // near.
        assert_eq!(
            found
                .iter()
                .map(|(_, other)| other.as_str())
                .collect::<BTreeSet<&str>>(),
            expected,
            "{code} {radius}"
        );
        assert!(
            found
                .iter()
                .all(|(distance, other)| (distance - apart(other)).abs() <= 0.005 + 1e-9),
            "{code} {radius}"
        );
        if let Some((_, other)) = found.first() {
            let back = server
                .ask(
                    &format!("/v1/zip/{other}/nearby?radius_mi={radius}&limit=100"),
                    None,
                )
                .await;
            let is_first_page = back["meta"]["page"]["next_cursor"].is_null();
            assert!(
                !is_first_page
                    || back["data"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .any(|item| item["zip"] == **code),
                "{other} {radius}"
            );
        }
    }
}

/// Great-circle distance by the law of cosines, which the program does not use.
fn miles(a: (f64, f64), b: (f64, f64)) -> f64 {
    let (lat_a, lat_b, apart) = (a.0.to_radians(), b.0.to_radians(), (b.1 - a.1).to_radians());
    let x = (lat_b.cos() * apart.sin())
        .hypot(lat_a.cos() * lat_b.sin() - lat_a.sin() * lat_b.cos() * apart.cos());
    3_958.761_3 * x.atan2(lat_a.sin() * lat_b.sin() + lat_a.cos() * lat_b.cos() * apart.cos())
}

#[tokio::test(flavor = "multi_thread")]
async fn combined_rate_is_the_sum_of_components_for_every_jurisdiction() {
    let Some((server, lines)) = start().await else {
        return;
    };
    let of_state = |state: &str| -> Vec<String> {
        let rows = lines
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>())
            .filter(|cells| cells[4] == state);
        rows.map(|cells| cells[1].to_owned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    let mut seen: BTreeMap<&str, BTreeSet<(String, String)>> = BTreeMap::new();
    for (state, date) in [
        ("MN", "2019-01-01"),
        ("WI", "2026-11-21"),
        ("NE", "2026-11-21"),
        ("TX", "2026-11-21"),
        ("CA", "2026-11-21"),
        ("PA", "2026-11-21"),
        ("OR", "2026-11-21"),
    ] {
        let mut answered = 0;
        for some in of_state(state).chunks(100) {
            let addresses: Vec<Value> = some.iter().map(|zip| json!({"zip": zip})).collect();
            for item in server
                .post(
                    "/v1/tax/batch",
                    json!({"date": date, "addresses": addresses}),
                )
                .await
                .as_array()
                .unwrap()
            {
                let result = &item["result"];
                if result.is_null() {
                    // A place that is missing from these reduced files is reported as not found and
                    // never gets the state's rate.
                    assert_eq!(item["error"]["code"], "not_found", "{item}");
                    continue;
                }
                answered += 1;
                let others = result["match"]["alternatives"].as_array().unwrap();
                for set in others.iter().chain([result]) {
                    let components = set["components"].as_array().unwrap();
                    let is_known = components
                        .iter()
                        .all(|component| component["rate"].is_number());
                    assert!(
                        is_known
                            || components
                                .iter()
                                .all(|component| component["rate"].is_number()
                                    != component["null_reason"].is_string()),
                        "{item}"
                    );
                    // If a component is unknown, so is the sum; the known components are still
                    // shown.
                    assert_eq!(
                        set["combined_rate"]
                            .as_f64()
                            .map(|_| millionths(&set["combined_rate"])),
                        is_known.then(|| sum(&set["components"])),
                        "{item}"
                    );
                }
                let known = ["state_rate", "county_rate", "city_rate", "special_rate"]
                    .iter()
                    .filter(|class| result[*class].is_number());
                assert_eq!(
                    millionths(&result["known_rate"]),
                    sum(&result["components"]),
                    "{item}"
                );
                if result["combined_rate"].is_number() {
                    assert_eq!(
                        millionths(&result["combined_rate"]),
                        known.map(|class| millionths(&result[*class])).sum::<i64>(),
                        "{item}"
                    );
                }
                let all = others
                    .iter()
                    .flat_map(|other| other["components"].as_array().unwrap())
                    .chain(result["components"].as_array().unwrap());
                let text =
                    |component: &Value, name: &str| component[name].as_str().unwrap().to_owned();
                seen.entry(state).or_default().extend(
                    all.map(|component| (text(component, "type"), text(component, "code"))),
                );
            }
        }
        assert!(answered > 0, "{state}");
    }
    // Every county of Wisconsin that has a tax is covered, and every city whose name is that of a
    // post office.
    let counties = seen["WI"]
        .iter()
        .filter(|(class, _)| class == "county")
        .count();
    assert!(counties >= 68, "{counties}");
    assert!(
        seen["WI"].contains(&("city".to_owned(), "53000".to_owned()))
            && seen["NE"].contains(&("city".to_owned(), "37000".to_owned()))
    );
    let rate = async |query: &str| {
        server.ask(&format!("/v1/tax/rate?{query}"), None).await["data"]["combined_rate"].take()
    };
    for (query, expected) in [
        ("zip=55103&date=2019-03-31", json!(0.07875)),
        ("zip=55401&date=2019-01-01", json!(0.08025)),
        ("zip=55405&date=2019-01-01", json!(0.08025)),
        ("zip=55401&date=2019-01-01&category=food_drug", json!(0)),
        // Published by the states: Milwaukee, Seattle's location code 1726, Philadelphia, San
        // Francisco.
        ("zip=53202", json!(0.079)),
        ("street=424%20Broad%20St&zip=98109&state=WA", json!(0.1055)),
        ("zip=98109&state=WA", json!(0.1055)),
        ("zip=19103", json!(0.08)),
        ("zip=94102", json!(0.08625)),
    ] {
        assert_eq!(rate(query).await, expected, "{query}");
    }
    // Nebraska's file is of 2013, Wisconsin's of the second quarter of 2026; each answer names its
    // date. Boundaries of neither are present: places are found by name.
    let coverage = async |query: &str| {
        server.ask(&format!("/v1/tax/rate?{query}"), None).await["data"]["coverage"].take()
    };
    assert_eq!(
        coverage("zip=68102").await,
        json!({"level": "partial", "rates_as_of": "2013-06-30"})
    );
    assert_eq!(
        coverage("zip=53202").await,
        json!({"level": "partial", "rates_as_of": "2026-06-30"})
    );
    // Minnesota's boundaries are present.
    assert_eq!(coverage("zip=55401&date=2019-01-01").await["level"], "full");
    // Post offices of Milwaukee deliver to two other counties; the city's own rate comes first.
    assert_eq!(rate("city=Milwaukee&state=WI").await, json!(0.079));
    assert_eq!(
        rate("city=Saint%20Paul&state=MN&date=2019-01-01").await,
        json!(0.07875)
    );
    // Minnesota's file has 0.06875 for food too: the answer names the rule that makes it 0, with
    // its record.
    let food = server
        .ask(
            "/v1/tax/rate?zip=55401&date=2019-01-01&category=food_drug",
            None,
        )
        .await;
    for component in food["data"]["components"].as_array().unwrap() {
        assert!(
            component["exempt_by"]
                .as_str()
                .unwrap()
                .starts_with("Minn. Stat. § 297A."),
            "{component}"
        );
        assert!(
            component["rule"]
                .as_str()
                .unwrap()
                .starts_with("tax.taxability:MN:grocery:"),
            "{component}"
        );
    }
    let sources: BTreeSet<&str> = food["data"]["provenance"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["source_id"].as_str().unwrap())
        .collect();
    assert!(
        sources.contains("tax.taxability_rule") && sources.contains("tax.sst_rate"),
        "{sources:?}"
    );
}

fn millionths(rate: &Value) -> i64 {
    (rate.as_f64().unwrap() * 1e6).round() as i64
}

fn sum(components: &Value) -> i64 {
    components
        .as_array()
        .unwrap()
        .iter()
        .filter(|component| component["rate"].is_number())
        .map(|component| millionths(&component["rate"]))
        .sum()
}
