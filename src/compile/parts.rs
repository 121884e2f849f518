//! A fleet, checked part by part: its objects are not kept.
//!
//! ```text
//! definition ──► objects ──► findings, links ─┐
//! definition ──► objects ──► findings, links ─┼─► groups ─► objects of a group ─► findings
//! plain object ─────────────────────► links ──┘
//! ```
//!
//! In: what was read of a fleet. Out: [`Digest`], the same as of all objects at once. A part is a definition or a plain
//! object. Most definitions concern no other part, and are compiled once; those that a link joins are compiled again,
//! together. It does not know what the rules compare: [`rules::links`] does.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::compiled::{Digest, Keep};
use super::documents::Documents;
use super::environment::Environment;
use super::group_checks::{CheckedGroups, Group, GroupChecks};
use super::memory::{Ground, Known, Memory, Revision};
use super::once::Clusters;
use super::part::{CompiledPart, Part};
use super::part_checker::{PartChecker, PartGraph};
use super::sources::{Found, Sources};
use super::wrong::duplicate;
use super::{lost, misspelt};
use crate::api::fleet::FleetPolicy;
use crate::graph::{self, Elsewhere, Graph, Joined, Piece};
use crate::model::{Budget, Finding, Node, Object, ObjectId, QuickMap, Span, Tree};
use crate::overlay::Effects;
use crate::rules;

/// A memory, and how its values are used again.
pub(super) struct Reuse<'a, K, T> {
    pub(super) memory: &'a Memory<K>,
    /// Makes the value of an object from the one that was kept before; `None` if the definition has to be compiled again.
    pub(super) again: &'a (dyn Fn(&K) -> Option<T> + Sync),
    /// True if the fleet is to be remembered, too.
    pub(super) remembers: bool,
}

/// The findings, what `keep` makes of the objects, and a memory of both, if the fleet can be remembered; `None` if a limit is exceeded
/// while the parts are compiled.
pub(super) fn digest<K: Send + Sync, T: Clone + Send + Sync>(
    documents: Documents,
    policy: &FleetPolicy,
    tree: &Tree,
    keep: Option<Keep<'_, T>>,
    reuse: Option<&Reuse<'_, K, T>>,
) -> Option<(Digest<T>, Option<Memory<T>>)> {
    match Sources::of(documents) {
        Ok(sources) => digested(sources, policy, tree, keep, reuse),
        Err(stopped) => Some((stopped.into(), None)),
    }
}

fn digested<K: Send + Sync, T: Clone + Send + Sync>(
    mut sources: Sources,
    policy: &FleetPolicy,
    tree: &Tree,
    keep: Option<Keep<'_, T>>,
    reuse: Option<&Reuse<'_, K, T>>,
) -> Option<(Digest<T>, Option<Memory<T>>)> {
    let (raw, effects) = patch_plain(&mut sources);
    let documents = &sources.documents.documents;
    let mut found = Found {
        clusters: Clusters::behind(&effects.findings, documents, &raw),
        ..Found::default()
    };
    let checker = PartChecker {
        environment: Environment::of(&raw),
        documents,
        policy,
        wants_graph: keep.is_some(),
    };
    let ground = reuse.map(|_| Ground::of(policy, &sources.overlays, &checker.environment, tree));
    let memory = reuse.zip(ground.as_ref());
    let known = memory.and_then(|(reuse, ground)| reuse.memory.compare(ground, &sources.overlays));
    let compiled = compile_parts(&sources, &checker, keep, reuse.zip(known.as_ref()))?;
    let is_new: Vec<bool> = compiled.iter().map(|one| one.is_new).collect();
    let (mut parts, kept_by_part): (Vec<Arc<Part>>, Vec<Arc<Vec<T>>>) = compiled
        .iter()
        .map(|one| (Arc::clone(&one.part), Arc::clone(&one.kept)))
        .unzip();
    let twice = mark_twice(&mut parts);
    let checks = GroupChecks {
        sources: &sources,
        raw: &raw,
        checker: &checker,
        is_new: &is_new,
        has_memory: reuse.is_some(),
    };
    let mut checked = checks.all(&parts, known.as_ref());
    if sources.documents.budget.exceeded().is_some() {
        return None;
    }
    drop(checker);
    let ground = ground.filter(|_| reuse.is_some_and(|reuse| reuse.remembers));
    let memory = ground.map(|ground| remember(ground, &mut sources, &compiled, &mut checked));
    drop(compiled);
    let pieces = graphs(&checked.groups);
    let mut kept = Vec::new();
    let mut starts = Vec::new();
    sources.documents.findings.extend(twice);
    for (number, (part, of_part)) in parts.iter().zip(kept_by_part).enumerate() {
        found.unread += usize::from(part.made.name.is_none());
        starts.push(kept.len());
        if !part.is_twice {
            kept.extend(Arc::unwrap_or_clone(of_part));
        }
        settle(&mut sources, number, part);
    }
    for object in &raw {
        starts.push(kept.len());
        let keep = keep.filter(|_| !rules::is_encrypted(object));
        kept.extend(keep.map(|keep| keep(object)));
    }
    sources.overlays.record(&effects);
    sources.documents.findings.extend(effects.findings);
    sources.blame_overlays();
    gather(&checked.groups, policy, &mut found);
    drop((parts, checked));
    let checked = sources.settle(policy, tree, found);
    // The graph of a fleet with errors would lack what they hide.
    let joined = (!checked.has_errors()).then(|| join(pieces, &starts, &raw, reuse));
    let (graph, joined) = joined.unwrap_or_default();
    let last = reuse.and_then(|reuse| reuse.memory.graph());
    let memory = memory.map(|memory| memory.with_graph(joined.as_ref().or(last)));
    let digest = Digest {
        checked,
        kept,
        graph,
    };
    Some((digest, memory))
}

