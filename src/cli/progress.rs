//! Displays the progress of a run: a bar and a line for each task on a terminal, and log lines
//! otherwise.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use super::terminal::{LogLines, is_watched};
use pubdata_core::printable::printable;
use pubdata_fetch::FetchProgress;
use pubdata_run::{Observer, TaskReport};

/// The progress bar currently displayed, if any.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Returns a writer to standard error that puts log lines above the progress bar.
pub(super) fn progress_writer() -> impl Write {
    ProgressWriter
}

struct ProgressWriter;

impl Write for ProgressWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bar = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match bar {
            Some(bar) => bar.suspend(|| LogLines.write(bytes)),
            None => LogLines.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        LogLines.flush()
    }
}

/// Displays the progress of a run: bars on a terminal, log lines otherwise.
pub(super) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        let is_terminal = is_watched();
        let bar = ProgressBar::with_draw_target(
            Some(0),
            if is_terminal {
                ProgressDrawTarget::stderr()
            } else {
                ProgressDrawTarget::hidden()
            },
        );
        let style = ProgressStyle::with_template("{spinner} [{bar:30}] {pos}/{len} {msg}")
            .expect("the template is valid");
        bar.set_style(style.progress_chars("=> "));
        if is_terminal {
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        }
        Self { bar, is_terminal }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Sets the message next to the bar. The progress bar library prints the message, so it is
    /// escaped here.
    fn say(&self, text: &str) {
        self.bar.set_message(printable(text).into_owned());
    }

    fn line(&self, text: &str) {
        if self.is_terminal {
            self.bar.suspend(|| output::print_note!("{text}"));
        }
    }
}

impl FetchProgress for Progress {
    fn started(&self, url: &str, total_bytes: Option<u64>) {
        let total = total_bytes
            .map(|bytes| format!(" ({})", output::size(bytes)))
            .unwrap_or_default();
        self.say(&format!("{url}{total}"));
    }

    fn advanced(&self, _bytes: u64) {
        self.bar.tick();
    }

    fn finished(&self) {}
}

impl Observer for Progress {
    fn on_fetch_started(&self, files: usize) {
        // Fetches come in several rounds: pages of lists, the files that the pages name, and
        // earlier editions.
        self.bar.inc_length(files as u64);
        tracing::info!(files, "fetching");
    }

    fn on_fetched(&self, url: &str, outcome: &str) {
        self.bar.inc(1);
        if outcome == "failed" {
            tracing::warn!(target: "pubdata::told", url, "a source is not available");
        }
    }

    fn on_task_started(&self, task_id: &str) {
        self.say(&format!("building {task_id}"));
        self.bar
            .enable_steady_tick(std::time::Duration::from_millis(120));
        tracing::info!(task.id = task_id, "building");
    }

    fn on_shard_built(&self, task_id: &str, done: usize, shards: usize) {
        self.say(&format!("building {task_id}: {done} of {shards} shards"));
    }

    fn on_task_built(&self, report: &TaskReport) {
        if matches!(report.outcome, "built" | "resumed" | "blocked" | "missing") {
            self.line(&format!(
                "{} {} in {} ms",
                output::coloured(report.outcome),
                report.task_id,
                report.duration_ms
            ));
            let rows: u64 = report.rows.values().sum();
            tracing::info!(
                task.id = report.task_id,
                outcome = report.outcome,
                rows,
                duration_ms = report.duration_ms,
                "task done"
            );
        }
    }
}
