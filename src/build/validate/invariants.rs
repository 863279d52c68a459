//! Checks the contract's rules about relations between columns in a row, or between rows in a
//! group.

use polars::prelude::*;
use rayon::prelude::*;

use super::{
    Breach, Contract, Error, Physical, Result, ResultExt, contract, range, rows_where, show,
    show_key,
};
use crate::normalise::DistinctTexts;
use pubdata_core::contract::{Column, Condition, Invariant, Rule};

/// Checks every invariant in the contract. `earlier` contains the breaches of other rules.
///
/// # Errors
/// `Config` if a rule does not fit the columns that it names.
pub fn check(contract: &Contract, frame: &DataFrame, earlier: &[Breach]) -> Result<Vec<Breach>> {
    let of_rows = |invariant: &Invariant| match invariant.rule {
        Rule::SumWithin => Ok(Vec::new()),
        _ => {
            check_rows(contract, frame, invariant).context(|| format!("rule `{}`", invariant.code))
        }
    };
    // If several rules fail, the first rule's error is reported, regardless of which thread
    // finished first.
    let results: Vec<Result<Vec<Breach>>> = contract.invariants.par_iter().map(of_rows).collect();
    let mut by_rule = results.into_iter().collect::<Result<Vec<_>>>()?;
    let all = earlier.iter().chain(by_rule.iter().flatten());
    let quarantined: PlHashSet<usize> = all
        .filter(|breach| breach.severity == contract::Severity::Quarantine)
        .map(|breach| breach.row)
        .collect();
    for (invariant, breaches) in contract
        .invariants
        .iter()
        .zip(&mut by_rule)
        .filter(|(invariant, _)| invariant.rule == Rule::SumWithin)
    {
        *breaches = sum_within(contract, frame, invariant, &quarantined)
            .context(|| format!("rule `{}`", invariant.code))?;
    }
    Ok(by_rule.into_iter().flatten().collect())
}

fn check_rows(
    contract: &Contract,
    frame: &DataFrame,
    invariant: &Invariant,
) -> Result<Vec<Breach>> {
    let rows = broken_rows(contract, frame, invariant)?;
    let description = invariant.description.trim_end_matches('.');
    let shown: Vec<&String> = invariant
        .columns
        .iter()
        .chain(
            invariant
                .condition
                .iter()
                .map(|condition| &condition.column),
        )
        .collect();
    let breach_of = |row: usize| {
        let cells: Result<Vec<String>> = shown
            .iter()
            .map(|name| Ok(format!("`{name}` is {}", show(contract, frame, name, row)?)))
            .collect();
        let detail = format!("{}; expected: {description}", cells?.join(", "));
        Ok(Breach {
            code: invariant.code.clone(),
            severity: invariant.severity,
            row,
            detail,
        })
    };
    rows.into_iter().map(breach_of).collect()
}

