//! Tests selection on real figures. Input lines are facts from companyfacts members, one fact per
//! line.

use super::frames::{Source, lines_frame, values_frame};
use super::observation::{Change, Observation};
use super::period::{FiscalPeriod, NO_START, Period, Series};
use super::select::{Selected, select};
use super::settings::Rules;
use crate::datasets::sec::fact::{Amount, CompanyFacts, Fact, FilingPeriod, Form, Unit};
use crate::datasets::sec::filing::Filing;
use crate::normalise::Day;
use pubdata_core::pipeline::Declaration;

fn rules() -> Rules {
    let declaration: Declaration =
        toml::from_str(include_str!("../../../../../pipelines/sec/financials.toml")).unwrap();
    super::rules(&declaration).unwrap()
}

fn day(text: &str) -> Day {
    Day::from_iso(text.as_bytes()).unwrap()
}

/// Reads lines in the format `concept unit start end value accession form filed fy fp`. The start
/// is `-` for an instant, and the default taxonomy is `us-gaap`.
fn company(rules: &Rules, lines: &str) -> CompanyFacts {
    let mut company = CompanyFacts {
        taxonomies: vec!["us-gaap".to_owned()],
        ..CompanyFacts::default()
    };
    for (line, offset) in lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .zip(0_u32..)
    {
        let cells: Vec<&str> = line.split(' ').collect();
        let name = if cells[0].contains(':') {
            cells[0].to_owned()
        } else {
            format!("us-gaap:{}", cells[0])
        };
        company.facts.push(Fact {
            concept: u16::try_from(rules.concepts.binary_search(&name).unwrap()).unwrap(),
            unit: Unit::from_text(cells[1].as_bytes()),
            start: (cells[2] != "-").then(|| day(cells[2])),
            end: day(cells[3]),
            value: Amount::from_literal(cells[4].as_bytes()).unwrap(),
            accession: cells[5].parse().unwrap(),
            form: Form::from_text(cells[6].as_bytes()),
            filed: day(cells[7]),
            fy: cells[8].parse().ok(),
            fp: FilingPeriod::from_text(cells[9].as_bytes()),
            offset: offset * 200,
            length: 150,
        });
    }
    company
}

