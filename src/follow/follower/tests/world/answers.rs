//! How the jobs of a world end, in any order.
//!
//! In: commands that are under way. Out: events, and checks that arrive on the forge. It does not know which job ends next.

use super::*;

fn away() -> AdapterError {
    AdapterError::new(ErrorClass::Transient, "the forge is away")
}

impl World {
    /// Those under way that can end. Of the plans of a lane one never does: two that are not waited for stop a lane.
    pub(in crate::follow::follower::tests) fn endable(&self) -> Vec<usize> {
        let mut hanging = BTreeSet::new();
        let at = (0..self.jobs.len()).filter(|at| match self.hostile_lane(&self.jobs[*at]) {
            Some(lane) => !hanging.insert(lane),
            None => true,
        });
        at.collect()
    }

    /// The lane of a plan that does not end by itself.
    fn hostile_lane(&self, job: &Job) -> Option<Lane> {
        let Job::Command(Command::Plan(request)) = job else {
            return None;
        };
        // Who asks for a plan that took too long gets one that ends.
        let candidate = &request.candidate;
        let is_begun = !candidate.is_wanted && candidate.seen.as_deref() != Some(LIMITS);
        let mut all = self.proposals.values();
        let is_hostile = |(commit, kind): &(String, Proposal)| {
            *commit == candidate.commit && *kind == Proposal::Hostile
        };
        (is_begun && all.any(is_hostile)).then_some(candidate.lane)
    }

    /// Ends one of the jobs that can end; what reports goes in order.
    pub(in crate::follow::follower::tests) fn end(&mut self, which: usize) {
        let endable = self.endable();
        let Some(at) = which.checked_rem(endable.len()).map(|which| endable[which]) else {
            return;
        };
        let is_report = |job: &Job| !matches!(job, Job::Command(_));
        let at = match is_report(&self.jobs[at]) {
            true => self.jobs.iter().position(is_report).unwrap_or(at),
            false => at,
        };
        let event = match self.jobs.remove(at) {
            Some(Job::Report(number, report)) => {
                Event::Cluster(ClusterEvent::Reported(number, report))
            }
            Some(Job::ApprovalsAsked(request)) => {
                Event::Cluster(ClusterEvent::ApprovalsAsked(request))
            }
            Some(Job::Command(command)) => self.answer(command),
            None => return,
        };
        self.tell(event);
    }

    fn answer(&mut self, command: Command) -> Event {
        match command {
            Command::Fetch => Event::Git(GitEvent::Fetched(Box::new(self.fetch()))),
            Command::Examine {
                revision,
                before,
                is_first,
            } => {
                let examined = self.examine(revision, &before, is_first);
                Event::Git(GitEvent::Examined(Box::new(examined)))
            }
            Command::ReadStartupRefs { candidates, .. } => {
                Event::Git(GitEvent::StartupRefsRead(self.startup_refs(candidates)))
            }
            Command::Sort(candidates) => {
                let sorted = candidates.into_iter().map(|one| Candidate {
                    lane: Lane::Fork,
                    ..one
                });
                Event::Git(GitEvent::Sorted(sorted.collect()))
            }
            Command::Plan(request) => Event::Git(GitEvent::Planned(Box::new(self.plan(*request)))),
            Command::ReadApplied { number, revision } => {
                Event::Git(GitEvent::AppliedRead(number, (revision, None)))
            }
            Command::ReadApprovals { request, revision } => {
                let approvals = Box::new(self.approvals(&revision));
                Event::Git(GitEvent::ApprovalsRead(request, Some(approvals)))
            }
            Command::Publish(checks) => self.publish(checks),
            Command::Probe => Event::Checks(ChecksEvent::Probed(self.probe())),
            Command::ReadEarlierChecks(_) => {
                let earlier = (!self.is_forge_away).then(|| EarlierChecks {
                    pending: self.pending_syncs(),
                    waiting: self.waiting(),
                });
                Event::Checks(ChecksEvent::EarlierRead(earlier))
            }
            Command::Attribute {
                of_release,
                of_plans,
            } => {
                let commits: BTreeSet<String> = of_release.union(&of_plans).cloned().collect();
                // Of one at a time, the first time of none.
                let asked = usize::from(self.wall.as_secs().is_multiple_of(2));
                let answered: BTreeSet<String> = commits.into_iter().take(asked).collect();
                self.attributed.extend(answered.iter().cloned());
                for commit in &answered {
                    self.ask(PLAN, commit);
                }
                self.ask_again();
                self.tell(Event::Checks(ChecksEvent::Attributed(answered)));
                Event::Checks(ChecksEvent::AttributionEnded)
            }
            Command::AskPress(asked) => {
                let (press, check) = *asked;
                let shown = check.or_else(|| self.check(&press.context, &press.commit).cloned());
                let button: Option<Button> = shown.and_then(|check| check.button);
                let answer = match button.filter(|button| button.id == press.button) {
                    Some(button) => PressAnswer::Approved(button),
                    None => PressAnswer::Stale,
                };
                Event::Checks(ChecksEvent::PressAnswered(press, answer))
            }
            Command::ReadComments(questions) => self.read_comments(questions),
            Command::RecordNewest { newest, .. } => {
                let answer = match self.is_forge_away {
                    true => Err("the cluster is away, too".to_owned()),
                    false => Ok(()),
                };
                Event::Cluster(ClusterEvent::NewestRecorded(Box::new((newest, answer))))
            }
            Command::TakeAnnotation(text) => {
                Event::Cluster(ClusterEvent::AnnotationTaken(text, Ok(true)))
            }
            _ => Event::Time(TimeEvent::RetryChecks),
        }
    }

