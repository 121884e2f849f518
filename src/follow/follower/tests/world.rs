//! A world for a follower: a repository, a forge, a cluster and people, of which each command is carried out at some time.
//!
//! In: steps. Out: what was written and assigned, and the faults that no follower may have at any time. What the world keeps
//! beyond the end of a process is what Capstan keeps: records, checks on the forge, and the cluster.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::apply::{
    ApprovalsRequest, Assignment, Outcome, Progress, Report, State, Steering, Suspension,
};
use crate::compile::compile;
use crate::follow::candidates::{Candidate, OpenRef};
use crate::follow::command::{ClusterState, Command, Milestone, PlanRequest, Record, Wait};
use crate::follow::event::{
    ChecksEvent, ClusterEvent, EarlierChecks, Event, ExamineResult, FetchResult, GitEvent,
    PeopleEvent, PlanResult, PressAnswer, RemoteRefs, StartupRefs, TimeEvent, Unreadable,
};
use crate::follow::follower::Follower;
use crate::follow::lanes::Lane;
use crate::follow::release::{Compilation, Release};
use crate::follow::settings::Settings;
use crate::follow::view::View;
use crate::model::{
    AdapterError, Button, Check, CheckState, ErrorClass, Head, Hint, Press, Rerun, Tree,
};
use crate::plan::ApplySet;
use crate::plan::approvals::{Approval, Approvals, Doubt, What};
use crate::reporting::Now;
use crate::reporting::report::{self, Fault};

pub(super) const SYNC: &str = "capstan/f/sync";
pub(super) const PLAN: &str = "capstan/f/plan";
/// How much faster time passes in the cluster.
const SPEED: u32 = 20;
/// What the check of a plan that took too long was made of.
pub(super) const LIMITS: &str = "limited";
/// How many candidates there may be.
const CANDIDATES: usize = 4;

/// A commit of the followed ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Good,
    Broken,
    Empty,
    /// The repository cannot read it the first times.
    Hidden(u8),
}

/// A head of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proposal {
    Good,
    Conflict,
    /// It cannot be planned the first times, for a reason that may pass.
    Passing(u8),
    /// Its plan never ends.
    Hostile,
    /// Its plan waits for an approval, and has a button for it.
    Deletes,
    /// Its message approves something, and the forge says later how it came in.
    Approves,
}

/// A command that is under way.
enum Job {
    Command(Command),
    /// A report on the assignment with this number.
    Report(u64, Report),
    ApprovalsAsked(ApprovalsRequest),
}

pub(super) struct World {
    pub(super) follower: Follower,
    wall: Duration,
    jobs: VecDeque<Job>,
    /// When which event comes.
    alarms: Vec<(Duration, TimeEvent)>,
    // What outlives a process.
    /// The commits of the followed ref, the newest last.
    pub(super) history: Vec<(String, Kind)>,
    pub(super) proposals: BTreeMap<String, (String, Proposal)>,
    /// The commits that a forced push took away.
    gone: Vec<(String, Kind)>,
    commits: usize,
    forge: BTreeMap<(String, String), Check>,
    pub(super) is_forge_away: bool,
    milestones: BTreeMap<Milestone, String>,
    approved: BTreeSet<String>,
    steering: Steering,
    /// What the cluster has.
    pub(super) applied: Option<String>,
    // What was seen.
    view: View,
    /// How often somebody asked for checks that may have ended, or something else changed what they say.
    asked: BTreeMap<(String, String), usize>,
    attributed: BTreeSet<String>,
    pub(super) faults: Vec<String>,
}

fn settings() -> Settings {
    Settings {
        fleet: "f".to_owned(),
        source: "https://git.example/f".to_owned(),
        is_directory: false,
        interval: Duration::from_secs(60),
        candidates: vec!["refs/heads/pr/*".to_owned(), "refs/pull/*/head".to_owned()],
        plan_deadline: Duration::from_secs(300),
        limits: LIMITS.to_owned(),
        shows_queued: true,
        has_buttons: true,
        suspend: false,
        prune: true,
        settle: Duration::from_secs(120),
    }
}

impl World {
    pub(super) fn new() -> Self {
        let now = now(Duration::ZERO);
        let mut world = Self {
            follower: Follower::new(settings(), now),
            wall: Duration::ZERO,
            jobs: VecDeque::new(),
            alarms: Vec::new(),
            history: Vec::new(),
            proposals: BTreeMap::new(),
            gone: Vec::new(),
            commits: 0,
            forge: BTreeMap::new(),
            is_forge_away: false,
            milestones: BTreeMap::new(),
            approved: BTreeSet::new(),
            steering: Steering::default(),
            applied: None,
            view: View::default(),
            asked: BTreeMap::new(),
            attributed: BTreeSet::new(),
            faults: Vec::new(),
        };
        world.push(Kind::Good);
        world.tell(Event::Time(TimeEvent::Look(Duration::ZERO)));
        world
    }

