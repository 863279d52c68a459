use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;

const PIPELINE: &str = r#"# A pipeline of two sources.
pipeline_id = "test.parcels"
title = "Parcels"
publisher = "A county"
licence = "Public domain"
homepage = "https://example.org/"
cadence = "yearly"
produces = ["test.parcel"]
inputs = ["census.zcta_county"]

[partition]
variable = "vintage"
column = "vintage_year"
from = 2021
to = 2030
earlier = "not before 2021"

[[source]]
source_id = "test.parcel_list"
url = "https://example.org/{vintage}/{part}.csv"
variables = { part = ["a", "b"] }
source_version = "{vintage}"
format = { kind = "delimited", delimiters = [","], quoting = true }
columns = { parcel = ["PARCEL_NO"], name = ["OWNER", "OWNER_NAME"] }
ignore = ["REMARK"]
min_bytes = 100
evidence = { kind = "file", seen = "2026-02" }
[[source]]
source_id = "test.parcel_owners"
evidence = { kind = "documented", seen = "2026-02" }
url = "https://example.org/{vintage}/owners.txt"
source_version = "{vintage-1}"
format = { kind = "delimited", delimiters = ["|"], quoting = false, header = ["PARCEL_NO", "SHARE", "NOTE"] }
columns = { parcel = ["PARCEL_NO"], share = ["SHARE"] }
ignore = ["NOTE"]
optional_columns = ["share"]

[expect."test.parcel"]
min_rows = 10
max_rows = 20
max_shrink_percent = 5.0
max_growth_percent = 5.0
warn_quarantined_percent = 0.1
max_quarantined_percent = 1.0
"#;

const CONTRACT: &str = r#"dataset_id = "test.parcel"
version = "1.0.0"
title = "Parcels"
grain = "One row per vintage and parcel."
primary_key = ["vintage_year", "parcel"]
sort_by = ["vintage_year", "parcel"]
partition_by = ["vintage_year"]

[[column]]
name = "record_id"
type = "record_id"

[[column]]
name = "vintage_year"
type = "year"

[[column]]
name = "parcel"
type = "text"
description = "Number of the parcel."

[[column]]
name = "validation_status"
type = "validation_status"

[[column]]
name = "source_pointers"
type = "pointers"

[[invariant]]
code = "parcel_known"
rule = "present_iff"
columns = ["parcel"]
where = { column = "record_id", equals = "x" }
description = "Shows the layout."
"#;

const PIPELINE_PATH: &str = "pipelines/test/parcels.toml";
const CONTRACT_PATH: &str = "schemas/test/parcel.toml";

