//! Tests the documentation's pages of endpoints: members of the request body and of the answer.

use super::{browse, text};
use crate::serve::{Served, World};

#[tokio::test]
async fn page_of_a_post_endpoint_describes_each_member_of_the_body() {
    let world = World::new().await;
    let page = text(&browse(&world.router, "/docs/calculateTax", "").await).replace("<wbr>", "");
    let body = page
        .split("<h2>")
        .find(|section| section.starts_with("Request body"))
        .unwrap();
    for member in [
        "to",
        "to.zip",
        "from.state",
        "amount",
        "line_items",
        "line_items[].unit_price",
        "shipping_taxable",
        "rounding",
        "exemption",
    ] {
        assert!(
            body.contains(&format!("<tr><td><code>{member}</code>")),
            "{member}: {body}"
        );
    }
    assert!(
        body.contains("<code>to</code><br><span class=\"small soft\">required</span>"),
        "{body}"
    );
    assert!(
        body.contains("none, resale, government, nonprofit"),
        "{body}"
    );
    for operation in ["compareLocations", "getZips", "getTaxRates", "createKey"] {
        assert!(
            text(&browse(&world.router, &format!("/docs/{operation}"), "").await)
                .contains("<h2>Request body</h2>"),
            "{operation}"
        );
    }
    assert!(!text(&browse(&world.router, "/docs/getZip", "").await).contains("Request body"));
}

#[tokio::test]
async fn page_of_an_endpoint_lists_members_of_members() {
    let world = World::new().await;
    let page = text(&browse(&world.router, "/docs/getLocation", "").await).replace("<wbr>", "");
    for member in [
        "geography",
        "geography.internal_point.lat",
        "summary.*.value",
        "vintage.year",
        "provenance.record_id",
    ] {
        assert!(
            page.contains(&format!("<tr><td><code>{member}</code>")),
            "{member}: {page}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn example_answer_has_its_members_in_the_order_of_the_server() {
    let served = Served::new().await;
    let members = |text: &str, quote: &str| {
        let parts: Vec<String> = text.split(quote).map(str::to_owned).collect();
        parts
            .windows(2)
            .filter(|pair| pair[1].starts_with(':'))
            .map(|pair| pair[0].clone())
            .collect::<Vec<_>>()
    };
    let page = text(&browse(&served.router, "/docs/getSchools", "").await);
    let example = page
        .split("<h2>Example response</h2>")
        .nth(1)
        .unwrap()
        .split("</pre>")
        .next()
        .unwrap();
    let answer = served
        .get("/v1/geo-demographics/locations/35950/schools?limit=2")
        .await;
    let (shown, served) = (
        members(example, "&quot;"),
        members(&String::from_utf8(answer.bytes.clone()).unwrap(), "\""),
    );
    let of_data = |members: &[String]| {
        members
            .iter()
            .skip_while(|name| *name != "origin")
            .take(30)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(
        of_data(&served).len() == 30 && of_data(&shown) == of_data(&served),
        "{shown:?}\n{served:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn text_between_backticks_is_code_on_pages() {
    let served = Served::new().await;
    let problems = text(&browse(&served.router, "/docs/problems", "").await);
    assert!(
        problems.contains("<code>errors</code>")
            && problems.contains("<code>Retry-After</code>")
            && !problems.contains('`'),
        "{problems}"
    );
    let refused = text(
        &browse(
            &served.router,
            "/tax?zip=55401&date=2019-01-01&amount=x",
            "",
        )
        .await,
    );
    assert!(
        refused.contains("<code>x</code> is not an amount") && !refused.contains('`'),
        "{refused}"
    );
    let missing = text(&browse(&served.router, "/docs/guides/none", "").await);
    assert!(
        missing.contains("<code>none</code>") && !missing.contains('`'),
        "{missing}"
    );
}

#[tokio::test]
async fn page_of_an_endpoint_names_every_type_of_a_member() {
    let world = World::new().await;
    for (operation, member, kind) in [
        ("calculateTax", "to", "object or string"),
        ("calculateTax", "from", "object or string"),
        ("getTaxRates", "addresses", "list of (object or string)"),
        ("getTaxRates", "result", "object or null"),
        ("calculateTax", "line_items", "list of object or null"),
    ] {
        let page = text(&browse(&world.router, &format!("/docs/{operation}"), "").await)
            .replace("<wbr>", "");
        let row = page
            .split("<tr>")
            .find(|row| row.starts_with(&format!("<td><code>{member}</code>")))
            .unwrap_or_else(|| panic!("{member}: {page}"));
        assert!(
            row.contains(&format!("<td class=\"small soft\">{kind}<")),
            "{operation} {member}: {row}"
        );
    }
}

#[tokio::test]
async fn index_links_to_the_guide_of_the_stream() {
    let world = World::new().await;
    for index in ["/docs", "/docs?find=websocket", "/docs?find=/v1/stream"] {
        let page = text(&browse(&world.router, index, "").await)
            .replace("<wbr>", "")
            .replace("&#x2f;", "/");
        let group = page
            .split("<h2>")
            .find(|group| group.starts_with("Companies and filings"))
            .unwrap();
        let row = group
            .split("<tr>")
            .find(|row| row.contains("<code class=\"soft\">/v1/stream</code>"))
            .unwrap();
        assert!(
            row.contains("<code>WS</code>") && row.contains("href=\"/docs/guides/streams\""),
            "{index}: {row}"
        );
    }
}

#[tokio::test]
async fn search_of_the_docs_covers_members_values_and_guides() {
    let world = World::new().await;
    for (selected, found) in [
        ("moe_status", "/docs/getDemographics"),
        ("not_fetched", "/docs/getDemographics"),
        ("multiple_matches", "/docs/verifyLicense"),
        ("since_seq", "/docs/guides/streams"),
    ] {
        let page = text(&browse(&world.router, &format!("/docs?find={selected}"), "").await);
        let main = page.split("<h1>").nth(1).unwrap();
        assert!(
            main.contains(&format!("href=\"{found}\"")) && !main.contains("No page of"),
            "{selected}: {main}"
        );
    }
    let page = text(&browse(&world.router, "/docs?find=zzzzzz", "").await);
    assert!(
        page.contains("No page of the documentation contains") && !page.contains("<h2>Guides</h2>")
    );
    let page = text(&browse(&world.router, "/docs/verifyLicense", "").await).replace("<wbr>", "");
    let row = page
        .split("<tr>")
        .find(|row| row.starts_with("<td><code>name_match</code>"))
        .unwrap();
    assert!(row.contains("exact, partial, none"), "{row}");
}
