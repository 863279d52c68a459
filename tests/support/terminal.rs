//! Runs the program on a terminal, where it prints text that it omits on a pipe.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Output of a program on its terminal, standard output and standard error together.
#[derive(Debug)]
pub struct Screen {
    pub code: Option<i32>,
    pub text: String,
}

/// Control sequences that the program itself sends to a terminal: styles, and those of progress
/// bars.
const OWN: [&str; 10] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[35m",
    "\r\u{1b}[2K",
    "\r",
];

impl Screen {
    /// Control characters from other sources that a terminal would execute.
    pub fn obeyed(&self) -> Vec<char> {
        let lines =
            (1..10).flat_map(|lines| [format!("\u{1b}[{lines}A"), format!("\u{1b}[{lines}B")]);
        let of_others = OWN
            .iter()
            .map(|own| (*own).to_owned())
            .chain(lines)
            .fold(self.text.clone(), |text, own| text.replace(&own, ""));
        let is_obeyed = |character: &char| {
            let turns = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            turns || (character.is_control() && *character != '\n')
        };
        of_others.chars().filter(is_obeyed).collect()
    }
}

/// Runs a command with a terminal in place of pipes.
pub fn on_terminal(mut command: Command) -> Screen {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::from(
        open(
            name,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .unwrap(),
    );
    command
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs);
    let mut child = command.spawn().unwrap();
    // The command holds the last ends of the terminal outside the program. Without it, reading ends
    // with the program.
    drop(command);
    let (mut bytes, mut ours) = (Vec::new(), File::from(ours));
    let mut some = [0; 4096];
    while let Ok(length @ 1..) = ours.read(&mut some) {
        bytes.extend_from_slice(&some[..length]);
    }
    let code = child.wait().unwrap().code();
    Screen {
        code,
        text: String::from_utf8(bytes).unwrap().replace("\r\n", "\n"),
    }
}
