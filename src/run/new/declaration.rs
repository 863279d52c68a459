//! Writes a declaration from guesses. A comment after each guess gives the reason, and a comment
//! marks each place where the operator must decide.

use super::draft::{Decision, Draft, Writer, one_line, rounded_down, rounded_up, rows};
use super::fit::counted;
use super::guess::Guesses;
use super::known::PIECES;
use super::layout::as_toml;
use super::names;
use super::sample::Sample;
use super::vocabulary::GuessedWord;
use crate::toml_text::quoted;
use pubdata_core::pipeline::{EvidenceKind, Format};

/// Maximum number of rows in a bucket that fit into memory. Builds with more rows are split into
/// buckets.
const ROWS_OF_A_BUCKET: u64 = 200_000;

/// Maximum number of terms per table that get a comment. The probe lists the other terms.
const MAX_WORDS: usize = 80;

/// Writes the declaration and lists its open decisions.
pub(super) fn write(draft: &Draft<'_>) -> (String, Vec<Decision>) {
    let mut writer = Writer::default();
    head(&mut writer, draft);
    source(&mut writer, draft);
    columns(&mut writer, draft);
    expectations(&mut writer, draft);
    settings(&mut writer, draft);
    tables(&mut writer, draft);
    (writer.text, writer.decisions)
}

fn head(writer: &mut Writer, draft: &Draft<'_>) {
    let Draft { place, sample, .. } = draft;
    let seen = if sample.is_whole {
        format!("all {} records", sample.records)
    } else {
        format!("the first {} records", sample.records)
    };
    writer.line(&format!("# Permits of {}. Written by `pubdata new` from {seen} of the file; `decide` marks open decisions.", place.name));
    writer.value("pipeline_id", &place.pipeline_id());
    writer.value("builder", "permit");
    writer.value("title", &format!("Building permits of {}", place.name));
    match draft.publisher {
        Some(publisher) => writer.value("publisher", publisher),
        None => {
            writer.decide(
                "",
                "publisher",
                "the publisher's name, as the publisher writes it",
            );
            writer.value("publisher", &place.name);
        }
    }
    match draft.licence {
        Some(licence) => writer.value("licence", licence),
        None => {
            writer.decide(
                "",
                "licence",
                "the terms of use, as the publisher words them, with the credit it asks for",
            );
            writer.value("licence", "not stated");
        }
    }
    match draft.homepage {
        Some(homepage) => writer.value("homepage", homepage),
        None => {
            writer.decide("", "homepage", "the page that describes the list");
            let host: Vec<&str> = draft.url.splitn(4, '/').take(3).collect();
            writer.value("homepage", &format!("{}/", host.join("/")));
        }
    }
    writer.decide(
        "",
        "cadence",
        "how often the publisher updates the file: daily, weekly, monthly, quarterly or yearly",
    );
    writer.value("cadence", "daily");
    writer.decide(
        "",
        "covers",
        "covers = [\"…\"], the FIPS code of the area: a place's seven digits, a county's five; without it no population is counted as reached",
    );
    if !draft.others.is_empty() {
        let others = draft.others.join("`, `");
        writer.decide(
            "",
            "pipeline_id",
            &format!("`{others}` publishes permits of {} already: a permit that is in both lists would be there twice", place.jurisdiction),
        );
    }
    let contacts = if draft.has_contractor() {
        ", \"permit.contact\""
    } else {
        ""
    };
    writer.line(&format!("produces = [\"permit.permit\"{contacts}]"));
    let rows = rows(sample);
    if rows > ROWS_OF_A_BUCKET {
        writer.line(&format!(
            "buckets = {{ count = {}, key = \"permit_number\" }}",
            rows.div_ceil(ROWS_OF_A_BUCKET).next_power_of_two()
        ));
    }
}

fn source(writer: &mut Writer, draft: &Draft<'_>) {
    let Draft { place, sample, .. } = draft;
    writer.line("\n[[source]]");
    writer.value("source_id", &place.pipeline_id());
    let kind = match draft.evidence {
        EvidenceKind::File => "file",
        EvidenceKind::Excerpt => "excerpt",
        EvidenceKind::Documented => "documented",
    };
    if draft.evidence == EvidenceKind::Documented {
        writer.decide(
            "",
            "source.evidence",
            "the rows that were seen are a mirror's samples: write `excerpt` or `file` once records of the publisher were seen",
        );
    }
    writer.line(&format!(
        "evidence = {{ kind = \"{kind}\", seen = \"{}\" }}",
        draft.month
    ));
    if let Some(text) = doubt_about_the_url(draft) {
        writer.decide("", "source.url", &text);
    }
    writer.value("url", draft.url);
    if let Some(records) = draft.page {
        writer.line(&format!(
            "pages = {{ variable = \"offset\", records = {records} }}"
        ));
    }
    writer.value("source_version", "current");
    writer.line(&format!("format = {}", as_toml(&sample.format)));
    let records = usize::try_from(sample.records).unwrap_or(usize::MAX);
    if matches!(sample.format, Format::JsonRecords { .. }) {
        let sparse = draft.guesses.mapped.iter().filter(|mapped| {
            sample.columns[mapped.column].filled() < records && mapped.ours != "permit_number"
        });
        let names: Vec<String> = sparse.map(|mapped| quoted(&mapped.ours)).collect();
        if !names.is_empty() {
            writer.line(&format!("optional_columns = [{}]", names.join(", ")));
        }
    }
    ignored(writer, draft);
    let total = sample.total_bytes.unwrap_or(sample.bytes.len() as u64);
    let (least, most) = if draft.page.is_some() {
        (rounded_down(sample.bytes.len() as u64 / 2), 5_000_000_000)
    } else {
        (
            rounded_down(total / 2),
            rounded_up(total.max(1_000_000) * 20),
        )
    };
    writer.line(&format!("min_bytes = {least}\nmax_bytes = {most}"));
}

