//! Keeps a cluster in line with a plan: carries out the commands of the apply engine, and reports events to it.
//!
//! ```text
//!   inputs ──────┐
//!   answers ─────┼─► Event ─► apply::Engine ─► Command ─► requests, watches, timers, reports
//!   watches ─────┘
//! ```
//!
//! It decides nothing. It lives as long as the daemon: a new assignment finds what the engine knows of the
//! cluster. What people approved is asked of whoever started it.

mod commands;
mod input;
mod reach;

use std::sync::Arc;

use futures::StreamExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::apply::{
    ApprovalsAnswer, ApprovalsRequest, Assignment, Engine, Event, Report, Settings, What,
};
use crate::plan::approvals::Approval;
use commands::Runner;
pub use input::{Input, Options, Target};

/// Carries out the assignments in `inputs`, the newest at a time, and reports every change of state with its number,
/// until the future is dropped: it never ends by itself, since a cluster goes on changing after the
/// last step. Each of `questions` wants an answer in `inputs`; if nobody listens to them, nothing is approved.
pub async fn run(
    target: Target,
    options: Options,
    mut inputs: UnboundedReceiver<Input>,
    reports: UnboundedSender<(u64, Report)>,
    questions: UnboundedSender<ApprovalsRequest>,
) {
    let Options { concurrency, set } = options;
    let clock = Arc::clone(&target.clock);
    let mut runner = Runner::new(target, set.clone(), reports, questions);
    let mut engine = Engine::new(Settings { concurrency, set });
    loop {
        let what = tokio::select! {
            biased;
            Some(input) = inputs.recv() => Some(match input {
                Input::Assign(assignment) => {
                    if assignment.is_end {
                        runner.end();
                    }
                    let steps = assignment.plan.steps.iter();
                    runner.look_in(steps.map(|step| step.object.namespace.as_str()));
                    What::Assigned(Box::new(assignment))
                }
                Input::Approve(answer) => What::Approved(answer),
            }),
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

/// Carries out one assignment of which people approved this; see [`run`].
pub async fn run_once(
    target: Target,
    options: Options,
    assignment: Assignment,
    approvals: Vec<Approval>,
    reports: UnboundedSender<(u64, Report)>,
) {
    let (sender, inputs) = unbounded_channel();
    let (questions, mut asked) = unbounded_channel();
    // The receiver is here.
    let _ = sender.send(Input::Assign(assignment));
    let answer = async {
        while let Some(request) = asked.recv().await {
            let approvals = approvals.clone();
            let _ = sender.send(Input::Approve(ApprovalsAnswer { request, approvals }));
        }
    };
    tokio::join!(run(target, options, inputs, reports, questions), answer);
}
