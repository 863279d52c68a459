//! Rows of the tax datasets from lines of the published files, read by their documented columns,
//! and rows of states without such files. Lines are real unless a comment says otherwise.

use serde_json::{Value, json};

use pubdata_testing::project;

/// Minnesota, Wisconsin and Washington in the files of 2026's second quarter; Tennessee, Vermont
/// and Nevada are invented.
const RATES: &str = "\
27,45,27,0.06875,0.06875,0.06875,0.06875,20090701,29991231
27,00,003,0.0025,0.0025,0.0025,0.0025,20171001,29991231
27,00,025,0.0050,0.0050,0.0050,0.0050,20160401,29991231
27,00,037,0.0025,0.0025,0.0025,0.0025,20171001,29991231
27,00,053,0.0015,0.0015,0.0015,0.0015,20070101,29991231
27,00,123,0.0050,0.0050,0.0050,0.0050,20171001,29991231
27,00,147,0.0050,0.0050,0.0050,0.0050,20150401,29991231
27,01,41426,0.0050,0.0050,0.0050,0.0050,20130401,29991231
27,01,43000,0.0050,0.0050,0.0050,0.0050,20051001,29991231
27,01,58000,0.0050,0.0050,0.0050,0.0050,20051001,20240331
27,01,58000,0.0150,0.0150,0.0150,0.0150,20240401,29991231
27,63,80004,0.0050,0.0050,0.0050,0.0050,20171001,29991231
55,45,55,0.05,0.05,0.05,0.05,19800101,99991231
55,00,053,0.005,0.005,0.005,0.005,19870401,99991231
55,00,079,0.005,0.005,0.005,0.005,19910401,20231231
55,00,079,0.009,0.009,0.009,0.009,20240101,99991231
55,00,089,0.005,0.005,0.005,0.005,19910401,99991231
55,00,133,0.0,0.0,0.0,0.0,19800101,99991231
55,63,55501,0.001,0.001,0.001,0.001,19960101,20200331
55,01,53000,0.0,0.0,0.0,0.0,20230918,20231231
55,01,53000,0.02,0.02,0.02,0.02,20240101,99991231
53,45,53,0.06500,0.06500,0.06500,0.06500,19830301,99991231
53,00,051,0.01200,0.01200,0.00000,0.00000,20190401,99991231
53,01,03180,0.02100,0.02100,0.00000,0.00000,20200401,99991231
53,63,L1702,0.03500,0.03500,0.00000,0.00000,20240401,99991231
47,45,47,0.07,0.07,0.04,0.04,20130701,99991231
47,00,037,0.0225,0.0200,,,20000101,99991231
50,45,50,0.06,0.06,0.0,0.0,20031001,99991231
50,01,10675,0.01,0.01,0.0,0.0,20060401,99991231
32,45,32,0.0,0.0,0.0,0.0,20000101,99991231
32,00,003,0.08375,0.08375,0.0,0.0,20200101,99991231
";

/// Minnesota as published, also Washington, and Tennessee's range of addresses; the others are
/// invented.
const BOUNDARIES: &str = "\
z,20161001,20190331,,,,,,,,,,,,,,,55012,,55013,,,27,27,025
z,20161001,20190331,,,,,,,,,,,,,,,55092,,55102,,,27,27,
z,20171001,20190331,,,,,,,,,,,,,,,55103,,55103,,,27,27,123,58000
z,20180401,20190331,,,,,,,,,,,,,,,55104,,55104,,,27,27,123
z,20171001,20190331,,,,,,,,,,,,,,,55401,,55405,,,27,27,053,43000,,,,ST,80004,63
4,20190101,20190331,,,,,,,,,,,,,,,55049,0001,55049,0480,,27,27,147
4,20190101,20190331,,,,,,,,,,,,,,,55049,1100,55049,2302,,27,27,147,41426
4,20190101,20190331,,,,,,,,,,,,,,,55049,9599,55049,9700,,27,27,147,41426
4,20190101,20190331,,,,,,,,,,,,,,,55079,0001,55079,1200,,27,27,003
4,20171001,20190331,,,,,,,,,,,,,,,55033,4512,55033,8200,,27,27,037
4,20190101,20190331,,,,,,,,,,,,,,,55075,5929,55077,7401,,27,27,037
4,20180101,20190331,,,,,,,,,,,,,,,55101,0002,55101,1609,,27,27,123,58000
4,20171001,20190331,,,,,,,,,,,,,,,55101,1610,55101,1610,,27,27,037
Z,20240401,99991231,,,,,,,,,,,,,,,98001,,98001,,09000,53,53,,,,,,ST,L1702,45
Z,20240401,99991231,,,,,,,,,,,,,,,83856,,83856,,02600,53,53,051
Z,20240401,99991231,,,,,,,,,,,,,,,98002,,98002,,,53,53,051
Z,20240401,99991231,,,,,,,,,,,,,,,98002,,98002,,,53,53,,03180,,,,ST,L1702,45
A,20240101,20240331,332,398,E,,NORTHWIND,DR,,,,,,GOODLETTSVILLE,37072,2937,,,,,,47,47,037
4,20240101,99991231,,,,,,,,,,,,,,,37072,0000,37072,9999,,47,47,
A,20060401,99991231,1,999,B,,CHURCH,ST,,,,,,BURLINGTON,05401,,,,,,,50,50,,10675
Z,20200101,99991231,,,,,,,,,,,,,,,89101,,89199,,,32,32,003
";

