//! The controllers of private clusters in a simulation.
//!
//! In: the settings of a Fleet document, if there is one. Out: the controllers that its daemon would run, where the load balancers of the
//! management cluster are, and what a person should know. It does not know what the controllers do, nor which clusters there are.

use super::management::management_of;
use crate::adapters::azure_sim::{self, Azure};
use crate::api::azure_private_link_service::{
    DNS_AVAILABLE, ENDPOINT_AVAILABLE, LOAD_BALANCER_AVAILABLE, SERVICE_CREATED,
};
use crate::api::fleet::{FleetPolicy, LinkSwitches, Mode};
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::{Object, ObjectId};
use crate::reconcile::controller::Controller;
use crate::reconcile::private_link::{self, Place, PlatformSettings};

/// The namespace of the daemon, and of the management side, if nobody names another.
const NAMESPACE: &str = "capstan-system";

/// The controllers of private clusters, as a Fleet's daemon would run them.
#[derive(Clone, Debug)]
pub(in crate::cli) struct SimulatedPrivateLinks {
    /// A controller that is off does not run.
    switches: LinkSwitches,
    place: Place,
    /// The namespace of the daemon.
    namespace: String,
    note: Option<String>,
}

/// All of them run, and the management side is beside the subnet of each cluster: there is no Fleet document.
impl Default for SimulatedPrivateLinks {
    fn default() -> Self {
        let name = "private-link-management";
        let identity = ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", NAMESPACE, name);
        Self {
            switches: LinkSwitches::default(),
            place: Place::BesideSubnet(identity),
            namespace: NAMESPACE.to_owned(),
            note: None,
        }
    }
}

impl SimulatedPrivateLinks {
    /// Those of a daemon in `namespace` with the settings of its Fleet document. If that leaves private clusters to others, all run in
    /// their place.
    pub(in crate::cli) fn of(policy: &FleetPolicy, namespace: &str) -> Self {
        let management = policy.management.as_ref();
        let has_management = management.is_some();
        let switches = match policy.links {
            None if !has_management => return Self::default(),
            Some(switches) if switches.leave_it_to_others(has_management) => {
                return Self {
                    note: Some(OTHERS.to_owned()),
                    ..Self::default()
                };
            }
            switches => switches.unwrap_or_default(),
        };
        let running = |mode| {
            if LinkSwitches::runs(mode, has_management) {
                mode
            } else {
                Mode::Off
            }
        };
        let management = management.map(|management| management_of(management, namespace));
        Self {
            switches: LinkSwitches {
                observer: running(switches.observer),
                platform: running(switches.platform),
                endpoint: running(switches.endpoint),
            },
            place: management.map_or(Place::Unknown, Place::At),
            namespace: namespace.to_owned(),
            note: note(switches, has_management),
        }
    }

    /// The controllers that run.
    pub(in crate::cli) fn controllers(&self) -> Vec<Controller> {
        let LinkSwitches {
            observer,
            platform,
            endpoint,
        } = self.switches;
        let settings = PlatformSettings {
            mode: platform,
            namespace: self.namespace.clone(),
            place: self.place.clone(),
        };
        let all = [
            (observer, private_link::observer(observer)),
            (platform, private_link::platform(settings)),
            (endpoint, private_link::endpoint(endpoint)),
        ];
        let running = all.into_iter().filter(|(mode, _)| *mode != Mode::Off);
        running.map(|(_, controller)| controller).collect()
    }

    /// Azure, with the load balancers of the management cluster where the Fleet document has them.
    pub(in crate::cli) fn azure(&self) -> Azure {
        match &self.place {
            Place::At(management) => Azure::default()
                .with_balancers_in(&management.subscription, &management.resource_group),
            Place::Unknown | Place::BesideSubnet(_) => Azure::default(),
        }
    }

    /// The identity of the management side that the Fleet document names.
    pub(in crate::cli) fn named_identity(&self) -> Option<&ObjectId> {
        match &self.place {
            Place::At(management) => Some(&management.identity),
            Place::Unknown | Place::BesideSubnet(_) => None,
        }
    }

    /// The objects that the Fleet document expects of the cluster.
    pub(in crate::cli) fn expected(&self) -> Vec<ObjectId> {
        let identity = self.named_identity();
        identity.map_or_else(Vec::new, |identity| {
            vec![namespace(&self.namespace), identity.clone()]
        })
    }

