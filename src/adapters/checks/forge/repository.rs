//! Which repository of which forge an address names, and where its API is.
//!
//! In: an address as people write it, over HTTPS or SSH. Out: a [`Repository`] that builds the URLs of its API. Names
//! are percent-encoded; none of them leaves its part of a path.

use reqwest::Url;

use crate::model::{ForgeKind, Form, RepositoryId, RepositoryUrl, is_loopback};

/// A repository and its API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Which one it is.
    pub id: RepositoryId,
    /// Where the API begins.
    root: Url,
    /// From there to what belongs to the repository.
    base: Vec<String>,
}

impl Repository {
    /// The repository that an address names, and its API.
    ///
    /// # Errors
    /// When the forge has no such addresses, or the address does not say where the API is.
    pub fn of(kind: ForgeKind, address: &str) -> Result<Self, String> {
        let url = accepted(address)?;
        let id = kind.repository(&url)?;
        let api = kind.api(&url)?;
        let mut root = Url::parse(&api.server).map_err(|cause| cause.to_string())?;
        if let Ok(mut path) = root.path_segments_mut() {
            path.pop_if_empty().extend(api.root);
        }
        let base = api.base;
        Ok(Self { id, root, base })
    }

    /// The same with another address of its API.
    #[must_use]
    pub fn with_api(self, root: Url) -> Self {
        Self { root, ..self }
    }

    /// A URL below the repository, of unescaped parts.
    #[must_use]
    pub fn url(&self, parts: &[&str]) -> Url {
        let base = self.base.iter().map(String::as_str);
        self.rooted(&base.chain(parts.iter().copied()).collect::<Vec<_>>())
    }

    /// A URL below the root of the API, of unescaped parts.
    #[must_use]
    pub fn rooted(&self, parts: &[&str]) -> Url {
        let mut url = self.root.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url
    }

    /// A web page of the repository on GitHub or Gitea, of unescaped parts: their APIs are below the path `/api/v…` of the
    /// server, or on a host of their own before whose name is `api.`.
    #[must_use]
    pub fn page(&self, parts: &[&str]) -> Url {
        let mut url = self.root.clone();
        if url.host_str() == Some(&format!("api.{}", self.id.host)) {
            // It was a host with `api.` before it.
            let _ = url.set_host(Some(&self.id.host));
        }
        let api = url
            .path_segments()
            .map_or(0, |path| match path.collect::<Vec<_>>()[..] {
                [.., "api", _] => 2,
                [.., "api", _, ""] => 3,
                _ => 0,
            });
        if let Ok(mut path) = url.path_segments_mut() {
            for _ in 0..api {
                path.pop();
            }
            path.pop_if_empty().extend(&self.id.path).extend(parts);
        }
        url
    }
}

/// For logs and messages.
impl std::fmt::Display for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.id.host, self.id.path.join("/"))
    }
}

