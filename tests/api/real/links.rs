//! Checks links of permits on the real files of cities and boards: every link leads to a contractor
//! of the declared scheme, confirmed by the board's own file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::license::{CALIFORNIA, with_header};
use pubdata_testing::{Place, shared_data};

/// Lists of permits and of licenses, and their paths at the publishers.
const FILES: &[(&str, &str)] = &[
    (
        "permits/austin_3syk-w9eu.excerpt.csv",
        "data.austintexas.gov/api/views/3syk-w9eu/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "permits/chicago_Building_Permits.csv",
        "data.cityofchicago.org/api/views/ydr8-5enu/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "permits/la_yv23-pmwf.excerpt.csv",
        "data.lacity.org/api/views/yv23-pmwf/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "permits/nyc_dob_permit_issuance_2024_subset.csv",
        "data.cityofnewyork.us/api/views/ipu4-2q9a/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "permits/nyc_now_rbx6-tga4.excerpt.csv",
        "data.cityofnewyork.us/api/views/rbx6-tga4/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "permits/seattle_permits_cleaned_20251106.csv",
        "data.seattle.gov/api/views/76t5-zqzr/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "permits/seattle_mags-97de.excerpt.csv",
        "data.seattle.gov/api/views/mags-97de/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/ltbarbers.csv",
        "www.tdlr.texas.gov/dbproduction2/ltbarbers.csv",
    ),
    (
        "license/ltcosmos.csv",
        "www.tdlr.texas.gov/dbproduction2/ltcosmos.csv",
    ),
    ("license/MasterLicenseData.csv", CALIFORNIA),
    (
        CONSUMER_AFFAIRS,
        "data.cityofnewyork.us/api/views/w7w3-xahh/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/wa_lni_contractor_general.excerpt.csv",
        "data.wa.gov/api/views/m8qx-ubtq/rows.csv@accessType=DOWNLOAD",
    ),
];

const CONSUMER_AFFAIRS: &str = "license/Legally_Operating_Businesses.csv";
const BUILDINGS: &str = "permits/nyc_dob_permit_issuance_2024_subset.csv";

/// Cells of a file by column name.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(path)
        .unwrap();
    let header = reader.headers().unwrap().clone();
    reader
        .records()
        .map(|record| {
            header
                .iter()
                .zip(&record.unwrap())
                .map(|(name, cell)| (name.trim().to_owned(), cell.trim().to_owned()))
                .collect()
        })
        .collect()
}

/// Letters and digits of a name without the legal form of a company.
fn plain(name: &str) -> String {
    let upper = name.to_uppercase();
    let words = upper
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !["", "INC", "LLC", "CORP", "CO", "LTD"].contains(word));
    words.collect::<Vec<_>>().concat()
}

#[test]
fn permits_link_only_to_contractors_of_the_declared_scheme() {
    let Some(data) = shared_data("general") else {
        return;
    };
    let place = Place::new();
    for (file, url) in FILES {
        let bytes = std::fs::read(data.join(file)).unwrap();
        std::fs::write(
            place.mirror().join(url),
            if *url == CALIFORNIA {
                with_header(&bytes)
            } else {
                bytes
            },
        )
        .unwrap();
    }
    place.run(&["permit", "license"]);
    let (links, licenses, parties) = (
        place.rows("permit.license_link"),
        place.rows("license.license"),
        place.rows("permit.contact"),
    );
    assert!(
        parties.len() > 6_000 && licenses.len() > 15_000,
        "{} parties, {} licenses",
        parties.len(),
        licenses.len()
    );

    // The board's own entry for a number, and the city's entry for a permit.
    let consumer_affairs = rows(&data.join(CONSUMER_AFFAIRS));
    let board: BTreeMap<&str, &BTreeMap<String, String>> = consumer_affairs
        .iter()
        .map(|row| (row["DCA License Number"].as_str(), row))
        .collect();
    let mut by_job: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let buildings = rows(&data.join(BUILDINGS));
    let (job, names): (Vec<&String>, Vec<&String>) = (
        buildings[0]
            .keys()
            .filter(|name| name.to_lowercase().starts_with("job") && name.contains('#'))
            .collect(),
        buildings[0]
            .keys()
            .filter(|name| name.to_lowercase().contains("permittee's business"))
            .collect(),
    );
    assert_eq!(
        (job.len(), names.len()),
        (1, 1),
        "{:?}",
        buildings[0].keys()
    );
    for row in &buildings {
        by_job
            .entry(row[job[0]].clone())
            .or_default()
            .insert(plain(&row[names[0]]));
    }
    let mut of_the_board = 0;
    for (record_id, (link, _)) in &links {
        let license =
            &licenses[&format!("license.license:{}", link["license_id"].as_str().unwrap())].0;
        let party = &parties[&record_id.replace("license_link", "contact")].0;
        let contractors = [
            "general_contractor",
            "specialty_contractor",
            "electrician",
            "plumber",
            "hvac",
            "roofer",
            "elevator",
            "boiler",
        ];
        assert!(
            contractors.contains(&license["profession"].as_str().unwrap())
                && license["evidence"] == "registry",
            "{record_id}: {license:?}"
        );
        match link["license_scheme"].as_str() {
            Some(scheme) => assert_eq!(license["number_scheme"], scheme, "{record_id}"),
            None => assert!(
                party["license_number"].is_null() && party["other_license_number"].is_null(),
                "{record_id}: a party with a stated number is not searched by name"
            ),
        }
        if let Some(row) = license["number"]
            .as_str()
            .and_then(|number| board.get(number))
        {
            of_the_board += 1;
            assert_eq!(
                row["Industry"], "Home Improvement Contractor",
                "{record_id}"
            );
            let job = link["permit_id"]
                .as_str()
                .unwrap()
                .split([':', '-'])
                .nth(3)
                .unwrap();
            let said = by_job
                .get(job)
                .unwrap_or_else(|| panic!("{record_id}: {job}"));
            assert!(
                [&row["Business Name"], &row["Business Name 2"]]
                    .iter()
                    .any(|name| said.contains(&plain(name))),
                "{record_id}: {said:?} {row:?}"
            );
        }
    }
    assert!(
        of_the_board >= 10,
        "{of_the_board} links to the board's list"
    );
}
