//! Every field of the three kinds with values that Azure accepts and the values next to them, in every version of
//! its API. The tables follow facts/aro-rules.md §2 and §3.

use crate::api::arm_version::ArmVersion;
use crate::api::fleet::FleetPolicy;
use crate::model::{Finding, Object};

/// A field below `spec`, the values that are accepted, those that are not, and the rule that says so.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
);

const CLUSTER: &[Row] = &[
    ("location", &["uksouth", "UK South"], &["\"\""], "C01"),
    (
        "azureName",
        &["abc", "a-1", L54],
        &["1ab", "ab-", "a_b", "-ab", L55],
        "C02",
    ),
    (
        "properties.version.id",
        &["\"4.20\"", "\"4.22\""],
        &["\"4\"", "\"4.20.0\"", "a"],
        "C03",
    ),
    (
        "properties.version.id",
        &[],
        &["\"4.19\"", "\"3.99\"", "\"5.0\""],
        "C04",
    ),
    (
        "properties.version.channelGroup",
        &["stable", "fast"],
        &["candidate", "Stable", "\"\""],
        "C05",
    ),
    (
        "properties.dns.baseDomainPrefix",
        &["a", "a1", "a-1", L15, "\"\""],
        &["1a", "a-", "A", "a.b", L16],
        "C11",
    ),
    (
        "properties.network.networkType",
        &["OVNKubernetes", "Other"],
        &["other", "\"\""],
        "C12",
    ),
    (
        "properties.network.podCidr",
        &["10.132.0.0/14"],
        &[
            "10.132.0.1/14",
            "10.132.0.0/33",
            "10.132.0.0",
            "010.132.0.0/14",
            "\"fd00::/48\"",
            "\"\"",
        ],
        "C13",
    ),
    (
        "properties.network.serviceCidr",
        &["172.31.0.0/16"],
        &["172.31.0.1/16", "172.031.0.0/16"],
        "C13",
    ),
    (
        "properties.network.machineCidr",
        &["10.1.0.0/16"],
        &["10.1.1.0/16", "10.01.0.0/16"],
        "C13",
    ),
    (
        "properties.network.hostPrefix",
        &["23", "26"],
        &["22", "27", "0", "-1"],
        "C14",
    ),
    (
        "properties.api.authorizedCidrs",
        &["[10.0.0.0]", "[0.0.0.0/0]"],
        &[
            "[]",
            "[10.0.0.256]",
            "[00.0.0.0]",
            "[\" 10.0.0.0\"]",
            "[10.0.0.1/31]",
            "[\"::1\"]",
        ],
        "C18",
    ),
    (
        "properties.ingress.type",
        &["Public", "Private"],
        &["Disabled", "public", "\"\""],
        "C19",
    ),
    (
        "properties.cryptoRestrictions",
        &["None", "FIPS"],
        &["fips", "\"\""],
        "C20",
    ),
    (
        "properties.platform.managedResourceGroup",
        &["a", "ä", "(a)", "a.b", L90],
        &["a.", "a b", "a/b", L91, "\"\""],
        "C21",
    ),
    (
        "properties.platform.outboundType",
        &["LoadBalancer"],
        &["loadBalancer", "\"\""],
        "C30",
    ),
    (
        "properties.nodeDrainTimeoutMinutes",
        &["0", "10080"],
        &["-1", "10081"],
        "C39",
    ),
    (
        "properties.autoscaling.maxNodesTotal",
        &["0", "500"],
        &["-1", "501"],
        "C40",
    ),
    (
        "properties.autoscaling.maxPodGracePeriodSeconds",
        &["1", "86400"],
        &["0", "-1"],
        "C40",
    ),
    (
        "properties.autoscaling.maxNodeProvisionTimeSeconds",
        &["1", "86400"],
        &["0", "-1"],
        "C40",
    ),
    (
        "properties.autoscaling.podPriorityThreshold",
        &["1", "-1", "-10"],
        &["0"],
        "C40",
    ),
    (
        "properties.etcd.dataEncryption.keyManagementMode",
        &["CustomerManaged"],
        &["PlatformManaged", "customerManaged", "\"\""],
        "C41",
    ),
    (
        "properties.etcd.dataEncryption.customerManaged.encryptionType",
        &["KMS"],
        &["kms", "\"\""],
        "C42",
    ),
    (
        "properties.etcd.dataEncryption.customerManaged.kms.visibility",
        &["Public"],
        &["private", "\"\""],
        "C43",
    ),
    // It is valid, but the fleet has no private endpoint.
    (
        "properties.etcd.dataEncryption.customerManaged.kms.visibility",
        &["Public"],
        &["Private"],
        "K02",
    ),
    (
        "properties.etcd.dataEncryption.customerManaged.kms.activeKey.name",
        &["k", L127],
        &["\"\"", L256],
        "C43",
    ),
    // Azure's API for clusters takes up to 255 characters, Key Vault 127.
    (
        "properties.etcd.dataEncryption.customerManaged.kms.activeKey.name",
        &[],
        &["k_", L128, L255],
        "K10",
    ),
    (
        "properties.etcd.dataEncryption.customerManaged.kms.activeKey.version",
        &["v", L255],
        &["\"\"", L256],
        "C43",
    ),
    (
        "properties.clusterImageRegistry.state",
        &["Enabled", "Disabled"],
        &["enabled", "\"\""],
        "C45",
    ),
    (
        "properties.imageDigestMirrors",
        &[
            "[{source: a, mirrors: [b]}]",
            "[{source: \"*.a.io\", mirrors: [\"b.io:1/c\"]}]",
            "[]",
        ],
        &[
            "[{source: \"\", mirrors: [b]}]",
            "[{source: a, mirrors: []}]",
            "[{source: a, mirrors: [\"*.b\"]}]",
            "[{source: \"a:\", mirrors: [b]}]",
            "[{source: A, mirrors: [b]}]",
        ],
        "C46",
    ),
    (
        "identity.type",
        &["UserAssigned", "\"SystemAssigned,UserAssigned\""],
        &["userAssigned", "\"\""],
        "C37",
    ),
];

