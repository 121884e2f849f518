//! A cluster in memory that answers what the engine asks for, when the test says so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::super::super::event::{
    Assignment, Command, Event, Failure, FailureCause, ParentRead, Removal, RetryTarget,
    WatchEvent, WatchScope, What,
};
use super::super::{Engine, Settings};
use crate::api::labels;
use crate::apply::{Kind, Parent, PruneStatus, Report, State};
use crate::graph;
use crate::health::Live;
use crate::model::{ErrorClass, Object, ObjectId};
use crate::plan::{self, ApplySet, MANAGER, Plan};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not carried out, and fails like this.
    Fails(ErrorClass),
    /// It is carried out, and the answer is lost.
    Lost,
}

/// An engine, its clock, and the cluster it works on.
pub(super) struct Stage {
    pub(super) engine: Engine,
    pub(super) now: Timestamp,
    pub(super) live: BTreeMap<ObjectId, Json>,
    pub(super) parent: Option<(Parent, String)>,
    pub(super) approved: BTreeSet<String>,
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
    watched: BTreeSet<Kind>,
    number: u64,
    revision: String,
    planned: BTreeSet<ObjectId>,
    prune: bool,
    clock: u64,
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

/// Everything below `value`, as FieldsV1 has it.
fn fields(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let members = members.iter();
            let members = members.map(|(key, value)| (format!("f:{key}"), fields(value)));
            Json::Object(members.collect())
        }
        _ => json!({}),
    }
}

impl Stage {
    pub(super) fn new(concurrency: usize) -> Self {
        let settings = Settings {
            concurrency,
            set: set(),
        };
        Self {
            engine: Engine::new(settings),
            now: Timestamp::UNIX_EPOCH,
            live: BTreeMap::new(),
            parent: None,
            approved: BTreeSet::new(),
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
            clock: 0,
        }
    }

    /// A fleet that was applied, and is settled.
    pub(super) fn settled(documents: &[Json]) -> Self {
        let mut stage = Self::new(8);
        stage.assign("1", documents);
        stage.settle();
        assert!(stage.has_settled(), "{:#?}", stage.reports);
        stage.sent.clear();
        stage.reports.clear();
        stage
    }

    /// Assigns these documents as a revision.
    pub(super) fn assign(&mut self, revision: &str, documents: &[Json]) {
        self.assign_as(revision, documents, true);
    }

    pub(super) fn assign_as(&mut self, revision: &str, documents: &[Json], prune: bool) {
        let plan = plan(documents);
        self.number += 1;
        self.prune = prune;
        self.planned = plan.steps.iter().map(|step| step.object.clone()).collect();
        revision.clone_into(&mut self.revision);
        self.happens(What::Assigned(Box::new(Assignment {
            number: self.number,
            plan,
            revision: revision.to_owned(),
            prune,
            ..Assignment::default()
        })));
    }

