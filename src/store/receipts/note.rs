//! Signs and verifies notes with keys as specified by C2SP (`signed-note`, `tlog-checkpoint`;
//! <https://c2sp.org>). A note consists of text followed by signatures.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Digest, Hasher};

/// The byte that identifies Ed25519 in a key.
const ED25519_KEY: u8 = 1;
const SEED_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;
const PRIVATE: &str = "PRIVATE+KEY+";
/// Prefix of a signature line.
const DASH: &str = "— ";

/// The publisher's key. It is used where releases are sealed, and is never on a server.
pub struct SigningKey {
    name: String,
    seed: [u8; SEED_BYTES],
    pair: Ed25519KeyPair,
}

/// The public key that verifies signatures: `name+hash+base64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    public: Vec<u8>,
}

/// The signed state of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the log, which equals the name of the key that signs it.
    pub origin: String,
    /// Number of leaves.
    pub size: u64,
    pub root: Digest,
}

/// Returns the first four bytes of the hash over a key's name and public key.
fn key_hash(name: &str, public: &[u8]) -> [u8; 4] {
    let mut hasher = Hasher::default();
    [name.as_bytes(), b"\n", &[ED25519_KEY], public]
        .iter()
        .for_each(|piece| hasher.update(piece));
    let [a, b, c, d, ..] = *hasher.finish().as_bytes();
    [a, b, c, d]
}

