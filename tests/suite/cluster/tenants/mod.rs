//! Two teams on one management cluster: each brings up a cluster with a key of its own, and what one tries with the
//! identity, the Secret or the vault of the other is refused and reported. Entra ID and the vaults know who asked them.

mod attempts;
#[path = "../../../support/authority.rs"]
#[allow(dead_code, reason = "others use the rest")]
pub(super) mod authority;
mod scene;
#[path = "../../../support/vaults.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod vaults;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use capstan::health::Live;
use serde_json::json;

use self::authority::{KEY, TOKEN, spellings};
use self::scene::{A, B, PASSWORD, Scene, Team};
use super::admission::Guarded;

const KMS_VERSION: &str =
    "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey/version";

/// Both bring up a cluster at the same time, with nothing but what is theirs.
fn both_come_up(scene: &Scene) {
    for team in [A, B] {
        for object in team.whole(team.cluster, &json!({"name": "identity"})) {
            scene.apply(&object);
        }
    }
    for team in [A, B] {
        scene.until_ready(&team);
        let Team {
            namespace,
            cluster,
            subscription,
            client,
            tenant,
        } = team;
        let versions = scene.vaults.versions(&team.vault(), "etcd");
        assert_eq!(versions.len(), 1, "{cluster}: its key is made once");
        let hcp = scene.get("HcpOpenShiftCluster", namespace, cluster);
        let hcp = hcp.expect("it is ready");
        assert_eq!(hcp.pointer(KMS_VERSION), Some(&json!(versions[0])));
        let callers = scene.callers(&team.vault());
        let are_own = callers.iter().all(|(who, _)| who == client);
        assert!(!callers.is_empty() && are_own, "{callers:?}");

        let name = format!("{cluster}-aso-secret");
        let secret = scene.get("Secret", namespace, &name).expect("it is made");
        for (key, value) in [
            ("AZURE_CLIENT_ID", client),
            ("AZURE_TENANT_ID", tenant),
            ("AZURE_SUBSCRIPTION_ID", subscription),
        ] {
            assert_eq!(secret["data"][key], BASE64_STANDARD.encode(value), "{key}");
        }
        let resources = scene.everything(namespace);
        let resources = resources
            .iter()
            .map(Live)
            .filter(|live| live.group().ends_with(".azure.com"));
        let mut count = 0;
        for resource in resources {
            let named = resource.annotation("serviceoperator.azure.com/credential-from");
            assert_eq!(named, name, "{}", resource.id());
            count += 1;
        }
        assert_eq!(count, 9, "{cluster}");
    }
    for asked in scene.authority.asked() {
        assert!(asked.granted, "{asked:?}");
        let owner = [A, B].into_iter().find(|team| team.client == asked.client);
        assert_eq!(owner.map(|team| team.tenant), Some(asked.tenant.as_str()));
    }
}

/// No secret is in any object but the Secrets, nor in an event.
fn nothing_is_shown(scene: &Scene) {
    let mut text = String::new();
    for namespace in [A.namespace, B.namespace] {
        let all = scene.everything(namespace).into_iter();
        let all = all.chain(scene.list("Event", namespace));
        let all = all.chain(scene.list("ConfigMap", namespace));
        text.extend(all.map(|object| object.to_string()));
    }
    assert!(text.contains("NamespaceNotAllowedByIdentity"));
    for secret in [KEY, PASSWORD, TOKEN].into_iter().flat_map(spellings) {
        assert!(!text.contains(&secret), "{secret} is in the cluster");
    }
}

fn two_teams_share_a_cluster(scene: &Scene, guarded: Option<&Guarded<'_>>) {
    both_come_up(scene);
    // From here on nobody has a reason to use what is theirs: team A does nothing.
    let (tokens, key) = (scene.tokens(&A), scene.vaults.versions(&A.vault(), "etcd"));
    attempts::in_the_check(scene);
    attempts::at_reconcile(scene);
    attempts::with_its_secret(scene);
    attempts::with_its_client(scene);
    attempts::in_its_vault(scene);
    attempts::of_a_cluster_that_runs(scene);
    if let Some(guarded) = guarded {
        attempts::at_admission(guarded);
    }
    assert_eq!(scene.tokens(&A), tokens, "no token was asked for as team A");
    assert_eq!(scene.vaults.versions(&A.vault(), "etcd"), key);
    nothing_is_shown(scene);
}

#[test]
fn two_teams_share_a_cluster_on_the_simulator() {
    two_teams_share_a_cluster(&Scene::simulated(), None);
}

#[test]
fn two_teams_share_a_cluster_on_kube_apiserver() {
    if let Some(scene) = Scene::real() {
        let guarded = Guarded::over(&scene.cluster);
        two_teams_share_a_cluster(&scene, Some(&guarded));
    }
}
