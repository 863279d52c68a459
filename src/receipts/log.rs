//! The log of a channel: which releases it has pointed at, as a tree that only grows, in files that any web server can hand out (C2SP
//! `tlog-tiles`). A leaf's data is the 32 bytes of the digest of a release's seal.
//!
//! ```text
//! log/<channel>/checkpoint/<size>          signed, ten digits; the highest one is the log's present
//! log/<channel>/tile/<level>/<number>      256 hashes, the last of a level `….p/<width>` with fewer
//! log/<channel>/tile/entries/<number>      the data of 256 leaves, each behind its length in two bytes
//! log/<channel>/key                        what the newest checkpoint is verified with
//! ```

use bytes::Bytes;

use super::note::{Checkpoint, SigningKey};
use super::seal::Seal;
use super::tree::{leaf_hash, root};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Digest;
use crate::store::Releases;

/// Hashes of a whole tile.
const TILE: usize = 256;
/// Bytes of a leaf's data in a bundle, with their length.
const ENTRY_BYTES: usize = 2 + 32;

/// A channel's log.
pub struct Log<'a> {
    releases: &'a Releases,
    channel: &'a str,
}

/// A log as it was read: whole, and of one piece with its checkpoint.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The data of its leaves: digests of seals.
    pub seals: Vec<Digest>,
    /// The signed note.
    pub note: String,
}

impl Logged {
    /// The hashes of its leaves.
    pub fn leaves(&self) -> Vec<Digest> {
        self.seals.iter().map(|seal| leaf_hash(seal.as_bytes())).collect()
    }

    /// Where a seal was logged last.
    pub fn index_of(&self, seal: &Digest) -> Option<usize> {
        self.seals.iter().rposition(|known| known == seal)
    }
}

impl<'a> Log<'a> {
    pub fn of(releases: &'a Releases, channel: &'a str) -> Self {
        Self { releases, channel }
    }

    /// The newest signed note; none before the first release was sealed.
    ///
    /// # Errors
    /// `Store`, when it cannot be read.
    pub async fn newest_note(&self) -> Result<Option<Bytes>> {
        match self.releases.log_sizes(self.channel).await?.last() {
            Some(size) => self.releases.log_file(self.channel, &checkpoint_name(*size)).await,
            None => Ok(None),
        }
    }

    /// Reads the log; none before the first release was sealed.
    ///
    /// # Errors
    /// `Store`, when a file of it is missing, or its leaves are not those of its checkpoint.
    pub async fn read(&self) -> Result<Option<Logged>> {
        let Some(size) = self.releases.log_sizes(self.channel).await?.last().copied() else { return Ok(None) };
        let damaged = |reason: &str| {
            Error::store(format!("the log of channel `{}` is damaged: {reason}", self.channel))
                .hint("put the files below log/ back from a backup: a log that is begun anew is another one to whoever has seen this one")
        };
        let note = self.releases.log_file(self.channel, &checkpoint_name(size)).await?.ok_or_else(|| damaged("its checkpoint is missing"))?;
        let note = String::from_utf8(note.to_vec()).map_err(|_| damaged("its checkpoint is no text"))?;
        let checkpoint = Checkpoint::parse(&note).filter(|checkpoint| checkpoint.size == size).ok_or_else(|| damaged("its checkpoint is no checkpoint"))?;
        let size = usize::try_from(size).map_err(|_| damaged("it is too long"))?;
        let mut seals = Vec::new();
        for number in 0..size.div_ceil(TILE) {
            let name = tile_name("entries", number, TILE.min(size - number * TILE));
            let bundle = self.releases.log_file(self.channel, &name).await?.ok_or_else(|| damaged(&format!("{name} is missing")))?;
            for entry in bundle.chunks(ENTRY_BYTES) {
                let seal = entry.strip_prefix(&[0, 32]).and_then(|seal| seal.try_into().ok()).ok_or_else(|| damaged(&format!("{name} is cut short")))?;
                seals.push(Digest::from_bytes(seal));
            }
        }
        let logged = Logged { seals, note };
        if logged.seals.len() != size || root(&logged.leaves()) != checkpoint.root {
            return Err(damaged("its leaves are not those of its checkpoint"));
        }
        Ok(Some(logged))
    }

