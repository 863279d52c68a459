//! Owns every path and pointer, on disk or in an object store: snapshots, releases, channels,
//! ledger. No other crate builds such paths.

mod acceptances;
mod api_key;
mod blocks;
mod changes;
mod channels;
mod cloud;
mod copies;
mod declared_texts;
mod diff;
mod disk_use;
mod distributed;
mod durable;
mod events;
pub mod evidence;
mod files;
mod folder_files;
mod foreign_errors;
mod formats;
mod home;
mod invitations;
mod keys;
mod ledger;
mod lines;
mod log_files;
mod manifest;
pub mod monitor;
mod part_files;
mod partial;
mod plans;
mod public_view;
pub mod receipts;
mod record;
mod releases;
mod replica;
mod scratch;
mod seen_logs;
mod shared;
mod shared_snapshots;
mod sidecars;
mod snapshots;
mod staging;
mod stale;
mod temporary;
mod word_counts;

pub use acceptances::{
    ACCEPTANCE_FORMAT_VERSION, Acceptance, Accepted, acceptances, accepted, append_acceptance,
};
pub use api_key::{ApiKey, CreatedKey, NewKey, PreviousSecret, Scope, expires_after};
pub use changes::{Cause, InputChange, causes, causes_of_task, changed_inputs, paired_parts};
pub use channels::{CHANNEL_FORMAT_VERSION, ChannelAction, ChannelEntry, ChannelMove};
pub use copies::{Copies, Copy, MappedFile, of_all};
pub use declared_texts::declared_path;
pub use diff::{
    CausedChanges, Causes, ColumnChange, DatasetDiff, PartRows, RecordCause, RecordChange,
    RecordDiff, RecordWhy, ReleaseDiff, changes_of_records, diff,
};
pub use disk_use::{DiskUse, disk_use, free_bytes};
pub use distributed::{DistributedRunStore, staged_part_key};
pub use durable::write_file;
pub use events::{
    EVENT_FORMAT_VERSION, Event, EventKind, EventLog, EventTail, Feed, FeedState, Findings,
    FollowState, NewEvent, REPLAY, Reconciled, StreamEntity, StreamFiling, last_event_at,
};
pub use files::{open_file, read_at_most, read_file};
pub use foreign_errors::parquet_error;
pub use formats::{FormatReport, StagedFormats, Treatment, formats};
pub use home::{Home, RunLock, SETTINGS_FILE};
pub use invitations::{CreatedInvitation, Invitation, NewInvitation};
pub use keys::Keys;
pub use ledger::{
    IMPORTED, ImportedFile, LEDGER_FORMAT_VERSION, LedgerEntry, LedgerTask, WITHDRAWN,
    append_ledger, last_import_entry, read_ledger,
};
pub use log_files::{remember_signed_note, signed_note};
pub use manifest::{
    BUCKET, DatasetEntry, MANIFEST_FORMAT_VERSION, Manifest, PART_FORMAT_VERSION, Part, PartReport,
    QUARANTINE_DATASET_COLUMN, TaskEntry, part_path,
};
pub use part_files::PartFiles;
pub use partial::{Partial, PartialOrigin};
pub use plans::{ANONYMOUS_PLAN, Plan, Plans};
pub use public_view::redact_folders;
pub use record::{
    FoundRecord, Record, find_in_batch, find_record, pointers_at, record_at, record_ids_where,
    row_of_record,
};
pub use releases::{IncompleteRelease, Releases};
pub use replica::{Replica, SharedLog, change_keys, list_keys};
pub use scratch::Scratch;
pub use seen_logs::{
    LogEvidence, SEEN_LOG_FORMAT_VERSION, SeenLog, keep_log_evidence, remember_log, seen_log,
    seen_logs,
};
pub use shared::{SharedFile, SharedStore};
pub use shared_snapshots::Taken;
pub use sidecars::{DATA_PACKAGE, delta_log_path};
pub use snapshots::{
    FileStamp, KnownChange, KnownUrl, MAX_HEADER_BYTES, Snapshots, StoredSnapshot,
};
pub use staging::Staging;
pub use stale::{STALE_TASKS_FORMAT_VERSION, StaleTask, StaleTasks};
pub use temporary::TemporaryHome;
pub use word_counts::{WordCounts, WordTally};

use pubdata_core::error::{IoExt, Result};

/// Appends values to a file as JSON lines, creating the folder if necessary.
pub fn append_lines<T: serde::Serialize>(path: &std::path::Path, values: &[T]) -> Result<()> {
    use std::io::Write;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).at("create folder", folder)?;
    }
    let mut file = std::io::BufWriter::new(
        files::open_with(std::fs::OpenOptions::new().create(true).append(true), path)
            .at("open", path)?,
    );
    for value in values {
        let line = serde_json::to_vec(value).expect("findings are plain data");
        file.write_all(&line)
            .and_then(|()| file.write_all(b"\n"))
            .at("write", path)?;
    }
    file.flush().at("write", path)
}