/// Returns the findings of `pubdata check` after a change to the pipeline or the contract above.
fn findings_after(path: &str, from: &str, to: &str) -> Vec<String> {
    let original = if path == PIPELINE_PATH {
        PIPELINE
    } else {
        CONTRACT
    };
    assert!(
        original.contains(from),
        "no `{from}` in {path}: the case would test no change"
    );
    let changed = original.replacen(from, to, 1);
    let files = DeclarationFiles::built_in().with(&[
        (PIPELINE_PATH, PIPELINE),
        (CONTRACT_PATH, CONTRACT),
        (path, &changed),
    ]);
    Declarations::check(files)
        .1
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn built_in_declarations_have_no_findings() {
    let (_, findings) = Declarations::check(DeclarationFiles::built_in());
    assert_eq!(findings, Vec::new());
}

#[test]
fn pipeline_and_contract_beside_the_built_in_ones_are_read() {
    assert_eq!(findings_after(PIPELINE_PATH, "", ""), Vec::<String>::new());
}

#[test]
fn every_fault_of_a_pipeline_is_named_with_file_line_and_key() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "cadence = ",
            "cadance = ",
            &[
                "pipelines/test/parcels.toml:7: cadance: unknown field `cadance`, expected one of `pipeline_id`, `builder`, `title`, `publisher`, `licence`, `homepage`, `cadence`, `calendar`, `open`, `covers`, `produces`, `inputs`, `builds_on`, `partition`, `source`, `buckets`, `expect`, `settings`; did you mean `cadence`?",
            ],
        ),
        (
            "cadence = \"yearly\"\n",
            "",
            &["pipelines/test/parcels.toml:1: cadence: missing field `cadence`"],
        ),
        (
            "\"yearly\"",
            "\"sometimes\"",
            &[
                "pipelines/test/parcels.toml:7: cadence: unknown variant `sometimes`, expected one of `daily`, `weekly`, `monthly`, `quarterly`, `yearly`",
            ],
        ),
        (
            "\"Parcels\"",
            "Parcels",
            &[
                "pipelines/test/parcels.toml:3: title: string values must be quoted, expected literal string",
            ],
        ),
        (
            "min_bytes = 100",
            "min_bytes = \"100\"",
            &[
                "pipelines/test/parcels.toml:26: source.min_bytes: invalid type: string \"100\", expected u64",
            ],
        ),
        (
            "pipeline_id = \"test.parcels\"",
            "pipeline_id = \"test.parcel\"",
            &[
                "pipelines/test/parcels.toml:2: pipeline_id: is `test.parcel`, but the file's path requires `test.parcels`",
            ],
        ),
        (
            "[expect.\"test.parcel\"]",
            "[expect.\"test.parcels\"]",
            &[
                "pipelines/test/parcels.toml:8: produces: `test.parcel` has no [expect.\"test.parcel\"] table: floors and drift must be declared",
                "pipelines/test/parcels.toml:38: expect.\"test.parcels\": `test.parcels` is not produced here",
            ],
        ),
        (
            "max_shrink_percent = 5.0\n",
            "",
            &[
                "pipelines/test/parcels.toml:38: expect.\"test.parcel\".max_shrink_percent: missing field `max_shrink_percent`",
            ],
        ),
        (
            "\"test.parcel_owners\"",
            "\"test.parcel_list\"",
            &[
                "pipelines/test/parcels.toml:29: source.source_id: source `test.parcel_list`: is already declared in `test.parcels`",
            ],
        ),
        (
            "\"test.parcel_owners\"",
            "\"census.acs5_geos\"",
            &[
                "pipelines/test/parcels.toml:29: source.source_id: source `census.acs5_geos`: is already declared in `census.acs5`",
            ],
        ),
        (
            "{vintage}/owners",
            "{vintge}/owners",
            &[
                "pipelines/test/parcels.toml:31: source.url: source `test.parcel_owners`: unknown variable `{vintge}` in `https://example.org/{vintge}/owners.txt`",
            ],
        ),
        (
            "\"{vintage-1}\"",
            "\"{vintage-1\"",
            &[
                "pipelines/test/parcels.toml:32: source.source_version: source `test.parcel_owners`: `{` without `}` in `{vintage-1`",
            ],
        ),
        (
            "\"https://example.org/{vintage}/owners.txt\"",
            "\"ftp://example.org/{vintage}\"",
            &[
                "pipelines/test/parcels.toml:31: source.url: source `test.parcel_owners`: the URL must start with https://, sftp://, file:// or bundled:",
            ],
        ),
        (
            "\"https://example.org/{vintage}/owners.txt\"",
            "\"bundled:test/owners.txt\"",
            &[
                "pipelines/test/parcels.toml:31: source.url: source `test.parcel_owners`: there is no file pipelines/test/owners.txt",
            ],
        ),
        (
            "produces = [\"test.parcel\"]",
            "produces = [\"test.parcel\", \"test.owner\"]",
            &[
                "pipelines/test/parcels.toml:8: produces: `test.owner` has no contract; expected schemas/test/owner.toml",
                "pipelines/test/parcels.toml:8: produces: `test.owner` has no [expect.\"test.owner\"] table: floors and drift must be declared",
            ],
        ),
        (
            "census.zcta_county",
            "census.zcta_town",
            &[
                "pipelines/test/parcels.toml:9: inputs: no declaration has a source `census.zcta_town`",
            ],
        ),
        (
            "\"NOTE\"]\noptional",
            "\"NOTE\", \"SHARE\"]\noptional",
            &[
                "pipelines/test/parcels.toml:35: source.ignore: source `test.parcel_owners`: column `SHARE` is both mapped and ignored",
            ],
        ),
        (
            "ignore = [\"NOTE\"]\n",
            "",
            &[
                "pipelines/test/parcels.toml:33: source.format: source `test.parcel_owners`: column `NOTE` of `header` is neither mapped nor ignored",
            ],
        ),
        (
            "optional_columns = [\"share\"]",
            "optional_columns = [\"SHARE\"]",
            &[
                "pipelines/test/parcels.toml:36: source.optional_columns: source `test.parcel_owners`: `SHARE` is not a mapped column",
            ],
        ),
        (
            "min_bytes = 100",
            "min_bytes = 100\nmax_bytes = 99",
            &[
                "pipelines/test/parcels.toml:26: source.min_bytes: source `test.parcel_list`: larger than max_bytes",
            ],
        ),
        (
            "min_bytes = 100",
            "pages = { variable = \"offset\", records = 0 }",
            &[
                "pipelines/test/parcels.toml:26: source.pages: source `test.parcel_list`: the URL has no variable `{offset}`",
                "pipelines/test/parcels.toml:26: source.pages: source `test.parcel_list`: pages have records, are delimited text or JSON records, are not packed and not fetched on demand",
            ],
        ),
        (
            "column = \"vintage_year\"",
            "column = \"vintage\"",
            &[
                "pipelines/test/parcels.toml:13: partition.column: `test.parcel` is not partitioned by `vintage`",
            ],
        ),
        (
            "from = 2021",
            "from = 2031",
            &["pipelines/test/parcels.toml:14: partition.from: 2031 is after `to` 2030"],
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(
            findings_after(PIPELINE_PATH, from, to),
            *expected,
            "after {from:?} became {to:?}"
        );
    }
}

