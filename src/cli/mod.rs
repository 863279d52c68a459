//! Implements the command line, which turns flags into text or JSON output and one exit code. This
//! is the only module that prints. Each subcommand is a separate file that calls code elsewhere.

mod accept;
mod after_run;
mod attention;
mod check;
mod completions;
mod distributed;
mod follow;
mod import;
mod keys;
mod log_auditor;
mod man;
mod metrics;
mod new;
mod output;
mod output_failure;
mod probe;
mod progress;
mod publishers;
mod receipts;
mod release_page;
mod releases;
mod run;
mod schema;
mod serve;
mod settings;
mod status;
mod terminal;
mod trace;
mod tracer;
mod upgrade;
mod user;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind as ClapErrorKind;
use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use jiff::civil::Date;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::debug_fn;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::FetchSettings;
use pubdata_run::{self as runs, AcceptedIds, Chosen, RunSettings};
use pubdata_store::{Home, Releases, SETTINGS_FILE, SharedStore};
use settings::SettingsFile;
pub use tracer::HomeTracer;

/// The home that is used if neither a flag nor the environment specifies one.
const DEFAULT_HOME: &str = ".pubdata";

/// Builds and serves trustworthy public data: every figure traceable to the publisher's bytes.
#[derive(Parser)]
#[command(name = "pubdata", version, after_help = AFTER_HELP, max_term_width = 120)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
A first tour:
  pubdata probe                                  ask every publisher what it has, and say what a run would do
  pubdata run                                    fetch, build, validate and publish a release
  pubdata status                                 what is published, how fresh it is, how the last runs went
  pubdata keys create --name me --scopes geo     make an API key
  pubdata serve                                  answer /v1 on 127.0.0.1:8080
  pubdata follow                                 watch the feeds of new filings, for WS /v1/stream
  pubdata trace geo.zcta_metric:2023:90210:population

Exit codes:
  0   published or unchanged
  1   trace or verify found differences
  2   trace or verify could not replay or rebuild it: a snapshot is missing, or another version
      of the program built it
  10  published; something needs attention (`pubdata status`)
  20  validation blocked a dataset
  30  a source was unavailable
  40  bad configuration, or the command line names what does not exist, such as a record
  50  another run holds the lock
  60  pubdata's own files cannot be read or written, or lack what is needed, such as a release
      or the seal for a receipt";

/// Options that every command accepts.
#[derive(Args, Clone)]
struct Global {
    /// Home directory: snapshots, releases, ledger, keys.
    #[arg(long, global = true, env = "PUBDATA_HOME", default_value = DEFAULT_HOME, value_name = "DIR")]
    home: PathBuf,
    /// Shared store for several machines, instead of HOME: file:///folder, s3://bucket/prefix,
    /// az://container/prefix or gs://bucket/prefix.
    #[arg(long, global = true, env = "PUBDATA_STORE", value_name = "URL")]
    store: Option<String>,
    /// Folder with pipelines/ and schemas/ to use instead of the built-in ones.
    #[arg(long, global = true, env = "PUBDATA_DECLARATIONS", value_name = "DIR")]
    declarations: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long, global = true)]
    json: bool,
    #[arg(skip)]
    chosen: Chosen,
}

