//! Sends a request and follows redirects as far as they are allowed.

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION, RANGE};
use reqwest::{Response, Url};
use tokio::sync::OwnedSemaphorePermit;

use super::FetchSettings;
use super::check;
use super::client::{Clients, NamedBy, causes, is_private_name};
use super::host_limiter::HostLimiter;
use super::redirect::{self, MAX_REDIRECTS, Reach};
use super::retry::Failure;
use super::secret::SecretUrl;
use pubdata_core::error::{Error, file_limit_error};

/// Header that reports a missing or wrong API key. The Census Data API sends it with a redirect to
/// a web page.
pub(super) const KEY_ERROR: HeaderName = HeaderName::from_static("x-datawebapi-keyerror");

/// Maximum length of a header that is read as text. Signed URLs can be a few thousand bytes long.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// Maximum length of a redirect's target without its query.
const MAX_REDIRECT_URL_BYTES: usize = 2 << 10;

/// HTTP client that observes each host's rate limit.
pub(super) struct HttpClient {
    pub(super) settings: FetchSettings,
    limiter: HostLimiter,
    clients: Clients,
}

/// The first URL of a request.
pub(super) struct Address<'a> {
    pub(super) url: Url,
    pub(super) secrets: &'a SecretUrl,
    pub(super) reach: Reach<'a>,
    /// A header with a secret, sent only to this host.
    pub(super) token: Option<(HeaderName, HeaderValue)>,
}

/// The response after the last redirect.
pub(super) struct Reached {
    pub(super) response: Response,
    /// The redirect targets that were followed, without queries.
    pub(super) way: Vec<String>,
    pub(super) _transfer: OwnedSemaphorePermit,
}

impl HttpClient {
    /// Creates the client without sending a request.
    ///
    /// # Errors
    /// `Config`, when the contact cannot be sent in a header, or when the proxy or the certificate
    /// authorities are not usable.
    pub(super) fn new(settings: FetchSettings) -> Result<Self, Error> {
        Ok(Self {
            limiter: HostLimiter::new(&settings),
            clients: Clients::new(settings.clone())?,
            settings,
        })
    }

    /// Requests a URL and follows redirects, sending each server the headers that belong to it.
    pub(super) async fn send(
        &self,
        address: &Address<'_>,
        headers: &(dyn Fn(&[String]) -> HeaderMap + Sync),
    ) -> Result<Reached, Failure> {
        match self.reach(address, headers).await? {
            (reached, None) => Ok(reached),
            (_, Some(refusal)) => Err(refusal),
        }
    }

    /// Requests a URL and follows redirects as far as they are allowed. A refusal includes the
    /// redirect response that was not followed.
    async fn reach(
        &self,
        address: &Address<'_>,
        headers: &(dyn Fn(&[String]) -> HeaderMap + Sync),
    ) -> Result<(Reached, Option<Failure>), Failure> {
        let (mut url, mut way) = (address.url.clone(), Vec::new());
        let mut visited = vec![url.clone()];
        loop {
            let host = url.host_str().unwrap_or_default();
            let transfer = self.limiter.transfer(host).await;
            self.limiter.request(host).await;
            let is_first_host = host == address.url.host_str().unwrap_or_default();
            let named_by = if is_first_host {
                NamedBy::Person
            } else {
                NamedBy::Server
            };
            let mut request = self
                .clients
                .get(&url, named_by)?
                .get(url.clone())
                .header(ACCEPT_ENCODING, "identity")
                .headers(headers(&way));
            if let Some((name, value)) = address
                .token
                .as_ref()
                .filter(|_| url.origin() == address.url.origin())
            {
                request = request.header(name, value);
            }
            let sent = request.send().await.map_err(|error| {
                with_redirect_target(not_answered(error), way.last().map(String::as_str))
            });
            let response = sent?;
            if !is_redirect(&response) {
                return Ok((
                    Reached {
                        response,
                        way,
                        _transfer: transfer,
                    },
                    None,
                ));
            }
            url = match self.next(address, &url, &response, &visited) {
                Ok(next) => next,
                Err(refusal) => {
                    let refusal = with_redirect_target(refusal, way.last().map(String::as_str));
                    return Ok((
                        Reached {
                            response,
                            way,
                            _transfer: transfer,
                        },
                        Some(refusal),
                    ));
                }
            };
            way.push(
                address
                    .secrets
                    .redacted(&redirect::without_query(&url), self.settings.secret),
            );
            visited.push(url.clone());
        }
    }

