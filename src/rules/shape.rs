//! S: the objects that carry resources, identities, Cluster API's Cluster and MachinePool, and HyperShift's HostedCluster
//! and NodePool have only known fields. The API server would reject a misspelled field, or drop it silently.
//!
//! An unknown version may have unknown fields: only the version is reported. `status` is never applied, and
//! carried resources have rules of their own: neither is checked here.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::{Value as Json, json};

use super::{contract, data, properties};
use crate::api::hyper_shift_fields::{self, PREVIEWED, PROPOSED};
use crate::api::kinds::CAPI;
use crate::api::platform::HYPERSHIFT;
use crate::api::{crds, fields};
use crate::model::{Finding, Key, Node, Object, Path, Severity, Value, message, rule_id};
use crate::schema;
use kube_schema::Schema;

/// What to know about a platform that only some installations have.
const PREVIEW: &str =
    "HyperShift has this platform only if it is installed with its features in technology preview";

/// The schema of one kind and version.
struct Shape {
    group: String,
    kind: String,
    version: String,
    schema: Schema,
}

/// S01 to S05: the fields are known and have valid values. C49: the version is known.
pub(super) fn is_known(object: &Object) -> Vec<Finding> {
    let its = |shape: &&Shape| object.id.is(&shape.group, &shape.kind);
    let known: Vec<&Shape> = shapes().iter().filter(its).collect();
    let Some(shape) = known.iter().find(|shape| object.version == shape.version) else {
        return unknown_version(object, &known).into_iter().collect();
    };
    let (node, top) = (looked_at(object), Path::default());
    let of = |shape: &Shape| schema::findings(&shape.schema, &node, &top, Some(&object.id));
    let mut found = of(shape);
    if let Some(current) = known.iter().find(|_| contract::is_previous(object)) {
        // S07 reports the version: fields that the current one has are no mistake of their own.
        let left = of(current);
        let left: HashSet<Option<&Path>> = left
            .iter()
            .filter(|one| one.id == rule_id::UNKNOWN_FIELD)
            .map(|one| one.field.as_ref())
            .collect();
        found.retain(|one| one.id != rule_id::UNKNOWN_FIELD || left.contains(&one.field.as_ref()));
    }
    let is_hyper_shift = object.id.group == HYPERSHIFT;
    found.retain(|finding| !(is_hyper_shift && is_proposed(finding)));
    for finding in &mut found {
        let is_typo = is_hyper_shift && properties::is_typo(finding);
        let is_preview = is_hyper_shift && is_previewed(object, finding);
        if is_preview {
            finding.help = Some(PREVIEW.to_owned());
        }
        if is_preview || !is_typo && may_be_new(finding) {
            finding.severity = Severity::Warning;
        }
    }
    found
}

/// A release may add fields to an existing version, and the release in the cluster is unknown here.
fn may_be_new(finding: &Finding) -> bool {
    let spec = Path::dotted("spec");
    let field = finding.field.as_ref();
    let in_spec = field.is_some_and(|field| field.0.starts_with(&spec.0));
    finding.id == rule_id::UNKNOWN_FIELD && in_spec && !schema::lacks_a_field(finding)
}

/// Returns true for a field that HyperShift's kinds have in the shape of the proposal. What is wrong with them is H03.
fn is_proposed(finding: &Finding) -> bool {
    let is = |name: &&str| finding.field.as_ref() == Some(&Path::dotted(name));
    finding.id == rule_id::UNKNOWN_FIELD && PROPOSED.iter().any(is)
}

/// Returns true for a platform that HyperShift has only with its previewed features. The cluster may have them.
fn is_previewed(object: &Object, finding: &Finding) -> bool {
    let field = Path::dotted("spec.platform.type");
    let platform = object.node.lookup(&field).and_then(Node::as_str);
    let is_preview = platform.is_some_and(|name| PREVIEWED.contains(&name));
    is_preview && finding.id == rule_id::INVALID_VALUE && finding.field == Some(field)
}

