//! Defines the keys of the files in `pipelines/`, with their meanings and defaults. Combinations of
//! keys are checked when a file is read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Drift, Listing, SftpLogin, WordLimits};

/// One pipeline: its sources, the datasets it produces, and the expectations for those datasets.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// `{family}.{name}`, equal to the file's path: `census.acs5` is `census/acs5.toml`.
    pub pipeline_id: String,
    /// Name of the builder in `datasets::BUILDERS` that produces the tables. Absent if the pipeline
    /// produces nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder: Option<String>,
    pub title: String,
    pub publisher: String,
    pub licence: String,
    pub homepage: String,
    pub cadence: Cadence,
    /// When the publisher issues the files. If absent, the cadence decides.
    pub calendar: Option<Calendar>,
    /// True if the files may be shown as they are. Other files may contain personal details that
    /// are not published (street addresses, telephone numbers, e-mail addresses), so only their
    /// published bytes are shown. This flag affects no records and is not hashed.
    #[serde(default, skip_serializing)]
    pub open: bool,
    /// FIPS codes of the areas that the records cover: `us`, a state's two digits, a county's five,
    /// or a place's seven. `1208699990` stands for the parts of county 12086 outside any place.
    /// Empty if records have no area, or if the tables state the area.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<String>,
    /// Datasets built by this pipeline. Empty if the pipeline only supplies sources to other
    /// pipelines.
    pub produces: Vec<String>,
    /// Sources from other declarations that the build also reads.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Pipelines whose tables the build reads. The build recreates these tables from the same
    /// snapshots and with the same code. All sources of these pipelines are `inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<String>,
    /// Range of candidate partitions, if the datasets are partitioned.
    pub partition: Option<PartitionRange>,
    #[serde(rename = "source", default)]
    pub sources: Vec<Source>,
    /// How to split a build that is too large for memory.
    pub buckets: Option<Buckets>,
    /// Expectations for each produced dataset, by dataset id.
    #[serde(default)]
    pub expect: BTreeMap<String, Expectations>,
    /// Settings that only this pipeline's Rust code reads and checks.
    #[serde(default)]
    pub settings: toml::Table,
}

/// How often the publisher issues the files. The cadence determines freshness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cadence {
    Daily,
    Weekly,
    Monthly,
    Quarterly,
    Yearly,
}

impl Cadence {
    /// Returns the length of one publishing period in days.
    pub fn days(self) -> i64 {
        match self {
            Self::Daily => 1,
            Self::Weekly => 7,
            Self::Monthly => 31,
            Self::Quarterly => 92,
            Self::Yearly => 366,
        }
    }
}

/// How the layout of a source is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The kind of evidence.
    pub kind: EvidenceKind,
    /// Month of the newest file or page that serves as evidence: `2026-02`.
    #[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}$"))]
    pub seen: String,
}

/// Kind of evidence for the layout of a source.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceKind {
    /// A file from the publisher, in the declared layout.
    File,
    /// Records from the publisher: an excerpt, an older or reduced copy, or the same records in
    /// another container.
    Excerpt,
    /// Documentation alone. No file has been seen.
    Documented,
}

/// How well the layouts of all required sources of a pipeline are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayoutEvidence {
    /// The layouts are known from the publisher's files or records.
    File,
    /// The layouts are known only from documentation.
    Documented,
    /// The layouts are known from documentation, and an operator has since reviewed a build from
    /// the publisher's files (`pubdata accept`).
    Confirmed,
}

impl Declaration {
    /// Returns how the layouts of the required sources are known. If no record has been seen,
    /// neither the number of rows nor their irregularities are known. This method ignores an
    /// operator's confirmation.
    pub fn layout_evidence(&self) -> LayoutEvidence {
        let mut needed = self
            .sources
            .iter()
            .filter(|source| source.required && source.on_demand.is_none())
            .peekable();
        match needed.peek().is_some()
            && needed.all(|source| source.evidence.kind == EvidenceKind::Documented)
        {
            true => LayoutEvidence::Documented,
            false => LayoutEvidence::File,
        }
    }
}

/// Candidate partitions by number, such as survey years. A candidate at either end of the range
/// that has no files is not published. If files are missing for a candidate between published
/// partitions, the source is reported as missing.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionRange {
    /// URL variable, such as `vintage`.
    pub variable: String,
    /// Contract column that contains the value, such as `vintage_year`.
    pub column: String,
    pub from: i32,
    /// Last partition. Absent for an open range, whose newest partition is determined by the
    /// pipeline's calendar.
    pub to: Option<i32>,
    /// Message shown for requests for an earlier partition.
    pub earlier: String,
}

