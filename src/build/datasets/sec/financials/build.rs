//! Builds a bucket's figures. Reads its registrants' facts and submissions, selects the figures,
//! and builds the rows of three tables. Facts fetched for a single registrant replace those in the
//! archive.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use polars::prelude::*;

use super::frames::{LINES, Source, VALUES, lines_frame, values_frame};
use super::rules;
use super::select::{Selected, select};
use super::settings::Rules;
use crate::datasets::context::finding;
use crate::datasets::sec::company_facts::{ConceptFilter, Decoder, parse};
use crate::datasets::sec::fact::CompanyFacts;
use crate::datasets::sec::filing::{Filing, by_cik, periodic_filings};
use crate::datasets::sec::shards::shards_of;
use crate::datasets::{Context, Shard, Sharded, SourceArchive, SourceDocument, Subject, Table};
use crate::decode::Member;
use crate::normalise::{list_column, pointer_column};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Cik, Digest};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::{Inputs, SourcePointer};

const MEMBERS: &str = "sec.archive_member";
const FACTS: &str = "sec.companyfacts";
const FACTS_NOW: &str = "sec.companyfacts_api";
const SUBMISSIONS: &str = "sec.submissions";
const SUBMISSIONS_NOW: &str = "sec.submissions_api";

/// Reads the archives' directories. Members are read when their shard is built.
///
/// # Errors
/// `Format` if an archive is invalid, or if the facts archive contains a member that is not named
/// after a registrant.
pub(in crate::datasets) fn prepare(context: &Context<'_>) -> Result<Box<dyn Sharded>> {
    let rules = rules(context.declaration)?;
    let concept_filter = ConceptFilter::new(rules.concepts.iter().map(String::as_str))?;
    let archive = |source_id: &str| {
        context
            .archives(source_id)?
            .pop()
            .ok_or_else(|| Error::format(format!("source `{source_id}` has no file")))
    };
    let mut financials = Financials {
        facts: archive(FACTS)?,
        submissions: archive(SUBMISSIONS)?,
        facts_now: by_cik(context.documents(FACTS_NOW)?)?,
        submissions_now: by_cik(context.documents(SUBMISSIONS_NOW)?)?,
        shards: Vec::new(),
        concept_filter,
        rules,
    };
    financials.shards = financials.find_shards()?;
    Ok(Box::new(financials))
}

/// Returns the registrant for a member of the facts archive: `CIK0000320193.json`.
fn cik_of(member: &Member) -> Option<Cik> {
    let digits = member.name.strip_prefix("CIK")?.strip_suffix(".json")?;
    if digits.len() == 10 {
        digits.parse().ok()
    } else {
        None
    }
}

/// Sources of the figures, and the rules for selecting them.
struct Financials {
    rules: Rules,
    concept_filter: ConceptFilter,
    facts: SourceArchive,
    submissions: SourceArchive,
    /// Facts for single registrants that were fetched after the archives. The next field contains
    /// their submissions.
    facts_now: BTreeMap<Cik, SourceDocument>,
    submissions_now: BTreeMap<Cik, SourceDocument>,
    shards: Vec<Shard>,
}

/// Location of a registrant's facts.
struct FactsDocument {
    source_id: &'static str,
    /// Member name, or document URL.
    name: String,
    input: u64,
    /// Snapshot of a document that was fetched separately; `None` for a member.
    snapshot: Option<Digest>,
}

/// A registrant's sources and its selected figures.
struct Company {
    source_id: &'static str,
    /// Member name, or document URL.
    name: String,
    digest: Digest,
    size_bytes: u64,
    decoder: Decoder,
    input: u64,
    member: u64,
    facts: CompanyFacts,
    selected: Selected,
}

impl Sharded for Financials {
    fn shards(&self) -> &[Shard] {
        &self.shards
    }

    fn archives(&self) -> Vec<&SourceArchive> {
        vec![&self.facts, &self.submissions]
    }

