//! `capstan create`: definitions from flags, the mistakes in flags, and commits.

mod commits;
mod refused;

use std::fs;

use tempfile::TempDir;

use crate::cli::{capstan, ended, stderr, stdout};
use crate::real;

const ID: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";
const NETWORK: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/dev-network/providers/Microsoft.Network";

/// Flags, as a person types them but for quotes.
fn flags(text: &str) -> Vec<String> {
    let text = text.replace("@net", NETWORK).replace("@id", ID);
    text.split_whitespace().map(str::to_owned).collect()
}

const IDENTITIES: [&str; 7] = [
    "imageRegistry",
    "ingress",
    "file",
    "disk",
    "nodePoolManagement",
    "cloudProvider",
    "network",
];

fn identities() -> Vec<String> {
    let numbered = IDENTITIES.iter().enumerate();
    let one = |(at, name): (usize, &&str)| {
        let id = format!("0a6f3b1c-7d52-4c8e-9b13-5e2f4a7c1d{:02}", at + 1);
        ["--workload-identity".to_owned(), format!("{name}={id}")]
    };
    numbered.flat_map(one).collect()
}

/// The flags that describe an example.
fn example(infrastructure: &str) -> Vec<String> {
    let words = match infrastructure {
        "kubevirt" => {
            "--name lab-kubevirt --namespace clusters --label env=lab --base-domain lab.example.com --pull-secret pull-secret
             --release 4.20.17 --node-pool-replicas 3 --cores 4 --memory 16Gi --root-volume-size 64Gi --deletion-policy Delete"
        }
        "agent" => {
            "--name lab-agent --namespace clusters --label env=lab --base-domain lab.example.com --pull-secret pull-secret
             --release 4.20.17 --ssh-key ssh-key --node-pool-replicas 2 --agent-namespace machines --infra-env lab
             --agent-label size=large"
        }
        _ => {
            "--name dev-azure --namespace clusters --label env=dev --base-domain dev.example.com --pull-secret pull-secret
             --release 4.20.17 --control-plane-cpu 2 --control-plane-memory 8Gi --node-pool-replicas 2 --location uksouth
             --subscription-id @id --tenant-id 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31 --resource-group dev-azure-nodes
             --vnet-id @net/virtualNetworks/dev --subnet-id @net/virtualNetworks/dev/subnets/nodes
             --security-group-id @net/networkSecurityGroups/nodes --issuer-url https://dev-issuer.example.com/dev-azure
             --service-account-signing-key dev-azure-signing-key --vm-size Standard_D4s_v5 --os-disk-size 128"
        }
    };
    let mut flags = flags(words);
    if infrastructure == "azure" {
        flags.extend(identities());
    }
    flags
}

