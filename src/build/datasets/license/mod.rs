//! Builds license tables for all boards with one builder. The differences between boards, such as
//! column meanings and status meanings, are declared in `pipelines/license/*.toml`. Sources: the
//! files named in each declaration. Grain: one row per license, and one row per disciplinary
//! action. Never publishes street addresses, e-mail addresses, persons' telephone numbers, bond
//! numbers or policy numbers.

mod cells;
mod codes;
mod holder;
mod joined;
mod license_row;
mod settings;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use cells::{Cells, Read, Row};
use codes::{Code, CodeTable};
use joined::{JoinedFile, Joins};
use license_row::{License, LicenseRow};
use settings::{Settings, StatusBasis, is_listed};
use table::{PublishedRow, Tables, published_row};

use super::context::finding;
use super::vocabulary::{self, SameNames, Vocabulary};
use super::{Build, Builder, Context, SourceFrame, Table, settings as read_settings};
use crate::datasets::Fault;
use pubdata_core::contract::Words;
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;

const LICENSE: &str = "license.license";
const ACTION: &str = "license.action";
/// Numbers in one pointer.
const POINTER_NUMBERS: usize = 4;

published_row! {
    /// A disciplinary action without the partition columns and the verdict.
    struct ActionRow {
        record_id: Option<String>,
        license_id: Option<String>,
        case_number: Option<String>,
        action: Option<String>,
        effective_date: Option<String>,
        end_date: Option<String>,
        seq: i32,
    }
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 8,
    build: Build::Whole(build),
    check,
    vocabulary: Some(&VOCABULARY),
};

const VOCABULARY: Vocabulary = Vocabulary {
    columns: |declaration| Ok(read_settings::<Settings>(declaration)?.columns()),
    words: &[
        vocabulary::Words {
            setting: "status",
            dataset_id: LICENSE,
            column: "status",
        },
        vocabulary::Words {
            setting: "profession",
            dataset_id: LICENSE,
            column: "profession",
        },
        vocabulary::Words {
            setting: "profession_default",
            dataset_id: LICENSE,
            column: "profession",
        },
        vocabulary::Words {
            setting: "workers_comp",
            dataset_id: LICENSE,
            column: "workers_comp_coverage",
        },
        vocabulary::Words {
            setting: "evidence",
            dataset_id: LICENSE,
            column: "evidence",
        },
    ],
    same_names: Some(same_names),
};

/// Columns that are read from the source column with the same name. Names, addresses and
/// professions are composed from several columns; bond and insurance columns can be joined.
const SAME_NAMES: [&str; 13] = [
    "number",
    "license_class",
    "dba",
    "status",
    "issue_date",
    "effective_date",
    "expiration_date",
    "last_renewed_date",
    "suspended_date",
    "county",
    "phone",
    "workers_comp_insurer",
    "workers_comp_expiration_date",
];