/// Formats one line per period of a measure, with the value in each report: `series year period
/// start..end: value form change [warnings]`.
fn history(rules: &Rules, selected: &Selected, measure: &str) -> Vec<String> {
    let of_measure = selected
        .periods
        .iter()
        .filter(|period| rules.measures[period.measure].key == measure);
    of_measure
        .map(|period| {
            format!(
                "{}: {}",
                heading(period),
                selected.observations[period.observations()]
                    .iter()
                    .map(|seen| said(selected, seen))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        })
        .collect()
}

fn heading(period: &Period) -> String {
    let start = if period.start == NO_START {
        String::new()
    } else {
        format!("{}..", period.start)
    };
    let ytd = if period.is_ytd { " to date" } else { "" };
    format!(
        "{} {} {}{ytd} {start}{}",
        period.series.name(),
        period.fiscal_year,
        period.fiscal_period.name(),
        period.end
    )
}

fn said(selected: &Selected, seen: &Observation) -> String {
    let filed = selected.reports[seen.report as usize].filed;
    let warnings: Vec<&str> = seen.warnings.codes().collect();
    let warnings = if warnings.is_empty() {
        String::new()
    } else {
        format!(" [{}]", warnings.join(" "))
    };
    format!(
        "{}/100 {filed} {}{warnings}",
        seen.value.0 / 100_000_000,
        seen.change.name()
    )
}

fn selected(rules: &Rules, lines: &str) -> Selected {
    select(
        "320193".parse().unwrap(),
        &company(rules, lines),
        &[],
        rules,
    )
}

#[test]
fn comparatives_keep_their_own_period() {
    let rules = rules();
    // Apple: fiscal year 2009 in the original report, the amendment that recasts it and the next
    // year's report, all stamped with the filing's year.
    let apple = selected(
        &rules,
        "NetIncomeLoss USD 2007-09-30 2008-09-27 4834000000 0001193125-09-214859 10-K 2009-10-27 2009 FY
         NetIncomeLoss USD 2007-09-30 2008-09-27 6119000000 0001193125-10-012091 10-K/A 2010-01-25 2009 FY
         NetIncomeLoss USD 2007-09-30 2008-09-27 6119000000 0001193125-10-238044 10-K 2010-10-27 2010 FY
         NetIncomeLoss USD 2008-09-28 2009-09-26 5704000000 0001193125-09-214859 10-K 2009-10-27 2009 FY
         NetIncomeLoss USD 2008-09-28 2009-09-26 8235000000 0001193125-10-012091 10-K/A 2010-01-25 2009 FY
         NetIncomeLoss USD 2008-09-28 2009-09-26 8235000000 0001193125-10-238044 10-K 2010-10-27 2010 FY
         NetIncomeLoss USD 2008-12-28 2009-03-28 1620000000 0001193125-10-238044 10-K 2010-10-27 2010 FY
         NetIncomeLoss USD 2009-09-27 2010-09-25 14013000000 0001193125-10-238044 10-K 2010-10-27 2010 FY",
    );
    assert_eq!(
        history(&rules, &apple, "net_income"),
        [
            "annual 2008 FY 2007-09-30..2008-09-27: 483400000000/100 2009-10-27 first, 611900000000/100 2010-01-25 value, 611900000000/100 2010-10-27 equal",
            "annual 2009 FY 2008-09-28..2009-09-26: 570400000000/100 2009-10-27 first, 823500000000/100 2010-01-25 value, 823500000000/100 2010-10-27 equal",
            "annual 2010 FY 2009-09-27..2010-09-25: 1401300000000/100 2010-10-27 first",
        ]
    );
    assert!(apple.findings.is_empty());
}

#[test]
fn quarters_and_year_to_date_are_told_by_their_dates() {
    let rules = rules();
    let concept = "NetCashProvidedByUsedInOperatingActivities USD";
    let apple = selected(
        &rules,
        &format!(
            "{concept} 2008-09-28 2009-09-26 10159000000 0001193125-10-238044 10-K 2010-10-27 2010 FY
             {concept} 2009-09-27 2009-12-26 5781000000 0001193125-10-012085 10-Q 2010-01-25 2010 Q1
             {concept} 2009-09-27 2010-03-27 8111000000 0001193125-10-088957 10-Q 2010-04-21 2010 Q2
             {concept} 2009-09-27 2010-06-26 12912000000 0001193125-10-162840 10-Q 2010-07-21 2010 Q3
             {concept} 2009-09-27 2010-09-25 18595000000 0001193125-10-238044 10-K 2010-10-27 2010 FY
             Assets USD - 2009-09-26 47501000000 0001193125-10-012085 10-Q 2010-01-25 2010 Q1
             Assets USD - 2009-12-26 53926000000 0001193125-10-012085 10-Q 2010-01-25 2010 Q1"
        ),
    );
    assert_eq!(
        history(&rules, &apple, "operating_cash_flow"),
        [
            "annual 2009 FY 2008-09-28..2009-09-26: 1015900000000/100 2010-10-27 first",
            "annual 2010 FY 2009-09-27..2010-09-25: 1859500000000/100 2010-10-27 first",
            "quarterly 2010 Q1 2009-09-27..2009-12-26: 578100000000/100 2010-01-25 first",
            "quarterly 2010 Q2 to date 2009-09-27..2010-03-27: 811100000000/100 2010-04-21 first",
            "quarterly 2010 Q3 to date 2009-09-27..2010-06-26: 1291200000000/100 2010-07-21 first",
        ]
    );
    // A quarterly report's balance at the end of the previous year produces no row.
    assert_eq!(
        history(&rules, &apple, "total_assets"),
        ["quarterly 2010 Q1 2009-12-26: 5392600000000/100 2010-01-25 first"]
    );
}

#[test]
fn amendment_of_the_scale_wins_and_the_original_is_scale_suspect() {
    let rules = rules();
    let mut lines = String::new();
    for (year, value) in [
        (2011, 5_029_000_000_i64),
        (2012, 5_241_000_000),
        (2013, 5_318_000_000),
    ] {
        lines.push_str(&format!("SalesRevenueNet USD {year}-01-01 {year}-03-31 {value} 0001193125-{}-132240 10-Q {year}-05-09 {year} Q1\n", year - 2000));
        lines.push_str(&format!("SalesRevenueNet USD {0}-01-01 {0}-12-31 19746000000 0001193125-{1}-043300 10-K {year}-02-23 {0} FY\n", year - 1, year - 2000));
    }
    let kimberly = selected(
        &rules,
        &format!(
            "{lines}SalesRevenueNet USD 2010-01-01 2010-03-31 4835 0000055785-10-000019 10-Q 2010-05-07 2010 Q1
             SalesRevenueNet USD 2010-01-01 2010-03-31 4835000000 0000055785-10-000026 10-Q/A 2010-05-14 2010 Q1"
        ),
    );
    let of_2010 = history(&rules, &kimberly, "revenue")
        .into_iter()
        .find(|line| line.starts_with("quarterly 2010"));
    assert_eq!(
        of_2010.as_deref(),
        Some(
            "quarterly 2010 Q1 2010-01-01..2010-03-31: 483500/100 2010-05-07 first [scale_suspect], 483500000000/100 2010-05-14 scale_error"
        )
    );
}

#[test]
fn share_counts_distinguish_a_split_from_a_restatement() {
    let rules = rules();
    let apple = selected(
        &rules,
        "EarningsPerShareDiluted USD/shares 2018-09-30 2019-09-28 11.89 0000320193-19-000119 10-K 2019-10-31 2019 FY
         EarningsPerShareDiluted USD/shares 2018-09-30 2019-09-28 2.97 0000320193-20-000096 10-K 2020-10-30 2020 FY
         WeightedAverageNumberOfDilutedSharesOutstanding shares 2018-09-30 2019-09-28 4648913000 0000320193-19-000119 10-K 2019-10-31 2019 FY
         WeightedAverageNumberOfDilutedSharesOutstanding shares 2018-09-30 2019-09-28 18595651000 0000320193-20-000096 10-K 2020-10-30 2020 FY
         NetIncomeLoss USD 2018-09-30 2019-09-28 55256000000 0000320193-19-000119 10-K 2019-10-31 2019 FY
         NetIncomeLoss USD 2018-09-30 2019-09-28 55256000000 0000320193-20-000096 10-K 2020-10-30 2020 FY",
    );
    assert_eq!(
        history(&rules, &apple, "eps_diluted"),
        [
            "annual 2019 FY 2018-09-30..2019-09-28: 1189/100 2019-10-31 first, 297/100 2020-10-30 split"
        ]
    );
    assert!(history(&rules, &apple, "shares_diluted")[0].ends_with("split"));
    // The same figures without a recast share count are classified as a restatement.
    let recast = selected(
        &rules,
        "EarningsPerShareDiluted USD/shares 2018-09-30 2019-09-28 11.89 0000320193-19-000119 10-K 2019-10-31 2019 FY
         EarningsPerShareDiluted USD/shares 2018-09-30 2019-09-28 2.97 0000320193-20-000096 10-K 2020-10-30 2020 FY
         WeightedAverageNumberOfDilutedSharesOutstanding shares 2018-09-30 2019-09-28 4648913000 0000320193-19-000119 10-K 2019-10-31 2019 FY
         WeightedAverageNumberOfDilutedSharesOutstanding shares 2018-09-30 2019-09-28 4648913000 0000320193-20-000096 10-K 2020-10-30 2020 FY",
    );
    assert_eq!(
        recast
            .observations
            .iter()
            .filter(|seen| seen.change == Change::Value)
            .count(),
        1
    );
}

#[test]
fn year_ending_in_january_has_the_fiscal_year_of_the_company() {
    let rules = rules();
    let years = [
        ("2020-02-03", "2021-01-31", 2020),
        ("2021-02-01", "2022-01-30", 2021),
        ("2022-01-31", "2023-01-29", 2022),
        ("2023-01-30", "2024-01-28", 2023),
    ];
    let report = |offset: i32| {
        let line = |(start, end, year): &(&str, &str, i32)| {
            let filed: i32 = end[..4].parse().unwrap();
            format!(
                "NetIncomeLoss USD {start} {end} 15143000000 0000354950-{}-000062 10-K {filed}-03-13 {} FY\n",
                filed - 2000,
                year + offset
            )
        };
        selected(&rules, &years.iter().map(line).collect::<String>())
            .periods
            .iter()
            .map(|period| period.fiscal_year)
            .collect::<Vec<_>>()
    };
    // Home Depot stamps the year that ends on 2024-01-28 with 2023, Walmart with 2024.
    assert_eq!(report(0), [2020, 2021, 2022, 2023]);
    assert_eq!(report(1), [2021, 2022, 2023, 2024]);
}

#[test]
fn revenue_of_the_statement_wins_over_zeros_and_stray_totals() {
    let rules = rules();
    let eaton = selected(
        &rules,
        "Revenues USD 2013-01-01 2013-12-31 0 0001551182-14-000011 10-K 2014-02-26 2013 FY
         SalesRevenueNet USD 2013-01-01 2013-12-31 22046000000 0001551182-14-000011 10-K 2014-02-26 2013 FY",
    );
    assert_eq!(
        history(&rules, &eaton, "revenue"),
        [
            "annual 2013 FY 2013-01-01..2013-12-31: 2204600000000/100 2014-02-26 first [concept_conflict]"
        ]
    );
    // A subtotal under the preferred concept in one of four reports loses to the concept used in
    // all four.
    let mut lines = "Revenues USD 2014-01-01 2014-12-31 29400000000 0000080424-15-000001 10-K 2015-02-26 2014 FY\n".to_owned();
    for year in 2013..2017 {
        lines.push_str(&format!(
            "SalesRevenueNet USD {year}-01-01 {year}-12-31 83062000000 0000080424-{}-000001 10-K {}-02-26 {year} FY\n",
            year - 1999,
            year + 1
        ));
    }
    let stray = selected(&rules, &lines);
    let in_2014: Vec<&Observation> = stray
        .observations
        .iter()
        .filter(|seen| !seen.conflicts().is_empty())
        .collect();
    assert_eq!(in_2014.len(), 1);
    assert_eq!(rules.concept(in_2014[0].concept), "us-gaap:SalesRevenueNet");
    assert_eq!(rules.concept(stray.conflicts[0].0), "us-gaap:Revenues");
}

#[test]
fn goods_are_the_revenue_unless_services_are_stated_too() {
    let rules = rules();
    // AMD states its entire revenue as goods. The second company is invented: it states products
    // and services, and a total only in the second report.
    let goods = "SalesRevenueGoodsNet USD 2015-12-27 2016-12-31 4272000000 0000002488-17-000043 10-K 2017-02-21 2016 FY";
    assert_eq!(
        history(&rules, &selected(&rules, goods), "revenue"),
        ["annual 2016 FY 2015-12-27..2016-12-31: 427200000000/100 2017-02-21 first"]
    );
    let apart = selected(
        &rules,
        "SalesRevenueGoodsNet USD 2015-01-01 2015-12-31 700000000 0009900009-16-000001 10-K 2016-02-20 2015 FY
         SalesRevenueServicesNet USD 2015-01-01 2015-12-31 250000000 0009900009-16-000001 10-K 2016-02-20 2015 FY
         SalesRevenueGoodsNet USD 2015-01-01 2015-12-31 700000000 0009900009-17-000001 10-K 2017-02-20 2016 FY
         SalesRevenueServicesNet USD 2015-01-01 2015-12-31 250000000 0009900009-17-000001 10-K 2017-02-20 2016 FY
         Revenues USD 2015-01-01 2015-12-31 960000000 0009900009-17-000001 10-K 2017-02-20 2016 FY
         SalesRevenueGoodsNet USD 2016-01-01 2016-12-31 800000000 0009900009-17-000001 10-K 2017-02-20 2016 FY
         SalesRevenueServicesNet USD 2016-01-01 2016-12-31 200000000 0009900009-17-000001 10-K 2017-02-20 2016 FY
         Revenues USD 2016-01-01 2016-12-31 1010000000 0009900009-17-000001 10-K 2017-02-20 2016 FY",
    );
    assert_eq!(
        history(&rules, &apart, "revenue"),
        [
            "annual 2015 FY 2015-01-01..2015-12-31: 96000000000/100 2017-02-20 first [concept_conflict]",
            "annual 2016 FY 2016-01-01..2016-12-31: 101000000000/100 2017-02-20 first [concept_conflict]",
        ]
    );
    // The 2016 report has no total, and neither part is the revenue.
    let codes: Vec<&str> = apart.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["stated_in_parts", "stated_in_parts"]);
}

