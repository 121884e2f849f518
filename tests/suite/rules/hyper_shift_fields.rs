//! The fields of HyperShift's kinds that the rules know are those of the real CRDs. With `CAPSTAN_WRITE=1` in the
//! environment the table is written anew from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use capstan::api::hyper_shift_fields;
use serde_json::Value as Json;

use crate::real;

const KINDS: [&str; 2] = ["HostedCluster", "NodePool"];
/// What the rules leave alone: OpenShift's own configuration, and what the CRD has as open, too.
const OPEN: [&str; 2] = [
    "configuration",
    "operatorConfiguration.ingressOperator.endpointPublishingStrategy",
];
/// What the table looks like.
const HEAD: &str = "\
# What HyperShift has below `spec` of its kinds: a line for a kind with its versions, then its fields by type. `[]` is a
# list, `{}` a map, `A|B` a text that is one of these, `quantity` a number or a text, `open` something that is not looked at
# here. `2..5` limits a number, the length of a text, or the number of items or entries; `^` begins a pattern. The API server
# sets a `defaulted` field that is absent or null. Written by tests/suite/rules/hyper_shift_fields.rs.
";
/// The longest line, if it has more than one field.
const WIDTH: usize = 120;

/// The fields of a kind, by what is said of them.
type Fields = BTreeMap<String, BTreeSet<String>>;

fn fields(schema: &Json, at: &str, found: &mut Fields) {
    let mut say = |head: &str, of: String| {
        assert!(
            !head.contains(": ") && !of.contains(' '),
            "{head} {of} cannot be written"
        );
        found.entry(head.to_owned()).or_default().insert(of);
    };
    if OPEN.contains(&at) {
        say("open", at.to_owned());
        return;
    }
    let dot = if at.is_empty() { "" } else { "." };
    let below: Vec<_> = schema["properties"].as_object().into_iter().collect();
    let below: Vec<_> = below.into_iter().flatten().collect();
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<_> = required.filter_map(Json::as_str).collect();
    for (name, field) in &below {
        assert!(!name.contains(['.', ' ', '[', '{']), "{name}");
        let path = format!("{at}{dot}{name}");
        match is_defaulted(field) {
            true => say("defaulted", path),
            false if required.contains(&name.as_str()) => say("required", path),
            false => {}
        }
    }
    let is_listed = |keyword: &str| schema[keyword].is_object();
    let head = head(schema);
    if !["list", "map"].contains(&head.as_str())
        || !["items", "additionalProperties"]
            .iter()
            .any(|one| is_listed(one))
            && below.is_empty()
    {
        say(&head, at.to_owned());
    }
    for (name, field) in below {
        fields(field, &format!("{at}{dot}{name}"), found);
    }
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if is_listed(keyword) {
            fields(&schema[keyword], &format!("{at}{mark}"), found);
        }
    }
}

/// In the table, `nullable` says it of a field with a default.
fn is_defaulted(field: &Json) -> bool {
    field.get("default").is_some() || field["nullable"] == true
}

/// The type of a field with its limits, as the table has them.
fn head(schema: &Json) -> String {
    let of = schema["type"].as_str();
    let allowed = schema["enum"].as_array().into_iter().flatten();
    let allowed: Vec<_> = allowed.filter_map(Json::as_str).collect();
    let is_filled = schema["properties"]
        .as_object()
        .is_some_and(|below| below.values().any(is_defaulted));
    let (name, bounds) = match of {
        _ if !allowed.is_empty() => return allowed.join("|"),
        None => ("quantity", ["", ""]),
        Some("object") if is_filled => ("map", ["", "maxProperties"]),
        Some("object") => ("map", ["minProperties", "maxProperties"]),
        Some("array") if schema["x-kubernetes-list-type"] == "set" => {
            ("set", ["minItems", "maxItems"])
        }
        Some("array") => ("list", ["minItems", "maxItems"]),
        Some("string") => ("string", ["minLength", "maxLength"]),
        Some("integer") => {
            let format = schema["format"].as_str();
            (format.unwrap_or("integer"), ["minimum", "maximum"])
        }
        Some(other) => (other, ["", ""]),
    };
    let [least, most] = bounds.map(|keyword| schema[keyword].as_i64());
    let [least, most] =
        [least, most].map(|one| one.map_or_else(String::new, |one| one.to_string()));
    let mut head = name.to_owned();
    if !least.is_empty() || !most.is_empty() {
        let _ = write!(head, " {least}..{most}");
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        assert!(
            pattern.starts_with('^') && !pattern.contains(' '),
            "{pattern}"
        );
        let _ = write!(head, " {pattern}");
    }
    head
}

/// The lines of a kind.
fn text(kind: &str, version: &str, fields: &Fields) -> String {
    let mut text = format!("\n{kind}: {version}\n");
    for (head, fields) in fields {
        let mut line = format!("{head}:");
        for field in fields {
            if line.len() + field.len() >= WIDTH && !line.ends_with(':') {
                let _ = writeln!(text, "{line}");
                line = format!("{head}:");
            }
            let _ = write!(line, " {field}");
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

#[test]
fn the_fields_of_hyper_shift_are_those_of_its_crds() {
    let Some(crds) = real::crds("hypershift") else {
        return;
    };
    let mut real = BTreeMap::new();
    let mut table = HEAD.to_owned();
    for kind in KINDS {
        let is_its = |crd: &&Json| crd["spec"]["names"]["kind"] == kind;
        let crd = crds.iter().find(is_its).expect("the CRD of the kind");
        for version in crd["spec"]["versions"].as_array().expect("versions") {
            let name = version["name"].as_str().expect("a name");
            let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            let mut found = Fields::new();
            fields(spec, "", &mut found);
            table += &text(kind, name, &found);
            real.insert((kind, name.to_owned()), found);
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/hyper_shift_fields.txt");
    if std::env::var_os("CAPSTAN_WRITE").is_some() {
        std::fs::write(&file, &table).expect("the file is writable");
        return;
    }
    let written = std::fs::read_to_string(&file).expect("the table");
    assert!(
        written == table,
        "{} is old: CAPSTAN_WRITE=1",
        file.display()
    );
    let known = hyper_shift_fields::specs().map(|([_, kind, version], spec)| {
        let mut found = Fields::new();
        fields(&spec, "", &mut found);
        ((kind, version.to_owned()), found)
    });
    assert_eq!(known.collect::<BTreeMap<_, _>>(), real);
}
