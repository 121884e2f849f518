//! The daemon: it follows the Fleet objects of its namespace.

use serde_json::{Value as Json, json};

use super::component::{Component, Pods};
use super::people::people;
use super::rights::{Applied, controller_rules, definitions_rule, fleet_rules, lease_rules, rule};
use crate::api::fleet::Mode;
use crate::api::kinds::CAPSTAN;

/// The fleets of a daemon, and its settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaemonSettings {
    /// The kinds of its fleets.
    pub applied: Applied,
    /// The Secrets of its namespace that Fleets name.
    pub secrets: Vec<String>,
    /// Those of them with a kubeconfig.
    pub kubeconfigs: Vec<String>,
    /// The Fleets.
    pub fleets: Vec<Json>,
    /// The mode of its ARO controllers.
    pub aro: Mode,
    /// The number of its pods, of which one applies.
    pub replicas: u16,
    /// The other namespaces whose Fleets it follows.
    pub tenants: Vec<String>,
    /// The account that a tenant's Fleet acts as if it names none.
    pub default_account: Option<String>,
}

/// The objects of the daemon, in the order to apply them.
#[must_use]
pub fn daemon(component: &Component, settings: &DaemonSettings) -> Vec<Json> {
    let mut wide = settings.applied.rules();
    wide.push(definitions_rule());
    let mut near = fleet_rules();
    // A Fleet is let go while its namespace is deleted, and with it the rights there.
    near.push(rule("", &["namespaces"], &["get"]));
    if !settings.tenants.is_empty() {
        wide.push(rule("", &["namespaces"], &["get"]));
        wide.push(rule(CAPSTAN, &["fleets"], &["get", "patch"]));
    }
    // A kubeconfig is followed, other keys are read when they are used. If a kubeconfig is gone, a deleted Fleet waits for nothing.
    for (names, verbs) in [
        (&settings.secrets, ["get"].as_slice()),
        (&settings.kubeconfigs, ["get", "list", "watch"].as_slice()),
    ] {
        if !names.is_empty() {
            near.push(json!({"apiGroups": [""], "resources": ["secrets"],
                "resourceNames": names, "verbs": verbs}));
        }
    }
    if settings.aro != Mode::Off {
        wide.extend(controller_rules());
    }
    near.extend(lease_rules());
    let mut arguments = ["run", "--fleets"].map(str::to_owned).to_vec();
    arguments.push(aro_argument(settings.aro));
    let tenants = settings.tenants.iter();
    arguments.extend(tenants.map(|namespace| format!("--tenant={namespace}")));
    let account = settings.default_account.iter();
    arguments.extend(account.map(|name| format!("--default-service-account={name}")));
    let pods = Pods {
        arguments,
        replicas: settings.replicas,
        resources: json!({"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}),
        ..Pods::default()
    };
    let parts = [
        component.account(),
        people(),
        component.roles(&wide, &near),
        component.deployment(&pods),
        settings.fleets.clone(),
    ];
    parts.concat()
}

/// The argument of `capstan run` for the ARO controllers.
pub(super) fn aro_argument(mode: Mode) -> String {
    let mode = match mode {
        Mode::Auto => "auto",
        Mode::On => "on",
        Mode::Off => "off",
    };
    format!("--aro={mode}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::{PEOPLE, default_kinds};

    fn objects(settings: &DaemonSettings) -> Vec<Json> {
        let component = Component {
            name: "capstan",
            namespace: "n".to_owned(),
            image: "i".to_owned(),
        };
        daemon(&component, settings)
    }

    #[test]
    fn nothing_is_granted_with_a_star_and_no_secret_without_its_name() {
        let settings = DaemonSettings {
            applied: default_kinds(),
            secrets: vec!["git".to_owned()],
            kubeconfigs: vec!["git".to_owned()],
            ..DaemonSettings::default()
        };
        for aro in [Mode::Off, Mode::Auto] {
            let all = objects(&DaemonSettings {
                aro,
                ..settings.clone()
            });
            let roles = all.iter().filter(|object| object.get("rules").is_some());
            for rule in roles.flat_map(|role| role["rules"].as_array().into_iter().flatten()) {
                assert!(!rule.to_string().contains('*'), "{rule}");
                let is_of_secrets = rule["resources"] == json!(["secrets"]);
                let is_named = rule["resourceNames"] == json!(["git"]);
                assert!(!is_of_secrets || is_named || aro == Mode::Auto, "{rule}");
            }
        }
    }

    /// The verbs that the roles of the daemon grant on a resource.
    fn verbs(settings: &DaemonSettings, resource: &str) -> Vec<Json> {
        let is_own = |object: &Json| {
            !PEOPLE
                .iter()
                .any(|name| object["metadata"]["name"] == *name)
        };
        let all = objects(settings).into_iter().filter(is_own);
        let rules = all.flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default());
        let own = rules.filter(|rule| {
            let resources = rule["resources"].as_array();
            resources.is_some_and(|all| all.contains(&json!(resource)))
        });
        own.map(|rule| rule["verbs"].clone()).collect()
    }

    #[test]
    fn only_a_kubeconfig_is_watched_and_no_part_of_a_cluster_is_deleted() {
        let mut settings = DaemonSettings {
            applied: default_kinds(),
            secrets: vec!["git".to_owned()],
            aro: Mode::Off,
            ..DaemonSettings::default()
        };
        assert_eq!(verbs(&settings, "secrets"), [json!(["get"])]);
        settings.kubeconfigs.push("there".to_owned());
        let both = [json!(["get"]), json!(["get", "list", "watch"])];
        assert_eq!(verbs(&settings, "secrets"), both);
        let has_delete = |resource: &str| {
            let verbs = verbs(&settings, resource);
            verbs
                .iter()
                .any(|verbs| verbs.to_string().contains("delete"))
        };
        assert!(has_delete("machinepools") && !has_delete("arocontrolplanes"));
    }

    #[test]
    fn tenants_are_arguments_of_the_program() {
        let all = objects(&DaemonSettings {
            tenants: vec!["one".to_owned(), "two".to_owned()],
            default_account: Some("deployer".to_owned()),
            ..DaemonSettings::default()
        });
        let deployment = all.iter().find(|object| object["kind"] == "Deployment");
        let deployment = deployment.expect("it is there");
        let expected = [
            "run",
            "--fleets",
            "--aro=auto",
            "--tenant=one",
            "--tenant=two",
            "--default-service-account=deployer",
            "--serve=:8080",
        ];
        assert_eq!(
            deployment["spec"]["template"]["spec"]["containers"][0]["args"],
            json!(expected)
        );
    }

    #[test]
    fn pods_run_as_any_user_with_a_read_only_root() {
        let all = objects(&DaemonSettings::default());
        let deployment = all.iter().find(|object| object["kind"] == "Deployment");
        let spec = &deployment.expect("it is there")["spec"];
        let pod = &spec["template"]["spec"];
        assert!(!pod.to_string().contains("runAsUser"), "{pod}");
        assert!(!pod.to_string().contains("fsGroup"), "{pod}");
        let container = &pod["containers"][0];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    }
}
