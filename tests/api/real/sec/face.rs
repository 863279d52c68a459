//! Compares metrics with the face of the statements: the SEC's Financial Statement Data Sets give
//! the tag and the label of each line of a report. The test builds members of the archive of facts
//! from their numbers, publishes them, and compares them with the lines that a reader would see.
//! `face.md` lists the differences with their reasons.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::process::Command;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::{Row, row};
use pubdata_testing::{folders, member_bytes, packed, project, rows_below, shared_data};

/// Line of a statement that corresponds to a metric.
struct Line {
    metric: &'static str,
    /// As in the table of lines: balance sheet, income statement, cash flows.
    statement: &'static str,
    /// Labels in lower case without punctuation, the most specific first.
    labels: &'static [&'static str],
    /// Words in labels and tags that exclude a line.
    without: &'static str,
}

const LINES: [Line; 8] = [
    Line {
        metric: "total_assets",
        statement: "BS",
        labels: &["^total assets$"],
        without: "^$",
    },
    Line {
        metric: "total_liabilities",
        statement: "BS",
        labels: &["^total liabilities$"],
        without: "^$",
    },
    Line {
        metric: "stockholders_equity",
        statement: "BS",
        labels: &[
            "^total [a-z ]*(stockholders|shareholders|shareowners)( equity)?( deficit)?( equity)?( investment)?$",
            "^total equity( deficit)?$",
        ],
        without: "liabilities|common|preferred",
    },
    Line {
        metric: "net_income",
        statement: "IS",
        labels: &[
            "^net (income|earnings|loss|income loss|loss income|earnings loss) attributable to .*$",
            "^(consolidated )?net (income|earnings|loss|income loss|loss income|earnings loss)$",
        ],
        without: "noncontrolling|minority|common|per |share|before|prior|Percent",
    },
    Line {
        metric: "revenue",
        statement: "IS",
        labels: &[
            "^total (net |operating )?(revenues?|sales|net sales|sales and revenues?|net sales and revenues?)$",
            "^(revenues?|sales|net sales|net revenues?|operating revenues?|revenues? net|sales and revenues|net operating revenues)( total)?$",
        ],
        without: "Percent",
    },
    Line {
        metric: "operating_cash_flow",
        statement: "CF",
        labels: &[
            "^(total )?net cash( flows?)?( provided| used| from| for| in| by)+ (operating activities|operations)( total)?$",
        ],
        without: "Discontinued",
    },
    Line {
        metric: "eps_diluted",
        statement: "IS",
        labels: &["diluted"],
        without: "weighted|average|shares|continuing|discontinued|extraordinary|before|cumulative|dividend|Shares",
    },
    // Mostly in the parentheses of the balance sheet: the data sets leave the cover page out.
    Line {
        metric: "shares_outstanding",
        statement: "BS",
        labels: &[
            "^(common )?(stock )?shares outstanding$",
            "shares outstanding",
        ],
        without: "treasury|preferred|issued|authorized|Treasury|Preferred|Issued|Authorized|Value",
    },
];

/// Row of one of the tables.
type Cells = HashMap<String, String>;

fn table(text: &str) -> Vec<Cells> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    lines
        .map(|line| {
            header
                .iter()
                .zip(line.split('\t'))
                .map(|(name, cell)| ((*name).to_owned(), cell.to_owned()))
                .collect()
        })
        .collect()
}

fn iso(day: &str) -> String {
    format!("{}-{}-{}", &day[..4], &day[4..6], &day[6..])
}

/// First day of the quarters that end in the month of a day.
fn start(day: &str, quarters: i32) -> String {
    let (year, month): (i32, i32) = (day[..4].parse().unwrap(), day[4..6].parse().unwrap());
    let months = year * 12 + month - 3 * quarters;
    format!(
        "{}-{:02}-01",
        months.div_euclid(12),
        months.rem_euclid(12) + 1
    )
}

/// Data sets of a quarter.
struct DataSets {
    /// Periodic reports by accession number.
    reports: BTreeMap<String, Cells>,
    /// Figures of the whole registrant by report, tag, last day and number of quarters.
    numbers: BTreeMap<(String, String, String, i32), (String, String)>,
    /// Lines by report.
    lines: BTreeMap<String, Vec<Cells>>,
}

