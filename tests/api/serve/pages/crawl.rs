use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{attributes, browse, text};
use crate::serve::{Served, World};

/// Maximum size of a page with charts, uncompressed.
const MAX_PAGE: usize = 50 << 10;

/// Number of pages of one kind that the crawl follows; every figure has a record page.
const OF_A_KIND: usize = 25;

/// Kind of a page: its path with placeholders for the variable parts.
fn kind(path: &str) -> String {
    let path = path.split('?').next().unwrap();
    let mut parts = path.split('/').skip(1);
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    let dataset = second
        .filter(|_| first == "records")
        .and_then(|id| id.split("%3A").next().unwrap_or(id).split(':').next());
    format!(
        "{first}/{}",
        dataset.unwrap_or(if second.is_some() { "*" } else { "" })
    )
}

/// Pages whose text must not contain codes. Pages of records, datasets and the documentation name
/// columns and are not among them.
const WITHOUT_CODES: [&str; 12] = [
    "business", "company", "compare", "county", "license", "permit", "permits", "property",
    "search", "state", "tax", "zip",
];

/// Text of a page outside code, drawings and notices.
fn prose(page: &str) -> String {
    let mut text = page.replace("<wbr>", "");
    for (begin, end) in [
        ("<script", "</script>"),
        ("<code", "</code>"),
        ("<pre", "</pre>"),
        ("<svg", "</svg>"),
        ("<li id=\"notice", "</li>"),
        ("<", ">"),
    ] {
        while let Some(from) = text.find(begin) {
            let to = text[from..]
                .find(end)
                .map_or(text.len(), |to| from + to + end.len());
            text.replace_range(from..to, " ");
        }
    }
    text
}

