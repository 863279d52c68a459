//! Prepares the input of the benches: a mirror of the publishers' sites made from real files, a
//! Census corpus of published size, and a home with the mirror's release. All but the release are
//! kept below `target/tmp` between calls.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::measure::{finish, pubdata};
use crate::{Result, Skipped};

/// Folder of the measured vintage on a mirror.
pub const VINTAGE: &str = "www2.census.gov/programs-surveys/acs/summary_file/2023/table-based-SF";

/// Number of synthetic rows added to a table. A table with one line per area then has the size of
/// the Bureau's (18 MB).
const SYNTHETIC_ROWS: u64 = 620_000;

/// B17001 is not published for block groups, so its file has fewer rows.
const SYNTHETIC_ROWS_B17001: u64 = 400_000;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench")
}

/// Returns the folder of real agency files.
pub fn shared_data() -> Result<PathBuf> {
    let data = std::env::var_os("PUBDATA_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    if !data.is_dir() || !data.join("../bin/make-mirror").is_file() {
        return Err(Skipped(format!(
            "no real files at {}; set PUBDATA_SHARED_DATA",
            data.display()
        ))
        .into());
    }
    Ok(data)
}

/// Returns the tool, next to the real files, that lays them out as the publishers' sites.
pub fn make_mirror(shared_data: &Path) -> Command {
    Command::new(shared_data.join("../bin/make-mirror"))
}

/// Returns the mirror made from the real files.
pub fn mirror() -> Result<PathBuf> {
    let mirror = folder().join("mirror");
    if mirror.join("MIRROR.md").is_file() {
        return Ok(mirror);
    }
    let data = shared_data()?;
    fs::create_dir_all(folder())?;
    finish(make_mirror(&data).arg(&data).arg(&mirror), &[0])?;
    Ok(mirror)
}

/// Returns the sample's Census files, extended to the size of the published ones. The sample lacks
/// most block groups, which are most of the bytes. The added rows have the layout of block groups,
/// in a state that does not exist (99), with random counts.
pub fn published_size_mirror() -> Result<PathBuf> {
    let (sample, large) = (mirror()?, folder().join("published-size"));
    if large.join(".pubdata-mirror").is_file() {
        return Ok(large);
    }
    for part in ["data/5YRData", "documentation"] {
        let (from, to) = (
            sample.join(VINTAGE).join(part),
            large.join(VINTAGE).join(part),
        );
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            fs::copy(entry.path(), &target)?;
            if part == "data/5YRData" {
                append_block_groups(&target)?;
            }
        }
    }
    // Written last: it marks the corpus as complete, and exempts it from row floors.
    fs::copy(
        sample.join(".pubdata-mirror"),
        large.join(".pubdata-mirror"),
    )?;
    Ok(large)
}

fn append_block_groups(table: &Path) -> Result<()> {
    let content = fs::read_to_string(table)?;
    let cells = content
        .lines()
        .next()
        .unwrap_or_default()
        .matches('|')
        .count();
    let rows = if table.ends_with("acsdt5y2023-b17001.dat") {
        SYNTHETIC_ROWS_B17001
    } else {
        SYNTHETIC_ROWS
    };
    let mut file = BufWriter::with_capacity(1 << 20, File::options().append(true).open(table)?);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for row in 0..rows {
        write!(file, "1500000US99{row:010}")?;
        for _ in 0..cells {
            // xorshift64, for the same bytes on every machine.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let count = (state >> 32) % [10, 100, 1_000, 10_000][(state & 3) as usize];
            write!(file, "|{count}")?;
        }
        file.write_all(b"\n")?;
    }
    Ok(file.into_inner()?.sync_all()?)
}

/// Returns a home with the release of the whole mirror, built once per call of the benches.
pub fn home() -> Result<PathBuf> {
    static HOME: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let mirror = mirror()?;
    let made = HOME.get_or_init(|| make_home(&mirror).map_err(|error| error.to_string()));
    Ok(made.clone()?)
}

fn make_home(mirror: &Path) -> Result<PathBuf> {
    let home = folder().join("home");
    remove(&home)?;
    // 10: some records are in quarantine; 30: the mirror lacks files of some publishers.
    finish(
        pubdata(&["run"])
            .arg("--mirror")
            .arg(mirror)
            .arg("--home")
            .arg(&home),
        &[0, 10, 30],
    )?;
    Ok(home)
}

/// Removes a folder if it exists.
pub fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns the ZCTAs of the vintage, from its population table.
pub fn zctas(mirror: &Path) -> Result<Vec<String>> {
    let table = fs::read_to_string(
        mirror
            .join(VINTAGE)
            .join("data/5YRData/acsdt5y2023-b01003.dat"),
    )?;
    Ok(table
        .lines()
        .filter_map(|line| {
            Some(
                line.strip_prefix("860Z200US")?
                    .split('|')
                    .next()?
                    .to_owned(),
            )
        })
        .collect())
}
