//! Reads the issues that caused records to be quarantined in the last release, for subjects whose
//! records are reused.

use arrow::array::{Array, AsArray, StringArray};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pubdata_store::parquet_error;

use super::columns::{column_of, subject_of};
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::POINTERS;
use pubdata_store::pointers_at;

/// Returns the issues in a quarantine part for the selected subjects. Record ids have the form
/// `pubdata.quarantine:{dataset_id}:{partition}:{record}:{rule}`, possibly followed by `#2` and so
/// on.
///
/// # Errors
/// `Store` if the bytes are not a quarantine part.
pub fn quarantined_issues(part: Bytes, is_selected: impl Fn(&str) -> bool) -> Result<Vec<Issue>> {
    let mut findings = Vec::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(part)
        .map_err(parquet_error)?
        .build()
        .map_err(parquet_error)?
    {
        let batch = batch?;
        let texts = |name: &str| -> Result<&StringArray> {
            column_of(&batch, name)?
                .as_string_opt::<i32>()
                .ok_or_else(|| Error::store(format!("column `{name}` is not text")))
        };
        let (ids, datasets, partitions) = (
            texts("record_id")?,
            texts("dataset_id")?,
            texts("partition")?,
        );
        let (rules, reasons, source_texts) =
            (texts("rule")?, texts("reason")?, texts("source_text")?);
        let pointers = column_of(&batch, POINTERS)?;
        for row in 0..batch.num_rows() {
            let (id, dataset_id, rule) = (ids.value(row), datasets.value(row), rules.value(row));
            let beginning = format!(":{dataset_id}:{}:", partitions.value(row));
            let record = id
                .find(&beginning)
                .map(|place| &id[place + beginning.len()..])
                .and_then(|rest| Some(rest.rsplit_once(&format!(":{rule}"))?.0));
            let record = record.ok_or_else(|| {
                Error::store(format!(
                    "record {id} does not have the id of a quarantined record"
                ))
            })?;
            if !is_selected(subject_of(record)) {
                continue;
            }
            findings.push(Issue {
                code: rule.to_owned(),
                severity: Severity::Quarantine,
                dataset_id: dataset_id.to_owned(),
                record: Some(record.to_owned()),
                detail: reasons.value(row).to_owned(),
                source_text: source_texts
                    .is_valid(row)
                    .then(|| source_texts.value(row).to_owned()),
                pointer: pointers_at(pointers, row)?.into_iter().next(),
            });
        }
    }
    Ok(findings)
}
