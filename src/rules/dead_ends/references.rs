//! D03 to D06, and D16: who names whom. D07 and D08, references to what is not there, are R01.

use super::parts::{CONTROL_PLANE_REF, INFRASTRUCTURE_REF, POOL_REF, Parts, finding};
use crate::api::capi;
use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE};
use crate::model::{Finding, Object, ObjectId, Path, message, rule_id};

/// A reference of a Cluster: the id of the rule, its field, and the group and kind that it must name.
type Wanted = (&'static str, &'static str, (&'static str, &'static str));

const WANTED: [Wanted; 2] = [
    ("D03", INFRASTRUCTURE_REF, (INFRASTRUCTURE, "AROCluster")),
    ("D04", CONTROL_PLANE_REF, (CONTROL_PLANE, "AROControlPlane")),
];

/// D03 and D04: the Cluster of an ARO cluster names an AROCluster and an AROControlPlane.
pub(super) fn clusters_name_their_parts(parts: &Parts<'_>) -> Vec<Finding> {
    let clusters = parts.clusters().filter(|cluster| is_aro(parts, cluster));
    let unnamed = |cluster| {
        let faults = WANTED.iter();
        faults.filter_map(move |wanted| unnamed(parts, cluster, wanted))
    };
    clusters.flat_map(unnamed).collect()
}

/// Whether a Cluster names a part of the ARO provider, or such a part is meant for it. A topology sets references
/// later.
pub(super) fn is_aro(parts: &Parts<'_>, cluster: &Object) -> bool {
    let names = |(_, field, (group, kind)): &Wanted| {
        capi::target(cluster, field).is_some_and(|target| target.is(group, kind))
    };
    let arocluster = parts.of_kind(INFRASTRUCTURE, "AROCluster");
    let is_meant = |part: &Object| {
        let meant = parts.cluster_meant(part);
        meant.is_some_and(|one| one.id == cluster.id)
    };
    let has_part = || arocluster.chain(parts.planes()).any(is_meant);
    let has_topology = cluster.node.at(&["spec", "topology"]).is_some();
    !has_topology && (WANTED.iter().any(names) || has_part())
}

/// A finding, unless R01 reports that the object of another kind is not there.
fn unnamed(
    parts: &Parts<'_>,
    cluster: &Object,
    (id, field, (group, kind)): &Wanted,
) -> Option<Finding> {
    let path = Path::dotted(field);
    let name = field.trim_start_matches("spec.");
    let message = match capi::target(cluster, field) {
        Some(target) if target.is(group, kind) || !parts.has(&target) => return None,
        Some(target) => message!(
            "{name} of {cluster} names a {named} of {of}, but an ARO cluster needs an {kind} there",
            name,
            cluster = cluster.id,
            named = target.kind,
            of = target.group,
            kind
        ),
        None => message!(
            "{cluster} has no {name}, but an ARO cluster needs one that names an {kind}",
            cluster = cluster.id,
            name,
            kind
        ),
    };
    let help = format!(
        "write `{name}: {{apiGroup: {group}, kind: {kind}, name: ...}}`; without it, the controllers give up"
    );
    Some(finding(id, cluster, &path, message).help(help))
}

/// D05 and D06: something names every AROCluster, AROControlPlane and AROMachinePool. The controllers of one that
/// nothing names do nothing and report nothing.
pub(super) fn parts_are_named(parts: &Parts<'_>) -> Vec<Finding> {
    let arocluster = parts.of_kind(INFRASTRUCTURE, "AROCluster");
    let arocluster =
        arocluster.map(|part| (part, rule_id::UNNAMED_PART, "Cluster", INFRASTRUCTURE_REF));
    let planes = parts.planes();
    let planes = planes.map(|part| (part, rule_id::UNNAMED_PART, "Cluster", CONTROL_PLANE_REF));
    let pools = parts.pools();
    let pools = pools.map(|part| (part, rule_id::UNNAMED_POOL, "MachinePool", POOL_REF));
    let unnamed = arocluster.chain(planes).chain(pools);
    let unnamed =
        unnamed.filter(|(part, ..)| parts.user(part).is_none() && !parts.has_dangling(&part.id));
    unnamed
        .filter_map(|(part, id, by, field)| {
            let meant = match by {
                "Cluster" => parts.cluster_meant(part),
                _ => {
                    let (namespace, name) = (&*part.id.namespace, &*part.id.name);
                    parts.find(&ObjectId::new(CAPI, by, namespace, name))
                }
            };
            match meant {
                Some(user) => names_another(id, part, user, field),
                None => Some(nobody(id, part, by, field)),
            }
        })
        .collect()
}

/// D16: no two objects name one part. Cluster API makes each the owner of what it names, without end.
pub(super) fn parts_have_one_user(parts: &Parts<'_>) -> Vec<Finding> {
    let users = parts.objects.iter().filter(|one| one.id.group == CAPI);
    let shared = |user| {
        let fields = [INFRASTRUCTURE_REF, CONTROL_PLANE_REF, POOL_REF];
        fields
            .into_iter()
            .filter_map(move |field| shared(parts, user, field))
    };
    users.flat_map(shared).collect()
}

