//! Names of millions of rows, found by their words. The names lie in one text; their numbers,
//! sorted by it, answer "which names begin so" by binary search, and for each word there is the
//! list of the names that have it.

use std::cmp::Ordering;
use std::collections::HashMap;

use rayon::prelude::*;

use crate::index::file::{Column, Small, stored};
use crate::index::hash_index::{HashIndex, HashIndexBuilder};
use crate::index::key_hash::hash;
use crate::search::said::{COMMON, FIRST, MANY, MARKED, PERSON, REPEATS, Said, Signs, TWICE};
use crate::search::shared_words::Posted;
use pubdata_core::error::{Error, Result};

/// Ends a name in the text.
const END: u8 = 0;
/// Stands between a name and its legal form, which is no word to look for. Below every letter, so
/// that a name sorts before longer ones.
const FORM: u8 = 1;
/// Stands between a person's last name and the given names.
const GIVEN: u8 = 2;

/// The names and where their words are.
#[derive(Debug, Default)]
pub struct Names {
    text: Column<u8>,
    /// Where each name begins.
    starts: Column<u32>,
    /// Of each, whether it is a person's and whether it is marked, as bits of [`PERSON`] and
    /// [`MARKED`]; empty where none is either.
    kinds: Column<u8>,
    /// Whether some are persons'.
    has_persons: Small<bool>,
    /// Numbers of the names, sorted by their text.
    sorted: Column<u32>,
    /// Numbers of the names by word, ascending; a name that has a word twice is there twice.
    by_word: Column<u32>,
    /// What is known of each of these.
    says: Column<u64>,
    /// The number of each word.
    words: HashIndex,
    /// Where each word's names begin, and their end.
    word_starts: Column<u32>,
    /// Numbers of the commonest words, that of most names first.
    common: Column<u32>,
    /// For each word, of the sorted names whose first word it is: the place of the first, of the
    /// first with another word after it, and of the end.
    firsts: Column<u32>,
    /// Numbers of the words, sorted by the word; empty unless words may be unfinished.
    sorted_words: Column<u32>,
    /// A place in the text of each of these.
    word_places: Column<u32>,
}

stored!(Names {
    text,
    starts,
    kinds,
    has_persons,
    sorted,
    by_word,
    says,
    words,
    word_starts,
    common,
    firsts,
    sorted_words,
    word_places
});

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
    /// Those of which it is all, but for a legal form or given names: organisations' names, then
    /// persons'.
    pub whole: &'a [u32],
    /// Those that go on with another word.
    pub with_more_words: &'a [u32],
}

/// Names on their way into an index.
#[derive(Debug, Default)]
pub struct NamesBuilder {
    text: Vec<u8>,
    starts: Vec<u32>,
    /// By number; empty where none is marked.
    marked: Vec<bool>,
    has_begun_words: bool,
}

impl NamesBuilder {
    /// For names that are also found by words that are unfinished. Eight bytes more for each
    /// different word.
    pub fn with_begun_words() -> Self {
        Self {
            has_begun_words: true,
            ..Self::default()
        }
    }

