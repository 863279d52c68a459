//! Turns the archives of the us-gaap, dei and srt taxonomies into one row for each concept in each
//! version. A row contains the concept's declaration in the schema, its labels and documentation,
//! and the totals it contributes to. Source: "XBRL 2.1" and "XBRL Dimensions 1.0"; the archives'
//! layout is defined by FASB and the SEC. Does not read presentation, definition or reference
//! linkbases, or registrants' extensions.

mod document;

use std::collections::BTreeMap;

use polars::prelude::*;
use rayon::prelude::*;
use serde::Deserialize;

use crate::datasets::Fault;
use crate::datasets::context::finding;
use crate::datasets::{Build, Builder, Context, SourceArchive, Table, settings};
use crate::decode::Member;
use crate::normalise::{list_column, pointer_column};
use document::{Element, Label, Range, Summation};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::{Declaration, expand};
use pubdata_core::provenance::POINTERS;

const CONCEPT: &str = "sec.concept";

const STANDARD_LABEL: &str = "http://www.xbrl.org/2003/role/label";
const DOCUMENTATION: &str = "http://www.xbrl.org/2003/role/documentation";
const DEPRECATED: &str = "http://www.xbrl.org/2009/role/deprecatedLabel";
const DEPRECATED_DATE: &str = "http://www.xbrl.org/2009/role/deprecatedDateLabel";

// Substitution groups, without their prefixes.
const ITEM: &str = "item";
const AXIS: &str = "dimensionItem";
const TABLE: &str = "hypercubeItem";
const PART_OF_REFERENCE: &str = "part";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Names of the members to read, without folders, with at most one `*`.
    members: Vec<String>,
    /// Parts that a complete archive contains, by taxonomy.
    parts: BTreeMap<String, Vec<Part>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    Schema,
    Labels,
    Documentation,
    Calculation,
}

impl Part {
    fn word(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Labels => "labels",
            Self::Documentation => "documentation",
            Self::Calculation => "calculation",
        }
    }
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 2,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let settings: Settings = settings(declaration)?;
    for (number, source) in declaration.sources.iter().enumerate() {
        for variable in ["taxonomy", "year"] {
            if !source.variables.contains_key(variable) {
                let message = format!("source `{}` has no variable `{variable}`", source.source_id);
                return Err(Fault {
                    table: "source".to_owned(),
                    number: Some(number),
                    key: String::new(),
                    message,
                });
            }
        }
        if let Some(taxonomy) = source.variables["taxonomy"]
            .values()
            .iter()
            .find(|taxonomy| !settings.parts.contains_key(*taxonomy))
        {
            return Err(Fault::in_settings(
                "parts",
                format!("has no line for `{taxonomy}`"),
            ));
        }
    }
    Ok(())
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let mut archives = Vec::new();
    for source in &context.declaration.sources {
        for archive in context
            .archives(&source.source_id)?
            .into_iter()
            .filter(|archive| context.is_selected(&archive.snapshot))
        {
            archives.push(Archive::new(context, &settings, archive)?);
        }
    }
    let read: Vec<(DataFrame, Vec<Issue>)> = archives
        .par_iter()
        .map(|archive| archive.read(context, &settings))
        .collect::<Result<_>>()?;
    let (mut concepts, mut issues) = (frame(&[])?, Vec::new());
    for (of_archive, found) in read {
        concepts.vstack_mut_owned(of_archive)?;
        issues.extend(found);
    }
    Ok(vec![Table {
        dataset_id: CONCEPT.to_owned(),
        partition: BTreeMap::new(),
        frame: concepts,
        issues,
    }])
}

/// One version of a taxonomy.
struct Archive {
    source: SourceArchive,
    taxonomy: String,
    /// Version as the publisher writes it: a date such as `2020-01-31`, and only the year from 2022
    /// on.
    version: String,
    year: i32,
    /// Members to read, with their numbers for pointers.
    members: Vec<(Member, u64)>,
}

