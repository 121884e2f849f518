#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

use serde_json::{Value as Json, json};

use crate::api::cluster_definition;
use crate::model::{Finding, Node, Object, Origin, Span};
use crate::overlay;

const UUID: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";
const GROUP: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/net/providers/Microsoft.Network";

fn origin(path: &str) -> Origin {
    Origin::new(Span::top(&path.into()))
}

/// A definition with what every hosted cluster needs.
fn base(infrastructure: &str, pool: &Json) -> Json {
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "ClusterDefinition",
        "metadata": {"name": "guest-1", "namespace": "clusters", "labels": {"env": "prod"}},
        "spec": {
            "platform": "HyperShift",
            "hyperShift": {
                "infrastructure": infrastructure,
                "release": {"version": "4.20.17"},
                "baseDomain": "example.com",
                "pullSecretRef": {"name": "pull-secret"},
            },
            "nodePools": [pool],
        },
    })
}

fn kube_virt() -> Json {
    base("KubeVirt", &json!({"name": "workers"}))
}

fn agent() -> Json {
    let over = json!({"spec": {"hyperShift": {"agent": {"namespace": "lab"}}}});
    with(base("Agent", &json!({"name": "workers"})), over)
}

fn azure() -> Json {
    let identity = json!({"clientID": UUID});
    let over = json!({"spec": {"hyperShift": {"azure": {
        "location": "uksouth",
        "subscriptionID": UUID,
        "tenantID": UUID,
        "resourceGroup": "nodes",
        "vnetID": format!("{GROUP}/virtualNetworks/vnet"),
        "subnetID": format!("{GROUP}/virtualNetworks/vnet/subnets/nodes"),
        "securityGroupID": format!("{GROUP}/networkSecurityGroups/nsg"),
        "issuerURL": "https://issuer.example.com/guest-1",
        "serviceAccountSigningKeyRef": {"name": "signing-key"},
        "workloadIdentities": {
            "imageRegistry": identity, "ingress": identity, "file": identity, "disk": identity,
            "nodePoolManagement": identity, "cloudProvider": identity, "network": identity,
            "controlPlaneOperator": identity, "privateLinkService": identity,
        },
    }}}});
    let pool = json!({"name": "workers", "azure": {"vmSize": "Standard_D4s_v5"}});
    with(base("Azure", &pool), over)
}

/// A definition with other values merged onto it.
fn with(definition: Json, over: Json) -> Json {
    let below = Node::from_json(&definition, &origin("base.yaml"));
    overlay::onto(below, &Node::from_json(&over, &origin("over.yaml"))).to_json()
}

fn expanded(definition: &Json) -> (Vec<Object>, Vec<Finding>) {
    let node = Node::from_json(definition, &origin("base.yaml"));
    let (definition, findings) = cluster_definition::read(&node);
    crate::expand::expand(&definition.unwrap_or_else(|| panic!("{findings:?}")))
}

fn objects(definition: &Json) -> Vec<Json> {
    let (objects, findings) = expanded(definition);
    assert_eq!(findings, []);
    objects.iter().map(|object| object.node.to_json()).collect()
}

/// The message and the field of each finding.
fn refused(definition: Json, over: Json) -> Vec<String> {
    let (objects, findings) = expanded(&with(definition, over));
    assert_eq!(objects, []);
    let told = |finding: Finding| {
        assert_eq!(finding.id, "S04");
        assert!(finding.help.is_some());
        format!("{}: {}", finding.field.unwrap(), finding.message)
    };
    findings.into_iter().map(told).collect()
}

#[test]
fn a_small_definition_becomes_a_whole_cluster() {
    let made = objects(&kube_virt());
    let strategy = |service: &str, kind: &str| json!({"service": service, "servicePublishingStrategy": {"type": kind}});
    let cluster = json!({
        "apiVersion": "hypershift.openshift.io/v1beta1",
        "kind": "HostedCluster",
        "metadata": {
            "name": "guest-1",
            "namespace": "clusters",
            "labels": {"env": "prod", "app.kubernetes.io/managed-by": "capstan"},
            "annotations": {
                "capstan.dev/deletion-policy": "Orphan",
                "capstan.dev/source": "base.yaml",
            },
        },
        "spec": {
            "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.17-multi"},
            "pullSecret": {"name": "pull-secret"},
            "dns": {"baseDomain": "example.com"},
            "networking": {
                "networkType": "OVNKubernetes",
                "clusterNetwork": [{"cidr": "10.132.0.0/14"}],
                "serviceNetwork": [{"cidr": "172.31.0.0/16"}],
            },
            "etcd": {
                "managementType": "Managed",
                "managed": {"storage": {"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}}},
            },
            "services": [
                strategy("APIServer", "LoadBalancer"),
                strategy("OAuthServer", "Route"),
                strategy("Konnectivity", "Route"),
                strategy("Ignition", "Route"),
            ],
            "platform": {"type": "KubeVirt", "kubevirt": {}},
        },
    });
    let pool = json!({
        "clusterName": "guest-1",
        "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.17-multi"},
        "replicas": 2,
        "management": {"upgradeType": "InPlace"},
        "platform": {"type": "KubeVirt", "kubevirt": {
            "compute": {"cores": 2, "memory": "8Gi"},
            "rootVolume": {"type": "Persistent", "persistent": {"size": "32Gi"}},
        }},
    });
    assert_eq!(made.len(), 2);
    assert_eq!(made[0], cluster);
    assert_eq!(made[1]["metadata"]["name"], "guest-1-workers");
    assert_eq!(made[1]["spec"], pool);
}

