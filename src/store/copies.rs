//! Keeps copies of large parts as uncompressed Arrow files, from which individual rows can be read
//! without decoding a part. The file is mapped into memory, and the system loads only the pages
//! that are used. The bytes of a row are contiguous (`serve::release::row_cells`), so that reading
//! a row touches only one or two pages. A copy is derived from a part and named by the part's
//! digest. A lost copy is created again.
//!
//! Indexes over a dataset's parts are kept in the same way, named by the digests of all parts.
//! Structures derived from a part for use in memory are also kept like this, but they are read
//! rather than mapped.
//!
//! ```text
//! HOME/state/tables/<channel>/<sha256 of the part>-<of the columns>.<versions>.arrow    an Arrow file, then the XXH3 of its bytes
//! HOME/state/tables/<channel>/<sha256 of the digests of a dataset's parts>-<kind of index>.<versions>.arrow
//! ```

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use arrow::array::RecordBatch;
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::Schema;
use arrow::ipc::convert::try_fb_to_schema;
use arrow::ipc::reader::{FileDecoder, read_footer_length};
use arrow::ipc::root_as_footer;
use arrow::ipc::writer::FileWriter;
use bytes::Bytes;
use memmap2::Mmap;
use twox_hash::xxhash3_128::Hasher;

use super::files::open_file;
use super::{Manifest, Part};
use pubdata_core::error::{Error, IoExt, Result, ResultExt};
use pubdata_core::ids::Digest;

/// Format version, included in every file name. Copies in another format are not read but removed.
pub(super) const FORMAT_VERSION: u32 = 3;

/// Returns the suffix of copies that this version of the program reads.
fn ending() -> String {
    format!(".{FORMAT_VERSION}-{}.arrow", env!("CARGO_PKG_VERSION"))
}
/// Length of the 128-bit, big-endian XXH3 checksum. XXH3 detects a truncated or damaged file as
/// reliably as SHA-256, and much faster, which matters because a server reads gigabytes when it
/// starts. It does not protect against a process that may write to this folder, but such a process
/// could also write any digest.
const CHECKSUM_BYTES: usize = 16;
/// Approximate size of rows in bytes per byte of Parquet.
const ROW_BYTES_OF_PARQUET: usize = 8;
/// An unfinished file older than this is considered abandoned.
const LONGEST_WRITING: Duration = Duration::from_secs(3600);
/// Size of the length field and the magic bytes at the end of an Arrow file.
const TRAILER_BYTES: usize = 10;

/// The record batches of a copy, and the mapped file that contains these batches.
pub struct Copy {
    pub batches: Vec<RecordBatch>,
    pub file: MappedFile,
}

/// A file that is mapped into memory. The system kills a process that reads a page beyond the end
/// of the file. Callers therefore check before each response that the file has not changed since it
/// was mapped.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    length: u64,
    modified: Option<SystemTime>,
}

impl MappedFile {
    fn new(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            file,
        })
    }

    /// Returns whether the file has not been truncated or modified since it was mapped. A mapped
    /// file remains valid even if its name was removed or replaced.
    pub fn is_as_mapped(&self) -> bool {
        self.file
            .metadata()
            .is_ok_and(|now| now.len() == self.length && now.modified().ok() == self.modified)
    }
}

/// A folder of copies.
#[derive(Debug, Clone)]
pub struct Copies {
    folder: PathBuf,
    /// Tables smaller than this are kept in memory.
    min_file_bytes: usize,
    written: Arc<AtomicU64>,
}

impl Copies {
    pub fn new(folder: PathBuf, min_file_bytes: usize) -> Self {
        Self {
            folder,
            min_file_bytes,
            written: Arc::default(),
        }
    }

    /// Returns whether a table is large enough to be served from a copy.
    pub fn is_large(&self, size_bytes: usize) -> bool {
        size_bytes >= self.min_file_bytes
    }

    /// Returns whether parts of this compressed size have so many rows that structures derived from
    /// the rows are kept in a file.
    pub fn exceed_memory_limit(&self, part_bytes: u64) -> bool {
        usize::try_from(part_bytes)
            .is_ok_and(|bytes| self.is_large(bytes.saturating_mul(ROW_BYTES_OF_PARQUET)))
    }

    fn path(&self, of: &Digest, form: &str) -> PathBuf {
        let form = Digest::sha256(form.as_bytes());
        self.folder
            .join(format!("{of}-{}{}", form.short(16), ending()))
    }

    /// Returns whether the file exists. The file is not verified and may be damaged.
    pub fn is_there(&self, of: &Digest, form: &str) -> bool {
        self.path(of, form).exists()
    }

