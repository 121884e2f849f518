//! Who scales a MachinePool.
//!
//! In: a MachinePool, whether Azure scales its node pool, and how many nodes there are. Out: writes of the annotation that
//! says so and of `spec.replicas`, as an own field manager with nothing but these two fields, so that whoever applies the
//! MachinePool and leaves them out does not fight; or that another manages the replicas already.

use serde_json::{Value, json};

use super::super::conditions::{NewCondition, Typed};
use super::super::outcome::{Write, apply, patch_of};
use crate::api::conditions as c;
use crate::api::labels::{REPLICAS_MANAGED_BY, REPLICAS_MANAGED_BY_ARO};
use crate::health::Live;

/// Whether Azure may scale the pool, if it is to.
pub(super) fn claim(pool: Live<'_>, scales: bool) -> Result<(), Typed> {
    match pool.annotation(REPLICAS_MANAGED_BY) {
        "" | REPLICAS_MANAGED_BY_ARO => Ok(()),
        manager if scales => {
            let message = c::replicas_managed_by_another(manager, pool.name());
            Err((c::AGENT_POOLS_READY, NewCondition::no(c::FAILED, message)))
        }
        _ => Ok(()),
    }
}

/// What to write to the MachinePool. Without autoscaling both fields are given up, so that somebody else may set them.
pub(super) fn writes(pool: Live<'_>, scales: bool, nodes: usize) -> Vec<Write> {
    if pool.is_deleting() || claim(pool, scales).is_err() {
        return Vec::new();
    }
    if scales {
        let mut patch = patch_of(pool);
        patch["metadata"]["annotations"] = json!({REPLICAS_MANAGED_BY: REPLICAS_MANAGED_BY_ARO});
        if nodes > 0 {
            patch["spec"] = json!({"replicas": nodes});
        }
        return apply(pool, patch).into_iter().collect();
    }
    if pool.annotation(REPLICAS_MANAGED_BY) != REPLICAS_MANAGED_BY_ARO {
        return Vec::new();
    }
    // CAPZ's controller may own the annotation as well: then giving it up is not enough.
    let mut without = patch_of(pool);
    without["metadata"]["annotations"] = json!({REPLICAS_MANAGED_BY: Value::Null});
    vec![Write::Apply(patch_of(pool)), Write::Merge(without)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(manager: &str, replicas: Option<u32>) -> Value {
        let annotations = match manager {
            "" => Value::Null,
            manager => json!({REPLICAS_MANAGED_BY: manager}),
        };
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
            "metadata": {"name": "p", "namespace": "ns", "uid": "u", "annotations": annotations},
            "spec": {"replicas": replicas}})
    }

    /// Annotation and replicas after the writes.
    fn after(pool: &Value, scales: bool, nodes: usize) -> (Value, Value) {
        let mut manager = pool["metadata"]["annotations"][REPLICAS_MANAGED_BY].clone();
        let mut replicas = pool["spec"]["replicas"].clone();
        for write in writes(Live(pool), scales, nodes) {
            let (Write::Apply(patch) | Write::Merge(patch)) = write else {
                unreachable!("{write:?}");
            };
            let annotation = patch["metadata"].pointer(&format!(
                "/annotations/{}",
                REPLICAS_MANAGED_BY.replace('/', "~1")
            ));
            manager = annotation.cloned().unwrap_or(manager);
            let spec = patch.get("spec").and_then(|spec| spec.get("replicas"));
            replicas = spec.cloned().unwrap_or(replicas);
        }
        (manager, replicas)
    }

    /// Cases of CAPZ's own suite (facts/aro-controllers.md §9), and §8 (f): Cluster API takes a pool that Azure scaled up
    /// for one that is to be scaled down, unless its replicas follow.
    #[test]
    fn case_8f_the_replicas_follow_what_azure_scales() {
        let (own, none) = (json!(REPLICAS_MANAGED_BY_ARO), Value::Null);
        let cases = [
            // Autoscaling off.
            ("", Some(3), false, 5, (none.clone(), json!(3))),
            (
                REPLICAS_MANAGED_BY_ARO,
                Some(3),
                false,
                5,
                (none.clone(), json!(3)),
            ),
            ("other", Some(3), false, 5, (json!("other"), json!(3))),
            // On.
            ("", Some(3), true, 5, (own.clone(), json!(5))),
            ("", Some(5), true, 3, (own.clone(), json!(3))),
            ("", None, true, 2, (own.clone(), json!(2))),
            (
                REPLICAS_MANAGED_BY_ARO,
                Some(3),
                true,
                0,
                (own.clone(), json!(3)),
            ),
            ("other", Some(3), true, 5, (json!("other"), json!(3))),
        ];
        for (manager, replicas, scales, nodes, expected) in cases {
            let pool = pool(manager, replicas);
            assert_eq!(
                after(&pool, scales, nodes),
                expected,
                "{manager} {scales} {nodes}"
            );
        }
    }

    #[test]
    fn nothing_is_written_that_is_there_already() {
        assert!(writes(Live(&pool(REPLICAS_MANAGED_BY_ARO, Some(2))), true, 2).is_empty());
        assert!(writes(Live(&pool("", Some(2))), false, 5).is_empty());
    }

    #[test]
    fn another_manager_of_the_replicas_is_named() {
        let pool = pool("other", Some(3));
        assert!(claim(Live(&pool), false).is_ok());
        let refused = claim(Live(&pool), true).expect_err("another manages them");
        let text = "failed to enable autoscaling, replicas are already being managed by other according to MachinePool p's cluster.x-k8s.io/replicas-managed-by annotation";
        assert_eq!(refused.1.message(), text);
    }
}
