//! Checks that answers from rows equal answers from the columns from which the rows were built,
//! both in memory and from a copy.

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, ListBuilder, StringArray, StringBuilder, UInt32Array,
};
use arrow::datatypes::{Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type};
use proptest::prelude::*;

use super::*;
use crate::answer::{Date, Decimal, Float};
use crate::json::Json;
use crate::release::row::row;
use crate::release::row_cells::Texts;
use pubdata_core::ids::Digest;
use pubdata_store::{Copies, PartReport};

#[derive(Debug)]
struct Sample;

impl Dataset for Sample {
    const ID: &'static str = "test.sample";
    const KEY: &'static str = "key";
    /// The order differs from the order of the columns in the batch.
    const COLUMNS: &'static [&'static str] = &[
        "whole", "text", "texts", "key", "day", "price", "flag", "float", "long", "later?", "rate",
    ];
}

row! {
    struct SampleFields<'a> of Sample {
        key: &'a str,
        text: Option<&'a str>,
        texts: Texts<'a>,
        day: Option<Date>,
        price: Option<Decimal>,
        rate: Option<Decimal>,
        flag: Option<bool>,
        float: Option<Float>,
        whole: Option<i32>,
        long: Option<i64>,
        later "?": Option<&'a str>,
        object: Option<SamplePart<'a>>,
    }
}

row! {
    struct SamplePart<'a> of Sample {
        #[serde(rename = "a")]
        price: Option<Decimal>,
        #[serde(rename = "b")]
        flag: Option<bool>,
        #[serde(rename = "c")]
        later "?": Option<&'a str>,
        #[serde(rename = "d")]
        other: i32 = 7,
    }
}

const NAMES: [&str; 11] = [
    "key", "text", "texts", "day", "price", "rate", "flag", "float", "whole", "long", "later",
];

#[derive(Debug, Clone)]
struct Given {
    key: String,
    text: Option<String>,
    texts: Option<Vec<String>>,
    day: Option<i32>,
    price: Option<i128>,
    flag: Option<bool>,
    float: Option<f64>,
    whole: Option<i32>,
    long: Option<i64>,
}

fn given() -> impl Strategy<Value = Vec<Given>> {
    let option = prop::option::of::<BoxedStrategy<String>>;
    // `\PC` is any visible character, of one to four bytes.
    let texts = (
        option("\\PC{0,20}".boxed()),
        prop::option::of(prop::collection::vec("\\PC{0,6}", 0..4)),
    );
    let floats = prop::option::of(prop_oneof![
        any::<f64>(),
        (-1000_i32..1000).prop_map(|number| f64::from(number) / 8.0)
    ]);
    let numbers = (
        prop::option::of(-100_000..100_000),
        prop::option::of(-(10_i128.pow(30))..10_i128.pow(30)),
        any::<Option<i32>>(),
        any::<Option<i64>>(),
    );
    let row = ("[ab]{0,2}", texts, numbers, any::<Option<bool>>(), floats);
    let row = row.prop_map(
        |(key, (text, texts), (day, price, whole, long), flag, float)| Given {
            key,
            text,
            texts,
            day,
            price,
            flag,
            float,
            whole,
            long,
        },
    );
    prop::collection::vec(row, 0..40).prop_map(|mut rows| {
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows
    })
}

