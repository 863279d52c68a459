//! Builds the rows of `sec.filing`, one per registrant and accession number, from the parallel
//! arrays in the submissions and from the indexes. A pointer into the arrays leads to the accession
//! number, because no byte range contains a single filing on its own.

use polars::prelude::*;

use super::member::Arrays;
use super::{FILING, filing_record};
use crate::datasets::context::finding;
use crate::datasets::sec::json::Text;
use crate::normalise::{Day, pointer_column};
use pubdata_core::error::Result;
use pubdata_core::ids::{AccessionNumber, Cik};
use pubdata_core::issue::{Issue, Severity};

/// The source that lists a filing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Listing {
    Submissions,
    FullIndex,
}

/// Index in the parallel arrays, or row in a quarterly index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedFiling<'m> {
    pub(super) accession: AccessionNumber,
    pub(super) form: &'m str,
    pub(super) filed: Day,
    pub(super) accepted_at: Option<&'m str>,
    pub(super) period_of_report: Option<Day>,
    pub(super) act: Option<&'m str>,
    pub(super) file_number: Option<&'m str>,
    pub(super) film_number: Option<&'m str>,
    pub(super) items: Option<&'m str>,
    pub(super) size_bytes: Option<i64>,
    pub(super) has_xbrl: Option<bool>,
    pub(super) has_inline_xbrl: Option<bool>,
    pub(super) primary_document: Option<&'m str>,
    pub(super) primary_document_description: Option<&'m str>,
    pub(super) listing: Listing,
    pub(super) pointer: [u64; 4],
}

/// A member or page in memory: its text and the first two numbers of its pointers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Document<'m> {
    pub(super) text: &'m str,
    pub(super) input: u64,
    pub(super) member: u64,
}

impl Document<'_> {
    /// Returns a pointer to a part, given by offset and length, or to the entire document.
    pub(super) fn pointer(&self, part: Option<(u64, u64)>) -> [u64; 4] {
        let (offset, length) = part.unwrap_or((0, self.text.len() as u64));
        [self.input, self.member, offset, length]
    }
}

/// Reads the filings in a member or page.
///
/// # Shape
/// One filing for each array index with an accession number, a form and a filing date. The pointer
/// leads to the accession number, because no byte range in parallel arrays contains a single filing
/// on its own. The accession number's index in its array gives the index of the filing's other
/// values.
///
/// # Issues
/// `filing_unreadable` (quarantine) for an array index without these values. `bad_value` (warning)
/// for any other invalid value, which is published as null.
pub(super) fn read_filings<'m>(
    cik: Cik,
    arrays: &'m Arrays<'m>,
    document: &Document<'m>,
    filings: &mut Vec<ListedFiling<'m>>,
    issues: &mut Vec<Issue>,
) {
    let texts = |array: &'m Option<Vec<Text<'m>>>| array.as_deref().unwrap_or_default();
    let (accessions, forms, dates) = (
        texts(&arrays.accession_number),
        texts(&arrays.form),
        texts(&arrays.filing_date),
    );
    let (periods, accepted, acts) = (
        texts(&arrays.report_date),
        texts(&arrays.accepted_at),
        texts(&arrays.act),
    );
    let (file_numbers, film_numbers, items) = (
        texts(&arrays.file_number),
        texts(&arrays.film_number),
        texts(&arrays.items),
    );
    let (documents, descriptions) = (
        texts(&arrays.primary_document),
        texts(&arrays.primary_document_description),
    );
    let numbers = |array: &'m Option<Vec<Option<i64>>>| array.as_deref().unwrap_or_default();
    let (sizes, has_xbrl, has_inline_xbrl) = (
        numbers(&arrays.size_bytes),
        numbers(&arrays.is_xbrl),
        numbers(&arrays.is_inline_xbrl),
    );
    filings.reserve(accessions.len());
    for index in 0..accessions.len() {
        let pointer = document.pointer(accessions[index].place_in(document.text));
        let accession = AccessionNumber::from_bytes(accessions[index].as_str().as_bytes());
        let filed = Day::from_iso(dates[index].as_str().as_bytes());
        let (Some(accession), Some(form), Some(filed)) = (accession, forms[index].given(), filed)
        else {
            let seen = format!(
                "place {index} of the arrays has accession number `{}`, form `{}` and filing date `{}`",
                accessions[index].as_str(),
                forms[index].as_str(),
                dates[index].as_str()
            );
            let record = filing_record(cik, accessions[index].as_str());
            issues.push(finding(
                "filing_unreadable",
                Severity::Quarantine,
                FILING,
                &record,
                seen,
            ));
            continue;
        };
        let mut warn = |name: &str, seen: &str, expected: &str| {
            let record = filing_record(cik, &accession.to_string());
            issues.push(finding(
                "bad_value",
                Severity::Warning,
                FILING,
                &record,
                format!("{name} is `{seen}`, not {expected}"),
            ));
        };
        let period_of_report = periods[index].given().and_then(|text| {
            let day = Day::from_iso(text.as_bytes());
            if day.is_none() {
                warn("reportDate", text, "a date");
            }
            day
        });
        let mut flag = |name: &str, number: Option<i64>| match number {
            Some(0) => Some(false),
            Some(1) => Some(true),
            None => None,
            Some(other) => {
                warn(name, &other.to_string(), "0 or 1");
                None
            }
        };
        filings.push(ListedFiling {
            accession,
            form,
            filed,
            accepted_at: accepted[index].given(),
            period_of_report,
            act: acts[index].given(),
            file_number: file_numbers[index].given(),
            film_number: film_numbers[index].given(),
            items: items[index].given(),
            has_xbrl: flag("isXBRL", has_xbrl[index]),
            has_inline_xbrl: flag("isInlineXBRL", has_inline_xbrl[index]),
            size_bytes: sizes[index],
            primary_document: documents[index].given(),
            primary_document_description: descriptions[index].given(),
            listing: Listing::Submissions,
            pointer,
        });
    }
}