#[test]
fn amounts_are_taken_as_written() {
    let over = json!({"spec": {
        "hyperShift": {
            "controlPlane": {"cpu": 4, "memory": "16Gi"},
            "sshKeyRef": {"name": "ssh-key"},
            "kubeVirt": {"kubeconfigSecretRef": {"name": "infra"}, "namespace": "machines"},
        },
        "nodePools": [{
            "name": "workers",
            "autoscaling": {"min": 1, "max": 3},
            "release": {"image": "mirror.example.com/ocp@sha256:0a"},
            "kubeVirt": {"cores": 8, "rootVolume": {"size": "120Gi", "storageClass": "fast"}},
            "labels": {"tier": "web"},
        }],
    }});
    let made = objects(&with(kube_virt(), over));
    let annotations = &made[0]["metadata"]["annotations"];
    for container in ["kube-apiserver.kube-apiserver", "etcd.etcd"] {
        let name = format!("resource-request-override.hypershift.openshift.io/{container}");
        assert_eq!(annotations[name], "cpu=4,memory=16Gi");
    }
    assert_eq!(made[0]["spec"]["sshKey"]["name"], "ssh-key");
    let credentials = json!({
        "infraKubeConfigSecret": {"name": "infra", "key": "kubeconfig"},
        "infraNamespace": "machines",
    });
    assert_eq!(
        made[0]["spec"]["platform"]["kubevirt"]["credentials"],
        credentials
    );
    let pool = &made[1]["spec"];
    assert_eq!(pool["autoScaling"], json!({"min": 1, "max": 3}));
    assert_eq!(pool.get("replicas"), None);
    assert_eq!(pool["release"]["image"], "mirror.example.com/ocp@sha256:0a");
    assert_eq!(pool["nodeLabels"], json!({"tier": "web"}));
    let machine = json!({
        "compute": {"cores": 8, "memory": "8Gi"},
        "rootVolume": {"type": "Persistent", "persistent": {"size": "120Gi", "storageClass": "fast"}},
    });
    assert_eq!(pool["platform"]["kubevirt"], machine);
}

#[test]
fn agents_are_chosen_by_their_labels_and_infra_env() {
    let over = json!({"spec": {"nodePools": [
        {"name": "workers", "agent": {"infraEnv": "lab", "labels": {"rack": "a"}}},
        {"name": "guest-1"},
    ]}});
    let made = objects(&with(agent(), over));
    assert_eq!(
        made[0]["spec"]["platform"],
        json!({"type": "Agent", "agent": {"agentNamespace": "lab"}})
    );
    let labels = json!({"infraenvs.agent-install.openshift.io": "lab", "rack": "a"});
    let selector = &made[1]["spec"]["platform"]["agent"]["agentLabelSelector"];
    assert_eq!(selector["matchLabels"], labels);
    assert_eq!(made[2]["metadata"]["name"], "guest-1");
    assert_eq!(
        made[2]["spec"]["platform"],
        json!({"type": "Agent", "agent": {}})
    );
}

