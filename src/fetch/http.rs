use std::sync::OnceLock;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE};
use reqwest::header::{IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, LOCATION, RANGE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use tokio::sync::OwnedSemaphorePermit;

use super::check;
use super::pace::Pace;
use super::retry::{Failure, retry_after};
use super::secret::SecretUrl;
use super::{FetchProgress, FetchSettings};
use crate::error::Error;
use crate::store::{KnownUrl, Partial, PartialOf};

/// Says that an API key is missing or wrong; the Census Data API sends it with a redirect to a page.
const KEY_ERROR: HeaderName = HeaderName::from_static("x-datawebapi-keyerror");

/// Downloads over HTTP, one try at a time.
pub(super) struct Http {
    settings: FetchSettings,
    user_agent: String,
    pace: Pace,
    encrypted: OnceLock<Client>,
    plain: OnceLock<Client>,
}

/// What is asked for.
pub(super) struct Target<'a> {
    /// The place asked, without secrets.
    pub(super) origin: String,
    pub(super) url: Url,
    pub(super) secrets: &'a SecretUrl,
    pub(super) max_bytes: u64,
    pub(super) is_page: bool,
    /// What is known of the same place.
    pub(super) known: Option<&'a KnownUrl>,
}

/// What a server said.
pub(super) enum Answer<'a> {
    /// The whole file is in the partial download.
    Whole,
    NotModified(&'a KnownUrl),
    Absent,
}

impl Http {
    /// # Errors
    /// `Config`, when the contact cannot be sent in a header.
    pub(super) fn new(settings: FetchSettings) -> Result<Self, Error> {
        let user_agent = match &settings.contact {
            Some(contact) => format!("pubdata/{} ({contact})", env!("CARGO_PKG_VERSION")),
            None => format!("pubdata/{}", env!("CARGO_PKG_VERSION")),
        };
        if user_agent.contains(|character: char| !(character.is_ascii_graphic() || character == ' ')) {
            return Err(Error::config("the contact must be plain ASCII text on one line").hint("set it to an e-mail address"));
        }
        Ok(Self { pace: Pace::new(&settings), settings, user_agent, encrypted: OnceLock::new(), plain: OnceLock::new() })
    }

