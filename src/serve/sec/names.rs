//! Finds registrants by name. Folded names lie in one text; arrays of places in it, sorted by what follows there, answer "which
//! names begin so" and "which names have a word that begins so" by binary search. Listed registrants have arrays of their own, so
//! that they come first without sorting what is found.

use std::cmp::Ordering;
use std::collections::HashSet;

use rayon::prelude::*;

use crate::serve::sec::fold;
use crate::serve::sec::fold::Folded;

/// Ends a name in the text.
const END: u8 = 0;
/// Stands between a name and its legal form: below every letter, so that a name sorts before the longer ones that begin with it.
const FORM: u8 = 1;
/// How many places one search looks at when it joins words that do not follow one another.
const MAX_SCANNED: usize = 20_000;

/// The names of all registrants, by row.
#[derive(Debug, Default)]
pub struct Names {
    text: Vec<u8>,
    /// Where each name begins: those of the rows in their order, then former names.
    starts: Vec<u32>,
    /// Row and number in the row's list of each former name.
    formers: Vec<(u32, u32)>,
    rows: u32,
    listed: Places,
    others: Places,
    former: Places,
    /// Position of each listed row in the publisher's list.
    listing: Vec<Option<u32>>,
}

/// Places in the text, sorted by what follows.
#[derive(Debug, Default)]
struct Places {
    /// Beginnings of names.
    names: Vec<u32>,
    /// Beginnings of the other words of names.
    words: Vec<u32>,
}

/// How well a name fits what was asked for; better ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    Cik,
    Ticker,
    /// The whole name with its legal form.
    Name,
    /// The whole name; the legal form differs or was not given.
    NameWithoutSuffix,
    /// A whole name that the registrant had before.
    FormerName,
    NamePrefix,
    /// Words of the name in this order.
    Phrase,
    /// Words of the name in any order.
    Words,
    /// A former name, begun or by words.
    FormerNamePart,
}

impl Match {
    /// The word in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cik => "cik",
            Self::Ticker => "ticker",
            Self::Name => "name",
            Self::NameWithoutSuffix => "name_without_suffix",
            Self::FormerName | Self::FormerNamePart => "former_name",
            Self::NamePrefix => "name_prefix",
            Self::Phrase | Self::Words => "word_prefix",
        }
    }

    /// Hundredths from 0 to 100: higher fits better.
    pub fn score(self) -> i64 {
        match self {
            Self::Cik | Self::Ticker => 100,
            Self::Name => 98,
            Self::NameWithoutSuffix => 95,
            Self::FormerName => 90,
            Self::NamePrefix => 85,
            Self::Phrase => 75,
            Self::Words => 70,
            Self::FormerNamePart => 50,
        }
    }
}

/// A registrant that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub row: u32,
    pub matched: Match,
    /// Number of the former name that matched, in the row's list.
    pub former: Option<u32>,
}

/// A registrant's names, as they are indexed.
pub struct Named<'a> {
    pub name: &'a str,
    pub former_names: Vec<&'a str>,
    /// Position in the publisher's list of tickers, which runs from large to small; none when it has no ticker.
    pub listing: Option<u32>,
}

