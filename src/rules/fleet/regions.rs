//! F06: locations are regions of Azure. F08: clusters are where the service is known to run.

use std::collections::BTreeMap;

use kube_schema::nearest;

use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::data;
use crate::rules::wording::and_others;

/// F06: every location is a known region. One that many resources of a definition or of an object share is
/// reported once.
pub(in crate::rules) fn regions_are_known(world: &World<'_>) -> Vec<Finding> {
    let mut firsts: BTreeMap<(&ObjectId, &str), (Field<'_>, usize)> = BTreeMap::new();
    for resource in world.all() {
        let Some(text) = resource.node.text(&["spec", "location"]) else {
            continue;
        };
        if text.is_empty() || data::is_region(text) || data::is_region(&plain(text)) {
            continue;
        }
        let key = (writer(resource), text);
        let first = firsts
            .entry(key)
            .or_insert_with(|| (resource.field("spec.location"), 0));
        first.1 += 1;
    }
    let firsts = firsts.into_iter();
    firsts
        .map(|((_, text), (field, count))| unknown(&field, text, count - 1))
        .collect()
}

/// F08: every cluster is in a region that is known to have the service, or that the Fleet document adds. A region is
/// reported once.
pub(in crate::rules) fn regions_have_the_service(world: &World<'_>) -> Vec<Finding> {
    let mut firsts: BTreeMap<String, (Field<'_>, usize)> = BTreeMap::new();
    for cluster in world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster") {
        let field = cluster.field("spec.location");
        let region = plain(field.text().unwrap_or_default());
        // F06 reports unknown ones.
        if !has_service(world, &region) && data::is_region(&region) {
            firsts.entry(region).or_insert((field, 0)).1 += 1;
        }
    }
    let firsts = firsts.into_iter();
    firsts
        .map(|(region, (field, count))| elsewhere(&field, &region, count - 1))
        .collect()
}

fn elsewhere(field: &Field<'_>, region: &str, others: usize) -> Finding {
    let others = and_others(others);
    let message = message!("ARO HCP is not known to run in {region}{others}", region);
    let help = "check that the service is available there; rules.regions in the Fleet document adds regions";
    field.finding("F08", message).help(help)
}

/// Whether a region is known to have the service, or is added by the Fleet document.
pub(in crate::rules) fn has_service(world: &World<'_>, region: &str) -> bool {
    let mut added = world.regions.iter();
    data::is_service_region(region) || added.any(|one| plain(one) == region)
}

/// Azure reads `UK South` as `uksouth`.
pub(in crate::rules) fn plain(location: &str) -> String {
    location.replace(' ', "").to_lowercase()
}

/// The definition or the object that a resource is written in.
fn writer<'a>(resource: &Resource<'a>) -> &'a ObjectId {
    let carrier = resource.carrier;
    carrier.definition.as_ref().unwrap_or(&carrier.id)
}

fn unknown(field: &Field<'_>, text: &str, others: usize) -> Finding {
    // All resources of a definition have the one location that a person wrote.
    let is_made = field.resource.carrier.definition.is_some();
    let others = and_others(if is_made { 0 } else { others });
    let message = message!("{text:?} is not a known Azure region{others}", text);
    let help = match nearest(&plain(text), data::regions()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if text.contains("${") || text.contains("{{") => {
            "variables and templates are not expanded: write the name of the region".to_owned()
        }
        None => {
            "write the name of a region such as uksouth; if it is a new one, allow this warning"
                .to_owned()
        }
    };
    field.finding("F06", message).help(help)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Object;

    fn reported(locations: &[&str]) -> Vec<(String, String)> {
        let items = locations.iter().enumerate().map(|(at, location)| {
            format!("{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {{name: n{at}}}, spec: {{location: {location:?}}}}}")
        });
        let items: Vec<_> = items.collect();
        let yaml = format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AROCluster\nmetadata: {{name: one}}\nspec: {{resources: [{}]}}\n",
            items.join(", ")
        );
        let (documents, findings) = crate::yaml::read(&Arc::from("test.yaml"), yaml.as_bytes());
        assert_eq!(findings, [], "the test's YAML is sound");
        let objects = documents.into_iter();
        let objects: Vec<Object> = objects
            .filter_map(|document| Object::from_node(document, "default"))
            .collect();
        let findings = regions_are_known(&World::of(&objects)).into_iter();
        findings
            .map(|finding| (finding.message, finding.help.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn a_region_without_the_service_is_a_hint_unless_it_is_added() {
        let yaml = ["uksouth", "Norway East", "norwayeast", "mars"].map(|location| {
            format!("---\n{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: c}}, spec: {{location: {location}}}}}\n")
        });
        let (documents, _) = crate::yaml::read(&Arc::from("test.yaml"), yaml.concat().as_bytes());
        let objects = documents.into_iter();
        let objects: Vec<Object> = objects
            .filter_map(|document| Object::from_node(document, "default"))
            .collect();
        let mut world = World::of(&objects);
        let found = regions_have_the_service(&world);
        let said: Vec<_> = found.iter().map(|finding| &*finding.message).collect();
        assert_eq!(
            said,
            ["ARO HCP is not known to run in norwayeast (here and in 1 more resource)"]
        );
        assert_eq!(found[0].severity, crate::model::Severity::Info);
        world.regions = vec!["Norway East".to_owned()];
        assert_eq!(regions_have_the_service(&world), []);
    }

    #[test]
    fn a_region_is_known_however_it_is_written() {
        assert_eq!(
            reported(&["uksouth", "UK South", "WestEurope", "global", ""]),
            []
        );
    }

    #[test]
    fn an_unknown_region_is_reported_once_with_the_nearest_one() {
        let [(message, help)] = reported(&["uksuoth", "uksuoth", "uksouth", "uksuoth"])
            .try_into()
            .expect("one finding");
        assert_eq!(
            message,
            "\"uksuoth\" is not a known Azure region (here and in 2 more resources)"
        );
        assert_eq!(help, "did you mean `uksouth`?");
        let strangers = reported(&["uksuoth", "mars"]);
        assert_eq!(strangers.len(), 2);
        assert!(
            strangers
                .iter()
                .any(|(_, help)| help.contains("such as uksouth")),
            "{strangers:?}"
        );
    }
}
