//! Finds filings, newest first: the filings of some registrants, or all filings.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::try_join_all;

use super::filing_dates::{FilingDates, FilingFilter};
use super::filing_query::Filter;
use super::filing_table::FilingTable;
use super::forms::{declared, is_declared, misspelled};
use super::owners::Owned;
use super::tables::{FILINGS, REGISTRANTS, SecTables};
use crate::http::cursor;
use crate::http::endpoint::Call;
use crate::http::meta::{Meta, Page};
use crate::http::nearest::nearest;
use crate::http::paging::{ListPaging, MAX_COUNTED, Paging};
use crate::http::problem::{Code, Problem, Result, not_published};
use crate::release::bucketed::Bucket;
use pubdata_core::ids::Cik;

/// Datasets from which answers about filings are built.
pub const OF_FILINGS: [&str; 2] = [FILINGS, REGISTRANTS];

/// The rows of one filing, one for each known registrant.
pub type Rows = Vec<(Cik, Arc<Owned<FilingTable>>, usize)>;

/// A registrant's row in a bucket.
type BucketRow<'a, 'b> = (Cik, &'a Bucket<'b, Owned<FilingTable>>, usize);

/// Finds filings of some registrants, newest first.
///
/// # Errors
/// `invalid_cursor`; `missing_parameter`; `coverage_unavailable` if the release has no filings.
pub async fn of_registrants(
    call: &Call<'_>,
    ciks: &[Cik],
    filter: &Filter<'_>,
    notes: &mut Meta,
) -> Result<(Page, Vec<Rows>)> {
    if SecTables::from_release(call.release).filings.is_empty() {
        return Err(not_published(FILINGS));
    }
    let buckets = try_join_all(ciks.iter().map(|cik| {
        SecTables::from_release(call.release)
            .filings
            .about(call.reader(), *cik)
    }))
    .await?;
    let has_form = |form: &str| {
        let tables = ciks
            .iter()
            .zip(&buckets)
            .filter_map(|(cik, bucket)| Some((*cik, &bucket.as_ref()?.table)));
        tables
            .into_iter()
            .any(|(cik, table)| table.rows(cik).any(|row| table.form.at(row) == form))
    };
    for form in filter.forms.iter().filter(|form| {
        !is_declared(call.contracts(), form.trim_end_matches("/A")) && !has_form(form)
    }) {
        check_unknown_form(call, notes, "these registrants have", form)?;
    }
    // Filings sorted by date, then number; one filing may belong to several of the registrants.
    let mut found: BTreeMap<(i32, &str), Vec<BucketRow<'_, '_>>> = BTreeMap::new();
    for (cik, bucket) in ciks.iter().zip(&buckets) {
        let Some(bucket) = bucket else { continue };
        let table = &bucket.table;
        for row in table.rows(*cik).filter(|row| filter.matches(table, *row)) {
            found
                .entry((table.filed_date.value(row), table.accession_number.at(row)))
                .or_default()
                .push((*cik, bucket, row));
        }
    }
    let total = found.len();
    let paging = Paging::new(call, filter.limit, filter.cursor)?;
    let limit = paging.limit;
    let read = |key: &str| {
        key.split_once(':')
            .and_then(|(day, number)| Some((day.parse::<i32>().ok()?, number.to_owned())))
    };
    let after = paging
        .after
        .as_deref()
        .map(|key| read(key).ok_or_else(cursor::malformed_cursor))
        .transpose()?;
    let is_after = |key: &(i32, &str)| {
        after
            .as_ref()
            .is_none_or(|(day, number)| *key < (*day, number.as_str()))
    };
    let mut rest = found.iter().rev().filter(|(key, _)| is_after(key));
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let next_cursor = page
        .last()
        .filter(|_| rest.next().is_some())
        .map(|((day, number), _)| paging.cursor(&format!("{day}:{number}")));
    let filings = page
        .iter()
        .map(|(_, rows)| {
            rows.iter()
                .map(|(cik, bucket, row)| (*cik, bucket.table.clone(), *row))
                .collect()
        })
        .collect();
    Ok((
        Page {
            limit,
            count: page.len(),
            next_cursor,
            total,
            is_total_exact: true,
            is_cut: false,
        },
        filings,
    ))
}

