//! Checks the catalog against the clauses of DCAT-US 3.0, restated from the JSON schemas that GSA
//! publishes (read 2026-11; classes Catalog, Dataset, Distribution, Kind, Organization, Agent,
//! Identifier, Document, Standard, PeriodOfTime, Checksum): the allowed members of each class, the
//! required ones, and their forms.

use axum::http::Uri;
use regex::Regex;
use serde_json::{Value, json};

use super::world;
use crate::serve::home::publish_changed;
use crate::serve::{Served, World};

/// Required members of each class, and the optional ones that we write besides `@id` and `@type`.
const CLASSES: [(&str, &[&str], &[&str]); 11] = [
    (
        "Catalog",
        &["dataset"],
        &[
            "conformsTo",
            "title",
            "description",
            "language",
            "modified",
            "homepage",
            "contactPoint",
        ],
    ),
    (
        "Dataset",
        &[
            "title",
            "description",
            "publisher",
            "contactPoint",
            "identifier",
        ],
        &[
            "version",
            "modified",
            "wasAttributedTo",
            "language",
            "keyword",
            "landingPage",
            "accrualPeriodicity",
            "temporal",
            "accessRights",
            "rights",
            "provenance",
            "relation",
            "describedBy",
            "metadataDistribution",
            "distribution",
        ],
    ),
    (
        "Distribution",
        &[],
        &[
            "title",
            "description",
            "format",
            "mediaType",
            "accessURL",
            "downloadURL",
            "license",
            "accessRights",
            "issued",
            "byteSize",
            "checksum",
        ],
    ),
    ("Kind", &["fn", "hasEmail"], &[]),
    ("Organization", &["name"], &[]),
    ("Agent", &["name"], &[]),
    ("Identifier", &[], &["notation"]),
    ("Document", &["title"], &["accessURL"]),
    ("Standard", &[], &["title"]),
    ("PeriodOfTime", &[], &["startDate", "endDate"]),
    ("Checksum", &["algorithm", "checksumValue"], &[]),
];

/// Class of the value of a member.
const RANGES: [(&str, &str); 13] = [
    ("dataset", "Dataset"),
    ("distribution", "Distribution"),
    ("describedBy", "Distribution"),
    ("metadataDistribution", "Distribution"),
    ("contactPoint", "Kind"),
    ("publisher", "Organization"),
    ("wasAttributedTo", "Agent"),
    ("identifier", "Identifier"),
    ("landingPage", "Document"),
    ("homepage", "Document"),
    ("conformsTo", "Standard"),
    ("temporal", "PeriodOfTime"),
    ("checksum", "Checksum"),
];

/// Members that are lists wherever they occur.
const LISTS: [&str; 11] = [
    "dataset",
    "distribution",
    "metadataDistribution",
    "contactPoint",
    "wasAttributedTo",
    "language",
    "keyword",
    "temporal",
    "rights",
    "provenance",
    "relation",
];

const NULLABLE: [&str; 2] = ["modified", "accrualPeriodicity"];

/// The two vocabularies of the standard for a frequency; any other frequency is an ISO 8601
/// interval.
const FREQUENCIES: [&str; 24] = [
    "continual",
    "continuous",
    "daily",
    "weekly",
    "fortnightly",
    "biweekly",
    "monthly",
    "quarterly",
    "biannually",
    "semiannual",
    "annually",
    "annual",
    "asNeeded",
    "irregular",
    "notPlanned",
    "unknown",
    "triennial",
    "biennial",
    "threeTimesAYear",
    "bimonthly",
    "semimonthly",
    "threeTimesAMonth",
    "semiweekly",
    "threeTimesAWeek",
];

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).unwrap().is_match(text)
}

/// Collects the clauses that a document breaks.
fn breaches(class: &str, value: &Value, at: &str, found: &mut Vec<String>) {
    let (_, required, others) = CLASSES.iter().find(|(name, ..)| *name == class).unwrap();
    let Some(members) = value.as_object() else {
        return found.push(format!("{at} is not a {class}"));
    };
    if members.get("@type").is_some_and(|kind| kind != class) {
        found.push(format!("{at} is of type {}", members["@type"]));
    }
    found.extend(
        required
            .iter()
            .filter(|name| members.get(**name).is_none_or(Value::is_null))
            .map(|name| format!("{at} has no {name}")),
    );
    for (name, member) in members {
        let at = format!("{at}/{name}");
        if !required.contains(&name.as_str())
            && !others.contains(&name.as_str())
            && !name.starts_with('@')
        {
            found.push(format!("{at} is not a member of {class}"));
        }
        if LISTS.contains(&name.as_str()) != member.is_array() {
            found.push(format!("{at} must be a list, or must not be one"));
        }
        let items: Vec<&Value> = member
            .as_array()
            .map_or_else(|| vec![member], |items| items.iter().collect());
        for (index, item) in items.into_iter().enumerate() {
            let at = format!("{at}/{index}");
            match RANGES.iter().find(|(known, _)| known == name) {
                Some((_, range)) => breaches(range, item, &at, found),
                None if item.is_null() && NULLABLE.contains(&name.as_str()) => {}
                None => match item.as_str() {
                    Some(text) if has_form(name, text) => {}
                    _ => found.push(format!("{at}: {item}")),
                },
            }
        }
    }
}