#[test]
fn one_period_with_a_start_stated_differently_has_one_history() {
    let rules = rules();
    // Lam Research's 53-week year began on 2012-06-25; the 2015 report states 2012-07-01.
    let lam = selected(
        &rules,
        "NetIncomeLoss USD 2012-06-25 2013-06-30 113879000 0001193125-13-348269 10-K 2013-08-27 2013 FY
         NetIncomeLoss USD 2012-06-25 2013-06-30 113879000 0001193125-14-321759 10-K 2014-08-26 2014 FY
         NetIncomeLoss USD 2012-07-01 2013-06-30 113879000 0001193125-15-290023 10-K 2015-08-13 2015 FY
         NetIncomeLoss USD 2013-07-01 2014-06-29 632289000 0001193125-14-321759 10-K 2014-08-26 2014 FY
         NetIncomeLoss USD 2013-07-01 2014-06-29 632289000 0001193125-15-290023 10-K 2015-08-13 2015 FY",
    );
    assert_eq!(
        history(&rules, &lam, "net_income")[0],
        "annual 2013 FY 2012-06-25..2013-06-30: 11387900000/100 2013-08-27 first, 11387900000/100 2014-08-26 equal, 11387900000/100 2015-08-13 equal [period_start_differs]"
    );
}

#[test]
fn one_year_whose_end_is_stated_a_day_apart_is_one_period() {
    let rules = rules();
    // Goldman Sachs: fiscal year 2008 ended on the last Friday of November or on the last day of
    // November, depending on the report. The same is true of the balance.
    let goldman = selected(
        &rules,
        "NetIncomeLoss USD 2007-12-01 2008-11-28 2322000000 0000950123-10-018464 10-K 2010-03-01 2009 FY
         NetIncomeLoss USD 2008-12-27 2009-12-25 13385000000 0000950123-10-018464 10-K 2010-03-01 2009 FY
         NetIncomeLoss USD 2007-12-01 2008-11-30 2322000000 0000950123-11-020067 10-K 2011-03-01 2010 FY
         NetIncomeLoss USD 2009-12-31 2010-12-31 8354000000 0000950123-11-020067 10-K 2011-03-01 2010 FY
         Assets USD - 2008-11-28 884547000000 0000950123-10-018464 10-K 2010-03-01 2009 FY
         Assets USD - 2008-11-30 884547000000 0000950123-11-020067 10-K 2011-03-01 2010 FY",
    );
    assert_eq!(
        history(&rules, &goldman, "net_income")[0],
        "annual 2008 FY 2007-12-01..2008-11-30: 232200000000/100 2010-03-01 first [off_calendar period_end_differs], 232200000000/100 2011-03-01 equal [off_calendar period_end_differs]"
    );
    assert_eq!(
        history(&rules, &goldman, "total_assets"),
        [
            "annual 2008 FY 2008-11-30: 88454700000000/100 2010-03-01 first [period_end_differs], 88454700000000/100 2011-03-01 equal [period_end_differs]"
        ]
    );
    let rows = values_frame(
        "982",
        &rules,
        &[Source {
            selected: &goldman,
            input: 0,
            member: 3,
            size_bytes: 1_000,
        }],
    )
    .unwrap();
    let stated = rows.column("reported_end").unwrap().date().unwrap();
    assert_eq!(
        stated.physical().iter().flatten().collect::<Vec<_>>(),
        [day("2008-11-28").number(); 2]
    );
    // Both dates of the period come from the latest report. Deere first states years that end on
    // October 31, and then years in weeks. The accession numbers are invented.
    let deere = selected(
        &rules,
        "NetIncomeLoss USD 2014-11-01 2015-10-31 1940000000 0000315189-15-000001 10-K 2015-12-18 2015 FY
         NetIncomeLoss USD 2014-11-01 2015-10-31 1940000000 0000315189-16-000001 10-K 2016-12-19 2016 FY
         NetIncomeLoss USD 2014-11-03 2015-11-01 1940000000 0000315189-17-000001 10-K 2017-12-18 2017 FY
         NetIncomeLoss USD 2015-11-01 2016-10-31 1523900000 0000315189-16-000001 10-K 2016-12-19 2016 FY
         NetIncomeLoss USD 2015-11-02 2016-10-30 1523900000 0000315189-17-000001 10-K 2017-12-18 2017 FY
         NetIncomeLoss USD 2016-10-31 2017-10-29 2159100000 0000315189-17-000001 10-K 2017-12-18 2017 FY",
    );
    let periods: Vec<String> = deere.periods.iter().map(heading).collect();
    assert_eq!(
        periods,
        [
            "annual 2015 FY 2014-11-03..2015-11-01",
            "annual 2016 FY 2015-11-02..2016-10-30",
            "annual 2017 FY 2016-10-31..2017-10-29"
        ]
    );
}

