//! Reads and extends a channel's log, an append-only Merkle tree of the releases that the channel
//! has pointed at. The files follow C2SP `tlog-tiles`. The data of a leaf is the 32-byte digest of
//! a release's seal.
//!
//! ```text
//! log/<channel>/tile/entries/<number>      the data of 256 leaves, each preceded by a two-byte length; the last file, `….p/<width>`, may have fewer
//! log/<channel>/tile/<level>/<number>      256 hashes; the last file of a level, `….p/<width>`, may have fewer
//! log/<channel>/checkpoint/<size>          signed note; ten digits; the highest number is current
//! log/<channel>/key                        the key that verifies the newest checkpoint
//! ```
//!
//! Logging a leaf begins with creating its entries file. If two publishers try this, only one
//! succeeds, and the other continues after that leaf. Everything else is a function of the leaves
//! and the key, so the next publisher can finish what a killed publisher began, with the same
//! bytes. Before the checkpoint is written, the publisher's home stores what is signed, so a log
//! that was replaced or restored from a backup is not continued.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use super::note::{Checkpoint, SigningKey, VerifierKey};
use super::tree::{leaf_hash, root};
use crate::{Home, Releases, remember_signed_note, signed_note};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::Digest;

/// Number of hashes in a full tile.
pub const TILE: usize = 256;
/// Number of bytes that a leaf occupies in a bundle: the length and the data.
const ENTRY_BYTES: usize = 2 + 32;

/// A channel's log.
pub struct Log<'a> {
    releases: &'a Releases,
    channel: &'a str,
}

/// A complete log that agrees with its checkpoint.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The data of the leaves: seal digests.
    pub seals: Vec<Digest>,
    /// The signed note of the log.
    pub note: String,
}

impl Logged {
    /// Returns the hashes of the leaves.
    pub fn leaves(&self) -> Vec<Digest> {
        self.seals
            .iter()
            .map(|seal| leaf_hash(seal.as_bytes()))
            .collect()
    }

    /// Returns the index at which a seal was most recently logged.
    pub fn index_of(&self, seal: &Digest) -> Option<usize> {
        self.seals.iter().rposition(|known| known == seal)
    }
}

impl<'a> Log<'a> {
    pub fn new(releases: &'a Releases, channel: &'a str) -> Self {
        Self { releases, channel }
    }

    pub(super) fn channel(&self) -> &str {
        self.channel
    }

    /// Returns the path of a log file, for use in messages.
    pub(super) fn path_of(&self, name: &str) -> String {
        format!("log/{}/{name}", self.channel)
    }

    /// Returns the path of a checkpoint, for use in messages.
    pub(super) fn file_of_checkpoint(&self, size: u64) -> String {
        self.path_of(&checkpoint_name(size))
    }

