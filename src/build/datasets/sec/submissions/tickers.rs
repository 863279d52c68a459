//! Reads the SEC's three ticker lists by registrant. A single malformed row causes its list to be
//! rejected. The SEC generates the lists, so such a row means that the file is a different one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::datasets::{Context, SourceDocument};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Cik;

/// The SEC's ticker lists, by registrant.
#[derive(Debug, Default)]
pub(super) struct TickerLists {
    by_cik: BTreeMap<Cik, Tickers>,
}

/// One registrant's rows in the ticker lists. Each list keeps its own order, which is roughly by
/// market value.
#[derive(Debug, Default)]
pub(super) struct Tickers {
    /// Rows from the list with exchanges.
    pub(super) listed: Vec<Listed>,
    /// Rows from the list without exchanges.
    pub(super) plain: Vec<Listed>,
    /// Share classes of funds.
    pub(super) classes: Vec<FundClass>,
    /// All rows as published, each with its position, for the fingerprint. Positions are included
    /// because pointers are published too.
    pub(super) source_text: String,
}

/// A ticker in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) ticker: String,
    pub(super) exchange: Option<String>,
    /// The registrant's name in the list.
    pub(super) name: String,
    pub(super) pointer: [u64; 4],
}

/// A share class in a fund's series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FundClass {
    pub(super) symbol: String,
    pub(super) series_id: String,
    pub(super) class_id: String,
    pub(super) pointer: [u64; 4],
}

impl TickerLists {
    /// Reads the three lists.
    ///
    /// # Errors
    /// `Format`, naming list and row, if a list does not have the expected layout. The SEC
    /// generates the lists, so a single malformed row means that the file is a different one.
    pub(super) fn read(context: &Context<'_>) -> Result<Self> {
        let mut lists = Self::default();
        for document in context.documents("sec.company_tickers_exchange")? {
            let rows = table_rows(&document, ["cik", "name", "ticker", "exchange"]);
            for ([cik, name, ticker, exchange], pointer, source_text) in
                rows.context(|| document.snapshot.url.clone())?
            {
                let tickers = lists.entry(&cik, &source_text, pointer, &document)?;
                let exchange = Some(exchange).filter(|exchange| !exchange.is_empty());
                tickers.listed.push(Listed {
                    ticker: required(ticker, &source_text)?,
                    exchange,
                    name,
                    pointer,
                });
            }
        }
        for document in context.documents("sec.company_tickers")? {
            let objects = objects(&document).context(|| document.snapshot.url.clone())?;
            for (
                CompanyTicker {
                    cik_str,
                    ticker,
                    title,
                },
                pointer,
                source_text,
            ) in objects
            {
                let tickers =
                    lists.entry(&cik_str.to_string(), &source_text, pointer, &document)?;
                tickers.plain.push(Listed {
                    ticker: required(ticker, &source_text)?,
                    exchange: None,
                    name: title,
                    pointer,
                });
            }
        }
        for document in context.documents("sec.company_tickers_mf")? {
            let rows = table_rows(&document, ["cik", "seriesId", "classId", "symbol"]);
            for ([cik, series_id, class_id, symbol], pointer, source_text) in
                rows.context(|| document.snapshot.url.clone())?
            {
                let tickers = lists.entry(&cik, &source_text, pointer, &document)?;
                // A class without a symbol cannot be looked up by symbol.
                if !symbol.is_empty() {
                    tickers.classes.push(FundClass {
                        symbol,
                        series_id,
                        class_id,
                        pointer,
                    });
                }
            }
        }
        Ok(lists)
    }

    /// Returns the registrants in the lists.
    pub(super) fn ciks(&self) -> impl Iterator<Item = Cik> {
        self.by_cik.keys().copied()
    }

    /// Returns a registrant's rows in the lists.
    pub(super) fn get(&self, cik: Cik) -> Option<&Tickers> {
        self.by_cik.get(&cik)
    }

    fn entry(
        &mut self,
        cik: &str,
        source_text: &str,
        pointer: [u64; 4],
        document: &SourceDocument,
    ) -> Result<&mut Tickers> {
        let cik = cik.parse().map_err(|error| {
            Error::format(format!(
                "{}: row {source_text}: {error}",
                document.snapshot.url
            ))
        })?;
        let tickers = self.by_cik.entry(cik).or_default();
        tickers.source_text.push_str(&format!(
            "list {} {} {source_text}\n",
            document.snapshot.sha256, pointer[2]
        ));
        Ok(tickers)
    }
}

impl Tickers {
    /// Returns the registrant's name in the lists.
    pub(super) fn name(&self) -> Option<&str> {
        self.listed
            .iter()
            .chain(&self.plain)
            .map(|listed| listed.name.as_str())
            .find(|name| !name.trim().is_empty())
    }

    /// Returns pointers to all rows.
    pub(super) fn pointers(&self) -> impl Iterator<Item = u64> {
        let listed = self
            .listed
            .iter()
            .chain(&self.plain)
            .map(|listed| listed.pointer);
        listed
            .chain(self.classes.iter().map(|class| class.pointer))
            .flatten()
    }
}

fn required(ticker: String, source_text: &str) -> Result<String> {
    if ticker.is_empty() {
        Err(Error::format(format!("row {source_text} has no ticker")))
    } else {
        Ok(ticker)
    }
}

/// A row as text, its pointer and its source text.
type Row<T> = (T, [u64; 4], String);

