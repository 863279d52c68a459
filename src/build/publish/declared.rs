//! Stores the declarations and contracts behind a release's builds next to its manifest. New builds
//! use the run's texts; reused builds use those of the earlier release.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{self, StreamExt};

use super::commit::{PARTS_AT_A_TIME, Prepared};
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_store::{Releases, declared_path};

impl Prepared {
    /// Adds the texts with which the release's builds were made, by digest. Texts for other builds
    /// are not stored.
    #[must_use]
    pub fn with_declarations(mut self, texts: BTreeMap<Digest, String>) -> Self {
        let needed: BTreeSet<Digest> = self
            .manifest
            .tasks
            .values()
            .flat_map(|task| [task.declaration_hash, task.contracts_hash])
            .collect();
        let is_kept = |digest: &Digest| {
            self.current
                .as_ref()
                .is_some_and(|current| current.manifest.declarations.contains(digest))
        };
        self.manifest.declarations = needed
            .into_iter()
            .filter(|digest| texts.contains_key(digest) || is_kept(digest))
            .collect();
        self.texts = texts;
        self
    }

    /// Writes the texts into the release and returns the digests of those that are present.
    pub(super) async fn place_declarations(&self, releases: &Releases) -> Result<BTreeSet<Digest>> {
        let places: Vec<_> = self
            .manifest
            .declarations
            .iter()
            .map(|digest| self.place_text(releases, digest))
            .collect();
        let mut writes = stream::iter(places).buffer_unordered(PARTS_AT_A_TIME);
        let mut digests = BTreeSet::new();
        while let Some(digest) = writes.next().await {
            digests.extend(digest?);
        }
        Ok(digests)
    }

    /// Writes one text into the release. If the text for a reused build is lost, the run continues
    /// and the release omits the text.
    async fn place_text(&self, releases: &Releases, digest: &Digest) -> Result<Option<Digest>> {
        let (id, path) = (&self.manifest.release_id, declared_path(digest));
        if releases.intact_text(id, digest).await?.is_some() {
            return Ok(Some(*digest));
        }
        let from = self
            .current
            .as_ref()
            .map(|current| &current.entry.release_id)
            .filter(|from| *from != id);
        if let Some(from) = from
            && releases.link_part(from, &path, id, &path).await?
            && releases.intact_text(id, digest).await?.is_some()
        {
            return Ok(Some(*digest));
        }
        let Some(text) = self.texts.get(digest) else {
            tracing::warn!(
                path,
                "the release omits a declaration of a reused build, because its text is lost"
            );
            return Ok(None);
        };
        releases.put_part(id, &path, text.clone().into()).await?;
        Ok(Some(*digest))
    }
}
