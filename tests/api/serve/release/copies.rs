//! Answers from mapped copies of parts are those from decoded ones; a copy that is damaged, missing
//! or cannot be written changes nothing but the time.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::serve::records::{draft, world};
use crate::serve::{World, geo};
use pubdata_testing::files_below;

const PATHS: [&str; 8] = [
    "/v1/business/search?name=acme",
    "/v1/business/search?name=smith&state=FL",
    "/v1/business/FL-L23000448570",
    "/v1/license/search?name=lopez",
    "/v1/license/verify?state=TX&number=21907",
    "/v1/permits/search?jurisdiction=us-il-chicago",
    "/v1/permits/search?city=Austin&state=TX",
    "/v1/contractors/TX-tdlr-el-21907",
];

/// A server that reads everything it can from copies.
async fn copying() -> World {
    let world = World::empty(|settings| settings.limits.least_copied_bytes = 0).await;
    world.publish(&draft()).await;
    world.service.refresh().await.unwrap();
    world
}

async fn answers(world: &World) -> Vec<(u16, Value)> {
    answers_to(world, &PATHS).await
}

async fn answers_to(world: &World, paths: &[&str]) -> Vec<(u16, Value)> {
    let mut answers = Vec::new();
    for path in paths {
        let answer = world.get(path).await;
        answers.push((answer.status.as_u16(), answer.json()["data"].clone()));
    }
    answers
}

fn copies(world: &World) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(world.home.tables_dir("nightly"))
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

#[tokio::test]
async fn answers_from_copies_are_those_from_parts() {
    let (decoding, copying) = (world().await, copying().await);
    let expected = answers(&decoding).await;
    assert!(
        expected.iter().filter(|(status, _)| *status == 200).count() >= 6,
        "{expected:#?}"
    );
    assert_eq!(answers(&copying).await, expected);
    assert_eq!(
        (copies(&decoding).len(), copies(&copying).is_empty()),
        (0, false)
    );
    assert_eq!(answers(&copying).await, expected, "a second time");
}

#[tokio::test]
async fn a_damaged_copy_is_made_again() {
    let (first, second) = (copying().await, copying().await);
    let expected = answers(&first).await;
    fs::create_dir_all(second.home.tables_dir("nightly")).unwrap();
    let in_second = |path: &PathBuf| {
        second
            .home
            .tables_dir("nightly")
            .join(path.file_name().unwrap())
    };
    for (number, path) in copies(&first).iter().enumerate() {
        let mut damaged = fs::read(path).unwrap();
        let middle = damaged.len() / 2;
        match number % 3 {
            0 => damaged.truncate(middle),
            1 => damaged[middle] ^= 1,
            _ => damaged.clear(),
        }
        fs::write(in_second(path), damaged).unwrap();
    }
    assert_eq!(answers(&second).await, expected);
    for path in copies(&first) {
        assert!(
            fs::read(&path).unwrap() == fs::read(in_second(&path)).unwrap(),
            "{} is as it was",
            path.display()
        );
    }
}

/// Without a look at the file before each answer, the first of these ends the process (SIGBUS).
#[tokio::test]
async fn a_copy_that_is_changed_while_it_is_served_is_made_again() {
    let world = copying().await;
    let expected = answers(&world).await;
    for change in ["shorter", "empty", "rewritten"] {
        for path in copies(&world) {
            let mut permissions = fs::metadata(&path).unwrap().permissions();
            assert!(
                permissions.readonly(),
                "{} is for reading only",
                path.display()
            );
            #[expect(
                clippy::permissions_set_readonly_false,
                reason = "the test does what nobody should"
            )]
            permissions.set_readonly(false);
            fs::set_permissions(&path, permissions).unwrap();
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            match change {
                "shorter" => file.set_len(4_096).unwrap(),
                "empty" => file.set_len(0).unwrap(),
                _ => {
                    std::io::Write::write_all(&mut &file, &[7; 512]).unwrap();
                    file.set_modified(
                        std::time::SystemTime::now() + std::time::Duration::from_secs(5),
                    )
                    .unwrap();
                }
            }
        }
        assert_eq!(answers(&world).await, expected, "{change}");
    }
}

/// With parts out of reach, all that a server can answer from is what the one before it left.
#[tokio::test]
async fn a_server_that_starts_again_reads_no_part_whose_rows_are_copied_and_indexed() {
    let mut world = copying().await;
    let (expected, known) = (answers(&world).await, copies(&world));
    let is_part = |path: &PathBuf| {
        ["business.entity", "license.license"]
            .iter()
            .any(|dataset| path.display().to_string().contains(dataset))
    };
    let parts: Vec<PathBuf> = files_below(&world.folder.path().join("releases"))
        .into_iter()
        .filter(is_part)
        .collect();
    assert!(parts.len() >= 6, "{parts:?}");
    parts
        .iter()
        .for_each(|part| fs::rename(part, part.with_extension("away")).unwrap());
    world.restart(|settings| settings.limits.least_copied_bytes = 0);
    world.service.refresh().await.unwrap();
    assert_eq!(
        (answers(&world).await, copies(&world)),
        (expected.clone(), known.clone())
    );

    // Of another build of the program, or of other parts, there is no index: the parts are needed.
    known.iter().for_each(|path| fs::remove_file(path).unwrap());
    world.restart(|settings| settings.limits.least_copied_bytes = 0);
    world.service.refresh().await.unwrap_err();
    parts
        .iter()
        .for_each(|part| fs::rename(part.with_extension("away"), part).unwrap());
    world.service.refresh().await.unwrap();
    assert_eq!(answers(&world).await, expected);
}

