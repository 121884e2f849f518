//! `kube-schema`'s table of merging lists is what the real API server publishes.
//!
//! In: the OpenAPI document of a real kube-apiserver. Out: the source of
//! `crates/kube-schema/src/list_keys/published.rs`, which the test compares with the file, or writes when
//! `CAPSTAN_WRITE` is set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde_json::Value as Json;

use crate::kubernetes::{Kubernetes, if_asked};

/// Whose types are Kubernetes' own; others come from definitions in the cluster.
const OWN: [&str; 4] = [
    "io.k8s.api.",
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
];
const META: &str = "META_V1_OBJECT_META";
/// A kind of which only the metadata has such lists.
const OBJECT: &str = "OBJECT";

#[test]
fn the_table_of_merging_lists_is_what_the_api_server_publishes() {
    let Some(server) = if_asked(Kubernetes::shared) else {
        return;
    };
    // Others may be of another release.
    if !server.is_whole() {
        return;
    }
    let generated = source(&openapi(server));
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("kube-schema");
    let file = library.join("src/list_keys/published.rs");
    if std::env::var_os("CAPSTAN_WRITE").is_some() {
        std::fs::write(&file, &generated).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written == generated,
        "{} is not what this API server publishes; CAPSTAN_WRITE=1 writes it",
        file.display()
    );
}

fn openapi(server: &Kubernetes) -> Json {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let asked = async {
        let request = http::Request::get("/openapi/v2").body(Vec::new());
        let client = server.client().await;
        client.request_text(request.unwrap()).await.unwrap()
    };
    let text = runtime.unwrap().block_on(asked);
    serde_json::from_str(&text).unwrap()
}

/// A field of a type: the type below it, by its name, and how it merges if it is a list.
#[derive(Default)]
struct Field {
    below: Option<String>,
    /// Whether what is below is the value of free keys.
    is_map: bool,
    merges: Option<String>,
}

/// The fields of each type, by name. Types without merging lists are left out.
type Types = BTreeMap<String, BTreeMap<String, Field>>;

fn source(openapi: &Json) -> String {
    let definitions = openapi["definitions"].as_object().unwrap();
    let own = definitions.iter();
    let own = own.filter(|(name, _)| OWN.iter().any(|prefix| name.starts_with(prefix)));
    let mut types: Types = own
        .clone()
        .map(|(name, schema)| (constant(name), fields(schema)))
        .collect();
    keep_leading(&mut types);
    let has_metadata = |schema: &Json| {
        let target = schema["properties"]["metadata"]["allOf"][0]["$ref"].as_str();
        let target = target.or(schema["properties"]["metadata"]["$ref"].as_str());
        target.is_some_and(|target| constant(target) == META)
    };
    let mut kinds = BTreeSet::new();
    for (name, schema) in own.filter(|(_, schema)| has_metadata(schema)) {
        let of = schema["x-kubernetes-group-version-kind"].as_array();
        for kind in of.into_iter().flatten() {
            let [group, version, kind] = ["group", "version", "kind"].map(|part| &kind[part]);
            let version = format!("{}/{}", group.as_str().unwrap(), version.as_str().unwrap());
            let version = version.trim_start_matches('/').to_owned();
            let name = constant(name);
            kinds.insert((version, kind.as_str().unwrap().to_owned(), name));
        }
    }
    keep_reached(&mut types, kinds.iter().map(|(.., name)| name));
    written(&types, &kinds)
}

/// `io.k8s.api.core.v1.PodSpec`, or a reference to it, as `CORE_V1_POD_SPEC`.
fn constant(name: &str) -> String {
    let mut parts = name.rsplit('.');
    let [kind, version, group] = [(); 3].map(|()| parts.next().unwrap());
    let mut words = String::new();
    let letters: Vec<char> = kind.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || after.is_some_and(|after| after.is_lowercase())
            });
        if begins {
            words.push('_');
        }
        words.push(letter.to_ascii_uppercase());
    }
    format!("{group}_{version}_{words}").to_uppercase()
}

fn fields(schema: &Json) -> BTreeMap<String, Field> {
    let properties = schema["properties"].as_object();
    let fields = properties.into_iter().flatten();
    let fields = fields.map(|(name, schema)| (name.clone(), field(schema)));
    fields
        .filter(|(_, field)| field.below.is_some() || field.merges.is_some())
        .collect()
}

fn field(schema: &Json) -> Field {
    let target = |schema: &Json| Some(constant(schema["$ref"].as_str()?));
    let values = target(&schema["additionalProperties"]);
    Field {
        is_map: values.is_some(),
        below: target(schema).or(target(&schema["items"])).or(values),
        merges: (schema["type"] == "array")
            .then(|| merges(schema))
            .flatten(),
    }
}

