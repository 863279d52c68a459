//! Notices of answers about areas.

use crate::http::meta::Meta;

/// Adds the notice that every answer about ZCTAs carries.
pub fn add_zcta_notice(meta: &mut Meta) {
    meta.notice(
        "ZCTA_NOT_USPS_ZIP",
        "ZCTAs are areas that the Census Bureau builds from census blocks to approximate postal ZIP areas; they are not ZIP codes.",
    );
}

/// Adds the notice of an area that the survey does not cover.
pub fn add_not_in_survey_notice(meta: &mut Meta, code: &str, vintage_year: i32) {
    meta.notice(
        "NOT_IN_SURVEY",
        format!("{code} exists, but the survey of vintage {vintage_year} has no estimates for it: every metric is null with the reason `not_in_survey`."),
    );
}
