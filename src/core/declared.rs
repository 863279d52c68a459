//! Holds the declaration files (`pipelines/` and `schemas/`) and findings about them. The files are
//! built into the program or read from a folder. This module does not interpret them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, IoExt, Result};
use crate::ids::Digest;

/// The files below `pipelines/` and `schemas/`, by path with forward slashes. They are either built
/// into the program or read from a folder.
#[derive(Debug, Clone)]
pub struct DeclarationFiles(Arc<BTreeMap<String, Cow<'static, [u8]>>>);

#[derive(rust_embed::RustEmbed)]
#[folder = "../../pipelines"]
struct BuiltInPipelines;

#[derive(rust_embed::RustEmbed)]
#[folder = "../../schemas"]
struct BuiltInSchemas;

impl DeclarationFiles {
    /// Returns the declarations that are built into the program.
    pub fn built_in() -> Self {
        static FILES: LazyLock<DeclarationFiles> = LazyLock::new(|| {
            let files = files::<BuiltInPipelines>("pipelines")
                .into_iter()
                .chain(files::<BuiltInSchemas>("schemas"));
            DeclarationFiles(Arc::new(files.collect()))
        });
        FILES.clone()
    }

    /// Reads declarations from a folder that contains `pipelines/` and `schemas/`.
    ///
    /// # Errors
    /// `Config`, when the folder lacks `pipelines/` or `schemas/`; `Store`, naming the path that
    /// cannot be read.
    pub fn from_dir(root: &Path) -> Result<Self> {
        let missing: Vec<&str> = ["pipelines", "schemas"]
            .into_iter()
            .filter(|folder| !root.join(folder).is_dir())
            .collect();
        if !missing.is_empty() {
            let what = if root.is_dir() {
                format!("has no folder {}/", missing.join("/ and no "))
            } else {
                "is not a folder".to_owned()
            };
            return Err(Error::config(format!("--declarations {}: {what}", root.display()))
                .hint("name a folder that holds pipelines/ and schemas/, such as `pubdata probe --write DIR` makes"));
        }
        let mut files = BTreeMap::new();
        for folder in ["pipelines", "schemas"] {
            collect(&root.join(folder), folder, &mut files)?;
        }
        Ok(Self(Arc::new(files)))
    }

    /// Returns a copy with some files replaced or added, for trying out a change.
    pub fn with(&self, changes: &[(&str, &str)]) -> Self {
        let mut files = (*self.0).clone();
        files.extend(
            changes
                .iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec().into())),
        );
        Self(Arc::new(files))
    }

    /// Returns the TOML files below a folder, in path order. Invalid UTF-8 is replaced, so that the
    /// parser can report the line.
    pub fn toml_below(&self, root: &str) -> Vec<(&str, Cow<'_, str>)> {
        let is_toml = |path: &str| path.starts_with(root) && path.ends_with(".toml");
        self.0
            .iter()
            .filter(|(path, _)| is_toml(path))
            .map(|(path, bytes)| (path.as_str(), String::from_utf8_lossy(bytes)))
            .collect()
    }

    /// Writes all files below a folder, creating the folder if necessary.
    pub fn write_to(&self, root: &Path) -> Result<()> {
        for (name, bytes) in &*self.0 {
            let path = root.join(name);
            let folder = path.parent().unwrap_or(root);
            std::fs::create_dir_all(folder).at("create folder", folder)?;
            std::fs::write(&path, bytes).at("write", &path)?;
        }
        Ok(())
    }

    /// Returns a digest over all files and their paths.
    pub fn digest(&self) -> Digest {
        let mut lines = String::new();
        for (path, bytes) in &*self.0 {
            lines.push_str(&format!("{} {path}\n", Digest::sha256(bytes)));
        }
        Digest::sha256(lines.as_bytes())
    }

    /// Returns the bytes of one file.
    pub fn read(&self, path: &str) -> Option<&[u8]> {
        self.0.get(path).map(AsRef::as_ref)
    }
}

/// An error in a declaration, with its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Path of the file, relative to the declarations folder: `pipelines/census/acs5.toml`.
    pub file: String,
    /// Line number, counted from 1.
    #[schemars(range(min = 1))]
    pub line: usize,
    /// The key as a dotted path.
    pub key: String,
    /// Message that describes the error.
    pub message: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}:{}: {}: {}",
            self.file, self.line, self.key, self.message
        )
    }
}

