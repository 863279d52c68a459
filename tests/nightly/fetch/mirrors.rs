use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_fetch::{FetchProgress, Fetcher, NoProgress, Outcome, Piece, Request, mirror_path};

use super::desk::{Desk, TestClock, table};
use pubdata_testing::publisher::{Publisher, Reply};

const URL: &str = "https://www2.example/acs/table.dat";
const PLACE: &str = "www2.example/acs/table.dat";

/// Adds a mirror folder `name` with these files to the desk.
fn add_mirror(desk: &mut Desk, name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = desk.new_folder(name);
    for (place, bytes) in files {
        write(&folder.join(place), bytes);
    }
    desk.settings.mirrors.push(folder.display().to_string());
    folder
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn each_url_has_one_name_on_a_mirror() {
    for (url, expected) in [
        ("https://host/path", "host/path"),
        ("https://host/path?query", "host/path@query"),
        (
            "https://host/a/?b=c/d&e=/",
            "host/a/index.html@b=c%2Fd&e=%2F",
        ),
        ("https://host", "host/index.html"),
        ("https://host/", "host/index.html"),
        ("https://host/a/", "host/a/index.html"),
        ("https://host/a?", "host/a"),
        ("https://host/a#part", "host/a"),
        ("http://127.0.0.1:8080/a", "127.0.0.1:8080/a"),
        (
            "https://host/resource/3syk-w9eu.csv?$order=:id&$limit=50000",
            "host/resource/3syk-w9eu.csv@$order=:id&$limit=50000",
        ),
        (
            "https://host/acs5?for=zip%20code%20tabulation%20area:*",
            "host/acs5@for=zip%20code%20tabulation%20area:*",
        ),
        ("https://host/a%2Fb", "host/a%2Fb"),
        ("https://host/a?b=../../c", "host/a@b=..%2F..%2Fc"),
    ] {
        assert_eq!(mirror_path(url).unwrap(), expected, "{url}");
    }
    for url in [
        "https://host/../secret",
        "https://host/a/..",
        "https://host/%2e%2E/secret",
        "https://host/.%2e/secret",
        "https://../secret",
        "https:///etc/passwd",
        "https://host/a\\..\\b",
        "https://host/a b",
        "https://host/a\nb",
        "https://user@host/a",
        "file:///etc/passwd",
        "host/path",
    ] {
        let error = mirror_path(url).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Config && error.to_string().contains("no name on a mirror"),
            "{url}: {error}"
        );
    }
}

proptest! {
    /// For any URL, the name is an error or a path below the folder, with plain segments only.
    #[test]
    fn no_url_escapes_the_mirror_folder(url in prop_oneof![
        "(https?://)?\\PC{0,40}",
        "https?://([a-z.]{0,3}|[.]{1,3}|\\[::1\\])(/([.]{1,3}|%2[eEfF]|[a-z@]{1,3}|\\\\|%5c|//|~|:)?){0,6}(\\?[a-z./&=%@\\\\]{0,12})?",
    ]) {
        if let Ok(path) = mirror_path(&url) {
            let path = Path::new(&path);
            prop_assert!(path.components().all(|component| matches!(component, Component::Normal(_))), "{}", path.display());
            prop_assert!(path.components().count() >= 2, "{}", path.display());
            prop_assert!(!path.to_string_lossy().contains(['\\', '\0', '\n']));
        }
    }
}