#[derive(Subcommand)]
enum Command {
    /// Shows what a run would do, and why. Fetches new files from the publishers, but builds
    /// nothing.
    Plan(run::PlanArgs),
    /// Fetches the beginning of every publisher's files and predicts what a run would do. Publishes
    /// nothing.
    Probe(probe::ProbeArgs),
    /// Downloads changed files, and does nothing else.
    Fetch(run::FetchArgs),
    /// Fetches sources, builds stale tasks, validates the results and publishes one release.
    Run(run::RunArgs),
    /// Runs a part of a plan that `plan --write` has put into the store, on this or any other
    /// machine.
    Task(distributed::TaskArgs),
    /// Publishes a plan that `task` has built. The result is the same release that `run` would have
    /// published.
    Commit(distributed::CommitArgs),
    /// Shows what is published, how fresh it is, and the outcome of the latest runs.
    Status(status::StatusArgs),
    /// Prints metrics of the installation for Prometheus; `run --metrics-file` writes them after
    /// each run.
    Metrics(metrics::MetricsArgs),
    /// Lists, shows, compares, promotes, rolls back and prunes releases.
    Releases(releases::ReleasesArgs),
    /// Traces a record to the publisher's bytes and rebuilds it from them.
    ///
    /// Exit codes: 0, the rebuilt record is the same; 1, it is not, or a file that it needs was
    /// changed; 2, it cannot be rebuilt here; 40, the release has no such record or dataset; 60,
    /// the home does not have the release.
    Trace(trace::TraceArgs),
    /// Rehashes all parts and snapshots of a release. With --rebuild, also rebuilds it; with --url,
    /// audits a server that someone else runs.
    ///
    /// Exit codes: 0, everything matches; 1, something does not match, or a seal or log that this
    /// home signed is missing; 2, a snapshot is missing, or the release cannot be rebuilt here.
    /// With --url: 0, 1, or 30 if the server did not give all proofs, or if no publisher's file
    /// could be compared.
    Verify(verify::VerifyArgs),
    /// Seals the channel's release with the publisher's key and logs it, so that receipts can be
    /// issued for its records.
    Seal(receipts::SealArgs),
    /// Issues the receipt for a record, which proves to anyone with the publisher's verification
    /// key that the record is or is not in the release.
    ///
    /// Exit codes: 0, the receipt is printed, even if it proves that the record is not in the
    /// release; 40, the release has no such dataset; 60, the home does not have the release, or the
    /// release is not sealed and logged.
    Receipt(receipts::ReceiptArgs),
    /// Checks a receipt using only the publisher's verification key. Needs no home and no network.
    ///
    /// The publisher distributes the key, usually as a file named log.key. The publisher's server
    /// also shows the key at /v1/log/key; compare it with a copy obtained elsewhere.
    ///
    /// Exit codes: 0, the receipt is valid, even if it proves that a record is not in the release;
    /// 1, a statement in the receipt is false; 40, the text is no receipt (truncated, or not in the
    /// format of receipts), or the key is not a key; 60, a file cannot be read.
    #[command(args(unused(&["home", "store", "declarations"])))]
    VerifyReceipt(receipts::VerifyReceiptArgs),
    /// Shows how this version treats each file format in a home that was written by another
    /// version. Changes nothing.
    Upgrade,
    /// Follows the feeds of new filings and writes the event log that WS /v1/stream sends.
    Follow(follow::FollowArgs),
    /// Serves the /v1 API from the channel's release.
    Serve(serve::ServeArgs),
    /// Creates, lists and revokes API keys.
    Keys(keys::KeysArgs),
    /// Imports a file that you downloaded because the publisher's site refuses programs. With
    /// --withdraw, removes it again.
    Import(import::ImportArgs),
    /// Records your approval of a server key, a documented layout or a drop in data.
    Accept(accept::AcceptArgs),
    /// Adds a new list, such as a city's permits. Examines the list's file and writes a declaration
    /// and a fixture.
    New(new::NewArgs),
    /// Validates all declarations and contracts without data. With --store, also checks that
    /// several machines can share the store.
    Check,
    /// Prints contracts, and the schemas of the documents that commands print with --json.
    #[command(args(unused(&["home", "store"])))]
    Schema(schema::SchemaArgs),
    /// Shows the settings in force and where each was set. All settings can be set in
    /// HOME/pubdata.toml.
    Settings(settings::SettingsArgs),
    /// Prints a completion script for a shell.
    #[command(args(unused(&["home", "store", "declarations", "json"])))]
    Completions(completions::CompletionsArgs),
    /// Prints the manual page. With --output, writes it and a page for each command to a folder.
    #[command(args(unused(&["home", "store", "declarations", "json"])))]
    Man(man::ManArgs),
}

/// Hides from a command's help the options of [`Global`] that the command accepts but does not use.
fn unused(names: &[&'static str]) -> Vec<Arg> {
    let unused = |name: &&'static str| {
        let arg = Arg::new(*name).long(*name).global(true).hide(true);
        match *name {
            "json" => arg.action(ArgAction::SetTrue),
            "store" => arg,
            _ => arg.value_parser(clap::value_parser!(PathBuf)),
        }
    };
    names.iter().map(unused).collect()
}

