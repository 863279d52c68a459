//! What people have looked at and taken as it is, in a file that only grows. Of several words on
//! the same thing the last one counts.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Home, lines};
use pubdata_core::error::Result;

/// Format of the lines of `accepted.jsonl`; readers refuse a newer one. 2: rules of single tasks,
/// for one run.
pub const ACCEPTANCE_FORMAT_VERSION: u32 = 2;

/// What a person has looked at and taken as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acceptance {
    /// Format of its line in `accepted.jsonl`.
    #[schemars(extend("enum" = [1, ACCEPTANCE_FORMAT_VERSION]))]
    pub format_version: u32,
    /// A task, pipeline, source or dataset.
    pub id: String,
    #[serde(flatten)]
    #[schemars(with = "AcceptedMembers")]
    pub what: Accepted,
    /// Who accepted it.
    pub by: String,
    /// When, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// The last day on which it counts, `YYYY-MM-DD`. Absent if it counts for one run, or until it
    /// is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Date")]
    pub until: Option<String>,
    /// True if it takes back what was accepted before. Absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_withdrawn: bool,
}

/// What is accepted of a source, pipeline or dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Accepted {
    /// The layout, known from documentation until then, is that of the files.
    Layout,
    /// What a rule says of it is right. Without a last day it counts for one run.
    Rule { rule: String },
    /// Losses against the last release are right, as format 1 has it.
    Shrink,
    /// The source's server has this host key.
    HostKey { fingerprint: String },
}

/// The members of all kinds of [`Accepted`].
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct AcceptedMembers {
    /// Kind of what is accepted. `rule`: what a rule says of it; `shrink`: a loss, as format 1 has
    /// it.
    #[schemars(extend("enum" = ["layout", "rule", "shrink", "host_key"]))]
    what: String,
    /// The rule, such as `shrink` or `drift`. Absent if `what` is something else.
    #[schemars(skip_serializing_if = "String::is_empty")]
    rule: String,
    /// Fingerprint of the server's key; empty if it is taken back. Absent if `what` is something
    /// else.
    #[schemars(skip_serializing_if = "String::is_empty")]
    fingerprint: String,
}

impl Accepted {
    /// The word for it, as on the command line.
    pub fn name(&self) -> &str {
        match self {
            Self::Layout => "layout",
            Self::Rule { rule } => rule,
            Self::Shrink => "shrink",
            Self::HostKey { .. } => "host_key",
        }
    }
}

/// Writes down what a person accepts or takes back.
///
/// # Errors
/// `Store`, when the file cannot be written.
pub fn append_acceptance(home: &Home, acceptance: &Acceptance) -> Result<()> {
    lines::append_line(&home.accepted_file(), acceptance)
}

/// Everything that was ever accepted or taken back, oldest first.
///
/// # Errors
/// `Store`, when a line cannot be read.
pub fn acceptances(home: &Home) -> Result<Vec<Acceptance>> {
    lines::read_lines(&home.accepted_file(), ACCEPTANCE_FORMAT_VERSION)
}

/// What counts on a day, oldest first: of the same thing the last word counts, through its last
/// day.
///
/// # Errors
/// `Store`, when a line cannot be read.
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
    fn the_last_word_on_a_thing_counts_through_its_last_day() {
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
