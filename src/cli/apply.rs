//! `capstan apply`: one shot.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

use super::approvals::{approvals, units};
use super::args::{LOCAL, duration};
use super::cluster::{Cluster, ClusterArgs};
use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs};
use super::live::Live;
use super::outcomes::{Line, Outcomes};
use super::plan::{Limits, dry_run};
use super::private_link::{SimulatedPrivateLinks, is_private};
use super::rights;
use super::second_owners::is_second_owner;
use super::signals::asked_to_stop;
use super::ui::{Ui, plain};
use crate::adapters::kubernetes::{self, Target, missing_rights};
use crate::api::timeline;
use crate::apply::{
    Assignment, CONTENT, ClusterSummary, Progress, Report, State, Suspension, Tracker,
};
use crate::compile::Compiled;
use crate::model::{Clock, EmbeddedId, hex};
use crate::plan::approvals::Approval;
use crate::plan::{self, ApplySet, Plan};
use crate::settings::Environment;

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// Wait until everything is ready
    #[arg(long)]
    pub(super) wait: bool,
    /// The fleet's name: an object belongs to one fleet
    #[arg(long, default_value = LOCAL)]
    pub(super) name: String,
    /// Remove objects that an earlier apply of this fleet created and that it no longer has
    #[arg(long)]
    pub(super) prune: bool,
    /// Approve a loss as a commit message does, such as "release NAMESPACE/NAME"; a name alone approves its deletion; may be repeated
    #[arg(long, value_name = "LOSS", requires = "prune")]
    pub(super) approve: Vec<String>,
    /// Print what would change in the cluster, and change nothing
    #[arg(long, conflicts_with = "embedded")]
    pub(super) dry_run: bool,
    /// How long to wait, in the cluster's time
    #[arg(long, default_value = "60m", value_parser = duration)]
    pub(super) timeout: Duration,
}

/// Exit 0 when everything was applied (with `--wait`: is ready).
pub(super) fn run(args: &ApplyArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let fleet = Fleet::read(&args.fleet)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let approvals = approvals(&args.approve, &units(&fleet.compiled))?;
    let set = ApplySet::new(args.name.as_str(), environment.namespace.as_str());
    if args.dry_run {
        let limits = Limits {
            access: &args.cluster.access,
            prune: args.prune,
            approvals: &approvals,
        };
        return dry_run(&fleet.compiled, &set, &limits, ui);
    }
    let links = fleet.links(environment);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            signal = asked_to_stop() => {
                ui.leave();
                ui.message("interrupted: what was applied stays; run the same command to apply the rest");
                Ok(Exit::Signal(signal))
            }
            exit = apply(args, (fleet.compiled, &links), approvals, &set, ui) => exit,
        }
    })
}

/// The time after which times are drawn anew when nothing else happens.
const FRAME: Duration = Duration::from_millis(250);
/// The time in which changes are collected: to summarise a large fleet takes milliseconds.
const GATHER: Duration = Duration::from_millis(50);

async fn apply(
    args: &ApplyArgs,
    (compiled, links): (Compiled, &SimulatedPrivateLinks),
    approvals: Vec<Approval>,
    set: &ApplySet,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let cluster = Cluster::open(&args.cluster, timeline::SETTLE, links).await?;
    cluster.check().await?;
    let has_private_cluster = compiled.objects.iter().any(is_private);
    if let Some(note) = links
        .note(has_private_cluster)
        .filter(|_| args.cluster.embedded)
    {
        ui.message(note);
    }
    let target = cluster.target().clone();
    for id in cluster.supply(&compiled.graph).await? {
        ui.message(&format!("supplied {id} (not in the fleet)"));
    }
    let embedded: Arc<[_]> = compiled.embedded().into();
    let (limit, start) = (target.clock.real(args.timeout), tokio::time::Instant::now());
    if is_blocked(args, &compiled, &target, set, ui).await? {
        return Ok(Exit::Failed);
    }
    // The plan is enough; for a large fleet the objects would double the memory.
    let plan = Arc::new(plan::into_plan(compiled.objects, &compiled.graph, set));
    let (sender, progress) = unbounded_channel();
    let clock = Arc::clone(&target.clock);
    let waiting = Waiting {
        tracker: Tracker::new(&compiled.graph, timeline::SETTLE, clock.now()),
        plan: Arc::clone(&plan),
        outcomes: Outcomes::of(&plan.steps),
        unseen: BTreeSet::new(),
        settled: false,
        stuck: None,
        denied: false,
        recording: false,
        approvals: approvals.clone(),
        wait: args.wait,
        limit: limit.saturating_sub(start.elapsed()),
        clock,
    };
    let options = kubernetes::Options {
        concurrency: 32,
        set: set.clone(),
    };
    let assignment = Assignment {
        source: args.fleet.path.display().to_string(),
        revision: content(&plan),
        by_hand: true,
        prune: args.prune,
        ..Assignment::new(Arc::clone(&plan), Arc::clone(&embedded))
    };
    let run = kubernetes::run_once(target.clone(), options, assignment, approvals, sender);
    let _runner = AbortOnDropHandle::new(tokio::spawn(run));
    let (mut live, mut broken) = (Live::default(), None);
    let draw = |shown: &Shown<'_>| {
        let printed = shown.lines.iter().try_for_each(|line| show_line(line, ui));
        broken = broken.take().or(printed.err());
        live.draw(ui, shown.title, shown.clusters);
    };
    let ended = waiting.end(progress, draw).await;
    live.finish(ui, &ended.title, &ended.clusters);
    show_end(&ended, args.timeout, ui);
    let done = ended.end == End::Done;
    if ended.denied && !done {
        show_rights(args, &target, set, (&plan, &embedded), ui).await;
    }
    for unused in ended.unused.iter().filter(|_| done) {
        ui.error(unused);
    }
    broken.map_or(Ok(()), Err)?;
    Ok(Exit::failed_if(!done || ended.is_unapproved))
}