    /// Reads the key that verifies the newest checkpoint; `None` if the file is missing.
    pub(super) async fn key(&self) -> Result<Option<String>> {
        let bytes = self.releases.log_file(self.channel, "key").await?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the names of hash tiles that are missing or do not match the log's entries.
    pub(super) async fn changed_tiles(&self, logged: &Logged) -> Result<Vec<String>> {
        let mut changed = Vec::new();
        let (mut level, mut hashes) = (0, logged.leaves());
        while !hashes.is_empty() {
            for (number, tile) in hashes.chunks(TILE).enumerate() {
                let name = tile_name(&format!("{level}"), number, tile.len());
                let expected: Vec<u8> = tile.iter().flat_map(|hash| *hash.as_bytes()).collect();
                match self.releases.log_file(self.channel, &name).await? {
                    Some(bytes) if bytes == expected => {}
                    Some(_) => changed.push(format!(
                        "{} is not the tile of the log's entries",
                        self.path_of(&name)
                    )),
                    None => changed.push(format!("{} is missing", self.path_of(&name))),
                }
            }
            hashes = hashes.chunks_exact(TILE).map(root).collect();
            level += 1;
        }
        Ok(changed)
    }

    /// Returns the newest signed note and its size; `None` if no release has been sealed yet.
    /// `known` is a size that the log once had, or 0.
    pub async fn newest_note(&self, known: u64) -> Result<Option<(u64, Bytes)>> {
        let from = match known {
            0 => self
                .releases
                .log_sizes(self.channel)
                .await?
                .last()
                .copied()
                .unwrap_or_default(),
            known => known,
        };
        let mut newest = None;
        for size in from.max(1).. {
            match self
                .releases
                .log_file(self.channel, &checkpoint_name(size))
                .await?
            {
                Some(note) => newest = Some((size, note)),
                None => break,
            }
        }
        Ok(newest)
    }

    /// Reads the log; `None` if no release has been sealed yet.
    ///
    /// # Errors
    /// `Store`, when a log file is missing, or when the leaves do not match the checkpoint.
    pub async fn read(&self) -> Result<Option<Logged>> {
        let Some(size) = self.releases.log_sizes(self.channel).await?.last().copied() else {
            return Ok(None);
        };
        let damaged = |reason: &str| {
            Error::store(format!(
                "the log of channel `{}` is damaged: {reason}",
                self.channel
            ))
            .hint(LOST)
        };
        let file = self.file_of_checkpoint(size);
        let note = self
            .releases
            .log_file(self.channel, &checkpoint_name(size))
            .await?
            .ok_or_else(|| damaged(&format!("{file} is missing")))?;
        let note = String::from_utf8(note.to_vec())
            .map_err(|_| damaged(&format!("{file} is not text")))?;
        let checkpoint = Checkpoint::parse(&note).filter(|checkpoint| checkpoint.size == size);
        let checkpoint = checkpoint
            .ok_or_else(|| damaged(&format!("{file} is not a checkpoint of size {size}")))?;
        let size = usize::try_from(size).map_err(|_| damaged("it is too long"))?;
        let mut seals = Vec::new();
        for number in 0..size.div_ceil(TILE) {
            let name = tile_name("entries", number, TILE.min(size - number * TILE));
            let bundle = self
                .releases
                .log_file(self.channel, &name)
                .await?
                .ok_or_else(|| damaged(&format!("{} is missing", self.path_of(&name))))?;
            seals.extend(
                entries(&bundle)
                    .ok_or_else(|| damaged(&format!("{} is cut short", self.path_of(&name))))?,
            );
        }
        let logged = Logged { seals, note };
        if logged.seals.len() != size || root(&logged.leaves()) != checkpoint.root {
            return Err(damaged(&format!(
                "its leaves are not those of its checkpoint {file}"
            )));
        }
        Ok(Some(logged))
    }

    /// Reads the log and verifies that the publisher's current or previous key signed it. Returns
    /// `None` if no release has been sealed yet.
    ///
    /// # Errors
    /// Same as for [`Log::read`]; `Store`, when a different key signed the log, or when the log
    /// does not continue the log that this home signed.
    pub async fn signed_by(&self, signer: &Signer<'_>) -> Result<Option<Logged>> {
        let key = signer.key.of_log(self.channel)?;
        let logged = self.read().await?;
        if let Some(logged) = &logged
            && signer.opened(&key, &logged.note).is_none()
        {
            let message = format!(
                "the newest checkpoint of the log of channel `{}` is not signed by {}",
                self.channel,
                key.name()
            );
            return Err(Error::store(message).hint("if another key of yours signed it, run `pubdata seal --continues KEY` with its verification key; otherwise somebody else has written below log/"));
        }
        Ok(logged)
    }

    /// Logs the seals that are not yet in the log, in the given order, and signs each size of the
    /// log. If only the key is new, logs the last seal once more.
    ///
    /// # Errors
    /// Same as for [`Log::signed_by`]; `Busy`, when another publisher has logged seals that are
    /// unknown to this publisher; `Store`, when the log cannot be written.
    pub async fn append(&self, seals: &[Digest], signer: &Signer<'_>) -> Result<Logged> {
        let key = signer.key.of_log(self.channel)?;
        let known = self.signed_by(signer).await?;
        let is_continued = known
            .as_ref()
            .is_some_and(|known| key.verifier().opened(&known.note).is_none());
        let mut logged = known.unwrap_or_else(|| Logged {
            seals: Vec::new(),
            note: String::new(),
        });
        let mut waiting: VecDeque<Digest> = seals
            .iter()
            .filter(|seal| logged.index_of(seal).is_none())
            .copied()
            .collect();
        if waiting.is_empty() && is_continued {
            waiting.extend(logged.seals.last());
        }
        let known_seals: BTreeSet<Digest> = seals.iter().chain(&logged.seals).copied().collect();
        loop {
            let next = match self.partial_leaf_after(&logged.seals).await? {
                Some(partial) if known_seals.contains(&partial) => partial,
                Some(_) => return Err(self.continued_by_another(logged.seals.len() + 1)),
                None => match waiting.front() {
                    None => break,
                    Some(seal) => *seal,
                },
            };
            let with_next = [&logged.seals[..], &[next]].concat();
            let (name, bundle) = entries_of(&with_next);
            if self
                .releases
                .create_log_file(self.channel, &name, bundle.into())
                .await?
                .is_some()
            {
                // Another publisher was faster. The next step is to finish the leaf that it began.
                continue;
            }
            waiting.retain(|seal| *seal != next);
            let planned = [&with_next[..], &Vec::from(waiting.clone())].concat();
            let remembered = self.remembered_in(&planned, &key, signer)?;
            logged = self.complete(with_next, &key, signer, remembered).await?;
        }
        if !logged.seals.is_empty() {
            self.remembered_in(&logged.seals, &key, signer)?;
            self.releases
                .put_log_file(self.channel, "key", format!("{}\n", key.verifier()).into())
                .await?;
        }
        Ok(logged)
    }

    fn continued_by_another(&self, size: usize) -> Error {
        let message = format!(
            "the log of channel `{}` was continued meanwhile with a release that this publisher does not know",
            self.channel
        );
        let (name, _) = entries_of(&vec![Digest::sha256(b""); size]);
        let hint = format!(
            "run `pubdata seal` again, which continues after it; if that fails too, none of your publishers wrote log/{}/{name}: delete it",
            self.channel
        );
        Error::new(ErrorKind::Busy, message).hint(hint)
    }

    /// Returns the leaf after `seals` that a publisher has begun to log but not signed yet.
    async fn partial_leaf_after(&self, seals: &[Digest]) -> Result<Option<Digest>> {
        let (name, _) = entries_of(&[seals, &[Digest::sha256(b"")]].concat());
        let Some(bundle) = self.releases.log_file(self.channel, &name).await? else {
            return Ok(None);
        };
        let damaged = || {
            Error::store(format!(
                "the log of channel `{}` is damaged: {name} does not continue it",
                self.channel
            ))
            .hint("delete that file: no checkpoint includes it")
        };
        let mut partial = entries(&bundle).ok_or_else(damaged)?;
        let last = partial.pop().ok_or_else(damaged)?;
        if seals.ends_with(&partial) && partial.len() == seals.len() % TILE {
            Ok(Some(last))
        } else {
            Err(damaged())
        }
    }

    /// Writes the tiles of the newest leaf, signs, and writes the checkpoint. `remembered` is the
    /// largest size that this home has signed.
    async fn complete(
        &self,
        seals: Vec<Digest>,
        key: &SigningKey,
        signer: &Signer<'_>,
        remembered: u64,
    ) -> Result<Logged> {
        let leaves: Vec<Digest> = seals
            .iter()
            .map(|seal| leaf_hash(seal.as_bytes()))
            .collect();
        for (level, number, tile) in new_tiles(&leaves) {
            let bytes: Vec<u8> = tile.iter().flat_map(|hash| *hash.as_bytes()).collect();
            self.releases
                .put_log_file(
                    self.channel,
                    &tile_name(&level.to_string(), number, tile.len()),
                    bytes.into(),
                )
                .await?;
        }
        let checkpoint = Checkpoint {
            origin: key.name().to_owned(),
            size: leaves.len() as u64,
            root: root(&leaves),
        };
        let note = key.sign(&checkpoint.to_text());
        if remembered < checkpoint.size {
            remember_signed_note(signer.home, self.channel, &note)?;
        }
        if self
            .releases
            .create_log_file(
                self.channel,
                &checkpoint_name(checkpoint.size),
                note.clone().into(),
            )
            .await?
            .is_some()
        {
            let message = format!(
                "size {} of the log of channel `{}` was signed by another key",
                checkpoint.size, self.channel
            );
            return Err(Error::store(message).hint(
                "a log has one signing key: `pubdata seal --continues KEY` continues after the other",
            ));
        }
        Ok(Logged { seals, note })
    }

    /// Returns the log size that this home signed last, or 0 if it has not signed any.
    ///
    /// # Errors
    /// `Store`, when the leaves do not begin with the leaves that were signed.
    fn remembered_in(
        &self,
        seals: &[Digest],
        key: &SigningKey,
        signer: &Signer<'_>,
    ) -> Result<u64> {
        let Some(note) = signed_note(signer.home, self.channel)? else {
            return Ok(0);
        };
        // Neither key signed the note, so it belongs to a log with another name.
        let Some(checkpoint) = signer.opened(key, &note).and_then(Checkpoint::parse) else {
            return Ok(0);
        };
        if continues(seals, &checkpoint) {
            return Ok(checkpoint.size);
        }
        let message = format!(
            "the log of channel `{}` does not have the {} releases that this home signed",
            self.channel, checkpoint.size
        );
        Err(Error::store(message).hint(LOST))
    }
}

/// Returns whether `seals` begin with the seals of a checkpoint.
pub(super) fn continues(seals: &[Digest], checkpoint: &Checkpoint) -> bool {
    let signed = usize::try_from(checkpoint.size)
        .ok()
        .and_then(|size| seals.get(..size));
    let leaves: Option<Vec<Digest>> = signed.map(|seals| {
        seals
            .iter()
            .map(|seal| leaf_hash(seal.as_bytes()))
            .collect()
    });
    leaves.is_some_and(|leaves| root(&leaves) == checkpoint.root)
}

/// Hint for a log that does not continue the signed log.
const LOST: &str = "restore the newest backup of log/. A log that has lost signed entries cannot be continued under its name: clients that have seen them would see a fork. Without a backup, move it away and start another one with another key: `pubdata keys signing --name …`";

/// The keys and the home used to sign a log.
#[derive(Clone, Copy)]
pub struct Signer<'s> {
    /// The key under the publisher's name, not under the log's name.
    pub key: &'s SigningKey,
    /// The previous key, if `key` replaces it.
    pub continues: Option<&'s VerifierKey>,
    /// The home in which signed notes are stored.
    pub home: &'s Home,
}

