//! Makes one attempt to download a file over SFTP. Requests many pieces ahead and resumes a broken
//! transfer. All files on a server share one login. A file that changed during the transfer is
//! fetched again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use reqwest::Url;
use russh_sftp::client::RawSftpSession;
use russh_sftp::client::error::Error as SftpError;
use russh_sftp::protocol::{FileAttributes, OpenFlags, StatusCode};
use tokio::sync::OwnedSemaphorePermit;

use super::check;
use super::host_limiter::HostLimiter;
use super::http::{Answer, Target};
use super::piece::{Head, Piece};
use super::retry::{Failure, http_date, utc_date};
use super::ssh::{self, Connection, Server};
use super::{FetchProgress, FetchSettings};
use pubdata_core::error::Error;
use pubdata_core::pipeline::SftpLogin;
use pubdata_store::{FileStamp, Partial, PartialOrigin};

/// Largest piece size that every server supports (draft-ietf-secsh-filexfer-02, 6.4).
const PIECE: u64 = 32 << 10;

/// Number of pieces to request ahead, as in the OpenSSH client.
const PIECES_AHEAD: usize = 64;

/// A file on a server can change within a second without a change to its modification time.
const YOUNG_SECONDS: i64 = 2;

/// SFTP downloads, one attempt at a time. All files on a server share one login.
pub(super) struct Sftp {
    settings: FetchSettings,
    limiter: HostLimiter,
    /// Connections by source and server, because different sources may have different logins.
    connections: Mutex<HashMap<String, Arc<ConnectionSlot>>>,
}

/// A connection, or a slot for a connection that is being opened.
type ConnectionSlot = tokio::sync::Mutex<Option<Arc<Connection>>>;

impl Sftp {
    pub(super) fn new(settings: FetchSettings) -> Self {
        Self {
            limiter: HostLimiter::new(&settings),
            settings,
            connections: Mutex::default(),
        }
    }

    /// Returns the environment variable that a source's login needs, if that variable is not set.
    pub(super) fn missing_variable(&self, source_id: &str) -> Option<&str> {
        let variable = self.settings.sftp.get(source_id)?.variable()?;
        (self.settings.secret)(variable)
            .is_none()
            .then_some(variable)
    }

    /// Requests the file once and writes the bytes that arrive. Bytes received before a broken
    /// connection stay in the partial download.
    pub(super) async fn attempt<'a>(
        &self,
        source_id: &str,
        target: &Target<'a>,
        partial: &mut Partial,
        progress: &dyn FetchProgress,
    ) -> Result<Answer<'a>, Failure> {
        let (slot, connection, _transfer) = self.reach(source_id, target).await?;
        let limit = self.settings.total_timeout;
        let read = tokio::time::timeout(
            limit,
            read_file(&connection.session, target, partial, progress),
        )
        .await;
        let answer = read.unwrap_or_else(|_| Err(took_too_long(limit)));
        if matches!(answer, Err(Failure::Again { .. })) {
            slot.lock()
                .await
                .take_if(|known| Arc::ptr_eq(known, &connection));
        }
        answer
    }

    /// Requests a part of a file once.
    pub(super) async fn piece(
        &self,
        source_id: &str,
        target: &Target<'_>,
        piece: Piece,
    ) -> Result<Head, Failure> {
        let (slot, connection, _transfer) = self.reach(source_id, target).await?;
        let limit = self.settings.total_timeout;
        let read =
            tokio::time::timeout(limit, read_piece(&connection.session, target, piece)).await;
        let answer = read.unwrap_or_else(|_| Err(took_too_long(limit)));
        if matches!(answer, Err(Failure::Again { .. })) {
            slot.lock()
                .await
                .take_if(|known| Arc::ptr_eq(known, &connection));
        }
        answer
    }

    /// Returns the connection to a file's server, after waiting for the rate limits.
    async fn reach(
        &self,
        source_id: &str,
        target: &Target<'_>,
    ) -> Result<(Arc<ConnectionSlot>, Arc<Connection>, OwnedSemaphorePermit), Failure> {
        let host = target.address.url.host_str().unwrap_or_default();
        let transfer = self.limiter.transfer(host).await;
        self.limiter.request(host).await;
        let login = self.settings.sftp.get(source_id).ok_or_else(|| {
            Error::config(format!("source `{source_id}` has no login for {host}"))
                .hint("its declaration needs `sftp = { user = …, password = … }`")
        })?;
        let server = Server {
            host,
            port: target.address.url.port().unwrap_or(22),
            source_id,
            login,
        };
        let slot = self.slot(server);
        let connection = self.connection(&slot, server).await?;
        Ok((slot, connection, transfer))
    }

    fn slot(&self, server: Server<'_>) -> Arc<ConnectionSlot> {
        let SftpLogin { user, host_key, .. } = server.login;
        let name = format!(
            "{user}@{}:{} {}",
            server.host,
            server.port,
            host_key.as_deref().unwrap_or_default()
        );
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(connections.entry(name).or_default())
    }

    async fn connection(
        &self,
        slot: &ConnectionSlot,
        server: Server<'_>,
    ) -> Result<Arc<Connection>, Failure> {
        let mut held = slot.lock().await;
        if let Some(connection) = held.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Arc::new(ssh::connect(&self.settings, server).await?);
        *held = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

fn took_too_long(limit: Duration) -> Failure {
    Failure::again(Error::fetch(format!(
        "the transfer took longer than {} s",
        limit.as_secs()
    )))
}

/// Returns the file's stamp if it is old enough that its next change will change the stamp.
pub(super) fn stamp(of: &PartialOrigin, now: Timestamp) -> Option<FileStamp> {
    let modified = of.last_modified.as_deref().and_then(http_date)?;
    let stamp = FileStamp {
        size_bytes: of.total_bytes?,
        modified_ns: i64::try_from(modified.as_nanosecond()).ok()?,
        changed_ns: 0,
    };
    (modified.as_second() + YOUNG_SECONDS < now.as_second()).then_some(stamp)
}

async fn read_file<'a>(
    session: &RawSftpSession,
    target: &Target<'a>,
    partial: &mut Partial,
    progress: &dyn FetchProgress,
) -> Result<Answer<'a>, Failure> {
    let path = path_of(&target.address.url)?;
    let Some(of) = look(session, &path, target).await? else {
        return Ok(Answer::Absent);
    };
    let size_bytes = of.total_bytes.unwrap_or_default();
    if size_bytes > target.max_bytes {
        return Err(check::too_large(size_bytes, target.max_bytes).into());
    }
    // The age of the modification time was checked when the file was fetched.
    let as_known = stamp(&of, Timestamp::MAX);
    if let Some(known) = target
        .known
        .filter(|known| known.stamp.is_some() && known.stamp == as_known)
    {
        return Ok(Answer::NotModified(known));
    }
    if partial.origin() != Some(&of) || of.last_modified.is_none() || partial.len() > size_bytes {
        partial.begin(of.clone())?;
    }
    tracing::debug!(url = %target.origin, bytes = size_bytes, resumed_at = partial.len(), "answer");
    progress.started(&target.origin, Some(size_bytes));
    progress.advanced(partial.len());
    let handle = session
        .open(&path, OpenFlags::READ, FileAttributes::empty())
        .await
        .map_err(|error| broken(error, target, "the file cannot be opened"))?;
    let taken = take(
        session,
        &handle.handle,
        size_bytes,
        target,
        partial,
        progress,
    )
    .await;
    // If this fails, the server closes the handle when the connection ends.
    let _ = session.close(&handle.handle).await;
    taken?;
    if look(session, &path, target).await?.as_ref() != Some(&of) {
        partial.restart()?;
        return Err(Failure::again(Error::fetch(
            "the file changed while it was being downloaded",
        )));
    }
    Ok(Answer::Whole)
}