/// A finding at the reference of `user` if another object names the same part first.
fn shared(parts: &Parts<'_>, user: &Object, field: &str) -> Option<Finding> {
    let part = parts.find(&capi::target(user, field)?)?;
    // Of another kind: D03 and D04 report that one.
    let is_rival = |first: &&Object| first.id != user.id && first.id.kind == user.id.kind;
    let first = parts.user(part).filter(is_rival)?;
    // The one that a person can edit.
    let (user, first) = match (&user.definition, &first.definition) {
        (Some(_), None) => (first, user),
        _ => (user, first),
    };
    let message = message!(
        "{user} names {part}, which {first} names already: each of the two would claim it without end",
        user = user.id,
        part = part.id,
        first = first.id
    );
    let help = format!(
        "give {} an {} of its own, or remove it",
        user.id.name, part.id.kind
    );
    let path = Path::dotted(field).key("name");
    Some(finding("D16", user, &path, message).help(help))
}

/// A finding at the reference of the object that should name `part`, unless D03 or D04 reports that.
fn names_another(id: &'static str, part: &Object, user: &Object, field: &str) -> Option<Finding> {
    let target = capi::target(user, field);
    let is_other_kind = |target: &ObjectId| target.kind != part.id.kind;
    if user.id.kind == "Cluster" && target.as_ref().is_none_or(is_other_kind) {
        return None;
    }
    let path = Path::dotted(field);
    let name = field.rsplit('.').next().unwrap_or_default();
    let message = match target {
        Some(target) => message!(
            "{name} of {user} names {target}, so nothing names {part}",
            name,
            user = user.id,
            target,
            part = part.id
        ),
        None => message!(
            "{user} has no {name}, so nothing names {part}",
            user = user.id,
            name,
            part = part.id
        ),
    };
    let path = match user.node.lookup(&path.key("name")) {
        Some(_) => path.key("name"),
        None => path,
    };
    Some(finding(id, user, &path, message).help(format!("name {} there", part.id.name)))
}

fn nobody(id: &'static str, part: &Object, by: &str, field: &str) -> Finding {
    let name = field.rsplit('.').next().unwrap_or_default();
    let namespace = &part.id.namespace;
    let message = message!(
        "no {by} in namespace {namespace} names {part}: its controller waits for one and creates nothing",
        by,
        namespace,
        part = part.id
    );
    let help = format!(
        "add a {by} whose {name} names it; if that is applied from elsewhere, allow this warning with the reason"
    );
    finding(id, part, &Path::dotted("metadata.name"), message).help(help)
}

#[cfg(test)]
mod tests {
    use super::super::{CLUSTER, findings_of, ids};

    const NAMED: &str = "kind: AROCluster, name: c";

    #[test]
    fn a_cluster_names_its_parts() {
        let cases = [
            (
                "infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AROCluster, name: c}, ",
                "",
                "D03",
            ),
            (NAMED, "kind: AROMachinePool, name: p", "D03"),
            (
                "controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AROControlPlane, name: c}",
                "",
                "D04",
            ),
            (
                "apiGroup: controlplane.cluster.x-k8s.io, kind: AROControlPlane, name: c",
                "apiGroup: infrastructure.cluster.x-k8s.io, kind: AROCluster, name: c",
                "D04",
            ),
        ];
        for (from, to, expected) in cases {
            assert_eq!(ids(&[(from, to)]), [expected], "{from}");
        }
        let missing = ids(&[(NAMED, "kind: AzureCluster, name: gone")]);
        assert_eq!(missing, [""; 0], "R01 reports the reference");
        let neither = ids(&[(cases[0].0, ""), (cases[2].0, "")]);
        assert_eq!(neither, ["D03", "D04"]);
        let topology = ids(&[(cases[0].0, "topology: {class: x}, "), (cases[2].0, "")]);
        assert_eq!(topology, [""; 0], "the topology sets the references later");
        let others = CLUSTER[0].replace("AROC", "AzureC");
        assert_eq!(findings_of(&others), [""; 0], "another provider's cluster");
    }

    #[test]
    fn a_cluster_of_the_older_contract_names_its_parts_too() {
        let older = CLUSTER[0]
            .replace("cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1")
            .replace(
                "apiGroup: infrastructure.cluster.x-k8s.io",
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2",
            )
            .replace(
                "apiGroup: controlplane.cluster.x-k8s.io",
                "apiVersion: controlplane.cluster.x-k8s.io/v1beta2",
            );
        let fleet = [&older, CLUSTER[1], CLUSTER[2]].join("\n---\n");
        assert_eq!(findings_of(&fleet), [""; 0]);
    }

    #[test]
    fn something_names_every_part() {
        let alone = |at: usize| {
            let found = findings_of(CLUSTER[at]);
            found
                .iter()
                .map(|one| one.chars().take(3).collect::<String>())
                .collect::<Vec<_>>()
        };
        assert_eq!(alone(1), ["D05"]);
        assert_eq!(alone(2), ["D05"]);
        assert_eq!(alone(3), ["D06"]);
        let away = ids(&[(
            "kind: AROMachinePool, name: p}",
            "kind: AzureMachinePool, name: p}",
        )]);
        assert_eq!(away, ["D06"]);
        let dangling = ids(&[(NAMED, "kind: AROCluster, name: d")]);
        assert_eq!(dangling, [""; 0], "R01 reports the reference");
    }

    #[test]
    fn two_pools_do_not_share_their_infrastructure() {
        let second = CLUSTER[4].replace(
            "MachinePool, metadata: {name: p}",
            "MachinePool, metadata: {name: q}",
        );
        let fleet = [&CLUSTER[..], &[second.as_str()]].concat().join("\n---\n");
        let found = findings_of(&fleet);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("D16 11:"), "{found:?}");
        assert!(
            found[0].contains("which MachinePool/ns/p names already"),
            "{found:?}"
        );
    }
}
