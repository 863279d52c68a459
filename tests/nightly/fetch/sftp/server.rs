use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use pubdata_core::pipeline::SftpLogin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SSHD: &str = "/usr/sbin/sshd";

/// Hash of [`PASSWORD`] in the `/etc/shadow` of a password server.
const PASSWORD_HASH: &str = "$6$pubdata$P8iVBtfhIOc4TscwUmhdXuRIdgY3/zXmSw2Xt6DmByHNPpYtoE.HjBYcZvRQo3WGaWlu64Au8YOaEmprRI3rP.";
pub const PASSWORD: &str = "PubAccess1845!";

/// Authentication method of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// A key, for the user who runs the tests.
    Key,
    /// A password, for a separate user that only the server's process sees.
    Password,
    /// A password as the answer to a keyboard-interactive question.
    Question,
}

/// OpenSSH's server on this machine, with a folder of files. It runs one process for each
/// connection, behind a proxy that can cut the connection and counts the bytes from the server.
pub struct Server {
    folder: tempfile::TempDir,
    door: Door,
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Number of bytes after which each of the next connections is cut.
    cuts: Mutex<Vec<u64>>,
    /// Bytes from the server, by connection.
    sent: Mutex<Vec<u64>>,
    processes: Mutex<Vec<Child>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        for process in self.shared.processes.lock().unwrap().iter_mut() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Server {
    /// Starts a server. Returns `None`, after it printed the reason, if this machine cannot run it.
    pub async fn start(door: Door) -> Option<Self> {
        if !Path::new(SSHD).is_file() {
            eprintln!("skipped: there is no {SSHD} (Debian's package openssh-server)");
            return None;
        }
        let is_root = output(Command::new("id").arg("-u")) == "0";
        if door != Door::Key
            && !(is_root
                && Command::new("unshare")
                    .args(["--mount", "true"])
                    .status()
                    .is_ok_and(|status| status.success()))
        {
            eprintln!(
                "skipped: a server with passwords needs root and the right to mount files (unshare --mount)"
            );
            return None;
        }
        if is_root {
            // The package's start script does the same; the server requires it.
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            folder: tempfile::tempdir().unwrap(),
            door,
            address: listener.local_addr().unwrap(),
            shared: Arc::default(),
        };
        server.write_settings();
        let (folder, shared) = (server.folder.path().to_owned(), Arc::clone(&server.shared));
        tokio::spawn(async move {
            while let Ok((line, _)) = listener.accept().await {
                tokio::spawn(serve(
                    line,
                    start_process(&folder, door, &shared),
                    Arc::clone(&shared),
                ));
            }
        });
        Some(server)
    }

    fn write_settings(&self) {
        let path = |name: &str| self.folder.path().join(name);
        std::fs::create_dir_all(path("files/doc")).unwrap();
        for key in ["host_key", "reader_key"] {
            output(
                Command::new("ssh-keygen")
                    .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                    .arg(path(key)),
            );
        }
        std::fs::copy(path("reader_key.pub"), path("authorized_keys")).unwrap();
        output(Command::new("chmod").arg("755").arg(self.folder.path()));
        let yes = |is_so: bool| if is_so { "yes" } else { "no" };
        let folder = self.folder.path().display();
        let text = format!(
            "HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nPidFile none\nLogLevel DEBUG1\nPermitRootLogin yes\n\
             PubkeyAuthentication {}\nPasswordAuthentication {}\nKbdInteractiveAuthentication {}\nUsePAM {}\n\
             Subsystem sftp internal-sftp\nForceCommand internal-sftp -d {folder}/files\n",
            yes(self.door == Door::Key),
            yes(self.door == Door::Password),
            yes(self.door == Door::Question),
            yes(self.door == Door::Question),
        );
        std::fs::write(path("sshd_config"), text).unwrap();
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
        std::fs::write(
            path("passwd"),
            format!("{passwd}Public:x:61845:61845::/nonexistent:/bin/sh\n"),
        )
        .unwrap();
        std::fs::write(
            path("shadow"),
            format!("Public:{PASSWORD_HASH}:19000:0:99999:7:::\n"),
        )
        .unwrap();
    }

    /// Writes a file with an old modification time.
    pub fn put(&self, path: &str, bytes: &[u8], modified: &str) {
        let file = self.path(path);
        std::fs::write(&file, bytes).unwrap();
        let modified: jiff::Timestamp = modified.parse().unwrap();
        std::fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(modified.into())
            .unwrap();
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("files").join(path)
    }

    pub fn url(&self, path: &str) -> String {
        format!("sftp://{}/{path}", self.address)
    }

    /// Returns the fingerprint of the host key, as OpenSSH prints it.
    pub fn host_key(&self) -> String {
        let printed = output(
            Command::new("ssh-keygen")
                .arg("-lf")
                .arg(self.folder.path().join("host_key.pub")),
        );
        printed.split_whitespace().nth(1).unwrap().to_owned()
    }

    /// Returns the login that the server accepts.
    pub fn login(&self) -> SftpLogin {
        let is_key = self.door == Door::Key;
        SftpLogin {
            user: if is_key {
                output(Command::new("id").arg("-un"))
            } else {
                "Public".to_owned()
            },
            password: (!is_key).then(|| PASSWORD.to_owned()),
            key_file: is_key.then(|| "{env:KEY_FILE}".to_owned()),
            host_key: Some(self.host_key()),
        }
    }

    /// Returns the line of a declaration with which a source logs in with the client's key. The
    /// variable's name is the path of the file that it holds.
    pub fn declared_login(&self) -> String {
        format!(
            "sftp = {{ user = \"{}\", key_file = \"{{env:{}}}\" }}",
            self.login().user,
            self.key_file().display()
        )
    }

    /// Returns the path of the client's private key.
    pub fn key_file(&self) -> PathBuf {
        self.folder.path().join("reader_key")
    }

    /// Cuts the next connection after the given number of bytes from the server.
    pub fn cut_after(&self, bytes: u64) {
        self.shared.cuts.lock().unwrap().push(bytes);
    }

    /// Returns the bytes from the server, by connection.
    pub fn sent(&self) -> Vec<u64> {
        self.shared.sent.lock().unwrap().clone()
    }

    /// Returns the server's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// Starts OpenSSH's server for one connection, and returns the test's end of the socket.
fn start_process(folder: &Path, door: Door, shared: &Shared) -> UnixStream {
    let (ours, its) = UnixStream::pair().unwrap();
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .unwrap();
    let mut command = Command::new(if door == Door::Key { SSHD } else { "unshare" });
    if door != Door::Key {
        let bind = "mount --bind \"$0/passwd\" /etc/passwd && mount --bind \"$0/shadow\" /etc/shadow && exec \"$@\"";
        command
            .args(["--mount", "sh", "-c", bind])
            .arg(folder)
            .arg(SSHD);
    }
    command
        .args(["-i", "-e", "-f"])
        .arg(folder.join("sshd_config"));
    let process = command
        .stdin(OwnedFd::from(its.try_clone().unwrap()))
        .stdout(OwnedFd::from(its))
        .stderr(log)
        .spawn()
        .unwrap();
    shared.processes.lock().unwrap().push(process);
    ours
}

/// Forwards bytes until one side ends or the connection is due to be cut.
async fn serve(line: TcpStream, process: UnixStream, shared: Arc<Shared>) {
    process.set_nonblocking(true).unwrap();
    let (mut from_server, mut to_server) = tokio::net::UnixStream::from_std(process)
        .unwrap()
        .into_split();
    let (mut from_client, mut to_client) = line.into_split();
    let cut = shared.cuts.lock().unwrap().pop();
    let connection = {
        let mut sent = shared.sent.lock().unwrap();
        sent.push(0);
        sent.len() - 1
    };
    let up = tokio::io::copy(&mut from_client, &mut to_server);
    let down = async {
        let mut buffer = vec![0; 1 << 14];
        while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
            let sent = {
                let mut sent = shared.sent.lock().unwrap();
                sent[connection] += length as u64;
                sent[connection]
            };
            if cut.is_some_and(|cut| sent > cut)
                || to_client.write_all(&buffer[..length]).await.is_err()
            {
                break;
            }
        }
    };
    // The end of either direction drops both halves.
    tokio::select! { _ = up => {}, () = down => {} }
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
