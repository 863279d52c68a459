//! Failures of the program, as opposed to findings about data (see `issue`). One opaque error type
//! for the whole crate: a kind that decides the exit code, a message, the places it passed through,
//! and a way out when there is one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong, coarse enough to decide what a scheduler should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A declaration, contract, flag or setting is wrong: a person must change it.
    Config,
    /// A source could not be fetched, or what came is not what was declared.
    Fetch,
    /// A snapshot is not in the declared format.
    Format,
    /// Data breaks its contract or an expectation.
    Contract,
    /// Reading or writing our own files failed, or they are damaged.
    Store,
    /// Work that other processes do is not done yet.
    Unfinished,
    /// Another run holds the lock or won the race for a channel.
    Busy,
}

impl ErrorKind {
    /// The exit code of a command that ends with such a failure.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Format | Self::Contract => 20,
            Self::Fetch | Self::Unfinished => 30,
            Self::Config => 40,
            Self::Busy => 50,
            Self::Store => 60,
        }
    }
}

/// A failure with its context. Messages are lower case, without a final full stop.
#[derive(Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    context: Vec<String>,
    hint: Option<String>,
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            context: Vec::new(),
            hint: None,
        }
    }

    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    pub fn fetch(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Fetch, message)
    }

    pub fn format(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Format, message)
    }

    pub fn contract(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Contract, message)
    }

    pub fn store(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Store, message)
    }

    /// Adds the place the failure passed through (a dataset, a file, a member); the outermost is
    /// printed first.
    pub fn context(mut self, place: impl Into<String>) -> Self {
        self.context.push(place.into());
        self
    }

    /// Adds what the reader can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the reader can do about it, when known.
    pub fn way_out(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in self.context.iter().rev() {
            write!(formatter, "{place}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {self}", self.kind)
    }
}

impl std::error::Error for Error {}

impl From<polars_error::PolarsError> for Error {
    fn from(error: polars_error::PolarsError) -> Self {
        Self::format(error.to_string())
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::store(error.to_string())
    }
}

/// Adds places and kinds to any result on its way up.
pub trait ResultExt<T> {
    /// Adds a place to a crate error.
    fn context(self, place: impl FnOnce() -> String) -> Result<T>;
}

impl<T> ResultExt<T> for Result<T> {
    fn context(self, place: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.context(place()))
    }
}

/// Turns an I/O result into a crate result that names the path.
pub trait IoExt<T> {
    /// `action` is a phrase such as "read" or "create folder".
    fn at(self, action: &str, path: &std::path::Path) -> Result<T>;
}

impl<T> IoExt<T> for std::io::Result<T> {
    fn at(self, action: &str, path: &std::path::Path) -> Result<T> {
        self.map_err(|error| Error {
            hint: io_hint(&error).map(str::to_owned),
            ..Error::store(format!("cannot {action} {}: {error}", path.display()))
        })
    }
}

/// "Too many open files", of the process and of the system.
const NO_FILES_LEFT: [i32; 2] = [24, 23];

/// The failure of ours that a foreign error comes from: that this process may not open more files
/// and connections.
pub fn want_of_files(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let refused = |cause: &&std::io::Error| {
        cause
            .raw_os_error()
            .is_some_and(|code| NO_FILES_LEFT.contains(&code))
    };
    let cause = causes
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .find(refused)?;
    Some(Error {
        hint: io_hint(cause).map(str::to_owned),
        ..Error::store(format!("cannot open a connection: {cause}"))
    })
}

/// Returns what an operator can do about a system call that was refused, when known.
pub fn io_hint(error: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind::{
        AlreadyExists, FileTooLarge, NotADirectory, NotSeekable, PermissionDenied, QuotaExceeded,
        ReadOnlyFilesystem, StorageFull,
    };
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => Some(
            "make room there (`pubdata releases prune` deletes old releases) or raise the quota, then run again",
        ),
        PermissionDenied => Some(
            "the user that runs pubdata needs the right to it: look at owner and mode of the file and of its folder",
        ),
        AlreadyExists | NotADirectory => {
            Some("something else stands in the place of a folder: move it away")
        }
        NotSeekable => Some(
            "something else stands in the place of a file: move it away, and put the file back from a backup if it was one",
        ),
        ReadOnlyFilesystem => {
            Some("the disk is mounted for reading only: look at `mount` and at the system's log")
        }
        _ if error
            .raw_os_error()
            .is_some_and(|code| NO_FILES_LEFT.contains(&code)) =>
        {
            Some(
                "raise the limit of open files: `ulimit -n 8192`, or `LimitNOFILE=8192` in the service's unit",
            )
        }
        _ => None,
    }
}
