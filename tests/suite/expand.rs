//! Expansion beside the real things: a cluster as people write it by hand, and the real CRDs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan::api::arm_version::ArmVersion;
use capstan::api::cluster_definition::{self, ClusterDefinition};
use capstan::api::{arm_properties, embedded};
use capstan::expand::expand;
use capstan::model::{Node, Object};
use capstan::overlay;
use capstan::yaml;
use kube_schema::{Unknown, validate};
use serde_json::{Value as Json, json};

use crate::cli::stdout;
use crate::real::{self, Schemas};

/// The hand-written cluster, as a definition.
const SAMPLE: &str = r#"
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: stage-uks-1, namespace: clusters}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {name: cluster-identity}
  version: {id: "4.20"}
  nameSuffix: a1b2c3
  externalAuth: {clientID: c1d5b0a2-7e4f-4a35-b6a8-0d9e2f3c4b5a, azureName: stage-uks-1-ea}
  nodePools:
  - name: mp1
    azureName: stage-uks-1-mp1
    version: 4.20.17
    vmSize: Standard_D4s_v3
    autoscaling: {min: 2, max: 10}
    osDisk: {sizeGiB: 128, storageAccountType: Standard_LRS}
    labels: {region: uksouth}
"#;

fn definition(text: &str) -> ClusterDefinition {
    let (nodes, findings) = yaml::read(&Arc::from("cluster.yaml"), text.as_bytes());
    assert_eq!(findings, []);
    let (definition, findings) = cluster_definition::read(&nodes[0]);
    definition.unwrap_or_else(|| panic!("{findings:?}"))
}

fn objects(definition: &ClusterDefinition) -> Vec<Object> {
    let (objects, findings) = expand(definition);
    assert_eq!(findings, []);
    objects
}

/// Objects and embedded resources by `Kind/name`, embedded ones apart from what carries them.
fn by_name(objects: &[Object]) -> BTreeMap<String, Json> {
    let mut found = BTreeMap::new();
    let mut add = |object: &Object| {
        let name = format!("{}/{}", object.id.kind, object.id.name);
        let before = found.insert(name.clone(), object.node.to_json());
        assert_eq!(before, None, "{name} is there twice");
    };
    for object in objects {
        add(object);
        for (_, resource) in embedded::resources(object) {
            add(&resource);
        }
    }
    for object in found.values_mut() {
        if let Some(carried) = object.pointer_mut("/spec/resources") {
            *carried = carried.as_array().map_or(0, Vec::len).into();
        }
    }
    found
}

fn remove(json: &mut Json, parent: &str, name: &str) {
    if let Some(Json::Object(fields)) = json.pointer_mut(parent) {
        fields.remove(name);
    }
}

/// Where the hand-written cluster may differ. Whatever is not here must be the same.
fn allow_for(name: &str, written: &mut Json, made: &mut Json) {
    // We mark what we make.
    remove(made, "/metadata", "annotations");
    remove(made, "/metadata/labels", "app.kubernetes.io/managed-by");
    // We label all objects of a cluster; people leave it to Cluster API.
    if name.starts_with("AROControlPlane/") || name.starts_with("AROMachinePool/") {
        let labels = json!({"cluster.x-k8s.io/cluster-name": "stage-uks-1"});
        assert_eq!(made["metadata"]["labels"], labels);
        remove(made, "/metadata", "labels");
    }
    if made["metadata"]["labels"] == json!({}) {
        remove(made, "/metadata", "labels");
    }
    // People tag three of the resources, each with other tags; we tag all alike, here with none.
    remove(written, "/spec", "tags");
    // People wrote a pod range into Cluster that is not the cluster's.
    if name.starts_with("Cluster/") {
        let blocks = json!(["192.168.0.0/16"]);
        assert_eq!(
            written["spec"]["clusterNetwork"]["pods"]["cidrBlocks"],
            blocks
        );
        written["spec"]["clusterNetwork"]["pods"]["cidrBlocks"] = json!(["10.128.0.0/14"]);
    }
    // People wrote replicas that the autoscaler overrules.
    if name.starts_with("MachinePool/") {
        assert_eq!(written["spec"]["replicas"], 2);
        remove(written, "/spec", "replicas");
    }
    // The order of the cluster's identities means nothing.
    for json in [written, made] {
        let identities = json.pointer_mut("/spec/identity/userAssignedIdentities");
        if let Some(Json::Array(identities)) = identities {
            identities.sort_by_key(ToString::to_string);
        }
    }
}

