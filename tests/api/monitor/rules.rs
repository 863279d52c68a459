//! Tests the shipped rules and dashboard: Prometheus' own tool runs the rules, and every metric
//! they query is exported.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{numbers, promtool};
use crate::serve::Served;
use pubdata_testing::{Place, project};

fn text_of(path: &str) -> String {
    std::fs::read_to_string(project("integrations").join(path)).unwrap()
}

/// Names of our metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    words
        .filter(|word| word.starts_with("pubdata_"))
        .map(str::to_owned)
        .collect()
}

/// Expressions of the alert rules: the text between `expr:` and `for:`.
fn expressions_of_rules() -> String {
    text_of("prometheus/rules.yml")
        .split("expr:")
        .skip(1)
        .map(|rest| rest.split(" for:").next().unwrap().to_owned())
        .collect()
}

fn expressions_of_dashboard() -> String {
    fn collect(value: &Value, found: &mut String) {
        match value {
            Value::Object(object) => object.iter().for_each(|(key, value)| match value {
                Value::String(text) if key == "expr" || key == "query" => {
                    found.extend([text.as_str(), "\n"]);
                }
                value => collect(value, found),
            }),
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let mut found = String::new();
    collect(
        &serde_json::from_str(&text_of("grafana/dashboard.json")).unwrap(),
        &mut found,
    );
    found
}

#[test]
fn alert_rules_are_valid_and_fire_and_resolve_over_a_week() {
    for arguments in [
        ["check", "rules", "rules.yml"],
        ["test", "rules", "rules.test.yml"],
        ["test", "rules", "rules.server.test.yml"],
    ] {
        let Some(said) = promtool(&arguments, "") else {
            return;
        };
        assert!(
            said.status.success(),
            "{}{}",
            String::from_utf8_lossy(&said.stdout),
            String::from_utf8_lossy(&said.stderr)
        );
    }
}

#[test]
fn every_alert_is_tested_and_has_a_severity_and_a_command() {
    let (rules, tests) = (
        text_of("prometheus/rules.yml"),
        text_of("prometheus/rules.test.yml") + &text_of("prometheus/rules.server.test.yml"),
    );
    let operations = std::fs::read_to_string(project("docs/OPERATIONS.md")).unwrap();
    let alerts: Vec<&str> = rules.split("- alert: ").skip(1).collect();
    assert!(alerts.len() >= 10);
    for alert in alerts {
        let name = alert.lines().next().unwrap();
        let tried: Vec<&str> = tests
            .split("alertname: ")
            .filter(|test| test.lines().next() == Some(name))
            .collect();
        assert!(
            tried.iter().any(|test| test.contains("exp_labels")),
            "{name} fires in no test"
        );
        assert!(
            tried.last().unwrap().contains("exp_alerts: []"),
            "{name} resolves in no test"
        );
        for part in ["for: ", "severity: ", "summary: ", "command: "] {
            assert!(alert.contains(part), "{name} has no `{part}`");
        }
        assert!(
            operations.contains(&format!("`{name}`")),
            "docs/OPERATIONS.md does not describe {name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queried_metrics_are_exported_and_exported_ones_documented() {
    let served = Served::start(Place::published()).await;
    // A request, so that its counter exists.
    served.get("/healthz").await;
    let text = String::from_utf8(served.get("/metrics").await.bytes).unwrap();
    let reported: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(str::to_owned)
        .collect();
    let is_told = |name: &String| {
        let family = ["_bucket", "_count", "_sum", "_total"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(name);
        reported.contains(name) || reported.contains(family)
    };
    for (what, expressions) in [
        ("rules", expressions_of_rules()),
        ("dashboard", expressions_of_dashboard()),
    ] {
        let requested = names(&expressions);
        assert!(requested.len() > 8, "{what}: {requested:?}");
        assert_eq!(
            requested
                .iter()
                .filter(|name| !is_told(name))
                .collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "{what} query metrics that are not exported"
        );
    }
    let operations = std::fs::read_to_string(project("docs/OPERATIONS.md")).unwrap();
    assert_eq!(
        reported
            .iter()
            .filter(|name| !operations.contains(name.as_str()))
            .collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "docs/OPERATIONS.md"
    );
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    let outcomes = numbers(&text, "pubdata_task_outcome{");
    assert!(
        outcomes.len() > 40 && outcomes.values().all(|value| *value == 1.0),
        "{outcomes:?}"
    );
}
