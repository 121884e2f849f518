//! Plain objects that the API server would not take, or not keep, as they are written.
//!
//! In: the objects of a fleet. Out: findings for objects of versions that the fleet's own CustomResourceDefinitions do not
//! serve (S08), and for rules of aggregated ClusterRoles (S09). It does not know a cluster.

use std::collections::HashMap;

use crate::api::kinds::is_aggregated;
use crate::model::{Finding, Object, Path, Value, message};

/// The definition of a kind, and the versions that it serves.
struct Definition<'a> {
    object: &'a Object,
    served: Vec<&'a str>,
}

/// S08 and S09.
pub(super) fn check(objects: &[Object], environment: &[&Object]) -> Vec<Finding> {
    let all = objects.iter().chain(environment.iter().copied());
    let definitions: HashMap<(&str, &str), Definition<'_>> = all.filter_map(definition).collect();
    let unserved = objects.iter().filter_map(|object| {
        let key = (&*object.id.group, &*object.id.kind);
        unserved(object, definitions.get(&key)?)
    });
    let roles = objects.iter().filter_map(overwritten);
    unserved.chain(roles).collect()
}

fn definition(object: &Object) -> Option<((&str, &str), Definition<'_>)> {
    if !object
        .id
        .is("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        return None;
    }
    let spec = object.node.get("spec")?;
    let versions = spec.get("versions")?.as_list()?.iter();
    let served = versions.filter(|version| {
        version
            .get("served")
            .is_some_and(|it| it.value == Value::Bool(true))
    });
    let served = served.filter_map(|version| version.text(&["name"]));
    let key = (spec.text(&["group"])?, spec.text(&["names", "kind"])?);
    let served = served.collect();
    Some((key, Definition { object, served }))
}

/// S08: the fleet's own CRD serves the version of the object. Without any served version the API server refuses the CRD.
fn unserved(object: &Object, definition: &Definition<'_>) -> Option<Finding> {
    let version = object.version.as_str();
    if definition.served.is_empty() || definition.served.contains(&version) {
        return None;
    }
    let (group, kind) = (&object.id.group, &object.id.kind);
    let served = definition.served.join(" and ");
    let message = message!(
        "{kind} of {group}/{version} is not served: the CustomResourceDefinition at {at} serves {served} only",
        kind,
        group,
        version,
        at = definition.object.origin.span(),
        served
    );
    let newest = definition.served[definition.served.len() - 1];
    let help =
        format!("write `apiVersion: {group}/{newest}`, or serve {version} in the definition");
    let node = object.node.get("apiVersion")?;
    let finding = Finding::error("S08", message).at(node.span());
    Some(
        finding
            .of(&object.id)
            .field(&Path::dotted("apiVersion"))
            .help(help),
    )
}

/// S09: the control plane fills the rules of a ClusterRole with an `aggregationRule`.
fn overwritten(role: &Object) -> Option<Finding> {
    let rules = role.node.get("rules").filter(|_| is_aggregated(role))?;
    if rules.as_list().is_none_or(<[_]>::is_empty) {
        return None;
    }
    let finding = Finding::warning(
        "S09",
        "`rules` of a ClusterRole with `aggregationRule` are not applied: the control plane fills them",
    );
    let help =
        "move them to a ClusterRole of their own, with a label that `aggregationRule` selects";
    Some(
        finding
            .at(rules.span())
            .of(&role.id)
            .field(&Path::dotted("rules"))
            .help(help),
    )
}
