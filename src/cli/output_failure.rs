//! Handles output that cannot be printed, for example on a full disk. The command exits with a
//! message and an exit code instead of a panic; its work is already done by then. If the reader
//! closes the pipe, as `| head` does, this is not a failure, and further output is discarded.

use super::{output, terminal};
use pubdata_core::error::{Error, ErrorKind};

/// Installs the panic hook that exits the process in this case. The hook also prints the messages
/// of other panics, with control characters escaped.
#[expect(
    clippy::exit,
    reason = "what failed is in the middle of a report, and nothing else is under way by then"
)]
pub(super) fn install_panic_hook() {
    std::panic::set_hook(Box::new(move |panic| {
        let Some(reason) = panic
            .payload_as_str()
            .and_then(|text| text.strip_prefix(terminal::FAILED))
        else {
            return terminal::defect(panic);
        };
        let error = Error::store(format!("cannot write to standard output: {reason}"))
            .hint("the command's work is done; `pubdata status` shows it");
        output::error(
            &error,
            std::env::args_os().any(|argument| argument == "--json"),
        );
        std::process::exit(i32::from(ErrorKind::Store.exit_code()));
    }));
}
