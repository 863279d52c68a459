use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pubdata_core::error::Error;
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::{Clock, FetchSettings, Fetcher, NoProgress, Outcome, ProxySettings, Request};
use pubdata_store::{Home, Snapshots};

use pubdata_testing::publisher::{Authority, Publisher, Reply};

/// Builds the file that most tests fetch. Its bytes do not repeat, so a wrong join is visible.
pub fn table(rows: u32) -> Vec<u8> {
    let rows = (0..rows).map(|row| format!("860Z200US{row:05}|{}|{}\n", row * 7, row % 13));
    std::iter::once("GEO_ID|E001|M001\n".to_owned())
        .chain(rows)
        .collect::<String>()
        .into_bytes()
}

/// Home, publisher and settings of a fetcher whose clock does not wait.
pub struct Desk {
    pub folder: tempfile::TempDir,
    pub publisher: Publisher,
    pub clock: Arc<TestClock>,
    pub settings: FetchSettings,
}

/// Clock at 2100-01-01, so that every file is old. It records the requested waits.
pub struct TestClock {
    now: Timestamp,
    start: Instant,
    waits: Mutex<Vec<Duration>>,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn instant(&self) -> Instant {
        self.start + self.waits.lock().unwrap().iter().sum::<Duration>()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.waits.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }
}

impl TestClock {
    pub fn at(now: &str) -> Arc<Self> {
        Arc::new(Self {
            now: now.parse().unwrap(),
            start: Instant::now(),
            waits: Mutex::default(),
        })
    }

