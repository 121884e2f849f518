//! The systems around a management cluster, and our controllers, at work on it.

use std::sync::Arc;

use capstan::adapters::azure_sim::{
    Options, SimulatedCredentials, SimulatedVaults, SimulatedWorkloads, controllers,
};
use capstan::adapters::kubernetes::controller::{self, Connectors, Running};
use capstan::api::fleet::FirstApply;
use capstan::api::timeline;
use capstan::model::Clock;
use capstan::reconcile::{Settings, aro};
use kube::Client;

/// Plays as `options` say until the result is dropped. Without anybody around them, our controllers do nothing either.
pub(crate) fn play(client: &Client, clock: &Arc<dyn Clock>, options: &Options) -> Running {
    let mut all = controllers(options);
    if !all.is_empty() {
        all.extend(aro(settings()));
    }
    let connectors = connectors(client, clock);
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
