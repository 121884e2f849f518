//! Heads of forks: their objects are brought, and another process plans them.
//!
//! In: a head that nobody with write access may have pushed. Out: its check. Whatever it holds costs only itself: it is
//! read in a process of its own with a deadline and a limit on memory, one at a time.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::conditions::{View, conditions};
use super::failure::{Failure, unplanned};
use super::fork::{self, Examined, Outcome, Request};
use super::revisions::Revisions;
use crate::adapters::git::{Error, Quarantine};
use crate::follow::{Candidate, PlanRequest, PlanResult, Settings, is_test_merge};
use crate::model::{Check, ErrorClass};
use crate::reporting::report;
use crate::settings::SyncConfig;

/// Plans heads of forks.
pub(super) struct ForkPlanner {
    config: Arc<SyncConfig>,
    settings: Arc<Settings>,
    revisions: Arc<Revisions>,
    one_at_a_time: Mutex<()>,
}

impl ForkPlanner {
    pub(super) fn new(
        config: &Arc<SyncConfig>,
        settings: &Arc<Settings>,
        revisions: &Arc<Revisions>,
    ) -> Self {
        Self {
            config: Arc::clone(config),
            settings: Arc::clone(settings),
            revisions: Arc::clone(revisions),
            one_at_a_time: Mutex::default(),
        }
    }

    /// Plans a head by its files alone.
    pub(super) fn plan(&self, request: PlanRequest) -> PlanResult {
        let _one_at_a_time = self.one_at_a_time.lock();
        let is_here = Quarantine::open(&self.config.mirror, &self.config.url);
        let is_here = is_here.map(|it| it.has(&request.candidate.id));
        let earlier = match is_here {
            Ok(true) => Some(self.ask(&request, Vec::new())),
            Ok(false) => None,
            Err(error) => {
                return unplanned(
                    &self.settings.fleet,
                    request.candidate,
                    &Failure::Git(error),
                );
            }
        };
        // What an earlier plan brought may refer to what is gone by now.
        let outcome = match earlier.filter(|outcome| !matches!(outcome, Outcome::Unread(_))) {
            Some(outcome) => outcome,
            None => match self.bring(&request.candidate) {
                Ok(packs) => self.ask(&request, packs),
                Err(error) => return self.unfetched(request.candidate, error),
            },
        };
        self.concluded(request.candidate, outcome)
    }

    fn concluded(&self, candidate: Candidate, outcome: Outcome) -> PlanResult {
        let (fleet, commit) = (&self.settings.fleet, &candidate.commit);
        let (resolved, merged, check) = match outcome {
            Outcome::Resolved(head) => (
                Some((head.clone(), self.revisions.lane_of(&head))),
                None,
                None,
            ),
            Outcome::Planned(ids, check) => {
                let input = Some(ids.clone());
                let check = check.map(|check| Check { input, ..*check });
                (None, Some(ids), check)
            }
            Outcome::Conflicts(paths) => {
                let check = report::conflicts(fleet, commit, &paths);
                (None, None, Some(check))
            }
            Outcome::Limit(limit) => {
                return PlanResult::not_planned(&self.settings, candidate, limit);
            }
            Outcome::Unread(unread) => {
                return unplanned(&self.settings.fleet, candidate, &Failure::Fork(unread));
            }
        };
        PlanResult {
            resolved,
            merged,
            check,
            ..PlanResult::new(candidate)
        }
    }

    fn bring(&self, candidate: &Candidate) -> Result<Vec<PathBuf>, Error> {
        let wanted = (candidate.name.clone(), candidate.id.clone());
        self.revisions.origin.repository()?.bring(&[wanted])
    }

    /// A head that cannot be downloaded. If that is for what it is, it is not tried again until it moves.
    fn unfetched(&self, candidate: Candidate, error: Error) -> PlanResult {
        let is_for_good = error.class() == ErrorClass::Invalid;
        let failed = unplanned(&self.settings.fleet, candidate, &Failure::Git(error));
        if !is_for_good {
            return failed;
        }
        let input = Some(self.settings.limits.clone());
        PlanResult {
            check: failed.check.map(|check| Check {
                input: input.clone(),
                ..check
            }),
            merged: input,
            ..failed
        }
    }

    fn ask(&self, request: &PlanRequest, packs: Vec<PathBuf>) -> Outcome {
        let request = self.request(request, packs);
        let program = self.config.fork_planner.as_deref();
        let outcome = fork::plan(program, &request, &self.config.fork_limits);
        // A process that was ended may have left them.
        for pack in &request.packs {
            let _ = std::fs::remove_file(pack);
        }
        outcome
    }

    /// What another process needs to plan the head: nothing of the cluster, no tenants and no credential. Of a test
    /// merge it first says which head that is of.
    fn request(&self, request: &PlanRequest, packs: Vec<PathBuf>) -> Request {
        let PlanRequest {
            candidate,
            head,
            base,
            ..
        } = request;
        let (config, ways) = (&*self.config, self.settings.ways);
        let conditions = conditions(config, ways, &[], &View::Files(base.as_ref()));
        let is_resolved = candidate.commit != candidate.id || !is_test_merge(&candidate.name);
        Request {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mirror: config.mirror.clone(),
            source: config.url.clone(),
            packs,
            name: candidate.name.clone(),
            id: candidate.id.clone(),
            commit: is_resolved.then(|| candidate.commit.clone()),
            base: head.clone(),
            examined: base.as_ref().map(|base| Examined {
                is_sound: base.errors() == 0,
                holdings: (*base.holdings).clone(),
                name: base.name.clone(),
            }),
            fleet: config.checks_name(),
            path: config.path.clone(),
            overlays: config.overlays.clone(),
            is_partial: !config.local_overlays.is_empty(),
            policy: (&config.policy).into(),
            prune: config.prune,
            allowed: config.allowed,
            conditions,
            seen: candidate.seen.clone(),
        }
    }
}