    pub fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Desk {
    pub async fn new() -> Self {
        let clock = TestClock::at("2100-01-01T00:00:00Z");
        let settings = FetchSettings {
            clock: Arc::<TestClock>::clone(&clock),
            tries: 3,
            proxy: ProxySettings::default(),
            ..FetchSettings::default()
        };
        Self {
            folder: tempfile::tempdir().unwrap(),
            publisher: Publisher::start().await,
            clock,
            settings,
        }
    }

    /// Creates a desk whose publisher speaks TLS for all these hosts.
    pub async fn with_tls(hosts: &[&str]) -> Self {
        let authority = Authority::new();
        let mut desk = Self::new().await;
        desk.publisher = Publisher::start_tls(&authority, hosts).await;
        desk.settings.ca_file = Some(authority.write(desk.folder.path()));
        desk.settings.resolve = hosts
            .iter()
            .map(|host| ((*host).to_owned(), desk.publisher.address()))
            .collect();
        desk
    }

    /// Returns the requested hosts and targets, in order.
    pub fn requested(&self) -> Vec<String> {
        self.publisher
            .all_requests()
            .iter()
            .map(|received| format!("{}{}", received.header("host"), received.target))
            .collect()
    }

    pub fn snapshots(&self) -> Snapshots {
        Snapshots::open(&Home::open(&self.folder.path().join("home")).unwrap()).unwrap()
    }

    /// Creates a new fetcher, as in a new run.
    pub fn fetcher(&self) -> Fetcher {
        Fetcher::new(self.settings.clone(), self.snapshots()).unwrap()
    }

    /// Builds a request for a file of the publisher, with only the checks that always apply.
    pub fn request(&self, target: &str) -> Request {
        self.request_url(&self.publisher.url(target))
    }

    pub fn request_url(&self, url: &str) -> Request {
        Request {
            source_id: "test.table".to_owned(),
            keys: BTreeMap::from([("vintage".to_owned(), "2023".to_owned())]),
            url: url.to_owned(),
            source_version: "2019-2023".to_owned(),
            source_date: None,
            is_archive: false,
            is_json: false,
            is_page: false,
            min_bytes: 0,
            max_bytes: 10_000_000,
            bundled: None,
            redirects: Vec::new(),
            app_token: None,
            stated: None,
        }
    }

    /// Creates another folder beside the home.
    pub fn new_folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Fetches with a new fetcher.
    pub async fn fetch(&self, request: &Request) -> Outcome {
        self.fetcher().fetch(request, &NoProgress).await.unwrap()
    }

    pub async fn fetch_new(&self, request: &Request) -> Snapshot {
        match self.fetch(request).await {
            Outcome::New(snapshot) => snapshot,
            other => panic!("expected a new snapshot, not {other:?}"),
        }
    }

    pub async fn fetch_unchanged(&self, request: &Request) -> Snapshot {
        match self.fetch(request).await {
            Outcome::Unchanged(snapshot) => snapshot,
            other => panic!("expected an unchanged snapshot, not {other:?}"),
        }
    }

    pub async fn fail(&self, request: &Request) -> Error {
        self.fetcher()
            .fetch(request, &NoProgress)
            .await
            .unwrap_err()
    }

    /// Returns the text of an error with the publisher's address as `PUBLISHER`, and the test's
    /// folder as `FOLDER`.
    pub fn text(&self, error: &Error) -> String {
        let folder = self.folder.path().canonicalize().unwrap();
        let text = error
            .to_string()
            .replace(&self.publisher.base_url(), "PUBLISHER")
            .replace(&folder.display().to_string(), "FOLDER");
        text.replace(&self.folder.path().display().to_string(), "FOLDER")
    }

    /// Returns path and bytes of every file below `snapshots/`, in path order.
    pub fn stored(&self) -> Vec<(String, Vec<u8>)> {
        let root = self.folder.path().join("home/snapshots");
        files_below(&root)
            .into_iter()
            .map(|path| {
                (
                    path.strip_prefix(&root).unwrap().display().to_string(),
                    std::fs::read(&path).unwrap(),
                )
            })
            .collect()
    }

    /// Returns the bytes of all snapshots, in path order.
    pub fn stored_bytes(&self) -> Vec<Vec<u8>> {
        self.stored().into_iter().map(|(_, bytes)| bytes).collect()
    }

    /// Returns the files of downloads in progress, by extension and size.
    pub fn partials(&self) -> Vec<(String, u64)> {
        let files = files_below(&self.folder.path().join("home/state/partial"));
        let describe = |path: PathBuf| {
            (
                path.extension().unwrap().display().to_string(),
                std::fs::metadata(&path).unwrap().len(),
            )
        };
        let mut partials: Vec<(String, u64)> = files
            .into_iter()
            .map(describe)
            .filter(|(extension, _)| extension == "part")
            .collect();
        partials.sort();
        partials
    }

    /// Fetches a good file, then checks that this reply to the same URL is refused with this text
    /// and leaves the stored files unchanged.
    pub async fn check_refused(
        &self,
        request: &Request,
        good: &[u8],
        bad: Reply,
        expected: &str,
    ) -> Error {
        let target = request
            .url
            .strip_prefix(&self.publisher.base_url())
            .unwrap()
            .split("{env:")
            .next()
            .unwrap();
        let target = target.trim_end_matches("&key=").trim_end_matches("?key=");
        self.publisher
            .route(target, vec![Reply::file(good.to_vec()).etag("\"good\"")]);
        let (Outcome::New(snapshot) | Outcome::Unchanged(snapshot)) = self.fetch(request).await
        else {
            panic!("the good file is fetched")
        };
        let stored = self.stored();
        self.publisher.route(target, vec![bad]);
        let error = self.fail(request).await;
        assert_eq!(
            self.text(&error),
            format!("source `test.table`: PUBLISHER{target}: {expected}")
        );
        assert_eq!(error.kind(), pubdata_core::error::ErrorKind::Fetch);
        assert_eq!(self.stored(), stored, "only the good snapshot is stored");
        assert_eq!(self.partials(), [], "no download is left to resume");
        assert_eq!(
            self.snapshots()
                .known(&request.source_id, &self.publisher.url(target)),
            Some(snapshot),
            "the good snapshot stays known"
        );
        error
    }
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
