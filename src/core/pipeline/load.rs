//! Reads all declarations. Checks each declaration individually, against the other declarations,
//! and against the contracts. Reports all errors, not just the first one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rayon::prelude::*;

use super::{
    Declaration, Editions, Format, LabelRange, Schedule, Source, Variable, normalized_name,
    suggested,
};
use crate::contract::{self, Contracts};
use crate::declared::{self, DeclarationFiles, Finding, TablePath};
use crate::error::{Error, Result};

/// Maximum number of buckets. More buckets would create too many files.
const MAX_BUCKETS: u32 = 4_096;

/// All declarations and contracts of one installation.
#[derive(Debug, Clone)]
pub struct Declarations {
    /// Declarations by pipeline id.
    pub pipelines: BTreeMap<String, Declaration>,
    pub contracts: Contracts,
    /// Files stored with the declarations, which sources refer to as `bundled:PATH`.
    pub files: DeclarationFiles,
}

impl Declarations {
    /// Reads and checks all declarations and contracts. The error lists the first findings.
    ///
    /// # Errors
    /// `Config`, naming the file, line and key of each finding.
    pub fn load(files: DeclarationFiles) -> Result<Self> {
        let (declarations, findings) = Self::check(files);
        if findings.is_empty() {
            return Ok(declarations);
        }
        let lines: Vec<String> = findings.iter().take(20).map(Finding::to_string).collect();
        Err(Error::config(format!(
            "declarations are not valid:\n  {}",
            lines.join("\n  ")
        ))
        .hint("`pubdata check` lists every finding"))
    }

