//! The forge on which checks are shown: what the settings say, as its adapter takes it.
//!
//! In: the settings, and where credentials are. Out: what the forge offers. Tokens and certificate authorities are read
//! again when they are used, so that they can be replaced while the daemon runs.

use std::path::PathBuf;
use std::sync::Arc;

use kube::Client as Cluster;

use super::azure_tokens::AzureTokens;
use super::clock::WallClock;
use super::forge_address::{lend, repository};
use super::forge_credential::Credential;
use super::keyed_forge::KeyedForge;
use super::keys::{KeyPlace, Keys};
use super::ports::ForgePorts;
use super::secured::Secured;
use crate::adapters::checks::azure_devops::{self, AzureDevOps};
use crate::adapters::checks::forge::{
    Bitbucket, Client, Comments, Dialect, Edition, ForgeSink, GitLab, Gitea, GiteaPulls, Opener,
    Repository, Scheme, Transport,
};
use crate::adapters::checks::github::{self, AppKeys, CheckRuns, GitHubPulls, Statuses};
use crate::model::{
    AdapterError, Clock, ErrorClass, ForgeKind, OwnPullRequests, RateRemaining, TokenSource,
};
use crate::settings::SyncConfig;

/// The ports of the forge that `config` names; `None` for git notes. Secrets are in the cluster of `cluster`.
///
/// # Errors
/// If no repository of that forge is named, or the credential of the source is for another server.
pub async fn forge_ports(
    config: &SyncConfig,
    cluster: &Cluster,
) -> Result<Option<ForgePorts>, AdapterError> {
    let Some(forge) = &config.forge else {
        return Ok(None);
    };
    let repository = match (&config.directory, &forge.repository) {
        (Some(_), None) => Err("a directory does not name its repository".to_owned()),
        _ => repository(forge, &config.url),
    };
    let repository = repository.map_err(|fault| {
        let url = match config.directory {
            Some(_) => " to the URL of the repository",
            None => "",
        };
        let message = format!("spec.checks: {fault}; set spec.checks.repository{url}");
        AdapterError::new(ErrorClass::Invalid, message)
    })?;
    if forge.credential.is_none() && config.credential.is_some() {
        lend(config, forge, &repository.id.host)?;
    }
    let place = |credential| KeyPlace::new(credential, cluster, &config.namespace);
    let [own, source] = [&forge.credential, &config.credential];
    let [own, source] = [own, source].map(|credential| credential.as_ref().map(place));
    let places = own.iter().chain(&source).cloned().collect();
    let credential = Arc::new(Credential::new(forge.provider, own.or(source)));
    let link = Link {
        transport: Arc::new(Secured::new(places, config.proxy.clone())),
        tokens: Arc::clone(&credential) as _,
        clock: Arc::new(WallClock::start()),
        record: config.mirror.with_extension("checks.json"),
        remaining: RateRemaining::default(),
    };
    link.ports_of(forge.provider, repository, credential)
        .map(Some)
}

/// The pull requests that the daemon opens in the repository of `config`, of whose forge `ports` are.
///
/// # Errors
/// If no forge is named, or the daemon opens none on forges of that kind.
pub fn own_pull_requests(
    config: &SyncConfig,
    ports: Option<&ForgePorts>,
) -> Result<Arc<dyn OwnPullRequests>, AdapterError> {
    if let Some(opener) = ports.and_then(|ports| ports.own_pull_requests.clone()) {
        return Ok(opener);
    }
    let instead = "pull requests can be opened on GitHub, Gitea and Forgejo alone";
    let message = match &config.forge {
        Some(forge) => format!(
            "spec.checks.provider: {instead}, not on {}",
            forge.provider.name()
        ),
        None => format!("spec.checks names no forge, and {instead}; set spec.checks.provider"),
    };
    Err(AdapterError::new(ErrorClass::Invalid, message))
}

/// What every forge is reached by.
#[derive(Clone)]
struct Link {
    transport: Arc<dyn Transport>,
    tokens: Arc<dyn TokenSource>,
    clock: Arc<dyn Clock>,
    record: PathBuf,
    /// What its limit leaves.
    remaining: RateRemaining,
}