fn batch(given: &[Given]) -> RecordBatch {
    let item = Field::new_list_field(DataType::Utf8, false);
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item);
    for row in given {
        lists.append_option(row.texts.as_ref().map(|texts| texts.iter().map(Some)));
    }
    let decimals = |precision, scale| {
        let decimals: Decimal128Array = given.iter().map(|row| row.price).collect();
        Arc::new(decimals.with_precision_and_scale(precision, scale).unwrap())
    };
    let columns: [ArrayRef; 11] = [
        Arc::new(
            given
                .iter()
                .map(|row| Some(&row.key))
                .collect::<StringArray>(),
        ),
        Arc::new(
            given
                .iter()
                .map(|row| row.text.as_ref())
                .collect::<StringArray>(),
        ),
        Arc::new(lists.finish()),
        Arc::new(given.iter().map(|row| row.day).collect::<Date32Array>()),
        decimals(38, 2),
        decimals(38, 9),
        Arc::new(given.iter().map(|row| row.flag).collect::<BooleanArray>()),
        Arc::new(given.iter().map(|row| row.float).collect::<Float64Array>()),
        Arc::new(given.iter().map(|row| row.whole).collect::<Int32Array>()),
        Arc::new(given.iter().map(|row| row.long).collect::<Int64Array>()),
        Arc::new(StringArray::new_null(given.len())),
    ];
    RecordBatch::try_from_iter_with_nullable(
        NAMES
            .into_iter()
            .zip(columns)
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Returns rows that alternate between two source files.
fn rows(batch: &RecordBatch) -> Rows<Sample> {
    let files =
        serde_json::to_string(&[("one", Digest::sha256(b"1")), ("two", Digest::sha256(b"2"))])
            .unwrap();
    let of_rows =
        UInt32Array::from_iter_values((0..batch.num_rows()).map(|row| u32::from(row % 2 == 1)));
    let row_sources = RowSources::from_copy(&of_rows, &files).unwrap();
    Rows {
        cells: RowCells::from_batch(batch, Sample::COLUMNS).unwrap(),
        row_sources,
        mapped: None,
        dataset: PhantomData,
    }
}

fn part() -> Part {
    Part {
        path: "test.sample/a.parquet".to_owned(),
        task_id: String::new(),
        partition: BTreeMap::default(),
        rows: 0,
        size_bytes: 0,
        sha256: Digest::sha256(b"part"),
        key_range: None,
        fingerprint: None,
        report: PartReport::default(),
    }
}

/// Writes the expected field from its column alone.
fn member(json: &mut Json, name: &str, column: &ArrayRef, row: usize) {
    json.key(name);
    match column.data_type() {
        DataType::List(_) if column.is_null(row) => json.raw("[]"),
        DataType::List(_) => json.value(
            &column
                .as_list::<i32>()
                .value(row)
                .as_string::<i32>()
                .iter()
                .flatten()
                .collect::<Vec<_>>(),
        ),
        _ if column.is_null(row) => json.null(),
        DataType::Utf8 => json.value(&column.as_string::<i32>().value(row)),
        DataType::Date32 => json.value(&Date(column.as_primitive::<Date32Type>().value(row))),
        DataType::Decimal128(_, scale) => json.wide_decimal(
            column.as_primitive::<Decimal128Type>().value(row),
            u8::try_from(*scale).unwrap(),
        ),
        DataType::Boolean => json.value(&column.as_boolean().value(row)),
        DataType::Float64 => json.float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Int32 => json.value(&column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json.value(&column.as_primitive::<Int64Type>().value(row)),
        other => panic!("{other}"),
    }
}

/// Compares every accessor of rows with the input.
fn check(rows: Rows<Sample>, given: &[Given]) {
    let (batch, part) = (batch(given), part());
    assert_eq!(rows.cells.len(), given.len());
    for key in ["", "a", "aa", "ab", "b", "ba", "bb", "c"] {
        let expected: Vec<usize> = (0..given.len())
            .filter(|row| given[*row].key == key)
            .collect();
        assert_eq!(rows.rows_of(key).collect::<Vec<_>>(), expected, "{key}");
    }
    let rows = Arc::new(rows);
    for (row, of) in given.iter().enumerate() {
        let record = Record {
            rows: rows.clone(),
            part: &part,
            row,
        };
        for name in NAMES {
            let is = |expected: &str, value: bool| name == expected && value;
            assert_eq!(
                record.text(name).is_some(),
                is("key", true) || is("text", of.text.is_some()),
                "{name}"
            );
            assert_eq!(
                record.day(name).is_some(),
                is("day", of.day.is_some()),
                "{name}"
            );
            assert_eq!(
                record.integer(name).is_some(),
                is("whole", of.whole.is_some()),
                "{name}"
            );
            assert_eq!(
                record.float(name).is_some(),
                is("float", of.float.is_some()),
                "{name}"
            );
            assert_eq!(
                record.texts(name).is_empty(),
                !is(
                    "texts",
                    of.texts.as_ref().is_some_and(|texts| !texts.is_empty())
                ),
                "{name}"
            );
        }
        assert_eq!(
            (record.at("key"), record.text("text"), record.at("later")),
            (of.key.as_str(), of.text.as_deref(), "")
        );
        assert_eq!(record.texts("texts"), of.texts.clone().unwrap_or_default());
        assert_eq!(
            (
                record.day("day"),
                record.integer("whole"),
                record.float("float").map(f64::to_bits)
            ),
            (of.day, of.whole, of.float.map(f64::to_bits))
        );
        let (mut shown, mut expected) = (Json::new(), Json::new());
        shown.value(&SampleFields::from_record(&record));
        let column = |name: &str| batch.column_by_name(name).unwrap();
        expected.object(|json| {
            NAMES
                .into_iter()
                .for_each(|name| member(json, name, column(name), row));
            json.key("object");
            if of.price.is_none() && of.flag.is_none() {
                return json.null();
            }
            json.object(|json| {
                [("a", "price"), ("b", "flag"), ("c", "later")]
                    .into_iter()
                    .for_each(|(key, name)| member(json, key, column(name), row));
                json.key("d").value(&7);
            });
        });
        assert_eq!(
            String::from_utf8(shown.into_bytes()),
            String::from_utf8(expected.into_bytes())
        );
        assert_eq!(
            rows.row_sources.get(row).unwrap().source_id,
            ["one", "two"][row % 2]
        );
    }
}

fn copied(rows: &Rows<Sample>, folder: &std::path::Path) -> Copy {
    let (copies, batch) = (
        Copies::new(folder.to_owned(), 0),
        rows.to_copy().unwrap().unwrap(),
    );
    copies
        .write(
            &Digest::sha256(b"part"),
            "test",
            &batch.schema(),
            [Ok(batch)],
        )
        .unwrap();
    copies
        .open(&Digest::sha256(b"part"), "test")
        .unwrap()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn rows_say_what_their_columns_say(given in given()) {
        check(rows(&batch(&given)), &given);
        // Sliced columns have offsets that do not begin at 0.
        if given.len() > 2 {
            check(rows(&batch(&given).slice(2, given.len() - 2)), &given[2..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn copy_has_the_content_of_its_rows(given in given()) {
        let folder = tempfile::tempdir().unwrap();
        let copy = copied(&rows(&batch(&given)), folder.path());
        let rows = Rows::from_copy(copy, "test.sample/a.parquet").unwrap();
        assert_eq!((rows.size_bytes(), rows.is_intact()), (rows.row_sources.size_bytes(), true));
        check(rows, &given);
    }
}

#[test]
fn long_texts_come_out_of_a_copy_whole() {
    let of = |text: &str| Given {
        key: String::new(),
        text: Some(text.to_owned()),
        texts: Some(vec![text.to_owned(), String::new(), "ä".to_owned()]),
        day: Some(1),
        price: Some(-1),
        flag: Some(true),
        float: Some(-0.0),
        whole: Some(i32::MIN),
        long: Some(i64::MAX),
    };
    let given = [
        "ß".repeat(40_000),
        "x".repeat(16_300),
        "x".repeat(100_000),
        String::new(),
    ]
    .map(|text| of(&text));
    let folder = tempfile::tempdir().unwrap();
    check(rows(&batch(&given)), &given);
    check(
        Rows::from_copy(
            copied(&rows(&batch(&given)), folder.path()),
            "test.sample/a.parquet",
        )
        .unwrap(),
        &given,
    );
}

/// Copies of earlier versions contained columns instead of rows.
#[test]
fn wrong_copy_is_rejected_with_its_part() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |batch: RecordBatch| {
        let copies = Copies::new(folder.path().to_owned(), 0);
        let copy = copies
            .write(
                &Digest::sha256(b"part"),
                "test",
                &batch.schema(),
                [Ok(batch)],
            )
            .unwrap();
        Rows::<Sample>::from_copy(copy, "test.sample/a.parquet")
            .unwrap_err()
            .to_string()
    };
    let columns = batch(&[]);
    let error = refused(columns.clone());
    assert!(
        error.contains("test.sample/a.parquet: its copy lacks its rows or their cell types"),
        "{error}"
    );
    let whole = rows(&columns).to_copy().unwrap().unwrap();
    let error = refused(whole.project(&[0]).unwrap());
    assert!(
        error.contains("test.sample/a.parquet: its copy lacks the source files of its rows"),
        "{error}"
    );
    let others: HashMap<String, String> = whole
        .schema()
        .metadata()
        .iter()
        .map(|(key, value)| (key.clone(), value.replace("whole", "half")))
        .collect();
    let others = RecordBatch::try_new(
        Arc::new(whole.schema().as_ref().clone().with_metadata(others)),
        whole.columns().to_vec(),
    )
    .unwrap();
    let error = refused(others);
    assert!(
        error.contains("test.sample/a.parquet: its copy: its rows have other columns"),
        "{error}"
    );
}

/// The memory limit counts rows, so rows must not take more memory than the columns did.
#[test]
fn rows_take_no_more_memory_than_their_columns() {
    let of = |number: i32| Given {
        key: format!("FL-{number:012}"),
        text: (number % 3 == 0).then(|| "ACME HOLDINGS LLC".to_owned()),
        texts: Some(Vec::new()),
        day: Some(number),
        price: None,
        flag: Some(true),
        float: None,
        whole: None,
        long: None,
    };
    let given: Vec<Given> = (0..10_000).map(of).collect();
    let batch = batch(&given);
    let columns: usize = batch
        .columns()
        .iter()
        .map(|column| column.to_data().get_slice_memory_size().unwrap())
        .sum();
    let cells = rows(&batch).cells.size_bytes();
    assert!(
        cells < columns,
        "{cells} bytes of rows, {columns} of columns"
    );
}