/// One file, or one family of files that differ only in their URL variables.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Name of the feed, unique across all declarations, such as `census.acs5_table`.
    pub source_id: String,
    /// How the layout is known. This affects no records.
    #[serde(skip_serializing)]
    pub evidence: Evidence,
    /// URL template. `{name}` is a variable, `{name-4}` an integer variable minus 4, `{NAME}` a
    /// variable in upper case. `{env:NAME}` is a secret from the environment that is omitted
    /// wherever the URL is recorded. `bundled:PATH` is a file next to the declarations.
    pub url: String,
    /// A variable whose values users specify (`pubdata fetch --cik`). A run never fetches such
    /// files. Files fetched on demand after the declaration's other files are used until those
    /// other files are fetched again.
    pub on_demand: Option<String>,
    /// Values of the variables, except the partition variable.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// When the publisher issues this file, if different from the pipeline's calendar.
    pub calendar: Option<Calendar>,
    /// Hosts that the publisher's server may redirect to, besides those of its own domain: a host
    /// name, or `*.name` for all subdomains of `name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// A secret that a portal accepts in a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_token: Option<AppToken>,
    /// The login for an `sftp://` URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sftp: Option<SftpLogin>,
    /// True if an operator must download the file because the publisher's site rejects automated
    /// requests. `pubdata import` reads the file, and runs send no request for it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_hand: bool,
    /// How the publisher pages the source, if no complete file is available.
    pub pages: Option<Pages>,
    /// How to find files with changing names on the page that the URL names.
    pub listing: Option<Listing>,
    /// The publisher's own label for the bytes. This is a template like the URL.
    pub source_version: String,
    pub format: Format,
    /// The archive member to read: a name or `*.csv`, as a template like the URL. Required if the
    /// file is a ZIP archive and forbidden otherwise. With `listing`, it applies to files whose
    /// names end in `.zip`.
    pub member: Option<String>,
    /// The archive members to read individually, as a name with one `*`, such as `CIK*.json`. Used
    /// for ZIP archives that contain many documents.
    pub members: Option<String>,
    /// Maximum size of an archive member.
    #[serde(default = "default_max_member_bytes")]
    pub max_member_bytes: u64,
    /// Our column names, each with the publisher's name for the column, or several names if it
    /// changed over the years.
    #[serde(default)]
    pub columns: BTreeMap<String, Vec<String>>,
    /// Mapped columns that may be missing from some files.
    #[serde(default)]
    pub optional_columns: Vec<String>,
    /// True if a column that is neither mapped nor ignored stops the build. If false, such a column
    /// is reported as an issue.
    #[serde(default, skip_serializing_if = "is_false")]
    pub closed: bool,
    /// Publisher's columns that are not used. `#` stands for one digit. Variables are written as in
    /// the URL.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Minimum size of the file. Does not apply to a sample mirror.
    #[serde(default)]
    pub min_bytes: u64,
    /// Maximum size of the file, before and after decompression.
    #[serde(default = "default_max_bytes")]
    pub max_bytes: u64,
    /// Maximum decrease in file size since the last release, in percent. A smaller file is
    /// rejected, and its datasets keep their last build.
    #[serde(default = "default_max_shrink_percent")]
    pub max_shrink_percent: f64,
    /// The publisher's date for a bundled file, `YYYY-MM-DD`.
    pub source_date: Option<String>,
    /// A document that states when the file last changed, if the file itself has no date.
    pub dated_by: Option<DatedBy>,
    /// True if the build needs the source. If false, the source may be unpublished, or its secret
    /// may not be configured.
    #[serde(default = "yes")]
    pub required: bool,
    /// True if the build may use a subset of the files, such as the files of some states in a
    /// register. Missing files are reported as issues.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
}

/// The values of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Variable {
    Values(Vec<String>),
    Range(LabelRange),
}

impl Variable {
    /// Returns one of the variable's values.
    pub fn first(&self) -> Option<&str> {
        match self {
            Self::Values(values) => values.first().map(String::as_str),
            Self::Range(range) => Some(&range.from),
        }
    }

