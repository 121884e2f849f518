//! The status of a cluster as people read it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::cluster_status::{ClusterStatus, word, wrapped};
use super::alike::{alike, names, neutral};
use super::aso::{self, Operators};
use super::fleet::{self, Fleet, Fleets};
use crate::model::ObjectId;
use crate::status::{Chain, ClusterView, FleetView, Phase};

/// How many causes are listed for objects that belong to no cluster.
const STRAYS: usize = 20;
/// The phases that are counted besides ready, the worst first.
const COUNTED: [Phase; 8] = [
    Phase::Failed,
    Phase::NotServed,
    Phase::Retrying,
    Phase::Deleting,
    Phase::Waiting,
    Phase::NotMade,
    Phase::Progressing,
    Phase::Unknown,
];

/// All of it, as people read it.
pub(super) fn text(
    status: &ClusterStatus,
    fleets: &Fleets<'_>,
    operators: Option<&Operators>,
) -> String {
    let mut out = String::new();
    for one in fleets {
        let Fleet {
            set, parent, view, ..
        } = one;
        let _ = writeln!(out, "fleet {}", set.fleet());
        out.push_str(&fleet::header(one));
        if one.alone().is_none() {
            let _ = writeln!(out, "  objects   {}", counts(view));
        }
        out.push_str(&fleet::troubles(parent, view));
        out.push('\n');
        let width = |cluster: &ClusterView| name(status, cluster).len();
        let width = view.clusters.iter().map(width).max().unwrap_or_default();
        out.push_str(&clusters_text(status, view, width));
        let ready = |cluster: &ClusterView| cluster.phase == Phase::Ready;
        if view.clusters.last().is_some_and(ready) {
            out.push('\n');
        }
        out.push_str(&strays_text(status, view));
    }
    if let Some(operators) = operators {
        out.push_str(&aso::text(operators));
    }
    for unreadable in status.unreadable() {
        out.push_str(&wrapped("not seen: ", &unreadable));
    }
    let worst = fleets
        .iter()
        .filter_map(|fleet| fleet.view.clusters.first());
    let worst = worst.max_by_key(|cluster| cluster.phase);
    if let Some(cluster) = worst.filter(|cluster| cluster.phase != Phase::Ready) {
        let id = status.graph.id(cluster.root);
        let _ = writeln!(out, "the full chain: capstan why {id}");
    }
    out
}

/// `31 of 55 ready; 1 failed, 20 progressing`.
fn counts(view: &FleetView) -> String {
    let other = |phase: &Phase| match view.count(*phase) {
        0 => None,
        count => Some(format!("{count} {}", word(*phase).to_lowercase())),
    };
    let others: Vec<String> = COUNTED.iter().filter_map(other).collect();
    let ready = format!("{} of {} ready", view.count(Phase::Ready), view.total());
    match others.as_slice() {
        [] => ready,
        others => format!("{ready}; {}", others.join(", ")),
    }
}

fn name(status: &ClusterStatus, cluster: &ClusterView) -> String {
    let id = status.graph.id(cluster.root);
    format!("{}/{}", id.namespace, id.name)
}

/// The clusters of a fleet: those that are not ready for one reason are one entry.
fn clusters_text(status: &ClusterStatus, view: &FleetView, width: usize) -> String {
    let mut sharers: BTreeMap<&ObjectId, usize> = BTreeMap::new();
    let blockers = view.clusters.iter().filter_map(|one| one.chain.as_ref());
    for chain in blockers {
        let id = status.graph.id(chain.blocker());
        *sharers.entry(id).or_default() += 1;
    }
    let groups = alike(&view.clusters, |cluster| {
        let name = status.graph.id(cluster.root).name.as_str();
        let cause = cluster.chain.as_ref().map(|chain| {
            let at = chain.blocker();
            let is_shared = sharers
                .get(status.graph.id(at))
                .is_some_and(|count| *count > 1);
            cause(status, at, name, is_shared)
        });
        // Each that is ready is an entry of its own.
        let own = cause.is_none().then_some(cluster.root);
        (cluster.phase, cause, own)
    });
    let groups = groups.iter().map(|group| match group.as_slice() {
        [one] => cluster_text(status, one, width),
        group => group_text(status, group, width),
    });
    groups.collect()
}

/// The reason why something waits: one object that blocks several, or equal words about objects of one kind.
type Cause = (Phase, ObjectId, String);

/// The cause that is the object `at`, for something with this name.
fn cause(status: &ClusterStatus, at: usize, name: &str, is_shared: bool) -> Cause {
    let (id, found) = (status.graph.id(at), status.graph.status(at));
    if is_shared {
        return (found.phase, id.clone(), String::new());
    }
    let kind = ObjectId::new(&*id.group, &*id.kind, "", "");
    (
        found.phase,
        kind,
        neutral(&found.words(), &[name, &id.name]),
    )
}

