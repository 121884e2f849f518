//! `ClusterDefinition`: the thirty lines a person writes for a cluster (DESIGN §3).
//!
//! In: a document with its overlays merged. Out: the typed definition with its node, and findings. It
//! does not know what a definition expands to.

mod hyper_shift;
mod node_pool;
mod of_platform;
mod spec;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

pub use hyper_shift::{
    AgentNodes, ApiShape, Azure, AzureNodes, EndpointAccess, HostedNodePool, HostedPlatform,
    HyperShift, HyperShiftSpec, Infrastructure, KubeVirtNodes, MarketplaceImage, NatSubnet,
    NodeDisk, NodeImage, PrivateConnectivity, Quantity, Release, RootVolume, WorkloadIdentities,
    WorkloadIdentity,
};
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
use crate::schema::patterns::{LABEL, LETTER_FIRST};
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
    pub spec: Spec,
    /// The whole document, without `null`s, with the origin of every value.
    pub node: Node,
}

/// What a definition says of its cluster, by platform.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Spec {
    /// ARO HCP.
    Aro(Box<ClusterDefinitionSpec>),
    /// HyperShift.
    HyperShift(Box<HyperShiftSpec>),
}

impl Spec {
    /// The number of node pools.
    #[must_use]
    pub fn pools(&self) -> usize {
        match self {
            Self::Aro(spec) => spec.node_pools.len(),
            Self::HyperShift(spec) => spec.node_pools.len(),
        }
    }
}

const KIND: &str = "ClusterDefinition";

static ARO: LazyLock<Schema> = LazyLock::new(|| document::compiled(&schema_of(Platform::Aro)));
static HYPER_SHIFT: LazyLock<Schema> =
    LazyLock::new(|| document::compiled(&schema_of(Platform::HyperShift)));

/// The JSON schema of a whole document of a platform.
pub(super) fn schema_of(platform: Platform) -> Json {
    let spec = match platform {
        Platform::Aro => structural::of::<ClusterDefinitionSpec>(),
        Platform::HyperShift => structural::of::<HyperShiftSpec>(),
    };
    let mut schema = document::schema(KIND, &spec);
    let name = &mut schema["properties"]["metadata"]["properties"]["name"];
    *name = match platform {
        // An HcpOpenShiftCluster has the same name (facts/aro-rules.md §1.7).
        Platform::Aro => json!({
            "type": "string",
            "pattern": LETTER_FIRST,
            "minLength": 3,
            "maxLength": 54,
        }),
        Platform::HyperShift => json!({
            "type": "string",
            "pattern": LABEL,
            "minLength": 1,
            "maxLength": 63,
        }),
    };
    schema
}

fn compiled(platform: Platform) -> &'static Schema {
    match platform {
        Platform::Aro => &ARO,
        Platform::HyperShift => &HYPER_SHIFT,
    }
}

/// The platform that a definition is probably meant for.
#[must_use]
pub fn platform(node: &Node) -> Platform {
    let has_field = node.at(&["spec", "hyperShift"]).is_some();
    match node.text(&["spec", "platform"]) {
        Some("HyperShift") => Platform::HyperShift,
        Some("ARO") => Platform::Aro,
        _ if has_field => Platform::HyperShift,
        _ => Platform::Aro,
    }
}

/// The identity of a definition.
#[must_use]
pub fn id(node: &Node) -> ObjectId {
    document::identity(node, KIND).0
}

/// The names of the fields of `spec` that a definition may have.
#[must_use]
pub fn spec_fields(node: &Node) -> Vec<&'static str> {
    document::spec_fields(compiled(platform(node)))
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
    let platform = platform(&node);
    let (spec, found) = match platform {
        Platform::Aro => typed(&node, platform, Spec::Aro),
        Platform::HyperShift => typed(&node, platform, Spec::HyperShift),
    };
    let found = found.into_iter().map(|found| {
        let found = at_null(found, merged);
        of_platform::explained(found, platform, compiled(platform.other()), &node)
    });
    findings.extend(found);
    let findings = findings.into_iter().map(|found| found.of(&id)).collect();
    let spec = spec.filter(|_| versions_fine);
    let definition = spec.map(|spec| assemble(spec, id, origin, node));
    (definition, findings)
}

/// The spec of a document of a platform.
fn typed<S: DeserializeOwned>(
    node: &Node,
    platform: Platform,
    spec: fn(Box<S>) -> Spec,
) -> (Option<Spec>, Vec<Finding>) {
    let (document, found) = document::typed::<Document<S>>(node, compiled(platform));
    (document.map(|document| spec(document.spec)), found)
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
    let platform = platform(&node);
    let schema = compiled(platform);
    let repair = Repair::of_fields(schema, &node);
    repair.apply(&mut node);
    if !repair.lost.is_empty() || !Repair::of_fields(schema, &node).is_nothing() {
        return None;
    }
    let (id, origin) = document::identity(&node, KIND);
    let spec = match platform {
        Platform::Aro => Spec::Aro(rest(&node)?),
        Platform::HyperShift => Spec::HyperShift(rest(&node)?),
    };
    (!id.name.is_empty()).then(|| assemble(spec, id, origin, node))
}

