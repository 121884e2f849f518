//! The files that an identity may name.
//!
//! In: a path, and the namespace of the identity. Out: its content, if it is in the directory for such files of that namespace:
//! whoever may write an identity must not read any other file of this process, nor that of another team.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Where the webhook of workload identity mounts the token of a service account.
const TOKEN: &str = "/var/run/secrets/azure/tokens/azure-identity-token";

/// Where identities find files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The directory with certificates and credentials that identities name, in a directory for each namespace; `None` if
    /// they may name none.
    pub directory: Option<PathBuf>,
    /// The token of the pod's service account; `None` for where the webhook of workload identity mounts it.
    pub token: Option<PathBuf>,
}

impl Files {
    /// The token of the pod's service account.
    pub(super) fn token(&self) -> PathBuf {
        self.token.clone().unwrap_or_else(|| TOKEN.into())
    }

    /// The content of the file at `path`, for an identity in `namespace`. A refusal does not tell whether there is such a file.
    pub(super) fn read(&self, path: &str, namespace: &str) -> Result<Vec<u8>, String> {
        let Some(directory) = &self.directory else {
            return Err(format!(
                "{path} may not be read: set CAPSTAN_AZURE_FILES to the directory with the files that identities name"
            ));
        };
        let own = directory.join(namespace);
        content(Path::new(path), &own, namespace).ok_or_else(|| {
            format!(
                "{path} cannot be read: identities in the namespace {namespace} read files below {} only, which CAPSTAN_AZURE_FILES and the namespace name",
                own.display()
            )
        })
    }
}

/// The content of a file that is in `own`, the directory of a namespace.
fn content(path: &Path, own: &Path, namespace: &str) -> Option<Vec<u8>> {
    let mut parts = Path::new(namespace).components();
    let is_name = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    let found = path.canonicalize().ok()?;
    let is_inside = is_name && found.starts_with(own.canonicalize().ok()?);
    is_inside.then(|| fs::read(&found).ok())?
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn issue_15_only_files_of_the_namespace_are_read() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |directory: &Path, namespace: &str| {
            fs::create_dir(directory.join(namespace)).unwrap();
            let path = directory.join(namespace).join("a.pem");
            fs::write(&path, namespace).unwrap();
            path
        };
        let good = file(inside.path(), "a");
        let others = file(inside.path(), "b");
        let other = file(outside.path(), "a");
        let shared = inside.path().join("shared.pem");
        fs::write(&shared, "shared").unwrap();
        let links = [("out", &other), ("over", &others)].map(|(name, to)| {
            let link = inside.path().join("a").join(name);
            std::os::unix::fs::symlink(to, &link).unwrap();
            link
        });
        let files = Files {
            directory: Some(inside.path().to_owned()),
            token: None,
        };
        let read = |path: &Path| files.read(&path.display().to_string(), "a");
        assert_eq!(read(&good).unwrap(), b"a");
        let none = inside.path().join("a/none");
        let up = inside.path().join("a/../b/a.pem");
        for path in [&others, &other, &shared, &links[0], &links[1], &none, &up] {
            let path = path.display().to_string();
            let error = files.read(&path, "a").unwrap_err();
            let expected = format!("{path} cannot be read: identities in the namespace a ");
            assert!(error.starts_with(&expected), "{error}");
        }
        for namespace in ["", ".", "..", "a/../b", "a/b"] {
            let path = others.display().to_string();
            assert!(files.read(&path, namespace).is_err(), "{namespace}");
        }
        let error = Files::default().read("/etc/passwd", "a").unwrap_err();
        assert!(error.contains("CAPSTAN_AZURE_FILES"), "{error}");
    }
}
