//! `capstan run`: the daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{ArgGroup, Args};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::args::{AroMode, duration};
use super::cluster::{Cluster, ClusterArgs};
use super::exit::Exit;
use super::fleet_objects;
use super::live::Live;
use super::live::layout::Picture;
use super::log_lines::LogArgs;
use super::private_link::{self, SimulatedPrivateLinks};
use super::signals::stop_when_asked;
use super::ui::Ui;
use crate::adapters::admission::Names;
use crate::adapters::git;
use crate::adapters::kubernetes::{Error, Sharers, Target, act_as, connect_by_secret};
use crate::api::fleet::{GitReference, PULL_REQUESTS};
use crate::daemon::{
    self, AdmissionServer, Endpoint, ProviderEndpoint, Setup, View, Writer, fleet_span,
};
use crate::model::{Namespaces, TagRange};
use crate::settings::{Environment, SourceCredential, SyncConfig};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("from").required(true).args(["config", "source", "directory", "fleets"]))]
pub(super) struct RunArgs {
    /// A Fleet document
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// A git repository: https://host/path, ssh://user@host/path, user@host:path, file:///path or a path
    #[arg(long, value_name = "URL")]
    pub(super) source: Option<String>,
    /// A directory that another program keeps up to date, such as git-sync: a link to a checkout, a mounted
    /// ConfigMap, a clone or a plain directory
    #[arg(long, value_name = "DIR")]
    pub(super) directory: Option<PathBuf>,
    /// Follow all Fleet objects of the namespace CAPSTAN_NAMESPACE, also those that come later. Each reports in its status
    #[arg(long, conflicts_with_all = ["embedded", "path", "overlays", "interval", "candidates", "branch", "tag", "semver", "commit", "source_credential", "webhook_secret", "status_file"])]
    pub(super) fleets: bool,
    #[command(flatten)]
    pub(super) objects: fleet_objects::FleetsArgs,
    /// The branch to follow, with --source [default: the repository's own]
    #[arg(long, conflicts_with_all = ["config", "directory"], group = "ref")]
    pub(super) branch: Option<String>,
    /// The tag to follow, with --source
    #[arg(long, conflicts_with_all = ["config", "directory"], group = "ref")]
    pub(super) tag: Option<String>,
    /// Follow the tag with the highest version in this range, with --source, such as `1.x` or `>=1.2 <2`
    #[arg(long, value_name = "RANGE", conflicts_with_all = ["config", "directory"], group = "ref", value_parser = range)]
    pub(super) semver: Option<String>,
    /// The commit to apply, with --source
    #[arg(long, value_name = "ID", conflicts_with_all = ["config", "directory"], group = "ref")]
    pub(super) commit: Option<String>,
    /// A directory with the credential for the repository, in files named as the keys of a Secret: username and
    /// password, bearerToken, identity and known_hosts, ca.crt, tls.crt and tls.key [default: that of
    /// CAPSTAN_SOURCE_CREDENTIAL]
    #[arg(long, value_name = "DIR", conflicts_with = "directory")]
    pub(super) source_credential: Option<PathBuf>,
    /// A directory with the credential of the forge that spec.checks names, in files named as the keys of a Secret:
    /// token and ca.crt [default: that of CAPSTAN_CHECKS_CREDENTIAL]
    #[arg(long, value_name = "DIR", requires = "config")]
    pub(super) checks_credential: Option<PathBuf>,
    /// The fleet's path in the repository or directory, with --source or --directory
    #[arg(long, default_value = "", conflicts_with = "config")]
    pub(super) path: String,
    /// A directory of Overlay documents on this machine; may be repeated. Directories in the repository are
    /// named in the Fleet document
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// How often to look for changes, with --source or --directory [default: 1s for a repository on this machine,
    /// 30s for a directory, which is watched as well, else 1m]
    #[arg(long, value_parser = interval, conflicts_with = "config")]
    pub(super) interval: Option<Duration>,
    /// Refs whose commits get a plan check, with --source; may be repeated
    #[arg(long, value_name = "GLOB", default_values = PULL_REQUESTS, conflicts_with_all = ["config", "directory"])]
    pub(super) candidates: Vec<String>,
    /// Serve /healthz, /readyz and /metrics there, and webhooks if they have a secret or belong to Fleet objects: HOST:PORT, or :PORT
    /// for all addresses [default: spec.serve.address, if the Fleet document has spec.serve]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) serve: Option<String>,
    /// A directory with the secrets of webhooks, in files named as the keys of a Secret: token and username
    /// [default: the Secret of spec.checks.webhookSecretRef]
    #[arg(long, value_name = "DIR")]
    pub(super) webhook_secret: Option<PathBuf>,
    /// A directory with the secrets of the service provider, in files named as the keys of a Secret: tokens, tls.crt and tls.key,
    /// .dockerconfigjson, identity [default: the Secrets of spec.serviceProvider]
    #[arg(long, value_name = "DIR", requires = "config")]
    pub(super) service_provider_secrets: Option<PathBuf>,
    /// Whether to run the ARO controllers [default: spec.controllers.aro of the Fleet document, else auto]
    #[arg(long, value_enum, value_name = "MODE", conflicts_with = "embedded")]
    pub(super) aro: Option<AroMode>,
    /// Where to write the checks of a followed directory; must be outside that directory [default: a file in
    /// CAPSTAN_CACHE, which is named at the start]
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    pub(super) status_file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) log: LogArgs,
}