/// Values stated about one concept, each with its pointer.
#[derive(Default)]
struct ConceptFields {
    element: Option<(Element, [u64; 4])>,
    labels: Vec<(Label, [u64; 4])>,
    summations: Vec<(Summation, [u64; 4])>,
}

impl Archive {
    fn new(context: &Context<'_>, settings: &Settings, source: SourceArchive) -> Result<Self> {
        let key = |name: &str| source.snapshot.keys.get(name).cloned().unwrap_or_default();
        let (taxonomy, version) = (key("taxonomy"), source.snapshot.source_version.clone());
        let year = key("year").chars().take(4).collect::<String>();
        let year = year.parse().map_err(|_| {
            Error::config(format!(
                "{}: `{year}` is no year",
                source.snapshot.source_id
            ))
        })?;
        let mut keys = source.snapshot.keys.clone();
        keys.insert("version".to_owned(), version.clone());
        let patterns = settings
            .members
            .iter()
            .map(|pattern| expand(pattern, &keys))
            .collect::<Result<Vec<String>>>()?;
        let is_selected = |member: &Member| {
            patterns
                .iter()
                .any(|pattern| is_file(pattern, &member.name))
        };
        // Number the members before several threads read them, so that the same archives result in
        // the same numbers.
        let members = source.members().iter().filter(|member| is_selected(member));
        let members = members
            .map(|member| (member.clone(), context.member_number(member)))
            .collect();
        Ok(Self {
            source,
            taxonomy,
            version,
            year,
            members,
        })
    }

    /// Returns the name of the taxonomy and the version, as used in record ids.
    fn record_id(&self) -> String {
        format!("{CONCEPT}:{}:{}", self.taxonomy, self.version)
    }

    fn read(&self, context: &Context<'_>, settings: &Settings) -> Result<(DataFrame, Vec<Issue>)> {
        let mut namespace = None;
        let mut concepts: BTreeMap<String, ConceptFields> = BTreeMap::new();
        let mut issues = Vec::new();
        let mut content = Vec::new();
        for (member, number) in &self.members {
            self.source.read(member, &mut content)?;
            let place = || {
                format!(
                    "{} ({}) member {}",
                    self.source.snapshot.source_id, self.source.snapshot.url, member.name
                )
            };
            let document = document::read(&content).context(place)?;
            let pointer = |(offset, length): Range| [self.source.number, *number, offset, length];
            for element in document.elements {
                namespace.clone_from(&document.namespace);
                let pointer = pointer(element.range);
                match concept_id(&self.taxonomy, &element) {
                    Ok(None) => {}
                    Ok(Some(id)) => {
                        if concepts
                            .entry(id.clone())
                            .or_default()
                            .element
                            .replace((element, pointer))
                            .is_some()
                        {
                            return Err(Error::format(format!("element `{id}` is declared twice"))
                                .context(place()));
                        }
                    }
                    Err((code, detail)) => {
                        let name = element
                            .name
                            .as_deref()
                            .or(element.id.as_deref())
                            .unwrap_or("?");
                        let mut issue = finding(
                            code,
                            Severity::Quarantine,
                            CONCEPT,
                            &format!("{}:{name}", self.record_id()),
                            detail,
                        );
                        issue.pointer = context.resolve(&pointer).pop();
                        issues.push(issue);
                    }
                }
            }
            for label in document.labels {
                let pointer = pointer(label.range);
                concepts
                    .entry(label.element_id.clone())
                    .or_default()
                    .labels
                    .push((label, pointer));
            }
            for summation in document.summations {
                let pointer = pointer(summation.range);
                concepts
                    .entry(summation.child_id.clone())
                    .or_default()
                    .summations
                    .push((summation, pointer));
            }
        }
        let absent = self.absent_parts(settings, &concepts, &mut issues);
        let rows = self.rows(namespace.as_deref(), &absent, concepts, &mut issues);
        Ok((frame(&rows)?, issues))
    }

