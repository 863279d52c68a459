//! Writes the files of a new list to a declaration folder. Existing files are overwritten only if
//! forced.

use std::path::{Path, PathBuf};

use super::place::Place;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::{Error, IoExt, Result};

/// A folder for a new list.
pub(super) struct NewFiles {
    folder: PathBuf,
    declaration: String,
    case: String,
    title: String,
    /// The declarations in the folder, or the built-in declarations if the folder is new.
    pub(super) declared: DeclarationFiles,
    pub(super) is_new: bool,
}

impl NewFiles {
    /// Examines the folder, and refuses it if it already contains the list's files.
    ///
    /// # Errors
    /// Returns `Config` if the folder has no declarations, or already has the list.
    pub(super) fn prepare(folder: &Path, place: &Place, is_forced: bool) -> Result<Self> {
        let is_empty =
            || std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        let is_new = !folder.exists() || is_empty();
        let declared = if is_new {
            DeclarationFiles::built_in()
        } else {
            DeclarationFiles::from_dir(folder)?
        };
        let (declaration, case) = (place.declaration_file(), place.case());
        let there: Vec<&String> = [&declaration, &case]
            .into_iter()
            .filter(|file| declared.read(file).is_some() || folder.join(file).exists())
            .collect();
        if let Some(first) = there.first().filter(|_| !is_forced) {
            let place_of = if is_new {
                (*first).clone()
            } else {
                folder.join(first).display().to_string()
            };
            let built_in = if is_new { " (it is built in)" } else { "" };
            return Err(Error::config(format!(
                "{} already exists: {place_of}{built_in}",
                place.pipeline_id()
            ))
            .hint(format!(
                "--name gives another list of {} its own name; --force overwrites this one",
                place.jurisdiction
            )));
        }
        Ok(Self {
            folder: folder.to_owned(),
            declaration,
            case,
            title: place.name.clone(),
            declared,
            is_new,
        })
    }

    /// Writes the declaration and the fixture. If the folder is new, also writes all built-in
    /// files. Returns the names of the list's own files.
    ///
    /// # Errors
    /// Returns `Store`, naming the file that cannot be written.
    pub(super) fn write(
        &self,
        declaration: &str,
        on_mirror: &str,
        rows: &[u8],
    ) -> Result<Vec<String>> {
        if self.is_new {
            self.declared.write_to(&self.folder)?;
        }
        let source = format!("{}/source", self.case);
        let case = format!(
            "# Permits of {}\n\nThe layout is that of the publisher's file, and so are words of codes, days and amounts. **Synthetic**: numbers, addresses, \
             coordinates and persons of every row. Written by `pubdata new`.\n",
            self.title
        );
        let files: [(String, &[u8]); 4] = [
            (self.declaration.clone(), declaration.as_bytes()),
            (format!("{}/CASE.md", self.case), case.as_bytes()),
            (format!("{source}/.pubdata-mirror"), b"sample = true\n"),
            (format!("{source}/{on_mirror}"), rows),
        ];
        for (name, bytes) in &files {
            let path = self.folder.join(name);
            let parent = path.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(parent).at("create folder", parent)?;
            std::fs::write(&path, bytes).at("write", &path)?;
        }
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }
}
