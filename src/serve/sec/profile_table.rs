//! The columns of one bucket of registrants that a profile shows. Names and tickers of all registrants are elsewhere, because searches need
//! them.

use arrow::array::{BooleanArray, Date32Array, Int64Array};
use bytes::Bytes;

use crate::release::part_cache::CachedPart;
use crate::release::row_sources::RowSources;
use crate::release::table::{Table, TextLists, Texts};
use crate::sec::owners::Owners;
use pubdata_core::error::Result;
use pubdata_core::ids::Cik;

/// One bucket of `sec.registrant` with every column that a profile shows.
#[derive(Debug)]
pub struct ProfileTable {
    owners: Owners,
    pub record_ids: Texts,
    /// The columns that are plain texts, in the order of [`TEXTS`].
    texts: Vec<Texts>,
    pub former_names: TextLists,
    pub former_names_from: TextLists,
    pub former_names_to: TextLists,
    pub tickers: TextLists,
    pub exchanges: TextLists,
    pub fund_symbols: TextLists,
    pub fund_series: TextLists,
    pub fund_classes: TextLists,
    pub filer_statuses: TextLists,
    pub address_withheld: BooleanArray,
    pub annual: ReportColumns,
    pub quarterly: ReportColumns,
    pub missing_filings: Int64Array,
    pub row_sources: RowSources,
    size_bytes: usize,
}

/// How many reports of a kind there are, and from when to when.
#[derive(Debug)]
pub struct ReportColumns {
    pub counts: Int64Array,
    pub first_filed: Date32Array,
    pub last_filed: Date32Array,
}

const TEXTS: [&str; 22] = [
    "name",
    "entity_type",
    "filer_category",
    "sic",
    "sic_description",
    "fiscal_year_end",
    "state_of_incorporation",
    "state_of_incorporation_name",
    "business_street_1",
    "business_street_2",
    "business_city",
    "business_state_or_country",
    "business_state_or_country_name",
    "business_postal_code",
    "business_country",
    "business_country_code",
    "website",
    "investor_website",
    "lei",
    "name_source",
    "name_published",
    "validation_status",
];

const OTHERS: [&str; 20] = [
    "record_id",
    "cik",
    "former_names",
    "former_names_from",
    "former_names_to",
    "tickers",
    "exchanges",
    "fund_symbols",
    "fund_series",
    "fund_classes",
    "filer_statuses",
    "is_address_withheld",
    "annual_filings",
    "annual_first_filed",
    "annual_last_filed",
    "quarterly_filings",
    "quarterly_first_filed",
    "quarterly_last_filed",
    "missing_filings",
    "warnings",
];

impl ProfileTable {
    /// The registrant's row.
    pub fn find(&self, cik: Cik) -> Option<usize> {
        self.owners.rows(cik).next()
    }

    /// The value of a text column.
    pub fn text(&self, name: &str, row: usize) -> Option<&str> {
        TEXTS.iter().position(|known| *known == name).and_then(|column| self.texts[column].get(row))
    }
}

impl CachedPart for ProfileTable {
    const DATASET_ID: &'static str = "sec.registrant";

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let row_sources = RowSources::read(bytes.clone(), path)?;
        let table = Table::read(bytes, &[&TEXTS[..], &OTHERS].concat(), path)?;
        let reports = |kind: &str| -> Result<ReportColumns> {
            Ok(ReportColumns {
                counts: table.int64s(&format!("{kind}_filings"))?,
                first_filed: table.dates(&format!("{kind}_first_filed"))?,
                last_filed: table.dates(&format!("{kind}_last_filed"))?,
            })
        };
        let owners = Owners::of(&table.texts("cik")?, path)?;
        Ok(Self {
            size_bytes: table.size_bytes() + owners.size_bytes() + row_sources.size_bytes(),
            owners,
            record_ids: table.texts("record_id")?,
            texts: TEXTS.iter().map(|name| table.texts(name)).collect::<Result<_>>()?,
            former_names: table.text_lists("former_names")?,
            former_names_from: table.text_lists("former_names_from")?,
            former_names_to: table.text_lists("former_names_to")?,
            tickers: table.text_lists("tickers")?,
            exchanges: table.text_lists("exchanges")?,
            fund_symbols: table.text_lists("fund_symbols")?,
            fund_series: table.text_lists("fund_series")?,
            fund_classes: table.text_lists("fund_classes")?,
            filer_statuses: table.text_lists("filer_statuses")?,
            address_withheld: table.flags("is_address_withheld")?,
            annual: reports("annual")?,
            quarterly: reports("quarterly")?,
            missing_filings: table.int64s("missing_filings")?,
            row_sources,
        })
    }

    fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}
