//! Turns the CCD school directory and characteristics, and the EDGE geocodes, into one row per
//! public school in the directory's school year, whether open or not. Sources: "Common Core of
//! Data, Public Elementary/Secondary School Universe Survey", files 029 and 129, and "EDGE
//! Geocodes, File Documentation". Does not cover ratings, scores or private schools, because the
//! directory does not contain them.

use std::collections::BTreeMap;

use polars::prelude::*;
use serde::Deserialize;

use crate::datasets::Fault;
use crate::datasets::context::finding;
use crate::datasets::{Build, Builder, Context, Table, settings};
use crate::normalise::{
    Rejects, convert, degrees, filtered, left_join, list_column, pointer_column, pointers, require,
    text, text_column, us_date,
};
use pubdata_core::error::{Result, ResultExt};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const SCHOOL: &str = "geo.school";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    status: BTreeMap<String, Status>,
    school_type: BTreeMap<String, String>,
    level: BTreeMap<String, String>,
    charter: BTreeMap<String, String>,
    virtual_status: BTreeMap<String, String>,
    grade_offered: BTreeMap<String, String>,
    grade: Grades,
    min_geocoded_percent: f64,
    /// Columns that determine what is published. An unknown value in any of them blocks the task.
    decides: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    value: String,
    is_open: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grades {
    /// Grade codes in ascending order. The column `g_` plus the lowercase code shows whether a
    /// school offers the grade.
    codes: Vec<String>,
    absent: Vec<String>,
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 2,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    settings::<Settings>(declaration).map(drop)
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let directory = context.read_one("nces.ccd_directory")?;
    let characteristics = context.read_optional("nces.ccd_characteristics")?;
    let geocodes = context.read_one("nces.edge_geocode")?;
    let mut issues: Vec<Issue> = directory
        .issues(SCHOOL)
        .chain(geocodes.issues(SCHOOL))
        .collect();
    issues.extend(characteristics.iter().flat_map(|file| file.issues(SCHOOL)));

    let renamed = |frame: DataFrame, pairs: &[(&str, &str)]| -> Result<DataFrame> {
        let mut frame = context.without_repeats(&frame)?;
        for (from, to) in pairs {
            frame.rename(from, (*to).into())?;
        }
        Ok(frame)
    };
    let schools = context.without_repeats(&directory.frame)?;
    let characteristics = match characteristics {
        Some(file) => file.frame,
        None => empty_characteristics()?,
    };
    let characteristics = renamed(
        characteristics,
        &[
            (POINTERS, "characteristics_pointers"),
            ("school_year", "characteristics_school_year"),
        ],
    )?;
    let geocodes = renamed(
        geocodes.frame,
        &[
            (POINTERS, "geocode_pointers"),
            ("school_year", "geocode_school_year"),
        ],
    )?;
    let frame = left_join(schools, only_keyed(characteristics)?, "ncessch")
        .context(|| "nces.ccd_characteristics".to_owned())?;
    let frame = left_join(frame, only_keyed(geocodes)?, "ncessch")
        .context(|| "nces.edge_geocode".to_owned())?;

    let mut reader = Reader {
        frame: &frame,
        rejects: Rejects::new(frame.height()),
        unknown: Vec::new(),
    };
    let columns = reader.columns(&settings)?;
    let Reader {
        rejects, unknown, ..
    } = reader;
    add_findings(
        context,
        &frame,
        &rejects,
        &unknown,
        &settings.decides,
        &mut issues,
    )?;
    let table = filtered(&DataFrame::new(frame.height(), columns)?, &rejects.kept())?;
    if !context.is_replay() {
        check_geocodes(&settings, &table, &mut issues)?;
    }
    Ok(vec![Table {
        dataset_id: SCHOOL.to_owned(),
        partition: BTreeMap::new(),
        frame: table,
        issues,
    }])
}

/// Returns an empty characteristics file, for use until the publisher releases the file.
fn empty_characteristics() -> Result<DataFrame> {
    let texts = ["ncessch", "school_year", "virtual_status"]
        .map(|name| text_column(name, std::iter::empty::<Option<String>>()));
    let columns = texts
        .into_iter()
        .chain([pointer_column(std::iter::empty())])
        .collect();
    Ok(DataFrame::new(0, columns)?)
}

fn only_keyed(frame: DataFrame) -> Result<DataFrame> {
    filtered(&frame, &frame.column("ncessch")?.is_not_null())
}

/// Reads the joined columns and records the rows and categories that cannot be published.
struct Reader<'f> {
    frame: &'f DataFrame,
    rejects: Rejects,
    /// Row, column and text for each undeclared category.
    unknown: Vec<(usize, &'static str, String)>,
}

