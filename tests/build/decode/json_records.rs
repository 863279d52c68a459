//! Decodes JSON records in the form of services: Socrata's array, ArcGIS's features, CKAN's result.

use proptest::prelude::*;
use pubdata_build::decode::{ColumnPlan, Decoded};
use pubdata_core::pipeline::Format;

use super::{Source, places, plan_of};

const SOCRATA: &str = r#"[{"permit_":"100637362","reported_cost":20000.00,"ward":42,"is_open":true,"location":{"type":"Point","coordinates":[-87.6,41.8]}}
,{"permit_":"1\u0030\u00f1 ","reported_cost":null,"ward":12345678901234567890,"is_open":false}
,{"permit_":"","location":{"coordinates":[ 1 , 2 ]}}]
"#;

const ARCGIS: &str = r#"{"exceededTransferLimit":true,"features":[
{"attributes":{"Permit #":"A-1","Date Issued":1457049600000,"Const_Cost":1.50E3},"geometry":{"x":-86.781600,"y":36.16}},
{"attributes":{"Permit #":"A-2","Date Issued":null},"geometry":null}]}"#;

const CKAN: &str = "\u{feff}{\"help\":\"\u{f1}\",\"success\":true,\"result\":{\"records\":[{\"_id\":7,\"PERMIT #\":\"MEP-1\"}],\"total\":1}}";

fn format(records: Option<&str>, normalized_header: bool) -> Format {
    Format::JsonRecords {
        records: records.map(str::to_owned),
        normalized_header,
    }
}

fn ignoring(ignore: &[&str]) -> ColumnPlan {
    ColumnPlan::new(ignore.iter().map(|name| (*name).to_owned()).collect())
}

fn rows(decoded: &Decoded, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let columns: Vec<_> = columns
        .iter()
        .map(|column| decoded.frame.column(column).unwrap().str().unwrap())
        .collect();
    (0..decoded.frame.height())
        .map(|row| {
            columns
                .iter()
                .map(|column| column.get(row).map(str::to_owned))
                .collect()
        })
        .collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts
        .iter()
        .map(|text| (!text.is_empty()).then(|| (*text).to_owned()))
        .collect()
}

#[test]
fn values_keep_their_digits_and_records_their_positions() {
    let plan = ignoring(&["location"])
        .want("permit", &["permit_"])
        .want("cost", &["reported_cost"])
        .want("ward", &["ward"]);
    let plan = plan
        .want("open", &["is_open"])
        .want_optional("remark", &["remark"]);
    let source = Source::new(SOCRATA.as_bytes(), None, format(None, false), plan);
    let decoded = source.decode(None).unwrap();
    let expected = [
        some(&["100637362", "20000.00", "42", "true", ""]),
        some(&["10ñ", "", "12345678901234567890", "false", ""]),
        some(&["", "", "", "", ""]),
    ];
    assert_eq!(
        rows(&decoded, &["permit", "cost", "ward", "open", "remark"]),
        expected
    );
    let text_of = |(offset, length): (u64, u64)| {
        &SOCRATA[usize::try_from(offset).unwrap()..usize::try_from(offset + length).unwrap()]
    };
    assert_eq!(
        text_of(places(&decoded.frame)[2]),
        r#"{"permit_":"","location":{"coordinates":[ 1 , 2 ]}}"#
    );
    source.assert_round_trip(&decoded);
}

