//! What each command of the engine is: a request or a few, a watch, a timer, a line in the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tracing::Instrument as _;

use super::super::discovery::{Discovery, Served};
use super::super::request::{ObjectClient, with_timeout};
use super::super::watch_within::within;
use super::super::{Error, identity, parent, watch};
use super::input::Target;
use super::reach::Reach;
use crate::api::labels;
use crate::apply::{
    ApplyPrecondition, ApprovalsAnswer, ApprovalsRequest, Command, GroupKind, Kind, Parent,
    Removal, Report, RetryTarget, Warning, WatchEvent, WatchScope, What,
};
use crate::model::ObjectId;
use crate::plan::{ApplySet, Plan};

/// What a job in the background came to.
pub(super) enum Done {
    /// An event that the engine gets as it is.
    Happened(What),
    /// The cluster answered how it serves a kind.
    Found(Kind, Result<Served, Error>),
}

/// Everything that is under way.
pub(super) struct Runner {
    pub(super) jobs: JoinSet<Done>,
    pub(super) watches: SelectAll<BoxStream<'static, WatchEvent>>,
    target: Target,
    set: ApplySet,
    reports: UnboundedSender<(u64, Report)>,
    questions: UnboundedSender<ApprovalsRequest>,
    discovery: Discovery,
    /// Where objects are watched.
    reach: Reach,
    /// How the cluster serves each kind that was found.
    served: BTreeMap<Kind, Served>,
    /// The job that reads or writes the parent.
    parent_job: Option<AbortHandle>,
}

impl Runner {
    pub(super) fn new(
        target: Target,
        set: ApplySet,
        reports: UnboundedSender<(u64, Report)>,
        questions: UnboundedSender<ApprovalsRequest>,
    ) -> Self {
        Self {
            jobs: JoinSet::new(),
            watches: SelectAll::new(),
            discovery: Discovery::new(target.client.clone()),
            reach: Reach::new(target.is_confined, set.namespace()),
            served: BTreeMap::new(),
            parent_job: None,
            target,
            set,
            reports,
            questions,
        }
    }

    /// What a job that ended means to the engine.
    pub(super) fn answer(&mut self, done: Result<Done, JoinError>) -> Option<What> {
        match done {
            Ok(Done::Happened(what)) => {
                if let What::ParentRead(_, answer) = &what
                    && let Ok(Some((parent, _))) = &**answer
                {
                    let namespaces = parent.namespaces.iter().map(String::as_str);
                    for (scope, kind) in self.reach.look_back(namespaces) {
                        self.watch(scope, &kind);
                    }
                }
                Some(what)
            }
            Ok(Done::Found(kind, answer)) => {
                let answer = answer.map(|served| {
                    let namespaced = served.namespaced;
                    self.served.insert(kind.clone(), served);
                    namespaced
                });
                let answer = answer.map_err(|error| error.failure());
                Some(What::KindServed(kind, answer))
            }
            Err(error) if error.is_cancelled() => None,
            Err(error) => {
                tracing::error!(%error, "a job ended in a panic");
                None
            }
        }
    }

    pub(super) fn carry_out(&mut self, command: Command) {
        match command {
            Command::ReadParent(number) => self.read_parent(number),
            Command::AskApprovals(request) => self.ask_approvals(request),
            Command::WriteParent {
                number,
                parent,
                version,
                over,
            } => self.write_parent(number, *parent, version, over),
            Command::Discover {
                kind,
                example,
                refresh,
            } => self.discover(kind, example, refresh),
            Command::FindVersion(number, kind) => self.find_version(number, kind),
            Command::Watch(scope, kind) => self.watch(scope, &kind),
            Command::WatchDefinitions => {
                self.watches.push(watch::definitions(&self.target.client));
            }
            Command::Apply {
                number,
                plan,
                step,
                object,
                kind,
                precondition,
            } => {
                let client = self.object(&object, &kind);
                self.apply(number, client, (plan, step), object, precondition);
            }
            Command::Read(number, object, kind) => self.read(number, object, &kind),
            Command::Remove {
                number,
                object,
                kind,
                uid,
                removal,
            } => {
                let client = self.object(&object, &kind);
                self.remove(number, client, object, uid, removal);
            }
            Command::Confirm(object, kind, uid) => self.confirm(object, &kind, uid),
            Command::WakeAt(number, at, target) => self.wake_at(number, at, target),
            Command::Report(number, report) => {
                // A receiver that stops listening also drops this future.
                let _ = self.reports.send((number, report));
            }
            Command::Warn(warning) => warn(&warning),
        }
    }

