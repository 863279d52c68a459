//! Turns `schemas/<family>/<table>.toml` into contracts: columns with types, keys and invariants.
//! The Arrow schema of the published parts, the validation rules, the data dictionary and the
//! OpenAPI component schemas derive from a contract.

mod arrow_schema;
mod day;
mod dictionary;
mod load;
mod types;
mod vocabulary;

pub use arrow_schema::{arrow_schema, pointer_fields};
pub use day::Day;
pub use dictionary::{data_dictionary, type_name};
pub use load::{Contracts, load};
pub use types::{
    Column, ColumnType, Condition, Contract, Invariant, Physical, Rule, Severity, UNKNOWN_VALUES,
    ValueNotes, WORD_BASIS, parse_decimal,
};
pub use vocabulary::{Words, normalized_word};
