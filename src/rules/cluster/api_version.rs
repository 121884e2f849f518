//! C49: the version of Azure's API that hosted clusters and their parts use, and its size limit.

use std::collections::BTreeMap;

use crate::api::arm_version::{ArmVersion, AsoVersion};
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, Node, Severity, Value, message};
use crate::rules::arm::{Resource, World};
use crate::rules::wording::and_others;

/// Whether it is a cluster with a hosted control plane or a part of one. The group also has the classic
/// OpenShiftCluster, with versions of its own.
fn is_hosted(resource: &&Resource<'_>) -> bool {
    resource.id.group == RED_HAT_OPENSHIFT && resource.id.kind.starts_with("HcpOpenShift")
}

/// C49: ARO HCP resources use a known version of Azure's API.
pub(in crate::rules) fn api_versions(world: &World<'_>) -> Vec<Finding> {
    let unknown = world.all().filter(is_hosted).filter(|resource| {
        ArmVersion::from_aso(&resource.version).is_none() || is_storage(resource)
    });
    let mut firsts: BTreeMap<&str, (&Resource<'_>, usize)> = BTreeMap::new();
    for resource in unknown {
        let entry = firsts.entry(&resource.version).or_insert((resource, 0));
        entry.1 += 1;
    }
    let finding = |(version, (first, count)): (&str, (&Resource<'_>, usize))| {
        unknown_version(first, version, count - 1)
    };
    firsts.into_iter().map(finding).collect()
}

/// A version that may be newer than this release is only a warning.
fn unknown_version(first: &Resource<'_>, version: &str, others: usize) -> Finding {
    let others = and_others(others);
    let newest = ArmVersion::ALL.last().copied().unwrap_or_default();
    let (severity, what) = match AsoVersion::parse(version) {
        Some(parsed) if parsed.storage => {
            (Severity::Error, "is only for ASO's own storage".to_owned())
        }
        Some(_) => (
            Severity::Warning,
            format!("is unknown: the rules of {} are applied", newest.arm()),
        ),
        None => (
            Severity::Error,
            "is not a version of Azure's API".to_owned(),
        ),
    };
    let message = message!("version {version}{others} {what}", version);
    let known: Vec<&str> = ArmVersion::ALL.iter().map(|known| known.aso()).collect();
    let help = format!("known versions: {}", known.join(", "));
    let finding = first.field("apiVersion").finding("C49", message).help(help);
    Finding {
        severity,
        ..finding
    }
}

/// C49: a request to Azure has at most 4 MiB.
pub(in crate::rules) fn bodies_are_small(world: &World<'_>) -> Vec<Finding> {
    const MOST: usize = 4 << 20;
    let large = world.all().filter(is_hosted).filter_map(|resource| {
        let spec = resource.field("spec");
        let size = weight(spec.node?);
        let message = message!(
            "{resource} has {size} bytes, more than the {MOST} (4 MiB) that Azure accepts",
            resource = resource.id,
            size
        );
        let finding = resource.field("metadata.name").finding("C49", message);
        (size > MOST).then(|| Finding {
            severity: Severity::Error,
            ..finding.help("shorten its lists, such as image mirrors and authorized networks")
        })
    });
    large.collect()
}

/// A lower estimate of its size as JSON, in bytes.
fn weight(node: &Node) -> usize {
    match &node.value {
        Value::Map(map) => {
            let entries = map.iter();
            entries.fold(2, |sum, (key, node)| {
                sum + key.name.len() + 4 + weight(node)
            })
        }
        Value::List(items) => items.iter().fold(2, |sum, node| sum + 1 + weight(node)),
        _ => node.as_str().map_or(1, |text| text.len() + 2),
    }
}

fn is_storage(resource: &Resource<'_>) -> bool {
    AsoVersion::parse(&resource.version).is_some_and(|version| version.storage)
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn an_unknown_version_is_reported_once_and_may_be_newer() {
        let of = |version: &str| {
            let yaml = |name: &str| {
                format!(
                    "apiVersion: redhatopenshift.azure.com/{version}\nkind: HcpOpenShiftCluster\nmetadata: {{name: {name}}}\n"
                )
            };
            let text = ["a", "b", "c"].map(yaml).join("---\n");
            let path = std::sync::Arc::from("test.yaml");
            let (documents, _) = crate::yaml::read(&path, text.as_bytes());
            let objects = documents.into_iter();
            let objects: Vec<_> = objects
                .filter_map(|node| crate::model::Object::from_node(node, "default"))
                .collect();
            let found = crate::rules::found_in(&objects, |all| api_versions(&World::of(all)));
            assert!(found.len() < 2, "{found:?}");
            found.into_iter().next()
        };
        assert_eq!(of("v1api20251223preview"), None);
        for known in [
            "v20260630preview",
            "v20260901preview",
            "v1api20260901preview",
        ] {
            assert_eq!(of(known), None, "{known}");
        }
        let newer = of("v20270101preview").expect("a finding");
        assert_eq!(newer.severity, Severity::Warning);
        assert!(newer.message.contains("in 2 more resources"), "{newer}");
        for wrong in [
            "v1beta1",
            "v1api20260630previewstorage",
            "v20260901previewstorage",
        ] {
            assert_eq!(of(wrong).expect("a finding").severity, Severity::Error);
        }
    }

    #[test]
    fn the_classic_cluster_has_versions_of_its_own() {
        let yaml = "apiVersion: redhatopenshift.azure.com/v1api20231122\nkind: OpenShiftCluster\nmetadata: {name: a}\n";
        let path = std::sync::Arc::from("test.yaml");
        let (documents, _) = crate::yaml::read(&path, yaml.as_bytes());
        let objects = documents.into_iter();
        let objects: Vec<_> = objects
            .filter_map(|node| crate::model::Object::from_node(node, "default"))
            .collect();
        assert_eq!(
            crate::rules::found_in(&objects, |all| api_versions(&World::of(all))),
            []
        );
    }

    #[test]
    fn a_body_has_up_to_4_mib() {
        fn all(world: &World<'_>, _: &Resource<'_>) -> Vec<Finding> {
            bodies_are_small(world)
        }
        let spec = |size: usize| format!("{{tags: {{a: {:?}}}}}", "x".repeat(size));
        assert_eq!(findings_of(all, &spec(4_000_000)).len(), 0);
        assert_eq!(findings_of(all, &spec(4_200_000)).len(), 1);
    }
}
