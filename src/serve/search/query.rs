//! Ranks names against a query: first equal names, then names that begin with the query, then names
//! that share its distinctive words. If there are few such names, names with one misspelled longer
//! word follow. Rarer words weigh more.

use crate::search::by_words::{Known, SharedWordVisitor};
use crate::search::collected::{Accepts, Collector, ENOUGH_MATCHES, SearchState};
use crate::search::hit::{Hit, NameMatch};
use crate::search::names::{Name, Names};
use crate::search::posting_payload::PostingPayload;
use crate::search::shared_words::{MAX_WORDS, PostingList, Word, each, has};
use crate::search::typo as spelling;
use crate::search::weights::{MAX_BY_WORDS, OTHER_WORD, Scores, Term, Weighted};
use pubdata_core::canonical::name::{Forms, SearchedName, begins_legal_form, searched, words};

/// Maximum number of names that one search examines by word, and by prefix.
const MAX_SCANNED: usize = 100_000;
/// The same maximum if no word is distinctive, as in `M&R`. Large numbers of names contain such
/// words, and the prefix lookup finds the names that begin with the query.
const MAX_SCANNED_INDISTINCTIVE: usize = 4_000;

/// Scores in ten-thousandths.
const EXACT: i32 = 10_000;
/// Score of a complete name with the same legal form.
pub const NORMALIZED: i32 = 9_700;
const WITHOUT_FORM: i32 = 9_300;
const PREFIX: i32 = 8_500;
const MISSPELLED: f64 = 1_000.0;

/// Kinds of match that a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    Best,
    /// Same as `Best`, but for a query that a user is typing: the last word may be unfinished.
    Typed,
    /// Complete names only.
    Exact,
    /// Complete names and names that begin with the query; the last word may be unfinished.
    Prefix,
}

impl MatchMode {
    /// Returns true if sharing words with the query is enough.
    fn is_tolerant(self) -> bool {
        matches!(self, Self::Best | Self::Typed)
    }
}

/// A parsed name query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    raw: u32,
    core: String,
    form: String,
    /// Distinct words of the core.
    words: Vec<String>,
    /// The words with separate initials, as used to compare persons' names.
    person: Vec<String>,
}

/// Hash of a name as written, ignoring case and surrounding blanks.
pub fn spelling_hash(text: &str) -> u32 {
    crate::index::key_hash::hash(&[text.trim().to_uppercase().as_str()]) as u32
}

/// Splits a person's name into words, with separate initials.
pub fn person_words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | '-' | '/'))
        .flat_map(words)
        .collect()
}

impl Query {
    /// Parses a name; returns `None` if it has no letter or digit.
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
        Some(Self {
            raw: spelling_hash(text),
            form,
            words,
            person: person_words(text),
            core,
        })
    }

    /// Returns the last word, which may be unfinished, or `None` if a legal form follows it.
    fn unfinished(&self) -> Option<&str> {
        self.core
            .rsplit(' ')
            .next()
            .filter(|_| self.form.is_empty())
    }

    /// Splits off a last word that may begin a legal form: `APPLE IN` → (`APPLE`, `IN`).
    fn unfinished_form(&self) -> Option<(&str, &str)> {
        self.core.rsplit_once(' ').filter(|_| self.form.is_empty())
    }
}

/// Lists of names for a word and its misspellings.
#[derive(Default)]
struct Spellings<'n> {
    lists: Vec<PostingList<'n>>,
    /// Signature bits of each list's word.
    bloom_bits: Vec<u64>,
}

/// State of one search.
struct Search<'a> {
    names: &'a Names,
    query: &'a Query,
    mode: MatchMode,
    organization: Weighted<'a>,
    person: Weighted<'a>,
    raw: &'a dyn Fn(u32) -> u32,
}

