//! Checks license lists on real agency files: every row is published, quarantined or noted, and
//! every published row equals its row in the file. The files are read here by a CSV reader alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use pubdata_store::Record;
use serde_json::{Value, json};

use pubdata_testing::{Answer, Place, rows_below, shared_data};

/// Files of the agencies and their paths at the publishers.
const FILES: &[(&str, &str)] = &[
    (
        "ltbarbers.csv",
        "www.tdlr.texas.gov/dbproduction2/ltbarbers.csv",
    ),
    (
        "ltcosmos.csv",
        "www.tdlr.texas.gov/dbproduction2/ltcosmos.csv",
    ),
    ("MasterLicenseData.csv", CALIFORNIA),
    (
        "Legally_Operating_Businesses.csv",
        "data.cityofnewyork.us/api/views/w7w3-xahh/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "wa_lni_contractor_general.excerpt.csv",
        "data.wa.gov/api/views/m8qx-ubtq/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "wa_lni_contractor_bond.excerpt.csv",
        "data.wa.gov/api/views/bzff-4fmt/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "wa_lni_contractor_insurance.excerpt.csv",
        "data.wa.gov/api/views/ciwg-agsx/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "wa_lni_contractor_principal.excerpt.csv",
        "data.wa.gov/api/views/4xk5-x9j6/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "ct_state_licenses.excerpt.csv",
        "data.ct.gov/api/views/ngch-56tr/rows.csv@accessType=DOWNLOAD",
    ),
];

/// Path of California's list.
pub const CALIFORNIA: &str =
    "www.cslb.ca.gov/OnlineServices/DataPortal/DownLoadFile.ashx@fName=MasterLicenseData&type=C";

/// Adds the header line that today's list of California has and the copy of 2020 lacks.
pub fn with_header(list: &[u8]) -> Vec<u8> {
    let header = "LicenseNo,LastUpdate,BusinessName,BUS-NAME-2,FullBusinessName,MailingAddress,City,State,County,ZIPCode,country,BusinessPhone,BusinessType,\
                  IssueDate,ReissueDate,ExpirationDate,InactivationDate,ReactivationDate,PendingSuspension,PendingClassRemoval,PendingClassReplace,\
                  PrimaryStatus,SecondaryStatus,Classifications(s),AsbestosReg,WorkersCompCoverageType,WCInsuranceCompany,WCPolicyNumber,WCEffectiveDate,\
                  WCExpirationDate,WCCancellationDate,WCSuspendDate,CBSuretyCompany,CBNumber,CBEffectiveDate,CBCancellationDate,CBAmount,WBSuretyCompany,\
                  WBNumber,WBEffectiveDate,WBCancellationDate,WBAmount,DBSuretyCompany,DBNumber,DBEffectiveDate,DBCancellationDate,DBAmount,DateRequired,\
                  DiscpCaseRegion,DBBondReason,DBCaseNo,NAME-TP-2\r\n";
    [header.as_bytes(), list].concat()
}

/// On 2021-06-15 some of the licenses are expired and others are not.
const AS_OF: &str = "2021-06-15";

fn rows_of(path: &Path, has_header: bool) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(has_header)
        .from_path(path)
        .unwrap();
    reader
        .records()
        .map(|record| {
            record
                .unwrap()
                .iter()
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

/// `04/27/2021` → `2021-04-27`.
fn iso(us: &str) -> Value {
    if us.is_empty() {
        Value::Null
    } else {
        Value::from(format!("{}-{}-{}", &us[6..], &us[..2], &us[3..5]))
    }
}

/// Dollars as the published number.
fn dollars(cell: &str) -> Value {
    text(cell)
        .as_str()
        .map_or(Value::Null, |cell| cell.parse::<u64>().unwrap().into())
}

fn text(cell: &str) -> Value {
    if cell.is_empty() || cell == "-" {
        Value::Null
    } else {
        Value::from(cell)
    }
}

#[test]
fn every_row_of_the_real_license_lists_is_accounted_for() {
    let Some(data) = shared_data("general/license") else {
        return;
    };
    let place = Place::new();
    let as_of = SystemTime::UNIX_EPOCH + Duration::from_secs(18_793 * 86_400 + 43_200);
    for (file, url) in FILES {
        let target = place.mirror().join(url);
        let bytes = std::fs::read(data.join(file)).unwrap();
        std::fs::write(
            &target,
            if *url == CALIFORNIA {
                with_header(&bytes)
            } else {
                bytes
            },
        )
        .unwrap();
        std::fs::File::options()
            .append(true)
            .open(&target)
            .unwrap()
            .set_modified(as_of)
            .unwrap();
    }
    let lists = [
        "license.tx_tdlr",
        "license.ca_cslb",
        "license.nyc_dcwp",
        "license.wa_lni",
        "license.ct_elicense",
    ];
    let answer = place.run(&lists).expect(0);
    let licenses = rows_below(&place.part("license.license"));
    texas(&data, &answer, &licenses);
    california(&data, &licenses);
    new_york(&data, &licenses);
    washington(&data, &answer, &licenses);
    connecticut(&data, &answer, &licenses);
    // 12,000 + 2,299 less the row with a cell too many; 80; 705; 10; 10 less an application.
    assert_eq!(licenses.len(), 14_298 + 80 + 705 + 10 + 9);
}

fn of_state<'l>(licenses: &'l BTreeMap<String, Record>, state: &str) -> Vec<&'l Record> {
    licenses
        .values()
        .filter(|(record, _)| record["state"] == state)
        .collect()
}

