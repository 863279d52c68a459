//! Tests the requests that a page lists as its sources, and pages of places without estimates.

use super::{attributes, browse, text};
use crate::serve::Served;

/// Commands of "This page as data", without the key.
fn commands(page: &str) -> Vec<String> {
    let parts = page
        .split("<pre data-copy><code>")
        .skip(1)
        .filter_map(|rest| rest.split("</code>").next());
    let plain = |text: &str| {
        let escapes = [
            ("&#x2f;", "/"),
            ("&quot;", "\""),
            ("&#x27;", "'"),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&amp;", "&"),
        ];
        escapes
            .into_iter()
            .fold(text.to_owned(), |text, (escape, character)| {
                text.replace(escape, character)
            })
    };
    parts
        .map(|part| plain(part).replace("curl -H \"Authorization: Bearer $PUBDATA_KEY\"", "curl"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_lists_the_requests_that_fill_it() {
    let served = Served::new().await;
    let cookies = format!("pubdata_key={}", served.key);
    let page = async |path: &str| text(&browse(&served.router, path, &cookies).await);
    let base = "http://127.0.0.1:8080";
    let search = format!("curl '{base}/v1/search?q=it%27s%20apple'");
    assert_eq!(commands(&page("/search?q=it%27s+apple").await), [search]);
    let body = r#"{"locations":["90210","95120"]}"#;
    let compare = format!(
        "curl -H 'Content-Type: application/json' -d '{body}' '{base}/v1/geo-demographics/locations/compare'"
    );
    assert_eq!(
        commands(&page("/compare?areas=90210,95120").await),
        [compare]
    );
    let one = page("/compare?areas=90210,").await;
    assert_eq!(
        commands(&one),
        Vec::<String>::new(),
        "a single area is not compared"
    );
    assert!(
        one.contains("Enter the area to compare with 90210.")
            && one.contains("value=\"90210, \"")
            && !one.contains("exactly two"),
        "{one}"
    );
    let sale = commands(
        &page("/tax?address=1%20O%27Hare%20St,%20Portland,%20OR%2097201&amount=49.95").await,
    );
    assert_eq!(sale.len(), 2, "{sale:?}");
    assert!(
        sale[1].contains("/v1/tax/calculate'") && sale[1].matches('\'').count() == 6,
        "an apostrophe does not end the body: {}",
        sale[1]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn zip_code_without_a_zcta_links_to_the_surrounding_estimates() {
    let served = Served::new().await;
    let cookies = format!("pubdata_key={}", served.key);
    let figure = &served.ok("/v1/zip/90209").await["data"]["demographics"]["population"]["value"];
    assert_eq!(figure, 19_652);
    let page = text(&browse(&served.router, "/zip/90209", &cookies).await);
    assert!(
        page.contains("it lies in ZCTA")
            && page.contains("which has estimates")
            && !page.contains("no estimates"),
        "{page}"
    );
    assert!(attributes(&page, "href").contains(&"/zip/90210".to_owned()));
}
