use std::cell::RefCell;

use pubdata_core::ids::Digest;
use pubdata_store::receipts::{
    Checkpoint, SigningKey, VerifierKey, consistency_path, inclusion_path, is_consistent,
    leaf_hash, root, root_of_path,
};
use signed_note::{Note, StandardVerifier, VerifierList};
use tlog_tiles::tlog::{self, Hash, HashReader};

/// Hashes of a tree as the reference implementation keeps them.
struct Stored(RefCell<Vec<Hash>>);

impl HashReader for Stored {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<Hash>, tlog::Error> {
        Ok(indexes
            .iter()
            .map(|index| self.0.borrow()[*index as usize])
            .collect())
    }
}

fn data(leaf: u64) -> Vec<u8> {
    format!("leaf {leaf}").into_bytes()
}

fn tree(leaves: u64) -> (Vec<Digest>, Stored) {
    let stored = Stored(RefCell::default());
    for leaf in 0..leaves {
        let hashes = tlog::stored_hashes(leaf, &data(leaf), &stored).unwrap();
        stored.0.borrow_mut().extend(hashes);
    }
    (
        (0..leaves).map(|leaf| leaf_hash(&data(leaf))).collect(),
        stored,
    )
}

fn ours(hashes: &[Hash]) -> Vec<Digest> {
    hashes
        .iter()
        .map(|hash| Digest::from_bytes(hash.0))
        .collect()
}

/// Every size up to 70, and two beyond a tile: every leaf, and every earlier size.
#[test]
fn roots_and_proofs_match_another_implementation() {
    for size in (0..70).chain([256, 300]) {
        let (leaves, stored) = tree(size);
        let expected = Digest::from_bytes(tlog::tree_hash(size, &stored).unwrap().0);
        assert_eq!(root(&leaves), expected, "{size}");
        for index in (0..size).step_by(if size > 100 { 37 } else { 1 }) {
            let path = inclusion_path(&leaves, index as usize);
            assert_eq!(
                path,
                ours(&tlog::prove_record(size, index, &stored).unwrap()),
                "{index} of {size}"
            );
            assert_eq!(
                root_of_path(leaves[index as usize], index, size, &path),
                Some(expected)
            );
            let old = index + 1;
            let path = consistency_path(&leaves, old as usize);
            assert_eq!(
                path,
                ours(&tlog::prove_tree(size, old, &stored).unwrap()),
                "{old} to {size}"
            );
            assert!(
                is_consistent(
                    (old, &root(&leaves[..old as usize])),
                    (size, &expected),
                    &path
                ),
                "{old} to {size}"
            );
        }
    }
}

#[test]
fn proof_with_missing_extra_or_foreign_hashes_proves_nothing() {
    let (leaves, _) = tree(21);
    let whole = root(&leaves);
    for index in 0..21_u64 {
        let path = inclusion_path(&leaves, index as usize);
        let holds = |index: u64, size: u64, path: &[Digest]| {
            root_of_path(leaves[index as usize % 21], index, size, path) == Some(whole)
        };
        assert!(holds(index, 21, &path));
        assert!(!holds(index, 21, &path[1..]));
        assert!(!holds(index, 21, &[&path[..], &[whole]].concat()));
        assert!(!holds((index + 1) % 21, 21, &path));
        assert!(!holds(index, index, &path));
        for place in 0..path.len() {
            let mut changed = path.clone();
            changed[place] = Digest::sha256(b"other");
            assert!(!holds(index, 21, &changed));
        }
    }
}

/// The log lost, replaced or reordered entries.
#[test]
fn forked_log_is_inconsistent_with_the_earlier_one() {
    let (leaves, _) = tree(13);
    let seen = root(&leaves[..6]);
    let honest = consistency_path(&leaves, 6);
    assert!(is_consistent((6, &seen), (13, &root(&leaves)), &honest));
    let mut exchanged = leaves.clone();
    exchanged[3] = leaf_hash(b"another release");
    let mut reordered = leaves.clone();
    reordered.swap(1, 2);
    let forgotten = [&leaves[..5], &leaves[6..]].concat();
    for forked in [exchanged, reordered, forgotten] {
        let (size, now) = (forked.len() as u64, root(&forked));
        assert!(!is_consistent(
            (6, &seen),
            (size, &now),
            &consistency_path(&forked, 6)
        ));
        assert!(!is_consistent((6, &seen), (size, &now), &honest));
    }
    assert!(
        !is_consistent((13, &root(&leaves)), (6, &seen), &honest),
        "a log that became shorter"
    );
    assert!(
        !is_consistent((13, &root(&leaves)), (13, &seen), &[]),
        "another log of the same length"
    );
}

