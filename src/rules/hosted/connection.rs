//! H03, H04, H08 and H14: clusters on Azure whose API server is reached over Private Link.

use std::collections::BTreeSet;

use ipnet::Ipv4Net;

use super::parts::{Hosted, Parts};
use crate::api::labels::NAT_SUBNET_RANGE;
use crate::model::{Finding, Node, Path, message};
use crate::rules::cidr;

const AZURE: &str = "spec.platform.azure";

/// The longest prefix of a subnet: Azure keeps five addresses of each.
const SMALLEST: u8 = 29;

/// The ranges that no virtual network can have (Azure on the addresses of virtual networks).
const KEPT: [(&str, &str); 6] = [
    ("0.0.0.0/8", "hosts that have no address yet"),
    ("127.0.0.0/8", "loopback addresses"),
    ("168.63.129.16/32", "Azure's own services"),
    ("169.254.0.0/16", "link-local addresses"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcasts"),
];

/// The ID that no subscription has.
const ZERO: &str = "00000000-0000-0000-0000-000000000000";

/// The fields of one shape of the API: who reaches the API server, and how.
struct Shape {
    access: &'static str,
    connection: &'static str,
    nat_subnet: &'static str,
    /// The subscriptions that may connect.
    subscriptions: &'static str,
    /// HyperShift's words about a connection that is missing, or there without need.
    mismatch: &'static str,
    /// The identities that Private Link needs.
    identities: &'static [&'static str],
}

const LANDED: Shape = Shape {
    access: "topology",
    connection: "private",
    nat_subnet: "private.privateLink.natSubnetID",
    subscriptions: "private.privateLink.additionalAllowedSubscriptions",
    mismatch: "private is required when topology is Private or PublicAndPrivate, and forbidden otherwise",
    identities: &["controlPlaneOperator"],
};
const PROPOSAL: Shape = Shape {
    access: "endpointAccess",
    connection: "privateConnectivity",
    nat_subnet: "privateConnectivity.natSubnetID",
    subscriptions: "privateConnectivity.allowedSubscriptions",
    mismatch: "privateConnectivity is required when endpointAccess is Private or PublicAndPrivate, and forbidden otherwise",
    identities: &["controlPlaneOperator", "privateLinkService"],
};

impl Shape {
    /// The shape in which a cluster on Azure is written.
    fn of(cluster: Hosted<'_>) -> Self {
        let proposed = [PROPOSAL.access, PROPOSAL.connection];
        let is_proposal = proposed.iter().any(|field| cluster.has(&below(field)));
        if is_proposal { PROPOSAL } else { LANDED }
    }
}

fn below(field: &str) -> String {
    format!("{AZURE}.{field}")
}

/// The field that says who reaches the API server.
pub(super) fn access(cluster: Hosted<'_>) -> Path {
    Path::dotted(&below(Shape::of(cluster).access))
}

/// Returns true if the API server is reached privately, alone or too.
pub(super) fn is_private(cluster: Hosted<'_>) -> bool {
    let access = cluster.text(&below(Shape::of(cluster).access));
    access.is_some_and(|access| access != "Public")
}

/// Returns true if the private way to the API server is Private Link.
pub(super) fn uses_private_link(cluster: Hosted<'_>) -> bool {
    is_private(cluster) && cluster.text(&below("private.type")) != Some("Swift")
}

/// The field that says so of a cluster that is reached over Private Link by an endpoint in its network.
pub(super) fn private_link(cluster: Hosted<'_>) -> Option<Path> {
    uses_private_link(cluster).then(|| access(cluster))
}

/// The ARM ID of the cluster's virtual network, in lower case.
pub(super) fn network(cluster: Hosted<'_>) -> Option<String> {
    cluster.text(&below("vnetID")).map(str::to_lowercase)
}

/// The ARM ID of the subnet for the addresses of the cluster's Private Link Service, with its field.
pub(super) fn nat_subnet(cluster: Hosted<'_>) -> Option<(Path, &str)> {
    let path = below(Shape::of(cluster).nat_subnet);
    Some((Path::dotted(&path), cluster.text(&path)?))
}

