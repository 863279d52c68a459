//! Maps names to rows. A row may have several names, and many rows may share a name.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::index::file::{Column, Small, stored};
use crate::index::key_hash::hash;
use crate::search::collected::Collector;
use crate::search::hit::Hit;
use crate::search::names::{Name, Names, NamesBuilder};
use crate::search::query::{MatchMode, Query, person_words, spelling_hash};
use crate::search::rank::{First, Ranked, is_active};
use crate::search::row_hit::{NameKind, RowHit};
use pubdata_core::canonical::name::{Forms, SearchedName, searched};
use pubdata_core::error::{Error, Result};

/// The first rows of a search in order, and the total.
#[derive(Debug, Default)]
pub struct Found {
    pub first: Vec<Ranked>,
    /// Number of matching rows; a lower bound if it exceeds the number of rows to count.
    pub total: usize,
    /// True if the search stopped before it examined every candidate.
    pub is_cut: bool,
}

/// Specifies how much of a large result a search must find.
#[derive(Debug, Clone, Copy)]
pub struct Enough {
    /// Number of leading rows that must be exact.
    pub first: usize,
    /// Number of rows to count exactly; a larger total is only a lower bound.
    pub counted: usize,
}

/// Names of rows.
#[derive(Debug, Default)]
pub struct RowNames {
    names: Names,
    /// Hashes of the names as written.
    raw: Column<u32>,
    /// The row of each name.
    rows: Column<u32>,
    /// The kind of each name, encoded as a number.
    kinds: Column<u8>,
    /// Number of leading names that belong to active rows.
    active: Small<u32>,
}

stored!(RowNames {
    names,
    raw,
    rows,
    kinds,
    active
});

/// Builder for [`RowNames`].
#[derive(Debug, Default)]
pub struct RowNamesBuilder {
    names: NamesBuilder,
    raw: Vec<u32>,
    others: Vec<(u32, NameKind, Box<str>)>,
    forms: Forms,
}

impl RowNamesBuilder {
    /// Creates a builder for names of companies from any country, which can also be found by
    /// unfinished words.
    pub fn of_companies() -> Self {
        Self {
            names: NamesBuilder::with_unfinished_words(),
            forms: Forms::OfAnyCountry,
            ..Self::default()
        }
    }

    /// Adds the next row's own name, normalised and as written.
    pub fn push(&mut self, name: Name<'_>, raw: &str) -> Result<()> {
        self.names.push(name)?;
        self.raw.push(spelling_hash(raw));
        Ok(())
    }

    /// Adds another name of a row.
    pub fn add(&mut self, row: u32, kind: NameKind, text: &str) {
        self.others.push((row, kind, text.into()));
    }

    /// Builds the index. Names keep their insertion order; the rows' own names come first.
    pub fn finish(self) -> Result<RowNames> {
        self.finish_by(&[])
    }

    /// Builds the index with names numbered by the [`precedence`](super::rank::precedence) of their
    /// rows, so that ranking needs no lookup of the row.
    pub fn finish_by(mut self, precedence: &[u32]) -> Result<RowNames> {
        let own = u32::try_from(self.raw.len())
            .map_err(|_| Error::store("more rows than an index can number"))?;
        let (mut rows, mut kinds): (Vec<u32>, Vec<u8>) =
            ((0..own).collect(), vec![NameKind::Own as u8; own as usize]);
        for (row, kind, text) in std::mem::take(&mut self.others) {
            match text.split_once(',').filter(|_| kind == NameKind::Principal) {
                Some((last, given)) => self.names.push(Name::Person {
                    last: &person_words(last).join(" "),
                    given: &person_words(given).join(" "),
                })?,
                None => {
                    let SearchedName { core, form } = searched(&text, self.forms);
                    self.names.push(Name::Organization {
                        core: &core,
                        form: &form,
                    })?
                }
            };
            self.raw.push(spelling_hash(&text));
            rows.push(row);
            kinds.push(kind as u8);
        }
        let mut counts = vec![0_u8; rows.iter().max().map_or(0, |last| *last as usize + 1)];
        rows.iter()
            .for_each(|row| counts[*row as usize] = counts[*row as usize].saturating_add(1));
        let mut active = 0;
        if !precedence.is_empty() {
            let mut order: Vec<(u32, u32, u32)> = rows
                .iter()
                .zip(0..)
                .map(|(row, number)| (precedence[*row as usize], *row, number))
                .collect();
            order.par_sort_unstable();
            active = order.partition_point(|(precedence, ..)| is_active(*precedence)) as u32;
            let arranged = || order.iter().map(|(.., number)| *number as usize);
            (self.raw, kinds) = (
                arranged().map(|number| self.raw[number]).collect(),
                arranged().map(|number| kinds[number]).collect(),
            );
            rows = order.iter().map(|(_, row, _)| *row).collect();
            let order: Vec<u32> = order.into_iter().map(|(.., number)| number).collect();
            self.names.renumber(&order);
        }
        self.names
            .mark(rows.iter().map(|row| counts[*row as usize] > 1));
        Ok(RowNames {
            names: self.names.finish()?,
            raw: self.raw.into(),
            rows: rows.into(),
            kinds: kinds.into(),
            active: Small(active),
        })
    }
}