/// Runs the program with its command line.
pub fn main() -> ExitCode {
    output_failure::install_panic_hook();
    let cli = match Cli::try_parse()
        .map_err(Refused::Usage)
        .and_then(with_settings)
    {
        Ok(cli) => cli,
        Err(refused) => return refused.print(),
    };
    set_up_tracing(&cli);
    let is_json = cli.global.json;
    match dispatch(cli) {
        Ok(code) => code,
        Err(error) => {
            output::error(&error, is_json);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

/// Reason why a command was not started.
enum Refused {
    Usage(clap::Error),
    Settings(Error, bool),
}

impl Refused {
    fn print(self) -> ExitCode {
        match self {
            Self::Settings(error, is_json) => {
                output::error(&error, is_json);
                ExitCode::from(error.kind().exit_code())
            }
            Self::Usage(error) => {
                if matches!(
                    error.kind(),
                    ClapErrorKind::DisplayHelp | ClapErrorKind::DisplayVersion
                ) {
                    let _ = error.print();
                    return ExitCode::SUCCESS;
                }
                let is_json = std::env::args_os().any(|argument| argument == "--json");
                if is_json {
                    let text = error.render().to_string();
                    let message = text
                        .lines()
                        .map(str::trim)
                        .take_while(|line| !line.starts_with("Usage:"))
                        .filter(|line| !line.is_empty());
                    let message = message.collect::<Vec<_>>().join(" ");
                    let message = message
                        .strip_prefix("error: ")
                        .unwrap_or(&message)
                        .to_owned();
                    output::error(
                        &Error::config(message)
                            .hint("`pubdata --help`, or `pubdata COMMAND --help`"),
                        is_json,
                    );
                } else {
                    output::usage(&error.render().to_string());
                }
                ExitCode::from(ErrorKind::Config.exit_code())
            }
        }
    }
}

/// Parses the command line again, using the defaults from the home's settings file.
fn with_settings(cli: Cli) -> std::result::Result<Cli, Refused> {
    let is_json = cli.global.json;
    let of_file = |error: Error| Refused::Settings(error, is_json);
    let file = SettingsFile::read(&cli.global.home, &Cli::command()).map_err(of_file)?;
    let command = file.applied_to(Cli::command());
    let matches = command.try_get_matches().map_err(|error| {
        let text = error.render().to_string();
        let message = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        of_file(
            Error::config(format!(
                "{}: {message}",
                cli.global.home.join(SETTINGS_FILE).display()
            ))
            .hint("`pubdata settings` shows what is in force"),
        )
    })?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(Refused::Usage)?;
    cli.global.chosen = file.chosen;
    Ok(cli)
}

/// Number of files that the runtime opens. The runtime panics if it cannot open them.
const FILES_OF_RUNTIME: usize = 8;

/// Maximum time to wait for remaining work at exit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let spare = (0..FILES_OF_RUNTIME)
        .map(|_| std::fs::File::open("/dev/null"))
        .collect::<std::io::Result<Vec<_>>>();
    drop(spare.at("start with", &cli.global.home)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let global = &cli.global;
    let runtime = runtime.at("start the runtime for", &global.home)?;
    let outcome = carry_out(&cli, &runtime);
    // A request to an unresponsive disk ends only when the disk responds, and the process does not
    // wait for this.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    outcome
}

fn carry_out(cli: &Cli, runtime: &tokio::runtime::Runtime) -> Result<ExitCode> {
    let global = &cli.global;
    match &cli.command {
        Command::Plan(arguments) => runtime.block_on(run::plan(global, arguments)),
        Command::Probe(arguments) => runtime.block_on(probe::probe(global, arguments)),
        Command::Fetch(arguments) => runtime.block_on(run::fetch(global, arguments)),
        Command::Run(arguments) => runtime.block_on(run::run(global, arguments)),
        Command::Task(arguments) => runtime.block_on(distributed::task(global, arguments)),
        Command::Commit(arguments) => runtime.block_on(distributed::commit(global, arguments)),
        Command::Status(arguments) => runtime.block_on(status::status(global, arguments)),
        Command::Metrics(arguments) => runtime.block_on(metrics::metrics(global, arguments)),
        Command::Releases(arguments) => runtime.block_on(releases::releases(global, arguments)),
        Command::Trace(arguments) => runtime.block_on(trace::trace(global, arguments)),
        Command::Verify(arguments) => runtime.block_on(verify::verify(global, arguments)),
        Command::Seal(arguments) => runtime.block_on(receipts::seal(global, arguments)),
        Command::Receipt(arguments) => runtime.block_on(receipts::receipt(global, arguments)),
        Command::VerifyReceipt(arguments) => receipts::verify_receipt(global, arguments),
        Command::Upgrade => runtime.block_on(upgrade::upgrade(global)),
        Command::Follow(arguments) => runtime.block_on(follow::follow(global, arguments)),
        Command::Serve(arguments) => runtime.block_on(serve::serve(global, arguments)),
        Command::Keys(arguments) => runtime.block_on(keys::keys(global, arguments)),
        Command::Import(arguments) => runtime.block_on(import::import(global, arguments)),
        Command::Accept(arguments) => accept::accept(global, arguments),
        Command::New(arguments) => runtime.block_on(new::new(global, arguments)),
        Command::Check => runtime.block_on(check::check(global)),
        Command::Schema(arguments) => schema::schema(global, arguments),
        Command::Settings(arguments) => settings::settings(global, arguments, &Cli::command()),
        Command::Completions(arguments) => completions::completions(arguments, Cli::command()),
        Command::Man(arguments) => man::man(arguments, Cli::command()),
    }
}

/// Sets up logging to standard error. On a terminal, only warnings are logged by default, because
/// progress is displayed. `PUBDATA_LOG` sets a filter, and `PUBDATA_LOG_FORMAT=json` selects JSON.
/// Messages that a command prints when it ends (`pubdata::told`) are not logged on a terminal,
/// because the user would see them twice.
fn set_up_tracing(cli: &Cli) {
    let is_terminal = terminal::is_watched();
    let default = match &cli.command {
        // A probe's results, including failed requests, are in its table.
        Command::Probe(_) | Command::New(_) => "warn,pubdata_fetch::retry=error",
        // Publishers' files are not kept, and a server's errors are in the report.
        Command::Verify(arguments) if arguments.audit.is_meant().unwrap_or_default() => {
            "warn,pubdata_fetch::retry=error"
        }
        Command::Run(arguments) if arguments.extent.quiet => "error,pubdata::told=off",
        _ if is_terminal => "warn,pubdata::told=off",
        _ => "info",
    };
    let filter = EnvFilter::try_from_env("PUBDATA_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    // The server's address is logged at every level, because the operator needs it.
    let filter = filter.add_directive("pubdata::address=info".parse().expect("a directive"));
    let is_coloured = is_terminal && std::env::var_os("NO_COLOR").is_none();
    // A log that cannot be written, for example on a full disk, must not stop the process.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(progress::progress_writer)
        .with_ansi(is_coloured);
    if std::env::var("PUBDATA_LOG_FORMAT").is_ok_and(|format| format == "json") {
        builder.json().init();
    } else {
        builder
            .fmt_fields(debug_fn(terminal::log_field).delimited(" "))
            .with_target(false)
            .init();
    }
}

/// Parses the date of a flag.
fn day(flag: &str, text: &str) -> Result<Date> {
    let is_written_so = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| {
            if at == 4 || at == 7 {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    let day = text.parse().ok().filter(|_| is_written_so);
    day.ok_or_else(|| {
        Error::config(format!("{flag} {text} is not a date"))
            .hint("write it as YYYY-MM-DD, such as 2026-11-20")
    })
}

impl Global {
    fn files(&self) -> Result<DeclarationFiles> {
        self.declarations.as_deref().map_or_else(
            || Ok(DeclarationFiles::built_in()),
            DeclarationFiles::from_dir,
        )
    }

    fn home(&self) -> Result<Home> {
        Home::open(&self.home)
    }

    fn declarations(&self) -> Result<Declarations> {
        Declarations::load(self.files()?)
    }

    /// Returns the settings for read-only commands. A missing folder is not created unless releases
    /// are stored elsewhere.
    fn reading(&self, channel: &str) -> Result<RunSettings> {
        let declarations = self.declarations()?;
        self.looking()?;
        // Rollbacks, and read-only commands on releases, do not need the acceptances. An unreadable
        // ledger is therefore reported but stops nothing.
        let accepted = |home: &Home| {
            let read = runs::accepted_ids(home, jiff::Timestamp::now());
            Ok(read.unwrap_or_else(|error| {
                let hint = error.hint_text().unwrap_or_default();
                tracing::warn!("the acceptances cannot be read: {error} ({hint})");
                AcceptedIds::default()
            }))
        };
        self.settings_with(declarations, channel, accepted)
    }

    /// Returns the settings for commands that read one release, together with the result of `find`.
    /// Reading the declarations takes as long as reading a release, so both run in parallel. If
    /// both fail, errors in the declarations are returned.
    async fn reading_beside<T: Send + 'static, F>(
        &self,
        channel: &str,
        find: impl FnOnce(Releases) -> F,
    ) -> Result<(RunSettings, T)>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let finding = self
            .looking()
            .map(|(_, releases)| tokio::spawn(find(releases)));
        // Uses a single thread, because `find` takes as long and both compete for the processors of
        // a small machine.
        let alone = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .map_err(|error| Error::store(format!("a thread cannot be started: {error}")))?;
        let settings = alone.install(|| self.reading(channel))?;
        let found = finding?
            .await
            .map_err(|error| Error::store(format!("reading the release was stopped: {error}")))?;
        Ok((settings, found?))
    }

    /// Returns the flags that a printed command needs to refer to the same home. Returns no flags
    /// for values that come from the environment or are defaults.
    fn places(&self) -> String {
        let is_named_elsewhere = std::env::var_os("PUBDATA_HOME")
            .map_or(self.home == Path::new(DEFAULT_HOME), |home| {
                self.home == Path::new(&home)
            });
        let home = if is_named_elsewhere {
            String::new()
        } else {
            format!("--home {} ", self.home.display())
        };
        let declarations = self
            .declarations
            .as_ref()
            .filter(|_| std::env::var_os("PUBDATA_DECLARATIONS").is_none());
        format!(
            "{home}{}",
            declarations.map_or_else(String::new, |folder| format!(
                "--declarations {} ",
                folder.display()
            ))
        )
    }

    /// Opens the home and the releases for reading only.
    fn looking(&self) -> Result<(Home, Releases)> {
        self.needs_home()?;
        let home = self.home()?;
        let releases = Releases::open(&home, self.store.as_deref())?;
        Ok((home, releases))
    }

    /// Returns an error if the home or store does not exist.
    fn needs_home(&self) -> Result<()> {
        if self.store.is_none() && !Home::is_home(&self.home) {
            return Err(self.no_home());
        }
        self.needs_store()
    }

    fn no_home(&self) -> Error {
        let home = self.home.display();
        let message = if self.home.is_dir() {
            format!("{home} is not a pubdata home: it has none of its files")
        } else {
            format!("there is no home at {home}")
        };
        Error::config(message)
            .hint("name the folder with --home or PUBDATA_HOME; `pubdata run` makes one")
    }

    /// Announces that a command is about to create a home, because the folder's name may be
    /// mistyped.
    fn announce_new_home(&self) {
        if !self.json && !Home::is_home(&self.home) {
            output::print_note!(
                "there is no home at {} yet: creating it",
                self.home.display()
            );
        }
    }

    /// Refuses a store in a folder that does not exist, because only commands that write releases
    /// create the folder.
    fn needs_store(&self) -> Result<()> {
        match self.store.as_deref().and_then(SharedStore::missing_folder) {
            None => Ok(()),
            Some(folder) => Err(Error::config(format!("there is no store at {}", folder.display()))
                .hint("name it with --store or PUBDATA_STORE; `pubdata run` and `pubdata plan --write` make one; is its disk mounted?")),
        }
    }

    /// Returns the settings for commands that make releases. Creates the home if it does not exist.
    fn settings(&self, declarations: Declarations, channel: &str) -> Result<RunSettings> {
        self.settings_with(declarations, channel, |home| {
            runs::accepted_ids(home, jiff::Timestamp::now())
        })
    }

    /// Returns the tracer that a server uses to read the home's snapshots. The selection and
    /// acceptances for runs do not apply to the tracer.
    fn tracer(&self, declarations: Declarations, channel: &str) -> Result<HomeTracer> {
        let unchosen = Self {
            chosen: Chosen::default(),
            ..self.clone()
        };
        unchosen
            .settings_with(declarations, channel, |_| Ok(AcceptedIds::default()))
            .map(HomeTracer)
    }

    fn settings_with(
        &self,
        declarations: Declarations,
        channel: &str,
        accepted: impl FnOnce(&Home) -> Result<AcceptedIds>,
    ) -> Result<RunSettings> {
        let home = self.home()?;
        runs::check_chosen(&declarations, &self.chosen, jiff::Timestamp::now())?;
        let accepted = accepted(&home)?;
        Ok(RunSettings {
            releases: Releases::open(&home, self.store.as_deref())?,
            accepted: accepted.losses,
            confirmed: accepted.layouts,
            home,
            declarations,
            fetch: FetchSettings::default(),
            channel: channel.to_owned(),
            selectors: Vec::new(),
            chosen: self.chosen.clone(),
            is_forced: false,
            is_offline: false,
            part_observer: None,
        })
    }
}
