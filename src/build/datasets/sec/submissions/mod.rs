//! Turns the submissions archive, the ticker lists and the quarterly indexes into one row per
//! registrant, and one row per registrant and filing. Source: "EDGAR Application Programming
//! Interfaces" (submissions by CIK) and "Accessing EDGAR Data" (indexes), sec.gov. Never publishes
//! tax numbers, telephone numbers, mailing addresses, or a business address that may be a person's.

mod filings;
mod index;
mod member;
mod registrant;
mod tickers;

use std::collections::BTreeMap;

use filings::{Document, FilingTable, ListedFiling, Listing, read_filings};
use index::FilingIndex;
use member::{Arrays, Member, read_member, read_page};
use registrant::{Activity, Registrant, RegistrantTable};
use tickers::TickerLists;

use super::filing::{SubmissionsMember, by_cik};
use super::shards::shards_of;
use crate::datasets::Fault;
use crate::datasets::context::finding;
use crate::datasets::{
    Build, Builder, Context, Shard, Sharded, SourceArchive, SourceDocument, Subject, Table,
};
use crate::decode;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Cik, Digest};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::Inputs;

const REGISTRANT: &str = "sec.registrant";
const FILING: &str = "sec.filing";
const ARCHIVE: &str = "sec.submissions";
const NOW: &str = "sec.submissions_api";

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 4,
    build: Build::Sharded(prepare),
    check,
    vocabulary: None,
};

/// Accepts every declaration, because the builder has no settings.
fn check(_declaration: &Declaration) -> std::result::Result<(), Fault> {
    Ok(())
}

/// Reads the lists and the archive's directory. Members are read when their shard is built.
///
/// # Errors
/// `Format` if a list does not have the expected layout, or if the archive contains a member that
/// is neither a registrant's member nor a page.
fn prepare(context: &Context<'_>) -> Result<Box<dyn Sharded>> {
    let archive = context
        .archives(ARCHIVE)?
        .pop()
        .ok_or_else(|| Error::format(format!("source `{ARCHIVE}` has no file")))?;
    let mut members = Vec::with_capacity(archive.members().len());
    for (place, member) in archive.members().iter().enumerate() {
        let known = SubmissionsMember::of_name(&member.name);
        members.push((
            known.ok_or_else(|| {
                Error::format(format!(
                    "member `{}` of `{ARCHIVE}` is neither a registrant's nor a page",
                    member.name
                ))
            })?,
            place,
        ));
    }
    members.sort_unstable();
    let now = by_cik(context.documents(NOW)?)?;
    let mut submissions = Submissions {
        archive,
        members,
        now,
        tickers: TickerLists::read(context)?,
        index: FilingIndex::read(context)?,
        shards: Vec::new(),
    };
    submissions.shards = submissions.find_shards();
    Ok(Box::new(submissions))
}

/// Returns a registrant's record id.
fn registrant_record(cik: Cik) -> String {
    format!("{REGISTRANT}:{cik}")
}

/// Returns a filing's record id, or the record id of an unreadable entry in its place.
fn filing_record(cik: Cik, accession: &str) -> String {
    format!("{FILING}:{cik}:{accession}")
}

/// Sources for registrants and filings.
struct Submissions {
    archive: SourceArchive,
    /// Members by registrant and page, each with its index in the archive's list.
    members: Vec<(SubmissionsMember, usize)>,
    /// Documents for single registrants that were fetched after the archive. They replace the
    /// registrants' own members.
    now: BTreeMap<Cik, SourceDocument>,
    tickers: TickerLists,
    index: FilingIndex,
    shards: Vec<Shard>,
}

impl Sharded for Submissions {
    fn shards(&self) -> &[Shard] {
        &self.shards
    }

    fn archives(&self) -> Vec<&SourceArchive> {
        vec![&self.archive]
    }

    fn members(&self, subject: &Subject) -> Result<Vec<Vec<&decode::Member>>> {
        let cik = subject
            .key
            .parse()
            .map_err(|error| Error::format(format!("registrant `{}`: {error}", subject.key)))?;
        Ok(vec![self.members_of(cik).collect()])
    }

    fn build(
        &self,
        shard: &Shard,
        subjects: &[&Subject],
        inputs: &mut Inputs,
    ) -> Result<Vec<Table>> {
        let mut registrants = RegistrantTable::new(&shard.key);
        let mut filings = FilingTable::new(&shard.key);
        let mut issues = Vec::new();
        for subject in subjects {
            let cik = subject
                .key
                .parse()
                .map_err(|error| Error::format(format!("shard {}: {error}", shard.key)))?;
            self.build_registrant(cik, inputs, &mut registrants, &mut filings, &mut issues)?;
        }
        let partition = BTreeMap::from([("bucket".to_owned(), shard.key.clone())]);
        let (of_registrants, of_filings) = issues
            .into_iter()
            .partition(|issue: &Issue| issue.dataset_id == REGISTRANT);
        Ok(vec![
            Table {
                dataset_id: REGISTRANT.to_owned(),
                partition: partition.clone(),
                frame: registrants.finish()?,
                issues: of_registrants,
            },
            Table {
                dataset_id: FILING.to_owned(),
                partition,
                frame: filings.finish()?,
                issues: of_filings,
            },
        ])
    }
}

