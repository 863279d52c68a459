//! Turns the snapshots of one task into a staged build. Runs the pipeline's code as a whole, bucket
//! by bucket or shard by shard, then validates the tables, judges the totals and writes the parts.
//! Publishes nothing.

pub mod buckets;
pub mod build;
mod changed;
pub mod declaration_faults;
pub mod drift;
pub mod in_parallel;
pub mod shards;
pub mod source_rows;
pub mod stage;
pub mod units;
pub mod whole;
pub mod word_guess;
pub mod words;
