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

/// Puts rows in order: by score, active ones first, newer ones first, then as the source has them. Only the first `count` are put in their places; the others follow
/// in any order.
pub fn ranked(hits: &[RowHit], count: usize, is_active: impl Fn(u32) -> bool, day: impl Fn(u32) -> i32) -> Vec<Ranked> {
    let mut keyed: Vec<(u64, u32, u32)> = hits
        .iter()
        .zip(0..)
        .map(|(hit, number)| {
            let active = is_active(hit.row);
            let lacking = BEST - (hit.score + if active { ACTIVE } else { 0 }).min(BEST);
            // By how many days before the last that there is.
            let age = u64::from(i32::MAX.abs_diff(day(hit.row)));
            ((lacking as u64) << 33 | u64::from(!active) << 32 | age, hit.row, number)
        })
        .collect();
    put_first(&mut keyed, count, Ord::cmp);
    let of_hit = |(key, row, number): (u64, u32, u32)| Ranked { row, score: BEST - (key >> 33) as i32, label: hits[number as usize].label() };
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