#[tokio::test]
async fn mirror_folder_replaces_the_publisher() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(&mut desk, "mirror", &[(PLACE, &table(50))]);
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_714_953_600); // 2024-05-06
    std::fs::File::options()
        .write(true)
        .open(folder.join(PLACE))
        .unwrap()
        .set_modified(modified)
        .unwrap();
    let snapshot = desk.fetch_new(&desk.request_url(URL)).await;
    assert_eq!(
        (
            snapshot.url.as_str(),
            snapshot.sha256,
            snapshot.source_date.as_str()
        ),
        (URL, Digest::sha256(&table(50)), "2024-05-06")
    );
    assert_eq!(
        (snapshot.etag, snapshot.last_modified.as_deref()),
        (None, Some("Mon, 06 May 2024 00:00:00 GMT"))
    );
    assert_eq!(
        desk.stored(),
        [(
            format!("test.table/{}-table.dat", snapshot.sha256),
            table(50)
        )]
    );
    assert_eq!(
        desk.fetch(&desk.request_url("https://www2.example/other.dat"))
            .await,
        Outcome::Absent
    );
    assert_eq!(
        desk.fetch(&desk.request_url("https://www2.example/acs"))
            .await,
        Outcome::Absent,
        "a folder is not a file"
    );
    assert_eq!(
        desk.fetch(&desk.request_url("https://www2.example/acs/table.dat/deeper"))
            .await,
        Outcome::Absent
    );
    assert!(
        std::process::Command::new("mkfifo")
            .arg(folder.join("www2.example/acs/pipe.dat"))
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        desk.fetch(&desk.request_url("https://www2.example/acs/pipe.dat"))
            .await,
        Outcome::Absent,
        "no process writes to the pipe"
    );
    assert_eq!(desk.partials(), []);
}

#[tokio::test]
async fn unchanged_mirror_file_is_not_read_again() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(&mut desk, "mirror", &[(PLACE, &table(50))]);
    let request = desk.request_url(URL);
    let snapshot = desk.fetch_new(&request).await;
    // A second read of the file would replace this stored file with a sound one.
    let path = desk.snapshots().path(&snapshot);
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    #[expect(
        clippy::permissions_set_readonly_false,
        reason = "a folder of this test only"
    )]
    permissions.set_readonly(false);
    std::fs::set_permissions(&path, permissions).unwrap();
    let flipped: Vec<u8> = table(50).iter().map(|byte| byte ^ 1).collect();
    std::fs::write(&path, &flipped).unwrap();
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    assert_eq!(desk.stored_bytes(), [flipped]);
    // A missing or truncated snapshot is fetched again.
    std::fs::write(&path, b"cut").unwrap();
    assert_eq!(desk.fetch_new(&request).await.sha256, snapshot.sha256);
    assert_eq!(desk.stored_bytes(), [table(50)]);
    // The same date and size, but other bytes.
    let modified = std::fs::metadata(folder.join(PLACE))
        .unwrap()
        .modified()
        .unwrap();
    let changed: Vec<u8> = table(50)
        .iter()
        .map(|byte| if *byte == b'7' { b'8' } else { *byte })
        .collect();
    std::fs::write(folder.join(PLACE), &changed).unwrap();
    std::fs::File::options()
        .write(true)
        .open(folder.join(PLACE))
        .unwrap()
        .set_modified(modified)
        .unwrap();
    assert_eq!(
        desk.fetch_new(&request).await.sha256,
        Digest::sha256(&changed)
    );
}

/// A file written a moment ago may change again within the resolution of its date.
#[tokio::test]
async fn date_of_a_young_mirror_file_proves_nothing() {
    let mut desk = Desk::new().await;
    desk.settings.clock = TestClock::at("2000-01-01T00:00:00Z");
    add_mirror(&mut desk, "mirror", &[(PLACE, &table(50))]);
    let request = desk.request_url(URL);
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(
        desk.snapshots().known_url("test.table", URL).unwrap().stamp,
        None
    );
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
}

#[tokio::test]
async fn first_mirror_with_the_file_wins_and_no_publisher_is_asked() {
    let mut desk = Desk::new().await;
    let host = desk
        .publisher
        .base_url()
        .trim_start_matches("http://")
        .to_owned();
    let place = |name: &str| format!("{host}/{name}");
    add_mirror(&mut desk, "first", &[(&place("a.dat"), &table(1))]);
    add_mirror(
        &mut desk,
        "second",
        &[(&place("a.dat"), &table(2)), (&place("b.dat"), &table(3))],
    );
    desk.publisher.route("/c.dat", vec![Reply::file(table(4))]);
    assert_eq!(
        desk.fetch_new(&desk.request("/a.dat")).await.sha256,
        Digest::sha256(&table(1))
    );
    assert_eq!(
        desk.fetch_new(&desk.request("/b.dat")).await.sha256,
        Digest::sha256(&table(3))
    );
    assert_eq!(desk.fetch(&desk.request("/c.dat")).await, Outcome::Absent);
    assert_eq!(desk.publisher.all_requests(), []);
}

