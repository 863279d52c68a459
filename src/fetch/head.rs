//! Requests a part of a file to see what a publisher has, without storing the bytes. Every
//! publisher response, including a refusal, is a result and not an error.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::Url;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LAST_MODIFIED, LOCATION};

use super::http::{Target, key_error};
use super::mirror::{self, MirrorLocation};
use super::piece::{Head, Piece};
use super::redirect::Reach;
use super::retry::{Failure, RetryPolicy, http_date, utc_date};
use super::secret::SecretUrl;
use super::way::{Address, KEY_ERROR, Reached, text_of};
use super::{Fetcher, Request};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::provenance::is_future_date;
use pubdata_store::open_file;

impl Fetcher {
    /// Returns whether mirrors replace the publishers.
    pub fn has_mirror(&self) -> bool {
        !self.mirrors.is_empty()
    }

    /// Returns a message saying that a file or page does not exist on the mirrors, or on the
    /// publisher's server if no mirrors are set.
    pub fn absence(&self, url: &str, what: &str) -> String {
        mirror::absence(&self.settings.mirrors, url, what)
    }

    /// Requests a part of a file within the rate limits. Closes the connection if the server sends
    /// more than the requested part.
    ///
    /// # Errors
    /// `Config`, when the URL is not supported; `Fetch`, when a mirror does not respond. A
    /// publisher's response is never an error.
    pub async fn head(&self, request: &Request, piece: Piece) -> Result<Head> {
        let mut head = self.ask_for_piece(request, piece).await?;
        if let Head::Found { dated, .. } = &mut head {
            let today = utc_date(self.settings.clock.now()).parse().ok();
            dated.take_if(|dated| {
                dated
                    .parse()
                    .ok()
                    .zip(today)
                    .is_some_and(|(stated, today)| is_future_date(stated, today))
            });
        }
        Ok(head)
    }

    async fn ask_for_piece(&self, request: &Request, piece: Piece) -> Result<Head> {
        self.prepare().await?;
        let url = SecretUrl::parse(&request.url)?;
        if request.url.starts_with("file://") {
            return read_piece(&mirror::file_url_path(&url.recorded)?, piece);
        }
        super::fetcher::check_scheme(&url.recorded)?;
        if self.mirrors.is_empty() {
            if let Some(variable) = url
                .variables
                .iter()
                .find(|variable| (self.settings.secret)(variable).is_none())
            {
                return Ok(Head::NotConfigured {
                    variable: variable.clone(),
                });
            }
            if let Some(variable) = self.sftp.missing_variable(&request.source_id) {
                return Ok(Head::NotConfigured {
                    variable: variable.to_owned(),
                });
            }
            let to_send = Url::parse(&url.to_send(self.settings.secret))
                .map_err(|error| Error::config(format!("URL {}: {error}", url.recorded)))?;
            let address = Address {
                url: to_send,
                secrets: &url,
                reach: Reach::Domain(&request.redirects),
                token: self.app_token(request)?,
            };
            if address.url.scheme() == "sftp" {
                return Ok(self.ask_over_sftp(request, address, piece).await);
            }
            return Ok(self.ask(&address, piece).await);
        }
        let path = mirror::mirror_path(&url.recorded)?;
        let mut answer = Head::Absent { status: None };
        for mirror in &self.mirrors {
            answer = match &mirror.location {
                MirrorLocation::Folder(folder) => {
                    read_piece(&mirror::file_in(folder, &path)?, piece)?
                }
                MirrorLocation::Url(base) => {
                    let address = Address {
                        url: mirror::mirror_url(base, &path)?,
                        secrets: &url,
                        reach: Reach::Mirror,
                        token: None,
                    };
                    self.ask(&address, piece).await
                }
            };
            if !matches!(answer, Head::Absent { .. }) {
                break;
            }
        }
        Ok(answer)
    }