impl Link {
    fn ports_of(
        self,
        provider: ForgeKind,
        repository: Repository,
        credential: Arc<Credential>,
    ) -> Result<ForgePorts, AdapterError> {
        let remaining = self.remaining.clone();
        let ports = match provider {
            ForgeKind::GitHub => self.github(repository, &credential)?,
            ForgeKind::AzureDevOps => self.azure_devops(repository, credential),
            ForgeKind::Gitea => self.gitea(repository),
            ForgeKind::GitLab => {
                self.ports(GitLab::new(repository), Scheme::Bearer, GitLab::dialect())
            }
            ForgeKind::Bitbucket => self.bitbucket(repository),
        };
        Ok(ForgePorts { remaining, ..ports })
    }

    fn client(&self, scheme: Scheme, dialect: Dialect) -> Client {
        let (transport, tokens) = (Arc::clone(&self.transport), Arc::clone(&self.tokens));
        let client = Client::new(transport, tokens, scheme, dialect, Arc::clone(&self.clock));
        client.counting(self.remaining.clone())
    }

    fn sink<F: Comments>(&self, forge: F, client: Client) -> Arc<ForgeSink<F>> {
        Arc::new(ForgeSink::new(forge, client, Some(&self.record)))
    }

    fn ports<F: Comments>(&self, forge: F, scheme: Scheme, dialect: Dialect) -> ForgePorts {
        ForgePorts::of(self.sink(forge, self.client(scheme, dialect)))
    }

    fn gitea(&self, repository: Repository) -> ForgePorts {
        let client = self.client(Scheme::Bearer, Gitea::dialect());
        let beside = client.beside(GiteaPulls::dialect());
        let opener = Opener::new(GiteaPulls::new(repository.clone()), beside);
        let sink = self.sink(Gitea::new(repository), client);
        ForgePorts::of(sink).opening(Arc::new(opener))
    }

    /// Check runs with the keys of an app, else commit statuses.
    fn github(
        self,
        repository: Repository,
        credential: &Credential,
    ) -> Result<ForgePorts, AdapterError> {
        let place = credential.place()?.clone();
        let named = place.to_string();
        let make = move |keys: &Keys| self.clone().github_of(&named, keys, repository.clone());
        let keyed = Arc::new(KeyedForge::new(place, AppKeys::PREFIX, Box::new(make)));
        Ok(ForgePorts::with_buttons(Arc::clone(&keyed)).opening(keyed))
    }

    fn github_of(
        mut self,
        place: &str,
        keys: &Keys,
        repository: Repository,
    ) -> Result<ForgePorts, AdapterError> {
        let Some(keys) = AppKeys::read(place, keys)? else {
            let client = self.client(Scheme::Bearer, github::dialect());
            let opener = opener(&client, &repository);
            let sink = self.sink(Statuses::new(repository), client);
            return Ok(ForgePorts::of(sink).opening(opener));
        };
        let (transport, clock) = (Arc::clone(&self.transport), Arc::clone(&self.clock));
        let app = keys.app(repository, transport, clock)?;
        let forge = CheckRuns::new(app.repository().clone(), app.id());
        let repository = app.repository().clone();
        self.tokens = Arc::new(app);
        let client = self.client(Scheme::Bearer, github::dialect());
        let opener = opener(&client, &repository);
        Ok(ForgePorts::with_buttons(self.sink(forge, client)).opening(opener))
    }

    /// With tokens of Entra ID, or a personal one.
    fn azure_devops(mut self, repository: Repository, credential: Arc<Credential>) -> ForgePorts {
        let host = repository.id.host.clone();
        self.tokens = Arc::new(AzureTokens::new(credential, host));
        let forge = AzureDevOps::new(repository);
        self.ports(forge, Scheme::Pair, azure_devops::dialect())
    }

