//! Answers `GET /v1/permits/search`: permits of a place, by kind, date, value, contractor and words of the description.

use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::filter::ZIP;
use crate::http::meta::{Meta, Page};
use crate::http::paging::ListPaging;
use crate::http::paging::MAX_COUNTED;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format, query};
use crate::http::problem::Result;
use crate::http::problem::not_published;
use crate::json::Json;
use crate::permit::datasets::CONTACTS;
use crate::permit::datasets::LINKS;
use crate::permit::datasets::PERMITS;
use crate::permit::datasets::Permit;
use crate::permit::filter::Filter;
use crate::permit::links::parties;
use crate::permit::place::{rows_at, searched};
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
    data: Data::of::<FoundPermits<'static>>(),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// How many permits are read at a time while their descriptions are looked through.
const READING: usize = 512;
/// The most rows that are read to count those that have words.
const MOST_COUNTED: usize = 20_000;

query! {
    pub struct Parameters<'a> {
        /// Street address on one line: house number, street, and ZIP code or city and state; without them it is refused.
        address: Option<&'a str> = Kind::Text { min: 3, max: 200 },
        zip: Option<&'a str> = ZIP,
        /// City, with `state`. Refused where a list names its cities otherwise: the problem says how.
        city: Option<&'a str> = Kind::Text { min: 1, max: 80 },
        /// State, by postal code or name; a whole state as the only place is refused.
        state: Option<&'a str> = Kind::State,
        /// Id of the city or county that issued the permit, such as `us-il-chicago`.
        jurisdiction: Option<&'a str> = Kind::Text { min: 3, max: 60 },
        /// Latitude of a point, with `lon`.
        lat: Option<f64> = Kind::Number { min: -90.0, max: 90.0 },
        /// Longitude of a point, with `lat`.
        lon: Option<f64> = Kind::Number { min: -180.0, max: 180.0 },
        /// Straight-line distance from the point, statute miles; 1 when absent. Refused without `lat` and `lon`.
        // No declared default: it holds only beside a point, and clients that send every default would be refused without one.
        radius_mi: Option<f64> = Kind::Number { min: 0.01, max: 25.0 },
        /// Parcel number; punctuation does not matter.
        parcel: Option<&'a str> = Kind::Text { min: 1, max: 60 },
        /// Number of the permit.
        permit_number: Option<&'a str> = Kind::Text { min: 1, max: 60 },
        /// Comma list of types.
        r#type: Vec<&'a str> = Kind::OneOf(PERMITS, "type"),
        /// New construction, or work on what exists.
        work_class: Option<&'a str> = Kind::OneOf(PERMITS, "work_class"),
        /// Residential or not.
        property_class: Option<&'a str> = Kind::OneOf(PERMITS, "property_class"),
        /// Comma list of kinds of work, all of which must be named; `-pool` leaves out those that name a pool.
        tags: Vec<&'a str> = Kind::Signed(PERMITS, "tags"),
        /// Comma list of statuses.
        status: Vec<&'a str> = Kind::OneOf(PERMITS, "status"),
        /// Which date `date_from`, `date_to` and the order mean; `issued` when absent.
        date_field: Option<&'a str> = Kind::Word(&["issued", "applied", "completed", "status"]),
        /// First day, inclusive.
        date_from: Option<Date> = Kind::Date,
        /// Last day, inclusive.
        date_to: Option<Date> = Kind::Date,
        /// Name of a contractor.
        contractor: Option<&'a str> = Kind::Text { min: 2, max: 120 },
        /// License number of a party, as the permit states it.
        contractor_license: Option<&'a str> = Kind::Text { min: 1, max: 40 },
        /// Least stated value of the work, US dollars.
        min_value: Option<f64> = Kind::Number { min: 0.0, max: 1e12 },
        /// Most, US dollars.
        max_value: Option<f64> = Kind::Number { min: 0.0, max: 1e12 },
        /// Words of the description, all of them.
        q: Option<&'a str> = Kind::Text { min: 2, max: 80 },
        /// `date_desc` (default): newest first by the date of `date_field`; `value_desc`: highest value first. Permits without date or value come last.
        sort: Option<&'a str> = Kind::Word(&["date_desc", "value_desc"]),
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format(""), ..RELEASE, ..AS_OF,
    }
}