/// The TOML table that a finding is about.
#[derive(Debug, Clone, Copy)]
pub enum TablePath<'a> {
    /// The top-level keys before the first table.
    Top,
    /// The table `[name]`.
    Table(&'a str),
    /// The n-th `[[name]]` table, counted from 0.
    Nth(&'a str, usize),
}

impl Finding {
    /// Builds a finding at a key of a table, or at the table's own line if the key is missing or
    /// empty. `listing.per` is a key of the nested table `listing`.
    pub fn at(file: &str, text: &str, place: TablePath<'_>, key: &str, message: String) -> Self {
        let (table, header, number) = match place {
            TablePath::Top => ("", String::new(), 0),
            TablePath::Table(name) => (name, format!("[{name}]"), 0),
            TablePath::Nth(name, number) => (name, format!("[[{name}]]"), number),
        };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let start = if table.is_empty() {
            Some(0)
        } else {
            (0..lines.len())
                .filter(|line| lines[*line].starts_with(&header))
                .nth(number)
        }
        .unwrap_or(0);
        let first = start + usize::from(!table.is_empty());
        let line_of = |first: usize, key: &str| {
            let length = lines[first..]
                .iter()
                .take_while(|line| !line.starts_with('['))
                .count();
            (first..first + length).find(|line| key_of(lines[*line]) == Some(key))
        };
        let line_below = || {
            let (inner, key) = key.split_once('.')?;
            let inner = format!("[{}]", dotted(table, inner));
            let mut of_table = (first..lines.len())
                .take_while(|line| table.is_empty() || !lines[*line].starts_with(&header));
            let start = of_table.find(|line| lines[*line].starts_with(&inner))?;
            Some(line_of(start + 1, key).unwrap_or(start))
        };
        // The table may be written inline, on one line.
        let line_of_table = || line_of(first, key.split_once('.')?.0);
        let line = line_of(first, key)
            .or_else(line_below)
            .or_else(line_of_table)
            .unwrap_or(start);
        Self {
            file: file.to_owned(),
            line: line + 1,
            key: dotted(table, key),
            message,
        }
    }

    /// Builds a finding from a syntax or type error reported by the TOML parser.
    pub fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let line = error.span().map_or(0, |span| {
            text[..span.start.min(text.len())].matches('\n').count()
        });
        // If a key is missing at the end of the file, report the last line.
        let line = line.min(lines.len().saturating_sub(1));
        let table = lines
            .iter()
            .take(line + 1)
            .rfind(|line| line.starts_with('['))
            .map_or("", |header| header.trim_matches(['[', ']']));
        let missing = error
            .message()
            .strip_prefix("missing field `")
            .and_then(|rest| rest.split('`').next());
        let key = missing
            .or_else(|| key_of(lines.get(line)?))
            .unwrap_or_default();
        Self {
            file: file.to_owned(),
            line: line + 1,
            key: dotted(table, key),
            message: error.message().to_owned(),
        }
    }
}

/// Returns the key of a line `key = value`, or `"key" = value`.
fn key_of(line: &str) -> Option<&str> {
    let quoted = line.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let (key, _) = quoted.or_else(|| line.split_once('='))?;
    (!key.starts_with(['#', '['])).then(|| key.trim())
}

fn dotted(table: &str, key: &str) -> String {
    [table, key]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(".")
}

/// Converts `pipelines/census/acs5.toml` to `census.acs5`.
pub fn id_of_path(path: &str, root: &str) -> String {
    path.trim_start_matches(root)
        .trim_start_matches('/')
        .trim_end_matches(".toml")
        .replace('/', ".")
}

fn files<E: rust_embed::RustEmbed>(root: &str) -> Vec<(String, Cow<'static, [u8]>)> {
    let read = |path: &str| E::get(path).map(|file| file.data);
    E::iter()
        .filter_map(|path| Some((format!("{root}/{path}"), read(&path)?)))
        .collect()
}

fn collect(
    folder: &Path,
    name: &str,
    files: &mut BTreeMap<String, Cow<'static, [u8]>>,
) -> Result<()> {
    for entry in std::fs::read_dir(folder).at("read folder", folder)? {
        let path = entry.at("read folder", folder)?.path();
        let name = format!(
            "{name}/{}",
            path.file_name().unwrap_or_default().to_string_lossy()
        );
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else {
            files.insert(name, std::fs::read(&path).at("read", &path)?.into());
        }
    }
    Ok(())
}
