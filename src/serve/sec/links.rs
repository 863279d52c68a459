//! Builds a filing's URLs at the SEC on request, from the contract's templates. URLs are never
//! stored.

use pubdata_core::contract::Contracts;
use pubdata_core::ids::Cik;

/// URL templates for a filing, from the contract.
#[derive(Debug, Default)]
pub struct Links {
    evidence: Template,
    primary_document: Template,
    text: Template,
}

/// Text with placeholders for a filing's values. Without pieces, the link does not exist.
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

/// Values of a filing that its links contain.
#[derive(Debug, Clone, Copy)]
pub struct FilingKey<'a> {
    pub cik: Cik,
    pub accession_number: &'a str,
    pub primary_document: Option<&'a str>,
}

impl Links {
    /// Reads the templates of `sec.filing`.
    pub fn from_contracts(contracts: &Contracts) -> Self {
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

    /// Returns the URL of the filing's index page.
    pub fn evidence(&self, key: FilingKey<'_>) -> Option<String> {
        self.evidence.fill(key)
    }

    /// Returns the URL of the filing's main document.
    pub fn primary_document(&self, key: FilingKey<'_>) -> Option<String> {
        self.primary_document.fill(key)
    }

    /// Returns the URL of the complete submission as one text file.
    pub fn text(&self, key: FilingKey<'_>) -> Option<String> {
        self.text.fill(key)
    }
}

impl Template {
    /// Parses a template; the contract's reader has checked its placeholders.
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

    /// Fills the placeholders; returns `None` if the filing lacks a value.
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
