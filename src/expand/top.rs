//! The frame of top-level objects: names, labels and marks.

use std::collections::BTreeMap;

use crate::api::cluster_definition::ClusterDefinition;
use crate::api::labels;
use crate::expand::node::node;
use crate::model::{Node, Object, Origin, Value};

/// A top-level object of a definition, about to be written.
pub(super) struct Top<'a> {
    definition: &'a ClusterDefinition,
    api_version: String,
    kind: &'static str,
    name: &'a str,
    labels: BTreeMap<&'a str, Node>,
    annotations: BTreeMap<&'a str, Node>,
}

impl<'a> Top<'a> {
    /// An object with the definition's labels and our marks.
    pub(super) fn new(
        definition: &'a ClusterDefinition,
        api_version: String,
        kind: &'static str,
        name: &'a str,
    ) -> Self {
        let path = definition.origin.span().path.to_string();
        let source = text(&definition.origin, &path);
        let managed_by = text(&definition.origin, labels::MANAGED_BY_VALUE);
        Self {
            definition,
            api_version,
            kind,
            name,
            labels: definition_labels(definition),
            annotations: asked_of_us(definition),
        }
        .annotation(labels::SOURCE, Some(source))
        .label(labels::MANAGED_BY, managed_by)
    }

    /// Says that it belongs to the cluster.
    pub(super) fn in_cluster(self) -> Self {
        let cluster = text(&self.definition.origin, &self.definition.id.name);
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
        let definition = self.definition;
        let node = node!(&definition.origin, {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {
                "name": self.name.to_owned(),
                "namespace": definition.id.namespace.clone(),
                "labels": self.labels,
                "annotations": self.annotations,
            },
            "spec": spec,
        });
        let mut object = Object::from_node(node, "").expect("it has an identity");
        object.definition = Some(definition.id.clone());
        object
    }
}

fn text(origin: &Origin, text: &str) -> Node {
    Node::new(Value::String(text.to_owned().into()), origin)
}

/// The annotations of a definition that count for all its objects.
fn asked_of_us<'a>(definition: &ClusterDefinition) -> BTreeMap<&'a str, Node> {
    let written = definition.node.at(&["metadata", "annotations"]);
    let asked = [labels::ADOPT, labels::FORCE_CONFLICTS].into_iter();
    asked
        .filter_map(|name| Some((name, written?.get(name)?.clone())))
        .collect()
}

fn definition_labels(definition: &ClusterDefinition) -> BTreeMap<&str, Node> {
    let written = definition.node.at(&["metadata", "labels"]);
    let node = |name: &str, value: &str| {
        let written = written.and_then(|labels| labels.get(name)).cloned();
        written.unwrap_or_else(|| text(&definition.origin, value))
    };
    let labels = definition.labels.iter();
    labels
        .map(|(name, value)| (name.as_str(), node(name, value)))
        .collect()
}
