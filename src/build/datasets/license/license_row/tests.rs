//! Tests how the words in a row determine a status, a profession and a holder.

use polars::prelude::*;

use super::super::cells::Cells;
use super::super::codes::CodeTable;
use super::*;
use crate::normalise::pointer_column;
use pubdata_core::contract::normalized_word;

const SETTINGS: &str = r#"
source = "s"
board = "b"
licenses = "license.s"
date_formats = ["MM/DD/YYYY"]
name_order = "first_last"
evidence = "registry"
status_basis = "source"
profession_from = ["profession", "license_class"]
number_from = ["type_code", "serial"]
codes = { source = "license.s_types", of = "type_code", code = "prefix", text = "description", kind = "whose" }

[status]
"Hold" = "suspended"
"Current/Lapsed" = "expired"

[profession]
"EC" = "electrician"
"Barber*" = "barber"
"Helper" = "unknown"

[holder_kind]
"Individual" = "person"
"Business" = "organization"
"#;

fn settings(more: &str) -> Settings {
    toml::from_str(&format!("{more}\n{SETTINGS}")).unwrap()
}

fn words(pairs: &[(&str, &str)]) -> Words {
    serde_json::from_value(
        pairs
            .iter()
            .map(|(word, value)| (normalized_word(word), *value))
            .collect(),
    )
    .unwrap()
}

fn frame(columns: &[(&str, &[&str])]) -> DataFrame {
    let height = columns[0].1.len();
    let pointers: Vec<Vec<u64>> = (0..height as u64).map(|row| vec![0, 0, row, 1]).collect();
    let texts = columns
        .iter()
        .map(|(name, cells)| Column::new((*name).into(), *cells));
    DataFrame::new(
        height,
        texts
            .chain([pointer_column(pointers.iter().map(Vec::as_slice))])
            .collect(),
    )
    .unwrap()
}

fn status_of(text: &str, second: &str) -> (Option<String>, &'static str, Vec<String>) {
    let settings = settings("");
    let frame = frame(&[("status", &[text]), ("secondary_status", &[second])]);
    let cells = Cells::new(&frame, &settings).unwrap();
    let words = words(&[
        ("hold", "pending"),
        ("current", "active"),
        ("good standing", "active"),
        ("restrained", "suspended"),
        ("see note", ""),
    ]);
    let mut warnings = Warnings::default();
    let (found, basis) = status(&settings, &words, cells.row(0, None), &mut warnings);
    (found, basis, warnings.unknown_values)
}

#[test]
fn own_table_takes_precedence_over_the_shared_vocabulary() {
    let known = |status: &str, basis| (Some(status.to_owned()), basis, Vec::new());
    assert_eq!(status_of("HOLD", ""), known("suspended", "source"));
    assert_eq!(
        status_of("CURRENT", ""),
        known("active", "shared_vocabulary")
    );
    assert_eq!(status_of("Current", "Lapsed"), known("expired", "source"));
    assert_eq!(
        status_of("Current", "Good Standing"),
        known("active", "shared_vocabulary")
    );
    assert_eq!(status_of("See Notes", ""), known("unknown", "source"));
    assert_eq!(status_of("", ""), known("unknown", "source"));
}

#[test]
fn unknown_status_is_kept_as_published() {
    let unknown = |word: &str| {
        (
            Some("unknown".to_owned()),
            "source",
            vec![format!("status={word}")],
        )
    };
    assert_eq!(status_of("Zzz", ""), unknown("Zzz"));
    assert_eq!(
        status_of("Current", "Restrained"),
        unknown("Current/Restrained")
    );
    assert_eq!(status_of("Current", "Zzz"), unknown("Current/Zzz"));
}

fn profession_of(
    more: &str,
    [code, text, class]: [&str; 3],
) -> (String, Option<&'static str>, Vec<String>) {
    let settings = settings(more);
    let types = frame(&[
        ("prefix", &["PHA", "RN", "EC", "PP", "PP", "QQ", "QQ"]),
        (
            "description",
            &[
                "Pharmacist",
                "Barber Shop",
                "Plumber",
                "Pharmacist",
                "Pharmacists",
                "Pharmacist",
                "Plumber",
            ],
        ),
        (
            "whose",
            &[
                "Individual",
                "Individual",
                "Business",
                "Individual",
                "Individual",
                "Individual",
                "Business",
            ],
        ),
    ]);
    let table = CodeTable::new(
        Cells::new(&types, &settings).unwrap(),
        settings.codes.as_ref().unwrap(),
    );
    let frame = frame(&[
        ("type_code", &[code]),
        ("profession", &[text]),
        ("license_class", &[class]),
    ]);
    let cells = Cells::new(&frame, &settings).unwrap();
    let row = cells.row(0, None);
    let words = words(&[
        ("pharmacist", "pharmacist"),
        ("plumber", "plumber"),
        ("rn", "nurse_rn"),
        ("none of ours", ""),
    ]);
    let mut warnings = Warnings::default();
    let (profession, basis) = profession(
        &settings,
        &words,
        row,
        &table.code(row, &settings),
        &mut warnings,
    );
    (profession, basis, warnings.unknown_values)
}

