//! What Argo CD and Flux delete when a file leaves the source of what Capstan rendered for them: no part of a cluster,
//! and nothing that one needs to live.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tempfile::TempDir;

use super::file;
use crate::cli::{capstan, stdout};

const ENGINES: [&str; 2] = ["argocd", "flux"];

/// Objects beside clusters: what no cluster needs, and what one needs that is written by hand.
const BESIDE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: notes, namespace: clusters}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: unused, namespace: clusters}
type: Opaque
---
apiVersion: v1
kind: Namespace
metadata: {name: byhand}
---
apiVersion: v1
kind: Secret
metadata: {name: azure, namespace: byhand}
type: Opaque
---
apiVersion: v1
kind: ConfigMap
metadata: {name: principal, namespace: byhand}
data: {id: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10}
---
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata:
  name: group
  namespace: byhand
  annotations:
    capstan.dev/deletion-policy: Delete
    serviceoperator.azure.com/credential-from: azure
    argocd.argoproj.io/sync-options: ServerSideApply=true
spec: {location: uksouth}
---
apiVersion: authorization.azure.com/v1api20220401
kind: RoleAssignment
metadata: {name: role, namespace: byhand}
spec:
  owner: {group: resources.azure.com, kind: ResourceGroup, name: group}
  principalIdFromConfig: {name: principal, key: id}
  principalType: ServicePrincipal
  roleDefinitionReference:
    armId: /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/providers/Microsoft.Authorization/roleDefinitions/88366f10-ed47-4cc0-9fab-c8a06148393e
";

/// What may go: no cluster is made of it or needs it.
pub(super) const MAY_GO: [&str; 2] = ["ConfigMap/notes", "Secret/unused"];

/// The example fleet, a cluster written by hand, and objects beside them.
pub(super) fn fleet() -> TempDir {
    let place = TempDir::new().expect("a directory");
    copy(&file("examples/fleet"), place.path());
    copy(&file("overlays"), &place.path().join("shipped"));
    let by_hand = stdout(&["render", "examples/quickstart"], 0).replace("clusters", "byhand");
    fs::write(place.path().join("by-hand.yaml"), by_hand).expect("written");
    for (number, document) in BESIDE.split("---\n").enumerate() {
        let path = place.path().join(format!("beside-{number}.yaml"));
        fs::write(path, document).expect("written");
    }
    place
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, target).expect("copied")),
        }
    }
}

fn files(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    found.collect()
}

/// The objects that are rendered; nothing if there is an error, on which both engines stop.
pub(super) fn rendered(fleet: &Path, more: &[&str]) -> Option<Vec<Json>> {
    let path = fleet.to_str().expect("UTF-8");
    let output = capstan(&[&["render", path, "-o", "json"], more].concat());
    let output = { output }.output().expect("it runs");
    output.status.success().then(|| {
        let list: Json = serde_json::from_slice(&output.stdout).expect("JSON");
        list["items"].as_array().expect("a list").clone()
    })
}

/// `Kind/name`, with the namespace in front.
pub(super) fn id(object: &Json) -> (String, String) {
    let text = |pointer| {
        object
            .pointer(pointer)
            .and_then(Json::as_str)
            .unwrap_or_default()
    };
    let name = format!("{}/{}", text("/kind"), text("/metadata/name"));
    (text("/metadata/namespace").to_owned(), name)
}

fn annotation<'a>(object: &'a Json, name: &str) -> &'a str {
    object["metadata"]["annotations"][name]
        .as_str()
        .unwrap_or_default()
}