/// The parts of an address of a server to which checks and tokens may be sent.
fn accepted(address: &str) -> Result<RepositoryUrl<'_>, String> {
    let url = RepositoryUrl::split(address);
    match url.form {
        Form::Scheme("https" | "http" | "ssh") | Form::Scp => {}
        Form::Scheme(_) => return Err("it is not an https:// or ssh:// address".to_owned()),
        Form::Path => return Err("it is not the address of a server".to_owned()),
    }
    let is_option = |text: &str| text.starts_with('-');
    if is_option(url.host) || url.user.is_some_and(is_option) {
        return Err("it has no host".to_owned());
    }
    if url.form == Form::Scheme("http") && !is_loopback(url.host) {
        return Err("http:// is not encrypted; use https://".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUB: ForgeKind = ForgeKind::GitHub;
    const ADO: ForgeKind = ForgeKind::AzureDevOps;
    const LAB: ForgeKind = ForgeKind::GitLab;
    const TEA: ForgeKind = ForgeKind::Gitea;
    const CLOUD: ForgeKind = ForgeKind::Bitbucket;
    const DC: ForgeKind = ForgeKind::Bitbucket;

    #[test]
    fn other_addresses_are_errors() {
        for (kind, address) in [
            (HUB, "https://github.com/o/r/x"),
            (HUB, "https://github.com/o"),
            (HUB, "https://-user@github.com/o/r"),
            (HUB, "-user@github.com:o/r"),
            (HUB, "https://github.com/o/%2e%2e"),
            (HUB, "http://github.com/o/r"),
            (HUB, "/srv/git/r"),
            (HUB, "file:///srv/git/r"),
            (HUB, ""),
            (HUB, "%%"),
            (HUB, "https://"),
            (HUB, "http:///a"),
            (HUB, "https://github.com/o/%zz"),
            (LAB, "https://gitlab.com/foo"),
            (ADO, "https://dev.azure.com/org/Proj/repo"),
            (DC, "https://h:7990/p/r.git"),
            (DC, "ssh://git@h:7999/p/r.git"),
            (DC, "https://h:7990/scm/p/q/r.git"),
        ] {
            assert!(Repository::of(kind, address).is_err(), "{address}");
        }
    }

    #[test]
    fn the_api_is_where_the_forge_has_it() {
        for (kind, address, expected) in [
            (
                HUB,
                "git@github.com:o/r.git",
                "https://api.github.com/repos/o/r/x",
            ),
            (
                HUB,
                "https://foobar.com/foo/bar",
                "https://foobar.com/api/v3/repos/foo/bar/x",
            ),
            (
                HUB,
                "https://a.ghe.com/o/r",
                "https://api.a.ghe.com/repos/o/r/x",
            ),
            (
                LAB,
                "https://gitlab.com/foo/bar/baz.git",
                "https://gitlab.com/api/v4/projects/foo%2Fbar%2Fbaz/x",
            ),
            (
                ADO,
                "https://u@dev.azure.com/org/My%20Proj/_git/repo",
                "https://dev.azure.com/org/My%20Proj/_apis/git/repositories/repo/x",
            ),
            (
                ADO,
                "git@ssh.dev.azure.com:v3/org/P/repo",
                "https://dev.azure.com/org/P/_apis/git/repositories/repo/x",
            ),
            (
                ADO,
                "org@vs-ssh.visualstudio.com:v3/org/P/repo",
                "https://dev.azure.com/org/P/_apis/git/repositories/repo/x",
            ),
            (
                ADO,
                "https://org.visualstudio.com/P/_git/repo",
                "https://org.visualstudio.com/P/_apis/git/repositories/repo/x",
            ),
            (
                ADO,
                "https://tfs.example/tfs/Coll/P/_git/repo",
                "https://tfs.example/tfs/Coll/P/_apis/git/repositories/repo/x",
            ),
            (
                ADO,
                "https://tfs.example/Coll/_git/repo",
                "https://tfs.example/Coll/repo/_apis/git/repositories/repo/x",
            ),
            (
                CLOUD,
                "https://bitbucket.org/ws/r",
                "https://api.bitbucket.org/2.0/repositories/ws/r/x",
            ),
            (
                DC,
                "https://h:7990/ctx/scm/p/r.git",
                "https://h:7990/ctx/rest/api/latest/projects/p/repos/r/x",
            ),
            (
                DC,
                "https://h:7990/scm/~user/r.git",
                "https://h:7990/rest/api/latest/projects/~user/repos/r/x",
            ),
            (
                TEA,
                "https://git.example/sub/o/r.git",
                "https://git.example/sub/api/v1/repos/o/r/x",
            ),
            (
                TEA,
                "git@git.example:o/r.git",
                "https://git.example/api/v1/repos/o/r/x",
            ),
            (
                TEA,
                "http://127.0.0.1:3000/o/r",
                "http://127.0.0.1:3000/api/v1/repos/o/r/x",
            ),
        ] {
            let repository = Repository::of(kind, address).expect(address);
            assert_eq!(repository.url(&["x"]).as_str(), expected, "{address}");
        }
        for (kind, address, expected) in [
            (HUB, "git@github.com:o/r", "https://github.com/o/r/x/7"),
            (HUB, "https://a.ghe.com/o/r", "https://a.ghe.com/o/r/x/7"),
            (
                HUB,
                "https://foobar.com/foo/bar",
                "https://foobar.com/foo/bar/x/7",
            ),
            (TEA, "git@h:o/r.git", "https://h/o/r/x/7"),
            (
                TEA,
                "https://h:3000/sub/o/r.git",
                "https://h:3000/sub/o/r/x/7",
            ),
            (
                TEA,
                "https://api.h/api/v1/o/r",
                "https://api.h/api/v1/o/r/x/7",
            ),
        ] {
            let repository = Repository::of(kind, address).expect(address);
            assert_eq!(repository.page(&["x", "7"]).as_str(), expected, "{address}");
        }
        let api = Url::parse("https://ghe.corp:8443/api/v3/").expect("a URL");
        let repository = Repository::of(HUB, "git@ghe.corp:o/r").expect("an address");
        let page = repository.with_api(api).page(&["x"]);
        assert_eq!(page.as_str(), "https://ghe.corp:8443/o/r/x");
        let repository = Repository::of(HUB, "git@github.com:o/r").expect("an address");
        let url = repository.url(&["commits", "a/b%c d"]);
        assert_eq!(url.path(), "/repos/o/r/commits/a%2Fb%25c%20d");
        assert_eq!(repository.to_string(), "github.com/o/r");
    }
}
