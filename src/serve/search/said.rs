//! What is said of a name beside each word that it has, in eight bytes, so that most of a search
//! needs no look at names.

/// In the number of words that is said of a name: of a person, and of a name with too many to say.
pub const PERSON: u64 = LENGTH;
pub const MANY: u64 = LENGTH - 1;
/// Bits of what is said of a name beside each word that it has: how many words it has, its legal
/// form apart; that it has one of them more than once; that this is the first; that the name is
/// marked; that it has this one more than once. The others are signs of its words.
const LENGTH: u64 = 0x1F;
pub const REPEATS: u64 = 0x20;
pub const FIRST: u64 = 0x40;
pub const MARKED: u64 = 0x80;
pub const TWICE: u64 = 0x100;
/// Bits below the signs.
const SAID: u32 = 9;
/// So many of the commonest words have a bit of their own: their long lists are not asked whether a
/// name has them.
pub const COMMON: u32 = 8;

/// What stands beside the words of the names that have a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signs {
    /// Bits that each name has which has the word.
    pub bits: u64,
    /// Whether no other name has them.
    pub are_sure: bool,
}

impl Signs {
    /// Of a word that no name has: no name has all bits.
    pub const OF_NO_NAME: Self = Self {
        bits: u64::MAX,
        are_sure: false,
    };

    /// By the word's hash: five bits, so that of the names of three words that do not have it one
    /// in five hundred has all of them. Not of the hash's highest bits, by which words are spread
    /// over the index.
    pub fn of_hash(hash: u64) -> Self {
        const BELOW: u32 = SAID + COMMON;
        let place = |from: u32| {
            u64::from(BELOW) + (((hash >> from & 0x1FF) * u64::from(u64::BITS - BELOW)) >> 9)
        };
        Self {
            bits: [0, 9, 18, 27, 36]
                .into_iter()
                .fold(0, |bits, from| bits | 1 << place(from)),
            are_sure: false,
        }
    }

    /// Of one of the commonest words.
    pub fn of_common(place: usize) -> Self {
        Self {
            bits: 1 << (SAID as usize + place),
            are_sure: true,
        }
    }
}

/// What is known of a name without a look at it.
#[derive(Debug, Clone, Copy)]
pub struct Said(u64);

impl Said {
    /// By what stands beside one of its words.
    pub fn new(says: u64) -> Self {
        Self(says)
    }

    pub fn is_person(self) -> bool {
        self.0 & LENGTH == PERSON
    }

    /// How many words an organisation's name has, its legal form apart; none of a person, and of a
    /// name with very many.
    pub fn length(self) -> Option<usize> {
        Some(self.0 & LENGTH)
            .filter(|length| *length < MANY)
            .map(|length| length as usize)
    }

    /// Whether it has a word more than once.
    pub fn has_repeats(self) -> bool {
        self.0 & REPEATS != 0
    }

    /// Whether it has the word more than once.
    pub fn has_twice(self) -> bool {
        self.0 & TWICE != 0
    }

    /// Whether it is an organisation's name of so many words or more, not of very many, has the
    /// word once and is not marked: no branch, so that many are looked at together.
    pub fn is_plain(self, least: usize) -> bool {
        let length = self.0 & LENGTH;
        (length >= least as u64) & (length < MANY) & (self.0 & (TWICE | MARKED) == 0)
    }

    /// Whether the word is its first.
    pub fn is_first(self) -> bool {
        self.0 & FIRST != 0
    }

    /// Whether whoever made the names marked it.
    pub fn is_marked(self) -> bool {
        self.0 & MARKED != 0
    }
}
