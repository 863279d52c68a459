//! Reads metrics and their units from the contract, which also covers metrics without published
//! figures.

use schemars::JsonSchema;
use serde::Serialize;

use super::tables::VALUES;
use crate::http::endpoint::Call;
use pubdata_core::contract::Contracts;

/// Returns the unit of a metric; empty if the contract does not contain it.
pub fn unit_of<'a>(contracts: &'a Contracts, metric: &str) -> &'a str {
    contracts
        .get(VALUES)
        .and_then(|contract| contract.value("metric", metric)?.note("unit"))
        .unwrap_or_default()
}

// The metric and periods of an answer, shown at its start.
#[derive(Serialize, JsonSchema)]
pub struct RequestedMetric<'a> {
    #[schemars(extend("$field" = "sec.financial_value/metric"))]
    metric: &'a str,
    /// Unit of the metric: `USD`, `USD/shares` or `shares`.
    unit: &'a str,
    /// Length of the periods: fiscal years (`annual`) or fiscal quarters (`quarterly`).
    #[schemars(extend("enum" = ["annual", "quarterly"]))]
    period_type: &'a str,
    /// Span from the request: only figures for the quarter alone (`quarter`), or only figures from
    /// the fiscal year's first day (`ytd`). Null if the request has no span.
    #[schemars(extend("enum" = ["quarter", "ytd", null]))]
    span: Option<&'a str>,
}

impl<'a> RequestedMetric<'a> {
    pub fn new(
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