    /// Returns the listed values, in order.
    pub fn values(&self) -> &[String] {
        match self {
            Self::Values(values) => values,
            Self::Range(_) => &[],
        }
    }

    /// Sorts values whose order has no meaning.
    pub(super) fn sort(&mut self) {
        if let Self::Values(values) = self {
            values.sort();
        }
    }
}

/// Consecutive labels of publishing periods (years, quarters, months or days), in the format of the
/// first label. The labels are generated, not listed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRange {
    /// The first label: `2009` (years), `2425` (school years), `2009/QTR2`, `2026-09`,
    /// `September_2026`, `20230929` or `2023-09-29`.
    pub from: String,
    /// The last label, or `now` for the newest label that the source's calendar expects.
    pub to: String,
    /// Maximum number of labels, counted from the newest. Used if the publisher deletes older
    /// files, or if a later full file contains the same data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
}

/// When a publisher issues a file. The edition of a period is expected `after` the period's first
/// day and becomes late `grace` after that.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    pub every: Every,
    /// Time from the period's first day until the edition is expected: `15 days`, `23 months`.
    /// Absent if it is expected on the first day itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Time of day with time zone: `03:00 America/New_York`. If absent, the day starts at midnight
    /// UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Additional time before an edition is late. If absent, an edition is late when the next one
    /// is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
}

/// A publishing period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    Day,
    /// Monday to Friday, except federal government holidays.
    BusinessDay,
    /// A week that begins on Monday.
    Week,
    Month,
    Quarter,
    Year,
    /// No further editions will be published. The file is historical.
    Never,
}

/// A secret that is sent in a header with each request, if the secret is configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AppToken {
    /// Name of the header, such as `X-App-Token`.
    pub header: String,
    /// The environment variable that holds the secret.
    pub variable: String,
}

/// Settings for a build in buckets. The rows of all sources are split by the hash of one column,
/// and each bucket is built separately.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// Number of buckets. With 1, the build is not split.
    pub count: u32,
    /// Our name for the column, which is the same in every source that is split. A source without
    /// this column is read in full for each bucket.
    pub key: String,
    /// The column to use if the key is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_key: Option<String>,
}

/// A publisher's JSON object that describes a file, such as Socrata's dataset metadata.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DatedBy {
    /// URL template, with the same syntax as the source URL.
    pub url: String,
    /// Name of the field with the time of the last change, in seconds since 1970-01-01.
    pub seconds: String,
    /// While that time stays the same, the file is fetched only in every n-th run, or in every run
    /// if this key is absent. Does not affect records.
    #[serde(default, skip_serializing)]
    pub whole_every: Option<u32>,
}

/// A paged source. Pages are fetched until one of them is not full.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The URL variable for the number of records before the page (the offset).
    pub variable: String,
    /// Number of records on a full page, as requested in the URL.
    pub records: u64,
    /// How to query the total number of records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<CountQuery>,
}

/// A JSON document that states the number of records of a source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CountQuery {
    /// URL template, with the same syntax as the source URL.
    pub url: String,
    /// Field names and array indices that lead to the number, joined by `.`: `count`,
    /// `result.total`, `0.count`.
    pub member: String,
}

