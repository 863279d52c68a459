//! Writes readings as text, either appended to a server's `/metrics` or as a file for a collector.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::readings::Readings;

/// Whole numbers below this are written as integers.
const MAX_INTEGER: f64 = 9e15;

/// End marker of OpenMetrics. The older format treats it as a comment.
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
    if value.fract() == 0.0 && value.abs() < MAX_INTEGER {
        ConstGauge::new(value as i64).encode(encoder)
    } else {
        ConstGauge::new(value).encode(encoder)
    }
}

impl Readings {
    /// Appends these gauges to a server's OpenMetrics text.
    pub fn added_to(self, text: &str) -> String {
        format!(
            "{}{}{END}",
            text.strip_suffix(END).unwrap_or(text),
            self.prometheus_text()
        )
    }

    /// Returns the content of a file for node_exporter's textfile collector, in the Prometheus
    /// format that predates OpenMetrics. Both formats write gauges in the same way.
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
