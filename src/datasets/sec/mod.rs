//! EDGAR: what the SEC's bulk archives mean.

mod company_facts;
mod fact;
pub(super) mod feeds;
mod filing;
pub(super) mod financials;
mod json;
pub(super) mod submissions;
pub(super) mod taxonomy;