#[test]
fn key_missing_at_the_end_is_reported_at_the_last_line() {
    for (text, line) in [
        ("pipeline_id = \"test.parcels\"\n[settings.status\n", 2),
        ("a = [\n\n\n", 1),
        ("", 1),
        ("a = \"é", 1),
    ] {
        let (_, findings) = Declarations::check(
            DeclarationFiles::built_in().with(&[("pipelines/test/parcels.toml", text)]),
        );
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.line)
                .collect::<Vec<_>>(),
            [line],
            "{text:?}: {findings:?}"
        );
    }
}

#[test]
fn every_fault_of_a_calendar_is_named_with_file_line_and_key() {
    let with_range = |range: &str| format!("variables = {{ part = {{ {range} }} }}");
    let list = "variables = { part = [\"a\", \"b\"] }";
    let cases: &[(&str, String, &[&str])] = &[
        (
            "cadence = \"yearly\"",
            "cadence = \"yearly\"\ncalendar = { every = \"year\", after = \"soon\" }".to_owned(),
            &["pipelines/test/parcels.toml:8: calendar: `after`: `soon` is not a time such as `15 days`, `2 weeks`, `23 months` or `1 year`"],
        ),
        (
            "cadence = \"yearly\"",
            "cadence = \"yearly\"\ncalendar = { every = \"fortnight\" }".to_owned(),
            &[
                "pipelines/test/parcels.toml:8: calendar: unknown variant `fortnight`, expected one of `day`, `business_day`, `week`, `month`, `quarter`, `year`, `never`",
            ],
        ),
        (
            "min_bytes = 100",
            "calendar = { every = \"day\", at = \"03:00 EST5\" }".to_owned(),
            &[
                "pipelines/test/parcels.toml:26: source.calendar: source `test.parcel_list`: `at`: `03:00 EST5` names an unknown zone, `EST5`; write it as `03:00 America/New_York`",
            ],
        ),
        ("to = 2030\n", "".to_owned(), &[]),
        ("cadence = \"yearly\"", "cadence = \"yearly\"\ncalendar = { every = \"quarter\" }".to_owned(), &[]),
        (list, with_range("from = \"2019\", to = \"now\""), &[]),
        (
            list,
            with_range("from = \"Q1\", to = \"now\""),
            &[
                "pipelines/test/parcels.toml:21: source.variables: source `test.parcel_list`: `part`: `from`: `Q1` is not a label of a known form: 2009, 2425, 2009/QTR2, 2026-09, September_2026, 20230929 or 2023-09-29",
            ],
        ),
        (
            list,
            with_range("from = \"2019\", to = \"2018\""),
            &["pipelines/test/parcels.toml:21: source.variables: source `test.parcel_list`: `part`: `from`: `2019` is after `to`, `2018`"],
        ),
        (
            list,
            with_range("from = \"2026-09\", to = \"now\""),
            &[
                "pipelines/test/parcels.toml:21: source.variables: source `test.parcel_list`: `part`: labels such as `2026-09` need a calendar with the same step: give the source a `calendar` with `every = \"month\"`",
            ],
        ),
        (
            list,
            "variables = { part = { from = \"2019\", to = \"now\" }, other = { from = \"2019\", to = \"now\" } }".to_owned(),
            &["pipelines/test/parcels.toml:21: source.variables: source `test.parcel_list`: one variable of a source can be a range of labels, not several"],
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(
            findings_after(PIPELINE_PATH, from, to),
            *expected,
            "after {from:?} became {to:?}"
        );
    }
    let unending = PIPELINE.replacen("to = 2030\n", "", 1).replacen(
        "cadence = \"yearly\"",
        "cadence = \"yearly\"\ncalendar = { every = \"quarter\" }",
        1,
    );
    let files =
        DeclarationFiles::built_in().with(&[(PIPELINE_PATH, &unending), (CONTRACT_PATH, CONTRACT)]);
    let findings: Vec<String> = Declarations::check(files)
        .1
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        findings,
        [
            "pipelines/test/parcels.toml:13: partition.variable: partitions by `vintage` without `to` need a calendar of years: `calendar = { every = \"year\", after = \"…\" }`"
        ]
    );
}

