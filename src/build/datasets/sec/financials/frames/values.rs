//! Builds the rows of `sec.financial_value`: one per observation of a metric. Adds a row with the
//! reason for each metric and series that was never reported, and for each period whose report is
//! missing from the archive.

use polars::prelude::*;

use super::text::{push_amount, push_period};
use super::{Common, Source, Texts, VALUES, dates};
use crate::datasets::sec::fact::Amount;
use crate::datasets::sec::financials::missing::Missing;
use crate::datasets::sec::financials::period::Period;
use crate::datasets::sec::financials::settings::Rules;
use crate::normalise::{Day, DictionaryColumnBuilder};
use pubdata_core::error::Result;

/// Builds the rows of `sec.financial_value`.
///
/// # Errors
/// Fails only if polars fails.
pub fn values_frame(bucket: &str, rules: &Rules, sources: &[Source<'_>]) -> Result<DataFrame> {
    let count =
        |source: &Source<'_>| source.selected.observations.len() + source.selected.missing.len();
    let rows = sources.iter().map(count).sum();
    let mut rows = ValueRows {
        common: Common::new(rows, rules),
        metric: DictionaryColumnBuilder::with_capacity(rows),
        as_of_date: Vec::with_capacity(rows),
        null_reason: DictionaryColumnBuilder::with_capacity(rows),
        conflicts: ListStringChunkedBuilder::new("conflicts".into(), rows, 0),
    };
    for source in sources {
        let texts = Texts::new(source.selected);
        rows.common.begin_source(source, &texts);
        let mut missing = source.selected.missing.iter().peekable();
        let metrics = source
            .selected
            .periods
            .iter()
            .filter(|period| rules.measures[period.measure].is_metric);
        for period in metrics {
            let place = (period.measure, period.series, Some(period.end));
            while let Some(absent) = missing.next_if(|absent| {
                (
                    absent.measure,
                    absent.series,
                    absent.filing.map(|filing| filing.end),
                ) <= place
            }) {
                rows.add_missing(rules, source, &texts, absent);
            }
            rows.add(rules, source, &texts, period);
        }
        missing.for_each(|absent| rows.add_missing(rules, source, &texts, absent));
    }
    rows.finish(bucket)
}

struct ValueRows {
    common: Common,
    metric: DictionaryColumnBuilder,
    as_of_date: Vec<Option<i32>>,
    null_reason: DictionaryColumnBuilder,
    conflicts: ListStringChunkedBuilder,
}

impl ValueRows {
    /// Adds a period's rows.
    fn add(&mut self, rules: &Rules, source: &Source<'_>, texts: &Texts, period: &Period) {
        let measure = &rules.measures[period.measure];
        let id = self.common.begin_id(VALUES, &texts.cik);
        id.push_str(&measure.key);
        id.push(':');
        push_period(id, period.start, period.end);
        id.push(':');
        self.common.add_period(measure.unit, period);
        let rows = period.observations().len();
        self.metric.push_times(&measure.key, rows);
        self.null_reason.push_nulls(rows);
        for position in period.observations() {
            self.common.add_observation(source, texts, period, position);
            let observation = &source.selected.observations[position];
            self.as_of_date.push(observation.as_of.map(Day::number));
            self.add_conflicts(rules, &source.selected.conflicts[observation.conflicts()]);
        }
    }

    fn add_missing(
        &mut self,
        rules: &Rules,
        source: &Source<'_>,
        texts: &Texts,
        missing: &Missing,
    ) {
        let measure = &rules.measures[missing.measure];
        let id = self.common.begin_id(VALUES, &texts.cik);
        for part in [measure.key.as_str(), ":", missing.series.name(), ":none"] {
            id.push_str(part);
        }
        if let Some(filing) = missing.filing {
            id.push(':');
            id.push_str(&filing.accession.to_string());
        }
        self.common.finish_id();
        self.common.add_missing(
            measure.unit,
            missing,
            [source.input, source.member, 0, source.size_bytes],
        );
        self.metric.push(&measure.key);
        self.as_of_date.push(None);
        self.null_reason.push(missing.reason);
        self.add_conflicts(rules, &missing.others);
    }

    /// Adds the list of other concepts with their values.
    fn add_conflicts(&mut self, rules: &Rules, conflicts: &[(u16, Amount)]) {
        let shown = |(concept, value): &(u16, Amount)| {
            let mut text = format!("{}=", rules.concept(*concept));
            push_amount(&mut text, *value);
            text
        };
        let items: Vec<String> = conflicts.iter().map(shown).collect();
        self.conflicts
            .append_values_iter(items.iter().map(String::as_str));
    }

    fn finish(mut self, bucket: &str) -> Result<DataFrame> {
        let mut columns = self.common.finish(bucket)?;
        columns.extend([
            self.metric.finish("metric")?,
            dates("as_of_date", self.as_of_date)?,
            self.null_reason.finish("null_reason")?,
            self.conflicts.finish().into_column(),
        ]);
        Ok(DataFrame::new_infer_height(columns)?)
    }
}
