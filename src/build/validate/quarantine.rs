//! Turns broken rules into issues, and issues into the published quarantine table.

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;

use super::{Breach, Contract, Error, Inputs, Issue, POINTERS, Result, Severity};

/// Maximum length of the stored source text, in characters.
const MAX_SOURCE_TEXT: usize = 2000;

/// Maximum length of a source key in a `record_id`, in characters. This limit keeps ids below 512
/// characters.
pub const MAX_RECORD: usize = 300;

/// Turns broken rules into issues that name the record and the record's first source position.
pub fn issues_of(
    dataset_id: &str,
    frame: &DataFrame,
    breaches: Vec<Breach>,
    inputs: &Inputs,
) -> Result<Vec<Issue>> {
    let record_ids = frame.column("record_id")?.str()?;
    let pointers = frame.column(POINTERS)?.list()?;
    let issue_of = |breach: Breach| {
        let numbers = pointers.get_as_series(breach.row);
        let numbers = numbers.as_ref().map(|numbers| numbers.u64()).transpose()?;
        let first: Vec<u64> = numbers
            .into_iter()
            .flat_map(|numbers| numbers.iter().flatten().take(4))
            .collect();
        Ok(Issue {
            code: breach.code,
            severity: Severity::Quarantine,
            dataset_id: dataset_id.to_owned(),
            record: record_ids.get(breach.row).map(str::to_owned),
            detail: breach.detail,
            source_text: None,
            pointer: inputs.resolve(&first).pop(),
        })
    };
    breaches.into_iter().map(issue_of).collect()
}

/// Builds the quarantine table, with the columns its contract requires, sorted by `record_id`.
///
/// # Shape
/// One row for each issue with severity `quarantine`. `record_id` is
/// `pubdata.quarantine:{dataset_id}:{partition}:{record}:{rule}`. If a record breaks the same rule
/// several times, later ids end in `#2`, `#3` and so on. An issue without a record is named by its
/// source position.
///
/// # Errors
/// `Contract` if an issue points to a file that is not one of `inputs`, which is a programming
/// error.
pub fn quarantine_table(
    contract: &Contract,
    dataset_id: &str,
    partition: &BTreeMap<String, String>,
    issues: &[Issue],
    inputs: &Inputs,
) -> Result<DataFrame> {
    let partition = partition
        .iter()
        .map(|(column, value)| format!("{column}={value}"))
        .collect::<Vec<_>>()
        .join("/");
    let mut rows: Vec<(String, &Issue)> = Vec::new();
    for issue in issues
        .iter()
        .filter(|issue| issue.severity == Severity::Quarantine)
    {
        let place = issue
            .pointer
            .as_ref()
            .map(|pointer| format!("{}@{}", pointer.source_id, pointer.offset));
        let record = issue
            .record
            .clone()
            .or(place)
            .unwrap_or_else(|| "unknown".to_owned());
        let record: String = record.chars().take(MAX_RECORD).collect();
        rows.push((
            format!(
                "{}:{dataset_id}:{partition}:{record}:{}",
                contract.dataset_id, issue.code
            ),
            issue,
        ));
    }
    rows.sort_by(|(a_id, a), (b_id, b)| {
        (a_id, &a.pointer, &a.detail, &a.source_text).cmp(&(
            b_id,
            &b.pointer,
            &b.detail,
            &b.source_text,
        ))
    });
    let mut times: HashMap<String, u64> = HashMap::new();
    let mut record_ids = Vec::with_capacity(rows.len());
    for (id, _) in &rows {
        let time = times.entry(id.clone()).or_insert(0);
        *time += 1;
        record_ids.push(if *time == 1 {
            id.clone()
        } else {
            format!("{id}#{time}")
        });
    }

    let mut pointers = ListPrimitiveChunkedBuilder::<UInt64Type>::new(
        POINTERS.into(),
        rows.len(),
        4 * rows.len(),
        DataType::UInt64,
    );
    for (_, issue) in &rows {
        let numbers = issue.pointer.as_ref().map(|pointer| {
            inputs.numbers_of(pointer).ok_or_else(|| {
                Error::contract(format!(
                    "a finding `{}` points to {}, which is not an input of this build",
                    issue.code, pointer.source_id
                ))
            })
        });
        pointers.append_slice(
            numbers
                .transpose()?
                .as_ref()
                .map(<[u64; 4]>::as_slice)
                .unwrap_or_default(),
        );
    }
    let height = rows.len();
    let column = |name: &str, texts: Vec<Option<String>>| {
        StringChunked::from_iter_options(name.into(), texts.into_iter()).into_column()
    };
    let constant =
        |name: &str, text: &str| StringChunked::full(name.into(), text, height).into_column();
    let cut = |text: &String| text.chars().take(MAX_SOURCE_TEXT).collect::<String>();
    let frame = DataFrame::new(
        height,
        vec![
            column("record_id", record_ids.into_iter().map(Some).collect()),
            constant("dataset_id", dataset_id),
            constant("partition", &partition),
            column(
                "rule",
                rows.iter()
                    .map(|(_, issue)| Some(issue.code.clone()))
                    .collect(),
            ),
            column(
                "reason",
                rows.iter()
                    .map(|(_, issue)| Some(issue.detail.clone()))
                    .collect(),
            ),
            column(
                "source_text",
                rows.iter()
                    .map(|(_, issue)| issue.source_text.as_ref().map(cut))
                    .collect(),
            ),
            constant("validation_status", "failed"),
            pointers.finish().into_column(),
        ],
    )?;
    let frame = frame.select(contract.columns.iter().map(|column| column.name.as_str()))?;
    Ok(frame.sort(["record_id"], SortMultipleOptions::default())?)
}
