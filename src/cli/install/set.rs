//! The objects of a component, by the flags.
//!
//! In: flags and the fleets that they name. Out: the definitions of kinds, and the objects, in the order to apply them. It does
//! not know whether they are printed, applied, removed or checked.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::Value as Json;

use crate::adapters::git::directory;
use crate::admission::{Installation, manifests};
use crate::api::crds;
use crate::cli::args::{AroMode, OnFailure};
use crate::cli::ui::Ui;
use crate::compile::compile;
use crate::install::{self, Applied, DaemonSettings};
use crate::model::{RepositoryUrl, is_dns_label};
use crate::settings::{self, Environment, FleetOwner, SyncConfig};

/// What decides which rights a component needs.
#[derive(Debug, Args)]
pub(in crate::cli) struct SetArgs {
    /// The directories of the daemon's fleets, or files of them: its role has their kinds [default: the kinds that
    /// definitions become]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// An additional directory of Overlay documents of those fleets; may be repeated
    #[arg(long, value_name = "DIR")]
    overlays: Vec<PathBuf>,
    /// The component to install
    #[arg(long, value_enum, default_value_t, value_name = "COMPONENT")]
    pub(in crate::cli) component: Component,
    /// A Fleet document that the daemon follows; may be repeated. It is printed as an object, and the role has the Secrets
    /// that it names
    #[arg(long, value_name = "FILE")]
    fleet: Vec<PathBuf>,
    /// Whether the daemon runs the ARO controllers
    #[arg(long, value_enum, default_value_t = AroMode::Auto, value_name = "MODE")]
    aro: AroMode,
    /// The namespace to install it in; that of the webhook must exist [default: CAPSTAN_NAMESPACE, else capstan-system]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<String>,
}

/// What does not.
#[derive(Debug, Args)]
pub(in crate::cli) struct PodArgs {
    /// The container image of Capstan. The default is a placeholder: set an image that your cluster can pull
    #[arg(long, default_value = IMAGE, value_name = "IMAGE", value_parser = image)]
    image: String,
    /// How many pods it has
    #[arg(long, default_value_t = 2, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    replicas: u16,
    /// What happens to a change that cannot be checked
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    failure_policy: OnFailure,
    /// A user whose changes are not checked; may be repeated [default: the service account `capstan` of the namespace,
    /// for a daemon that applies what it has checked]
    #[arg(long, value_name = "USER", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    exempt: Vec<String>,
}

impl Default for PodArgs {
    fn default() -> Self {
        Self {
            image: IMAGE.to_owned(),
            replicas: 2,
            failure_policy: OnFailure::Fail,
            exempt: Vec::new(),
        }
    }
}

const IMAGE: &str = concat!("registry.example.com/capstan:", env!("CARGO_PKG_VERSION"));

/// A component as it is installed.
pub(in crate::cli) struct Set {
    /// The definitions of its kinds.
    pub(in crate::cli) definitions: Vec<Json>,
    /// The other objects.
    pub(in crate::cli) objects: Vec<Json>,
    /// The namespace of the component.
    pub(in crate::cli) namespace: String,
    /// Fleets may be in its namespace.
    pub(in crate::cli) has_fleets: bool,
}

/// A part of Capstan that runs in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Component {
    /// The daemon, which follows the Fleet objects of its namespace
    #[default]
    Daemon,
    /// The ARO controllers alone
    Controllers,
    /// The admission webhook
    Admission,
}

/// The name of a namespace.
pub(in crate::cli) fn namespace(text: &str) -> Result<String, String> {
    match is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "a namespace has at most 63 lower-case letters, digits and hyphens, and starts and ends with a letter or digit; {text:?} does not"
        )),
    }
}

/// The name of an image.
fn image(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(char::is_whitespace) {
        true => Err("an image has no spaces and is not empty".to_owned()),
        false => Ok(text.to_owned()),
    }
}

impl Set {
    /// The objects that the flags mean.
    pub(in crate::cli) fn read(
        args: &SetArgs,
        pods: &PodArgs,
        environment: &Environment,
        ui: &Ui,
    ) -> anyhow::Result<Self> {
        let namespace = args.namespace(environment)?;
        anyhow::ensure!(
            args.component == Component::Daemon || args.fleet.is_empty() && args.paths.is_empty(),
            "fleets are the daemon's: use --component daemon"
        );
        let objects = match args.component {
            Component::Daemon => daemon(args, pods, &namespace, environment, ui)?,
            Component::Controllers => {
                let component = component("capstan-controllers", &namespace, pods);
                install::controllers(&component, pods.replicas)
            }
            Component::Admission => admission(pods, &namespace),
        };
        let definitions = match args.component {
            Component::Admission => Vec::new(),
            Component::Daemon if args.aro == AroMode::Off => vec![crds::fleets()],
            Component::Daemon | Component::Controllers => crds::crds(),
        };
        Ok(Self {
            definitions,
            objects,
            namespace,
            has_fleets: args.component == Component::Daemon,
        })
    }