impl Reader<'_> {
    fn columns(&mut self, settings: &Settings) -> Result<Vec<Column>> {
        for column in [
            "ncessch",
            "school_year",
            "name",
            "leaid",
            "district_name",
            "status",
        ] {
            require(self.frame, column, &mut self.rejects)?;
        }
        let ids = text(self.frame, "ncessch")?;
        let status: BTreeMap<String, String> = settings
            .status
            .iter()
            .map(|(code, status)| (code.clone(), status.value.clone()))
            .collect();
        let open_codes: Vec<&String> = settings
            .status
            .iter()
            .filter(|(_, status)| status.is_open)
            .map(|(code, _)| code)
            .collect();
        let is_open = text(self.frame, "status")?
            .iter()
            .map(|code| code.map(|code| open_codes.iter().any(|open| *open == code)));
        let (offered, is_reported) = self.grades_offered(settings)?;
        let grade = |code: &str| match settings.grade.absent.iter().any(|absent| absent == code) {
            true => Some(None),
            false => settings
                .grade
                .codes
                .iter()
                .any(|known| known == code)
                .then(|| Some(code.to_owned())),
        };
        let charter = self.mapped("charter", &settings.charter)?;
        let mut columns = vec![
            StringChunked::from_iter(
                ids.iter()
                    .map(|id| format!("{SCHOOL}:{}", id.unwrap_or_default())),
            )
            .with_name("record_id".into())
            .into_column(),
            is_open
                .collect::<BooleanChunked>()
                .with_name("is_open".into())
                .into_column(),
            self.category("status", &status)?,
            self.category("status_updated", &status)?,
            self.category("school_type", &settings.school_type)?,
            self.category("level", &settings.level)?,
            self.category("virtual_status", &settings.virtual_status)?,
            charter
                .iter()
                .map(|value| {
                    value
                        .as_deref()
                        .filter(|value| !value.is_empty())
                        .map(|value| value == "true")
                })
                .collect::<BooleanChunked>()
                .with_name("is_charter".into())
                .into_column(),
            strings(
                "grade_low",
                self.coded("grade_low", grade)?
                    .into_iter()
                    .map(Option::flatten),
            ),
            strings(
                "grade_high",
                self.coded("grade_high", grade)?
                    .into_iter()
                    .map(Option::flatten),
            ),
            list_column("grades_offered", offered.iter()),
            Column::new("is_grades_reported".into(), is_reported),
            strings(
                "status_effective_date",
                convert(
                    self.frame,
                    "status_effective_date",
                    "a date MM/DD/YYYY",
                    &mut self.rejects,
                    us_date,
                )?
                .into_iter(),
            ),
            strings("street", self.street()?.into_iter()),
            Column::new(
                "lat".into(),
                convert(self.frame, "lat", "a latitude", &mut self.rejects, |text| {
                    degrees(text, 90.0)
                })?,
            ),
            Column::new(
                "lon".into(),
                convert(
                    self.frame,
                    "lon",
                    "a longitude",
                    &mut self.rejects,
                    |text| degrees(text, 180.0),
                )?,
            ),
            self.pointers()?,
        ];
        for name in [
            "ncessch",
            "school_year",
            "name",
            "leaid",
            "district_name",
            "city",
            "state_code",
            "postal_code",
            "county_fips",
            "geocode_school_year",
        ] {
            columns.push(self.frame.column(name)?.clone());
        }
        columns.push(self.frame.column("characteristics_school_year")?.clone());
        columns.push(self.unknown_values());
        Ok(columns)
    }

    /// Maps a category column. Records undeclared text and sets the cell to null.
    fn mapped(
        &mut self,
        name: &'static str,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<Option<String>>> {
        self.coded(name, |code| values.get(code).cloned())
    }

    fn category(
        &mut self,
        name: &'static str,
        values: &BTreeMap<String, String>,
    ) -> Result<Column> {
        Ok(strings(name, self.mapped(name, values)?.into_iter()))
    }

    fn coded<T>(
        &mut self,
        name: &'static str,
        map: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<Option<T>>> {
        let cells = text(self.frame, name)?;
        let mut values = Vec::with_capacity(cells.len());
        for (row, cell) in cells.iter().enumerate() {
            let value = cell.and_then(&map);
            if let (Some(cell), None) = (cell, &value) {
                self.unknown.push((row, name, cell.to_owned()));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// Returns the publisher's text for each category that is null because it is unknown.
    fn unknown_values(&self) -> Column {
        let mut cells = vec![Vec::new(); self.frame.height()];
        for (row, column, cell) in &self.unknown {
            cells[*row].push(format!("{column}={cell}"));
        }
        list_column("unknown_values", cells.iter())
    }

    /// Returns the grades offered, and a flag for schools that report them.
    fn grades_offered<'s>(
        &mut self,
        settings: &'s Settings,
    ) -> Result<(Vec<Vec<&'s str>>, Vec<bool>)> {
        let mut offered = vec![Vec::new(); self.frame.height()];
        let mut is_reported = vec![true; self.frame.height()];
        for code in &settings.grade.codes {
            let column = format!("g_{}", code.to_lowercase());
            let cells = text(self.frame, &column)?;
            for (row, cell) in cells.iter().enumerate() {
                match cell.map(|cell| settings.grade_offered.get(cell).map(String::as_str)) {
                    Some(Some("yes")) => offered[row].push(code.as_str()),
                    Some(Some("no")) => {}
                    Some(Some(_)) | None => is_reported[row] = false,
                    Some(None) => {
                        is_reported[row] = false;
                        self.unknown.push((
                            row,
                            "grades_offered",
                            cell.unwrap_or_default().to_owned(),
                        ));
                    }
                }
            }
        }
        Ok((offered, is_reported))
    }

    /// Joins the lines of the street address with commas.
    fn street(&self) -> Result<Vec<Option<String>>> {
        let lines = ["street_1", "street_2", "street_3"].map(|name| text(self.frame, name));
        let [first, second, third] = lines;
        let (first, second, third) = (first?, second?, third?);
        let join = |row: usize| {
            let parts: Vec<&str> = [first.get(row), second.get(row), third.get(row)]
                .into_iter()
                .flatten()
                .collect();
            (!parts.is_empty()).then(|| parts.join(", "))
        };
        Ok((0..self.frame.height()).map(join).collect())
    }

    fn pointers(&self) -> Result<Column> {
        let files = [POINTERS, "characteristics_pointers", "geocode_pointers"]
            .map(|name| pointers(self.frame, name));
        let [directory, characteristics, geocodes] = files;
        let (directory, characteristics, geocodes) = (directory?, characteristics?, geocodes?);
        let rows: Vec<Vec<u64>> = (0..self.frame.height())
            .map(|row| {
                [&directory[row], &characteristics[row], &geocodes[row]]
                    .into_iter()
                    .flatten()
                    .flatten()
                    .copied()
                    .collect()
            })
            .collect();
        Ok(pointer_column(rows.iter().map(Vec::as_slice)))
    }
}

fn strings(name: &str, values: impl Iterator<Item = Option<String>>) -> Column {
    StringChunked::from_iter(values)
        .with_name(name.into())
        .into_column()
}

/// Adds issues: quarantines unreadable rows and warns about undeclared categories. In a column that
/// determines what is published, an undeclared category blocks the dataset until its meaning is
/// declared.
fn add_findings(
    context: &Context<'_>,
    frame: &DataFrame,
    rejects: &Rejects,
    unknown: &[(usize, &'static str, String)],
    decides: &[String],
    issues: &mut Vec<Issue>,
) -> Result<()> {
    let ids = text(frame, "ncessch")?;
    let all_pointers = pointers(frame, POINTERS)?;
    let mut add = |row: usize, code: &str, severity: Severity, detail: String| {
        let mut issue = finding(
            code,
            severity,
            SCHOOL,
            &format!("{SCHOOL}:{}", ids.get(row).unwrap_or_default()),
            detail,
        );
        issue.pointer = all_pointers[row]
            .as_deref()
            .and_then(|numbers| context.resolve(numbers).into_iter().next());
        issues.push(issue);
    };
    for (row, code, detail) in rejects.iter() {
        add(row, code, Severity::Quarantine, detail.to_owned());
    }
    for (row, column, cell) in unknown {
        let (code, severity) = match decides.iter().any(|decides| decides == column) {
            true => ("unknown_category", Severity::Block),
            false => ("unknown_value", Severity::Warning),
        };
        let detail = format!(
            "{column} is `{cell}`, which is not among the settings of pipelines/nces/ccd_directory.toml: decide what it means and add it there"
        );
        add(*row, code, severity, detail);
    }
    Ok(())
}

/// Blocks the dataset if so few open schools have coordinates that the geocode file must be
/// incomplete.
fn check_geocodes(settings: &Settings, table: &DataFrame, issues: &mut Vec<Issue>) -> Result<()> {
    let is_open = table.column("is_open")?.bool()?;
    let has_point = table.column("lat")?.is_not_null();
    let open = is_open.sum().unwrap_or(0);
    let geocoded = (is_open & &has_point).sum().unwrap_or(0);
    let percent = f64::from(geocoded) * 100.0 / f64::from(open.max(1));
    if open > 0 && percent < settings.min_geocoded_percent {
        let detail = format!(
            "{geocoded} of {open} open schools have a geocode ({percent:.1} %), fewer than the {} % declared as the floor",
            settings.min_geocoded_percent
        );
        issues.push(finding(
            "too_few_geocodes",
            Severity::Block,
            SCHOOL,
            SCHOOL,
            detail,
        ));
    }
    Ok(())
}
