//! `pubdata seal`, `receipt` and `verify-receipt`: sign releases and verify receipts.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::trace::release_id;
use super::{Global, output};
use pubdata_core::error::{Error, IoExt, Result, ResultExt};
use pubdata_core::ids::{Digest, RecordId, ReleaseId};
use pubdata_run::RunSettings;
use pubdata_store::receipts::{
    Log, MAX_RECEIPT_BYTES, Receipt, Roots, Seal, Signer, SigningKey, Verified, VerifierKey, issue,
    seal as sealed,
};
use pubdata_store::{Manifest, Part, read_at_most};

/// Specifies the publisher's signing key.
#[derive(Args)]
pub(super) struct SigningKeyArgs {
    /// The publisher's signing key, from `pubdata keys signing`; releases are sealed and logged
    /// with it when they are published.
    #[arg(long, env = "PUBDATA_SIGNING_KEY", value_name = "FILE")]
    signing_key: Option<PathBuf>,
}

impl SigningKeyArgs {
    pub(super) fn read(&self) -> Result<Option<SigningKey>> {
        self.signing_key.as_deref().map(read_key).transpose()
    }
}

#[derive(Args)]
pub(super) struct SealArgs {
    /// The publisher's signing key, from `pubdata keys signing`.
    #[arg(long, env = "PUBDATA_SIGNING_KEY", value_name = "FILE")]
    signing_key: PathBuf,
    /// Channel whose releases are sealed and logged.
    #[arg(long, default_value = "nightly")]
    channel: String,
    /// Verification key of the signing key that this key replaces.
    #[arg(long, value_name = "KEY")]
    continues: Option<String>,
}

#[derive(Args)]
pub(super) struct ReceiptArgs {
    /// Record such as geo.zcta_metric:2023:90210:population; if it does not exist, the receipt
    /// proves its absence.
    record: String,
    /// A release other than the channel's current release.
    #[arg(long)]
    release: Option<String>,
    /// Channel whose log the receipt refers to.
    #[arg(long, default_value = "nightly")]
    channel: String,
}

#[derive(Args)]
pub(super) struct VerifyReceiptArgs {
    /// The receipt file, or - for standard input.
    file: PathBuf,
    /// Verification key of the publisher's log, name+hash+base64, or a file that contains the key,
    /// such as log.key.
    #[arg(long, value_name = "VERIFIER_KEY|FILE")]
    key: String,
}

/// Maximum size of a key file.
const MAX_KEY_BYTES: u64 = 64 << 10;

/// A sealed release: `pubdata seal`.
#[derive(Serialize, JsonSchema)]
pub(super) struct SealReport {
    /// Verification key of the log, in the format name+hash+base64.
    key: String,
    /// Name of the log, which is also the name of the log's key.
    log: String,
    /// Root hash of the trees over all records.
    records_root: Digest,
    /// The release.
    release_id: ReleaseId,
    /// Number of entries in the log, one for each signed release.
    #[schemars(range(min = 1))]
    size: u64,
}

/// Verdict on a receipt: `pubdata verify-receipt`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReceiptReport<'a> {
    /// True if the receipt is valid.
    is_valid: bool,
    /// Why the receipt is not valid; null if it is valid.
    reason: Option<&'a String>,
    /// The statement that the receipt proves; null if the receipt is not valid.
    proves: Option<&'a Verified>,
}

fn read_key(path: &Path) -> Result<SigningKey> {
    SigningKey::parse(&key_text(path)?).map_err(|error| error.context(path.display().to_string()))
}

