//! The forges that `capstan init` writes a CI file for.
//!
//! In: the address of a git remote. Out: the forge behind it, and the place and the text of its CI file.

use clap::ValueEnum;

/// A forge, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Forge {
    /// GitHub Actions
    #[value(name = "github")]
    GitHub,
    /// GitLab CI/CD
    #[value(name = "gitlab")]
    GitLab,
    /// Gitea or Forgejo Actions
    Gitea,
    /// Azure Pipelines
    AzureDevops,
    /// Bitbucket Pipelines
    Bitbucket,
    /// No CI file
    None,
}

/// A word in the host of an address, and the forge it stands for.
const HOSTS: &[(&str, Forge)] = &[
    ("github", Forge::GitHub),
    ("gitlab", Forge::GitLab),
    ("gitea", Forge::Gitea),
    ("forgejo", Forge::Gitea),
    ("codeberg.org", Forge::Gitea),
    ("dev.azure.com", Forge::AzureDevops),
    ("visualstudio.com", Forge::AzureDevops),
    ("bitbucket", Forge::Bitbucket),
];

impl Forge {
    /// The forge that hosts the repository at `address`, judged by the name of the host.
    pub(super) fn of(address: &str) -> Option<Self> {
        let host = host(address)?.to_lowercase();
        let known = HOSTS.iter().find(|(word, _)| host.contains(word));
        known.map(|(_, forge)| *forge)
    }

    /// The path of its CI file in the repository, and the text.
    pub(super) fn ci(self) -> Option<(&'static str, &'static str)> {
        const ACTIONS: &str = include_str!("templates/actions.yml");
        match self {
            Self::GitHub => Some((".github/workflows/capstan.yml", ACTIONS)),
            Self::Gitea => Some((".gitea/workflows/capstan.yml", ACTIONS)),
            Self::GitLab => Some((".gitlab-ci.yml", include_str!("templates/gitlab.yml"))),
            Self::AzureDevops => Some(("azure-pipelines.yml", include_str!("templates/azure.yml"))),
            Self::Bitbucket => Some((
                "bitbucket-pipelines.yml",
                include_str!("templates/bitbucket.yml"),
            )),
            Self::None => None,
        }
    }
}

/// The host of `https://user@host:port/path`, `ssh://host/path` or `user@host:path`; none for a path.
fn host(address: &str) -> Option<&str> {
    let authority = match address.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split('/').next()?,
        None => address.split_once(':')?.0,
    };
    let host = authority.rsplit('@').next()?.split(':').next();
    host.filter(|host| !host.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_the_remote_says_which_forge_it_is() {
        for (address, forge) in [
            ("https://github.com/a/b.git", Some(Forge::GitHub)),
            ("git@github.com:a/b.git", Some(Forge::GitHub)),
            (
                "ssh://git@gitlab.example.com:2222/a/b.git",
                Some(Forge::GitLab),
            ),
            ("https://me:token@codeberg.org/a/b", Some(Forge::Gitea)),
            (
                "https://org@dev.azure.com/org/p/_git/r",
                Some(Forge::AzureDevops),
            ),
            ("git@ssh.dev.azure.com:v3/o/p/r", Some(Forge::AzureDevops)),
            ("git@bitbucket.org:a/b.git", Some(Forge::Bitbucket)),
            ("https://git.example.com/github/b.git", None),
            ("/srv/git/github.git", None),
            ("file:///srv/github/b.git", None),
            ("", None),
        ] {
            assert_eq!(Forge::of(address), forge, "{address}");
        }
    }
}