/// A member or page in memory.
struct Content {
    name: String,
    page: u16,
    bytes: Vec<u8>,
    input: u64,
    number: u64,
}

impl Submissions {
    /// Returns every registrant in the members, lists or indexes, grouped by the last three digits
    /// of its CIK.
    fn find_shards(&self) -> Vec<Shard> {
        let ciks = self
            .members
            .iter()
            .map(|(member, _)| member.cik)
            .chain(self.tickers.ciks())
            .chain(self.index.ciks())
            .chain(self.now.keys().copied());
        shards_of(ciks.collect(), |cik| self.fingerprint(cik))
    }

    /// Hashes the registrant's members, its rows in the ticker lists and its rows in the indexes. A
    /// row's position in its file counts too, because reused records must have the same pointers as
    /// a full build. The SEC re-sorts the lists every day. Therefore each nightly run rebuilds ten
    /// thousand registrants, most of which filed something that day.
    fn fingerprint(&self, cik: Cik) -> Digest {
        let mut text = String::new();
        for member in self.members_of(cik) {
            text.push_str(&format!(
                "member {} {:08x} {}\n",
                member.name, member.crc32, member.size_bytes
            ));
        }
        if let Some(now) = self.now.get(&cik) {
            text.push_str(&format!("now {}\n", now.snapshot.sha256));
        }
        if let Some(tickers) = self.tickers.get(cik) {
            text.push_str(&tickers.source_text);
        }
        text.push_str(&self.index.source_text(cik));
        if let Some(name) = self.index.name(cik) {
            text.push_str(&format!("name {name}\n"));
        }
        Digest::sha256(text.as_bytes())
    }

    /// Returns the registrant's own member, followed by its pages in order.
    fn members_of(&self, cik: Cik) -> impl Iterator<Item = &decode::Member> {
        let start = self.members.partition_point(|(member, _)| member.cik < cik);
        self.members[start..]
            .iter()
            .take_while(move |(member, _)| member.cik == cik)
            .map(|(_, place)| &self.archive.members()[*place])
    }

    fn read_contents(&self, cik: Cik, inputs: &mut Inputs) -> Result<Vec<Content>> {
        let mut contents = Vec::new();
        if let Some(now) = self.now.get(&cik) {
            contents.push(Content {
                name: now.snapshot.url.clone(),
                page: 0,
                bytes: now.content.clone(),
                input: now.number,
                number: 0,
            });
        }
        for member in self.members_of(cik) {
            let mut bytes = Vec::new();
            self.archive.read(member, &mut bytes)?;
            let number = inputs.number_document(&member.name, Digest::of_member(&bytes));
            let page = SubmissionsMember::of_name(&member.name).map_or(0, |member| member.page);
            if page > 0 || !self.now.contains_key(&cik) {
                contents.push(Content {
                    name: member.name.clone(),
                    page,
                    bytes,
                    input: self.archive.number,
                    number,
                });
            }
        }
        Ok(contents)
    }

