//! What of the declared pipelines an operator runs, and what a night can do without. A night is judged by that and no more.

use serde::Deserialize;

use pubdata_core::pipeline::Declaration;

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

/// A selector names a family, a pipeline, a dataset or a task, or is the beginning of such names with a star behind it.
pub(super) fn is_selected(selector: &str, declaration: &Declaration, task_id: &str) -> bool {
    let family = declaration.pipeline_id.split('.').next().unwrap_or_default();
    let names = [family, &declaration.pipeline_id, task_id].into_iter().chain(declaration.produces.iter().map(String::as_str));
    match selector.strip_suffix('*') {
        Some(beginning) => names.into_iter().any(|name| name.starts_with(beginning)),
        None => names.into_iter().any(|name| name == selector),
    }
}