/// Returns a filing's item numbers, such as `2.02` and `9.01` for an 8-K. Returns `None` for other
/// text: notices of effectiveness (EFFECT) have a form, a file number and a timestamp in this
/// field.
pub(super) fn item_numbers(items: &str) -> Option<Vec<&str>> {
    let is_number = |item: &&str| {
        (1..=8).contains(&item.len())
            && item.starts_with(|c: char| c.is_ascii_digit())
            && item
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    };
    let numbers: Vec<&str> = items.split(',').map(str::trim).collect();
    numbers.iter().all(is_number).then_some(numbers)
}

/// Collects the rows of `sec.filing`.
pub(super) struct FilingTable {
    bucket: String,
    texts: Vec<StringChunkedBuilder>,
    forms: ListStringChunkedBuilder,
    items: ListStringChunkedBuilder,
    is_amendment: Vec<bool>,
    filed: Vec<i32>,
    periods: Vec<Option<i32>>,
    sizes: Vec<Option<i64>>,
    has_xbrl: Vec<Option<bool>>,
    has_inline_xbrl: Vec<Option<bool>>,
    pointers: Vec<Vec<u64>>,
}

/// Text columns, in the order in which rows are pushed.
const TEXT_COLUMNS: [&str; 12] = [
    "record_id",
    "cik",
    "accession_number",
    "form",
    "accepted_at",
    "act",
    "file_number",
    "film_number",
    "items_text",
    "primary_document",
    "primary_document_description",
    "listing",
];

impl FilingTable {
    /// Creates an empty table; `bucket` is the value of the partition column.
    pub(super) fn new(bucket: &str) -> Self {
        let texts = TEXT_COLUMNS
            .iter()
            .map(|name| StringChunkedBuilder::new((*name).into(), 1024))
            .collect();
        Self {
            bucket: bucket.to_owned(),
            texts,
            forms: ListStringChunkedBuilder::new("forms".into(), 1024, 1024),
            items: ListStringChunkedBuilder::new("items".into(), 1024, 1024),
            is_amendment: Vec::new(),
            filed: Vec::new(),
            periods: Vec::new(),
            sizes: Vec::new(),
            has_xbrl: Vec::new(),
            has_inline_xbrl: Vec::new(),
            pointers: Vec::new(),
        }
    }

