//! What a Fleet document, flags and the environment come to.

use serde_json::json;

use super::*;
use crate::api::fleet::{FirstApply, LinkSwitches, Management, Mode};

fn environment() -> Environment {
    Environment::from(|name| (name == "HOME").then(|| "/home/me".to_owned()))
}

#[test]
fn the_credential_is_that_of_the_flag_or_of_the_document() {
    let source =
        "{source: {git: {url: 'https://h/x', secretRef: {name: git}, ref: {semver: 1.x}}}}";
    let config = document(source).expect("it is sound");
    assert_eq!(
        config.credential,
        Some(SourceCredential::Secret("git".to_owned()))
    );
    let range = config.reference.and_then(|reference| reference.semver);
    assert_eq!(range.as_deref(), Some("1.x"));
    let mut environment = environment();
    environment.source_credential = Some("/run/git".into());
    let config = SyncConfig::source("https://h/x", None, &environment);
    let files = SourceCredential::Directory("/run/git".into());
    assert_eq!(config.credential, Some(files));
    assert_eq!(config.interval, Duration::from_secs(60));
    let message = document(&source.replace("1.x", "soon")).expect_err("no range");
    assert!(
        message.contains("\"soon\" is not a range of versions"),
        "{message}"
    );
}

#[test]
fn checks_go_to_the_forge_that_the_document_names() {
    let of = |checks: &str| {
        let spec = format!("{{source: {{git: {{url: 'https://h/o/r'}}}}, checks: {checks}}}");
        document(&spec).expect("it is sound").forge
    };
    assert_eq!(of("{}"), None);
    assert_eq!(of("{provider: GitNotes}"), None);
    let gitea = ForgeConfig {
        provider: ForgeKind::Gitea,
        repository: None,
        address: None,
        credential: None,
    };
    assert_eq!(of("{provider: Gitea}"), Some(gitea.clone()));
    let secret = SourceCredential::Secret("token".to_owned());
    assert_eq!(
        of("{provider: Gitea, repository: o/x, address: 'https://g', secretRef: {name: token}}"),
        Some(ForgeConfig {
            repository: Some("o/x".to_owned()),
            address: Some("https://g".to_owned()),
            credential: Some(secret),
            ..gitea
        })
    );
}

#[test]
fn a_source_is_called_after_its_repository() {
    for (url, name) in [
        ("/srv/Config.git", "config"),
        ("file:///a/b/", "b"),
        ("https://x/y_z.git", "y-z"),
        ("/", "fleet"),
    ] {
        assert_eq!(SyncConfig::source(url, None, &environment()).fleet, name);
    }
    assert_ne!(
        SyncConfig::source("/a/x", None, &environment()).mirror,
        SyncConfig::source("/b/x", None, &environment()).mirror
    );
}

fn document(spec: &str) -> Result<SyncConfig, String> {
    let text = format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: prod, namespace: fleets}}\nspec: {spec}\n"
    );
    SyncConfig::document("fleet.yaml", text.as_bytes(), &environment())
        .map_err(|error| error.to_string())
}

#[test]
fn a_fleet_document_is_resolved_with_its_defaults() {
    let config = document("{source: {git: {url: /srv/config.git, path: fleet, interval: 5s}}}")
        .expect("it is sound");
    assert_eq!(
        (config.fleet.as_str(), config.namespace.as_str()),
        ("prod", "fleets")
    );
    assert_eq!(
        (config.path.as_str(), config.interval),
        ("fleet", Duration::from_secs(5))
    );
    assert_eq!(
        config
            .reference
            .and_then(|reference| reference.branch)
            .as_deref(),
        Some("main")
    );
    assert_eq!(config.candidates, fleet::PULL_REQUESTS);
    assert_eq!(
        (config.concurrency, config.settle),
        (32, Duration::from_secs(120))
    );
    assert_eq!(config.kubeconfig_secret, None);
    assert_eq!(config.mode, fleet::FleetMode::Apply);
}

#[test]
fn a_fleet_that_is_only_checked_needs_a_cluster_for_nothing_but_secrets() {
    let of = |more: &str| {
        let spec = format!("{{mode: check, source: {{git: {{url: 'https://h/x'{more}}}}}}}");
        document(&spec).expect("it is sound")
    };
    let config = of("");
    assert!(config.is_check_only() && !config.reads_secrets());
    assert!(of(", secretRef: {name: git}").reads_secrets());
}

