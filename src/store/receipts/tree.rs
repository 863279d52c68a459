//! Computes Merkle trees as defined in RFC 9162 (§2.1) with SHA-256: roots, proofs that a leaf is
//! in a tree, and proofs that one tree continues another.

use pubdata_core::ids::Digest;

/// Returns the hash of a leaf, computed over a zero byte and the leaf's data.
pub fn leaf_hash(data: &[u8]) -> Digest {
    Digest::sha256(&leaf(&[data]))
}

/// Returns the bytes to hash for a leaf whose data is given in pieces.
pub(super) fn leaf(pieces: &[&[u8]]) -> Vec<u8> {
    let mut hashed = Vec::with_capacity(1 + pieces.iter().map(|piece| piece.len()).sum::<usize>());
    hashed.push(0);
    pieces
        .iter()
        .for_each(|piece| hashed.extend_from_slice(piece));
    hashed
}

/// Returns the hash of a node, computed over a byte with value 1 and the two child hashes.
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    Digest::sha256(&node([*left, *right]))
}

/// Returns the bytes to hash for a node.
fn node([left, right]: [Digest; 2]) -> [u8; 65] {
    let mut node = [1; 65];
    node[1..33].copy_from_slice(left.as_bytes());
    node[33..].copy_from_slice(right.as_bytes());
    node
}

/// Returns the size of a tree's left subtree, which is the largest power of two below `leaves`.
/// `leaves` must be at least 2.
fn split(leaves: usize) -> usize {
    1 << (leaves - 1).ilog2()
}

/// Returns the root over the leaf hashes. If there are no leaves, this is the hash of the empty
/// string.
pub fn root(leaves: &[Digest]) -> Digest {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = nodes_over(&level);
    }
    level.pop().unwrap_or_else(|| Digest::sha256(b""))
}

/// Returns the parent nodes of a level. If the number of nodes is odd, the last node moves up
/// unchanged, which yields the tree of RFC 9162 §2.1.1.
fn nodes_over(level: &[Digest]) -> Vec<Digest> {
    let (pairs, odd) = level.as_chunks::<2>();
    let (fours, last) = pairs.as_chunks::<2>();
    // Hash nodes in pairs: a tree has as many nodes as records, and two hashes take little longer
    // than one.
    let mut nodes: Vec<Digest> = fours
        .iter()
        .flat_map(|&[one, two]| Digest::of_two([&node(one), &node(two)]))
        .collect();
    nodes.extend(last.iter().map(|&pair| Digest::sha256(&node(pair))));
    nodes.extend(odd);
    nodes
}

/// Returns the hashes that lead from a leaf up to the root. `index` must be less than the number of
/// leaves.
pub fn inclusion_path(leaves: &[Digest], index: usize) -> Vec<Digest> {
    if leaves.len() < 2 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    let (mut path, other) = match index.checked_sub(left.len()) {
        None => (inclusion_path(left, index), root(right)),
        Some(index) => (inclusion_path(right, index), root(left)),
    };
    path.push(other);
    path
}

/// Returns the root that a leaf and its path lead to in a tree with `leaves` leaves. Returns `None`
/// if the path does not fit such a tree (RFC 9162 §2.1.3.2).
pub fn root_of_path(leaf: Digest, index: u64, leaves: u64, path: &[Digest]) -> Option<Digest> {
    if index >= leaves {
        return None;
    }
    let (mut node, mut last, mut hash) = (index, leaves - 1, leaf);
    for other in path {
        if last == 0 {
            return None;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(other, &hash);
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            hash = node_hash(&hash, other);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    (last == 0).then_some(hash)
}

/// Returns the hashes that prove that the first `old` leaves have a given earlier root. `old` must
/// not exceed the number of leaves.
pub fn consistency_path(leaves: &[Digest], old: usize) -> Vec<Digest> {
    if old == 0 || old >= leaves.len() {
        return Vec::new();
    }
    consistency_of(leaves, old, IsKnown::Yes)
}

/// The verifier's knowledge of a subtree's root.
#[derive(Clone, Copy, PartialEq)]
enum IsKnown {
    Yes,
    No,
}

fn consistency_of(leaves: &[Digest], old: usize, is_known: IsKnown) -> Vec<Digest> {
    if old == leaves.len() {
        return if is_known == IsKnown::Yes {
            Vec::new()
        } else {
            vec![root(leaves)]
        };
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    let (mut path, other) = match old.checked_sub(left.len()) {
        None | Some(0) => (consistency_of(left, old, is_known), root(right)),
        Some(old) => (consistency_of(right, old, IsKnown::No), root(left)),
    };
    path.push(other);
    path
}

/// Returns whether a tree of `new` leaves begins with the leaves of an earlier tree (RFC 9162
/// §2.1.4.2).
pub fn is_consistent(
    (old, old_root): (u64, &Digest),
    (new, new_root): (u64, &Digest),
    path: &[Digest],
) -> bool {
    if old > new {
        return false;
    }
    if old == new || old == 0 {
        return path.is_empty() && (old == 0 || old_root == new_root);
    }
    let mut path = path.iter().copied();
    let first = if old.is_power_of_two() {
        Some(*old_root)
    } else {
        path.next()
    };
    let Some(first) = first else { return false };
    let (mut node, mut last) = (old - 1, new - 1);
    while node & 1 == 1 {
        (node, last) = (node >> 1, last >> 1);
    }
    let (mut of_old, mut of_new) = (first, first);
    for other in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            (of_old, of_new) = (node_hash(&other, &of_old), node_hash(&other, &of_new));
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            of_new = node_hash(&of_new, &other);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && of_old == *old_root && of_new == *new_root
}