impl Signer<'_> {
    /// Returns the text of a note if this publisher signed it.
    fn opened<'n>(&self, key: &SigningKey, note: &'n str) -> Option<&'n str> {
        key.verifier()
            .opened(note)
            .or_else(|| self.continues?.opened(note))
    }
}

/// A tile of a log as C2SP `tlog-tiles` defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Level of the hashes; `None` for leaf data.
    level: Option<u32>,
    number: u64,
    width: u64,
}

impl Tile {
    /// Parses a tile's name, which has exactly one spelling.
    pub fn parse(name: &str) -> Option<Self> {
        let (level, rest) = name.strip_prefix("tile/")?.split_once('/')?;
        let (number, width) = match rest.split_once(".p/") {
            Some((number, width)) => (number, width.parse().ok()?),
            None => (rest, TILE),
        };
        let mut all = 0_u64;
        for digits in number.split('/') {
            all = all
                .checked_mul(1_000)?
                .checked_add(digits.strip_prefix('x').unwrap_or(digits).parse().ok()?)?;
        }
        if tile_name(level, usize::try_from(all).ok()?, width) != name || width == 0 {
            return None;
        }
        let of_hashes = || {
            level
                .parse()
                .ok()
                .filter(|number: &u32| number.to_string() == level && *number < 8)
        };
        let level = if level == "entries" {
            None
        } else {
            Some(of_hashes()?)
        };
        Some(Self {
            level,
            number: all,
            width: width as u64,
        })
    }

