//! Fetches files of an SFTP-only publisher from OpenSSH's own server.

pub mod server;

use jiff::Timestamp;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_core::pipeline::SftpLogin;
use pubdata_fetch::{Fetcher, NoProgress, Outcome, Request};
use pubdata_run::{ExitCode, Word, acceptance};
use pubdata_store::append_acceptance;
use server::{Door, PASSWORD, Server};

use super::desk::{Desk, TestClock, table};
use pubdata_testing::{project, run_here, settings};

const MODIFIED: &str = "2023-09-29T22:15:07Z";

/// Server with one file, `doc/table.dat`, and a desk that may log in to it.
struct Site {
    server: Server,
    desk: Desk,
}

impl Site {
    async fn new(door: Door) -> Option<Self> {
        let server = Server::start(door).await?;
        server.put("doc/table.dat", &table(60_000), MODIFIED);
        let mut site = Self {
            server,
            desk: Desk::new().await,
        };
        let login = site.server.login();
        if door == Door::Key {
            site.desk.settings.secret = key_file;
        }
        site.log_in_as(login);
        Some(site)
    }

    fn log_in_as(&mut self, login: SftpLogin) {
        let login = SftpLogin {
            key_file: login
                .key_file
                .map(|_| format!("{{env:{}}}", self.server.key_file().display())),
            ..login
        };
        self.desk
            .settings
            .sftp
            .insert("test.table".to_owned(), login);
    }

    fn request(&self) -> Request {
        self.desk.request_url(&self.server.url("doc/table.dat"))
    }

    /// Returns the text of an error with the server's address as `SERVER`.
    fn text(&self, error: &pubdata_core::error::Error) -> String {
        self.desk
            .text(error)
            .replace(&self.server.url(""), "SERVER/")
    }
}

/// In these tests, a variable's name is the path of the file that it holds.
fn key_file(variable: &str) -> Option<String> {
    Some(variable.to_owned())
}

#[tokio::test]
async fn file_is_fetched_once_and_then_only_checked() {
    let Some(site) = Site::new(Door::Key).await else {
        return;
    };
    let snapshot = site.desk.fetch_new(&site.request()).await;
    assert_eq!(
        (snapshot.sha256, snapshot.size_bytes),
        (Digest::sha256(&table(60_000)), table(60_000).len() as u64)
    );
    assert_eq!(
        (snapshot.url.as_str(), snapshot.source_date.as_str()),
        (site.server.url("doc/table.dat").as_str(), "2023-09-29")
    );
    assert_eq!(
        (snapshot.last_modified.as_deref(), snapshot.etag.as_deref()),
        (Some("Fri, 29 Sep 2023 22:15:07 GMT"), None)
    );
    assert_eq!(site.desk.stored_bytes(), [table(60_000)]);
    assert_eq!(site.desk.fetch_unchanged(&site.request()).await, snapshot);
    let sent = site.server.sent();
    assert!(
        sent[0] > snapshot.size_bytes && sent[1] < 20_000,
        "an unchanged file is checked, not read: {sent:?}"
    );
    site.server
        .put("doc/table.dat", &table(59_000), "2023-10-02T22:15:07Z");
    let renewed = site.desk.fetch_new(&site.request()).await;
    assert_eq!(
        (renewed.sha256, renewed.source_date.as_str()),
        (Digest::sha256(&table(59_000)), "2023-10-02")
    );
}

#[tokio::test]
async fn file_younger_than_its_time_resolution_is_read_again() {
    let Some(mut site) = Site::new(Door::Key).await else {
        return;
    };
    site.desk.settings.clock = TestClock::at("2023-09-29T22:15:08Z");
    let snapshot = site.desk.fetch_new(&site.request()).await;
    assert_eq!(site.desk.fetch_unchanged(&site.request()).await, snapshot);
    assert!(
        site.server.sent()[1] > snapshot.size_bytes,
        "it could have changed within the second: {:?}",
        site.server.sent()
    );
}

#[tokio::test]
async fn all_files_of_a_server_come_over_one_login() {
    let Some(site) = Site::new(Door::Key).await else {
        return;
    };
    site.server.put("doc/other file.dat", &table(10), MODIFIED);
    let fetcher = site.desk.fetcher();
    let other = site
        .desk
        .request_url(&site.server.url("doc/other%20file.dat"));
    let request = site.request();
    let (first, second) = tokio::join!(
        fetcher.fetch(&request, &NoProgress),
        fetcher.fetch(&other, &NoProgress)
    );
    assert!(matches!(
        (first.unwrap(), second.unwrap()),
        (Outcome::New(_), Outcome::New(_))
    ));
    assert_eq!(site.server.sent().len(), 1, "connections");
}

#[tokio::test]
async fn cut_connection_continues_where_it_broke() {
    let Some(site) = Site::new(Door::Key).await else {
        return;
    };
    site.server.cut_after(600_000);
    let snapshot = site.desk.fetch_new(&site.request()).await;
    assert_eq!(snapshot.sha256, Digest::sha256(&table(60_000)));
    assert_eq!(site.desk.stored_bytes(), [table(60_000)]);
    let (sent, size_bytes) = (site.server.sent(), snapshot.size_bytes);
    assert!(
        sent.len() == 2 && sent[1] < size_bytes - 400_000,
        "the second connection brings what is missing of {size_bytes} bytes: {sent:?}"
    );
    assert_eq!(site.desk.partials(), []);
}

