//! `pubdata man`: prints manual pages generated from the help texts.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;

use super::output;
use pubdata_core::error::{IoExt, Result};

#[derive(Args)]
pub(super) struct ManArgs {
    /// Folder for pubdata.1 and a page for each command, such as pubdata-run.1; created if it does
    /// not exist.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn man(arguments: &ManArgs, program: Command) -> Result<ExitCode> {
    // A page for `help` would repeat the content of all other pages.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    match &arguments.output {
        Some(folder) => {
            std::fs::create_dir_all(folder).at("create folder", folder)?;
            for (name, text) in pages(&program) {
                let path = folder.join(name);
                std::fs::write(&path, text).at("write", &path)?;
            }
        }
        None => output::text(&page(&Man::new(program))),
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the pages of a command and its subcommands, with their file names.
fn pages(command: &Command) -> Vec<(String, String)> {
    let own = Man::new(command.clone());
    let mut all = vec![(own.get_filename(), page(&own))];
    all.extend(command.get_subcommands().flat_map(pages));
    all
}

/// Renders a page. Examples and tables at the end keep their line breaks.
fn page(man: &Man) -> String {
    let mut bytes = Vec::new();
    man.render(&mut bytes)
        .expect("memory takes what is written");
    let text = String::from_utf8(bytes).expect("help is text");
    text.replace("\n.SH EXTRA\n", "\n.SH EXTRA\n.nf\n")
        .replace("\n.SH VERSION\n", "\n.fi\n.SH VERSION\n")
}