    /// Returns whether a log of that size contains the complete tile.
    pub fn is_in(&self, size: u64) -> bool {
        let hashes = size >> (8 * self.level.unwrap_or_default());
        self.number
            .checked_mul(TILE as u64)
            .and_then(|before| before.checked_add(self.width))
            .is_some_and(|end| end <= hashes)
    }
}

/// Returns the name and content of the entries file that contains the newest of these leaves.
fn entries_of(seals: &[Digest]) -> (String, Vec<u8>) {
    let number = (seals.len() - 1) / TILE;
    let of_last = &seals[number * TILE..];
    let bundle = of_last
        .iter()
        .flat_map(|seal| [&[0, 32][..], seal.as_bytes()].concat())
        .collect();
    (tile_name("entries", number, of_last.len()), bundle)
}

/// Parses the leaves in an entries file; `None` if the file is malformed.
fn entries(bundle: &[u8]) -> Option<Vec<Digest>> {
    bundle
        .chunks(ENTRY_BYTES)
        .map(|entry| {
            Some(Digest::from_bytes(
                entry.strip_prefix(&[0, 32])?.try_into().ok()?,
            ))
        })
        .collect()
}

/// Returns the tiles that contain a log's newest leaf or that gain a hash through it, each with its
/// level, number and hashes.
fn new_tiles(leaves: &[Digest]) -> Vec<(u32, usize, Vec<Digest>)> {
    let mut tiles = Vec::new();
    let mut level = 0;
    let mut beneath = 1;
    while leaves.len().is_multiple_of(beneath) {
        let hashes = leaves.len() / beneath;
        let number = (hashes - 1) / TILE;
        let tile = (number * TILE..hashes)
            .map(|index| root(&leaves[index * beneath..(index + 1) * beneath]))
            .collect();
        tiles.push((level, number, tile));
        (level, beneath) = (level + 1, beneath * TILE);
    }
    tiles
}

