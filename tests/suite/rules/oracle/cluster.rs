//! Clusters: names, versions, networks, who reaches them, encryption, numbers, mirrors.

use super::{CLUSTER, Case, KEY, KEY_VERSION, VISIBILITY, at, bad, case, good, hold, list, null};

fn bads(mark: &str, names: &'static str, values: &[&str]) -> Vec<Case> {
    bad(CLUSTER, mark, names, values)
}

fn goods(names: &'static str, values: &[&str]) -> Vec<Case> {
    good(CLUSTER, names, values)
}

fn ats(names: &str, value: &str) -> Vec<Case> {
    vec![at(CLUSTER, names, value)]
}

/// Text of so many letters, in quotes.
fn long(length: usize) -> String {
    "x".repeat(length)
}

#[test]
fn names() {
    const GROUP: &str = "platform.managedResourceGroup";
    hold(&[
        // Short names are for older releases of Azure Service Operator to decide (facts/aro-rules.md §1.7).
        goods(
            "spec.azureName",
            &["abc", "my-cluster-1", "MyCluster", &long(54)],
        ),
        bads(
            "C02",
            "spec.azureName",
            &[
                "\"\"",
                "a",
                "ab",
                "$",
                "-garbage",
                "1cluster",
                "my-cluster-",
                &long(55),
            ],
        ),
        bads("C01", "spec.location", &["\"\""]),
        goods("dns.baseDomainPrefix", &["a", "shop-1", "fifteen-letters"]),
        bads(
            "C11",
            "dns.baseDomainPrefix",
            &["Invalid-Name", "0badlabel", "this-domain-is-too-long", "a-"],
        ),
        goods(GROUP, &["valid.name(test)", "grüße-日本", &long(90)]),
        bads(
            "C21",
            GROUP,
            &["invalid-name.", "invalid$name", "\"\"", &long(91)],
        ),
        bads("C22", GROUP, &["one-resgroup", "ONE-Resgroup"]),
    ]);
}

#[test]
fn versions() {
    hold(&[
        goods("version.id", &["\"4.20\"", "\"4.21\"", "\"4.22\""]),
        bads("C04", "version.id", &["\"4.19\""]),
        bads(
            "C03",
            "version.id",
            &["\"4.20.8\"", "4.21.0-rc.1", "\"\"", "\"4\"", "four"],
        ),
        bads("C04", "version.id", &["\"4.99\"", "\"5.0\"", "\"6.1\""]),
        goods("version.channelGroup", &["stable", "fast"]),
        bads(
            "C05",
            "version.channelGroup",
            &["candidate", "nightly", "blah", "\"\""],
        ),
    ]);
}

#[test]
fn networks() {
    let invalid = [
        "invalid-cidr",
        "300.0.0.0/16",
        "2001:db8::/32",
        "192.168.0.1/16",
        "010.0.0.0/8",
    ];
    hold(&[
        bads("C13", "network.podCidr", &invalid),
        bads("C13", "network.serviceCidr", &invalid),
        bads("C13", "network.machineCidr", &invalid),
        bads("C13", "network.podCidr", &["\"\""]),
        goods("network.hostPrefix", &["23", "26"]),
        bads("C14", "network.hostPrefix", &["0", "22", "27", "30"]),
        goods("network.networkType", &["OVNKubernetes", "Other"]),
        bads("C12", "network.networkType", &["bogus"]),
        bads("C30", "platform.outboundType", &["bogus"]),
        vec![
            case(
                CLUSTER,
                APART
                    .replace("MACHINE", "10.0.0.0/16")
                    .replace("SERVICE", "10.0.1.0/24 # C15")
                    .replace("POD", "10.128.0.0/14")
                    .as_str(),
            ),
            case(
                CLUSTER,
                APART
                    .replace("MACHINE", "10.0.0.0/16")
                    .replace("SERVICE", "172.30.0.0/16")
                    .replace("POD", "10.0.0.0/20 # C15")
                    .as_str(),
            ),
            case(
                CLUSTER,
                APART
                    .replace("MACHINE", "10.1.0.0/16")
                    .replace("SERVICE", "10.0.0.0/16")
                    .replace("POD", "10.0.0.0/20 # C15")
                    .as_str(),
            ),
            case(
                CLUSTER,
                APART
                    .replace("MACHINE", "10.0.0.0/16")
                    .replace("SERVICE", "10.1.0.0/16")
                    .replace("POD", "10.4.0.0/14")
                    .as_str(),
            ),
        ],
    ]);
}

const APART: &str = "
spec:
  properties:
    network:
      machineCidr: MACHINE
      serviceCidr: SERVICE
      podCidr: POD
";

