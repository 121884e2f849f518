//! `ClusterDefinition`: the thirty lines a person writes for a cluster (DESIGN §3).
//!
//! In: a document, overlays already merged. Out: the typed definition with its node, and findings.
//! It does not know what a definition becomes.

mod node_pool;
mod spec;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value as Json, json};

pub use node_pool::{Autoscaling, NodePool, OsDisk};
pub use spec::{
    Api, AzureEnvironment, ClusterDefinitionSpec, DeletionPolicy, Encryption, Etcd, ExistingVault,
    ExternalAuth, IdentityMode, IdentityRef, ManagedIdentities, Network, Phase, Platform, Version,
    Visibility,
};

use super::{document, structural};
use crate::model::{Finding, Node, ObjectId, Origin, Path};
use crate::schema::Schema;

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

const KIND: &str = "ClusterDefinition";

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| document::compiled(&schema()));

/// The JSON schema of a whole document.
pub(super) fn schema() -> Json {
    let mut schema = document::schema(KIND, &structural::of::<ClusterDefinitionSpec>());
    // An HcpOpenShiftCluster has the same name (facts/aro-rules.md §1.7).
    let name = &mut schema["properties"]["metadata"]["properties"]["name"];
    *name = json!({
        "type": "string",
        "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$",
        "minLength": 3,
        "maxLength": 54,
    });
    schema
}

/// Reads a definition, overlays already merged. `None` when there is an error among the findings.
#[must_use]
pub fn read(node: &Node) -> (Option<ClusterDefinition>, Vec<Finding>) {
    let mut node = document::without_nulls(node.clone());
    let (id, origin) = document::identity(&node, KIND);
    let mut findings = match document::child(&mut node, "spec") {
        Some(spec) => document::quote_versions(spec, &Path::dotted("spec")),
        None => Vec::new(),
    };
    let versions_fine = findings.is_empty();
    let (document, found) = document::typed::<Document>(&node, &SCHEMA);
    findings.extend(found);
    let findings = findings.into_iter().map(|found| found.of(&id)).collect();
    let definition = document.filter(|_| versions_fine).map(|document| {
        let labels = document::labels(&node);
        ClusterDefinition {
            id,
            origin,
            labels,
            spec: document.spec,
            node,
        }
    });
    (definition, findings)
}

#[derive(Deserialize)]
struct Document {
    spec: ClusterDefinitionSpec,
}
