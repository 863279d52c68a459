//! Ranks names against what was asked: whole names first, then names that begin so, then names that share the telling words, and only when
//! these are few, names in which a longer word is misspelled. Words that are rare in the names weigh more.

use crate::canonical::name::{Forms, SearchedName, begins_legal_form, searched, words};
use crate::serve::search::names::{Name, Names};
use crate::serve::search::shared_words::{before, each};
use crate::serve::search::typo as spelling;

/// The most names that one search looks at for one word.
const MAX_SCANNED: usize = 100_000;
/// Names whose lengths are looked up together.
const SCORED_AT_A_TIME: usize = 1_024;
/// With so many names that fit as they are written, misspelled ones are not looked for.
const ENOUGH: usize = 25;
/// What a word of a name weighs that was not asked for.
const OTHER_WORD: f64 = 1.0;

/// Scores in ten-thousandths.
const EXACT: i32 = 10_000;
/// Of a whole name with its legal form.
pub const NORMALIZED: i32 = 9_700;
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
    /// The best, while a name is being typed: the last word may be unfinished.
    Typed,
    /// Whole names only.
    Exact,
    /// Whole names and those that begin so; the last word may be unfinished.
    Prefix,
}

impl MatchMode {
    /// Whether names count that only share words with what is asked.
    fn is_tolerant(self) -> bool {
        matches!(self, Self::Best | Self::Typed)
    }
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

/// Hash of a name as it is written, without regard to case and blanks around it.
pub fn spelling_hash(text: &str) -> u32 {
    crate::serve::index::key_hash::hash(&[text.trim().to_uppercase().as_str()]) as u32
}

/// The words of a person's name, initials apart.
pub fn person_words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | '-' | '/')).flat_map(words).collect()
}

impl Query {
    /// Reads a name; none when it has no letter or digit.
    pub fn new(text: &str, forms: Forms) -> Option<Self> {
        let SearchedName { core, form } = searched(text, forms);
        if core.is_empty() {
            return None;
        }
        let mut words: Vec<String> = Vec::new();
        for word in core.split(' ') {
            if !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        }
        Some(Self { raw: spelling_hash(text), form, words, person: person_words(text), core })
    }

    /// The last word, which may be unfinished; none where a legal form follows it.
    fn unfinished(&self) -> Option<&str> {
        self.core.rsplit(' ').next().filter(|_| self.form.is_empty())
    }

    /// What stands before a last word that may be the beginning of a legal form: `APPLE IN` → (`APPLE`, `IN`).
    fn begun_form(&self) -> Option<(&str, &str)> {
        self.core.rsplit_once(' ').filter(|_| self.form.is_empty())
    }
}

/// A word of a query.
struct Term<'a> {
    word: &'a str,
    weight: f64,
    /// Of an unfinished word the names that have a word which begins so, ascending and as often as they have one; none of a word that is whole.
    begun: Option<Vec<u32>>,
}

impl Term<'_> {
    /// Numbers of the names that have the word, ascending; as often as they have it.
    fn numbers<'n>(&'n self, names: &'n Names) -> &'n [u32] {
        self.begun.as_deref().unwrap_or_else(|| names.with_word(self.word))
    }

    fn is(&self, word: &str) -> bool {
        if self.begun.is_some() { word.starts_with(self.word) } else { word == self.word }
    }
}

/// The words of a query with what each weighs.
struct Weighted<'a> {
    terms: Vec<Term<'a>>,
    total: f64,
}

