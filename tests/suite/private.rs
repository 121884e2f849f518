//! Private clusters as the Fleet document has them connected: what `validate` warns of, and what a rehearsal comes to.

use tempfile::TempDir;

use crate::cli::{ended, stdout};

const NETWORK: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/dev-network/providers/Microsoft.Network/virtualNetworks";
const MANAGEMENT: &str = "privateLink: {management: {subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10, resourceGroup: hub-nodes, networkResourceGroup: dev-network, identityRef: {name: link}}}";
const ALL_OFF: &str =
    "controllers: {privateLinkObserver: off, privateLinkPlatform: off, privateLinkEndpoint: off}";

/// The definition of the examples, as a private cluster.
fn private() -> String {
    let azure = std::fs::read_to_string("examples/hypershift/azure.yaml").expect("an example");
    let text = azure.replace(
        "      issuerURL:",
        &format!(
            "      endpointAccess: Private\n      externalDNSDomain: ext.example.net\n      privateConnectivity:\n        natSubnetID: {NETWORK}/hub/subnets/nat\n      issuerURL:"
        ),
    );
    text.replace(
        "        network: {",
        "        controlPlaneOperator: {clientID: 0a6f3b1c-7d52-4c8e-9b13-5e2f4a7c1d08}\n        network: {",
    )
}

/// A fleet of one file beside a Fleet document.
struct Place(TempDir);

impl Place {
    /// The fleet `text`, and this in the spec of the Fleet document.
    fn new(text: &str, spec: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("fleet")).expect("a directory");
        std::fs::write(dir.path().join("fleet/one.yaml"), text).expect("it is written");
        let document = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: prod}}\nspec:\n  source: {{git: {{url: u}}}}\n  {spec}\n"
        );
        std::fs::write(dir.path().join("fleet.yaml"), document).expect("it is written");
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn validated(&self) -> String {
        let (fleet, document) = (self.path("fleet"), self.path("fleet.yaml"));
        stdout(&["validate", &fleet, "--fleet", &document], 0)
    }

    /// What a rehearsal with the Fleet document says, on both ends.
    fn rehearsed(&self, code: i32) -> [String; 2] {
        let (fleet, document) = (self.path("fleet"), self.path("fleet.yaml"));
        said(&["rehearse", &fleet, "--fleet", &document], code)
    }
}

fn said(arguments: &[&str], code: i32) -> [String; 2] {
    let output = ended(arguments, code);
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"))
}

#[test]
fn validate_warns_of_a_private_cluster_that_the_fleet_does_not_connect() {
    let text = private();
    let line = text
        .lines()
        .position(|line| line.contains("endpointAccess"))
        .expect("a line")
        + 1;
    let found = Place::new(&text, "").validated();
    assert!(
        found.contains("warning[H19]: the Fleet document has no `privateLink.management`"),
        "{found}"
    );
    let place = format!("one.yaml:{line}:");
    assert!(found.contains(&place), "{place}: {found}");
    let off = format!("controllers: {{privateLinkEndpoint: off}}\n  {MANAGEMENT}");
    let found = Place::new(&text, &off).validated();
    assert!(
        found.contains("the Fleet document switches privateLinkEndpoint off"),
        "{found}"
    );
    for fine in [MANAGEMENT, ALL_OFF] {
        let found = Place::new(&text, fine).validated();
        assert!(!found.contains("H19"), "{found}");
    }
    let public = std::fs::read_to_string("examples/hypershift/azure.yaml").expect("an example");
    let found = Place::new(&public, "").validated();
    assert!(!found.contains("H19"), "{found}");
}

#[test]
fn a_rehearsal_connects_private_clusters_where_the_fleet_has_the_management_side() {
    let [text, note] = Place::new(&private(), MANAGEMENT).rehearsed(0);
    assert!(text.contains("\nready after "), "{text}");
    let supplied = "supplied  AzureClusterIdentity/capstan-system/link (not in the fleet";
    assert!(text.contains(supplied), "{text}");
    assert!(!note.contains("private cluster"), "{note}");
}

#[test]
fn a_rehearsal_is_not_ready_without_the_controllers_of_private_clusters() {
    let off = |name: &str| format!("controllers: {{{name}: off}}\n  {MANAGEMENT}");
    for (spec, gap, condition) in [
        (String::new(), "has no `privateLink.management`", "AzurePLSCreated"),
        (
            "controllers: {privateLinkObserver: on, privateLinkPlatform: on, privateLinkEndpoint: on}"
                .to_owned(),
            "has no `privateLink.management`",
            "AzurePLSCreated",
        ),
        (
            off("privateLinkObserver"),
            "switches privateLinkObserver off",
            "AzureInternalLoadBalancerAvailable",
        ),
        (
            off("privateLinkPlatform"),
            "switches privateLinkPlatform off",
            "AzurePLSCreated",
        ),
        (
            off("privateLinkEndpoint"),
            "switches privateLinkEndpoint off",
            "AzurePrivateEndpointAvailable",
        ),
    ] {
        let [text, note] = Place::new(&private(), &spec).rehearsed(1);
        assert!(text.contains("\nnot ready: "), "{spec}: {text}");
        let cluster = "HostedCluster/clusters/dev-azure: ";
        assert!(text.contains(cluster), "{spec}: {text}");
        assert!(
            note.contains(gap) && note.contains(condition),
            "{spec}: {note}"
        );
    }
}

#[test]
fn a_rehearsal_plays_those_to_whom_the_fleet_leaves_private_clusters() {
    let [text, note] = Place::new(&private(), ALL_OFF).rehearsed(0);
    assert!(text.contains("\nready after "), "{text}");
    assert!(
        note.contains("leaves private clusters to HyperShift"),
        "{note}"
    );
    let public = std::fs::read_to_string("examples/hypershift/azure.yaml").expect("an example");
    let [_, note] = Place::new(&public, ALL_OFF).rehearsed(0);
    assert_eq!(note, "");
}
