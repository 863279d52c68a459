use pubdata::store::PartReport;
use serde_json::{Value, json};

use super::zips::zip;
use super::{AUSTIN, CHICAGO, Folders, all, contact, permit, world};
use crate::serve::home::Table;
use crate::serve::{World, notices};

pub fn chicago() -> Vec<Value> {
    let at = |line: &str, key: &str, slug: &str| {
        json!({
            "line1": line, "city": "CHICAGO", "address_state": "IL", "address_normalized": format!("{line}, CHICAGO, IL"), "address_key": key, "property_id": format!("us-il-chicago:{slug}"),
        })
    };
    let with = |mut cells: Value, others: &Value| {
        others.as_object().unwrap().iter().for_each(|(name, value)| cells[name] = value.clone());
        cells
    };
    let elm = || at("100 N ELM ST", "100|N|ELM|ST||", "100-n-elm-st-chicago");
    vec![
        permit(
            CHICAGO,
            "1",
            &with(
                elm(),
                &json!({"issued_date": "2020-01-01", "job_value": "1000.5", "type": "electrical", "lat": 41.88, "lon": -87.63, "tags": ["solar"], "description": "Install SOLAR panels", "parcel_scheme": "pin", "parcel": "17-09-1"}),
            ),
        ),
        permit(
            CHICAGO,
            "2",
            &with(
                elm(),
                &json!({"issued_date": "2021-01-01", "job_value": "5000000000", "line2": "APT 3", "address_normalized": "100 N ELM ST APT 3, CHICAGO, IL", "expires_date": "2022-01-01"}),
            ),
        ),
        permit(
            CHICAGO,
            "3",
            &with(
                at("100 S ELM ST", "100|S|ELM|ST||", "100-s-elm-st-chicago"),
                &json!({"issued_date": "2019-01-01", "job_value": "20", "description": "Pool house"}),
            ),
        ),
        permit(
            CHICAGO,
            "4",
            &with(
                at("7 W OAK AVE", "7|W|OAK|AVE||", "7-w-oak-ave-chicago"),
                &json!({"applied_date": "2022-05-05", "status": "in_review", "tags": ["pool", "deck"], "description": "Build a deck and pool."}),
            ),
        ),
    ]
}

pub fn austin() -> Vec<Value> {
    let place = json!({
        "line1": "618 W ELMIRA ST", "city": "AUSTIN", "address_state": "TX", "zip": "78701", "address_normalized": "618 W ELMIRA ST, AUSTIN, TX 78701",
        "address_key": "618|W|ELMIRA|ST||78701", "property_id": "us-tx-austin:618-w-elmira-st-78701", "lat": 30.27, "lon": -97.74,
    });
    let with = |others: &Value| {
        let mut cells = place.clone();
        others.as_object().unwrap().iter().for_each(|(name, value)| cells[name] = value.clone());
        cells
    };
    vec![
        permit(AUSTIN, "2024-001 BP", &with(&json!({"issued_date": "2024-02-01", "work_class": "new", "property_class": "residential", "job_value": "100"}))),
        permit(AUSTIN, "2024-002 EP", &with(&json!({"issued_date": "2024-03-01", "type": "electrical", "completed_date": "2024-06-01", "status": "final"}))),
        permit(AUSTIN, "2024-003 PP", &with(&json!({"issued_date": "2024-03-01", "type": "plumbing"}))),
    ]
}

pub fn chicago_contacts() -> Vec<Value> {
    vec![contact(CHICAGO, "1", 1, &json!({"name": "BRIGHT SPARKS ELECTRIC LLC"})), contact(CHICAGO, "2", 1, &json!({"role": "owner", "role_raw": "OWNER"}))]
}

pub fn austin_contacts() -> Vec<Value> {
    let numbered = |number: &str| json!({"name": "SOMEBODY ELSE", "license_number": number, "license_number_normalized": number, "license_state": "TX"});
    vec![
        contact(AUSTIN, "2024-001 BP", 1, &json!({"name": "Bright Sparks Electric, L.L.C.", "phone": "5125550199"})),
        contact(AUSTIN, "2024-001 BP", 2, &json!({"name": "TWICE LICENSED LLC"})),
        contact(AUSTIN, "2024-002 EP", 1, &numbered("3000")),
        contact(AUSTIN, "2024-003 PP", 1, &numbered("1094")),
    ]
}

