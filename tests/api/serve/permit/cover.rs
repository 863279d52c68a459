//! Tests the answers about lists that lack the requested information.

use pubdata_store::PartReport;
use serde_json::{Value, json};

use super::{ids, permit};
use crate::serve::home::Table;
use crate::serve::records::{Folders, draft, world};
use crate::serve::zip_code::zip;
use crate::serve::{World, notices, with};

const NYC: Folders = &[("jurisdiction", "us-ny-nyc"), ("bucket", "0")];
const AUSTIN_TOO: Folders = &[("jurisdiction", "us-tx-austin"), ("bucket", "1")];

/// ZIP codes of GeoNames' file of 2024, and the counties for the Census Bureau's codes.
const ZIPS: [(&str, &str); 7] = [
    (
        "10001|New York|NY|36061|40.7484|-73.9967|standard|10001|same_code",
        "New York County",
    ),
    (
        "11355|Flushing|NY|36081|40.7536|-73.8226|standard|11355|same_code",
        "Queens County",
    ),
    (
        "11201|Brooklyn|NY|36047|40.694|-73.9903|standard|11201|same_code",
        "Kings County",
    ),
    (
        "12207|Albany|NY|36001|42.6526|-73.7562|standard|12207|same_code",
        "Albany County",
    ),
    (
        "60201|Evanston|IL|17031|42.0546|-87.6943|standard|60201|same_code",
        "Cook County",
    ),
    (
        "60601|Chicago|IL|17031|41.8858|-87.6181|standard|60601|same_code",
        "Cook County",
    ),
    (
        "78701|Austin|TX|48453|30.2713|-97.7426|standard|78701|same_code",
        "Travis County",
    ),
];

/// The release with ZIP codes, permits of New York City, which states none, and one permit of
/// Austin without a ZIP code.
async fn world_with_zips() -> World {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    let table = |dataset_id, folders, rows| Table {
        dataset_id,
        vintage_year: None,
        bucket: None,
        folders,
        rows,
        report: PartReport::default(),
    };
    let mut zips: Vec<Value> = ZIPS
        .map(|(line, county)| with(zip(line), &json!({"county_name": county})))
        .into();
    zips.sort_by_key(|row| row["zip"].as_str().unwrap().to_owned());
    let of_borough = |number: &str, city: &str| {
        let at = json!({
            "jurisdiction_name": "New York City", "state": "NY", "line1": "41-60 MAIN ST", "city": city, "address_state": "NY", "address_key": "41-60||MAIN|ST||",
            "address_normalized": format!("41-60 MAIN ST, {city}, NY"), "property_id": format!("us-ny-nyc:41-60-main-st-{}", city.to_lowercase().replace(' ', "-")), "issued_date": "2024-01-01",
        });
        permit(NYC, number, &at)
    };
    let rows = vec![
        of_borough("B", "BROOKLYN"),
        of_borough("M", "NEW YORK"),
        of_borough("Q", "QUEENS"),
    ];
    draft.tables.extend([
        table("zip.zip", &[][..], zips),
        table("permit.permit", NYC, rows),
        table(
            "permit.permit",
            AUSTIN_TOO,
            vec![permit(AUSTIN_TOO, "2024-004 BP", &json!({"bucket": "1", "city": "AUSTIN", "address_state": "TX", "issued_date": "2024-01-01"}))],
        ),
    ]);
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    world
}