/// Seals and logs a channel's releases that are not logged yet, in the order in which the channel
/// pointed at them. Root hashes of parts come only from logged seals, or from this process for rows
/// that it wrote itself, because no other root hashes are trustworthy.
async fn seal_channel(
    settings: &RunSettings,
    key: &SigningKey,
    continues: Option<&VerifierKey>,
    made: &Roots,
) -> Result<SealReport> {
    let releases = &settings.releases;
    let log = Log::new(releases, &settings.channel);
    let signer = Signer {
        key,
        continues,
        home: &settings.home,
    };
    let logged = log.signed_by(&signer).await?;
    let history = releases.channel_history(&settings.channel).await?;
    let nothing = || {
        Error::store(format!(
            "channel `{}` has no release to seal",
            settings.channel
        ))
        .hint("`pubdata run` publishes one")
    };
    let newest = history.last().ok_or_else(nothing)?.release_id.clone();
    let (mut known, mut seals, mut done): (Option<Seal>, Vec<Digest>, BTreeSet<ReleaseId>) =
        Default::default();
    for release_id in history.into_iter().map(|entry| entry.release_id) {
        if !done.insert(release_id.clone()) {
            continue;
        }
        let of_file = releases
            .seal_file(&release_id)
            .await?
            .and_then(|bytes| Seal::from_json(&bytes).ok());
        let is_logged = |seal: &Seal| {
            logged
                .as_ref()
                .is_some_and(|logged| logged.index_of(&seal.release.digest()).is_some())
        };
        let seal = match of_file.filter(is_logged) {
            Some(seal) => seal,
            None => match releases.manifest(&release_id).await {
                Ok(manifest) => {
                    let seal = sealed(releases, &manifest, known.as_ref(), made)
                        .await
                        .context(|| format!("release {release_id}"))?;
                    releases
                        .put_seal_file(&release_id, seal.to_json().into())
                        .await?;
                    seal
                }
                Err(error) if release_id == newest => return Err(error),
                // Most of these releases have been deleted, so nothing about them can be proven.
                Err(error) => {
                    tracing::debug!(release.id = %release_id, %error, "not sealed");
                    continue;
                }
            },
        };
        seals.push(seal.release.digest());
        known = Some(seal);
    }
    let logged = log.append(&seals, &signer).await?;
    let key = key.of_log(&settings.channel)?;
    let newest = known.ok_or_else(nothing)?.release;
    Ok(SealReport {
        key: key.verifier().to_string(),
        log: key.name().to_owned(),
        records_root: newest.records_root,
        release_id: newest.release_id,
        size: logged.seals.len() as u64,
    })
}

