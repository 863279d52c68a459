//! Checks claims of a manifest or a unit result about a part against the part's bytes: only true
//! claims may be accepted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use pubdata_build::publish::UnitFacts;
use pubdata_core::contract::Contracts;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_store::{Home, QUARANTINE_DATASET_COLUMN, Part, Releases};

use crate::place;

const MAX_PART_BYTES: u64 = 24 << 10;

struct Release {
    contracts: Contracts,
    /// A part, with the part of records quarantined from it, if any.
    pairs: Vec<Vec<Described>>,
}

/// Dataset, description and bytes of a part.
type Described = (String, Part, Vec<u8>);

/// Returns the smaller parts of the release in the folder that `PUBDATA_FUZZ_HOME` names.
fn release() -> &'static Release {
    static RELEASE: OnceLock<Release> = OnceLock::new();
    RELEASE.get_or_init(|| {
        let folder = PathBuf::from(std::env::var_os("PUBDATA_FUZZ_HOME").unwrap_or_else(|| "fuzz/home".into()));
        let contracts = Declarations::load(DeclarationFiles::built_in()).expect("the program's declarations are right").contracts;
        let home = Home::open(&folder).expect("the home can be opened");
        let releases = Releases::open(&home, None).expect("releases can be read");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        let manifest = runtime.block_on(releases.present("nightly")).expect("the channel can be read").expect("there is a release");
        let mut pairs: BTreeMap<(String, BTreeMap<String, String>), Vec<Described>> = BTreeMap::new();
        for (dataset_id, part) in manifest.datasets.iter().flat_map(|(dataset_id, dataset)| dataset.parts.iter().map(move |part| (dataset_id, part))) {
            let bytes = runtime.block_on(releases.part(&manifest.release_id, part)).expect("the part can be read");
            let mut partition = part.partition.clone();
            let of = partition.remove(QUARANTINE_DATASET_COLUMN).unwrap_or_else(|| dataset_id.clone());
            pairs.entry((of, partition)).or_default().push((dataset_id.clone(), part.clone(), bytes.to_vec()));
        }
        pairs.retain(|_, pair| pair.iter().all(|(_, part, _)| part.size_bytes <= MAX_PART_BYTES));
        Release { contracts, pairs: pairs.into_values().collect() }
    })
}

/// Checks a claim: one byte chooses a part, then JSON describes it, either fully or with some
/// members that replace the true ones.
pub fn claims(data: &[u8]) {
    let (which, text) = place::choice(data);
    let Ok(serde_json::Value::Object(said)) = serde_json::from_slice(text) else { return };
    let Release { contracts, pairs } = release();
    let pair = &pairs[usize::from(which) % pairs.len()];
    let place = usize::from(said.contains_key("set_aside")) % pair.len();
    let (_, part, _) = &pair[place];
    let mut whole = serde_json::to_value(part).expect("a part is plain data");
    for (name, value) in said {
        whole[name] = value;
    }
    let Ok(claimed) = serde_json::from_value::<Part>(whole) else { return };
    let mut shown = UnitFacts::of_this_version();
    let added = pair.iter().enumerate().try_for_each(|(index, (dataset_id, part, bytes))| {
        shown.add(&contracts[dataset_id], if index == place { &claimed } else { part }, &bytes.clone().into())
    });
    let (_, contradictions) = shown.finish();
    if added.is_err() || !contradictions.is_empty() {
        assert_ne!(&claimed, part, "a true claim is accepted: {added:?} {contradictions:?}");
        return;
    }
    // Not compared: notes, which are for readers; the rule under which a record counts that several
    // rules reject; and the fingerprint, whose sources are elsewhere.
    let mut compared = claimed.clone();
    compared.report.notes.clone_from(&part.report.notes);
    compared.report.quarantined.clone_from(&part.report.quarantined);
    compared.fingerprint = part.fingerprint;
    assert_eq!(&compared, part, "an accepted claim is true");
}
