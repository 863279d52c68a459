//! Checks permits: rows and cells that cannot be published, names that must not be, and the
//! pointers to the city's bytes.

use std::collections::BTreeSet;
use std::path::Path;

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::RunReport;
use pubdata_store::Record;
use serde_json::Value;

use super::cases::{cases, publish};
use pubdata_testing::{
    Place, case_sources, copy_folder, files_below, folders, project, rows_below, run_here, settings,
};

const EXPORT: &str = "data.cityofchicago.org/api/views/ydr8-5enu/rows.csv@accessType=DOWNLOAD";

/// Publishes Chicago's basic fixture with added rows, whatever share of them is quarantined.
async fn chicago_with(folder: &Path, added: &[String]) -> RunReport {
    chicago_built(folder, added, 8).await
}

/// Does the same with the given number of buckets.
async fn chicago_built(folder: &Path, added: &[String], buckets: u32) -> RunReport {
    let mirror = folder.join("mirror");
    copy_folder(&project("fixtures/permit/chicago/basic/source"), &mirror);
    let export = mirror.join(EXPORT);
    let text = std::fs::read_to_string(&export).unwrap() + &added.concat();
    std::fs::write(export, text).unwrap();
    let path = "pipelines/permit/chicago.toml";
    let declaration = std::fs::read_to_string(project(path)).unwrap().replace(
        "max_quarantined_percent = 1.0",
        "max_quarantined_percent = 100.0",
    );
    assert!(declaration.contains("buckets = { count = 8,"));
    let declaration = declaration.replace(
        "buckets = { count = 8,",
        &format!("buckets = {{ count = {buckets},"),
    );
    let files = DeclarationFiles::built_in().with(&[(path, &declaration)]);
    let mut settings = settings(
        &folder.join("home"),
        vec![mirror.display().to_string()],
        files,
    );
    settings.selectors = vec!["permit.chicago".to_owned()];
    run_here(&settings).await
}

/// Builds a row of the export: the given cells by column, the others empty.
fn row(cells: &[(&str, &str)]) -> String {
    let export = project("fixtures/permit/chicago/basic/source").join(EXPORT);
    let text = std::fs::read_to_string(export).unwrap();
    let names: Vec<&str> = text
        .lines()
        .next()
        .unwrap()
        .split(',')
        .map(str::trim)
        .collect();
    assert!(cells.iter().all(|(name, _)| names.contains(name)));
    let row: Vec<&str> = names
        .iter()
        .map(|name| {
            cells
                .iter()
                .find(|(known, _)| known == name)
                .map_or("", |(_, cell)| cell)
        })
        .collect();
    row.join(",") + "\n"
}

