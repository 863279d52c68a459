//! Checks `pubdata releases`: readable pages, and dry runs that equal the real commands.

use std::path::PathBuf;

use serde_json::{Value, json};

use pubdata_testing::{Place, files_below};

/// Publishes two runs of one permit list: the first release and the second, which the channel
/// points at.
fn two_nights() -> (Place, String, String) {
    let place = Place::new();
    place.run(&["permit.nola"]).expect(0);
    let first = place.current();
    place.edit("72f9-bi28/rows.csv@accessType=DOWNLOAD", |text| {
        text.replace("15-14477-EVAC,VACANCY", "15-14478-EVAC,VACANCY")
    });
    place.run(&["permit.nola"]).expect(0);
    let second = place.current();
    assert_ne!(first, second);
    (place, first, second)
}

/// Returns all files of the home with their lengths; reading commands may take a lock.
fn files(place: &Place) -> Vec<(PathBuf, u64)> {
    let files = files_below(&place.home())
        .into_iter()
        .filter(|path| !path.ends_with("lock"));
    files
        .map(|path| (path.clone(), path.metadata().unwrap().len()))
        .collect()
}

#[test]
fn dry_runs_of_prune_promote_and_rollback_equal_the_real_commands() {
    let (place, first, second) = two_nights();
    let before = files(&place);
    let promote = place
        .pubdata(&["releases", "promote", "--dry-run"])
        .expect(0)
        .stdout;
    assert_eq!(
        promote,
        format!(
            "channel stable would point at {second}; it points at nothing\nnothing was changed: without --dry-run it is done\n"
        )
    );
    let rollback = place
        .pubdata(&["releases", "rollback", "--dry-run"])
        .expect(0)
        .stdout;
    assert!(
        rollback.starts_with(&format!(
            "channel nightly would point at {first}; it points at {second}\n"
        )),
        "{rollback}"
    );
    let planned = place
        .pubdata(&["releases", "rollback", "--dry-run", "--json"])
        .expect(0)
        .json();
    let expected = json!({
        "format": "pubdata.channel_move", "version": 1,
        "channel": "nightly", "outcome": "would_move", "from": second, "release_id": first, "generation": null, "moved_at": null,
    });
    assert_eq!(planned, expected);
    let prune = place
        .pubdata(&[
            "releases",
            "prune",
            "--keep",
            "1",
            "--snapshots",
            "--dry-run",
        ])
        .expect(0)
        .stdout;
    assert!(
        prune.starts_with(&format!(
            "would delete release {first}\nwould delete snapshot "
        )),
        "{prune}"
    );
    assert!(
        prune.contains("\nwould delete 1 release, 0 unfinished, 1 snapshot (3.6 kB)\n"),
        "{prune}"
    );
    let planned = place
        .pubdata(&[
            "releases",
            "prune",
            "--keep",
            "1",
            "--snapshots",
            "--dry-run",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(planned["releases"], json!([first]));
    assert_eq!(files(&place), before, "no file changed");

    let done = place
        .pubdata(&["releases", "prune", "--keep", "1", "--snapshots", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&planned["is_dry_run"], &done["is_dry_run"]),
        (&json!(true), &json!(false))
    );
    for list in ["releases", "incomplete", "snapshots"] {
        assert_eq!(done[list], planned[list], "{list}");
    }
    let promoted = place
        .pubdata(&["releases", "promote", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (
            &promoted["outcome"],
            &promoted["release_id"],
            &promoted["generation"]
        ),
        (&json!("moved"), &json!(second), &json!(1))
    );
    let again = place
        .pubdata(&["releases", "promote", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (
            &again["outcome"],
            &again["release_id"],
            &again["generation"]
        ),
        (&json!("unchanged"), &json!(second), &Value::Null)
    );
    let none = place
        .pubdata(&["releases", "promote", "--dry-run"])
        .expect(0)
        .stdout;
    assert_eq!(
        none,
        format!("nothing was changed: channel stable points at {second} already\n")
    );
    for arguments in [
        &["releases", "rollback", "--dry-run"][..],
        &["releases", "prune", "--keep", "0", "--dry-run"],
    ] {
        place.pubdata(arguments).expect(40);
    }
}

#[test]
fn release_is_shown_on_a_page_and_whole_as_json() {
    let (place, _, second) = two_nights();
    let page = place.pubdata(&["releases", "show"]).expect(0).stdout;
    let manifest = place.manifest();
    for line in [
        format!("release    {second} published "),
        "channels   nightly\n".to_owned(),
        "made by    pubdata 0.1.0, run ".to_owned(),
        "carries    the declarations and contracts of its build\n".to_owned(),
        format!(
            "permit.nola  {}  1",
            manifest["tasks"]["permit.nola"]["code_version"]
                .as_str()
                .unwrap()
        ),
    ] {
        assert!(page.contains(&line), "{line}\n{page}");
    }
    let rows = manifest["datasets"]["permit.permit"]["parts"][0]["rows"]
        .as_u64()
        .unwrap();
    let line = page
        .lines()
        .find(|line| line.starts_with("permit.permit "))
        .unwrap();
    assert_eq!(
        line.split_whitespace().nth(2),
        Some(rows.to_string().as_str()),
        "{page}"
    );
    assert!(page.lines().count() < 20, "{page}");
    let shown = place
        .pubdata(&["releases", "show", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&shown["channels"], &shown["unrenewed"], &shown["manifest"]),
        (&json!(["nightly"]), &json!({}), &manifest)
    );
}

#[test]
fn diff_shows_whole_numbers_as_answers_do() {
    let place = Place::published_with(super::GEOGRAPHY);
    let first = place.current();
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    place.run(&[]).expect(0);
    let diff = place
        .pubdata(&["releases", "diff", &first])
        .expect(0)
        .stdout;
    assert!(diff.contains("  value: 19652 → 19653\n"), "{diff}");
}
