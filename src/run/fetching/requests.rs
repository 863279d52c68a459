//! Turns a source's declaration into requests for its files.

use std::collections::BTreeMap;

use super::fetch_target::{FetchTarget, Paging};
use crate::settings::RunSettings;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::pipeline::{DatedBy, Declaration, Format, Source, Syntax, expand};
use pubdata_fetch::Request;

/// Returns the files of a source for one partition, one for each combination of its variables.
pub(crate) fn requests(
    settings: &RunSettings,
    declaration: &Declaration,
    source: &Source,
    partition: Option<&str>,
) -> Result<Vec<FetchTarget>> {
    let mut combinations: Vec<BTreeMap<String, String>> = vec![BTreeMap::new()];
    if let (Some(range), Some(value)) = (&declaration.partition, partition) {
        combinations[0].insert(range.variable.clone(), value.to_owned());
    }
    for (name, values) in &source.variables {
        let with_value = |keys: &BTreeMap<String, String>, value: &String| {
            let mut keys = keys.clone();
            keys.insert(name.clone(), value.clone());
            keys
        };
        combinations = combinations
            .iter()
            .flat_map(|keys| {
                values
                    .values()
                    .iter()
                    .map(move |value| with_value(keys, value))
            })
            .collect();
    }
    if let Some(pages) = &source.pages {
        combinations
            .iter_mut()
            .for_each(|keys| drop(keys.insert(pages.variable.clone(), "0".to_owned())));
    }
    let request = |keys: BTreeMap<String, String>| {
        let url = expand(&source.url, &keys)?;
        let bundled = url.strip_prefix("bundled:").map(|path| {
            let file = format!("pipelines/{path}");
            settings
                .declarations
                .files
                .read(&file)
                .map(<[u8]>::to_vec)
                .ok_or_else(|| Error::config(format!("there is no file {file}")))
        });
        let request = Request {
            source_id: source.source_id.clone(),
            source_version: expand(&source.source_version, &keys)?,
            source_date: source.source_date.clone(),
            is_archive: source.is_archive(),
            is_page: false,
            is_json: !source.is_archive()
                && matches!(
                    source.format,
                    Format::JsonRows
                        | Format::JsonRecords { .. }
                        | Format::Document {
                            syntax: Syntax::Json
                        }
                ),
            // The minimum size applies to all pages of a list together.
            min_bytes: if source.pages.is_some() {
                0
            } else {
                source.min_bytes
            },
            max_bytes: source.max_bytes,
            bundled: bundled.transpose()?,
            redirects: source.redirects.clone(),
            app_token: source.app_token.clone(),
            stated: None,
            url,
            keys,
        };
        let dated_by = source.dated_by.as_ref();
        let dated_by = dated_by.map(|dated_by| {
            expand(&dated_by.url, &request.keys).map(|url| DatedBy {
                url,
                ..dated_by.clone()
            })
        });
        let paging = source.pages.clone().map(|pages| Paging {
            pages,
            url: source.url.clone(),
            format: source.format.clone(),
            min_bytes: source.min_bytes,
        });
        Ok(FetchTarget {
            request,
            paging,
            dated_by: dated_by.transpose()?,
            future_date: None,
        })
    };
    combinations
        .into_iter()
        .map(request)
        .collect::<Result<_>>()
        .context(|| format!("source {}", source.source_id))
}
