//! Defines the keys of a file of `pipelines/`, their meanings and defaults. Combinations are
//! checked when the file is read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Drift, Listing, SftpLogin, WordLimits};

/// One pipeline: its sources, the datasets it produces, and what is expected of them.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// `{family}.{name}`, equal to the file's path: `census.acs5` is `census/acs5.toml`.
    pub pipeline_id: String,
    /// The builder of the tables, by its name in `datasets::BUILDERS`. Absent if the pipeline
    /// produces nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder: Option<String>,
    pub title: String,
    pub publisher: String,
    pub licence: String,
    pub homepage: String,
    pub cadence: Cadence,
    /// When the publisher issues the files; if absent, the cadence decides.
    pub calendar: Option<Calendar>,
    /// True if the files may be shown as they are. Other files may hold facts about persons that
    /// are not published (streets, telephones, e-mail), so only their published bytes are shown. It
    /// affects no record, and is not hashed.
    #[serde(default, skip_serializing)]
    pub open: bool,
    /// FIPS codes of the areas that the records cover: `us`, a state's two digits, a county's five,
    /// or a place's seven. `1208699990` stands for the parts of county 12086 outside places. Empty
    /// if records have no area, or the tables state it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<String>,
    /// Datasets built by this pipeline. Empty for a pipeline that only supplies sources to others.
    pub produces: Vec<String>,
    /// Sources of other declarations that the build also reads.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Pipelines whose tables the build reads. It builds them again, from the same snapshots and
    /// with the same code. All their sources are `inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<String>,
    /// Range of candidate partitions, if the datasets are partitioned.
    pub partition: Option<PartitionRange>,
    #[serde(rename = "source", default)]
    pub sources: Vec<Source>,
    /// How to split a build that is too large for memory.
    pub buckets: Option<Buckets>,
    /// Expectations of each produced dataset, by dataset id.
    #[serde(default)]
    pub expect: BTreeMap<String, Expectations>,
    /// Facts that only this pipeline's Rust code reads and checks.
    #[serde(default)]
    pub settings: toml::Table,
}

/// How often the publisher issues the files; decides freshness.
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
    /// Kind of evidence.
    pub kind: EvidenceKind,
    /// Month of the newest file or page that is the evidence: `2026-02`.
    #[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}$"))]
    pub seen: String,
}

/// Kind of evidence for the layout of a source.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceKind {
    /// A file of the publisher, in the declared layout.
    File,
    /// Records of the publisher: some of them, an older or reduced copy, or the same in another
    /// container.
    Excerpt,
    /// Documentation alone: no file has been seen.
    Documented,
}

/// How the layouts of all sources that a pipeline's build needs are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayoutEvidence {
    /// From files or records of the publisher.
    File,
    /// From documentation alone.
    Documented,
    /// From documentation, and an operator has since reviewed the build of the publisher's files
    /// (`pubdata accept`).
    Confirmed,
}

impl Declaration {
    /// Returns how the layouts of the required sources are known. Without a record, neither the
    /// number of rows nor their irregularities are known. An operator's confirmation does not count
    /// here.
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

/// Candidate partitions by number, such as survey years. A candidate at either end without any file
/// is not published; one between published ones with missing files is a missing source.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionRange {
    /// URL variable, such as `vintage`.
    pub variable: String,
    /// Contract column that holds the value, such as `vintage_year`.
    pub column: String,
    pub from: i32,
    /// Absent for an open range: the newest is the one that the pipeline's calendar expects.
    pub to: Option<i32>,
    /// Message for requests for an earlier partition.
    pub earlier: String,
}