#[tokio::test]
async fn mirror_file_passes_the_same_checks_as_any_other() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(&mut desk, "mirror", &[(PLACE, &table(500))]);
    let request = Request {
        min_bytes: 1000,
        max_bytes: 20_000,
        ..desk.request_url(URL)
    };
    let snapshot = desk.fetch_new(&request).await;
    for (bytes, expected) in [
        (
            b"<html><body>moved</body></html>".to_vec(),
            "the file is a web page (it begins as HTML)".to_owned(),
        ),
        (Vec::new(), "the file is empty".to_owned()),
        (
            b"short".to_vec(),
            "the file has 5 bytes, fewer than the 1000 declared as `min_bytes`".to_owned(),
        ),
        (
            vec![b'1'; 20_001],
            "the file is too large: 20001 bytes or more, above the 20000 declared as `max_bytes`"
                .to_owned(),
        ),
    ] {
        write(&folder.join(PLACE), &bytes);
        let error = desk.fail(&request).await;
        assert_eq!(
            desk.text(&error),
            format!("source `test.table`: file://FOLDER/mirror/{PLACE}: {expected}")
        );
        assert_eq!(
            (desk.stored_bytes(), desk.partials()),
            (vec![table(500)], vec![])
        );
        assert_eq!(
            desk.snapshots().known("test.table", URL),
            Some(snapshot.clone())
        );
    }
}

/// Rewrites the mirror's file between its first inspection and its first read.
struct Rewriting(PathBuf);

impl FetchProgress for Rewriting {
    fn started(&self, _url: &str, _total_bytes: Option<u64>) {
        std::fs::write(&self.0, table(50).to_ascii_lowercase()).unwrap();
        std::fs::File::options()
            .write(true)
            .open(&self.0)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
    }

    fn advanced(&self, _bytes: u64) {}

    fn finished(&self) {}
}

#[tokio::test]
async fn mirror_file_that_changes_during_its_read_is_refused() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(&mut desk, "mirror", &[(PLACE, &table(50))]);
    let request = desk.request_url(URL);
    let error = desk
        .fetcher()
        .fetch(&request, &Rewriting(folder.join(PLACE)))
        .await
        .unwrap_err();
    assert_eq!(
        desk.text(&error),
        format!(
            "source `test.table`: file://FOLDER/mirror/{PLACE}: the file changed while it was being read"
        )
    );
    assert_eq!(
        (error.kind(), error.hint_text()),
        (
            ErrorKind::Fetch,
            Some("run again when the mirror is complete")
        )
    );
    assert_eq!((desk.stored(), desk.partials()), (vec![], vec![]));
}

#[tokio::test]
async fn mirror_of_samples_lifts_only_the_floor() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(
        &mut desk,
        "mirror",
        &[
            (PLACE, b"short"),
            (".pubdata-mirror", b"# for tests\nsample = true\n"),
        ],
    );
    let request = Request {
        min_bytes: 1000,
        ..desk.request_url(URL)
    };
    assert!(desk.fetcher().is_sample());
    desk.fetch_new(&request).await;
    write(&folder.join(PLACE), b"<html>");
    let error = desk.fail(&request).await;
    assert!(
        error
            .to_string()
            .ends_with("the file is a web page (it begins as HTML)"),
        "{error}"
    );
    for content in ["sample = false", ""] {
        write(&folder.join(".pubdata-mirror"), content.as_bytes());
        assert!(!desk.fetcher().is_sample());
    }
    write(&folder.join(".pubdata-mirror"), b"sample = perhaps");
    let error = Fetcher::new(desk.settings.clone(), desk.snapshots())
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        desk.text(&error)
            .starts_with("mirror FOLDER/mirror: .pubdata-mirror is not valid: "),
        "{error}"
    );
}