/// The arguments that say what a patch and an apply identify the items by; none if both take the list whole.
fn merges(schema: &Json) -> Option<String> {
    let keys = |keys: Vec<&str>| format!("Keys(&{keys:?})");
    let strategy = schema["x-kubernetes-patch-strategy"].as_str();
    let patch = match schema["x-kubernetes-patch-merge-key"].as_str() {
        _ if !strategy.is_some_and(|text| text.split(',').any(|one| one == "merge")) => {
            "Whole".to_owned()
        }
        Some(key) => keys(vec![key]),
        None => "Values".to_owned(),
    };
    let apply = match schema["x-kubernetes-list-type"].as_str() {
        Some("map") => {
            let names = schema["x-kubernetes-list-map-keys"].as_array().unwrap();
            keys(names.iter().filter_map(Json::as_str).collect())
        }
        Some("set") => "Values".to_owned(),
        _ => "Whole".to_owned(),
    };
    let merges = patch != "Whole" || apply != "Whole";
    merges.then(|| format!("{patch}, {apply}"))
}

/// Drops fields and types that lead to no list that merges.
fn keep_leading(types: &mut Types) {
    let mut leading = BTreeSet::new();
    loop {
        let leads = |field: &Field| {
            let below = field.below.as_ref();
            field.merges.is_some() || below.is_some_and(|name| leading.contains(name))
        };
        let found = types
            .iter()
            .filter(|(_, fields)| fields.values().any(leads));
        let found: BTreeSet<String> = found.map(|(name, _)| name.clone()).collect();
        if found == leading {
            break;
        }
        leading = found;
    }
    types.retain(|name, _| leading.contains(name));
    for fields in types.values_mut() {
        for field in fields.values_mut() {
            field.below = field.below.take().filter(|name| leading.contains(name));
        }
        fields.retain(|_, field| field.below.is_some() || field.merges.is_some());
    }
}

/// Drops types that are in no kind, such as lists of objects.
fn keep_reached<'k>(types: &mut Types, kinds: impl Iterator<Item = &'k String>) {
    let mut next: Vec<String> = kinds.cloned().collect();
    let mut reached = BTreeSet::new();
    while let Some(name) = next.pop() {
        if reached.insert(name.clone()) {
            let below = types[&name]
                .values()
                .filter_map(|field| field.below.clone());
            next.extend(below);
        }
    }
    types.retain(|name, _| reached.contains(name));
}

fn written(types: &Types, kinds: &BTreeSet<(String, String, String)>) -> String {
    let mut text = "\
//! The lists that merge, as kube-apiserver publishes them in `/openapi/v2`: `x-kubernetes-patch-merge-key`
//! and `x-kubernetes-list-map-keys`, by type.
//!
//! Generated by `crates/kube-sim/tests/suite/published.rs` from the API server that `tests/kubernetes`
//! builds; do not edit. `CAPSTAN_WRITE=1 cargo test -p kube-sim --test suite -- published` writes it.

use super::fields::Items::{Keys, Values, Whole};
use super::fields::{Published, field};
"
    .to_owned();
    let is_object = |name: &str| {
        let mut fields = types[name].iter();
        let alone = fields.next().filter(|_| fields.next().is_none());
        alone.is_some_and(|(_, field)| field.below.as_deref() == Some(META))
    };
    let called = |name: &str| if is_object(name) { OBJECT } else { name }.to_owned();
    text += "\n/// The kinds, by `apiVersion` and `kind`.\n";
    text += "pub static KINDS: &[(&str, &str, &Published)] = &[\n";
    for (version, kind, name) in kinds {
        writeln!(text, "    ({version:?}, {kind:?}, &{}),", called(name)).unwrap();
    }
    text += "];\n\n/// A kind of which only the metadata has such lists.\n";
    writeln!(
        text,
        "pub static {OBJECT}: Published = Published::with(&[field(\"metadata\").of(&{META})]);"
    )
    .unwrap();
    let mut maps = BTreeSet::new();
    for (name, fields) in types.iter().filter(|(name, _)| !is_object(name)) {
        writeln!(
            text,
            "/// Generated.\npub static {name}: Published = Published::with(&["
        )
        .unwrap();
        for (key, field) in fields {
            write!(text, "    field({key:?})").unwrap();
            if let Some(below) = &field.below {
                let map = if field.is_map { "MAP_OF_" } else { "" };
                maps.extend(field.is_map.then(|| below.clone()));
                write!(text, ".of(&{map}{})", called(below)).unwrap();
            }
            if let Some(merges) = &field.merges {
                write!(text, ".merges({merges})").unwrap();
            }
            text += ",\n";
        }
        text += "]);\n";
    }
    for name in maps {
        writeln!(
            text,
            "/// Generated.\npub static MAP_OF_{name}: Published = Published::map_of(&{name});"
        )
        .unwrap();
    }
    text
}
