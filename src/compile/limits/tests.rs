//! Trees that are small and become large. Each costs one finding, the same at each run, and nothing is made of it.

use std::fmt::Write as _;

use crate::api::fleet::FleetPolicy;
use crate::compile::{Compiled, compile_within};
use crate::model::{Budget, Limit, Tree};

const DEFINITION: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: NAME, namespace: clusters, labels: {env: prod}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {name: cluster-identity}
  version: {id: \"4.20\"}
  nodePools: [{name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}]
";

fn tree(files: impl IntoIterator<Item = (String, String)>) -> Tree {
    let files = files.into_iter();
    let files = files.map(|(path, text)| (path.into(), text.into_bytes().into()));
    Tree {
        files: files.collect(),
        ..Tree::default()
    }
}

/// The same text under many names.
fn copies(count: usize, text: &str) -> Tree {
    tree((0..count).map(|at| (format!("{at:05}.yaml"), text.to_owned())))
}

fn config_maps(count: usize) -> impl Iterator<Item = (String, String)> {
    let text = |at| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{at}, namespace: a}}, data: {{a: b}}}}\n"
        )
    };
    (0..count).map(move |at| (format!("c{at:05}.yaml"), text(at)))
}

fn overlay(patches: &str) -> (String, String) {
    let head = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: o}\n";
    let spec = "spec:\n  selector: {}\n  patches:\n";
    ("o.yaml".to_owned(), format!("{head}{spec}{patches}"))
}

fn compiled(tree: &Tree, budget: Budget) -> Compiled {
    compile_within(&FleetPolicy::default(), tree, &[], budget)
}

/// Compiles with a lower limit than that of every tree, so that a small attack exceeds it, several times.
#[track_caller]
fn stops(tree: &Tree, limit: Limit, most: u64, place: &str, says: &str) {
    for _ in 0..4 {
        let compiled = compiled(tree, Budget::default().with(limit, most));
        assert_eq!(compiled.objects.len(), 0);
        let [finding] = compiled.findings.as_slice() else {
            unreachable!("one finding: {:?}", compiled.findings)
        };
        let at = finding.span.as_ref().map(ToString::to_string);
        let at = at.unwrap_or_default();
        assert_eq!(
            (finding.id, at.is_empty()),
            ("Y24", place.is_empty()),
            "{at}"
        );
        assert!(at.starts_with(place), "{at}");
        assert!(
            finding.message.as_str().contains(says),
            "{}",
            finding.message
        );
        assert!(finding.help.is_some());
    }
}

#[test]
fn what_aliases_copy_counts_for_all_files_together() {
    let text = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: a}
data:
  a: &a [0,0,0,0,0,0,0,0,0,0]
  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
  c: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
";
    let many = copies(50, text);
    stops(
        &many,
        Limit::Values,
        20_000,
        "00000.yaml:1:1",
        "more than 20,000 keys",
    );
    // A text that is copied costs its length.
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(64 * 100),
        "*a,".repeat(100)
    );
    stops(
        &copies(1, &long),
        Limit::Values,
        5_000,
        "00000.yaml:1:1",
        "aliases",
    );
}

#[test]
fn what_is_written_counts_too_and_the_largest_file_is_named() {
    let mut files: Vec<_> = config_maps(20).collect();
    let list = format!(
        "apiVersion: v1\nkind: ConfigMap\ndata: [{}]\n",
        "[],".repeat(2000)
    );
    files.push(("b.yaml".to_owned(), list.clone()));
    files.push(("d.yaml".to_owned(), list));
    stops(&tree(files), Limit::Values, 3_000, "b.yaml:1:1", "3,000");
}

#[test]
fn files_that_may_be_for_other_tools_count() {
    let text = format!("a: [{}]\n", "0,".repeat(1000));
    let values = tree((0..50).map(|at| (format!("{at:02}/values.yaml"), text.clone())));
    assert!(!compiled(&values, Budget::default()).is_stopped());
    stops(
        &values,
        Limit::Values,
        20_000,
        "00/values.yaml:1:1",
        "keys and values",
    );
}

#[test]
fn documents_and_items_of_lists_count() {
    stops(
        &copies(10, &"{}\n---\n".repeat(20)),
        Limit::Documents,
        100,
        "",
        "100 documents",
    );
    let list = format!(
        "{{apiVersion: v1, kind: List, items: [{}]}}\n",
        "{},".repeat(200)
    );
    stops(
        &copies(1, &list),
        Limit::Documents,
        100,
        "",
        "items of lists",
    );
}

#[test]
fn large_expressions_count_many_times_and_equal_ones_once() {
    let target = |name: &str| {
        format!("  - target: {{kind: ConfigMap, name: '{name}'}}\n    patch: {{data: {{a: c}}}}\n")
    };
    let patches = |names: &mut dyn Iterator<Item = String>| {
        let text = names.fold(String::new(), |mut text, name| {
            let _ = write!(text, "{}", target(&name));
            text
        });
        tree(config_maps(2).chain([overlay(&text)]))
    };
    let large = patches(&mut (0..100).map(|at| format!(r"\pL{{300}}{at}")));
    stops(&large, Limit::Patterns, 200, "", "regular expressions");
    let budget = || Budget::default().with(Limit::Patterns, 10);
    let same = patches(&mut (0..100).map(|_| "c.*".to_owned()));
    assert!(!compiled(&same, budget()).is_stopped());
    let names = patches(&mut (0..100).map(|at| format!("c{at}")));
    assert!(!compiled(&names, budget()).is_stopped(), "plain names");
    let different = patches(&mut (0..100).map(|at| format!("c{at}.*")));
    stops(
        &different,
        Limit::Patterns,
        10,
        "",
        "more than 10 different",
    );
}

