//! Runs the server until it is told to stop: follows the channel and the event log, and stops without cutting answers short.

use std::net::SocketAddr;
use std::sync::Arc;

use axum_server::Handle;
use jiff::Timestamp;

use super::http::listen;
use super::http::service::Service;
use super::server::Server;
use super::settings::ServeSettings;
use super::{router, stream};
use crate::contract::Contracts;
use crate::error::{Error, Result};

/// Serves until the process is told to stop (SIGTERM or ctrl-c), then lets requests in progress finish.
///
/// # Errors
/// `Config`, when a setting is wrong; `Store`, when an address, the certificate, the keys or the store cannot be used.
pub async fn serve(settings: ServeSettings, contracts: Contracts) -> Result<()> {
    let server = Server::new(settings, contracts, Arc::new(Timestamp::now))?;
    let settings = &server.service.settings;
    let listener = listen::bind(settings.bind)?;
    let metrics = settings.metrics_bind.map(|address| Ok::<_, Error>((address, listen::bind(address)?))).transpose()?;
    let tls = match &settings.tls {
        Some(files) => Some(listen::tls_config(&files.certificate, &files.key).await?),
        None => None,
    };
    let handle = Handle::new();
    tokio::spawn(stop_on_signal(server.clone(), handle.clone()));
    let follower = tokio::spawn(follow_channel(server.service.clone()));
    if let Err(error) = server.follow_log().await {
        tracing::error!("the event log cannot be read: {error}");
    }
    let tail = tokio::spawn(stream::tail(server.stream.clone()));
    let metrics_handle = Handle::new();
    let metrics_server = metrics.map(|(address, listener)| {
        tracing::info!("metrics on http://{address}/metrics");
        tokio::spawn(listen::run(listener, None, router::metrics_router(&server), metrics_handle.clone(), 64))
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = listener.local_addr().unwrap_or(settings.bind);
    tracing::info!("serving channel `{}` on {scheme}://{address}", settings.channel);
    let outcome = listen::run(listener, tls, server.router(), handle, settings.limits.connections).await;
    // Sockets are no requests: the server above does not wait for them.
    let _ = tokio::time::timeout(settings.drain_limit, server.stream.sockets.drained()).await;
    follower.abort();
    tail.abort();
    metrics_handle.shutdown();
    if let Some(server) = metrics_server {
        server.abort();
    }
    tracing::info!("stopped");
    outcome
}

async fn follow_channel(service: Arc<Service>) {
    let mut interval = tokio::time::interval(service.settings.poll_interval);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last_failure = String::new();
    let mut is_empty_said = false;
    loop {
        interval.tick().await;
        match service.refresh().await {
            Ok(Some(release_id)) => tracing::info!(release.id = release_id.as_str(), "serving release {release_id}"),
            Ok(None) if !is_empty_said && service.catalog.current().is_none() => {
                is_empty_said = true;
                let (channel, home) = (&service.settings.channel, service.settings.home.display());
                tracing::warn!(
                    "channel `{channel}` has no release in {home}: requests are refused until `pubdata run` publishes one; is this the right --home?"
                );
            }
            Ok(None) => {}
            Err(error) => {
                let text = error.way_out().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})"));
                if text != last_failure {
                    tracing::error!(
                        "the channel cannot be followed, the present release stays: {text}; `pubdata verify` lists what is damaged, `pubdata run --force` builds it again"
                    );
                }
                last_failure = text;
                continue;
            }
        }
        last_failure.clear();
    }
}

async fn stop_on_signal(server: Arc<Server>, handle: Handle<SocketAddr>) {
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
    tracing::info!("stopping: requests in progress may take {} s more", drain_limit.as_secs());
    server.stream.stop();
    handle.graceful_shutdown(Some(drain_limit));
}