/// A known kind at an unknown version.
fn unknown_version(object: &Object, known: &[&Shape]) -> Option<Finding> {
    let versions: Vec<&str> = known.iter().map(|shape| &*shape.version).collect();
    let (version, kind) = (&object.version, &known.first()?.kind);
    let message = message!(
        "unknown version {version} of {kind}: its fields are not checked",
        version,
        kind
    );
    let field = Path::dotted("apiVersion");
    let finding = Finding::warning("C49", message)
        .at(object.node.nearest(&field).span())
        .of(&object.id)
        .field(&field);
    Some(finding.help(format!("known versions: {}", versions.join(", "))))
}

/// The object without the parts that are not checked.
fn looked_at(object: &Object) -> Node {
    let is_listed = |node: &Node| matches!(node.value, Value::List(_) | Value::Null);
    let spec = |(key, node): (&Key, &Node)| {
        let left = key.name == "resources" && is_listed(node);
        (!left).then(|| (key.clone(), node.clone()))
    };
    let top = |(key, node): (&Key, &Node)| match &*key.name {
        "status" => None,
        "spec" => Some((key.clone(), some_of(node, spec))),
        _ => Some((key.clone(), node.clone())),
    };
    some_of(&object.node, top)
}

/// A map with some of its entries; anything else as it is.
fn some_of(node: &Node, of: impl Fn((&Key, &Node)) -> Option<(Key, Node)>) -> Node {
    match node.as_map() {
        Some(map) => Node::new(
            Value::Map(map.iter().filter_map(of).collect()),
            &node.origin,
        ),
        None => node.clone(),
    }
}

fn shapes() -> &'static [Shape] {
    static SHAPES: OnceLock<Vec<Shape>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let capi = ["Cluster", "MachinePool"].into_iter().flat_map(|kind| {
            ["v1beta2", "v1beta1"].map(|version| {
                let mut spec = fields::schema(data::cluster_api(kind, version));
                if kind == "MachinePool" {
                    require(&mut spec);
                }
                shape([CAPI, kind, version], &spec)
            })
        });
        let hyper_shift = hyper_shift_fields::specs().map(|(id, spec)| shape(id, &spec));
        let ours = crds::crds();
        let ours = ours.iter().map(of_crd);
        ours.chain(capi).chain(hyper_shift).collect()
    })
}

/// Adds the required fields of a MachinePool, as in its CRD. D06 reports one without infrastructureRef.
fn require(spec: &mut Json) {
    spec["required"] = json!(["clusterName", "template"]);
    spec["properties"]["template"]["required"] = json!(["spec"]);
    let machine = &mut spec["properties"]["template"]["properties"]["spec"];
    machine["required"] = json!(["bootstrap", "clusterName"]);
}

fn of_crd(crd: &Json) -> Shape {
    let (spec, version) = (&crd["spec"], &crd["spec"]["versions"][0]);
    let id = [&spec["group"], &spec["names"]["kind"], &version["name"]];
    let id = id.map(|name| name.as_str().unwrap_or_default());
    let mut spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
    // V01 requires them.
    if let Some(required) = spec["required"].as_array_mut() {
        required.retain(|name| name != "resources");
    }
    shape(id, &spec)
}

