//! The frames that objects are written in: an embedded resource, a top-level object.

use std::collections::BTreeMap;

use super::blueprint::Blueprint;
use crate::api::{kinds, labels};
use crate::expand::node::node;
use crate::expand::top::Top;
use crate::model::Node;

/// An embedded resource, by its group, kind and name. Its namespace is written, since CAPZ reads it there.
pub(super) fn embedded(b: &Blueprint, id: [&str; 3], spec: Node) -> Node {
    frame(b, None, id, spec)
}

/// The same, of a resource that stays in Azure when its object is deleted.
pub(super) fn detached(b: &Blueprint, id: [&str; 3], spec: Node) -> Node {
    frame(b, Some("detach-on-delete"), id, spec)
}

fn frame(
    b: &Blueprint,
    policy: Option<&'static str>,
    [group, kind, name]: [&str; 3],
    spec: Node,
) -> Node {
    let annotations = [
        (labels::CREDENTIAL_FROM, b.value("credentialFrom")),
        (
            labels::RECONCILE_POLICY,
            policy.map(|policy| b.text(policy)),
        ),
    ];
    let annotations = annotations
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect::<BTreeMap<_, _>>();
    let annotations = Some(annotations).filter(|all| !all.is_empty());
    node!(b.origin(), {
        "apiVersion": api_version(b, group),
        "kind": kind.to_owned(),
        "metadata": {
            "name": name.to_owned(),
            "namespace": b.namespace().to_owned(),
            "annotations": annotations,
        },
        "spec": spec,
    })
}

/// The version each ASO group is written at: for ARO HCP the one that was asked for, for the others
/// one that every supported ASO serves.
fn api_version(b: &Blueprint, group: &str) -> Node {
    let arm = b.spec().arm_api_version;
    let version = match group {
        kinds::RESOURCES => "v1api20200601",
        kinds::NETWORK => "v1api20201101",
        kinds::KEYVAULT => "v1api20230701",
        kinds::MANAGED_IDENTITY => "v1api20230131",
        kinds::AUTHORIZATION => "v1api20220401",
        _ => {
            return b
                .values
                .made_from("armAPIVersion", format!("{group}/{}", arm.aso()));
        }
    };
    b.text(format!("{group}/{version}"))
}

/// A reference to an embedded resource.
pub(super) fn reference(
    b: &Blueprint,
    group: &'static str,
    kind: &'static str,
    name: &str,
) -> Node {
    node!(b.origin(), {"group": group, "kind": kind, "name": name.to_owned()})
}

/// A top-level object, at the newest version of its kind.
pub(super) fn top<'a>(
    b: &Blueprint<'a>,
    group: &'static str,
    kind: &'static str,
    name: &'a str,
) -> Top<'a> {
    let known = kinds::find(group, kind).expect("a kind of our table");
    let version = known.versions.last().expect("a kind has a version");
    Top::new(b.definition, format!("{group}/{version}"), kind, name)
}
