//! N16 to N18, N22 and N25: how many nodes, and how long they are drained.

use crate::model::Finding;
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording;

/// How many nodes a pool outside of availability zones may have.
const WITHOUT_ZONE: i64 = 200;
/// How many nodes a cluster may have.
const IN_A_CLUSTER: i64 = 500;
const WHY: &str = " without an availability zone";

/// N16: `replicas` is not negative, and at most 200 without an availability zone.
pub(super) fn replicas_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.replicas");
    in_range(pool, &field, "N16").into_iter().collect()
}

/// N17: a number of nodes is given, or bounds of it.
pub(super) fn size_is_fixed_or_moves(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.replicas");
    let fixed = field.number().is_some_and(|replicas| replicas > 0);
    let moves = pool.field("spec.properties.autoScaling").is_given();
    let finding = || {
        let finding = field.finding("N17", "replicas are given, and autoScaling too");
        finding.help("remove one of them")
    };
    (fixed && moves).then(finding).into_iter().collect()
}

/// N18: the bounds are not negative, at most 200 without an availability zone, and in order.
pub(super) fn bounds_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let bounds = pool.field("spec.properties.autoScaling");
    let (least, most) = (bounds.key("min"), bounds.key("max"));
    let each = [&least, &most].map(|field| in_range(pool, field, "N18"));
    let (low, high) = (least.number().unwrap_or(0), most.number().unwrap_or(0));
    let crossed = (0..low).contains(&high).then(|| {
        let message = match most.is_given() {
            true => format!("autoScaling.max {high} is less than min {low}"),
            false => format!("autoScaling has no max, which counts as 0, less than min {low}"),
        };
        most.finding("N18", message)
    });
    each.into_iter().flatten().chain(crossed).collect()
}

/// N22: a drain takes at most a week.
pub(super) fn drain_timeout_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.nodeDrainTimeoutMinutes");
    let fault = wording::out_of(&field, "N22", 0..=10080, "");
    fault.into_iter().collect()
}

/// N25: the pools of a cluster come to at most 500 nodes. The one that is too much is pointed at.
pub(super) fn cluster_has_room(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let Some(cluster) = world.owner(pool) else {
        return Vec::new();
    };
    let before = world
        .siblings(pool)
        .take_while(|other| other.id != pool.id)
        .fold(0_i64, |sum, other| sum.saturating_add(most(other).1));
    let (field, own) = most(pool);
    let sum = before.saturating_add(own);
    if before > IN_A_CLUSTER || sum <= IN_A_CLUSTER {
        return Vec::new();
    }
    let message = format!(
        "with this pool, {} may come to {sum} nodes, more than {IN_A_CLUSTER}",
        cluster.id
    );
    vec![field.finding("N25", message)]
}

/// How many nodes a pool may have, and where it says so.
fn most<'r>(pool: &'r Resource<'_>) -> (Field<'r>, i64) {
    let bounds = pool.field("spec.properties.autoScaling");
    let field = match bounds.is_given() {
        true => bounds.key("max"),
        false => pool.field("spec.properties.replicas"),
    };
    let number = field.number().unwrap_or(0).max(0);
    (field, number)
}

fn in_range(pool: &Resource<'_>, field: &Field<'_>, id: &'static str) -> Option<Finding> {
    let zone = pool.field("spec.properties.platform.availabilityZone");
    match zone.text().is_none_or(str::is_empty) {
        true if field.number() < Some(0) => wording::out_of(field, id, 0..=WITHOUT_ZONE, ""),
        true => wording::out_of(field, id, 0..=WITHOUT_ZONE, WHY),
        false => wording::out_of(field, id, 0..=i64::MAX, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::pool::KIND;
    use crate::rules::said_of;

    fn pool(name: &str, properties: &str) -> String {
        format!(
            "---\napiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftClustersNodePool\nmetadata: {{name: {name}}}\nspec: {{owner: {{name: c}}, properties: {{{properties}}}}}\n"
        )
    }

    #[test]
    fn a_pool_has_up_to_200_nodes_without_a_zone() {
        for (properties, found) in [
            ("replicas: -1", 1),
            ("replicas: 0", 0),
            ("replicas: 200", 0),
            ("replicas: 201", 1),
            ("replicas: 201, platform: {availabilityZone: \"1\"}", 0),
            ("replicas: -1, platform: {availabilityZone: \"1\"}", 1),
            ("replicas: 201, platform: {availabilityZone: \"\"}", 1),
        ] {
            let said = said_of(replicas_in_range, KIND, &pool("p", properties));
            assert_eq!(said.len(), found, "{properties}: {said:?}");
        }
    }

    #[test]
    fn bounds_are_in_order() {
        for (bounds, found) in [
            ("min: 0, max: 0", 0),
            ("min: 5, max: 3", 1),
            ("min: 3, max: 3", 0),
            ("min: -1, max: 3", 1),
            ("min: 0, max: 201", 1),
            ("min: 300, max: 201", 3),
        ] {
            let said = said_of(
                bounds_in_range,
                KIND,
                &pool("p", &format!("autoScaling: {{{bounds}}}")),
            );
            assert_eq!(said.len(), found, "{bounds}: {said:?}");
        }
        let both = "replicas: 3, autoScaling: {min: 1, max: 2}";
        assert_eq!(
            said_of(size_is_fixed_or_moves, KIND, &pool("p", both)).len(),
            1
        );
        let none = "replicas: 0, autoScaling: {min: 1, max: 2}";
        assert!(said_of(size_is_fixed_or_moves, KIND, &pool("p", none)).is_empty());
    }

    #[test]
    fn the_pool_that_is_too_much_is_told_and_no_other() {
        let cluster = "apiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftCluster\nmetadata: {name: c}\nspec: {}\n";
        let many = |third: &str| {
            let two = pool("a", "replicas: 200") + &pool("b", "autoScaling: {min: 1, max: 200}");
            format!(
                "{cluster}{two}{}{}",
                pool("d", third),
                pool("e", "replicas: 1")
            )
        };
        assert!(said_of(cluster_has_room, KIND, &many("replicas: 99")).is_empty());
        let said = said_of(cluster_has_room, KIND, &many("replicas: 101"));
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("501 nodes"), "{said:?}");
    }
}
