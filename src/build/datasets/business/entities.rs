//! Builds the rows of `business.entity`, one for each entity in a registry. Omits streets that may
//! be a person's address and numbers that may be tax identification numbers.

use std::borrow::Cow;
use std::iter::repeat_n;

use polars::prelude::*;

use super::ENTITY;
use super::ids::{entity_id, record_id};
use super::names::{ORGANIZATION, PartyColumns, has_designator};
use super::rows::Rows;
use super::settings::{NUMBER, Settings};
use super::source_fields;
use super::texts::{Texts, constant, state, strings};
use crate::datasets::Context;
use crate::datasets::context::finding;
use crate::datasets::placeholders::PLACEHOLDER;
use crate::datasets::vocabulary::{DECLARED, SHARED_VOCABULARY, UNKNOWN, unknown_value};
use crate::normalise::{Day, Rejects, day_from_pattern, list_column, pointers, without_time};
use pubdata_core::canonical;
use pubdata_core::contract::Words;
use pubdata_core::error::Result;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::POINTERS;

const ADDRESS: &[&str] = &["line1", "line2", "city", "state", "zip", "zip4", "country"];
/// Addressees that refer to the entity itself: `THE LLC`, `THE CORPORATION`.
const SELF_ADDRESSEES: &[&str] = &[
    "LLC",
    "CORP",
    "CORPORATION",
    "COMPANY",
    "CO",
    "PARTNERSHIP",
    "LIMITED LIABILITY COMPANY",
    "LIMITED PARTNERSHIP",
    "LP",
    "LLP",
    "PLLC",
    "PC",
];
/// Numbers of the annual report columns that a record may have.
pub(super) const REPORTS: std::ops::RangeInclusive<u8> = 1..=3;

/// Entities, with the issues found in them.
pub(super) struct Entities {
    pub frame: DataFrame,
    /// Entity ids by row of [`Rows::entities`]; `None` for a quarantined row.
    pub ids: Vec<Option<String>>,
    pub issues: Vec<Issue>,
}

/// Builds the entity table.
pub(super) fn table(context: &Context<'_>, settings: &Settings, rows: &Rows) -> Result<Entities> {
    let frame = without_streets_of_addressees(with_role_addresses(settings, rows)?)?;
    let mut reader = Reader {
        settings,
        bucket: context.bucket(),
        texts: Texts(&frame),
        height: frame.height(),
        status_words: context.words(ENTITY, "status"),
        type_words: context.words(ENTITY, "entity_type"),
        rejects: Rejects::new(frame.height()),
        warnings: Vec::new(),
        unknown_values: vec![Vec::new(); frame.height()],
    };
    let numbers = reader.numbers();
    let names = reader.names();
    let ids: Vec<Option<String>> = numbers
        .iter()
        .map(|number| {
            number
                .as_deref()
                .map(|number| entity_id(&settings.state, number))
        })
        .collect();
    let mut columns = reader.columns(&numbers, &names, &ids)?;
    columns.push(source_fields::column(
        context.declaration,
        settings,
        &reader.texts,
    )?);
    let Reader {
        rejects, warnings, ..
    } = reader;
    let is_kept = rejects.kept();
    let mut issues = Vec::new();
    let numbers_of_row = if warnings.is_empty() && is_kept.all() {
        Vec::new()
    } else {
        pointers(&frame, POINTERS)?
    };
    let mut add = |row: usize, code: &str, severity: Severity, detail: String| {
        let mut issue = finding(
            code,
            severity,
            ENTITY,
            &record_id(ids[row].as_deref()),
            detail,
        );
        issue.pointer = numbers_of_row[row]
            .as_deref()
            .and_then(|numbers| context.resolve(numbers).into_iter().next());
        issues.push(issue);
    };
    for (row, code, detail) in rejects.iter() {
        add(row, code, Severity::Quarantine, detail.to_owned());
    }
    for (row, code, detail) in warnings {
        add(row, code, Severity::Warning, detail);
    }
    let ids = ids
        .into_iter()
        .zip(is_kept.iter())
        .map(|(id, is_kept)| id.filter(|_| is_kept == Some(true)))
        .collect();
    Ok(Entities {
        frame: DataFrame::new(frame.height(), columns)?.filter(&is_kept)?,
        ids,
        issues,
    })
}

