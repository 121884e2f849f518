//! H06, H07 and H12: NodePools, alone and beside their cluster.

use super::parts::{Hosted, Parts};
use crate::model::{Finding, Node, Path, message};
use crate::rules::wording;

/// The blocks of settings of the platforms, by the type of the platform.
const BLOCKS: [(&str, &str); 6] = [
    ("Azure", "azure"),
    ("KubeVirt", "kubevirt"),
    ("Agent", "agent"),
    ("AWS", "aws"),
    ("IBMCloud", "ibmcloud"),
    ("PowerVS", "powervs"),
];

/// The platforms on which autoscaling may go down to no nodes.
const FROM_ZERO: [&str; 2] = ["AWS", "Azure"];

/// The architectures other than amd64, and the platforms that have them (the CRD of NodePool).
const ARCHITECTURES: [(&str, &[&str], &str); 2] = [
    (
        "arm64",
        &["AWS", "Azure", "Agent", "GCP", "None"],
        "Setting Arch to arm64 is only supported for AWS, Azure, Agent, GCP and None",
    ),
    (
        "s390x",
        &["KubeVirt"],
        "s390x is only supported on KubeVirt platform",
    ),
];

/// The most minor versions that the nodes may be behind the control plane (OpenShift's documentation of hosted control planes).
const BEHIND: u32 = 3;

/// H06: a pool has a number of nodes that its platform can have.
pub(super) fn scaling_is_possible(parts: &Parts<'_>) -> Vec<Finding> {
    parts.pools().flat_map(impossible).collect()
}

fn impossible(pool: Hosted<'_>) -> Vec<Finding> {
    let platform = pool.text("spec.platform.type").unwrap_or_default();
    let number = |path: &str| pool.at(path).and_then(Node::as_int);
    let (least, most) = (
        number("spec.autoScaling.min"),
        number("spec.autoScaling.max"),
    );
    let mut findings = Vec::new();
    if pool.has("spec.replicas") && pool.has("spec.autoScaling") {
        let said = "Both replicas or autoScaling should not be set";
        let help = "remove `replicas` to let the autoscaler choose";
        findings.push(
            pool.error("H06", &Path::dotted("spec.replicas"), said)
                .help(help),
        );
    }
    if let (Some(least), Some(most)) = (least, most)
        && most < least
    {
        let message = message!(
            "max must be equal or greater than min: {most} is less than {least}",
            most,
            least
        );
        let help = "raise the maximum, or lower the minimum";
        findings.push(
            pool.error("H06", &Path::dotted("spec.autoScaling.max"), message)
                .help(help),
        );
    }
    if least == Some(0) && !FROM_ZERO.contains(&platform) {
        let said = "Scale-from-zero (autoScaling.min=0) is currently only supported for AWS and Azure platforms";
        let help = "keep at least one node";
        findings.push(
            pool.error("H06", &Path::dotted("spec.autoScaling.min"), said)
                .help(help),
        );
    }
    findings
}

/// H07: a pool has the platform of its cluster, with its settings, and an architecture of it.
pub(super) fn platforms_agree(parts: &Parts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cluster in parts.clusters() {
        findings.extend(without_settings(cluster));
    }
    for pool in parts.pools() {
        findings.extend(without_settings(pool));
        findings.extend(of_architecture(pool));
        let own = pool.text("spec.platform.type");
        let cluster = parts.cluster_of(pool);
        let wanted = cluster.and_then(|cluster| cluster.text("spec.platform.type"));
        if let (Some(own), Some(wanted)) = (own, wanted)
            && own != wanted
        {
            let message = message!(
                "the platform of the node pool is {own}, and that of its cluster is {wanted}",
                own,
                wanted
            );
            let help = format!("write `type: {wanted}`");
            findings.push(
                pool.error("H07", &Path::dotted("spec.platform.type"), message)
                    .help(help),
            );
        }
    }
    findings
}

/// The settings of a platform are missing. HyperShift fills in none of them; only those of agents and a cluster's of KubeVirt are optional.
fn without_settings(one: Hosted<'_>) -> Option<Finding> {
    let platform = one.text("spec.platform.type")?;
    let is_pool = one.object.id.kind == "NodePool";
    let (_, block) = BLOCKS.into_iter().find(|(of, _)| *of == platform)?;
    let is_optional = match platform {
        "Agent" => is_pool,
        "KubeVirt" => !is_pool,
        _ => false,
    };
    if is_optional || one.has(&format!("spec.platform.{block}")) {
        return None;
    }
    let message = match (platform, is_pool) {
        ("Azure", false) => "azurecluster needs .spec.platform.azure to be filled".to_owned(),
        (_, true) => format!("nodepool.spec.platform.{block} is required"),
        _ => format!("spec.platform.{block} is required"),
    };
    let help = format!("add `{block}` below `platform`");
    Some(
        one.error("H07", &Path::dotted("spec.platform"), message)
            .help(help),
    )
}

