//! What can be declared in a file of `pipelines/`: each key, what it means, and its default. What
//! is allowed together is checked when it is read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Drift, Listing, SftpLogin, WordLimits};

/// One pipeline: its sources, the datasets it produces, and what is expected of them.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// `{family}.{name}`, equal to the file's place: `census.acs5` is `census/acs5.toml`.
    pub pipeline_id: String,
    /// The code that makes the tables, by its name in `datasets::BUILDERS`. None where nothing is
    /// produced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder: Option<String>,
    pub title: String,
    pub publisher: String,
    pub licence: String,
    pub homepage: String,
    pub cadence: Cadence,
    /// When the publisher issues the files; by the cadence alone where it is not known better.
    pub calendar: Option<Calendar>,
    /// Whether the files may be shown as they are. Where it is not said, they may tell of persons
    /// what is not published of them (streets, telephones, e-mail), and of their bytes only what is
    /// published is shown. It decides no record, and is not hashed.
    #[serde(default, skip_serializing)]
    pub open: bool,
    /// FIPS codes of the areas whose records these are: `us`, a state's two digits, a county's
    /// five, a place's seven, and `1208699990` for what of a county is in no place. Empty where
    /// records are of no area, or the tables say which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<String>,
    /// Datasets built by this pipeline. Empty for a pipeline that only supplies sources to others.
    pub produces: Vec<String>,
    /// Sources of other declarations that the build also reads.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Pipelines whose tables the build reads: it makes them again, from the same snapshots and by
    /// the same code. All their sources are `inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<String>,
    /// Range of partitions to look for, when the datasets are partitioned.
    pub partition: Option<PartitionRange>,
    #[serde(rename = "source", default)]
    pub sources: Vec<Source>,
    /// How a build that is too large for memory is split.
    pub buckets: Option<Buckets>,
    /// What is expected of each produced dataset, by dataset id.
    #[serde(default)]
    pub expect: BTreeMap<String, Expectations>,
    /// Facts that only this pipeline's Rust reads; checked by it.
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
    /// Length of one publishing period in days.
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

/// What the layout of a source is known from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Kind of what showed it.
    pub kind: EvidenceKind,
    /// Month of the newest file or page that showed it: `2026-02`.
    #[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}$"))]
    pub seen: String,
}

/// Kind of what showed the layout of a source.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceKind {
    /// A file of the publisher, in the layout that is declared.
    File,
    /// Records of the publisher: some of them, an older or reduced copy, or the same in another
    /// container.
    Excerpt,
    /// Documentation alone: no file has been seen.
    Documented,
}

/// What the layout of all that a pipeline's build needs is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayoutEvidence {
    /// From files or records of the publisher.
    File,
    /// From documentation alone.
    Documented,
    /// From documentation, and a person has since looked at what the publisher's files became
    /// (`pubdata accept`).
    Confirmed,
}

impl Declaration {
    /// What the layout of the sources is known from that a build cannot do without: of how many
    /// rows and what is odd among them nobody can say anything who has seen no record of any. A
    /// person's confirmation does not count here.
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

/// Candidate partitions by number, such as survey years. A candidate at either end none of whose
/// files exists is not published; a candidate between published ones with missing files is a
/// missing source.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionRange {
    /// URL variable, such as `vintage`.
    pub variable: String,
    /// Contract column that holds the value, such as `vintage_year`.
    pub column: String,
    pub from: i32,
    /// None where there is no end: the newest is what the pipeline's calendar says can be there.
    pub to: Option<i32>,
    /// What to say when someone asks for an earlier one.
    pub earlier: String,
}

