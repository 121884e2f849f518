//! The objects of a component, by the flags.
//!
//! In: flags and the fleets that they name. Out: the definitions of kinds, and the objects, in the order to apply them. It does
//! not know whether they are printed, applied, removed or checked.

use serde_json::Value as Json;

use super::args::{Component, PodArgs, SetArgs};
use super::fleets::{applied, fleets};
use super::service_provider;
use crate::admission::{Installation, SERVICE_ACCOUNT, TARGET_PORT, manifests};
use crate::api::crds;
use crate::api::fleet::Mode;
use crate::cli::args::AroMode;
use crate::cli::ui::Ui;
use crate::install::{self, Applied, DaemonSettings, ProviderSettings, SERVICE_PROVIDER, Tenant};
use crate::model::Namespaces;
use crate::settings::{Environment, FleetOwner};

/// A component as it is installed.
pub(in crate::cli) struct Set {
    /// The definitions of its kinds.
    pub(in crate::cli) definitions: Vec<Json>,
    /// The other objects.
    pub(in crate::cli) objects: Vec<Json>,
    /// The namespaces with its Fleets.
    pub(in crate::cli) places: Vec<FleetPlace>,
}

/// A namespace with Fleets.
pub(in crate::cli) struct FleetPlace {
    pub(in crate::cli) namespace: String,
    /// The namespace of their daemon.
    daemon_namespace: String,
    /// The Fleets are those of a tenant.
    is_tenant: bool,
    /// The account of a tenant's Fleets that name none.
    default_account: Option<String>,
}

impl FleetPlace {
    /// The user name of the daemon's account.
    pub(in crate::cli) fn daemon(&self) -> String {
        let (namespace, name) = (&self.daemon_namespace, install::DAEMON);
        format!("system:serviceaccount:{namespace}:{name}")
    }

    /// The people who write the Fleets.
    pub(in crate::cli) fn owner(&self) -> FleetOwner<'_> {
        if !self.is_tenant {
            return FleetOwner::Platform;
        }
        FleetOwner::Tenant {
            default_account: self.default_account.as_deref(),
        }
    }
}

/// The namespaces with the Fleets of a component.
fn places(
    args: &SetArgs,
    pods: &PodArgs,
    namespace: &str,
    environment: &Environment,
) -> anyhow::Result<Vec<FleetPlace>> {
    let daemon_namespace = match args.component {
        Component::Tenant => args.daemon_namespace(environment)?,
        _ => namespace.to_owned(),
    };
    let own = FleetPlace {
        namespace: namespace.to_owned(),
        daemon_namespace: daemon_namespace.clone(),
        is_tenant: args.component == Component::Tenant,
        default_account: Some(args.service_account.clone()),
    };
    let tenants = pods.tenant.iter().map(|namespace| FleetPlace {
        namespace: namespace.clone(),
        daemon_namespace: daemon_namespace.clone(),
        is_tenant: true,
        default_account: pods.default_service_account.clone(),
    });
    Ok(match args.component {
        Component::Daemon => std::iter::once(own).chain(tenants).collect(),
        Component::Tenant => vec![own],
        _ => Vec::new(),
    })
}