#[test]
fn attributes_of_inner_objects_are_named_by_their_path() {
    let plan = ColumnPlan::new(Vec::new())
        .want("permit", &["attributes_permit"])
        .want("issued", &["attributes_date_issued"]);
    let plan = plan
        .want("cost", &["attributes_const_cost"])
        .want("lon", &["geometry_x"])
        .want("lat", &["geometry_y"]);
    let source = Source::new(
        ARCGIS.as_bytes(),
        None,
        format(Some("features"), true),
        plan,
    );
    let decoded = source.decode(None).unwrap();
    let expected = [
        some(&["A-1", "1457049600000", "1.50E3", "-86.781600", "36.16"]),
        some(&["A-2", "", "", "", ""]),
    ];
    assert_eq!(
        rows(&decoded, &["permit", "issued", "cost", "lon", "lat"]),
        expected
    );
    source.assert_round_trip(&decoded);

    let plan = ignoring(&["attributes.Date Issued", "attributes.Const_Cost"])
        .want("permit", &["attributes.Permit #"]);
    let source = Source::new(
        ARCGIS.as_bytes(),
        None,
        format(Some("features"), false),
        plan.want("place", &["geometry"]),
    );
    let decoded = source.decode(None).unwrap();
    assert_eq!(
        rows(&decoded, &["permit", "place"]),
        [
            some(&["A-1", r#"{"x":-86.781600,"y":36.16}"#]),
            some(&["A-2", ""])
        ]
    );
    source.assert_round_trip(&decoded);

    let source = Source::new(
        CKAN.as_bytes(),
        None,
        format(Some("result.records"), false),
        ignoring(&["_id"]).want("permit", &["PERMIT #"]),
    );
    let decoded = source.decode(None).unwrap();
    assert_eq!(rows(&decoded, &["permit"]), [some(&["MEP-1"])]);
    source.assert_round_trip(&decoded);
}

#[test]
fn file_without_the_declared_attributes_or_list_is_an_error() {
    for (text, records, reason) in [
        (
            r#"[{"a":1,"b":2}]"#,
            None,
            "neither mapped nor ignored: `b`",
        ),
        (
            r#"[{"a":1,"b":{"c":null}}]"#,
            None,
            "neither mapped nor ignored: `b.c`",
        ),
        (
            r#"[{"z":1}]"#,
            None,
            "`a` is missing; neither mapped nor ignored: `z`",
        ),
        (
            r#"{"error":{"code":400}}"#,
            Some("features"),
            "has no `features`",
        ),
        (
            r#"{"features":[]}"#,
            Some("features.records"),
            "has no object that holds `records`",
        ),
        (
            r#"{"features":{}}"#,
            Some("features"),
            "is not an array of records",
        ),
        ("[{\"a\":1}", None, "is not JSON"),
        ("<html>", None, "is not JSON"),
    ] {
        let error = Source::new(
            text.as_bytes(),
            None,
            format(records, false),
            plan_of(&["a"]).closed(),
        )
        .decode(None)
        .unwrap_err()
        .to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let twice = Source::new(
        br#"[{"a b":1},{"a-b":2}]"#,
        None,
        format(None, true),
        plan_of(&["a_b"]),
    )
    .decode(None)
    .unwrap_err()
    .to_string();
    assert!(
        twice.contains("the attributes `a b` and `a-b` both map to `a_b`"),
        "{twice}"
    );
    let empty = Source::new(b"[]", None, format(None, false), plan_of(&["a"]))
        .decode(None)
        .unwrap();
    assert_eq!(
        (empty.frame.height(), empty.frame.width()),
        (0, 2),
        "a list without records lacks no column"
    );
}

#[test]
fn record_of_another_shape_is_quarantined() {
    let deep = format!("{{\"a\":{}1{}}}", "{\"b\":".repeat(40), "}".repeat(40));
    let text = format!(r#"[{{"a":"x"}},[1],7,null,{{"a":"y","a":"z"}},{{"a":"\ud800"}},{deep}]"#);
    let source = Source::new(text.as_bytes(), None, format(None, false), plan_of(&["a"]));
    let decoded = source.decode(None).unwrap();
    // A mapped object is one cell, however deep it is.
    assert_eq!(decoded.frame.height(), 2);
    let details: Vec<&str> = decoded
        .malformed
        .iter()
        .map(|malformed| malformed.detail.as_str())
        .collect();
    let not_object = "the record is not an object";
    assert_eq!(
        details,
        [
            not_object,
            not_object,
            not_object,
            "the record has the attribute `a` twice",
            "the attribute `a` is no text"
        ]
    );
    source.assert_round_trip(&decoded);
    let source = Source::new(
        format!("[{{\"c\":1}},{deep}]").as_bytes(),
        None,
        format(None, false),
        plan_of(&["c"]),
    );
    assert_eq!(
        source.decode(None).unwrap().malformed[0].detail,
        "the record has more than 16 objects inside each other"
    );
}

#[test]
fn hostile_lists_take_bounded_work() {
    let names: Vec<String> = (0..2_001)
        .map(|number| format!("{{\"k{number}\":1}}"))
        .collect();
    let error = Source::new(
        format!("[{}]", names.join(",")).as_bytes(),
        None,
        format(None, false),
        plan_of(&["a"]),
    )
    .decode(None)
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("more than 2000 different attributes"),
        "{error}"
    );
    for text in [
        "[".repeat(1 << 20),
        format!("[{}", "{\"a\":".repeat(1 << 18)),
        format!("{}{}", "[".repeat(1 << 19), "]".repeat(1 << 19)),
    ] {
        let source = Source::new(text.as_bytes(), None, format(None, false), plan_of(&["a"]));
        if let Ok(decoded) = source.decode(None) {
            assert_eq!((decoded.frame.height(), decoded.malformed.len()), (0, 1));
        }
    }
    let many = format!("[{}1]", "1,".repeat(20_000));
    assert!(
        Source::new(many.as_bytes(), None, format(None, false), plan_of(&["a"]))
            .decode(None)
            .unwrap_err()
            .to_string()
            .contains("more than 10000 records")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_of_any_bytes_keep_their_pointers(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)) {
        let mut bytes = SOCRATA.as_bytes().to_vec();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = if byte < 128 { b"{}[],:\"\\ 0e.n"[usize::from(byte) % 13] } else { byte };
        }
        let plan = ignoring(&["location"]).want_optional("permit", &["permit_"]).want_optional("cost", &["reported_cost"]).want_optional("ward", &["ward"]);
        let source = Source::new(&bytes, None, format(None, false), plan.want_optional("open", &["is_open"]));
        if let Ok(decoded) = source.decode(None) {
            source.assert_round_trip(&decoded);
        }
    }
}
