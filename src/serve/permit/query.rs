//! Defines the parameters of a permit search.

use jiff::civil::Date;

use crate::http::endpoint::query;
use crate::http::filter::ZIP;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::permit::datasets::PERMITS;

query! {
    pub struct Parameters<'a> {
        /// Street address on one line: house number, street, and ZIP code or city and state. An
        /// incomplete address is rejected.
        address: Option<&'a str> = Kind::Text { min: 3, max: 200 },
        zip: Option<&'a str> = ZIP,
        /// City, with `state`. Rejected if a list uses other names for its cities; the problem then
        /// contains those names.
        city: Option<&'a str> = Kind::Text { min: 1, max: 80 },
        /// State, by postal code or name; rejected if the request names no other place.
        state: Option<&'a str> = Kind::State,
        /// Id of the city or county that issued the permit, such as `us-il-chicago`.
        jurisdiction: Option<&'a str> = Kind::Text { min: 3, max: 60 },
        /// Latitude of the search point; requires `lon`.
        lat: Option<f64> = Kind::Number { min: -90.0, max: 90.0 },
        /// Longitude of the search point; requires `lat`.
        lon: Option<f64> = Kind::Number { min: -180.0, max: 180.0 },
        /// Straight-line distance from the point, statute miles; 1 when absent. Rejected without
        /// `lat` and `lon`.
        // Declares no default, because the radius applies only with a point. A request with every
        // default but no point would be rejected.
        radius_mi: Option<f64> = Kind::Number { min: 0.01, max: 25.0 },
        /// Parcel number; punctuation is ignored.
        parcel: Option<&'a str> = Kind::Text { min: 1, max: 60 },
        /// Number of the permit.
        permit_number: Option<&'a str> = Kind::Text { min: 1, max: 60 },
        /// Comma-separated list of types.
        r#type: Vec<&'a str> = Kind::OneOf(PERMITS, "type"),
        /// New construction, or work on existing structures.
        work_class: Option<&'a str> = Kind::OneOf(PERMITS, "work_class"),
        /// Residential or non-residential property.
        property_class: Option<&'a str> = Kind::OneOf(PERMITS, "property_class"),
        /// Comma-separated list of kinds of work, all of which a permit must name; `-pool` excludes
        /// permits that name a pool.
        tags: Vec<&'a str> = Kind::Signed(PERMITS, "tags"),
        /// Comma-separated list of statuses.
        status: Vec<&'a str> = Kind::OneOf(PERMITS, "status"),
        /// Date to which `date_from`, `date_to` and the sort apply; `issued` when absent.
        date_field: Option<&'a str> = Kind::Word(&["issued", "applied", "completed", "status"]),
        /// First day of the date range, inclusive.
        date_from: Option<Date> = Kind::Date,
        /// Last day of the date range, inclusive.
        date_to: Option<Date> = Kind::Date,
        /// Name of a contractor.
        contractor: Option<&'a str> = Kind::Text { min: 2, max: 120 },
        /// License number of a party, as the permit states it.
        contractor_license: Option<&'a str> = Kind::Text { min: 1, max: 40 },
        /// Minimum stated value of the work, US dollars.
        min_value: Option<f64> = Kind::Number { min: 0.0, max: 1e12 },
        /// Maximum stated value of the work, US dollars.
        max_value: Option<f64> = Kind::Number { min: 0.0, max: 1e12 },
        /// Words that the description must contain.
        q: Option<&'a str> = Kind::Text { min: 2, max: 80 },
        /// `date_desc` (default): newest first by the date in `date_field`; `value_desc`: highest
        /// value first. Permits without a date or value come last.
        sort: Option<&'a str> = Kind::Word(&["date_desc", "value_desc"]),
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format(""), ..RELEASE, ..AS_OF,
    }
}
