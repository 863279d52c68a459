//! Audits servers of the fixtures' sealed release: honest ones, and ones that lie.

mod files;
mod hostile;
mod liar;
mod log;
mod program;
mod records;

use std::time::Duration;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::Error;
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::FetchSettings;
use pubdata_fetch::log_auditor::{AuditReport, AuditSettings, Outcome, audit};
use pubdata_store::Home;
use tempfile::TempDir;

use crate::receipts::SealedPlace;
use crate::serve::Served;
use liar::Liar;
use pubdata_testing::files_below;

/// An auditor's home, and the server to audit.
struct Auditor {
    home: TempDir,
    url: String,
    api_key: Option<String>,
    key: Option<String>,
    records: usize,
    mirror: Option<String>,
}

impl Auditor {
    /// Auditor of a server, without checks of the publishers' files.
    fn new(liar: &Liar) -> Self {
        Self {
            api_key: Some(liar.key()),
            ..Self::at(liar.url())
        }
    }

    fn at(url: &str) -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            url: url.to_owned(),
            api_key: None,
            key: None,
            records: 6,
            mirror: None,
        }
    }

    fn settings(&self) -> AuditSettings {
        let short = Duration::from_millis(10);
        let fetch = FetchSettings {
            mirrors: self.mirror.clone().into_iter().collect(),
            tries: 2,
            first_wait: short,
            longest_wait: short,
            ..FetchSettings::default()
        };
        AuditSettings {
            home: Home::open(self.home.path()).unwrap(),
            declarations: Declarations::load(DeclarationFiles::built_in()).unwrap(),
            fetch,
            url: self.url.clone(),
            api_key: self.api_key.clone(),
            key: self
                .key
                .as_ref()
                .map(|key| pubdata_store::receipts::VerifierKey::parse(key).unwrap()),
            records: self.records,
            seed: 1,
            publisher_bytes: if self.mirror.is_some() {
                100_000_000
            } else {
                0
            },
        }
    }

    async fn look(&self) -> Result<AuditReport, Error> {
        audit(&self.settings()).await
    }

    #[track_caller]
    fn evidence(&self) -> Vec<serde_json::Value> {
        let folder = self.home.path().join("seen-logs/evidence");
        if !folder.exists() {
            return Vec::new();
        }
        files_below(&folder)
            .iter()
            .map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
            .collect()
    }

    fn seen(&self) -> serde_json::Value {
        let files: Vec<_> = files_below(&self.home.path().join("seen-logs"))
            .into_iter()
            .filter(|file| !file.to_str().unwrap().contains("evidence"))
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        serde_json::from_slice(&std::fs::read(&files[0]).unwrap()).unwrap()
    }
}

/// Asserts that the report has no problem.
#[track_caller]
fn fine(report: &AuditReport) {
    assert_eq!(
        (report.outcome, &report.problems),
        (Outcome::Match, &Vec::new()),
        "{report:#?}"
    );
}

/// Asserts that the report has problems, and that each contains the text.
#[track_caller]
fn wrong(report: &AuditReport, reported: &str) {
    assert_eq!(report.outcome, Outcome::Mismatch, "{report:#?}");
    assert!(
        !report.problems.is_empty()
            && report
                .problems
                .iter()
                .all(|problem| problem.contains(reported)),
        "{report:#?}"
    );
}

/// A run with another figure, sealed.
fn night(sealed: &SealedPlace, figure: &str) {
    sealed.place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replacen("|19652|", &format!("|{figure}|"), 1)
    });
    let (mirror, secret) = (sealed.place.mirror(), sealed.secret());
    let arguments = [
        "run",
        "census.acs5",
        "--mirror",
        mirror.to_str().unwrap(),
        "--signing-key",
        secret.to_str().unwrap(),
    ];
    sealed.place.pubdata(&arguments).expect(0);
}

async fn served(sealed: SealedPlace) -> Served {
    Served::start(sealed.place).await
}
