//! Data that changes over time: machine sizes, regions, minimum versions, channels, fields of Cluster API. Text
//! files in this directory, read once.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::version::Version;

const VM_SIZES: &str = include_str!("node-vm-sizes.txt");
const NODE_POOLS: &str = include_str!("node-pools.txt");
const CLUSTER_API: &str = include_str!("cluster-api.txt");
const REGIONS: &str = include_str!("regions.txt");
/// The line of [`REGIONS`] with those of the service.
const SERVICE: &str = "aro-hcp";

/// The machine sizes of node pools.
pub(super) fn node_vm_sizes() -> &'static [String] {
    static SIZES: OnceLock<Vec<String>> = OnceLock::new();
    SIZES.get_or_init(|| {
        let of_family = |(family, numbers): (&'static str, &'static str)| {
            let numbers = numbers.split_whitespace();
            numbers.map(move |number| family.replace('*', number))
        };
        lines(VM_SIZES).flat_map(of_family).collect()
    })
}

/// The regions of all clouds.
pub(super) fn regions() -> impl Iterator<Item = &'static str> {
    let of_clouds = lines(REGIONS).filter(|(of, _)| *of != SERVICE);
    of_clouds.flat_map(|(_, names)| names.split_whitespace())
}

/// Whether this is a region of any cloud.
pub(super) fn is_region(name: &str) -> bool {
    static REGIONS: OnceLock<HashSet<&'static str>> = OnceLock::new();
    REGIONS.get_or_init(|| regions().collect()).contains(name)
}

/// Whether this is a region that is known to have the ARO HCP service.
pub(super) fn is_service_region(name: &str) -> bool {
    static REGIONS: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let regions = REGIONS.get_or_init(|| service_regions().collect());
    regions.contains(name)
}

/// The regions that are known to have the ARO HCP service.
pub(super) fn service_regions() -> impl Iterator<Item = &'static str> {
    let of_service = lines(REGIONS).filter(|(of, _)| *of == SERVICE);
    of_service.flat_map(|(_, names)| names.split_whitespace())
}

/// The minimum version of a node pool.
pub(super) fn least_node_version() -> Version {
    static LEAST: OnceLock<Version> = OnceLock::new();
    LEAST
        .get_or_init(|| {
            let text = words("minimum version").next().unwrap_or_default();
            Version::parse(text).unwrap_or_default()
        })
        .clone()
}

/// The channels that versions of node pools come from, including experimental ones if asked for.
pub(super) fn node_channels(experimental: bool) -> impl Iterator<Item = &'static str> {
    let more = words("experimental channels").filter(move |_| experimental);
    words("channels").chain(more)
}

/// The pairs of a pool's and a cluster's version that are compatible across major versions, as `4.21/5.0`.
pub(super) fn across_majors() -> impl Iterator<Item = &'static str> {
    words("across majors")
}

/// The fields below `spec` of a kind of Cluster API at a version, by type.
pub(super) fn cluster_api<'a>(
    kind: &'a str,
    version: &'a str,
) -> impl Iterator<Item = (&'static str, &'static str)> + 'a {
    lines(CLUSTER_API).filter_map(move |(head, fields)| {
        let mut versions = head.strip_prefix(kind)?.split_whitespace();
        let of = versions.next_back()?;
        versions.any(|one| one == version).then_some((of, fields))
    })
}

fn words(name: &str) -> impl Iterator<Item = &'static str> {
    let line = lines(NODE_POOLS).find(|(of, _)| *of == name);
    line.into_iter()
        .flat_map(|(_, words)| words.split_whitespace())
}

/// `name: words`, without comments.
fn lines(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_files_can_be_read() {
        assert_eq!(least_node_version().to_string(), "4.20.8");
        assert_eq!(node_channels(false).collect::<Vec<_>>(), ["stable", "fast"]);
        assert!(node_channels(true).any(|channel| channel == "nightly"));
        assert!(across_majors().any(|pair| pair == "4.22/5.1"));
    }

    #[test]
    fn each_region_is_listed_once() {
        let once: BTreeSet<_> = regions().collect();
        assert_eq!(once.len(), regions().count());
        assert!(
            ["uksouth", "chinanorth3", "usgovvirginia"]
                .iter()
                .all(|name| once.contains(name))
        );
    }

    #[test]
    fn each_size_is_listed_once() {
        let sizes = node_vm_sizes();
        let once: BTreeSet<_> = sizes.iter().collect();
        assert_eq!((once.len(), sizes.len()), (168, 168));
        let has = |name: &str| sizes.iter().any(|size| size == name);
        assert!(has("Standard_D4s_v3") && has("Standard_NC80adis_H100_v5"));
        assert!(!has("Standard_D2s_v3") && !has("Standard_B4ms"));
    }
}
