//! Writes a dataset's Delta log, so that Delta readers can open a release's parts as a table. The
//! log is a single commit, derived from the contract and the parts' footers. It contains no time,
//! location or run, and its paths are relative, so it remains valid when a release is moved.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::{DataType, Fields};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::file::statistics::Statistics;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use pubdata_core::contract::{Column, Contract, Day, Physical, arrow_schema, pointer_fields};
use pubdata_core::ids::ReleaseId;
use pubdata_store::Part;

/// Facts from a part's footer.
pub struct PartFacts {
    path: String,
    size_bytes: u64,
    rows: u64,
    /// Facts about key columns whose exact values are in the footer.
    keys: BTreeMap<String, KeyFacts>,
    /// Contract columns that are missing from the part, or nullable in it although the contract
    /// forbids nulls. This happens if the part was built under an earlier contract.
    pub lacking: BTreeSet<String>,
    /// Reason why the contract's schema cannot read the part, if it cannot.
    pub conflict: Option<String>,
}

/// Null count, minimum and maximum of a column in a part. The bounds are missing if all values are
/// null.
struct KeyFacts {
    nulls: u64,
    bounds: Option<(Value, Value)>,
}

impl PartFacts {
    /// Reads the facts from a part's footer.
    pub fn from_footer(contract: &Contract, part: &Part, footer: &ArrowReaderMetadata) -> Self {
        let (expected, found) = (arrow_schema(contract), footer.schema());
        let (mut lacking, mut conflict) = (BTreeSet::new(), None);
        for field in expected.fields() {
            match found.field_with_name(field.name()) {
                Ok(own) if own.data_type() != field.data_type() => {
                    conflict = Some(format!(
                        "{} has `{}` as {}, and the contract {} as {}",
                        part.path,
                        field.name(),
                        own.data_type(),
                        contract.version,
                        field.data_type()
                    ));
                }
                Ok(own) if field.is_nullable() || !own.is_nullable() => {}
                Ok(_) | Err(_) => drop(lacking.insert(field.name().clone())),
            }
        }
        if let Some(other) = found
            .fields()
            .iter()
            .find(|own| expected.field_with_name(own.name()).is_err())
        {
            conflict = Some(format!(
                "{} has the column `{}`, and the contract {} has not",
                part.path,
                other.name(),
                contract.version
            ));
        }
        // The protocol requires a URI (RFC 2396). Part names contain only characters that need no
        // escaping.
        let path = part
            .path
            .strip_prefix(&format!("{}/", contract.dataset_id))
            .unwrap_or(&part.path);
        Self {
            path: path.to_owned(),
            size_bytes: part.size_bytes,
            rows: part.rows,
            keys: keys(contract, footer),
            lacking,
            conflict,
        }
    }

    /// Returns the part's `add` action.
    fn add(&self, columns: &[&String]) -> Value {
        let (mut least, mut most, mut nulls) = (Map::new(), Map::new(), Map::new());
        for (name, key) in self.keys.iter().filter(|(name, _)| columns.contains(name)) {
            nulls.insert(name.clone(), json!(key.nulls));
            if let Some((smallest, largest)) = &key.bounds {
                least.insert(name.clone(), smallest.clone());
                most.insert(name.clone(), largest.clone());
            }
        }
        let stats = json!({"numRecords": self.rows, "minValues": least, "maxValues": most, "nullCount": nulls});
        json!({"add": {
            "path": self.path,
            "partitionValues": {},
            "size": self.size_bytes,
            // The protocol requires a time, but a part does not have one. Its bytes are the same
            // whenever they are written.
            "modificationTime": 0,
            "dataChange": true,
            "stats": stats.to_string(),
        }})
    }
}

/// Returns the only commit in a dataset's log. `lacking` contains the columns that are missing from
/// parts built under earlier contracts; these columns are nullable.
pub fn delta_log(
    contract: &Contract,
    release_id: &ReleaseId,
    lacking: &BTreeSet<&String>,
    parts: &[&PartFacts],
) -> String {
    let field = |column: &Column| {
        let mut metadata = Map::from_iter([("comment".to_owned(), json!(column.description))]);
        metadata.extend(
            column
                .column_type
                .unit
                .iter()
                .map(|unit| ("unit".to_owned(), json!(unit))),
        );
        let nullable = column.nullable || lacking.contains(&column.name);
        json!({"name": column.name, "type": delta_type(column), "nullable": nullable, "metadata": metadata})
    };
    // If a bound is missing in one part, a reader may treat it as null and skip rows (delta-rs 1.6,
    // seen 2026-11-25). Therefore a column has bounds either in all parts or in none, and the table
    // lists the columns with bounds.
    let is_bounded = |part: &&PartFacts, name: &String| {
        part.rows == 0 || part.keys.get(name).is_some_and(|key| key.bounds.is_some())
    };
    let has_bounds = |name: &&String| {
        parts.iter().all(|part| is_bounded(part, name))
            && parts.iter().any(|part| part.keys.contains_key(*name))
    };
    let bounded: Vec<&String> = contract
        .columns
        .iter()
        .map(|column| &column.name)
        .filter(has_bounds)
        .collect();
    let mut configuration = json!({"pubdata.releaseId": release_id.as_str(), "pubdata.schemaVersion": contract.version});
    if !bounded.is_empty() {
        configuration["delta.dataSkippingStatsColumns"] = json!(
            bounded
                .iter()
                .map(|name| name.as_str())
                .collect::<Vec<_>>()
                .join(",")
        );
    }
    let schema =
        json!({"type": "struct", "fields": contract.columns.iter().map(field).collect::<Vec<_>>()});
    let table = json!({"metaData": {
        "id": table_id(release_id, &contract.dataset_id),
        "name": contract.dataset_id,
        "description": format!("{}. {}", contract.title, contract.grain),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema.to_string(),
        "partitionColumns": [],
        "configuration": configuration,
        "createdTime": 0,
    }});
    let protocol = json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}});
    let mut log = String::new();
    for action in [protocol, table]
        .into_iter()
        .chain(parts.iter().map(|part| part.add(&bounded)))
    {
        log.push_str(&action.to_string());
        log.push('\n');
    }
    log
}

