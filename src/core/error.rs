//! Defines program errors, as opposed to data issues (see `issue`). All crates share one opaque
//! error type: a kind that decides the exit code, a message, the contexts that the error passed
//! through, and an optional hint.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of error, coarse enough for a scheduler to decide what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A declaration, contract, flag or setting is wrong. The operator must change it.
    Config,
    /// A source could not be fetched, or the fetched file does not match the declaration.
    Fetch,
    /// A snapshot is not in the declared format.
    Format,
    /// The data violate their contract or an expectation.
    Contract,
    /// Local files could not be read or written, or are damaged.
    Store,
    /// Other processes have not finished their work yet.
    Unfinished,
    /// Another run holds the lock or won the race for a channel.
    Busy,
}

impl ErrorKind {
    /// Returns the exit code of a command that fails with this kind of error.
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

/// An error with its context. Messages start in lower case and have no final full stop.
#[derive(Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    context: Vec<String>,
    hint: Option<String>,
}

/// A result with the program's error type.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error of the given kind.
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

    /// Adds a context that the error passed through (a dataset, a file, an archive member). The
    /// outermost context is printed first.
    pub fn context(mut self, place: impl Into<String>) -> Self {
        self.context.push(place.into());
        self
    }

    /// Adds a hint that tells the reader what to do about the error.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the hint, if the error has one.
    pub fn hint_text(&self) -> Option<&str> {
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

/// Adds contexts to a result while it is propagated.
pub trait ResultExt<T> {
    /// Adds a context to an error.
    fn context(self, place: impl FnOnce() -> String) -> Result<T>;
}

impl<T> ResultExt<T> for Result<T> {
    fn context(self, place: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.context(place()))
    }
}

/// Converts an I/O result and adds the path to the error.
pub trait IoExt<T> {
    /// Adds the action and the path to the error. `action` is a phrase such as "read" or "create
    /// folder".
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

/// "Too many open files": the process limit and the system limit.
const NO_FILES_LEFT: [i32; 2] = [24, 23];

/// Returns an error if a foreign error was caused by the limit on open files and connections.
pub fn file_limit_error(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
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

/// Returns a hint for the operator about a failed system call, if one is known.
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
            Some("something that is not a folder is in its place: move it away")
        }
        NotSeekable => Some(
            "something that is not a file is in its place: move it away, and restore the file from a backup if there was one",
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
