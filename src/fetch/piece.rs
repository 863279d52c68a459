//! Defines a byte range of a file and the response to a request for it.

/// Which bytes of a file are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// This many from the first byte.
    Start(u64),
    /// This many up to the last byte.
    End(u64),
    /// Offset and number of bytes.
    At(u64, u64),
}

/// Response to a request for a part of a file. Nothing of it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Found {
        /// `None` for a file on this machine.
        status: Option<u16>,
        content_type: Option<String>,
        /// Size of the whole file, if known.
        total_bytes: Option<u64>,
        /// The publisher's date of the file, `YYYY-MM-DD`, if the response has one.
        dated: Option<String>,
        /// Offset of the first byte.
        start: u64,
        bytes: Vec<u8>,
    },
    /// The file does not exist.
    Absent { status: Option<u16> },
    /// The server redirects to an address that is not followed.
    Moved { status: u16, location: String },
    /// The server does not serve this program, or not this request, or its host key is not known.
    Refused {
        status: Option<u16>,
        message: String,
        hint: Option<String>,
    },
    /// No response, or one that asks to come back later.
    Unreachable {
        status: Option<u16>,
        message: String,
        hint: Option<String>,
    },
    /// The URL needs a secret that is not configured; no request was sent.
    NotConfigured { variable: String },
    /// A setting or an address is not usable; no request was sent.
    Unusable {
        message: String,
        hint: Option<String>,
    },
}

impl Head {
    /// Returns whether the bytes are the whole file.
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

    /// Returns first byte and length within a file of size `total`.
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
