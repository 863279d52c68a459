//! Reads the different spellings of a publisher's exports and API with one declaration.

use pubdata_build::decode::ColumnPlan;
use pubdata_core::pipeline::{Encoding, Format};

use super::{Source, delimited, plan_of};
use pubdata_testing::shared_data;

fn normalized(header: &[&str]) -> Format {
    match delimited(',', true, header) {
        Format::Delimited {
            delimiters,
            quoting,
            header,
            ..
        } => Format::Delimited {
            delimiters,
            quoting,
            escape: None,
            header,
            fewest_cells: None,
            label_lines: 0,
            header_start: None,
            ruler: None,
            normalized_header: true,
            encoding: Encoding::Utf8,
        },
        _ => unreachable!(),
    }
}

/// Returns a cell of a source as text.
fn cell(decoded: &pubdata_build::decode::Decoded, column: &str, row: usize) -> Option<String> {
    decoded
        .frame
        .column(column)
        .unwrap()
        .str()
        .unwrap()
        .get(row)
        .map(str::to_owned)
}

fn chicago() -> ColumnPlan {
    let ignore = ["pin#", "pin##", "contractor_#_*", "contractor_##_*"];
    let mut ignored: Vec<String> = ignore
        .iter()
        .filter(|name| !name.ends_with('*'))
        .map(|name| (*name).to_owned())
        .collect();
    for digits in ["#", "##"] {
        ignored.extend(
            [
                "type", "name", "address", "city", "state", "zipcode", "phone",
            ]
            .map(|field| format!("contractor_{digits}_{field}")),
        );
    }
    ignored.extend(
        [
            "id",
            "amount_waived",
            "amount_paid",
            "latitude",
            "longitude",
            "location",
        ]
        .map(str::to_owned),
    );
    ignored.extend(
        [
            "street_number",
            "street_direction",
            "street_name",
            "suffix",
            "work_description",
        ]
        .map(str::to_owned),
    );
    ColumnPlan::new(ignored)
        .want("permit_number", &["permit"])
        .want("type", &["permit_type"])
        .want("issued", &["issue_date"])
        .want("fee", &["total_fee", "total_permit_fee"])
        .want("cost", &["estimated_cost", "reported_cost"])
}

#[test]
fn export_and_api_answer_are_read_by_one_mapping() {
    for (file, rows, issued, fee) in [
        ("chicago_Building_Permits.csv", 441, "03/22/2016", "$525.00"),
        (
            "chicago_ydr8-5enu.excerpt.csv",
            10,
            "2006-01-12T00:00:00.000",
            "",
        ),
    ] {
        let Some(path) = shared_data(&format!("general/permits/{file}")) else {
            return;
        };
        let source = Source::new(
            &std::fs::read(path).unwrap(),
            None,
            normalized(&[]),
            chicago(),
        );
        let decoded = source.decode(None).unwrap();
        assert_eq!(
            (decoded.frame.height(), decoded.malformed.len()),
            (rows, 0),
            "{file}"
        );
        source.assert_round_trip(&decoded);
        if rows == 441 {
            let permit = ["permit_number", "type", "issued", "fee", "cost"]
                .map(|column| cell(&decoded, column, 0).unwrap());
            assert_eq!(
                permit,
                [
                    "100637362",
                    "PERMIT - NEW CONSTRUCTION",
                    issued,
                    fee,
                    "$20000.00"
                ]
            );
        }
    }
}

#[test]
fn blanks_in_names_and_before_values_are_ignored() {
    for (file, expired, county) in [
        ("ltbarbers.csv", "04/27/2021", "TARRANT"),
        ("ltcosmos.csv", "07/06/2022", "DALLAS"),
    ] {
        let Some(path) = shared_data(&format!("general/license/{file}")) else {
            return;
        };
        let columns = [
            "license_type",
            "license_number",
            "license_expiration_date",
            "county",
            "name",
            "phone_number",
            "business_name",
            "license_subtype",
        ];
        let others = [
            "mailing_address_line1",
            "mailing_address_line2",
            "mailing_address_city_state_zip",
            "business_address_line1",
            "business_address_line2",
            "business_city_state_zip",
            "business_county_code",
            "business_county",
            "business_zip",
            "business_phone",
            "continuing_education_flag",
        ];
        let plan = columns.iter().fold(
            ColumnPlan::new(others.map(str::to_owned).to_vec()),
            |plan, column| plan.want(column, &[column]),
        );
        let source = Source::new(&std::fs::read(path).unwrap(), None, normalized(&[]), plan);
        let decoded = source.decode(None).unwrap();
        assert_eq!(
            cell(&decoded, "license_expiration_date", 0).as_deref(),
            Some(expired)
        );
        assert_eq!(cell(&decoded, "county", 0).as_deref(), Some(county));
        source.assert_round_trip(&decoded);
    }
}