impl RowNames {
    fn owner(&self, number: u32) -> (u32, NameKind) {
        (
            self.rows[number as usize],
            NameKind::of_number(self.kinds[number as usize]),
        )
    }

    fn row_hit(&self, hit: &Hit) -> RowHit {
        let (row, kind) = self.owner(hit.number);
        RowHit {
            row,
            score: (hit.score - kind.handicap()).max(1),
            kind,
            fit: hit.fit,
            name: hit.number,
        }
    }

    /// Finds rows, each once with its best match, in any order. Returns true if the search stopped
    /// before it examined every candidate.
    pub fn search(&self, query: &Query, mode: MatchMode) -> (Vec<RowHit>, bool) {
        let mut hits: Vec<Hit> = Vec::new();
        let is_cut = self.names.search(
            query,
            mode,
            None,
            &|number| self.raw[number as usize],
            &mut hits,
        );
        (
            best_of_rows(hits.iter().map(|hit| self.row_hit(hit)).collect()),
            is_cut,
        )
    }

    /// Finds the first rows in order, each once with its best match. Rows are ordered by score,
    /// active rows first, newest first, then in source order. `accepts` filters by row and kind of
    /// name.
    pub fn first(
        &self,
        query: &Query,
        mode: MatchMode,
        accepts: Option<&dyn Fn(u32, NameKind) -> bool>,
        enough: Enough,
    ) -> Found {
        let is_selected = accepts.map(|accepts| {
            move |number: u32| {
                let (row, kind) = self.owner(number);
                accepts(row, kind)
            }
        });
        let accepts = is_selected
            .as_ref()
            .map(|is_selected| is_selected as &dyn Fn(u32) -> bool);
        let needed = enough.counted.max(enough.first).saturating_add(1);
        let mut found = FirstRows {
            names: self,
            first: First::new(enough.first),
            rows_with_several_names: Vec::new(),
            total: 0,
            needed,
        };
        let is_cut = self.names.search(
            query,
            mode,
            accepts,
            &|number| self.raw[number as usize],
            &mut found,
        );
        let FirstRows {
            mut first,
            rows_with_several_names,
            total,
            ..
        } = found;
        let rows_with_several_names = best_of_rows(rows_with_several_names);
        let total = total + rows_with_several_names.len();
        for hit in rows_with_several_names {
            first.offer(hit.score, self.is_active(hit.name), hit.name, || hit);
        }
        Found {
            first: first.ranked(),
            total,
            is_cut,
        }
    }

    fn is_active(&self, number: u32) -> bool {
        number < *self.active
    }

    pub fn size_bytes(&self) -> usize {
        self.names.size_bytes()
            + self.raw.size_bytes()
            + self.rows.size_bytes()
            + self.kinds.size_bytes()
    }
}

/// Collects the first rows and counts the others.
struct FirstRows<'a> {
    names: &'a RowNames,
    first: First,
    /// Hits on rows with several names.
    rows_with_several_names: Vec<RowHit>,
    /// Number of other rows.
    total: usize,
    /// Number of rows at which counting stops.
    needed: usize,
}

