//! Encodes eight bytes about a name next to each of the name's words, so that most of a search does
//! not read names.

/// Values of the length bits for persons, and for names with too many words to count.
pub const PERSON: u64 = LENGTH;
pub const MANY: u64 = LENGTH - 1;
/// Bit layout of a posting payload. The lowest five bits hold the number of words in the name
/// without its legal form. Four flags follow: the name repeats a word, this word is its first, the
/// name is marked, the name contains this word more than once. The remaining bits are a bloom
/// filter of the name's words.
const LENGTH: u64 = 0x1F;
pub const REPEATS: u64 = 0x20;
pub const FIRST: u64 = 0x40;
pub const MARKED: u64 = 0x80;
pub const TWICE: u64 = 0x100;
/// Number of bits below the bloom filter.
const PAYLOAD_BITS: u32 = 9;
/// Number of most common words that have one bit each. A search does not need their long lists to
/// test whether a name contains them.
pub const COMMON: u32 = 8;

/// Signature bits of a word in the payloads of names that contain it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BloomBits {
    /// Bits that every name with the word carries.
    pub bits: u64,
    /// True if only names with the word carry these bits.
    pub are_exact: bool,
}

impl BloomBits {
    /// Signature of a word that occurs in no name, because no payload has all bits set.
    pub const MATCHES_NO_NAME: Self = Self {
        bits: u64::MAX,
        are_exact: false,
    };

    /// Derives five bits from the word's hash. Among names of three words that lack the word, one
    /// in five hundred carries all five bits. The highest bits of the hash are not used, because
    /// they distribute words over the index.
    pub fn from_word_hash(hash: u64) -> Self {
        const BELOW: u32 = PAYLOAD_BITS + COMMON;
        let place = |from: u32| {
            u64::from(BELOW) + (((hash >> from & 0x1FF) * u64::from(u64::BITS - BELOW)) >> 9)
        };
        Self {
            bits: [0, 9, 18, 27, 36]
                .into_iter()
                .fold(0, |bits, from| bits | 1 << place(from)),
            are_exact: false,
        }
    }

    /// Returns the signature of one of the most common words.
    pub fn for_common_word(place: usize) -> Self {
        Self {
            bits: 1 << (PAYLOAD_BITS as usize + place),
            are_exact: true,
        }
    }
}

/// Facts about a name that a search knows without reading the name.
#[derive(Debug, Clone, Copy)]
pub struct PostingPayload(u64);

impl PostingPayload {
    /// Decodes the payload stored next to one of the name's words.
    pub fn new(says: u64) -> Self {
        Self(says)
    }

    pub fn is_person(self) -> bool {
        self.0 & LENGTH == PERSON
    }

    /// Returns the number of words in an organisation's name without its legal form; `None` for a
    /// person and for a name with too many words to count.
    pub fn length(self) -> Option<usize> {
        Some(self.0 & LENGTH)
            .filter(|length| *length < MANY)
            .map(|length| length as usize)
    }

    /// Returns true if the name repeats any word.
    pub fn has_repeats(self) -> bool {
        self.0 & REPEATS != 0
    }

    /// Returns true if the name contains this word more than once.
    pub fn has_twice(self) -> bool {
        self.0 & TWICE != 0
    }

    /// Returns true for an unmarked organisation's name that contains the word once, has at least
    /// `least` words, and does not have too many words to count. Branch-free, so that the compiler
    /// can vectorise loops over it.
    pub fn is_plain(self, least: usize) -> bool {
        let length = self.0 & LENGTH;
        (length >= least as u64) & (length < MANY) & (self.0 & (TWICE | MARKED) == 0)
    }

    /// Returns true if the word is the first word of the name.
    pub fn is_first(self) -> bool {
        self.0 & FIRST != 0
    }

    /// Returns true if the builder of the names marked this name.
    pub fn is_marked(self) -> bool {
        self.0 & MARKED != 0
    }
}
