//! Derives the name of a publisher's file on a mirror from the file's URL. Rejects a URL whose name
//! could lead outside the mirror's folder.

use std::path::{Path, PathBuf};

use reqwest::Url;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::secret::SecretUrl;
use pubdata_core::error::{Error, Result};
use pubdata_store::{open_file, read_at_most};

/// The file that describes a mirror. A mirror without this file holds complete files.
pub(super) const MIRROR_FILE: &str = ".pubdata-mirror";

/// Maximum number of characters in a mirror name.
const MAX_NAME_CHARACTERS: usize = 200;

/// Maximum size of a mirror description.
pub(super) const MAX_MIRROR_FILE_BYTES: u64 = 1 << 16;

/// A folder, given by path or URL, that holds publishers' files under names derived from their
/// URLs.
pub(super) struct Mirror {
    pub(super) location: MirrorLocation,
    /// Description of the mirror. For a mirror given by URL, it is set by the first request.
    pub(super) metadata: OnceCell<MirrorFile>,
}

pub(super) enum MirrorLocation {
    Folder(PathBuf),
    Url(Url),
}

/// Content of a `.pubdata-mirror` file.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MirrorFile {
    /// True if the mirror holds samples.
    #[serde(default)]
    pub(super) sample: bool,
    /// Name of the mirror in provenance.
    name: Option<String>,
}

