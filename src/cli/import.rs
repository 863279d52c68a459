use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::civil::Date;

use super::{Global, accept, output};
use crate::error::{Error, Result};
use crate::fetch::Outcome;
use crate::run::{self, Import};

const AFTER_HELP: &str = "\
Examples:
  pubdata import license.fl_dbpr ~/Downloads/CONSTRUCTIONLICENSE_1.csv
  pubdata import license.az_roc ~/Downloads/roc.csv --url https://example.org/ROC_Posting-List_2026-11-20.csv --date 2026-11-20
  pubdata import census.acs5_table b01003.dat --key vintage=2023 --key table=b01003

The file passes the checks of a download and becomes the snapshot of that address; the next run reads it, and provenance says that it was
obtained by hand. Of a source that is declared `by_hand` a run asks nobody. Of any other the file stands until the publisher hands out
one that is not older. The ledger keeps who imported it and when.";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ImportArgs {
    /// The source that it is a file of, as in the declaration's `source_id`.
    source_id: String,
    /// The file, unchanged as it was downloaded.
    file: PathBuf,
    /// The address it was downloaded from, where the source has several.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The publisher's date of the file; today when it is not given.
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
    /// The value of a variable in the source's address, where that says which file it is; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    key: Vec<String>,
    /// The channel that the ledger's entry names.
    #[arg(long, default_value = "nightly")]
    channel: String,
}

pub(super) async fn import(global: &Global, arguments: &ImportArgs) -> Result<ExitCode> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| Error::config(format!("--key {text}: write NAME=VALUE")))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    let keys = arguments.key.iter().map(pair).collect::<Result<BTreeMap<_, _>>>()?;
    let date = arguments.date.as_deref().map(|text| text.parse::<Date>().map_err(|error| Error::config(format!("--date {text}: {error}")))).transpose()?;
    let declarations = global.declarations()?;
    if declarations.source(&arguments.source_id).is_none() {
        // Before the home is made: a name typed wrong leaves nothing behind.
        let family = arguments.source_id.split('.').next().unwrap_or_default();
        let sources = declarations.pipelines.values().flat_map(|declaration| &declaration.sources).map(|source| source.source_id.as_str());
        let near: Vec<&str> = sources.filter(|source_id| source_id.starts_with(family)).collect();
        return Err(
            Error::config(format!("no declaration has a source `{}`", arguments.source_id)).hint(format!("sources of that family: {}", near.join(", ")))
        );
    }
    let settings = global.settings(declarations, &arguments.channel)?;
    let import = Import { source_id: arguments.source_id.clone(), file: arguments.file.clone(), url: arguments.url.clone(), date, keys, by: accept::user() };
    let (snapshot, word) = match run::import(&settings, &import).await? {
        Outcome::New(snapshot) => (snapshot, "new"),
        Outcome::Unchanged(snapshot) => (snapshot, "unchanged"),
        Outcome::Absent | Outcome::NotConfigured { .. } => return Err(Error::config("an imported file is there")),
    };
    if global.json {
        output::json(&serde_json::json!({ "outcome": word, "snapshot": snapshot }));
    } else {
        anstream::println!("{} {} of {}, {}", output::coloured(word), snapshot.url, snapshot.source_date, output::size(snapshot.size_bytes));
        anstream::println!("the next run reads it: `pubdata run`");
    }
    Ok(ExitCode::SUCCESS)
}