#[test]
fn figure_restated_under_another_concept_is_marked_restated() {
    let rules = rules();
    // Microsoft adopted the new revenue standard in its 2018 report and restated the previous years
    // under its concept.
    let microsoft = selected(
        &rules,
        "SalesRevenueNet USD 2015-07-01 2016-06-30 85320000000 0001193125-16-662209 10-K 2016-07-28 2016 FY
         SalesRevenueNet USD 2015-07-01 2016-06-30 85320000000 0001564590-17-014900 10-K 2017-08-02 2017 FY
         RevenueFromContractWithCustomerExcludingAssessedTax USD 2015-07-01 2016-06-30 91154000000 0001564590-18-019062 10-K 2018-08-03 2018 FY
         SalesRevenueNet USD 2016-07-01 2017-06-30 89950000000 0001564590-17-014900 10-K 2017-08-02 2017 FY
         RevenueFromContractWithCustomerExcludingAssessedTax USD 2016-07-01 2017-06-30 96571000000 0001564590-18-019062 10-K 2018-08-03 2018 FY
         RevenueFromContractWithCustomerExcludingAssessedTax USD 2016-07-01 2017-06-30 96571000000 0001564590-19-027952 10-K 2019-08-01 2019 FY",
    );
    let restated = |period: &Period| {
        microsoft.observations[period.observations()]
            .iter()
            .map(|seen| (seen.change, seen.is_restated))
            .collect::<Vec<_>>()
    };
    let revenue = microsoft.periods.iter().map(restated).collect::<Vec<_>>();
    assert_eq!(
        revenue[0],
        [
            (Change::First, false),
            (Change::Equal, false),
            (Change::ConceptChanged, true)
        ]
    );
    assert_eq!(
        revenue[1],
        [
            (Change::First, false),
            (Change::ConceptChanged, true),
            (Change::Equal, true)
        ]
    );
    let lines = lines_frame(
        "017",
        &rules,
        &[Source {
            selected: &microsoft,
            input: 0,
            member: 3,
            size_bytes: 1_000,
        }],
    )
    .unwrap();
    let restated = lines.column("is_restated").unwrap().bool().unwrap();
    assert_eq!(
        restated.iter().flatten().collect::<Vec<_>>(),
        [false, false, true, false, true, true]
    );
}

#[test]
fn month_between_two_fiscal_calendars_is_a_transition_period() {
    let rules = rules();
    // Workday changed its year end from December to January in 2011.
    let workday = selected(
        &rules,
        "Revenues USD 2010-01-01 2010-12-31 68055000 0001193125-13-122351 10-K 2013-03-22 2012 FY
         Revenues USD 2011-01-01 2011-01-31 7282000 0001193125-13-122351 10-K 2013-03-22 2012 FY
         Revenues USD 2011-02-01 2012-01-31 134427000 0001193125-13-122351 10-K 2013-03-22 2012 FY
         Revenues USD 2012-02-01 2013-01-31 273657000 0001193125-13-122351 10-K 2013-03-22 2012 FY",
    );
    assert_eq!(
        history(&rules, &workday, "revenue"),
        [
            "annual 2010 FY 2010-01-01..2010-12-31: 6805500000/100 2013-03-22 first [off_calendar]",
            "annual 2012 FY 2011-02-01..2012-01-31: 13442700000/100 2013-03-22 first",
            "annual 2013 FY 2012-02-01..2013-01-31: 27365700000/100 2013-03-22 first",
            "transition 2011 TP 2011-01-01..2011-01-31: 728200000/100 2013-03-22 first",
        ]
    );
}

#[test]
fn duration_of_unclassified_length_is_quarantined() {
    let rules = rules();
    let eaton = selected(
        &rules,
        "NetIncomeLoss USD 2012-07-01 2012-09-30 345000000 0001551182-12-000004 10-Q 2012-11-07 2012 Q3
         Revenues USD 2012-05-10 2012-09-30 0 0001551182-12-000004 10-Q 2012-11-07 2012 Q3",
    );
    assert_eq!(eaton.findings.len(), 1);
    assert_eq!(
        (eaton.findings[0].code, eaton.findings[0].end),
        ("unclassified_length", day("2012-09-30"))
    );
}

#[test]
fn figures_rounded_to_billions_are_not_restated() {
    let rules = rules();
    // American Express: the figures have the same scale as the report's other figures.
    let express = selected(
        &rules,
        "NetIncomeLoss USD 2021-04-01 2021-06-30 2280000000 0000004962-21-000042 10-Q 2021-07-23 2021 Q2
         NetIncomeLoss USD 2022-04-01 2022-06-30 1964000000 0000004962-22-000041 10-Q 2022-07-22 2022 Q2
         Assets USD - 2021-06-30 186973000000 0000004962-21-000042 10-Q 2021-07-23 2021 Q2
         Assets USD - 2021-06-30 187000000000 0000004962-22-000041 10-Q 2022-07-22 2022 Q2",
    );
    assert_eq!(
        express
            .observations
            .iter()
            .map(|seen| seen.change)
            .filter(|change| *change == Change::Rounding)
            .count(),
        1
    );
}

#[test]
fn share_counts_belong_to_the_period_of_their_report() {
    let rules = rules();
    let concept = "dei:EntityCommonStockSharesOutstanding shares -";
    let lines = format!(
        "{concept} 2009-10-16 900678473 0001193125-09-214859 10-K 2009-10-27 2009 FY
         {concept} 2009-10-16 900678473 0001193125-10-012091 10-K/A 2010-01-25 2009 FY
         {concept} 2010-10-15 917307099 0001193125-10-238044 10-K 2010-10-27 2010 FY
         {concept} 2011-10-14 929409000000000 0001193125-11-282113 10-K 2011-10-26 2011 FY
         {concept} 2012-10-19 940692000 0001193125-12-444068 10-K 2012-10-31 2012 FY"
    );
    let filings = [
        ("0001193125-09-214859", "2009-09-26"),
        ("0001193125-10-012091", "2009-09-26"),
        ("0001193125-10-238044", "2010-09-25"),
        ("0001193125-11-282113", "2011-09-24"),
        ("0001193125-12-444068", "2012-09-29"),
    ];
    let filing = |(accession, end): &(&str, &str)| Filing {
        accession: accession.parse().unwrap(),
        form: Form::TenK,
        filed: day("2010-01-01"),
        accepted_at: None,
        report_date: Some(day(end)),
    };
    let filings: Vec<Filing> = filings.iter().map(filing).collect();
    let apple = select(
        "320193".parse().unwrap(),
        &company(&rules, &lines),
        &filings,
        &rules,
    );
    assert_eq!(
        history(&rules, &apple, "shares_outstanding"),
        [
            "annual 2009 FY 2009-09-26: 90067847300/100 2009-10-27 first, 90067847300/100 2010-01-25 equal",
            "annual 2010 FY 2010-09-25: 91730709900/100 2010-10-27 first",
            // As for AMD in 2012, the count in millions is multiplied by another million.
            "annual 2011 FY 2011-09-24: 92940900000000000/100 2011-10-26 first [share_count_jump]",
            "annual 2012 FY 2012-09-29: 94069200000/100 2012-10-31 first",
        ]
    );
    assert_eq!(apple.observations[2].as_of, Some(day("2010-10-15")));
    // Without submissions, the report's period is unknown, so the count has no position.
    assert_eq!(selected(&rules, &lines).findings.len(), 5);
}

