//! The systems around a management cluster, and our controllers, at work on it.

use std::sync::Arc;

use capstan::adapters::azure_sim::{
    Options, SimulatedCredentials, SimulatedLinks, SimulatedVaults, SimulatedWorkloads, controllers,
};
use capstan::adapters::kubernetes::controller::{self, Connectors, Running};
use capstan::api::fleet::{FirstApply, Mode};
use capstan::api::timeline;
use capstan::model::{Clock, ObjectId};
use capstan::reconcile::private_link::{self, Place, PlatformSettings};
use capstan::reconcile::{Settings, aro};
use kube::Client;

/// Plays as `options` say until the result is dropped. Without anybody around them, our controllers do nothing either.
pub(crate) fn play(client: &Client, clock: &Arc<dyn Clock>, options: &Options) -> Running {
    let mut all = controllers(options);
    if !all.is_empty() {
        all.extend(aro(settings()));
        all.extend(private_link::all(links()));
    }
    let connectors = Connectors {
        links: Arc::new(SimulatedLinks::new(options.azure.clone())),
        ..connectors(client, clock)
    };
    controller::spawn(client.clone(), Arc::clone(clock), all, connectors)
}

/// The systems around our controllers, without them.
pub(crate) fn actors(client: &Client, clock: &Arc<dyn Clock>, options: &Options) -> Running {
    let all = controllers(options);
    let connectors = connectors(client, clock);
    controller::spawn(client.clone(), Arc::clone(clock), all, connectors)
}

/// Our controllers alone.
pub(crate) fn ours(client: &Client, clock: &Arc<dyn Clock>) -> Running {
    let connectors = connectors(client, clock);
    controller::spawn(
        client.clone(),
        Arc::clone(clock),
        aro(settings()),
        connectors,
    )
}

/// The identity of the management side of private clusters.
pub(crate) fn management() -> ObjectId {
    let group = "infrastructure.cluster.x-k8s.io";
    ObjectId::new(
        group,
        "AzureClusterIdentity",
        "capstan-system",
        "management",
    )
}

/// The settings of our controllers of private clusters.
fn links() -> PlatformSettings {
    let identity = management();
    PlatformSettings {
        mode: Mode::Auto,
        namespace: identity.namespace.clone(),
        place: Place::BesideSubnet(identity),
    }
}

/// The settings of our controllers.
pub(crate) fn settings() -> Settings {
    Settings {
        settle: timeline::SETTLE,
        first_apply: FirstApply::default(),
        identity: None,
    }
}

/// What our controllers reach besides the cluster.
pub(crate) fn connectors(client: &Client, clock: &Arc<dyn Clock>) -> Connectors {
    Connectors {
        workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &**clock)),
        keys: Arc::new(SimulatedVaults::new(Arc::clone(clock))),
        credentials: Arc::new(SimulatedCredentials),
        ..Connectors::default()
    }
}