    /// Starts a job whose outcome the engine gets as it is.
    fn spawn(&mut self, job: impl Future<Output = What> + Send + 'static) -> AbortHandle {
        let job = async { Done::Happened(job.await) };
        self.jobs.spawn(job.in_current_span())
    }

    /// How to address `object` in the cluster; `None` if its kind was not discovered.
    fn object(&self, object: &ObjectId, kind: &Kind) -> Option<ObjectClient> {
        Some(ObjectClient {
            client: self.target.account.clone(),
            served: self.served.get(kind)?.clone(),
            id: object.clone(),
        })
    }

    fn read_parent(&mut self, number: u64) {
        // What an earlier assignment still has to read or write is of no use any more.
        if let Some(job) = self.parent_job.take() {
            job.abort();
        }
        let (client, set) = (self.target.client.clone(), self.set.clone());
        let job = self.spawn(async move {
            let answer = with_timeout(&set.parent(), parent::read(&client, &set)).await;
            What::ParentRead(number, Box::new(answer.map_err(|error| error.failure())))
        });
        self.parent_job = Some(job);
    }

    /// Passes the question on. What nobody answers is not approved.
    fn ask_approvals(&mut self, request: ApprovalsRequest) {
        if let Err(unasked) = self.questions.send(request) {
            let answer = ApprovalsAnswer {
                request: unasked.0,
                approvals: Vec::new(),
            };
            self.spawn(std::future::ready(What::Approved(answer)));
        }
    }

    fn write_parent(&mut self, number: u64, parent: Parent, version: String, over: bool) {
        tracing::debug!(target: "capstan::step", over, "writing the parent");
        let (client, set) = (self.target.client.clone(), self.set.clone());
        let job = self.spawn(async move {
            let write = async {
                match over {
                    true => parent::write_over(&client, &set, &parent, &version).await,
                    false => parent::write(&client, &set, &parent, &version).await,
                }
            };
            let answer = with_timeout(&set.parent(), write).await;
            match &answer {
                Ok(_) => tracing::debug!(target: "capstan::step", "the parent was written"),
                Err(error) => tracing::warn!(%error, "the parent cannot be written"),
            }
            What::ParentWritten(number, answer.map_err(|error| error.failure()))
        });
        self.parent_job = Some(job);
    }

    fn discover(&mut self, kind: Kind, example: ObjectId, refresh: bool) {
        if refresh {
            self.discovery.doubt(&kind.0, &kind.1);
        }
        let discovery = self.discovery.clone();
        let resolving = async move {
            let resolve = discovery.resolve(&example, &kind.1);
            let answer = with_timeout(&example, resolve).await;
            Done::Found(kind, answer)
        };
        self.jobs.spawn(resolving.in_current_span());
    }

    fn find_version(&mut self, number: u64, kind: GroupKind) {
        let discovery = self.discovery.clone();
        self.spawn(async move {
            let example = ObjectId::new(&*kind.0, &*kind.1, "", "");
            let answer = with_timeout(&example, discovery.preferred(&example)).await;
            if let Err(error) = &answer {
                tracing::warn!(%error, "nothing is removed until it is known what is there");
            }
            What::VersionFound(number, kind, answer.map_err(|error| error.failure()))
        });
    }

    fn watch(&mut self, scope: WatchScope, kind: &Kind) {
        // Only kinds that were found are watched.
        let Some(served) = self.served.get(kind) else {
            return;
        };
        let (client, labels) = (
            &self.target.account,
            format!("{}={}", labels::PART_OF, self.set.id()),
        );
        let watch_in = |namespace: Option<&str>| match scope {
            WatchScope::Members => watch::members(client, served, &labels, namespace),
            WatchScope::Embedded => watch::all(client, served, namespace),
        };
        let confines = self.reach.namespaces().filter(|_| served.namespaced);
        let watched = match confines {
            Some(namespaces) => within(&namespaces, |namespace| watch_in(Some(namespace))),
            None => watch_in(None),
        };
        let watched = self.reach.ending(scope, kind, watched);
        self.watches.push(watched);
    }

