//! A part of a file, and what was said when it was asked for.

/// Which bytes of a file are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// So many from the first on.
    Start(u64),
    /// The last so many.
    End(u64),
    /// From a place on, so many.
    At(u64, u64),
}

/// What was said when a part of a file was asked for. Nothing of it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Found {
        /// None of a file on this machine.
        status: Option<u16>,
        content_type: Option<String>,
        /// Size of the whole file, where it is known.
        total_bytes: Option<u64>,
        /// The publisher's date of the file, `YYYY-MM-DD`, where it says one.
        dated: Option<String>,
        /// Where the bytes begin.
        start: u64,
        bytes: Vec<u8>,
    },
    /// There is no such file.
    Absent { status: Option<u16> },
    /// The server sends on to an address that is not followed.
    Moved { status: u16, location: String },
    /// The server does not serve this program, or not this request, or is not known to be the
    /// publisher's.
    Refused {
        status: Option<u16>,
        message: String,
        hint: Option<String>,
    },
    /// No answer, or one that says to come back later.
    Unreachable {
        status: Option<u16>,
        message: String,
        hint: Option<String>,
    },
    /// The URL needs a secret that is not configured; nothing was asked.
    NotConfigured { variable: String },
    /// A setting or an address cannot be used; nothing was asked.
    Unusable {
        message: String,
        hint: Option<String>,
    },
}

impl Head {
    /// Whether the bytes are the whole file.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Found { total_bytes: Some(total), start: 0, bytes, .. } if bytes.len() as u64 == *total)
    }
}

impl Piece {
    /// The value of a `Range` header.
    pub(super) fn range(self) -> String {
        match self {
            Self::Start(length) => format!("bytes=0-{}", length.saturating_sub(1)),
            Self::End(length) => format!("bytes=-{length}"),
            Self::At(start, length) => {
                format!("bytes={start}-{}", start + length.saturating_sub(1))
            }
        }
    }

    /// First byte and length in a file of a size.
    pub(super) fn within(self, total: u64) -> (u64, u64) {
        let start = match self {
            Self::Start(_) => 0,
            Self::End(length) => total.saturating_sub(length),
            Self::At(start, _) => start.min(total),
        };
        (start, self.length().min(total - start))
    }

    pub(super) fn length(self) -> u64 {
        match self {
            Self::Start(length) | Self::End(length) | Self::At(_, length) => length,
        }
    }
}
