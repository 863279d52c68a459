//! The documentation's pages of endpoints: what a request's body and an answer have.

use super::{browse, text};
use crate::serve::{Served, World};

#[tokio::test]
async fn page_of_a_post_endpoint_describes_each_member_of_the_body() {
    let world = World::new().await;
    let page = text(&browse(&world.router, "/docs/calculateTax", "").await).replace("<wbr>", "");
    let body = page.split("<h2>").find(|section| section.starts_with("Request body")).unwrap();
    for member in ["to", "to.zip", "from.state", "amount", "line_items", "line_items[].unit_price", "shipping_taxable", "rounding", "exemption"] {
        assert!(body.contains(&format!("<tr><td><code>{member}</code>")), "{member}: {body}");
    }
    assert!(body.contains("<code>to</code><br><span class=\"small soft\">required</span>"), "{body}");
    assert!(body.contains("none, resale, government, nonprofit"), "{body}");
    for operation in ["compareLocations", "getZips", "getTaxRates", "createKey"] {
        assert!(text(&browse(&world.router, &format!("/docs/{operation}"), "").await).contains("<h2>Request body</h2>"), "{operation}");
    }
    assert!(!text(&browse(&world.router, "/docs/getZip", "").await).contains("Request body"));
}

#[tokio::test]
async fn page_of_an_endpoint_lists_members_of_members() {
    let world = World::new().await;
    let page = text(&browse(&world.router, "/docs/getLocation", "").await).replace("<wbr>", "");
    for member in ["geography", "geography.internal_point.lat", "summary.*.value", "vintage.year", "provenance.record_id"] {
        assert!(page.contains(&format!("<tr><td><code>{member}</code>")), "{member}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn example_of_an_answer_has_its_members_in_the_order_of_the_server() {
    let served = Served::new().await;
    let members = |text: &str, quote: &str| {
        let parts: Vec<String> = text.split(quote).map(str::to_owned).collect();
        parts.windows(2).filter(|pair| pair[1].starts_with(':')).map(|pair| pair[0].clone()).collect::<Vec<_>>()
    };
    let page = text(&browse(&served.router, "/docs/getSchools", "").await);
    let example = page.split("<h2>Example response</h2>").nth(1).unwrap().split("</pre>").next().unwrap();
    let answer = served.get("/v1/geo-demographics/locations/35950/schools?limit=2").await;
    let (shown, served) = (members(example, "&quot;"), members(&String::from_utf8(answer.bytes.clone()).unwrap(), "\""));
    let of_data = |members: &[String]| members.iter().skip_while(|name| *name != "origin").take(30).cloned().collect::<Vec<_>>();
    assert!(of_data(&served).len() == 30 && of_data(&shown) == of_data(&served), "{shown:?}\n{served:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_between_backticks_is_code_on_pages() {
    let served = Served::new().await;
    let problems = text(&browse(&served.router, "/docs/problems", "").await);
    assert!(problems.contains("<code>errors</code>") && problems.contains("<code>Retry-After</code>") && !problems.contains('`'), "{problems}");
    let refused = text(&browse(&served.router, "/tax?zip=55401&date=2019-01-01&amount=x", "").await);
    assert!(refused.contains("<code>x</code> is not an amount") && !refused.contains('`'), "{refused}");
    let missing = text(&browse(&served.router, "/docs/guides/none", "").await);
    assert!(missing.contains("<code>none</code>") && !missing.contains('`'), "{missing}");
}