const POOL: &[Row] = &[
    (
        "azureName",
        &["abc", "a-1", L15],
        &["1ab", "ab-", "a_b", L16],
        "N01",
    ),
    (
        "location",
        &["uksouth", "UKSouth"],
        &["\"\"", "ukwest"],
        "N01",
    ),
    (
        "properties.version.id",
        &["4.20.8", "4.20.9-rc.1"],
        &[
            "\"4\"",
            "\"4.20\"",
            "4.20.7",
            "4.20.8-rc.1",
            "4.20.8-",
            "4.20.8+a",
            "4.20.08",
        ],
        "N02",
    ),
    (
        "properties.version.channelGroup",
        &["stable", "fast"],
        &["nightly", "\"\""],
        "N03",
    ),
    (
        "properties.platform.vmSize",
        &["Standard_D4s_v3"],
        &["Standard_D2s_v3", "standard_D4s_v3", "\"\""],
        "N11",
    ),
    (
        "properties.platform.osDisk.sizeGiB",
        &["64", "4095"],
        &["63", "4096", "0", "-1"],
        "N12",
    ),
    (
        "properties.platform.osDisk.diskStorageAccountType",
        &["Premium_LRS", "StandardSSD_LRS", "Standard_LRS"],
        &["premium_LRS", "\"\""],
        "N13",
    ),
    (
        "properties.platform.osDisk.diskType",
        &["Managed", "Ephemeral"],
        &["managed", "\"\""],
        "N13",
    ),
    ("properties.replicas", &["0", "200"], &["-1", "201"], "N16"),
    (
        "properties.autoScaling",
        &[
            "{min: 0, max: 0}",
            "{min: 200, max: 200}",
            "{min: 2.0, max: 10.0}",
        ],
        &[
            "{min: -1, max: 0}",
            "{min: 1, max: 201}",
            "{min: 2, max: 1}",
            "{min: 1}",
        ],
        "N18",
    ),
    (
        "properties.labels",
        &["[{key: a}]", "[{key: a/b, value: \"\"}]"],
        &[
            "[{key: \"\"}]",
            "[{key: a/}]",
            "[{key: A/b}]",
            "[{key: a, value: \"-\"}]",
        ],
        "N19",
    ),
    (
        "properties.taints",
        &["[{key: a, effect: NoSchedule}]"],
        &[
            "[{key: a, effect: noSchedule}]",
            "[{key: a}]",
            "[{key: \"\", effect: NoExecute}]",
        ],
        "N21",
    ),
    (
        "properties.nodeDrainTimeoutMinutes",
        &["0", "10080"],
        &["-1", "10081"],
        "N22",
    ),
];

const AUTH: &[Row] = &[
    (
        "azureName",
        &["ab", "a-1", L15],
        &["1ab", "ab-", "a_b", L16],
        "E01",
    ),
    (
        "properties.issuer.url",
        &["https://a"],
        &["http://a", "HTTPS://a", "\"\""],
        "E03",
    ),
    (
        "properties.issuer.audiences",
        &["[a]"],
        &["[]", "[\"\"]"],
        "E04",
    ),
    ("properties.issuer.ca", &["\"\""], &["a"], "E05"),
    (
        "properties.claim.mappings.username.claim",
        &["a", L256],
        &["\"\"", L257],
        "E10",
    ),
    (
        "properties.claim.mappings.username.prefixPolicy",
        &["None", "NoPrefix"],
        &["none", "Prefix", "\"\""],
        "E10",
    ),
    (
        "properties.claim.mappings.groups.claim",
        &["a", L256],
        &["\"\"", L257],
        "E11",
    ),
    (
        "properties.claim.validationRules",
        &[
            "[]",
            "[{type: RequiredClaim, requiredClaim: {claim: a, requiredValue: b}}]",
        ],
        &[
            "[{requiredClaim: {claim: a, requiredValue: b}}]",
            "[{type: requiredClaim, requiredClaim: {claim: a, requiredValue: b}}]",
            "[{type: RequiredClaim}]",
            "[{type: RequiredClaim, requiredClaim: {claim: a}}]",
        ],
        "E12",
    ),
];

