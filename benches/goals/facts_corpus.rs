//! Makes companyfacts archives of any size from real members and clones of them. The tool next to
//! the real files makes the clones, with fictional CIKs (above 2000000000), perturbed values and
//! fictional accession numbers. Members captured with white space are written without it, as the
//! SEC writes them. The clones' CIKs fill buckets as in a published archive: about 19 registrants
//! in each.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::corpus::{folder, make_mirror, shared_data};
use crate::measure::finish;
use crate::{Result, Skipped};

/// Returns the number of members in the archive. With the default it has as many facts (11 M) as
/// when the goals were set, and stated figures refer to it; `PUBDATA_BENCH_MEMBERS` sets another
/// number.
pub fn members() -> Result<usize> {
    Ok(std::env::var("PUBDATA_BENCH_MEMBERS").map_or(Ok(600), |members| members.parse())?)
}

const HOST: &str = "www.sec.gov";
const DAILY: &str = "www.sec.gov/Archives/edgar/daily-index";
const MARKER: &str = ".pubdata-mirror";

/// Returns the companyfacts archive's path on a mirror.
pub fn archive(mirror: &Path) -> PathBuf {
    mirror.join(DAILY).join("xbrl/companyfacts.zip")
}

fn submissions(mirror: &Path) -> PathBuf {
    mirror.join(DAILY).join("bulkdata/submissions.zip")
}

/// Returns a mirror of the SEC's site with this many members in the archive of facts.
pub fn mirror(members: usize) -> Result<PathBuf> {
    let mirror = folder().join(format!("facts-{members}-filled"));
    if mirror.join(MARKER).is_file() {
        return Ok(mirror);
    }
    let (data, whole) = (compact_data()?, folder().join("facts-whole"));
    println!("  making an archive of {members} members");
    crate::corpus::remove(&whole)?;
    finish(
        make_mirror(&shared_data()?)
            .arg(data)
            .arg(&whole)
            .args(["--scale", &members.to_string()]),
        &[0],
    )?;
    crate::corpus::remove(&mirror)?;
    fs::create_dir_all(&mirror)?;
    fs::rename(whole.join(HOST), mirror.join(HOST))?;
    fill_buckets(&archive(&mirror))?;
    fill_buckets(&submissions(&mirror))?;
    mark(&mirror)?;
    crate::corpus::remove(&whole)?;
    Ok(mirror)
}

/// Number of registrants of a published archive in one bucket: the last three digits of the CIK.
const BUCKET_REGISTRANTS: u64 = 19;

/// Renumbers the clones of an archive: 2000000000, 2000001000 and so on share one bucket;
/// 2000000001 begins the next.
fn fill_buckets(path: &Path) -> Result<()> {
    let anew = path.with_extension("anew");
    let (mut from, mut to) = (
        ZipArchive::new(File::open(path)?)?,
        ZipWriter::new(File::create(&anew)?),
    );
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    let mut content = String::new();
    for index in 0..from.len() {
        let mut member = from.by_index(index)?;
        let name = member.name()?.into_owned();
        let clone = name
            .strip_prefix("CIK")
            .and_then(|name| name.get(..10))
            .filter(|cik| cik.starts_with('2'));
        let Some(cik) = clone else {
            drop(member);
            to.raw_copy_file(from.by_index_raw(index)?)?;
            continue;
        };
        let number = cik.parse::<u64>()? - 2_000_000_001;
        let anew =
            (2_000_000_000 + number % BUCKET_REGISTRANTS * 1000 + number / BUCKET_REGISTRANTS)
                .to_string();
        content.clear();
        member.read_to_string(&mut content)?;
        to.start_file(name.replace(cik, &anew), options)?;
        to.write_all(content.replace(cik, &anew).as_bytes())?;
    }
    to.finish()?.sync_all()?;
    Ok(fs::rename(anew, path)?)
}

/// Marks a complete mirror as one of samples, which exempts it from floors for whole files.
fn mark(mirror: &Path) -> Result<()> {
    Ok(fs::write(mirror.join(MARKER), "sample = true\n")?)
}

/// Links the real files, with complete members only, and writes those without white space.
fn compact_data() -> Result<PathBuf> {
    let (shared, data) = (shared_data()?.canonicalize()?, folder().join("facts-data"));
    crate::corpus::remove(&data)?;
    let link = |name: &str| -> Result<()> { Ok(symlink(shared.join(name), data.join(name))?) };
    fs::create_dir_all(data.join("sec/companyfacts"))?;
    for name in [
        "census",
        "general",
        "nces",
        "sec/submissions",
        "sec/tickers",
        "sec/feeds",
    ] {
        link(name)?;
    }
    for entry in fs::read_dir(shared.join("sec/companyfacts"))? {
        let entry = entry?;
        fs::write(
            data.join("sec/companyfacts").join(entry.file_name()),
            without_white_space(&fs::read(entry.path())?),
        )?;
    }
    Ok(data)
}

