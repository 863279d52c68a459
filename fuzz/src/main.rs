//! Runs one of the fuzz targets, which the variable `PUBDATA_FUZZ` names. `docs/FUZZING.md`
//! describes what each of them checks.

#![no_main]

mod archives;
mod claims;
mod declarations;
mod documents;
mod home;
mod memory;
mod place;
mod processor_time;
mod publishers;
mod requests;
mod tables;
mod texts;
mod visits;

use std::sync::OnceLock;

/// A check of one input; a violation panics.
type Check = fn(&[u8]);

/// Targets with their checks and memory limits. The limit of an input is this number of megabytes
/// plus fifty times its size.
const TARGETS: &[(&str, Check, usize)] = &[
    ("delimited", tables::delimited, 48),
    ("fixed_width", tables::fixed_width, 48),
    ("json_rows", tables::json_rows, 48),
    ("json_records", tables::json_records, 48),
    ("xlsx", tables::xlsx, 48),
    ("xml", documents::xml, 16),
    ("feed", documents::feed, 16),
    ("filings_feed", documents::filings_feed, 16),
    ("company_facts", documents::company_facts, 16),
    ("submissions", documents::submissions, 16),
    ("zip", archives::zip, 48),
    ("zip_parts", archives::parts, 16),
    ("packed", publishers::packed, 32),
    ("publisher", publishers::answers, 16),
    ("event_log", home::event_log, 32),
    ("manifest", home::manifest, 32),
    ("channel", home::channel, 32),
    ("home_files", home::files, 32),
    ("declarations", declarations::declarations, 64),
    ("stream", requests::stream, 16),
    ("cursor", requests::cursor, 16),
    ("http", requests::http, 512),
    ("visits", visits::visits, 512),
    ("claims", claims::claims, 64),
    ("names", texts::names, 16),
];

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Returns the target of this process.
fn target() -> &'static (&'static str, Check, usize) {
    static TARGET: OnceLock<&'static (&'static str, Check, usize)> = OnceLock::new();
    TARGET.get_or_init(|| {
        let wanted = std::env::var("PUBDATA_FUZZ").unwrap_or_default();
        TARGETS.iter().find(|(name, ..)| *name == wanted).unwrap_or_else(|| {
            let names: Vec<&str> = TARGETS.iter().map(|(name, ..)| *name).collect();
            eprintln!("PUBDATA_FUZZ does not name a target; the targets are: {}", names.join(" "));
            std::process::exit(2)
        })
    })
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (_, check, megabytes) = target();
    let before = memory::begin();
    check(data);
    memory::end(before, (megabytes << 20) + 50 * data.len());
    processor_time::look();
});
