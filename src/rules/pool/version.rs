//! N01 to N03 and N08: the name, the location and the version of a node pool.

use crate::model::{Finding, Value, message, rule_id};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::azure_name::{self, Limits};
use crate::rules::cluster::version::minor_of;
use crate::rules::upgrade::is_near;
use crate::rules::version::{Minor, Version};
use crate::rules::{data, wording};

const NAMES: Limits = Limits {
    id: "N01",
    most: 15,
    least_in_older: 3,
};

/// N01: the name in Azure has at most 15 characters, and the location is that of the cluster.
pub(super) fn is_named_and_placed(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let name = azure_name::fault(&NAMES, world, pool);
    let location = pool.field("spec.location");
    let placed = wording::missing_or_long(&location, "N01", usize::MAX);
    let placed =
        placed.map(|finding| finding.help("write the cluster's location, such as uksouth"));
    let placed = placed.or_else(|| elsewhere(world, pool, &location));
    name.into_iter().chain(placed).collect()
}

/// A finding if the cluster is in another location.
fn elsewhere(world: &World<'_>, pool: &Resource<'_>, own: &Field<'_>) -> Option<Finding> {
    let cluster = world.owner(pool)?.field("spec.location");
    let cluster = cluster.text().filter(|text| !text.is_empty())?;
    let text = own
        .text()
        .filter(|text| !wording::same_location(text, cluster))?;
    let message = message!(
        "location {text:?} differs from the cluster's, {cluster:?}",
        text,
        cluster
    );
    Some(own.finding("N01", message).help(format!("write {cluster}")))
}

/// N02: `version.id` is `X.Y.Z`, and not older than the service supports without experimental features.
pub(super) fn is_a_whole_version(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let fault = written_as(pool, world.experimental);
    fault.into_iter().collect()
}

fn written_as(pool: &Resource<'_>, experimental: bool) -> Option<Finding> {
    let field = pool.field("spec.properties.version.id");
    let name = field.name_or("version.id");
    let least = data::least_node_version();
    let message = match (field.node.map(|node| &node.value), field.text()) {
        (Some(Value::Int(_) | Value::Float(..)), _) => {
            message!("{name} is a number, not a string", name)
        }
        (_, None | Some("")) => message!("{name} is required", name),
        (_, Some(text)) => match read(text, experimental) {
            None => message!("{name} {text:?} is not X.Y.Z", name, text),
            Some(version) if version.is_below(&least) && !experimental => {
                message!("{name} {version} is older than {least}", name, version)
            }
            Some(_) => return None,
        },
    };
    let help = format!("write a full version in quotes, \"{least}\" or newer");
    Some(field.finding("N02", message).help(help))
}

/// With the experimental features, Azure also accepts build metadata: `4.21.0+build`.
fn read(text: &str, experimental: bool) -> Option<Version> {
    match experimental {
        true => Version::parse_with_build(text),
        false => Version::parse(text),
    }
}

/// N03: the channel group is one that the service supports.
pub(super) fn channel_is_offered(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.version.channelGroup");
    let known: Vec<&str> = data::node_channels(world.experimental).collect();
    let fault = wording::one_of(&field, "N03", &known);
    fault.into_iter().collect()
}

/// N08: the pool is not newer than its cluster, and at most two minor versions older.
pub(super) fn is_near_the_clusters(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    of_pool(world, pool, world.experimental)
}

fn of_pool(world: &World<'_>, pool: &Resource<'_>, experimental: bool) -> Vec<Finding> {
    let field = pool.field("spec.properties.version.id");
    let version = field.text().and_then(|text| read(text, experimental));
    // If Azure does not support the cluster's version, or it is unknown, that is reported instead.
    let cluster = world.owner(pool);
    let cluster = cluster.and_then(|cluster| minor_of(cluster, experimental));
    let (Some(version), Some(cluster)) = (version, cluster) else {
        return Vec::new();
    };
    apart(&field, &version, cluster).into_iter().collect()
}

