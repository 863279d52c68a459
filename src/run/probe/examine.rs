//! Judges the file at a URL: it is as declared, changed, absent, or replaced by a page that blocks
//! programs. Puts the file's first records on the mirror of samples.

use std::path::Path;

use super::ProbeContext;
use super::address::{Address, sample_path};
use super::examined::Examined;
use super::excerpt::{Beginning, Cut, cut, first_piece, is_archive};
use super::header::{columns_of, judged};
use super::hints::hints;
use super::report::Verdict;
use crate::fetching::manual_import::due_message;
use pubdata_core::error::{ErrorKind, IoExt, Result};
use pubdata_core::pipeline::Source;
use pubdata_fetch::{self as fetch, Head, Request, recorded_url};

/// Phrases that indicate a page that blocks programs.
const BLOCK_PAGE_WORDS: [&str; 9] = [
    "captcha",
    "cf-chl",
    "just a moment",
    "access denied",
    "request rejected",
    "incapsula",
    "are you a robot",
    "pardon our interruption",
    "unusual traffic",
];

/// Requests the first bytes of a file, compares the file with its declaration, and puts its first
/// records on the mirror of samples.
pub(super) async fn examine(context: &ProbeContext<'_>, address: &Address<'_>) -> Result<Examined> {
    let Address {
        source, request, ..
    } = address;
    if source.by_hand && !context.fetcher.has_mirror() {
        return Ok(Examined::with(
            Verdict::NotRequested,
            None,
            due_message(&source.source_id, &recorded_url(&request.url)?),
        ));
    }
    let mut examined = ask(context, address).await?;
    examined.hints = hints(context, source, request, &examined);
    Ok(examined)
}

async fn ask(context: &ProbeContext<'_>, address: &Address<'_>) -> Result<Examined> {
    let Address {
        source, request, ..
    } = address;
    let head = context.fetcher.head(request, first_piece(address)).await?;
    let is_whole = head.is_whole();
    let (status, content_type, total_bytes, dated, bytes) = match head {
        Head::Found {
            status,
            content_type,
            total_bytes,
            dated,
            bytes,
            ..
        } => (status, content_type, total_bytes, dated, bytes),
        other => return Ok(unavailable(context, &request.url, "file", other)),
    };
    let refused_file = |problem: String| {
        Ok(Examined {
            is_refused_file: true,
            ..Examined::with(Verdict::Changed, status, problem)
        })
    };
    if is_page(&bytes, content_type.as_deref()) {
        return match wall(&bytes) {
            Some(word) => Ok(Examined::with(
                Verdict::Refused,
                status,
                format!("a page blocks programs (it contains `{word}`)"),
            )),
            None => refused_file("a web page in place of the file".to_owned()),
        };
    }
    if let Some(problem) = size_problem(
        source,
        total_bytes,
        bytes.len(),
        context.fetcher.is_sample(),
    ) {
        return refused_file(problem);
    }
    if is_archive(source, &request.url) && !bytes.starts_with(b"PK\x03\x04") {
        return refused_file("the file is not a ZIP archive".to_owned());
    }
    let today = || context.run.today().to_string();
    let dated = Some(request.source_date.clone().or(dated).unwrap_or_else(today));
    take(
        context,
        address,
        request,
        Beginning {
            total_bytes,
            bytes,
            is_whole,
        },
        Examined {
            status,
            dated,
            ..Examined::default()
        },
    )
    .await
}

/// Examines a file in the home that replaces the publisher's file. The trial run uses the file's
/// first records.
pub(super) async fn examine_own(
    context: &ProbeContext<'_>,
    address: &Address<'_>,
    path: &Path,
    of_publisher: Examined,
) -> Result<Examined> {
    let place = Request {
        url: format!("file://{}", path.display()),
        ..address.request.clone()
    };
    let head = context.fetcher.head(&place, first_piece(address)).await?;
    let is_whole = head.is_whole();
    let Head::Found {
        total_bytes, bytes, ..
    } = head
    else {
        return Ok(of_publisher);
    };
    let own = take(
        context,
        address,
        &place,
        Beginning {
            total_bytes,
            bytes,
            is_whole,
        },
        Examined::default(),
    )
    .await?;
    if own.sample.is_none() && own.not_sampled.is_none() {
        // The file cannot be cut, so the trial run reads the entire file.
        context.temporary.put(
            &sample_path(&address.request.url)?,
            &std::fs::read(path).at("read", path)?,
        )?;
    }
    let Examined {
        verdict,
        status,
        problem,
        hints,
        location,
        dated,
        ..
    } = of_publisher;
    // The publisher's own file does not affect the trial run.
    Ok(Examined {
        verdict: Some(verdict.unwrap_or(Verdict::Ok)),
        status,
        problem,
        hints,
        location,
        dated,
        is_refused_file: false,
        ..own
    })
}

