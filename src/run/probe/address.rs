//! Selects the files that a probe requests. If a source has many files, these are the first and the
//! newest one. If the newest file may be unpublished, earlier files serve as fallbacks.

use std::collections::BTreeMap;

use crate::fetching::fetch_target::FetchTarget;
use crate::fetching::requests::requests;
use crate::planning::selection::{Selected, sources_of};
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Declaration, Editions, Source, Variable};
use pubdata_fetch::{Request, mirror_path, recorded_url};

/// If a source has more files than this, only the first and the newest are requested.
const FEW_FILES: usize = 12;

/// Maximum number of labels to try, newest first, until a file exists.
const EARLIER_FILES: usize = 6;

/// A file to request.
#[derive(Clone)]
pub(super) struct Address<'a> {
    pub(super) source: &'a Source,
    pub(super) request: Request,
    /// True if other sources look up values, such as county codes, in the file. An excerpt of the
    /// file would be useless to them.
    pub(super) is_lookup: bool,
}

/// A task whose outcome is predicted.
pub(super) struct PredictedTask<'a> {
    pub(super) task_id: String,
    pub(super) declaration: &'a Declaration,
    pub(super) partition: Option<String>,
    pub(super) sources: Vec<(&'a Declaration, &'a Source)>,
}

impl<'a> PredictedTask<'a> {
    pub(super) fn new(settings: &'a RunSettings, selected: Selected<'a>) -> Result<Self> {
        let sources = sources_of(settings, selected.declaration)?;
        // A run never fetches on-demand files, and bundled files require no request.
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

    /// Returns the files of a source without a listing, each as a list of alternative URLs. The
    /// first URL with a file is used. If a source has many files, only the first and the newest are
    /// included. A file named by its period is followed by the files of earlier periods.
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
        let address = |file: FetchTarget| Address {
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
        let editions = Editions::from_range(range, owner.schedule(Some(source))?)?;
        let labels = editions.labels(settings.fetch.clock.now());
        let index = editions
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
        if index + 1 < labels.len() {
            add(&labels[index..=index])?;
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

/// Returns a file's URL on the mirror of samples. A local file's URL is changed to one that a
/// mirror can have.
pub(super) fn sample_url(url: &str) -> String {
    url.strip_prefix("file://")
        .map_or_else(|| url.to_owned(), |path| format!("https://localhost{path}"))
}

/// Returns the path of a file on the mirror of samples.
pub(super) fn sample_path(url: &str) -> Result<String> {
    mirror_path(&sample_url(&recorded_url(url)?))
}

/// Returns true if a declaration only supplies sources to others.
pub(super) fn is_lookup(owner: &Declaration) -> bool {
    owner.produces.is_empty()
}

fn few(mut files: Vec<FetchTarget>) -> Vec<FetchTarget> {
    if files.len() > FEW_FILES {
        let newest = files.split_off(files.len() - 1);
        files.truncate(1);
        files.extend(newest);
    }
    files
}
