//! Mistakes in flags.

use super::{create, words};
use crate::cli::{ended, stderr};

/// An infrastructure, flags with a mistake, and what is said about it.
type Refused = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const REFUSED: &[Refused] = &[
    (
        "kubevirt",
        &[("--release", "4.20")],
        "--release: `4.20` is not valid\n  help: write the full version, such as 4.20.17, or an image",
    ),
    (
        "kubevirt",
        &[("--release", "a b/c")],
        "--release: `a b/c` is not valid",
    ),
    ("kubevirt", &[("--release", "")], "--release: "),
    (
        "kubevirt",
        &[("--name", "Lab")],
        "--name: `Lab` is not valid\n  help: use lower-case letters, digits and `-`",
    ),
    (
        "kubevirt",
        &[("--name", "a.b")],
        "--name: `a.b` is not valid",
    ),
    (
        "kubevirt",
        &[(
            "--name",
            "a2345678901234567890123456789012345678901234567890123456789012345",
        )],
        "--name: too long: may not be more than 63 bytes",
    ),
    (
        "kubevirt",
        &[
            (
                "--name",
                "a23456789012345678901234567890123456789012345678901234567",
            ),
            ("--node-pool-replicas", "-"),
        ],
        "--name: the namespace of the control plane would be called clusters-a2345",
    ),
    (
        "kubevirt",
        &[("--namespace", "a_b")],
        "--namespace: `a_b` is not valid",
    ),
    (
        "kubevirt",
        &[("--base-domain", "example")],
        "--base-domain: `example` is not valid\n  help: write a domain in lower case, such as example.com",
    ),
    (
        "kubevirt",
        &[("--pull-secret", "A")],
        "--pull-secret: `A` is not valid",
    ),
    (
        "kubevirt",
        &[("--ssh-key", "a/b")],
        "--ssh-key: `a/b` is not valid",
    ),
    (
        "kubevirt",
        &[("--node-pool-replicas", "-1")],
        "--node-pool-replicas: invalid value: -1: should be greater than or equal to 0",
    ),
    (
        "kubevirt",
        &[("--node-pool-replicas", "two")],
        "--node-pool-replicas: `two` is not valid\n  help: write a whole number",
    ),
    (
        "kubevirt",
        &[("--cores", "0")],
        "--cores: invalid value: 0: should be greater than or equal to 1",
    ),
    (
        "kubevirt",
        &[("--cores", "1.5")],
        "--cores: `1.5` is not valid\n  help: write a whole number",
    ),
    (
        "kubevirt",
        &[("--memory", "16GB")],
        "--memory: `16GB` is not valid\n  help: write an amount above zero, such as 16Gi",
    ),
    (
        "kubevirt",
        &[("--memory", "0")],
        "--memory: `0` is not valid",
    ),
    ("kubevirt", &[("--memory", "-4Gi")], "--memory"),
    (
        "kubevirt",
        &[("--root-volume-size", "x")],
        "--root-volume-size: `x` is not valid",
    ),
    (
        "kubevirt",
        &[("--root-volume-storage-class", "")],
        "--root-volume-storage-class: ",
    ),
    (
        "kubevirt",
        &[("--control-plane-cpu", "2x")],
        "--control-plane-cpu: `2x` is not valid\n  help: write an amount above zero, such as 4 or 500m",
    ),
    (
        "kubevirt",
        &[("--control-plane-memory", "8 Gi")],
        "--control-plane-memory: `8 Gi` is not valid",
    ),
    (
        "kubevirt",
        &[("--label", "env")],
        "--label: `env` is not valid\n  help: write KEY=VALUE",
    ),
    (
        "kubevirt",
        &[("--label", "a=#")],
        "--label: `#` is not a valid label value",
    ),
    (
        "kubevirt",
        &[("--label", "a b=c")],
        "--label: `a b` is not a valid label key",
    ),
    (
        "kubevirt",
        &[("--label", "a=b"), ("--label", "a=c")],
        "--label: `a` is given twice",
    ),
    (
        "kubevirt",
        &[("--deletion-policy", "Keep")],
        "--deletion-policy must be one of: Orphan, Delete",
    ),
    (
        "kubevirt",
        &[("--base-domain", "-"), ("--pull-secret", "-")],
        "the following required arguments were not provided:\n  --base-domain <DOMAIN>\n  --pull-secret <SECRET>",
    ),
    (
        "agent",
        &[("--agent-namespace", "-")],
        "  --agent-namespace <NAMESPACE>",
    ),
    (
        "agent",
        &[("--agent-namespace", "A")],
        "--agent-namespace: `A` is not valid",
    ),
    (
        "agent",
        &[("--infra-env", "a.b")],
        "--infra-env: `a.b` is not valid",
    ),
    (
        "agent",
        &[("--agent-label", "infraenvs.agent-install.openshift.io=a")],
        "--agent-label: the label infraenvs.agent-install.openshift.io is that of the InfraEnv\n  help: write `--infra-env NAME`",
    ),
    (
        "azure",
        &[("--subscription-id", "mine")],
        "--subscription-id: `mine` is not valid\n  help: write the ID as Azure shows it, such as",
    ),
    (
        "azure",
        &[("--tenant-id", "mine")],
        "--tenant-id: `mine` is not valid",
    ),
    (
        "azure",
        &[("--resource-group", "a.")],
        "--resource-group: `a.` is not valid",
    ),
    (
        "azure",
        &[("--vnet-id", "dev")],
        "--vnet-id: `dev` is not valid",
    ),
    (
        "azure",
        &[("--subnet-id", "@net/virtualNetworks/dev")],
        "--subnet-id: `/subscriptions/",
    ),
    (
        "azure",
        &[("--security-group-id", "@net/virtualNetworks/dev")],
        "--security-group-id: `/subscriptions/",
    ),
    (
        "azure",
        &[("--issuer-url", "http://a")],
        "--issuer-url: `http://a` is not valid\n  help: write an address that starts with https://",
    ),
    (
        "azure",
        &[("--service-account-signing-key", "A")],
        "--service-account-signing-key: `A` is not valid",
    ),
    ("azure", &[("--location", "")], "--location: "),
    ("azure", &[("--vm-size", "-")], "  --vm-size <SIZE>"),
    (
        "azure",
        &[("--os-disk-size", "8")],
        "--os-disk-size: invalid value: 8: should be greater than or equal to 16",
    ),
    (
        "azure",
        &[("--external-dns-domain", "x")],
        "--external-dns-domain: `x` is not valid",
    ),
    (
        "azure",
        &[("--workload-identity", "-")],
        "  --workload-identity <NAME=CLIENT_ID>",
    ),
    (
        "azure",
        &[("--workload-identity", "disk=@id")],
        "--workload-identity is missing for cloudProvider, file, imageRegistry, ingress, network, nodePoolManagement\n",
    ),
    (
        "azure",
        &[("--workload-identity", "disc=@id")],
        "--workload-identity: unknown identity `disc`\n  help: did you mean `disk`?",
    ),
    (
        "azure",
        &[("--workload-identity", "storage=@id")],
        "--workload-identity: unknown identity `storage`\n  help: the identities are cloudProvider, ",
    ),
    (
        "azure",
        &[("--workload-identity", "disk=mine")],
        "--workload-identity: `mine` is not valid",
    ),
    (
        "azure",
        &[("--workload-identity", "disk")],
        "--workload-identity: `disk` is not valid\n  help: write NAME=CLIENT_ID",
    ),
    (
        "azure",
        &[("--endpoint-access", "private")],
        "--endpoint-access must be one of: Public, PublicAndPrivate, Private\n",
    ),
    (
        "azure",
        &[("--api-shape", "new")],
        "--api-shape must be one of: landed, proposal",
    ),
    (
        "azure",
        &[("--endpoint-access", "Private")],
        "--endpoint-access Private needs --private-connectivity-nat-subnet-id\n  help: add `--private-connectivity-nat-subnet-id ID`",
    ),
    (
        "azure",
        &[
            ("--endpoint-access", "Private"),
            (
                "--private-connectivity-nat-subnet-id",
                "@net/virtualNetworks/hub/subnets/nat",
            ),
        ],
        "--endpoint-access Private needs the identity controlPlaneOperator\n  help: add `--workload-identity controlPlaneOperator=CLIENT_ID`",
    ),
    (
        "azure",
        &[(
            "--private-connectivity-nat-subnet-id",
            "@net/virtualNetworks/hub/subnets/nat",
        )],
        "--private-connectivity-nat-subnet-id is forbidden with --endpoint-access Public\n  help: remove it, or write `--endpoint-access PublicAndPrivate` or `Private`",
    ),
    (
        "azure",
        &[("--private-connectivity-nat-subnet-id", "hub")],
        "--private-connectivity-nat-subnet-id: `hub` is not valid",
    ),
    (
        "azure",
        &[("--private-connectivity-allowed-subscriptions", "@id")],
        "  --private-connectivity-nat-subnet-id <ID>",
    ),
    (
        "azure",
        &[
            (
                "--private-connectivity-nat-subnet-id",
                "@net/virtualNetworks/hub/subnets/nat",
            ),
            ("--private-connectivity-allowed-subscriptions", "@id,x"),
        ],
        "--private-connectivity-allowed-subscriptions: `x` is not valid",
    ),
    (
        "azure",
        &[("--identity-ref", "guests")],
        "--identity-ref is forbidden with --endpoint-access Public\n  help: remove it, or write `--endpoint-access PublicAndPrivate` or `Private`",
    ),
    (
        "azure",
        &[("--credential-from", "guests")],
        "--credential-from is forbidden with --endpoint-access Public\n",
    ),
    (
        "azure",
        &[("--identity-ref", "a"), ("--credential-from", "b")],
        "--credential-from: a private connection has either --identity-ref or --credential-from\n  help: remove one of them",
    ),
    (
        "azure",
        &[("--identity-ref", "A")],
        "--identity-ref: `A` is not valid",
    ),
    (
        "azure",
        &[("--identity-ref", "a/b/c")],
        "--identity-ref: `b/c` is not valid",
    ),
    ("azure", &[("--identity-ref", "/b")], "--identity-ref: "),
    ("azure", &[("--identity-ref", "b/")], "--identity-ref: "),
    (
        "azure",
        &[("--credential-from", "a/b")],
        "--credential-from: `a/b` is not valid",
    ),
];

