//! What team B tries with what is of team A, and what becomes of it.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::super::admission::{CLOSED, Guarded};
use super::scene::{A, B, Scene};
use crate::cli::capstan;

/// What is said of it, everywhere.
const REFUSED: &str = "AzureClusterIdentity/team-a/identity may not be used from namespace team-b";

/// The identity of team A, as team B names it.
fn theirs() -> Json {
    json!({"name": "identity", "namespace": A.namespace})
}

/// A ClusterDefinition of team B that names the identity of team A.
fn definition() -> String {
    let quickstart = include_str!("../../../../examples/quickstart/cluster.yaml");
    let theft = "{name: identity, namespace: team-a}";
    quickstart
        .replace("namespace: clusters", "namespace: team-b")
        .replace("{name: cluster-identity}", theft)
}

fn fleet(dir: &Path, files: &[(&str, &str)]) -> String {
    for (name, text) in files {
        std::fs::write(dir.join(name), text).expect("written");
    }
    dir.to_str().expect("UTF-8").to_owned()
}

/// `validate` sees it where the identity is in the fleet, `plan` where it is in the cluster.
pub(super) fn in_the_check(scene: &Scene) {
    let definition = definition();
    let spec = json!({"type": "ServicePrincipal", "clientID": A.client, "tenantID": A.tenant,
        "clientSecret": {"name": "proof"}});
    let identity = A.identity("identity", &spec).to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let files = [
        ("cluster.yaml", definition.as_str()),
        ("identity.yaml", &identity),
    ];
    let output = capstan(&["validate", &fleet(dir.path(), &files)]).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("error[T07]") && said.contains(REFUSED),
        "{said}"
    );

    let dir = tempfile::tempdir().expect("a directory");
    let fleet = fleet(dir.path(), &files[..1]);
    let output = scene
        .cluster
        .capstan(&["plan", &fleet, "--against", "live"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let refused = format!("refused: AROControlPlane/team-b/quickstart: {REFUSED}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&refused), "{said}");
}

/// Nothing is applied for a cluster, and nothing is asked for it.
fn nothing_is_made(scene: &Scene, name: &str) {
    scene.pass(10);
    let all = scene.everything(B.namespace);
    let made: Vec<_> = all
        .iter()
        .map(capstan::health::Live)
        .filter(|live| live.group().ends_with(".azure.com") && live.name().starts_with(name))
        .map(|live| live.id().to_string())
        .collect();
    assert_eq!(made, Vec::<String>::new());
    let secret = format!("{name}-aso-secret");
    assert_eq!(scene.get("Secret", B.namespace, &secret), None);
    assert_eq!(scene.callers(&format!("{name}-kv")), []);
}

/// The controllers refuse it by themselves, on the objects that the person wrote.
pub(super) fn at_reconcile(scene: &Scene) {
    let reason = "NamespaceNotAllowedByIdentity";
    for object in B.whole("gamma", &theirs()) {
        scene.apply(&object);
    }
    for kind in ["AROControlPlane", "AROCluster"] {
        let message = scene.said((kind, B.namespace, "gamma"), "IdentityReady", reason);
        assert!(message.contains("allowed namespaces"), "{message}");
        scene.until_event((kind, B.namespace, "gamma"), reason);
    }
    nothing_is_made(scene, "gamma");
}

/// An identity of its own that names the Secret of the other proves nothing.
pub(super) fn with_its_secret(scene: &Scene) {
    let spec = json!({"type": "ServicePrincipal", "clientID": A.client, "tenantID": A.tenant,
        "clientSecret": {"name": "proof", "namespace": A.namespace}});
    scene.apply(&B.identity("borrowed", &spec));
    for object in B.whole("delta", &json!({"name": "borrowed"})) {
        scene.apply(&object);
    }
    let (reason, place) = (
        "CredentialsRefused",
        ("AzureClusterIdentity", B.namespace, "borrowed"),
    );
    let message = scene.said(place, "Ready", reason);
    let expected = "Secret/team-a/proof, in another namespace, does not exist or does not let identities of team-b use it";
    assert!(message.contains(expected), "{message}");
    scene.said(
        ("AROControlPlane", B.namespace, "delta"),
        "IdentityReady",
        reason,
    );
    scene.until_event(place, reason);
    nothing_is_made(scene, "delta");
}

/// Client ID and tenant of the other are no secrets, and Capstan itself would prove them.
pub(super) fn with_its_client(scene: &Scene) {
    for (index, kind) in ["WorkloadIdentity", "UserAssignedMSI"]
        .into_iter()
        .enumerate()
    {
        let (name, cluster) = (format!("claimed-{index}"), format!("claim-{index}"));
        let spec = json!({"type": kind, "clientID": A.client, "tenantID": A.tenant});
        scene.apply(&B.identity(&name, &spec));
        for object in B.whole(&cluster, &json!({"name": name})) {
            scene.apply(&object);
        }
        let (reason, place) = (
            "CredentialsRefused",
            ("AzureClusterIdentity", B.namespace, name.as_str()),
        );
        let message = scene.said(place, "Ready", reason);
        let expected = "spec.clientID is not bound to the namespace team-b";
        assert!(message.contains(expected), "{message}");
        let plane = ("AROControlPlane", B.namespace, cluster.as_str());
        let message = scene.said(plane, "IdentityReady", reason);
        assert!(message.contains(expected), "{message}");
        scene.until_event(place, reason);
        scene.until_event(plane, reason);
        nothing_is_made(scene, &cluster);
    }
}

/// Its own identity is no good in the vault of the other.
pub(super) fn in_its_vault(scene: &Scene) {
    let vault = format!(
        "/subscriptions/{}/resourceGroups/alpha-rg/providers/Microsoft.KeyVault/vaults/{}",
        A.subscription,
        A.vault()
    );
    let mut objects = B.whole("epsilon", &json!({"name": "identity"}));
    for object in &mut objects {
        let kms = "/spec/resources/0/spec/properties/etcd/dataEncryption/customerManaged/kms";
        if let Some(kms) = object.pointer_mut(kms) {
            *kms = json!({"keyVaultResourceId": vault, "visibility": "Public", "activeKey": {"name": "etcd"}});
        }
        scene.apply(object);
    }
    let plane = ("AROControlPlane", B.namespace, "epsilon");
    let message = scene.said(plane, "EncryptionKeyReady", "KeyAccessDenied");
    let expected =
        "the vault 'alpha-kv' does not accept the token of AzureClusterIdentity team-b/identity";
    assert!(message.contains(expected), "{message}");
    let of_b = (B.client.to_owned(), 401);
    assert!(scene.callers(&A.vault()).contains(&of_b));
    assert_eq!(
        scene.get("HcpOpenShiftCluster", B.namespace, "epsilon"),
        None
    );
}

/// A cluster that runs keeps its own credential.
pub(super) fn of_a_cluster_that_runs(scene: &Scene) {
    let plane = ("AROControlPlane", B.namespace, B.cluster);
    let refer = |identity: &Json| {
        let patch = json!({"spec": {"identityRef": identity}});
        scene.merge(plane.0, plane.1, plane.2, &patch);
    };
    let secret = || {
        let name = format!("{}-aso-secret", B.cluster);
        scene.get("Secret", B.namespace, &name).expect("it stays")["data"].clone()
    };
    let before = secret();
    refer(&theirs());
    scene.said(plane, "IdentityReady", "NamespaceNotAllowedByIdentity");
    scene.pass(10);
    assert_eq!(secret(), before);
    refer(&json!({"name": "identity", "namespace": null}));
    scene.until_plane(&B);
    assert_eq!(secret(), before);
}

/// The API server refuses it before anybody sees it.
pub(super) fn at_admission(guarded: &Guarded<'_>) {
    guarded.install();
    let running = guarded.serve(CLOSED);
    let objects = B.whole("zeta", &theirs());
    let plane = objects
        .iter()
        .find(|object| object["kind"] == "AROControlPlane");
    let plane = plane.expect("a plane");
    let is_refused = |message: &str| message.contains("T07") && message.contains(REFUSED);
    guarded.created_at_last(plane, |created| {
        created
            .as_ref()
            .is_err_and(|status| is_refused(&status.message))
    });
    let mut own = plane.clone();
    own["metadata"]["name"] = json!(B.cluster);
    let patch = json!({"spec": {"identityRef": theirs()}});
    let refused = guarded.patch(&own, &patch).expect_err("it is refused");
    assert!(is_refused(&refused.message), "{refused:?}");
    running.stop();
}