    /// The process ends, and another begins.
    pub(super) fn restart(&mut self) {
        self.follower = Follower::new(settings(), now(self.wall));
        self.jobs.clear();
        self.alarms.clear();
        self.view = View::default();
        self.ask_again();
        self.tell(Event::Time(TimeEvent::Look(Duration::ZERO)));
        let steering = self.steering.clone();
        self.tell(Event::People(PeopleEvent::Steered(steering)));
    }

    /// Every check of the followed ref may be pending once more.
    fn ask_again(&mut self) {
        let followed = self.history.iter().chain(&self.gone);
        let commits: Vec<String> = followed.map(|(commit, _)| commit.clone()).collect();
        for commit in commits {
            self.ask(SYNC, &commit);
        }
    }

    fn ask(&mut self, context: &str, commit: &str) {
        let key = (context.to_owned(), commit.to_owned());
        *self.asked.entry(key).or_default() += 1;
    }

    fn next_commit(&mut self) -> String {
        self.commits += 1;
        format!("{:040}", self.commits)
    }

    pub(super) fn push(&mut self, kind: Kind) {
        let commit = self.next_commit();
        self.history.push((commit, kind));
        self.ask_again();
    }

    /// A forced push that takes the newest commit away.
    pub(super) fn push_back(&mut self) {
        if self.history.len() > 1 {
            self.gone.extend(self.history.pop());
            self.ask_again();
        }
    }

    pub(super) fn propose(&mut self, which: usize, proposal: Proposal) {
        let commit = self.next_commit();
        let number = which % CANDIDATES;
        let name = match number % 2 {
            0 => format!("refs/heads/pr/{number}"),
            _ => format!("refs/pull/{number}/head"),
        };
        self.proposals.insert(name, (commit, proposal));
    }

    pub(super) fn close_proposal(&mut self, which: usize) {
        let name = self.proposals.keys().nth(which).cloned();
        name.map(|name| self.proposals.remove(&name));
    }

    fn head(&self) -> &str {
        &self.history[self.history.len() - 1].0
    }

    pub(super) fn hint(&mut self) {
        self.tell(Event::People(PeopleEvent::WebhookReceived(Hint::default())));
    }

    pub(super) fn rerun(&mut self, which: usize) {
        let proposed = self.proposals.values().nth(which);
        let commit = proposed
            .map_or(self.head(), |(commit, _)| commit)
            .to_owned();
        for context in [SYNC, PLAN] {
            self.ask(context, &commit);
        }
        let reruns = [Rerun::all(Head::Commit(commit))].into();
        let presses = BTreeSet::new();
        let hint = Hint { reruns, presses };
        self.tell(Event::People(PeopleEvent::WebhookReceived(hint)));
    }

    /// Somebody presses a button that the forge shows.
    pub(super) fn press(&mut self) {
        let shown = self.forge.values().find_map(|check| {
            let button = check.button.as_ref()?;
            Some(Press {
                commit: check.revision.clone(),
                context: check.context.clone(),
                app: 77,
                button: button.id.clone(),
                login: "ada".to_owned(),
            })
        });
        let Some(press) = shown else { return };
        self.ask(&press.context, &press.commit);
        let (reruns, presses) = (BTreeSet::new(), [press].into());
        let hint = Hint { reruns, presses };
        self.tell(Event::People(PeopleEvent::WebhookReceived(hint)));
    }

    pub(super) fn suspend(&mut self, is_suspended: bool) {
        self.steering.suspended = is_suspended.then(|| "2026-01-01T00:00:00Z".to_owned());
        self.ask_again();
        let steering = self.steering.clone();
        self.tell(Event::People(PeopleEvent::Steered(steering)));
    }

    pub(super) fn end_runner(&mut self) {
        self.jobs
            .retain(|job| !matches!(job, Job::Report(..) | Job::ApprovalsAsked(_)));
        self.ask_again();
        self.tell(Event::Cluster(ClusterEvent::RunnerEnded));
    }

