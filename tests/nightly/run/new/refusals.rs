//! Checks that `pubdata new` does not overwrite files, guess unknowable facts, or start without
//! knowledge. Each refusal names subject, place and hint.

use super::{begin, new};
use pubdata_testing::{Place, files_below};

const URL: &str = "https://data.example.org/permits.csv";
const ROWS: &str = "Permit Number,Status,Address\nA-1,Issued,1 Elm St\nA-2,Issued,2 Elm St\n";

#[test]
fn impossible_new_source_is_refused_with_a_hint() {
    let place = Place::new();
    let path = place.root().join("publisher/data.example.org");
    std::fs::create_dir_all(&path).unwrap();
    let put = |text: &str| std::fs::write(path.join("permits.csv"), text).unwrap();
    put(ROWS);
    for (kind, jurisdiction, url, more, code, says) in [
        (
            "license",
            "us-co-denver",
            URL,
            &[][..],
            40,
            "it knows `permit`",
        ),
        ("permits", "us-co-denver", URL, &[], 40, "it knows `permit`"),
        ("permit", "denver", URL, &[], 40, "us-co-denver"),
        ("permit", "us-co-denver", URL, &[], 40, "it is built in"),
        (
            "permit",
            "us-co-boulder",
            "permits.csv",
            &[],
            40,
            "must begin with https://",
        ),
        (
            "permit",
            "us-co-boulder",
            "https://data.example.org/x?offset={offset}",
            &[],
            40,
            "how many records a page has",
        ),
        (
            "permit",
            "us-co-boulder",
            "https://data.example.org/x?year={year}",
            &[],
            40,
            "only `{offset}`",
        ),
        (
            "permit",
            "us-co-boulder",
            "https://data.example.org/none.csv",
            &[],
            30,
            "put the file at DIR/data.example.org/none.csv",
        ),
        (
            "permit",
            "us-co-boulder",
            URL,
            &["--column", "permit_number=Case No"],
            40,
            "the file has no column `Case No`",
        ),
        (
            "permit",
            "us-co-boulder",
            URL,
            &["--column", "number=Status"],
            40,
            "no column of pubdata",
        ),
        (
            "permit",
            "us-co-boulder",
            URL,
            &["--column", "status"],
            40,
            "OURS=THEIRS",
        ),
        (
            "permit",
            "us-co-boulder",
            URL,
            &["--name", "../boulder"],
            40,
            "no name of a list",
        ),
    ] {
        let (mirror, folder) = (place.root().join("publisher"), place.root().join("lists"));
        let fixed = [
            "new",
            kind,
            jurisdiction,
            "--url",
            url,
            "--mirror",
            mirror.to_str().unwrap(),
            "--declarations",
            folder.to_str().unwrap(),
        ];
        let answer = place.pubdata(&[&fixed, more].concat()).expect(code);
        assert!(
            answer.stderr.contains(says),
            "{jurisdiction} {url}: {}",
            answer.stderr
        );
    }
    for (text, code, says) in [
        ("<!doctype html><html></html>", 20, "a web page"),
        (
            "Name,Address\nx,1 Elm St\n",
            40,
            "--column permit_number=NAME",
        ),
        (
            "Permit Number,Status\nA-1,Issued\n",
            40,
            "--column line1=NAME",
        ),
        ("Permit Number,Status,Address\n", 20, "no whole record"),
    ] {
        put(text);
        let answer = new(&place, "us-co-boulder", URL, &[]).expect(code);
        assert!(answer.stderr.contains(says), "{text}: {}", answer.stderr);
    }
    assert!(
        !place.root().join("lists").exists() && !place.home().exists(),
        "no file is left behind"
    );
}

