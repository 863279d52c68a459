//! Finds the names that share enough words with what is asked, from the lists of names by word: one stretch of the names' numbers after the other, so that
//! what is noted stays near the processor, and without a question that the processor would have to guess the answer of.

/// Names of a stretch: a bit for each word of each of them is what the processor's second cache holds.
const STRETCH: u32 = 1 << 16;
/// Lists with so many names for each that is wanted are gone through; of longer ones, only the wanted names are searched.
const DENSE: usize = 8;
/// Words that are told apart.
pub const MOST_WORDS: usize = 16;

/// The names that have a word, ascending and as often as they have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Posted<'n> {
    pub numbers: &'n [u32],
    /// What is known of each name; see [`super::names`].
    pub says: &'n [u8],
}

impl<'n> Posted<'n> {
    /// As many as there are, or the first of them.
    pub fn first(self, count: usize) -> Self {
        self.split(count.min(self.numbers.len())).0
    }

    fn split(self, count: usize) -> (Self, Self) {
        let ((numbers, more_numbers), (says, more_says)) = (self.numbers.split_at(count), self.says.split_at(count));
        (Self { numbers, says }, Self { numbers: more_numbers, says: more_says })
    }

    /// How often a name has the word.
    pub fn times(self, number: u32) -> usize {
        self.numbers[self.numbers.partition_point(|known| *known < number)..].iter().take_while(|known| **known == number).count()
    }
}

/// Tells names that one of the `wanted` lists has and that are not `known`, with what a list says of each and a bit for each of the `words` that it has, of
/// which there are [`MOST_WORDS`] at most: those whose words `are_enough`, by their bits, once; and those of which `is_told_anyway` by what is said of them, once
/// for each list. No words are never enough.
pub fn each(
    wanted: &[Posted<'_>],
    mut known: &[u32],
    words: &[&[u32]],
    are_enough: &[bool],
    is_told_anyway: impl Fn(u8) -> bool,
    mut take: impl FnMut(u32, u8, u16),
) {
    let most = DENSE * wanted.iter().map(|list| list.numbers.len()).sum::<usize>();
    let (mut wanted, mut words): (Vec<_>, Vec<_>) = (wanted.to_vec(), words.iter().map(|list| (*list, list.len() > most)).collect());
    let mut bits = vec![0_u16; STRETCH as usize];
    let (mut wanted_here, mut words_here) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(words.len()));
    while let Some(start) = wanted.iter().filter_map(|list| list.numbers.first()).min().copied() {
        let end = start.saturating_add(STRETCH);
        let place = |number: &u32| (number - start) as usize;
        wanted_here.clear();
        for list in &mut wanted {
            let (here, rest) = list.split(list.numbers.iter().take_while(|number| **number < end).count());
            *list = rest;
            wanted_here.push(here);
        }
        words_here.clear();
        for (word, (list, is_long)) in words.iter_mut().enumerate() {
            if list.first().is_some_and(|number| *number < start) {
                before(list, start);
            }
            if *is_long {
                let list = before(list, end);
                for number in wanted_here.iter().flat_map(|wanted| wanted.numbers) {
                    bits[place(number)] |= u16::from(list.binary_search(number).is_ok()) << word;
                }
                continue;
            }
            let mut count = 0;
            for number in list.iter().take_while(|number| **number < end) {
                bits[place(number)] |= 1 << word;
                count += 1;
            }
            let (here, rest) = list.split_at(count);
            *list = rest;
            words_here.push(here);
        }
        before(&mut known, start);
        before(&mut known, end).iter().for_each(|number| bits[place(number)] = 0);
        for list in &wanted_here {
            for (number, says) in list.numbers.iter().zip(list.says) {
                // Who stands in another list too is told once.
                let words = std::mem::take(&mut bits[place(number)]);
                if are_enough[usize::from(words)] || is_told_anyway(*says) {
                    take(*number, *says, words);
                }
            }
        }
        words_here.iter().flat_map(|list| *list).for_each(|number| bits[place(number)] = 0);
    }
}

/// Takes from an ascending list what is before a number.
pub fn before<'a>(list: &mut &'a [u32], number: u32) -> &'a [u32] {
    let (before, rest) = list.split_at(gallop(list, number));
    *list = rest;
    before
}

/// Place of the first number of an ascending list that is not below another, found in steps that double: what is looked for is mostly near the beginning.
fn gallop(list: &[u32], number: u32) -> usize {
    let mut step = 1;
    while step < list.len() && list[step] < number {
        step *= 2;
    }
    let from = step / 2;
    from + list[from..list.len().min(step + 1)].partition_point(|known| *known < number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Posted, STRETCH, before, each};

    fn ascending(numbers: Vec<u32>) -> Vec<u32> {
        let mut sorted = numbers;
        sorted.sort_unstable();
        sorted
    }

    /// Numbers of several stretches, some of them close together.
    fn numbers() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(prop_oneof![0_u32..40, STRETCH - 5..STRETCH + 5, 0..3 * STRETCH], 0..200).prop_map(ascending)
    }

    proptest! {
        #[test]
        fn each_wanted_name_is_told_with_all_its_words(
            wanted in prop::collection::vec(numbers(), 0..3),
            known in numbers(),
            words in prop::collection::vec(numbers(), 0..4),
            enough in prop::collection::vec(any::<bool>(), 15),
        ) {
            // The same of a name in whichever list it stands.
            let said = |number: u32| (number % 251) as u8;
            let is_told_anyway = |says: u8| says < 20;
            let says: Vec<Vec<u8>> = wanted.iter().map(|list| list.iter().map(|number| said(*number)).collect()).collect();
            let lists: Vec<Posted<'_>> = wanted.iter().zip(&says).map(|(numbers, says)| Posted { numbers, says }).collect();
            let are_enough: Vec<bool> = std::iter::once(false).chain(enough).collect();
            let (mut enough, mut anyway) = (Vec::new(), BTreeSet::new());
            each(&lists, &known, &words.iter().map(Vec::as_slice).collect::<Vec<_>>(), &are_enough, is_told_anyway, |number, says, words| {
                assert_eq!(says, said(number));
                if are_enough[usize::from(words)] {
                    enough.push((number, words));
                } else {
                    anyway.insert(number);
                }
            });
            enough.sort_unstable();
            let has = |list: &[u32], number: u32| u16::from(list.contains(&number));
            let all: BTreeSet<u32> = wanted.concat().into_iter().collect();
            let with_words = all.iter().filter(|number| !known.contains(number)).map(|number| (*number, (0..).zip(&words).map(|(word, list)| has(list, *number) << word).sum()));
            let expected: Vec<(u32, u16)> = with_words.filter(|(_, words): &(u32, u16)| are_enough[usize::from(*words)]).collect();
            for number in all.iter().filter(|number| is_told_anyway(said(**number))) {
                prop_assert!(anyway.contains(number) || enough.iter().any(|(told, _)| told == number));
            }
            prop_assert!(anyway.iter().all(|number| is_told_anyway(said(*number))));
            prop_assert_eq!(enough, expected);
        }

        #[test]
        fn what_is_before_a_number_is_taken(list in numbers(), number in 0..3 * STRETCH) {
            let mut rest = list.as_slice();
            let taken = before(&mut rest, number);
            prop_assert!(taken.iter().all(|known| *known < number) && rest.iter().all(|known| *known >= number));
            prop_assert_eq!([taken, rest].concat(), list.clone());
            let says = vec![0; list.len()];
            prop_assert_eq!(Posted { numbers: &list, says: &says }.times(number), list.iter().filter(|known| **known == number).count());
        }
    }
}
