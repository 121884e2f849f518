//! Where a definition is written: to standard output, or to a new file.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::args::Target;
use crate::cli::ui::{Ui, plain};

/// Writes a definition outside of any fleet.
///
/// # Errors
/// When the file exists or cannot be written.
pub(super) fn write(target: &Target, text: &str, ui: &Ui) -> anyhow::Result<()> {
    let Some(file) = &target.output else {
        return ui.data(text);
    };
    NewFile::write(file, text)?.keep();
    ui.data(&format!("wrote  {}\n", plain(&file.display().to_string())))
}

/// A file that was not there before, and is removed again unless it is kept.
pub(super) struct NewFile {
    file: PathBuf,
    /// The directories that were made for it, the innermost first.
    directories: Vec<PathBuf>,
    is_kept: bool,
}

impl NewFile {
    /// Writes a file, and makes its directories.
    ///
    /// # Errors
    /// When it exists or cannot be written.
    pub(super) fn write(file: &Path, text: &str) -> anyhow::Result<Self> {
        let cannot = || format!("cannot write {}", file.display());
        let above = file
            .ancestors()
            .skip(1)
            .filter(|above| !above.as_os_str().is_empty());
        let mut new = Self {
            file: file.to_owned(),
            directories: above
                .take_while(|above| !above.exists())
                .map(Path::to_owned)
                .collect(),
            is_kept: true,
        };
        if let Some(innermost) = new.directories.first() {
            fs::create_dir_all(innermost).with_context(cannot)?;
        }
        let mut created = match fs::File::options().write(true).create_new(true).open(file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(file)),
            created => created.with_context(cannot)?,
        };
        new.is_kept = false;
        created.write_all(text.as_bytes()).with_context(cannot)?;
        Ok(new)
    }

    /// Leaves it there.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nothing more can be done about a file that stays.
            let _ = fs::remove_file(&self.file);
            for directory in &self.directories {
                let _ = fs::remove_dir(directory);
            }
        }
    }
}

/// The error for a file that exists.
pub(super) fn exists(file: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{} exists and is not changed; remove it, or choose another file with --output",
        file.display()
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_that_is_not_kept_goes_with_its_directories() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a/b/c.yaml");
        drop(NewFile::write(&file, "x").unwrap());
        assert!(!place.path().join("a").exists());
        NewFile::write(&file, "x").unwrap().keep();
        let error = NewFile::write(&file, "y").err().unwrap();
        assert!(error.to_string().contains("exists and is not changed"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "x");
        drop(NewFile::write(&place.path().join("a/b/d.yaml"), "x").unwrap());
        assert!(file.exists());
    }
}