#[test]
fn headerless_format_accepts_a_file_with_a_header() {
    let Some(path) = shared_data("general/license/MasterLicenseData.csv") else {
        return;
    };
    let names: Vec<String> = (1..=52).map(|number| format!("COLUMN-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plan = || {
        let ignore = names
            .iter()
            .enumerate()
            .filter(|(place, _)| ![0, 1, 6].contains(place))
            .map(|(_, name)| (*name).to_owned())
            .collect();
        ColumnPlan::new(ignore)
            .want("number", &[names[0]])
            .want("updated", &[names[1]])
            .want("city", &[names[6]])
    };
    let bytes = std::fs::read(path).unwrap();
    let source = Source::new(&bytes, None, normalized(&names), plan());
    let decoded = source.decode(None).unwrap();
    assert_eq!((decoded.frame.height(), decoded.malformed.len()), (80, 0));
    assert_eq!(
        ["number", "updated", "city"].map(|column| cell(&decoded, column, 0).unwrap()),
        ["1000001", "11/10/2020", "SIMI VALLEY"]
    );
    source.assert_round_trip(&decoded);

    let header = names
        .join(",")
        .to_lowercase()
        .replace("column-2,", "\"Column 2\",");
    for start in ["", "\u{feff}"] {
        let with_header = [start.as_bytes(), header.as_bytes(), b"\r\n", &bytes].concat();
        let source = Source::new(&with_header, None, normalized(&names), plan());
        let again = source.decode(None).unwrap();
        assert_eq!((again.frame.height(), again.malformed.len()), (80, 0));
        assert_eq!(cell(&again, "number", 0).as_deref(), Some("1000001"));
        source.assert_round_trip(&again);
    }
    let marked = [b"\xEF\xBB\xBF".as_slice(), &bytes].concat();
    let source = Source::new(&marked, None, normalized(&names), plan());
    let decoded = source.decode(None).unwrap();
    assert_eq!(
        cell(&decoded, "number", 0).as_deref(),
        Some("1000001"),
        "a byte order mark is not part of the first cell"
    );
    source.assert_round_trip(&decoded);
}

#[test]
fn new_column_is_reported_and_suggested_for_a_missing_one() {
    let bytes = b"Permit #,Issue Date,Story\nA-1,2024-01-02,x\n";
    let plan = |issued: &str| {
        ColumnPlan::new(Vec::new())
            .want("permit", &["permit"])
            .want("issued", &[issued])
    };
    let decoded = Source::new(bytes, None, normalized(&[]), plan("issue_date"))
        .decode(None)
        .unwrap();
    assert_eq!(
        (decoded.frame.height(), decoded.columns.new),
        (1, vec!["story".to_owned()])
    );
    assert_eq!(
        decoded.columns.has_value,
        [("permit".to_owned(), true), ("issued".to_owned(), true)]
    );
    let closed = Source::new(bytes, None, normalized(&[]), plan("issue_date").closed())
        .decode(None)
        .unwrap_err()
        .to_string();
    assert!(
        closed.contains(
            "the columns differ from the declaration (neither mapped nor ignored: `story`)"
        ),
        "{closed}"
    );
    let renamed = Source::new(bytes, None, normalized(&[]), plan("issued_date"))
        .decode(None)
        .unwrap_err()
        .to_string();
    let expected = "`issued_date` is missing, and `issue_date` is new: the publisher may have renamed it; neither mapped nor ignored: `issue_date`, `story`";
    assert!(renamed.contains(expected), "{renamed}");
}

#[test]
fn column_without_a_value_in_any_record_is_reported() {
    let bytes = b"permit,issued\nA-1, \nA-2,\n";
    let plan = plan_of(&["permit", "issued"]).want_optional("lat", &["latitude"]);
    let decoded = Source::new(bytes, None, normalized(&[]), plan)
        .decode(None)
        .unwrap();
    assert_eq!(
        decoded.columns.has_value,
        [("permit".to_owned(), true), ("issued".to_owned(), false)],
        "a column that the file lacks is not empty"
    );
}

#[test]
fn unnamed_columns_are_ignored_by_an_empty_name() {
    let bytes = b",Permit #,,Issued Date\n0,A-1,x,2024-01-02\n1,A-2,,2024-01-03\n";
    let plan = |ignore: &[&str]| {
        let plan = ColumnPlan::new(ignore.iter().map(|name| (*name).to_owned()).collect());
        plan.want("permit", &["permit"])
            .want("issued", &["issued_date"])
    };
    let source = Source::new(bytes, None, normalized(&[]), plan(&[""]));
    let decoded = source.decode(None).unwrap();
    assert_eq!((decoded.frame.height(), decoded.malformed.len()), (2, 0));
    assert_eq!(cell(&decoded, "issued", 1).as_deref(), Some("2024-01-03"));
    source.assert_round_trip(&decoded);
    assert_eq!(decoded.columns.new, [""; 0]);
    let error = Source::new(bytes, None, normalized(&[]), plan(&[]).closed())
        .decode(None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("column `` occurs twice"), "{error}");
    assert_eq!(
        Source::new(bytes, None, normalized(&[]), plan(&[]))
            .decode(None)
            .unwrap()
            .columns
            .new,
        [""],
        "unknown columns are reported, however often they occur"
    );
    let error = Source::new(
        b"Permit #,permit_\nA,B\n",
        None,
        normalized(&[]),
        plan_of(&["permit"]),
    )
    .decode(None)
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("column `permit` occurs twice"),
        "two names with the same normalised form cannot be distinguished: {error}"
    );
}
