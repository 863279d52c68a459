//! The rows of `sec.statement_line`: one per statement line and period, with the latest value and, when it was restated, the first.

use polars::prelude::*;

use super::{Common, LINES, Source, Texts, dates, push_amount, push_period, texts};
use crate::datasets::sec::financials::period::Period;
use crate::datasets::sec::financials::settings::{Line, Rules};
use crate::error::Result;

/// Makes the rows of `sec.statement_line`: one per statement line and period, with the latest value and, when restated, the first.
///
/// # Errors
/// When polars fails.
pub fn lines_frame(bucket: &str, rules: &Rules, sources: &[Source<'_>]) -> Result<DataFrame> {
    let mut rows = LineRows::default();
    for source in sources {
        let texts = Texts::new(source.selected);
        let periods = &source.selected.periods;
        for line in &rules.lines {
            let from = periods.partition_point(|period| period.measure < line.measure);
            for period in periods[from..].iter().take_while(|period| period.measure == line.measure) {
                rows.add(rules, source, &texts, line, period);
            }
        }
    }
    rows.finish(bucket)
}

struct LineRows {
    common: Common,
    statement: StringChunkedBuilder,
    line: StringChunkedBuilder,
    label: StringChunkedBuilder,
    is_restated: Vec<bool>,
    first_value: StringChunkedBuilder,
    first_concept: StringChunkedBuilder,
    first_accession_number: StringChunkedBuilder,
    first_form: StringChunkedBuilder,
    first_filed_date: Vec<Option<i32>>,
}

impl Default for LineRows {
    fn default() -> Self {
        Self {
            common: Common::new(0),
            statement: texts("statement", 0),
            line: texts("line", 0),
            label: texts("label", 0),
            is_restated: Vec::new(),
            first_value: texts("first_value", 0),
            first_concept: texts("first_concept", 0),
            first_accession_number: texts("first_accession_number", 0),
            first_form: texts("first_form", 0),
            first_filed_date: Vec::new(),
        }
    }
}

impl LineRows {
    fn add(&mut self, rules: &Rules, source: &Source<'_>, texts: &Texts, line: &Line, period: &Period) {
        let latest = &source.selected.observations[period.latest()];
        let id = self.common.begin_id(LINES, &texts.cik);
        for part in [line.statement, ":", period.series.name(), ":"] {
            id.push_str(part);
        }
        push_period(id, period.start, period.end);
        id.push(':');
        id.push_str(&line.key);
        self.common.finish_id();
        self.common.cik.append_value(&texts.cik);
        self.common.add_period(rules.measures[line.measure].unit, period);
        self.common.add_observation(rules, source, texts, latest);
        self.statement.append_value(line.statement);
        self.line.append_value(&line.key);
        self.label.append_value(&line.label);
        self.is_restated.push(latest.is_restated);
        if !latest.is_restated {
            for column in [&mut self.first_value, &mut self.first_concept, &mut self.first_accession_number, &mut self.first_form] {
                column.append_null();
            }
            self.first_filed_date.push(None);
            return;
        }
        let first = &source.selected.observations[period.observations().start];
        let report = &source.selected.reports[first.report as usize];
        let text = &mut self.common.text;
        text.clear();
        push_amount(text, first.value);
        self.first_value.append_value(&*text);
        self.first_concept.append_value(rules.concept(first.concept));
        self.first_accession_number.append_value(&texts.accessions[first.report as usize]);
        self.first_form.append_value(report.form.name());
        self.first_filed_date.push(Some(report.filed.number()));
    }

    fn finish(self, bucket: &str) -> Result<DataFrame> {
        let mut columns = self.common.finish(bucket)?;
        columns.extend([
            self.statement.finish().into_column(),
            self.line.finish().into_column(),
            self.label.finish().into_column(),
            Column::new("is_restated".into(), self.is_restated),
            self.first_value.finish().into_column(),
            self.first_concept.finish().into_column(),
            self.first_accession_number.finish().into_column(),
            self.first_form.finish().into_column(),
            dates("first_filed_date", self.first_filed_date)?,
        ]);
        Ok(DataFrame::new_infer_height(columns)?)
    }
}
