//! Reads new filings from EDGAR's feeds: the feed of current filings, the feed of filings with
//! financial data, and a day's index. Source: SEC, "EDGAR RSS Feeds", and "Accessing EDGAR Data".

use crate::datasets::context::finding;
use crate::datasets::{Context, SourceDocument};
use crate::decode::{
    FeedElement, FeedShape, XmlDocument, XmlElement, XmlPiece, XmlReader, feed_entries,
};
use crate::normalise::{Day, Zone, pointers, text, utc_from_digits, utc_from_rfc3339};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::{AccessionNumber, Cik};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::{POINTERS, SourcePointer};

/// Dataset for issues about feeds.
const DATASET: &str = "stream.filing";

/// Format of a feed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// Atom, newest first, with one entry for each party to a filing.
    Current,
    /// RSS, newest first, with one entry for each filing.
    Xbrl,
    /// One row for each registrant in a filing.
    Index,
}

/// A filing as shown in one entry or row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEntry {
    pub accession_number: AccessionNumber,
    pub form: String,
    /// `YYYY-MM-DD`.
    pub filed_date: Option<String>,
    /// RFC 3339 UTC.
    pub accepted_at: Option<String>,
    /// `YYYY-MM-DD`.
    pub period_of_report: Option<String>,
    pub parties: Vec<Party>,
    pub items: Vec<String>,
    pub file_number: Option<String>,
    pub primary_document: Option<String>,
    pub has_xbrl: Option<bool>,
    pub has_inline_xbrl: Option<bool>,
}

/// A party that files, or that a filing is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    pub cik: Cik,
    pub name: Option<String>,
    /// Lowercase, with `_` in place of blanks: `filer`, `filed_by`.
    pub role: Option<String>,
    pub sic: Option<String>,
}

/// Limits on an entry. They are far above the needs of a filing, and low enough to log an entry and
/// send it to every client.
const ENTRY_BYTES: u64 = 1 << 20;
const TEXT_BYTES: usize = 2_000;
const LISTED: usize = 1_000;

/// Content of a file, in file order.
#[derive(Debug, Default)]
pub struct FeedPage {
    pub entries: Vec<FeedEntry>,
    /// Entries that could not be read.
    pub issues: Vec<Issue>,
}

/// Reads a source's files.
///
/// # Errors
/// `Format` if a file is not the declared feed; `Store` if it cannot be read.
///
/// # Issues
/// Entries and rows without a readable accession number, form, date or party.
pub fn read_feed(
    context: &Context<'_>,
    source_id: &str,
    reading: Reading,
    zone: &Zone,
) -> Result<FeedPage> {
    let mut seen = FeedPage::default();
    if reading == Reading::Index {
        read_index(context, source_id, &mut seen)?;
        return Ok(seen);
    }
    for document in context.documents(source_id)? {
        let elements = feed_entries(&document.content, shape(reading))
            .context(|| format!("{source_id} ({})", document.snapshot.url))?;
        for element in elements {
            match read_entry(&element, reading, zone) {
                Ok(entry) => seen.entries.push(entry),
                Err(error) => seen.issues.push(unreadable(&document, &element, &error)),
            }
        }
    }
    Ok(seen)
}

fn shape(reading: Reading) -> FeedShape {
    match reading {
        Reading::Current => FeedShape {
            around: &["feed"],
            entry: "entry",
        },
        Reading::Xbrl | Reading::Index => FeedShape {
            around: &["rss", "channel"],
            entry: "item",
        },
    }
}

fn read_entry(element: &FeedElement<'_>, reading: Reading, zone: &Zone) -> Result<FeedEntry> {
    check_size(element)?;
    check_texts(if reading == Reading::Current {
        current_entry(element)?
    } else {
        xbrl_item(element, zone)?
    })
}

/// Returns the readable entries from both feed formats, each with its length in bytes.
#[cfg(fuzzing)]
pub fn readable_entries(bytes: &[u8]) -> Vec<(FeedEntry, u64)> {
    let zone = Zone::from_posix_rule("EST5EDT,M3.2.0,M11.1.0").expect("a rule of POSIX");
    let mut entries = Vec::new();
    for reading in [Reading::Current, Reading::Xbrl] {
        let elements = feed_entries(bytes, shape(reading)).unwrap_or_default();
        entries.extend(elements.iter().filter_map(|element| {
            Some((read_entry(element, reading, &zone).ok()?, element.length))
        }));
    }
    entries
}

