//! Fleets that change, compiled with a memory and without.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::api::fleet::{FleetPolicy, OutsideObject};
use crate::compile::documents::Documents;
use crate::compile::outlines::Outlines;
use crate::compile::parts::{self, Reuse};
use crate::compile::{Digest, Keep, Memory, digest_again, digest_beside, digest_by};
use crate::model::{Budget, Limit, Object, Tree};

/// A fleet: texts by path, and settings.
#[derive(Clone, Debug, Default)]
struct Fleet {
    files: BTreeMap<&'static str, String>,
    policy: FleetPolicy,
}

const DEFINITIONS: [&str; 4] = ["a.yaml", "b.yaml", "c/c.yaml", "c/d.yaml"];

/// What a definition may be: each text has the name of its file where it says NAME.
const DEFINED: [&str; 13] = [
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}}\nspec: &s {SPEC}",
    "metadata: {name: NAME, namespace: clusters, labels: {env: prod}}\nspec: {SPEC}",
    "metadata: {name: NAME, namespace: others}\nspec: {SPEC}",
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}}\nspec: {SPEC, tags: {a: b}}",
    // Another one has this name, and what goes with it.
    "metadata: {name: twin, namespace: clusters, labels: {env: dev}}\nspec: {SPEC}",
    // A mistake, a value that cannot be read, and an error of syntax.
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}}\nspec: {SPEC, nodPools: []}",
    "metadata: {name: NAME, namespace: clusters, labels: {env: *nothing}}\nspec: {SPEC}",
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}}\nspec: {SPEC",
    // Clusters that share a vault, and one with more than its own document.
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}}\nspec: {SPEC, etcd: {encryption: {vault: {name: kv-shared, resourceGroup: rg-shared}}}}",
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}}\nspec: {SPEC}\n---\n\
     {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: clusters}}",
    // Two in one file, one in a list, and one with a comment that allows a warning.
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}}\nspec: {SPEC}\n---\n\
     apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\n\
     metadata: {name: NAME-2, namespace: others, labels: {env: prod}}\nspec: {SPEC}",
    "items:\n- {apiVersion: capstan.dev/v1alpha1, kind: ClusterDefinition, metadata: {name: NAME, namespace: clusters}, spec: {SPEC}}",
    "metadata: {name: NAME, namespace: clusters, labels: {env: dev}} # capstan:allow F07 reason\nspec: {SPEC}",
];

const SPEC: &str = "location: uksouth, subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10, \
    tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31, identityRef: {name: cluster-identity}, version: {id: \"4.20\"}, \
    nodePools: [{name: np1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}]";

