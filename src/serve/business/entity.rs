//! Answers `GET /v1/business/{entity_id}` with everything published about one business.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::datasets::{
    AGENT, AddressParts, BusinessAddress, BusinessDetails, BusinessIdentifier, BusinessLastReport,
    BusinessName, BusinessOfficer, BusinessRegisteredAgent, ENTITIES, Entity, MAILING, OFFICERS,
    PRINCIPAL,
};
use super::record::{add_implied_notice, businesses_of};
use super::table::Businesses;
use crate::answer::Date;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, RELEASE};
use crate::http::problem::{Code, Problem, Result, not_covered};
use crate::json::Json;
use crate::release::provenance::Provenance;
use crate::release::rows::Record;
use pubdata_core::canonical::state::usps;
use pubdata_store::Scope;

query! {
    pub struct Parameters<'a> {
        /// `raw`: adds `source_fields`, the registry's own cells.
        include: Option<&'a str> = Kind::Word(&["raw"]),
        ..RELEASE, ..AS_OF,
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/business/{entity_id}",
    operation_id: "getBusiness",
    summary: "A business as its registry publishes it",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Business<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct Business<'a> {
    #[serde(flatten)]
    business: BusinessDetails<'a>,
    /// Provenance of the business's record in `business.entity`.
    provenance: Provenance<'a>,
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let businesses = businesses_of(call)?;
    let Parameters { include } = Parameters::read(call)?;
    let entity_id = call.path_value("entity_id");
    let covered = businesses.rows.values("state");
    let Some(row) = businesses.find(entity_id) else {
        let (state, number) = entity_id
            .split_once('-')
            .and_then(|(state, number)| Some((usps(state)?, number)))
            .unzip();
        if let Some(state) = state.filter(|state| !covered.contains(state)) {
            return Err(not_covered(
                "entity_id",
                format!("businesses of {state} are not covered"),
                &covered,
            ));
        }
        let hint = match state.zip(number).filter(|(state, _)| !entity_id.to_ascii_uppercase().starts_with(&format!("{state}-"))) {
            Some((state, number)) => format!("did you mean `{state}-{number}`?"),
            None => "an id is the state's postal code, a hyphen and the registry's number, such as FL-L23000448570; /v1/business/search finds a number alone by `entity_number`".to_owned(),
        };
        let message = format!("no business has the id `{entity_id}`; {hint}");
        return Err(Problem::of_field(Code::NotFound, "entity_id", message));
    };
    let records = businesses.rows.fetch(call.reader(), &[row]).await?;
    let Some(record) = records.first() else {
        return Err(Problem::internal(&"a row was not read"));
    };
    let officers = businesses.officers.about(call.reader(), record).await?;
    let published_fields = if include.is_some() {
        Some(Businesses::source_fields(call, record).await?)
    } else {
        None
    };
    let identifiers = record.texts("identifiers");
    let (year, filed_date) = (
        record.integer("last_report_year"),
        record.day("last_report_date").map(Date),
    );
    json.value(&Business {
        business: BusinessDetails {
            addresses: addresses(record),
            registered_agent: record
                .text("agent_name")
                .map(|name| BusinessRegisteredAgent {
                    name,
                    agent_type: record.text("agent_type"),
                    address: AddressParts::read(record, &AGENT),
                }),
            officers: officers.iter().map(BusinessOfficer::from_record).collect(),
            names: names(record),
            identifiers: identifiers
                .iter()
                .filter_map(|text| BusinessIdentifier::parse(text))
                .collect(),
            last_report: (year.is_some() || filed_date.is_some())
                .then_some(BusinessLastReport { year, filed_date }),
            published_fields: published_fields.as_deref(),
            ..BusinessDetails::from_record(record)
        },
        provenance: record.origin(&call.release.manifest),
    });
    let mut meta = Meta::for_datasets(
        &[ENTITIES, OFFICERS],
        format!(
            "{} businesses in the registries of {}",
            businesses.rows.len(),
            covered.join(", ")
        ),
    );
    add_implied_notice(&mut meta, &records);
    if identifiers
        .iter()
        .any(|text| text.starts_with("tx_comptroller_number="))
    {
        meta.notice(
            "NOT_A_TAX_ID",
            "tx_comptroller_number is the Texas Comptroller's number of a franchise tax account, not an employer identification number.",
        );
    }
    if record.text("officers_complete").is_none() && officers.is_empty() {
        meta.notice(
            "OFFICERS_NOT_LISTED",
            "The registry publishes no officers of this entity.",
        );
    }
    Ok(meta)
}

/// Returns the addresses with at least one published part.
fn addresses<'a>(record: &'a Record<'_, Entity>) -> Vec<BusinessAddress<'a>> {
    let of_mail = record.text("mailing_role").unwrap_or("mailing");
    let roles: [(&str, &[&str]); 3] = [
        ("principal", &PRINCIPAL),
        (of_mail, &MAILING),
        ("agent", &AGENT),
    ];
    roles
        .into_iter()
        .filter_map(|(role, columns)| {
            Some(BusinessAddress::new(
                role,
                AddressParts::read(record, columns)?,
            ))
        })
        .collect()
}

/// Returns all names. No registry here publishes the dates of a name.
fn names<'a>(record: &'a Record<'_, Entity>) -> Vec<BusinessName<'a>> {
    let kinds = [
        ("legal", vec![record.at("name")]),
        ("former", record.texts("former_names")),
        ("assumed", record.texts("assumed_names")),
    ];
    kinds
        .into_iter()
        .flat_map(|(kind, names)| {
            names
                .into_iter()
                .map(move |name| BusinessName::new(kind, name))
        })
        .collect()
}
