//! Converts a frame into a record batch with its contract's schema and resolves its source
//! pointers.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Date32Array, Decimal128Array,
    DictionaryArray, Float64Array, Int64Array, ListArray, PrimitiveArray, RecordBatch, StringArray,
    StringBuilder, StructArray, UInt32Array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::{cast, take};
use arrow::datatypes::{
    ArrowNativeType, DataType, Date32Type, Field, Fields, Int32Type, Int64Type, Schema, UInt32Type,
};
use polars::prelude::{
    BooleanChunked, ChunkedArray, DataFrame, DataType as FrameType, InitHashMaps,
    Int32Type as FrameInt32, Int64Type as FrameInt64, PlHashMap, PolarsNumericType, Series,
    StringChunked,
};
use rayon::prelude::*;

use crate::normalise::{DistinctTexts, ListRows, PointerRows};
use pubdata_core::contract::{
    Column, Contract, Day, Physical, arrow_schema, parse_decimal, pointer_fields,
};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::provenance::{Inputs, SourcePointer};

/// Converts a frame into a record batch with the contract's schema. Nothing is cast or repaired: a
/// cell that violates the contract is an error.
///
/// # Errors
/// `Contract`, with dataset, column and record, for a missing or unknown column, a wrong type or a
/// null that is not allowed. The same for text that is not a date, a list with an empty item, and a
/// number that is not finite or has too many digits.
pub fn record_batch(
    contract: &Contract,
    frame: &DataFrame,
    inputs: &Inputs,
) -> Result<RecordBatch> {
    plain(contract, &coded_batch(contract, frame, inputs)?)
}

/// Like [`record_batch`], but columns with few distinct values are dictionary-encoded.
pub fn coded_batch(contract: &Contract, frame: &DataFrame, inputs: &Inputs) -> Result<RecordBatch> {
    convert(contract, frame, inputs).context(|| contract.dataset_id.clone())
}

/// Decodes dictionary-encoded columns, so that the batch has the contract's schema.
pub fn plain(contract: &Contract, batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = Arc::new(arrow_schema(contract));
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, field)| Ok(cast(column, field.data_type())?))
        .collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(schema, columns)?)
}

fn convert(contract: &Contract, frame: &DataFrame, inputs: &Inputs) -> Result<RecordBatch> {
    if let Some(unknown) = frame
        .get_column_names()
        .iter()
        .find(|name| contract.column(name).is_none())
    {
        return Err(Error::contract(format!(
            "column `{unknown}` is not in the contract"
        )));
    }
    let series = |name: &str| {
        frame
            .column(name)
            .map(|column| column.as_materialized_series().clone())
            .ok()
    };
    let ids = series("record_id").filter(|ids| ids.dtype() == &FrameType::String);
    let array = |column: &Column| {
        let series = series(&column.name)
            .ok_or_else(|| Error::contract(format!("column `{}` is missing", column.name)))?;
        Cells {
            column,
            series: &series,
            ids: ids.as_ref(),
        }
        .array(inputs)
    };
    let arrays = contract
        .columns
        .par_iter()
        .map(array)
        .collect::<Result<Vec<_>>>()?;
    let schema = arrow_schema(contract);
    let fields = schema.fields().iter().zip(&arrays).map(|(field, array)| {
        field
            .as_ref()
            .clone()
            .with_data_type(array.data_type().clone())
    });
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        arrays,
    )?)
}

/// One column of the frame, with the record ids that error messages quote.
struct Cells<'a> {
    column: &'a Column,
    series: &'a Series,
    ids: Option<&'a Series>,
}

