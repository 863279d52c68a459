//! Runs decoders on hostile and on real files: no panic, bounded work, and every pointer leads back
//! to exactly its record.

mod data_census_gov;
mod encodings;
mod fewest_cells;
mod fixed_width;
mod hash_partitioner;
mod hostile;
mod json_records;
mod members;
mod normalized_header;
mod preamble;
mod quotes;
mod xlsx;
mod xml;

use std::path::{Path, PathBuf};

use polars::prelude::DataFrame;
use pubdata_build::decode::{ColumnPlan, Decoded, Task, decode, read_range};
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Encoding, Format};
use pubdata_core::provenance::POINTERS;
use tempfile::TempDir;

const MAX_BYTES: u64 = 64 << 20;

/// A file of some bytes, with its declaration.
struct Source {
    _folder: TempDir,
    path: PathBuf,
    member: Option<String>,
    format: Format,
    plan: ColumnPlan,
}

impl Source {
    fn new(bytes: &[u8], member: Option<&str>, format: Format, plan: ColumnPlan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("source");
        std::fs::write(&path, bytes).unwrap();
        Self {
            _folder: folder,
            path,
            member: member.map(str::to_owned),
            format,
            plan,
        }
    }

    fn decode(&self, only: Option<&[(u64, u64)]>) -> Result<Decoded> {
        decode_file(
            &self.path,
            self.member.as_deref(),
            &self.format,
            &self.plan,
            only,
        )
    }

    /// Asserts for every record that its bytes can be read again and that they alone make the same
    /// record. All of them together must make the same frame.
    fn assert_round_trip(&self, decoded: &Decoded) {
        let places = places(&decoded.frame);
        let replayed = self.decode(Some(&places)).unwrap();
        assert!(
            replayed.frame.equals_missing(&decoded.frame),
            "{:?} is not {:?}",
            replayed.frame,
            decoded.frame
        );
        for (row, (offset, length)) in places.iter().enumerate().take(40) {
            let bytes = read_range(
                &self.path,
                self.member.as_deref(),
                *offset,
                *length,
                MAX_BYTES,
            )
            .unwrap();
            assert_eq!(bytes.len() as u64, *length);
            let alone = self.decode(Some(&[(*offset, *length)])).unwrap();
            assert!(
                alone
                    .frame
                    .equals_missing(&decoded.frame.slice(i64::try_from(row).unwrap(), 1)),
                "row {row} of {:?}",
                decoded.frame
            );
        }
        for malformed in decoded.malformed.iter().take(40) {
            let bytes = read_range(
                &self.path,
                self.member.as_deref(),
                malformed.offset,
                malformed.length,
                MAX_BYTES,
            )
            .unwrap();
            let text: String = String::from_utf8_lossy(&bytes)
                .chars()
                .take(2_000)
                .collect();
            assert_eq!(text, malformed.source_text);
        }
    }
}

fn decode_file(
    path: &Path,
    member: Option<&str>,
    format: &Format,
    plan: &ColumnPlan,
    only: Option<&[(u64, u64)]>,
) -> Result<Decoded> {
    decode(&Task {
        path,
        format,
        member,
        plan,
        input: 0,
        member_number: 0,
        max_bytes: MAX_BYTES,
        only,
    })
}

/// Returns offset and length of each record.
fn places(frame: &DataFrame) -> Vec<(u64, u64)> {
    let lists = frame.column(POINTERS).unwrap().list().unwrap();
    let numbers = |row: usize| -> Vec<u64> {
        lists
            .get_as_series(row)
            .unwrap()
            .u64()
            .unwrap()
            .into_no_null_iter()
            .collect()
    };
    (0..frame.height())
        .map(numbers)
        .map(|numbers| (numbers[2], numbers[3]))
        .collect()
}

fn delimited(delimiter: char, quoting: bool, header: &[&str]) -> Format {
    Format::Delimited {
        delimiters: vec![delimiter],
        quoting,
        escape: None,
        header: header.iter().map(|name| (*name).to_owned()).collect(),
        fewest_cells: None,
        label_lines: 0,
        header_start: None,
        ruler: None,
        normalized_header: false,
        encoding: Encoding::Utf8,
    }
}

/// Builds a plan that reads columns under their own names and knows no others.
fn plan_of(columns: &[&str]) -> ColumnPlan {
    columns
        .iter()
        .fold(ColumnPlan::new(Vec::new()), |plan, column| {
            plan.want(column, &[column])
        })
}