/// Adds address and agent columns from separate party rows, according to each row's role.
fn with_role_addresses(settings: &Settings, rows: &Rows) -> Result<DataFrame> {
    let mut frame = rows.entities.clone();
    let Some(roles) = Texts(&rows.parties)
        .column("party_title")
        .filter(|_| settings.is_row_per_party)
    else {
        return Ok(frame);
    };
    let has_role = |row: usize, role: &str| {
        roles
            .get(row)
            .and_then(|title| settings.party_roles.get(title))
            .is_some_and(|known| known == role)
    };
    for role in ["principal", "mailing", "agent"] {
        let first = |rows: &Vec<usize>| {
            rows.iter()
                .find(|row| has_role(**row, role))
                .map(|row| *row as IdxSize)
        };
        let found: IdxCa = rows.parties_of.iter().map(first).collect();
        if found.null_count() == found.len() {
            continue;
        }
        for column in rows.parties.columns() {
            if let Some(part) = column
                .name()
                .strip_prefix("party_")
                .filter(|part| *part != "title")
            {
                frame.with_column(
                    column
                        .take(&found)?
                        .with_name(format!("{role}_{part}").into()),
                )?;
            }
        }
    }
    Ok(frame)
}

/// Removes the street from a mailing address whose named addressee is or may be a person. A street
/// is kept only if the addressee is certainly an organisation or the entity itself.
fn without_streets_of_addressees(mut frame: DataFrame) -> Result<DataFrame> {
    let texts = Texts(&frame);
    let Some(addressees) = texts.column("mailing_name") else {
        return Ok(frame);
    };
    let columns = PartyColumns::new(&texts, "mailing");
    let is_own = |row: usize, addressee: &str| {
        let (addressee, own) = (
            canonical::name::organization(addressee),
            texts.cell("name", row).map(canonical::name::organization),
        );
        own.is_some_and(|own| own.normalized == addressee.normalized)
            || SELF_ADDRESSEES.contains(&addressee.normalized.as_str())
    };
    let is_public = |(row, addressee): (usize, Option<&str>)| {
        addressee
            .is_none_or(|addressee| is_own(row, addressee) || columns.organization(row).is_some())
    };
    let is_public: BooleanChunked = addressees.iter().enumerate().map(is_public).collect();
    let streets = ["mailing_line1", "mailing_line2"]
        .into_iter()
        .filter_map(|name| frame.column(name).ok());
    let masked: Vec<Column> = streets
        .map(|column| keep_where(column, &is_public))
        .collect::<Result<_>>()?;
    for column in masked {
        frame.with_column(column)?;
    }
    Ok(frame)
}

struct Reader<'f> {
    settings: &'f Settings,
    bucket: &'f str,
    texts: Texts<'f>,
    height: usize,
    status_words: &'f Words,
    type_words: &'f Words,
    rejects: Rejects,
    /// Row, code and detail.
    warnings: Vec<(usize, &'static str, String)>,
    /// By row: texts without a known meaning, each preceded by the column name.
    unknown_values: Vec<Vec<String>>,
}

