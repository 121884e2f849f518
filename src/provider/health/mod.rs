//! The health of this provider, as the registry polls it. Pure.
//!
//! In: the outcomes of checks of the hub, what the provider has, and the time. Out: the body of the answer, at once. It does not know how
//! the hub is checked, or who asks.

mod check;
mod report;
#[cfg(test)]
mod tests;

pub use check::{Check, Outcome};
pub use report::{HealthReport, HealthState};

use std::collections::BTreeMap;
use std::time::Duration;

use super::capabilities::{EnabledPlatforms, Platform};

/// The longest time that the checks may take.
const LONGEST_CHECKS: Duration = Duration::from_secs(5);
/// The age at which the last checks say nothing any more.
const OLDEST_CHECKS: Duration = Duration::from_secs(30);

/// What this provider needs before it can create clusters, beside the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// All clusters are known, from the hub and from the repository.
    pub knows_all: bool,
    /// The pull secret of the clusters is on the hub, or somebody else writes it.
    pub has_pull_secret: bool,
}

impl Readiness {
    /// Nothing is lacking.
    #[cfg(test)]
    pub(crate) const WHOLE: Self = Self {
        knows_all: true,
        has_pull_secret: true,
    };

    fn lacks(self) -> impl Iterator<Item = &'static str> {
        let needs = [
            (
                self.knows_all,
                "the clusters of the hub and the repository are not all known yet",
            ),
            (
                self.has_pull_secret,
                "the pull secret of the clusters is not written: see the log",
            ),
        ];
        needs
            .into_iter()
            .filter_map(|(has, reason)| (!has).then_some(reason))
    }
}

/// The last checks of the hub.
///
/// The checks run in the background, every few seconds; this remembers the last ones, so that an answer never waits. The
/// provider is unhealthy until all checks passed once, when one of the last ones failed, when they take longer than five
/// seconds, when the last ones are older than 30 seconds, and when it is not ready itself.
#[derive(Clone, Debug)]
pub struct Health {
    version: String,
    enabled: EnabledPlatforms,
    /// The time when the checks under way began.
    began: Option<Duration>,
    /// The outcomes of the last checks, and the time when they ended.
    last: Option<(Duration, BTreeMap<Check, Outcome>)>,
}

impl Health {
    /// Creates the health of a provider of this version that has checked nothing yet.
    #[must_use]
    pub const fn new(version: String, enabled: EnabledPlatforms) -> Self {
        Self {
            version,
            enabled,
            began: None,
            last: None,
        }
    }

    /// Returns the checks to run. Platforms that are switched off have none.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let platforms = Platform::ALL.into_iter();
        let platforms = platforms.filter(|platform| self.enabled.allow(*platform));
        let hub = [Check::Api, Check::HostedClusters, Check::Operator];
        hub.into_iter()
            .chain(platforms.map(Check::Platform))
            .collect()
    }

    /// Notes that checks began at `now`, the time since the start. Checks that have not ended go on.
    pub fn begin(&mut self, now: Duration) {
        self.began.get_or_insert(now);
    }

    /// Notes that the checks ended at `now`, each with its outcome. A check that is left out has not passed.
    pub fn end(&mut self, outcomes: BTreeMap<Check, Outcome>, now: Duration) {
        self.began = None;
        self.last = Some((now, outcomes));
    }

    /// Returns the health at `now`, the time since the start.
    #[must_use]
    pub fn report(&self, readiness: Readiness, now: Duration) -> HealthReport {
        let mut reasons = self.reasons(now);
        reasons.extend(readiness.lacks().map(str::to_owned));
        HealthReport::new(&self.version, now, reasons)
    }

    fn reasons(&self, now: Duration) -> Vec<String> {
        let mut reasons: Vec<_> = self.lateness(now).map(str::to_owned).into_iter().collect();
        if let Some((_, outcomes)) = &self.last {
            let failed = self.checks().into_iter().filter_map(|check| {
                let outcome = outcomes.get(&check).copied();
                self.failure(check, outcome.unwrap_or(Outcome::TimedOut))
            });
            reasons.extend(failed);
        }
        reasons
    }

    fn lateness(&self, now: Duration) -> Option<&'static str> {
        let is_older = |time: Duration, most| now.saturating_sub(time) > most;
        let Some((ended, _)) = &self.last else {
            return Some("the hub has not been checked yet");
        };
        if is_older(*ended, OLDEST_CHECKS) {
            return Some("the last checks of the hub are older than 30 s");
        }
        let is_late = self
            .began
            .is_some_and(|began| is_older(began, LONGEST_CHECKS));
        is_late.then_some("the checks of the hub take longer than 5 s")
    }

    fn failure(&self, check: Check, outcome: Outcome) -> Option<String> {
        let is_discovered = self.enabled == EnabledPlatforms::Discovered;
        match (check, outcome) {
            // It is not offered.
            (Check::Platform(_), Outcome::Missing) if is_discovered => None,
            _ => outcome.failure(check),
        }
    }
}
