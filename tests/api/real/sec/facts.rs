//! Compares published figures with the members' own text: each is a fact in that text, in the
//! series and under the label of its dates.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::civil::Date;
use pubdata_core::ids::Digest;
use pubdata_store::Record;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::filings::Listed;
use super::site::Site;
use super::{Row, grouped};

const METRICS: [&str; 8] = [
    "eps_diluted",
    "net_income",
    "operating_cash_flow",
    "revenue",
    "shares_outstanding",
    "stockholders_equity",
    "total_assets",
    "total_liabilities",
];

const ANNUAL: [&str; 4] = ["10-K", "10-K/A", "10-KT", "10-KT/A"];
const QUARTERLY: [&str; 4] = ["10-Q", "10-Q/A", "10-QT", "10-QT/A"];

/// Member of the archive, down to the text of each fact.
#[derive(Deserialize)]
struct Member<'a> {
    #[serde(borrow)]
    facts: BTreeMap<String, BTreeMap<String, Concept<'a>>>,
}

#[derive(Deserialize)]
struct Concept<'a> {
    #[serde(borrow)]
    units: BTreeMap<String, Vec<&'a RawValue>>,
}

/// Fact; its value is the text of the number.
#[derive(Deserialize)]
struct Fact<'a> {
    start: Option<&'a str>,
    end: &'a str,
    #[serde(borrow)]
    val: &'a RawValue,
    accn: &'a str,
    form: &'a str,
    filed: &'a str,
}

impl Fact<'_> {
    /// Returns true for a balance, for a year in an annual report, and for a quarter or a sum of
    /// quarters in a quarterly report.
    fn is_of_its_form(&self) -> bool {
        let days = self.start.map(|start| days(start, self.end));
        let is_year = days.is_none_or(|days| (340..=385).contains(&days));
        let is_quarter = days.is_none_or(|days| matches!(days, 75..=125 | 150..=205 | 235..=290));
        (ANNUAL.contains(&self.form) && is_year) || (QUARTERLY.contains(&self.form) && is_quarter)
    }
}

/// Concept, unit and text of every fact, by its byte position in the member.
fn facts_by_place(member: &str) -> HashMap<u64, (String, String, &str)> {
    let read: Member<'_> = serde_json::from_str(member).unwrap();
    let mut facts = HashMap::new();
    for (taxonomy, concepts) in read.facts {
        for (name, concept) in concepts {
            for (unit, texts) in concept.units {
                for text in texts {
                    let place = text.get().as_ptr() as usize - member.as_ptr() as usize;
                    facts.insert(
                        u64::try_from(place).unwrap(),
                        (format!("{taxonomy}:{name}"), unit.clone(), text.get()),
                    );
                }
            }
        }
    }
    facts
}

/// Checks that every member has its row, and every registrant a figure or a reason for each metric
/// in each series.
pub fn check_members(site: &Site, members: &BTreeMap<String, Record>, rows: &[Row]) {
    assert_eq!(members.len(), site.facts.len());
    let by_cik = grouped(rows, |row| row.cik.as_str());
    for (name, text) in &site.facts {
        let cik = &name[3..13];
        let (record, pointers) = &members[&format!("sec.archive_member:{cik}")];
        assert_eq!(
            (record["member"].as_str(), record["size_bytes"].as_u64()),
            (Some(name.as_str()), Some(text.len() as u64))
        );
        assert_eq!(
            record["member_digest"],
            Digest::of_member(text.as_bytes()).to_string(),
            "{name}"
        );
        assert_eq!(
            pointers[0].snapshot,
            Digest::of_member(text.as_bytes()),
            "{name}"
        );
        let kinds: BTreeSet<(&str, &str)> = by_cik[cik]
            .iter()
            .map(|row| (row.metric.as_str(), row.series.as_str()))
            .collect();
        for metric in METRICS {
            for series in ["annual", "quarterly"] {
                assert!(
                    kinds.contains(&(metric, series)),
                    "{cik} has neither figure nor reason for {metric}, {series}"
                );
            }
        }
    }
    for row in rows {
        assert_ne!(
            row.value.is_some(),
            row.null_reason.is_some(),
            "{}",
            row.record_id
        );
    }
}

