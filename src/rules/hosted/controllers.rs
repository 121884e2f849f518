//! H19: the controllers that connect private clusters, as the Fleet document switches them.

use super::connection::private_link;
use super::parts::Parts;
use crate::model::{Finding, message};

/// H19: somebody connects each private cluster. A Fleet document with all of the controllers off, and without a management side, leaves
/// that to others on purpose.
pub(super) fn somebody_connects(parts: &Parts<'_>) -> Vec<Finding> {
    let has_management = parts.management.is_some();
    let switches = parts.links;
    let Some(switches) = switches.filter(|one| !one.leave_it_to_others(has_management)) else {
        return Vec::new();
    };
    let gaps = switches.gaps(has_management).join(", and ");
    if gaps.is_empty() {
        return Vec::new();
    }
    let unconnected = parts.clusters().filter_map(|cluster| {
        let message = message!(
            "the Fleet document {gaps}: Capstan does not connect this private cluster",
            gaps
        );
        Some(
            cluster
                .warning("H19", &private_link(cluster)?, message)
                .help(HELP),
        )
    });
    unconnected.collect()
}

const HELP: &str = "set `privateLink.management` and leave the three controllers of private clusters on; if HyperShift or processes of their own connect it, remove `privateLink` and set privateLinkObserver, privateLinkPlatform and privateLinkEndpoint to off";

#[cfg(test)]
mod tests {
    use super::super::{findings_by, findings_of};
    use super::*;
    use crate::api::fleet::{FleetPolicy, IdentityName, LinkSwitches, Management, Mode};

    fn cluster(azure: &str) -> String {
        format!(
            "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: c, namespace: ns}}, spec: {{platform: {{azure: {{{azure}}}}}}}}}\n"
        )
    }

    fn policy(has_management: bool, platform: Mode, others: Mode) -> FleetPolicy {
        let management = Management {
            subscription_id: "s".to_owned(),
            resource_group: "g".to_owned(),
            network_resource_group: None,
            identity_ref: IdentityName {
                name: "link".to_owned(),
                namespace: None,
            },
        };
        FleetPolicy {
            management: has_management.then_some(management),
            links: Some(LinkSwitches {
                observer: others,
                platform,
                endpoint: others,
            }),
            ..FleetPolicy::default()
        }
    }

    #[test]
    fn a_private_cluster_is_connected_by_the_fleet_or_left_to_others() {
        let private = cluster("topology: Private");
        let found = |has_management: bool, platform: Mode, others: Mode| {
            let policy = policy(has_management, platform, others);
            findings_by(&policy, somebody_connects, &private)
        };
        let says = |gaps: &str| {
            let at = "H19 1:140";
            [format!(
                "{at} the Fleet document {gaps}: Capstan does not connect this private cluster"
            )]
        };
        let off = "switches privateLinkPlatform off";
        let place = "has no `privateLink.management`";
        assert_eq!(found(true, Mode::Auto, Mode::Auto), [""; 0]);
        assert_eq!(found(false, Mode::Off, Mode::Off), [""; 0]);
        assert_eq!(found(false, Mode::Auto, Mode::Auto), says(place));
        assert_eq!(found(true, Mode::Off, Mode::On), says(off));
        let both = format!("{place}, and {off}");
        assert_eq!(found(false, Mode::Off, Mode::Auto), says(&both));
    }

    #[test]
    fn only_private_link_needs_the_controllers_of_a_fleet() {
        let policy = policy(false, Mode::Auto, Mode::Auto);
        let found = |azure: &str| findings_by(&policy, somebody_connects, &cluster(azure)).len();
        assert_eq!(found("topology: Public"), 0);
        assert_eq!(found("topology: Private, private: {type: Swift}"), 0);
        assert_eq!(found("topology: PublicAndPrivate"), 1);
        assert_eq!(found("endpointAccess: Private"), 1);
        let private = cluster("endpointAccess: Private");
        assert_eq!(
            findings_of(somebody_connects, &private),
            [""; 0],
            "no Fleet"
        );
    }
}