/// Rows of `tax.rate` of a state, given by its FIPS code.
pub fn rates(state: &str, fips: &str) -> Vec<Value> {
    lines_of(RATES, 0, fips)
        .map(|cells| rate(state, &cells))
        .collect()
}

fn rate(state: &str, cells: &[&str]) -> Value {
    let class = match cells[1] {
        "45" => "state",
        "00" => "county",
        "01" => "city",
        _ => "special",
    };
    let name = match (cells[0], cells[2]) {
        ("55", "53000") => Some("Milwaukee city"),
        ("27", "58000") => Some("St. Paul city"),
        _ => None,
    };
    let fraction = |cell: &str| {
        if cell.is_empty() {
            None
        } else {
            Some(cell.to_owned())
        }
    };
    json!({
        "record_id": format!("tax.rate:{state}:{}:{}:{}", cells[1], cells[2], cells[7]), "state": state, "state_fips": cells[0], "source_id": "test.places_file", "type": class,
        "type_raw": cells[1], "code": cells[2], "name": name, "general_intrastate": fraction(cells[3]), "general_interstate": fraction(cells[4]),
        "food_drug_intrastate": fraction(cells[5]), "food_drug_interstate": fraction(cells[6]), "begin_date": date(cells[7]), "end_date": date(cells[8]),
    })
}

/// Rows of `tax.boundary` of a state, given by its FIPS code.
pub fn boundaries(state: &str, fips: &str) -> Vec<Value> {
    lines_of(BOUNDARIES, 22, fips)
        .enumerate()
        .map(|(number, cells)| boundary(state, number, &cells))
        .collect()
}

fn boundary(state: &str, number: usize, cells: &[&str]) -> Value {
    let cell = |column: usize| {
        cells
            .get(column - 1)
            .copied()
            .filter(|cell| !cell.is_empty())
    };
    let kind = match cells[0] {
        "A" => "address",
        "4" => "zip9",
        _ => "zip5",
    };
    let special = (30..=89)
        .step_by(3)
        .filter_map(|column| Some(format!("{}={}", cell(column + 2)?, cell(column + 1)?)));
    let parity = cell(6).map(|word| match word {
        "O" => "odd",
        "E" => "even",
        _ => "both",
    });
    json!({
        "record_id": format!("tax.boundary:{state}:{number}"), "state": state, "bucket": "0", "source_id": "test.places_file", "boundary_key": format!("{state}:{number}"),
        "record_type": kind, "begin_date": date(cells[1]), "end_date": date(cells[2]), "zip_low": cell(16).or(cell(18)), "zip_high": cell(20), "plus4_low": cell(17).or(cell(19)),
        "plus4_high": cell(21), "number_low": cell(4), "number_high": cell(5), "parity": parity, "predirectional": cell(7), "street": cell(8), "street_suffix": cell(9),
        "postdirectional": cell(10), "city": cell(15), "has_state_tax": cell(24).is_some(), "county_code": cell(25), "place_code": cell(26), "special_codes": special.collect::<Vec<_>>(),
    })
}

fn lines_of(
    text: &'static str,
    column: usize,
    fips: &str,
) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(move |cells| cells[column] == fips)
}

/// The end of an open period is not a date.
fn date(cell: &str) -> Option<String> {
    let is_open = matches!(cell, "29991231" | "99991231");
    (!is_open).then(|| format!("{}-{}-{}", &cell[..4], &cell[4..6], &cell[6..]))
}

/// An invented place of a state that publishes rates by place, with the codes of Texas.
pub fn place(
    state: &str,
    number: usize,
    city: Option<&str>,
    county_fips: Option<&str>,
    place: Option<&str>,
    special: &[&str],
) -> Value {
    json!({
        "record_id": format!("tax.boundary:{state}:{number}"), "state": state, "bucket": "0", "source_id": "test.places_file", "boundary_key": format!("{state}:{number}"), "record_type": "place",
        "begin_date": "2026-01-01", "end_date": null, "city": city, "has_state_tax": true, "county_fips": county_fips, "county_code": county_fips.map(|fips| &fips[2..]), "place_code": place, "special_codes": special,
    })
}

/// A place in a county without its own tax there, as the Comptroller lists Dallas and Addison.
pub fn in_county(mut place: Value, county_fips: &str) -> Value {
    place["county_fips"] = county_fips.into();
    place
}

