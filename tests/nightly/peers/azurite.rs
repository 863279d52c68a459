//! Runs against Azurite, Microsoft's emulator of Azure Blob Storage, which honours conditional
//! requests: a store that publishing can rely on, and distributed runs.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::moto::two_nights;
use pubdata_testing::project;

/// Account and key of every Azurite. Source: "Use the Azurite emulator for local Azure Storage
/// development", learn.microsoft.com.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Server with one container, which persists no data and ends with the test.
struct Azurite {
    server: Child,
    port: u16,
}

impl Azurite {
    /// Starts a server, or prints the reason and returns `None` if Azurite is not installed.
    fn start() -> Option<Self> {
        let Some(program) =
            std::env::var_os("PUBDATA_TEST_AZURITE").filter(|path| !path.is_empty())
        else {
            eprintln!(
                "skipped: PUBDATA_TEST_AZURITE does not name azurite-blob (.ci/azurite/package.json)"
            );
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = Command::new(program);
        command.args([
            "--blobHost",
            "127.0.0.1",
            "--blobPort",
            &port.to_string(),
            "--inMemoryPersistence",
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ]);
        let azurite = Self {
            server: command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
            port,
        };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::park_timeout(Duration::from_millis(100));
        }
        let made = Command::new("python3")
            .arg(project("tests/peers/azurite_container.py"))
            .args([&port.to_string(), ACCOUNT, KEY])
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        Some(azurite)
    }

    fn environment(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://127.0.0.1:{}/{ACCOUNT}", self.port);
        let fixed = [
            ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
            ("AZURE_STORAGE_ACCOUNT_KEY", KEY),
            ("AZURE_ALLOW_HTTP", "true"),
            ("NO_PROXY", "127.0.0.1"),
        ];
        fixed
            .into_iter()
            .chain([("AZURE_STORAGE_ENDPOINT", endpoint.as_str())])
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn azure_store_is_reliable_and_distributed_runs_equal_local_ones() {
    let Some(azurite) = Azurite::start() else {
        return;
    };
    two_nights("az://container/some/prefix", azurite.environment());
}
