//! What is reported of changes: where, from what to what, and for whom.

use std::sync::Arc;

use super::*;
use crate::model::cut;
use crate::model::{Finding, ObjectId, Severity};
use crate::plan::placed;

fn objects(yaml: &str) -> Vec<Object> {
    let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
    let objects = documents.into_iter();
    objects
        .filter_map(|node| Object::from_node(node, "ns"))
        .collect()
}

fn changes(old: &str, new: &str) -> Changes {
    let (old, new) = (objects(old), objects(new));
    let mut changes = Changes::default();
    for object in &new {
        if let Some(was) = old.iter().find(|other| other.id == object.id) {
            changes.add(object, &placed(was), &placed(object));
        }
    }
    changes
}

/// Every change on a line: `4 spec.a: 1 -> 2`.
fn shown(changes: &Changes) -> Vec<String> {
    let line = |field: &FieldChange| {
        let (old, new) = beside(&field.old, &field.new);
        format!("{} {}: {old} -> {new}", field.span.start.line, field.name)
    };
    changes.fields().map(line).collect()
}

fn map(rest: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{rest}\n")
}

#[test]
fn each_value_has_its_line() {
    // One that goes away has that of the key around it.
    let old = map("data: {a: '1', gone: x}");
    let new = map("data:\n  a: '2'\n  b.c: new");
    let expected = [
        "4 data.gone: \"x\" -> (unset)",
        "5 data.a: \"1\" -> \"2\"",
        "6 data[b.c]: (unset) -> \"new\"",
    ];
    assert_eq!(shown(&changes(&old, &new)), expected);
    assert!(changes(&new, &new).is_empty());
}

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
";

#[test]
fn lists_are_compared_by_their_keys() {
    let item = |name: &str, image: &str| format!("  - name: {name}\n    image: {image}\n");
    let old = [POD, &item("a", "x"), &item("gone", "x"), &item("b", "x")].concat();
    let new = [POD, &item("b", "z"), &item("a", "x"), &item("new", "x")].concat();
    let expected = [
        "5 spec.containers[name=gone]: {\"image\":\"x\",\"name\":\"gone\"} -> (unset)",
        "7 spec.containers[name=b].image: \"x\" -> \"z\"",
        "10 spec.containers[name=new]: (unset) -> {\"image\":\"x\",\"name\":\"new\"}",
    ];
    assert_eq!(shown(&changes(&old, &new)), expected);
    let turned = [POD, &item("b", "x"), &item("a", "x")].concat();
    let back = [POD, &item("a", "x"), &item("b", "x")].concat();
    assert!(changes(&turned, &back).is_empty());
}

#[test]
fn a_list_without_keys_is_a_whole_at_its_first_new_item() {
    let list = |items: &str| map(&format!("data:\n  a:\n{items}"));
    let found = changes(&list("  - u\n  - w"), &list("  - u\n  - v\n  - w"));
    let expected = ["7 data.a: [\"u\",\"w\"] -> [\"u\",\"v\",\"w\"]"];
    assert_eq!(shown(&found), expected);
}

/// A cluster `name` and its machine pool, whose embedded node pool has a location and a size.
fn cluster(name: &str, size: &str, replicas: u32) -> String {
    format!(
        "\
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AROMachinePool
metadata: {{name: {name}, labels: {{cluster.x-k8s.io/cluster-name: {name}}}}}
spec:
  resources:
  - apiVersion: redhatopenshift.azure.com/v1api20251223preview
    kind: HcpOpenShiftClustersNodePool
    metadata: {{name: {name}-np1}}
    spec: {{properties: {{replicas: {replicas}, platform: {{vmSize: {size}}}}}}}
"
    )
}

