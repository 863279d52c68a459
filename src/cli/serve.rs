//! `pubdata serve`: turns flags and variables of the environment into the server's settings, and runs it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::Global;
use crate::error::{Error, Result};
use crate::pipeline::Declarations;
use crate::serve::{self, ServeSettings, TlsFiles};
use crate::store::Plans;

#[derive(Args)]
pub(super) struct ServeArgs {
    /// Address of the API.
    #[arg(long, env = "PUBDATA_BIND", default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    bind: SocketAddr,
    /// The channel that is served; a new release on it is taken up without a restart.
    #[arg(long, default_value = "nightly")]
    channel: String,
    /// Certificate chain, PEM; with --tls-key the server speaks HTTPS.
    #[arg(long, env = "PUBDATA_TLS_CERT", requires = "tls_key", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key, PEM.
    #[arg(long, env = "PUBDATA_TLS_KEY", requires = "tls_cert", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// A proxy in front ends TLS: plain HTTP may then be bound to any address.
    #[arg(long, env = "PUBDATA_BEHIND_PROXY")]
    behind_proxy: bool,
    /// Address of /metrics; without one it is on the API's address when that is loopback.
    #[arg(long, env = "PUBDATA_METRICS_BIND", value_name = "ADDRESS:PORT")]
    metrics_bind: Option<SocketAddr>,
    /// Address that callers use, such as https://data.example.org, for links in answers.
    #[arg(long, env = "PUBDATA_PUBLIC_URL", value_name = "URL")]
    public_url: Option<String>,
    /// Web origins that scripts may call from; `*` is any.
    #[arg(long, env = "PUBDATA_CORS_ORIGINS", value_delimiter = ',', value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Seconds between two looks at the channel.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    poll_seconds: f64,
}

pub(super) async fn serve(global: &Global, arguments: &ServeArgs) -> Result<ExitCode> {
    let files = global.files()?;
    let plans = Plans::load(&files)?;
    let contracts = Declarations::load(files)?.contracts;
    let poll_interval = Duration::try_from_secs_f64(arguments.poll_seconds);
    let settings = ServeSettings {
        store_url: global.store.clone(),
        channel: arguments.channel.clone(),
        bind: arguments.bind,
        tls: arguments.tls_cert.clone().zip(arguments.tls_key.clone()).map(|(certificate, key)| TlsFiles { certificate, key }),
        is_behind_proxy: arguments.behind_proxy,
        metrics_bind: arguments.metrics_bind,
        public_url: arguments.public_url.clone(),
        cors_origins: arguments.cors_origin.clone(),
        poll_interval: poll_interval.map_err(|_| Error::config(format!("{} is not a number of seconds", arguments.poll_seconds)))?,
        ..ServeSettings::new(global.home.clone(), plans)
    };
    serve::serve(settings, contracts).await?;
    Ok(ExitCode::SUCCESS)
}