/// Returns a question for the operator if the URL may return only a part of the list.
fn doubt_about_the_url(draft: &Draft<'_>) -> Option<String> {
    let records = draft.sample.records;
    let is_round = draft.sample.is_whole && records >= 1_000 && records.is_multiple_of(1_000);
    if draft.page.is_none() && is_round {
        return Some(format!(
            "the file has exactly {records} records, which may be a page of a longer list: ask for all of it, or with `{{offset}}` in the address for its pages"
        ));
    }
    let is_interface = ["/resource/", "/query?", "datastore_search"]
        .iter()
        .any(|part| draft.url.contains(part));
    let has_limit = draft.url.to_ascii_lowercase().contains("limit=");
    (draft.page.is_none() && is_interface && !has_limit).then(|| {
        "an interface gives so many records at once and no more: ask for all of them (`$limit=5000000`), take the export, or write `{offset}` for its pages"
            .to_owned()
    })
}

fn ignored(writer: &mut Writer, draft: &Draft<'_>) {
    let Draft {
        sample, guesses, ..
    } = draft;
    writer.line("# Not read. Move a name below `[source.columns]` to have it read.\nignore = [");
    for name in &sample.unusable {
        if name.is_empty() {
            writer.line("    \"\",");
        } else {
            writer.decide(
                "    ",
                "source.ignore",
                &format!("several columns are called `{name}`: none of them can be read"),
            );
            writer.line(&format!("    {},", quoted(name)));
        }
    }
    for (number, column) in sample.columns.iter().enumerate() {
        if guesses.mapped.iter().any(|mapped| mapped.column == number) {
            continue;
        }
        let open = guesses.open.iter().find(|open| open.column == number);
        let may_name = names::may_be_of_a_person(&names::words(&column.published));
        match open {
            Some(open) => {
                let what = open
                    .ours
                    .as_ref()
                    .map_or_else(String::new, |ours| format!("`{ours}`? "));
                let of = open.ours.as_ref().map_or_else(
                    || "source.ignore".to_owned(),
                    |ours| format!("source.columns.{ours}"),
                );
                writer.decide(
                    "    ",
                    &of,
                    &format!("`{}`: {what}{}", column.name, open.reason),
                );
                writer.line(&format!("    {},", quoted(&column.name)));
            }
            None if may_name => writer.line(&format!(
                "    {},  # may name a person",
                quoted(&column.name)
            )),
            None => writer.line(&format!("    {},", quoted(&column.name))),
        }
    }
    writer.line("]");
}

fn columns(writer: &mut Writer, draft: &Draft<'_>) {
    writer.line("\n[source.columns]");
    for (ours, what) in [
        (
            "type",
            "no column with the kind of permit was found: map one, or set `only_type` under `[settings]`",
        ),
        ("status", "no column was found for the status"),
        ("issued_date", "no column was found for the day of issue"),
    ] {
        if draft.guesses.position(ours).is_none() {
            writer.decide("", &format!("source.columns.{ours}"), what);
        }
    }
    for mapped in &draft.guesses.mapped {
        let column = &draft.sample.columns[mapped.column];
        if mapped.ours == "permit_number" && column.counts().len() < column.filled() {
            writer.decide("", "settings.keys", "some numbers occur in several rows: rows of one number that differ in more than dates and type are quarantined; `keys` or `merge` can say how they differ");
        }
        writer.line(&format!(
            "{} = [{}]  # {}",
            mapped.ours,
            quoted(&column.name),
            one_line(&mapped.reason)
        ));
    }
}

fn expectations(writer: &mut Writer, draft: &Draft<'_>) {
    let rows = rows(draft.sample);
    let filled = |ours: &str| {
        draft
            .guesses
            .position(ours)
            .map_or(0, |column| draft.sample.columns[column].filled() as u64)
    };
    let named = filled("contractor_name").max(filled("contractor_business_name"));
    let contacts = rows.saturating_mul(named) / draft.sample.records.max(1);
    let how = if draft.sample.is_whole && draft.page.is_none() {
        "counted"
    } else {
        "estimated from the file's size"
    };
    let doubt = format!(
        "about {rows} rows were {how}: the floor is {} of them, and fewer block",
        floor(rows)
    );
    expectation(
        writer,
        "permit.permit",
        if draft.page.is_some() {
            draft.sample.records
        } else {
            rows
        },
        Some(&doubt),
    );
    if draft.has_contractor() {
        // A contact must have a known role, and a part of the list may contain no contacts at all.
        expectation(writer, "permit.contact", contacts / 2, None);
    }
}

