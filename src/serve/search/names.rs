//! Indexes the names of millions of rows by word. All names are stored in one text. The name
//! numbers, sorted by this text, answer prefix queries by binary search. Each word has a list of
//! the names that contain it.

use std::cmp::Ordering;
use std::collections::HashMap;

use rayon::prelude::*;

use crate::index::file::{Column, Small, stored};
use crate::index::hash_index::{HashIndex, HashIndexBuilder};
use crate::index::key_hash::hash;
use crate::search::posting_payload::{
    BloomBits, COMMON, FIRST, MANY, MARKED, PERSON, PostingPayload, REPEATS, TWICE,
};
use crate::search::shared_words::PostingList;
use pubdata_core::error::{Error, Result};

/// Byte that ends a name in the text.
const END: u8 = 0;
/// Byte that separates a name from its legal form, which is not searched as a word. The byte is
/// lower than every letter, so a name sorts before longer names.
const FORM: u8 = 1;
/// Byte that separates a person's last name from the given names.
const GIVEN: u8 = 2;

/// The names and an index of the names' words.
#[derive(Debug, Default)]
pub struct Names {
    text: Column<u8>,
    /// Offset of each name in the text.
    starts: Column<u32>,
    /// [`PERSON`] and [`MARKED`] bits of each name; empty if no name has either bit.
    kinds: Column<u8>,
    /// True if any name belongs to a person.
    has_persons: Small<bool>,
    /// Numbers of the names, sorted by their text.
    sorted: Column<u32>,
    /// Numbers of the names by word, ascending. A name that repeats a word appears twice.
    by_word: Column<u32>,
    /// Payload of each entry in `by_word`; see [`super::payload`].
    says: Column<u64>,
    /// Maps a word to its number.
    words: HashIndex,
    /// Start of each word's range in `by_word`, followed by the end of the last range.
    word_starts: Column<u32>,
    /// Numbers of the most common words, most frequent first.
    common: Column<u32>,
    /// Three positions in the sorted names for each word, covering the names that start with the
    /// word: the first such name, the first that has another word, and the end.
    firsts: Column<u32>,
    /// Numbers of the words, sorted by the word; empty unless queries may have unfinished words.
    sorted_words: Column<u32>,
    /// One offset in the text for each entry of `sorted_words`.
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

/// A name, normalised for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// Name without its legal form, and the legal form, which may be empty.
    Organization { core: &'a str, form: &'a str },
    /// Last name and given names.
    Person { last: &'a str, given: &'a str },
}

/// Numbers of the names that begin with a text; each list is sorted by the names' text.
#[derive(Debug, Clone, Copy)]
pub struct Begun<'a> {
    /// Names that equal the text except for a legal form or given names: first organisations, then
    /// persons.
    pub whole: &'a [u32],
    /// Names that continue with another word after the text.
    pub with_more_words: &'a [u32],
}

/// Builder for [`Names`].
#[derive(Debug, Default)]
pub struct NamesBuilder {
    text: Vec<u8>,
    starts: Vec<u32>,
    /// True for each marked name, indexed by name number; empty if no name is marked.
    marked: Vec<bool>,
    has_unfinished_words: bool,
}

impl NamesBuilder {
    /// Creates a builder for names that can also be found by unfinished words. This costs eight
    /// more bytes for each distinct word.
    pub fn with_unfinished_words() -> Self {
        Self {
            has_unfinished_words: true,
            ..Self::default()
        }
    }

    /// Adds a name and returns its number.
    ///
    /// # Errors
    /// `Store` if the names exceed 4 GB of text.
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

    /// Renumbers the names: the name with number `order[i]` becomes number `i`.
    pub fn renumber(&mut self, order: &[u32]) {
        self.starts = order
            .iter()
            .map(|number| self.starts[*number as usize])
            .collect();
    }

    /// Marks names by number; [`Hit`](super::hit::Hit) reports whether a name is marked.
    pub fn mark(&mut self, marked: impl Iterator<Item = bool>) {
        self.marked = marked.collect();
    }

