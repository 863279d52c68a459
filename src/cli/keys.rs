//! `pubdata keys`: creates, lists and revokes API keys and invitations to create one. A secret is
//! printed once, when it is created; only its hash is stored.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Global, output};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_serve::DEFAULT_URL;
use pubdata_store::receipts::SigningKey;
use pubdata_store::{
    ApiKey, Invitation, NewInvitation, NewKey, Plans, Scope, SharedStore, change_keys,
    expires_after, list_keys,
};

#[derive(Args)]
pub(super) struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand)]
enum KeysCommand {
    /// Creates an API key and prints it once, because only its hash is stored.
    Create {
        #[command(flatten)]
        rights: Rights,
        /// Number of days until the key expires; default: never.
        #[arg(long, value_name = "DAYS")]
        expires_in_days: Option<u16>,
    },
    /// Creates an invitation and prints its link once. The link creates one key with these rights.
    Invite {
        #[command(flatten)]
        rights: Rights,
        /// Time during which the link can be used, such as 12h or 7d; at most 30d.
        #[arg(long, default_value = "7d", value_parser = lifetime, value_name = "TIME")]
        expires: SignedDuration,
        /// Number of days until the key expires, counted from its creation; default: never.
        #[arg(long, value_name = "DAYS")]
        key_expires_in_days: Option<u16>,
        /// URL that clients use. The link begins with this URL.
        #[arg(long, env = "PUBDATA_PUBLIC_URL", default_value = DEFAULT_URL, value_name = "URL")]
        public_url: String,
    },
    /// Lists the keys and invitations, without their secrets.
    List,
    /// Creates the publisher's signing key for sealing releases, in a file that only its owner can
    /// read. Prints the verification key, which is the content of log.key.
    #[command(args(super::unused(&["home", "store", "declarations"])))]
    Signing {
        /// The publisher's name in the log, with a version so that a later key can replace this
        /// key: data.example.org/2026.
        #[arg(long)]
        name: String,
        /// The file to create, which must not exist. Keep it off servers, and keep a copy.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// Channel whose verification key is printed.
        #[arg(long, default_value = "nightly")]
        channel: String,
    },
    /// Revokes a key or an unused invitation. Takes effect at once, also on a running server.
    Revoke {
        /// ID of the key or the invitation, from `keys list`.
        id: String,
    },
}

/// The holder of a key, and its rights.
#[derive(Args)]
struct Rights {
    /// Name of the holder.
    #[arg(long)]
    name: String,
    /// Scopes of the key: general, geo, sec, stream; also admin, but not for invitations.
    #[arg(long, value_delimiter = ',', required = true)]
    scopes: Vec<String>,
    /// Plan of the key, which sets its limits. Plans are declared in schemas/_plans.toml.
    #[arg(long, default_value = "standard")]
    plan: String,
}

impl Rights {
    fn scopes(&self) -> Result<Vec<Scope>> {
        self.scopes.iter().map(|scope| scope.parse()).collect()
    }
}

/// An API key: `pubdata keys create`, `pubdata keys revoke`.
#[derive(Serialize, JsonSchema)]
pub(super) struct KeyReport<'a> {
    /// The secret to pass on, which is shown only once. Absent for `revoke`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    key: Option<&'a str>,
    #[serde(flatten)]
    entry: &'a ApiKey,
}

/// An invitation to an API key: `pubdata keys invite`, and `pubdata keys revoke` of an invitation.
#[derive(Serialize, JsonSchema)]
pub(super) struct InvitationReport<'a> {
    /// The link to pass on, which is shown only once. Opening the link creates the key. Absent for
    /// `revoke`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    link: Option<&'a str>,
    #[serde(flatten)]
    entry: &'a Invitation,
}

