//! `pubdata keys`: makes, lists and revokes API keys. A key is printed once, when it is made; only its hash is kept.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::{Timestamp, ToSpan};

use super::{Global, output};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_store::receipts::SigningKey;
use pubdata_store::{NewKey, Plans, SharedStore, change_keys, list_keys};

#[derive(Args)]
pub(super) struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand)]
enum KeysCommand {
    /// Creates an API key and prints it once: only its hash is stored.
    Create {
        /// Name of the holder.
        #[arg(long)]
        name: String,
        /// Scopes: general, geo, sec, stream, admin.
        #[arg(long, value_delimiter = ',', required = true)]
        scopes: Vec<String>,
        /// Plan, which sets its limits; declared in schemas/_plans.toml.
        #[arg(long, default_value = "standard")]
        plan: String,
        /// Days until it expires; default: never.
        #[arg(long, value_name = "DAYS")]
        expires_in_days: Option<u16>,
    },
    /// Lists the keys, without the secrets.
    List,
    /// Creates the publisher's signing key for sealing releases, in a file that only its owner can read, and prints its verification key.
    Signing {
        /// The publisher's name in the log, with a version so that a later key can replace it: data.example.org/2026.
        #[arg(long)]
        name: String,
        /// The file, which must not exist. Keep it off servers, and keep a copy.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// Channel whose verification key is printed.
        #[arg(long, default_value = "nightly")]
        channel: String,
    },
    /// Revokes a key at once, also for a running server.
    Revoke {
        /// ID of the key, from `keys list`.
        id: String,
    },
}

pub(super) async fn keys(global: &Global, arguments: &KeysArgs) -> Result<ExitCode> {
    if let KeysCommand::Signing { name, output, channel } = &arguments.command {
        return signing(global, name, output, channel);
    }
    let plans = Plans::load(&global.files()?)?;
    if !matches!(arguments.command, KeysCommand::Create { .. }) {
        global.needs_home()?;
    }
    let home = global.home()?;
    let store = SharedStore::open(&home, global.store.as_deref())?;
    let now = Timestamp::now();
    match &arguments.command {
        KeysCommand::Create { name, scopes, plan, expires_in_days } => {
            let expires_at = expires_in_days.map(|days| now.checked_add((i64::from(days) * 24).hours())).transpose();
            let expires_at = expires_at.map_err(|error| Error::config(format!("the expiry is out of range: {error}")))?;
            let scopes = scopes.iter().map(|scope| scope.parse()).collect::<Result<Vec<_>>>()?;
            let new = NewKey { name: name.clone(), scopes, plan: plan.clone(), expires_at };
            let created = change_keys(&home, &store, |keys| keys.create(new.clone(), &plans, now)).await?;
            if global.json {
                output::document("key", &created);
            } else {
                output::print_line!("{}", output::bold(&created.key));
                // The key alone is what a shell catches.
                output::print_note!("id {}, plan {}; the key is shown this once and cannot be read back", created.entry.id, created.entry.plan);
                output::print_note!("it counts for servers of {}", store.url());
            }
        }
        KeysCommand::Signing { .. } => {}
        KeysCommand::List => {
            let keys = list_keys(&home, &store).await?;
            if global.json {
                output::document("keys", &serde_json::json!({ "keys": keys }));
            } else {
                let mut rows = vec![["ID", "NAME", "SCOPES", "PLAN", "CREATED", "VALID"].map(str::to_owned).to_vec()];
                for key in &keys {
                    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.name()).collect();
                    let is_valid = if key.is_valid_at(now) { "yes" } else { "no" };
                    rows.push(vec![key.id.clone(), key.name.clone(), scopes.join(","), key.plan.clone(), key.created_at.clone(), is_valid.to_owned()]);
                }
                output::table(&rows);
            }
        }
        KeysCommand::Revoke { id } => {
            let key = change_keys(&home, &store, |keys| keys.revoke(id, now)).await?;
            if global.json {
                output::document("key", &key);
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
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).at("create", path)?;
    file.write_all(format!("{}\n", key.to_private_text()).as_bytes()).and_then(|()| file.sync_all()).at("write", path)?;
    if global.json {
        output::document("signing_key", &serde_json::json!({ "file": path, "log": format!("{name}/{channel}"), "key": of_log }));
    } else {
        output::print_line!("{}", output::bold(&of_log));
        output::print_line!("verifies the log of channel {channel}; the secret is in {}: seal with --signing-key, keep it off servers", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
