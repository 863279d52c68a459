//! Answers `GET /v1/business/{entity_id}`: everything published of one business.

use futures_util::FutureExt;

use super::datasets::{ENTITIES, Entity, OFFICERS, Officer};
use super::record::{add_implied_notice, businesses_of, write_item};
use super::table::Businesses;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, Parameter, RELEASE};
use crate::http::problem::{Code, Problem, Result, not_covered};
use crate::json::Json;
use crate::release::rows::Record;
use pubdata_core::canonical::state::usps;
use pubdata_store::Scope;

/// The parameters of one business.
const PARAMETERS: &[Parameter] =
    &[Parameter { name: "include", kind: Kind::Word(&["raw"]), description: "`raw`: with `source_fields`, the registry's own cells." }, RELEASE, AS_OF];

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/business/{entity_id}",
    operation_id: "getBusiness",
    summary: "A business as its registry publishes it",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Business"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let businesses = businesses_of(call)?;
    let entity_id = call.path_value("entity_id");
    let covered = businesses.rows.values("state");
    let Some(row) = businesses.find(entity_id) else {
        let (state, number) = entity_id.split_once('-').and_then(|(state, number)| Some((usps(state)?, number))).unzip();
        if let Some(state) = state.filter(|state| !covered.contains(state)) {
            return Err(not_covered("entity_id", format!("businesses of {state} are not covered"), &covered));
        }
        let hint = match state.zip(number).filter(|(state, _)| !entity_id.to_ascii_uppercase().starts_with(&format!("{state}-"))) {
            Some((state, number)) => format!("did you mean `{state}-{number}`?"),
            None => "an id is the state's postal code, a hyphen and the registry's number, such as FL-L23000448570; /v1/business/search finds a number alone by `entity_number`".to_owned(),
        };
        let message = format!("no business has the id `{entity_id}`; {hint}");
        return Err(Problem::of_field(Code::NotFound, "entity_id", message));
    };
    let records = businesses.rows.fetch(call.reader(), &[row]).await?;
    let Some(record) = records.first() else { return Err(Problem::internal(&"a row was not read")) };
    let officers = businesses.officers.about(call.reader(), record).await?;
    let source_fields = if call.query.get("include").is_some() { Some(Businesses::source_fields(call, record).await?) } else { None };
    json.object(|json| {
        write_item(json, record);
        json.key("addresses").array(|json| ["principal", "mailing", "agent"].iter().for_each(|role| write_address(json, record, role)));
        write_agent(json, record);
        json.key("officers").array(|json| officers.iter().for_each(|officer| write_officer(json, officer)));
        record.member(json, "officers_complete");
        write_names(json, record);
        json.key("identifiers").array(|json| {
            for (scheme, value) in record.texts("identifiers").iter().filter_map(|text| text.split_once('=')) {
                json.object(|json| {
                    json.key("scheme").text(scheme);
                    json.key("value").text(value);
                });
            }
        });
        record.object_or_null(json, "last_report", &[("year", "last_report_year"), ("filed_date", "last_report_date")]);
        record.members(json, &["last_transaction_date", "registry_url", "county", "warnings"]);
        if let Some(fields) = &source_fields {
            json.key("source_fields").raw(fields);
        }
        record.provenance(json, &call.release.manifest);
    });
    let mut meta = Meta::of(&[ENTITIES, OFFICERS], format!("{} businesses in the registries of {}", businesses.rows.len(), covered.join(", ")));
    add_implied_notice(&mut meta, &records);
    if record.texts("identifiers").iter().any(|text| text.starts_with("tx_comptroller_number=")) {
        meta.notice(
            "NOT_A_TAX_ID",
            "tx_comptroller_number is the Texas Comptroller's number of a franchise tax account, not an employer identification number.",
        );
    }
    if record.text("officers_complete").is_none() && officers.is_empty() {
        meta.notice("OFFICERS_NOT_LISTED", "The registry publishes no officers of this entity.");
    }
    Ok(meta)
}

/// Writes an address of a role, unless nothing of it is published.
fn write_address(json: &mut Json, record: &Record<'_, Entity>, role: &str) {
    let parts = address_parts(record, role);
    if parts.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    let role = if role == "mailing" { record.text("mailing_role").unwrap_or(role) } else { role };
    json.object(|json| {
        json.key("role").text(role);
        write_parts(json, &parts);
        let raw: Vec<&str> = parts.iter().filter_map(|(_, value)| *value).collect();
        json.key("raw").text(&raw.join(", "));
    });
}

type AddressParts<'a> = Vec<(&'static str, Option<&'a str>)>;

fn address_parts<'a>(record: &'a Record<'_, Entity>, role: &str) -> AddressParts<'a> {
    // Agents have no country in any registry.
    let has = |part: &str| role != "agent" || part != "country";
    let part = |part: &'static str| (part, has(part).then(|| record.text(&format!("{role}_{part}"))).flatten());
    ["line1", "line2", "city", "state", "zip", "zip4", "country"].map(part).into()
}

fn write_parts(json: &mut Json, parts: &AddressParts<'_>) {
    parts.iter().for_each(|(name, value)| json.key(name).optional_text(*value));
}

fn write_agent(json: &mut Json, record: &Record<'_, Entity>) {
    json.key("registered_agent");
    let Some(name) = record.text("agent_name") else { return json.null() };
    let parts = address_parts(record, "agent");
    json.object(|json| {
        json.key("name").text(name);
        record.member_as(json, "type", "agent_type");
        json.key("address");
        if parts.iter().all(|(_, value)| value.is_none()) {
            return json.null();
        }
        json.object(|json| write_parts(json, &parts));
    });
}

fn write_officer(json: &mut Json, officer: &Record<'_, Officer>) {
    json.object(|json| {
        officer.members(json, &["name", "title", "title_raw", "type"]);
        officer.object_or_null(json, "address", &[("line1", "line1"), ("city", "city"), ("state", "officer_state"), ("zip", "zip")]);
        officer.member(json, "record_id");
    });
}

/// Writes all names; no registry here says from when to when.
fn write_names(json: &mut Json, record: &Record<'_, Entity>) {
    let kinds = [("legal", vec![record.at("name")]), ("former", record.texts("former_names")), ("assumed", record.texts("assumed_names"))];
    json.key("names").array(|json| {
        for (kind, name) in kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name))) {
            json.object(|json| {
                json.key("name").text(name);
                json.key("type").text(kind);
                json.key("from").null();
                json.key("to").null();
            });
        }
    });
}
