//! Checks that a part is read once for all who ask, that the bound on what is kept holds, and that damaged bytes are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use crate::error::Result;
use crate::ids::{Digest, ReleaseId};
use crate::serve::release::part_cache::{CachedPart, PartCache};
use crate::store::{Copies, Home, Part, PartReport, Releases};

static READ: AtomicUsize = AtomicUsize::new(0);

/// The part's bytes themselves.
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
        sha256: Digest::of(bytes),
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
    let named: Vec<Part> = [b'a', b'b', b'c'].map(|letter| part(&format!("test.plain/{}", letter as char), &[letter; 40])).into();
    for (part, letter) in named.iter().zip([b'a', b'b', b'c']) {
        releases.put_part(&id, &part.path, Bytes::from(vec![letter; 40])).await.unwrap();
    }
    let parts = Arc::new(PartCache::new(releases.clone(), Copies::new(folder.path().join("tables"), 1), 100, Digest::of(b"")));
    let [a, b, c] = named.as_slice() else { unreachable!() };

    let asking: Vec<_> = (0..8).map(|_| parts.get::<Plain>(&id, a)).collect();
    for held in futures_util::future::join_all(asking).await {
        assert_eq!(held.unwrap().0, vec![b'a'; 40]);
    }
    assert_eq!(READ.load(Ordering::Relaxed), 1, "one reading for all who ask at the same time");
    parts.get::<Plain>(&id, b).await.unwrap();
    parts.get::<Plain>(&id, a).await.unwrap();
    parts.get::<Plain>(&id, c).await.unwrap();
    assert_eq!(parts.kept.lock().unwrap().size_bytes, 80, "the bound is kept");
    parts.get::<Plain>(&id, a).await.unwrap();
    assert_eq!(READ.load(Ordering::Relaxed), 3, "what was used last stayed");
    parts.get::<Plain>(&id, b).await.unwrap();
    assert_eq!(READ.load(Ordering::Relaxed), 4, "what was not used for longest went");

    let damaged = Part { sha256: Digest::of(b"other"), ..a.clone() };
    for _ in 0..2 {
        let error = parts.get::<Plain>(&id, &damaged).await.err().unwrap().to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}