fn expectation(writer: &mut Writer, dataset_id: &str, rows: u64, doubt: Option<&str>) {
    writer.line(&format!("\n[expect.\"{dataset_id}\"]"));
    if let Some(doubt) = doubt {
        writer.decide("", &format!("expect.{dataset_id}.min_rows"), doubt);
    }
    let least = if doubt.is_some() {
        floor(rows).max(1)
    } else {
        floor(rows)
    };
    writer.line(&format!(
        "min_rows = {least}\nmax_rows = {}",
        rounded_up(rows.max(1_000) * 10)
    ));
    writer.line("max_shrink_percent = 5.0\nmax_growth_percent = 20.0\nwarn_quarantined_percent = 0.1\nmax_quarantined_percent = 1.0");
}

/// Returns the minimum number of rows for a build: four fifths of the rows that were seen, rounded
/// down to one significant digit.
fn floor(rows: u64) -> u64 {
    rounded_down(rows * 4 / 5)
}

fn settings(writer: &mut Writer, draft: &Draft<'_>) {
    let Draft { place, guesses, .. } = draft;
    writer.line("\n[settings]");
    let city = if place.is_county {
        String::new()
    } else {
        format!(", city = {}", quoted(&place.name.to_uppercase()))
    };
    writer.line(&format!(
        "jurisdiction = {{ id = {}, name = {}, state = {}{city} }}",
        quoted(&place.jurisdiction),
        quoted(&place.name),
        quoted(&place.state)
    ));
    let dates: Vec<String> = draft.dates.iter().map(|form| quoted(form)).collect();
    if dates.is_empty() {
        writer.decide(
            "",
            "settings.dates",
            "no column of days is read: name the forms of the days that you map",
        );
    }
    writer.line(&format!("dates = [{}]", dates.join(", ")));
    let has = |ours: &str| guesses.position(ours).is_some();
    if !has("line1") {
        let pieces: Vec<String> = PIECES
            .iter()
            .filter(|piece| has(piece))
            .map(|piece| quoted(piece))
            .collect();
        writer.line(&format!("line1 = [{}]", pieces.join(", ")));
    }
    if has("unit") {
        writer.line("line2 = [\"unit\"]");
    }
    if has_whole_addresses(draft.sample, guesses) {
        writer.line("has_whole_addresses = true");
    }
    if has("parcel") {
        writer.decide(
            "",
            "settings.parcel",
            "the name of the parcel number: `pin`, `apn`, `folio`",
        );
        writer.line("parcel = { scheme = \"parcel\", columns = [\"parcel\"] }");
    }
    if draft.has_contractor() {
        writer.line("\n# A company or a person, possibly the owner: only names that are certainly not a person's are published.\n[[settings.contact]]");
        writer.line("prefix = \"contractor\"\nrole = \"contractor\"\nnames = \"organizations\"\nperson_role = \"unknown\"");
        if has("contractor_license_number") {
            writer.decide(
                "",
                "settings.contact.license_scheme",
                "license_scheme = \"…\", whose numbers these are, such as `us-ca/cslb`: without it they lead to no license",
            );
        }
    }
}

fn tables(writer: &mut Writer, draft: &Draft<'_>) {
    for table in super::known::TABLES {
        let words: Vec<&GuessedWord> = draft
            .words
            .iter()
            .filter(|word| word.table == *table)
            .collect();
        if words.is_empty() {
            continue;
        }
        writer.line(&format!("\n[settings.{table}]"));
        for word in words.iter().take(MAX_WORDS) {
            match &word.ours {
                Some(ours) => writer.line(&format!(
                    "{} = {}  # {}",
                    quoted(&word.word),
                    quoted(ours),
                    word.reason
                )),
                None => {
                    writer.decide(
                        "",
                        &format!("settings.{table}"),
                        &format!(
                            "{} = \"…\"; {}; {}",
                            quoted(&word.word),
                            counted(word.rows, "row"),
                            word.reason
                        ),
                    );
                }
            }
        }
        if words.len() > MAX_WORDS {
            writer.decide(
                "",
                &format!("settings.{table}"),
                &format!(
                    "and {} more words, which `pubdata probe` lists",
                    words.len() - MAX_WORDS
                ),
            );
        }
    }
}

/// Returns true if the street line also contains the city, state and ZIP code, and no column
/// contains them separately.
pub(super) fn has_whole_addresses(sample: &Sample, guesses: &Guesses) -> bool {
    let is_whole = |text: &str| {
        let last = text.rsplit([',', ' ']).next().unwrap_or_default();
        text.contains(',')
            && last.len() >= 5
            && last
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let is_alone = guesses.position("zip").is_none() && guesses.position("city").is_none();
    is_alone
        && guesses
            .position("line1")
            .is_some_and(|column| sample.columns[column].is_mostly(70, is_whole))
}