    /// The fleet ends: members in every namespace must be seen.
    pub(super) const fn end(&mut self) {
        self.reach.end();
    }

    /// The plan has objects in these namespaces, which are watched from now on.
    pub(super) fn look_in<'a>(&mut self, namespaces: impl IntoIterator<Item = &'a str>) {
        for (scope, kind) in self.reach.plan(namespaces) {
            self.watch(scope, &kind);
        }
    }

    fn apply(
        &mut self,
        number: u64,
        client: Option<ObjectClient>,
        (plan, at): (Arc<Plan>, usize),
        object: ObjectId,
        precondition: ApplyPrecondition,
    ) {
        tracing::debug!(target: "capstan::step", %object, "applying");
        let (set, discovery) = (self.set.id(), self.discovery.clone());
        self.spawn(async move {
            let step = &plan.steps[at];
            let apply = async {
                let client = client.ok_or_else(|| undiscovered(&object))?;
                identity::check(&client.client, &discovery, step, &[]).await?;
                client.apply(step, &set, precondition).await
            };
            let answer = with_timeout(&object, apply).await;
            tracing::debug!(target: "capstan::step", %object, "answered");
            let answer = answer.map_err(|error| error.failure());
            What::Answered(number, at, Box::new(answer))
        });
    }

    fn read(&mut self, number: u64, object: ObjectId, kind: &Kind) {
        let client = self.object(&object, kind);
        self.spawn(async move {
            let read = async {
                let client = client.ok_or_else(|| undiscovered(&object))?;
                client.read().await
            };
            let answer = with_timeout(&object, read).await;
            let answer = answer.map_err(|error| error.failure());
            What::Read(number, object, Box::new(answer))
        });
    }

    fn remove(
        &mut self,
        number: u64,
        client: Option<ObjectClient>,
        object: ObjectId,
        uid: String,
        removal: Removal,
    ) {
        let deletes = removal == Removal::Delete;
        tracing::info!(target: "capstan::step", %object, deletes, "no longer in the fleet");
        let set = self.set.id();
        self.spawn(async move {
            let remove = async {
                let client = client.ok_or_else(|| undiscovered(&object))?;
                match removal {
                    Removal::Delete => client.delete(&uid).await,
                    Removal::Release => client.release(&uid, &set).await,
                }
            };
            let answer = with_timeout(&object, remove).await;
            tracing::debug!(target: "capstan::step", %object, "answered");
            let answer = answer.map(|()| removal).map_err(|error| error.failure());
            What::Removed(number, object, answer)
        });
    }

    fn confirm(&mut self, object: ObjectId, kind: &Kind, uid: Option<String>) {
        let client = self.object(&object, kind);
        self.spawn(async move {
            let read = async {
                let client = client.ok_or_else(|| undiscovered(&object))?;
                client.metadata().await
            };
            let answer = with_timeout(&object, read).await;
            let answer = answer.map_err(|error| error.failure());
            What::Confirmed(object, uid, Box::new(answer))
        });
    }

    fn wake_at(&mut self, number: u64, at: Timestamp, target: RetryTarget) {
        let clock = &self.target.clock;
        let wait = Duration::try_from(at.duration_since(clock.now())).unwrap_or_default();
        let wait = clock.real(wait);
        self.spawn(async move {
            tokio::time::sleep(wait).await;
            What::Elapsed(number, target)
        });
    }
}

/// The engine speaks only of objects whose kind was discovered.
fn undiscovered(object: &ObjectId) -> Error {
    Error::Unsendable {
        object: object.clone(),
        cause: "its kind was not discovered".to_owned(),
    }
}

fn warn(warning: &Warning) {
    match warning {
        Warning::Drift { object, why } => tracing::warn!(%object, reason = why, "drift"),
        Warning::Unseen { why } => {
            tracing::warn!(
                error = why,
                "its progress cannot be seen until the kind is served"
            );
        }
    }
}