    /// Opens the copy of a part, or an index over parts, in a given form. Returns `None` if the
    /// file does not exist or is damaged.
    pub fn open(&self, of: &Digest, form: &str) -> Result<Option<Copy>> {
        let path = self.path(of, form);
        let Some(file) = opened(&path)? else {
            return Ok(None);
        };
        if !is_whole(&file).at("read", &path)? {
            warn_damaged(&path);
            return Ok(None);
        }
        map(file).context(|| path.display().to_string()).map(Some)
    }

    /// Reads a copy into heap memory. This suits data that is read so often that even checking the
    /// file's modification time would be too slow. Returns `None` if the file does not exist or is
    /// damaged.
    pub fn read(&self, of: &Digest, form: &str) -> Result<Option<Vec<RecordBatch>>> {
        let path = self.path(of, form);
        let Some(file) = opened(&path)? else {
            return Ok(None);
        };
        let Some(content) = content_of(&file).at("read", &path)? else {
            warn_damaged(&path);
            return Ok(None);
        };
        batches_of(content)
            .context(|| path.display().to_string())
            .map(Some)
    }

    /// Writes the copy of a part, or an index over parts, as a read-only file and opens it. All
    /// batches must have `schema`.
    pub fn write(
        &self,
        of: &Digest,
        form: &str,
        schema: &Schema,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
    ) -> Result<Copy> {
        let path = self.path(of, form);
        fs::create_dir_all(&self.folder).at("create folder", &self.folder)?;
        // The file is not synced, because a file truncated by a crash fails its checksum.
        let unfinished = path.with_extension(format!(
            "{}-{}",
            std::process::id(),
            self.written.fetch_add(1, Ordering::Relaxed)
        ));
        let written = fill(&unfinished, schema, batches);
        if let Err(error) = written.and_then(|()| {
            seal(&unfinished)
                .and_then(|()| fs::rename(&unfinished, &path))
                .at("write", &path)
        }) {
            // If the disk is full, the unfinished file must not take up space that other files
            // need.
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        map(open_file(&path).at("open", &path)?).context(|| path.display().to_string())
    }

    /// Removes copies of parts that are in none of these releases, copies from other program
    /// versions, and unfinished files left by a killed server. A process that has a removed file
    /// open can still use it.
    pub fn keep_only(&self, manifests: &[&Manifest]) {
        let datasets = || {
            manifests
                .iter()
                .flat_map(|manifest| manifest.datasets.values())
        };
        let of_parts = datasets()
            .flat_map(|dataset| &dataset.parts)
            .map(|part| part.sha256);
        let needed: BTreeSet<String> = of_parts
            .chain(datasets().map(|dataset| of_all(&dataset.parts)))
            .map(|digest| digest.to_string())
            .collect();
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            let is_of_now = match path
                .extension()
                .is_some_and(|extension| extension == "arrow")
            {
                true => name.ends_with(&ending()),
                false => age(&path).is_none_or(|age| age <= LONGEST_WRITING),
            };
            let is_selected = is_of_now
                && name
                    .split_once('-')
                    .is_some_and(|(part, _)| needed.contains(part));
            if !is_selected && let Err(error) = fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), "cannot remove an unneeded copy: {error}");
            }
        }
    }
}

/// Returns the name for files derived from all parts of a dataset.
pub fn of_all(parts: &[Part]) -> Digest {
    let lines: String = parts
        .iter()
        .map(|part| format!("{} {}\n", part.path, part.sha256))
        .collect();
    Digest::sha256(lines.as_bytes())
}

/// A writer that hashes the bytes written to it.
struct Hashing {
    file: BufWriter<File>,
    hasher: Hasher,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes an Arrow file followed by its checksum.
fn fill(
    path: &Path,
    schema: &Schema,
    batches: impl IntoIterator<Item = Result<RecordBatch>>,
) -> Result<()> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path).at("create", path)?);
    let mut writer = FileWriter::try_new(
        Hashing {
            file,
            hasher: Hasher::new(),
        },
        schema,
    )?;
    for batch in batches {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    let Hashing { mut file, hasher } = writer.into_inner()?;
    file.write_all(&hasher.finish_128().to_be_bytes())
        .and_then(|()| file.flush())
        .at("write", path)
}

/// Makes a file read-only, so that it is not changed by mistake while it is mapped.
fn seal(path: &Path) -> io::Result<()> {
    let mut permissions = path.metadata()?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path, permissions)
}

