use crate::ids::AccessionNumber;
use crate::normalise::Day;

/// One fact of a companyfacts member, undimensioned, as filed: what a company reported for one concept, unit and period in one filing.
///
/// `fy` and `fp` are the filing's, not the fact's, and the SEC rewrites them: they are only ever compared with what the dates say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// Position of the concept in the list of wanted concepts.
    pub concept: u16,
    pub unit: Unit,
    /// First day of a duration; none for an instant.
    pub start: Option<Day>,
    /// Last day of a duration, or the instant.
    pub end: Day,
    pub value: Amount,
    pub accession: AccessionNumber,
    pub form: Form,
    pub filed: Day,
    /// The filing's fiscal year and period as the SEC stamps them.
    pub fy: Option<i16>,
    pub fp: Option<FilingPeriod>,
    /// Place of the fact's JSON object in the member, from `{` to `}`.
    pub offset: u32,
    pub length: u32,
}

/// An exact decimal: so many units of 10^-10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(pub i128);

/// Units that metrics and statement lines are published in. A fact in another unit is kept as `Other`: never converted, never published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    Usd,
    UsdPerShare,
    Shares,
    Other,
}

/// Form type of the filing that reported a fact. Only periodic reports enter a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    TenK,
    TenKA,
    TenKT,
    TenKTA,
    TenQ,
    TenQA,
    TenQT,
    TenQTA,
    Other,
}

/// The SEC's fiscal period stamp of a filing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilingPeriod {
    Fy,
    Q1,
    Q2,
    Q3,
    Q4,
}

/// What one companyfacts member holds, as far as it is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompanyFacts {
    /// The key in the member; the file name is trusted, this is compared with it.
    pub cik: u64,
    /// May be a co-registrant's: never published as the company's name.
    pub entity_name: String,
    /// Facts of wanted concepts, in member order.
    pub facts: Vec<Fact>,
    /// All facts of the member, wanted or not.
    pub facts_total: u64,
    /// Taxonomies of the member, in member order.
    pub taxonomies: Vec<String>,
    /// Facts of wanted concepts that are not as the format says, with why.
    pub malformed: Vec<MalformedFact>,
}

/// A fact that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedFact {
    pub concept: u16,
    pub detail: String,
    pub offset: u32,
    pub length: u32,
}
