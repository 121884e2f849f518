//! `capstan rehearse`: the whole provisioning on a virtual clock.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use super::Exit;
use super::args::{DataFormat, RehearseArgs};
use super::embedded::{Embedded, supply};
use super::fleet::Fleet;
use super::live::minutes;
use super::plan::LOCAL;
use super::ui::Ui;
use crate::adapters::kubernetes;
use crate::adapters::sim::actors::Failure;
use crate::adapters::sim::clock::SimClock;
use crate::api::kinds::CAPI;
use crate::api::timeline;
use crate::compile::Compiled;
use crate::model::ObjectId;
use crate::plan::{self, ApplySet, Plan, Progress, State, Tracker};
use crate::settings::Environment;

/// When nothing has happened for this long on the virtual clock, nothing will.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// What a rehearsal came to.
struct Rehearsal {
    ready: bool,
    events: Vec<Event>,
    supplied: Vec<ObjectId>,
}

/// One object reached a state, `at` seconds after the start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: u64,
    object: String,
    state: State,
    message: String,
}

/// Exit 0 when everything became ready.
pub(super) fn run(args: &RehearseArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let fleet = Fleet::read(&args.fleet)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let set = ApplySet::new(LOCAL, environment.namespace.as_str());
    if let Some(stranger) = args
        .fail
        .iter()
        .find(|failure| !names_an_object(&fleet.compiled, failure))
    {
        anyhow::bail!(
            "--fail {}/{}: the fleet has no such object",
            stranger.kind,
            stranger.name
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let rehearsal = runtime.block_on(rehearse(&fleet.compiled, &set, args.fail.clone()))?;
    ui.data(&match args.format {
        DataFormat::Text => text(&fleet.compiled, &rehearsal),
        DataFormat::Json => format!("{}\n", serde_json::to_string_pretty(&json(&rehearsal))?),
    })?;
    Ok(Exit::failed_if(!rehearsal.ready))
}

fn names_an_object(compiled: &Compiled, failure: &Failure) -> bool {
    compiled
        .graph
        .vertices
        .iter()
        .any(|vertex| is_meant(&vertex.id, failure))
}

fn is_meant(id: &ObjectId, failure: &Failure) -> bool {
    let here = failure
        .namespace
        .as_ref()
        .is_none_or(|namespace| *namespace == id.namespace);
    here && id.kind == failure.kind && id.name == failure.name
}

async fn rehearse(
    compiled: &Compiled,
    set: &ApplySet,
    failures: Vec<Failure>,
) -> anyhow::Result<Rehearsal> {
    // A fixed start, so that every run prints the same.
    let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let embedded = Embedded::start(clock, timeline::SETTLE, failures).await?;
    let target = embedded.target.clone();
    let supplied = supply(&target.client, &compiled.graph).await?;
    let plan = Arc::new(plan::against_none(&compiled.objects, &compiled.graph, set));
    let (sender, mut progress) = unbounded_channel();
    let options = kubernetes::Options {
        concurrency: 32,
        part_of: set.id(),
    };
    let start = target.clock.now();
    let mut tracker = Tracker::new(&compiled.graph, timeline::SETTLE, start);
    let runner = tokio::spawn(kubernetes::run(
        target,
        Arc::clone(&plan),
        compiled.embedded(),
        options,
        sender,
    ));
    let mut events: Vec<Event> = blocked(&plan).collect();
    while !tracker.is_ready() {
        let Ok(Some(next)) = tokio::time::timeout(IDLE, progress.recv()).await else {
            break;
        };
        if tracker.note(&next) {
            events.push(Event::new(&next, start));
        }
    }
    runner.abort();
    events.sort();
    Ok(Rehearsal {
        ready: tracker.is_ready(),
        events: changes_of_state(events),
        supplied,
    })
}

/// The steps that wait for others from the start.
fn blocked(plan: &Plan) -> impl Iterator<Item = Event> {
    let blocked = plan.steps.iter().filter(|step| !step.after.is_empty());
    blocked.map(|step| Event {
        at: 0,
        object: step.object.to_string(),
        state: State::Waiting,
        message: "waits for what comes before it".to_owned(),
    })
}

impl Event {
    fn new(progress: &Progress, start: Timestamp) -> Self {
        let at = progress.at.duration_since(start).as_secs();
        let at = u64::try_from(at).unwrap_or_default();
        Self {
            at,
            object: progress.object.to_string(),
            state: progress.state,
            message: progress.message.clone(),
        }
    }
}

/// Drops events that only bring another message.
fn changes_of_state(events: Vec<Event>) -> Vec<Event> {
    let mut last: HashMap<String, State> = HashMap::new();
    let news = |event: &Event| last.insert(event.object.clone(), event.state) != Some(event.state);
    let mut news = news;
    events.into_iter().filter(|event| news(event)).collect()
}

impl Rehearsal {
    /// The second of the last event.
    fn seconds(&self) -> u64 {
        self.events.last().map_or(0, |event| event.at)
    }
}

fn json(rehearsal: &Rehearsal) -> serde_json::Value {
    let events = rehearsal
        .events
        .iter()
        .map(|event| json!({"at": event.at, "object": event.object, "state": event.state}));
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Rehearsal",
        "ready": rehearsal.ready,
        "virtual_seconds": rehearsal.seconds(),
        "supplied": rehearsal.supplied.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(),
    })
}

