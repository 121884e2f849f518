//! `ClusterDefinition`: the thirty lines a person writes for a cluster (DESIGN §3).
//!
//! In: a document with its overlays merged. Out: the typed definition with its node, and findings. It
//! does not know what a definition expands to.

mod node_pool;
mod spec;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value as Json, json};

pub use node_pool::{Autoscaling, NodePool, OsDisk, Taint};
pub use spec::{
    Api, AzureEnvironment, ClusterAutoscaling, ClusterDefinitionSpec, ClusterImageRegistry,
    DeletionPolicy, Encryption, Etcd, ExistingVault, ExternalAuth, IdentityMode, IdentityRef,
    ImageDigestMirror, ManagedIdentities, Network, Phase, Platform, RegistryState, Version,
    Visibility,
};

use super::{document, structural};
use crate::model::{Finding, Node, ObjectId, Origin, Path, Value, rule_id};
use crate::schema::Repair;
use crate::schema::patterns::LETTER_FIRST;
use kube_schema::Schema;

/// A definition that was read: without errors, or as far as it can be for its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterDefinition {
    /// Its identity; the group is Capstan's.
    pub id: ObjectId,
    /// The origin of `metadata.name`, where findings about generated values point.
    pub origin: Origin,
    /// `metadata.labels`, copied to the top-level objects.
    pub labels: BTreeMap<String, String>,
    /// The spec with defaults.
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
        "pattern": LETTER_FIRST,
        "minLength": 3,
        "maxLength": 54,
    });
    schema
}

/// The identity of a definition.
#[must_use]
pub fn id(node: &Node) -> ObjectId {
    document::identity(node, KIND).0
}

/// The names of the fields of `spec`.
#[must_use]
pub fn spec_fields() -> Vec<&'static str> {
    document::spec_fields(&SCHEMA)
}

/// Reads a definition with its overlays merged. `None` if the findings contain an error.
#[must_use]
pub fn read(merged: &Node) -> (Option<ClusterDefinition>, Vec<Finding>) {
    let mut node = document::without_nulls(merged.clone());
    let (id, origin) = document::identity(&node, KIND);
    let mut findings = match document::child(&mut node, "spec") {
        Some(spec) => document::quote_versions(spec, &Path::dotted("spec")),
        None => Vec::new(),
    };
    let versions_fine = findings.is_empty();
    let (document, found) = document::typed::<Document>(&node, &SCHEMA);
    findings.extend(found.into_iter().map(|found| at_null(found, merged)));
    let findings = findings.into_iter().map(|found| found.of(&id)).collect();
    let definition = document.filter(|_| versions_fine);
    let definition = definition.map(|document| assemble(document, id, origin, node));
    (definition, findings)
}

/// The finding, at the `null` that removed the missing field if there is one: an overlay may have it.
fn at_null(missing: Finding, merged: &Node) -> Finding {
    let field = missing
        .field
        .as_ref()
        .filter(|_| missing.id == rule_id::MISSING_FIELD);
    let value = field.and_then(|field| merged.lookup(field));
    let Some(null) = value.filter(|value| value.value == Value::Null) else {
        return missing;
    };
    let is_in_overlay = null.span().path != merged.span().path;
    let found = missing.at(null.span());
    match is_in_overlay {
        true => found.help("`null` removes the value: write one here, or remove this line"),
        false => found,
    }
}

/// Reads a definition with errors, so that its rules can be checked, too: misspelt fields count under their right names.
/// `None` if a value is missing or has the wrong type, or if nobody knows what a field means: its place would be taken by
/// a default, which the rules would then compare with other values.
#[must_use]
pub fn read_rest(node: &Node) -> Option<ClusterDefinition> {
    let mut node = document::without_nulls(node.clone());
    if let Some(spec) = document::child(&mut node, "spec") {
        document::quote_versions(spec, &Path::dotted("spec"));
    }
    let repair = Repair::of_fields(&SCHEMA, &node);
    repair.apply(&mut node);
    if !repair.lost.is_empty() || !Repair::of_fields(&SCHEMA, &node).is_nothing() {
        return None;
    }
    let (id, origin) = document::identity(&node, KIND);
    let document = serde_json::from_value(node.to_json()).ok()?;
    (!id.name.is_empty()).then(|| assemble(document, id, origin, node))
}

fn assemble(document: Document, id: ObjectId, origin: Origin, node: Node) -> ClusterDefinition {
    ClusterDefinition {
        id,
        origin,
        labels: document::labels(&node),
        spec: document.spec,
        node,
    }
}

#[derive(Deserialize)]
struct Document {
    spec: ClusterDefinitionSpec,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::api::arm_version::ArmVersion;
    use crate::api::document::tests::{document, places};

    const SMALLEST: &str = "
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: prod-uks-1, labels: {env: prod}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {name: cluster-identity}
  version: {id: '4.20'}
  nodePools: [{name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3}]
";

