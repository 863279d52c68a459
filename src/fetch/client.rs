//! Builds the HTTP clients: user agent, trusted authorities, proxy, and restrictions on addresses.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, NoProxy, Proxy, Url};
use thiserror::Error as ThisError;

use super::FetchSettings;
use super::redirect::is_private;
use pubdata_core::error::{Error, Result};

/// Hosts that bypass the proxy, in addition to the hosts in the settings.
const NEVER_PROXIED: &str = "localhost,127.0.0.0/8,::1";

/// The proxy between this machine and the publishers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// URL of the proxy for `https://` requests; `None` for direct connections.
    pub https: Option<String>,
    /// Hosts, domains and networks to connect to directly, separated by commas.
    pub except: Option<String>,
}

impl ProxySettings {
    /// Reads the proxy from `HTTPS_PROXY` or `ALL_PROXY` and the exceptions from `NO_PROXY`, in
    /// upper or lower case.
    pub fn from_environment() -> Self {
        let first = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        };
        Self {
            https: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            except: first(&["NO_PROXY", "no_proxy"]),
        }
    }
}

/// The party that supplied a URL: the operator or a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The URL comes from the declaration or the command line and may lead anywhere.
    Person,
    /// The URL comes from a server's response and must have a public address.
    Server,
}

/// Error for a server-supplied host name that resolved to a non-public address.
#[derive(Debug, ThisError)]
#[error("`{0}` is the name of this machine or of one in a private network")]
pub(super) struct PrivateName(String);

/// The HTTP clients, each created on first use.
pub(super) struct Clients {
    settings: FetchSettings,
    user_agent: String,
    authorities: Vec<Certificate>,
    proxy: Option<(Proxy, String)>,
    plain: OnceLock<Client>,
    for_person: OnceLock<Client>,
    for_server: OnceLock<Client>,
}

impl Clients {
    /// Validates the settings without creating a client.
    ///
    /// # Errors
    /// `Config`, when the contact cannot be sent, the proxy URL is invalid, or the certificate
    /// authorities cannot be read.
    pub(super) fn new(settings: FetchSettings) -> Result<Self> {
        let user_agent = user_agent(settings.contact.as_deref())?;
        let authorities = settings
            .ca_file
            .as_deref()
            .map_or_else(|| Ok(Vec::new()), authorities)?;
        let proxy = settings
            .proxy
            .https
            .as_deref()
            .map(|address| proxy(address, settings.proxy.except.as_deref()))
            .transpose()?;
        Ok(Self {
            settings,
            user_agent,
            authorities,
            proxy,
            plain: OnceLock::new(),
            for_person: OnceLock::new(),
            for_server: OnceLock::new(),
        })
    }