    /// Returns the parts that are missing from the archive. Values from these parts are null.
    fn absent_parts(
        &self,
        settings: &Settings,
        concepts: &BTreeMap<String, ConceptFields>,
        issues: &mut Vec<Issue>,
    ) -> Vec<Part> {
        let has = |part: Part| {
            concepts.values().any(|said| match part {
                Part::Schema => said.element.is_some(),
                Part::Labels => said
                    .labels
                    .iter()
                    .any(|(label, _)| label.role == STANDARD_LABEL),
                Part::Documentation => said
                    .labels
                    .iter()
                    .any(|(label, _)| label.role == DOCUMENTATION),
                Part::Calculation => !said.summations.is_empty(),
            })
        };
        let absent: Vec<Part> = [
            Part::Schema,
            Part::Labels,
            Part::Documentation,
            Part::Calculation,
        ]
        .into_iter()
        .filter(|part| !has(*part))
        .collect();
        let expected = settings
            .parts
            .get(&self.taxonomy)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let missing: Vec<&str> = absent
            .iter()
            .filter(|part| expected.contains(part))
            .map(|part| part.word())
            .collect();
        if !missing.is_empty() {
            let detail = format!(
                "{} has no {}: columns made from it are null",
                self.source.snapshot.url,
                missing.join(", no ")
            );
            issues.push(finding(
                "absent_part",
                Severity::Warning,
                CONCEPT,
                &self.record_id(),
                detail,
            ));
        }
        absent
    }

    fn rows(
        &self,
        namespace: Option<&str>,
        absent: &[Part],
        concepts: BTreeMap<String, ConceptFields>,
        issues: &mut Vec<Issue>,
    ) -> Vec<Row> {
        let prefix = format!("{}_", self.taxonomy);
        let dates_elements = concepts
            .values()
            .filter_map(|said| said.element.as_ref())
            .any(|(element, _)| element.deprecated_date.is_some());
        let has_text = !absent.contains(&Part::Labels) && !absent.contains(&Part::Documentation);
        let version = Version {
            archive: self,
            namespace,
            absent,
            knows_deprecation: dates_elements || has_text,
        };
        let mut undeclared = Vec::new();
        let mut rows = Vec::with_capacity(concepts.len());
        for (id, said) in concepts {
            match id.strip_prefix(&prefix) {
                // Without a schema, linkbases are the only source of concepts.
                Some(name) if said.element.is_some() || absent.contains(&Part::Schema) => {
                    rows.push(Row::new(&version, name, said, issues));
                }
                _ => undeclared.push(id),
            }
        }
        if !undeclared.is_empty() {
            let shown = undeclared
                .iter()
                .take(5)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let detail = format!(
                "{} elements with labels or totals in {} are not declared there: {shown}",
                undeclared.len(),
                self.source.snapshot.url
            );
            issues.push(finding(
                "undeclared_concept",
                Severity::Warning,
                CONCEPT,
                &self.record_id(),
                detail,
            ));
        }
        rows
    }
}

/// Returns the element's id if the element declares a concept, otherwise `None`.
fn concept_id(
    taxonomy: &str,
    element: &Element,
) -> std::result::Result<Option<String>, (&'static str, String)> {
    let Some(group) = &element.substitution_group else {
        return Ok(None);
    };
    match local_name(group) {
        ITEM | AXIS | TABLE => {}
        PART_OF_REFERENCE => return Ok(None),
        _ => {
            return Err((
                "unknown_category",
                format!("substitution group `{group}`: decide what such a concept is"),
            ));
        }
    }
    let required = [
        ("id", &element.id),
        ("name", &element.name),
        ("type", &element.data_type),
        ("periodType", &element.period_type),
    ];
    if let Some((name, _)) = required.iter().find(|(_, value)| value.is_none()) {
        return Err((
            "missing_value",
            format!("the element has no attribute `{name}`"),
        ));
    }
    let categories: [(&str, &Option<String>, &[&str]); 4] = [
        ("periodType", &element.period_type, &["instant", "duration"]),
        ("balance", &element.balance, &["debit", "credit"]),
        (
            "abstract",
            &element.is_abstract,
            &["true", "false", "1", "0"],
        ),
        (
            "nillable",
            &element.is_nillable,
            &["true", "false", "1", "0"],
        ),
    ];
    for (name, value, known) in categories {
        if let Some(value) = value.as_deref().filter(|value| !known.contains(value)) {
            return Err((
                "bad_value",
                format!("{name} is `{value}`, not one of {}", known.join(", ")),
            ));
        }
    }
    let (id, name) = (
        element.id.clone().unwrap_or_default(),
        element.name.as_deref().unwrap_or_default(),
    );
    if id != format!("{taxonomy}_{name}") {
        // Linkbases name elements by id. An id that does not follow the name could not be
        // distinguished from an id in another taxonomy.
        return Err((
            "bad_value",
            format!("id is `{id}`, not `{taxonomy}_{name}`"),
        ));
    }
    Ok(Some(id))
}