fn broken_rows(
    contract: &Contract,
    frame: &DataFrame,
    invariant: &Invariant,
) -> Result<Vec<usize>> {
    let applies = match &invariant.condition {
        Some(condition) => holds(contract, frame, condition)?,
        None => BooleanChunked::full("applies".into(), true, frame.height()),
    };
    let present: Vec<BooleanChunked> = invariant
        .columns
        .iter()
        .map(|name| Ok(frame.column(name)?.is_not_null()))
        .collect::<Result<_>>()?;
    let any = || {
        present
            .iter()
            .cloned()
            .reduce(|any, has_value| &any | &has_value)
    };
    let lacking = || {
        present
            .iter()
            .map(|has_value| !has_value)
            .reduce(|lacking, lacks| &lacking | &lacks)
    };
    Ok(match invariant.rule {
        Rule::ExactlyOneOf => {
            // Exactly one column has a value if at least one has a value and no two have one.
            let pairs = present.iter().enumerate().flat_map(|(place, one)| {
                present[..place]
                    .iter()
                    .filter_map(move |other| both(one, other))
            });
            let two = pairs.reduce(|two, pair| &two | &pair);
            let one = any().map(|any| {
                if let Some(two) = two {
                    &any & &!&two
                } else {
                    any
                }
            });
            broken(one.and_then(|one| both(&applies, &!&one)))
        }
        Rule::AllOrNone => broken(
            any()
                .zip(lacking())
                .and_then(|(any, lacking)| both(&applies, &both(&any, &lacking)?)),
        ),
        Rule::PresentIff => broken(
            present
                .iter()
                .map(|has_value| has_value ^ &applies)
                .reduce(|broken, differs| &broken | &differs),
        ),
        Rule::PresentUnless => broken(lacking().and_then(|lacking| both(&lacking, &!&applies))),
        Rule::RangeWhere => {
            let mut rows = Vec::new();
            for name in &invariant.columns {
                let (column, cells) = (
                    column_of(contract, name)?,
                    frame.column(name)?.as_materialized_series(),
                );
                if invariant.condition.is_none() {
                    rows.extend(range::rows_outside(
                        column,
                        cells,
                        invariant.min,
                        invariant.max,
                    )?);
                    continue;
                }
                let outside = range::rows_outside(
                    column,
                    &cells.filter(&applies)?,
                    invariant.min,
                    invariant.max,
                )?;
                if !outside.is_empty() {
                    let places = rows_where(&applies);
                    rows.extend(outside.into_iter().map(|row| places[row]));
                }
            }
            rows.sort_unstable();
            rows.dedup();
            rows
        }
        Rule::InOrder => {
            let texts = |name: &String| {
                Ok(frame
                    .column(name)?
                    .as_materialized_series()
                    .cast(&DataType::String)?)
            };
            let days: Vec<Series> = invariant.columns.iter().map(texts).collect::<Result<_>>()?;
            let falls = |pair: &[Series]| -> Result<BooleanChunked> {
                let days = pair[0].str()?.iter().zip(pair[1].str()?.iter());
                Ok(days
                    .map(|(earlier, later)| {
                        earlier
                            .zip(later)
                            .is_some_and(|(earlier, later)| earlier > later)
                    })
                    .collect())
            };
            let fallen: Vec<BooleanChunked> = days.windows(2).map(falls).collect::<Result<_>>()?;
            broken(
                fallen
                    .into_iter()
                    .reduce(|any, falls| &any | &falls)
                    .and_then(|any| both(&applies, &any)),
            )
        }
        Rule::SumWithin => unreachable!("checked by groups, not by rows"),
    })
}

/// Combines two masks with "and". Returns none if one of them is all false, which is the usual
/// case. Otherwise polars would fill a buffer with zeros.
fn both(one: &BooleanChunked, other: &BooleanChunked) -> Option<BooleanChunked> {
    (one.any() && other.any()).then(|| one & other)
}

/// Returns the rows that break a rule. The result is empty if the rule names no column or no row
/// breaks it.
fn broken(is_broken: Option<BooleanChunked>) -> Vec<usize> {
    is_broken.map_or_else(Vec::new, |is_broken| rows_where(&is_broken))
}

