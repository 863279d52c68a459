//! Checks licenses: withheld values, quarantined rows, and the day on which a license is active.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_store::Record;
use serde_json::{Value, json};

use pubdata_testing::{Place, files_below, members};

const LICENSE: &str = "license.license";

/// Source columns of the fixtures that hold streets, telephones of persons, numbers of bonds and
/// policies, and tax numbers.
const WITHHELD: &[&str] = &[
    "address",
    "address1",
    "addressline1",
    "address_1",
    "business_address_line1",
    "mailing_address_line1",
    "mailingaddress",
    "provider_first_line_business_practice_location_address",
    "cbnumber",
    "wcpolicynumber",
    "bondaccountid",
    "insurancepolicyno",
    "employer_identification_number_ein",
    "fax_number",
];

fn license_place() -> Place {
    let place = Place::new();
    place.run(&["license"]).expect(0);
    place
}

/// Returns the sources of all license fixtures as rows by normalised column name.
fn source_rows(place: &Place) -> Vec<BTreeMap<String, String>> {
    let mut rows = Vec::new();
    for file in files_below(&place.mirror()) {
        let path = file.to_str().unwrap().to_owned();
        let text = match file.extension().and_then(|extension| extension.to_str()) {
            Some("zip") if path.contains("NPPES") => members(&file).into_values().next().unwrap(),
            _ if [
                "tdlr",
                "data.wa.gov",
                "ngch-56tr",
                "7s5z-vewr",
                "g77e-6bhs",
                "w7w3-xahh",
            ]
            .iter()
            .any(|part| path.contains(part)) =>
            {
                std::fs::read_to_string(&file).unwrap()
            }
            _ => continue,
        };
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(text.as_bytes());
        let header: Vec<String> = reader
            .headers()
            .unwrap()
            .iter()
            .map(pubdata_core::pipeline::normalized_name)
            .collect();
        rows.extend(reader.records().map(|record| {
            header
                .iter()
                .cloned()
                .zip(record.unwrap().iter().map(str::to_owned))
                .collect()
        }));
    }
    rows
}

#[test]
fn streets_and_telephones_of_persons_are_absent_from_releases() {
    let place = license_place();
    let licenses = place.rows(LICENSE);
    let published: String = licenses
        .values()
        .chain(place.rows("license.action").values())
        .map(|(record, _)| format!("{}\n", json!(record)))
        .collect();
    let rows = source_rows(&place);
    assert!(rows.len() > 60, "the sources exist: {}", rows.len());
    let mut withheld = BTreeSet::new();
    for row in &rows {
        withheld.extend(
            WITHHELD
                .iter()
                .filter_map(|column| row.get(*column))
                .filter(|cell| cell.len() > 5)
                .cloned(),
        );
    }
    assert!(withheld.len() > 20, "{withheld:?}");
    for cell in &withheld {
        assert!(!published.contains(cell.as_str()), "`{cell}` is published");
    }
    assert!(
        !published.contains('@')
            || published.matches('@').count()
                == published.matches("ONE STOP @ ATELIEROLAND").count(),
        "an e-mail address is published"
    );
    for (record, _) in licenses.values() {
        let is_organization = record["holder_type"] == "organization";
        assert!(is_organization || record["phone"].is_null(), "{record:?}");
    }
    let phones: BTreeSet<&str> = licenses
        .values()
        .filter_map(|(record, _)| record["phone"].as_str())
        .collect();
    for number in [
        "5125550101",
        "7185550102",
        "5415550102",
        "5415550103",
        "5185550101",
        "5095762480",
    ] {
        assert!(!phones.contains(number), "{number} belongs to a person");
    }
    assert!(
        phones.contains("5125550102") && phones.contains("5595550102"),
        "telephones of organisations are published: {phones:?}"
    );
}

