//! Answers `POST /v1/tax/batch`: the rate of each of many addresses. A problem with one stands in its result and does not fail the others.

use serde_json::value::RawValue;

use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::OF_RELEASE;
use crate::http::problem::Result;
use crate::json::Json;
use crate::tax::body_address::{ADDRESS, location_of};
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
    parameters: OF_RELEASE,
    body: Some("TaxBatchRequest"),
    data: "TaxBatch",
    validity: Validity::Release,
    handler: Handler::Memory(batch),
};

/// Answers `POST /v1/tax/batch`: the rate of each address, and of one that has none the problem.
///
/// # Errors
/// `invalid_json`, when the body is no JSON object; `unknown_parameter`, `missing_parameter` or `invalid_parameter`, naming the field;
/// `batch_too_large`; `rate_limited`, when the client's bucket has not enough. A problem with one address stands in its result.
pub fn batch(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let body = Fields::of_body(call.body, &["date", "addresses"])?;
    let addresses = body.list("addresses", MAX_ITEMS, |count| batch_too_large("addresses", count))?.ok_or_else(|| body.missing("addresses"))?;
    let date = body.text("date", 10)?;
    let day = date_of(date.as_deref(), call.today(), "date")?;
    let terms = Terms { date: day, is_date_given: date.is_some(), origin: None, category: Category::General, is_at_origin: false };
    call.charge(addresses.len())?;
    json.array(|json| {
        for (index, address) in addresses.into_iter().enumerate() {
            let (id, outcome) = rate_of(call, &body, index, address, &terms);
            json.object(|json| {
                json.key("id").optional_text(id.as_deref());
                json.key("found").flag(outcome.is_ok());
                json.key("result");
                match &outcome {
                    Ok(found) => found.write_rate(json, &call.release.manifest, &terms),
                    Err(_) => json.null(),
                }
                json.key("notices").array(|json| outcome.iter().flat_map(|found| &found.notices).for_each(|notice| notice.write(json)));
                json.key("error");
                match &outcome {
                    Ok(_) => json.null(),
                    Err(problem) => problem.write_item(json, call.service.public_url()),
                }
            });
        }
    });
    Ok(Meta { datasets: [STATES, TAXABILITY, RATES, BOUNDARIES].map(Into::into).into(), ..Meta::default() })
}

fn rate_of<'a>(call: &Call<'a>, body: &Fields<'a>, index: usize, address: &'a RawValue, terms: &Terms<'_>) -> (Option<String>, Result<Found<'a>>) {
    let fields = match body.item("addresses", index, address, &[&["id"], &ADDRESS[..]].concat()) {
        Ok(fields) => fields,
        Err(problem) => return (None, Err(problem)),
    };
    match fields.text("id", 120) {
        Ok(id) => {
            let mut outcome = location_of(call, &fields).and_then(|location| look_up(call, location, terms, "date"));
            outcome.iter_mut().for_each(|found| found.add_unread_notice(terms.category));
            (id, outcome)
        }
        Err(problem) => (None, Err(problem)),
    }
}
