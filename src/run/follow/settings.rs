//! Reads the feed declaration: the sources, the polling intervals, and the hour from which a day's
//! index exists.

use std::time::Duration;

use serde::Deserialize;

use pubdata_build::normalise::Zone;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Declaration, Declarations, Source, expand};

/// Pipeline id of the feed declaration.
const PIPELINE: &str = "sec.current_filings";

/// The declaration's `[settings]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    time_zone: String,
    current: RawCurrent,
    xbrl: RawFeed,
    daily_index: RawIndex,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCurrent {
    source_id: String,
    every_seconds: u32,
    page_entries: u32,
    max_pages: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFeed {
    source_id: String,
    every_seconds: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIndex {
    source_id: String,
    every_seconds: u32,
    file: String,
    from_hour: i8,
    look_back_days: u16,
}

/// The feeds as declared.
#[derive(Debug, Clone)]
pub(super) struct Feeds {
    pub(super) zone: Zone,
    /// The feed of current filings, newest first, in pages of a fixed number of entries.
    pub(super) current: Paged,
    pub(super) xbrl: PolledSource,
    pub(super) index: Index,
}

/// A source and its polling interval.
#[derive(Debug, Clone)]
pub(super) struct PolledSource {
    pub(super) source: Source,
    pub(super) every: Duration,
}

#[derive(Debug, Clone)]
pub(super) struct Paged {
    pub(super) polled: PolledSource,
    pub(super) page_entries: u32,
    pub(super) max_pages: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) polled: PolledSource,
    /// Template for the file name, with the variables `year`, `quarter`, `month` and `day`.
    pub(super) file: String,
    /// The hour of the next day, in the publisher's time zone, at which the index becomes
    /// available.
    pub(super) from_hour: i8,
    pub(super) look_back_days: u16,
}

impl Feeds {
    /// Reads the feed declaration.
    ///
    /// # Errors
    /// Returns `Config`, naming what is missing or wrong.
    pub(super) fn from_declarations(declarations: &Declarations) -> Result<Self> {
        let declaration = declarations.pipelines.get(PIPELINE).ok_or_else(|| {
            Error::config(format!("there is no declaration `{PIPELINE}` of feeds"))
        })?;
        Self::read(declaration).map_err(|error| {
            error.context(format!("pipelines/{}.toml", PIPELINE.replace('.', "/")))
        })
    }

    fn read(declaration: &Declaration) -> Result<Self> {
        let raw: Raw = toml::Value::Table(declaration.settings.clone())
            .try_into()
            .map_err(|error: toml::de::Error| {
                Error::config(format!("settings: {}", error.message()))
            })?;
        let polled = |source_id: &str, every_seconds: u32| {
            let source = declaration
                .sources
                .iter()
                .find(|source| source.source_id == source_id);
            let source = source
                .ok_or_else(|| {
                    Error::config(format!("settings: there is no source `{source_id}`"))
                })?
                .clone();
            if every_seconds == 0 {
                return Err(Error::config(format!(
                    "settings: `{source_id}` cannot be asked every 0 seconds"
                )));
            }
            Ok(PolledSource {
                source,
                every: Duration::from_secs(every_seconds.into()),
            })
        };
        let (current, index) = (raw.current, raw.daily_index);
        if current.page_entries == 0 || current.max_pages == 0 {
            return Err(Error::config(
                "settings: pages need entries, and there is at least one page",
            ));
        }
        if !(0..24).contains(&index.from_hour) || index.look_back_days == 0 {
            return Err(Error::config(
                "settings: `from_hour` is an hour of the day, and `look_back_days` is at least 1",
            ));
        }
        let feeds = Self {
            zone: Zone::from_posix_rule(&raw.time_zone)?,
            current: Paged {
                polled: polled(&current.source_id, current.every_seconds)?,
                page_entries: current.page_entries,
                max_pages: current.max_pages,
            },
            xbrl: polled(&raw.xbrl.source_id, raw.xbrl.every_seconds)?,
            index: Index {
                polled: polled(&index.source_id, index.every_seconds)?,
                file: index.file,
                from_hour: index.from_hour,
                look_back_days: index.look_back_days,
            },
        };
        for (what, polled) in [
            ("pages", &feeds.current.polled),
            ("days", &feeds.index.polled),
        ] {
            if polled.source.on_demand.is_none() {
                return Err(Error::config(format!(
                    "settings: `{}` must name the variable of its {what} as `on_demand`",
                    polled.source.source_id
                )));
            }
        }
        feeds.index.file_of(jiff::civil::date(2023, 7, 3))?;
        Ok(feeds)
    }
}

impl Index {
    /// Returns the name of a day's index file.
    ///
    /// # Errors
    /// Returns `Config` if the template has an unknown variable.
    pub(super) fn file_of(&self, day: jiff::civil::Date) -> Result<String> {
        let (year, quarter) = (day.year().to_string(), ((day.month() + 2) / 3).to_string());
        let (month, day) = (format!("{:02}", day.month()), format!("{:02}", day.day()));
        let values = [
            ("year", year),
            ("quarter", quarter),
            ("month", month),
            ("day", day),
        ];
        expand(
            &self.file,
            &values
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}

/// Checks the feed declaration without sending any requests. Declarations without feeds are valid.
///
/// # Errors
/// Returns `Config`, naming what is missing or wrong.
pub fn check(declarations: &Declarations) -> Result<()> {
    if declarations.pipelines.contains_key(PIPELINE) {
        Feeds::from_declarations(declarations).map(|_| ())
    } else {
        Ok(())
    }
}
