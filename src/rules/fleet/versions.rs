//! F09: a cluster, its node pools and its external auths are written in one version of Azure's API.

use std::collections::BTreeMap;

use crate::api::arm_version::ArmVersion;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{Resource, World};
use crate::rules::wording::and_others;

/// F09: no part of a cluster has another version than the cluster. One finding per cluster.
pub(in crate::rules) fn parts_have_the_clusters_version(world: &World<'_>) -> Vec<Finding> {
    let mut firsts: BTreeMap<&ObjectId, (&Resource<'_>, &Resource<'_>, usize)> = BTreeMap::new();
    let parts = world
        .all()
        .filter(|part| part.id.group == RED_HAT_OPENSHIFT);
    for part in parts {
        let Some(cluster) = world.owner(part).filter(|cluster| differ(part, cluster)) else {
            continue;
        };
        let first = firsts.entry(&cluster.id).or_insert((part, cluster, 0));
        first.2 += 1;
    }
    let firsts = firsts.into_values();
    firsts
        .map(|(part, cluster, count)| mixed(part, cluster, count - 1))
        .collect()
}

/// Two spellings of one version are the same version. C49 reports an unknown one.
fn differ(part: &Resource<'_>, cluster: &Resource<'_>) -> bool {
    let version = |resource: &Resource<'_>| ArmVersion::from_aso(&resource.version);
    let (of_part, of_cluster) = (version(part), version(cluster));
    of_part.is_some() && of_cluster.is_some() && of_part != of_cluster
}

fn mixed(part: &Resource<'_>, cluster: &Resource<'_>, others: usize) -> Finding {
    let others = and_others(others);
    let (theirs, version) = (&part.version, &cluster.version);
    let message = message!(
        "{part} has version {theirs}{others}, its cluster {version}",
        part = part.id,
        theirs,
        version
    );
    let help = format!(
        "write redhatopenshift.azure.com/{version} in the cluster, its node pools and its external auths"
    );
    part.field("apiVersion").finding("F09", message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Object;

    fn reported(versions: [&str; 3]) -> Vec<String> {
        let kinds = ["Cluster", "ClustersNodePool", "ClustersExternalAuth"];
        let document = |(kind, version): (&str, &str)| {
            format!(
                "apiVersion: redhatopenshift.azure.com/{version}\nkind: HcpOpenShift{kind}\nmetadata: {{name: one}}\nspec: {{owner: {{name: one}}}}\n"
            )
        };
        let documents: Vec<String> = kinds.into_iter().zip(versions).map(document).collect();
        let path = std::sync::Arc::from("test.yaml");
        let (documents, _) = crate::yaml::read(&path, documents.join("---\n").as_bytes());
        let objects = documents.into_iter();
        let objects: Vec<Object> = objects
            .filter_map(|document| Object::from_node(document, "default"))
            .collect();
        let found = |objects: &[Object]| parts_have_the_clusters_version(&World::of(objects));
        let findings = crate::rules::found_in(&objects, found).into_iter();
        findings.map(|finding| finding.message).collect()
    }

    #[test]
    fn mixed_versions_are_one_finding_and_spellings_are_none() {
        let (old, new) = ("v1api20251223preview", "v20260901preview");
        assert_eq!(reported([new, new, "v1api20260901preview"]), [""; 0]);
        assert_eq!(reported([new, "v20990101preview", new]), [""; 0]);
        assert_eq!(
            reported([new, old, new]),
            [
                "HcpOpenShiftClustersNodePool/default/one has version v1api20251223preview, its cluster v20260901preview"
            ]
        );
        let both = reported([new, old, old]);
        assert_eq!(both.len(), 1);
        assert!(both[0].contains("in 1 more resource"), "{both:?}");
    }
}
