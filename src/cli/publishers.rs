//! Defines the flags shared by all commands that send requests to publishers.

use std::path::PathBuf;

use clap::Args;

use pubdata_fetch::FetchSettings;

#[derive(Args)]
pub(super) struct PublisherArgs {
    /// Folder or URL to fetch from instead of the publishers. Can be repeated; the first mirror
    /// that has a file is used.
    #[arg(long, value_name = "DIR|URL")]
    pub(super) mirror: Vec<String>,
    /// Contact address for publishers, sent in the User-Agent.
    #[arg(long, env = "PUBDATA_CONTACT", value_name = "ADDRESS")]
    contact: Option<String>,
    /// Certificate authorities (PEM) to trust in addition to the system's, such as that of a proxy
    /// that decrypts traffic.
    #[arg(long, env = "PUBDATA_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl PublisherArgs {
    pub(super) fn fetch_settings(&self) -> FetchSettings {
        FetchSettings {
            mirrors: self.mirror.clone(),
            contact: self.contact.clone(),
            ca_file: self.ca.clone(),
            ..FetchSettings::default()
        }
    }
}