/// One file, or one family of files that differ in URL variables only.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Name of the feed, unique over all declarations, such as `census.acs5_table`.
    pub source_id: String,
    /// What the layout is known from: it decides no record.
    #[serde(skip_serializing)]
    pub evidence: Evidence,
    /// URL template. `{name}` is a variable, `{name-4}` an integer variable less 4, `{NAME}` a
    /// variable in upper case, `{env:NAME}` a secret from the environment that is left out of every
    /// record of the URL. `bundled:PATH` is a file beside the declarations.
    pub url: String,
    /// A variable whose values people name (`pubdata fetch --cik`): such files are never asked for
    /// by a run, and those that were fetched after the declaration's other files count until these
    /// are fetched again.
    pub on_demand: Option<String>,
    /// Values of the variables, other than the partition's.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// When the publisher issues this file, where it is not when the pipeline's calendar says.
    pub calendar: Option<Calendar>,
    /// Hosts that the publisher's server may send on to, besides those of its own domain: a name,
    /// or `*.name` for all below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// A secret that a portal takes in a header, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_token: Option<AppToken>,
    /// How to log in, where the URL is `sftp://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sftp: Option<SftpLogin>,
    /// Whether a person fetches the file, because the publisher's site refuses programs: `pubdata
    /// import` takes it, and a run asks nobody.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_hand: bool,
    /// How the publisher hands out a list in pages, where it has no file of the whole.
    pub pages: Option<Pages>,
    /// How files are found whose names change, on the page that the URL is.
    pub listing: Option<Listing>,
    /// The publisher's own label for the bytes, a template as the URL.
    pub source_version: String,
    pub format: Format,
    /// The archive member to read: a name or `*.csv`, a template as the URL. Present exactly when
    /// the file is a ZIP archive; with `listing`, of those files whose names end in `.zip`.
    pub member: Option<String>,
    /// The archive members to read one by one: a name with one `*`, such as `CIK*.json`. The file
    /// is a ZIP archive of many documents.
    pub members: Option<String>,
    /// A member larger than this is not read.
    #[serde(default = "default_max_member_bytes")]
    pub max_member_bytes: u64,
    /// Our column names and the publisher's names for them (several when the name changed over the
    /// years).
    #[serde(default)]
    pub columns: BTreeMap<String, Vec<String>>,
    /// Mapped columns that some files do not have.
    #[serde(default)]
    pub optional_columns: Vec<String>,
    /// Whether a column that is neither mapped nor ignored stops the build. It is published as a
    /// finding otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub closed: bool,
    /// Publisher's columns that are not used. `#` stands for one digit; variables as in the URL.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// A file smaller than this is not the file. Lifted for a mirror of samples.
    #[serde(default)]
    pub min_bytes: u64,
    /// A file larger than this is refused, before and after decompression.
    #[serde(default = "default_max_bytes")]
    pub max_bytes: u64,
    /// A file that lost more of its size than this since the last release, percent, is not
    /// believed: its datasets keep their last build.
    #[serde(default = "default_max_shrink_percent")]
    pub max_shrink_percent: f64,
    /// The publisher's date of a bundled file, `YYYY-MM-DD`.
    pub source_date: Option<String>,
    /// What says when the file last changed, where the file itself does not.
    pub dated_by: Option<DatedBy>,
    /// Whether the build can do without it where it is not published or its secret is not
    /// configured.
    #[serde(default = "yes")]
    pub required: bool,
    /// Whether the build is made of those of the source's files that came, such as the states' of a
    /// register of several; one that did not come is a finding.
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
    /// A value that it has.
    pub fn first(&self) -> Option<&str> {
        match self {
            Self::Values(values) => values.first().map(String::as_str),
            Self::Range(range) => Some(&range.from),
        }
    }

    /// Its values, in order.
    pub fn values(&self) -> &[String] {
        match self {
            Self::Values(values) => values,
            Self::Range(_) => &[],
        }
    }

    /// Puts values that mean a set in order.
    pub(super) fn sort(&mut self) {
        if let Self::Values(values) = self {
            values.sort();
        }
    }
}

/// Labels of publishing periods, one after the other: years, quarters, months or days, in the form
/// of the first. Nobody types them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRange {
    /// The first label: `2009` (years), `2425` (school years), `2009/QTR2`, `2026-09`,
    /// `September_2026`, `20230929` or `2023-09-29`.
    pub from: String,
    /// The last label, or `now`: the newest that the source's calendar says can be there.
    pub to: String,
    /// Only the newest so many, where the publisher takes older files away or a later full file
    /// holds what they say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
}

/// When a publisher issues a file. The edition of a period is there `after` the period's first day,
/// and late `grace` after that.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    pub every: Every,
    /// From the period's first day to the first on which its edition can be there: `15 days`, `23
    /// months`. None is the first day itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Time of the day and its zone: `03:00 America/New_York`. None is the day's beginning in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// How much later than that an edition may be before it is late; until the next one can be
    /// there where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
}

/// A publishing period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    Day,
    /// Monday to Friday but for the holidays of the federal government.
    BusinessDay,
    /// Begins on Monday.
    Week,
    Month,
    Quarter,
    Year,
    /// No other edition is to come: the file is history.
    Never,
}

/// A secret that is sent in a header of each request, when it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AppToken {
    /// `X-App-Token`.
    pub header: String,
    /// The environment variable that holds it.
    pub variable: String,
}

/// A build in buckets: the rows of all sources are split by the hash of one column, and each bucket
/// is built by itself.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// How many; 1 is a build that is not split.
    pub count: u32,
    /// Our name of the column, the same in every source that is split. A source without it is given
    /// to each bucket whole.
    pub key: String,
    /// The column that counts where the key is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_key: Option<String>,
}

/// A JSON object that a publisher keeps about a file, as Socrata does about each list.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DatedBy {
    /// URL template, as the source's.
    pub url: String,
    /// Name of the member that is the instant of the last change, seconds since 1970-01-01.
    pub seconds: String,
    /// While that instant stays, the file is fetched in every n-th run only; in every run when
    /// absent. Has no effect on records.
    #[serde(default, skip_serializing)]
    pub whole_every: Option<u32>,
}

/// A list that comes page by page: pages are fetched until one has fewer records than it could.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The URL's variable that is the number of records before the page.
    pub variable: String,
    /// Records of a full page, as the URL asks for them.
    pub records: u64,
    /// Where the publisher says how many records there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<CountQuery>,
}

/// A JSON document that says how many records a list has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CountQuery {
    /// URL template, as the source's.
    pub url: String,
    /// Names, and numbers of places in arrays, that lead to the number, joined by `.`: `count`,
    /// `result.total`, `0.count`.
    pub member: String,
}