/// The shortest time between two drawings.
const FRAME: Duration = Duration::from_millis(100);
/// The time between two looks at clocks and the size of the terminal.
const TICK: Duration = Duration::from_millis(250);
/// The time that threads which still run have at the end.
pub(super) const LEAVE: Duration = Duration::from_secs(2);

/// Runs until SIGTERM or SIGINT.
pub(super) fn run(args: &RunArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    daemon::report_fault(environment);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = match args.fleets {
        true => runtime.block_on(fleet_objects::follow(
            &args.objects,
            (&args.cluster, args.aro, args.serve.as_deref()),
            environment,
            ui,
        )),
        false => {
            let config = sync_config(args, environment)?;
            let span = fleet_span(&config.namespace, &config.fleet);
            let following = follow(config, &args.cluster, environment, ui);
            runtime.block_on(following.instrument(span))
        }
    };
    // A repository that does not answer must not hold the end up.
    runtime.shutdown_timeout(LEAVE);
    exit
}

/// A duration that does not keep a processor busy with looking.
fn interval(text: &str) -> Result<Duration, String> {
    let least = Duration::from_millis(100);
    duration(text).and_then(|interval| {
        if interval < least {
            Err("the minimum is 100ms".to_owned())
        } else {
            Ok(interval)
        }
    })
}

/// A range of versions.
fn range(text: &str) -> Result<String, String> {
    text.parse::<TagRange>().map(|range| range.to_string())
}

fn sync_config(args: &RunArgs, environment: &Environment) -> anyhow::Result<SyncConfig> {
    let mut config = match &args.config {
        Some(file) => SyncConfig::file(file, environment)?,
        None => by_flags(args, environment),
    };
    match &config.directory {
        Some(_) if config.follows_nothing => {}
        Some(directory) => outside(args, &environment.cache, directory)?,
        None => git::check_address(&config.url)?,
    }
    anyhow::ensure!(
        config.directory.is_some() || args.status_file.is_none(),
        "--status-file: the source is a repository, whose checks go to its commits"
    );
    config.status_file.clone_from(&args.status_file);
    let program = std::env::current_exe().context("cannot find the program of this process")?;
    config.fork_planner = Some(program);
    for dir in &args.overlays {
        anyhow::ensure!(
            dir.is_dir(),
            "--overlays {}: no such directory",
            dir.display()
        );
    }
    config.local_overlays.clone_from(&args.overlays);
    if let Some(directory) = &args.source_credential {
        config.credential = Some(SourceCredential::Directory(directory.clone()));
    }
    if let Some(mode) = args.aro {
        config.controllers.aro = mode.into();
    }
    if let Some(directory) = &args.webhook_secret {
        config.webhook_secret = Some(SourceCredential::Directory(directory.clone()));
    }
    if let Some(directory) = &args.service_provider_secrets {
        let provider = config.provider.as_mut();
        let provider = provider.context(
            "--service-provider-secrets: the Fleet document has no spec.serviceProvider",
        )?;
        provider.secrets = Some(SourceCredential::Directory(directory.clone()));
        provider.signing_key = Some(SourceCredential::Directory(directory.clone()));
    }
    config.serve = args.serve.clone().or(config.serve);
    anyhow::ensure!(
        config.admission.is_none() || !config.is_check_only(),
        "spec.serve.admission needs spec.mode: apply: the webhook writes to the cluster"
    );
    anyhow::ensure!(
        config.serve.is_some() || config.webhook_secret.is_none(),
        "the webhooks have a secret, but no address to arrive at: set spec.serve.address in the Fleet document, or --serve"
    );
    if let Some(directory) = &args.checks_credential {
        let forge = config.forge.as_mut();
        let forge = forge.context("--checks-credential: spec.checks.provider names no forge")?;
        forge.credential = Some(SourceCredential::Directory(directory.clone()));
    }
    Ok(config)
}