#[test]
fn a_public_cluster_on_azure_has_the_network_and_the_identities() {
    let made = objects(&azure());
    let spec = &made[0]["spec"];
    assert_eq!(spec["issuerURL"], "https://issuer.example.com/guest-1");
    assert_eq!(spec["serviceAccountSigningKey"]["name"], "signing-key");
    let azure = &spec["platform"]["azure"];
    assert_eq!(azure["topology"], "Public");
    assert_eq!(azure.get("private"), None);
    let identities = &azure["azureAuthenticationConfig"]["workloadIdentities"];
    assert_eq!(identities["disk"]["clientID"], UUID);
    assert_eq!(identities.get("privateLinkService"), None);
    let pool = json!({
        "vmSize": "Standard_D4s_v5",
        "subnetID": format!("{GROUP}/virtualNetworks/vnet/subnets/nodes"),
        "image": {"type": "AzureMarketplace"},
        "osDisk": {"sizeGiB": 120, "diskStorageAccountType": "Premium_LRS"},
    });
    assert_eq!(made[1]["spec"]["platform"]["azure"], pool);
    assert_eq!(made[1]["spec"]["management"]["upgradeType"], "Replace");
}

#[test]
fn a_private_cluster_is_written_in_the_shape_that_is_served() {
    let nat = format!("{GROUP}/virtualNetworks/hub/subnets/nat");
    let other = "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31";
    let over = json!({"spec": {"hyperShift": {"azure": {
        "endpointAccess": "Private",
        "privateConnectivity": {"natSubnetID": nat, "allowedSubscriptions": [UUID.to_uppercase(), other]},
    }}}});
    let landed = with(azure(), over);
    let made = objects(&landed);
    assert_eq!(
        made[0]["spec"]["services"][0]["servicePublishingStrategy"]["type"],
        "Route"
    );
    let azure = &made[0]["spec"]["platform"]["azure"];
    assert_eq!(azure["topology"], "Private");
    let private = json!({"type": "PrivateLink", "privateLink": {
        "natSubnetID": nat, "additionalAllowedSubscriptions": [other],
    }});
    assert_eq!(azure["private"], private);

    let proposal = json!({"spec": {"hyperShift": {"azure": {"apiShape": "proposal"}}}});
    let made = objects(&with(landed, proposal));
    let azure = &made[0]["spec"]["platform"]["azure"];
    assert_eq!(azure["endpointAccess"], "Private");
    let connectivity = json!({"natSubnetID": nat, "allowedSubscriptions": [UUID, other]});
    assert_eq!(azure["privateConnectivity"], connectivity);
    let identities = &azure["azureAuthenticationConfig"]["workloadIdentities"];
    assert_eq!(identities["privateLinkService"]["clientID"], UUID);
    assert_eq!((azure.get("topology"), azure.get("private")), (None, None));
}

