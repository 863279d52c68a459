//! Adds up what the words weigh that names share with what is asked, from the lists of names by word: one stretch of the names' numbers after the other,
//! so that what is added up stays near the processor.

/// Names of a stretch.
const STRETCH: u32 = 1 << 14;
/// So many names of a list for each that is looked at are gone through; of more, only those that are looked at are searched.
const DENSE: usize = 8;

/// What is known so far of a name.
#[derive(Clone, Copy, Default)]
struct Sum {
    words: u32,
    weight: f64,
}

/// Names of a stretch that are looked at, a bit for each. Mostly they are few, and far apart.
struct Wanted {
    places: [u64; STRETCH as usize / 64],
    /// A bit for each of these that has one.
    filled: [u64; STRETCH as usize / 64 / 64],
    count: usize,
}

impl Wanted {
    const NONE: Self = Self { places: [0; STRETCH as usize / 64], filled: [0; STRETCH as usize / 64 / 64], count: 0 };

    fn add(&mut self, place: u32) {
        let (word, bit) = ((place / 64) as usize, 1 << (place % 64));
        self.count += usize::from(self.places[word] & bit == 0);
        self.places[word] |= bit;
        self.filled[word / 64] |= 1 << (word % 64);
    }

    fn has(&self, place: u32) -> bool {
        self.places[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    /// All of them, ascending.
    fn each(&self, mut take: impl FnMut(u32)) {
        for (word, filled) in (0..).zip(self.filled) {
            each_bit(filled, |bit| {
                let word = 64 * word + bit;
                each_bit(self.places[word as usize], |bit| take(64 * word + bit));
            });
        }
    }

    fn clear(&mut self) {
        for (word, filled) in (0..).zip(&mut self.filled) {
            each_bit(std::mem::take(filled), |bit| self.places[64 * word + bit as usize] = 0);
        }
        self.count = 0;
    }
}

/// The places of the bits that are set, ascending.
fn each_bit(mut bits: u64, mut take: impl FnMut(u32)) {
    while bits != 0 {
        take(bits.trailing_zeros());
        bits &= bits - 1;
    }
}

/// Tells of each name that one of the `wanted` lists has, ascending and once: its number, what the words weigh that it has, added in their order, and how
/// many words of it they are. All lists ascend; `words` are the names that have a word, as often as they have it, and its weight.
pub fn each(wanted: &[&[u32]], words: &[(&[u32], f64)], mut take: impl FnMut(u32, f64, usize)) {
    let mut sums = vec![Sum::default(); STRETCH as usize];
    let mut here = Wanted::NONE;
    let (mut wanted, mut words) = (wanted.to_vec(), words.to_vec());
    while let Some(start) = wanted.iter().filter_map(|list| list.first()).min().copied() {
        let end = start.saturating_add(STRETCH);
        for list in &mut wanted {
            before(list, end).iter().for_each(|number| here.add(number - start));
        }
        let many = DENSE * here.count;
        for (list, weight) in &mut words {
            before(list, start);
            let mut list = before(list, end);
            if list.len() > many {
                here.each(|place| {
                    let number = start + place;
                    before(&mut list, number);
                    let times = list.iter().take_while(|known| **known == number).count();
                    let sum = &mut sums[place as usize];
                    sum.weight += if times > 0 { *weight } else { 0.0 };
                    sum.words += times as u32;
                });
                continue;
            }
            let mut last = None;
            for number in list {
                let place = number - start;
                if here.has(place) {
                    let sum = &mut sums[place as usize];
                    sum.weight += if last == Some(number) { 0.0 } else { *weight };
                    sum.words += 1;
                }
                last = Some(number);
            }
        }
        here.each(|place| {
            let Sum { words, weight } = std::mem::take(&mut sums[place as usize]);
            take(start + place, weight, words as usize);
        });
        here.clear();
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
    use proptest::prelude::*;

    use super::{STRETCH, before, each};

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
        fn each_wanted_name_is_told_once_with_all_its_words(wanted in prop::collection::vec(numbers(), 0..3), words in prop::collection::vec(numbers(), 0..4)) {
            let weights = [0.1, 0.7, 1.3, 2.9];
            let lists: Vec<(&[u32], f64)> = words.iter().zip(weights).map(|(list, weight)| (list.as_slice(), weight)).collect();
            let mut told = Vec::new();
            each(&wanted.iter().map(Vec::as_slice).collect::<Vec<_>>(), &lists, |number, weight, words| told.push((number, weight, words)));
            let mut all = ascending(wanted.concat());
            all.dedup();
            let times = |list: &[u32], number: u32| list.iter().filter(|known| **known == number).count();
            let expected: Vec<(u32, f64, usize)> = all
                .into_iter()
                .map(|number| {
                    let weight = lists.iter().filter(|(list, _)| times(list, number) > 0).fold(0.0, |sum, (_, weight)| sum + weight);
                    (number, weight, lists.iter().map(|(list, _)| times(list, number)).sum())
                })
                .collect();
            prop_assert_eq!(told, expected);
        }

        #[test]
        fn what_is_before_a_number_is_taken(list in numbers(), number in 0..3 * STRETCH) {
            let mut rest = list.as_slice();
            let taken = before(&mut rest, number);
            prop_assert!(taken.iter().all(|known| *known < number) && rest.iter().all(|known| *known >= number));
            prop_assert_eq!([taken, rest].concat(), list);
        }
    }
}
