//! Sends notifications after a run, whether it succeeded or not: metrics for a collector, messages
//! about news, and a heartbeat. Notifications do not affect the result of the run: failures here
//! are only warnings.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Global, output};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_fetch as fetch;
use pubdata_run::lineage::{self, Emitter};
use pubdata_run::{self as run, RunReport, RunSettings, SharedObserver};
use pubdata_serve::freshness_of;
use pubdata_store::monitor::{self, HOOK_TIMEOUT, History, Message, Readings, ReleaseFreshness};
use pubdata_store::{self as store, LedgerEntry};

/// Receivers of notifications about a run.
#[derive(Args)]
pub(super) struct AfterRunArgs {
    /// Program to start if a task was blocked, missing, late, above its limit of quarantined
    /// records, or has recovered, or if the run failed. The program receives JSON on standard
    /// input. The command is split at spaces and not passed to a shell.
    #[arg(
        long,
        env = "PUBDATA_HOOK",
        hide_env_values = true,
        value_name = "COMMAND"
    )]
    hook: Option<String>,
    /// URL to which the same JSON is posted.
    #[arg(
        long,
        env = "PUBDATA_WEBHOOK",
        hide_env_values = true,
        value_name = "URL"
    )]
    webhook: Option<String>,
    /// URL to request (GET) after each completed run (exit code below 40), for a service that
    /// alerts you if the request is missing.
    #[arg(
        long,
        env = "PUBDATA_HEARTBEAT",
        hide_env_values = true,
        value_name = "URL"
    )]
    heartbeat: Option<String>,
    /// URL to which OpenLineage events of the run are posted. Events are always written to
    /// HOME/runs/<run_id>.openlineage.jsonl.
    #[arg(
        long,
        env = "PUBDATA_OPENLINEAGE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    openlineage_url: Option<String>,
    /// Namespace of this installation in OpenLineage events. Jobs and datasets are named under
    /// NAME/CHANNEL.
    #[arg(
        long,
        env = "PUBDATA_OPENLINEAGE_NAMESPACE",
        value_name = "NAME",
        default_value = "pubdata"
    )]
    openlineage_namespace: String,
    /// File to which metrics are written, for the textfile collector of node_exporter.
    #[arg(long, env = "PUBDATA_METRICS_FILE", value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// Tests all notifications without a run: sends a test message to the hook and the webhook and
    /// an event to the OpenLineage URL, requests the heartbeat URL, writes the metrics file, and
    /// reports each result.
    #[arg(long)]
    pub(super) test_message: bool,
}

/// Result of one notification.
struct Delivery {
    /// Name of the setting for this receiver.
    to: &'static str,
    outcome: Result<()>,
    /// Message to log if the notification failed.
    failing: &'static str,
}

/// Results of a test message: `pubdata run --test-message`.
#[derive(Serialize, JsonSchema)]
pub(super) struct TestMessageReport<'a> {
    /// The channel that the message names.
    channel: &'a str,
    /// Receivers of notifications, as configured.
    #[serde(rename = "told")]
    deliveries: Vec<TestMessageDelivery>,
}

/// Result for one receiver.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TestMessageTold")]
struct TestMessageDelivery {
    /// Why the receiver was not reached; null if it was reached.
    error: Option<String>,
    /// The flag that configures the receiver.
    #[schemars(extend("enum" = ["metrics_file", "hook", "webhook", "heartbeat", "openlineage_url"]))]
    to: &'static str,
}

/// Indicates whether a run completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunEnd {
    Reached,
    Failed,
}

impl RunEnd {
    fn from_entry(entry: &LedgerEntry) -> Self {
        if entry.exit_code < monitor::FAILED_FROM {
            Self::Reached
        } else {
            Self::Failed
        }
    }
}

impl AfterRunArgs {
    /// Writes the metrics file, if one is configured.
    async fn measure(&self, settings: &RunSettings) -> Option<Delivery> {
        let path = self.metrics_file.as_deref()?;
        let outcome = write_metrics(settings, path).await;
        Some(Delivery {
            to: "metrics_file",
            outcome,
            failing: "the file of metrics was not written",
        })
    }

    /// Sends the message, if any, to the hook and the webhook. If the run completed, also requests
    /// the heartbeat URL.
    async fn deliver(
        &self,
        settings: &RunSettings,
        message: Option<&Message>,
        run: RunEnd,
    ) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        if let (Some(command), Some(message)) = (&self.hook, message) {
            deliveries.push(Delivery {
                to: "hook",
                outcome: hook(command.clone(), message.clone()).await,
                failing: "the hook failed to run",
            });
        }
        if let (Some(url), Some(message)) = (&self.webhook, message) {
            let outcome = fetch::send_message(&settings.fetch, url, Some(&message.to_json())).await;
            deliveries.push(Delivery {
                to: "webhook",
                outcome,
                failing: "the webhook was not notified",
            });
        }
        if let Some(url) = self.heartbeat.as_deref().filter(|_| run == RunEnd::Reached) {
            let outcome = fetch::send_message(&settings.fetch, url, None).await;
            deliveries.push(Delivery {
                to: "heartbeat",
                outcome,
                failing: "the heartbeat was not sent",
            });
        }
        deliveries
    }
}