async fn ids(world: &World, query: &str) -> Vec<String> {
    let answer = world.ok(&format!("/v1/permits/search?{query}")).await;
    all(&answer["data"], "permit_id").into_iter().map(|id| id.split_once(':').unwrap().1.to_owned()).collect()
}

#[tokio::test]
async fn permits_are_found_by_place() {
    let world = world().await;
    let cases = [
        ("jurisdiction=us-il-chicago", vec!["2", "1", "3", "4"]),
        ("zip=78701", vec!["2024-002 EP", "2024-003 PP", "2024-001 BP"]),
        ("city=Chicago&state=IL", vec!["2", "1", "3", "4"]),
        ("address=100%20North%20Elm%20Street,%20Chicago%20IL", vec!["2", "1"]),
        ("address=618%20W%20Elmira%20St,%2078701", vec!["2024-002 EP", "2024-003 PP", "2024-001 BP"]),
        ("address=7%20Oak,%20Chicago,%20IL", vec!["4"]),
        ("address=100%20Elm%20St,%20Chicago,%20IL", vec![]),
        ("lat=41.88&lon=-87.63", vec!["1"]),
        ("lat=41.89&lon=-87.63&radius_mi=0.5", vec![]),
        ("parcel=17091", vec!["1"]),
        ("permit_number=2024-001%20bp", vec!["2024-001 BP"]),
        ("permit_number=1&jurisdiction=us-tx-austin", vec![]),
    ];
    for (query, expected) in cases {
        assert_eq!(ids(&world, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn filters_and_orders_hold() {
    let world = world().await;
    let cases = [
        ("type=electrical,plumbing", vec!["1"]),
        ("status=in_review", vec!["4"]),
        ("tags=pool", vec!["4"]),
        ("tags=solar,-pool", vec!["1"]),
        ("tags=-pool", vec!["2", "1", "3"]),
        ("tags=hvac", vec![]),
        ("tags=-hvac,solar", vec!["1"]),
        ("date_from=2020-01-01&date_to=2020-12-31", vec!["1"]),
        ("date_field=applied&date_from=2022-01-01", vec!["4"]),
        ("min_value=1000&max_value=1000.5", vec!["1"]),
        ("sort=value_desc", vec!["2", "1", "3", "4"]),
        ("contractor=bright%20sparks", vec!["1"]),
        ("q=deck%20POOL", vec!["4"]),
        ("q=dec", vec![]),
        ("q=panels&tags=solar", vec!["1"]),
    ];
    for (query, expected) in cases {
        assert_eq!(ids(&world, &format!("jurisdiction=us-il-chicago&{query}")).await, expected, "{query}");
    }
    let austin = async |query: &str| ids(&world, &format!("zip=78701&{query}")).await;
    assert_eq!(austin("work_class=new&property_class=residential").await, ["2024-001 BP"]);
    assert_eq!(austin("contractor_license=3000").await, ["2024-002 EP"]);
    assert_eq!(austin("date_field=completed&date_from=2024-01-01").await, ["2024-002 EP"]);
}

#[tokio::test]
async fn pages_of_permits_follow_one_another() {
    let world = world().await;
    for query in ["jurisdiction=us-il-chicago", "jurisdiction=us-il-chicago&sort=value_desc", "zip=78701", "jurisdiction=us-il-chicago&q=pool"] {
        let whole = ids(&world, query).await;
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = world.ok(&format!("/v1/permits/search?{query}&limit=1{cursor}")).await;
            paged.extend(all(&page["data"], "permit_number").into_iter().map(str::to_owned));
            match page["meta"]["page"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(paged, whole, "{query}");
    }
}

/// However small a page is, all permits with the words are counted.
#[tokio::test]
async fn permits_with_words_are_counted_over_all_pages() {
    let world = world().await;
    let of = async |rest: &str| world.ok(&format!("/v1/permits/search?jurisdiction=us-il-chicago&q=pool{rest}")).await["meta"]["page"].clone();
    let whole = of("").await;
    assert!(whole["total"].as_u64().unwrap() > 1, "{whole}");
    let first = of("&limit=1").await;
    let second = of(&format!("&limit=1&cursor={}", first["next_cursor"].as_str().unwrap())).await;
    for page in [&first, &second] {
        assert_eq!((&page["total"], &page["total_relation"], &page["count"]), (&whole["total"], &json!("eq"), &json!(1)));
    }
}

#[tokio::test]
async fn a_permit_that_was_set_aside_is_told_of() {
    let world = World::empty(|_| {}).await;
    let mut draft = super::draft();
    let record = "pubdata.quarantine:permit.permit:bucket=0/jurisdiction=us-il-chicago:permit.permit:us-il-chicago:T2022-77-NB:duplicate_key";
    let row = json!({"record_id": record, "dataset_id": "permit.permit", "partition": "bucket=0/jurisdiction=us-il-chicago", "rule": "duplicate_key", "reason": "made up", "validation_status": "failed"});
    let folders = &[("dataset_id", "permit.permit")];
    draft.tables.push(Table { dataset_id: "pubdata.quarantine", vintage_year: None, bucket: None, folders, rows: vec![row], report: PartReport::default() });
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    let notices = async |number: &str| {
        let answer = world.ok(&format!("/v1/permits/search?permit_number={number}")).await;
        answer["meta"]["notices"].as_array().unwrap().iter().map(|notice| notice["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(notices("t2022-77-nb").await, ["RECORD_SET_ASIDE"]);
    assert_eq!(notices("T2022").await, ["RECORD_SET_ASIDE"], "the first part is the number where others make it unique");
    assert_eq!(notices("T2022-7").await, Vec::<String>::new());
}

#[tokio::test]
async fn permits_outside_of_what_is_covered_are_no_empty_answer() {
    let world = world().await;
    let problem = async |query: &str| world.get(&format!("/v1/permits/search?{query}")).await.problem();
    for query in [
        "jurisdiction=us-ny-nyc",
        "zip=10001",
        "city=Boston&state=MA",
        "city=Boston&state=IL",
        "city=Austin&state=IL",
        "address=1%20Main%20St,%20Boston,%20MA",
        "lat=0&lon=0",
    ] {
        assert_eq!(problem(query).await, (404, "coverage_unavailable".to_owned()), "{query}");
    }
    for query in ["", "type=building", "city=Chicago", "lat=1", "lon=1", "radius_mi=1", "state=IL"] {
        assert_eq!(problem(query).await, (400, "missing_parameter".to_owned()), "{query}");
    }
    let unknown = world.get("/v1/permits/search?zip=78701&tags=solar,foo").await;
    assert_eq!(unknown.problem(), (400, "invalid_parameter".to_owned()));
    let known = "known: solar, ev_charger, adu, hvac, roofing, battery, pool, generator, kitchen, bathroom, deck, garage";
    assert_eq!(unknown.json()["detail"], format!("`tags`: `foo` is no tag; {known}"));
    for query in ["zip=78701&tags=Solar!", "zip=78701&min_value=2&max_value=1", "address=nowhere", "address=1%20Main%20St", "zip=78701&date_field=never"] {
        assert_eq!(problem(query).await, (400, "invalid_parameter".to_owned()), "{query}");
    }
    let answer = world.ok("/v1/permits/search?zip=78701").await;
    assert_eq!(answer["meta"]["coverage"]["jurisdictions_searched"], json!(["us-il-chicago", "us-tx-austin"]));
    assert_eq!(notices(&world.ok("/v1/permits/search?jurisdiction=us-il-chicago&tags=pool").await), ["TAGS_ARE_DERIVED"]);
}

#[tokio::test]
async fn parties_are_linked_to_licenses_by_number_or_by_the_only_name() {
    let world = world().await;
    let parties = async |query: &str| world.ok(&format!("/v1/permits/search?{query}")).await["data"][0]["contractors"].clone();
    let link = |party: &Value| {
        let sure = match party["link_method"].as_str() {
            Some("exact_number") => json!("stated"),
            Some(_) => json!("likely"),
            None => Value::Null,
        };
        assert_eq!(party["link_confidence"], sure, "{party}");
        (party["license_id"].clone(), party["link_method"].clone())
    };
    let links = |parties: &Value| parties.as_array().unwrap().iter().map(link).collect::<Vec<_>>();
    // The name is that of one contractor's license in Texas; two licenses have the other name.
    let named = parties("permit_number=2024-001%20BP").await;
    assert_eq!(links(&named), [(json!("TX-tdlr-el-1094"), json!("name_and_state")), (Value::Null, Value::Null)]);
    assert_eq!(named[0]["phone"], "5125550199");
    assert_eq!(links(&parties("permit_number=2024-002%20EP").await), [(json!("TX-tdlr-el-3000"), json!("exact_number"))]);
    // Two licenses have this number; one of them is a contractor's.
    assert_eq!(links(&parties("permit_number=2024-003%20PP").await), [(json!("TX-tdlr-el-1094"), json!("exact_number"))]);
    // No list of Illinois is covered.
    assert_eq!(links(&parties("permit_number=1").await), [(Value::Null, Value::Null)]);
    let owner = parties("permit_number=2").await;
    assert_eq!((&owner[0]["role"], &owner[0]["name"]), (&json!("owner"), &Value::Null));
}

#[tokio::test]
async fn a_permit_says_what_is_published_of_it() {
    let world = world().await;
    let answer = world.ok("/v1/permits/search?permit_number=1").await;
    let data = &answer["data"][0];
    assert_eq!(data["jurisdiction"], json!({"id": "us-il-chicago", "name": "Chicago", "state": "IL"}));
    assert_eq!((&data["job_value"], &data["parcel"], &data["is_expired"]), (&json!(1000.5), &json!({"scheme": "pin", "value": "17-09-1"}), &Value::Null));
    assert_eq!((&data["address"]["lat"], &data["address"]["geocode_source"], &data["address"]["zip"]), (&json!(41.88), &json!("source"), &Value::Null));
    assert_eq!(data["provenance"]["record_id"], "permit.permit:us-il-chicago:1");
    assert_eq!(world.ok("/v1/permits/search?permit_number=2").await["data"][0]["is_expired"], true);
}

const NYC: Folders = &[("jurisdiction", "us-ny-nyc"), ("bucket", "0")];
const AUSTIN_TOO: Folders = &[("jurisdiction", "us-tx-austin"), ("bucket", "1")];

/// ZIP codes of GeoNames' file of 2024, and the counties that the Census Bureau's codes name.
const ZIPS: [(&str, &str); 7] = [
    ("10001|New York|NY|36061|40.7484|-73.9967|standard|10001|same_code", "New York County"),
    ("11355|Flushing|NY|36081|40.7536|-73.8226|standard|11355|same_code", "Queens County"),
    ("11201|Brooklyn|NY|36047|40.694|-73.9903|standard|11201|same_code", "Kings County"),
    ("12207|Albany|NY|36001|42.6526|-73.7562|standard|12207|same_code", "Albany County"),
    ("60201|Evanston|IL|17031|42.0546|-87.6943|standard|60201|same_code", "Cook County"),
    ("60601|Chicago|IL|17031|41.8858|-87.6181|standard|60601|same_code", "Cook County"),
    ("78701|Austin|TX|48453|30.2713|-97.7426|standard|78701|same_code", "Travis County"),
];

/// The release with ZIP codes, permits of New York City, which states none, and one of Austin that has none.
async fn world_with_zips() -> World {
    let world = World::empty(|_| {}).await;
    let mut draft = super::draft();
    let table = |dataset_id, folders, rows| Table { dataset_id, vintage_year: None, bucket: None, folders, rows, report: PartReport::default() };
    let mut zips: Vec<Value> = ZIPS.map(|(line, county)| super::with(zip(line), &json!({"county_name": county}))).into();
    zips.sort_by_key(|row| row["zip"].as_str().unwrap().to_owned());
    let of_borough = |number: &str, city: &str| {
        let at = json!({
            "jurisdiction_name": "New York City", "state": "NY", "line1": "41-60 MAIN ST", "city": city, "address_state": "NY", "address_key": "41-60||MAIN|ST||",
            "address_normalized": format!("41-60 MAIN ST, {city}, NY"), "property_id": format!("us-ny-nyc:41-60-main-st-{}", city.to_lowercase().replace(' ', "-")), "issued_date": "2024-01-01",
        });
        permit(NYC, number, &at)
    };
    let rows = vec![of_borough("B", "BROOKLYN"), of_borough("M", "NEW YORK"), of_borough("Q", "QUEENS")];
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
async fn a_zip_code_that_a_list_does_not_state_is_told_with_the_ways_out() {
    let world = world_with_zips().await;
    let problem = async |query: &str| {
        let answer = world.get(&format!("/v1/permits/search?{query}")).await;
        let (status, code) = answer.problem();
        (status, code, answer.json()["detail"].as_str().unwrap().to_owned())
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
        ("zip=10001", &["us-ny-nyc states a ZIP code for none of its 3 permits", "`address`", "(`NEW YORK`)"]),
        ("zip=11355", &["us-ny-nyc states a ZIP code for none of its 3 permits", "(`QUEENS`)"]),
        ("zip=11201", &["us-ny-nyc states a ZIP code for none of its 3 permits", "(`BROOKLYN`)"]),
        ("zip=78701&jurisdiction=us-il-chicago", &["us-il-chicago states a ZIP code for none of its 4 permits"]),
    ] {
        let (status, code, detail) = problem(query).await;
        assert_eq!((status, code.as_str()), (400, "invalid_parameter"), "{query}");
        assert!(detail.contains("does not mean that there are none") && says.iter().all(|part| detail.contains(part)), "{detail}");
    }
    let (status, _, detail) = problem("lat=40.7128&lon=-74.006").await;
    assert!(status == 404 && detail.contains("us-ny-nyc (3 permits)") && detail.contains("is not known"), "{detail}");
    // New York City's permits have no coordinates here: no circle finds them.
    assert!(!problem("zip=11355").await.2.contains("radius_mi"));
    // What the city's list does not say it covers is not said to be covered, nor not to be.
    let (status, code, detail) = problem("zip=60201").await;
    assert_eq!((status, code.as_str()), (404, "coverage_unavailable"));
    assert!(detail.contains("60201 (Evanston, IL); us-il-chicago states a ZIP code for none of its 4 permits") && detail.contains("is not known"), "{detail}");
    let (status, code, _) = problem("zip=99999").await;
    assert_eq!((status, code.as_str()), (404, "coverage_unavailable"));
    // One of Austin's permits has no ZIP code.
    let austin = world.ok("/v1/permits/search?zip=78701").await;
    assert_eq!((austin["data"].as_array().unwrap().len(), notices(&austin)), (3, vec!["PERMITS_WITHOUT_ZIP"]));
    assert!(austin["meta"]["notices"][0]["message"].as_str().unwrap().contains("us-tx-austin states no ZIP code for 1 of its 4 permits"), "{austin}");
    assert_eq!(notices(&world.ok("/v1/permits/search?city=Austin&state=TX").await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_city_that_a_list_names_otherwise_is_found_by_address_and_told_otherwise() {
    let world = world_with_zips().await;
    let answer = world.get("/v1/permits/search?city=Flushing&state=ny").await;
    assert_eq!(answer.problem(), (400, "invalid_parameter".to_owned()));
    let expected = "permits cannot be found by the city `Flushing`: us-ny-nyc covers `Flushing` and has for the city there `QUEENS`. Ask for that `city`, or for an `address`";
    assert_eq!(answer.json()["detail"], expected);
    assert_eq!(ids(&world, "city=New%20York&state=NY").await, ["M"]);
    for query in [
        "city=Albany&state=NY",
        "city=Evanston&state=IL",
        "address=41-60%20Main%20St,%20Albany,%20NY%2012207",
        "address=100%20N%20Elm%20St,%20Evanston,%20IL%2060201",
    ] {
        assert_eq!(world.get(&format!("/v1/permits/search?{query}")).await.problem(), (404, "coverage_unavailable".to_owned()), "{query}");
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
        assert_eq!(ids(&world, &format!("address={address}")).await, expected, "{address}");
        let property = world.get(&format!("/v1/properties?address={address}")).await;
        assert_eq!(property.status.as_u16(), if expected.is_empty() { 404 } else { 200 }, "{address}");
    }
}

#[tokio::test]
async fn a_kind_of_date_that_a_list_never_has_is_told() {
    let world = world().await;
    let chicago = async |query: &str| world.ok(&format!("/v1/permits/search?jurisdiction=us-il-chicago&{query}")).await;
    let none = chicago("date_field=completed&date_from=2010-01-01").await;
    assert_eq!((&none["data"], notices(&none)), (&json!([]), vec!["DATE_NOT_PUBLISHED"]));
    assert!(none["meta"]["notices"][0]["message"].as_str().unwrap().contains("No permit of us-il-chicago has a date of the kind `completed`"), "{none}");
    assert_eq!(notices(&chicago("date_field=completed").await), Vec::<&str>::new(), "the order alone leaves nothing out");
    assert_eq!(notices(&chicago("date_field=applied&date_from=2030-01-01").await), Vec::<&str>::new());
    assert_eq!(notices(&world.ok("/v1/permits/search?zip=78701&date_field=completed&date_to=2030-01-01").await), Vec::<&str>::new());
}
