//! Checks what browsers and proxies send: headers, forms and URLs of pages, with and without a key,
//! to a server with a release of the fixtures.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use jiff::Timestamp;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::fuzzing::client_address;
use pubdata_serve::{Api, ServeSettings, Server};
use pubdata_store::{Home, Keys, NewKey, Plans, Scope};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::place;
use crate::requests::uri;

const MAX_BYTES: usize = 64 << 20;
/// The browser's form cookie in these visits.
const BROWSER: &str = "0123456789abcdef0123456789abcdef";
/// A mark that no template and no text of ours contains, so it comes from the input.
const MARK: &str = "<q7";

struct Site {
    runtime: Runtime,
    api: Api,
    /// No key, a key with all scopes, and a key with a single scope.
    keys: [Option<String>; 3],
    token: String,
}

fn site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| {
        let folder = PathBuf::from(std::env::var_os("PUBDATA_FUZZ_HOME").unwrap_or_else(|| "fuzz/home".into()));
        let files = DeclarationFiles::built_in();
        let plans = Plans::load(&files).expect("the program has plans");
        let contracts = Declarations::load(files).expect("the program's declarations are right").contracts;
        let home = Home::open(&folder).expect("the home can be opened");
        let key = |scopes: &[Scope]| {
            let new = NewKey { name: "fuzz".to_owned(), scopes: scopes.to_vec(), plan: "unlimited".to_owned(), expires_at: None };
            Keys::open(&home).create(new, &plans, Timestamp::now()).expect("a key can be made").key
        };
        let keys = [None, Some(key(&[Scope::General, Scope::Geo, Scope::Sec])), Some(key(&[Scope::Geo]))];
        let mut settings = ServeSettings::new(folder, plans);
        settings.is_behind_proxy = true;
        settings.trusted_hops = 2;
        settings.public_url = Some("https://data.example.org".to_owned());
        let clock = Arc::new(|| -> Timestamp { "2026-11-20T12:00:00Z".parse().expect("this is a time") });
        let server = Server::new(settings, contracts, clock).expect("the server can be made");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        runtime.block_on(server.refresh()).expect("the release can be loaded");
        let mut site = Site { runtime, api: server.api(), keys, token: String::new() };
        let page = site.answer(&Method::GET, "/keys", &headers(&[], None), &[]);
        let page = String::from_utf8(page.expect("the page is there").2).expect("pages are text");
        let token = page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("forms have a token");
        site.token = token.to_owned();
        site
    })
}

impl Site {
    fn answer(&self, method: &Method, path: &str, headers: &HeaderMap, body: &[u8]) -> Option<(StatusCode, HeaderMap, Vec<u8>)> {
        let mut request = Request::builder().method(method.clone()).uri(path).body(Body::from(body.to_vec())).ok()?;
        request.headers_mut().extend(headers.clone());
        self.runtime.block_on(async {
            let (parts, body) = self.api.clone().oneshot(request).await.expect("a router always answers").into_parts();
            // A feed and a socket do not end.
            let bytes = to_bytes(body, MAX_BYTES).await.expect("an answer has an end");
            Some((parts.status, parts.headers, bytes.to_vec()))
        })
    }
}

fn headers(lines: &[&[u8]], key: Option<&String>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(line[colon + 1..].trim_ascii()));
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let mut cookie = format!("pubdata_form={BROWSER}");
    if let Some(key) = key {
        headers.insert("x-api-key", HeaderValue::from_str(key).expect("a key is a header's value"));
        cookie.push_str(&format!("; pubdata_key={key}"));
    }
    headers.append("cookie", HeaderValue::from_str(&cookie).expect("a cookie is a header's value"));
    headers
}

/// Sends a visit: a byte that chooses the key, a line `METHOD PATH`, header lines, an empty line,
/// and the body.
pub fn visits(data: &[u8]) {
    let (which, data) = place::choice(data);
    let (head, body) = match data.windows(2).position(|pair| pair == b"\n\n") {
        Some(end) => (&data[..end], &data[end + 2..]),
        None => (data, &[][..]),
    };
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    let first = lines.remove(0);
    let forwarded: Vec<&[u8]> = lines.iter().copied().filter(|line| line.len() < 4_096).collect();
    for hops in 0..3 {
        if let Some(address) = client_address(&forwarded, hops) {
            let address = address.strip_suffix("/64").unwrap_or(&address);
            assert!(address.parse::<std::net::IpAddr>().is_ok(), "{address} is not an address");
        }
    }
    let Some(space) = first.iter().position(|byte| *byte == b' ') else { return };
    let (Ok(method), Some(path)) = (Method::from_bytes(&first[..space]), uri(&first[space + 1..])) else { return };
    // A revoked key would fail for the inputs that follow.
    if method == Method::CONNECT || path.contains("/me") || path.contains("%6") || path.contains("%4") {
        return;
    }
    let site = site();
    let key = site.keys[usize::from(which % 3)].as_ref();
    let mut sent = headers(&lines, key);
    let mut body = body.to_vec();
    if method == Method::POST && !path.starts_with("/v1") {
        body.extend_from_slice(format!("&token={}", site.token).as_bytes());
        sent.insert("content-type", HeaderValue::from_static("application/x-www-form-urlencoded"));
    }
    let Some((status, answered, text)) = site.answer(&method, &path, &sent, &body) else { return };
    assert!(status.as_u16() < 500 || status == StatusCode::SERVICE_UNAVAILABLE, "{method} {path}: {status} {}", String::from_utf8_lossy(&text));
    if let Some(location) = answered.get("location") {
        let location = location.to_str().expect("an address is ASCII");
        let is_ours = location.starts_with("https://data.example.org/") || location.starts_with('/') && !location[1..].starts_with(['/', '\\']);
        assert!(is_ours, "{method} {path} leads to {location}");
    }
    for cookie in answered.get_all("set-cookie") {
        let cookie = cookie.to_str().expect("a cookie is ASCII");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    }
    if answered.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
        let page = String::from_utf8(text).expect("pages are UTF-8");
        assert!(!page.contains(MARK), "{method} {path} shows what was sent as it was sent");
    }
    if status == StatusCode::NOT_MODIFIED {
        assert!(method == Method::GET || method == Method::HEAD);
        let mut whole = sent.clone();
        whole.remove("if-none-match");
        whole.remove("if-modified-since");
        let again = site.answer(&method, &path, &whole, &body).expect("it was asked before");
        assert_eq!(again.0, StatusCode::OK, "{path}: only what is there is not modified");
    }
}
