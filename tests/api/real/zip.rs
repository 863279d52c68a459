//! Checks ZIP codes from the complete files of GeoNames and the crosswalk of 2022, whose codes are
//! text, against a reader that shares no code with the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{ExitCode, trace};
use serde_json::json;

use pubdata_testing::peers::{python, script};
use pubdata_testing::publisher::archive;
use pubdata_testing::{Place, run_here, settings, shared_data};

const WORKBOOK: &str =
    "data.hrsa.gov/DataDownload/GeoCareNavigator/ZIP%20Code%20to%20ZCTA%20Crosswalk.xlsx";

const RELATIONSHIP: &str =
    "www2.census.gov/geo/docs/maps-data/data/rel2020/zcta520/tab20_zcta520_county20_natl.txt";

/// Counties by tabulation area, from an extract of the relationship file of 2020 whose rows are
/// converted to the file's layout.
fn relationship(place: &Place, extract: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let path = place.mirror().join(RELATIONSHIP);
    let header = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let (mut counties, mut text) = (
        BTreeMap::<String, BTreeSet<String>>::new(),
        format!("{header}\n"),
    );
    for line in std::fs::read_to_string(extract).unwrap().lines().skip(1) {
        let [zcta, _, _, county, land, water, ..] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let cell = |name: &str| match name.trim_start_matches('\u{feff}') {
            "GEOID_ZCTA5_20" => zcta,
            "GEOID_COUNTY_20" => county,
            "NAMELSAD_COUNTY_20" => "a county",
            "AREALAND_PART" => land,
            "AREAWATER_PART" => water,
            _ => "",
        };
        text.push_str(&(header.split('|').map(cell).collect::<Vec<_>>().join("|") + "\n"));
        counties
            .entry(zcta.to_owned())
            .or_default()
            .insert(county.to_owned());
    }
    std::fs::write(path, text).unwrap();
    counties
}

/// The fixtures' mirror with the publishers' complete files in place of the small ones.
fn place(data: &Path) -> Place {
    let place = Place::new();
    let postal = std::fs::read(data.join("US.txt")).unwrap();
    std::fs::write(
        place
            .mirror()
            .join("download.geonames.org/export/zip/US.zip"),
        archive(&[("US.txt", &postal)]),
    )
    .unwrap();
    std::fs::copy(
        data.join("ZIPCodetoZCTACrosswalk2022UDS.xlsx"),
        place.mirror().join(WORKBOOK),
    )
    .unwrap();
    std::fs::remove_file(
        place
            .mirror()
            .join("download.geonames.org/export/zip/PR.zip"),
    )
    .unwrap();
    place
}