    /// Adds the row for one accession number from all its listings, with the best listing first.
    ///
    /// # Issues
    /// `filing_listed_twice` (warning) if two entries in the submissions differ in more than the
    /// form type.
    pub(super) fn push(
        &mut self,
        cik: Cik,
        listings: &[ListedFiling<'_>],
        issues: &mut Vec<Issue>,
    ) {
        let Some(filing) = listings.first() else {
            return;
        };
        let accession = filing.accession.to_string();
        let record_id = filing_record(cik, &accession);
        let mut forms: Vec<&str> = Vec::new();
        let mut pointers = Vec::new();
        for listing in listings
            .iter()
            .filter(|listing| listing.listing == filing.listing)
        {
            if !forms.contains(&listing.form) {
                forms.push(listing.form);
            }
            let same_but_form = ListedFiling {
                form: filing.form,
                pointer: filing.pointer,
                ..listing.clone()
            };
            if same_but_form != *filing {
                let seen = format!(
                    "listed twice as {} of {} and as {} of {}, with other details",
                    filing.form, filing.filed, listing.form, listing.filed
                );
                issues.push(finding(
                    "filing_listed_twice",
                    Severity::Warning,
                    FILING,
                    &record_id,
                    seen,
                ));
            }
            pointers.extend(listing.pointer);
        }
        let items = filing.items.and_then(item_numbers);
        let items_text = filing.items.filter(|_| items.is_none());
        self.forms.append_values_iter(forms.into_iter());
        self.items.append_values_iter(items.into_iter().flatten());
        let listing = match filing.listing {
            Listing::Submissions => "submissions",
            Listing::FullIndex => "full_index",
        };
        let cells: [Option<&str>; TEXT_COLUMNS.len()] = [
            Some(&record_id),
            Some(&cik.to_string()),
            Some(&accession),
            Some(filing.form),
            filing.accepted_at,
            filing.act,
            filing.file_number,
            filing.film_number,
            items_text,
            filing.primary_document,
            filing.primary_document_description,
            Some(listing),
        ];
        for (column, cell) in self.texts.iter_mut().zip(cells) {
            column.append_option(cell);
        }
        self.is_amendment.push(filing.form.ends_with("/A"));
        self.filed.push(filing.filed.number());
        self.periods.push(filing.period_of_report.map(Day::number));
        self.sizes.push(filing.size_bytes);
        self.has_xbrl.push(filing.has_xbrl);
        self.has_inline_xbrl.push(filing.has_inline_xbrl);
        self.pointers.push(pointers);
    }

    /// Returns the rows as a frame.
    pub(super) fn finish(mut self) -> Result<DataFrame> {
        let height = self.filed.len();
        let mut columns: Vec<Column> = self
            .texts
            .into_iter()
            .map(|builder| builder.finish().into_column())
            .collect();
        columns.extend([
            self.forms.finish().into_column(),
            self.items.finish().into_column(),
            Column::new_scalar(
                "bucket".into(),
                Scalar::from(PlSmallStr::from_string(self.bucket)),
                height,
            ),
            Column::new("is_amendment".into(), self.is_amendment),
            Column::new("filed_date".into(), self.filed).cast(&DataType::Date)?,
            Column::new("period_of_report".into(), self.periods).cast(&DataType::Date)?,
            Column::new("size_bytes".into(), self.sizes),
            Column::new("has_xbrl".into(), self.has_xbrl),
            Column::new("has_inline_xbrl".into(), self.has_inline_xbrl),
            pointer_column(self.pointers.iter().map(Vec::as_slice)),
        ]);
        Ok(DataFrame::new(height, columns)?)
    }
}

#[cfg(test)]
mod tests {
    use super::item_numbers;

    #[test]
    fn items_are_numbers_or_something_else() {
        assert_eq!(item_numbers("2.02,9.01"), Some(vec!["2.02", "9.01"]));
        assert_eq!(item_numbers("06b"), Some(vec!["06b"]));
        for other in [
            "S-3,,2014-09-30 16:30:00",
            ",,",
            "POS AM,0001193125-18-339736,2018-12-10",
            "N-14,,2017-09-14 12:00:00",
        ] {
            assert_eq!(item_numbers(other), None, "{other}");
        }
    }
}
