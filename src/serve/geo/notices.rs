//! Adds notices to answers about areas.

use crate::geo::estimates::MetricTable;
use crate::http::meta::Meta;

/// Adds the notice that every answer about ZCTAs carries.
pub fn add_zcta_notice(meta: &mut Meta) {
    meta.notice(
        "ZCTA_NOT_USPS_ZIP",
        "ZCTAs are areas that the Census Bureau builds from census blocks to approximate postal ZIP areas; they are not ZIP codes.",
    );
}

/// Adds a notice if a metric lacks margins that the Bureau publishes but the release does not
/// contain.
pub fn add_not_fetched_notice(meta: &mut Meta, table: &MetricTable, metrics: &[usize]) {
    if metrics.iter().any(|&metric| table.lacks_margins(metric)) {
        meta.notice(
            "MOE_NOT_FETCHED",
            "The Bureau publishes the margins of these percentages in its subject and profile tables, through the Census Data API with a free key. This release was built without a key \
             (`moe_status` is `not_fetched`); one built with `CENSUS_API_KEY` has them in `moe`. `moe_approximate` is computed here from the margins of the counts, with the Bureau's formula for users.",
        );
    }
}

/// Adds the notice about an area that the survey does not cover.
pub fn add_not_in_survey_notice(meta: &mut Meta, code: &str, vintage_year: i32) {
    meta.notice(
        "NOT_IN_SURVEY",
        format!("{code} exists, but the survey of vintage {vintage_year} has no estimates for it: every metric is null with the reason `not_in_survey`."),
    );
}
