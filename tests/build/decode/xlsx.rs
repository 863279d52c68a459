//! Decodes sheets of workbooks: every storage form of a text cell, and harmful workbooks.

use proptest::prelude::*;
use pubdata_core::pipeline::Format;

use super::{Source, places, plan_of};
use pubdata_testing::project;
use pubdata_testing::publisher::archive;

const SHEET: &str = "xl/worksheets/sheet1.xml";
const SHARED: &str = "xl/sharedStrings.xml";

fn sheet(rows: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\r\n<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>{rows}</sheetData></worksheet>"
    )
}

fn shared(items: &str) -> String {
    format!(
        "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">{items}</sst>"
    )
}

fn workbook(sheet: &str, shared: Option<&str>) -> Source {
    let mut members = vec![(SHEET, sheet.as_bytes())];
    members.extend(shared.map(|shared| (SHARED, shared.as_bytes())));
    Source::new(
        &archive(&members),
        Some(SHEET),
        Format::Xlsx,
        plan_of(&["a", "b"]),
    )
}

const HEADER: &str = "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>a</t></is></c><c r=\"B1\" t=\"inlineStr\"><is><t> b </t></is></c></row>";

fn cells(source: &Source) -> Vec<[Option<String>; 2]> {
    let decoded = source.decode(None).unwrap();
    source.assert_round_trip(&decoded);
    let column = |name: &str| decoded.frame.column(name).unwrap().str().unwrap().clone();
    let (a, b) = (column("a"), column("b"));
    a.iter()
        .zip(b.iter())
        .map(|(a, b)| [a.map(str::to_owned), b.map(str::to_owned)])
        .collect()
}

#[test]
fn cell_is_its_displayed_text_in_every_storage_form() {
    let items = "<si><t>00501</t></si><si><r><t xml:space=\"preserve\">Holts</t></r><r><rPr><b/></rPr><t>ville &amp; so</t></r><rPh sb=\"0\" eb=\"1\"><t>reading</t></rPh></si><si/>";
    let rows = [
        "<row r=\"2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"B2\" t=\"s\"><v>1</v></c></row>",
        "<row r=\"3\"><c r=\"B3\" t=\"str\"><f>A1&amp;A2</f><v>from a formula</v></c></row>",
        "<row><c><v>501</v></c><c t=\"b\"><v>1</v></c></row>",
        "<row r=\"5\"><c r=\"A5\" t=\"inlineStr\"><is><r><t>two</t></r><r><t> runs</t></r><rPh sb=\"0\" eb=\"1\"><t>reading</t></rPh></is></c><c r=\"B5\" s=\"3\"/><c r=\"C5\" s=\"3\"/></row>",
        "<row r=\"6\"/><row r=\"7\" spans=\"1:2\"><c r=\"A7\" t=\"s\"><v>2</v></c></row>",
    ];
    let expected = [
        ["00501", "Holtsville & so"],
        ["", "from a formula"],
        ["501", "1"],
        ["two runs", ""],
    ];
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let found = cells(&workbook(
        &sheet(&format!("{HEADER}{}", rows.concat())),
        Some(&shared(items)),
    ));
    assert_eq!(found[..4], expected.map(|row| row.map(some)));
    // An empty shared text is an empty cell.
    assert_eq!(found[4..], [[None, None]]);
}

#[test]
fn unreadable_row_is_quarantined_with_its_bytes() {
    let rows = [
        (
            "<row r=\"2\"><c r=\"A2\" t=\"s\"><v>7</v></c></row>",
            "cell A2 names the shared text `7`, of 0",
        ),
        (
            "<row r=\"3\"><c r=\"A3\" t=\"e\"><v>#N/A</v></c></row>",
            "cell A3 holds the error `#N/A`",
        ),
        (
            "<row r=\"4\"><c r=\"A4\" t=\"z\"><v>x</v></c></row>",
            "cell A4 is of the unknown type `z`",
        ),
        (
            "<row r=\"5\"><c r=\"C5\"><v>1</v></c></row>",
            "the row has 3 cells, the header has 2",
        ),
        (
            "<row r=\"6\"><c r=\"B6\"><v>1</v></c><c r=\"A6\"><v>1</v></c></row>",
            "cell A6 stands behind others of its row that come after it",
        ),
        (
            "<row r=\"7\"><c r=\"7A\"><v>1</v></c></row>",
            "`7A` is no name of a cell",
        ),
        (
            "<row r=\"8\"><c r=\"ZZZ8\"><v>1</v></c></row>",
            "more than 16384 columns",
        ),
    ];
    let all: String = rows.iter().map(|(row, _)| *row).collect();
    let source = workbook(
        &sheet(&format!(
            "{HEADER}{all}<row r=\"9\"><c r=\"A9\"><v>1</v></c></row>"
        )),
        None,
    );
    let decoded = source.decode(None).unwrap();
    source.assert_round_trip(&decoded);
    assert_eq!(decoded.frame.height(), 1);
    let found: Vec<(&str, &str)> = decoded
        .malformed
        .iter()
        .map(|malformed| (malformed.source_text.as_str(), malformed.detail.as_str()))
        .collect();
    assert_eq!(found, rows);
}

