//! Builds the figure of one period for answers.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{Date, Decimal};
use crate::http::endpoint::Call;
use crate::release::bucketed::Bucket;
use crate::release::key_columns::cell;
use crate::release::provenance::{Provenance, ProvenanceWriter};
use crate::sec::figure::{Figure, is_amendment, stated_period};
use crate::sec::owners::Owned;
use crate::sec::report::{Report, ReportedValue, Reports};
use crate::sec::tables::{SecTables, VALUES};
use crate::sec::value_table::ValueTable;
use crate::sec::versions::RestatementKind;
use pubdata_core::ids::Cik;

// The figure of a period, or the reason why it is missing.
#[derive(Default, Serialize, JsonSchema)]
pub struct PeriodFigure<'a> {
    #[schemars(title = "FinancialMetric", extend("$field" = "sec.financial_value/metric"))]
    metric: &'a str,
    /// The company's own fiscal year. It is only a label; the dates identify the period.
    fiscal_year: Option<i32>,
    #[schemars(title = "FiscalPeriod", extend("$field" = "sec.financial_value/fiscal_period"))]
    fiscal_period: Option<&'a str>,
    /// First day; null for a balance or a share count, which holds on the single day `period_end`.
    period_start: Option<Date>,
    /// Last day of the period, or the day of the balance.
    period_end: Option<Date>,
    #[schemars(extend("$field" = "sec.financial_value/as_of_date"))]
    as_of_date: Option<Date>,
    /// Exact figure as filed, from the report whose figure counts. This is the last report, except
    /// for rounded repetitions and figures with noncontrolling interest.
    value: Option<Decimal>,
    #[schemars(title = "FinancialUnit", extend("$field" = "sec.financial_value/unit"))]
    unit: &'a str,
    /// True if the figure covers more than one quarter from the fiscal year's first day; false for
    /// a first quarter, a year and a balance.
    is_ytd: Option<bool>,
    #[schemars(extend("$field" = "sec.financial_value/concept"))]
    concept: Option<&'a str>,
    #[serde(flatten)]
    report: Report<'a>,
    /// True if the form amends an earlier form.
    is_amendment: Option<bool>,
    /// True if the value differs from the value first reported for the period by more than
    /// rounding, and no report states both values under their own concepts.
    is_restated: Option<bool>,
    /// Kind of the last restatement: another value for the concept; another value under another
    /// concept; another share basis; or the correction of a figure that was wrong by a factor of
    /// thousands. Null unless the figure was restated.
    restatement_kind: Option<RestatementKind>,
    /// True if a later report stated another value under another concept, which may measure
    /// something else.
    concept_changed: Option<bool>,
    /// The figure as first reported; null unless it was restated.
    first_reported: Option<ReportedValue<'a>>,
    #[schemars(extend("$field" = "sec.financial_value/conflicts"))]
    conflicts: Vec<String>,
    /// `period_not_reported`; `not_in_span` if the company reported the period with the other span;
    /// `filed_not_in_archive` if the report was filed but the facts archive lacks its figures; or
    /// the reason why the company has no value at all. Without a value, the fields that describe
    /// the report are null.
    null_reason: Option<&'a str>,
    #[schemars(extend("$field" = "sec.financial_value/warnings"))]
    warnings: Vec<&'a str>,
}

impl<'a> PeriodFigure<'a> {
    /// Builds a period without a figure, with the reason.
    pub fn absent(
        (metric, unit): (&'a str, &'a str),
        (fiscal_year, fiscal_period): (i32, &'a str),
        null_reason: &'a str,
    ) -> Self {
        let (fiscal_year, fiscal_period) = (Some(fiscal_year), Some(fiscal_period));
        Self {
            metric,
            fiscal_year,
            fiscal_period,
            unit,
            null_reason: Some(null_reason),
            ..Self::default()
        }
    }
}

/// The figure of a period, with its provenance.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = with_value)]
pub struct FinancialValue<'a> {
    #[serde(flatten)]
    figure: PeriodFigure<'a>,
    /// Every report of the value, first to last; present only with `include=history`. Figures with
    /// noncontrolling interest are in `conflicts` if the value is a figure without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ValueVersion<'a>>")]
    history: Option<Vec<ValueVersion<'a>>>,
    /// Provenance of the figure's record in `sec.financial_value`.
    provenance: Provenance<'a>,
}

