//! Writes a response body into a partial download. Decompresses the body if the server compressed
//! it although the request did not allow that.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use reqwest::Response;

use super::client::causes;
use super::retry::Failure;
use super::{FetchProgress, check};
use pubdata_core::error::Error;
use pubdata_store::Partial;

/// Number of bytes to decompress between two size checks.
const BUFFER_BYTES: usize = 64 << 10;

/// Compression of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

impl Coding {
    /// Parses `Content-Encoding`; `None` if the body is the file itself.
    ///
    /// # Errors
    /// The header text, when it names an unknown coding or more than one coding.
    pub(super) fn parse(header: &str) -> Result<Option<Self>, &str> {
        let mut codings = header
            .split(',')
            .map(str::trim)
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"));
        let coding = match codings.next().map(str::to_ascii_lowercase).as_deref() {
            None => None,
            Some("gzip" | "x-gzip") => Some(Self::Gzip),
            Some("deflate") => Some(Self::Deflate),
            Some("br") => Some(Self::Brotli),
            Some(_) => return Err(header),
        };
        if codings.next().is_some() {
            Err(header)
        } else {
            Ok(coding)
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
        }
    }
}

/// Writes an uncompressed body, up to a file size of `max_bytes`.
pub(super) async fn take(
    mut response: Response,
    max_bytes: u64,
    partial: &mut Partial,
    progress: &dyn FetchProgress,
) -> Result<(), Failure> {
    let total_bytes = partial.origin().and_then(|of| of.total_bytes);
    let of_total = total_bytes.map_or_else(String::new, |total_bytes| format!(" of {total_bytes}"));
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| {
            Failure::again(Error::fetch(format!(
                "the transfer broke after {}{of_total} bytes: {}",
                partial.len(),
                causes(error)
            )))
        })?;
        let Some(chunk) = chunk else { break };
        if partial.len() + chunk.len() as u64 > max_bytes {
            let size_bytes = partial.len() + chunk.len() as u64;
            partial.restart()?;
            return Err(check::too_large(size_bytes, max_bytes).into());
        }
        partial.write(&chunk)?;
        progress.advanced(chunk.len() as u64);
    }
    match total_bytes {
        Some(total_bytes) if partial.len() < total_bytes => Err(Failure::again(Error::fetch(
            format!("the transfer ended after {}{of_total} bytes", partial.len()),
        ))),
        Some(total_bytes) if partial.len() > total_bytes => Err(restarted(
            partial,
            "the server sent more bytes than it announced",
        )),
        _ => Ok(()),
    }
}

/// Decompresses and writes a body. A broken transfer cannot be resumed, so the next attempt starts
/// from the beginning.
pub(super) async fn take_packed(
    mut response: Response,
    coding: Coding,
    max_bytes: u64,
    partial: &mut Partial,
    progress: &dyn FetchProgress,
) -> Result<(), Failure> {
    let unpacked = unpack(
        &mut response,
        coding,
        Sink {
            partial,
            max_bytes,
            failure: None,
        },
        progress,
    )
    .await;
    if unpacked.is_err() {
        partial.restart()?;
    }
    unpacked
}

async fn unpack(
    response: &mut Response,
    coding: Coding,
    sink: Sink<'_>,
    progress: &dyn FetchProgress,
) -> Result<(), Failure> {
    let mut unpacking = Unpacking::Waiting(coding, sink);
    loop {
        let chunk = response.chunk().await.map_err(|error| {
            Failure::again(Error::fetch(format!(
                "the transfer broke: {}",
                causes(error)
            )))
        })?;
        let Some(chunk) = chunk else {
            return unpacking.finish();
        };
        let before = unpacking.sink().partial.len();
        unpacking = unpacking.take(&chunk)?;
        progress.advanced(unpacking.sink().partial.len() - before);
    }
}

/// Discards the bytes received so far, so that the next attempt starts from the beginning.
pub(super) fn restarted(partial: &mut Partial, reason: &str) -> Failure {
    match partial.restart() {
        Ok(()) => Failure::again(Error::fetch(reason.to_owned())),
        Err(error) => error.into(),
    }
}