impl DataSets {
    fn read(texts: &BTreeMap<String, String>) -> Self {
        let is_periodic = |report: &Cells| {
            report["form"].starts_with("10-Q") || report["form"].starts_with("10-K")
        };
        let reports: BTreeMap<String, Cells> = table(&texts["sub.txt"])
            .into_iter()
            .filter(is_periodic)
            .map(|report| (report["adsh"].clone(), report))
            .collect();
        let mut numbers = BTreeMap::new();
        for number in table(&texts["num.txt"]) {
            let is_whole = number["coreg"].is_empty()
                && number["segments"].is_empty()
                && !number["value"].is_empty();
            if is_whole
                && reports.contains_key(&number["adsh"])
                && number["version"].starts_with("us-gaap")
            {
                let key = (
                    number["adsh"].clone(),
                    number["tag"].clone(),
                    number["ddate"].clone(),
                    number["qtrs"].parse().unwrap(),
                );
                let value = number["value"].trim_end_matches('0').trim_end_matches('.');
                numbers.insert(
                    key,
                    (
                        number["uom"].clone(),
                        if value.is_empty() { "0" } else { value }.to_owned(),
                    ),
                );
            }
        }
        let mut lines: BTreeMap<String, Vec<Cells>> = BTreeMap::new();
        for line in table(&texts["pre.txt"]) {
            lines.entry(line["adsh"].clone()).or_default().push(line);
        }
        Self {
            reports,
            numbers,
            lines,
        }
    }

    /// Members of the archives of facts and of submissions.
    fn members(&self) -> [BTreeMap<String, String>; 2] {
        let mut facts: BTreeMap<&str, BTreeMap<&str, BTreeMap<&str, Vec<Value>>>> = BTreeMap::new();
        for ((accession, tag, day, quarters), (unit, value)) in &self.numbers {
            let report = &self.reports[accession];
            let mut fact = Map::new();
            if *quarters > 0 {
                fact.insert("start".to_owned(), json!(start(day, *quarters)));
            }
            fact.insert("end".to_owned(), json!(iso(day)));
            fact.insert("val".to_owned(), serde_json::from_str(value).unwrap());
            let rest = [
                ("accn", json!(accession)),
                ("fy", json!(report["fy"].parse::<i32>().ok())),
                ("fp", json!(report["fp"])),
            ];
            fact.extend(rest.map(|(key, value)| (key.to_owned(), value)));
            fact.extend(
                [
                    ("form", json!(report["form"])),
                    ("filed", json!(iso(&report["filed"]))),
                ]
                .map(|(key, value)| (key.to_owned(), value)),
            );
            let is_per_share = [
                "PerShare",
                "EarningsPer",
                "PerBasic",
                "PerDiluted",
                "PerOutstanding",
            ]
            .iter()
            .any(|part| tag.contains(part));
            let unit = if unit == "USD" && is_per_share {
                "USD/shares"
            } else {
                unit
            };
            facts
                .entry(&report["cik"])
                .or_default()
                .entry(tag)
                .or_default()
                .entry(unit)
                .or_default()
                .push(Value::Object(fact));
        }
        let name = |cik: &str| format!("CIK{cik:0>10}.json");
        let member = |(cik, concepts): (&str, BTreeMap<&str, BTreeMap<&str, Vec<Value>>>)| {
            let concepts: Map<String, Value> = concepts
                .into_iter()
                .map(|(tag, units)| {
                    (
                        tag.to_owned(),
                        json!({"label": null, "description": null, "units": units}),
                    )
                })
                .collect();
            (name(cik), json!({"cik": cik.parse::<u64>().unwrap(), "entityName": "", "facts": {"us-gaap": concepts}}).to_string())
        };
        let facts: BTreeMap<String, String> = facts.into_iter().map(member).collect();
        let mut filings: BTreeMap<&str, Vec<&Cells>> = BTreeMap::new();
        for report in self.reports.values() {
            filings.entry(&report["cik"]).or_default().push(report);
        }
        let submissions = filings.into_iter().map(|(cik, reports)| {
            let column = |cell: &dyn Fn(&Cells) -> String| reports.iter().map(|report| json!(cell(report))).collect::<Vec<Value>>();
            let blank = column(&|_| String::new());
            let zeros = vec![json!(0); reports.len()];
            let recent = json!({
                "accessionNumber": column(&|report| report["adsh"].clone()),
                "filingDate": column(&|report| iso(&report["filed"])),
                "reportDate": column(&|report| iso(&report["period"])),
                "acceptanceDateTime": column(&|report| format!("{}.000Z", report["accepted"][..19].replace(' ', "T"))),
                "act": blank, "form": column(&|report| report["form"].clone()), "fileNumber": blank, "filmNumber": blank, "items": blank,
                "core_type": blank, "size": zeros, "isXBRL": zeros, "isInlineXBRL": zeros, "primaryDocument": blank, "primaryDocDescription": blank,
            });
            let text = json!({
                "cik": format!("{cik:0>10}"), "entityType": "operating", "sic": "", "sicDescription": "", "name": reports[0]["name"], "tickers": [],
                "exchanges": [], "ein": null, "category": "", "fiscalYearEnd": reports[0]["fye"], "stateOfIncorporation": "", "formerNames": [],
                "filings": {"recent": recent, "files": []},
            });
            (name(cik), text.to_string())
        });
        [facts.clone(), submissions.collect()]
    }

