//! A fleet comes to the same bytes on one thread and on four.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use capstan::compile::compile;
use capstan::model::Tree;
use capstan::plan::{ApplySet, against_none, into_plan};
use capstan::yaml;
use rayon::ThreadPoolBuilder;

use crate::corpus;

/// All that a fleet comes to: values with their places, findings in order, the graph, what is printed and
/// what is sent.
fn all(tree: &Tree, threads: usize) -> String {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let compiled = compile(tree, &[]);
        let mut all = format!("{compiled:?}\n");
        let objects = compiled.objects.iter();
        let objects: Vec<_> = objects.map(|object| object.node.to_json()).collect();
        all += &yaml::write(&objects);
        let set = ApplySet::new("threads", "default");
        let plan = against_none(&compiled.objects, &compiled.graph, &set);
        let _ = write!(all, "{plan:?}");
        assert_eq!(plan, into_plan(compiled.objects, &compiled.graph, &set));
        all
    })
}

#[track_caller]
fn hold(name: &str, tree: &Tree) {
    let one = all(tree, 1);
    let four = all(tree, 4);
    // Too long to be shown.
    assert!(one == four, "{name} differs");
}

#[test]
fn examples_and_the_corpus_are_the_same_on_any_number_of_threads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for fleets in ["examples", "tests/corpus"] {
        for fleet in std::fs::read_dir(root.join(fleets)).unwrap() {
            let fleet = fleet.unwrap().path();
            hold(&fleet.display().to_string(), &corpus::tree(&fleet));
        }
    }
}

#[test]
fn a_large_fleet_with_mistakes_is_the_same_on_any_number_of_threads() {
    let mut files = vec![("overlay.yaml".to_owned(), OVERLAY.to_owned())];
    files.extend((0..48).map(|at| (format!("c{at}.yaml"), definition(at))));
    let tree = Tree {
        files: files
            .into_iter()
            .map(|(path, text)| (Arc::from(path), Arc::from(text.as_bytes())))
            .collect(),
        ..Tree::default()
    };
    let compiled = compile(&tree, &[]);
    let (objects, findings) = (compiled.objects.len(), compiled.findings.len());
    assert!(objects > 150 && findings > 10, "{objects} {findings}");
    hold("the large fleet", &tree);
}

/// One patch fits, one finds nothing where it is for, and one meets some clusters only.
const OVERLAY: &str = "
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: base}
spec:
  merge: {tags: {fleet: threads}, version: {channelGroup: none}}
  patches:
  - target: {kind: AROMachinePool}
    patch: {metadata: {annotations: {owner: sre}}}
  - target: {kind: Vault}
    patch: [{op: remove, path: /spec/nothing}]
  - target: {kind: Cluster, name: 'fleet-1.*'}
    patch: {metadata: {labels: {tier: web}}}
  selector: {}
";

/// Every seventh has the name of another one, and every fifth no version.
fn definition(at: usize) -> String {
    let name = if at % 7 == 6 { at - 1 } else { at };
    let version = if at % 5 == 4 { "" } else { "id: \"4.20\"" };
    format!(
        "
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {{name: fleet-{name}, namespace: clusters}}
spec:
  platform: ARO
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {{name: cluster-identity}}
  version: {{{version}}}
  nodePools:
  - {{name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}}
"
    )
}
