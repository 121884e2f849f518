//! Whether a payload names the repository that a fleet follows.
//!
//! One repository has many spellings: HTTPS and SSH, with and without `.git`, a host for each, inside and
//! outside of the cluster. Hosts are not compared: who signs with our secret asks for a fetch of ours, and
//! a fetch too many does no harm.

use crate::model::{ForgeKind, RepositoryUrl};

/// How a payload names a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Where it is cloned from.
    Url(String),
    /// `owner/name`.
    Name(String),
}

impl Spelling {
    /// The spelling as it came.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Url(text) | Self::Name(text) => text,
        }
    }
}

/// Whether one of `spellings` is the repository with this [`path`].
pub(super) fn is_named(ours: &str, spellings: &[Spelling]) -> bool {
    spellings.iter().any(|spelling| match spelling {
        Spelling::Url(url) => path(url).as_deref() == Some(ours),
        Spelling::Name(name) => {
            // The server may be below a path of its own.
            let name = name.trim_matches('/').to_lowercase();
            let above = ours.strip_suffix(&name);
            let is_whole = |above: &str| above.is_empty() || above.ends_with('/');
            name.contains('/') && above.is_some_and(is_whole)
        }
    })
}

/// The path of a repository on its server in one spelling, such as `owner/name`; `None` if there is none.
pub(super) fn path(url: &str) -> Option<String> {
    let url = RepositoryUrl::split(url);
    // The two whose addresses have more parts than the names of repositories.
    let mut forges = [ForgeKind::AzureDevOps, ForgeKind::Bitbucket].into_iter();
    let id = forges.find_map(|kind| kind.repository(&url).ok());
    let path = match id {
        Some(id) => id.path.join("/"),
        None => {
            let path = url.segments()?.join("/");
            path.strip_suffix(".git").unwrap_or(&path).to_owned()
        }
    };
    (!path.is_empty()).then(|| path.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The URL table of the forges' facts, as far as it is about names.
    #[test]
    fn a_repository_has_one_path_in_every_spelling() {
        for (urls, expected) in [
            (
                &[
                    "https://github.com/o/r",
                    "https://github.com/O/R.git/",
                    "git@github.com:o/r.git",
                    "ssh://git@github.com:22/o/r",
                    "ssh://git@ssh.github.com:443/o/r.git",
                    "https://my-name@github.com/o/r?x=1",
                ][..],
                "o/r",
            ),
            (
                &[
                    "https://gitlab.com/foo/bar/baz.git",
                    "git@altssh.gitlab.com:foo/bar/baz.git",
                ],
                "foo/bar/baz",
            ),
            (
                &[
                    "https://dev.azure.com/org/My%20Proj/_git/repo",
                    "https://org@dev.azure.com/org/My%20Proj/_git/repo",
                    "https://org.visualstudio.com/My%20Proj/_git/repo",
                    "https://org.visualstudio.com/DefaultCollection/My%20Proj/_git/repo",
                    "git@ssh.dev.azure.com:v3/org/My%20Proj/repo",
                    "org@vs-ssh.visualstudio.com:v3/org/My%20Proj/repo",
                ],
                "org/my proj/repo",
            ),
            (
                &[
                    "https://dev.azure.com/org/_git/repo",
                    "https://org.visualstudio.com/DefaultCollection/_git/repo",
                ],
                "org/repo/repo",
            ),
            (
                &["https://dev.azure.com/org/p/_git/repo.git"],
                "org/p/repo.git",
            ),
            (
                &["https://tfs.example/tfs/Coll/Proj/_git/repo"],
                "coll/proj/repo",
            ),
            (
                &[
                    "https://h:7990/scm/p/r.git",
                    "https://h/ctx/scm/p/r.git",
                    "https://h/scm/scm/p/r.git",
                    "ssh://git@h:7999/p/r.git",
                ],
                "p/r",
            ),
            (
                &[
                    "https://h:7990/scm/~user/r.git",
                    "ssh://git@h:7999/~user/r.git",
                ],
                "~user/r",
            ),
            (
                &["/srv/git/Config.git", "file:///srv/git/config"],
                "srv/git/config",
            ),
            (&["https://h/a+b/c%2Bd", "https://h/a%2Bb/c+d"], "a+b/c+d"),
        ] {
            for url in urls {
                assert_eq!(path(url).as_deref(), Some(expected), "{url}");
            }
        }
        for nothing in ["", "https://", "http:///", "/", "git@h:"] {
            assert_eq!(path(nothing), None, "{nothing}");
        }
        assert_eq!(path("%%").as_deref(), Some("%%"), "no panic");
    }

    #[test]
    fn a_name_is_whole() {
        let name = |name: &str| [Spelling::Name(name.to_owned())];
        assert!(is_named("o/repo", &name("O/Repo")));
        assert!(is_named("sub/o/repo", &name("o/repo")));
        assert!(!is_named("o/repo-2", &name("o/repo")));
        assert!(!is_named("go/repo", &name("o/repo")));
        assert!(!is_named("o/repo", &name("repo")));
        assert!(!is_named("o/repo", &[]));
    }
}
