//! Makes one attempt to download a file over HTTP: resumes a broken transfer, asks whether the file
//! has changed, and evaluates the response. Conditions are sent only to the origin that supplied
//! them.

use reqwest::header::{
    CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE,
};
use reqwest::header::{
    IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE, RETRY_AFTER, TRANSFER_ENCODING,
};
use reqwest::{Response, StatusCode, Version};

use super::body::{self, Coding, restarted};
use super::check;
use super::client::causes;
use super::mirror::MAX_MIRROR_FILE_BYTES;
use super::retry::{Failure, retry_after};
use super::secret::SecretUrl;
use super::way::{Address, HttpClient, KEY_ERROR, Reached, text_of, with_redirect_target};
use super::{FetchProgress, FetchSettings};
use pubdata_core::error::Error;
use pubdata_store::{KnownUrl, Partial, PartialOrigin};

/// HTTP downloads, one attempt at a time.
pub(super) struct Http {
    pub(super) client: HttpClient,
}

/// The file to request.
pub(super) struct Target<'a> {
    /// Origin of the request, without secrets.
    pub(super) origin: String,
    pub(super) address: Address<'a>,
    pub(super) max_bytes: u64,
    pub(super) is_page: bool,
    /// The known state of the file at the same origin.
    pub(super) known: Option<&'a KnownUrl>,
}

/// Result of an attempt.
pub(super) enum Answer<'a> {
    /// The partial download contains the entire file.
    Whole,
    NotModified(&'a KnownUrl),
    Absent,
}

impl Http {
    /// Creates the downloader without sending a request.
    ///
    /// # Errors
    /// Same as for [`HttpClient::new`].
    pub(super) fn new(settings: FetchSettings) -> Result<Self, Error> {
        Ok(Self {
            client: HttpClient::new(settings)?,
        })
    }