fn text(compiled: &Compiled, rehearsal: &Rehearsal) -> String {
    let mut out = String::new();
    for id in &rehearsal.supplied {
        let _ = writeln!(
            out,
            "supplied  {id} (not in the fleet; the real cluster must have it)"
        );
    }
    for event in rehearsal
        .events
        .iter()
        .filter(|event| matches!(event.state, State::Ready | State::Failed))
    {
        let message = if event.state == State::Failed {
            format!("  {}", event.message)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "{:>8}  {:?}  {}{message}",
            clock(event.at),
            event.state,
            event.object
        );
    }
    out.push_str(&critical_path(compiled, rehearsal));
    let end = clock(rehearsal.seconds());
    let total = compiled.objects.len() + compiled.embedded().len();
    let _ = match rehearsal.ready {
        true => writeln!(out, "\nready after {end} (virtual): {total} objects"),
        false => writeln!(
            out,
            "\nnot ready: nothing more happened after {end} (virtual)\n{}",
            unready(compiled, rehearsal)
        ),
    };
    out
}

fn clock(seconds: u64) -> String {
    minutes(Duration::from_secs(seconds))
}

/// From the object that was ready last, back by the need that was ready last.
fn critical_path(compiled: &Compiled, rehearsal: &Rehearsal) -> String {
    let ready: HashMap<&str, u64> = rehearsal
        .events
        .iter()
        .filter(|event| event.state == State::Ready)
        .map(|event| (event.object.as_str(), event.at))
        .collect();
    let graph = &compiled.graph;
    let when = |vertex: &usize| {
        ready
            .get(graph.vertices[*vertex].id.to_string().as_str())
            .copied()
    };
    // What Cluster API and the carriers say only mirrors the resources behind them.
    let own =
        |at: &usize| graph.carried(*at).next().is_none() && graph.vertices[*at].id.group != CAPI;
    let last = (0..graph.vertices.len())
        .filter(own)
        .max_by_key(|at| when(at));
    let before = |at: &usize| {
        let needs = graph.needs(*at).map(|edge| edge.to);
        needs
            .filter(|to| own(to) && when(to).is_some())
            .max_by_key(|to| when(to))
    };
    let mut path: Vec<usize> = std::iter::successors(last, before)
        .take(graph.vertices.len())
        .collect();
    path.reverse();
    let mut out = String::from("\ncritical path:\n");
    for at in path {
        let _ = writeln!(
            out,
            "{:>8}  {}",
            when(&at).map_or_else(String::new, clock),
            graph.vertices[at].id
        );
    }
    out
}

fn unready(compiled: &Compiled, rehearsal: &Rehearsal) -> String {
    let mut last: HashMap<&str, &Event> = HashMap::new();
    for event in &rehearsal.events {
        last.insert(&event.object, event);
    }
    let mut out = String::new();
    for vertex in &compiled.graph.vertices {
        let id = vertex.id.to_string();
        if let Some(event) = last
            .get(id.as_str())
            .filter(|event| event.state != State::Ready)
        {
            let _ = writeln!(out, "  {id}: {:?} {}", event.state, event.message);
        }
    }
    out
}
