//! Whether a change is allowed.
//!
//! In: a request, and what the cluster has around the object. Out: a [`Decision`]. Errors refuse a change only if the
//! object did not have them before: the removal of a finalizer, or a repair of one of two mistakes, always passes. An object whose Cluster is paused comes
//! from another cluster or from a backup, with the mistakes that it has had there.

use serde_json::Value as Json;

use super::compare::partition;
use super::last_pool;
use super::request::{Operation, Request, as_object};
use crate::api::fleet::FleetPolicy;
use crate::model::{Finding, Object, Severity, rule_id};
use crate::plan::consequences;
use crate::rules::check_live;

/// What the webhook answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Why the change is refused; allowed if empty.
    pub errors: Vec<Finding>,
    /// What the person who makes the change should know.
    pub warnings: Vec<Finding>,
}

/// Decides about `request` beside the objects `around`, by the rule settings of `policy`. Between its steps it asks whether
/// nobody waits any more, and then gives no decision.
#[must_use]
pub fn decide(
    request: &Request,
    around: &[Json],
    policy: &FleetPolicy,
    is_over: &dyn Fn() -> bool,
) -> Option<Decision> {
    if request.is_exempt() {
        return Some(Decision::default());
    }
    match (request.operation, &request.object, &request.old) {
        (Operation::Delete, _, Some(old)) if request.id.kind == "AROMachinePool" => {
            Some(Decision {
                errors: last_pool::finding(old, &request.id, around)
                    .into_iter()
                    .collect(),
                warnings: Vec::new(),
            })
        }
        (Operation::Create | Operation::Update, Some(new), old) => {
            changed(request, (old.as_ref(), new), around, policy, is_over)
        }
        _ => Some(Decision::default()),
    }
}

fn changed(
    request: &Request,
    (old, new): (Option<&Json>, &Json),
    around: &[Json],
    policy: &FleetPolicy,
    is_over: &dyn Fn() -> bool,
) -> Option<Decision> {
    let others: Vec<Object> = around
        .iter()
        .filter(|json| json["kind"] != "Cluster")
        .filter_map(|json| as_object(json, None, ""))
        .filter(|other| other.id != request.id)
        .collect();
    let found = |json: &Json| -> Option<Vec<Finding>> {
        if is_over() {
            return None;
        }
        let object = as_object(json, Some(&request.id), &request.version);
        let found = object.map(|object| check_live(&object, &others, policy));
        Some(found.unwrap_or_default())
    };
    let may_move = request.operation == Operation::Create && is_paused(around);
    let before = old.map_or_else(|| Some(Vec::new()), found)?;
    let (mut after, warnings): (Vec<_>, Vec<_>) = found(new)?
        .into_iter()
        .filter(|finding| finding.severity != Severity::Info)
        .partition(|finding| finding.severity == Severity::Error);
    after.dedup();
    let (mut errors, mut known) = partition(&before, after);
    if may_move {
        // The rule about identities that may not be used protects others, so nothing softens it.
        let is_soft = |error: &mut Finding| error.id != rule_id::FOREIGN_IDENTITY;
        known.extend(errors.extract_if(.., is_soft));
    }
    let mut decision = Decision {
        errors: Vec::new(),
        warnings: known.into_iter().chain(warnings).collect(),
    };
    let consequences = old.map(|old| of_change(old, new)).unwrap_or_default();
    let (fixed, rolled): (Vec<_>, Vec<_>) = consequences
        .into_iter()
        .partition(|finding| finding.severity == Severity::Error);
    errors.extend(fixed);
    decision.warnings.extend(rolled);
    decision.errors = errors;
    Some(decision)
}

/// Whether the Cluster is paused, as `clusterctl move` and restores make it before the objects of its cluster.
fn is_paused(around: &[Json]) -> bool {
    let mut clusters = around.iter().filter(|one| one["kind"] == "Cluster");
    clusters.any(|cluster| cluster["spec"]["paused"] == true)
}

