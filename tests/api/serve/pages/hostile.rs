use super::{browse, send, text, token};
use crate::serve::home::publish_changed;
use crate::serve::{Served, World};

const ATTACKS: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% include 'base.html' %}",
    "../../../../etc/passwd",
    "\u{202e}\u{0}javascript:alert(1)//",
];

const PATHS: [&str; 13] = [
    "/zip/",
    "/county/",
    "/state/",
    "/company/",
    "/business/",
    "/license/",
    "/property/",
    "/permit/",
    "/filing/",
    "/records/",
    "/datasets/",
    "/releases/",
    "/docs/guides/",
];

const FIELDS: [&str; 16] = [
    "/search?q=",
    "/compare?areas=90210,",
    "/tax?zip=",
    "/tax?zip=03101&state=",
    "/tax?zip=55401&amount=",
    "/tax?zip=55401&category=",
    "/tax?address=",
    "/docs?find=",
    "/state/CA?metric=",
    "/company/320193?period=",
    "/company/320193/statements?statement=",
    "/company/320193/filings?form=",
    "/releases?cursor=",
    "/permits?jurisdiction=",
    "/permits?jurisdiction=us-tx-austin&type=",
    "/records/geo.zcta_metric:2023:90210:population?release=",
];

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_into_a_page_stays_text() {
    let served = Served::new().await;
    let cookies = format!("pubdata_key={}", served.key);
    for (place, attack) in PATHS
        .iter()
        .chain(&FIELDS)
        .flat_map(|place| ATTACKS.map(|attack| (place, attack)))
    {
        let path = format!("{place}{}", encoded(attack));
        let answer = browse(&served.router, &path, &cookies).await;
        let page = text(&answer);
        assert!(answer.status != 500, "{place} {attack}: {page}");
        for raw in [
            "<script>alert",
            "<img src=x",
            "onmouseover='alert",
            "root:x:0",
            ">49<",
        ] {
            assert!(!page.contains(raw), "{place} {attack}: {raw} in {page}");
        }
        if answer.header("content-type").starts_with("text/html") {
            assert!(
                answer
                    .header("content-security-policy")
                    .starts_with("default-src 'self'")
                    && !answer.header("content-security-policy").contains("unsafe"),
                "{path}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_redirects_only_to_this_site() {
    let served = Served::new().await;
    let page = browse(&served.router, "/keys", "").await;
    let (token, form_cookie) = (token(&page), super::cookies(&page));
    let elsewhere = [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "/\r/evil.example",
        "/\u{0}/evil.example",
        "/\u{7f}/evil.example",
        "/ok\r\nset-cookie: a=b",
        " \t//evil.example",
    ];
    for then in elsewhere {
        let form = format!(
            "token={token}&action=enter&key={}&then={}",
            served.key,
            encoded(then)
        );
        let answer = send(&served.router, "/keys", &form_cookie, &form).await;
        assert_eq!(answer.status, 303, "{then:?}");
        assert_eq!(answer.header("location"), "/keys", "{then:?}");
        assert!(
            answer
                .headers
                .get_all("set-cookie")
                .iter()
                .all(|cookie| !cookie.to_str().unwrap().starts_with("a=b")),
            "{then:?}"
        );
    }
    // Typed text is sent back encoded as an address.
    for (then, location) in [
        ("/zip/90210?q=a b", "/zip/90210?q=a%20b"),
        ("/search?q=é\"<>", "/search?q=%C3%A9%22%3C%3E"),
        ("/search?q=%09", "/search?q=%09"),
    ] {
        let form = format!(
            "token={token}&action=enter&key={}&then={}",
            served.key,
            encoded(then)
        );
        assert_eq!(
            send(&served.router, "/keys", &form_cookie, &form)
                .await
                .header("location"),
            location,
            "{then}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn structured_data_stays_data_with_any_publisher_name() {
    let world = World::new().await;
    let hostile = "</script><script>alert(1)</script><!--<script> & co";
    publish_changed(&world.home, &world.release_id, |manifest| {
        manifest
            .tasks
            .values_mut()
            .for_each(|task| task.publisher = hostile.to_owned());
    })
    .await;
    world.service.refresh().await.unwrap();
    let page = browse(&world.router, "/datasets/geo.zcta_metric", "").await;
    let (policy, text) = (
        page.header("content-security-policy").to_owned(),
        text(&page),
    );
    assert!(
        policy.starts_with("default-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(
        text.matches("<script").count(),
        2,
        "the script of all pages, and the data"
    );
    let (_, rest) = text
        .split_once("<script type=\"application/ld+json\">")
        .unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let dataset: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        (&dataset["@context"], &dataset["@type"]),
        (&"https://schema.org/".into(), &"Dataset".into())
    );
    assert_eq!(dataset["creator"][0]["name"], hostile);
    // The same words as in the document behind it.
    let croissant = world
        .ok("/v1/datasets/geo.zcta_metric/croissant.json")
        .await;
    for name in [
        "name",
        "description",
        "identifier",
        "url",
        "version",
        "datePublished",
        "creditText",
        "isBasedOn",
        "temporalCoverage",
        "keywords",
        "dateModified",
    ] {
        assert_eq!(dataset[name], croissant[name], "{name}");
    }
    assert_eq!(
        dataset["variableMeasured"].as_array().unwrap().len(),
        croissant["recordSet"][0]["field"].as_array().unwrap().len()
    );
}
