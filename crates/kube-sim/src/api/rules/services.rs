//! Services: their ports and addresses.

use serde_json::{Value, json};

use crate::api::status::Cause;
use crate::api::values::{list, text};
use crate::api::{metadata, names};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// The fields the server sets beside a Service's address.
const OF_ADDRESS: [&str; 4] = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];

pub(super) fn service(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let unknown = families(spec);
    if !unknown.is_empty() {
        // Found before anything else is looked at.
        return causes.extend(unknown);
    }
    let ports = list(&spec["ports"]);
    let headless = spec["clusterIPs"] == json!(["None"]) || spec["type"] == "ExternalName";
    if !headless && ports.is_empty() {
        causes.push(Cause::required("spec.ports", ""));
    }
    metadata::check_labels("spec.selector", &spec["selector"], causes);
    doubles(ports, causes);
    for (at, port) in ports.iter().enumerate() {
        let field = |key: &str| format!("spec.ports[{at}].{key}");
        match text(&port["name"]) {
            "" if ports.len() > 1 => causes.push(Cause::required(field("name"), "")),
            "" => {}
            name => {
                let wrong = |why: String| Cause::invalid(field("name"), &port["name"], &why);
                causes.extend(names::label(name).into_iter().map(wrong));
            }
        }
        for key in ["port", "targetPort"] {
            let number = port[key].as_i64();
            if number.is_some_and(|number| !(1..=65535).contains(&number)) {
                let detail = "must be between 1 and 65535, inclusive";
                causes.push(Cause::invalid(field(key), &port[key], detail));
            }
        }
    }
    if !TYPES.iter().any(|known| spec["type"] == *known) {
        causes.push(Cause::unsupported("spec.type", &spec["type"], &TYPES));
    }
    let has_address = spec["type"] != "ExternalName" && !text(&spec["clusterIP"]).is_empty();
    if has_address && list(&spec["clusterIPs"]).is_empty() {
        causes.push(Cause::required("spec.clusterIPs", ""));
    }
    address_stays(spec, old, causes);
}

/// No two ports have a name, or a number and a protocol in common.
fn doubles(ports: &[Value], causes: &mut Vec<Cause>) {
    let (mut names_seen, mut seen) = (Vec::new(), Vec::new());
    for (at, port) in ports.iter().enumerate() {
        let name = text(&port["name"]);
        if !name.is_empty() && names_seen.contains(&name) {
            let field = format!("spec.ports[{at}].name");
            causes.push(Cause::duplicate(field, &port["name"]));
        }
        names_seen.push(name);
        let key = (&port["protocol"], &port["port"]);
        if seen.contains(&key) {
            // As Go writes a port of which only these are set.
            let message = format!(
                r#"Duplicate value: {{"Name":"","Protocol":{},"AppProtocol":null,"Port":{},"TargetPort":0,"NodePort":0}}"#,
                key.0, key.1
            );
            causes.push(Cause::with_message(format!("spec.ports[{at}]"), message));
        }
        seen.push(key);
    }
}

/// A server with addresses of one family gives no others, once Pods are selected.
fn families(spec: &Value) -> Vec<Cause> {
    let selects = spec["selector"]
        .as_object()
        .is_some_and(|map| !map.is_empty());
    if !selects || spec["type"] == "ExternalName" {
        return Vec::new();
    }
    let mut causes = Vec::new();
    for (at, family) in list(&spec["ipFamilies"]).iter().enumerate() {
        if family == "IPv6" {
            let field = format!("spec.ipFamilies[{at}]");
            causes.push(Cause::invalid(
                field,
                family,
                "not configured on this cluster",
            ));
        }
    }
    let policy = &spec["ipFamilyPolicy"];
    if policy == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        causes.push(Cause::invalid("spec.ipFamilyPolicy", policy, why));
    }
    causes
}

fn address_stays(spec: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let has_address =
        |spec: &Value| spec["type"] != "ExternalName" && spec["clusterIP"].is_string();
    let Some(old) = old.map(|old| &old["spec"]).filter(|old| has_address(old)) else {
        return;
    };
    if has_address(spec) && spec["clusterIP"] != old["clusterIP"] {
        let addresses = match &spec["clusterIPs"] {
            Value::Array(_) => spec["clusterIPs"].clone(),
            _ => json!([spec["clusterIP"]]),
        };
        let detail = "may not change once set";
        causes.push(Cause::invalid("spec.clusterIPs[0]", &addresses, detail));
    }
}

/// Gives a new Service `address`, unless it wants none or another one.
pub(crate) fn give_address(service: &mut Value, address: &str) {
    let spec = &mut service["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    if spec["clusterIP"].as_str().unwrap_or_default().is_empty() {
        spec["clusterIP"] = json!(address);
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    // A Service without a selector needs no IP families either.
    let any_family = spec["clusterIP"] == "None" && spec["selector"].is_null();
    let (families, policy) = match any_family {
        true => (json!(["IPv4", "IPv6"]), "RequireDualStack"),
        false => (json!(["IPv4"]), "SingleStack"),
    };
    spec["ipFamilies"] = families;
    spec["ipFamilyPolicy"] = json!(policy);
}

/// Lets a replacement leave out the address that the server once gave the Service.
pub(crate) fn keep_address(service: &mut Value, old: &Value) {
    let (spec, old) = (&mut service["spec"], &old["spec"]);
    let same_type = spec["type"] == old["type"];
    for key in OF_ADDRESS.into_iter().filter(|_| same_type) {
        if spec
            .get(key)
            .is_none_or(|value| value.is_null() || value == "")
            && let Some(kept) = old.get(key)
        {
            spec[key] = kept.clone();
        }
    }
    if spec["clusterIPs"].is_null() && spec["clusterIP"] == "None" {
        give_address(service, "");
    }
}