#[test]
fn fields_are_those_of_embedded_resources_and_grouped_by_cluster() {
    let old = cluster("one", "D4", 1) + &cluster("two", "D4", 1);
    let new = cluster("one", "D8", 1) + &cluster("two", "D4", 2);
    let changes = changes(&old, &new);
    let groups = changes.groups();
    let reported: Vec<String> = groups
        .iter()
        .map(|group| {
            let entry = &group.entries[0];
            let field = entry.values[0].fields[0];
            format!("{group} {} {:?} {field}", entry.line, entry.change)
        })
        .collect();
    let expected = [
        "ns/one a.yaml:10 Replace spec.properties.platform.vmSize of HcpOpenShiftClustersNodePool/ns/one-np1",
        "ns/two a.yaml:20 InPlace spec.properties.replicas of HcpOpenShiftClustersNodePool/ns/two-np1",
    ];
    assert_eq!(reported, expected);
    let findings = changes.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].message,
        "spec.properties.platform.vmSize of HcpOpenShiftClustersNodePool/ns/one-np1 cannot be changed from \"D4\" to \"D8\": Azure does not allow changes after the node pool is created"
    );
    assert_eq!(changes.refused(), 1);
}

#[test]
fn a_line_is_one_entry_and_one_finding_with_all_that_it_reaches() {
    let pools = |size: &str| -> String {
        let one = |at| cluster(&format!("c{at}"), size, 1);
        // One line, as what an overlay sets has one.
        (0..7).map(one).collect::<String>()
    };
    let (old, new) = (objects(&pools("D4")), objects(&pools("D8")));
    let mut changes = Changes::default();
    for (was, object) in old.iter().zip(&new) {
        let (before, after) = (placed(was), placed(object));
        let origin = new[0].node.origin.clone();
        let node = crate::model::Node::from_json(&object.node.to_json(), &origin);
        let object = Object {
            node,
            ..object.clone()
        };
        changes.add(&object, &before, &after);
    }
    let groups = changes.groups();
    assert_eq!(groups.len(), 1);
    let group = &groups[0];
    assert_eq!(group.to_string(), "ns/c0, ns/c1 and 5 more clusters");
    assert_eq!(group.entries.len(), 1);
    assert_eq!(group.entries[0].values.len(), 1);
    assert_eq!(group.entries[0].values[0].fields.len(), 7);
    let findings = changes.findings();
    assert_eq!(findings.len(), 1);
    let message = &findings[0].message;
    assert!(
        message.starts_with("7 fields cannot be changed from \"D4\" to \"D8\": spec.properties.platform.vmSize of HcpOpenShiftClustersNodePool/ns/c0-np1 and 6 more: Azure does not"),
        "{message}"
    );
    assert_eq!(findings[0].clusters.len(), 7);
}

#[test]
fn an_embedded_resource_that_goes_away_is_a_finding() {
    let old = cluster("one", "D4", 1);
    let new = old.replace("one-np1", "one-np2");
    let changes = changes(&old, &new);
    let findings = changes.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].severity, Severity::Error);
    let begins =
        "HcpOpenShiftClustersNodePool/ns/one-np1 cannot be removed: the controllers delete";
    assert!(findings[0].message.starts_with(begins), "{findings:?}");
}

fn thing(spec: &str) -> String {
    format!("apiVersion: x.dev/v1\nkind: Thing\nmetadata: {{name: t}}\nspec: {spec}\n")
}

