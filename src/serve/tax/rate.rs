//! Answers `GET /v1/tax/rate`: the sales tax rate of a place on a day.

use jiff::civil::Date;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta};
use crate::http::parameters::{AS_OF, Kind, RELEASE, TextForm, not_a_state};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::place::zips::Zips;
use crate::tax::answer::TaxRate;
use crate::tax::goods::{CATEGORIES, Category};
use crate::tax::location::{AddressQuery, Location};
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
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<TaxRate<'static>>(),
    cache_policy: CachePolicy::PerDate,
    handler: Handler::Memory(rate),
};

query! {
    pub struct Parameters<'a> {
        /// The address on one line, instead of `street`, `city`, `state` and `zip`; cannot be
        /// combined with them.
        address: Option<&'a str> = Kind::Text { min: 5, max: 200 },
        /// House number and street.
        street: Option<&'a str> = Kind::Text { min: 1, max: 120 },
        /// City; with `state` it replaces a ZIP code.
        city: Option<&'a str> = Kind::Text { min: 1, max: 80 },
        /// State, by postal code or name; other values are rejected.
        state: Option<&'a str> = Kind::State,
        /// ZIP code of five or nine digits.
        zip: Option<&'a str> = Kind::Form(TextForm {
            pattern: "^[0-9]{5}(-?[0-9]{4})?$",
            description: "a ZIP code of five digits, or nine such as `55103-1234`",
        }),
        /// FIPS code of the county, if the ZIP code or city lies in several.
        county_fips: Option<&'a str> = Kind::Form(TextForm { pattern: "^[0-9]{5}$", description: "the FIPS code of a county, five digits such as `06037`" }),
        /// `true`: the place is outside every city, whatever its postal city.
        unincorporated: Option<bool> = Kind::Flag,
        /// Day of the sale; today (UTC) when absent.
        date: Option<Date> = Kind::Date,
        /// State from which the sale comes, by postal code or name; the destination state when
        /// absent. Other values are rejected.
        origin_state: Option<&'a str> = Kind::State,
        /// Category of the goods; general goods when absent. `food_drug` returns the rate of
        /// groceries.
        category: Option<&'a str> = Kind::Word(CATEGORIES),
        ..RELEASE, ..AS_OF,
    }
}

/// Answers `GET /v1/tax/rate`.
pub fn rate(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let Parameters {
        address,
        street,
        city,
        state,
        zip,
        county_fips,
        unincorporated,
        date,
        origin_state,
        category,
    } = Parameters::read(call)?;
    let address_query = AddressQuery {
        address,
        street,
        city,
        state,
        zip,
        county_fips,
        is_unincorporated: unincorporated == Some(true),
    };
    let location = Location::from_query(call.release.table::<Zips>(), address_query, "")?;
    let terms = Terms {
        date: date.unwrap_or(call.today()),
        is_date_given: date.is_some(),
        origin: origin_of(origin_state, "origin_state")?,
        category: Category::parse(category),
        is_at_origin: false,
    };
    let mut found = look_up(call, location, &terms, "date")?;
    found.add_unread_notice(terms.category);
    json.value(&found.shown(&call.release.manifest, &terms));
    Ok(describe(&found))
}

/// Parses the origin state of a sale.
pub fn origin_of(text: Option<&str>, field: &str) -> Result<Option<&'static str>> {
    let unknown = |text: &str| {
        Problem::of_field(
            Code::InvalidParameter,
            field,
            format!("`{field}`: {}", not_a_state(text)),
        )
    };
    text.map(|text| usps(text).ok_or_else(|| unknown(text)))
        .transpose()
}

/// Returns the metadata of an answer with rates.
pub fn describe(found: &Found<'_>) -> Meta {
    let scope = match found.coverage {
        "full" => format!("sales tax of {}: state and local", found.location.state),
        "partial" => format!(
            "sales tax of {}: state and local, as far as the notices say",
            found.location.state
        ),
        "state_only" => format!("sales tax of {}: the state's own", found.location.state),
        _ => format!("sales tax of {}: no rates", found.location.state),
    };
    Meta {
        datasets: [STATES, TAXABILITY, RATES, BOUNDARIES]
            .map(Into::into)
            .into(),
        notices: found.notices.clone(),
        coverage: Some(Coverage {
            scope,
            ..Coverage::default()
        }),
        ..Meta::default()
    }
}