async fn read_piece(
    session: &RawSftpSession,
    target: &Target<'_>,
    piece: Piece,
) -> Result<Head, Failure> {
    let path = path_of(&target.address.url)?;
    let Some(of) = look(session, &path, target).await? else {
        return Ok(Head::Absent { status: None });
    };
    let total_bytes = of.total_bytes.unwrap_or_default();
    let (start, length) = piece.within(total_bytes);
    let handle = session
        .open(&path, OpenFlags::READ, FileAttributes::empty())
        .await
        .map_err(|error| broken(error, target, "the file cannot be opened"))?;
    let offsets = (start..start + length).step_by(PIECE as usize);
    let pieces: Vec<_> = stream::iter(offsets)
        .map(|offset| {
            take_piece(
                session,
                &handle.handle,
                offset,
                PIECE.min(start + length - offset),
            )
        })
        .buffered(PIECES_AHEAD)
        .collect()
        .await;
    // If this fails, the server closes the handle when the connection ends.
    let _ = session.close(&handle.handle).await;
    let mut bytes = Vec::new();
    for piece in pieces {
        bytes.extend(piece.map_err(|error| broken(error, target, "the transfer broke"))?);
    }
    let dated = of
        .last_modified
        .as_deref()
        .and_then(http_date)
        .map(utc_date);
    Ok(Head::Found {
        status: None,
        content_type: None,
        total_bytes: Some(total_bytes),
        dated,
        start,
        bytes,
    })
}

/// Returns the current metadata of the file on the server.
async fn look(
    session: &RawSftpSession,
    path: &str,
    target: &Target<'_>,
) -> Result<Option<PartialOrigin>, Failure> {
    let attributes = match session.stat(path).await {
        Ok(answer) => answer.attrs,
        Err(SftpError::Status(status)) if status.status_code == StatusCode::NoSuchFile => {
            return Ok(None);
        }
        Err(error) => {
            return Err(broken(
                error,
                target,
                "the file's attributes cannot be read",
            ));
        }
    };
    if attributes.permissions.is_some() && attributes.is_dir() {
        return Err(Error::fetch("the path is a folder")
            .hint(check::NOT_THE_FILE_HINT)
            .into());
    }
    if attributes.size.is_none() {
        return Err(Error::fetch("the server does not report the file's size")
            .hint(check::NOT_THE_FILE_HINT)
            .into());
    }
    let modified = attributes
        .mtime
        .and_then(|seconds| Timestamp::from_second(i64::from(seconds)).ok());
    let last_modified =
        modified.and_then(|at| DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok());
    Ok(Some(PartialOrigin {
        origin: target.origin.clone(),
        last_modified,
        total_bytes: attributes.size,
        ..PartialOrigin::default()
    }))
}

