//! The addresses of Services.
//!
//! In: a Service on its way in, and the one it replaces. Out: the same with what follows from its
//! having no address of its own, and with what an update does not say again. No addresses are given
//! out: nothing listens on any.

use serde_json::{Value, json};

/// What an update keeps when it says nothing of it.
const KEPT: [&str; 4] = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];

/// Fills in the addresses of a Service.
pub(super) fn complete(object: &mut Value, old: Option<&Value>) {
    if object["spec"]["type"] == "ExternalName" {
        return;
    }
    let Some(spec) = object["spec"].as_object_mut() else {
        return;
    };
    for key in KEPT {
        let before = old.and_then(|old| old["spec"].get(key));
        if let (false, Some(before)) = (spec.contains_key(key), before) {
            spec.insert(key.into(), before.clone());
        }
    }
    if spec.get("clusterIP").is_some_and(|ip| ip == "None") {
        spec.entry("clusterIPs").or_insert(json!(["None"]));
        spec.entry("ipFamilies").or_insert(json!(["IPv4"]));
        spec.entry("ipFamilyPolicy").or_insert(json!("SingleStack"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_addresses_is_kept() {
        let mut service = json!({"spec": {"clusterIP": "None"}});
        complete(&mut service, None);
        assert_eq!(service["spec"]["clusterIPs"], json!(["None"]));
        let mut update = json!({"spec": {"ports": []}});
        complete(&mut update, Some(&service));
        assert_eq!(update["spec"]["clusterIP"], "None");
        assert_eq!(update["spec"]["ipFamilyPolicy"], "SingleStack");
        let mut other = json!({"spec": {"type": "ExternalName"}});
        complete(&mut other, Some(&service));
        assert_eq!(other, json!({"spec": {"type": "ExternalName"}}));
    }
}
