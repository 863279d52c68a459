//! Writes a release's sidecar files: one Delta log per dataset and a single Data Package for the
//! release.

use std::collections::{BTreeMap, BTreeSet};

use super::commit::Prepared;
use super::data_package::{Fit, data_package};
use super::delta_log::{PartFacts, delta_log};
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_store::{DATA_PACKAGE, Releases, delta_log_path};

impl Prepared {
    /// Writes the sidecar files into the release and returns their digests by path. If the
    /// contract's schema cannot read one of a dataset's parts, the dataset does not get a log,
    /// because query engines would read incorrect values.
    pub(super) async fn write_sidecars(
        &self,
        releases: &Releases,
        facts: &BTreeMap<&str, PartFacts>,
    ) -> Result<BTreeMap<String, Digest>> {
        let mut sidecars = BTreeMap::new();
        let mut texts = Vec::new();
        for (dataset_id, dataset) in &self.manifest.datasets {
            let Some(contract) = self.contracts.get(dataset_id) else {
                continue;
            };
            match self.fit(facts, dataset_id) {
                Fit::Readable(lacking) => {
                    let parts: Vec<&PartFacts> = dataset
                        .parts
                        .iter()
                        .filter_map(|part| facts.get(part.path.as_str()))
                        .collect();
                    texts.push((
                        delta_log_path(dataset_id),
                        delta_log(contract, &self.manifest.release_id, &lacking, &parts),
                    ));
                }
                Fit::Mixed(reason) => {
                    tracing::warn!(
                        dataset.id = dataset_id,
                        reason,
                        "the release has no Delta log of a dataset, because its parts differ in schema"
                    );
                }
            }
        }
        let package = data_package(&self.manifest, &self.contracts, |dataset_id| {
            self.fit(facts, dataset_id)
        });
        texts.push((DATA_PACKAGE.to_owned(), format!("{package:#}\n")));
        for (path, text) in texts {
            let digest = Digest::sha256(text.as_bytes());
            if !releases
                .has_sidecar(&self.manifest.release_id, &path, &digest)
                .await?
            {
                releases
                    .put_part(&self.manifest.release_id, &path, text.into())
                    .await?;
            }
            sidecars.insert(path, digest);
        }
        Ok(sidecars)
    }

    fn fit<'f>(&self, facts: &'f BTreeMap<&str, PartFacts>, dataset_id: &str) -> Fit<'f> {
        let parts = self
            .manifest
            .datasets
            .get(dataset_id)
            .into_iter()
            .flat_map(|dataset| &dataset.parts);
        let facts: Vec<&PartFacts> = parts
            .filter_map(|part| facts.get(part.path.as_str()))
            .collect();
        match facts.iter().find_map(|facts| facts.conflict.as_deref()) {
            Some(reason) => Fit::Mixed(reason),
            None => Fit::Readable(
                facts
                    .iter()
                    .flat_map(|facts| &facts.lacking)
                    .collect::<BTreeSet<_>>(),
            ),
        }
    }
}
