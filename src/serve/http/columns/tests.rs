//! Tests table cells, rows and columns with invented figures.

use schemars::JsonSchema;

use super::{Columns, cell, guarded};
use crate::http::components::Data;

fn table(columns: &Columns, data: &str) -> (usize, String) {
    let mut text = columns.header();
    let count = columns.write(data.as_bytes(), &mut text).unwrap();
    (count, String::from_utf8(text).unwrap())
}

fn cell_of(json: &str) -> String {
    cell(serde_json::from_str(json).unwrap())
        .unwrap()
        .unwrap_or_else(|| "none".to_owned())
}

#[test]
fn cells_have_the_digits_of_the_answer_and_nulls_are_empty() {
    assert_eq!(cell_of("45.0"), "45.0");
    assert_eq!(cell_of("-9427"), "-9427");
    assert_eq!(
        cell_of("652250000000000000000.0000000001"),
        "652250000000000000000.0000000001"
    );
    assert_eq!(cell_of("null"), "none");
    assert_eq!(cell_of("\"\""), "");
    assert_eq!(cell_of("true"), "true");
    assert_eq!(cell_of("\"00501\""), "00501");
}

#[test]
fn ambiguous_lists_stay_json() {
    assert_eq!(cell_of("[]"), "none");
    assert_eq!(cell_of(r#"["NY","FL"]"#), "NY;FL");
    assert_eq!(cell_of("[1,2.50,null]"), "1;2.50;");
    assert_eq!(cell_of(r#"["a;b","c"]"#), r#"["a;b","c"]"#);
    assert_eq!(cell_of(r#"["[a"]"#), r#"["[a"]"#);
    assert_eq!(cell_of(r#"[{"a":1}]"#), r#"[{"a":1}]"#);
    assert_eq!(cell_of(r#"{"a":1}"#), r#"{"a":1}"#);
}

#[test]
fn formulas_are_escaped_reversibly() {
    for text in [
        "=1+1",
        "+1 555 0100",
        "-5",
        "@SUM(A1)",
        "\ttext",
        "\rtext",
        "'quoted'",
        "''",
    ] {
        let written = guarded(text.to_owned());
        assert_eq!(written, format!("'{text}"));
        assert_eq!(written.strip_prefix('\''), Some(text));
    }
    for text in ["", "plain", "a=b", "5'", "\u{2212}5"] {
        assert_eq!(guarded(text.to_owned()), text);
    }
    // A number is never a formula, whatever its sign. A string with the same characters is text.
    assert_eq!(
        (cell_of("-5"), cell_of("\"-5\""), cell_of(r#"["=a","b"]"#)),
        ("-5".to_owned(), "'-5".to_owned(), "'=a;b".to_owned())
    );
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Towns(Vec<Town>);

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Town {
    zip: String,
    city: Option<String>,
    county: County,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct County {
    fips: String,
    name: String,
}

#[test]
fn columns_are_those_of_the_schema_whatever_the_rows_hold() {
    let columns = Columns::from_schema(&Data::for_type::<Towns>(), "", &|_| false);
    let header = "zip,city,county.fips,county.name\r\n";
    assert_eq!(table(&columns, "[]"), (0, header.to_owned()));
    let rows = r#"[{"zip":"00501","county":null,"city":"A, B","unknown":1}]"#;
    assert_eq!(
        table(&columns, rows),
        (1, format!("{header}00501,\"A, B\",,\r\n"))
    );
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Company {
    series: Vec<Series>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Series {
    metric: String,
    values: Vec<Figure>,
    null_reason: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Figure {
    metric: String,
    fiscal_year: i32,
    value: f64,
}

#[test]
fn inner_list_gives_a_row_per_item_and_one_row_if_empty() {
    let columns = Columns::from_schema(&Data::for_type::<Company>(), "series/values", &|_| false);
    let data = r#"{"cik":"1","series":[
        {"metric":"revenue","unit":"USD","values":[{"fiscal_year":2023,"value":1.5},{"fiscal_year":2024,"value":-2}],"null_reason":null},
        {"metric":"net_income","unit":"USD","values":[],"null_reason":"not_tagged"}]}"#;
    let header = "metric,values.metric,values.fiscal_year,values.value,null_reason\r\n";
    let rows = "revenue,,2023,1.5,\r\nrevenue,,2024,-2,\r\nnet_income,,,,not_tagged\r\n";
    assert_eq!(table(&columns, data), (3, format!("{header}{rows}")));
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Areas {
    areas: Vec<Area>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Area {
    name: String,
    point: Option<Point>,
    metrics: Chosen,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Point {
    lat: f64,
    lon: f64,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "tables are made of the schema alone")]
struct Chosen {
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    population: Option<Point>,
}

#[test]
fn data_that_contradicts_its_schema_is_a_problem() {
    let columns = Columns::from_schema(&Data::for_type::<Areas>(), "areas", &|_| false);
    for data in [
        "",
        "[",
        "{}",
        r#"{"areas":1}"#,
        r#"{"areas":[{"a":1,"a":2}]}"#,
    ] {
        assert_eq!(
            columns
                .write(data.as_bytes(), &mut Vec::new())
                .unwrap_err()
                .code
                .name(),
            "internal_error",
            "{data}"
        );
    }
}

#[test]
fn only_requested_members_have_columns() {
    let header = |named: &str| {
        String::from_utf8(
            Columns::from_schema(&Data::for_type::<Areas>(), "areas", &|name| name == named)
                .header(),
        )
        .unwrap()
    };
    assert_eq!(header("").trim_end(), "name,point.lat,point.lon");
    assert_eq!(
        header("population").trim_end(),
        "name,point.lat,point.lon,metrics.population.lat,metrics.population.lon"
    );
}