/// Checks group totals. A group that contains a null, or has fewer rows than the condition lists
/// values, has no total to check. A null in a row that is quarantined anyway does not exempt the
/// group's other rows.
fn sum_within(
    contract: &Contract,
    frame: &DataFrame,
    invariant: &Invariant,
    quarantined: &PlHashSet<usize>,
) -> Result<Vec<Breach>> {
    let (Some(total), Some(tolerance)) = (invariant.total, invariant.tolerance) else {
        return Err(Error::config("`sum_within` needs `total` and `tolerance`"));
    };
    let columns: Vec<&Column> = invariant
        .columns
        .iter()
        .map(|name| column_of(contract, name))
        .collect::<Result<_>>()?;
    let scale = columns.first().map_or(0, |column| column.column_type.scale);
    if columns.is_empty()
        || columns
            .iter()
            .any(|column| column.column_type.scale != scale)
        || invariant.group_by.is_empty()
    {
        return Err(Error::config(
            "`sum_within` needs `group_by`, and columns of one scale",
        ));
    }
    let units = range::power_of_ten(scale);
    let selected_rows = invariant
        .condition
        .as_ref()
        .map_or(1, |condition| condition.any_of.len().max(1));
    let applies = match &invariant.condition {
        Some(condition) => holds(contract, frame, condition)?,
        None => BooleanChunked::full("applies".into(), true, frame.height()),
    };
    let texts = |name: &String| {
        Ok(frame
            .column(name)?
            .as_materialized_series()
            .cast(&DataType::String)?)
    };
    let keys: Vec<Series> = invariant
        .group_by
        .iter()
        .map(texts)
        .collect::<Result<_>>()?;
    let keys: Vec<&StringChunked> = keys.iter().map(Series::str).collect::<PolarsResult<_>>()?;
    // Unscaled units are integers, which a double represents exactly.
    let numbers = |column: &&Column| {
        Ok(frame
            .column(&column.name)?
            .as_materialized_series()
            .cast(&DataType::Float64)?)
    };
    let numbers: Vec<Series> = columns.iter().map(numbers).collect::<Result<_>>()?;
    let numbers: Vec<&Float64Chunked> = numbers
        .iter()
        .map(Series::f64)
        .collect::<PolarsResult<_>>()?;
    let mut groups: PlHashMap<Vec<Option<&str>>, Group> = PlHashMap::new();
    let is_part = |row: &usize| {
        !quarantined.contains(row) || numbers.iter().all(|column| column.get(*row).is_some())
    };
    for row in (0..frame.height())
        .filter(|row| applies.get(*row) == Some(true))
        .filter(is_part)
    {
        let group = groups
            .entry(keys.iter().map(|key| key.get(row)).collect())
            .or_default();
        group.rows.push(row);
        group.sum = numbers
            .iter()
            .map(|column| column.get(row))
            .fold(group.sum, |sum, number| Some(sum? + number?));
    }

    // The slack only absorbs rounding in tolerances that binary floating point cannot represent.
    let slack = 1e-6;
    let expected = (total - tolerance) * units - slack..=(total + tolerance) * units + slack;
    let mut breaches = Vec::new();
    let listed = invariant.columns.join("` and `");
    for Group { sum, rows } in groups.into_values() {
        let Some(sum) = sum.filter(|sum| rows.len() >= selected_rows && !expected.contains(sum))
        else {
            continue;
        };
        for row in rows {
            let key = show_key(contract, frame, &invariant.group_by, row)?;
            let detail = format!(
                "the sum of `{listed}` over {key} is {}; expected: {}",
                sum / units,
                invariant.description.trim_end_matches('.')
            );
            breaches.push(Breach {
                code: invariant.code.clone(),
                severity: invariant.severity,
                row,
                detail,
            });
        }
    }
    breaches.sort_by_key(|breach| breach.row);
    Ok(breaches)
}

/// Rows whose columns are summed together.
struct Group {
    /// Sum of the cells; none as soon as any cell is null.
    sum: Option<f64>,
    rows: Vec<usize>,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            sum: Some(0.0),
            rows: Vec::new(),
        }
    }
}

/// Returns a mask of the rows that satisfy a condition. A null never satisfies it.
fn holds(contract: &Contract, frame: &DataFrame, condition: &Condition) -> Result<BooleanChunked> {
    let column = column_of(contract, &condition.column)?;
    if matches!(
        column.column_type.physical,
        Physical::Decimal | Physical::Float64 | Physical::StringList | Physical::Pointers
    ) {
        return Err(Error::config(format!(
            "a condition on column `{}` needs a text, a flag, a date or an integer",
            column.name
        )));
    }
    let texts = frame
        .column(&condition.column)?
        .as_materialized_series()
        .cast(&DataType::String)?;
    let is_selected = |text: &str| {
        condition.equals.as_deref() == Some(text)
            || condition.any_of.iter().any(|value| value == text)
    };
    if let Some(DistinctTexts { values, places }) = DistinctTexts::new(texts.str()?) {
        let selected: Vec<bool> = values.into_iter().map(is_selected).collect();
        // The index of a row without text is beyond the end of `selected`.
        return Ok(BooleanChunked::from_iter_values(
            "holds".into(),
            places
                .into_iter()
                .map(|place| selected.get(place as usize) == Some(&true)),
        ));
    }
    Ok(BooleanChunked::from_iter_values(
        "holds".into(),
        texts
            .str()?
            .iter()
            .map(|text| text.is_some_and(is_selected)),
    ))
}

fn column_of<'a>(contract: &'a Contract, name: &str) -> Result<&'a Column> {
    contract
        .column(name)
        .ok_or_else(|| Error::config(format!("there is no column `{name}`")))
}
