//! Which repository of which forge an address names, and where its API is (forges.md §10).
//!
//! In: an address as people write it, over HTTPS or SSH. Out: a [`Place`] to compare, or a [`Repository`]
//! that builds the URLs of its API. Names are percent-encoded; none of them leaves its part of a path.

use std::net::IpAddr;

use reqwest::Url;

/// The kinds of forges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// github.com, Enterprise Cloud and Enterprise Server.
    GitHub,
    /// Azure DevOps Services and Server.
    AzureDevOps,
    /// Gitea and Forgejo.
    Gitea,
    /// gitlab.com and self-managed.
    GitLab,
    /// bitbucket.org.
    BitbucketCloud,
    /// Bitbucket Data Center and Server.
    BitbucketServer,
}

/// A repository as all of its addresses name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// In lower case, without a port.
    pub host: String,
    /// Owner and name; all groups at GitLab; organization, project and name at Azure DevOps.
    pub path: Vec<String>,
}

/// A repository and its API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Which one it is.
    pub place: Place,
    /// Where the API begins.
    root: Url,
    /// From there to what belongs to the repository.
    base: Vec<String>,
}

/// An address in its parts.
struct Parts {
    /// `None` for SSH.
    web: Option<Url>,
    host: String,
    /// Decoded, without empty ones.
    path: Vec<String>,
}

impl Place {
    /// The place that an address names.
    ///
    /// # Errors
    /// When the forge has no such addresses.
    pub fn of(provider: Provider, address: &str) -> Result<Self, String> {
        placed(provider, &parts(address)?)
    }

    /// Whether both are the same repository: forges ignore case.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let key = |place: &Self| format!("{}/{}", place.host, place.path.join("/")).to_lowercase();
        key(self) == key(other)
    }
}

impl Repository {
    /// The repository that an address names, and its API.
    ///
    /// # Errors
    /// When the forge has no such addresses, or the address does not say where the API is.
    pub fn of(provider: Provider, address: &str) -> Result<Self, String> {
        let parts = parts(address)?;
        let place = placed(provider, &parts)?;
        let root = root(provider, &parts, &place)?;
        let names: Vec<&str> = place.path.iter().map(String::as_str).collect();
        let base: Vec<&str> = match (provider, names.as_slice()) {
            (Provider::GitHub | Provider::Gitea, path) => [&["repos"], path].concat(),
            (Provider::GitLab, _) => vec!["projects"],
            (Provider::BitbucketCloud, path) => [&["repositories"], path].concat(),
            (Provider::BitbucketServer, [project, name]) => {
                vec!["api", "latest", "projects", project, "repos", name]
            }
            (_, [_, project, name]) => vec![project, "_apis", "git", "repositories", name],
            _ => return Err("it does not name a repository".to_owned()),
        };
        let mut base: Vec<String> = base.into_iter().map(str::to_owned).collect();
        if provider == Provider::GitLab {
            base.push(place.path.join("/"));
        }
        Ok(Self { place, root, base })
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
}

/// For logs and messages.
impl std::fmt::Display for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.place.host, self.place.path.join("/"))
    }
}

/// Splits `https://`, `ssh://` and `user@host:path`.
fn parts(address: &str) -> Result<Parts, String> {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme @ ("https" | "http" | "ssh"), rest)) => (scheme, rest.to_owned()),
        Some(_) => return Err("it is not an https:// or ssh:// address".to_owned()),
        None => match address.split_once(':') {
            Some((host, path)) if !host.contains('/') => ("ssh", format!("{host}/{path}")),
            _ => return Err("it is not the address of a server".to_owned()),
        },
    };
    if rest.is_empty() || rest.starts_with(['/', '-']) || rest.contains("@-") {
        return Err("it has no host".to_owned());
    }
    let url = Url::parse(&format!("{scheme}://{rest}")).map_err(|cause| cause.to_string())?;
    let host = url.host_str().filter(|host| !host.is_empty());
    let host = host.ok_or("it has no host")?.to_lowercase();
    let path = url.path().split('/').filter(|part| !part.is_empty());
    let path: Option<Vec<String>> = path.map(decoded).collect();
    let path = path.ok_or("its % escapes are invalid")?;
    if path.iter().any(|part| matches!(part.as_str(), "." | "..")) {
        return Err("its path leaves the server".to_owned());
    }
    if scheme == "http" && !is_loopback(&host) {
        return Err("http:// is not encrypted; use https://".to_owned());
    }
    let web = (scheme != "ssh").then_some(url);
    Ok(Parts { web, host, path })
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A part of a path without its % escapes.
fn decoded(part: &str) -> Option<String> {
    let (mut out, mut bytes) = (Vec::new(), part.bytes());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(out).ok()?;
    (!text.contains(char::is_control)).then_some(text)
}

fn placed(provider: Provider, parts: &Parts) -> Result<Place, String> {
    if provider == Provider::AzureDevOps {
        return azure(parts);
    }
    let host = match parts.host.as_str() {
        "ssh.github.com" => "github.com",
        "altssh.gitlab.com" => "gitlab.com",
        "altssh.bitbucket.org" => "bitbucket.org",
        host => host,
    };
    let mut path = parts.path.clone();
    if let Some(name) = path.last_mut() {
        *name = name.strip_suffix(".git").unwrap_or(name).to_owned();
    }
    let below = match provider {
        // The last `/scm/` ends what the server is under.
        Provider::BitbucketServer if parts.web.is_some() => {
            let scm = path.iter().rposition(|part| part == "scm");
            scm.ok_or("an address of Bitbucket Data Center contains /scm/")? + 1
        }
        Provider::Gitea if parts.web.is_some() => path.len().saturating_sub(2),
        _ => 0,
    };
    let path = path.split_off(below);
    let fits = match provider {
        Provider::GitLab => path.len() >= 2,
        _ => path.len() == 2,
    };
    if !fits || path.iter().any(String::is_empty) {
        return Err(format!("it has {} parts, not owner and name", path.len()));
    }
    let host = host.to_owned();
    Ok(Place { host, path })
}