/// One file, or one family of files that differ in URL variables only.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Name of the feed, unique over all declarations, such as `census.acs5_table`.
    pub source_id: String,
    /// How the layout is known. It affects no record.
    #[serde(skip_serializing)]
    pub evidence: Evidence,
    /// URL template. `{name}` is a variable, `{name-4}` an integer variable minus 4, `{NAME}` a
    /// variable in upper case. `{env:NAME}` is a secret from the environment that is left out of
    /// every record of the URL. `bundled:PATH` is a file next to the declarations.
    pub url: String,
    /// A variable whose values users name (`pubdata fetch --cik`). A run never fetches such files.
    /// Those fetched after the declaration's other files are used until these are fetched again.
    pub on_demand: Option<String>,
    /// Values of the variables, other than the partition's.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// When the publisher issues this file, if different from the pipeline's calendar.
    pub calendar: Option<Calendar>,
    /// Hosts that the publisher's server may redirect to, besides those of its own domain: a name,
    /// or `*.name` for all below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// A secret that a portal accepts in a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_token: Option<AppToken>,
    /// The login for an `sftp://` URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sftp: Option<SftpLogin>,
    /// True if an operator fetches the file, because the publisher's site refuses programs.
    /// `pubdata import` reads it, and a run sends no request.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_hand: bool,
    /// How the publisher serves the source in pages, if it has no complete file.
    pub pages: Option<Pages>,
    /// How to find files with changing names on the page at the URL.
    pub listing: Option<Listing>,
    /// The publisher's own label for the bytes, a template like the URL.
    pub source_version: String,
    pub format: Format,
    /// The archive member to read: a name or `*.csv`, a template like the URL. Present exactly if
    /// the file is a ZIP archive; with `listing`, it applies to files whose names end in `.zip`.
    pub member: Option<String>,
    /// The archive members to read one by one: a name with one `*`, such as `CIK*.json`. The file
    /// is a ZIP archive of many documents.
    pub members: Option<String>,
    /// Maximum size of a member.
    #[serde(default = "default_max_member_bytes")]
    pub max_member_bytes: u64,
    /// Our column names and the publisher's names for them (several if the name changed over the
    /// years).
    #[serde(default)]
    pub columns: BTreeMap<String, Vec<String>>,
    /// Mapped columns that some files do not have.
    #[serde(default)]
    pub optional_columns: Vec<String>,
    /// True if a column that is neither mapped nor ignored stops the build. Otherwise it is
    /// reported as an issue.
    #[serde(default, skip_serializing_if = "is_false")]
    pub closed: bool,
    /// Publisher's columns that are not used. `#` stands for one digit; variables as in the URL.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Minimum size of the file. Does not apply to a mirror of samples.
    #[serde(default)]
    pub min_bytes: u64,
    /// Maximum size of the file, before and after decompression.
    #[serde(default = "default_max_bytes")]
    pub max_bytes: u64,
    /// Maximum loss of the file's size since the last release, percent. A smaller file is not
    /// accepted: its datasets keep their last build.
    #[serde(default = "default_max_shrink_percent")]
    pub max_shrink_percent: f64,
    /// The publisher's date of a bundled file, `YYYY-MM-DD`.
    pub source_date: Option<String>,
    /// A document with the file's last change, if the file itself has none.
    pub dated_by: Option<DatedBy>,
    /// True if the build needs the source. If not, it may be unpublished or its secret not
    /// configured.
    #[serde(default = "yes")]
    pub required: bool,
    /// True if the build uses the files that are available, such as some states' files of a
    /// register. A missing file is reported as an issue.
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
    /// Returns one of its values.
    pub fn first(&self) -> Option<&str> {
        match self {
            Self::Values(values) => values.first().map(String::as_str),
            Self::Range(range) => Some(&range.from),
        }
    }

    /// Returns its listed values, in order.
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

/// Consecutive labels of publishing periods: years, quarters, months or days, in the form of the
/// first. They are generated and not listed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRange {
    /// The first label: `2009` (years), `2425` (school years), `2009/QTR2`, `2026-09`,
    /// `September_2026`, `20230929` or `2023-09-29`.
    pub from: String,
    /// The last label, or `now`: the newest that the source's calendar expects.
    pub to: String,
    /// Maximum number of labels, the newest first, if the publisher deletes older files or a later
    /// full file contains them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
}

/// When a publisher issues a file. The edition of a period is expected `after` the period's first
/// day, and late `grace` after that.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    pub every: Every,
    /// Time from the period's first day until its edition is expected: `15 days`, `23 months`.
    /// Absent for the first day itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Time of the day and its zone: `03:00 America/New_York`. Absent for the day's beginning in
    /// UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Additional time before an edition is late; if absent, until the next one is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
}

/// A publishing period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    Day,
    /// Monday to Friday except holidays of the federal government.
    BusinessDay,
    /// Begins on Monday.
    Week,
    Month,
    Quarter,
    Year,
    /// No other edition will come: the file is historical.
    Never,
}

/// A secret that is sent in a header of each request, if it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AppToken {
    /// `X-App-Token`.
    pub header: String,
    /// The environment variable that holds it.
    pub variable: String,
}

/// A build in buckets: the rows of all sources are split by the hash of one column, and each bucket
/// is built separately.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// Number of buckets; 1 is a build that is not split.
    pub count: u32,
    /// Our name of the column, the same in every source that is split. A source without it is read
    /// completely for each bucket.
    pub key: String,
    /// The column that replaces an empty key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_key: Option<String>,
}

/// A JSON object of a publisher about a file, such as Socrata's metadata of a dataset.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DatedBy {
    /// URL template, like the source's.
    pub url: String,
    /// Name of the member with the instant of the last change, seconds since 1970-01-01.
    pub seconds: String,
    /// While that instant stays the same, the file is fetched only in every n-th run; in every run
    /// if absent. Does not affect records.
    #[serde(default, skip_serializing)]
    pub whole_every: Option<u32>,
}

/// A source in pages: pages are fetched until one is not full.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The URL's variable for the number of records before the page.
    pub variable: String,
    /// Number of records of a full page, as requested by the URL.
    pub records: u64,
    /// How to query the total number of records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<CountQuery>,
}

