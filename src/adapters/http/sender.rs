//! Who delivers a webhook, and what its deliveries have in common.

use crate::model::ForgeKind;

/// A sender of webhooks. Each has a path of its own, so nothing is guessed from headers: Gitea also sends
/// those of GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// A forge.
    Forge(ForgeKind),
    /// Forgejo, which is Gitea with other headers.
    Forgejo,
    /// Any other sender.
    Generic,
}

impl From<ForgeKind> for Sender {
    fn from(kind: ForgeKind) -> Self {
        Self::Forge(kind)
    }
}

const MIB: usize = 1024 * 1024;

impl Sender {
    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let forges = ForgeKind::ALL.into_iter().map(Self::Forge);
        forges.chain([Self::Forgejo, Self::Generic])
    }

    /// The last part of its path below `/webhook`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forge(ForgeKind::GitHub) => "github",
            Self::Forge(ForgeKind::GitLab) => "gitlab",
            Self::Forge(ForgeKind::Gitea) => "gitea",
            Self::Forge(ForgeKind::AzureDevOps) => "azuredevops",
            Self::Forge(ForgeKind::Bitbucket) => "bitbucket",
            Self::Forgejo => "forgejo",
            Self::Generic => "generic",
        }
    }

    /// The longest body that is read. GitHub's own limit for payloads is 25 MB; for all others it is the
    /// limit that notification-controller of Flux has.
    pub(super) const fn body_limit(self) -> usize {
        match self {
            Self::Forge(ForgeKind::GitHub) => 25 * MIB,
            _ => 3 * MIB,
        }
    }

    /// Whether its payload may be a field of a form.
    pub(super) const fn takes_forms(self) -> bool {
        matches!(
            self,
            Self::Forge(ForgeKind::GitHub | ForgeKind::Gitea) | Self::Forgejo
        )
    }

    /// Whether the body is never read, so that its type does not matter.
    pub(super) const fn takes_anything(self) -> bool {
        matches!(self, Self::Generic)
    }
}
