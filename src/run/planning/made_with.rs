//! Restores the declarations and contracts that a build was made with. The build's hashes cover
//! these texts, which its release keeps. Rebuilds use the program's settings with these texts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::code_version::CodeVersion;
use super::selection::sources_of;
use crate::settings::RunSettings;
use pubdata_core::contract::{Contract, Contracts};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;
use pubdata_core::pipeline::{Declaration, Declarations, canonical_json};
use pubdata_store::{Manifest, TaskEntry};

/// The declarations and contracts that determine a pipeline's output, in the form that is hashed.
pub(crate) struct Texts {
    /// The pipeline's declaration and the declarations whose sources it reads, one per line.
    pub(crate) declared: String,
    /// The pipeline's contracts and the contracts of the tables it builds on, as one list.
    pub(crate) contracts: String,
}

impl Texts {
    /// Returns the texts of the current declarations.
    pub(crate) fn load(settings: &RunSettings, declaration: &Declaration) -> Result<Self> {
        let mut declared = vec![canonical_json(declaration)];
        for (owner, source) in sources_of(settings, declaration)? {
            if !std::ptr::eq(owner, declaration) {
                let alone = Declaration {
                    sources: vec![source.clone()],
                    ..owner.clone()
                };
                declared.push(canonical_json(&alone));
            }
        }
        declared.sort();
        // Rows of other pipelines' tables are read only if they satisfy the tables' contracts.
        let others = declaration
            .builds_on
            .iter()
            .filter_map(|id| settings.declarations.pipelines.get(id))
            .flat_map(|other| &other.produces);
        let ids: BTreeSet<&str> = declaration
            .produces
            .iter()
            .chain(others)
            .map(String::as_str)
            .chain(["pubdata.quarantine"])
            .collect();
        let contracts: Vec<&Contract> = ids
            .into_iter()
            .filter_map(|id| settings.declarations.contracts.get(id))
            .collect();
        Ok(Self {
            declared: declared.join("\n"),
            contracts: serde_json::to_string(&contracts).expect("contracts are plain data"),
        })
    }

    /// Parses the declarations and contracts.
    fn read(
        &self,
        entry: &TaskEntry,
    ) -> serde_json::Result<(BTreeMap<String, Declaration>, Contracts)> {
        let mut pipelines: BTreeMap<String, Declaration> = BTreeMap::new();
        for line in self.declared.lines() {
            let mut value: Value = serde_json::from_str(line)?;
            add_evidence(&mut value, entry);
            let declaration: Declaration = serde_json::from_value(value)?;
            match pipelines.get_mut(&declaration.pipeline_id) {
                // Each line for another declaration contains one source.
                Some(known) => known.sources.extend(declaration.sources),
                None => drop(pipelines.insert(declaration.pipeline_id.clone(), declaration)),
            }
        }
        let contracts: Vec<Contract> = serde_json::from_str(&self.contracts)?;
        Ok((
            pipelines,
            contracts
                .into_iter()
                .map(|contract| (contract.dataset_id.clone(), contract))
                .collect(),
        ))
    }
}

/// Restores the evidence for each source's layout. The evidence does not affect any record, so it
/// is not hashed. The build's entry contains the evidence for the build's own sources. The evidence
/// for other sources is not used, so a placeholder is enough.
fn add_evidence(declaration: &mut Value, entry: &TaskEntry) {
    for source in declaration["source"].as_array_mut().into_iter().flatten() {
        let known = source["source_id"]
            .as_str()
            .and_then(|source_id| entry.evidence.get(source_id));
        source["evidence"] = known.map_or_else(
            || serde_json::json!({ "kind": "file", "seen": "1970-01" }),
            |known| serde_json::json!(known),
        );
    }
}

/// Returns the hashes of the declarations and contracts that determine a pipeline's output, and the
/// version of its code.
pub(crate) fn fingerprint(
    settings: &RunSettings,
    declaration: &Declaration,
) -> Result<(Digest, Digest, String)> {
    let texts = Texts::load(settings, declaration)?;
    let code_version = CodeVersion::todays(&settings.declarations, declaration).to_string();
    Ok((
        Digest::sha256(texts.declared.as_bytes()),
        Digest::sha256(texts.contracts.as_bytes()),
        code_version,
    ))
}

