//! Reads the operator's settings. `pubdata.toml` in the home has keys for every flag and for the
//! selection of pipelines for runs. The order of precedence is command line, environment, file,
//! defaults. `pubdata settings` shows the settings in force.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, Args, Command};
use schemars::JsonSchema;
use serde::Serialize;
use toml::{Table, Value};

use super::{Global, output};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::pipeline::nearest;
use pubdata_run::{self as run, Chosen};
use pubdata_store::{SETTINGS_FILE, open_file};

/// Flags that apply to a single command and cannot be set in the file.
const PER_COMMAND_FLAGS: [&str; 17] = [
    "test-message",
    "home",
    "help",
    "version",
    "force",
    "accept",
    "withdraw",
    "until",
    "dry-run",
    "list",
    "to",
    "write",
    "rebuild",
    "output",
    "location",
    "url",
    "seed",
];

/// Keys that are not flags: the selection of the tasks that run and the tasks that may fail.
const CHOSEN: [&str; 3] = ["pipelines", "disabled", "optional"];

/// Flags whose values may be secrets and are therefore not printed.
const SECRET: [&str; 4] = ["webhook", "heartbeat", "openlineage_url", "api_key"];

const AFTER_HELP: &str = "\
HOME/pubdata.toml, an example:

  pipelines = [\"census\", \"sec\", \"permit.*\"]   # what runs every night; default: everything
  disabled = [\"permit.nashville\"]               # exceptions from `pipelines`
  optional = [\"license.az_roc\"]                 # do not affect the exit code if missing or late
  contact = \"data@example.org\"                  # a flag of several commands, for all of them

  [run]
  quiet = true                                 # a flag of one command

  [serve]
  bind = \"127.0.0.1:9000\"

Every long flag has a key, with `_` for `-`. Relative paths are relative to the home. A flag overrides \
the environment, which overrides the file, which overrides the default.";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct SettingsArgs {
    /// Also shows defaults.
    #[arg(long)]
    all: bool,
}

/// The settings file, checked against the existing flags.
#[derive(Debug, Clone, Default)]
pub(super) struct SettingsFile {
    path: PathBuf,
    table: Table,
    pub(super) chosen: Chosen,
}

/// The settings in force: `pubdata settings`.
#[derive(Serialize, JsonSchema)]
pub(super) struct SettingsReport<'a> {
    /// Path of the settings file, which may not exist.
    file: &'a Path,
    /// Settings in force, and where each was set. Defaults are included only with `--all`.
    settings: &'a [Setting],
}

/// One setting in force.
#[derive(Debug, Serialize, JsonSchema)]
struct Setting {
    /// The command to which the flag belongs, such as `serve`; null if all commands accept it.
    command: Option<String>,
    /// Origin of the value.
    #[schemars(extend("enum" = ["file", "environment", "default"]))]
    from: &'static str,
    /// The setting's key in the file.
    name: String,
    /// The setting's value as text, or `(set)` if the value may be a secret; null if nothing is
    /// set.
    value: Option<String>,
    /// The environment variable for the setting; null if it has none.
    variable: Option<String>,
}

impl SettingsFile {
    /// Reads the settings file of a home. A missing file sets nothing.
    ///
    /// # Errors
    /// Returns `Config` if the home is not a folder, or if the file is invalid TOML or has an
    /// unknown key; the error then names the file and the key. Returns `Store` if the file cannot
    /// be read.
    pub(super) fn read(home: &Path, command: &Command) -> Result<Self> {
        if home.exists() && !home.is_dir() {
            return Err(Error::config(format!(
                "--home {}: it is a file, and a home is a folder",
                home.display()
            ))
            .hint("name the folder with --home or PUBDATA_HOME"));
        }
        let path = home.join(SETTINGS_FILE);
        let text = match open_file(&path).and_then(std::io::read_to_string) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    ..Self::default()
                });
            }
            text => text.at("read", &path)?,
        };
        let wrong = |error: String| {
            Error::config(format!("{}: {}", path.display(), error.trim()))
                .hint("`pubdata settings --help` shows an example")
        };
        let table: Table =
            toml::from_str(&text).map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let chosen = table
            .iter()
            .filter(|(key, _)| CHOSEN.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Table>();
        let chosen = chosen_of(chosen).map_err(wrong)?;
        let file = Self {
            path: path.clone(),
            table,
            chosen,
        };
        file.check(command).map_err(wrong)?;
        Ok(file)
    }

    /// Uses the values in the file as defaults for the flags.
    pub(super) fn applied_to(&self, command: Command) -> Command {
        let root = self.path.parent().unwrap_or(Path::new("")).to_owned();
        with_defaults(command, &[&self.table], &root)
    }

    fn check(&self, command: &Command) -> std::result::Result<(), String> {
        let mut known: Vec<String> = CHOSEN.iter().map(|key| (*key).to_owned()).collect();
        known.extend(keys_of(command));
        for sub in command.get_subcommands() {
            known.extend(keys_of(sub));
            known.extend(sub.get_subcommands().flat_map(keys_of));
        }
        for (key, value) in &self.table {
            match (command.find_subcommand(key), value) {
                (Some(sub), Value::Table(table)) => check_table(sub, table, key)?,
                (None, Value::Table(_)) => {
                    return Err(unknown(
                        key,
                        "as a table",
                        command
                            .get_subcommands()
                            .map(|sub| sub.get_name().to_owned())
                            .collect(),
                    ));
                }
                _ if known.contains(key) => {}
                _ => return Err(unknown(key, "that is a setting", known)),
            }
        }
        Ok(())
    }
}

