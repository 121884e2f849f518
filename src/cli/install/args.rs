//! The flags that choose a component and its objects.
//!
//! In: the command line. Out: checked values. It does not know what the objects look like.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::args::{AroMode, OnFailure};
use crate::cli::private_link::PlaceArgs;
use crate::install::PrivateLinkPart;
use crate::model::{Namespaces, is_dns_label, is_dns_subdomain};
use crate::settings::Environment;

/// The flags that decide which rights a component needs.
#[derive(Debug, Args)]
pub(in crate::cli) struct SetArgs {
    /// The directories of the daemon's fleets, or files of them: its role has their kinds [default: the kinds that
    /// definitions become; for a service provider those that requests become]
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// An additional directory of Overlay documents of those fleets; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// The component to install
    #[arg(long, value_enum, default_value_t, value_name = "COMPONENT")]
    pub(in crate::cli) component: Component,
    /// A Fleet document that the daemon follows; may be repeated. It is printed as an object, and the role has the Secrets
    /// that it names. A service provider needs exactly one, which has spec.serviceProvider and is printed in a ConfigMap
    #[arg(long, value_name = "FILE")]
    pub(super) fleet: Vec<PathBuf>,
    /// Whether the daemon runs the ARO controllers [default: auto; for a service provider spec.controllers.aro of the Fleet document]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) aro: Option<AroMode>,
    /// The namespace to install it in; that of the webhook must exist. Required for a tenant [default: CAPSTAN_NAMESPACE, else capstan-system]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<String>,
    /// The account that the Fleets of a tenant's namespace act as
    #[arg(long, default_value = DEPLOYER, value_name = "NAME", value_parser = account)]
    pub(super) service_account: String,
    /// The namespace of the daemon that follows a tenant's Fleets [default: CAPSTAN_NAMESPACE, else capstan-system]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    daemon_namespace: Option<String>,
    #[command(flatten)]
    pub(super) watched: WatchArgs,
    #[command(flatten)]
    pub(super) place: PlaceArgs,
}

/// The most namespaces that the ARO controllers watch one by one: each has a watch for every kind.
const MOST_WATCHED: usize = 32;

/// The flag that says where the ARO controllers work.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct WatchArgs {
    /// A namespace that the ARO controllers watch; may be repeated. They neither read nor write objects of others [default: the
    /// whole cluster]
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    watch_namespace: Vec<String>,
}

impl WatchArgs {
    /// The namespaces in which the controllers work.
    pub(in crate::cli) fn namespaces(&self) -> anyhow::Result<Namespaces> {
        if self.watch_namespace.is_empty() {
            return Ok(Namespaces::All);
        }
        let names: BTreeSet<String> = self.watch_namespace.iter().cloned().collect();
        anyhow::ensure!(
            names.len() <= MOST_WATCHED,
            "--watch-namespace: {} namespaces are more than the {MOST_WATCHED} that are watched one by one; leave the flag out to watch the whole cluster, or run several processes for some namespaces each",
            names.len()
        );
        Ok(Namespaces::Some(names))
    }
}

/// The account of a tenant's Fleets, by default.
pub(in crate::cli) const DEPLOYER: &str = "deployer";

/// The other flags of a component.
#[derive(Debug, Args)]
pub(in crate::cli) struct PodArgs {
    /// The container image of Capstan. The default is a placeholder: set an image that your cluster can pull
    #[arg(long, default_value = IMAGE, value_name = "IMAGE", value_parser = image)]
    pub(super) image: String,
    /// How many pods it has [default: 2; 1 for a service provider, of which one pod takes requests that write]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    replicas: Option<u16>,
    /// What happens to a change that cannot be checked
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub(super) failure_policy: OnFailure,
    /// A user whose changes are not checked; may be repeated [default: the service account `capstan` of the namespace,
    /// for a daemon that applies what it has checked]
    #[arg(long, value_name = "USER", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) exempt: Vec<String>,
    /// Another namespace whose Fleets the daemon follows, as `install --component tenant` prepares it; may be repeated
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub(super) tenant: Vec<String>,
    /// The account that a tenant's Fleet acts as if it names none
    #[arg(long, value_name = "NAME", value_parser = account)]
    pub(super) default_service_account: Option<String>,
    /// Add a NetworkPolicy that lets nothing reach the pods but the ports that they serve
    #[arg(long)]
    pub(super) network_policy: bool,
}

impl PodArgs {
    /// The number of pods of a component.
    pub(super) fn replicas(&self, component: Component) -> u16 {
        let default = if component == Component::ServiceProvider {
            1
        } else {
            2
        };
        self.replicas.unwrap_or(default)
    }

    /// Returns true if no image was chosen.
    pub(super) fn has_placeholder(&self) -> bool {
        self.image == IMAGE
    }
}

impl Default for PodArgs {
    fn default() -> Self {
        Self {
            image: IMAGE.to_owned(),
            replicas: None,
            failure_policy: OnFailure::Fail,
            exempt: Vec::new(),
            tenant: Vec::new(),
            default_service_account: None,
            network_policy: false,
        }
    }
}

const IMAGE: &str = concat!("registry.example.com/capstan:", env!("CARGO_PKG_VERSION"));

