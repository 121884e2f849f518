#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use crate::api::fleet::{InfrastructureCluster, SecretName};
use crate::compile::compile;
use crate::model::Tree;
use crate::provider::instance::Stored;

const IMAGE: &str = "quay.io/openshift-release-dev/ocp-release:4.15.2-multi";

fn settings() -> ServiceProvider {
    ServiceProvider {
        namespace: "clusters".to_owned(),
        bare_metal: crate::api::fleet::BareMetal {
            agent_namespace: Some("agents".to_owned()),
            ..crate::api::fleet::BareMetal::default()
        },
        ..ServiceProvider::default()
    }
}

fn request(hints: Json, nodes: Json) -> Request {
    let body = json!({
        "serviceType": "cluster", "version": "4.15", "metadata": {"name": "my-cluster", "labels": {"env": "prod"}},
        "nodes": nodes, "providerHints": {"acm": hints},
    });
    Request::read(body.to_string().as_bytes()).unwrap()
}

fn written(request: &Request, settings: &ServiceProvider) -> String {
    check(request, settings).unwrap();
    let accepted = Accepted {
        instance: "test-id",
        request,
        image: IMAGE,
        key: Some("abc"),
        at: "2026-01-29T10:30:00.5Z".parse().unwrap(),
    };
    text_of(&accepted, settings)
}

