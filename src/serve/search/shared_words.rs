//! Finds names that share enough words with the query, from the lists of names by word. The payload
//! next to each name carries bits of all words in the name. A search therefore consults few other
//! lists, and reads each list once, forwards.

use std::borrow::Cow;

use crate::index::search_near;
use crate::search::posting_payload::BloomBits;

/// Maximum number of query words that one search distinguishes.
pub const MAX_WORDS: usize = 16;

/// Names that contain a word, in ascending order. A name appears once for each occurrence of the
/// word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PostingList<'n> {
    pub numbers: &'n [u32],
    /// The payload of each name; see [`super::payload`].
    pub says: &'n [u64],
}

impl<'n> PostingList<'n> {
    /// Returns the first `count` entries, or all entries if the list is shorter.
    pub fn first(self, count: usize) -> Self {
        let count = count.min(self.numbers.len());
        Self {
            numbers: &self.numbers[..count],
            says: &self.says[..count],
        }
    }

    /// Counts how often a name contains the word.
    pub fn times(self, number: u32) -> usize {
        self.numbers[self.numbers.partition_point(|known| *known < number)..]
            .iter()
            .take_while(|known| **known == number)
            .count()
    }

    /// Returns true if both lists start at the same address, so that one is equal to the other or a
    /// prefix of it.
    fn begins_as(self, other: Self) -> bool {
        std::ptr::eq(self.numbers.as_ptr(), other.numbers.as_ptr())
    }
}

/// A word of the query.
#[derive(Debug, Clone, Copy)]
pub struct Word<'n> {
    pub posted: PostingList<'n>,
    pub bloom_bits: BloomBits,
}

impl Word<'_> {
    fn may_be_in(&self, says: u64) -> bool {
        says & self.bloom_bits.bits == self.bloom_bits.bits
    }
}

/// A candidate name before the lists of all other words were consulted.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub number: u32,
    pub says: u64,
    /// One bit for each word that the name may contain.
    pub possible: u16,
}

/// Decides how the names in the lists are handled.
pub trait PostingVisitor {
    /// Returns true if the payload alone decides that a name is reported, regardless of its words.
    fn is_always_reported(&self, says: u64) -> bool;

    /// Returns true if a name with enough words needs no further lookup.
    fn needs_no_lookup(&mut self, seen: Seen) -> bool;

    /// Returns how many more names to report; zero ends the search.
    fn lacks(&self) -> usize;

    /// Returns true if the set of matched words matters for a name that already has enough words.
    fn needs_matched_words(&self) -> bool;

    /// Returns true if a name can be skipped, based on its payload, when it can contain no query
    /// word except the list's own (`own`). Never true for a name that is reported anyway or that
    /// the list contains twice.
    fn skips_single_word(&self, own: u16, says: u64) -> bool;

    /// Receives the names skipped by [`Self::skips_single_word`].
    fn skip_single_word_names(&mut self, numbers: &[u32]);

    /// Receives a name, its payload, and one bit for each query word that it contains.
    fn take(&mut self, number: u32, says: u64, words: u16);
}

