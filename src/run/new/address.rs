//! Parses the URL of a list, which may have pages.

use std::collections::BTreeMap;

use super::place::Place;
use pubdata_core::error::{Error, Result};
use pubdata_fetch::Request;

/// Returns the URL as a template. If the list has pages, also returns the number of records per
/// page.
pub(super) fn address(url: &str) -> Result<(String, Option<u64>)> {
    if !["https://", "sftp://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
    {
        return Err(Error::config(format!(
            "--url {url}: the address must begin with https:// or sftp://"
        ))
        .hint("give the publisher's address, and a file of this machine as --file"));
    }
    let without = url.replace("{offset}", "");
    if without.contains(['{', '}']) {
        return Err(Error::config(format!(
            "--url {url}: only `{{offset}}` can be left open here"
        ))
        .hint("declare other variables manually: docs/DECLARATIONS.md"));
    }
    if without == url {
        return Ok((url.to_owned(), None));
    }
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut sizes = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(name, _)| is_page_size(name))
        .filter_map(|(_, value)| value.parse().ok());
    let records = sizes.next_back().ok_or_else(|| {
        Error::config(format!("--url {url}: the address has `{{offset}}` and does not say how many records a page has"))
            .hint("ask for so many by name, such as `resultRecordCount=1000` (ArcGIS) or `limit=10000` (CKAN, Socrata)")
    })?;
    Ok((url.to_owned(), Some(records)))
}

fn is_page_size(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["limit", "count", "rows", "size"]
        .iter()
        .any(|word| name.ends_with(word))
}

/// Creates the request for the list's only file, or for the first page.
pub(super) fn request(url: &str, place: &Place) -> Request {
    Request {
        source_id: place.pipeline_id(),
        keys: BTreeMap::new(),
        url: url.to_owned(),
        source_version: "current".to_owned(),
        source_date: None,
        is_archive: false,
        is_json: false,
        is_page: false,
        min_bytes: 0,
        max_bytes: u64::MAX,
        bundled: None,
        redirects: Vec::new(),
        app_token: None,
        stated: None,
    }
}
