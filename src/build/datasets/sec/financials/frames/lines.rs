//! Builds the rows of `sec.statement_line`: one per statement line, period and report.

use polars::prelude::*;

use super::text::push_period;
use super::{Common, LINES, Source, Texts};
use crate::datasets::sec::financials::period::Period;
use crate::datasets::sec::financials::settings::{Line, Rules};
use crate::normalise::DictionaryColumnBuilder;
use pubdata_core::error::Result;

/// Builds the rows of `sec.statement_line`, one per observation of a line.
///
/// # Errors
/// Fails only if polars fails.
pub fn lines_frame(bucket: &str, rules: &Rules, sources: &[Source<'_>]) -> Result<DataFrame> {
    let rows = sources
        .iter()
        .map(|source| source.selected.observations.len())
        .sum();
    let few = || DictionaryColumnBuilder::with_capacity(rows);
    let mut rows = LineRows {
        common: Common::new(rows, rules),
        statement: few(),
        line: few(),
        label: few(),
    };
    for line in &rules.lines {
        rows.line.add_value(&line.key);
        rows.label.add_value(&line.label);
    }
    for source in sources {
        let texts = Texts::new(source.selected);
        rows.common.begin_source(source, &texts);
        let periods = &source.selected.periods;
        for (place, line) in rules.lines.iter().enumerate() {
            let from = periods.partition_point(|period| period.measure < line.measure);
            for period in periods[from..]
                .iter()
                .take_while(|period| period.measure == line.measure)
            {
                rows.add(rules, source, &texts, (place, line), period);
            }
        }
    }
    rows.finish(bucket)
}

struct LineRows {
    common: Common,
    statement: DictionaryColumnBuilder,
    /// Dictionaries whose values are the statement lines in the rules, in the same order.
    line: DictionaryColumnBuilder,
    label: DictionaryColumnBuilder,
}

impl LineRows {
    /// Adds a period's rows.
    fn add(
        &mut self,
        rules: &Rules,
        source: &Source<'_>,
        texts: &Texts,
        (place, line): (usize, &Line),
        period: &Period,
    ) {
        let id = self.common.begin_id(LINES, &texts.cik);
        for part in [line.statement, ":", period.series.name(), ":"] {
            id.push_str(part);
        }
        push_period(id, period.start, period.end);
        for part in [":", &line.key, ":"] {
            id.push_str(part);
        }
        self.common
            .add_period(rules.measures[line.measure].unit, period);
        period
            .observations()
            .for_each(|position| self.common.add_observation(source, texts, period, position));
        let rows = period.observations().len();
        self.statement.push_times(line.statement, rows);
        self.line.push_indices(place, rows);
        self.label.push_indices(place, rows);
    }

    fn finish(self, bucket: &str) -> Result<DataFrame> {
        let mut columns = self.common.finish(bucket)?;
        columns.extend([
            self.statement.finish("statement")?,
            self.line.finish("line")?,
            self.label.finish("label")?,
        ]);
        Ok(DataFrame::new_infer_height(columns)?)
    }
}