    /// Adds one registrant's rows.
    ///
    /// # Issues
    /// `member_unreadable` for a member or page that does not have the expected layout. The issue
    /// blocks the task, because a partial registrant would look complete, and the last good release
    /// contains all of it.
    fn build_registrant(
        &self,
        cik: Cik,
        inputs: &mut Inputs,
        registrants: &mut RegistrantTable,
        filings: &mut FilingTable,
        issues: &mut Vec<Issue>,
    ) -> Result<()> {
        let contents = self.read_contents(cik, inputs)?;
        let mut own: Option<(Member<'_>, Document<'_>)> = None;
        let mut pages: Vec<(Arrays<'_>, Document<'_>)> = Vec::new();
        for content in &contents {
            let read = std::str::from_utf8(&content.bytes)
                .map_err(|error| format!("is not UTF-8: {error}"))
                .and_then(|text| {
                    let document = Document {
                        text,
                        input: content.input,
                        member: content.number,
                    };
                    if content.page == 0 {
                        own = Some((read_own(cik, text)?, document));
                    } else {
                        pages.push((read_page(text)?, document));
                    }
                    Ok(())
                });
            if let Err(fault) = read {
                let detail = format!("{}: {fault}", content.name);
                issues.push(finding(
                    "member_unreadable",
                    Severity::Block,
                    FILING,
                    &filing_record(cik, &content.name),
                    detail.clone(),
                ));
                if content.page == 0 {
                    issues.push(finding(
                        "member_unreadable",
                        Severity::Block,
                        REGISTRANT,
                        &registrant_record(cik),
                        detail,
                    ));
                    return Ok(());
                }
            }
        }
        warn_of_unknown_keys(cik, own.as_ref().map(|(member, _)| member), &pages, issues);

        let mut listed: Vec<ListedFiling<'_>> = Vec::new();
        let mut activity = Activity::default();
        if let Some((member, document)) = &own {
            read_filings(cik, &member.recent, document, &mut listed, issues);
            for page in &member.pages {
                let name = page.name.as_ref().map_or("", |name| name.as_str());
                if self.archive.member(name).is_none() {
                    activity.missing_pages += 1;
                    activity.missing_filings += page.filing_count.unwrap_or(0);
                }
            }
        }
        for (arrays, document) in &pages {
            read_filings(cik, arrays, document, &mut listed, issues);
        }
        self.add_index_filings(cik, &mut listed);
        issues.extend(self.index.unreadable(cik).iter().cloned());
        // Within a member, the order of the listing counts. The submissions contain more details
        // than the indexes.
        listed.sort_by_key(|filing| (filing.accession, filing.listing));
        for listings in listed.chunk_by(|a, b| a.accession == b.accession) {
            activity.add(listings[0].form, listings[0].filed);
            filings.push(cik, listings, issues);
        }
        let tickers = self.tickers.get(cik);
        let mut pointers: Vec<u64> = own
            .iter()
            .flat_map(|(member, document)| document.pointer(Some((0, member.head_length))))
            .collect();
        pointers.extend(tickers.iter().flat_map(|tickers| tickers.pointers()));
        if pointers.is_empty() {
            pointers.extend(listed.last().iter().flat_map(|filing| filing.pointer));
        }
        let head = own.as_ref().map(|(member, _)| &member.head);
        registrants.push(
            Registrant {
                cik,
                head,
                tickers,
                index_name: self.index.name(cik),
                activity,
                pointers,
            },
            issues,
        );
        Ok(())
    }

    fn add_index_filings<'s>(&'s self, cik: Cik, listed: &mut Vec<ListedFiling<'s>>) {
        listed.extend(self.index.filings(cik).iter().map(|row| ListedFiling {
            accession: row.accession,
            form: self.index.form(row),
            filed: row.filed,
            accepted_at: None,
            period_of_report: None,
            act: None,
            file_number: None,
            film_number: None,
            items: None,
            size_bytes: None,
            // The index lists filings with XBRL, but does not show whether the XBRL is inline.
            has_xbrl: Some(true),
            has_inline_xbrl: None,
            primary_document: None,
            primary_document_description: None,
            listing: Listing::FullIndex,
            pointer: row.pointer(),
        }));
    }
}

/// Returns the offset and length of each accession number in a text, which is read both as a
/// registrant's own member and as a page.
#[cfg(fuzzing)]
pub fn filings_of_member(text: &str) -> Vec<(u64, u64)> {
    let cik: Cik = "320193".parse().expect("a CIK");
    let (member, page) = (read_own(cik, text).ok(), read_page(text).ok());
    let document = Document {
        text,
        input: 0,
        member: 0,
    };
    let (mut listed, mut issues) = (Vec::new(), Vec::new());
    warn_of_unknown_keys(cik, member.as_ref(), &[], &mut issues);
    for arrays in member.iter().map(|member| &member.recent).chain(&page) {
        let before = listed.len() + issues.len();
        read_filings(cik, arrays, &document, &mut listed, &mut issues);
        assert!(
            listed.len() + issues.len() >= before + arrays.count(),
            "every place of the arrays is a filing or a finding"
        );
    }
    listed
        .iter()
        .map(|filing| (filing.pointer[2], filing.pointer[3]))
        .collect()
}

/// Reads a registrant's own member and compares its CIK with the CIK in the member's name.
fn read_own(cik: Cik, text: &str) -> std::result::Result<Member<'_>, String> {
    let member = read_member(text)?;
    let own = member.head.cik.as_ref().map_or("", |text| text.as_str());
    if own.parse() == Ok(cik) {
        Ok(member)
    } else {
        Err(format!("says that its CIK is `{own}`"))
    }
}

/// Warns about unknown keys, once per registrant. The SEC adds keys every few years, and the other
/// values remain valid.
fn warn_of_unknown_keys(
    cik: Cik,
    own: Option<&Member<'_>>,
    pages: &[(Arrays<'_>, Document<'_>)],
    issues: &mut Vec<Issue>,
) {
    let mut keys = own.map(Member::unknown_keys).unwrap_or_default();
    keys.extend(
        pages
            .iter()
            .flat_map(|(arrays, _)| &arrays.unknown)
            .map(|key| format!("page.{key}")),
    );
    keys.sort();
    keys.dedup();
    if !keys.is_empty() {
        let detail = format!("keys that are neither read nor known: {}", keys.join(", "));
        issues.push(finding(
            "unknown_keys",
            Severity::Warning,
            REGISTRANT,
            &registrant_record(cik),
            detail,
        ));
    }
}