/// The API keys and invitations: `pubdata keys list`.
#[derive(Serialize, JsonSchema)]
pub(super) struct KeysReport<'a> {
    /// All keys, without their secrets.
    keys: &'a [ApiKey],
    /// Invitations, without their links: open invitations, and invitations that ended in the last
    /// 30 days.
    invitations: &'a [Invitation],
}

/// A publisher's new signing key: `pubdata keys signing`.
#[derive(Serialize, JsonSchema)]
pub(super) struct SigningKeyReport<'a> {
    /// The file with the secret.
    file: &'a Path,
    /// Verification key of the log, in the format name+hash+base64.
    key: &'a str,
    /// Name of the channel's log.
    log: &'a str,
}

/// Maximum lifetime of an invitation.
const MAX_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Parses the lifetime of an invitation.
fn lifetime(text: &str) -> std::result::Result<SignedDuration, String> {
    let hours = |number: &str, hours_of_unit: i64| {
        number
            .parse::<u16>()
            .ok()
            .map(|number| SignedDuration::from_hours(i64::from(number) * hours_of_unit))
    };
    let parsed = text
        .strip_suffix('d')
        .and_then(|days| hours(days, 24))
        .or_else(|| text.strip_suffix('h').and_then(|number| hours(number, 1)));
    let is_possible =
        |lifetime: &SignedDuration| lifetime.is_positive() && *lifetime <= MAX_LIFETIME;
    parsed.filter(is_possible).ok_or_else(|| {
        "a number of hours or days up to 30 days is needed, such as 12h or 7d".to_owned()
    })
}

