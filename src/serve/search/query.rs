//! Ranks names against what was asked: whole names first, then names that begin so, then names that share the telling words, and only when
//! these are few, names in which a longer word is misspelled. Words that are rare in the names weigh more.

use crate::canonical::name::{organization, words};
use crate::serve::search::names::{Name, Names};
use crate::serve::search::typo as spelling;

/// The most names that one search looks at for one word.
const MAX_SCANNED: usize = 100_000;
/// With so many names that fit as they are written, misspelled ones are not looked for.
const ENOUGH: usize = 25;
/// What a word of a name weighs that was not asked for.
const OTHER_WORD: f64 = 1.0;

/// Scores in ten-thousandths.
const EXACT: i32 = 10_000;
const NORMALIZED: i32 = 9_700;
const WITHOUT_FORM: i32 = 9_300;
const PREFIX: i32 = 8_500;
const TOKENS: f64 = 8_000.0;
/// Names with shared words never score below this, misspelled ones never above half of it.
const LEAST_TOKENS: i32 = 2_000;
const MISSPELLED: f64 = 1_000.0;

/// How a name fits, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    Exact,
    Normalized,
    Prefix,
    Token,
    Misspelled,
}

impl NameMatch {
    /// The word in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normalized => "normalized",
            Self::Prefix => "prefix",
            Self::Token => "token",
            Self::Misspelled => "misspelled",
        }
    }
}

/// Which names are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    Best,
    /// Whole names only.
    Exact,
    /// Whole names and those that begin so; the last word may be unfinished.
    Prefix,
}

/// A name that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub number: u32,
    pub score: i32,
    pub fit: NameMatch,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Hits {
    /// By number of the name.
    pub hits: Vec<Hit>,
    /// Whether there may be more.
    pub is_cut: bool,
}

/// A name that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    raw: u32,
    core: String,
    form: String,
    /// Words of the core, each once.
    words: Vec<String>,
    /// The words with initials apart, as persons' names are compared.
    person: Vec<String>,
}

/// A mark of a name as it is written, without regard to case and blanks around it.
pub fn raw_mark(text: &str) -> u32 {
    crate::serve::search::hash_index::hash(&[text.trim().to_uppercase().as_str()]) as u32
}

/// A name of an organisation with accents dropped: what it is called, and its legal form or nothing.
pub fn folded(text: &str) -> (String, &'static str) {
    let name = organization(text);
    let core = if name.core.is_ascii() { name.core } else { words(&name.core).join(" ") };
    (core, name.designator.unwrap_or_default())
}

/// The words of a person's name, initials apart.
pub fn person_words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | '-' | '/')).flat_map(words).collect()
}

impl Query {
    /// Reads a name; none when it has no letter or digit.
    pub fn new(text: &str) -> Option<Self> {
        let (core, form) = folded(text);
        if core.is_empty() {
            return None;
        }
        let mut words: Vec<String> = Vec::new();
        for word in core.split(' ') {
            if !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        }
        Some(Self { raw: raw_mark(text), form: form.to_owned(), words, person: person_words(text), core })
    }
}

/// The words of a query with what each weighs.
struct Weighted<'a> {
    words: Vec<(&'a str, f64)>,
    total: f64,
}

impl<'a> Weighted<'a> {
    fn new(names: &Names, words: &'a [String]) -> Self {
        let all = names.len() as f64;
        // An initial says little, however rare it is.
        let weight = |word: &str| if word.chars().count() == 1 { OTHER_WORD } else { (1.0 + all / names.count(word).max(1) as f64).ln() };
        let words: Vec<(&str, f64)> = words.iter().map(|word| (word.as_str(), weight(word))).collect();
        Self { total: words.iter().map(|(_, weight)| weight).sum(), words }
    }

    /// The words one of which every name with more than half of the weight has.
    fn selective(&self) -> Vec<&'a str> {
        let mut sorted = self.words.clone();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let mut rest = self.total;
        let mut selective = Vec::new();
        for (word, weight) in sorted {
            if rest <= self.half() {
                break;
            }
            selective.push(word);
            rest -= weight;
        }
        selective
    }

    /// Half of the weight, with what rounding may add to it.
    fn half(&self) -> f64 {
        0.5 * self.total + 1e-9
    }

    /// Score of a name by the words it shares; none unless it has more than half of the weight.
    fn overlap(&self, matched: f64, others: usize) -> Option<i32> {
        let share = matched / (self.total + OTHER_WORD * others as f64);
        (matched > self.half()).then(|| ((TOKENS * share).round() as i32).max(LEAST_TOKENS))
    }
}

