//! Holds the rules for what each state taxes, by class of goods and level of government, and
//! applies the rules to items.

use std::collections::HashMap;

use bytes::Bytes;

use super::TAXABILITY;
use super::rates::{Millionths, Units};
use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::{Days, key_columns, known_day};
use crate::release::part_provenance::PartProvenance;
use crate::release::provenance::Provenance;
use crate::release::table::{Table, Texts};
use pubdata_core::error::Result;
use pubdata_store::{Manifest, Part};

/// A level of government.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    State,
    Local,
}

impl Level {
    pub const ALL: [Self; 2] = [Self::State, Self::Local];

    /// Returns the name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Local => "local",
        }
    }
}

/// Reason code of a rule whose rate is the level's general rate.
pub const GENERAL_RATE: &str = "general_rate";

/// Evidence code of a rule of which only the citation is known.
const UNREAD: &str = "unread_statute";

/// Kind of threshold up to which an item is taxed.
const TAXED_TO: &str = "taxed_to_per_item";

key_columns! {
    #[derive(Debug)]
    struct Columns {
        state: Texts,
        class: DictionaryColumn,
        level: DictionaryColumn,
        taxable: DictionaryColumn,
        rate: Millionths,
        null_reason: DictionaryColumn,
        threshold: Units<2>,
        threshold_kind: DictionaryColumn,
        citation: Texts,
        url: Texts,
        valid_from: Days,
        valid_to: Days,
        evidence: DictionaryColumn,
        note: Texts,
    }
}

/// Rules of all states.
#[derive(Debug)]
pub struct Taxability {
    columns: Columns,
    pub provenance: PartProvenance,
    by_class: HashMap<(String, String), Vec<usize>>,
}

impl Taxability {
    /// Reads the part of `tax.taxability`.
    pub fn read(part: &Part, bytes: Bytes) -> Result<Self> {
        let table = Table::read(
            bytes.clone(),
            &[Columns::COLUMNS, &PartProvenance::COLUMNS].concat(),
            &part.path,
        )?;
        let columns = Columns::open(&table)?;
        let mut by_class: HashMap<(String, String), Vec<usize>> = HashMap::new();
        for row in 0..table.rows() {
            by_class
                .entry((
                    columns.state.at(row).to_owned(),
                    columns.class.at(row).to_owned(),
                ))
                .or_default()
                .push(row);
        }
        Ok(Self {
            columns,
            provenance: PartProvenance::read(TAXABILITY, part, bytes, &table)?,
            by_class,
        })
    }

    /// Returns the rule for a class at a level that is valid on a day.
    pub fn rule(&self, state: &str, class: &str, level: Level, day: i32) -> Option<Rule<'_>> {
        let rows = self.by_class.get(&(state.to_owned(), class.to_owned()))?;
        let mut rules = rows.iter().map(|row| Rule {
            table: self,
            row: *row,
        });
        rules.find(|rule| self.columns.level.at(rule.row) == level.name() && rule.is_on(day))
    }
}

/// Price of an item, for comparison with thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Amount of the line after the discount, in cents and without sign.
    pub cents: i64,
    /// Quantity in millionths of a piece.
    pub quantity: i64,
}

impl Price {
    /// Returns true if one piece costs less than the threshold in cents.
    fn is_below(self, threshold: i64) -> bool {
        i128::from(self.cents) * 1_000_000 < i128::from(threshold) * i128::from(self.quantity)
    }

    /// Returns true if one piece costs more than the threshold in cents.
    fn is_above(self, threshold: i64) -> bool {
        i128::from(self.cents) * 1_000_000 > i128::from(threshold) * i128::from(self.quantity)
    }

    /// Returns the price of one piece, rounded to cents.
    pub fn of_piece(self) -> i64 {
        crate::tax::calculation::rounded(
            i128::from(self.cents) * 1_000_000,
            i128::from(self.quantity),
        )
    }

    /// Returns the part of the line, in cents, that is below the threshold for each piece.
    pub fn up_to(self, threshold: i64) -> i64 {
        self.cents - self.above(threshold)
    }

    /// Returns the part of the line, in cents, that is above the threshold for each piece.
    fn above(self, threshold: i64) -> i64 {
        let below = crate::tax::calculation::rounded(
            i128::from(threshold) * i128::from(self.quantity),
            1_000_000,
        );
        (self.cents - below).max(0)
    }
}