impl Collector for FirstRows<'_> {
    fn collect(&mut self, hit: Hit) {
        if hit.is_marked {
            return self.rows_with_several_names.push(self.names.row_hit(&hit));
        }
        self.total += 1;
        self.first.offer(
            hit.score,
            self.names.is_active(hit.number),
            hit.number,
            || self.names.row_hit(&hit),
        );
    }

    fn is_beyond(&self, score: i32, number: u32) -> bool {
        self.first
            .is_beyond(score, self.names.is_active(number), number)
    }

    fn count(&mut self, names: usize) {
        self.total += names;
    }

    fn lacks(&self) -> usize {
        self.needed.saturating_sub(self.total)
    }
}

/// Keeps the best match of each row, sorted by row. Ties go to the name that was added first.
fn best_of_rows(mut hits: Vec<RowHit>) -> Vec<RowHit> {
    hits.sort_unstable_by(|a, b| {
        a.row
            .cmp(&b.row)
            .then(b.score.cmp(&a.score))
            .then(a.name.cmp(&b.name))
    });
    hits.dedup_by_key(|hit| hit.row);
    hits
}

/// Names that many rows share, each stored once.
#[derive(Debug, Default)]
pub struct SharedNames {
    names: Names,
    /// Position of each name's first row.
    starts: Column<u32>,
    rows: Column<u32>,
}

stored!(SharedNames {
    names,
    starts,
    rows
});

/// Builder for [`SharedNames`].
#[derive(Debug, Default)]
pub struct SharedBuilder {
    names: NamesBuilder,
    known: HashMap<u64, u32>,
    /// Pairs of name number and row.
    pairs: Vec<(u32, u32)>,
}

impl SharedBuilder {
    /// Adds a row's name.
    pub fn add(&mut self, text: &str, row: u32) -> Result<()> {
        let SearchedName { core, form } = searched(text, Forms::OfStates);
        if core.is_empty() {
            return Ok(());
        }
        let hashed = hash(&[&core, &form]);
        let number = match self.known.get(&hashed) {
            Some(number) => *number,
            None => {
                let number = self.names.push(Name::Organization {
                    core: &core,
                    form: &form,
                })?;
                self.known.insert(hashed, number);
                number
            }
        };
        self.pairs.push((number, row));
        Ok(())
    }

    /// Builds the index.
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
        Ok(SharedNames {
            names,
            starts: starts.into(),
            rows: rows.into(),
        })
    }
}

impl SharedNames {
    /// Finds rows by name, each once, in row order. Returns true if the search stopped before it
    /// examined every candidate.
    pub fn search(
        &self,
        query: &Query,
        mode: MatchMode,
        accepts: &dyn Fn(u32) -> bool,
    ) -> (Vec<RowHit>, bool) {
        let mut found: Vec<Hit> = Vec::new();
        let is_cut = self.names.search(query, mode, None, &|_| 0, &mut found);
        let mut hits = Vec::new();
        for hit in found {
            let rows = &self.rows[self.starts[hit.number as usize] as usize
                ..self.starts[hit.number as usize + 1] as usize];
            hits.extend(rows.iter().filter(|row| accepts(**row)).map(|row| RowHit {
                row: *row,
                score: hit.score,
                kind: NameKind::Own,
                fit: hit.fit,
                name: hit.number,
            }));
        }
        (best_of_rows(hits), is_cut)
    }

    pub fn size_bytes(&self) -> usize {
        self.names.size_bytes() + self.starts.size_bytes() + self.rows.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::search::names::Name;
    use crate::search::query::{MatchMode, Query};
    use crate::search::rank::{Ranked, precedence, ranked};
    use crate::search::row_hit::NameKind;
    use crate::search::row_names::{Enough, RowNamesBuilder, SharedBuilder};
    use pubdata_core::canonical::name::Forms;

    /// Generates few words over few letters, so that names share words, continue and repeat each
    /// other.
    const WORDS: &str = "[AB]{2,3}( [AB]{2,3}){0,3}";

    type Row = (
        String,
        Option<(NameKind, String)>,
        (bool, Option<i32>),
        bool,
    );

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let other = (
            prop::sample::select(vec![NameKind::Former, NameKind::Assumed]),
            WORDS,
        );
        let row = (
            WORDS,
            prop::option::weighted(0.2, other),
            (any::<bool>(), prop::option::of(0_i32..5)),
            prop::bool::weighted(0.2),
        );
        prop::collection::vec(row, 1..60)
    }

