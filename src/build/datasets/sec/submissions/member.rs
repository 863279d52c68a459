//! Reads the layout of a registrant's submissions member and of its pages with older filings.
//! Rejects parallel arrays of unequal length, because their indexes do not identify filings.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::datasets::sec::json::{Text, json_object};

json_object! {
    /// A registrant's data in its own member. `ein`, the telephone number and the mailing address
    /// are never read.
    Head<'m> {
        "cik" => cik: Text<'m>,
        "entityType" => entity_type: Text<'m>,
        "sic" => sic: Text<'m>,
        "sicDescription" => sic_description: Text<'m>,
        "insiderTransactionForOwnerExists" => is_insider_owner: i64,
        "insiderTransactionForIssuerExists" => is_insider_issuer: i64,
        "name" => name: Text<'m>,
        "tickers" => tickers: Vec<Text<'m>>,
        "exchanges" => exchanges: Vec<Text<'m>>,
        "lei" => lei: Text<'m>,
        "website" => website: Text<'m>,
        "investorWebsite" => investor_website: Text<'m>,
        "category" => category: Text<'m>,
        "fiscalYearEnd" => fiscal_year_end: Text<'m>,
        "stateOfIncorporation" => state_of_incorporation: Text<'m>,
        "stateOfIncorporationDescription" => state_of_incorporation_name: Text<'m>,
        "addresses" => addresses: Addresses<'m>,
        "formerNames" => former_names: Vec<FormerName<'m>>,
        "filings" => filings: &'m RawValue,
    }
    unused: ["ownerOrg", "ein", "description", "phone", "flags"]
}

json_object! {
    Addresses<'m> {
        "business" => business: Address<'m>,
    }
    unused: ["mailing"]
}

json_object! {
    Address<'m> {
        "street1" => street_1: Text<'m>,
        "street2" => street_2: Text<'m>,
        "city" => city: Text<'m>,
        "stateOrCountry" => state_or_country: Text<'m>,
        "stateOrCountryDescription" => state_or_country_name: Text<'m>,
        "zipCode" => postal_code: Text<'m>,
        "foreignStateTerritory" => foreign_state: Text<'m>,
        "country" => country: Text<'m>,
        "countryCode" => country_code: Text<'m>,
    }
    unused: ["isForeignLocation"]
}

json_object! {
    FormerName<'m> {
        "name" => name: Text<'m>,
        "from" => from: Text<'m>,
        "to" => to: Text<'m>,
    }
    unused: []
}

json_object! {
    FilingLists<'m> {
        "recent" => recent: Arrays<'m>,
        "files" => pages: Vec<PageEntry<'m>>,
    }
    unused: []
}

json_object! {
    /// A page with older filings, as named in the member.
    PageEntry<'m> {
        "name" => name: Text<'m>,
        "filingCount" => filing_count: i64,
    }
    unused: ["filingFrom", "filingTo"]
}

json_object! {
    /// Filings as parallel arrays: index `n` in every array belongs to the same filing. A page
    /// consists only of these arrays.
    Arrays<'m> {
        "accessionNumber" => accession_number: Vec<Text<'m>>,
        "filingDate" => filing_date: Vec<Text<'m>>,
        "reportDate" => report_date: Vec<Text<'m>>,
        "acceptanceDateTime" => accepted_at: Vec<Text<'m>>,
        "act" => act: Vec<Text<'m>>,
        "form" => form: Vec<Text<'m>>,
        "fileNumber" => file_number: Vec<Text<'m>>,
        "filmNumber" => film_number: Vec<Text<'m>>,
        "items" => items: Vec<Text<'m>>,
        "size" => size_bytes: Vec<Option<i64>>,
        "isXBRL" => is_xbrl: Vec<Option<i64>>,
        "isInlineXBRL" => is_inline_xbrl: Vec<Option<i64>>,
        "primaryDocument" => primary_document: Vec<Text<'m>>,
        "primaryDocDescription" => primary_document_description: Vec<Text<'m>>,
    }
    // `core_type` was added in 2024 and `isXBRLNumeric` in 2025. The SEC documents neither.
    unused: ["core_type", "isXBRLNumeric"]
}