#[test]
fn who_may_approve_is_anybody_who_may_write_unless_the_document_says_so() {
    let of = |spec: &str| {
        let spec = format!("{{source: {{git: {{url: /x}}}}{spec}}}");
        document(&spec).expect("it is sound").approvals
    };
    assert_eq!(of(""), ApprovalRules::default());
    let found = of(", approvals: {approvers: [ann, bob], notAuthor: true}");
    let named = ["ann", "bob"].map(str::to_owned).to_vec();
    assert_eq!((found.approvers, found.not_author), (Some(named), true));
    assert_eq!(of(", approvals: {approvers: []}").approvers, Some(vec![]));
}

#[test]
fn the_merge_queue_of_the_followed_branch_is_planned_on_github() {
    let of = |reference: &str, checks: &str| {
        let spec = format!("{{source: {{git: {{url: /x{reference}}}}}, checks: {checks}}}");
        document(&spec).expect("it is sound").candidates
    };
    let found = of("", "{provider: GitHub}");
    assert_eq!(found[..4], fleet::PULL_REQUESTS);
    assert_eq!(found[4..], ["refs/heads/gh-readonly-queue/main/*"]);
    let found = of(", ref: {branch: rel/a}", "{provider: GitHub}");
    assert_eq!(found[4..], ["refs/heads/gh-readonly-queue/rel/a/*"]);
    let found = of(", ref: {tag: v1}", "{provider: GitHub}");
    assert_eq!(found, fleet::PULL_REQUESTS, "nothing is merged into a tag");
    let set = of(
        "",
        "{provider: GitHub, pullRequests: {refs: ['refs/heads/x']}}",
    );
    assert_eq!(set, ["refs/heads/x"]);
}

#[test]
fn pull_requests_of_azure_devops_are_found_by_their_test_merges() {
    let of = |checks: &str| {
        let spec = format!("{{source: {{git: {{url: /x}}}}, checks: {checks}}}");
        document(&spec).expect("it is sound").candidates
    };
    let found = of("{provider: AzureDevOps}");
    assert_eq!(found[..4], fleet::PULL_REQUESTS);
    assert_eq!(found[4..], ["refs/pull/*/merge"]);
    assert_eq!(of("{provider: Gitea}"), fleet::PULL_REQUESTS);
    let set = of("{provider: AzureDevOps, pullRequests: {refs: ['refs/heads/x']}}");
    assert_eq!(set, ["refs/heads/x"]);
    let off = of("{provider: AzureDevOps, pullRequests: {enabled: false}}");
    assert!(off.is_empty(), "{off:?}");
}

#[test]
fn the_policy_has_what_the_rules_need() {
    let config = document(
        "{source: {git: {url: /x, path: /fleet/}}, tenancy: [{path: a, kinds: []}], outside: [{kind: Secret, name: s}], rules: {experimentalReleaseFeatures: true}}",
    );
    let policy = config.expect("it is sound").policy;
    assert_eq!((policy.root.as_str(), policy.experimental), ("fleet", true));
    assert_eq!(policy.tenants[0].kinds, Some(Vec::new()));
    assert_eq!(policy.outside[0].to_string(), "Secret/s");
    let policy = document("{source: {git: {url: /x}}}")
        .expect("it is sound")
        .policy;
    let switches = FleetPolicy {
        links: Some(LinkSwitches::default()),
        ..FleetPolicy::default()
    };
    assert_eq!(policy, switches);
}

#[test]
fn a_document_that_is_an_object_says_nothing_of_controllers() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("fleet.yaml");
    let links = |spec: &str| {
        let head = "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n";
        let text = format!("{head}spec: {{source: {{git: {{url: u}}}}, {spec}}}\n");
        std::fs::write(&file, text).expect("it is written");
        super::policy(&file).expect("it is sound").links
    };
    let off = LinkSwitches {
        platform: Mode::Off,
        ..LinkSwitches::default()
    };
    assert_eq!(links("controllers: {privateLinkPlatform: off}"), Some(off));
    assert_eq!(links("dependsOn: [{name: network}]"), None);
}

#[test]
fn the_identity_of_the_management_side_is_in_the_namespace_of_the_fleet() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("fleet.yaml");
    let namespace = |metadata: &str, identity: &str| {
        let management = format!(
            "{{subscriptionID: 550e8400-e29b-41d4-a716-446655440000, resourceGroup: g, identityRef: {{name: link{identity}}}}}"
        );
        let head = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f{metadata}}}\n"
        );
        let text = format!(
            "{head}spec: {{source: {{git: {{url: u}}}}, privateLink: {{management: {management}}}}}\n"
        );
        std::fs::write(&file, text).expect("it is written");
        let management = super::policy(&file).expect("it is sound").management;
        management.and_then(|management| management.identity_ref.namespace)
    };
    assert_eq!(namespace("", ""), None);
    assert_eq!(namespace(", namespace: a", ""), Some("a".to_owned()));
    assert_eq!(
        namespace(", namespace: a", ", namespace: b"),
        Some("b".to_owned())
    );
}

