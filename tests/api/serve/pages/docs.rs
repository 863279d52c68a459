//! The documentation's pages of endpoints: what a request's body and an answer have.

use super::{browse, text};
use crate::serve::World;

#[tokio::test]
async fn page_of_a_post_endpoint_describes_each_member_of_the_body() {
    let world = World::new().await;
    let page = text(&browse(&world.router, "/docs/calculateTax", "").await);
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
    let page = text(&browse(&world.router, "/docs/getLocation", "").await);
    for member in ["geography", "geography.internal_point.lat", "summary.*.value", "vintage.year", "provenance.record_id"] {
        assert!(page.contains(&format!("<tr><td><code>{member}</code>")), "{member}: {page}");
    }
}
