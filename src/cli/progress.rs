//! Shows how a run goes on: a bar and a line for each task on a terminal, and log lines wherever it runs.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use crate::fetch::FetchProgress;
use crate::run::{Observer, TaskReport};

/// Shows how a run goes on: bars on a terminal, log lines otherwise.
pub(super) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(0), if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
        let style = ProgressStyle::with_template("{spinner} [{bar:30}] {pos}/{len} {msg}").expect("the template is valid");
        bar.set_style(style.progress_chars("=> "));
        Self { bar, is_terminal }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.is_terminal {
            self.bar.suspend(|| anstream::eprintln!("{text}"));
        }
    }
}

impl FetchProgress for Progress {
    fn started(&self, url: &str, total_bytes: Option<u64>) {
        let total = total_bytes.map(|bytes| format!(" ({})", output::size(bytes))).unwrap_or_default();
        self.bar.set_message(format!("{url}{total}"));
    }

    fn advanced(&self, _bytes: u64) {
        self.bar.tick();
    }

    fn finished(&self) {}
}

impl Observer for Progress {
    fn fetching(&self, files: usize) {
        self.bar.set_length(files as u64);
        tracing::info!(files, "fetching");
    }

    fn fetched(&self, url: &str, outcome: &str) {
        self.bar.inc(1);
        if outcome == "failed" {
            tracing::warn!(url, "a source is not available");
        }
    }

    fn building(&self, task_id: &str) {
        self.bar.set_message(format!("building {task_id}"));
        self.bar.enable_steady_tick(std::time::Duration::from_millis(120));
        tracing::info!(task.id = task_id, "building");
    }

    fn shard_built(&self, task_id: &str, done: usize, shards: usize) {
        self.bar.set_message(format!("building {task_id}: {done} of {shards} shards"));
    }

    fn built(&self, report: &TaskReport) {
        if matches!(report.outcome, "built" | "resumed" | "blocked" | "missing") {
            self.line(&format!("{} {} in {} ms", output::coloured(report.outcome), report.task_id, report.duration_ms));
            let rows: u64 = report.rows.values().sum();
            tracing::info!(task.id = report.task_id, outcome = report.outcome, rows, duration_ms = report.duration_ms, "task done");
        }
    }
}
