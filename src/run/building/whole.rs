//! Stages a task that is built as a whole. Its only unit contains all its tables, which are judged
//! partition by partition during validation.

use std::collections::BTreeMap;
use std::path::Path;

use super::build::{Totals, ValidatedTables, check, expectations, rows_of};
use super::source_rows::RowUses;
use super::units::{BuiltTask, TaskInUnits, WorkUnit};
use crate::settings::names;
use pubdata_build::datasets::{RowsRead, Table};
use pubdata_build::publish::Stage;
use pubdata_build::validate::SHRINK;
use pubdata_core::error::Result;
use pubdata_core::provenance::Inputs;
use pubdata_store::Home;

impl TaskInUnits<'_> {
    /// Validates the tables, stages them in `home`, and judges them. Issues are written to
    /// `issues_file`.
    pub(super) fn stage_whole(
        &self,
        home: &Home,
        tables: Vec<Table>,
        inputs: &Inputs,
        read: &RowsRead,
        issues_file: Option<&Path>,
    ) -> Result<BuiltTask> {
        let stage = self.begin(home)?;
        let unit = self.add_whole(&stage, tables, inputs, read)?;
        self.conclude_whole(stage, unit, &read.by_source(), issues_file)
    }

    /// Validates a build that was made as a whole, adds it to the stage, and judges it.
    pub(crate) fn add_whole(
        &self,
        stage: &Stage<'_>,
        tables: Vec<Table>,
        inputs: &Inputs,
        read: &RowsRead,
    ) -> Result<WorkUnit> {
        let Self {
            settings,
            declaration,
            task_id,
            ..
        } = *self;
        let previous_rows = |dataset_id: &str, partition: &BTreeMap<String, String>| {
            let is_accepted = settings.has_override(&names(task_id, dataset_id), SHRINK);
            self.previous
                .filter(|_| !is_accepted)
                .and_then(|manifest| rows_of(manifest, dataset_id, task_id, Some(partition)))
        };
        let totals = Totals {
            expectations: &expectations(settings, declaration, task_id, self.entry),
            previous_rows: &previous_rows,
        };
        let checked = check(
            settings,
            task_id,
            tables,
            inputs,
            Some(&totals),
            self.is_sample,
        )?;
        let rows = RowUses::count(&checked, &read.left_out, inputs)?;
        let ValidatedTables {
            tables,
            issues,
            mut blocked,
            notes,
            ..
        } = checked;
        if blocked.is_empty() {
            tables
                .into_iter()
                .try_for_each(|table| stage.add(table, inputs, None, None))?;
            blocked = self.judge_drift(stage)?;
            blocked.extend(self.grown(&stage.parts()));
        }
        Ok(WorkUnit {
            issues,
            blocked,
            rows,
            findings: read.findings(&settings.declarations),
            notes,
            ..WorkUnit::default()
        })
    }
}
