//! Services: their ports and addresses.

use serde_json::{Value, json};

use super::list;
use crate::adapters::sim::api::custom::text;
use crate::adapters::sim::api::status::Cause;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// What the server says of a Service's address, beside the address itself.
const OF_ADDRESS: [&str; 4] = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];

pub(super) fn service(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let ports = list(&spec["ports"]);
    let headless = spec["clusterIPs"] == json!(["None"]) || spec["type"] == "ExternalName";
    if !headless && ports.is_empty() {
        causes.push(Cause::required("spec.ports", ""));
    }
    for (at, port) in ports.iter().enumerate() {
        let field = |key: &str| format!("spec.ports[{at}].{key}");
        if ports.len() > 1 && port["name"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(field("name"), ""));
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
pub(in super::super) fn give_address(service: &mut Value, address: &str) {
    let spec = &mut service["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    if spec["clusterIP"].as_str().unwrap_or_default().is_empty() {
        spec["clusterIP"] = json!(address);
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    // Whoever selects no Pods says nothing of their families either.
    let any_family = spec["clusterIP"] == "None" && spec["selector"].is_null();
    let (families, policy) = match any_family {
        true => (json!(["IPv4", "IPv6"]), "RequireDualStack"),
        false => (json!(["IPv4"]), "SingleStack"),
    };
    spec["ipFamilies"] = families;
    spec["ipFamilyPolicy"] = json!(policy);
}

/// Lets a replacement leave out what the server once said of the Service's address.
pub(in super::super) fn keep_address(service: &mut Value, old: &Value) {
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