/// H03: a connection is there exactly if it is needed, and complete.
pub(super) fn connections_are_complete(parts: &Parts<'_>) -> Vec<Finding> {
    let on_azure = parts.clusters().filter(|one| one.has(AZURE));
    on_azure.flat_map(incomplete).collect()
}

fn incomplete(cluster: Hosted<'_>) -> Vec<Finding> {
    if let Some(finding) = of_both_shapes(cluster) {
        return vec![finding];
    }
    let shape = Shape::of(cluster);
    let has_connection = cluster.has(&below(shape.connection));
    if has_connection != is_private(cluster) {
        let (field, help) = if has_connection {
            (
                shape.connection,
                format!("remove it, or set `{}`", shape.access),
            )
        } else {
            (shape.access, format!("add `{}`", shape.connection))
        };
        let field = Path::dotted(&below(field));
        return vec![cluster.error("H03", &field, shape.mismatch).help(help)];
    }
    let mut findings = of_union(cluster);
    findings.extend(of_subscriptions(cluster, &shape));
    let uses_link = cluster.has(&below(shape.nat_subnet))
        || cluster.text(&below("private.type")) == Some("PrivateLink");
    let given = format!("{AZURE}.azureAuthenticationConfig.workloadIdentities");
    if uses_link && cluster.has(&given) {
        let lacks = |name: &&&str| !cluster.has(&format!("{given}.{name}"));
        for name in shape.identities.iter().filter(lacks) {
            let message = message!(
                "workloadIdentities.{name} is required when Private Link is configured with WorkloadIdentities authentication",
                name
            );
            let help = format!("add `{name}: {{clientID: ...}}`");
            let field = Path::dotted(&given);
            findings.push(cluster.error("H03", &field, message).help(help));
        }
    }
    findings
}

/// A cluster in both shapes: what serves one of them drops the fields of the other.
fn of_both_shapes(cluster: Hosted<'_>) -> Option<Finding> {
    let has = |field: &&str| cluster.has(&below(field));
    let landed = [LANDED.access, LANDED.connection]
        .into_iter()
        .find(|field| has(field))?;
    let proposed = [PROPOSAL.access, PROPOSAL.connection]
        .into_iter()
        .find(|field| has(field))?;
    let message = message!(
        "{landed} and {proposed} are of different shapes of HyperShift's API",
        landed,
        proposed
    );
    let help = "write the fields of the shape that the management cluster has: `topology` and `private`, or `endpointAccess` and `privateConnectivity`";
    let field = Path::dotted(&below(proposed));
    Some(cluster.error("H03", &field, message).help(help))
}

/// The ID of zeros stands for a subscription that nobody has written yet.
fn of_subscriptions(cluster: Hosted<'_>, shape: &Shape) -> Option<Finding> {
    let field = below(shape.subscriptions);
    let items = cluster.items(&field);
    let index = items.iter().position(|one| one.as_str() == Some(ZERO))?;
    let message = message!("no subscription has the ID {id}", id = ZERO);
    let finding = cluster.error("H03", &Path::dotted(&field).index(index), message);
    Some(finding.help("write the ID of a subscription that may connect, or remove it"))
}

/// The landed shape chooses between two kinds of connections.
fn of_union(cluster: Hosted<'_>) -> Vec<Finding> {
    let Some(kind) = cluster.text(&below("private.type")) else {
        return Vec::new();
    };
    let arms = [
        (
            "PrivateLink",
            "privateLink",
            "privateLink is required when type is PrivateLink, and forbidden otherwise",
        ),
        (
            "Swift",
            "swift",
            "swift is required when type is Swift, and forbidden otherwise",
        ),
    ];
    let is_wrong = |(of, field, _): &(&str, &str, &str)| {
        cluster.has(&below(&format!("private.{field}"))) != (kind == *of)
    };
    let finding = |(_, field, said): (&str, &str, &'static str)| {
        let help = format!("write the settings of `type: {kind}`, and no others");
        let path = below(&format!("private.{field}"));
        cluster.error("H03", &Path::dotted(&path), said).help(help)
    };
    arms.into_iter().filter(is_wrong).map(finding).collect()
}

