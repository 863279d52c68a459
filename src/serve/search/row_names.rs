//! Names with the rows they are of: one name for each row and more for some, or names that many rows share.

use std::collections::HashMap;

use crate::canonical::name::{Forms, SearchedName, searched};
use crate::error::{Error, Result};
use crate::serve::index::file::{Column, Small, stored};
use crate::serve::index::key_hash::hash;
use crate::serve::search::names::{Name, Names, NamesBuilder};
use crate::serve::search::query::{MatchMode, NameMatch, Query, person_words, spelling_hash};

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
    fn of_number(number: u8) -> Self {
        [Self::Own, Self::Former, Self::Assumed].into_iter().find(|kind| *kind as u8 == number).unwrap_or(Self::Principal)
    }

    /// What it costs that the name is not the row's own, in ten-thousandths.
    fn handicap(self) -> i32 {
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
    /// Number of the name: those of the rows themselves in their order, then the others in the order in which they were added.
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

/// Names of rows.
#[derive(Debug, Default)]
pub struct RowNames {
    names: Names,
    /// Hashes of the names as they are written.
    raw: Column<u32>,
    rows: Small<u32>,
    /// Rows of the names after those of the rows themselves.
    others: Column<u32>,
    /// What kind each of these is, as a number.
    kinds: Column<u8>,
}

stored!(RowNames { names, raw, rows, others, kinds });

/// Names of rows on their way into an index.
#[derive(Debug, Default)]
pub struct RowNamesBuilder {
    names: NamesBuilder,
    raw: Vec<u32>,
    others: Vec<(u32, NameKind, Box<str>)>,
    forms: Forms,
}

impl RowNamesBuilder {
    /// For names of companies of any country, which are also found by words that are unfinished.
    pub fn of_companies() -> Self {
        Self { names: NamesBuilder::with_begun_words(), forms: Forms::OfAnyCountry, ..Self::default() }
    }

    /// Adds the next row's own name, in the form it is compared in and as it is written.
    ///
    /// # Errors
    /// `Store`, when there are too many names.
    pub fn push(&mut self, name: Name<'_>, raw: &str) -> Result<()> {
        self.names.push(name)?;
        self.raw.push(spelling_hash(raw));
        Ok(())
    }

    /// Adds another name of a row.
    pub fn add(&mut self, row: u32, kind: NameKind, text: &str) {
        self.others.push((row, kind, text.into()));
    }

    /// Sorts everything.
    ///
    /// # Errors
    /// `Store`, when there are too many names.
    pub fn finish(mut self) -> Result<RowNames> {
        let rows = u32::try_from(self.raw.len()).map_err(|_| Error::store("more rows than an index can number"))?;
        let (mut others, mut kinds) = (Vec::with_capacity(self.others.len()), Vec::with_capacity(self.others.len()));
        for (row, kind, text) in self.others {
            match text.split_once(',').filter(|_| kind == NameKind::Principal) {
                Some((last, given)) => self.names.push(Name::Person { last: &person_words(last).join(" "), given: &person_words(given).join(" ") })?,
                None => {
                    let SearchedName { core, form } = searched(&text, self.forms);
                    self.names.push(Name::Organization { core: &core, form: &form })?
                }
            };
            self.raw.push(spelling_hash(&text));
            others.push(row);
            kinds.push(kind as u8);
        }
        Ok(RowNames { names: self.names.finish()?, raw: self.raw.into(), rows: Small(rows), others: others.into(), kinds: kinds.into() })
    }
}

impl RowNames {
    /// Finds rows, each once with the name that fits best; in no order. Returns whether there may be more.
    pub fn search(&self, query: &Query, mode: MatchMode, accepts: &dyn Fn(u32, NameKind) -> bool) -> (Vec<RowHit>, bool) {
        let owner = |number: u32| match number.checked_sub(*self.rows) {
            None => (number, NameKind::Own),
            Some(other) => (self.others[other as usize], NameKind::of_number(self.kinds[other as usize])),
        };
        let found = self.names.search(
            query,
            mode,
            &|number| {
                let (row, kind) = owner(number);
                accepts(row, kind)
            },
            &|number| self.raw[number as usize],
        );
        let row_hit = |hit: &crate::serve::search::query::Hit| {
            let (row, kind) = owner(hit.number);
            RowHit { row, score: (hit.score - kind.handicap()).max(1), kind, fit: hit.fit, name: hit.number }
        };
        let mut hits: Vec<RowHit> = found.hits.iter().map(row_hit).collect();
        hits.sort_by(|a, b| a.row.cmp(&b.row).then(b.score.cmp(&a.score)));
        hits.dedup_by_key(|hit| hit.row);
        (hits, found.is_cut)
    }

    pub fn size_bytes(&self) -> usize {
        self.names.size_bytes() + self.raw.size_bytes() + self.others.size_bytes() + self.kinds.size_bytes()
    }
}

/// Names that many rows share, each kept once.
#[derive(Debug, Default)]
pub struct SharedNames {
    names: Names,
    /// Place of each name's first row.
    starts: Column<u32>,
    rows: Column<u32>,
}

stored!(SharedNames { names, starts, rows });

/// Shared names on their way into an index.
#[derive(Debug, Default)]
pub struct SharedBuilder {
    names: NamesBuilder,
    known: HashMap<u64, u32>,
    /// Number of the name, and row.
    pairs: Vec<(u32, u32)>,
}

impl SharedBuilder {
    /// Adds a row's name.
    ///
    /// # Errors
    /// `Store`, when there are too many names.
    pub fn add(&mut self, text: &str, row: u32) -> Result<()> {
        let SearchedName { core, form } = searched(text, Forms::OfStates);
        if core.is_empty() {
            return Ok(());
        }
        let hashed = hash(&[&core, &form]);
        let number = match self.known.get(&hashed) {
            Some(number) => *number,
            None => {
                let number = self.names.push(Name::Organization { core: &core, form: &form })?;
                self.known.insert(hashed, number);
                number
            }
        };
        self.pairs.push((number, row));
        Ok(())
    }

    /// Sorts everything.
    ///
    /// # Errors
    /// `Store`, when there are too many names.
    pub fn finish(mut self) -> Result<SharedNames> {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        let names = self.names.finish()?;
        let mut starts = Vec::with_capacity(names.len() + 1);
        for (place, (number, _)) in self.pairs.iter().enumerate() {
            while starts.len() <= *number as usize {
                starts.push(place as u32);
            }
        }
        starts.push(self.pairs.len() as u32);
        let rows: Vec<u32> = self.pairs.into_iter().map(|(_, row)| row).collect();
        Ok(SharedNames { names, starts: starts.into(), rows: rows.into() })
    }
}

impl SharedNames {
    /// Finds rows by name with their scores, each once; in the order of rows. Returns whether there may be more.
    pub fn search(&self, query: &Query, mode: MatchMode, accepts: &dyn Fn(u32) -> bool) -> (Vec<RowHit>, bool) {
        let found = self.names.search(query, mode, &|_| true, &|_| 0);
        let mut hits = Vec::new();
        for hit in found.hits {
            let rows = &self.rows[self.starts[hit.number as usize] as usize..self.starts[hit.number as usize + 1] as usize];
            hits.extend(rows.iter().filter(|row| accepts(**row)).map(|row| RowHit {
                row: *row,
                score: hit.score,
                kind: NameKind::Own,
                fit: hit.fit,
                name: hit.number,
            }));
        }
        hits.sort_by(|a, b| a.row.cmp(&b.row).then(b.score.cmp(&a.score)));
        hits.dedup_by_key(|hit| hit.row);
        (hits, found.is_cut)
    }

    pub fn size_bytes(&self) -> usize {
        self.names.size_bytes() + self.starts.size_bytes() + self.rows.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::search::names::Name;
    use crate::serve::search::row_names::{RowNamesBuilder, SharedBuilder};

    #[test]
    fn a_name_takes_well_under_a_hundred_bytes() {
        let (mut own, mut shared) = (RowNamesBuilder::default(), SharedBuilder::default());
        let count: u32 = 20_000;
        for row in 0..count {
            // 27 letters, four words, one of them rare, and a legal form, as in a registry.
            let name = format!("SOUTHERN {:05} HOLDINGS GROUP LLC", row / 5);
            own.push(Name::Organization { core: &name[..name.len() - 4], form: "LLC" }, &name).unwrap();
            shared.add(&format!("AGENT {} CORP", row / 10), row).unwrap();
        }
        let (own, shared) = (own.finish().unwrap(), shared.finish().unwrap());
        let (own, shared) = (own.size_bytes() as f64 / f64::from(count), shared.size_bytes() as f64 / f64::from(count));
        // With twelve bytes for each of two keys the whole index of a business stays below a hundred.
        assert!(own < 70.0 && shared < 15.0, "{own} {shared}");
    }
}
