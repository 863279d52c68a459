//! Opens regular files and rejects everything else. Opening a named pipe would wait for another
//! process, possibly forever, and reading a device might never end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Opens a regular file for reading. Never waits for another process.
///
/// # Errors
/// Same as for [`File::open`]; `NotSeekable`, when the path is not a regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Reads a regular file.
///
/// # Errors
/// Same as for [`open_file`].
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads at most `most` bytes from an untrusted file, pipe or device.
///
/// # Errors
/// Same as for [`Read::read`]; `InvalidData`, when the source has more bytes.
pub fn read_at_most(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("it has more than {most} bytes"),
        ));
    }
    Ok(bytes)
}

/// Opens a regular file with the given options.
pub(super) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // With this flag, opening a pipe does not block, and the file type is checked before a byte is
    // read. The flag has no effect on regular files.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, OFlags::NONBLOCK.bits().cast_signed());
    let file = match options.open(path) {
        // Opening a socket fails with this error, and so does opening a pipe for writing if it has
        // no reader.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
            return Err(no_file());
        }
        file => file?,
    };
    let metadata = file.metadata()?;
    if metadata.is_file() || metadata.is_dir() {
        Ok(file)
    } else {
        Err(no_file())
    }
}

/// Returns the error for a pipe, a socket or a device.
fn no_file() -> io::Error {
    io::Error::new(
        ErrorKind::NotSeekable,
        "it is a named pipe, a socket or a device, not a file",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a named pipe in a folder.
    fn pipe(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        path
    }

    #[test]
    fn pipe_device_and_socket_are_rejected_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (pipe(folder.path()), folder.path().join("socket"));
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &socket, Path::new("/dev/zero")] {
            assert_eq!(
                read_file(path).unwrap_err().kind(),
                ErrorKind::NotSeekable,
                "{}",
                path.display()
            );
            let written = open_with(
                OpenOptions::new().create(true).truncate(false).write(true),
                path,
            );
            assert_eq!(
                written.unwrap_err().kind(),
                ErrorKind::NotSeekable,
                "{}",
                path.display()
            );
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read_file(&file).unwrap(), b"text");
        assert_eq!(
            read_file(&folder.path().join("absent")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn what_has_no_end_is_read_no_further_than_its_bound() {
        assert_eq!(
            read_at_most(io::repeat(0), 1 << 20)
                .unwrap_err()
                .to_string(),
            "it has more than 1048576 bytes"
        );
        assert_eq!(read_at_most(&b"four"[..], 4).unwrap(), b"four");
    }
}