/// Returns the texts of the current declarations for the pipelines in a release, by digest.
pub(crate) fn declared_texts(
    settings: &RunSettings,
    manifest: &Manifest,
) -> Result<BTreeMap<Digest, String>> {
    let pipeline_ids: BTreeSet<&str> = manifest
        .tasks
        .values()
        .map(|entry| entry.pipeline_id.as_str())
        .collect();
    let mut texts = BTreeMap::new();
    for declaration in pipeline_ids
        .into_iter()
        .filter_map(|pipeline_id| settings.declarations.pipelines.get(pipeline_id))
    {
        let Texts {
            declared,
            contracts,
        } = Texts::load(settings, declaration)?;
        texts.extend([declared, contracts].map(|text| (Digest::sha256(text.as_bytes()), text)));
    }
    Ok(texts)
}

/// Everything needed to rebuild a build of a release.
pub(crate) struct MadeWith {
    /// The program's settings. If the release keeps the build's own declarations and contracts, the
    /// settings contain them.
    pub(crate) settings: RunSettings,
    /// Reason why a different result would not count against the release. `None` if the same code
    /// rebuilds it from the same inputs.
    pub(crate) not_held: Option<String>,
    /// Remarks for the reader.
    pub(crate) notes: Vec<String>,
}

impl MadeWith {
    /// Loads the declarations and contracts with which a build of a release was made.
    ///
    /// # Errors
    /// Returns `Store` if the release has lost them.
    pub(crate) async fn load(
        settings: &RunSettings,
        manifest: &Manifest,
        entry: &TaskEntry,
    ) -> Result<Self> {
        if !manifest.has_declarations_of(entry) {
            return Self::todays(settings, entry);
        }
        let declared = settings
            .releases
            .text(&manifest.release_id, &entry.declaration_hash)
            .await?;
        let contracts = settings
            .releases
            .text(&manifest.release_id, &entry.contracts_hash)
            .await?;
        let own = match (Texts {
            declared,
            contracts,
        })
        .read(entry)
        {
            Ok((pipelines, contracts)) => Declarations {
                pipelines,
                contracts,
                files: settings.declarations.files.clone(),
            },
            Err(error) => {
                let reason = format!(
                    "this program cannot read what it was made with ({error}); {}",
                    who_can(entry)
                );
                return Ok(Self {
                    settings: settings.clone(),
                    not_held: Some(reason.clone()),
                    notes: vec![reason],
                });
            }
        };
        let not_held = other_code(&own, entry);
        let notes = not_held.clone().into_iter().collect();
        Ok(Self {
            settings: settings.for_rebuild(own),
            not_held,
            notes,
        })
    }

    /// Returns settings for a build with the declarations of one build and the contracts of
    /// another, each from its own release.
    ///
    /// # Errors
    /// Returns `Store` if a release has not kept them, and `Config` if this program cannot read
    /// them.
    pub(crate) async fn mixed(
        settings: &RunSettings,
        declared: (&Manifest, &TaskEntry),
        contracts: (&Manifest, &TaskEntry),
        entry: &TaskEntry,
    ) -> Result<RunSettings> {
        let text = async |(manifest, of): (&Manifest, &TaskEntry), digest: &Digest| match manifest
            .has_declarations_of(of)
        {
            true => settings.releases.text(&manifest.release_id, digest).await,
            false => Err(Error::store(format!(
                "release {} does not carry its declarations and contracts",
                manifest.release_id
            ))),
        };
        let texts = Texts {
            declared: text(declared, &declared.1.declaration_hash).await?,
            contracts: text(contracts, &contracts.1.contracts_hash).await?,
        };
        let (pipelines, contracts) = texts.read(entry).map_err(|error| {
            Error::config(format!(
                "this program cannot read what it was made with ({error})"
            ))
        })?;
        let own = Declarations {
            pipelines,
            contracts,
            files: settings.declarations.files.clone(),
        };
        Ok(settings.for_rebuild(own))
    }

