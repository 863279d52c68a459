//! What is done when a run has ended, well or not: numbers for a collector, word of what is new, a sign of life. None of it changes how the run
//! ended: what goes wrong here is a warning.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::{Global, output};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::monitor::{self, HOOK_TIMEOUT, History, Message, OfRelease, Readings};
use crate::run::{self, RunSettings};
use crate::serve::freshness_of;
use crate::store::{self, LedgerEntry};

/// Whom to tell how a run went.
#[derive(Args)]
pub(super) struct AfterRunArgs {
    /// A program that is started when a task was blocked, missing, late, above its level of records set aside, or is well again, or when the run
    /// failed; it gets JSON on standard input. Its words are separated by blanks, and no shell reads them.
    #[arg(long, env = "PUBDATA_HOOK", hide_env_values = true, value_name = "COMMAND")]
    hook: Option<String>,
    /// An address that gets the same JSON by POST.
    #[arg(long, env = "PUBDATA_WEBHOOK", hide_env_values = true, value_name = "URL")]
    webhook: Option<String>,
    /// An address that is asked (GET) after each run that came to its end (exit code below 40): somebody there notices when that stays away.
    #[arg(long, env = "PUBDATA_HEARTBEAT", hide_env_values = true, value_name = "URL")]
    heartbeat: Option<String>,
    /// A file that gets the numbers of the installation, for the textfile collector of node_exporter.
    #[arg(long, env = "PUBDATA_METRICS_FILE", value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// Sends a test message to hook and webhook, asks the heartbeat, writes the file of metrics, says what came of each, and runs nothing.
    #[arg(long)]
    pub(super) test_message: bool,
}

/// What came of telling somebody.
#[derive(Serialize)]
struct Told {
    to: &'static str,
    /// None where it arrived.
    error: Option<String>,
}

/// The run that the ledger ends with, as far as it can be read.
pub(super) fn last_run_id(settings: &RunSettings) -> Option<String> {
    store::read_ledger(&settings.home).ok()?.pop().map(|entry| entry.run_id)
}

/// Tells all that want to know. `run_before` is what the ledger ended with before the run: where it still does, there was none, or it failed for want
/// of what the ledger is written with, too.
pub(super) async fn tell(settings: &RunSettings, arguments: &AfterRunArgs, run_before: Option<&str>, failure: Option<&Error>) {
    let warn = |what: &str, told: Result<()>| {
        if let Err(error) = told {
            tracing::warn!(%error, "{what}");
        }
    };
    if let Some(path) = &arguments.metrics_file {
        warn("the file of metrics was not written", write_metrics(settings, path).await);
    }
    let mut entries = match store::read_ledger(&settings.home) {
        Ok(entries) => entries,
        Err(error) => return warn("nobody was told how the run went", Err(error)),
    };
    if let Some(error) = failure.filter(|error| error.kind() == ErrorKind::Store && entries.last().map(|last| last.run_id.as_str()) == run_before) {
        entries.extend(run::unwritten_run(settings, error).await);
    }
    let Some(last) = entries.last().filter(|last| Some(last.run_id.as_str()) != run_before) else { return };
    if let Some(message) = Message::of_last_run(&entries) {
        if let Some(command) = &arguments.hook {
            warn("the hook did not do its work", hook(command.clone(), message.clone()).await);
        }
        if let Some(url) = &arguments.webhook {
            warn("the webhook was not told", fetch::send_message(&settings.fetch, url, Some(&message.to_json())).await);
        }
    }
    if let Some(url) = arguments.heartbeat.as_deref().filter(|_| is_ended(last)) {
        warn("the heartbeat was not sent", fetch::send_message(&settings.fetch, url, None).await);
    }
}

/// Tells all that want to know, as after a run, that this is a test. Exit code 0 where everything arrived, 40 otherwise.
///
/// # Errors
/// `Config`, when nobody is to be told.
pub(super) async fn test(global: &Global, settings: &RunSettings, arguments: &AfterRunArgs) -> Result<ExitCode> {
    let message = Message::test(&settings.channel, Timestamp::now());
    let mut told = Vec::new();
    let mut note = |to, outcome: Result<()>| told.push(Told { to, error: outcome.err().map(|error| error.to_string()) });
    if let Some(path) = &arguments.metrics_file {
        note("metrics_file", write_metrics(settings, path).await);
    }
    if let Some(command) = &arguments.hook {
        note("hook", hook(command.clone(), message.clone()).await);
    }
    if let Some(url) = &arguments.webhook {
        note("webhook", fetch::send_message(&settings.fetch, url, Some(&message.to_json())).await);
    }
    if let Some(url) = &arguments.heartbeat {
        note("heartbeat", fetch::send_message(&settings.fetch, url, None).await);
    }
    if told.is_empty() {
        return Err(Error::config("nobody is told how runs go").hint("set --hook, --webhook, --heartbeat or --metrics-file, or their keys in pubdata.toml"));
    }
    let has_failed = told.iter().any(|told| told.error.is_some());
    if global.json {
        output::document("test_message", &serde_json::json!({ "channel": settings.channel, "told": told }));
    } else {
        for Told { to, error } in &told {
            anstream::println!("{to}: {}", error.as_deref().unwrap_or("done"));
        }
    }
    Ok(ExitCode::from(if has_failed { ErrorKind::Config.exit_code() } else { 0 }))
}

fn is_ended(entry: &LedgerEntry) -> bool {
    entry.exit_code < monitor::FAILED_FROM
}

async fn hook(command: String, message: Message) -> Result<()> {
    let done = tokio::task::spawn_blocking(move || monitor::run_hook(&command, &message, HOOK_TIMEOUT)).await;
    done.map_err(|error| Error::store(format!("the hook was not waited for: {error}")))?
}

async fn write_metrics(settings: &RunSettings, path: &Path) -> Result<()> {
    store::write_file(path, readings(settings).await?.prometheus_text().as_bytes())
}

/// The numbers of an installation as they are now.
pub(super) async fn readings(settings: &RunSettings) -> Result<Readings> {
    let history = History::of(&store::read_ledger(&settings.home)?);
    let manifest = settings.releases.present(&settings.channel).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "no numbers of the release");
        None
    });
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let release = manifest.as_ref().map(|manifest| {
        let freshness = manifest.datasets.iter().map(|(id, dataset)| (id.clone(), freshness_of(manifest, dataset, today).name()));
        OfRelease { channel: &settings.channel, manifest, freshness: freshness.collect() }
    });
    Ok(Readings::of_home(&settings.home, &history, release.as_ref()))
}
