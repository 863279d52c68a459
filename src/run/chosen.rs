//! What of the declared pipelines an operator runs, and what a night can do without. A night is judged by that and no more.

use jiff::Timestamp;
use serde::Deserialize;

use super::selection::{is_selected, selected};
use crate::error::Result;
use crate::pipeline::{Declaration, Declarations};

/// What an operator has chosen. Each entry names a family, a pipeline, a dataset or a task, or begins names with `permit.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Chosen {
    /// What runs when nothing is named; everything when empty.
    pub pipelines: Vec<String>,
    /// What does not, though it is among them.
    pub disabled: Vec<String>,
    /// What a night can do without: that its files are missing or late is told and decides no exit code.
    pub optional: Vec<String>,
}

impl Chosen {
    /// Whether a task runs when nothing is named.
    pub(super) fn has(&self, declaration: &Declaration, task_id: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| is_selected(name, declaration, task_id));
        (self.pipelines.is_empty() || is_named(&self.pipelines)) && !is_named(&self.disabled)
    }

    /// Whether a night can do without a task's files.
    pub(super) fn is_optional(&self, declaration: &Declaration, task_id: &str) -> bool {
        self.optional.iter().any(|name| is_selected(name, declaration, task_id))
    }
}

/// Whether each entry names something that can be built.
///
/// # Errors
/// `Config`, naming the first that does not.
pub fn check_chosen(declarations: &Declarations, chosen: &Chosen, now: Timestamp) -> Result<()> {
    for (key, names) in [("pipelines", &chosen.pipelines), ("disabled", &chosen.disabled), ("optional", &chosen.optional)] {
        selected(declarations, &Chosen::default(), names, now).map_err(|error| error.context(format!("`{key}` in pubdata.toml")))?;
    }
    Ok(())
}
