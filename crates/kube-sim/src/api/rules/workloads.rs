//! Kinds that run Pods.

use serde_json::{Map, Value};

use super::shared::{fields, immutable, natural};
use crate::api::metadata;
use crate::api::names;
use crate::api::status::Cause;
use crate::api::values::{list, text};

fn workload(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    natural("spec.replicas", &spec["replicas"], causes);
    selector(object, causes);
    // So the server names the place, without the metadata between.
    metadata::check_marks("spec.template", &spec["template"]["metadata"], causes);
    let pod = &spec["template"]["spec"];
    let field = "spec.template.spec.nodeSelector";
    metadata::check_labels(field, &pod["nodeSelector"], causes);
    volumes(&pod["volumes"], causes);
    containers(spec, causes);
    let policy = &spec["template"]["spec"]["restartPolicy"];
    if policy.as_str().is_some_and(|policy| policy != "Always") {
        let field = "spec.template.spec.restartPolicy";
        causes.push(Cause::unsupported(field, policy, &["Always"]));
    }
    for key in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        natural(&format!("spec.{key}"), &spec[key], causes);
    }
}

/// Deployments and their like: the selector stays.
pub(super) fn selecting(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    workload(object, causes);
    immutable("spec.selector", object, old, causes);
}

/// Of a StatefulSet little else may change.
pub(super) fn stateful_set(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    const MAY_CHANGE: [&str; 7] = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    workload(object, causes);
    let fixed = |object: &Value| {
        let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
        spec.retain(|key, value| !value.is_null() && !MAY_CHANGE.contains(&key.as_str()));
        spec
    };
    if old.is_some_and(|old| fixed(old) != fixed(object)) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        causes.push(Cause::forbidden("spec", detail));
    }
}

/// The selector has to be there, and to select the Pods of the template.
fn selector(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let selector = &spec["selector"];
    let labels = &spec["template"]["metadata"]["labels"];
    let wanted = &selector["matchLabels"];
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    if selector.is_null() {
        causes.push(Cause::required("spec.selector", ""));
    } else if fields(wanted).next().is_none() && list(&selector["matchExpressions"]).is_empty() {
        let detail = format!("empty selector is invalid for {kind}");
        let shown = Value::Object(Map::new());
        causes.push(Cause::invalid("spec.selector", &shown, &detail));
        return;
    }
    let selects = fields(wanted).all(|(key, value)| labels.get(key) == Some(value));
    if selector.is_null() || !selects {
        let detail = "`selector` does not match template `labels`";
        let field = "spec.template.metadata.labels";
        causes.push(Cause::invalid(field, labels, detail));
    }
}

pub(super) fn job(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    containers(&object["spec"], causes);
    immutable("spec.template", object, old, causes);
}

fn containers(spec: &Value, causes: &mut Vec<Cause>) {
    let field = "spec.template.spec.containers";
    let containers = list(&spec["template"]["spec"]["containers"]);
    if containers.is_empty() {
        causes.push(Cause::required(field, ""));
    }
    let mut names_seen = Vec::new();
    for (at, container) in containers.iter().enumerate() {
        let name = container["name"].as_str().unwrap_or_default();
        match name {
            "" => causes.push(Cause::required(format!("{field}[{at}].name"), "")),
            name => {
                let wrong = |detail: String| {
                    let field = format!("{field}[{at}].name");
                    Cause::invalid(field, &container["name"], &detail)
                };
                causes.extend(names::label(name).into_iter().map(wrong));
            }
        }
        if names_seen.contains(&name) {
            let field = format!("{field}[{at}].name");
            causes.push(Cause::duplicate(field, &container["name"]));
        }
        names_seen.push(name);
        ports(&format!("{field}[{at}].ports"), &container["ports"], causes);
        for (index, variable) in list(&container["env"]).iter().enumerate() {
            if text(&variable["name"]).is_empty() {
                let field = format!("{field}[{at}].env[{index}].name");
                causes.push(Cause::required(field, ""));
            }
        }
        if container["image"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{field}[{at}].image"), ""));
        }
    }
}

fn ports(at: &str, ports: &Value, causes: &mut Vec<Cause>) {
    const RANGE: &str = "must be between 1 and 65535, inclusive";
    const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
    let mut names_seen = Vec::new();
    for (index, port) in list(ports).iter().enumerate() {
        let field = |key: &str| format!("{at}[{index}].{key}");
        let name = text(&port["name"]);
        if !name.is_empty() && names_seen.contains(&name) {
            causes.push(Cause::duplicate(field("name"), &port["name"]));
        }
        names_seen.push(name);
        for key in ["containerPort", "hostPort"] {
            match port[key].as_i64().unwrap_or_default() {
                0 if key == "hostPort" => {}
                0 => causes.push(Cause::required(field(key), "")),
                1..=65535 => {}
                _ => causes.push(Cause::invalid(field(key), &port[key], RANGE)),
            }
        }
        let protocol = &port["protocol"];
        if !PROTOCOLS.contains(&text(protocol)) {
            causes.push(Cause::unsupported(field("protocol"), protocol, &PROTOCOLS));
        }
    }
}

fn volumes(volumes: &Value, causes: &mut Vec<Cause>) {
    let mut names_seen = Vec::new();
    for (at, volume) in list(volumes).iter().enumerate() {
        let field = format!("spec.template.spec.volumes[{at}].name");
        let name = text(&volume["name"]);
        if name.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if names_seen.contains(&name) {
            causes.push(Cause::duplicate(field, &volume["name"]));
        } else {
            let wrong = |why: String| Cause::invalid(field.as_str(), &volume["name"], &why);
            causes.extend(names::label(name).into_iter().map(wrong));
            names_seen.push(name);
        }
    }
}
