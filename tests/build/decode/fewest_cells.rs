use pubdata_core::pipeline::Format;

use super::{Source, delimited, plan_of};

/// Columns of the Florida department's license files, which have no header line.
const COLUMNS: usize = 22;

fn source(rows: &[usize]) -> Source {
    let names: Vec<String> = (1..=COLUMNS).map(|number| format!("c{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut format = delimited(',', true, &names);
    if let Format::Delimited { fewest_cells, .. } = &mut format {
        *fewest_cells = Some(COLUMNS - 1);
    }
    let row = |cells: &usize| {
        (1..=*cells)
            .map(|number| format!("\"v{number}\""))
            .collect::<Vec<_>>()
            .join(",")
    };
    let text = rows.iter().map(row).collect::<Vec<_>>().join("\r\n");
    Source::new(
        text.as_bytes(),
        None,
        format,
        plan_of(&["c1", "c21", "c22"]),
    )
}

#[test]
fn row_may_lack_its_last_cells_down_to_the_declared_minimum() {
    let source = source(&[22, 21, 20, 21, 23]);
    let decoded = source.decode(None).unwrap();
    let cells = |name: &str| {
        decoded
            .frame
            .column(name)
            .unwrap()
            .str()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(cells("c21"), [Some("v21"); 3]);
    assert_eq!(cells("c22"), [Some("v22"), None, None]);
    let malformed: Vec<&str> = decoded
        .malformed
        .iter()
        .map(|malformed| malformed.detail.as_str())
        .collect();
    assert_eq!(
        malformed,
        [
            "the record has 20 cells, the header has 22",
            "the record has 23 cells, the header has 22"
        ]
    );
    source.assert_round_trip(&decoded);
}
