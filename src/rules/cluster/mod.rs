//! C: Azure's rules for ARO HCP clusters (facts/aro-rules.md §3.1).

pub(super) mod api_version;
pub(super) mod encryption;
pub(super) mod fields;
pub(super) mod identities;
pub(super) mod integration;
pub(super) mod mirrors;
pub(super) mod naming;
pub(super) mod network;
mod operators;
pub(super) mod platform;
pub(super) mod reference;
pub(super) mod required;
pub(super) mod roles;
pub(super) mod sharing;
pub(super) mod tags;
pub(super) mod version;

/// The messages of `rule` for a cluster with this `spec`, in flow style.
#[cfg(test)]
fn findings_of(rule: super::ResourceRule, spec: &str) -> Vec<String> {
    let yaml = format!(
        "apiVersion: redhatopenshift.azure.com/v1api20260630preview\nkind: HcpOpenShiftCluster\nmetadata: {{name: one}}\nspec: {spec}\n"
    );
    let path = std::sync::Arc::from("test.yaml");
    let (documents, findings) = crate::yaml::read(&path, yaml.as_bytes());
    assert_eq!(findings, [], "the test's YAML is sound");
    let objects = documents
        .into_iter()
        .filter_map(|document| crate::model::Object::from_node(document, "default"));
    let objects: Vec<_> = objects.collect();
    let world = super::World::of(&objects);
    let found = world.all().flat_map(|cluster| rule(&world, cluster));
    found.map(|finding| finding.message).collect()
}
