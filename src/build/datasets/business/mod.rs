//! Turns a state's business registry into one row per entity and one row per officer. One builder
//! serves all states; their declarations contain the differences. Never publishes federal tax
//! numbers, e-mail addresses or persons' streets.

mod columns;
mod entities;
mod ids;
mod names;
mod officers;
mod rows;
mod settings;
mod source_fields;
mod texts;

use std::collections::BTreeMap;

use crate::datasets::Fault;
use crate::datasets::vocabulary::{Vocabulary, Words};
use crate::datasets::{Build, Builder, Context, Table};
use pubdata_core::error::Result;
use pubdata_core::issue::Issue;
use pubdata_core::pipeline::Declaration;
use settings::Settings;

const ENTITY: &str = "business.entity";
const OFFICER: &str = "business.officer";

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 6,
    build: Build::Whole(build),
    check,
    vocabulary: Some(&VOCABULARY),
};

const VOCABULARY: Vocabulary = Vocabulary {
    columns: |_| Ok(columns::known()),
    words: &[
        Words {
            setting: "implied_status",
            dataset_id: ENTITY,
            column: "status",
        },
        Words {
            setting: "statuses",
            dataset_id: ENTITY,
            column: "status",
        },
        Words {
            setting: "entity_types",
            dataset_id: ENTITY,
            column: "entity_type",
        },
        Words {
            setting: "mailing_role",
            dataset_id: ENTITY,
            column: "mailing_role",
        },
        Words {
            setting: "titles",
            dataset_id: OFFICER,
            column: "title",
        },
        Words {
            setting: "officer_title",
            dataset_id: OFFICER,
            column: "title",
        },
        Words {
            setting: "officer_type",
            dataset_id: OFFICER,
            column: "type",
        },
        Words {
            setting: "party_types",
            dataset_id: OFFICER,
            column: "type",
        },
    ],
    same_names: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    Settings::read(declaration).map(drop)
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings = Settings::read(context.declaration)?;
    let rows = rows::read(context, &settings)?;
    let entities = entities::table(context, &settings, &rows)?;
    let officers = officers::table(context, &settings, &rows, &entities.ids)?;
    let partition: BTreeMap<String, String> = [
        ("state".to_owned(), settings.state.clone()),
        ("bucket".to_owned(), context.bucket().to_owned()),
    ]
    .into();
    let table = |dataset_id: &str, frame, issues| Table {
        dataset_id: dataset_id.to_owned(),
        partition: partition.clone(),
        frame,
        issues,
    };
    let (of_entities, of_officers): (Vec<Issue>, Vec<Issue>) = rows
        .issues
        .into_iter()
        .chain(entities.issues)
        .chain(officers.issues)
        .partition(|issue| issue.dataset_id == ENTITY);
    Ok(vec![
        table(ENTITY, entities.frame, of_entities),
        table(OFFICER, officers.frame, of_officers),
    ])
}
