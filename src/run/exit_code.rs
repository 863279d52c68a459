//! How a run ended, as schedulers see it. The worst that happened decides it, which is not the highest number.

use serde::Serialize;

/// How a run ended, as schedulers see it; the worst of what happened counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "u8")]
pub enum ExitCode {
    /// Published, or nothing had changed.
    Ok,
    /// Published, with something to look at: more quarantined records than the declared level, or an edition that is late.
    Quarantined,
    /// A source was not available; the rest was published.
    SourceMissing,
    /// Validation stopped a dataset; the rest was published.
    Blocked,
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> Self {
        match code {
            ExitCode::Ok => 0,
            ExitCode::Quarantined => 10,
            ExitCode::SourceMissing => 30,
            ExitCode::Blocked => 20,
        }
    }
}
