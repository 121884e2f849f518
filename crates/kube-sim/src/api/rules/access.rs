//! Roles and bindings.

use serde_json::{Value, json};

use crate::api::status::Cause;
use crate::api::values::list;

pub(super) fn role(object: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    rules(object, true, causes);
}

pub(super) fn cluster_role(object: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    rules(object, false, causes);
}

fn rules(role: &Value, namespaced: bool, causes: &mut Vec<Cause>) {
    for (at, rule) in list(&role["rules"]).iter().enumerate() {
        let has = |key: &str| !list(&rule[key]).is_empty();
        let mut require = |key: &str, detail: &str| {
            causes.push(Cause::required(format!("rules[{at}].{key}"), detail));
        };
        if !has("verbs") {
            require("verbs", "verbs must contain at least one value");
        }
        if has("nonResourceURLs") {
            let mixed = ["apiGroups", "resources", "resourceNames"];
            let details = [
                (
                    namespaced,
                    "namespaced rules cannot apply to non-resource URLs",
                ),
                (
                    mixed.into_iter().any(has),
                    "rules cannot apply to both regular resources and non-resource URLs",
                ),
            ];
            for (_, detail) in details.into_iter().filter(|(wrong, _)| *wrong) {
                let field = format!("rules[{at}].nonResourceURLs");
                causes.push(Cause::invalid(field, &rule["nonResourceURLs"], detail));
            }
            continue;
        }
        if !has("apiGroups") {
            require(
                "apiGroups",
                "resource rules must supply at least one api group",
            );
        }
        if !has("resources") {
            require(
                "resources",
                "resource rules must supply at least one resource",
            );
        }
    }
}

pub(super) fn binding(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let role = &object["roleRef"];
    if old.is_some_and(|old| old["roleRef"] != *role) {
        // As the server's own type spells it.
        let shown =
            json!({"APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"]});
        causes.push(Cause::invalid("roleRef", &shown, "cannot change roleRef"));
    }
}
