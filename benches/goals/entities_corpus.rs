//! Makes a quarterly Sunbiz archive of any size. SYNTHETIC: each record is a real one of a daily
//! file under a fictional number (`99` after the letter). Names, people and house numbers are
//! combined from several real records. The same number of records makes the same bytes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipArchive, ZipWriter};

use crate::Result;
use crate::corpus::{folder, remove, shared_data};

/// Returns the number of records in the archive. The default is about that of the published one;
/// `PUBDATA_BENCH_ENTITIES` sets another number.
pub fn entities() -> Result<u64> {
    Ok(std::env::var("PUBDATA_BENCH_ENTITIES")
        .map_or(Ok(10_000_000), |entities| entities.parse())?)
}

const HOST: &str = "sftp.floridados.gov/doc/quarterly/cor";
const MARKER: &str = ".pubdata-mirror";
const DAILY: &str = "general/business/20230929c.txt";
const RECORD_BYTES: usize = 1_440;
const MEMBERS: u64 = 10;

/// Offsets in a record, counted from 0, in the layout that `pipelines/business/fl_sunbiz.toml`
/// declares.
const NAME: std::ops::Range<usize> = 12..204;
const STATUS: usize = 204;
const FEI: std::ops::Range<usize> = 480..494;
const REPORTS: [usize; 3] = [505, 518, 531];
const AGENT: usize = 544;
const AGENT_TYPE: usize = 586;
/// Offsets of street lines that begin with a house number.
const STREETS: [usize; 3] = [220, 346, 587];
const OFFICERS: [usize; 6] = [668, 796, 924, 1_052, 1_180, 1_308];

/// Returns the archive's path on a mirror.
pub fn archive(mirror: &Path) -> PathBuf {
    mirror.join(HOST).join("cordata.zip")
}

/// Returns a mirror with an archive of this many records.
pub fn mirror(entities: u64) -> Result<PathBuf> {
    let mirror = folder().join(format!("entities-{entities}"));
    if mirror.join(MARKER).is_file() {
        return Ok(mirror);
    }
    println!("  making an archive of {entities} synthetic records");
    remove(&mirror)?;
    fs::create_dir_all(mirror.join(HOST))?;
    let daily = fs::read(shared_data()?.join(DAILY))?;
    let real = Real::new(&daily);
    let part = |digit: u64| mirror.join(HOST).join(format!("cordata{digit}.part"));
    // A separate thread compresses each member; the compressed bytes are then copied unchanged.
    (0..MEMBERS).into_par_iter().try_for_each(|digit| {
        write_member(&part(digit), digit, entities, &real).map_err(|error| error.to_string())
    })?;
    let mut whole = ZipWriter::new(BufWriter::new(File::create(archive(&mirror))?));
    for digit in 0..MEMBERS {
        let mut one = ZipArchive::new(File::open(part(digit))?)?;
        whole.raw_copy_file(one.by_index_raw(0)?)?;
        fs::remove_file(part(digit))?;
    }
    whole.finish()?.flush()?;
    fs::write(
        mirror.join("SYNTHETIC.md"),
        "Every record of this mirror is synthetic: see benches/goals/entities_corpus.rs.\n",
    )?;
    fs::write(mirror.join(MARKER), "# Synthetic records.\nsample = true\n")?;
    Ok(mirror)
}

/// Writes the records whose numbers end in a digit.
fn write_member(path: &Path, digit: u64, entities: u64, real: &Real<'_>) -> Result<()> {
    let mut member = ZipWriter::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
    let day = DateTime::from_date_and_time(2026, 10, 1, 6, 0, 0)?;
    let options = SimpleFileOptions::default()
        .compression_level(Some(1))
        .large_file(true)
        .last_modified_time(day);
    member.start_file(format!("cordata{digit}.txt"), options)?;
    let mut lines = Vec::with_capacity(1 << 20);
    let mut number = digit;
    while number < entities {
        real.push_record(number, &mut lines);
        if lines.len() > (1 << 20) - 2 * RECORD_BYTES {
            member.write_all(&lines)?;
            lines.clear();
        }
        number += MEMBERS;
    }
    member.write_all(&lines)?;
    member.finish()?.flush()?;
    Ok(())
}

/// Returns the names of records, by number.
pub fn names(numbers: impl Iterator<Item = u64>) -> Result<Vec<String>> {
    let daily = fs::read(shared_data()?.join(DAILY))?;
    let real = Real::new(&daily);
    Ok(numbers
        .map(|number| String::from_utf8_lossy(&real.name(number)).into_owned())
        .collect())
}