/// License 1000007 was inactivated in 2015 and reactivated in 2018 (the board's file of November
/// 2020), and is CLEAR.
#[test]
fn clear_license_with_an_inactivation_has_no_known_status() {
    let place = Place::new();
    const FILE: &str = "www.cslb.ca.gov/OnlineServices/DataPortal/DownLoadFile.ashx@fName=MasterLicenseData&type=C";
    place.edit(FILE, |text| {
        text.replace(
            "Corporation,01/10/2015,,12/31/2099,,,,,,CLEAR",
            "Corporation,01/10/2015,,12/31/2099,05/01/2024,04/01/2020,,,,CLEAR",
        )
    });
    place.run(&["license.ca_cslb"]).expect(0);
    let licenses = place.rows(LICENSE);
    let status = |number: &str| {
        let license = &licenses[&format!("license.license:CA-cslb-{number}")].0;
        (license["status"].clone(), license["warnings"].clone())
    };
    assert_eq!(status("1000007"), (json!("active"), json!([])));
    assert_eq!(
        status("9000001"),
        (json!("unknown"), json!(["inactive_by_date"]))
    );
}

/// Builds a file with `count` barbers and the text that a test adds.
fn barbers(count: usize, more: &str) -> String {
    let mut text = String::from(
        "LICENSE TYPE,LICENSE NUMBER,LICENSE EXPIRATION DATE,COUNTY,NAME,MAILING ADDRESS LINE1,MAILING ADDRESS LINE2,\"MAILING ADDRESS CITY, STATE ZIP\",PHONE NUMBER,BUSINESS NAME,\
         BUSINESS ADDRESS-LINE1,BUSINESS ADDRESS-LINE2,\"BUSINESS CITY, STATE ZIP\",BUSINESS COUNTY CODE,BUSINESS COUNTY,BUSINESS ZIP,BUSINESS PHONE,LICENSE SUBTYPE,CONTINUING EDUCATION FLAG\r\n",
    );
    for number in 1..=count {
        writeln!(
            text,
            "\"Barber, Class A\",{number}, 12/31/2099,TRAVIS,\"SAMPLE, SAM\",,,,,,,,,,,,,BA,N\r"
        )
        .unwrap();
    }
    text + more
}

fn barber(kind: &str, number: &str, expiration: &str, name: &str) -> String {
    format!("{kind},{number}, {expiration},TRAVIS,{name},,,,,,,,,,,,,BA,N\r\n")
}

#[test]
fn rows_without_a_license_are_quarantined_with_a_reason() {
    let place = Place::new();
    let more = [
        barber("Barber", "", "12/31/2099", "NOBODY"),
        barber("Barber", "70001", "12/31/2099", ""),
        barber("Barber", "70002", "12/31/2099", "TWICE")
            + &barber("Barber", "70002", "12/31/2098", "TWICE"),
        barber("Barber", "70003", "12/31/2099", "EQUAL")
            + &barber("Barber", "70003", "12/31/2099", "EQUAL"),
        "Barber,70004,12 HOME ST,jane@example.com,(512) 555-0100\r\n".to_owned(),
    ]
    .concat();
    place.edit("ltbarbers.csv", |_| barbers(2_000, &more));
    let answer = place.run(&["license.tx_tdlr"]).expect(10);
    let counts =
        json!({"duplicate_key": 2, "malformed_record": 1, "missing_name": 1, "missing_number": 1});
    assert_eq!(
        answer.task("license.tx_tdlr")["quarantined"][LICENSE],
        counts
    );
    for (record_id, (record, _)) in place.rows("pubdata.quarantine") {
        let text = json!(record).to_string();
        assert!(
            record["source_text"].is_null()
                && !["HOME ST", "example.com", "555-0100"]
                    .iter()
                    .any(|secret| text.contains(secret)),
            "{record_id}: {text}"
        );
    }
    let licenses = place.rows(LICENSE);
    assert!(
        licenses.contains_key("license.license:TX-tdlr-ba-70003"),
        "a row that only repeats another is one license"
    );
    assert!(
        !licenses.contains_key("license.license:TX-tdlr-ba-70002"),
        "rows that contradict each other give no license"
    );
}

