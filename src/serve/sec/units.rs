//! Units of metrics of which nothing is published for a registrant.

/// Metrics with their units, for a registrant of which nothing is known.
pub const UNITS: [(&str, &str); 8] = [
    ("revenue", "USD"),
    ("net_income", "USD"),
    ("total_assets", "USD"),
    ("total_liabilities", "USD"),
    ("stockholders_equity", "USD"),
    ("operating_cash_flow", "USD"),
    ("eps_diluted", "USD/shares"),
    ("shares_outstanding", "shares"),
];

pub fn unit_of(metric: &str) -> &'static str {
    UNITS.iter().find(|(known, _)| *known == metric).map_or("", |(_, unit)| unit)
}