/// Values shared by all concepts in an archive.
struct Version<'a> {
    archive: &'a Archive,
    namespace: Option<&'a str>,
    absent: &'a [Part],
    /// True if the archive contains the parts that show deprecation.
    knows_deprecation: bool,
}

/// A record in the table.
#[derive(Default)]
struct Row {
    record_id: String,
    taxonomy: String,
    version: String,
    year: i32,
    concept: String,
    namespace: Option<String>,
    kind: Option<&'static str>,
    element: Option<Element>,
    label: Option<String>,
    documentation: Option<String>,
    other_labels: Vec<String>,
    is_deprecated: Option<bool>,
    deprecated_date: Option<String>,
    deprecated_note: Option<String>,
    calculation_parents: Vec<String>,
    absent_parts: Vec<&'static str>,
    pointers: Vec<u64>,
}

impl Row {
    fn new(
        version: &Version<'_>,
        name: &str,
        mut said: ConceptFields,
        issues: &mut Vec<Issue>,
    ) -> Self {
        let archive = version.archive;
        let mut row = Self {
            record_id: format!("{}:{name}", archive.record_id()),
            taxonomy: archive.taxonomy.clone(),
            version: archive.version.clone(),
            year: archive.year,
            concept: name.to_owned(),
            absent_parts: version.absent.iter().map(|part| part.word()).collect(),
            ..Self::default()
        };
        if let Some((element, pointer)) = said.element.take() {
            row.kind = Some(kind(&element));
            row.namespace = version.namespace.map(str::to_owned);
            row.deprecated_date.clone_from(&element.deprecated_date);
            row.pointers.extend(pointer);
            row.element = Some(element);
        }
        row.take_labels(said.labels, issues);
        row.take_summations(said.summations);
        let by_text = || {
            [&row.label, &row.documentation]
                .into_iter()
                .flatten()
                .find_map(|text| deprecation_date(text))
        };
        row.deprecated_date = row
            .deprecated_date
            .take()
            .or_else(|| by_text().map(str::to_owned));
        let is_deprecated = row.deprecated_date.is_some() || row.deprecated_note.is_some();
        row.is_deprecated = (is_deprecated || version.knows_deprecation).then_some(is_deprecated);
        row
    }

    /// Adds the English labels. If a role has several labels, uses the first and adds an issue.
    fn take_labels(&mut self, mut labels: Vec<(Label, [u64; 4])>, issues: &mut Vec<Issue>) {
        labels.retain(|(label, _)| {
            label.language.is_empty() || label.language.to_ascii_lowercase().starts_with("en")
        });
        labels.sort_by(|(a, at), (b, bt)| {
            (role_order(&a.role), &a.role, at).cmp(&(role_order(&b.role), &b.role, bt))
        });
        for (first, second) in labels.iter().zip(labels.iter().skip(1)) {
            if first.0.role == second.0.role && first.0.text != second.0.text {
                let detail = format!(
                    "two texts in the role `{}`; the first is published",
                    first.0.role
                );
                issues.push(finding(
                    "ambiguous_label",
                    Severity::Warning,
                    CONCEPT,
                    &self.record_id,
                    detail,
                ));
            }
        }
        labels.dedup_by(|(second, _), (first, _)| first.role == second.role);
        for (label, pointer) in labels
            .into_iter()
            .filter(|(label, _)| !label.text.is_empty())
        {
            self.pointers.extend(pointer);
            match label.role.as_str() {
                STANDARD_LABEL => self.label = Some(label.text),
                DOCUMENTATION => self.documentation = Some(label.text),
                DEPRECATED => self.deprecated_note = Some(label.text),
                DEPRECATED_DATE => self.deprecated_date = Some(label.text),
                role => self
                    .other_labels
                    .push(format!("{}: {}", last_segment(role), label.text)),
            }
        }
    }