/// Checks that each figure equals the fact at its pointer, in every part.
pub fn check_values(site: &Site, rows: &[Row]) {
    let mut checked = 0;
    for (cik, rows) in grouped(rows.iter().filter(|row| row.value.is_some()), |row| {
        row.cik.as_str()
    }) {
        let name = format!("CIK{cik}.json");
        let member = &site.facts[&name];
        let (facts, digest) = (facts_by_place(member), Digest::of_member(member.as_bytes()));
        for row in rows {
            let [pointer] = row.source_pointers.as_slice() else {
                panic!("{row:#?}")
            };
            assert_eq!(
                (
                    pointer.source_id.as_str(),
                    pointer.member.as_ref(),
                    pointer.snapshot
                ),
                ("sec.companyfacts", Some(&name), digest)
            );
            let (concept, unit, text) = facts
                .get(&pointer.offset)
                .unwrap_or_else(|| panic!("no fact at this position: {row:#?}"));
            assert_eq!(text.len() as u64, pointer.length, "{row:#?}");
            let fact: Fact<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(
                (row.concept.as_ref(), &row.unit),
                (Some(concept), unit),
                "{row:#?}"
            );
            assert_eq!(
                row.value.as_deref(),
                Some(plain(fact.val.get())),
                "{row:#?}"
            );
            let of_row = [&row.accession_number, &row.form, &row.filed_date].map(Option::as_deref);
            assert_eq!(
                of_row,
                [fact.accn, fact.form, fact.filed].map(Some),
                "{row:#?}"
            );
            assert_period(row, &fact);
            checked += 1;
        }
    }
    assert!(checked > 30_000, "{checked}");
}

/// Checks that the row has the dates of the fact. A share count has its own day; a start that
/// differs from most reports is marked.
#[track_caller]
fn assert_period(row: &Row, fact: &Fact<'_>) {
    if row.metric == "shares_outstanding" {
        assert_eq!(
            (row.as_of_date.as_deref(), &row.reported_end),
            (Some(fact.end), &None),
            "{row:#?}"
        );
        return;
    }
    let stated = |reported: &Option<String>, period: &Option<String>| {
        reported.clone().or_else(|| period.clone())
    };
    assert_eq!(
        stated(&row.reported_end, &row.period_end).as_deref(),
        Some(fact.end),
        "{row:#?}"
    );
    assert_eq!(
        stated(&row.reported_start, &row.period_start).as_deref(),
        fact.start,
        "{row:#?}"
    );
    for (code, reported, period) in [
        (
            "period_start_differs",
            &row.reported_start,
            &row.period_start,
        ),
        ("period_end_differs", &row.reported_end, &row.period_end),
    ] {
        let Some(reported) = reported else { continue };
        assert!(
            row.warnings.iter().any(|warning| warning == code),
            "{row:#?}"
        );
        let apart = (days(reported, fact.end) - days(period.as_deref().unwrap(), fact.end)).abs();
        assert!(
            (1..=if code == "period_start_differs" {
                20
            } else {
                7
            })
                .contains(&apart),
            "{row:#?}"
        );
    }
}

