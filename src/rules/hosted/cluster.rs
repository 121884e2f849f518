//! H01, H02 and H05: what a HostedCluster says of itself.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::parts::{Hosted, Parts};
use crate::model::{Finding, Node, Path, message, work};

/// The longest name of a namespace.
const NAMESPACE: usize = 63;

/// H01: the namespace of the control plane, `<namespace>-<name>`, has a possible name and is of one cluster.
pub(super) fn names_fit_a_namespace(parts: &Parts<'_>) -> Vec<Finding> {
    let mut first: BTreeMap<String, Hosted<'_>> = BTreeMap::new();
    let mut findings = Vec::new();
    for cluster in parts.clusters() {
        let namespace = format!("{}-{}", cluster.namespace(), cluster.name());
        let length = namespace.chars().count();
        let name = Path::dotted("metadata.name");
        if length > NAMESPACE {
            let message = message!(
                "the namespace of the control plane would be called {namespace}: {length} characters, and {NAMESPACE} are possible",
                namespace,
                length
            );
            let help = "choose a shorter name or namespace";
            findings.push(cluster.error("H01", &name, message).help(help));
        }
        let before = first.entry(namespace.clone()).or_insert(cluster);
        if before.object.id != cluster.object.id {
            let message = message!(
                "the control plane of {before} has the same namespace, {namespace}",
                before = before.object.id,
                namespace
            );
            let help = "give one of them another name or namespace";
            findings.push(cluster.error("H01", &name, message).help(help));
        }
    }
    findings
}

/// The needs of Azure for a service: its name, the ways to publish it, and HyperShift's words about others.
const OF_AZURE: [(&str, &[&str], &str); 3] = [
    (
        "OAuthServer",
        &["Route", "LoadBalancer"],
        "Self-managed Azure requires OAuthServer to use Route or LoadBalancer",
    ),
    (
        "Konnectivity",
        &["Route"],
        "Azure platform requires Konnectivity to use Route service publishing strategy",
    ),
    (
        "Ignition",
        &["Route"],
        "Azure platform requires Ignition to use Route service publishing strategy",
    ),
];

/// H02: four services are published, in ways that the platform has.
pub(super) fn services_are_published(parts: &Parts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cluster in parts.clusters().filter(|one| one.has("spec.services")) {
        let services = cluster.items("spec.services");
        let platform = cluster.text("spec.platform.type");
        findings.extend(unpublished(cluster, services));
        if services.len() < 4 && platform != Some("IBMCloud") {
            let said = "spec.services in body should have at least 4 items or 3 for IBMCloud";
            let help = "publish APIServer, OAuthServer, Konnectivity and Ignition";
            findings.push(
                cluster
                    .error("H02", &Path::dotted("spec.services"), said)
                    .help(help),
            );
        } else if platform == Some("Azure") {
            findings.extend(of_azure(cluster, services));
        }
        for (index, service) in services.iter().enumerate() {
            findings.extend(misfit(cluster, index, service));
        }
    }
    findings
}

fn of_azure(cluster: Hosted<'_>, services: &[Node]) -> Vec<Finding> {
    const AUTHENTICATION: &str =
        "spec.platform.azure.azureAuthenticationConfig.azureAuthenticationConfigType";
    let is_managed = cluster.text(AUTHENTICATION) != Some("WorkloadIdentities");
    let published = |name: &str| {
        let one = services
            .iter()
            .find(|one| one.text(&["service"]) == Some(name));
        one.and_then(|one| one.text(&["servicePublishingStrategy", "type"]))
    };
    let refused = OF_AZURE.iter().filter_map(|(name, ways, said)| {
        let (ways, said) = if is_managed && *name == "OAuthServer" {
            (
                &["Route"][..],
                "Azure managed platform (ARO HCP) requires OAuthServer to use Route",
            )
        } else {
            (*ways, *said)
        };
        let is_possible = published(name).is_some_and(|way| ways.contains(&way));
        let help = format!("publish {name} by {}", ways.join(" or "));
        (!is_possible).then(|| {
            cluster
                .error("H02", &Path::dotted("spec.services"), said)
                .help(help)
        })
    });
    refused.collect()
}

/// The services that every cluster publishes.
const SERVICES: [&str; 4] = ["APIServer", "OAuthServer", "Konnectivity", "Ignition"];

