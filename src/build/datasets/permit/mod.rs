//! Turns cities' permit lists into permits and their parties. One builder serves all cities; their
//! declarations contain the differences. Grain: one permit for each key named in the declaration.
//! Rows that repeat or renew a permit are merged into it. Never publishes the names of owners and
//! applicants who are persons, persons' telephone numbers, or e-mail addresses.

mod address;
mod cells;
mod contact;
mod description;
mod frame_columns;
pub(in crate::datasets) mod links;
mod organizations;
mod rows;
mod settings;
mod tags;

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;
use rayon::prelude::*;

use self::cells::Rows;
use self::frame_columns::Feed;
use self::rows::PermitWithPointers;
use self::settings::{ContactGroup, Settings, TradeWords};
use super::context::finding;
use super::vocabulary::{SameNames, Vocabulary, Words};
use super::{Build, Builder, Context, Table};
use crate::datasets::Fault;
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;

const PERMIT: &str = "permit.permit";
const CONTACT: &str = "permit.contact";

/// Number of permits that are built and converted to columns together. This limit bounds a build's
/// memory use.
const PERMITS_PER_CHUNK: usize = 20_000;

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 11,
    build: Build::Whole(build),
    check,
    vocabulary: Some(&VOCABULARY),
};

const VOCABULARY: Vocabulary = Vocabulary {
    columns: |declaration| Ok(columns(&super::settings::<Settings>(declaration)?)),
    words: &[
        Words {
            setting: "type",
            dataset_id: PERMIT,
            column: "type",
        },
        Words {
            setting: "only_type",
            dataset_id: PERMIT,
            column: "type",
        },
        Words {
            setting: "status",
            dataset_id: PERMIT,
            column: "status",
        },
        Words {
            setting: "work_class",
            dataset_id: PERMIT,
            column: "work_class",
        },
        Words {
            setting: "property_class",
            dataset_id: PERMIT,
            column: "property_class",
        },
        Words {
            setting: "role",
            dataset_id: CONTACT,
            column: "role",
        },
        Words {
            setting: "contact.role",
            dataset_id: CONTACT,
            column: "role",
        },
        Words {
            setting: "contact.person_role",
            dataset_id: CONTACT,
            column: "role",
        },
    ],
    same_names: Some(same_names),
};

/// Returns the columns to read: those named in the settings, and those that [`rows`] and
/// [`contact`] need.
fn columns(settings: &Settings) -> BTreeSet<String> {
    let of_group = |group: &ContactGroup| {
        let blocks: Vec<String> = (1..=group.blocks.max(1))
            .map(|number| group.block(number))
            .collect();
        blocks.into_iter().flat_map(|block| {
            contact::COLUMNS
                .iter()
                .map(move |part| format!("{block}{part}"))
        })
    };
    rows::COLUMNS
        .iter()
        .copied()
        .chain(settings.named())
        .map(str::to_owned)
        .chain(settings.contacts.iter().flat_map(of_group))
        .collect()
}