fn hex((name, public): (&str, &[u8])) -> String {
    key_hash(name, public)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn check_name(name: &str) -> Result<()> {
    if name.is_empty()
        || name.len() > 200
        || name
            .contains(|letter: char| letter == '+' || letter.is_whitespace() || letter.is_control())
    {
        return Err(Error::config(format!("`{name}` is not the name of a key"))
            .hint("a name without blanks and `+`, such as data.example.org/2026"));
    }
    Ok(())
}

impl SigningKey {
    /// Generates a random key.
    ///
    /// # Errors
    /// `Config`, when the name is not valid for a key; `Store`, when the system cannot provide
    /// random bytes.
    pub fn generate(name: &str) -> Result<Self> {
        let mut seed = [0; SEED_BYTES];
        getrandom::fill(&mut seed)
            .map_err(|error| Error::store(format!("the system gives no random bytes: {error}")))?;
        Self::from_seed(name, seed)
    }

    fn from_seed(name: &str, seed: [u8; SEED_BYTES]) -> Result<Self> {
        check_name(name)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
            .map_err(|error| Error::config(format!("not a signing key: {error}")))?;
        Ok(Self {
            name: name.to_owned(),
            seed,
            pair,
        })
    }

    /// Parses `PRIVATE+KEY+name+hash+base64`.
    ///
    /// # Errors
    /// `Config`, when the text is not a key in this format.
    pub fn parse(text: &str) -> Result<Self> {
        // The text is a secret, so error messages must not contain it.
        let not_one = || {
            Error::config("not a signing key")
                .hint("`pubdata keys signing` makes one: PRIVATE+KEY+name+hash+base64")
        };
        let mut fields = text
            .trim()
            .strip_prefix(PRIVATE)
            .ok_or_else(not_one)?
            .splitn(3, '+');
        let (Some(name), Some(hash), Some(key)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(not_one());
        };
        let key = BASE64.decode(key).map_err(|_| not_one())?;
        let seed = key
            .strip_prefix(&[ED25519_KEY])
            .and_then(|seed| seed.try_into().ok())
            .ok_or_else(not_one)?;
        let parsed = Self::from_seed(name, seed)?;
        if hex((name, parsed.pair.public_key().as_ref())) == hash {
            Ok(parsed)
        } else {
            Err(not_one())
        }
    }

    /// Returns the key as text, which is secret.
    pub fn to_private_text(&self) -> String {
        let key = BASE64.encode([&[ED25519_KEY][..], &self.seed].concat());
        format!(
            "{PRIVATE}{}+{}+{key}",
            self.name,
            hex((&self.name, self.pair.public_key().as_ref()))
        )
    }

    /// Returns the key under the name of a channel's log. Each log has a separate name.
    pub fn of_log(&self, channel: &str) -> Result<Self> {
        Self::from_seed(&format!("{}/{channel}", self.name), self.seed)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn verifier(&self) -> VerifierKey {
        VerifierKey {
            name: self.name.clone(),
            public: self.pair.public_key().as_ref().to_vec(),
        }
    }

    /// Signs text, which must end with a line break.
    pub fn sign(&self, text: &str) -> String {
        let hash = key_hash(&self.name, self.pair.public_key().as_ref());
        let signature =
            BASE64.encode([&hash[..], self.pair.sign(text.as_bytes()).as_ref()].concat());
        format!("{text}\n{DASH}{} {signature}\n", self.name)
    }
}

impl VerifierKey {
    /// Parses `name+hash+base64`.
    ///
    /// # Errors
    /// `Config`, when the text is not a key in this format.
    pub fn parse(text: &str) -> Result<Self> {
        if text.trim_start().starts_with(PRIVATE) {
            // The text is a secret, so error messages must not contain it.
            return Err(Error::config("this is a signing key, not a verification key").hint(
                "keep it secret; `pubdata keys signing` printed the verification key when it created this one, and `/v1/log/key` of your server shows it",
            ));
        }
        let not_one = |reason: &str| {
            let shown: String = text.trim().chars().take(200).collect();
            Error::config(format!("`{}` is not a verification key: {reason}", shown.escape_debug()))
                .hint("copy it again from the publisher; the key that a server shows at `/v1/log/key` proves nothing about that server")
        };
        let mut fields = text.trim().splitn(3, '+');
        let (Some(name), Some(hash), Some(key)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(not_one("it is not of the form name+hash+base64"));
        };
        check_name(name)?;
        let unreadable = || {
            not_one(
                "the text after the second `+` is not the Base64 of an Ed25519 key; a character may be wrong or missing",
            )
        };
        let key = BASE64.decode(key).map_err(|_| unreadable())?;
        let public = key
            .strip_prefix(&[ED25519_KEY])
            .filter(|public| public.len() == 32)
            .ok_or_else(unreadable)?
            .to_vec();
        if hex((name, &public)) != hash {
            return Err(not_one(
                "its hash is not that of its name and key; a character may be wrong",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            public,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of a note if this key has signed it. Signatures of other keys are ignored.
    pub fn opened<'n>(&self, note: &'n str) -> Option<&'n str> {
        let (text, signatures) = note.rsplit_once("\n\n")?;
        let text = &note[..=text.len()];
        let lines: Vec<&str> = signatures.strip_suffix('\n')?.split('\n').collect();
        // C2SP signed-note: only signatures follow the text.
        if !lines.iter().all(|line| line.starts_with(DASH)) {
            return None;
        }
        for line in lines {
            let Some((name, signature)) = line
                .strip_prefix(DASH)
                .and_then(|line| line.split_once(' '))
            else {
                continue;
            };
            if name != self.name {
                continue;
            }
            let signature = BASE64.decode(signature).ok()?;
            let (hash, signature) = signature.split_at_checked(4)?;
            if hash != key_hash(&self.name, &self.public) {
                continue;
            }
            // C2SP signed-note: an invalid signature of a known key rejects the note, even if other
            // signatures are valid.
            let is_signed = signature.len() == SIGNATURE_BYTES
                && UnparsedPublicKey::new(&ED25519, &self.public)
                    .verify(text.as_bytes(), signature)
                    .is_ok();
            return is_signed.then_some(text);
        }
        None
    }
}

impl std::fmt::Display for VerifierKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = BASE64.encode([&[ED25519_KEY][..], &self.public].concat());
        write!(
            formatter,
            "{}+{}+{key}",
            self.name,
            hex((&self.name, &self.public))
        )
    }
}

impl Checkpoint {
    /// Returns the text to sign: origin, number of leaves and root, each on a separate line.
    pub fn to_text(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.origin,
            self.size,
            BASE64.encode(self.root.as_bytes())
        )
    }

    /// Parses the text of a note, or an entire note. Lines after the first three are extensions.
    /// Does not verify signatures.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let digits: u64 = size
            .parse()
            .ok()
            .filter(|number: &u64| number.to_string() == size)?;
        let root = BASE64.decode(root).ok()?.try_into().ok()?;
        Some(Self {
            origin: origin.to_owned(),
            size: digits,
            root: Digest::from_bytes(root),
        })
    }
}
