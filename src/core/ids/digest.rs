//! Computes digests of in-memory bytes and streams, and converts digests to and from text. All
//! digests use SHA-256 except those of archive members, which are numerous and hashed again in each
//! build.

use std::fmt;
use std::io;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;

use super::ParseIdError;

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
/// Length of the longest digest text.
const TEXT_BYTES: usize = BLAKE3_PREFIX.len() + 64;

/// Prefix of the text form of a BLAKE3 digest.
const BLAKE3_PREFIX: &str = "blake3:";

/// A 32-byte digest, written as 64 lowercase hexadecimal digits. BLAKE3 digests have the prefix
/// `blake3:`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(inline, with = "String", extend("pattern" = "^[0-9a-f]{64}$"))]
pub struct Digest {
    algorithm: Algorithm,
    bytes: [u8; 32],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Algorithm {
    Sha256,
    Blake3,
}

impl Digest {
    /// Hashes bytes in memory with SHA-256.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self::from_bytes(sha2::Sha256::digest(bytes).into())
    }

    /// Hashes an archive member with BLAKE3.
    pub fn of_member(bytes: &[u8]) -> Self {
        Self {
            algorithm: Algorithm::Blake3,
            bytes: blake3::hash(bytes).into(),
        }
    }

    /// Hashes bytes with the same algorithm as this digest, so that the two can be compared.
    pub fn same_of(&self, bytes: &[u8]) -> Self {
        match self.algorithm {
            Algorithm::Sha256 => Self::sha256(bytes),
            Algorithm::Blake3 => Self::of_member(bytes),
        }
    }

    /// Creates a SHA-256 digest from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self {
            algorithm: Algorithm::Sha256,
            bytes,
        }
    }

    /// Returns the 32 digest bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Returns the first `digits` hexadecimal digits, for readable names.
    pub fn short(&self, digits: usize) -> String {
        self.write_digits(&mut [0; 64])[..digits].to_owned()
    }

    /// Writes the digest text into `room`. A manifest has thousands of digests, and formatting them
    /// byte by byte would take most of the time needed to read a manifest.
    fn write_text<'a>(&self, room: &'a mut [u8; TEXT_BYTES]) -> &'a str {
        let (prefix, digits) = room
            .split_last_chunk_mut()
            .expect("a text ends with 64 digits");
        prefix.copy_from_slice(BLAKE3_PREFIX.as_bytes());
        self.write_digits(digits);
        let from = if self.algorithm == Algorithm::Blake3 {
            0
        } else {
            BLAKE3_PREFIX.len()
        };
        std::str::from_utf8(&room[from..]).expect("prefix and hexadecimal digits are ASCII")
    }

    fn write_digits<'a>(&self, room: &'a mut [u8; 64]) -> &'a str {
        for (digits, byte) in room.as_chunks_mut::<2>().0.iter_mut().zip(self.bytes) {
            *digits = [
                HEX_DIGITS[usize::from(byte >> 4)],
                HEX_DIGITS[usize::from(byte & 15)],
            ];
        }
        std::str::from_utf8(room).expect("hexadecimal digits are ASCII")
    }
}

/// Hashes a stream piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Adds the next piece of the stream.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all pieces.
    pub fn finish(self) -> Digest {
        Digest::from_bytes(self.0.finalize().into())
    }
}

/// Hashes everything that is written. The hasher is unbuffered, so callers that make small writes
/// should add a buffer.
impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.write_text(&mut [0; TEXT_BYTES]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let error = || {
            ParseIdError::new(
                text,
                "a digest: 64 lower-case hexadecimal digits, with the prefix `blake3:` if it is not SHA-256",
            )
        };
        // Only one spelling is valid, because digest texts are compared and hashed.
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (algorithm, digits) = text
            .strip_prefix(BLAKE3_PREFIX)
            .map_or((Algorithm::Sha256, text), |digits| {
                (Algorithm::Blake3, digits)
            });
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)
                .zip(digit(*low))
                .map(|(high, low)| high << 4 | low)
                .ok_or_else(error)?;
        }
        Ok(Self { algorithm, bytes })
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.write_text(&mut [0; TEXT_BYTES]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DigestText)
    }
}

/// Parses a digest from a borrowed string, without copying it.
struct DigestText;

impl Visitor<'_> for DigestText {
    type Value = Digest;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Source: NIST, "Secure Hash Standard", example for the message "abc".
    const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    /// Source: BLAKE3 team, `test_vectors.json`: the hash of empty input.
    const OF_NOTHING_BY_BLAKE3: &str =
        "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    #[test]
    fn digest_has_exactly_one_spelling() {
        let digest = Digest::sha256(b"abc");
        assert_eq!(
            (digest.to_string().as_str(), digest.short(4).as_str()),
            (OF_ABC, "ba78")
        );
        assert_eq!(
            (
                OF_ABC.parse(),
                serde_json::from_str(&format!("\"{OF_ABC}\"")).ok()
            ),
            (Ok(digest), Some(digest))
        );
        assert_eq!(
            serde_json::to_string(&digest).unwrap(),
            format!("\"{OF_ABC}\"")
        );
        for bytes in [[0x00; 32], [0x0f; 32], [0xf0; 32], [0xff; 32], [0x9a; 32]] {
            let digest = Digest::from_bytes(bytes);
            assert_eq!(digest.to_string().parse(), Ok(digest));
        }
        let other_spellings = [
            OF_ABC.to_uppercase(),
            OF_ABC[1..].to_owned(),
            format!("{OF_ABC}0"),
            format!("{}+0", &OF_ABC[2..]),
            "é".repeat(32),
            String::new(),
        ];
        for text in other_spellings {
            assert!(text.parse::<Digest>().is_err(), "{text}");
            assert!(
                serde_json::from_value::<Digest>(text.clone().into())
                    .unwrap_err()
                    .to_string()
                    .contains("64 lower-case hexadecimal digits"),
                "{text}"
            );
        }
        assert!(serde_json::from_str::<Digest>("17").is_err());
    }

    #[test]
    fn member_digest_names_its_algorithm() {
        let digest = Digest::of_member(b"");
        assert_eq!(
            (digest.to_string().as_str(), digest.short(4).as_str()),
            (OF_NOTHING_BY_BLAKE3, "af13")
        );
        assert_eq!(
            (
                OF_NOTHING_BY_BLAKE3.parse(),
                serde_json::from_value(OF_NOTHING_BY_BLAKE3.into()).ok()
            ),
            (Ok(digest), Some(digest))
        );
        assert_eq!(serde_json::to_value(digest).unwrap(), OF_NOTHING_BY_BLAKE3);
        assert_ne!(digest, Digest::from_bytes(*digest.as_bytes()));
        assert_eq!(
            [digest.same_of(b"abc"), Digest::sha256(b"").same_of(b"abc")],
            [Digest::of_member(b"abc"), Digest::sha256(b"abc")]
        );
        for text in [
            &OF_NOTHING_BY_BLAKE3[1..],
            &OF_NOTHING_BY_BLAKE3[..70],
            "blake3:",
            &OF_NOTHING_BY_BLAKE3.to_uppercase(),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_into_a_hasher_is_hashed() {
        let mut hasher = Hasher::default();
        hasher.write_all(b"a").unwrap();
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), Digest::sha256(b"abc"));
    }
}
