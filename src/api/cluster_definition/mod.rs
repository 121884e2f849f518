//! `ClusterDefinition`: the thirty lines a person writes for a cluster (DESIGN §3).
//!
//! In: a document, overlays already merged. Out: the typed definition with its node, and findings.
//! It does not know what a definition becomes.

mod node_pool;
mod spec;

use std::collections::BTreeMap;

pub use node_pool::{Autoscaling, NodePool, OsDisk};
pub use spec::{
    Api, AzureEnvironment, ClusterDefinitionSpec, DeletionPolicy, Encryption, Etcd, ExistingVault,
    ExternalAuth, IdentityMode, IdentityRef, ManagedIdentities, Network, Phase, Platform, Version,
    Visibility,
};

use crate::model::{Node, ObjectId, Origin};

/// A definition that was read without errors.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterDefinition {
    /// What names it; the group is ours.
    pub id: ObjectId,
    /// Where `metadata.name` stands: where to point for what nobody wrote.
    pub origin: Origin,
    /// `metadata.labels`, copied to the top-level objects.
    pub labels: BTreeMap<String, String>,
    /// What was asked for, defaults filled in.
    pub spec: ClusterDefinitionSpec,
    /// The whole document, without `null`s, with the origin of every value.
    pub node: Node,
}