fn same_names(declaration: &Declaration) -> std::result::Result<SameNames, Fault> {
    let settings = super::settings::<Settings>(declaration)?;
    // If all of the source's permits have the same type, no column contains it.
    let columns = rows::SAME_NAMES
        .into_iter()
        .chain(settings.only_type.is_none().then_some("type"))
        .collect();
    Ok(SameNames {
        dataset_id: PERMIT,
        sources: declaration
            .sources
            .iter()
            .map(|source| source.source_id.clone())
            .collect(),
        columns,
    })
}

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    super::settings::<Settings>(declaration)?.check(declaration)
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let mut settings: Settings = super::settings(context.declaration)?;
    settings.trade = TradeWords::load(context);
    let settings = settings;
    let source_id = settings::source(context.declaration)?.source_id.as_str();
    let feed = Feed {
        source_id,
        bucket: context.bucket(),
    };
    let mut issues: Vec<Issue> = Vec::new();
    let mut frame: Option<DataFrame> = None;
    for file in context.read(source_id)? {
        issues.extend(file.issues_without_text(PERMIT));
        frame = Some(match frame {
            Some(frame) => frame.vstack(&file.frame)?,
            None => file.frame,
        });
    }
    let mut frame =
        frame.ok_or_else(|| Error::format(format!("source `{source_id}` has no file")))?;
    frame.rechunk_mut();
    let rows = Rows::new(&frame)?;
    let grouped = rows::grouped(&rows, &settings);
    context.exclude_rows(
        "in_another_list",
        grouped
            .in_other_source
            .iter()
            .flat_map(|row| rows.pointers(*row))
            .copied()
            .collect(),
    );
    for row in grouped.without_key {
        issues.push(located(
            context,
            &rows,
            row,
            "missing_value",
            Severity::Quarantine,
            None,
            "the permit has no number".to_owned(),
        ));
    }
    let makers = grouped
        .permits
        .par_chunks(PERMITS_PER_CHUNK)
        .map(|groups| make(context, &rows, groups, &settings, &feed));
    let mut permits = rows::frame(&[], &settings, &feed)?;
    let mut contacts = contact::frame(std::iter::empty(), &settings, &feed)?;
    for made in makers.collect::<Result<Vec<Made>>>()? {
        permits.vstack_mut(&made.permits)?;
        contacts.vstack_mut(&made.contacts)?;
        issues.extend(made.issues);
    }
    let partition: BTreeMap<String, String> = [
        ("jurisdiction", settings.jurisdiction.id.as_str()),
        ("source_id", source_id),
        ("bucket", context.bucket()),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let mut tables = vec![Table {
        dataset_id: PERMIT.to_owned(),
        partition: partition.clone(),
        frame: permits,
        issues,
    }];
    // A source without parties does not have this table.
    if !settings.contacts.is_empty() {
        tables.push(Table {
            dataset_id: CONTACT.to_owned(),
            partition,
            frame: contacts,
            issues: Vec::new(),
        });
    }
    Ok(tables)
}

struct Made {
    permits: DataFrame,
    contacts: DataFrame,
    issues: Vec<Issue>,
}

fn make(
    context: &Context<'_>,
    rows: &Rows<'_>,
    groups: &[(String, Vec<usize>)],
    settings: &Settings,
    feed: &Feed<'_>,
) -> Result<Made> {
    let mut made: Vec<PermitWithPointers> = Vec::with_capacity(groups.len());
    let mut issues = Vec::new();
    for (permit_id, group) in groups {
        let of_key = rows::permits(rows, permit_id, group, settings);
        for (permit, own) in of_key.permits {
            for warning in &permit.warnings {
                issues.push(located(
                    context,
                    rows,
                    own[0],
                    warning.code,
                    Severity::Warning,
                    Some(&permit.permit_id),
                    warning.detail.clone(),
                ));
            }
            made.push((
                permit,
                own.iter()
                    .flat_map(|row| rows.pointers(*row))
                    .copied()
                    .collect(),
            ));
        }
        for (row, detail) in of_key.contradicting {
            issues.push(located(
                context,
                rows,
                row,
                "duplicate_key",
                Severity::Quarantine,
                Some(permit_id),
                detail,
            ));
        }
    }
    Ok(Made {
        permits: rows::frame(&made, settings, feed)?,
        contacts: contact::frame(
            made.iter().map(|(permit, pointers)| {
                (
                    permit.permit_id.as_str(),
                    permit.contacts.as_slice(),
                    pointers.as_slice(),
                )
            }),
            settings,
            feed,
        )?,
        issues,
    })
}

fn located(
    context: &Context<'_>,
    rows: &Rows<'_>,
    row: usize,
    code: &str,
    severity: Severity,
    permit_id: Option<&String>,
    detail: String,
) -> Issue {
    let pointer = context.resolve(rows.pointers(row)).into_iter().next();
    let place = || {
        pointer
            .as_ref()
            .map(|pointer| format!("{}@{}", pointer.source_id, pointer.offset))
            .unwrap_or_default()
    };
    let record = permit_id.map_or_else(place, |permit_id| format!("{PERMIT}:{permit_id}"));
    Issue {
        pointer,
        ..finding(code, severity, PERMIT, &record, detail)
    }
}
