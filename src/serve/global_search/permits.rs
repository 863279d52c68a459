//! Searches properties by address or id, permits by number, and jurisdictions with published
//! permits by name.

use std::collections::BTreeMap;

use super::hit::{EXACT, FEW, Found, Hit, Matched, counted, joined, path};
use super::query::SearchQuery;
use crate::http::endpoint::Call;
use crate::http::problem::Result;
use crate::permit::datasets::{PERMITS, Permit};
use crate::permit::place::{candidates, is_at};
use crate::permit::table::Permits;
use crate::release::rows::Record;
use pubdata_core::canonical::line::parse_line;
use pubdata_core::canonical::name::comparable;

/// Score of a jurisdiction by name.
const NAME_SCORE: i32 = 9_600;

/// Score of a permit in another street of the same name, or with another suffix.
const STREET_SCORE: i32 = 9_000;

/// Maximum number of permits read to find their properties.
const MAX_PERMITS_READ: usize = 200;

/// Finds properties and permits.
pub async fn find(call: &Call<'_>, query: &SearchQuery<'_>, found: &mut Found) -> Result<()> {
    let Some(permits) = found.searches(PERMITS, call.release.table::<Permits>()) else {
        return Ok(());
    };
    add_jurisdictions(permits, query, found);
    let of_property = permits.of_property(query.text);
    if let Some(row) = of_property.first() {
        found.read_as("property", query.text);
        let records = permits.rows.fetch(call.reader(), &[*row]).await?;
        records
            .iter()
            .filter_map(|permit| property(permit, EXACT, "property_id", of_property.len()))
            .for_each(|hit| found.add(hit));
    }
    if query.may_be_a_number() {
        let rows: Vec<u32> = numbered(permits, query.text)
            .iter()
            .copied()
            .take(FEW)
            .collect();
        if !rows.is_empty() {
            found.read_as("permit", query.text);
        }
        let records = permits.rows.fetch(call.reader(), &rows).await?;
        records
            .iter()
            .for_each(|permit| found.add(of_number(permit)));
    }
    let address = parse_line(query.text);
    if address.key().is_none() || address.street.is_empty() {
        return Ok(());
    }
    found.read_as("address", &address.normalized());
    let has_place = !address.zip.is_empty() || !address.city.is_empty();
    let at_street = permits.at_street(&address.number, &address.street);
    if at_street.len() > MAX_PERMITS_READ && !has_place {
        return Ok(());
    }
    let records: Vec<Record<'_, Permit>> = match has_place {
        true => candidates(call, permits, &address)
            .await?
            .into_iter()
            .map(|candidate| candidate.permit)
            .collect(),
        false => permits.rows.fetch(call.reader(), at_street).await?,
    };
    let mut properties: BTreeMap<&str, (&Record<'_, Permit>, bool, usize)> = BTreeMap::new();
    for permit in &records {
        let Some(id) = permit.text("property_id") else {
            continue;
        };
        let known = properties.entry(id).or_insert((permit, false, 0));
        known.1 |= is_at(permit, &address);
        known.2 += 1;
    }
    let hits = properties.values().filter_map(|(permit, is_exact, count)| {
        let (score, label) = if *is_exact {
            (EXACT, "address")
        } else {
            (STREET_SCORE, "street")
        };
        property(permit, score, label, *count)
    });
    hits.take(FEW).for_each(|hit| found.add(hit));
    Ok(())
}

/// Adds cities and counties with published permits by name; the word "permits" may follow the name.
fn add_jurisdictions(permits: &Permits, query: &SearchQuery<'_>, found: &mut Found) {
    let (state, name) = query
        .with_state
        .map_or((None, query.text), |(state, rest)| (Some(state), rest));
    let compared = comparable(name);
    let compared = compared.strip_suffix(" PERMITS").unwrap_or(&compared);
    for (id, list) in &permits.lists {
        if comparable(&list.name) == compared && state.is_none_or(|state| state == list.state) {
            found.read_as("jurisdiction", id);
            found.add(Hit {
                kind: "jurisdiction",
                title: format!("Permits of {}, {}", list.name, list.state),
                subtitle: joined([
                    Some("permits"),
                    Some(format!("{} published", counted(list.permits, "permit")).as_str()),
                ]),
                id: id.clone(),
                path: path("/v1/permits/search?jurisdiction=", id),
                page: path("/permits?jurisdiction=", id),
                matched: Matched::new(NAME_SCORE, "name"),
                record_id: None,
            });
        }
    }
}

/// Returns the permits with a number, or with a permit id, which is a jurisdiction and a number.
fn numbered<'a>(permits: &'a Permits, text: &str) -> &'a [u32] {
    let is_jurisdiction = |name: &str| permits.lists.contains_key(&name.to_ascii_lowercase());
    let number = text
        .split_once(':')
        .filter(|(jurisdiction, _)| is_jurisdiction(jurisdiction))
        .map_or(text, |(_, number)| number);
    permits.with_number(number)
}

fn of_number(permit: &Record<'_, Permit>) -> Hit {
    let id = permit.at("permit_id");
    // A permit without a number is identified by another key from its list. The permit id ends with
    // this key.
    let number = permit
        .text("permit_number")
        .or_else(|| id.split_once(':').map(|(_, key)| key))
        .unwrap_or(id);
    let record_id = permit.at("record_id");
    Hit {
        kind: "permit",
        title: format!("Permit {number}"),
        subtitle: joined([
            Some("permit"),
            Some(permit.at("jurisdiction_name")),
            permit.text("address_normalized"),
            permit.text("type"),
        ]),
        id: id.to_owned(),
        path: path("/v1/provenance/", record_id),
        page: path("/permit/", id),
        matched: Matched::new(EXACT, "permit_number"),
        record_id: Some(record_id.to_owned()),
    }
}

fn property(
    permit: &Record<'_, Permit>,
    score: i32,
    label: &'static str,
    count: usize,
) -> Option<Hit> {
    let id = permit.text("property_id")?;
    Some(Hit {
        kind: "property",
        title: permit.text("address_normalized").unwrap_or(id).to_owned(),
        subtitle: joined([
            Some("property"),
            Some(permit.at("jurisdiction_name")),
            Some(counted(count as u64, "permit").as_str()),
        ]),
        id: id.to_owned(),
        path: path("/v1/properties/", id),
        page: path("/property/", id),
        matched: Matched::new(score, label),
        record_id: None,
    })
}