impl<'f> Reader<'f> {
    /// Returns the registry's number. If that number is missing, returns the second number, unless
    /// it is a tax identification number.
    fn numbers(&mut self) -> Vec<Option<Cow<'f, str>>> {
        let own = self.texts.column("entity_number");
        let mut numbers = Vec::with_capacity(self.height);
        for row in 0..self.height {
            let number = own
                .and_then(|own| own.get(row))
                .or_else(|| self.public_other_number(row));
            if number.is_none() {
                let other = self.texts.cell("other_number", row).is_some();
                let why = if other {
                    "its other number is, or may be, a tax identification number, which is not published"
                } else {
                    "it has no other"
                };
                self.rejects.add(
                    row,
                    "missing_number",
                    format!("the registry's number is empty, and {why}"),
                );
            }
            numbers.push(number.map(Cow::Borrowed));
        }
        numbers
    }

    fn public_other_number(&self, row: usize) -> Option<&'f str> {
        let is_public = |number: &&str| {
            self.settings
                .public_number_prefixes
                .iter()
                .any(|prefix| number.starts_with(prefix.as_str()))
        };
        self.texts.cell("other_number", row).filter(is_public)
    }

    /// Returns the names without the status that some registries append to them.
    fn names(&mut self) -> Vec<Option<&'f str>> {
        let names = self.texts.column("name");
        let mut found = Vec::with_capacity(self.height);
        for row in 0..self.height {
            let name = names.and_then(|names| names.get(row));
            if name.is_none() {
                self.rejects
                    .add(row, "missing_name", "the entity has no name".to_owned());
            }
            found.push(name.map(|name| {
                if self.settings.is_status_in_name {
                    canonical::name::split_status(name).0
                } else {
                    name
                }
            }));
        }
        found
    }

    fn columns(
        &mut self,
        numbers: &[Option<Cow<'f, str>>],
        names: &[Option<&'f str>],
        ids: &[Option<String>],
    ) -> Result<Vec<Column>> {
        let normalized: Vec<Option<canonical::name::OrganizationName>> = names
            .iter()
            .map(|name| name.map(canonical::name::organization))
            .collect();
        // Compare names without letters or digits, such as `+++`, as they are written.
        let compared = normalized.iter().zip(names).map(|(normal, name)| {
            let normal = normal
                .as_ref()
                .map(|normal| normal.normalized.as_str())
                .filter(|text| !text.is_empty());
            normal.or(*name)
        });
        let mut columns = vec![
            strings(
                "record_id",
                ids.iter().map(|id| Some(record_id(id.as_deref()))),
            ),
            constant("state", &self.settings.state, self.height),
            constant("bucket", self.bucket, self.height),
            strings("entity_id", ids.iter().map(Option::as_deref)),
            strings("entity_number", numbers.iter().map(Option::as_deref)),
            constant("source_id", &self.settings.source_id, self.height),
            strings("name", names.iter().copied()),
            strings("name_normalized", compared),
            strings(
                "designator",
                normalized
                    .iter()
                    .map(|name| name.as_ref().and_then(|name| name.designator)),
            ),
            self.texts.copied("county", "county"),
            self.date("formation_date", "formation_date"),
            self.date("last_transaction_date", "last_transaction_date"),
            self.identifiers(numbers),
            self.registry_url(numbers),
            self.texts.0.column(POINTERS)?.clone(),
        ];
        drop(normalized);
        columns.extend(
            ["former_names", "assumed_names"]
                .map(|name| list_column(name, repeat_n([""; 0], self.height))),
        );
        self.warn_bad_zips();
        columns.extend(self.statuses());
        columns.extend(self.types());
        columns.extend(self.texts.address("principal", "principal", ADDRESS));
        columns.extend(self.texts.address("mailing", "mailing", ADDRESS));
        columns.push(self.mailing_role(&columns));
        columns.extend(self.agent()?);
        columns.push(self.officers_complete());
        columns.extend(self.last_report());
        columns.push(list_column("unknown_values", self.unknown_values.iter()));
        Ok(columns)
    }

    /// Adds a warning for each invalid ZIP Code of a US address. The original text is still
    /// published.
    fn warn_bad_zips(&mut self) {
        for role in ["principal", "mailing", "agent"] {
            let zips = self.texts.zips(role);
            self.warnings.extend((0..self.height).filter_map(|row| {
                Some((
                    row,
                    "bad_zip",
                    format!("{role}_zip is `{}`", zips.bad(row)?),
                ))
            }));
        }
    }

    /// Reads a date. An invalid date becomes null with a warning. A placeholder becomes null.
    fn date(&mut self, from: &str, to: &str) -> Column {
        let days: Vec<Option<Day>> = (0..self.height).map(|row| self.day(from, row)).collect();
        strings(to, days.iter().map(|day| day.map(|day| day.to_string())))
    }

    fn day(&mut self, column: &str, row: usize) -> Option<Day> {
        let text = self.texts.cell(column, row)?;
        if self
            .settings
            .placeholder_dates
            .iter()
            .any(|placeholder| text.starts_with(placeholder.as_str()))
        {
            return None;
        }
        let day = self
            .settings
            .date_formats
            .iter()
            .find_map(|format| day_from_pattern(without_time(text), format));
        if day.is_none() {
            self.warnings.push((
                row,
                "bad_date",
                format!(
                    "{column} is `{text}`, not a date {}",
                    self.settings.date_formats.join(" or ")
                ),
            ));
        }
        day
    }

    fn identifiers(&self, numbers: &[Option<Cow<'f, str>>]) -> Column {
        let other = |row: usize| {
            let scheme = self.settings.other_number_scheme.as_ref()?;
            self.public_other_number(row)
                .map(|number| format!("{scheme}={number}"))
        };
        let identifiers = |row: usize| {
            let own = numbers[row]
                .as_deref()
                .filter(|_| self.texts.cell("entity_number", row).is_some())
                .map(|number| format!("state_entity_number={number}"));
            own.into_iter().chain(other(row))
        };
        list_column("identifiers", (0..self.height).map(identifiers))
    }

    /// Returns the URL of the registry's page about each entity, if the registry has such pages.
    fn registry_url(&self, numbers: &[Option<Cow<'f, str>>]) -> Column {
        let url = |number: &Option<Cow<'f, str>>| {
            Some(
                self.settings
                    .registry_url
                    .as_ref()?
                    .replace(NUMBER, number.as_deref()?),
            )
        };
        strings("registry_url", numbers.iter().map(url))
    }

    fn statuses(&mut self) -> [Column; 3] {
        let raw = self.texts.copied("status", "status_raw");
        let settings = self.settings;
        let mut statuses = Vec::with_capacity(self.height);
        let mut bases = Vec::with_capacity(self.height);
        for row in 0..self.height {
            let text = self.texts.cell("status", row);
            let declared = || {
                Some((
                    text.and_then(|text| settings.statuses.get(text))?.as_str(),
                    "source",
                ))
            };
            let shared = || Some((self.status_words.get(text?)?, SHARED_VOCABULARY));
            let known = match &settings.implied_status {
                Some(implied) => Some((implied.as_str(), "implied_by_dataset")),
                None => declared().or_else(shared),
            };
            if known.is_none() {
                self.warn_unknown(row, "unmapped_status", "status", text);
            }
            let (status, basis) = known
                .filter(|(status, _)| !status.is_empty())
                .unwrap_or((UNKNOWN, "source"));
            statuses.push(Some(status));
            bases.push(Some(basis));
        }
        [
            strings("status", statuses.into_iter()),
            raw,
            strings("status_basis", bases.into_iter()),
        ]
    }

    /// Adds a warning about text in a coded column that is in neither the registry's own table nor
    /// the shared vocabulary.
    fn warn_unknown(&mut self, row: usize, code: &'static str, column: &str, text: Option<&str>) {
        let named = column.replace('_', " ");
        self.warnings.push((
            row,
            code,
            format!("{named} `{}` is not in the table", text.unwrap_or_default()),
        ));
        self.unknown_values[row].extend(text.map(|text| unknown_value(column, text)));
    }

    /// Returns the legal form and the place of formation.
    fn types(&mut self) -> [Column; 5] {
        let home = self.settings.state.as_str();
        let settings = self.settings;
        let mut types = Vec::with_capacity(self.height);
        let mut bases = Vec::with_capacity(self.height);
        let mut jurisdictions = Vec::with_capacity(self.height);
        let mut is_foreign = Vec::with_capacity(self.height);
        for row in 0..self.height {
            let raw = self.texts.cell("entity_type", row);
            let known = raw.and_then(|raw| settings.entity_types.get(raw));
            let shared = || Some((self.type_words.get(raw?)?, SHARED_VOCABULARY));
            let coded = known
                .map(|known| (known.value.as_str(), DECLARED))
                .or_else(shared);
            if coded.is_none() {
                self.warn_unknown(row, "unmapped_type", "entity_type", raw);
            }
            let coded = coded.filter(|(value, _)| !value.is_empty() && *value != UNKNOWN);
            types.push(Some(coded.map_or(UNKNOWN, |(value, _)| value)));
            bases.push(coded.map(|(_, basis)| basis));
            let stated = self.texts.cell("jurisdiction", row).map(state);
            // A postal code shows whether the jurisdiction is another state. Other texts (`OC`,
            // names of countries) are not interpreted.
            let by_state = || {
                stated
                    .as_deref()
                    .filter(|text| canonical::state::name(text).is_some())
                    .map(|text| text != home)
            };
            let foreign = known.and_then(|known| known.is_foreign).or_else(by_state);
            is_foreign.push(foreign);
            // A domestic entity was formed in the registry's state.
            jurisdictions.push(
                stated.or_else(|| (foreign == Some(false)).then(|| Cow::Owned(home.to_owned()))),
            );
        }
        [
            strings("entity_type", types.into_iter()),
            self.texts.copied("entity_type", "entity_type_raw"),
            strings("entity_type_basis", bases.into_iter()),
            strings("jurisdiction_of_formation", jurisdictions.into_iter()),
            is_foreign
                .into_iter()
                .collect::<BooleanChunked>()
                .with_name("is_foreign".into())
                .into_column(),
        ]
    }

    /// Returns the declared mailing role for each row with a mailing address.
    fn mailing_role(&self, columns: &[Column]) -> Column {
        let parts: Vec<&StringChunked> = columns
            .iter()
            .filter(|column| column.name().starts_with("mailing_"))
            .filter_map(|column| column.str().ok())
            .collect();
        let role = |row: usize| {
            self.settings
                .mailing_role
                .as_deref()
                .filter(|_| parts.iter().any(|part| part.get(row).is_some()))
        };
        strings("mailing_role", (0..self.height).map(role))
    }

    /// Returns the registered agent. Publishes a street only for agents whose name marks them as
    /// organisations, because registries also list persons as organisations.
    fn agent(&mut self) -> Result<Vec<Column>> {
        let agents = PartyColumns::new(&self.texts, "agent");
        let mut found: Vec<_> = (0..self.height)
            .map(|row| agents.party(self.settings, row, None))
            .collect();
        for (row, agent) in found.iter_mut().enumerate() {
            if let Some(placeholder) = agent.take_if(|agent| agent.is_placeholder()) {
                self.warnings.push((
                    row,
                    PLACEHOLDER,
                    format!(
                        "agent_name is `{}`, which is a placeholder",
                        placeholder.name
                    ),
                ));
            }
        }
        let is_organization: BooleanChunked = found
            .iter()
            .map(|agent| {
                agent.as_ref().is_some_and(|agent| {
                    agent.kind == Some(ORGANIZATION) && has_designator(&agent.name)
                })
            })
            .collect();
        let mut columns = vec![
            strings(
                "agent_name",
                found
                    .iter()
                    .map(|agent| agent.as_ref().map(|agent| &*agent.name)),
            ),
            strings(
                "agent_type",
                found
                    .iter()
                    .map(|agent| agent.as_ref().and_then(|agent| agent.kind)),
            ),
        ];
        for column in self.texts.address("agent", "agent", &ADDRESS[..6]) {
            let is_street = column.name().starts_with("agent_line");
            columns.push(if is_street {
                keep_where(&column, &is_organization)?
            } else {
                column
            });
        }
        Ok(columns)
    }

    fn officers_complete(&self) -> Column {
        let flag = |row: usize| {
            let stated = self
                .texts
                .cell("officers_flag", row)
                .and_then(|flag| self.settings.officers_complete.get(flag))
                .copied();
            stated.or(self.settings.is_officers_complete)
        };
        (0..self.height)
            .map(flag)
            .collect::<BooleanChunked>()
            .with_name("officers_complete".into())
            .into_column()
    }

    /// Returns the year and date of the latest annual report in the record.
    fn last_report(&mut self) -> [Column; 2] {
        let reports: Vec<(String, String)> = REPORTS
            .map(|place| {
                (
                    format!("report_year_{place}"),
                    format!("report_date_{place}"),
                )
            })
            .collect();
        let mut years: Vec<Option<i32>> = Vec::with_capacity(self.height);
        let mut days = Vec::with_capacity(self.height);
        for row in 0..self.height {
            let year = |column: &str| {
                self.texts
                    .cell(column, row)
                    .and_then(|text| text.parse::<i32>().ok())
                    .filter(|year| *year >= 1900)
            };
            let last = reports
                .iter()
                .filter_map(|(year_column, day_column)| Some((year(year_column)?, day_column)))
                .max_by_key(|(year, _)| *year);
            years.push(last.map(|(year, _)| year));
            days.push(last.and_then(|(_, column)| self.day(column, row)));
        }
        [
            Column::new("last_report_year".into(), years),
            strings(
                "last_report_date",
                days.iter().map(|day| day.map(|day| day.to_string())),
            ),
        ]
    }
}

/// Sets the cells of all rows outside the mask to null.
fn keep_where(column: &Column, mask: &BooleanChunked) -> Result<Column> {
    let cells = column
        .str()?
        .iter()
        .zip(mask.iter())
        .map(|(cell, is_kept)| cell.filter(|_| is_kept == Some(true)));
    Ok(cells
        .collect::<StringChunked>()
        .with_name(column.name().clone())
        .into_column())
}

#[cfg(test)]
mod tests {
    use pubdata_core::contract::normalized_word;

    use super::*;

    const SETTINGS: &str = r#"
state = "CO"
source_id = "s"
entities = ["business.s"]
date_formats = ["MM/DD/YYYY"]
statuses = { "Good Standing" = "good_standing", "Hold" = "suspended" }
entity_types = { DLLC = { value = "llc", is_foreign = false } }
"#;

    fn words(pairs: &[(&str, &str)]) -> Words {
        serde_json::from_value(
            pairs
                .iter()
                .map(|(word, value)| (normalized_word(word), *value))
                .collect(),
        )
        .unwrap()
    }

    fn texts(column: &Column) -> Vec<Option<&str>> {
        column.str().unwrap().iter().collect()
    }

    #[test]
    fn own_table_takes_precedence_over_the_shared_vocabulary() {
        let settings: Settings = toml::from_str(SETTINGS).unwrap();
        let frame = df!(
            "status" => [Some("GOOD STANDING"), Some("Hold"), Some("Dissolved (Term Expired)"), Some("Zzz"), None],
            "entity_type" => [Some("DLLC"), Some("Foreign Limited Liability Companies"), Some("N/A"), Some("Zzz"), None],
        )
        .unwrap();
        let mut reader = Reader {
            settings: &settings,
            bucket: "0",
            texts: Texts(&frame),
            height: frame.height(),
            status_words: &words(&[
                ("Hold", "pending"),
                ("Dissolved - Term Expired", "dissolved"),
            ]),
            type_words: &words(&[("foreign limited liability company", "llc"), ("n a", "")]),
            rejects: Rejects::new(frame.height()),
            warnings: Vec::new(),
            unknown_values: vec![Vec::new(); frame.height()],
        };
        let [status, _, basis] = reader.statuses();
        assert_eq!(
            texts(&status),
            [
                "good_standing",
                "suspended",
                "dissolved",
                "unknown",
                "unknown"
            ]
            .map(Some)
        );
        assert_eq!(
            texts(&basis),
            ["source", "source", "shared_vocabulary", "source", "source"].map(Some)
        );
        let [entity_type, _, basis, ..] = reader.types();
        assert_eq!(
            texts(&entity_type),
            ["llc", "llc", "unknown", "unknown", "unknown"].map(Some)
        );
        assert_eq!(
            texts(&basis),
            [
                Some("declared"),
                Some("shared_vocabulary"),
                None,
                None,
                None
            ]
        );
        let unknown: Vec<String> = reader
            .unknown_values
            .iter()
            .map(|values| values.join(" "))
            .collect();
        assert_eq!(unknown, ["", "", "", "status=Zzz entity_type=Zzz", ""]);
        assert_eq!(
            reader
                .warnings
                .iter()
                .filter(|(row, ..)| *row == 3)
                .map(|(_, code, _)| *code)
                .collect::<Vec<_>>(),
            ["unmapped_status", "unmapped_type"]
        );
    }

    #[test]
    fn placeholder_agent_is_null_and_reported() {
        let settings: Settings = toml::from_str(SETTINGS).unwrap();
        let frame = df!("agent_name" => [Some("** REGISTERED AGENT RESIGNED **"), Some("FAKE AGENTS INC"), None]).unwrap();
        let none = Words::default();
        let mut reader = Reader {
            settings: &settings,
            bucket: "0",
            texts: Texts(&frame),
            height: frame.height(),
            status_words: &none,
            type_words: &none,
            rejects: Rejects::new(frame.height()),
            warnings: Vec::new(),
            unknown_values: vec![Vec::new(); frame.height()],
        };
        let columns = reader.agent().unwrap();
        assert_eq!(texts(&columns[0]), [None, Some("FAKE AGENTS INC"), None]);
        assert_eq!(
            reader.warnings,
            [(
                0,
                PLACEHOLDER,
                "agent_name is `** REGISTERED AGENT RESIGNED **`, which is a placeholder"
                    .to_owned()
            )]
        );
    }
}