/// What an engine deletes of what it applied, if its source is `new` by now.
fn deleted(engine: &str, applied: &[Json], new: &[Json]) -> Vec<String> {
    let wanted: BTreeSet<_> = new.iter().map(id).collect();
    let gone = applied
        .iter()
        .filter(|object| !wanted.contains(&id(object)));
    let stays = |object: &&Json| match engine {
        // pruneObject of gitops-engine: one of the options, spaces around it aside.
        "argocd" => annotation(object, "argocd.argoproj.io/sync-options")
            .split(',')
            .any(|option| option.trim() == "Prune=false"),
        // The garbage collection of kustomize-controller: a label or an annotation.
        _ => {
            let prune = "kustomize.toolkit.fluxcd.io/prune";
            let label = &object["metadata"]["labels"][prune];
            label == "disabled" || annotation(object, prune) == "disabled"
        }
    };
    gone.filter(|object| !stays(object))
        .map(|object| id(object).1)
        .collect()
}

#[test]
fn a_removed_file_deletes_no_part_of_a_cluster_and_nothing_that_it_needs() {
    let place = fleet();
    for engine in ENGINES {
        let mark = ["--for", engine];
        let applied = rendered(place.path(), &mark).expect("it is sound");
        let unmarked = rendered(place.path(), &[]).expect("it is sound");
        let (mut all, mut bare) = (BTreeSet::new(), BTreeSet::new());
        for path in files(place.path()) {
            let text = fs::read_to_string(&path).expect("readable");
            fs::remove_file(&path).expect("removed");
            if let Some(new) = rendered(place.path(), &mark) {
                all.extend(deleted(engine, &applied, &new));
                bare.extend(deleted(engine, &unmarked, &new));
            }
            fs::write(&path, text).expect("written");
        }
        assert_eq!(all, BTreeSet::from(MAY_GO.map(str::to_owned)), "{engine}");
        for lost in [
            "Cluster/prod-uks-1",
            "AROCluster/quickstart",
            "RoleAssignment/role",
            "Namespace/byhand",
        ] {
            assert!(
                bare.contains(lost),
                "{engine} deletes {lost} without the mark: {bare:?}"
            );
        }
        // All at once.
        let all = deleted(engine, &applied, &[]);
        let all: BTreeSet<_> = all.into_iter().collect();
        assert_eq!(all, BTreeSet::from(MAY_GO.map(str::to_owned)), "{engine}");
    }
}

/// A cluster that was kept is not in the source any more, and nothing there needs its namespace.
#[test]
fn what_was_kept_does_not_go_with_its_namespace() {
    let place = TempDir::new().expect("a directory");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: clusters}\n";
    fs::write(place.path().join("namespace.yaml"), namespace).expect("written");
    for engine in ENGINES {
        let applied = rendered(place.path(), &["--for", engine]).expect("it is sound");
        assert_eq!(
            (applied.len(), deleted(engine, &applied, &[])),
            (1, Vec::new())
        );
    }
}

#[test]
fn a_mark_changes_nothing_else() {
    let place = fleet();
    let unmarked = rendered(place.path(), &[]).expect("it is sound");
    let options = "argocd.argoproj.io/sync-options";
    for (engine, name, value) in [
        ("argocd", options, "Prune=false,Delete=false"),
        ("flux", "kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ] {
        let marked = rendered(place.path(), &["--for", engine]).expect("it is sound");
        for (marked, unmarked) in marked.iter().zip(&unmarked) {
            let id = id(unmarked).1;
            let given = annotation(unmarked, name);
            let expected = match given {
                _ if MAY_GO.contains(&id.as_str()) => given.to_owned(),
                "" => value.to_owned(),
                given => format!("{given},{value}"),
            };
            assert_eq!(annotation(marked, name), expected, "{id}");
            let bare = |object: &Json| {
                let mut object = object.clone();
                if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                    annotations.remove(name);
                }
                let annotations = &mut object["metadata"]["annotations"];
                if annotations
                    .as_object()
                    .is_some_and(serde_json::Map::is_empty)
                {
                    *annotations = Json::Null;
                }
                object
            };
            assert_eq!(bare(marked), bare(unmarked));
        }
        assert_eq!(marked.len(), unmarked.len());
    }
}
