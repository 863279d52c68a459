//! Reads the settings of `sec.financials`, checks them and compiles them into rules. The rules
//! cover measures, statement lines and thresholds, with indexes instead of names.

use serde::Deserialize;

use crate::datasets::Fault;
use crate::datasets::sec::fact::{Amount, Unit};
use crate::datasets::sec::financials::warnings::Warning;
use pubdata_core::contract::parse_decimal;

/// Number of decimal places in an [`Amount`].
const SCALE: i8 = 10;

type Result<T> = std::result::Result<T, Fault>;

/// The declaration's settings as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    calendar: Vec<String>,
    cover_evidence: String,
    pub bands: Bands,
    pub calendar_days: CalendarDays,
    pub label_offset: LabelOffset,
    pub persistence: Persistence,
    restatement: RestatementText,
    checks: ChecksText,
    #[serde(rename = "measure")]
    measures: Vec<MeasureText>,
    statements: Statements,
}

/// Lengths of durations in days, as lower and upper bounds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bands {
    pub quarter: [i32; 2],
    pub half: [i32; 2],
    pub nine_months: [i32; 2],
    pub year: [i32; 2],
    pub since_inception: i32,
}

/// Distances from the ends of fiscal years and other periods, in days.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalendarDays {
    pub after_year_end: i32,
    pub q1: i32,
    pub q2: i32,
    pub q3: i32,
    pub instant: i32,
    pub ytd_start: i32,
    pub same_end: i32,
    pub same_start: i32,
    pub same_figure_start: i32,
    pub same_period: i32,
    pub off_calendar: i32,
    pub label: i32,
}

/// Thresholds for companies whose annual reports name the year one lower than the date indicates.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelOffset {
    pub min_reports: usize,
    pub min_percent: usize,
}

