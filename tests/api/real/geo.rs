//! Checks the geography family on complete real agency files: every area, and every figure that the
//! agencies' own downloads print.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow::array::AsArray;
use arrow::datatypes::Decimal128Type;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use pubdata_testing::{files_below, rows_below, shared_data};

/// Value, bound and margin in tenths, and whether a reason replaces the value.
type Metrics = HashMap<String, (Option<i64>, Option<i64>, Option<i64>, bool)>;

#[test]
fn real_geography_is_published_completely_and_figures_match() {
    let Some(data) = shared_data("census/acs") else {
        return;
    };
    let data = data.parent().unwrap().parent().unwrap().to_owned();
    let make_mirror = data.parent().unwrap().join("bin/make-mirror");
    let folder = tempfile::tempdir().unwrap();
    let (mirror, home) = (folder.path().join("mirror"), folder.path().join("home"));
    match Command::new("python3")
        .arg(&make_mirror)
        .arg(&data)
        .arg(&mirror)
        .output()
    {
        Ok(made) if make_mirror.is_file() => assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        ),
        _ => {
            eprintln!("skipped: no python3 or no {}", make_mirror.display());
            return;
        }
    }
    let run = Command::new(env!("CARGO_BIN_EXE_pubdata"))
        .args(["run", "census.acs5", "census.gazetteer", "nces"])
        .arg("--mirror")
        .arg(&mirror)
        .arg("--home")
        .arg(&home)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    assert!(matches!(run.status.code(), Some(0 | 10)), "{said}");

    let release = pubdata_testing::folders(&home.join("releases"))
        .pop()
        .unwrap();
    check_geographies(&release, &mirror);
    let zctas = metrics(&release.join("geo.zcta_metric"));
    let counties = metrics(&release.join("geo.county_metric"));
    for (metrics, vintage, areas) in [
        (&zctas, "2022", 33_772),
        (&zctas, "2023", 33_772),
        (&counties, "2022", 3_222),
        (&counties, "2023", 3_222),
    ] {
        let of_vintage = || {
            metrics
                .iter()
                .filter(|(id, _)| id.split(':').nth(1) == Some(vintage))
        };
        assert_eq!(of_vintage().count(), areas * 12, "{vintage}");
        assert!(
            of_vintage().all(|(_, (value, _, _, has_reason))| value.is_some() != *has_reason),
            "each has a value or a reason"
        );
    }
    assert_eq!(
        zctas["geo.zcta_metric:2023:90210:population"],
        (Some(196_520), None, Some(13_350), false)
    );
    assert_eq!(
        counties["geo.county_metric:2023:06037:median_household_income"],
        (Some(877_600), None, Some(4_630), false)
    );
    assert_eq!(
        counties["geo.county_metric:2022:06037:median_household_income"],
        (Some(834_110), None, Some(4_390), false)
    );
    check_figures(&data.join("census/acs"), &zctas, &counties);
}