impl<'a, T: Clone> Reuse<'a, T, T> {
    /// Takes all that is known, and remembers the fleet, too.
    pub(super) fn all(memory: &'a Memory<T>) -> Self {
        Self {
            memory,
            again: &|kept: &T| Some(kept.clone()),
            remembers: true,
        }
    }
}

impl<K, T> Reuse<'_, K, T> {
    /// The part that a definition becomes, if it is remembered. Counts its cost again.
    fn part(
        &self,
        definition: &Node,
        sources: &Sources,
        known: &Known<'_, K>,
    ) -> Option<CompiledPart<T>> {
        let before = known.part(definition, sources)?;
        let kept = before.kept.iter().map(self.again);
        let kept = kept.collect::<Option<Vec<T>>>()?;
        sources.documents.budget.spend(before.cost);
        sources.overlays.weigh_again(&before.part.effects);
        Some(CompiledPart {
            part: Arc::clone(&before.part),
            kept: kept.into(),
            cost: before.cost,
            is_new: false,
        })
    }
}

/// Remembers a fleet that was compiled on this ground.
fn remember<T>(
    ground: Ground,
    sources: &mut Sources,
    compiled: &[CompiledPart<T>],
    checked: &mut CheckedGroups,
) -> Memory<T> {
    let groups = std::mem::take(&mut checked.remembered);
    let joined = std::mem::take(&mut checked.joined);
    let revision = Revision::of(ground, sources, compiled).with_groups(groups, joined);
    let new = compiled.iter().filter(|one| one.is_new).count();
    Memory::of(revision, new, checked.checked)
}

/// Takes the plain objects, the encrypted ones last, and patches those that are applied: patches need not fit the others.
fn patch_plain(sources: &mut Sources) -> (Vec<Object>, Effects) {
    let raw = std::mem::take(&mut sources.raw).into_iter();
    let (encrypted, mut raw): (Vec<_>, Vec<_>) = raw.partition(rules::is_encrypted);
    let budget = &sources.documents.budget;
    let mut effects = sources.overlays.apply(&mut raw, budget);
    effects.findings.extend(misspelt::correct_kinds(&mut raw));
    raw.extend(encrypted);
    (raw, effects)
}

/// The graphs of all groups, each object with the number of its part.
fn graphs(groups: &[Group]) -> Vec<PartGraph> {
    let graphs = groups.iter().filter_map(|group| {
        let of_group = group.found.graph.as_ref()?;
        let parts = of_group.parts.iter().map(|member| group.parts[*member]);
        Some(PartGraph {
            graph: Arc::clone(&of_group.graph),
            parts: parts.collect(),
        })
    });
    graphs.collect()
}

/// The graph of the fleet, in which the objects of each part start at the index in `starts`; if there is a memory, with what it was
/// joined from.
fn join<K, T>(
    graphs: Vec<PartGraph>,
    starts: &[usize],
    raw: &[Object],
    reuse: Option<&Reuse<'_, K, T>>,
) -> (Arc<Graph>, Option<Joined>) {
    let encrypted = raw.iter().filter(|object| rules::is_encrypted(object));
    let left_alone: Vec<&ObjectId> = encrypted.map(|object| &object.id).collect();
    let pieces = graphs.into_iter().map(|PartGraph { graph, parts }| Piece {
        graph,
        objects: indices(&parts, starts),
    });
    let pieces = pieces.collect();
    let Some(reuse) = reuse else {
        return (graph::join(pieces, &left_alone).into(), None);
    };
    let joined = match reuse.memory.graph() {
        Some(last) => last.again(pieces, &left_alone),
        None => Joined::of(pieces, &left_alone),
    };
    (Arc::clone(joined.graph()), Some(joined))
}

