//! A cluster in memory that answers the requests of the engine when the test asks it to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::super::super::event::{
    Command, Event, Removal, RetryTarget, WatchEvent, WatchScope, What,
};
use super::super::{Engine, Settings};
use crate::api::labels;
use crate::apply::{
    ApprovalsAnswer, ApprovalsRequest, Assignment, Kind, Parent, PruneStatus, Report, State,
    is_member,
};
use crate::graph;
use crate::model::{ErrorClass, Object, ObjectId};
use crate::plan::approvals::{Approval, What as Approved};
use crate::plan::{self, ApplySet, Plan};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not carried out, and fails like this.
    Fails(ErrorClass),
    /// It is not carried out: we may not do it.
    NoRights,
    /// It is carried out, and the answer is lost.
    Lost,
}

/// The time at which the engine learns what people approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// As soon as it asks.
    AtOnce,
    /// Once everything else is calm.
    Late,
    /// When the test says so.
    ByHand,
}

/// An engine, its clock, and the cluster it works on.
pub(super) struct Fixture {
    pub(super) engine: Engine,
    pub(super) now: Timestamp,
    pub(super) live: BTreeMap<ObjectId, Json>,
    /// The uids of all objects that the engine has ever applied.
    pub(super) applied: BTreeSet<String>,
    /// The objects that others made with our label, and that are left alone.
    pub(super) others: BTreeSet<ObjectId>,
    pub(super) parent: Option<(Parent, String)>,
    /// The clusters whose deletion people approve.
    pub(super) approved: BTreeSet<String>,
    /// The same with the words of a trailer.
    pub(super) approved_lines: Vec<String>,
    /// How many clusters may be deleted that nobody names.
    pub(super) any: usize,
    pub(super) answers: Answers,
    /// What the engine asked last.
    pub(super) question: Option<ApprovalsRequest>,
    /// Questions that are not answered yet.
    pub(super) questions: Vec<ApprovalsRequest>,
    /// The clusters that may be deleted by the newest answer to the newest question.
    allowed: BTreeSet<String>,
    /// Kinds that the cluster does not serve.
    pub(super) unserved: BTreeSet<String>,
    /// Requests that are not answered yet.
    pub(super) requests: Vec<Command>,
    /// Watch events that are on their way.
    pub(super) seen: VecDeque<WatchEvent>,
    pub(super) wakes: Vec<(Timestamp, u64, RetryTarget)>,
    pub(super) reports: Vec<(u64, Report)>,
    /// Every request that was ever sent, as `verb object`.
    pub(super) sent: Vec<String>,
    pub(super) watched: BTreeSet<Kind>,
    number: u64,
    revision: String,
    planned: BTreeSet<Arc<ObjectId>>,
    prune: bool,
    pub(super) heeds_suspension: bool,
    pub(super) suspended: Option<String>,
    /// Counts resourceVersions.
    pub(super) clock: u64,
}

pub(super) fn set() -> ApplySet {
    ApplySet::new("test", "capstan-system")
}

/// A plan of these documents.
pub(super) fn plan(documents: &[Json]) -> Arc<Plan> {
    let text: Vec<String> = documents.iter().map(ToString::to_string).collect();
    let text = text.join("\n---\n");
    let (nodes, _) = crate::yaml::read(&Arc::from("fleet.yaml"), text.as_bytes());
    let objects = nodes
        .into_iter()
        .filter_map(|node| Object::from_node(node, ""));
    let objects: Vec<Object> = objects.collect();
    let (graph, _) = graph::build(&objects);
    Arc::new(plan::against_none(&objects, &graph, &set()))
}

/// A ConfigMap, after another one if that is named.
pub(super) fn map(name: &str, value: &str, after: &str) -> Json {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value},
        "metadata": {"name": name, "namespace": "ns"}});
    if !after.is_empty() {
        let after = format!("/namespaces/ns/ConfigMap/{after}");
        map["metadata"]["annotations"] = json!({labels::DEPENDS_ON: after});
    }
    map
}

/// A Cluster that is deleted when its file goes away.
pub(super) fn cluster(name: &str) -> Json {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": name, "namespace": "ns", "annotations": {labels::DELETION_POLICY: "Delete"}}})
}