#[test]
fn code_table_determines_the_profession() {
    let known = |profession: &str, basis| (profession.to_owned(), Some(basis), Vec::new());
    assert_eq!(
        profession_of("", ["EC", "EC", ""]),
        known("electrician", "declared"),
        "a code in the list's own table"
    );
    assert_eq!(
        profession_of("", ["rn", "rn", ""]),
        known("barber", "declared"),
        "its text in the list's own table"
    );
    assert_eq!(
        profession_of("", ["PHA", "PHA", ""]),
        known("pharmacist", "shared_vocabulary")
    );
    assert_eq!(
        profession_of("", ["PP", "PP", ""]),
        known("pharmacist", "shared_vocabulary"),
        "two texts of one meaning"
    );
    let unknown = |value: &str| {
        (
            "unknown".to_owned(),
            None,
            vec![format!("profession={value}")],
        )
    };
    assert_eq!(
        profession_of("", ["QQ", "QQ", ""]),
        unknown("Pharmacist, Plumber")
    );
    assert_eq!(profession_of("", ["ZZ", "ZZ", "Zzz"]), unknown("ZZ, Zzz"));
}

#[test]
fn own_columns_come_before_the_vocabulary_and_it_before_the_default() {
    let known = |profession: &str, basis| (profession.to_owned(), basis, Vec::<String>::new());
    assert_eq!(
        profession_of("", ["", "Plumber", "Barber, Class A"]),
        known("barber", Some("declared"))
    );
    assert_eq!(
        profession_of("", ["", "None of Ours", "PLUMBERS"]),
        known("plumber", Some("shared_vocabulary"))
    );
    assert_eq!(
        profession_of("", ["", "None of Ours", ""]),
        known("unknown", None)
    );
    assert_eq!(
        profession_of("", ["", "Helper", "Plumber"]),
        known("unknown", None),
        "declared as unknown"
    );
    let default = "profession_default = \"other\"";
    assert_eq!(
        profession_of(default, ["", "Plumber", ""]),
        known("plumber", Some("shared_vocabulary"))
    );
    assert_eq!(
        profession_of(default, ["", "Zzz", ""]),
        known("other", Some("declared"))
    );
}

#[test]
fn code_table_determines_the_kind_of_holder() {
    let settings = settings("");
    let types = frame(&[
        ("prefix", &["RN", "EC", "OUT", "QQ", "QQ"]),
        ("description", &["", "", "", "", ""]),
        (
            "whose",
            &["Individual", "Business", "Either", "Individual", "Business"],
        ),
    ]);
    let table = CodeTable::new(
        Cells::new(&types, &settings).unwrap(),
        settings.codes.as_ref().unwrap(),
    );
    let frame = frame(&[
        ("type_code", &["RN", "ec", "OUT", "QQ", "ZZ"]),
        ("holder_name", &["SUE S SAMPLE"; 5]),
    ]);
    let cells = Cells::new(&frame, &settings).unwrap();
    let party = |row: usize| {
        let row = cells.row(row, None);
        holder(row, &settings, None, table.code(row, &settings).kind())
            .unwrap()
            .party
    };
    assert_eq!(
        [0, 1, 2, 3, 4].map(party),
        [Some("person"), Some("organization"), None, None, None]
    );
}

#[test]
fn holder_without_last_name_is_an_organization() {
    let settings = settings("without_last_name = \"organization\"");
    let frame = frame(&[
        (
            "holder_name",
            &["ROBERT L SAMPLEY SR", "FAKETOWN CAREER CENTER"],
        ),
        ("last_name", &["SAMPLEY", ""]),
    ]);
    let cells = Cells::new(&frame, &settings).unwrap();
    let [one, other] =
        [0, 1].map(|row| holder(cells.row(row, None), &settings, None, None).unwrap());
    assert_eq!(
        (
            one.party,
            one.person.unwrap().first.as_str(),
            one.name.as_str()
        ),
        (Some("person"), "ROBERT", "ROBERT L SAMPLEY SR")
    );
    assert_eq!(
        (other.party, other.person, other.name.as_str()),
        (Some("organization"), None, "FAKETOWN CAREER CENTER")
    );
}

#[test]
fn placeholders_are_no_values_and_are_reported() {
    let settings = settings("");
    let frame = frame(&[
        ("number", &["=========", "C123"]),
        ("type_code", &["EC", "EC"]),
        ("serial", &["000077", ""]),
        ("dba", &["INDIVIDUAL", "NA"]),
        ("county", &["Out of State", "Nassau"]),
        ("last_name", &["Na", "Same"]),
    ]);
    let cells = Cells::new(&frame, &settings).unwrap();
    let row = cells.row(0, None);
    assert_eq!(
        (row.text("dba"), row.text("county"), row.text("last_name")),
        (None, None, Some("Na"))
    );
    assert_eq!(
        number(&settings, row).as_deref(),
        Some("EC000077"),
        "a placeholder is no number"
    );
    assert_eq!(
        number(&settings, cells.row(1, None)).as_deref(),
        Some("C123")
    );
    let found = |row| {
        cells
            .row(row, None)
            .placeholders()
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(
        found(0),
        [
            ("county", "Out of State"),
            ("dba", "INDIVIDUAL"),
            ("number", "=========")
        ]
        .into()
    );
    assert_eq!(found(1), [("dba", "NA")].into());
}

#[test]
fn placeholder_in_one_of_several_licenses_counts_for_that_one_only() {
    let settings = settings("");
    let frame = frame(&[
        ("number_1", &["X"]),
        ("number_2", &["A1"]),
        ("city", &["N/A"]),
    ]);
    let cells = Cells::new(&frame, &settings).unwrap();
    let read = |repeat| {
        (
            cells.row(0, Some(repeat)).text("number"),
            cells.row(0, Some(repeat)).placeholders().count(),
        )
    };
    assert_eq!((read(1), read(2)), ((None, 2), (Some("A1"), 1)));
}