#[test]
fn the_aro_controllers_run_as_the_document_says() {
    let of = |controllers: &str| {
        let spec = format!("{{source: {{git: {{url: /x}}}}, controllers: {controllers}}}");
        document(&spec).map(|config| (config.controllers.aro, config.controllers.first_apply))
    };
    assert_eq!(of("{}"), Ok((Mode::Auto, FirstApply::Probe)));
    assert_eq!(of("{aro: off}"), Ok((Mode::Off, FirstApply::Probe)));
    assert_eq!(
        of("{aro: on, firstApply: direct}"),
        Ok((Mode::On, FirstApply::Direct))
    );
}

#[test]
fn the_cluster_may_be_that_of_a_kubeconfig_in_a_secret() {
    let of = |cluster: &str| {
        document(&format!(
            "{{source: {{git: {{url: /x}}}}, cluster: {cluster}}}"
        ))
    };
    let named = of("{kubeconfigSecretRef: {name: mgmt}}").expect("it is sound");
    assert_eq!(named.kubeconfig_secret.as_deref(), Some("mgmt"));
    assert_eq!(of("{}").expect("it is sound").kubeconfig_secret, None);
    assert!(of("{kubeconfigSecretRef: {name: ''}}").is_err());
    let message = of("{kubeconfigSecretRef: {name: a, key: b}}").expect_err("no such field");
    assert!(message.contains("key"), "{message}");
}

#[test]
fn mistakes_are_reported() {
    let cases = [
        ("{source: {git: {url: /x, brnch: main}}}", "fleet.yaml:4:"),
        (
            "{source: {git: {url: /x, verify: {keys: [k]}}}}",
            "fleet.yaml:4:48: S04 the key is neither",
        ),
        (
            "{source: {git: {url: /x, verify: {mode: Tag, keys: [k]}}}}",
            "fleet.yaml:4:47: S04 mode Tag verifies the followed tag",
        ),
        (
            "{source: {git: {url: /x}}, tenancy: [{path: a, identities: }]}",
            "spec.tenancy[0].identities has no value",
        ),
        (
            "{source: {directory: {path: /x}, git: {url: /x}}}",
            "fleet.yaml:4:16: S04 `spec.source`: too many",
        ),
        (
            "{source: {directory: {path: /x, verify: {keys: [k]}}}}",
            "fleet.yaml:4:",
        ),
        (
            "{source: {directory: {path: /x}}, checks: {pullRequests: {}}}",
            "fleet.yaml:4:64: S04 a directory has no pull requests",
        ),
    ];
    for (spec, expected) in cases {
        let message = document(spec).expect_err(spec);
        assert!(message.contains(expected), "{spec}: {message}");
    }
    assert!(SyncConfig::document("f", b"a: [", &environment()).is_err());
}

#[test]
fn a_directory_takes_the_place_of_a_repository() {
    let config = document("{source: {directory: {path: /git/current, overlays: [o]}}}");
    let config = config.expect("it is sound");
    let at = PathBuf::from("/git/current");
    assert_eq!(config.directory.as_ref(), Some(&at));
    assert_eq!(
        (config.url.as_str(), config.path.as_str()),
        ("/git/current", "")
    );
    assert_eq!((config.overlays.len(), config.candidates.len()), (1, 0));
    assert_eq!(config.interval, Duration::from_secs(30));
    let flag = SyncConfig::directory(&at, &environment());
    assert_eq!(
        (flag.fleet.as_str(), flag.interval),
        ("current", config.interval)
    );
    assert_eq!(flag.mirror.extension(), Some("directory".as_ref()));
    let here = SyncConfig::directory(".".as_ref(), &environment());
    assert_ne!(here.fleet, "fleet", "it has the name of the directory");
    let none = "{source: {directory: {path: /x}}, checks: {pullRequests: {enabled: false}}}";
    assert!(document(none).is_ok());
    let git = document("{source: {git: {url: /x}}}").expect("it is sound");
    assert_eq!(git.directory, None);
}

