//! What a node pool consists of.
//!
//! In: objects as they are sent. Out: for each pool its nodes, their size and version. It does not know what changes.

use serde_json::Value as Json;

use crate::api::embedded;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::cut;

/// The nodes of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// The highest number of nodes.
    pub nodes: u64,
    /// The size of each in Azure; empty if it is not known.
    pub size: String,
    /// The version of OpenShift; empty if it is not known.
    pub version: String,
}

impl Pool {
    /// Reads the nodes of an object; the default if it says nothing of them.
    pub(super) fn of(object: &Json) -> Self {
        let id = Live(object).id();
        if id.is(HYPERSHIFT, "NodePool") {
            return Self::hosted(object);
        }
        let is_resource = |item: &&Json| {
            Live(item).group() == RED_HAT_OPENSHIFT
                && Live(item).kind() == "HcpOpenShiftClustersNodePool"
        };
        let embedded = match embedded::carries(&id) {
            true => Live(object).list(&["spec", "resources"]),
            false => &[],
        };
        let resource = std::iter::once(object).chain(embedded).find(is_resource);
        let Some(resource) = resource else {
            return Self::default();
        };
        let text = |path: &[&str]| Live(resource).text(path).to_owned();
        let count = |pointer: &str| resource.pointer(pointer).and_then(Json::as_u64);
        let nodes = count("/spec/properties/replicas")
            .or_else(|| count("/spec/properties/autoScaling/max"))
            .unwrap_or_default();
        Self {
            nodes,
            size: text(&["spec", "properties", "platform", "vmSize"]),
            version: text(&["spec", "properties", "version", "id"]),
        }
    }

    /// The nodes of a NodePool of HyperShift. Their size has a name only in Azure.
    fn hosted(object: &Json) -> Self {
        let count = |pointer: &str| object.pointer(pointer).and_then(Json::as_u64);
        let nodes = count("/spec/replicas").or_else(|| count("/spec/autoScaling/max"));
        let size = Live(object).text(&["spec", "platform", "azure", "vmSize"]);
        Self {
            nodes: nodes.unwrap_or_default(),
            size: size.to_owned(),
            version: release(object).to_owned(),
        }
    }

    /// The processors of all nodes; `None` if the name of their size does not say that.
    #[must_use]
    pub fn processors(&self) -> Option<u64> {
        Some(self.nodes * processors(&self.size)?)
    }
}

/// The version in the tag of an object's release image, such as `4.20.17-multi`; the image if it has no tag.
fn release(object: &Json) -> &str {
    let image = Live(object).text(&["spec", "release", "image"]);
    let tag = image.rsplit_once(':').filter(|_| !image.contains('@'));
    tag.map_or(image, |(_, tag)| tag.trim_end_matches("-multi"))
}

/// The version of OpenShift that a control plane has; empty for other objects.
pub(super) fn version(object: &Json) -> &str {
    if Live(object).id().is(HYPERSHIFT, "HostedCluster") {
        return release(object);
    }
    let of = |object: &'_ Json| Live(object).kind() == "HcpOpenShiftCluster";
    let embedded = Live(object).list(&["spec", "resources"]).iter();
    let cluster = embedded.chain([object]).find(|object| of(object));
    cluster.map_or("", |cluster| {
        Live(cluster).text(&["spec", "properties", "version", "id"])
    })
}

/// The processors of a size: the number in its first part, or the one behind a `-`, of a size with fewer
/// (learn.microsoft.com/azure/virtual-machines/vm-naming-conventions).
fn processors(size: &str) -> Option<u64> {
    let name = size.strip_prefix("Standard_")?;
    let name = name.split('_').next()?;
    let number = |text: &str| {
        let text = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let (digits, _) = cut::until(text, |c| !c.is_ascii_digit());
        digits.parse().ok()
    };
    match name.split_once('-') {
        Some((_, fewer)) => number(fewer),
        None => number(name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hosted_nodes_are_counted() {
        let pool = |name: &str, spec: Json| {
            json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
                "metadata": {"name": name, "namespace": "ns"}, "spec": spec})
        };
        let azure = json!({"azure": {"vmSize": "Standard_D4s_v5"}});
        let objects = [
            pool(
                "a",
                json!({"clusterName": "c", "replicas": 3, "platform": azure, "release": {"image": "r:4.20.17-multi"}}),
            ),
            pool(
                "b",
                json!({"clusterName": "c", "autoScaling": {"max": 5}, "release": {"image": "r@sha256:0a"}}),
            ),
        ];
        let pools = objects.each_ref().map(Pool::of);
        let told = |pool: &Pool| (pool.nodes, pool.size.clone(), pool.version.clone());
        let expected = [(3, "Standard_D4s_v5", "4.20.17"), (5, "", "r@sha256:0a")];
        let expected =
            expected.map(|(nodes, size, version)| (nodes, size.to_owned(), version.to_owned()));
        assert_eq!(pools.iter().map(told).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_name_of_a_size_says_how_many_processors_it_has() {
        for (size, expected) in [
            ("Standard_D8s_v3", Some(8)),
            ("Standard_E96as_v5", Some(96)),
            ("Standard_NC4as_T4_v3", Some(4)),
            ("Standard_E16-4s_v5", Some(4)),
            ("Standard_E104ids_v5", Some(104)),
            ("Standard_", None),
            ("D8s", None),
            ("", None),
        ] {
            assert_eq!(processors(size), expected, "{size}");
        }
    }
}