    /// Uses the current declarations, because the release was made by an earlier version that kept
    /// none.
    fn todays(settings: &RunSettings, entry: &TaskEntry) -> Result<Self> {
        let mut notes = vec!["the release does not carry its declarations and contracts; made again with those of this program".to_owned()];
        let Some(declaration) = settings.declarations.pipelines.get(&entry.pipeline_id) else {
            let reason = format!(
                "pipeline {} is no longer declared, and the release does not carry its declaration; {}",
                entry.pipeline_id,
                who_can(entry)
            );
            notes.push(reason.clone());
            return Ok(Self {
                settings: settings.clone(),
                not_held: Some(reason),
                notes,
            });
        };
        let (declaration_hash, contracts_hash, _) = fingerprint(settings, declaration)?;
        let mut reasons = Vec::from_iter(other_code(&settings.declarations, entry));
        for (is_changed, what) in [
            (declaration_hash != entry.declaration_hash, "declaration"),
            (contracts_hash != entry.contracts_hash, "contracts"),
        ] {
            if is_changed {
                reasons.push(format!("the {what} of {} changed since", entry.pipeline_id));
            }
        }
        notes.extend(reasons.iter().cloned());
        Ok(Self {
            settings: settings.clone(),
            not_held: (!reasons.is_empty()).then(|| reasons.join("; ")),
            notes,
        })
    }

    /// Returns the declaration of the build. Returns `None` if the declaration is no longer known.
    pub(crate) fn declaration(&self, entry: &TaskEntry) -> Option<&Declaration> {
        self.settings.declarations.pipelines.get(&entry.pipeline_id)
    }
}

fn other_code(declarations: &Declarations, entry: &TaskEntry) -> Option<String> {
    let declaration = declarations.pipelines.get(&entry.pipeline_id)?;
    CodeVersion::todays(declarations, declaration).differs_from(&entry.code_version, declaration)
}

fn who_can(entry: &TaskEntry) -> String {
    format!("pubdata {} can", entry.program())
}

/// Returns the contracts with which the datasets of a release were built. Uses the current
/// contracts if the release does not keep them or has lost them.
pub(crate) async fn contracts_of(settings: &RunSettings, manifest: &Manifest) -> Contracts {
    let mut contracts = settings.declarations.contracts.clone();
    for entry in manifest.tasks.values() {
        if let Ok(made) = MadeWith::load(settings, manifest, entry).await {
            let of_release = made
                .settings
                .declarations
                .contracts
                .into_iter()
                .filter(|(dataset_id, _)| manifest.datasets.contains_key(dataset_id));
            contracts.extend(of_release);
        }
    }
    for (dataset_id, dataset) in &manifest.datasets {
        if let Some(contract) = contracts.get_mut(dataset_id) {
            contract.version.clone_from(&dataset.schema_version);
        }
    }
    contracts
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubdata_core::declared::DeclarationFiles;

    #[test]
    fn every_declaration_and_contract_is_read_from_its_text_as_it_was() {
        let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
        for declaration in declarations.pipelines.values() {
            let text = canonical_json(declaration);
            let mut value: Value = serde_json::from_str(&text).unwrap();
            for source in value["source"].as_array_mut().unwrap() {
                source["evidence"] = serde_json::json!({ "kind": "file", "seen": "1970-01" });
            }
            let again: Declaration = serde_json::from_value(value)
                .unwrap_or_else(|error| panic!("{}: {error}", declaration.pipeline_id));
            assert_eq!(canonical_json(&again), text, "{}", declaration.pipeline_id);
        }
        for contract in declarations.contracts.values() {
            let text = serde_json::to_string(contract).unwrap();
            let again: Contract = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", contract.dataset_id));
            assert_eq!(
                serde_json::to_string(&again).unwrap(),
                text,
                "{}",
                contract.dataset_id
            );
        }
    }
}
