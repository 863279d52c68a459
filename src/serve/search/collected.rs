//! What a search has found: who asks takes the hits that can be among the first, and counts the
//! others.

use super::hit::Hit;

/// With so many names that fit as they are written, misspelled ones are not looked for.
pub(super) const ENOUGH: usize = 25;

/// What says of a name's number whether it is wanted; none where all are.
pub type Accepts<'a> = Option<&'a dyn Fn(u32) -> bool>;

/// Takes what a search finds: each name once, in no order.
pub trait Collector {
    fn collect(&mut self, hit: Hit);

    /// Whether a name that is not marked and scores so much at most only has to be counted; those
    /// of higher numbers too, then.
    fn is_beyond(&self, _score: i32, _number: u32) -> bool {
        false
    }

    /// Counts names that fit, in place of taking them.
    fn count(&mut self, _names: usize) {}

    /// How many more have to be found: none where nobody asks how many more there are.
    fn lacks(&self) -> usize {
        usize::MAX
    }
}

impl Collector for Vec<Hit> {
    fn collect(&mut self, hit: Hit) {
        self.push(hit);
    }
}

/// What a search has found until now.
pub(super) struct Collected<'c, C> {
    pub(super) collector: &'c mut C,
    /// The first names, in no order: where there are more, nobody asks which they are.
    pub(super) first: Vec<u32>,
}

impl<C: Collector> Collected<'_, C> {
    pub(super) fn collect(&mut self, hit: Hit) {
        self.note(&[hit.number]);
        self.collector.collect(hit);
    }

    /// Counts a name that is not marked, if that is enough.
    pub(super) fn counts(&mut self, score: i32, number: u32) -> bool {
        let is_enough = self.collector.is_beyond(score, number);
        if is_enough {
            self.count(&[number], 0);
        }
        is_enough
    }

    /// Counts names, but for so many that were found before.
    pub(super) fn count(&mut self, numbers: &[u32], again: usize) {
        self.note(numbers);
        self.collector.count(numbers.len() - again);
    }

    fn note(&mut self, numbers: &[u32]) {
        if self.first.len() < ENOUGH {
            self.note_first(numbers);
        }
    }

    fn note_first(&mut self, numbers: &[u32]) {
        for number in numbers {
            if !self.first.contains(number) {
                self.first.push(*number);
            }
            if self.first.len() == ENOUGH {
                return;
            }
        }
    }
}
