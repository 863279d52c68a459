//! The addresses where the SEC shows a filing, filled from the contract's templates when asked for
//! and never stored.

use pubdata_core::contract::Contracts;
use pubdata_core::ids::Cik;

/// Addresses of a filing at the publisher, made from the contract's templates: none is stored, none
/// is in this source.
#[derive(Debug, Default)]
pub struct Links {
    evidence: Template,
    primary_document: Template,
    text: Template,
}

/// A text with places for a filing's values; without pieces there is no such link.
#[derive(Debug, Default)]
struct Template(Vec<Piece>);

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Cik,
    CikNumber,
    AccessionNumber,
    AccessionCompact,
    PrimaryDocument,
}

/// What a filing's links are made of.
#[derive(Debug, Clone, Copy)]
pub struct FilingKey<'a> {
    pub cik: Cik,
    pub accession_number: &'a str,
    pub primary_document: Option<&'a str>,
}

impl Links {
    /// Reads the templates of `sec.filing`.
    pub fn of(contracts: &Contracts) -> Self {
        let template = |name: &str| {
            contracts
                .get("sec.filing")
                .and_then(|contract| contract.links.get(name))
                .map(|text| Template::read(text))
                .unwrap_or_default()
        };
        Self {
            evidence: template("evidence_url"),
            primary_document: template("primary_document_url"),
            text: template("text_url"),
        }
    }

    /// The filing's index page.
    pub fn evidence(&self, key: FilingKey<'_>) -> Option<String> {
        self.evidence.fill(key)
    }

    /// The filing's main document.
    pub fn primary_document(&self, key: FilingKey<'_>) -> Option<String> {
        self.primary_document.fill(key)
    }

    /// The whole submission as one text file.
    pub fn text(&self, key: FilingKey<'_>) -> Option<String> {
        self.text.fill(key)
    }
}

impl Template {
    /// Takes a template apart; the contract's reader has checked its words.
    fn read(text: &str) -> Self {
        let mut pieces = Vec::new();
        for (number, part) in text.split('{').enumerate() {
            let (word, rest) = if number == 0 {
                ("", part)
            } else {
                part.split_once('}').unwrap_or((part, ""))
            };
            pieces.extend(match word {
                "cik" => Some(Piece::Cik),
                "cik_number" => Some(Piece::CikNumber),
                "accession_number" => Some(Piece::AccessionNumber),
                "accession_compact" => Some(Piece::AccessionCompact),
                "primary_document" => Some(Piece::PrimaryDocument),
                _ => None,
            });
            if !rest.is_empty() {
                pieces.push(Piece::Text(rest.to_owned()));
            }
        }
        Self(pieces)
    }

    /// Fills the places; none when the filing lacks a value.
    fn fill(&self, key: FilingKey<'_>) -> Option<String> {
        use std::fmt::Write;
        let mut url = String::with_capacity(128);
        for piece in &self.0 {
            let written = match piece {
                Piece::Text(text) => url.write_str(text),
                Piece::Cik => write!(url, "{}", key.cik),
                Piece::CikNumber => write!(url, "{}", key.cik.number()),
                Piece::AccessionNumber => url.write_str(key.accession_number),
                Piece::AccessionCompact => key
                    .accession_number
                    .split('-')
                    .try_for_each(|digits| url.write_str(digits)),
                Piece::PrimaryDocument => url.write_str(key.primary_document?),
            };
            written.expect("writing to memory cannot fail");
        }
        Some(url).filter(|url| !url.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use crate::sec::links::{FilingKey, Links, Template};

    #[test]
    fn links_are_filled_with_a_filings_values() {
        let links = Links {
            evidence: Template::read(
                "https://publisher.example/{cik_number}/{accession_compact}/{accession_number}-index.htm",
            ),
            primary_document: Template::read("{cik}/{primary_document}"),
            text: Template::default(),
        };
        let key = FilingKey {
            cik: "320193".parse().unwrap(),
            accession_number: "0000320193-24-000123",
            primary_document: None,
        };
        assert_eq!(
            links.evidence(key).unwrap(),
            "https://publisher.example/320193/000032019324000123/0000320193-24-000123-index.htm"
        );
        assert_eq!((links.primary_document(key), links.text(key)), (None, None));
        let with_document = FilingKey {
            primary_document: Some("a.htm"),
            ..key
        };
        assert_eq!(
            links.primary_document(with_document).unwrap(),
            "0000320193/a.htm"
        );
    }
}