    /// Reads all declarations and contracts. Returns those that could be read, with all findings.
    pub fn check(files: DeclarationFiles) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let texts_of_files = files.toml_below("pipelines");
        let read = || {
            texts_of_files
                .par_iter()
                .map(|(path, text)| (toml::from_str::<Declaration>(text), *path, text))
                .collect::<Vec<_>>()
        };
        let (contracts, all) = rayon::join(|| contract::load(&files, &mut findings), read);
        let mut pipelines = BTreeMap::new();
        let mut texts = BTreeMap::new();
        for (declaration, path, text) in all {
            match declaration {
                Ok(declaration) => {
                    let expected = declared::id_of_path(path, "pipelines");
                    if declaration.pipeline_id != expected {
                        findings.push(Finding::at(
                            path,
                            text,
                            TablePath::Top,
                            "pipeline_id",
                            format!(
                                "is `{}`, but the file's path requires `{expected}`",
                                declaration.pipeline_id
                            ),
                        ));
                    }
                    texts.insert(expected.clone(), (path, &**text));
                    pipelines.insert(expected, declaration);
                }
                Err(error) => {
                    let finding = Finding::of_toml(path, text, &error);
                    findings.push(Finding {
                        message: suggested(&finding.message),
                        ..finding
                    });
                }
            }
        }
        add_inputs(&mut pipelines);
        let declarations = Self {
            pipelines,
            contracts,
            files: files.clone(),
        };
        declarations.check_references(&texts, &mut findings);
        (declarations, findings)
    }

    fn check_references(
        &self,
        texts: &BTreeMap<String, (&str, &str)>,
        findings: &mut Vec<Finding>,
    ) {
        let mut producers: BTreeMap<&str, &str> = BTreeMap::new();
        let mut source_owners: BTreeMap<&str, &str> = BTreeMap::new();
        for (pipeline_id, declaration) in &self.pipelines {
            let (path, text) = &texts[pipeline_id];
            let mut report = |place: TablePath<'_>, key: &str, message: String| {
                findings.push(Finding::at(path, text, place, key, message));
            };
            for dataset_id in &declaration.produces {
                if !self.contracts.contains_key(dataset_id) {
                    report(
                        TablePath::Top,
                        "produces",
                        format!(
                            "`{dataset_id}` has no contract; expected schemas/{}.toml",
                            dataset_id.replace('.', "/")
                        ),
                    );
                }
                if !declaration.expect.contains_key(dataset_id) {
                    report(
                        TablePath::Top,
                        "produces",
                        format!(
                            "`{dataset_id}` has no [expect.\"{dataset_id}\"] table: floors and drift must be declared"
                        ),
                    );
                }
                // Several pipelines may publish parts of the same dataset. Their partitions must
                // differ, which is checked when the release is built.
                let is_shared = self
                    .contracts
                    .get(dataset_id)
                    .is_some_and(|contract| !contract.partition_by.is_empty());
                if let Some(other) = producers
                    .insert(dataset_id, pipeline_id)
                    .filter(|_| !is_shared)
                {
                    report(
                        TablePath::Top,
                        "produces",
                        format!("`{dataset_id}` is already produced by `{other}`"),
                    );
                }
            }
            for (number, source) in declaration
                .sources
                .iter()
                .enumerate()
                .filter(|(_, source)| !is_month(&source.evidence.seen))
            {
                report(
                    TablePath::Nth("source", number),
                    "evidence",
                    format!(
                        "`{}` is not a month such as `2026-02`",
                        source.evidence.seen
                    ),
                );
            }
            for code in declaration.covers.iter().filter(|code| !is_area(code)) {
                report(
                    TablePath::Top,
                    "covers",
                    format!(
                        "`{code}` is not a FIPS code: `us`, or two, five or seven digits, or a county's five and `99990`"
                    ),
                );
            }
            if let Some(Err(error)) = declaration.calendar.as_ref().map(Schedule::from_calendar) {
                report(TablePath::Top, "calendar", error.to_string());
            }
            self.check_partition(declaration, &mut report);
            self.check_buckets(declaration, &mut report);
            for dataset_id in declaration
                .expect
                .keys()
                .filter(|id| !declaration.produces.contains(id))
            {
                report(
                    TablePath::Table(&format!("expect.\"{dataset_id}\"")),
                    "",
                    format!("`{dataset_id}` is not produced here"),
                );
            }
            for (dataset_id, expected) in &declaration.expect {
                let contract = self.contracts.get(dataset_id);
                let has = |name: &&String| {
                    contract.is_none_or(|contract| contract.column(name).is_some())
                };
                for name in expected.drift.columns.keys().filter(|name| !has(name)) {
                    report(
                        TablePath::Table(&format!("expect.\"{dataset_id}\".drift")),
                        "columns",
                        format!("`{dataset_id}` has no column `{name}`"),
                    );
                }
            }
            for (number, source) in declaration.sources.iter().enumerate() {
                let mut report = |key: &str, message: String| {
                    report(
                        TablePath::Nth("source", number),
                        key,
                        format!("source `{}`: {message}", source.source_id),
                    );
                };
                if let Some(other) = source_owners.insert(&source.source_id, pipeline_id) {
                    report("source_id", format!("is already declared in `{other}`"));
                }
                self.check_source(declaration, source, &mut report);
            }
        }
        for (pipeline_id, declaration) in &self.pipelines {
            for other in &declaration.builds_on {
                let is_plain = |other: &Declaration| {
                    other.builds_on.is_empty()
                        && other.partition.is_none()
                        && !other.produces.is_empty()
                };
                if !self.pipelines.get(other).is_some_and(is_plain) {
                    let (path, text) = &texts[pipeline_id];
                    let message = format!(
                        "`{other}` is not a pipeline that builds tables from its own sources, without partitions"
                    );
                    findings.push(Finding::at(
                        path,
                        text,
                        TablePath::Top,
                        "builds_on",
                        message,
                    ));
                }
            }
            for source_id in &declaration.inputs {
                let (path, text) = &texts[pipeline_id];
                let message = match source_owners
                    .get(source_id.as_str())
                    .map(|owner| &self.pipelines[*owner])
                {
                    None => format!("no declaration has a source `{source_id}`"),
                    Some(owner)
                        if !owner.produces.is_empty()
                            && (owner.partition.is_some() || self.reads_other_tasks(owner)) =>
                    {
                        format!(
                            "`{source_id}` is of `{}`, which has partitions or reads the files of other tasks itself",
                            owner.pipeline_id
                        )
                    }
                    Some(_) => continue,
                };
                findings.push(Finding::at(path, text, TablePath::Top, "inputs", message));
            }
        }
    }

    fn check_partition(
        &self,
        declaration: &Declaration,
        report: &mut impl FnMut(TablePath<'_>, &str, String),
    ) {
        let Some(range) = &declaration.partition else {
            return;
        };
        let place = TablePath::Table("partition");
        if range.to.is_none()
            && declaration
                .newest_partition(Timestamp::UNIX_EPOCH)
                .is_ok_and(|newest| newest.is_none())
        {
            report(
                place,
                "variable",
                format!(
                    "partitions by `{}` without `to` need a calendar of years: `calendar = {{ every = \"year\", after = \"…\" }}`",
                    range.variable
                ),
            );
        }
        if let Some(to) = range.to.filter(|to| range.from > *to) {
            report(place, "from", format!("{} is after `to` {to}", range.from));
        }
        for contract in declaration
            .produces
            .iter()
            .filter_map(|dataset_id| self.contracts.get(dataset_id))
        {
            if !contract.partition_by.contains(&range.column) {
                report(
                    place,
                    "column",
                    format!(
                        "`{}` is not partitioned by `{}`",
                        contract.dataset_id, range.column
                    ),
                );
            }
        }
    }

    fn check_buckets(
        &self,
        declaration: &Declaration,
        report: &mut impl FnMut(TablePath<'_>, &str, String),
    ) {
        let Some(buckets) = &declaration.buckets else {
            return;
        };
        let place = TablePath::Table("buckets");
        if !(1..=MAX_BUCKETS).contains(&buckets.count) {
            report(
                place,
                "count",
                format!("{} is not a number from 1 to {MAX_BUCKETS}", buckets.count),
            );
        }
        let inputs = declaration
            .inputs
            .iter()
            .filter_map(|source_id| self.source(source_id))
            .map(|(_, source)| source);
        let sources: Vec<&Source> = declaration.sources.iter().chain(inputs).collect();
        for (name, key) in [
            ("key", Some(&buckets.key)),
            ("fallback_key", buckets.fallback_key.as_ref()),
        ] {
            if let Some(key) = key.filter(|key| {
                !sources
                    .iter()
                    .any(|source| source.columns.contains_key(*key))
            }) {
                report(
                    place,
                    name,
                    format!("`{key}` is not a column of any source"),
                );
            }
        }
        for contract in declaration
            .produces
            .iter()
            .filter_map(|dataset_id| self.contracts.get(dataset_id))
        {
            if !contract
                .partition_by
                .iter()
                .any(|column| column == "bucket")
            {
                report(
                    place,
                    "count",
                    format!("`{}` is not partitioned by `bucket`", contract.dataset_id),
                );
            }
        }
    }

    fn check_source(
        &self,
        declaration: &Declaration,
        source: &Source,
        report: &mut impl FnMut(&str, String),
    ) {
        let scheme_is_known = ["https://", "sftp://", "file://", "bundled:"]
            .iter()
            .any(|scheme| source.url.starts_with(scheme));
        if !scheme_is_known {
            report(
                "url",
                "the URL must start with https://, sftp://, file:// or bundled:".to_owned(),
            );
        }
        if let Some(path) = source.url.strip_prefix("bundled:")
            && self.files.read(&format!("pipelines/{path}")).is_none()
        {
            report("url", format!("there is no file pipelines/{path}"));
        }
        if let Some(keys) = declaration.first_keys(source) {
            let ignored = source.ignore.iter().map(|column| ("ignore", column));
            let member = source.member.iter().map(|member| ("member", member));
            let dated_by = source
                .dated_by
                .iter()
                .map(|dated_by| ("dated_by", &dated_by.url));
            let count = source
                .pages
                .iter()
                .filter_map(|pages| pages.count.as_ref())
                .map(|count| ("pages", &count.url));
            for (key, template) in [
                ("url", &source.url),
                ("source_version", &source.source_version),
            ]
            .into_iter()
            .chain(member)
            .chain(ignored)
            .chain(dated_by)
            .chain(count)
            {
                if let Err(error) = super::expand(template, &keys) {
                    report(key, error.to_string());
                }
            }
        }
        check_dates(declaration, source, report);
        if source.dated_by.as_ref().is_some_and(|dated_by| {
            !dated_by.url.starts_with("https://")
                || source.source_date.is_some()
                || source.listing.is_some()
        }) {
            report("dated_by", "its URL must start with https://, and the source has neither `source_date` nor `listing`".to_owned());
        }
        if source
            .dated_by
            .as_ref()
            .is_some_and(|dated_by| dated_by.whole_every.is_some_and(|runs| runs < 2))
        {
            report(
                "dated_by",
                "`whole_every` must be at least 2; without it the file is fetched in every run"
                    .to_owned(),
            );
        }
        if source
            .dated_by
            .as_ref()
            .is_some_and(|dated_by| dated_by.whole_every.is_some())
            && source.pages.is_some()
        {
            report(
                "dated_by",
                "`whole_every` is for files, and this source is a list of pages".to_owned(),
            );
        }
        let mapped: BTreeSet<&String> = source.columns.values().flatten().collect();
        for column in source
            .ignore
            .iter()
            .filter(|column| mapped.contains(column))
        {
            report(
                "ignore",
                format!("column `{column}` is both mapped and ignored"),
            );
        }
        for column in source
            .optional_columns
            .iter()
            .filter(|column| !source.columns.contains_key(*column))
        {
            report(
                "optional_columns",
                format!("`{column}` is not a mapped column"),
            );
        }
        check_format(source, &mapped, report);
        super::sftp::check(source, report);
        if let Some(listing) = &source.listing {
            if let Err((key, message)) = listing.check() {
                report(&format!("listing.{key}"), message);
            }
            if !source.variables.is_empty()
                || source.url.contains('{')
                || source.pages.is_some()
                || source.on_demand.is_some()
            {
                report(
                    "listing",
                    "the URL is the page's: without variables and pages, and not on demand"
                        .to_owned(),
                );
            }
        }
        if let Some(pages) = &source.pages {
            if !source.url.contains(&format!("{{{}}}", pages.variable)) {
                report(
                    "pages",
                    format!("the URL has no variable `{{{}}}`", pages.variable),
                );
            }
            let is_read = matches!(
                source.format,
                Format::Delimited { .. } | Format::JsonRecords { .. }
            ) && !source.is_archive();
            if pages.records == 0 || !is_read || source.on_demand.is_some() {
                report("pages", "pages have records, are delimited text or JSON records, are not packed and not fetched on demand".to_owned());
            }
        }
        check_access(source, report);
        if source.min_bytes > source.max_bytes {
            report("min_bytes", "larger than max_bytes".to_owned());
        }
    }

    /// Returns whether a build reads sources of other pipelines that build tables. The tasks of
    /// those pipelines decide which files are accepted.
    fn reads_other_tasks(&self, declaration: &Declaration) -> bool {
        let owners = declaration
            .inputs
            .iter()
            .filter_map(|source_id| self.source(source_id))
            .map(|(owner, _)| owner);
        owners
            .filter(|owner| !owner.produces.is_empty())
            .any(|owner| owner.pipeline_id != declaration.pipeline_id)
    }

    /// Returns the source with the given id, and the declaration that contains it.
    pub fn source(&self, source_id: &str) -> Option<(&Declaration, &Source)> {
        self.pipelines.values().find_map(|declaration| {
            Some((
                declaration,
                declaration
                    .sources
                    .iter()
                    .find(|source| source.source_id == source_id)?,
            ))
        })
    }
}

/// Adds the sources of the pipelines listed in `builds_on` to the inputs.
fn add_inputs(pipelines: &mut BTreeMap<String, Declaration>) {
    let read = |declaration: &Declaration| -> Vec<String> {
        declaration
            .sources
            .iter()
            .map(|source| &source.source_id)
            .chain(&declaration.inputs)
            .cloned()
            .collect()
    };
    let by_pipeline: BTreeMap<String, Vec<String>> = pipelines
        .iter()
        .map(|(pipeline_id, declaration)| (pipeline_id.clone(), read(declaration)))
        .collect();
    for declaration in pipelines.values_mut() {
        for source_id in declaration
            .builds_on
            .iter()
            .filter_map(|other| by_pipeline.get(other))
            .flatten()
        {
            if !declaration.inputs.contains(source_id) {
                declaration.inputs.push(source_id.clone());
            }
        }
    }
}

/// Returns whether the text is a year and month in the format `YYYY-MM`.
fn is_month(text: &str) -> bool {
    format!("{text}-01").parse::<jiff::civil::Date>().is_ok()
}

/// Checks the redirect hosts, the secret header and the page count of a source.
fn check_access(source: &Source, report: &mut impl FnMut(&str, String)) {
    let is_host = |name: &str| {
        name.contains('.')
            && name.split('.').all(|label| {
                !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            })
    };
    for pattern in source
        .redirects
        .iter()
        .filter(|pattern| !is_host(pattern.strip_prefix("*.").unwrap_or(pattern)))
    {
        report(
            "redirects",
            format!(
                "`{pattern}` is neither a host (`files.example.org`) nor a pattern of hosts (`*.files.example.org`)"
            ),
        );
    }
    if let Some(token) = &source.app_token
        && (token.variable.is_empty()
            || token.header.is_empty()
            || !token
                .header
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-'))
    {
        report(
            "app_token",
            format!(
                "`{}` is not the name of a header, or `variable` is empty",
                token.header
            ),
        );
    }
    if let Some(count) = source.pages.as_ref().and_then(|pages| pages.count.as_ref())
        && (!count.url.starts_with("https://") || count.member.split('.').any(str::is_empty))
    {
        report("pages", "the URL of `count` must start with https://, and `member` names the way to the number (`result.total`)".to_owned());
    }
}

/// Checks a source's calendar and label range.
fn check_dates(declaration: &Declaration, source: &Source, report: &mut impl FnMut(&str, String)) {
    if let Some(Err(error)) = source.calendar.as_ref().map(Schedule::from_calendar) {
        report("calendar", error.to_string());
    }
    let ranges: Vec<(&String, &LabelRange)> = source
        .variables
        .iter()
        .filter_map(|(name, values)| {
            if let Variable::Range(range) = values {
                Some((name, range))
            } else {
                None
            }
        })
        .collect();
    if ranges.len() > 1 {
        report(
            "variables",
            "one variable of a source can be a range of labels, not several".to_owned(),
        );
    }
    // An invalid calendar has already been reported.
    let Ok(schedule) = declaration.schedule(Some(source)) else {
        return;
    };
    for (name, range) in ranges {
        if let Err(error) = Editions::from_range(range, schedule.clone()) {
            report("variables", format!("`{name}`: {error}"));
        }
    }
}

/// Reports declared names that cannot occur in a normalised header.
fn check_normalized(
    source: &Source,
    mapped: &BTreeSet<&String>,
    report: &mut impl FnMut(&str, String),
) {
    for (key, name) in mapped
        .iter()
        .map(|name| ("columns", *name))
        .chain(source.ignore.iter().map(|name| ("ignore", name)))
    {
        // `#` stands for a digit.
        let plain = name.replace('#', "0");
        if !name.contains('{') && normalized_name(&plain) != plain {
            report(
                key,
                format!(
                    "`{name}` is never found in a normalized header: write `{}`",
                    normalized_name(name)
                ),
            );
        }
    }
}

fn check_format(
    source: &Source,
    mapped: &BTreeSet<&String>,
    report: &mut impl FnMut(&str, String),
) {
    let is_known = |column: &String| mapped.contains(column) || source.ignore.contains(column);
    let mut unknown = |columns: &mut dyn Iterator<Item = &String>, list: &str| {
        for column in columns.filter(|column| !is_known(column)) {
            report(
                "format",
                format!("column `{column}` of `{list}` is neither mapped nor ignored"),
            );
        }
    };
    match &source.format {
        Format::Delimited {
            delimiters,
            header,
            normalized_header,
            quoting,
            escape,
            ..
        } => {
            unknown(&mut header.iter(), "header");
            if escape.is_some_and(|escape| !quoting || !escape.is_ascii() || escape == '"') {
                report(
                    "format",
                    "`escape`: an ASCII character, in a format with quoting".to_owned(),
                );
            }
            if delimiters.is_empty() || delimiters.iter().any(|delimiter| !delimiter.is_ascii()) {
                report(
                    "format",
                    "`delimiters`: give at least one ASCII delimiter".to_owned(),
                );
            }
            if *normalized_header {
                check_normalized(source, mapped, report);
            }
        }
        Format::JsonRecords {
            normalized_header, ..
        } => {
            if *normalized_header {
                check_normalized(source, mapped, report);
            }
        }
        Format::FixedWidth {
            record_bytes,
            fields,
            ..
        } => {
            unknown(&mut fields.keys(), "fields");
            for (field, [first, length]) in fields {
                let last = u64::from(*first) + u64::from(*length);
                if *first == 0 || *length == 0 || last > u64::from(*record_bytes) + 1 {
                    report(
                        "format",
                        format!("field `{field}` does not lie within bytes 1 to {record_bytes}"),
                    );
                }
            }
        }
        Format::Xlsx if source.member.is_none() => report(
            "member",
            "a sheet is a member of its workbook, such as xl/worksheets/sheet1.xml".to_owned(),
        ),
        Format::JsonRows | Format::Xlsx | Format::Document { .. } => {}
    }
}

impl Declaration {
    /// Returns one set of variable values for checking templates.
    fn first_keys(&self, source: &Source) -> Option<BTreeMap<String, String>> {
        let mut keys: BTreeMap<String, String> = self
            .partition
            .iter()
            .map(|range| (range.variable.clone(), range.from.to_string()))
            .collect();
        for (name, values) in &source.variables {
            keys.insert(name.clone(), values.first()?.to_owned());
        }
        keys.extend(
            source
                .pages
                .iter()
                .map(|pages| (pages.variable.clone(), "0".to_owned())),
        );
        keys.extend(
            source
                .on_demand
                .iter()
                .map(|name| (name.clone(), "0".to_owned())),
        );
        keys.extend(source.listing.iter().flat_map(super::Listing::sample));
        Some(keys)
    }
}

/// Returns whether a code has the format of an area's FIPS code.
fn is_area(code: &str) -> bool {
    let is_digits = code.bytes().all(|byte| byte.is_ascii_digit());
    code == "us"
        || (is_digits
            && (matches!(code.len(), 2 | 5 | 7) || (code.len() == 10 && code.ends_with("99990"))))
}

/// Serialises a declaration for input hashes, independently of the order of its sources and lists.
/// Only lists without a meaningful order are sorted. The alternative names of a column and the
/// header of a file keep their order.
pub fn canonical_json(declaration: &Declaration) -> String {
    let mut declaration = declaration.clone();
    declaration.produces.sort();
    declaration.covers.sort();
    declaration.inputs.sort();
    declaration.builds_on.sort();
    declaration
        .sources
        .sort_by(|a, b| a.source_id.cmp(&b.source_id));
    for source in &mut declaration.sources {
        source.variables.values_mut().for_each(Variable::sort);
        source.ignore.sort();
        source.optional_columns.sort();
    }
    serde_json::to_value(&declaration)
        .expect("a declaration is plain data")
        .to_string()
}
