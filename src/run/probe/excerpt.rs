//! Cuts a small file of complete records from the beginning of a large file. The excerpt of an
//! archive is an archive with one member.

use super::address::Address;
use pubdata_build::decode::{self, ArchiveParts, PackedMember};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Format, Source, Syntax, expand, is_packed};
use pubdata_fetch::{Fetcher, Head, Piece, Request};

/// Number of bytes requested from each file.
const HEAD_BYTES: u64 = 256 << 10;

/// Maximum size up to which files that cannot be cut, and lookup lists, are read completely.
const WHOLE_BYTES: u64 = 8 << 20;

/// Maximum decompressed size of the beginning of a member.
const MAX_UNPACKED: usize = 2 << 20;

/// Bytes of a file to examine.
pub(super) struct Beginning {
    pub(super) total_bytes: Option<u64>,
    pub(super) bytes: Vec<u8>,
    pub(super) is_whole: bool,
}

/// The beginning of a file, cut out as a separate file.
pub(super) struct Excerpt {
    pub(super) bytes: Vec<u8>,
    pub(super) member: Option<String>,
    pub(super) is_whole: bool,
    pub(super) records: u64,
}

/// Result of cutting a file's beginning.
pub(super) enum Cut {
    Excerpt(Excerpt),
    /// Only the file's structure is known, for this reason.
    Structure(String),
    /// A download would reject the bytes, for this reason.
    Refused(String),
}

/// Returns how much of a file to request first.
pub(super) fn first_piece(address: &Address<'_>) -> Piece {
    let is_cut = !address.is_lookup && address.source.format != Format::Xlsx;
    Piece::Start(if is_cut { HEAD_BYTES } else { WHOLE_BYTES })
}

pub(super) fn is_archive(source: &Source, url: &str) -> bool {
    source.is_archive() && (source.listing.is_none() || is_packed(url))
}

/// Cuts complete records from the beginning of a file. `place` is the URL from which further bytes
/// can be requested.
///
/// # Errors
/// Returns `Format` if the beginning is not of the declared kind.
pub(super) async fn cut(
    fetcher: &Fetcher,
    address: &Address<'_>,
    place: &Request,
    beginning: Beginning,
    rows: usize,
) -> Result<Cut> {
    let source = address.source;
    let rows = if address.is_lookup { usize::MAX } else { rows };
    if is_archive(source, &address.request.url) {
        return cut_archive(fetcher, address, place, beginning, rows).await;
    }
    if let Format::Document { syntax } = source.format {
        let first = beginning.bytes.trim_ascii_start().first().copied();
        let is_it = match syntax {
            Syntax::Json => matches!(first, Some(b'{' | b'[')),
            Syntax::Xml => first == Some(b'<'),
        };
        return if is_it {
            Ok(Cut::Structure(documents()))
        } else {
            Err(Error::format(
                "does not begin as the document that is declared",
            ))
        };
    }
    let (bytes, records) =
        decode::excerpt(&source.format, &beginning.bytes, beginning.is_whole, rows)
            .ok_or_else(|| not_cut(&beginning))?;
    let is_whole = beginning.is_whole && bytes.len() == beginning.bytes.len();
    Ok(Cut::Excerpt(Excerpt {
        bytes,
        member: None,
        is_whole,
        records,
    }))
}

pub(super) fn documents() -> String {
    "documents are not sampled".to_owned()
}

fn not_cut(beginning: &Beginning) -> Error {
    Error::format(format!(
        "the first {} bytes hold no record of the declared layout",
        beginning.bytes.len()
    ))
}

