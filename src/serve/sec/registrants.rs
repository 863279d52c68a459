//! Holds the registrants in memory as far as searches and names need them. The other columns of a
//! profile are read from the registrant's bucket.

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::index::file::{Column, Index, Small, stored};
use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::{indexed, key_columns};
use crate::release::part_reader::PartReader;
use crate::release::provenance::{Provenance, ProvenanceWriter};
use crate::release::row_sources::RowSources;
use crate::release::table::{TextLists, Texts};
use crate::release::text_column::TextColumn;
use crate::sec::names::{Found, Match, Named, Names};
use crate::sec::owners::{Owned, owned_columns};
use pubdata_core::contract::Contracts;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;

const DATASET_ID: &str = "sec.registrant";
/// Number of parts read in parallel while a release is loaded.
const LOADING: usize = 8;
/// Placeholder for an exchange that the publisher does not name.
pub const UNKNOWN: &str = "unknown";

/// All registrants in a release, by CIK.
#[derive(Debug, Default)]
pub struct Registrants {
    ciks: Column<u64>,
    names: TextColumn,
    former_names: Lists,
    tickers: Lists,
    exchanges: Lists,
    sics: DictionaryColumn,
    sic_descriptions: DictionaryColumn,
    fiscal_year_ends: DictionaryColumn,
    states: DictionaryColumn,
    validation_statuses: DictionaryColumn,
    row_sources: RowSources,
    /// Tickers and symbols of share classes, normalised for comparison, each with the rows that
    /// have it.
    by_ticker: Small<Vec<(Box<str>, u32)>>,
    search: Names,
}

stored!(Registrants {
    ciks,
    names,
    former_names,
    tickers,
    exchanges,
    sics,
    sic_descriptions,
    fiscal_year_ends,
    states,
    validation_statuses,
    row_sources,
    by_ticker,
    search,
});

key_columns! {
    /// Columns of one bucket.
    struct Bucket {
        name: Texts,
        former_names: TextLists,
        tickers: TextLists,
        exchanges: TextLists,
        fund_symbols: TextLists,
        filer_category: Texts,
        sic: Texts,
        sic_description: Texts,
        fiscal_year_end: Texts,
        business_state_or_country: Texts,
        validation_status: Texts,
    }
}

owned_columns! { Bucket of DATASET_ID; }

impl Registrants {
    /// Reads every part of the dataset; returns `None` if the release lacks the dataset.
    pub async fn load(
        reader: PartReader<'_>,
        contracts: &Contracts,
    ) -> Result<Option<Index<Self>>> {
        let Some(dataset) = reader.manifest().datasets.get(DATASET_ID) else {
            return Ok(None);
        };
        let contract = contracts.get(DATASET_ID);
        let categories: Vec<String> = contract
            .into_iter()
            .flat_map(|contract| contract.values_of("filer_category"))
            .map(|known| known.value.clone())
            .collect();
        let make = async {
            let reads: Vec<_> = dataset
                .parts
                .iter()
                .map(|part| reader.read::<Owned<Bucket>>(part))
                .collect();
            let buckets: Vec<Owned<Bucket>> =
                stream::iter(reads).buffered(LOADING).try_collect().await?;
            let categories = categories.clone();
            indexed(move || Self::from_buckets(&buckets, &categories)).await
        };
        reader
            .index(DATASET_ID, &categories.join(" "), make)
            .await
            .map(Some)
    }

    /// Builds the index. `categories` lists the filer categories from large to small.
    fn from_buckets(buckets: &[Owned<Bucket>], categories: &[String]) -> Result<Self> {
        let mut order: Vec<(u64, usize, usize)> = Vec::new();
        for (number, bucket) in buckets.iter().enumerate() {
            order.extend(
                bucket
                    .owners
                    .iter()
                    .enumerate()
                    .map(|(row, (cik, _))| (cik, number, row)),
            );
        }
        order.sort_unstable();
        let mut all = Self::default();
        for &(cik, number, row) in &order {
            let bucket = &buckets[number];
            let index = u32::try_from(all.ciks.len())
                .map_err(|_| Error::store("more registrants than an index can number"))?;
            all.ciks.push(cik);
            all.names.push(bucket.name.get(row).unwrap_or_default())?;
            all.former_names.push(index, bucket.former_names.at(row))?;
            all.tickers.push(index, bucket.tickers.at(row))?;
            all.exchanges.push(index, bucket.exchanges.at(row))?;
            let symbols = bucket.tickers.at(row).chain(bucket.fund_symbols.at(row));
            all.by_ticker
                .extend(symbols.map(|symbol| (comparable(symbol).into_boxed_str(), index)));
            all.sics.push(bucket.sic.get(row))?;
            all.sic_descriptions.push(bucket.sic_description.get(row))?;
            all.fiscal_year_ends.push(bucket.fiscal_year_end.get(row))?;
            all.states.push(bucket.business_state_or_country.get(row))?;
            all.validation_statuses
                .push(bucket.validation_status.get(row))?;
            all.row_sources.push_of(&bucket.row_sources, row)?;
        }
        all.by_ticker.sort_unstable();
        all.by_ticker.dedup();
        all.search = Names::new(order.iter().map(|&(_, number, row)| {
            let bucket = &buckets[number];
            let size = categories
                .iter()
                .position(|category| bucket.filer_category.get(row) == Some(category))
                .unwrap_or(categories.len());
            let listing = u32::try_from(size)
                .ok()
                .filter(|_| bucket.tickers.at(row).len() > 0);
            Named {
                name: bucket.name.get(row).unwrap_or_default(),
                former_names: bucket.former_names.at(row).collect(),
                listing,
            }
        }))?;
        Ok(all)
    }