/// The settings by flags, without a Fleet document.
fn by_flags(args: &RunArgs, environment: &Environment) -> SyncConfig {
    let config = match &args.directory {
        Some(directory) => SyncConfig::directory(directory, environment),
        None => {
            let url = args.source.as_deref().unwrap_or_default();
            SyncConfig {
                candidates: args.candidates.clone(),
                ..SyncConfig::source(url, reference(args), environment)
            }
        }
    };
    SyncConfig {
        path: args.path.clone(),
        interval: args.interval.unwrap_or(config.interval),
        ..config
    }
}

/// Refuses a place for Capstan's own files in the directory that it follows: it would follow itself.
fn outside(args: &RunArgs, cache: &Path, directory: &Path) -> anyhow::Result<()> {
    let directory = real(directory)?;
    // The whole checkout, if the directory is a part of one.
    let checkout = git::directory::root(&directory).unwrap_or_else(|_| directory.clone());
    let help = "which is in the directory that is followed; choose one outside of";
    if let Some(file) = &args.status_file {
        anyhow::ensure!(
            !real(file)?.starts_with(&checkout),
            "--status-file: the file is {}, {help} {}",
            file.display(),
            checkout.display()
        );
    }
    anyhow::ensure!(
        !real(cache)?.starts_with(&directory),
        "CAPSTAN_CACHE is {}, {help} {}",
        cache.display(),
        directory.display()
    );
    Ok(())
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    let found = whole.ancestors().find_map(|above| {
        let there = std::fs::canonicalize(above).ok()?;
        Some(there.join(whole.strip_prefix(above).ok()?))
    });
    Ok(found.unwrap_or(whole))
}

/// The reference that is followed, if it is not the default branch.
fn reference(args: &RunArgs) -> Option<GitReference> {
    let reference = GitReference {
        branch: args.branch.clone(),
        tag: args.tag.clone(),
        semver: args.semver.clone(),
        commit: args.commit.clone(),
    };
    let is_set = [
        &reference.branch,
        &reference.tag,
        &reference.semver,
        &reference.commit,
    ];
    is_set.iter().any(|one| one.is_some()).then_some(reference)
}

async fn follow(
    config: SyncConfig,
    args: &ClusterArgs,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let stop = stop_when_asked();
    let Opened {
        cluster,
        access,
        endpoint,
        forge,
        provider,
    } = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(Exit::Fine),
        opened = open(&config, args, environment, ui) => opened?,
    };
    let (sender, view) = watch::channel(View::default());
    let speed = match &cluster {
        Cluster::Real(_) => 1,
        Cluster::Simulated(_) => args.speed,
    };
    announce(&config, speed, ui);
    if let Some(endpoint) = &endpoint {
        ui.message(&endpoint.shown());
    }
    if let Some(provider) = &provider {
        ui.message(&provider.shown());
    }
    let served = cluster.serve(&environment.cache, &config.fleet).await;
    match &served {
        Ok(None) => {}
        Ok(Some(served)) => ui.message(&format!(
            "the simulated cluster: capstan status, why, sync, suspend and resume find it, as does `kubectl --kubeconfig {}`",
            served.kubeconfig.display()
        )),
        Err(error) => ui.error(&format!("the simulated cluster is not served: {error:#}")),
    }
    let controllers = controllers(&config, &cluster, environment);
    let links = private_link::start(&config, &cluster, environment);
    let _admission = admission(&config, &cluster, ui).await?;
    let _supplying = cluster.supply_revisions(view.clone());
    let shown = show(view, ui, speed);
    let writer = writer(&config, &cluster, environment);
    let setup = Setup {
        config,
        access,
        endpoint,
        hints: None,
        forge,
        holder: writer.as_ref().map(Writer::holder),
        provider,
    };
    let daemon = daemon::run_with(setup, cluster.target().clone(), sender, stop);
    // The view ends with the daemon.
    let (ended, ()) = tokio::join!(daemon, shown);
    if let Some(writer) = writer {
        writer.release().await;
    }
    for controllers in controllers.into_iter().chain(links) {
        controllers.stop().await;
    }
    ended?;
    ui.message("stopped");
    Ok(Exit::Fine)
}

