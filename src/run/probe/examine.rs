use super::address::Address;
use super::report::{Header, Verdict};
use crate::decode::{self, ArchiveParts, ColumnPlan, PackedMember};
use crate::error::{Error, Result};
use crate::fetch::{self, Fetcher, Head, Piece};
use crate::pipeline::{Format, Source, Syntax, expand, is_packed};
use crate::store::TemporaryHome;

/// Bytes that are asked for of each file.
const HEAD_BYTES: u64 = 256 << 10;

/// Files that cannot be cut, and lists that others look things up in, are read whole up to this size.
const WHOLE_BYTES: u64 = 8 << 20;

/// Bytes that the beginning of a packed member may grow to.
const MOST_UNPACKED: usize = 2 << 20;

/// Words of pages that keep programs out.
const WALLS: [&str; 9] =
    ["captcha", "cf-chl", "just a moment", "access denied", "request rejected", "incapsula", "are you a robot", "pardon our interruption", "unusual traffic"];

/// What an address has.
#[derive(Debug, Default)]
pub(super) struct Examined {
    pub(super) verdict: Option<Verdict>,
    pub(super) status: Option<u16>,
    pub(super) problem: Option<String>,
    /// Where the server sends on to.
    pub(super) location: Option<String>,
    pub(super) header: Header,
    /// Our names of the mapped columns that are missing.
    pub(super) missing: Vec<String>,
    /// The file's columns.
    pub(super) columns: Vec<String>,
    /// Whether the file's first records, or all of it, are on the mirror of samples, and the member they are in.
    pub(super) sample: Option<Option<String>>,
    pub(super) is_whole: bool,
    /// Records of the sample, where they were counted.
    pub(super) records: u64,
    /// Whether a night would not even take what came: a page, nothing, or too much.
    pub(super) is_refused_file: bool,
    pub(super) not_sampled: Option<String>,
}

impl Examined {
    pub(super) fn verdict(&self) -> Verdict {
        self.verdict.unwrap_or(Verdict::Ok)
    }

    fn with(verdict: Verdict, status: Option<u16>, problem: impl Into<String>) -> Self {
        Self { verdict: Some(verdict), status, problem: Some(problem.into()), ..Self::default() }
    }
}

/// Bytes of a file to be examined.
struct Beginning {
    total_bytes: Option<u64>,
    bytes: Vec<u8>,
    is_whole: bool,
}

/// The beginning of a file as a file of its own.
struct Excerpt {
    bytes: Vec<u8>,
    member: Option<String>,
    is_whole: bool,
    records: u64,
}

/// What can be made of a file's beginning.
enum Cut {
    Excerpt(Excerpt),
    /// Structure only, and why.
    Structure(String),
}

