//! `pubdata follow`: logs filings from the feeds until the command is stopped, or polls each feed
//! once.

use std::process::ExitCode;

use clap::Args;
use jiff::civil::Date;

use super::publishers::PublisherArgs;
use super::{Global, output};
use pubdata_core::error::Result;
use pubdata_fetch::FetchSettings;
use pubdata_run::follow::{self, FollowReport, FollowSettings};
use pubdata_store::SharedStore;

const AFTER_HELP: &str = "\
Leave it running beside `pubdata serve`, on the same --home: it writes HOME/stream/, and the server \
sends new filings to the sockets of /v1/stream within a quarter of a second. The feeds, how often each \
is polled, and the time zone are declared in pipelines/sec/current_filings.toml.

Each filing is logged once, however many entries it has; parties or fields that appear later are updates. \
The daily index is read the next morning and supplies what the feeds missed. If it is killed, the \
next start continues where it stopped. Only one follower can run per home: a second one exits with 50.

Examples:
  pubdata follow --contact data@example.org        until it is stopped
  pubdata follow --once                            poll each feed once; 30 if one did not respond
  pubdata follow --once --day 2023-07-03           also read that day's index
  pubdata follow --once --mirror DIR               from a mirror";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct FollowArgs {
    #[command(flatten)]
    publishers: PublisherArgs,
    /// Polls each feed once, prints the result, and exits.
    #[arg(long)]
    once: bool,
    /// Day whose index is read first, whether or not the index is due; can be repeated.
    #[arg(long, value_name = "YYYY-MM-DD")]
    day: Vec<Date>,
}

pub(super) async fn follow(global: &Global, arguments: &FollowArgs) -> Result<ExitCode> {
    let fetch = FetchSettings {
        tries: 3,
        ..arguments.publishers.fetch_settings()
    };
    let home = global.home()?;
    let store = SharedStore::open(&home, global.store.as_deref())?;
    let settings = FollowSettings {
        home,
        store,
        declarations: global.declarations()?,
        fetch,
        days: arguments.day.clone(),
    };
    if !arguments.once {
        follow::follow(settings, stop_signal()).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = follow::once(settings).await?;
    if global.json {
        output::document(&report);
    } else {
        print(&report);
    }
    Ok(ExitCode::from(
        if report.polls.iter().any(|poll| poll.outcome == "failed") {
            30
        } else {
            0
        },
    ))
}

/// Waits for SIGTERM or ctrl-c.
async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

fn print(report: &FollowReport) {
    let mut rows = vec![
        [
            "FEED", "OUTCOME", "ENTRIES", "FILINGS", "NEW", "UPDATES", "FINDINGS",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for poll in &report.polls {
        let feed = poll.day.as_ref().map_or_else(
            || poll.feed.name().to_owned(),
            |day| format!("{} {day}", poll.feed.name()),
        );
        let counts = [
            poll.entries,
            poll.filings,
            poll.new_filings,
            poll.updates,
            poll.findings,
        ]
        .map(|count| output::grouped(count as u64));
        rows.push(
            [feed, output::coloured(poll.outcome)]
                .into_iter()
                .chain(counts)
                .collect(),
        );
    }
    output::table(&rows);
    for poll in &report.polls {
        if let Some(detail) = &poll.detail {
            output::print_line!("  {}: {detail}", poll.feed.name());
        }
    }
    output::print_paragraph!("last event: {}", output::grouped(report.last_seq));
}