fn checkpoint_name(size: u64) -> String {
    format!("checkpoint/{size:010}")
}

/// Returns the name of a tile: `tile/0/x001/234`, or `tile/0/x001/234.p/17` for a tile with 17
/// hashes.
pub fn tile_name(level: &str, number: usize, width: usize) -> String {
    let mut name = format!("{:03}", number % 1_000);
    let mut rest = number / 1_000;
    while rest > 0 {
        name = format!("x{:03}/{name}", rest % 1_000);
        rest /= 1_000;
    }
    let partial = if width < TILE {
        format!(".p/{width}")
    } else {
        String::new()
    };
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
    fn tile_has_one_name_and_is_in_a_log_with_all_its_hashes() {
        let of = |level, number, width| {
            Some(Tile {
                level,
                number,
                width,
            })
        };
        assert_eq!(Tile::parse("tile/0/000.p/1"), of(Some(0), 0, 1));
        assert_eq!(
            Tile::parse("tile/1/x001/x234/067"),
            of(Some(1), 1_234_067, 256)
        );
        assert_eq!(Tile::parse("tile/entries/273.p/112"), of(None, 273, 112));
        for other in [
            "tile/0/0",
            "tile/0/000.p/0",
            "tile/0/000.p/256",
            "tile/0/000.p/01",
            "tile/0/000.p/1/",
            "tile/00/000",
            "tile/8/000",
            "tile/0/x000/001",
            "tile/0/.",
            "tile/0/",
            "tile/0/000.p/1/x",
            "tile/0/+01",
            "tile/leaves/000",
        ] {
            assert_eq!(Tile::parse(other), None, "{other}");
        }
        let is_in = |name: &str, size| Tile::parse(name).unwrap().is_in(size);
        assert!(is_in("tile/0/000.p/2", 2) && !is_in("tile/0/000.p/2", 1));
        assert!(is_in("tile/0/001", 512) && !is_in("tile/0/001", 511));
        assert!(is_in("tile/1/000.p/2", 512) && !is_in("tile/1/000.p/2", 511));
        assert!(is_in("tile/entries/001.p/1", 257) && !is_in("tile/7/000", u64::MAX >> 8));
    }

    #[test]
    fn upper_tile_contains_the_roots_of_the_tiles_below() {
        let leaves: Vec<Digest> = (0..512_u32)
            .map(|leaf| leaf_hash(&leaf.to_be_bytes()))
            .collect();
        let levels: Vec<(u32, usize, usize)> = new_tiles(&leaves)
            .into_iter()
            .map(|(level, number, tile)| (level, number, tile.len()))
            .collect();
        assert_eq!(levels, [(0, 1, 256), (1, 0, 2)]);
        assert_eq!(
            new_tiles(&leaves)[1].2,
            [root(&leaves[..256]), root(&leaves[256..])]
        );
        assert_eq!(new_tiles(&leaves[..511]).len(), 1);
    }
}