impl Names {
    /// Indexes the names of all rows.
    pub fn new<'a>(rows: impl Iterator<Item = Named<'a>>) -> Self {
        let mut names = Self::default();
        let mut former_texts: Vec<(u32, u32, Folded)> = Vec::new();
        for (row, named) in (0..).zip(rows) {
            names.add(&fold::fold(named.name));
            names.listing.push(named.listing);
            former_texts.extend((0..).zip(&named.former_names).map(|(number, former)| (row, number, fold::fold(former))));
            names.rows = row + 1;
        }
        for (row, number, folded) in former_texts {
            names.add(&folded);
            names.formers.push((row, number));
        }
        let places = |is_wanted: &dyn Fn(usize) -> bool| {
            let numbers = || (0..names.starts.len()).filter(|&number| is_wanted(number));
            let words = numbers().flat_map(|number| names.word_starts(number)).collect();
            Places { names: names.sorted(numbers().map(|number| names.starts[number]).collect()), words: names.sorted(words) }
        };
        let listing = |number: usize| names.listing.get(number).copied().flatten();
        let is_former = |number: usize| number >= names.listing.len();
        let (listed, others, former) =
            (places(&|number| listing(number).is_some()), places(&|number| !is_former(number) && listing(number).is_none()), places(&is_former));
        Self { listed, others, former, ..names }
    }

    fn add(&mut self, folded: &Folded) {
        // 4 GB of names are more than the arrays can point into; the publisher has a hundredth of that.
        self.starts.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        self.text.extend_from_slice(folded.base.as_bytes());
        if !folded.designator.is_empty() {
            self.text.push(FORM);
            self.text.extend_from_slice(folded.designator.as_bytes());
        }
        self.text.push(END);
    }

    /// Beginnings of a name's words but the first, without its legal form.
    fn word_starts(&self, number: usize) -> Vec<u32> {
        let start = self.starts[number];
        let base = self.at(start).split(|byte| *byte == FORM).next().unwrap_or_default();
        (start..).zip(base).filter(|(_, byte)| **byte == b' ').map(|(place, _)| place + 1).collect()
    }

    /// Sorts places by what follows them, then by place. The first eight bytes decide nearly always.
    fn sorted(&self, places: Vec<u32>) -> Vec<u32> {
        let key = |place: u32| {
            let mut first = [0; 8];
            let following = self.at(place);
            let length = following.len().min(8);
            first[..length].copy_from_slice(&following[..length]);
            u64::from_be_bytes(first)
        };
        let mut keyed: Vec<(u64, u32)> = places.into_iter().map(|place| (key(place), place)).collect();
        keyed.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.at(a.1).cmp(self.at(b.1))).then(a.1.cmp(&b.1)));
        keyed.into_iter().map(|(_, place)| place).collect()
    }

    /// The text from a place to the end of its name.
    fn at(&self, place: u32) -> &[u8] {
        let rest = &self.text[place as usize..];
        &rest[..memchr::memchr(END, rest).unwrap_or(rest.len())]
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
    fn number_of(&self, place: u32) -> usize {
        self.starts.partition_point(|&start| start <= place) - 1
    }

    fn found(&self, place: u32, matched: Match) -> Found {
        let number = self.number_of(place);
        match number.checked_sub(self.rows as usize).map(|former| self.formers[former]) {
            Some((row, former)) => Found { row, matched, former: Some(former) },
            None => Found { row: u32::try_from(number).unwrap_or(u32::MAX), matched, former: None },
        }
    }

    /// Finds registrants, best first: by kind of match, listed ones before others, by place in the publisher's list or by name. `first` come
    /// before all. Stops when it has `wanted`; returns whether there may be more.
    pub fn search(&self, text: &str, first: impl Iterator<Item = Found>, wanted: usize) -> (Vec<Found>, bool) {
        let mut search = Search { names: self, found: Vec::new(), seen: HashSet::new(), wanted };
        first.for_each(|found| search.add(found));
        let (folded, words) = (fold::fold(text), fold::words(text));
        if !folded.base.is_empty() {
            search.whole_names(&folded);
            search.prefixes(&folded, &words);
            search.scattered(&folded);
            search.former_parts(&words.join(" "));
        }
        let has_more = search.found.len() > wanted;
        search.found.truncate(wanted);
        (search.found, has_more)
    }
}

/// One search, as far as it has come.
struct Search<'a> {
    names: &'a Names,
    found: Vec<Found>,
    seen: HashSet<u32>,
    wanted: usize,
}

