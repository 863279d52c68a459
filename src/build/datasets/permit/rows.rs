//! Builds one record from a single row, or from all rows of one permit.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use polars::prelude::*;

use super::PERMIT;
use super::address::{self, Location};
use super::cells::{Reader, Rows, Warning, date};
use super::contact::{self, Contact};
use super::frame_columns::{Feed, constant, degrees, made, texts, whole};
use super::settings::{Merge, Settings};
use super::{description, tags};
use crate::datasets::vocabulary::UNKNOWN;
use crate::normalise::{list_column, pointer_column};
use pubdata_core::error::Result;

/// Columns that are read whenever they are mapped.
pub(super) const COLUMNS: &[&str] = &[
    "address_state",
    "applied_date",
    "city",
    "completed_date",
    "description",
    "expires_date",
    "fees",
    "housing_units",
    "issued_date",
    "lat",
    "link",
    "location",
    "lon",
    "permit_number",
    "place",
    "property_class",
    "property_class_raw",
    "square_feet",
    "status",
    "status_date",
    "status_detail",
    "status_raw",
    "stories",
    "sub_type",
    "type",
    "type_raw",
    "work_class",
    "work_class_raw",
    "zip",
];

/// Columns that are read from the source column with the same name. Addresses and values come from
/// the columns named in the settings.
pub(super) const SAME_NAMES: [&str; 17] = [
    "permit_number",
    "work_class",
    "property_class",
    "description",
    "status",
    "status_detail",
    "status_date",
    "applied_date",
    "issued_date",
    "completed_date",
    "expires_date",
    "fees",
    "square_feet",
    "housing_units",
    "stories",
    "lat",
    "lon",
];

/// A permit as published.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Permit {
    pub(super) permit_id: String,
    pub(super) permit_number: Option<String>,
    pub(super) kind: String,
    pub(super) type_raw: Option<String>,
    pub(super) type_basis: Option<&'static str>,
    pub(super) sub_type_raw: Option<String>,
    pub(super) work_class: Option<String>,
    pub(super) work_class_raw: Option<String>,
    pub(super) property_class: Option<String>,
    pub(super) property_class_raw: Option<String>,
    pub(super) description: Option<String>,
    pub(super) status: String,
    pub(super) status_detail: Option<String>,
    pub(super) status_raw: Option<String>,
    pub(super) status_basis: Option<&'static str>,
    pub(super) status_date: Option<String>,
    pub(super) applied_date: Option<String>,
    pub(super) issued_date: Option<String>,
    pub(super) completed_date: Option<String>,
    pub(super) expires_date: Option<String>,
    pub(super) job_value: Option<i64>,
    pub(super) fees: Option<i64>,
    pub(super) square_feet: Option<i64>,
    pub(super) housing_units: Option<i64>,
    pub(super) stories: Option<i64>,
    pub(super) renewals: Option<i64>,
    pub(super) location: Location,
    pub(super) coordinates: Option<(f64, f64)>,
    pub(super) tags: Vec<&'static str>,
    pub(super) source_url: Option<String>,
    pub(super) contacts: Vec<Contact>,
    pub(super) warnings: Vec<Warning>,
    pub(super) unknown_values: Vec<String>,
}

/// A permit and the pointers to its source rows.
pub(super) type PermitWithPointers = (Permit, Vec<u64>);

impl Permit {
    /// Returns the permit's dates, sorted by how well each date shows a row's age.
    fn days(&self) -> [&Option<String>; 5] {
        [
            &self.status_date,
            &self.completed_date,
            &self.issued_date,
            &self.expires_date,
            &self.applied_date,
        ]
    }

    /// Returns the permit without its dates.
    fn undated(&self) -> Self {
        let mut undated = self.clone();
        for day in [
            &mut undated.status_date,
            &mut undated.completed_date,
            &mut undated.issued_date,
            &mut undated.expires_date,
            &mut undated.applied_date,
        ] {
            *day = None;
        }
        undated
            .warnings
            .retain(|warning| warning.code != "bad_date");
        undated
    }
}