#[test]
fn patches_count_for_each_object() {
    let merge = "  - target: {kind: ConfigMap}\n    patch: {data: {b: c}}\n".repeat(50);
    let files = || config_maps(50).chain([overlay(&merge)]);
    stops(
        &tree(files()),
        Limit::Overlays,
        10_000,
        "o.yaml:",
        "10,000 steps",
    );
}

#[test]
fn copies_by_patches_count() {
    let copy = "{op: copy, from: /data/x, path: /data/x/-}, ".repeat(10);
    let patch = format!(
        "  - target: {{}}\n    json6902: [{{op: add, path: /data/x, value: [0]}}, {copy}]\n"
    );
    let files = || config_maps(5).chain([overlay(&patch.repeat(10))]);
    assert!(!compiled(&tree(files()), Budget::default()).is_stopped());
    stops(&tree(files()), Limit::Overlays, 30_000, "o.yaml:", "steps");
}

#[test]
fn labels_and_selectors_count_together() {
    let requirements = "{key: a, operator: Exists}, ".repeat(500);
    let one = |at: usize| {
        let text = format!(
            "{{apiVersion: capstan.dev/v1alpha1, kind: Overlay, metadata: {{name: o{at}}}, spec: {{selector: {{matchExpressions: [{requirements}]}}, patches: [{{target: {{}}, patch: {{}}}}]}}}}\n"
        );
        (format!("o{at}.yaml"), text)
    };
    let files = tree(config_maps(20).chain((0..20).map(one)));
    stops(&files, Limit::Overlays, 10_000, "", "select");
}

#[test]
fn what_definitions_become_counts_before_it_is_made() {
    let one = |at: usize| {
        let text = DEFINITION.replace("NAME", &format!("prod{at}"));
        (format!("{at}.yaml"), text)
    };
    stops(
        &tree((0..20).map(one)),
        Limit::Objects,
        50_000,
        "",
        "50,000 values",
    );
    let tags = (0..500).map(|at| format!("t{at}: a, ")).collect::<String>();
    let tagged = format!("{DEFINITION}  tags: {{{tags}}}\n").replace("NAME", "prod");
    stops(
        &copies(1, &tagged),
        Limit::Objects,
        50_000,
        "",
        "50,000 values",
    );
    // Settings for all pools are there once a pool.
    let pools = (0..200)
        .map(|at| format!("{{name: p{at}, vmSize: a}}, "))
        .collect::<String>();
    let every = "{name: '*', labels: {a: b, c: d, e: f}}, ".repeat(50);
    let overlay = format!(
        "{{apiVersion: capstan.dev/v1alpha1, kind: Overlay, metadata: {{name: o}}, spec: {{selector: {{}}, merge: {{nodePools: [{every}{pools}]}}}}}}\n"
    );
    let definition = DEFINITION.replace("NAME", "prod");
    let files = tree([
        ("a.yaml".to_owned(), definition),
        ("o.yaml".to_owned(), overlay),
    ]);
    stops(&files, Limit::Objects, 80_000, "", "80,000 values");
}

#[test]
fn a_fleet_of_ten_thousand_definitions_is_below_half_of_each_limit() {
    let definition = DEFINITION.replace("NAME", "prod");
    let patch = "  - target: {kind: Vault, name: 'p.*'}\n    patch: {spec: {tags: {a: b}}}\n";
    let (path, text) = overlay(&patch.repeat(5));
    let text = text.replace("selector: {}", "selector: {}\n  merge: {tags: {a: b}}");
    let files = [("a.yaml".to_owned(), definition), (path, text)];
    // A ten-thousandth of half of each limit; the expression is the same for all definitions.
    let budget = Limit::ALL
        .into_iter()
        .fold(Budget::default(), |budget, limit| {
            let most = match limit {
                Limit::Patterns => 1,
                limit => limit.most() / 20_000,
            };
            budget.with(limit, most)
        });
    let compiled = compiled(
        &tree(files),
        budget
            .with(Limit::Values, 250 + 70)
            .with(Limit::Documents, 10),
    );
    assert!(!compiled.is_stopped(), "{:?}", compiled.findings);
    assert_eq!((compiled.definitions, compiled.objects.len()), (1, 5));
}

#[test]
fn numbers_have_commas() {
    assert_eq!(
        [7, 1000, 65_432, 1_000_000].map(super::grouped),
        ["7", "1,000", "65,432", "1,000,000"]
    );
}

#[test]
fn what_is_left_of_an_exceeded_tree_is_no_part_of_it() {
    let all = compiled(
        &copies(3, "a: [0, 0, 0]\n"),
        Budget::default().with(Limit::Values, 5),
    );
    assert!(all.has_errors() && all.graph.vertices.is_empty());
    assert_eq!((all.definitions, all.unread), (0, 0));
}
