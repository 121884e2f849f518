//! Tests of compiling as a whole.

use std::collections::HashSet;
use std::sync::Arc;

use super::*;
use crate::model::{Finding, Severity};

/// All tests that compile a fleet prove that it can be compiled part by part, and that remembered parts are the same.
pub(super) fn is_the_same_in_parts(
    whole: &Compiled,
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
) {
    let mut memory = Memory::default();
    for _ in 0..2 {
        let keep: Keep<'_, Object> = &Object::clone;
        let reuse = Reuse::all(&memory);
        if let Some((digest, now)) = in_parts(policy, tree, overlays, Some(keep), Some(&reuse)) {
            is_the_same(whole, digest);
            memory = now.unwrap_or_default();
        }
    }
}

fn is_the_same(whole: &Compiled, digest: Digest<Object>) {
    let parts = digest.checked;
    let only = |one: &Checked, other: &Checked| -> Vec<Finding> {
        let found = one.findings.iter();
        let only = found.filter(|finding| !other.findings.contains(finding));
        only.cloned().collect()
    };
    assert_eq!(only(&whole.checked, &parts), [], "only as a whole");
    assert_eq!(only(&parts, &whole.checked), [], "only in parts");
    assert_eq!(whole.checked, parts);
    let mut kept = digest.kept;
    let mut seen = HashSet::new();
    kept.retain(|object| seen.insert(object.id.clone()));
    assert_eq!(whole.objects, kept);
    if !parts.has_errors() {
        assert_eq!(*whole.graph, *digest.graph);
    }
}

fn compiled(text: &str) -> Compiled {
    let tree = Tree {
        files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
        ..Tree::default()
    };
    compile(&tree, &[])
}

#[test]
fn encrypted_objects_are_not_applied_and_can_be_referenced() {
    let text = "\
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: ns}
data: {a: 'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'}
sops: {mac: 'ENC[AES256_GCM,data:x,type:str]', version: 3.9.0}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, annotations: {config.kubernetes.io/depends-on: /namespaces/ns/Secret/s}}}
";
    let compiled = compiled(text);
    let ids: Vec<String> = compiled
        .objects
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    assert_eq!(ids, ["ConfigMap/ns/c"]);
    let outside: Vec<String> = compiled
        .graph
        .outside()
        .map(|one| one.id.to_string())
        .collect();
    assert_eq!(outside, ["Secret/ns/s", "Namespace//ns"]);
    let found: Vec<&str> = compiled.findings.iter().map(|finding| finding.id).collect();
    assert_eq!(found, ["P05", "R04"]);
}

#[test]
fn a_list_without_items_is_reported() {
    for (items, expected) in [
        (
            ", items: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
            "S02 1:37",
        ),
        (", items: null", ""),
        (", items:", ""),
        ("", "S03 1:1"),
        (", items: []", ""),
    ] {
        let compiled = compiled(&format!("{{apiVersion: v1, kind: List{items}}}\n"));
        let found = compiled.findings.iter().map(|finding| {
            let start = finding.span.as_ref().map(|span| span.start);
            let (line, column) = start.map_or((0, 0), |start| (start.line, start.column));
            format!("{} {line}:{column}", finding.id)
        });
        assert_eq!(found.collect::<Vec<_>>().join(", "), expected, "{items}");
    }
    let other = compiled("{apiVersion: x.dev/v1, kind: AllowList, metadata: {name: a}}");
    assert_eq!(other.objects.len(), 1, "a kind of others");
}

#[test]
fn a_patch_for_a_definition_that_is_broken_is_not_told_to_be_for_nothing() {
    let overlay = "\
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: o}
spec:
  selector: {}
  merge: {nodePools: [{name: mp9, vmSize: Standard_D8s_v3}]}
  patches: [{target: {kind: AROMachinePool}, patch: {metadata: {annotations: {a: b}}}}]
---
";
    let text = format!("{overlay}{}", include_str!("../../tests/definition.yaml"));
    let found = compiled(&text)
        .checked
        .findings
        .into_iter()
        .map(|found| found.id);
    assert_eq!(found.collect::<Vec<_>>(), ["S03"]);
}

