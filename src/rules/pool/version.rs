//! N01 to N03 and N08: the name, the location and the version of a node pool.

use crate::model::{Finding, Message, Value, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::cluster::version::supported;
use crate::rules::version::{Version, major_and_minor};
use crate::rules::{data, wording};

/// N01: the name in Azure has 3 to 15 characters, and the location is that of the cluster.
pub(super) fn is_named_and_placed(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.azure_name();
    let name = field.text().unwrap_or_default();
    let why = wording::of_azure_name(name, 3..=15);
    let name = why.map(|why| {
        let finding = field.finding("N01", message!("the name {name:?} {why}", name));
        finding.help("set azureName, or choose a shorter name")
    });
    let location = pool.field("spec.location");
    let placed = wording::missing_or_long(&location, "N01", usize::MAX);
    let placed = placed.or_else(|| elsewhere(world, pool, &location));
    name.into_iter().chain(placed).collect()
}

/// A finding if the cluster is in another location. Azure reads `UK South` as `uksouth`.
fn elsewhere(world: &World<'_>, pool: &Resource<'_>, own: &Field<'_>) -> Option<Finding> {
    let read = |text: &str| text.replace(' ', "").to_lowercase();
    let cluster = world.owner(pool)?.field("spec.location");
    let cluster = cluster.text().filter(|text| !text.is_empty())?;
    let text = own.text().filter(|text| read(text) != read(cluster))?;
    let message = message!(
        "location {text:?} differs from the cluster's, {cluster:?}",
        text,
        cluster
    );
    Some(own.finding("N01", message).help(format!("write {cluster}")))
}

/// N02: `version.id` is `X.Y.Z`, and not older than the service supports without experimental features.
pub(super) fn is_a_whole_version(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.version.id");
    let finding = |message: Message| vec![field.finding("N02", message)];
    let least = data::least_node_version();
    match (&field.node.map(|node| &node.value), field.text()) {
        (Some(Value::Int(_) | Value::Float(..)), _) => vec![
            field
                .finding("N02", "version.id is a number, not a string")
                .help(format!(
                    "write the full version in quotes, such as \"{least}\""
                )),
        ],
        (_, None | Some("")) => finding(message!("version.id is required, such as {least}")),
        (_, Some(text)) => match Version::parse(text) {
            None => finding(message!(
                "version.id {text:?} is not X.Y.Z, such as {least}",
                text
            )),
            Some(version) if version.is_below(&least) && !world.experimental => finding(message!(
                "version.id {version} is older than {least}",
                version
            )),
            Some(_) => Vec::new(),
        },
    }
}

/// N03: the channel group is one that the service supports.
pub(super) fn channel_is_offered(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.version.channelGroup");
    let known: Vec<&str> = data::node_channels(world.experimental).collect();
    let fault = wording::not_one_of(&field, "N03", &known);
    fault.into_iter().collect()
}

/// N08: the pool is not newer than its cluster, and at most two minor versions older.
pub(super) fn is_near_the_clusters(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    of_pool(world, pool, world.experimental)
}

fn of_pool(world: &World<'_>, pool: &Resource<'_>, experimental: bool) -> Vec<Finding> {
    let field = pool.field("spec.properties.version.id");
    let version = field.text().and_then(Version::parse);
    let cluster = world.owner(pool);
    // If Azure does not support the cluster's version, or it is unknown, that is reported instead.
    let cluster = cluster.filter(|cluster| supported(cluster, experimental).is_none());
    let cluster = cluster.and_then(|cluster| {
        let id = cluster.field("spec.properties.version.id");
        major_and_minor(id.text()?)
    });
    let (Some(version), Some(cluster)) = (version, cluster) else {
        return Vec::new();
    };
    apart(&field, &version, cluster).into_iter().collect()
}

fn apart(field: &Field<'_>, version: &Version, cluster: (u64, u64)) -> Option<Finding> {
    let own = (version.numbers.0, version.numbers.1);
    let (major, minor) = cluster;
    let pair = format!("{}.{}/{major}.{minor}", own.0, own.1);
    if own > cluster {
        let message = message!(
            "the pool's version {version} is newer than its cluster's {major}.{minor}",
            version,
            major,
            minor
        );
        let help = "raise the cluster's version first, or lower the pool's";
        return Some(field.finding("N08", message).help(help));
    }
    let near = match own.0 == major {
        true => minor - own.1 <= 2,
        false => data::across_majors().any(|known| known == pair),
    };
    let message = message!(
        "the pool's version {version} is more than two minor versions older than its cluster's {major}.{minor}",
        version,
        major,
        minor
    );
    (!near).then(|| {
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