/// Cells of the first and the second-last column, parsed without a library: every cell of this
/// workbook refers to a shared string.
fn crosswalk(path: &Path) -> BTreeMap<String, Option<String>> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut member = |name: &str| std::io::read_to_string(archive.by_name(name).unwrap()).unwrap();
    let (strings, sheet) = (
        member("xl/sharedStrings.xml"),
        member("xl/worksheets/sheet1.xml"),
    );
    let items = strings.split("<si>").skip(1);
    let texts: Vec<String> = items
        .map(|item| {
            item.split("</t>")
                .next()
                .unwrap()
                .rsplit('>')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    let cell = |row: &str, column: char| {
        let value = row
            .split(&format!("<c r=\"{column}"))
            .nth(1)?
            .split("<v>")
            .nth(1)?
            .split('<')
            .next()?;
        Some(texts[value.parse::<usize>().unwrap()].clone())
    };
    sheet
        .split("<row ")
        .skip(2)
        .map(|row| (cell(row, 'A').unwrap(), cell(row, 'E')))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_zip_code_of_either_file_is_published_once() {
    let (Some(data), Some(relationships)) = (
        shared_data("general/zip"),
        shared_data("census/relationship"),
    ) else {
        return;
    };
    let place = place(&data);
    let parts = relationship(
        &place,
        &relationships.join("zcta5_county_rel_2020_extract.csv"),
    );
    let mut settings = settings(
        &place.home(),
        vec![place.mirror().display().to_string()],
        DeclarationFiles::built_in(),
    );
    settings.selectors = vec!["zip.zip".to_owned()];
    let report = run_here(&settings).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");

    let text = std::fs::read_to_string(data.join("US.txt")).unwrap();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let postal: BTreeSet<&str> = lines.iter().map(|cells| cells[1]).collect();
    let crosswalk = crosswalk(&data.join("ZIPCodetoZCTACrosswalk2022UDS.xlsx"));
    let union: BTreeSet<&str> = postal
        .iter()
        .copied()
        .chain(crosswalk.keys().map(String::as_str))
        .collect();
    assert_eq!(
        (lines.len(), postal.len(), crosswalk.len(), union.len()),
        (41_483, 41_481, 41_061, 41_715)
    );

    let zips = place.rows("zip.zip");
    let published: BTreeSet<&str> = zips
        .values()
        .map(|(row, _)| row["zip"].as_str().unwrap())
        .collect();
    assert_eq!(published, union);
    let of = |zip: &str| &zips[&format!("zip.zip:{zip}")].0;
    // GeoNames' entry for a code that appears once, or once with a state; its county only if the
    // tabulation area overlaps it.
    let mut contradicted = BTreeMap::<(&str, &str), usize>::new();
    for cells in lines.iter().filter(|cells| !cells[4].is_empty()) {
        let row = of(cells[1]);
        assert_eq!(
            (row["city"].as_str(), row["state"].as_str()),
            (Some(cells[2]), Some(cells[4])),
            "{cells:?}"
        );
        assert_eq!(
            (row["lat"].as_f64(), row["lon"].as_f64()),
            (cells[9].parse().ok(), cells[10].parse().ok()),
            "{cells:?}"
        );
        let named = Some(cells[6])
            .filter(|code| !code.is_empty())
            .map(|code| format!("{}{code}", row["state_fips"].as_str().unwrap()));
        let touched = row["zcta"].as_str().and_then(|zcta| parts.get(zcta));
        match (named, touched) {
            (Some(named), Some(touched)) if !touched.contains(&named) => {
                let (how, kind) = (
                    row["zcta_match"].as_str().unwrap(),
                    row["type"].as_str().unwrap(),
                );
                *contradicted.entry((how, kind)).or_default() += 1;
                let is_touched = row["county_fips"]
                    .as_str()
                    .is_some_and(|fips| touched.contains(fips));
                let is_by_land = how == "same_code" && kind != "po_box_or_unique";
                assert_eq!(
                    (is_touched, row["county_fips"].is_null()),
                    (is_by_land, !is_by_land),
                    "{cells:?}"
                );
                assert!(
                    row["warnings"]
                        .as_array()
                        .unwrap()
                        .contains(&json!("county_conflict")),
                    "{cells:?}"
                );
            }
            // The tabulation area decides for a code without a county.
            (None, Some(_)) => {}
            (named, _) => assert_eq!(
                row["county_fips"].as_str().map(str::to_owned),
                named,
                "{cells:?}"
            ),
        }
    }
    let expected = [
        ("same_code", "standard", 79),
        ("same_code", "po_box_or_unique", 20),
        ("spatial_join", "standard", 6),
        ("spatial_join", "po_box_or_unique", 68),
    ];
    assert_eq!(
        contradicted,
        BTreeMap::from(expected.map(|(how, kind, count)| ((how, kind), count)))
    );
    for (zip, zcta) in &crosswalk {
        assert_eq!(of(zip)["zcta"].as_str(), zcta.as_deref(), "{zip}");
    }
    let count = |zip_type: &str| {
        zips.values()
            .filter(|(row, _)| row["type"] == zip_type)
            .count()
    };
    // 511 rows have no state; two of them repeat codes of Hawaii.
    assert_eq!(count("military"), 509);
    let of_crosswalk = |raw: &str| {
        zips.values()
            .filter(|(row, _)| row["type_raw"] == raw)
            .count()
    };
    assert_eq!(
        (
            of_crosswalk("Zip Code Area"),
            of_crosswalk("Post Office or large volume customer")
        ),
        (31_870, 9_189)
    );
    let military = |row: &serde_json::Map<String, serde_json::Value>| row["type"] == "military";
    assert!(
        zips.values()
            .filter(|(row, _)| military(row))
            .all(|(row, _)| row["county_fips"].is_null()
                && ["AA", "AE", "AP"].contains(&row["state"].as_str().unwrap()))
    );
    for zip in ["96860", "96863"] {
        assert_eq!(
            (
                &of(zip)["state"],
                &of(zip)["county_fips"],
                &of(zip)["other_cities"]
            ),
            (&json!("HI"), &json!("15003"), &json!(["FPO"])),
            "{zip}"
        );
    }
    // Counties: military codes have none; the shares of a tabulation area add up to the whole.
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    for (row, _) in place.rows("zip.county").values() {
        let zip = row["zip"].as_str().unwrap();
        assert!(!military(of(zip)), "{zip}");
        if let Some(share) = row["share"].as_f64() {
            *shares.entry(zip.to_owned()).or_default() += share;
        }
    }
    assert!(
        !shares.is_empty() && shares.values().all(|sum| (sum - 1.0).abs() < 1e-9),
        "{shares:?}"
    );
    for record in [
        "zip.zip:90210",
        "zip.zip:96860",
        "zip.zip:00501",
        "zip.zip:00601",
        "zip.zip:39038",
        "zip.county:39038:28053",
        "zip.county:00501:36103",
    ] {
        let traced = trace(&settings, &record.parse().unwrap(), None)
            .await
            .unwrap();
        assert!(traced.is_match, "{record}: {:?}", traced.differences);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workbook_reads_the_same_with_openpyxl() {
    let (Some(data), Some(python)) = (shared_data("general/zip"), python(&["openpyxl"])) else {
        return;
    };
    let path = data.join("ZIPCodetoZCTACrosswalk2022UDS.xlsx");
    let output = Command::new(python)
        .arg(script("read_sheet.py"))
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let expected: Vec<Vec<Option<String>>> = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = expected[0]
        .iter()
        .map(|name| name.as_deref().unwrap())
        .collect();
    let plan = names.iter().fold(
        pubdata_build::decode::ColumnPlan::new(Vec::new()),
        |plan, name| plan.want(name, &[name]),
    );
    let task = pubdata_build::decode::Task {
        path: &path,
        format: &pubdata_core::pipeline::Format::Xlsx,
        member: Some("xl/worksheets/sheet1.xml"),
        plan: &plan,
        input: 0,
        member_number: 0,
        max_bytes: 100 << 20,
        only: None,
    };
    let decoded = pubdata_build::decode::decode(&task).unwrap();
    assert_eq!(
        (decoded.frame.height(), decoded.malformed.len()),
        (41_061, 0)
    );
    let columns: Vec<_> = names
        .iter()
        .map(|name| decoded.frame.column(name).unwrap().str().unwrap().clone())
        .collect();
    for (row, cells) in expected[1..].iter().enumerate() {
        let found: Vec<Option<&str>> = columns.iter().map(|column| column.get(row)).collect();
        assert_eq!(
            found,
            cells.iter().map(Option::as_deref).collect::<Vec<_>>(),
            "row {}",
            row + 2
        );
    }
}