#[test]
fn unreported_metric_has_a_reason() {
    let rules = rules();
    let reason = |company: &CompanyFacts, metric: &str, series: Series| {
        let selected = select("1326801".parse().unwrap(), company, &[], &rules);
        let missing = selected
            .missing
            .iter()
            .find(|none| rules.measures[none.measure].key == metric && none.series == series);
        missing.map(|none| none.reason)
    };
    // Meta counts shares by class: its cover pages are tagged, but there are no counts without
    // dimensions.
    let annual = "NetIncomeLoss USD 2023-01-01 2023-12-31 39098000000 0001326801-24-000012 10-K 2024-02-02 2023 FY";
    let meta = company(
        &rules,
        &format!(
            "{annual}\ndei:EntityPublicFloat USD - 2023-06-30 637000000000 0001326801-24-000012 10-K 2024-02-02 2023 FY"
        ),
    );
    assert_eq!(
        reason(&meta, "shares_outstanding", Series::Annual),
        Some("multi_class")
    );
    assert_eq!(
        reason(&meta, "shares_outstanding", Series::Quarterly),
        Some("no_periodic_report")
    );
    assert_eq!(
        reason(&meta, "total_liabilities", Series::Annual),
        Some("not_tagged")
    );
    // Invented: goods and services for the same year without a total, and for different years, each
    // with a length outside all bands.
    let goods = "SalesRevenueGoodsNet USD 2015-01-01 2015-12-31 700 0009900009-16-000001 10-K 2016-02-20 2015 FY";
    let services = |days: &str| {
        format!(
            "{goods}\nSalesRevenueServicesNet USD {days} 250 0009900009-16-000001 10-K 2016-02-20 2015 FY"
        )
    };
    let in_parts = company(&rules, &services("2015-01-01 2015-12-31"));
    assert_eq!(
        reason(&in_parts, "revenue", Series::Annual),
        Some("stated_in_parts")
    );
    let unassigned = company(
        &rules,
        &services("2015-01-01 2015-05-31")
            .replace("2015-01-01 2015-12-31", "2015-01-01 2015-08-15"),
    );
    assert_eq!(
        reason(&unassigned, "revenue", Series::Annual),
        Some("unclassified_period")
    );
    assert_eq!(reason(&meta, "net_income", Series::Annual), None);
    // Without a tagged cover page, it is unknown whether the company has several classes.
    assert_eq!(
        reason(
            &company(&rules, annual),
            "shares_outstanding",
            Series::Annual
        ),
        Some("not_tagged")
    );
    let euros = company(
        &rules,
        &format!(
            "{annual}\nAssets EUR - 2023-12-31 1000000 0001326801-24-000012 10-K 2024-02-02 2023 FY"
        ),
    );
    assert_eq!(
        reason(&euros, "total_assets", Series::Annual),
        Some("other_unit")
    );
    let foreign = CompanyFacts {
        taxonomies: vec!["dei".to_owned(), "ifrs-full".to_owned()],
        ..CompanyFacts::default()
    };
    assert_eq!(
        reason(&foreign, "revenue", Series::Annual),
        Some("not_a_10k_filer")
    );
}

#[test]
fn frames_have_a_row_for_each_observation_and_each_missing_series() {
    let rules = rules();
    let apple = selected(
        &rules,
        "NetIncomeLoss USD 2008-09-28 2009-09-26 5704000000 0001193125-09-214859 10-K 2009-10-27 2009 FY
         NetIncomeLoss USD 2008-09-28 2009-09-26 8235000000 0001193125-10-012091 10-K/A 2010-01-25 2009 FY",
    );
    let sources = [Source {
        selected: &apple,
        input: 0,
        member: 3,
        size_bytes: 1_000,
    }];
    let values = values_frame("193", &rules, &sources).unwrap();
    assert_eq!(values.height(), 2 + 15);
    let text = |name: &str, row: usize| {
        values
            .column(name)
            .unwrap()
            .str()
            .unwrap()
            .get(row)
            .map(str::to_owned)
    };
    let ids: Vec<Option<String>> = (0..3).map(|row| text("record_id", row)).collect();
    assert_eq!(
        ids[0].as_deref(),
        Some("sec.financial_value:0000320193:eps_diluted:annual:none")
    );
    let row = (0..17)
        .find(|row| text("change", *row).as_deref() == Some("value"))
        .unwrap();
    assert_eq!(
        text("record_id", row).as_deref(),
        Some(
            "sec.financial_value:0000320193:net_income:2008-09-28..2009-09-26:0001193125-10-012091"
        )
    );
    assert_eq!(text("value", row).as_deref(), Some("8235000000"));
    let lines = lines_frame("193", &rules, &sources).unwrap();
    let texts = |name: &str| {
        lines
            .column(name)
            .unwrap()
            .str()
            .unwrap()
            .iter()
            .flatten()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts("record_id")[0],
        "sec.statement_line:0000320193:income:annual:2008-09-28..2009-09-26:net_income:0001193125-09-214859"
    );
    assert_eq!(texts("value"), ["5704000000", "8235000000"]);
    assert_eq!(
        apple
            .periods
            .iter()
            .map(|period| period.fiscal_period)
            .collect::<Vec<_>>(),
        [FiscalPeriod::Fy]
    );
}

/// Formats one line per period of a measure: the figure that counts, in dollars, the restatement
/// flag, and the changes in all reports.
fn in_effect(rules: &Rules, selected: &Selected, measure: &str) -> Vec<String> {
    let of_measure = selected
        .periods
        .iter()
        .filter(|period| rules.measures[period.measure].key == measure);
    let line = |period: &Period| {
        let observations = &selected.observations[period.observations()];
        let latest = &selected.observations[period.latest()];
        let changes: Vec<&str> = observations.iter().map(|seen| seen.change.name()).collect();
        let restated = if latest.is_restated { " restated" } else { "" };
        format!(
            "{}: {}{restated} of {}",
            heading(period),
            latest.value.0 / Amount::ONE,
            changes.join(" ")
        )
    };
    of_measure.map(line).collect()
}