#[tokio::test]
async fn type_that_a_list_lacks_is_a_stated_gap() {
    let world = world().await;
    // Chicago's four permits are for buildings and for electrical work, issued from 2019 to 2021.
    let none = world
        .ok("/v1/permits/search?jurisdiction=us-il-chicago&type=plumbing")
        .await;
    assert_eq!(
        (&none["data"], notices(&none)),
        (&json!([]), vec!["TYPE_NOT_PUBLISHED"])
    );
    assert!(
        none["meta"]["notices"][0]["message"]
            .as_str()
            .unwrap()
            .starts_with("No published permit of us-il-chicago is of the type `plumbing`")
    );
    assert_eq!(
        notices(
            &world
                .ok("/v1/permits/search?jurisdiction=us-il-chicago&type=electrical")
                .await
        ),
        [""; 0]
    );
    let early = world
        .ok("/v1/permits/search?jurisdiction=us-il-chicago&date_to=2018-12-31")
        .await;
    assert_eq!(
        (&early["data"], notices(&early)),
        (&json!([]), vec!["DATES_NOT_PUBLISHED"])
    );
    assert!(
        early["meta"]["notices"][0]["message"]
            .as_str()
            .unwrap()
            .contains("us-il-chicago has permits from 2019-01-01 to 2021-01-01")
    );
    let coverage = world.ok("/v1/coverage").await;
    let lists = |dataset_id: &str| {
        let datasets = coverage["data"]["datasets"].as_array().unwrap();
        datasets
            .iter()
            .find(|dataset| dataset["dataset_id"] == dataset_id)
            .unwrap()["lists"]
            .clone()
    };
    let chicago = json!({
        "list": "us-il-chicago", "name": "Chicago", "state": "IL", "records": 4, "first_date": "2019-01-01", "last_date": "2021-01-01", "kinds": ["building", "electrical"],
        "gaps": [
            "no permits of the type mechanical", "no permits of the type plumbing", "no completed_date", "no status_date", "no ZIP codes", "no coordinates for 3 of 4 permits",
            "no license numbers of contractors",
        ],
        "freshness": "stale",
        "reach": {"areas": [], "population": null, "population_share": null, "population_year": null, "areas_without_estimate": 0},
    });
    assert_eq!(lists("permit.permit")[0], chicago);
    let nppes = lists("license.license")
        .as_array()
        .unwrap()
        .iter()
        .find(|list| list["list"] == "CT-nppes")
        .unwrap()
        .clone();
    assert_eq!(
        (&nppes["kinds"], &nppes["gaps"]),
        (
            &json!(["physician"]),
            &json!(["self-reported by holders only", "no dates of issue"])
        )
    );
}

#[tokio::test]
async fn place_instead_of_a_jurisdiction_suggests_similar_ids() {
    let world = world_with_zips().await;
    for (text, near) in [
        ("chicago", "; did you mean `us-il-chicago`?"),
        ("us-il-chicgo", "; did you mean `us-il-chicago`?"),
        ("Springfield", "."),
        ("us-il-evanston", "."),
        ("us-tx-chicago", "."),
    ] {
        let answer = world
            .get(&format!("/v1/permits/search?jurisdiction={text}"))
            .await;
        assert_eq!(
            answer.problem(),
            (404, "coverage_unavailable".to_owned()),
            "{text}"
        );
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.contains(&format!("are not covered{near}"))
                && detail.ends_with("jurisdictions are covered: /v1/coverage lists them"),
            "{detail}"
        );
    }
    let of_code = world.ok("/v1/permits/search?city=Austin&state=TX").await;
    assert_eq!(
        world.ok("/v1/permits/search?city=Austin&state=Texas").await["data"],
        of_code["data"]
    );
}