#[test]
fn a_port_is_opened_only_for_who_asks_for_one() {
    let of = |more: &str| {
        let config = document(&format!("{{source: {{git: {{url: /x}}}}{more}}}"));
        let config = config.expect("it is sound");
        (config.serve, config.webhook_secret)
    };
    assert_eq!(of(""), (None, None));
    let default = Some("127.0.0.1:8080".to_owned());
    assert_eq!(of(", serve: {}"), (default, None));
    let secret = ", serve: {address: ':80'}, checks: {webhookSecretRef: {name: hook}}";
    let name = SourceCredential::Secret("hook".to_owned());
    assert_eq!(of(secret), (Some(":80".to_owned()), Some(name)));
}

fn reported(text: &str) -> Vec<String> {
    let error = SyncConfig::document("f", text.as_bytes(), &environment());
    let message = error.expect_err("it has errors").to_string();
    let place = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    message.lines().map(place).collect()
}

#[test]
fn mistakes_are_reported_in_the_order_of_their_lines() {
    let fleet = "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec:\n";
    let mistakes = "  zeta: 1\n  source: {git: {url: u, interval: soon, brnch: x}}\n  apply: {suspend: maybe, conc: 3}\n  tenancy: [{path: ../b}]\n";
    assert_eq!(
        reported(&format!("{fleet}{mistakes}")),
        [
            "f:5:3: S01",
            "f:6:36: S04",
            "f:6:42: S01",
            "f:7:20: S02",
            "f:7:27: S01",
            "f:8:20: S04"
        ]
    );
}

#[test]
fn a_document_of_another_kind_is_reported_as_that_alone() {
    let overlay =
        "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: a}\nspec: {aply: 1}\n";
    assert_eq!(reported(overlay), ["f:2:7: S04"]);
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    assert_eq!(reported(config_map), ["f:1:13: S04", "f:2:7: S04"]);
    let two = SyncConfig::document("f", b"a: 1\n---\nb: 1\n", &environment());
    let message = two.expect_err("there are two").to_string();
    assert_eq!(message, "f: expected one Fleet document, found 2 documents");
}

fn object(uid: &str, spec: &Json) -> Result<SyncConfig, String> {
    object_of(FleetOwner::Platform, uid, spec)
}

fn object_of(owner: FleetOwner<'_>, uid: &str, spec: &Json) -> Result<SyncConfig, String> {
    let mut environment = environment();
    environment.source_credential = Some("/run/git".into());
    let object = json!({
        "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "spec": spec,
        "metadata": {"name": "prod", "namespace": "team", "uid": uid, "managedFields": [{}]}, "status": {},
    });
    SyncConfig::object(&object, owner, &environment).map_err(|error| error.to_string())
}

#[test]
fn only_the_platform_says_where_the_management_cluster_is() {
    let management = json!({
        "subscriptionID": "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10", "resourceGroup": "mgmt",
        "networkResourceGroup": "net", "identityRef": {"name": "link", "namespace": "platform"},
    });
    let source = json!({"git": {"url": "https://h/x"}});
    let spec = json!({"source": source, "privateLink": {"management": management}});
    let policy = object("1", &spec).expect("it is sound").policy;
    assert_eq!(
        policy.links, None,
        "its daemon starts none of the controllers"
    );
    let own = policy.management;
    assert_eq!(
        own.as_ref().map(Management::network_resource_group),
        Some("net")
    );
    let tenant = FleetOwner::Tenant {
        default_account: Some("deployer"),
    };
    let why = object_of(tenant, "1", &spec).expect_err("refused");
    assert!(why.contains("spec.privateLink belongs to Fleets"), "{why}");
    let spec = json!({"source": source, "privateLink": {}});
    assert!(object_of(tenant, "1", &spec).is_ok());
}

