//! Runs the server until a signal stops it. Follows the channel and the event log, and finishes
//! requests in progress.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::watch;

use super::contact::Contact;
use super::http::connections::Connections;
use super::http::listen;
use super::http::listen::Transport;
use super::http::service::Service;
use super::server::Server;
use super::settings::{Limits, ServeSettings};
use super::{router, stream};
use pubdata_core::contract::Contracts;
use pubdata_core::error::{Error, Result};
use pubdata_store::Replica;

/// Maximum number of connections to the `/metrics` address.
const METRICS_CONNECTIONS: usize = 64;
/// Number of file descriptors that are not API connections: parts being read, the log, connections
/// to `/metrics`, and connections that are about to close.
const OTHER_DESCRIPTORS: usize = 256;
/// Minimum number of other descriptors; the server cannot answer requests with fewer.
const MIN_OTHER_DESCRIPTORS: usize = 32;
const MIN_CONNECTIONS: usize = 8;

/// Serves until the process receives SIGTERM or Ctrl-C, then lets requests in progress finish.
///
/// # Errors
/// `Config` if a setting is wrong; `Store` if an address, the certificate, the keys or the store
/// cannot be used.
pub async fn serve(mut settings: ServeSettings, contracts: Contracts) -> Result<()> {
    fit_connections(&mut settings.limits)?;
    let server = Server::new(settings, contracts, Arc::new(Timestamp::now))?;
    let settings = &server.service.settings;
    if let Some(contact) = settings
        .contact
        .as_deref()
        .filter(|contact| Contact::parse(contact).is_none())
    {
        tracing::warn!(
            "the catalog has no contact: `{contact}` (--contact or PUBDATA_CONTACT) does not end with an e-mail address that DCAT-US allows"
        );
    }
    let listener = listen::bind(settings.bind)?;
    let metrics = settings
        .metrics_bind
        .map(|address| Ok::<_, Error>((address, listen::bind(address)?)))
        .transpose()?;
    let tls = match &settings.tls {
        Some(files) => Some(listen::tls_config(&files.certificate, &files.key)?),
        None => None,
    };
    let stop = watch::Sender::new(false);
    let transport = |tls, connections| {
        let Limits {
            head_time,
            write_time,
            ..
        } = settings.limits;
        let public_url = server.service.public_url().into();
        Transport {
            tls,
            connections,
            head_time,
            write_time,
            drain_limit: settings.drain_limit,
            public_url,
        }
    };
    let replica = Replica::for_store(
        &server.service.home,
        server.service.catalog.releases().store(),
    )?;
    // Runs before the first request, because this server's keys come from the store.
    let replica = match replica {
        Some(mut replica) => {
            log_replica_failure(&mut String::new(), replica.refresh(Timestamp::now()).await);
            Some(tokio::spawn(follow_store(replica)))
        }
        None => None,
    };
    let follower = tokio::spawn(follow_channel(server.service.clone()));
    tokio::spawn(describe(server.clone()));
    if let Err(error) = server.follow_log().await {
        tracing::error!("the event log cannot be read: {error}");
    }
    let tail = tokio::spawn(stream::tail(server.stream.clone()));
    // Metrics stay available until the last request has been answered.
    let metrics_stop = watch::Sender::new(false);
    let metrics_server = metrics.map(|(address, listener)| {
        tracing::info!("metrics on http://{address}/metrics");
        let connections = Arc::new(Connections::new(METRICS_CONNECTIONS, None));
        tokio::spawn(listen::run(
            listener,
            transport(None, connections),
            router::metrics_router(&server),
            metrics_stop.subscribe(),
        ))
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = listener.local_addr().unwrap_or(settings.bind);
    tracing::info!(target: "pubdata::address", "serving channel `{}` on {scheme}://{address}, over {} connections at most", settings.channel, settings.limits.connections);
    let answering = listen::run(
        listener,
        transport(tls, server.service.connections.clone()),
        server.api(),
        stop.subscribe(),
    );
    tokio::spawn(stop_on_signal(server.clone(), stop));
    let outcome = answering.await;
    // WebSocket connections are not requests, so the server above does not wait for them.
    let _ = tokio::time::timeout(settings.drain_limit, server.stream.sockets.drained()).await;
    follower.abort();
    tail.abort();
    if let Some(replica) = replica {
        replica.abort();
    }
    if let Some(server) = metrics_server {
        server.abort();
    }
    tracing::info!("stopped");
    outcome
}

/// Raises this process's open file limit to `needed`, or as far as the system allows. Returns the
/// limit in effect.
fn raise_open_files_limit(needed: u64) -> u64 {
    let before = getrlimit(Resource::Nofile);
    let current = before.current.unwrap_or(u64::MAX);
    if current >= needed {
        return current;
    }
    let raised = needed.min(before.maximum.unwrap_or(u64::MAX));
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(raised),
            maximum: before.maximum,
        },
    )
    .map_or(current, |()| raised)
}

