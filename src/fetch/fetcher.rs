//! Fetches one file into the snapshot store: from the publisher, a mirror, a path, the program
//! itself, or a manual import. Only a complete file of the declared kind becomes a snapshot. Stored
//! snapshots are never changed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::Date;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::host_limiter::is_loopback;
use super::http::{Answer, Http, Target};
use super::mirror::{self, Mirror, MirrorFile, MirrorLocation};
use super::redirect::Reach;
use super::retry::{Failure, RetryPolicy, http_date, is_in_the_future, utc_date};
use super::secret::SecretUrl;
use super::sftp::{self, Sftp};
use super::way::Address;
use super::{FetchProgress, FetchSettings, Outcome, Request, check};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::{Obtained, Snapshot, is_future_date};
use pubdata_store::{
    FileStamp, KnownChange, KnownUrl, MAX_HEADER_BYTES, Partial, PartialOrigin, Snapshots,
    open_file,
};

/// A file younger than this may change again without a change to its modification time.
const YOUNG: Duration = Duration::from_secs(2);

/// Origin recorded for manual imports.
const BY_HAND: &str = "by hand";

/// Number of bytes to copy from a mirror between two progress reports.
const PIECE: u64 = 16 << 20;

/// Time after a stated change until a fetch is certain to include that change.
const SETTLED_SECONDS: i64 = 24 * 3600;

/// Fetches files into the snapshot store.
pub struct Fetcher {
    pub(super) settings: FetchSettings,
    snapshots: Snapshots,
    pub(super) mirrors: Vec<Mirror>,
    pub(super) http: Http,
    pub(super) sftp: Sftp,
}

/// Origin of a complete file, and the file's metadata at that origin.
struct Arrival {
    origin: String,
    etag: Option<String>,
    last_modified: Option<String>,
    stamp: Option<FileStamp>,
    redirected_through: Vec<String>,
    /// Name of the mirror; `None` for a publisher, a manual import or the program itself.
    mirror: Option<String>,
}

impl Fetcher {
    /// Creates a fetcher without sending a request.
    ///
    /// # Errors
    /// `Config`, when a mirror is neither a folder nor a URL or the contact cannot be sent.
    pub fn new(settings: FetchSettings, snapshots: Snapshots) -> Result<Self> {
        let mirrors = settings
            .mirrors
            .iter()
            .map(|text| Mirror::open(text))
            .collect::<Result<Vec<_>>>()?;
        let http = Http::new(settings.clone())?;
        let sftp = Sftp::new(settings.clone());
        Ok(Self {
            settings,
            snapshots,
            mirrors,
            http,
            sftp,
        })
    }

    /// Returns the store for fetched files.
    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// Returns whether a mirror declares that it holds samples. For a mirror given by URL, this is
    /// known only after a successful fetch or after [`Fetcher::prepare`].
    pub fn is_sample(&self) -> bool {
        self.mirrors.iter().any(Mirror::is_sample)
    }

    /// Asks mirrors given by URL for their names and whether they hold samples. Fetching does this
    /// automatically.
    ///
    /// # Errors
    /// `Fetch`, when a mirror does not respond; `Config`, when its description is invalid.
    pub async fn prepare(&self) -> Result<()> {
        for mirror in &self.mirrors {
            let MirrorLocation::Url(base) = &mirror.location else {
                continue;
            };
            mirror
                .metadata
                .get_or_try_init(|| self.ask_for_description(base))
                .await
                .context(|| format!("mirror {base}"))?;
        }
        Ok(())
    }

    /// Fetches one file. Only a complete file of the declared kind becomes a snapshot; stored
    /// snapshots are never changed.
    ///
    /// # Errors
    /// `Fetch`, when no usable file was received; `Config`, when the URL is not supported; `Store`,
    /// when local files cannot be read or written; `Busy`, when another process is fetching the
    /// same file.
    pub async fn fetch(&self, request: &Request, progress: &dyn FetchProgress) -> Result<Outcome> {
        // Boxed, so that the state of a transfer is not part of every future that awaits it.
        let outcome = Box::pin(self.fetch_file(request, progress)).await;
        progress.finished();
        outcome.context(|| format!("source `{}`", request.source_id))
    }