    /// Tag of a metric's line in a report, with its taxonomy and label. Returns none if no label
    /// identifies the line, or if several tags match.
    fn face(&self, accession: &str, line: &Line) -> Option<(String, String, String)> {
        let marks = Regex::new("[^a-z ]").unwrap();
        let without = Regex::new(line.without).unwrap();
        let label = |cells: &Cells| {
            marks
                .replace_all(&cells["plabel"].to_lowercase(), "")
                .trim()
                .to_owned()
        };
        let of_statement = self.lines.get(accession)?.iter().filter(|cells| {
            cells["stmt"] == line.statement
                && (cells["inpth"] == "0" || line.metric == "shares_outstanding")
        });
        let of_statement: Vec<(String, &Cells)> =
            of_statement.map(|cells| (label(cells), cells)).collect();
        // The company's own share of net income follows that of noncontrolling interests; its own
        // equity precedes theirs.
        let of_others = Regex::new("noncontrolling|minority").unwrap();
        let position = |cells: &Cells| cells["line"].parse::<u32>().unwrap();
        let theirs = of_statement
            .iter()
            .filter(|(text, _)| of_others.is_match(text))
            .map(|(_, cells)| position(cells))
            .min();
        let is_own = |cells: &Cells| match (line.metric, theirs) {
            ("net_income", Some(theirs)) => position(cells) > theirs,
            ("stockholders_equity", Some(theirs)) => position(cells) < theirs,
            _ => true,
        };
        let is_meant = |text: &str, cells: &Cells| {
            !without.is_match(text) && !without.is_match(&cells["tag"]) && is_own(cells)
        };
        line.labels
            .iter()
            .find_map(|pattern| {
                let pattern = Regex::new(pattern).unwrap();
                let found = of_statement
                    .iter()
                    .filter(|(text, cells)| pattern.is_match(text) && is_meant(text, cells));
                let found: BTreeMap<(&str, &str), &str> = found
                    .map(|(text, cells)| {
                        (
                            (cells["tag"].as_str(), cells["version"].as_str()),
                            text.as_str(),
                        )
                    })
                    .collect();
                (!found.is_empty()).then_some(found)
            })
            .filter(|found| found.len() == 1)?
            .into_iter()
            .next()
            .map(|((tag, version), text)| (tag.to_owned(), version.to_owned(), text.to_owned()))
    }
}

/// Published values for a period in a report.
fn published<'r>(
    rows: &[&'r Row],
    accession: &str,
    line: &Line,
    end: &str,
    quarters: i32,
) -> Vec<&'r Row> {
    let is_long = |row: &Row| match (&row.period_start, quarters) {
        (None, _) => quarters == 0,
        (Some(start), _) => {
            super::facts::days(start, row.period_end.as_deref().unwrap()) / 80 == quarters.min(4)
                || (quarters == 4 && super::facts::days(start, end) > 300)
        }
    };
    let of_line = rows.iter().copied().filter(|row| {
        row.metric == line.metric
            && row.accession_number.as_deref() == Some(accession)
            && row.value.is_some()
    });
    of_line
        .filter(|row| {
            row.reported_end
                .as_ref()
                .or(row.period_end.as_ref())
                .map(String::as_str)
                == Some(end)
                && is_long(row)
        })
        .collect()
}