fn chosen_of(table: Table) -> std::result::Result<Chosen, String> {
    table.try_into().map_err(|error: toml::de::Error| {
        format!(
            "`pipelines`, `disabled` and `optional` are lists of names: {}",
            error.message()
        )
    })
}

fn unknown(key: &str, what: &str, known: Vec<String>) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest(key, &known)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    format!("there is no `{key}` {what}{near}")
}

fn check_table(command: &Command, table: &Table, place: &str) -> std::result::Result<(), String> {
    let known: Vec<String> = keys_of(command).collect();
    for (key, value) in table {
        match (command.find_subcommand(key), value) {
            (Some(sub), Value::Table(table)) => check_table(sub, table, &format!("{place}.{key}"))?,
            _ if known.contains(key) && !matches!(value, Value::Table(_)) => {}
            _ => return Err(unknown(key, &format!("in [{place}]"), known)),
        }
    }
    Ok(())
}

fn key_of(arg: &Arg) -> Option<String> {
    arg.get_long()
        .filter(|long| !PER_COMMAND_FLAGS.contains(long))
        .map(|long| long.replace('-', "_"))
}

fn keys_of(command: &Command) -> impl Iterator<Item = String> {
    command.get_arguments().filter_map(key_of)
}

/// Sets the defaults of a command and its subcommands. If several tables contain a key, the last
/// one takes precedence.
fn with_defaults(mut command: Command, tables: &[&Table], root: &Path) -> Command {
    let settings: Vec<(String, Vec<String>)> = command
        .get_arguments()
        .filter_map(|arg| {
            let key = key_of(arg)?;
            let value = tables.iter().rev().find_map(|table| table.get(&key))?;
            Some((arg.get_id().to_string(), values(arg, value, root)))
        })
        .collect();
    for (id, values) in settings {
        command = command.mut_arg(id, |arg| arg.required(false).default_values(values));
    }
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        let own = tables
            .iter()
            .rev()
            .find_map(|table| table.get(&name))
            .and_then(Value::as_table);
        let below: Vec<&Table> = tables.iter().copied().chain(own).collect();
        command = command.mut_subcommand(&name, |sub| with_defaults(sub, &below, root));
    }
    command
}

