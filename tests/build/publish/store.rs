use std::os::unix::fs::MetadataExt;

use pubdata_core::error::ErrorKind;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{ChannelAction, ChannelMove, Home, Releases, Staging};

use super::{NOW, Place};

fn to(release_id: &str, run_id: &str) -> ChannelMove {
    ChannelMove {
        release_id: release_id.parse().unwrap(),
        action: ChannelAction::Publish,
        moved_at: NOW.to_owned(),
        run_id: Some(run_id.to_owned()),
    }
}

const ONE: &str = "r11111111111111111111";
const TWO: &str = "r22222222222222222222";

#[tokio::test]
async fn channel_moves_only_from_the_generation_its_mover_saw() {
    let place = Place::new();
    let releases = &place.releases;
    assert_eq!(releases.channel("nightly").await.unwrap(), None);
    let first = releases
        .advance_channel("nightly", None, to(ONE, "one"))
        .await
        .unwrap();
    let second = releases
        .advance_channel("nightly", Some(1), to(TWO, "two"))
        .await
        .unwrap();
    assert_eq!((first.generation, second.generation), (1, 2));
    for after in [None, Some(1)] {
        let error = releases
            .advance_channel("nightly", after, to(ONE, "three"))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    }
    assert_eq!(
        releases.channel("nightly").await.unwrap(),
        Some(second.clone())
    );
    assert_eq!(
        releases.channel_history("nightly").await.unwrap(),
        [first, second.clone()]
    );
    assert_eq!(
        releases
            .advance_channel("nightly", Some(1), to(TWO, "two"))
            .await
            .unwrap(),
        second,
        "a retry of the same move"
    );
    assert_eq!(releases.channels().await.unwrap(), ["nightly"]);
}

#[tokio::test]
async fn damaged_or_misnamed_channel_is_an_error() {
    let place = Place::new();
    for name in ["", "..", "a/b", "Nightly", &"x".repeat(65)] {
        assert_eq!(
            place.releases.channel(name).await.unwrap_err().kind(),
            ErrorKind::Config,
            "{name}"
        );
    }
    place
        .releases
        .advance_channel("nightly", None, to(ONE, "one"))
        .await
        .unwrap();
    let file = place.root().join("channels/nightly/0000000001.json");
    let text = std::fs::read_to_string(&file).unwrap();
    for (damaged, words) in [
        (
            text.replace("\"format_version\":1", "\"format_version\":2"),
            "has format 2",
        ),
        (
            text.replace("\"generation\":1", "\"generation\":7"),
            "describes generation 7",
        ),
        (String::new(), "is damaged"),
    ] {
        std::fs::write(&file, damaged).unwrap();
        let error = place.releases.channel("nightly").await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn file_of_a_killed_upload_is_not_a_generation() {
    let place = Place::new();
    let entry = place
        .releases
        .advance_channel("nightly", None, to(ONE, "one"))
        .await
        .unwrap();
    let channel = place.root().join("channels/nightly");
    ["0000000002.json#1", "notes.txt"]
        .iter()
        .for_each(|name| std::fs::write(channel.join(name), "{").unwrap());
    std::fs::create_dir(channel.join("0000000003.json")).unwrap();
    assert_eq!(
        place.releases.channel("nightly").await.unwrap(),
        Some(entry)
    );
    assert_eq!(
        place
            .releases
            .advance_channel("nightly", Some(1), to(TWO, "two"))
            .await
            .unwrap()
            .generation,
        2
    );
}

#[tokio::test]
async fn release_without_a_manifest_does_not_exist() {
    let place = Place::new();
    let id: ReleaseId = ONE.parse().unwrap();
    place
        .releases
        .put_part(&id, "test.place/part-0.parquet", "half".into())
        .await
        .unwrap();
    assert!(!place.releases.exists(&id).await.unwrap());
    assert_eq!(place.releases.list().await.unwrap(), []);
    let error = place.releases.manifest(&id).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("there is no release {ONE}")),
        "{error}"
    );
    assert!(
        place
            .releases
            .put_part(&id, "../../channels/x", "half".into())
            .await
            .is_err(),
        "a path that leaves the release"
    );
}

#[tokio::test]
async fn folder_elsewhere_can_be_the_store() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/a%20store", folder.path().display());
    let releases = Releases::open(&place.home, Some(&url)).unwrap();
    releases
        .advance_channel("nightly", None, to(ONE, "one"))
        .await
        .unwrap();
    assert!(
        folder
            .path()
            .join("a store/channels/nightly/0000000001.json")
            .exists()
    );
    assert_eq!(place.releases.channel("nightly").await.unwrap(), None);
}

#[test]
fn store_url_must_have_a_known_scheme() {
    let place = Place::new();
    for url in ["ftp://example.org/", "releases", "s3://", "s3:///prefix"] {
        let error = Releases::open(&place.home, Some(url)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}: {error}");
        assert!(
            error.to_string().contains(url) && error.hint_text().is_some(),
            "{error}"
        );
    }
    let s3 = Releases::open(&place.home, Some("s3://bucket/some/prefix")).unwrap();
    let shown = format!("{s3:?}");
    assert!(
        shown.contains("bucket") && shown.contains("prefix"),
        "{shown}"
    );
}

#[test]
fn missing_parent_folders_of_a_home_are_created() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(&folder.path().join("a/b")).unwrap();
    assert!(home.root().ends_with("a/b"));
}

/// A build in the folder where it is published is written once. A restarted build does not change
/// files that a release took over.
#[tokio::test]
async fn staged_part_becomes_the_release_file_in_the_same_folder() {
    const PART: &str = "geo.place/year=2026/part.parquet";
    let place = Place::new();
    let staging = Staging::for_task(&place.home, "task", &Digest::sha256(b"inputs"));
    let id: ReleaseId = ONE.parse().unwrap();
    staging.begin().unwrap();
    staging.put(PART, b"first").unwrap();
    assert_eq!(
        staging.put(PART, b"again").unwrap_err().kind(),
        ErrorKind::Store
    );
    assert!(
        place
            .releases
            .link_staged(&staging, &id, PART)
            .await
            .unwrap()
    );
    let published = place.root().join("releases").join(ONE).join(PART);
    assert_eq!(
        std::fs::metadata(&published).unwrap().nlink(),
        2,
        "one file with two names"
    );
    staging.begin().unwrap();
    assert!(
        !place
            .releases
            .link_staged(&staging, &id, PART)
            .await
            .unwrap(),
        "it is no longer staged"
    );
    staging.put(PART, b"second").unwrap();
    assert_eq!(std::fs::read(&published).unwrap(), b"first");
    assert!(
        place
            .releases
            .link_staged(&staging, &id, PART)
            .await
            .unwrap()
    );
    assert_eq!(
        std::fs::read(&published).unwrap(),
        b"second",
        "in place of the earlier file"
    );

    let elsewhere = tempfile::tempdir().unwrap();
    let releases = Releases::open(
        &place.home,
        Some(&format!("file://{}", elsewhere.path().display())),
    )
    .unwrap();
    assert!(!releases.link_staged(&staging, &id, PART).await.unwrap());
}