/// A rate of Texas as published for the third quarter of 2026.
pub fn texas_rate(class: &str, code: &str, name: &str, rate: &str) -> Value {
    json!({
        "record_id": format!("tax.rate:TX:{class}:{code}"), "state": "TX", "state_fips": "48", "source_id": "test.places_file", "type": class, "type_raw": class, "code": code, "name": name,
        "general_intrastate": rate, "begin_date": "2026-01-01",
    })
}

/// A row of `tax.state`.
pub fn rule(state: &str, name: &str, coverage: &str, method: &str, rate: Option<&str>) -> Value {
    json!({
        "record_id": format!("tax.state:{state}"), "state": state, "state_name": name, "coverage": coverage, "method": method, "state_rate": rate,
        "rate_citation": rate.map(|_| format!("statutes of {state}")), "source_page": "https://publisher.example/",
        "effective_date": if method == "boundaries" { None } else { Some("2020-01-01") }, "sourcing": if state == "TX" { "origin" } else { "destination" },
        "sourcing_rule": "where it is", "sourcing_citation": format!("statutes of {state}"), "sourcing_page": null,
        "local_note": if state == "LA" { Some("4.45 percent until 2024; the rate of today is not confirmed") } else { None },
    })
}

/// Rates and places of a state in which only counties tax, from the manually maintained tables: one
/// place per county.
pub fn counties(state: &str, fips: &str) -> (Vec<Value>, Vec<Value>) {
    let rows: Vec<_> = by_hand("pipelines/tax/local_rates.csv")
        .into_iter()
        .filter(|row| row["state"] == state)
        .collect();
    let rate = |row: &serde_json::Map<String, Value>| {
        let (kind, code) = (row["type"].as_str().unwrap(), row["code"].as_str().unwrap());
        json!({
            "record_id": format!("tax.rate:{state}:{kind}:{code}:{}", row["begin_date"].as_str().unwrap()), "state": state, "state_fips": fips, "source_id": "test.places_file",
            "type": if kind == "county" { "county" } else { "special" }, "type_raw": kind, "code": code, "name": row["name"], "general_intrastate": row["rate"], "general_interstate": row["rate"],
            "food_drug_intrastate": row["food_rate"], "food_drug_interstate": row["food_rate"], "begin_date": row["begin_date"], "end_date": row["end_date"],
        })
    };
    let mut codes: Vec<&str> = rows
        .iter()
        .filter(|row| row["type"] == "county")
        .map(|row| row["code"].as_str().unwrap())
        .collect();
    codes.dedup();
    let districts = |county: &str| {
        let has = |row: &&serde_json::Map<String, Value>| {
            row["counties"]
                .as_str()
                .is_some_and(|counties| counties.split(' ').any(|known| known == county))
        };
        let mut codes: Vec<String> = rows
            .iter()
            .filter(has)
            .map(|row| format!("district={}", row["code"].as_str().unwrap()))
            .collect();
        codes.dedup();
        codes
    };
    let place = |(number, code): (usize, &&str)| {
        let special = districts(code);
        let special: Vec<&str> = special.iter().map(String::as_str).collect();
        let mut row = place(
            state,
            number,
            None,
            Some(&format!("{fips}{code}")),
            None,
            &special,
        );
        row["begin_date"] = json!("2013-07-01");
        row
    };
    (
        rows.iter().map(rate).collect(),
        codes.iter().enumerate().map(place).collect(),
    )
}

fn by_hand(path: &str) -> Vec<serde_json::Map<String, Value>> {
    let text = std::fs::read(project(path)).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_slice());
    let names: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let rows = reader.records().map(|record| {
        let record = record.unwrap();
        let cells = names.iter().map(String::as_str).zip(&record);
        cells
            .map(|(name, cell)| {
                (
                    name.to_owned(),
                    if cell.is_empty() {
                        Value::Null
                    } else {
                        json!(cell)
                    },
                )
            })
            .collect()
    });
    rows.collect()
}

/// All rows of `tax.taxability` from the manually maintained tables.
pub fn taxability() -> Vec<Value> {
    let rows = by_hand("pipelines/tax/taxability.csv")
        .into_iter()
        .map(|mut row| {
            let word = |name: &str| row[name].as_str().unwrap_or("undated").to_owned();
            let key = format!(
                "{}:{}:{}:{}",
                word("state"),
                word("class"),
                word("level"),
                word("valid_from")
            );
            row.insert(
                "record_id".to_owned(),
                json!(format!("tax.taxability:{key}")),
            );
            row.insert("rule_key".to_owned(), json!(key));
            Value::Object(row)
        });
    let mut rows: Vec<Value> = rows.collect();
    rows.sort_by_key(|row| row["rule_key"].as_str().unwrap().to_owned());
    rows
}