impl Names {
    /// Finds names and passes them to the collector. `raw` returns the hash of a name as written.
    /// Returns true if the search stopped before it examined every candidate.
    pub fn search(
        &self,
        query: &Query,
        mode: MatchMode,
        accepts: Accepts<'_>,
        raw: &dyn Fn(u32) -> u32,
        collector: &mut impl Collector,
    ) -> bool {
        let unfinished = if mode == MatchMode::Typed {
            query.unfinished()
        } else {
            None
        };
        let (organization, person) = (
            Weighted::new(self, &query.words, unfinished),
            Weighted::new(self, &query.person, None),
        );
        let search = Search {
            names: self,
            query,
            mode,
            organization,
            person,
            raw,
        };
        let mut found = SearchState {
            collector,
            first: Vec::with_capacity(ENOUGH_MATCHES),
        };
        let is_cut = search.as_written(accepts, &mut found);
        if !mode.is_tolerant() || found.first.len() == ENOUGH_MATCHES {
            return is_cut;
        }
        let (near, is_near_cut) = search.near(accepts);
        let SearchState { collector, first } = found;
        near.into_iter()
            .filter(|number| !first.contains(number))
            .filter_map(|number| search.misspelled_hit(number))
            .for_each(|hit| collector.collect(hit));
        is_cut || is_near_cut
    }
}