/// Checks that every ZCTA is present with the county that holds the largest part of its land; in
/// Connecticut, with the region of the Bureau's map.
fn check_geographies(release: &Path, mirror: &Path) {
    let file = |ending: &str| {
        files_below(&mirror.join("www2.census.gov"))
            .into_iter()
            .find(|path| path.to_str().unwrap().ends_with(ending))
            .unwrap()
    };
    let mut largest: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
    for line in std::fs::read_to_string(file("tab20_zcta520_county20_natl.txt"))
        .unwrap()
        .lines()
        .skip(1)
    {
        let cells: Vec<&str> = line.split('|').collect();
        let part: (u64, u64, String) = (
            cells[16].parse().unwrap(),
            cells[17].parse().unwrap(),
            cells[9].to_owned(),
        );
        if !cells[1].is_empty()
            && largest
                .get(cells[1])
                .is_none_or(|known| (part.0, part.1) > (known.0, known.1))
        {
            largest.insert(cells[1].to_owned(), part);
        }
    }
    let regions = std::fs::read_to_string(pubdata_testing::project(
        "pipelines/census/ct_zcta_planning_region_2022.csv",
    ))
    .unwrap();
    let regions: HashMap<&str, &str> = regions
        .lines()
        .skip(1)
        .map(|line| (&line[..5], &line[6..11]))
        .collect();
    let geographies = rows_below(&release.join("geo.geography"));
    assert_eq!((geographies.len(), largest.len()), (33_791, 33_791));
    assert_eq!(rows_below(&release.join("geo.county")).len(), 3_222);
    let mut in_connecticut = 0;
    for (record, _) in geographies.values() {
        let zcta = record["zcta"].as_str().unwrap();
        let county = &largest[zcta].2;
        if county.starts_with("09") {
            in_connecticut += 1;
            assert_eq!(record["primary_county_fips"], regions[zcta], "{zcta}");
        } else {
            assert_eq!(record["primary_county_fips"], *county, "{zcta}");
        }
    }
    assert_eq!(in_connecticut, 288);
}

fn check_figures(acs: &Path, zctas: &Metrics, counties: &Metrics) {
    // Population: every ZCTA with its margin of error.
    let mut checked = 0;
    for row in download(&acs.join("ACSDT5Y2023.B01003-Data.csv"), "860Z200US") {
        assert_same(
            zctas,
            &format!("geo.zcta_metric:2023:{}:population", row.code),
            &row["B01003_001E"],
            &row["B01003_001M"],
        );
        checked += 1;
    }
    assert_eq!(checked, 33_772);
    // Tenure: shares computed here from the printed counts, rounded half up to a tenth.
    for row in download(&acs.join("ACSDT5Y2023.B25003-Data.csv"), "860Z200US") {
        let count = |column: &str| row[column].replace(',', "").parse::<i64>().unwrap();
        let whole = count("B25003_001E");
        for (metric, part) in [
            ("owner_occupied_share", "B25003_002E"),
            ("renter_occupied_share", "B25003_003E"),
        ] {
            let share = (whole > 0).then(|| (count(part) * 2_000 + whole) / (2 * whole));
            assert_eq!(
                zctas[&format!("geo.zcta_metric:2023:{}:{metric}", row.code)],
                (share, None, None, whole == 0),
                "{} {metric}",
                row.code
            );
        }
    }
    // Income and households: every county in both vintages, and the ZCTAs of the sample.
    for vintage in ["2022", "2023"] {
        let rows = download(
            &acs.join(format!("ACSST5Y{vintage}.S1901-Data.csv")),
            "0500000US",
        );
        assert_eq!(rows.len(), 3_222);
        for row in rows {
            let record =
                |metric: &str| format!("geo.county_metric:{vintage}:{}:{metric}", row.code);
            assert_same(
                counties,
                &record("median_household_income"),
                &row["S1901_C01_012E"],
                &row["S1901_C01_012M"],
            );
            assert_same(
                counties,
                &record("households"),
                &row["S1901_C01_001E"],
                &row["S1901_C01_001M"],
            );
        }
    }
    for row in download(
        &acs.join("ACSST5Y2023.S1901-Data.zcta_sample_600.csv"),
        "860Z200US",
    ) {
        assert_same(
            zctas,
            &format!("geo.zcta_metric:2023:{}:median_household_income", row.code),
            &row["S1901_C01_012E"],
            &row["S1901_C01_012M"],
        );
    }
    // Education: derived from counts, equal to the percentages that the Bureau prints, without a
    // margin of error.
    let rows = download(
        &acs.join("ACSST5Y2023.S1501-Data.zcta_sample_600.csv"),
        "860Z200US",
    );
    assert_eq!(rows.len(), 600);
    for row in rows {
        for (metric, column) in [
            ("high_school_attainment", "S1501_C02_014E"),
            ("bachelors_attainment", "S1501_C02_015E"),
        ] {
            let printed = if row[column] == "-" {
                None
            } else {
                Some(tenths(&row[column]))
            };
            assert_eq!(
                zctas[&format!("geo.zcta_metric:2023:{}:{metric}", row.code)],
                (printed, None, None, printed.is_none()),
                "{} {metric}",
                row.code
            );
        }
    }
}

