//! Provides an in-process HTTP server that plays the publishers, well behaved or not. Each path
//! answers with its replies in turn and repeats the last one. Paths without replies are files of a
//! folder, if set, or 404. Speaks HTTP/1.1 with one request per connection, and TLS under chosen
//! host names on request.

mod archives;
mod network;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub use archives::{archive, bomb, corrupt_archive};
use bytes::Bytes;
pub use network::{Authority, TunnelProxy};
use pubdata_core::ids::Digest;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running server; stops when dropped.
pub struct Publisher {
    address: SocketAddr,
    site: Arc<Site>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Site {
    routes: Mutex<HashMap<String, VecDeque<Reply>>>,
    folder: Mutex<Option<PathBuf>>,
    received: Mutex<Vec<Received>>,
}

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// Request body.
    pub body: String,
    pub at: Instant,
}

impl Received {
    /// Value of a header; empty if it was not sent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// One scripted answer.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    is_file: bool,
    framing: Framing,
    delivery: Delivery,
}

/// How the client knows the end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length,
    Chunks,
    /// The connection closes.
    Close,
}

#[derive(Debug, Clone, Copy)]
enum Delivery {
    Whole,
    /// Closes the connection after this number of bytes.
    CutAfter(usize),
    /// Stops sending after this number of bytes.
    StallAfter(usize),
    /// Sends the body repeatedly, one byte from time to time.
    Dripping,
    /// Repeats the body without end.
    Endless,
}

impl Publisher {
    /// Starts on a free loopback port.
    pub async fn start() -> Self {
        Self::listen(None).await
    }

    /// Starts with TLS, with certificates of an authority for these hosts.
    pub async fn start_tls(authority: &Authority, hosts: &[&str]) -> Self {
        Self::listen(Some(authority.server(hosts, &[]).into())).await
    }

    async fn listen(tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let site = Arc::new(Site::default());
        let served = Arc::clone(&site);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (site, tls) = (Arc::clone(&served), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => answer(stream, site).await,
                        // A client that does not trust the certificate disconnects.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                answer(stream, site).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            address,
            site,
            task,
        }
    }

    /// Address for the hosts of a publisher with TLS.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a final slash. Also a mirror's URL, with
    /// [`Publisher::serve_folder`].
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// URL of a path (and query).
    pub fn url(&self, target: &str) -> String {
        format!("{}{target}", self.base_url())
    }

    /// Sets the answers of a path (and query), in turn; the last one stays.
    pub fn route(&self, target: &str, replies: Vec<Reply>) {
        assert!(!replies.is_empty(), "a route needs an answer");
        self.site
            .routes
            .lock()
            .unwrap()
            .insert(target.to_owned(), replies.into());
    }

    /// Serves a folder's files for paths without a route, with ETag, date, ranges and conditions.
    pub fn serve_folder(&self, folder: &Path) {
        *self.site.folder.lock().unwrap() = Some(folder.to_owned());
    }

    /// Requests for a path (and query), in order.
    pub fn requests(&self, target: &str) -> Vec<Received> {
        self.all_requests()
            .into_iter()
            .filter(|received| received.target == target)
            .collect()
    }

    /// All requests, in order.
    pub fn all_requests(&self) -> Vec<Received> {
        self.site.received.lock().unwrap().clone()
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Reply {
    /// A file with status 200; answers conditions (304) and ranges (206, 416) according to its ETag
    /// and date.
    pub fn file(body: impl Into<Bytes>) -> Self {
        Self {
            is_file: true,
            ..Self::body(200, body)
        }
    }

    /// A status with a body, for any request.
    pub fn body(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            is_file: false,
            framing: Framing::Length,
            delivery: Delivery::Whole,
        }
    }

    /// A status without a body.
    pub fn status(status: u16) -> Self {
        Self::body(status, "")
    }

    /// A web page.
    pub fn page(status: u16) -> Self {
        let page = "<!DOCTYPE html>\n<html><head><title>Please stand by</title></head><body><p>We will be back.</p></body></html>\n";
        Self::body(status, page).content_type("text/html; charset=utf-8")
    }

    /// Answer of the Census Data API since May 2026 to a missing or wrong key.
    pub fn key_error(page: &str) -> Self {
        Self::status(302)
            .header("Location", &format!("/data/{page}"))
            .header("X-DataWebAPI-KeyError", "1")
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the ETag, which includes its quotes: `"v1"`.
    pub fn etag(self, etag: &str) -> Self {
        self.header("ETag", etag)
    }

    pub fn last_modified(self, date: &str) -> Self {
        self.header("Last-Modified", date)
    }

    pub fn content_type(self, content_type: &str) -> Self {
        self.header("Content-Type", content_type)
    }

    /// Declares the full length and closes the connection after this number of bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.delivery = Delivery::CutAfter(bytes);
        self
    }

    /// Declares the full length and stops sending after this number of bytes of the body.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.delivery = Delivery::StallAfter(bytes);
        self
    }

    /// Repeats the body until the client disconnects; declares no length.
    pub fn endless(mut self) -> Self {
        self.delivery = Delivery::Endless;
        self.without_length()
    }

    /// Sends a byte from time to time, as long as the client is connected.
    pub fn dripping(mut self) -> Self {
        self.delivery = Delivery::Dripping;
        self.without_length()
    }

    /// Declares no length: the body ends with the connection.
    pub fn without_length(mut self) -> Self {
        self.framing = Framing::Close;
        self
    }

    /// Declares no length: the body is sent in chunks.
    pub fn chunked(mut self) -> Self {
        self.framing = Framing::Chunks;
        self
    }