/// A JSON document with the number of records of a source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CountQuery {
    /// URL template, like the source's.
    pub url: String,
    /// Names and array indices that lead to the number, joined by `.`: `count`, `result.total`,
    /// `0.count`.
    pub member: String,
}

/// Syntax of a file, independent of agencies.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// Delimiter-separated text with a header line, or with declared column names.
    Delimited {
        /// The delimiter; several if the publisher changed it. The one that occurs most in the
        /// header line is used.
        delimiters: Vec<char>,
        /// True if `"` quotes a cell. If false, a quotation mark is an ordinary character.
        quoting: bool,
        /// The escape character before a quotation mark inside a quoted cell, if the publisher does
        /// not double it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escape: Option<char>,
        /// Column names of a file without a header line. If a copy nevertheless begins with them,
        /// that line is not a record.
        #[serde(default)]
        header: Vec<String>,
        /// Minimum number of cells of a record, if some are shorter than the header: the missing
        /// cells are empty.
        fewest_cells: Option<usize>,
        /// Lines after the header that are labels, not data.
        #[serde(default)]
        label_lines: u32,
        /// Beginning of the header line in a file with a preamble: lines before it are not data.
        header_start: Option<String>,
        /// The character that the line after the header consists of.
        ruler: Option<char>,
        /// True if column names are compared in normalised form
        /// ([`normalized_name`](super::normalized_name)), so that one mapping reads a publisher's
        /// exports and its API.
        #[serde(default)]
        normalized_header: bool,
        #[serde(default)]
        encoding: Encoding,
    },
    /// Lines of one length with cells at fixed positions.
    FixedWidth {
        /// Bytes of a record, without the line ending.
        record_bytes: u32,
        #[serde(default)]
        encoding: Encoding,
        /// The publisher's name of each field, its first byte (counted from 1) and its number of
        /// bytes.
        fields: BTreeMap<String, [u32; 2]>,
    },
    /// A JSON array of arrays of strings whose first row is the header (Census Data API).
    JsonRows,
    /// A JSON array of objects, each a record (Socrata, ArcGIS, CKAN). Attributes of nested objects
    /// are named by both names, joined by `.`.
    JsonRecords {
        /// Names that lead from the document to the array, joined by `.`: `features`,
        /// `result.records`. Absent if the document is the array.
        records: Option<String>,
        /// True if attribute names are compared in normalised form
        /// ([`normalized_name`](super::normalized_name)), which also replaces `.` by `_`.
        #[serde(default)]
        normalized_header: bool,
    },
    /// A sheet of a spreadsheet workbook (Office Open XML), which is the archive's member
    /// `xl/worksheets/sheetN.xml`; its first row is the header.
    Xlsx,
    /// A document, or an archive of them, with a structure that the dataset's own code reads.
    Document { syntax: Syntax },
}

/// Character encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub enum Encoding {
    /// A record that is not UTF-8 is malformed.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As defined by WHATWG, "Encoding": every byte is a character.
    #[serde(rename = "windows-1252")]
    Windows1252,
    /// ISO-8859-1: every byte is the character with that number.
    #[serde(rename = "latin-1")]
    Latin1,
    /// For files that were combined from both: a cell that is valid UTF-8 is read as such, any
    /// other as windows-1252.
    #[serde(rename = "utf-8-or-windows-1252")]
    Utf8OrWindows1252,
}

/// Syntax of a document.
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

/// Totals that a build must reach. A missed minimum blocks the dataset; an exceeded maximum warns.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// Minimum number of rows per partition. Does not apply to a mirror of samples.
    pub min_rows: u64,
    /// Maximum number of rows per partition.
    pub max_rows: u64,
    /// Maximum loss of rows since the last release, percent; more blocks.
    pub max_shrink_percent: f64,
    /// Maximum growth of rows since the last release, percent; more warns.
    pub max_growth_percent: f64,
    /// Share of quarantined rows above which to warn, percent.
    pub warn_quarantined_percent: f64,
    /// Share of quarantined rows above which to block, percent.
    pub max_quarantined_percent: f64,
    /// Share of published rows with a warning above which to block, percent, by the warning's code.
    /// Not checked below [`MIN_ROWS_FOR_WARNED_SHARE`] rows.
    #[serde(default)]
    pub max_warned_percent: BTreeMap<String, f64>,
    /// Allowed drift of its columns since the last release.
    #[serde(default, skip_serializing_if = "Drift::is_default")]
    pub drift: Drift,
    /// By coded column, the limits of records with unknown texts, if different from the defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, WordLimits>,
}

impl Expectations {
    /// Returns the expectations without evidence from a file. Minimums and shares are then guesses
    /// about the layout as much as about the data, so results are published and an operator
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

/// With fewer rows a share has no meaning.
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