/// Rejects an entry that is larger than any filing's entry, before reading it.
fn check_size(entry: &FeedElement<'_>) -> Result<()> {
    if entry.length <= ENTRY_BYTES {
        return Ok(());
    }
    Err(Error::format(format!(
        "the entry has {} bytes, an entry has {ENTRY_BYTES} at most",
        entry.length
    )))
}

/// Rejects an entry that contains a text or list longer than any filing's, because every client
/// that follows the log would receive it.
fn check_texts(entry: FeedEntry) -> Result<FeedEntry> {
    let parties = entry
        .parties
        .iter()
        .flat_map(|party| [&party.name, &party.role, &party.sic]);
    let texts = parties
        .chain([&entry.file_number, &entry.primary_document])
        .flatten()
        .chain([&entry.form])
        .chain(&entry.items);
    if let Some(text) = texts.into_iter().find(|text| text.len() > TEXT_BYTES) {
        let shown: String = text.chars().take(60).collect();
        return Err(Error::format(format!(
            "a text has {} bytes, a text of an entry has {TEXT_BYTES} at most: `{shown}…`",
            text.len()
        )));
    }
    if entry.parties.len().max(entry.items.len()) > LISTED {
        return Err(Error::format(format!(
            "the entry lists {} parties and {} items, at most {LISTED}",
            entry.parties.len(),
            entry.items.len()
        )));
    }
    Ok(entry)
}

fn unreadable(document: &SourceDocument, entry: &FeedElement<'_>, error: &Error) -> Issue {
    let (start, length) = (
        usize::try_from(entry.offset).unwrap_or(usize::MAX),
        usize::try_from(entry.length).unwrap_or(usize::MAX),
    );
    let bytes = document
        .content
        .iter()
        .skip(start)
        .take(length)
        .copied()
        .collect::<Vec<u8>>();
    let source_id = document.snapshot.source_id.clone();
    let mut issue = finding(
        "feed_entry_unreadable",
        Severity::Quarantine,
        DATASET,
        &source_id,
        error.to_string(),
    );
    issue.source_text = Some(
        String::from_utf8_lossy(&bytes)
            .chars()
            .take(2_000)
            .collect(),
    );
    issue.pointer = Some(SourcePointer {
        source_id,
        snapshot: document.snapshot.sha256,
        member: None,
        offset: entry.offset,
        length: entry.length,
    });
    issue
}

/// Reads an entry `FORM - NAME (CIK) (Role)` from the feed of current filings.
fn current_entry(entry: &FeedElement<'_>) -> Result<FeedEntry> {
    let content = entry.document();
    let document = XmlDocument::new(&content)?;
    let mut reader = document.reader();
    let (mut title, mut summary, mut id, mut number, mut form, mut updated) =
        (None, String::new(), None, None, None, None);
    while let Some(element) = next_in_entry(&mut reader, 1)? {
        match element.name.as_str() {
            "title" => title = Some(reader.content()?.text),
            "summary" => summary = reader.content()?.text,
            "id" => id = Some(reader.content()?.text),
            // The feed misspelt this element until July 2020.
            "accession-number" | "accession-nunber" => number = Some(reader.content()?.text),
            "updated" => updated = Some(reader.content()?.text),
            "category" => form = element.attribute_named("term").map(str::to_owned),
            _ => {}
        }
    }
    let summary = summary_fields(&summary);
    let of_id = id
        .as_deref()
        .and_then(|id| id.rsplit_once('='))
        .map(|(_, number)| number.trim().to_owned());
    let accession_number = agreed([
        of_id,
        number.map(|number| number.trim().to_owned()),
        summary.accession_number,
    ])?;
    let form =
        one_line(&form.ok_or_else(|| Error::format("there is no category that says the form"))?)
            .ok_or_else(|| Error::format("the form is empty"))?;
    let title = title.ok_or_else(|| Error::format("there is no title"))?;
    let title = title.trim();
    let party = party_of_title(
        title
            .strip_prefix(form.as_str())
            .and_then(|rest| rest.trim_start().strip_prefix('-'))
            .unwrap_or(title),
    )?;
    let accepted_at = updated.as_deref().map(|text| {
        utc_from_rfc3339(text.trim())
            .ok_or_else(|| Error::format(format!("`{text}` is not an instant")))
    });
    Ok(FeedEntry {
        accession_number,
        form,
        filed_date: summary
            .filed_date
            .map(|text| {
                iso_day(&text).ok_or_else(|| Error::format(format!("`{text}` is not a date")))
            })
            .transpose()?,
        accepted_at: accepted_at.transpose()?,
        period_of_report: None,
        parties: vec![party],
        items: summary.items,
        file_number: None,
        primary_document: None,
        has_xbrl: None,
        has_inline_xbrl: None,
    })
}

