//! Tests the sales tax form: its choices, and the page of a sale.

use super::{attributes, browse, text};
use crate::serve::Served;

async fn page(served: &Served, query: &str) -> String {
    text(
        &browse(
            &served.router,
            &format!("/tax{query}"),
            &format!("pubdata_key={}", served.key),
        )
        .await,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn tax_form_offers_the_categories_that_a_calculation_accepts() {
    let served = Served::new().await;
    let form = page(&served, "").await;
    let select = form
        .split("<select id=\"category\"")
        .nth(1)
        .unwrap()
        .split("</select>")
        .next()
        .unwrap();
    let offered = attributes(select, "value");
    let document = served.ok("/v1/openapi.json").await;
    let accepted = document["components"]["schemas"]["SaleItemCategory"]["enum"]
        .as_array()
        .unwrap();
    assert!(
        accepted.len() == 8 && offered.iter().eq(accepted),
        "{offered:?}"
    );
    assert!(
        select.contains("<option value=\"general\" selected>General goods</option>")
            && select.contains(">Groceries</option>"),
        "{select}"
    );
    for category in offered {
        let sale = page(
            &served,
            &format!("?zip=55401&date=2019-01-02&amount=10&category={category}"),
        )
        .await;
        assert!(
            sale.contains("<h2>The sale</h2>") && !sale.contains("role=\"alert\""),
            "{category}: {sale}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_of_an_unknown_zip_code_are_found_by_state() {
    let served = Served::new().await;
    assert!(page(&served, "?zip=03101").await.contains("role=\"alert\""));
    let sale = page(&served, "?zip=03101&state=NH&amount=10").await;
    assert!(
        sale.contains(
            "<span class=\"figure\">0 %</span> <span class=\"soft\">on general goods</span>"
        ),
        "{sale}"
    );
    // New Hampshire has no sourcing rule and no jurisdiction that taxes.
    assert!(
        sale.contains("<p>No jurisdiction charges a tax on this sale.</p>")
            && !sale.contains(">Category</th>"),
        "{sale}"
    );
    assert!(
        sale.contains("<p class=\"small soft\">Sources: ") && !sale.contains("None"),
        "{sale}"
    );
    assert!(
        page(&served, "?state=NH")
            .await
            .contains("role=\"alert\">Enter a ZIP code or an address")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_other_goods_are_folded() {
    let served = Served::new().await;
    let rules = async |query: &str| {
        let page = page(
            &served,
            &format!("?zip=55401&date=2019-01-02&amount=10{query}"),
        )
        .await;
        let rules = page
            .split("<h2>Rules applied</h2>")
            .nth(1)
            .unwrap_or_else(|| panic!("{page}"));
        let (shown, folded) = rules
            .split_once("<details><summary>Rules of MN on other goods</summary>")
            .unwrap();
        let goods = |part: &str| {
            part.split("<tr><td>")
                .skip(1)
                .map(|row| row.split(" <span").next().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        (goods(shown), goods(folded))
    };
    let (shown, folded) = rules("&category=clothing").await;
    assert_eq!(shown, ["Clothing", "Clothing"]);
    assert!(
        folded.contains(&"Shipping".to_owned()) && !folded.contains(&"Clothing".to_owned()),
        "{folded:?}"
    );
    let (shown, _) = rules("&category=food_drug&shipping=4.99").await;
    assert_eq!(shown, ["Groceries", "Groceries", "Shipping", "Shipping"]);
}
