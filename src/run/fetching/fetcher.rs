//! Creates the fetcher of a run, with its logins and accepted host keys. The fetcher contacts the
//! publishers or the mirrors that replace them.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use crate::settings::RunSettings;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Declarations, Source};
use pubdata_fetch::{FetchSettings, Fetcher};
use pubdata_store::{Accepted, Home, Snapshots, accepted};

/// Creates the fetcher of a run. The fetcher uses the logins in the declarations. Host keys that an
/// operator has accepted replace the declared host keys.
///
/// # Errors
/// Returns `Config` for invalid settings, and `Store` if local files cannot be read.
pub fn fetcher(settings: &RunSettings) -> Result<Fetcher> {
    check_mirrors(&settings.fetch, &settings.declarations)?;
    let fetch = with_logins(
        &settings.fetch,
        &settings.declarations,
        Some(&settings.home),
    )?;
    Fetcher::new(fetch, Snapshots::open(&settings.home)?)
}

/// Adds the declared logins to the fetch settings, with the host keys that an operator has accepted
/// in `home`.
pub(crate) fn with_logins(
    fetch: &FetchSettings,
    declarations: &Declarations,
    home: Option<&Home>,
) -> Result<FetchSettings> {
    let mut fetch = fetch.clone();
    let sources = || {
        declarations
            .pipelines
            .values()
            .flat_map(|declaration| &declaration.sources)
    };
    for source in sources() {
        fetch.sftp.extend(
            source
                .sftp
                .clone()
                .map(|login| (source.source_id.clone(), login)),
        );
    }
    let Some(home) = home else { return Ok(fetch) };
    for acceptance in accepted(home, fetch.clock.now().to_zoned(TimeZone::UTC).date())? {
        let Accepted::HostKey { fingerprint } = acceptance.what else {
            continue;
        };
        // A host key belongs to a server, so one acceptance applies to all sources on that server.
        let Some(server) = sources()
            .find(|source| source.source_id == acceptance.id)
            .map(server_of)
        else {
            continue;
        };
        for source in sources().filter(|source| server_of(source) == server) {
            if let Some(login) = fetch.sftp.get_mut(&source.source_id) {
                login.host_key = Some(fingerprint.clone());
            }
        }
    }
    Ok(fetch)
}

fn server_of(source: &Source) -> &str {
    source
        .url
        .strip_prefix("sftp://")
        .map_or("", |rest| rest.split('/').next().unwrap_or_default())
}

/// Checks that at least one mirror folder has a subfolder for a publisher's host.
///
/// # Errors
/// Returns `Config`, naming the mirrors, if they have content but none from any declared publisher.
pub(crate) fn check_mirrors(fetch: &FetchSettings, declarations: &Declarations) -> Result<()> {
    let sources = || {
        declarations
            .pipelines
            .values()
            .flat_map(|declaration| &declaration.sources)
    };
    let addresses = sources().flat_map(|source| {
        source
            .listing
            .iter()
            .flat_map(|listing| &listing.otherwise)
            .chain([&source.url])
    });
    let redirected = sources()
        .flat_map(|source| &source.redirects)
        .map(String::as_str);
    let hosts: BTreeSet<&str> = addresses
        .filter_map(|url| url.split_once("://"))
        .map(|(_, rest)| rest.split('/').next().unwrap_or_default())
        .chain(redirected)
        .collect();
    if !fetch.has_only_local_mirrors() {
        return Ok(());
    }
    let mut names = BTreeSet::new();
    for folder in fetch.mirror_folders() {
        // A folder that cannot be read is reported when it is opened.
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Ok(());
        };
        names.extend(
            entries
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| !name.starts_with('.')),
        );
    }
    let Some(first) = names
        .first()
        .filter(|_| !names.iter().any(|name| hosts.contains(name.as_str())))
    else {
        return Ok(());
    };
    let example = hosts
        .iter()
        .find(|host| host.starts_with("www."))
        .or(hosts.first())
        .copied()
        .unwrap_or_default();
    Err(Error::config(format!(
        "mirror {}: has no folder of a publisher's host, such as `{example}`",
        fetch.mirrors.join(", ")
    ))
    .hint(format!(
        "give the folder that has one for each host; this one has `{first}`"
    )))
}
