//! Holds releases in memory: selects the release that answers a request, reads and caches its
//! parts, and returns rows with provenance and age. Checks the digest of every part, so damaged
//! bytes are never served. The module handles manifests and Parquet, but does not depend on any
//! family or on HTTP.

pub mod bucketed;
pub mod catalog;
pub mod dictionary;
pub mod dictionary_codes;
pub mod freshness;
pub mod key_columns;
pub mod loaded;
pub mod manifests;
pub mod part_cache;
pub mod part_provenance;
pub mod part_reader;
pub mod places;
pub mod provenance;
pub mod quarantined;
pub mod record_ids;
pub mod release_unavailable;
pub mod retained;
pub mod row;
pub mod row_cells;
pub mod row_sources;
pub mod rows;
pub mod table;
pub mod text_column;