/// Reads `{"fields": [names], "data": [[cells], …]}`. Returns cells as text: numbers by their
/// digits, nulls as blank text.
fn table_rows<const N: usize>(
    document: &SourceDocument,
    names: [&str; N],
) -> Result<Vec<Row<[String; N]>>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table<'m> {
        fields: Vec<String>,
        #[serde(borrow)]
        data: Vec<&'m RawValue>,
    }
    let text = text_of(document)?;
    let table: Table<'_> = serde_json::from_str(text).map_err(|error| {
        Error::format(format!("is not a table with `fields` and `data`: {error}"))
    })?;
    if table.fields.iter().ne(names) {
        return Err(Error::format(format!(
            "has the fields {}, expected {}",
            table.fields.join(", "),
            names.join(", ")
        )));
    }
    let read = |row: &&RawValue| {
        let refuse = || {
            Error::format(format!(
                "row {} is not {N} texts, numbers or nulls",
                row.get()
            ))
        };
        let cells: Vec<serde_json::Value> =
            serde_json::from_str(row.get()).map_err(|_| refuse())?;
        let texts: Option<Vec<String>> = cells.into_iter().map(cell_text).collect();
        let texts: [String; N] = texts
            .and_then(|texts| texts.try_into().ok())
            .ok_or_else(refuse)?;
        Ok((
            texts,
            pointer_to(row, text, document.number),
            row.get().to_owned(),
        ))
    };
    table.data.iter().map(read).collect()
}

fn cell_text(cell: serde_json::Value) -> Option<String> {
    match cell {
        serde_json::Value::Null => Some(String::new()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        serde_json::Value::String(text) => Some(text.trim().to_owned()),
        _ => None,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompanyTicker {
    cik_str: u64,
    ticker: String,
    title: String,
}

/// Reads `{"0": {…}, "1": {…}, …}` in numeric order of the keys.
fn objects(document: &SourceDocument) -> Result<Vec<Row<CompanyTicker>>> {
    let text = text_of(document)?;
    let rows: BTreeMap<u64, &RawValue> = serde_json::from_str(text)
        .map_err(|error| Error::format(format!("is not an object of numbered rows: {error}")))?;
    let read = |row: &RawValue| {
        let ticker = serde_json::from_str(row.get())
            .map_err(|error| Error::format(format!("row {}: {error}", row.get())))?;
        Ok((
            ticker,
            pointer_to(row, text, document.number),
            row.get().to_owned(),
        ))
    };
    rows.into_values().map(read).collect()
}

fn text_of(document: &SourceDocument) -> Result<&str> {
    std::str::from_utf8(&document.content).map_err(|_| Error::format("is not UTF-8"))
}

fn pointer_to(row: &RawValue, text: &str, number: u64) -> [u64; 4] {
    let offset = row.get().as_ptr() as usize - text.as_ptr() as usize;
    [number, 0, offset as u64, row.get().len() as u64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubdata_core::ids::Digest;
    use pubdata_core::provenance::Snapshot;

    fn document(content: &str) -> SourceDocument {
        let snapshot = Snapshot {
            source_id: "sec.company_tickers_exchange".to_owned(),
            keys: BTreeMap::new(),
            url: "https://example.org/tickers.json".to_owned(),
            sha256: Digest::sha256(content.as_bytes()),
            size_bytes: content.len() as u64,
            source_version: "current".to_owned(),
            source_date: "2026-01-01".to_owned(),
            etag: None,
            last_modified: None,
            fetched_at: "2026-01-01T00:00:00Z".to_owned(),
            redirected_through: Vec::new(),
            obtained: Default::default(),
            mirror: None,
        };
        SourceDocument {
            number: 7,
            snapshot,
            content: content.as_bytes().to_vec(),
        }
    }

    #[test]
    fn rows_of_a_table_keep_their_order_and_place() {
        let text = r#"{"fields":["cik","ticker"],"data":[[1067983,"BRK-B"],[1067983,"BRK-A"],[1318605,null]]}"#;
        let rows = table_rows(&document(text), ["cik", "ticker"]).unwrap();
        let cells: Vec<_> = rows.iter().map(|(cells, ..)| cells.join(" ")).collect();
        assert_eq!(cells, ["1067983 BRK-B", "1067983 BRK-A", "1318605 "]);
        let (_, [input, member, offset, length], source_text) = &rows[1];
        assert_eq!(
            (*input, *member, source_text.as_str()),
            (7, 0, r#"[1067983,"BRK-A"]"#)
        );
        let start = usize::try_from(*offset).unwrap();
        assert_eq!(
            &text[start..start + usize::try_from(*length).unwrap()],
            source_text
        );
    }

    #[test]
    fn ticker_list_in_another_layout_is_rejected() {
        for wrong in [
            r#"{"fields":["cik","symbol"],"data":[]}"#,
            r#"{"fields":["cik","ticker","name"],"data":[]}"#,
            r#"{"fields":["cik","ticker"],"data":[[1]]}"#,
            r#"{"fields":["cik","ticker"],"data":[[1,["A"]]]}"#,
            "<html>",
        ] {
            assert!(
                table_rows(&document(wrong), ["cik", "ticker"]).is_err(),
                "{wrong}"
            );
        }
        assert!(objects(&document(r#"{"0":{"cik_str":1,"ticker":"A"}}"#)).is_err());
        let rows = objects(&document(r#"{"10":{"cik_str":1,"ticker":"B","title":"b"},"9":{"cik_str":1,"ticker":"A","title":"a"}}"#)).unwrap();
        assert_eq!(
            rows.iter()
                .map(|(row, ..)| row.ticker.as_str())
                .collect::<Vec<_>>(),
            ["A", "B"],
            "by number, not by text"
        );
    }
}
