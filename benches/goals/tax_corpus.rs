//! Makes a boundary file of any size in the layout of the Streamlined Sales Tax Agreement, with its
//! rate file. SYNTHETIC: Georgia, which publishes the largest file, with ZIP codes that do not
//! exist (`00001` to `00500`) and with made-up streets, ranges and districts. The same number of
//! records makes the same bytes.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::corpus::{folder, remove, shared_data};

/// Returns the number of records in the boundary file. The default is that of the largest published
/// one; `PUBDATA_BENCH_BOUNDARIES` sets another number.
pub fn records() -> Result<u64> {
    Ok(std::env::var("PUBDATA_BENCH_BOUNDARIES")
        .map_or(Ok(2_080_000), |records| records.parse())?)
}

const HOST: &str = "www.streamlinedsalestax.org/ratesandboundry";
const BOUNDARIES: &str = "GAB2026Q4AUG20.csv";
const RATES: &str = "GAR2026Q4AUG20.csv";
const MARKER: &str = ".pubdata-mirror";
const CELLS: usize = 89;

/// Number of ZIP codes, all without deliveries: the first one in use is 00501.
pub const ZIPS: u64 = 500;
const COUNTIES: u64 = 159;
const PLACES: u64 = 700;
const DISTRICTS: u64 = 12;
const STREETS: u64 = 97;

/// Returns the boundary file's path on a mirror.
pub fn boundaries(mirror: &Path) -> PathBuf {
    mirror.join(HOST).join("Boundary").join(BOUNDARIES)
}

/// Returns a mirror with a boundary file of this many records.
pub fn mirror(records: u64) -> Result<PathBuf> {
    let mirror = folder().join(format!("tax-{records}"));
    if mirror.join(MARKER).is_file() {
        return Ok(mirror);
    }
    println!("  making a boundary file of {records} synthetic records");
    remove(&mirror)?;
    for (kind, name) in [("Boundary", BOUNDARIES), ("Rates", RATES)] {
        let folder = mirror.join(HOST).join(kind);
        fs::create_dir_all(&folder)?;
        fs::write(
            folder.join("index.html"),
            format!(
                "<html><body><A HREF=\"/ratesandboundry/{kind}/{name}\">{name}</A><br></body></html>"
            ),
        )?;
    }
    let mut file = BufWriter::with_capacity(1 << 20, File::create(boundaries(&mirror))?);
    let mut line = String::new();
    for number in 0..records {
        push_record(number, &mut line);
        file.write_all(line.as_bytes())?;
    }
    file.flush()?;
    fs::write(mirror.join(HOST).join("Rates").join(RATES), rates())?;
    let codes = shared_data()?.join("general/tax");
    let to = mirror.join("www2.census.gov/geo/docs/reference/codes");
    fs::create_dir_all(to.join("files"))?;
    fs::copy(
        codes.join("national.txt"),
        to.join("files/national_county.txt"),
    )?;
    fs::copy(codes.join("PLACElist.txt"), to.join("PLACElist.txt"))?;
    fs::write(
        mirror.join("SYNTHETIC.md"),
        "The files of Georgia on this mirror are synthetic: see benches/goals/tax_corpus.rs.\n",
    )?;
    fs::write(mirror.join(MARKER), "# Synthetic records.\nsample = true\n")?;
    Ok(mirror)
}

/// Returns an address in a ZIP code that one record covers, and a ZIP+4 code that another one
/// covers.
pub fn query_address(zip: u64, step: u64) -> (String, String) {
    let (street, low) = address(step);
    (
        format!("{}%20Synthetic{street}%20St", low + 2),
        format!("{zip:05}-{:04}", step * 4 + 1),
    )
}

/// Writes a record. Every other record is a range of addresses, the others are ranges of ZIP+4
/// codes. Some of them are in a city, some in a district.
fn push_record(number: u64, line: &mut String) {
    line.clear();
    let (zip, step) = (1 + number % ZIPS, number / ZIPS / 2);
    let mut cells: Vec<String> = vec![String::new(); CELLS];
    let mut set = |place: usize, cell: String| cells[place - 1] = cell;
    set(2, "20240101".to_owned());
    set(3, "99991231".to_owned());
    if (number / ZIPS).is_multiple_of(2) {
        let (street, low) = address(step);
        set(1, "A".to_owned());
        set(4, low.to_string());
        set(5, (low + 98).to_string());
        set(6, "E".to_owned());
        set(8, format!("SYNTHETIC{street}"));
        set(9, "ST".to_owned());
        set(15, "NOWHERE".to_owned());
        set(16, format!("{zip:05}"));
        set(17, format!("{:04}", step % 10_000));
    } else {
        set(1, "4".to_owned());
        set(18, format!("{zip:05}"));
        set(19, format!("{:04}", step * 4 % 10_000));
        set(20, format!("{zip:05}"));
        set(21, format!("{:04}", (step * 4 + 3) % 10_000));
    }
    set(23, "13".to_owned());
    set(24, "13".to_owned());
    set(25, format!("{:03}", 1 + zip % COUNTIES * 2));
    if !step.is_multiple_of(3) {
        set(26, format!("{:05}", 1_000 + (zip + step / 1_000) % PLACES));
    }
    if !step.is_multiple_of(5) {
        set(30, "ST".to_owned());
        set(31, format!("{}", 80_000 + zip % DISTRICTS));
        set(32, "63".to_owned());
    }
    *line = cells.join(",");
    line.push('\n');
}

/// Returns the number of a street, and the first house number of a range on it.
fn address(step: u64) -> (u64, u64) {
    (step % STREETS, 100 + step / STREETS * 100)
}

fn rates() -> String {
    let mut lines = String::new();
    let mut push = |kind: &str, code: String, rate: &str, food: &str| {
        lines.push_str(&format!(
            "13,{kind},{code},{rate},{rate},{food},{food},20240101,99991231\n"
        ));
    };
    push("45", "13".to_owned(), "0.04", "0");
    (0..COUNTIES).for_each(|county| push("00", format!("{:03}", 1 + county * 2), "0.03", "0.03"));
    (0..PLACES).for_each(|place| push("01", format!("{:05}", 1_000 + place), "0.005", "0.005"));
    (0..DISTRICTS)
        .for_each(|district| push("63", format!("{}", 80_000 + district), "0.01", "0.01"));
    lines
}