/// Says what is followed, and where checks go.
fn announce(config: &SyncConfig, speed: u32, ui: &Ui) {
    let time = match speed {
        1 => String::new(),
        _ => format!("; the simulated cluster runs {speed} times faster than real time"),
    };
    let mode = match config.is_check_only() {
        true => "; nothing is applied (spec.mode: check)",
        false => "",
    };
    if config.follows_nothing {
        let fleet = &config.fleet;
        return ui.message(&format!(
            "fleet {fleet}: no source; its service provider writes to the hub{time}"
        ));
    }
    ui.message(&format!(
        "fleet {}: following {}{time}{mode}",
        config.fleet,
        git::shown(&config.url)
    ));
    if config.directory.is_some() {
        let file = daemon::status_file(config);
        let which = match &config.forge {
            Some(_) => "checks of revisions that are no commits",
            None => "checks",
        };
        ui.message(&format!("{which} are written to {}", file.display()));
    }
}

/// The controllers that a real cluster needs. A simulated one has its own.
fn controllers(
    config: &SyncConfig,
    cluster: &Cluster,
    environment: &Environment,
) -> Option<Sharers> {
    let Cluster::Real(target) = cluster else {
        return None;
    };
    if config.is_check_only() {
        return None;
    }
    let (fleet, settle) = (&config.fleet, config.settle);
    daemon::controllers(
        target,
        config.controllers,
        settle,
        fleet,
        environment,
        &Namespaces::All,
    )
}

/// The right to write the fleet on a real cluster, which other processes may want, too. A simulated one is of this process.
fn writer(config: &SyncConfig, cluster: &Cluster, environment: &Environment) -> Option<Writer> {
    let Cluster::Real(target) = cluster else {
        return None;
    };
    let writes = !config.is_check_only();
    writes.then(|| Writer::take(target, config, environment))
}

/// The admission webhook of a real cluster, if the Fleet document asks for one. A simulated cluster calls none.
async fn admission(
    config: &SyncConfig,
    cluster: &Cluster,
    ui: &Ui,
) -> anyhow::Result<Option<AdmissionServer>> {
    let Some(settings) = &config.admission else {
        return Ok(None);
    };
    let Cluster::Real(target) = cluster else {
        ui.message("spec.serve.admission is ignored: the simulated cluster calls no webhook");
        return Ok(None);
    };
    let names = Names::in_namespace(&config.namespace);
    let policy = config.policy.clone();
    let server = AdmissionServer::start(target, settings, policy, names).await;
    let server = server.context("spec.serve.admission")?;
    let address = server.address();
    ui.message(&format!("the admission webhook listens on {address}"));
    Ok(Some(server))
}

/// The parts that the daemon works with.
struct Opened {
    /// The cluster that the fleet is applied to.
    cluster: Cluster,
    /// The access to its repository.
    access: git::Access,
    /// The port.
    endpoint: Option<Endpoint>,
    /// The forge that checks go to, if not into git notes.
    forge: Option<daemon::ForgePorts>,
    /// The service provider's port.
    provider: Option<ProviderEndpoint>,
}