#[test]
fn every_fault_of_a_format_is_named_with_file_line_and_key() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "delimiters = [\"|\"]",
            "delimiters = []",
            &[
                "pipelines/test/parcels.toml:33: source.format: source `test.parcel_owners`: `delimiters`: give at least one ASCII delimiter",
            ],
        ),
        (
            "kind = \"delimited\", delimiters = [\"|\"]",
            "kind = \"shapefile\", delimiters = [\"|\"]",
            &[
                "pipelines/test/parcels.toml:33: source.format: unknown variant `shapefile`, expected one of `delimited`, `fixed_width`, `json_rows`, `json_records`, `xlsx`, `document`",
            ],
        ),
        (
            "quoting = true",
            "quoting = true, normalized_header = true",
            &[
                "pipelines/test/parcels.toml:24: source.columns: source `test.parcel_list`: `OWNER` is never found in a normalized header: write `owner`",
                "pipelines/test/parcels.toml:24: source.columns: source `test.parcel_list`: `OWNER_NAME` is never found in a normalized header: write `owner_name`",
                "pipelines/test/parcels.toml:24: source.columns: source `test.parcel_list`: `PARCEL_NO` is never found in a normalized header: write `parcel_no`",
                "pipelines/test/parcels.toml:25: source.ignore: source `test.parcel_list`: `REMARK` is never found in a normalized header: write `remark`",
            ],
        ),
        (
            "optional_columns = [\"share\"]",
            "optional_columns = [\"share\"]\n\n[source.listing]\npattern = 'owners_(?<year>\\d{4}.txt'\nper = []\nnewest_by = [\"year\"]",
            &[
                "pipelines/test/parcels.toml:39: source.listing.pattern: source `test.parcel_owners`: `owners_(?<year>\\d{4}.txt` is not a usable regular expression: unclosed group",
                "pipelines/test/parcels.toml:28: source.listing: source `test.parcel_owners`: the URL is the page's: without variables and pages, and not on demand",
            ],
        ),
        (
            "kind = \"delimited\", delimiters = [\"|\"], quoting = false, header = [\"PARCEL_NO\", \"SHARE\", \"NOTE\"]",
            "kind = \"fixed_width\", record_bytes = 9, fields = { PARCEL_NO = [0, 4], SHARE = [5, 6], NAME = [2, 8] }",
            &[
                "pipelines/test/parcels.toml:33: source.format: source `test.parcel_owners`: column `NAME` of `fields` is neither mapped nor ignored",
                "pipelines/test/parcels.toml:33: source.format: source `test.parcel_owners`: field `PARCEL_NO` does not lie within bytes 1 to 9",
                "pipelines/test/parcels.toml:33: source.format: source `test.parcel_owners`: field `SHARE` does not lie within bytes 1 to 9",
            ],
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(
            findings_after(PIPELINE_PATH, from, to),
            *expected,
            "after {from:?} became {to:?}"
        );
    }
}

