//! Groups the builders for the U.S. Census Bureau: survey tables and geography.

pub(super) mod acs5;
mod estimate;
pub(super) mod gazetteer;
mod metric_rows;
mod metrics;
pub(super) mod population;
mod primary_county;
