//! The files that an identity may name.
//!
//! In: a path. Out: its content, if it is in the directory for such files: whoever may write an identity must not read any
//! other file of this process.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the webhook of workload identity mounts the token of a service account.
const TOKEN: &str = "/var/run/secrets/azure/tokens/azure-identity-token";

/// Where identities find files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The directory with certificates and credentials that identities name; `None` if they may name none.
    pub directory: Option<PathBuf>,
    /// The token of the pod's service account; `None` for where the webhook of workload identity mounts it.
    pub token: Option<PathBuf>,
}

impl Files {
    /// The token of the pod's service account.
    pub(super) fn token(&self) -> PathBuf {
        self.token.clone().unwrap_or_else(|| TOKEN.into())
    }

    /// The content of the file at `path`.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let Some(directory) = &self.directory else {
            return Err(format!(
                "{path} may not be read: set CAPSTAN_AZURE_FILES to the directory with the files that identities name"
            ));
        };
        let found = canonical(Path::new(path))?;
        if !found.starts_with(canonical(directory)?) {
            return Err(format!(
                "{path} may not be read: it is not in {}, where CAPSTAN_AZURE_FILES points",
                directory.display()
            ));
        }
        fs::read(&found).map_err(|error| format!("{path} cannot be read: {error}"))
    }
}

fn canonical(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize()
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_files_of_the_directory_are_read() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [good, other] = [&inside, &outside].map(|dir| dir.path().join("a.pem"));
        fs::write(&good, "good").unwrap();
        fs::write(&other, "other").unwrap();
        let link = inside.path().join("link");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        let files = Files {
            directory: Some(inside.path().to_owned()),
            token: None,
        };
        let read = |path: &Path| files.read(&path.display().to_string());
        assert_eq!(read(&good).unwrap(), b"good");
        for path in [
            &other,
            &link,
            &inside.path().join("../x"),
            &inside.path().join("none"),
        ] {
            assert!(read(path).is_err(), "{}", path.display());
        }
        let error = Files::default().read("/etc/passwd").unwrap_err();
        assert!(error.contains("CAPSTAN_AZURE_FILES"), "{error}");
    }
}