#[test]
fn every_mistake_names_its_flag() {
    for (infrastructure, changed, message) in REFUSED {
        let create = create(infrastructure, changed);
        let output = ended(&words(&create), 2);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(message), "{changed:?}: {said}");
        assert!(output.stdout.is_empty(), "{changed:?}");
        assert!(!said.contains("spec."), "{changed:?}: {said}");
    }
}

#[test]
fn mistakes_are_told_together() {
    let changed = [
        ("--release", "4.20"),
        ("--memory", "x"),
        ("--base-domain", "x"),
        ("--label", "y"),
    ];
    let said = stderr(&words(&create("kubevirt", &changed)), 2);
    assert_eq!(said.matches("error: --").count(), 4, "{said}");
}

#[test]
fn an_unknown_infrastructure_is_told_the_others() {
    let said = stderr(&["create", "cluster", "aws", "--name", "a"], 2);
    assert_eq!(
        said,
        "error: unknown infrastructure `aws`: use azure, kubevirt or agent\n"
    );
    let said = stderr(&["create", "cluster", "a\u{1b}[2J\n::error ::x"], 2);
    assert_eq!(said.lines().count(), 1, "{said:?}");
    assert!(!said.contains('\u{1b}'), "{said:?}");
    stderr(&["create", "cluster"], 2);
}