#[test]
fn a_fleet_object_has_nothing_of_the_process() {
    // What the API server adds by default is no setting.
    let source = json!({"git": {"url": "https://h/x", "secretRef": {"name": "git"}}});
    let spec = json!({"source": source, "serve": {"address": "127.0.0.1:8080"}, "controllers": {"aro": "auto", "firstApply": "probe"}});
    let config = object("1", &spec).expect("it is sound");
    assert_eq!(
        (&*config.fleet, &*config.namespace, &config.serve),
        ("prod", "team", &None)
    );
    let secret = SourceCredential::Secret("git".to_owned());
    assert_eq!(config.credential, Some(secret));
    let hook = json!({"source": source, "checks": {"webhookSecretRef": {"name": "hook"}}});
    let hook = object("1", &hook).expect("it is sound");
    let secret = SourceCredential::Secret("hook".to_owned());
    assert_eq!(hook.webhook_secret, Some(secret));
    let open = json!({"source": {"git": {"url": "https://h/x"}}});
    let open = object("1", &open).expect("it is sound");
    assert_eq!(open.credential, None, "the process has another one");
    assert_ne!(open.mirror, config.mirror, "another credential");
    let again = object("2", &spec).expect("it is sound");
    assert_ne!(again.mirror, config.mirror, "another object of the name");
    for (key, value, words) in [
        ("serve", json!({"address": ":9"}), "has one port for all"),
        ("controllers", json!({"aro": "off"}), "set --aro"),
        ("aply", json!({}), "aply"),
    ] {
        let mut spec = spec.clone();
        spec[key] = value;
        let why = object("1", &spec).expect_err("refused");
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_service_provider_has_an_address_and_a_branch_to_write_to() {
    let of = |provider: &str, more: &str| {
        let serve = "serve: {serviceProvider: {address: ':8081'}}";
        let spec = format!(
            "{{source: {{git: {{url: 'https://h/o/r'}}}}, {serve}, serviceProvider: {{{provider}}}{more}}}"
        );
        document(&spec).map(|config| config.provider.expect("a provider"))
    };
    let direct = of("", "").expect("it is sound");
    assert_eq!((direct.branch, &*direct.address), (None, ":8081"));
    let commit = of("writeMode: commit", "").expect("it is sound");
    assert_eq!(commit.branch.as_deref(), Some("main"));
    for (spec, words) in [
        (
            "{source: {git: {url: u, ref: {tag: v1}}}, serve: {serviceProvider: {address: ':1'}}, serviceProvider: {writeMode: commit}}",
            "writes to a branch",
        ),
        (
            "{source: {directory: {path: /d}}, serve: {serviceProvider: {address: ':1'}}, serviceProvider: {writeMode: commit}}",
            "writes to a branch",
        ),
        (
            "{source: {git: {url: u}}, serviceProvider: {}}",
            "has no address",
        ),
        (
            "{source: {git: {url: u}}, serve: {serviceProvider: {address: ':1'}}}",
            "add spec.serviceProvider",
        ),
        (
            "{source: {git: {url: u}}, mode: check, serve: {serviceProvider: {address: ':1'}}, serviceProvider: {}}",
            "spec.mode: check writes nothing",
        ),
        (
            "{source: {git: {url: u}}, cluster: {kubeconfigSecretRef: {name: a}}, serve: {serviceProvider: {address: ':1'}}, serviceProvider: {hubKubeconfig: {name: b}}}",
            "name two clusters",
        ),
    ] {
        let message = document(spec).expect_err(words);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_service_provider_looks_once_a_second_at_most() {
    let of = |provider: &str| {
        let serve = "serve: {serviceProvider: {address: ':8081'}}";
        let spec = format!(
            "{{source: {{git: {{url: 'https://h/o/r'}}}}, {serve}, serviceProvider: {{{provider}}}}}"
        );
        document(&spec)
    };
    assert!(of("messaging: {url: 'nats://n', resync: 1s}").is_ok());
    let message = of("messaging: {url: 'nats://n', resync: 999ms}").expect_err("it is short");
    assert!(message.contains("at least 1s"), "{message}");
    let registration = "registration: {url: 'http://r', endpoint: 'http://e', renewal: 0s}";
    assert!(of(registration).is_err());
}

#[test]
fn a_provider_that_writes_to_the_hub_needs_no_source() {
    let document = |spec: &str| {
        let text = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: a}}\nspec: {spec}\n"
        );
        SyncConfig::document("fleet.yaml", text.as_bytes(), &Environment::default())
    };
    let serve = "serve: {address: ':8080', serviceProvider: {address: ':8090'}}";
    for provider in ["{}", "{writeMode: direct}"] {
        let config =
            document(&format!("{{serviceProvider: {provider}, {serve}}}")).expect("it is valid");
        assert!(config.follows_nothing);
    }
    for spec in [
        format!("{{serviceProvider: {{writeMode: commit}}, {serve}}}"),
        format!("{{serviceProvider: {{writeMode: pullRequest}}, {serve}}}"),
        "{serve: {address: ':8080'}}".to_owned(),
    ] {
        let refused = document(&spec)
            .expect_err("a source is missing")
            .to_string();
        assert!(refused.contains("source"), "{spec}: {refused}");
    }
}
