//! Cells, rows and columns of tables; the figures are made up.

use super::{Columns, cell, guarded};
use crate::http::components::Data;

fn table(columns: &Columns, data: &str) -> (usize, String) {
    let mut text = columns.header();
    let count = columns.write(data.as_bytes(), &mut text).unwrap();
    (count, String::from_utf8(text).unwrap())
}

fn cell_of(json: &str) -> String {
    cell(serde_json::from_str(json).unwrap()).unwrap().unwrap_or_else(|| "none".to_owned())
}

#[test]
fn cells_have_the_digits_of_the_answer_and_nulls_are_empty() {
    assert_eq!(cell_of("45.0"), "45.0");
    assert_eq!(cell_of("-9427"), "-9427");
    assert_eq!(cell_of("652250000000000000000.0000000001"), "652250000000000000000.0000000001");
    assert_eq!(cell_of("null"), "none");
    assert_eq!(cell_of("\"\""), "");
    assert_eq!(cell_of("true"), "true");
    assert_eq!(cell_of("\"00501\""), "00501");
}

#[test]
fn lists_of_texts_are_joined_and_what_could_not_be_told_apart_stays_json() {
    assert_eq!(cell_of("[]"), "none");
    assert_eq!(cell_of(r#"["NY","FL"]"#), "NY;FL");
    assert_eq!(cell_of("[1,2.50,null]"), "1;2.50;");
    assert_eq!(cell_of(r#"["a;b","c"]"#), r#"["a;b","c"]"#);
    assert_eq!(cell_of(r#"["[a"]"#), r#"["[a"]"#);
    assert_eq!(cell_of(r#"[{"a":1}]"#), r#"[{"a":1}]"#);
    assert_eq!(cell_of(r#"{"a":1}"#), r#"{"a":1}"#);
}

#[test]
fn no_text_is_run_as_a_formula_and_every_text_can_be_had_back() {
    for text in ["=1+1", "+1 555 0100", "-5", "@SUM(A1)", "\ttext", "\rtext", "'quoted'", "''"] {
        let written = guarded(text.to_owned());
        assert_eq!(written, format!("'{text}"));
        assert_eq!(written.strip_prefix('\''), Some(text));
    }
    for text in ["", "plain", "a=b", "5'", "\u{2212}5"] {
        assert_eq!(guarded(text.to_owned()), text);
    }
    // A number is none, whatever its sign; a text of the same characters is text.
    assert_eq!((cell_of("-5"), cell_of("\"-5\""), cell_of(r#"["=a","b"]"#)), ("-5".to_owned(), "'-5".to_owned(), "'=a;b".to_owned()));
}

#[test]
fn columns_are_those_of_the_schema_whatever_the_rows_hold() {
    let columns = Columns::of(&Data::Written("NearbyZips"), "", &|_| false);
    let header = String::from_utf8(columns.header()).unwrap();
    assert!(header.starts_with("zip,type,city,state,lat,lon,distance_mi,basis,provenance.dataset_id,"), "{header}");
    assert_eq!(table(&columns, "[]"), (0, header.clone()));
    let (count, text) = table(&columns, r#"[{"zip":"00501","lat":null,"city":"A, B","unknown":1}]"#);
    assert_eq!((count, text.lines().nth(1).unwrap()), (1, format!("00501,,\"A, B\"{}", ",".repeat(header.matches(',').count() - 2)).as_str()));
}

#[test]
fn an_inner_list_gives_a_row_for_each_item_and_one_for_none() {
    let columns = Columns::of(&Data::Written("Financials"), "series/values", &|_| false);
    let header = String::from_utf8(columns.header()).unwrap();
    assert!(header.starts_with("metric,unit,values.metric,values.fiscal_year,values.fiscal_period,"), "{header}");
    assert!(header.contains(",values.first_reported.value,") && header.trim_end().ends_with(",null_reason"), "{header}");
    let data = r#"{"cik":"1","series":[
        {"metric":"revenue","unit":"USD","values":[{"fiscal_year":2023,"value":1.5},{"fiscal_year":2024,"value":-2}],"null_reason":null},
        {"metric":"net_income","unit":"USD","values":[],"null_reason":"not_tagged"}]}"#;
    let (count, text) = table(&columns, data);
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(count, 3);
    assert!(rows[0].starts_with("revenue,USD,,2023,") && rows[0].ends_with(','), "{text}");
    assert!(rows[1].starts_with("revenue,USD,,2024,") && rows[1].contains(",-2,"), "{text}");
    assert!(rows[2].starts_with("net_income,USD,,") && rows[2].ends_with(",not_tagged"), "{text}");
    assert!(rows.iter().all(|row| row.matches(',').count() == header.matches(',').count()));
}

#[test]
fn what_is_not_as_its_schema_says_is_a_problem() {
    let columns = Columns::of(&Data::Written("Schools"), "schools", &|_| false);
    for data in ["", "[", "{}", r#"{"schools":1}"#, r#"{"schools":[{"a":1,"a":2}]}"#] {
        assert_eq!(columns.write(data.as_bytes(), &mut Vec::new()).unwrap_err().code.name(), "internal_error", "{data}");
    }
}

#[test]
fn of_what_a_request_chooses_only_that_has_columns() {
    let header = |named: &str| String::from_utf8(Columns::of(&Data::Written("StateCounties"), "counties", &|name| name == named).header()).unwrap();
    assert!(!header("").contains("metrics."), "{}", header(""));
    let of_one = header("population");
    assert!(of_one.contains("geography.internal_point.lat,"), "{of_one}");
    let figures = of_one.split("metrics.").skip(1).map(|name| name.trim_end().trim_end_matches(",provenance").trim_end_matches(','));
    let expected = ["value", "bound", "bound_type", "moe", "moe_approximate", "moe_status", "qualifier", "null_reason", "record_id"]
        .map(|name| format!("population.{name}"));
    assert_eq!(figures.collect::<Vec<_>>(), expected);
}