    /// The objects of a management side that nobody names.
    pub(in crate::cli) fn own(&self) -> Vec<ObjectId> {
        match &self.place {
            Place::BesideSubnet(identity) => {
                vec![namespace(&identity.namespace), identity.clone()]
            }
            Place::Unknown | Place::At(_) => Vec::new(),
        }
    }

    /// The reason why private clusters are not connected, or who would connect them, if there are any.
    pub(in crate::cli) fn note(&self, has_private_cluster: bool) -> Option<&str> {
        let note = self.note.as_deref();
        note.filter(|_| has_private_cluster)
    }
}

const OTHERS: &str = "the Fleet document leaves private clusters to HyperShift or to processes of their own; the simulation connects them in their place";

/// The reason why private clusters are not connected, with the conditions that nobody sets.
fn note(switches: LinkSwitches, has_management: bool) -> Option<String> {
    let gaps = switches.gaps(has_management);
    if gaps.is_empty() {
        return None;
    }
    let stops = |mode| !LinkSwitches::runs(mode, has_management);
    let has_no_object = stops(switches.observer);
    let mut missing = Vec::new();
    if has_no_object || stops(switches.platform) || !has_management {
        missing.extend([LOAD_BALANCER_AVAILABLE, SERVICE_CREATED]);
    }
    if has_no_object || stops(switches.endpoint) {
        missing.extend([ENDPOINT_AVAILABLE, DNS_AVAILABLE]);
    }
    Some(format!(
        "the Fleet document {}: no private cluster becomes ready, since nobody sets {} to True",
        gaps.join(", and "),
        missing.join(", ")
    ))
}

fn namespace(name: &str) -> ObjectId {
    ObjectId::new("", "Namespace", "", name)
}

/// Returns true for a cluster that is reached over Private Link.
pub(in crate::cli) fn is_private(object: &Object) -> bool {
    object.id.is(HYPERSHIFT, "HostedCluster") && azure_sim::is_private(Live(&object.node.to_json()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::fleet::{IdentityName, Management};

    fn policy(has_management: bool, platform: Mode) -> FleetPolicy {
        let management = Management {
            subscription_id: "s".to_owned(),
            resource_group: "nodes".to_owned(),
            network_resource_group: Some("network".to_owned()),
            identity_ref: IdentityName {
                name: "link".to_owned(),
                namespace: None,
            },
        };
        FleetPolicy {
            management: has_management.then_some(management),
            links: Some(LinkSwitches {
                platform,
                ..LinkSwitches::default()
            }),
            ..FleetPolicy::default()
        }
    }

    fn running(links: &SimulatedPrivateLinks) -> Vec<&'static str> {
        let controllers = links.controllers().into_iter();
        let ends = controllers.filter_map(|one| one.manager.rsplit('-').next());
        ends.collect()
    }

    #[test]
    fn the_controllers_of_a_simulation_are_those_of_the_fleets_daemon() {
        let of = |policy: &FleetPolicy| SimulatedPrivateLinks::of(policy, "ops");
        let all = ["observer", "platform", "endpoint"];
        let none = SimulatedPrivateLinks::default();
        assert_eq!(running(&none), all);
        assert_eq!(running(&of(&FleetPolicy::default())), all);
        assert_eq!(running(&of(&policy(true, Mode::Auto))), all);
        assert_eq!(
            running(&of(&policy(true, Mode::Off))),
            ["observer", "endpoint"]
        );
        assert_eq!(running(&of(&policy(false, Mode::On))), ["platform"]);
        assert_eq!(running(&of(&policy(false, Mode::Auto))), [""; 0]);
    }

    #[test]
    fn only_a_management_side_that_somebody_names_is_expected_of_the_cluster() {
        let names = |policy: &FleetPolicy| {
            let expected = SimulatedPrivateLinks::of(policy, "ops").expected();
            expected.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let named = ["Namespace//ops", "AzureClusterIdentity/ops/link"];
        assert_eq!(names(&policy(true, Mode::Auto)), named);
        assert_eq!(names(&policy(false, Mode::On)), [""; 0]);
        assert_eq!(names(&FleetPolicy::default()), [""; 0]);
    }
}