impl Mirror {
    /// Opens a mirror by its folder, `file://` URL or `http(s)://` URL.
    ///
    /// # Errors
    /// `Config`, when the text is neither a folder nor a URL, or when the `.pubdata-mirror` file is
    /// invalid.
    pub(super) fn open(text: &str) -> Result<Self> {
        if is_url(text) {
            let url = Url::parse(&format!("{}/", text.trim_end_matches('/')))
                .ok()
                .filter(|url| url.query().is_none() && url.fragment().is_none());
            let url = url.ok_or_else(|| {
                Error::config(format!(
                    "mirror {text}: not a URL that a path can be added to"
                ))
            })?;
            return Ok(Self {
                location: MirrorLocation::Url(url),
                metadata: OnceCell::new(),
            });
        }
        let folder = if text.starts_with("file://") {
            file_url_path(text)?
        } else {
            PathBuf::from(text)
        };
        let folder = folder.canonicalize().unwrap_or(folder);
        if folder.is_file() {
            return Err(Error::config(format!(
                "mirror {text}: is a file, and a mirror is a folder"
            ))
            .hint("give the folder that has a folder for each publisher's host"));
        }
        if !folder.is_dir() {
            return Err(
                Error::config(format!("mirror {text}: there is no such folder"))
                    .hint("give a folder, or a URL that begins with https:// or http://"),
            );
        }
        let metadata = open_file(&folder.join(MIRROR_FILE))
            .and_then(|file| read_at_most(file, MAX_MIRROR_FILE_BYTES));
        let metadata = match metadata {
            Ok(content) => MirrorFile::parse(&String::from_utf8_lossy(&content), text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => MirrorFile::default(),
            Err(error) => {
                return Err(Error::config(format!(
                    "mirror {text}: cannot read {MIRROR_FILE}: {error}"
                )));
            }
        };
        Ok(Self {
            location: MirrorLocation::Folder(folder),
            metadata: OnceCell::new_with(Some(metadata)),
        })
    }

    pub(super) fn is_sample(&self) -> bool {
        self.metadata.get().is_some_and(|metadata| metadata.sample)
    }

    /// Returns the mirror's name in provenance: the declared name, or the last segment of the
    /// mirror's location. The full location is private to this machine.
    pub(super) fn name(&self) -> String {
        let own = self
            .metadata
            .get()
            .and_then(|metadata| metadata.name.as_deref())
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let of_place = || match &self.location {
            MirrorLocation::Folder(folder) => folder
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            MirrorLocation::Url(url) => url
                .host_str()
                .map(|host| format!("{host}{}", url.path().trim_end_matches('/'))),
        };
        let name = own
            .map(str::to_owned)
            .or_else(of_place)
            .unwrap_or_else(|| "a mirror".to_owned());
        name.chars().take(MAX_NAME_CHARACTERS).collect()
    }
}

/// Returns a message saying that a file or page does not exist at a publisher's URL. If mirrors
/// replace the publishers, no publisher was contacted, so the message names the mirrors and the
/// file's name on them.
pub fn absence(mirrors: &[String], url: &str, what: &str) -> String {
    let path = SecretUrl::parse(url).and_then(|url| mirror_path(&url.recorded));
    match (path, mirrors) {
        (Ok(path), [mirror]) => format!("the mirror {mirror} has no {path}"),
        (Ok(path), [first, .., last]) => format!(
            "none of the {} mirrors, from {first} to {last}, has {path}",
            mirrors.len()
        ),
        _ => format!("the publisher has no such {what}"),
    }
}

/// Returns whether a mirror is on a server, rather than in a folder.
pub(super) fn is_url(mirror: &str) -> bool {
    mirror.starts_with("http://") || mirror.starts_with("https://")
}

/// Returns the path of a publisher's file below a mirror's folder.
///
/// # Errors
/// `Fetch`, when a link leads outside the folder. Files outside the folder may not be meant to be
/// published.
pub(super) fn file_in(folder: &Path, path: &str) -> Result<PathBuf> {
    let place = folder.join(path);
    match place.canonicalize() {
        Ok(end) if !end.starts_with(folder) => {
            let message = format!(
                "{} is a link that leads out of the mirror, to {}",
                place.display(),
                end.display()
            );
            Err(Error::fetch(message).hint(
                "put the file itself there, or name the folder that has it as a separate mirror",
            ))
        }
        // A missing file is detected when it is opened.
        _ => Ok(place),
    }
}

impl MirrorFile {
    /// Parses the content of a `.pubdata-mirror` file.
    ///
    /// # Errors
    /// `Config`, when it is invalid.
    pub(super) fn parse(content: &str, mirror: &str) -> Result<Self> {
        toml::from_str(content).map_err(|error| {
            Error::config(format!(
                "mirror {mirror}: {MIRROR_FILE} is not valid: {}",
                error.message()
            ))
        })
    }
}

/// Returns the name on a mirror for a URL's file, relative to the mirror's folder. The name is
/// `host/path`, with `@` in place of the `?` before a query string, `%2F` in place of `/` in the
/// query string, and `index.html` appended to a path that ends in `/`. Percent-encoding is kept as
/// it is in the URL.
///
/// # Errors
/// `Config`, when the URL has no such name: the scheme is not `http(s)://` or `sftp://`, the host
/// is missing, a segment is `.` or `..` (percent-encoded or not), or the URL contains invalid
/// characters.
pub fn mirror_path(url: &str) -> Result<String> {
    let refuse = |reason: &str| {
        Error::config(format!(
            "URL {}: no name on a mirror: {reason}",
            url.escape_debug()
        ))
    };
    let rest = ["https://", "http://", "sftp://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let rest = rest.ok_or_else(|| refuse("not https://, http:// or sftp://"))?;
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let is_foreign =
        |character: char| !character.is_ascii_graphic() || "\\<>\"`{}|^".contains(character);
    if rest.contains(is_foreign) {
        return Err(refuse("it has characters that do not belong in a URL"));
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, segments) = path.split_once('/').unwrap_or((path, ""));
    let is_host =
        |character: char| character.is_ascii_alphanumeric() || ".-_:[]".contains(character);
    if host.is_empty() || host.starts_with('.') || !host.chars().all(is_host) {
        return Err(refuse("its host is not a host name"));
    }
    if segments.split('/').any(|segment| {
        matches!(
            segment.to_ascii_lowercase().replace("%2e", ".").as_str(),
            "." | ".."
        )
    }) {
        return Err(refuse("`.` and `..` are not allowed in its path"));
    }
    let index = if segments.is_empty() || segments.ends_with('/') {
        "index.html"
    } else {
        ""
    };
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("@{}", query.replace('/', "%2F"))
    };
    Ok(format!("{host}/{segments}{index}{query}"))
}

/// Returns the URL of a file on a mirror. The file name becomes the URL path, so that any server
/// that serves the folder can find the file.
pub(super) fn mirror_url(base: &Url, path: &str) -> Result<Url> {
    let text = format!("{base}{}", path.replace('%', "%25"));
    Url::parse(&text).map_err(|error| Error::config(format!("mirror URL {text}: {error}")))
}

/// Returns the path of a `file://` URL.
pub(super) fn file_url_path(url: &str) -> Result<PathBuf> {
    let path = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
    path.ok_or_else(|| {
        Error::config(format!("URL {url}: not the URL of a file on this machine"))
            .hint("write file:///path/to/file")
    })
}

/// Returns the origin that identifies a file on this machine.
pub(super) fn origin_of(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_url_leads_out_of_the_mirror_url(url in "(https?|sftp)://([a-z.]{0,3}|[.]{1,3})(/([.]{1,3}|%2[eEfF]|[a-z@]{1,3}|%5c|//|~|:)?){0,6}(\\?[a-z./&=%@]{0,12})?") {
            let base = Url::parse("http://127.0.0.1:1/below/").unwrap();
            if let Ok(path) = mirror_path(&url) {
                let url = mirror_url(&base, &path).unwrap();
                prop_assert!(url.as_str().starts_with(base.as_str()) && url.query().is_none() && url.fragment().is_none(), "{}", url);
            }
        }
    }
}