/// The samples have the same cluster in several versions of Azure's API.
#[track_caller]
fn is_what_people_write_by_hand(version: &str) {
    let Some(file) = real::shared(&format!("samples/aro-hcp-{version}/aro.yaml")) else {
        return;
    };
    let text = std::fs::read_to_string(file).expect("the sample is readable");
    // People put their own name before the names of identities.
    let text = text.replace("platform-stage-uks-1-", "stage-uks-1-");
    let (nodes, findings) = yaml::read(&Arc::from("aro.yaml"), text.as_bytes());
    assert_eq!(findings, []);
    let read = |node: Node| Object::from_node(node, "").expect("an object");
    let written: Vec<Object> = nodes.into_iter().map(read).collect();
    let sample = format!("{SAMPLE}  armAPIVersion: {version}-preview\n");
    let (mut written, mut made) = (by_name(&written), by_name(&objects(&definition(&sample))));
    let names = |objects: &BTreeMap<String, Json>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&made), names(&written));
    assert_eq!(made.len(), 5 + 48 + 2 + 1);
    for (name, made) in &mut made {
        let written = written.get_mut(name).expect("the names are the same");
        allow_for(name, written, made);
        assert_eq!(made, written, "{name}");
    }
}

#[test]
fn it_is_the_cluster_that_people_write_by_hand() {
    is_what_people_write_by_hand("2025-12-23");
    is_what_people_write_by_hand("2026-09-01");
}

/// What a definition may ask for, beside the version of the API.
const MODES: &[(&str, &str)] = &[
    ("with an identity", "identityRef: {name: cluster-identity}"),
    (
        "with ASO's credential",
        "{credentialFrom: aso-credential, etcd: {encryption: {keyVersion: 0123456789abcdef0123456789abcdef}}}",
    ),
    (
        "with a vault that exists",
        "{identityRef: {name: id}, etcd: {encryption: {vault: {name: shared-kv, resourceGroup: vaults}, keyOfficerPrincipalID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31}}}",
    ),
    (
        "private, with external auth and tags",
        "{identityRef: {name: id, namespace: identities}, api: {visibility: Private, authorizedCIDRs: [10.0.0.0/8]}, externalAuth: {clientID: app}, tags: {team: sre}, azureEnvironment: AzureUSGovernmentCloud}",
    ),
    (
        "with a fixed size",
        "{identityRef: {name: id}, nodePools: [{$patch: replace}, {name: np1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 3}, {name: np2, version: 4.20.17, vmSize: Standard_D8s_v3}]}",
    ),
    (
        "with the fields of everyday use",
        "{identityRef: {name: id}, nodeDrainTimeoutMinutes: 60, dnsBaseDomainPrefix: shop, clusterImageRegistry: {state: Disabled}, clusterAutoscaling: {maxNodesTotal: 50, maxPodGracePeriodSeconds: 600, maxNodeProvisionTimeSeconds: 900, podPriorityThreshold: -5}, nodePools: [{name: mp1, labels: {tier: web}, taints: [{key: dedicated, effect: NoSchedule}], availabilityZone: '1', nodeDrainTimeoutMinutes: 30, autoRepair: false, diskEncryptionSetID: /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/d, subnetID: /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s}]}",
    ),
    (
        "with shared identities",
        "{identityRef: {name: id}, tags: {team: sre}, managedIdentities: {mode: Shared, resourceGroup: msi-pool-07}}",
    ),
    (
        "with shared identities and a vault that exists",
        "{credentialFrom: aso-credential, managedIdentities: {mode: Shared, resourceGroup: pool}, etcd: {encryption: {keyVersion: 0123456789abcdef0123456789abcdef, vault: {name: shared-kv, resourceGroup: vaults}}}}",
    ),
    (
        "in its first phase",
        "{phase: Infrastructure, identityRef: {name: id}}",
    ),
];

const BASE: &str = r#"
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: prod-uks-1, namespace: clusters, labels: {env: prod}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  version: {id: "4.20"}
  nodePools:
  - name: mp1
    version: 4.20.17
    vmSize: Standard_D4s_v3
    autoscaling: {min: 2, max: 10}
    osDisk: {sizeGiB: 128, storageAccountType: Standard_LRS}
"#;

fn in_mode(spec: &str, arm: &str) -> ClusterDefinition {
    let one = |text: &str| {
        let (mut nodes, findings) = yaml::read(&Arc::from("cluster.yaml"), text.as_bytes());
        assert_eq!(findings, []);
        nodes.remove(0)
    };
    let spec = match spec.strip_prefix('{') {
        Some(inner) => format!("{{armAPIVersion: {arm}, {inner}"),
        None => format!("{{armAPIVersion: {arm}, {spec}}}"),
    };
    let node = overlay::onto(one(BASE), &one(&format!("spec: {spec}")));
    let (definition, findings) = cluster_definition::read(&node);
    definition.unwrap_or_else(|| panic!("{findings:?}"))
}

