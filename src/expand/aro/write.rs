//! The frames that objects are written in: an embedded resource, a top-level object.

use std::collections::BTreeMap;

use super::blueprint::Blueprint;
use crate::api::{kinds, labels};
use crate::expand::node::node;
use crate::model::{Node, Object};

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

/// A top-level object, about to be written.
pub(super) struct Top<'a> {
    b: &'a Blueprint<'a>,
    group: &'static str,
    kind: &'static str,
    name: &'a str,
    labels: BTreeMap<&'a str, Node>,
    annotations: BTreeMap<&'a str, Node>,
}

impl<'a> Top<'a> {
    /// An object with the definition's labels and our marks.
    pub(super) fn new(
        b: &'a Blueprint<'a>,
        group: &'static str,
        kind: &'static str,
        name: &'a str,
    ) -> Self {
        let path = b.origin().span().path.to_string();
        Self {
            b,
            group,
            kind,
            name,
            labels: definition_labels(b),
            annotations: asked_of_us(b),
        }
        .annotation(labels::SOURCE, Some(b.text(path)))
        .label(labels::MANAGED_BY, b.text(labels::MANAGED_BY_VALUE))
    }

    /// Says that it belongs to the cluster.
    pub(super) fn in_cluster(self) -> Self {
        let cluster = self.b.text(&*self.b.names.cluster);
        self.label(labels::CLUSTER_NAME, cluster)
    }

    pub(super) fn annotation(mut self, name: &'a str, value: Option<Node>) -> Self {
        self.annotations.extend(value.map(|value| (name, value)));
        self
    }

    fn label(mut self, name: &'a str, value: Node) -> Self {
        self.labels.insert(name, value);
        self
    }

    /// The object with its spec.
    pub(super) fn spec(self, spec: Node) -> Object {
        let b = self.b;
        let known = kinds::find(self.group, self.kind).expect("a kind of our table");
        let version = known.versions.last().expect("a kind has a version");
        let node = node!(b.origin(), {
            "apiVersion": format!("{}/{version}", self.group),
            "kind": self.kind,
            "metadata": {
                "name": self.name.to_owned(),
                "namespace": b.namespace().to_owned(),
                "labels": self.labels,
                "annotations": self.annotations,
            },
            "spec": spec,
        });
        let mut object = Object::from_node(node, "").expect("it has an identity");
        object.definition = Some(b.definition.id.clone());
        object
    }
}

/// What a definition asks of us for all its objects.
fn asked_of_us<'a>(b: &Blueprint) -> BTreeMap<&'a str, Node> {
    let written = b.definition.node.at(&["metadata", "annotations"]);
    let asked = [labels::ADOPT, labels::FORCE_CONFLICTS].into_iter();
    asked
        .filter_map(|name| Some((name, written?.get(name)?.clone())))
        .collect()
}

fn definition_labels<'a>(b: &'a Blueprint) -> BTreeMap<&'a str, Node> {
    let written = b.definition.node.at(&["metadata", "labels"]);
    let node = |name: &str, value: &str| {
        let written = written.and_then(|labels| labels.get(name)).cloned();
        written.unwrap_or_else(|| b.text(value))
    };
    let labels = b.definition.labels.iter();
    labels
        .map(|(name, value)| (name.as_str(), node(name, value)))
        .collect()
}
