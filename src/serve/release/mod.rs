//! One release in memory: which one answers a request, its parts as they are read and kept, rows
//! with their provenance, and how old they are. Every part's digest is checked, so that damaged
//! bytes are never served. Knows manifests and Parquet; no family and no HTTP.

pub mod bucketed;
pub mod catalog;
pub mod dictionary;
pub mod dictionary_codes;
pub mod freshness;
pub mod key_columns;
pub mod loaded;
pub mod manifests;
pub mod not_served;
pub mod part_cache;
pub mod part_provenance;
pub mod part_reader;
pub mod places;
pub mod provenance;
pub mod quarantined;
pub mod record_ids;
pub mod retained;
pub mod row;
pub mod row_cells;
pub mod row_sources;
pub mod rows;
pub mod table;
pub mod text_column;
