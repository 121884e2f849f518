//! Roles for people: those who look, those who write clusters, and those who look after the platform.
//!
//! Out: ClusterRoles, to be bound in the namespaces of a team or in the whole cluster. It does not know who is who.

use serde_json::{Value as Json, json};

use super::component::{APP, role};
use super::rights::{IDENTITIES, default_kinds, grouped, rule, tenant_kinds};
use super::tenant::DAEMON;
use crate::api::kinds::{CAPSTAN, INFRASTRUCTURE};
use crate::api::labels::{MANAGED_BY, MANAGED_BY_VALUE};

/// The names of the roles.
pub const PEOPLE: [&str; 3] = ["capstan-viewer", "capstan-author", "capstan-operator"];

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 4] = ["create", "patch", "update", "delete"];

/// The roles. Nobody gets Secrets.
pub(super) fn people() -> Vec<Json> {
    let kinds = default_kinds();
    let all = kinds.written.union(&kinds.read);
    let namespaced = all.filter(|resource| !kinds.cluster_scoped.contains(resource));
    let mut view = vec![rule(CAPSTAN, &["fleets"], &READ)];
    view.extend(grouped(namespaced, &READ));
    let mut author = view.clone();
    // A team chooses an identity for its clusters, and makes none.
    author.extend(grouped(tenant_kinds().written.iter(), &WRITE));
    let mut operator = author.clone();
    operator.extend([
        rule(CAPSTAN, &["fleets"], &WRITE),
        rule(INFRASTRUCTURE, &[IDENTITIES], &WRITE),
        // The parents of the sets, by which `capstan sync` and `suspend` steer the daemon.
        rule("", &["configmaps"], &["get", "list", "patch"]),
    ]);
    let [viewer, writer, keeper] = PEOPLE;
    let to_view = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    vec![
        named(viewer, &to_view, &view),
        named(writer, &json!({}), &author),
        named(keeper, &json!({}), &operator),
    ]
}

fn named(name: &str, more: &Json, rules: &[Json]) -> Json {
    let mut labels = json!({APP: DAEMON, MANAGED_BY: MANAGED_BY_VALUE});
    for (key, value) in more.as_object().into_iter().flatten() {
        labels[key] = value.clone();
    }
    role(
        "ClusterRole",
        &json!({"name": name, "labels": labels}),
        rules,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(list: &Json, text: &str) -> bool {
        list.as_array()
            .is_some_and(|list| list.contains(&json!(text)))
    }

    /// Returns true if a role grants a verb on a resource.
    fn grants(role: &Json, resource: &str, verb: &str) -> bool {
        let mut rules = role["rules"].as_array().into_iter().flatten();
        rules.any(|rule| has(&rule["resources"], resource) && has(&rule["verbs"], verb))
    }

    #[test]
    fn each_role_may_more_than_the_one_before_and_none_reads_secrets() {
        let [viewer, author, operator] = <[Json; 3]>::try_from(people()).expect("three roles");
        for role in [&viewer, &author, &operator] {
            assert!(grants(role, "aroclusters", "get") && grants(role, "fleets", "list"));
            assert!(!grants(role, "secrets", "get"));
            assert!(!role.to_string().contains('*'));
        }
        for (resource, may) in [
            ("aroclusters", [false, true, true]),
            (IDENTITIES, [false, false, true]),
            ("fleets", [false, false, true]),
            ("vaults", [false; 3]),
            ("namespaces", [false; 3]),
        ] {
            let found = [&viewer, &author, &operator].map(|role| grants(role, resource, "create"));
            assert_eq!(found, may, "{resource}");
        }
        let label = "rbac.authorization.k8s.io/aggregate-to-view";
        assert_eq!(viewer["metadata"]["labels"][label], "true");
    }
}
