//! N16 to N18, N22 and N25: the number of nodes, and the drain timeout.

use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording;

/// The maximum number of nodes in a pool without an availability zone.
const WITHOUT_ZONE: i64 = 200;
/// The maximum number of nodes in a cluster.
pub(in crate::rules) const IN_A_CLUSTER: i64 = 500;
const WHY: &str = ", the limit without an availability zone";

/// N16: `replicas` is not negative, and at most 200 without an availability zone.
pub(super) fn replicas_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.replicas");
    in_range(pool, &field, "N16").into_iter().collect()
}

/// N17: a pool has either `replicas` or `autoScaling`.
pub(super) fn size_is_fixed_or_scales(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.replicas");
    let fixed = field.number().is_some_and(|replicas| replicas > 0);
    let scales = pool.field("spec.properties.autoScaling").is_given();
    let finding = || {
        let scaling = pool.field("spec.properties.autoScaling").name();
        let message = message!("replicas and {scaling} are both set", scaling);
        field.finding("N17", message).help("remove one of them")
    };
    (fixed && scales).then(finding).into_iter().collect()
}

/// N18: the bounds are not negative, at most 200 without an availability zone, and in order.
pub(super) fn bounds_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let bounds = pool.field("spec.properties.autoScaling");
    let (least, most) = (bounds.key("min"), bounds.key("max"));
    let each = [&least, &most].map(|field| in_range(pool, field, "N18"));
    let (low, high) = (least.number().unwrap_or(0), most.number().unwrap_or(0));
    let scaling = bounds.name();
    let is_sound = each.iter().all(Option::is_none);
    let crossed = (is_sound && high < low).then(|| {
        let message = match most.is_given() {
            true => message!(
                "{scaling}.max {high} is less than min {low}",
                scaling,
                high,
                low
            ),
            false => message!(
                "{scaling}.max is missing and defaults to 0, which is less than min {low}",
                scaling,
                low
            ),
        };
        let help = format!("write `max: {low}` or more, or a smaller `min`");
        most.finding("N18", message).help(help)
    });
    each.into_iter().flatten().chain(crossed).collect()
}

/// N22: the drain timeout is at most a week.
pub(super) fn drain_timeout_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.nodeDrainTimeoutMinutes");
    let fault = wording::out_of(&field, "N22", 0..=10080, "");
    fault.into_iter().collect()
}

/// N25: the pools of a cluster have at most 500 nodes in all. The finding points at the pool that exceeds this.
pub(in crate::rules) fn clusters_have_room(world: &World<'_>) -> Vec<Finding> {
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
    // Several objects may have one name.
    let is_one = |cluster: &&Resource<'_>| {
        let known = world.find(&cluster.id);
        known.is_some_and(|known| std::ptr::eq(known, *cluster))
    };
    let clusters = clusters.filter(is_one);
    clusters
        .filter_map(|cluster| overfilled(world, cluster))
        .collect()
}

fn overfilled(world: &World<'_>, cluster: &Resource<'_>) -> Option<Finding> {
    let (mut before, mut sum) = (0_i64, 0_i64);
    let pool = world
        .parts_of(&cluster.id, "HcpOpenShiftClustersNodePool")
        .find(|pool| {
            before = sum;
            sum = sum.saturating_add(most(pool).1);
            sum > IN_A_CLUSTER
        })?;
    let (field, _) = most(pool);
    let message = message!(
        "with this pool, {cluster} may have {sum} nodes, more than {IN_A_CLUSTER}",
        cluster = cluster.id,
        sum
    );
    let help = format!(
        "write at most {} here, or lower another node pool of the cluster",
        IN_A_CLUSTER - before
    );
    Some(field.finding("N25", message).help(help))
}

/// The maximum number of nodes of a pool, and the field that sets it.
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
    use crate::rules::{findings_of_fleet, findings_of_kind};

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
            let reported = findings_of_kind(replicas_in_range, KIND, &pool("p", properties));
            assert_eq!(reported.len(), found, "{properties}: {reported:?}");
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
            ("min: 300, max: 201", 2),
            ("min: 300, max: 20", 1),
            ("min: 5", 1),
            ("min: 1, max: -1", 1),
        ] {
            let reported = findings_of_kind(
                bounds_in_range,
                KIND,
                &pool("p", &format!("autoScaling: {{{bounds}}}")),
            );
            assert_eq!(reported.len(), found, "{bounds}: {reported:?}");
        }
        let both = "replicas: 3, autoScaling: {min: 1, max: 2}";
        assert_eq!(
            findings_of_kind(size_is_fixed_or_scales, KIND, &pool("p", both)).len(),
            1
        );
        let none = "replicas: 0, autoScaling: {min: 1, max: 2}";
        assert!(findings_of_kind(size_is_fixed_or_scales, KIND, &pool("p", none)).is_empty());
    }

    #[test]
    fn only_the_pool_that_exceeds_the_limit_is_reported() {
        let cluster = "apiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftCluster\nmetadata: {name: c}\nspec: {}\n";
        let many = |third: &str| {
            let two = pool("a", "replicas: 200") + &pool("b", "autoScaling: {min: 1, max: 200}");
            format!(
                "{cluster}{two}{}{}",
                pool("d", third),
                pool("e", "replicas: 1")
            )
        };
        assert!(findings_of_fleet(clusters_have_room, &many("replicas: 99")).is_empty());
        let reported = findings_of_fleet(clusters_have_room, &many("replicas: 101"));
        assert_eq!(reported.len(), 1);
        assert!(reported[0].contains("501 nodes"), "{reported:?}");
    }
}
