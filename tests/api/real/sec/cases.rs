//! Checks answers about figures that other programs get wrong: each case states the value on the
//! face of the statement, and its position.

use serde::Deserialize;
use serde_json::Value;

use crate::real::server::Server;
use pubdata_testing::{Place, copy_folder, shared_data};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    cik: Option<u64>,
    metric: Option<String>,
    period: Option<String>,
    period_start: Option<String>,
    period_end: Option<String>,
    is_ytd: Option<bool>,
    known_at: Option<String>,
    compare: Option<Compare>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Compare {
    metric: String,
    period: String,
    ciks: Vec<u64>,
    fiscal_year: i32,
    fiscal_period: Option<String>,
    cik: u64,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Expect {
    value: Option<f64>,
    concept: Option<String>,
    restated: Option<bool>,
    first: Option<f64>,
    null_or_warned: Option<Value>,
    #[serde(default)]
    bad_warnings: Vec<String>,
    #[serde(default)]
    not_warned: Vec<String>,
    no_row_of_year: Option<i32>,
    value_or_reason: Option<f64>,
    #[serde(default)]
    reason_not: Vec<String>,
    reason: Option<String>,
    null_reason: Option<String>,
}

impl Case {
    /// The series of the case, and its values of the period.
    async fn series(&self, server: &Server) -> (Value, Vec<Value>) {
        let (cik, metric, period) = (
            self.cik.unwrap(),
            self.metric.as_ref().unwrap(),
            self.period.as_ref().unwrap(),
        );
        let known_at = self
            .known_at
            .as_ref()
            .map(|day| format!("&known_at={day}"))
            .unwrap_or_default();
        let path = format!(
            "/v1/sec/companies/{cik}/financials?metric={metric}&period={period}&include=history{known_at}"
        );
        let series = server.ask(&path, None).await["data"]["series"][0].take();
        let is_meant = |value: &&Value| {
            value["period_end"].as_str() == self.period_end.as_deref()
                && self
                    .period_start
                    .as_ref()
                    .is_none_or(|start| value["period_start"] == start.as_str())
                && self.is_ytd.is_none_or(|is_ytd| value["is_ytd"] == is_ytd)
        };
        let values = series["values"]
            .as_array()
            .unwrap()
            .iter()
            .filter(is_meant)
            .cloned()
            .collect();
        (series, values)
    }

    /// Value that a comparison shows for the case's company.
    async fn compared(&self, compare: &Compare, server: &Server) -> Vec<Value> {
        let ciks = compare
            .ciks
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(",");
        let Compare {
            metric,
            period,
            fiscal_year,
            ..
        } = compare;
        let path = format!(
            "/v1/sec/financials/compare?metric={metric}&period={period}&ciks={ciks}&fiscal_year_from={fiscal_year}&fiscal_year_to={fiscal_year}"
        );
        let answer = server.ask(&path, None).await;
        let periods = answer["data"]["periods"].as_array().unwrap();
        let is_meant = |period: &&Value| {
            compare
                .fiscal_period
                .as_ref()
                .is_none_or(|fiscal_period| period["fiscal_period"] == fiscal_period.as_str())
        };
        let cik = format!("{:010}", compare.cik);
        let of_company = |period: &Value| {
            period["values"]
                .as_array()
                .unwrap()
                .iter()
                .find(|value| value["cik"] == cik.as_str())
                .cloned()
        };
        periods
            .iter()
            .filter(is_meant)
            .filter_map(of_company)
            .collect()
    }

    /// Differences from the expected values.
    fn differences(&self, series: &Value, values: &[Value]) -> Vec<String> {
        let expect = &self.expect;
        let mut differences = Vec::new();
        let mut check = |is_right: bool, what: &str| {
            differences
                .extend((!is_right).then(|| {
                    format!("{}: {what}: {values:#?} {}", self.id, series["null_reason"])
                }));
        };
        if let Some(year) = expect.no_row_of_year {
            check(
                values.iter().all(|value| value["fiscal_year"] != year),
                "no row of the year",
            );
        }
        if let Some(value) = expect.value {
            check(
                values.len() == 1 && values[0]["value"].as_f64() == Some(value),
                "value",
            );
        }
        if let Some(concept) = &expect.concept {
            check(
                values
                    .iter()
                    .all(|value| value["concept"] == format!("us-gaap:{concept}")),
                "concept",
            );
        }
        if let Some(restated) = expect.restated {
            check(
                values.iter().all(|value| value["is_restated"] == restated),
                "restated",
            );
        }
        if let Some(first) = expect.first {
            check(
                values
                    .iter()
                    .all(|value| value["first_reported"]["value"].as_f64() == Some(first)),
                "first",
            );
            check(
                values
                    .iter()
                    .all(|value| value["first_reported"]["record_id"].is_string()),
                "record of the first",
            );
        }
        if expect.null_or_warned.is_some() {
            let is_warned = |value: &Value| {
                warnings_of(value)
                    .iter()
                    .any(|warning| !expect.bad_warnings.contains(warning))
            };
            check(values.iter().all(is_warned), "null or warned");
        }
        check(
            values.iter().all(|value| {
                warnings_of(value)
                    .iter()
                    .all(|warning| !expect.not_warned.contains(warning))
            }),
            "not warned",
        );
        if let Some(value) = expect.value_or_reason {
            let reason = series["null_reason"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let is_value = values.len() == 1 && values[0]["value"].as_f64() == Some(value);
            check(
                is_value || (!reason.is_empty() && !expect.reason_not.contains(&reason)),
                "value or reason",
            );
        }
        if let Some(reason) = &expect.reason {
            check(
                values.is_empty() && series["null_reason"] == reason.as_str(),
                "reason",
            );
        }
        if let Some(reason) = &expect.null_reason {
            check(
                values.len() == 1 && values[0]["null_reason"] == reason.as_str(),
                "reason of the period",
            );
        }
        differences
    }
}

fn warnings_of(value: &Value) -> Vec<String> {
    value["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|warning| warning.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_equal_the_face_of_the_statement() {
    let Some(found) = shared_data("found/sec") else {
        return;
    };
    let Cases { cases } =
        serde_json::from_slice(&std::fs::read(found.join("cases.json")).unwrap()).unwrap();
    let place = Place::with(&["no.such.fixtures"]);
    std::fs::remove_file(place.home().join("pubdata.toml")).unwrap();
    copy_folder(&found.join("mirror"), &place.mirror());
    let server = Server::start(place, &["sec.submissions", "sec.financials"]).await;
    let mut differences = Vec::new();
    for case in &cases {
        let (series, values) = match &case.compare {
            Some(compare) => (Value::Null, case.compared(compare, &server).await),
            None => case.series(&server).await,
        };
        differences.extend(case.differences(&series, &values));
    }
    assert!(
        cases.len() >= 25 && differences.is_empty(),
        "{} of {}: {}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}