fn same_names(declaration: &Declaration) -> std::result::Result<SameNames, Fault> {
    let settings = read_settings::<Settings>(declaration)?;
    let sources = std::iter::once(settings.licenses)
        .chain(settings.more_licenses)
        .collect();
    Ok(SameNames {
        dataset_id: LICENSE,
        sources,
        columns: SAME_NAMES.to_vec(),
    })
}

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let settings: Settings = read_settings(declaration)?;
    let fault = |key: &str, message: String| Err(Fault::in_settings(key, message));
    let joined = [
        &settings.joined.bonds,
        &settings.joined.insurance,
        &settings.joined.principals,
    ];
    let codes = settings.codes.as_ref().map(|codes| &codes.source);
    for source in std::iter::once(&settings.licenses)
        .chain(&settings.more_licenses)
        .chain(joined.into_iter().flatten())
        .chain(codes)
    {
        if !declaration
            .sources
            .iter()
            .any(|declared| declared.source_id == *source)
        {
            return fault("", format!("no source `{source}`"));
        }
    }
    let states_one = declaration
        .sources
        .iter()
        .any(|source| source.columns.contains_key("status"));
    if !settings.status.is_empty() && (settings.status_basis != StatusBasis::Source || !states_one)
    {
        return fault(
            "status",
            "`status` is for lists that state one, and for no others".to_owned(),
        );
    }
    if settings.profession_from.is_empty() && settings.profession_default.is_none() {
        return fault(
            "profession_from",
            "neither a column nor `profession_default` says the profession".to_owned(),
        );
    }
    if settings.row_per_case != declaration.produces.iter().any(|dataset| dataset == ACTION) {
        return fault(
            "row_per_case",
            format!("`row_per_case` is for lists that produce `{ACTION}`"),
        );
    }
    Ok(())
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = read_settings(context.declaration)?;
    let frames = |source: &Option<String>| {
        source
            .as_deref()
            .map(|source| context.read(source))
            .transpose()
            .map(Option::unwrap_or_default)
    };
    let joined = [
        frames(&settings.joined.bonds)?,
        frames(&settings.joined.insurance)?,
        frames(&settings.joined.principals)?,
    ];
    let mut licenses = Tables::new(
        LICENSE,
        &settings.source,
        context.bucket(),
        LicenseRow::COLUMNS.to_vec(),
    );
    let mut actions = Tables::new(
        ACTION,
        &settings.source,
        context.bucket(),
        ActionRow::COLUMNS.to_vec(),
    );
    // Issues without a state belong to the table for the source's own state, or for the first of
    // several states.
    let mut findings: Vec<Issue> = joined
        .iter()
        .flatten()
        .flat_map(|frame| frame.issues_without_text(LICENSE))
        .collect();
    let joins = Joins {
        bonds: joined_file(&joined[0], &settings)?,
        insurance: joined_file(&joined[1], &settings)?,
        principals: joined_file(&joined[2], &settings)?,
        date_formats: &settings.date_formats,
    };
    let code_file = settings
        .codes
        .as_ref()
        .map(|codes| context.read_optional(&codes.source))
        .transpose()?
        .flatten();
    findings.extend(
        code_file
            .iter()
            .flat_map(|file| file.issues_without_text(LICENSE)),
    );
    let code_table = match (&code_file, &settings.codes) {
        (Some(file), Some(codes)) => {
            Some(CodeTable::new(Cells::new(&file.frame, &settings)?, codes))
        }
        _ => None,
    };
    let mut numbers: BTreeSet<String> = BTreeSet::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for source_id in std::iter::once(&settings.licenses).chain(&settings.more_licenses) {
        let mut of_source = BTreeSet::new();
        for source in context.read(source_id)? {
            findings.extend(source.issues_without_text(LICENSE));
            let cells = Cells::new(&source.frame, &settings)?;
            let (status_words, profession_words) = (
                context.words(LICENSE, "status"),
                context.words(LICENSE, "profession"),
            );
            let reader = Reader {
                context,
                settings: &settings,
                status_words,
                profession_words,
                source_id: source_id.clone(),
            };
            let mut cases = Cases::default();
            for row in 0..cells.height() {
                for repeat in repeats(&settings) {
                    let row = cells.row(row, repeat);
                    if let Some(why) = non_license_reason(&settings, row) {
                        findings.push(reader.passed_over(why, row));
                        continue;
                    }
                    numbers.extend(
                        row.text("number")
                            .filter(|_| joins.files().next().is_some())
                            .map(str::to_owned),
                    );
                    let code = code_table
                        .as_ref()
                        .map_or_else(Code::default, |table| table.code(row, &settings));
                    match license_row::license(&reader, row, &joins, &code) {
                        Ok(Some(license)) if known.contains(&license.license_id) => {
                            context.exclude_rows("repeated", license.row.pointers);
                        }
                        Ok(Some(license)) => {
                            if !settings.more_licenses.is_empty() {
                                of_source.insert(license.license_id.clone());
                            }
                            if settings.row_per_case {
                                cases.add(license, row);
                            } else {
                                push(&mut licenses, license);
                            }
                        }
                        Ok(None) => {}
                        Err((code, detail)) => findings.push(reader.refused(code, detail, row)),
                    }
                }
            }
            cases.publish(&reader, &mut licenses, &mut actions);
        }
        known.append(&mut of_source);
    }
    if !context.is_replay() {
        findings.extend(without_license(context, &settings, &joins, &numbers));
    }
    let own_state = settings.state.clone().or_else(|| licenses.first_state());
    // A bucket in a national source may not have any rows.
    if own_state.is_some() || !findings.is_empty() {
        licenses.report(own_state.as_deref().unwrap_or("US"), findings);
    }
    let mut tables = licenses.finish(&LicenseRow::default().into_cells())?;
    if settings.row_per_case {
        if let Some(state) = own_state.as_deref() {
            actions.report(state, []);
        }
        tables.extend(actions.finish(&ActionRow::default().into_cells())?);
    }
    Ok(tables)
}