    fn take_summations(&mut self, mut summations: Vec<(Summation, [u64; 4])>) {
        summations.sort_by(|(a, at), (b, bt)| {
            (&a.role, &a.parent_id, at).cmp(&(&b.role, &b.parent_id, bt))
        });
        for (summation, pointer) in summations {
            let parent = format!(
                "{}|{}|{}",
                summation.parent_id.replacen('_', ":", 1),
                weight(&summation.weight),
                summation.role
            );
            // Several files may state the same relationship.
            if self.calculation_parents.last() != Some(&parent) {
                self.calculation_parents.push(parent);
                self.pointers.extend(pointer);
            }
        }
    }

    fn attribute(&self, of: impl Fn(&Element) -> &Option<String>) -> Option<&str> {
        self.element
            .as_ref()
            .and_then(|element| of(element).as_deref())
    }

    /// Returns a boolean attribute, which is false if absent. Returns `None` without a schema.
    fn is(&self, of: impl Fn(&Element) -> &Option<String>) -> Option<bool> {
        self.element
            .as_ref()
            .map(|element| matches!(of(element).as_deref(), Some("true" | "1")))
    }
}

fn kind(element: &Element) -> &'static str {
    let is_abstract = matches!(element.is_abstract.as_deref(), Some("true" | "1"));
    match element.substitution_group.as_deref().map(local_name) {
        Some(AXIS) => "axis",
        Some(TABLE) => "table",
        _ if element.data_type.as_deref().map(local_name) == Some("domainItemType") => "member",
        _ if is_abstract => "heading",
        _ => "item",
    }
}

/// Sorts the standard label first, followed by the documentation and then the other labels.
fn role_order(role: &str) -> u8 {
    match role {
        STANDARD_LABEL => 0,
        DOCUMENTATION => 1,
        _ => 2,
    }
}