/// Effect of a rule on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says<'a> {
    Exempt,
    Rate(i64),
    /// The level's general rate applies.
    General,
    /// The effect is not known, for this reason.
    Unknown(&'a str),
}

#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    table: &'a Taxability,
    row: usize,
}

impl<'a> Rule<'a> {
    fn is_on(&self, day: i32) -> bool {
        let (first, last) = self.days();
        first.is_none_or(|first| first <= day) && last.is_none_or(|last| day <= last)
    }

    /// Returns the first and last day, in days since 1970-01-01. A day is `None` if it is not
    /// stated.
    pub fn days(&self) -> (Option<i32>, Option<i32>) {
        let of = |days: &Days| known_day(days.at(self.row));
        (
            of(&self.table.columns.valid_from),
            of(&self.table.columns.valid_to),
        )
    }

    pub fn class(&self) -> &'a str {
        self.table.columns.class.at(self.row)
    }

    pub fn taxable(&self) -> Option<&'a str> {
        self.table.columns.taxable.get(self.row)
    }

    /// Returns the rate in millionths.
    pub fn rate(&self) -> Option<i64> {
        self.table.columns.rate.get(self.row)
    }

    pub fn null_reason(&self) -> Option<&'a str> {
        self.table.columns.null_reason.get(self.row)
    }

    /// Returns the threshold in cents, and its kind.
    pub fn threshold(&self) -> Option<(i64, &'a str)> {
        let cents = self.table.columns.threshold.get(self.row)?;
        Some((cents, self.table.columns.threshold_kind.at(self.row)))
    }

    pub fn citation(&self) -> &'a str {
        self.table.columns.citation.at(self.row)
    }

    pub fn url(&self) -> Option<&'a str> {
        self.table.columns.url.get(self.row)
    }

    pub fn evidence(&self) -> &'a str {
        self.table.columns.evidence.at(self.row)
    }

    /// Returns true if the cited text was not read.
    pub fn is_unread(&self) -> bool {
        self.evidence() == UNREAD
    }

    pub fn note(&self) -> Option<&'a str> {
        self.table.columns.note.get(self.row)
    }

    pub fn record_id(&self) -> &'a str {
        self.table.provenance.record_id(self.row)
    }

    pub fn provenance(&self, manifest: &'a Manifest) -> Provenance<'a> {
        self.table.provenance.for_row(manifest, self.row)
    }

    /// Applies the rule to an item with this price. Without a price, a rule whose rate depends on
    /// the price has an unknown effect.
    pub fn says(&self, price: Option<Price>) -> Says<'a> {
        let reason = self.null_reason();
        match (self.threshold(), price) {
            (Some((_, TAXED_TO)), _) => {}
            (Some(_), None) => return Says::Unknown("depends_on_price"),
            (Some((threshold, "rate_above_per_item")), Some(price))
                if !price.is_above(threshold) =>
            {
                return Says::General;
            }
            (Some((_, "rate_above_per_item")), Some(_)) => {}
            (Some((threshold, _)), Some(price)) if !price.is_below(threshold) => {
                return Says::General;
            }
            (Some(_), Some(_)) if self.taxable() == Some("partly") => return Says::Exempt,
            _ => {}
        }
        match (self.rate(), reason) {
            (Some(0), _) => Says::Exempt,
            (Some(rate), _) => Says::Rate(rate),
            (None, Some(GENERAL_RATE)) => Says::General,
            (None, reason) => Says::Unknown(reason.unwrap_or("not_established")),
        }
    }

    /// Returns the amount of an item, in cents, up to which the tax is levied, or `None` if the
    /// amount has no limit.
    pub fn cap(&self) -> Option<i64> {
        self.threshold()
            .filter(|(_, kind)| *kind == TAXED_TO)
            .map(|(cap, _)| cap)
    }

    /// Returns the taxed part of a line in cents: the entire line, or the part of its pieces'
    /// prices above the threshold.
    pub fn base(&self, price: Price) -> i64 {
        match self.threshold() {
            Some((threshold, "taxed_above_per_item")) => price.above(threshold),
            _ => price.cents,
        }
    }
}