#[test]
fn every_fault_of_a_contract_is_named_with_file_line_and_key() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "dataset_id = \"test.parcel\"",
            "dataset_id = \"test.plot\"",
            &[
                "schemas/test/parcel.toml:1: dataset_id: is `test.plot`, but the file's path requires `test.parcel`",
                "pipelines/test/parcels.toml:8: produces: `test.parcel` has no contract; expected schemas/test/parcel.toml",
            ],
        ),
        (
            "version = \"1.0.0\"",
            "version = \"1.0\"",
            &["schemas/test/parcel.toml:2: version: `1.0` is not a semantic version such as 1.0.0"],
        ),
        (
            "type = \"text\"",
            "type = \"txt\"",
            &[
                "schemas/test/parcel.toml:19: column.type: column `parcel`: type `txt` is not in schemas/_types.toml",
                "schemas/test/parcel.toml:5: primary_key: there is no column `parcel`",
                "schemas/test/parcel.toml:6: sort_by: there is no column `parcel`",
                "schemas/test/parcel.toml:33: invariant.columns: invariant `parcel_known`: there is no column `parcel`",
            ],
        ),
        (
            "name = \"parcel\"\ntype = \"text\"",
            "name = \"record_id\"\ntype = \"record_id\"",
            &[
                "schemas/test/parcel.toml:18: column.name: column `record_id` is declared twice",
                "schemas/test/parcel.toml:5: primary_key: there is no column `parcel`",
                "schemas/test/parcel.toml:6: sort_by: there is no column `parcel`",
                "schemas/test/parcel.toml:33: invariant.columns: invariant `parcel_known`: there is no column `parcel`",
            ],
        ),
        (
            "sort_by = [\"vintage_year\", \"parcel\"]",
            "sort_by = [\"parcel_no\"]",
            &["schemas/test/parcel.toml:6: sort_by: there is no column `parcel_no`"],
        ),
        (
            "columns = [\"parcel\"]",
            "columns = [\"plot\"]",
            &[
                "schemas/test/parcel.toml:33: invariant.columns: invariant `parcel_known`: there is no column `plot`",
            ],
        ),
        (
            "columns = [\"parcel\"]",
            "columns = []",
            &[
                "schemas/test/parcel.toml:33: invariant.columns: invariant `parcel_known` names no column",
            ],
        ),
        (
            "rule = \"present_iff\"",
            "rule = \"present_if\"",
            &[
                "schemas/test/parcel.toml:32: invariant.rule: unknown variant `present_if`, expected one of `exactly_one_of`, `all_or_none`, `present_iff`, `present_unless`, `range_where`, `in_order`, `sum_within`",
                "pipelines/test/parcels.toml:8: produces: `test.parcel` has no contract; expected schemas/test/parcel.toml",
            ],
        ),
        (
            "name = \"source_pointers\"",
            "name = \"pointers\"",
            &[
                "schemas/test/parcel.toml:1: dataset_id: every contract needs a column `source_pointers`",
            ],
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(
            findings_after(CONTRACT_PATH, from, to),
            *expected,
            "after {from:?} became {to:?}"
        );
    }
}