/// H04: Private Link leads to the router, so an API server with a load balancer is not reached over it.
pub(super) fn private_servers_have_a_route(parts: &Parts<'_>) -> Vec<Finding> {
    let private = parts.clusters().filter(|one| is_private(*one));
    private.filter_map(balanced).collect()
}

fn balanced(cluster: Hosted<'_>) -> Option<Finding> {
    let services = cluster.items("spec.services");
    let is_server = |one: &Node| one.text(&["service"]) == Some("APIServer");
    let index = services.iter().position(is_server)?;
    let way = services[index].text(&["servicePublishingStrategy", "type"])?;
    if way != "LoadBalancer" {
        return None;
    }
    let path = Path::dotted("spec.services")
        .index(index)
        .key("servicePublishingStrategy")
        .key("type");
    let message = "the nodes of a private cluster cannot reach an API server with a load balancer: its Private Link Service leads to the router";
    Some(
        cluster
            .error("H04", &path, message)
            .help("publish APIServer by Route"),
    )
}

/// H08: the subnet for the addresses of a Private Link Service is in the management cluster's network, and nothing else is in it.
pub(super) fn nat_subnets_are_dedicated(parts: &Parts<'_>) -> Vec<Finding> {
    let of_nodes: BTreeSet<String> = parts.subnets_of_nodes().collect();
    let private = parts.clusters().filter(|one| is_private(*one));
    let mut findings = Vec::new();
    for cluster in private {
        findings.extend(range(cluster));
        let Some((path, subnet)) = nat_subnet(cluster) else {
            continue;
        };
        let subnet = subnet.to_lowercase();
        if of_nodes.contains(&subnet) {
            let message =
                "nodes are in the NAT subnet, which must be dedicated to the Private Link Service";
            let help = "name another subnet of the management cluster's network";
            findings.push(cluster.error("H08", &path, message).help(help));
        } else if network(cluster).is_some_and(|vnet| subnet.starts_with(&format!("{vnet}/"))) {
            let message = "the NAT subnet is in the hosted cluster's network, but its Private Link Service is made in the management cluster's";
            let help =
                "name a subnet of the management cluster's network, unless it is the same one";
            findings.push(cluster.warning("H08", &path, message).help(help));
        }
    }
    findings
}

/// H14: the subnets of the nodes of a cluster on Azure are in its network.
pub(super) fn subnets_are_in_the_network(parts: &Parts<'_>) -> Vec<Finding> {
    const OF_POOL: &str = "spec.platform.azure.subnetID";
    let own = below("subnetID");
    let clusters = parts
        .clusters()
        .map(|cluster| (cluster, cluster, own.as_str()));
    let pools = parts
        .pools()
        .filter_map(|pool| Some((pool, parts.cluster_of(pool)?, OF_POOL)));
    let outside = clusters.chain(pools).filter_map(|(one, cluster, path)| {
        let subnet = one.text(path)?;
        let network = network(cluster)?;
        let is_inside = subnet
            .to_lowercase()
            .starts_with(&format!("{network}/subnets/"));
        let message = message!(
            "the subnet {subnet} is not in the network of the cluster",
            subnet
        );
        let help = format!("name a subnet of {network}, or the network of this subnet");
        (!is_inside).then(|| one.error("H14", &Path::dotted(path), message).help(help))
    });
    outside.collect()
}

/// The range of a subnet to create. S04 reports an empty one.
fn range(cluster: Hosted<'_>) -> Option<Finding> {
    let (path, written) = cluster.annotation(NAT_SUBNET_RANGE)?;
    let text = written.as_str().filter(|text| !text.is_empty())?;
    let (reason, help) = match cidr::read(text) {
        Ok(net) => refused(&net)?,
        Err(reason) => (reason, cidr::instead(text)),
    };
    let message = message!("the range {text} of the NAT subnet {reason}", text, reason);
    let finding = cluster.error("H08", &path, message);
    Some(finding.help(help))
}

