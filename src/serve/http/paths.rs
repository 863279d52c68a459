//! Finds the endpoints of a path, and the values of its placeholders.

use std::collections::BTreeMap;
use std::str::Utf8Error;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use super::endpoint::Endpoint;

/// The endpoints of one path, by method.
pub type Methods = Vec<&'static Endpoint>;

/// Every path of the route table.
pub struct Paths(matchit::Router<(&'static str, Arc<Methods>)>);

/// What answers to a path.
pub struct Found {
    /// The path as it is declared.
    pub pattern: &'static str,
    pub methods: Arc<Methods>,
    /// Values of the placeholders, decoded.
    pub values: Result<Vec<(String, String)>, Utf8Error>,
}

impl Paths {
    /// Puts endpoints in order by their paths.
    pub fn new(endpoints: impl Iterator<Item = &'static Endpoint>) -> Self {
        let mut by_path: BTreeMap<&'static str, Methods> = BTreeMap::new();
        for endpoint in endpoints {
            by_path.entry(endpoint.path).or_default().push(endpoint);
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in by_path {
            paths
                .insert(path, (path, Arc::new(methods)))
                .expect("no two paths of the table are the same");
        }
        Self(paths)
    }

    /// Returns what answers to a path; none where nothing does.
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