    fn header_value(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Reply to a request: the file, a "not modified" answer, or a range of the file.
    fn to(&self, request: &Received) -> Self {
        let (etag, date) = (
            self.header_value("etag"),
            self.header_value("last-modified"),
        );
        if !self.is_file {
            return self.clone();
        }
        let has_condition = !request.header("if-none-match").is_empty();
        let is_same_date =
            !has_condition && date.is_some_and(|date| date == request.header("if-modified-since"));
        if etag.is_some_and(|etag| etag == request.header("if-none-match")) || is_same_date {
            return Self {
                body: Bytes::new(),
                status: 304,
                ..self.clone()
            };
        }
        let if_range = request.header("if-range");
        let is_same = if_range.is_empty() || etag == Some(if_range) || date == Some(if_range);
        let start = request
            .header("range")
            .strip_prefix("bytes=")
            .and_then(|range| range.strip_suffix('-')?.parse::<usize>().ok());
        match start {
            Some(start) if is_same && start < self.body.len() => {
                let range = format!("bytes {start}-{}/{}", self.body.len() - 1, self.body.len());
                Self {
                    body: self.body.slice(start..),
                    status: 206,
                    ..self.clone()
                }
                .header("Content-Range", &range)
            }
            Some(_) if is_same => {
                Self::status(416).header("Content-Range", &format!("bytes */{}", self.body.len()))
            }
            _ => self.clone(),
        }
    }

    async fn send(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Scripted\r\nConnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let has_body = self.status != 304;
        match self.framing {
            Framing::Length if has_body => {
                head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
            }
            Framing::Chunks if has_body => head.push_str("Transfer-Encoding: chunked\r\n"),
            _ => {}
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await?;
        match self.delivery {
            Delivery::Whole => {
                self.send_body(stream, &self.body).await?;
                if self.framing == Framing::Chunks && has_body {
                    stream.write_all(b"0\r\n\r\n").await?;
                }
            }
            Delivery::CutAfter(bytes) => {
                self.send_body(stream, &self.body[..bytes.min(self.body.len())])
                    .await?;
            }
            Delivery::StallAfter(bytes) => {
                self.send_body(stream, &self.body[..bytes.min(self.body.len())])
                    .await?;
                stream.flush().await?;
                // Ends when the client disconnects.
                let mut nothing = [0; 1];
                while stream.read(&mut nothing).await? > 0 {}
            }
            Delivery::Dripping => loop {
                for byte in self.body.chunks(1) {
                    stream.write_all(byte).await?;
                    stream.flush().await?;
                    // The client's deadline ends this, not a count.
                    let mut nothing = [0; 1];
                    if tokio::time::timeout(Duration::from_millis(20), stream.read(&mut nothing))
                        .await
                        .is_ok()
                    {
                        return Ok(());
                    }
                }
            },
            Delivery::Endless => loop {
                stream.write_all(&self.body).await?;
            },
        }
        stream.shutdown().await
    }

    async fn send_body(
        &self,
        stream: &mut (impl AsyncWrite + Unpin),
        body: &[u8],
    ) -> std::io::Result<()> {
        if self.framing != Framing::Chunks {
            return stream.write_all(body).await;
        }
        for chunk in body.chunks(1000) {
            stream
                .write_all(format!("{:x}\r\n", chunk.len()).as_bytes())
                .await?;
            stream.write_all(chunk).await?;
            stream.write_all(b"\r\n").await?;
        }
        Ok(())
    }
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, site: Arc<Site>) {
    let Some(request) = receive(&mut stream).await else {
        return;
    };
    site.received.lock().unwrap().push(request.clone());
    let scripted = {
        let mut routes = site.routes.lock().unwrap();
        routes.get_mut(&request.target).map(|replies| {
            if replies.len() > 1 {
                replies.pop_front().unwrap()
            } else {
                replies[0].clone()
            }
        })
    };
    let folder = site.folder.lock().unwrap().clone();
    let reply = scripted
        .or_else(|| file_of(&folder?, &request.target))
        .unwrap_or_else(|| Reply::page(404));
    // A client may disconnect at any time.
    let _ = reply.to(&request).send(&mut stream).await;
}

async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while memchr::memmem::find(&bytes, b"\r\n\r\n").is_none() {
        match stream.read(&mut buffer).await {
            Ok(length) if length > 0 => bytes.extend_from_slice(&buffer[..length]),
            _ => return None,
        }
    }
    let head = memchr::memmem::find(&bytes, b"\r\n\r\n")? + 4;
    let mut body = bytes.split_off(head);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines = text.split("\r\n");
    let (method, rest) = lines.next()?.split_once(' ')?;
    let target = rest.split(' ').next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => body.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Received {
        method: method.to_owned(),
        target,
        headers,
        body,
        at: Instant::now(),
    })
}

/// Reply of a static server for a folder's file: the path is percent-decoded and cannot leave the
/// folder.
fn file_of(folder: &Path, target: &str) -> Option<Reply> {
    let path = percent_decoded(target.split('?').next()?)?;
    if path.split('/').any(|segment| segment == "..") {
        return None;
    }
    let path = folder.join(path.trim_start_matches('/'));
    let bytes = std::fs::read(&path).ok()?;
    let modified =
        jiff::Timestamp::try_from(std::fs::metadata(&path).ok()?.modified().ok()?).ok()?;
    let date = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&modified)
        .ok()?;
    let etag = format!("\"{}\"", Digest::sha256(&bytes).short(16));
    Some(
        Reply::file(bytes)
            .etag(&etag)
            .last_modified(&date)
            .content_type("application/octet-stream"),
    )
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(after.get(..2)?).ok()?, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