/// Returns a row's key, from the first declared list of columns that all have values.
pub(super) fn key(rows: &Rows<'_>, row: usize, settings: &Settings) -> Option<String> {
    let part = |column: &String| match column.strip_suffix('?') {
        Some(optional) => Some(
            rows.cell(row, optional)
                .map(|cell| address::key_cell(settings, optional, cell))
                .unwrap_or_default(),
        ),
        None => rows.cell(row, column),
    };
    let parts = settings
        .keys
        .iter()
        .find_map(|columns| columns.iter().map(part).collect::<Option<Vec<&str>>>())?;
    let parts: Vec<String> = parts
        .into_iter()
        .map(path_safe)
        .filter(|part| !part.is_empty())
        .collect();
    (!parts.is_empty()).then(|| format!("{}:{}", settings.jurisdiction.id, parts.join("-")))
}

/// Keeps characters that need no escaping in a path, and replaces each run of other characters with
/// a single `-`.
fn path_safe(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
                c
            } else {
                ' '
            }
        })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Each permit's rows in file order, rows without a key, and rows for permits that are in another
/// source.
pub(super) struct Grouped {
    pub(super) permits: Vec<(String, Vec<usize>)>,
    pub(super) without_key: Vec<usize>,
    pub(super) in_other_source: Vec<usize>,
}

pub(super) fn grouped(rows: &Rows<'_>, settings: &Settings) -> Grouped {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut without_key, mut in_other_source) = (Vec::new(), Vec::new());
    let is_of_another_list = |row: usize, before: &String| {
        date(rows.cell(row, "issued_date")?, &settings.dates)
            .flatten()
            .map(|day| day >= *before)
    };
    for row in 0..rows.height() {
        if settings
            .issued_before
            .as_ref()
            .and_then(|before| is_of_another_list(row, before))
            == Some(true)
        {
            in_other_source.push(row);
            continue;
        }
        match key(rows, row, settings) {
            None => without_key.push(row),
            Some(key) => match places.get(&key) {
                Some(place) => groups[*place].1.push(row),
                None => {
                    places.insert(key.clone(), groups.len());
                    groups.push((key, vec![row]));
                }
            },
        }
    }
    Grouped {
        permits: groups,
        without_key,
        in_other_source,
    }
}

/// A row and the permit read from it.
type Read = (usize, Permit);

/// A row and the reason for its rejection.
type Refused = (usize, String);

/// Result of building the permits for one key.
#[derive(Default)]
pub(super) struct BuiltPermits {
    /// Permits with their source rows, starting with the permit's own rows. If a number has rows of
    /// several kinds, each permit has all of these rows, because only together do they distinguish
    /// the permits.
    pub(super) permits: Vec<(Permit, Vec<usize>)>,
    /// Rows that contradict other rows, with the reason.
    pub(super) contradicting: Vec<Refused>,
}

/// Builds the permits from the rows with one key. If the declaration merges rows, the result is a
/// single permit. Otherwise, the result is one permit for each kind that the rows name. Rows that
/// differ only in dates form the history of one permit.
pub(super) fn permits(
    rows: &Rows<'_>,
    permit_id: &str,
    group: &[usize],
    settings: &Settings,
) -> BuiltPermits {
    if let Some(merge) = &settings.merge {
        return BuiltPermits {
            permits: vec![(
                merged(rows, permit_id, group, settings, merge),
                group.to_vec(),
            )],
            ..BuiltPermits::default()
        };
    }
    if let [row] = group {
        return BuiltPermits {
            permits: vec![(
                read(Reader::new(rows, *row, settings), permit_id),
                vec![*row],
            )],
            ..BuiltPermits::default()
        };
    }
    let mut kinds: BTreeMap<String, Vec<Read>> = BTreeMap::new();
    for row in group {
        let permit = read(Reader::new(rows, *row, settings), permit_id);
        let kind = [&permit.type_raw, &permit.sub_type_raw]
            .into_iter()
            .flatten();
        let words = kind
            .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()))
            .filter(|word| !word.is_empty());
        let kind = words.collect::<Vec<_>>().join("-");
        kinds.entry(kind).or_default().push((*row, permit));
    }
    let are_several = kinds.len() > 1;
    let mut made = BuiltPermits::default();
    for (kind, read) in kinds {
        let (agreeing, contradicting) = by_majority(read);
        if let Some((mut permit, own)) = latest(agreeing) {
            if are_several && !kind.is_empty() {
                permit.permit_id = format!("{permit_id}-{kind}");
            }
            let others = group
                .iter()
                .copied()
                .filter(|row| are_several && !own.contains(row));
            made.permits
                .push((permit, own.iter().copied().chain(others).collect()));
        }
        made.contradicting.extend(contradicting);
    }
    made
}