impl Search<'_> {
    fn add(&mut self, found: Found) {
        if self.seen.insert(found.row) {
            self.found.push(found);
        }
    }

    fn is_full(&self) -> bool {
        self.found.len() > self.wanted
    }

    /// Adds what lies at places, in their order.
    fn add_places(&mut self, places: impl Iterator<Item = u32>, matched: Match) {
        for place in places {
            if self.is_full() {
                return;
            }
            self.add(self.names.found(place, matched));
        }
    }

    /// Adds what lies at places of listed registrants: few enough to be put in the order of the publisher's list.
    fn add_listed(&mut self, places: impl Iterator<Item = u32>, matched: Match) {
        let mut found: Vec<Found> = places.map(|place| self.names.found(place, matched)).collect();
        found.sort_by_key(|found| self.names.listing[found.row as usize]);
        found.into_iter().for_each(|found| self.add(found));
    }

    /// Names that are the text: with the same legal form, with another, and former ones.
    fn whole_names(&mut self, folded: &Folded) {
        let names = self.names;
        let is_whole = |place: u32| matches!(names.at(place).get(folded.base.len()), None | Some(&FORM));
        let form = |place: u32| names.at(place).get(folded.base.len() + 1..).unwrap_or_default();
        let of = |places: &[u32]| -> Vec<u32> {
            // Whole names sort before the longer ones that begin with them.
            names.beginning(places, folded.base.as_bytes()).iter().copied().take_while(|place| is_whole(*place)).collect()
        };
        let (listed, others) = (of(&names.listed.names), of(&names.others.names));
        let has_form = |place: &u32| form(*place) == folded.designator.as_bytes();
        self.add_listed(listed.iter().copied().filter(has_form), Match::Name);
        self.add_places(others.iter().copied().filter(has_form), Match::Name);
        self.add_listed(listed.into_iter(), Match::NameWithoutSuffix);
        self.add_places(others.into_iter(), Match::NameWithoutSuffix);
        let former = of(&names.former.names);
        self.add_places(former.into_iter(), Match::FormerName);
    }

    /// Names that begin so, then names with words that begin so in this order. The last word may be unfinished.
    fn prefixes(&mut self, folded: &Folded, words: &[String]) {
        let names = self.names;
        let phrase = words.join(" ");
        let begun = begun_form(words);
        for (places, is_listed) in [(&names.listed, true), (&names.others, false)] {
            let whole = |place: &u32| {
                let (base, unfinished) = begun.as_ref().expect("asked only when there is one");
                let form = names.at(*place).get(base.len() + 1..).unwrap_or_default();
                let first = form.split(|byte| *byte == b' ').next().unwrap_or_default();
                std::str::from_utf8(first).is_ok_and(|first| fold::begins_designator(unfinished, first))
            };
            let of_begun_form = match &begun {
                Some((base, _)) => names.beginning(&places.names, &[base.as_bytes(), &[FORM]].concat()),
                None => &[],
            };
            let found = names.beginning(&places.names, phrase.as_bytes()).iter().copied().chain(of_begun_form.iter().copied().filter(whole));
            if is_listed { self.add_listed(found, Match::NamePrefix) } else { self.add_places(found, Match::NamePrefix) }
        }
        for phrase in [&phrase, &folded.base] {
            self.add_listed(names.beginning(&names.listed.words, phrase.as_bytes()).iter().copied(), Match::Phrase);
            self.add_places(names.beginning(&names.others.words, phrase.as_bytes()).iter().copied(), Match::Phrase);
        }
    }

    /// Names that have all words, in any order.
    fn scattered(&mut self, folded: &Folded) {
        let words: Vec<&str> = folded.base.split(' ').collect();
        if words.len() < 2 || self.is_full() {
            return;
        }
        let names = self.names;
        let listed = self.with_all_words(&names.listed, &words);
        self.add_listed(listed.into_iter(), Match::Words);
        if !self.is_full() {
            let others = self.with_all_words(&names.others, &words);
            self.add_places(others.into_iter(), Match::Words);
        }
    }

    /// Places of the rarest word in names that have all others too.
    fn with_all_words(&self, places: &Places, words: &[&str]) -> Vec<u32> {
        let names = self.names;
        let ranges = |word: &str| [names.beginning(&places.names, word.as_bytes()), names.beginning(&places.words, word.as_bytes())];
        let rarest = words.iter().map(|word| ranges(word)).min_by_key(|ranges| ranges.iter().map(|range| range.len()).sum::<usize>());
        let has_all = |place: &u32| {
            let name = names.at(names.starts[names.number_of(*place)]);
            let base = name.split(|byte| *byte == FORM).next().unwrap_or_default();
            words.iter().all(|word| base.split(|byte| *byte == b' ').any(|of_name| of_name.starts_with(word.as_bytes())))
        };
        rarest.into_iter().flatten().flatten().copied().take(MAX_SCANNED).filter(has_all).collect()
    }

    fn former_parts(&mut self, phrase: &str) {
        let names = self.names;
        for places in [&names.former.names, &names.former.words] {
            self.add_places(names.beginning(places, phrase.as_bytes()).iter().copied(), Match::FormerNamePart);
        }
    }
}

/// Splits off a last word that may be the beginning of a legal form: `APPLE IN` → (`APPLE`, `IN`).
fn begun_form(words: &[String]) -> Option<(String, &str)> {
    let (last, before) = words.split_last().filter(|(_, before)| !before.is_empty())?;
    Some((before.join(" "), last))
}

#[cfg(test)]
mod tests;