#[tokio::test]
async fn zip_code_that_a_list_lacks_is_answered_with_hints() {
    let world = world_with_zips().await;
    let problem = async |query: &str| {
        let answer = world.get(&format!("/v1/permits/search?{query}")).await;
        let (status, code) = answer.problem();
        (
            status,
            code,
            answer.json()["detail"].as_str().unwrap().to_owned(),
        )
    };
    for (query, says) in [
        (
            "zip=60601",
            &[
                "60601 (Chicago, IL)",
                "us-il-chicago states a ZIP code for none of its 4 permits",
                "(`CHICAGO`)",
                "`lat` with `lon` and `radius_mi`",
                "41.8858, -87.6181",
            ][..],
        ),
        (
            "zip=10001",
            &[
                "us-ny-nyc states a ZIP code for none of its 3 permits",
                "`address`",
                "(`NEW YORK`)",
            ],
        ),
        (
            "zip=11355",
            &[
                "us-ny-nyc states a ZIP code for none of its 3 permits",
                "(`QUEENS`)",
            ],
        ),
        (
            "zip=11201",
            &[
                "us-ny-nyc states a ZIP code for none of its 3 permits",
                "(`BROOKLYN`)",
            ],
        ),
        (
            "zip=78701&jurisdiction=us-il-chicago",
            &["us-il-chicago states a ZIP code for none of its 4 permits"],
        ),
    ] {
        let (status, code, detail) = problem(query).await;
        assert_eq!(
            (status, code.as_str()),
            (404, "coverage_unavailable"),
            "{query}"
        );
        assert!(
            detail.contains("permits may exist") && says.iter().all(|part| detail.contains(part)),
            "{detail}"
        );
    }
    let (status, _, detail) = problem("lat=40.7128&lon=-74.006").await;
    assert!(
        status == 404 && detail.contains("us-ny-nyc (3 permits)") && detail.contains("may be near"),
        "{detail}"
    );
    // New York City's permits have no coordinates here: no radius finds them.
    assert!(!problem("zip=11355").await.2.contains("radius_mi"));
    // The city's list does not state its coverage, so the answer neither affirms nor denies it.
    let (status, code, detail) = problem("zip=60201").await;
    assert_eq!((status, code.as_str()), (404, "coverage_unavailable"));
    assert!(
        detail
            .contains("60201 (Evanston, IL); 1 of 3 lists lack ZIP codes (`gaps` of /v1/coverage)")
            && detail.contains("may be there"),
        "{detail}"
    );
    let (status, code, _) = problem("zip=99999").await;
    assert_eq!((status, code.as_str()), (404, "coverage_unavailable"));
    // One of Austin's permits has no ZIP code.
    let austin = world.ok("/v1/permits/search?zip=78701").await;
    assert_eq!(
        (austin["data"].as_array().unwrap().len(), notices(&austin)),
        (3, vec!["PERMITS_WITHOUT_ZIP"])
    );
    assert!(
        austin["meta"]["notices"][0]["message"]
            .as_str()
            .unwrap()
            .contains("us-tx-austin states no ZIP code for 1 of its 4 permits"),
        "{austin}"
    );
    assert_eq!(
        notices(&world.ok("/v1/permits/search?city=Austin&state=TX").await),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn city_with_another_name_in_a_list_is_found_by_address() {
    let world = world_with_zips().await;
    let answer = world.get("/v1/permits/search?city=Flushing&state=ny").await;
    assert_eq!(answer.problem(), (400, "invalid_parameter".to_owned()));
    let expected = "permits cannot be found by the city `Flushing`: us-ny-nyc covers `Flushing` but names the city `QUEENS`. Search by that `city`, or by `address`";
    assert_eq!(answer.json()["detail"], expected);
    assert_eq!(ids(&world, "city=New%20York&state=NY").await, ["M"]);
    for query in [
        "city=Albany&state=NY",
        "city=Evanston&state=IL",
        "address=41-60%20Main%20St,%20Albany,%20NY%2012207",
        "address=100%20N%20Elm%20St,%20Evanston,%20IL%2060201",
    ] {
        assert_eq!(
            world
                .get(&format!("/v1/permits/search?{query}"))
                .await
                .problem(),
            (404, "coverage_unavailable".to_owned()),
            "{query}"
        );
    }
    for (address, expected) in [
        ("41-60 Main St, Flushing, NY 11355", vec!["Q"]),
        ("41-60 Main St, Flushing, NY", vec!["Q"]),
        ("41-60 Main Street, 11355", vec!["Q"]),
        ("41-60 Main St, Brooklyn, NY 11201", vec!["B"]),
        ("41-60 Main St, New York, NY 10001", vec!["M"]),
        ("100 N Elm St, 60601", vec!["2", "1"]),
        ("100 N Elm St, 78701", vec![]),
    ] {
        let address = address.replace(' ', "%20");
        assert_eq!(
            ids(&world, &format!("address={address}")).await,
            expected,
            "{address}"
        );
        let property = world
            .get(&format!("/v1/properties?address={address}"))
            .await;
        assert_eq!(
            property.status.as_u16(),
            if expected.is_empty() { 404 } else { 200 },
            "{address}"
        );
    }
}

#[tokio::test]
async fn date_field_that_a_list_lacks_is_reported() {
    let world = world().await;
    let chicago = async |query: &str| {
        world
            .ok(&format!(
                "/v1/permits/search?jurisdiction=us-il-chicago&{query}"
            ))
            .await
    };
    let none = chicago("date_field=completed&date_from=2010-01-01").await;
    assert_eq!(
        (&none["data"], notices(&none)),
        (&json!([]), vec!["DATE_NOT_PUBLISHED"])
    );
    assert!(
        none["meta"]["notices"][0]["message"]
            .as_str()
            .unwrap()
            .contains("No permit of us-il-chicago has a date of the kind `completed`"),
        "{none}"
    );
    assert_eq!(
        notices(&chicago("date_field=completed").await),
        Vec::<&str>::new(),
        "sorting alone leaves out no permit"
    );
    assert_eq!(
        notices(&chicago("date_field=applied&date_from=2030-01-01").await),
        ["DATES_NOT_PUBLISHED"]
    );
    assert_eq!(
        notices(
            &world
                .ok("/v1/permits/search?zip=78701&date_field=completed&date_to=2030-01-01")
                .await
        ),
        Vec::<&str>::new()
    );
}
