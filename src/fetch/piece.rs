//! Defines a byte range of a file and the response to a request for it.

/// The byte range to request from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// The given number of bytes from the start of the file.
    Start(u64),
    /// The given number of bytes at the end of the file.
    End(u64),
    /// Offset and number of bytes.
    At(u64, u64),
}

/// Response to a request for a part of a file. The bytes are not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Found {
        /// Status of the response; `None` for a file on this machine.
        status: Option<u16>,
        content_type: Option<String>,
        /// Size of the entire file, if known.
        total_bytes: Option<u64>,
        /// The publisher's date for the file, `YYYY-MM-DD`, if the response includes one.
        dated: Option<String>,
        /// Offset of the first byte.
        start: u64,
        bytes: Vec<u8>,
    },
    /// The file does not exist.
    Absent { status: Option<u16> },
    /// The server redirects to a URL that may not be followed.
    Moved { status: u16, location: String },
    /// The server refuses this program or this request, or its host key is not known.
    Refused {
        status: Option<u16>,
        message: String,
        hint: Option<String>,
    },
    /// The server did not respond, or asked the client to retry later.
    Unreachable {
        status: Option<u16>,
        message: String,
        hint: Option<String>,
    },
    /// The URL needs a secret that is not configured; no request was sent.
    NotConfigured { variable: String },
    /// A setting or a URL is not usable; no request was sent.
    Unusable {
        message: String,
        hint: Option<String>,
    },
}

impl Head {
    /// Returns whether the bytes are the entire file.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Found { total_bytes: Some(total), start: 0, bytes, .. } if bytes.len() as u64 == *total)
    }
}

impl Piece {
    /// Returns the value of a `Range` header.
    pub(super) fn range(self) -> String {
        match self {
            Self::Start(length) => format!("bytes=0-{}", length.saturating_sub(1)),
            Self::End(length) => format!("bytes=-{length}"),
            Self::At(start, length) => {
                format!("bytes={start}-{}", start + length.saturating_sub(1))
            }
        }
    }

    /// Returns the first byte and the length of this range in a file of size `total`.
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