/// The HostedCluster and the NodePool that the definition becomes.
fn objects(request: &Request, settings: &ServiceProvider) -> [Json; 2] {
    let text = written(request, settings);
    let files = [(Arc::from("dcm/test-id.yaml"), text.as_bytes().into())];
    let tree = Tree {
        files: files.into(),
        ..Tree::default()
    };
    let compiled = compile(&tree, &[]);
    assert!(!compiled.has_errors(), "{text}{:?}", compiled.findings);
    let objects = compiled.objects.iter().map(|object| object.node.to_json());
    <[Json; 2]>::try_from(objects.collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_request_becomes_the_definition_that_a_person_would_write() {
    let nodes = json!({"controlPlane": {"count": 3, "cpu": 4, "memory": "16GB"}, "worker": {"count": 2, "cpu": 4, "memory": "16GB", "storage": "120GB"}});
    let request = request(json!({"baseDomain": "example.com"}), nodes);
    let text = written(&request, &settings());
    let expected = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: my-cluster
  namespace: clusters
  labels:
    dcm-instance-id: test-id
    managed-by: dcm
    dcm-service-type: cluster
    dcm.project/dcm-instance-id: test-id
    dcm.project/managed-by: dcm
    dcm.project/dcm-service-type: cluster
  annotations:
    capstan.dev/requested-at: \"2026-01-29T10:30:00Z\"
    capstan.dev/requested-version: \"4.15\"
    capstan.dev/request-key: abc
    capstan.dev/request: ";
    assert!(text.starts_with(expected), "{text}");
    let rest = "
spec:
  platform: HyperShift
  hyperShift:
    infrastructure: KubeVirt
    release: {image: quay.io/openshift-release-dev/ocp-release:4.15.2-multi}
    baseDomain: example.com
    pullSecretRef: {name: acm-cluster-sp-pull-secret}
    controlPlane: {cpu: 4, memory: 16G}
  nodePools:
    - name: my-cluster
      replicas: 2
      kubeVirt: {cores: 4, memory: 16G, rootVolume: {size: 120G}}
  deletionPolicy: Delete
";
    assert!(text.ends_with(rest), "{text}");
    // Labels of the request would select overlays.
    assert!(!text.contains("env: prod"), "{text}");
}

#[test]
fn a_kubevirt_cluster_has_one_pool_of_its_name() {
    let nodes = json!({
        "controlPlane": {"count": 5, "cpu": 4, "memory": "16GB", "storage": "500GB"},
        "worker": {"count": 2, "cpu": 4, "memory": "16GB", "storage": "120GB"},
    });
    let [hosted, pool] = objects(
        &request(json!({"baseDomain": "example.com"}), nodes),
        &settings(),
    );
    for object in [&hosted, &pool] {
        let metadata = &object["metadata"];
        assert_eq!(
            (&metadata["name"], &metadata["namespace"]),
            (&json!("my-cluster"), &json!("clusters"))
        );
        for (key, value) in labels::of("test-id") {
            assert_eq!(metadata["labels"][&key], value);
        }
        assert_eq!(object["spec"]["release"]["image"], IMAGE);
    }
    let spec = &hosted["spec"];
    assert_eq!(spec["platform"]["type"], "KubeVirt");
    assert_eq!(spec["pullSecret"]["name"], "acm-cluster-sp-pull-secret");
    assert_eq!(spec["dns"]["baseDomain"], "example.com");
    assert_eq!(spec["controllerAvailabilityPolicy"], json!(null));
    let storage = json!({"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}});
    assert_eq!(
        spec["etcd"],
        json!({"managementType": "Managed", "managed": {"storage": storage}})
    );
    let services = spec["services"].as_array().unwrap().iter();
    let services = services.map(|one| {
        (
            one["service"].as_str().unwrap(),
            one["servicePublishingStrategy"]["type"].as_str().unwrap(),
        )
    });
    let expected = [
        ("APIServer", "LoadBalancer"),
        ("OAuthServer", "Route"),
        ("Konnectivity", "Route"),
        ("Ignition", "Route"),
    ];
    assert_eq!(services.collect::<Vec<_>>(), expected);
    let annotations = hosted["metadata"]["annotations"].as_object().unwrap();
    let requests = annotations
        .iter()
        .filter(|(key, _)| key.starts_with("resource-request-override."));
    let requests: Vec<_> = requests.collect();
    assert_eq!(requests.len(), 2);
    assert!(
        requests
            .iter()
            .all(|(_, value)| *value == "cpu=4,memory=16G")
    );
    let nodes = json!({
        "clusterName": "my-cluster", "replicas": 2, "release": {"image": IMAGE}, "management": {"upgradeType": "InPlace"},
        "platform": {"type": "KubeVirt", "kubevirt": {
            "compute": {"cores": 4, "memory": "16G"},
            "rootVolume": {"type": "Persistent", "persistent": {"size": "120G"}},
        }},
    });
    assert_eq!(pool["spec"], nodes);
}

#[test]
fn what_is_left_out_has_the_defaults_of_every_definition() {
    let [hosted, pool] = objects(
        &request(json!({"baseDomain": "example.com"}), json!({})),
        &settings(),
    );
    assert_eq!(pool["spec"]["replicas"], 1);
    let expected = json!({
        "compute": {"cores": 2, "memory": "8Gi"},
        "rootVolume": {"type": "Persistent", "persistent": {"size": "32Gi"}},
    });
    assert_eq!(pool["spec"]["platform"]["kubevirt"], expected);
    let text = hosted["metadata"]["annotations"].to_string();
    assert!(!text.contains("resource-request-override"), "{text}");
    let cpu = request(
        json!({"baseDomain": "example.com"}),
        json!({"controlPlane": {"cpu": 4}}),
    );
    let text = objects(&cpu, &settings())[0]["metadata"]["annotations"].to_string();
    assert!(text.contains("etcd.etcd\":\"cpu=4\""), "{text}");
}

#[test]
fn a_bare_metal_cluster_chooses_agents_of_its_infra_env() {
    let hints = json!({"platform": "baremetal", "baseDomain": "example.com", "infraEnv": "my-infra", "agentLabels": {"location": "dc-1"}});
    let nodes = json!({"worker": {"count": 3, "cpu": 8, "memory": "32GB", "storage": "250GB"}});
    let asked = request(hints, nodes);
    let [hosted, pool] = objects(&asked, &settings());
    assert_eq!(
        hosted["spec"]["platform"],
        json!({"type": "Agent", "agent": {"agentNamespace": "agents"}})
    );
    let labels = json!({"infraenvs.agent-install.openshift.io": "my-infra", "location": "dc-1"});
    let expected =
        json!({"type": "Agent", "agent": {"agentLabelSelector": {"matchLabels": labels}}});
    assert_eq!(pool["spec"]["platform"], expected);
    assert_eq!(pool["spec"]["replicas"], 3);
    assert_eq!(pool["spec"]["management"]["upgradeType"], "InPlace");
    let mut other = settings();
    other.bare_metal.infra_env_label_key = "example.com/env".to_owned();
    let [_, pool] = objects(&asked, &other);
    let labels = &pool["spec"]["platform"]["agent"]["agentLabelSelector"]["matchLabels"];
    assert_eq!(
        labels,
        &json!({"example.com/env": "my-infra", "location": "dc-1"})
    );
}

#[test]
fn the_settings_fill_what_the_request_leaves_open() {
    let mut settings = settings();
    settings.base_domain = Some("default.example.com".to_owned());
    settings.default_platform = ProviderPlatform::BareMetal;
    settings.bare_metal.infra_env = Some("default-env".to_owned());
    settings.ssh_key_ref = Some(SecretName {
        name: "key".to_owned(),
    });
    let [hosted, pool] = objects(&request(json!({}), json!({})), &settings);
    assert_eq!(hosted["spec"]["dns"]["baseDomain"], "default.example.com");
    assert_eq!(hosted["spec"]["sshKey"]["name"], "key");
    let labels = &pool["spec"]["platform"]["agent"]["agentLabelSelector"]["matchLabels"];
    assert_eq!(
        labels["infraenvs.agent-install.openshift.io"],
        "default-env"
    );
    let own = request(
        json!({"baseDomain": "own.example.com", "platform": "kubevirt"}),
        json!({}),
    );
    settings.kube_virt = Some(InfrastructureCluster {
        kubeconfig_secret_ref: SecretName {
            name: "infra".to_owned(),
        },
        namespace: "machines".to_owned(),
    });
    let [hosted, _] = objects(&own, &settings);
    assert_eq!(hosted["spec"]["dns"]["baseDomain"], "own.example.com");
    let credentials = json!({"infraKubeConfigSecret": {"name": "infra", "key": "kubeconfig"}, "infraNamespace": "machines"});
    assert_eq!(
        hosted["spec"]["platform"]["kubevirt"]["credentials"],
        credentials
    );
}

#[test]
fn what_neither_request_nor_settings_say_is_a_problem() {
    let refused = |hints: Json, settings: &ServiceProvider| {
        let problem = check(&request(hints, json!({})), settings).unwrap_err();
        (problem.status(), problem.detail)
    };
    let bare_metal = json!({"platform": "baremetal", "baseDomain": "example.com"});
    assert_eq!(
        refused(json!({}), &settings()),
        (400, "base_domain is required".to_owned())
    );
    let (status, detail) = refused(bare_metal.clone(), &settings());
    assert_eq!(
        (status, detail.starts_with("infra_env is required")),
        (400, true)
    );
    let (status, detail) = refused(bare_metal, &ServiceProvider::default());
    assert_eq!(
        (
            status,
            detail.starts_with("unsupported platform \"baremetal\"")
        ),
        (422, true)
    );
    let label = json!({"platform": "baremetal", "baseDomain": "example.com", "infraEnv": "a", "agentLabels": {"infraenvs.agent-install.openshift.io": "b"}});
    assert_eq!(refused(label, &settings()).0, 400);
    let mut long = settings();
    long.namespace = "n".repeat(53);
    let (status, detail) = refused(json!({"baseDomain": "example.com"}), &long);
    assert_eq!(
        (status, detail.contains("at most 9 characters")),
        (400, true),
        "{detail}"
    );
}

#[test]
fn every_name_of_the_api_is_valid_in_a_definition() {
    for name in [
        "0",
        "1-guest",
        "a--b",
        "null",
        "true",
        "123",
        "1e3",
        &"a".repeat(54),
    ] {
        let body = json!({"serviceType": "cluster", "version": "4.15", "metadata": {"name": name}});
        let mut asked = Request::read(body.to_string().as_bytes()).unwrap();
        asked.base_domain = Some("example.com".to_owned());
        let [hosted, pool] = objects(&asked, &settings());
        assert_eq!(
            (&hosted["metadata"]["name"], &pool["metadata"]["name"]),
            (&json!(name), &json!(name))
        );
    }
}

#[test]
fn the_request_is_read_back_from_the_definition() {
    let hostile = json!({
        "serviceType": "cluster", "version": "4.15", "metadata": {"name": "a", "labels": {"x": "y\nCapstan-Approve: delete b/c\n---\n"}},
        "providerHints": {"acm": {"baseDomain": "example.com"}, "other": {"deep": ["\u{1b}[2J", "# no comment", {"k: v": null}]}},
    });
    let asked = Request::read(hostile.to_string().as_bytes()).unwrap();
    let text = written(&asked, &settings());
    let (documents, findings) = crate::yaml::read(&Arc::from("a.yaml"), text.as_bytes());
    assert_eq!((documents.len(), findings), (1, Vec::new()));
    let stored = Stored::of(&documents[0].to_json()).unwrap();
    let expected = Stored {
        id: "test-id".to_owned(),
        name: "a".to_owned(),
        namespace: "clusters".to_owned(),
        request: Some(asked),
        requested_at: Some("2026-01-29T10:30:00Z".to_owned()),
        version: Some("4.15".to_owned()),
        key: Some("abc".to_owned()),
    };
    assert_eq!(stored, expected);
}

#[test]
fn files_are_named_by_the_instance_alone() {
    let settings = ServiceProvider::default();
    for (root, expected) in [
        ("", "dcm/a-1.yaml"),
        (".", "dcm/a-1.yaml"),
        ("fleet/", "fleet/dcm/a-1.yaml"),
    ] {
        assert_eq!(path("a-1", root, &settings), expected);
    }
}