#[test]
fn workbook_without_a_valid_sheet_is_refused() {
    let refused = |sheet: &str, shared: Option<&str>| {
        workbook(sheet, shared)
            .decode(None)
            .unwrap_err()
            .to_string()
    };
    for (sheet, problem) in [
        (sheet(""), "the sheet has no rows"),
        (
            "<chartsheet/>".to_owned(),
            "is a `chartsheet`, not a worksheet",
        ),
        (
            "<worksheet/>".to_owned(),
            "the worksheet has no `sheetData`",
        ),
        (
            "<!DOCTYPE x [<!ENTITY e \"e\">]><worksheet/>".to_owned(),
            "a document type declaration",
        ),
        (
            sheet("<row><c t=\"inlineStr\"><is><t>a</t></is></c></row>"),
            "`b` is missing",
        ),
        (sheet(&format!("{HEADER}<row>")), "ill-formed document"),
    ] {
        let message = refused(&sheet, None);
        assert!(message.contains(problem), "{message}");
    }
    let message = refused(&sheet(HEADER), Some("<sst><si>"));
    assert!(message.contains(SHARED), "{message}");
}

#[test]
fn long_text_with_many_references_does_not_fill_the_memory() {
    // The text has many digits, so the archive itself passes the growth limit.
    let items = format!(
        "<si><t>{}</t></si>",
        (0..20_000)
            .map(|number| (number * 7_919).to_string())
            .collect::<String>()
    );
    let rows: String = (2..2_002)
        .map(|number| format!("<row r=\"{number}\"><c r=\"A{number}\" t=\"s\"><v>0</v></c></row>"))
        .collect();
    let message = workbook(&sheet(&format!("{HEADER}{rows}")), Some(&shared(&items)))
        .decode(None)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("more than the bytes declared as the maximum"),
        "{message}"
    );
}

#[test]
fn every_row_of_the_fixture_leads_back_to_its_bytes() {
    let path = project(
        "fixtures/zip/zip/basic/source/data.hrsa.gov/DataDownload/GeoCareNavigator/ZIP%20Code%20to%20ZCTA%20Crosswalk.xlsx",
    );
    let columns = [
        "ZIP_CODE",
        "PO_NAME",
        "STATE",
        "ZIP_TYPE",
        "zcta",
        "zip_join_type",
    ];
    let source = Source::new(
        &std::fs::read(path).unwrap(),
        Some(SHEET),
        Format::Xlsx,
        plan_of(&columns),
    );
    let decoded = source.decode(None).unwrap();
    source.assert_round_trip(&decoded);
    assert_eq!(decoded.frame.height(), places(&decoded.frame).len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_sheet_is_read_or_refused(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), in_shared in any::<bool>()) {
        let sheet = sheet(&format!("{HEADER}<row r=\"2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"B2\" t=\"inlineStr\"><is><t>é</t></is></c></row><row r=\"3\"><c r=\"B3\"><v>1</v></c></row>"));
        let shared = shared("<si><t>00501</t></si>");
        let mut parts = [sheet.into_bytes(), shared.into_bytes()];
        for (index, byte) in changes {
            let part = &mut parts[usize::from(in_shared)];
            let at = index.index(part.len());
            part[at] = b"<>/&\"= sArc01"[usize::from(byte) % 13];
        }
        let bytes = archive(&[(SHEET, &parts[0]), (SHARED, &parts[1])]);
        let source = Source::new(&bytes, Some(SHEET), Format::Xlsx, plan_of(&["a", "b"]));
        if let Ok(decoded) = source.decode(None) {
            source.assert_round_trip(&decoded);
        }
    }
}