    fn probe(&self) -> Result<(), AdapterError> {
        if self.is_forge_away {
            return Err(away());
        }
        Ok(())
    }

    fn fetch(&self) -> FetchResult {
        // Now and then the repository is away, or slow with what is not followed.
        let refs = match self.wall.as_secs() % 7 {
            5 => Err(AdapterError::new(ErrorClass::Transient, "it is away")),
            which => Ok(RemoteRefs {
                head: self.head().to_owned(),
                refs: (which != 6).then(|| {
                    let refs = self.proposals.iter();
                    refs.map(|(name, (commit, _))| (name.clone(), commit.clone()))
                        .collect()
                }),
                signed_anew: false,
            }),
        };
        FetchResult {
            refs,
            next_within: None,
        }
    }

    fn examine(
        &mut self,
        revision: String,
        before: &ClusterState,
        is_first: bool,
    ) -> ExamineResult {
        let all = self.history.iter_mut().chain(&mut self.gone);
        let commit = all.into_iter().find(|(commit, _)| *commit == revision);
        let Some((_, kind)) = commit else {
            self.faults.push(format!("{revision} is examined"));
            return ExamineResult::failed(revision, unreadable());
        };
        if let Kind::Hidden(times @ 1..) = kind {
            *times -= 1;
            return ExamineResult::failed(revision, unreadable());
        }
        let compilation = compilation(*kind, &revision);
        let is_good = compilation.good().is_some();
        if is_first && !matches!(before, ClusterState::Unknown) {
            self.faults.push("it was applied before".to_owned());
        }
        ExamineResult {
            title: "it".to_owned(),
            base: Some(compilation.base(&revision, "the branch main".to_owned())),
            fallback: (is_first && !is_good).then(|| self.last_good()).flatten(),
            left_pending: match (is_first, self.is_forge_away) {
                (true, true) => None,
                (true, false) => Some(self.pending_syncs()),
                (false, _) => Some(Vec::new()),
            },
            left_applied: None,
            outcome: Ok(compilation),
            revision,
        }
    }

    fn last_good(&self) -> Option<Release> {
        let is_good = |kind| matches!(kind, Kind::Good | Kind::Hidden(0));
        let good = self.history.iter().rev().find(|(_, kind)| is_good(*kind));
        let (commit, kind) = good?;
        match compilation(*kind, commit) {
            Compilation::Sound(release) => Some(release),
            Compilation::Broken(_) => None,
        }
    }

    fn pending_syncs(&self) -> Vec<(String, String)> {
        let pending = self.pending(SYNC);
        pending
            .map(|check| (check.revision.clone(), check.title.clone()))
            .collect()
    }

    fn waiting(&self) -> Vec<String> {
        let pending = self.pending(PLAN);
        pending.map(|check| check.revision.clone()).collect()
    }

    fn pending<'a>(&'a self, context: &'a str) -> impl Iterator<Item = &'a Check> {
        let checks = self.forge.values();
        checks.filter(move |check| check.context == context && check.state == CheckState::Pending)
    }

    fn read_comments(&self, questions: Vec<CommentQuestion>) -> Event {
        let answers = questions.into_iter().filter(|_| !self.is_forge_away);
        let answers = answers.map(|question| CommentAnswer {
            pull_requests: vec![7],
            given: self.given(&question.commit),
            rest: Approvals::default(),
            question,
        });
        Event::Checks(ChecksEvent::CommentsRead(answers.collect()))
    }

    /// What comments approve of this head.
    fn given(&self, commit: &str) -> Vec<Approval> {
        let is_given = self.commented.contains(commit);
        let what = What::parse("delete c/one").filter(|_| is_given);
        let given = what.map(|what| Approval {
            what,
            how: How::Comment,
            who: "ada".to_owned(),
            at: None,
            commit: commit.to_owned(),
        });
        given.into_iter().collect()
    }

    fn startup_refs(&self, candidates: Vec<Candidate>) -> StartupRefs {
        let open = candidates.into_iter().map(|candidate| {
            let check = self.check(PLAN, &candidate.commit);
            let ended = check.filter(|check| check.state != CheckState::Pending);
            let seen = ended.filter(|check| check.asked.is_empty());
            let lane = match candidate.name.starts_with("refs/heads/") {
                true => Lane::Own,
                false => Lane::Fork,
            };
            OpenRef {
                at: Timestamp::UNIX_EPOCH,
                is_checked: ended.is_some(),
                candidate: Candidate {
                    seen: seen.and_then(|check| check.input.clone()),
                    lane,
                    ..candidate
                },
            }
        });
        StartupRefs {
            open: open.collect(),
            waiting: (!self.is_forge_away).then(|| self.waiting()),
        }
    }

