//! The kinds of forges, and the shapes of their URLs (forges.md §10).
//!
//! In: an address as people write it, over HTTPS or SSH. Out: which repository it names, and where the API of that is.

use super::RepositoryUrl;

/// The kinds of forges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForgeKind {
    /// github.com, Enterprise Cloud and Enterprise Server.
    GitHub,
    /// gitlab.com and self-managed.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
    /// Azure DevOps Services and Server.
    AzureDevOps,
    /// bitbucket.org, and Bitbucket Data Center on any other host.
    Bitbucket,
}

/// A repository as all of its addresses name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryId {
    /// In lower case, without a port.
    pub host: String,
    /// Owner and name; all groups at GitLab; organization, project and name at Azure DevOps.
    pub path: Vec<String>,
}

/// The address of the API of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiUrl {
    /// Such as `https://host:port`.
    pub server: String,
    /// The path of the API, unescaped.
    pub root: Vec<String>,
    /// From there to what belongs to the repository, unescaped.
    pub base: Vec<String>,
}

const AZURE_DEVOPS: &str = "dev.azure.com";
const BITBUCKET: &str = "bitbucket.org";

impl ForgeKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::GitHub,
        Self::GitLab,
        Self::Gitea,
        Self::AzureDevOps,
        Self::Bitbucket,
    ];

    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Gitea => "Gitea",
            Self::AzureDevOps => "AzureDevOps",
            Self::Bitbucket => "Bitbucket",
        }
    }

    /// Returns true if the daemon can open pull requests there.
    #[must_use]
    pub const fn opens_pull_requests(self) -> bool {
        matches!(self, Self::GitHub | Self::Gitea)
    }

    /// Words in the names of its hosts.
    const fn host_words(self) -> &'static [&'static str] {
        match self {
            Self::GitHub => &["github"],
            Self::GitLab => &["gitlab"],
            Self::Gitea => &["gitea", "forgejo", "codeberg.org"],
            Self::AzureDevOps => &[AZURE_DEVOPS, "visualstudio.com"],
            Self::Bitbucket => &["bitbucket"],
        }
    }

    /// The forge that an address probably names, judged by its host.
    #[must_use]
    pub fn guess(url: &RepositoryUrl<'_>) -> Option<Self> {
        if url.is_local() {
            return None;
        }
        let host = url.host.to_lowercase();
        let is_in_host = |word: &&str| host.contains(word);
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.host_words().iter().any(is_in_host))
    }

    /// The repository that an address names.
    ///
    /// # Errors
    /// When the forge has no such addresses.
    pub fn repository(self, url: &RepositoryUrl<'_>) -> Result<RepositoryId, String> {
        let host = url.host_name().ok_or("it has no host")?;
        let path = url.segments().ok_or("its % escapes are invalid")?;
        if path.iter().any(|part| matches!(part.as_str(), "." | "..")) {
            return Err("its path leaves the server".to_owned());
        }
        if self == Self::AzureDevOps {
            return azure_devops(&host, &path);
        }
        let host = web_host(&host).to_owned();
        let above = match self {
            // The last `/scm/` ends what the server is under.
            Self::Bitbucket if url.is_web() && host != BITBUCKET => {
                let scm = path.iter().rposition(|part| part == "scm");
                scm.ok_or("an address of Bitbucket Data Center contains /scm/")? + 1
            }
            Self::Gitea if url.is_web() => path.len().saturating_sub(2),
            _ => 0,
        };
        let mut path = path[above..].to_vec();
        if let Some(name) = path.last_mut() {
            *name = name.strip_suffix(".git").unwrap_or(name).to_owned();
        }
        let fits = match self {
            Self::GitLab => path.len() >= 2,
            _ => path.len() == 2,
        };
        if !fits || path.iter().any(String::is_empty) {
            return Err(format!("it has {} parts, not owner and name", path.len()));
        }
        Ok(RepositoryId { host, path })
    }

    /// Finds the API of the repository at an address.
    ///
    /// # Errors
    /// When the forge has no such addresses, or the address does not say where the API is.
    pub fn api(self, url: &RepositoryUrl<'_>) -> Result<ApiUrl, String> {
        let id = self.repository(url)?;
        let (host, root) = self.api_root(url, &id)?;
        let server = url.server_on(&host).ok_or("its port is not a number")?;
        let base = self.api_base(&id);
        Ok(ApiUrl { server, root, base })
    }

    /// The host of the API, and the path of the API on it.
    fn api_root(
        self,
        url: &RepositoryUrl<'_>,
        id: &RepositoryId,
    ) -> Result<(String, Vec<String>), String> {
        let written = url.host_name().filter(|_| url.is_web());
        let own = written.as_ref().unwrap_or(&id.host).clone();
        let segments = url.segments().unwrap_or_default();
        // The server may be below a path of its own.
        let below = |count: usize, api: &[&str]| {
            let above = &segments[..segments.len().saturating_sub(count)];
            [above, &words(api)].concat()
        };
        let account = written.filter(|host| host.ends_with(".visualstudio.com"));
        Ok(match self {
            Self::GitHub if id.host == "github.com" || id.host.ends_with(".ghe.com") => {
                let host = id.host.trim_start_matches("api.");
                (format!("api.{host}"), vec![])
            }
            Self::GitHub => (own, words(&["api", "v3"])),
            Self::GitLab => (own, words(&["api", "v4"])),
            Self::Gitea if url.is_web() => (own, below(2, &["api", "v1"])),
            Self::Gitea => (own, words(&["api", "v1"])),
            Self::AzureDevOps => match (account, id.path.first()) {
                (Some(account), _) => (account, vec![]),
                (None, Some(account)) if id.host == AZURE_DEVOPS => {
                    (id.host.clone(), vec![account.clone()])
                }
                _ if segments.len() == 3 => (own, below(2, &[])),
                _ => (own, below(3, &[])),
            },
            Self::Bitbucket if id.is_on_bitbucket_cloud() => {
                (format!("api.{BITBUCKET}"), words(&["2.0"]))
            }
            Self::Bitbucket if url.is_web() => (own, below(3, &["rest"])),
            Self::Bitbucket => {
                return Err("an SSH address does not say where the API of Bitbucket Data Center is; write the https:// address".to_owned());
            }
        })
    }

    /// From the path of the API to what belongs to the repository.
    fn api_base(self, id: &RepositoryId) -> Vec<String> {
        let path: Vec<&str> = id.path.iter().map(String::as_str).collect();
        match (self, path.as_slice()) {
            (Self::GitLab, path) => words(&["projects", &path.join("/")]),
            (Self::AzureDevOps, [_, project, name]) => {
                words(&[project, "_apis", "git", "repositories", name])
            }
            (Self::Bitbucket, path) if id.is_on_bitbucket_cloud() => {
                words(&[&["repositories"], path].concat())
            }
            (Self::Bitbucket, [project, name]) => {
                words(&["api", "latest", "projects", project, "repos", name])
            }
            (_, path) => words(&[&["repos"], path].concat()),
        }
    }

    /// The web address of the repository `path` on a server.
    #[must_use]
    pub fn web_address(self, server: &str, path: &str) -> String {
        match (self, path.rsplit_once('/')) {
            (Self::AzureDevOps, Some((project, name))) => format!("{server}/{project}/_git/{name}"),
            (Self::Bitbucket, _) if !server.ends_with("://bitbucket.org") => {
                format!("{server}/scm/{path}")
            }
            _ => format!("{server}/{path}"),
        }
    }
}