/// Syntax of a file. Knows nothing of agencies.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// Delimiter-separated text with a header line, or with declared column names.
    Delimited {
        /// The delimiter; several when the publisher changed it: the one that occurs most in the
        /// header line is taken.
        delimiters: Vec<char>,
        /// Whether `"` quotes a cell. When false a quotation mark is an ordinary character.
        quoting: bool,
        /// The character that stands before a quotation mark inside a quoted cell, where the
        /// publisher does not double it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escape: Option<char>,
        /// Column names of a file without a header line. Where a copy begins with them all the
        /// same, that line is no record.
        #[serde(default)]
        header: Vec<String>,
        /// Fewest cells of a record, where some are shorter than the header: the others are empty.
        fewest_cells: Option<usize>,
        /// Lines after the header that are labels, not data.
        #[serde(default)]
        label_lines: u32,
        /// What the header line begins with, in a file with a preamble: lines before it are not
        /// data.
        header_start: Option<String>,
        /// The character that the line after the header consists of.
        ruler: Option<char>,
        /// Whether column names are compared in normalized form
        /// ([`normalized_name`](super::normalized_name)): one mapping then reads a publisher's
        /// exports and its API.
        #[serde(default)]
        normalized_header: bool,
        #[serde(default)]
        encoding: Encoding,
    },
    /// Lines of one length whose cells stand at fixed places.
    FixedWidth {
        /// Bytes of a record, without the line's end.
        record_bytes: u32,
        #[serde(default)]
        encoding: Encoding,
        /// The publisher's name of each field, its first byte (counted from 1) and its number of
        /// bytes.
        fields: BTreeMap<String, [u32; 2]>,
    },
    /// A JSON array of arrays of strings whose first row is the header (Census Data API).
    JsonRows,
    /// A JSON array of objects, each a record (Socrata, ArcGIS, CKAN). Attributes of objects inside
    /// a record are named by both, joined by `.`.
    JsonRecords {
        /// Names that lead from the document to the array, joined by `.`: `features`,
        /// `result.records`. None when the document is the array.
        records: Option<String>,
        /// Whether names of attributes are compared in normalized form
        /// ([`normalized_name`](super::normalized_name)); a `.` is then `_` too.
        #[serde(default)]
        normalized_header: bool,
    },
    /// A sheet of a spreadsheet workbook (Office Open XML), which is the archive's member
    /// `xl/worksheets/sheetN.xml`; its first row is the header.
    Xlsx,
    /// A document, or an archive of them, whose structure the dataset's own code knows.
    Document { syntax: Syntax },
}

/// What the bytes of a text stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub enum Encoding {
    /// A record that is not UTF-8 is malformed.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As WHATWG, "Encoding", has it: every byte is a character.
    #[serde(rename = "windows-1252")]
    Windows1252,
    /// ISO-8859-1: every byte is the character of that number.
    #[serde(rename = "latin-1")]
    Latin1,
    /// For files that were put together from both: a cell that is UTF-8 is read so, any other as
    /// windows-1252.
    #[serde(rename = "utf-8-or-windows-1252")]
    Utf8OrWindows1252,
}

/// What a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    Json,
    Xml,
}

impl Source {
    /// Whether the file is a ZIP archive.
    pub fn is_archive(&self) -> bool {
        self.member.is_some() || self.members.is_some()
    }
}

/// Totals a build must reach. A floor that is missed blocks the dataset; a ceiling warns.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// Fewest rows per partition. Lifted for a mirror of samples.
    pub min_rows: u64,
    /// Most rows per partition.
    pub max_rows: u64,
    /// Largest loss of rows against the last release, percent; more blocks.
    pub max_shrink_percent: f64,
    /// Largest gain of rows against the last release, percent; more warns.
    pub max_growth_percent: f64,
    /// Share of quarantined rows that is worth a warning, percent.
    pub warn_quarantined_percent: f64,
    /// Share of quarantined rows that blocks, percent.
    pub max_quarantined_percent: f64,
    /// Share of published rows with a warning that blocks, percent, by the warning's code. Not
    /// judged below [`FEWEST_ROWS_FOR_WARNED_SHARE`] rows.
    #[serde(default)]
    pub max_warned_percent: BTreeMap<String, f64>,
    /// How far its columns may be from the last release.
    #[serde(default, skip_serializing_if = "Drift::is_default")]
    pub drift: Drift,
    /// By coded column, how many records may have a text whose meaning is not known, where it
    /// differs from the defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, WordLimits>,
}

impl Expectations {
    /// What can be expected where no file has been seen: floors and shares are guesses about the
    /// layout as much as about the data, so that what passes is published and a person decides.
    #[must_use]
    pub fn of_unseen_layout(&self) -> Self {
        Self {
            min_rows: self.min_rows.min(1),
            max_quarantined_percent: 100.0,
            max_warned_percent: BTreeMap::new(),
            ..self.clone()
        }
    }
}

/// A few rows say nothing of a share.
pub const FEWEST_ROWS_FOR_WARNED_SHARE: u64 = 100;

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
