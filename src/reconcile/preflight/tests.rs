//! What is found of Azure Service Operator: absent, healthy, patterns missing, foreign, not to be seen.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::api::kinds::{self, KINDS};

const HELM: &str = "azureserviceoperator-system";

/// The Deployment of the Helm chart with these arguments and variables, ready.
fn deployment(namespace: &str, args: &[&str], env: &[(&str, &str)]) -> Value {
    let env = env.iter();
    let env = env.map(|(name, value)| json!({"name": name, "value": value}));
    json!({
        "metadata": {"name": DEPLOYMENT, "namespace": namespace},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "proxy", "image": "example.com/proxy:v9", "args": ["--crd-pattern=wrong"]},
            {"name": "manager", "image": "mcr.microsoft.com/k8s/azureserviceoperator:v2.13.0",
             "args": args, "env": env.collect::<Vec<_>>()},
        ]}}},
        "status": {"readyReplicas": 1},
    })
}

fn keys(names: &[&str]) -> Keys {
    Keys::Named(names.iter().map(|name| (*name).to_owned()).collect())
}

/// With a global credential.
fn credential() -> Keys {
    keys(&[
        "AZURE_SUBSCRIPTION_ID",
        "AZURE_TENANT_ID",
        "AZURE_CLIENT_ID",
    ])
}

fn whole() -> String {
    format!("--crd-pattern={}", pattern::needed())
}

/// A cluster with these installations and a cluster in the namespace `clusters`, which does not serve the kinds.
fn seen(deployments: &[Value], unserved: &[&str]) -> Seen {
    let operators = deployments.iter();
    let operators = operators.map(|one| Operator::read(one, credential()));
    let kinds = KINDS.iter().filter(|kind| unserved.contains(&kind.kind));
    Seen {
        operators: Ok(operators.collect()),
        unserved: Ok(kinds.copied().collect()),
        namespaces: ["clusters".to_owned()].into(),
        environments: BTreeSet::new(),
    }
}

/// `azureEnvironment` says where a cluster is; the settings of the operator say where it works.
#[test]
fn issue_15_an_operator_works_in_the_cloud_of_the_clusters() {
    let china = [
        ("AZURE_AUTHORITY_HOST", "https://login.chinacloudapi.cn/"),
        (
            "AZURE_RESOURCE_MANAGER_ENDPOINT",
            "https://management.chinacloudapi.cn",
        ),
    ];
    let at = |environments: &[&str], env: &[(&str, &str)]| {
        let installed = deployment(HELM, &[&whole()], env);
        let environments = environments.iter().map(|one| (*one).to_owned());
        Seen {
            environments: environments.collect(),
            ..seen(&[installed], &[])
        }
    };
    for (environments, env, expected) in [
        (&[][..], &china[..], &[][..]),
        (&["", "AzurePublicCloud"], &[], &[]),
        (&["AzureChinaCloud"], &china, &[]),
        (&["AzureChinaCloud"], &[], &["OtherCloud"]),
        (&["AzureChinaCloud"], &china[..1], &["OtherCloud"]),
        (&[""], &china, &["OtherCloud"]),
        (
            &["AzureChinaCloud", "AzureUSGovernmentCloud"],
            &china,
            &["OtherCloud"],
        ),
    ] {
        let found = reasons(&at(environments, env));
        assert_eq!(found, expected, "{environments:?} {env:?}");
    }
    let report = report(&at(&["AzureUSGovernmentCloud"], &[]));
    let (_, text) = found(&report);
    assert!(
        text.contains("AZURE_AUTHORITY_HOST=https://login.microsoftonline.us"),
        "{text}"
    );
    let audience = (
        "AZURE_RESOURCE_MANAGER_AUDIENCE",
        "https://management.core.usgovcloudapi.net for AzureUSGovernmentCloud",
    );
    let audience = (audience.0, audience.1.to_owned());
    assert!(report.settings.contains(&audience), "{:?}", report.settings);
    // A value in a Secret is not read, so nothing is known to be wrong.
    let mut hidden = at(&["AzureChinaCloud"], &[]);
    for operator in hidden.operators.iter_mut().flatten() {
        operator.keys = keys(&[
            "AZURE_SUBSCRIPTION_ID",
            "AZURE_AUTHORITY_HOST",
            "AZURE_RESOURCE_MANAGER_ENDPOINT",
        ]);
    }
    assert!(!reasons(&hidden).contains(&"OtherCloud"));
}

