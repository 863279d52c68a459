//! Defines a row that was found by one of the row's names.

use crate::search::hit::NameMatch;

/// Kind of a row's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NameKind {
    /// The row's own name.
    Own,
    Former,
    /// A name under which the business trades.
    Assumed,
    /// A person in the business; `LAST, FIRST` is split.
    Principal,
}

impl NameKind {
    pub(super) fn of_number(number: u8) -> Self {
        [Self::Own, Self::Former, Self::Assumed]
            .into_iter()
            .find(|kind| *kind as u8 == number)
            .unwrap_or(Self::Principal)
    }

    /// Score penalty for a name that is not the row's own, in ten-thousandths.
    pub(super) fn handicap(self) -> i32 {
        match self {
            Self::Own => 0,
            Self::Assumed => 200,
            Self::Former | Self::Principal => 500,
        }
    }
}

/// A row found by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHit {
    pub row: u32,
    /// Score in ten-thousandths.
    pub score: i32,
    pub kind: NameKind,
    pub fit: NameMatch,
    /// Number of the name: insertion order, unless the index was sorted by precedence.
    pub name: u32,
}

impl RowHit {
    /// Returns the label used in answers: how the name matches, or whose name it is.
    pub fn label(&self) -> &'static str {
        match self.kind {
            NameKind::Own => self.fit.name(),
            NameKind::Former => "former_name",
            NameKind::Assumed => "dba",
            NameKind::Principal => "principal",
        }
    }
}
