//! Who delivers a webhook, and what its deliveries have in common.

/// A sender of webhooks. Each has a path of its own, so nothing is guessed from headers: Gitea also sends
/// those of GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Forge {
    /// GitHub.
    GitHub,
    /// Azure DevOps.
    AzureDevOps,
    /// Gitea.
    Gitea,
    /// Forgejo.
    Forgejo,
    /// GitLab.
    GitLab,
    /// Bitbucket Cloud and Data Center.
    Bitbucket,
    /// Any other sender.
    Generic,
}

const MIB: usize = 1024 * 1024;

impl Forge {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::GitHub,
        Self::AzureDevOps,
        Self::Gitea,
        Self::Forgejo,
        Self::GitLab,
        Self::Bitbucket,
        Self::Generic,
    ];

    /// The last part of its path below `/webhook`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::AzureDevOps => "azuredevops",
            Self::Gitea => "gitea",
            Self::Forgejo => "forgejo",
            Self::GitLab => "gitlab",
            Self::Bitbucket => "bitbucket",
            Self::Generic => "generic",
        }
    }

    /// The longest body that is read. GitHub's own limit for payloads is 25 MB; for all others it is the
    /// limit that notification-controller of Flux has.
    pub(super) const fn body_limit(self) -> usize {
        match self {
            Self::GitHub => 25 * MIB,
            _ => 3 * MIB,
        }
    }

    /// Whether its payload may be a field of a form.
    pub(super) const fn takes_forms(self) -> bool {
        matches!(self, Self::GitHub | Self::Gitea | Self::Forgejo)
    }

    /// Whether the body is never read, so that its type does not matter.
    pub(super) const fn takes_anything(self) -> bool {
        matches!(self, Self::Generic)
    }
}
