//! Probes an SFTP-only publisher on OpenSSH's own server.

use jiff::Timestamp;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_run::{
    ExitCode, PredictedOutcome, ProbeSettings, ProbedSource, Verdict, Word, acceptance,
};
use pubdata_store::append_acceptance;

use super::probe_here;
use crate::fetch::sftp::server::{Door, Server};
use pubdata_testing::{instant_waits, project, run_here, settings};

const SOURCE: &str = "license.fl_dbpr";
const FILE: &str = "doc/CONSTRUCTIONLICENSE_1.csv";
const FIXTURE: &str = "fixtures/license/fl_dbpr/basic/source/www2.myfloridalicense.com/sto/file_download/extracts/CONSTRUCTIONLICENSE_1.csv";
const MODIFIED: &str = "2026-11-20T22:15:07Z";

/// Returns declarations in which Florida's licenses come from a server.
fn declarations(server: &Server) -> DeclarationFiles {
    let path = "pipelines/license/fl_dbpr.toml";
    let text = std::fs::read_to_string(project(path))
        .unwrap()
        .replace("min_bytes = 10_000_000", "");
    let login = server.declared_login();
    let url = format!("url = \"{}\"\n{login}", server.url("doc/{file}.csv"));
    let changed = text.replace(
        "url = \"https://www2.myfloridalicense.com/sto/file_download/extracts/{file}.csv\"",
        &url,
    );
    assert_ne!(text, changed);
    DeclarationFiles::built_in().with(&[(path, &changed)])
}

#[tokio::test(flavor = "multi_thread")]
async fn sftp_server_is_probed_as_a_run_fetches_it() {
    let Some(server) = Server::start(Door::Key).await else {
        return;
    };
    let text = std::fs::read_to_string(project(FIXTURE)).unwrap();
    server.put(FILE, text.as_bytes(), MODIFIED);
    let folder = tempfile::tempdir().unwrap();
    let mut run = settings(folder.path(), Vec::new(), declarations(&server));
    run.selectors = vec![SOURCE.to_owned()];
    // In these tests, a variable's name is the path of the file that it holds.
    run.fetch.secret = |variable| Some(variable.to_owned());
    let probe = async || -> (ProbedSource, ExitCode) {
        let fetch = pubdata_fetch::FetchSettings {
            secret: |variable| Some(variable.to_owned()),
            ..instant_waits()
        };
        let declarations = Declarations::load(declarations(&server)).unwrap();
        let home = Some(run.home.clone());
        let given = ProbeSettings {
            declarations,
            fetch,
            selectors: vec![SOURCE.to_owned()],
            chosen: pubdata_run::Chosen::default(),
            rows: 1_000,
            published: None,
            home,
        };
        let report = probe_here(&given).await;
        (report.sources[0].clone(), report.exit_code)
    };

    // The operator has not confirmed this key yet.
    let (stranger, code) = probe().await;
    let what = format!("{SOURCE}:host_key={}", server.host_key());
    assert_eq!(
        (stranger.verdict, stranger.predicted, code),
        (
            Verdict::Refused,
            PredictedOutcome::Block,
            ExitCode::SourceMissing
        ),
        "{stranger:#?}"
    );
    assert!(
        stranger.hints[0].contains(&format!("`pubdata accept {what}`")),
        "{stranger:#?}"
    );
    assert!(
        !server.log().contains("userauth-request"),
        "{}",
        server.log()
    );
    let refused = run_here(&run).await;
    assert!(
        refused.exit_code == code
            && refused.tasks[0].reasons[0].contains(stranger.problem.as_ref().unwrap()),
        "{refused:#?}"
    );

    let word = Word {
        what: &what,
        until: None,
        by: "ada",
        is_known_rule: false,
        is_withdrawn: false,
    };
    append_acceptance(
        &run.home,
        &acceptance(&run.declarations, &word, Timestamp::now()).unwrap(),
    )
    .unwrap();
    let (known, _) = probe().await;
    let sample = known.sample.clone().unwrap_or_else(|| panic!("{known:#?}"));
    assert_eq!(
        (known.verdict, known.outcome.word(), sample.rows),
        (Verdict::Ok, "built", text.lines().count() as u64),
        "{known:#?}"
    );

    // Only the head of a large file is fetched.
    let large = text.repeat(20_000_000 / text.len());
    server.put(FILE, large.as_bytes(), MODIFIED);
    let before = server.sent().len();
    assert_eq!(probe().await.0.verdict, Verdict::Ok);
    let sent: u64 = server.sent()[before..].iter().sum();
    assert!(
        (200_000..2_000_000).contains(&sent),
        "{sent} bytes of {}",
        large.len()
    );

    std::fs::remove_file(server.path(FILE)).unwrap();
    let (absent, code) = probe().await;
    assert_eq!(
        (absent.verdict, absent.problem.as_deref(), code),
        (
            Verdict::Absent,
            Some("the publisher has no such file"),
            ExitCode::SourceMissing
        )
    );
}