#[test]
fn a_kind_that_the_fleet_defines_for_the_whole_cluster_has_no_namespace() {
    let text = "\
{apiVersion: x.dev/v1, kind: Realm, metadata: {name: r}}
---
{apiVersion: x.dev/v1, kind: Other, metadata: {name: o}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: realms.x.dev}, spec: {group: x.dev, scope: Cluster, names: {kind: Realm}}}
";
    let ids: Vec<String> = compiled(text)
        .objects
        .iter()
        .map(|object| object.id.to_string())
        .collect();
    assert_eq!(
        ids,
        [
            "Realm//r",
            "Other/default/o",
            "CustomResourceDefinition//realms.x.dev"
        ]
    );
}

#[test]
fn a_kind_of_others_that_is_called_a_list_is_an_object() {
    for (kind, rest) in [
        ("List", "items: {a: b}"),
        ("List", "spec: {}"),
        ("AllowList", "items: 10.0.0.0/8"),
        ("AllowList", "items: [10.0.0.0/8]"),
    ] {
        let metadata = "metadata: {name: a, namespace: default}";
        let compiled = compiled(&format!(
            "{{apiVersion: example.com/v1, kind: {kind}, {metadata}, {rest}}}\n"
        ));
        assert_eq!(compiled.findings, [], "{kind} {rest}");
        assert_eq!(compiled.objects.len(), 1, "{kind} {rest}");
    }
    let listed = compiled(
        "{apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}\n",
    );
    assert_eq!(listed.objects[0].id.kind, "ConfigMap");
}

#[test]
fn a_deletion_policy_that_cannot_be_read_is_no_leave_to_delete() {
    for (policy, expected) in [
        ("[Orphan]", "S02"),
        ("{Orphan: true}", "S02"),
        ("true", "S02"),
        ("7", "S02"),
        ("null", "S04"),
        ("''", "S04"),
        ("Keep", "S04"),
    ] {
        let metadata = format!(
            "{{name: a, namespace: default, annotations: {{capstan.dev/deletion-policy: {policy}}}}}"
        );
        let text = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}\n");
        let compiled = compiled(&text);
        let found: Vec<&str> = compiled.findings.iter().map(|finding| finding.id).collect();
        assert_eq!(found, [expected], "{policy}");
        let read = compiled.objects[0].annotation("capstan.dev/deletion-policy");
        assert_ne!(read, Some("Delete"), "{policy}");
    }
}

#[test]
fn an_annotation_that_a_definition_does_not_pass_on_is_a_warning() {
    let warning = |name: &str| {
        format!("a definition does not pass the annotation `{name}` on to its objects")
    };
    for (name, value, is_dropped) in [
        ("hypershift.openshift.io/topology", "x", true),
        (
            "resource-request-override.hypershift.openshift.io/etcd.etcd",
            "cpu=1",
            true,
        ),
        ("serviceoperator.azure.com/credential-from", "own", true),
        ("capstan.dev/private-link-identity", "a/b", true),
        ("capstan.dev/ignore", "/spec", true),
        (
            "config.kubernetes.io/depends-on",
            "/namespaces/ns/Secret/s",
            true,
        ),
        ("capstan.dev/adopt", "'true'", false),
        ("nothypershift.openshift.io/topology", "x", false),
        (
            "kubectl.kubernetes.io/last-applied-configuration",
            "x",
            false,
        ),
        ("team", "a", false),
    ] {
        let metadata = format!("metadata: {{name: one, annotations: {{{name}: {value}}}}}");
        let head = "apiVersion: capstan.dev/v1alpha1, kind: ClusterDefinition";
        let compiled = compiled(&format!("{{{head}, {metadata}, spec: {{}}}}\n"));
        let found = compiled.findings.iter();
        let found = found.filter(|finding| finding.message == warning(name));
        let found: Vec<_> = found.map(|one| (one.id, one.severity)).collect();
        let expected = [("S01", crate::model::Severity::Warning)];
        assert_eq!(found, expected[..usize::from(is_dropped)], "{name}");
    }
}

