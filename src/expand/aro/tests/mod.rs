//! What is rendered in each mode.

#![allow(clippy::panic, clippy::needless_pass_by_value)]

mod keys;
mod shared_identities;

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::api::cluster_definition::{self, ClusterDefinition};
use crate::api::embedded;
use crate::model::cut;
use crate::model::{Finding, Node, Object, Origin, Path, Span};
use crate::overlay;

/// The file with the definition's name and all that `definition` does not change.
const BASE: &str = "base.yaml";
/// The file with what `definition` changes.
const OVER: &str = "over.yaml";

fn origin(path: &str) -> Origin {
    Origin::new(Span::top(&Arc::from(path)))
}

/// A definition with identityRef and one autoscaled pool, with `over` laid on it.
pub(super) fn definition(over: Json) -> ClusterDefinition {
    let base = Node::from_json(&base(), &origin(BASE));
    let node = overlay::onto(base, &Node::from_json(&over, &origin(OVER)));
    let (definition, findings) = cluster_definition::read(&node);
    definition.unwrap_or_else(|| panic!("{findings:?}"))
}

fn base() -> Json {
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "ClusterDefinition",
        "metadata": {"name": "prod-uks-1", "namespace": "clusters", "labels": {"env": "prod"}},
        "spec": {
            "location": "uksouth",
            "subscriptionID": "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
            "tenantID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31",
            "identityRef": {"name": "cluster-identity"},
            "version": {"id": "4.20"},
            "nodePools": [{
                "name": "mp1",
                "version": "4.20.17",
                "vmSize": "Standard_D4s_v3",
                "autoscaling": {"min": 2, "max": 10},
            }],
        },
    })
}

fn expanded(spec: Json) -> Vec<Object> {
    let (objects, findings) = crate::expand::expand(&definition(json!({"spec": spec})));
    assert_eq!(findings, []);
    objects
}

fn object<'a>(objects: &'a [Object], kind: &str) -> &'a Object {
    let found = objects.iter().find(|object| object.id.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

fn embedded_of(objects: &[Object], kind: &str) -> Vec<Object> {
    let carried = objects.iter().flat_map(embedded::resources);
    carried
        .map(|(_, resource)| resource)
        .filter(|resource| resource.id.kind == kind)
        .collect()
}

fn at<'a>(object: &'a Object, path: &str) -> Option<&'a Node> {
    object.node.lookup(&Path::dotted(path))
}

fn json_at(object: &Object, path: &str) -> Json {
    at(object, path).map_or(Json::Null, Node::to_json)
}

fn infrastructure(spec: Json) -> usize {
    embedded::resources(object(&expanded(spec), "AROCluster")).len()
}

#[test]
fn objects_are_in_apply_order() {
    let objects = expanded(json!({}));
    let kinds: Vec<_> = objects.iter().map(|object| object.id.to_string()).collect();
    assert_eq!(
        kinds,
        [
            "AROCluster/clusters/prod-uks-1",
            "AROControlPlane/clusters/prod-uks-1",
            "AROMachinePool/clusters/prod-uks-1-mp1",
            "Cluster/clusters/prod-uks-1",
            "MachinePool/clusters/prod-uks-1-mp1",
        ]
    );
}

#[test]
fn the_infrastructure_has_as_many_resources_as_the_mode_needs() {
    let vault = json!({"name": "shared-kv", "resourceGroup": "vaults"});
    let officer = "11111111-2222-3333-4444-555555555555";
    let encryption = |encryption: Json| json!({"etcd": {"encryption": encryption}});
    assert_eq!(infrastructure(json!({})), 48);
    assert_eq!(
        infrastructure(json!({"armAPIVersion": "2024-06-10-preview"})),
        46
    );
    for newer in ["2026-06-30-preview", "2026-09-01-preview"] {
        assert_eq!(infrastructure(json!({"armAPIVersion": newer})), 48);
    }
    assert_eq!(
        infrastructure(encryption(json!({"keyOfficerPrincipalID": officer}))),
        49
    );
    assert_eq!(infrastructure(encryption(json!({"vault": vault}))), 47);
}