    async fn ask(&self, address: &Address<'_>, piece: Piece) -> Head {
        let url = address.secrets;
        let mut retries = RetryPolicy::new(&self.settings);
        loop {
            let failure = match self.http.piece(address, piece).await {
                Ok(Head::Moved { status, location }) => {
                    return Head::Moved {
                        status,
                        location: url.redacted(&location, self.settings.secret),
                    };
                }
                Ok(head) => return head,
                Err((status, failure)) => (status, failure),
            };
            // For a transient failure, the only useful hint is to try again.
            let is_lasting = matches!(failure.1, Failure::Final(_));
            if let Err(error) = retries.after(failure.1, &url.recorded).await {
                let hint = error.hint_text().filter(|_| is_lasting).map(str::to_owned);
                return Head::Unreachable {
                    status: failure.0,
                    message: error.to_string(),
                    hint,
                };
            }
        }
    }
}

impl Fetcher {
    async fn ask_over_sftp(&self, request: &Request, address: Address<'_>, piece: Piece) -> Head {
        let origin = address.secrets.recorded.clone();
        let target = Target {
            origin,
            address,
            max_bytes: request.max_bytes,
            is_page: false,
            known: None,
        };
        let mut retries = RetryPolicy::new(&self.settings);
        loop {
            let failure = match self.sftp.piece(&request.source_id, &target, piece).await {
                Ok(head) => return head,
                Err(Failure::Final(error)) => {
                    let (message, hint) = (error.to_string(), error.hint_text().map(str::to_owned));
                    let is_ours = error.kind() == ErrorKind::Config;
                    return if is_ours {
                        Head::Unusable { message, hint }
                    } else {
                        Head::Refused {
                            status: None,
                            message,
                            hint,
                        }
                    };
                }
                Err(failure) => failure,
            };
            if let Err(error) = retries.after(failure, &target.origin).await {
                return Head::Unreachable {
                    status: None,
                    message: error.to_string(),
                    hint: None,
                };
            }
        }
    }
}

impl super::http::Http {
    /// Sends one request. A failure includes the status, if the server sent one.
    async fn piece(
        &self,
        address: &Address<'_>,
        piece: Piece,
    ) -> std::result::Result<Head, (Option<u16>, Failure)> {
        let Reached {
            mut response,
            _transfer,
            ..
        } = self
            .client
            .send_for_piece(address, &piece.range())
            .await
            .map_err(|failure| (None, failure))?;
        let (status, headers) = (response.status(), response.headers());
        let code = status.as_u16();
        if headers.contains_key(KEY_ERROR) {
            let refused = key_error(address.secrets);
            return Ok(Head::Refused {
                status: Some(code),
                message: refused.to_string(),
                hint: refused.hint_text().map(str::to_owned),
            });
        }
        match status {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Ok(Head::Absent { status: Some(code) });
            }
            // An empty file has no first byte.
            StatusCode::RANGE_NOT_SATISFIABLE => {
                return Ok(Head::Found {
                    status: Some(code),
                    content_type: None,
                    total_bytes: Some(0),
                    dated: None,
                    start: 0,
                    bytes: Vec::new(),
                });
            }
            status if status.is_redirection() => {
                let location = text_of(headers, LOCATION)
                    .and_then(|location| response.url().join(&location).ok());
                return Ok(Head::Moved {
                    status: code,
                    location: location.map_or_else(String::new, String::from),
                });
            }
            StatusCode::ACCEPTED => {
                return Err((
                    Some(code),
                    Failure::again(Error::fetch("the publisher is still making the file")),
                ));
            }
            _ if matches!(code, 408 | 425 | 429 | 500..=599) => {
                return Err((
                    Some(code),
                    Failure::again(Error::fetch(format!("the server answered {status}"))),
                ));
            }
            _ => {
                return Ok(Head::Refused {
                    status: Some(code),
                    message: format!("the server answered {status}"),
                    hint: None,
                });
            }
        }
        let is_part = status == StatusCode::PARTIAL_CONTENT;
        let (start, total_bytes) = match text_of(headers, CONTENT_RANGE).filter(|_| is_part) {
            Some(range) => range_of(&range).unwrap_or((0, None)),
            None => (
                0,
                text_of(headers, CONTENT_LENGTH).and_then(|length| length.parse().ok()),
            ),
        };
        let content_type = text_of(headers, CONTENT_TYPE);
        let dated = text_of(headers, LAST_MODIFIED)
            .and_then(|date| http_date(&date))
            .map(utc_date);
        // If a server sends the entire file, only the first bytes are read. They cannot contain a
        // part that starts elsewhere.
        let requested = usize::try_from(piece.length()).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let mut is_ended = false;
        while bytes.len() < requested {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => {
                    is_ended = true;
                    break;
                }
                Err(error) => {
                    return Err((
                        Some(code),
                        Failure::again(Error::fetch(format!(
                            "the transfer broke: {}",
                            error.without_url()
                        ))),
                    ));
                }
            }
        }
        bytes.truncate(requested);
        let total_bytes =
            total_bytes.or_else(|| (is_ended && start == 0).then_some(bytes.len() as u64));
        Ok(Head::Found {
            status: Some(code),
            content_type,
            total_bytes,
            dated,
            start,
            bytes,
        })
    }
}

