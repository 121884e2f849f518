//! Private clusters as the Fleet document has them connected: what `validate` warns of, and what a rehearsal comes to.

use tempfile::TempDir;

use crate::cli::{ended, stdout};

const NETWORK: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/dev-network/providers/Microsoft.Network/virtualNetworks";
/// The client ID of the management side, where a definition names one.
const CLIENT: &str = "7d1c7d3e-52a4-4b6b-9a51-2f1f0d9c7a12";
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

/// The same in the shape of the proposal, with the client ID of the management side.
fn proposed() -> String {
    let text = private().replace(
        "      endpointAccess:",
        "      apiShape: proposal\n      endpointAccess:",
    );
    text.replace(
        "        network: {",
        &format!("        privateLinkService: {{clientID: {CLIENT}}}\n        network: {{"),
    )
}

/// The identity of the management side.
fn identity(client: &str) -> String {
    format!(
        "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\nmetadata: {{name: link, namespace: platform}}\nspec: {{type: WorkloadIdentity, clientID: {client}, tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31, allowedNamespaces: {{}}}}\n"
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

    /// The output of a rehearsal with the Fleet document: standard output, and standard error.
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

#[test]
fn the_proposals_identity_of_the_management_side_is_compared_with_the_one_that_is_known() {
    let nobody = Place::new(&proposed(), "");
    let [text, _] = said(&["rehearse", &nobody.path("fleet")], 0);
    assert!(text.contains("\nready after "), "{text}");
    let [text, _] = Place::new(&proposed(), MANAGEMENT).rehearsed(0);
    assert!(text.contains("\nready after "), "{text}");
    let spec = MANAGEMENT.replace("name: link", "name: link, namespace: platform");
    let same = format!("{}{}", proposed(), identity(CLIENT));
    let [text, _] = Place::new(&same, &spec).rehearsed(0);
    assert!(!text.contains("supplied  AzureClusterIdentity"), "{text}");
    let other = CLIENT.replace("7d1c", "8d1c");
    let different = format!("{}{}", proposed(), identity(&other));
    let [text, _] = Place::new(&different, &spec).rehearsed(1);
    let expected = format!("with the client ID {other}: set it to that");
    assert!(text.contains(&expected), "{text}");
}