/// Clusters with one cause, of which the one that has lasted longest is shown.
fn group_text(status: &ClusterStatus, group: &[&ClusterView], width: usize) -> String {
    let mut out = String::new();
    let roots = group.iter().map(|cluster| cluster.root);
    let oldest = roots.max_by_key(|root| status.seconds(*root));
    let age = oldest.map_or_else(String::new, |root| status.age(root));
    let sum = |part: fn(&ClusterView) -> usize| group.iter().map(|one| part(one)).sum::<usize>();
    let line = format!(
        "  {:<11} {:<width$}  {}/{} ready  {age}",
        group.first().map_or("", |cluster| word(cluster.phase)),
        format!("{} clusters", group.len()),
        sum(|cluster| cluster.ready),
        sum(|cluster| cluster.total),
    );
    let _ = writeln!(out, "{}", line.trim_end());
    let all = names(group.iter().map(|cluster| name(status, cluster)));
    out.push_str(&wrapped("    ", &all));
    let chains = group.iter().filter_map(|cluster| cluster.chain.as_ref());
    // What two objects embed is there twice.
    let blockers = chains.map(|chain| (status.graph.id(chain.blocker()), chain.blocker()));
    let blockers: BTreeMap<&ObjectId, usize> = blockers.collect();
    let longest = blockers.values().max_by_key(|at| status.seconds(**at));
    if let Some(at) = longest {
        out.push_str(&blocker_text(status, *at, "    "));
        let others = blockers.len() - 1;
        if others > 0 {
            let kind = &status.graph.id(*at).kind;
            let _ = writeln!(
                out,
                "    and {others} more {kind} objects for the same reason"
            );
        }
    }
    out.push('\n');
    out
}

fn cluster_text(status: &ClusterStatus, cluster: &ClusterView, width: usize) -> String {
    let mut out = String::new();
    let age = status.age(cluster.root);
    let line = format!(
        "  {:<11} {:<width$}  {}/{} ready  {}",
        word(cluster.phase),
        name(status, cluster),
        cluster.ready,
        cluster.total,
        if cluster.phase == Phase::Ready {
            ""
        } else {
            &age
        },
    );
    let _ = writeln!(out, "{}", line.trim_end());
    if let Some(chain) = &cluster.chain {
        out.push_str(&chain_text(status, chain, "    "));
        out.push('\n');
    }
    out
}

/// What blocks, its message, and what helps.
fn chain_text(status: &ClusterStatus, chain: &Chain, indent: &str) -> String {
    let at = chain.blocker();
    let mut out = blocker_text(status, at, indent);
    let found = status.graph.status(at);
    let same = |at: &&usize| status.graph.status(**at).phase == found.phase;
    let same = chain.others.iter().filter(same).count();
    if same > 0 {
        let state = word(found.phase).to_lowercase();
        let _ = writeln!(out, "{indent}and {same} more {state}");
    }
    out
}

/// An object that blocks, its message, and what helps.
fn blocker_text(status: &ClusterStatus, at: usize, indent: &str) -> String {
    let state = format!("{} {}", word(status.graph.status(at).phase), status.age(at));
    let line = format!("{indent}{}: {}", status.graph.id(at), state.trim_end());
    format!("{line}\n{}", words_text(status, at, &format!("{indent}  ")))
}

/// An object's message, and what helps.
fn words_text(status: &ClusterStatus, at: usize, indent: &str) -> String {
    let mut out = wrapped(indent, &status.graph.status(at).words());
    let help = status.graph.help(at, status.now);
    if !help.is_empty() {
        out.push_str(&wrapped(&format!("{indent}help: "), &help));
    }
    out
}