/// Codes such as `not_reported` in the text of a page.
fn codes(prose: &str) -> Vec<&str> {
    let is_code = |word: &&str| {
        word.contains('_')
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    prose
        .split_whitespace()
        .map(|word| word.trim_matches([',', ';', '(', ')', '.']))
        .filter(is_code)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_link_of_every_page_has_a_target() {
    let served = Served::new().await;
    let cookies = format!("pubdata_key={}", served.key);
    let seeds = [
        "/",
        "/status",
        "/docs",
        "/keys",
        "/tax?zip=55401&amount=49.95&date=2019-01-01&shipping=4.99",
        "/zip/90210",
        "/compare?areas=90210,95120",
        "/company/320193",
        "/company/320193?period=quarterly",
        "/company/320193/statements?statement=cash_flow",
        "/business/FL-A23000000520",
        "/license/WA-lni-SERVPG*892PL",
        "/property/us-tx-austin:11436-flushwing-dr-78754",
        "/permit/us-tx-austin:2007-115377-BP",
        "/permits",
        "/permits?jurisdiction=us-ny-nyc",
        "/search?q=90210",
        "/search?q=apple",
        "/state/CA",
        "/county/06037",
    ];
    let mut waiting: VecDeque<(String, String)> = seeds
        .iter()
        .map(|path| ((*path).to_owned(), "the test".to_owned()))
        .collect();
    let (mut seen, mut kinds, mut wrong) = (
        BTreeSet::new(),
        BTreeMap::<String, usize>::new(),
        Vec::new(),
    );
    while let Some((path, from)) = waiting.pop_front() {
        let kind = kind(&path);
        let count = kinds.entry(kind).or_default();
        if *count >= OF_A_KIND || !seen.insert(path.clone()) {
            continue;
        }
        *count += 1;
        let answer = browse(&served.router, &path, &cookies).await;
        let text = text(&answer);
        if answer.status.is_redirection() {
            waiting.push_back((answer.header("location").to_owned(), path));
            continue;
        }
        // The samples lack most places, and a page reports that.
        if answer.status == 404
            && (path.starts_with("/zip/") || path.starts_with("/county/"))
            && text.contains("class=\"lead\"")
        {
            continue;
        }
        if answer.status != 200 {
            wrong.push(format!(
                "{path} (from {from}): {} {}",
                answer.status,
                text.lines()
                    .find(|line| line.contains("class=\"lead\""))
                    .unwrap_or(&text)
            ));
            continue;
        }
        if path.starts_with("/v1/") || path.starts_with("/assets/") {
            continue;
        }
        assert!(
            answer
                .header("content-security-policy")
                .starts_with("default-src 'self'"),
            "{path}"
        );
        assert!(
            text.contains("<h1>")
                && text.contains("<title>")
                && text.contains("lang=\"en\"")
                && !text.contains(" style=\""),
            "{path}"
        );
        if WITHOUT_CODES.contains(&path[1..].split(['/', '?']).next().unwrap()) {
            assert_eq!(codes(&prose(&text)), [""; 0], "{path}");
        }
        // Names are set as code, without the backticks of the descriptions.
        assert!(!prose(&text).contains('`'), "{path}: {}", prose(&text));
        for source in attributes(&text, "src")
            .into_iter()
            .chain(attributes(&text, "srcset"))
        {
            assert!(
                source.starts_with('/'),
                "{path} loads from another host: {source}"
            );
        }
        // Includes relative links.
        let folder = &path[..path.rfind('/').unwrap_or_default()];
        let links = attributes(&text, "href").into_iter().map(|link| {
            if link.contains(['/', ':', '#']) {
                link
            } else {
                format!("{folder}/{link}")
            }
        });
        let own = links.filter(|link| link.starts_with('/'));
        waiting.extend(own.map(|link| (link.split('#').next().unwrap().to_owned(), path.clone())));
    }
    assert!(
        wrong.is_empty(),
        "{} of {} pages:\n{}",
        wrong.len(),
        seen.len(),
        wrong.join("\n")
    );
    // Each dataset has a page, and each dataset with records has a record page.
    for kind in [
        "datasets/*",
        "records/geo.zcta_metric",
        "records/sec.financial_value",
        "records/license.license",
        "records/permit.permit",
        "docs/*",
        "releases/*",
    ] {
        assert!(kinds.contains_key(kind), "{kind} is missing: {kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_small_and_are_not_sent_twice() {
    let served = Served::new().await;
    let first = browse(&served.router, "/", "").await;
    assert_eq!(
        (first.status.as_u16(), first.header("cache-control")),
        (200, "private, no-cache")
    );
    for path in [
        "/",
        "/zip/90210",
        "/company/320193",
        "/company/320193?period=quarterly",
        "/status",
        "/datasets/permit.permit",
        "/datasets/license.license",
    ] {
        let page = browse(&served.router, path, "").await;
        assert!(
            page.status == 200 && page.bytes.len() < MAX_PAGE,
            "{path}: {}",
            page.bytes.len()
        );
    }
    let world = World::new().await;
    let page = browse(
        &world.router,
        "/zip/90210",
        "pubdata_form=0123456789abcdef0123456789abcdef",
    )
    .await;
    assert!(text(&page).contains("19,652"), "{}", text(&page));
    let request = axum::http::Request::get("/zip/90210")
        .header("cookie", "pubdata_form=0123456789abcdef0123456789abcdef")
        .header("if-none-match", page.header("etag"));
    let again = world
        .send(request.body(axum::body::Body::empty()).unwrap())
        .await;
    assert_eq!((again.status.as_u16(), again.bytes.len()), (304, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_page_is_html_for_browsers_and_a_problem_for_programs() {
    let world = World::new().await;
    let page = browse(&world.router, "/nothing", "").await;
    assert_eq!(
        (page.status.as_u16(), page.header("content-type")),
        (404, "text/html; charset=utf-8")
    );
    assert!(
        text(&page).contains("<h1>Page not found</h1>")
            && text(&page).contains("There is no page at this address"),
        "{}",
        text(&page)
    );
    assert_eq!(
        text(&page).matches("Search above").count(),
        1,
        "{}",
        text(&page)
    );
    let wrong = browse(&world.router, "/datasets/geo.zcta_metric?list=x", "").await;
    assert!(
        wrong.status == 400 && !text(&wrong).contains("<code>errors</code>"),
        "{}",
        text(&wrong)
    );
    assert_eq!(
        world.get("/nothing").await.problem(),
        (404, "route_not_found".to_owned())
    );
    let api = browse(&world.router, "/v1/nothing", "").await;
    assert_eq!(
        (api.status.as_u16(), api.header("content-type")),
        (404, "application/problem+json")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn record_is_shown_with_the_digits_and_words_of_its_publisher() {
    let served = Served::new().await;
    let page = text(
        &browse(
            &served.router,
            "/records/geo.zcta_metric:2023:90210:population",
            "",
        )
        .await,
    );
    assert!(
        page.contains("<h1>Population of ZCTA 90210: 19,652</h1>"),
        "{page}"
    );
    assert!(
        page.contains("<code>false</code>") && !page.contains("False"),
        "{page}"
    );
    assert!(
        page.contains("<dd>1335</dd>") && !page.contains("1335.0"),
        "{page}"
    );
    // The samples have no figures of the area of 55401; the page must not claim that the area does
    // not exist.
    let page = text(&browse(&served.router, "/zip/55401", "").await);
    assert!(
        page.contains("This release has no estimates for ZCTA 55401."),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_without_a_key_at_an_api_path_gets_an_explanation() {
    let world = World::new().await;
    let page = browse(&world.router, "/v1/zip/90210", "").await;
    assert_eq!(
        (page.status.as_u16(), page.header("content-type")),
        (401, "text/html; charset=utf-8")
    );
    assert!(text(&page).contains("curl -H") && text(&page).contains("/zip/90210"));
    // Answers for programs are unchanged.
    for accept in ["*/*", "text/html, */*", "application/json, text/html;q=0.9"] {
        let request = axum::http::Request::get("/v1/zip/90210")
            .header("accept", accept)
            .body(axum::body::Body::empty())
            .unwrap();
        assert_eq!(
            world.send(request).await.problem(),
            (401, "missing_api_key".to_owned()),
            "{accept}"
        );
    }
}
