//! Stores the filings with XBRL from the quarterly indexes by registrant. A row in several indexes
//! counts once. An unreadable row is kept for its registrant's build.

use std::collections::{BTreeMap, HashMap};

use crate::datasets::context::finding;
use crate::datasets::{Context, SourceFrame};
use crate::normalise::{Day, pointers, text};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{AccessionNumber, Cik, Digest};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::{POINTERS, SourcePointer};

use super::{FILING, filing_record};

const SOURCE: &str = "sec.xbrl_index";

/// Filings with XBRL from the quarterly indexes. Each row takes only a few dozen bytes, because
/// there are millions of rows.
#[derive(Debug, Default)]
pub(super) struct FilingIndex {
    /// Rows, sorted by registrant, filing date and accession number.
    rows: Vec<IndexRow>,
    forms: Vec<String>,
    /// Digests of the indexes, by input number.
    digests: BTreeMap<u16, Digest>,
    /// The registrant's name in its newest row.
    names: BTreeMap<Cik, (Day, String)>,
    /// Issues about unreadable rows, by the registrant at the start of the row.
    unreadable: BTreeMap<Cik, Vec<Issue>>,
}

/// A filing in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexRow {
    pub(super) cik: Cik,
    pub(super) filed: Day,
    pub(super) accession: AccessionNumber,
    form: u16,
    input: u16,
    length: u32,
    offset: u64,
}

impl IndexRow {
    pub(super) fn pointer(&self) -> [u64; 4] {
        [self.input.into(), 0, self.offset, self.length.into()]
    }
}

impl FilingIndex {
    /// Reads the indexes in order.
    ///
    /// # Errors
    /// `Format` if an index does not have the expected layout, or if a row does not begin with a
    /// CIK.
    ///
    /// # Issues
    /// Rows without a readable form, date or file name, kept for their registrant's build.
    pub(super) fn read(context: &Context<'_>) -> Result<Self> {
        let mut index = Self::default();
        let mut form_numbers = HashMap::new();
        for (number, snapshot) in context.snapshots(SOURCE) {
            let frame = context.read_snapshot(number, &snapshot, |plan| plan)?;
            index.add(&frame, snapshot.sha256, &mut form_numbers)?;
            index.digests.insert(
                u16::try_from(number)
                    .map_err(|_| Error::format(format!("{SOURCE} has too many files")))?,
                snapshot.sha256,
            );
        }
        index.rows.sort_unstable_by_key(|row| {
            (
                row.cik,
                row.filed,
                row.accession,
                row.form,
                row.input,
                row.offset,
            )
        });
        // A quarter's index is republished with the same rows.
        index
            .rows
            .dedup_by_key(|row| (row.cik, row.accession, row.form));
        Ok(index)
    }

    fn add(
        &mut self,
        source: &SourceFrame,
        digest: Digest,
        form_numbers: &mut HashMap<String, u16>,
    ) -> Result<()> {
        for mut issue in source.issues(FILING) {
            let start = issue
                .source_text
                .as_deref()
                .unwrap_or_default()
                .split('|')
                .next()
                .unwrap_or_default();
            let cik = start.trim().parse().map_err(|_| {
                Error::format(format!(
                    "{SOURCE}: a row does not begin with a CIK: {}",
                    issue.detail
                ))
            })?;
            // The record begins with its registrant, like every issue from a registrant's build.
            issue.record = Some(filing_record(
                cik,
                issue.record.as_deref().unwrap_or(SOURCE),
            ));
            self.unreadable.entry(cik).or_default().push(issue);
        }
        let frame = &source.frame;
        let (ciks, names, forms) = (
            text(frame, "cik")?,
            text(frame, "name")?,
            text(frame, "form")?,
        );
        let (dates, files) = (text(frame, "filed_date")?, text(frame, "file_name")?);
        for (row, pointer) in pointers(frame, POINTERS)?.into_iter().enumerate() {
            let Some([input, _, offset, length]) = pointer
                .as_deref()
                .and_then(|pointer| pointer.first_chunk().copied())
            else {
                return Err(Error::format(format!(
                    "{SOURCE}: a row has no source pointer"
                )));
            };
            let cik_text = ciks.get(row).unwrap_or_default();
            let cik: Cik = cik_text
                .parse()
                .map_err(|error| Error::format(format!("{SOURCE}: {error}")))?;
            let filed = dates
                .get(row)
                .and_then(|date| Day::from_iso(date.as_bytes()));
            let accession = files.get(row).and_then(|name| accession_of(name, cik));
            let (Some(form), Some(filed), Some(accession)) = (forms.get(row), filed, accession)
            else {
                let seen = format!(
                    "form `{}`, date `{}`, file `{}`",
                    forms.get(row).unwrap_or_default(),
                    dates.get(row).unwrap_or_default(),
                    files.get(row).unwrap_or_default()
                );
                let record = format!("{}@{offset}", filing_record(cik, SOURCE));
                let pointer = SourcePointer {
                    source_id: SOURCE.to_owned(),
                    snapshot: digest,
                    member: None,
                    offset,
                    length,
                };
                let issue = finding(
                    "index_row_unreadable",
                    Severity::Quarantine,
                    FILING,
                    &record,
                    seen,
                );
                self.unreadable.entry(cik).or_default().push(Issue {
                    pointer: Some(pointer),
                    ..issue
                });
                continue;
            };
            let next = form_numbers.len();
            let form_number = if let Some(number) = form_numbers.get(form) {
                *number
            } else {
                let number =
                    u16::try_from(next).map_err(|_| Error::format(format!("{SOURCE} has more than {next} form types: another column is read as the form")))?;
                form_numbers.insert(form.to_owned(), number);
                self.forms.push(form.to_owned());
                number
            };
            let too_large = |_| {
                Error::format(format!(
                    "{SOURCE}: a row is too long or there are too many files"
                ))
            };
            let (input, length) = (
                u16::try_from(input).map_err(too_large)?,
                u32::try_from(length).map_err(too_large)?,
            );
            self.rows.push(IndexRow {
                cik,
                filed,
                accession,
                form: form_number,
                input,
                length,
                offset,
            });
            if let Some(name) = names.get(row)
                && self
                    .names
                    .get(&cik)
                    .is_none_or(|(day, known)| (*day, known.as_str()) < (filed, name))
            {
                self.names.insert(cik, (filed, name.to_owned()));
            }
        }
        Ok(())
    }

