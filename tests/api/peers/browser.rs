//! Drives Chromium through the pages as a user would: from the search to a figure, its trace and
//! the verdict; from a ZIP code to bytes; from the status page to the reason of a stale dataset;
//! and a key from creation to revocation. Checks each page in a wide and a narrow window.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::api::{Server, declarations_without_limits};
use pubdata_testing::peers::{pubdata, python_of, script};
use pubdata_testing::{Place, project};

/// A page of each kind.
const PAGES: [&str; 24] = [
    "/",
    "/search?q=apple",
    "/zip/90210",
    "/zip/95120",
    "/county/06037",
    "/state/CA",
    "/compare?areas=90210,95120",
    "/company/320193",
    "/company/320193/statements",
    "/company/320193/filings",
    "/business/FL-A23000000520",
    "/license/WA-lni-SERVPG*892PL",
    "/property/us-tx-austin:11436-flushwing-dr-78754",
    "/permit/us-tx-austin:2007-115377-BP",
    "/tax?zip=55401&date=2019-01-01&amount=49.95",
    "/records/geo.zcta_metric:2023:90210:owner_occupied_share?replay=now",
    "/records/license.license:TX-tdlr-ba-21907",
    "/status",
    "/datasets",
    "/datasets/permit.permit",
    "/releases",
    "/docs",
    "/docs/getLocation",
    "/keys",
];

#[test]
fn browser_user_finds_the_bytes_of_a_figure() {
    let Some(python) = python_of("PUBDATA_TEST_BROWSER", &["selenium", "axe_core_python"]) else {
        return;
    };
    if let Some(missing) = ["/usr/bin/chromium", "/usr/bin/chromedriver"]
        .into_iter()
        .find(|path| !Path::new(path).is_file())
    {
        eprintln!(
            "skipped: {missing} is not installed (Debian packages chromium, chromium-driver)"
        );
        return;
    }
    let place = Place::published();
    // The publisher has renamed a column of a list: its task keeps the last good build and reports
    // the reason.
    place.edit("ltbarbers.csv", |text| {
        text.replacen("LICENSE NUMBER", "LIC NO", 1)
    });
    place.run(&[]).expect(20);
    let home = place.home();
    let created = pubdata(&[
        "keys",
        "create",
        "--home",
        home.to_str().unwrap(),
        "--name",
        "operator",
        "--scopes",
        "admin,general,geo,sec",
        "--plan",
        "unlimited",
        "--json",
    ]);
    let key = serde_json::from_slice::<Value>(&created.stdout).unwrap()["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let declarations = place.root().join("declarations");
    declarations_without_limits(&declarations);
    let server = Server::start(&home, &declarations);
    let pages = place.root().join("pages.json");
    std::fs::write(&pages, json!(PAGES).to_string()).unwrap();
    let shots = std::env::var_os("PUBDATA_TEST_SCREENSHOTS")
        .map_or_else(|| project("target/screenshots"), Into::into);
    let output = Command::new(python)
        .args([
            "-B",
            script("browse.py").to_str().unwrap(),
            &format!("http://{}", server.address),
            &key,
            pages.to_str().unwrap(),
            shots.to_str().unwrap(),
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        server.log()
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let walks = &report["walks"];
    assert_eq!(walks["company_to_match"], "match", "{walks:#}");
    // The Bureau's own figure, highlighted in the row of its table.
    assert!(
        walks["zip_to_bytes"]
            .as_array()
            .is_some_and(|marked| marked.contains(&json!("19652"))),
        "{walks:#}"
    );
    assert!(
        walks["status_to_reason"]
            .as_array()
            .is_some_and(|reasons| reasons
                .iter()
                .any(|reason| reason.as_str().unwrap().contains("license_number"))),
        "{walks:#}"
    );
    assert_eq!(
        walks["key_to_revoked"],
        json!({"used": 200, "revoked": 401, "state": true, "cookie": ""}),
        "{walks:#}"
    );
    assert_eq!(report["hosts"], json!(["127.0.0.1"]));
    assert_eq!(report["has_axe"], true);
    let pages = report["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 2 * PAGES.len());
    let wrong: Vec<&Value> = pages
        .iter()
        .filter(|page| {
            page["axe"] != json!([]) || page["console"] != json!([]) || page["is_wider"] == true
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{}",
        serde_json::to_string_pretty(&wrong).unwrap()
    );
}