    async fn fetch_file(&self, request: &Request, progress: &dyn FetchProgress) -> Result<Outcome> {
        self.prepare().await?;
        let url = SecretUrl::parse(&request.url)?.with_header(
            request
                .app_token
                .as_ref()
                .map(|token| token.variable.clone()),
        );
        if request.url.starts_with("bundled:") {
            return self.take_bundled(request, &url).await;
        }
        if request.url.starts_with("file://") {
            let path = mirror::file_url_path(&url.recorded)?;
            return self.copy(request, &url, path, None, progress).await;
        }
        check_scheme(&url.recorded)?;
        if self.mirrors.is_empty() {
            if let Some(variable) = url
                .variables
                .iter()
                .find(|variable| (self.settings.secret)(variable).is_none())
            {
                return Ok(Outcome::NotConfigured {
                    variable: variable.clone(),
                });
            }
            if let Some(variable) = self.sftp.missing_variable(&request.source_id) {
                return Ok(Outcome::NotConfigured {
                    variable: variable.to_owned(),
                });
            }
            let to_send = Url::parse(&url.to_send(self.settings.secret))
                .map_err(|error| Error::config(format!("URL {}: {error}", url.recorded)))?;
            let address = Address {
                url: to_send,
                secrets: &url,
                reach: Reach::Domain(&request.redirects),
                token: self.app_token(request)?,
            };
            return self
                .download(request, address, url.recorded.clone(), None, progress)
                .await;
        }
        let path = mirror::mirror_path(&url.recorded)?;
        for mirror in &self.mirrors {
            let outcome = match &mirror.location {
                MirrorLocation::Folder(folder) => {
                    self.copy(
                        request,
                        &url,
                        mirror::file_in(folder, &path)?,
                        Some(mirror),
                        progress,
                    )
                    .await?
                }
                MirrorLocation::Url(base) => {
                    let to_send = mirror::mirror_url(base, &path)?;
                    let origin = to_send.to_string();
                    // A mirror is not the publisher, so no secret is sent to a mirror.
                    let address = Address {
                        url: to_send,
                        secrets: &url,
                        reach: Reach::Mirror,
                        token: None,
                    };
                    self.download(request, address, origin, Some(mirror), progress)
                        .await?
                }
            };
            if outcome != Outcome::Absent {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Absent)
    }

    /// Returns the header that carries a source's secret, if a secret is configured.
    pub(super) fn app_token(&self, request: &Request) -> Result<Option<(HeaderName, HeaderValue)>> {
        let Some(token) = &request.app_token else {
            return Ok(None);
        };
        let Some(secret) = (self.settings.secret)(&token.variable) else {
            return Ok(None);
        };
        let name = token.header.parse::<HeaderName>().map_err(|_| {
            Error::config(format!("`{}` is not the name of a header", token.header))
        })?;
        let value = HeaderValue::from_str(&secret).map_err(|_| {
            Error::config(format!(
                "the value of {} cannot be sent in a header",
                token.variable
            ))
        })?;
        let mut value = value;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }

    async fn download(
        &self,
        request: &Request,
        address: Address<'_>,
        origin: String,
        mirror: Option<&Mirror>,
        progress: &dyn FetchProgress,
    ) -> Result<Outcome> {
        let url = address.secrets;
        let known = self.known_at(&origin, request, url);
        if let Some(known) = known
            .as_ref()
            .filter(|known| self.is_reusable(request, known))
        {
            return self.reuse(request, known);
        }
        let mut partial = self.partial(request, url).await?;
        // A file that was reused is fetched to verify the document's statement, so the request
        // sends no conditions.
        let conditions = known
            .as_ref()
            .filter(|known| known.stated.is_none_or(|stated| stated.reused_runs == 0));
        let target = Target {
            origin,
            address,
            max_bytes: request.max_bytes,
            is_page: request.is_page,
            known: conditions,
        };
        let mut retries = RetryPolicy::new(&self.settings);
        let answer = loop {
            let attempted = match target.address.url.scheme() {
                "sftp" => {
                    self.sftp
                        .attempt(&request.source_id, &target, &mut partial, progress)
                        .await
                }
                _ => self.http.attempt(&target, &mut partial, progress).await,
            };
            let failure = match attempted {
                Ok(Answer::Whole) => match self.check_answer(&partial, request, url) {
                    Ok(()) => break Ok(Answer::Whole),
                    Err(failure) => {
                        partial.restart()?;
                        failure
                    }
                },
                Ok(answer) => break Ok(answer),
                Err(failure) => failure,
            };
            if let Err(error) = retries.after(failure, &target.origin).await {
                break Err(error.context(&target.origin));
            }
        };
        match answer {
            Ok(Answer::Whole) => {
                let is_sftp = target.address.url.scheme() == "sftp";
                let stamp = partial
                    .origin()
                    .filter(|_| is_sftp)
                    .and_then(|of| sftp::stamp(of, self.settings.clock.now()));
                let PartialOrigin {
                    etag,
                    last_modified,
                    redirected_through,
                    ..
                } = partial.origin().cloned().unwrap_or_default();
                let mirror = mirror.map(Mirror::name);
                self.finish(
                    request,
                    url,
                    partial,
                    Arrival {
                        origin: target.origin,
                        etag,
                        last_modified,
                        stamp,
                        redirected_through,
                        mirror,
                    },
                )
                .await
            }
            Ok(Answer::NotModified(known)) => {
                partial.discard()?;
                self.unchanged(request, known)
            }
            Ok(Answer::Absent) => {
                partial.discard()?;
                Ok(Outcome::Absent)
            }
            Err(error) => {
                // Bytes received before a broken transfer are kept for the next run.
                if partial.is_empty() {
                    partial.discard()?;
                }
                Err(error)
            }
        }
    }

    /// Checks whether a service's response is the file. Some services report errors with status
    /// 200, and such errors can be transient.
    fn check_answer(
        &self,
        partial: &Partial,
        request: &Request,
        url: &SecretUrl,
    ) -> std::result::Result<(), Failure> {
        let Some(reported) = check::reported_error(partial.path(), request)? else {
            return Ok(());
        };
        let error = Error::fetch(url.redacted(&reported.message, self.settings.secret))
            .hint(check::NOT_THE_FILE_HINT);
        Err(if reported.is_passing {
            Failure::again(error)
        } else {
            error.into()
        })
    }

    async fn copy(
        &self,
        request: &Request,
        url: &SecretUrl,
        path: PathBuf,
        mirror: Option<&Mirror>,
        progress: &dyn FetchProgress,
    ) -> Result<Outcome> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let unreadable = |error: std::io::Error| {
            Error::fetch(format!("cannot read {}: {error}", path.display()))
        };
        // Check before opening, because opening a pipe would wait for a writer.
        let before = match tokio::fs::metadata(&path).await {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
                return Ok(Outcome::Absent);
            }
            known => known.map_err(unreadable)?,
        };
        if !before.is_file() {
            return Ok(Outcome::Absent);
        }
        let (origin, stamp) = (mirror::origin_of(&path), stamp_of(&before));
        if let Some(known) = self
            .known_at(&origin, request, url)
            .filter(|known| known.stamp == Some(stamp))
        {
            return self.unchanged(request, &known);
        }
        if before.len() > request.max_bytes {
            return Err(check::too_large(before.len(), request.max_bytes).context(origin));
        }
        progress.started(&url.recorded, Some(before.len()));
        let last_modified = before
            .modified()
            .ok()
            .and_then(|modified| Timestamp::try_from(modified).ok());
        let last_modified = last_modified.and_then(|at| {
            jiff::fmt::rfc2822::DateTimePrinter::new()
                .timestamp_to_rfc9110_string(&at)
                .ok()
        });
        let mut partial = self.partial(request, url).await?;
        let total_bytes = Some(before.len());
        partial.begin(PartialOrigin {
            origin: origin.clone(),
            last_modified: last_modified.clone(),
            total_bytes,
            ..PartialOrigin::default()
        })?;
        let mut file = open_file(&path).map_err(unreadable)?;
        loop {
            let total = before.len();
            // This runs outside the async threads, so that files are copied and hashed in parallel.
            let copied;
            (copied, file, partial) = run_blocking(move || copy_piece(file, partial, total))
                .await
                .context(|| origin.clone())?;
            if copied == 0 {
                break;
            }
            progress.advanced(copied);
        }
        let after = tokio::fs::metadata(&path).await.map_err(unreadable)?;
        if partial.len() != before.len() || stamp_of(&after) != stamp {
            partial.discard()?;
            return Err(Error::fetch("the file changed while it was being read")
                .hint("run again when the mirror is complete")
                .context(origin));
        }
        let stamp = is_settled(stamp, self.settings.clock.now()).then_some(stamp);
        let mirror = mirror.map(Mirror::name);
        self.finish(
            request,
            url,
            partial,
            Arrival {
                origin,
                etag: None,
                last_modified,
                stamp,
                redirected_through: Vec::new(),
                mirror,
            },
        )
        .await
    }

    async fn take_bundled(&self, request: &Request, url: &SecretUrl) -> Result<Outcome> {
        let bytes = request.bundled.as_deref().ok_or_else(|| {
            Error::config(format!("{}: the bundled file was not found", url.recorded))
        })?;
        if let Some(known) = self
            .known(request, url)
            .filter(|known| known.snapshot.sha256 == Digest::sha256(bytes))
        {
            return self.unchanged(request, &known);
        }
        let mut partial = self.partial(request, url).await?;
        let origin = url.recorded.clone();
        partial.begin(PartialOrigin {
            origin: origin.clone(),
            total_bytes: Some(bytes.len() as u64),
            ..PartialOrigin::default()
        })?;
        partial.write(bytes)?;
        self.finish(
            request,
            url,
            partial,
            Arrival {
                origin,
                etag: None,
                last_modified: None,
                stamp: None,
                redirected_through: Vec::new(),
                mirror: None,
            },
        )
        .await
    }

    /// Imports a file that the operator downloaded, as if the file had come from the request's URL.
    /// If the bytes are already known, only the date changes.
    ///
    /// # Errors
    /// `Config`, when the file cannot be read; `Fetch`, when the file is not of the declared kind;
    /// `Store`, when local files cannot be read or written.
    pub async fn import(&self, request: &Request, path: &Path) -> Result<Outcome> {
        let unreadable = |error: std::io::Error| {
            Error::config(format!("cannot read {}: {error}", path.display()))
        };
        let mut file = open_file(path).map_err(unreadable)?;
        if path.is_dir() {
            return Err(Error::config(format!("{} is a folder", path.display()))
                .hint("give the file as it was downloaded, one at a time"));
        }
        let size_bytes = file.metadata().map_err(unreadable)?.len();
        if size_bytes > request.max_bytes {
            return Err(
                check::too_large(size_bytes, request.max_bytes).context(path.display().to_string())
            );
        }
        let url = SecretUrl::parse(&request.url)?;
        let mut partial = self.partial(request, &url).await?;
        partial.begin(PartialOrigin {
            origin: BY_HAND.to_owned(),
            total_bytes: Some(size_bytes),
            ..PartialOrigin::default()
        })?;
        loop {
            let copied;
            (copied, file, partial) = run_blocking(move || copy_piece(file, partial, size_bytes))
                .await
                .context(|| path.display().to_string())?;
            if copied == 0 {
                break;
            }
        }
        if let Some(mut known) = self
            .known(request, &url)
            .filter(|known| known.snapshot.sha256 == partial.digest())
        {
            partial.discard()?;
            if let Some(date) = request
                .source_date
                .as_ref()
                .filter(|date| **date != known.snapshot.source_date)
            {
                known.snapshot.source_date.clone_from(date);
                // If the operator gives a date that differs from the publisher's server, the
                // operator is responsible for that date.
                known.snapshot.obtained = Obtained::Manual;
                known.snapshot.mirror = None;
                known = KnownUrl {
                    origin: BY_HAND.to_owned(),
                    stamp: None,
                    is_length_unknown: false,
                    future_date: None,
                    stated: None,
                    ..known
                };
                self.snapshots.remember(&known)?;
            }
            return self.unchanged(request, &known);
        }
        let arrival = Arrival {
            origin: BY_HAND.to_owned(),
            etag: None,
            last_modified: None,
            stamp: None,
            redirected_through: Vec::new(),
            mirror: None,
        };
        self.finish(request, &url, partial, arrival)
            .await
            .context(|| path.display().to_string())
    }

    /// Makes an imported file current again for its URL, after an older file was fetched from that
    /// URL.
    pub fn keep_imported(&self, snapshot: &Snapshot) -> Result<()> {
        let known = KnownUrl {
            snapshot: snapshot.clone(),
            origin: BY_HAND.to_owned(),
            stamp: None,
            is_length_unknown: false,
            future_date: None,
            stated: None,
        };
        self.snapshots.remember(&known)
    }

    /// Checks a complete file and makes it the URL's snapshot. Deletes rejected bytes.
    async fn finish(
        &self,
        request: &Request,
        url: &SecretUrl,
        partial: Partial,
        arrival: Arrival,
    ) -> Result<Outcome> {
        let previous = self.known(request, url);
        let now = self.settings.clock.now();
        let published = arrival.last_modified.as_deref().and_then(http_date);
        let (in_the_future, published): (Option<Timestamp>, Option<Timestamp>) = match published {
            Some(published) if is_in_the_future(published, now) => (Some(published), None),
            published => (None, published),
        };
        let mut snapshot = Snapshot {
            source_id: request.source_id.clone(),
            keys: request.keys.clone(),
            url: url.recorded.clone(),
            sha256: partial.digest(),
            size_bytes: partial.len(),
            source_version: request.source_version.clone(),
            source_date: request
                .source_date
                .clone()
                .unwrap_or_else(|| utc_date(published.unwrap_or(now))),
            etag: arrival.etag.filter(|etag| etag.len() <= MAX_HEADER_BYTES),
            // A future date must not be used as a condition either, because a server that compares
            // dates would report every later file as unchanged.
            last_modified: arrival
                .last_modified
                .filter(|date| in_the_future.is_none() && date.len() <= MAX_HEADER_BYTES),
            fetched_at: now.to_string(),
            redirected_through: arrival.redirected_through,
            obtained: if arrival.origin == BY_HAND {
                Obtained::Manual
            } else {
                Obtained::ByProgram
            },
            mirror: arrival.mirror,
        };
        let stated = known_change(
            request,
            now,
            previous
                .as_ref()
                .filter(|previous| previous.origin == arrival.origin),
            &snapshot.sha256,
        );
        let previous = previous.filter(|previous| previous.snapshot.sha256 == snapshot.sha256);
        if let Some(previous) = previous
            .as_ref()
            .filter(|previous| previous.future_date.is_none() || published.is_none())
        {
            // If the same bytes arrive with a new date, they keep the first date unless that date
            // was ignored.
            snapshot
                .fetched_at
                .clone_from(&previous.snapshot.fetched_at);
            snapshot
                .source_date
                .clone_from(&previous.snapshot.source_date);
        }
        let has_no_length = partial.origin().is_some_and(|of| of.is_length_unknown);
        let future_date = in_the_future.map(utc_date);
        let mut known = KnownUrl {
            snapshot,
            origin: arrival.origin,
            stamp: arrival.stamp,
            is_length_unknown: false,
            future_date,
            stated,
        };
        let (snapshots, request, is_sample) =
            (self.snapshots.clone(), request.clone(), self.is_sample());
        let accept = move || {
            let checked = match known.snapshot.obtained {
                Obtained::Manual => {
                    check::manual_import(partial.path(), &request, &known.snapshot.url)
                }
                Obtained::ByProgram => check::file(partial.path(), &request, is_sample)
                    .map_err(|error| error.context(known.origin.clone())),
            };
            if let Err(error) = checked {
                partial.discard()?;
                return Err(error);
            }
            known.is_length_unknown =
                has_no_length && !check::proves_its_end(partial.path(), &request)?;
            snapshots.accept(partial, &known)?;
            tracing::info!(source.id = %request.source_id, url = %known.snapshot.url, bytes = known.snapshot.size_bytes, sha256 = %known.snapshot.sha256, "snapshot");
            Ok(known.snapshot)
        };
        let snapshot = run_blocking(accept).await?;
        Ok(if previous.is_some() {
            Outcome::Unchanged(snapshot)
        } else {
            Outcome::New(snapshot)
        })
    }

    /// Returns the known snapshot with the current label from the declaration.
    fn unchanged(&self, request: &Request, known: &KnownUrl) -> Result<Outcome> {
        let mut known = known.clone();
        let stated = known_change(
            request,
            self.settings.clock.now(),
            Some(&known),
            &known.snapshot.sha256,
        );
        if known.snapshot.source_version != request.source_version || known.stated != stated {
            known
                .snapshot
                .source_version
                .clone_from(&request.source_version);
            known.stated = stated;
            self.snapshots.remember(&known)?;
        }
        Ok(Outcome::Unchanged(known.snapshot))
    }

    /// Returns whether the known file can be reused without a request. The publisher's document
    /// must state the same time of change as at the last fetch, nothing may contradict the
    /// document, and no verification may be due.
    fn is_reusable(&self, request: &Request, known: &KnownUrl) -> bool {
        let (Some(stated), Some(before)) = (request.stated, known.stated) else {
            return false;
        };
        let is_accepted =
            includes_stated_change(before) && !before.is_contradicted && !known.is_length_unknown;
        !self.settings.ignores_stated_changes
            && is_as_stated(request, known)
            && is_accepted
            && before.reused_runs + 1 < stated.whole_every
    }

    fn reuse(&self, request: &Request, known: &KnownUrl) -> Result<Outcome> {
        let mut known = known.clone();
        known
            .snapshot
            .source_version
            .clone_from(&request.source_version);
        known.stated = known.stated.map(|stated| KnownChange {
            reused_runs: stated.reused_runs + 1,
            ..stated
        });
        self.snapshots.remember(&known)?;
        Ok(Outcome::Reused(known.snapshot))
    }

    fn known(&self, request: &Request, url: &SecretUrl) -> Option<KnownUrl> {
        let mut known = self
            .snapshots
            .known_url(&request.source_id, &url.recorded)
            .filter(|known| known.snapshot.keys == request.keys)?;
        let now = self.settings.clock.now();
        known
            .snapshot
            .last_modified
            .take_if(|date| http_date(date).is_some_and(|date| is_in_the_future(date, now)));
        Some(known)
    }

    /// Returns the state of a URL if the state comes from the current origin. Once an ignored
    /// future date has passed, for example after a run with a wrong clock, the file is requested as
    /// if it were unknown.
    fn known_at(&self, origin: &str, request: &Request, url: &SecretUrl) -> Option<KnownUrl> {
        let today: Option<Date> = utc_date(self.settings.clock.now()).parse().ok();
        let has_come = |date: &String| {
            date.parse()
                .ok()
                .zip(today)
                .is_some_and(|(date, today)| !is_future_date(date, today))
        };
        self.known(request, url).filter(|known| {
            known.origin == origin && !known.future_date.as_ref().is_some_and(has_come)
        })
    }

    async fn partial(&self, request: &Request, url: &SecretUrl) -> Result<Partial> {
        let (snapshots, source_id, url) = (
            self.snapshots.clone(),
            request.source_id.clone(),
            url.recorded.clone(),
        );
        run_blocking(move || snapshots.partial(&source_id, &url)).await
    }

    async fn ask_for_description(&self, base: &Url) -> Result<MirrorFile> {
        let url = mirror::mirror_url(base, mirror::MIRROR_FILE)?;
        let secrets = SecretUrl::parse(url.as_str())?;
        let address = Address {
            url: url.clone(),
            secrets: &secrets,
            reach: Reach::Mirror,
            token: None,
        };
        let mut retries = RetryPolicy::new(&self.settings);
        loop {
            match self.http.small_text(&address).await {
                Ok(None) => return Ok(MirrorFile::default()),
                Ok(Some(content)) => return MirrorFile::parse(&content, base.as_str()),
                Err(failure) => retries.after(failure, url.as_str()).await?,
            }
        }
    }
}

