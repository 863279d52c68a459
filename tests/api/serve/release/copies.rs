//! Compares answers from mapped copies of parts with those from decoded parts. A copy that is
//! damaged, missing or unwritable changes only the time.

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
async fn answers_from_copies_equal_those_from_parts() {
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
    assert_eq!(answers(&copying).await, expected, "on the second request");
}

#[tokio::test]
async fn damaged_copy_is_written_again() {
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
            "{} is unchanged",
            path.display()
        );
    }
}

/// Without a check of the file before each answer, the first request ends the process (SIGBUS).
#[tokio::test]
async fn copy_changed_while_served_is_written_again() {
    let world = copying().await;
    let expected = answers(&world).await;
    for change in ["shorter", "empty", "rewritten"] {
        for path in copies(&world) {
            let mut permissions = fs::metadata(&path).unwrap().permissions();
            assert!(permissions.readonly(), "{} is read-only", path.display());
            #[expect(
                clippy::permissions_set_readonly_false,
                reason = "the test writes to a read-only file"
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

/// With parts out of reach, a server can answer only from the files of its predecessor.
#[tokio::test]
async fn restarted_server_reads_no_part_with_a_copy_and_an_index() {
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

    // An index of another program build, or of other parts, does not count: the parts are needed.
    known.iter().for_each(|path| fs::remove_file(path).unwrap());
    world.restart(|settings| settings.limits.least_copied_bytes = 0);
    world.service.refresh().await.unwrap_err();
    parts
        .iter()
        .for_each(|part| fs::rename(part.with_extension("away"), part).unwrap());
    world.service.refresh().await.unwrap();
    assert_eq!(answers(&world).await, expected);
}

/// Estimates are loaded from the files that an earlier server wrote for their parts.
#[tokio::test]
async fn restarted_server_answers_about_areas_without_their_parts() {
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
async fn parts_are_decoded_if_no_copy_can_be_written() {
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
        "the previous release may still be requested"
    );
    assert!(under_way.exists() && other.exists());
    world.publish(&geo::draft(2.0)).await;
    world.service.refresh().await.unwrap();
    assert!(
        known.len() > 4 && known.iter().all(|path| !path.exists()),
        "{known:?}"
    );
}