/// One search.
struct Search<'a> {
    names: &'a Names,
    query: &'a Query,
    mode: MatchMode,
    organization: Weighted<'a>,
    person: Weighted<'a>,
    raw: &'a dyn Fn(u32) -> u32,
}

impl Names {
    /// Finds names. `accepts` says of a name's number whether it is wanted at all, `raw` gives the mark of the name as it is written.
    pub fn search(&self, query: &Query, mode: MatchMode, accepts: &dyn Fn(u32) -> bool, raw: &dyn Fn(u32) -> u32) -> Hits {
        let search = Search { names: self, query, mode, organization: Weighted::new(self, &query.words), person: Weighted::new(self, &query.person), raw };
        let (mut hits, is_cut) = search.as_written(accepts);
        if mode == MatchMode::Best && hits.len() < ENOUGH {
            let (near, is_near_cut) = search.near(accepts);
            let mut added: Vec<Hit> =
                near.into_iter().filter(|number| !hits.iter().any(|hit| hit.number == *number)).filter_map(|number| search.near_hit(number)).collect();
            hits.append(&mut added);
            return Hits { hits, is_cut: is_cut || is_near_cut };
        }
        Hits { hits, is_cut }
    }
}

impl Search<'_> {
    /// The names that fit as they are written.
    fn as_written(&self, accepts: &dyn Fn(u32) -> bool) -> (Vec<Hit>, bool) {
        let Self { names, query, mode, .. } = self;
        let begun = names.that_begin(&query.core);
        let (mut looked_at, mut is_cut) = (first(begun.whole).0.to_vec(), begun.whole.len() > MAX_SCANNED);
        let mut hits = Vec::new();
        // Of names that go on after what is asked, nothing else has to be known.
        for (list, fits) in [(begun.with_more_words, *mode != MatchMode::Exact), (begun.with_longer_word, *mode == MatchMode::Prefix)] {
            let (list, is_list_cut) = first(if fits { list } else { &[] });
            is_cut |= is_list_cut;
            let (persons, organizations) = names.split(list.to_vec(), |number| names.is_person(number));
            looked_at.extend(persons);
            hits.extend(organizations.into_iter().filter(|number| accepts(*number)).map(|number| Hit { number, score: PREFIX, fit: NameMatch::Prefix }));
        }
        hits.sort_unstable_by_key(|hit| hit.number);
        if *mode != MatchMode::Prefix {
            let mut selective = if *mode == MatchMode::Best { self.organization.selective() } else { Vec::new() };
            selective.extend(self.person.selective());
            selective.sort_unstable();
            selective.dedup();
            let lists: Vec<(&[u32], bool)> = selective.into_iter().map(|word| first(names.with_word(word))).collect();
            is_cut |= lists.iter().any(|(_, is_cut)| *is_cut);
            let named = union(lists.iter().map(|(list, _)| *list));
            let (read, counted) = names.split(named, |number| names.length(number).is_none());
            let begun: Vec<u32> = hits.iter().map(|hit| hit.number).collect();
            looked_at.extend(without(read, &begun));
            looked_at.sort_unstable();
            if *mode == MatchMode::Best {
                let counted = without(without(counted, &looked_at), &begun);
                hits.extend(self.by_words(counted).into_iter().filter(|hit| accepts(hit.number)));
            }
        }
        looked_at.sort_unstable();
        looked_at.dedup();
        hits.extend(looked_at.into_iter().filter(|number| accepts(*number)).filter_map(|number| self.hit(number)));
        // In runs that ascend, which this sort takes as they are.
        hits.sort_by_key(|hit| hit.number);
        (hits, is_cut)
    }

    /// Names of organisations by the words they share with what is asked, without a look at the names themselves. `numbers` ascend.
    fn by_words(&self, numbers: Vec<u32>) -> Vec<Hit> {
        let mut shared = vec![(0.0, 0_usize); numbers.len()];
        for (word, weight) in &self.organization.words {
            let mut list = self.names.with_word(word);
            for (number, (matched, words)) in numbers.iter().zip(&mut shared) {
                list = &list[gallop(list, *number)..];
                let times = list.iter().take_while(|known| *known == number).count();
                *matched += if times > 0 { *weight } else { 0.0 };
                *words += times;
            }
        }
        let hit = |(number, (matched, words)): (u32, (f64, usize))| {
            if matched <= self.organization.half() {
                return None;
            }
            let others = self.names.length(number)?.saturating_sub(words);
            self.organization.overlap(matched, others).map(|score| Hit { number, score, fit: NameMatch::Token })
        };
        numbers.into_iter().zip(shared).filter_map(hit).collect()
    }

    fn hit(&self, number: u32) -> Option<Hit> {
        let (score, fit) = match self.names.name(number) {
            Name::Organization { core, form } => self.organization(number, core, form)?,
            Name::Person { last, given } => self.person(number, last, given)?,
        };
        let is_wanted = match self.mode {
            MatchMode::Best => true,
            MatchMode::Exact => fit <= NameMatch::Normalized,
            MatchMode::Prefix => fit <= NameMatch::Prefix,
        };
        is_wanted.then_some(Hit { number, score, fit })
    }

    fn has_exact_spelling(&self, number: u32) -> bool {
        (self.raw)(number) == self.query.raw
    }

    fn organization(&self, number: u32, core: &str, form: &str) -> Option<(i32, NameMatch)> {
        let query = self.query;
        if core == query.core {
            return Some(match form == query.form {
                true if self.has_exact_spelling(number) => (EXACT, NameMatch::Exact),
                true => (NORMALIZED, NameMatch::Normalized),
                false => (WITHOUT_FORM, NameMatch::Normalized),
            });
        }
        let rest = core.strip_prefix(query.core.as_str());
        if rest.is_some_and(|rest| self.mode == MatchMode::Prefix || rest.starts_with(' ')) {
            return Some((PREFIX, NameMatch::Prefix));
        }
        let others = core.split(' ').filter(|word| !query.words.iter().any(|known| known == word)).count();
        let matched: f64 = self.organization.words.iter().filter(|(word, _)| core.split(' ').any(|known| known == *word)).map(|(_, weight)| weight).sum();
        self.organization.overlap(matched, others).map(|score| (score, NameMatch::Token))
    }

    /// A person fits only with the whole last name; given names in any order, initials for names.
    fn person(&self, number: u32, last: &str, given: &str) -> Option<(i32, NameMatch)> {
        let mut asked: Vec<&str> = self.query.person.iter().map(String::as_str).collect();
        for word in last.split(' ') {
            asked.remove(asked.iter().position(|known| *known == word)?);
        }
        let given: Vec<&str> = given.split(' ').collect();
        let mut sorted = (asked.clone(), given.clone());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        if sorted.0 == sorted.1 {
            let text = self.query.person.join(" ");
            let given = given.join(" ");
            let is_in_order = text == format!("{given} {last}") || text == format!("{last} {given}");
            return Some(match is_in_order {
                true if self.has_exact_spelling(number) => (EXACT, NameMatch::Exact),
                true => (NORMALIZED, NameMatch::Normalized),
                false => (WITHOUT_FORM, NameMatch::Normalized),
            });
        }
        let fits = |asked: &str, given: &str| asked == given || asked.len() == 1 && given.starts_with(asked) || given.len() == 1 && asked.starts_with(given);
        let matched: Vec<&str> = asked.iter().copied().filter(|asked| given.iter().any(|given| fits(asked, given))).collect();
        let has_first = asked.is_empty() || given.first().is_some_and(|first| asked.iter().any(|asked| fits(asked, first)));
        if matched.len() == asked.len() && has_first {
            return Some((PREFIX, NameMatch::Prefix));
        }
        let weight = |word: &str| self.person.words.iter().find(|(known, _)| *known == word).map_or(0.0, |(_, weight)| *weight);
        let matched_weight: f64 = last.split(' ').chain(matched.iter().copied()).map(weight).sum();
        self.person.overlap(matched_weight, given.len().saturating_sub(matched.len())).map(|score| (score, NameMatch::Token))
    }

    /// Numbers of the names in which each word, or one that is near it, can be.
    fn near(&self, accepts: &dyn Fn(u32) -> bool) -> (Vec<u32>, bool) {
        let mut found = (Vec::new(), false);
        for words in [&self.query.words, &self.query.person] {
            // An initial may stand for any name.
            let mut lists: Vec<Vec<u32>> = words.iter().filter(|word| word.len() > 1).map(|word| self.spellings(word)).collect();
            lists.sort_by_key(Vec::len);
            let Some((rarest, others)) = lists.split_first() else { continue };
            found.1 |= rarest.len() > MAX_SCANNED;
            let has_all = |number: &u32| others.iter().all(|list| list.binary_search(number).is_ok());
            found.0.extend(rarest.iter().take(MAX_SCANNED).copied().filter(has_all).filter(|number| accepts(*number)));
        }
        found.0.sort_unstable();
        found.0.dedup();
        found
    }

    /// Numbers of the names that have a word or a misspelling of it, ascending.
    fn spellings(&self, word: &str) -> Vec<u32> {
        let variants = spelling::variants(word);
        union(std::iter::once(word).chain(variants.iter().map(String::as_str)).map(|spelling| self.names.with_word(spelling)))
    }

    /// A name that has all words asked for, one of them misspelled.
    fn near_hit(&self, number: u32) -> Option<Hit> {
        let (weighted, text) = match self.names.name(number) {
            Name::Organization { core, .. } => (&self.organization, core.to_owned()),
            Name::Person { last, given } => {
                let has_last = last.split(' ').all(|word| self.query.person.iter().any(|asked| is_spelling(asked, word)));
                (&self.person, has_last.then(|| format!("{last} {given}"))?)
            }
        };
        let of_name: Vec<&str> = text.split(' ').collect();
        let is_initial = |word: &str| word.len() == 1 && of_name.iter().any(|known| known.starts_with(word));
        let has_all = weighted.words.iter().all(|(word, _)| of_name.iter().any(|known| is_spelling(word, known)) || is_initial(word));
        if !has_all {
            return None;
        }
        let others = of_name.len().saturating_sub(weighted.words.len());
        let share = weighted.total / (weighted.total + OTHER_WORD * others as f64);
        Some(Hit { number, score: ((MISSPELLED * share).round() as i32).max(1), fit: NameMatch::Misspelled })
    }
}