fn of_architecture(pool: Hosted<'_>) -> Option<Finding> {
    let own = pool.text("spec.arch")?;
    let platform = pool.text("spec.platform.type")?;
    let (_, platforms, said) = ARCHITECTURES.into_iter().find(|(arch, ..)| *arch == own)?;
    let help = "write `arch: amd64`, or remove it";
    (!platforms.contains(&platform)).then(|| {
        pool.error("H07", &Path::dotted("spec.arch"), said)
            .help(help)
    })
}

/// H12: the nodes are not newer than their control plane, and at most three minor versions older.
pub(super) fn releases_are_near(parts: &Parts<'_>) -> Vec<Finding> {
    parts.pools().filter_map(|pool| far(parts, pool)).collect()
}

fn far<'a>(parts: &Parts<'a>, pool: Hosted<'a>) -> Option<Finding> {
    const IMAGE: &str = "spec.release.image";
    let cluster = parts.cluster_of(pool)?;
    let (nodes, plane) = (version(pool.text(IMAGE)?)?, version(cluster.text(IMAGE)?)?);
    let text = |(major, minor, patch): (u32, u32, u32)| format!("{major}.{minor}.{patch}");
    let (own, of_cluster) = (text(nodes), text(plane));
    if nodes > plane {
        let message = message!(
            "the release {own} of the nodes is newer than {of_cluster} of their cluster",
            own,
            of_cluster
        );
        let help = "upgrade the cluster first";
        return Some(pool.error("H12", &Path::dotted(IMAGE), message).help(help));
    }
    let is_far = nodes.0 == plane.0 && nodes.1.saturating_add(BEHIND) < plane.1;
    let message = message!(
        "the release {own} of the nodes is more than {BEHIND} minor versions older than {of_cluster} of their cluster",
        own,
        of_cluster
    );
    let help = "upgrade the node pool, one minor version after another";
    is_far.then(|| {
        pool.warning("H12", &Path::dotted(IMAGE), message)
            .help(help)
    })
}

/// The version in the tag of a release image, such as `4.20.17-multi`; `None` for a digest and for candidates.
fn version(image: &str) -> Option<(u32, u32, u32)> {
    let (_, tag) = image.rsplit_once(':').filter(|_| !image.contains('@'))?;
    let version = tag.split('-').next()?;
    let is_candidate = tag.contains("-rc.") || tag.contains("-ec.");
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    let (major, minor, patch) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (!is_candidate && numbers.next().is_none()).then_some((major, minor, patch))
}

/// H13: the labels and taints of nodes, and the labels that agents are chosen by, are valid in Kubernetes.
pub(super) fn labels_are_well_formed(parts: &Parts<'_>) -> Vec<Finding> {
    const MAPS: [&str; 2] = [
        "spec.nodeLabels",
        "spec.platform.agent.agentLabelSelector.matchLabels",
    ];
    let mut findings = Vec::new();
    for pool in parts.pools() {
        for map in MAPS {
            let entries = pool.at(map).and_then(Node::as_map);
            for (key, value) in entries.into_iter().flat_map(|map| map.iter()) {
                let at = Path::dotted(map).key(key.name.clone());
                findings.extend(malformed(pool, &at, &key.name, value.as_str()));
            }
        }
        for (index, taint) in pool.items("spec.taints").iter().enumerate() {
            let at = Path::dotted("spec.taints").index(index).key("key");
            let key = taint.text(&["key"]).unwrap_or_default();
            findings.extend(malformed(pool, &at, key, taint.text(&["value"])));
        }
    }
    findings
}