    /// Starts the engine anew, as after a crash. The cluster is as it was.
    pub(super) fn crash(&mut self) {
        let fresh = Self::new(8);
        self.engine = fresh.engine;
        self.requests.clear();
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
        asks
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Report(number, report) => self.reports.push((number, report)),
            Command::WakeAt(number, at, target) => {
                assert!(at >= self.now, "a wake-up in the past: {target:?}");
                self.wakes.push((at, number, target));
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
        let same = |other: &Command| about(other) == Some((number, object));
        assert!(
            !self.requests.iter().any(same),
            "two requests for {object} at a time"
        );
        if let Command::Remove { removal, .. } = request {
            assert!(self.prune, "{object} is removed, and nothing is pruned");
            assert!(!self.planned.contains(object), "{object} is in the plan");
            let name = format!("{}/{}", object.namespace, object.name);
            let approved = object.kind != "Cluster" || self.approved.contains(&name);
            assert!(
                approved || *removal == Removal::Release,
                "{object} is deleted without approval"
            );
        }
        if let Command::Apply { .. } = request {
            assert!(
                self.parent.is_some(),
                "{object} is applied before the parent"
            );
        }
    }

    /// All members of a kind are on their way, as a list has them.
    pub(super) fn list(&mut self, kind: &Kind) {
        let mut there = BTreeSet::new();
        for (id, live) in &self.live {
            if id.is(&kind.0, &kind.2) && Live(live).label(labels::PART_OF) == set().id() {
                there.insert(id.clone());
                let live = Some(Box::new(live.clone()));
                let event = WatchEvent::Object(WatchScope::Members, id.clone(), live);
                self.seen.push_back(event);
            }
        }
        let listed = WatchEvent::Listed(WatchScope::Members, kind.clone(), there);
        self.seen.push_back(listed);
    }

    /// A watch finds nothing at the address of its kind. What was on its way is lost with it.
    pub(super) fn lose(&mut self, kind: &Kind) {
        self.watched.remove(kind);
        self.seen.retain(|event| match event {
            WatchEvent::Object(_, id, _) => !id.is(&kind.0, &kind.2),
            WatchEvent::Listed(_, of, _) => of != kind,
            _ => true,
        });
        self.happens(What::Watched(WatchEvent::Lost(kind.clone())));
    }

    /// Every kind that is watched.
    pub(super) fn watched(&self) -> Vec<Kind> {
        self.watched.iter().cloned().collect()
    }

    /// An object is like this now, or gone; whoever watches it will see that.
    fn changed(&mut self, id: &ObjectId, live: Option<Json>) {
        let live = live.map(|mut live| {
            self.clock += 1;
            live["metadata"]["resourceVersion"] = json!(self.clock.to_string());
            live
        });
        match live.clone() {
            Some(live) => drop(self.live.insert(id.clone(), live)),
            None => drop(self.live.remove(id)),
        }
        let is_member = |live: &Json| Live(live).label(labels::PART_OF) == set().id();
        let member = live.filter(is_member).map(Box::new);
        if self.watched.iter().any(|kind| id.is(&kind.0, &kind.2)) {
            let event = WatchEvent::Object(WatchScope::Members, id.clone(), member);
            self.seen.push_back(event);
        }
    }

    /// Somebody deletes an object.
    pub(super) fn delete(&mut self, id: &ObjectId) {
        if self.live.contains_key(id) {
            self.changed(id, None);
        }
    }

    /// An object is being deleted, and something holds it.
    pub(super) fn deleting(&mut self, id: &ObjectId) {
        if let Some(mut live) = self.live.get(id).cloned() {
            live["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            self.changed(id, Some(live));
        }
    }

    /// Somebody writes into an object.
    pub(super) fn edit(&mut self, id: &ObjectId) {
        let live = self.live.get(id).filter(|live| live["kind"] == "ConfigMap");
        if let Some(mut live) = live.cloned() {
            let managers = &mut live["metadata"]["managedFields"];
            let mut own = managers[0].clone();
            own["fieldsV1"].as_object_mut().unwrap().remove("f:data");
            let mut theirs = own.clone();
            theirs["manager"] = json!("kubectl-edit");
            theirs["operation"] = json!("Update");
            theirs["fieldsV1"] = json!({"f:data": {"f:k": {}}});
            *managers = json!([own, theirs]);
            live["data"]["k"] = json!("theirs");
            self.changed(id, Some(live));
        }
    }

    /// Answers the oldest request that is `meant`.
    pub(super) fn answer(&mut self, meant: &str) {
        self.answer_with(meant, None);
    }

    pub(super) fn answer_with(&mut self, meant: &str, fault: Option<Fault>) {
        let is_meant = |request: &Command| described(request) == meant;
        let at = self.requests.iter().position(is_meant);
        let all = || self.requests.iter().map(described).collect::<Vec<_>>();
        let at = at.unwrap_or_else(|| unreachable!("{meant} is not asked for: {:?}", all()));
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
            let heard = self.wakes.len() > wakes || self.reports.len() > reports;
            assert!(heard, "a failure is lost: {request:?}");
        }
    }

    fn outcome(&mut self, request: &Command, fault: Option<Fault>) -> (bool, What) {
        let failure = |class, object: Option<&ObjectId>| Failure {
            class,
            retry_after: None,
            cause: FailureCause::Other,
            object: object.cloned(),
            message: "no".to_owned(),
        };
        let object = about(request).map(|(_, object)| object);
        let failed = match fault {
            Some(Fault::Fails(class)) => Some(class),
            _ => None,
        };
        let result = match failed {
            Some(class) => Err(class),
            None => self.carry_out(request),
        };
        let result = match (fault, result) {
            (Some(Fault::Lost), _) => Err(ErrorClass::Transient),
            (_, result) => result,
        };
        let is_failed = result.is_err();
        let result = result.map_err(|class| failure(class, object));
        (is_failed, told(request, result, &self.unserved))
    }

    /// What the cluster makes of a request.
    fn carry_out(&mut self, request: &Command) -> Result<Option<Json>, ErrorClass> {
        match request {
            Command::WriteParent {
                parent,
                version,
                over,
                ..
            } => {
                let known = self.parent.as_ref().map(|(_, version)| version.as_str());
                if !over && known.unwrap_or_default() != version {
                    return Err(ErrorClass::Conflict);
                }
                self.clock += 1;
                self.parent = Some((parent.clone(), self.clock.to_string()));
                Ok(Some(json!(self.clock.to_string())))
            }
            Command::ReadParent(_) => {
                let read = self.parent.clone();
                let text = read.map(|(parent, version)| (parent.payload(&set()), version));
                let text = text.map(|(parent, version)| json!([parent, version]));
                Ok(Some(json!([text, self.approved])))
            }
            Command::Apply {
                plan,
                step,
                object,
                precondition,
                ..
            } => {
                let live = self.live.get(object);
                let uid = live.map(|live| Live(live).uid().to_owned());
                let foreign = live.is_some_and(|live| Live(live).label(labels::PART_OF).is_empty());
                if precondition.uid.is_some() && precondition.uid != uid {
                    return Err(ErrorClass::Conflict);
                }
                if foreign {
                    return Err(ErrorClass::Denied);
                }
                let crate::model::Action::Apply { payload, .. } = &plan.steps[*step].action;
                let mut applied = payload.json();
                let mut own = json!({});
                for part in ["data", "spec"] {
                    if let Some(value) = applied.get(part) {
                        own[format!("f:{part}")] = fields(value);
                    }
                }
                for part in ["labels", "annotations"] {
                    own["f:metadata"][format!("f:{part}")] = fields(&applied["metadata"][part]);
                }
                self.clock += 1;
                applied["metadata"]["uid"] = json!(uid.unwrap_or(format!("u{}", self.clock)));
                applied["metadata"]["namespace"] = json!(object.namespace);
                applied["metadata"]["managedFields"] = json!([{"manager": MANAGER, "operation": "Apply",
                    "apiVersion": payload.api_version(), "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1", "fieldsV1": own}]);
                self.changed(object, Some(applied));
                Ok(self.live.get(object).cloned())
            }
            Command::Remove {
                object,
                uid,
                removal,
                ..
            } => {
                let live = self.live.get(object).cloned();
                let Some(mut live) = live.filter(|live| Live(live).uid() == uid) else {
                    return match (removal, self.live.contains_key(object)) {
                        (Removal::Delete, true) => Err(ErrorClass::Conflict),
                        _ => Ok(None),
                    };
                };
                match removal {
                    Removal::Delete => self.changed(object, None),
                    Removal::Release => {
                        live["metadata"]["labels"] = json!({});
                        self.changed(object, Some(live));
                    }
                }
                Ok(None)
            }
            Command::Read(_, object, _) | Command::Confirm(object, ..) => {
                Ok(self.live.get(object).cloned())
            }
            _ => Ok(None),
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

    /// Time passes until the next wake-up; `false` when there is none.
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
            if self.requests.is_empty() {
                return;
            }
            self.answer_at(0, None);
        }
        unreachable!("it never comes to rest: {:#?}", self.sent);
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

    /// Whether the cluster has exactly what the plan says, and the parent says so.
    pub(super) fn is_as_planned(&self) -> Result<(), String> {
        for id in &self.planned {
            let live = self.live.get(id).ok_or(format!("{id} is not there"))?;
            if live["data"]["k"] == "theirs" {
                return Err(format!("{id} is as others want it"));
            }
        }
        let held = |id: &ObjectId| matches!(self.leaves(id), Some(PruneStatus::Held(_)));
        for (id, live) in &self.live {
            let member = Live(live).label(labels::PART_OF) == set().id();
            if member && !self.planned.contains(id) && !held(id) {
                return Err(format!("{id} was left behind"));
            }
        }
        match &self.parent {
            Some((parent, _)) if parent.applied == self.revision => Ok(()),
            parent => Err(format!("the parent says {parent:?}")),
        }
    }
}

/// The object that a request reads or writes for one assignment.
fn about(request: &Command) -> Option<(u64, &ObjectId)> {
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

/// The answer to a request, as the engine is told.
fn told(
    request: &Command,
    result: Result<Option<Json>, Failure>,
    unserved: &BTreeSet<String>,
) -> What {
    match request {
        Command::ReadParent(number) => {
            let read = result.map(|json| {
                let [before, approved]: [Json; 2] = serde_json::from_value(json.unwrap()).unwrap();
                let before: Option<(Json, String)> = serde_json::from_value(before).unwrap();
                let before = before
                    .map(|(parent, version)| (Parent::read(&set(), &parent).unwrap(), version));
                let approved = serde_json::from_value(approved).unwrap();
                ParentRead { before, approved }
            });
            What::ParentRead(*number, Box::new(read))
        }
        Command::WriteParent { number, .. } => {
            let version = |json: Option<Json>| json.unwrap().as_str().unwrap().to_owned();
            What::ParentWritten(*number, result.map(version))
        }
        Command::Discover { kind, .. } => {
            let missing = Failure {
                class: ErrorClass::Gone,
                retry_after: None,
                cause: FailureCause::NotServed,
                object: None,
                message: "not served".to_owned(),
            };
            let answer = result.and_then(|_| match unserved.contains(&kind.2) {
                true => Err(missing),
                false => Ok(true),
            });
            What::KindServed(kind.clone(), answer)
        }
        Command::FindVersion(number, kind) => {
            let version = match kind.0.as_str() {
                "" => "v1",
                _ => "v1beta2",
            };
            let version = (!unserved.contains(&kind.1)).then(|| version.to_owned());
            What::VersionFound(*number, kind.clone(), result.map(|_| version))
        }
        Command::Apply { number, step, .. } => What::Answered(
            *number,
            *step,
            Box::new(result.map(Option::unwrap_or_default)),
        ),
        Command::Read(number, object, _) => What::Read(*number, object.clone(), Box::new(result)),
        Command::Remove {
            number,
            object,
            removal,
            ..
        } => What::Removed(*number, object.clone(), result.map(|_| *removal)),
        Command::Confirm(object, _, uid) => {
            What::Confirmed(object.clone(), uid.clone(), Box::new(result))
        }
        other => unreachable!("{other:?} is not answered"),
    }
}