async fn cut_archive(
    fetcher: &Fetcher,
    address: &Address<'_>,
    place: &Request,
    beginning: Beginning,
    rows: usize,
) -> Result<Cut> {
    let source = address.source;
    let pattern = source
        .member
        .as_deref()
        .or(source.members.as_deref())
        .unwrap_or("*");
    let pattern = expand(pattern, &address.request.keys)?;
    let member = match find_member(fetcher, place, &beginning, &pattern).await? {
        Found::Member(member) => member,
        Found::Unknown(reason) => return Ok(Cut::Structure(reason)),
        Found::NoEnd => {
            return Ok(Cut::Refused(
                "the ZIP archive has no end record: it is cut short or damaged".to_owned(),
            ));
        }
    };
    if matches!(source.format, Format::Document { .. }) {
        return Ok(Cut::Structure(documents()));
    }
    if source.format == Format::Xlsx || (address.is_lookup && beginning.is_whole) {
        return Ok(match beginning.is_whole {
            true => Cut::Excerpt(Excerpt {
                bytes: beginning.bytes,
                member: Some(member.name),
                is_whole: true,
                records: 0,
            }),
            false => Cut::Structure(format!(
                "workbooks above {} MiB are not sampled",
                WHOLE_BYTES >> 20
            )),
        });
    }
    let start = usize::try_from(member.start).unwrap_or(usize::MAX);
    let content = match beginning.bytes.get(start..).filter(|rest| rest.len() as u64 >= HEAD_BYTES / 2 || beginning.is_whole) {
        Some(packed) => decode::unpack_start(packed, MAX_UNPACKED)?,
        None => match fetcher.head(place, Piece::At(member.start, HEAD_BYTES)).await? {
            Head::Found { bytes, start, .. } if start == member.start => decode::unpack_start(&bytes, MAX_UNPACKED)?,
            _ => return Ok(Cut::Structure("the server sends no parts of files, and the member is not at the archive's beginning".to_owned())),
        },
    };
    let (content, is_whole) = content;
    let (packed, records) = decode::excerpt(&source.format, &content, is_whole, rows)
        .ok_or_else(|| not_cut(&beginning))?;
    let is_whole = is_whole && packed.len() == content.len() && source.members.is_none();
    Ok(Cut::Excerpt(Excerpt {
        bytes: decode::pack(&member, &packed)?,
        member: Some(member.name),
        is_whole,
        records,
    }))
}

enum Found {
    Member(PackedMember),
    /// The member's position is unknown, for this reason.
    Unknown(String),
    /// The archive has no end record.
    NoEnd,
}

/// Finds the first archive member that matches a pattern. Requests the archive's directory if the
/// beginning does not contain it.
async fn find_member(
    fetcher: &Fetcher,
    place: &Request,
    beginning: &Beginning,
    pattern: &str,
) -> Result<Found> {
    let leading = || {
        decode::leading_member(&beginning.bytes)
            .filter(|member| decode::is_member_of(pattern, &member.name))
    };
    let or_leading =
        |reason: &str| leading().map_or_else(|| Found::Unknown(reason.to_owned()), Found::Member);
    let Some(total) = beginning.total_bytes else {
        return Ok(or_leading(
            "the server does not say how large the archive is",
        ));
    };
    let mut parts = ArchiveParts::new(total, vec![(0, beginning.bytes.clone())]);
    if !beginning.is_whole {
        match fetcher.head(place, Piece::End(decode::TAIL_BYTES)).await? {
            Head::Found { start, bytes, .. } if start + bytes.len() as u64 == total => {
                parts.add(start, bytes);
            }
            _ => {
                return Ok(or_leading(
                    "the server sends no parts of files, and the archive's directory is at its end",
                ));
            }
        }
        if let Some((start, length)) = parts.directory() {
            if length > WHOLE_BYTES {
                return Ok(or_leading(
                    "the archive's directory is too large to be asked for",
                ));
            }
            if start < total.saturating_sub(decode::TAIL_BYTES)
                && let Head::Found { start, bytes, .. } =
                    fetcher.head(place, Piece::At(start, length)).await?
            {
                parts.add(start, bytes);
            }
        }
    }
    if parts.directory().is_none() {
        return Ok(Found::NoEnd);
    }
    parts.first_member(pattern).map(Found::Member)
}