    /// Adds a name and returns its number.
    ///
    /// # Errors
    /// `Store`, when there is more text than places can name.
    pub fn push(&mut self, name: Name<'_>) -> Result<u32> {
        let too_many = || Error::store("more than 4 GB of names");
        let number = u32::try_from(self.starts.len()).map_err(|_| too_many())?;
        self.starts
            .push(u32::try_from(self.text.len()).map_err(|_| too_many())?);
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

    /// Gives the names new numbers: the first is that of the name that has the first number of
    /// `order` until now.
    pub fn renumber(&mut self, order: &[u32]) {
        self.starts = order
            .iter()
            .map(|number| self.starts[*number as usize])
            .collect();
    }

    /// Marks names, by number: what is found of them tells.
    pub fn mark(&mut self, marked: impl Iterator<Item = bool>) {
        self.marked = marked.collect();
    }

    /// Sorts the names and lists them by word.
    ///
    /// # Errors
    /// `Store`, when there are more words than can be numbered.
    pub fn finish(self) -> Result<Names> {
        let Self {
            text,
            starts,
            marked,
            has_begun_words,
        } = self;
        let sorted = sorted(&text, &starts);
        let mut names = Names {
            text: text.into(),
            starts: starts.into(),
            sorted: sorted.into(),
            ..Names::default()
        };
        let places = names.list_words(&marked)?;
        if has_begun_words {
            names.sort_words(places);
        }
        Ok(names)
    }
}

/// Marks the number of a name's first word where others follow it.
const GOES_ON: u32 = 1 << 31;
/// In place of it where there is none.
const NO_WORD: u32 = u32::MAX;

/// The places of [`Names::firsts`], of names in the order of their text, which is that of their
/// first words, and in which those that have no other come first.
fn firsts(sorted: &[u32], first_words: &[u32], words: usize) -> Vec<u32> {
    let mut firsts = vec![0; 3 * words];
    for (place, first) in (0..)
        .zip(sorted.iter().map(|number| first_words[*number as usize]))
        .filter(|(_, first)| *first != NO_WORD)
    {
        let [start, more, end] = &mut firsts[3 * (first & !GOES_ON) as usize..][..3] else {
            continue;
        };
        if *end == 0 {
            (*start, *more) = (place, place);
        }
        *end = place + 1;
        if first & GOES_ON == 0 {
            *more = place + 1;
        }
    }
    firsts
}

/// The words that stand in names most often, by how often they do, then by number.
fn commonest(counts: &[u32]) -> Vec<u32> {
    let mut words: Vec<u32> = (0..counts.len() as u32).collect();
    let order = |word: &u32| (u32::MAX - counts[*word as usize], *word);
    if words.len() > COMMON as usize {
        words.select_nth_unstable_by_key(COMMON as usize, order);
        words.truncate(COMMON as usize);
    }
    words.sort_unstable_by_key(order);
    words
}

/// Sorts names by text, then by number. They are first spread by two bytes, so that sorting needs
/// little memory beside the result.
fn sorted(text: &[u8], starts: &[u32]) -> Vec<u32> {
    let named = || {
        (0..)
            .zip(starts)
            .map(|(number, start)| (number, *start as usize))
            .filter(|(_, start)| text[*start] != END)
    };
    let two_bytes = |start: usize| {
        usize::from(text[start]) << 8 | usize::from(text.get(start + 1).copied().unwrap_or(END))
    };
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
    groups
        .into_par_iter()
        .for_each(|group| sort_group(text, starts, group));
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
    keyed.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0)
            .then_with(|| following(a.1).cmp(following(b.1)))
            .then(a.1.cmp(&b.1))
    });
    for (number, (_, sorted)) in group.iter_mut().zip(keyed) {
        *number = sorted;
    }
}

fn until_end(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(END, text).unwrap_or(text.len())]
}

