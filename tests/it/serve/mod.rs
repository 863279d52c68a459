//! The HTTP API, asked in process on a small home.

mod connections;
mod coverage;
mod examples;
mod general;
mod geo;
mod headers;
mod home;
mod keys;
mod openapi;
mod problems;
mod releases;
mod schools;
mod sec;
mod stream;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use jiff::Timestamp;
use pubdata::contract::Contracts;
use pubdata::declared::DeclarationFiles;
use pubdata::ids::ReleaseId;
use pubdata::pipeline::Declarations;
use pubdata::serve::{ServeSettings, Server};
use pubdata::store::{Home, Keys, NewKey, PartReport, Plans, Releases, Scope};
use serde_json::{Value, json};
use tower::ServiceExt;

use home::{Draft, Table, metric, publish};

const METRICS: [&str; 12] = [
    "bachelors_attainment",
    "high_school_attainment",
    "households",
    "median_age",
    "median_gross_rent",
    "median_home_value",
    "median_household_income",
    "owner_occupied_share",
    "population",
    "poverty_rate",
    "renter_occupied_share",
    "unemployment_rate",
];

/// A home with a server on it and a key for it.
pub struct World {
    pub folder: tempfile::TempDir,
    pub home: Home,
    pub contracts: Contracts,
    pub service: Arc<Server>,
    pub router: Router,
    pub key: String,
    pub release_id: ReleaseId,
    clock: Arc<Mutex<Timestamp>>,
}

/// An answer, read.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.bytes)))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Status and code of a problem.
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", String::from_utf8_lossy(&self.bytes));
        let body = self.json();
        assert_eq!(body["status"], self.status.as_u16());
        assert_eq!(body["request_id"], self.header("x-request-id"));
        (self.status.as_u16(), body["code"].as_str().unwrap().to_owned())
    }
}

impl World {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut ServeSettings)) -> Self {
        let mut world = Self::empty(change).await;
        world.release_id = world.publish(&draft(19_652.0)).await;
        world.service.refresh().await.unwrap();
        world
    }

    /// A home without a release.
    pub async fn empty(change: impl FnOnce(&mut ServeSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let files = DeclarationFiles::built_in();
        let plans = Plans::load(&files).unwrap();
        let contracts = Declarations::load(files).unwrap().contracts;
        let clock = Arc::new(Mutex::new("2026-01-15T12:00:00Z".parse::<Timestamp>().unwrap()));
        let new = NewKey { name: "test".to_owned(), scopes: Scope::ALL.to_vec(), plan: "unlimited".to_owned(), expires_at: None };
        let key = Keys::open(&home).create(new, &plans, *clock.lock().unwrap()).unwrap().key;
        let mut settings = ServeSettings::new(folder.path().to_owned(), plans);
        change(&mut settings);
        let told = clock.clone();
        let service = Server::new(settings, contracts.clone(), Arc::new(move || *told.lock().unwrap())).unwrap();
        let router = service.router();
        let release_id = "r00000000000000000000".parse().unwrap();
        Self { folder, home, contracts, service, router, key, release_id, clock }
    }

    pub async fn publish(&self, draft: &Draft) -> ReleaseId {
        publish(&self.home, &self.contracts, draft).await
    }

    pub fn releases(&self) -> Releases {
        Releases::open(&self.home, None).unwrap()
    }

    pub fn create_key(&self, scopes: &[Scope], plan: &str) -> pubdata::store::CreatedKey {
        let plans = Plans::load(&DeclarationFiles::built_in()).unwrap();
        let new = NewKey { name: "other".to_owned(), scopes: scopes.to_vec(), plan: plan.to_owned(), expires_at: None };
        Keys::open(&self.home).create(new, &plans, self.now()).unwrap()
    }

    pub fn now(&self) -> Timestamp {
        *self.clock.lock().unwrap()
    }

    pub fn set_clock(&self, text: &str) {
        *self.clock.lock().unwrap() = text.parse().unwrap();
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        read(self.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Asks with the key.
    pub async fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[]).await
    }

    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(path).header("x-api-key", &self.key);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = Request::post(path).header("x-api-key", &self.key).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Sends a body as it is written.
    pub async fn post_text(&self, path: &str, text: String) -> Answer {
        let request = Request::post(path).header("x-api-key", &self.key).header("content-type", "application/json");
        self.send(request.body(Body::from(text)).unwrap()).await
    }

    /// Asks with another key.
    pub async fn post_as(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = Request::post(path).header("x-api-key", key).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub async fn ok(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.bytes));
        answer.json()
    }
}

pub async fn read(response: axum::response::Response) -> Answer {
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec();
    Answer { status, headers, bytes }
}

/// The codes of an answer's notices.
pub fn notices(answer: &Value) -> Vec<&str> {
    answer["meta"]["notices"].as_array().unwrap().iter().map(|notice| notice["code"].as_str().unwrap()).collect()
}

