//! Serves the securities family: registrants, their filings, figures as filed with the filing that
//! reported each figure, and comparisons of registrants.

mod company;
mod compare;
mod conformed_name;
pub mod figure;
mod filing_dates;
mod filing_query;
mod filing_record;
mod filing_search;
mod filing_table;
mod filings;
mod financial_value;
mod financials;
pub mod forms;
mod frame_index;
mod frames;
mod lazy;
mod line_table;
pub mod links;
mod lookup;
pub mod members;
mod names;
mod owners;
pub mod party;
mod periods;
mod profile;
mod profile_table;
pub mod registrants;
mod report;
mod reports;
mod search;
mod statements;
pub mod succession;
pub mod tables;
mod units;
mod value_table;
mod versions;

use futures_util::FutureExt;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::Tables;
use crate::release::part_reader::PartReader;
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use tables::SecTables;

/// SEC endpoints and their tables.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Companies and filings",
        description: "What companies reported to the SEC, as filed: profiles, filings of all forms, figures by fiscal period with every restatement, and statements. The data comes from the SEC's nightly bulk archives of submissions and XBRL facts, refreshed from its JSON interfaces for selected companies. Out of scope of the financials API: real-time streaming (new filings are pushed over [`/v1/stream`](/docs/guides/streams)), full-text search of filings, insider trading, ownership and analyst recommendations.",
    },
    load: |reader, contracts, _| load(reader, contracts).boxed(),
    endpoints: &[
        search::ENDPOINT,
        profile::ENDPOINT,
        reports::ENDPOINT,
        financials::ENDPOINT,
        compare::ENDPOINT,
        frames::ENDPOINT,
        filing_search::ENDPOINT,
        statements::ENDPOINT,
    ],
    placeholders: &[
        Placeholder {
            name: "cik",
            pattern: "^0{0,9}[1-9][0-9]{0,9}$",
            example: "0000320193",
            description: "CIK, with or without leading zeros; answers carry all ten digits.",
        },
        Placeholder {
            name: "metric",
            pattern: "^[a-z_]+$",
            example: "sec.financial_value/metric",
            description: "Key of a metric; other values are rejected.",
        },
    ],
};

async fn load(reader: PartReader<'_>, contracts: &Contracts) -> Result<Tables> {
    let mut tables = Tables::default();
    let sec = SecTables::load(reader, contracts).await?;
    sec.registrants
        .iter()
        .for_each(|registrants| tables.watch(registrants));
    tables.insert(sec);
    Ok(tables)
}
