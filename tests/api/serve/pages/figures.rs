//! Tests how pages show figures: values and gaps, wording, and links to their bytes.

use std::collections::BTreeSet;

use super::{browse, text};
use crate::receipts::SealedPlace;
use crate::serve::Served;

async fn page(served: &Served, path: &str) -> String {
    text(&browse(&served.router, path, &format!("pubdata_key={}", served.key)).await)
}

/// Card of a metric.
fn card(page: &str, key: &str) -> String {
    let section = page
        .split("<section class=\"card\" id=\"")
        .find(|section| section.starts_with(&format!("{key}\"")))
        .unwrap_or_else(|| panic!("{key}: {page}"));
    section.split("</section>").next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_ended_medians_are_bounds_and_missing_estimates_are_named() {
    let served = Served::new().await;
    // The Bureau's jam value for the income of 95120 in 2023 is 250001.
    let open = card(
        &page(&served, "/zip/95120").await,
        "median_household_income",
    );
    assert!(
        open.contains(">$250,000 or more</a>") && open.contains("class=\"open\""),
        "{open}"
    );
    assert!(!open.split("<svg").next().unwrap().contains("±"), "{open}");
    let missing = card(&page(&served, "/zip/03579").await, "poverty_rate");
    assert!(
        !missing.contains("bar own") && !missing.contains("margin not published"),
        "{missing}"
    );
    let share = card(&page(&served, "/zip/90210").await, "owner_occupied_share");
    assert!(
        share.contains("<h3>Owner-occupied share</h3>") && share.contains("percentage points"),
        "{share}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn schools_and_search_results_show_words_for_codes() {
    let served = Served::new().await;
    let zip = page(&served, "/zip/90210").await;
    for word in [
        "Not applicable",
        "Not reported",
        "Adult education",
        "Pre-K",
        "K–5",
        "Ungraded",
        "<td class=\"number\">0.80</td>",
    ] {
        assert!(zip.contains(word), "{word}: {zip}");
    }
    for code in [
        "not_applicable",
        "not_reported",
        "adult_education",
        "PK–PK",
        "KG–05",
    ] {
        assert!(!zip.contains(code), "{code}: {zip}");
    }
    // A source with several records is named once.
    let sources = zip
        .split("<dt>Sources</dt>")
        .nth(1)
        .unwrap()
        .split("</dd>")
        .next()
        .unwrap();
    let named: Vec<&str> = sources
        .split(", ")
        .filter_map(|source| source.split_once("\">"))
        .map(|(_, name)| name)
        .collect();
    assert_eq!(
        named.iter().collect::<BTreeSet<_>>().len(),
        named.len(),
        "{sources}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_shows_the_difference_and_why_one_is_not_tested() {
    let served = Served::new().await;
    let compared = page(&served, "/compare?areas=90210,95120").await;
    // 19,652 ± 1,335 and 38,103 ± 1,908, as the Bureau publishes them.
    assert!(compared.contains("ZCTA 90210 minus ZCTA 95120: <strong>-18,451 persons</strong> <span class=\"soft\">± 2,328.67</span>"), "{compared}");
    // 126,696 against the Bureau's jam value 250,001, which means 250,000 or more.
    let bound = "ZCTA 90210 minus ZCTA 95120: <strong>at most -$123,304</strong> <span class=\"soft\">(95120 is at least $123,304 higher)</span>; ";
    let untested =
        "<span class=\"soft\">significance not computed: a bound is not an estimate.</span>";
    assert!(
        compared.contains(bound) && compared.contains(untested),
        "{compared}"
    );
    assert!(
        page(&served, "/compare?areas=95120,90210")
            .await
            .contains("ZCTA 95120 minus ZCTA 90210: <strong>at least $123,304</strong>; ")
    );
    assert!(
        page(&served, "/compare?areas=90210,95120,35950")
            .await
            .contains("A comparison takes exactly two areas.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn large_figures_are_short_and_gaps_are_marked() {
    let served = Served::new().await;
    let company = page(&served, "/company/320193").await;
    let revenue = card(&company, "revenue");
    assert!(
        revenue.contains("title=\"$391,035,000,000\">$391.04 billion</a>")
            && revenue.contains("class=\"gap\""),
        "{revenue}"
    );
    assert!(
        revenue.contains("first reported as") && revenue.contains("10-K filed 2024-11-01"),
        "{revenue}"
    );
    let eps = card(&company, "eps_diluted");
    // First reported before a seven-for-one split: 44.15.
    let chart = eps
        .split("<svg")
        .nth(1)
        .unwrap()
        .split("</svg>")
        .next()
        .unwrap();
    assert!(
        eps.contains("$44.15 per share</a>, before a stock split") && !chart.contains("44.15"),
        "{eps}"
    );
    // The cover page of the report of 2024 counts the shares three weeks after the end of the
    // period.
    let shares = card(&company, "shares_outstanding");
    assert!(
        shares.contains("<th>As of<th>")
            && shares.contains("<tr><td>2024-10-18<td>")
            && shares.contains("as of 2024-10-18"),
        "{shares}"
    );
    assert!(
        eps.contains("<th>Period end<th>") && !company.contains("None"),
        "{company}"
    );
    let statements = page(&served, "/company/320193/statements").await;
    assert!(
        statements.contains("<caption>USD, except where a line states its unit;")
            && statements.contains(">USD per share</span></th>"),
        "{statements}"
    );
    assert!(
        !statements.contains("Restated since") || statements.contains("</a>*"),
        "{statements}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn quarterly_figures_name_quarters_published_only_as_year_to_date() {
    let served = Served::new().await;
    let company = page(&served, "/company/320193?period=quarterly").await;
    assert!(
        company.contains("period=quarterly&amp;span=quarter")
            && company.contains("period=quarterly&amp;span=ytd"),
        "{company}"
    );
    let rows = |card: &str, end: &str| -> Vec<String> {
        card.split("<tr>")
            .filter(|row| row.starts_with(&format!("<td>{end}<")))
            .map(|row| row.split("filed").next().unwrap().to_owned())
            .collect()
    };
    // The report for 2024-06-29 states a quarter and nine months of revenue, and nine months of
    // cash flow.
    let revenue = card(&company, "revenue");
    let [quarter, nine_months] = &rows(&revenue, "2024-06-29")[..] else {
        panic!("{revenue}")
    };
    assert!(
        quarter.contains("$85,777,000,000") && !quarter.contains("year to date"),
        "{quarter}"
    );
    assert!(
        nine_months.contains("$296,105,000,000") && nine_months.contains("<p>year to date</p>"),
        "{nine_months}"
    );
    let cash = card(&company, "operating_cash_flow");
    let [only] = &rows(&cash, "2024-06-29")[..] else {
        panic!("{cash}")
    };
    assert!(
        only.contains("$91,443,000,000") && only.contains("<p>published only as year to date</p>"),
        "{only}"
    );
    assert!(
        !cash
            .split("<svg")
            .nth(1)
            .unwrap()
            .split("</svg>")
            .next()
            .unwrap()
            .contains("Q3 2024"),
        "{cash}"
    );
    let statement = page(
        &served,
        "/company/320193/statements?statement=cash_flow&period=quarterly",
    )
    .await;
    assert!(
        statement.contains(">91,443,000,000</a><br><span class=\"small soft\">year to date</span>"),
        "{statement}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_sales_tax_lists_areas_with_their_rates() {
    let served = Served::new().await;
    // California's list has Los Angeles and the land outside its cities, both at 9.5 percent, and
    // no Beverly Hills.
    let tax = page(&served, "/tax?zip=90210&date=2026-08-01").await;
    let others = tax
        .split("<h2>Other rates within this place</h2>")
        .nth(1)
        .unwrap()
        .split("</table>")
        .next()
        .unwrap();
    let rows: Vec<&str> = others.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 2, "{others}");
    for (row, area) in rows.iter().zip([
        "Districts of UNINCORPORATED AREA-LOS ANGELES",
        "Districts of LOS ANGELES",
    ]) {
        assert!(
            row.contains(&format!("{area} <span class=\"nowrap soft\">2.25 %</span>"))
                && row.contains(">9.5 %</td>"),
            "{row}"
        );
    }
    assert!(
        !page(&served, "/tax?zip=55401&date=2019-01-01")
            .await
            .contains("Other rates within this place")
    );
    // The sale goes to the area of the rate lookup: the whole code.
    let sale = page(&served, "/tax?zip=55103-1234&date=2019-01-01&amount=10").await;
    assert!(
        sale.contains("&quot;zip&quot;:&quot;55103-1234&quot;"),
        "{sale}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn record_page_explains_the_fiscal_year_and_offers_a_receipt() {
    const REVENUE: &str = "/records/sec.financial_value:0000320193:revenue:2008-09-28..2009-09-26:0001193125-10-238044";
    let served = Served::new().await;
    let record = page(&served, REVENUE).await;
    assert!(
        record.contains("<h1>Revenue of Apple Inc., FY 2009: $42,905,000,000</h1>"),
        "{record}"
    );
    // Apple's report of 2010 also states 2009.
    assert!(
        record.contains("<code>&quot;fy&quot;:2010</code> → <code>fiscal_year 2009</code>"),
        "{record}"
    );
    assert!(
        record.contains(" characters … </span>")
            && record.contains("<mark>{&quot;start&quot;:&quot;2008-09-28&quot;"),
        "{record}"
    );
    // A channel with a single release has no earlier one.
    assert!(
        !record.contains("id=\"receipt\"") && !record.contains("id=\"history\""),
        "{record}"
    );
    let sealed = Served::start(SealedPlace::new().place).await;
    let record = page(&sealed, "/records/geo.zcta_metric:2023:90210:population").await;
    assert!(
        record.contains("id=\"receipt\"")
            && record.contains("data.example.org/2026/nightly")
            && record.contains("pubdata verify-receipt"),
        "{record}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn program_table_page_is_not_a_publishers_file() {
    let served = Served::new().await;
    let record = page(&served, "/records/tax.taxability:NH:general:state:undated").await;
    assert!(
        record.contains("compiled by pubdata from the cited sources")
            && !record.contains("Publisher's file"),
        "{record}"
    );
    assert!(
        !record.contains("href=\"bundled:") && !record.contains("the publisher's files</h3>"),
        "{record}"
    );
}
