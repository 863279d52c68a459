//! Searches real registries and lists for names as users type them, and expects the number that the
//! agency's file gives the intended entry. The numbers were taken from the files manually.

use std::path::{Path, PathBuf};
use std::process::Command;

use axum::body::Body;
use axum::http::Request;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::{ServeSettings, Server};
use pubdata_store::{Home, Keys, NewKey, Plans, Scope};
use serde_json::Value;
use tower::ServiceExt;

use super::business::{IOWA, cordata, packed};
use super::license::{CALIFORNIA, with_header};
use pubdata_testing::shared_data;

/// The agencies' files, and their paths at the publishers.
const FILES: [(&str, &str); 9] = [
    (
        "business/ny_active_corporations.excerpt.csv",
        "data.ny.gov/api/views/n9v6-gdp6/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/ct_state_licenses.excerpt.csv",
        "data.ct.gov/api/views/ngch-56tr/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/Legally_Operating_Businesses.csv",
        "data.cityofnewyork.us/api/views/w7w3-xahh/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/ltbarbers.csv",
        "www.tdlr.texas.gov/dbproduction2/ltbarbers.csv",
    ),
    (
        "license/ltcosmos.csv",
        "www.tdlr.texas.gov/dbproduction2/ltcosmos.csv",
    ),
    (
        "license/wa_lni_contractor_general.excerpt.csv",
        "data.wa.gov/api/views/m8qx-ubtq/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/wa_lni_contractor_bond.excerpt.csv",
        "data.wa.gov/api/views/bzff-4fmt/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/wa_lni_contractor_insurance.excerpt.csv",
        "data.wa.gov/api/views/ciwg-agsx/rows.csv@accessType=DOWNLOAD",
    ),
    (
        "license/wa_lni_contractor_principal.excerpt.csv",
        "data.wa.gov/api/views/4xk5-x9j6/rows.csv@accessType=DOWNLOAD",
    ),
];
const SUNBIZ: &str = "sftp.floridados.gov/doc";
const PIPELINES: [&str; 8] = [
    "business.fl_sunbiz",
    "business.ny_dos",
    "business.ia_sos",
    "license.ca_cslb",
    "license.ct_elicense",
    "license.nyc_dcwp",
    "license.tx_tdlr",
    "license.wa_lni",
];

