//! Puts rows that were found by name in order: by score, to which being active adds a little, then
//! the newer first.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Decimal;
use crate::search::row_hit::RowHit;

/// What it is worth that a row is active, in ten-thousandths.
const ACTIVE: i32 = 200;
/// Of what was asked for by its number.
pub const BEST: i32 = 10_000;

/// A row that was found by name, with its final score.
#[derive(Debug, Clone, Copy)]
pub struct Ranked {
    pub row: u32,
    score: i32,
    label: &'static str,
}

impl Ranked {
    /// A row that was asked for by its number.
    pub fn exact(row: u32) -> Self {
        Self {
            row,
            score: BEST,
            label: "exact",
        }
    }

    /// Ten-thousandths.
    pub fn score(&self) -> i32 {
        self.score
    }

    /// How the name fits.
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// How it fits.
    pub fn shown(&self) -> MatchOfName {
        MatchOfName::of(self.score, self.label)
    }
}

/// A day after all that are published.
const LAST_DAY: i32 = 1 << 30;
/// Bit of rows that are not active.
const INACTIVE: u32 = 1 << 31;
/// In place of the days before the last, of rows without a day.
const NO_AGE: u32 = INACTIVE - 1;

/// What decides a row's place among rows of one score, in one cell, since a look at another would
/// take as long: active ones first, newer ones first. Less comes first.
pub fn precedence(is_active: bool, day: Option<i32>) -> u32 {
    let age = day.map_or(NO_AGE, |day| {
        LAST_DAY.abs_diff(day.clamp(-LAST_DAY + 2, LAST_DAY))
    });
    if is_active { age } else { INACTIVE | age }
}

/// Whether a row's precedence is that of an active one.
pub fn is_active(precedence: u32) -> bool {
    precedence < INACTIVE
}

/// The day that a row's precedence was made of.
pub fn day_of(precedence: u32) -> Option<i32> {
    let age = precedence & !INACTIVE;
    (age != NO_AGE).then(|| LAST_DAY.wrapping_sub_unsigned(age))
}

/// What a row's score lacks of the best, in ten-thousandths.
fn lacking(score: i32, is_active: bool) -> u64 {
    (BEST - (score + if is_active { ACTIVE } else { 0 }).min(BEST)) as u64
}

/// The first of many rows that are told in any order: by score, active ones first, then by a number
/// that says which of equal ones comes first.
pub struct First {
    count: usize,
    /// Those that may be among the first, with what puts them in order.
    kept: Vec<(u64, RowHit)>,
    /// What comes after it is none of them.
    bound: u64,
}

impl First {
    pub fn new(count: usize) -> Self {
        Self {
            count,
            kept: Vec::new(),
            bound: if count == 0 { 0 } else { u64::MAX },
        }
    }

    fn key(score: i32, is_active: bool, number: u32) -> u64 {
        lacking(score, is_active) << 32 | u64::from(number)
    }

    /// Whether so many come before a row that scores no more.
    pub fn is_beyond(&self, score: i32, is_active: bool, number: u32) -> bool {
        Self::key(score, is_active, number) >= self.bound
    }

    /// Takes a row, unless so many come before it.
    pub fn offer(
        &mut self,
        score: i32,
        is_active: bool,
        number: u32,
        hit: impl FnOnce() -> RowHit,
    ) {
        let key = Self::key(score, is_active, number);
        if key >= self.bound {
            return;
        }
        self.kept.push((key, hit()));
        if self.kept.len() == self.count && self.bound == u64::MAX {
            self.bound = self
                .kept
                .iter()
                .map(|(key, _)| *key)
                .max()
                .unwrap_or(self.bound);
        }
        // Twice as many as are wanted, so that it is seldom done.
        if self.kept.len() >= self.count.saturating_mul(2).max(16) && self.kept.len() > self.count {
            self.kept
                .select_nth_unstable_by_key(self.count - 1, |(key, _)| *key);
            self.kept.truncate(self.count);
            self.bound = self.kept[self.count - 1].0;
        }
    }

    /// The rows in their order.
    pub fn ranked(mut self) -> Vec<Ranked> {
        self.kept.sort_unstable_by_key(|(key, _)| *key);
        self.kept.truncate(self.count);
        self.kept
            .iter()
            .map(|(key, hit)| Ranked {
                row: hit.row,
                score: BEST - (key >> 32) as i32,
                label: hit.label(),
            })
            .collect()
    }
}