impl Cells<'_> {
    fn array(&self, inputs: &Inputs) -> Result<ArrayRef> {
        let series = self.series;
        let physical = self.column.column_type.physical;
        let expected = match physical {
            Physical::Decimal if self.column.column_type.is_decimal_text() => FrameType::String,
            Physical::Date if series.dtype() == &FrameType::Date => FrameType::Date,
            Physical::String | Physical::Date => FrameType::String,
            Physical::StringList => FrameType::List(Box::new(FrameType::String)),
            Physical::Int32 => FrameType::Int32,
            Physical::Int64 | Physical::Decimal => FrameType::Int64,
            Physical::Float64 => FrameType::Float64,
            Physical::Boolean => FrameType::Boolean,
            Physical::Pointers => FrameType::List(Box::new(FrameType::UInt64)),
        };
        if series.dtype() != &expected {
            return Err(Error::contract(format!(
                "column `{}` has the type {}, expected {expected} for {physical:?}",
                self.column.name,
                series.dtype()
            )));
        }
        if !self.column.nullable && series.null_count() > 0 {
            let row = series
                .is_null()
                .iter()
                .position(|is_null| is_null == Some(true))
                .unwrap_or(0);
            return Err(self.at(row, "is null, and the contract does not allow it"));
        }
        Ok(match physical {
            // Record ids are unique, so a dictionary saves no space.
            Physical::String if self.column.name == "record_id" => plain_texts(series.str()?)?,
            Physical::String => texts(series.str()?)?,
            Physical::Int32 => numbers::<FrameInt32, Int32Type>(series.i32()?),
            Physical::Int64 => numbers::<FrameInt64, Int64Type>(series.i64()?),
            Physical::Boolean => truths(series.bool()?),
            Physical::Float64 => Arc::new(self.finite()?),
            Physical::Date if series.dtype() == &FrameType::Date => {
                numbers::<FrameInt32, Date32Type>(series.to_physical_repr().i32()?)
            }
            Physical::Date => Arc::new(self.dates(series.str()?)?),
            Physical::Decimal if self.column.column_type.is_decimal_text() => {
                Arc::new(self.decimal_texts(series.str()?)?)
            }
            Physical::Decimal => Arc::new(self.decimals()?),
            Physical::StringList => Arc::new(self.lists()?),
            Physical::Pointers => Arc::new(self.pointers(inputs)?),
        })
    }

    fn at(&self, row: usize, problem: impl std::fmt::Display) -> Error {
        let id = self
            .ids
            .and_then(|ids| ids.str().ok()?.get(row).map(str::to_owned))
            .unwrap_or_else(|| format!("in row {row}"));
        Error::contract(format!(
            "column `{}` of record {id} {problem}",
            self.column.name
        ))
    }

    fn finite(&self) -> Result<Float64Array> {
        let values = self.series.f64()?;
        match values
            .iter()
            .position(|value| value.is_some_and(|value| !value.is_finite()))
        {
            Some(row) => Err(self.at(row, "is not a finite number")),
            None => Ok(values.iter().collect()),
        }
    }

    fn dates(&self, texts: &StringChunked) -> Result<Date32Array> {
        let mut days = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            let day = |text: &str| {
                Day::from_iso(text.as_bytes())
                    .map(Day::number)
                    .ok_or_else(|| {
                        self.at(
                            row,
                            format_args!("holds `{text}`, which is not a date YYYY-MM-DD"),
                        )
                    })
            };
            days.push(text.map(day).transpose()?);
        }
        Ok(Date32Array::from(days))
    }

    fn decimals(&self) -> Result<Decimal128Array> {
        let column_type = &self.column.column_type;
        let limit = 10_i128
            .checked_pow(u32::from(column_type.precision))
            .unwrap_or(i128::MAX);
        let mut values = Vec::with_capacity(self.series.len());
        for (row, value) in self.series.i64()?.iter().enumerate() {
            let value = value.map(i128::from);
            if value.is_some_and(|value| value.abs() >= limit) {
                return Err(self.at(
                    row,
                    format_args!(
                        "has more than the {} digits of its type",
                        column_type.precision
                    ),
                ));
            }
            values.push(value);
        }
        Ok(Decimal128Array::from(values)
            .with_precision_and_scale(column_type.precision, column_type.scale)?)
    }

    fn decimal_texts(&self, texts: &StringChunked) -> Result<Decimal128Array> {
        let column_type = &self.column.column_type;
        let mut values = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            let value = |text| {
                parse_decimal(text, column_type.scale).ok_or_else(|| {
                    self.at(
                        row,
                        format_args!("holds `{text}`, which is not a number of its type"),
                    )
                })
            };
            values.push(text.map(value).transpose()?);
        }
        Ok(Decimal128Array::from(values)
            .with_precision_and_scale(column_type.precision, column_type.scale)?)
    }

    fn lists(&self) -> Result<ListArray> {
        let rows = ListRows::of(self.series)?;
        let mut items = StringBuilder::new();
        let mut lengths = Vec::with_capacity(self.series.len());
        for (row, list) in rows.iter().enumerate() {
            let mut length = 0;
            for item in list.into_iter().flatten() {
                if item.is_empty() {
                    let list: Vec<&str> = rows
                        .iter()
                        .nth(row)
                        .flatten()
                        .into_iter()
                        .flatten()
                        .collect();
                    return Err(self.at(
                        row,
                        format_args!("holds `{}`, a list with an empty item", list.join(",")),
                    ));
                }
                items.append_value(item);
                length += 1;
            }
            lengths.push(length);
        }
        let field = Field::new_list_field(DataType::Utf8, false);
        Ok(ListArray::try_new(
            Arc::new(field),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(items.finish()),
            self.nulls(),
        )?)
    }

    /// Resolves the pointers' numbers into sources, digests and members, so that reading a part
    /// requires no other file.
    fn pointers(&self, inputs: &Inputs) -> Result<ListArray> {
        let rows = PointerRows::from_series(self.series)?;
        // A build has few files and members but large numbers of records. The texts for each pair
        // of file and member are built once, and rows refer to them by index.
        let mut places: PlHashMap<(u64, u64), u32> = PlHashMap::new();
        let mut resolved: Vec<SourcePointer> = Vec::new();
        let mut last = None;
        let count = rows.iter().flatten().map(<[u64]>::len).sum::<usize>() / 4;
        let (mut of_pointers, mut offsets, mut lengths) = (
            Vec::with_capacity(count),
            Vec::with_capacity(count),
            Vec::with_capacity(count),
        );
        let mut list_lengths = Vec::with_capacity(rows.iter().len());
        for (row, numbers) in rows.iter().enumerate() {
            let (pointers, rest) = numbers.unwrap_or_default().as_chunks::<4>();
            if !rest.is_empty() {
                return Err(self.at(row, "does not hold four numbers for each pointer"));
            }
            let signed = |number: u64| {
                i64::try_from(number)
                    .map_err(|_| self.at(row, "points beyond the end of every file"))
            };
            for &[input, member, offset, length] in pointers {
                let place = match last {
                    Some((pair, place)) if pair == (input, member) => place,
                    _ => *places.entry((input, member)).or_insert_with(|| {
                        resolved.extend(inputs.resolve(&[input, member, 0, 0]));
                        (resolved.len() - 1) as u32
                    }),
                };
                last = Some(((input, member), place));
                of_pointers.push(place);
                offsets.push(signed(offset)?);
                lengths.push(signed(length)?);
            }
            list_lengths.push(pointers.len());
        }
        let places = UInt32Array::from(of_pointers);
        let texts = |text: &dyn Fn(&SourcePointer) -> Option<String>| {
            let of_pair: StringArray = resolved.iter().map(text).collect();
            let texts: StringChunked = of_pair.iter().collect();
            // Different pairs can have the same text; each distinct text is stored once.
            match DistinctTexts::new(&texts) {
                Some(DistinctTexts {
                    values,
                    places: of_pair,
                }) => {
                    let keys: UInt32Array = of_pair
                        .into_iter()
                        .map(|place| (place != DistinctTexts::NONE).then_some(place))
                        .collect();
                    dictionary(take(&keys, &places, None)?, values)
                }
                None => Ok(take(&of_pair, &places, None)?),
            }
        };
        let arrays: Vec<ArrayRef> = vec![
            texts(&|pointer| Some(pointer.source_id.clone()))?,
            texts(&|pointer| Some(pointer.snapshot.to_string()))?,
            texts(&|pointer| pointer.member.clone())?,
            Arc::new(Int64Array::from(offsets)),
            Arc::new(Int64Array::from(lengths)),
        ];
        let fields = pointer_fields();
        let fields: Fields = fields
            .iter()
            .zip(&arrays)
            .map(|(field, array)| {
                field
                    .as_ref()
                    .clone()
                    .with_data_type(array.data_type().clone())
            })
            .collect();
        let structs = StructArray::try_new(fields, arrays, None)?;
        let field = Field::new_list_field(structs.data_type().clone(), false);
        Ok(ListArray::try_new(
            Arc::new(field),
            OffsetBuffer::from_lengths(list_lengths),
            Arc::new(structs),
            self.nulls(),
        )?)
    }

    fn nulls(&self) -> Option<NullBuffer> {
        (self.series.null_count() > 0).then(|| {
            self.series
                .is_not_null()
                .iter()
                .map(|is_there| is_there == Some(true))
                .collect::<Vec<bool>>()
                .into()
        })
    }
}

