#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn only(platforms: &[Platform]) -> EnabledPlatforms {
    EnabledPlatforms::Only(platforms.iter().copied().collect())
}

fn report(health: &Health, now: Duration) -> HealthReport {
    health.report(Readiness::WHOLE, now)
}

fn both() -> EnabledPlatforms {
    only(&Platform::ALL)
}

/// The health after checks that ended after ten seconds, of which one has another outcome.
fn checked(enabled: EnabledPlatforms, failed: Option<(Check, Outcome)>) -> Health {
    let mut health = Health::new("1.2.3".to_owned(), enabled);
    health.begin(seconds(9));
    let passed = health.checks().into_iter();
    let outcomes = passed.map(|check| (check, Outcome::Passed)).chain(failed);
    let outcomes = outcomes.collect();
    health.end(outcomes, seconds(10));
    health
}

fn body(health: &Health, now: Duration) -> Value {
    serde_json::to_value(report(health, now)).unwrap()
}

fn is_healthy(health: &Health, now: Duration) -> bool {
    let report = report(health, now);
    assert_eq!(
        report.reasons.is_empty(),
        report.status == HealthState::Healthy
    );
    report.status == HealthState::Healthy
}

fn reasons(health: &Health) -> Vec<String> {
    report(health, seconds(10)).reasons
}

#[test]
fn a_hub_that_passes_all_checks_is_healthy_with_five_members() {
    let health = checked(both(), None);
    let expected = json!({
        "type": "acm-cluster-service-provider.dcm.io/health",
        "status": "healthy",
        "path": "health",
        "version": "1.2.3",
        "uptime": 11,
    });
    assert_eq!(body(&health, Duration::from_millis(11_900)), expected);
}

#[test]
fn the_hub_is_unhealthy_without_its_api_hosted_clusters_or_the_operator() {
    for (check, outcome, reason) in [
        (
            Check::Api,
            Outcome::Failed,
            "the API of the hub is not available",
        ),
        (
            Check::Api,
            Outcome::TimedOut,
            "the API of the hub was not checked in time",
        ),
        (
            Check::HostedClusters,
            Outcome::Missing,
            "HostedCluster (hypershift.openshift.io/v1beta1) is missing on the hub",
        ),
        (
            Check::Operator,
            Outcome::Missing,
            "the HyperShift operator is missing on the hub",
        ),
    ] {
        for enabled in [both(), EnabledPlatforms::Discovered] {
            let health = checked(enabled, Some((check, outcome)));
            let body = body(&health, seconds(10));
            assert_eq!(body["status"], "unhealthy");
            assert_eq!(body["type"], "acm-cluster-service-provider.dcm.io/health");
            assert_eq!(body["path"], "health");
            assert_eq!(body["reasons"], json!([reason]));
        }
    }
}

#[test]
fn an_enabled_platform_whose_kind_is_missing_makes_it_unhealthy() {
    for (platform, reason) in [
        (
            Platform::KubeVirt,
            "VirtualMachineInstance (kubevirt.io/v1) of platform kubevirt is missing on the hub",
        ),
        (
            Platform::BareMetal,
            "Agent (agent-install.openshift.io/v1beta1) of platform baremetal is missing on the hub",
        ),
    ] {
        let missing = Some((Check::Platform(platform), Outcome::Missing));
        assert_eq!(reasons(&checked(both(), missing)), [reason]);
        assert_eq!(reasons(&checked(only(&[platform]), missing)), [reason]);
    }
}

#[test]
fn a_platform_that_is_switched_off_is_neither_checked_nor_counted() {
    for platform in Platform::ALL {
        let others: Vec<_> = Platform::ALL
            .into_iter()
            .filter(|it| *it != platform)
            .collect();
        for outcome in [Outcome::Missing, Outcome::Failed, Outcome::TimedOut] {
            let failed = Some((Check::Platform(platform), outcome));
            let health = checked(only(&others), failed);
            assert!(!health.checks().contains(&Check::Platform(platform)));
            assert!(is_healthy(&health, seconds(10)));
        }
    }
}

