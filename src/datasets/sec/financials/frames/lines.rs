//! The rows of `sec.statement_line`: one per statement line, period and report.

use polars::prelude::*;

use super::text::push_period;
use super::{Common, LINES, Source, Texts, texts};
use crate::datasets::sec::financials::period::Period;
use crate::datasets::sec::financials::settings::{Line, Rules};
use crate::error::Result;

/// Makes the rows of `sec.statement_line`: one per observation of a line.
///
/// # Errors
/// When polars fails.
pub fn lines_frame(bucket: &str, rules: &Rules, sources: &[Source<'_>]) -> Result<DataFrame> {
    let rows = sources.iter().map(|source| source.selected.observations.len()).sum();
    let mut rows = LineRows { common: Common::new(rows), statement: texts("statement", rows), line: texts("line", rows), label: texts("label", rows) };
    for source in sources {
        let texts = Texts::new(source.selected);
        let periods = &source.selected.periods;
        for line in &rules.lines {
            let from = periods.partition_point(|period| period.measure < line.measure);
            for period in periods[from..].iter().take_while(|period| period.measure == line.measure) {
                period.observations().for_each(|position| rows.add(rules, source, &texts, line, period, position));
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
}

impl LineRows {
    /// `position` is the observation's among the registrant's.
    fn add(&mut self, rules: &Rules, source: &Source<'_>, texts: &Texts, line: &Line, period: &Period, position: usize) {
        let id = self.common.begin_id(LINES, &texts.cik);
        for part in [line.statement, ":", period.series.name(), ":"] {
            id.push_str(part);
        }
        push_period(id, period.start, period.end);
        for part in [":", &line.key, ":", &texts.accessions[source.selected.observations[position].report as usize]] {
            id.push_str(part);
        }
        self.common.finish_id();
        self.common.cik.append_value(&texts.cik);
        self.common.add_period(rules.measures[line.measure].unit, period);
        self.common.add_observation(rules, source, texts, period, position);
        self.statement.append_value(line.statement);
        self.line.append_value(&line.key);
        self.label.append_value(&line.label);
    }

    fn finish(self, bucket: &str) -> Result<DataFrame> {
        let mut columns = self.common.finish(bucket)?;
        columns.extend([self.statement.finish().into_column(), self.line.finish().into_column(), self.label.finish().into_column()]);
        Ok(DataFrame::new_infer_height(columns)?)
    }
}
