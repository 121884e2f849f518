//! `capstan apply`: one shot.

use std::sync::Arc;

use tokio::sync::mpsc::unbounded_channel;

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
use crate::plan::{self, ApplySet, Progress, State, Tracker};
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
    let (sender, mut progress) = unbounded_channel();
    let clock = Arc::clone(&target.clock);
    let mut tracker = Tracker::new(&compiled.graph, timeline::SETTLE, clock.now());
    let options = kubernetes::Options {
        concurrency: 32,
        part_of: set.id(),
    };
    let mut open = plan.steps.len();
    let _runner = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(kubernetes::run(
        target,
        plan,
        compiled.embedded(),
        options,
        sender,
    )));
    let deadline = tokio::time::sleep(clock.real(args.timeout));
    tokio::pin!(deadline);
    let mut live = Live::default();
    loop {
        let (summary, clusters) = tracker.overview(clock.now());
        let done = if args.wait {
            tracker.is_ready()
        } else {
            open == 0
        };
        if done || summary.terminal {
            live.finish(ui, &summary.title(), &clusters);
            return Ok(Exit::failed_if(!done));
        }
        live.draw(ui, &summary.title(), &clusters);
        tokio::select! {
            biased;
            Some(next) = progress.recv() => {
                let mut note = |next: &Progress| {
                    open = open.saturating_sub(usize::from(next.state == State::Applied));
                    tracker.note(next);
                };
                note(&next);
                while let Ok(next) = progress.try_recv() {
                    note(&next);
                }
            }
            () = &mut deadline => {
                ui.error(&format!("not ready within {:?}: {}", args.timeout, summary.title()));
                return Ok(Exit::Failed);
            }
            () = tokio::time::sleep(std::time::Duration::from_millis(250)) => {}
        }
    }
}