/// Asserts that a record equals the pair of cells that data.census.gov prints.
#[track_caller]
fn assert_same(metrics: &Metrics, record_id: &str, estimate: &str, moe: &str) {
    let (value, bound) = match estimate {
        "-" | "N" | "(X)" | "null" => (None, None),
        open if open.ends_with(['+', '-']) => {
            (None, Some(tenths(open.trim_end_matches(['+', '-']))))
        }
        value => (Some(tenths(value)), None),
    };
    let moe = (!matches!(moe, "**" | "***" | "*****" | "N" | "(X)" | "null")).then(|| tenths(moe));
    assert_eq!(
        metrics[record_id],
        (value, bound, moe, value.is_none()),
        "{record_id}: {estimate} ± {moe:?}"
    );
}

/// Reads `1,234.5` in tenths.
fn tenths(text: &str) -> i64 {
    let text = text.replace(',', "");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
    assert_eq!(fraction.len(), 1, "{text}");
    whole.parse::<i64>().unwrap() * 10 + fraction.parse::<i64>().unwrap()
}

/// Row of a download: code of its area, and cells by column.
struct Row {
    code: String,
    cells: HashMap<String, String>,
}

impl std::ops::Index<&str> for Row {
    type Output = String;

    fn index(&self, column: &str) -> &String {
        &self.cells[column]
    }
}

/// Reads the rows of one level of a data.census.gov download without the program's decoders.
fn download(path: &Path, prefix: &str) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(path)
        .unwrap();
    let names: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(|name| {
            name.trim_start_matches('\u{feff}')
                .trim_matches('"')
                .to_owned()
        })
        .collect();
    let is_selected = |name: &str| {
        matches!(name, "GEO_ID" | "B01003_001E" | "B01003_001M")
            || name.starts_with("B25003_")
            || name.starts_with("S1901_C01_0")
            || name.starts_with("S1501_C02_01")
    };
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.unwrap();
        let cells: HashMap<String, String> = names
            .iter()
            .zip(&record)
            .filter(|(name, _)| is_selected(name))
            .map(|(name, cell)| (name.clone(), cell.to_owned()))
            .collect();
        if let Some(code) = cells["GEO_ID"].strip_prefix(prefix) {
            rows.push(Row {
                code: code.to_owned(),
                cells: cells.clone(),
            });
        }
    }
    rows
}

/// Value, bound, margin and presence of a reason, for every record below a folder.
fn metrics(folder: &Path) -> Metrics {
    let mut metrics = HashMap::new();
    let is_part = |file: &PathBuf| {
        file.extension()
            .is_some_and(|extension| extension == "parquet")
    };
    for file in files_below(folder).into_iter().filter(is_part) {
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(Bytes::from(std::fs::read(file).unwrap()))
                .unwrap();
        let mask = ProjectionMask::columns(
            builder.parquet_schema(),
            ["record_id", "value", "bound", "moe", "null_reason"],
        );
        for batch in builder.with_projection(mask).build().unwrap() {
            let batch = batch.unwrap();
            let column = |name: &str| batch.column_by_name(name).unwrap();
            let decimal = |name: &str, row: usize| {
                let cells = column(name).as_primitive::<Decimal128Type>();
                (!column(name).is_null(row)).then(|| tenths(&cells.value_as_string(row)))
            };
            for (row, record_id) in column("record_id").as_string::<i32>().iter().enumerate() {
                metrics.insert(
                    record_id.unwrap().to_owned(),
                    (
                        decimal("value", row),
                        decimal("bound", row),
                        decimal("moe", row),
                        !column("null_reason").is_null(row),
                    ),
                );
            }
        }
    }
    metrics
}
