//! Checks memory and lookup time of a state with two million boundary records.

use crate::tax::table::boundaries::*;

/// Uses as many records as the largest published file, with ids of the published length.
#[test]
fn two_million_records_take_under_100_bytes_each_with_fast_lookup() {
    const COUNT: u32 = 2_000_000;
    let mut made = Builder::default();
    for row in 0..COUNT {
        let (zip, first) = (30_000 + row / 2_000, row % 2_000 * 5);
        made.ids
            .push(&format!(
                "tax.boundary:GA:4~2024-01-01~{zip}~{first:04}~{zip}~{:04}~{:03}~{:05}",
                first + 4,
                row % 159,
                row % 700
            ))
            .unwrap();
        made.statuses.push(Some("passed")).unwrap();
        made.rows.push(Row {
            begin: 19_000,
            end: OPEN,
            set: row % 700,
        });
        if row % 2 == 0 {
            made.zip9.push(Span {
                low: zip * 10_000 + first,
                high: zip * 10_000 + first + 4,
                row,
            });
        } else {
            let name = format!("STREET {}", row % 9_973);
            let (low, high) = (first.to_string(), (first + 98).to_string());
            made.addresses
                .push(Record {
                    zip,
                    street: ["", &name, "ST", ""],
                    low: &low,
                    high: &high,
                    parity: Parity::Even,
                    unit: None,
                    row,
                })
                .unwrap();
        }
    }
    // One default range for each ZIP code, and one for the entire state.
    made.zip9.extend((30_000..31_000).map(|zip| Span {
        low: zip * 10_000,
        high: zip * 10_000 + 9_999,
        row: 0,
    }));
    made.zip9.push(Span {
        low: 300_000_000,
        high: 319_999_999,
        row: 0,
    });
    made.addresses.finish();
    let (rows, ids, addresses, zip9) = (
        made.rows,
        made.ids,
        made.addresses,
        IntervalIndex::new(made.zip9),
    );
    // Two bytes for a status and four for the source file are added to each record.
    let bytes = (size_of::<Row>() + 6) * rows.capacity()
        + ids.size_bytes()
        + addresses.size_bytes()
        + zip9.size_bytes();
    assert!(
        bytes / rows.len() < 100,
        "{} bytes for each record",
        bytes / rows.len()
    );
    let started = std::time::Instant::now();
    let found: usize = (0..1_000u32)
        .map(|number| {
            zip9.meeting(300_000_000 + number * 9_999, 300_000_000 + number * 9_999)
                .count()
        })
        .sum();
    assert!((2_000..=3_000).contains(&found), "{found}");
    // The limit is generous, because tests run unoptimised and in parallel with others.
    assert!(
        started.elapsed().as_millis() < 5_000,
        "a thousand lookups took {:?}",
        started.elapsed()
    );
}