/// Returns whether the publisher's document states the same time of change as at the last fetch.
fn is_as_stated(request: &Request, known: &KnownUrl) -> bool {
    known.stated.is_some_and(|before| {
        request
            .stated
            .is_some_and(|stated| stated.seconds == before.seconds)
    })
}

/// Returns whether the file was fetched long enough after the stated change to include it. A portal
/// may serve an older export for several hours.
fn includes_stated_change(known: KnownChange) -> bool {
    known.fetched_seconds.saturating_sub(known.seconds) >= SETTLED_SECONDS
}

/// Returns what to store about the document's statement after a fetch. A contradiction is
/// remembered until the stated time changes, even across runs without a document.
fn known_change(
    request: &Request,
    now: Timestamp,
    previous: Option<&KnownUrl>,
    sha256: &Digest,
) -> Option<KnownChange> {
    let fetched = |change: KnownChange| KnownChange {
        fetched_seconds: now.as_second(),
        reused_runs: 0,
        ..change
    };
    let Some(stated) = request.stated else {
        return previous.and_then(|previous| previous.stated).map(fetched);
    };
    let before = previous.filter(|previous| is_as_stated(request, previous));
    let is_contradicted = before.is_some_and(|before| {
        before.stated.is_some_and(|stated| {
            stated.is_contradicted
                || includes_stated_change(stated) && before.snapshot.sha256 != *sha256
        })
    });
    Some(fetched(KnownChange {
        seconds: stated.seconds,
        fetched_seconds: 0,
        reused_runs: 0,
        is_contradicted,
    }))
}

