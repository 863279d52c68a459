//! Names of millions of rows, found by their words. The names lie in one text; their numbers, sorted by it, answer "which names begin so" by binary search, and for
//! each word there is the list of the names that have it.

use std::cmp::Ordering;
use std::collections::HashMap;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::serve::index::file::{Column, Small, stored};
use crate::serve::index::hash_index::{HashIndex, HashIndexBuilder};
use crate::serve::index::key_hash::hash;

/// Ends a name in the text.
const END: u8 = 0;
/// Stands between a name and its legal form, which is no word to look for. Below every letter, so that a name sorts before longer ones.
const FORM: u8 = 1;
/// Stands between a person's last name and the given names.
const GIVEN: u8 = 2;
/// In place of the number of words: of a person, and of a name with too many.
const PERSON: u8 = u8::MAX;
const MANY: u8 = u8::MAX - 1;

/// The names and where their words are.
#[derive(Debug, Default)]
pub struct Names {
    text: Column<u8>,
    /// Where each name begins.
    starts: Column<u32>,
    /// How many words each has, its legal form apart.
    lengths: Column<u8>,
    /// Whether all are organisations', none with hundreds of words.
    is_plain: Small<bool>,
    /// Numbers of the names, sorted by their text.
    sorted: Column<u32>,
    /// Numbers of the names by word, ascending; a name that has a word twice is there twice.
    by_word: Column<u32>,
    /// The number of each word.
    words: HashIndex,
    /// Where each word's names begin, and their end.
    word_starts: Column<u32>,
    /// Numbers of the words, sorted by the word; empty unless words may be unfinished.
    sorted_words: Column<u32>,
    /// A place in the text of each of these.
    word_places: Column<u32>,
}

stored!(Names { text, starts, lengths, is_plain, sorted, by_word, words, word_starts, sorted_words, word_places });

/// A name in the form it is compared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// Name without its legal form, and the form, which may be empty.
    Organization { core: &'a str, form: &'a str },
    /// Last name and given names.
    Person { last: &'a str, given: &'a str },
}

/// Numbers of the names that begin with a text, each list by text.
#[derive(Debug, Clone, Copy)]
pub struct Begun<'a> {
    /// Those of which it is all, but for a legal form or given names.
    pub whole: &'a [u32],
    /// Those that go on with another word.
    pub with_more_words: &'a [u32],
    /// Those in which its last word goes on.
    pub with_longer_word: &'a [u32],
}

/// Names on their way into an index.
#[derive(Debug, Default)]
pub struct NamesBuilder {
    text: Vec<u8>,
    starts: Vec<u32>,
    has_begun_words: bool,
}

impl NamesBuilder {
    /// For names that are also found by words that are unfinished. Eight bytes more for each different word.
    pub fn with_begun_words() -> Self {
        Self { has_begun_words: true, ..Self::default() }
    }

    /// Adds a name and returns its number.
    ///
    /// # Errors
    /// `Store`, when there is more text than places can name.
    pub fn push(&mut self, name: Name<'_>) -> Result<u32> {
        let too_many = || Error::store("more than 4 GB of names");
        let number = u32::try_from(self.starts.len()).map_err(|_| too_many())?;
        self.starts.push(u32::try_from(self.text.len()).map_err(|_| too_many())?);
        let (first, separator, second) = match name {
            Name::Organization { core, form } => (core, FORM, form),
            Name::Person { last, given } => (last, GIVEN, given),
        };
        self.text.extend_from_slice(first.as_bytes());
        if !second.is_empty() {
            self.text.push(separator);
            self.text.extend_from_slice(second.as_bytes());
        }
        self.text.push(END);
        Ok(number)
    }

    /// Sorts the names and lists them by word.
    ///
    /// # Errors
    /// `Store`, when there are more words than can be numbered.
    pub fn finish(self) -> Result<Names> {
        let Self { text, starts, has_begun_words } = self;
        let sorted = sorted(&text, &starts);
        let mut names = Names { text: text.into(), starts: starts.into(), sorted: sorted.into(), ..Names::default() };
        let places = names.list_words()?;
        if has_begun_words {
            names.sort_words(places);
        }
        Ok(names)
    }
}