/// Splits rows that should agree except for their dates into the majority and the rejected rows,
/// with reasons. Rejects all rows if there is no majority.
fn by_majority(read: Vec<Read>) -> (Vec<Read>, Vec<Refused>) {
    let all = read.len();
    let mut forms: Vec<(Permit, Vec<Read>)> = Vec::new();
    for (row, permit) in read {
        let undated = permit.undated();
        match forms.iter_mut().find(|(form, _)| *form == undated) {
            Some((_, rows)) => rows.push((row, permit)),
            None => forms.push((undated, vec![(row, permit)])),
        }
    }
    let count = forms.len();
    let most = forms
        .iter()
        .position(|(_, rows)| 2 * rows.len() > all)
        .map(|place| forms.swap_remove(place).1)
        .unwrap_or_default();
    let agreeing = most.len();
    let reason = match agreeing {
        0 => format!("{all} rows have this key and say {count} different things, expected one"),
        _ => format!("{agreeing} of {all} rows with this key say the same, and this one does not"),
    };
    let mut against: Vec<Refused> = forms
        .into_iter()
        .flat_map(|(_, rows)| rows)
        .map(|(row, _)| (row, reason.clone()))
        .collect();
    against.sort();
    (most, against)
}

/// Returns the latest of several rows that differ only in their dates, along with all of these
/// rows. Returns `None` if there are no rows.
fn latest(rows: Vec<Read>) -> Option<(Permit, Vec<usize>)> {
    let own: Vec<usize> = rows.iter().map(|(row, _)| *row).collect();
    let are_different = rows.iter().any(|(_, permit)| *permit != rows[0].1);
    let (_, mut latest) = rows
        .into_iter()
        .max_by(|(_, a), (_, b)| a.days().cmp(&b.days()))?;
    if are_different {
        let detail = format!(
            "{} rows of the permit differ only in their dates; the latest dates are published",
            own.len()
        );
        latest.warnings.push(Warning {
            code: "dates_differ",
            detail,
        });
    }
    Some((latest, own))
}

/// Merges the rows with one key into a permit, as declared.
fn merged(
    rows: &Rows<'_>,
    permit_id: &str,
    group: &[usize],
    settings: &Settings,
    merge: &Merge,
) -> Permit {
    let read_row = |row: usize| read(Reader::new(rows, row, settings), permit_id);
    let latest = *group
        .iter()
        .max_by(|a, b| compare_age(rows, **a, **b, merge, settings))
        .expect("a group has a row");
    let mut permit = read_row(latest);
    let earliest = |column: &str| {
        let dates = group
            .iter()
            .filter_map(|row| date(rows.cell(*row, column)?, &settings.dates).flatten());
        merge
            .earliest
            .iter()
            .any(|name| name == column)
            .then(|| dates.min())
            .flatten()
    };
    if let Some(date) = earliest("applied_date") {
        permit.applied_date = Some(date);
    }
    if let Some(date) = earliest("issued_date") {
        permit.issued_date = Some(date);
    }
    let is_renewal = |row: &&usize| {
        rows.cell(**row, &merge.renewal_column)
            .is_some_and(|text| merge.renewals.contains(text))
    };
    let renewal = |row: &usize| {
        merge
            .renewal_keys
            .iter()
            .map(|column| rows.cell(*row, column))
            .collect::<Vec<_>>()
    };
    let addresses = group
        .iter()
        .filter(|row| **row != latest)
        .filter_map(|row| address::read(&mut Reader::new(rows, *row, settings)).normalized);
    if let Some(other) = addresses
        .into_iter()
        .find(|other| permit.location.normalized.as_ref() != Some(other))
    {
        let detail = format!(
            "another row of the permit has the address `{other}`; that of the latest row is published"
        );
        permit.warnings.push(Warning {
            code: "addresses_differ",
            detail,
        });
    }
    if !merge.renewals.is_empty() {
        permit.renewals = Some(
            group
                .iter()
                .filter(is_renewal)
                .map(renewal)
                .collect::<BTreeSet<_>>()
                .len() as i64,
        );
    }
    permit
}

