//! Checks `pubdata releases duckdb` without DuckDB: which files the views read, and what the
//! command refuses. `peers::views` checks the contents.

use pubdata_testing::objects::ObjectServer;
use pubdata_testing::{Answer, Place, answer, copy_folder, project};

/// Returns the files that a script reads.
fn files(script: &str) -> Vec<&str> {
    script
        .lines()
        .filter_map(|line| {
            line.strip_prefix("  '")?
                .trim_end_matches(',')
                .strip_suffix('\'')
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_of_a_bucket_read_the_addresses_of_its_parts() {
    let server = ObjectServer::start(&[]).await;
    let environment = server.environment();
    let script = tokio::task::spawn_blocking(move || {
        let place = Place::new();
        let ask = |mut command: std::process::Command| {
            answer(
                command
                    .args(["--store", "s3://bucket/night/"])
                    .envs(environment.clone()),
            )
            .expect(0)
        };
        ask(place.run_command(&["permit.nola", "permit.austin"]));
        ask(place.command(&["releases", "duckdb"])).stdout
    });
    let script = script.await.unwrap();
    let keys: Vec<String> = server
        .keys()
        .iter()
        .filter(|key| key.ends_with(".parquet"))
        .map(|key| format!("s3://bucket/{key}"))
        .collect();
    assert!(keys.len() >= 4, "{keys:?}");
    let mut files = files(&script);
    files.sort_unstable();
    assert_eq!(files, keys);
}

#[test]
fn views_of_a_folder_read_existing_files_and_the_script_is_written() {
    let place = Place::published();
    let script = place.pubdata(&["releases", "duckdb"]).expect(0).stdout;
    let files = files(&script);
    assert!(
        files.len() > 100
            && files
                .iter()
                .all(|file| std::path::Path::new(file).is_file()),
        "{files:?}"
    );
    let mut beside = place.command(&[
        "releases",
        "duckdb",
        &place.current(),
        "--output",
        "views.sql",
    ]);
    assert_eq!(
        answer(beside.current_dir(place.root())).expect(0).stdout,
        ""
    );
    assert_eq!(
        std::fs::read_to_string(place.root().join("views.sql")).unwrap(),
        script
    );
    let elsewhere = place
        .pubdata(&[
            "releases",
            "duckdb",
            "--location",
            "https://data.example.org/r/",
        ])
        .expect(0)
        .stdout;
    assert_eq!(
        elsewhere
            .matches("\n  'https://data.example.org/r/geo.school/part-0.parquet'\n")
            .count(),
        1,
        "{elsewhere}"
    );
}

#[test]
fn views_of_another_contract_omit_its_descriptions() {
    let place = Place::published();
    let declarations = place.root().join("declarations");
    ["pipelines", "schemas"]
        .iter()
        .for_each(|folder| copy_folder(&project(folder), &declarations.join(folder)));
    let contract = declarations.join("schemas/geo/school.toml");
    let text = std::fs::read_to_string(&contract).unwrap();
    let version = text
        .lines()
        .find(|line| line.starts_with("version = "))
        .unwrap();
    std::fs::write(&contract, text.replacen(version, "version = \"99.0.0\"", 1)).unwrap();
    let script = place
        .pubdata(&[
            "releases",
            "duckdb",
            "--declarations",
            declarations.to_str().unwrap(),
        ])
        .expect(0)
        .stdout;
    assert!(
        script.contains("VIEW \"geo\".\"school\" AS") && !script.contains("\"geo\".\"school\" IS"),
        "{script}"
    );
    assert!(
        !script.contains("COLUMN \"geo\".\"school\"")
            && script.contains("COLUMN \"geo\".\"county\""),
        "{script}"
    );
}

#[test]
fn paths_that_duckdb_would_misread_are_refused_with_a_hint() {
    let place = Place::published();
    let reported = |arguments: &[&str], says: &[&str]| {
        let Answer { stderr, .. } = place
            .pubdata(&[&["releases", "duckdb"], arguments].concat())
            .expect(40);
        says.iter()
            .for_each(|text| assert!(stderr.contains(text), "{arguments:?}: {stderr}"));
    };
    reported(
        &["--location", "/data/2026*"],
        &["`/data/2026*`", "'*'", "--location"],
    );
    reported(&["--location", "/data/[a]"], &["'['"]);
    reported(&["--location", "/data/a\nDROP TABLE x;"], &["'\\n'"]);
    reported(&["--location", ""], &["no --location", "`--location .`"]);
    reported(&["nonsense"], &["nonsense", "`pubdata releases list`"]);
    let absent = place
        .pubdata(&["releases", "duckdb", "r00000000000000000000"])
        .expect(60);
    assert!(
        absent
            .stderr
            .contains("there is no release r00000000000000000000"),
        "{}",
        absent.stderr
    );
    let unwritten = place
        .pubdata(&[
            "releases",
            "duckdb",
            "--output",
            "/no/such/folder/views.sql",
        ])
        .expect(60);
    assert!(
        unwritten.stderr.contains("/no/such/folder/views.sql"),
        "{}",
        unwritten.stderr
    );
}
