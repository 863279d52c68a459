//! Reads the first complete records of a file, with every column as text, and answers questions
//! about the cells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::layout::{layout, with_normalized_names};
use pubdata_build::decode::{self, ColumnPlan};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::pipeline::Format;
use pubdata_fetch::{Fetcher, Head, Piece, Request, mirror_path};
use pubdata_store::TemporaryHome;

/// Number of bytes requested from a file.
const HEAD_BYTES: u64 = 4 << 20;

/// Maximum number of records examined.
const MAX_RECORDS: usize = 20_000;

/// The first records of a file.
pub(super) struct Sample {
    pub(super) format: Format,
    /// The complete records from the beginning of the file, as a separate file.
    pub(super) bytes: Vec<u8>,
    pub(super) records: u64,
    /// Size of the complete file, if it is known.
    pub(super) total_bytes: Option<u64>,
    pub(super) is_whole: bool,
    pub(super) columns: Vec<Column>,
    /// Names that are empty or shared by several columns. Columns with these names cannot be read.
    pub(super) unusable: Vec<String>,
    /// The columns in the file's order, including columns that cannot be read.
    pub(super) places: Vec<Option<usize>>,
}

/// A column of a file.
pub(super) struct Column {
    /// Name of the column as a declaration writes it.
    pub(super) name: String,
    /// Name of the column as the publisher writes it.
    pub(super) published: String,
    pub(super) cells: Vec<Option<String>>,
}