/// Returns the next element below a given depth in an entry.
fn next_in_entry(reader: &mut XmlReader<'_>, depth: usize) -> Result<Option<XmlElement>> {
    while let Some(piece) = reader.advance()? {
        match piece {
            XmlPiece::Start(element) if element.depth > depth => {
                return Ok(Some(element));
            }
            XmlPiece::Start(_) | XmlPiece::End(_) => {}
        }
    }
    Ok(None)
}

/// Returns the accession number, which must be the same in all parts of an entry.
fn agreed(texts: [Option<String>; 3]) -> Result<AccessionNumber> {
    let mut agreed = None;
    for text in texts.into_iter().flatten() {
        let number: AccessionNumber = text
            .parse()
            .map_err(|error| Error::format(format!("{error}")))?;
        if agreed.is_some_and(|known| known != number) {
            return Err(Error::format(format!(
                "the entry has two accession numbers, {number} and another"
            )));
        }
        agreed = Some(number);
    }
    agreed.ok_or_else(|| Error::format("there is no accession number"))
}

/// Parses `NAME (0001865514) (Reporting)`. Names may contain parentheses and hyphens.
fn party_of_title(title: &str) -> Result<Party> {
    let wrong = || {
        Error::format(format!(
            "the title does not end with a CIK and a role in parentheses: `{}`",
            title.trim().chars().take(200).collect::<String>()
        ))
    };
    let (rest, role) = title
        .trim()
        .strip_suffix(')')
        .and_then(|title| title.rsplit_once('('))
        .ok_or_else(wrong)?;
    let (name, cik) = rest
        .trim()
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once('('))
        .ok_or_else(wrong)?;
    let cik = cik.trim().parse().map_err(|_| wrong())?;
    let role = one_line(role)
        .ok_or_else(wrong)?
        .to_lowercase()
        .replace([' ', '-'], "_");
    Ok(Party {
        cik,
        name: one_line(&unescaped_again(name)),
        role: Some(role),
        sic: None,
    })
}

/// Unescapes a name again, because some names are escaped twice.
fn unescaped_again(name: &str) -> String {
    let named = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    named
        .iter()
        .fold(name.to_owned(), |name, (escaped, plain)| {
            name.replace(escaped, plain)
        })
}

/// Joins text into one line without surrounding blanks. Returns `None` for an empty line.
fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

#[derive(Default)]
struct Summary {
    filed_date: Option<String>,
    accession_number: Option<String>,
    items: Vec<String>,
}