fn rest<S: DeserializeOwned>(node: &Node) -> Option<Box<S>> {
    let document: Document<S> = serde_json::from_value(node.to_json()).ok()?;
    Some(document.spec)
}

fn assemble(spec: Spec, id: ObjectId, origin: Origin, node: Node) -> ClusterDefinition {
    ClusterDefinition {
        id,
        origin,
        labels: document::labels(&node),
        spec,
        node,
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "S: DeserializeOwned"))]
struct Document<S> {
    spec: Box<S>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

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

    fn aro(definition: ClusterDefinition) -> ClusterDefinitionSpec {
        match definition.spec {
            Spec::Aro(spec) => *spec,
            Spec::HyperShift(_) => panic!("it is one of ARO"),
        }
    }

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
        let spec = aro(definition);
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
        let rest = aro(rest);
        assert_eq!(rest.location, "uksouth");
        assert_eq!(rest.version.id, "4.20");
        assert_eq!(rest.node_pools.len(), 1);
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
        assert_eq!(aro(definition.unwrap()).network, Network::default());
    }

    const HOSTED: &str = "
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: 1-guest}
spec:
  platform: HyperShift
  hyperShift:
    infrastructure: KubeVirt
    release: {version: 4.20.17}
    baseDomain: example.com
    pullSecretRef: {name: pull-secret}
  nodePools: [{name: 1-pool}]
";

    #[test]
    fn the_platform_decides_about_fields_and_names() {
        let (definition, findings) = read(&document(HOSTED));
        assert_eq!(findings, []);
        assert_eq!(definition.unwrap().spec.pools(), 1);
        let without = HOSTED.replace("  platform: HyperShift\n", "");
        let (_, findings) = read(&document(&without));
        assert_eq!(places(&findings), ["S03 5:1 spec.platform"]);
        let aro = SMALLEST.replace("prod-uks-1", "1-guest");
        let (_, findings) = read(&document(&aro));
        assert_eq!(places(&findings), ["S04 4:18 metadata.name"]);
    }

    #[test]
    fn a_field_of_the_other_platform_is_explained() {
        let told = |text: &str| {
            let (_, findings) = read(&document(text));
            let told = |found: Finding| (found.message, found.help.unwrap_or_default());
            findings.into_iter().map(told).collect::<Vec<_>>()
        };
        let explained = |message: &str, help: &str| (message.to_owned(), help.to_owned());
        let aro = |fields: &str| told(&format!("{SMALLEST}  {fields}\n"));
        assert_eq!(
            aro("platform: ARO\n  hyperShift: {infrastructure: Agent}"),
            [explained(
                "`spec.hyperShift` is a field of platform HyperShift, and this definition is of platform ARO",
                "remove it, or write `platform: HyperShift`",
            )]
        );
        assert_eq!(
            aro("endpointAccess: Private"),
            [explained(
                "`spec.endpointAccess` is a field of platform HyperShift, and this definition is of platform ARO",
                "Azure makes and manages the endpoint of an ARO HCP cluster, without a Private Link Service of yours: write `api: {visibility: Private}` to keep it off the internet",
            )]
        );
        assert_eq!(
            told(
                &HOSTED
                    .replace("{name: 1-pool}", "{name: 1-pool, vmSize: Standard_D4s_v5}")
                    .replace("KubeVirt", "Azure")
            ),
            [explained(
                "`spec.nodePools[0].vmSize` is a field of platform ARO, and this definition is of platform HyperShift",
                "`vmSize` belongs below `spec.nodePools[].azure`",
            )]
        );
        assert_eq!(
            told(&format!("{HOSTED}  tags: {{team: a}}\n")),
            [explained(
                "`spec.tags` is a field of platform ARO, and this definition is of platform HyperShift",
                "remove it, or write `platform: ARO`",
            )]
        );
    }

    #[test]
    fn a_minor_version_alone_is_no_release() {
        for (version, expected) in [("4.20", "Y11"), ("'4.20'", "S04"), ("4.20.0-rc.3", "")] {
            let (_, findings) = read(&document(&HOSTED.replace("4.20.17", version)));
            let ids: Vec<&str> = findings.iter().map(|found| found.id).collect();
            assert_eq!(ids.join(" "), expected, "{version}");
        }
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