/// Family, typed text, and the number of the first answer in the agency's file; empty if no entry
/// may match.
#[rustfmt::skip]
const NAMES: &[(&str, &str, &str)] = &[
    // Designator
    ("business", "art of love studio", "L23000448570"),
    ("business", "Simply By Word of Mouth L.L.C.", "L23000448580"),
    ("business", "Ozdilek Lending, Limited Liability Company", "L23000449090"),
    ("business", "Orchidique Incorporated", "P23000069790"),
    ("business", "Radar Associates", "55570"),
    ("business", "Severin Corporation", "61305"),
    ("business", "Linden Investments LC", "160645"),
    ("business", "Capitol City Investments Limited Partnership", "184942"),
    ("business", "Lombard International Distribution Co", "184874"),
    ("business", "Scotti Sinardi PA", "P23000069811"),
    ("business", "Pound and Pound Co.", "P23000069991"),
    ("business", "Gretchens L13 Legacy", "A23000000520"),
    // Initials
    ("business", "RAP Consulting LLC", "L23000448710"),
    ("business", "MHR Radio TV", "L23000448910"),
    ("business", "BB Lux Travel", "L23000449040"),
    ("business", "S T Gratefully LLC", "M23000012480"),
    ("business", "O P 4U", "L23000449530"),
    ("business", "TW Payne Insurance, Inc.", "P23000070000"),
    ("business", "M E S H Recording Studio", "L23000448651"),
    ("business", "AG Sheetmetal and Service", "L23000450071"),
    ("business", "JL York Inc", "190796"),
    ("business", "A.J. Creations and More", "L23000448971"),
    // Apostrophe
    ("business", "Lightbournes Imports", "L23000448620"),
    ("business", "CJS Platform", "L23000449390"),
    ("business", "Sophie’s Beauty & Spa", "P23000070020"),
    ("business", "Papa Juans Pizza LLC", "L23000449741"),
    ("business", "D Leon General Construction", "P23000069941"),
    ("business", "Two Sisters Super Carwash and Trucks", "L23000449930"),
    // Ampersand
    ("business", "E and E Construction & Cleaning", "L23000448590"),
    ("business", "Rodriguez Spray and Roll Paintworks", "L23000449120"),
    ("business", "H and K Amusement", "L23000449551"),
    ("business", "Kibbey Wagner and Blum", "L23000450110"),
    ("business", "Lualdi & Co", "L23000449781"),
    // Leading "the"
    ("business", "Dewy Dandelion", "L23000448750"),
    ("business", "Bono Bakery LLC", "L23000449500"),
    ("business", "The Art of Love Studio", "L23000448570"),
    ("business", "Intelepath Group", "M23000012481"),
    // Words
    ("business", "Blessing Church Nazarene", "N23000011750"),
    ("business", "Memorial Scholarship Mark Hamilton", "N23000011780"),
    ("business", "Food Cooperative Bushwick", "3918578"),
    // Prefix
    ("business", "St. Paul United Church of Christ", "087557"),
    // Misspelled
    ("business", "Orchidque", "P23000069790"),
    ("business", "Bushwik Food Cooperative", "3918578"),
    ("business", "Pepperwod Plaza", "528565"),
    ("business", "Intelepaht Group", "M23000012481"),
    ("business", "Tecnology Association of Iowa", "209794"),
    ("business", "Brewordy Inc", "P23000069800"),
    // No match
    ("business", "Delaware Widgets Unlimited", ""),
    ("business", "Consulting Services of Nowhere", ""),
    // Reversed person
    ("license", "Louis Ayala", "21907"),
    ("license", "Louis G Ayala", "21907"),
    ("license", "Ayala, Louis G", "21907"),
    ("license", "Basankoz Singh", "91894"),
    ("license", "Amy Huei Mei Hsu", "228944"),
    ("license", "Fernando Manuel De La Pena", "640796"),
    ("license", "Kendrick Marcelle Austin", "629156"),
    ("license", "Cloyde Dean Jordan", "117582"),
    ("license", "Maria de la Luz Guevara", "108365"),
    ("license", "Glindolyn Whiteside", "125523"),
    ("license", "Hanna Greenlee", "LIS.0002249"),
    ("license", "Clarke, Thomas J", "LIS.0002256"),
    ("license", "Cletus Acholonu", "240795"),
    ("license", "Randall Mark Dockery", "1000002"),
    ("license", "John R Stokes", "1000001"),
    // Initials
    ("license", "J R Stokes", "1000001"),
    ("license", "CBS Construction Clean Up", "1000017"),
    ("license", "DK Iron", "1000019"),
    ("license", "ZOB Builders", "1000036"),
    ("license", "U.S.A. Realty Construction Group", "1000068"),
    ("license", "AAD Construction", "1464782-DCA"),
    // Doing business as
    ("license", "Suburban Well Drilling", "WWC.0000083-W1"),
    ("license", "Dicks Artesian Well Company", "WWC.0000089-W1"),
    ("license", "The Hartford Provis Co", "VMA.0000419"),
    ("license", "Pier 44 Antique Auction Gallery", "1474109-DCA"),
    ("license", "Big Apple Gourmet Food", "1472628-DCA"),
    // Designator
    ("license", "Effinger Electric, L.L.C.", "1000007"),
    ("license", "T Wood Construction Company Incorporated", "TWOODCC011LD"),
    ("license", "Rahmann Contracting Co Ltd", "1139317-DCA"),
    // Ampersand
    ("license", "Prime Contracting and Management", "1285611-DCA"),
    ("license", "Brooklyn Farmacy and Soda Fountain", "1394777-DCA"),
    // Punctuation
    ("license", "El Hawat Michel", "1000023"),
    ("license", "Servpro of Gresham", "SERVPG*892PL"),
    // Misspelled
    ("license", "Desert Elite Eletric", "1000013"),
    ("license", "Nereli Welding", "1000015"),
    ("license", "Vikki Zagaruyk", "57722"),
    ("license", "Beanblosom Backhoe Service", "BEANBBS044KT"),
    // Last name needed
    ("license", "Louis Zzyzx", ""),
];