#[test]
fn metrics_equal_the_face_of_the_statements() {
    let Some(archive) = shared_data("sec/fsds/2009q3.zip") else {
        return;
    };
    let texts = member_bytes(&archive)
        .into_iter()
        .filter(|(name, _)| name.ends_with(".txt"));
    let sets = DataSets::read(
        &texts
            .map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned()))
            .collect(),
    );
    let folder = tempfile::tempdir().unwrap();
    let (mirror, home) = (folder.path().join("mirror"), folder.path().join("home"));
    let [facts, submissions] = sets.members();
    let put = |url: &str, bytes: &[u8]| {
        let path = mirror.join(url);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put(".pubdata-mirror", b"sample = true\n");
    put(
        "www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip",
        &packed(&facts),
    );
    put(
        "www.sec.gov/Archives/edgar/daily-index/bulkdata/submissions.zip",
        &packed(&submissions),
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    let run = command
        .args(["run", "sec.financials", "--mirror"])
        .arg(&mirror)
        .arg("--home")
        .arg(&home)
        .output()
        .unwrap();
    assert!(matches!(run.status.code(), Some(0 | 10)), "{run:?}");

    let release = folders(&home.join("releases")).pop().unwrap();
    let rows: Vec<Row> = rows_below(&release.join("sec.financial_value"))
        .into_values()
        .map(row)
        .collect();
    let mut by_cik: HashMap<&str, Vec<&Row>> = HashMap::new();
    rows.iter().for_each(|row| {
        by_cik
            .entry(row.cik.trim_start_matches('0'))
            .or_default()
            .push(row);
    });
    let mut compared: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut differences: BTreeSet<String> = BTreeSet::new();
    for (accession, report) in &sets.reports {
        let of_company = by_cik
            .get(report["cik"].as_str())
            .map_or(&[][..], Vec::as_slice);
        for line in &LINES {
            let Some((tag, version, label)) = sets.face(accession, line) else {
                continue;
            };
            let is_standard = version.starts_with("us-gaap");
            let of_period = (0..=4).filter_map(|quarters| {
                let key = (
                    accession.clone(),
                    tag.clone(),
                    report["period"].clone(),
                    quarters,
                );
                Some((
                    quarters,
                    is_standard
                        .then(|| sets.numbers.get(&key))
                        .flatten()?
                        .1
                        .clone(),
                ))
            });
            let mut stated: Vec<(i32, String)> = of_period.collect();
            if !is_standard {
                stated.push((if line.statement == "BS" { 0 } else { 1 }, "?".to_owned()));
            }
            for (quarters, value) in stated {
                let ours = published(
                    of_company,
                    accession,
                    line,
                    &iso(&report["period"]),
                    quarters,
                );
                let said = ours
                    .iter()
                    .map(|row| {
                        format!(
                            "{} {}",
                            row.concept.as_deref().unwrap(),
                            row.value.as_deref().unwrap()
                        )
                    })
                    .collect::<Vec<_>>()
                    .join(", ");
                let counts = compared.entry(line.metric).or_default();
                // A line under a company's own tag is not in the archive, so no figure exists to
                // compare.
                if value == "?" && ours.is_empty() {
                    continue;
                }
                counts[1] += 1;
                if ours.len() == 1 && ours[0].value.as_deref() == Some(value.as_str()) {
                    counts[0] += 1;
                } else {
                    let name = &report["name"];
                    let metric = line.metric;
                    differences.insert(format!("| {accession} | {name} | {metric} | {quarters} | {label} | {tag} | {value} | {said}"));
                }
            }
        }
    }
    let listed = std::fs::read_to_string(project("tests/api/real/sec/face.md")).unwrap();
    let rows = listed.lines().filter(|line| line.starts_with("| 0"));
    let explained: HashSet<&str> = rows
        .filter_map(|line| {
            line.trim_end_matches(" |")
                .rsplit_once(" | ")
                .map(|(row, _)| row)
        })
        .collect();
    let mut summary = String::new();
    for (metric, [equal, all]) in &compared {
        writeln!(summary, "{metric}: {equal} of {all}").unwrap();
    }
    let found: HashSet<&str> = differences.iter().map(String::as_str).collect();
    for row in differences
        .iter()
        .filter(|row| !explained.contains(row.as_str()))
    {
        writeln!(summary, "not explained: {row}").unwrap();
    }
    for row in explained.iter().filter(|row| !found.contains(*row)) {
        writeln!(summary, "no longer so: {row}").unwrap();
    }
    eprintln!("{summary}");
    assert!(
        !summary.contains("not explained: ") && !summary.contains("no longer so: "),
        "{summary}"
    );
    assert!(
        compared
            .values()
            .all(|[equal, all]| *all > 100 && equal * 100 >= all * 96),
        "{summary}"
    );
}