    /// All that `install` may make of a component in a namespace.
    pub(in crate::cli) fn everything(component: Component, namespace: &str) -> Vec<Json> {
        let pods = PodArgs::default();
        match component {
            Component::Daemon => {
                let component = self::component("capstan", namespace, &pods);
                let settings = DaemonSettings {
                    applied: install::default_kinds(),
                    replicas: pods.replicas,
                    ..DaemonSettings::default()
                };
                install::daemon(&component, &settings)
            }
            Component::Controllers => {
                let component = self::component("capstan-controllers", namespace, &pods);
                install::controllers(&component, pods.replicas)
            }
            Component::Admission => admission(&pods, namespace),
        }
    }
}

impl SetArgs {
    /// The namespace of the component.
    fn namespace(&self, environment: &Environment) -> anyhow::Result<String> {
        let name = self.namespace.as_ref().unwrap_or(&environment.namespace);
        namespace(name).map_err(|why| anyhow::anyhow!("CAPSTAN_NAMESPACE: {why}"))
    }
}

fn component(name: &'static str, namespace: &str, pods: &PodArgs) -> install::Component {
    install::Component {
        name,
        namespace: namespace.to_owned(),
        image: pods.image.clone(),
    }
}

fn daemon(
    args: &SetArgs,
    pods: &PodArgs,
    namespace: &str,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Vec<Json>> {
    let mut settings = DaemonSettings {
        applied: applied(args, ui)?,
        aro: args.aro.into(),
        replicas: pods.replicas,
        ..DaemonSettings::default()
    };
    for file in &args.fleet {
        let (mut object, fleet) = settings::fleet(file).context("--fleet")?;
        let written = object["metadata"]["namespace"].as_str();
        anyhow::ensure!(
            written.is_none_or(|written| written == namespace),
            "--fleet {}: the daemon follows the Fleets of its namespace {namespace} alone",
            file.display()
        );
        object["metadata"]["namespace"] = Json::from(namespace);
        let usable = SyncConfig::object(&object, FleetOwner::Platform, environment);
        let config = usable.with_context(|| format!("--fleet {}", file.display()))?;
        anyhow::ensure!(
            config.directory.is_none() && !RepositoryUrl::split(&config.url).is_local(),
            "--fleet {}: the source of a Fleet object is a repository on a server, such as https://host/path",
            file.display()
        );
        settings.secrets.extend(fleet.secrets().map(str::to_owned));
        settings.fleets.push(object);
    }
    settings.secrets.sort();
    settings.secrets.dedup();
    let component = component("capstan", namespace, pods);
    Ok(install::daemon(&component, &settings))
}

/// The kinds of these fleets; without any, those that definitions become.
fn applied(args: &SetArgs, ui: &Ui) -> anyhow::Result<Applied> {
    if args.paths.is_empty() {
        return Ok(install::default_kinds());
    }
    let mut all = Applied::default();
    for path in &args.paths {
        let tree = directory::read(path)?;
        let overlays = args.overlays.iter();
        let overlays = overlays.map(|dir| directory::read_beside(dir, Some(path)));
        let overlays = overlays
            .collect::<Result<Vec<_>, _>>()
            .context("--overlays")?;
        let compiled = compile(&tree, &overlays);
        anyhow::ensure!(
            !compiled.has_errors(),
            "{} has errors, so its kinds are not known: run `capstan validate {}`",
            path.display(),
            path.display()
        );
        let kinds = install::applied_kinds(&compiled.objects, &compiled.embedded());
        all.written.extend(kinds.written);
        all.read.extend(kinds.read);
        all.guessed.extend(kinds.guessed);
    }
    for (group, plural) in &all.guessed {
        ui.message(&format!(
            "the plural `{plural}` of a kind of {group} is a guess: compare it with `kubectl api-resources --api-group {group}`"
        ));
    }
    Ok(all)
}

fn admission(pods: &PodArgs, namespace: &str) -> Vec<Json> {
    let exempt = match pods.exempt.as_slice() {
        [] => vec![format!("system:serviceaccount:{namespace}:capstan")],
        users => users.to_vec(),
    };
    manifests(&Installation {
        namespace: namespace.to_owned(),
        image: pods.image.clone(),
        replicas: pods.replicas,
        failure_policy: pods.failure_policy.into(),
        exempt,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kubernetes_refuses_are_refused() {
        assert_eq!(namespace("capstan-system").as_deref(), Ok("capstan-system"));
        assert!(namespace("bad ns").is_err() && namespace("").is_err());
        assert_eq!(image("a/b:c").as_deref(), Ok("a/b:c"));
        assert!(image("").is_err() && image("a b").is_err());
    }
}