#[tokio::test]
async fn snapshot_names_its_mirror_but_not_the_mirrors_location() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(
        &mut desk,
        "mirror",
        &[(PLACE, b"of a folder without a name")],
    );
    assert_eq!(
        desk.fetch_new(&desk.request_url(URL))
            .await
            .mirror
            .as_deref(),
        Some("mirror")
    );
    write(
        &folder.join(".pubdata-mirror"),
        b"name = \"copies of a library\"",
    );
    write(&folder.join(PLACE), b"of a folder with a name");
    assert_eq!(
        desk.fetch_new(&desk.request_url(URL))
            .await
            .mirror
            .as_deref(),
        Some("copies of a library")
    );
    desk.settings.mirrors.clear();
    desk.publisher
        .route("/table.dat", vec![Reply::file("of the publisher")]);
    assert_eq!(
        desk.fetch_new(&desk.request_url(&desk.publisher.url("/table.dat")))
            .await
            .mirror,
        None
    );
}

#[tokio::test]
async fn missing_mirror_is_a_configuration_error() {
    let mut desk = Desk::new().await;
    for (mirror, expected) in [
        (
            "/no/such/folder",
            "mirror /no/such/folder: there is no such folder",
        ),
        (
            "http://",
            "mirror http://: not a URL that a path can be added to",
        ),
        (
            "https://mirror.example/?a=b",
            "mirror https://mirror.example/?a=b: not a URL that a path can be added to",
        ),
    ] {
        desk.settings.mirrors = vec![mirror.to_owned()];
        let error = Fetcher::new(desk.settings.clone(), desk.snapshots())
            .map(|_| ())
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Config, expected)
        );
    }
}

#[tokio::test]
async fn mirror_url_serves_any_folder_with_the_same_names() {
    let mut desk = Desk::new().await;
    let folder = desk.new_folder("served");
    let awkward = "https://api.example/acs5?get=NAME,S1701_C03_001E&for=zip%20code%20tabulation%20area:*&q=a/b";
    for url in [URL, awkward, "https://list.example/rates/"] {
        write(
            &folder.join(mirror_path(url).unwrap()),
            format!("bytes of {url}").as_bytes(),
        );
    }
    write(&folder.join(".pubdata-mirror"), b"sample = true");
    desk.publisher.serve_folder(&folder);
    desk.settings.mirrors = vec![desk.publisher.base_url()];
    let fetcher = desk.fetcher();
    assert!(!fetcher.is_sample(), "no server was asked yet");
    for url in [URL, awkward, "https://list.example/rates/"] {
        let request = Request {
            min_bytes: 1000,
            ..desk.request_url(url)
        };
        let Outcome::New(snapshot) = fetcher.fetch(&request, &NoProgress).await.unwrap() else {
            panic!("{url} is new")
        };
        assert_eq!(
            (snapshot.url.as_str(), snapshot.sha256),
            (url, Digest::sha256(format!("bytes of {url}").as_bytes()))
        );
        assert_eq!(
            fetcher.fetch(&request, &NoProgress).await.unwrap(),
            Outcome::Unchanged(snapshot)
        );
    }
    assert!(fetcher.is_sample());
    assert_eq!(
        fetcher
            .fetch(
                &desk.request_url("https://www2.example/gone.dat"),
                &NoProgress
            )
            .await
            .unwrap(),
        Outcome::Absent
    );
    assert_eq!(desk.publisher.requests("/.pubdata-mirror").len(), 1);
    assert_eq!(
        desk.publisher.requests("/www2.example/acs/table.dat").len(),
        2
    );
    assert_eq!(
        desk.publisher
            .requests("/list.example/rates/index.html")
            .len(),
        2
    );
}