fn rows(home: &Path, dataset_id: &str) -> std::collections::BTreeMap<String, Record> {
    rows_below(
        &folders(&home.join("releases"))
            .pop()
            .unwrap()
            .join(dataset_id),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn contradictory_or_unnumbered_permit_rows_are_quarantined() {
    let folder = tempfile::tempdir().unwrap();
    let good: &[(&str, &str)] = &[
        ("PERMIT#", "199000001"),
        ("PERMIT_TYPE", "PERMIT - SIGNS"),
        ("ISSUE_DATE", "01/02/2016"),
        ("ESTIMATED_COST", "$10.00"),
    ];
    let other = [&good[..3], &[("ESTIMATED_COST", "$20.00")]].concat();
    let repeated = [&[("PERMIT#", "199000002")], &good[1..]].concat();
    let nameless = good[1..].to_vec();
    let added = [
        row(good),
        row(&other),
        row(&repeated),
        row(&repeated),
        row(&nameless),
        "1,199000003,PERMIT - SIGNS\n".to_owned(),
    ];
    let report = chicago_with(folder.path(), &added).await;

    let home = folder.path().join("home");
    let permits = rows(&home, "permit.permit");
    assert_eq!(permits.len(), 21, "{report:#?}");
    assert_eq!(
        permits["permit.permit:us-il-chicago:199000002"].1.len(),
        2,
        "a row that repeats another is merged into it"
    );
    let quarantine = rows(&home, "pubdata.quarantine");
    let mut rules: Vec<&str> = quarantine
        .values()
        .map(|(row, _)| row["rule"].as_str().unwrap())
        .collect();
    rules.sort_unstable();
    assert_eq!(
        rules,
        [
            "duplicate_key",
            "duplicate_key",
            "malformed_record",
            "missing_value"
        ]
    );
    let contradiction = quarantine
        .values()
        .find(|(row, _)| row["rule"] == "duplicate_key")
        .unwrap();
    assert_eq!(
        contradiction.0["reason"],
        "2 rows have this key and say 2 different things, expected one"
    );
    assert!(contradiction.1.len() == 1 && contradiction.1[0].length > 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn number_with_several_trades_is_several_permits_with_several_dates_one() {
    let folder = tempfile::tempdir().unwrap();
    let of =
        |number: &'static str, kind: &'static str, issued: &'static str, cost: &'static str| {
            row(&[
                ("PERMIT#", number),
                ("PERMIT_TYPE", kind),
                ("ISSUE_DATE", issued),
                ("ESTIMATED_COST", cost),
            ])
        };
    let added = [
        of("199000001", "PERMIT - SIGNS", "01/02/2016", "$10.00"),
        of(
            "199000001",
            "PERMIT - ELECTRIC WIRING",
            "01/02/2016",
            "$10.00",
        ),
        of("199000001", "", "01/02/2016", "$10.00"),
        of("199000002", "PERMIT - SIGNS", "01/02/2016", "$10.00"),
        of("199000002", "PERMIT - SIGNS", "03/04/2017", "$10.00"),
        of("199000003", "PERMIT - SIGNS", "01/02/2016", "$10.00"),
        of("199000003", "PERMIT - SIGNS", "01/02/2016", "$20.00"),
        of("199000003", "PERMIT - SIGNS", "01/03/2016", "$20.00"),
    ];
    chicago_with(folder.path(), &added).await;

    let home = folder.path().join("home");
    let permits = rows(&home, "permit.permit");
    let of_number = |number: &str| -> Vec<&Record> {
        permits
            .values()
            .filter(|(row, _)| row["permit_number"] == number)
            .collect()
    };
    let trades: Vec<_> = of_number("199000001")
        .iter()
        .map(|(row, pointers)| {
            (
                row["permit_id"].clone(),
                row["type"].clone(),
                pointers.len(),
            )
        })
        .collect();
    let expected = [
        ("us-il-chicago:199000001", "unknown"),
        (
            "us-il-chicago:199000001-PERMIT-ELECTRIC-WIRING",
            "electrical",
        ),
        ("us-il-chicago:199000001-PERMIT-SIGNS", "sign"),
    ];
    assert_eq!(
        trades,
        expected.map(|(id, kind)| (id.into(), kind.into(), 3))
    );
    let [(latest, pointers)] = of_number("199000002")[..] else {
        panic!("{permits:#?}")
    };
    assert_eq!(
        (&latest["issued_date"], &latest["warnings"], pointers.len()),
        (
            &"2017-03-04".into(),
            &serde_json::json!(["dates_differ"]),
            2
        )
    );
    let [(most, pointers)] = of_number("199000003")[..] else {
        panic!("{permits:#?}")
    };
    assert_eq!(
        (
            most["job_value"].to_string(),
            &most["issued_date"],
            pointers.len()
        ),
        ("20".to_owned(), &"2016-01-03".into(), 2),
        "{most:?}"
    );
    let quarantine = rows(&home, "pubdata.quarantine");
    let reasons: Vec<&str> = quarantine
        .values()
        .map(|(row, _)| row["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        reasons,
        ["2 of 3 rows with this key say the same, and this one does not"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_permit_cells_are_null_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let cells = [
        ("PERMIT#", "199000001"),
        ("PERMIT_TYPE", "PERMIT - WEATHER"),
        ("ISSUE_DATE", "13/45/2016"),
        ("ESTIMATED_COST", "about $5"),
        ("TOTAL_FEE", "-$5.00"),
        ("CONTRACTOR_1_TYPE", "RAINMAKER"),
        ("CONTRACTOR_1_NAME", "EXAMPLE PERSON"),
        ("LATITUDE", "141.9"),
        ("LONGITUDE", "-87.6"),
    ];
    let placeholder = [
        ("PERMIT#", "199000002"),
        ("PERMIT_TYPE", "permit -  SIGNS"),
        ("ISSUE_DATE", "01/01/1900"),
        ("LATITUDE", "0.0"),
        ("LONGITUDE", "0"),
    ];
    chicago_with(folder.path(), &[row(&cells), row(&placeholder)]).await;

    let home = folder.path().join("home");
    let permits = rows(&home, "permit.permit");
    let (bad, _) = &permits["permit.permit:us-il-chicago:199000001"];
    for column in [
        "issued_date",
        "job_value",
        "fees",
        "lat",
        "lon",
        "work_class",
    ] {
        assert_eq!(bad[column], Value::Null, "{column}");
    }
    assert_eq!(
        (&bad["type"], &bad["type_raw"]),
        (&"unknown".into(), &"PERMIT - WEATHER".into())
    );
    let warnings = [
        "bad_coordinates",
        "bad_date",
        "bad_money",
        "unmapped_role",
        "unmapped_type",
        "unmapped_work_class",
    ];
    assert_eq!(bad["warnings"], serde_json::json!(warnings));
    let (party, _) = &rows(&home, "permit.contact")["permit.contact:us-il-chicago:199000001:1"];
    assert_eq!(
        (&party["role"], &party["role_raw"], &party["name"]),
        (&"unknown".into(), &"RAINMAKER".into(), &Value::Null)
    );
    let (plain, _) = &permits["permit.permit:us-il-chicago:199000002"];
    assert_eq!(
        (&plain["type"], &plain["issued_date"], &plain["lat"]),
        (&"sign".into(), &Value::Null, &Value::Null)
    );
    assert_eq!(
        plain["warnings"],
        serde_json::json!([]),
        "a placeholder is not a fault"
    );
}

/// Owners and applicants in the fixtures whose names mark them as organisations.
const ORGANIZATIONS: &[&str] = &[
    "131-36 40 REALTY INC",
    "15 WEST 72ND ST OWNERS CORP",
    "193 22ND ST LLC",
    "435 WEST 50TH STREET LLC",
    "958 FLATBUSH REALTY LLC",
    "ASV REALTY, LLC",
    "BRONX RIVER HOTEL LLC.",
    "Buena Vida Care Center",
    "CARDINAL PROPERTIES LLC",
    "CHARJAN, LLC",
    "CONGREGATION BNAI ISRAEL",
    "CRYSTAL REALTY INC",
    "EXAMPLE ELECTRIC LLC",
    "EXAMPLE HOLDINGS INC",
    "EXAMPLE HOLDINGS LLC",
    "EXAMPLE HOMES LLC",
    "EXAMPLE NW INC",
    "EXAMPLE PATIOS LLC",
    "Example Interiors, Inc",
    "FABLWOOD REALTY GROUP",
    "FIRE SPRINKLER SYSTEMS INC",
    "FLORIN-JAKER LLC",
    "JR LIMITED PARTNERSHIP",
    "KINGS HEIGHTS ASSOCIATES",
    "L.A. NEIGHBROHOOD LAND TRUST",
    "Lincoln Center for the Performing",
    "NEW YORK CITY HOUSING AUTHORITY",
    "NYC SCA",
    "NYC SCHOOL CONSTRUCTION AUTHORIT",
    "NYC/SCA",
    "Newmark Home Corporation, L.P.",
    "OFFICE OF DESIGN-NYCHA",
    "ONLY PROPERTIES LLC",
    "PRIDE PROPERTY MANAGEMENT, CORP.",
    "RED APPLE DEVELOPMENT CORP.",
    "SAMPLE BUILDERS LLC",
    "SAMPLE PERMITS LLC",
    "SAMPLE ROOFING INC",
    "SCA",
    "SCHOOL CONSTRUCTION AUTHORITY",
    "Sample Builders LLC",
    "Sample Homes LLC",
    "Sample Wrecking Construction",
    "TAMAR PROPERTIES N.V. INC.",
    "THE TRUMP CORP.",
    "TWENTY SEVENTY ONE REALTY CORP",
    "TWO FULTON SQUARE, LLC",
];

/// Returns true if the text contains an e-mail address or a telephone number with separators.
fn looks_personal(text: &str) -> bool {
    let is_email = text.split_whitespace().any(|word| {
        word.split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
    });
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    let telephones = [
        "(999)999-9999",
        "(999) 999-9999",
        "999-999-9999",
        "999.999.9999",
        "999 999 9999",
    ];
    is_email || telephones.iter().any(|telephone| shape.contains(telephone))
}

/// Returns the source values of columns that name owners, applicants and accounts, by header.
fn personal_names() -> BTreeSet<String> {
    let columns = [
        "applicant_name",
        "owner_name",
        "applicant_first_name",
        "applicant_full_name",
        "owner_s_last_name",
    ];
    let mut names = BTreeSet::new();
    for file in files_below(&project("fixtures/permit"))
        .into_iter()
        .filter(|file| file.to_str().unwrap().contains("/source/"))
    {
        let Ok(mut reader) = csv::ReaderBuilder::new().flexible(true).from_path(&file) else {
            continue;
        };
        let Ok(header) = reader.headers().cloned() else {
            continue;
        };
        let selected: Vec<usize> = header
            .iter()
            .enumerate()
            .filter(|(_, name)| columns.contains(name))
            .map(|(place, _)| place)
            .collect();
        let mut kinds = header
            .iter()
            .enumerate()
            .filter(|(_, name)| name.starts_with("CONTRACTOR_") && name.ends_with("_TYPE"))
            .map(|(place, _)| place);
        let blocks: Vec<usize> = kinds.by_ref().collect();
        for record in reader.records().filter_map(Result::ok) {
            names.extend(
                selected
                    .iter()
                    .filter_map(|place| record.get(*place))
                    .map(str::to_owned),
            );
            let owners = blocks.iter().filter(|place| {
                record
                    .get(**place)
                    .is_some_and(|kind| kind.starts_with("OWNER"))
            });
            names.extend(
                owners
                    .filter_map(|place| record.get(place + 1))
                    .map(str::to_owned),
            );
        }
    }
    // `EXAMPLE` also appears in streets and kinds of work.
    names.retain(|name| {
        name.len() > 4 && name != "EXAMPLE" && !ORGANIZATIONS.contains(&name.as_str())
    });
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn withheld_facts_about_persons_are_absent_from_permits() {
    let names = personal_names();
    assert!(
        ["IDA EXAMA", "MOCKERSON, CLARA", "KLAUS FABL", "LEOPOLD"]
            .iter()
            .all(|known| names.contains(*known)),
        "{names:?}"
    );
    let mut parties = 0;
    for case in cases()
        .into_iter()
        .filter(|case| case.pipeline_id.starts_with("permit."))
    {
        let published = publish(&case).await;
        for (record_id, (record, _)) in published
            .datasets
            .values()
            .flatten()
            .filter(|(record_id, _)| record_id.starts_with("permit."))
        {
            // Parcel and permit numbers have the form of telephone numbers.
            let is_number = |column: &str| {
                column.ends_with("_id")
                    || matches!(column, "parcel" | "permit_number" | "source_url")
            };
            for (column, text) in record
                .iter()
                .filter_map(|(column, value)| Some((column.as_str(), value.as_str()?)))
            {
                assert!(
                    is_number(column) || !looks_personal(text),
                    "{record_id}: {text}"
                );
                assert!(!names.contains(text), "{record_id}: {text}");
            }
        }
        for (record_id, (party, _)) in published
            .datasets
            .get("permit.contact")
            .into_iter()
            .flatten()
        {
            parties += 1;
            let is_trade = matches!(
                party["role"].as_str().unwrap(),
                "contractor" | "architect" | "engineer" | "expediter"
            );
            let name = party["name"].as_str().unwrap_or_default();
            assert!(
                is_trade || party["license_number"].is_null() && party["phone"].is_null(),
                "{record_id}"
            );
            assert!(
                is_trade || name.is_empty() || ORGANIZATIONS.contains(&name),
                "{record_id}: {name}"
            );
            assert!(party["phone"].is_null() || !name.is_empty(), "{record_id}");
        }
    }
    assert!(parties > 300, "{parties}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_an_unreadable_permit_is_absent_from_all_parts() {
    let folder = tempfile::tempdir().unwrap();
    chicago_with(
        folder.path(),
        &[
            "1,199000003,PERMIT - SIGNS,JANE EXAMPLE,12 HOME ST,jane@example.com,(312) 555-0100\n"
                .to_owned(),
        ],
    )
    .await;
    let home = folder.path().join("home");
    let quarantine = rows(&home, "pubdata.quarantine");
    let (record, pointers) = quarantine.values().next().unwrap();
    assert_eq!(
        (quarantine.len(), &record["rule"], &record["source_text"]),
        (1, &"malformed_record".into(), &Value::Null)
    );
    // An auditor has the bytes: the pointer leads to them.
    assert!(pointers.len() == 1 && pointers[0].length > 50);
    for (record_id, (record, _)) in ["permit.permit", "permit.contact", "pubdata.quarantine"]
        .into_iter()
        .flat_map(|dataset_id| rows(&home, dataset_id))
    {
        let text = Value::Object(record).to_string();
        assert!(
            !["JANE EXAMPLE", "HOME ST", "example.com", "555-0100"]
                .iter()
                .any(|secret| text.contains(secret)),
            "{record_id}: {text}"
        );
    }
}

#[test]
fn permit_and_its_party_are_rebuilt_from_the_bytes_of_all_their_rows() {
    let place = Place::new();
    for source in case_sources("renewals") {
        copy_folder(&source, &place.mirror());
    }
    // The number appears on rows of two trades.
    let trades = ["PERMIT - SIGNS", "PERMIT - ELECTRIC WIRING"].map(|kind| {
        row(&[
            ("PERMIT#", "199000001"),
            ("PERMIT_TYPE", kind),
            ("ISSUE_DATE", "01/02/2016"),
        ])
    });
    let chicago = place.mirror().join(EXPORT);
    std::fs::write(
        &chicago,
        std::fs::read_to_string(&chicago).unwrap() + &trades.concat(),
    )
    .unwrap();
    place.run(&["permit"]).expect(0);
    for record_id in [
        "permit.permit:us-il-chicago:199000001-PERMIT-ELECTRIC-WIRING",
        "permit.permit:us-il-chicago:199000001-PERMIT-SIGNS",
        "permit.permit:us-ny-nyc:421044435-01-EW-OT",
        "permit.contact:us-ny-nyc:421044435-01-EW-OT:1",
        "permit.permit:us-tn-nashville:T2023007378",
        "permit.permit:us-wa-seattle:6429557-CN",
        "permit.permit:us-tx-san_antonio:RES-RBP-PMT99-99000001-New-618-W-EXAMPLE-ST-City-of-San-Antonio-TX-78299",
    ] {
        let trace = place.trace(record_id).expect(0).json();
        assert_eq!(trace["is_match"], true, "{trace:#}");
    }
    let (permit, pointers) =
        &place.rows("permit.permit")["permit.permit:us-ny-nyc:421044435-01-EW-OT"];
    // The third issue is the last one issued; the first gives the start date; the fourth is still
    // in process.
    assert_eq!(pointers.len(), 4);
    assert_eq!(
        [
            &permit["issued_date"],
            &permit["expires_date"],
            &permit["status"]
        ],
        ["2014-10-29", "2017-07-05", "active"]
    );
    assert_eq!(permit["renewals"], 3);
}

/// The numbers come from the cases, by the agencies' files: a number of the Department of Buildings
/// is not a license of Consumer and Worker Protection.
#[test]
fn permit_links_only_to_the_contractor_of_its_number_scheme() {
    let place = Place::new();
    for source in case_sources("linked") {
        copy_folder(&source, &place.mirror());
    }
    place.run(&["permit", "license"]).expect(0);
    let links = place.rows("permit.license_link");
    let linked: Vec<(&str, &str, &str)> = links
        .values()
        .map(|(link, _)| {
            (
                text(link, "permit_id"),
                text(link, "license_id"),
                text(link, "method"),
            )
        })
        .collect();
    let expected = [
        (
            "us-ca-los_angeles:14020-10000-02067",
            "CA-cslb-9000001",
            "exact_number",
        ),
        (
            "us-ca-los_angeles:14043-10000-04901",
            "CA-cslb-1000007",
            "exact_number",
        ),
        (
            "us-ca-los_angeles:14047-30000-00480",
            "CA-cslb-1000050",
            "name_and_state",
        ),
        (
            "us-ny-nyc:140355407-01-EW-OT",
            "NY-dcwp-9000001",
            "exact_number",
        ),
        (
            "us-ny-nyc:421044435-01-EW-OT",
            "NY-dcwp-2090130",
            "exact_number",
        ),
        (
            "us-ny-nyc:421198171-01-EW-OT",
            "NY-dcwp-2091788",
            "name_and_state",
        ),
    ];
    assert_eq!(linked[..6], expected);
    // The third name in Washington is in the older list of the city.
    assert_eq!(
        linked[6..]
            .iter()
            .map(|(_, license, method)| (*license, *method))
            .collect::<BTreeSet<_>>(),
        BTreeSet::from([
            ("OH-ocilb-EL90001", "name_and_state"),
            ("WA-lni-CAMCAI*972KK", "name_and_state"),
            ("WA-lni-EGRESS*911KR", "name_and_state"),
            ("WA-lni-SERVPG*892PL", "name_and_state"),
        ])
    );
    let (licenses, parties) = (place.rows("license.license"), place.rows("permit.contact"));
    for (record_id, (link, pointers)) in &links {
        let license = &licenses[&format!("license.license:{}", text(link, "license_id"))].0;
        let party = &parties[&record_id.replace("license_link", "contact")].0;
        assert_eq!(license["evidence"], "registry", "{record_id}");
        let scheme = |column: &str, number: &str| {
            (party[number] == link["evidence"]).then(|| party[column].clone())
        };
        let stated = scheme("license_scheme", "license_number_normalized")
            .or_else(|| scheme("other_license_scheme", "other_license_number_normalized"));
        assert_eq!(
            stated.unwrap_or_default(),
            link["license_scheme"],
            "{record_id}"
        );
        assert!(
            link["license_scheme"].is_null() || link["license_scheme"] == license["number_scheme"],
            "{record_id}"
        );
        let sources: BTreeSet<&str> = pointers
            .iter()
            .map(|pointer| pointer.source_id.split('.').next().unwrap())
            .collect();
        assert_eq!(
            sources,
            BTreeSet::from(["license", "permit"]),
            "{record_id}"
        );
        assert_eq!(
            place.trace(record_id).expect(0).json()["is_match"],
            true,
            "{record_id}"
        );
    }
}

#[test]
fn accepted_build_links_to_no_quarantined_license() {
    const TASKS: [&str; 2] = ["license.ca_cslb", "permit.la_before_2020_links"];
    const LICENSE: &str = "license.license:CA-cslb-1000007";
    let place = Place::new();
    case_sources("linked")
        .iter()
        .for_each(|source| copy_folder(source, &place.mirror()));
    let list = files_below(&place.mirror())
        .into_iter()
        .find(|path| path.to_str().unwrap().contains("cslb.ca.gov"))
        .unwrap();
    let text_of_list = std::fs::read_to_string(&list).unwrap();
    let line = text_of_list
        .lines()
        .find(|line| line.contains("1000007"))
        .unwrap();
    // Two rows with one number contradict each other: neither can be trusted.
    let other = line.replacen("VALENCIA", "RIVERSIDE", 1);
    assert_ne!(line, other, "{line}");
    std::fs::write(
        &list,
        text_of_list.replace(line, &format!("{line}\n{other}")),
    )
    .unwrap();
    place.run(&TASKS).expect(20);
    place
        .pubdata(&["accept", "license.ca_cslb:quarantined"])
        .expect(0);
    place.run(&TASKS);
    let quarantined = place.rows("pubdata.quarantine");
    let is_set_aside = |row: &serde_json::Map<String, Value>| {
        row["rule"] == "duplicate_key" && text(row, "reason").contains("CA-cslb-1000007")
    };
    assert!(
        quarantined.values().any(|(row, _)| is_set_aside(row)),
        "{quarantined:#?}"
    );
    let (links, licenses) = (
        place.rows("permit.license_link"),
        place.rows("license.license"),
    );
    assert!(!licenses.contains_key(LICENSE));
    // The two other licenses of the case.
    let linked: BTreeSet<&str> = links
        .values()
        .map(|(link, _)| text(link, "license_id"))
        .collect();
    assert_eq!(
        linked,
        BTreeSet::from(["CA-cslb-1000050", "CA-cslb-9000001"])
    );
    for record_id in links.keys() {
        assert_eq!(
            place.trace(record_id).expect(0).json()["is_match"],
            true,
            "{record_id}"
        );
    }
}

/// The permit list links to the licenses of Consumer and Worker Protection and of the Department of
/// Buildings.
#[test]
fn missing_license_list_is_skipped_and_a_fetched_one_stays_in_use() {
    const LINKS: &str = "permit.nyc_bis_links";
    const BUILDINGS: &str = "t8hj-ruu2.csv@";
    let list_of = |place: &Place| -> std::path::PathBuf {
        files_below(&place.mirror())
            .into_iter()
            .find(|path| {
                path.file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with(BUILDINGS)
            })
            .unwrap()
    };
    let linked = || {
        let place = Place::new();
        case_sources("linked")
            .iter()
            .for_each(|source| copy_folder(source, &place.mirror()));
        place
    };
    let without = linked();
    std::fs::remove_file(list_of(&without)).unwrap();
    let run = without.run(&["permit", "license"]).expect(30);
    assert_eq!(
        (
            &run.task(LINKS)["outcome"],
            &run.task("license.nyc_dob")["outcome"]
        ),
        (&"built".into(), &"missing".into())
    );
    assert!(
        without
            .rows("permit.license_link")
            .values()
            .any(|(link, _)| link["license_id"] == "NY-dcwp-9000001")
    );

    let with = linked();
    with.run(&["permit", "license"]).expect(0);
    let before: BTreeSet<String> = with.rows("permit.license_link").into_keys().collect();
    std::fs::remove_file(list_of(&with)).unwrap();
    let run = with.run(&["permit", "license"]).expect(30);
    assert_eq!(
        (
            &run.task(LINKS)["outcome"],
            &run.task(LINKS)["is_in_release"]
        ),
        (&"fresh".into(), &true.into()),
        "{run:#?}"
    );
    assert_eq!(
        with.rows("permit.license_link")
            .into_keys()
            .collect::<BTreeSet<_>>(),
        before
    );
}

fn text<'r>(record: &'r serde_json::Map<String, Value>, column: &str) -> &'r str {
    record[column].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_built_in_buckets_are_the_same() {
    let (whole, split) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    chicago_built(whole.path(), &[], 1).await;
    chicago_built(split.path(), &[], 4).await;
    for dataset_id in ["permit.permit", "permit.contact"] {
        // The buckets, and the records without their bucket.
        let read = |folder: &Path| -> (BTreeSet<String>, Vec<Record>) {
            let cut = |(mut row, pointers): Record| {
                (
                    row.remove("bucket").unwrap().as_str().unwrap().to_owned(),
                    (row, pointers),
                )
            };
            rows(&folder.join("home"), dataset_id)
                .into_values()
                .map(cut)
                .unzip()
        };
        let (whole, split) = (read(whole.path()), read(split.path()));
        assert_eq!((whole.0.len(), split.0.len()), (1, 4), "{dataset_id}");
        assert_eq!(whole.1, split.1, "{dataset_id}");
    }
}