/// The reason why Azure refuses a subnet with this range, and what to write instead.
fn refused(net: &Ipv4Net) -> Option<(String, String)> {
    let kept = KEPT.iter().find(|(kept, _)| {
        let kept = cidr::read(kept);
        kept.is_ok_and(|kept| cidr::overlap(net, &kept))
    });
    if let Some((kept, what)) = kept {
        let reason = format!("overlaps {kept}, which no subnet can have: it is for {what}");
        let help = "write a private range of the network, such as 10.9.0.0/24";
        return Some((reason, help.to_owned()));
    }
    (net.prefix_len() > SMALLEST).then(|| {
        let reason = format!("is too small: Azure has no subnets beyond /{SMALLEST}");
        let help = format!("write a range with the prefix /{SMALLEST} or a shorter one");
        (reason, help)
    })
}

#[cfg(test)]
mod tests {
    use super::super::messages_of;
    use super::*;

    const NETWORK: &str =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks";

    fn cluster(spec: &str) -> String {
        format!(
            "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: c, namespace: ns}}, spec: {{dns: {{baseDomain: example.com}}, {spec}}}}}\n"
        )
    }

    fn azure(fields: &str) -> String {
        cluster(&format!(
            "platform: {{type: Azure, azure: {{vnetID: {NETWORK}/guest, subnetID: {NETWORK}/guest/subnets/nodes, azureAuthenticationConfig: {{workloadIdentities: {{}}}}, {fields}}}}}"
        ))
    }

    #[test]
    fn a_connection_is_complete_and_only_there_if_needed() {
        let operator = "workloadIdentities.controlPlaneOperator is required when Private Link is configured with WorkloadIdentities authentication";
        let service = operator.replace("controlPlaneOperator", "privateLinkService");
        let union = "private is required when topology is Private or PublicAndPrivate, and forbidden otherwise";
        let proposal = "privateConnectivity is required when endpointAccess is Private or PublicAndPrivate, and forbidden otherwise";
        let zero = "no subscription has the ID 00000000-0000-0000-0000-000000000000";
        for (fields, expected) in [
            ("", &[][..]),
            ("topology: Public", &[]),
            ("topology: Private", &[union]),
            ("private: {type: PrivateLink}", &[union]),
            ("topology: Public, private: {type: PrivateLink}", &[union]),
            (
                "topology: Private, private: {type: PrivateLink, privateLink: {natSubnetID: x}}",
                &[operator],
            ),
            ("topology: Private, private: {type: Swift, swift: {}}", &[]),
            (
                "topology: Private, private: {type: Swift, privateLink: {}}",
                &[
                    "privateLink is required when type is PrivateLink, and forbidden otherwise",
                    "swift is required when type is Swift, and forbidden otherwise",
                ],
            ),
            (
                "endpointAccess: Public, topology: Private",
                &["topology and endpointAccess are of different shapes of HyperShift's API"],
            ),
            ("endpointAccess: Private", &[proposal]),
            (
                "endpointAccess: Private, privateConnectivity: {natSubnetID: x}",
                &[operator, &service],
            ),
            (
                "topology: Private, private: {type: PrivateLink, privateLink: {additionalAllowedSubscriptions: [3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10, 00000000-0000-0000-0000-000000000000]}}",
                &[zero, operator],
            ),
            (
                "endpointAccess: Private, privateConnectivity: {allowedSubscriptions: [00000000-0000-0000-0000-000000000000]}",
                &[zero],
            ),
            (
                "endpointAccess: Private, privateConnectivity: {allowedSubscriptions: [3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10]}",
                &[],
            ),
        ] {
            assert_eq!(
                messages_of(connections_are_complete, &azure(fields)),
                expected,
                "{fields}"
            );
        }
    }

    #[test]
    fn a_private_server_has_a_route() {
        let text = |topology: &str, way: &str| {
            cluster(&format!(
                "platform: {{azure: {{topology: {topology}}}}}, services: [{{service: APIServer, servicePublishingStrategy: {{type: {way}}}}}]"
            ))
        };
        assert_eq!(
            messages_of(
                private_servers_have_a_route,
                &text("Private", "LoadBalancer")
            )
            .len(),
            1
        );
        assert_eq!(
            messages_of(
                private_servers_have_a_route,
                &text("PublicAndPrivate", "LoadBalancer")
            )
            .len(),
            1
        );
        for (topology, way) in [("Private", "Route"), ("Public", "LoadBalancer")] {
            assert_eq!(
                messages_of(private_servers_have_a_route, &text(topology, way)),
                [""; 0]
            );
        }
    }