pub(super) async fn keys(global: &Global, arguments: &KeysArgs) -> Result<ExitCode> {
    if let KeysCommand::Signing {
        name,
        output,
        channel,
    } = &arguments.command
    {
        return signing(global, name, output, channel);
    }
    let plans = Plans::load(&global.files()?)?;
    if !matches!(
        arguments.command,
        KeysCommand::Create { .. } | KeysCommand::Invite { .. }
    ) {
        global.needs_home()?;
    }
    let home = global.home()?;
    let store = SharedStore::open(&home, global.store.as_deref())?;
    let now = Timestamp::now();
    match &arguments.command {
        KeysCommand::Create {
            rights,
            expires_in_days,
        } => {
            let expires_at = expires_after(*expires_in_days, now)?;
            let new = NewKey {
                name: rights.name.clone(),
                scopes: rights.scopes()?,
                plan: rights.plan.clone(),
                expires_at,
            };
            let created =
                change_keys(&home, &store, |keys| keys.create(new.clone(), &plans, now)).await?;
            if global.json {
                output::document(&KeyReport {
                    key: Some(&created.key),
                    entry: &created.entry,
                });
            } else {
                output::print_line!("{}", output::bold(&created.key));
                // Only the key goes to standard output, so that a shell can capture it.
                output::print_note!(
                    "id {}, plan {}; the key is shown this once and cannot be read back",
                    created.entry.id,
                    created.entry.plan
                );
                output::print_note!("it is valid for servers of {}", store.url());
            }
        }
        KeysCommand::Invite {
            rights,
            expires,
            key_expires_in_days,
            public_url,
        } => {
            let expires_at = now
                .checked_add(*expires)
                .map_err(|error| Error::config(format!("the expiry is out of range: {error}")))?;
            let (name, scopes, plan) = (rights.name.clone(), rights.scopes()?, rights.plan.clone());
            let new = NewInvitation {
                name,
                scopes,
                plan,
                expires_at,
                key_expires_in_days: *key_expires_in_days,
            };
            let created =
                change_keys(&home, &store, |keys| keys.invite(new.clone(), &plans, now)).await?;
            let link = format!(
                "{}/keys?invite={}",
                public_url.trim_end_matches('/'),
                created.token
            );
            if global.json {
                output::sorted_document(&InvitationReport {
                    link: Some(&link),
                    entry: &created.entry,
                });
            } else {
                output::print_line!("{}", output::bold(&link));
                // Only the link goes to standard output, so that a shell can capture it.
                output::print_note!(
                    "id {}, plan {}; the link is shown this once and creates one key",
                    created.entry.id,
                    created.entry.plan
                );
                output::print_note!(
                    "it can be used until {} on servers of {}",
                    created.entry.expires_at,
                    store.url()
                );
            }
        }
        KeysCommand::Signing { .. } => {}
        KeysCommand::List => {
            let (keys, invitations) = list_keys(&home, &store).await?;
            if global.json {
                output::sorted_document(&KeysReport {
                    keys: &keys,
                    invitations: &invitations,
                });
            } else {
                let mut rows = vec![
                    ["ID", "NAME", "SCOPES", "PLAN", "CREATED", "VALID"]
                        .map(str::to_owned)
                        .to_vec(),
                ];
                for key in &keys {
                    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.name()).collect();
                    let is_valid = if key.is_valid_at(now) { "yes" } else { "no" };
                    rows.push(vec![
                        key.id.clone(),
                        key.name.clone(),
                        scopes.join(","),
                        key.plan.clone(),
                        key.created_at.clone(),
                        is_valid.to_owned(),
                    ]);
                }
                output::table(&rows);
                if invitations.is_empty() {
                    return Ok(ExitCode::SUCCESS);
                }
                let mut rows = vec![
                    ["INVITATION", "NAME", "SCOPES", "PLAN", "UNTIL", "STATE"]
                        .map(str::to_owned)
                        .to_vec(),
                ];
                for invitation in &invitations {
                    let scopes: Vec<&str> =
                        invitation.scopes.iter().map(|scope| scope.name()).collect();
                    let state = match &invitation.key_id {
                        Some(key_id) => format!("used for {key_id}"),
                        None if invitation.revoked_at.is_some() => "revoked".to_owned(),
                        None if invitation.refusal(now).is_some() => "expired".to_owned(),
                        None => "open".to_owned(),
                    };
                    let (id, name, plan) = (
                        invitation.id.clone(),
                        invitation.name.clone(),
                        invitation.plan.clone(),
                    );
                    rows.push(vec![
                        id,
                        name,
                        scopes.join(","),
                        plan,
                        invitation.expires_at.clone(),
                        state,
                    ]);
                }
                output::print_line!();
                output::table(&rows);
            }
        }
        KeysCommand::Revoke { id } if id.starts_with('i') => {
            let invitation =
                change_keys(&home, &store, |keys| keys.revoke_invitation(id, now)).await?;
            if global.json {
                output::document(&InvitationReport {
                    link: None,
                    entry: &invitation,
                });
            } else {
                output::print_line!("{} ({}) is revoked", invitation.id, invitation.name);
            }
        }
        KeysCommand::Revoke { id } => {
            let key = change_keys(&home, &store, |keys| keys.revoke(id, now)).await?;
            if global.json {
                output::document(&KeyReport {
                    key: None,
                    entry: &key,
                });
            } else {
                output::print_line!("{} ({}) is revoked", key.id, key.name);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn signing(global: &Global, name: &str, path: &Path, channel: &str) -> Result<ExitCode> {
    let key = SigningKey::generate(name)?;
    let of_log = key.of_log(channel)?.verifier().to_string();
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .at("create", path)?;
    file.write_all(format!("{}\n", key.to_private_text()).as_bytes())
        .and_then(|()| file.sync_all())
        .at("write", path)?;
    if global.json {
        output::document(&SigningKeyReport {
            file: path,
            key: &of_log,
            log: &format!("{name}/{channel}"),
        });
    } else {
        output::print_line!("{}", output::bold(&of_log));
        // Only the key goes to standard output, so that it can be redirected with `> log.key`.
        output::print_note!("this key verifies the log of channel {channel}: publish it");
        output::print_note!(
            "the secret is in {}: seal with --signing-key, keep it off servers",
            path.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}