impl Search<'_> {
    /// Finds names that match as written. Returns true if the lookup stopped before it examined
    /// every candidate.
    fn as_written(
        &self,
        accepts: Accepts<'_>,
        found: &mut SearchState<'_, impl Collector>,
    ) -> bool {
        let Self {
            names, query, mode, ..
        } = self;
        let is_selected = |number: u32| accepts.is_none_or(|accepts| accepts(number));
        let (mut looked_at, mut is_cut) = (Vec::new(), false);
        let with_prefix = names.names_with_prefix(&query.core);
        let [same_form, before, after, persons] =
            names.split_by_legal_form(with_prefix.whole, &query.core, &query.form);
        looked_at.extend(first(persons).0);
        is_cut |= [same_form, before, after, persons]
            .iter()
            .any(|list| list.len() > MAX_SCANNED);
        let spelled = |number: u32| {
            if self.has_exact_spelling(number) {
                (EXACT, NameMatch::Exact)
            } else {
                (NORMALIZED, NameMatch::Normalized)
            }
        };
        let of_same_form = first(same_form)
            .0
            .iter()
            .map(|number| (*number, spelled(*number)));
        let of_other_form = [before, after]
            .into_iter()
            .flat_map(|list| first(list).0)
            .map(|number| (*number, (WITHOUT_FORM, NameMatch::Normalized)));
        let is_one_word = self.is_one_word();
        // Names that the lookup by words does not find again.
        let (mut known, mut marked) = (Vec::new(), Vec::new());
        let mut collect = |number: u32, fit| {
            let hit = self.hit_of(number, fit);
            if !is_one_word {
                if hit.is_marked {
                    &mut marked
                } else {
                    &mut known
                }
                .push(number);
            }
            found.collect(hit);
        };
        of_same_form
            .chain(of_other_form)
            .filter(|(number, _)| is_selected(*number))
            .for_each(|(number, fit)| collect(number, fit));
        // Organisations' names that continue after the query need no further check.
        let with_more_words = if *mode != MatchMode::Exact && !is_one_word {
            with_prefix.with_more_words
        } else {
            &[]
        };
        let with_longer_word = if self.may_be_unfinished() {
            names.names_continuing_last_word(&query.core)
        } else {
            &[]
        };
        for list in [with_more_words, with_longer_word] {
            let (list, is_list_cut) = first(list);
            is_cut |= is_list_cut;
            let (persons, organizations) = names.split(list);
            looked_at.extend(persons);
            organizations
                .into_iter()
                .filter(|number| is_selected(*number))
                .for_each(|number| collect(number, (PREFIX, NameMatch::Prefix)));
        }
        if is_one_word {
            is_cut |= self.by_one_word(accepts, found, &mut looked_at);
        }
        if let (MatchMode::Typed, Some((before, _))) = (mode, query.unfinished_form()) {
            looked_at.extend(first(names.names_with_prefix(before).whole).0);
        }
        if *mode != MatchMode::Prefix && !is_one_word {
            let of_organizations = if mode.is_tolerant() {
                self.organization.selective()
            } else {
                Vec::new()
            };
            let of_persons = if names.has_persons() {
                self.person.selective()
            } else {
                Vec::new()
            };
            let mut lists: Vec<PostingList<'_>> = Vec::new();
            for list in of_organizations
                .iter()
                .chain(&of_persons)
                .map(|term| term.posted(names))
            {
                if !lists
                    .iter()
                    .any(|known| std::ptr::eq(known.numbers, list.numbers))
                {
                    lists.push(list);
                }
            }
            let say_little = self.organization.terms.iter().all(Term::is_indistinctive);
            let is_list_cut = share_out(
                &mut lists,
                if say_little {
                    MAX_SCANNED_INDISTINCTIVE
                } else {
                    MAX_SCANNED
                },
            );
            is_cut |= is_list_cut;
            // These names contain every word of the query, so the lookup by words finds each of
            // them again. If that lookup only counts names, subtract these names from its count.
            let are_lists_whole = mode.is_tolerant()
                && !self.may_be_unfinished()
                && !is_list_cut
                && self.organization.terms.len() <= MAX_WORDS;
            let are_others_counted =
                are_lists_whole && accepts.is_none() && found.collector.is_beyond(MAX_BY_WORDS, 0);
            let again = if are_others_counted {
                std::mem::take(&mut known).len()
            } else {
                0
            };
            known.extend(marked.iter().chain(&looked_at));
            known.sort_unstable();
            self.by_words(
                &lists,
                Known {
                    numbers: &known,
                    again,
                },
                accepts,
                found,
                &mut looked_at,
            );
        }
        looked_at.sort_unstable();
        looked_at.dedup();
        looked_at
            .into_iter()
            .filter(|number| is_selected(*number))
            .filter_map(|number| self.hit(number))
            .for_each(|hit| found.collect(hit));
        is_cut
    }

    /// Returns true if the query is one complete word that may occur anywhere in a matching name.
    fn is_one_word(&self) -> bool {
        let Query {
            core,
            words,
            person,
            ..
        } = self.query;
        self.mode.is_tolerant()
            && !self.may_be_unfinished()
            && !core.contains(' ')
            && (words == person || !self.names.has_persons())
    }

    /// Collects names that contain the query's only word, and adds the numbers of names that must
    /// be examined to `read`. The caller has already collected names that equal the word. Returns
    /// true if the list was truncated.
    fn by_one_word(
        &self,
        accepts: Accepts<'_>,
        found: &mut SearchState<'_, impl Collector>,
        read: &mut Vec<u32>,
    ) -> bool {
        let Some(term) = self.organization.terms.first() else {
            return false;
        };
        let all = term.posted(self.names);
        let is_cut = all.numbers.len() > MAX_SCANNED;
        let PostingList { numbers, says } = all.first(MAX_SCANNED);
        let mut scores = Scores::new(&self.organization);
        // Names that begin with the word score highest here. Once one of these names only needs
        // counting, all later unmarked names also only need counting.
        let mut is_beyond = false;
        let mut next = 0;
        while next < numbers.len() {
            if is_beyond {
                let lacks = found.collector.lacks();
                if lacks == 0 {
                    return is_cut;
                }
                if accepts.is_none() {
                    let says = &says[next..next.saturating_add(lacks).min(says.len())];
                    let counted = says
                        .iter()
                        .position(|says| !PostingPayload::new(*says).is_plain(2))
                        .unwrap_or(says.len());
                    found.count(&numbers[next..next + counted], 0);
                    next += counted;
                    if counted > 0 {
                        continue;
                    }
                }
            }
            let (place, number, payload) = (next, numbers[next], PostingPayload::new(says[next]));
            next += 1;
            // If the list contains a name twice, only the first entry counts.
            if payload.has_twice() && place > 0 && numbers[place - 1] == number {
                continue;
            }
            let times = || {
                numbers[place..]
                    .iter()
                    .take_while(|known| **known == number)
                    .count()
            };
            let fits = match payload.length() {
                Some(1) => continue,
                Some(_) if payload.is_first() => Some((PREFIX, NameMatch::Prefix)),
                Some(length) => {
                    let times = if payload.has_twice() { times() } else { 1 };
                    scores
                        .score(1, length.saturating_sub(times))
                        .map(|score| (score, NameMatch::Token))
                }
                None => {
                    read.push(number);
                    continue;
                }
            };
            let Some((score, fit)) = fits.filter(|_| accepts.is_none_or(|accepts| accepts(number)))
            else {
                continue;
            };
            match payload.is_marked() {
                true => found.collect(Hit {
                    number,
                    score,
                    fit,
                    is_marked: true,
                }),
                false if is_beyond => found.count(&[number], 0),
                false if found.counts(score, number) => is_beyond = fit == NameMatch::Prefix,
                false => found.collect(Hit {
                    number,
                    score,
                    fit,
                    is_marked: false,
                }),
            }
        }
        is_cut
    }

    fn hit_of(&self, number: u32, (score, fit): (i32, NameMatch)) -> Hit {
        Hit {
            number,
            score,
            fit,
            is_marked: self.names.payload(number).is_marked(),
        }
    }

    /// Returns true if the last word of the query may be unfinished.
    fn may_be_unfinished(&self) -> bool {
        self.mode == MatchMode::Prefix
            || self.mode == MatchMode::Typed && self.query.form.is_empty()
    }

    /// Collects names from lists by the words they share with the query, without examining the
    /// names themselves. Adds the numbers of names that must be examined to `read`. Skips names in
    /// `known`.
    fn by_words(
        &self,
        lists: &[PostingList<'_>],
        known: Known<'_>,
        accepts: Accepts<'_>,
        found: &mut SearchState<'_, impl Collector>,
        read: &mut Vec<u32>,
    ) {
        let terms = if self.mode.is_tolerant() {
            self.organization.terms.as_slice()
        } else {
            &[]
        };
        if terms.len() > MAX_WORDS {
            // Queries this long are rare, so every name is examined.
            return read.extend(
                lists
                    .iter()
                    .flat_map(|list| list.numbers)
                    .filter(|number| known.numbers.binary_search(number).is_err()),
            );
        }
        let words: Vec<Word<'_>> = terms.iter().map(|term| term.word(self.names)).collect();
        let are_enough: Vec<bool> = self
            .organization
            .sums(terms.len())
            .into_iter()
            .map(|weight| weight > self.organization.half())
            .collect();
        let has_prefix_term = terms.iter().any(|term| term.by_prefix.is_some());
        let (scores, beyond) = (Scores::new(&self.organization), (0, usize::MAX));
        let (has_persons, is_counting) = (self.names.has_persons(), known.again > 0);
        let mut visitor = SharedWordVisitor {
            words: &words,
            has_prefix_term,
            has_persons,
            accepts,
            again: known.again,
            is_counting,
            scores,
            beyond,
            found,
            read,
        };
        each(lists, known.numbers, &words, &are_enough, &mut visitor);
    }

    fn hit(&self, number: u32) -> Option<Hit> {
        let (score, fit) = match self.names.name(number) {
            Name::Organization { core, form } => self.organization(number, core, form)?,
            Name::Person { last, given } => self.person(number, last, given)?,
        };
        let is_selected = match self.mode {
            MatchMode::Best | MatchMode::Typed => true,
            MatchMode::Exact => fit <= NameMatch::Normalized,
            MatchMode::Prefix => fit <= NameMatch::Prefix,
        };
        is_selected.then(|| self.hit_of(number, (score, fit)))
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
        if rest.is_some_and(|rest| self.may_be_unfinished() || rest.starts_with(' ')) {
            return Some((PREFIX, NameMatch::Prefix));
        }
        let is_form_prefix = |(before, last): (&str, &str)| {
            core == before && begins_legal_form(last, form.split(' ').next().unwrap_or_default())
        };
        if self.mode == MatchMode::Typed && query.unfinished_form().is_some_and(is_form_prefix) {
            return Some((PREFIX, NameMatch::Prefix));
        }
        let (mut matched, mut words) = (0.0, 0);
        for term in &self.organization.terms {
            let times = core.split(' ').filter(|word| term.is(word)).count();
            matched += if times > 0 { term.weight } else { 0.0 };
            words += times;
        }
        let others = core.split(' ').count().saturating_sub(words);
        self.organization
            .overlap(matched, others)
            .map(|score| (score, NameMatch::Token))
    }

    /// Scores a person's name. The complete last name must match; given names may be in any order,
    /// and an initial matches a name.
    fn person(&self, number: u32, last: &str, given: &str) -> Option<(i32, NameMatch)> {
        let mut queried: Vec<&str> = self.query.person.iter().map(String::as_str).collect();
        for word in last.split(' ') {
            queried.remove(queried.iter().position(|known| *known == word)?);
        }
        let given: Vec<&str> = given.split(' ').collect();
        let mut sorted = (queried.clone(), given.clone());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        if sorted.0 == sorted.1 {
            let text = self.query.person.join(" ");
            let given = given.join(" ");
            let is_in_order =
                text == format!("{given} {last}") || text == format!("{last} {given}");
            return Some(match is_in_order {
                true if self.has_exact_spelling(number) => (EXACT, NameMatch::Exact),
                true => (NORMALIZED, NameMatch::Normalized),
                false => (WITHOUT_FORM, NameMatch::Normalized),
            });
        }
        let fits = |queried: &str, given: &str| {
            queried == given
                || queried.len() == 1 && given.starts_with(queried)
                || given.len() == 1 && queried.starts_with(given)
        };
        let matched: Vec<&str> = queried
            .iter()
            .copied()
            .filter(|queried| given.iter().any(|given| fits(queried, given)))
            .collect();
        let has_first = queried.is_empty()
            || given
                .first()
                .is_some_and(|first| queried.iter().any(|queried| fits(queried, first)));
        if matched.len() == queried.len() && has_first {
            return Some((PREFIX, NameMatch::Prefix));
        }
        let weight = |word: &str| {
            self.person
                .terms
                .iter()
                .find(|term| term.word == word)
                .map_or(0.0, |term| term.weight)
        };
        let matched_weight: f64 = last
            .split(' ')
            .chain(matched.iter().copied())
            .map(weight)
            .sum();
        self.person
            .overlap(matched_weight, given.len().saturating_sub(matched.len()))
            .map(|score| (score, NameMatch::Token))
    }

    /// Returns the names that may contain every word of the query, either as written or misspelled.
    fn near(&self, accepts: Accepts<'_>) -> (Vec<u32>, bool) {
        let mut found = (Vec::new(), false);
        let of_persons = self.names.has_persons().then_some(&self.query.person);
        for words in std::iter::once(&self.query.words).chain(of_persons) {
            // An initial may match any given name, so it selects nothing.
            let mut spellings: Vec<Spellings<'_>> = words
                .iter()
                .filter(|word| word.len() > 1)
                .map(|word| self.with_typos(word))
                .collect();
            spellings.sort_by_key(|spellings| {
                spellings
                    .lists
                    .iter()
                    .map(|list| list.numbers.len())
                    .sum::<usize>()
            });
            let Some((rarest, others)) = spellings.split_first() else {
                continue;
            };
            let mut lists = rarest.lists.clone();
            found.1 |= share_out(&mut lists, MAX_SCANNED);
            // Most names lack the bits of some word, so they are rejected before any list is
            // searched.
            let of_all = others.iter().fold(0, |of_all, word| {
                of_all
                    | word
                        .bloom_bits
                        .iter()
                        .fold(u64::MAX, |common, bloom_bits| common & bloom_bits)
            });
            let may_have_all = |says: u64| {
                says & of_all == of_all
                    && others.iter().all(|word| {
                        word.bloom_bits
                            .iter()
                            .any(|bloom_bits| says & bloom_bits == *bloom_bits)
                    })
            };
            let mut rests: Vec<Vec<&[u32]>> = others
                .iter()
                .map(|word| word.lists.iter().map(|list| list.numbers).collect())
                .collect();
            let mut near: Vec<u32> = Vec::new();
            for PostingList { numbers, says } in lists {
                near.extend(
                    numbers
                        .iter()
                        .zip(says)
                        .filter(|(_, says)| may_have_all(**says))
                        .map(|(number, _)| *number),
                );
            }
            near.sort_unstable();
            near.dedup();
            near.retain(|number| {
                rests
                    .iter_mut()
                    .all(|lists| lists.iter_mut().any(|list| has(list, *number)))
            });
            found.0.extend(
                near.into_iter()
                    .filter(|number| accepts.is_none_or(|accepts| accepts(*number))),
            );
        }
        found.0.sort_unstable();
        found.0.dedup();
        found
    }

    /// Returns the names that contain a word or one of its misspellings.
    fn with_typos(&self, word: &str) -> Spellings<'_> {
        let mut found = Spellings::default();
        let mut add = |spelling: &str| {
            let list = self.names.with_word(spelling);
            if !list.numbers.is_empty() {
                found
                    .bloom_bits
                    .push(self.names.bloom_bits_of(spelling).bits);
                found.lists.push(list);
            }
        };
        add(word);
        spelling::each_variant(word, add);
        // Two edits can produce the same variant.
        found.lists.sort_by_key(|list| list.numbers.as_ptr());
        found.lists.dedup_by_key(|list| list.numbers.as_ptr());
        found
    }

    /// Returns a hit if a name contains all words of the query, allowing for misspellings.
    fn misspelled_hit(&self, number: u32) -> Option<Hit> {
        let (weighted, text) = match self.names.name(number) {
            Name::Organization { core, .. } => (&self.organization, core.to_owned()),
            Name::Person { last, given } => {
                let has_last = last.split(' ').all(|word| {
                    self.query
                        .person
                        .iter()
                        .any(|queried| is_typo_of(queried, word))
                });
                (&self.person, has_last.then(|| format!("{last} {given}"))?)
            }
        };
        let of_name: Vec<&str> = text.split(' ').collect();
        let is_initial =
            |word: &str| word.len() == 1 && of_name.iter().any(|known| known.starts_with(word));
        let has_all = weighted.terms.iter().all(|term| {
            of_name.iter().any(|known| is_typo_of(term.word, known)) || is_initial(term.word)
        });
        if !has_all {
            return None;
        }
        let others = of_name.len().saturating_sub(weighted.terms.len());
        let share = weighted.total / (weighted.total + OTHER_WORD * others as f64);
        Some(self.hit_of(
            number,
            (
                ((MISSPELLED * share).round() as i32).max(1),
                NameMatch::Misspelled,
            ),
        ))
    }
}

