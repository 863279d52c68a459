//! Answers `GET /v1/tax/rate`: the sales tax rate of a place on a day.

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta};
use crate::http::parameters::{AS_OF, Kind, Parameter, RELEASE, TextForm, not_a_state};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::place::zips::Zips;
use crate::tax::answer::TaxRate;
use crate::tax::dates::date_of;
use crate::tax::goods::{CATEGORIES, Category};
use crate::tax::location::{Asked, Location};
use crate::tax::lookup::{Found, Terms, look_up};
use crate::tax::table::{BOUNDARIES, RATES, STATES, TAXABILITY};
use pubdata_core::canonical::state::usps;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/tax/rate",
    operation_id: "getTaxRate",
    summary: "Sales tax rate of a place on a day",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: Data::of::<TaxRate<'static>>(),
    validity: Validity::Date,
    handler: Handler::Memory(rate),
};

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "address",
        kind: Kind::Text { min: 5, max: 200 },
        description: "The address on one line, instead of `street`, `city`, `state` and `zip`; cannot be combined with them.",
    },
    Parameter { name: "street", kind: Kind::Text { min: 1, max: 120 }, description: "House number and street." },
    Parameter { name: "city", kind: Kind::Text { min: 1, max: 80 }, description: "City; with `state` in place of a ZIP code." },
    Parameter { name: "state", kind: Kind::State, description: "The state, by postal code or name; another text is refused." },
    Parameter {
        name: "zip",
        kind: Kind::Form(TextForm { pattern: "^[0-9]{5}(-?[0-9]{4})?$", description: "a ZIP code of five digits, or nine such as `55103-1234`" }),
        description: "ZIP code of five or nine digits.",
    },
    Parameter {
        name: "county_fips",
        kind: Kind::Form(TextForm { pattern: "^[0-9]{5}$", description: "the FIPS code of a county, five digits such as `06037`" }),
        description: "FIPS code of the county, where the ZIP code or city has a part in several.",
    },
    Parameter { name: "unincorporated", kind: Kind::Flag, description: "`true`: the place is outside of every city, whatever city its mail has." },
    Parameter { name: "date", kind: Kind::Date, description: "Day of the sale; today (UTC) when absent." },
    Parameter {
        name: "origin_state",
        kind: Kind::State,
        description: "State that the sale comes from, by postal code or name; from within the state when absent. Another text is refused.",
    },
    Parameter { name: "category", kind: Kind::Word(CATEGORIES), description: "What is bought; general goods when absent. `food_drug` is answered as food." },
    RELEASE,
    AS_OF,
];

/// Answers `GET /v1/tax/rate`.
///
/// # Errors
/// `missing_parameter`, when the place has neither a ZIP code nor city and state; `invalid_parameter`, when something is malformed or no
/// record holds on the date; `not_found`, when the place is not known; `coverage_unavailable`, when the release has no tax data.
pub fn rate(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let query = call.query;
    let (street, city, state) = (query.get("street"), query.get("city"), query.get("state"));
    let is_unincorporated = query.get("unincorporated") == Some("true");
    let (zip, county_fips) = (query.get("zip"), query.get("county_fips"));
    let asked = Asked { address: query.get("address"), street, city, state, zip, county_fips, is_unincorporated };
    let location = Location::of(call.release.table::<Zips>(), asked, "")?;
    let date = query.get("date");
    let terms = Terms {
        date: date_of(date, call.today(), "date")?,
        is_date_given: date.is_some(),
        origin: origin_of(query.get("origin_state"), "origin_state")?,
        category: Category::of(query.get("category")),
        is_at_origin: false,
    };
    let mut found = look_up(call, location, &terms, "date")?;
    found.add_unread_notice(terms.category);
    json.value(&found.shown(&call.release.manifest, &terms));
    Ok(describe(&found))
}

/// The state that a sale comes from.
///
/// # Errors
/// `invalid_parameter`, when there is no such state.
pub fn origin_of(text: Option<&str>, field: &str) -> Result<Option<&'static str>> {
    let unknown = |text: &str| Problem::of_field(Code::InvalidParameter, field, format!("`{field}`: {}", not_a_state(text)));
    text.map(|text| usps(text).ok_or_else(|| unknown(text))).transpose()
}

/// What `meta` says of rates that were found.
pub fn describe(found: &Found<'_>) -> Meta {
    let scope = match found.coverage {
        "full" => format!("sales tax of {}: state and local", found.location.state),
        "partial" => format!("sales tax of {}: state and local, as far as the notices say", found.location.state),
        "state_only" => format!("sales tax of {}: the state's own", found.location.state),
        _ => format!("sales tax of {}: no rates", found.location.state),
    };
    Meta {
        datasets: [STATES, TAXABILITY, RATES, BOUNDARIES].map(Into::into).into(),
        notices: found.notices.clone(),
        coverage: Some(Coverage { scope, ..Coverage::default() }),
        ..Meta::default()
    }
}