/// The reasons and the texts.
fn found(report: &Report) -> (Vec<&'static str>, String) {
    let findings = report.findings.iter();
    let reasons = findings.clone().map(|finding| finding.reason).collect();
    let texts: Vec<String> = findings.map(ToString::to_string).collect();
    (reasons, texts.join("\n"))
}

fn reasons(seen: &Seen) -> Vec<&'static str> {
    found(&report(seen)).0
}

#[test]
fn an_operator_that_serves_all_clusters_has_no_findings() {
    for env in [
        &[][..],
        &[
            ("AZURE_OPERATOR_MODE", "both"),
            ("AZURE_TARGET_NAMESPACES", ""),
        ],
        &[
            ("AZURE_OPERATOR_MODE", "nonsense"),
            ("DEFAULT_RECONCILE_POLICY", "manage"),
        ],
        &[("USE_WORKLOAD_IDENTITY_AUTH", "true")],
    ] {
        let report = report(&seen(&[deployment(HELM, &[&whole()], env)], &[]));
        assert!(report.is_fine() && report.findings.is_empty(), "{report:?}");
        assert_eq!(
            report.titles(),
            [format!("Azure Service Operator v2.13.0 in {HELM}, runs")]
        );
    }
}

#[test]
fn kinds_that_exist_need_no_pattern() {
    let without = deployment(HELM, &["--crd-pattern="], &[]);
    assert!(reasons(&seen(&[without], &[])).is_empty());
}

#[test]
fn an_absent_operator_is_an_error_with_the_pattern_to_install_it_with() {
    let all: Vec<&str> = KINDS.iter().map(|kind| kind.kind).collect();
    let absent = report(&seen(&[], &all));
    let (reasons, text) = found(&absent);
    assert_eq!(reasons, ["NotInstalled"]);
    assert_eq!(absent.findings[0].level, Level::Error);
    let pattern = "--set crdPattern='resources.azure.com/*;network.azure.com/*;keyvault.azure.com/*;managedidentity.azure.com/*;authorization.azure.com/*;redhatopenshift.azure.com/*'";
    assert!(text.contains(pattern), "{text}");
    assert_eq!(absent.titles(), ["Azure Service Operator: none found"]);
    let hidden = report(&seen(&[], &[]));
    assert_eq!(
        hidden.findings[0].level,
        Level::Warning,
        "its kinds are there"
    );
}

#[test]
fn the_version_is_that_of_the_image_and_who_installed_it_is_named() {
    let version = |image: &str, label: Option<&str>| {
        let mut one = deployment("capz-system", &[], &[]);
        one["spec"]["template"]["spec"]["containers"][1]["image"] = json!(image);
        one["metadata"]["labels"] = json!({"app.kubernetes.io/version": label});
        report(&seen(&[one], &[])).titles().remove(0)
    };
    for (image, label, expected) in [
        ("r.io:5000/aso:v2.1.0", None, "v2.1.0 in"),
        ("r.io:5000/aso:v2.1.0@sha256:00", None, "v2.1.0 in"),
        ("r.io:5000/aso@sha256:00", Some("v2.2.0"), "v2.2.0 in"),
        ("r.io:5000/aso@sha256:00", None, "of an unknown version in"),
    ] {
        let title = version(image, label);
        let expected =
            format!("Azure Service Operator {expected} capz-system, installed by CAPZ, runs");
        assert_eq!(title, expected, "{image}");
    }
}

#[test]
fn an_operator_that_does_not_run_is_an_error_with_its_reason() {
    let condition = json!([
        {"type": "Available", "status": "False", "message": "Deployment does not have minimum availability."},
        {"type": "ReplicaFailure", "status": "True", "message": "pods is forbidden: exceeded quota: small, requested: memory=512Mi."},
    ]);
    for (replicas, status, expected) in [
        (1, json!({}), "does not run: it has no ready pod: see"),
        (0, json!({}), "does not run: it is scaled to zero: see"),
        (
            1,
            json!({"conditions": condition}),
            "exceeded quota: small, requested: memory=512Mi: see",
        ),
    ] {
        let mut one = deployment(HELM, &[], &[]);
        one["spec"]["replicas"] = json!(replicas);
        one["status"] = status;
        let report = report(&seen(&[one], &[]));
        let (reasons, text) = found(&report);
        assert_eq!(reasons, ["NotHealthy"]);
        assert!(text.contains(expected), "{text}");
        assert!(report.titles()[0].ends_with(", does not run"));
    }
}