/// Raises the file descriptor limit, and reduces the number of connections to what the limit
/// allows.
fn fit_connections(limits: &mut Limits) -> Result<()> {
    let needed = limits.connections + OTHER_DESCRIPTORS;
    let given = usize::try_from(raise_open_files_limit(needed as u64)).unwrap_or(usize::MAX);
    if given >= needed {
        share_out(limits);
        return Ok(());
    }
    let fitting = given
        - (given / 4)
            .clamp(MIN_OTHER_DESCRIPTORS, OTHER_DESCRIPTORS)
            .min(given);
    if fitting < MIN_CONNECTIONS {
        return Err(Error::config(format!("the system limits this process to {given} open files and connections, which is not enough to serve"))
            .hint("raise the limit: `ulimit -n 8192`, or `LimitNOFILE=8192` in the service's unit"));
    }
    tracing::warn!(
        "the system limits this process to {given} open files and connections: {fitting} connections instead of {}; `LimitNOFILE={needed}` is enough for all",
        limits.connections
    );
    limits.connections = fitting;
    share_out(limits);
    Ok(())
}

/// Limits the number of sockets and running requests, which cannot be evicted, relative to the
/// number of connections. Sockets get half of the connections and running requests a quarter. The
/// server can then always close a connection to make room for a new client, such as a health check.
fn share_out(limits: &mut Limits) {
    limits.stream_sockets = limits.stream_sockets.min(limits.connections / 2);
    limits.simultaneous_requests = limits
        .simultaneous_requests
        .min((limits.connections / 4).max(1));
    limits.requests_per_client = limits
        .requests_per_client
        .min((limits.connections / 8).max(1));
}

/// Builds the OpenAPI document before the first client requests it.
async fn describe(server: Arc<Server>) {
    let making = tokio::task::spawn_blocking(move || _ = server.openapi());
    if let Err(error) = making.await {
        tracing::error!("cannot build the OpenAPI document: {error}");
    }
}

async fn follow_channel(service: Arc<Service>) {
    let mut interval = tokio::time::interval(service.settings.poll_interval);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last_failure = String::new();
    let mut is_empty_said = false;
    loop {
        interval.tick().await;
        match service.refresh().await {
            Ok(Some(release_id)) => tracing::info!(
                release.id = release_id.as_str(),
                "serving release {release_id}"
            ),
            Ok(None) if !is_empty_said && service.catalog.current().is_none() => {
                is_empty_said = true;
                let (channel, home) = (&service.settings.channel, service.settings.home.display());
                tracing::warn!(
                    "channel `{channel}` has no release in {home}: requests are refused until `pubdata run` publishes one; is this the right --home?"
                );
            }
            Ok(None) => {}
            Err(error) => {
                let hint = error.hint_text().unwrap_or(
                    "`pubdata verify` lists what is damaged, `pubdata run --force` builds it again",
                );
                let text = format!("{error}; {hint}");
                if text != last_failure {
                    let what_stays = if service.catalog.current().is_some() {
                        "the current release stays in use"
                    } else {
                        "no release is served"
                    };
                    tracing::error!("cannot follow the channel ({what_stays}): {text}");
                }
                last_failure = text;
                continue;
            }
        }
        last_failure.clear();
    }
}

/// Interval at which the keys and event log of a store are polled.
const STORE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Copies shared keys and events from the store for as long as the server runs.
async fn follow_store(mut replica: Replica) {
    let mut interval = tokio::time::interval(STORE_POLL_INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last_failure = String::new();
    loop {
        interval.tick().await;
        log_replica_failure(&mut last_failure, replica.refresh(Timestamp::now()).await);
    }
}

/// Logs a failure to follow the store, once per distinct failure.
fn log_replica_failure(last_failure: &mut String, outcome: Result<()>) {
    let failure = outcome
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    if !failure.is_empty() && failure != *last_failure {
        tracing::error!(
            "cannot follow keys and events of the store; known keys and events stay in use: {failure}"
        );
    }
    *last_failure = failure;
}

async fn stop_on_signal(server: Arc<Server>, stop: watch::Sender<bool>) {
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
    let drain_limit = server.service.settings.drain_limit;
    tracing::info!(
        "stopping: requests in progress may take {} s more",
        drain_limit.as_secs()
    );
    server.stream.stop();
    stop.send_replace(true);
}
