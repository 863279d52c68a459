use super::super::RunSettings;
use super::super::plan::{Selected, sources_of};
use super::super::requests::{Wanted, requests};
use crate::error::Result;
use crate::fetch::Request;
use crate::pipeline::{Declaration, Source};

/// Of a source with more files than this, the first and the newest are asked for.
const FEW_FILES: usize = 12;

/// A file to ask for.
#[derive(Clone)]
pub(super) struct Address<'a> {
    pub(super) source: &'a Source,
    pub(super) request: Request,
    /// Whether the file is a list that others look things up in, such as codes of counties: a part of it is of no use to them.
    pub(super) is_lookup: bool,
}

/// A task to foresee.
pub(super) struct Foreseen<'a> {
    pub(super) task_id: String,
    pub(super) declaration: &'a Declaration,
    pub(super) partition: Option<String>,
    pub(super) sources: Vec<(&'a Declaration, &'a Source)>,
}

impl<'a> Foreseen<'a> {
    pub(super) fn new(settings: &'a RunSettings, selected: Selected<'a>) -> Result<Self> {
        let sources = sources_of(settings, selected.declaration)?;
        // What is read on demand is never asked for by a run, and what is bundled is asked of nobody.
        let sources = sources.into_iter().filter(|(_, source)| source.on_demand.is_none() && !source.url.starts_with("bundled:")).collect();
        Ok(Self { task_id: selected.task_id, declaration: selected.declaration, partition: selected.partition, sources })
    }

    /// The files of a source that has no listing: all, or the first and the newest of many.
    pub(super) fn addresses(&self, settings: &RunSettings, owner: &Declaration, source: &'a Source) -> Result<Vec<Address<'a>>> {
        let partition = self.partition.as_deref().filter(|_| owner.pipeline_id == self.declaration.pipeline_id);
        let files = requests(settings, owner, source, partition)?;
        Ok(few(files).into_iter().map(|file| Address { source, request: file.request, is_lookup: is_lookup(owner) }).collect())
    }
}

/// Whether a declaration only supplies sources to others.
pub(super) fn is_lookup(owner: &Declaration) -> bool {
    owner.produces.is_empty()
}

fn few(mut files: Vec<Wanted>) -> Vec<Wanted> {
    if files.len() > FEW_FILES {
        let newest = files.split_off(files.len() - 1);
        files.truncate(1);
        files.extend(newest);
    }
    files
}
