//! Readings as text: for a server's `/metrics` among its own numbers, and for a file that a
//! collector reads.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::readings::Readings;

/// Whole numbers up to here are written as such.
const LARGEST_WHOLE: f64 = 9e15;

/// What ends a text of OpenMetrics, and means nothing in the older format.
const END: &str = "# EOF\n";

impl Collector for Readings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for reading in &self.0 {
            let mut metric =
                encoder.encode_descriptor(reading.name, reading.help, None, MetricType::Gauge)?;
            match reading.samples.as_slice() {
                [only] if only.labels.is_empty() => encode_number(only.value, metric)?,
                samples => {
                    for sample in samples {
                        encode_number(sample.value, metric.encode_family(&sample.labels)?)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn encode_number(value: f64, encoder: MetricEncoder<'_>) -> fmt::Result {
    if value.fract() == 0.0 && value.abs() < LARGEST_WHOLE {
        ConstGauge::new(value as i64).encode(encoder)
    } else {
        ConstGauge::new(value).encode(encoder)
    }
}

impl Readings {
    /// A server's text of OpenMetrics with these numbers added.
    pub fn added_to(self, text: &str) -> String {
        format!(
            "{}{}{END}",
            text.strip_suffix(END).unwrap_or(text),
            self.prometheus_text()
        )
    }

    /// The text of a file for node_exporter's textfile collector: the format of Prometheus from
    /// before OpenMetrics. Gauges are written alike in both.
    pub fn prometheus_text(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry).expect("a String takes all that is written to it");
        if text.ends_with(END) {
            text.truncate(text.len() - END.len());
        }
        text
    }
}
