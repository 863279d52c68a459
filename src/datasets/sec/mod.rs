//! EDGAR: what the SEC's bulk archives mean.

#![expect(dead_code, reason = "the parts of the family are being put together")]

mod fact;
mod filing;
mod financials;