/// What else a fleet may have, by file: the first text of each is none.
const OTHERS: [(&str, &[&str]); 6] = [
    (
        "overlays/a.yaml",
        &[
            "",
            "metadata: {name: a}\nspec: {selector: {matchLabels: {env: dev}}, merge: {tags: {by: overlay}}}",
            "metadata: {name: a}\nspec: {selector: {matchLabels: {env: prod}}, merge: {tags: {by: overlay}}}",
            "metadata: {name: a}\nspec: {selector: {matchLabels: {env: dev}}, precedence: Enforced, merge: {tags: {by: enforced}, location: westeurope}}",
            "metadata: {name: a}\nspec: {selector: {}, merge: {tags: {by: overlay}, vanished: 1}}",
            "metadata: {name: a}\nspec: {selector: {matchLabels: {env: de",
        ],
    ),
    (
        "overlays/b.yaml",
        &[
            "",
            "metadata: {name: b}\nspec: {order: -1, selector: {matchLabels: {env: dev}}, merge: {tags: {first: 'yes'}}}",
            "metadata: {name: b}\nspec: {selector: {}, patches: [{target: {kind: Cluster}, patch: {metadata: {labels: {x: z}}}}]}",
            "metadata: {name: b}\nspec: {selector: {}, patches: [{target: {kind: AROControlPlane}, patch: [{op: remove, path: /spec/nothing}]}]}",
            "metadata: {name: b}\nspec: {selector: {matchLabels: {cluster.x-k8s.io/cluster-name: cluster-a}}, patches: [{target: {kind: AROCluster}, patch: {metadata: {annotations: {x: z}}}}]}",
        ],
    ),
    (
        "identity.yaml",
        &[
            "",
            "metadata: {name: cluster-identity, namespace: clusters}\nspec: IDENTITY",
            "metadata: {name: cluster-identty, namespace: clusters}\nspec: IDENTITY",
            "metadata: {name: cluster-identity, namespace: others}\nspec: IDENTITY",
            "metadata: {name: cluster-identity, namespace: clusters}\nspec: {type: Manual, clientID: x, tenantID: y}",
        ],
    ),
    (
        "namespace.yaml",
        &[
            "",
            "{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}",
            "{apiVersion: v1, kind: Namespace, metadata: {name: clusters, labels: {a: b}}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: others}}",
            "{apiVersion: v1, kind: Namespace, metadata: {name: clusters, annotations: {config.kubernetes.io/depends-on: /namespaces/clusters/ConfigMap/cluster-a}}}",
        ],
    ),
    (
        "kind.yaml",
        &[
            "",
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.io}, spec: {group: x.io, scope: Cluster, names: {kind: Widget, plural: widgets}, versions: []}}",
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clusters.cluster.x-k8s.io}, spec: {group: cluster.x-k8s.io, scope: Namespaced, names: {kind: Cluster, plural: clusters}, versions: []}}",
            // This object is not a CustomResourceDefinition, but it has the fields that declare a kind.
            "{apiVersion: x.io/v1, kind: Definition, metadata: {name: d}, spec: {group: cluster.x-k8s.io, names: {kind: Clusterr}}}",
        ],
    ),
    (
        "plain.yaml",
        &[
            "",
            "{apiVersion: x.io/v1, kind: Widget, metadata: {name: w, namespace: clusters}}",
            "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: a-rg, namespace: clusters}, spec: {azureName: shared, location: westeurope}}",
            "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: cluster-a, namespace: clusters}, spec: {}}",
            "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Clusterr, metadata: {name: cluster-a, namespace: clusters}, spec: {}}",
            // The vault that some clusters share.
            "{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: kv-shared, namespace: clusters}, spec: {azureName: kv-shared, location: uksouth, owner: {armId: /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/rg-shared}}}",
        ],
    ),
];

fn definition(path: &str, text: &str) -> String {
    let name = format!(
        "cluster-{}",
        path.trim_end_matches(".yaml").replace('/', "-")
    );
    let text = text.replace("NAME", &name).replace("SPEC", SPEC);
    if text.starts_with("items") {
        return format!("apiVersion: v1\nkind: List\n{text}\n");
    }
    format!("apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\n{text}\n")
}

fn other(path: &str, text: &str) -> String {
    let head = match path {
        "identity.yaml" => {
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\n"
        }
        _ if path.starts_with("overlays/") => "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\n",
        _ => "",
    };
    let identity = "{type: WorkloadIdentity, clientID: 6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f, \
        tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31, allowedNamespaces: {}}";
    format!("{head}{}\n", text.replace("IDENTITY", identity))
}

impl Fleet {
    /// Of these clusters, named after their files.
    fn of(definitions: impl IntoIterator<Item = &'static str>) -> Self {
        let mut fleet = Self::default();
        for path in definitions {
            fleet.define(path, DEFINED[0]);
        }
        fleet
    }

    fn define(&mut self, path: &'static str, text: &str) {
        self.files.insert(path, definition(path, text));
    }

    fn set(&mut self, path: &'static str, text: &str) {
        match text {
            "" => self.files.remove(path),
            _ => self.files.insert(path, other(path, text)),
        };
    }

    fn tree(&self) -> Tree {
        let files = self.files.iter();
        let files = files.map(|(path, text)| ((*path).into(), text.as_bytes().into()));
        Tree {
            files: files.collect(),
            ..Tree::default()
        }
    }

