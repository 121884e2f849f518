//! Warnings about Pod templates that are accepted.
//!
//! In: an object of a built-in kind and the one it replaces. Out: warnings (k8s.io/kubernetes `pkg/api/pod`).
//! Only what somebody who patches lists runs into is here.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::values::{list, text};

/// The warnings about an object that was created or whose generation has changed.
pub(crate) fn advice(object: &Value, old: Option<&Value>) -> Vec<String> {
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    let spec = &object["spec"]["template"]["spec"];
    if !spec.is_object() || old.is_some_and(|old| generation(old) == generation(object)) {
        return Vec::new();
    }
    const AT: &str = "spec.template.spec";
    let mut warnings = Vec::new();
    for (at, constraint) in list(&spec["topologySpreadConstraints"]).iter().enumerate() {
        if constraint["labelSelector"].is_null() {
            warnings.push(format!(
                "{AT}.topologySpreadConstraints[{at}].labelSelector: a null labelSelector results in matching no pod"
            ));
        }
    }
    twice(
        &format!("{AT}.hostAliases"),
        &spec["hostAliases"],
        "ip",
        &mut warnings,
    );
    let secrets = format!("{AT}.imagePullSecrets");
    twice(&secrets, &spec["imagePullSecrets"], "name", &mut warnings);
    for (at, secret) in list(&spec["imagePullSecrets"]).iter().enumerate() {
        if text(&secret["name"]).is_empty() {
            warnings.push(format!("{secrets}[{at}].name: invalid empty name \"\""));
        }
    }
    let containers = containers(AT, spec);
    for (at, container) in &containers {
        environment(at, container, &mut warnings);
    }
    ports(&containers, &mut warnings);
    warnings
}

/// The containers and where they are, in the order in which they are looked at.
fn containers<'a>(at: &str, spec: &'a Value) -> Vec<(String, &'a Value)> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let within = |name: &'static str| {
        let items = list(&spec[name]).iter().enumerate();
        items.map(move |(index, item)| (format!("{at}.{name}[{index}]"), item))
    };
    lists.into_iter().flat_map(within).collect()
}

fn twice(at: &str, items: &Value, key: &str, warnings: &mut Vec<String>) {
    let mut seen = Vec::new();
    for (index, item) in list(items).iter().enumerate() {
        let value = text(&item[key]);
        match seen.contains(&value) {
            true => warnings.push(format!("{at}[{index}].{key}: duplicate {key} {value:?}")),
            false => seen.push(value),
        }
    }
}

/// A variable that is there twice should refer to what it hides.
fn environment(at: &str, container: &Value, warnings: &mut Vec<String>) {
    let mut seen = Vec::new();
    for (index, variable) in list(&container["env"]).iter().enumerate() {
        let name = text(&variable["name"]);
        if !seen.contains(&name) {
            seen.push(name);
            continue;
        }
        let (value, reference) = (text(&variable["value"]), format!("$({name})"));
        let refers = value != reference && value.contains(&reference);
        if variable["valueFrom"].is_object() || !refers {
            warnings.push(format!(
                "{at}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

/// Ports that more than one container opens, by number and by name.
fn ports(containers: &[(String, &Value)], warnings: &mut Vec<String>) {
    let mut numbers: BTreeMap<String, Vec<(String, &Value)>> = BTreeMap::new();
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut of_names = Vec::new();
    for (at, container) in containers {
        for (index, port) in list(&container["ports"]).iter().enumerate() {
            let at = format!("{at}.ports[{index}]");
            let key = format!("{}/{}", port["containerPort"], text(&port["protocol"]));
            let others = numbers.entry(key).or_default();
            for (other_at, other) in others.iter() {
                if let Some(how) = overlap(port, other) {
                    warnings.push(format!("{at}: {how} port definition with {other_at}"));
                }
            }
            others.push((at.clone(), port));
            let name = text(&port["name"]);
            match names.get(name) {
                _ if name.is_empty() => {}
                Some(other) => of_names.push(format!(
                    "{at}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
                )),
                None => drop(names.insert(name, at)),
            }
        }
    }
    warnings.append(&mut of_names);
}

fn overlap(a: &Value, b: &Value) -> Option<&'static str> {
    let number = |port: &Value| port["hostPort"].as_i64().unwrap_or_default();
    let (a_ip, b_ip) = (text(&a["hostIP"]), text(&b["hostIP"]));
    match (number(a), number(b)) {
        (x, y) if x == y && a_ip == b_ip => Some("duplicate"),
        (0, _) | (_, 0) => Some("overlapping"),
        (x, y) if x == y && a_ip.is_empty() != b_ip.is_empty() => Some("dangerously ambiguous"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_there_twice_is_warnings_once_per_change() {
        let port = json!({"containerPort": 80, "protocol": "TCP", "name": "web"});
        let mut object = json!({"metadata": {"generation": 2}, "spec": {"template": {"spec": {
            "containers": [
                {"env": [{"name": "A"}, {"name": "A", "value": "$(A)b"}, {"name": "A"}], "ports": [port]},
                {"ports": [port]},
            ],
            "imagePullSecrets": [{"name": "x"}, {"name": "x"}],
        }}}});
        assert_eq!(
            advice(&object, None),
            [
                "spec.template.spec.imagePullSecrets[1].name: duplicate name \"x\"",
                "spec.template.spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using apply",
                "spec.template.spec.containers[1].ports[0]: duplicate port definition with spec.template.spec.containers[0].ports[0]",
                "spec.template.spec.containers[1].ports[0]: duplicate port name \"web\" with spec.template.spec.containers[0].ports[0], services and probes that select ports by name will use spec.template.spec.containers[0].ports[0]",
            ]
        );
        let old = object.clone();
        assert!(advice(&object, Some(&old)).is_empty());
        object["metadata"]["generation"] = json!(3);
        assert_eq!(advice(&object, Some(&old)).len(), 4);
    }
}
