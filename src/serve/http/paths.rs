//! Maps a path to its endpoints and the values of its placeholders.

use std::collections::BTreeMap;
use std::str::Utf8Error;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use super::endpoint::Endpoint;

/// Endpoints of one path, by method.
pub type Methods = Vec<&'static Endpoint>;

/// Route table by path.
pub struct Paths(matchit::Router<(&'static str, Arc<Methods>)>);

/// Match of a path.
pub struct Found {
    /// Declared path.
    pub pattern: &'static str,
    pub methods: Arc<Methods>,
    /// Decoded values of the placeholders.
    pub values: Result<Vec<(String, String)>, Utf8Error>,
}

impl Paths {
    /// Builds the route table from the endpoints' paths.
    pub fn new(endpoints: impl Iterator<Item = &'static Endpoint>) -> Self {
        let mut by_path: BTreeMap<&'static str, Methods> = BTreeMap::new();
        for endpoint in endpoints {
            by_path.entry(endpoint.path).or_default().push(endpoint);
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in by_path {
            paths
                .insert(path, (path, Arc::new(methods)))
                .expect("the paths of the route table are unique");
        }
        Self(paths)
    }

    /// Returns the match for a path, or `None` if no endpoint has the path.
    pub fn at(&self, path: &str) -> Option<Found> {
        let found = self.0.at(path).ok()?;
        let decoded = |text: &str| {
            percent_decode_str(text)
                .decode_utf8()
                .map(std::borrow::Cow::into_owned)
        };
        let values = found
            .params
            .iter()
            .map(|(name, value)| Ok((name.to_owned(), decoded(value)?)))
            .collect();
        let (pattern, methods) = found.value.clone();
        Some(Found {
            pattern,
            methods,
            values,
        })
    }
}