impl Names {
    /// Lists the names by word; returns where in the text each word is first.
    fn list_words(&mut self, marked: &[bool]) -> Result<Vec<u32>> {
        let (mut kinds, mut per_name) = (
            Vec::with_capacity(self.starts.len()),
            Vec::<(u32, u8)>::with_capacity(self.starts.len()),
        );
        let mut ids: HashMap<u64, u32> = HashMap::new();
        let mut first_words = Vec::with_capacity(self.starts.len());
        let (mut occurrences, mut counts, mut places): (Vec<u32>, Vec<u32>, Vec<u32>) =
            (Vec::new(), Vec::new(), Vec::new());
        for number in 0..self.starts.len() {
            let name = self.name(number as u32);
            let (first, second) = match name {
                Name::Organization { core, .. } => (core, ""),
                Name::Person { last, given } => (last, given),
            };
            let before = occurrences.len();
            for word in first
                .split(' ')
                .chain(second.split(' '))
                .filter(|word| !word.is_empty())
            {
                let id = *ids.entry(hash(&[word])).or_insert(counts.len() as u32);
                if id as usize == counts.len() {
                    counts.push(0);
                    places.push((word.as_ptr() as usize - self.text.as_ptr() as usize) as u32);
                }
                counts[id as usize] += 1;
                occurrences.push(id);
            }
            let length = occurrences.len() - before;
            let (is_person, is_marked) = (
                matches!(name, Name::Person { .. }),
                marked.get(number) == Some(&true),
            );
            let mark = if is_marked { MARKED } else { 0 };
            let has_repeats = (before + 1..occurrences.len())
                .any(|place| occurrences[before..place].contains(&occurrences[place]));
            let repeats = if has_repeats { REPEATS } else { 0 };
            per_name.push((
                length as u32,
                (mark
                    | repeats
                    | if is_person {
                        PERSON
                    } else {
                        (length as u64).min(MANY)
                    }) as u8,
            ));
            kinds.push((mark | if is_person { PERSON } else { 0 }) as u8);
            let goes_on = if first.contains(' ') { GOES_ON } else { 0 };
            first_words.push(if first.is_empty() {
                NO_WORD
            } else {
                occurrences[before] | goes_on
            });
        }
        u32::try_from(occurrences.len())
            .ok()
            .filter(|words| *words < GOES_ON)
            .ok_or_else(|| Error::store("more words than an index can number"))?;
        self.firsts = firsts(&self.sorted, &first_words, counts.len()).into();
        let (mut words, mut signs) = (HashIndexBuilder::default(), vec![0; counts.len()]);
        for (hash, id) in ids {
            words.add_hash(hash, id);
            signs[id as usize] = Signs::of_hash(hash).bits;
        }
        let common = commonest(&counts);
        common
            .iter()
            .enumerate()
            .for_each(|(place, id)| signs[*id as usize] = Signs::of_common(place).bits);
        let mut word_starts = Vec::with_capacity(counts.len() + 1);
        let mut total = 0;
        for count in &counts {
            word_starts.push(total);
            total += count;
        }
        word_starts.push(total);
        let mut next = word_starts.clone();
        let (mut by_word, mut says) = (vec![0; occurrences.len()], vec![0; occurrences.len()]);
        let mut rest = occurrences.as_slice();
        for (number, (length, said)) in (0..).zip(per_name) {
            let (of_name, after) = rest.split_at(length as usize);
            rest = after;
            let said = of_name
                .iter()
                .fold(u64::from(said), |said, id| said | signs[*id as usize]);
            for (word, id) in of_name.iter().enumerate() {
                let first = if word == 0 { FIRST } else { 0 };
                let is_twice =
                    said & REPEATS != 0 && of_name.iter().filter(|known| *known == id).count() > 1;
                let place = &mut next[*id as usize];
                by_word[*place as usize] = number;
                says[*place as usize] = said | first | if is_twice { TWICE } else { 0 };
                *place += 1;
            }
        }
        self.has_persons = Small(
            kinds
                .iter()
                .any(|kind| Said::new(u64::from(*kind)).is_person()),
        );
        if kinds.iter().all(|kind| *kind == 0) {
            kinds = Vec::new();
        }
        (self.kinds, self.by_word, self.says) = (kinds.into(), by_word.into(), says.into());
        (self.words, self.word_starts, self.common) =
            (words.finish(), word_starts.into(), common.into());
        Ok(places)
    }

    fn sort_words(&mut self, places: Vec<u32>) {
        let mut sorted: Vec<(u32, u32)> = places.into_iter().zip(0..).collect();
        sorted.par_sort_unstable_by(|a, b| self.word_at(a.0).cmp(self.word_at(b.0)));
        self.sorted_words = sorted
            .iter()
            .map(|(_, word)| *word)
            .collect::<Vec<_>>()
            .into();
        self.word_places = sorted
            .into_iter()
            .map(|(place, _)| place)
            .collect::<Vec<_>>()
            .into();
    }

