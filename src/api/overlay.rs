//! `Overlay`: a partial definition and patches that lie on many definitions (DESIGN §3).
//!
//! In: a document. Out: the overlay with the origin of every part, and findings. It does not know
//! how anything is merged or patched.

use std::collections::BTreeMap;

use crate::model::{Node, Origin};

/// A partial definition, and patches on what definitions become.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// `metadata.name`.
    pub name: String,
    /// Where the name stands.
    pub origin: Origin,
    /// The definitions and raw objects it is for.
    pub selector: Selector,
    /// Whether `merge` lies under or on top of a definition.
    pub precedence: Precedence,
    /// Lower first within one precedence.
    pub order: i64,
    /// A partial `ClusterDefinition.spec`.
    pub merge: Option<Node>,
    /// Patches on expanded and raw objects.
    pub patches: Vec<Patch>,
}

/// Who wins where an overlay's `merge` and a definition both speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// The definition.
    #[default]
    Default,
    /// The overlay.
    Enforced,
}

/// A Kubernetes label selector. All parts must hold; an empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Labels and the values they must have.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    pub match_expressions: Vec<Requirement>,
}

/// One requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// How its value relates to `values`.
    pub operator: Operator,
    /// Empty for `Exists` and `DoesNotExist`.
    pub values: Vec<String>,
}

/// How a label's value relates to a list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// It is one of them.
    In,
    /// It is none of them, or the label is absent.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

/// A change to every object that `target` names.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Which objects.
    pub target: Target,
    /// A map is a strategic merge patch, a list is a JSON patch (RFC 6902).
    pub patch: Node,
    /// Where the patch stands.
    pub origin: Origin,
}

/// Which objects a patch is for. What is absent matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// API group.
    pub group: Option<String>,
    /// Version without the group.
    pub version: Option<String>,
    /// Kind.
    pub kind: Option<String>,
    /// Namespace.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Labels.
    pub label_selector: Option<Selector>,
}
