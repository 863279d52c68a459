//! Guesses, checks, runs and publishes four manually written layouts that no declared city has, and
//! lists the open decisions.

use super::{Served, begin, new};

const SPRINGFIELD: &str =
    "https://data.springfield.example.org/api/views/abcd-1234/rows.csv?accessType=DOWNLOAD";

/// Returns a portal's export. Row 7 has an unknown type and row 5 an unknown status; owners are
/// persons.
fn springfield() -> String {
    let mut text =
        "Record Number,Permit Type,Work Description,Current Status,Application Date,Issue Date,Finaled Date,Project Value,Site Address,Site City,Site Zip,\
                    Latitude,Longitude,Owner Name,Contractor Company Name,Contractor Phone,Inspector\n"
            .to_owned();
    for number in 1..=40 {
        let (kind, status) = match number % 4 {
            0 => ("Electrical", "Issued"),
            1 => ("Plumbing", "Expired"),
            2 => ("Mechanical", "Issued"),
            _ => ("Demolition", "Withdrawn"),
        };
        let (kind, status) = (
            if number == 7 { "Moat" } else { kind },
            if number == 5 { "Teleported" } else { status },
        );
        let day = number % 28 + 1;
        text.push_str(&format!(
            "SPR-2025-{number:05},{kind},\"Work, no. {number}\",{status},01/{day:02}/2025,02/{day:02}/2025,,\"$1,{number:03}.50\",{number} Oak St,Springfield,62701,\
             39.78{number:04},-89.65{number:04},Ann Realowner{number},\"Real & Sons, Inc.\",217-555-0142,Pat Inspector\n"
        ));
    }
    text
}