/// Compiles the definitions that are not known; `None` if a limit is exceeded.
fn compile_parts<K: Send + Sync, T: Send + Sync>(
    sources: &Sources,
    checker: &PartChecker<'_>,
    keep: Option<Keep<'_, T>>,
    known: Option<(&Reuse<'_, K, T>, &Known<'_, K>)>,
) -> Option<Vec<CompiledPart<T>>> {
    let compiled = sources.definitions.par_iter().map(|node| {
        let compiled = known
            .and_then(|(reuse, known)| reuse.part(node, sources, known))
            .unwrap_or_else(|| part(sources, node, checker, keep));
        let is_allowed = sources.documents.budget.exceeded().is_none();
        is_allowed.then_some(compiled)
    });
    compiled.collect()
}

/// The index in the fleet of each object of a group, given the part of each: objects of one part follow each other.
fn indices(parts: &[usize], starts: &[usize]) -> Vec<usize> {
    parts
        .chunk_by(|one, other| one == other)
        .flat_map(|objects| (starts[objects[0]]..).take(objects.len()))
        .collect()
}

/// Compiles a definition, and checks it by itself.
fn part<T>(
    sources: &Sources,
    node: &Node,
    checker: &PartChecker<'_>,
    keep: Option<Keep<'_, T>>,
) -> CompiledPart<T> {
    let budget = Budget::of_part(&sources.documents.budget);
    let (mut made, effects) = sources.patched(node, &budget);
    let objects = std::mem::take(&mut made.objects);
    let is_incomplete = !made.reported.is_empty() || objects.is_empty();
    let known: Vec<&Finding> = made.of_objects.iter().chain(&effects.findings).collect();
    let kept = keep.map(|keep| objects.iter().map(keep).collect());
    let namespaces = objects.iter().map(|object| object.id.namespace.clone());
    let namespaces = namespaces.collect();
    let members = objects.into_iter().map(|object| (0, object));
    let (found, links) = checker.check(members.collect(), &known);
    let part = Part {
        is_incomplete,
        made,
        effects,
        found: found.into(),
        links: links.into(),
        namespaces,
        is_twice: false,
    };
    CompiledPart {
        part: part.into(),
        kept: Arc::new(kept.unwrap_or_default()),
        cost: budget.cost(),
        is_new: true,
    }
}

/// Adds what was found in a definition by itself.
fn settle(sources: &mut Sources, number: usize, part: &Part) {
    let Part { made, effects, .. } = part;
    if made.lacks_labels {
        let definition = lost::nothing(sources.definitions[number].span());
        sources.overlays.without(&definition);
    }
    if part.is_incomplete {
        sources
            .overlays
            .without_objects(&sources.definitions[number]);
    }
    sources.overlays.record(effects);
    let documents = &mut sources.documents;
    let found = [&made.of_definition, &made.of_objects, &effects.findings];
    documents
        .findings
        .extend(found.into_iter().flatten().cloned());
    let lost = &mut documents.lost;
    lost.effects.extend(made.effects.iter().cloned());
    lost.names.extend(made.incomplete.clone());
    lost.reported.extend(made.reported.iter().cloned());
}

/// Reports the definitions that have the id of another one, and takes what was found in their objects.
fn mark_twice(parts: &mut [Arc<Part>]) -> Vec<Finding> {
    let mut first: QuickMap<&ObjectId, &Span> = QuickMap::default();
    let mut twice = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let Some((id, here)) = &part.made.name else {
            continue;
        };
        match first.get(id) {
            None => drop(first.insert(id, here)),
            Some(first) => twice.push((number, duplicate(id, here, first))),
        }
    }
    let mark = |(number, finding)| {
        let part: &mut Arc<Part> = &mut parts[number];
        *part = part.twice().into();
        finding
    };
    twice.into_iter().map(mark).collect()
}

