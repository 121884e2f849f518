//! What is kept of a revision once it is compiled.
//!
//! In: the files of the revision. Out: digests, of which that of a proposal has whole objects where they change. It does not know
//! where the files come from.

use std::collections::BTreeSet;

use crate::compile::{Digest, Files, Memory};
use crate::model::Object;
use crate::plan::{ApplySet, Kept, Plan, Present, Proposed};

/// Keeps the objects of a revision that is applied. Compiles only what `memory` does not know, and remembers all of it.
pub(crate) fn kept(files: &Files, set: &ApplySet, memory: &mut Memory<Kept>) -> Digest<Kept> {
    files.again(memory, |object: &Object| Kept::of(object, set))
}

/// Compares the objects of a revision with the plan that is applied, if any. Compiles only what `memory` does not know and what
/// differs from that plan.
pub(crate) fn proposed(
    files: &Files,
    set: &ApplySet,
    present: Option<&Plan>,
    memory: &Memory<Kept>,
) -> Digest<Proposed> {
    let present = Present::of(present);
    files.beside(
        memory,
        |object| present.propose(object, set),
        |kept| present.propose_again(kept),
    )
}

/// The objects of a revision in some namespaces. Compiles only what `memory` does not know and what is there.
pub(crate) fn objects_in(
    files: &Files,
    namespaces: &BTreeSet<&str>,
    memory: &Memory<Kept>,
) -> Vec<Object> {
    let is_there = |namespace: &str| namespaces.contains(namespace);
    let digest = files.beside(
        memory,
        |object| is_there(&object.id.namespace).then(|| object.clone()),
        |kept| (!is_there(&kept.id().namespace)).then_some(None),
    );
    digest.kept.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::fleet::FleetPolicy;
    use crate::follow::Compilation;
    use crate::model::{ObjectId, Tree};

    const OVERLAY: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: all}
spec: {selector: {}, merge: {tags: {by: overlay}}}
";

    fn definition(name: &str, replicas: usize) -> String {
        format!(
            "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {{name: {name}, namespace: of-{name}}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {{name: cluster-identity}}
  version: {{id: \"4.20\"}}
  nodePools: [{{name: np1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: {replicas}}}]
"
        )
    }

    fn files(texts: &[(&str, String)]) -> Files {
        let texts = texts.iter();
        let files = texts.map(|(path, text)| (Arc::from(*path), Arc::from(text.as_bytes())));
        let tree = Tree {
            files: files.collect(),
            ..Tree::default()
        };
        Files::new(FleetPolicy::default(), [tree])
    }

    /// The ids of the objects that would change.
    fn changing(digest: &Digest<Proposed>) -> Vec<String> {
        let proposed = digest.with_ids();
        let changing = proposed.filter(|(_, proposed)| proposed.object.is_some());
        changing.map(|(id, _)| id.to_string()).collect()
    }

    #[test]
    fn a_proposal_is_the_same_beside_a_memory() {
        let set = ApplySet::new("f", "default");
        let (a, b) = (
            ("a.yaml", definition("cluster-a", 2)),
            ("b.yaml", definition("cluster-b", 2)),
        );
        let mut memory = Memory::default();
        let digest = kept(&files(&[a.clone(), b.clone()]), &set, &mut memory);
        assert!(!digest.checked.has_errors(), "{:#?}", digest.checked);
        let applied = Compilation::new("r", digest);
        let applied = applied.plan().expect("no errors");
        for (what, texts, expected) in [
            ("nothing", vec![a.clone(), b.clone()], 0),
            (
                "a field",
                vec![a.clone(), ("b.yaml", definition("cluster-b", 3))],
                2,
            ),
            (
                "a new one",
                vec![a.clone(), b.clone(), ("c.yaml", definition("cluster-c", 2))],
                0,
            ),
            ("one that leaves", vec![b.clone()], 0),
            (
                "another file",
                vec![a.clone(), ("d.yaml", definition("cluster-b", 2))],
                5,
            ),
            (
                "an overlay",
                vec![a.clone(), b.clone(), ("o.yaml", OVERLAY.to_owned())],
                6,
            ),
            (
                "a mistake",
                vec![a.clone(), ("b.yaml", "kind: ClusterDefinition".to_owned())],
                0,
            ),
        ] {
            let files = files(&texts);
            let beside = proposed(&files, &set, Some(applied), &memory);
            let cold = proposed(&files, &set, Some(applied), &Memory::default());
            assert_eq!(beside.checked, cold.checked, "{what}");
            assert_eq!(beside.graph, cold.graph, "{what}");
            let payloads = |digest: &Digest<Proposed>| -> Vec<_> {
                let kept = digest.kept.iter().map(|proposed| &proposed.kept);
                kept.map(|kept| (kept.payload().clone(), kept.part().cloned()))
                    .collect()
            };
            assert_eq!(payloads(&beside), payloads(&cold), "{what}");
            assert_eq!(changing(&beside), changing(&cold), "{what}");
            assert_eq!(
                changing(&beside).len(),
                expected,
                "{what}: {:#?}",
                changing(&beside)
            );
        }
    }

    #[test]
    fn the_objects_in_a_namespace_are_those_of_its_definitions() {
        let set = ApplySet::new("f", "default");
        let files = files(&[
            ("a.yaml", definition("cluster-a", 2)),
            ("b.yaml", definition("cluster-b", 2)),
        ]);
        let mut memory = Memory::default();
        drop(kept(&files, &set, &mut memory));
        let namespaces = BTreeSet::from(["of-cluster-b"]);
        let ids = |memory: &Memory<Kept>| -> Vec<ObjectId> {
            let objects = objects_in(&files, &namespaces, memory);
            objects.into_iter().map(|object| object.id).collect()
        };
        let found = ids(&memory);
        assert!(found.len() == 5 && found.iter().all(|id| id.namespace == "of-cluster-b"));
        assert_eq!(found, ids(&Memory::default()));
    }
}
