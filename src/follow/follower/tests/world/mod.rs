//! A world for a follower: a repository, a forge, a cluster and people, of which each command is carried out at some time.
//!
//! In: steps. Out: what was written and assigned, and the faults that no follower may have at any time. What the world keeps
//! beyond the end of a process is what Capstan keeps: records, checks on the forge, and the cluster.

mod answers;

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
use crate::follow::comments::{CommentAnswer, CommentQuestion};
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
    AdapterError, Button, Check, CheckState, ErrorClass, Head, Hint, ObjectId, Press, Rerun, Tree,
};
use crate::plan::approvals::{Approval, Approvals, Doubt, How, What};
use crate::plan::{ApplySet, Kept};
use crate::reporting::Now;
use crate::reporting::report::{self, ApprovalWays, Fault};

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
    /// Nothing may be applied.
    pub(super) is_check_only: bool,
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
    /// The heads that somebody approved in a comment.
    pub(super) commented: BTreeSet<String>,
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

fn settings(is_check_only: bool) -> Settings {
    Settings {
        fleet: "f".to_owned(),
        source: "https://git.example/f".to_owned(),
        is_directory: false,
        interval: Duration::from_secs(60),
        candidates: vec!["refs/heads/pr/*".to_owned(), "refs/pull/*/head".to_owned()],
        plan_deadline: Duration::from_secs(300),
        limits: LIMITS.to_owned(),
        shows_queued: true,
        ways: ApprovalWays {
            button: true,
            comment: true,
            ..ApprovalWays::default()
        },
        is_check_only,
        suspend: false,
        prune: true,
        settle: Duration::from_secs(120),
    }
}

impl World {
    pub(super) fn new(is_check_only: bool) -> Self {
        let now = now(Duration::ZERO);
        let mut world = Self {
            follower: Follower::new(settings(is_check_only), now),
            is_check_only,
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
            commented: BTreeSet::new(),
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
        self.follower = Follower::new(settings(self.is_check_only), now(self.wall));
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

    /// Somebody writes a comment that approves what a check asks for.
    pub(super) fn comment(&mut self) {
        let mut shown = self.forge.values();
        let shown = shown.find(|check| !check.asked.is_empty());
        let Some(commit) = shown.map(|check| check.revision.clone()) else {
            return;
        };
        self.ask(PLAN, &commit);
        self.commented.insert(commit);
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
        let is_of_cluster = matches!(
            command,
            Command::Record(Record::Milestone(..))
                | Command::Assign(_)
                | Command::Approve(_)
                | Command::Recreate(_)
                | Command::RecordNewest { .. }
                | Command::TakeAnnotation(_)
        );
        if self.is_check_only && is_of_cluster {
            self.faults.push("something is applied".to_owned());
        }
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
            Command::Record(Record::Approval(approval)) => {
                self.approved.insert(approval.commit);
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
                object: ObjectId::clone(&step.object),
                state: State::Ready,
                terminal: false,
                message: String::new(),
            };
            let applied = Report::Applied(ready.object.clone(), Outcome::Created);
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
        calendar: Timestamp::UNIX_EPOCH + wall,
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
    let set = ApplySet::new("f", "default");
    Compilation::new(commit, compiled.digest(|object| Kept::of(object, &set)))
}