#[test]
fn secrets_are_never_shown() {
    let secret = |value: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ndata: {{a: {value}}}\n")
    };
    let key = "-----BEGIN PRIVATE KEY-----\\nhunter2\\n-----END PRIVATE KEY-----";
    let copy = "kubectl.kubernetes.io/last-applied-configuration";
    let annotated = |value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, annotations: {{{copy}: {value}}}}}\n"
        )
    };
    let long = format!("{} AccountKey=hunter2;", "x".repeat(100));
    for (old, new) in [
        (secret("hunter2"), secret("hunter3")),
        (secret("hunter2"), secret("null")),
        (
            secret("hunter2").replace("\ndata", "\nstringData"),
            secret("hunter3"),
        ),
        (thing("{a: x}"), thing("{clientSecret: hunter2}")),
        (
            thing("{clientSecret: 1234567}"),
            thing("{clientSecret: 7654321}"),
        ),
        (
            thing("{clientSecret: {value: hunter2}}"),
            thing("{clientSecret: {value: hunter3}}"),
        ),
        (
            thing("{clientSecret: {other: hunter2}}"),
            thing("{clientSecret: {other: hunter3}}"),
        ),
        (thing(&format!("{{key: \"{key}\"}}")), thing("{key: none}")),
        (
            thing("{env: [{name: AZURE_CLIENT_SECRET, value: hunter2}]}"),
            thing("{env: [{name: AZURE_CLIENT_SECRET, value: hunter3}]}"),
        ),
        (
            thing("{list: [{name: clientSecret, value: hunter2}]}"),
            thing("{list: [{name: region, value: x}]}"),
        ),
        (
            thing("{items: [{kind: Secret, stringData: {a: hunter2}}, {}]}"),
            thing("{items: [{kind: Secret, stringData: {a: hunter3}}]}"),
        ),
        (
            thing("{a: {kind: Secret, data: {a: hunter2}}}"),
            thing("{a: x}"),
        ),
        (annotated("hunter2"), annotated("hunter3")),
        (
            map("data: {DB_PASSWORD: hunter2}"),
            map("data: {DB_PASSWORD: hunter3}"),
        ),
        (
            thing("{env: [{name: API_TOKEN, value: hunter2}]}"),
            thing("{env: [{name: API_TOKEN, value: hunter3}]}"),
        ),
        (
            thing("{args: [--password, hunter2]}"),
            thing("{args: [--password, hunter3]}"),
        ),
        // What is cut off would not show that it is one.
        (
            map(&format!("data: {{a: \"hunter2 {long}\"}}")),
            map(&format!("data: {{a: \"hunter3 {long}\"}}")),
        ),
    ] {
        let changes = changes(&old, &new);
        let all = format!("{:?} {:?}", shown(&changes), changes.lines);
        assert!(all.contains("(secret)"), "{old}{new}{all}");
        for leak in ["hunter", "1234567", "7654321"] {
            assert!(!all.contains(leak), "{old}{new}{all}");
        }
    }
}

#[test]
fn what_only_names_a_secret_is_shown() {
    let (old, new) = (
        thing("{tokenExpirationSeconds: 60, keyName: a, passwordSecretName: a}"),
        thing("{tokenExpirationSeconds: 61, keyName: b, passwordSecretName: b}"),
    );
    assert!(!format!("{:?}", shown(&changes(&old, &new))).contains("(secret)"));
    // A reference is none.
    let (old, new) = (
        thing("{clientSecret: {name: a}}"),
        thing("{clientSecret: {name: b}}"),
    );
    assert_eq!(
        shown(&changes(&old, &new)),
        ["4 spec.clientSecret.name: \"a\" -> \"b\""]
    );
}

#[test]
fn differences_are_pointers_to_what_changes() {
    use serde_json::json;
    let before = json!({"metadata": {"resourceVersion": "1", "labels": {"a": "1"}}, "spec": {"ports": [{"port": 1}], "list": [1]}, "status": {"a": 1}});
    let after = json!({"metadata": {"resourceVersion": "2", "labels": {"a": "1", "b/c": "2"}}, "spec": {"ports": [{"port": 2}], "list": [1, 2]}, "status": {"a": 2}});
    let expected = ["/metadata/labels/b~1c", "/spec/list", "/spec/ports/0/port"];
    assert_eq!(differences(&before, &after), expected);
    assert!(differences(&before, &before).is_empty() && is_same(&before, &before));
}