/// Compares two rows by the columns that show which row is later. If they are equal, the row
/// further down in the file wins.
fn compare_age(
    rows: &Rows<'_>,
    a: usize,
    b: usize,
    merge: &Merge,
    settings: &Settings,
) -> Ordering {
    let rank = |row: usize, column: &str| {
        let cell = rows.cell(row, column)?;
        Some(
            date(cell, &settings.dates)
                .flatten()
                .unwrap_or_else(|| format!("{cell:0>12}")),
        )
    };
    let by_columns = merge
        .order
        .iter()
        .map(|column| rank(a, column).cmp(&rank(b, column)));
    by_columns
        .fold(Ordering::Equal, Ordering::then)
        .then(a.cmp(&b))
}

fn read(mut reader: Reader<'_>, permit_id: &str) -> Permit {
    let settings = reader.settings;
    let raw = |reader: &Reader<'_>, column: &str| {
        reader
            .owned(&format!("{column}_raw"))
            .or_else(|| reader.owned(column))
    };
    let description = reader
        .text("description")
        .map(|text| description::redact_persons(text, &settings.name_marks));
    let value = settings
        .job_value
        .iter()
        .find(|column| reader.text(column).is_some());
    let kind = reader.kind();
    let status = reader.category(
        &settings.status,
        &settings.trade.status,
        "status",
        "unmapped_status",
    );
    let or_unknown = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.to_owned());
    Permit {
        permit_id: permit_id.to_owned(),
        permit_number: reader.owned("permit_number"),
        kind: or_unknown(kind.value),
        type_basis: kind.basis,
        type_raw: raw(&reader, "type"),
        sub_type_raw: reader.owned("sub_type"),
        work_class: reader
            .category(
                &settings.work_class,
                &settings.trade.work_class,
                "work_class",
                "unmapped_work_class",
            )
            .value,
        work_class_raw: raw(&reader, "work_class"),
        property_class: reader
            .category(
                &settings.property_class,
                &settings.trade.property_class,
                "property_class",
                "unmapped_property_class",
            )
            .value,
        property_class_raw: raw(&reader, "property_class"),
        tags: description.as_deref().map(tags::find).unwrap_or_default(),
        description,
        status: or_unknown(status.value),
        status_basis: status.basis,
        status_detail: reader.owned("status_detail"),
        status_raw: raw(&reader, "status"),
        status_date: reader.date("status_date"),
        applied_date: reader.date("applied_date"),
        issued_date: reader.date("issued_date"),
        completed_date: reader.date("completed_date"),
        expires_date: reader.date("expires_date"),
        job_value: value.and_then(|column| reader.money(column)),
        fees: reader.money("fees"),
        square_feet: reader.measure("square_feet"),
        housing_units: reader.measure("housing_units"),
        stories: reader.measure("stories"),
        renewals: None,
        location: address::read(&mut reader),
        coordinates: reader.coordinates(),
        source_url: reader.owned("link").or_else(|| page(&reader)),
        contacts: contact::read(&mut reader),
        warnings: reader.warnings,
        unknown_values: reader.unknown_values,
    }
}

