//! Logs in to an SFTP server after verifying its host key, so that no other server receives the
//! password.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::{HashAlg, PrivateKeyWithHashAlg, PublicKeyOrCertificate, load_secret_key};
use russh::{MethodKind, SshId};
use russh_sftp::client::{Config, RawSftpSession};
use tokio::net::TcpStream;

use super::FetchSettings;
use super::retry::Failure;
use pubdata_core::error::Error;
use pubdata_core::pipeline::{SftpLogin, variable_of};

/// An SFTP server with a source's login.
#[derive(Clone, Copy)]
pub(super) struct Server<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) source_id: &'a str,
    pub(super) login: &'a SftpLogin,
}

/// A logged-in connection with its SFTP session.
pub(super) struct Connection {
    ssh: Handle<Guard>,
    pub(super) session: RawSftpSession,
}

impl Connection {
    pub(super) fn is_closed(&self) -> bool {
        self.ssh.is_closed()
    }
}

/// Connects, verifies the server and logs in. Only the known server receives the password.
pub(super) async fn connect(
    settings: &FetchSettings,
    server: Server<'_>,
) -> Result<Connection, Failure> {
    let config = client::Config {
        client_id: SshId::Standard(Cow::Owned(format!(
            "SSH-2.0-pubdata_{}",
            env!("CARGO_PKG_VERSION")
        ))),
        inactivity_timeout: Some(settings.read_timeout),
        nodelay: true,
        ..client::Config::default()
    };
    let guard = Guard {
        host: server.host.to_owned(),
        source_id: server.source_id.to_owned(),
        expected: server.login.host_key.clone(),
    };
    let connected = TcpStream::connect((
        server.host.trim_start_matches('[').trim_end_matches(']'),
        server.port,
    ));
    let stream = in_time(settings.connect_timeout, connected)
        .await?
        .map_err(|error| no_answer(&error))?;
    let mut ssh = match in_time(
        settings.read_timeout,
        client::connect_stream(Arc::new(config), stream, guard),
    )
    .await?
    {
        Ok(ssh) => ssh,
        Err(Refusal::UnknownServer(error)) => return Err(error.into()),
        Err(Refusal::Ssh(error)) => return Err(no_answer(&error)),
    };
    let is_welcome = in_time(settings.read_timeout, log_in(&mut ssh, settings, server)).await??;
    if !is_welcome {
        let error = Error::fetch(format!(
            "{} refused the login of user `{}`",
            server.host, server.login.user
        ));
        return Err(error.hint("check `sftp` in the declaration, or the variable it names, against the publisher's documentation").into());
    }
    let opened = async {
        let channel = ssh.channel_open_session().await?;
        channel.request_subsystem(true, "sftp").await?;
        Ok::<_, russh::Error>(channel.into_stream())
    };
    let stream = in_time(settings.read_timeout, opened)
        .await?
        .map_err(|error| no_answer(&error))?;
    let config = Config {
        request_timeout_secs: settings.read_timeout.as_secs().max(1),
        ..Config::default()
    };
    let session = RawSftpSession::new_with_config(stream, config);
    session.init().await.map_err(|error| no_answer(&error))?;
    Ok(Connection { ssh, session })
}

/// Returns whether the server accepts the login.
async fn log_in(
    ssh: &mut Handle<Guard>,
    settings: &FetchSettings,
    server: Server<'_>,
) -> Result<bool, Failure> {
    let SftpLogin {
        user,
        password,
        key_file,
        ..
    } = server.login;
    let value = |text: &String| match variable_of(text) {
        Some(variable) => (settings.secret)(variable).unwrap_or_default(),
        None => text.clone(),
    };
    let answer = match (password, key_file) {
        (Some(password), _) => {
            let password = value(password);
            match ssh.authenticate_password(user, &password).await {
                // Some servers accept passwords only as responses to prompts.
                Ok(AuthResult::Failure {
                    remaining_methods, ..
                }) if remaining_methods.contains(&MethodKind::KeyboardInteractive)
                    && !remaining_methods.contains(&MethodKind::Password) =>
                {
                    return answer_questions(ssh, user, &password)
                        .await
                        .map_err(|error| no_answer(&error));
                }
                answer => answer,
            }
        }
        (None, Some(key_file)) => {
            let path = value(key_file);
            let key = load_secret_key(&path, None).map_err(|error| {
                Error::config(format!("the private key {path} cannot be read: {error}"))
                    .hint("it must be a file in OpenSSH's format, without a passphrase")
            })?;
            let hash = ssh
                .best_supported_rsa_hash()
                .await
                .map_err(|error| no_answer(&error))?
                .flatten();
            ssh.authenticate_publickey(user, PrivateKeyWithHashAlg::new(Arc::new(key), hash))
                .await
        }
        (None, None) => ssh.authenticate_none(user).await,
    };
    answer
        .map(|answer| answer.success())
        .map_err(|error| no_answer(&error))
}

async fn answer_questions(
    ssh: &mut Handle<Guard>,
    user: &str,
    password: &str,
) -> Result<bool, russh::Error> {
    let mut answer = ssh
        .authenticate_keyboard_interactive_start(user, None)
        .await?;
    // The first prompt is for the password. A program cannot answer any other prompts.
    for _ in 0..4 {
        answer = match answer {
            KeyboardInteractiveAuthResponse::Success => return Ok(true),
            KeyboardInteractiveAuthResponse::Failure { .. } => return Ok(false),
            KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => {
                ssh.authenticate_keyboard_interactive_respond(
                    prompts.iter().map(|_| password.to_owned()).collect(),
                )
                .await?
            }
        };
    }
    Ok(false)
}

/// Accepts a connection only if the server presents the known host key.
struct Guard {
    host: String,
    source_id: String,
    expected: Option<String>,
}

/// Reason why a connection was refused.
#[derive(Debug)]
enum Refusal {
    Ssh(russh::Error),
    UnknownServer(Error),
}

impl From<russh::Error> for Refusal {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

impl client::Handler for Guard {
    type Error = Refusal;

    async fn check_server_key(&mut self, key: &PublicKeyOrCertificate) -> Result<bool, Refusal> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = key else {
            return Ok(false);
        };
        let offered = key.fingerprint(HashAlg::Sha256).to_string();
        if self.expected.as_ref() == Some(&offered) {
            return Ok(true);
        }
        Err(Refusal::UnknownServer(unknown_server(
            self,
            &offered,
            key.algorithm().as_str(),
        )))
    }
}

fn unknown_server(guard: &Guard, offered: &str, algorithm: &str) -> Error {
    let Guard {
        host,
        source_id,
        expected,
    } = guard;
    let accept = format!("pubdata accept {source_id}:host_key={offered}");
    match expected {
        None => Error::fetch(format!("{host} shows the host key {offered} ({algorithm}), which is not confirmed yet; no login was attempted"))
            .hint(format!("compare the key with the publisher's documentation, or with the key seen from another network; then `{accept}`")),
        Some(expected) => {
            Error::fetch(format!("{host} shows the host key {offered} ({algorithm}), but {expected} is the known one; no login was attempted"))
                .hint(format!("the connection may be intercepted; if the publisher confirms that the key is new, `{accept}`"))
        }
    }
}

async fn in_time<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, Failure> {
    let late = || {
        Failure::again(Error::fetch(format!(
            "no answer within {} s",
            limit.as_secs()
        )))
    };
    tokio::time::timeout(limit, work).await.map_err(|_| late())
}

fn no_answer(error: &dyn std::fmt::Display) -> Failure {
    Failure::again(Error::fetch(format!("no answer: {error}")))
}
