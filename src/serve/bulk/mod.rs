//! Serves entire datasets and their changes: datasets and contracts, releases and their
//! differences, parts and tables as files, and the history of one record through all releases. For
//! an earlier release, this module reads the manifest and the requested parts; it does not load the
//! release.

mod catalog;
mod causes;
mod changes;
mod croissant;
mod dataset;
mod datasets;
mod download;
mod query;
mod record_history;
mod release;
mod releases;
mod table;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::NOTHING;

/// Endpoints for the route table.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Datasets and releases",
        description: "Whole datasets as Parquet or CSV, the contents and changes of each release, and the history of a record.",
    },
    load: NOTHING,
    endpoints: &[
        catalog::ENDPOINT,
        datasets::ENDPOINT,
        dataset::ENDPOINT,
        croissant::ENDPOINT,
        releases::ENDPOINT,
        release::ENDPOINT,
        changes::ENDPOINT,
        download::ENDPOINT,
        record_history::ENDPOINT,
    ],
    placeholders: &[
        Placeholder {
            name: "release_id",
            pattern: "^(current|r[0-9a-f]{20})$",
            example: "current",
            description: "A retained release of the channel, or `current`.",
        },
        Placeholder {
            name: "dataset_id",
            pattern: "^[a-z0-9_]+\\.[a-z0-9_]+$",
            example: "geo.zcta_metric",
            description: "A dataset from `/v1/datasets`.",
        },
    ],
};