    fn bitbucket(self, repository: Repository) -> ForgePorts {
        let edition = if repository.id.is_on_bitbucket_cloud() {
            Edition::Cloud
        } else {
            Edition::DataCenter
        };
        let forge = Bitbucket::new(repository, edition);
        self.ports(forge, Scheme::Pair, Bitbucket::dialect())
    }
}

/// Opens pull requests on GitHub beside what `client` is for.
fn opener(client: &Client, repository: &Repository) -> Arc<Opener<GitHubPulls>> {
    let forge = GitHubPulls::new(repository.clone());
    let beside = client.beside(GitHubPulls::dialect());
    Arc::new(Opener::new(forge, beside))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::adapters::checks::fake::HEAD;
    use crate::adapters::checks::fake::github::{APP, GitHub, KEY};
    use crate::adapters::checks::forge::tests::{Fake, Mishap, Ticking, check, with};
    use crate::model::{CheckState, CommitSource};
    use crate::settings::ForgeConfig;

    fn config(provider: ForgeKind, repository: Option<&str>, address: Option<&str>) -> ForgeConfig {
        ForgeConfig {
            provider,
            repository: repository.map(str::to_owned),
            address: address.map(str::to_owned),
            credential: None,
        }
    }

    #[tokio::test]
    async fn the_credential_of_the_source_goes_to_no_other_server() {
        use ForgeKind::{AzureDevOps, GitHub, Gitea};
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("password"), "hunter2").unwrap();
        let of = || {
            Some(crate::settings::SourceCredential::Directory(
                dir.path().to_owned(),
            ))
        };
        // Nothing is asked of it.
        let cluster = kube::Config::new("http://localhost:1".parse().unwrap());
        let cluster = Cluster::try_from(cluster).unwrap();
        for (source, provider, repository, address, host) in [
            ("https://git.corp/o/r", Gitea, None, None, None),
            (
                "git@git.corp:o/r",
                Gitea,
                Some("p/q"),
                Some("https://git.corp:3000/x"),
                None,
            ),
            (
                "https://contoso.visualstudio.com/p/_git/r",
                AzureDevOps,
                Some("https://dev.azure.com/contoso/p/_git/r"),
                None,
                None,
            ),
            (
                "https://git.corp/r",
                Gitea,
                Some("https://git.corp/o/r"),
                None,
                None,
            ),
            (
                "https://git.corp/o/r",
                GitHub,
                Some("https://github.com/o/r"),
                None,
                Some("github.com"),
            ),
            (
                "https://git.corp/o/r",
                Gitea,
                None,
                Some("https://evil.example"),
                Some("evil.example"),
            ),
            (
                "git@git.corp:o/r",
                Gitea,
                Some("https://git.corp.example/o/r"),
                None,
                Some("git.corp.example"),
            ),
        ] {
            let environment = crate::settings::Environment::default();
            let mut settings = SyncConfig::source(source, None, &environment);
            settings.mirror = dir.path().join("mirror");
            settings.credential = of();
            settings.forge = Some(config(provider, repository, address));
            let found = forge_ports(&settings, &cluster).await.map(drop);
            let found = found.map_err(|error| error.to_string());
            let expected = host.map(|host| format!("spec.checks: the credential of the source is for git.corp, not for {host}; set spec.checks.secretRef"));
            assert_eq!(found.err(), expected, "{source}");
            settings.forge.as_mut().unwrap().credential = of();
            assert!(forge_ports(&settings, &cluster).await.is_ok(), "{source}");
        }
    }

    /// A path on this machine must never be taken for the name of a repository.
    #[tokio::test]
    async fn the_repository_of_a_directory_must_be_named() {
        use ForgeKind::Gitea;
        let cluster = kube::Config::new("http://localhost:1".parse().unwrap());
        let cluster = Cluster::try_from(cluster).unwrap();
        let place = crate::settings::SourceCredential::Directory("/nowhere".into());
        for (repository, address, expected) in [
            (None, None, "a directory does not name its repository; set"),
            (
                None,
                Some("https://h"),
                "a directory does not name its repository; set",
            ),
            (Some("o/r"), None, "\"/git/current\" names no server; set"),
            (Some("o/r"), Some("https://h"), ""),
            (Some("https://h/o/r"), None, ""),
        ] {
            let environment = crate::settings::Environment::default();
            let mut settings = SyncConfig::directory("/git/current".as_ref(), &environment);
            let forge = config(Gitea, repository, address);
            settings.forge = Some(ForgeConfig {
                credential: Some(place.clone()),
                ..forge
            });
            let ports = forge_ports(&settings, &cluster).await;
            let message = ports
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert_eq!(message.is_empty(), expected.is_empty(), "{message}");
            let help = "set spec.checks.repository to the URL of the repository";
            let is_right =
                message.contains(expected) && (message.is_empty() || message.ends_with(help));
            assert!(is_right, "{message}");
        }
    }

    /// GitHub, reached with the keys in a directory.
    fn on_github(keys: &Path) -> (ForgePorts, Arc<Fake<GitHub>>) {
        let own = Some(KeyPlace::Directory(keys.to_owned()));
        let credential = Arc::new(Credential::new(ForgeKind::GitHub, own));
        let fake = Fake::new(GitHub::cloud(Ticking::EPOCH));
        let link = Link {
            transport: Arc::clone(&fake) as _,
            tokens: Arc::clone(&credential) as _,
            clock: Ticking::start(),
            record: keys.with_extension("checks.json"),
            remaining: RateRemaining::default(),
        };
        let repository = Repository::of(ForgeKind::GitHub, "https://github.com/o/r").unwrap();
        let github = link.ports_of(ForgeKind::GitHub, repository, credential);
        (github.unwrap(), fake)
    }

    /// Whoever cannot read the credential at the start reads it later, and again when it changes.
    #[tokio::test(start_paused = true)]
    async fn github_writes_with_the_keys_that_are_there() {
        let keys = tempfile::tempdir().unwrap();
        let place = keys.path().join("mounted");
        let (github, fake) = on_github(&place);
        let sink = github.checks;
        let mut states = [CheckState::Pending, CheckState::Success]
            .into_iter()
            .cycle();
        let mut publish = async || {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let checks = [check("capstan/prod/sync", states.next().unwrap(), "it")];
            let published = sink.publish(&checks, jiff::Timestamp::UNIX_EPOCH).await;
            published
                .map(|_| fake.lines())
                .map_err(|error| error.to_string())
        };
        let write = |key: &str, value: &str| std::fs::write(place.join(key), value).unwrap();

        let message = publish().await.unwrap_err();
        assert!(message.starts_with("cannot read "), "{message}");
        sink.read(&[HEAD.to_owned()], "x").await.unwrap_err();
        std::fs::create_dir(&place).unwrap();
        let message = publish().await.unwrap_err();
        assert!(message.contains("has no key `token`"), "{message}");
        write("token", "s3cret");
        let written = publish().await.unwrap();
        assert!(written.contains(&format!("POST /repos/o/r/statuses/{HEAD}")));

        write("githubAppID", &APP.to_string());
        let message = publish().await.unwrap_err();
        assert!(message.contains("but not githubAppPrivateKey"), "{message}");
        write("githubAppPrivateKey", KEY);
        let written = publish().await.unwrap();
        assert_eq!(written.last().unwrap(), "POST /repos/o/r/check-runs");
        // A token lasts for an hour, unless it is another app's.
        let written = publish().await.unwrap();
        assert_eq!(written.len(), 1, "{written:?}");
        write("githubAppInstallationID", "7");
        let written = publish().await.unwrap();
        assert_eq!(written[0], "POST /app/installations/7/access_tokens");
        write("githubAppPrivateKey", "hunter2");
        let message = publish().await.unwrap_err();
        assert!(message.contains("key githubAppPrivateKey: "), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[tokio::test(start_paused = true)]
    async fn github_is_asked_with_the_keys_that_are_there() {
        let keys = tempfile::tempdir().unwrap();
        let place = keys.path().join("mounted");
        let (github, fake) = on_github(&place);
        let (pull_requests, buttons) = (github.pull_requests.unwrap(), github.buttons.unwrap());
        let writer = ("octocat".to_owned(), ("write", "write"));
        fake.server.lock().unwrap().collaborators.extend([writer]);
        let ask = async || {
            let source = pull_requests.source_of(HEAD).await.ok();
            let may_approve = buttons.may_approve("octocat").await;
            (buttons.app(), source, may_approve.is_ok())
        };
        assert_eq!(ask().await, (None, None, false));
        std::fs::create_dir(&place).unwrap();
        let write = |key: &str, value: &str| std::fs::write(place.join(key), value).unwrap();
        write("token", "s3cret");
        let limited = with(200, &[("x-ratelimit-remaining", "42")], "[]");
        fake.next([Some(Mishap::Instead(limited))]);
        let unlisted = Some(CommitSource::Unlisted);
        assert_eq!(ask().await, (None, unlisted, false), "nobody, with a token");
        assert_eq!(github.remaining.get(), Some(42));
        write("githubAppPrivateKey", KEY);
        write("githubAppID", &APP.to_string());
        assert_eq!(ask().await, (Some(APP), unlisted, true));
        assert_eq!(github.remaining.get(), None, "another credential");
        fake.lines();
        std::fs::remove_dir_all(&place).unwrap();
        assert_eq!(ask().await, (Some(APP), None, false));
        assert_eq!(fake.lines(), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn github_opens_pull_requests_with_the_keys_that_are_there() {
        let keys = tempfile::tempdir().unwrap();
        let place = keys.path().join("mounted");
        let (github, fake) = on_github(&place);
        let opener = github.own_pull_requests.unwrap();
        let find = async || {
            opener
                .find("change", "main")
                .await
                .map_err(|error| error.class())
        };
        assert!(find().await.is_err());
        std::fs::create_dir(&place).unwrap();
        let write = |key: &str, value: &str| std::fs::write(place.join(key), value).unwrap();
        write("token", "s3cret");
        assert_eq!(find().await, Ok(None));
        let [by_token] = &fake.requests()[..] else {
            unreachable!("one request");
        };
        assert_eq!(by_token.header("authorization"), "Bearer s3cret");
        write("githubAppPrivateKey", KEY);
        write("githubAppID", &APP.to_string());
        assert_eq!(find().await, Ok(None));
        let by_app = fake.requests().pop().unwrap();
        assert_eq!(by_app.header("authorization"), "Bearer ghs_1");
    }

    #[tokio::test]
    async fn where_no_pull_requests_can_be_opened_the_settings_are_refused() {
        let cluster = kube::Config::new("http://localhost:1".parse().unwrap());
        let cluster = Cluster::try_from(cluster).unwrap();
        let place = crate::settings::SourceCredential::Directory("/nowhere".into());
        let environment = crate::settings::Environment::default();
        let mut settings = SyncConfig::source("https://git.corp/o/r", None, &environment);
        let refusal = |settings: &SyncConfig, ports: Option<&ForgePorts>| {
            let found = own_pull_requests(settings, ports).map(drop);
            found.err().map(|error| (error.class(), error.to_string()))
        };
        let none = "spec.checks names no forge, and pull requests can be opened on GitHub, Gitea and Forgejo alone; set \
             spec.checks.provider";
        let none = (ErrorClass::Invalid, none.to_owned());
        assert_eq!(refusal(&settings, None), Some(none));
        for provider in ForgeKind::ALL {
            let repository = provider.web_address("https://git.corp", "p/r");
            settings.forge = Some(ForgeConfig {
                credential: Some(place.clone()),
                ..config(provider, Some(&repository), None)
            });
            let ports = forge_ports(&settings, &cluster).await.unwrap();
            let name = provider.name();
            let expected = format!(
                "spec.checks.provider: pull requests can be opened on GitHub, Gitea and Forgejo alone, not on {name}"
            );
            let expected =
                (!provider.opens_pull_requests()).then_some((ErrorClass::Invalid, expected));
            assert_eq!(refusal(&settings, ports.as_ref()), expected);
        }
    }
}