fn joined_file<'f>(
    frames: &'f [SourceFrame],
    settings: &'f Settings,
) -> Result<Option<JoinedFile<'f>>> {
    frames
        .first()
        .map(|frame| Ok(JoinedFile::new(Cells::new(&frame.frame, settings)?)))
        .transpose()
}

/// Returns the license numbers within a row: `None` for a row with a single license, or 1 and up
/// for several.
fn repeats(settings: &Settings) -> impl Iterator<Item = Option<u32>> + use<> {
    let numbered = settings.repeats;
    (numbered == 0)
        .then_some(None)
        .into_iter()
        .chain((1..=numbered).map(Some))
}

/// Returns the reason why a row does not describe a license, or none if it does.
fn non_license_reason(settings: &Settings, row: Row<'_>) -> Option<String> {
    if let Some(status) = row
        .text("status")
        .filter(|status| is_listed(&settings.not_licenses, status))
    {
        return Some(format!("the row's status is `{status}`"));
    }
    let kind = row
        .text("type_code")
        .filter(|kind| is_listed(&settings.not_license_types, kind));
    kind.filter(|_| license_row::number(settings, row).is_none())
        .map(|kind| format!("the row is of type `{kind}` and has no number"))
}

/// Adds a license to its state's table.
fn push(licenses: &mut Tables, mut license: License) {
    license.row.pointers.extend(license.others);
    licenses.report(&license.state, license.warnings);
    licenses.push(&license.state, license.row);
}

/// Reports rows from joined files whose license is missing from the source. These rows are not
/// licenses themselves, but must not be lost silently.
fn without_license(
    context: &Context<'_>,
    settings: &Settings,
    joins: &Joins<'_>,
    numbers: &BTreeSet<String>,
) -> Vec<Issue> {
    let numbers: BTreeSet<&str> = numbers.iter().map(String::as_str).collect();
    let issue = |(number, row): (&str, Row<'_>)| {
        let pointer = context.resolve(row.pointers()).into_iter().next();
        let source = pointer
            .as_ref()
            .map(|pointer| format!("{}@{}", pointer.source_id, pointer.offset))
            .unwrap_or_default();
        let detail = format!("license {number} is not in {}", settings.licenses);
        Issue {
            pointer,
            ..finding(
                "license_not_listed",
                Severity::Warning,
                LICENSE,
                &source,
                detail,
            )
        }
    };
    joins
        .files()
        .flat_map(|file| file.without_license(&numbers))
        .map(issue)
        .collect()
}

/// Settings and vocabularies for reading all rows in a snapshot.
struct Reader<'r> {
    context: &'r Context<'r>,
    settings: &'r Settings,
    status_words: &'r Words,
    profession_words: &'r Words,
    source_id: String,
}

impl Reader<'_> {
    fn finding(
        &self,
        code: &str,
        severity: Severity,
        record: &str,
        detail: String,
        pointers: &[u64],
    ) -> Issue {
        Issue {
            pointer: self.context.resolve(pointers).into_iter().next(),
            ..finding(code, severity, LICENSE, record, detail)
        }
    }

    /// Reports a row that does not describe a license. The row is counted, not quarantined.
    fn passed_over(&self, why: String, row: Row<'_>) -> Issue {
        self.finding(
            "not_a_license",
            Severity::Warning,
            &self.place(row),
            why,
            row.pointers(),
        )
    }

    /// Returns the record name for a row without a key.
    fn place(&self, row: Row<'_>) -> String {
        let offset = row.pointers().get(2).copied().unwrap_or_default();
        let repeat = row
            .repeat()
            .map(|repeat| format!("#{repeat}"))
            .unwrap_or_default();
        format!("{}@{offset}{repeat}", self.source_id)
    }

    fn refused(&self, code: &str, detail: String, row: Row<'_>) -> Issue {
        self.finding(
            code,
            Severity::Quarantine,
            &self.place(row),
            detail,
            row.pointers(),
        )
    }
}

/// Licenses from a source with one row per disciplinary case. Rows that differ only in the case
/// describe one license. If rows differ in more, the majority counts and the other rows are
/// quarantined. Without a majority they remain several licenses, which validation quarantines as
/// contradictory.
#[derive(Default)]
struct Cases {
    by_license: BTreeMap<String, Known>,
}

