//! A row that was found by one of its names.

use crate::search::hit::NameMatch;

/// Whose or what name it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NameKind {
    /// The row's own name.
    Own,
    Former,
    /// A name it does business under.
    Assumed,
    /// A person of the business; `LAST, FIRST` is taken apart.
    Principal,
}

impl NameKind {
    pub(super) fn of_number(number: u8) -> Self {
        [Self::Own, Self::Former, Self::Assumed]
            .into_iter()
            .find(|kind| *kind as u8 == number)
            .unwrap_or(Self::Principal)
    }

    /// What it costs that the name is not the row's own, in ten-thousandths.
    pub(super) fn handicap(self) -> i32 {
        match self {
            Self::Own => 0,
            Self::Assumed => 200,
            Self::Former | Self::Principal => 500,
        }
    }
}

/// A row that was found by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHit {
    pub row: u32,
    /// Ten-thousandths.
    pub score: i32,
    pub kind: NameKind,
    pub fit: NameMatch,
    /// Number of the name, in the order in which they were added where nothing else puts them in
    /// order.
    pub name: u32,
}

impl RowHit {
    /// The word in answers: how the name fits, or whose it is.
    pub fn label(&self) -> &'static str {
        match self.kind {
            NameKind::Own => self.fit.name(),
            NameKind::Former => "former_name",
            NameKind::Assumed => "dba",
            NameKind::Principal => "principal",
        }
    }
}