    /// Returns the registrants in the indexes. A registrant may occur several times.
    pub(super) fn ciks(&self) -> impl Iterator<Item = Cik> {
        self.rows
            .iter()
            .map(|row| row.cik)
            .chain(self.unreadable.keys().copied())
    }

    /// Returns a registrant's filings, oldest first.
    pub(super) fn filings(&self, cik: Cik) -> &[IndexRow] {
        let start = self.rows.partition_point(|row| row.cik < cik);
        let count = self.rows[start..].partition_point(|row| row.cik == cik);
        &self.rows[start..start + count]
    }

    /// Returns a registrant's rows and their positions, including unreadable rows, for the
    /// fingerprint. Positions are included because pointers are published too.
    pub(super) fn source_text(&self, cik: Cik) -> String {
        let readable = self.filings(cik).iter().map(|row| {
            let digest = self
                .digests
                .get(&row.input)
                .map(Digest::to_string)
                .unwrap_or_default();
            format!(
                "index {digest} {} {} {} {}\n",
                row.offset,
                row.accession,
                row.filed,
                self.form(row)
            )
        });
        let unreadable = self.unreadable(cik).iter().map(|issue| {
            let place = issue
                .pointer
                .as_ref()
                .map(|pointer| format!("{} {}", pointer.snapshot, pointer.offset))
                .unwrap_or_default();
            format!(
                "unreadable {place} {} {}\n",
                issue.detail,
                issue.source_text.as_deref().unwrap_or_default()
            )
        });
        readable.chain(unreadable).collect()
    }

    /// Returns the form type as published.
    pub(super) fn form(&self, row: &IndexRow) -> &str {
        &self.forms[usize::from(row.form)]
    }

    /// Returns the registrant's name from its newest row.
    pub(super) fn name(&self, cik: Cik) -> Option<&str> {
        self.names.get(&cik).map(|(_, name)| name.as_str())
    }

    /// Returns the issues about the registrant's unreadable rows.
    pub(super) fn unreadable(&self, cik: Cik) -> &[Issue] {
        self.unreadable.get(&cik).map_or(&[], Vec::as_slice)
    }
}

/// Returns the accession number in `edgar/data/{cik}/{accession number}.txt`, or `None` if the file
/// is in another registrant's folder.
fn accession_of(file_name: &str, cik: Cik) -> Option<AccessionNumber> {
    let (folder, file) = file_name.strip_prefix("edgar/data/")?.split_once('/')?;
    let is_own = folder.parse::<Cik>().is_ok_and(|folder| folder == cik);
    is_own
        .then(|| file.strip_suffix(".txt")?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::accession_of;

    #[test]
    fn accession_number_is_read_from_the_file_name() {
        let cik = "0001000045".parse().unwrap();
        let accession = accession_of("edgar/data/1000045/0000950170-23-002704.txt", cik);
        assert_eq!(accession.unwrap().to_string(), "0000950170-23-002704");
        for wrong in [
            "edgar/data/1000046/0000950170-23-002704.txt",
            "edgar/data/1000045/0000950170-23-002704.htm",
            "edgar/data/1000045/95017023002704.txt",
            "",
        ] {
            assert!(accession_of(wrong, cik).is_none(), "{wrong}");
        }
    }
}