/// Syntax of a file, independent of any agency.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// Delimiter-separated text with a header line, or with declared column names.
    Delimited {
        /// The delimiter, or several delimiters if the publisher changed it. The delimiter that
        /// occurs most often in the header line is used.
        delimiters: Vec<char>,
        /// True if cells may be quoted with `"`. If false, a quotation mark is an ordinary
        /// character.
        quoting: bool,
        /// The character that escapes a quotation mark inside a quoted cell, if the publisher does
        /// not double quotation marks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escape: Option<char>,
        /// Column names of a file without a header line. If a copy of the file nevertheless begins
        /// with these names, that line is not a record.
        #[serde(default)]
        header: Vec<String>,
        /// Minimum number of cells in a record, if some records are shorter than the header.
        /// Missing cells are read as empty.
        fewest_cells: Option<usize>,
        /// Number of lines after the header that are labels, not data.
        #[serde(default)]
        label_lines: u32,
        /// Start of the header line, in a file with a preamble. Lines before the header line are
        /// not data.
        header_start: Option<String>,
        /// The character that the separator line after the header consists of.
        ruler: Option<char>,
        /// True if column names are compared in normalised form
        /// ([`normalized_name`](super::normalized_name)), so that one mapping reads a publisher's
        /// exports and its API.
        #[serde(default)]
        normalized_header: bool,
        #[serde(default)]
        encoding: Encoding,
    },
    /// Lines of equal length with cells at fixed positions.
    FixedWidth {
        /// Number of bytes in a record, without the line ending.
        record_bytes: u32,
        #[serde(default)]
        encoding: Encoding,
        /// The publisher's name of each field, with its first byte (counted from 1) and its length
        /// in bytes.
        fields: BTreeMap<String, [u32; 2]>,
    },
    /// A JSON array of arrays of strings whose first row is the header (Census Data API).
    JsonRows,
    /// A JSON array of objects, one per record (Socrata, ArcGIS, CKAN). The name of a nested
    /// attribute consists of both names, joined by `.`.
    JsonRecords {
        /// Names that lead from the document to the array, joined by `.`: `features`,
        /// `result.records`. Absent if the document itself is the array.
        records: Option<String>,
        /// True if attribute names are compared in normalised form
        /// ([`normalized_name`](super::normalized_name)), which also replaces `.` by `_`.
        #[serde(default)]
        normalized_header: bool,
    },
    /// A worksheet of an Office Open XML workbook, which is the archive member
    /// `xl/worksheets/sheetN.xml`. The first row is the header.
    Xlsx,
    /// A document, or an archive of documents, whose structure is read by the dataset's own code.
    Document { syntax: Syntax },
}

/// Character encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub enum Encoding {
    /// UTF-8. A record that is not valid UTF-8 is malformed.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// Windows-1252 as defined by WHATWG, "Encoding": every byte is a character.
    #[serde(rename = "windows-1252")]
    Windows1252,
    /// ISO-8859-1: every byte is the character with that code point.
    #[serde(rename = "latin-1")]
    Latin1,
    /// For files that mix both encodings: a cell that is valid UTF-8 is read as UTF-8, and any
    /// other cell as windows-1252.
    #[serde(rename = "utf-8-or-windows-1252")]
    Utf8OrWindows1252,
}

/// Syntax of a structured document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    Json,
    Xml,
}

impl Source {
    /// Returns whether the file is a ZIP archive.
    pub fn is_archive(&self) -> bool {
        self.member.is_some() || self.members.is_some()
    }
}

/// Expected totals of a build. Missing a minimum blocks the dataset; exceeding a maximum only
/// warns.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// Minimum number of rows per partition. Does not apply to a sample mirror.
    pub min_rows: u64,
    /// Maximum number of rows per partition.
    pub max_rows: u64,
    /// Maximum loss of rows since the last release, in percent. A greater loss blocks the dataset.
    pub max_shrink_percent: f64,
    /// Maximum growth in rows since the last release, in percent. Greater growth causes a warning.
    pub max_growth_percent: f64,
    /// Share of quarantined rows above which to warn, in percent.
    pub warn_quarantined_percent: f64,
    /// Share of quarantined rows above which to block, in percent.
    pub max_quarantined_percent: f64,
    /// Share of published rows with a warning above which to block, in percent, by warning code.
    /// Not checked below [`MIN_ROWS_FOR_WARNED_SHARE`] rows.
    #[serde(default)]
    pub max_warned_percent: BTreeMap<String, f64>,
    /// Allowed drift of the columns since the last release.
    #[serde(default, skip_serializing_if = "Drift::is_default")]
    pub drift: Drift,
    /// Limits for records with unknown values, by coded column, if different from the defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, WordLimits>,
}

impl Expectations {
    /// Returns the expectations to use if no file has been seen. Minimums and shares are then
    /// guesses about the layout as much as about the data, so results are published and an operator
    /// decides.
    #[must_use]
    pub fn without_file_evidence(&self) -> Self {
        Self {
            min_rows: self.min_rows.min(1),
            max_quarantined_percent: 100.0,
            max_warned_percent: BTreeMap::new(),
            ..self.clone()
        }
    }
}

/// With fewer rows, a share is not meaningful.
pub const MIN_ROWS_FOR_WARNED_SHARE: u64 = 100;

fn default_max_bytes() -> u64 {
    2 << 30
}

fn default_max_member_bytes() -> u64 {
    256 << 20
}

fn default_max_shrink_percent() -> f64 {
    20.0
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde wants")]
fn is_false(value: &bool) -> bool {
    !*value
}