/// Estimates are read into memory from what a server before has left of their parts.
#[tokio::test]
async fn a_server_that_starts_again_answers_about_areas_without_their_parts() {
    let paths = [
        "/v1/geo-demographics/locations/90210",
        "/v1/geo-demographics/locations/10001",
        "/v1/geo-demographics/locations/00663",
        "/v1/geo-demographics/locations/99546?vintage=2022",
        "/v1/geo-demographics/locations/90210/demographics?history=true",
        "/v1/geo-demographics/counties/06037",
        "/v1/geo-demographics/counties/09001?vintage=2022",
        "/v1/geo-demographics/metrics/population?sort=id",
        "/v1/geo-demographics/locations/compare?zctas=90210,10001",
    ];
    let decoding = World::empty(|_| ()).await;
    let mut reading = World::empty(|settings| settings.limits.least_copied_bytes = 0).await;
    for world in [&decoding, &reading] {
        world.publish(&geo::draft(20_000.0)).await;
        world.service.refresh().await.unwrap();
    }
    let expected = answers_to(&decoding, &paths).await;
    assert!(
        expected.iter().filter(|(status, _)| *status == 200).count() >= 8,
        "{expected:#?}"
    );
    assert_eq!(
        (answers_to(&reading, &paths).await, copies(&decoding).len()),
        (expected.clone(), 0)
    );
    let is_part = |path: &PathBuf| path.display().to_string().contains("_metric");
    let parts: Vec<PathBuf> = files_below(&reading.folder.path().join("releases"))
        .into_iter()
        .filter(is_part)
        .collect();
    assert!(
        parts
            .iter()
            .filter(|part| part
                .extension()
                .is_some_and(|extension| extension == "parquet"))
            .count()
            == 4,
        "{parts:?}"
    );
    parts
        .iter()
        .for_each(|part| fs::rename(part, part.with_extension("away")).unwrap());
    reading.restart(|settings| settings.limits.least_copied_bytes = 0);
    reading.service.refresh().await.unwrap();
    assert_eq!(answers_to(&reading, &paths).await, expected);

    copies(&reading)
        .iter()
        .for_each(|path| fs::remove_file(path).unwrap());
    reading.restart(|settings| settings.limits.least_copied_bytes = 0);
    reading.service.refresh().await.unwrap_err();
}

#[tokio::test]
async fn where_no_copy_can_be_written_parts_are_decoded() {
    let expected = answers(&world().await).await;
    let world = World::empty(|settings| settings.limits.least_copied_bytes = 0).await;
    fs::create_dir_all(world.home.tables_dir("")).unwrap();
    fs::write(
        world.home.tables_dir("nightly"),
        "a file in place of the folder",
    )
    .unwrap();
    world.publish(&draft()).await;
    world.service.refresh().await.unwrap();
    assert_eq!(answers(&world).await, expected);
}

#[tokio::test]
async fn copies_that_no_release_needs_are_removed() {
    let world = copying().await;
    answers(&world).await;
    let stray = world
        .home
        .tables_dir("nightly")
        .join(format!("{}-0123456789abcdef.arrow", "0".repeat(64)));
    fs::write(&stray, "of another release").unwrap();
    let copy = copies(&world).pop().unwrap();
    let (before_version, _) = copy
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .split_once('.')
        .unwrap();
    let of_before = copy.with_file_name(format!("{before_version}.arrow"));
    fs::write(&of_before, "of another version of the program").unwrap();
    let unfinished = |name: &str| copies(&world).last().unwrap().with_extension(name);
    let (left, under_way) = (unfinished("17-0"), unfinished("18-0"));
    fs::write(&under_way, "of a server that is writing").unwrap();
    let file = fs::File::create(&left).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(7200))
        .unwrap();
    let other = world
        .home
        .tables_dir("weekly")
        .join("of-another-channel.arrow");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, "not this server's").unwrap();
    let known: Vec<PathBuf> = copies(&world)
        .into_iter()
        .filter(|path| ![&stray, &left, &of_before].contains(&path))
        .collect();
    world.publish(&geo::draft(1.0)).await;
    world.service.refresh().await.unwrap();
    assert_eq!(
        (stray.exists(), left.exists(), of_before.exists()),
        (false, false, false)
    );
    assert!(
        known.iter().all(|path| path.exists()),
        "the release before may still be asked for"
    );
    assert!(under_way.exists() && other.exists());
    world.publish(&geo::draft(2.0)).await;
    world.service.refresh().await.unwrap();
    assert!(
        known.len() > 4 && known.iter().all(|path| !path.exists()),
        "{known:?}"
    );
}