#[test]
fn missing_kinds_come_with_the_pattern_by_who_installed_it() {
    let lacking = "--crd-pattern=resources.azure.com/*;cache.azure.com/*";
    let missing = ["Vault", "HcpOpenShiftCluster"];
    let help = |namespace: &str, args: &[&str], release: Option<&str>| {
        let mut one = deployment(namespace, args, &[]);
        one["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": release});
        let (reasons, text) = found(&report(&seen(&[one], &missing)));
        assert_eq!(reasons, ["KindsNotServed"]);
        assert!(text.contains("does not serve Vault.keyvault.azure.com, HcpOpenShiftCluster.redhatopenshift.azure.com"), "{text}");
        text
    };
    let kept =
        "resources.azure.com/*;cache.azure.com/*;keyvault.azure.com/*;redhatopenshift.azure.com/*";
    let helm = help(HELM, &[lacking], Some("aso2"));
    assert!(helm.contains(&format!("helm upgrade aso2 aso2/azure-service-operator --namespace {HELM} --reuse-values --set crdPattern='{kept}'")), "{helm}");
    let pattern = lacking.strip_prefix("--crd-pattern=").expect("an argument");
    let other = help("mine", &["--crd-pattern", pattern], None);
    assert!(other.contains(&format!("with whatever installed Deployment/mine/{DEPLOYMENT}, set its argument to --crd-pattern={kept}.")), "{other}");
    let capz = help("capz-system", &[lacking], None);
    assert!(
        capz.contains("ADDITIONAL_ASO_CRDS='keyvault.azure.com/*;redhatopenshift.azure.com/*'"),
        "{capz}"
    );
    let without = help("mine", &[], None);
    assert!(
        without.contains("--crd-pattern=keyvault.azure.com/*;redhatopenshift.azure.com/*."),
        "{without}"
    );
    let named = help("mine", &[&whole()], None);
    assert!(named.contains("already has Vault.keyvault.azure.com, HcpOpenShiftCluster.redhatopenshift.azure.com: v2.13.0 does not know them"), "{named}");
}

