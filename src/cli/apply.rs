//! `capstan apply`: one shot.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Exit;
use super::args::ApplyArgs;
use super::cluster::Cluster;
use super::fleet::Fleet;
use super::live::Live;
use super::plan::LOCAL;
use super::ui::Ui;
use crate::adapters::kubernetes;
use crate::api::timeline;
use crate::compile::Compiled;
use crate::model::Clock;
use crate::plan::{self, ApplySet, ClusterSummary, Progress, State, Tracker};
use crate::settings::Environment;

/// Exit 0 when everything was applied (with `--wait`: is ready).
pub(super) fn run(args: &ApplyArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let fleet = Fleet::read(&args.fleet)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let set = ApplySet::new(LOCAL, environment.namespace.as_str());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(apply(args, &fleet.compiled, &set, ui))
}

/// How often times are drawn anew when nothing else happens.
const FRAME: Duration = Duration::from_millis(250);

async fn apply(
    args: &ApplyArgs,
    compiled: &Compiled,
    set: &ApplySet,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let cluster = Cluster::open(&args.cluster, timeline::SETTLE).await?;
    cluster.check().await?;
    let target = cluster.target().clone();
    for id in cluster.supply(&compiled.graph).await? {
        ui.say(&format!("supplied {id} (not in the fleet)"));
    }
    let plan = Arc::new(plan::against_none(&compiled.objects, &compiled.graph, set));
    let (sender, progress) = unbounded_channel();
    let clock = Arc::clone(&target.clock);
    let waiting = Waiting {
        tracker: Tracker::new(&compiled.graph, timeline::SETTLE, clock.now()),
        open: plan.steps.len(),
        wait: args.wait,
        limit: clock.real(args.timeout),
        clock,
    };
    let options = kubernetes::Options {
        concurrency: 32,
        part_of: set.id(),
    };
    let _runner = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(kubernetes::run(
        target,
        plan,
        compiled.embedded(),
        options,
        sender,
    )));
    let mut live = Live::default();
    let draw = |title: &str, clusters: &[ClusterSummary]| live.draw(ui, title, clusters);
    let (end, title, clusters) = waiting.end(progress, draw).await;
    match end {
        End::Done | End::InVain => live.finish(ui, &title, &clusters),
        End::TooLate => ui.error(&format!("not ready within {:?}: {title}", args.timeout)),
    }
    Ok(Exit::failed_if(end != End::Done))
}

/// What is waited for.
struct Waiting {
    tracker: Tracker,
    /// Steps that were not applied yet.
    open: usize,
    clock: Arc<dyn Clock>,
    /// Whether it is done when all is ready, or else when all is applied.
    wait: bool,
    /// For how long, outside.
    limit: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    /// Only a change can help.
    InVain,
    TooLate,
}

impl Waiting {
    /// Waits, and draws a title and the clusters whenever something happened and every [`FRAME`].
    /// Returns how it ended and what is to be drawn last.
    async fn end(
        mut self,
        mut progress: UnboundedReceiver<Progress>,
        mut draw: impl FnMut(&str, &[ClusterSummary]),
    ) -> (End, String, Vec<ClusterSummary>) {
        let deadline = tokio::time::sleep(self.limit);
        tokio::pin!(deadline);
        loop {
            let (summary, clusters) = self.tracker.overview(self.clock.now());
            let title = summary.title();
            let done = match self.wait {
                true => self.tracker.is_ready(),
                false => self.open == 0,
            };
            match (done, summary.terminal) {
                (true, _) => return (End::Done, title, clusters),
                (false, true) => return (End::InVain, title, clusters),
                (false, false) => draw(&title, &clusters),
            }
            tokio::select! {
                biased;
                Some(next) = progress.recv() => {
                    self.note(&next);
                    while let Ok(next) = progress.try_recv() {
                        self.note(&next);
                    }
                }
                () = &mut deadline => return (End::TooLate, title, clusters),
                () = tokio::time::sleep(FRAME) => {}
            }
        }
    }

    fn note(&mut self, next: &Progress) {
        let applied = usize::from(next.state == State::Applied);
        self.open = self.open.saturating_sub(applied);
        self.tracker.note(next);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tokio::sync::mpsc::UnboundedSender;
    use tokio::time::Instant;

    use super::*;
    use crate::adapters::sim::clock::SimClock;
    use crate::compile::compile;
    use crate::model::{ObjectId, Tree};

    const ONE: &str =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: default}}";

    /// Waits a second for one ConfigMap to become ready while `happens` goes on. How it ended, and when
    /// it was drawn and ended, in milliseconds.
    async fn waited<F: Future<Output = ()>>(
        happens: impl FnOnce(UnboundedSender<Progress>) -> F,
    ) -> (End, Vec<u128>) {
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(ONE.as_bytes()))].into(),
            ..Tree::default()
        };
        let compiled = compile(&tree, &[]);
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 60));
        let waiting = Waiting {
            tracker: Tracker::new(&compiled.graph, timeline::SETTLE, clock.now()),
            open: 1,
            wait: true,
            limit: clock.real(Duration::from_secs(60)),
            clock,
        };
        let (sender, progress) = unbounded_channel();
        let (start, mut times) = (Instant::now(), Vec::new());
        let draw = |_: &str, _: &[ClusterSummary]| times.push(start.elapsed().as_millis());
        let ((end, ..), ()) = tokio::join!(waiting.end(progress, draw), happens(sender));
        times.push(start.elapsed().as_millis());
        (end, times)
    }

    fn progress(state: State, terminal: bool) -> Progress {
        Progress {
            at: Timestamp::UNIX_EPOCH,
            object: ObjectId::new("", "ConfigMap", "default", "one"),
            state,
            terminal,
            message: String::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_drawn_four_times_a_second_and_given_up_after_its_time_in_the_cluster() {
        let (end, times) = waited(async |sender| sender.closed().await).await;
        assert_eq!(end, End::TooLate);
        assert_eq!(times, [0, 250, 500, 750, 1000]);
    }

    #[tokio::test(start_paused = true)]
    async fn news_are_drawn_at_once_and_end_it() {
        for (state, terminal, expected) in [
            (State::Ready, false, End::Done),
            (State::Failed, true, End::InVain),
        ] {
            let news = async |sender: UnboundedSender<Progress>| {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let _ = sender.send(progress(State::Applied, false));
                tokio::time::sleep(Duration::from_millis(300)).await;
                let _ = sender.send(progress(state, terminal));
                sender.closed().await;
            };
            let (end, times) = waited(news).await;
            assert_eq!((end, times), (expected, vec![0, 100, 350, 400]));
        }
    }
}
