//! The geographic and demographics family: areas with their metrics, schools near a ZCTA, and comparisons of two ZCTAs.

pub mod area;
pub mod compare;
mod county;
pub mod coverage;
mod demographics;
pub mod distance;
mod metric;
mod profile;
pub mod schools;

pub use county::county;
pub use demographics::demographics;
pub use profile::profile;

use crate::serve::call::Meta;

/// Adds the notice that every answer about ZCTAs carries.
pub fn note_zcta(meta: &mut Meta) {
    meta.notice(
        "ZCTA_NOT_USPS_ZIP",
        "ZCTAs are areas that the Census Bureau builds from census blocks to approximate postal ZIP areas; they are not ZIP codes.",
    );
}

/// Adds the notice of an area that the survey does not cover.
pub fn note_not_in_survey(meta: &mut Meta, code: &str, vintage_year: i32) {
    meta.notice(
        "NOT_IN_SURVEY",
        format!("{code} exists, but the survey of vintage {vintage_year} has no estimates for it: every metric is null with the reason `not_in_survey`."),
    );
}