    #[test]
    fn a_nat_subnet_holds_nothing_else() {
        let text = |subnet: &str| {
            azure(&format!(
                "topology: Private, private: {{type: PrivateLink, privateLink: {{natSubnetID: {NETWORK}/{subnet}}}}}"
            ))
        };
        assert_eq!(
            messages_of(nat_subnets_are_dedicated, &text("hub/subnets/nat")),
            [""; 0]
        );
        let used = messages_of(nat_subnets_are_dedicated, &text("GUEST/subnets/Nodes"));
        assert_eq!(
            used,
            ["nodes are in the NAT subnet, which must be dedicated to the Private Link Service"]
        );
        let within = messages_of(nat_subnets_are_dedicated, &text("guest/subnets/nat"));
        assert!(within[0].starts_with("the NAT subnet is in the hosted cluster's network"));
    }

    #[test]
    fn a_nat_subnet_has_a_range_that_azure_takes() {
        let kept = |range: &str, kept: &str, what: &str| {
            format!(
                "the range {range} of the NAT subnet overlaps {kept}, which no subnet can have: it is for {what}"
            )
        };
        for (range, expected) in [
            ("10.0.0.1/24", "the range 10.0.0.1/24 of the NAT subnet has host bits set; the network is 10.0.0.0/24".to_owned()),
            ("10.0.0.0/30", "the range 10.0.0.0/30 of the NAT subnet is too small: Azure has no subnets beyond /29".to_owned()),
            ("0.0.0.0/0", kept("0.0.0.0/0", "0.0.0.0/8", "hosts that have no address yet")),
            ("0.1.0.0/16", kept("0.1.0.0/16", "0.0.0.0/8", "hosts that have no address yet")),
            ("127.0.0.0/24", kept("127.0.0.0/24", "127.0.0.0/8", "loopback addresses")),
            ("168.63.129.0/24", kept("168.63.129.0/24", "168.63.129.16/32", "Azure's own services")),
            ("168.63.129.16/32", kept("168.63.129.16/32", "168.63.129.16/32", "Azure's own services")),
            ("169.254.9.0/24", kept("169.254.9.0/24", "169.254.0.0/16", "link-local addresses")),
            ("224.0.0.0/24", kept("224.0.0.0/24", "224.0.0.0/4", "multicast")),
            ("239.255.255.0/24", kept("239.255.255.0/24", "224.0.0.0/4", "multicast")),
            ("255.255.255.248/29", kept("255.255.255.248/29", "255.255.255.255/32", "broadcasts")),
            ("''", String::new()),
            ("168.63.130.0/24", String::new()),
            ("169.253.0.0/16", String::new()),
            ("10.0.0.0/29", String::new()),
        ] {
            let text = azure(&format!(
                "topology: Private, private: {{type: PrivateLink, privateLink: {{natSubnetID: {NETWORK}/hub/subnets/nat}}}}"
            ));
            let annotated = format!("namespace: ns, annotations: {{capstan.dev/nat-subnet-range: {range}}}");
            let text = text.replace("namespace: ns", &annotated);
            let found = messages_of(nat_subnets_are_dedicated, &text).concat();
            assert_eq!(found, expected, "{range}");
        }
    }

    #[test]
    fn the_subnets_of_nodes_are_in_the_network() {
        let pool = |subnet: &str| {
            format!(
                "---\n{{apiVersion: hypershift.openshift.io/v1beta1, kind: NodePool, metadata: {{name: p, namespace: ns}}, spec: {{clusterName: c, platform: {{azure: {{subnetID: {NETWORK}/{subnet}}}}}}}}}\n"
            )
        };
        let found = |own: &str, subnet: &str| {
            let cluster = azure("topology: Public").replace("guest/subnets/nodes", own);
            messages_of(
                subnets_are_in_the_network,
                &format!("{cluster}{}", pool(subnet)),
            )
            .len()
        };
        assert_eq!(found("GUEST/subnets/nodes", "guest/subnets/others"), 0);
        assert_eq!(found("guests/subnets/nodes", "other/subnets/nodes"), 2);
    }
}