#[test]
fn signed_notes_are_exchanged_with_another_implementation() {
    let key = SigningKey::generate("data.example.org/2026")
        .unwrap()
        .of_log("nightly")
        .unwrap();
    let checkpoint = Checkpoint {
        origin: key.name().to_owned(),
        size: 7,
        root: Digest::sha256(b"root"),
    };
    let note = key.sign(&checkpoint.to_text());
    let verifier = StandardVerifier::new(&key.verifier().to_string()).unwrap();
    let read = Note::from_bytes(note.as_bytes()).unwrap();
    assert_eq!(
        read.verify(&VerifierList::new(vec![Box::new(verifier)]))
            .unwrap()
            .0
            .len(),
        1
    );
    assert_eq!(read.text(), checkpoint.to_text().as_bytes());
    let theirs = tlog_tiles::Checkpoint::from_bytes(read.text()).unwrap();
    assert_eq!(
        (theirs.origin(), theirs.size(), theirs.hash().0),
        (
            "data.example.org/2026/nightly",
            7,
            *checkpoint.root.as_bytes()
        )
    );

    let signer = signed_note::StandardSigner::new(&key.to_private_text()).unwrap();
    let mut other = Note::new(checkpoint.to_text().as_bytes(), &[]).unwrap();
    other.add_sigs(&[&signer]).unwrap();
    assert_eq!(
        String::from_utf8(other.to_bytes()).unwrap(),
        note,
        "Ed25519 signs the same bytes with the same result"
    );

    let opened = key.verifier().opened(&note).map(str::to_owned);
    assert_eq!(opened, Some(checkpoint.to_text()));
    let witnessed = format!("{note}— witness.example.org d2l0bmVzc2Vk\n");
    assert_eq!(
        key.verifier().opened(&witnessed).map(str::to_owned),
        opened,
        "another key may add its signature"
    );
    for wrong in [
        note.replace("\n7\n", "\n8\n"),
        note.replace("nightly\n", "stable\n"),
        note.replacen("— ", "- ", 1),
        String::new(),
        "\n\n".to_owned(),
    ] {
        assert_eq!(key.verifier().opened(&wrong), None, "{wrong}");
    }
    let stranger = SigningKey::generate("data.example.org/2026")
        .unwrap()
        .of_log("nightly")
        .unwrap();
    assert_eq!(stranger.verifier().opened(&note), None);
}

#[test]
fn invalid_keys_are_refused_without_showing_the_secret() {
    let key = SigningKey::generate("data.example.org/2026").unwrap();
    assert_eq!(
        SigningKey::parse(&format!("{}\n", key.to_private_text()))
            .unwrap()
            .verifier(),
        key.verifier()
    );
    assert_eq!(
        VerifierKey::parse(&key.verifier().to_string()).unwrap(),
        key.verifier()
    );
    let secret = key.to_private_text();
    let encoded = secret.splitn(5, '+').last().unwrap(); // Base64 may contain a plus sign.
    let other = secret.replace("2026", "2027");
    for wrong in [
        "",
        "PRIVATE+KEY+",
        "PRIVATE+KEY+a+b+c",
        &key.verifier().to_string(),
        &other,
    ] {
        let error = SigningKey::parse(wrong)
            .err()
            .unwrap_or_else(|| panic!("{wrong}"))
            .to_string();
        assert!(!error.contains(encoded), "{error}");
    }
    for wrong in [
        "",
        "a+b+c",
        &secret,
        &key.verifier().to_string().replace("2026", "2027"),
    ] {
        let error = VerifierKey::parse(wrong).unwrap_err().to_string();
        assert!(!error.contains(encoded), "{error}");
    }
    for name in ["", "two words", "a+b", "a\nb"] {
        assert!(SigningKey::generate(name).is_err(), "{name}");
    }
}