/// Reports the names in the `required` lists that are not `known`. A name is reported once if its
/// set of words satisfies `are_enough`, which is indexed by the words' bits. A name that is
/// reported anyway is passed once for each entry, without word bits. At most [`MAX_WORDS`] words
/// are supported. The empty set is never enough, and a superset of an enough set is enough. Stops
/// when the visitor needs no more names.
pub fn each(
    required: &[PostingList<'_>],
    known: &[u32],
    words: &[Word<'_>],
    are_enough: &[bool],
    visitor: &mut impl PostingVisitor,
) {
    // Finished lists: the bit, whether the list is complete for its word, and the list's names that
    // could have been reported.
    let mut earlier: Vec<(u16, bool, Cow<'_, [u32]>)> = Vec::new();
    for list in required {
        let own = words
            .iter()
            .position(|word| list.begins_as(word.posted))
            .map_or(0, |word| 1_u16 << word);
        let is_whole = words.iter().any(|word| {
            list.begins_as(word.posted) && list.numbers.len() == word.posted.numbers.len()
        });
        let has_enough = are_enough[usize::from(own)];
        let gone = earlier
            .iter()
            .filter(|(_, is_whole, _)| *is_whole)
            .fold(0, |gone, (bit, ..)| gone | bit);
        // If being in the list is enough, check whether an earlier list already reported the name.
        // Otherwise check whether the name has words whose lists come later.
        let looked_for = match (has_enough, visitor.needs_matched_words()) {
            (false, _) => !gone,
            (true, true) => u16::MAX,
            (true, false) => earlier.iter().fold(0, |bits, (bit, ..)| bits | bit),
        } & !own;
        let bloom_bits: Vec<u64> = words
            .iter()
            .zip(0..)
            .filter(|(_, word)| looked_for >> word & 1 == 1)
            .map(|(word, _)| word.bloom_bits.bits)
            .collect();
        // Payload bits give no information about names in an earlier list that belongs to no word.
        let have_signs = earlier.iter().all(|(bit, ..)| *bit != 0);
        let others = words.iter().map(|word| word.posted.numbers).collect();
        let before = earlier
            .iter()
            .map(|(bit, _, numbers)| (*bit, &**numbers))
            .collect();
        let sure = words.iter().zip(0..).fold(own, |sure, (word, bit)| {
            sure | u16::from(word.bloom_bits.are_exact) << bit
        });
        let mut rest = List {
            own,
            gone,
            sure,
            has_enough,
            words,
            are_enough,
            known,
            others,
            before,
            last: None,
            reported: Vec::new(),
        };
        match has_enough {
            true => rest.scan_sufficient_list(*list, &bloom_bits, have_signs, visitor),
            false => rest.scan_insufficient_list(*list, &bloom_bits, visitor),
        }
        if visitor.lacks() == 0 {
            return;
        }
        let reported = if has_enough {
            Cow::Borrowed(list.numbers)
        } else {
            Cow::Owned(rest.reported)
        };
        earlier.push((own, is_whole, reported));
    }
}

/// Returns a test on payloads: the name may contain a word with one of these signatures, or is not
/// plain. The number of signatures is constant, so that the signatures stay in registers.
fn needs_lookup_test<const SIGNS: usize>(
    bloom_bits: &[u64],
    is_plain: impl Fn(u64) -> bool,
) -> impl Fn(&u64) -> bool {
    // Pads with a signature that no payload has.
    let mut padded = [u64::MAX; SIGNS];
    padded[..bloom_bits.len()].copy_from_slice(bloom_bits);
    move |says| {
        padded.iter().fold(!is_plain(*says), |is, bloom_bits| {
            is | (says & bloom_bits == *bloom_bits)
        })
    }
}

/// Counts the names before the first name that needs a lookup; most names contain no other query
/// word.
fn without(says: &[u64], bloom_bits: &[u64], is_plain: impl Fn(u64) -> bool) -> usize {
    let place = match bloom_bits.len() {
        0..=2 => says
            .iter()
            .position(needs_lookup_test::<2>(bloom_bits, is_plain)),
        3..=5 => says
            .iter()
            .position(needs_lookup_test::<5>(bloom_bits, is_plain)),
        _ => says
            .iter()
            .position(needs_lookup_test::<MAX_WORDS>(bloom_bits, is_plain)),
    };
    place.unwrap_or(says.len())
}

/// Returns the positions of names that need a lookup.
fn with(says: &[u64], bloom_bits: &[u64], is_plain: impl Fn(u64) -> bool) -> Vec<u32> {
    match bloom_bits.len() {
        0..=2 => places(says, needs_lookup_test::<2>(bloom_bits, is_plain)),
        3..=5 => places(says, needs_lookup_test::<5>(bloom_bits, is_plain)),
        _ => places(says, needs_lookup_test::<MAX_WORDS>(bloom_bits, is_plain)),
    }
}

/// Returns the positions of matching cells, which are few or clustered.
fn places(cells: &[u64], fits: impl Fn(&u64) -> bool) -> Vec<u32> {
    const TOGETHER: usize = 32;
    let (mut places, mut next) = (Vec::new(), 0);
    while let Some(first) = cells[next..].iter().position(&fits) {
        let first = next + first;
        next = cells.len().min(first + TOGETHER);
        places.extend(
            (first as u32..)
                .zip(&cells[first..next])
                .filter(|(_, cell)| fits(cell))
                .map(|(place, _)| place),
        );
    }
    places
}

/// A list of names during its pass, with the unread rest of the other lists.
struct List<'n> {
    own: u16,
    /// Words whose complete lists are finished.
    gone: u16,
    /// Words whose bits are exact, and the list's own word.
    sure: u16,
    has_enough: bool,
    words: &'n [Word<'n>],
    are_enough: &'n [bool],
    known: &'n [u32],
    others: Vec<&'n [u32]>,
    /// The bit and the reportable names for each finished list.
    before: Vec<(u16, &'n [u32])>,
    last: Option<u32>,
    reported: Vec<u32>,
}

impl List<'_> {
    /// Processes a list whose names have enough words just by being in the list.
    fn scan_sufficient_list(
        &mut self,
        list: PostingList<'_>,
        bloom_bits: &[u64],
        have_signs: bool,
        visitor: &mut impl PostingVisitor,
    ) {
        let mut next = 0;
        while next < list.numbers.len() && visitor.lacks() > 0 {
            let says = &list.says[next..];
            let says = &says[..visitor.lacks().min(says.len())];
            let alone = without(says, bloom_bits, |says| {
                visitor.skips_single_word(self.own, says)
            });
            let numbers = &list.numbers[next..next + alone];
            match have_signs && alone > 0 && !self.has_known(numbers) {
                true => visitor.skip_single_word_names(numbers),
                false => numbers
                    .iter()
                    .zip(says)
                    .for_each(|(number, says)| self.look(*number, *says, visitor)),
            }
            next += alone;
            if alone < says.len() {
                self.look(list.numbers[next], list.says[next], visitor);
                next += 1;
            }
        }
    }

    /// Processes a list whose names need further words to have enough.
    fn scan_insufficient_list(
        &mut self,
        list: PostingList<'_>,
        bloom_bits: &[u64],
        visitor: &mut impl PostingVisitor,
    ) {
        let places = with(list.says, bloom_bits, |says| {
            !visitor.is_always_reported(says)
        });
        // The numbers are far apart in memory; reading them together overlaps the cache misses.
        let numbers: Vec<u32> = places
            .iter()
            .map(|place| list.numbers[*place as usize])
            .collect();
        for (place, number) in places.into_iter().zip(numbers) {
            if visitor.lacks() == 0 {
                return;
            }
            self.look(number, list.says[place as usize], visitor);
        }
    }

    /// Returns true if the range of these ascending, non-empty numbers may contain a known number.
    fn has_known(&mut self, numbers: &[u32]) -> bool {
        has(&mut self.known, numbers[0])
            || self
                .known
                .first()
                .is_some_and(|known| *known <= numbers[numbers.len() - 1])
    }

    fn look(&mut self, number: u32, says: u64, visitor: &mut impl PostingVisitor) {
        let Self {
            own,
            gone,
            sure,
            has_enough,
            words,
            are_enough,
            ..
        } = *self;
        if visitor.is_always_reported(says) {
            return visitor.take(number, says, 0);
        }
        let possible = words.iter().zip(0..).fold(own, |possible, (word, bit)| {
            possible | u16::from(word.may_be_in(says)) << bit
        });
        if !are_enough[usize::from(possible)]
            || self.last == Some(number)
            || has(&mut self.known, number)
        {
            return;
        }
        self.last = Some(number);
        if self
            .before
            .iter_mut()
            .any(|(bit, list)| (*bit == 0 || possible & *bit != 0) && has(list, number))
        {
            return;
        }
        if !has_enough {
            self.reported.push(number);
        }
        // A finished list would have reported the name, so it lacks that list's word.
        let possible = possible & (!gone | own);
        if !are_enough[usize::from(possible)] {
            return;
        }
        let (mut shared, mut rest, mut is_enough) = (possible & sure, possible & !sure, false);
        loop {
            if !is_enough && are_enough[usize::from(shared)] {
                is_enough = true;
                if visitor.needs_no_lookup(Seen {
                    number,
                    says,
                    possible: shared | rest,
                }) {
                    return;
                }
            }
            if rest == 0 {
                break;
            }
            let bit = rest & rest.wrapping_neg();
            rest &= !bit;
            if has(&mut self.others[bit.trailing_zeros() as usize], number) {
                shared |= bit;
            }
        }
        if is_enough {
            visitor.take(number, says, shared);
        }
    }
}

/// Returns true if an ascending list contains a number, and advances the list to the number.
pub fn has(list: &mut &[u32], number: u32) -> bool {
    match **list {
        [first, ..] if first < number => *list = &list[place(list, number)..],
        [first, ..] => return first == number,
        [] => return false,
    }
    list.first() == Some(&number)
}

/// Number of entries to scan one by one.
const NEAR: usize = 8;

/// Numbers per cache line of the processor.
const LINE: usize = 16;
/// Distance up to which a sequential scan is faster than random access.
const NOT_FAR: usize = 512;

/// Returns the position of the first entry of an ascending list that is at least `number`. Scans
/// the front first, then starts at the position expected for evenly spaced entries.
fn place(list: &[u32], number: u32) -> usize {
    let near = &list[..list.len().min(NEAR)];
    if near.len() < NEAR || near[NEAR - 1] >= number {
        return near
            .iter()
            .position(|known| *known >= number)
            .unwrap_or(near.len());
    }
    let (Some(first), Some(last)) = (list.first(), list.last().filter(|last| **last >= number))
    else {
        return list.len();
    };
    let (from, of) = (number.saturating_sub(*first), (last - first).max(1));
    let guess = (u64::from(from) * (list.len() as u64 - 1) / u64::from(of)) as usize;
    if guess < NOT_FAR {
        let lines = list[..list.len().min(2 * NOT_FAR)].chunks_exact(LINE);
        if let Some((line, numbers)) = lines
            .enumerate()
            .find(|(_, numbers)| numbers[LINE - 1] >= number)
        {
            return line * LINE + numbers.iter().filter(|known| **known < number).count();
        }
    }
    search_near(list, guess, |known| *known < number)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::{BloomBits, PostingList, PostingVisitor, Seen, Word, each, has};

    /// Numbers are close together, or so far apart that the search advances in long steps.
    const FAR: u32 = 1 << 16;

    fn ascending(numbers: Vec<u32>) -> Vec<u32> {
        let mut sorted = numbers;
        sorted.sort_unstable();
        sorted
    }

    fn numbers() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(prop_oneof![0_u32..40, FAR - 5..FAR + 5, 0..3 * FAR], 0..200)
            .prop_map(ascending)
    }

    /// Flag for names that a list contains more than once.
    const TWICE: u64 = 1 << 40;

    fn is_always_reported(says: u64) -> bool {
        says & 0xFF < 20
    }

    struct Collector<'t> {
        payload: &'t dyn Fn(u32) -> u64,
        needs_matched_words: bool,
        most: usize,
        found: Vec<(u32, u16)>,
        anyway: BTreeSet<u32>,
        passed_over: Vec<(u32, Option<u16>)>,
    }

    impl PostingVisitor for Collector<'_> {
        fn is_always_reported(&self, says: u64) -> bool {
            is_always_reported(says)
        }

        fn needs_no_lookup(
            &mut self,
            Seen {
                number,
                says,
                possible,
            }: Seen,
        ) -> bool {
            assert_eq!(says, (self.payload)(number));
            self.passed_over
                .extend((number % 3 == 0).then_some((number, Some(possible))));
            number % 3 == 0
        }

        fn lacks(&self) -> usize {
            self.most
                .saturating_sub(self.found.len() + self.passed_over.len())
        }

        fn needs_matched_words(&self) -> bool {
            self.needs_matched_words
        }

        fn skips_single_word(&self, own: u16, says: u64) -> bool {
            own.is_power_of_two() && says & 1 == 1 && !is_always_reported(says) && says & TWICE == 0
        }

        fn skip_single_word_names(&mut self, numbers: &[u32]) {
            self.passed_over
                .extend(numbers.iter().map(|number| (*number, None)));
        }

        fn take(&mut self, number: u32, says: u64, words: u16) {
            assert_eq!(says, (self.payload)(number));
            if is_always_reported(says) {
                self.anyway.insert(number);
            } else {
                self.found.push((number, words));
            }
        }
    }

    proptest! {
        #[test]
        fn each_wanted_name_is_told_with_all_its_words(
            required in prop::collection::vec(numbers(), 0..3),
            known in numbers(),
            words in prop::collection::vec(numbers(), 0..4),
            enough in prop::collection::vec(prop::bool::weighted(0.2), 15),
            cut in 0_usize..200,
            needs_matched_words in any::<bool>(),
            most in prop_oneof![Just(usize::MAX), 1_usize..60],
            are_exact in any::<bool>(),
            first in any::<prop::sample::Index>(),
        ) {
            // A name has the same payload in every list: bits of its words, which two words may
            // share, and the other bits.
            let bloom_bits = |word: usize| 1_u64 << (8 + word.min(2));
            let payload = |number: u32| {
                let of_words = words.iter().enumerate().filter(|(_, list)| list.contains(&number)).fold(0, |all, (word, _)| all | bloom_bits(word));
                let is_twice = required.iter().chain(&words).any(|list| list.iter().filter(|known| **known == number).count() > 1);
                of_words | u64::from(number % 251) | if is_twice { TWICE } else { 0 }
            };
            let says = |lists: &[Vec<u32>]| lists.iter().map(|list| list.iter().map(|number| payload(*number)).collect()).collect::<Vec<Vec<u64>>>();
            let (of_required, of_words) = (says(&required), says(&words));
            let of_no_word = required.iter().zip(&of_required).map(|(numbers, says)| PostingList { numbers, says });
            let asked: Vec<Word<'_>> =
                words.iter().zip(&of_words).enumerate().map(|(word, (numbers, says))| Word { posted: PostingList { numbers, says }, bloom_bits: BloomBits { bits: bloom_bits(word), are_exact: are_exact && word < 2 } }).collect();
            // The lists of words are required too.
            let mut lists: Vec<PostingList<'_>> = asked.iter().take(2).map(|word| word.posted.first(cut)).chain(of_no_word).collect();
            lists.retain(|list| !list.numbers.is_empty());
            let first = first.index(lists.len().max(1));
            lists.rotate_left(first);
            // A superset of an enough set is enough.
            let are_enough: Vec<bool> = (0..16_usize).map(|bits| (1..16).any(|fewer| fewer & !bits == 0 && enough[fewer - 1])).collect();
            let mut reported = Collector { payload: &payload, needs_matched_words, most, found: Vec::new(), anyway: BTreeSet::new(), passed_over: Vec::new() };
            each(&lists, &known, &asked, &are_enough, &mut reported);
            let has_left_off = reported.lacks() == 0;
            let Collector { found, anyway, passed_over, .. } = reported;
            let in_list = |list: &[u32], number: u32| u16::from(list.contains(&number));
            let all: BTreeSet<u32> = lists.iter().flat_map(|list| list.numbers.iter().copied()).collect();
            let (reported_anyway, others): (BTreeSet<u32>, BTreeSet<u32>) = all.into_iter().partition(|number| is_always_reported(payload(*number)));
            prop_assert!(anyway == reported_anyway || has_left_off && anyway.is_subset(&reported_anyway));
            let others = others.into_iter().filter(|number| !known.contains(number));
            let with_words = others.map(|number| (number, (0..).zip(&words).map(|(word, list)| in_list(list, number) << word).sum()));
            let expected: BTreeMap<u32, u16> = with_words.filter(|(_, words): &(u32, u16)| are_enough[usize::from(*words)]).collect();
            // For a skipped name, only the possible words are known.
            let is_known_of =
                |words: u16, possible: &Option<u16>| possible.map_or(words.is_power_of_two() || !needs_matched_words, |possible| words & !possible == 0);
            prop_assert!(passed_over.iter().all(|(number, possible)| expected.get(number).is_some_and(|words| is_known_of(*words, possible))));
            let mut reported: Vec<u32> = found.iter().map(|(number, _)| *number).chain(passed_over.iter().map(|(number, _)| *number)).collect();
            reported.sort_unstable();
            match has_left_off {
                // Exactly as many names as requested are reported, each once.
                true => prop_assert!(reported.len() == most && reported.is_sorted_by(|a, b| a < b) && reported.iter().all(|number| expected.contains_key(number))),
                false => prop_assert_eq!(reported, expected.keys().copied().collect::<Vec<_>>()),
            }
            prop_assert!(found.iter().all(|(number, words)| expected[number] == *words));
        }

        #[test]
        fn what_is_before_a_number_is_taken(list in numbers(), looked_for in numbers()) {
            let mut rest = list.as_slice();
            for number in looked_for {
                prop_assert_eq!(has(&mut rest, number), list.contains(&number));
                prop_assert_eq!(rest, &list[list.partition_point(|known| *known < number)..]);
                let says = vec![0; list.len()];
                prop_assert_eq!(PostingList { numbers: &list, says: &says }.times(number), list.iter().filter(|known| **known == number).count());
            }
        }
    }
}