struct Known {
    state: String,
    /// Distinct row contents: digest of the published cells, the license, and the number of rows.
    licenses: Vec<(Digest, License, usize)>,
    cases: Vec<Case>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    effective: Option<String>,
    number: Option<String>,
    action: String,
    end: Option<String>,
    bad: Vec<String>,
    pointers: Vec<u64>,
}

impl Cases {
    fn add(&mut self, license: License, row: Row<'_>) {
        let digest = Digest::sha256(format!("{:?}", license.row.cells).as_bytes());
        let known = self
            .by_license
            .entry(license.license_id.clone())
            .or_insert_with(|| Known {
                state: license.state.clone(),
                licenses: Vec::new(),
                cases: Vec::new(),
            });
        match known
            .licenses
            .iter_mut()
            .find(|(other, ..)| *other == digest)
        {
            Some((_, same, count)) => {
                same.row.pointers.extend(license.row.pointers);
                *count += 1;
            }
            None => known.licenses.push((digest, license, 1)),
        }
        if row.text("case_number").or(row.text("action")).is_some() {
            known.cases.push(Case::read(row));
        }
    }

    fn publish(self, reader: &Reader<'_>, licenses: &mut Tables, actions: &mut Tables) {
        for (license_id, mut known) in self.by_license {
            let all: usize = known.licenses.iter().map(|(.., count)| count).sum();
            let most = known
                .licenses
                .iter()
                .position(|(.., count)| 2 * count > all);
            for (place, (_, license, _)) in known.licenses.into_iter().enumerate() {
                if most.is_none_or(|most| most == place) {
                    push(licenses, license);
                    continue;
                }
                let odd = |pointers: &[u64]| {
                    let detail = format!(
                        "most of the {all} rows of {license_id} say the same of it, and this one does not"
                    );
                    reader.finding(
                        "duplicate_key",
                        Severity::Quarantine,
                        &format!("{LICENSE}:{license_id}"),
                        detail,
                        pointers,
                    )
                };
                licenses.report(
                    &known.state,
                    license.row.pointers.chunks(POINTER_NUMBERS).map(odd),
                );
            }
            known.cases.sort();
            known.cases.dedup_by(|one, other| {
                (&one.effective, &one.number, &one.action, &one.end)
                    == (&other.effective, &other.number, &other.action, &other.end)
            });
            // An action's position depends on the rows of the other actions. Therefore each action
            // has pointers to the rows of all actions, starting with its own.
            let rows: Vec<Vec<u64>> = known
                .cases
                .iter()
                .map(|case| case.pointers.clone())
                .collect();
            for (seq, case) in (1..).zip(known.cases) {
                let others = rows
                    .iter()
                    .filter(|pointers| **pointers != case.pointers)
                    .flatten();
                let pointers = case.pointers.iter().chain(others).copied().collect();
                let record_id = format!("{ACTION}:{license_id}:{seq}");
                let action = ActionRow {
                    record_id: Some(record_id.clone()),
                    license_id: Some(license_id.clone()),
                    case_number: case.number,
                    action: Some(case.action),
                    effective_date: case.effective,
                    end_date: case.end,
                    seq,
                };
                let warn = |detail: String| Issue {
                    dataset_id: ACTION.to_owned(),
                    ..reader.finding(
                        "bad_date",
                        Severity::Warning,
                        &record_id,
                        detail,
                        &case.pointers,
                    )
                };
                actions.report(&known.state, case.bad.into_iter().map(warn));
                actions.push(
                    &known.state,
                    PublishedRow {
                        cells: action.into_cells(),
                        pointers,
                    },
                );
            }
        }
    }
}

impl Case {
    fn read(row: Row<'_>) -> Self {
        let mut bad = Vec::new();
        let mut day = |column: &str| {
            let text = row.text(column)?;
            match cells::date(text, row.date_formats()) {
                Read::Value(day) => Some(day),
                Read::Nothing => None,
                Read::Bad => {
                    bad.push(format!("{column} is `{text}`"));
                    None
                }
            }
        };
        let (effective, end) = (day("action_effective_date"), day("action_end_date"));
        let own = |column: &str| row.text(column).map(str::to_owned);
        Self {
            effective,
            number: own("case_number"),
            action: own("action").unwrap_or_else(|| "unknown".to_owned()),
            end,
            bad,
            pointers: row.pointers().to_vec(),
        }
    }
}