#[test]
fn city_goes_from_its_file_to_an_answer_by_commands_alone() {
    let started = begin(
        "us-il-springfield",
        SPRINGFIELD,
        springfield().as_bytes(),
        &[
            "--publisher",
            "City of Springfield",
            "--licence",
            "Public domain",
        ],
    );
    for (ours, theirs) in [
        ("permit_number", "Record Number"),
        ("type", "Permit Type"),
        ("status", "Current Status"),
        ("applied_date", "Application Date"),
        ("issued_date", "Issue Date"),
        ("line1", "Site Address"),
        ("city", "Site City"),
        ("zip", "Site Zip"),
        ("job_value", "Project Value"),
        ("lat", "Latitude"),
        ("lon", "Longitude"),
        ("description", "Work Description"),
    ] {
        assert_eq!(started.column(ours), theirs, "{ours}: {:#}", started.report);
    }
    assert_eq!(started.column("owner_name"), "");
    assert_eq!(
        (
            &started.report["evidence"],
            &started.report["trial"]["outcome"]
        ),
        (&"file".into(), &"built".into()),
        "{:#}",
        started.report
    );
    let open = started.decisions();
    for said in [
        "\"Teleported\" = \"…\"; 1 row",
        "\"Moat\" = \"…\"; 1 row",
        "cadence: how often",
        "covers",
        "it is empty in all rows",
    ] {
        assert!(open.contains(said), "{said}: {open}");
    }
    assert!(
        !open.contains("publisher:") && !open.contains("licence:"),
        "{open}"
    );
    let text = started.declaration();
    for line in [
        "# decide: \"Teleported\" = \"…\"",
        "dates = [\"month_day_year\"]",
        "evidence = { kind = \"file\"",
        "\"Issued\" = \"active\"  # so in ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    started.check().expect(0);
    started.run("publisher").expect(0);
    let rows = started.published("type");
    assert_eq!(rows.len(), 40);
    let number = "SPR-2025-00004";
    for (column, expected) in [
        ("type", "electrical"),
        ("status", "active"),
        ("applied_date", "2025-01-05"),
        ("issued_date", "2025-02-05"),
        ("zip", "62701"),
        ("state", "IL"),
        ("description", "Work, no. 4"),
    ] {
        assert_eq!(started.value(number, column), expected, "{column}");
    }
    assert_eq!(started.value(number, "job_value"), 1004.5);
    assert_eq!(started.value("SPR-2025-00005", "status"), "unknown");
    assert_eq!(started.value("SPR-2025-00007", "type"), "unknown");
    let mut served = Served::start(&started);
    let answer = served.get("/v1/permits/search?jurisdiction=us-il-springfield&type=plumbing");
    let numbers: Vec<&str> = answer["data"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer:#}"))
        .iter()
        .map(|permit| permit["permit_number"].as_str().unwrap())
        .collect();
    assert_eq!(numbers.len(), 10, "every fourth row of forty: {answer:#}");
    assert!(numbers.contains(&"SPR-2025-00001"), "{numbers:?}");
}

#[test]
fn fixture_contains_no_names_of_persons_and_is_publishable() {
    let started = begin(
        "us-il-springfield",
        SPRINGFIELD,
        springfield().as_bytes(),
        &[],
    );
    let fixture = String::from_utf8(started.fixture()).unwrap();
    assert!(
        fixture.starts_with("Record Number,Permit Type,"),
        "{fixture}"
    );
    for real in [
        "Realowner",
        "Real &",
        "555-0142",
        "Pat Inspector",
        "Oak St",
        "SPR-2025-00001",
        "39.780001",
    ] {
        assert!(!fixture.contains(real), "{real}: {fixture}");
    }
    assert!(
        fixture.contains("Teleported") || fixture.contains("Moat") || fixture.contains("Issued"),
        "{fixture}"
    );
    let files: Vec<&str> = started.report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file.as_str().unwrap())
        .collect();
    assert_eq!(
        files[..3],
        [
            "pipelines/permit/springfield.toml",
            "fixtures/permit/springfield/basic/CASE.md",
            "fixtures/permit/springfield/basic/source/.pubdata-mirror"
        ]
    );
    started.run("fixture").expect(0);
    let numbers: Vec<String> = started
        .published("status")
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    assert!(
        numbers.len() >= 3 && numbers.iter().all(|number| number.starts_with("SPR-0000-")),
        "{numbers:?}"
    );
}

/// A map layer's export: plane coordinates in the first columns, days with slashes and a time zone,
/// and the address in parts.
#[test]
fn export_of_a_map_layer_is_read() {
    let mut text =
        "\u{feff}X,Y,OBJECTID,PERMIT_NO_,PERMIT_TYPE,PERMIT_STATUS,ISSUED_DATE,STREET_NUMBER,STREET_NAME,STREET_SUFFIX,ZIP_CODE,EST_COST,GlobalID\r\n"
            .to_owned();
    for number in 1..=20 {
        let status = if number % 2 == 0 { "Issued" } else { "Void" };
        text.push_str(&format!("613{number:04}.12,455{number:04}.9,{number},B{number:06},Electrical,{status},2024/11/{number:02} 05:00:00+00,{number},ELM,AVE,49684,{number}000,{{A-{number}}}\r\n"));
    }
    let url = "https://hub.traverse.example.org/datasets/permits.csv";
    let started = begin("us-mi-traverse_city", url, text.as_bytes(), &[]);
    assert_eq!(
        (
            started.column("lat"),
            started.column("house_number"),
            started.column("street_name")
        ),
        ("", "STREET_NUMBER", "STREET_NAME"),
        "{:#}",
        started.report
    );
    assert!(
        started
            .declaration()
            .contains("line1 = [\"house_number\", \"street_name\", \"street_suffix\"]"),
        "{}",
        started.declaration()
    );
    started.check().expect(0);
    started.run("publisher").expect(0);
    for (column, expected) in [
        ("issued_date", "2024-11-06"),
        ("type", "electrical"),
        ("status", "active"),
        ("jurisdiction_name", "Traverse City"),
    ] {
        assert_eq!(started.value("B000006", column), expected, "{column}");
    }
    assert_eq!(
        started.value("B000006", "lat"),
        serde_json::Value::Null,
        "plane coordinates are not degrees"
    );
    assert_eq!(started.value("B000007", "status"), "inactive");
    begin("us-mi-traverse_city", url, text.as_bytes(), &[])
        .run("fixture")
        .expect(0);
}

#[test]
fn json_records_with_missing_attributes_are_read() {
    let record = |number: u32| {
        let finaled = if number > 4 {
            "\"final_date\":\"2025-06-01T00:00:00.000\","
        } else {
            ""
        };
        let status = if number > 4 { "Finaled" } else { "Issued" };
        format!(
            "{{\"permitnum\":\"T{number}\",\"permittype\":\"Plumbing\",\"status\":\"{status}\",\"issueddate\":\"2025-05-{number:02}T00:00:00.000\",{finaled}\
             \"address\":\"{number} MAIN ST\",\"valuation\":\"{number}00\",\"applicant\":\"Bo Person\",\
             \"geo\":{{\"type\":\"Point\",\"coordinates\":[-71.4,41.8]}}}}"
        )
    };
    let text = format!("[{}]", (1..=9).map(record).collect::<Vec<_>>().join("\n,"));
    let url = "https://data.warwick.example.org/resource/wxyz-9876.json";
    let started = begin("us-ri-warwick", url, text.as_bytes(), &[]);
    assert_eq!(
        (
            started.column("completed_date"),
            started.column("job_value")
        ),
        ("final_date", "valuation"),
        "{:#}",
        started.report
    );
    assert!(
        started
            .declaration()
            .contains("optional_columns = [\"completed_date\"]"),
        "{}",
        started.declaration()
    );
    assert!(
        started
            .decisions()
            .contains("source.url: an interface gives so many records at once"),
        "{}",
        started.decisions()
    );
    started.check().expect(0);
    started.run("publisher").expect(0);
    assert_eq!(
        (
            started.value("T6", "completed_date"),
            started.value("T6", "status")
        ),
        ("2025-06-01".into(), "final".into())
    );
    assert_eq!(
        (
            started.value("T2", "completed_date"),
            started.value("T2", "issued_date")
        ),
        (serde_json::Value::Null, "2025-05-02".into())
    );
    let again = begin("us-ri-warwick", url, text.as_bytes(), &[]);
    assert!(
        !String::from_utf8(again.fixture())
            .unwrap()
            .contains("Bo Person")
    );
    again.run("fixture").expect(0);
    assert_eq!(
        (again.value("T2", "status"), again.value("T3", "status")),
        ("active".into(), "final".into())
    );
}

/// Semicolons, windows-1252, and no day above 12: only an operator knows which number is the month.
#[test]
fn ambiguous_dates_are_left_to_the_operator() {
    let mut bytes = b"Permit No;Status;Permit Type;Issued;Address;Description\r\n".to_vec();
    for number in 1..=11 {
        bytes.extend_from_slice(
            format!("P{number};Issued;Electrical;03/{number:02}/2025;{number} RUE ST;Caf")
                .as_bytes(),
        );
        bytes.extend_from_slice(b"\xe9\r\n");
    }
    let url = "https://files.example.org/permits.txt";
    let started = begin("us-la-lafayette", url, &bytes, &[]);
    assert_eq!(started.column("issued_date"), "", "{:#}", started.report);
    let open = started.decisions();
    assert!(
        open.contains("source.columns.issued_date: `issued`: `issued_date`?")
            && open.contains("the month or the day first"),
        "{open}"
    );
    assert!(
        started
            .declaration()
            .contains("encoding = \"windows-1252\""),
        "{}",
        started.declaration()
    );
    started.check().expect(0);
    started.run("publisher").expect(0);
    assert_eq!(
        (
            started.value("P4", "issued_date"),
            started.value("P4", "description")
        ),
        (serde_json::Value::Null, "Café".into())
    );
    new(
        &started.place,
        "us-la-lafayette",
        url,
        &["--month-first", "--force"],
    )
    .expect(0);
    started.run("publisher").expect(0);
    assert_eq!(started.value("P4", "issued_date"), "2025-03-04");
}

/// Only the beginning of a long file is inspected; expectations for the whole are estimated from
/// its size.
#[test]
fn beginning_of_a_long_file_is_enough() {
    let mut text = "Permit Number,Permit Type,Status,Issue Date,Address\n".to_owned();
    for number in 0..60_000 {
        text.push_str(
            &format!(
                "L-{number:06},Electrical,Issued,2024-{:02}-{:02},{number} Long Meadow Road,\n",
                number % 12 + 1,
                number % 28 + 1
            )
            .replace(",\n", "\n"),
        );
    }
    let started = begin(
        "us-vt-barre",
        "https://data.barre.example.org/all.csv",
        text.as_bytes(),
        &[],
    );
    assert_eq!(
        (
            &started.report["evidence"],
            &started.report["is_whole"],
            &started.report["records"]
        ),
        (&"excerpt".into(), &false.into(), &20_000.into())
    );
    let open = started.decisions();
    let floor = open.lines().find(|line| line.contains("min_rows")).unwrap();
    let rows: u64 = floor
        .split("about ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        (58_000..62_000).contains(&rows) && floor.contains("estimated"),
        "{floor}"
    );
    started.run("publisher").expect(0);
    assert_eq!(started.published("status").len(), 60_000);
}

/// An operator decides by removing the comment mark and writing the meaning of the word.
#[test]
fn words_with_quotes_and_line_breaks_become_valid_lines() {
    let (kind, status) = (
        "\"\"\"Old\"\" Building\"\"\nwith a \\ and '''\"",
        "\"\"\"Sent back\"\"\r\ntwice\"",
    );
    let text = springfield()
        .replacen(",Moat,", &format!(",{kind},"), 1)
        .replacen(",Teleported,", &format!(",{status},"), 1);
    let started = begin(
        "us-il-springfield",
        SPRINGFIELD,
        text.as_bytes(),
        &[
            "--publisher",
            "City \"S\"\nof Springfield",
            "--licence",
            "Public domain",
        ],
    );
    let (mut table, mut decided) = (String::new(), 0);
    let text = started.declaration();
    let lines = text.lines().map(|line| {
        if line.starts_with("[settings.") {
            table = line.to_owned();
        }
        let word = line
            .strip_prefix("# decide: ")
            .and_then(|line| line.split_once(" = \"…\"; "));
        let Some((word, _)) = word.filter(|(word, _)| word.starts_with('"')) else {
            return line.to_owned();
        };
        decided += 1;
        format!(
            "{word} = {}",
            if table == "[settings.type]" {
                "\"electrical\""
            } else {
                "\"active\""
            }
        )
    });
    let lines: Vec<String> = lines.collect();
    assert!(decided >= 2, "{lines:#?}");
    let declaration = started
        .folder
        .join(started.report["files"][0].as_str().unwrap());
    std::fs::write(declaration, lines.join("\n")).unwrap();
    started.check().expect(0);
}
