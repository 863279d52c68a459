//! Finds registrants by current or former name. Among equal matches, listed registrants come first,
//! and larger registrants come before smaller ones.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use super::conformed_name::spelled_out;
use crate::answer::Decimal;
use crate::index::file::{Column, stored};
use crate::search::hit::NameMatch;
use crate::search::query::{MatchMode, NORMALIZED, Query};
use crate::search::rank::{BEST, sort_first};
use crate::search::row_hit::{NameKind, RowHit};
use crate::search::row_names::{RowNames, RowNamesBuilder};
use pubdata_core::canonical::name::{Forms, searched};
use pubdata_core::error::Result;

/// How well a registrant matches a search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CompanyNameMatch")]
pub struct ShownMatch {
    /// How well the registrant matches, from 0 to 1; 1 is best.
    #[schemars(range(min = 0, max = 1))]
    score: Decimal,
    /// Identifier that matched (`cik`, `ticker`), or how the name matches.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["cik", "ticker", "name", "name_without_suffix", "former_name", "name_prefix", "word_prefix", "misspelled"]))]
    label: &'static str,
}

/// How a registrant was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Cik,
    Ticker,
    Name(RowHit),
}

impl Match {
    /// Returns the label used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cik => "cik",
            Self::Ticker => "ticker",
            Self::Name(hit) => match (hit.kind, hit.fit) {
                (NameKind::Former, _) => "former_name",
                (_, NameMatch::Exact | NameMatch::Normalized) if hit.score >= NORMALIZED => "name",
                (_, NameMatch::Exact | NameMatch::Normalized) => "name_without_suffix",
                (_, NameMatch::Prefix) => "name_prefix",
                (_, NameMatch::Token) => "word_prefix",
                (_, NameMatch::Misspelled) => "misspelled",
            },
        }
    }

    /// Returns the match as shown in answers.
    pub fn shown(self) -> ShownMatch {
        ShownMatch {
            score: Decimal {
                units: i128::from(self.score()),
                scale: 4,
            },
            label: self.name(),
        }
    }

    /// Returns true if the match covers the entire query, not only some or similar words.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::Name(hit) if hit.fit >= NameMatch::Token)
    }

    /// Returns the score in ten-thousandths.
    pub fn score(self) -> i32 {
        match self {
            Self::Cik | Self::Ticker => BEST,
            Self::Name(hit) => hit.score,
        }
    }
}

/// A registrant found by a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub row: u32,
    pub matched: Match,
    /// Index of the matching former name in the row's list.
    pub former: Option<u32>,
}

/// Returns true if each word of the query is a prefix of a word of the name, in any order.
pub fn has_all_words(query: &str, name: &str) -> bool {
    let core = |text: &str| searched(&spelled_out(text), Forms::OfAnyCountry).core;
    let (query, name) = (core(query), core(name));
    query
        .split(' ')
        .all(|word| name.split(' ').any(|known| known.starts_with(word)))
}

/// A registrant's names for the index.
pub struct Named<'a> {
    pub name: &'a str,
    pub former_names: Vec<&'a str>,
    /// Rank among listed registrants, largest first; `None` if it has no ticker.
    pub listing: Option<u32>,
}

/// The names of all registrants, by row.
#[derive(Debug, Default)]
pub struct Names {
    names: RowNames,
    /// Index of each name among its row's former names, or [`NONE`]. Names are in listing order,
    /// with current names first, so that a search examines the names of large companies first.
    formers: Column<u32>,
    /// Rank of each row, or [`NONE`].
    listing: Column<u32>,
}

/// Value for a name that is not a former name, and for a registrant that is not listed.
const NONE: u32 = u32::MAX;

stored!(Names {
    names,
    formers,
    listing
});

impl Names {
    /// Indexes the names of all rows.
    pub fn new<'a>(rows: impl Iterator<Item = Named<'a>>) -> Result<Self> {
        let rows: Vec<Named<'a>> = rows.collect();
        let listing: Vec<u32> = rows
            .iter()
            .map(|named| named.listing.unwrap_or(NONE))
            .collect();
        let mut order: Vec<u32> = (0..).take(rows.len()).collect();
        order.sort_by_key(|row| listing[*row as usize]);
        let mut names = RowNamesBuilder::of_companies();
        let mut formers = Vec::with_capacity(rows.len());
        for row in &order {
            names.add(*row, NameKind::Own, &spelled_out(rows[*row as usize].name));
            formers.push(NONE);
        }
        for row in &order {
            for (number, former) in (0..).zip(&rows[*row as usize].former_names) {
                names.add(*row, NameKind::Former, &spelled_out(former));
                formers.push(number);
            }
        }
        Ok(Self {
            names: names.finish()?,
            formers: formers.into(),
            listing: listing.into(),
        })
    }

    /// Finds registrants. The first `count` are in order: by score, with listed registrants first,
    /// then by rank, then by name. Returns true if there may be more registrants.
    pub fn search<'a>(
        &self,
        text: &str,
        count: usize,
        name: impl Fn(u32) -> &'a str,
    ) -> (Vec<Found>, bool) {
        let Some(query) = Query::new(&spelled_out(text), Forms::OfAnyCountry) else {
            return (Vec::new(), false);
        };
        let (mut hits, is_cut) = self.names.search(&query, MatchMode::Typed);
        let listing = |hit: &RowHit| self.listing[hit.row as usize];
        sort_first(&mut hits, count, |a, b| {
            match b
                .score
                .cmp(&a.score)
                .then_with(|| listing(a).cmp(&listing(b)))
            {
                Ordering::Equal => name(a.row).cmp(name(b.row)).then(a.row.cmp(&b.row)),
                order => order,
            }
        });
        let found = |hit: &RowHit| Found {
            row: hit.row,
            matched: Match::Name(*hit),
            former: Some(self.formers[hit.name as usize]).filter(|former| *former != NONE),
        };
        (hits.iter().map(found).collect(), is_cut)
    }
}

#[cfg(test)]
mod tests;
