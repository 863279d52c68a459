//! Converts a built table to its contract's shape or rejects the table. A failure here is a mistake
//! in code or contract, not in data.

use std::collections::BTreeMap;

use polars::prelude::*;

use super::{ColumnType, Contract, Error, Inputs, POINTERS, Physical, Result};
use crate::normalise::{ListRows, PointerRows, distinct_texts, list_column};

/// Puts a frame's columns into contract order, with `warnings` filled in and `validation_status`
/// left out.
///
/// # Errors
/// `Contract` for each missing, unknown or mistyped column, for rows that belong to another
/// partition, and for pointers that do not resolve.
pub fn conform(
    contract: &Contract,
    frame: DataFrame,
    partition: &BTreeMap<String, String>,
    inputs: &Inputs,
) -> Result<DataFrame> {
    let mut problems = Vec::new();
    let mut columns = Vec::new();
    for column in contract
        .columns
        .iter()
        .filter(|column| column.name != "validation_status" && column.name != "warnings")
    {
        let expected = frame_type(&column.column_type);
        let is_dates = |found: &DataType| {
            column.column_type.physical == Physical::Date && *found == DataType::Date
        };
        match frame.column(&column.name) {
            Ok(found) if *found.dtype() == expected || is_dates(found.dtype()) => {
                columns.push(found.clone());
            }
            Ok(found) => problems.push(format!(
                "column `{}` is {}, expected {expected}",
                column.name,
                found.dtype()
            )),
            Err(_) => problems.push(format!("column `{}` is missing", column.name)),
        }
    }
    for name in frame
        .get_column_names()
        .into_iter()
        .filter(|name| contract.column(name).is_none())
    {
        problems.push(format!("column `{name}` is not in the contract"));
    }
    let list_type = DataType::List(Box::new(DataType::String));
    let given = match frame.column("warnings") {
        Ok(found) if *found.dtype() == list_type => Some(found),
        Ok(found) => {
            problems.push(format!(
                "column `warnings` is {}, expected {list_type}",
                found.dtype()
            ));
            None
        }
        Err(_) => None,
    };
    if !partition.keys().eq(sorted(&contract.partition_by)) {
        problems.push(format!(
            "partition is by ({}), expected ({})",
            join(partition.keys()),
            join(contract.partition_by.iter())
        ));
    }
    if !problems.is_empty() {
        return Err(Error::contract(format!(
            "the built table does not have the contract's form: {}",
            problems.join("; ")
        ))
        .hint("the pipeline's code and the file under schemas/ must agree"));
    }
    let warnings = match given {
        Some(codes) if codes.null_count() == 0 => codes.clone(),
        Some(codes) => {
            let codes = ListRows::of(codes.as_materialized_series())?;
            list_column(
                "warnings",
                codes.iter().map(|row| row.into_iter().flatten()),
            )
        }
        None => list_column("warnings", std::iter::repeat_n([""; 0], frame.height())),
    };
    columns.push(warnings);
    let mut frame = DataFrame::new(frame.height(), columns)?;
    frame.rechunk_mut_par();
    check_partition(&frame, partition)?;
    check_pointers(&frame, inputs)?;
    Ok(frame)
}

/// Returns the polars type that represents a physical type between normalise and publish.
fn frame_type(column_type: &ColumnType) -> DataType {
    match column_type.physical {
        Physical::Decimal if column_type.is_decimal_text() => DataType::String,
        Physical::String | Physical::Date => DataType::String,
        Physical::StringList => DataType::List(Box::new(DataType::String)),
        Physical::Int32 => DataType::Int32,
        Physical::Int64 | Physical::Decimal => DataType::Int64,
        Physical::Float64 => DataType::Float64,
        Physical::Boolean => DataType::Boolean,
        Physical::Pointers => DataType::List(Box::new(DataType::UInt64)),
    }
}

fn check_partition(frame: &DataFrame, partition: &BTreeMap<String, String>) -> Result<()> {
    for (name, value) in partition {
        let cells = frame.column(name)?.as_materialized_series();
        if cells.dtype() == &DataType::String
            && cells.null_count() == 0
            && distinct_texts(cells.str()?)
                .is_some_and(|texts| texts.iter().all(|text| text == value))
        {
            continue;
        }
        let texts = cells.unique()?.cast(&DataType::String)?;
        let unlisted = texts
            .str()?
            .iter()
            .find(|text| *text != Some(value.as_str()));
        if let Some(text) = unlisted {
            return Err(Error::contract(format!(
                "the built table of partition {name}={value} holds a row with {name} {}",
                text.unwrap_or("null")
            )));
        }
    }
    Ok(())
}

fn check_pointers(frame: &DataFrame, inputs: &Inputs) -> Result<()> {
    let pointers = PointerRows::from_series(frame.column(POINTERS)?.as_materialized_series())?;
    match pointers
        .iter()
        .position(|numbers| numbers.is_some_and(|numbers| !inputs.can_resolve(numbers)))
    {
        Some(row) => Err(Error::contract(format!(
            "row {row} holds source pointers that do not belong to this build's inputs"
        ))),
        None => Ok(()),
    }
}

fn sorted(names: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    sorted
}

fn join<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}