/// Removes trailing zeros of a fraction.
fn plain(number: &str) -> &str {
    assert!(!number.contains(['e', 'E']), "{number}");
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Days between the two dates, both included.
pub fn days(start: &str, end: &str) -> i32 {
    (end.parse::<Date>().unwrap() - start.parse::<Date>().unwrap()).get_days() + 1
}

/// Checks that only annual and quarterly reports appear, each in its series, and no quarter is
/// longer than a quarter.
pub fn check_series(rows: &[Row]) {
    for row in rows.iter().filter(|row| row.value.is_some()) {
        let form = row.form.as_deref().unwrap();
        let is_in_place = match row.series.as_str() {
            "annual" => ANNUAL.contains(&form),
            "quarterly" => QUARTERLY.contains(&form),
            series => {
                series == "transition" && (ANNUAL.contains(&form) || QUARTERLY.contains(&form))
            }
        };
        assert!(is_in_place, "{row:#?}");
        let (Some(start), Some(end)) = (&row.period_start, &row.period_end) else {
            continue;
        };
        let days = days(start, end);
        match row.series.as_str() {
            "annual" => assert!((340..=385).contains(&days), "{days} days: {row:#?}"),
            "quarterly" if row.is_ytd => {
                assert!((150..=290).contains(&days), "{days} days: {row:#?}");
            }
            "quarterly" => assert!((75..=125).contains(&days), "{days} days: {row:#?}"),
            _ => {}
        }
    }
}

/// Checks that the reports of each period are numbered in filing order, and that the last
/// superseding report is the latest.
pub fn check_observations(rows: &[Row]) {
    let periods = grouped(rows.iter().filter(|row| row.value.is_some()), |row| {
        (
            &row.cik,
            &row.metric,
            &row.series,
            &row.period_start,
            &row.period_end,
        )
    });
    for mut reports in periods.into_values() {
        reports.sort_by_key(|row| row.observation);
        let latest = reports.iter().rposition(|row| row.supersedes).unwrap();
        for (position, row) in reports.iter().enumerate() {
            let place = i64::try_from(position).unwrap() + 1;
            assert_eq!(
                (row.observation, row.is_latest),
                (Some(place), position == latest),
                "{reports:#?}"
            );
            assert_eq!(
                row.change.as_deref() == Some("first"),
                place == 1,
                "{reports:#?}"
            );
        }
        assert!(
            reports.is_sorted_by_key(|row| &row.filed_date),
            "{reports:#?}"
        );
    }
}

/// Checks that every figure that differs from the first report of its period and scope is marked as
/// restated, unless one of the two reports states both. Rounding does not count: a difference below
/// the last nonzero digit of either figure, or below one unit in a report in whole thousands or
/// millions.
pub fn check_restated(rows: &[Row]) {
    let figures = rows.iter().filter(|row| row.value.is_some());
    let amount = |row: &Row| decimal(row.value.as_deref().unwrap());
    let largest = largest_units(rows);
    let (mut exceptions, mut restated) = (Vec::new(), 0);
    for mut reports in grouped(figures, |row| {
        (
            &row.cik,
            &row.metric,
            &row.series,
            &row.period_start,
            &row.period_end,
            row.is_ytd,
        )
    })
    .into_values()
    {
        reports.sort_by_key(|row| row.observation);
        let scope = reports
            .iter()
            .rposition(|row| row.supersedes && row.change.as_deref() == Some("other_scope"))
            .unwrap_or(0);
        let first = reports[scope];
        for row in reports[scope + 1..].iter().filter(|row| row.supersedes) {
            let difference = (amount(row) - amount(first)).abs();
            let unit = if row.unit == "USD/shares" {
                CENT
            } else {
                [first, row]
                    .map(|row| {
                        unit(amount(row)).max(largest[row.accession_number.as_deref().unwrap()])
                    })
                    .into_iter()
                    .max()
                    .unwrap()
            };
            let states = |row: &Row, other: &Row| {
                row.conflicts.iter().any(|conflict| {
                    conflict.split_once('=').unwrap().1 == other.value.as_deref().unwrap()
                })
            };
            let is_other_name =
                row.concept != first.concept && (states(first, row) || states(row, first));
            let is_other =
                difference >= unit && row.as_of_date == first.as_of_date && !is_other_name;
            if row.is_restated && difference == 0 || is_other && !row.is_restated {
                exceptions.push((&row.record_id, &first.value, &row.value, row.is_restated));
            }
            restated += usize::from(is_other && row.is_latest);
        }
    }
    assert!(
        exceptions.is_empty(),
        "{} figures: {exceptions:#?}",
        exceptions.len()
    );
    assert!(
        rows.iter().all(|row| row.supersedes || !row.is_restated),
        "a report that supersedes nothing restates nothing"
    );
    assert!(restated > 1_000, "{restated}");
}

const CENT: i128 = 100_000_000;

/// Decimal in ten-billionths.
fn decimal(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<10}").parse().unwrap()
}

/// Unit of the last nonzero digit; undefined for zero.
fn unit(amount: i128) -> i128 {
    let mut unit = 1;
    while amount != 0 && amount % (unit * 10) == 0 {
        unit *= 10;
    }
    unit
}

