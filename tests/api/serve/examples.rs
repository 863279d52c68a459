//! Writes the worked examples of the OpenAPI document: real answers from the fixtures. `make bless`
//! rewrites them. Values that change from run to run (times, run and request ids, the dates of the
//! files on this disk) are replaced by constants.

use pubdata_core::declared::DeclarationFiles;
use pubdata_store::{Home, Keys, NewKey, Plans, Releases, Scope};
use regex::Regex;
use serde_json::{Value, json};

use super::home::{point, publish_changed};
use super::served::Served;
use crate::receipts::SealedPlace;
use pubdata_testing::{Place, project};

/// Operation and path; an operation with a body in [`requests`] is a POST.
const EXAMPLES: [(&str, &str); 53] = [
    (
        "getReceipt",
        "/v1/receipts/geo.zcta_metric:2023:90210:population",
    ),
    (
        "getSnapshot",
        "/v1/snapshots/0381b58a12973c3dcc89fcda9710038c4dc22f7cf7757eb9bffd4e3cbbc33569",
    ),
    ("search", "/v1/search?q=90210&limit=4"),
    ("getLocation", "/v1/geo-demographics/locations/90210"),
    (
        "getDemographics",
        "/v1/geo-demographics/locations/95120/demographics?metric=population,median_household_income&history=true",
    ),
    (
        "getSchools",
        "/v1/geo-demographics/locations/35950/schools?limit=2",
    ),
    ("compareLocations", "/v1/geo-demographics/locations/compare"),
    ("getCounty", "/v1/geo-demographics/counties/06037"),
    (
        "listCountyLocations",
        "/v1/geo-demographics/counties/06037/locations?metric=population&limit=2",
    ),
    (
        "listStateCounties",
        "/v1/geo-demographics/states/CA/counties?metric=median_household_income&limit=2",
    ),
    (
        "listMetricAreas",
        "/v1/geo-demographics/metrics/median_household_income?limit=3",
    ),
    ("getGeographicCoverage", "/v1/geo-demographics/coverage"),
    (
        "searchCompanies",
        "/v1/sec/companies/search?name=apple&limit=2",
    ),
    ("getCompany", "/v1/sec/companies/320193"),
    (
        "getCompanyFilings",
        "/v1/sec/companies/320193/filings?form=10-K&limit=2",
    ),
    (
        "getCompanyFinancials",
        "/v1/sec/companies/320193/financials?metric=revenue&fiscal_year_from=2010&fiscal_year_to=2010",
    ),
    (
        "compareCompanies",
        "/v1/sec/financials/compare?metric=revenue&tickers=AAPL,NVDA&fiscal_year_from=2024&fiscal_year_to=2024",
    ),
    (
        "getFinancialFrame",
        "/v1/sec/financials/frames/revenue?fiscal_year=2010&limit=2",
    ),
    (
        "searchFilings",
        "/v1/filings/search?ticker=AAPL&form=10-K&limit=2",
    ),
    (
        "getStatements",
        "/v1/financials/320193?statement=income&limit=1",
    ),
    (
        "searchBusinesses",
        "/v1/business/search?name=radar%20associates&limit=2",
    ),
    ("getBusiness", "/v1/business/FL-A23000000520"),
    (
        "verifyLicense",
        "/v1/license/verify?number=21907&state=TX&name=Colan%20Placi",
    ),
    (
        "searchLicenses",
        "/v1/license/search?name=dicks%20artesian%20well",
    ),
    (
        "searchPermits",
        "/v1/permits/search?address=11436%20Flushwing%20Dr,%20Austin,%20TX&type=building",
    ),
    ("getContractor", "/v1/contractors/WA-lni-SERVPG*892PL"),
    (
        "getProperty",
        "/v1/properties/11436%20Flushwing%20Dr,%20Austin,%20TX%2078754?limit=1",
    ),
    (
        "findProperty",
        "/v1/properties?address=2245%20W%20Jackson%20Blvd,%20Chicago,%20IL&limit=1",
    ),
    (
        "getZip",
        "/v1/zip/90210?fields=city,other_cities,state,county,counties,lat,lon,zcta,land_area_sqmi,sales_tax",
    ),
    ("getZips", "/v1/zip/batch"),
    ("getNearbyZips", "/v1/zip/55401/nearby?radius_mi=5&limit=2"),
    ("getTaxRate", "/v1/tax/rate?zip=55401&date=2019-01-01"),
    ("calculateTax", "/v1/tax/calculate"),
    ("getTaxRates", "/v1/tax/batch"),
    ("getCoverage", "/v1/coverage"),
    ("getMe", "/v1/me"),
    ("rotateMyKey", "/v1/me/rotate"),
    ("revokeMyKey", "/v1/me/revoke"),
    ("listPlans", "/v1/plans"),
    ("showInvitation", "/v1/invitations/show"),
    ("redeemInvitation", "/v1/invitations/redeem"),
    ("createKey", "/v1/admin/keys"),
    ("revokeKey", "/v1/admin/keys/k0123456789ab/revoke"),
    (
        "getProvenance",
        "/v1/provenance/geo.zcta_metric:2023:90210:owner_occupied_share?include=bytes,replay",
    ),
    ("listDatasets", "/v1/datasets"),
    ("getDataset", "/v1/datasets/geo.school"),
    ("getCroissant", "/v1/datasets/geo.school/croissant.json"),
    ("getCatalog", "/v1/catalog.json"),
    ("listReleases", "/v1/releases"),
    ("getRelease", "/v1/releases/current?dataset=geo.school"),
    ("getChanges", "/v1/releases/current/changes"),
    (
        "downloadDataset",
        "/v1/releases/current/datasets/geo.school",
    ),
    (
        "getRecordHistory",
        "/v1/records/geo.zcta_metric:2023:90210:population/history",
    ),
];

const HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const RELEASE: &str = "r00000000000000000000";
/// Replaces an invitation's token, with the same length.
pub const NO_TOKEN: &str = "pi_0000000000000000000000000000000000000000000";

const VOLATILE: [(&str, &str); 33] = [
    ("manifest_sha256", HASH),
    ("records_root", HASH),
    ("root", HASH),
    ("record_sha256", HASH),
    (
        "checkpoint",
        "data.example.org/2026/nightly\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— data.example.org/2026/nightly AAAAAA==\n",
    ),
    ("verified_as_of", "2026-08-05"),
    ("datePublished", "2026-08-05T07:00:00Z"),
    ("dateModified", "2026-08-05"),
    ("modified", "2026-08-05"),
    ("issued", "2026-08-05"),
    // A catalog names every dataset.
    ("checksumValue", HASH),
    ("byteSize", "0"),
    ("as_of", "2026-08-05"),
    ("request_id", "5f1d7e6ab2c94e0d8a3b6c71"),
    ("published_at", "2026-08-05T07:00:00Z"),
    ("built_at", "2026-08-05T07:00:00Z"),
    ("fetched_at", "2026-08-05T07:00:00Z"),
    ("run_id", "20260805T070000Z-000000"),
    ("source_date", "2026-08-05"),
    ("rates_as_of", "2026-09-30"),
    (
        "input_hash",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ),
    (
        "declaration_hash",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ),
    (
        "contracts_hash",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ),
    ("release_id", RELEASE),
    ("moved_at", "2026-08-05T07:00:00Z"),
    ("key_id", "k0123456789ab"),
    ("created_at", "2026-08-05T07:00:00Z"),
    ("expires_at", "2027-08-05T07:00:00Z"),
    ("revoked_at", "2026-08-06T07:00:00Z"),
    ("rotated_at", "2026-08-05T08:00:00Z"),
    ("previous_secret_valid_until", "2026-08-05T09:00:00Z"),
    ("since", "2026-08-05T07:00:00Z"),
    // Contains the release in which the page continues.
    ("next_cursor", "MXxyMDAwMDAwMDAwMDAwMDAwMDAwMDA"),
];