    /// Returns the client for a URL.
    pub(super) fn get(&self, url: &Url, named_by: NamedBy) -> Result<&Client> {
        let is_plain = url.scheme() == "http";
        let cell = match named_by {
            _ if is_plain => &self.plain,
            NamedBy::Person => &self.for_person,
            NamedBy::Server => &self.for_server,
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let proxy = self.proxy.as_ref().filter(|_| !is_plain);
        let names = Names {
            known: self.settings.resolve.clone(),
            named_by,
            proxy_host: proxy.map(|(_, host)| host.clone()),
        };
        let mut builder = Client::builder()
            .user_agent(&self.user_agent)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .dns_resolver(names)
            .connect_timeout(self.settings.connect_timeout)
            .read_timeout(self.settings.read_timeout)
            .timeout(self.settings.total_timeout);
        builder = match proxy {
            Some((proxy, _)) => builder.proxy(proxy.clone()),
            None => builder,
        };
        builder = if is_plain {
            // For this machine or a nearby mirror, the system needs no certificate authorities.
            builder.tls_certs_only([])
        } else {
            builder.tls_certs_merge(self.authorities.iter().cloned())
        };
        let client = builder.build().map_err(|error| {
            Error::fetch(format!(
                "cannot set up the network client: {}",
                causes(error)
            ))
        })?;
        Ok(cell.get_or_init(|| client))
    }
}

/// Returns the user agent in a format that the publishers' gateways accept. The SEC's gateway
/// rejects user agents that contain parentheses or URLs (seen 2026-09).
fn user_agent(contact: Option<&str>) -> Result<String> {
    let Some(contact) = contact else {
        return Ok(format!("pubdata/{}", env!("CARGO_PKG_VERSION")));
    };
    let hint = "set it to an e-mail address";
    if contact.contains(|character: char| !(character.is_ascii_graphic() || character == ' ')) {
        return Err(Error::config("the contact must be plain ASCII text on one line").hint(hint));
    }
    let lower = contact.to_ascii_lowercase();
    if contact.contains(['(', ')']) || lower.contains("://") || lower.contains("www.") {
        return Err(Error::config("the contact has parentheses or is the address of a web page; publishers refuse programs that send one").hint(hint));
    }
    Ok(format!("pubdata/{} {contact}", env!("CARGO_PKG_VERSION")))
}

fn authorities(path: &Path) -> Result<Vec<Certificate>> {
    let refuse = |reason: String| {
        Error::config(format!(
            "certificate authorities {}: {reason}",
            path.display()
        ))
        .hint("give a file of certificates in PEM form")
    };
    let text = std::fs::read(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let found = Certificate::from_pem_bundle(&text).map_err(|error| refuse(causes(error)))?;
    if found.is_empty() {
        return Err(refuse("there is no certificate in it".to_owned()));
    }
    Ok(found)
}

/// Parses the proxy URL, and returns the proxy with its host.
fn proxy(address: &str, except: Option<&str>) -> Result<(Proxy, String)> {
    // The URL may contain a password, so errors do not repeat it.
    let refuse = || {
        Error::config("the proxy of HTTPS_PROXY is not an address")
            .hint("write http://example.org:3128")
    };
    let address = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    let host = Url::parse(&address)
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned))
        .ok_or_else(refuse)?;
    let except = except.map_or_else(
        || NEVER_PROXIED.to_owned(),
        |except| format!("{except},{NEVER_PROXIED}"),
    );
    let proxy = Proxy::https(&address).map_err(|_| refuse())?;
    Ok((proxy.no_proxy(NoProxy::from_string(&except)), host))
}

/// Resolves host names.
struct Names {
    known: BTreeMap<String, SocketAddr>,
    named_by: NamedBy,
    /// Host of the proxy. It may have any address, because the operator named it.
    proxy_host: Option<String>,
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_ascii_lowercase();
        if let Some(address) = self.known.get(&name).copied() {
            return Box::pin(std::future::ready(Ok(
                Box::new(std::iter::once(address)) as Addrs
            )));
        }
        let may_be_private =
            self.named_by == NamedBy::Person || self.proxy_host.as_ref() == Some(&name);
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if !may_be_private && found.iter().any(|address| is_private(address.ip())) {
                return Err(PrivateName(name).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Returns whether a request failed because a server's name resolved to a private address.
pub(super) fn is_private_name(error: &reqwest::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<PrivateName>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Returns the text of an error and its causes, without the URL, which may contain a secret.
pub(super) fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first case is a host name in a publisher's domain that resolves to this machine.
    #[tokio::test]
    async fn name_given_by_a_server_must_resolve_to_a_public_address() {
        let find = |named_by, proxy_host: Option<&str>| {
            let names = Names {
                known: BTreeMap::new(),
                named_by,
                proxy_host: proxy_host.map(str::to_owned),
            };
            names.resolve("localhost".parse().unwrap())
        };
        assert!(
            find(NamedBy::Server, None)
                .await
                .is_err_and(|error| error.is::<PrivateName>())
        );
        assert!(find(NamedBy::Server, Some("localhost")).await.is_ok());
        assert!(find(NamedBy::Person, None).await.is_ok());
        let known = BTreeMap::from([(
            "data.example.org".to_owned(),
            "127.0.0.1:443".parse().unwrap(),
        )]);
        let names = Names {
            known,
            named_by: NamedBy::Server,
            proxy_host: None,
        };
        assert!(
            names
                .resolve("DATA.example.org".parse().unwrap())
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn request_error_identifies_a_private_name_given_by_a_server() {
        let clients = Clients::new(FetchSettings {
            proxy: ProxySettings::default(),
            ..FetchSettings::default()
        })
        .unwrap();
        let url = Url::parse("https://localhost:1/").unwrap();
        let ask = async |named_by| {
            clients
                .get(&url, named_by)
                .unwrap()
                .get(url.clone())
                .send()
                .await
                .unwrap_err()
        };
        assert!(is_private_name(&ask(NamedBy::Server).await));
        assert!(!is_private_name(&ask(NamedBy::Person).await));
    }
}