#[test]
fn license_in_both_lists_is_one_and_the_barber_list_may_be_missing() {
    let place = Place::new();
    place.run(&["license.tx_tdlr"]).expect(0);
    let of = |place: &Place, id: &str| {
        place
            .rows(LICENSE)
            .get(&format!("license.license:TX-tdlr-{id}"))
            .map(|(record, _)| record["source_id"].clone())
    };
    assert_eq!(
        of(&place, "ba-9000001"),
        Some(json!("license.tx_tdlr")),
        "the word of the first list counts"
    );
    assert_eq!(
        of(&place, "ba-9000003"),
        Some(json!("license.tx_tdlr_barber"))
    );
    let without = Place::new();
    std::fs::remove_file(without.file("ltbarbers.csv")).unwrap();
    let answer = without.run(&["license.tx_tdlr"]);
    assert!(matches!(answer.code, Some(0 | 10)), "{answer:?}");
    assert_eq!(
        (of(&without, "ba-9000001"), of(&without, "ba-9000003")),
        (Some(json!("license.tx_tdlr")), None)
    );
}

/// The rows that most other rows of a license contradict are quarantined.
#[test]
fn odd_row_of_a_license_is_quarantined_and_the_others_are_one_license() {
    let place = Place::new();
    place.edit("7s5z-vewr/rows.csv@accessType=DOWNLOAD", |text| {
        let line = text.lines().find(|line| line.contains("2012-1")).unwrap();
        let odd = line
            .replace("DENVER", "BOULDER")
            .replace("2012-1", "2013-7");
        let more: String = (0..500)
            .map(|number| {
                text.lines()
                    .nth(4)
                    .unwrap()
                    .replace("0000101", &format!("7{number:06}"))
                    + "\n"
            })
            .collect();
        format!("{text}{odd}\n{more}")
    });
    let answer = place.run(&["license.co_dora"]);
    assert_eq!(
        answer.task("license.co_dora")["quarantined"][LICENSE],
        json!({ "duplicate_key": 1 }),
        "{answer:?}"
    );
    let licenses = place.rows(LICENSE);
    assert_eq!(
        licenses["license.license:CO-dora-rn-101"].0["city"],
        "DENVER"
    );
    assert_eq!(
        licenses["license.license:CO-dora-rn-101"].1.len(),
        4,
        "the rows with the value, and the row of the code table"
    );
}

#[test]
fn dated_lists_are_found_on_their_pages_by_month_and_day() {
    let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
    let newest = |source_id: &str, links: &[&str]| -> Vec<String> {
        let (_, source) = declarations.source(source_id).unwrap();
        let links: Vec<String> = links.iter().map(|link| (*link).to_owned()).collect();
        source
            .listing
            .as_ref()
            .unwrap()
            .newest(&links)
            .unwrap()
            .into_iter()
            .map(|listed| listed.link)
            .collect()
    };
    let months = [
        "September_2026",
        "May_2026",
        "December_2025",
        "August_2026",
        "091426_092026_Weekly",
    ];
    let links = months.map(|month| {
        format!("https://download.cms.gov/nppes/NPPES_Data_Dissemination_{month}_V2.zip")
    });
    assert_eq!(
        newest("license.nppes", &links.each_ref().map(String::as_str)),
        [links[0].as_str()]
    );
    assert_eq!(
        newest("license.nppes", &[&links[1], &links[2]]),
        [links[1].as_str()],
        "the month with three letters"
    );
    let lists = [
        "2026-08-13",
        "2026-09-02",
        "2025-12-31",
        "Dual_2026-09-08",
        "Residential_2026-09-08",
    ];
    let links = lists
        .map(|list| format!("https://roc.az.gov/sites/default/files/ROC_Posting-List_{list}.csv"));
    assert_eq!(
        newest("license.az_roc", &links.each_ref().map(String::as_str)),
        [links[1].as_str()]
    );
}