fn strays_text(status: &ClusterStatus, view: &FleetView) -> String {
    let mut out = String::new();
    let groups = alike(&view.strays, |stray| {
        cause(status, stray.blocker, "", false)
    });
    for group in groups.iter().take(STRAYS) {
        let blockers = group.iter().map(|stray| stray.blocker);
        let longest = blockers.max_by_key(|at| status.seconds(*at));
        let Some(at) = longest else { continue };
        let phase = word(status.graph.status(at).phase);
        let all = group.iter();
        let all = names(all.map(|stray| status.graph.id(stray.blocker).to_string()));
        out.push_str(&wrapped(
            &format!("  {phase:<11} "),
            format!("{all}  {}", status.age(at)).trim_end(),
        ));
        out.push_str(&words_text(status, at, "    "));
        let waiting = group.iter().flat_map(|stray| {
            let objects = stray.objects.iter();
            objects.filter(|at| **at != stray.blocker)
        });
        let waiting: Vec<String> = waiting.map(|at| status.graph.id(*at).to_string()).collect();
        if !waiting.is_empty() {
            out.push_str(&wrapped("    waited for by ", &names(waiting.into_iter())));
        }
    }
    if groups.len() > STRAYS {
        let more: usize = groups[STRAYS..].iter().map(Vec::len).sum();
        let _ = writeln!(out, "  and {more} more");
    }
    if !out.is_empty() {
        out.insert_str(0, "  in no cluster:\n");
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::adapters::kubernetes::survey::Survey;
    use crate::api::labels::PART_OF;
    use crate::apply::Parent;
    use crate::plan::ApplySet;
    use crate::status::{Found, Heartbeat, StatusGraph};

    const ASO: &str = "resources.azure.com/v1api20200601";

    fn object(api_version: &str, kind: &str, name: &str) -> Json {
        json!({"apiVersion": api_version, "kind": kind, "spec": {}, "metadata": {
            "name": name, "namespace": "ns", "generation": 1, "uid": format!("{kind}-{name}"),
            "creationTimestamp": "2026-01-01T00:00:00Z"}})
    }

    fn member(mut object: Json, set: &ApplySet) -> Json {
        let fields = json!({"f:metadata": {"f:labels": {format!("f:{PART_OF}"): {}}}});
        object["metadata"]["labels"][PART_OF] = json!(set.id());
        object["metadata"]["managedFields"] =
            json!([{"manager": "capstan", "operation": "Apply", "fieldsV1": fields}]);
        object
    }

    /// What Azure refuses.
    fn refused(name: &str) -> Json {
        let mut object = object(ASO, "ResourceGroup", name);
        let message = format!("the quota of {name} is used up");
        object["status"]["conditions"] = json!([{"type": "Ready", "status": "False", "severity": "Warning",
            "reason": "QuotaExceeded", "message": message, "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:10:00Z"}]);
        object
    }

    /// A Cluster with a resource group, which may be one that others have, too.
    fn cluster(name: &str, group: &str, set: &ApplySet) -> [Json; 3] {
        let (infra, kind) = ("infrastructure.cluster.x-k8s.io", "AROCluster");
        let mut root = object("cluster.x-k8s.io/v1beta2", "Cluster", name);
        root["spec"]["infrastructureRef"] = json!({"apiGroup": infra, "kind": kind, "name": name});
        let mut aro = object(&format!("{infra}/v1beta2"), kind, name);
        aro["metadata"]["ownerReferences"] =
            json!([{"uid": root["metadata"]["uid"], "controller": true}]);
        aro["spec"]["resources"] = json!([object(ASO, "ResourceGroup", group)]);
        [member(root, set), member(aro, set), refused(group)]
    }

    fn shown(objects: Vec<Json>, set: &ApplySet) -> String {
        let mut found = Found::default();
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}});
        found.insert(namespace);
        objects.into_iter().for_each(|object| found.insert(object));
        let wanted = found.wanted();
        found.asked.extend(wanted);
        let now: Timestamp = "2026-01-01T00:20:00Z".parse().expect("a time");
        let status = ClusterStatus {
            graph: StatusGraph::new(&found),
            now,
            is_simulated: false,
            survey: Survey {
                at: Some(now),
                fleets: Vec::new(),
                found,
                heartbeats: Vec::new(),
                objects: Vec::new(),
                notes: Vec::new(),
            },
        };
        let parent = Parent::default();
        let fleet = Fleet {
            set,
            parent: &parent,
            view: status.graph.fleet(set, &parent),
            heartbeat: &Heartbeat::Unnamed,
            object: None,
            is_lost: false,
        };
        text(&status, &[fleet], None)
    }

    #[test]
    fn forty_clusters_with_one_reason_are_one_entry() {
        let set = ApplySet::new("f", "ns");
        let clusters = |group: fn(usize) -> String| {
            let all = (0..40).flat_map(|at| cluster(&format!("c-{at:02}"), &group(at), &set));
            shown(all.collect(), &set)
        };
        for (text, blocker) in [
            (clusters(|_| "shared".to_owned()), "ResourceGroup/ns/shared"),
            (
                clusters(|at| format!("c-{at:02}-rg")),
                "ResourceGroup/ns/c-",
            ),
        ] {
            let named = "    ns/c-00, ns/c-01, ns/c-02 and 37 more\n";
            assert!(text.contains("40 clusters "), "{text}");
            assert!(text.contains(named), "{text}");
            assert!(text.contains(&format!("    {blocker}")), "{text}");
            assert_eq!(text.matches("QuotaExceeded").count(), 1, "{text}");
            let others = text.contains("and 39 more ResourceGroup objects for the same reason");
            assert_eq!(others, blocker.ends_with('-'), "{text}");
            assert!(text.lines().count() < 20, "{text}");
        }
    }

    #[test]
    fn a_few_clusters_and_other_reasons_are_shown_one_by_one() {
        let set = ApplySet::new("f", "ns");
        let few = ["a", "b", "c"].map(|name| cluster(name, "shared", &set));
        let text = shown(few.concat(), &set);
        assert_eq!(text.matches("ResourceGroup/ns/shared").count(), 3, "{text}");
        let loose = (0..30).map(|at| member(refused(&format!("g-{at:02}")), &set));
        let text = shown(loose.collect(), &set);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = "ResourceGroup/ns/g-02 and 27 more for 10m00s";
        assert!(words.contains(named), "{text}");
        assert_eq!(text.matches("QuotaExceeded").count(), 1, "{text}");
    }
}
