//! One Kubernetes object to apply, with the origin of each value.

use std::fmt;
use std::sync::Arc;

use super::{Node, Origin};

/// The identity of an object in a cluster: group, kind, namespace and name. The version is not part of
/// it, since one object can be read in several versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// The id of an embedded resource, and the version that it is written in. Copies share both.
pub type EmbeddedId = (Arc<ObjectId>, Arc<str>);

impl ObjectId {
    /// The id with these parts.
    pub fn new(
        group: impl Into<String>,
        kind: impl Into<String>,
        namespace: impl Into<String>,
        name: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The id of a document, and the version in its `apiVersion`; `None` without `apiVersion`, `kind` or
    /// `metadata.name`. `namespace` is used if the document has none.
    #[must_use]
    pub fn read(document: &Node, namespace: &str) -> Option<(Self, String)> {
        let api_version = document.text(&["apiVersion"])?;
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let namespace = document
            .text(&["metadata", "namespace"])
            .unwrap_or(namespace);
        let id = Self::new(
            group,
            document.text(&["kind"])?,
            namespace,
            document.text(&["metadata", "name"])?,
        );
        Some((id, version.to_owned()))
    }

    /// Whether this is the kind `kind` of `group`.
    #[must_use]
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

/// `Kind/namespace/name`, cluster-scoped `Kind//name` (DESIGN §12).
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

/// A Kubernetes object with provenance: a document of the tree, the result of an expansion, or a
/// resource embedded in another object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its identity.
    pub id: ObjectId,
    /// The version in its `apiVersion`, without the group.
    pub version: String,
    /// The whole document.
    pub node: Node,
    /// Where findings about the object as a whole point: its name, or the name of the definition it was
    /// expanded from.
    pub origin: Origin,
    /// The definition it was expanded from.
    pub definition: Option<ObjectId>,
}

impl Object {
    /// A document with an id, as in [`ObjectId::read`].
    #[must_use]
    pub fn from_node(node: Node, namespace: &str) -> Option<Self> {
        let (id, version) = ObjectId::read(&node, namespace)?;
        let origin = node.at(&["metadata", "name"])?.origin.clone();
        Some(Self {
            id,
            version,
            node,
            origin,
            definition: None,
        })
    }

    /// `group/version`, or the version alone for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.id.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.node.text(&["metadata", "labels", name])
    }

    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.node.text(&["metadata", "annotations", name])
    }
}
