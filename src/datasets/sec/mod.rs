//! EDGAR: what the SEC's bulk archives mean.

#![expect(dead_code, reason = "the parts of the family are being put together")]

mod company_facts;
mod fact;
mod filing;
mod json;
pub(super) mod submissions;
pub(super) mod taxonomy;