/// Returns true if nothing may be applied: an applied object owns in Azure what a new one would own, or nobody can tell within
/// the time. Says why.
async fn is_blocked(
    args: &ApplyArgs,
    compiled: &Compiled,
    target: &Target,
    set: &ApplySet,
    ui: &Ui,
) -> anyhow::Result<bool> {
    let unread = async || {
        let plan = plan::against_none(&compiled.objects, &compiled.graph, set);
        show_rights(args, target, set, (&plan, &compiled.embedded()), ui).await;
    };
    let report = |line: &str| ui.error(line);
    let asked = is_second_owner(&target.client, set, &compiled.objects, report, unread);
    let Some(answer) = in_time(target.clock.real(args.timeout), asked).await else {
        ui.error(&format!(
            "nothing was applied within {:?}: the cluster did not say what the fleet owns in Azure",
            args.timeout
        ));
        return Ok(true);
    };
    answer
}

/// Shows the rights that a plan, with what its objects carry, needs and lacks. Each refusal was printed; this only puts them
/// together.
async fn show_rights(
    args: &ApplyArgs,
    target: &Target,
    set: &ApplySet,
    needs: (&Plan, &[EmbeddedId]),
    ui: &Ui,
) {
    let rights = missing_rights(target, set, needs, args.prune).await;
    rights.iter().for_each(|rights| rights::show(rights, ui));
}

fn show_end(ended: &Ended, timeout: Duration, ui: &Ui) {
    match &ended.end {
        End::Done | End::InVain => {}
        End::Stuck(why) => ui.error(why),
        End::TooLate => ui.error(&format!("not ready within {timeout:?}: {}", ended.title)),
    }
    ui.message(&ended.tally);
}

/// Does `work` for at most `limit`; `None` if it takes longer.
async fn in_time<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, work).await.ok()
}

fn show_line(line: &Line, ui: &Ui) -> anyhow::Result<()> {
    match line {
        Line::Data(text) => ui.data(&(plain(text) + "\n")),
        Line::Message(text) => {
            ui.message(text);
            Ok(())
        }
    }
}

/// The name of what is applied, in place of a revision: the same for the same objects.
fn content(plan: &Plan) -> String {
    let mut hash = Sha256::new();
    for step in &plan.steps {
        let payload = &step.action.payload;
        hash.update(format!("{} {}\n", step.object, payload.hash()));
    }
    let hash = hash.finalize();
    format!("{CONTENT}{}", hex(&hash[..6]))
}

/// The end of an apply, as it is waited for.
struct Waiting {
    tracker: Tracker,
    plan: Arc<Plan>,
    outcomes: Outcomes,
    /// The kinds that cannot be seen now: what is to be removed of them is not known.
    unseen: BTreeSet<(String, String)>,
    /// True once everything was applied, and removed what was to be.
    settled: bool,
    /// The reason why nothing can be done.
    stuck: Option<String>,
    /// True if a permission is missing.
    denied: bool,
    /// True while the parent is being written: `status` reads there what failed.
    recording: bool,
    /// The approvals of the person who runs this.
    approvals: Vec<Approval>,
    clock: Arc<dyn Clock>,
    /// True if it is done when all is ready, or else when all is applied.
    wait: bool,
    /// For how long, outside.
    limit: Duration,
}