    /// Sorts the names and indexes them by word.
    ///
    /// # Errors
    /// `Store` if there are more words than the index can number.
    pub fn finish(self) -> Result<Names> {
        let Self {
            text,
            starts,
            marked,
            has_unfinished_words,
        } = self;
        let sorted = sorted(&text, &starts);
        let mut names = Names {
            text: text.into(),
            starts: starts.into(),
            sorted: sorted.into(),
            ..Names::default()
        };
        let places = names.list_words(&marked)?;
        if has_unfinished_words {
            names.sort_words(places);
        }
        Ok(names)
    }
}

/// Flag on the number of a name's first word, set if other words follow.
const HAS_MORE_WORDS: u32 = 1 << 31;
/// Word number for a name that has no word.
const NO_WORD: u32 = u32::MAX;

/// Returns the positions for [`Names::firsts`]. The names are sorted by text and therefore by first
/// word; names without a second word come first.
fn firsts(sorted: &[u32], first_words: &[u32], words: usize) -> Vec<u32> {
    let mut firsts = vec![0; 3 * words];
    for (place, first) in (0..)
        .zip(sorted.iter().map(|number| first_words[*number as usize]))
        .filter(|(_, first)| *first != NO_WORD)
    {
        let [start, more, end] = &mut firsts[3 * (first & !HAS_MORE_WORDS) as usize..][..3] else {
            continue;
        };
        if *end == 0 {
            (*start, *more) = (place, place);
        }
        *end = place + 1;
        if first & HAS_MORE_WORDS == 0 {
            *more = place + 1;
        }
    }
    firsts
}

/// Returns the most common words in descending order of count, then by number.
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

/// Sorts names by text, then by number. A first pass distributes them by their first two bytes, so
/// sorting needs little memory beyond the result.
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

