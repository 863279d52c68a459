//! Weighs the words of a query. The fewer names contain a word, the higher its weight.

use crate::search::names::Names;
use crate::search::posting_payload::BloomBits;
use crate::search::shared_words::{PostingList, Word};

/// Weight of a word in the name that the query lacks.
pub const OTHER_WORD: f64 = 1.0;
/// Score of a name that contains exactly the words of the query, in ten-thousandths.
const TOKENS: f64 = 8_000.0;
pub const MAX_BY_WORDS: i32 = TOKENS as i32;
/// Minimum score of a name that shares words with the query; misspelled names score at most half of
/// it.
const MIN_TOKENS: i32 = 2_000;

/// A word in a query.
pub struct Term<'a> {
    pub word: &'a str,
    pub weight: f64,
    /// Number of names that contain the word.
    count: usize,
    /// For an unfinished word: the names that contain a word with this beginning, and their
    /// payloads. `None` for a complete word.
    pub by_prefix: Option<(Vec<u32>, Vec<u64>)>,
}

impl Term<'_> {
    /// Returns the names that contain the word.
    pub fn posted<'n>(&'n self, names: &'n Names) -> PostingList<'n> {
        self.by_prefix.as_ref().map_or_else(
            || names.with_word(self.word),
            |(numbers, says)| PostingList { numbers, says },
        )
    }

    /// Returns the names with the word's signature. An unfinished word has an empty signature,
    /// which matches every name.
    pub fn word<'n>(&'n self, names: &'n Names) -> Word<'n> {
        Word {
            posted: self.posted(names),
            bloom_bits: if self.by_prefix.is_some() {
                BloomBits::default()
            } else {
                names.bloom_bits_of(self.word)
            },
        }
    }

    /// Returns true if the word is not distinctive.
    pub fn is_indistinctive(&self) -> bool {
        self.by_prefix.is_none() && is_indistinctive(self.word)
    }

    pub fn is(&self, word: &str) -> bool {
        if self.by_prefix.is_some() {
            word.starts_with(self.word)
        } else {
            word == self.word
        }
    }
}

fn is_initial(word: &str) -> bool {
    word.chars().count() == 1
}

/// Returns true for initials and the word for `&`, which are not distinctive even if they are rare.
fn is_indistinctive(word: &str) -> bool {
    is_initial(word) || word == "AND"
}

/// The words of a query with their weights.
pub struct Weighted<'a> {
    pub terms: Vec<Term<'a>>,
    pub total: f64,
}

impl<'a> Weighted<'a> {
    pub fn new(names: &Names, words: &'a [String], unfinished: Option<&str>) -> Self {
        let all = names.len() as f64;
        let term = |word: &'a String| {
            // Too many words begin with an initial.
            let by_prefix = (unfinished == Some(word) && !is_initial(word))
                .then(|| names.with_word_prefix(word));
            let count = by_prefix.as_ref().map_or_else(
                || names.with_word(word).numbers.len(),
                |(numbers, _)| numbers.len(),
            );
            let weight = if by_prefix.is_none() && is_indistinctive(word) {
                OTHER_WORD
            } else {
                (1.0 + all / count.max(1) as f64).ln()
            };
            Term {
                word,
                weight,
                count,
                by_prefix,
            }
        };
        let terms: Vec<Term<'a>> = words.iter().map(term).collect();
        Self {
            total: terms.iter().map(|term| term.weight).sum(),
            terms,
        }
    }

    /// Returns a set of words such that every name with more than half of the weight contains at
    /// least one of them.
    pub fn selective(&self) -> Vec<&Term<'a>> {
        let mut sorted: Vec<&Term<'a>> = self.terms.iter().collect();
        sorted.sort_by(|a, b| {
            b.weight
                .total_cmp(&a.weight)
                .then_with(|| (a.count, a.word).cmp(&(b.count, b.word)))
        });
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

    /// Returns half of the total weight, plus a tolerance for rounding.
    pub fn half(&self) -> f64 {
        0.5 * self.total + 1e-9
    }

    /// Returns the sum of weights for every subset of the first words, indexed by bit mask. Weights
    /// are added in word order.
    pub fn sums(&self, words: usize) -> Vec<f64> {
        let mut sums = vec![0.0];
        for term in &self.terms[..words] {
            let with: Vec<f64> = sums.iter().map(|sum| sum + term.weight).collect();
            sums.extend(with);
        }
        sums
    }

    /// Returns the score of a name by the words that it shares with the query; `None` unless they
    /// exceed half of the weight.
    pub fn overlap(&self, matched: f64, others: usize) -> Option<i32> {
        let share = matched / (self.total + OTHER_WORD * others as f64);
        (matched > self.half()).then(|| ((TOKENS * share).round() as i32).max(MIN_TOKENS))
    }
}

/// Cache of scores, because thousands of names share the same words and length.
pub struct Scores<'a> {
    weighted: &'a Weighted<'a>,
    known: [(u16, usize, Option<i32>); KNOWN_SCORES],
}

const KNOWN_SCORES: usize = 64;

impl<'a> Scores<'a> {
    pub fn new(weighted: &'a Weighted<'a>) -> Self {
        // This entry matches no name, because no name is this long.
        Self {
            weighted,
            known: [(0, usize::MAX, None); KNOWN_SCORES],
        }
    }

    /// Returns the score of a name that contains these query words (bit mask) and `others` other
    /// words.
    pub fn score(&mut self, words: u16, others: usize) -> Option<i32> {
        let place = usize::from(words).wrapping_mul(7).wrapping_add(others) % KNOWN_SCORES;
        let (known_words, known_others, score) = self.known[place];
        if (known_words, known_others) == (words, others) {
            return score;
        }
        let weights = self
            .weighted
            .terms
            .iter()
            .enumerate()
            .filter(|(word, _)| words >> word & 1 == 1)
            .map(|(_, term)| term.weight);
        let score = self
            .weighted
            .overlap(weights.fold(0.0, |sum, weight| sum + weight), others);
        self.known[place] = (words, others, score);
        score
    }
}
