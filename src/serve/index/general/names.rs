//! Names of millions of rows, found by their words. The names lie in one text; two arrays of places in it, sorted by what follows there, answer
//! "which names begin so" and "which names have this word" by binary search.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Ends a name in the text.
const END: u8 = 0;
/// Stands between a name and its legal form, which is no word to look for. Below every letter, so that a name sorts before longer ones.
const FORM: u8 = 1;
/// Stands between a person's last name and the given names.
const GIVEN: u8 = 2;
/// Bytes of text for which the number of the first name is kept.
const BLOCK: usize = 64;

/// The names and where their words are.
#[derive(Debug, Default)]
pub struct Names {
    text: Vec<u8>,
    /// Where each name begins.
    starts: Vec<u32>,
    /// For each block of the text the number of names that begin before it.
    blocks: Vec<u32>,
    /// Beginnings of names, sorted by what follows.
    first_words: Vec<u32>,
    /// Beginnings of the other words, sorted by what follows.
    other_words: Vec<u32>,
}

/// A name in the form it is compared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// Name without its legal form, and the form, which may be empty.
    Organization { core: &'a str, form: &'a str },
    /// Last name and given names.
    Person { last: &'a str, given: &'a str },
}

/// Names on their way into an index.
#[derive(Debug, Default)]
pub struct NamesBuilder {
    text: Vec<u8>,
    starts: Vec<u32>,
}

impl NamesBuilder {
    /// Adds a name and returns its number.
    ///
    /// # Errors
    /// `Store`, when there is more text than places can name.
    pub fn push(&mut self, name: Name<'_>) -> Result<u32> {
        let too_many = || Error::store("more than 4 GB of names");
        let number = u32::try_from(self.starts.len()).map_err(|_| too_many())?;
        self.starts.push(u32::try_from(self.text.len()).map_err(|_| too_many())?);
        let (first, mark, second) = match name {
            Name::Organization { core, form } => (core, FORM, form),
            Name::Person { last, given } => (last, GIVEN, given),
        };
        self.text.extend_from_slice(first.as_bytes());
        if !second.is_empty() {
            self.text.push(mark);
            self.text.extend_from_slice(second.as_bytes());
        }
        self.text.push(END);
        Ok(number)
    }

    /// Sorts the places of words.
    pub fn finish(self) -> Names {
        let Self { text, starts } = self;
        let first_words = sorted_places(&text, |visit| starts.iter().filter(|start| text[**start as usize] != END).for_each(|start| visit(*start)));
        let other_words = sorted_places(&text, |visit| visit_other_words(&text, visit));
        let mut blocks = Vec::with_capacity(text.len() / BLOCK + 1);
        let mut number = 0;
        for block in 0..=text.len() / BLOCK {
            while starts.get(number).is_some_and(|start| (*start as usize) < block * BLOCK) {
                number += 1;
            }
            blocks.push(number as u32);
        }
        Names { text, starts, blocks, first_words, other_words }
    }
}

/// Calls `visit` with the place of every word but a name's first and those of its legal form.
fn visit_other_words(text: &[u8], visit: &mut dyn FnMut(u32)) {
    let mut is_form = false;
    for (place, byte) in text.iter().enumerate() {
        match *byte {
            END => is_form = false,
            FORM => is_form = true,
            b' ' | GIVEN if !is_form => visit(place as u32 + 1),
            _ => {}
        }
    }
}

/// Sorts places by what follows them, then by place. They are first spread by two bytes, so that sorting needs little memory beside the result.
fn sorted_places(text: &[u8], each: impl Fn(&mut dyn FnMut(u32))) -> Vec<u32> {
    let two_bytes = |place: u32| usize::from(text[place as usize]) << 8 | usize::from(text.get(place as usize + 1).copied().unwrap_or(END));
    let mut ends = vec![0_usize; 1 << 16];
    each(&mut |place| ends[two_bytes(place)] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += *end;
        *end = total - *end;
    }
    let mut places = vec![0_u32; total];
    each(&mut |place| {
        let next = &mut ends[two_bytes(place)];
        places[*next] = place;
        *next += 1;
    });
    let mut rest = places.as_mut_slice();
    let mut groups = Vec::new();
    let mut start = 0;
    for end in ends {
        let (group, after) = rest.split_at_mut(end - start);
        (rest, start) = (after, end);
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups.into_par_iter().for_each(|group| sort_group(text, group));
    places
}

/// Sorts places with two equal bytes. The next eight decide nearly always.
fn sort_group(text: &[u8], group: &mut [u32]) {
    let key = |place: u32| {
        let mut first = [0; 8];
        let following = until_end(&text[place as usize..]);
        let following = &following[following.len().min(2)..];
        let length = following.len().min(8);
        first[..length].copy_from_slice(&following[..length]);
        u64::from_be_bytes(first)
    };
    let mut keyed: Vec<(u64, u32)> = group.iter().map(|place| (key(*place), *place)).collect();
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| until_end(&text[a.1 as usize..]).cmp(until_end(&text[b.1 as usize..]))).then(a.1.cmp(&b.1)));
    for (place, (_, sorted)) in group.iter_mut().zip(keyed) {
        *place = sorted;
    }
}