#[test]
fn a_discovered_platform_may_be_missing_but_not_broken() {
    for platform in Platform::ALL {
        let with = |outcome| {
            let failed = Some((Check::Platform(platform), outcome));
            checked(EnabledPlatforms::Discovered, failed)
        };
        assert!(is_healthy(&with(Outcome::Missing), seconds(10)));
        assert!(!is_healthy(&with(Outcome::Failed), seconds(10)));
        assert!(!is_healthy(&with(Outcome::TimedOut), seconds(10)));
    }
}

#[test]
fn it_is_unhealthy_until_every_check_passed_once() {
    let mut health = Health::new(String::new(), both());
    assert_eq!(reasons(&health), ["the hub has not been checked yet"]);
    health.begin(seconds(1));
    assert!(!is_healthy(&health, seconds(1)));
    for check in health.checks() {
        let mut outcomes: BTreeMap<_, _> = health
            .checks()
            .into_iter()
            .map(|check| (check, Outcome::Passed))
            .collect();
        outcomes.remove(&check);
        health.end(outcomes, seconds(10));
        assert_eq!(reasons(&health).len(), 1, "{check:?} was left out");
    }
}

#[test]
fn checks_that_hang_make_it_unhealthy_after_five_seconds() {
    let mut health = checked(both(), None);
    health.begin(seconds(15));
    assert!(is_healthy(&health, seconds(20)));
    let late = Duration::from_millis(20_001);
    assert!(!is_healthy(&health, late));
    // Another begin does not hide it.
    health.begin(seconds(20));
    assert!(!is_healthy(&health, late));
    let passed = health.checks().into_iter();
    health.end(
        passed.map(|check| (check, Outcome::Passed)).collect(),
        seconds(21),
    );
    assert!(is_healthy(&health, seconds(21)));
}

#[test]
fn checks_of_the_past_do_not_count_after_thirty_seconds() {
    let health = checked(both(), None);
    assert!(is_healthy(&health, seconds(40)));
    let report = report(&health, Duration::from_millis(40_001));
    assert_eq!(report.status, HealthState::Unhealthy);
    assert_eq!(
        report.reasons,
        ["the last checks of the hub are older than 30 s"]
    );
}

#[test]
fn uptime_grows_in_whole_seconds() {
    let health = checked(both(), None);
    let uptimes = [10_000, 10_999, 11_000, 95_500].map(|millis| {
        let report = report(&health, Duration::from_millis(millis));
        report.uptime
    });
    assert_eq!(uptimes, [10, 10, 11, 95]);
}

#[test]
fn times_out_of_order_do_no_harm() {
    let mut health = checked(both(), None);
    assert!(is_healthy(&health, Duration::ZERO));
    health.begin(Duration::MAX);
    assert!(is_healthy(&health, seconds(10)));
    assert_eq!(report(&health, Duration::MAX).uptime, u64::MAX);
}

#[test]
fn all_reasons_are_told_at_once_and_are_different() {
    let mut health = Health::new(String::new(), both());
    let mut seen = BTreeSet::new();
    for outcome in [Outcome::Missing, Outcome::Failed, Outcome::TimedOut] {
        let failed = health.checks().into_iter();
        health.end(failed.map(|check| (check, outcome)).collect(), seconds(10));
        let reasons = reasons(&health);
        assert_eq!(reasons.len(), 5);
        seen.extend(reasons);
    }
    assert_eq!(seen.len(), 15);
}

#[test]
fn it_is_unhealthy_as_long_as_it_would_refuse_every_request() {
    let health = checked(both(), None);
    let with = |knows_all, has_pull_secret| {
        let readiness = Readiness {
            knows_all,
            has_pull_secret,
        };
        health.report(readiness, seconds(10)).reasons
    };
    let clusters = "the clusters of the hub and the repository are not all known yet";
    let secret = "the pull secret of the clusters is not written: see the log";
    assert_eq!(with(false, true), [clusters]);
    assert_eq!(with(true, false), [secret]);
    assert_eq!(with(false, false), [clusters, secret]);
    assert!(with(true, true).is_empty());
}
