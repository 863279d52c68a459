//! Tests permits: rows of two cities' lists with their contacts, and requests about permits,
//! properties and contractors.

mod contractor;
mod cover;
mod property;
mod search;

use pubdata_core::canonical::name::organization;
use serde_json::{Value, json};

use super::records::Folders;
use super::{World, all, with};

pub const CHICAGO: Folders = &[("jurisdiction", "us-il-chicago"), ("bucket", "0")];
pub const AUSTIN: Folders = &[("jurisdiction", "us-tx-austin"), ("bucket", "0")];

fn permit(folders: Folders, number: &str, cells: &Value) -> Value {
    let jurisdiction = folders[0].1;
    let id = format!("{jurisdiction}:{number}");
    let (name, state) = if jurisdiction == "us-il-chicago" {
        ("Chicago", "IL")
    } else {
        ("Austin", "TX")
    };
    let row = json!({
        "record_id": format!("permit.permit:{id}"), "jurisdiction": jurisdiction, "jurisdiction_name": name, "bucket": "0", "permit_id": id, "source_id": "test", "state": state,
        "permit_number": number, "type": "building", "status": "active",
    });
    with(row, cells)
}

fn contact(folders: Folders, number: &str, seq: i32, cells: &Value) -> Value {
    let id = format!("{}:{number}", folders[0].1);
    let row = json!({
        "record_id": format!("permit.contact:{id}:{seq}"), "jurisdiction": folders[0].1, "bucket": "0", "permit_id": id, "source_id": "test", "seq": seq, "role": "contractor", "role_raw": "Contractor",
    });
    let mut row = with(row, cells);
    if let Some(name) = row["name"].as_str() {
        row["name_normalized"] = json!(organization(name).normalized);
    }
    row
}

pub fn chicago() -> Vec<Value> {
    let at = |line: &str, key: &str, slug: &str| {
        json!({
            "line1": line, "city": "CHICAGO", "address_state": "IL", "address_normalized": format!("{line}, CHICAGO, IL"), "address_key": key, "property_id": format!("us-il-chicago:{slug}"),
        })
    };
    let with = |mut cells: Value, others: &Value| {
        others
            .as_object()
            .unwrap()
            .iter()
            .for_each(|(name, value)| cells[name] = value.clone());
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
                &json!({"issued_date": "2021-01-01", "job_value": "5000000000", "line2": "APT 3", "address_normalized": "100 N ELM ST APT 3, CHICAGO, IL", "expires_date": "2022-01-01", "housing_units": 3, "stories": 2}),
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
        others
            .as_object()
            .unwrap()
            .iter()
            .for_each(|(name, value)| cells[name] = value.clone());
        cells
    };
    vec![
        permit(
            AUSTIN,
            "2024-001 BP",
            &with(
                &json!({"issued_date": "2024-02-01", "work_class": "new", "property_class": "residential", "job_value": "100"}),
            ),
        ),
        permit(
            AUSTIN,
            "2024-002 EP",
            &with(
                &json!({"issued_date": "2024-03-01", "type": "electrical", "completed_date": "2024-06-01", "status": "final", "expires_date": "2024-09-01"}),
            ),
        ),
        permit(
            AUSTIN,
            "2024-003 PP",
            &with(
                &json!({"issued_date": "2024-03-01", "type": "plumbing", "parcel_scheme": "tcad", "parcel": "0123"}),
            ),
        ),
    ]
}

pub fn chicago_contacts() -> Vec<Value> {
    vec![
        contact(
            CHICAGO,
            "1",
            1,
            &json!({"name": "BRIGHT SPARKS ELECTRIC LLC"}),
        ),
        contact(
            CHICAGO,
            "2",
            1,
            &json!({"role": "owner", "role_raw": "OWNER"}),
        ),
    ]
}

pub fn austin_contacts() -> Vec<Value> {
    let numbered = |number: &str| json!({"name": "SOMEBODY ELSE", "license_number": number, "license_number_normalized": number, "license_state": "TX"});
    vec![
        contact(
            AUSTIN,
            "2024-001 BP",
            1,
            &json!({"name": "Bright Sparks Electric, L.L.C.", "phone": "5125550199"}),
        ),
        contact(
            AUSTIN,
            "2024-001 BP",
            2,
            &json!({"name": "TWICE LICENSED LLC"}),
        ),
        contact(AUSTIN, "2024-002 EP", 1, &numbered("3000")),
        contact(AUSTIN, "2024-003 PP", 1, &numbered("1094")),
    ]
}

pub fn austin_links() -> Vec<Value> {
    let link = |number: &str, seq: i32, license: &str, cells: &Value| {
        let id = format!("us-tx-austin:{number}");
        let row = json!({
            "record_id": format!("permit.license_link:{id}:{seq}"), "jurisdiction": "us-tx-austin", "bucket": "0", "permit_id": id, "source_id": "test", "seq": seq,
            "license_id": license,
        });
        with(row, cells)
    };
    let by_number = |number: &str| json!({"method": "exact_number", "license_scheme": "us-tx/tdlr", "evidence": number});
    vec![
        link(
            "2024-001 BP",
            1,
            "TX-tdlr-el-1094",
            &json!({"method": "name_and_state", "evidence": "BRIGHT SPARKS ELECTRIC LLC"}),
        ),
        link("2024-002 EP", 1, "TX-tdlr-el-3000", &by_number("3000")),
        link("2024-003 PP", 1, "TX-tdlr-el-1094", &by_number("1094")),
        // A link of an earlier run, when another party was in that position.
        link("2024-001 BP", 2, "TX-tdlr-el-3000", &by_number("3000")),
    ]
}

/// Numbers of the permits that a search finds.
async fn ids(world: &World, query: &str) -> Vec<String> {
    let answer = world.ok(&format!("/v1/permits/search?{query}")).await;
    all(&answer["data"], "permit_id")
        .into_iter()
        .map(|id| id.split_once(':').unwrap().1.to_owned())
        .collect()
}