fn until_end(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(END, text).unwrap_or(text.len())]
}

impl Names {
    /// Number of names.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// A name, taken apart.
    pub fn name(&self, number: u32) -> Name<'_> {
        let text = std::str::from_utf8(until_end(&self.text[self.starts[number as usize] as usize..])).unwrap_or_default();
        match text.find([char::from(FORM), char::from(GIVEN)]) {
            Some(place) if text.as_bytes()[place] == GIVEN => Name::Person { last: &text[..place], given: &text[place + 1..] },
            Some(place) => Name::Organization { core: &text[..place], form: &text[place + 1..] },
            None => Name::Organization { core: text, form: "" },
        }
    }

    /// How often a word occurs.
    pub fn count(&self, word: &str) -> usize {
        self.with_word(word).map(<[u32]>::len).iter().sum()
    }

    /// The places of a whole word: as the first of a name, and further on.
    pub fn with_word(&self, word: &str) -> [&[u32]; 2] {
        [&self.first_words, &self.other_words].map(|places| {
            let begun = self.beginning(places, word.as_bytes());
            let length = begun.partition_point(|place| self.text.get(*place as usize + word.len()).is_none_or(|next| *next <= b' '));
            &begun[..length]
        })
    }

    /// The places of names that begin so.
    pub fn that_begin(&self, text: &str) -> &[u32] {
        self.beginning(&self.first_words, text.as_bytes())
    }

    /// The places of a sorted array whose text begins with `prefix`.
    fn beginning<'a>(&self, places: &'a [u32], prefix: &[u8]) -> &'a [u32] {
        let order = |place: u32| {
            let following = &self.text[place as usize..];
            following[..following.len().min(prefix.len())].cmp(prefix)
        };
        let start = places.partition_point(|&place| order(place) == Ordering::Less);
        let length = places[start..].partition_point(|&place| order(place) == Ordering::Equal);
        &places[start..start + length]
    }

    /// Number of the name that a place lies in.
    pub fn number_of(&self, place: u32) -> u32 {
        let mut number = self.blocks[place as usize / BLOCK] as usize;
        while self.starts.get(number).is_some_and(|start| *start <= place) {
            number += 1;
        }
        number as u32 - 1
    }

    pub fn size_bytes(&self) -> usize {
        self.text.capacity() + 4 * (self.starts.capacity() + self.blocks.capacity() + self.first_words.capacity() + self.other_words.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, NamesBuilder};
    use proptest::prelude::*;

    fn organization(core: &str) -> Name<'_> {
        Name::Organization { core, form: "LLC" }
    }

    #[test]
    fn words_of_legal_forms_are_not_found_and_given_names_are() {
        let mut builder = NamesBuilder::default();
        builder.push(organization("ACME LAND")).unwrap();
        builder.push(Name::Person { last: "LAND", given: "EVA A" }).unwrap();
        builder.push(Name::Organization { core: "", form: "" }).unwrap();
        builder.push(organization("LANDER")).unwrap();
        let names = builder.finish();
        let found = |word: &str| names.with_word(word).concat().into_iter().map(|place| names.number_of(place)).collect::<Vec<_>>();
        assert_eq!((found("LAND"), found("EVA"), found("LLC"), found("LAN")), (vec![1, 0], vec![1], vec![], vec![]));
        assert_eq!(names.that_begin("LAND").len(), 2);
        assert_eq!((names.name(0), names.name(1)), (organization("ACME LAND"), Name::Person { last: "LAND", given: "EVA A" }));
        assert_eq!(names.name(2), Name::Organization { core: "", form: "" });
    }

    proptest! {
        #[test]
        fn every_word_is_found_where_it_is(all in prop::collection::vec("[AB]{1,3}( [AB]{1,9}){0,3}", 1..60), word in "[AB]{1,3}") {
            let mut builder = NamesBuilder::default();
            for name in &all {
                builder.push(organization(name)).unwrap();
            }
            let names = builder.finish();
            let mut found: Vec<u32> = names.with_word(&word).concat().into_iter().map(|place| names.number_of(place)).collect();
            found.sort_unstable();
            let expected: Vec<u32> = (0..).zip(&all).flat_map(|(number, name)| name.split(' ').filter(|known| **known == word).map(move |_| number)).collect();
            prop_assert_eq!(found, expected);
            let mut begun: Vec<u32> = names.that_begin(&word).iter().map(|place| names.number_of(*place)).collect();
            begun.sort_unstable();
            let expected: Vec<u32> = (0..).zip(&all).filter(|(_, name)| name.starts_with(&word)).map(|(number, _)| number).collect();
            prop_assert_eq!(begun, expected);
        }
    }
}