fn shape([group, kind, version]: [&str; 3], spec: &Json) -> Shape {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    Shape {
        group: group.to_owned(),
        kind: kind.to_owned(),
        version: version.to_owned(),
        schema: Schema::from_json(&schema).expect("the built-in schema is valid"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of;

    const NONE: [&str; 0] = [];

    fn object(kind: &str, version: &str, rest: &str) -> String {
        let group = match kind {
            "Cluster" | "MachinePool" => "",
            "AROControlPlane" => "controlplane.",
            _ => "infrastructure.",
        };
        format!(
            "apiVersion: {group}cluster.x-k8s.io/{version}\nkind: {kind}\nmetadata: {{name: a}}\n{rest}\n"
        )
    }

    #[test]
    fn unknown_fields_and_wrong_types_are_found() {
        for (kind, version, rest, expected) in [
            (
                "AROCluster",
                "v1beta2",
                "spec: {resorces: []}",
                "S01 4:8 unknown field `spec.resorces`",
            ),
            (
                "AROCluster",
                "v1beta2",
                "resources: []",
                "S01 4:1 unknown field `resources`",
            ),
            (
                "AROCluster",
                "v1beta2",
                "spec: {resources: {}}",
                "S02 4:19 `spec.resources` must be a list, not a map",
            ),
            (
                "AROControlPlane",
                "v1beta2",
                "spec: {subscriptionId: x}",
                "S01 4:8 unknown field `spec.subscriptionId`",
            ),
            (
                "AROMachinePool",
                "v1beta2",
                "spec: {providerIDList: a}",
                "S02 4:24 `spec.providerIDList` must be a list, not a string",
            ),
            (
                "AzureClusterIdentity",
                "v1beta1",
                "spec: {type: WorkloadIdentity, tenantID: t, clientID: c, allowedNamespaces: {names: [a]}}",
                "S01 4:78 unknown field `spec.allowedNamespaces.names`",
            ),
            (
                "AzureClusterIdentity",
                "v1beta1",
                "spec: {type: WorkloadIdentity, tenantID: t, clientID: {id: c}}",
                "S02 4:55 `spec.clientID` must be a string, not a map",
            ),
            (
                "Cluster",
                "v1beta2",
                "spec: {infrastructureRef: {apiVersion: v1}}",
                "S01 4:28 unknown field `spec.infrastructureRef.apiVersion`",
            ),
            (
                "MachinePool",
                "v1beta2",
                "spec: {template: {spec: {bootstrap: {}, clusterName: c}}}",
                "S03 4:1 `spec.clusterName` is missing",
            ),
            (
                "MachinePool",
                "v1beta2",
                "spec: {clusterName: c, template: {spec: {clusterName: c}}}",
                "S03 4:35 `spec.template.spec.bootstrap` is missing",
            ),
            (
                "MachinePool",
                "v1beta1",
                "spec: {clusterName: c, template: {spec: {bootstrap: {}, clusterName: c}}, replicas: '3'}",
                "S02 4:85 `spec.replicas` must be an integer, not a string",
            ),
        ] {
            let reported = findings_of(is_known, &object(kind, version, rest));
            assert_eq!(reported, [expected], "{kind} {rest}");
        }
    }

    #[test]
    fn the_fields_of_an_unknown_version_are_not_checked() {
        for (kind, version, rest) in [
            ("AROCluster", "v1beta3", "spec: {unknown: 1}"),
            ("Cluster", "v1alpha4", "spec: {paused: [a]}"),
        ] {
            let reported = findings_of(is_known, &object(kind, version, rest));
            let expected =
                format!("C49 1:13 unknown version {version} of {kind}: its fields are not checked");
            assert_eq!(reported, [expected]);
        }
    }

    #[test]
    fn parts_with_rules_of_their_own_are_not_checked() {
        for (kind, version, rest) in [
            (
                "AROCluster",
                "v1beta2",
                "spec: {resources: [null, text, {kind: A}]}\nstatus: {x: 1}",
            ),
            (
                "Cluster",
                "v1beta1",
                "spec: {infrastructureRef: {apiVersion: v1}, topology: {x: 1}}",
            ),
            ("AROMachinePool", "v1beta2", ""),
        ] {
            let reported = findings_of(is_known, &object(kind, version, rest));
            assert_eq!(reported, NONE, "{kind} {rest}");
        }
    }

    #[test]
    fn a_newer_release_may_have_more_fields() {
        for (kind, rest, near) in [
            ("Cluster", "spec: {pausd: true, paused: 1}", "paused"),
            (
                "AROCluster",
                "spec: {resorces: [], resources: 1}",
                "resources",
            ),
        ] {
            let text = object(kind, "v1beta2", rest);
            let path = std::sync::Arc::from("a.yaml");
            let document = crate::yaml::read(&path, text.as_bytes()).0.remove(0);
            let object = Object::from_node(document, "").expect("an object");
            let found = is_known(&object);
            let reported: Vec<_> = found.iter().map(|one| (one.id, one.severity)).collect();
            assert_eq!(
                reported,
                [("S01", Severity::Warning), ("S02", Severity::Error)]
            );
            let help = format!("did you mean `{near}`?");
            assert_eq!(found[0].help.as_deref(), Some(&*help));
        }
    }

    /// A kind of HyperShift with the fields that it requires, and others.
    fn hosted(kind: &str, spec: &str) -> String {
        let required = match kind {
            "HostedCluster" => {
                "platform: {type: Agent, agent: {agentNamespace: a}}, pullSecret: {name: p}, services: []"
            }
            _ => "clusterName: c, management: {upgradeType: Replace}, platform: {type: Agent}",
        };
        format!(
            "apiVersion: hypershift.openshift.io/v1beta1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  {{{spec}}}\n"
        )
        .replace("REQUIRED", &format!("release: {{image: i}}, {required}"))
    }

    #[test]
    fn the_fields_of_hyper_shift_are_known() {
        for (kind, spec, expected) in [
            (
                "HostedCluster",
                "chanel: stable-4.20, REQUIRED",
                "S01 5:4 unknown field `spec.chanel`",
            ),
            (
                "HostedCluster",
                "fips: 'true', REQUIRED",
                "S02 5:10 `spec.fips` must be true or false, not a string",
            ),
            (
                "HostedCluster",
                "dns: {publicZoneID: z}, REQUIRED",
                "S03 5:4 `spec.dns.baseDomain` is missing",
            ),
            (
                "HostedCluster",
                "networking: {machineNetwork: []}, REQUIRED",
                "S04 5:33 `spec.networking.machineNetwork`: invalid value: 0: should have at least 1 items",
            ),
            (
                "HostedCluster",
                "clusterID: c, REQUIRED",
                "S04 5:15 `spec.clusterID`: invalid value: \"c\": should be at least 36 chars long",
            ),
            (
                "NodePool",
                "replicas: '2', REQUIRED",
                "S02 5:14 `spec.replicas` must be an integer, not a string",
            ),
            (
                "NodePool",
                "arch: x86, REQUIRED",
                "S04 5:10 `spec.arch`: unsupported value: \"x86\": supported values: \"arm64\", \"amd64\", \"ppc64le\", \"s390x\"",
            ),
            (
                "NodePool",
                "autoScaling: {min: 1, max: 0}, REQUIRED",
                "S04 5:31 `spec.autoScaling.max`: invalid value: 0: should be greater than or equal to 1",
            ),
            (
                "NodePool",
                "taints: [{key: a}], REQUIRED",
                "S03 5:13 `spec.taints[0].effect` is missing",
            ),
        ] {
            let reported = findings_of(is_known, &hosted(kind, spec));
            assert_eq!(reported, [expected], "{kind} {spec}");
        }
    }

    #[test]
    fn what_hyper_shift_takes_is_not_reported() {
        for (kind, spec) in [
            (
                "HostedCluster",
                "configuration: {proxy: {x: 1}}, etcd: null, REQUIRED",
            ),
            (
                "HostedCluster",
                "capabilities: {}, labels: {a: b}, REQUIRED",
            ),
            (
                "NodePool",
                "management: {upgradeType: Replace, replace: {rollingUpdate: {maxSurge: 1, maxUnavailable: 25%}}}, release: {image: i}, clusterName: c, platform: {type: KubeVirt, kubevirt: {compute: {memory: 8Gi}}}",
            ),
        ] {
            let reported = findings_of(is_known, &hosted(kind, spec));
            assert_eq!(reported, NONE, "{kind} {spec}");
        }
        let older = hosted("NodePool", "unknown: 1").replace("v1beta1", "v1alpha1");
        let expected = "C49 1:13 unknown version v1alpha1 of NodePool: its fields are not checked";
        assert_eq!(findings_of(is_known, &older), [expected]);
    }

    #[test]
    fn hyper_shift_may_have_more_than_is_known_but_no_typos() {
        let platform = "platform: {type: OpenStack}, release: {image: i}, clusterName: c, management: {upgradeType: Replace}";
        for (spec, expected) in [
            ("clusterNam: c, REQUIRED", [("S01", Severity::Error)]),
            ("brandNew: 1, REQUIRED", [("S01", Severity::Warning)]),
            (platform, [("S04", Severity::Warning)]),
        ] {
            let text = hosted("NodePool", spec);
            let path = std::sync::Arc::from("a.yaml");
            let document = crate::yaml::read(&path, text.as_bytes()).0.remove(0);
            let object = Object::from_node(document, "").expect("an object");
            let found = is_known(&object);
            let found: Vec<_> = found.iter().map(|one| (one.id, one.severity)).collect();
            assert_eq!(found, expected, "{spec}");
        }
    }
}
