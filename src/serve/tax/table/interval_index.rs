//! Finds the ranges that overlap a number or another range, and is fast even if a few ranges are
//! very wide. Serves lookups of ZIP and ZIP+4 codes.

/// Index of ranges that may nest and overlap. A lookup finds the ranges that overlap a number or
/// another range. Ranges are sorted by their start. The index stores the farthest end within each
/// block, so that a lookup skips blocks even if an earlier range is very wide. It also stores the
/// farthest end up to each block, which determines the first block to read.
#[derive(Debug, Default)]
pub struct IntervalIndex {
    spans: Vec<Span>,
    reach: Vec<u32>,
    reach_so_far: Vec<u32>,
}

/// An inclusive range and its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub low: u32,
    pub high: u32,
    pub row: u32,
}

const BLOCK: usize = 64;

impl IntervalIndex {
    pub fn new(mut spans: Vec<Span>) -> Self {
        spans.sort_unstable_by_key(|span| (span.low, span.high, span.row));
        spans.shrink_to_fit();
        let reach: Vec<u32> = spans
            .chunks(BLOCK)
            .map(|block| block.iter().map(|span| span.high).max().unwrap_or(0))
            .collect();
        let mut farthest = 0;
        let reach_so_far = reach.iter().map(|reach| {
            farthest = farthest.max(*reach);
            farthest
        });
        Self {
            reach_so_far: reach_so_far.collect(),
            spans,
            reach,
        }
    }

    /// Returns the ranges that overlap `low..=high`, sorted by their start.
    pub fn meeting(&self, low: u32, high: u32) -> impl Iterator<Item = Span> {
        let started = &self.spans[..self.spans.partition_point(|span| span.low <= high)];
        let first = self.reach_so_far.partition_point(|reach| *reach < low);
        let reaching = started
            .chunks(BLOCK)
            .zip(&self.reach)
            .skip(first)
            .filter(move |(_, reach)| **reach >= low);
        reaching
            .flat_map(|(block, _)| block)
            .copied()
            .filter(move |span| span.high >= low)
    }

    pub fn size_bytes(&self) -> usize {
        size_of::<Span>() * self.spans.capacity() + 8 * self.reach.capacity()
    }
}

#[cfg(test)]
mod tests {
    use crate::tax::table::interval_index::{IntervalIndex, Span};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_those_that_looking_at_every_one_finds(
            ranges in prop::collection::vec((0u32..10_000, prop_oneof![0u32..20, 0u32..10_000]), 0..300),
            (low, width) in (0u32..11_000, 0u32..50),
        ) {
            let spans: Vec<Span> = ranges.iter().zip(0..).map(|(&(low, width), row)| Span { low, high: low + width, row }).collect();
            let mut expected: Vec<Span> = spans.iter().copied().filter(|span| span.low <= low + width && span.high >= low).collect();
            expected.sort_by_key(|span| span.row);
            let mut found: Vec<Span> = IntervalIndex::new(spans).meeting(low, low + width).collect();
            found.sort_by_key(|span| span.row);
            prop_assert_eq!(found, expected);
        }
    }
}