/// Parses `<b>Filed:</b> 2024-03-15 <b>AccNo:</b> 0000950170-24-032448 <b>Size:</b> 9 KB<br>Item
/// 2.02: …`, which is HTML inside XML text.
fn summary_fields(summary: &str) -> Summary {
    let mut plain = String::with_capacity(summary.len());
    for part in summary.split('<') {
        plain.push(' ');
        plain.push_str(part.split_once('>').map_or(part, |(_, rest)| rest));
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    let after = |name: &str| {
        words
            .iter()
            .position(|word| *word == name)
            .and_then(|at| words.get(at + 1))
            .map(|word| (*word).to_owned())
    };
    let items = words
        .windows(2)
        .filter(|pair| pair[0] == "Item")
        .map(|pair| pair[1].trim_end_matches(':'));
    let is_item = |item: &&str| {
        item.split_once('.').is_some_and(|(a, b)| {
            !a.is_empty()
                && b.len() == 2
                && [a, b]
                    .iter()
                    .all(|part| part.bytes().all(|c| c.is_ascii_digit()))
        })
    };
    let mut items: Vec<String> = items.filter(is_item).map(str::to_owned).collect();
    items.dedup();
    Summary {
        filed_date: after("Filed:"),
        accession_number: after("AccNo:"),
        items,
    }
}

/// Reads an item from the feed of filings with financial data.
fn xbrl_item(entry: &FeedElement<'_>, zone: &Zone) -> Result<FeedEntry> {
    let content = entry.document();
    let document = XmlDocument::new(&content)?;
    let mut reader = document.reader();
    let mut fields: Vec<(String, String)> = Vec::new();
    let (mut primary_document, mut has_inline) = (None, false);
    while let Some(element) = next_in_entry(&mut reader, 2)? {
        match element.name.as_str() {
            "xbrlFiling" | "xbrlFiles" => {}
            "xbrlFile" => {
                has_inline |= element.attribute_named("inlineXBRL") == Some("true");
                if element.attribute_named("sequence") == Some("1") {
                    primary_document = element.attribute_named("file").map(str::to_owned);
                }
            }
            _ => fields.push((element.name, reader.content()?.text)),
        }
    }
    let field = |name: &str| {
        fields
            .iter()
            .find(|(known, _)| known == name)
            .and_then(|(_, text)| one_line(text))
    };
    let needed =
        |name: &str| field(name).ok_or_else(|| Error::format(format!("there is no `{name}`")));
    let cik = |text: &str| {
        text.trim()
            .parse::<Cik>()
            .map_err(|error| Error::format(format!("{error}")))
    };
    let wrong = |name: &str, text: &str| Error::format(format!("`{name}` is `{text}`"));
    let accession_number = agreed([field("accessionNumber"), None, None])?;
    let main = cik(&needed("cikNumber")?)?;
    let titled = field("title")
        .and_then(|title| party_of_title(&title).ok())
        .filter(|party| party.cik == main);
    let mut parties = vec![Party {
        cik: main,
        name: field("companyName").map(|name| unescaped_again(&name)),
        role: titled.and_then(|party| party.role),
        sic: field("assignedSic").map(|code| format!("{code:0>4}")),
    }];
    for other in field("otherCikNumbers")
        .iter()
        .flat_map(|list| list.split(','))
    {
        parties.push(Party {
            cik: cik(other)?,
            name: None,
            role: None,
            sic: None,
        });
    }
    let day = |name: &str, read: fn(&str) -> Option<String>| {
        field(name)
            .map(|text| read(&text).ok_or_else(|| wrong(name, &text)))
            .transpose()
    };
    let accepted_at = field("acceptanceDatetime")
        .map(|text| utc_from_digits(&text, zone).ok_or_else(|| wrong("acceptanceDatetime", &text)));
    Ok(FeedEntry {
        accession_number,
        form: needed("formType")?,
        filed_date: day("filingDate", us_day)?,
        accepted_at: accepted_at.transpose()?,
        period_of_report: day("period", iso_day)?,
        parties,
        items: Vec::new(),
        file_number: field("fileNumber"),
        primary_document,
        has_xbrl: Some(true),
        has_inline_xbrl: Some(has_inline),
    })
}

/// Reads the rows of a daily index: `CIK|Company Name|Form Type|Date Filed|File Name`.
fn read_index(context: &Context<'_>, source_id: &str, seen: &mut FeedPage) -> Result<()> {
    for (number, snapshot) in context.snapshots(source_id) {
        let source = context.read_snapshot(number, &snapshot, |plan| plan)?;
        seen.issues.extend(source.issues(DATASET));
        let frame = &source.frame;
        let (ciks, names, forms) = (
            text(frame, "cik")?,
            text(frame, "name")?,
            text(frame, "form")?,
        );
        let (dates, files) = (text(frame, "filed_date")?, text(frame, "file_name")?);
        for (row, pointer) in pointers(frame, POINTERS)?.into_iter().enumerate() {
            let cik = ciks.get(row).and_then(|cik| cik.parse::<Cik>().ok());
            let filed = dates.get(row).and_then(iso_day);
            let accession = files.get(row).and_then(|name| {
                name.rsplit_once('/')?
                    .1
                    .strip_suffix(".txt")?
                    .parse::<AccessionNumber>()
                    .ok()
            });
            let (Some(cik), Some(form), Some(filed_date), Some(accession_number)) =
                (cik, forms.get(row), filed, accession)
            else {
                let cells = [
                    ciks.get(row),
                    names.get(row),
                    forms.get(row),
                    dates.get(row),
                    files.get(row),
                ];
                let shown = cells.map(Option::unwrap_or_default).join("|");
                let mut issue = finding(
                    "index_row_unreadable",
                    Severity::Quarantine,
                    DATASET,
                    source_id,
                    "a row without a readable CIK, form, date or file name".to_owned(),
                );
                issue.source_text = Some(shown);
                issue.pointer = context
                    .resolve(pointer.unwrap_or_default().as_slice())
                    .pop();
                seen.issues.push(issue);
                continue;
            };
            seen.entries.push(FeedEntry {
                accession_number,
                form: form.to_owned(),
                filed_date: Some(filed_date),
                accepted_at: None,
                period_of_report: None,
                parties: vec![Party {
                    cik,
                    name: names.get(row).and_then(one_line),
                    role: None,
                    sic: None,
                }],
                items: Vec::new(),
                file_number: None,
                primary_document: None,
                has_xbrl: None,
                has_inline_xbrl: None,
            });
        }
    }
    Ok(())
}

/// Parses `YYYY-MM-DD` or `YYYYMMDD`.
fn iso_day(text: &str) -> Option<String> {
    let iso = if text.len() == 8 && text.is_ascii() {
        format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..])
    } else {
        text.to_owned()
    };
    Day::from_iso(iso.as_bytes()).map(|_| iso)
}