fn texas(data: &Path, answer: &Answer, licenses: &BTreeMap<String, Record>) {
    let mut rows = rows_of(&data.join("ltbarbers.csv"), true);
    let barbers = rows.len();
    rows.extend(rows_of(&data.join("ltcosmos.csv"), true));
    assert_eq!((barbers, rows.len()), (12_000, 14_299));
    let (whole, broken): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.len() == 19);
    assert_eq!(
        (
            answer.task("license.tx_tdlr")["quarantined"]["license.license"]
                .to_string()
                .as_str(),
            broken.len()
        ),
        ("{\"malformed_record\":1}", 1)
    );
    assert_eq!(of_state(licenses, "TX").len(), whole.len());
    let (mut active, mut keys) = (0, BTreeSet::new());
    for row in whole {
        let id = format!(
            "license.license:TX-tdlr-{}-{}",
            row[17].to_lowercase(),
            row[1]
        );
        assert!(keys.insert(id.clone()), "{id} is one row");
        let record = &licenses[&id].0;
        let is_active = iso(&row[2]).as_str().unwrap() >= AS_OF;
        active += usize::from(is_active);
        assert_eq!(
            (&record["status"], &record["status_basis"]),
            (&Value::Null, &text("derived_from_expiration")),
            "{id}"
        );
        assert_eq!(
            record["profession"],
            if row[0].starts_with("Barber") {
                "barber"
            } else {
                "cosmetologist"
            },
            "{id}"
        );
        let county = if row[3] == "OUT OF STATE" {
            Value::Null
        } else {
            text(&row[3])
        };
        assert_eq!(
            (
                &record["number"],
                &record["expiration_date"],
                &record["holder_name"],
                &record["county"]
            ),
            (&text(&row[1]), &iso(&row[2]), &text(&row[4]), &county),
            "{id}"
        );
        let (last, given) = row[4].split_once(',').unwrap();
        let suffix = record["holder_suffix"].as_str().unwrap_or_default();
        let first = record["holder_first"].as_str().unwrap_or_default();
        assert!(
            last.trim()
                .starts_with(record["holder_last"].as_str().unwrap())
                && given.trim().starts_with(first)
                && row[4].contains(suffix),
            "{id}: {record:?}"
        );
    }
    assert_eq!(active, 10_281);
    // 76 numbers of the barbers' file appear in two or more trades.
    let mut by_number: BTreeMap<&str, usize> = BTreeMap::new();
    rows[..barbers]
        .iter()
        .for_each(|row| *by_number.entry(&row[1]).or_default() += 1);
    assert_eq!(by_number.values().filter(|count| **count > 1).count(), 76);
}

fn california(data: &Path, licenses: &BTreeMap<String, Record>) {
    let rows = rows_of(&data.join("MasterLicenseData.csv"), false);
    assert_eq!((rows.len(), of_state(licenses, "CA").len()), (80, 80));
    for row in &rows {
        let record = &licenses[&format!("license.license:CA-cslb-{}", row[0])].0;
        let status = match row[21].as_str() {
            "CLEAR" => "active",
            _ => "suspended",
        };
        assert_eq!(
            (&record["status"], &record["status_raw"]),
            (&Value::from(status), &text(&row[21])),
            "{row:?}"
        );
        assert_eq!(
            (
                &record["holder_name"],
                &record["issue_date"],
                &record["expiration_date"]
            ),
            (&text(&row[2]), &iso(&row[13]), &iso(&row[15])),
            "{row:?}"
        );
        assert_eq!(
            (
                &record["bond_surety"],
                &record["bond_amount"],
                &record["bond_cancelled_date"]
            ),
            (&text(&row[32]), &dollars(&row[36]), &iso(&row[35])),
            "{row:?}"
        );
        assert_eq!(
            (
                &record["city"],
                &record["zip"],
                &record["workers_comp_expiration_date"]
            ),
            (
                &text(&row[6]),
                &text(row[9].get(..5).unwrap_or_default()),
                &iso(&row[29])
            ),
            "{row:?}"
        );
        let classes: Vec<String> = row[23]
            .split('|')
            .map(|class| class.trim().replace('-', ""))
            .collect();
        let published = record["classifications"]
            .as_array()
            .unwrap()
            .iter()
            .map(|class| class.as_str().unwrap().split('=').next().unwrap());
        assert_eq!(
            published
                .map(|class| class.replace("-0", "").replace('-', ""))
                .collect::<Vec<_>>(),
            classes,
            "{row:?}"
        );
        assert_eq!(
            record["phone"].is_null(),
            row[12] == "Sole Owner",
            "{row:?}"
        );
    }
}