/// A service that is published twice in a list that is long enough, and so one that is not published.
fn unpublished(cluster: Hosted<'_>, services: &[Node]) -> Option<Finding> {
    let names: Vec<&str> = services
        .iter()
        .filter_map(|one| one.text(&["service"]))
        .collect();
    let lacking = SERVICES.into_iter().find(|name| !names.contains(name))?;
    let is_long =
        services.len() >= SERVICES.len() && cluster.text("spec.platform.type") != Some("IBMCloud");
    let message = message!("{lacking} is not published", lacking);
    let help = format!("add `{{service: {lacking}, servicePublishingStrategy: {{type: Route}}}}`");
    is_long.then(|| {
        cluster
            .error("H02", &Path::dotted("spec.services"), message)
            .help(help)
    })
}

/// A way to publish a service, with the settings of another one.
fn misfit(cluster: Hosted<'_>, index: usize, service: &Node) -> Option<Finding> {
    let strategy = service.get("servicePublishingStrategy")?;
    let has = |name: &str| strategy.get(name).is_some();
    let (node_port, route, balancer) = (has("nodePort"), has("route"), has("loadBalancer"));
    let (is_right, said) = match strategy.text(&["type"])? {
        "NodePort" => (
            node_port,
            "nodePort is required when type is NodePort, and forbidden otherwise",
        ),
        _ if node_port => (
            false,
            "nodePort is required when type is NodePort, and forbidden otherwise",
        ),
        "Route" => (
            !balancer,
            "only route is allowed when type is Route, and forbidden otherwise",
        ),
        "LoadBalancer" => (
            !route,
            "only loadBalancer is required when type is LoadBalancer, and forbidden otherwise",
        ),
        "None" => (
            !route && !balancer,
            "None does not allowed any configuration for loadBalancer, nodePort, or route",
        ),
        "S3" => (
            !route && !balancer,
            "S3 does not allowed any configuration for loadBalancer, nodePort, or route",
        ),
        _ => return None,
    };
    let path = Path::dotted("spec.services")
        .index(index)
        .key("servicePublishingStrategy");
    let help = "keep only the settings of the `type`";
    (!is_right).then(|| cluster.error("H02", &path, said).help(help))
}

/// The networks of a hosted cluster.
const NETWORKS: [&str; 3] = ["machineNetwork", "clusterNetwork", "serviceNetwork"];

/// The most ranges of a network that are compared; fewer are allowed.
const MOST: usize = 16;

/// H05: the networks of a cluster do not overlap.
pub(super) fn networks_are_apart(parts: &Parts<'_>) -> Vec<Finding> {
    parts.clusters().flat_map(overlapping).collect()
}

fn overlapping(cluster: Hosted<'_>) -> Vec<Finding> {
    let mut before: Vec<(&str, IpNet)> = Vec::new();
    let mut findings = Vec::new();
    for name in NETWORKS {
        let ranges = cluster.items(&format!("spec.networking.{name}"));
        for (index, range) in ranges.iter().take(MOST).enumerate() {
            let Some(text) = range.text(&["cidr"]) else {
                continue;
            };
            let path = Path::dotted("spec.networking")
                .key(name)
                .index(index)
                .key("cidr");
            let net = match text.parse::<IpNet>() {
                Ok(net) if net.trunc() == net => net,
                fault => {
                    findings.push(no_network(cluster, &path, text, fault.ok()));
                    continue;
                }
            };
            let overlaps = |(_, other): &&(&str, IpNet)| {
                work::step();
                other.contains(&net) || net.contains(other)
            };
            if let Some((first, other)) = before.iter().find(overlaps) {
                let message = message!(
                    "CIDR ranges in machineNetwork, clusterNetwork, and serviceNetwork must be unique and non-overlapping: {net} overlaps {other} of {first}",
                    net,
                    other,
                    first
                );
                let help = "give each network a range of its own";
                findings.push(cluster.error("H05", &path, message).help(help));
            }
            before.push((name, net));
        }
    }
    findings
}