/// Parses `MM/DD/YYYY`.
fn us_day(text: &str) -> Option<String> {
    let mut parts = text.split('/');
    let (month, day, year) = (parts.next()?, parts.next()?, parts.next()?);
    iso_day(&format!("{year}-{month:0>2}-{day:0>2}"))
}

#[cfg(test)]
mod tests {
    use super::{party_of_title, summary_fields, us_day};

    #[test]
    fn titles_end_with_cik_and_role() {
        let party = |title: &str| {
            party_of_title(title).map(|party| {
                (
                    party.name.unwrap_or_default(),
                    party.cik.to_string(),
                    party.role.unwrap_or_default(),
                )
            })
        };
        let expected =
            |name: &str, role: &str| (name.to_owned(), "0001865514".to_owned(), role.to_owned());
        assert_eq!(
            party(" ESGEN LLC (0001865514) (Reporting)").unwrap(),
            expected("ESGEN LLC", "reporting")
        );
        assert_eq!(
            party("A - B (Holdings) Ltd (0001865514) (Filed by)").unwrap(),
            expected("A - B (Holdings) Ltd", "filed_by")
        );
        assert_eq!(
            party("AT&amp;T INC. (0001865514) (Filer)").unwrap(),
            expected("AT&T INC.", "filer")
        );
        for wrong in [
            "ESGEN LLC (0001865514)",
            "ESGEN LLC (Reporting)",
            "ESGEN LLC (x) (Reporting)",
            "ESGEN LLC",
            "",
            "() ()",
        ] {
            assert!(party(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn summaries_are_html_in_text() {
        let summary = summary_fields(
            "\n <b>Filed:</b> 2025-01-24 <b>AccNo:</b> 0001213900-25-006497 <b>Size:</b> 302 KB<br>Item 1.01: Entry into Item 9<br>Item 9.01: Exhibits",
        );
        assert_eq!(summary.filed_date.as_deref(), Some("2025-01-24"));
        assert_eq!(
            summary.accession_number.as_deref(),
            Some("0001213900-25-006497")
        );
        assert_eq!(summary.items, ["1.01", "9.01"]);
        assert_eq!(us_day("1/24/2025").as_deref(), Some("2025-01-24"));
        assert_eq!(us_day("24/1/2025"), None);
    }
}
