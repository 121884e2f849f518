//! The marks by which Argo CD and Flux keep an object that leaves their source.
//!
//! In: the graph of a fleet, and an object. Out: which objects clusters are made of or need to live; the object with the
//! mark. It does not know Capstan's own policy of deletions: another engine deletes without the approval of a person, so
//! that policy gives no consent here.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::super::args::Engine;
use crate::api::kinds::{self, CAPI};
use crate::api::labels;
use crate::graph::{Executor, Graph, Place};
use crate::model::ObjectId;

/// Argo CD's options of one object, separated by commas.
const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";
/// Argo CD neither prunes the object, nor deletes it with its application.
const KEPT: [(&str, &str); 2] = [("Prune", "false"), ("Delete", "false")];
/// Argo CD asks a person before it does the same.
const CONFIRM: &str = "confirm";
/// Flux's mark of an object that it does not delete.
const PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";
const DISABLED: &str = "disabled";

/// The vertices of the top-level objects that carry a cluster, and of what those need, however indirectly.
pub(super) fn protected(graph: &Graph) -> BTreeSet<usize> {
    let vertices = graph.vertices.iter().enumerate();
    let roots = vertices.filter(|(_, vertex)| carries_cluster(&vertex.id));
    let mut next: Vec<usize> = roots.map(|(at, _)| at).collect();
    let mut found = BTreeSet::new();
    while let Some(at) = next.pop() {
        if !found.insert(at) {
            continue;
        }
        if let Place::Embedded(carrier) = graph.vertices[at].place {
            next.push(carrier);
        }
        next.extend(graph.carried(at));
        let needed = graph
            .needs(at)
            .filter(|edge| edge.executor != Executor::Nobody);
        next.extend(needed.map(|edge| edge.to));
    }
    found.retain(|at| matches!(graph.vertices[*at].place, Place::TopLevel(_)));
    found
}

/// Whether it is a part of a cluster or of the same groups, or whether others go with it. A cluster that was kept before may
/// live in a namespace that nothing in the fleet needs any more.
fn carries_cluster(id: &ObjectId) -> bool {
    let group = id.group.as_str();
    kinds::is_aso(group)
        || group == CAPI
        || group.ends_with(".cluster.x-k8s.io")
        || group == "hypershift.openshift.io"
        || id.is("", "Namespace")
        || id.is("apiextensions.k8s.io", "CustomResourceDefinition")
        // No resource names it: it is that of its namespace.
        || id.is("", "Secret") && id.name == labels::NAMESPACE_CREDENTIAL
}

/// Writes the mark of `engine`. Options that the fleet gives stay.
pub(super) fn protect(object: &mut Json, engine: Engine) {
    let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else {
        return;
    };
    let annotations = metadata.entry("annotations");
    let annotations = annotations.or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    let Some(annotations) = annotations.as_object_mut() else {
        return;
    };
    match engine {
        Engine::Argocd => {
            let given = annotations.get(SYNC_OPTIONS).and_then(Json::as_str);
            let options = with_options(given.unwrap_or_default());
            annotations.insert(SYNC_OPTIONS.to_owned(), json!(options));
        }
        Engine::Flux => drop(annotations.insert(PRUNE.to_owned(), json!(DISABLED))),
    }
}

/// The options `given`, with those that keep the object. Where the fleet has Argo CD ask a person, it does.
fn with_options(given: &str) -> String {
    let mut options: Vec<String> = given
        .split(',')
        .map(|option| option.trim().to_owned())
        .collect();
    options.retain(|option| !option.is_empty());
    for (name, value) in KEPT {
        let has = |value: &str| options.contains(&format!("{name}={value}"));
        if !has(value) && !has(CONFIRM) {
            options.push(format!("{name}={value}"));
        }
    }
    options.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_added_to_those_that_are_given() {
        for (given, expected) in [
            ("", "Prune=false,Delete=false"),
            ("Prune=false", "Prune=false,Delete=false"),
            ("Delete=false , ,Prune=false,", "Delete=false,Prune=false"),
            (
                "ServerSideApply=true, Prune=true",
                "ServerSideApply=true,Prune=true,Prune=false,Delete=false",
            ),
            ("PruneLast=true", "PruneLast=true,Prune=false,Delete=false"),
            ("Prune=confirm", "Prune=confirm,Delete=false"),
            (
                "Delete=confirm,Prune=confirm",
                "Delete=confirm,Prune=confirm",
            ),
        ] {
            assert_eq!(with_options(given), expected, "{given}");
            assert_eq!(with_options(expected), expected, "twice");
        }
    }

    #[test]
    fn a_mark_is_written_whatever_the_object_has() {
        for metadata in [
            json!({}),
            json!({"annotations": null}),
            json!({"annotations": {"a": "b"}}),
        ] {
            let mut object = json!({"metadata": metadata});
            protect(&mut object, Engine::Flux);
            assert_eq!(object["metadata"]["annotations"][PRUNE], DISABLED);
        }
        let mut given = json!({"metadata": {"annotations": {PRUNE: "enabled", SYNC_OPTIONS: 1}}});
        protect(&mut given, Engine::Flux);
        protect(&mut given, Engine::Argocd);
        let annotations = &given["metadata"]["annotations"];
        assert_eq!(annotations[PRUNE], DISABLED);
        assert_eq!(annotations[SYNC_OPTIONS], "Prune=false,Delete=false");
        for mut odd in [
            json!([]),
            json!({}),
            json!({"metadata": {"annotations": "x"}}),
        ] {
            let before = odd.clone();
            protect(&mut odd, Engine::Argocd);
            assert_eq!(odd, before, "the API server rejects it");
        }
    }
}
