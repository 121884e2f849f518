//! The CRDs we own: as files, and beside the real ones.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use capstan::{api, yaml};
use serde::Deserialize as _;
use serde_json::Value as Json;

use crate::kubernetes::kubectl;
use crate::real;

/// `CAPSTAN_WRITE=1 cargo test` writes the files anew.
#[test]
fn the_files_in_crds_are_what_is_generated() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let mut expected = BTreeSet::new();
    let mut resources = BTreeSet::new();
    let ours = api::crds::crds();
    let count = ours.len();
    // HyperShift may bring the last one, so that nobody applies it along with the others.
    let all = ours.into_iter().chain([api::crds::private_links()]);
    for (place, crd) in all.enumerate() {
        let name = format!("{}.yaml", crd["metadata"]["name"].as_str().expect("name"));
        let text = yaml::write(std::slice::from_ref(&crd));
        let file = directory.join(&name);
        if std::env::var_os("CAPSTAN_WRITE").is_some() {
            std::fs::write(&file, &text).expect("crds is writable");
        }
        let on_disk = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(on_disk == text, "crds/{name} is old: CAPSTAN_WRITE=1");
        if place < count {
            resources.insert(name.clone());
        }
        expected.insert(name);
    }
    let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
    keep_kustomization(&directory, "The kinds of Capstan.", &resources);
    expected.insert(KUSTOMIZATION.to_owned());
    let entries = std::fs::read_dir(directory).expect("crds is readable");
    let names = entries.map(|entry| entry.expect("entry").file_name().into_string());
    let found: BTreeSet<String> = names.map(|name| name.expect("UTF-8")).collect();
    assert_eq!(found, expected);
}

const KUSTOMIZATION: &str = "kustomization.yaml";

/// The kustomization of a directory has these resources, which exist.
fn keep_kustomization(directory: &Path, comment: &str, resources: &[&str]) {
    let resources: String = resources.iter().map(|one| format!("  - {one}\n")).collect();
    let text = format!(
        "# {comment}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{resources}"
    );
    let file = directory.join(KUSTOMIZATION);
    if std::env::var_os("CAPSTAN_WRITE").is_some() {
        std::fs::write(&file, &text).expect("the directory is writable");
    }
    let on_disk = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        on_disk == text,
        "{} is old: CAPSTAN_WRITE=1",
        file.display()
    );
}

/// `CAPSTAN_WRITE=1 cargo test` writes the files anew.
#[test]
fn the_files_in_examples_install_are_what_install_prints() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/install");
    let plain: &[&str] = &[];
    for (component, more) in [
        ("daemon", plain),
        ("controllers", plain),
        ("admission", plain),
        ("tenant", &["--namespace", "team-a"]),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .args(["install", "--skip-crds", "--component", component])
            .args(more)
            .env_remove("CAPSTAN_NAMESPACE")
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{component}");
        let file = directory.join(format!("{component}.yaml"));
        if std::env::var_os("CAPSTAN_WRITE").is_some() {
            std::fs::create_dir_all(&directory).expect("examples is writable");
            std::fs::write(&file, &output.stdout).expect("examples is writable");
        }
        let on_disk = std::fs::read(&file).unwrap_or_default();
        assert!(
            on_disk == output.stdout,
            "{component}.yaml is old: CAPSTAN_WRITE=1"
        );
    }
    let comment = "The daemon and its kinds. Use this directory as a resource of your own kustomization, which sets the image:\n\
                   #   images: [{name: registry.example.com/capstan, newName: your.registry/capstan, newTag: \"1.0\"}]";
    keep_kustomization(&directory, comment, &["../../crds", "daemon.yaml"]);
}

/// What kustomize builds of the example is the set that `install` prints.
#[test]
fn the_kustomization_has_the_objects_of_an_installation() {
    let Some(kubectl) = kubectl() else { return };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/install");
    let built = Command::new(kubectl)
        .arg("kustomize")
        .arg(directory)
        .output();
    let installed = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .arg("install")
        .env_remove("CAPSTAN_NAMESPACE")
        .output();
    let [built, installed] = [built, installed].map(|output| {
        let output = output.expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let documents = serde_yaml::Deserializer::from_slice(&output.stdout);
        let ids = documents.map(|document| {
            let object = Json::deserialize(document).expect("YAML");
            [&object["kind"], &object["metadata"]["name"]].map(Json::to_string)
        });
        ids.collect::<BTreeSet<_>>()
    });
    assert_eq!(built, installed);
}

/// What restricts a value, or decides how it merges. `nullable` is not among it: an API server drops a null
/// where it is not allowed.
const LIMITS: [&str; 12] = [
    "default",
    "enum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "x-kubernetes-map-type",
];

/// Every field with its type and limits, and whether it is required.
fn fields(schema: &Json, at: &str, found: &mut BTreeSet<String>) {
    let kind = schema["type"].as_str().unwrap_or("-");
    let kept = match schema["x-kubernetes-preserve-unknown-fields"].as_bool() {
        Some(true) => " open",
        _ => "",
    };
    found.insert(format!("{at}: {kind}{kept}"));
    for limit in LIMITS {
        let mut value = schema[limit].clone();
        if let Some(list) = value.as_array_mut() {
            list.sort_by_key(Json::to_string);
        }
        if !value.is_null() {
            found.insert(format!("{at} {limit}: {value}"));
        }
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        found.insert(format!("{at}.{}!", required.as_str().expect("text")));
    }
    let properties = schema["properties"].as_object();
    for (name, below) in properties.into_iter().flatten() {
        fields(below, &format!("{at}.{name}"), found);
    }
    for list in ["items", "additionalProperties"] {
        if schema[list].is_object() {
            fields(&schema[list], &format!("{at}[]"), found);
        }
    }
}

fn shape(crd: &Json) -> BTreeSet<String> {
    let version = &crd["spec"]["versions"][0];
    let mut found = BTreeSet::new();
    let schema = &version["schema"]["openAPIV3Schema"];
    found.insert(format!("required {}", schema["required"]));
    for part in ["spec", "status"] {
        fields(&schema["properties"][part], part, &mut found);
    }
    for column in version["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten()
    {
        found.insert(format!("column {} {}", column["name"], column["jsonPath"]));
    }
    let names = &crd["spec"]["names"];
    for label in ["cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"] {
        found.insert(format!("{label}: {}", crd["metadata"]["labels"][label]));
    }
    found.insert(format!("{} {}", names["shortNames"], names["categories"]));
    found.insert(format!(
        "{} {}",
        crd["spec"]["scope"], version["subresources"]
    ));
    found
}

/// What ours have besides: the fields of the proposal that CAPZ dropped. None is required.
fn is_added(field: &str) -> bool {
    let reference = field.starts_with("spec.identityRef");
    let status = [
        "status.resources[].message: string",
        "status.resources[].resource.apiVersion: string",
        "status.resources[].resource.namespace: string",
    ];
    reference || field == "spec.subscriptionID: string" || status.contains(&field)
}

#[test]
fn our_aro_kinds_have_the_shape_of_the_real_ones() {
    let Some(real) = real::crds("capz") else {
        return;
    };
    assert_eq!(real.len(), 4);
    let ours = api::crds::crds();
    for crd in real {
        let name = &crd["metadata"]["name"];
        let of_ours = ours.iter().find(|ours| ours["metadata"]["name"] == *name);
        let (theirs, ours) = (shape(&crd), shape(of_ours.expect("we have it")));
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let more: Vec<_> = ours
            .difference(&theirs)
            .filter(|one| !is_added(one))
            .collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{name}: -{missing:#?} +{more:#?}"
        );
    }
}