fn local_name(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

fn last_segment(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap_or(uri)
}

/// Removes trailing zeros from a weight: `1.0` becomes `1`.
fn weight(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Returns the date in `… (Deprecated 2011-01-31)`. Labels and documentation have ended with this
/// text since 2012. Some contain only the year.
fn deprecation_date(text: &str) -> Option<&str> {
    let (_, note) = text.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let date = note
        .strip_prefix("Deprecated ")
        .or_else(|| note.strip_prefix("deprecated "))?;
    let is_date = matches!(date.len(), 4 | 10)
        && date.bytes().enumerate().all(|(place, byte)| {
            if matches!(place, 4 | 7) {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    is_date.then_some(date)
}

/// Returns true if a member's file name, without folders, matches a pattern with at most one `*`.
fn is_file(pattern: &str, member: &str) -> bool {
    let name = last_segment(member);
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

fn frame(rows: &[Row]) -> Result<DataFrame> {
    let required = |name: &str, of: &dyn Fn(&Row) -> &str| {
        StringChunked::from_iter_values(name.into(), rows.iter().map(of)).into_column()
    };
    let text = |name: &str, of: &dyn Fn(&Row) -> Option<&str>| {
        StringChunked::from_iter(rows.iter().map(of))
            .with_name(name.into())
            .into_column()
    };
    let flag = |name: &str, of: &dyn Fn(&Row) -> Option<bool>| {
        rows.iter()
            .map(of)
            .collect::<BooleanChunked>()
            .with_name(name.into())
            .into_column()
    };
    let columns = vec![
        required("record_id", &|row| &row.record_id),
        required("taxonomy", &|row| &row.taxonomy),
        required("version", &|row| &row.version),
        Column::new(
            "taxonomy_year".into(),
            rows.iter().map(|row| row.year).collect::<Vec<i32>>(),
        ),
        required("concept", &|row| &row.concept),
        text("namespace", &|row| row.namespace.as_deref()),
        text("kind", &|row| row.kind),
        text("data_type", &|row| {
            row.attribute(|element| &element.data_type)
        }),
        text("period_type", &|row| {
            row.attribute(|element| &element.period_type)
        }),
        text("balance", &|row| row.attribute(|element| &element.balance)),
        text("substitution_group", &|row| {
            row.attribute(|element| &element.substitution_group)
        }),
        flag("is_abstract", &|row| row.is(|element| &element.is_abstract)),
        flag("is_nillable", &|row| row.is(|element| &element.is_nillable)),
        text("label", &|row| row.label.as_deref()),
        text("documentation", &|row| row.documentation.as_deref()),
        list_column("other_labels", rows.iter().map(|row| &row.other_labels)),
        flag("is_deprecated", &|row| row.is_deprecated),
        text("deprecated_date", &|row| row.deprecated_date.as_deref()),
        text("deprecated_note", &|row| row.deprecated_note.as_deref()),
        list_column(
            "calculation_parents",
            rows.iter().map(|row| &row.calculation_parents),
        ),
        list_column("absent_parts", rows.iter().map(|row| &row.absent_parts)),
        pointer_column(rows.iter().map(|row| row.pointers.as_slice())).with_name(POINTERS.into()),
    ];
    Ok(DataFrame::new(rows.len(), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(change: impl FnOnce(&mut Element)) -> Element {
        let text = |text: &str| Some(text.to_owned());
        let mut element = Element {
            id: text("dei_Name"),
            name: text("Name"),
            data_type: text("xbrli:stringItemType"),
            substitution_group: text("xbrli:item"),
            period_type: text("duration"),
            ..Element::default()
        };
        change(&mut element);
        element
    }

    #[test]
    fn element_is_a_concept_or_skipped_or_quarantined() {
        let set = |value: &str| Some(value.to_owned());
        let verdict = |change: fn(&mut Element)| {
            concept_id("dei", &element(change)).map_err(|(code, _)| code)
        };
        assert_eq!(verdict(|_| {}), Ok(set("dei_Name")));
        assert_eq!(
            verdict(|element| element.substitution_group = None),
            Ok(None)
        );
        assert_eq!(
            verdict(|element| element.substitution_group = Some("link:part".to_owned())),
            Ok(None)
        );
        assert_eq!(
            verdict(|element| element.substitution_group = Some("xbrli:tuple".to_owned())),
            Err("unknown_category")
        );
        assert_eq!(
            verdict(|element| element.period_type = None),
            Err("missing_value")
        );
        assert_eq!(
            verdict(|element| element.period_type = Some("forever".to_owned())),
            Err("bad_value")
        );
        assert_eq!(
            verdict(|element| element.balance = Some("left".to_owned())),
            Err("bad_value")
        );
        assert_eq!(
            verdict(|element| element.is_abstract = Some("yes".to_owned())),
            Err("bad_value")
        );
        assert_eq!(
            verdict(|element| element.id = Some("srt_Name".to_owned())),
            Err("bad_value")
        );
    }

    #[test]
    fn deprecation_is_read_from_the_end_of_a_text() {
        assert_eq!(
            deprecation_date("Sales (Deprecated 2018-01-31)"),
            Some("2018-01-31")
        );
        assert_eq!(
            deprecation_date("Sales (net) (deprecated 2018) "),
            Some("2018")
        );
        for text in [
            "Sales",
            "(Deprecated 2018-01-31) Sales",
            "Sales (Deprecated soon)",
            "Sales (Deprecated 2018/01/31)",
            "Sales Deprecated 2018)",
        ] {
            assert_eq!(deprecation_date(text), None, "{text}");
        }
    }

    #[test]
    fn weights_lose_only_zeros_that_say_nothing() {
        assert_eq!(
            ["1.0", "-1.0", "1", "10", "0.50", "1."].map(weight),
            ["1", "-1", "1", "10", "0.5", "1"]
        );
    }
}