/// Copies a numeric column with its null bitmap.
fn numbers<F, A>(cells: &ChunkedArray<F>) -> ArrayRef
where
    F: PolarsNumericType,
    F::Native: ArrowNativeType,
    A: ArrowPrimitiveType<Native = F::Native>,
{
    let whole = cells.rechunk();
    let chunk = whole.downcast_as_array();
    Arc::new(PrimitiveArray::<A>::new(
        chunk.values().as_slice().to_vec().into(),
        chunk
            .validity()
            .map(|nulls| NullBuffer::new(bits(nulls.as_slice()))),
    ))
}

fn truths(cells: &BooleanChunked) -> ArrayRef {
    let whole = cells.rechunk();
    let chunk = whole.downcast_as_array();
    Arc::new(BooleanArray::new(
        bits(chunk.values().as_slice()),
        chunk
            .validity()
            .map(|nulls| NullBuffer::new(bits(nulls.as_slice()))),
    ))
}

/// Converts a polars bitmap, given as bytes, offset of the first bit and length in bits.
fn bits((bytes, offset, length): (&[u8], usize, usize)) -> BooleanBuffer {
    BooleanBuffer::new(Buffer::from(bytes), offset, length)
}

/// Converts a text column. Uses dictionary encoding if there are few distinct values, and otherwise
/// buffers of exact size.
fn texts(cells: &StringChunked) -> Result<ArrayRef> {
    if let Some(DistinctTexts { values, places }) = DistinctTexts::new(cells) {
        let keys = match cells.null_count() {
            0 => UInt32Array::from(places),
            _ => places
                .into_iter()
                .map(|place| (place != DistinctTexts::NONE).then_some(place))
                .collect(),
        };
        return dictionary(Arc::new(keys), values);
    }
    plain_texts(cells)
}

fn plain_texts(cells: &StringChunked) -> Result<ArrayRef> {
    let mut bytes = Vec::with_capacity(cells.iter().flatten().map(str::len).sum());
    let mut borders = Vec::with_capacity(cells.len() + 1);
    borders.push(0);
    for cell in cells.iter() {
        bytes.extend_from_slice(cell.unwrap_or_default().as_bytes());
        borders.push(i32::try_from(bytes.len()).map_err(|_| {
            Error::contract(format!(
                "column `{}` holds more than 2 GiB of text",
                cells.name()
            ))
        })?);
    }
    let nulls = (cells.null_count() > 0).then(|| {
        cells
            .is_not_null()
            .iter()
            .map(|is_there| is_there == Some(true))
            .collect::<Vec<bool>>()
            .into()
    });
    Ok(Arc::new(StringArray::try_new(
        OffsetBuffer::new(borders.into()),
        bytes.into(),
        nulls,
    )?))
}

fn dictionary(keys: ArrayRef, values: Vec<&str>) -> Result<ArrayRef> {
    let keys = keys.as_primitive::<UInt32Type>().clone();
    Ok(Arc::new(DictionaryArray::try_new(
        keys,
        Arc::new(StringArray::from(values)),
    )?))
}