/// Returns JSON without white space outside strings.
fn without_white_space(json: &[u8]) -> Vec<u8> {
    let (mut is_string, mut is_escaped) = (false, false);
    let is_kept = |byte: &u8| {
        let is_kept = is_string || !byte.is_ascii_whitespace();
        is_string ^= *byte == b'"' && !is_escaped;
        is_escaped = is_string && *byte == b'\\' && !is_escaped;
        is_kept
    };
    json.iter().copied().filter(is_kept).collect()
}

/// Makes the mirror of the next run: the archive is compiled again, with one changed figure in some
/// members, spread over all of them.
pub fn next_run_mirror(mirror: &Path, name: &str, changed_percent: usize) -> Result<PathBuf> {
    let night = folder().join(name);
    crate::corpus::remove(&night)?;
    for archive in [archive, submissions] {
        let to = archive(&night);
        fs::create_dir_all(to.parent().unwrap_or(&night))?;
        fs::copy(archive(mirror), to)?;
    }
    mark(&night)?;
    let mut from = ZipArchive::new(File::open(archive(mirror))?)?;
    let mut to = ZipWriter::new(File::create(archive(&night))?);
    let mut content = Vec::new();
    // Backwards, so that the archive differs even if no member does.
    for index in (0..from.len()).rev() {
        let mut member = from.by_index(index)?;
        if index * changed_percent % 100 >= changed_percent {
            drop(member);
            to.raw_copy_file(from.by_index_raw(index)?)?;
            continue;
        }
        content.clear();
        member.read_to_end(&mut content)?;
        let figure =
            memchr::memmem::rfind(&content, b"\"val\":").ok_or("a member without figures")? + 6;
        let digit = content[figure..]
            .iter()
            .position(u8::is_ascii_digit)
            .ok_or("a figure without digits")?;
        content.insert(figure + digit, b'1');
        to.start_file(
            member.name()?,
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated),
        )?;
        to.write_all(&content)?;
    }
    to.finish()?.sync_all()?;
    Ok(night)
}

/// Extracts the members of the archive as files.
pub fn extracted(mirror: &Path) -> Result<PathBuf> {
    let extracted = mirror.join("extracted");
    if !extracted.join("done").is_file() {
        fs::create_dir_all(&extracted)?;
        ZipArchive::new(File::open(archive(mirror))?)?.extract(&extracted)?;
        fs::write(extracted.join("done"), "")?;
    }
    Ok(extracted)
}

/// Writes the concepts that the pipeline reads, one per line.
pub fn concepts() -> Result<PathBuf> {
    let declaration: toml::Value = toml::from_str(&fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/sec/financials.toml"),
    )?)?;
    let mut concepts = Vec::new();
    collect_concepts(
        declaration.get("settings").ok_or("no settings")?,
        &mut concepts,
    );
    let path = folder().join("concepts.txt");
    fs::create_dir_all(folder())?;
    fs::write(&path, concepts.join("\n"))?;
    Ok(path)
}

fn collect_concepts<'v>(value: &'v toml::Value, concepts: &mut Vec<&'v str>) {
    match value {
        toml::Value::String(text)
            if text.contains(':') && !text.contains(' ') && !concepts.contains(&text.as_str()) =>
        {
            concepts.push(text);
        }
        toml::Value::Array(values) => values
            .iter()
            .for_each(|value| collect_concepts(value, concepts)),
        toml::Value::Table(values) => values
            .values()
            .for_each(|value| collect_concepts(value, concepts)),
        _ => {}
    }
}

/// Returns a command for a script of `peers/`, with the interpreter that has its packages.
pub fn python(script: &str, packages: &str) -> Result<Command> {
    let requirements = "benches/goals/peers/requirements.txt";
    let interpreter = ["PUBDATA_BENCH_PYTHON", "PUBDATA_TEST_PYTHON"]
        .iter()
        .find_map(std::env::var_os);
    let interpreter = interpreter.ok_or_else(|| {
        Skipped(format!(
            "PUBDATA_BENCH_PYTHON names no Python with {requirements}"
        ))
    })?;
    let is_complete = Command::new(&interpreter)
        .args(["-c", &format!("import {packages}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if !is_complete {
        return Err(Skipped(format!(
            "{} lacks {packages} of {requirements}",
            Path::new(&interpreter).display()
        ))
        .into());
    }
    let mut command = Command::new(interpreter);
    command.arg(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("benches/goals/peers")
            .join(script),
    );
    Ok(command)
}