    fn cold(&self) -> Digest<Object> {
        digest_by(&self.policy, &self.tree(), &[], Object::clone)
    }

    fn warm(&self, memory: &mut Memory<Object>) -> Digest<Object> {
        digest_again(memory, &self.policy, &self.tree(), &[], Object::clone)
    }

    /// How many definitions are compiled again; what comes of it is what comes of it from cold.
    fn compiled(&self, memory: &mut Memory<Object>) -> usize {
        self.is_the_same(memory);
        memory.compiled()
    }

    /// How many groups of several parts are checked again; the same holds.
    fn checked(&self, memory: &mut Memory<Object>) -> usize {
        self.is_the_same(memory);
        memory.checked()
    }

    fn is_the_same(&self, memory: &mut Memory<Object>) {
        let cold = self.cold();
        for digest in [self.beside(memory, |_| true).0, self.warm(memory)] {
            assert_eq!(digest.checked, cold.checked);
            assert_eq!(digest.kept, cold.kept);
            assert_eq!(digest.graph, cold.graph);
        }
    }

    /// The digest beside a memory of which only some objects can be used, and whether each object was compiled now.
    fn beside(
        &self,
        memory: &Memory<Object>,
        is_usable: impl Fn(&Object) -> bool + Sync,
    ) -> (Digest<Object>, Vec<bool>) {
        let keep = |object: &Object| (object.clone(), true);
        let again = |object: &Object| is_usable(object).then(|| (object.clone(), false));
        let digest = digest_beside(memory, &self.policy, &self.tree(), &[], keep, again);
        let (kept, is_new) = digest.kept.into_iter().unzip();
        let digest = Digest {
            checked: digest.checked,
            kept,
            graph: digest.graph,
        };
        (digest, is_new)
    }
}

/// A change of a fleet.
#[derive(Clone, Debug)]
enum Change {
    Define(Index, Index),
    Remove(Index),
    Other(Index, Index),
    /// Lines above everything in a file.
    Shift(Index),
    Outside,
    Experimental,
    Nothing,
}

fn change() -> impl Strategy<Value = Change> {
    use Change::{Define, Experimental, Nothing, Other, Outside, Remove, Shift};
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), index()).prop_map(|(file, text)| Define(file, text)),
        1 => index().prop_map(Remove),
        4 => (index(), index()).prop_map(|(file, text)| Other(file, text)),
        1 => index().prop_map(Shift),
        1 => Just(Outside),
        1 => Just(Experimental),
        1 => Just(Nothing),
    ]
}