/// Lays the files out as their publishers do.
fn lay_out(agency: &Path, mirror: &Path) {
    let put = |path: PathBuf, bytes: &[u8]| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put(mirror.join(".pubdata-mirror"), b"sample = true\n");
    for (file, url) in FILES {
        put(mirror.join(url), &std::fs::read(agency.join(file)).unwrap());
    }
    let read = |file: &str| std::fs::read(agency.join(file)).unwrap();
    put(
        mirror.join(IOWA),
        &packed(&read("business/ia_active_business_entities.excerpt.csv")),
    );
    put(
        mirror.join(CALIFORNIA),
        &with_header(&read("license/MasterLicenseData.csv")),
    );
    let daily = read("business/20230929c.txt");
    let records: Vec<&[u8]> = daily
        .split(|byte| *byte == b'\n')
        .filter(|record| !record.is_empty())
        .collect();
    put(
        mirror.join(SUNBIZ).join("quarterly/cor/cordata.zip"),
        &cordata(&records),
    );
    put(mirror.join(SUNBIZ).join("cor/20230929c.txt"), &daily);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_typed_by_users_find_the_intended_registry_entry() {
    let Some(agency) = shared_data("general") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (mirror, home) = (folder.path().join("mirror"), folder.path().join("home"));
    lay_out(&agency, &mirror);
    let run = Command::new(env!("CARGO_BIN_EXE_pubdata"))
        .arg("run")
        .args(PIPELINES)
        .arg("--mirror")
        .arg(&mirror)
        .arg("--home")
        .arg(&home)
        .output()
        .unwrap();
    assert!(
        matches!(run.status.code(), Some(0 | 10)),
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );

    let files = DeclarationFiles::built_in();
    let (plans, contracts) = (
        Plans::load(&files).unwrap(),
        Declarations::load(files).unwrap().contracts,
    );
    let new = NewKey {
        name: "test".to_owned(),
        scopes: vec![Scope::General],
        plan: "unlimited".to_owned(),
        expires_at: None,
    };
    let key = Keys::open(&Home::open(&home).unwrap())
        .create(new, &plans, jiff::Timestamp::now())
        .unwrap()
        .key;
    let service = Server::new(
        ServeSettings::new(home, plans),
        contracts,
        std::sync::Arc::new(jiff::Timestamp::now),
    )
    .unwrap();
    service.refresh().await.unwrap();
    let mut wrong = Vec::new();
    for (family, name, expected) in NAMES {
        let path = format!("/v1/{family}/search?limit=2&name={}", encoded(name));
        let request = Request::get(&path)
            .header("x-api-key", &key)
            .body(Body::empty())
            .unwrap();
        let response = service.api().oneshot(request).await.unwrap();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .unwrap();
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        let number = if *family == "business" {
            "entity_number"
        } else {
            "number_raw"
        };
        let found = answer["data"][0][number].as_str().unwrap_or_default();
        // Two equal scores would leave the order to chance.
        let score = |place: usize| answer["data"][place]["match"]["score"].as_f64();
        if found != *expected || (score(0).is_some() && score(0) == score(1)) {
            wrong.push(format!(
                "{path}: {found}, expected {expected}: {:?} {:?}",
                score(0),
                score(1)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        NAMES.len(),
        wrong.join("\n")
    );
}

/// Percent-encodes everything but letters and digits.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
