//! Checks that concurrent requests share one read of a part, that the memory limit holds, and that
//! damaged bytes are rejected.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use crate::index::file::Column;
use crate::release::part_cache::{CachedPart, PartCache};
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{Copies, DatasetEntry, Home, Manifest, Part, PartReport, Releases};

static READ: AtomicUsize = AtomicUsize::new(0);

/// Unparsed bytes of the part.
struct Plain(Bytes);

impl CachedPart for Plain {
    const DATASET_ID: &'static str = "test.plain";

    fn read(bytes: Bytes, _path: &str) -> Result<Self> {
        READ.fetch_add(1, Ordering::Relaxed);
        Ok(Self(bytes))
    }

    fn size_bytes(&self) -> usize {
        self.0.len()
    }
}

fn part(path: &str, bytes: &[u8]) -> Part {
    Part {
        path: path.to_owned(),
        task_id: String::new(),
        partition: Default::default(),
        rows: 1,
        size_bytes: bytes.len() as u64,
        sha256: Digest::sha256(bytes),
        key_range: None,
        fingerprint: None,
        report: PartReport::default(),
    }
}

#[tokio::test]
async fn parts_are_read_once_kept_within_the_bound_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let releases = Releases::open(&Home::open(folder.path()).unwrap(), None).unwrap();
    let id: ReleaseId = "r00000000000000000000".parse().unwrap();
    let named: Vec<Part> = [b'a', b'b', b'c']
        .map(|letter| part(&format!("test.plain/{}", letter as char), &[letter; 40]))
        .into();
    for (part, letter) in named.iter().zip([b'a', b'b', b'c']) {
        releases
            .put_part(&id, &part.path, Bytes::from(vec![letter; 40]))
            .await
            .unwrap();
    }
    let parts = Arc::new(PartCache::new(
        releases.clone(),
        Copies::new(folder.path().join("tables"), 1),
        100,
        Digest::sha256(b""),
    ));
    let [a, b, c] = named.as_slice() else {
        unreachable!()
    };

    let asking: Vec<_> = (0..8).map(|_| parts.get::<Plain>(&id, a)).collect();
    for held in futures_util::future::join_all(asking).await {
        assert_eq!(held.unwrap().0, vec![b'a'; 40]);
    }
    assert_eq!(
        READ.load(Ordering::Relaxed),
        1,
        "concurrent requests share one read"
    );
    parts.get::<Plain>(&id, b).await.unwrap();
    parts.get::<Plain>(&id, a).await.unwrap();
    parts.get::<Plain>(&id, c).await.unwrap();
    assert_eq!(parts.kept.lock().unwrap().size_bytes, 80, "the limit holds");
    parts.get::<Plain>(&id, a).await.unwrap();
    assert_eq!(
        READ.load(Ordering::Relaxed),
        3,
        "the most recently used part stayed"
    );
    parts.get::<Plain>(&id, b).await.unwrap();
    assert_eq!(
        READ.load(Ordering::Relaxed),
        4,
        "the least recently used part was evicted"
    );

    let damaged = Part {
        sha256: Digest::sha256(b"other"),
        ..a.clone()
    };
    for _ in 0..2 {
        let error = parts
            .get::<Plain>(&id, &damaged)
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}

#[tokio::test]
async fn prepared_part_is_rebuilt_only_after_change_or_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (releases, tables) = (
        Releases::open(&Home::open(folder.path()).unwrap(), None).unwrap(),
        folder.path().join("tables"),
    );
    let cache = |min_file_bytes, program: &[u8]| {
        PartCache::new(
            releases.clone(),
            Copies::new(tables.clone(), min_file_bytes),
            100,
            Digest::sha256(program),
        )
    };
    let (part, cells) = (
        part("test.plain/part-0.parquet", &[7; 100]),
        (0..100_u32).map(|cell| cell * cell).collect::<Vec<_>>(),
    );
    let made = AtomicUsize::new(0);
    let ask = async |cache: &PartCache, decided_by: &str| {
        let make = async {
            made.fetch_add(1, Ordering::Relaxed);
            Ok(Column::from(cells.clone()))
        };
        let prepared: Column<u32> = cache.prepared(&part, decided_by, make).await.unwrap();
        assert_eq!(*prepared, *cells);
        made.load(Ordering::Relaxed)
    };
    let files = || std::fs::read_dir(&tables).map_or(0, Iterator::count);

    assert_eq!(
        ask(&cache(801, b"program"), "form").await,
        1,
        "a byte of Parquet counts as eight bytes of rows: this part is small"
    );
    assert_eq!(
        (ask(&cache(800, b"program"), "form").await, files()),
        (2, 1),
        "no other cache has written the file"
    );
    assert_eq!(
        (ask(&cache(800, b"program"), "form").await, files()),
        (2, 1),
        "read from its file"
    );
    assert_eq!(
        (ask(&cache(800, b"program"), "another").await, files()),
        (3, 2)
    );
    assert_eq!(
        (ask(&cache(800, b"another"), "form").await, files()),
        (4, 3)
    );
    for (number, path) in std::fs::read_dir(&tables)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .enumerate()
    {
        let mut bytes = std::fs::read(&path).unwrap();
        match number {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.truncate(3),
            _ => bytes[200] ^= 1,
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
    }
    for (program, decided_by) in [
        (&b"program"[..], "form"),
        (b"program", "another"),
        (b"another", "form"),
    ] {
        let before = made.load(Ordering::Relaxed);
        assert_eq!(
            ask(&cache(800, program), decided_by).await,
            before + 1,
            "a damaged file is rebuilt"
        );
        assert_eq!(ask(&cache(800, program), decided_by).await, before + 1);
    }
    let datasets = [(
        "test.plain".to_owned(),
        DatasetEntry {
            schema_version: String::new(),
            parts: vec![part.clone(), part.clone()],
        },
    )]
    .into();
    let manifest = Manifest {
        format_version: 1,
        release_id: "r00000000000000000000".parse().unwrap(),
        pubdata_version: String::new(),
        is_sample: false,
        tasks: Default::default(),
        datasets,
        declarations: Default::default(),
        sidecars: Default::default(),
        published_at: String::new(),
        run_id: String::new(),
    };
    cache(800, b"program").retain_copies(&[&manifest]);
    assert_eq!(files(), 3, "a release has the part");
    cache(800, b"program").retain_copies(&[]);
    assert_eq!(files(), 0);
}