/// Organization, project and repository at Azure DevOps. A name may end with `.git` there.
fn azure(parts: &Parts) -> Result<Place, String> {
    let path: Vec<&str> = parts.path.iter().map(String::as_str).collect();
    let cloud = "dev.azure.com";
    let account = parts.host.strip_suffix(".visualstudio.com");
    let is_cloud = parts.host == cloud || parts.host == "ssh.dev.azure.com" || account.is_some();
    let (host, found) = match (path.as_slice(), account) {
        (["v3", account, project, name], _) if is_cloud => (cloud, [*account, project, name]),
        (["_git", name] | ["DefaultCollection", "_git", name], Some(account)) => {
            (cloud, [account, name, name])
        }
        ([project, "_git", name] | ["DefaultCollection", project, "_git", name], Some(account)) => {
            (cloud, [account, project, name])
        }
        ([account, "_git", name], None) if is_cloud => (cloud, [*account, name, name]),
        ([account, project, "_git", name], None) if is_cloud => (cloud, [*account, project, name]),
        ([.., collection, project, "_git", name], None) if !is_cloud => {
            (parts.host.as_str(), [*collection, project, name])
        }
        _ => return Err("it is not ORGANIZATION/PROJECT/_git/REPOSITORY".to_owned()),
    };
    Ok(Place {
        host: host.to_owned(),
        path: found.map(str::to_owned).to_vec(),
    })
}

/// Where the API begins.
fn root(provider: Provider, parts: &Parts, place: &Place) -> Result<Url, String> {
    let host = place.host.as_str();
    let mut root = match &parts.web {
        Some(url) => url.clone(),
        None => Url::parse(&format!("https://{host}/")).map_err(|cause| cause.to_string())?,
    };
    let _ = (root.set_username(""), root.set_password(None));
    root.set_query(None);
    root.set_fragment(None);
    let under = |count: usize| parts.path[..parts.path.len().saturating_sub(count)].join("/");
    let path = match provider {
        Provider::GitHub if host == "github.com" || host.ends_with(".ghe.com") => {
            let api = format!("api.{}", host.trim_start_matches("api."));
            let set = root.set_host(Some(&api));
            set.map_err(|cause| cause.to_string())?;
            String::new()
        }
        Provider::GitHub => "api/v3".to_owned(),
        Provider::Gitea => format!(
            "{}/api/v1",
            if parts.web.is_some() {
                under(2)
            } else {
                String::new()
            }
        ),
        Provider::GitLab => "api/v4".to_owned(),
        Provider::BitbucketCloud => {
            let set = root.set_host(Some("api.bitbucket.org"));
            set.map_err(|cause| cause.to_string())?;
            "2.0".to_owned()
        }
        Provider::BitbucketServer if parts.web.is_none() => {
            return Err("an SSH address does not say where the API of Bitbucket Data Center is; write the https:// address".to_owned());
        }
        Provider::BitbucketServer => format!("{}/rest", under(3)),
        Provider::AzureDevOps => azure_root(parts, place, &mut root),
    };
    root.set_path(&path);
    Ok(root)
}

/// What is before the project.
fn azure_root(parts: &Parts, place: &Place, root: &mut Url) -> String {
    let host = parts.host.as_str();
    if host.ends_with(".visualstudio.com") && parts.web.is_some() {
        return String::new();
    }
    if place.host == "dev.azure.com" {
        let _ = root.set_host(Some("dev.azure.com"));
        return place.path[0].clone();
    }
    parts.path[..parts.path.len().saturating_sub(3)].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUB: Provider = Provider::GitHub;
    const ADO: Provider = Provider::AzureDevOps;
    const LAB: Provider = Provider::GitLab;
    const TEA: Provider = Provider::Gitea;
    const CLOUD: Provider = Provider::BitbucketCloud;
    const DC: Provider = Provider::BitbucketServer;

    /// Every row of forges.md §10, and oracle row 42.
    #[test]
    fn every_spelling_of_an_address_names_its_repository() {
        for (provider, address, host, path) in [
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
            let place = Place::of(provider, address).expect(address);
            assert_eq!(
                (place.host.as_str(), place.path.join("/").as_str()),
                (host, path)
            );
        }
    }

    #[test]
    fn other_addresses_are_errors() {
        for (provider, address) in [
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
            assert!(Repository::of(provider, address).is_err(), "{address}");
        }
    }

    #[test]
    fn the_api_is_where_the_forge_has_it() {
        for (provider, address, expected) in [
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
            let repository = Repository::of(provider, address).expect(address);
            assert_eq!(repository.url(&["x"]).as_str(), expected, "{address}");
        }
        let repository = Repository::of(HUB, "git@github.com:o/r").expect("an address");
        let url = repository.url(&["commits", "a/b%c d"]);
        assert_eq!(url.path(), "/repos/o/r/commits/a%2Fb%25c%20d");
        assert_eq!(repository.to_string(), "github.com/o/r");
    }

    #[test]
    fn case_does_not_count_and_a_longer_name_is_another() {
        let place = |address| Place::of(HUB, address).expect(address);
        assert!(place("https://github.com/O/Repo").is_same(&place("git@github.com:o/repo.git")));
        assert!(!place("https://github.com/o/repo").is_same(&place("https://github.com/o/repo-2")));
    }
}