impl Arrays<'_> {
    /// Returns the number of filings.
    pub(super) fn count(&self) -> usize {
        self.accession_number.as_ref().map_or(0, Vec::len)
    }

    /// Returns the first defect in the arrays: an array that is missing or has a different length.
    fn fault(&self) -> Option<String> {
        let length = |array: &Option<Vec<Text<'_>>>| array.as_ref().map(Vec::len);
        let number_length = |array: &Option<Vec<Option<i64>>>| array.as_ref().map(Vec::len);
        let lengths = [
            ("accessionNumber", length(&self.accession_number)),
            ("filingDate", length(&self.filing_date)),
            ("reportDate", length(&self.report_date)),
            ("acceptanceDateTime", length(&self.accepted_at)),
            ("act", length(&self.act)),
            ("form", length(&self.form)),
            ("fileNumber", length(&self.file_number)),
            ("filmNumber", length(&self.film_number)),
            ("items", length(&self.items)),
            ("size", number_length(&self.size_bytes)),
            ("isXBRL", number_length(&self.is_xbrl)),
            ("isInlineXBRL", number_length(&self.is_inline_xbrl)),
            ("primaryDocument", length(&self.primary_document)),
            (
                "primaryDocDescription",
                length(&self.primary_document_description),
            ),
        ];
        let count = self.count();
        lengths.into_iter().find_map(|(name, length)| match length {
            None => Some(format!("the array `{name}` is missing")),
            Some(length) if length != count => {
                Some(format!("`{name}` has {length} values and `accessionNumber` has {count}: the values cannot be assigned to filings"))
            }
            Some(_) => None,
        })
    }
}

/// A registrant's own member.
#[derive(Debug)]
pub(super) struct Member<'m> {
    pub(super) head: Head<'m>,
    pub(super) recent: Arrays<'m>,
    pub(super) pages: Vec<PageEntry<'m>>,
    /// Number of bytes before the list of filings. These bytes contain all data for the
    /// registrant's own row. The number is the member's entire length if the list is not its last
    /// key.
    pub(super) head_length: u64,
}

impl Member<'_> {
    /// Returns the keys that this program does not know, as paths.
    pub(super) fn unknown_keys(&self) -> Vec<String> {
        let business = self
            .head
            .addresses
            .as_ref()
            .and_then(|addresses| addresses.business.as_ref());
        let former = self.head.former_names.iter().flatten();
        let mut keys = self.head.unknown.clone();
        keys.extend(
            self.head
                .addresses
                .iter()
                .flat_map(|addresses| &addresses.unknown)
                .map(|key| format!("addresses.{key}")),
        );
        keys.extend(
            business
                .iter()
                .flat_map(|business| &business.unknown)
                .map(|key| format!("addresses.business.{key}")),
        );
        keys.extend(
            former
                .flat_map(|former| &former.unknown)
                .map(|key| format!("formerNames.{key}")),
        );
        keys.extend(
            self.pages
                .iter()
                .flat_map(|page| &page.unknown)
                .map(|key| format!("filings.files.{key}")),
        );
        keys.extend(
            self.recent
                .unknown
                .iter()
                .map(|key| format!("filings.recent.{key}")),
        );
        keys.sort();
        keys.dedup();
        keys
    }
}

/// Reads a registrant's own member.
///
/// # Errors
/// Returns a complete message about the part that does not follow the layout.
pub(super) fn read_member(text: &str) -> Result<Member<'_>, String> {
    let mut head: Head<'_> = parse(text)?;
    let filings = head.filings.take().ok_or("`filings` is missing")?;
    let start = filings.get().as_ptr() as usize - text.as_ptr() as usize;
    let is_last = text[start + filings.get().len()..].trim() == "}";
    let head_length = if is_last { start } else { text.len() };
    let mut lists: FilingLists<'_> =
        parse(filings.get()).map_err(|fault| format!("filings: {fault}"))?;
    let mut recent = lists.recent.take().ok_or("`filings.recent` is missing")?;
    if let Some(fault) = recent.fault() {
        return Err(format!("filings.recent: {fault}"));
    }
    recent.unknown.append(&mut lists.unknown);
    Ok(Member {
        head,
        recent,
        pages: lists.pages.unwrap_or_default(),
        head_length: head_length as u64,
    })
}