#[test]
fn undeclared_type_is_reported_when_it_is_frequent() {
    let place = Place::new();
    let more: String = (0..30)
        .map(|number| {
            barber(
                "Robot Barber Repair",
                &format!("8000{number}"),
                "12/31/2099",
                "\"SAMPLE, SAM\"",
            )
        })
        .collect();
    place.edit("ltbarbers.csv", |_| {
        barbers(
            500,
            &more
                .replace("Robot Barber", "Robot")
                .replace(",BA,N", ",ZZ,N"),
        )
    });
    let task = place
        .run(&["license.tx_tdlr"])
        .expect(10)
        .task("license.tx_tdlr");
    let reported = "`profession` of license.license has texts without a known meaning in 30 of ";
    assert!(
        task["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|finding| finding["code"] == "unknown_words"
                && finding["detail"].as_str().unwrap().starts_with(reported)),
        "{task:#}"
    );
}

#[test]
fn status_that_follows_from_the_expiration_date_is_not_published() {
    let place = Place::new();
    place.run(&["license.tx_tdlr"]).expect(0);
    for (record, _) in place.rows(LICENSE).into_values() {
        assert_eq!(
            (&record["status"], &record["status_basis"]),
            (&Value::Null, &json!("derived_from_expiration")),
            "{record:?}"
        );
    }
}

#[test]
fn records_of_joined_and_grouped_rows_are_rebuilt_from_their_bytes() {
    let place = license_place();
    let matches = |record_id: &str, sources: usize| {
        let report = place.trace(record_id).expect(0).json();
        assert_eq!(
            (&report["is_match"], &report["differences"]),
            (&json!(true), &json!([])),
            "{report:#}"
        );
        assert_eq!(
            report["sources"].as_array().unwrap().len(),
            sources,
            "{report:#}"
        );
    };
    matches("license.license:WA-lni-SERVPG*892PL", 7);
    matches("license.license:CO-dora-rn-101", 4);
    matches("license.action:CO-dora-rn-101:2", 2);
    matches("license.license:NY-nppes-1000000004-207qs0010x-A900001", 1);
    matches("license.license:CA-nppes-1000000004-363lf0000x-900001", 1);
    matches("license.license:TX-tdlr-te-29995", 1);
}

/// The same number in two trades gives two licenses. Rows of other files about unknown licenses are
/// counted.
#[test]
fn licenses_are_not_merged_and_losses_are_counted() {
    let place = Place::new();
    let answer = place.run(&["license"]).expect(0);
    let left_out = |pipeline: &str, source: &str| {
        answer.task(pipeline)["source_rows"][source]["left_out"].clone()
    };
    let joined = [
        "license.wa_lni_bond",
        "license.wa_lni_insurance",
        "license.wa_lni_principal",
    ]
    .map(|source| left_out("license.wa_lni", source));
    assert_eq!(
        joined
            .iter()
            .filter_map(|counts| counts["license_not_listed"].as_u64())
            .sum::<u64>(),
        6,
        "{joined:?}"
    );
    assert_eq!(
        left_out("license.ct_elicense", "license.ct_elicense"),
        json!({ "not_a_license": 1 })
    );
    assert_eq!(
        left_out("license.fl_dbpr", "license.fl_dbpr"),
        json!({ "not_a_license": 2 }),
        "firms without a number"
    );
    assert_eq!(
        left_out("license.tx_tdlr", "license.tx_tdlr_barber"),
        json!({ "repeated": 1 }),
        "a barber in both lists"
    );
    let licenses = place.rows(LICENSE);
    let of = |id: &str| -> &Record { &licenses[&format!("license.license:{id}")] };
    assert_eq!(
        (
            &of("TX-tdlr-ba-29995").0["number"],
            &of("TX-tdlr-te-29995").0["number"]
        ),
        (&json!("29995"), &json!("29995"))
    );
    assert_eq!(of("TX-tdlr-te-29995").0["expiration_date"], "2021-11-01");
    assert_eq!(of("TX-tdlr-ba-29995").0["expiration_date"], "2022-03-01");
}
