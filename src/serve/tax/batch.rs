//! Answers `POST /v1/tax/batch` with the rate for each address. A problem with one address is
//! reported in that address's result and does not fail the others.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::http::batch::BatchItem;
use crate::http::body::request;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::RELEASE_PARAMETERS;
use crate::http::problem::Result;
use crate::json::Json;
use crate::tax::answer::TaxRate;
use crate::tax::body_address::{Place, TaxBatchAddress};
use crate::tax::dates::date_of;
use crate::tax::fields::Fields;
use crate::tax::goods::Category;
use crate::tax::limits::{MAX_ITEMS, batch_too_large};
use crate::tax::lookup::{Found, Terms, look_up};
use crate::tax::table::{BOUNDARIES, RATES, STATES, TAXABILITY};
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/tax/batch",
    operation_id: "getTaxRates",
    summary: "Sales tax rates of up to 100 places",
    access: Access::Scope(Scope::General),
    parameters: RELEASE_PARAMETERS,
    body: Some(Data::for_type::<TaxBatchRequest<'static>>()),
    data: Data::for_type::<TaxBatch<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(batch),
};

request! {
    struct TaxBatchRequest<'a> {
        /// Day of the sales; today (UTC) when absent.
        #[schemars(extend("format" = "date"))]
        date: Option<String>,
        /// Addresses to look up. Each address counts as one request. A problem with one address is
        /// reported in its result; the others are answered.
        #[schemars(with = "Vec<Place<'_, TaxBatchAddress>>", length(min = 1, max = MAX_ITEMS))]
        addresses: Vec<&'a RawValue>,
    }
}

/// Answers `POST /v1/tax/batch` with the rate for each address, or with the problem for that
/// address.
pub fn batch(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let TaxBatchRequest { addresses, date } = TaxBatchRequest::read(call.body)?;
    let day = date_of(date.as_deref(), call.today(), TaxBatchRequest::date)?;
    let terms = Terms {
        date: day,
        is_date_given: date.is_some(),
        origin: None,
        category: Category::General,
        is_at_origin: false,
    };
    call.charge(addresses.len())?;
    let outcomes: Vec<Result<Found<'_>>> = addresses
        .iter()
        .enumerate()
        .map(|(index, address)| rate_of(call, index, address, &terms))
        .collect();
    let items = addresses
        .iter()
        .zip(&outcomes)
        .enumerate()
        .map(|(index, (address, outcome))| {
            let notices = outcome
                .as_ref()
                .map(|found| found.notices.clone())
                .unwrap_or_default();
            BatchItem::new(
                call,
                (index, Echo::new(address)),
                outcome
                    .as_ref()
                    .map(|found| found.shown(&call.release.manifest, &terms)),
                notices,
            )
        });
    json.value(&TaxBatch(items.collect()));
    Ok(Meta {
        datasets: [STATES, TAXABILITY, RATES, BOUNDARIES]
            .map(Into::into)
            .into(),
        ..Meta::default()
    })
}

impl<'a> TaxBatchRequest<'a> {
    fn read(body: &'a [u8]) -> Result<Self> {
        let body = Fields::of_body(body, Self::FIELDS)?;
        let addresses = body.list(Self::addresses, MAX_ITEMS, |count| {
            batch_too_large(Self::addresses, count)
        })?;
        Ok(Self {
            addresses: addresses.ok_or_else(|| body.missing(Self::addresses))?,
            date: body.text(Self::date, 10)?,
        })
    }
}

#[derive(Serialize, JsonSchema)]
struct TaxBatch<'a>(Vec<BatchItem<'a, Echo, TaxRate<'a>>>);

/// The address from the request with your `id`, or the value sent instead of an address, null
/// included. JSON with arrays or nested objects is returned as text.
#[derive(Serialize, JsonSchema)]
#[schemars(inline, extend(
    "type" = ["object", "string", "number", "boolean", "null"],
    "additionalProperties" = {"type": ["string", "number", "boolean", "null"]}
))]
struct Echo(Value);

impl Echo {
    /// Returns the value that was sent. An address has no arrays or nested objects.
    fn new(address: &RawValue) -> Self {
        let is_flat = |value: &Value| !value.is_array() && !value.is_object();
        let value = serde_json::from_str::<Value>(address.get()).unwrap_or_default();
        let is_address = value
            .as_object()
            .map_or_else(|| is_flat(&value), |fields| fields.values().all(is_flat));
        Self(if is_address {
            value
        } else {
            address.get().into()
        })
    }
}

fn rate_of<'a>(
    call: &Call<'a>,
    index: usize,
    address: &'a RawValue,
    terms: &Terms<'_>,
) -> Result<Found<'a>> {
    let place = Place::<TaxBatchAddress>::read(
        address,
        format!("{}[{index}].", TaxBatchRequest::addresses),
    )?;
    let mut found = look_up(call, place.locate(call)?, terms, "date")?;
    found.add_unread_notice(terms.category);
    Ok(found)
}