/// Writes decompressed bytes to the download, up to the limit.
struct Sink<'a> {
    partial: &'a mut Partial,
    max_bytes: u64,
    /// Why writing stopped: a local failure, or a file that is too large.
    failure: Option<Error>,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size_bytes = self.partial.len() + bytes.len() as u64;
        let written = if size_bytes > self.max_bytes {
            Err(check::too_large(size_bytes, self.max_bytes))
        } else {
            self.partial.write(bytes)
        };
        written.map(|()| bytes.len()).map_err(|error| {
            self.failure = Some(error);
            io::Error::other("not written")
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decompresses `deflate` up to the end marker of the stream. The writers in `flate2` would accept
/// a truncated stream.
struct Inflating<'a> {
    stream: Decompress,
    buffer: Vec<u8>,
    sink: Sink<'a>,
    is_at_end: bool,
}

impl<'a> Inflating<'a> {
    fn new(stream: Decompress, sink: Sink<'a>) -> Self {
        Self {
            stream,
            buffer: vec![0; BUFFER_BYTES],
            sink,
            is_at_end: false,
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !self.is_at_end {
            let (taken, made) = (self.stream.total_in(), self.stream.total_out());
            let status = self
                .stream
                .decompress(bytes, &mut self.buffer, FlushDecompress::None)
                .map_err(io::Error::other)?;
            let (taken, made) = (
                (self.stream.total_in() - taken) as usize,
                (self.stream.total_out() - made) as usize,
            );
            self.sink.write_all(&self.buffer[..made])?;
            bytes = &bytes[taken..];
            self.is_at_end = status == Status::StreamEnd;
            if bytes.is_empty() && made < self.buffer.len() {
                return Ok(());
            }
            if (taken, made) == (0, 0) && !self.is_at_end {
                return Err(io::Error::other("the stream goes no further"));
            }
        }
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(io::Error::other("there are bytes after its end"))
        }
    }

    fn finish(&self) -> io::Result<()> {
        if self.is_at_end {
            Ok(())
        } else {
            Err(io::Error::other("it is truncated"))
        }
    }
}

enum Unpacking<'a> {
    /// No byte has arrived yet. The first byte distinguishes the two formats of `deflate`.
    Waiting(Coding, Sink<'a>),
    Gzip(MultiGzDecoder<Sink<'a>>),
    Deflate(Inflating<'a>),
    Brotli(Box<DecompressorWriter<Sink<'a>>>),
}

impl<'a> Unpacking<'a> {
    fn take(self, bytes: &[u8]) -> Result<Self, Failure> {
        let mut started = match (self, bytes.first()) {
            (Self::Waiting(Coding::Gzip, sink), Some(_)) => Self::Gzip(MultiGzDecoder::new(sink)),
            (Self::Waiting(Coding::Brotli, sink), Some(_)) => {
                Self::Brotli(Box::new(DecompressorWriter::new(sink, BUFFER_BYTES)))
            }
            // RFC 9110 specifies the zlib format, whose first byte has 8 in its low half. Some
            // servers send the raw format instead.
            (Self::Waiting(Coding::Deflate, sink), Some(first)) if first & 0x0f == 8 => {
                Self::Deflate(Inflating::new(Decompress::new(true), sink))
            }
            (Self::Waiting(Coding::Deflate, sink), Some(_)) => {
                Self::Deflate(Inflating::new(Decompress::new(false), sink))
            }
            (unpacking, _) => unpacking,
        };
        let written = match &mut started {
            Self::Waiting(..) => Ok(()),
            Self::Gzip(decoder) => decoder.write_all(bytes),
            Self::Deflate(inflating) => inflating.take(bytes),
            Self::Brotli(decoder) => decoder.write_all(bytes),
        };
        written.map_err(|error| started.failure(&error))?;
        Ok(started)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let finished = match self {
            Self::Waiting(..) => Ok(()),
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Deflate(inflating) => inflating.finish(),
            Self::Brotli(decoder) => decoder.close(),
        };
        finished.map_err(|error| self.failure(&error))
    }

    fn sink(&mut self) -> &mut Sink<'a> {
        match self {
            Self::Waiting(_, sink) => sink,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(inflating) => &mut inflating.sink,
            Self::Brotli(decoder) => decoder.get_mut(),
        }
    }

    fn failure(&mut self, error: &io::Error) -> Failure {
        let coding = match self {
            Self::Waiting(coding, _) => *coding,
            Self::Gzip(_) => Coding::Gzip,
            Self::Deflate(_) => Coding::Deflate,
            Self::Brotli(_) => Coding::Brotli,
        };
        match self.sink().failure.take() {
            Some(error) => error.into(),
            None => Failure::again(Error::fetch(format!(
                "cannot decompress what the server sent as {}: {error}",
                coding.name()
            ))),
        }
    }
}

/// Functions for `fuzz/` that are not part of the library's API.
#[cfg(fuzzing)]
pub mod fuzzing {
    use super::{Coding, Sink, Unpacking};
    use pubdata_store::Partial;

    /// Decompresses pieces of a body into the download, and returns whether the body was complete.
    pub fn unpack(
        content_encoding: &str,
        pieces: &[&[u8]],
        max_bytes: u64,
        partial: &mut Partial,
    ) -> bool {
        let Ok(Some(coding)) = Coding::parse(content_encoding) else {
            return false;
        };
        let mut unpacking = Unpacking::Waiting(
            coding,
            Sink {
                partial,
                max_bytes,
                failure: None,
            },
        );
        for piece in pieces {
            unpacking = match unpacking.take(piece) {
                Ok(unpacking) => unpacking,
                Err(_) => return false,
            };
        }
        unpacking.finish().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_encodings_are_read_as_servers_write_them() {
        for (header, expected) in [
            ("", Ok(None)),
            ("identity", Ok(None)),
            ("GZIP", Ok(Some(Coding::Gzip))),
            ("x-gzip", Ok(Some(Coding::Gzip))),
            ("identity, deflate", Ok(Some(Coding::Deflate))),
            ("br", Ok(Some(Coding::Brotli))),
            ("gzip, br", Err("gzip, br")),
            ("zstd", Err("zstd")),
        ] {
            assert_eq!(Coding::parse(header), expected, "{header}");
        }
    }
}