/// Sorts names by text, then by number. They are first spread by two bytes, so that sorting needs little memory beside the result.
fn sorted(text: &[u8], starts: &[u32]) -> Vec<u32> {
    let named = || (0..).zip(starts).map(|(number, start)| (number, *start as usize)).filter(|(_, start)| text[*start] != END);
    let two_bytes = |start: usize| usize::from(text[start]) << 8 | usize::from(text.get(start + 1).copied().unwrap_or(END));
    let mut ends = vec![0_usize; 1 << 16];
    named().for_each(|(_, start)| ends[two_bytes(start)] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += *end;
        *end = total - *end;
    }
    let mut numbers = vec![0_u32; total];
    for (number, start) in named() {
        let next = &mut ends[two_bytes(start)];
        numbers[*next] = number;
        *next += 1;
    }
    let mut rest = numbers.as_mut_slice();
    let mut groups = Vec::new();
    let mut first = 0;
    for end in ends {
        let (group, after) = rest.split_at_mut(end - first);
        (rest, first) = (after, end);
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups.into_par_iter().for_each(|group| sort_group(text, starts, group));
    numbers
}

/// Sorts names with two equal bytes. The next eight decide nearly always.
fn sort_group(text: &[u8], starts: &[u32], group: &mut [u32]) {
    let following = |number: u32| until_end(&text[starts[number as usize] as usize..]);
    let key = |number: u32| {
        let mut first = [0; 8];
        let following = following(number);
        let following = &following[following.len().min(2)..];
        let length = following.len().min(8);
        first[..length].copy_from_slice(&following[..length]);
        u64::from_be_bytes(first)
    };
    let mut keyed: Vec<(u64, u32)> = group.iter().map(|number| (key(*number), *number)).collect();
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| following(a.1).cmp(following(b.1))).then(a.1.cmp(&b.1)));
    for (number, (_, sorted)) in group.iter_mut().zip(keyed) {
        *number = sorted;
    }
}

fn until_end(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(END, text).unwrap_or(text.len())]
}

impl Names {
    /// Lists the names by word; returns where in the text each word is first.
    fn list_words(&mut self) -> Result<Vec<u32>> {
        let (mut lengths, mut per_name) = (Vec::with_capacity(self.starts.len()), Vec::<u32>::with_capacity(self.starts.len()));
        let mut ids: HashMap<u64, u32> = HashMap::new();
        let (mut occurrences, mut counts, mut places): (Vec<u32>, Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..self.starts.len() {
            let name = self.name(number as u32);
            let (first, second) = match name {
                Name::Organization { core, .. } => (core, ""),
                Name::Person { last, given } => (last, given),
            };
            let before = occurrences.len();
            for word in first.split(' ').chain(second.split(' ')).filter(|word| !word.is_empty()) {
                let id = *ids.entry(hash(&[word])).or_insert(counts.len() as u32);
                if id as usize == counts.len() {
                    counts.push(0);
                    places.push((word.as_ptr() as usize - self.text.as_ptr() as usize) as u32);
                }
                counts[id as usize] += 1;
                occurrences.push(id);
            }
            let length = occurrences.len() - before;
            per_name.push(length as u32);
            lengths.push(if matches!(name, Name::Person { .. }) { PERSON } else { u8::try_from(length).unwrap_or(MANY).min(MANY) });
        }
        u32::try_from(occurrences.len()).map_err(|_| Error::store("more words than an index can number"))?;
        let mut words = HashIndexBuilder::default();
        ids.into_iter().for_each(|(hash, id)| words.add_hash(hash, id));
        let mut word_starts = Vec::with_capacity(counts.len() + 1);
        let mut total = 0;
        for count in &counts {
            word_starts.push(total);
            total += count;
        }
        word_starts.push(total);
        let mut next = word_starts.clone();
        let mut by_word = vec![0; occurrences.len()];
        let mut ids = occurrences.into_iter();
        for (number, length) in (0..).zip(per_name) {
            for id in ids.by_ref().take(length as usize) {
                let place = &mut next[id as usize];
                by_word[*place as usize] = number;
                *place += 1;
            }
        }
        self.is_plain = Small(lengths.iter().all(|length| *length < MANY));
        (self.lengths, self.by_word, self.words, self.word_starts) = (lengths.into(), by_word.into(), words.finish(), word_starts.into());
        Ok(places)
    }

    fn sort_words(&mut self, places: Vec<u32>) {
        let mut sorted: Vec<(u32, u32)> = places.into_iter().zip(0..).collect();
        sorted.par_sort_unstable_by(|a, b| self.word_at(a.0).cmp(self.word_at(b.0)));
        self.sorted_words = sorted.iter().map(|(_, word)| *word).collect::<Vec<_>>().into();
        self.word_places = sorted.into_iter().map(|(place, _)| place).collect::<Vec<_>>().into();
    }

    /// The word at a place of the text; the marks within a name come before a blank, letters and digits after it.
    fn word_at(&self, place: u32) -> &[u8] {
        let rest = &self.text[place as usize..];
        &rest[..rest.iter().position(|byte| *byte <= b' ').unwrap_or(rest.len())]
    }

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

    /// Whether a name is a person's, and has given names.
    pub fn is_person(&self, number: u32) -> bool {
        self.lengths[number as usize] == PERSON
    }

    /// Whether all are organisations', none with hundreds of words.
    pub fn is_plain(&self) -> bool {
        *self.is_plain
    }

    /// Splits numbers into those of persons, or of other names that have to be read, and the rest. Of many names the kind is looked up only where they differ.
    pub fn split(&self, numbers: Vec<u32>, is_first: impl Fn(u32) -> bool) -> (Vec<u32>, Vec<u32>) {
        if *self.is_plain { (Vec::new(), numbers) } else { numbers.into_iter().partition(|number| is_first(*number)) }
    }

    /// How many words an organisation's name has, its legal form apart; none of a person, and of a name with hundreds of words.
    pub fn length(&self, number: u32) -> Option<usize> {
        Some(self.lengths[number as usize]).filter(|length| *length < MANY).map(usize::from)
    }

    /// How often a word occurs.
    pub fn count(&self, word: &str) -> usize {
        self.with_word(word).len()
    }

    /// Numbers of the names that have a word, ascending; as often as they have it.
    pub fn with_word(&self, word: &str) -> &[u32] {
        let Some(word) = self.words.find(&[word]).first().map(|word| *word as usize) else { return &[] };
        &self.by_word[self.word_starts[word] as usize..self.word_starts[word + 1] as usize]
    }

    /// Numbers of the names that have a word which begins so, ascending; as often as they have one. Of names without begun words, those that have the word.
    pub fn with_word_begun(&self, begun: &str) -> Vec<u32> {
        if self.sorted_words.is_empty() {
            return self.with_word(begun).to_vec();
        }
        let start = self.word_places.partition_point(|place| self.word_at(*place) < begun.as_bytes());
        let count = self.word_places[start..].iter().take_while(|place| self.word_at(**place).starts_with(begun.as_bytes())).count();
        let of_word = |word: &u32| &self.by_word[self.word_starts[*word as usize] as usize..self.word_starts[*word as usize + 1] as usize];
        let mut numbers = self.sorted_words[start..start + count].iter().map(of_word).collect::<Vec<_>>().concat();
        // In runs that ascend, which this sort takes as they are.
        numbers.sort();
        numbers
    }

    /// Numbers of the names that begin so, by text.
    pub fn that_begin(&self, text: &str) -> Begun<'_> {
        let all = self.beginning(text);
        let with_more_words = self.beginning(&format!("{text} "));
        // The marks within a name come before a blank, letters and digits after it.
        let next = |number: u32| self.text.get(self.starts[number as usize] as usize + text.len()).copied().unwrap_or(END);
        let (whole, others) = all.split_at(all.partition_point(|&number| next(number) < b' '));
        Begun { whole, with_more_words, with_longer_word: &others[with_more_words.len()..] }
    }