    /// Logs a seal, unless it is the last one that was, and signs the log. `key` bears the publisher's name, not yet the log's.
    ///
    /// # Errors
    /// `Busy`, when another publisher has logged something else meanwhile; `Store`, when the log is damaged or cannot be written.
    pub async fn append(&self, seal: &Seal, key: &SigningKey) -> Result<Logged> {
        let key = key.of_log(self.channel)?;
        let known = self.read().await?;
        let digest = seal.release.digest();
        let of_this_key = |known: &&Logged| key.verifier().opened(&known.note).is_some();
        if let Some(known) = known.as_ref().filter(|known| known.seals.last() == Some(&digest)).filter(of_this_key) {
            return Ok(known.clone());
        }
        let mut seals = known.map(|known| known.seals).unwrap_or_default();
        seals.push(digest);
        let leaves: Vec<Digest> = seals.iter().map(|seal| leaf_hash(seal.as_bytes())).collect();
        let (number, of_last) = ((leaves.len() - 1) / TILE, (leaves.len() - 1) / TILE * TILE..leaves.len());
        let bundle: Vec<u8> = seals[of_last.clone()].iter().flat_map(|seal| [&[0, 32][..], seal.as_bytes()].concat()).collect();
        self.write(&tile_name("entries", number, of_last.len()), bundle).await?;
        for (level, number, tile) in new_tiles(&leaves) {
            self.write(&tile_name(&level.to_string(), number, tile.len()), tile.iter().flat_map(|hash| *hash.as_bytes()).collect()).await?;
        }
        let checkpoint = Checkpoint { origin: key.name().to_owned(), size: leaves.len() as u64, root: root(&leaves) };
        let note = key.sign(&checkpoint.to_text());
        let name = checkpoint_name(checkpoint.size);
        if self.releases.create_log_file(self.channel, &name, note.clone().into()).await?.is_some() {
            let message = format!("the log of channel `{}` was continued by another publisher meanwhile", self.channel);
            return Err(Error::new(ErrorKind::Busy, message).hint("`pubdata seal` again: it goes on behind what the other logged"));
        }
        self.releases.put_log_file(self.channel, "key", format!("{}\n", key.verifier()).into()).await?;
        Ok(Logged { seals, note })
    }

    /// A tile depends on what is logged alone. One that a killed publisher left without a checkpoint gives way.
    async fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        self.releases.put_log_file(self.channel, name, Bytes::from(bytes)).await
    }
}

/// The tiles that a log's newest leaf is in, or that it completes the hashes of: level, number and hashes of each.
fn new_tiles(leaves: &[Digest]) -> Vec<(u32, usize, Vec<Digest>)> {
    let mut tiles = Vec::new();
    let mut level = 0;
    let mut beneath = 1;
    while leaves.len().is_multiple_of(beneath) {
        let hashes = leaves.len() / beneath;
        let number = (hashes - 1) / TILE;
        let tile = (number * TILE..hashes).map(|index| root(&leaves[index * beneath..(index + 1) * beneath])).collect();
        tiles.push((level, number, tile));
        (level, beneath) = (level + 1, beneath * TILE);
    }
    tiles
}

fn checkpoint_name(size: u64) -> String {
    format!("checkpoint/{size:010}")
}

/// `tile/0/x001/234`, and `tile/0/x001/234.p/17` of a tile with 17 hashes.
fn tile_name(level: &str, number: usize, width: usize) -> String {
    let mut name = format!("{:03}", number % 1_000);
    let mut rest = number / 1_000;
    while rest > 0 {
        name = format!("x{:03}/{name}", rest % 1_000);
        rest /= 1_000;
    }
    let partial = if width < TILE { format!(".p/{width}") } else { String::new() };
    format!("tile/{level}/{name}{partial}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_called_as_c2sp_calls_them() {
        assert_eq!(tile_name("0", 5, 256), "tile/0/005");
        assert_eq!(tile_name("1", 1_234_067, 256), "tile/1/x001/x234/067");
        assert_eq!(tile_name("entries", 273, 112), "tile/entries/273.p/112");
    }

    #[test]
    fn a_tile_above_has_the_roots_of_those_beneath() {
        let leaves: Vec<Digest> = (0..512_u32).map(|leaf| leaf_hash(&leaf.to_be_bytes())).collect();
        let levels: Vec<(u32, usize, usize)> = new_tiles(&leaves).into_iter().map(|(level, number, tile)| (level, number, tile.len())).collect();
        assert_eq!(levels, [(0, 1, 256), (1, 0, 2)]);
        assert_eq!(new_tiles(&leaves)[1].2, [root(&leaves[..256]), root(&leaves[256..])]);
        assert_eq!(new_tiles(&leaves[..511]).len(), 1);
    }
}