#[test]
fn equity_with_noncontrolling_interest_never_replaces_the_parents() {
    let rules = rules();
    let (own, all) = (
        "StockholdersEquity USD -",
        "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest USD -",
    );
    // Kimberly-Clark: the 2020 report states only the opening balance of its statement of equity.
    // The reports filed in 2019-07 and 2020-04 state that statement's total column as
    // `StockholdersEquity`.
    let kimberly = selected(
        &rules,
        &format!(
            "NetIncomeLoss USD 2016-01-01 2016-12-31 2166000000 0000055785-17-000017 10-K 2017-02-08 2016 FY
             NetIncomeLoss USD 2019-01-01 2019-03-31 454000000 0000055785-19-000032 10-Q 2019-04-22 2019 Q1
             {own} 2016-12-31 -102000000 0000055785-17-000017 10-K 2017-02-08 2016 FY
             {own} 2016-12-31 -102000000 0000055785-18-000014 10-K 2018-02-08 2017 FY
             {all} 2016-12-31 117000000 0000055785-17-000017 10-K 2017-02-08 2016 FY
             {all} 2016-12-31 117000000 0000055785-18-000014 10-K 2018-02-08 2017 FY
             {all} 2016-12-31 117000000 0000055785-20-000016 10-K 2020-02-13 2019 FY
             {own} 2019-03-31 -305000000 0000055785-19-000032 10-Q 2019-04-22 2019 Q1
             {own} 2019-03-31 -82000000 0000055785-19-000064 10-Q 2019-07-23 2019 Q2
             {own} 2019-03-31 -82000000 0000055785-20-000034 10-Q 2020-04-22 2020 Q1
             {all} 2019-03-31 -82000000 0000055785-19-000032 10-Q 2019-04-22 2019 Q1
             {all} 2019-03-31 -82000000 0000055785-20-000053 10-Q 2020-07-23 2020 Q2"
        ),
    );
    assert_eq!(
        in_effect(&rules, &kimberly, "stockholders_equity"),
        [
            "annual 2016 FY 2016-12-31: -102000000 of first equal other_scope",
            "quarterly 2019 Q1 2019-03-31: -305000000 of first other_scope other_scope other_scope",
        ]
    );
    // The figure with the wider scope comes first and has a warning. The figure with the narrower
    // scope supersedes it without restating it.
    let later = selected(
        &rules,
        &format!(
            "NetIncomeLoss USD 2016-01-01 2016-12-31 2166000000 0000055785-17-000017 10-K 2017-02-08 2016 FY
             {all} 2016-12-31 117000000 0000055785-17-000017 10-K 2017-02-08 2016 FY
             MinorityInterest USD - 2016-12-31 219000000 0000055785-17-000017 10-K 2017-02-08 2016 FY
             {own} 2016-12-31 -102000000 0000055785-18-000014 10-K 2018-02-08 2017 FY"
        ),
    );
    assert_eq!(
        in_effect(&rules, &later, "stockholders_equity"),
        ["annual 2016 FY 2016-12-31: -102000000 of first other_scope"]
    );
    let first = history(&rules, &later, "stockholders_equity").remove(0);
    assert!(
        first.contains("2017-02-08 first [with_noncontrolling_interest], "),
        "{first}"
    );
}

#[test]
fn recast_replaces_a_figure_and_a_rounded_note_does_not() {
    let rules = rules();
    // American Express: a segment note in the 2021 report states billions. Twenty other figures in
    // millions determine the report's scale.
    let note = "0000004962-21-000013 10-K 2021-02-12 2020 FY";
    let others: String = (1..=20)
        .map(|line| {
            format!(
                "Assets USD - 20{:02}-12-31 {}000000 {note}\n",
                21 + line,
                150_000 + 7 * line
            )
        })
        .collect();
    let assets = |value: u64, report: &str| format!("Assets USD - 2018-12-31 {value} {report}\n");
    let income = "NetIncomeLoss USD 2018-01-01 2018-12-31 6921000000 0000004962-19-000018 10-K 2019-02-13 2018 FY\n";
    let first = assets(
        188_602_000_000,
        "0000004962-19-000018 10-K 2019-02-13 2018 FY",
    );
    let amex = selected(
        &rules,
        &format!("{income}{first}{}{others}", assets(189_000_000_000, note)),
    );
    assert_eq!(
        in_effect(&rules, &amex, "total_assets")[0],
        "annual 2018 FY 2018-12-31: 188602000000 of first rounding"
    );
    // A zero is not a balance.
    let zero = selected(
        &rules,
        &format!("{income}{first}{}{others}", assets(0, note)),
    );
    assert_eq!(
        in_effect(&rules, &zero, "total_assets")[0],
        "annual 2018 FY 2018-12-31: 188602000000 of first zero"
    );
    // Thermo Fisher's 2009 capital expenditure was recast from 207.5 to 200.0. The difference is
    // too large to be rounding.
    let recast = "0000097745-12-000010 10-K 2012-02-23 2011 FY";
    let others: String = (1..=20)
        .map(|line| {
            format!(
                "Assets USD - 20{:02}-12-31 {}00000 {recast}\n",
                21 + line,
                150_000 + 7 * line
            )
        })
        .collect();
    let expenditure = "PaymentsToAcquirePropertyPlantAndEquipment USD 2009-01-01 2009-12-31";
    let thermo = selected(
        &rules,
        &format!(
            "NetIncomeLoss USD 2009-01-01 2009-12-31 850300000 0000097745-10-000010 10-K 2010-02-26 2009 FY
             {expenditure} 207500000 0000097745-10-000010 10-K 2010-02-26 2009 FY
             {expenditure} 200000000 {recast}
             {others}"
        ),
    );
    assert_eq!(
        in_effect(&rules, &thermo, "capital_expenditure"),
        ["annual 2009 FY 2009-01-01..2009-12-31: 200000000 restated of first value"]
    );
    // Coca-Cola changed its pension method: the figure changed from 2,797 to 2,800, which ends in
    // zeros but is not a rounding.
    let coke = selected(
        &rules,
        "NetIncomeLoss USD 2011-04-02 2011-07-01 2797000000 0001047469-11-006790 10-Q 2011-08-01 2011 Q2
         NetIncomeLoss USD 2011-01-01 2011-07-01 4697000000 0001047469-11-006790 10-Q 2011-08-01 2011 Q2
         NetIncomeLoss USD 2011-04-03 2011-07-01 2800000000 0000021344-12-000037 10-Q 2012-07-26 2012 Q2
         NetIncomeLoss USD 2011-01-01 2011-07-01 4703000000 0000021344-12-000037 10-Q 2012-07-26 2012 Q2
         NetIncomeLoss USD 2012-03-31 2012-06-29 2788000000 0000021344-12-000037 10-Q 2012-07-26 2012 Q2",
    );
    let quarter = in_effect(&rules, &coke, "net_income")
        .into_iter()
        .find(|line| line.contains("2011 Q2 2011-04"))
        .unwrap();
    assert!(
        quarter.ends_with(": 2800000000 restated of first value"),
        "{quarter}"
    );
}

