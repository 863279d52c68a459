//! What is published, for whoever takes whole datasets or wants to know what changed: datasets and
//! their contracts, the releases of the channel, what is different between two and why, parts and
//! tables as files, and one record through all releases. Of earlier releases manifests are read,
//! and the parts that are asked for; none is loaded.

mod asked;
mod catalog;
mod causes;
mod changes;
mod croissant;
mod dataset;
mod datasets;
mod download;
mod record_history;
mod release;
mod releases;
mod table;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::NOTHING;

/// What the route table takes.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Datasets and releases",
        description: "Whole datasets as Parquet or CSV, what each release holds and what changed, and a record through the releases.",
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
            description: "A release that the channel once pointed at and that is kept, or `current`.",
        },
        Placeholder {
            name: "dataset_id",
            pattern: "^[a-z0-9_]+\\.[a-z0-9_]+$",
            example: "geo.zcta_metric",
            description: "A dataset, as `/v1/datasets` lists them.",
        },
    ],
};