#[test]
fn metadata_of_our_documents_has_the_fields_that_there_are() {
    for (kind, metadata, expected) in [
        (
            "ClusterDefinition",
            "namespac: clusters",
            "unknown field `metadata.namespac`",
        ),
        ("Overlay", "labelz: {}", "unknown field `metadata.labelz`"),
        (
            "ClusterDefinition",
            "annotations: {capstan.dev/adop: 'true'}",
            "unknown annotation `capstan.dev/adop`",
        ),
    ] {
        let metadata = format!("metadata: {{name: one, {metadata}}}");
        let head = "apiVersion: capstan.dev/v1alpha1";
        let text = format!("{{{head}, kind: {kind}, {metadata}, spec: {{}}}}\n");
        let compiled = compiled(&text);
        let found = compiled.findings.iter();
        let found = found.filter(|finding| finding.id == "S01");
        let reported: Vec<&str> = found.map(|finding| &*finding.message).collect();
        assert_eq!(reported, [expected], "{text}");
    }
}

/// A fleet of two environments in which nothing is wrong: the one of `tests/suite/mistakes/`.
const FLEET: [(&str, &str); 6] = [
    (
        "clusters/dev.yaml",
        include_str!("../../tests/suite/mistakes/fleet/clusters/dev.yaml"),
    ),
    (
        "clusters/one.yaml",
        include_str!("../../tests/suite/mistakes/fleet/clusters/one.yaml"),
    ),
    (
        "clusters/two.yaml",
        include_str!("../../tests/suite/mistakes/fleet/clusters/two.yaml"),
    ),
    (
        "overlays/dev.yaml",
        include_str!("../../tests/suite/mistakes/fleet/overlays/dev.yaml"),
    ),
    (
        "overlays/prod.yaml",
        include_str!("../../tests/suite/mistakes/fleet/overlays/prod.yaml"),
    ),
    (
        "shared.yaml",
        include_str!("../../tests/suite/mistakes/fleet/shared.yaml"),
    ),
];

/// What one slip makes of a line; `None` if it cannot happen there.
type Slip = fn(&str) -> Option<String>;

const SLIPS: [(&str, Slip); 6] = [
    ("doubled", |line| Some(format!("{line}\n{line}"))),
    ("indented", |line| Some(format!("  {line}"))),
    ("outdented", |line| {
        line.strip_prefix("  ").map(str::to_owned)
    }),
    ("without its colon", |line| {
        line.contains(": ").then(|| line.replacen(": ", " ", 1))
    }),
    ("with a misspelt key", |line| {
        let (key, rest) = line.split_once(':')?;
        let (start, name) = key.split_at_checked(key.rfind([' ', '{']).map_or(0, |at| at + 1))?;
        let (first, second) = (name.get(1..2)?, name.get(2..3)?);
        let (before, after) = (name.get(..1)?, name.get(3..)?);
        let is_long = !after.is_empty() && first != second;
        is_long.then(|| format!("{start}{before}{second}{first}{after}:{rest}"))
    }),
    ("with a list as value", |line| {
        let (key, value) = line.split_once(": ")?;
        (!value.starts_with(['{', '['])).then(|| format!("{key}: [x]"))
    }),
];