fn values(arg: &Arg, value: &Value, root: &Path) -> Vec<String> {
    let texts: Vec<String> = match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => vec![text(value)],
    };
    let is_path = arg.get_value_names().is_some_and(|names| {
        names
            .iter()
            .any(|name| name.contains("DIR") || name.contains("FILE"))
    });
    texts
        .into_iter()
        .map(|text| {
            if is_path && !text.contains("://") {
                root.join(text).display().to_string()
            } else {
                text
            }
        })
        .collect()
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Prints the settings in force, and where each was set.
pub(super) fn settings(
    global: &Global,
    arguments: &SettingsArgs,
    command: &Command,
) -> Result<ExitCode> {
    let file = SettingsFile::read(&global.home, command)?;
    run::check_chosen(
        &global.declarations()?,
        &file.chosen,
        jiff::Timestamp::now(),
    )?;
    let mut settings = Vec::new();
    let lists: BTreeMap<&str, &Vec<String>> = [
        ("pipelines", &file.chosen.pipelines),
        ("disabled", &file.chosen.disabled),
        ("optional", &file.chosen.optional),
    ]
    .into();
    for (name, list) in lists {
        let from = if list.is_empty() { "default" } else { "file" };
        let value = (!list.is_empty()).then(|| list.join(", "));
        settings.push(Setting {
            command: None,
            name: name.to_owned(),
            value,
            from,
            variable: None,
        });
    }
    collect(command, None, &file, &[&file.table], &mut settings);
    settings.retain(|setting| {
        arguments.all || setting.from != "default" || CHOSEN.contains(&setting.name.as_str())
    });
    if global.json {
        output::document(&SettingsReport {
            file: &file.path,
            settings: &settings,
        });
        return Ok(ExitCode::SUCCESS);
    }
    let is_there = if file.path.is_file() {
        ""
    } else {
        " (missing)"
    };
    output::print_line!("{}{is_there}", file.path.display());
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned).to_vec()];
    for setting in settings {
        let name = setting.command.map_or_else(
            || setting.name.clone(),
            |command| format!("[{command}] {}", setting.name),
        );
        let from = match setting.from {
            "environment" => setting.variable.unwrap_or_default(),
            from => from.to_owned(),
        };
        let nothing = if setting.name == "pipelines" {
            "everything"
        } else {
            "none"
        };
        rows.push(vec![
            name,
            setting.value.unwrap_or_else(|| nothing.to_owned()),
            from,
        ]);
    }
    output::table(&rows);
    Ok(ExitCode::SUCCESS)
}

fn collect(
    command: &Command,
    name: Option<&str>,
    file: &SettingsFile,
    tables: &[&Table],
    settings: &mut Vec<Setting>,
) {
    let root = file.path.parent().unwrap_or(Path::new(""));
    for arg in command.get_arguments() {
        let Some(key) = key_of(arg).filter(|_| name.is_none() || !arg.is_global_set()) else {
            continue;
        };
        let variable = arg
            .get_env()
            .map(|variable| variable.to_string_lossy().into_owned());
        let in_environment = variable
            .as_ref()
            .and_then(|variable| std::env::var(variable).ok());
        let in_file = tables
            .iter()
            .rev()
            .find_map(|table| table.get(&key))
            .map(|value| values(arg, value, root).join(", "));
        let default: Vec<String> = arg
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy().into_owned())
            .collect();
        let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
        let default = if is_flag {
            Some("false".to_owned())
        } else {
            (!default.is_empty()).then(|| default.join(", "))
        };
        let (value, from) = match (in_environment, in_file) {
            (Some(value), _) => (Some(value), "environment"),
            (None, Some(value)) => (Some(value), "file"),
            (None, None) => (default, "default"),
        };
        let is_secret = SECRET.contains(&key.as_str());
        let value = value.map(|value| if is_secret { "(set)".to_owned() } else { value });
        settings.push(Setting {
            command: name.map(str::to_owned),
            name: key,
            value,
            from,
            variable,
        });
    }
    for sub in command.get_subcommands() {
        let path = name.map_or_else(
            || sub.get_name().to_owned(),
            |name| format!("{name}.{}", sub.get_name()),
        );
        let own = tables
            .iter()
            .rev()
            .find_map(|table| table.get(sub.get_name()))
            .and_then(Value::as_table);
        let below: Vec<&Table> = tables.iter().copied().chain(own).collect();
        collect(sub, Some(&path), file, &below, settings);
    }
}
