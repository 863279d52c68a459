//! The rows of `sec.financial_value`: one per observation of a metric, and one with the reason for each metric and series that was never
//! reported.

use polars::prelude::*;

use super::{Common, Source, Texts, VALUES, dates, push_amount, push_item, push_period, texts};
use crate::datasets::sec::financials::missing::Missing;
use crate::datasets::sec::financials::period::Period;
use crate::datasets::sec::financials::settings::Rules;
use crate::error::Result;
use crate::normalise::Day;

/// Makes the rows of `sec.financial_value`: one per observation of a metric, and one per metric and series never reported.
///
/// # Errors
/// When polars fails.
pub fn values_frame(bucket: &str, rules: &Rules, sources: &[Source<'_>]) -> Result<DataFrame> {
    let count = |source: &Source<'_>| source.selected.observations.len() + source.selected.missing.len();
    let mut rows = ValueRows { common: Common::new(sources.iter().map(count).sum()), ..ValueRows::default() };
    for source in sources {
        let texts = Texts::new(source.selected);
        let mut missing = source.selected.missing.iter().peekable();
        let metrics = source.selected.periods.iter().filter(|period| rules.measures[period.measure].is_metric);
        for period in metrics {
            while let Some(none) = missing.next_if(|none| (none.measure, none.series) < (period.measure, period.series)) {
                rows.add_missing(rules, source, &texts, none);
            }
            for (number, position) in period.observations().enumerate() {
                rows.add(rules, source, &texts, period, number, position);
            }
        }
        missing.for_each(|none| rows.add_missing(rules, source, &texts, none));
    }
    rows.finish(bucket)
}

struct ValueRows {
    common: Common,
    metric: StringChunkedBuilder,
    as_of_date: Vec<Option<i32>>,
    null_reason: StringChunkedBuilder,
    observation: Vec<Option<i32>>,
    is_latest: Vec<bool>,
    change: StringChunkedBuilder,
    is_restated: Vec<bool>,
    /// The period as the report states it, where that is not the period's.
    reported_start: Vec<Option<i32>>,
    reported_end: Vec<Option<i32>>,
    conflicts: StringChunkedBuilder,
}

impl Default for ValueRows {
    fn default() -> Self {
        Self {
            common: Common::new(0),
            metric: texts("metric", 0),
            as_of_date: Vec::new(),
            null_reason: texts("null_reason", 0),
            observation: Vec::new(),
            is_latest: Vec::new(),
            change: texts("change", 0),
            is_restated: Vec::new(),
            reported_start: Vec::new(),
            reported_end: Vec::new(),
            conflicts: texts("conflicts", 0),
        }
    }
}

impl ValueRows {
    /// `number` counts the observations of the period from 0; `position` is the observation's among the registrant's.
    fn add(&mut self, rules: &Rules, source: &Source<'_>, texts: &Texts, period: &Period, number: usize, position: usize) {
        let measure = &rules.measures[period.measure];
        let observation = &source.selected.observations[position];
        let id = self.common.begin_id(VALUES, &texts.cik);
        id.push_str(&measure.key);
        id.push(':');
        push_period(id, period.start, period.end);
        id.push(':');
        id.push_str(&texts.accessions[observation.report as usize]);
        self.common.finish_id();
        self.common.cik.append_value(&texts.cik);
        self.common.add_period(measure.unit, period);
        self.common.add_observation(rules, source, texts, observation);
        self.metric.append_value(&measure.key);
        self.as_of_date.push(observation.as_of.map(Day::number));
        self.null_reason.append_null();
        self.observation.push(i32::try_from(number + 1).ok());
        self.is_latest.push(position == period.latest());
        self.change.append_value(observation.change.name());
        self.is_restated.push(observation.is_restated);
        let is_period = observation.as_of.is_none();
        self.reported_start.push((is_period && observation.start != period.start).then(|| observation.start.number()));
        self.reported_end.push((is_period && observation.end != period.end).then(|| observation.end.number()));
        let text = &mut self.common.text;
        text.clear();
        for (concept, value) in &source.selected.conflicts[observation.conflicts()] {
            push_item(text, rules.concept(*concept));
            text.push('=');
            push_amount(text, *value);
        }
        self.conflicts.append_value(&*text);
    }

    fn add_missing(&mut self, rules: &Rules, source: &Source<'_>, texts: &Texts, missing: &Missing) {
        let Missing { series, reason, .. } = *missing;
        let measure = &rules.measures[missing.measure];
        let id = self.common.begin_id(VALUES, &texts.cik);
        for part in [measure.key.as_str(), ":", series.name(), ":none"] {
            id.push_str(part);
        }
        self.common.finish_id();
        self.common.cik.append_value(&texts.cik);
        self.common.add_missing(measure.unit, series, [source.input, source.member, 0, source.size_bytes]);
        self.metric.append_value(&measure.key);
        self.as_of_date.push(None);
        self.null_reason.append_value(reason);
        self.observation.push(None);
        self.is_latest.push(true);
        self.change.append_null();
        self.is_restated.push(false);
        self.reported_start.push(None);
        self.reported_end.push(None);
        self.conflicts.append_value("");
    }

    fn finish(self, bucket: &str) -> Result<DataFrame> {
        let mut columns = self.common.finish(bucket)?;
        columns.extend([
            self.metric.finish().into_column(),
            dates("as_of_date", self.as_of_date)?,
            self.null_reason.finish().into_column(),
            Column::new("observation".into(), self.observation),
            Column::new("is_latest".into(), self.is_latest),
            self.change.finish().into_column(),
            Column::new("is_restated".into(), self.is_restated),
            dates("reported_start", self.reported_start)?,
            dates("reported_end", self.reported_end)?,
            self.conflicts.finish().into_column(),
        ]);
        Ok(DataFrame::new_infer_height(columns)?)
    }
}