#[test]
fn the_first_phase_is_infrastructure_alone() {
    let objects = expanded(json!({"phase": "Infrastructure"}));
    let kinds: Vec<_> = objects
        .iter()
        .map(|object| object.id.kind.as_str())
        .collect();
    assert_eq!(kinds, ["AROCluster", "Cluster"]);
}

#[test]
fn top_level_objects_carry_our_marks_and_the_definitions_labels() {
    let objects = expanded(json!({}));
    for object in &objects {
        assert_eq!(
            object.label("app.kubernetes.io/managed-by"),
            Some("capstan")
        );
        assert_eq!(object.label("env"), Some("prod"));
        assert_eq!(object.annotation("capstan.dev/source"), Some(BASE));
        let cluster = (object.id.kind != "Cluster").then_some("prod-uks-1");
        assert_eq!(object.label("cluster.x-k8s.io/cluster-name"), cluster);
        let policy = (object.id.kind == "Cluster").then_some("Orphan");
        assert_eq!(object.annotation("capstan.dev/deletion-policy"), policy);
        for (_, resource) in embedded::resources(object) {
            assert!(at(&resource, "metadata.labels").is_none());
            assert!(at(&resource, "metadata.annotations").is_none());
        }
    }
}

#[test]
fn our_annotations_of_a_definition_are_copied_to_all_its_objects() {
    let annotations = json!({"capstan.dev/adopt": "true", "team": "a"});
    let over = json!({"metadata": {"annotations": annotations}});
    let (objects, _) = crate::expand::expand(&definition(over));
    for object in &objects {
        assert_eq!(object.annotation("capstan.dev/adopt"), Some("true"));
        assert_eq!(object.annotation("team"), None);
    }
}

#[test]
fn a_label_of_ours_cannot_be_overridden() {
    let over = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}});
    let (objects, _) = crate::expand::expand(&definition(over));
    assert_eq!(
        objects[0].label("app.kubernetes.io/managed-by"),
        Some("capstan")
    );
}

#[test]
fn defaults_are_written_from_2026_09_01_on_and_can_be_changed() {
    let of = |version: &str, properties: Json| {
        let spec = json!({"armAPIVersion": version, "properties": properties});
        let hcp = embedded_of(&expanded(spec), "HcpOpenShiftCluster").remove(0);
        let field = |name: &str| json_at(&hcp, &format!("spec.properties.{name}"));
        (field("ingress"), field("cryptoRestrictions"))
    };
    let newest = "2026-09-01-preview";
    assert_eq!(
        of(newest, json!({})),
        (json!({"type": "Public"}), "None".into())
    );
    assert_eq!(
        of(
            newest,
            json!({"ingress": {"type": "Private"}, "cryptoRestrictions": "FIPS"})
        ),
        (json!({"type": "Private"}), "FIPS".into())
    );
    for older in ["2025-12-23-preview", "2026-06-30-preview"] {
        assert_eq!(of(older, json!({})), (Json::Null, Json::Null), "{older}");
    }
}

#[test]
fn the_older_api_has_no_integration_subnet() {
    let objects = expanded(json!({"armAPIVersion": "2024-06-10-preview"}));
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    assert!(
        at(
            &hcp,
            "spec.properties.platform.vnetIntegrationSubnetReference"
        )
        .is_none()
    );
    assert_eq!(embedded_of(&objects, "VirtualNetworksSubnet").len(), 1);
}

#[test]
fn the_identity_is_in_the_definitions_namespace_unless_it_says_so() {
    let of = |identity: Json| {
        let objects = expanded(json!({"identityRef": identity}));
        json_at(
            object(&objects, "AROControlPlane"),
            "spec.identityRef.namespace",
        )
    };
    assert_eq!(of(json!({})), "clusters");
    assert_eq!(of(json!({"namespace": "identities"})), "identities");
}