/// One report of a value, with the period as that report states it.
#[derive(Serialize, JsonSchema)]
struct ValueVersion<'a> {
    /// First day of the period as this report states it; null for a balance.
    period_start: Option<Date>,
    /// Last day of the period, or the day of the balance, as this report states it.
    period_end: Option<Date>,
    /// Figure as the filing states it, in the unit of the series.
    #[schemars(with = "Decimal")]
    value: Option<Decimal>,
    #[serde(flatten)]
    report: Report<'a>,
    /// Taxonomy concept with which the report tagged the figure; null if it is not published.
    concept: Option<&'a str>,
    #[schemars(extend("$field" = "sec.financial_value/change"))]
    change: Option<&'a str>,
    #[schemars(extend("$field" = "sec.financial_value/supersedes"))]
    supersedes: bool,
    #[schemars(extend("$field" = "sec.financial_value/conflicts"))]
    conflicts: Vec<&'a str>,
    /// Id of the record with this report's figure, for `/v1/provenance/{record_id}`.
    record_id: &'a str,
}

/// Declares the fields that every figure has as not nullable.
fn with_value(schema: &mut Schema) {
    let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for name in [
        "value",
        "is_ytd",
        "concept",
        "form",
        "filed_date",
        "accession_number",
        "is_amendment",
        "is_restated",
        "concept_changed",
    ] {
        let member = &mut members[name];
        member["type"] = member["type"][0].take();
        if member.get("$field").is_some() {
            member["nullable"] = json!(false);
        }
    }
    members["null_reason"] = json!({"type": "null", "description": "Null: there is a value."});
}

/// Provides access to the figures of a registrant.
pub struct Source<'a> {
    table: &'a Owned<ValueTable>,
    reports: Reports<'a>,
    provenance: ProvenanceWriter<'a>,
}

impl<'a> Source<'a> {
    pub fn new(call: &'a Call<'_>, cik: Cik, bucket: &'a Bucket<'_, Owned<ValueTable>>) -> Self {
        let ValueTable {
            record_id,
            value,
            concept,
            form,
            filed_date,
            accession_number,
            ..
        } = &**bucket.table;
        let links = &SecTables::from_release(call.release).links;
        Self {
            table: &bucket.table,
            reports: Reports {
                links,
                cik,
                record_id,
                value,
                concept,
                form,
                filed_date,
                accession_number,
            },
            provenance: ProvenanceWriter::new(&call.release.manifest, VALUES, bucket.part),
        }
    }

    pub fn figure(&self, figure: &Figure) -> PeriodFigure<'a> {
        let (table, row) = (self.table, figure.latest());
        PeriodFigure {
            metric: table.metric.at(row),
            fiscal_year: cell(&table.fiscal_year, row),
            fiscal_period: table.fiscal_period.get(row),
            period_start: cell(&table.period_start, row).map(Date),
            period_end: cell(&table.period_end, row).map(Date),
            as_of_date: cell(&table.as_of_date, row).map(Date),
            value: self.reports.value(row),
            unit: table.unit.at(row),
            is_ytd: Some(table.is_ytd.value(row)),
            concept: table.concept.get(row),
            report: self.reports.report(row),
            is_amendment: Some(table.form.get(row).is_some_and(is_amendment)),
            is_restated: Some(figure.restatement_kind.is_some()),
            restatement_kind: figure.restatement_kind,
            concept_changed: Some(figure.is_concept_changed),
            first_reported: figure
                .restatement_kind
                .map(|_| self.reports.first_reported(figure.versions.first())),
            conflicts: figure.conflicts(table),
            null_reason: None,
            warnings: table.warnings.at(row).collect(),
        }
    }

    pub fn provenance(&self, figure: &Figure) -> Provenance<'a> {
        let (table, row) = (self.table, figure.latest());
        self.provenance.for_row(
            &table.row_sources,
            row,
            table.validation_status.at(row),
            table.record_id.at(row),
        )
    }

    pub fn value(&self, figure: &Figure, has_history: bool) -> FinancialValue<'a> {
        let history = has_history.then(|| {
            figure
                .versions
                .rows()
                .iter()
                .map(|row| self.version(*row))
                .collect()
        });
        FinancialValue {
            figure: self.figure(figure),
            history,
            provenance: self.provenance(figure),
        }
    }

    fn version(&self, row: usize) -> ValueVersion<'a> {
        let table = self.table;
        let (start, end) = stated_period(table, row);
        ValueVersion {
            period_start: start.map(Date),
            period_end: end.map(Date),
            value: self.reports.value(row),
            report: self.reports.report(row),
            concept: table.concept.get(row),
            change: table.change.get(row),
            supersedes: table.supersedes.value(row),
            conflicts: table.conflicts.at(row).collect(),
            record_id: table.record_id.at(row),
        }
    }
}
