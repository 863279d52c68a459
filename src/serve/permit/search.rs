//! Answers `GET /v1/permits/search`: finds permits in a place, by kind, date, value, contractor and
//! words in the description.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::{Meta, Page};
use crate::http::paging::ListPaging;
use crate::http::paging::MAX_COUNTED;
use crate::http::problem::Result;
use crate::http::problem::not_published;
use crate::json::Json;
use crate::permit::datasets::CONTACTS;
use crate::permit::datasets::LINKS;
use crate::permit::datasets::PERMITS;
use crate::permit::datasets::Permit;
use crate::permit::filter::Filter;
use crate::permit::links::parties;
use crate::permit::place::{rows_in_places, searched};
use crate::permit::query::Parameters;
use crate::permit::record;
use crate::permit::table::Permits;
use crate::release::rows::Record;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/permits/search",
    operation_id: "searchPermits",
    summary: "Building permits of a place",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<FoundPermits<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// Number of permits read at a time when searching descriptions.
const READING: usize = 512;
/// Maximum number of rows read to count matching descriptions.
const MAX_COUNTED_ROWS: usize = 20_000;

/// Permits, in descending order of date or value.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Permits")]
struct FoundPermits<'a>(Vec<record::Permit<'a>>);

/// Returns the permits of the release.
pub fn published<'a>(call: &'a Call<'_>) -> Result<&'a Permits> {
    call.release
        .table::<Permits>()
        .ok_or_else(|| not_published(PERMITS))
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let permits = published(call)?;
    let query = Parameters::read(call)?;
    let paging = ListPaging::new(call, query.limit, query.cursor)?;
    let filter = Filter::from_query(&query, permits)?;
    let (mut rows, mut notices) = rows_in_places(call, &query, permits).await?;
    notices.extend(filter.add_dates_notice(&rows));
    filter.add_gaps_notices(&rows, &mut notices);
    rows.retain(|row| filter.matches(*row));
    filter.sort(&mut rows, query.sort == Some("value_desc"));
    let (found, page) = match query.q {
        Some(words) => {
            let (found, page) = with_words(call, permits, &paging, &rows, words).await?;
            (
                found,
                Page {
                    is_cut: filter.is_cut(),
                    ..page
                },
            )
        }
        None => (
            permits
                .rows
                .fetch(call.reader(), paging.slice(&rows))
                .await?,
            paging.page(rows.len(), filter.is_cut()),
        ),
    };
    let parties = parties(call, permits, &found).await?;
    json.value(&FoundPermits(
        found
            .iter()
            .zip(&parties)
            .map(|(permit, parties)| record::Permit::new(call, permit, parties))
            .collect(),
    ));
    let mut meta = Meta::for_datasets(
        &[PERMITS, CONTACTS, LINKS],
        format!(
            "{} permits of {} jurisdictions",
            permits.rows.len(),
            permits.lists.len()
        ),
    );
    if let Some(coverage) = &mut meta.coverage {
        coverage.jurisdictions_searched = searched(call, &query, permits)
            .into_iter()
            .map(str::to_owned)
            .collect();
    }
    meta.page = Some(page);
    meta.notices = notices;
    if let Some(quarantined) = query
        .permit_number
        .map(|number| permits.quarantined_with_number(number))
        .filter(|ids| !ids.is_empty())
    {
        let message = format!(
            "Rows of {} contradict each other and were quarantined: this answer does not include the permit. Ask the city.",
            quarantined.join(", ").to_lowercase()
        );
        meta.notice("RECORD_SET_ASIDE", message);
    }
    if !query.tags.is_empty() {
        meta.notice(
            "TAGS_ARE_DERIVED",
            "Tags are derived from words of the description; a permit without a description has none.",
        );
    }
    Ok(meta)
}

/// Returns a page of the sorted rows whose descriptions contain all words. The cursor counts rows,
/// not matches, so the next page continues after the last row read. Counts all matches, unless
/// reading the rows would take too long.
async fn with_words<'a>(
    call: &Call<'_>,
    permits: &'a Permits,
    paging: &ListPaging<'_>,
    rows: &[u32],
    words: &str,
) -> Result<(Vec<Record<'a, Permit>>, Page)> {
    let words: Vec<&str> = words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let has_all = |permit: &Record<'_, Permit>| {
        let description = permit.at("description");
        let has = |word: &&str| {
            description
                .split(|c: char| !c.is_alphanumeric())
                .any(|known| known.eq_ignore_ascii_case(word))
        };
        words.iter().all(has)
    };
    let is_counted = rows.len() <= MAX_COUNTED_ROWS;
    let first = if is_counted {
        0
    } else {
        paging.first.min(rows.len())
    };
    let (mut found, mut next, mut total) = (Vec::new(), None, 0);
    'reading: for (number, piece) in rows[first..].chunks(READING).enumerate() {
        for (place, permit) in permits
            .rows
            .fetch(call.reader(), piece)
            .await?
            .into_iter()
            .enumerate()
        {
            if !has_all(&permit) {
                continue;
            }
            total += 1;
            let place = first + number * READING + place;
            if place < paging.first || next.is_some() {
                continue;
            }
            if found.len() < paging.limit() {
                found.push(permit);
                continue;
            }
            next = Some(place);
            if !is_counted {
                break 'reading;
            }
        }
        tokio::task::yield_now().await;
    }
    let page = Page {
        limit: paging.limit(),
        count: found.len(),
        next_cursor: next.map(|next| paging.cursor(next)),
        total: total.min(MAX_COUNTED),
        is_total_exact: total <= MAX_COUNTED
            && (is_counted || (paging.first == 0 && next.is_none())),
        is_cut: false,
    };
    Ok((found, page))
}