/// Puts rows in order: by score, active ones first, newer ones first, then as the source has them.
/// Only the first `count` are put in their places; the others follow in any order.
pub fn ranked(hits: &[RowHit], count: usize, precedence: &[u32]) -> Vec<Ranked> {
    let mut keyed: Vec<(u64, u32, u32)> = hits
        .iter()
        .zip(0..)
        .map(|(hit, number)| {
            let precedence = precedence[hit.row as usize];
            (
                lacking(hit.score, is_active(precedence)) << 32 | u64::from(precedence),
                hit.row,
                number,
            )
        })
        .collect();
    put_first(&mut keyed, count, Ord::cmp);
    let of_hit = |(key, row, number): (u64, u32, u32)| Ranked {
        row,
        score: BEST - (key >> 32) as i32,
        label: hits[number as usize].label(),
    };
    keyed.into_iter().map(of_hit).collect()
}

/// Puts the first `count` in their places; the others follow in any order.
pub fn put_first<T>(found: &mut [T], count: usize, compare: impl Fn(&T, &T) -> Ordering) {
    let first = match count < found.len() {
        true => found.select_nth_unstable_by(count, &compare).0,
        false => found,
    };
    first.sort_unstable_by(compare);
}

/// How a record fits a search by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NameMatch")]
pub struct MatchOfName {
    /// 1 for a name as it is written, 0.97 for the same name and legal form, 0.93 without the form,
    /// 0.85 for a beginning, at most 0.8 for shared words, at most 0.1 where a word is misspelled;
    /// 0.02 more for what is active, less for names that are not its own.
    #[schemars(range(min = 0, max = 1))]
    score: Decimal,
    /// How the name fits, or whose name it is.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["exact", "normalized", "prefix", "token", "misspelled", "former_name", "dba", "principal"]))]
    label: &'static str,
}

impl MatchOfName {
    /// The score is in ten-thousandths.
    pub fn of(score: i32, label: &'static str) -> Self {
        Self {
            score: Decimal {
                units: i128::from(score),
                scale: 4,
            },
            label,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{First, Ranked, day_of, precedence, ranked};
    use crate::search::hit::NameMatch;
    use crate::search::row_hit::{NameKind, RowHit};

    #[test]
    fn the_first_of_rows_in_any_order_are_the_first_of_all() {
        let mut state: u32 = 7;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for rows in [0_u32, 1, 15, 16, 17, 25, 1_000] {
            // A row's number is its place by precedence.
            let precedences: Vec<u32> = (0..rows)
                .map(|row| if row < rows / 2 { row } else { (1 << 31) | row })
                .collect();
            let mut hits: Vec<RowHit> = (0..rows)
                .map(|row| RowHit {
                    row,
                    score: 9_000 + 300 * random(4) as i32,
                    kind: NameKind::Own,
                    fit: NameMatch::Token,
                    name: row,
                })
                .collect();
            for place in (1..hits.len()).rev() {
                hits.swap(place, random(place as u32 + 1) as usize);
            }
            for count in [0, 1, 5, 25, 70, 2_000] {
                let mut first = First::new(count);
                hits.iter()
                    .for_each(|hit| first.offer(hit.score, hit.row < rows / 2, hit.row, || *hit));
                let all = ranked(&hits, usize::MAX, &precedences);
                let told = |ranked: &[Ranked]| {
                    ranked
                        .iter()
                        .map(|ranked| (ranked.row, ranked.score))
                        .collect::<Vec<_>>()
                };
                assert_eq!(
                    told(&first.ranked()),
                    told(&all[..count.min(all.len())]),
                    "{count} of {rows}"
                );
            }
        }
    }

    #[test]
    fn active_rows_come_first_and_newer_ones_before_older_ones() {
        let days = [
            Some(19_723),
            Some(1),
            Some(0),
            Some(-1),
            Some(-25_567),
            Some(-719_528),
            None,
        ];
        let in_order: Vec<u32> = [true, false]
            .into_iter()
            .flat_map(|is_active| days.map(|day| precedence(is_active, day)))
            .collect();
        assert!(
            in_order.is_sorted() && in_order.windows(2).all(|pair| pair[0] != pair[1]),
            "{in_order:?}"
        );
        let read: Vec<Option<i32>> = in_order.into_iter().map(day_of).collect();
        assert_eq!(read, [days, days].concat());
    }
}