/// As much of a list as is looked at, and whether that is not all.
fn first(list: &[u32]) -> (&[u32], bool) {
    (&list[..list.len().min(MAX_SCANNED)], list.len() > MAX_SCANNED)
}

/// All numbers of some lists, ascending, each once.
fn union<'a>(lists: impl Iterator<Item = &'a [u32]>) -> Vec<u32> {
    let mut numbers = lists.collect::<Vec<_>>().concat();
    // In runs that ascend, which this sort takes as they are.
    numbers.sort();
    numbers.dedup();
    numbers
}

/// The numbers that are not in another list; both ascend.
fn without(mut numbers: Vec<u32>, other: &[u32]) -> Vec<u32> {
    let mut rest = other;
    numbers.retain(|number| {
        rest = &rest[gallop(rest, *number)..];
        rest.first() != Some(number)
    });
    numbers
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

/// Whether a word of a name is the one asked for, or a slip of a longer one.
fn is_spelling(asked: &str, word: &str) -> bool {
    asked == word || asked.len() >= spelling::SHORTEST && spelling::is_near(asked, word)
}

#[cfg(test)]
mod tests {
    use crate::serve::search::names::NamesBuilder;
    use crate::serve::search::query::*;
    use proptest::prelude::*;

    /// Short words of few letters, so that names share and continue each other's. No initials: they stand for names without being words of them.
    const WORDS: &str = "[AB]{2,4}( [AB]{2,4}){0,3}";

    proptest! {
        /// What is found by lists of words and by the order of the text is what looking at every name finds.
        #[test]
        fn every_name_that_fits_is_found(
            organizations in prop::collection::vec((WORDS, prop::sample::select(vec!["", "INC", "LLC"])), 1..40),
            persons in prop::collection::vec(("[AB]{2,4}", WORDS), 0..20),
            asked in WORDS,
            form in prop::sample::select(vec!["", " INC"]),
        ) {
            for mode in [MatchMode::Best, MatchMode::Exact, MatchMode::Prefix] {
                let mut builder = NamesBuilder::default();
                for (core, form) in &organizations {
                    builder.push(Name::Organization { core, form }).unwrap();
                }
                // A person whose given names were begun is not found by a prefix of the whole.
                for (last, given) in persons.iter().filter(|_| mode != MatchMode::Prefix) {
                    builder.push(Name::Person { last, given }).unwrap();
                }
                let names = builder.finish().unwrap();
                let query = Query::new(&format!("{asked}{form}")).unwrap();
                let weighted = |words| Weighted::new(&names, words);
                let (organization, person) = (weighted(&query.words), weighted(&query.person));
                let search = Search { names: &names, query: &query, mode, organization, person, raw: &|number| number };
                let expected: Vec<Hit> = (0..names.len() as u32).filter(|number| number % 5 != 0).filter_map(|number| search.hit(number)).collect();
                prop_assert_eq!(search.as_written(&|number| number % 5 != 0).0, expected, "{:?}", mode);
            }
        }
    }
}