impl<'a> Weighted<'a> {
    fn new(names: &Names, words: &'a [String], unfinished: Option<&str>) -> Self {
        let all = names.len() as f64;
        let term = |word: &'a String| {
            // An initial says little, however rare it is, and begins too many words.
            let is_initial = word.chars().count() == 1;
            let begun = (unfinished == Some(word) && !is_initial).then(|| names.with_word_begun(word));
            let count = begun.as_ref().map_or_else(|| names.count(word), Vec::len);
            Term { word, weight: if is_initial { OTHER_WORD } else { (1.0 + all / count.max(1) as f64).ln() }, begun }
        };
        let terms: Vec<Term<'a>> = words.iter().map(term).collect();
        Self { total: terms.iter().map(|term| term.weight).sum(), terms }
    }

    /// The words one of which every name with more than half of the weight has.
    fn selective(&self) -> Vec<&Term<'a>> {
        let mut sorted: Vec<&Term<'a>> = self.terms.iter().collect();
        sorted.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.word.cmp(b.word)));
        let mut rest = self.total;
        let mut selective = Vec::new();
        for term in sorted {
            if rest <= self.half() {
                break;
            }
            selective.push(term);
            rest -= term.weight;
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
    /// Finds names. `accepts` says of a name's number whether it is wanted at all, `raw` gives the hash of the name as it is written.
    pub fn search(&self, query: &Query, mode: MatchMode, accepts: &dyn Fn(u32) -> bool, raw: &dyn Fn(u32) -> u32) -> Hits {
        let unfinished = if mode == MatchMode::Typed { query.unfinished() } else { None };
        let (organization, person) = (Weighted::new(self, &query.words, unfinished), Weighted::new(self, &query.person, None));
        let search = Search { names: self, query, mode, organization, person, raw };
        let (mut hits, is_cut) = search.as_written(accepts);
        if mode.is_tolerant() && hits.len() < ENOUGH {
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
        for (list, fits) in [(begun.with_more_words, *mode != MatchMode::Exact), (begun.with_longer_word, self.may_go_on())] {
            let (list, is_list_cut) = first(if fits { list } else { &[] });
            is_cut |= is_list_cut;
            let (persons, organizations) = names.split(list.to_vec(), |number| names.is_person(number));
            looked_at.extend(persons);
            hits.extend(organizations.into_iter().filter(|number| accepts(*number)).map(|number| Hit { number, score: PREFIX, fit: NameMatch::Prefix }));
        }
        if let (MatchMode::Typed, Some((before, _))) = (mode, query.begun_form()) {
            looked_at.extend(first(names.that_begin(before).whole).0);
        }
        hits.sort_unstable_by_key(|hit| hit.number);
        if *mode != MatchMode::Prefix {
            let of_organizations = if mode.is_tolerant() { self.organization.selective() } else { Vec::new() };
            let selective = of_organizations.into_iter().chain(self.person.selective());
            let mut lists: Vec<&[u32]> = Vec::new();
            for (list, is_list_cut) in selective.map(|term| first(term.numbers(names))) {
                is_cut |= is_list_cut;
                if !lists.iter().any(|known| std::ptr::eq(*known, list)) {
                    lists.push(list);
                }
            }
            let mut known: Vec<u32> = hits.iter().map(|hit| hit.number).chain(looked_at.iter().copied()).collect();
            known.sort_unstable();
            let (shared, read) = self.by_words(&lists, &known);
            hits.extend(shared.into_iter().filter(|hit| accepts(hit.number)));
            looked_at.extend(read);
        }
        looked_at.sort_unstable();
        looked_at.dedup();
        hits.extend(looked_at.into_iter().filter(|number| accepts(*number)).filter_map(|number| self.hit(number)));
        // In runs that ascend, which this sort takes as they are.
        hits.sort_by_key(|hit| hit.number);
        (hits, is_cut)
    }

    /// Whether the last word asked for may go on.
    fn may_go_on(&self) -> bool {
        self.mode == MatchMode::Prefix || self.mode == MatchMode::Typed && self.query.form.is_empty()
    }

    /// Names of some lists by the words they share with what is asked, without a look at the names themselves, and the numbers of those that must be
    /// looked at. Names that are `known`, ascending, are in neither.
    fn by_words(&self, lists: &[&[u32]], mut known: &[u32]) -> (Vec<Hit>, Vec<u32>) {
        let (mut hits, mut read) = (Vec::new(), Vec::new());
        let terms = if self.mode.is_tolerant() { self.organization.terms.as_slice() } else { &[] };
        if terms.is_empty() && self.names.is_plain() {
            return (hits, read);
        }
        let words: Vec<(&[u32], f64)> = terms.iter().map(|term| (term.numbers(self.names), term.weight)).collect();
        let (half, is_plain) = (self.organization.half(), self.names.is_plain());
        let mut score = |sharing: &mut Vec<(u32, f64, usize)>| {
            // Lengths lie far apart. With nothing to be done in between, the processor waits for many at a time.
            let lengths: Vec<Option<usize>> = sharing.iter().map(|(number, ..)| self.names.length(*number)).collect();
            for ((number, matched, words), length) in sharing.drain(..).zip(lengths) {
                match length {
                    None => read.push(number),
                    Some(length) => {
                        let score = self.organization.overlap(matched, length.saturating_sub(words));
                        hits.extend(score.map(|score| Hit { number, score, fit: NameMatch::Token }));
                    }
                }
            }
        };
        let mut sharing: Vec<(u32, f64, usize)> = Vec::with_capacity(SCORED_AT_A_TIME);
        each(lists, &words, |number, matched, words| {
            before(&mut known, number);
            if known.first() != Some(&number) && (matched > half || !is_plain) {
                sharing.push((number, matched, words));
            }
            if sharing.len() == SCORED_AT_A_TIME {
                score(&mut sharing);
            }
        });
        score(&mut sharing);
        (hits, read)
    }

    fn hit(&self, number: u32) -> Option<Hit> {
        let (score, fit) = match self.names.name(number) {
            Name::Organization { core, form } => self.organization(number, core, form)?,
            Name::Person { last, given } => self.person(number, last, given)?,
        };
        let is_wanted = match self.mode {
            MatchMode::Best | MatchMode::Typed => true,
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
        if rest.is_some_and(|rest| self.may_go_on() || rest.starts_with(' ')) {
            return Some((PREFIX, NameMatch::Prefix));
        }
        let is_begun_form = |(before, last): (&str, &str)| core == before && begins_legal_form(last, form.split(' ').next().unwrap_or_default());
        if self.mode == MatchMode::Typed && query.begun_form().is_some_and(is_begun_form) {
            return Some((PREFIX, NameMatch::Prefix));
        }
        let (mut matched, mut words) = (0.0, 0);
        for term in &self.organization.terms {
            let times = core.split(' ').filter(|word| term.is(word)).count();
            matched += if times > 0 { term.weight } else { 0.0 };
            words += times;
        }
        let others = core.split(' ').count().saturating_sub(words);
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
        let weight = |word: &str| self.person.terms.iter().find(|term| term.word == word).map_or(0.0, |term| term.weight);
        let matched_weight: f64 = last.split(' ').chain(matched.iter().copied()).map(weight).sum();
        self.person.overlap(matched_weight, given.len().saturating_sub(matched.len())).map(|score| (score, NameMatch::Token))
    }

    /// Numbers of the names in which each word, or one that is near it, can be.
    fn near(&self, accepts: &dyn Fn(u32) -> bool) -> (Vec<u32>, bool) {
        let mut found = (Vec::new(), false);
        for words in [&self.query.words, &self.query.person] {
            // An initial may stand for any name.
            let mut lists: Vec<Vec<u32>> = words.iter().filter(|word| word.len() > 1).map(|word| self.with_typos(word)).collect();
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
    fn with_typos(&self, word: &str) -> Vec<u32> {
        let variants = spelling::variants(word);
        union(std::iter::once(word).chain(variants.iter().map(String::as_str)).map(|variant| self.names.with_word(variant)))
    }

    /// A name that has all words asked for, one of them misspelled.
    fn near_hit(&self, number: u32) -> Option<Hit> {
        let (weighted, text) = match self.names.name(number) {
            Name::Organization { core, .. } => (&self.organization, core.to_owned()),
            Name::Person { last, given } => {
                let has_last = last.split(' ').all(|word| self.query.person.iter().any(|asked| is_typo_of(asked, word)));
                (&self.person, has_last.then(|| format!("{last} {given}"))?)
            }
        };
        let of_name: Vec<&str> = text.split(' ').collect();
        let is_initial = |word: &str| word.len() == 1 && of_name.iter().any(|known| known.starts_with(word));
        let has_all = weighted.terms.iter().all(|term| of_name.iter().any(|known| is_typo_of(term.word, known)) || is_initial(term.word));
        if !has_all {
            return None;
        }
        let others = of_name.len().saturating_sub(weighted.terms.len());
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

/// Whether a word of a name is the one asked for, or a slip of a longer one.
fn is_typo_of(asked: &str, word: &str) -> bool {
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
            for mode in [MatchMode::Best, MatchMode::Typed, MatchMode::Exact, MatchMode::Prefix] {
                let mut builder = NamesBuilder::with_begun_words();
                for (core, form) in &organizations {
                    builder.push(Name::Organization { core, form }).unwrap();
                }
                // A person whose given names were begun is not found by a prefix of the whole.
                for (last, given) in persons.iter().filter(|_| !matches!(mode, MatchMode::Prefix | MatchMode::Typed)) {
                    builder.push(Name::Person { last, given }).unwrap();
                }
                let names = builder.finish().unwrap();
                let query = Query::new(&format!("{asked}{form}"), Forms::OfStates).unwrap();
                let unfinished = if mode == MatchMode::Typed { query.unfinished() } else { None };
                let (organization, person) = (Weighted::new(&names, &query.words, unfinished), Weighted::new(&names, &query.person, None));
                let search = Search { names: &names, query: &query, mode, organization, person, raw: &|number| number };
                let expected: Vec<Hit> = (0..names.len() as u32).filter(|number| number % 5 != 0).filter_map(|number| search.hit(number)).collect();
                prop_assert_eq!(search.as_written(&|number| number % 5 != 0).0, expected, "{:?}", mode);
            }
        }
    }
}