/// Parses the first byte and the file size from a value such as `bytes 5-9/10`.
pub(super) fn range_of(range: &str) -> Option<(u64, Option<u64>)> {
    let (bounds, total) = range.strip_prefix("bytes ")?.split_once('/')?;
    Some((bounds.split_once('-')?.0.parse().ok()?, total.parse().ok()))
}

fn read_piece(path: &Path, piece: Piece) -> Result<Head> {
    let unreadable =
        |error: std::io::Error| Error::fetch(format!("cannot read {}: {error}", path.display()));
    // Check before opening, because opening a pipe would wait for a writer.
    let metadata = match std::fs::metadata(path) {
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Head::Absent { status: None });
        }
        known => known.map_err(unreadable)?,
    };
    if !metadata.is_file() {
        return Ok(Head::Absent { status: None });
    }
    let mut file = open_file(path).map_err(unreadable)?;
    let total = metadata.len();
    let (start, length) = piece.within(total);
    let dated = metadata
        .modified()
        .ok()
        .and_then(|modified| Timestamp::try_from(modified).ok())
        .map(utc_date);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    file.take(length)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(Head::Found {
        status: None,
        content_type: None,
        total_bytes: Some(total),
        dated,
        start,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piece_is_requested_by_its_byte_range() {
        assert_eq!(Piece::Start(10).range(), "bytes=0-9");
        assert_eq!(Piece::End(10).range(), "bytes=-10");
        assert_eq!(Piece::At(5, 10).range(), "bytes=5-14");
        assert_eq!(range_of("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(range_of("bytes 5-9/*"), Some((5, None)));
        assert_eq!(range_of("bytes */10"), None);
    }

    #[test]
    fn piece_of_a_local_file_is_read_at_its_position() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789").unwrap();
        let read = |piece| match read_piece(file.path(), piece).unwrap() {
            Head::Found {
                start,
                bytes,
                total_bytes: Some(10),
                ..
            } => (start, String::from_utf8(bytes).unwrap()),
            other => panic!("{other:?}"),
        };
        assert_eq!(read(Piece::Start(4)), (0, "0123".to_owned()));
        assert_eq!(read(Piece::End(3)), (7, "789".to_owned()));
        assert_eq!(read(Piece::At(2, 3)), (2, "234".to_owned()));
        assert_eq!(read(Piece::At(8, 9)), (8, "89".to_owned()));
        assert!(
            read_piece(file.path(), Piece::Start(10))
                .unwrap()
                .is_whole()
        );
        assert!(!read_piece(file.path(), Piece::End(9)).unwrap().is_whole());
    }
}