#[tokio::test]
async fn failing_mirror_url_is_not_skipped() {
    let mut desk = Desk::new().await;
    let second = Publisher::start().await;
    desk.publisher.route(
        "/.pubdata-mirror",
        vec![Reply::status(503), Reply::status(404)],
    );
    desk.publisher
        .route(&format!("/{PLACE}"), vec![Reply::page(403)]);
    second.route(&format!("/{PLACE}"), vec![Reply::file(table(50))]);
    desk.settings.mirrors = vec![desk.publisher.base_url(), second.base_url()];
    let error = desk.fail(&desk.request_url(URL)).await;
    assert_eq!(
        desk.text(&error),
        format!("source `test.table`: PUBLISHER/{PLACE}: the server answered 403 Forbidden")
    );
    desk.publisher
        .route("/.pubdata-mirror", vec![Reply::status(503)]);
    let error = desk.fail(&desk.request_url(URL)).await;
    assert_eq!(
        desk.text(&error),
        "source `test.table`: mirror PUBLISHER/: the server answered 503 Service Unavailable (gave up after 3 tries)"
    );
    assert_eq!(desk.stored(), []);
    desk.publisher
        .route("/.pubdata-mirror", vec![Reply::status(404)]);
    desk.publisher
        .route(&format!("/{PLACE}"), vec![Reply::page(404)]);
    assert_eq!(
        desk.fetch_new(&desk.request_url(URL)).await.sha256,
        Digest::sha256(&table(50)),
        "404 passes on to the next mirror"
    );
}

#[tokio::test]
async fn file_url_is_read_in_place() {
    let mut desk = Desk::new().await;
    let folder = desk.new_folder("files");
    std::fs::write(folder.join("my table.dat"), table(50)).unwrap();
    add_mirror(&mut desk, "mirror", &[]);
    let url = format!("file://{}/my%20table.dat", folder.display());
    let snapshot = desk.fetch_new(&desk.request_url(&url)).await;
    assert_eq!(
        (snapshot.url, snapshot.sha256),
        (url, Digest::sha256(&table(50)))
    );
    assert_eq!(
        desk.fetch(&desk.request_url("file:///no/such/file")).await,
        Outcome::Absent
    );
}

#[tokio::test]
async fn link_that_leads_out_of_a_mirror_is_not_followed() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(
        &mut desk,
        "mirror",
        &[("www2.example/whole/table.dat", &table(50))],
    );
    let beside = desk.new_folder("beside");
    write(&beside.join("table.dat"), b"what nobody meant to publish");
    let link = |to: &Path, from: &Path| std::os::unix::fs::symlink(to, from);
    link(
        &beside.join("table.dat"),
        &folder.join("www2.example/file.dat"),
    )
    .unwrap();
    link(&beside, &folder.join("www2.example/folder")).unwrap();
    link(
        Path::new("whole/table.dat"),
        &folder.join("www2.example/within.dat"),
    )
    .unwrap();
    link(
        Path::new("nowhere"),
        &folder.join("www2.example/dangling.dat"),
    )
    .unwrap();
    for url in [
        "https://www2.example/file.dat",
        "https://www2.example/folder/table.dat",
    ] {
        let request = desk.request_url(url);
        let error = desk.fail(&request).await;
        assert!(
            error.kind() == ErrorKind::Fetch && error.hint_text().is_some(),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains("is a link that leads out of the mirror, to ")
                && error.to_string().contains("beside/table.dat"),
            "{error}"
        );
        let error = desk
            .fetcher()
            .head(&request, Piece::Start(10))
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("leads out of the mirror"),
            "a probe: {error}"
        );
    }
    assert_eq!(desk.stored(), []);
    assert_eq!(
        desk.fetch_new(&desk.request_url("https://www2.example/within.dat"))
            .await
            .sha256,
        Digest::sha256(&table(50))
    );
    assert_eq!(
        desk.fetch(&desk.request_url("https://www2.example/dangling.dat"))
            .await,
        Outcome::Absent
    );
}

#[tokio::test]
async fn pipe_or_endless_text_cannot_describe_a_mirror() {
    let mut desk = Desk::new().await;
    let folder = add_mirror(&mut desk, "mirror", &[]);
    let description = folder.join(".pubdata-mirror");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&description)
            .status()
            .unwrap()
            .success()
    );
    let refused = |words: &str| {
        let error = Fetcher::new(desk.settings.clone(), desk.snapshots())
            .map(|_| ())
            .unwrap_err();
        assert!(
            error.kind() == ErrorKind::Config && error.to_string().contains(words),
            "{error}"
        );
    };
    refused("not a file");
    std::fs::remove_file(&description).unwrap();
    std::fs::write(&description, vec![b'#'; 1 << 17]).unwrap();
    refused("more than 65536 bytes");
}