/// Downloads the missing remainder of a file in order, requesting many pieces at a time.
async fn take(
    session: &RawSftpSession,
    handle: &str,
    size_bytes: u64,
    target: &Target<'_>,
    partial: &mut Partial,
    progress: &dyn FetchProgress,
) -> Result<(), Failure> {
    let offsets = (partial.len()..size_bytes).step_by(PIECE as usize);
    let mut pieces = stream::iter(offsets)
        .map(|offset| take_piece(session, handle, offset, PIECE.min(size_bytes - offset)))
        .buffered(PIECES_AHEAD);
    while let Some(piece) = pieces.next().await {
        let after = format!(
            "the transfer broke after {} of {size_bytes} bytes",
            partial.len()
        );
        let piece = piece.map_err(|error| broken(error, target, &after))?;
        let is_short = (piece.len() as u64) < PIECE.min(size_bytes - partial.len());
        partial.write(&piece)?;
        progress.advanced(piece.len() as u64);
        if is_short {
            return Err(Failure::again(Error::fetch(format!(
                "the transfer ended after {} of {size_bytes} bytes",
                partial.len()
            ))));
        }
    }
    Ok(())
}

/// Downloads a piece of a file. The piece is shorter than requested only at the end of the file.
async fn take_piece(
    session: &RawSftpSession,
    handle: &str,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>, SftpError> {
    let mut piece = Vec::new();
    while (piece.len() as u64) < length {
        let (from, missing) = (offset + piece.len() as u64, length - piece.len() as u64);
        match session.read(handle, from, missing as u32).await {
            Ok(data) if data.data.is_empty() || data.data.len() as u64 > missing => {
                return Err(SftpError::UnexpectedBehavior(format!(
                    "{} bytes in place of {missing}",
                    data.data.len()
                )));
            }
            Ok(data) => piece.extend_from_slice(&data.data),
            Err(SftpError::Status(status)) if status.status_code == StatusCode::Eof => break,
            Err(error) => return Err(error),
        }
    }
    Ok(piece)
}

fn broken(error: SftpError, target: &Target<'_>, what: &str) -> Failure {
    let text = target
        .address
        .secrets
        .redacted(&error.to_string(), |_| None);
    let refused = matches!(&error, SftpError::Status(status) if matches!(status.status_code, StatusCode::PermissionDenied | StatusCode::OpUnsupported));
    let error = Error::fetch(format!("{what}: {text}"));
    if refused {
        error.hint("ask the publisher whether the login may read the file; the last good snapshot stays in use").into()
    } else {
        Failure::again(error)
    }
}

/// Returns the path on the server. The path is relative to the login folder, or absolute if the URL
/// path begins with `//`.
fn path_of(url: &Url) -> Result<String, Error> {
    let path = url.path().strip_prefix('/').unwrap_or(url.path());
    let path = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| Error::config(format!("URL {url}: its path is not UTF-8")))?;
    if path.is_empty() || path.ends_with('/') || path.contains('\0') {
        return Err(Error::config(format!(
            "URL {url}: its path does not name a file"
        )));
    }
    Ok(path.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_relative_to_the_login_folder_or_absolute() {
        let path = |url: &str| path_of(&Url::parse(url).unwrap()).unwrap();
        assert_eq!(
            path("sftp://data.example/doc/cor/20230929c.txt"),
            "doc/cor/20230929c.txt"
        );
        assert_eq!(
            path("sftp://data.example:2222//srv/a%20b.zip"),
            "/srv/a b.zip"
        );
        for url in [
            "sftp://data.example",
            "sftp://data.example/",
            "sftp://data.example/doc/",
            "sftp://data.example/%ff",
        ] {
            assert!(path_of(&Url::parse(url).unwrap()).is_err(), "{url}");
        }
    }

    #[test]
    fn file_has_a_stamp_only_if_not_recently_modified() {
        let of = |last_modified: Option<&str>| PartialOrigin {
            last_modified: last_modified.map(str::to_owned),
            total_bytes: Some(5),
            ..PartialOrigin::default()
        };
        let modified = of(Some("Fri, 29 Sep 2023 12:00:00 GMT"));
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let expected = FileStamp {
            size_bytes: 5,
            modified_ns: 1_695_988_800_000_000_000,
            changed_ns: 0,
        };
        assert_eq!(stamp(&modified, at("2023-09-29T12:00:03Z")), Some(expected));
        assert_eq!(stamp(&modified, at("2023-09-29T12:00:02Z")), None);
        assert_eq!(stamp(&of(None), at("2023-09-30T00:00:00Z")), None);
    }
}