    fn plan(&mut self, request: PlanRequest) -> PlanResult {
        let PlanRequest {
            candidate, head, ..
        } = request;
        let commit = candidate.commit.clone();
        if !candidate.is_wanted && candidate.seen.as_deref() == Some(LIMITS) {
            return PlanResult::unchanged(candidate, LIMITS.to_owned());
        }
        let mut all = self.proposals.values_mut();
        let kind = all.find(|(proposed, _)| *proposed == commit);
        let kind = kind.map_or(Proposal::Good, |(_, kind)| {
            let before = *kind;
            if let Proposal::Passing(times @ 1..) = kind {
                *times -= 1;
            }
            before
        });
        let check = |state, title: &str| Check {
            state,
            title: title.to_owned(),
            detail: None,
            ..report::queued("f", &commit)
        };
        let is_approved = self.approved.contains(&commit);
        let is_unknown = kind == Proposal::Approves && !self.attributed.contains(&commit);
        let made = match kind {
            Proposal::Conflict => {
                return PlanResult {
                    check: Some(check(CheckState::Failure, "merge conflict in 1 file")),
                    ..PlanResult::new(candidate)
                };
            }
            Proposal::Passing(1..) => {
                let fault = unreadable().fault;
                return PlanResult::failed("f", candidate, &fault, true);
            }
            Proposal::Deletes if !is_approved => Check {
                button: Some(Button::new(&commit, PLAN, ["c/one".to_owned()])),
                asked: vec!["delete c/one".to_owned()],
                ..check(CheckState::Success, "1 to delete, once it is approved")
            },
            _ => check(CheckState::Success, "1 to create"),
        };
        let merged = format!("{head} {commit} {is_approved} {is_unknown}");
        let is_seen = candidate.seen.as_ref() == Some(&merged);
        PlanResult {
            check: (!is_seen).then(|| Check {
                input: Some(merged.clone()),
                ..made
            }),
            merged: Some(merged),
            unattributed: is_unknown.then_some(commit).into_iter().collect(),
            ..PlanResult::new(candidate)
        }
    }

    fn approvals(&self, revision: &str) -> Approvals {
        let approval = Approval {
            commit: revision.to_owned(),
            ..Approval::flag(What::deletion("c/one").expect("a name"))
        };
        match self.attributed.contains(revision) {
            true => Approvals {
                given: vec![approval],
                ..Approvals::default()
            },
            false => Approvals {
                doubted: vec![(approval, Doubt::Unattributed("not yet".to_owned()))],
                ..Approvals::default()
            },
        }
    }

    fn publish(&mut self, checks: Vec<Check>) -> Event {
        // Of a write that fails, some may have arrived.
        let arrived = match self.is_forge_away {
            true => checks.len() / 2,
            false => checks.len(),
        };
        for check in checks.into_iter().take(arrived) {
            self.arrive(check);
        }
        Event::Checks(ChecksEvent::Published(match self.is_forge_away {
            true => Err(away()),
            false => Ok(Vec::new()),
        }))
    }

    fn arrive(&mut self, check: Check) {
        let key = (check.context.clone(), check.revision.clone());
        let is_pending = check.state == CheckState::Pending;
        let before = self.forge.get(&key);
        // An error may pass.
        let was_final = before.is_some_and(|before| {
            matches!(before.state, CheckState::Success | CheckState::Failure)
        });
        let asked = self.asked.entry(key.clone()).or_default();
        if was_final && is_pending {
            if *asked == 0 {
                self.faults
                    .push(format!("{key:?} was final: {before:?}; {check:?}"));
            }
            *asked = asked.saturating_sub(1);
        }
        self.forge.insert(key, check);
    }

    /// The next time comes that something waits for.
    pub(in crate::follow::follower::tests) fn pass_time(&mut self) {
        let Some(next) = self.alarms.iter().map(|(at, _)| *at).min() else {
            return;
        };
        self.wall = self.wall.max(next);
        let due = std::mem::take(&mut self.alarms);
        let (due, later) = due.into_iter().partition(|(at, _)| *at <= self.wall);
        self.alarms = later;
        let due: Vec<(Duration, TimeEvent)> = due;
        for (_, event) in due {
            self.tell(Event::Time(event));
        }
    }

    /// Nothing happens any more but what was begun, for a long time.
    pub(in crate::follow::follower::tests) fn come_to_rest(&mut self) {
        self.is_forge_away = false;
        if self.steering.suspended.is_some() {
            self.suspend(false);
        }
        let end = self.wall + Duration::from_secs(3 * 3600);
        while self.wall < end {
            while !self.endable().is_empty() {
                self.end(0);
            }
            self.pass_time();
        }
    }
}

fn unreadable() -> Unreadable {
    Unreadable {
        fault: Fault {
            summary: "the revision cannot be read",
            message: "the repository is away".to_owned(),
            is_of_the_commit: false,
        },
        class: ErrorClass::Transient,
    }
}