/// Returns the id of a table in a release, which anyone can derive. It is the version 5 UUID of
/// `pubdata:RELEASE/DATASET` in the URL namespace.
fn table_id(release_id: &ReleaseId, dataset_id: &str) -> String {
    Uuid::new_v5(
        &Uuid::NAMESPACE_URL,
        format!("pubdata:{release_id}/{dataset_id}").as_bytes(),
    )
    .to_string()
}

fn delta_type(column: &Column) -> Value {
    let name = match column.column_type.physical {
        Physical::String => "string",
        Physical::Int32 => "integer",
        Physical::Int64 => "long",
        Physical::Float64 => "double",
        Physical::Boolean => "boolean",
        Physical::Date => "date",
        Physical::Decimal => {
            return json!(format!(
                "decimal({},{})",
                column.column_type.precision, column.column_type.scale
            ));
        }
        Physical::StringList => {
            return json!({"type": "array", "elementType": "string", "containsNull": false});
        }
        Physical::Pointers => {
            return json!({"type": "array", "elementType": delta_struct(&pointer_fields()), "containsNull": false});
        }
    };
    json!(name)
}

/// Converts a pointer's fields, which are text and 64-bit numbers.
fn delta_struct(fields: &Fields) -> Value {
    let type_of = |data_type: &DataType| {
        if data_type.is_integer() {
            "long"
        } else {
            "string"
        }
    };
    let field = |field: &arrow::datatypes::FieldRef| json!({"name": field.name(), "type": type_of(field.data_type()), "nullable": field.is_nullable(), "metadata": {}});
    json!({"type": "struct", "fields": fields.iter().map(field).collect::<Vec<_>>()})
}

/// Reads the exact facts about key columns and sort columns from the footer.
fn keys(contract: &Contract, footer: &ArrowReaderMetadata) -> BTreeMap<String, KeyFacts> {
    let is_key = |name: &String| {
        name == "record_id"
            || [
                &contract.primary_key,
                &contract.sort_by,
                &contract.partition_by,
            ]
            .iter()
            .any(|names| names.contains(name))
    };
    let leaves = footer.metadata().file_metadata().schema_descr();
    let key = |column: &Column| {
        let leaf = leaves
            .columns()
            .iter()
            .position(|leaf| leaf.path().parts() == [column.name.as_str()])?;
        let of_groups: Vec<&Statistics> = footer
            .metadata()
            .row_groups()
            .iter()
            .map(|group| group.column(leaf).statistics())
            .collect::<Option<_>>()?;
        let nulls = of_groups
            .iter()
            .map(|statistics| statistics.null_count_opt())
            .sum::<Option<u64>>()?;
        Some((
            column.name.clone(),
            KeyFacts {
                nulls,
                bounds: bounds(column.column_type.physical, &of_groups),
            },
        ))
    };
    contract
        .columns
        .iter()
        .filter(|column| is_key(&column.name))
        .filter_map(key)
        .collect()
}

/// Returns the minimum and maximum over all row groups, or none if the statistics of any row group
/// are incomplete.
fn bounds(physical: Physical, of_groups: &[&Statistics]) -> Option<(Value, Value)> {
    let exact = of_groups
        .iter()
        .all(|statistics| statistics.min_is_exact() && statistics.max_is_exact());
    if of_groups.is_empty() || !exact {
        return None;
    }
    match physical {
        Physical::String => {
            // UTF-8 bytes sort in code point order, which is Delta's order.
            let texts = of_groups
                .iter()
                .map(|statistics| Some((statistics.min_bytes_opt()?, statistics.max_bytes_opt()?)));
            let (least, most) = span(texts)?;
            Some((
                json!(std::str::from_utf8(least).ok()?),
                json!(std::str::from_utf8(most).ok()?),
            ))
        }
        Physical::Int32 | Physical::Int64 | Physical::Date => {
            let numbers = of_groups.iter().map(|statistics| match statistics {
                Statistics::Int32(own) => {
                    Some((i64::from(*own.min_opt()?), i64::from(*own.max_opt()?)))
                }
                Statistics::Int64(own) => Some((*own.min_opt()?, *own.max_opt()?)),
                _ => None,
            });
            let (least, most) = span(numbers)?;
            let written = |number: i64| match physical {
                Physical::Date => i32::try_from(number)
                    .ok()
                    .map(|days| json!(Day::from_number(days).to_string())),
                _ => Some(json!(number)),
            };
            Some((written(least)?, written(most)?))
        }
        Physical::Float64
        | Physical::Boolean
        | Physical::Decimal
        | Physical::StringList
        | Physical::Pointers => None,
    }
}

fn span<T: Ord>(bounds: impl Iterator<Item = Option<(T, T)>>) -> Option<(T, T)> {
    let bounds: Option<Vec<(T, T)>> = bounds.collect();
    bounds?
        .into_iter()
        .reduce(|(least, most), (lower, upper)| (least.min(lower), most.max(upper)))
}
