//! Writes a small home with releases, directly as parts. All figures are invented, except ZCTA
//! 90210's population and Los Angeles County's median household income, which are the Bureau's.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    ListArray, ListBuilder, RecordBatch, StringArray, StringBuilder, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use pubdata_core::contract::{Column, Contract, Contracts, Physical, arrow_schema, pointer_fields};
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::issue::SourceFinding;
use pubdata_core::provenance::{Obtained, Snapshot, SourceRows};
use pubdata_store::{
    ChannelAction, ChannelMove, DatasetEntry, Home, Manifest, Part, PartReport, Releases, TaskEntry,
};
use serde_json::{Value, json};

/// Part to be written.
pub struct Table {
    pub dataset_id: &'static str,
    pub vintage_year: Option<i32>,
    /// Last digits of the subject's number, if the dataset is split into files by them.
    pub bucket: Option<&'static str>,
    /// Further partition folders: column and value.
    pub folders: &'static [(&'static str, &'static str)],
    pub rows: Vec<Value>,
    pub report: PartReport,
}

/// Release to be written.
pub struct Draft {
    pub tables: Vec<Table>,
    pub is_sample: bool,
    pub published_at: &'static str,
    /// Day from which every task is late.
    pub due: Option<&'static str>,
}

/// Writes a release and points the channel at it.
pub async fn publish(home: &Home, contracts: &Contracts, draft: &Draft) -> ReleaseId {
    let releases = Releases::open(home, None).unwrap();
    let mut datasets: BTreeMap<String, DatasetEntry> = BTreeMap::new();
    let mut tasks = BTreeMap::new();
    let mut files = Vec::new();
    for table in &draft.tables {
        let contract = &contracts[table.dataset_id];
        let bytes = parquet_bytes(contract, &table.rows);
        let year = table
            .vintage_year
            .map(|year| ("vintage_year".to_owned(), year.to_string()));
        let partition: BTreeMap<String, String> = year
            .into_iter()
            .chain(
                table
                    .bucket
                    .map(|bucket| ("bucket".to_owned(), bucket.to_owned())),
            )
            .chain(
                table
                    .folders
                    .iter()
                    .map(|(column, value)| ((*column).to_owned(), (*value).to_owned())),
            )
            .collect();
        let values: Vec<&str> = partition.values().map(String::as_str).collect();
        let name = if values.is_empty() {
            "part-0".to_owned()
        } else {
            values.join("~")
        };
        let task_id = table.vintage_year.map_or_else(
            || "test.places".to_owned(),
            |year| format!("test.metrics/vintage={year}"),
        );
        tasks.insert(task_id.clone(), task(draft, table.vintage_year));
        let part = Part {
            path: format!("{}/{name}.parquet", table.dataset_id),
            task_id,
            partition,
            rows: table.rows.len() as u64,
            size_bytes: bytes.len() as u64,
            sha256: Digest::sha256(&bytes),
            key_range: table
                .rows
                .first()
                .zip(table.rows.last())
                .map(|(first, last)| (record_id(first), record_id(last))),
            fingerprint: None,
            report: table.report.clone(),
        };
        files.push((part.path.clone(), bytes));
        let entry = datasets
            .entry(table.dataset_id.to_owned())
            .or_insert(DatasetEntry {
                schema_version: contract.version.clone(),
                parts: Vec::new(),
            });
        entry.parts.push(part);
        entry.parts.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let mut manifest = Manifest {
        format_version: 1,
        release_id: ReleaseId::from_digest(&Digest::sha256(b"")),
        pubdata_version: "0.1.0".to_owned(),
        is_sample: draft.is_sample,
        tasks,
        datasets,
        declarations: std::collections::BTreeSet::new(),
        sidecars: BTreeMap::new(),
        published_at: draft.published_at.to_owned(),
        run_id: "run-1".to_owned(),
    };
    manifest.release_id = manifest.derive_release_id();
    for (path, bytes) in files {
        releases
            .put_part(&manifest.release_id, &path, bytes)
            .await
            .unwrap();
    }
    releases.put_manifest(&manifest).await.unwrap();
    point(&releases, &manifest.release_id, draft.published_at).await;
    manifest.release_id
}

/// Points the channel at a release.
pub async fn point(releases: &Releases, release_id: &ReleaseId, moved_at: &str) {
    let now = releases
        .channel("nightly")
        .await
        .unwrap()
        .map(|entry| entry.generation);
    let to = ChannelMove {
        release_id: release_id.clone(),
        action: ChannelAction::Publish,
        moved_at: moved_at.to_owned(),
        run_id: None,
    };
    releases.advance_channel("nightly", now, to).await.unwrap();
}

/// Publishes a release again with a changed manifest, and points the channel at it.
pub async fn publish_changed(
    home: &Home,
    id: &ReleaseId,
    change: impl FnOnce(&mut Manifest),
) -> ReleaseId {
    let releases = Releases::open(home, None).unwrap();
    let mut manifest = releases.manifest(id).await.unwrap();
    change(&mut manifest);
    manifest.release_id = manifest.derive_release_id();
    for part in manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
    {
        if manifest.release_id != *id {
            assert!(
                releases
                    .link_part(id, &part.path, &manifest.release_id, &part.path)
                    .await
                    .unwrap()
            );
        }
    }
    releases.put_manifest(&manifest).await.unwrap();
    point(&releases, &manifest.release_id, &manifest.published_at).await;
    manifest.release_id
}

/// Snapshot that every pointer of a vintage (or of the places) names.
pub fn snapshot(vintage_year: Option<i32>) -> Snapshot {
    let name = vintage_year.map_or_else(|| "places".to_owned(), |year| format!("metrics-{year}"));
    Snapshot {
        source_id: if vintage_year.is_some() {
            "test.metrics_file".to_owned()
        } else {
            "test.places_file".to_owned()
        },
        keys: BTreeMap::new(),
        url: format!("https://publisher.example/{name}.txt"),
        sha256: Digest::sha256(name.as_bytes()),
        size_bytes: 1_000,
        source_version: vintage_year
            .map_or_else(|| "2025".to_owned(), |year| format!("{}-{year}", year - 4)),
        source_date: vintage_year.map_or_else(
            || "2025-09-01".to_owned(),
            |year| format!("{}-12-12", year + 1),
        ),
        etag: None,
        last_modified: None,
        fetched_at: "2026-01-02T00:00:00Z".to_owned(),
        redirected_through: vec![
            "https://files.publisher.example/a".to_owned(),
            "https://store.example/b".to_owned(),
        ],
        obtained: Obtained::ByProgram,
        mirror: None,
    }
}

/// Row counts of metric tables only.
fn source_rows(vintage_year: Option<i32>) -> BTreeMap<String, SourceRows> {
    let left_out = BTreeMap::from([("repeated".to_owned(), 2)]);
    let rows = SourceRows {
        read: 64,
        records: 59,
        merged: 1,
        quarantined: 2,
        left_out,
    };
    vintage_year
        .map(|_| ("test.metrics_file".to_owned(), rows))
        .into_iter()
        .collect()
}

fn task(draft: &Draft, vintage_year: Option<i32>) -> TaskEntry {
    TaskEntry {
        meaning_lost: BTreeMap::new(),
        source_rows: source_rows(vintage_year),
        pipeline_id: if vintage_year.is_some() {
            "test.metrics".to_owned()
        } else {
            "test.places".to_owned()
        },
        partition: vintage_year
            .iter()
            .map(|year| ("vintage".to_owned(), year.to_string()))
            .collect(),
        input_hash: Digest::sha256(b"inputs"),
        declaration_hash: Digest::sha256(b"declaration"),
        contracts_hash: Digest::sha256(b"contracts"),
        code_version: "0.1.0".to_owned(),
        is_sample: None,
        inputs: vec![snapshot(vintage_year)],
        is_stale: false,
        stale_reason: None,
        publisher: "U.S. Census Bureau".to_owned(),
        licence: "Public domain".to_owned(),
        homepage: "https://publisher.example/".to_owned(),
        cadence_days: 366,

        layout_evidence: None,
        evidence: BTreeMap::new(),
        covers: Vec::new(),
        findings: if vintage_year.is_none() {
            vec![SourceFinding::new(
                "test.places_file",
                "new_column",
                "`AREA_NOTE` is new".to_owned(),
            )]
        } else {
            Vec::new()
        },
        due: draft
            .due
            .map(|day| ("test.file".to_owned(), day.parse().unwrap()))
            .into_iter()
            .collect(),
        built_at: draft.published_at.to_owned(),
    }
}

fn record_id(row: &Value) -> String {
    row["record_id"].as_str().unwrap().to_owned()
}

fn parquet_bytes(contract: &Contract, rows: &[Value]) -> Bytes {
    let schema = Arc::new(arrow_schema(contract));
    let columns: Vec<ArrayRef> = contract
        .columns
        .iter()
        .map(|column| array(column, rows))
        .collect();
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

fn array(column: &Column, rows: &[Value]) -> ArrayRef {
    let cells = || rows.iter().map(|row| &row[&column.name]);
    let (precision, scale) = (column.column_type.precision, column.column_type.scale);
    match column.column_type.physical {
        Physical::String if column.name == "validation_status" => Arc::new(StringArray::from_iter(
            cells().map(|cell| Some(cell.as_str().unwrap_or("passed"))),
        )),
        Physical::String => Arc::new(StringArray::from_iter(cells().map(Value::as_str))),
        Physical::Int32 => Arc::new(Int32Array::from_iter(
            cells().map(|cell| cell.as_i64().map(|value| value as i32)),
        )),
        Physical::Int64 => Arc::new(Int64Array::from_iter(cells().map(Value::as_i64))),
        Physical::Float64 => Arc::new(Float64Array::from_iter(cells().map(Value::as_f64))),
        Physical::Boolean => Arc::new(BooleanArray::from_iter(cells().map(Value::as_bool))),
        Physical::Date => Arc::new(Date32Array::from_iter(
            cells().map(|cell| cell.as_str().map(days)),
        )),
        Physical::Decimal => {
            let exact = |text: &str| {
                let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
                format!("{whole}{fraction:0<width$}", width = scale as usize)
                    .parse::<i128>()
                    .unwrap()
            };
            let of_number = |cell: &Value| {
                cell.as_f64()
                    .map(|value| (value * 10f64.powi(i32::from(scale))).round() as i128)
            };
            let unscaled = |cell: &Value| cell.as_str().map(exact).or_else(|| of_number(cell));
            Arc::new(
                Decimal128Array::from_iter(cells().map(unscaled))
                    .with_precision_and_scale(precision, scale)
                    .unwrap(),
            )
        }
        Physical::StringList => {
            let mut builder = ListBuilder::new(StringBuilder::new())
                .with_field(Field::new_list_field(DataType::Utf8, false));
            for cell in cells() {
                cell.as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|text| builder.values().append_value(text.as_str().unwrap()));
                builder.append(true);
            }
            Arc::new(builder.finish())
        }
        Physical::Pointers => pointers(rows),
    }
}

/// Two pointers for each row: the same file, different bytes.
fn pointers(rows: &[Value]) -> ArrayRef {
    let snapshots: Vec<Snapshot> = rows
        .iter()
        .map(|row| snapshot(row["vintage_year"].as_i64().map(|year| year as i32)))
        .collect();
    let twice = || snapshots.iter().flat_map(|snapshot| [snapshot, snapshot]);
    let count = 2 * rows.len() as i64;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(
            twice().map(|snapshot| snapshot.source_id.clone()),
        )),
        Arc::new(StringArray::from_iter_values(
            twice().map(|snapshot| snapshot.sha256.to_string()),
        )),
        Arc::new(StringArray::from_iter(twice().map(|_| None::<&str>))),
        Arc::new(Int64Array::from_iter_values(
            (0..count).map(|index| 100 * index),
        )),
        Arc::new(Int64Array::from_iter_values((0..count).map(|_| 7))),
    ];
    let entries = StructArray::new(pointer_fields(), columns, None);
    let field = Arc::new(Field::new_list_field(
        DataType::Struct(pointer_fields()),
        false,
    ));
    Arc::new(ListArray::new(
        field,
        OffsetBuffer::from_lengths(rows.iter().map(|_| 2)),
        Arc::new(entries),
        None,
    ))
}

