//! The systems around a management cluster, and our controllers, at work on it.

use std::sync::Arc;

use capstan::adapters::azure_sim::{Options, SimulatedVaults, SimulatedWorkloads, controllers};
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
        all.extend(aro(Settings {
            settle: timeline::SETTLE,
            first_apply: FirstApply::default(),
        }));
    }
    let connectors = Connectors {
        workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &**clock)),
        keys: Arc::new(SimulatedVaults::new(Arc::clone(clock))),
    };
    controller::spawn(client.clone(), Arc::clone(clock), all, connectors)
}
