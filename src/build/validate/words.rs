//! For each coded column, counts the records with text from the publisher and the texts whose
//! meaning is unknown.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;

use super::{Contract, Result};
use crate::normalise::ListRows;
use pubdata_core::contract::UNKNOWN_VALUES;
use pubdata_store::{WordCounts, WordTally};

/// Counts the words in a table's coded columns, by column. Omits columns that have no text in any
/// record.
pub fn count(contract: &Contract, frame: &DataFrame) -> Result<BTreeMap<String, WordCounts>> {
    let mut tally = WordTally::new(contract);
    if !contract
        .columns
        .iter()
        .any(|column| column.coded_from.is_some())
    {
        return Ok(BTreeMap::new());
    }
    let lists = ListRows::of(frame.column(UNKNOWN_VALUES)?.as_materialized_series())?;
    lists
        .iter()
        .flatten()
        .flatten()
        .for_each(|item| tally.add_unknown(item));
    for raw in contract
        .columns
        .iter()
        .filter_map(|column| column.coded_from.as_deref())
        .collect::<BTreeSet<_>>()
    {
        let texts = frame.column(raw)?;
        tally.add_texts(raw, (texts.len() - texts.null_count()) as u64);
    }
    Ok(tally.finish())
}
