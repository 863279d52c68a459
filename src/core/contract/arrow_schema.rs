//! Derives the Arrow schema of published parts from a contract.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};

use super::{ColumnType, Contract, Physical};

/// Returns the Arrow schema of the published parts, with the contract's columns in order.
pub fn arrow_schema(contract: &Contract) -> Schema {
    let fields: Vec<Field> = contract
        .columns
        .iter()
        .map(|column| {
            Field::new(
                &column.name,
                data_type(&column.column_type),
                column.nullable,
            )
        })
        .collect();
    Schema::new(fields)
}

/// Returns the fields of one source pointer: source, snapshot digest, archive member, offset,
/// length. Integers are signed because table formats have no unsigned integers.
pub fn pointer_fields() -> Fields {
    Fields::from(vec![
        Field::new("source_id", DataType::Utf8, false),
        Field::new("snapshot", DataType::Utf8, false),
        Field::new("member", DataType::Utf8, true),
        Field::new("offset", DataType::Int64, false),
        Field::new("length", DataType::Int64, false),
    ])
}

fn data_type(column_type: &ColumnType) -> DataType {
    match column_type.physical {
        Physical::String => DataType::Utf8,
        Physical::Int32 => DataType::Int32,
        Physical::Int64 => DataType::Int64,
        Physical::Float64 => DataType::Float64,
        Physical::Boolean => DataType::Boolean,
        Physical::Date => DataType::Date32,
        Physical::Decimal => DataType::Decimal128(column_type.precision, column_type.scale),
        Physical::StringList => {
            DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, false)))
        }
        Physical::Pointers => DataType::List(Arc::new(Field::new_list_field(
            DataType::Struct(pointer_fields()),
            false,
        ))),
    }
}
