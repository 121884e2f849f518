//! The address of the repository whose forge shows checks, and who may have its credential.
//!
//! In: the settings. Out: a [`Repository`], or why there is none. It does not know what is asked of the forge.

use crate::adapters::checks::forge::Repository;
use crate::model::{AdapterError, ErrorClass, RepositoryUrl};
use crate::settings::{ForgeConfig, SyncConfig};

/// Lends the forge the credential of the source: another server never gets it.
pub(super) fn lend(
    config: &SyncConfig,
    forge: &ForgeConfig,
    host: &str,
) -> Result<(), AdapterError> {
    let url = RepositoryUrl::split(&config.url);
    let id = forge.provider.repository(&url).ok();
    let source = id.map(|id| id.host).or_else(|| url.host_name());
    if source.as_deref() == Some(host) {
        return Ok(());
    }
    let source = source.unwrap_or_else(|| config.url.clone());
    let message = format!(
        "spec.checks: the credential of the source is for {source}, not for {host}; set spec.checks.secretRef"
    );
    Err(AdapterError::new(ErrorClass::Invalid, message))
}

/// The repository on the forge, and where its API is.
pub(super) fn repository(forge: &ForgeConfig, source: &str) -> Result<Repository, String> {
    let address = address(forge, source)?;
    let found = Repository::of(forge.provider, &address);
    found.map_err(|fault| {
        let provider = forge.provider.name();
        format!("{address:?} is not the address of a repository on {provider}: {fault}")
    })
}

/// The address of the repository: as it is set, or made of what is set and the source's.
fn address(forge: &ForgeConfig, source: &str) -> Result<String, String> {
    let is_url = |text: &&String| text.contains("://");
    if let Some(url) = forge.repository.as_ref().filter(is_url) {
        return Ok(url.clone());
    }
    if forge.repository.is_none() && forge.address.is_none() {
        return Ok(source.to_owned());
    }
    let url = RepositoryUrl::split(source);
    let server = match &forge.address {
        Some(address) => address.trim_end_matches('/').to_owned(),
        None => {
            let server = url.server();
            server.ok_or_else(|| format!("{source:?} names no server"))?
        }
    };
    let path = match &forge.repository {
        Some(path) => path.trim_matches('/').to_owned(),
        None => forge.provider.repository(&url)?.path.join("/"),
    };
    Ok(forge.provider.web_address(&server, &path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::ForgeKind;

    fn config(provider: ForgeKind, repository: Option<&str>, address: Option<&str>) -> ForgeConfig {
        ForgeConfig {
            provider,
            repository: repository.map(str::to_owned),
            address: address.map(str::to_owned),
            credential: None,
        }
    }

    #[test]
    fn the_repository_is_that_of_the_source_unless_another_is_set() {
        use ForgeKind::{AzureDevOps, Bitbucket, Gitea};
        for (provider, source, repository, address, expected) in [
            (
                Gitea,
                "https://h:3000/sub/o/r.git",
                None,
                None,
                "https://h:3000/sub/api/v1/repos/o/r/x",
            ),
            (
                Gitea,
                "git@h:o/r.git",
                None,
                None,
                "https://h/api/v1/repos/o/r/x",
            ),
            (
                Gitea,
                "git@h:o/r.git",
                None,
                Some("https://g:1/sub/"),
                "https://g:1/sub/api/v1/repos/o/r/x",
            ),
            (
                Gitea,
                "https://h:3000/o/r",
                Some("p/q"),
                None,
                "https://h:3000/api/v1/repos/p/q/x",
            ),
            (
                Gitea,
                "/srv/mirror.git",
                Some("https://h/o/r"),
                None,
                "https://h/api/v1/repos/o/r/x",
            ),
            (
                AzureDevOps,
                "https://dev.azure.com/a/p/_git/r",
                Some("q/s"),
                Some("https://dev.azure.com/a"),
                "https://dev.azure.com/a/q/_apis/git/repositories/s/x",
            ),
            (
                Bitbucket,
                "https://bitbucket.org/ws/r",
                None,
                None,
                "https://api.bitbucket.org/2.0/repositories/ws/r/x",
            ),
            (
                Bitbucket,
                "ssh://git@h:7999/p/r.git",
                None,
                Some("https://h:7990"),
                "https://h:7990/rest/api/latest/projects/p/repos/r/x",
            ),
        ] {
            let found = super::repository(&config(provider, repository, address), source);
            assert_eq!(found.unwrap().url(&["x"]).as_str(), expected);
        }
        let message = super::repository(&config(Gitea, None, None), "/srv/mirror.git").unwrap_err();
        assert!(
            message.contains("\"/srv/mirror.git\" is not the address"),
            "{message}"
        );
    }
}