/// Asks for the head of a file, compares it with what is declared, and puts its first records on the mirror of samples.
pub(super) async fn examine(fetcher: &Fetcher, address: &Address<'_>, rows: usize, temporary: &TemporaryHome) -> Result<Examined> {
    let Address { source, request, is_lookup } = address;
    if source.by_hand && !fetcher.has_mirror() {
        return Ok(Examined::with(Verdict::NotAsked, None, "a person fetches this file: `pubdata import` takes it"));
    }
    if request.url.starts_with("sftp://") && !fetcher.has_mirror() {
        return Ok(Examined {
            verdict: Some(Verdict::NotAsked),
            not_sampled: Some("a run fetches it over SFTP, a probe does not".to_owned()),
            ..Examined::default()
        });
    }
    let is_cut = !is_lookup && source.format != Format::Xlsx;
    let piece = Piece::Start(if is_cut { HEAD_BYTES } else { WHOLE_BYTES });
    let head = fetcher.head(request, piece).await?;
    let is_whole = head.is_whole();
    let (status, content_type, total_bytes, bytes) = match head {
        Head::Found { status, content_type, total_bytes, bytes, .. } => (status, content_type, total_bytes, bytes),
        other => return Ok(unavailable(other)),
    };
    let changed = |problem: String| Ok(Examined::with(Verdict::Changed, status, problem));
    if is_page(&bytes, content_type.as_deref()) {
        return match wall(&bytes) {
            Some(word) => Ok(Examined::with(Verdict::Refused, status, format!("a page keeps programs out (it says `{word}`)"))),
            None => Ok(refused_file(status, "a web page in place of the file".to_owned())),
        };
    }
    if let Some(problem) = size_problem(source, total_bytes, bytes.len(), fetcher.is_sample()) {
        return Ok(refused_file(status, problem));
    }
    if is_archive(source, &request.url) && !bytes.starts_with(b"PK\x03\x04") {
        return Ok(refused_file(status, "the file is not a ZIP archive".to_owned()));
    }
    let cut = match cut(fetcher, address, Beginning { total_bytes, bytes, is_whole }, rows).await {
        Ok(cut) => cut,
        Err(error) if error.kind() == crate::error::ErrorKind::Format => return changed(error.to_string()),
        Err(error) => return Err(error),
    };
    let excerpt = match cut {
        Cut::Structure(reason) => return Ok(Examined { status, not_sampled: Some(reason), ..Examined::default() }),
        Cut::Excerpt(excerpt) => excerpt,
    };
    let path = fetch::mirror_path(&fetch::recorded_url(&request.url)?)?;
    temporary.put(&path, &excerpt.bytes)?;
    let examined = Examined { status, is_whole: excerpt.is_whole, records: excerpt.records, sample: Some(excerpt.member.clone()), ..Examined::default() };
    match columns_of(address, &temporary.mirror().join(&path), excerpt.member.as_deref()) {
        Ok(columns) => Ok(judged(address, examined, columns)),
        Err(error) if error.kind() == crate::error::ErrorKind::Format => changed(error.to_string()),
        Err(error) => Err(error),
    }
}

fn refused_file(status: Option<u16>, problem: String) -> Examined {
    Examined { is_refused_file: true, ..Examined::with(Verdict::Changed, status, problem) }
}

fn is_archive(source: &Source, url: &str) -> bool {
    source.is_archive() && (source.listing.is_none() || is_packed(url))
}

fn unavailable(head: Head) -> Examined {
    match head {
        Head::Absent { status } => Examined::with(Verdict::Absent, status, "there is no such file"),
        Head::Moved { status, location } => {
            let problem = if location.is_empty() {
                "the server sends on to nowhere".to_owned()
            } else {
                format!("the server sends on to {location}, which is not followed")
            };
            Examined { location: Some(location).filter(|location| !location.is_empty()), ..Examined::with(Verdict::Moved, Some(status), problem) }
        }
        Head::Refused { status } => Examined::with(Verdict::Refused, Some(status), format!("the server answered {status}")),
        Head::Unreachable { status, message } => Examined::with(Verdict::Unreachable, status, message),
        Head::NotConfigured { variable } => Examined::with(Verdict::NotAsked, None, format!("{variable} is not set")),
        Head::Found { status, .. } => Examined { status, ..Examined::default() },
    }
}

fn is_page(bytes: &[u8], content_type: Option<&str>) -> bool {
    let essence = content_type.and_then(|content_type| content_type.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
    fetch::is_html(bytes) || ["text/html", "application/xhtml+xml"].contains(&essence.as_str())
}

fn wall(page: &[u8]) -> Option<&'static str> {
    let page = String::from_utf8_lossy(page).to_lowercase();
    WALLS.into_iter().find(|word| page.contains(word))
}

fn size_problem(source: &Source, total_bytes: Option<u64>, length: usize, is_sample: bool) -> Option<String> {
    if length == 0 {
        return Some("the file is empty".to_owned());
    }
    let total = total_bytes?;
    if total > source.max_bytes {
        return Some(format!("the file has {total} bytes, more than the {} declared as `max_bytes`", source.max_bytes));
    }
    (total < source.min_bytes && !is_sample).then(|| format!("the file has {total} bytes, fewer than the {} declared as `min_bytes`", source.min_bytes))
}

