//! Units of metrics, as the contract names them: also of those of which nothing is published for a registrant.

use super::tables::VALUES;
use pubdata_core::contract::Contracts;

/// The unit of a metric; empty of one that the contract does not know.
pub fn unit_of<'a>(contracts: &'a Contracts, metric: &str) -> &'a str {
    contracts.get(VALUES).and_then(|contract| contract.value("metric", metric)?.note("unit")).unwrap_or_default()
}