/// The command with an example's flags, where those of `changed` replace others: `-` removes one.
fn create(infrastructure: &str, changed: &[(&str, &str)]) -> Vec<String> {
    let mut words = ["create", "cluster", infrastructure]
        .map(str::to_owned)
        .to_vec();
    let flags = example(infrastructure);
    let pairs = flags
        .chunks(2)
        .map(|pair| (pair[0].as_str(), pair[1].as_str()));
    let is_changed = |flag: &str| changed.iter().any(|(name, _)| *name == flag);
    let kept = pairs.filter(|(flag, _)| !is_changed(flag));
    let added = changed.iter().copied().filter(|(_, value)| *value != "-");
    for (flag, value) in kept.chain(added) {
        let value = value.replace("@net", NETWORK).replace("@id", ID);
        let is_joined = value.is_empty() || value.starts_with('-') && value != "-1";
        words.extend(match is_joined {
            true => vec![format!("{flag}={value}")],
            false => vec![flag.to_owned(), value],
        });
    }
    words
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

const ALL: [&str; 3] = ["azure", "kubevirt", "agent"];

#[test]
fn flags_describe_the_examples() {
    for infrastructure in ALL {
        let file = format!("examples/hypershift/{infrastructure}.yaml");
        let example = fs::read_to_string(&file).expect("an example");
        let lines = example.lines().filter(|line| !line.starts_with('#'));
        let expected: String = lines.map(|line| format!("{line}\n")).collect();
        assert_eq!(stdout(&words(&create(infrastructure, &[])), 0), expected);
    }
}

#[test]
fn what_is_written_is_valid_and_never_overwritten() {
    let place = TempDir::new().expect("a directory");
    for infrastructure in ALL {
        let file = place.path().join(format!("new/{infrastructure}.yaml"));
        let file = file.to_str().expect("UTF-8");
        let create = create(infrastructure, &[("--output", file)]);
        assert_eq!(stdout(&words(&create), 0), format!("wrote  {file}\n"));
        let found = stdout(&["validate", file], 0);
        assert!(
            found.contains("0 errors, 0 warnings in 1 definition"),
            "{found}"
        );
        let text = fs::read_to_string(file).expect("it is there");
        let said = stderr(&words(&create), 2);
        assert!(
            said.contains(&format!("{file} exists and is not changed; remove it")),
            "{said}"
        );
        assert_eq!(fs::read_to_string(file).expect("it is there"), text);
    }
}

#[test]
fn a_private_cluster_is_written_in_either_shape() {
    let subnet = format!("{NETWORK}/virtualNetworks/hub/subnets/nat");
    let own = [
        ("--endpoint-access", "PublicAndPrivate"),
        ("--private-connectivity-nat-subnet-id", subnet.as_str()),
        (
            "--private-connectivity-allowed-subscriptions",
            "@id,8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31",
        ),
        ("--external-dns-domain", "ext.example.net"),
    ];
    let operator = [
        "--workload-identity".to_owned(),
        format!("controlPlaneOperator={ID}"),
    ];
    let service = [
        "--workload-identity".to_owned(),
        format!("privateLinkService={ID}"),
    ];
    let landed = [create("azure", &own), operator.to_vec()].concat();
    let text = stdout(&words(&landed), 0);
    let expected = format!(
        "
      externalDNSDomain: ext.example.net
      endpointAccess: PublicAndPrivate
      privateConnectivity:
        natSubnetID: {subnet}
        allowedSubscriptions:
          - {ID}
          - 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
"
    );
    assert!(text.contains(&expected), "{text}");
    let shape = ["--api-shape", "proposal"].map(str::to_owned);
    let proposal = [landed, shape.to_vec()].concat();
    let said = stderr(&words(&proposal), 2);
    assert!(
        said.contains("--endpoint-access PublicAndPrivate needs the identity privateLinkService"),
        "{said}"
    );
    let text = stdout(&words(&[proposal, service.to_vec()].concat()), 0);
    assert!(text.contains("\n      apiShape: proposal\n"), "{text}");
}

#[test]
fn the_credential_for_a_private_endpoint_is_written_as_it_is_named() {
    let subnet = format!("{NETWORK}/virtualNetworks/hub/subnets/nat");
    let private = [
        ("--endpoint-access", "Private"),
        ("--private-connectivity-nat-subnet-id", subnet.as_str()),
        ("--external-dns-domain", "ext.example.net"),
    ];
    let operator = format!("controlPlaneOperator={ID}");
    let operator = ["--workload-identity".to_owned(), operator];
    for (flag, value, expected) in [
        ("--identity-ref", "guests", "identityRef: {name: guests}"),
        (
            "--identity-ref",
            "identities/guests",
            "identityRef: {name: guests, namespace: identities}",
        ),
        ("--credential-from", "guests", "credentialFrom: guests"),
    ] {
        let changed = [&private[..], &[(flag, value)]].concat();
        let create = [create("azure", &changed), operator.to_vec()].concat();
        let text = stdout(&words(&create), 0);
        assert!(text.contains(&format!("\n      {expected}\n")), "{text}");
    }
}

const HOSTILE: [&str; 16] = [
    "a\nspec: {}",
    "a: b",
    "a\"",
    "'a'",
    "*a",
    "&a",
    "{a}",
    "a, b: c",
    "a #b",
    "---",
    "a\u{85}b",
    "\u{1b}[2J",
    "\u{202e}a",
    "::error ::a",
    "##vso[task.x]a",
    "~",
];

/// What a flag says is a text in the definition, or refused.
#[test]
fn no_text_becomes_anything_else() {
    let long = "a".repeat(100_000);
    let place = TempDir::new().expect("a directory");
    for text in HOSTILE.into_iter().chain([long.as_str()]) {
        for flag in [
            "--name",
            "--namespace",
            "--base-domain",
            "--pull-secret",
            "--release",
            "--memory",
        ] {
            let output = ended(&words(&create("kubevirt", &[(flag, text)])), 2);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.stdout.is_empty() && said.contains(flag),
                "{flag} {text:?}: {said}"
            );
            assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{85}']), "{said:?}");
            assert!(
                !said.contains("##vso[") && said.lines().count() < 20,
                "{said}"
            );
        }
        let label = format!("--label=k={text}");
        let mut all = create("kubevirt", &[("--label", "-")]);
        all.push(label);
        let output = capstan(&words(&all)).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{text:?}");
        if text.len() > 255 {
            continue;
        }
        let all = create("kubevirt", &[("--root-volume-storage-class", "-")]);
        let class = format!("--root-volume-storage-class={text}");
        let written = stdout(&words(&[all, vec![class]].concat()), 0);
        let file = place.path().join("definition.yaml");
        fs::write(&file, &written).expect("written");
        let documents = real::documents(&file);
        assert_eq!(documents.len(), 1, "{written}");
        let json = documents[0].to_json();
        let volume = &json["spec"]["nodePools"][0]["kubeVirt"]["rootVolume"];
        assert_eq!(volume["storageClass"], *text, "{written}");
        assert!(
            !written.contains("##vso[") && !written.contains('\u{202e}'),
            "{written}"
        );
    }
}