async fn cut(fetcher: &Fetcher, address: &Address<'_>, beginning: Beginning, rows: usize) -> Result<Cut> {
    let (source, request) = (address.source, &address.request);
    let rows = if address.is_lookup { usize::MAX } else { rows };
    if is_archive(source, &request.url) {
        return cut_archive(fetcher, address, beginning, rows).await;
    }
    if let Format::Document { syntax } = source.format {
        let first = beginning.bytes.trim_ascii_start().first().copied();
        let is_it = match syntax {
            Syntax::Json => matches!(first, Some(b'{' | b'[')),
            Syntax::Xml => first == Some(b'<'),
        };
        return if is_it { Ok(Cut::Structure(documents())) } else { Err(Error::format("does not begin as the document that is declared")) };
    }
    let (bytes, records) = decode::excerpt(&source.format, &beginning.bytes, beginning.is_whole, rows).ok_or_else(|| not_cut(&beginning))?;
    let is_whole = beginning.is_whole && bytes.len() == beginning.bytes.len();
    Ok(Cut::Excerpt(Excerpt { bytes, member: None, is_whole, records }))
}

fn documents() -> String {
    "documents are not sampled".to_owned()
}

fn not_cut(beginning: &Beginning) -> Error {
    Error::format(format!("the first {} bytes hold no record of the declared layout", beginning.bytes.len()))
}

async fn cut_archive(fetcher: &Fetcher, address: &Address<'_>, beginning: Beginning, rows: usize) -> Result<Cut> {
    let (source, request) = (address.source, &address.request);
    let pattern = source.member.as_deref().or(source.members.as_deref()).unwrap_or("*");
    let pattern = expand(pattern, &request.keys)?;
    let member = match find_member(fetcher, address, &beginning, &pattern).await? {
        Found::Member(member) => member,
        Found::Unknown(reason) => return Ok(Cut::Structure(reason)),
    };
    if matches!(source.format, Format::Document { .. }) {
        return Ok(Cut::Structure(documents()));
    }
    if source.format == Format::Xlsx || (address.is_lookup && beginning.is_whole) {
        return Ok(match beginning.is_whole {
            true => Cut::Excerpt(Excerpt { bytes: beginning.bytes, member: Some(member.name), is_whole: true, records: 0 }),
            false => Cut::Structure(format!("workbooks above {} MiB are not sampled", WHOLE_BYTES >> 20)),
        });
    }
    let start = usize::try_from(member.start).unwrap_or(usize::MAX);
    let content = match beginning.bytes.get(start..).filter(|rest| rest.len() as u64 >= HEAD_BYTES / 2 || beginning.is_whole) {
        Some(packed) => decode::unpack_start(packed, MOST_UNPACKED)?,
        None => match fetcher.head(request, Piece::At(member.start, HEAD_BYTES)).await? {
            Head::Found { bytes, start, .. } if start == member.start => decode::unpack_start(&bytes, MOST_UNPACKED)?,
            _ => return Ok(Cut::Structure("the server sends no parts of files, and the member is not at the archive's beginning".to_owned())),
        },
    };
    let (content, is_whole) = content;
    let (packed, records) = decode::excerpt(&source.format, &content, is_whole, rows).ok_or_else(|| not_cut(&beginning))?;
    let is_whole = is_whole && packed.len() == content.len() && source.members.is_none();
    Ok(Cut::Excerpt(Excerpt { bytes: decode::pack(&member, &packed)?, member: Some(member.name), is_whole, records }))
}

enum Found {
    Member(PackedMember),
    /// Why it cannot be told where the member is.
    Unknown(String),
}

