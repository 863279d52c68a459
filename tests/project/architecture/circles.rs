//! Finds files that import each other in a cycle: to understand one of them, a reader must read
//! all.

use std::collections::{BTreeMap, BTreeSet};

use super::source_text::SourceText;

/// Returns the files that each file imports, by path. A folder's `mod.rs` only re-exports names: an
/// import through it counts as an import of the file that defines the name.
fn imports(sources: &[SourceText]) -> BTreeMap<&str, BTreeSet<&str>> {
    let by_module: BTreeMap<Vec<String>, &SourceText> = sources
        .iter()
        .map(|source| (source.module(), source))
        .collect();
    let is_face =
        |source: &SourceText| source.path.ends_with("mod.rs") || source.path.ends_with("lib.rs");
    let target = |segments: &[String]| -> Option<&str> {
        let mut path: Vec<String> = segments.to_vec();
        // Each re-export leads nearer to the name; more than a few of them form a cycle.
        for _ in 0..8 {
            let (length, source) = (0..=path.len())
                .rev()
                .find_map(|length| Some((length, *by_module.get(&path[..length])?)))?;
            if !is_face(source) {
                return Some(source.path.as_str());
            }
            let name = path.get(length)?;
            let handed_on = source.references().into_iter().find(|reference| {
                reference.segments.last() == Some(name) && reference.segments.len() > length + 2
            })?;
            path = handed_on.segments[1..]
                .iter()
                .chain(&path[length + 1..])
                .cloned()
                .collect();
        }
        None
    };
    let of_file = |source: &SourceText| {
        let references = source.references();
        let within = references.iter().filter(|reference| {
            reference
                .segments
                .first()
                .is_some_and(|first| first == "crate")
        });
        within
            .filter_map(|reference| target(&reference.segments[1..]))
            .filter(|path| *path != source.path)
            .collect()
    };
    let is_read = |source: &&SourceText| !is_face(source) && !source.path.ends_with("tests.rs");
    sources
        .iter()
        .filter(is_read)
        .map(|source| (source.path.as_str(), of_file(source)))
        .collect()
}

/// Returns the files that can be reached from one.
fn reached<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(path) = next.pop() {
        next.extend(
            imports
                .get(path)
                .into_iter()
                .flatten()
                .copied()
                .filter(|path| seen.insert(*path)),
        );
    }
    seen
}

/// Returns files that reach themselves, each with those of its cycle.
pub fn circles(sources: &[SourceText]) -> Vec<String> {
    let imports = imports(sources);
    let reaches: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|path| (*path, reached(&imports, path)))
        .collect();
    let circle = |path: &str| -> BTreeSet<&str> {
        reaches[path]
            .iter()
            .copied()
            .filter(|other| reaches.get(other).is_some_and(|back| back.contains(path)))
            .collect()
    };
    let found: BTreeSet<BTreeSet<&str>> = reaches
        .keys()
        .map(|path| circle(path))
        .filter(|circle| !circle.is_empty())
        .collect();
    found
        .into_iter()
        .map(|circle| circle.into_iter().collect::<Vec<_>>().join(", "))
        .collect()
}