fn apart(field: &Field<'_>, version: &Version, cluster: (u64, u64)) -> Option<Finding> {
    let own = Minor::from((version.numbers.0, version.numbers.1));
    let (major, minor) = cluster;
    if own > cluster.into() {
        let message = message!(
            "the pool's version {version} is newer than its cluster's {major}.{minor}",
            version,
            major,
            minor
        );
        let help = "raise the cluster's version first, or lower the pool's";
        return Some(field.finding(rule_id::POOL_TOO_FAR, message).help(help));
    }
    let message = message!(
        "the pool's version {version} is more than two minor versions older than its cluster's {major}.{minor}",
        version,
        major,
        minor
    );
    (!is_near(own, cluster.into())).then(|| {
        field
            .finding("N08", message)
            .help("raise the pool's version")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_kind;
    use crate::rules::pool::KIND;
    use crate::rules::rule::ResourceRule;

    fn cluster_and_pool(cluster: &str, pool: &str) -> String {
        format!(
            "apiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftCluster\nmetadata: {{name: c}}\nspec: {{properties: {{version: {{id: \"{cluster}\"}}}}}}\n---\napiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftClustersNodePool\nmetadata: {{name: mp1}}\nspec:\n  location: uksouth\n  owner: {{name: c}}\n  properties: {{version: {{id: {pool}}}}}\n"
        )
    }

    #[test]
    fn versions_are_strict() {
        for (id, expected) in [
            ("\"4.20.8\"", ""),
            ("4.21.0-rc.1", ""),
            ("4", "is a number"),
            ("4.20", "is a number"),
            ("\"4.20\"", "is not X.Y.Z"),
            ("4.20.0", "older than 4.20.8"),
            ("4.20.8-rc.1", "older than 4.20.8"),
            ("4.20.8.1", "is not X.Y.Z"),
            ("\"\"", "required"),
            ("null", "required"),
        ] {
            let reported =
                findings_of_kind(is_a_whole_version, KIND, &cluster_and_pool("4.20", id));
            match expected {
                "" => assert!(reported.is_empty(), "{id}: {reported:?}"),
                part => assert!(
                    reported.len() == 1 && reported[0].contains(part),
                    "{id}: {reported:?}"
                ),
            }
        }
    }

    #[test]
    fn a_subscription_with_the_feature_may_use_more() {
        let rule: ResourceRule = |_, pool| written_as(pool, true).into_iter().collect();
        for (id, faults) in [
            ("4.21.0+build", 0),
            ("4.19.0-rc.1+a.1", 0),
            ("4.21.0+", 1),
            ("4.21+build", 1),
            ("5.0.0", 0),
        ] {
            let found = findings_of_kind(rule, KIND, &cluster_and_pool("4.20", id));
            assert_eq!(found.len(), faults, "{id}: {found:?}");
        }
        let without = cluster_and_pool("4.20", "4.21.0+build");
        assert_eq!(
            findings_of_kind(is_a_whole_version, KIND, &without).len(),
            1
        );
    }

    #[test]
    fn a_pool_stays_near_its_cluster() {
        for (cluster, pool, near) in [
            ("4.22", "4.22.8", true),
            ("4.22", "4.20.8", true),
            ("4.22", "4.23.0", false),
            ("4.23", "4.20.8", false),
            ("4.22", "5.0.0", false),
            ("5.0", "4.21.0", true),
            ("5.0", "4.23.0", false),
            ("5.1", "4.22.0", true),
            ("5", "4.21.0+build", true),
            ("5", "4.23.0", false),
            ("4.99", "4.20.8", true),
            ("nonsense", "5.0.0", true),
        ] {
            let rule: ResourceRule = match cluster.starts_with('5') {
                true => |world, pool| of_pool(world, pool, true),
                false => is_near_the_clusters,
            };
            let reported = findings_of_kind(rule, KIND, &cluster_and_pool(cluster, pool));
            assert_eq!(reported.is_empty(), near, "{cluster} {pool}: {reported:?}");
        }
    }
}