#[test]
fn concept_with_a_comparative_wins_over_the_concept_of_a_note() {
    let rules = rules();
    // Mastercard, first quarter of 2018: the revenue note states gross revenue under the new
    // concept, for one year only.
    let mastercard = selected(
        &rules,
        "SalesRevenueNet USD 2017-01-01 2017-03-31 2734000000 0001141391-17-000063 10-Q 2017-05-02 2017 Q1
         SalesRevenueNet USD 2017-01-01 2017-03-31 2734000000 0001141391-18-000056 10-Q 2018-05-02 2018 Q1
         SalesRevenueNet USD 2018-01-01 2018-03-31 3580000000 0001141391-18-000056 10-Q 2018-05-02 2018 Q1
         RevenueFromContractWithCustomerExcludingAssessedTax USD 2018-01-01 2018-03-31 5070000000 0001141391-18-000056 10-Q 2018-05-02 2018 Q1
         RevenueFromContractWithCustomerExcludingAssessedTax USD 2018-01-01 2018-03-31 5070000000 0001141391-19-000076 10-Q 2019-04-30 2019 Q1
         Revenues USD 2018-01-01 2018-03-31 3580000000 0001141391-19-000076 10-Q 2019-04-30 2019 Q1
         Revenues USD 2019-01-01 2019-03-31 3889000000 0001141391-19-000076 10-Q 2019-04-30 2019 Q1",
    );
    let quarters = in_effect(&rules, &mastercard, "revenue");
    assert!(
        quarters
            .iter()
            .any(|line| line
                == "quarterly 2018 Q1 2018-01-01..2018-03-31: 3580000000 of first equal"),
        "{quarters:#?}"
    );
}

#[test]
fn share_count_in_millions_is_rejected_if_two_figures_contradict_it() {
    let rules = rules();
    // Motorola states its share count in millions on the quarterly balance sheet, and in full at
    // year end.
    let motorola = selected(
        &rules,
        "CommonStockSharesOutstanding shares - 2009-06-30 2295.4 0000950123-09-038201 10-Q/A 2009-08-26 2009 Q2
         CommonStockSharesOutstanding shares - 2009-12-31 2312100000 0001047469-10-000905 10-K 2010-02-16 2009 FY
         WeightedAverageNumberOfDilutedSharesOutstanding shares 2009-04-01 2009-06-30 2306400000 0000950123-09-038201 10-Q/A 2009-08-26 2009 Q2
         NetIncomeLoss USD 2009-04-01 2009-06-30 26000000 0000950123-09-038201 10-Q/A 2009-08-26 2009 Q2
         NetIncomeLoss USD 2009-01-01 2009-12-31 -51000000 0001047469-10-000905 10-K 2010-02-16 2009 FY",
    );
    assert_eq!(
        history(&rules, &motorola, "shares_outstanding"),
        ["annual 2009 FY 2009-12-31: 231210000000/100 2010-02-16 first [last_resort_concept]"]
    );
    let findings: Vec<&str> = motorola
        .findings
        .iter()
        .map(|finding| finding.code)
        .collect();
    assert_eq!(findings, ["share_count_contradicted"]);
    let measure = rules
        .measures
        .iter()
        .position(|measure| measure.key == "shares_outstanding")
        .unwrap();
    let missing = motorola
        .missing
        .iter()
        .find(|missing| missing.measure == measure)
        .unwrap();
    assert_eq!(
        (missing.series, missing.reason),
        (Series::Quarterly, "share_count_contradicted")
    );
}

#[test]
fn balance_at_the_end_of_a_transition_belongs_to_the_transition() {
    let rules = rules();
    // Goldman Sachs changed its fiscal year at the end of 2008. The next year's report states the
    // comparative balance as of the end of the month.
    let goldman = selected(
        &rules,
        "NetIncomeLoss USD 2007-12-01 2008-11-28 2322000000 0000950123-10-018464 10-K 2010-03-01 2009 FY
         NetIncomeLoss USD 2008-11-29 2008-12-26 -780000000 0000950123-10-018464 10-K 2010-03-01 2009 FY
         NetIncomeLoss USD 2008-12-27 2009-12-31 13385000000 0000950123-10-018464 10-K 2010-03-01 2009 FY
         NetIncomeLoss USD 2009-01-01 2009-12-31 13385000000 0000950123-11-020067 10-K 2011-03-01 2010 FY
         NetIncomeLoss USD 2010-01-01 2010-12-31 8354000000 0000950123-11-020067 10-K 2011-03-01 2010 FY
         Assets USD - 2008-11-28 884547000000 0000950123-10-018464 10-K 2010-03-01 2009 FY
         Assets USD - 2008-11-30 884547000000 0000950123-11-020067 10-K 2011-03-01 2010 FY
         Assets USD - 2008-12-31 1112225000000 0000950123-11-020067 10-K 2011-03-01 2010 FY",
    );
    let assets: Vec<String> = goldman
        .periods
        .iter()
        .filter(|period| rules.measures[period.measure].key == "total_assets")
        .map(heading)
        .collect();
    assert_eq!(
        assets,
        ["annual 2008 FY 2008-11-28", "transition 2008 TP 2008-12-31"]
    );
}

#[test]
fn starts_far_apart_are_one_period_where_reports_state_the_same_figure() {
    let rules = rules();
    // Vertiv, second quarter of 2018: the period starts on 10 April in the first report, and on 1
    // April in the next year's report.
    let vertiv = selected(
        &rules,
        "NetIncomeLoss USD 2018-01-01 2018-06-30 385786 0001213900-18-010164 10-Q 2018-08-07 2018 Q2
         NetIncomeLoss USD 2018-04-10 2018-06-30 386382 0001213900-18-010164 10-Q 2018-08-07 2018 Q2
         NetIncomeLoss USD 2018-04-01 2018-06-30 386382 0001213900-19-014490 10-Q 2019-08-06 2019 Q2
         NetIncomeLoss USD 2019-04-01 2019-06-30 2000000 0001213900-19-014490 10-Q 2019-08-06 2019 Q2
         NetIncomeLoss USD 2018-01-01 2018-12-31 5030748 0001213900-19-004099 10-K 2019-03-13 2018 FY",
    );
    let quarters: Vec<String> = in_effect(&rules, &vertiv, "net_income")
        .into_iter()
        .filter(|line| line.starts_with("quarterly 2018 Q2 2018"))
        .collect();
    assert_eq!(
        quarters,
        ["quarterly 2018 Q2 2018-04-01..2018-06-30: 386382 of first equal"]
    );
}

#[test]
fn stub_period_of_a_predecessor_is_a_transition_period() {
    let rules = rules();
    // Invented: a merger on 9 August, and a report that contains the successor's 53 days and the
    // predecessor's 182 days.
    let merged = selected(
        &rules,
        "NetIncomeLoss USD 2017-01-01 2017-12-31 900 0009900001-18-000001 10-K 2018-03-01 2017 FY
         NetIncomeLoss USD 2018-02-08 2018-08-08 500 0009900001-18-000003 10-Q 2018-11-01 2018 Q3
         NetIncomeLoss USD 2018-08-09 2018-09-30 100 0009900001-18-000003 10-Q 2018-11-01 2018 Q3
         NetIncomeLoss USD 2018-01-01 2018-12-31 700 0009900001-19-000001 10-K 2019-03-01 2018 FY",
    );
    let series: Vec<String> = merged
        .periods
        .iter()
        .filter(|period| rules.measures[period.measure].key == "net_income")
        .map(heading)
        .collect();
    assert!(
        series.contains(&"transition 2018 TP 2018-02-08..2018-08-08".to_owned()),
        "{series:#?}"
    );
}