    /// Sends one request and writes the response. Bytes received before a broken connection stay in
    /// the partial download.
    pub(super) async fn attempt<'a>(
        &self,
        target: &Target<'a>,
        partial: &mut Partial,
        progress: &dyn FetchProgress,
    ) -> Result<Answer<'a>, Failure> {
        if partial.origin().is_some_and(|of| {
            of.origin == target.origin
                && of.total_bytes == Some(partial.len())
                && !partial.is_empty()
        }) {
            return Ok(Answer::Whole);
        }
        let resumed = partial
            .origin()
            .filter(|of| of.origin == target.origin && !partial.is_empty() && !of.is_decoded);
        let resumed = resumed.and_then(|of| Some((of.clone(), strong_validator(of)?)));
        let begins_at = partial.len();
        // Conditions are valid only at the origin that supplied them, and are not sent to the
        // redirects that lead there.
        let headers = |way: &[String]| {
            let mut headers = HeaderMap::new();
            if let Some((_, validator)) = resumed
                .as_ref()
                .filter(|(of, _)| of.redirected_through.last() == way.last())
            {
                headers.extend(
                    [
                        (RANGE, header(&format!("bytes={begins_at}-"))),
                        (IF_RANGE, header(validator)),
                    ]
                    .into_iter()
                    .filter_map(both),
                );
            }
            if let Some(known) = target
                .known
                .map(|known| &known.snapshot)
                .filter(|known| known.redirected_through.last() == way.last())
            {
                let condition = match (&known.etag, &known.last_modified) {
                    (Some(etag), _) => Some((IF_NONE_MATCH, header(etag))),
                    (None, last_modified) => last_modified
                        .as_ref()
                        .map(|date| (IF_MODIFIED_SINCE, header(date))),
                };
                headers.extend(condition.and_then(both));
            }
            headers
        };
        let Reached {
            response,
            way,
            _transfer,
        } = self.client.send(&target.address, &headers).await?;
        tracing::debug!(url = %target.origin, status = response.status().as_u16(), resumed_at = begins_at, redirects = way.len(), "answer");
        let resumed = resumed
            .filter(|(of, _)| of.redirected_through.last() == way.last())
            .map(|(of, _)| of);
        let end = way.last().cloned();
        let answer = self
            .take(response, way, target, resumed.as_ref(), partial, progress)
            .await;
        answer.map_err(|failure| with_redirect_target(failure, end.as_deref()))
    }

    async fn take<'a>(
        &self,
        response: Response,
        way: Vec<String>,
        target: &Target<'a>,
        resumed: Option<&PartialOrigin>,
        partial: &mut Partial,
        progress: &dyn FetchProgress,
    ) -> Result<Answer<'a>, Failure> {
        let coding = match self.judge(&response, target, resumed, partial)? {
            Judgement::Absent => return Ok(Answer::Absent),
            Judgement::NotModified(known) => return Ok(Answer::NotModified(known)),
            Judgement::Rest => None,
            Judgement::Beginning(coding) => {
                let header = |name| text_of(response.headers(), name);
                partial.begin(PartialOrigin {
                    origin: target.origin.clone(),
                    etag: header(ETAG),
                    last_modified: header(LAST_MODIFIED),
                    total_bytes: response.content_length().filter(|_| coding.is_none()),
                    redirected_through: way,
                    is_decoded: coding.is_some(),
                    is_length_unknown: coding.is_none() && ends_with_the_connection(&response),
                })?;
                coding
            }
        };
        progress.started(
            &target.origin,
            partial.origin().and_then(|of| of.total_bytes),
        );
        progress.advanced(partial.len());
        match coding {
            None => body::take(response, target.max_bytes, partial, progress).await?,
            Some(coding) => {
                body::take_packed(response, coding, target.max_bytes, partial, progress).await?;
            }
        }
        Ok(Answer::Whole)
    }

    /// Reads a small text file, such as the description of a mirror.
    pub(super) async fn small_text(
        &self,
        address: &Address<'_>,
    ) -> Result<Option<String>, Failure> {
        let Reached {
            mut response,
            _transfer,
            ..
        } = self.client.send(address, &|_| HeaderMap::new()).await?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(None),
            StatusCode::OK => {}
            status => return Err(self.refusal(status, response.headers())),
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| Failure::again(Error::fetch(causes(error))))?
        {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 > MAX_MIRROR_FILE_BYTES {
                return Err(check::too_large(bytes.len() as u64, MAX_MIRROR_FILE_BYTES).into());
            }
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn judge<'a>(
        &self,
        response: &Response,
        target: &Target<'a>,
        resumed: Option<&PartialOrigin>,
        partial: &mut Partial,
    ) -> Result<Judgement<'a>, Failure> {
        let (status, headers) = (response.status(), response.headers());
        let redacted = |text: &str| {
            target
                .address
                .secrets
                .redacted(text, self.client.settings.secret)
        };
        if headers.contains_key(KEY_ERROR) {
            return Err(key_error(target.address.secrets).into());
        }
        if let Some(known) = target.known.filter(|_| status == StatusCode::NOT_MODIFIED) {
            return Ok(Judgement::NotModified(known));
        }
        match status {
            StatusCode::OK => {}
            StatusCode::PARTIAL_CONTENT if resumed.is_some() => {}

            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Judgement::Absent),
            StatusCode::RANGE_NOT_SATISFIABLE if resumed.is_some() => {
                return Err(restarted(
                    partial,
                    "the server no longer has the bytes to resume at",
                ));
            }
            status => return Err(self.refusal(status, headers)),
        }
        if !target.is_page {
            check::content_type(&text_of(headers, CONTENT_TYPE).unwrap_or_default())?;
        }
        let encoding = text_of(headers, CONTENT_ENCODING).unwrap_or_default();
        let coding = Coding::parse(&encoding).map_err(|encoding| {
            Error::fetch(format!(
                "the server sent the file with content encoding {}, which was not requested",
                redacted(encoding)
            ))
        })?;
        let begins_at = if status == StatusCode::PARTIAL_CONTENT {
            partial.len()
        } else {
            0
        };
        if let Some(size_bytes) = response
            .content_length()
            .map(|length| length + begins_at)
            .filter(|size_bytes| *size_bytes > target.max_bytes)
        {
            return Err(check::too_large(size_bytes, target.max_bytes).into());
        }
        let Some(of) = resumed.filter(|_| status == StatusCode::PARTIAL_CONTENT) else {
            return Ok(Judgement::Beginning(coding));
        };
        let range = text_of(headers, CONTENT_RANGE).unwrap_or_default();
        let is_same = |known: &Option<String>, name| {
            known.is_none() || text_of(headers, name).is_none_or(|now| Some(now) == *known)
        };
        if !(is_same(&of.etag, ETAG) && is_same(&of.last_modified, LAST_MODIFIED)) {
            return Err(restarted(
                partial,
                "the file changed while it was being downloaded",
            ));
        }
        if coding.is_some() {
            return Err(restarted(
                partial,
                "the server compressed the rest of the file",
            ));
        }
        match total_if_range_fits(&range, partial.len(), of.total_bytes) {
            Some(total_bytes) => {
                total_bytes.map_or(Ok(()), |total_bytes| partial.expect(total_bytes))?;
            }
            None => {
                return Err(restarted(
                    partial,
                    &format!(
                        "the server sent another range than the requested one (`{}`)",
                        redacted(&range)
                    ),
                ));
            }
        }
        Ok(Judgement::Rest)
    }

    fn refusal(&self, status: StatusCode, headers: &HeaderMap) -> Failure {
        let answered = format!("the server answered {status}");
        let after = || {
            text_of(headers, RETRY_AFTER)
                .and_then(|text| retry_after(&text, self.client.settings.clock.now()))
        };
        if status == StatusCode::ACCEPTED {
            return Failure::Making { after: after() };
        }
        if matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504) {
            return Failure::Again {
                error: Error::fetch(answered)
                    .hint("run again later; the last good snapshot stays in use"),
                after: after(),
            };
        }
        let hint = match status {
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED
                if self.client.settings.contact.is_none() =>
            {
                "publishers refuse anonymous clients: set PUBDATA_CONTACT to an e-mail address"
            }
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                "the publisher refuses this client or network, perhaps for a while; run again later, or fetch through --mirror"
            }
            _ => check::NOT_THE_FILE_HINT,
        };
        Error::fetch(answered).hint(hint).into()
    }
}

