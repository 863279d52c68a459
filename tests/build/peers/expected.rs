use std::collections::BTreeMap;

use arrow::array::{
    Array, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pubdata_core::contract::{Contract, Contracts, Physical};
use pubdata_core::ids::ReleaseId;
use pubdata_store::Releases;
use serde_json::{Map, Value, json};

/// Returns the values that our own reader finds in every part of a release, and their number. They
/// have the form that `read_parts.py` compares.
pub async fn of_release(
    releases: &Releases,
    id: &ReleaseId,
    contracts: &Contracts,
    folder: &std::path::Path,
) -> (Value, Counts) {
    let manifest = releases.manifest(id).await.unwrap();
    let mut datasets = BTreeMap::new();
    let mut counts = Counts::default();
    for (dataset_id, dataset) in &manifest.datasets {
        let contract = &contracts[dataset_id];
        let mut parts = Vec::new();
        for part in &dataset.parts {
            let bytes = releases.part(id, part).await.unwrap();
            let batches: Vec<RecordBatch> = ParquetRecordBatchReaderBuilder::try_new(bytes)
                .unwrap()
                .build()
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let values = values_of(contract, &batches);
            let totals: BTreeMap<&str, Value> = contract
                .columns
                .iter()
                .filter(|column| is_number(column.column_type.physical))
                .map(|column| (column.name.as_str(), totals_of(&values[&column.name])))
                .collect();
            counts.parts += 1;
            counts.values += part.rows * contract.columns.len() as u64;
            counts.totals += 4 * totals.len() as u64;
            counts.folder_rows += part.rows;
            parts.push(json!({ "path": part.path, "rows": part.rows, "columns": columns_of(contract), "values": values, "totals": totals }));
        }
        datasets.insert(
            dataset_id,
            json!({ "partition_by": contract.partition_by, "parts": parts }),
        );
    }
    (json!({ "folder": folder, "datasets": datasets }), counts)
}

/// Numbers of values that each peer must have compared for the comparison to be meaningful.
#[derive(Debug, Default, Clone, Copy, PartialEq, serde::Deserialize)]
pub struct Counts {
    pub parts: u64,
    pub values: u64,
    pub totals: u64,
    pub folder_rows: u64,
}

fn columns_of(contract: &Contract) -> Vec<Value> {
    let kind = |column: &pubdata_core::contract::Column| match column.column_type.physical {
        Physical::Decimal => format!(
            "Decimal {} {}",
            column.column_type.precision, column.column_type.scale
        ),
        other => format!("{other:?}"),
    };
    contract
        .columns
        .iter()
        .map(|column| json!({ "name": column.name, "kind": kind(column) }))
        .collect()
}

fn is_number(physical: Physical) -> bool {
    matches!(
        physical,
        Physical::Int32 | Physical::Int64 | Physical::Float64 | Physical::Decimal
    )
}

fn values_of(contract: &Contract, batches: &[RecordBatch]) -> Map<String, Value> {
    let values_of = |name: &str| {
        batches
            .iter()
            .flat_map(|batch| cells(batch.column_by_name(name).unwrap().as_ref()))
            .collect::<Vec<_>>()
    };
    contract
        .columns
        .iter()
        .map(|column| (column.name.clone(), Value::from(values_of(&column.name))))
        .collect()
}

fn cells(array: &dyn Array) -> Vec<Value> {
    (0..array.len())
        .map(|row| {
            if array.is_null(row) {
                Value::Null
            } else {
                cell(array, row)
            }
        })
        .collect()
}

fn cell(array: &dyn Array, row: usize) -> Value {
    fn of<A: 'static>(array: &dyn Array) -> &A {
        array.as_any().downcast_ref::<A>().unwrap()
    }
    match array.data_type() {
        DataType::Utf8 => of::<StringArray>(array).value(row).into(),
        DataType::Int32 => of::<Int32Array>(array).value(row).into(),
        DataType::Int64 => of::<Int64Array>(array).value(row).into(),
        DataType::Boolean => of::<BooleanArray>(array).value(row).into(),
        DataType::Float64 => bits(of::<Float64Array>(array).value(row)).into(),
        DataType::Date32 => of::<Date32Array>(array)
            .value_as_date(row)
            .unwrap()
            .to_string()
            .into(),
        DataType::Decimal128(..) => of::<Decimal128Array>(array).value_as_string(row).into(),
        DataType::List(_) => cells(of::<ListArray>(array).value(row).as_ref()).into(),
        DataType::Struct(fields) => {
            let array = of::<StructArray>(array);
            let field = |index: usize| {
                if array.column(index).is_null(row) {
                    Value::Null
                } else {
                    cell(array.column(index), row)
                }
            };
            Value::Object(
                fields
                    .iter()
                    .enumerate()
                    .map(|(index, declared)| (declared.name().clone(), field(index)))
                    .collect(),
            )
        }
        other => panic!("no contract type is stored as {other}"),
    }
}

fn bits(value: f64) -> String {
    format!("f64:{:016x}", value.to_bits())
}

/// Returns count, sum, minimum and maximum of the non-null values, computed here and not by a
/// reader.
fn totals_of(values: &Value) -> Value {
    let values: Vec<&Value> = values
        .as_array()
        .unwrap()
        .iter()
        .filter(|value| !value.is_null())
        .collect();
    let floats: Vec<f64> = values
        .iter()
        .filter_map(|value| value.as_str()?.strip_prefix("f64:"))
        .map(|bits| f64::from_bits(u64::from_str_radix(bits, 16).unwrap()))
        .collect();
    if !floats.is_empty() {
        let (min, max) = floats
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| {
                (min.min(*value), max.max(*value))
            });
        return json!({ "count": floats.len(), "sum": bits(floats.iter().sum()), "min": bits(min), "max": bits(max) });
    }
    if values.is_empty() {
        return json!({ "count": 0, "sum": null, "min": null, "max": null });
    }
    if values[0].is_i64() {
        let numbers = || values.iter().map(|value| value.as_i64().unwrap());
        return json!({ "count": values.len(), "sum": numbers().sum::<i64>(), "min": numbers().min(), "max": numbers().max() });
    }
    let scale = values[0]
        .as_str()
        .unwrap()
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let units = || {
        values.iter().map(|value| {
            value
                .as_str()
                .unwrap()
                .replace('.', "")
                .parse::<i128>()
                .unwrap()
        })
    };
    let text = |units: i128| {
        Decimal128Array::from(vec![units])
            .with_precision_and_scale(38, scale as i8)
            .unwrap()
            .value_as_string(0)
    };
    json!({ "count": values.len(), "sum": text(units().sum()), "min": text(units().min().unwrap()), "max": text(units().max().unwrap()) })
}
