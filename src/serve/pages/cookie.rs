//! Handles cookies and forms. The visitor's key is in a cookie that scripts cannot read and that
//! browsers do not send with requests from other sites. Only this server's pages can submit forms.

use axum::http::{HeaderMap, header};
use subtle::ConstantTimeEq;

use super::visit::pairs;
use crate::http::problem::{Code, Problem, Result};
use pubdata_core::error::Error;
use pubdata_core::ids::Hasher;

const KEY: &str = "pubdata_key";
const FORM: &str = "pubdata_form";
/// Form field with the token that proves the origin of the form.
const TOKEN: &str = "token";

/// Returns the key that a browser sends.
pub fn key(headers: &HeaderMap) -> Option<String> {
    value(headers, KEY)
        .filter(|key| !key.is_empty())
        .map(str::to_owned)
}

/// Returns a cookie that stores a key until the browser is closed.
pub fn kept(key: &str, is_secure: bool) -> String {
    cookie(KEY, key, is_secure)
}

/// Returns a cookie that makes the browser delete the key.
pub fn forgotten() -> String {
    format!("{KEY}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
}

fn cookie(name: &str, value: &str, is_secure: bool) -> String {
    format!(
        "{name}={value}; Path=/; HttpOnly; SameSite=Strict{}",
        if is_secure { "; Secure" } else { "" }
    )
}

fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(';'));
    cookies
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Creates and checks the tokens of forms: digests of a secret of this process and a random number
/// that the browser stores.
pub struct Forms {
    secret: [u8; 32],
}

impl Forms {
    /// Creates the secret from the system's random numbers.
    pub fn new() -> pubdata_core::error::Result<Self> {
        Ok(Self { secret: random()? })
    }

    /// Returns the token of a page's forms, and a cookie to set if the browser has none yet.
    pub fn token(&self, headers: &HeaderMap, is_secure: bool) -> (String, Option<String>) {
        if let Some(known) = value(headers, FORM)
            .filter(|known| known.len() == 32 && known.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            return (self.digest(known), None);
        }
        let Ok(number) = random::<16>() else {
            return (String::new(), None);
        };
        let number: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
        (self.digest(&number), Some(cookie(FORM, &number, is_secure)))
    }

    fn digest(&self, number: &str) -> String {
        let mut hasher = Hasher::default();
        hasher.update(&self.secret);
        hasher.update(number.as_bytes());
        hasher.finish().to_string()
    }
}

/// Rejects a form before it is read if the browser reports another site, or if it has no cookie
/// from one of this server's pages.
///
/// # Errors
/// `insufficient_permission`.
pub fn check_sender(headers: &HeaderMap) -> Result<()> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &axum::http::HeaderValue| value.to_str().ok())
    };
    let is_cross_site =
        text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let host = text("host").unwrap_or_default();
    let is_other = text("origin").is_some_and(|origin| {
        origin
            .split_once("://")
            .is_none_or(|(_, origin)| !origin.eq_ignore_ascii_case(host))
    });
    if is_cross_site || is_other || value(headers, FORM).is_none() {
        Err(refused())
    } else {
        Ok(())
    }
}

/// Returns the fields of a form after checking its token.
///
/// # Errors
/// `insufficient_permission` if the token is missing or wrong.
pub fn form(bytes: &[u8], token: &str) -> Result<Vec<(String, String)>> {
    let form = pairs(&String::from_utf8_lossy(bytes));
    let sent = form
        .iter()
        .find(|(name, _)| name == TOKEN)
        .map(|(_, value)| value.as_str())
        .unwrap_or_default();
    if token.is_empty() || !bool::from(sent.as_bytes().ct_eq(token.as_bytes())) {
        return Err(refused());
    }
    Ok(form)
}

fn refused() -> Problem {
    Problem::new(
        Code::InsufficientPermission,
        "the form does not come from a page of this server, or the server restarted since: reload the page and send the form again",
    )
}

fn random<const N: usize>() -> pubdata_core::error::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::store(format!("the system gives no random numbers: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    axum::http::HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn only_forms_of_our_own_pages_are_read() {
        let forms = Forms::new().unwrap();
        let (token, cookie) = forms.token(&HeaderMap::new(), false);
        let cookie = cookie.unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let read = |headers: &HeaderMap, text: &str| {
            check_sender(headers)
                .and_then(|()| form(format!("a=1&token={text}").as_bytes(), &token))
        };
        let known = headers(&[
            ("cookie", cookie),
            ("host", "localhost:8080"),
            ("origin", "http://localhost:8080"),
        ]);
        assert_eq!(forms.token(&known, false), (token.clone(), None));
        assert_eq!(
            read(&known, &token).unwrap()[0],
            ("a".to_owned(), "1".to_owned())
        );
        for (headers, text) in [
            (known.clone(), "other"),
            (known.clone(), ""),
            (headers(&[("host", "localhost:8080")]), token.as_str()),
            (
                headers(&[
                    ("cookie", cookie),
                    ("host", "localhost:8080"),
                    ("origin", "http://evil.example"),
                ]),
                &token,
            ),
            (
                headers(&[
                    ("cookie", cookie),
                    ("host", "localhost:8080"),
                    ("origin", "null"),
                ]),
                &token,
            ),
            (
                headers(&[("cookie", cookie), ("sec-fetch-site", "cross-site")]),
                &token,
            ),
        ] {
            assert_eq!(
                read(&headers, text).unwrap_err().code,
                Code::InsufficientPermission,
                "{headers:?} {text}"
            );
        }
        assert_eq!(
            form(b"a=1&token=", "").unwrap_err().code,
            Code::InsufficientPermission,
            "no random number is no token"
        );
    }

    #[test]
    fn keys_are_read_from_cookies_and_kept_from_scripts() {
        assert_eq!(
            key(&headers(&[("cookie", "a=b; pubdata_key=pd_x; c=d")])).as_deref(),
            Some("pd_x")
        );
        assert_eq!(key(&headers(&[("cookie", "pubdata_key=")])), None);
        assert_eq!(
            kept("pd_x", true),
            "pubdata_key=pd_x; Path=/; HttpOnly; SameSite=Strict; Secure"
        );
    }
}