#[test]
fn liabilities_on_another_line_are_warned() {
    let rules = rules();
    // Open Text, 2009: the `Liabilities` tag is used for "Total long-term liabilities".
    let report = "0001193125-09-180252 10-K 2009-08-21 2009 FY";
    let lines = format!(
        "NetIncomeLoss USD 2008-07-01 2009-06-30 56938000 {report}
         Liabilities USD - 2009-06-30 502044000 {report}
         LiabilitiesCurrent USD - 2009-06-30 318700000 {report}
         StockholdersEquity USD - 2009-06-30 686500000 {report}
         Assets USD - 2009-06-30 1507236000 {report}"
    );
    let warned = history(&rules, &selected(&rules, &lines), "total_liabilities").remove(0);
    assert!(warned.ends_with("first [balance_disagrees]"), "{warned}");
    // Untagged preferred stock between liabilities and equity explains the difference.
    let explained = history(
        &rules,
        &selected(&rules, &lines.replace("502044000", "620000000")),
        "total_liabilities",
    )
    .remove(0);
    assert!(explained.ends_with("first"), "{explained}");
}

#[test]
fn part_of_revenue_is_omitted_where_other_reports_state_the_total() {
    let rules = rules();
    let contract = "RevenueFromContractWithCustomerExcludingAssessedTax USD";
    // American Express: contract fees along with revenue net of interest expense. The 2017
    // comparative contains only the fees.
    let mut lines = format!(
        "{contract} 2017-01-01 2017-03-31 6047000000 0000004962-18-000052 10-Q 2018-04-25 2018 Q1\n"
    );
    for (quarter, (start, end, filed, number)) in [
        ("2018-01-01", "2018-03-31", "2018-04-25", "52"),
        ("2018-04-01", "2018-06-30", "2018-07-24", "95"),
        ("2018-07-01", "2018-09-30", "2018-10-22", "99"),
    ]
    .into_iter()
    .enumerate()
    {
        let report = format!(
            "0000004962-18-0000{number} 10-Q {filed} 2018 Q{}",
            quarter + 1
        );
        lines.push_str(&format!("{contract} {start} {end} 6400000000 {report}\nRevenuesNetOfInterestExpense USD {start} {end} 9718000000 {report}\n"));
    }
    lines.push_str("NetIncomeLoss USD 2017-01-01 2017-12-31 2736000000 0000004962-18-000020 10-K 2018-02-16 2017 FY");
    let amex = selected(&rules, &lines);
    assert!(
        in_effect(&rules, &amex, "revenue")
            .iter()
            .all(|line| !line.contains("2017")),
        "{:#?}",
        in_effect(&rules, &amex, "revenue")
    );
    assert_eq!(
        amex.findings
            .iter()
            .map(|finding| finding.code)
            .collect::<Vec<_>>(),
        ["stated_in_parts"]
    );
}

#[test]
fn filed_report_without_facts_is_listed_as_missing() {
    let rules = rules();
    let filing = |accession: &str, form: &str, filed: &str, end: &str| Filing {
        accession: accession.parse().unwrap(),
        form: Form::from_text(form.as_bytes()),
        filed: day(filed),
        accepted_at: None,
        report_date: Some(day(end)),
    };
    let facts = company(
        &rules,
        "Revenues USD 2024-01-01 2024-12-31 400 0009870001-25-000001 10-K 2025-02-20 2024 FY
         Revenues USD 2025-01-01 2025-03-31 100 0009870001-25-000002 10-Q 2025-04-30 2025 Q1",
    );
    let filings = [
        filing("0009870001-09-000001", "10-K", "2009-02-20", "2008-12-31"),
        filing("0009870001-25-000002", "10-Q", "2025-04-30", "2025-03-31"),
        filing("0009870001-25-000003", "10-Q", "2025-07-31", "2025-06-30"),
    ];
    let selected = select("9870001".parse().unwrap(), &facts, &filings, &rules);
    let revenue = rules
        .measures
        .iter()
        .position(|measure| measure.key == "revenue")
        .unwrap();
    let of_revenue: Vec<_> = selected
        .missing
        .iter()
        .filter(|missing| missing.measure == revenue)
        .collect();
    let [lacking] = of_revenue.as_slice() else {
        panic!("{of_revenue:#?}")
    };
    let filing = lacking.filing.unwrap();
    assert_eq!(
        (
            lacking.reason,
            lacking.series,
            filing.fiscal_year,
            filing.fiscal_period
        ),
        (
            "filed_not_in_archive",
            Series::Quarterly,
            2025,
            FiscalPeriod::Q2
        )
    );
    let of_other = selected
        .missing
        .iter()
        .find(|missing| missing.measure != revenue)
        .unwrap();
    assert_eq!((of_other.reason, of_other.filing), ("not_tagged", None));
}

#[test]
fn wider_of_two_last_resort_concepts_is_the_revenue() {
    let rules = rules();
    let report = "0000065984-09-000179 10-Q 2009-08-07 2009 Q2";
    let entergy = selected(
        &rules,
        &format!(
            "ElectricUtilityRevenue USD 2009-04-01 2009-06-30 1918446000 {report}
             UtilityRevenue USD 2009-04-01 2009-06-30 2520789000 {report}
             NetIncomeLoss USD 2009-04-01 2009-06-30 231809000 {report}
             NetIncomeLoss USD 2008-01-01 2008-12-31 1220566000 0000065984-09-000070 10-K 2009-03-02 2008 FY"
        ),
    );
    assert_eq!(
        in_effect(&rules, &entergy, "revenue"),
        ["quarterly 2009 Q2 2009-04-01..2009-06-30: 2520789000 of first"]
    );
}

#[test]
fn other_names_of_revenue_are_the_reason_for_its_absence() {
    let rules = rules();
    let facts = company(
        &rules,
        "PassengerRevenue USD 2024-01-01 2024-12-31 400 0009870001-25-000001 10-K 2025-02-20 2024 FY
         NetIncomeLoss USD 2024-01-01 2024-12-31 40 0009870001-25-000001 10-K 2025-02-20 2024 FY",
    );
    let selected = select("9870001".parse().unwrap(), &facts, &[], &rules);
    let revenue = rules
        .measures
        .iter()
        .position(|measure| measure.key == "revenue")
        .unwrap();
    let missing = selected
        .missing
        .iter()
        .find(|missing| missing.measure == revenue)
        .unwrap();
    let others: Vec<(&str, i128)> = missing
        .others
        .iter()
        .map(|(concept, value)| (rules.concept(*concept), value.0 / Amount::ONE))
        .collect();
    assert_eq!(
        (missing.reason, others),
        ("other_concept", vec![("us-gaap:PassengerRevenue", 400)])
    );
    let foreign = company(
        &rules,
        "Revenues USD 2024-01-01 2024-12-31 400 0009870001-25-000001 20-F 2025-04-20 2024 FY",
    );
    let selected = select("9870001".parse().unwrap(), &foreign, &[], &rules);
    assert!(
        selected
            .missing
            .iter()
            .all(|missing| missing.reason == "not_a_10k_filer"),
        "{:#?}",
        selected.missing
    );
}
