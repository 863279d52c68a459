//! Whether the folders that stand in for the publishers do: they have a folder for each host.

use std::collections::BTreeSet;

use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::FetchSettings;

/// # Errors
/// `Config`, naming the mirrors when they have something, and nothing of any declared publisher.
pub(super) fn check_mirrors(fetch: &FetchSettings, declarations: &Declarations) -> Result<()> {
    let sources = || declarations.pipelines.values().flat_map(|declaration| &declaration.sources);
    let addresses = sources().flat_map(|source| source.listing.iter().flat_map(|listing| &listing.otherwise).chain([&source.url]));
    let redirected = sources().flat_map(|source| &source.redirects).map(String::as_str);
    let hosts: BTreeSet<&str> =
        addresses.filter_map(|url| url.split_once("://")).map(|(_, rest)| rest.split('/').next().unwrap_or_default()).chain(redirected).collect();
    if !fetch.asks_folders_only() {
        return Ok(());
    }
    let mut names = BTreeSet::new();
    for folder in fetch.mirror_folders() {
        // One that cannot be looked at is told of when it is opened.
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
        names.extend(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|name| !name.starts_with('.')));
    }
    let Some(first) = names.first().filter(|_| !names.iter().any(|name| hosts.contains(name.as_str()))) else { return Ok(()) };
    let example = hosts.iter().find(|host| host.starts_with("www.")).or(hosts.first()).copied().unwrap_or_default();
    Err(Error::config(format!("mirror {}: has no folder of a publisher's host, such as `{example}`", fetch.mirrors.join(", ")))
        .hint(format!("give the folder that has one for each host; this one has `{first}`")))
}