/// Replaces values that change from run to run by constants.
pub fn settle(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match VOLATILE.iter().find(|(volatile, _)| volatile == name) {
                    Some((_, constant)) if field.is_string() => *field = json!(constant),
                    // Hashes.
                    _ if name == "path" || name.ends_with("_path") => settle_hashes(field),
                    _ => settle(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::String(text) if text.starts_with("pi_") => *text = NO_TOKEN.to_owned(),
        Value::String(text) if text.starts_with("pd_") => *text = format!("pd_{}", "0".repeat(43)),
        // In paths, citations and versions.
        Value::String(text) => {
            let release =
                Regex::new("(/releases/|[oO]f release |Release |^[0-9.]+\\+)r[0-9a-f]{20}")
                    .unwrap();
            let date = Regex::new("files to [0-9-]{10}").unwrap();
            let part = Regex::new("^(http.*part=)[0-9a-f]{64}").unwrap();
            let settled = release.replace(text, format!("${{1}}{RELEASE}"));
            let settled = part.replace(&settled, format!("${{1}}{}", "0".repeat(64)));
            *text = date.replace(&settled, "files to 2026-08-05").into_owned();
        }
        _ => {}
    }
}

fn settle_hashes(path: &mut Value) {
    path.as_array_mut()
        .into_iter()
        .flatten()
        .for_each(|hash| *hash = json!(HASH));
}

/// Bodies by operation.
fn requests() -> [(&'static str, Value); 8] {
    let sale = json!({
        "to": {"zip": "55401"}, "from": {"state": "MN"}, "date": "2019-01-01", "shipping": 4.99,
        "line_items": [{"id": "chair", "quantity": 2, "unit_price": 49.95}, {"id": "bread", "unit_price": 3.49, "category": "food_drug"}],
    });
    [
        (
            "compareLocations",
            json!({"locations": ["90210", "95120"], "metrics": ["population", "median_household_income", "owner_occupied_share"]}),
        ),
        (
            "getZips",
            json!({"zips": ["90210", "99999"], "fields": ["city", "state", "county"]}),
        ),
        ("calculateTax", sale),
        ("rotateMyKey", json!({"overlap_minutes": 60})),
        ("showInvitation", json!({"token": NO_TOKEN})),
        ("redeemInvitation", json!({"token": NO_TOKEN})),
        (
            "createKey",
            json!({"name": "nightly reports", "scopes": ["general", "geo"], "plan": "standard", "expires_in_days": 365}),
        ),
        (
            "getTaxRates",
            json!({"date": "2026-11-01", "addresses": [{"id": "a", "city": "Dallas", "state": "TX"}, {"id": "b", "zip": "55103"}]}),
        ),
    ]
}

/// The fixtures' release, preceded on the channel by one of the same parts without schools, so that
/// a comparison is possible.
pub async fn two_releases() -> Place {
    let place = Place::published();
    let home = Home::open(&place.home()).unwrap();
    let releases = Releases::open(&home, None).unwrap();
    let manifest = releases.present("nightly").await.unwrap().unwrap();
    std::fs::remove_dir_all(home.root().join("channels")).unwrap();
    publish_changed(&home, &manifest.release_id, |manifest| {
        let schools = manifest.datasets.remove("geo.school").unwrap();
        schools
            .parts
            .iter()
            .for_each(|part| drop(manifest.tasks.remove(&part.task_id)));
    })
    .await;
    point(&releases, &manifest.release_id, &manifest.published_at).await;
    SealedPlace::from_place(place).place
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_of_the_openapi_document_are_real_answers() {
    let served = Served::start(two_releases().await).await;
    let requests = requests();
    let mut examples: Vec<(String, Value)> = requests
        .iter()
        .map(|(operation, body)| (format!("{operation}.request"), body.clone()))
        .collect();
    // Requests of the code samples.
    examples.push((
        "requests".to_owned(),
        EXAMPLES
            .iter()
            .map(|(operation, path)| (*operation, json!(path)))
            .collect(),
    ));
    let (mut made, nothing) = (String::new(), json!({}));
    // The holder of the displayed key replaces its secret and revokes it.
    let new = NewKey {
        name: "Ann's notebook".to_owned(),
        scopes: vec![Scope::General, Scope::Geo],
        plan: "standard".to_owned(),
        expires_at: None,
    };
    let plans = Plans::load(&DeclarationFiles::built_in()).unwrap();
    let mut mine = Keys::open(&served.home)
        .create(new, &plans, jiff::Timestamp::now())
        .unwrap()
        .key;
    let invited = json!({"token": served.invitation()});
    for (operation, path) in EXAMPLES {
        let body = requests
            .iter()
            .find(|(known, _)| *known == operation)
            .map(|(_, body)| body);
        // The key that was created before.
        let body = match operation {
            "revokeKey" | "revokeMyKey" => Some(&nothing),
            "showInvitation" | "redeemInvitation" => Some(&invited),
            _ => body,
        };
        let path = &path.replace("k0123456789ab", &made);
        let answer = if path.starts_with("/v1/me") {
            served.ask_as(&mine, path, body).await
        } else {
            served.ask(path, body).await
        };
        if operation == "rotateMyKey" {
            answer.json()["data"]["key"]
                .as_str()
                .unwrap()
                .clone_into(&mut mine);
        }
        if operation == "createKey" {
            made = answer.json()["data"]["key_id"].as_str().unwrap().to_owned();
        }
        assert_eq!(
            answer.status,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
        let mut answer = answer.json();
        settle(&mut answer);
        examples.push((operation.to_owned(), answer));
    }
    for (name, example) in examples {
        let path = project("docs/examples").join(format!("{name}.json"));
        if std::env::var_os("PUBDATA_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(
                &path,
                serde_json::to_string_pretty(&example).unwrap() + "\n",
            )
            .unwrap();
        }
        let written: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(
            written,
            example,
            "{}: `make bless` rewrites it when the change is meant",
            path.display()
        );
    }
}
