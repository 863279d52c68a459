//! Scores the names that share words with the query if they can rank among the first results, and
//! counts the other names.

use super::collected::{Accepts, Collector, SearchState};
use super::hit::{Hit, NameMatch};
use super::posting_payload::PostingPayload;
use super::shared_words::{PostingVisitor, Seen, Word};
use super::weights::Scores;

/// Names that the search already found.
pub(super) struct Known<'a> {
    /// Numbers of the found names, ascending.
    pub(super) numbers: &'a [u32],
    /// Number of found names that are not in `numbers`. None of these names is marked. If the
    /// number is above zero, names found by words only need counting.
    pub(super) again: usize,
}

/// Collector for names that share words with the query.
pub(super) struct SharedWordVisitor<'a, 'c, C> {
    pub(super) words: &'a [Word<'a>],
    pub(super) has_prefix_term: bool,
    pub(super) has_persons: bool,
    pub(super) accepts: Accepts<'a>,
    /// True if unmarked names only need counting.
    pub(super) is_counting: bool,
    pub(super) again: usize,
    pub(super) scores: Scores<'a>,
    /// A combination of words and a name length at which unmarked names can no longer rank. The
    /// same holds for every later name in a list with these words and at least this length.
    pub(super) beyond: (u16, usize),
    pub(super) found: &'a mut SearchState<'c, C>,
    pub(super) read: &'a mut Vec<u32>,
}

impl<C: Collector> SharedWordVisitor<'_, '_, C> {
    fn is_selected(&self, number: u32) -> bool {
        self.accepts.is_none_or(|accepts| accepts(number))
    }

    fn count(&mut self, numbers: &[u32]) {
        let again = self.again.min(numbers.len());
        self.again -= again;
        self.found.count(numbers, again);
    }
}

impl<C: Collector> PostingVisitor for SharedWordVisitor<'_, '_, C> {
    fn is_always_reported(&self, says: u64) -> bool {
        PostingPayload::new(says).is_person()
    }

    fn needs_no_lookup(
        &mut self,
        Seen {
            number,
            says,
            possible,
        }: Seen,
    ) -> bool {
        let payload = PostingPayload::new(says);
        if self.is_counting && !payload.is_marked() {
            self.count(&[number]);
            return true;
        }
        let Some(length) = payload
            .length()
            .filter(|_| !self.has_prefix_term && !payload.is_marked())
        else {
            return false;
        };
        if !self.is_selected(number) {
            return true;
        }
        if self.beyond.0 == possible && length >= self.beyond.1 && !payload.has_repeats() {
            self.count(&[number]);
            return true;
        }
        // A name with fewer of these words has more other words, so it does not score higher. A
        // name that repeats words may have no other words.
        let others = if payload.has_repeats() {
            0
        } else {
            length.saturating_sub(possible.count_ones() as usize)
        };
        let most = self.scores.score(possible, others);
        let is_beyond = most.is_some_and(|most| self.found.counts(most, number));
        // Most names have only one of the words.
        if is_beyond && possible.is_power_of_two() && !payload.has_repeats() {
            self.beyond = (possible, length);
        }
        is_beyond
    }

    fn lacks(&self) -> usize {
        if self.is_counting && !self.has_persons {
            self.found.collector.lacks()
        } else {
            usize::MAX
        }
    }

    fn needs_matched_words(&self) -> bool {
        !self.is_counting
    }

    fn skips_single_word(&self, own: u16, says: u64) -> bool {
        let least = match self.is_counting {
            true => 0,
            false if self.accepts.is_none() && self.beyond.0 == own => self.beyond.1,
            false => usize::MAX,
        };
        PostingPayload::new(says).is_plain(least)
    }

    fn skip_single_word_names(&mut self, numbers: &[u32]) {
        self.count(numbers);
    }

    fn take(&mut self, number: u32, says: u64, shared: u16) {
        let payload = PostingPayload::new(says);
        if self.is_counting && !payload.is_person() && !payload.is_marked() {
            return self.count(&[number]);
        }
        // A name may repeat a word, and several of its words may begin with the unfinished last
        // word of the query.
        let times = || {
            (0..)
                .zip(self.words)
                .filter(|(word, _)| shared >> word & 1 == 1)
                .map(|(_, word)| word.posted.times(number))
                .sum()
        };
        let times = if payload.has_repeats() || self.has_prefix_term {
            times()
        } else {
            shared.count_ones() as usize
        };
        let Some(length) = payload.length() else {
            return self.read.push(number);
        };
        if let Some(score) = self
            .scores
            .score(shared, length.saturating_sub(times))
            .filter(|_| self.is_selected(number))
        {
            self.found.collect(Hit {
                number,
                score,
                fit: NameMatch::Token,
                is_marked: payload.is_marked(),
            });
        }
    }
}