/// The archive's first member of a name, from its directory, which is asked for when it is not there yet.
async fn find_member(fetcher: &Fetcher, address: &Address<'_>, beginning: &Beginning, pattern: &str) -> Result<Found> {
    let leading = || decode::leading_member(&beginning.bytes).filter(|member| decode::is_member_of(pattern, &member.name));
    let or_leading = |reason: &str| leading().map_or_else(|| Found::Unknown(reason.to_owned()), Found::Member);
    let Some(total) = beginning.total_bytes else { return Ok(or_leading("the server does not say how large the archive is")) };
    let mut parts = ArchiveParts::new(total, vec![(0, beginning.bytes.clone())]);
    if !beginning.is_whole {
        match fetcher.head(&address.request, Piece::End(decode::TAIL_BYTES)).await? {
            Head::Found { start, bytes, .. } if start + bytes.len() as u64 == total => parts.add(start, bytes),
            _ => return Ok(or_leading("the server sends no parts of files, and the archive's directory is at its end")),
        }
        if let Some((start, length)) = parts.directory() {
            if length > WHOLE_BYTES {
                return Ok(or_leading("the archive's directory is too large to be asked for"));
            }
            if start < total.saturating_sub(decode::TAIL_BYTES)
                && let Head::Found { start, bytes, .. } = fetcher.head(&address.request, Piece::At(start, length)).await?
            {
                parts.add(start, bytes);
            }
        }
    }
    parts.first_member(pattern).map(Found::Member)
}

/// What a decoder is told of a file: mapped and unused columns, as a build has them.
pub(super) fn column_plan(address: &Address<'_>) -> Result<ColumnPlan> {
    let (source, keys) = (address.source, &address.request.keys);
    let mut ignore = source.ignore.iter().map(|pattern| expand(pattern, keys)).collect::<Result<Vec<_>>>()?;
    // Interfaces are asked for columns by name, which the dataset's own code then reads.
    ignore.extend(keys.values().flat_map(|value| value.split(',')).map(str::to_owned));
    let want = |plan: ColumnPlan, (name, names): (&String, &Vec<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        plan.want(name, &names, true)
    };
    Ok(source.columns.iter().fold(ColumnPlan::new(ignore), want))
}

/// The columns of a file.
pub(super) fn columns_of(address: &Address<'_>, path: &std::path::Path, member: Option<&str>) -> Result<Vec<String>> {
    let plan = column_plan(address)?;
    decode::columns(&decode::Task {
        path,
        format: &address.source.format,
        member,
        plan: &plan,
        input: 0,
        member_number: 0,
        max_bytes: address.source.max_bytes,
        only: None,
    })
}

fn judged(address: &Address<'_>, examined: Examined, columns: Vec<String>) -> Examined {
    let source = address.source;
    let new = column_plan(address).map(|plan| plan.unknown(&columns)).unwrap_or_default();
    let is_missing = |(name, names): &(&String, &Vec<String>)| !source.optional_columns.contains(name) && !names.iter().any(|name| columns.contains(name));
    let is_attributes = matches!(source.format, Format::JsonRecords { .. });
    // Records leave out attributes that are null: the first ones may lack what the whole file has.
    let says_nothing = columns.is_empty() || (is_attributes && !examined.is_whole && new.is_empty());
    let missing: Vec<(&String, &Vec<String>)> = if says_nothing { Vec::new() } else { source.columns.iter().filter(is_missing).collect() };
    let header = Header { missing: missing.iter().map(|(_, names)| names.join(" or ")).collect(), new };
    let is_changed = !header.missing.is_empty() || !header.new.is_empty();
    let missing = missing.into_iter().map(|(name, _)| name.clone()).collect();
    let problem = is_changed.then(|| words(&header));
    Examined { verdict: is_changed.then_some(Verdict::Changed), problem, header, missing, columns, ..examined }
}

fn words(header: &Header) -> String {
    let list = |word: &str, names: &[String]| (!names.is_empty()).then(|| format!("{word}: `{}`", names.join("`, `")));
    list("missing", &header.missing).into_iter().chain(list("new", &header.new)).collect::<Vec<_>>().join("; ")
}