/// Copies the next piece of a file and returns its length, or 0 at the end of the file. Does not
/// copy beyond `total`, even if the file has grown.
fn copy_piece(file: File, mut partial: Partial, total: u64) -> Result<(u64, File, Partial)> {
    let left = total - partial.len();
    let copied = if left == 0 {
        0
    } else {
        partial.copy_from(&file, PIECE.min(left))?
    };
    Ok((copied, file, partial))
}

/// Rejects unencrypted URLs, except URLs of this machine.
pub(super) fn check_scheme(url: &str) -> Result<()> {
    let parsed = Url::parse(url).map_err(|error| Error::config(format!("URL {url}: {error}")))?;
    match parsed.scheme() {
        "https" | "sftp" => Ok(()),
        "http" if parsed.host_str().is_some_and(is_loopback) => Ok(()),
        scheme => Err(
            Error::config(format!("URL {url}: `{scheme}` is not supported"))
                .hint("use https://, sftp://, file:// or bundled:"),
        ),
    }
}

fn stamp_of(metadata: &std::fs::Metadata) -> FileStamp {
    let since_1970 = |time: SystemTime| {
        time.duration_since(UNIX_EPOCH).map_or(0, |duration| {
            i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
        })
    };
    #[cfg(unix)]
    let changed_ns = {
        use std::os::unix::fs::MetadataExt;
        metadata
            .ctime()
            .saturating_mul(1_000_000_000)
            .saturating_add(metadata.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed_ns = 0;
    FileStamp {
        size_bytes: metadata.len(),
        modified_ns: metadata.modified().map_or(0, since_1970),
        changed_ns,
    }
}

/// Returns whether a file is old enough that its next change is certain to change its stamp.
fn is_settled(stamp: FileStamp, now: Timestamp) -> bool {
    let newest = i128::from(stamp.modified_ns.max(stamp.changed_ns));
    newest + (YOUNG.as_nanos() as i128) < now.as_nanosecond()
}

/// Runs long file operations outside the network threads, with the caller's log subscriber.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let hears = tracing::dispatcher::get_default(Clone::clone);
    tokio::task::spawn_blocking(move || tracing::dispatcher::with_default(&hears, work))
        .await
        .unwrap_or_else(|_| {
            Err(Error::fetch(
                "reading the server's response failed with a defect",
            ))
        })
}