/// Opens what `config` names. A simulated cluster replaces any other.
async fn open(
    config: &SyncConfig,
    args: &ClusterArgs,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Opened> {
    // What is only checked needs a cluster for nothing but its Secrets.
    let cluster = match config.is_check_only() && !config.reads_secrets() && !args.embedded {
        true => Cluster::absent(),
        false => {
            let links = SimulatedPrivateLinks::of(&config.policy, &environment.namespace);
            Cluster::open(args, config.settle, &links).await?
        }
    };
    let client = &cluster.target().client;
    let access = daemon::source_access(config, client);
    let endpoint = Endpoint::open(config, client).await?;
    let forge = daemon::forge_ports(config, client).await?;
    let provider = ProviderEndpoint::open(config, client, forge.as_ref()).await?;
    let opened = |cluster| Opened {
        cluster,
        access,
        endpoint,
        forge,
        provider,
    };
    if let (Cluster::Real(target), Some(account), false) =
        (&cluster, &config.service_account, config.is_check_only())
    {
        let target = Target {
            account: act_as(client, &config.namespace, account).await?,
            is_confined: true,
            ..target.clone()
        };
        return Ok(opened(Cluster::Real(target)));
    }
    let secret = config.kubeconfig_secret.as_ref();
    let secret = secret.filter(|_| !config.is_check_only());
    let (Cluster::Real(target), Some(secret)) = (&cluster, secret) else {
        return Ok(opened(cluster));
    };
    let namespace = &config.namespace;
    ui.message(&format!(
        "fleet {}: using the cluster of Secret/{namespace}/{secret}",
        config.fleet
    ));
    let waits = |error: &Error| ui.error(&format!("{error}; retrying"));
    let client = connect_by_secret(&target.client, namespace, secret, waits).await?;
    let target = Target::new(client, Arc::clone(&target.clock));
    Ok(opened(Cluster::Real(target)))
}

/// Shows the view until its sender is gone. `speed` is how fast its clocks go.
async fn show(view: watch::Receiver<View>, ui: &Ui, speed: u32) {
    let mut live = Live::default();
    let mut shown = BTreeMap::new();
    let mut error = None;
    let draw = |view: &View, age: Duration| {
        shown.retain(|key, _| view.checks.contains_key(key));
        for (key, check) in &view.checks {
            if shown.insert(key.clone(), check.state) != Some(check.state) {
                live.say_check(ui, check);
            }
        }
        if error != view.source_error {
            if let Some(error) = &view.source_error {
                ui.error(&error.to_string());
            }
            error.clone_from(&view.source_error);
        }
        live.draw_later(ui, &picture(view), age * speed);
    };
    frames(view, draw).await;
    ui.leave();
}

/// The picture of a view.
pub(super) fn picture(view: &View) -> Picture<'_> {
    Picture {
        title: &view.title,
        summary: view.summary.as_ref(),
        clusters: &view.clusters,
    }
}

/// Draws the view and how old it is until its sender is gone: whenever it changed, but at most once every
/// [`FRAME`], and every [`TICK`] for its clocks and the size of the terminal.
async fn frames(mut view: watch::Receiver<View>, mut draw: impl FnMut(&View, Duration)) {
    let mut last = View::default();
    let mut since = Instant::now();
    loop {
        tokio::select! {
            biased;
            changed = view.changed() => if changed.is_err() {
                return;
            },
            () = tokio::time::sleep(TICK) => {}
        }
        let now = view.borrow_and_update().clone();
        // A check that changes sets no clock back.
        if (&now.title, &now.clusters) != (&last.title, &last.clusters) {
            since = Instant::now();
        }
        draw(&now, since.elapsed());
        last = now;
        tokio::time::sleep(FRAME).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::model::{AdapterError, ErrorClass};

    #[test]
    fn an_interval_keeps_no_processor_busy() {
        assert!(interval("0s").is_err() && interval("100ms").is_ok());
    }

    /// Draws while `happens` runs; what was drawn when, with its age, in milliseconds.
    async fn drawn<F: Future<Output = ()>>(
        happens: impl FnOnce(watch::Sender<View>) -> F,
    ) -> Vec<(u128, String, u128)> {
        let (sender, view) = watch::channel(View::default());
        let start = Instant::now();
        let mut drawn = Vec::new();
        let draw = |view: &View, age: Duration| {
            drawn.push((
                start.elapsed().as_millis(),
                view.title.clone(),
                age.as_millis(),
            ));
        };
        tokio::join!(frames(view, draw), happens(sender));
        drawn
    }

    #[tokio::test(start_paused = true)]
    async fn what_changes_all_the_time_is_drawn_ten_times_a_second() {
        let drawn = drawn(async |sender| {
            for number in 0..12 {
                tokio::time::sleep(Duration::from_millis(35)).await;
                sender.send_modify(|view| view.title = number.to_string());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        });
        let expected = [(35, "0"), (135, "2"), (235, "5"), (335, "8"), (435, "11")];
        let expected = expected.map(|(at, title)| (at, title.to_owned(), 0));
        assert_eq!(drawn.await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn clocks_go_on_without_events_and_a_check_does_not_set_them_back() {
        let drawn = drawn(async |sender| {
            sender.send_modify(|view| view.title = "one".to_owned());
            tokio::time::sleep(Duration::from_millis(500)).await;
            sender.send_modify(|view| {
                view.source_error = Some(AdapterError::new(ErrorClass::Gone, "gone"))
            });
            tokio::time::sleep(Duration::from_millis(300)).await;
        });
        let expected = [(0, 0), (350, 350), (500, 500)];
        let drawn = drawn.await.into_iter().map(|(at, _, age)| (at, age));
        assert_eq!(drawn.collect::<Vec<_>>(), expected);
    }
}