impl Column {
    /// Returns the cells that are not empty.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.cells
            .iter()
            .flatten()
            .map(|cell| cell.trim())
            .filter(|cell| !cell.is_empty())
    }

    pub(super) fn filled(&self) -> usize {
        self.texts().count()
    }

    /// Returns the distinct texts with their row counts, the most frequent first.
    pub(super) fn counts(&self) -> Vec<(&str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.texts()
            .for_each(|text| *counts.entry(text).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// Returns true if at least this percentage of the non-empty cells match.
    pub(super) fn is_mostly(&self, percent: usize, is_such: impl Fn(&str) -> bool) -> bool {
        let such = self.texts().filter(|text| is_such(text)).count();
        such > 0 && such * 100 >= self.filled() * percent
    }
}

/// The first bytes of a file as received.
pub(super) struct Beginning {
    bytes: Vec<u8>,
    total_bytes: Option<u64>,
    is_whole: bool,
}

/// Reads the first bytes of a local file.
///
/// # Errors
/// Returns `Config` if the file does not exist, and `Store` if it cannot be read.
pub(super) fn of_file(path: &Path) -> Result<Beginning> {
    use std::io::Read;
    if !path.is_file() {
        return Err(
            Error::config(format!("--file {}: there is no such file", path.display()))
                .hint("name a file that was downloaded from the address of --url"),
        );
    }
    let file = std::fs::File::open(path).at("open", path)?;
    let total = file.metadata().at("read", path)?.len();
    let mut bytes = Vec::new();
    file.take(HEAD_BYTES)
        .read_to_end(&mut bytes)
        .at("read", path)?;
    Ok(Beginning {
        is_whole: bytes.len() as u64 == total,
        total_bytes: Some(total),
        bytes,
    })
}

/// Fetches the first bytes of a file from a publisher or its mirror.
///
/// # Errors
/// Returns `Fetch` if the file is unavailable, and `Config` for a URL that cannot be requested.
pub(super) async fn of_publisher(fetcher: &Fetcher, request: &Request) -> Result<Beginning> {
    let url = pubdata_fetch::recorded_url(&request.url)?;
    let head = fetcher.head(request, Piece::Start(HEAD_BYTES)).await?;
    let is_whole = head.is_whole();
    let refused = |message: &str, hint: Option<String>| {
        let hint = hint.unwrap_or_else(|| {
            "open it in a browser, download the file, and give it as --file FILE".to_owned()
        });
        Err(Error::fetch(format!("{url}: {message}")).hint(hint))
    };
    match head {
        Head::Found {
            bytes, total_bytes, ..
        } => Ok(Beginning {
            bytes,
            total_bytes,
            is_whole,
        }),
        Head::Absent { .. } if fetcher.has_mirror() => refused(
            "no mirror has it",
            Some(format!(
                "put the file at DIR/{} of the mirror, or give it as --file FILE",
                mirror_path(&url)?
            )),
        ),
        Head::Absent { .. } => refused("the publisher has no such file", None),
        Head::Moved { location, .. } => refused(
            &format!("the server sends on to {location}, which is not followed"),
            Some(format!("try --url {location}")),
        ),
        Head::Refused { message, hint, .. }
        | Head::Unreachable { message, hint, .. }
        | Head::Unusable { message, hint } => refused(&message, hint),
        Head::NotConfigured { variable } => refused(
            &format!("needs {variable}"),
            Some(format!("set {variable} in the environment")),
        ),
    }
}

/// Splits the beginning of a file into complete records. The records are written to the mirror at
/// `place` and read from there.
///
/// # Errors
/// Returns `Format` if the file is not a table or has no complete record.
pub(super) fn split_into_records(
    beginning: Beginning,
    temporary: &TemporaryHome,
    place: &str,
) -> Result<Sample> {
    let Beginning {
        bytes,
        total_bytes,
        is_whole,
    } = beginning;
    let published = layout(&bytes, is_whole)?;
    let (records_only, records) = decode::excerpt(&published, &bytes, is_whole, MAX_RECORDS)
        .filter(|(_, records)| *records > 0)
        .ok_or_else(|| {
            Error::format(format!(
                "the first {} bytes hold no whole record",
                bytes.len()
            ))
            .hint("a list without rows cannot be guessed")
        })?;
    let is_whole = is_whole && records_only.len() == bytes.len();
    temporary.put(place, &records_only)?;
    let path = temporary.mirror().join(place);
    let max_bytes = records_only.len() as u64 + 1;
    let nothing = ColumnPlan::default();
    let task = |format, plan| decode::Task {
        path: &path,
        format,
        member: None,
        plan,
        input: 0,
        member_number: 0,
        max_bytes,
        only: None,
    };
    let written = decode::columns(&task(&published, &nothing))?;
    let normalized: Vec<String> = written
        .iter()
        .map(|name| pubdata_core::pipeline::normalized_name(name))
        .collect();
    // If two names become equal when normalised, the names are kept as written.
    let format = if has_repeats(&normalized) {
        published.clone()
    } else {
        with_normalized_names(&published)
    };
    let names = decode::columns(&task(&format, &nothing))?;
    let named = |number: usize| format!("column{number}");
    let is_first = |number: &usize| {
        names[..*number].iter().all(|name| *name != names[*number]) && !names[*number].is_empty()
    };
    let numbers: Vec<usize> = (0..names.len()).filter(is_first).collect();
    let want = |plan: ColumnPlan, number: &usize| {
        plan.want_optional(&named(*number), &[names[*number].as_str()])
    };
    let unusable: BTreeSet<String> = (0..names.len())
        .filter(|number| !is_first(number))
        .map(|number| names[number].clone())
        .collect();
    let numbers: Vec<usize> = numbers
        .into_iter()
        .filter(|number| !unusable.contains(&names[*number]))
        .collect();
    let plan = numbers
        .iter()
        .fold(ColumnPlan::new(unusable.iter().cloned().collect()), want);
    let frame = decode::decode(&task(&format, &plan))?.frame;
    let places = (0..names.len())
        .map(|number| numbers.iter().position(|kept| *kept == number))
        .collect();
    let mut columns = Vec::new();
    for number in numbers {
        let cells = frame
            .column(&named(number))?
            .str()?
            .iter()
            .map(|cell| cell.map(str::to_owned))
            .collect();
        columns.push(Column {
            name: names[number].clone(),
            published: written[number].clone(),
            cells,
        });
    }
    Ok(Sample {
        format,
        bytes: records_only,
        records,
        total_bytes,
        is_whole,
        columns,
        unusable: unusable.into_iter().collect(),
        places,
    })
}

fn has_repeats(names: &[String]) -> bool {
    names
        .iter()
        .enumerate()
        .any(|(number, name)| names[..number].contains(name) && !name.is_empty())
}