#[test]
fn existing_files_are_not_overwritten() {
    let started = begin("us-co-boulder", URL, ROWS.as_bytes(), &[]);
    let declaration = started.folder.join("pipelines/permit/boulder.toml");
    std::fs::write(
        &declaration,
        format!("{}\n# by hand\n", started.declaration()),
    )
    .unwrap();
    let refused = new(&started.place, "us-co-boulder", URL, &[]).expect(40);
    assert!(
        refused.stderr.contains("pipelines/permit/boulder.toml")
            && refused.stderr.contains("--name")
            && refused.stderr.contains("--force"),
        "{refused:#?}"
    );
    assert!(started.declaration().contains("# by hand"));
    let before = files_below(&started.folder).len();
    new(
        &started.place,
        "us-co-boulder",
        URL,
        &["--name", "boulder_second"],
    )
    .expect(0);
    assert_eq!(
        files_below(&started.folder).len(),
        before + 4,
        "one declaration and the files of one fixture"
    );
    assert!(started.declaration().contains("# by hand"));
    let second =
        std::fs::read_to_string(started.folder.join("pipelines/permit/boulder_second.toml"))
            .unwrap();
    assert!(
        second.contains("`permit.boulder` publishes permits of us-co-boulder already"),
        "{second}"
    );
    new(&started.place, "us-co-boulder", URL, &["--force"]).expect(0);
    assert!(!started.declaration().contains("# by hand"));
}

/// An operator's folder keeps its files: one source is added and no other.
#[test]
fn operators_folder_gets_one_more_source() {
    let place = Place::new();
    let folder = place.root().join("lists");
    pubdata_testing::copy_folder(
        &pubdata_testing::project("schemas"),
        &folder.join("schemas"),
    );
    std::fs::create_dir_all(folder.join("pipelines")).unwrap();
    let file = place.root().join("permits.csv");
    std::fs::write(&file, ROWS).unwrap();
    let answer = new(
        &place,
        "us-co-boulder",
        URL,
        &["--file", file.to_str().unwrap()],
    )
    .expect(0);
    assert_eq!(
        (&answer.json()["is_new_folder"], &answer.json()["evidence"]),
        (&false.into(), &"file".into())
    );
    let declared: Vec<_> = files_below(&folder.join("pipelines"));
    assert_eq!(declared, [folder.join("pipelines/permit/boulder.toml")]);
    place
        .pubdata(&["check", "--declarations", folder.to_str().unwrap()])
        .expect(0);
    // The built-in declarations still teach it words.
    assert_eq!(answer.json()["words"][0]["ours"], "active", "{answer:#?}");
}

/// A mirror of samples is not the publisher: no file of the publisher was seen.
#[test]
fn rows_of_a_mirror_of_samples_count_as_documentation() {
    let place = Place::new();
    let path = place.root().join("publisher/data.example.org/permits.csv");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, ROWS).unwrap();
    std::fs::write(
        place.root().join("publisher/.pubdata-mirror"),
        "sample = true\n",
    )
    .unwrap();
    let report = new(&place, "us-co-boulder", URL, &[]).expect(0).json();
    assert_eq!(report["evidence"], "documented");
}

#[test]
fn report_shows_columns_decisions_and_commands_on_one_page() {
    let place = Place::new();
    let path = place.root().join("permits.csv");
    std::fs::write(&path, ROWS).unwrap();
    let folder = place.root().join("lists");
    let arguments = [
        "new",
        "permit",
        "us-co-boulder",
        "--url",
        URL,
        "--file",
        path.to_str().unwrap(),
        "--declarations",
        folder.to_str().unwrap(),
    ];
    let answer = place.pubdata(&arguments).expect(0);
    for said in [
        "permit.boulder from all 2 records",
        "permit_number",
        "you must decide (",
        "cadence: how often",
        "2 permit.permit",
        "pubdata check --declarations",
    ] {
        assert!(answer.stdout.contains(said), "{said}: {}", answer.stdout);
    }
    let help = place.pubdata(&["new", "--help"]).expect(0).stdout;
    assert!(
        help.contains("pubdata new permit us-oh-springfield --url"),
        "{help}"
    );
}