    fn members(&self, subject: &Subject) -> Result<Vec<Vec<&Member>>> {
        let cik = subject
            .key
            .parse()
            .map_err(|error| Error::format(format!("registrant `{}`: {error}", subject.key)))?;
        Ok(vec![
            self.facts_member(cik).into_iter().collect(),
            self.submissions_members(cik).iter().collect(),
        ])
    }

    fn build(
        &self,
        shard: &Shard,
        subjects: &[&Subject],
        inputs: &mut Inputs,
    ) -> Result<Vec<Table>> {
        // Read the largest member first, so that its buffer is large enough for the other members.
        let mut by_size: Vec<usize> = (0..subjects.len()).collect();
        let ciks = subjects.iter().map(|subject| {
            subject
                .key
                .parse()
                .map_err(|error| Error::format(format!("shard {}: {error}", shard.key)))
        });
        let ciks: Vec<Cik> = ciks.collect::<Result<_>>()?;
        by_size.sort_by_key(|place| Reverse(self.facts_bytes(ciks[*place])));
        let mut made: Vec<Option<std::result::Result<Company, Issue>>> =
            subjects.iter().map(|_| None).collect();
        let mut content = Vec::new();
        for place in by_size {
            let document = self.read_facts(ciks[place], &mut content)?;
            made[place] = Some(self.company(ciks[place], document, &content, inputs)?);
        }
        let mut companies = Vec::with_capacity(subjects.len());
        let (mut of_values, mut of_members) = (Vec::new(), Vec::new());
        for company in made.into_iter().flatten() {
            match company {
                Ok(company) => {
                    let pointer = SourcePointer {
                        source_id: company.source_id.to_owned(),
                        snapshot: company.digest,
                        member: (company.member != 0).then(|| company.name.clone()),
                        offset: 0,
                        length: 0,
                    };
                    of_values.extend(company.selected.findings.iter().map(|finding| {
                        finding.issue(&self.rules, &company.selected, pointer.clone())
                    }));
                    of_values.extend(self.malformed_facts(
                        company.selected.cik,
                        &company,
                        &pointer,
                    ));
                    companies.push(company);
                }
                Err(issue) => of_members.push(issue),
            }
        }
        let sources: Vec<Source<'_>> = companies
            .iter()
            .map(|company| Source {
                selected: &company.selected,
                input: company.input,
                member: company.member,
                size_bytes: company.size_bytes,
            })
            .collect();
        let table = |dataset_id: &str, frame, issues| Table {
            dataset_id: dataset_id.to_owned(),
            partition: BTreeMap::from([("bucket".to_owned(), shard.key.clone())]),
            frame,
            issues,
        };
        Ok(vec![
            table(
                VALUES,
                values_frame(&shard.key, &self.rules, &sources)?,
                of_values,
            ),
            table(
                LINES,
                lines_frame(&shard.key, &self.rules, &sources)?,
                Vec::new(),
            ),
            table(MEMBERS, members_frame(&shard.key, &companies)?, of_members),
        ])
    }
}

impl Financials {
    fn find_shards(&self) -> Result<Vec<Shard>> {
        let mut ciks = Vec::with_capacity(self.facts.members().len());
        for member in self.facts.members() {
            let cik = cik_of(member);
            ciks.push(cik.ok_or_else(|| {
                Error::format(format!(
                    "member `{}` of `{FACTS}` is not named after a registrant",
                    member.name
                ))
            })?);
        }
        ciks.extend(self.facts_now.keys());
        Ok(shards_of(ciks, |cik| self.fingerprint(cik)))
    }

