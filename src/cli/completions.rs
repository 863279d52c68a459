//! `pubdata completions`: prints a completion script for the commands and flags.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::output;
use pubdata_core::error::Result;

const AFTER_HELP: &str = "\
Examples:
  pubdata completions bash > ~/.local/share/bash-completion/completions/pubdata
  pubdata completions zsh > ~/.zfunc/_pubdata        # ~/.zfunc in $fpath, before compinit
  pubdata completions fish > ~/.config/fish/completions/pubdata.fish";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CompletionsArgs {
    /// Shell to generate the script for.
    shell: Shell,
}

pub(super) fn completions(arguments: &CompletionsArgs, mut program: Command) -> Result<ExitCode> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, name, &mut script);
    output::text(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