impl AfterRunArgs {
    /// Creates the emitter of lineage events, which forwards all calls to the progress display.
    pub(super) fn emitter(&self, settings: &RunSettings, shown: SharedObserver) -> Arc<Emitter> {
        Emitter::new(
            shown,
            settings.clone(),
            &self.openlineage_namespace,
            self.openlineage_url.as_deref(),
        )
    }
}

/// Reports the end of the run to the receiver of lineage events.
pub(super) async fn report_lineage(emitter: &Emitter, report: &Result<RunReport>) {
    if let Err(error) = emitter.ended(report.as_ref()).await {
        tracing::warn!(%error, "the lineage address did not receive all events; the run's file in the home has them");
    }
}

/// Returns the id of the last run in the ledger, as far as the ledger can be read.
pub(super) fn last_run_id(settings: &RunSettings) -> Option<String> {
    store::read_ledger(&settings.home)
        .ok()?
        .pop()
        .map(|entry| entry.run_id)
}

/// Sends all notifications. `run_before` is the run that was last in the ledger before this run. If
/// it is still the last run, either no run took place or the ledger could not be written.
pub(super) async fn tell(
    settings: &RunSettings,
    arguments: &AfterRunArgs,
    run_before: Option<&str>,
    failure: Option<&Error>,
) {
    let warn = |delivery: Delivery| {
        if let Err(error) = delivery.outcome {
            tracing::warn!(%error, "{}", delivery.failing);
        }
    };
    arguments.measure(settings).await.into_iter().for_each(warn);
    let mut entries = match store::read_ledger(&settings.home) {
        Ok(entries) => entries,
        Err(error) => return tracing::warn!(%error, "no notification about the run was sent"),
    };
    if let Some(error) = failure.filter(|error| {
        error.kind() == ErrorKind::Store
            && entries.last().map(|last| last.run_id.as_str()) == run_before
    }) {
        entries.extend(run::unwritten_run(settings, error).await);
    }
    let Some(last) = entries
        .last()
        .filter(|last| Some(last.run_id.as_str()) != run_before)
    else {
        return;
    };
    arguments
        .deliver(
            settings,
            Message::for_last_run(&entries).as_ref(),
            RunEnd::from_entry(last),
        )
        .await
        .into_iter()
        .for_each(warn);
}

/// Sends a test notification to all receivers. Returns exit code 0 if all notifications arrived,
/// and 40 otherwise.
///
/// # Errors
/// Returns `Config` if no receiver is configured.
pub(super) async fn test(
    global: &Global,
    settings: &RunSettings,
    arguments: &AfterRunArgs,
) -> Result<ExitCode> {
    let mut deliveries = Vec::from_iter(arguments.measure(settings).await);
    let message = Message::test(&settings.channel, Timestamp::now());
    deliveries.extend(
        arguments
            .deliver(settings, Some(&message), RunEnd::Reached)
            .await,
    );
    if let Some(url) = &arguments.openlineage_url {
        let event = lineage::test_event(&arguments.openlineage_namespace, &settings.channel);
        let outcome = fetch::send_message(&settings.fetch, url, Some(&event)).await;
        deliveries.push(Delivery {
            to: "openlineage_url",
            outcome,
            failing: "the lineage address did not receive the event",
        });
    }
    if deliveries.is_empty() {
        return Err(Error::config("no hook, webhook or heartbeat is set")
            .hint("set --hook, --webhook, --heartbeat, --openlineage-url or --metrics-file, or their keys in pubdata.toml"));
    }
    let has_failed = deliveries.iter().any(|delivery| delivery.outcome.is_err());
    if global.json {
        let deliveries = deliveries
            .iter()
            .map(|delivery| TestMessageDelivery {
                error: delivery.outcome.as_ref().err().map(ToString::to_string),
                to: delivery.to,
            })
            .collect();
        output::document(&TestMessageReport {
            channel: &settings.channel,
            deliveries,
        });
    } else {
        for Delivery { to, outcome, .. } in &deliveries {
            output::print_line!(
                "{to}: {}",
                outcome
                    .as_ref()
                    .map_or_else(ToString::to_string, |()| "done".to_owned())
            );
        }
    }
    Ok(ExitCode::from(if has_failed {
        ErrorKind::Config.exit_code()
    } else {
        0
    }))
}

async fn hook(command: String, message: Message) -> Result<()> {
    let done =
        tokio::task::spawn_blocking(move || monitor::run_hook(&command, &message, HOOK_TIMEOUT))
            .await;
    done.map_err(|error| Error::store(format!("the hook was not waited for: {error}")))?
}

async fn write_metrics(settings: &RunSettings, path: &Path) -> Result<()> {
    store::write_file(path, readings(settings).await?.prometheus_text().as_bytes())
}

/// Returns the current metrics of an installation.
pub(super) async fn readings(settings: &RunSettings) -> Result<Readings> {
    let history = History::from_entries(&store::read_ledger(&settings.home)?);
    let manifest = settings
        .releases
        .present(&settings.channel)
        .await
        .unwrap_or_else(|error| {
            tracing::warn!(%error, "no numbers of the release");
            None
        });
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let release = manifest.as_ref().map(|manifest| {
        let freshness = manifest
            .datasets
            .iter()
            .map(|(id, dataset)| (id.clone(), freshness_of(manifest, dataset, today).name()));
        ReleaseFreshness {
            channel: &settings.channel,
            manifest,
            freshness: freshness.collect(),
        }
    });
    Ok(Readings::of_home(
        &settings.home,
        &history,
        release.as_ref(),
    ))
}