#[test]
fn endpoints_have_names_in_the_external_domain() {
    let nat = format!("{GROUP}/virtualNetworks/hub/subnets/nat");
    let names = |over: Json| {
        let over = with(json!({"externalDNSDomain": "ext.example.net"}), over);
        let made = objects(&with(
            azure(),
            json!({"spec": {"hyperShift": {"azure": over}}}),
        ));
        let services = made[0]["spec"]["services"].as_array().unwrap().clone();
        let name = |service: Json| {
            let strategy = &service["servicePublishingStrategy"];
            assert_eq!(strategy["type"], "Route");
            strategy["route"]["hostname"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        services.into_iter().map(name).collect::<Vec<_>>()
    };
    let all = ["api", "oauth", "konnectivity", "ignition"];
    let all = all.map(|prefix| format!("{prefix}-guest-1.ext.example.net"));
    assert_eq!(names(json!({})), all);
    let private = json!({"endpointAccess": "Private", "privateConnectivity": {"natSubnetID": nat}});
    assert_eq!(names(private), [&all[0], &all[1], "", ""]);
}

#[test]
fn a_new_nat_subnet_has_the_name_of_the_cluster() {
    let over = json!({"spec": {"hyperShift": {"azure": {
        "endpointAccess": "PublicAndPrivate",
        "privateConnectivity": {"natSubnet": {"vnet": format!("{GROUP}/virtualNetworks/hub"), "cidr": "10.9.0.0/24"}},
    }}}});
    let made = objects(&with(azure(), over));
    let link = &made[0]["spec"]["platform"]["azure"]["private"]["privateLink"];
    let subnet = format!("{GROUP}/virtualNetworks/hub/subnets/clusters-guest-1-pls-nat");
    assert_eq!(link, &json!({"natSubnetID": subnet}));
    let annotations = &made[0]["metadata"]["annotations"];
    assert_eq!(annotations["capstan.dev/nat-subnet-range"], "10.9.0.0/24");
}

#[test]
fn the_credential_for_the_private_endpoint_is_an_annotation() {
    let annotations = |credential: Json| {
        let nat = format!("{GROUP}/virtualNetworks/hub/subnets/nat");
        let private =
            json!({"endpointAccess": "Private", "privateConnectivity": {"natSubnetID": nat}});
        let over = with(private, credential);
        let over = json!({"spec": {"hyperShift": {"azure": over}}});
        objects(&with(azure(), over))[0]["metadata"]["annotations"].clone()
    };
    let identity = "capstan.dev/private-link-identity";
    let credential = "capstan.dev/private-link-credential-from";
    for (written, name, expected) in [
        (
            json!({"identityRef": {"name": "guests"}}),
            identity,
            "clusters/guests",
        ),
        (
            json!({"identityRef": {"name": "guests", "namespace": "identities"}}),
            identity,
            "identities/guests",
        ),
        (json!({"credentialFrom": "guests"}), credential, "guests"),
    ] {
        let found = annotations(written);
        assert_eq!(found[name], expected);
        assert_eq!(found.as_object().map(serde_json::Map::len), Some(3));
    }
    assert_eq!(annotations(json!({})).get(identity), None);
    assert_eq!(annotations(json!({})).get(credential), None);
}

#[test]
fn a_credential_is_of_one_kind_and_for_a_private_endpoint() {
    let nat = format!("{GROUP}/virtualNetworks/hub/subnets/nat");
    let private = json!({"endpointAccess": "Private", "privateConnectivity": {"natSubnetID": nat}});
    let both = json!({"identityRef": {"name": "a"}, "credentialFrom": "b"});
    for (fields, expected) in [
        (
            json!({"identityRef": {"name": "a"}}),
            "spec.hyperShift.azure.identityRef: identityRef is forbidden with endpointAccess Public",
        ),
        (
            json!({"credentialFrom": "a"}),
            "spec.hyperShift.azure.credentialFrom: credentialFrom is forbidden with endpointAccess Public",
        ),
        (
            with(private, both.clone()),
            "spec.hyperShift.azure.credentialFrom: a private connection has either identityRef or credentialFrom",
        ),
        (
            both,
            "spec.hyperShift.azure.credentialFrom: a private connection has either identityRef or credentialFrom",
        ),
    ] {
        let over = json!({"spec": {"hyperShift": {"azure": fields}}});
        assert_eq!(refused(azure(), over), [expected]);
    }
}

#[test]
fn other_fields_are_merged_onto_the_generated_ones() {
    let over = json!({"spec": {
        "hyperShift": {"properties": {"fips": true, "etcd": {"managed": {"storage": {"persistentVolume": {"size": "16Gi"}}}}}},
        "nodePools": [{"name": "workers", "properties": {"arch": "arm64", "management": {"autoRepair": true}}}],
    }});
    let made = objects(&with(kube_virt(), over));
    assert_eq!(made[0]["spec"]["fips"], true);
    let storage = &made[0]["spec"]["etcd"]["managed"]["storage"];
    assert_eq!(
        storage,
        &json!({"type": "PersistentVolume", "persistentVolume": {"size": "16Gi"}})
    );
    let management = json!({"upgradeType": "InPlace", "autoRepair": true});
    assert_eq!(made[1]["spec"]["management"], management);
}

#[test]
fn parts_of_another_infrastructure_are_refused_and_missing_ones_named() {
    let hyper_shift = |over: Json| json!({"spec": {"hyperShift": over}});
    let pools = |over: Json| json!({"spec": {"nodePools": [over]}});
    let machine = json!({"name": "workers", "azure": {"vmSize": "Standard_D4s_v5"}});
    for (definition, over, expected) in [
        (
            kube_virt(),
            hyper_shift(json!({"agent": {"namespace": "lab"}})),
            "spec.hyperShift.agent: `agent` is for infrastructure Agent, and this cluster's is KubeVirt",
        ),
        (
            kube_virt(),
            pools(machine),
            "spec.nodePools[0].azure: `azure` is for infrastructure Azure, and this cluster's is KubeVirt",
        ),
        (
            agent(),
            hyper_shift(json!({"agent": null})),
            "spec.hyperShift.agent: infrastructure Agent needs `agent`",
        ),
        (
            azure(),
            pools(json!({"name": "workers", "azure": null})),
            "spec.nodePools[0].azure: infrastructure Azure needs `azure`",
        ),
        (
            kube_virt(),
            hyper_shift(json!({"release": {"image": "a/b:c"}})),
            "spec.hyperShift.release: a release has either a version or an image",
        ),
        (
            kube_virt(),
            pools(json!({"name": "workers", "release": {}})),
            "spec.nodePools[0].release: a release has either a version or an image",
        ),
        (
            kube_virt(),
            pools(json!({"name": "workers", "replicas": 1, "autoscaling": {"min": 1, "max": 2}})),
            "spec.nodePools[0].replicas: a node pool has either replicas or autoscaling",
        ),
        (
            azure(),
            pools(json!({"name": "workers", "azure": {"image": {}}})),
            "spec.nodePools[0].azure.image: an image has either an imageID or marketplace",
        ),
        (
            agent(),
            pools(
                json!({"name": "workers", "agent": {"labels": {"infraenvs.agent-install.openshift.io": "x"}}}),
            ),
            "spec.nodePools[0].agent.labels: the label infraenvs.agent-install.openshift.io is that of the InfraEnv",
        ),
        (
            kube_virt(),
            pools(json!({"name": "workers", "properties": {"clusterName": "other"}})),
            "spec.nodePools[0].properties.clusterName: `clusterName` follows from the definition",
        ),
        (
            kube_virt(),
            hyper_shift(json!({"properties": {"platform": {"type": "AWS"}}})),
            "spec.hyperShift.properties.platform.type: `platform.type` follows from the definition",
        ),
    ] {
        assert_eq!(refused(definition, over), [expected]);
    }
}

#[test]
fn a_private_connection_is_there_exactly_if_it_is_needed() {
    let nat = format!("{GROUP}/virtualNetworks/hub/subnets/nat");
    let over = |azure: Json| json!({"spec": {"hyperShift": {"azure": azure}}});
    let connection = json!({"natSubnetID": nat});
    let no_operator = json!({"controlPlaneOperator": null});
    for (fields, expected) in [
        (
            json!({"privateConnectivity": connection}),
            "spec.hyperShift.azure.privateConnectivity: privateConnectivity is forbidden with endpointAccess Public",
        ),
        (
            json!({"endpointAccess": "Private"}),
            "spec.hyperShift.azure.endpointAccess: endpointAccess Private needs privateConnectivity",
        ),
        (
            json!({"endpointAccess": "Private", "privateConnectivity": {}}),
            "spec.hyperShift.azure.privateConnectivity: privateConnectivity has either natSubnetID or natSubnet",
        ),
        (
            json!({"endpointAccess": "Private", "privateConnectivity": {"natSubnet": {"vnet": format!("{GROUP}/virtualNetworks/hub"), "cidr": ""}}}),
            "spec.hyperShift.azure.privateConnectivity.natSubnet.cidr: natSubnet needs a range in cidr",
        ),
        (
            json!({"endpointAccess": "Private", "privateConnectivity": connection, "workloadIdentities": no_operator}),
            "spec.hyperShift.azure.workloadIdentities: endpointAccess Private needs the identity controlPlaneOperator",
        ),
    ] {
        assert_eq!(refused(azure(), over(fields)), [expected]);
    }
}

#[test]
fn no_definition_becomes_more_than_it_weighs() {
    let long = "x".repeat(20_000);
    let map = |count: usize, value: &str| -> Json {
        (0..count)
            .map(|at| (format!("k{at}"), json!(value)))
            .collect()
    };
    let pool = |at: usize, more: &Json| with(json!({"name": format!("p{at}")}), more.clone());
    let pools = |count, more: Json| -> Json { (0..count).map(|at| pool(at, &more)).collect() };
    for (base, over) in [
        (kube_virt(), json!({})),
        (
            kube_virt(),
            json!({"spec": {"nodePools": pools(300, json!({}))}}),
        ),
        (
            agent(),
            json!({"spec": {"nodePools": pools(100, json!({"agent": {"labels": map(50, "a")}}))}}),
        ),
        (
            kube_virt(),
            json!({"metadata": {"labels": map(500, "a")}, "spec": {"nodePools": pools(100, json!({}))}}),
        ),
        (kube_virt(), json!({"metadata": {"name": long}})),
        (
            kube_virt(),
            json!({"spec": {"hyperShift": {"release": {"image": long}}, "nodePools": pools(100, json!({}))}}),
        ),
        (
            kube_virt(),
            json!({"spec": {"hyperShift": {"properties": map(5_000, "a")}}}),
        ),
        (
            azure(),
            json!({"spec": {"hyperShift": {"azure": {"subnetID": long}}, "nodePools": pools(50, json!({"azure": {"vmSize": long}}))}}),
        ),
    ] {
        // Values that are too long are reported, and the rest is expanded all the same.
        let node = Node::from_json(&with(base, over), &origin("base.yaml"));
        let Some(definition) = cluster_definition::read_rest(&node) else {
            panic!("it can be read");
        };
        let (objects, _) = crate::expand::expand(&definition);
        let made: u64 = objects.iter().map(|object| object.node.weight()).sum();
        assert!(made <= crate::expand::weight(&definition), "{made}");
    }
}