    proptest! {
        /// An index numbered by precedence ranks the same rows in the same order as a lookup of
        /// every row.
        #[test]
        fn first_rows_are_those_that_a_look_at_each_finds(rows in rows(), case in WORDS, with_persons in any::<bool>()) {
            let precedences: Vec<u32> = rows.iter().map(|(_, _, (is_active, day), _)| precedence(*is_active, *day)).collect();
            let builder = || {
                let mut builder = RowNamesBuilder::default();
                for (row, (name, other, _, is_person)) in (0..).zip(&rows) {
                    match name.split_once(' ').filter(|_| *is_person && with_persons) {
                        Some((last, given)) => builder.push(Name::Person { last, given }, name).unwrap(),
                        None => builder.push(Name::Organization { core: name, form: if row % 3 == 0 { "LLC" } else { "" } }, name).unwrap(),
                    }
                    if let Some((kind, other)) = other {
                        builder.add(row, *kind, other);
                    }
                }
                builder
            };
            let (as_added, in_order) = (builder().finish().unwrap(), builder().finish_by(&precedences).unwrap());
            let query = Query::new(&case, Forms::OfStates).unwrap();
            let summary = |ranked: &[Ranked]| ranked.iter().map(|ranked| format!("{ranked:?}")).collect::<Vec<_>>();
            for mode in [MatchMode::Best, MatchMode::Exact, MatchMode::Prefix] {
                for accepts in [None, Some(&(|row: u32, kind: NameKind| !row.is_multiple_of(4) && kind != NameKind::Assumed) as &dyn Fn(u32, NameKind) -> bool)] {
                    let all = in_order.first(&query, mode, accepts, Enough { first: usize::MAX / 4, counted: usize::MAX });
                    if accepts.is_none() {
                        let expected = ranked(&as_added.search(&query, mode).0, usize::MAX, &precedences);
                        prop_assert_eq!(summary(&all.first), summary(&expected), "{:?}", mode);
                    }
                    prop_assert_eq!(all.total, all.first.len());
                    let few = in_order.first(&query, mode, accepts, Enough { first: 3, counted: 2 });
                    prop_assert_eq!(summary(&few.first), summary(&all.first[..all.first.len().min(3)]), "{:?}", mode);
                    prop_assert!(few.total == all.total || few.total > 3 && few.total < all.total, "{} of {}", few.total, all.total);
                    prop_assert!(!few.is_cut);
                }
            }
        }
    }

