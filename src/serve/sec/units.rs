//! Metrics and their units, as the contract names them: also of those of which nothing is published
//! for a registrant.

use schemars::JsonSchema;
use serde::Serialize;

use super::tables::VALUES;
use crate::http::endpoint::Call;
use pubdata_core::contract::Contracts;

/// The unit of a metric; empty of one that the contract does not know.
pub fn unit_of<'a>(contracts: &'a Contracts, metric: &str) -> &'a str {
    contracts
        .get(VALUES)
        .and_then(|contract| contract.value("metric", metric)?.note("unit"))
        .unwrap_or_default()
}

// What figures of one metric are about, as answers begin.
#[derive(Serialize, JsonSchema)]
pub struct AskedMetric<'a> {
    #[schemars(extend("$field" = "sec.financial_value/metric"))]
    metric: &'a str,
    /// Unit of the metric: `USD`, `USD/shares` or `shares`.
    unit: &'a str,
    /// Length of the periods: fiscal years (`annual`) or fiscal quarters (`quarterly`).
    #[schemars(extend("enum" = ["annual", "quarterly"]))]
    period_type: &'a str,
    /// Span from the request: only figures of the quarter alone (`quarter`), or only those from the
    /// fiscal year's first day (`ytd`). Null if the request has none.
    #[schemars(extend("enum" = ["quarter", "ytd", null]))]
    span: Option<&'a str>,
}

impl<'a> AskedMetric<'a> {
    pub fn of(
        call: &'a Call<'_>,
        metric: &'a str,
        period_type: &'a str,
        span: Option<&'a str>,
    ) -> Self {
        Self {
            metric,
            unit: unit_of(call.contracts(), metric),
            period_type,
            span,
        }
    }
}