/// One wrong line gives at most one finding, wherever it is. Slips in the identity are left out: nobody may use one
/// whose `allowedNamespaces` cannot be read, which is reported where it is used.
#[test]
fn one_slip_in_a_line_gives_one_finding() {
    let mut wrong = String::new();
    for (path, text) in &FLEET[..5] {
        for (number, line) in (1..).zip(text.lines()) {
            for (name, slip) in SLIPS {
                let Some(slipped) = slip(line) else {
                    continue;
                };
                let found = with_line(path, number, &slipped);
                if found.len() > 1 {
                    wrong += &format!(
                        "{path}:{number} {name}: {slipped}\n  {}\n",
                        found.join("\n  ")
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The findings of the fleet with another line, without information.
fn with_line(path: &str, number: usize, line: &str) -> Vec<String> {
    let file = |(name, text): (&str, &str)| {
        let lines = (1..)
            .zip(text.lines())
            .map(|(at, old)| match at == number && name == path {
                true => format!("{line}\n"),
                false => format!("{old}\n"),
            });
        let text: String = lines.collect();
        (Arc::from(name), Arc::from(text.as_bytes()))
    };
    let tree = Tree {
        files: FLEET.into_iter().map(file).collect(),
        ..Tree::default()
    };
    let findings = compile(&tree, &[]).checked.findings.into_iter();
    let wrong = findings.filter(|finding| finding.severity != Severity::Info);
    wrong.map(|finding| finding.to_string()).collect()
}

#[test]
fn definitions_do_not_count_in_the_size_of_a_file_and_nothing_else_passes_for_one() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.x.dev}\nspec: {group: x.dev, names: {kind: A}}\n";
    let padding =
        " #\n".repeat(usize::try_from(Tree::MAX_FILE_BYTES).unwrap_or(usize::MAX) / 3 + 1);
    let whole = compiled(&format!("{definition}{padding}"));
    assert_eq!((whole.objects.len(), whole.has_errors()), (1, false));
    let beside = format!(
        "{definition}{padding}---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}\n"
    );
    let whole = compiled(&beside);
    assert_eq!((whole.objects.len(), whole.has_errors()), (2, false));
    let hidden = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{a: \"\nkind: CustomResourceDefinition\n{padding}\"}}}}\n"
    );
    let found = compiled(&hidden).checked.findings;
    let ids: Vec<&str> = found.iter().map(|finding| finding.id).collect();
    assert_eq!(ids, ["Y03"]);
}

#[test]
fn one_value_of_a_secret_is_allowed_and_the_others_are_not() {
    let text = "\
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: ns}
stringData:
  user: robot # capstan:allow P01 the name of the account is public
  password: hunter2
  token: hunter3
";
    let compiled = compiled(text);
    let found = compiled.findings.iter().filter(|found| found.id == "P01");
    let found: Vec<&str> = found.map(|found| found.message.as_str()).collect();
    assert_eq!(
        found,
        ["Secret/ns/s holds values in clear text: password, token"]
    );
    assert_eq!(compiled.allowed.len(), 1);
    let told = format!("{:?}{:?}", compiled.findings, compiled.allowed);
    assert!(
        !told.contains("hunter") && !told.contains("robot"),
        "{told}"
    );
}

#[test]
fn directives_below_properties_change_what_is_generated() {
    let definition = |properties: &str| {
        format!(
            "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {{name: prod-1, namespace: clusters}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {{name: cluster-identity}}
  version: {{id: \"4.20\"}}
  nodePools: [{{name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 3}}]
  properties:
    {properties}
"
        )
    };
    let api = |properties: &str| {
        let compiled = compiled(&definition(properties));
        assert!(
            properties != "{}" || !compiled.has_errors(),
            "{:?}",
            compiled.findings
        );
        let plane = compiled
            .objects
            .iter()
            .find(|one| one.id.kind == "AROControlPlane");
        let resources = plane.and_then(|plane| plane.node.at(&["spec", "resources"])?.as_list());
        let network =
            resources.and_then(|list| list[0].at(&["spec", "properties", "network"]).cloned());
        network.map(|node| {
            (
                node.to_json(),
                node.get("podCidr").map(|node| node.span().start.line),
            )
        })
    };
    let (generated, _) = api("{}").expect("a network");
    assert!(generated.get("machineCidr").is_some() && generated.get("$patch").is_none());
    let replaced = api("network: {$patch: replace, podCidr: 10.0.0.0/14}");
    let expected = serde_json::json!({"podCidr": "10.0.0.0/14"});
    assert_eq!(replaced, Some((expected, Some(12))));
    let (retained, _) = api("network: {$retainKeys: [podCidr]}").expect("a network");
    assert_eq!(
        retained,
        serde_json::json!({"podCidr": generated["podCidr"]})
    );
    assert_eq!(api("network: {$patch: delete}"), None);
}

#[test]
fn a_definition_with_errors_is_checked_as_far_as_it_can_be_read() {
    let found = |changes: &[(&str, &str)]| {
        let mut text = include_str!("../../tests/definition.yaml").to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let compiled = compiled(&text);
        let found = compiled.findings.iter().filter_map(|finding| {
            let line = finding.span.as_ref()?.start.line;
            Some(format!("{} {line}", finding.id))
        });
        (found.collect::<Vec<_>>().join(", "), compiled.unread)
    };
    let (size, wrong_size) = ("Standard_D4s_v3", "Standard_X1");
    let misspelt = ("identityRef: {name:", "identityRef: {nmae:");
    // Both mistakes are reported at once.
    let both = found(&[misspelt, (size, wrong_size)]);
    assert_eq!(both, ("S01 10, N11 15".to_owned(), 0));
    // A value with an error is reported once, not again for each object that has it.
    let id = ("3f0c7d3e-", "3f0c7d3e");
    assert_eq!(found(&[id]), ("S04 8".to_owned(), 0));
    // A value of the wrong type, or a wrong name, cannot be expanded.
    for wrong in [("uksouth", "[uksouth]"), ("name: one", "name: One")] {
        let (found, unread) = found(&[wrong, (size, wrong_size)]);
        assert_eq!((found.matches(' ').count(), unread), (1, 1), "{found}");
    }
}

#[test]
fn an_overlay_sets_fields_of_the_platforms_of_the_definitions_it_selects() {
    let text = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: 1-guest, namespace: ns, labels: {env: lab}}
spec:
  platform: HyperShift
  hyperShift:
    infrastructure: KubeVirt
    release: {image: 'r:4.20.1'}
    baseDomain: example.com
    pullSecretRef: {name: pull}
  nodePools:
  - {name: 1-pool}
  - {name: '2'}
---
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: lab}
spec:
  precedence: Enforced
  selector: {matchLabels: {env: lab}}
  merge:
    hyperShift: {release: {image: null, version: 4.20.18}}
    nodePools:
    - {name: '*', kubeVirt: {cores: 8}}
    - {name: '2', replicas: 5}
";
    let made = compiled(text);
    let errors = |made: &Compiled| -> Vec<String> {
        let found = made
            .findings
            .iter()
            .filter(|one| one.severity == Severity::Error);
        found
            .map(|one| format!("{} {}", one.id, one.message))
            .collect()
    };
    assert_eq!(errors(&made), [""; 0]);
    let pools: Vec<(String, String)> = made
        .objects
        .iter()
        .filter(|object| object.id.kind == "NodePool")
        .map(|object| {
            let spec = object.node.to_json()["spec"].clone();
            let nodes = format!(
                "{} of {}",
                spec["replicas"], spec["platform"]["kubevirt"]["compute"]["cores"]
            );
            assert_eq!(
                spec["release"]["image"],
                "quay.io/openshift-release-dev/ocp-release:4.20.18-multi"
            );
            (object.id.name.clone(), nodes)
        })
        .collect();
    let expected = [("1-guest-1-pool", "2 of 8"), ("1-guest-2", "5 of 8")];
    assert_eq!(
        pools,
        expected.map(|(name, nodes)| (name.to_owned(), nodes.to_owned()))
    );
    let foreign = compiled(&text.replace(
        "    nodePools:\n    - {name: '*'",
        "    location: uksouth\n    nodePools:\n    - {name: '*'",
    ));
    assert_eq!(
        errors(&foreign),
        [
            "S01 `spec.location` is a field of platform ARO, and this definition is of platform HyperShift"
        ]
    );
}
