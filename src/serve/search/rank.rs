//! Puts rows that were found by name in order: by score, to which being active adds a little, then the newer first.

use std::cmp::Ordering;

use crate::serve::json::{Json, Trim};
use crate::serve::search::row_names::RowHit;

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
        Self { row, score: BEST, label: "exact" }
    }

    /// Writes the member `match`.
    pub fn write(&self, json: &mut Json) {
        write_match(json, self.score, self.label);
    }
}

/// A day after all that are published.
const LAST_DAY: i32 = 1 << 30;
/// Bit of rows that are not active.
const INACTIVE: u32 = 1 << 31;
/// In place of the days before the last, of rows without a day.
const NO_AGE: u32 = INACTIVE - 1;

/// What decides a row's place among rows of one score, in one cell, since a look at another would take as long: active ones first, newer ones first. Less
/// comes first.
pub fn precedence(is_active: bool, day: Option<i32>) -> u32 {
    let age = day.map_or(NO_AGE, |day| LAST_DAY.abs_diff(day.clamp(-LAST_DAY + 2, LAST_DAY)));
    if is_active { age } else { INACTIVE | age }
}

/// The day that a row's precedence was made of.
pub fn day_of(precedence: u32) -> Option<i32> {
    let age = precedence & !INACTIVE;
    (age != NO_AGE).then(|| LAST_DAY.wrapping_sub_unsigned(age))
}

/// Puts rows in order: by score, active ones first, newer ones first, then as the source has them. Only the first `count` are put in their places; the others follow
/// in any order.
pub fn ranked(hits: &[RowHit], count: usize, precedence: &[u32]) -> Vec<Ranked> {
    let mut keyed: Vec<(u64, u32, u32)> = hits
        .iter()
        .zip(0..)
        .map(|(hit, number)| {
            let precedence = precedence[hit.row as usize];
            let lacking = BEST - (hit.score + if precedence < INACTIVE { ACTIVE } else { 0 }).min(BEST);
            ((lacking as u64) << 32 | u64::from(precedence), hit.row, number)
        })
        .collect();
    put_first(&mut keyed, count, Ord::cmp);
    let of_hit = |(key, row, number): (u64, u32, u32)| Ranked { row, score: BEST - (key >> 32) as i32, label: hits[number as usize].label() };
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

/// Writes the member `match`: the score, which is in ten-thousandths, and how the name fits.
pub fn write_match(json: &mut Json, score: i32, label: &str) {
    json.key("match").object(|json| {
        json.key("score").decimal(i64::from(score), 4, Trim::Zeros);
        json.key("type").text(label);
    });
}

#[cfg(test)]
mod tests {
    use super::{day_of, precedence};

    #[test]
    fn active_rows_come_first_and_newer_ones_before_older_ones() {
        let days = [Some(19_723), Some(1), Some(0), Some(-1), Some(-25_567), Some(-719_528), None];
        let in_order: Vec<u32> = [true, false].into_iter().flat_map(|is_active| days.map(|day| precedence(is_active, day))).collect();
        assert!(in_order.is_sorted() && in_order.windows(2).all(|pair| pair[0] != pair[1]), "{in_order:?}");
        let read: Vec<Option<i32>> = in_order.into_iter().map(day_of).collect();
        assert_eq!(read, [days, days].concat());
    }
}