    /// Hashes the registrant's facts and submissions. The submissions state when a report's period
    /// ended.
    fn fingerprint(&self, cik: Cik) -> Digest {
        let mut text = String::new();
        let mut add_member = |member: &Member| {
            text.push_str(&format!(
                "{} {:08x} {}\n",
                member.name, member.crc32, member.size_bytes
            ));
        };
        self.facts_member(cik).into_iter().for_each(&mut add_member);
        self.submissions_members(cik)
            .iter()
            .for_each(&mut add_member);
        for document in [self.facts_now.get(&cik), self.submissions_now.get(&cik)]
            .into_iter()
            .flatten()
        {
            text.push_str(&format!(
                "{} {}\n",
                document.snapshot.source_id, document.snapshot.sha256
            ));
        }
        Digest::sha256(text.as_bytes())
    }

    fn facts_member(&self, cik: Cik) -> Option<&Member> {
        self.facts.member(&format!("CIK{cik}.json"))
    }

    /// Returns the registrant's own member and its pages, in name order.
    fn submissions_members(&self, cik: Cik) -> &[Member] {
        let (own, page) = (format!("CIK{cik}.json"), format!("CIK{cik}-"));
        let members = self.submissions.members();
        let from = members.partition_point(|member| member.name.as_str() < page.as_str());
        let count = members[from..]
            .iter()
            .take_while(|member| member.name == own || member.name.starts_with(&page))
            .count();
        &members[from..from + count]
    }

    /// Returns the size of a registrant's facts in bytes.
    fn facts_bytes(&self, cik: Cik) -> u64 {
        match (self.facts_now.get(&cik), self.facts_member(cik)) {
            (Some(now), _) => now.content.len() as u64,
            (None, member) => member.map_or(0, |member| member.size_bytes),
        }
    }

    /// Reads a registrant's facts and returns their location.
    fn read_facts(&self, cik: Cik, content: &mut Vec<u8>) -> Result<FactsDocument> {
        match (self.facts_now.get(&cik), self.facts_member(cik)) {
            (Some(now), _) => {
                content.clone_from(&now.content);
                Ok(FactsDocument {
                    source_id: FACTS_NOW,
                    name: now.snapshot.url.clone(),
                    input: now.number,
                    snapshot: Some(now.snapshot.sha256),
                })
            }
            (None, Some(member)) => {
                self.facts.read(member, content)?;
                Ok(FactsDocument {
                    source_id: FACTS,
                    name: member.name.clone(),
                    input: self.facts.number,
                    snapshot: None,
                })
            }
            (None, None) => Err(Error::format(format!("registrant {cik} has no facts"))),
        }
    }