/// A hand-written control plane and node pool in these versions.
fn written_in(cluster: &str, pool: &str, platform: &str) -> String {
    format!(
        "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AROControlPlane
metadata: {{name: one}}
spec:
  resources:
  - apiVersion: redhatopenshift.azure.com/{cluster}
    kind: HcpOpenShiftCluster
    metadata: {{name: one}}
    spec:
      properties:
        platform: {{{platform}}}
  - apiVersion: redhatopenshift.azure.com/{cluster}
    kind: HcpOpenShiftClustersExternalAuth
    metadata: {{name: one-ea}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AROMachinePool
metadata: {{name: one-mp}}
spec:
  resources:
  - apiVersion: redhatopenshift.azure.com/{pool}
    kind: HcpOpenShiftClustersNodePool
    metadata: {{name: one-mp}}
"
    )
}

/// `id line message (help)` of what is found when the first becomes the second.
fn told(old: &str, new: &str) -> Vec<String> {
    let findings = changes(old, new).findings().into_iter();
    let line = |finding: Finding| {
        let line = finding.span.expect("a line").start.line;
        let help = finding.help.unwrap_or_default();
        format!("{} {line} {} ({help})", finding.id, finding.message)
    };
    findings.map(line).collect()
}

#[test]
fn a_new_api_version_is_one_warning_with_the_steps_that_concern_the_cluster() {
    const OLD: &str = "v1api20251223preview";
    const NEW: &str = "v20260901preview";
    let found = told(&written_in(OLD, OLD, ""), &written_in(NEW, NEW, ""));
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        "U03 6 the API version of HcpOpenShiftCluster/ns/one changes from 2025-12-23-preview to 2026-09-01-preview",
        "first upgrade CAPZ to v1.26.0-hcpclusters.1",
        "write v20260901preview in its node pools and external auths, too",
        "must read status.properties.status.conditions",
        "nothing is recreated",
    ] {
        assert!(found[0].contains(part), "{part}: {found:?}");
    }
    // Since 2026-06-30, nothing changes for readers of status. Both spellings name the same version.
    const MIDDLE: &str = "v1api20260630preview";
    let found = told(&written_in(MIDDLE, MIDDLE, ""), &written_in(NEW, NEW, ""));
    assert!(
        found.len() == 1 && !found[0].contains("status"),
        "{found:?}"
    );
    let found = told(
        &written_in("v1api20260901preview", NEW, ""),
        &written_in(NEW, NEW, ""),
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn an_api_version_that_an_overlay_sets_is_one_warning_for_all_clusters() {
    let both = |version: &str| {
        let one = written_in(version, version, "");
        format!("{one}---\n{}", one.replace("one", "two"))
    };
    let (old, new) = (both("v1api20251223preview"), both("v1api20260630preview"));
    let (old, new) = (objects(&old), objects(&new));
    let mut changes = Changes::default();
    for (was, object) in old.iter().zip(&new) {
        let node = crate::model::Node::from_json(&object.node.to_json(), &new[0].node.origin);
        let definition = Some(ObjectId::new("", "", "ns", cut::head(&object.id.name, 3)));
        let object = Object {
            node,
            definition,
            ..object.clone()
        };
        changes.add(&object, &placed(was), &placed(&object));
    }
    let findings = changes.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        findings[0].message,
        "the API version of 2 clusters changes to 2026-06-30-preview"
    );
    assert_eq!(findings[0].clusters, ["ns/one", "ns/two"]);
    let help = findings[0].help.clone().unwrap_or_default();
    // The line sets the version of node pools, too.
    assert!(!help.contains("node pools"), "{help}");
    assert!(help.contains("serves v1api20260630preview"), "{help}");
}

#[test]
fn a_cluster_without_an_integration_subnet_keeps_its_api_version() {
    const OLD: &str = "v1api20240610preview";
    const NEW: &str = "v20260901preview";
    let subnet = "vnetIntegrationSubnetReference: {group: network.azure.com, kind: VirtualNetworksSubnet, name: i}";
    let found = told(&written_in(OLD, OLD, ""), &written_in(NEW, NEW, subnet));
    assert_eq!(
        found,
        [
            "U01 6 spec.properties.platform.vnetIntegrationSubnetReference of HcpOpenShiftCluster/ns/one cannot be added: Azure does not allow changes after the cluster is created (keep API version 2024-06-10-preview for this cluster; to use a later one, add a cluster under a new name and remove the old one)"
        ]
    );
    // In versions that have the field it can be neither added nor removed.
    let (without, with) = (written_in(NEW, NEW, ""), written_in(NEW, NEW, subnet));
    for (old, new, line) in [(&without, &with, 11), (&with, &without, 11)] {
        let found = told(old, new);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("U01 {line} ")), "{found:?}");
    }
}

