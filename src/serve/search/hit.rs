//! Defines a name that matches a query, and how it matches.

/// How a name matches, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    Exact,
    Normalized,
    Prefix,
    Token,
    Misspelled,
}

impl NameMatch {
    /// Returns the label used in answers.
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

/// A matching name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub number: u32,
    pub score: i32,
    pub fit: NameMatch,
    /// True if the builder of the names marked this name.
    pub is_marked: bool,
}