    /// Reads a registrant's other sources and selects its figures. Returns an issue if the
    /// registrant's facts cannot be read.
    fn company(
        &self,
        cik: Cik,
        document: FactsDocument,
        content: &[u8],
        inputs: &mut Inputs,
    ) -> Result<std::result::Result<Company, Issue>> {
        let FactsDocument {
            source_id,
            name,
            input,
            snapshot,
        } = document;
        let unreadable = |detail: String| {
            finding(
                "member_unreadable",
                Severity::Block,
                MEMBERS,
                &format!("{MEMBERS}:{cik}"),
                format!("{name}: {detail}"),
            )
        };
        let filings = match self.filings(cik)? {
            Ok(filings) => filings,
            Err(error) => {
                return Ok(Err(unreadable(format!(
                    "its submissions cannot be read: {error}"
                ))));
            }
        };
        let (facts, decoder) = match parse(content, &self.concept_filter) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(Err(unreadable(error.to_string()))),
        };
        if facts.cik != cik.number() {
            return Ok(Err(unreadable(format!(
                "says that its CIK is {}",
                facts.cik
            ))));
        }
        let digest = snapshot.unwrap_or_else(|| Digest::of_member(content));
        let member = if snapshot.is_none() {
            inputs.number_document(&name, digest)
        } else {
            0
        };
        let selected = select(cik, &facts, &filings, &self.rules);
        Ok(Ok(Company {
            source_id,
            size_bytes: content.len() as u64,
            name,
            digest,
            decoder,
            input,
            member,
            facts,
            selected,
        }))
    }

    /// Returns a registrant's periodic reports. The inner error describes unreadable submissions. A
    /// separately fetched document contains the newest reports; older pages come from the archive.
    fn filings(&self, cik: Cik) -> Result<std::result::Result<Vec<Filing>, Error>> {
        let (mut own, mut pages) = (Vec::new(), Vec::new());
        own.extend(
            self.submissions_now
                .get(&cik)
                .map(|now| now.content.clone()),
        );
        for member in self.submissions_members(cik) {
            let mut bytes = Vec::new();
            self.submissions.read(member, &mut bytes)?;
            if member.name.contains('-') {
                pages.push(bytes);
            } else {
                own.push(bytes);
            }
        }
        let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
        let Some((newest, older)) = own.split_first() else {
            return Ok(Ok(Vec::new()));
        };
        let read = || {
            let mut filings = periodic_filings(newest, &pages)?;
            for bytes in older {
                filings.extend(periodic_filings(bytes, &[])?);
            }
            let mut seen = HashSet::with_capacity(filings.len());
            filings.retain(|filing| seen.insert(filing.accession));
            Ok(filings)
        };
        Ok(read())
    }

    /// Returns issues about facts for wanted concepts that do not follow the format.
    fn malformed_facts<'a>(
        &'a self,
        cik: Cik,
        company: &'a Company,
        pointer: &'a SourcePointer,
    ) -> impl Iterator<Item = Issue> + 'a {
        company.facts.malformed.iter().map(move |malformed| {
            let concept = self.rules.concept(malformed.concept);
            let record = format!("{VALUES}:{cik}:{concept}@{}", malformed.offset);
            let mut issue = finding(
                "malformed_fact",
                Severity::Quarantine,
                VALUES,
                &record,
                format!("{concept}: {}", malformed.detail),
            );
            issue.pointer = Some(SourcePointer {
                offset: malformed.offset.into(),
                length: malformed.length.into(),
                ..pointer.clone()
            });
            issue
        })
    }
}

/// Builds the rows of `sec.archive_member`: one per member, with the reason if the member is not
/// published.
fn members_frame(bucket: &str, companies: &[Company]) -> Result<DataFrame> {
    let texts = |name: &str, text: &dyn Fn(&Company) -> String| {
        StringChunked::from_iter_values(name.into(), companies.iter().map(text)).into_column()
    };
    let counts = |name: &str, count: &dyn Fn(&Company) -> u64| {
        let counts: Int64Chunked = companies
            .iter()
            .map(|company| i64::try_from(count(company)).ok())
            .collect();
        counts.with_name(name.into()).into_column()
    };
    let pointers: Vec<[u64; 4]> = companies
        .iter()
        .map(|company| [company.input, company.member, 0, company.size_bytes])
        .collect();
    let columns = vec![
        texts("record_id", &|company| {
            format!("{MEMBERS}:{}", company.selected.cik)
        }),
        StringChunked::full("bucket".into(), bucket, companies.len()).into_column(),
        texts("cik", &|company| company.selected.cik.to_string()),
        texts("source_id", &|company| company.source_id.to_owned()),
        texts("member", &|company| company.name.clone()),
        texts("member_digest", &|company| company.digest.to_string()),
        counts("size_bytes", &|company| company.size_bytes),
        texts("entity_name", &|company| company.facts.entity_name.clone()),
        list_column(
            "taxonomies",
            companies.iter().map(|company| &company.facts.taxonomies),
        ),
        counts("facts_total", &|company| company.facts.facts_total),
        counts("facts_used", &|company| company.facts.facts.len() as u64),
        texts("decoder", &|company| company.decoder.name().to_owned()),
        texts("outcome", &|company| {
            company.selected.outcome.name().to_owned()
        }),
        pointer_column(pointers.iter().map(<[u64; 4]>::as_slice)),
    ];
    Ok(DataFrame::new(companies.len(), columns)?)
}
