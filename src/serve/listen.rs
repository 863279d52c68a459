//! Opens the sockets, follows the channel, and stops without cutting answers short.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use futures_util::future::BoxFuture;
use hyper_util::rt::TokioTimer;
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{ServeSettings, Service, router, stream};
use crate::contract::Contracts;
use crate::error::{Error, Result};

/// How long a client may take to send the head of a request, or to shake hands.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Largest head that is read at all; `Limits` refuses smaller ones with an explanation.
const HEAD_BYTES: usize = 128 * 1024;
const HEADERS: usize = 256;

/// Serves until the process is told to stop (SIGTERM or ctrl-c), then lets requests in progress finish.
///
/// # Errors
/// `Config`, when a setting is wrong; `Store`, when an address, the certificate, the keys or the store cannot be used.
pub async fn serve(settings: ServeSettings, contracts: Contracts) -> Result<()> {
    let service = Service::new(settings, contracts, Arc::new(Timestamp::now))?;
    let settings = &service.settings;
    let listener = bind(settings.bind)?;
    let metrics = settings.metrics_bind.map(|address| Ok::<_, Error>((address, bind(address)?))).transpose()?;
    let tls = match &settings.tls {
        Some(files) => Some(tls_config(&files.certificate, &files.key).await?),
        None => None,
    };
    let handle = Handle::new();
    tokio::spawn(stop_on_signal(service.clone(), handle.clone()));
    let follower = tokio::spawn(follow_channel(service.clone()));
    if let Err(error) = service.follow_log().await {
        tracing::error!("the event log cannot be read: {error}");
    }
    let tail = tokio::spawn(stream::tail(service.clone()));
    let metrics_handle = Handle::new();
    let metrics_server = metrics.map(|(address, listener)| {
        tracing::info!("metrics on http://{address}/metrics");
        tokio::spawn(run(listener, None, router::metrics_router(&service), metrics_handle.clone(), 64))
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = listener.local_addr().unwrap_or(settings.bind);
    tracing::info!("serving channel `{}` on {scheme}://{address}", settings.channel);
    let outcome = run(listener, tls, service.router(), handle, settings.limits.connections).await;
    // Sockets are no requests: the server above does not wait for them.
    let _ = tokio::time::timeout(settings.drain_limit, service.stream.sockets.drained()).await;
    follower.abort();
    tail.abort();
    metrics_handle.shutdown();
    if let Some(server) = metrics_server {
        server.abort();
    }
    tracing::info!("stopped");
    outcome
}

async fn run(listener: TcpListener, tls: Option<RustlsConfig>, router: Router, handle: Handle<SocketAddr>, connections: usize) -> Result<()> {
    let failed = |error: io::Error| Error::store(format!("the server failed: {error}"));
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let mut server = axum_server::from_tcp(listener).map_err(failed)?.handle(handle);
    let builder = server.http_builder();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES).max_headers(HEADERS);
    builder.http2().timer(TokioTimer::new()).max_header_list_size(HEAD_BYTES as u32).max_concurrent_streams(100).keep_alive_interval(Some(HEAD_TIME));
    let bounded = BoundedAcceptor { permits: Arc::new(Semaphore::new(connections)) };
    match tls {
        Some(config) => server.acceptor(RustlsAcceptor::new(config).handshake_timeout(HEAD_TIME).acceptor(bounded)).serve(service).await,
        None => server.acceptor(bounded).serve(service).await,
    }
    .map_err(failed)
}

fn bind(address: SocketAddr) -> Result<TcpListener> {
    let failed =
        |error: io::Error| Error::store(format!("cannot listen on {address}: {error}")).hint("another program may use the port; give another with --bind");
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

async fn tls_config(certificate: &std::path::Path, key: &std::path::Path) -> Result<RustlsConfig> {
    // Another part of the program may have installed one already, which is as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let failed = |error: io::Error| Error::config(format!("certificate {} with key {} cannot be used: {error}", certificate.display(), key.display()));
    RustlsConfig::from_pem_chain_file(certificate, key).await.map_err(failed)
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

async fn stop_on_signal(service: Arc<Service>, handle: Handle<SocketAddr>) {
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
    let drain_limit = service.settings.drain_limit;
    tracing::info!("stopping: requests in progress may take {} s more", drain_limit.as_secs());
    service.stream.stop();
    handle.graceful_shutdown(Some(drain_limit));
}

/// Lets only so many connections be open; others wait in the system's queue.
#[derive(Clone)]
struct BoundedAcceptor {
    permits: Arc<Semaphore>,
}

impl<S: Send + 'static> Accept<TcpStream, S> for BoundedAcceptor {
    type Stream = BoundedStream;
    type Service = S;
    type Future = BoxFuture<'static, io::Result<(BoundedStream, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let permits = self.permits.clone();
        Box::pin(async move {
            stream.set_nodelay(true)?;
            let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
            Ok((BoundedStream { stream, _permit: permit }, service))
        })
    }
}

/// A connection that gives its permit back when it closes.
struct BoundedStream {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

impl AsyncRead for BoundedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
