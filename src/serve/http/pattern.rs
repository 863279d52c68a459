//! Matches strings against the patterns in the OpenAPI document, so that the server accepts exactly
//! what the document describes.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use regex::Regex;

static COMPILED: LazyLock<RwLock<HashMap<&'static str, Regex>>> = LazyLock::new(RwLock::default);

/// Reports whether a string matches a pattern.
pub fn matches(pattern: &'static str, text: &str) -> bool {
    if let Some(known) = COMPILED
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(pattern)
    {
        return known.is_match(text);
    }
    let compiled = Regex::new(pattern)
        .expect("patterns are declared with the endpoints, all of which are tested");
    let is_match = compiled.is_match(text);
    COMPILED
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(pattern, compiled);
    is_match
}
