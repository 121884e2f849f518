//! Keeps a cluster in line with a plan: carries out the commands of the apply engine, and reports events to it.
//!
//! ```text
//!   assignments ─┐
//!   answers ─────┼─► Event ─► apply::Engine ─► Command ─► requests, watches, timers, reports
//!   watches ─────┘
//! ```
//!
//! It decides nothing. It lives as long as the daemon: a new assignment finds what the engine knows of the
//! cluster.

mod assignment;
mod commands;

use std::sync::Arc;

use futures::StreamExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::apply::{Engine, Event, Report, Settings, What};
pub use assignment::{Approvals, Assignment, Options, Target};
use commands::Runner;

/// Carries out `assignments`, the newest at a time, and reports every change of state with its number,
/// until the future is dropped: it never ends by itself, since a cluster goes on changing after the
/// last step.
pub async fn run(
    target: Target,
    options: Options,
    mut assignments: UnboundedReceiver<Assignment>,
    reports: UnboundedSender<(u64, Report)>,
) {
    let Options { concurrency, set } = options;
    let clock = Arc::clone(&target.clock);
    let mut runner = Runner::new(target, set.clone(), reports);
    let mut engine = Engine::new(Settings { concurrency, set });
    loop {
        let what = tokio::select! {
            biased;
            Some(assignment) = assignments.recv() => {
                runner.approvals = Arc::clone(&assignment.approvals);
                Some(What::Assigned(Box::new(assignment.plain())))
            }
            Some(done) = runner.jobs.join_next() => runner.answer(done),
            Some(event) = runner.watches.next() => Some(What::Watched(event)),
            // Neither a watch nor a job: nothing is asked of it.
            else => std::future::pending().await,
        };
        let Some(what) = what else { continue };
        let at = clock.now();
        for command in engine.on(Event { at, what }) {
            runner.carry_out(command);
        }
    }
}

/// Carries out one assignment; see [`run`].
pub async fn run_once(
    target: Target,
    options: Options,
    assignment: Assignment,
    reports: UnboundedSender<(u64, Report)>,
) {
    let (sender, assignments) = tokio::sync::mpsc::unbounded_channel();
    // The receiver is here.
    let _ = sender.send(assignment);
    run(target, options, assignments, reports).await;
}