/// By date or value, falling.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Permits")]
struct FoundPermits<'a>(Vec<record::Permit<'a>>);

/// The permits of the release.
///
/// # Errors
/// `coverage_unavailable`, when it has none.
pub fn published<'a>(call: &'a Call<'_>) -> Result<&'a Permits> {
    call.release.table::<Permits>().ok_or_else(|| not_published(PERMITS))
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let permits = published(call)?;
    let query = Parameters::of(call)?;
    let paging = ListPaging::of(call, query.limit, query.cursor)?;
    let filter = Filter::of(&query, permits)?;
    let (mut rows, mut notices) = rows_at(call, &query, permits).await?;
    notices.extend(filter.add_dates_notice(&rows));
    filter.add_gaps_notices(&rows, &mut notices);
    rows.retain(|row| filter.takes(*row));
    filter.sort(&mut rows, query.sort == Some("value_desc"));
    let (found, page) = match query.q {
        Some(words) => {
            let (found, page) = with_words(call, permits, &paging, &rows, words).await?;
            (found, Page { is_cut: filter.is_cut(), ..page })
        }
        None => (permits.rows.fetch(call.reader(), paging.slice(&rows)).await?, paging.page(rows.len(), filter.is_cut())),
    };
    let parties = parties(call, permits, &found).await?;
    json.value(&FoundPermits(found.iter().zip(&parties).map(|(permit, parties)| record::Permit::of(call, permit, parties)).collect()));
    let mut meta = Meta::of(&[PERMITS, CONTACTS, LINKS], format!("{} permits of {} jurisdictions", permits.rows.len(), permits.lists.len()));
    if let Some(coverage) = &mut meta.coverage {
        coverage.jurisdictions_searched = searched(call, &query, permits).into_iter().map(str::to_owned).collect();
    }
    meta.page = Some(page);
    meta.notices = notices;
    if let Some(quarantined) = query.permit_number.map(|number| permits.quarantined_with_number(number)).filter(|ids| !ids.is_empty()) {
        let message =
            format!("Rows of {} contradict each other and were set aside: the permit is not among these. Ask the city.", quarantined.join(", ").to_lowercase());
        meta.notice("RECORD_SET_ASIDE", message);
    }
    if !query.tags.is_empty() {
        meta.notice("TAGS_ARE_DERIVED", "Tags are made from words of the description; a permit without a description has none.");
    }
    Ok(meta)
}

/// Of rows in order a page of those whose description has all words. The cursor counts rows, not finds: the next page goes on behind the last row. All are counted, unless
/// there are so many rows that reading them takes long.
async fn with_words<'a>(call: &Call<'_>, permits: &'a Permits, paging: &ListPaging<'_>, rows: &[u32], words: &str) -> Result<(Vec<Record<'a, Permit>>, Page)> {
    let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has_all = |permit: &Record<'_, Permit>| {
        let description = permit.at("description");
        let has = |word: &&str| description.split(|c: char| !c.is_alphanumeric()).any(|known| known.eq_ignore_ascii_case(word));
        words.iter().all(has)
    };
    let is_counted = rows.len() <= MOST_COUNTED;
    let first = if is_counted { 0 } else { paging.first.min(rows.len()) };
    let (mut found, mut next, mut total) = (Vec::new(), None, 0);
    'reading: for (number, piece) in rows[first..].chunks(READING).enumerate() {
        for (place, permit) in permits.rows.fetch(call.reader(), piece).await?.into_iter().enumerate() {
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
        is_total_exact: total <= MAX_COUNTED && (is_counted || (paging.first == 0 && next.is_none())),
        is_cut: false,
    };
    Ok((found, page))
}
