//! Collects search results. The collector keeps hits that can rank among the first results and
//! counts the others.

use super::hit::Hit;

/// Minimum number of correctly spelled matches at which the search skips misspelled names.
pub(super) const ENOUGH_MATCHES: usize = 25;

/// Filter on a name's number; `None` accepts every name.
pub type Accepts<'a> = Option<&'a dyn Fn(u32) -> bool>;

/// Receives the names that a search finds, each name once and in any order.
pub trait Collector {
    fn collect(&mut self, hit: Hit);

    /// Returns true if an unmarked name with at most this score only needs counting. The same then
    /// holds for names with higher numbers.
    fn is_beyond(&self, _score: i32, _number: u32) -> bool {
        false
    }

    /// Counts matching names without collecting them.
    fn count(&mut self, _names: usize) {}

    /// Returns how many more names the search must find; zero if the caller needs no larger total.
    fn lacks(&self) -> usize {
        usize::MAX
    }
}

impl Collector for Vec<Hit> {
    fn collect(&mut self, hit: Hit) {
        self.push(hit);
    }
}

/// State of a search in progress.
pub(super) struct SearchState<'c, C> {
    pub(super) collector: &'c mut C,
    /// The first names found, in any order. Names beyond [`ENOUGH_MATCHES`] are not recorded.
    pub(super) first: Vec<u32>,
}

impl<C: Collector> SearchState<'_, C> {
    pub(super) fn collect(&mut self, hit: Hit) {
        self.note(&[hit.number]);
        self.collector.collect(hit);
    }

    /// Counts an unmarked name and returns true if counting is enough.
    pub(super) fn counts(&mut self, score: i32, number: u32) -> bool {
        let is_enough = self.collector.is_beyond(score, number);
        if is_enough {
            self.count(&[number], 0);
        }
        is_enough
    }

    /// Counts names, minus `again` names that were counted before.
    pub(super) fn count(&mut self, numbers: &[u32], again: usize) {
        self.note(numbers);
        self.collector.count(numbers.len() - again);
    }

    fn note(&mut self, numbers: &[u32]) {
        if self.first.len() < ENOUGH_MATCHES {
            self.note_first(numbers);
        }
    }

    fn note_first(&mut self, numbers: &[u32]) {
        for number in numbers {
            if !self.first.contains(number) {
                self.first.push(*number);
            }
            if self.first.len() == ENOUGH_MATCHES {
                return;
            }
        }
    }
}
