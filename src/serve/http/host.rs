//! Checks a request's host to prevent DNS rebinding. A server on plain HTTP at a loopback address
//! can be reached by every page in the machine's browser. A page whose own name resolves to this
//! server could read the answers as if they were its own. Requests without a key are therefore
//! answered only for names that cannot resolve elsewhere.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{Uri, header};

use super::problem::{Code, Problem};
use super::request_id::shown;
use crate::settings::ServeSettings;

/// Rejects a request for a host that is neither this machine nor the public address. A request
/// without a host does not come from a browser and passes.
///
/// # Errors
/// `invalid_parameter` with the host and the settings that allow it.
pub fn check(settings: &ServeSettings, parts: &Parts) -> Result<(), Problem> {
    let named = parts
        .uri
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    let Some(sent) = named.or_else(|| {
        parts
            .headers
            .get(header::HOST)
            .map(axum::http::HeaderValue::as_bytes)
    }) else {
        return Ok(());
    };
    let host = std::str::from_utf8(sent)
        .ok()
        .and_then(|text| text.parse::<Authority>().ok());
    if host.is_some_and(|host| is_local_host(host.host()) || is_public(settings, host.host())) {
        return Ok(());
    }
    let message = format!(
        "this server does not answer for the host `{}`, only for localhost and the host of --public-url; to serve that name, start the server with --public-url, or with --behind-proxy behind a proxy",
        shown(&String::from_utf8_lossy(sent))
    );
    Err(Problem::of_field(Code::InvalidParameter, "Host", message))
}

/// Reports whether a host is local. IP addresses are safe. Among names, only `localhost` and names
/// below it always resolve to this machine (RFC 6761, section 6.3).
fn is_local_host(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let address = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(&name);
    name == "localhost" || name.ends_with(".localhost") || address.parse::<IpAddr>().is_ok()
}

fn is_public(settings: &ServeSettings, host: &str) -> bool {
    let url = settings
        .public_url
        .as_deref()
        .and_then(|url| url.parse::<Uri>().ok());
    url.as_ref()
        .and_then(Uri::host)
        .is_some_and(|public| public.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use pubdata_store::Plans;

    use super::*;

    fn is_answered(settings: &ServeSettings, uri: &str, host: Option<&[u8]>) -> bool {
        let mut request = Request::get(uri);
        if let Some(host) = host {
            request = request.header(header::HOST, host);
        }
        check(settings, &request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn only_local_and_public_hosts_are_accepted() {
        let plans = Plans::parse("[anonymous]\nrequests_per_minute = 60\nburst = 60\n").unwrap();
        let mut settings = ServeSettings::new(".".into(), plans);
        settings.public_url = Some("https://Data.Example.org/api/".to_owned());
        let good = [
            "localhost",
            "LOCALHOST:9000",
            "localhost.",
            "a.localhost:8080",
            "127.0.0.1:8080",
            "127.1.2.3",
            "[::1]:8080",
            "192.0.2.1:80",
            "data.example.org",
        ];
        for host in good {
            assert!(is_answered(&settings, "/", Some(host.as_bytes())), "{host}");
        }
        let bad: [&[u8]; 8] = [
            b"evil.example",
            b"evil.example:8080",
            b"localhost.evil.example",
            b"notlocalhost",
            b"127.0.0.1.evil.example",
            b"a.data.example.org",
            b"",
            b"\xe9",
        ];
        for host in bad {
            assert!(
                !is_answered(&settings, "/", Some(host)),
                "{}",
                String::from_utf8_lossy(host)
            );
        }
        assert!(
            is_answered(&settings, "/", None),
            "browsers always send the host"
        );
        assert!(
            !is_answered(&settings, "http://evil.example/", Some(b"localhost")),
            "the request target takes precedence over the header"
        );
        settings.public_url = None;
        assert!(!is_answered(&settings, "/", Some(b"data.example.org")));
    }
}
