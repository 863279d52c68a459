//! Ranks rows found by name: by score, with a small bonus for active rows, then newest first.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Decimal;
use crate::search::row_hit::RowHit;

/// Score bonus of an active row, in ten-thousandths.
const ACTIVE: i32 = 200;
/// Score of a row that was requested by number.
pub const BEST: i32 = 10_000;

/// A row found by name, with its final score.
#[derive(Debug, Clone, Copy)]
pub struct Ranked {
    pub row: u32,
    score: i32,
    label: &'static str,
}

impl Ranked {
    /// Ranks a row that was requested by number.
    pub fn exact(row: u32) -> Self {
        Self {
            row,
            score: BEST,
            label: "exact",
        }
    }

    /// Returns the score in ten-thousandths.
    pub fn score(&self) -> i32 {
        self.score
    }

    /// Returns how the name matches.
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// Returns the match as shown in answers.
    pub fn shown(&self) -> MatchOfName {
        MatchOfName::new(self.score, self.label)
    }
}

/// A day after every published day.
const LAST_DAY: i32 = 1 << 30;
/// Flag for rows that are not active.
const INACTIVE: u32 = 1 << 31;
/// Age of rows without a day.
const NO_AGE: u32 = INACTIVE - 1;

/// Encodes the order of rows with equal scores in one cell, because reading a second column would
/// double the cost. Active rows come first, then the newest. Lower values come first.
pub fn precedence(is_active: bool, day: Option<i32>) -> u32 {
    let age = day.map_or(NO_AGE, |day| {
        LAST_DAY.abs_diff(day.clamp(-LAST_DAY + 2, LAST_DAY))
    });
    if is_active { age } else { INACTIVE | age }
}

/// Returns true if the precedence is that of an active row.
pub fn is_active(precedence: u32) -> bool {
    precedence < INACTIVE
}

/// Returns the day from which a row's precedence was computed.
pub fn day_of(precedence: u32) -> Option<i32> {
    let age = precedence & !INACTIVE;
    (age != NO_AGE).then(|| LAST_DAY.wrapping_sub_unsigned(age))
}

/// Returns how far a row's score is below the best score, in ten-thousandths.
fn lacking(score: i32, is_active: bool) -> u64 {
    (BEST - (score + if is_active { ACTIVE } else { 0 }).min(BEST)) as u64
}

/// Keeps the first `count` of many rows that arrive in any order. Rows are sorted by score, active
/// rows first, then by a number that breaks ties.
pub struct First {
    count: usize,
    /// Candidates for the first rows, with their sort keys.
    kept: Vec<(u64, RowHit)>,
    /// Rows with this key or a higher one cannot be among the first.
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

    /// Returns true if a row with at most this score cannot be among the first.
    pub fn is_beyond(&self, score: i32, is_active: bool, number: u32) -> bool {
        Self::key(score, is_active, number) >= self.bound
    }

    /// Keeps a row unless it cannot be among the first.
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
        // Let twice as many rows accumulate, so that pruning is rare.
        if self.kept.len() >= self.count.saturating_mul(2).max(16) && self.kept.len() > self.count {
            self.kept
                .select_nth_unstable_by_key(self.count - 1, |(key, _)| *key);
            self.kept.truncate(self.count);
            self.bound = self.kept[self.count - 1].0;
        }
    }

    /// Returns the rows in order.
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

/// Ranks rows by score, active rows first, newest first, then in source order. Only the first
/// `count` are sorted; the others follow in any order.
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
    sort_first(&mut keyed, count, Ord::cmp);
    let of_hit = |(key, row, number): (u64, u32, u32)| Ranked {
        row,
        score: BEST - (key >> 32) as i32,
        label: hits[number as usize].label(),
    };
    keyed.into_iter().map(of_hit).collect()
}

/// Sorts only the first `count` elements; the others follow in any order.
pub fn sort_first<T>(found: &mut [T], count: usize, compare: impl Fn(&T, &T) -> Ordering) {
    let first = match count < found.len() {
        true => found.select_nth_unstable_by(count, &compare).0,
        false => found,
    };
    first.sort_unstable_by(compare);
}

/// How a record matches a search by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NameMatch")]
pub struct MatchOfName {
    /// 1 for a name as written, 0.97 for the same name and legal form, 0.93 without the form. A
    /// prefix scores 0.85, shared words at most 0.8, a misspelled word at most 0.1. An active
    /// record gets 0.02 more; a match on a former, assumed or principal's name gets less.
    #[schemars(range(min = 0, max = 1))]
    score: Decimal,
    /// How the name matches, or whose name it is.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["exact", "normalized", "prefix", "token", "misspelled", "former_name", "dba", "principal"]))]
    label: &'static str,
}

impl MatchOfName {
    /// Creates a match from a score in ten-thousandths.
    pub fn new(score: i32, label: &'static str) -> Self {
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
    fn first_hits_in_any_input_order_match_the_full_ranking() {
        let mut state: u32 = 7;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for rows in [0_u32, 1, 15, 16, 17, 25, 1_000] {
            // A row's number is its position in precedence order.
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
                let summary = |ranked: &[Ranked]| {
                    ranked
                        .iter()
                        .map(|ranked| (ranked.row, ranked.score))
                        .collect::<Vec<_>>()
                };
                assert_eq!(
                    summary(&first.ranked()),
                    summary(&all[..count.min(all.len())]),
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
