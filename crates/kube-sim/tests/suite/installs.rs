//! Real definitions install: those of other projects, and the workspace's own in `crds/`.
//!
//! In: CustomResourceDefinitions, a release after the other, so that a newer one goes over an older one
//! as it does in a cluster. Both servers have to answer the same, establish every kind, and give back
//! the same definitions. Conversion webhooks are left out: nobody answers them here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::StreamExt as _;
use serde_json::Value as Json;

use crate::difference::difference;
use crate::kubernetes::{Kubernetes, if_asked};
use crate::servers::Server;
use crate::session::Session;

/// How many definitions are sent at once.
const AT_ONCE: usize = 8;

/// What is installed together, by what it is called.
type Release = (String, Vec<Json>);

/// The definitions in `directory`; none when it is not there, which one line reports.
fn read(directory: &Path) -> Option<Vec<Json>> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        eprintln!("skipped: {} is not there", directory.display());
        return None;
    };
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    let documents = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).expect("the file is readable");
        let documents: Vec<Json> = serde_yaml::Deserializer::from_str(&text)
            .map(|document| serde::Deserialize::deserialize(document).expect("this is YAML"))
            .collect();
        documents
    });
    // A directory may have a kustomization beside them.
    let definitions = documents.filter(|document| document["kind"] == "CustomResourceDefinition");
    Some(definitions.collect())
}

/// The real ones and ours over them, then ours without the others.
fn rounds() -> [Vec<Release>; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("CAPSTAN_CRDS").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| root.join("../shared/crds"));
    let real = |directory: &str| {
        let mut definitions = read(&shared.join(directory))?;
        for definition in &mut definitions {
            let spec = definition["spec"].as_object_mut();
            spec.expect("a spec").remove("conversion");
        }
        Some((directory.to_owned(), definitions))
    };
    let ours = || {
        let definitions = read(&root.join("crds")).expect("they are part of the workspace");
        ("our own".to_owned(), definitions)
    };
    let directories = ["aso-2.13", "aso-2.19", "cluster-api", "hypershift", "capz"];
    let mut reals: Vec<Release> = directories.into_iter().filter_map(real).collect();
    reals.push(ours());
    [reals, vec![ours()]]
}

#[test]
fn definitions_install_alike() {
    let rounds = rounds();
    let (simulated, real) = std::thread::scope(|scope| {
        let simulated = scope.spawn(|| installed(&Server::simulator(), &rounds));
        // It ends when this process does.
        let real = if_asked(Kubernetes::own).map(|real| &*Box::leak(Box::new(real)));
        let real = real.map(|real| installed(&Server::Real(real), &rounds));
        (simulated.join().expect("all is installed"), real)
    });
    for (what, expected) in real.unwrap_or_default() {
        let difference = difference(&expected, "the simulator", &simulated[&what]);
        assert!(
            difference.is_none(),
            "{what}: {}",
            difference.unwrap_or_default()
        );
    }
}

/// How each installation went.
fn installed(server: &Server, rounds: &[Vec<Release>]) -> BTreeMap<String, String> {
    let talk = async {
        let client = server.client().await;
        let mut transcripts = BTreeMap::new();
        for (round, releases) in rounds.iter().enumerate() {
            for (release, definitions) in releases {
                let one = async |(at, definition): (usize, &Json)| {
                    let what = format!("{round} {release} {}", name(definition));
                    let namespace = format!("{round}-{}-{at}", release.replace([' ', '.'], "-"));
                    let session = Session::with(server.clone(), client.clone(), &namespace).await;
                    install(&session, definition.clone()).await;
                    (what, session.transcript())
                };
                let all = futures::stream::iter(definitions.iter().enumerate().map(one));
                let all: Vec<_> = all.buffer_unordered(AT_ONCE).collect().await;
                transcripts.extend(all);
            }
            let session =
                Session::with(server.clone(), client.clone(), &format!("{round}-gone")).await;
            remove(&session, releases).await;
        }
        transcripts
    };
    server.runtime().block_on(talk)
}

fn name(definition: &Json) -> &str {
    definition["metadata"]["name"].as_str().expect("a name")
}

fn path(definition: &Json) -> String {
    format!("customresourcedefinitions/{}", name(definition))
}

/// Applies it twice and reads it back.
async fn install(s: &Session, mut definition: Json) {
    let path = path(&definition);
    let applied = format!("{path}?fieldManager=suite&force=true");
    let mut reply = s.apply(&applied, &definition).await;
    if reply.status == 422 {
        // HyperShift marks what belongs to no feature gate with a name that no API server takes.
        let annotations = definition["metadata"]["annotations"].as_object_mut();
        let annotations = annotations.expect("they are what is wrong");
        annotations.retain(|name, _| !name.ends_with('/'));
        reply = s.apply(&applied, &definition).await;
    }
    assert!(reply.status < 300, "{path}: {}", reply.text);
    s.until(&path, |reply| {
        let conditions = reply.body["status"]["conditions"].as_array();
        let accepted = reply.body["status"]["acceptedNames"] == reply.body["spec"]["names"];
        let mut conditions = conditions.into_iter().flatten();
        accepted && conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
    })
    .await;
    s.apply(&applied, &definition).await;
}

/// Deletes it all, and waits until it is gone.
async fn remove(s: &Session, releases: &[Release]) {
    let definitions = || releases.iter().flat_map(|(_, definitions)| definitions);
    for definition in definitions() {
        s.uninstall(&path(definition)).await;
    }
    for definition in definitions() {
        s.meet(&path(definition), |reply| reply.status == 404).await;
    }
}
