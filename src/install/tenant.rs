//! The namespace of a tenant: an account that its Fleets act as, and the daemon's rights there.
//!
//! In: the kinds of the tenant's fleets, and the names. Out: plain objects, in the order to apply them. It does not know who
//! writes the fleets.

use serde_json::{Value as Json, json};

use super::component::{APP, binding, role};
use super::rights::{Applied, fleet_rules, rule};
use crate::api::labels::{MANAGED_BY, MANAGED_BY_VALUE};

/// The name of the daemon's account and of its Deployment.
pub const DAEMON: &str = "capstan";
/// The name of the daemon's Role in a tenant's namespace.
const FLEETS: &str = "capstan-fleets";
/// The value of the label that names the application.
const TENANT: &str = "capstan-tenant";

/// A namespace with Fleets outside the daemon's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tenant {
    /// The namespace.
    pub namespace: String,
    /// The name of the account that its Fleets act as.
    pub account: String,
    /// The namespace of the daemon.
    pub daemon_namespace: String,
    /// The kinds of its fleets.
    pub applied: Applied,
    /// The Secrets that its Fleets name; `None` for all of the namespace.
    pub secrets: Option<Vec<String>>,
    /// Those of the Secrets with a kubeconfig, which are followed.
    pub kubeconfigs: Vec<String>,
    /// The Fleets.
    pub fleets: Vec<Json>,
}

/// The objects of a tenant's namespace, in the order to apply them.
#[must_use]
pub fn tenant(tenant: &Tenant) -> Vec<Json> {
    let namespace = json!({"name": tenant.namespace});
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": tenant.metadata(&tenant.account)}),
    ];
    let account = (tenant.namespace.as_str(), tenant.account.as_str());
    let wide = tenant.applied.cluster_rules();
    if !wide.is_empty() {
        // An account of this name in another namespace has a role of its own.
        let name = format!("{TENANT}:{}:{}", tenant.namespace, tenant.account);
        let metadata = json!({"name": name, "labels": labels()});
        objects.push(role("ClusterRole", &metadata, &wide));
        objects.push(binding("ClusterRole", &metadata, account));
    }
    let metadata = tenant.metadata(&tenant.account);
    let near = tenant.applied.namespaced_rules();
    objects.push(role("Role", &metadata, &near));
    objects.push(binding("Role", &metadata, account));
    let metadata = tenant.metadata(FLEETS);
    objects.push(role("Role", &metadata, &tenant.daemon_rules()));
    let daemon = (tenant.daemon_namespace.as_str(), DAEMON);
    objects.push(binding("Role", &metadata, daemon));
    objects.extend(tenant.fleets.iter().cloned());
    objects
}

fn labels() -> Json {
    json!({APP: TENANT, MANAGED_BY: MANAGED_BY_VALUE})
}

impl Tenant {
    fn metadata(&self, name: &str) -> Json {
        json!({"name": name, "namespace": self.namespace, "labels": labels()})
    }

    /// The rules of the daemon in the namespace.
    fn daemon_rules(&self) -> Vec<Json> {
        let mut rules = fleet_rules();
        match &self.secrets {
            None => rules.push(rule("", &["secrets"], &["get"])),
            Some(names) if names.is_empty() => {}
            Some(names) => rules.push(
                json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get"]}),
            ),
        }
        if !self.kubeconfigs.is_empty() {
            rules.push(json!({"apiGroups": [""], "resources": ["secrets"],
                "resourceNames": self.kubeconfigs, "verbs": ["list", "watch"]}));
        }
        rules.push(json!({"apiGroups": [""], "resources": ["serviceaccounts"],
            "resourceNames": [self.account], "verbs": ["get", "impersonate"]}));
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tenant_kinds;

    fn with_kind(kind: &str, objects: &[Json]) -> Vec<Json> {
        let own = objects.iter().filter(|object| object["kind"] == kind);
        own.cloned().collect()
    }

    fn printed(applied: Applied) -> Vec<Json> {
        tenant(&Tenant {
            namespace: "team".to_owned(),
            account: "deployer".to_owned(),
            daemon_namespace: "capstan-system".to_owned(),
            applied,
            secrets: Some(vec!["git".to_owned()]),
            kubeconfigs: vec!["there".to_owned()],
            fleets: Vec::new(),
        })
    }

    #[test]
    fn clusters_need_no_right_outside_the_namespace() {
        let objects = printed(tenant_kinds());
        assert!(with_kind("ClusterRole", &objects).is_empty());
        for role in with_kind("Role", &objects) {
            assert_eq!(role["metadata"]["namespace"], "team");
            let text = role.to_string();
            assert!(!text.contains('*') && !text.contains("leases"), "{text}");
        }
        for rule in with_kind("Role", &objects)[0]["rules"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let text = rule.to_string();
            let is_read = !text.contains("patch");
            let decides = ["namespaces", "azureclusteridentities"];
            assert!(
                is_read || !decides.iter().any(|kind| text.contains(kind)),
                "{text}"
            );
        }
    }

    #[test]
    fn the_daemon_acts_as_one_account_and_reads_named_secrets() {
        let objects = printed(tenant_kinds());
        let roles = with_kind("Role", &objects);
        let of_daemon = &roles[1]["rules"].to_string();
        for part in [
            r#""resourceNames":["deployer"],"resources":["serviceaccounts"],"verbs":["get","impersonate"]"#,
            r#""resourceNames":["git"],"resources":["secrets"],"verbs":["get"]"#,
            r#""resourceNames":["there"],"resources":["secrets"],"verbs":["list","watch"]"#,
        ] {
            assert!(of_daemon.contains(part), "{of_daemon}");
        }
        let bindings = with_kind("RoleBinding", &objects);
        let daemon =
            json!([{"kind": "ServiceAccount", "name": "capstan", "namespace": "capstan-system"}]);
        assert_eq!(bindings[1]["subjects"], daemon);
        let of_account = roles[0]["rules"].to_string();
        assert!(!of_account.contains("secrets") && !of_account.contains("impersonate"));
    }

    #[test]
    fn kinds_without_a_namespace_need_a_cluster_role() {
        let class = ("storage.k8s.io".to_owned(), "storageclasses".to_owned());
        let applied = Applied {
            written: [class.clone()].into(),
            cluster_scoped: [class].into(),
            ..Applied::default()
        };
        let objects = printed(applied);
        let roles = with_kind("ClusterRole", &objects);
        assert_eq!(roles[0]["metadata"]["name"], "capstan-tenant:team:deployer");
        assert_eq!(roles[0]["rules"][0]["resources"], json!(["storageclasses"]));
        let near = with_kind("Role", &objects)[0]["rules"].to_string();
        assert!(!near.contains("storageclasses"), "{near}");
    }
}
