//! Opens a socket and answers on it: time and size of heads, TLS, and a bound on open connections.

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
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Result};

/// How long a client may take to send the head of a request, or to shake hands.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Largest head that is read at all; `Limits` refuses smaller ones with an explanation.
const HEAD_BYTES: usize = 128 * 1024;
const HEADERS: usize = 256;

/// Answers on a socket until the handle ends it.
///
/// # Errors
/// `Store`, when the socket cannot be used.
pub async fn run(listener: TcpListener, tls: Option<RustlsConfig>, router: Router, handle: Handle<SocketAddr>, connections: usize) -> Result<()> {
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

/// Opens a socket.
///
/// # Errors
/// `Store`, when the address cannot be used.
pub fn bind(address: SocketAddr) -> Result<TcpListener> {
    let failed =
        |error: io::Error| Error::store(format!("cannot listen on {address}: {error}")).hint("another program may use the port; give another with --bind");
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Reads a certificate chain and its key.
///
/// # Errors
/// `Config`, when they cannot be used.
pub async fn tls_config(certificate: &std::path::Path, key: &std::path::Path) -> Result<RustlsConfig> {
    // Another part of the program may have installed one already, which is as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let failed = |error: io::Error| Error::config(format!("certificate {} with key {} cannot be used: {error}", certificate.display(), key.display()));
    RustlsConfig::from_pem_chain_file(certificate, key).await.map_err(failed)
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