impl Set {
    /// The objects that the flags mean.
    pub(in crate::cli) fn read(
        args: &SetArgs,
        pods: &PodArgs,
        environment: &Environment,
        ui: &Ui,
    ) -> anyhow::Result<Self> {
        args.check(pods)?;
        let namespace = args.namespace(environment)?;
        let provider = match args.component {
            Component::ServiceProvider => {
                let settings = service_provider::settings(args, pods, &namespace, environment, ui);
                Some(settings?)
            }
            _ => None,
        };
        let mut objects = match args.component {
            Component::Daemon => daemon(args, pods, &namespace, environment, ui)?,
            Component::ServiceProvider => {
                let component = component(SERVICE_PROVIDER, &namespace, pods);
                let settings = provider.iter();
                settings
                    .flat_map(|settings| install::service_provider(&component, settings))
                    .collect()
            }
            Component::Controllers => controllers(pods, &namespace, &args.watched.namespaces()?),
            Component::Admission => admission(pods, &namespace),
            Component::Tenant => tenant(args, &namespace, environment, ui)?,
            other => private_link(other, &namespace, pods, &args.place.arguments()),
        };
        if pods.network_policy {
            objects.extend(network_policy(
                args.component,
                &namespace,
                provider.as_ref().map(|provider| provider.port),
            ));
        }
        let definitions = match args.component {
            Component::Admission | Component::Tenant => Vec::new(),
            Component::Daemon if args.aro == Some(AroMode::Off) => vec![crds::fleets()],
            Component::ServiceProvider
                if provider.is_some_and(|provider| provider.aro == Mode::Off) =>
            {
                Vec::new()
            }
            Component::Daemon | Component::ServiceProvider | Component::Controllers => crds::crds(),
            _ => vec![crds::private_links()],
        };
        Ok(Self {
            definitions,
            objects,
            places: places(args, pods, &namespace, environment)?,
        })
    }

    /// All that `install` may make of a component in a namespace, but for what the controllers have in the namespaces that they
    /// watch. `account` is that of a tenant.
    pub(in crate::cli) fn everything(
        component: Component,
        namespace: &str,
        account: &str,
    ) -> Vec<Json> {
        let pods = PodArgs::default();
        let mut objects = match component {
            Component::Daemon => {
                let settings = DaemonSettings {
                    replicas: SEVERAL,
                    ..DaemonSettings::default()
                };
                install::daemon(
                    &self::component(install::DAEMON, namespace, &pods),
                    &settings,
                )
            }
            Component::ServiceProvider => any_provider(namespace),
            Component::Controllers => controllers(&pods, namespace, &Namespaces::All),
            Component::Admission => admission(&pods, namespace),
            Component::Tenant => install::tenant(&Tenant {
                namespace: namespace.to_owned(),
                account: account.to_owned(),
                applied: any_scope(),
                ..Tenant::default()
            }),
            other => private_link(other, namespace, &pods, &[]),
        };
        objects.extend(network_policy(component, namespace, None));
        objects
    }

    /// The Role and binding of a component in another namespace: one that the controllers watch, or one of a service provider's
    /// clusters or machines.
    pub(in crate::cli) fn in_another_namespace(component: Component, home: &str) -> Vec<Json> {
        let mut objects = match component {
            Component::Controllers => {
                controllers(&PodArgs::default(), home, &Namespaces::of_text("other"))
            }
            Component::ServiceProvider => any_provider(home),
            _ => Vec::new(),
        };
        let is_role = |kind: &Json| kind == "Role" || kind == "RoleBinding";
        let is_there = |object: &Json| {
            let name = object["metadata"]["name"].as_str();
            // The role in the namespace of the installation has another name.
            name.is_some_and(|name| name.ends_with(&format!(":{home}")))
        };
        objects.retain(|object| is_role(&object["kind"]) && is_there(object));
        objects
    }
}

/// Kinds with and without a namespace, for which a tenant has roles of both kinds.
fn any_scope() -> Applied {
    let resource = |plural: &str| ("x.dev".to_owned(), plural.to_owned());
    Applied {
        written: ["things", "classes"].map(resource).into(),
        cluster_scoped: [resource("classes")].into(),
        ..Applied::default()
    }
}

/// A service provider with every kind of object, whatever its settings.
fn any_provider(namespace: &str) -> Vec<Json> {
    let settings = ProviderSettings {
        replicas: SEVERAL,
        ..ProviderSettings::default()
    };
    let component = component(SERVICE_PROVIDER, namespace, &PodArgs::default());
    install::service_provider(&component, &settings)
}

/// A number of pods with a PodDisruptionBudget.
const SEVERAL: u16 = 2;