/// U01, U02, U05 and U06: what the change of a field means in Azure.
fn of_change(old: &Json, new: &Json) -> Vec<Finding> {
    let found = consequences(old, new).into_iter();
    found
        .map(|one| {
            let (message, help) = (one.message(), one.help());
            let finding = match one.is_error() {
                true => Finding::error(one.rule(), message),
                false => Finding::warning(one.rule(), message),
            };
            finding.of(&one.part).field(&one.field).help(help)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value)]

    use serde_json::json;

    use super::*;
    use crate::admission::request::tests::review;
    use crate::model::ClientBindings;

    const PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
    const ARO: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

    fn decided(operation: &str, old: &Json, new: &Json, around: &[Json]) -> Decision {
        let review = review(operation, old, new).to_string();
        let request = Request::read(review.as_bytes()).expect("a review");
        decide(&request, around, &FleetPolicy::default(), &|| false).expect("somebody waits")
    }

    fn ids(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.id).collect()
    }

    fn created(object: &Json, around: &[Json]) -> Vec<&'static str> {
        decided("CREATE", &Json::Null, object, around)
            .errors
            .iter()
            .map(|one| one.id)
            .collect()
    }

    fn plane(spec: Json) -> Json {
        json!({"apiVersion": PLANE, "kind": "AROControlPlane", "metadata": {"name": "c", "namespace": "ns"}, "spec": spec})
    }

    fn pool(name: &str) -> Json {
        json!({"apiVersion": ARO, "kind": "AROMachinePool", "spec": {"resources": [
                {"apiVersion": "redhatopenshift.azure.com/v1api20251223preview", "kind": "HcpOpenShiftClustersNodePool",
                    "metadata": {"name": name}}]},
            "metadata": {"name": name, "namespace": "ns", "labels": {"cluster.x-k8s.io/cluster-name": "c"}}})
    }

    fn hcp(kms: Json) -> Json {
        json!({"apiVersion": "redhatopenshift.azure.com/v1api20251223preview", "kind": "HcpOpenShiftCluster",
            "metadata": {"name": "c"},
            "spec": {"properties": {"etcd": {"dataEncryption": {"customerManaged": {"kms": kms}}}}}})
    }

    fn identity(kind: &str, list: Json) -> Json {
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureClusterIdentity",
            "metadata": {"name": "id", "namespace": "platform"},
            "spec": {"type": kind, "clientID": "6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f", "tenantID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31", "clientSecret": {"name": "s"},
                "allowedNamespaces": {"list": list}}})
    }

    #[test]
    fn the_rules_of_the_provider_s_webhooks_refuse() {
        for (spec, id) in [
            (json!({"resources": []}), "V01"),
            (json!({}), "V01"),
            (json!({"resources": [null]}), "V02"),
            (json!({"resources": ["text"]}), "V02"),
            (
                json!({"resources": [{"kind": "A", "metadata": {"name": "a"}}]}),
                "V02",
            ),
            (
                json!({"resources": [{"apiVersion": "a/v1", "metadata": {"name": "a"}}]}),
                "V02",
            ),
            (
                json!({"resources": [{"apiVersion": "a/v1", "kind": "A"}]}),
                "V02",
            ),
            (
                json!({"resources": [{"apiVersion": "a/v1", "kind": "A", "metadata": {"name": ""}}]}),
                "V02",
            ),
            (
                json!({"resources": [hcp(json!({"activeKey": {"version": "1"}}))], "identityRef": {"name": ""}}),
                "V03",
            ),
            (
                json!({"resources": [hcp(json!({"vaultName": "v"}))]}),
                "V05",
            ),
            (
                json!({"resources": [hcp(json!({"activeKey": {"name": "k"}}))]}),
                "V05",
            ),
        ] {
            let found = created(&plane(spec.clone()), &[]);
            assert!(found.contains(&id), "{spec}: {found:?}");
        }
        let mut named = plane(json!({"resources": []}));
        named["metadata"]["name"] = json!("my-Windows-1");
        assert!(created(&named, &[]).contains(&"V04"));
        let mut identity = identity("WorkloadIdentity", json!(["ns"]));
        identity["spec"]["resourceID"] = json!("/x");
        assert_eq!(created(&identity, &[]), ["V06"]);
    }

    /// The webhook does not see who names a part, and the Cluster may come later.
    #[test]
    fn a_part_is_not_warned_about_because_nothing_names_it_yet() {
        let mut arocluster = pool("c");
        arocluster["kind"] = json!("AROCluster");
        let resources = json!([{"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}}]);
        for object in [
            pool("p"),
            plane(json!({"resources": resources})),
            arocluster,
        ] {
            let found = decided("CREATE", &Json::Null, &object, &[]);
            let found = [ids(&found.errors), ids(&found.warnings)].concat();
            let is_owner = |id: &&str| ["D05", "D06"].contains(id);
            assert!(!found.iter().any(is_owner), "{found:?}");
        }
    }

    #[test]
    fn an_identity_is_used_only_where_it_allows() {
        let user = plane(
            json!({"identityRef": {"name": "id", "namespace": "platform"},
            "resources": [{"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}}]}),
        );
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": {"a": "b"}}});
        let uses = |list: Json| {
            let found = created(
                &user,
                &[identity("WorkloadIdentity", list), namespace.clone()],
            );
            found.contains(&"T07")
        };
        assert!(uses(json!(["other"])) && !uses(json!(["ns"])));
        let mut selected = identity("WorkloadIdentity", json!([]));
        for (label, refused) in [("b", false), ("c", true)] {
            selected["spec"]["allowedNamespaces"] =
                json!({"selector": {"matchLabels": {"a": label}}});
            let found = created(&user, &[selected.clone(), namespace.clone()]);
            assert_eq!(found.contains(&"T07"), refused, "{label}");
        }
        assert!(!created(&user, &[]).contains(&"T07"), "it may come later");
    }

    /// The identity is of team B, its client of team A, and what proves it is Capstan itself.
    #[test]
    fn issue_15_an_identity_may_name_only_a_client_of_its_namespace() {
        let decided = |kind: &str, bindings: &str| {
            let new = identity(kind, json!(["platform"]));
            let review = review("CREATE", &Json::Null, &new).to_string();
            let request = Request::read(review.as_bytes()).expect("a review");
            let policy = FleetPolicy {
                bindings: ClientBindings::of_text(bindings).expect("bindings"),
                ..FleetPolicy::default()
            };
            let decision = decide(&request, &[], &policy, &|| false);
            let errors = decision.expect("somebody waits").errors;
            errors.iter().map(|one| one.id).collect::<Vec<_>>()
        };
        let own = "platform=6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f";
        let theirs = "ns=6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f";
        for kind in ["WorkloadIdentity", "UserAssignedMSI"] {
            assert_eq!(decided(kind, own), [""; 0]);
            assert_eq!(decided(kind, theirs), ["T08"], "{kind}");
            assert_eq!(decided(kind, "none"), ["T08"], "{kind}");
        }
        assert_eq!(decided("ServicePrincipal", theirs), [""; 0]);
    }

    /// The old object takes a step, the new one another.
    #[test]
    fn work_ends_when_nobody_waits() {
        let (old, new) = (
            plane(json!({"resources": [null]})),
            plane(json!({"resources": [7]})),
        );
        let review = review("UPDATE", &old, &new).to_string();
        let request = Request::read(review.as_bytes()).expect("a review");
        for (asked, is_decided) in [(0, false), (1, false), (2, true)] {
            let left = std::cell::Cell::new(asked);
            let is_over = || left.replace(left.get().max(1) - 1) == 0;
            let decision = decide(&request, &[], &FleetPolicy::default(), &is_over);
            assert_eq!(decision.is_some(), is_decided, "{asked}");
        }
    }

    #[test]
    fn what_an_object_had_before_refuses_nothing() {
        let bad = plane(json!({"resources": [null]}));
        let mut both = bad.clone();
        both["spec"]["resources"] = json!([null, {"kind": "A"}]);
        let same = |old: &Json, new: &Json| decided("UPDATE", old, new, &[]);
        let mut moved = both.clone();
        moved["spec"]["resources"] = json!([{"kind": "A"}, null]);
        assert_eq!(ids(&same(&both, &moved).errors), [""; 0]);
        assert!(ids(&same(&both, &moved).warnings).contains(&"V02"));
        assert_eq!(ids(&same(&both, &bad).errors), [""; 0], "a repair");
        assert!(ids(&same(&bad, &both).errors).contains(&"V02"), "one more");
    }

    /// Review 15, finding 11: `clusterctl move` would stop halfway.
    #[test]
    fn what_comes_with_a_paused_cluster_has_its_errors_as_warnings_except_t07() {
        let paused = |paused: bool| {
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "ns"}, "spec": {"paused": paused}})
        };
        let bad = plane(
            json!({"resources": [null], "identityRef": {"name": "id", "namespace": "platform"}}),
        );
        let theirs = identity("WorkloadIdentity", json!(["other"]));
        let at = |cluster: Json| {
            let around = [cluster, theirs.clone()];
            decided("CREATE", &Json::Null, &bad, &around)
        };
        let moved = at(paused(true));
        assert_eq!(ids(&moved.errors), ["T07"]);
        let help = moved.errors[0].help.clone().unwrap_or_default();
        let place = "defined at AzureClusterIdentity/platform/id";
        assert!(help.ends_with(place), "no line of a live object: {help}");
        assert!(ids(&moved.warnings).contains(&"V02"));
        assert!(ids(&at(paused(false)).errors).contains(&"V02"));
        let mut worse = bad.clone();
        worse["spec"]["resources"] = json!([null, {"kind": "A"}]);
        let updated = decided("UPDATE", &bad, &worse, &[paused(true)]);
        assert!(ids(&updated.errors).contains(&"V02"), "no creation");
    }

    #[test]
    fn a_creation_looks_at_the_cluster_of_its_label_or_of_its_owner() {
        use crate::admission::{Query, queries};
        use crate::model::ObjectId;
        let mut owned = plane(json!({"resources": [null]}));
        owned["metadata"]["name"] = json!("p");
        owned["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c"}]);
        let wanted = Query::Object(ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", "c"));
        for (operation, object, looks) in [
            ("CREATE", &owned, true),
            ("CREATE", &pool("p"), true),
            ("UPDATE", &owned, false),
        ] {
            let review = review(operation, &json!({"spec": {}}), object).to_string();
            let request = Request::read(review.as_bytes()).expect("a review");
            assert_eq!(queries(&request).contains(&wanted), looks, "{operation}");
        }
    }

    #[test]
    fn what_is_fixed_after_creation_stays() {
        let (old, new) = (
            identity("WorkloadIdentity", json!(["a"])),
            identity("UserAssignedMSI", json!(["a"])),
        );
        assert_eq!(ids(&decided("UPDATE", &old, &new, &[]).errors), ["U01"]);
        let wider = identity("WorkloadIdentity", json!(["a", "b"]));
        assert_eq!(ids(&decided("UPDATE", &old, &wider, &[]).errors), [""; 0]);
    }

    #[test]
    fn a_control_plane_goes_up_step_by_step_from_what_runs() {
        let plane = |id: &str| {
            json!({"apiVersion": PLANE, "kind": "AROControlPlane", "metadata": {"name": "c", "namespace": "ns", "uid": "u"},
                "spec": {"resources": [{"apiVersion": "redhatopenshift.azure.com/v1api20251223preview",
                    "kind": "HcpOpenShiftCluster", "metadata": {"name": "c"}, "spec": {"properties": {"version": {"id": id}}}}]},
                "status": {"version": "4.21"}})
        };
        for (written, to, refused) in [
            ("4.21", "4.20", true),
            ("4.22", "4.23", true),
            ("4.23", "4.22", false),
        ] {
            let errors = decided("UPDATE", &plane(written), &plane(to), &[]).errors;
            assert_eq!(ids(&errors).contains(&"U05"), refused, "{to}: {errors:?}");
        }
    }

    #[test]
    fn the_last_pool_of_a_cluster_stays() {
        let cluster = |ending: Json| {
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "ns", "deletionTimestamp": ending}})
        };
        let namespace = |ending: Json| {
            json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "ns", "deletionTimestamp": ending}})
        };
        let (stays, now) = (Json::Null, json!("2026-01-01T00:00:00Z"));
        let deleted = |old: &Json, around: &[Json]| {
            let decision = decided("DELETE", old, &Json::Null, around);
            !decision.errors.is_empty()
        };
        let (one, two) = (pool("one"), pool("two"));
        let live = [
            cluster(stays.clone()),
            namespace(stays.clone()),
            one.clone(),
        ];
        assert!(deleted(&one, &live));
        assert!(!deleted(&one, &live[1..]), "no Cluster");
        assert!(!deleted(&one, &[live.to_vec(), vec![two.clone()]].concat()));
        let mut going = two;
        going["metadata"]["deletionTimestamp"] = now.clone();
        assert!(deleted(&one, &[live.to_vec(), vec![going]].concat()));
        assert!(!deleted(&one, &[cluster(now.clone()), one.clone()]));
        assert!(!deleted(
            &one,
            &[cluster(stays), namespace(now), one.clone()]
        ));
        let mut moved = one.clone();
        moved["metadata"]["annotations"] =
            json!({"clusterctl.cluster.x-k8s.io/delete-for-move": ""});
        assert!(!deleted(&moved, &live));
        let mut alone = one;
        alone["metadata"]["labels"] = json!({});
        assert!(!deleted(&alone, &live), "no label");
    }

    #[test]
    fn the_deletion_of_anything_else_passes() {
        let bad = plane(json!({"resources": []}));
        assert_eq!(
            decided("DELETE", &bad, &Json::Null, &[]),
            Decision::default()
        );
    }
}
