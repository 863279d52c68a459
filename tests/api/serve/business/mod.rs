//! Tests businesses: rows of two registries, and requests about them.

mod entity;
mod search;

use pubdata_core::canonical::name::organization;
use serde_json::{Value, json};

use super::records::Folders;
use super::with;

pub const FL: Folders = &[("state", "FL"), ("bucket", "0")];
pub const NY: Folders = &[("state", "NY"), ("bucket", "0")];

fn business(state: &str, number: &str, name: &str, cells: &Value) -> Value {
    let id = format!("{state}-{number}");
    let normalized = organization(name);
    let row = json!({
        "record_id": format!("business.entity:{id}"), "state": state, "bucket": "0", "entity_id": id, "entity_number": number, "source_id": "test.places_file", "name": name,
        "name_normalized": normalized.normalized, "designator": normalized.designator, "entity_type": "llc", "status": "active", "status_basis": "source", "source_fields": "{}",
    });
    with(row, cells)
}

pub fn florida() -> Vec<Value> {
    let mut rows = vec![
        business(
            "FL",
            "A01",
            "ACME WIDGETS, LLC",
            &json!({"formation_date": "2010-05-01", "principal_city": "MIAMI", "principal_zip": "33101", "agent_name": "CT CORPORATION SYSTEM"}),
        ),
        business(
            "FL",
            "A02",
            "ACME WIDGETS INC",
            &json!({"status": "inactive", "entity_type": "corporation", "formation_date": "2005-01-01", "jurisdiction_of_formation": "DE"}),
        ),
        business(
            "FL",
            "A03",
            "ACME WIDGETS OF TAMPA LLC",
            &json!({"formation_date": "2011-01-01", "mailing_city": "ST. PETERSBURG", "mailing_zip": "33701", "last_report_year": 2024, "last_report_date": "2024-04-30"}),
        ),
        business(
            "FL",
            "A04",
            "SOUTHERN WIDGETS ACME COMPANY",
            &json!({"formation_date": "2012-01-01"}),
        ),
        business(
            "FL",
            "A05",
            "THE GARDEN CLUB, INC.",
            &json!({"former_names": ["ROSE SOCIETY, INC."], "assumed_names": ["GREEN THUMBS"], "formation_date": "1950-01-01"}),
        ),
        business(
            "FL",
            "A06",
            "O'MALLEY & SONS, L.L.C.",
            &json!({"agent_name": "OMALLEY, PATRICK"}),
        ),
        business("FL", "A07", "J. V. HOLDINGS CORP", &json!({})),
        business(
            "FL",
            "A08",
            "MICROWAVE REPAIRS LLC",
            &json!({"status": "dissolved"}),
        ),
        business("FL", "A09", "ASOCIACIÓN CULTURAL, INC.", &json!({})),
    ];
    rows.extend((0..30).map(|number| {
        business(
            "FL",
            &format!("S{number:02}"),
            &format!("SUNSHINE SERVICES {number} LLC"),
            &json!({"formation_date": format!("2020-01-{:02}", number % 28 + 1)}),
        )
    }));
    rows
}

pub fn new_york() -> Vec<Value> {
    let cells = json!({
        "status_basis": "implied_by_dataset", "formation_date": "2020-01-01", "mailing_role": "service_of_process", "mailing_line1": "1 MAIN ST", "mailing_city": "ALBANY",
        "mailing_state": "NY", "identifiers": ["state_entity_number=123"], "registry_url": "https://registry.example/123",
        "source_fields": r#"{"dos_id":"123","current_entity_name":"ACME WIDGETS LLC ","county":"\"Kings\""}"#,
    });
    vec![business("NY", "123", "ACME WIDGETS LLC", &cells)]
}

pub fn officers() -> Vec<Value> {
    vec![json!({
        "record_id": "business.officer:FL-A05:1", "state": "FL", "bucket": "0", "entity_id": "FL-A05", "seq": 1, "name": "SMITH, JANE", "type": "person", "title": "president",
        "title_raw": "P", "city": "TAMPA", "officer_state": "FL", "zip": "33602",
    })]
}