    pub(super) fn check(&self, context: &str, revision: &str) -> Option<&Check> {
        self.forge.get(&(context.to_owned(), revision.to_owned()))
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = &Check> {
        self.forge.values()
    }

    fn tell(&mut self, event: Event) {
        let commands = self.follower.on(event, now(self.wall));
        for command in commands {
            self.take(command);
        }
        let parts = self.follower.parts();
        if !parts.heads.is_current() && !parts.heads.is_examining() {
            self.faults.push("the followed ref waits".to_owned());
        }
    }

    /// Takes a command: what is done at once is, the rest is under way from now on.
    fn take(&mut self, command: Command) {
        match command {
            Command::Wake(wait, event) => {
                let wait = match wait {
                    Wait::Cluster(wait) => wait / SPEED,
                    Wait::Wall(wait) => wait,
                };
                self.alarms.push((self.wall + wait, event));
            }
            Command::Record(Record::Milestone(milestone, revision)) => {
                self.milestones.insert(milestone, revision);
            }
            Command::Record(Record::Approval { press, .. }) => {
                self.approved.insert(press.commit);
            }
            Command::Show(change) => {
                self.view.apply(change);
            }
            Command::Assign(assignment) => self.assign(&assignment),
            Command::Approve(_) | Command::Recreate(_) => {}
            command => {
                let is_same = |job: &Job| {
                    let Job::Command(other) = job else {
                        return false;
                    };
                    match command {
                        Command::Fetch => matches!(other, Command::Fetch),
                        Command::Examine { .. } => matches!(other, Command::Examine { .. }),
                        Command::Publish(_) => matches!(other, Command::Publish(_)),
                        _ => false,
                    }
                };
                if self.jobs.iter().any(is_same) {
                    self.faults.push("two of a kind at a time".to_owned());
                }
                self.jobs.push_back(Job::Command(command));
            }
        }
    }

    fn assign(&mut self, assignment: &Assignment) {
        let revision = &assignment.revision;
        let is_good = self.examined().any(|(commit, kind)| {
            commit == revision && matches!(kind, Kind::Good | Kind::Hidden(_))
        });
        if !is_good {
            self.faults.push(format!("{revision} is applied"));
        }
        let number = assignment.number;
        // What applies one assignment is told of the next.
        self.jobs
            .retain(|job| !matches!(job, Job::Report(..) | Job::ApprovalsAsked(_)));
        if self.steering.suspended.is_some() {
            let suspension = Suspension {
                since: "2026-01-01T00:00:00Z".to_owned(),
                applied: self.applied.clone().unwrap_or_default(),
            };
            self.jobs
                .push_back(Job::Report(number, Report::Suspended(suspension)));
            return;
        }
        self.jobs.push_back(Job::Report(number, Report::Begun));
        let applied = self.milestones.get(&Milestone::Applied).cloned();
        self.jobs.push_back(Job::ApprovalsAsked(ApprovalsRequest {
            number,
            applied: applied.unwrap_or_default(),
        }));
        for step in &assignment.plan.steps {
            let ready = Progress {
                at: now(self.wall).cluster,
                object: step.object.clone(),
                state: State::Ready,
                terminal: false,
                message: String::new(),
            };
            let applied = Report::Applied(step.object.clone(), Outcome::Created);
            self.jobs.push_back(Job::Report(number, applied));
            self.jobs
                .push_back(Job::Report(number, Report::Object(ready)));
        }
        self.jobs.push_back(Job::Report(number, Report::Settled));
        self.applied = Some(revision.clone());
    }

    /// Every commit that the followed ref led to, gone or not.
    fn examined(&self) -> impl Iterator<Item = &(String, Kind)> {
        self.history.iter().chain(&self.gone)
    }
}

/// The time in a process that began this long ago; the clocks of all processes of a course agree.
fn now(wall: Duration) -> Now {
    Now {
        cluster: Timestamp::UNIX_EPOCH + wall * SPEED,
        wall,
    }
}

fn tree(kind: Kind, commit: &str) -> Tree {
    let text = match kind {
        Kind::Good | Kind::Hidden(_) => format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}, data: {{commit: c{commit}}}}}\n"
        ),
        Kind::Broken => "kind: ConfigMap\n".to_owned(),
        Kind::Empty => "# nothing\n".to_owned(),
    };
    Tree {
        files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
        ..Tree::default()
    }
}

fn compilation(kind: Kind, commit: &str) -> Compilation {
    let compiled = compile(&tree(kind, commit), &[]);
    Compilation::new(commit, compiled, &ApplySet::new("f", "default"))
}

fn away() -> AdapterError {
    AdapterError::new(ErrorClass::Transient, "the forge is away")
}

/// How jobs end.
impl World {
    /// Those under way that can end. Of the plans of a lane one never does: two that are not waited for stop a lane.
    pub(super) fn endable(&self) -> Vec<usize> {
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
    pub(super) fn end(&mut self, which: usize) {
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
            Command::Probe => Event::Checks(ChecksEvent::Probed(match self.is_forge_away {
                true => Err(away()),
                false => Ok(()),
            })),
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
            Command::RecordNewest { newest, .. } => {
                let answer = match self.is_forge_away {
                    true => Err("the cluster is away, too".to_owned()),
                    false => Ok(()),
                };
                Event::Cluster(ClusterEvent::NewestRecorded(Box::new((newest, answer))))
            }
            _ => Event::Time(TimeEvent::RetryChecks),
        }
    }

    fn fetch(&self) -> FetchResult {
        // Now and then the repository is away, or slow with what is not followed.
        let refs = match self.wall.as_secs() % 7 {
            5 => Err("it is away".to_owned()),
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

    fn startup_refs(&self, candidates: Vec<Candidate>) -> StartupRefs {
        let open = candidates.into_iter().map(|candidate| {
            let check = self.check(PLAN, &candidate.commit);
            let ended = check.filter(|check| check.state != CheckState::Pending);
            let lane = match candidate.name.starts_with("refs/heads/") {
                true => Lane::Own,
                false => Lane::Fork,
            };
            OpenRef {
                at: Timestamp::UNIX_EPOCH,
                is_checked: ended.is_some(),
                candidate: Candidate {
                    seen: ended.and_then(|check| check.input.clone()),
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
            ..Approval::flag(What::Delete("c/one".to_owned()))
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
    pub(super) fn pass_time(&mut self) {
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
    pub(super) fn come_to_rest(&mut self) {
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
