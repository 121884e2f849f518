//! The ARO controllers alone, for clusters that something else applies.

use serde_json::{Value as Json, json};

use super::component::{Component, Pods};
use super::rights::{
    cluster_controller_rules, controller_rules, lease_reading_rule, lease_rules,
    namespaced_controller_rules,
};
use crate::model::Namespaces;

/// The objects of the controllers, in the order to apply them. Of several pods one acts. If they watch some namespaces alone, their
/// rights are in these, with a Lease in each.
#[must_use]
pub fn controllers(component: &Component, replicas: u16, watched: &Namespaces) -> Vec<Json> {
    let mut arguments = vec!["controllers".to_owned()];
    let roles = match watched {
        Namespaces::All => component.roles(&controller_rules(), &lease_rules()),
        Namespaces::Some(names) => {
            arguments.extend(names.iter().map(|name| format!("--watch-namespace={name}")));
            let mut rules = namespaced_controller_rules();
            rules.extend(lease_rules());
            let wide = cluster_controller_rules(names);
            let mut roles = component.roles(&wide, &[lease_reading_rule()]);
            roles.extend(component.roles_in(names, &rules));
            roles
        }
    };
    let pods = Pods {
        arguments,
        replicas,
        resources: json!({"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}),
        ..Pods::default()
    };
    [component.account(), roles, component.deployment(&pods)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(watched: &Namespaces) -> Vec<Json> {
        let component = Component {
            name: "capstan-controllers",
            namespace: "home".to_owned(),
            image: "i".to_owned(),
        };
        controllers(&component, 2, watched)
    }

    /// The rules of roles by their namespace, which is empty for those of the cluster.
    fn rules<'a>(objects: &'a [Json], namespace: &'a str) -> impl Iterator<Item = &'a Json> {
        let roles = objects.iter().filter(|one| one.get("rules").is_some());
        let roles = roles.filter(move |role| {
            role["metadata"]["namespace"].as_str().unwrap_or_default() == namespace
        });
        roles.flat_map(|role| role["rules"].as_array().into_iter().flatten())
    }

    #[test]
    fn nothing_with_a_namespace_is_granted_outside_of_those_that_are_watched() {
        let objects = printed(&Namespaces::of_text("a,b"));
        let wide: Vec<String> = rules(&objects, "")
            .map(|rule| rule["resources"].to_string())
            .collect();
        assert_eq!(wide, [r#"["namespaces"]"#, r#"["deployments"]"#]);
        let named = rules(&objects, "").map(|rule| &rule["resourceNames"]);
        let named: Vec<&Json> = named.collect();
        assert_eq!(named, [&json!(["a", "b"]), &Json::Null]);
        let home: Vec<&Json> = rules(&objects, "home").collect();
        assert_eq!(home, [&lease_reading_rule()]);
        for namespace in ["a", "b"] {
            let granted: Vec<String> = rules(&objects, namespace).map(Json::to_string).collect();
            let granted = granted.join("\n");
            for resource in ["\"secrets\"", "\"vaults\"", "\"leases\"", "\"aroclusters\""] {
                assert!(granted.contains(resource), "{resource}: {granted}");
            }
            assert!(!granted.contains('*'), "{granted}");
        }
    }

    #[test]
    fn rights_by_namespace_and_for_the_cluster_are_the_same_together() {
        let resources = |objects: &[Json]| {
            let roles = objects.iter().filter(|one| one.get("rules").is_some());
            let rules = roles.flat_map(|role| role["rules"].as_array().into_iter().flatten());
            let mut all: Vec<String> = rules
                .filter(|rule| rule["resources"] != json!(["leases"]))
                .map(|rule| format!("{} {}", rule["resources"], rule["verbs"]))
                .collect();
            all.sort();
            all
        };
        let some = printed(&Namespaces::of_text("a"));
        assert_eq!(resources(&some), resources(&printed(&Namespaces::All)));
    }

    #[test]
    fn the_namespaces_are_arguments_of_the_program() {
        let objects = printed(&Namespaces::of_text("a,home"));
        let deployment = objects.iter().find(|one| one["kind"] == "Deployment");
        let spec = &deployment.expect("it is there")["spec"]["template"]["spec"];
        let expected = [
            "controllers",
            "--watch-namespace=a",
            "--watch-namespace=home",
            "--serve=:8080",
        ];
        assert_eq!(spec["containers"][0]["args"], json!(expected));
        let mut names: Vec<String> = objects
            .iter()
            .filter(|one| one["kind"] == "Role")
            .map(|role| {
                format!(
                    "{} {}",
                    role["metadata"]["namespace"], role["metadata"]["name"]
                )
            })
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 3, "no Role takes the place of another");
    }
}