/// Finds filings of all registrants, newest first.
///
/// # Errors
/// `invalid_cursor` if the cursor is invalid; `missing_parameter` if a filter requires a
/// registrant, or if the request has no filters; `coverage_unavailable` if the release has no
/// filings.
pub async fn of_all(
    call: &Call<'_>,
    filter: &Filter<'_>,
    notes: &mut Meta,
) -> Result<(Page, Vec<Rows>)> {
    if let Some(field) = filter.needs_registrant() {
        return Err(Problem::of_field(
            Code::MissingParameter,
            "ticker",
            format!("`{field}` needs `ticker`, `cik` or `company`"),
        ));
    }
    if filter.forms.is_empty() && filter.filed.is_open() {
        return Err(Problem::of_field(
            Code::MissingParameter,
            "ticker",
            "give at least one of `ticker`, `cik`, `company`, `form`, `filed_from` and `filed_to`",
        ));
    }
    let sec = SecTables::from_release(call.release);
    if sec.filings.is_empty() {
        return Err(not_published(FILINGS));
    }
    let paging = ListPaging::new(call, filter.limit, filter.cursor)?;
    let (limit, after) = (paging.limit(), paging.first);
    let dates = sec
        .filing_dates
        .get(call.reader(), sec.filings.parts())
        .await?;
    for form in filter.forms.iter().filter(|form| !dates.has_form(form)) {
        check_unknown_form(call, notes, "this release has", form)?;
    }
    let filter = FilingFilter {
        from: filter.filed.from,
        to: filter.filed.to,
        forms: filter.forms.clone(),
    };
    let (mut page, mut total, mut has_more): (Vec<Range<usize>>, usize, bool) =
        (Vec::new(), 0, false);
    for places in dates.find(&filter) {
        total += 1;
        if places.start >= after && page.len() < limit {
            page.push(places);
        } else if places.start >= after {
            has_more = true;
        }
        if has_more && total > MAX_COUNTED {
            break;
        }
    }
    let next_cursor = page
        .last()
        .filter(|_| has_more)
        .map(|last| paging.cursor(last.end));
    let rows = rows_of(call, &dates, &page).await?;
    Ok((
        Page {
            limit,
            count: page.len(),
            next_cursor,
            total: total.min(MAX_COUNTED),
            is_total_exact: total <= MAX_COUNTED,
            is_cut: false,
        },
        rows,
    ))
}

/// Adds a notice about a form type that no filing has, with the known form type that was probably
/// meant. An amendment form without filings is not a mistake.
///
/// # Errors
/// `invalid_parameter` for a known form type without its hyphen or blank, because no EDGAR form
/// type is spelled that way.
fn check_unknown_form(call: &Call<'_>, notes: &mut Meta, who_has: &str, form: &str) -> Result<()> {
    if let Some(message) = misspelled(call.contracts(), form) {
        return Err(Problem::of_field(
            Code::InvalidParameter,
            "form",
            format!("`form`: {message}"),
        ));
    }
    if form.ends_with("/A") {
        return Ok(());
    }
    let meant = nearest(
        form,
        declared(call.contracts()).filter(|_| !is_declared(call.contracts(), form)),
    )
    .map(|meant| format!("; did you mean `{meant}`?"))
    .unwrap_or_default();
    let message = format!(
        "{who_has} no filing of form `{form}`{meant}; form types follow EDGAR's spelling, such as 10-K, 8-K, DEF 14A"
    );
    notes.notice("FORM_UNKNOWN", message);
    Ok(())
}

/// Reads the rows at index positions from their buckets.
async fn rows_of(call: &Call<'_>, dates: &FilingDates, page: &[Range<usize>]) -> Result<Vec<Rows>> {
    let mut names: Vec<&str> = page
        .iter()
        .cloned()
        .flatten()
        .map(|place| dates.row(place).0)
        .collect();
    names.sort_unstable();
    names.dedup();
    let buckets = try_join_all(names.iter().map(|name| {
        SecTables::from_release(call.release)
            .filings
            .bucket(call.reader(), name)
    }))
    .await?;
    let tables: BTreeMap<&str, Arc<Owned<FilingTable>>> = names
        .into_iter()
        .zip(buckets)
        .filter_map(|(name, bucket)| Some((name, bucket?.table)))
        .collect();
    let row_of = |place: usize| {
        let (bucket, row) = dates.row(place);
        let table = tables.get(bucket)?;
        let cik = table.owners.owner(row)?;
        Some((cik, table.clone(), row))
    };
    Ok(page
        .iter()
        .map(|places| places.clone().filter_map(row_of).collect())
        .collect())
}

/// Returns the metadata for a page of filings.
pub fn describe(call: &Call<'_>, page: Page) -> Meta {
    let scope = format!(
        "{} filings of {} registrants",
        call.release.manifest.rows(FILINGS),
        call.release.manifest.rows(REGISTRANTS)
    );
    Meta {
        page: Some(page),
        ..Meta::for_datasets(&OF_FILINGS, scope)
    }
}