enum Judgement<'a> {
    Absent,
    NotModified(&'a KnownUrl),
    /// The body is the entire file, compressed or not.
    Beginning(Option<Coding>),
    /// The body is the missing remainder of the partial download.
    Rest,
}

/// Returns whether only the end of the connection marks the end of the body. The client itself
/// checks the last chunk and the last HTTP/2 frame.
fn ends_with_the_connection(response: &Response) -> bool {
    let is_chunked = text_of(response.headers(), TRANSFER_ENCODING)
        .is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
    response.version() <= Version::HTTP_11 && response.content_length().is_none() && !is_chunked
}

pub(super) fn key_error(secrets: &SecretUrl) -> Error {
    match secrets.variables.first() {
        Some(variable) => Error::fetch(format!("the API key in {variable} was refused"))
            .hint(format!("check the key (it must have been activated by e-mail), or unset {variable} to go without these files")),
        None => Error::fetch("the server asks for an API key, and the declared URL has none").hint("add `key={env:NAME}` to the URL in the declaration"),
    }
}

/// Returns the validator for `If-Range`, which must not be a weak ETag.
fn strong_validator(of: &PartialOrigin) -> Option<String> {
    of.etag
        .clone()
        .filter(|etag| !etag.starts_with("W/"))
        .or_else(|| of.last_modified.clone())
}

/// Parses a `Content-Range` such as `bytes 5-9/10`. Returns the size of the file, or `Some(None)`
/// for an unknown size (`*`). Returns `None` if the range does not begin at `start` or belongs to a
/// file of another size.
fn total_if_range_fits(range: &str, start: u64, known: Option<u64>) -> Option<Option<u64>> {
    let (bounds, total) = range.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = bounds.split_once('-')?;
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    let reported_total = if total == "*" {
        known
    } else {
        Some(total.parse().ok()?)
    };
    let is_of_file =
        reported_total.is_none_or(|total| last < total && known.is_none_or(|known| known == total));
    (first == start && last >= first && is_of_file).then_some(reported_total)
}

fn header(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text).ok()
}

fn both<A, B>((first, second): (A, Option<B>)) -> Option<(A, B)> {
    second.map(|second| (first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_accepted_if_its_start_and_total_match() {
        for (range, known) in [
            ("bytes 5-9/10", Some(10)),
            ("bytes 5-9/10", None),
            ("bytes 5-7/10", None),
            ("bytes 5-9/*", Some(10)),
        ] {
            assert_eq!(
                total_if_range_fits(range, 5, known),
                Some(Some(10)),
                "{range}"
            );
        }
        assert_eq!(total_if_range_fits("bytes 5-9/*", 5, None), Some(None));
        for range in [
            "bytes 4-9/10",
            "bytes 5-9/11",
            "bytes 5-10/10",
            "bytes 5-10/*",
            "bytes 5-4/10",
            "bytes */10",
            "5-9/10",
            "",
        ] {
            assert_eq!(total_if_range_fits(range, 5, Some(10)), None, "{range}");
        }
    }
}