/// Puts the first records of a file on the mirror of samples, and compares the file's columns with
/// the declared ones.
async fn take(
    context: &ProbeContext<'_>,
    address: &Address<'_>,
    place: &Request,
    beginning: Beginning,
    examined: Examined,
) -> Result<Examined> {
    let changed = |examined: Examined, problem: String| {
        Ok(Examined {
            verdict: Some(Verdict::Changed),
            problem: Some(problem),
            ..examined
        })
    };
    let excerpt = match cut(
        &context.fetcher,
        address,
        place,
        beginning,
        context.given.rows,
    )
    .await
    {
        Ok(Cut::Structure(reason)) => {
            return Ok(Examined {
                not_sampled: Some(reason),
                ..examined
            });
        }
        Ok(Cut::Refused(reason)) => {
            return changed(
                Examined {
                    is_refused_file: true,
                    ..examined
                },
                reason,
            );
        }
        Ok(Cut::Excerpt(excerpt)) => excerpt,
        Err(error) if error.kind() == ErrorKind::Format => {
            return changed(examined, error.to_string());
        }
        Err(error) => return Err(error),
    };
    let path = sample_path(&address.request.url)?;
    context.temporary.put(&path, &excerpt.bytes)?;
    let columns = columns_of(
        address,
        &context.temporary.mirror().join(&path),
        excerpt.member.as_deref(),
    );
    match columns {
        Ok(columns) => {
            let sampled = Examined {
                is_whole: excerpt.is_whole,
                records: excerpt.records,
                sample: Some(excerpt.member),
                ..examined
            };
            Ok(judged(address, sampled, columns))
        }
        Err(error) if error.kind() == ErrorKind::Format => changed(examined, error.to_string()),
        Err(error) => Err(error),
    }
}

/// Returns the verdict for a URL that has no file for this program.
pub(super) fn unavailable(
    context: &ProbeContext<'_>,
    url: &str,
    what: &str,
    head: Head,
) -> Examined {
    match head {
        Head::Absent { status } => {
            Examined::with(Verdict::Absent, status, context.fetcher.absence(url, what))
        }
        Head::Moved { status, location } => {
            let problem = if location.is_empty() {
                "the server sends on to nowhere".to_owned()
            } else {
                format!("the server sends on to {location}, which is not followed")
            };
            Examined {
                location: Some(location).filter(|location| !location.is_empty()),
                ..Examined::with(Verdict::Moved, Some(status), problem)
            }
        }
        Head::Refused {
            status,
            message,
            hint,
        } => Examined {
            hints: hint.into_iter().collect(),
            ..Examined::with(Verdict::Refused, status, message)
        },
        Head::Unreachable {
            status,
            message,
            hint,
        } => Examined {
            hints: hint.into_iter().collect(),
            ..Examined::with(Verdict::Unreachable, status, message)
        },
        Head::NotConfigured { variable } => {
            Examined::with(Verdict::NotRequested, None, format!("needs {variable}"))
        }
        Head::Unusable { message, hint } => Examined {
            hints: hint.into_iter().collect(),
            ..Examined::with(Verdict::NotRequested, None, message)
        },
        Head::Found { status, .. } => Examined {
            status,
            ..Examined::default()
        },
    }
}

fn is_page(bytes: &[u8], content_type: Option<&str>) -> bool {
    let essence = content_type
        .and_then(|content_type| content_type.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    fetch::is_html(bytes) || ["text/html", "application/xhtml+xml"].contains(&essence.as_str())
}

fn wall(page: &[u8]) -> Option<&'static str> {
    let page = String::from_utf8_lossy(page).to_lowercase();
    BLOCK_PAGE_WORDS
        .into_iter()
        .find(|word| page.contains(word))
}

fn size_problem(
    source: &Source,
    total_bytes: Option<u64>,
    length: usize,
    is_sample: bool,
) -> Option<String> {
    if length == 0 {
        return Some("the file is empty".to_owned());
    }
    let total = total_bytes?;
    if total > source.max_bytes {
        return Some(format!(
            "the file has {total} bytes, more than the {} declared as `max_bytes`",
            source.max_bytes
        ));
    }
    // The minimum size applies to all pages together, so a single page proves nothing.
    (total < source.min_bytes && !is_sample && source.pages.is_none()).then(|| {
        format!(
            "the file has {total} bytes, fewer than the {} declared as `min_bytes`",
            source.min_bytes
        )
    })
}
