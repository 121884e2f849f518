//! What a Kubernetes API server does, one behaviour a test.
//!
//! A behaviour holds a conversation; `expected/<group>/<behaviour>.txt` is how it went with a real
//! kube-apiserver (v1.34). The simulator has to answer the same, and so has a real server where
//! there is one. `CAPSTAN_WRITE=1` records the real answers, for review.

mod apply;
mod apply_built_in;
mod apply_configurations;
mod apply_lists;
mod collection;
mod defaults;
mod definitions;
mod deletion;
mod discovery;
mod errors;
mod events;
mod history;
mod keywords;
mod leases;
mod lists;
mod managed_entries;
mod managers;
mod metadata;
mod namespaces;
mod objects;
mod patches;
mod pruning;
mod refused_definitions;
mod refused_schemas;
mod rules;
mod script;
mod status;
mod strategic;
mod stricter;
mod validation;
mod watches;
mod workloads;

use std::path::Path;
use std::sync::RwLock;

use serde_json::{Value as Json, json};

use super::difference::difference;
use super::kubernetes::{Kubernetes, if_asked};
use super::servers::Server;
use super::session::{GROUP, Session};

/// Tests that make the shared server forget its history want it for themselves.
static HISTORY: RwLock<()> = RwLock::new(());

/// What a group of behaviours needs of the real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// The API alone.
    Api,
    /// Also the namespace and garbage-collector controllers.
    Controllers,
    /// The server for itself.
    Alone,
}

/// Makes a test of each behaviour, an `async fn(&Session)` of this name in the module.
macro_rules! behaviours {
    ($need:ident: $($name:ident,)+) => {
        mod tests {
            use super::super::{Need, group, prove};
            $(#[test]
            fn $name() {
                prove(group(module_path!()), stringify!($name), Need::$need, &super::$name);
            })+
        }
    };
}
use behaviours;

/// The module's own name.
fn group(module: &str) -> &str {
    module.rsplit("::").nth(1).expect("a module in a module")
}

/// Holds the behaviour against what is kept of it, on every server there is.
fn prove(group: &str, name: &str, need: Need, behaviour: &impl AsyncFn(&Session)) {
    let file = format!("tests/suite/conformance/expected/{group}/{name}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    let namespace = name.replace('_', "-");
    let real = match need {
        Need::Api => if_asked(Kubernetes::shared),
        Need::Alone => if_asked(Kubernetes::shared).filter(|real| real.is_whole()),
        Need::Controllers => if_asked(Kubernetes::orderly),
    };
    let real = real.map(|real| {
        let _alone = (need == Need::Alone).then(|| HISTORY.write());
        let _shared = (need != Need::Alone).then(|| HISTORY.read());
        converse(&Server::Real(real), &namespace, behaviour)
    });
    if std::env::var_os("CAPSTAN_WRITE").is_some()
        && let Some(real) = &real
    {
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        std::fs::write(&path, real).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{file}: {error}; CAPSTAN_WRITE=1 makes it"));
    if let Some(real) = real {
        compare("kube-apiserver", &file, &expected, &real);
    }
    let simulated = converse(&Server::simulator(), &namespace, behaviour);
    compare("the simulator", &file, &expected, &simulated);
}

/// How the conversation went.
fn converse(server: &Server, namespace: &str, behaviour: &impl AsyncFn(&Session)) -> String {
    let talk = async {
        let session = Session::open(server.clone(), namespace).await;
        behaviour(&session).await;
        session.transcript()
    };
    server.runtime().block_on(talk)
}

/// # Panics
/// With the first lines that differ.
fn compare(who: &str, file: &str, expected: &str, transcript: &str) {
    if let Some(difference) = difference(expected, who, transcript) {
        let whole = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(who)
            .join(file.rsplit('/').next().expect("a file has a name"));
        std::fs::create_dir_all(whole.parent().expect("it has one")).expect("a directory");
        std::fs::write(&whole, transcript).expect("the file can be written");
        let whole = whole.display();
        panic!("{who} differs from {file}, the whole transcript is in {whole}, {difference}");
    }
}

/// A ConfigMap with this metadata.
fn a_config_map(name: &str, metadata: &Json) -> Json {
    let mut made = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    made["metadata"]["name"] = json!(name);
    made
}

/// The Thing `a` with this metadata.
fn a_thing(metadata: &Json) -> Json {
    let mut made =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": metadata});
    made["metadata"]["name"] = json!("a");
    made
}

/// `Thing`: namespaced, with a field of every type and a status.
pub(crate) fn thing() -> Json {
    yaml(include_str!("kinds/thing.yaml"))
}

/// `Rule`: namespaced, with rules of every sort.
fn rule() -> Json {
    yaml(include_str!("kinds/rule.yaml"))
}

/// `Orbit`: without a namespace, of any content.
pub(crate) fn orbit() -> Json {
    yaml(include_str!("kinds/orbit.yaml"))
}

/// `Widget`: a kind of the behaviour's own, with one version of this schema.
fn widget(s: &Session, schema: &Json) -> Json {
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{}", s.group())},
        "spec": {
            "group": s.group(), "scope": "Namespaced", "versions": [version],
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        },
    })
}

/// The schema of an object with these fields in its spec.
fn with_spec(fields: &Json) -> Json {
    let spec = json!({"type": "object", "properties": fields});
    json!({"type": "object", "properties": {"spec": spec}})
}

fn yaml(text: &str) -> Json {
    serde_yaml::from_str(text).expect("this is YAML")
}

#[test]
fn what_is_kept_belongs_to_a_behaviour() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/conformance");
    let names = |path: &Path| {
        let entries = std::fs::read_dir(path).expect("a directory");
        let path = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").path();
        entries.map(path).collect::<Vec<_>>()
    };
    for group in names(&here.join("expected")) {
        let stem = group
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let source = std::fs::read_to_string(here.join(format!("{stem}.rs")));
        let source = source.unwrap_or_else(|error| panic!("{stem}.rs: {error}"));
        for file in names(&group) {
            let name = file
                .file_stem()
                .and_then(|name| name.to_str())
                .expect("a name");
            assert!(
                source.contains(&format!("\n    {name},\n")),
                "{}",
                file.display()
            );
        }
    }
}