    /// Asks once and takes what comes; bytes that came before the connection broke stay in the partial download.
    pub(super) async fn attempt<'a>(&self, target: &Target<'a>, partial: &mut Partial, progress: &dyn FetchProgress) -> Result<Answer<'a>, Failure> {
        if partial.of().is_some_and(|of| of.origin == target.origin && of.total_bytes == Some(partial.len()) && !partial.is_empty()) {
            return Ok(Answer::Whole);
        }
        let host = target.url.host_str().unwrap_or_default();
        let _transfer = self.pace.transfer(host).await;
        self.pace.request(host).await;
        let resumed = partial.of().filter(|of| of.origin == target.origin && !partial.is_empty()).and_then(|of| Some((of.clone(), strong_validator(of)?)));
        let mut request = self.client(&target.url)?.get(target.url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some((_, validator)) = &resumed {
            request = request.header(RANGE, format!("bytes={}-", partial.len())).header(IF_RANGE, validator);
        }
        if let Some(KnownUrl { snapshot, .. }) = target.known {
            request = match (&snapshot.etag, &snapshot.last_modified) {
                (Some(etag), _) => request.header(IF_NONE_MATCH, etag),
                (None, Some(last_modified)) => request.header(IF_MODIFIED_SINCE, last_modified),
                (None, None) => request,
            };
        }
        let response = request.send().await.map_err(|error| Failure::again(Error::fetch(format!("no answer: {}", causes(error)))))?;
        tracing::debug!(url = %target.origin, status = response.status().as_u16(), resumed_at = partial.len(), "answer");
        let resumed = resumed.map(|(of, _)| of);
        match self.judge(&response, target, resumed.as_ref(), partial)? {
            Judgement::Absent => return Ok(Answer::Absent),
            Judgement::NotModified(known) => return Ok(Answer::NotModified(known)),
            Judgement::Rest => {}
            Judgement::Beginning => {
                let header = |name| text_of(response.headers(), name);
                partial.begin(PartialOf {
                    origin: target.origin.clone(),
                    etag: header(ETAG),
                    last_modified: header(LAST_MODIFIED),
                    total_bytes: response.content_length(),
                })?;
            }
        }
        progress.started(&target.origin, partial.of().and_then(|of| of.total_bytes));
        progress.advanced(partial.len());
        self.take_body(response, target, partial, progress).await?;
        Ok(Answer::Whole)
    }

    /// Asks for a range of a file's bytes and gives the answer as it begins, with the host's transfer that it takes.
    pub(super) async fn send_for_piece(&self, url: &Url, range: &str) -> Result<(Response, OwnedSemaphorePermit), Failure> {
        let host = url.host_str().unwrap_or_default();
        let transfer = self.pace.transfer(host).await;
        self.pace.request(host).await;
        let sent = self.client(url)?.get(url.clone()).header(ACCEPT_ENCODING, "identity").header(RANGE, range).send().await;
        Ok((sent.map_err(|error| Failure::again(Error::fetch(format!("no answer: {}", causes(error)))))?, transfer))
    }

    /// Reads a small text, such as a mirror's description of itself.
    pub(super) async fn small_text(&self, url: &Url) -> Result<Option<String>, Failure> {
        let host = url.host_str().unwrap_or_default();
        self.pace.request(host).await;
        let sent = self.client(url)?.get(url.clone()).send().await;
        let mut response = sent.map_err(|error| Failure::again(Error::fetch(format!("no answer: {}", causes(error)))))?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(None),
            StatusCode::OK => {}
            status => return Err(self.refusal(status, response.headers(), None)),
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Failure::again(Error::fetch(causes(error))))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > 1 << 16 {
                return Err(check::too_large(bytes.len() as u64, 1 << 16).into());
            }
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn judge<'a>(&self, response: &Response, target: &Target<'a>, resumed: Option<&PartialOf>, partial: &mut Partial) -> Result<Judgement<'a>, Failure> {
        let (status, headers) = (response.status(), response.headers());
        if headers.contains_key(KEY_ERROR) {
            return Err(key_error(target).into());
        }
        if let Some(known) = target.known.filter(|_| status == StatusCode::NOT_MODIFIED) {
            return Ok(Judgement::NotModified(known));
        }
        match status {
            StatusCode::OK => {}
            StatusCode::PARTIAL_CONTENT if resumed.is_some() => {}

            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Judgement::Absent),
            StatusCode::RANGE_NOT_SATISFIABLE if resumed.is_some() => return Err(restarted(partial, "the server no longer has the bytes to resume at")),
            status => return Err(self.refusal(status, headers, Some(target))),
        }
        if !target.is_page {
            check::content_type(&text_of(headers, CONTENT_TYPE).unwrap_or_default())?;
        }
        if let Some(encoding) = text_of(headers, CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            let encoding = target.secrets.redacted(&encoding, self.settings.secret);
            return Err(Error::fetch(format!("the server sent the file with content encoding {encoding}, which was not asked for")).into());
        }
        let begins_at = if status == StatusCode::PARTIAL_CONTENT { partial.len() } else { 0 };
        if let Some(size_bytes) = response.content_length().map(|length| length + begins_at).filter(|size_bytes| *size_bytes > target.max_bytes) {
            return Err(check::too_large(size_bytes, target.max_bytes).into());
        }
        let Some(of) = resumed.filter(|_| status == StatusCode::PARTIAL_CONTENT) else { return Ok(Judgement::Beginning) };
        let range = text_of(headers, CONTENT_RANGE).unwrap_or_default();
        let is_same = |known: &Option<String>, name| known.is_none() || text_of(headers, name).is_none_or(|now| Some(now) == *known);
        if !(is_same(&of.etag, ETAG) && is_same(&of.last_modified, LAST_MODIFIED)) {
            return Err(restarted(partial, "the file changed while it was being downloaded"));
        }
        if !range_fits(&range, partial.len(), of.total_bytes) {
            let range = target.secrets.redacted(&range, self.settings.secret);
            return Err(restarted(partial, &format!("the server sent another range than the one asked for (`{range}`)")));
        }
        Ok(Judgement::Rest)
    }

    async fn take_body(&self, mut response: Response, target: &Target<'_>, partial: &mut Partial, progress: &dyn FetchProgress) -> Result<(), Failure> {
        let total_bytes = partial.of().and_then(|of| of.total_bytes);
        let of_total = total_bytes.map_or_else(String::new, |total_bytes| format!(" of {total_bytes}"));
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk
                .map_err(|error| Failure::again(Error::fetch(format!("the transfer broke after {}{of_total} bytes: {}", partial.len(), causes(error)))))?;
            let Some(chunk) = chunk else { break };
            if partial.len() + chunk.len() as u64 > target.max_bytes {
                let size_bytes = partial.len() + chunk.len() as u64;
                partial.restart()?;
                return Err(check::too_large(size_bytes, target.max_bytes).into());
            }
            partial.write(&chunk)?;
            progress.advanced(chunk.len() as u64);
        }
        match total_bytes {
            Some(total_bytes) if partial.len() < total_bytes => {
                Err(Failure::again(Error::fetch(format!("the transfer ended after {}{of_total} bytes", partial.len()))))
            }
            Some(total_bytes) if partial.len() > total_bytes => Err(restarted(partial, "the server sent more bytes than it announced")),
            _ => Ok(()),
        }
    }

    fn refusal(&self, status: StatusCode, headers: &HeaderMap, target: Option<&Target<'_>>) -> Failure {
        let answered = format!("the server answered {status}");
        if status.is_redirection() {
            let location = text_of(headers, LOCATION).unwrap_or_default();
            let location = target.map_or_else(|| location.clone(), |target| target.secrets.redacted(&location, self.settings.secret));
            let hint = "redirects are not followed; open the URL in a browser, and if the file has moved, change its URL in the declaration";
            return Error::fetch(format!("{answered} and points to `{location}`")).hint(hint).into();
        }
        let is_passing = matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504);
        if is_passing {
            let after = text_of(headers, RETRY_AFTER).and_then(|text| retry_after(&text, self.settings.clock.now()));
            return Failure::Again { error: Error::fetch(answered).hint("run again later; the last good snapshot stays in use"), after };
        }
        let hint = match status {
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED if self.settings.contact.is_none() => {
                "publishers refuse clients that do not say who they are: set PUBDATA_CONTACT to an e-mail address"
            }
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                "the publisher refuses this client or network, perhaps for a while; run again later, or fetch through --mirror"
            }
            _ => check::NOT_THE_FILE_HINT,
        };
        Error::fetch(answered).hint(hint).into()
    }

    fn client(&self, url: &Url) -> Result<&Client, Error> {
        let is_plain = url.scheme() == "http";
        let cell = if is_plain { &self.plain } else { &self.encrypted };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let mut builder = Client::builder()
            .user_agent(&self.user_agent)
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(self.settings.connect_timeout)
            .read_timeout(self.settings.read_timeout)
            .timeout(self.settings.total_timeout);
        if is_plain {
            // This machine or a mirror near it: no proxy, and no need for the system to have certificate authorities.
            builder = builder.no_proxy().tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| Error::fetch(format!("cannot set up the network client: {}", causes(error))))?;
        Ok(cell.get_or_init(|| client))
    }
}

