//! Tests that Connecticut's counties are those of the survey's vintage.

use serde_json::{Value, json};

use crate::serve::served::Served;
use pubdata_testing::{Place, copy_folder, files_below};

/// A release whose survey has a vintage from before the planning regions: the files of 2023 under
/// the names of 2021.
fn with_vintage_2021() -> Place {
    let place = Place::new();
    let surveys = place
        .mirror()
        .join("www2.census.gov/programs-surveys/acs/summary_file");
    copy_folder(&surveys.join("2023"), &surveys.join("2021"));
    for path in files_below(&surveys.join("2021")) {
        let name = path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace("2023", "2021");
        std::fs::rename(&path, path.with_file_name(name)).unwrap();
    }
    place.run(&["census"]).expect(0);
    place
}

#[tokio::test]
async fn zcta_has_the_primary_county_of_the_requested_vintage() {
    let served = Served::start(with_vintage_2021()).await;
    let county = async |zcta: &str, vintage: i32| -> Value {
        let answer = served
            .ok(&format!(
                "/v1/geo-demographics/locations/{zcta}?vintage={vintage}"
            ))
            .await;
        let geography = &answer["data"]["geography"];
        json!([
            geography["primary_county_fips"],
            geography["primary_county_name"],
            geography["primary_county_land_share"],
            geography["primary_county_basis"]
        ])
    };
    // `tab20_zcta520_county20_natl.txt`: all of 06001 lies in Hartford County; the regions are
    // those of 2022.
    assert_eq!(
        county("06001", 2021).await,
        json!(["09003", "Hartford County", 1, "largest_land_part"])
    );
    assert_eq!(
        county("06001", 2023).await,
        json!(["09110", "Capitol Planning Region", 1, "planning_region"])
    );
    // Split between regions, so that the share of the principal region is unknown; the ZCTA lay in
    // a single county.
    assert_eq!(
        county("06010", 2021).await,
        json!(["09003", "Hartford County", 1, "largest_land_part"])
    );
    assert_eq!(
        county("06010", 2022).await,
        json!([
            "09140",
            "Naugatuck Valley Planning Region",
            null,
            "principal_town"
        ])
    );
    assert_eq!(county("90210", 2021).await[0], "06037");
}