/// Texts of a number of letters.
const L15: &str = "LETTERS 15";
const L16: &str = "LETTERS 16";
const L54: &str = "LETTERS 54";
const L55: &str = "LETTERS 55";
const L90: &str = "LETTERS 90";
const L91: &str = "LETTERS 91";
const L127: &str = "LETTERS 127";
const L128: &str = "LETTERS 128";
const L255: &str = "LETTERS 255";
const L256: &str = "LETTERS 256";
const L257: &str = "LETTERS 257";

const SOUND: [(&str, &str); 3] = [
    (
        "HcpOpenShiftCluster",
        "{location: uksouth, identity: {type: UserAssigned}, properties: {version: {id: \"4.20\"}, platform: {managedResourceGroup: m}, etcd: {dataEncryption: {keyManagementMode: CustomerManaged, customerManaged: {encryptionType: KMS, kms: {vaultName: kv1, visibility: Public, activeKey: {name: k, vaultName: kv1, version: x}}}}}}}",
    ),
    (
        "HcpOpenShiftClustersNodePool",
        "{location: uksouth, owner: {name: one}, properties: {version: {id: 4.20.8}, platform: {vmSize: Standard_D4s_v3}}}",
    ),
    (
        "HcpOpenShiftClustersExternalAuth",
        "{owner: {name: one}, properties: {issuer: {url: \"https://a\", audiences: [a]}, claim: {mappings: {username: {claim: a}}}}}",
    ),
];

/// The findings of a cluster with a node pool and an external auth, with one field of one kind set.
fn found(version: ArmVersion, kind: &str, field: &str, value: &str) -> Vec<Finding> {
    let documents = SOUND.map(|(of, spec)| {
        let group = "redhatopenshift.azure.com";
        format!(
            "apiVersion: {group}/{}\nkind: {of}\nmetadata: {{name: one}}\nspec: {spec}\n",
            version.aso()
        )
    });
    let text = documents.join("---\n");
    let path = std::sync::Arc::from("test.yaml");
    let (documents, findings) = crate::yaml::read(&path, text.as_bytes());
    assert_eq!(findings, [], "the test's YAML is sound");
    let objects = documents.into_iter().map(|mut document| {
        if document.text(&["kind"]) == Some(kind) && !field.is_empty() {
            let patch = field.rsplit('.').fold(value.to_owned(), |inner, name| {
                format!("{{{name}: {inner}}}")
            });
            let (patch, findings) = crate::yaml::read(&path, format!("spec: {patch}\n").as_bytes());
            assert_eq!(findings, [], "{patch:?}");
            let lists = crate::schema::strategic::ListKeys::default();
            document =
                crate::schema::strategic::merge(document, &patch[0], &lists, &mut Vec::new());
        }
        Object::from_node(document, "default").expect("an object")
    });
    crate::rules::check(&objects.collect::<Vec<_>>(), &FleetPolicy::default())
}

/// The ids of the findings that the sound one does not have.
fn new(version: ArmVersion, kind: &str, field: &str, value: &str) -> Vec<&'static str> {
    let letters = value
        .strip_prefix("LETTERS ")
        .and_then(|count| count.parse().ok());
    let value = letters.map_or_else(|| value.to_owned(), |count| "x".repeat(count));
    let known = found(version, kind, "", "");
    let found = found(version, kind, field, &value).into_iter();
    let found = found.filter(|one| {
        !known
            .iter()
            .any(|other| (other.id, &other.field) == (one.id, &one.field))
    });
    found.map(|one| one.id).collect()
}

fn hold(kind: &str, rows: &[Row]) {
    let mut wrong = Vec::new();
    for version in ArmVersion::ALL {
        let lacking: Vec<&str> = version.lacks(kind).map(|(field, _)| field).collect();
        let has = |field: &str| {
            let field = field.strip_prefix("properties.").unwrap_or(field);
            !lacking.iter().any(|lacking| field.starts_with(lacking))
        };
        for (field, good, bad, id) in rows.iter().filter(|row| has(row.0)) {
            let good = good.iter().map(|value| (value, &[][..]));
            let ids = [*id];
            for (value, expected) in good.chain(bad.iter().map(|value| (value, &ids[..]))) {
                let found = new(*version, kind, field, value);
                if found != expected {
                    wrong.push(format!(
                        "{} {field}: {value}: {found:?}, not {expected:?}",
                        version.arm()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn clusters() {
    hold("HcpOpenShiftCluster", CLUSTER);
}

#[test]
fn node_pools() {
    hold("HcpOpenShiftClustersNodePool", POOL);
}

#[test]
fn external_auths() {
    hold("HcpOpenShiftClustersExternalAuth", AUTH);
}
