//! Which files a probe asks for: of a source with many only the first and the newest, and where the
//! newest may not be out yet the ones before it.

use std::collections::BTreeMap;

use crate::fetching::requests::requests;
use crate::fetching::wanted::Wanted;
use crate::planning::selection::{Selected, sources_of};
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Declaration, Editions, Source, Variable};
use pubdata_fetch::{Request, mirror_path, recorded_url};

/// Of a source with more files than this, the first and the newest are asked for.
const FEW_FILES: usize = 12;

/// Where the newest file is not there yet, so many are asked for in all, one after the other.
const EARLIER_FILES: usize = 6;

/// A file to ask for.
#[derive(Clone)]
pub(super) struct Address<'a> {
    pub(super) source: &'a Source,
    pub(super) request: Request,
    /// Whether the file is a list that others look things up in, such as codes of counties: a part
    /// of it is of no use to them.
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
        // What is read on demand is never asked for by a run, and what is bundled is asked of
        // nobody.
        let sources = sources
            .into_iter()
            .filter(|(_, source)| source.on_demand.is_none() && !source.url.starts_with("bundled:"))
            .collect();
        Ok(Self {
            task_id: selected.task_id,
            declaration: selected.declaration,
            partition: selected.partition,
            sources,
        })
    }

    /// The files of a source that has no listing, each as a row of addresses of which the first
    /// that is there counts: all files, of many the first and the newest, and of those that are
    /// named by their period behind the newest that can be there the ones before it.
    pub(super) fn addresses(
        &self,
        settings: &RunSettings,
        owner: &Declaration,
        source: &'a Source,
    ) -> Result<Vec<Vec<Address<'a>>>> {
        let partition = self
            .partition
            .as_deref()
            .filter(|_| owner.pipeline_id == self.declaration.pipeline_id);
        let address = |file: Wanted| Address {
            source,
            request: file.request,
            is_lookup: is_lookup(owner),
        };
        let Some((variable, range)) = source.range() else {
            let files = requests(settings, owner, source, partition)?;
            return Ok(few(files)
                .into_iter()
                .map(|file| vec![address(file)])
                .collect());
        };
        let editions = Editions::of(range, owner.schedule(Some(source))?)?;
        let labels = editions.labels(settings.fetch.clock.now());
        let wanted = editions
            .last()
            .map_or(0, |last| labels.len().saturating_sub(last));
        let mut rows = Vec::new();
        let mut add = |labels: &[String]| {
            let mut by_others: BTreeMap<BTreeMap<String, String>, Vec<Address<'a>>> =
                BTreeMap::new();
            for label in labels {
                let mut one = source.clone();
                one.variables
                    .insert(variable.to_owned(), Variable::Values(vec![label.clone()]));
                for file in requests(settings, owner, &one, partition)? {
                    let others = file
                        .request
                        .keys
                        .iter()
                        .filter(|(name, _)| *name != variable)
                        .map(|(name, value)| (name.clone(), value.clone()))
                        .collect();
                    by_others.entry(others).or_default().push(address(file));
                }
            }
            rows.extend(by_others.into_values());
            Ok::<(), pubdata_core::error::Error>(())
        };
        if wanted + 1 < labels.len() {
            add(&labels[wanted..=wanted])?;
        }
        add(&labels
            .iter()
            .rev()
            .take(EARLIER_FILES)
            .cloned()
            .collect::<Vec<_>>())?;
        Ok(rows)
    }
}

/// The address under which a file stands on the mirror of samples: that of a publisher, and for a
/// file of this machine one that a mirror can have.
pub(super) fn sample_url(url: &str) -> String {
    url.strip_prefix("file://")
        .map_or_else(|| url.to_owned(), |path| format!("https://localhost{path}"))
}

/// The place of a file on the mirror of samples.
pub(super) fn sample_path(url: &str) -> Result<String> {
    mirror_path(&sample_url(&recorded_url(url)?))
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