fn age(path: &Path) -> Option<Duration> {
    path.metadata()
        .and_then(|metadata| metadata.modified())
        .ok()?
        .elapsed()
        .ok()
}

fn opened(path: &Path) -> Result<Option<File>> {
    match open_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.at("open", path).map(Some),
    }
}

fn warn_damaged(path: &Path) {
    tracing::warn!(path = %path.display(), "a copy of a part is damaged; rebuilding it");
}

/// Returns the bytes before the checksum; `None` if the checksum does not match.
fn content_of(mut file: &File) -> io::Result<Option<Buffer>> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let Some(end) = length
        .checked_sub(CHECKSUM_BYTES)
        .filter(|end| *end > TRAILER_BYTES)
    else {
        return Ok(None);
    };
    // The buffer is aligned as Arrow arrays require.
    let mut bytes = MutableBuffer::from_len_zeroed(length);
    file.read_exact(&mut bytes)?;
    let mut hasher = Hasher::new();
    hasher.write(&bytes[..end]);
    let is_whole = hasher.finish_128().to_be_bytes() == bytes[end..];
    Ok(is_whole.then(|| Buffer::from(bytes).slice_with_length(0, end)))
}

/// Returns whether a file ends with the checksum of the bytes before it.
fn is_whole(mut file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let Some(length) = length
        .checked_sub(CHECKSUM_BYTES as u64)
        .filter(|length| *length > TRAILER_BYTES as u64)
    else {
        return Ok(false);
    };
    let (mut hasher, mut content) = (Hasher::new(), file.take(length));
    let mut buffer = vec![0; 1 << 18];
    loop {
        match content.read(&mut buffer)? {
            0 => break,
            read => hasher.write(&buffer[..read]),
        }
    }
    let mut expected = [0; CHECKSUM_BYTES];
    file.read_exact(&mut expected)?;
    Ok(hasher.finish_128().to_be_bytes() == expected)
}

/// Maps a file that [`Copies::write`] created or that [`is_whole`] has verified.
#[expect(unsafe_code, reason = "a file can be mapped in no other way")]
fn map(file: File) -> Result<Copy> {
    let file = MappedFile::new(file).map_err(|error| Error::store(error.to_string()))?;
    // SAFETY: behaviour is undefined if the file changes while it is mapped. Copies are read-only
    // and receive their final name only when complete. They are replaced or removed as a whole,
    // which leaves the mapped file unchanged. A change made by another program is detected before
    // the next response (`MappedFile::is_as_mapped`).
    let mapped =
        unsafe { Mmap::map(&file.file) }.map_err(|error| Error::store(error.to_string()))?;
    let end = mapped
        .len()
        .checked_sub(CHECKSUM_BYTES)
        .ok_or_else(|| Error::store("not an Arrow file: it is too short"))?;
    let batches = batches_of(Buffer::from(Bytes::from_owner(mapped).slice(..end)))?;
    Ok(Copy { batches, file })
}

/// Returns the record batches in a file whose checksum matches.
#[expect(
    unsafe_code,
    reason = "looking at every array again would touch every page"
)]
fn batches_of(content: Buffer) -> Result<Vec<RecordBatch>> {
    let not_arrow =
        |error: &dyn std::fmt::Display| Error::store(format!("not an Arrow file: {error}"));
    let trailer = content
        .len()
        .checked_sub(TRAILER_BYTES)
        .ok_or_else(|| not_arrow(&"it is too short"))?;
    let length = read_footer_length(
        content[trailer..]
            .try_into()
            .map_err(|error| not_arrow(&error))?,
    )?;
    let start = trailer
        .checked_sub(length)
        .ok_or_else(|| not_arrow(&"its footer is longer than the file"))?;
    let footer = root_as_footer(&content[start..trailer]).map_err(|error| not_arrow(&error))?;
    let schema = try_fb_to_schema(
        footer
            .schema()
            .ok_or_else(|| not_arrow(&"it has no schema"))?,
    )?;
    // SAFETY: the checksum proves that this program wrote the arrays. Validating each array again
    // would mean reading the entire file.
    let decoder =
        unsafe { FileDecoder::new(Arc::new(schema), footer.version()).with_skip_validation(true) };
    let place = |number: i64| usize::try_from(number).map_err(|error| not_arrow(&error));
    let mut batches = Vec::new();
    for block in footer.recordBatches().into_iter().flatten() {
        let bytes = content.slice_with_length(
            place(block.offset())?,
            place(block.bodyLength() + i64::from(block.metaDataLength()))?,
        );
        batches.extend(decoder.read_record_batch(block, &bytes)?);
    }
    Ok(batches)
}
