//! Reads the files of a store that is a folder. Opening a file never waits for another process.
//! Reading has a time limit that is sufficient for any working disk.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;

use super::files::open_file;
use pubdata_core::error::{Error, IoExt, Result};

/// Time limit for a disk operation, extended by one second per mebibyte to read.
const PATIENCE: Duration = Duration::from_secs(60);
/// Size of a piece when a file is read piece by piece.
const PIECE_BYTES: usize = 1 << 20;

/// Reads a file; `None` if it does not exist.
pub(super) async fn read(path: PathBuf) -> Result<Option<Bytes>> {
    let Some((mut file, size_bytes)) = open(&path).await? else {
        return Ok(None);
    };
    let read = move || {
        let mut bytes = Vec::with_capacity(usize::try_from(size_bytes).unwrap_or(0));
        file.read_to_end(&mut bytes).map(|_| bytes)
    };
    in_time(&path, size_bytes, read)
        .await
        .map(|bytes| Some(bytes.into()))
}

/// Reads one byte range of a file.
pub(super) async fn read_range(path: PathBuf, range: Range<u64>) -> Result<Bytes> {
    Ok(read_ranges(path, std::slice::from_ref(&range))
        .await?
        .pop()
        .unwrap_or_default())
}

/// Reads byte ranges of a file.
pub(super) async fn read_ranges(path: PathBuf, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let Some((file, _)) = open(&path).await? else {
        return Err(io::Error::from(io::ErrorKind::NotFound)).at("read", &path);
    };
    let (ranges, size_bytes) = (ranges.to_vec(), ranges.iter().map(length).sum());
    let read = move || {
        let read = |range: &Range<u64>| {
            let mut bytes = vec![0; usize::try_from(length(range)).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, range.start)
                .map(|()| Bytes::from(bytes))
        };
        ranges.iter().map(read).collect()
    };
    in_time(&path, size_bytes, read).await
}

/// Passes the bytes of a file to `take` piece by piece; returns false if the file does not exist.
pub(super) async fn read_pieces(
    path: PathBuf,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<bool> {
    let Some((file, _)) = open(&path).await? else {
        return Ok(false);
    };
    let (mut file, mut piece) = (file, vec![0; PIECE_BYTES]);
    loop {
        let length;
        (file, piece, length) = in_time(&path, 0, move || {
            file.read(&mut piece).map(|length| (file, piece, length))
        })
        .await?;
        if length == 0 {
            return Ok(true);
        }
        take(&piece[..length])?;
    }
}

/// Returns the size of a file; `None` if it does not exist.
pub(super) async fn size(path: PathBuf) -> Result<Option<u64>> {
    let look = {
        let path = path.clone();
        move || match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(|found| (!found.is_dir()).then_some(found.len())),
        }
    };
    in_time(&path, 0, look).await
}

/// Opens a file and returns it with its size; `None` if it does not exist.
async fn open(path: &Path) -> Result<Option<(File, u64)>> {
    let opening = path.to_owned();
    let open = move || match open_file(&opening) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => {
            let file = opened?;
            let metadata = file.metadata()?;
            Ok((!metadata.is_dir()).then_some((file, metadata.len())))
        }
    };
    in_time(path, 0, open).await
}

/// Runs blocking work on another thread, and abandons that thread if the disk does not respond.
async fn in_time<T: Send + 'static>(
    path: &Path,
    size_bytes: u64,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let patience = PATIENCE + Duration::from_secs(size_bytes >> 20);
    match tokio::time::timeout(patience, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done.at("read", path),
        Ok(Err(error)) => Err(Error::store(format!(
            "reading {} was stopped: {error}",
            path.display()
        ))),
        Err(_) => Err(Error::store(format!(
            "cannot read {}: the disk has not answered for {} s",
            path.display(),
            patience.as_secs()
        ))
        .hint("check the disk, or its network connection; then run again")),
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_read_of_a_file_is_what_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let (path, absent) = (folder.path().join("file"), folder.path().join("absent"));
        let content: Vec<u8> = (0..3_000_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        std::fs::write(&path, &content).unwrap();
        assert_eq!(read(path.clone()).await.unwrap().unwrap(), content);
        assert_eq!(
            read_ranges(path.clone(), &[5..9, 0..0, 2_999_999..3_000_000])
                .await
                .unwrap(),
            [&content[5..9], &[], &content[2_999_999..]]
        );
        assert!(
            read_range(path.clone(), 2_999_999..3_000_001)
                .await
                .is_err(),
            "beyond its end"
        );
        let mut pieces = Vec::new();
        let take = |piece: &[u8]| {
            pieces.extend_from_slice(piece);
            Ok(())
        };
        assert!(read_pieces(path.clone(), take).await.unwrap());
        assert_eq!(
            (pieces, size(path).await.unwrap()),
            (content, Some(3_000_000))
        );
        for absent in [absent, folder.path().to_owned()] {
            assert_eq!(
                (
                    read(absent.clone()).await.unwrap(),
                    size(absent.clone()).await.unwrap()
                ),
                (None, None)
            );
            assert!(!read_pieces(absent, |_| Ok(())).await.unwrap());
        }
    }
}