fn new_york(data: &Path, licenses: &BTreeMap<String, Record>) {
    let rows = rows_of(&data.join("Legally_Operating_Businesses.csv"), true);
    assert_eq!((rows.len(), of_state(licenses, "NY").len()), (705, 705));
    let by_number: BTreeMap<&str, &Record> = of_state(licenses, "NY")
        .into_iter()
        .map(|record| (record.0["number_raw"].as_str().unwrap(), record))
        .collect();
    for row in &rows {
        let record = &by_number[row[0].as_str()].0;
        assert_eq!(
            (
                &record["holder_name"],
                &record["expiration_date"],
                &record["issue_date"]
            ),
            (&text(&row[6]), &iso(&row[2]), &iso(&row[4])),
            "{row:?}"
        );
        assert_eq!(record["status"], row[3].to_lowercase(), "{row:?}");
        assert!(
            row[1] != "Individual"
                || (record["holder_type"] == "person" && record["phone"].is_null()),
            "{row:?}"
        );
    }
}

fn washington(data: &Path, answer: &Answer, licenses: &BTreeMap<String, Record>) {
    let files = ["general", "bond", "insurance", "principal"].map(|file| {
        rows_of(
            &data.join(format!("wa_lni_contractor_{file}.excerpt.csv")),
            true,
        )
    });
    let numbers: BTreeSet<&String> = files[0].iter().map(|row| &row[1]).collect();
    let unlisted = files[1..]
        .iter()
        .flatten()
        .filter(|row| !numbers.contains(&row[1]))
        .count();
    assert_eq!(
        (numbers.len(), unlisted, of_state(licenses, "WA").len()),
        (10, 30, 10)
    );
    for source in [
        "license.wa_lni_bond",
        "license.wa_lni_insurance",
        "license.wa_lni_principal",
    ] {
        let account = json!({ "read": 10, "records": 0, "merged": 0, "quarantined": 0, "left_out": { "license_not_listed": 10 } });
        assert_eq!(
            answer.task("license.wa_lni")["source_rows"][source],
            account
        );
    }
    for row in &files[0] {
        let record = &licenses[&format!("license.license:WA-lni-{}", row[1])].0;
        assert_eq!(
            (&record["holder_name"], &record["number"], &record["zip"]),
            (&text(&row[0]), &text(&row[1]), &text(&row[8][..5])),
            "{row:?}"
        );
        assert_eq!(
            (&record["effective_date"], &record["expiration_date"]),
            (&text(&row[10][..10]), &text(&row[11][..10])),
            "{row:?}"
        );
        assert_eq!(
            (&record["status"], &record["status_raw"]),
            (&Value::from("active"), &Value::from("ACTIVE")),
            "as in the list: {row:?}"
        );
    }
}

fn connecticut(data: &Path, answer: &Answer, licenses: &BTreeMap<String, Record>) {
    let rows = rows_of(&data.join("ct_state_licenses.excerpt.csv"), true);
    let (applications, credentials): (Vec<_>, Vec<_>) = rows
        .iter()
        .partition(|row| row[10] == "EXPIRED APPLICATION");
    assert_eq!(
        (
            applications.len(),
            credentials.len(),
            of_state(licenses, "CT").len()
        ),
        (1, 9, 9)
    );
    assert_eq!(
        answer.task("license.ct_elicense")["source_rows"]["license.ct_elicense"]["left_out"],
        json!({ "not_a_license": 1 })
    );
    let by_number: BTreeMap<&str, &Record> = of_state(licenses, "CT")
        .into_iter()
        .map(|record| (record.0["number_raw"].as_str().unwrap(), record))
        .collect();
    for row in credentials {
        let record = &by_number[row[5].as_str()].0;
        let serial = format!(
            "{}{}",
            row[7],
            if row[8].is_empty() {
                String::new()
            } else {
                format!("-{}", row[8])
            }
        );
        assert_eq!(
            (
                &record["number_normalized"],
                &record["holder_name"],
                &record["profession_raw"]
            ),
            (&text(&serial), &text(&row[1]), &text(&row[9])),
            "{row:?}"
        );
        assert_eq!(
            (&record["dba"], &record["status_raw"], &record["city"]),
            (&text(&row[4]), &text(&row[10]), &text(&row[17])),
            "{row:?}"
        );
    }
}
