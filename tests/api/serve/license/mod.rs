//! Tests licenses: rows of two boards' lists, and requests about them.

mod search;
mod verify;

use pubdata_core::canonical::name::organization;
use serde_json::{Value, json};

use super::records::Folders;
use super::with;

pub const TDLR: Folders = &[("state", "TX"), ("source", "tdlr"), ("bucket", "0")];
pub const LNI: Folders = &[("state", "WA"), ("source", "lni"), ("bucket", "0")];

pub const ELICENSE: Folders = &[("state", "CT"), ("source", "elicense"), ("bucket", "0")];
pub const NPPES: Folders = &[("state", "CT"), ("source", "nppes"), ("bucket", "0")];

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

fn person(last: &str, first: &str, middle: Option<&str>) -> Value {
    json!({"holder_type": "person", "holder_last": last, "holder_first": first, "holder_middle": middle})
}

fn numbered(number: &str, mut cells: Value) -> Value {
    cells["number"] = json!(number);
    cells["number_raw"] = json!(number);
    cells["number_normalized"] = json!(number.trim_start_matches('0'));
    cells
}

pub fn texas() -> Vec<Value> {
    let derived = |mut cells: Value| {
        cells["status_basis"] = json!("derived_from_expiration");
        cells["status_raw"] = Value::Null;
        cells
    };
    vec![
        license(
            TDLR,
            "ba-1094",
            "SMITH, JOHN A",
            &numbered(
                "1094",
                derived(with_profession(
                    "barber",
                    person("SMITH", "JOHN", Some("A")),
                )),
            ),
        ),
        license(
            TDLR,
            "ba-2000",
            "SMITH, MARY",
            &numbered(
                "2000",
                derived(with_profession("barber", person("SMITH", "MARY", None))),
            ),
        ),
        license(
            TDLR,
            "ba-2001",
            "JOHN, SMITH",
            &numbered(
                "2001",
                derived(with_profession("barber", person("JOHN", "SMITH", None))),
            ),
        ),
        license(
            TDLR,
            "ba-2002",
            "O'BRIEN-LOPEZ, ANA",
            &numbered(
                "2002",
                with_profession("barber", person("O'BRIEN-LOPEZ", "ANA", None)),
            ),
        ),
        license(
            TDLR,
            "el-1094",
            "BRIGHT SPARKS ELECTRIC LLC",
            &numbered(
                "1094",
                json!({"city": "AUSTIN", "zip": "78701", "expiration_date": "2020-01-01"}),
            ),
        ),
        license(
            TDLR,
            "el-3000",
            "LONE STAR WIRING INC",
            &numbered(
                "3000",
                json!({"status": "expired", "dba": "SPARKY'S", "phone": "5125550100"}),
            ),
        ),
        license(
            TDLR,
            "el-3001",
            "TWICE LICENSED LLC",
            &numbered("3001", json!({})),
        ),
        license(
            TDLR,
            "el-3002",
            "TWICE LICENSED LLC",
            &numbered("3002", json!({})),
        ),
    ]
}

fn with_profession(profession: &str, mut cells: Value) -> Value {
    cells["profession"] = json!(profession);
    cells
}

pub fn washington() -> Vec<Value> {
    let cells = json!({
        "number": "SERVPG*892PL", "number_raw": "SERVPG*892PL", "number_normalized": "SERVPG*892PL", "profession": "general_contractor", "classifications": ["01=General", "X"],
        "bond_surety": "A SURETY CO", "bond_amount": "12000", "workers_comp_coverage": "policy", "principals": ["DOE, JANE"],
    });
    let other = json!({"number": "CCR**R*931JF", "number_raw": "CCR**R*931JF", "number_normalized": "CCR**R*931JF", "profession": "general_contractor", "status": "suspended", "insurance_insurer": "AN INSURER", "insurance_amount": "1000000"});
    let lettered = json!({"number": "MA0004000", "number_raw": "MA.0004000", "number_normalized": "4000", "profession": "massage_therapist", "holder_type": "person", "holder_last": "ROE", "holder_first": "RICHARD"});
    let shop = json!({
        "number": "ROEPL*1", "number_raw": "ROEPL*1", "number_normalized": "ROEPL*1", "profession": "plumber", "holder_type": "person", "holder_last": "ROE", "holder_first": "RICHARD",
    });
    vec![
        license(LNI, "CCR**R*931JF", "C C & R", &other),
        license(LNI, "ROEPL*1", "TIGHT PIPES PLUMBING", &shop),
        license(LNI, "SERVPG*892PL", "SERVICE PLUS LLC", &cells),
        license(LNI, "ma-4000", "ROE, RICHARD", &lettered),
    ]
}

/// A landscape architect's number as the state writes it, with the letters of the license kind in
/// front.
pub fn connecticut() -> Vec<Value> {
    let cells = json!({"number": "LIS0002249", "number_raw": "LIS.0002249", "number_normalized": "2249", "profession": "other"});
    vec![license(
        ELICENSE,
        "lis-2249",
        "FICTFORD GARDENS LLC",
        &cells,
    )]
}

/// Numbers that two providers state, the second for two taxonomies.
pub fn stated_in_connecticut() -> Vec<Value> {
    let stated = |id: &str, number: &str, holder: &str, npi: &str, taxonomy: &str| {
        let cells = json!({
            "evidence": "self_reported", "status": "unknown", "profession": "physician", "profession_raw": taxonomy, "holder_type": "person",
            "verify_url": format!("https://npiregistry.cms.hhs.gov/provider-view/{npi}"),
        });
        license(NPPES, id, holder, &numbered(number, cells))
    };
    vec![
        stated(
            "1000000004-207q00000x-2249",
            "2249",
            "SAMPLE, SUE",
            "1000000004",
            "207Q00000X",
        ),
        stated(
            "1000000012-207q00000x-7100",
            "007100",
            "DOEFORD, DAN",
            "1000000012",
            "207Q00000X",
        ),
        stated(
            "1000000012-208d00000x-7100",
            "007100",
            "DOEFORD, DAN",
            "1000000012",
            "208D00000X",
        ),
    ]
}

pub fn actions() -> Vec<Value> {
    vec![json!({
        "record_id": "license.action:TX-tdlr-ba-2000:1", "state": "TX", "source": "tdlr", "bucket": "0", "license_id": "TX-tdlr-ba-2000", "seq": 1, "case_number": "C-1",
        "action": "Fine", "effective_date": "2020-02-03",
    })]
}