/// Returns true if a text has the form that its member requires.
fn has_form(name: &str, text: &str) -> bool {
    match name {
        "@id" | "accessURL" | "downloadURL" | "relation" => text
            .parse::<Uri>()
            .is_ok_and(|uri| uri.scheme().is_some() && uri.host().is_some()),
        "modified" | "issued" | "startDate" | "endDate" => {
            matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", text)
                && text.parse::<jiff::civil::Date>().is_ok()
        }
        "language" => text.len() == 2,
        "accrualPeriodicity" => FREQUENCIES.contains(&text) || matches("^R/P.+$", text),
        "hasEmail" => matches(r"^mailto:[\w_~!$&'()*+,;=:.-]+@[\w.-]+\.[\w.-]+?$", text),
        "checksumValue" => matches("^[0-9a-f]{64}$", text),
        "byteSize" => text.parse::<u64>().is_ok(),
        _ => !text.is_empty(),
    }
}

fn held(catalog: &Value) -> Vec<String> {
    let mut found = Vec::new();
    breaches("Catalog", catalog, "", &mut found);
    found
}

fn dataset<'a>(catalog: &'a Value, dataset_id: &str) -> &'a Value {
    catalog["dataset"]
        .as_array()
        .unwrap()
        .iter()
        .find(|dataset| dataset["identifier"]["notation"] == dataset_id)
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_of_all_fixtures_keeps_the_clauses_of_dcat_us() {
    let served = Served::new().await;
    let catalog = served.ok("/v1/catalog.json").await;
    assert_eq!(held(&catalog), Vec::<String>::new());
    let listed: Vec<&str> = catalog["dataset"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dataset| dataset["identifier"]["notation"].as_str().unwrap())
        .collect();
    let datasets = served.ok("/v1/datasets").await;
    let known: Vec<&str> = datasets["data"]["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dataset| dataset["dataset_id"].as_str().unwrap())
        .collect();
    assert!(known.len() > 20 && listed == known, "{listed:?}");
    // Fixtures are samples; the catalog must not present them as national data.
    assert!(
        dataset(&catalog, "geo.school")["description"]
            .as_str()
            .unwrap()
            .contains("built from samples")
    );
    // Permits have several publishers, and each is named.
    assert!(
        dataset(&catalog, "permit.permit")["wasAttributedTo"]
            .as_array()
            .unwrap()
            .len()
            > 10
    );
}

#[tokio::test]
async fn catalog_dataset_has_publisher_frequency_and_download() {
    let (world, [.., release]) = world().await;
    let catalog = world.ok("/v1/catalog.json").await;
    assert_eq!(held(&catalog), Vec::<String>::new());
    let contact =
        json!([{"@type": "Kind", "fn": "Data desk", "hasEmail": "mailto:desk@example.org"}]);
    let county = dataset(&catalog, "geo.county");
    assert_eq!(
        (&catalog["contactPoint"], &county["contactPoint"]),
        (&contact, &contact)
    );
    assert_eq!(
        county["publisher"],
        json!({"@type": "Organization", "name": "U.S. Census Bureau"})
    );
    let manifest = world.releases().manifest(&release).await.unwrap();
    let part = &manifest.datasets["geo.county"].parts[0];
    let days = manifest.tasks[&part.task_id].cadence_days;
    assert_eq!(
        (days, &county["accrualPeriodicity"]),
        (366, &json!("annual"))
    );
    let address = format!("http://127.0.0.1:8080/v1/releases/{release}/datasets/geo.county");
    let parquet = &county["distribution"][0];
    assert_eq!(
        (&parquet["accessURL"], &parquet["mediaType"]),
        (&json!(address), &json!("application/vnd.apache.parquet"))
    );
    assert_eq!(
        parquet["downloadURL"],
        format!("{address}?format=parquet&part={}", part.sha256)
    );
    assert_eq!(
        parquet["checksum"],
        json!({"@type": "Checksum", "algorithm": "SHA-256", "checksumValue": part.sha256.to_string()})
    );
    assert_eq!(
        (&parquet["byteSize"], &parquet["license"]),
        (&json!(part.size_bytes.to_string()), &json!("Public domain"))
    );
    let csv = &county["distribution"][1];
    assert_eq!(
        (&csv["downloadURL"], &csv["mediaType"]),
        (&json!(format!("{address}?format=csv")), &json!("text/csv"))
    );
    // A dataset with two parts is not distributed as either of them.
    let metrics = dataset(&catalog, "geo.zcta_metric");
    assert_eq!(
        (
            metrics["distribution"][0].get("downloadURL"),
            metrics["distribution"][0].get("checksum")
        ),
        (None, None)
    );
    assert_eq!(
        metrics["temporal"],
        json!([{"@type": "PeriodOfTime", "startDate": "2018-01-01", "endDate": "2023-12-31"}])
    );
    for url in [
        &parquet["downloadURL"],
        &csv["downloadURL"],
        &parquet["accessURL"],
        &county["describedBy"]["downloadURL"],
    ] {
        let path = url
            .as_str()
            .unwrap()
            .strip_prefix("http://127.0.0.1:8080")
            .unwrap();
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn catalog_of_an_earlier_release_links_to_that_release() {
    let (world, [first, .., last]) = world().await;
    let catalog = world.ok(&format!("/v1/catalog.json?release={first}")).await;
    assert_eq!(held(&catalog), Vec::<String>::new());
    assert_eq!(
        catalog["@id"],
        format!("http://127.0.0.1:8080/v1/catalog.json?release={first}")
    );
    let county = dataset(&catalog, "geo.county");
    let reported = |address: &Value| {
        address
            .as_str()
            .unwrap()
            .strip_prefix("http://127.0.0.1:8080")
            .unwrap()
            .to_owned()
    };
    let croissant = world
        .ok(&reported(&county["metadataDistribution"][0]["downloadURL"]))
        .await;
    assert!(
        croissant["version"]
            .as_str()
            .unwrap()
            .ends_with(&format!("+{first}")),
        "{}",
        croissant["version"]
    );
    let described = world
        .ok(&reported(&county["describedBy"]["downloadURL"]))
        .await;
    assert_eq!(described["meta"]["release"]["release_id"], first.as_str());
    // Selected by its day, the catalog is that of the release; without a selector it is the current
    // one.
    assert_eq!(
        world.ok("/v1/catalog.json?as_of=2026-01-10").await["@id"],
        catalog["@id"]
    );
    let present = world.ok("/v1/catalog.json").await;
    assert_eq!(
        (&present["@id"], first == last),
        (&json!("http://127.0.0.1:8080/v1/catalog.json"), false)
    );
}

#[tokio::test]
async fn catalog_without_a_contact_names_no_person() {
    for contact in [None, Some("+1 555 0100".to_owned())] {
        let world = World::with(|settings| settings.contact = contact).await;
        let catalog = world.ok("/v1/catalog.json").await;
        assert_eq!(
            (
                &catalog["contactPoint"],
                &catalog["dataset"][0]["contactPoint"]
            ),
            (&json!([]), &json!([]))
        );
        assert_eq!(held(&catalog), Vec::<String>::new());
    }
}

#[tokio::test]
async fn publisher_names_change_only_the_names_in_the_catalog() {
    let world = World::new().await;
    let strange = "A \"B\" & <C>\n{{ x }}";
    publish_changed(&world.home, &world.release_id, |manifest| {
        manifest.tasks.values_mut().for_each(|task| {
            (task.publisher, task.licence, task.cadence_days) = (
                strange.to_owned(),
                "Public record; no explicit terms".to_owned(),
                14,
            );
        });
    })
    .await;
    world.service.refresh().await.unwrap();
    let catalog = world.ok("/v1/catalog.json").await;
    assert_eq!(held(&catalog), Vec::<String>::new());
    let county = dataset(&catalog, "geo.county");
    assert_eq!(
        county["rights"],
        json!(["Public record; no explicit terms"]),
        "one license"
    );
    assert_eq!(
        (&county["publisher"]["name"], &county["accrualPeriodicity"]),
        (&json!(strange), &json!("R/P14D"))
    );
}

#[test]
fn check_reports_each_broken_clause() {
    let right = json!({
        "@id": "https://data.example.org/c", "@type": "Catalog", "language": ["en"], "modified": "2026-01-01",
        "dataset": [{
            "title": "a", "description": "b", "publisher": {"name": "c"}, "contactPoint": [{"fn": "d", "hasEmail": "mailto:d@example.org"}],
            "identifier": {"notation": "e"}, "accrualPeriodicity": "R/P1D",
            "distribution": [{"downloadURL": "https://data.example.org/f", "byteSize": "1", "checksum": {"algorithm": "SHA-256", "checksumValue": "0".repeat(64)}}]
        }]
    });
    assert_eq!(held(&right), Vec::<String>::new());
    let wrong = [
        ("/dataset", json!("a")),
        ("/language/0", json!("eng")),
        ("/modified", json!("2026-13-01")),
        ("/@id", json!("/v1/catalog.json")),
        ("/dataset/0/title", Value::Null),
        ("/dataset/0/publisher", json!("c")),
        ("/dataset/0/contactPoint/0/hasEmail", json!("d@example.org")),
        ("/dataset/0/accrualPeriodicity", json!("often")),
        ("/dataset/0/identifier", json!({"id": "e"})),
        ("/dataset/0/distribution/0/downloadURL", json!("f")),
        ("/dataset/0/distribution/0/byteSize", json!(1)),
        (
            "/dataset/0/distribution/0/checksum",
            json!({"algorithm": "SHA-256"}),
        ),
        (
            "/dataset/0/distribution/0/checksum/checksumValue",
            json!("0".repeat(63)),
        ),
    ];
    for (at, value) in wrong {
        let mut changed = right.clone();
        *changed.pointer_mut(at).unwrap() = value;
        assert!(!held(&changed).is_empty(), "{at}");
    }
}