/// The policy that lets only the ports of a component be reached, among them that of an API; a tenant has no pods.
fn network_policy(component: Component, namespace: &str, api: Option<u16>) -> Option<Json> {
    let (name, ports) = match component {
        Component::Daemon => (install::DAEMON, [install::PROBED_PORT].as_slice()),
        Component::ServiceProvider => (SERVICE_PROVIDER, [install::PROBED_PORT].as_slice()),
        Component::Controllers => (CONTROLLERS, [install::PROBED_PORT].as_slice()),
        Component::Admission => (SERVICE_ACCOUNT, [TARGET_PORT].as_slice()),
        Component::Tenant => return None,
        other => (
            other.private_link()?.component(),
            [install::PROBED_PORT].as_slice(),
        ),
    };
    let ports: Vec<u16> = ports.iter().copied().chain(api).collect();
    Some(install::network_policy(name, namespace, &ports))
}

const CONTROLLERS: &str = "capstan-controllers";

fn controllers(pods: &PodArgs, namespace: &str, watched: &Namespaces) -> Vec<Json> {
    let component = component(CONTROLLERS, namespace, pods);
    install::controllers(&component, pods.replicas(Component::Controllers), watched)
}

/// The objects of a controller of private clusters.
fn private_link(
    component: Component,
    namespace: &str,
    pods: &PodArgs,
    arguments: &[String],
) -> Vec<Json> {
    let part = component.private_link();
    let replicas = pods.replicas(component);
    let made = part.map(|part| {
        let made = self::component(part.component(), namespace, pods);
        install::private_link(part, &made, replicas, arguments)
    });
    made.unwrap_or_default()
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
    let fleets = fleets(args, namespace, environment)?;
    let settings = DaemonSettings {
        applied: applied(args, ui)?,
        secrets: fleets.secrets,
        kubeconfigs: fleets.kubeconfigs,
        fleets: fleets.objects,
        aro: args.aro.map(Mode::from).unwrap_or_default(),
        replicas: pods.replicas(Component::Daemon),
        tenants: pods.tenant.clone(),
        default_account: pods.default_service_account.clone(),
    };
    let component = component(install::DAEMON, namespace, pods);
    Ok(install::daemon(&component, &settings))
}

fn tenant(
    args: &SetArgs,
    namespace: &str,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Vec<Json>> {
    let daemon_namespace = args.daemon_namespace(environment)?;
    anyhow::ensure!(
        namespace != daemon_namespace,
        "--namespace {namespace}: the Fleets in the daemon's namespace are no tenant's; use --component daemon, or another --daemon-namespace"
    );
    let applied = applied(args, ui)?;
    let wide = applied.written.intersection(&applied.cluster_scoped);
    let wide: Vec<&str> = wide.map(|(_, plural)| plural.as_str()).collect();
    let wide: Vec<&str> = wide
        .into_iter()
        .filter(|plural| *plural != "namespaces")
        .collect();
    if !wide.is_empty() {
        ui.message(&format!(
            "kinds without a namespace need a ClusterRole: {} may write all {}; to grant less, move them to a fleet of the daemon's namespace",
            args.service_account,
            wide.join(", ")
        ));
    }
    let fleets = fleets(args, namespace, environment)?;
    Ok(install::tenant(&Tenant {
        namespace: namespace.to_owned(),
        account: args.service_account.clone(),
        daemon_namespace,
        applied,
        secrets: (!args.fleet.is_empty()).then_some(fleets.secrets),
        kubeconfigs: fleets.kubeconfigs,
        fleets: fleets.objects,
    }))
}

fn admission(pods: &PodArgs, namespace: &str) -> Vec<Json> {
    let exempt = match pods.exempt.as_slice() {
        [] => vec![format!("system:serviceaccount:{namespace}:capstan")],
        users => users.to_vec(),
    };
    manifests(&Installation {
        namespace: namespace.to_owned(),
        image: pods.image.clone(),
        replicas: pods.replicas(Component::Admission),
        failure_policy: pods.failure_policy.into(),
        exempt,
    })
}
