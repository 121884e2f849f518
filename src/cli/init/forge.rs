//! The forges that `capstan init` writes a CI file for.
//!
//! In: the forge. Out: the place and the text of its CI file.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::model::ForgeKind;

/// The CI system of a forge, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Ci(pub(super) Option<ForgeKind>);

impl ValueEnum for Ci {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(Some(ForgeKind::GitHub)),
            Self(Some(ForgeKind::GitLab)),
            Self(Some(ForgeKind::Gitea)),
            Self(Some(ForgeKind::AzureDevOps)),
            Self(Some(ForgeKind::Bitbucket)),
            Self(None),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self.0 {
            Some(ForgeKind::GitHub) => ("github", "GitHub Actions"),
            Some(ForgeKind::GitLab) => ("gitlab", "GitLab CI/CD"),
            Some(ForgeKind::Gitea) => ("gitea", "Gitea or Forgejo Actions"),
            Some(ForgeKind::AzureDevOps) => ("azure-devops", "Azure Pipelines"),
            Some(ForgeKind::Bitbucket) => ("bitbucket", "Bitbucket Pipelines"),
            None => ("none", "No CI file"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl Ci {
    /// The path of its CI file in the repository, and the text.
    pub(super) fn file(self) -> Option<(&'static str, &'static str)> {
        const ACTIONS: &str = include_str!("templates/actions.yml");
        Some(match self.0? {
            ForgeKind::GitHub => (".github/workflows/capstan.yml", ACTIONS),
            ForgeKind::Gitea => (".gitea/workflows/capstan.yml", ACTIONS),
            ForgeKind::GitLab => (".gitlab-ci.yml", include_str!("templates/gitlab.yml")),
            ForgeKind::AzureDevOps => ("azure-pipelines.yml", include_str!("templates/azure.yml")),
            ForgeKind::Bitbucket => (
                "bitbucket-pipelines.yml",
                include_str!("templates/bitbucket.yml"),
            ),
        })
    }
}