pub(super) fn id(name: &str) -> ObjectId {
    ObjectId::new("", "ConfigMap", "ns", name)
}

pub(super) fn cluster_id(name: &str) -> ObjectId {
    ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", name)
}

impl Fixture {
    pub(super) fn new(concurrency: usize) -> Self {
        let settings = Settings {
            concurrency,
            set: set(),
        };
        Self {
            engine: Engine::new(settings),
            now: Timestamp::UNIX_EPOCH,
            live: BTreeMap::new(),
            applied: BTreeSet::new(),
            others: BTreeSet::new(),
            parent: None,
            approved: BTreeSet::new(),
            approved_lines: Vec::new(),
            any: 0,
            answers: Answers::AtOnce,
            question: None,
            questions: Vec::new(),
            allowed: BTreeSet::new(),
            unserved: BTreeSet::new(),
            requests: Vec::new(),
            seen: VecDeque::new(),
            wakes: Vec::new(),
            reports: Vec::new(),
            sent: Vec::new(),
            watched: BTreeSet::new(),
            number: 0,
            revision: String::new(),
            planned: BTreeSet::new(),
            prune: true,
            heeds_suspension: false,
            suspended: None,
            clock: 0,
        }
    }

    /// A fleet that was applied, and is settled.
    pub(super) fn settled(documents: &[Json]) -> Self {
        let mut fixture = Self::new(8);
        fixture.assign("1", documents);
        fixture.settle();
        assert!(fixture.has_settled(), "{:#?}", fixture.reports);
        fixture.sent.clear();
        fixture.reports.clear();
        fixture
    }

    /// Assigns these documents as a revision.
    pub(super) fn assign(&mut self, revision: &str, documents: &[Json]) {
        self.assign_as(revision, documents, true);
    }

    pub(super) fn assign_as(&mut self, revision: &str, documents: &[Json], prune: bool) {
        let plan = plan(documents);
        self.number += 1;
        self.prune = prune;
        self.allowed.clear();
        self.planned = plan.steps.iter().map(|step| step.object.clone()).collect();
        revision.clone_into(&mut self.revision);
        self.happens(What::Assigned(Box::new(Assignment {
            number: self.number,
            plan,
            revision: revision.to_owned(),
            prune,
            heeds_suspension: self.heeds_suspension,
            suspended: self.suspended.clone(),
            ..Assignment::default()
        })));
    }

    /// Starts the engine anew, as after a crash. The cluster is as it was.
    pub(super) fn crash(&mut self) {
        let fresh = Self::new(8);
        self.engine = fresh.engine;
        self.requests.clear();
        self.questions.clear();
        self.allowed.clear();
        self.seen.clear();
        self.wakes.clear();
        self.watched.clear();
    }

    /// Tells the engine, and takes in what it asks for. Whether it asked for anything but reports.
    pub(super) fn happens(&mut self, what: What) -> bool {
        let commands = self.engine.on(Event { at: self.now, what });
        let asks = |command: &Command| !matches!(command, Command::Report(..) | Command::Warn(_));
        let asks = commands.iter().any(asks);
        for command in commands {
            self.take(command);
        }
        if self.answers == Answers::AtOnce {
            while self.answer_question() {}
        }
        asks
    }

    /// Answers the oldest question by what people approve now; `false` if there is none.
    pub(super) fn answer_question(&mut self) -> bool {
        let is_asked = !self.questions.is_empty();
        if is_asked {
            let request = self.questions.remove(0);
            self.approve(request);
        }
        is_asked
    }

