#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::provider::version::Matrix;

fn releases(tags: &[&str]) -> Releases {
    let set = |tag: &&str| json!({"spec": {"releaseImage": format!("quay.io/openshift-release-dev/ocp-release:{tag}")}});
    let sets: Vec<_> = tags.iter().map(set).collect();
    Releases::new(&sets, Matrix::default())
}

fn all_kinds() -> BTreeSet<HubKind> {
    BTreeSet::from(HubKind::ALL)
}

fn without(kind: HubKind) -> BTreeSet<HubKind> {
    all_kinds().into_iter().filter(|it| *it != kind).collect()
}

fn discovered(served: &BTreeSet<HubKind>) -> Capabilities {
    let releases = releases(&["4.16.0", "4.17.3"]);
    Capabilities::new(&EnabledPlatforms::Discovered, served, &releases)
}

#[test]
fn a_complete_hub_offers_both_platforms_and_all_versions() {
    let capabilities = discovered(&all_kinds());
    assert_eq!(capabilities.platforms, BTreeSet::from(Platform::ALL));
    assert_eq!(capabilities.versions_openshift, ["4.16", "4.17"]);
    assert_eq!(capabilities.versions_kubernetes, ["1.29", "1.30"]);
    assert_eq!(capabilities.require("kubevirt"), Ok(Platform::KubeVirt));
    assert_eq!(capabilities.require("baremetal"), Ok(Platform::BareMetal));
}

#[test]
fn a_platform_without_its_kind_is_not_offered() {
    for (kind, lost, kept) in [
        (
            HubKind::VirtualMachineInstance,
            Platform::KubeVirt,
            Platform::BareMetal,
        ),
        (HubKind::Agent, Platform::BareMetal, Platform::KubeVirt),
    ] {
        let capabilities = discovered(&without(kind));
        assert_eq!(capabilities.platforms, BTreeSet::from([kept]));
        assert_eq!(capabilities.is_offered(kept), Ok(()));
        let text = capabilities.is_offered(lost).unwrap_err().to_string();
        let expected = format!(
            "unsupported platform \"{lost}\": the hub does not serve {kind}; offered: {kept}"
        );
        assert_eq!(text, expected);
    }
}

#[test]
fn no_platform_is_offered_without_hypershift() {
    for kind in [HubKind::HostedCluster, HubKind::NodePool] {
        let capabilities = discovered(&without(kind));
        assert_eq!(capabilities.platforms, BTreeSet::new());
        let text = capabilities.require("kubevirt").unwrap_err().to_string();
        assert!(
            text.ends_with(&format!("serve {kind}; no platform is offered")),
            "{text}"
        );
    }
    let text = discovered(&BTreeSet::new()).require("baremetal");
    let text = text.unwrap_err().to_string();
    for kind in [HubKind::HostedCluster, HubKind::NodePool, HubKind::Agent] {
        assert!(text.contains(&kind.to_string()), "{text}");
    }
}

#[test]
fn a_platform_that_is_switched_off_is_not_offered_although_the_hub_serves_it() {
    let only = EnabledPlatforms::Only(BTreeSet::from([Platform::KubeVirt]));
    let capabilities = Capabilities::new(&only, &all_kinds(), &releases(&[]));
    assert_eq!(capabilities.platforms, BTreeSet::from([Platform::KubeVirt]));
    let text = capabilities.require("baremetal").unwrap_err().to_string();
    assert_eq!(
        text,
        "unsupported platform \"baremetal\": it is not enabled here; offered: kubevirt"
    );
}

#[test]
fn an_unknown_platform_is_refused_by_its_name() {
    let capabilities = discovered(&all_kinds());
    let text = |name: &str| capabilities.require(name).unwrap_err().to_string();
    assert_eq!(
        text("aws"),
        "unsupported platform \"aws\"; offered: baremetal, kubevirt"
    );
    assert!(text("KubeVirt").starts_with("unsupported platform \"KubeVirt\""));
    assert!(text("").starts_with("unsupported platform \"\""));
    assert!(text("a\nb").starts_with(r#"unsupported platform "a\nb""#));
    assert!(text(&"x".repeat(1 << 20)).len() < 200);
}

#[test]
fn versions_follow_the_sets_and_may_be_none() {
    let offered = |tags: &[&str]| {
        let releases = releases(tags);
        let capabilities =
            Capabilities::new(&EnabledPlatforms::Discovered, &all_kinds(), &releases);
        capabilities.versions_kubernetes
    };
    assert_eq!(offered(&[]), [""; 0]);
    assert_eq!(offered(&["4.16.0", "4.17.3"]), ["1.29", "1.30"]);
    assert_eq!(
        offered(&["4.16.0", "4.17.3", "4.18.0"]),
        ["1.29", "1.30", "1.31"]
    );
    assert_eq!(offered(&["4.17.3"]), ["1.30"]);
}

#[test]
fn a_hub_that_was_not_asked_offers_nothing() {
    let nothing = Capabilities::default();
    let text = nothing.require("kubevirt").unwrap_err().to_string();
    assert!(text.contains("has not been asked yet"), "{text}");
}