/// What the schemas have against an object and what it carries, one line each.
fn faults(object: &Object, schemas: &Schemas) -> Vec<String> {
    let carried = embedded::resources(object).into_iter().map(|(_, one)| one);
    let whole = |one: &Object| -> Vec<String> {
        let Some(schema) = schemas.of(&one.id, defined_at(&one.version)) else {
            return vec![format!("{}: no schema at {}", one.id, one.version)];
        };
        validate(schema, &one.node.to_json(), Unknown::Reject)
            .into_iter()
            .filter(|found| !embedded::is_injected(object, &one.id.kind, &found.path))
            .map(|found| format!("{}: {found}", one.id))
            .collect()
    };
    let mut faults = whole(object);
    faults.extend(carried.flat_map(|one| whole(&one)));
    faults
}

/// The version whose definition has the same fields: there is no definition of 2026-09-01 to test with, and
/// its fields are those of 2026-06-30 (facts/aro-2026-09-01.md §1.1).
fn defined_at(version: &str) -> &str {
    match version {
        "v20260901preview" => "v1api20260630preview",
        version => version,
    }
}

#[track_caller]
fn fits(arm: &str, aso: &str) {
    let Some(schemas) = Schemas::read(&[aso, "capz", "cluster-api"]) else {
        return;
    };
    for (mode, spec) in MODES {
        for object in objects(&in_mode(spec, arm)) {
            let faults = faults(&object, &schemas);
            assert!(faults.is_empty(), "{arm} {mode}: {faults:#?}");
        }
    }
}

#[test]
fn what_is_written_for_2024_06_10_fits_the_real_crds() {
    fits("2024-06-10-preview", "aso-2.13");
}

#[test]
fn what_is_written_for_2025_12_23_fits_the_real_crds() {
    fits("2025-12-23-preview", "aso-2.13");
    fits("2025-12-23-preview", "aso-2.19");
}

#[test]
fn what_is_written_for_2026_06_30_and_later_fits_the_real_crds() {
    fits("2026-06-30-preview", "aso-2.19");
    fits("2026-09-01-preview", "aso-2.19");
}

#[test]
fn a_key_version_that_nobody_fills_in_is_missed() {
    let Some(schemas) = Schemas::read(&["aso-2.13", "capz", "cluster-api"]) else {
        return;
    };
    let objects = objects(&in_mode(
        "credentialFrom: aso-credential",
        "2025-12-23-preview",
    ));
    let all: Vec<_> = objects
        .iter()
        .flat_map(|object| faults(object, &schemas))
        .collect();
    assert_eq!(all.len(), 1, "{all:#?}");
    assert!(all[0].contains("activeKey.version"), "{all:#?}");
}

/// `line:column` of a value in the first resource that an object of `kind` carries.
fn place(objects: &[Object], kind: &str, path: &[&str]) -> String {
    let carrier = objects.iter().find(|object| object.id.kind == kind);
    let resources = embedded::resources(carrier.expect(kind));
    let node = resources[0].1.node.at(path).expect("the value is there");
    let start = node.span().start;
    format!("{}:{}", start.line, start.column)
}

#[test]
fn a_value_points_at_its_own_line_and_a_default_at_the_name() {
    let made = objects(&definition(SAMPLE));
    let of_cluster = |path: &[&str]| place(&made, "AROControlPlane", path);
    let of_pool = |path: &[&str]| place(&made, "AROMachinePool", path);
    let name = "4:18";
    assert_eq!(of_cluster(&["metadata", "name"]), name);
    assert_eq!(of_cluster(&["spec", "location"]), "6:13");
    assert_eq!(
        of_cluster(&["spec", "properties", "version", "id"]),
        "10:17"
    );
    assert_eq!(
        of_cluster(&["spec", "properties", "network", "podCidr"]),
        name
    );
    assert_eq!(
        of_pool(&["spec", "properties", "platform", "osDisk", "sizeGiB"]),
        "19:23"
    );
    assert_eq!(of_pool(&["spec", "properties", "labels"]), "20:13");
    assert_eq!(of_pool(&["spec", "properties", "autoRepair"]), name);
}

#[test]
fn null_below_properties_removes_what_is_made() {
    let text = format!(
        "{SAMPLE}  properties: {{clusterImageRegistry: null, network: {{hostPrefix: null}}}}\n"
    );
    let made = by_name(&objects(&definition(&text)));
    let properties = &made["HcpOpenShiftCluster/stage-uks-1"]["spec"]["properties"];
    assert_eq!(properties.get("clusterImageRegistry"), None);
    assert_eq!(properties["network"].get("hostPrefix"), None);
    assert_eq!(properties["network"]["podCidr"], "10.128.0.0/14");
}

