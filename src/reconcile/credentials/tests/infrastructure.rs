//! What the AROCluster itself says of the credential.

use serde_json::json;

use super::{PLANE, SECRET, bench, identity, named};
use crate::api::conditions as c;
use crate::health::Live;
use crate::reconcile::bench::Bench;

const KIND: &str = "AROCluster";

/// A cluster whose AROCluster alone names an identity and a subscription.
fn ours() -> Bench {
    let mut bench = bench(&json!({}));
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!(null);
        plane["spec"]["subscriptionID"] = json!(null);
    });
    bench.edit(KIND, "c", |cluster| {
        cluster["spec"]["identityRef"] = json!({"name": "id"});
        cluster["spec"]["subscriptionID"] = json!("sub");
    });
    bench
}

#[test]
fn its_identity_is_used_if_the_control_plane_names_none() {
    let mut bench = ours();
    bench.provision();
    for (kind, name) in [("ResourceGroup", "rg"), ("HcpOpenShiftCluster", "c")] {
        assert_eq!(named(&bench, kind, name), SECRET, "{kind}");
    }
    let secret = bench.live("Secret", SECRET);
    let version = Live(&secret).annotation(crate::api::labels::CREDENTIAL_VERSION);
    assert!(version.ends_with("/sub"), "{version}");
    for kind in [PLANE, KIND] {
        assert_eq!(bench.reason(kind, c::IDENTITY_READY), c::CREDENTIALS_VALID);
    }
    let held = bench.live("AzureClusterIdentity", "id");
    let held = Live(&held).list(&["metadata", "finalizers"]).to_vec();
    assert_eq!(held.len(), 1, "{held:?}");
}

#[test]
fn its_identity_must_exist_and_allow_the_namespace() {
    let mut bench = ours();
    bench.edit(KIND, "c", |cluster| {
        cluster["spec"]["identityRef"] = json!({"name": "nosuch"});
    });
    bench.rest();
    assert_eq!(bench.reason(KIND, c::IDENTITY_READY), c::IDENTITY_NOT_FOUND);
    assert!(bench.find("ResourceGroup", "rg").is_none());
    let mut bench = ours();
    bench.put(identity(&json!({"list": ["other"]})));
    bench.rest();
    let reason = bench.reason(KIND, c::IDENTITY_READY);
    assert_eq!(reason, c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY);
    assert!(bench.find("ResourceGroup", "rg").is_none());
}

#[test]
fn with_an_identity_it_waits_for_no_control_plane() {
    let mut bench = ours();
    let plane = bench.live(PLANE, "c");
    bench.fixture.delete(&Live(&plane).id());
    bench.rest();
    assert!(bench.find(PLANE, "c").is_none());
    bench.build();
    assert_eq!(named(&bench, "ResourceGroup", "rg"), SECRET);
    assert_eq!(bench.condition(KIND, c::RESOURCES_READY).0, "True");
    // The control plane comes later, and goes on with the same Secret.
    bench.put(plane);
    bench.provision();
    assert_eq!(bench.condition(PLANE, c::READY).0, "True");
}

#[test]
fn without_one_it_says_who_names_it() {
    let mut bench = ours();
    bench.edit(KIND, "c", |cluster| {
        cluster["spec"]["identityRef"] = json!(null)
    });
    bench.delete(PLANE, "c");
    bench.rest();
    let (_, reason, message) = bench.condition(KIND, c::IDENTITY_READY);
    assert_eq!(
        (reason.as_str(), message.as_str()),
        (c::WAITING_FOR_IDENTITY, c::IDENTITY_AWAITED)
    );
}

#[test]
fn another_subscription_than_the_control_plane_s_is_refused() {
    let mut bench = ours();
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["subscriptionID"] = json!("other")
    });
    bench.rest();
    let (status, reason, message) = bench.condition(KIND, c::IDENTITY_READY);
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", c::SUBSCRIPTIONS_DIFFER)
    );
    assert!(
        message.contains("subscriptionID sub") && message.contains("has other"),
        "{message}"
    );
    assert!(bench.find("ResourceGroup", "rg").is_none());
    assert_eq!(bench.warnings(), [c::SUBSCRIPTIONS_DIFFER]);
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["subscriptionID"] = json!("SUB")
    });
    bench.provision();
    assert_eq!(bench.condition(KIND, c::READY).0, "True");
}

#[test]
fn an_identity_that_the_control_plane_overrides_is_named() {
    let mut bench = bench(&json!({}));
    bench.edit(KIND, "c", |cluster| {
        cluster["spec"]["identityRef"] = json!({"name": "nosuch"});
    });
    bench.provision();
    let (status, reason, message) = bench.condition(KIND, c::IDENTITY_READY);
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("True", c::CREDENTIALS_VALID)
    );
    let expected = "AzureClusterIdentity/ns/nosuch, which identityRef names, is not used: AROControlPlane c names AzureClusterIdentity/ns/id, which is that of the whole cluster";
    assert_eq!(message, expected);
}
