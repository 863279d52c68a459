//! How pages show figures: what there is of them, in which words, and where their bytes are.

use std::collections::BTreeSet;

use super::{browse, text};
use crate::receipts::SealedPlace;
use crate::serve::Served;

async fn page(served: &Served, path: &str) -> String {
    text(&browse(&served.router, path, &format!("pubdata_key={}", served.key)).await)
}

/// The card of a metric.
fn card(page: &str, key: &str) -> String {
    let section =
        page.split("<section class=\"card\" id=\"").find(|section| section.starts_with(&format!("{key}\""))).unwrap_or_else(|| panic!("{key}: {page}"));
    section.split("</section>").next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_ended_medians_are_bounds_and_missing_estimates_are_said() {
    let served = Served::new().await;
    // The Bureau's jam value of the income of 95120 in 2023 is 250001.
    let open = card(&page(&served, "/zip/95120").await, "median_household_income");
    assert!(open.contains(">$250,000 or more</a>") && open.contains("class=\"open\""), "{open}");
    assert!(!open.split("<svg").next().unwrap().contains("±"), "{open}");
    let missing = card(&page(&served, "/zip/03579").await, "poverty_rate");
    assert!(!missing.contains("bar own") && !missing.contains("margin not published"), "{missing}");
    let share = card(&page(&served, "/zip/90210").await, "owner_occupied_share");
    assert!(share.contains("<h3>Owner-occupied share</h3>") && share.contains("percentage points"), "{share}");
}

#[tokio::test(flavor = "multi_thread")]
async fn schools_and_search_results_have_words_for_codes() {
    let served = Served::new().await;
    let zip = page(&served, "/zip/90210").await;
    for word in ["Not applicable", "Not reported", "Adult education", "Pre-K", "K–5", "Ungraded", "<td class=\"number\">0.80</td>"] {
        assert!(zip.contains(word), "{word}: {zip}");
    }
    for code in ["not_applicable", "not_reported", "adult_education", "PK–PK", "KG–05"] {
        assert!(!zip.contains(code), "{code}: {zip}");
    }
    // A source of several records is named once.
    let sources = zip.split("<dt>Sources</dt>").nth(1).unwrap().split("</dd>").next().unwrap();
    let named: Vec<&str> = sources.split(", ").filter_map(|source| source.split_once("\">")).map(|(_, name)| name).collect();
    assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), named.len(), "{sources}");
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_shows_the_difference_and_why_one_is_not_tested() {
    let served = Served::new().await;
    let compared = page(&served, "/compare?areas=90210,95120").await;
    // 19,652 ± 1,335 and 38,103 ± 1,908, as the Bureau publishes them.
    assert!(compared.contains("Difference: <strong>-18,451</strong> <span class=\"soft\">± 2,328.67</span>"), "{compared}");
    assert!(compared.contains("Not tested. At least one median lies in an open-ended interval"), "{compared}");
    assert!(page(&served, "/compare?areas=90210,95120,35950").await.contains("A comparison takes exactly two areas."));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_figures_are_short_and_gaps_are_marked() {
    let served = Served::new().await;
    let company = page(&served, "/company/320193").await;
    let revenue = card(&company, "revenue");
    assert!(revenue.contains("title=\"$391,035,000,000\">$391.04 billion</a>") && revenue.contains("class=\"gap\""), "{revenue}");
    assert!(revenue.contains("first reported as") && revenue.contains("10-K filed 2024-11-01"), "{revenue}");
    let eps = card(&company, "eps_diluted");
    // First reported before a split in seven: 44.15.
    let chart = eps.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(eps.contains("$44.15 per share</a>, before a stock split") && !chart.contains("44.15"), "{eps}");
    let statements = page(&served, "/company/320193/statements").await;
    assert!(!statements.contains("Restated since") || statements.contains("</a>*"), "{statements}");
}

#[tokio::test(flavor = "multi_thread")]
async fn record_page_explains_the_fiscal_year_and_has_a_receipt_when_the_release_is_sealed() {
    const REVENUE: &str = "/records/sec.financial_value:0000320193:revenue:2008-09-28..2009-09-26:0001193125-10-238044";
    let served = Served::new().await;
    let record = page(&served, REVENUE).await;
    assert!(record.contains("<h1>Revenue of Apple Inc., FY 2009: $42,905,000,000</h1>"), "{record}");
    // Apple's report of 2010 states 2009 as well.
    assert!(record.contains("<code>&quot;fy&quot;:2010</code> → <code>fiscal_year 2009</code>"), "{record}");
    assert!(record.contains(" characters … </span>") && record.contains("<mark>{&quot;start&quot;:&quot;2008-09-28&quot;"), "{record}");
    assert!(!record.contains("id=\"receipt\""), "{record}");
    let sealed = Served::of(SealedPlace::new().place).await;
    let record = page(&sealed, "/records/geo.zcta_metric:2023:90210:population").await;
    assert!(
        record.contains("id=\"receipt\"") && record.contains("data.example.org&#x2f;2026&#x2f;nightly") && record.contains("pubdata verify-receipt"),
        "{record}"
    );
}
