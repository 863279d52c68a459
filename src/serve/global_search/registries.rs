//! Searches businesses and licenses by number or name.

use super::hit::{EXACT, FEW, Found, Hit, Matched, joined, path};
use super::query::SearchQuery;
use crate::business::datasets::{ENTITIES, Entity};
use crate::business::table::Businesses;
use crate::http::endpoint::Call;
use crate::http::problem::Result;
use crate::license::datasets::{LICENSES, License};
use crate::license::number::rows_of_number;
use crate::license::table::Licenses;
use crate::release::rows::Record;
use crate::search::query::{MatchMode, Query};
use crate::search::row_names::{Enough, RowNames};
use pubdata_core::canonical::name::Forms;

/// A row with its score and its kind of match.
type Fit = (u32, i32, &'static str);

/// Finds businesses.
pub async fn find_businesses(
    call: &Call<'_>,
    query: &SearchQuery<'_>,
    found: &mut Found,
) -> Result<()> {
    let Some(businesses) = found.searches(ENTITIES, call.release.table::<Businesses>()) else {
        return Ok(());
    };
    let mut fits: Vec<Fit> = businesses
        .find(query.text)
        .map(|row| (row, EXACT, "entity_id"))
        .into_iter()
        .collect();
    if query.may_be_a_number() {
        let states = businesses.rows.values("state");
        let (only, number) = query
            .with_state
            .map_or((None, query.text), |(state, rest)| (Some(state), rest));
        let states = states
            .into_iter()
            .filter(|state| only.is_none_or(|only| only == *state));
        let numbered = states
            .flat_map(|state| businesses.with_number(state, number))
            .map(|row| (*row, EXACT, "entity_number"));
        fits.extend(numbered.take(FEW));
    }
    if !fits.is_empty() {
        found.read_as("business", query.text);
    }
    add_named(&mut fits, &businesses.index.names, query);
    let rows: Vec<u32> = fits.iter().map(|(row, ..)| *row).collect();
    let records = businesses.rows.fetch(call.reader(), &rows).await?;
    records
        .iter()
        .zip(&fits)
        .for_each(|(record, fit)| found.add(business(record, *fit)));
    Ok(())
}

fn business(record: &Record<'_, Entity>, (_, score, label): Fit) -> Hit {
    let id = record.at("entity_id");
    Hit {
        kind: "business",
        title: record.at("name").to_owned(),
        subtitle: joined([
            Some("business"),
            Some(record.at("state")),
            record.text("principal_city"),
            record.text("status"),
        ]),
        id: id.to_owned(),
        path: path("/v1/business/", id),
        page: path("/business/", id),
        matched: Matched::new(score, label),
        record_id: record.text("record_id").map(str::to_owned),
    }
}

/// Finds licenses.
pub async fn find_licenses(
    call: &Call<'_>,
    query: &SearchQuery<'_>,
    found: &mut Found,
) -> Result<()> {
    let Some(licenses) = found.searches(LICENSES, call.release.table::<Licenses>()) else {
        return Ok(());
    };
    let mut fits: Vec<Fit> = licenses
        .find(query.text)
        .map(|row| (row, EXACT, "license_id"))
        .into_iter()
        .collect();
    if query.may_be_a_number() {
        let covered = licenses.rows.values("state");
        let (only, number) = query
            .with_state
            .map_or((None, query.text), |(state, rest)| (Some(state), rest));
        let states = covered
            .into_iter()
            .filter(|state| only.is_none_or(|only| only == *state));
        let numbered = states
            .flat_map(|state| rows_of_number(licenses, state, number, None))
            .map(|row| (row, EXACT, "number"));
        fits.extend(numbered.take(FEW));
    }
    if !fits.is_empty() {
        found.read_as("license", query.text);
    }
    add_named(&mut fits, &licenses.index.names, query);
    let rows: Vec<u32> = fits.iter().map(|(row, ..)| *row).collect();
    let records = licenses.rows.fetch(call.reader(), &rows).await?;
    records
        .iter()
        .zip(&fits)
        .for_each(|(record, fit)| found.add(license(licenses, record, *fit)));
    Ok(())
}

fn license(licenses: &Licenses, record: &Record<'_, License>, (row, score, label): Fit) -> Hit {
    let id = record.at("license_id");
    let number = format!("{} {}", record.at("state"), record.at("number"));
    Hit {
        kind: "license",
        title: record
            .text("holder_name")
            .or_else(|| record.text("business_name"))
            .unwrap_or(id)
            .to_owned(),
        subtitle: joined([
            Some("license"),
            Some(number.as_str()),
            record.text("profession"),
            Some(licenses.status(row)),
        ]),
        id: id.to_owned(),
        path: path("/v1/contractors/", id),
        page: path("/license/", id),
        matched: Matched::new(score, label),
        record_id: record.text("record_id").map(str::to_owned),
    }
}

/// Adds rows by name, unless the text consists of digits only.
fn add_named(fits: &mut Vec<Fit>, names: &RowNames, query: &SearchQuery<'_>) {
    let Some(query) = Query::new(query.text, Forms::OfStates).filter(|_| !query.is_number()) else {
        return;
    };
    let named = names.first(
        &query,
        MatchMode::Best,
        None,
        Enough {
            first: FEW,
            counted: FEW,
        },
    );
    for ranked in named.first {
        if !fits.iter().any(|(row, ..)| *row == ranked.row) {
            fits.push((ranked.row, ranked.score(), ranked.label()));
        }
    }
}
