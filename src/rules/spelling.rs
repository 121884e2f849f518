//! Misspelt fields of Azure resources: reported once, and read as what is meant by all other rules, which would report them as
//! missing.
//!
//! In: objects, and what is wrong with the fields of their resources. Out: the objects with the right names, and findings
//! (S01). It does not know which fields a kind has: [`properties`](super::properties) does.

use std::collections::HashMap;

use rayon::prelude::*;

use super::arm::{Resource, World};
use super::properties::{below, faults, is_typo};
use crate::model::{Finding, Node, Object};
use crate::schema;

/// The objects with their misspelt fields renamed, and the findings about them; `None` if there are none.
pub(super) fn correct(
    objects: &[Object],
    world: &World<'_>,
    fields: &[Vec<Finding>],
) -> Option<(Vec<Object>, Vec<Finding>)> {
    let is_misspelt = |found: &[Finding]| found.iter().any(is_typo);
    let resources = world.all().zip(fields);
    let resources: Vec<_> = resources.filter(|(_, found)| is_misspelt(found)).collect();
    let spelt = resources.par_iter().filter_map(|(resource, _)| {
        let (node, typos) = corrected(resource)?;
        Some((*resource, node, typos))
    });
    let spelt: Vec<_> = spelt.collect();
    let mut right = (!spelt.is_empty()).then(|| objects.to_vec())?;
    let places = objects.iter().enumerate();
    let places: HashMap<_, _> = places
        .map(|(at, object)| (std::ptr::from_ref(object), at))
        .collect();
    let mut findings = Vec::new();
    for (resource, node, typos) in spelt {
        let place = places.get(&std::ptr::from_ref(resource.carrier));
        let place = place.and_then(|at| right[*at].node.lookup_mut(&resource.path));
        if let Some(place) = place {
            *place = node;
            findings.extend(typos);
        }
    }
    Some((right, findings))
}

/// The content of a resource with its misspelt fields renamed, and the findings about them; `None` if there are none.
fn corrected(resource: &Resource<'_>) -> Option<(Node, Vec<Finding>)> {
    let mut node = resource.node.clone();
    let mut typos = Vec::new();
    loop {
        let mut found = faults(resource, &node);
        found.retain(|finding| is_typo(finding) && rename(resource, finding, &mut node));
        // What is below a renamed field may be misspelt, too.
        if found.is_empty() {
            break;
        }
        typos.append(&mut found);
    }
    (!typos.is_empty()).then_some((node, typos))
}

/// Gives a misspelt field its name. Returns whether the name was free.
fn rename(resource: &Resource<'_>, typo: &Finding, node: &mut Node) -> bool {
    let field = typo.field.as_ref().and_then(|field| below(resource, field));
    let (Some(field), Some(meant)) = (field, schema::meant(typo)) else {
        return false;
    };
    schema::rename(node, &field, meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::fleet::FleetPolicy;

    #[test]
    fn a_misspelt_field_is_renamed_and_nothing_else() {
        let yaml = "apiVersion: network.azure.com/v1api20240301\nkind: VirtualNetworksSubnet\nmetadata: {name: a}\nspec: {ownr: {nmae: net}, defaultOutboundAccessMode: Enabled}\n";
        let document = crate::yaml::read(&"a.yaml".into(), yaml.as_bytes())
            .0
            .remove(0);
        let objects = [Object::from_node(document, "default").expect("an object")];
        let found = crate::rules::check(&objects, &FleetPolicy::default());
        let found = found.iter().filter(|one| one.id.starts_with('S'));
        let found: Vec<_> = found
            .map(|one| format!("{:?} {}", one.severity, one.message))
            .collect();
        assert_eq!(
            found,
            [
                "Error unknown field `spec.ownr`",
                "Error unknown field `spec.owner.nmae`",
                "Warning unknown field `spec.defaultOutboundAccessMode`",
            ]
        );
    }
}
