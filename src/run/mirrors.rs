//! Whether a folder that stands in for the publishers is one: it has a folder for each host.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::fetch::FetchSettings;
use crate::pipeline::Declarations;

/// # Errors
/// `Config`, naming a mirror that has something, and nothing of any declared publisher.
pub(super) fn check_mirrors(fetch: &FetchSettings, declarations: &Declarations) -> Result<()> {
    let sources = || declarations.pipelines.values().flat_map(|declaration| &declaration.sources);
    let addresses = sources().flat_map(|source| source.listing.iter().flat_map(|listing| &listing.otherwise).chain([&source.url]));
    let redirected = sources().flat_map(|source| &source.redirects).map(String::as_str);
    let hosts: BTreeSet<&str> =
        addresses.filter_map(|url| url.split_once("://")).map(|(_, rest)| rest.split('/').next().unwrap_or_default()).chain(redirected).collect();
    for folder in fetch.mirror_folders() {
        // One that cannot be looked at is told of when it is opened.
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let names: BTreeSet<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|name| !name.starts_with('.')).collect();
        let Some(first) = names.first() else { continue };
        if !names.iter().any(|name| hosts.contains(name.as_str())) {
            let example = hosts.iter().find(|host| host.starts_with("www.")).or(hosts.first()).copied().unwrap_or_default();
            return Err(Error::config(format!("mirror {}: has no folder of a publisher's host, such as `{example}`", folder.display()))
                .hint(format!("give the folder that has one for each host; this one has `{first}`")));
        }
    }
    Ok(())
}