/// Builds the frame of `permit.permit`.
pub(super) fn frame(
    items: &[PermitWithPointers],
    settings: &Settings,
    feed: &Feed<'_>,
) -> Result<DataFrame> {
    let height = items.len();
    let scheme = settings
        .parcel
        .as_ref()
        .map(|parcel| parcel.scheme.as_str());
    macro_rules! text {
        ($name:literal, $($field:tt)+) => {
            texts($name, items, |(permit, _)| permit.$($field)+.as_deref())
        };
    }
    let columns = vec![
        made("record_id", items, |(permit, _)| {
            Some(format!("{PERMIT}:{}", permit.permit_id))
        }),
        constant("jurisdiction", &settings.jurisdiction.id, height),
        constant("jurisdiction_name", &settings.jurisdiction.name, height),
        constant("source_id", feed.source_id, height),
        constant("bucket", feed.bucket, height),
        constant("state", &settings.jurisdiction.state, height),
        texts("permit_id", items, |(permit, _)| Some(&permit.permit_id)),
        text!("permit_number", permit_number),
        texts("type", items, |(permit, _)| Some(&permit.kind)),
        text!("type_raw", type_raw),
        text!("sub_type_raw", sub_type_raw),
        texts("type_basis", items, |(permit, _)| permit.type_basis),
        text!("work_class", work_class),
        text!("work_class_raw", work_class_raw),
        text!("property_class", property_class),
        text!("property_class_raw", property_class_raw),
        text!("description", description),
        texts("status", items, |(permit, _)| Some(&permit.status)),
        text!("status_detail", status_detail),
        text!("status_raw", status_raw),
        texts("status_basis", items, |(permit, _)| permit.status_basis),
        text!("status_date", status_date),
        text!("applied_date", applied_date),
        text!("issued_date", issued_date),
        text!("completed_date", completed_date),
        text!("expires_date", expires_date),
        whole("job_value", items, |(permit, _)| permit.job_value),
        whole("fees", items, |(permit, _)| permit.fees),
        whole("square_feet", items, |(permit, _)| permit.square_feet),
        whole("housing_units", items, |(permit, _)| permit.housing_units),
        whole("stories", items, |(permit, _)| permit.stories),
        whole("renewals", items, |(permit, _)| permit.renewals),
        text!("line1", location.line1),
        text!("line2", location.line2),
        text!("city", location.city),
        text!("address_state", location.state),
        text!("zip", location.zip),
        text!("address_normalized", location.normalized),
        text!("address_key", location.key),
        degrees("lat", items, |(permit, _)| {
            permit.coordinates.map(|(lat, _)| lat)
        }),
        degrees("lon", items, |(permit, _)| {
            permit.coordinates.map(|(_, lon)| lon)
        }),
        texts("parcel_scheme", items, |(permit, _)| {
            permit.location.parcel.as_ref().and(scheme)
        }),
        text!("parcel", location.parcel),
        text!("property_id", location.property_id),
        list_column("tags", items.iter().map(|(permit, _)| &permit.tags)),
        text!("source_url", source_url),
        list_column(
            "unknown_values",
            items.iter().map(|(permit, _)| &permit.unknown_values),
        ),
        pointer_column(items.iter().map(|(_, pointers)| pointers.as_slice())),
    ];
    Ok(DataFrame::new(height, columns)?)
}

/// Fills in the URL template for a permit's page. Returns `None` if a required column is empty.
fn page(reader: &Reader<'_>) -> Option<String> {
    let mut url = String::new();
    for (number, part) in reader.settings.url.as_ref()?.split('{').enumerate() {
        match part.split_once('}').filter(|_| number > 0) {
            Some((column, rest)) => url.extend([reader.text(column)?, rest]),
            None => url.push_str(part),
        }
    }
    Some(url)
}