    /// The word at a place of the text; the marks within a name come before a blank, letters and
    /// digits after it.
    fn word_at(&self, place: u32) -> &[u8] {
        let rest = &self.text[place as usize..];
        &rest[..rest
            .iter()
            .position(|byte| *byte <= b' ')
            .unwrap_or(rest.len())]
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// A name, taken apart.
    pub fn name(&self, number: u32) -> Name<'_> {
        let text = std::str::from_utf8(until_end(
            &self.text[self.starts[number as usize] as usize..],
        ))
        .unwrap_or_default();
        match text.find([char::from(FORM), char::from(GIVEN)]) {
            Some(place) if text.as_bytes()[place] == GIVEN => Name::Person {
                last: &text[..place],
                given: &text[place + 1..],
            },
            Some(place) => Name::Organization {
                core: &text[..place],
                form: &text[place + 1..],
            },
            None => Name::Organization {
                core: text,
                form: "",
            },
        }
    }

    /// What is known of a name, but for its length.
    pub fn said(&self, number: u32) -> Said {
        Said::new(u64::from(
            self.kinds.get(number as usize).copied().unwrap_or_default(),
        ))
    }

    /// Whether some names are persons'.
    pub fn has_persons(&self) -> bool {
        *self.has_persons
    }

    /// Splits numbers into those of persons and the rest. Of many names the kind is looked up only
    /// where they differ.
    pub fn split(&self, numbers: &[u32]) -> (Vec<u32>, Vec<u32>) {
        if *self.has_persons {
            numbers
                .iter()
                .partition(|number| self.said(**number).is_person())
        } else {
            (Vec::new(), numbers.to_vec())
        }
    }