/// Thresholds for a concept that appears on the face of the statement.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persistence {
    pub days: i32,
    pub percent: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RestatementText {
    max_scale: usize,
    scale_percent: u32,
    coarse_figure_factor: i64,
    rounded_ppm: i64,
    per_share_unit: String,
    split_ratios: Vec<String>,
    split_permille: i64,
    scale_factors: Vec<i64>,
    scale_permille: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChecksText {
    implied_shares_percent: i64,
    min_eps: String,
    max_days_to_file: i32,
    quarter_sum_percent: i64,
    neighbour_factor: i64,
    share_jump_factor: i64,
    share_scale_factor: i64,
    share_scales: Vec<i64>,
    share_contradiction_percent: i64,
    balance_percent: i64,
    temporary_equity: Vec<String>,
    noncontrolling_equity: Vec<String>,
    profit: String,
    noncontrolling_income: Vec<String>,
    net_income_percent: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasureText {
    key: String,
    #[serde(default)]
    metric: bool,
    unit: UnitText,
    kind: Kind,
    #[serde(default)]
    by_order: bool,
    concepts: Vec<String>,
    #[serde(default)]
    last_resort: Vec<String>,
    /// Two concepts that name parts of the figure.
    parts: Option<[String; 2]>,
    /// Concepts that may name a part, and concepts that name the total.
    part: Option<PartText>,
    /// True if the concepts differ in scope, so that a concept never replaces one that precedes it
    /// in the list.
    #[serde(default)]
    is_scoped: bool,
    /// True if a zero never counts as a new figure.
    #[serde(default)]
    is_never_zero: bool,
    /// Warnings for figures under certain concepts.
    #[serde(default)]
    warn: Vec<WarningText>,
    /// Concepts for the same line that are not used.
    #[serde(default)]
    other_concepts: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartText {
    concepts: Vec<String>,
    totals: Vec<String>,
    min_reports: usize,
    larger_percent: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WarningText {
    code: String,
    concepts: Vec<String>,
    beside: Vec<String>,
    #[serde(default)]
    exceeding: bool,
    #[serde(default)]
    without: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum UnitText {
    #[serde(rename = "USD")]
    Usd,
    #[serde(rename = "USD/shares")]
    UsdPerShare,
    #[serde(rename = "shares")]
    Shares,
}

/// Kind of facts that a measure uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Facts over a period.
    Duration,
    /// Facts at the end of a period.
    Instant,
    /// Facts at the date of the filing's cover page.
    Cover,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Statements {
    income: Vec<LineText>,
    balance: Vec<LineText>,
    cash_flow: Vec<LineText>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineText {
    line: String,
    label: String,
}

/// Checked settings for selection, with indexes instead of names.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Wanted concepts as `taxonomy:Name`, sorted. A fact's `concept` is an index into this list.
    pub concepts: Vec<String>,
    /// For each wanted concept, the measures that use it and its rank in their lists.
    pub uses: Vec<Vec<(usize, u16)>>,
    /// Measures, sorted by key.
    pub measures: Vec<Measure>,
    /// Lines in the order in which they appear in the statements.
    pub lines: Vec<Line>,
    /// Measures that show the fiscal calendar.
    pub calendar: Vec<usize>,
    pub cover_evidence: u16,
    /// By concept: true if the concept's facts are looked up to complement the figures of measures.
    pub is_beside: Vec<bool>,
    pub bands: Bands,
    pub days: CalendarDays,
    pub label_offset: LabelOffset,
    pub persistence: Persistence,
    pub restatement: Restatement,
    pub checks: Checks,
}

/// A figure to read, with its unit and concepts.
#[derive(Debug, Clone)]
pub struct Measure {
    pub key: String,
    /// True for the eight metrics, whose observations are all published.
    pub is_metric: bool,
    pub unit: Unit,
    pub kind: Kind,
    /// True if the first tagged concept wins, regardless of how often other concepts are tagged.
    pub by_order: bool,
    /// Concepts, preferred first.
    pub concepts: Vec<u16>,
    /// Rank of the first concept that is used only if no other concept is available.
    pub first_last_resort: u16,
    /// Ranks of two concepts. Neither is the figure if a report states both.
    pub parts: Option<[u16; 2]>,
    pub part: Option<Part>,
    /// True if the concepts differ in scope, so that a figure under one concept never replaces a
    /// figure under a concept that precedes it in the list.
    pub is_scoped: bool,
    /// True if a zero never replaces another figure.
    pub is_never_zero: bool,
    pub warnings: Vec<ConceptWarning>,
    /// Concepts for the same line that are not used, listed as the reason for a missing figure.
    pub other_concepts: Vec<u16>,
}

/// Concepts that name part of the figure in reports by companies that also tag a larger total.
#[derive(Debug, Clone)]
pub struct Part {
    /// Ranks of these concepts.
    pub concepts: Vec<u16>,
    pub totals: Vec<u16>,
    pub min_reports: usize,
    pub larger_percent: i128,
}

/// Warning for figures under certain concepts, if the same report tags another concept for the same
/// period.
#[derive(Debug, Clone)]
pub struct ConceptWarning {
    pub warning: Warning,
    /// Ranks of these concepts.
    pub concepts: Vec<u16>,
    pub beside: Vec<u16>,
    /// True if the warning requires a larger figure under the other concept.
    pub exceeding: bool,
    /// Ranks of the measure's concepts that no report may tag.
    pub without: Vec<u16>,
}

/// A line in a statement.
#[derive(Debug, Clone)]
pub struct Line {
    pub statement: &'static str,
    pub key: String,
    pub label: String,
    pub measure: usize,
}

/// Thresholds that decide whether a later figure is a restatement, and of which kind.
#[derive(Debug, Clone)]
pub struct Restatement {
    pub max_scale: usize,
    pub scale_percent: u32,
    pub coarse_figure_factor: i128,
    /// Maximum difference between the first figure and its nearest rounding, in millionths of the
    /// figure.
    pub rounded_ppm: i128,
    pub per_share_unit: Amount,
    /// Split ratios in tenths: 3 for 2 is 15.
    pub split_tenths: Vec<i128>,
    pub split_permille: i128,
    pub scale_factors: Vec<i128>,
    pub scale_permille: i128,
}

/// Thresholds for the checks between records, and the measures that they compare.
#[derive(Debug, Clone)]
pub struct Checks {
    pub implied_shares_percent: i128,
    pub min_eps: Amount,
    pub max_days_to_file: i32,
    pub quarter_sum_percent: i128,
    pub neighbour_factor: i128,
    pub share_jump_factor: i128,
    /// Powers of ten by which share counts are misstated. The next field is the maximum factor by
    /// which a corrected count may then differ from the figures that imply it.
    pub share_scales: Vec<i128>,
    pub share_scale_factor: i128,
    /// Difference between an implied number of shares and the count for one class of stock, in
    /// percent of the smaller number.
    pub share_contradiction_percent: i128,
    pub balance_percent: i128,
    pub temporary_equity: Vec<u16>,
    pub noncontrolling_equity: Vec<u16>,
    /// Rank of profit including noncontrolling interest among the net income concepts.
    pub profit: u16,
    pub noncontrolling_income: Vec<u16>,
    pub net_income_percent: i128,
    pub net_income: usize,
    pub eps: usize,
    pub shares_basic: usize,
    pub shares_diluted: usize,
    pub shares_outstanding: usize,
    pub assets: usize,
    pub liabilities: usize,
    pub current_liabilities: usize,
    pub equity: usize,
    pub liabilities_and_equity: usize,
}

impl Rules {
    /// Checks the settings and resolves the names in them.
    ///
    /// # Errors
    /// `Config`, naming the invalid key.
    pub fn new(settings: &Settings) -> Result<Self> {
        let mut texts: Vec<&MeasureText> = settings.measures.iter().collect();
        texts.sort_by(|a, b| a.key.cmp(&b.key));
        if let Some(pair) = texts.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(wrong(&format!(
                "measure `{}` is declared twice",
                pair[0].key
            )));
        }
        let of_measures = texts.iter().flat_map(|text| {
            text.concepts
                .iter()
                .chain(&text.last_resort)
                .chain(&text.other_concepts)
        });
        let beside: Vec<&String> = texts
            .iter()
            .flat_map(|text| text.warn.iter().flat_map(|warning| &warning.beside))
            .chain(settings.checks.beside())
            .collect();
        let mut concepts: Vec<String> = of_measures
            .chain(beside.iter().copied())
            .chain([&settings.cover_evidence])
            .cloned()
            .collect();
        concepts.sort_unstable();
        concepts.dedup();
        if let Some(concept) = concepts.iter().find(|concept| {
            concept
                .split_once(':')
                .is_none_or(|(taxonomy, name)| taxonomy.is_empty() || name.is_empty())
        }) {
            return Err(wrong(&format!(
                "concept `{concept}` is not `taxonomy:Name`"
            )));
        }
        if concepts.len() > usize::from(u16::MAX) {
            return Err(wrong("too many concepts"));
        }
        let position = |name: &String| {
            concepts
                .binary_search(name)
                .ok()
                .and_then(|position| u16::try_from(position).ok())
                .unwrap_or(u16::MAX)
        };
        let mut uses = vec![Vec::new(); concepts.len()];
        let mut measures = Vec::with_capacity(texts.len());
        for (number, text) in texts.iter().enumerate() {
            let measure = text.resolve(position)?;
            for (concept, rank) in measure.concepts.iter().zip(0_u16..) {
                uses[usize::from(*concept)].push((number, rank));
            }
            measures.push(measure);
        }
        let find = |key: &str| {
            measures
                .binary_search_by(|measure| measure.key.as_str().cmp(key))
                .map_err(|_| wrong(&format!("there is no measure `{key}`")))
        };
        let calendar = settings
            .calendar
            .iter()
            .map(|key| find(key))
            .collect::<Result<Vec<_>>>()?;
        if let Some(number) = calendar
            .iter()
            .find(|number| measures[**number].kind != Kind::Duration)
        {
            return Err(wrong(&format!(
                "calendar: `{}` is not a duration",
                measures[*number].key
            )));
        }
        let cover_evidence = position(&settings.cover_evidence);
        let mut is_beside = vec![false; concepts.len()];
        beside
            .into_iter()
            .for_each(|name| is_beside[usize::from(position(name))] = true);
        let lines = settings.statements.lines(&find)?;
        let checks = settings.checks.resolve(&find, &measures, position)?;
        Ok(Self {
            cover_evidence,
            is_beside,
            uses,
            lines,
            calendar,
            bands: settings.bands,
            days: settings.calendar_days,
            label_offset: settings.label_offset,
            persistence: settings.persistence,
            restatement: settings.restatement.resolve()?,
            checks,
            measures,
            concepts,
        })
    }

    /// Returns a concept's name in the format `taxonomy:Name`.
    pub fn concept(&self, position: u16) -> &str {
        &self.concepts[usize::from(position)]
    }

    /// Returns the metrics as indexes into the measures, in key order.
    pub fn metrics(&self) -> impl Iterator<Item = usize> {
        (0..self.measures.len()).filter(|number| self.measures[*number].is_metric)
    }
}

impl MeasureText {
    fn resolve(&self, position: impl Fn(&String) -> u16) -> Result<Measure> {
        let concepts: Vec<u16> = self
            .concepts
            .iter()
            .chain(&self.last_resort)
            .map(&position)
            .collect();
        if self.concepts.is_empty() {
            return Err(wrong(&format!("measure `{}` names no concept", self.key)));
        }
        let unit = match self.unit {
            UnitText::Usd => Unit::Usd,
            UnitText::UsdPerShare => Unit::UsdPerShare,
            UnitText::Shares => Unit::Shares,
        };
        let first_last_resort =
            u16::try_from(self.concepts.len()).map_err(|_| wrong("too many concepts"))?;
        let rank = |name: &String| {
            let rank = self
                .concepts
                .iter()
                .position(|known| known == name)
                .and_then(|rank| u16::try_from(rank).ok());
            rank.ok_or_else(|| {
                wrong(&format!(
                    "measure `{}`: `{name}` is none of its concepts",
                    self.key
                ))
            })
        };
        let ranks = |names: &[String]| names.iter().map(rank).collect::<Result<Vec<u16>>>();
        let parts = self
            .parts
            .as_ref()
            .map(|[one, other]| Ok([rank(one)?, rank(other)?]))
            .transpose()?;
        let part = self.part.as_ref().map(|part| {
            let PartText {
                concepts,
                totals,
                min_reports,
                larger_percent,
            } = part;
            Ok(Part {
                concepts: ranks(concepts)?,
                totals: ranks(totals)?,
                min_reports: *min_reports,
                larger_percent: (*larger_percent).into(),
            })
        });
        let warnings = self.warn.iter().map(|text| {
            let warning = Warning::from_code(&text.code).ok_or_else(|| {
                wrong(&format!(
                    "measure `{}`: `{}` is not a warning",
                    self.key, text.code
                ))
            })?;
            let beside = text.beside.iter().map(&position).collect();
            Ok(ConceptWarning {
                warning,
                concepts: ranks(&text.concepts)?,
                beside,
                exceeding: text.exceeding,
                without: ranks(&text.without)?,
            })
        });
        Ok(Measure {
            key: self.key.clone(),
            is_metric: self.metric,
            unit,
            kind: self.kind,
            by_order: self.by_order,
            first_last_resort,
            parts,
            part: part.transpose()?,
            is_scoped: self.is_scoped,
            is_never_zero: self.is_never_zero,
            warnings: warnings.collect::<Result<_>>()?,
            other_concepts: self.other_concepts.iter().map(&position).collect(),
            concepts,
        })
    }
}

impl Statements {
    fn lines(&self, find: &impl Fn(&str) -> Result<usize>) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        for (statement, texts) in [
            ("balance", &self.balance),
            ("cash_flow", &self.cash_flow),
            ("income", &self.income),
        ] {
            for text in texts {
                lines.push(Line {
                    statement,
                    key: text.line.clone(),
                    label: text.label.clone(),
                    measure: find(&text.line)?,
                });
            }
        }
        // Order of the published rows, which therefore need no sorting.
        lines.sort_by(|a, b| (a.statement, &a.key).cmp(&(b.statement, &b.key)));
        Ok(lines)
    }
}

impl RestatementText {
    fn resolve(&self) -> Result<Restatement> {
        let tenths = |text: &String| {
            parse_decimal(text, 1)
                .filter(|tenths| *tenths > 10)
                .ok_or_else(|| wrong(&format!("split ratio `{text}` is not above 1, in tenths")))
        };
        Ok(Restatement {
            max_scale: self.max_scale,
            scale_percent: self.scale_percent,
            coarse_figure_factor: self.coarse_figure_factor.into(),
            rounded_ppm: self.rounded_ppm.into(),
            per_share_unit: amount(&self.per_share_unit)?,
            split_tenths: self
                .split_ratios
                .iter()
                .map(tenths)
                .collect::<Result<_>>()?,
            split_permille: self.split_permille.into(),
            scale_factors: self.scale_factors.iter().copied().map(i128::from).collect(),
            scale_permille: self.scale_permille.into(),
        })
    }
}

impl ChecksText {
    /// Returns the concepts that are compared with measures' figures.
    fn beside(&self) -> impl Iterator<Item = &String> {
        self.temporary_equity
            .iter()
            .chain(&self.noncontrolling_equity)
            .chain(&self.noncontrolling_income)
    }

    fn resolve(
        &self,
        find: &impl Fn(&str) -> Result<usize>,
        measures: &[Measure],
        position: impl Fn(&String) -> u16,
    ) -> Result<Checks> {
        let positions = |names: &[String]| names.iter().map(&position).collect::<Vec<_>>();
        let profit = measures[find("net_income")?]
            .concepts
            .iter()
            .zip(0_u16..)
            .find(|(concept, _)| **concept == position(&self.profit));
        Ok(Checks {
            share_scales: self.share_scales.iter().copied().map(i128::from).collect(),
            share_scale_factor: self.share_scale_factor.into(),
            share_contradiction_percent: self.share_contradiction_percent.into(),
            balance_percent: self.balance_percent.into(),
            temporary_equity: positions(&self.temporary_equity),
            noncontrolling_equity: positions(&self.noncontrolling_equity),
            profit: profit
                .map(|(_, rank)| rank)
                .ok_or_else(|| wrong(&format!("`{}` is no concept of net income", self.profit)))?,
            noncontrolling_income: positions(&self.noncontrolling_income),
            net_income_percent: self.net_income_percent.into(),
            implied_shares_percent: self.implied_shares_percent.into(),
            min_eps: amount(&self.min_eps)?,
            max_days_to_file: self.max_days_to_file,
            quarter_sum_percent: self.quarter_sum_percent.into(),
            neighbour_factor: self.neighbour_factor.into(),
            share_jump_factor: self.share_jump_factor.into(),
            net_income: find("net_income")?,
            eps: find("eps_diluted")?,
            shares_basic: find("shares_basic")?,
            shares_diluted: find("shares_diluted")?,
            shares_outstanding: find("shares_outstanding")?,
            assets: find("total_assets")?,
            liabilities: find("total_liabilities")?,
            current_liabilities: find("current_liabilities")?,
            equity: find("stockholders_equity")?,
            liabilities_and_equity: find("total_liabilities_and_equity")?,
        })
    }
}

fn amount(text: &str) -> Result<Amount> {
    parse_decimal(text, SCALE)
        .map(Amount)
        .ok_or_else(|| wrong(&format!("`{text}` is not a decimal number")))
}

fn wrong(message: &str) -> Fault {
    Fault::in_settings("", message)
}