/// The release most tests ask. 90210's population is given, so that releases can differ.
pub fn draft(population: f64) -> Draft {
    let table = |dataset_id, vintage_year, rows| Table { dataset_id, vintage_year, bucket: None, folders: &[], rows, report: PartReport::default() };
    let mut tables = vec![
        table("geo.zcta_metric", Some(2022), zcta_metrics(2022, population - 1_000.0)),
        table("geo.zcta_metric", Some(2023), zcta_metrics(2023, population)),
        table("geo.county_metric", Some(2022), county_metrics(2022)),
        table("geo.county_metric", Some(2023), county_metrics(2023)),
        table("geo.geography", None, zctas()),
        table("geo.county", None, counties()),
        table("geo.school", None, schools::rows()),
    ];
    tables[1].report = PartReport {
        quarantined: BTreeMap::from([("value_or_reason".to_owned(), 1)]),
        warnings: BTreeMap::from([("tenure_adds_up".to_owned(), 1)]),
        notes: vec!["more rows than the ceiling".to_owned()],
        empty_columns: None,
    };
    Draft { tables, is_sample: false, published_at: "2026-01-10T01:00:00Z", is_stale: false, due: None }
}

fn zcta_metrics(year: i32, population: f64) -> Vec<Value> {
    let derived = |value: f64| json!({"value": value, "moe": null, "moe_status": "not_published", "moe_variable": null, "is_derived": true});
    let controlled = |value: f64| json!({"value": value, "moe": null, "moe_status": "controlled"});
    let open_ended = json!({"value": 250_000.0, "moe": null, "moe_status": "open_ended", "qualifier": "250,000 or more"});
    let missing = json!({"value": null, "moe": null, "moe_status": "not_published", "null_reason": "insufficient_sample"});
    let mut special: BTreeMap<(&str, &str), Value> = BTreeMap::new();
    special.insert(("00627", "population"), controlled(110.0));
    special.insert(("00663", "population"), controlled(100.0));
    special.insert(("10001", "population"), json!({"value": 29_079.0, "moe": 1_500.0}));
    special.insert(("90210", "population"), json!({"value": population, "moe": 1_335.0}));
    special.insert(("10001", "households"), json!({"value": 10_000.0, "moe": 400.0}));
    special.insert(("90210", "households"), json!({"value": 10_500.0, "moe": 300.0}));
    special.insert(("90210", "median_household_income"), open_ended);
    special.insert(("90210", "median_home_value"), missing);
    special.insert(("10001", "owner_occupied_share"), derived(30.5));
    special.insert(("90210", "owner_occupied_share"), derived(45.0));
    special.insert(("10001", "renter_occupied_share"), json!({"value": 69.7, "validation_status": "passed_with_warnings", "warnings": ["tenure_adds_up"]}));
    special.insert(("90210", "unemployment_rate"), json!({"value": 0.0, "moe": 20.8}));
    let rows = ["00627", "00663", "10001", "90210", "99546"].into_iter().flat_map(|code| METRICS.map(|key| (code, key)));
    // One record of 10001 was set aside.
    let rows = rows.filter(|pair| *pair != ("10001", "poverty_rate"));
    rows.map(|(code, key)| metric("geo.zcta_metric", year, code, key, special.get(&(code, key)).unwrap_or(&json!({})))).collect()
}

fn county_metrics(year: i32) -> Vec<Value> {
    let income = if year == 2023 { json!({"value": 87_760.0, "moe": 463.0}) } else { json!({"value": 83_411.0, "moe": 439.0}) };
    let mut rows: Vec<Value> =
        METRICS.map(|key| metric("geo.county_metric", year, "06037", key, if key == "median_household_income" { &income } else { &EMPTY })).into();
    if year == 2022 {
        rows.extend(METRICS.map(|key| metric("geo.county_metric", year, "09001", key, &json!({"area_name": "Fairfield County, Connecticut"}))));
    }
    rows
}

static EMPTY: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| json!({}));

fn zctas() -> Vec<Value> {
    let place = |code: &str, area: f64, lat: f64, lon: f64, county: Option<(&str, &str, &str)>| {
        json!({
            "record_id": format!("geo.geography:{code}"), "zcta": code, "name": format!("ZCTA5 {code}"), "gazetteer_year": 2025, "land_area_sqm": 1, "water_area_sqm": 0,
            "land_area_sqmi": area, "internal_point_lat": lat, "internal_point_lon": lon, "primary_county_fips": county.map(|county| county.0),
            "primary_county_name": county.map(|county| county.1), "primary_county_land_share": county.map(|_| 0.9876), "primary_county_basis": if county.is_some() { "largest_land_part" } else { "none" },
            "primary_state_fips": county.map(|county| &county.0[..2]), "primary_state_code": county.map(|county| county.2), "county_count": 1,
        })
    };
    vec![
        place("00627", 22.5, 18.43, -66.85, Some(("72027", "Camuy Municipio", "PR"))),
        place("10001", 0.624, 40.7506, -73.9972, Some(("36061", "New York County", "NY"))),
        place("90210", 8.19, 34.100_517, -118.414_712, Some(("06037", "Los Angeles County", "CA"))),
        place("96799", 76.8, -14.3, -170.7, None),
        place("99546", 300.125, 51.9, 179.95, Some(("02016", "Aleutians West Census Area", "AK"))),
    ]
}

fn counties() -> Vec<Value> {
    let county = |code: &str, name: &str, state: &str| {
        json!({
            "record_id": format!("geo.county:{code}"), "county_fips": code, "name": name, "gazetteer_year": 2025, "land_area_sqm": 1, "water_area_sqm": 0, "land_area_sqmi": 4_059.28,
            "internal_point_lat": 34.196_398, "internal_point_lon": -118.261_862, "state_fips": &code[..2], "state_code": state,
        })
    };
    vec![county("06037", "Los Angeles County", "CA"), county("09110", "Capitol Planning Region", "CT")]
}