#[test]
fn replicas_are_written_where_nothing_else_moves_them() {
    let of = |pool: Json| {
        let mut whole = json!({"name": "a", "version": "4.20.17", "vmSize": "Standard_D4s_v3"});
        whole
            .as_object_mut()
            .expect("map")
            .append(&mut pool.as_object().expect("map").clone());
        let objects = expanded(json!({"nodePools": [{"$patch": "replace"}, whole]}));
        let pool = embedded_of(&objects, "HcpOpenShiftClustersNodePool").remove(0);
        (
            json_at(object(&objects, "MachinePool"), "spec.replicas"),
            json_at(&pool, "spec.properties.replicas"),
            json_at(&pool, "spec.properties.autoScaling"),
        )
    };
    let scaling = json!({"min": 2, "max": 10});
    assert_eq!(of(json!({"replicas": 3})), (3.into(), 3.into(), Json::Null));
    assert_eq!(of(json!({})), (2.into(), 2.into(), Json::Null));
    assert_eq!(
        of(json!({"autoscaling": scaling})),
        (Json::Null, Json::Null, scaling)
    );
}

#[test]
fn another_cloud_is_named_and_logs_in_elsewhere() {
    let objects = expanded(json!({
        "azureEnvironment": "AzureChinaCloud",
        "externalAuth": {"clientID": "app"},
    }));
    let control_plane = object(&objects, "AROControlPlane");
    assert_eq!(
        json_at(control_plane, "spec.azureEnvironment"),
        "AzureChinaCloud"
    );
    let auth = embedded_of(&objects, "HcpOpenShiftClustersExternalAuth").remove(0);
    let issuer = "https://login.chinacloudapi.cn/8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31/v2.0";
    assert_eq!(json_at(&auth, "spec.properties.issuer.url"), issuer);
    let public = expanded(json!({}));
    assert!(at(object(&public, "AROControlPlane"), "spec.azureEnvironment").is_none());
}

#[test]
fn what_has_no_field_of_its_own_is_merged_with_its_origin() {
    let objects = expanded(json!({
        "properties": {"nodeDrainTimeoutMinutes": 30, "network": {"networkType": "Other"}},
        "externalAuth": {"clientID": "app", "properties": {"claim": {"mappings": {"username": {"claim": "email"}}}}},
        "nodePools": [{"$patch": "replace"}, {
            "name": "a", "version": "4.20.17", "vmSize": "Standard_D4s_v3",
            "properties": {"labels": [{"key": "tier", "value": "web"}], "platform": {"availabilityZone": "1"}},
        }],
    }));
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    assert_eq!(json_at(&hcp, "spec.properties.nodeDrainTimeoutMinutes"), 30);
    assert_eq!(
        json_at(&hcp, "spec.properties.network.networkType"),
        "Other"
    );
    assert_eq!(json_at(&hcp, "spec.properties.network.hostPrefix"), 23);
    let auth = embedded_of(&objects, "HcpOpenShiftClustersExternalAuth").remove(0);
    assert_eq!(
        json_at(&auth, "spec.properties.claim.mappings.username.claim"),
        "email"
    );
    let pool = embedded_of(&objects, "HcpOpenShiftClustersNodePool").remove(0);
    assert_eq!(
        json_at(&pool, "spec.properties.platform.availabilityZone"),
        "1"
    );
    assert_eq!(
        json_at(&pool, "spec.properties.platform.vmSize"),
        "Standard_D4s_v3"
    );
    let kind = at(&hcp, "spec.properties.network.networkType").expect("networkType");
    assert_eq!(&*kind.span().path, OVER);
    assert_eq!(
        &*kind.origin.beneath().expect("the constant").span().path,
        BASE
    );
}