impl Change {
    fn apply(&self, fleet: &mut Fleet) {
        match self {
            Self::Define(file, text) => {
                fleet.define(file.get::<&str>(&DEFINITIONS), text.get::<&str>(&DEFINED))
            }
            Self::Remove(file) => drop(fleet.files.remove(file.get::<&str>(&DEFINITIONS))),
            Self::Other(file, text) => {
                let (path, texts) = file.get(&OTHERS);
                fleet.set(path, text.get::<&str>(texts));
            }
            Self::Shift(file) => {
                let at = file.index(fleet.files.len().max(1));
                if let Some(text) = fleet.files.values_mut().nth(at) {
                    text.insert_str(0, "# moved\n");
                }
            }
            Self::Outside if fleet.policy.outside.is_empty() => {
                fleet.policy.outside.push(OutsideObject {
                    group: None,
                    kind: "AzureClusterIdentity".to_owned(),
                    namespace: "clusters".to_owned(),
                    name: "cluster-identity".to_owned(),
                });
            }
            Self::Outside => fleet.policy.outside.clear(),
            Self::Experimental => fleet.policy.experimental = !fleet.policy.experimental,
            Self::Nothing => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_memory_changes_nothing(changes in vec(change(), 1..12)) {
        let mut fleet = Fleet::of(DEFINITIONS);
        let mut memory = Memory::default();
        fleet.warm(&mut memory);
        for change in changes {
            change.apply(&mut fleet);
            fleet.is_the_same(&mut memory);
        }
    }
}

#[test]
fn only_what_changed_is_compiled_again() {
    let mut fleet = Fleet::of(DEFINITIONS);
    let mut memory = Memory::default();
    fleet.set("identity.yaml", OTHERS[2].1[1]);
    assert_eq!(fleet.compiled(&mut memory), 4);
    assert_eq!(fleet.compiled(&mut memory), 0, "nothing changed");
    fleet.define("b.yaml", DEFINED[1]);
    assert_eq!(fleet.compiled(&mut memory), 1, "its text");
    fleet.files.remove("a.yaml");
    assert_eq!(fleet.compiled(&mut memory), 0, "another is gone");
    fleet.define("c/c.yaml", DEFINED[2]);
    assert_eq!(fleet.compiled(&mut memory), 1, "its namespace");
    // `a` is gone, `b` is in prod, `c/c` has no label, and `c/d` is in dev.
    fleet.set("overlays/a.yaml", OTHERS[0].1[2]);
    assert_eq!(fleet.compiled(&mut memory), 1, "an overlay selects it");
    fleet.set("overlays/a.yaml", OTHERS[0].1[1]);
    assert_eq!(fleet.compiled(&mut memory), 2, "as it was and as it is");
    fleet.set("overlays/b.yaml", OTHERS[1].1[4]);
    assert_eq!(fleet.compiled(&mut memory), 3, "patches may concern all");
    fleet.set("namespace.yaml", OTHERS[3].1[1]);
    assert_eq!(fleet.compiled(&mut memory), 2, "two are in the namespace");
    fleet.set("identity.yaml", OTHERS[2].1[2]);
    assert_eq!(fleet.compiled(&mut memory), 2, "the identity of two");
    fleet.set("plain.yaml", OTHERS[5].1[1]);
    assert_eq!(fleet.compiled(&mut memory), 0, "a plain object");
    fleet.set("kind.yaml", OTHERS[4].1[1]);
    assert_eq!(fleet.compiled(&mut memory), 3, "a kind");
    fleet.policy.experimental = true;
    assert_eq!(fleet.compiled(&mut memory), 3, "a setting");
}

#[test]
fn a_definition_is_compiled_again_if_one_of_its_objects_is_wanted() {
    let fleet = Fleet::of(DEFINITIONS);
    let mut memory = Memory::default();
    let cold = fleet.warm(&mut memory);
    let wanted = &cold.kept[2];
    let (digest, is_new) = fleet.beside(&memory, |object| object.id != wanted.id);
    assert_eq!(digest.kept, cold.kept);
    let of_definition = cold.kept.iter();
    let of_definition = of_definition.map(|object| object.definition == wanted.definition);
    assert_eq!(is_new, of_definition.collect::<Vec<_>>());
    assert!(is_new.contains(&true) && is_new.contains(&false));
}

#[test]
fn only_groups_of_what_changed_are_checked_again() {
    let mut fleet = Fleet::of(DEFINITIONS);
    for path in ["a.yaml", "b.yaml", "c/c.yaml"] {
        fleet.define(path, DEFINED[8]);
    }
    fleet.set("identity.yaml", OTHERS[2].1[1]);
    fleet.set("plain.yaml", OTHERS[5].1[5]);
    let mut memory = Memory::default();
    assert_eq!(fleet.checked(&mut memory), 1, "three use one vault");
    assert_eq!(fleet.checked(&mut memory), 0, "nothing changed");
    fleet.define("c/d.yaml", DEFINED[1]);
    assert_eq!(fleet.checked(&mut memory), 0, "another cluster");
    fleet.define("a.yaml", DEFINED[0]);
    assert_eq!(fleet.checked(&mut memory), 1, "two are left");
    fleet.set("identity.yaml", OTHERS[2].1[4]);
    assert_eq!(fleet.checked(&mut memory), 1, "their identity");
    let tagged = OTHERS[5].1[5].replace("spec: {", "spec: {tags: {a: b}, ");
    fleet.set("plain.yaml", &tagged);
    assert_eq!(fleet.checked(&mut memory), 1, "the vault");
    fleet.set("plain.yaml", OTHERS[5].1[3]);
    assert_eq!(fleet.checked(&mut memory), 1, "an object of another one");
    assert_eq!(fleet.checked(&mut memory), 0, "nothing changed");
    fleet.set("plain.yaml", OTHERS[5].1[4]);
    assert_eq!(fleet.checked(&mut memory), 1, "its kind is misspelt");
    fleet.set("kind.yaml", OTHERS[4].1[3]);
    assert_eq!(fleet.checked(&mut memory), 0, "it is another kind");
    fleet.set("kind.yaml", "");
    assert_eq!(fleet.checked(&mut memory), 1, "it is misspelt again");
}

#[test]
fn a_graph_is_shared_until_it_differs() {
    let mut fleet = Fleet::of(DEFINITIONS);
    let mut memory = Memory::default();
    // What definitions are checked beside, and a plain object, which is checked each time.
    fleet.set("identity.yaml", OTHERS[2].1[1]);
    fleet.set("namespace.yaml", OTHERS[3].1[1]);
    fleet.set("plain.yaml", OTHERS[5].1[1]);
    fleet.define("b.yaml", &DEFINED[3].replace("a: b", "a: vv"));
    let first = fleet.warm(&mut memory);
    assert!(!first.checked.has_errors(), "{:#?}", first.checked);
    for tag in '0'..='9' {
        let changed = DEFINED[3].replace("a: b", &format!("a: v{tag}"));
        fleet.define("b.yaml", &changed);
        let next = fleet.warm(&mut memory);
        assert_ne!(next.kept, first.kept);
        assert!(Arc::ptr_eq(&next.graph, &first.graph), "another tag");
    }
    let moved = format!("\n{}", DEFINED[3]);
    fleet.define("b.yaml", &moved);
    let third = fleet.warm(&mut memory);
    assert_ne!(third.graph, first.graph, "another line");
    assert_eq!(third.graph, fleet.cold().graph);
    // A fleet with errors has no graph. The memory keeps the one before.
    fleet.define("b.yaml", DEFINED[5]);
    assert!(fleet.warm(&mut memory).checked.has_errors());
    fleet.define("b.yaml", &moved);
    let fourth = fleet.warm(&mut memory);
    assert_eq!(fourth.graph, third.graph);
}

#[test]
fn a_fleet_over_a_limit_is_not_remembered() {
    let fleet = Fleet::of(DEFINITIONS);
    let (tree, memory) = (fleet.tree(), Memory::default());
    let keep = Some::<Keep<'_, Object>>(&Object::clone);
    for (most, is_remembered) in [(4, true), (3, false)] {
        let budget = Budget::default().with(Limit::Documents, most);
        let documents = Documents::within(budget, &tree, &[]);
        let reuse = Reuse::all(&memory);
        let digest = parts::digest(documents, &fleet.policy, &tree, keep, Some(&reuse));
        let (_, now) = digest.expect("the parts exceed no limit");
        assert_eq!(now.is_some(), is_remembered, "{most}");
    }
}

#[test]
fn files_with_a_definition_alone_are_read_once() {
    let paths = |fleet: &Fleet, memory: &Memory<Object>| {
        let known = memory.outlines();
        let documents = Documents::again(Budget::default(), (&known, false), &fleet.tree(), &[]);
        documents.taken_outlines.paths().join(" ")
    };
    let mut fleet = Fleet::of(DEFINITIONS);
    fleet.set("plain.yaml", OTHERS[5].1[1]);
    fleet.set("overlays/a.yaml", OTHERS[0].1[1]);
    let mut memory = Memory::default();
    assert_eq!(paths(&fleet, &memory), "");
    for _ in 0..2 {
        fleet.warm(&mut memory);
        assert_eq!(paths(&fleet, &memory), DEFINITIONS.join(" "));
    }
    let misspelt = DEFINED[0].replace("labels", "lables");
    // With mistakes, with other documents, in a list, and with a comment that allows something.
    let others = [6, 7, 9, 10, 11, 12].map(|number| DEFINED[number]);
    for text in others.into_iter().chain([&*misspelt]) {
        fleet.define("b.yaml", text);
        for _ in 0..2 {
            let paths = paths(&fleet, &memory);
            assert_eq!(paths, "a.yaml c/c.yaml c/d.yaml", "{text}");
            fleet.warm(&mut memory);
        }
    }
}

/// Which limit is reported depends on the order in which files are read.
#[test]
fn the_same_limit_is_exceeded_with_a_memory() {
    let mut fleet = Fleet::of(DEFINITIONS);
    let mut memory = Memory::default();
    fleet.warm(&mut memory);
    let patch = "metadata: {name: b}\nspec: {selector: {}, patches: [{target: {kind: 'A.*C'}, patch: {metadata: {labels: {x: z}}}}]}";
    let text = other("overlays/b.yaml", patch);
    fleet.files.insert("0.yaml", text);
    let tree = fleet.tree();
    let known = memory.outlines();
    for (documents, patterns) in [(3, 0), (3, 1), (5, 0), (1, 1)] {
        let budget = || {
            let budget = Budget::default().with(Limit::Documents, documents);
            budget.with(Limit::Patterns, patterns)
        };
        let over = [&known, &Outlines::default()].map(|known| {
            let documents = Documents::again(budget(), (known, true), &tree, &[]);
            documents.over.map(|finding| finding.message.to_string())
        });
        assert!(over[0].is_some());
        assert_eq!(over[0], over[1], "{documents} {patterns}");
    }
}

/// What an anchor stands for has the place of the anchor, wherever it is.
#[test]
fn what_has_no_place_of_its_own_is_compiled_each_time() {
    let one = "apiVersion: capstan.dev/v1alpha1\n  kind: ClusterDefinition\n  \
        metadata: {name: one, namespace: clusters}\n  spec: {SPEC}";
    let merged = "\n  <<: *a\n  metadata: {name: two, namespace: clusters}";
    for (other, again) in [("*a", 2), (merged, 0)] {
        let mut fleet = Fleet::default();
        let text = format!("apiVersion: v1\nkind: List\nitems:\n- &a\n  {one}\n- {other}\n");
        fleet.set("plain.yaml", &text.replace("SPEC", SPEC));
        let mut memory = Memory::default();
        assert_eq!(fleet.compiled(&mut memory), 2, "{other}");
        assert_eq!(fleet.compiled(&mut memory), again, "{other}");
    }
}

/// What was compiled before counts, too: else a fleet that grows step by step would have no limit.
#[test]
fn what_is_known_takes_as_much_of_a_limit() {
    let mut fleet = Fleet::of(DEFINITIONS);
    for path in ["a.yaml", "b.yaml"] {
        fleet.define(path, DEFINED[8]);
    }
    fleet.set("overlays/a.yaml", OTHERS[0].1[1]);
    fleet.set("overlays/b.yaml", OTHERS[1].1[4]);
    fleet.set("plain.yaml", OTHERS[5].1[5]);
    let tree = fleet.tree();
    let mut memory = Memory::default();
    let mut cost = || {
        let known = memory.outlines();
        let documents = Documents::again(Budget::default(), (&known, true), &tree, &[]);
        let budget = Arc::clone(&documents.budget);
        let keep = Some::<Keep<'_, Object>>(&Object::clone);
        let reuse = Reuse::all(&memory);
        let digest = parts::digest(documents, &fleet.policy, &tree, keep, Some(&reuse));
        let (_, now) = digest.expect("no limit is exceeded");
        memory = now.expect("it is remembered");
        (budget.cost(), [memory.compiled(), memory.checked()])
    };
    let (cold, counts) = cost();
    assert_eq!(counts, [4, 1]);
    assert_eq!(cost(), (cold, [0, 0]));
}
