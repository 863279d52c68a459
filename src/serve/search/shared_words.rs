//! Finds the names that share enough words with what is asked, from the lists of names by word. Beside each name in a list stand signs of all words that it
//! has, so that of the other lists only few have to be asked, and each is gone through once, forwards.

use crate::serve::index::place_near;

/// Words that are told apart.
pub const MOST_WORDS: usize = 16;

/// The names that have a word, ascending and as often as they have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Posted<'n> {
    pub numbers: &'n [u32],
    /// What is known of each name; see [`super::names`].
    pub says: &'n [u64],
}

impl<'n> Posted<'n> {
    /// As many as there are, or the first of them.
    pub fn first(self, count: usize) -> Self {
        let count = count.min(self.numbers.len());
        Self { numbers: &self.numbers[..count], says: &self.says[..count] }
    }

    /// How often a name has the word.
    pub fn times(self, number: u32) -> usize {
        self.numbers[self.numbers.partition_point(|known| *known < number)..].iter().take_while(|known| **known == number).count()
    }

    /// Whether it is the list that another one is, or is the beginning of.
    fn begins_as(self, other: Self) -> bool {
        std::ptr::eq(self.numbers.as_ptr(), other.numbers.as_ptr())
    }
}

/// A word that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Word<'n> {
    pub posted: Posted<'n>,
    /// Bits of what is said of names that each has which has the word; names without it may have them too.
    pub signs: u64,
}

impl Word<'_> {
    fn may_be_in(&self, says: u64) -> bool {
        says & self.signs == self.signs
    }
}

/// What is known of a name of a list before the lists of other words are asked.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub number: u32,
    pub says: u64,
    /// A bit for each of the words that it may have.
    pub possible: u16,
}

