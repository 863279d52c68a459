//! Tests the pages: every page of the fixtures' release, hostile input, and who may see them.

mod crawl;
mod docs;
mod figures;
mod forms;
mod hostile;
mod marks;
mod permits;
mod requests;
mod swaps;
mod tax;

use axum::body::Body;
use axum::http::Request;
use axum::http::header;
use pubdata_serve::Api;
use tower::ServiceExt;

use super::{Answer, read};

/// Requests a page as a browser does, with cookies.
pub async fn browse(api: &Api, path: &str, cookies: &str) -> Answer {
    let request = Request::get(path)
        .header(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
        .header(header::COOKIE, cookies);
    let request = request
        .header("sec-fetch-site", "same-origin")
        .header("sec-fetch-mode", "navigate");
    read(
        api.clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap(),
    )
    .await
}

/// Sends a form as a browser does.
pub async fn send(api: &Api, path: &str, cookies: &str, form: &str) -> Answer {
    let request = Request::post(path)
        .header(header::HOST, "localhost:8080")
        .header(header::ORIGIN, "http://localhost:8080")
        .header(header::COOKIE, cookies)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    read(
        api.clone()
            .oneshot(request.body(Body::from(form.to_owned())).unwrap())
            .await
            .unwrap(),
    )
    .await
}

pub fn text(answer: &Answer) -> String {
    String::from_utf8(answer.bytes.clone()).unwrap()
}

/// Values of an attribute, with HTML escapes decoded.
fn attributes(text: &str, name: &str) -> Vec<String> {
    let begin = format!("{name}=\"");
    let values = text
        .split(&begin)
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let plain = |value: &str| {
        let escapes = [
            ("&#x2f;", "/"),
            ("&quot;", "\""),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&#x27;", "'"),
            ("&amp;", "&"),
        ];
        escapes
            .into_iter()
            .fold(value.to_owned(), |text, (escape, character)| {
                text.replace(escape, character)
            })
    };
    values.map(plain).collect()
}

/// Name and value of the cookies that an answer sets, in the form sent back.
pub fn cookies(answer: &Answer) -> String {
    let set = answer
        .headers
        .get_all(header::SET_COOKIE)
        .iter()
        .map(|cookie| {
            cookie
                .to_str()
                .unwrap()
                .split(';')
                .next()
                .unwrap()
                .to_owned()
        });
    set.collect::<Vec<_>>().join("; ")
}

/// Form token of a page.
pub fn token(answer: &Answer) -> String {
    let text = text(answer);
    let (_, rest) = text.split_once("name=\"token\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}
