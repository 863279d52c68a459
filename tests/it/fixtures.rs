//! What `CASE.md` calls published is compared with the agencies' own files, where those are at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The agencies' files: `PUBDATA_SHARED_DATA`, or the folder beside the repository.
fn shared_data() -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = std::env::var_os("PUBDATA_SHARED_DATA").map_or_else(default, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: there are no agency files at {}; set PUBDATA_SHARED_DATA", folder.display());
    None
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// A CSV file's rows as maps from column to cell, by the last five digits of the first column.
fn downloaded(path: &Path) -> BTreeMap<String, BTreeMap<String, String>> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let header = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        let area = record[0].chars().rev().take(5).collect::<Vec<_>>().into_iter().rev().collect();
        (area, header.iter().zip(record.iter()).map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect())
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

/// The number that stands for a symbol of data.census.gov.
fn jam(symbol: &str) -> String {
    match symbol.replace(',', "").as_str() {
        "-" => "-666666666".to_owned(),
        "**" => "-222222222".to_owned(),
        "***" => "-333333333".to_owned(),
        "*****" => "-555555555".to_owned(),
        "250000+" => "250001".to_owned(),
        figure => figure.to_owned(),
    }
}

fn member(archive: &Path) -> String {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(archive).unwrap()).unwrap();
    let mut text = String::new();
    archive.by_index(0).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn published_survey_figures_are_those_of_the_bureau_downloads() {
    let Some(data) = shared_data() else { return };
    let acs = data.join("census/acs");
    // Vintage, table, line, level, download, column, whether only areas of the download are published.
    let cases = [
        (2023, "b01003", 1, "860Z200US", "ACSDT5Y2023.B01003-Data.csv", "B01003_001", false),
        (2023, "b25003", 1, "860Z200US", "ACSDT5Y2023.B25003-Data.csv", "B25003_001", false),
        (2023, "b25003", 2, "860Z200US", "ACSDT5Y2023.B25003-Data.csv", "B25003_002", false),
        (2023, "b25003", 3, "860Z200US", "ACSDT5Y2023.B25003-Data.csv", "B25003_003", false),
        (2023, "b11001", 1, "860Z200US", "ACSDT5Y2023.B25003-Data.csv", "B25003_001", false),
        (2023, "b19013", 1, "860Z200US", "ACSST5Y2023.S1901-Data.zcta_sample_600.csv", "S1901_C01_012", true),
        (2023, "b19013", 1, "0500000US", "ACSST5Y2023.S1901-Data.csv", "S1901_C01_012", false),
        (2023, "b11001", 1, "0500000US", "ACSST5Y2023.S1901-Data.csv", "S1901_C01_001", false),
        (2022, "b19013", 1, "0500000US", "ACSST5Y2022.S1901-Data.csv", "S1901_C01_012", false),
        (2022, "b11001", 1, "0500000US", "ACSST5Y2022.S1901-Data.csv", "S1901_C01_001", false),
    ];
    let mut compared = 0;
    for (vintage, table, line, level, download, column, is_part) in cases {
        let published = downloaded(&acs.join(download));
        let folder = format!("census/acs5/basic/source/www2.census.gov/programs-surveys/acs/summary_file/{vintage}/table-based-SF/data/5YRData");
        let text = std::fs::read_to_string(fixture(&folder).join(format!("acsdt5y{vintage}-{table}.dat"))).unwrap();
        for row in text.lines().filter(|row| row.starts_with(level)) {
            let cells: Vec<&str> = row.split('|').collect();
            let area = cells[0].strip_prefix(level).unwrap();
            let Some(figures) = published.get(area) else {
                assert!(is_part, "{download} has no {area}");
                continue;
            };
            let expected = (jam(&figures[&format!("{column}E")]), jam(&figures[&format!("{column}M")]));
            assert_eq!((cells[2 * line - 1].to_owned(), cells[2 * line].to_owned()), expected, "{vintage} {table} line {line} of {area}");
            compared += 1;
        }
    }
    // 28 ZCTAs and 51 counties; 12 of the ZCTAs are in the sample.
    assert_eq!(compared, 5 * 28 + 12 + 4 * 51);
}

#[test]
fn published_percentages_are_those_of_the_bureau_download() {
    let Some(data) = shared_data() else { return };
    let published = downloaded(&data.join("census/acs/ACSST5Y2023.S1501-Data.zcta_sample_600.csv"));
    let file = "census/acs5/api_key/source/api.census.gov/data/2023/acs/acs5/subject@get=NAME,S1501_C02_014E,S1501_C02_014M,S1501_C02_015E,S1501_C02_015M&for=zip%20code%20tabulation%20area:*";
    let rows: Vec<Vec<String>> = serde_json::from_slice(&std::fs::read(fixture(file)).unwrap()).unwrap();
    let header = &rows[0];
    let mut compared = 0;
    for row in &rows[1..] {
        let Some(figures) = published.get(row.last().unwrap()) else { continue };
        for (name, cell) in header.iter().zip(row).filter(|(name, _)| name.starts_with("S1501")) {
            assert_eq!(cell.strip_suffix(".0").filter(|cell| cell.starts_with('-')).unwrap_or(cell), jam(&figures[name]), "{name} of {row:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 12 * 4);
}

#[test]
fn published_lines_are_those_of_the_agencies_files() {
    let Some(data) = shared_data() else { return };
    let gazetteer = "census/gazetteer/basic/source/www2.census.gov/geo/docs/maps-data/data/gazetteer/2025_Gazetteer";
    let schools = "nces/ccd_directory/basic/source/nces.ed.gov/ccd/data/zip/ccd_sch_029_2526_w_0a_050626.zip";
    let geocodes = "nces/edge_geocode/basic/source/nces.ed.gov/programs/edge/data/EDGE_GEOCODE_PUBLICSCH_2425.zip";
    // Archive, agency's file, published lines at its beginning.
    let cases = [
        (format!("{gazetteer}/2025_Gaz_zcta_national.zip"), "census/gazetteer/2025_Gaz_zcta_national.txt", 32),
        (format!("{gazetteer}/2025_Gaz_counties_national.zip"), "census/gazetteer/2025_Gaz_counties_national.txt", 52),
        (schools.to_owned(), "nces/ccd_sch_029_2526_w_0a_050626.head45.csv", 14),
        (geocodes.to_owned(), "nces/EDGE_GEOCODE_PUBLICSCH_2425.head4.TXT", 4),
    ];
    for (archive, original, count) in cases {
        let original_text = std::fs::read_to_string(data.join(original)).unwrap();
        let known: BTreeSet<&str> = original_text.lines().collect();
        let text = member(&fixture(&archive));
        let lines: Vec<&str> = text.lines().take(count).collect();
        assert_eq!(lines.len(), count, "{archive}");
        let strange: Vec<&&str> = lines.iter().filter(|line| !known.contains(**line)).collect();
        assert!(strange.is_empty(), "not in {original}: {strange:#?}");
    }
}

#[test]
fn published_areas_of_parts_are_those_of_the_bureau() {
    let Some(data) = shared_data() else { return };
    let extract = std::fs::read_to_string(data.join("census/relationship/zcta5_county_rel_2020_extract.csv")).unwrap();
    let mut lines = extract.trim_start_matches('\u{feff}').lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|known| *known == name).unwrap();
    let (zcta, county, land) = (column("zcta5"), column("fips_code_county"), column("arealand_part"));
    let known: BTreeSet<[&str; 3]> = lines.map(|line| line.split(',').collect::<Vec<_>>()).map(|cells| [cells[zcta], cells[county], cells[land]]).collect();
    let text = std::fs::read_to_string(fixture(
        "census/zcta_county/basic/source/www2.census.gov/geo/docs/maps-data/data/rel2020/zcta520/tab20_zcta520_county20_natl.txt",
    ))
    .unwrap();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('|').collect()).collect();
    let parts: BTreeSet<[&str; 3]> = rows.iter().filter(|cells| !cells[1].is_empty()).map(|cells| [cells[1], cells[9], cells[16]]).collect();
    assert!(parts.is_subset(&known), "{:?}", parts.difference(&known).collect::<Vec<_>>());
    let areas: BTreeSet<&str> = parts.iter().map(|part| part[0]).collect();
    assert_eq!(areas.len(), 31);
    // Every part of every chosen ZCTA is there, and the parts make up the ZCTA.
    assert_eq!(parts.len(), known.iter().filter(|part| areas.contains(part[0])).count());
    for area in areas {
        let of_area = || rows.iter().filter(|cells| cells[1] == area);
        let sum: u64 = of_area().map(|cells| cells[16].parse::<u64>().unwrap()).sum();
        assert!(of_area().all(|cells| cells[3].parse() == Ok(sum)), "{area}");
    }
}

/// Every fact of a companyfacts document as (concept, unit, fact).
fn facts(document: &serde_json::Value) -> Vec<(String, String, serde_json::Value)> {
    let mut facts = Vec::new();
    for (taxonomy, concepts) in document["facts"].as_object().unwrap() {
        for (concept, body) in concepts.as_object().unwrap() {
            for (unit, list) in body["units"].as_object().unwrap() {
                facts.extend(list.as_array().unwrap().iter().map(|fact| (format!("{taxonomy}:{concept}"), unit.clone(), fact.clone())));
            }
        }
    }
    facts
}

#[test]
fn published_facts_are_those_of_the_sec() {
    let Some(data) = shared_data() else { return };
    let folder = data.join("sec");
    let captures = ["companyfacts/CIK{}.json", "companyfacts_reduced/CIK{}.json"];
    let reduced = [("0000354950", "companyfacts_reduced18/HD.json"), ("0000019617", "companyfacts_reduced18/JPM.json")];
    let path = "sec/financials/basic/source/www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip";
    let mut archive = zip::ZipArchive::new(std::fs::File::open(fixture(path)).unwrap()).unwrap();
    let mut compared = 0;
    for number in 0..archive.len() {
        let mut member = archive.by_index(number).unwrap();
        let cik = member.name().unwrap()[3..13].to_owned();
        if cik.as_str() >= "0009900001" {
            continue;
        }
        let mut text = String::new();
        member.read_to_string(&mut text).unwrap();
        let files =
            captures.iter().map(|capture| capture.replace("{}", &cik)).chain(reduced.iter().filter(|known| known.0 == cik).map(|known| known.1.to_owned()));
        let originals = files.map(|file| folder.join(file)).filter(|file| file.is_file()).map(|file| std::fs::read(file).unwrap());
        let known: BTreeSet<String> = originals.flat_map(|bytes| facts(&serde_json::from_slice(&bytes).unwrap())).map(|fact| format!("{fact:?}")).collect();
        for fact in facts(&serde_json::from_str(&text).unwrap()) {
            assert!(known.contains(&format!("{fact:?}")), "{cik}: {fact:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 586);
}

/// The filings of a submissions member or page, by accession number: all arrays at that place.
fn filings(member: &serde_json::Value) -> BTreeMap<String, BTreeMap<String, serde_json::Value>> {
    let arrays = member.pointer("/filings/recent").unwrap_or(member).as_object().unwrap();
    let accessions = arrays["accessionNumber"].as_array().unwrap();
    let filing = |place: usize| arrays.iter().map(|(name, array)| (name.clone(), array[place].clone())).collect();
    accessions.iter().enumerate().map(|(place, accession)| (accession.as_str().unwrap().to_owned(), filing(place))).collect()
}

#[test]
fn published_filings_are_those_of_the_sec() {
    let Some(data) = shared_data() else { return };
    let path = fixture("sec/submissions/basic/source/www.sec.gov/Archives/edgar/daily-index/bulkdata/submissions.zip");
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut compared = 0;
    for place in 0..archive.len() {
        let mut member = archive.by_index(place).unwrap();
        let name = member.name().unwrap().into_owned();
        let Ok(original) = std::fs::read(data.join("sec/submissions").join(&name)) else { continue };
        let original: serde_json::Value = serde_json::from_slice(&original).unwrap();
        let ours: serde_json::Value = serde_json::from_reader(&mut member).unwrap();
        let known = filings(&original);
        for (accession, filing) in filings(&ours) {
            assert_eq!(filing, known[&accession], "{name} {accession}");
            compared += 1;
        }
        for key in ["cik", "name", "entityType", "sic", "tickers", "exchanges", "category", "fiscalYearEnd", "addresses", "formerNames"] {
            assert_eq!(ours.get(key), original.get(key), "{name} {key}");
        }
    }
    // All of the nine members and pages that are not synthetic.
    assert_eq!(compared, 324);
}

#[test]
fn published_records_of_registries_are_those_of_the_states() {
    let Some(data) = shared_data() else { return };
    let folder = data.join("general/business");
    let lines = |bytes: &[u8]| -> BTreeSet<Vec<u8>> { bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect() };
    let read = |path: PathBuf| std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut cases = Vec::new();
    for name in ["20230929c.txt", "20261001c.txt", "20261002c.txt"] {
        cases.push((read(fixture(&format!("business/fl_sunbiz/basic/source/sftp.floridados.gov/doc/cor/{name}"))), "20230929c.txt"));
    }
    let mut archive =
        zip::ZipArchive::new(std::fs::File::open(fixture("business/fl_sunbiz/basic/source/sftp.floridados.gov/doc/quarterly/cor/cordata.zip")).unwrap())
            .unwrap();
    for place in 0..archive.len() {
        let mut member = Vec::new();
        archive.by_index(place).unwrap().read_to_end(&mut member).unwrap();
        cases.push((member, "20230929c.txt"));
    }
    cases.push((
        read(fixture("business/ny_dos/api_header/source/data.ny.gov/api/views/n9v6-gdp6/rows.csv@accessType=DOWNLOAD")),
        "ny_active_corporations.excerpt.csv",
    ));
    let mut compared = 0;
    for (bytes, original) in cases {
        let known = lines(&read(folder.join(original)));
        let text = |line: &[u8]| String::from_utf8_lossy(line).to_uppercase();
        for line in lines(&bytes).into_iter().filter(|line| !text(line).contains("SYNTHETIC") && !text(line).contains("SINT")) {
            assert!(known.contains(&line), "not in {original}: {}", text(&line));
            compared += 1;
        }
    }
    // Five of Florida; header and four of New York.
    assert_eq!(compared, 5 + 5);

    // Iowa's list has columns more and days without a time since the copy was made: cell by cell.
    let rows = |bytes: &[u8]| -> Vec<BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_reader(bytes);
        reader.deserialize().map(Result::unwrap).collect()
    };
    let original = rows(&read(folder.join("ia_active_business_entities.excerpt.csv")));
    let archive = fixture("business/ia_sos/basic/source/idh-be.iowa.gov/api/v1/datasets/554/rows.csv");
    let ours: Vec<_> = crate::support::members(&archive).into_values().flat_map(|text| rows(text.as_bytes())).collect();
    let published: Vec<_> = ours.iter().filter(|row| !row["legal_name"].contains("SYNTHETIC")).collect();
    assert_eq!(published.len(), 6);
    for row in published {
        let same = original.iter().find(|other| other["corp_number"] == row["corp_number"]).unwrap();
        for (column, cell) in same {
            let cell = if column == "effective_date" { &cell[..10] } else { cell };
            assert_eq!(row[column], cell, "{column} of {row:?}");
        }
    }
}

/// Rows of permits that are called published are lines of the cities' files.
#[test]
fn published_permits_are_those_of_the_cities() {
    let Some(data) = shared_data() else { return };
    // Case, file, and how many lines at its end are synthetic.
    let cases = [
        ("austin/basic", "austin_3syk-w9eu.excerpt.csv", 0),
        ("chicago/basic", "chicago_Building_Permits.csv", 0),
        ("chicago/api_header", "chicago_ydr8-5enu.excerpt.csv", 1),
        ("la_before_2020/basic", "la_yv23-pmwf.excerpt.csv", 0),
        ("nola/basic", "nola_blds_72f9-bi28.excerpt.csv", 0),
        ("nyc_bis/basic", "nyc_dob_permit_issuance_2024_subset.csv", 0),
        ("nyc_bis/api_header", "nyc_ipu4-2q9a.excerpt.csv", 0),
        ("nyc_now/basic", "nyc_now_rbx6-tga4.excerpt.csv", 0),
        ("seattle/basic", "seattle_permits_cleaned_20251106.csv", 0),
        ("seattle_before_2018/basic", "seattle_mags-97de.excerpt.csv", 0),
        ("sf/export_of_2017", "sf_Building_Permits.csv", 0),
        ("sf/api_header", "sf_i98e-djp9.excerpt.csv", 0),
    ];
    for (case, file, synthetic) in cases {
        let original = std::fs::read(data.join("general/permits").join(file)).unwrap();
        let known: BTreeSet<&[u8]> = original.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).collect();
        let folder = fixture(&format!("permit/{case}/source"));
        let ours = crate::support::files_below(&folder).into_iter().find(|path| path.to_str().unwrap().contains("csv")).unwrap();
        let ours = std::fs::read(ours).unwrap();
        let lines: Vec<&[u8]> = ours.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty()).collect();
        for line in &lines[..lines.len() - synthetic] {
            assert!(known.contains(line), "{case}: {}", String::from_utf8_lossy(line));
        }
        assert!(lines[lines.len() - synthetic..].iter().all(|line| !known.contains(line)), "{case}: the last lines are called synthetic");
    }
}

/// Records of permits that are called published and stand in another layout than the city's file at hand: cell by cell.
#[test]
fn published_permits_in_the_layouts_of_today_have_the_cells_of_the_cities_files() {
    let Some(data) = shared_data() else { return };
    let original = |file: &str, key: &str| -> BTreeMap<String, BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_path(data.join("general/permits").join(file)).unwrap();
        let header: Vec<String> = reader.headers().unwrap().iter().map(|name| name.trim().to_owned()).collect();
        let rows = reader.records().map(|record| header.iter().cloned().zip(record.unwrap().iter().map(str::to_owned)).collect::<BTreeMap<_, _>>());
        rows.map(|row| (row[key].clone(), row)).collect()
    };
    let ours = |folder: &str| {
        std::fs::read_to_string(crate::support::files_below(&fixture(folder)).into_iter().find(|path| !path.ends_with(".pubdata-mirror")).unwrap()).unwrap()
    };

    let nashville = original("nashville_building_permits.csv", "ObjectId");
    let page: serde_json::Value = serde_json::from_str(&ours("permit/nashville/basic/source")).unwrap();
    let features = page["features"].as_array().unwrap();
    for feature in features {
        let row = &nashville[&feature["attributes"]["ObjectId"].to_string()];
        for (name, value) in feature["attributes"].as_object().unwrap() {
            let text = value.as_str().map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned);
            assert_eq!(Some(&text), row.get(name).or(Some(&String::new())), "{name} of {row:?}");
        }
    }
    assert_eq!(features.len(), 52);

    let san_francisco = original("sf_Building_Permits.csv", "Record ID");
    let text = ours("permit/sf/basic/source");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let place = |name: &str| header.iter().position(|column| column == name).unwrap();
    let mut compared = 0;
    for record in reader.records().map(Result::unwrap) {
        let row = &san_francisco[&record[place("Record ID")]];
        for (name, cell) in header.iter().zip(&record).filter(|(name, _)| row.contains_key(*name) && *name != "Location") {
            assert_eq!(cell, row[name], "{name}");
            compared += 1;
        }
        let expected = row["Location"].trim_matches(['(', ')']).split_once(", ").map(|(lat, lon)| format!("POINT ({lon} {lat})")).unwrap_or_default();
        assert_eq!(record[place("Location")], expected);
    }
    assert_eq!(compared, 10 * 39);
}