    /// Requests a byte range of a file, following redirects. Returns the response without its body.
    /// The response may be a redirect that is not followed.
    pub(super) async fn send_for_piece(
        &self,
        address: &Address<'_>,
        range: &str,
    ) -> Result<Reached, Failure> {
        let range =
            HeaderValue::from_str(range).map_err(|_| Error::config("not a range of bytes"))?;
        Ok(self
            .reach(address, &|_| HeaderMap::from_iter([(RANGE, range.clone())]))
            .await?
            .0)
    }

    /// Returns the target of a redirect, if it may be followed.
    fn next(
        &self,
        address: &Address<'_>,
        url: &Url,
        response: &Response,
        visited: &[Url],
    ) -> Result<Url, Failure> {
        let location = text_of(response.headers(), LOCATION);
        let is_too_long = location.is_none() && response.headers().contains_key(LOCATION);
        let location = location.unwrap_or_default();
        let shown = address.secrets.redacted(&location, self.settings.secret);
        let refuse = |reason: &str, hint: &str| {
            let message = format!(
                "the server answered {} and points to `{shown}`, {reason}",
                response.status()
            );
            Failure::from(Error::fetch(message).hint(hint.to_owned()))
        };
        if is_too_long {
            return Err(refuse(
                "an address that is too long or no text",
                check::NOT_THE_FILE_HINT,
            ));
        }
        let next = redirect::follow(&address.url, address.reach, url, &location)
            .map_err(|(reason, hint)| refuse(reason, hint))?;
        if next.host_str() != address.url.host_str()
            && address.secrets.is_in(next.as_str(), self.settings.secret)
        {
            return Err(refuse(
                "another host, with the secret in it",
                "the secret is for the publisher's own server; ask the publisher",
            ));
        }
        if visited.contains(&next) {
            return Err(refuse(
                "which was requested already: the redirects form a loop",
                check::NOT_THE_FILE_HINT,
            ));
        }
        // The length is limited because the snapshot records the URL.
        if redirect::without_query(&next).len() > MAX_REDIRECT_URL_BYTES {
            return Err(refuse(
                "an address that is too long",
                check::NOT_THE_FILE_HINT,
            ));
        }
        if visited.len() > MAX_REDIRECTS {
            return Err(refuse(
                &format!(
                    "the {}th redirect; no more than {MAX_REDIRECTS} are followed",
                    visited.len()
                ),
                check::NOT_THE_FILE_HINT,
            ));
        }
        Ok(next)
    }
}

/// Returns whether a response is a redirect. The refusal of an API key looks like a redirect but is
/// not treated as one.
fn is_redirect(response: &Response) -> bool {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308)
        && !response.headers().contains_key(KEY_ERROR)
}

fn not_answered(error: reqwest::Error) -> Failure {
    if let Some(error) = file_limit_error(&error) {
        return error.into();
    }
    if is_private_name(&error) {
        return Error::fetch("the server redirected to this machine or a private network")
            .hint(redirect::COMPROMISED_HINT)
            .into();
    }
    let causes = causes(error);
    if causes.contains("invalid peer certificate") {
        let hint = "a proxy that inspects TLS connections has its own authority: give its certificate with --ca; otherwise the publisher must fix this";
        return Error::fetch(format!("the server's certificate is not trusted: {causes}"))
            .hint(hint)
            .into();
    }
    Failure::again(Error::fetch(format!("no answer: {causes}")))
}

/// Adds the server's name to a failure if a different server was requested first.
pub(super) fn with_redirect_target(failure: Failure, end: Option<&str>) -> Failure {
    match (end, failure) {
        (Some(end), Failure::Final(error)) => {
            Failure::Final(error.context(format!("redirected to {end}")))
        }
        (Some(end), Failure::Again { error, after }) => Failure::Again {
            error: error.context(format!("redirected to {end}")),
            after,
        },
        (_, failure) => failure,
    }
}

/// Returns a header as text; `None` if the header is missing, not text, or too long.
pub(super) fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers
        .get(name)
        .filter(|value| value.len() <= MAX_TEXT_BYTES)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}