/// Reads a page with older filings.
///
/// # Errors
/// Returns a complete message about the part that does not follow the layout.
pub(super) fn read_page(text: &str) -> Result<Arrays<'_>, String> {
    let arrays: Arrays<'_> = parse(text)?;
    arrays.fault().map_or(Ok(arrays), Err)
}

fn parse<'m, T: Deserialize<'m>>(text: &'m str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAYS: &str = r#"{"accessionNumber":["0000320193-25-000079"],"filingDate":["2025-10-31"],"reportDate":["2025-09-27"],"acceptanceDateTime":["2025-10-31T10:01:26.000Z"],"act":["34"],"form":["10-K"],"fileNumber":["001-36743"],"filmNumber":["251435154"],"items":[""],"core_type":["XBRL"],"size":[9392337],"isXBRL":[1],"isInlineXBRL":[1],"primaryDocument":["aapl-20250927.htm"],"primaryDocDescription":["10-K"]}"#;

    #[test]
    fn member_is_split_into_head_filings_and_pages() {
        let files = r#"[{"name":"CIK0000320193-submissions-001.json","filingCount":1206,"filingFrom":"1994-01-26","filingTo":"2014-07-23"}]"#;
        let text = format!(
            r#"{{"cik":"0000320193","ein":"942404110","tickers":["AAPL"],"exchanges":[null],"novelty":1,"filings":{{"recent":{ARRAYS},"files":{files}}}}}"#
        );
        let member = read_member(&text).unwrap();
        assert_eq!(member.recent.count(), 1);
        assert_eq!(member.pages[0].filing_count, Some(1206));
        assert_eq!(member.unknown_keys(), ["novelty"]);
        assert_eq!(member.head.exchanges.as_ref().unwrap()[0].given(), None);
        let head = usize::try_from(member.head_length).unwrap();
        assert!(text[..head].ends_with(r#""filings":"#));
        // The list of filings is not the last key, so the entire member is the head.
        let text = format!(r#"{{"filings":{{"recent":{ARRAYS},"files":[]}},"cik":"0000320193"}}"#);
        assert_eq!(read_member(&text).unwrap().head_length, text.len() as u64);
    }

    #[test]
    fn arrays_that_are_not_parallel_are_refused_with_a_reason() {
        for (from, to, reason) in [
            (
                r#""form":["10-K"]"#,
                r#""form":[]"#,
                "`form` has 0 values and `accessionNumber` has 1",
            ),
            (
                r#""form":["10-K"]"#,
                r#""form":["10-K","10-K/A"]"#,
                "`form` has 2 values",
            ),
            (r#""isXBRL":[1],"#, "", "the array `isXBRL` is missing"),
            (
                r#""size":[9392337]"#,
                r#""size":["9 MB"]"#,
                "size: invalid type: string",
            ),
            (
                r#""act":["34"]"#,
                r#""act":["34"],"act":["33"]"#,
                "duplicate field `act`",
            ),
        ] {
            let changed = ARRAYS.replace(from, to);
            let reason_given = read_page(&changed).unwrap_err();
            assert!(reason_given.contains(reason), "{reason_given}");
            assert!(
                read_member(&format!(r#"{{"filings":{{"recent":{changed}}}}}"#))
                    .unwrap_err()
                    .contains(reason)
            );
        }
        assert!(read_page(r#"{"accessionNumber":[]"#).is_err());
        assert_eq!(read_member("{}").unwrap_err(), "`filings` is missing");
        assert!(read_page(&ARRAYS.replace(r#""core_type":["XBRL"],"#, "")).is_ok());
    }
}
