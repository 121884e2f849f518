//! The provenance of every value of a cluster names the line and file to edit.

use std::collections::BTreeSet;

use capstan::compile::{Compiled, compile};
use capstan::model::{Node, Path, Span, Tree, Value};

use crate::fleet::tree;

const DEFINITION: &str = r#"apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: prod-uks-1
  namespace: clusters
  labels: {env: prod, team: sre}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  armAPIVersion: 2026-06-30-preview
  credentialFrom: aso-credential
  identityRef: {name: cluster-identity}
  version: {id: "4.20", channelGroup: fast}
  network: {podCIDR: 10.132.0.0/14, hostPrefix: 24}
  externalAuth: {clientID: 5a0c1f5e-8d2b-4f0e-9c57-2b7f4d1e6a90}
  tags: {cost: "17"}
  nodePools:
  - name: mp1
    version: 4.20.17
    autoscaling: {min: 3, max: 12}
    properties:
      taints:
      - {key: dedicated, value: web, effect: NoSchedule}
  - name: mp2
    version: 4.20.18
    vmSize: Standard_D16s_v3
    replicas: 5
"#;

const OVERLAYS: &str = r#"apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: low}
spec:
  selector: {matchLabels: {env: prod}}
  merge:
    location: westeurope
    api: {visibility: Private, authorizedCIDRs: [10.1.0.0/16, 10.2.0.0/16]}
    tags: {fleet: blue}
    properties: {nodeDrainTimeoutMinutes: 45, autoscaling: {maxNodesTotal: 33}}
    nodePools:
    - name: "*"
      vmSize: Standard_D8s_v3
      osDisk: {sizeGiB: 256}
---
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: high}
spec:
  precedence: Enforced
  merge:
    version: {channelGroup: stable}
    network: {hostPrefix: 25}
  patches:
  - target: {kind: Vault}
    patch: {spec: {properties: {softDeleteRetentionInDays: 90}}}
  - target: {kind: AROMachinePool}
    json6902: [{op: add, path: /metadata/labels/patched, value: "yes-it-is"}]
  selector: {}
"#;

/// A cluster, what is merged into it and what is patched.
pub(crate) const FILES: [(&str, &str); 2] =
    [("prod.yaml", DEFINITION), ("overlays.yaml", OVERLAYS)];

fn compiled() -> (Tree, Compiled) {
    let tree = tree(FILES);
    let compiled = compile(&tree, &[]);
    assert!(!compiled.has_errors(), "{:#?}", compiled.findings);
    (tree, compiled)
}

/// The text at `span`, without quotes.
fn written(tree: &Tree, span: &Span) -> String {
    let text = tree.files.get(&span.path).expect("a file of the fleet");
    let text = std::str::from_utf8(text).expect("text");
    let line = text.lines().nth(span.start.line as usize - 1);
    let rest = line
        .expect("a line of it")
        .chars()
        .skip(span.start.column as usize - 1);
    let written: String = rest
        .take((span.end.column - span.start.column) as usize)
        .collect();
    written.trim_matches('"').to_owned()
}

fn leaves<'n>(node: &'n Node, path: &Path, found: &mut Vec<(Path, &'n Node)>) {
    match &node.value {
        Value::Map(map) => map
            .iter()
            .for_each(|(key, node)| leaves(node, &path.key(key.name.as_ref()), found)),
        Value::List(items) => (0..)
            .zip(items)
            .for_each(|(at, node)| leaves(node, &path.index(at), found)),
        _ => found.push((path.clone(), node)),
    }
}

fn text(node: &Node) -> String {
    match &node.value {
        Value::String(text) => text.to_string(),
        _ => node.to_json().to_string(),
    }
}

/// Whether `value` was made from `source`, such as an ARM id from a subscription.
fn made_from(value: &str, source: &str) -> bool {
    let is_said = !source.is_empty();
    is_said && (value.contains(source) || value.contains(&source.replace('-', "")))
}

#[test]
fn every_value_points_at_the_line_that_sets_it_or_at_the_definitions_name() {
    let (tree, compiled) = compiled();
    let mut own = BTreeSet::new();
    for object in &compiled.objects {
        let mut found = Vec::new();
        leaves(&object.node, &Path::default(), &mut found);
        for (path, node) in found {
            let (value, source) = (text(node), written(&tree, node.span()));
            let place = node.span().to_string();
            if value == source {
                own.insert((value, place));
                continue;
            }
            let explained = source == "prod-uks-1" || made_from(&value, &source);
            assert!(
                explained,
                "{} {path}: {value} points at {place}: {source}",
                object.id
            );
        }
    }
    let set = [
        (
            "prod.yaml",
            "prod-uks-1 uksouth prod sre 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10 aso-credential cluster-identity 4.20 10.132.0.0/14 5a0c1f5e-8d2b-4f0e-9c57-2b7f4d1e6a90 17 4.20.17 3 12 dedicated web NoSchedule 4.20.18 Standard_D16s_v3 5",
        ),
        (
            "overlays.yaml",
            "Private 10.1.0.0/16 10.2.0.0/16 blue 45 33 Standard_D8s_v3 256 stable 25 90 yes-it-is",
        ),
    ];
    for (file, values) in set {
        for value in values.split(' ') {
            let is_own =
                |(text, place): &(String, String)| text == value && place.starts_with(file);
            assert!(own.iter().any(is_own), "{value} of {file} points elsewhere");
        }
    }
}

#[test]
fn what_an_overlay_overrode_is_remembered() {
    let (tree, compiled) = compiled();
    let control_plane = compiled
        .objects
        .iter()
        .find(|object| object.id.kind == "AROControlPlane");
    let resources = control_plane.and_then(|object| object.node.at(&["spec", "resources"]));
    let hcp = &resources.and_then(Node::as_list).expect("resources")[0];
    let layers = |path: &str| -> Vec<String> {
        let node = hcp.lookup(&Path::dotted(path)).expect("a value");
        let origins = std::iter::successors(Some(&node.origin), |origin| origin.beneath());
        origins
            .map(|origin| written(&tree, origin.span()))
            .collect()
    };
    assert_eq!(
        layers("spec.properties.version.channelGroup"),
        ["stable", "fast"]
    );
    assert_eq!(layers("spec.properties.network.hostPrefix"), ["25", "24"]);
    assert_eq!(layers("spec.location"), ["uksouth", "westeurope"]);
}