#[test]
fn access() {
    let item = |value: &str| ats("api.authorizedCidrs", &format!("\n- {value}"));
    hold(&[
        item("192.168.1.1"),
        item("10.0.0.0/8"),
        ats("api.authorizedCidrs", &list("10.0.0.1", 500)),
        ats("api.authorizedCidrs", "[] # C18"),
        ats(
            "api.authorizedCidrs",
            &format!("{} # C18", list("10.0.0.1", 501)),
        ),
        item("\"\" # C18"),
        item("\" 10.0.0.0/16\" # C18"),
        item("\"10.0.0.0/16 \" # C18"),
        item("10.0. 0.0/16 # C18"),
        item("10.0.0.0/33 # C18"),
        item("10.0.0.1/16 # C18"),
        item("2001:db8::1 # C18"),
        item("010.0.0.1 # C18"),
        item("010.0.0.0/8 # C18"),
        goods("api.visibility", &["Public", "Private"]),
        bads("C17", "api.visibility", &["Internal", "\"\""]),
        null(
            CLUSTER,
            "/spec/properties/platform/vnetIntegrationSubnetReference",
            "C26",
        ),
        ats(
            "platform.vnetIntegrationSubnetReference",
            "null # elsewhere: C50",
        ),
        null(CLUSTER, "/spec/properties/network/hostPrefix", "C26"),
        vec![case(
            CLUSTER,
            "- op: add\n  path: /spec/properties/autoscaling\n  value:\n    maxNodesTotal: null # C26\n    podPriorityThreshold: null # C26\n",
        )],
        goods("ingress.type", &["Public", "Private"]),
        bads("C19", "ingress.type", &["Disabled"]),
        goods("cryptoRestrictions", &["None", "FIPS"]),
        bads("C20", "cryptoRestrictions", &["Bogus"]),
        goods("clusterImageRegistry.state", &["Enabled", "Disabled"]),
        bads("C45", "clusterImageRegistry.state", &["Removed"]),
    ]);
}

#[test]
fn encryption() {
    const VAULT: &str = "etcd.dataEncryption.customerManaged.kms.vaultName";
    hold(&[
        bads(
            "C41",
            "etcd.dataEncryption.keyManagementMode",
            &["PlatformManaged"],
        ),
        null(
            CLUSTER,
            "/spec/properties/etcd/dataEncryption/customerManaged",
            "C42",
        ),
        bads(
            "C42",
            "etcd.dataEncryption.customerManaged.encryptionType",
            &["Alternate", "\"\""],
        ),
        null(
            CLUSTER,
            "/spec/properties/etcd/dataEncryption/customerManaged/kms",
            "C42",
        ),
        goods(VISIBILITY, &["Public"]),
        bads("K02, K09", VISIBILITY, &["Private"]),
        bads("C43", VISIBILITY, &["Shared", "\"\""]),
        null(
            CLUSTER,
            "/spec/properties/etcd/dataEncryption/customerManaged/kms/visibility",
            "C26",
        ),
        ats(VISIBILITY, "null # elsewhere: C43"),
        bads("K08, K10", KEY, &[&long(255)]),
        bads("C43", KEY, &["\"\"", &long(256)]),
        bads("D13", KEY_VERSION, &[&long(255)]),
        bads("C43", KEY_VERSION, &["\"\"", &long(256)]),
        bads("C43; elsewhere: V07", VAULT, &["\"\"", &long(256)]),
    ]);
}

#[test]
fn numbers() {
    hold(&[
        goods("autoscaling.maxNodesTotal", &["0", "500"]),
        bads("C40", "autoscaling.maxNodesTotal", &["-1", "501"]),
        goods("autoscaling.maxPodGracePeriodSeconds", &["1", "600"]),
        bads("C40", "autoscaling.maxPodGracePeriodSeconds", &["-1", "0"]),
        bads(
            "C40",
            "autoscaling.maxNodeProvisionTimeSeconds",
            &["-1", "0"],
        ),
        goods("autoscaling.podPriorityThreshold", &["-10"]),
        bads("C40", "autoscaling.podPriorityThreshold", &["0"]),
        goods("nodeDrainTimeoutMinutes", &["0", "10080"]),
        bads("C39", "nodeDrainTimeoutMinutes", &["-1", "10081"]),
    ]);
}

#[test]
fn mirrors() {
    let mirror = |value: &str| {
        ats(
            "imageDigestMirrors",
            &format!("\n- source: quay.io\n  mirrors:\n  - {value}"),
        )
    };
    let source = |value: &str| {
        ats(
            "imageDigestMirrors",
            &format!("\n- source: {value}\n  mirrors:\n  - quay.io"),
        )
    };
    let mirrors = |value: &str| {
        ats(
            "imageDigestMirrors",
            &format!("\n- source: quay.io\n  mirrors: {value}"),
        )
    };
    let entry = "{source: quay.io, mirrors: [a.io]}";
    hold(&[
        mirror("mirror.example.com:5000/quay/x"),
        source("\"*.quay.io\""),
        mirror(&format!("{}/x", long(253))),
        mirror("\"quay.io:99999/a\""),
        mirror("quay.io/a__b/c-d"),
        mirrors(&list("a.io", 255)),
        ats("imageDigestMirrors", &list(entry, 240)),
        mirror("https://quay.io # C46"),
        mirror("http://quay.io # C46"),
        mirror("QUAY.io/x # C46"),
        mirror("a b # C46"),
        mirror(&format!("{} # C46", long(256))),
        mirror(&format!("{} # C46", long(254))),
        mirror("quay.io/a___b # C46"),
        mirror("quay.io/a..b # C46"),
        mirror("\"*.quay.io\" # C46"),
        mirror("\"quay.io:/x\" # C46"),
        source("\"*.quay.io/x\" # C46"),
        mirrors("[] # C46"),
        mirrors(&format!("{} # C46", list("a.io", 256))),
        ats("imageDigestMirrors", &format!("{} # C46", list(entry, 241))),
    ]);
}