    /// Tells the engine what people approve now.
    pub(super) fn approve(&mut self, request: ApprovalsRequest) {
        if self.question.as_ref() == Some(&request) && request.number == self.number {
            self.allowed = self.approved.clone();
        }
        let what = |name: &String| Approval::flag(Approved::deletion(name).expect("a name"));
        let any = Approval::setting(Approved::Clusters(self.any));
        let said = |line: &String| Approval::flag(Approved::parse(line).expect("an approval"));
        let said = self.approved_lines.iter().map(said);
        let named = self.approved.iter().map(what).chain(said);
        let approvals = named.chain((self.any > 0).then_some(any)).collect();
        self.happens(What::Approved(ApprovalsAnswer { request, approvals }));
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Report(number, report) => self.reports.push((number, report)),
            Command::WakeAt(number, at, target) => {
                assert!(at >= self.now, "a wake-up in the past: {target:?}");
                self.wakes.push((at, number, target));
            }
            Command::AskApprovals(request) => {
                self.allowed.clear();
                self.question = Some(request.clone());
                self.questions.push(request);
            }
            Command::Warn(_) | Command::WatchDefinitions => {}
            Command::Watch(WatchScope::Embedded, _) => {}
            Command::Watch(WatchScope::Members, kind) => {
                self.watched.insert(kind.clone());
                self.list(&kind);
            }
            request => {
                if let Command::ReadParent(_) = request {
                    // As the runner does.
                    self.requests
                        .retain(|other| !described(other).ends_with("parent"));
                }
                self.is_allowed(&request);
                self.sent.push(described(&request));
                self.requests.push(request);
            }
        }
    }

    /// Panics when a request must never be sent.
    fn is_allowed(&self, request: &Command) {
        let Some((number, object)) = about(request) else {
            return;
        };
        // Older applies and removals are waited for; what only reads may come at any time.
        let writes = |other: &Command| !matches!(other, Command::Read(..));
        let same = |other: &Command| {
            about(other).is_some_and(|(of, same)| {
                same == object
                    && (of == number || matches!(request, Command::Apply { .. }) && writes(other))
            })
        };
        assert!(
            !self.requests.iter().any(same),
            "two requests for {object} at a time"
        );
        if let Command::Remove { removal, .. } = request {
            assert!(self.prune, "{object} is removed, and nothing is pruned");
            assert!(!self.planned.contains(object), "{object} is in the plan");
            let name = format!("{}/{}", object.namespace, object.name);
            let is_named = self.allowed.contains(&name);
            let is_said = self.approved_lines.iter().any(|line| line.ends_with(&name));
            let approved = object.kind != "Cluster" || is_named || is_said || self.any > 0;
            assert!(approved, "{object} goes without approval: {removal:?}");
        }
        if let Command::Apply { .. } = request {
            assert!(
                self.parent.is_some(),
                "{object} is applied before the parent"
            );
        }
    }

    /// Every kind that is watched.
    pub(super) fn watched(&self) -> Vec<Kind> {
        self.watched.iter().cloned().collect()
    }

    /// Answers the oldest request with this description.
    pub(super) fn answer(&mut self, description: &str) {
        self.answer_with(description, None);
    }

    pub(super) fn answer_with(&mut self, description: &str, fault: Option<Fault>) {
        let matches = |request: &Command| described(request) == description;
        let at = self.requests.iter().position(matches);
        let all = || self.requests.iter().map(described).collect::<Vec<_>>();
        let at = at.unwrap_or_else(|| unreachable!("{description} is not asked for: {:?}", all()));
        self.answer_at(at, fault);
    }

    /// Answers one request.
    pub(super) fn answer_at(&mut self, at: usize, fault: Option<Fault>) {
        let request = self.requests.remove(at);
        let (failed, what) = self.outcome(&request, fault);
        let (wakes, reports) = (self.wakes.len(), self.reports.len());
        self.happens(what);
        let number = match &request {
            Command::ReadParent(number)
            | Command::FindVersion(number, _)
            | Command::WriteParent { number, .. }
            | Command::Apply { number, .. } => *number,
            Command::Confirm(..) => self.number,
            // What leaves may have left; else the next round finds it, and the end waits for that.
            _ => 0,
        };
        if failed && number == self.number {
            let noticed = self.wakes.len() > wakes || self.reports.len() > reports;
            assert!(noticed, "a failure is lost: {request:?}");
        }
    }

    /// Lets the next watch event arrive.
    pub(super) fn see(&mut self) -> bool {
        let event = self.seen.pop_front();
        event.is_some_and(|event| {
            self.happens(What::Watched(event));
            true
        })
    }

    /// Lets all watch events arrive.
    pub(super) fn see_all(&mut self) {
        while self.see() {}
    }

    /// Lets time pass until the next wake-up; `false` if none is due.
    pub(super) fn wake(&mut self) -> bool {
        let next = (0..self.wakes.len()).min_by_key(|at| self.wakes[*at].0);
        next.is_some_and(|next| {
            let (at, number, target) = self.wakes.remove(next);
            self.now = self.now.max(at);
            self.happens(What::Elapsed(number, target));
            true
        })
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        self.now = self
            .now
            .saturating_add(Duration::from_secs(seconds))
            .unwrap();
    }

    /// Everything is answered and seen, but no time passes.
    pub(super) fn calm(&mut self) {
        for _ in 0..10_000 {
            if self.see() {
                continue;
            }
            if !self.requests.is_empty() {
                self.answer_at(0, None);
            } else if self.answers == Answers::ByHand || !self.answer_question() {
                return;
            }
        }
        unreachable!("it never settles: {:#?}", self.sent);
    }

    /// Everything is answered and seen until nothing is left to do.
    pub(super) fn settle(&mut self) {
        for _ in 0..1_000 {
            self.calm();
            if !self.wake() {
                return;
            }
        }
        unreachable!("it never settles: {:#?}", self.wakes);
    }

    /// Whether the end of the newest assignment was reported.
    pub(super) fn has_settled(&self) -> bool {
        self.reports.contains(&(self.number, Report::Settled))
    }

    /// What was reported of an object, in order.
    pub(super) fn states(&self, id: &ObjectId) -> Vec<State> {
        let states = self.reports.iter().filter_map(|(_, report)| match report {
            Report::Object(progress) if progress.object == *id => Some(progress.state),
            _ => None,
        });
        states.collect()
    }

    /// What was reported last of an object that leaves.
    pub(super) fn leaves(&self, id: &ObjectId) -> Option<&PruneStatus> {
        let mut reports = self.reports.iter().rev();
        reports.find_map(|(_, report)| match report {
            Report::Prune(of, status) if of == id => Some(status),
            _ => None,
        })
    }

    /// Whether the cluster matches the plan, and the parent records that.
    pub(super) fn is_as_planned(&self) -> Result<(), String> {
        for id in &self.planned {
            let live = self.live.get(id).ok_or(format!("{id} is not there"))?;
            if !is_member(live, &set().id()) {
                return Err(format!("{id} was not applied"));
            }
            if live["data"]["k"] == "theirs" {
                return Err(format!("{id} is as others want it"));
            }
        }
        let held = |id: &ObjectId| self.leaves(id).is_some_and(PruneStatus::is_kept);
        for (id, live) in &self.live {
            let member = is_member(live, &set().id());
            if member && !self.planned.contains(id) && !held(id) {
                return Err(format!("{id} was left behind"));
            }
        }
        let lost = self.others.iter().find(|id| !self.live.contains_key(*id));
        if let Some(id) = lost {
            return Err(format!("{id} was not ours, and is gone"));
        }
        match &self.parent {
            Some((parent, _)) if parent.applied == self.revision => Ok(()),
            parent => Err(format!("the parent holds {parent:?}")),
        }
    }
}