#[test]
fn fields_of_everyday_use_become_those_of_azure() {
    let set = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/d";
    let subnet =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s";
    let mirrors = json!([{"source": "quay.io/a", "mirrors": ["mirror.example.com/a"]}]);
    let taints = json!([{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]);
    let objects = expanded(json!({
        "nodeDrainTimeoutMinutes": 60,
        "dnsBaseDomainPrefix": "shop",
        "imageDigestMirrors": mirrors,
        "clusterImageRegistry": {"state": "Disabled"},
        "clusterAutoscaling": {"maxNodesTotal": 50, "podPriorityThreshold": -5},
        "nodePools": [{
            "name": "mp1", "labels": {"tier": "web", "a": "b"}, "taints": taints, "availabilityZone": "1",
            "nodeDrainTimeoutMinutes": 30, "autoRepair": false, "diskEncryptionSetID": set, "subnetID": subnet,
        }],
    }));
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    let pool = embedded_of(&objects, "HcpOpenShiftClustersNodePool").remove(0);
    for (made, field, expected) in [
        (&hcp, "nodeDrainTimeoutMinutes", json!(60)),
        (&hcp, "dns", json!({"baseDomainPrefix": "shop"})),
        (&hcp, "imageDigestMirrors", mirrors),
        (&hcp, "clusterImageRegistry.state", json!("Disabled")),
        (
            &hcp,
            "autoscaling",
            json!({"maxNodesTotal": 50, "podPriorityThreshold": -5}),
        ),
        (
            &pool,
            "labels",
            json!([{"key": "a", "value": "b"}, {"key": "tier", "value": "web"}]),
        ),
        (&pool, "taints", taints),
        (&pool, "platform.availabilityZone", json!("1")),
        (&pool, "platform.subnetReference", json!({"armId": subnet})),
        (
            &pool,
            "platform.osDisk",
            json!({"encryptionSetReference": {"armId": set}}),
        ),
        (&pool, "nodeDrainTimeoutMinutes", json!(30)),
        (&pool, "autoRepair", json!(false)),
    ] {
        let path = format!("spec.properties.{field}");
        assert_eq!(json_at(made, &path), expected, "{field}");
    }
    let key =
        at(&pool, "spec.properties.labels").and_then(|labels| labels.as_list()?[0].get("key"));
    assert_eq!(&*key.expect("a key").span().path, OVER);
}

#[test]
fn a_written_value_points_at_its_line_and_a_default_at_the_name() {
    let objects = expanded(json!({"network": {"podCIDR": "10.132.0.0/14"}, "tags": {"a": "b"}}));
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    let path = |field: &str| {
        let node = at(&hcp, field).unwrap_or_else(|| panic!("no {field}"));
        node.span().path.to_string()
    };
    assert_eq!(path("spec.properties.network.podCidr"), OVER);
    assert_eq!(path("spec.tags.a"), OVER);
    assert_eq!(path("spec.properties.network.serviceCidr"), BASE);
    assert_eq!(path("spec.properties.network.networkType"), BASE);
    let cluster = object(&objects, "Cluster");
    let pods = at(cluster, "spec.clusterNetwork.pods.cidrBlocks").expect("pods");
    assert_eq!(&*pods.as_list().expect("list")[0].span().path, OVER);
}

#[test]
fn what_is_made_from_a_value_points_at_that_value() {
    let subscription = "00000000-52a4-4b6b-9a51-2f1f0d9c7a10";
    let objects = expanded(json!({"subscriptionID": subscription}));
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    let service = "spec.properties.platform.operatorsAuthentication.userAssignedIdentities.serviceManagedIdentityReference.armId";
    assert_eq!(&*at(&hcp, service).expect("armId").span().path, OVER);
}

#[test]
fn pools_and_external_auths_have_short_names_in_azure() {
    let of = |spec: Json| {
        let objects = expanded(spec);
        let auth = embedded_of(&objects, "HcpOpenShiftClustersExternalAuth").remove(0);
        let pool = embedded_of(&objects, "HcpOpenShiftClustersNodePool").remove(0);
        [pool, auth].map(|made| {
            let name = at(&made, "spec.azureName").expect("azureName");
            let path = name.span().path.to_string();
            (made.id.name.clone(), name.to_json(), path)
        })
    };
    let [pool, auth] = of(json!({"externalAuth": {"clientID": "app"}}));
    assert_eq!(
        pool,
        ("prod-uks-1-mp1".to_owned(), "mp1".into(), BASE.to_owned())
    );
    assert_eq!(
        auth,
        ("prod-uks-1-ea".to_owned(), "ea".into(), BASE.to_owned())
    );
    let [pool, auth] = of(json!({
        "externalAuth": {"clientID": "app", "azureName": "prod-uks-1-ea"},
        "nodePools": [{"name": "mp1", "azureName": "prod-uks-1-mp1"}],
    }));
    assert_eq!(
        (pool.0, pool.1),
        ("prod-uks-1-mp1".to_owned(), "prod-uks-1-mp1".into())
    );
    assert_eq!(
        (auth.0, auth.1),
        ("prod-uks-1-ea".to_owned(), "prod-uks-1-ea".into())
    );
}

#[test]
fn every_object_knows_its_definition() {
    let definition = definition(json!({}));
    for object in crate::expand::expand(&definition).0 {
        assert_eq!(object.definition.as_ref(), Some(&definition.id));
        assert_eq!(object.origin, definition.origin);
    }
}

#[test]
fn an_unsupported_feature_is_reported_and_nothing_is_rendered() {
    let refused = |spec: Json| -> Finding {
        let (objects, mut findings) = crate::expand::expand(&definition(json!({"spec": spec})));
        assert_eq!(objects, []);
        findings.remove(0)
    };
    for identities in [json!({"mode": "Shared"}), json!({"resourceGroup": "pool"})] {
        let pool = refused(json!({"managedIdentities": identities}));
        assert_eq!(pool.id, "S04");
        assert_eq!(
            pool.field.expect("field").to_string(),
            "spec.managedIdentities"
        );
        assert_eq!(&*pool.span.expect("span").path, OVER);
    }
    let private = json!({"armAPIVersion": "2024-06-10-preview", "etcd": {"encryption": {"vaultVisibility": "Private"}}});
    assert_eq!(refused(private).id, "S04");
}

#[test]
fn the_same_definition_gives_the_same_bytes() {
    let bytes = || {
        let objects = expanded(json!({"tags": {"b": "1", "a": "2"}}));
        let texts = objects
            .iter()
            .map(|object| object.node.to_json().to_string());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(bytes(), bytes());
}

#[test]
fn no_definition_becomes_more_than_it_weighs() {
    let map = |count: usize, value: &str| -> Json {
        (0..count)
            .map(|at| (format!("t{at}"), Json::from(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let long = "x".repeat(100_000);
    let pool = |at: usize, more: Json| {
        let mut pool =
            json!({"name": format!("p{at}"), "version": "4.20.17", "vmSize": "s", "replicas": 1});
        let more = more.as_object().cloned().unwrap_or_default();
        pool.as_object_mut().expect("a map").extend(more);
        pool
    };
    let pools =
        |count, more: Json| -> Json { (0..count).map(|at| pool(at, more.clone())).collect() };
    for over in [
        json!({}),
        json!({"spec": {"tags": map(500, "a")}}),
        json!({"spec": {"tags": map(5, &long)}}),
        json!({"spec": {"nodePools": pools(300, json!({}))}}),
        json!({"spec": {"nodePools": pools(100, json!({"labels": map(50, "a")}))}}),
        json!({"spec": {"nodePools": pools(100, json!({"vmSize": long})), "tags": map(200, "a")}}),
        json!({"spec": {"nodePools": pools(50, json!({"taints": [{"key": long, "value": "a", "effect": "NoSchedule"}]}))}}),
        json!({"metadata": {"labels": map(500, "a")}, "spec": {"nodePools": pools(100, json!({}))}}),
        json!({"metadata": {"annotations": map(500, "a")}}),
        json!({"spec": {"properties": map(5000, "a")}}),
        json!({"spec": {"resourceTags": {"Vault": map(500, "a"), "ResourceGroup": map(500, "a")}}}),
        json!({"spec": {"location": long}}),
        json!({"spec": {"subscriptionID": long}}),
        json!({"metadata": {"namespace": long}}),
        json!({"metadata": {"name": long}}),
        json!({"spec": {"version": {"id": "4.20", "channelGroup": long}}}),
        json!({"spec": {"identityRef": {"name": long}}}),
        json!({"spec": {"externalAuth": {"clientID": long, "issuerURL": long}}}),
        json!({"spec": {"api": {"authorizedCIDRs": vec!["10.0.0.0/8"; 500]}}}),
    ] {
        // Names that are not valid are reported, and the rest is expanded all the same.
        let base = Node::from_json(&base(), &origin(BASE));
        let node = overlay::onto(base, &Node::from_json(&over, &origin(OVER)));
        let (read, _) = cluster_definition::read(&node);
        let Some(definition) = read.or_else(|| cluster_definition::read_rest(&node)) else {
            continue;
        };
        let (objects, _) = crate::expand::expand(&definition);
        let made: u64 = objects.iter().map(|object| object.node.weight()).sum();
        let weight = crate::expand::weight(&definition);
        let shown = over.to_string();
        assert!(
            made <= weight,
            "{made} > {weight}: {}",
            cut::head(&shown, 100)
        );
    }
}
