//! A name that fits what is asked, and how.

/// How a name fits, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    Exact,
    Normalized,
    Prefix,
    Token,
    Misspelled,
}

impl NameMatch {
    /// The word in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normalized => "normalized",
            Self::Prefix => "prefix",
            Self::Token => "token",
            Self::Misspelled => "misspelled",
        }
    }
}

/// A name that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub number: u32,
    pub score: i32,
    pub fit: NameMatch,
    /// Whether whoever made the names marked it.
    pub is_marked: bool,
}
