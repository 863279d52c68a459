//! Provides what is between a client and its publisher: a certificate authority, and a proxy.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A certificate authority that no system trusts.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes the authority's certificate into a folder, in PEM form.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("authority.pem");
        let lines = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            BASE64_STANDARD.encode(self.0.der())
        );
        std::fs::write(&path, lines).unwrap();
        path
    }

    /// TLS configuration of a server for these hosts.
    pub fn server(&self, hosts: &[&str], protocols: &[&str]) -> Arc<ServerConfig> {
        let names: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &self.0)
            .unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let mut config = builder
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|protocol| protocol.as_bytes().to_vec())
            .collect();
        Arc::new(config)
    }
}

/// A proxy that opens tunnels to publishers by name; stops when dropped.
pub struct TunnelProxy {
    address: SocketAddr,
    requested: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl TunnelProxy {
    /// Starts on a free loopback port. `names` maps hosts to addresses; other hosts are refused.
    pub async fn start(names: BTreeMap<String, SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requested = Arc::new(Mutex::default());
        let noted = Arc::clone(&requested);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(tunnel(stream, names.clone(), Arc::clone(&noted)));
            }
        });
        Self {
            address,
            requested,
            task,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Hosts and ports of the requested tunnels, in order.
    pub fn requested(&self) -> Vec<String> {
        self.requested.lock().unwrap().clone()
    }
}

impl Drop for TunnelProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn tunnel(
    mut client: TcpStream,
    names: BTreeMap<String, SocketAddr>,
    requested: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.ok()?);
    }
    let text = String::from_utf8(head).ok()?;
    let target = text.strip_prefix("CONNECT ")?.split(' ').next()?.to_owned();
    requested.lock().unwrap().push(target.clone());
    let Some(address) = names.get(target.split(':').next()?) else {
        client
            .write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            .await
            .ok()?;
        return None;
    };
    let mut publisher = TcpStream::connect(address).await.ok()?;
    client
        .write_all(b"HTTP/1.1 200 Connected\r\n\r\n")
        .await
        .ok()?;
    tokio::io::copy_bidirectional(&mut client, &mut publisher)
        .await
        .ok()
        .map(drop)
}