/// Parts of the real records.
struct Real<'r> {
    records: Vec<&'r [u8]>,
    first_words: Vec<&'r [u8]>,
    last_words: Vec<&'r [u8]>,
    /// Columns of 20 and of 14 characters, padded with blanks.
    last_names: Vec<&'r [u8]>,
    first_names: Vec<&'r [u8]>,
}

impl<'r> Real<'r> {
    fn new(daily: &'r [u8]) -> Self {
        let records: Vec<&[u8]> = daily
            .split(|byte| *byte == b'\n')
            .filter(|record| record.len() == RECORD_BYTES)
            .collect();
        let words = |record: &&'r [u8]| -> Vec<&'r [u8]> {
            record[NAME]
                .split(|byte| *byte == b' ')
                .filter(|word| !word.is_empty())
                .collect()
        };
        let unique = |texts: BTreeSet<&'r [u8]>| texts.into_iter().collect();
        let persons = || records.iter().filter(|record| record[AGENT_TYPE] == b'P');
        Self {
            first_words: unique(
                records
                    .iter()
                    .filter_map(|record| words(record).first().copied())
                    .collect(),
            ),
            last_words: unique(
                records
                    .iter()
                    .map(words)
                    .filter(|words| words.len() > 2)
                    .map(|words| words[words.len() - 2])
                    .collect(),
            ),
            last_names: unique(persons().map(|record| &record[AGENT..AGENT + 20]).collect()),
            first_names: unique(
                persons()
                    .map(|record| &record[AGENT + 20..AGENT + 34])
                    .collect(),
            ),
            records,
        }
    }

    /// Returns the name of a numbered record: words of other names, and the legal form at the end
    /// of the record's real name.
    fn name(&self, number: u64) -> Vec<u8> {
        let own = pick(&self.records, number, RECORDS, 0)[NAME].trim_ascii_end();
        let designator = own.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        let word = |list: &[&'r [u8]], stride: u64, more: u64| pick(list, number, stride, more);
        [
            word(&self.first_words, 0x85EB_CA6B, 1),
            word(&self.last_words, 0xC2B2_AE35, 2),
            word(&self.first_words, 0x27D4_EB2F, 3),
            designator,
        ]
        .join(&b' ')
    }

    /// Appends a record and the line's end.
    fn push_record(&self, number: u64, lines: &mut Vec<u8>) {
        let begin = lines.len();
        let pick = |list: &[&'r [u8]], stride: u64, more: u64| pick(list, number, stride, more);
        lines.extend_from_slice(pick(&self.records, RECORDS, 0));
        lines.push(b'\n');
        let record = &mut lines[begin..begin + RECORD_BYTES];
        record[1..12].copy_from_slice(format!("99{number:09}").as_bytes());
        put(&mut record[NAME], &self.name(number));
        // In the published archive, too, most entities are no longer active.
        record[STATUS] = if number % 5 < 2 { b'A' } else { b'I' };
        put(
            &mut record[FEI],
            format!("00-{:07}", number % 10_000_000).as_bytes(),
        );
        for (place, year) in REPORTS.into_iter().zip(2021..) {
            put(&mut record[place..place + 4], format!("{year}").as_bytes());
            put(
                &mut record[place + 5..place + 13],
                format!("{:02}{:02}{year}", 1 + number % 4, 1 + number % 28).as_bytes(),
            );
        }
        for place in STREETS {
            let digits = record[place..place + 42]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            for (offset, digit) in record[place..place + digits].iter_mut().enumerate() {
                *digit = b'1' + ((number >> (3 * offset)) % 9) as u8;
            }
        }
        let people = OFFICERS
            .iter()
            .map(|block| (block + 4, block + 5))
            .chain([(AGENT_TYPE, AGENT)]);
        for ((kind, place), more) in people.zip(4..) {
            if record[kind] == b'P' {
                record[place..place + 20].copy_from_slice(pick(
                    &self.last_names,
                    0x1656_67B1,
                    more,
                ));
                record[place + 20..place + 34].copy_from_slice(pick(
                    &self.first_names,
                    0xD3A2_646D,
                    more,
                ));
            }
        }
    }
}

/// Factor that spreads the records.
const RECORDS: u64 = 0x9E37_79B9;

/// Picks an item of a list. Multiplication by odd constants spreads adjacent numbers over the list.
fn pick<'r>(list: &[&'r [u8]], number: u64, stride: u64, more: u64) -> &'r [u8] {
    list[((number + more).wrapping_mul(stride) >> 7) as usize % list.len()]
}

/// Writes a text into a field, padded with blanks; cuts a text that is too long.
fn put(field: &mut [u8], text: &[u8]) {
    field.fill(b' ');
    let length = text.len().min(field.len());
    field[..length].copy_from_slice(&text[..length]);
}
