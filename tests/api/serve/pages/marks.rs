//! Tests marks on records (replaced, expired, completed, bound), and the uniform wording for the
//! state of a dataset.

use super::{attributes, browse, text};
use crate::serve::{Served, World, records};

async fn page(served: &Served, path: &str) -> String {
    text(&browse(&served.router, path, &format!("pubdata_key={}", served.key)).await)
}

async fn of_records(world: &World, path: &str) -> String {
    text(&browse(&world.router, path, &format!("pubdata_key={}", world.key)).await)
}

/// Tag of the state in a part of a page.
fn state(part: &str) -> &str {
    part.split("<span class=\"tag")
        .nth(1)
        .and_then(|rest| rest.split_once('>')?.1.split('<').next())
        .unwrap_or_else(|| panic!("{part}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn state_of_a_dataset_is_the_same_on_all_pages() {
    let served = Served::new().await;
    let (status, datasets) = (
        page(&served, "/status").await,
        page(&served, "/datasets").await,
    );
    let mut known = 0;
    for dataset in served.ok("/v1/coverage").await["data"]["datasets"]
        .as_array()
        .unwrap()
    {
        let id = dataset["dataset_id"].as_str().unwrap();
        let expected = match dataset["state"].as_str().unwrap() {
            "findings" => "known issues".to_owned(),
            state => state.replace('_', " "),
        };
        known += usize::from(expected == "known issues");
        let row = |page: &str| {
            page.split("<tr")
                .find(|row| row.contains(&format!("href=\"/datasets/{id}\"")))
                .unwrap()
                .to_owned()
        };
        let own = page(&served, &format!("/datasets/{id}")).await;
        assert_eq!(
            [
                state(&row(&status)),
                state(&row(&datasets)),
                state(own.split("</h1>").nth(1).unwrap())
            ],
            [&expected; 3],
            "{id}"
        );
    }
    assert!(known > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_of_the_start_page_have_answers() {
    let served = Served::new().await;
    let start = page(&served, "/").await;
    let links = attributes(&start, "href");
    for link in [
        "/zip/90210",
        "/compare?areas=90210,95120",
        "/search?q=Apple",
        "/permits?jurisdiction=us-tx-austin",
        "/permits",
    ] {
        assert!(links.contains(&link.to_owned()), "{link}: {links:?}");
    }
    let example = links
        .into_iter()
        .find(|link| link.starts_with("/tax?"))
        .unwrap();
    let tax = page(&served, &example).await;
    // Minnesota 6.875, Hennepin County 0.15, Minneapolis 0.5 and transit 0.5 percent.
    assert!(
        tax.contains("<span class=\"figure\">8.025 %</span>")
            && tax.contains("matched by ZIP code")
            && !tax.contains("role=\"alert\""),
        "{tax}"
    );
    // A release without permits, companies and rates has no examples of them.
    let areas_only = of_records(&World::new().await, "/").await;
    assert!(
        areas_only.contains("/zip/90210")
            && !areas_only.contains("/permits?")
            && !areas_only.contains("/tax?"),
        "{areas_only}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tax_page_names_the_gaps_in_rates_and_the_known_parts() {
    let served = Served::new().await;
    let tax = page(
        &served,
        "/tax?address=1600%20Pennsylvania%20Ave%20NW,%20Washington,%20DC%2020500",
    )
    .await;
    let main = tax.split("<h2>Notes</h2>").next().unwrap();
    assert!(
        main.contains("<span class=\"figure\">No rate is published here</span>")
            && main.contains("6 percent from October 2018"),
        "{main}"
    );
    assert!(
        main.contains("<h2>Known rules</h2>")
            && !main.contains("None coverage")
            && !main.contains("Rate by jurisdiction"),
        "{main}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn charts_of_per_share_figures_mark_stock_splits() {
    let served = Served::new().await;
    let company = page(&served, "/company/320193").await;
    let chart = |metric: &str| {
        company
            .split(&format!("id=\"{metric}\""))
            .nth(1)
            .unwrap()
            .split("</svg>")
            .next()
            .unwrap()
            .to_owned()
    };
    // Seven for one in June 2014, first in the annual report that restates 2012; four for one in
    // August 2020, first in the one that restates 2018.
    assert!(
        chart("eps_diluted").contains(
            "<title>Share basis changes between 2010 and 2012, between 2014 and 2018</title>"
        ),
        "{company}"
    );
    assert!(!chart("revenue").contains("Share basis"), "{company}");
}

#[tokio::test(flavor = "multi_thread")]
async fn record_of_a_replaced_figure_is_marked() {
    let served = Served::new().await;
    let record = |filing: &str| {
        format!(
            "/records/sec.financial_value:0000320193:eps_diluted:2012-09-30..2013-09-28:{filing}"
        )
    };
    let mark = "<span class=\"tag warn\">replaced by a later filing</span>";
    // The report of 2014 states the figure of 2013 after the split.
    assert!(
        page(&served, &record("0001193125-13-416534"))
            .await
            .contains(mark)
    );
    assert!(
        !page(&served, &record("0001193125-14-383437"))
            .await
            .contains(mark)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_license_and_expired_or_completed_permits_are_marked() {
    let world = records::world().await;
    // The lists are dated 2025-09-01.
    let license = of_records(&world, "/license/TX-tdlr-el-1094").await;
    assert!(
        license.contains("<span class=\"tag warn\">Active in the list, expired 2020-01-01</span>"),
        "{license}"
    );
    let license = of_records(&world, "/license/TX-tdlr-el-3001").await;
    assert!(
        license.contains("<span class=\"tag good\">Active</span>"),
        "{license}"
    );
    let withheld = of_records(&world, "/permit/us-il-chicago:2").await;
    assert!(
        withheld.contains(">name withheld</a></td><td data-label=\"Role\">Owner<"),
        "{withheld}"
    );
    let past = "Past its expiry date as of the list.";
    let permit = of_records(&world, "/permit/us-il-chicago:2").await;
    assert!(
        permit.contains(past) && permit.contains("<dt>Expires</dt><dd>2022-01-01</dd>"),
        "{permit}"
    );
    assert!(
        permit.contains("<dt>Housing units</dt><dd>3</dd><dt>Stories</dt><dd>2</dd>"),
        "{permit}"
    );
    let permit = of_records(&world, "/permit/us-tx-austin:2024-002%20EP").await;
    assert!(
        permit.contains("<span class=\"tag\">Final</span>")
            && permit.contains("<dt>Completed</dt><dd>2024-06-01</dd>"),
        "{permit}"
    );
    assert!(
        permit.contains("<dt>Expires</dt><dd>2024-09-01</dd>") && !permit.contains(past),
        "{permit}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_of_a_dataset_have_their_own_pages() {
    let served = Served::new().await;
    let dataset = page(&served, "/datasets/permit.permit").await;
    let coverage = served.ok("/v1/coverage").await;
    let covered = coverage["data"]["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|dataset| dataset["dataset_id"] == "permit.permit")
        .unwrap()
        .clone();
    let unknown = covered["words"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|column| column["unknown_rows"] != 0)
        .count();
    for (list, count) in [
        (
            "partitions",
            covered["partitions"].as_array().unwrap().len(),
        ),
        ("words", unknown),
    ] {
        let (mut next, mut rows) = (Some(format!("/datasets/permit.permit?list={list}")), 0);
        assert!(
            attributes(&dataset, "href").contains(next.as_ref().unwrap()),
            "{dataset}"
        );
        while let Some(path) = next {
            let page = page(&served, &path).await;
            assert!(page.len() < 50 << 10, "{path}: {}", page.len());
            rows += page
                .split("<tbody>")
                .nth(1)
                .unwrap()
                .matches("<tr>")
                .count();
            next = attributes(&page, "href")
                .into_iter()
                .find(|link| link.contains("from="));
        }
        assert_eq!(rows, count, "{list}");
    }
    let publishers = page(&served, "/datasets/permit.permit?list=publishers").await;
    assert!(
        publishers.len() < 50 << 10
            && publishers.contains("City of Albuquerque, Planning Department"),
        "{}",
        publishers.len()
    );
    let refused = browse(&served.router, "/datasets/permit.permit?list=x", "").await;
    assert_eq!(refused.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn single_release_has_no_timeline_and_no_changes() {
    let world = World::new().await;
    let dataset = of_records(&world, "/datasets/geo.zcta_metric").await;
    assert!(
        !dataset.contains("chart spark") && !dataset.contains(">1 values<"),
        "{dataset}"
    );
    assert!(
        of_records(&world, "/releases")
            .await
            .contains("The channel has one release so far.")
    );
    assert!(!of_records(&world, "/").await.contains(">1 records<"));
}