    pub fn len(&self) -> usize {
        self.ciks.len()
    }

    /// Returns the row of a registrant.
    pub fn find(&self, cik: Cik) -> Option<usize> {
        self.ciks.binary_search(&cik.number()).ok()
    }

    pub fn cik(&self, row: usize) -> Cik {
        Cik::from_number(self.ciks[row]).expect("read from a CIK")
    }

    /// Returns the registrant's name; `None` if no source contains a name.
    pub fn name(&self, row: usize) -> Option<&str> {
        Some(self.names.get(row)).filter(|name| !name.is_empty())
    }

    pub fn fiscal_year_end(&self, row: usize) -> Option<&str> {
        self.fiscal_year_ends.get(row)
    }

    pub fn sic(&self, row: usize) -> Option<&str> {
        self.sics.get(row)
    }

    pub fn sic_description(&self, row: usize) -> Option<&str> {
        self.sic_descriptions.get(row)
    }

    /// Returns the state or country of the business address.
    pub fn state(&self, row: usize) -> Option<&str> {
        self.states.get(row)
    }

    /// Returns the current tickers in the publisher's order.
    pub fn tickers(&self, row: usize) -> impl Iterator<Item = &str> {
        self.tickers.at(row)
    }

    /// Returns the exchanges of the tickers, in the order of the tickers.
    pub fn exchanges(&self, row: usize) -> impl Iterator<Item = Option<&str>> {
        self.exchanges
            .at(row)
            .map(|exchange| Some(exchange).filter(|exchange| *exchange != UNKNOWN))
    }

    /// Returns a former name by its index in the registrant's list.
    pub fn former_name(&self, row: usize, number: u32) -> Option<&str> {
        self.former_names.at(row).nth(number as usize)
    }

    /// Returns the name by which a registrant was found.
    pub fn matched_name(&self, found: &Found) -> Option<&str> {
        let row = found.row as usize;
        found
            .former
            .map_or_else(|| self.name(row), |number| self.former_name(row, number))
    }

    /// Returns the rows of the registrants that currently have a ticker. This is nearly always one
    /// registrant, but two for a while when a company is reorganised.
    pub fn with_ticker(&self, ticker: &str) -> impl Iterator<Item = usize> {
        let target = comparable(ticker);
        let start = self
            .by_ticker
            .partition_point(|(known, _)| **known < *target);
        self.by_ticker[start..]
            .iter()
            .take_while(move |(known, _)| **known == *target)
            .map(|(_, row)| *row as usize)
    }

    /// Finds registrants by name; a registrant whose ticker equals the complete text comes first.
    /// The first `count` registrants are in order. Returns true if there may be more.
    pub fn search(&self, text: &str, count: usize) -> (Vec<Found>, bool) {
        let with_ticker = self
            .with_ticker(text)
            .filter_map(|row| u32::try_from(row).ok());
        let mut found: Vec<Found> = with_ticker
            .map(|row| Found {
                row,
                matched: Match::Ticker,
                former: None,
            })
            .collect();
        let (by_name, is_cut) = self.search.search(text, count, |row| {
            self.name(row as usize).unwrap_or_default()
        });
        let by_ticker = found.len();
        found.extend(
            by_name
                .into_iter()
                .filter(|named| {
                    !found[..by_ticker]
                        .iter()
                        .any(|known| known.row == named.row)
                })
                .collect::<Vec<_>>(),
        );
        (found, is_cut)
    }

    /// Returns the id of a registrant's record.
    pub fn record_id(&self, row: usize) -> String {
        format!("{DATASET_ID}:{}", self.cik(row))
    }

    pub fn provenance<'a>(
        &'a self,
        provenance: &ProvenanceWriter<'a>,
        row: usize,
        record_id: &'a str,
    ) -> Provenance<'a> {
        provenance.for_row(
            &self.row_sources,
            row,
            self.validation_statuses.at(row),
            record_id,
        )
    }
}

/// Normalises a ticker for comparison: `brk.b`, `BRK/B` and `BRK-B` are equal.
fn comparable(ticker: &str) -> String {
    ticker
        .trim()
        .chars()
        .map(|character| {
            if matches!(character, '.' | '/' | ' ') {
                '-'
            } else {
                character.to_ascii_uppercase()
            }
        })
        .collect()
}

/// Lists of strings by row, for columns in which most rows have none.
#[derive(Debug, Default)]
struct Lists {
    /// Row of each string, ascending.
    rows: Column<u32>,
    texts: TextColumn,
}

stored!(Lists { rows, texts });

impl Lists {
    fn push<'a>(&mut self, row: u32, texts: impl Iterator<Item = &'a str>) -> Result<()> {
        for text in texts {
            self.rows.push(row);
            self.texts.push(text)?;
        }
        Ok(())
    }

    fn at(&self, row: usize) -> impl Iterator<Item = &str> {
        let start = self.rows.partition_point(|known| (*known as usize) < row);
        (start..)
            .take_while(move |&index| {
                self.rows
                    .get(index)
                    .is_some_and(|known| *known as usize == row)
            })
            .map(|index| self.texts.get(index))
    }
}