    fn beginning(&self, text: &str) -> &[u32] {
        let prefix = text.as_bytes();
        let order = |number: u32| {
            let following = &self.text[self.starts[number as usize] as usize..];
            following[..following.len().min(prefix.len())].cmp(prefix)
        };
        let start = self.sorted.partition_point(|&number| order(number) == Ordering::Less);
        let length = self.sorted[start..].partition_point(|&number| order(number) == Ordering::Equal);
        &self.sorted[start..start + length]
    }

    pub fn size_bytes(&self) -> usize {
        let numbers = [&self.starts, &self.sorted, &self.by_word, &self.word_starts, &self.sorted_words, &self.word_places];
        self.text.size_bytes() + self.lengths.size_bytes() + self.words.size_bytes() + numbers.map(Column::size_bytes).iter().sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::search::names::{Name, NamesBuilder};
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
        let names = builder.finish().unwrap();
        let found = |word: &str| names.with_word(word).to_vec();
        assert_eq!((found("LAND"), found("EVA"), found("LLC"), found("LAN")), (vec![0, 1], vec![1], vec![], vec![]));
        let begun = names.that_begin("LAND");
        assert_eq!((begun.whole, begun.with_more_words, begun.with_longer_word), (&[1][..], &[][..], &[3][..]));
        assert_eq!(names.that_begin("ACME").with_more_words, [0]);
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
            let names = builder.finish().unwrap();
            let mut found: Vec<u32> = names.with_word(&word).to_vec();
            found.sort_unstable();
            let expected: Vec<u32> = (0..).zip(&all).flat_map(|(number, name)| name.split(' ').filter(|known| **known == word).map(move |_| number)).collect();
            prop_assert_eq!(found, expected);
            let begun = names.that_begin(&word);
            let rest = |name: &str| name.strip_prefix(word.as_str()).map(str::to_owned);
            for (list, fits) in [
                (begun.whole, &(|rest: &str| rest.is_empty()) as &dyn Fn(&str) -> bool),
                (begun.with_more_words, &|rest| rest.starts_with(' ')),
                (begun.with_longer_word, &|rest| !rest.is_empty() && !rest.starts_with(' ')),
            ] {
                let mut found = list.to_vec();
                found.sort_unstable();
                let expected: Vec<u32> = (0..).zip(&all).filter(|(_, name)| rest(name).is_some_and(|rest| fits(&rest))).map(|(number, _)| number).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