impl RepositoryId {
    /// Returns true if it is on bitbucket.org, which is another product than Bitbucket Data Center.
    #[must_use]
    pub fn is_on_bitbucket_cloud(&self) -> bool {
        self.host == BITBUCKET
    }
}

/// The host behind one that serves SSH on port 443.
fn web_host(host: &str) -> &str {
    match host {
        "ssh.github.com" => "github.com",
        "altssh.gitlab.com" => "gitlab.com",
        "altssh.bitbucket.org" => BITBUCKET,
        host => host,
    }
}

/// Organization, project and repository at Azure DevOps. A name may end with `.git` there.
fn azure_devops(host: &str, path: &[String]) -> Result<RepositoryId, String> {
    let mut path: Vec<&str> = path.iter().map(String::as_str).collect();
    let account = host.strip_suffix(".visualstudio.com");
    let is_cloud = matches!(host, AZURE_DEVOPS | "ssh.dev.azure.com") || account.is_some();
    if account.is_some()
        && path
            .first()
            .is_some_and(|first| first.eq_ignore_ascii_case("DefaultCollection"))
    {
        path.remove(0);
    }
    let host = if is_cloud { AZURE_DEVOPS } else { host };
    let found = match (path.as_slice(), account) {
        (["v3", account, project, name], _) if is_cloud => [*account, project, name],
        (["_git", name], Some(account)) => [account, name, name],
        ([project, "_git", name], Some(account)) => [account, project, name],
        // The project of a repository of the same name can be left out.
        ([account, "_git", name], None) => [*account, name, name],
        ([account, project, "_git", name], None) if is_cloud => [*account, project, name],
        ([.., collection, project, "_git", name], None) if !is_cloud => {
            [*collection, project, name]
        }
        _ => return Err("it is not ORGANIZATION/PROJECT/_git/REPOSITORY".to_owned()),
    };
    Ok(RepositoryId {
        host: host.to_owned(),
        path: words(&found),
    })
}