/// Truncates lists so that they hold at most `most` names in total; long lists get equal shares.
/// Returns true if any list was truncated.
fn share_out(lists: &mut [PostingList<'_>], most: usize) -> bool {
    lists.sort_by_key(|list| list.numbers.len());
    let (mut rest, mut is_cut) = (most, false);
    for place in 0..lists.len() {
        let share = rest / (lists.len() - place);
        is_cut |= lists[place].numbers.len() > share;
        lists[place] = lists[place].first(share);
        rest -= lists[place].numbers.len();
    }
    is_cut
}

/// Truncates a list to [`MAX_SCANNED`] names; the flag is true if names were dropped.
fn first(list: &[u32]) -> (&[u32], bool) {
    (
        &list[..list.len().min(MAX_SCANNED)],
        list.len() > MAX_SCANNED,
    )
}

/// Returns true if a name's word equals the query's word, or is one edit away from it and long
/// enough.
fn is_typo_of(queried: &str, word: &str) -> bool {
    queried == word || queried.len() >= spelling::SHORTEST && spelling::is_near(queried, word)
}

#[cfg(test)]
mod tests {
    use crate::search::names::NamesBuilder;
    use crate::search::query::*;
    use proptest::prelude::*;

    /// Generates short words over two letters, so that names share words and continue each other.
    /// Excludes initials, which match names without being among their words.
    const WORDS: &str = "[AB]{2,4}( ([AB]{2,4}|AND)){0,3}";

    /// Generates enough words that names often carry a word's bits without containing the word.
    const SEVERAL_WORDS: &str = "[AB]{2,5}( [AB]{2,5}){6,14}";

    /// Generates more distinct words than one search distinguishes.
    const MANY_WORDS: &str = "[AB]{2,4}( [AB]{2,4}){24,40}";

    /// Compares the indexed search with a check of every name.
    fn finds_every_name(
        organizations: &[(String, &str)],
        persons: &[(String, String)],
        queried: &str,
    ) -> Result<(), TestCaseError> {
        for mode in [
            MatchMode::Best,
            MatchMode::Typed,
            MatchMode::Exact,
            MatchMode::Prefix,
        ] {
            let mut builder = NamesBuilder::with_unfinished_words();
            for (core, form) in organizations {
                builder.push(Name::Organization { core, form }).unwrap();
            }
            // Prefix lookup does not find persons whose given names are incomplete.
            for (last, given) in persons
                .iter()
                .filter(|_| !matches!(mode, MatchMode::Prefix | MatchMode::Typed))
            {
                builder.push(Name::Person { last, given }).unwrap();
            }
            let names = builder.finish().unwrap();
            let query = Query::new(queried, Forms::OfStates).unwrap();
            let unfinished = if mode == MatchMode::Typed {
                query.unfinished()
            } else {
                None
            };
            let (organization, person) = (
                Weighted::new(&names, &query.words, unfinished),
                Weighted::new(&names, &query.person, None),
            );
            let search = Search {
                names: &names,
                query: &query,
                mode,
                organization,
                person,
                raw: &|number| number,
            };
            let most = |number: u32| !number.is_multiple_of(5);
            for accepts in [None, Some(&most as &dyn Fn(u32) -> bool)] {
                let is_selected = |number: &u32| accepts.is_none_or(|accepts| accepts(*number));
                let expected: Vec<Hit> = (0..names.len() as u32)
                    .filter(is_selected)
                    .filter_map(|number| search.hit(number))
                    .collect();
                let mut found: Vec<Hit> = Vec::new();
                search.as_written(
                    accepts,
                    &mut SearchState {
                        collector: &mut found,
                        first: Vec::new(),
                    },
                );
                found.sort_unstable_by_key(|hit| hit.number);
                prop_assert_eq!(found, expected, "{:?}", mode);
            }
        }
        Ok(())
    }

    /// Names that share only `&` and an initial are examined up to a limit, and the result reports
    /// this. Names that begin with the query are always found.
    #[test]
    fn names_of_initials_are_not_all_those_with_the_word_between_them() {
        const EACH: usize = MAX_SCANNED_INDISTINCTIVE;
        let mut builder = NamesBuilder::with_unfinished_words();
        for number in 0..EACH {
            for core in [
                format!("{number} AND SONS"),
                format!("{number} R AND M"),
                format!("{number} R AND Q"),
            ] {
                builder
                    .push(Name::Organization {
                        core: &core,
                        form: "",
                    })
                    .unwrap();
            }
        }
        builder
            .push(Name::Organization {
                core: "M AND R HARBOR",
                form: "",
            })
            .unwrap();
        let names = builder.finish().unwrap();
        let search = |text: &str| {
            let mut hits: Vec<Hit> = Vec::new();
            let is_cut = names.search(
                &Query::new(text, Forms::OfStates).unwrap(),
                MatchMode::Best,
                None,
                &|number| number,
                &mut hits,
            );
            hits.sort_by_key(|hit| -hit.score);
            (hits.len(), is_cut, hits[0].number, hits[0].fit)
        };
        // Half of the limit comes from the rarer initial's list and the rest from the other list;
        // half of the names are in both lists.
        let (found, is_cut, first, fit) = search("M&R");
        assert!(found <= EACH && found > EACH / 2, "{found}");
        assert_eq!(
            (is_cut, first as usize, fit),
            (true, 3 * EACH, NameMatch::Prefix)
        );
        assert_eq!(
            search("M&R HARBOR"),
            (1, false, 3 * EACH as u32, NameMatch::Normalized)
        );
    }

    proptest! {
        #[test]
        fn every_name_that_fits_is_found(
            organizations in prop::collection::vec((WORDS, prop::sample::select(vec!["", "INC", "LLC"])), 1..40),
            persons in prop::collection::vec(("[AB]{2,4}", WORDS), 0..20),
            queried in WORDS,
            form in prop::sample::select(vec!["", " INC"]),
        ) {
            finds_every_name(&organizations, &persons, &format!("{queried}{form}"))?;
        }

        #[test]
        fn every_name_of_several_words_that_fits_is_found(
            organizations in prop::collection::vec((SEVERAL_WORDS, prop::sample::select(vec!["", "INC"])), 1..40),
            queried in "[AB]{4,5}( [AB]{4,5}){1,3}",
        ) {
            finds_every_name(&organizations, &[], &queried)?;
        }

        #[test]
        fn every_name_that_fits_more_words_than_are_told_apart_is_found(
            organizations in prop::collection::vec((MANY_WORDS, prop::sample::select(vec!["", "INC"])), 1..20),
            queried in MANY_WORDS.prop_filter("more words", |queried| Query::new(queried, Forms::OfStates).is_some_and(|query| query.words.len() > MAX_WORDS)),
        ) {
            // The prefix lookup finds names that equal or begin with the query; the lookup by words
            // must not report them again.
            let with_prefix = [(queried.clone(), "INC"), (format!("{queried} AB"), "")];
            finds_every_name(&[organizations, with_prefix.into()].concat(), &[], &queried)?;
        }
    }
}