/// Seals the release that a run has published. A failure is only a warning, because the release is
/// already published and the next run tries to seal it again.
pub(super) async fn seal_after_run(settings: &RunSettings, key: &SigningKey, made: &Roots) {
    let sealed = match settings.home.lock() {
        Ok(_lock) => seal_channel(settings, key, None, made).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = sealed {
        tracing::warn!(%error, "the release is not sealed: `pubdata seal` does it");
    }
}

pub(super) async fn seal(global: &Global, arguments: &SealArgs) -> Result<ExitCode> {
    let key = read_key(&arguments.signing_key)?;
    let settings = global.reading(&arguments.channel)?;
    let _lock = settings.home.lock()?;
    let continues = arguments
        .continues
        .as_deref()
        .map(verifier_key)
        .transpose()?;
    let sealed = seal_channel(&settings, &key, continues.as_ref(), &Roots::default()).await?;
    if global.json {
        output::document(&sealed);
    } else {
        output::print_line!("release   {}", output::bold(sealed.release_id.as_str()));
        output::print_line!("records   {}", sealed.records_root);
        output::print_line!(
            "log       {}, {}",
            sealed.log,
            output::counted(sealed.size, "entry")
        );
        output::print_line!("key       {}", sealed.key);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn receipt(global: &Global, arguments: &ReceiptArgs) -> Result<ExitCode> {
    let record_id: RecordId = arguments
        .record
        .parse()
        .map_err(|error| Error::config(format!("{error}")))?;
    let settings = global.reading(&arguments.channel)?;
    let manifest = match &arguments.release {
        Some(release) => settings.releases.manifest(&release_id(release)?).await?,
        None => pubdata_run::current_manifest(&settings).await?,
    };
    let part = part_with(&settings, &manifest, &record_id).await?;
    let receipt = issue(
        &settings.releases,
        &Log::new(&settings.releases, &settings.channel),
        &manifest,
        &record_id,
        part,
    )
    .await?;
    let not_sealed = || {
        let (release, channel) = (&manifest.release_id, &arguments.channel);
        Error::store(format!("release {release} is not sealed, or not in the log of channel `{channel}`"))
            .hint(format!("the publisher seals the releases that the channel pointed at: `pubdata seal --channel {channel} --signing-key FILE`"))
    };
    output::json(&receipt.ok_or_else(not_sealed)?);
    Ok(ExitCode::SUCCESS)
}

/// Returns the part that contains a record.
async fn part_with<'m>(
    settings: &RunSettings,
    manifest: &'m Manifest,
    record_id: &RecordId,
) -> Result<Option<&'m Part>> {
    let parts = manifest
        .datasets
        .get(record_id.dataset_id())
        .into_iter()
        .flat_map(|dataset| &dataset.parts);
    for part in parts.filter(|part| part.may_hold(record_id) && part.spans(record_id)) {
        if settings
            .releases
            .find_record(&manifest.release_id, part, record_id)
            .await?
            .is_some()
        {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// Reads the beginning of an untrusted file, up to one byte more than the limit, so that the parser
/// can detect an oversized file.
fn beginning(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MAX_RECEIPT_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .at("read", path)?;
    } else {
        File::open(path)
            .and_then(|file| {
                file.take(MAX_RECEIPT_BYTES as u64 + 1)
                    .read_to_end(&mut bytes)
            })
            .at("read", path)?;
    }
    Ok(bytes)
}

/// Reads a key file.
fn key_text(path: &Path) -> Result<String> {
    let bytes = File::open(path)
        .and_then(|file| read_at_most(file, MAX_KEY_BYTES))
        .at("read", path)?;
    String::from_utf8(bytes)
        .map_err(|_| Error::config(format!("{} is no key: it is no text", path.display())))
}

/// Returns a verification key, which is given as text or as a file that contains the key.
pub(super) fn verifier_key(text: &str) -> Result<VerifierKey> {
    match key_text(Path::new(text)) {
        Ok(of_file) => VerifierKey::parse(&of_file),
        // A key contains two plus signs, whereas the path of an unreadable file rarely does.
        Err(_) if text.matches('+').count() >= 2 => VerifierKey::parse(text),
        Err(error) => Err(error),
    }
}

pub(super) fn verify_receipt(global: &Global, arguments: &VerifyReceiptArgs) -> Result<ExitCode> {
    let text = beginning(&arguments.file)?;
    let key = verifier_key(&arguments.key)?;
    let verdict = Receipt::parse(&text)?.verify(&key);
    if global.json {
        output::sorted_document(&ReceiptReport {
            is_valid: verdict.is_ok(),
            reason: verdict.as_ref().err(),
            proves: verdict.as_ref().ok(),
        });
        return Ok(ExitCode::from(u8::from(verdict.is_err())));
    }
    match &verdict {
        Ok(proven) => {
            let is_there = if proven.is_present {
                "is in"
            } else {
                "is not in"
            };
            // The requester chooses the id of an absent record. Without escaping, the id could end
            // the line or imitate a sentence.
            let record_id = proven.record_id.escape_default();
            output::print_line!(
                "{}: \"{record_id}\" {is_there} release {}",
                output::bold("valid"),
                proven.release_id
            );
            output::print_line!(
                "log       {}, entry {} of {}, counted from 0",
                proven.log,
                proven.log_index,
                proven.log_size
            );
            output::print_line!("manifest  {}", proven.manifest_sha256);
        }
        Err(reason) => {
            output::print_line!("{}: {}", output::bold("not valid"), reason.escape_debug());
        }
    }
    Ok(ExitCode::from(u8::from(verdict.is_err())))
}