fn words(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
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

    /// Every row of forges.md §10, and oracle row 42.
    #[test]
    fn every_spelling_of_an_address_names_its_repository() {
        for (kind, address, host, path) in [
            (HUB, "https://github.com/o/r", "github.com", "o/r"),
            (HUB, "https://github.com/o/r.git/", "github.com", "o/r"),
            (HUB, "https://GitHub.com:443/o/r", "github.com", "o/r"),
            (HUB, "https://my-name@github.com/o/r", "github.com", "o/r"),
            (HUB, "git@github.com:o/r.git", "github.com", "o/r"),
            (HUB, "ssh://git@github.com:22/o/r", "github.com", "o/r"),
            (
                HUB,
                "ssh://git@ssh.github.com:443/o/r.git",
                "github.com",
                "o/r",
            ),
            (HUB, "https://foobar.com/foo/bar", "foobar.com", "foo/bar"),
            (
                LAB,
                "https://gitlab.com/foo/bar/baz.git",
                "gitlab.com",
                "foo/bar/baz",
            ),
            (
                LAB,
                "git@altssh.gitlab.com:foo/bar.git",
                "gitlab.com",
                "foo/bar",
            ),
            (
                ADO,
                "https://dev.azure.com/org/My%20Proj/_git/repo",
                "dev.azure.com",
                "org/My Proj/repo",
            ),
            (
                ADO,
                "https://org@dev.azure.com/org/P/_git/repo",
                "dev.azure.com",
                "org/P/repo",
            ),
            (
                ADO,
                "https://org.visualstudio.com/Proj/_git/repo",
                "dev.azure.com",
                "org/Proj/repo",
            ),
            (
                ADO,
                "https://org.visualstudio.com/DefaultCollection/Proj/_git/repo",
                "dev.azure.com",
                "org/Proj/repo",
            ),
            (
                ADO,
                "https://dev.azure.com/org/_git/repo",
                "dev.azure.com",
                "org/repo/repo",
            ),
            (
                ADO,
                "git@ssh.dev.azure.com:v3/org/Proj/repo",
                "dev.azure.com",
                "org/Proj/repo",
            ),
            (
                ADO,
                "org@vs-ssh.visualstudio.com:v3/org/Proj/repo",
                "dev.azure.com",
                "org/Proj/repo",
            ),
            (
                ADO,
                "https://dev.azure.com/org/P/_git/repo.git",
                "dev.azure.com",
                "org/P/repo.git",
            ),
            (
                ADO,
                "https://tfs.example/tfs/Coll/Proj/_git/repo",
                "tfs.example",
                "Coll/Proj/repo",
            ),
            (
                ADO,
                "https://tfs.example/Coll/_git/repo",
                "tfs.example",
                "Coll/repo/repo",
            ),
            (CLOUD, "https://bitbucket.org/ws/r", "bitbucket.org", "ws/r"),
            (
                CLOUD,
                "git@altssh.bitbucket.org:ws/r.git",
                "bitbucket.org",
                "ws/r",
            ),
            (DC, "https://h:7990/scm/~user/r.git", "h", "~user/r"),
            (DC, "ssh://git@h:7999/~user/r.git", "h", "~user/r"),
            (DC, "https://h:7990/scm/p/r.git", "h", "p/r"),
            (DC, "https://h:7990/ctx/scm/p/r.git", "h", "p/r"),
            (DC, "https://h:7990/scm/scm/p/r.git", "h", "p/r"),
            (TEA, "https://git.example/sub/o/r.git", "git.example", "o/r"),
        ] {
            let id = kind
                .repository(&RepositoryUrl::split(address))
                .expect(address);
            assert_eq!((id.host.as_str(), id.path.join("/").as_str()), (host, path));
        }
    }

    #[test]
    fn the_host_probably_says_which_forge_it_is() {
        let gitea = Some(ForgeKind::Gitea);
        for (address, kind) in [
            ("https://github.com/a/b.git", Some(ForgeKind::GitHub)),
            ("git@github.com:a/b.git", Some(ForgeKind::GitHub)),
            (
                "ssh://git@gitlab.example.com:2222/a/b.git",
                Some(ForgeKind::GitLab),
            ),
            ("https://me:token@codeberg.org/a/b", gitea),
            (
                "https://org@dev.azure.com/org/p/_git/r",
                Some(ForgeKind::AzureDevOps),
            ),
            (
                "git@ssh.dev.azure.com:v3/o/p/r",
                Some(ForgeKind::AzureDevOps),
            ),
            ("git@bitbucket.org:a/b.git", Some(ForgeKind::Bitbucket)),
            ("https://git.example.com/github/b.git", None),
            ("/srv/git/github.git", None),
            ("file:///srv/github/b.git", None),
            ("file://github/b.git", None),
            ("", None),
        ] {
            assert_eq!(
                ForgeKind::guess(&RepositoryUrl::split(address)),
                kind,
                "{address}"
            );
        }
    }
}