    fn posted(&self, word: u32) -> Posted<'_> {
        let places =
            self.word_starts[word as usize] as usize..self.word_starts[word as usize + 1] as usize;
        Posted {
            numbers: &self.by_word[places.clone()],
            says: &self.says[places],
        }
    }

    fn id_of(&self, word: &str) -> Option<u32> {
        self.words.find(&[word]).first().copied()
    }

    /// The names that have a word.
    pub fn with_word(&self, word: &str) -> Posted<'_> {
        self.id_of(word)
            .map_or_else(Posted::default, |word| self.posted(word))
    }

    /// What is said of the names that have a word.
    pub fn signs_of(&self, word: &str) -> Signs {
        let signs = |id| {
            self.common
                .iter()
                .position(|common| *common == id)
                .map_or_else(|| Signs::of_hash(hash(&[word])), Signs::of_common)
        };
        self.id_of(word).map_or(Signs::OF_NO_NAME, signs)
    }

    /// The names that have a word which begins so: ascending, as often as they have one, and what
    /// is said of each. Of names without begun words, those that have the word.
    pub fn with_word_begun(&self, begun: &str) -> (Vec<u32>, Vec<u64>) {
        if self.sorted_words.is_empty() {
            let Posted { numbers, says } = self.with_word(begun);
            return (numbers.to_vec(), says.to_vec());
        }
        let start = self
            .word_places
            .partition_point(|place| self.word_at(*place) < begun.as_bytes());
        let count = self.word_places[start..]
            .iter()
            .take_while(|place| self.word_at(**place).starts_with(begun.as_bytes()))
            .count();
        let of_word = |word: &u32| {
            let Posted { numbers, says } = self.posted(*word);
            numbers.iter().copied().zip(says.iter().copied())
        };
        let mut names: Vec<(u32, u64)> = self.sorted_words[start..start + count]
            .iter()
            .flat_map(of_word)
            .collect();
        // In runs that ascend, which this sort takes as they are.
        names.sort_by_key(|(number, _)| *number);
        names.into_iter().unzip()
    }

    /// Numbers of the names that begin so, by text.
    pub fn that_begin(&self, text: &str) -> Begun<'_> {
        let (word, is_all) = text
            .split_once(' ')
            .map_or((text, true), |(word, _)| (word, false));
        let [start, more, end] = self.firsts_of(word);
        if is_all {
            return Begun {
                whole: &self.sorted[start..more],
                with_more_words: &self.sorted[more..end],
            };
        }
        let (whole, others) = self.split_after(
            self.beginning(&self.sorted[more..end], text),
            text,
            |next| next < b' ',
        );
        Begun {
            whole,
            with_more_words: self.split_after(others, text, |next| next == b' ').0,
        }
    }

    /// Numbers of the names that begin so and in which the last word goes on, by text.
    pub fn that_go_on(&self, text: &str) -> &[u32] {
        let among = text
            .split_once(' ')
            .map_or(0..self.sorted.len(), |(word, _)| {
                let [_, more, end] = self.firsts_of(word);
                more..end
            });
        self.split_after(self.beginning(&self.sorted[among], text), text, |next| {
            next <= b' '
        })
        .1
    }

    fn firsts_of(&self, word: &str) -> [usize; 3] {
        self.id_of(word).map_or([0; 3], |word| {
            [0, 1, 2].map(|place| self.firsts[3 * word as usize + place] as usize)
        })
    }

    /// Splits names that begin with a text by what follows it: the marks within a name come before
    /// a blank, letters and digits after it.
    fn split_after<'n>(
        &self,
        names: &'n [u32],
        text: &str,
        is_before: impl Fn(u8) -> bool,
    ) -> (&'n [u32], &'n [u32]) {
        let next = |number: u32| {
            self.text
                .get(self.starts[number as usize] as usize + text.len())
                .copied()
                .unwrap_or(END)
        };
        names.split_at(names.partition_point(|&number| is_before(next(number))))
    }

    /// Takes apart the names of which a text is all: the organisations' names with a legal form,
    /// which may be none, then those with another one, before and after them, then persons'.
    pub fn with_form<'n>(&'n self, whole: &'n [u32], text: &str, form: &str) -> [&'n [u32]; 4] {
        let after_text =
            |number: u32| &self.text[self.starts[number as usize] as usize + text.len()..];
        let (organizations, persons) = whole
            .split_at(whole.partition_point(|number| after_text(*number).first() != Some(&GIVEN)));
        let asked = if form.is_empty() {
            vec![END]
        } else {
            [&[FORM], form.as_bytes(), &[END]].concat()
        };
        let order = |number: u32| {
            let rest = after_text(number);
            rest[..rest.len().min(asked.len())].cmp(&asked)
        };
        let (before, rest) =
            organizations.split_at(organizations.partition_point(|number| order(*number).is_lt()));
        let (same, after) = rest.split_at(rest.partition_point(|number| order(*number).is_eq()));
        [same, before, after, persons]
    }

    /// Those of some names, sorted by their text, that begin so.
    fn beginning<'n>(&self, names: &'n [u32], text: &str) -> &'n [u32] {
        let prefix = text.as_bytes();
        let order = |number: u32| {
            let following = &self.text[self.starts[number as usize] as usize..];
            following[..following.len().min(prefix.len())].cmp(prefix)
        };
        let begun = &names[names.partition_point(|&number| order(number) == Ordering::Less)..];
        // Few of all: their end is near.
        let mut most = 1;
        while most < begun.len() && order(begun[most]) == Ordering::Equal {
            most *= 2;
        }
        let begun = &begun[..most.min(begun.len())];
        &begun[..begun.partition_point(|&number| order(number) == Ordering::Equal)]
    }

    pub fn size_bytes(&self) -> usize {
        let numbers = [
            &self.starts,
            &self.sorted,
            &self.by_word,
            &self.word_starts,
            &self.common,
            &self.firsts,
            &self.sorted_words,
            &self.word_places,
        ];
        self.text.size_bytes()
            + self.kinds.size_bytes()
            + self.says.size_bytes()
            + self.words.size_bytes()
            + numbers.map(Column::size_bytes).iter().sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use crate::search::names::{Name, NamesBuilder};
    use proptest::prelude::*;

    fn organization(core: &str) -> Name<'_> {
        Name::Organization { core, form: "LLC" }
    }

    #[test]
    fn words_of_legal_forms_are_not_found_and_given_names_are() {
        let mut builder = NamesBuilder::default();
        builder.push(organization("ACME LAND")).unwrap();
        builder
            .push(Name::Person {
                last: "LAND",
                given: "EVA A",
            })
            .unwrap();
        builder
            .push(Name::Organization { core: "", form: "" })
            .unwrap();
        builder.push(organization("LANDER")).unwrap();
        let names = builder.finish().unwrap();
        let found = |word: &str| names.with_word(word).numbers.to_vec();
        assert_eq!(
            (found("LAND"), found("EVA"), found("LLC"), found("LAN")),
            (vec![0, 1], vec![1], vec![], vec![])
        );
        let begun = names.that_begin("LAND");
        assert_eq!(
            (begun.whole, begun.with_more_words, names.that_go_on("LAND")),
            (&[1][..], &[][..], &[3][..])
        );
        assert_eq!(names.that_begin("ACME").with_more_words, [0]);
        assert_eq!(
            (names.name(0), names.name(1)),
            (
                organization("ACME LAND"),
                Name::Person {
                    last: "LAND",
                    given: "EVA A"
                }
            )
        );
        assert_eq!(names.name(2), Name::Organization { core: "", form: "" });
    }

    #[test]
    fn whole_names_are_told_apart_by_their_legal_form_and_persons_by_theirs() {
        let mut builder = NamesBuilder::default();
        let forms = ["LLC", "", "INC", "LLC", "LLLP", "", "CORP"];
        for form in forms {
            builder
                .push(Name::Organization { core: "ACME", form })
                .unwrap();
        }
        builder
            .push(Name::Person {
                last: "ACME",
                given: "EVA",
            })
            .unwrap();
        builder
            .push(Name::Organization {
                core: "ACME LAND",
                form: "LLC",
            })
            .unwrap();
        let names = builder.finish().unwrap();
        let whole = names.that_begin("ACME").whole;
        let split = |form: &str| names.with_form(whole, "ACME", form).map(<[u32]>::to_vec);
        assert_eq!(
            split("LLC"),
            [vec![0, 3], vec![1, 5, 6, 2], vec![4], vec![7]]
        );
        assert_eq!(
            split(""),
            [vec![1, 5], vec![], vec![6, 2, 0, 3, 4], vec![7]]
        );
        assert_eq!(
            split("LTD"),
            [vec![], vec![1, 5, 6, 2, 0, 3, 4], vec![], vec![7]]
        );
    }

    proptest! {
        #[test]
        fn every_word_is_found_where_it_is(all in prop::collection::vec("[AB]{1,3}( [AB]{1,9}){0,3}", 1..60), word in "[AB]{1,3}") {
            let mut builder = NamesBuilder::default();
            for name in &all {
                builder.push(organization(name)).unwrap();
            }
            let names = builder.finish().unwrap();
            let mut found: Vec<u32> = names.with_word(&word).numbers.to_vec();
            found.sort_unstable();
            let expected: Vec<u32> = (0..).zip(&all).flat_map(|(number, name)| name.split(' ').filter(|known| **known == word).map(move |_| number)).collect();
            prop_assert_eq!(found, expected);
            let begun = names.that_begin(&word);
            let rest = |name: &str| name.strip_prefix(word.as_str()).map(str::to_owned);
            for (list, fits) in [
                (begun.whole, &(|rest: &str| rest.is_empty()) as &dyn Fn(&str) -> bool),
                (begun.with_more_words, &|rest| rest.starts_with(' ')),
                (names.that_go_on(&word), &|rest| !rest.is_empty() && !rest.starts_with(' ')),
            ] {
                let mut found = list.to_vec();
                found.sort_unstable();
                let expected: Vec<u32> = (0..).zip(&all).filter(|(_, name)| rest(name).is_some_and(|rest| fits(&rest))).map(|(number, _)| number).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