/// The object that a request reads or writes for one assignment.
pub(super) fn about(request: &Command) -> Option<(u64, &ObjectId)> {
    match request {
        Command::Apply { number, object, .. }
        | Command::Remove { number, object, .. }
        | Command::Read(number, object, _) => Some((*number, object)),
        _ => None,
    }
}

/// A request as the tests name it.
pub(super) fn described(request: &Command) -> String {
    match request {
        Command::ReadParent(_) => "read parent".to_owned(),
        Command::WriteParent { parent, .. } if parent.applied == parent.applying => {
            "write applied parent".to_owned()
        }
        Command::WriteParent { .. } => "write parent".to_owned(),
        Command::Discover { kind, .. } => format!("discover {}", kind.2),
        Command::FindVersion(_, kind) => format!("find version {}", kind.1),
        Command::Apply { object, .. } => format!("apply {}", object.name),
        Command::Read(_, object, _) => format!("read {}", object.name),
        Command::Remove {
            object, removal, ..
        } => match removal {
            Removal::Delete => format!("delete {}", object.name),
            Removal::Release => format!("release {}", object.name),
        },
        Command::Confirm(object, ..) => format!("confirm {}", object.name),
        other => format!("{other:?}"),
    }
}

/// What the engine asked for since the last look, in words.
pub(super) fn asked(fixture: &Fixture) -> Vec<String> {
    fixture.requests.iter().map(described).collect()
}
