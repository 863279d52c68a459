//! Finds wanted concepts by taxonomy and name as written in a member. A fact stores the index of
//! its concept in the list instead of the concept's name.

use polars::prelude::{InitHashMaps, PlHashMap};

use pubdata_core::error::{Error, Result};

/// Wanted concepts, each with its index in the original list.
#[derive(Debug, Clone, Default)]
pub struct ConceptFilter {
    taxonomies: PlHashMap<Box<[u8]>, Concepts>,
}

/// Wanted concepts in one taxonomy, by name as written in a member.
pub(super) type Concepts = PlHashMap<Box<[u8]>, u16>;

impl ConceptFilter {
    /// Builds the index from names with a taxonomy prefix: `us-gaap:Revenues`.
    ///
    /// # Errors
    /// `Config` if a name has no taxonomy or occurs twice, or if there are more than 65,536 names.
    pub fn new<'a>(qualified_names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut taxonomies: PlHashMap<Box<[u8]>, Concepts> = PlHashMap::new();
        for (position, qualified_name) in qualified_names.into_iter().enumerate() {
            let position = u16::try_from(position)
                .map_err(|_| Error::config("more than 65,536 wanted concepts"))?;
            let (taxonomy, concept) = qualified_name
                .split_once(':')
                .ok_or_else(|| Error::config(format!("`{qualified_name}` is no concept: a taxonomy, a colon and a name, such as `us-gaap:Revenues`")))?;
            if taxonomies
                .entry(taxonomy.as_bytes().into())
                .or_default()
                .insert(concept.as_bytes().into(), position)
                .is_some()
            {
                return Err(Error::config(format!(
                    "concept `{qualified_name}` is listed twice"
                )));
            }
        }
        Ok(Self { taxonomies })
    }

    /// Returns a taxonomy's wanted concepts, if it has any.
    pub(super) fn in_taxonomy(&self, taxonomy: &[u8]) -> Option<&Concepts> {
        self.taxonomies.get(taxonomy)
    }
}