#[test]
fn settings_of_others_that_leave_clusters_out_are_reported() {
    for (env, expected, words) in [
        (
            &[("AZURE_TARGET_NAMESPACES", " a , b")][..],
            &["NamespacesLeftOut"][..],
            "only the namespaces a,b, not clusters, where clusters are: add clusters, or let it reconcile all",
        ),
        (
            &[("AZURE_TARGET_NAMESPACES", "a,clusters")],
            &["NamespacesLimited"],
            "for a cluster in another one",
        ),
        (
            &[("AZURE_OPERATOR_MODE", "webhooks")],
            &["NoWatchers"],
            "creates nothing",
        ),
        (
            &[("AZURE_OPERATOR_MODE", "watchers")],
            &["NoWebhooks"],
            "cannot be converted",
        ),
        (
            &[("DEFAULT_RECONCILE_POLICY", "skip")],
            &["OtherDefaultPolicy"],
            "its default reconcile policy is skip",
        ),
    ] {
        let (reasons, text) = found(&report(&seen(&[deployment("theirs", &[], env)], &[])));
        assert_eq!(reasons, expected, "{env:?}");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn several_operators_may_share_the_work_but_no_namespace() {
    let webhooks = deployment(HELM, &[], &[("AZURE_OPERATOR_MODE", "webhooks")]);
    let watchers = |namespace: &str, targets: &str| {
        let env = [
            ("AZURE_OPERATOR_MODE", "watchers"),
            ("AZURE_TARGET_NAMESPACES", targets),
        ];
        deployment(namespace, &[], &env)
    };
    let both = deployment("capz-system", &[], &[]);
    for (operators, expected) in [
        (
            vec![webhooks.clone(), watchers("a", "clusters")],
            &["NamespacesLimited"][..],
        ),
        (
            vec![webhooks.clone(), watchers("a", "a"), watchers("b", "b")],
            &["NamespacesLeftOut"],
        ),
        (
            vec![
                webhooks.clone(),
                watchers("a", "clusters"),
                watchers("b", "clusters"),
            ],
            &["SeveralOperators", "NamespacesLimited"],
        ),
        (
            vec![both.clone(), deployment(HELM, &[], &[])],
            &["SeveralOperators"],
        ),
        (vec![both, webhooks], &[]),
    ] {
        assert_eq!(reasons(&seen(&operators, &[])), expected);
    }
}

/// Neither the report nor what it is made of has a value of the Secret: only its keys are passed on.
#[test]
fn settings_in_the_secret_are_named_and_not_read() {
    let with = |keys: Keys, env: &[(&str, &str)]| {
        let operator = Operator::read(&deployment(HELM, &[], env), keys);
        found(&report(&Seen {
            operators: Ok(vec![operator]),
            ..seen(&[], &[])
        }))
    };
    let (reasons, text) = with(
        keys(&[
            "AZURE_SUBSCRIPTION_ID",
            "AZURE_OPERATOR_MODE",
            "AZURE_TARGET_NAMESPACES",
        ]),
        &[],
    );
    assert_eq!(reasons, ["SettingsNotRead"]);
    assert!(text.contains("AZURE_OPERATOR_MODE must be empty or both; AZURE_TARGET_NAMESPACES must be empty, or name"), "{text}");
    let secret = keys(&["AZURE_SUBSCRIPTION_ID", "AZURE_CLIENT_SECRET"]);
    assert!(with(secret.clone(), &[]).0.is_empty());
    let env = [("USE_WORKLOAD_IDENTITY_AUTH", "true")];
    assert_eq!(with(secret, &env).0, ["TwoCredentials"]);
    for missing in [keys(&[]), keys(&["AZURE_CLIENT_ID", "AZURE_TENANT_ID"])] {
        assert_eq!(with(missing, &[]).0, ["NoGlobalCredential"]);
    }
    assert_eq!(with(Keys::Missing, &[]).0, ["SettingsMissing"]);
    let (reasons, text) = with(Keys::Unseen("you may not get secrets".to_owned()), &[]);
    assert_eq!(reasons, ["SettingsNotSeen"]);
    assert!(
        text.contains(
            "you may not get secrets: to have its settings checked, grant get of secrets"
        ),
        "{text}"
    );
}

#[test]
fn a_variable_that_refers_to_the_secret_is_not_read_either() {
    let reference = |secret: &str, key: &str| {
        let mut one = deployment(HELM, &[], &[("AZURE_OPERATOR_MODE", "")]);
        let from = json!({"name": "AZURE_OPERATOR_MODE", "valueFrom": {"secretKeyRef": {"name": secret, "key": key, "optional": true}}});
        one["spec"]["template"]["spec"]["containers"][1]["env"][0] = from;
        reasons(&seen(&[one], &[]))
    };
    assert_eq!(reference(SETTINGS, "AZURE_CLIENT_ID"), ["SettingsNotRead"]);
    assert!(
        reference(SETTINGS, "AZURE_OPERATOR_MODE").is_empty(),
        "the key is not there"
    );
    assert_eq!(reference("another", "x"), ["SettingsNotRead"]);
}

#[test]
fn what_may_not_be_seen_is_a_note() {
    let vault = kinds::find(kinds::KEYVAULT, "Vault").copied().unwrap();
    let denied = |unserved| Seen {
        operators: Err("nobody may not list deployments".to_owned()),
        unserved,
        environments: BTreeSet::new(),
        namespaces: BTreeSet::new(),
    };
    let hidden = report(&denied(Err("no answer".to_owned())));
    assert!(hidden.is_fine(), "nothing is known to be wrong");
    assert_eq!(found(&hidden).0, ["NotSeen", "KindsNotSeen"]);
    let (reasons, text) = found(&report(&denied(Ok(vec![vault]))));
    assert_eq!(reasons, ["KindsNotServed", "NotSeen"]);
    assert!(
        text.contains(
            "add keyvault.azure.com/* to its crdPattern (--crd-pattern; ADDITIONAL_ASO_CRDS"
        ),
        "{text}"
    );
}