    #[test]
    fn what_every_definition_needs_is_enough() {
        let (definition, findings) = read(&document(SMALLEST));
        assert_eq!(findings, []);
        let definition = definition.unwrap();
        assert_eq!(
            definition.id.to_string(),
            "ClusterDefinition/default/prod-uks-1"
        );
        assert_eq!(definition.labels["env"], "prod");
        assert_eq!(definition.origin.span().to_string(), "a.yaml:4:18");
        let spec = definition.spec;
        assert_eq!(spec.platform, Platform::Aro);
        assert_eq!(spec.phase, Phase::Cluster);
        assert_eq!(spec.arm_api_version, ArmVersion::V20251223);
        assert_eq!(spec.version.channel_group, "stable");
        assert_eq!(spec.network, Network::default());
        assert_eq!(
            spec.etcd.encryption.key_name,
            "etcd-data-kms-encryption-key"
        );
        assert_eq!(spec.deletion_policy, DeletionPolicy::Orphan);
        assert_eq!(spec.managed_identities.mode, IdentityMode::Create);
    }

    #[test]
    fn a_version_without_quotes_is_a_number_that_lost_its_zero() {
        let text = SMALLEST
            .replace("'4.20'", "4.20")
            .replace("4.20.17", "4.20");
        let (definition, findings) = read(&document(&text));
        assert_eq!(definition, None);
        let expected = [
            "Y11 10:17 spec.version.id",
            "Y11 11:36 spec.nodePools[0].version",
        ];
        assert_eq!(places(&findings), expected);
        assert_eq!(
            findings[0].help.as_deref(),
            Some("put it in quotes: \"4.20\"")
        );
    }

    #[test]
    fn every_fault_is_found_at_once() {
        let text = SMALLEST
            .replace("uksouth", "[uksouth]")
            .replace("  tenantID", "  tennantID")
            .replace("3f0c7d3e-", "3f0c7d3e")
            .replace("vmSize: Standard_D4s_v3", "autoscaling: {min: 1}");
        let (definition, findings) = read(&document(&text));
        assert_eq!(definition, None);
        assert_eq!(
            places(&findings),
            [
                "S02 6:13 spec.location",
                "S04 7:19 spec.subscriptionID",
                "S01 8:3 spec.tennantID",
                "S03 11:15 spec.nodePools[0].vmSize",
                "S03 11:45 spec.nodePools[0].autoscaling.max",
            ]
        );
        assert!(findings.iter().all(|found| found.object.is_some()));
    }

    #[test]
    fn a_definition_with_errors_is_read_as_far_as_it_can_be() {
        let text = SMALLEST
            .replace("location", "locaton")
            .replace("'4.20'", "4.20")
            .replace("3f0c7d3e-", "3f0c7d3e");
        assert_eq!(read(&document(&text)).0, None);
        let rest = read_rest(&document(&text)).unwrap();
        assert_eq!(rest.spec.location, "uksouth");
        assert_eq!(rest.spec.version.id, "4.20");
        assert_eq!(rest.spec.node_pools.len(), 1);
        for unreadable in ["  location: uksouth\n", "name: prod-uks-1, "] {
            let text = SMALLEST.replace(unreadable, "");
            assert_eq!(read_rest(&document(&text)), None, "{unreadable}");
        }
        for unknown in ["colour: blue", "etcd: {encrpytion: {keyNme: k}}"] {
            let text = format!("{SMALLEST}  {unknown}\n");
            assert_eq!(read_rest(&document(&text)), None, "{unknown}");
        }
    }

    #[test]
    fn a_missing_field_is_reported_where_null_removed_it() {
        let text = SMALLEST.replace("uksouth", "null");
        let (_, findings) = read(&document(&text));
        assert_eq!(places(&findings), ["S03 6:13 spec.location"]);
    }

    #[test]
    fn two_pools_of_one_name_are_one_too_many() {
        let pool = "{name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3}";
        let text = SMALLEST.replace(pool, &format!("{pool}, {pool}"));
        let (definition, findings) = read(&document(&text));
        assert_eq!(definition, None);
        assert_eq!(places(&findings), ["S05 11:71 spec.nodePools[1]"]);
    }

    #[test]
    fn null_restores_a_default() {
        let text = format!("{SMALLEST}  network: {{podCIDR: null}}\n  externalAuth: null\n");
        let (definition, findings) = read(&document(&text));
        assert_eq!(findings, []);
        assert_eq!(definition.unwrap().spec.network, Network::default());
    }

    #[test]
    fn a_document_of_no_shape_is_all_findings() {
        for text in [
            "[]",
            "{kind: ClusterDefinition}",
            "a",
            "{metadata: [], spec: 3}",
        ] {
            let (definition, findings) = read(&document(text));
            assert_eq!(definition, None);
            assert!(!findings.is_empty(), "{text}");
        }
    }
}