/// Puts together what was found in all groups.
fn gather(groups: &[Group], policy: &FleetPolicy, found: &mut Found) {
    let mut elsewhere = Elsewhere::unused(&policy.outside);
    let mut of_tenants: BTreeMap<usize, &[Finding]> = BTreeMap::new();
    let mut unlisted: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
    for Group { parts, found: one } in groups {
        found.of_rules.extend(one.of_rules.iter().cloned());
        found.of_graph.extend(one.of_graph.iter().cloned());
        found.clusters.add(&one.clusters);
        found.object_count += one.object_count;
        found.embedded_count += one.embedded_count;
        elsewhere.add(&one.elsewhere);
        for (member, findings) in &one.of_tenants {
            of_tenants.insert(parts[*member], findings);
        }
        for (member, finding) in &one.unlisted {
            unlisted.entry(parts[*member]).or_default().push(finding);
        }
    }
    // A line of an overlay is in many objects, and many need one object outside of the fleet.
    let of_tenants = of_tenants.into_values().flatten();
    let mut seen = HashSet::new();
    let first = of_tenants.filter(|one| seen.insert((one.id, &one.span, &one.args)));
    found.of_rules.extend(first.cloned());
    let unlisted = unlisted.into_values().flatten();
    let mut seen = HashSet::new();
    let first = unlisted.filter(|one| seen.insert(&one.args));
    found.of_graph.extend(first.cloned());
    found.unneeded = elsewhere.unneeded().collect();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::fleet::OutsideObject;
    use crate::compile::compile_by;

    /// The findings for documents; `compile_by` checks that they are the same in parts.
    fn found(policy: &FleetPolicy, text: &str) -> Vec<Finding> {
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        compile_by(policy, &tree, &[]).checked.findings
    }

    #[test]
    fn an_entry_of_outside_has_no_effect_in_a_fleet_without_objects() {
        let entry = OutsideObject {
            group: None,
            kind: "ResourceGroup".to_owned(),
            namespace: "n".to_owned(),
            name: "a".to_owned(),
        };
        let policy = FleetPolicy {
            outside: vec![entry],
            ..FleetPolicy::default()
        };
        let found = found(&policy, "# nothing");
        let ids: Vec<&str> = found.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["R05", "Y10"]);
    }

    /// Documents that only a link joins, and the finding that they have together; after `!`, one that none of them has then.
    const JOINED: [(&str, &str, &str); 6] = [
        (
            "ranges of subnets in a network outside of the fleet",
            "W04",
            "\
{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetworksSubnet, metadata: {name: a, namespace: n}, spec: {owner: {armId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v}, addressPrefix: 10.0.0.0/24}}
---
{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetworksSubnet, metadata: {name: b, namespace: n}, spec: {owner: {armId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v}, addressPrefix: 10.0.0.0/25}}
",
        ),
        (
            "a name that is meant",
            "R01",
            "\
{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetworksSubnet, metadata: {name: a, namespace: n}, spec: {owner: {name: nett}, addressPrefix: 10.0.0.0/24}}
---
{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {name: net, namespace: n}, spec: {owner: {armId: /subscriptions/s/resourceGroups/g}, location: uksouth, addressSpace: {addressPrefixes: [10.0.0.0/16]}}}
",
        ),
        (
            "a part that may be meant by a reference to nothing",
            "!D05",
            "\
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: a, namespace: n}, spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AROControlPlane, name: x}}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: y, namespace: n}, spec: {}}
",
        ),
        (
            "the subscription of a control plane",
            "F01",
            "\
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: c, namespace: n}, spec: {resources: [{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: c}, spec: {azureName: shared, location: uksouth}}]}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: c, namespace: n}, spec: {subscriptionID: s}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: d, namespace: m}, spec: {resources: [{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: d}, spec: {azureName: shared, location: uksouth}}]}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: d, namespace: m}, spec: {subscriptionID: s}}
",
        ),
        (
            "the cluster that a controller makes the owner of a pool",
            "N25",
            "\
{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: c, namespace: n}, spec: {resources: [{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {name: c}, spec: {}}]}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROMachinePool, metadata: {name: p, namespace: n, labels: {cluster.x-k8s.io/cluster-name: c}}, spec: {resources: [{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftClustersNodePool, metadata: {name: p}, spec: {properties: {replicas: 501, platform: {availabilityZone: '1'}}}}]}}
",
        ),
        (
            "regions without the service",
            "F08",
            "\
{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {name: c, namespace: n}, spec: {location: norwayeast}}
---
{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {name: d, namespace: n}, spec: {location: norwayeast}}
",
        ),
    ];

    #[test]
    fn what_only_a_link_joins_is_checked_together() {
        for (what, expected, text) in JOINED {
            let found = found(&FleetPolicy::default(), text);
            let count = |id: &str| found.iter().filter(|one| one.id == id).count();
            match expected.strip_prefix('!') {
                Some(hidden) => assert_eq!(count(hidden), 0, "{what}: {found:#?}"),
                None => assert_eq!(count(expected), 1, "{what}: {found:#?}"),
            }
        }
    }
}
