//! Listens on a socket and serves HTTP/1.1. Limits the size and time of request heads, the number
//! of open connections, and how long a client may stop reading. Handles TLS. For the reasons, see
//! `docs/decisions/0020-connections-and-bytes-in-flight.md`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::connections::{Connections, Place};
use super::refusal::Explained;
use pubdata_core::error::{Error, Result};

/// Largest request head that is read, in bytes. The lower limits in `Limits` reject a head with an
/// explanation.
const HEAD_BYTES: usize = 64 * 1024;
const HEADERS: usize = 256;
/// Pause before the next accept if the system has no free file descriptor.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Service that answers requests. Each request gets a clone of the service.
pub trait Answers:
    tower::Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<
    S: tower::Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
> Answers for S
{
}

/// Limits and TLS settings of connections.
#[derive(Clone)]
pub struct Transport {
    pub tls: Option<Arc<ServerConfig>>,
    pub connections: Arc<Connections>,
    /// Time limit for the TLS handshake, and for the head of a request. The time for a head starts
    /// when the server begins to wait for its first byte.
    pub head_time: Duration,
    /// How long a client may go without reading any of the bytes that are sent to it.
    pub write_time: Duration,
    /// How long active requests may take after the stop signal.
    pub drain_limit: Duration,
    /// Public URL of the server, for problem documents.
    pub public_url: Arc<str>,
}

/// Serves a socket until the stop signal, then lets active requests finish.
pub async fn run<S: Answers>(
    listener: std::net::TcpListener,
    transport: Transport,
    answers: S,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let listener = TcpListener::from_std(listener)
        .map_err(|error| Error::store(format!("the server failed: {error}")))?;
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|is_stopping| *is_stopping) => break,
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, from)) = accepted else {
            sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        if let Some(place) = transport.connections.admit(from).await
            && stream.set_nodelay(true).is_ok()
        {
            let stream = Bounded {
                stream,
                place,
                write_time: transport.write_time,
                stalled: None,
            };
            open.spawn(answer_on(
                stream,
                from,
                transport.clone(),
                answers.clone(),
                stop.clone(),
            ));
        }
    }
    drop(listener);
    let _ = timeout(transport.drain_limit, async {
        while open.join_next().await.is_some() {}
    })
    .await;
    Ok(())
}

async fn answer_on<S: Answers>(
    stream: Bounded,
    from: SocketAddr,
    transport: Transport,
    answers: S,
    stop: watch::Receiver<bool>,
) {
    let connection = stream.place.connection.clone();
    let inner = TowerToHyperService::new(answers);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(from));
        request.extensions_mut().insert(connection.clone());
        inner.call(request)
    });
    match &transport.tls {
        None => {
            answer_requests(
                Explained::new(stream, transport.public_url),
                service,
                transport.head_time,
                stop,
            )
            .await;
        }
        Some(config) => {
            let shaken = timeout(
                transport.head_time,
                TlsAcceptor::from(config.clone()).accept(stream),
            )
            .await;
            if let Ok(Ok(stream)) = shaken {
                answer_requests(
                    Explained::new(stream, transport.public_url),
                    service,
                    transport.head_time,
                    stop,
                )
                .await;
            }
        }
    }
}

async fn answer_requests<S>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    head_time: Duration,
    mut stop: watch::Receiver<bool>,
) where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS);
    let mut connection = pin!(
        builder
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|is_stopping| *is_stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Opens a listening socket.
pub fn bind(address: SocketAddr) -> Result<std::net::TcpListener> {
    let failed = |error: io::Error| {
        Error::store(format!("cannot listen on {address}: {error}"))
            .hint("another program may use the port; choose another one with --bind")
    };
    let listener = std::net::TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Reads a certificate chain and its key.
pub fn tls_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::config(format!(
            "cannot use certificate {} with key {}: {error}",
            certificate.display(),
            key.display()
        ))
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| failed(&error))?;
    let key_bytes = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(&error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::aws_lc_rs::default_provider(),
    ));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, key_bytes)
        .map_err(|error| failed(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Connection that holds its slot until it closes. It fails when it is evicted or when the client
/// reads nothing for too long.
struct Bounded {
    stream: TcpStream,
    place: Place,
    write_time: Duration,
    /// Timer for the longest time that a write may make no progress.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Bounded {
    /// Fails if the connection is evicted.
    fn check_evicted(&self, context: &Context<'_>) -> io::Result<()> {
        match self.place.connection.poll_evicted(context) {
            Poll::Ready(()) => Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the connection was closed to make room for another",
            )),
            Poll::Pending => Ok(()),
        }
    }

    /// Starts or resets the stall timer according to the result of a write.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        tried: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if tried.is_ready() {
            self.stalled = None;
            return tried;
        }
        let write_time = self.write_time;
        ready!(
            self.stalled
                .get_or_insert_with(|| Box::pin(sleep(write_time)))
                .as_mut()
                .poll(context)
        );
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client stopped reading",
        )))
    }
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_evicted(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_evicted(context)?;
        let tried = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, tried)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_evicted(context)?;
        let tried = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_evicted(context)?;
        let tried = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
