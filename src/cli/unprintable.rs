//! What a command does when what it says cannot be printed, as on a full disk: it ends with a word
//! and an exit code, not with a defect. What it did before it printed is done. A reader that goes
//! away, as `| head` does, is none of that: printing goes on to nobody.

use super::{output, terminal};
use pubdata_core::error::{Error, ErrorKind};

/// Has the process end so from now on, and a defect print its message as other texts are printed.
#[expect(
    clippy::exit,
    reason = "what failed is in the middle of a report, and nothing else is under way by then"
)]
pub(super) fn end_with_a_word() {
    std::panic::set_hook(Box::new(move |panic| {
        let Some(reason) = panic
            .payload_as_str()
            .and_then(|text| text.strip_prefix(terminal::FAILED))
        else {
            return terminal::defect(panic);
        };
        let error = Error::store(format!("cannot write to standard output: {reason}"))
            .hint("what the command did is done; `pubdata status` shows it");
        output::error(
            &error,
            std::env::args_os().any(|argument| argument == "--json"),
        );
        std::process::exit(i32::from(ErrorKind::Store.exit_code()));
    }));
}