#[test]
fn every_reference_leads_to_an_object_or_outside_the_fleet() {
    for arm in [
        "2024-06-10-preview",
        "2025-12-23-preview",
        "2026-06-30-preview",
        "2026-09-01-preview",
    ] {
        for (mode, spec) in MODES {
            let (_, findings) = capstan::graph::build(&objects(&in_mode(spec, arm)));
            let outside = ["Namespace/", "AzureClusterIdentity/", "Secret/"];
            for found in findings {
                let reported =
                    found.id == "R04" && outside.iter().any(|kind| found.message.starts_with(kind));
                assert!(reported, "{arm} {mode}: {} {}", found.id, found.message);
            }
        }
    }
}

/// The fields of a schema with their types, as `a.b[].c{}.d type`.
fn fields(schema: &Json, path: &str, found: &mut BTreeSet<String>) {
    if let Some(Json::Object(inner)) = schema.get("properties") {
        let joined = |name: &str| [path, name].join(if path.is_empty() { "" } else { "." });
        inner
            .iter()
            .for_each(|(name, schema)| fields(schema, &joined(name), found));
    } else if let Some(inner) = schema.get("items") {
        fields(inner, &format!("{path}[]"), found);
    } else if let Some(inner) = schema.get("additionalProperties") {
        fields(inner, &format!("{path}{{}}"), found);
    } else {
        let of = schema["type"].as_str().expect("a type");
        found.insert(format!("{path} {of}"));
    }
}

#[test]
fn the_properties_we_know_are_those_of_the_real_crds() {
    let directories = ["aso-2.13", "aso-2.19"].map(real::crds);
    let [Some(older), Some(newer)] = directories else {
        return;
    };
    let mut real: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for definition in older.iter().chain(&newer) {
        let kind = definition["spec"]["names"]["kind"]
            .as_str()
            .expect("a kind");
        for version in definition["spec"]["versions"].as_array().expect("versions") {
            let schema = &version["schema"]["openAPIV3Schema"];
            let properties = &schema["properties"]["spec"]["properties"]["properties"];
            let is_shown = !version["name"]
                .as_str()
                .expect("a name")
                .ends_with("storage");
            if kind.starts_with("HcpOpenShift") && is_shown {
                fields(properties, "", real.entry(kind.to_owned()).or_default());
            }
        }
    }
    assert_eq!(real.len(), 3);
    for (kind, real) in real {
        let mut ours = BTreeSet::new();
        fields(&arm_properties::json(&kind), "", &mut ours);
        assert_eq!(ours, real, "{kind}");
    }
}

/// Every other test of a definition with mirrors is on a version that has them.
#[test]
fn each_version_has_the_fields_of_its_real_crds() {
    for (directory, arm) in [
        ("aso-2.13", "2024-06-10-preview"),
        ("aso-2.13", "2025-12-23-preview"),
        ("aso-2.19", "2026-06-30-preview"),
        ("aso-2.19", "2026-09-01-preview"),
    ] {
        let (Some(definitions), Ok(version)) = (
            real::crds(directory),
            serde_json::from_value::<ArmVersion>(json!(arm)),
        ) else {
            return;
        };
        for definition in &definitions {
            let spec = &definition["spec"];
            let kind = spec["names"]["kind"].as_str().expect("a kind");
            let mut versions = spec["versions"].as_array().expect("versions").iter();
            let of_version = versions.find(|one| one["name"] == defined_at(version.aso()));
            let Some(of_version) = of_version.filter(|_| kind.starts_with("HcpOpenShift")) else {
                continue;
            };
            let schema = &of_version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            let (mut real, mut ours) = (BTreeSet::new(), BTreeSet::new());
            fields(&schema["properties"]["properties"], "", &mut real);
            fields(&arm_properties::json(kind), "", &mut ours);
            let lacking: Vec<&str> = version.lacks(kind).map(|(field, _)| field).collect();
            let is_lacking = |field: &str| lacking.iter().any(|lacked| field.starts_with(lacked));
            let only_older = |field: &str| field.contains("activeKey.vaultName");
            ours.retain(|field| !is_lacking(field) && !only_older(field));
            real.retain(|field| !only_older(field));
            assert_eq!(ours, real, "{arm} {kind}");
        }
    }
}

#[test]
fn a_cluster_with_shared_identities_gets_ready() {
    let output = stdout(&["rehearse", "examples/shared-identities"], 0);
    assert!(
        output.contains("ready after") && output.contains("55 objects"),
        "{output}"
    );
}