fn days(text: &str) -> i32 {
    let date: jiff::civil::Date = text.parse().unwrap();
    date.since(jiff::civil::date(1970, 1, 1))
        .unwrap()
        .get_days()
}

/// A metric row of a ZCTA or county; `cells` overrides the defaults.
pub fn metric(dataset_id: &str, year: i32, code: &str, key: &str, cells: &Value) -> Value {
    let area_column = if dataset_id == "geo.county_metric" {
        "county_fips"
    } else {
        "zcta"
    };
    let (unit, universe, table_id) = match key {
        "population" => ("persons", "Total population", "B01003"),
        "households" => ("households", "Households", "B11001"),
        "median_age" => ("years", "Total population", "B01002"),
        key if key.starts_with("median") => ("usd", "Households", "B19013"),
        _ => ("percent", "Occupied housing units", "B25003"),
    };
    let mut row = json!({
        "record_id": format!("{dataset_id}:{year}:{code}:{key}"), "vintage_year": year, area_column: code, "area_name": format!("Area {code}"), "metric": key, "unit": unit,
        "value": 50.0, "moe": 5.0, "moe_status": "published", "qualifier": null, "null_reason": null, "universe": universe, "table_id": table_id,
        "variables": [format!("{table_id}_E001")], "moe_variable": format!("{table_id}_M001"), "is_derived": false, "warnings": [],
    });
    for (name, value) in cells.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}