enum Judgement<'a> {
    Absent,
    NotModified(&'a KnownUrl),
    /// The body is the whole file.
    Beginning,
    /// The body is what is missing of the partial download.
    Rest,
}

fn key_error(target: &Target<'_>) -> Error {
    match target.secrets.variables.first() {
        Some(variable) => Error::fetch(format!("the API key in {variable} was refused"))
            .hint(format!("check the key (it must have been activated by e-mail), or unset {variable} to go without these files")),
        None => Error::fetch("the server asks for an API key, and the declared URL has none").hint("add `key={env:NAME}` to the URL in the declaration"),
    }
}

fn restarted(partial: &mut Partial, reason: &str) -> Failure {
    match partial.restart() {
        Ok(()) => Failure::again(Error::fetch(reason.to_owned())),
        Err(error) => error.into(),
    }
}

/// What can stand in `If-Range`: a weak ETag cannot.
fn strong_validator(of: &PartialOf) -> Option<String> {
    of.etag.clone().filter(|etag| !etag.starts_with("W/")).or_else(|| of.last_modified.clone())
}

/// Whether `bytes 5-9/10` is the rest of a file of so many bytes from the given one on.
fn range_fits(range: &str, start: u64, total_bytes: Option<u64>) -> bool {
    let Some((bounds, total)) = range.strip_prefix("bytes ").and_then(|range| range.split_once('/')) else { return false };
    let Some((first, last)) = bounds.split_once('-').and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))) else {
        return false;
    };
    let has_total = total == "*" || total.parse::<u64>().is_ok_and(|total| total_bytes.is_none_or(|known| known == total) && last < total);
    first == start && last >= first && has_total
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// An error and what it comes from, without the URL, which may hold a secret.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_fits_when_it_starts_where_asked_in_the_same_file() {
        assert!(range_fits("bytes 5-9/10", 5, Some(10)));
        assert!(range_fits("bytes 5-7/10", 5, None));
        assert!(range_fits("bytes 5-9/*", 5, Some(10)));
        for range in ["bytes 4-9/10", "bytes 5-9/11", "bytes 5-10/10", "bytes 5-4/10", "bytes */10", "5-9/10", ""] {
            assert!(!range_fits(range, 5, Some(10)), "{range}");
        }
    }
}