#[tokio::test]
async fn abandoned_download_of_the_same_file_continues_in_the_next_run() {
    let Some(mut site) = Site::new(Door::Key).await else {
        return;
    };
    site.desk.settings.tries = 1;
    for (rows, modified) in [(60_000, MODIFIED), (60_000, "2023-10-02T22:15:07Z")] {
        site.server.cut_after(600_000);
        let error = site.desk.fail(&site.request()).await;
        let text = site.text(&error);
        assert!(
            text.starts_with(
                "source `test.table`: SERVER/doc/table.dat: the transfer broke after "
            ),
            "{text}"
        );
        let kept = site.desk.partials()[0].1;
        assert!(kept > 400_000, "{kept}");
        site.server.put("doc/table.dat", &table(rows), modified);
        let before = site.server.sent().len();
        let snapshot = site.desk.fetch_new(&site.request()).await;
        let sent = site.server.sent()[before];
        assert_eq!(snapshot.sha256, Digest::sha256(&table(rows)));
        if modified == MODIFIED {
            assert!(
                sent < snapshot.size_bytes - kept + 50_000,
                "{sent} bytes for what is missing of {} after {kept}",
                snapshot.size_bytes
            );
        } else {
            assert!(
                sent > snapshot.size_bytes,
                "another file is read from its beginning: {sent}"
            );
        }
        site.desk.snapshots().forget(&snapshot).unwrap();
        std::fs::remove_dir_all(site.desk.folder.path().join("home/snapshots")).unwrap();
    }
}

#[tokio::test]
async fn unconfirmed_server_is_reported_with_its_key_and_gets_no_login() {
    let Some(mut site) = Site::new(Door::Key).await else {
        return;
    };
    let login = site.server.login();
    site.log_in_as(SftpLogin {
        host_key: None,
        ..login.clone()
    });
    let error = site.desk.fail(&site.request()).await;
    let host_key = site.server.host_key();
    assert_eq!(
        site.text(&error),
        format!(
            "source `test.table`: SERVER/doc/table.dat: 127.0.0.1 shows the host key {host_key} (ssh-ed25519), which is not confirmed yet; no login was attempted"
        )
    );
    assert!(
        error
            .hint_text()
            .unwrap()
            .contains(&format!("`pubdata accept test.table:host_key={host_key}`")),
        "{:?}",
        error.hint_text()
    );
    let other = "SHA256:JvS7SrgY9QfsC2otdG0TGo0aWcvvieGg1R2Vx8/5VSw";
    site.log_in_as(SftpLogin {
        host_key: Some(other.to_owned()),
        ..login.clone()
    });
    let error = site.desk.fail(&site.request()).await;
    assert!(site.text(&error).contains(&format!("shows the host key {host_key} (ssh-ed25519), but {other} is the known one; no login was attempted")));
    assert_eq!(
        (error.kind(), site.server.sent().len()),
        (ErrorKind::Fetch, 2),
        "an unknown server is not asked again"
    );
    assert!(
        !site.server.log().contains("userauth-request"),
        "{}",
        site.server.log()
    );
    site.log_in_as(login);
    site.desk.fetch_new(&site.request()).await;
    assert!(
        site.server.log().contains("userauth-request"),
        "the log would have shown a login"
    );
}

#[tokio::test]
async fn missing_sftp_file_is_absent_and_a_folder_is_refused() {
    let Some(site) = Site::new(Door::Key).await else {
        return;
    };
    let absent = site.desk.request_url(&site.server.url("doc/20261225c.txt"));
    assert_eq!(site.desk.fetch(&absent).await, Outcome::Absent);
    let absent = site
        .desk
        .request_url(&site.server.url("nowhere/20261225c.txt"));
    assert_eq!(site.desk.fetch(&absent).await, Outcome::Absent);
    let error = site
        .desk
        .fail(&site.desk.request_url(&site.server.url("doc")))
        .await;
    assert_eq!(
        site.text(&error),
        "source `test.table`: SERVER/doc: the path is a folder"
    );
    let error = site
        .desk
        .fail(&Request {
            max_bytes: 1000,
            ..site.request()
        })
        .await;
    let size_bytes = table(60_000).len();
    let expected = format!(
        "source `test.table`: SERVER/doc/table.dat: the file is too large: {size_bytes} bytes or more, above the 1000 declared as `max_bytes`"
    );
    assert_eq!(site.text(&error), expected);
    let error = site
        .desk
        .fail(&Request {
            is_archive: true,
            ..site.request()
        })
        .await;
    assert!(
        site.text(&error).contains("the file is not a ZIP archive"),
        "{}",
        site.text(&error)
    );
    assert_eq!((site.desk.stored(), site.desk.partials()), (vec![], vec![]));
}