/// A part of Capstan that runs in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Component {
    /// The daemon, which follows the Fleet objects of its namespace
    #[default]
    Daemon,
    /// A service provider, and the daemon of its Fleet document
    ServiceProvider,
    /// The ARO controllers alone
    Controllers,
    /// The controller that describes the connections of private hosted clusters
    PrivateLinkObserver,
    /// The controller that makes their Private Link Services
    PrivateLinkPlatform,
    /// The controller that makes their Private Endpoints and DNS zones
    PrivateLinkEndpoint,
    /// The admission webhook
    Admission,
    /// A namespace with Fleets outside the daemon's: an account that they act as, and the daemon's rights there
    Tenant,
}

impl Component {
    /// The controller of private clusters, if it is one.
    pub(super) const fn private_link(self) -> Option<PrivateLinkPart> {
        match self {
            Self::PrivateLinkObserver => Some(PrivateLinkPart::Observer),
            Self::PrivateLinkPlatform => Some(PrivateLinkPart::Platform),
            Self::PrivateLinkEndpoint => Some(PrivateLinkPart::Endpoint),
            _ => None,
        }
    }

    pub(super) fn has_pods(self) -> bool {
        self != Self::Tenant
    }
}

/// The name of a namespace.
pub(in crate::cli) fn namespace(text: &str) -> Result<String, String> {
    if is_dns_label(text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "a namespace has at most 63 lower-case letters, digits and hyphens, and starts and ends with a letter or digit; {text:?} does not"
    ))
}

/// The name of a service account.
pub(in crate::cli) fn account(text: &str) -> Result<String, String> {
    if is_dns_subdomain(text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "the name of a service account has lower-case letters, digits, hyphens and dots; {text:?} has not"
    ))
}

/// The name of an image.
fn image(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err("an image has no spaces and is not empty".to_owned());
    }
    Ok(text.to_owned())
}

impl SetArgs {
    /// The namespace of the component.
    pub(super) fn namespace(&self, environment: &Environment) -> anyhow::Result<String> {
        resolved(self.namespace.as_ref(), environment)
    }

    /// The namespace of the daemon.
    pub(super) fn daemon_namespace(&self, environment: &Environment) -> anyhow::Result<String> {
        resolved(self.daemon_namespace.as_ref(), environment)
    }

    /// Refuses an installation without what the component needs to run.
    pub(super) fn require(&self) -> anyhow::Result<()> {
        match self.component.private_link() {
            Some(PrivateLinkPart::Platform) => self.place.require(),
            _ => Ok(()),
        }
    }

    /// Refuses flags that say nothing about the component.
    pub(super) fn check(&self, pods: &PodArgs) -> anyhow::Result<()> {
        let (component, is_tenant) = (self.component, self.component == Component::Tenant);
        let is_provider = component == Component::ServiceProvider;
        anyhow::ensure!(
            component == Component::Daemon
                || is_tenant
                || is_provider
                || self.fleet.is_empty() && self.paths.is_empty(),
            "fleets are the daemon's, a tenant's or a service provider's: use --component daemon, tenant or service-provider"
        );
        anyhow::ensure!(
            !is_provider || self.fleet.len() == 1,
            "--component service-provider needs --fleet FILE once: the Fleet document with its settings"
        );
        anyhow::ensure!(
            is_tenant || self.service_account == DEPLOYER && self.daemon_namespace.is_none(),
            "--service-account and --daemon-namespace are for --component tenant"
        );
        anyhow::ensure!(
            component == Component::Daemon
                || pods.tenant.is_empty() && pods.default_service_account.is_none(),
            "--tenant and --default-service-account are for --component daemon"
        );
        anyhow::ensure!(
            component == Component::Controllers || self.watched.watch_namespace.is_empty(),
            "--watch-namespace is for --component controllers"
        );
        let part = component.private_link();
        self.place
            .check("--component", part == Some(PrivateLinkPart::Platform))?;
        anyhow::ensure!(
            !is_tenant || self.namespace.is_some(),
            "--component tenant needs --namespace, the namespace of the tenant"
        );
        Ok(())
    }
}

/// The namespace of a flag, else that of the environment.
pub(in crate::cli) fn resolved(
    named: Option<&String>,
    environment: &Environment,
) -> anyhow::Result<String> {
    let name = named.unwrap_or(&environment.namespace);
    namespace(name).map_err(|why| anyhow::anyhow!("CAPSTAN_NAMESPACE: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_namespaces_are_watched_one_by_one_up_to_a_limit() {
        let watched = |count: usize| {
            let names = (0..count).chain([0]).map(|number| format!("team-{number}"));
            let args = WatchArgs {
                watch_namespace: names.collect(),
            };
            args.namespaces()
        };
        assert_eq!(
            WatchArgs::default().namespaces().ok(),
            Some(Namespaces::All)
        );
        assert!(watched(MOST_WATCHED).is_ok_and(|names| names.has("team-31")));
        let refused = watched(MOST_WATCHED + 1)
            .err()
            .map(|error| error.to_string());
        assert!(refused.is_some_and(|why| why.contains("33 namespaces are more than the 32")));
    }

    #[test]
    fn names_that_kubernetes_refuses_are_refused() {
        assert_eq!(namespace("capstan-system").as_deref(), Ok("capstan-system"));
        assert!(namespace("bad ns").is_err() && namespace("").is_err());
        assert_eq!(image("a/b:c").as_deref(), Ok("a/b:c"));
        assert!(image("").is_err() && image("a b").is_err());
    }
}