/// The drawing.
struct Shown<'a> {
    /// Lines to print once.
    lines: &'a [Line],
    title: &'a str,
    clusters: &'a [ClusterSummary],
}

/// The end, and the last drawing.
struct Ended {
    end: End,
    title: String,
    clusters: Vec<ClusterSummary>,
    /// The outcome of the objects, in numbers.
    tally: String,
    /// True if a permission was missing.
    denied: bool,
    /// Sentences about the approved clusters that did not leave the fleet.
    unused: Vec<String>,
    /// True if something stays until somebody approves its loss.
    is_unapproved: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Done,
    /// Only a change can help.
    InVain,
    TooLate,
    /// Somebody must do something first.
    Stuck(String),
}

impl Waiting {
    /// Waits, and draws a title and the clusters whenever something happened and every [`FRAME`].
    async fn end(
        mut self,
        mut progress: UnboundedReceiver<(u64, Report)>,
        mut draw: impl FnMut(&Shown<'_>),
    ) -> Ended {
        let deadline = tokio::time::sleep(self.limit);
        tokio::pin!(deadline);
        loop {
            let looked = tokio::time::Instant::now();
            let (summary, clusters) = self.tracker.overview(self.clock.now());
            let title = summary.brief();
            self.outcomes.failed(&summary);
            let done = match self.wait {
                true => self.settled && self.tracker.is_ready(),
                false => self.settled,
            };
            let end = match self.stuck.take() {
                Some(why) => Some(End::Stuck(why)),
                None if done => Some(End::Done),
                // One failure does not keep the others from their turn.
                None if summary.terminal
                    && !self.recording
                    && self.tracker.has_tried_all(&self.plan) =>
                {
                    Some(End::InVain)
                }
                None => None,
            };
            let lines = self.outcomes.lines(end.is_some());
            if end.is_none() || !lines.is_empty() {
                draw(&Shown {
                    lines: &lines,
                    title: &title,
                    clusters: &clusters,
                });
            }
            if let Some(end) = end {
                return self.ended(end, title, clusters);
            }
            tokio::select! {
                biased;
                Some(next) = progress.recv() => {
                    self.note(next.1);
                    tokio::time::sleep_until(looked + GATHER).await;
                    while let Ok(next) = progress.try_recv() {
                        self.note(next.1);
                    }
                }
                () = &mut deadline => {
                    let lines = self.outcomes.lines(true);
                    if !lines.is_empty() {
                        draw(&Shown { lines: &lines, title: &title, clusters: &clusters });
                    }
                    return self.ended(End::TooLate, title, clusters);
                }
                () = tokio::time::sleep(FRAME) => {}
            }
        }
    }

    fn ended(&self, end: End, mut title: String, clusters: Vec<ClusterSummary>) -> Ended {
        let unseen: Vec<&str> = self.unseen.iter().map(|(_, kind)| kind.as_str()).collect();
        if end == End::TooLate && !unseen.is_empty() {
            title += &format!("; not seen: {}", unseen.join(", "));
        }
        Ended {
            end,
            title,
            clusters,
            tally: self.outcomes.tally(),
            denied: self.denied,
            unused: self.outcomes.unused(&self.approvals),
            is_unapproved: self.outcomes.is_unapproved(),
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Object(progress) => {
                if progress.state == State::Applied && !progress.message.is_empty() {
                    let Progress {
                        object, message, ..
                    } = &progress;
                    self.outcomes.note(format!("{object}: {message}"));
                }
                self.tracker.note(&progress);
            }
            Report::Applied(id, outcome) => self.outcomes.applied(id, outcome),
            Report::Denied => self.denied = true,
            Report::Unseen(kind, Some(why)) => {
                self.outcomes.note(format!("not seen: {}: {why}", kind.1));
                self.unseen.insert(kind);
            }
            Report::Unseen(kind, None) => {
                self.outcomes.note(format!("seen again: {}", kind.1));
                self.unseen.remove(&kind);
            }
            Report::Prune(id, leaving) => self.outcomes.leaves(id, &leaving),
            Report::Settled => self.settled = true,
            Report::Stuck(why) | Report::Away(why) => self.stuck = Some(why),
            Report::Recording(is_recording) => self.recording = is_recording,
            Report::Suspended(Suspension { since, .. }) => self.outcomes.note(format!(
                "the fleet has been suspended since {since}: its daemon applies nothing, but this command does"
            )),
            Report::Begun => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tokio::sync::mpsc::UnboundedSender;
    use tokio::time::Instant;

    use super::*;
    use crate::apply::{Progress, State};
    use crate::compile::compile;
    use crate::model::{ObjectId, Tree};
    use kube_sim::SimClock;

    const ONE: &str =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: default}}";

    #[test]
    fn what_is_applied_by_hand_is_named_by_its_content() {
        let named = |text: &str| {
            let tree = Tree {
                files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
                ..Tree::default()
            };
            let compiled = compile(&tree, &[]);
            let set = ApplySet::new("test", "default");
            content(&plan::against_none(
                &compiled.objects,
                &compiled.graph,
                &set,
            ))
        };
        assert_eq!(named(ONE), named(&format!("# a remark\n{ONE}")));
        assert_ne!(
            named(ONE),
            named(&ONE.replace("ConfigMap,", "ConfigMap, data: {a: b},"))
        );
        assert!(named(ONE).starts_with("content-") && named(ONE).len() == 20);
    }

    /// Waits a second for one ConfigMap to become ready while `happens` runs. Returns how it ended, and when
    /// it was drawn and ended, in milliseconds.
    async fn waited<F: Future<Output = ()>>(
        happens: impl FnOnce(UnboundedSender<(u64, Report)>) -> F,
    ) -> (End, Vec<u128>) {
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(ONE.as_bytes()))].into(),
            ..Tree::default()
        };
        let compiled = compile(&tree, &[]);
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 60));
        let waiting = Waiting {
            tracker: Tracker::new(&compiled.graph, timeline::SETTLE, clock.now()),
            plan: Arc::new(plan::against_none(
                &compiled.objects,
                &compiled.graph,
                &ApplySet::new("test", "default"),
            )),
            outcomes: Outcomes::default(),
            unseen: BTreeSet::new(),
            settled: false,
            stuck: None,
            denied: false,
            recording: false,
            approvals: Vec::new(),
            wait: true,
            limit: clock.real(Duration::from_secs(60)),
            clock,
        };
        let (sender, progress) = unbounded_channel();
        let (start, mut times) = (Instant::now(), Vec::new());
        let draw = |_: &Shown<'_>| times.push(start.elapsed().as_millis());
        let (ended, ()) = tokio::join!(waiting.end(progress, draw), happens(sender));
        times.push(start.elapsed().as_millis());
        (ended.end, times)
    }

    fn progress(state: State, terminal: bool) -> (u64, Report) {
        let progress = Progress {
            at: Timestamp::UNIX_EPOCH,
            object: ObjectId::new("", "ConfigMap", "default", "one"),
            state,
            terminal,
            message: String::new(),
        };
        (0, Report::Object(progress))
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_drawn_four_times_a_second_and_given_up_after_its_time_in_the_cluster() {
        let (end, times) = waited(async |sender| sender.closed().await).await;
        assert_eq!(end, End::TooLate);
        assert_eq!(times, [0, 250, 500, 750, 1000]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_does_not_answer_is_given_up_after_the_limit() {
        let (start, limit) = (tokio::time::Instant::now(), Duration::from_secs(20));
        assert_eq!(in_time(limit, std::future::ready(1)).await, Some(1));
        assert_eq!(in_time(limit, std::future::pending::<u8>()).await, None);
        assert_eq!(start.elapsed(), limit);
    }

    #[tokio::test(start_paused = true)]
    async fn changes_within_a_twentieth_of_a_second_are_drawn_together() {
        let lines = async |sender: UnboundedSender<(u64, Report)>| {
            for (wait, state) in [
                (100, State::Waiting),
                (10, State::Applied),
                (20, State::Progressing),
            ] {
                tokio::time::sleep(Duration::from_millis(wait)).await;
                let _ = sender.send(progress(state, false));
            }
            sender.closed().await;
        };
        let (_, times) = waited(lines).await;
        assert_eq!(times[..4], [0, 100, 150, 400]);
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_drawn_at_once_and_end_it() {
        for (state, terminal, expected, drawn) in [
            (State::Ready, false, End::Done, vec![0, 100, 350]),
            // Its message is drawn before the end.
            (State::Failed, true, End::InVain, vec![0, 100, 350, 400]),
        ] {
            let lines = async |sender: UnboundedSender<(u64, Report)>| {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let _ = sender.send(progress(State::Applied, false));
                let _ = sender.send((0, Report::Settled));
                tokio::time::sleep(Duration::from_millis(300)).await;
                let _ = sender.send(progress(state, terminal));
                sender.closed().await;
            };
            let (end, times) = waited(lines).await;
            let times = (end, times.as_slice());
            assert_eq!(times, (expected, [drawn, vec![400]].concat().as_slice()));
        }
    }
}