/// Reporting unit in ten-billionths: a thousand or a million if at least 19 in 20 dollar figures of
/// a report are whole multiples of it, else one.
fn largest_units(rows: &[Row]) -> HashMap<&str, i128> {
    let figures = rows
        .iter()
        .filter(|row| row.unit == "USD" && row.value.is_some());
    let mut largest: HashMap<&str, i128> = rows
        .iter()
        .filter_map(|row| Some((row.accession_number.as_deref()?, 1)))
        .collect();
    for (report, rows) in grouped(figures, |row| row.accession_number.as_deref().unwrap()) {
        let is_whole = |unit: &i128| {
            rows.iter()
                .filter(|row| decimal(row.value.as_deref().unwrap()) % (unit * CENT * 100) != 0)
                .count()
                * 20
                <= rows.len()
        };
        largest.insert(
            report,
            [1_000_000, 1_000].into_iter().find(is_whole).unwrap_or(1) * CENT * 100,
        );
    }
    largest
}

/// Checks that no two fiscal years of a metric end within a week of each other, and that none
/// appears twice.
pub fn check_years(rows: &[Row]) {
    let annual = rows
        .iter()
        .filter(|row| row.is_latest && row.value.is_some() && row.series == "annual");
    let mut checked = 0;
    for years in grouped(annual, |row| (&row.cik, &row.metric)).into_values() {
        let mut ends: Vec<&str> = years
            .iter()
            .map(|row| row.period_end.as_deref().unwrap())
            .collect();
        ends.sort_unstable();
        for pair in ends.windows(2) {
            assert!(days(pair[0], pair[1]) > 8, "{years:#?}");
            checked += 1;
        }
    }
    assert!(checked > 3_000, "{checked}");
}

/// Checks that a report's figures for its own period are all published, for concepts that their
/// metric takes first.
pub fn check_own_periods(site: &Site, rows: &[Row], listed: &BTreeMap<(String, String), Listed>) {
    const CONCEPTS: [&str; 4] = [
        "us-gaap:Assets",
        "us-gaap:Liabilities",
        "us-gaap:NetIncomeLoss",
        "us-gaap:NetCashProvidedByUsedInOperatingActivities",
    ];
    let mut checked = 0;
    for (cik, rows) in grouped(rows.iter().filter(|row| row.value.is_some()), |row| {
        row.cik.clone()
    }) {
        let published: BTreeSet<u64> = rows
            .iter()
            .map(|row| row.source_pointers[0].offset)
            .collect();
        for (place, (concept, unit, text)) in facts_by_place(&site.facts[&format!("CIK{cik}.json")])
        {
            if unit != "USD" || !CONCEPTS.contains(&concept.as_str()) {
                continue;
            }
            let fact: Fact<'_> = serde_json::from_str(text).unwrap();
            let report_date = listed
                .get(&(cik.clone(), fact.accn.to_owned()))
                .map(|filing| filing.report_date.as_str());
            if report_date == Some(fact.end) && fact.is_of_its_form() {
                assert!(
                    published.contains(&place),
                    "not published: {cik} {concept} {text}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 1_000, "{checked}");
}

/// Checks that a filing's own label is that of its report period, by the filing's report date: no
/// comparative has that label.
pub fn check_labels(rows: &[Row], listed: &BTreeMap<(String, String), Listed>) {
    let figures = rows
        .iter()
        .filter(|row| row.value.is_some() && row.series != "transition");
    let reported = grouped(figures, |row| {
        (
            &row.cik,
            row.accession_number.as_ref().unwrap(),
            &row.metric,
            row.is_ytd,
        )
    });
    let (mut filings, mut comparatives) = (BTreeSet::new(), 0);
    for ((cik, accession, _, _), rows) in reported {
        let Some(report_date) = listed
            .get(&(cik.clone(), accession.clone()))
            .map(|filing| filing.report_date.as_str())
        else {
            continue;
        };
        let label = |row: &&Row| {
            (
                row.fiscal_year,
                row.fiscal_period.clone(),
                row.series.clone(),
            )
        };
        let (own, others): (Vec<&Row>, Vec<&Row>) = rows
            .into_iter()
            .partition(|row| row.period_end.as_deref() == Some(report_date));
        let Some(own_label) = own.first().map(label) else {
            continue;
        };
        assert!(own.len() == 1, "{own:#?}");
        for other in &others {
            assert_ne!(label(other), own_label, "{own:#?} {other:#?}");
        }
        filings.insert((cik, accession));
        comparatives += others.len();
    }
    assert!(
        filings.len() > 300 && comparatives > 2_000,
        "{} filings, {comparatives} comparatives",
        filings.len()
    );
}
