//! Reads and writes the append-only file that records what operators reviewed and accepted. The
//! last line for an id and a rule takes precedence.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Home, lines};
use pubdata_core::error::Result;

/// Format of the lines in `accepted.jsonl`; readers reject newer formats. Format 2 adds rules of
/// individual tasks that are accepted for one run.
pub const ACCEPTANCE_FORMAT_VERSION: u32 = 2;

/// A decision by an operator: an acceptance, or the withdrawal of an acceptance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acceptance {
    /// Format of the line in `accepted.jsonl`.
    #[schemars(extend("enum" = [1, ACCEPTANCE_FORMAT_VERSION]))]
    pub format_version: u32,
    /// Id of a task, pipeline, source or dataset.
    pub id: String,
    #[serde(flatten)]
    #[schemars(with = "AcceptedMembers")]
    pub what: Accepted,
    /// Name of the operator who made the decision.
    pub by: String,
    /// Time of the decision, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// The last day on which the acceptance is valid, `YYYY-MM-DD`. Absent if the acceptance is
    /// valid for one run, or until it is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Date")]
    pub until: Option<String>,
    /// True if this line withdraws an earlier acceptance. Absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_withdrawn: bool,
}

/// Property of a source, pipeline or dataset that an operator accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Accepted {
    /// The layout of the files, which was known only from documentation before.
    Layout,
    /// The result that a rule reports. Without a last day, the acceptance is valid for one run.
    Rule { rule: String },
    /// A loss of records compared with the last release. Used only in format 1.
    Shrink,
    /// The host key of the source's server.
    HostKey { fingerprint: String },
}

/// The fields of all variants of [`Accepted`], for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct AcceptedMembers {
    /// Kind of acceptance. `rule`: the result that a rule reports; `shrink`: a loss of records, in
    /// format 1.
    #[schemars(extend("enum" = ["layout", "rule", "shrink", "host_key"]))]
    what: String,
    /// The rule, such as `shrink` or `drift`. Absent for other kinds of acceptance.
    #[schemars(skip_serializing_if = "String::is_empty")]
    rule: String,
    /// Fingerprint of the server's host key; empty if the acceptance is withdrawn. Absent for other
    /// kinds of acceptance.
    #[schemars(skip_serializing_if = "String::is_empty")]
    fingerprint: String,
}

impl Accepted {
    /// Returns the name used on the command line.
    pub fn name(&self) -> &str {
        match self {
            Self::Layout => "layout",
            Self::Rule { rule } => rule,
            Self::Shrink => "shrink",
            Self::HostKey { .. } => "host_key",
        }
    }
}

/// Appends an acceptance or a withdrawal to the home's file.
pub fn append_acceptance(home: &Home, acceptance: &Acceptance) -> Result<()> {
    lines::append_line(&home.accepted_file(), acceptance)
}

/// Returns all acceptances and withdrawals, oldest first.
pub fn acceptances(home: &Home) -> Result<Vec<Acceptance>> {
    lines::read_lines(&home.accepted_file(), ACCEPTANCE_FORMAT_VERSION)
}

/// Returns the acceptances that are valid on a day, oldest first. The last line for an id and a
/// rule takes precedence.
pub fn accepted(home: &Home, today: Date) -> Result<Vec<Acceptance>> {
    let today = today.to_string();
    let mut last: Vec<Acceptance> = Vec::new();
    for acceptance in acceptances(home)? {
        last.retain(|known| {
            known.id != acceptance.id || known.what.name() != acceptance.what.name()
        });
        last.push(acceptance);
    }
    last.retain(|known| {
        !known.is_withdrawn && known.until.as_ref().is_none_or(|until| *until >= today)
    });
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_acceptance_counts_through_its_last_day() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let say = |id: &str, what: Accepted, until: Option<&str>, is_withdrawn: bool| {
            let until = until.map(str::to_owned);
            let said = Acceptance {
                format_version: 1,
                id: id.to_owned(),
                what,
                by: "ada".to_owned(),
                at: "2026-11-01T00:00:00Z".to_owned(),
                until,
                is_withdrawn,
            };
            append_acceptance(&home, &said).unwrap();
        };
        let counts = |day: &str| -> Vec<String> {
            let shown = |known: Acceptance| match known.what {
                Accepted::HostKey { fingerprint } => format!("{} {fingerprint}", known.id),
                what => format!("{} {}", known.id, what.name()),
            };
            accepted(&home, day.parse().unwrap())
                .unwrap()
                .into_iter()
                .map(shown)
                .collect()
        };
        assert_eq!(counts("2026-11-01"), Vec::<String>::new());
        let host_key = |fingerprint: &str| Accepted::HostKey {
            fingerprint: fingerprint.to_owned(),
        };
        say("a.list", host_key("SHA256:old"), None, false);
        say("a.list", host_key("SHA256:new"), None, false);
        say("a.list", Accepted::Shrink, Some("2026-11-08"), false);
        say("b.list", Accepted::Layout, None, false);
        assert_eq!(
            counts("2026-11-08"),
            ["a.list SHA256:new", "a.list shrink", "b.list layout"]
        );
        assert_eq!(counts("2026-11-09"), ["a.list SHA256:new", "b.list layout"]);
        say("a.list", host_key(""), None, true);
        assert_eq!(counts("2026-11-09"), ["b.list layout"]);
    }
}