#[test]
fn a_reference_over_several_lines_is_one_finding() {
    let pool = |rest: &str| {
        format!(
            "apiVersion: redhatopenshift.azure.com/v20260901preview\nkind: HcpOpenShiftClustersNodePool\nmetadata: {{name: a}}\nspec:\n  properties:\n    platform:\n      vmSize: D4\n{rest}"
        )
    };
    let added = pool(
        "      osDisk:\n        encryptionSetReference:\n          group: g\n          kind: k\n          name: n\n",
    );
    let found = told(&pool(""), &added);
    assert_eq!(found.len(), 1, "{found:?}");
    let begin = "U01 10 spec.properties.platform.osDisk.encryptionSetReference of HcpOpenShiftClustersNodePool/ns/a cannot be added: ";
    assert!(found[0].starts_with(begin), "{found:?}");
}

#[test]
fn a_cluster_that_stays_keeps_a_pool() {
    let root =
        "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: one}}\n";
    let pool = cluster("one", "D4", 1);
    let other = pool.replace("name: one, labels", "name: other, labels");
    let found = |kept: &str| {
        let gone: Vec<Json> = objects(&pool).iter().map(placed).collect();
        let mut changes = Changes::default();
        changes.remove(&gone, &objects(kept));
        let ids = changes.findings().into_iter().map(|finding| finding.id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(found(root), ["D14"]);
    assert_eq!(found(&(root.to_owned() + &other)), [""; 0]);
    assert_eq!(found(""), [""; 0], "the cluster goes, too");
    let named = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, metadata: {name: x}, spec: {clusterName: one}}\n";
    assert_eq!(found(&(root.to_owned() + named)), [""; 0]);
}

#[test]
fn a_version_that_azure_refuses_is_one_error_at_its_line() {
    let plane = |name: &str, id: &str| {
        format!(
            "---\napiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftCluster\nmetadata: {{name: {name}}}\nspec: {{properties: {{version: {{id: \"{id}\"}}}}}}\n"
        )
    };
    assert_eq!(
        told(&plane("one", "4.20"), &plane("one", "4.23")),
        [
            "U05 5 spec.properties.version.id of HcpOpenShiftCluster/ns/one skips minor versions from 4.20 to 4.23: Azure upgrades a control plane by one minor version at a time (write \"4.21\", and go on when the control plane runs it)"
        ]
    );
    let (old, new) = (
        [plane("a", "4.21"), plane("b", "4.21"), plane("c", "4.19")].concat(),
        [plane("a", "4.20"), plane("b", "4.20"), plane("c", "4.20")].concat(),
    );
    let (old, new) = (objects(&old), objects(&new));
    let mut changes = Changes::default();
    for (was, object) in old.iter().zip(&new) {
        // One line, as what an overlay sets has one.
        let origin = new[0].node.origin.clone();
        let node = crate::model::Node::from_json(&object.node.to_json(), &origin);
        let one = Object {
            node,
            ..object.clone()
        };
        changes.add(&one, &placed(was), &placed(object));
    }
    assert_eq!((changes.refused(), changes.has_errors()), (2, true));
    let findings = changes.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        findings[0].message,
        "the version of 2 control planes goes down from 4.21 to 4.20: HcpOpenShiftCluster/ns/a, HcpOpenShiftCluster/ns/b: Azure never lowers the version of a control plane"
    );
}