/// A text that is not a network, or one with bits that belong to addresses in it.
fn no_network(cluster: Hosted<'_>, path: &Path, text: &str, net: Option<IpNet>) -> Finding {
    let message = message!("{text} is not a network", text);
    let help = match net {
        Some(net) => format!("write {}", net.trunc()),
        None => "write an address and the length of its prefix, such as 10.132.0.0/14".to_owned(),
    };
    cluster.error("H05", path, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::super::{findings_of, messages_of};
    use super::*;

    fn cluster(spec: &str) -> String {
        format!(
            "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: c, namespace: ns}}, spec: {{{spec}}}}}\n"
        )
    }

    #[test]
    fn a_namespace_of_64_characters_is_one_too_long() {
        let named = |length: usize| {
            cluster("").replace("name: c", &format!("name: {}", "c".repeat(length)))
        };
        assert_eq!(findings_of(names_fit_a_namespace, &named(60)), [""; 0]);
        let twins = [("b-c", "a"), ("c", "a-b")].map(|(name, namespace)| {
            let text = cluster("").replace("name: c,", &format!("name: {name},"));
            format!(
                "---\n{}",
                text.replace("namespace: ns", &format!("namespace: {namespace}"))
            )
        });
        let found = findings_of(names_fit_a_namespace, &twins.concat());
        assert!(
            found[0].ends_with(
                "the control plane of HostedCluster/a/b-c has the same namespace, a-b-c"
            ),
            "{found:?}"
        );
        let found = findings_of(names_fit_a_namespace, &named(61));
        assert!(
            found[0].ends_with("64 characters, and 63 are possible"),
            "{found:?}"
        );
    }

    #[test]
    fn services_are_published_as_the_platform_needs() {
        let services = |ways: [&str; 4]| {
            let names = ["APIServer", "OAuthServer", "Konnectivity", "Ignition"];
            let one = |(name, way): (&str, &str)| {
                format!("{{service: {name}, servicePublishingStrategy: {way}}}")
            };
            let all: Vec<String> = names.into_iter().zip(ways).map(one).collect();
            format!("services: [{}]", all.join(", "))
        };
        let route = "{type: Route}";
        let found = |platform: &str, ways| {
            let text = cluster(&format!("platform: {platform}, {}", services(ways)));
            messages_of(services_are_published, &text)
        };
        let azure = "{type: Azure, azure: {azureAuthenticationConfig: {azureAuthenticationConfigType: WorkloadIdentities}}}";
        let balancer = "{type: LoadBalancer}";
        assert_eq!(found(azure, [balancer, balancer, route, route]), [""; 0]);
        assert_eq!(
            found("{type: Azure}", [balancer, balancer, route, route]),
            ["Azure managed platform (ARO HCP) requires OAuthServer to use Route"]
        );
        assert_eq!(
            found(azure, [balancer, "{type: None}", balancer, "{type: None}"]),
            OF_AZURE.map(|(_, _, said)| said)
        );
        assert_eq!(
            found(
                "{type: Agent}",
                [
                    "{type: NodePort}",
                    "{type: Route, loadBalancer: {}}",
                    "{type: LoadBalancer, route: {}}",
                    "{type: None, route: {}}"
                ]
            ),
            [
                "nodePort is required when type is NodePort, and forbidden otherwise",
                "only route is allowed when type is Route, and forbidden otherwise",
                "only loadBalancer is required when type is LoadBalancer, and forbidden otherwise",
                "None does not allowed any configuration for loadBalancer, nodePort, or route",
            ]
        );
        let twice = cluster(
            "platform: {type: Agent}, services: [{service: APIServer}, {service: APIServer}, {service: APIServer}, {service: OAuthServer}]",
        );
        let found = findings_of(services_are_published, &twice);
        assert!(
            found[0].ends_with("Konnectivity is not published"),
            "{found:?}"
        );
        let few = cluster("platform: {type: Agent}, services: []");
        assert_eq!(findings_of(services_are_published, &few).len(), 1);
    }

    #[test]
    fn networks_of_a_cluster_do_not_overlap() {
        let text = cluster(
            "networking: {clusterNetwork: [{cidr: 10.132.0.0/14}], serviceNetwork: [{cidr: 10.133.0.0/16}], machineNetwork: [{cidr: x}]}",
        );
        let found = findings_of(networks_are_apart, &text);
        assert_eq!(found.len(), 2);
        assert!(found[0].ends_with("x is not a network"), "{found:?}");
        let found = &found[1..];
        assert!(
            found[0].ends_with("10.133.0.0/16 overlaps 10.132.0.0/14 of clusterNetwork"),
            "{found:?}"
        );
    }
}