/// Tells names that one of the `wanted` lists has and that are not `known`, with what the list says of each and a bit for each of the `words` that it has, of
/// which there are [`MOST_WORDS`] at most: those whose words `are_enough`, by their bits, once; and those of which `is_told_anyway` by what is said of them, once
/// for each time that a list has them and with no bits. No words are never enough, and more words never less. Of a name that has enough by being in the list,
/// `is_passed_over` may say that nothing else has to be known.
pub fn each(
    wanted: &[Posted<'_>],
    known: &[u32],
    words: &[Word<'_>],
    are_enough: &[bool],
    is_told_anyway: impl Fn(u64) -> bool,
    mut is_passed_over: impl FnMut(Seen) -> bool,
    mut take: impl FnMut(u32, u64, u16),
) {
    let bit_of = |list: Posted<'_>| words.iter().position(|word| list.begins_as(word.posted)).map_or(0, |word| 1_u16 << word);
    for (place, list) in wanted.iter().enumerate() {
        let own = bit_of(*list);
        let has_enough = are_enough[usize::from(own)];
        let other_words: Vec<Word<'_>> = words.iter().zip(0..).filter(|(_, word)| own >> word & 1 == 0).map(|(word, _)| *word).collect();
        let mut known = known;
        let mut others: Vec<&[u32]> = words.iter().map(|word| word.posted.numbers).collect();
        let mut earlier: Vec<(u16, &[u32])> = wanted[..place].iter().map(|list| (bit_of(*list), list.numbers)).collect();
        let mut last = None;
        for (&number, &says) in list.numbers.iter().zip(list.says) {
            if is_told_anyway(says) {
                take(number, says, 0);
                continue;
            }
            // Most names have no other word, and mostly that is too few.
            if !has_enough && !other_words.iter().any(|word| word.may_be_in(says)) {
                continue;
            }
            let possible = words.iter().zip(0..).fold(own, |possible, (word, bit)| possible | u16::from(word.may_be_in(says)) << bit);
            if !are_enough[usize::from(possible)] || last == Some(number) || has(&mut known, number) {
                continue;
            }
            last = Some(number);
            if earlier.iter_mut().any(|(bit, list)| (*bit == 0 || possible & *bit != 0) && has(list, number)) {
                continue;
            }
            if has_enough && is_passed_over(Seen { number, says, possible }) {
                continue;
            }
            let has_word =
                |(bit, other): (u16, &mut &[u32])| if possible >> bit & 1 == 1 && (own >> bit & 1 == 1 || has(other, number)) { 1 << bit } else { 0 };
            let shared = (0..).zip(&mut others).map(has_word).fold(0, |shared: u16, word: u16| shared | word);
            if are_enough[usize::from(shared)] {
                take(number, says, shared);
            }
        }
    }
}

/// Whether an ascending list has a number; takes from it what is before.
pub fn has(list: &mut &[u32], number: u32) -> bool {
    if list.first().is_some_and(|first| *first < number) {
        *list = &list[place(list, number)..];
    }
    list.first() == Some(&number)
}

/// Place of the first number of an ascending list that is not below another: looked for from where it should be if they were spread evenly.
fn place(list: &[u32], number: u32) -> usize {
    let (Some(first), Some(last)) = (list.first(), list.last().filter(|last| **last >= number)) else { return list.len() };
    let (from, of) = (number.saturating_sub(*first), (last - first).max(1));
    let guess = (u64::from(from) * (list.len() as u64 - 1) / u64::from(of)) as usize;
    place_near(list, guess, |known| *known < number)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::{Posted, Seen, Word, each, has};

    /// Numbers lie close together, or so far apart that a list is gone through in long steps.
    const FAR: u32 = 1 << 16;

    fn ascending(numbers: Vec<u32>) -> Vec<u32> {
        let mut sorted = numbers;
        sorted.sort_unstable();
        sorted
    }

    fn numbers() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(prop_oneof![0_u32..40, FAR - 5..FAR + 5, 0..3 * FAR], 0..200).prop_map(ascending)
    }

    proptest! {
        #[test]
        fn each_wanted_name_is_told_with_all_its_words(
            wanted in prop::collection::vec(numbers(), 0..3),
            known in numbers(),
            words in prop::collection::vec(numbers(), 0..4),
            enough in prop::collection::vec(prop::bool::weighted(0.2), 15),
            cut in 0_usize..200,
        ) {
            // The same of a name in whichever list it stands: a sign of each word, as two words may have in common, and what else is said.
            let signs = |word: usize| 1_u64 << (8 + word / 2);
            let said = |number: u32| {
                let of_words = words.iter().enumerate().filter(|(_, list)| list.contains(&number)).fold(0, |all, (word, _)| all | signs(word));
                of_words | u64::from(number % 251)
            };
            let is_told_anyway = |says: u64| says & 0xFF < 20;
            let says = |lists: &[Vec<u32>]| lists.iter().map(|list| list.iter().map(|number| said(*number)).collect()).collect::<Vec<Vec<u64>>>();
            let (of_wanted, of_words) = (says(&wanted), says(&words));
            let of_no_word = wanted.iter().zip(&of_wanted).map(|(numbers, says)| Posted { numbers, says });
            let asked: Vec<Word<'_>> =
                words.iter().zip(&of_words).enumerate().map(|(word, (numbers, says))| Word { posted: Posted { numbers, says }, signs: signs(word) }).collect();
            // The lists of words are wanted too.
            let mut lists: Vec<Posted<'_>> = asked.iter().take(2).map(|word| word.posted.first(cut)).chain(of_no_word).collect();
            lists.retain(|list| !list.numbers.is_empty());
            // More words are never less.
            let are_enough: Vec<bool> = (0..16_usize).map(|bits| (1..16).any(|fewer| fewer & !bits == 0 && enough[fewer - 1])).collect();
            let (mut found, mut anyway, mut passed_over) = (Vec::new(), BTreeSet::new(), Vec::new());
            each(
                &lists,
                &known,
                &asked,
                &are_enough,
                is_told_anyway,
                |Seen { number, says, possible }| {
                    assert_eq!(says, said(number));
                    passed_over.extend((number % 3 == 0).then_some((number, possible)));
                    number % 3 == 0
                },
                |number, says, words| {
                    assert_eq!(says, said(number));
                    if is_told_anyway(says) {
                        anyway.insert(number);
                    } else {
                        found.push((number, words));
                    }
                },
            );
            let in_list = |list: &[u32], number: u32| u16::from(list.contains(&number));
            let all: BTreeSet<u32> = lists.iter().flat_map(|list| list.numbers.iter().copied()).collect();
            let (told_anyway, others): (BTreeSet<u32>, BTreeSet<u32>) = all.into_iter().partition(|number| is_told_anyway(said(*number)));
            prop_assert_eq!(anyway, told_anyway);
            let others = others.into_iter().filter(|number| !known.contains(number));
            let with_words = others.map(|number| (number, (0..).zip(&words).map(|(word, list)| in_list(list, number) << word).sum()));
            let expected: BTreeMap<u32, u16> = with_words.filter(|(_, words): &(u32, u16)| are_enough[usize::from(*words)]).collect();
            // Of who was passed over nothing more is known than what may be.
            prop_assert!(passed_over.iter().all(|(number, possible)| expected.get(number).is_some_and(|words| words & !possible == 0)));
            let mut told: Vec<u32> = found.iter().map(|(number, _)| *number).chain(passed_over.iter().map(|(number, _)| *number)).collect();
            told.sort_unstable();
            prop_assert_eq!(told, expected.keys().copied().collect::<Vec<_>>());
            prop_assert!(found.iter().all(|(number, words)| expected[number] == *words));
        }

        #[test]
        fn what_is_before_a_number_is_taken(list in numbers(), looked_for in numbers()) {
            let mut rest = list.as_slice();
            for number in looked_for {
                prop_assert_eq!(has(&mut rest, number), list.contains(&number));
                prop_assert_eq!(rest, &list[list.partition_point(|known| *known < number)..]);
                let says = vec![0; list.len()];
                prop_assert_eq!(Posted { numbers: &list, says: &says }.times(number), list.iter().filter(|known| **known == number).count());
            }
        }
    }
}