    /// With so many matches that most are only counted, the first rows are exact. The total is
    /// exact or exceeds the number of rows to count.
    #[test]
    fn first_rows_of_many_are_the_first_of_all() {
        // More words than the number of words that have a bit each.
        const WORDS: [&str; 12] = [
            "ALPHA", "BETA", "GAMMA", "DELTA", "EPSILON", "ZETA", "ETA", "THETA", "IOTA", "KAPPA",
            "LAMBDA", "OMEGA",
        ];
        let mut state: u32 = 7;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        // Words early in the list occur in fewer names.
        let names: Vec<String> = (0..3_000)
            .map(|_| {
                (0..1 + random(4))
                    .map(|_| WORDS[random(12).max(random(12)) as usize])
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let precedences: Vec<u32> = names
            .iter()
            .map(|_| precedence(random(3) > 0, (random(5) > 0).then(|| random(100) as i32)))
            .collect();
        for with_persons in [false, true] {
            let mut builder = RowNamesBuilder::default();
            for (row, name) in (0..).zip(&names) {
                match name
                    .split_once(' ')
                    .filter(|_| with_persons && row % 9 == 0)
                {
                    Some((last, given)) => {
                        builder.push(Name::Person { last, given }, name).unwrap();
                    }
                    None => builder
                        .push(
                            Name::Organization {
                                core: name,
                                form: "",
                            },
                            name,
                        )
                        .unwrap(),
                }
                if row % 40 == 0 {
                    builder.add(row, NameKind::Former, &names[random(3_000) as usize]);
                }
            }
            let in_order = builder.finish_by(&precedences).unwrap();
            let summary = |ranked: &[Ranked]| {
                ranked
                    .iter()
                    .map(|ranked| format!("{ranked:?}"))
                    .collect::<Vec<_>>()
            };
            let mut cut = 0;
            for case in 0..300 {
                let text: Vec<&str> = (0..1 + case % 3)
                    .map(|_| WORDS[random(12) as usize])
                    .collect();
                let query = Query::new(&text.join(" "), Forms::OfStates).unwrap();
                for accepts in [
                    None,
                    Some(
                        &(|row: u32, _: NameKind| !row.is_multiple_of(4))
                            as &dyn Fn(u32, NameKind) -> bool,
                    ),
                ] {
                    let found = |first, counted| {
                        in_order.first(&query, MatchMode::Best, accepts, Enough { first, counted })
                    };
                    let all = found(usize::MAX / 4, usize::MAX);
                    for (first, counted) in [(5, usize::MAX), (5, 40), (60, 40)] {
                        let few = found(first, counted);
                        assert_eq!(
                            summary(&few.first),
                            summary(&all.first[..all.first.len().min(first)]),
                            "{text:?}"
                        );
                        // A larger total and a next page are detected, and following the pages
                        // yields all rows.
                        let is_known = few.total == all.total
                            || few.total > first.max(counted) && few.total < all.total;
                        assert!(
                            is_known && !few.is_cut,
                            "{text:?}: {} of {}, first {first}, counted {counted}",
                            few.total,
                            all.total
                        );
                        cut += usize::from(few.total < all.total);
                    }
                }
            }
            assert!(cut > 100, "{cut}");
        }
    }

    /// If few names match as written, the search adds misspelled names once, even if it only counts
    /// the matching names.
    #[test]
    fn misspelled_names_are_found_beside_a_few_that_are_counted() {
        for (prefix_count, total) in [(13, 13 + 3 + 1), (25, 25 + 3)] {
            let sharing = (0..3).map(|number| format!("{number} LANTERN HARBOR"));
            let that_begin_so = (0..prefix_count).map(|number| format!("HARBOR LANTERN {number}"));
            let names: Vec<String> = sharing
                .chain(that_begin_so)
                .chain(["HARBOR LANTRN".to_owned()])
                .collect();
            let mut builder = RowNamesBuilder::default();
            names.iter().for_each(|name| {
                builder
                    .push(
                        Name::Organization {
                            core: name,
                            form: "",
                        },
                        name,
                    )
                    .unwrap();
            });
            let precedences: Vec<u32> = (0..names.len())
                .map(|age| precedence(true, Some(1_000 - age as i32)))
                .collect();
            let in_order = builder.finish_by(&precedences).unwrap();
            let query = Query::new("HARBOR LANTERN", Forms::OfStates).unwrap();
            let found = |first, counted| {
                in_order.first(&query, MatchMode::Best, None, Enough { first, counted })
            };
            for first in [5, 13, 25] {
                let found = found(first, 1_000);
                assert_eq!(
                    (found.total, found.is_cut, found.first.len()),
                    (total, false, first.min(total))
                );
            }
            // The page that ends with the last prefix match is not the last page.
            assert!(found(prefix_count, 5).total > prefix_count);
        }
    }

    #[test]
    fn name_index_takes_less_than_106_bytes_per_name() {
        let (mut own, mut shared) = (RowNamesBuilder::default(), SharedBuilder::default());
        let count: u32 = 20_000;
        for row in 0..count {
            // Names of 27 letters with four words (one of them rare) and a legal form, as in a
            // registry.
            let name = format!("SOUTHERN {:05} HOLDINGS GROUP LLC", row / 5);
            own.push(
                Name::Organization {
                    core: &name[..name.len() - 4],
                    form: "LLC",
                },
                &name,
            )
            .unwrap();
            shared
                .add(&format!("AGENT {} CORP", row / 10), row)
                .unwrap();
        }
        let (own, shared) = (own.finish().unwrap(), shared.finish().unwrap());
        let (own, shared) = (
            own.size_bytes() as f64 / f64::from(count),
            shared.size_bytes() as f64 / f64::from(count),
        );
        // The files are mapped: memory holds only the pages that are read.
        assert!(own < 106.0 && shared < 16.0, "{own} {shared}");
    }
}
