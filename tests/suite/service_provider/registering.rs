//! The registration of the shipped daemon at a strict fake of the registry.

use serde_json::json;

use super::api::kube_virt;
use super::registry_fake::{Answer, RegistryFake};
use super::world::World;
use crate::patience::until;

#[test]
fn a_registry_that_fails_at_first_gets_what_the_hub_offers() {
    let failures = [500, 429].map(|status| Answer::Json(status, None, json!({"title": "no"})));
    let fake = RegistryFake::start(failures);
    let base = fake.url().replace("/providers", "");
    let registration =
        format!("registration: {{url: '{base}', endpoint: 'http://sp.example.com:8081'}}");
    let world = World::start(&format!("writeMode: direct, {registration}"));
    // Requests are served meanwhile.
    assert_eq!(world.post("/clusters", &kube_virt("dev")).status, 201);
    until(
        || (fake.requests().len() >= 3).then_some(()),
        || world.said(),
    );
    let payload = fake.requests()[2].json();
    assert_eq!(
        payload["endpoint"],
        "http://sp.example.com:8081/api/v1alpha1/clusters"
    );
    assert_eq!(
        payload["metadata"]["supportedPlatforms"],
        json!(["baremetal", "kubevirt"])
    );
    let versions = json!(["4.15", "4.16", "4.17", "4.18", "4.19", "4.20"]);
    assert_eq!(payload["metadata"]["supportedVersions"], versions);
    assert_eq!(
        payload["metadata"]["supported_provisioning_types"],
        json!(["hypershift"])
    );
}