/// Sorts names that share their first two bytes. The next eight bytes nearly always decide the
/// order.
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
    /// Indexes the names by word and returns the offset of each word's first occurrence.
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
            let goes_on = if first.contains(' ') {
                HAS_MORE_WORDS
            } else {
                0
            };
            first_words.push(if first.is_empty() {
                NO_WORD
            } else {
                occurrences[before] | goes_on
            });
        }
        u32::try_from(occurrences.len())
            .ok()
            .filter(|words| *words < HAS_MORE_WORDS)
            .ok_or_else(|| Error::store("more words than an index can number"))?;
        self.firsts = firsts(&self.sorted, &first_words, counts.len()).into();
        let (mut words, mut bloom_bits) = (HashIndexBuilder::default(), vec![0; counts.len()]);
        for (hash, id) in ids {
            words.add_hash(hash, id);
            bloom_bits[id as usize] = BloomBits::from_word_hash(hash).bits;
        }
        let common = commonest(&counts);
        common.iter().enumerate().for_each(|(place, id)| {
            bloom_bits[*id as usize] = BloomBits::for_common_word(place).bits;
        });
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
        for (number, (length, payload)) in (0..).zip(per_name) {
            let (of_name, after) = rest.split_at(length as usize);
            rest = after;
            let payload = of_name.iter().fold(u64::from(payload), |payload, id| {
                payload | bloom_bits[*id as usize]
            });
            for (word, id) in of_name.iter().enumerate() {
                let first = if word == 0 { FIRST } else { 0 };
                let is_twice = payload & REPEATS != 0
                    && of_name.iter().filter(|known| *known == id).count() > 1;
                let place = &mut next[*id as usize];
                by_word[*place as usize] = number;
                says[*place as usize] = payload | first | if is_twice { TWICE } else { 0 };
                *place += 1;
            }
        }
        self.has_persons = Small(
            kinds
                .iter()
                .any(|kind| PostingPayload::new(u64::from(*kind)).is_person()),
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

    /// Returns the word at an offset in the text. The separators within a name are lower than a
    /// blank; letters and digits are higher.
    fn word_at(&self, place: u32) -> &[u8] {
        let rest = &self.text[place as usize..];
        &rest[..rest
            .iter()
            .position(|byte| *byte <= b' ')
            .unwrap_or(rest.len())]
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns a name, split into its parts.
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

    /// Returns the flags of a name, without its length.
    pub fn payload(&self, number: u32) -> PostingPayload {
        PostingPayload::new(u64::from(
            self.kinds.get(number as usize).copied().unwrap_or_default(),
        ))
    }

    pub fn has_persons(&self) -> bool {
        *self.has_persons
    }

    /// Splits numbers into persons and organisations. Looks up each name's kind only if some names
    /// are persons.
    pub fn split(&self, numbers: &[u32]) -> (Vec<u32>, Vec<u32>) {
        if *self.has_persons {
            numbers
                .iter()
                .partition(|number| self.payload(**number).is_person())
        } else {
            (Vec::new(), numbers.to_vec())
        }
    }

    fn posted(&self, word: u32) -> PostingList<'_> {
        let places =
            self.word_starts[word as usize] as usize..self.word_starts[word as usize + 1] as usize;
        PostingList {
            numbers: &self.by_word[places.clone()],
            says: &self.says[places],
        }
    }

    fn id_of(&self, word: &str) -> Option<u32> {
        self.words.find(&[word]).first().copied()
    }

    /// Returns the names that contain a word.
    pub fn with_word(&self, word: &str) -> PostingList<'_> {
        self.id_of(word)
            .map_or_else(PostingList::default, |word| self.posted(word))
    }

    /// Returns the signature bits carried by every name that contains a word.
    pub fn bloom_bits_of(&self, word: &str) -> BloomBits {
        let bloom_bits = |id| {
            self.common
                .iter()
                .position(|common| *common == id)
                .map_or_else(
                    || BloomBits::from_word_hash(hash(&[word])),
                    BloomBits::for_common_word,
                )
        };
        self.id_of(word)
            .map_or(BloomBits::MATCHES_NO_NAME, bloom_bits)
    }

    /// Returns the names with a word that begins with `with_prefix`, with their payloads. The names
    /// are in ascending order; a name occurs once for each such word. An index without unfinished
    /// words matches only the complete word.
    pub fn with_word_prefix(&self, prefix: &str) -> (Vec<u32>, Vec<u64>) {
        if self.sorted_words.is_empty() {
            let PostingList { numbers, says } = self.with_word(prefix);
            return (numbers.to_vec(), says.to_vec());
        }
        let start = self
            .word_places
            .partition_point(|place| self.word_at(*place) < prefix.as_bytes());
        let count = self.word_places[start..]
            .iter()
            .take_while(|place| self.word_at(**place).starts_with(prefix.as_bytes()))
            .count();
        let of_word = |word: &u32| {
            let PostingList { numbers, says } = self.posted(*word);
            numbers.iter().copied().zip(says.iter().copied())
        };
        let mut names: Vec<(u32, u64)> = self.sorted_words[start..start + count]
            .iter()
            .flat_map(of_word)
            .collect();
        // The list consists of ascending runs, which this sort detects.
        names.sort_by_key(|(number, _)| *number);
        names.into_iter().unzip()
    }

    /// Returns the names that begin with a text, sorted by text.
    pub fn names_with_prefix(&self, text: &str) -> Begun<'_> {
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
        let (whole, others) = self.split_by_next_byte(
            self.beginning(&self.sorted[more..end], text),
            text,
            |next| next < b' ',
        );
        Begun {
            whole,
            with_more_words: self.split_by_next_byte(others, text, |next| next == b' ').0,
        }
    }

    /// Returns the names in which the text continues within its last word, sorted by text.
    pub fn names_continuing_last_word(&self, text: &str) -> &[u32] {
        let among = text
            .split_once(' ')
            .map_or(0..self.sorted.len(), |(word, _)| {
                let [_, more, end] = self.firsts_of(word);
                more..end
            });
        self.split_by_next_byte(self.beginning(&self.sorted[among], text), text, |next| {
            next <= b' '
        })
        .1
    }

    fn firsts_of(&self, word: &str) -> [usize; 3] {
        self.id_of(word).map_or([0; 3], |word| {
            [0, 1, 2].map(|place| self.firsts[3 * word as usize + place] as usize)
        })
    }

    /// Splits names that begin with a text by the byte that follows it. Separators are lower than a
    /// blank; letters and digits are higher.
    fn split_by_next_byte<'n>(
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

    /// Splits the names that equal a text into four lists: organisations with the given legal form
    /// (possibly empty), organisations whose legal form sorts before it, organisations whose legal
    /// form sorts after it, and persons.
    pub fn split_by_legal_form<'n>(
        &'n self,
        whole: &'n [u32],
        text: &str,
        form: &str,
    ) -> [&'n [u32]; 4] {
        let after_text =
            |number: u32| &self.text[self.starts[number as usize] as usize + text.len()..];
        let (organizations, persons) = whole
            .split_at(whole.partition_point(|number| after_text(*number).first() != Some(&GIVEN)));
        let key = if form.is_empty() {
            vec![END]
        } else {
            [&[FORM], form.as_bytes(), &[END]].concat()
        };
        let order = |number: u32| {
            let rest = after_text(number);
            rest[..rest.len().min(key.len())].cmp(&key)
        };
        let (before, rest) =
            organizations.split_at(organizations.partition_point(|number| order(*number).is_lt()));
        let (same, after) = rest.split_at(rest.partition_point(|number| order(*number).is_eq()));
        [same, before, after, persons]
    }

    /// Narrows a list of names, sorted by text, to the names that begin with `text`.
    fn beginning<'n>(&self, names: &'n [u32], text: &str) -> &'n [u32] {
        let prefix = text.as_bytes();
        let order = |number: u32| {
            let following = &self.text[self.starts[number as usize] as usize..];
            following[..following.len().min(prefix.len())].cmp(prefix)
        };
        let with_prefix =
            &names[names.partition_point(|&number| order(number) == Ordering::Less)..];
        // Few names match, so the last match is near: doubling finds it.
        let mut most = 1;
        while most < with_prefix.len() && order(with_prefix[most]) == Ordering::Equal {
            most *= 2;
        }
        let with_prefix = &with_prefix[..most.min(with_prefix.len())];
        &with_prefix[..with_prefix.partition_point(|&number| order(number) == Ordering::Equal)]
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
        let with_prefix = names.names_with_prefix("LAND");
        assert_eq!(
            (
                with_prefix.whole,
                with_prefix.with_more_words,
                names.names_continuing_last_word("LAND")
            ),
            (&[1][..], &[][..], &[3][..])
        );
        assert_eq!(names.names_with_prefix("ACME").with_more_words, [0]);
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
        let whole = names.names_with_prefix("ACME").whole;
        let split = |form: &str| {
            names
                .split_by_legal_form(whole, "ACME", form)
                .map(<[u32]>::to_vec)
        };
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
            let with_prefix = names.names_with_prefix(&word);
            let rest = |name: &str| name.strip_prefix(word.as_str()).map(str::to_owned);
            for (list, fits) in [
                (with_prefix.whole, &(|rest: &str| rest.is_empty()) as &dyn Fn(&str) -> bool),
                (with_prefix.with_more_words, &|rest| rest.starts_with(' ')),
                (names.names_continuing_last_word(&word), &|rest| !rest.is_empty() && !rest.starts_with(' ')),
            ] {
                let mut found = list.to_vec();
                found.sort_unstable();
                let expected: Vec<u32> = (0..).zip(&all).filter(|(_, name)| rest(name).is_some_and(|rest| fits(&rest))).map(|(number, _)| number).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