#[tokio::test]
async fn password_logs_in_and_a_wrong_one_is_reported_without_being_shown() {
    for door in [Door::Password, Door::Question] {
        let Some(mut site) = Site::new(door).await else {
            return;
        };
        let login = site.server.login();
        assert_eq!(
            site.desk.fetch_new(&site.request()).await.sha256,
            Digest::sha256(&table(60_000))
        );
        site.log_in_as(SftpLogin {
            password: Some("{env:WORD}".to_owned()),
            ..login.clone()
        });
        assert_eq!(
            site.desk.fetch(&site.request()).await,
            Outcome::NotConfigured {
                variable: "WORD".to_owned()
            }
        );
        site.desk.settings.secret = |variable| (variable == "WORD").then(|| PASSWORD.to_owned());
        site.desk.fetch_unchanged(&site.request()).await;
        site.desk.settings.secret = |_| Some("not the word".to_owned());
        let before = site.server.sent().len();
        let error = site.desk.fail(&site.request()).await;
        assert_eq!(
            site.text(&error),
            "source `test.table`: SERVER/doc/table.dat: 127.0.0.1 refused the login of user `Public`"
        );
        assert_eq!(
            site.server.sent().len(),
            before + 1,
            "a refused login is not retried"
        );
    }
}

#[tokio::test]
async fn mirror_replaces_an_sftp_server() {
    let mut desk = Desk::new().await;
    let folder = desk.new_folder("mirror/sftp.publisher.example/doc");
    std::fs::write(folder.join("table.dat"), table(5)).unwrap();
    desk.settings.mirrors = vec![desk.folder.path().join("mirror").display().to_string()];
    let snapshot = desk
        .fetch_new(&desk.request_url("sftp://sftp.publisher.example/doc/table.dat"))
        .await;
    assert_eq!(
        (snapshot.url.as_str(), snapshot.sha256),
        (
            "sftp://sftp.publisher.example/doc/table.dat",
            Digest::sha256(&table(5))
        )
    );
}

#[tokio::test]
async fn source_without_a_login_reports_the_missing_declaration() {
    let desk = Desk::new().await;
    let error = Fetcher::fetch(
        &desk.fetcher(),
        &desk.request_url("sftp://127.0.0.1:1/doc/table.dat"),
        &NoProgress,
    )
    .await
    .unwrap_err();
    assert_eq!(
        (
            error.kind(),
            desk.text(&error).contains("has no login for 127.0.0.1")
        ),
        (ErrorKind::Config, true),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn run_waits_until_the_operator_accepts_the_server_key() {
    const SOURCE: &str = "license.fl_dbpr";
    let Some(server) = Server::start(Door::Key).await else {
        return;
    };
    let fixture = "fixtures/license/fl_dbpr/basic/source/www2.myfloridalicense.com/sto/file_download/extracts/CONSTRUCTIONLICENSE_1.csv";
    server.put(
        "doc/CONSTRUCTIONLICENSE_1.csv",
        &std::fs::read(project(fixture)).unwrap(),
        MODIFIED,
    );
    let path = "pipelines/license/fl_dbpr.toml";
    let text = std::fs::read_to_string(project(path))
        .unwrap()
        .replace("min_bytes = 10_000_000", "")
        .replace("kind = \"excerpt\"", "kind = \"documented\"");
    let login = server.declared_login();
    let url = format!("url = \"{}\"\n{login}", server.url("doc/{file}.csv"));
    let changed = text.replace(
        "url = \"https://www2.myfloridalicense.com/sto/file_download/extracts/{file}.csv\"",
        &url,
    );
    assert_ne!(text, changed);

    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(
        folder.path(),
        Vec::new(),
        DeclarationFiles::built_in().with(&[(path, &changed)]),
    );
    settings.selectors = vec![SOURCE.to_owned()];
    settings.fetch.secret = key_file;
    let report = run_here(&settings).await;
    let what = format!("{SOURCE}:host_key={}", server.host_key());
    assert_eq!(report.exit_code, ExitCode::SourceMissing);
    assert!(
        report.tasks[0].reasons[0].contains(&format!("`pubdata accept {what}`")),
        "{:?}",
        report.tasks[0].reasons
    );

    let word = Word {
        what: &what,
        until: None,
        by: "ada",
        is_known_rule: false,
        is_withdrawn: false,
    };
    append_acceptance(
        &settings.home,
        &acceptance(&settings.declarations, &word, Timestamp::now()).unwrap(),
    )
    .unwrap();
    let report = run_here(&settings).await;
    assert_eq!(
        (report.exit_code, report.outcome),
        (ExitCode::Quarantined, "published"),
        "its layout is not confirmed: {report:#?}"
    );
    let word = Word {
        what: &format!("{SOURCE}:host_key"),
        is_withdrawn: true,
        ..word
    };
    append_acceptance(
        &settings.home,
        &acceptance(&settings.declarations, &word, Timestamp::now()).unwrap(),
    )
    .unwrap();
    assert_eq!(run_here(&settings).await.exit_code, ExitCode::SourceMissing);
}
