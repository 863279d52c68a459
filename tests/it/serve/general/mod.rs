//! The general families, asked on a small release: businesses, licenses, permits. All rows are made up.

mod businesses;
mod contractors;
mod copies;
mod document;
mod fixtures;
mod licenses;
mod permits;
mod properties;
mod streamlined;
mod tax_limits;
mod taxes;
mod zips;

use pubdata::canonical::name::organization;
use pubdata::store::PartReport;
use serde_json::{Value, json};

use super::World;
use super::home::{Draft, Table};

/// A home whose release has only these families.
pub async fn world() -> World {
    let world = World::empty(|_| {}).await;
    world.publish(&draft()).await;
    world.service.refresh().await.unwrap();
    world
}

type Folders = &'static [(&'static str, &'static str)];

const FL: Folders = &[("state", "FL"), ("bucket", "0")];
const NY: Folders = &[("state", "NY"), ("bucket", "0")];
const TDLR: Folders = &[("state", "TX"), ("source", "tdlr"), ("bucket", "0")];
const LNI: Folders = &[("state", "WA"), ("source", "lni"), ("bucket", "0")];
const CHICAGO: Folders = &[("jurisdiction", "us-il-chicago"), ("bucket", "0")];
const AUSTIN: Folders = &[("jurisdiction", "us-tx-austin"), ("bucket", "0")];

pub fn draft() -> Draft {
    let table = |dataset_id, folders, rows| Table { dataset_id, vintage_year: None, bucket: None, folders, rows, report: PartReport::default() };
    let tables = vec![
        table("business.entity", FL, businesses::florida()),
        table("business.entity", NY, businesses::new_york()),
        table("business.officer", FL, businesses::officers()),
        table("license.license", TDLR, licenses::texas()),
        table("license.license", LNI, licenses::washington()),
        table("license.action", TDLR, licenses::actions()),
        table("permit.permit", CHICAGO, permits::chicago()),
        table("permit.permit", AUSTIN, permits::austin()),
        table("permit.contact", CHICAGO, permits::chicago_contacts()),
        table("permit.contact", AUSTIN, permits::austin_contacts()),
    ];
    Draft { tables, is_sample: false, published_at: "2026-01-10T01:00:00Z", is_stale: false, due: None }
}

/// Sets the cells of a row.
fn with(mut row: Value, cells: &Value) -> Value {
    for (name, value) in cells.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

fn business(state: &str, number: &str, name: &str, cells: &Value) -> Value {
    let id = format!("{state}-{number}");
    let normalized = organization(name);
    let row = json!({
        "record_id": format!("business.entity:{id}"), "state": state, "bucket": "0", "entity_id": id, "entity_number": number, "source_id": "test.places_file", "name": name,
        "name_normalized": normalized.normalized, "designator": normalized.designator, "entity_type": "llc", "status": "active", "status_basis": "source", "source_fields": "{}",
    });
    with(row, cells)
}

/// A license with the id `{state}-{source}-{id}`.
fn license(folders: Folders, id: &str, holder: &str, cells: &Value) -> Value {
    let (state, source) = (folders[0].1, folders[1].1);
    let id = format!("{state}-{source}-{id}");
    let row = json!({
        "record_id": format!("license.license:{id}"), "state": state, "source": source, "bucket": "0", "license_id": id, "source_id": source, "number": "0", "number_raw": "0",
        "number_normalized": "0", "board": "A board", "profession": "electrician", "profession_raw": "Electrical", "holder_name": holder,
        "holder_name_normalized": organization(holder).normalized, "holder_type": "organization", "status": "active", "status_basis": "source", "evidence": "registry",
    });
    with(row, cells)
}

fn permit(folders: Folders, number: &str, cells: &Value) -> Value {
    let jurisdiction = folders[0].1;
    let id = format!("{jurisdiction}:{number}");
    let (name, state) = if jurisdiction == "us-il-chicago" { ("Chicago", "IL") } else { ("Austin", "TX") };
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

/// One member of every record of an answer's list.
fn all<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[member].as_str().unwrap()).collect()
}