/// A key or a value that Kubernetes does not take.
fn malformed(pool: Hosted<'_>, at: &Path, key: &str, value: Option<&str>) -> Option<Finding> {
    if let Some(why) = wording::of_label_key(key) {
        let message = message!("invalid key {key:?}: {why}", key, why);
        let help = "write a key such as example.com/team or team";
        return Some(pool.error("H13", at, message).help(help));
    }
    let value = value?;
    let why = wording::of_label_value(value)?;
    let message = message!("invalid value {value:?} of {key}: {why}", value, key, why);
    let help = "write a value such as a-and-b, or an empty one";
    Some(pool.error("H13", at, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::super::messages_of;
    use super::*;

    fn object(kind: &str, name: &str, spec: &str) -> String {
        format!(
            "---\n{{apiVersion: hypershift.openshift.io/v1beta1, kind: {kind}, metadata: {{name: {name}, namespace: ns}}, spec: {{{spec}}}}}\n"
        )
    }

    #[test]
    fn a_pool_is_scaled_in_one_way() {
        let found = |platform: &str, scaling: &str| {
            messages_of(
                scaling_is_possible,
                &object(
                    "NodePool",
                    "p",
                    &format!("platform: {{type: {platform}}}, {scaling}"),
                ),
            )
        };
        let zero = "Scale-from-zero (autoScaling.min=0) is currently only supported for AWS and Azure platforms";
        assert_eq!(found("Agent", "autoScaling: {min: 0, max: 3}"), [zero]);
        assert_eq!(found("Azure", "autoScaling: {min: 0, max: 3}"), [""; 0]);
        assert_eq!(
            found("Azure", "replicas: 2, autoScaling: {min: 4, max: 3}"),
            [
                "Both replicas or autoScaling should not be set",
                "max must be equal or greater than min: 3 is less than 4"
            ]
        );
    }

    #[test]
    fn a_pool_has_the_platform_of_its_cluster_with_its_settings() {
        let cluster =
            |platform: &str| object("HostedCluster", "c", &format!("platform: {platform}"));
        let pool = |spec: &str| object("NodePool", "p", &format!("clusterName: c, {spec}"));
        let found = |one: &str, other: &str| {
            messages_of(platforms_agree, &format!("{}{}", cluster(one), pool(other)))
        };
        assert_eq!(
            found(
                "{type: KubeVirt}",
                "platform: {type: KubeVirt, kubevirt: {}}"
            ),
            [""; 0]
        );
        assert_eq!(
            found("{type: KubeVirt}", "platform: {type: KubeVirt}"),
            ["nodepool.spec.platform.kubevirt is required"]
        );
        assert_eq!(
            found("{type: Azure}", "platform: {type: Agent}"),
            [
                "azurecluster needs .spec.platform.azure to be filled",
                "the platform of the node pool is Agent, and that of its cluster is Azure",
            ]
        );
        assert_eq!(
            found(
                "{type: KubeVirt}",
                "arch: arm64, platform: {type: KubeVirt, kubevirt: {}}"
            ),
            ["Setting Arch to arm64 is only supported for AWS, Azure, Agent, GCP and None"]
        );
    }

    #[test]
    fn nodes_are_not_newer_than_their_cluster_nor_much_older() {
        let found = |nodes: &str| {
            let cluster = object("HostedCluster", "c", "release: {image: 'r:4.20.5-multi'}");
            let pool = object(
                "NodePool",
                "p",
                &format!("clusterName: c, release: {{image: 'r{nodes}'}}"),
            );
            messages_of(releases_are_near, &format!("{cluster}{pool}"))
        };
        assert_eq!(
            found(":4.20.6-multi"),
            ["the release 4.20.6 of the nodes is newer than 4.20.5 of their cluster"]
        );
        assert_eq!(
            found(":4.16.9"),
            [
                "the release 4.16.9 of the nodes is more than 3 minor versions older than 4.20.5 of their cluster"
            ]
        );
        for near in [
            ":4.20.5-multi",
            ":4.17.1",
            "@sha256:0a",
            ":4.21.0-rc.1",
            ":latest",
        ] {
            assert_eq!(found(near), [""; 0], "{near}");
        }
    }

    #[test]
    fn labels_and_taints_are_valid() {
        let found =
            |fields: &str| messages_of(labels_are_well_formed, &object("NodePool", "p", fields));
        assert_eq!(
            found("nodeLabels: {a: b, example.com/c: ''}, taints: [{key: a, value: b}]"),
            [""; 0]
        );
        assert_eq!(found("nodeLabels: {a b: c}").len(), 1);
        assert_eq!(found("nodeLabels: {a: b c}").len(), 1);
        assert_eq!(found("taints: [{key: a/b/c}, {value: a}]").len(), 2);
        let agents = "platform: {agent: {agentLabelSelector: {matchLabels: {'a: b': c}}}}";
        assert_eq!(found(agents).len(), 1);
    }
}
